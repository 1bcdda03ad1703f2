/*
 * program.h - one program: when it is started and stopped, what its end means, its lines.
 *
 * Threads    one at a time: the collector's
 * Not here   which there are (programs_dir.h), all of them together (programs.c), a run of it (programs_child.h)
 * Source     storage-and-tools 5.1, 5.2
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

#define COL_PROGRAM_GRACE_MS 5000 /* between SIGTERM and SIGKILL; storage-and-tools 5.1 */

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
    struct col_program_file file; /* texts owned */
    struct col_child child;       /* its run */
    struct col_line_cut out, err; /* what it is printing */
    int64_t log_ns;               /* monotonic: begin of the minute that n_log counts in */
    unsigned n_log;               /* lines of its standard error in that minute */
    struct col_emit *emit;        /* for its lines; borrowed */
    unsigned n_polled;            /* descriptors in the last poll */
    int64_t started_ns, line_ns;  /* monotonic: last start, last line (or start) */
    int64_t next_ns;              /* monotonic: next start; INT64_MAX = never */
    int64_t late_ns;              /* monotonic: it must have ended; INT64_MAX = runs for ever */
    int64_t pause_ms;             /* after the next failure but one; 0 = it is well */
    bool gone;                    /* its file is: forget it when it ended */
    bool renewed;                 /* its file changed: start it again at once when it ended */
    bool bad_logged;              /* a bad line was */
    uint64_t n_points, n_bad;     /* figures */
    uint64_t n_starts, n_ends[COL_PROGRAM_N_ENDS]; /* figures */
};

/* What all of them share. */
struct col_program_env {
    const struct ts_conf *conf; /* borrowed */
    const char *folder;         /* of programs, from the root; "" = none. Borrowed */
};

/** The sooner of two times (or the shorter of two spans). */
static inline int64_t col_sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/** New program, not started; texts of file are taken. emit is for its lines, borrowed. */
struct col_program *col_program_new(struct col_program_file *file, struct col_emit *emit);
/** Free one that does not run. */
void col_program_free(struct col_program *p);
/** Start it now. What fails is logged and counted; the next start is set. */
void col_program_start(const struct col_program_env *at, struct col_program *p, int64_t now_ns);
/** All that is due for it: stop it if it is silent or late, take note of its end, start it. */
void col_program_step(const struct col_program_env *at, struct col_program *p);
/** Its run is over (col_child_over): what that means for the next start. */
void col_program_ended(const struct col_program_env *at, struct col_program *p, int64_t now_ns);
/** When col_program_step is due at the latest, monotonic ns; INT64_MAX = when a descriptor moves. */
int64_t col_program_wake_ns(const struct col_program_env *at, const struct col_program *p);
/** Read what it printed, a bounded amount: points to its emit, complaints to the log. */
void col_program_read(struct col_program *p);
/** Its file changed: one of interval 0 is started anew, others use the file at their next turn. */
void col_program_renew(struct col_program *p, int64_t changed_ns);

#endif
