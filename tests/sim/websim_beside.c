/*
 * websim_beside.c - another process between two calls of the system: where import and collector meet.
 *
 * The linker puts the functions below in front of those of the C library (websim.cmake). Each call is counted; behind a number of them
 * something else happens: another process does its work, or this one is killed. A process is a fork that shares the files and hands over the
 * points that it has delivered. Nothing waits: in such a process pauses end at once, so a lock that its parent holds stays busy until it gives up.
 *
 * Threads    one
 */
#include "tests/sim/websim.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

#define PAUSES_MAX 8000u /* of a process: an import gives up sooner, a collector never does */

static unsigned n_pauses;          /* of this process */
static unsigned n_left;            /* calls until it happens; 0 = nothing will */
static unsigned n_locks_left;      /* tries of a lock until it happens; 0 = nothing will */
static void (*happens)(void *arg); /* what */
static void *happens_arg;          /* for it */
static bool child;                 /* this process is a fork */

void ws_before_lock(unsigned n_locks, void (*what)(void *arg), void *arg)
{
    ws_between(0, what, arg);
    n_locks_left = n_locks;
}

void ws_between(unsigned n_calls, void (*what)(void *arg), void *arg)
{
    n_left = n_calls;
    n_locks_left = 0;
    happens = what;
    happens_arg = arg;
}

static void called(void)
{
    if (n_left && !--n_left)
        happens(happens_arg);
}

static void killed(void *arg)
{
    (void)arg;
    _exit(0);
}

bool ws_in_child(void)
{
    return child;
}

void ws_process(struct ws_life *l, struct ws_store *s, unsigned n_calls, void (*work)(void *arg), void *arg)
{
    char name[] = "/tmp/tsd-websim-points-XXXXXX";
    struct stat st;
    int fd = mkstemp(name), status;
    ws_check(fd >= 0 && unlink(name) == 0, name);
    (void)fflush(NULL);
    pid_t pid = fork();
    ws_check(pid >= 0, "fork");
    if (!pid) {
        child = true;
        ws_store_tee(s, fd);
        ws_between(n_calls, killed, NULL);
        work(arg);
        (void)fflush(stdout);
        _exit(0);
    }
    ws_check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0,
             "a process beside this one failed");
    ws_check(fstat(fd, &st) == 0, "fstat");
    char *text = ts_xcalloc(1, (size_t)st.st_size + 1);
    ws_check(pread(fd, text, (size_t)st.st_size, 0) == st.st_size, "the points of a process");
    (void)ws_store_put_now(s, (struct ts_slice){text, (size_t)st.st_size}, 0, true, NULL);
    ts_free(text);
    (void)close(fd);
    ws_say(l, "(the process beside this one is gone)");
}

/* --- in front of the C library --- */

#define REAL(type, name, params, args)                                                                       \
    type __real_##name params;                                                                               \
    type __wrap_##name params;                                                                               \
    type __wrap_##name params                                                                                \
    {                                                                                                        \
        called();                                                                                            \
        return __real_##name args;                                                                           \
    }

REAL(FILE *, fopen, (const char *path, const char *how), (path, how))
REAL(DIR *, opendir, (const char *path), (path))
REAL(int, stat, (const char *path, struct stat *st), (path, st))
REAL(int, fstat, (int fd, struct stat *st), (fd, st))
REAL(ssize_t, pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
REAL(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
REAL(int, fdatasync, (int fd), (fd))
REAL(int, rename, (const char *from, const char *to), (from, to))

int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);
int __wrap_flock(int fd, int how)
{
    called();
    if (n_locks_left && !--n_locks_left)
        happens(happens_arg);
    return __real_flock(fd, how);
}

int __real_nanosleep(const struct timespec *pause, struct timespec *left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left)
{
    if (child && ++n_pauses == PAUSES_MAX) /* its parent, which holds the lock, waits for it */
        killed(NULL);
    return child ? 0 : __real_nanosleep(pause, left);
}
