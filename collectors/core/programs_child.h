/*
 * programs_child.h - one run of a program in a process group of its own: start, read its output, stop the whole group.
 *
 *   start > runs > (stopping: SIGTERM to the group, SIGKILL after the grace) > first process ended, group
 *   killed > over
 *
 * The first process is waited for only after its group was killed, so that the id of the group cannot be reused. What
 * is left of the group when the first process ends by itself gets SIGTERM, and SIGKILL when the grace is over or no
 * process holds the pipes any more.
 *
 * Threads    one at a time
 * Not here   when to start and to stop (programs.c), lines (programs_line.h)
 * Source     docs/OPENTSDB.md, section 12.1
 */
#ifndef COLLECTORS_CORE_PROGRAMS_CHILD_H
#define COLLECTORS_CORE_PROGRAMS_CHILD_H

#include "base/buf.h"
#include "base/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define COL_CHILD_FDS 3u /* descriptors to poll a child */

/* One run. */
struct col_child {
    pid_t pid;          /* first process and group; 0 = there is no run */
    int out_fd, err_fd; /* its standard output and error; -1 = at their end */
    int pid_fd;         /* readable when the first process ended; -1 = the kernel has none */
    int64_t kill_ns;    /* monotonic time of SIGKILL to the group; INT64_MAX = it is not being stopped */
    bool asked;         /* it was stopped by tsd */
    bool ended;         /* the first process is over */
    bool killed;        /* SIGKILL went out */
    int status;         /* of the first process, as wait gives it; valid once ended */
};
#define COL_CHILD_NONE                                                                                       \
    (struct col_child)                                                                                       \
    {                                                                                                        \
        .out_fd = -1, .err_fd = -1, .pid_fd = -1, .kill_ns = INT64_MAX                                       \
    }

/* What a program gets besides its arguments. */
struct col_child_opts {
    const char *path; /* file; with shell text for /bin/sh */
    bool shell;       /* run by /bin/sh -c */
    char *const *env; /* environment, ended by NULL */
};

/** Start it: nothing on standard input, folder /, no signal blocked or ignored, no inherited descriptor. child is
 * COL_CHILD_NONE and is filled. TS_EIO with what the kernel said (not executable, no memory). */
int col_child_start(struct col_child *child, const struct col_child_opts *opts, struct ts_error *err);
/** Stop the whole group: SIGTERM now, SIGKILL after grace_ms. Further calls have no effect. */
void col_child_stop(struct col_child *child, int64_t grace_ms);
/** Descriptors to wait for, at most COL_CHILD_FDS; returns how many. */
unsigned col_child_fds(const struct col_child *child, struct pollfd *out);
/** Read what is there into p (which = 0: standard output, 1: error). Returns bytes; 0 = nothing now, or the
 * end. Never blocks. */
size_t col_child_read(struct col_child *child, unsigned which, char *p, size_t n_bytes);
/** Check whether it has ended, and kill it if that is due. True once it is over: then all of the child but
 * status, asked and killed is reset (COL_CHILD_NONE). */
bool col_child_over(struct col_child *child);
/** When col_child_over should be called at the latest, monotonic ns; INT64_MAX = when a descriptor moves. */
int64_t col_child_wake_ns(const struct col_child *child);
/** Run a program to its end, in this thread: standard output to out (what exceeds its maximum is discarded),
 * error to nowhere. After limit_ms it gets SIGTERM, grace_ms later SIGKILL. TS_EIO if it could not be
 * started; its status is ignored. */
int col_child_run(const struct col_child_opts *opts, int64_t limit_ms, int64_t grace_ms, struct ts_buf *out,
                  struct ts_error *err);

#endif
