/*
 * process.h - figures of all processes from their /proc/<pid>/stat; remembers those of the last round for processor time.
 *
 * Threads    one at a time
 */
#ifndef COLLECTORS_HOST_PROCESS_H
#define COLLECTORS_HOST_PROCESS_H

#include "collectors/core/collector.h"

/* What a text of /proc/<pid>/stat says. */
struct col_proc_stat {
    uint64_t pid, start;     /* together they identify a process */
    struct ts_slice command; /* its name, any bytes; borrowed from the text */
    char state;              /* its letter */
    uint64_t jiffies;        /* of processor time, user and system */
    uint64_t n_threads;      /* in it */
    uint64_t rss_pages;      /* resident memory */
};
/** Parse a text of /proc/<pid>/stat; false if it is not one (empty, because the process has ended). */
bool col_proc_stat_parse(struct ts_slice text, struct col_proc_stat *out);

struct col_procs;

/* Constants of the machine. */
struct col_procs_opts {
    unsigned top;           /* commands reported, by processor time and by memory each */
    uint64_t page_bytes;    /* of memory */
    uint64_t jiffies_per_s; /* of processor time */
};

/** Create the state that one round of processes leaves for the next one. */
struct col_procs *col_procs_new(const struct col_procs_opts *opts);
void col_procs_free(struct col_procs *p);
/** A round is begin, add for each process, and end, which emits the points. now_ms: any clock that never goes back. */
void col_procs_begin(struct col_procs *p);
/** Add a process by its text of /proc/<pid>/stat; a text that cannot be parsed is ignored. */
void col_procs_add(struct col_procs *p, struct ts_slice text);
void col_procs_end(struct col_procs *p, int64_t now_ms, struct col_emit *emit);

#endif
