/*
 * program.h - one collector program: starts and stops it, reads its lines, decides after its end when it runs again.
 *
 * Threads    the collector's thread only
 * Not here   the list of programs (programs_dir.h), all programs together (programs.c), the child process (programs_child.h)
 * Source     docs/OPENTSDB.md, sections 12.1, 12.2
 */
#ifndef COLLECTORS_PROGRAMS_PROGRAM_H
#define COLLECTORS_PROGRAMS_PROGRAM_H

#include "base/conf.h"
#include "collectors/core/emit.h"
#include "collectors/core/programs_child.h"
#include "collectors/programs/programs_dir.h"
#include "collectors/programs/programs_line.h"

#include <stdbool.h>
#include <stdint.h>

#define COL_PROGRAM_GRACE_MS 5000 /* from SIGTERM to SIGKILL; docs/OPENTSDB.md, section 12.1 */

/* How a run ended; index of n_ends. */
enum col_program_end {
    COL_PROGRAM_OK,
    COL_PROGRAM_NEVER,
    COL_PROGRAM_FAILED,
    COL_PROGRAM_STOPPED,
    COL_PROGRAM_N_ENDS
};

/* A program. */
struct col_program {
    struct col_program_file file; /* path, name and interval; the texts are owned */
    struct col_child child;       /* the running process */
    struct col_line_cut out, err; /* lines of its standard output and error that are not complete yet */
    int64_t log_ns;               /* monotonic: start of the minute that n_log counts */
    unsigned n_log;               /* lines of its standard error in that minute */
    struct col_emit *emit;        /* receives its points; borrowed */
    unsigned n_polled;            /* descriptors in the last poll */
    int64_t started_ns, line_ns;  /* monotonic: last start, last line (or start) */
    int64_t next_ns;              /* monotonic: next start; INT64_MAX = never */
    int64_t late_ns;              /* monotonic: when it must have ended; INT64_MAX = it may run forever */
    int64_t pause_ms;         /* back-off after the last failure, doubled by the following one; 0 = healthy */
    bool gone;                /* its file was deleted: remove the program when it has ended */
    bool renewed;             /* its file changed: restart it as soon as it has ended */
    bool bad_logged;          /* a bad line was logged; further ones are only counted */
    uint64_t n_points, n_bad; /* points, and lines that are not points */
    uint64_t n_starts, n_ends[COL_PROGRAM_N_ENDS]; /* starts, and ends by kind */
};

/* What all programs share. */
struct col_program_env {
    const struct ts_conf *conf; /* borrowed */
    const char *folder;         /* absolute path of the programs' folder; "" = none. Borrowed */
};

/** The earlier of two times, or the shorter of two durations. */
static inline int64_t col_sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/** Create a program, not started yet. It takes ownership of the texts of file and borrows emit, which
 * receives its points. */
struct col_program *col_program_new(struct col_program_file *file, struct col_emit *emit);
/** Free a program that is not running. */
void col_program_free(struct col_program *p);
/** Start the program now. A failure is logged and counted, and the next start is scheduled. */
void col_program_start(const struct col_program_env *at, struct col_program *p, int64_t now_ns);
/** Do everything that is due: stop the program if it is silent or late, handle its end, start it. */
void col_program_step(const struct col_program_env *at, struct col_program *p);
/** Handle the end of a run (col_child_over is true): count it and schedule the next start. */
void col_program_ended(const struct col_program_env *at, struct col_program *p, int64_t now_ns);
/** The latest time for the next col_program_step, monotonic ns; INT64_MAX = when a descriptor becomes
 * readable. */
int64_t col_program_wake_ns(const struct col_program_env *at, const struct col_program *p);
/** Read a bounded amount of output: points go to emit, lines of standard error to the log. */
void col_program_read(struct col_program *p);
/** The file of the program changed: a program of interval 0 is restarted, others use the new file at their
 * next start. */
void col_program_renew(struct col_program *p, int64_t changed_ns);

#endif
