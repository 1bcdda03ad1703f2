/*
 * programs_child.c - posix_spawn, pipes, signals to groups.
 *
 * posix_spawn and not fork: the process has threads, and a fork would copy its page tables.
 * Threads    see programs_child.h
 */
#include "collectors/core/programs_child.h"

#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_MS 5000 /* for what is left of a group when its first process ends by itself */
#define LOOK_MS  500  /* between two checks of the first process where its end can't be polled */

static int child_spawn(struct col_child *child, const struct col_child_opts *opts, const int out[2],
                       const int err_pipe[2])
{
    char *const shell[] = {"sh", "-c", (char *)(uintptr_t)opts->path, NULL};
    char *const plain[] = {(char *)(uintptr_t)opts->path, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawnattr_init(&attr);
    int rc = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, out[1], 1);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, err_pipe[1], 2);
    rc = rc ? rc : posix_spawn_file_actions_addclosefrom_np(&files, 3);
    rc = rc ? rc : posix_spawn_file_actions_addchdir_np(&files, "/");
    rc = rc ? rc : posix_spawnattr_setsigmask(&attr, &none);
    rc = rc ? rc : posix_spawnattr_setsigdefault(&attr, &all);
    rc = rc ? rc
            : posix_spawnattr_setflags(&attr,
                                       POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    rc = rc ? rc
            : posix_spawn(&child->pid, opts->shell ? "/bin/sh" : opts->path, &files, &attr,
                          opts->shell ? shell : plain, opts->env);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attr);
    return rc;
}

static void pipe_close(const int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

int col_child_start(struct col_child *child, const struct col_child_opts *opts, struct ts_error *err)
{
    int out[2], err_pipe[2];
    *child = COL_CHILD_NONE;
    if (pipe2(out, O_CLOEXEC) < 0)
        return ts_error_sys(err, TS_EIO, errno, "no pipe for %s", opts->path);
    if (pipe2(err_pipe, O_CLOEXEC) < 0) {
        int e = errno;
        pipe_close(out);
        return ts_error_sys(err, TS_EIO, e, "no pipe for %s", opts->path);
    }
    int rc = child_spawn(child, opts, out, err_pipe);
    if (rc) {
        pipe_close(out);
        pipe_close(err_pipe);
        child->pid = 0;
        if (rc == ENOENT && !opts->shell && access(opts->path, F_OK) == 0)
            return ts_error_set(err, TS_EIO,
                                "can't start %s: the interpreter named in its first line is not installed",
                                opts->path);
        return ts_error_sys(err, TS_EIO, rc, "can't start %s", opts->path);
    }
    close(out[1]);
    close(err_pipe[1]);
    child->out_fd = out[0];
    child->err_fd = err_pipe[0];
    (void)fcntl(child->out_fd, F_SETFL, O_NONBLOCK); /* our ends alone: programs expect to block */
    (void)fcntl(child->err_fd, F_SETFL, O_NONBLOCK);
    child->pid_fd = (int)syscall(SYS_pidfd_open, child->pid, 0); /* close on exec */
    return 0;
}

void col_child_stop(struct col_child *child, int64_t grace_ms)
{
    if (!child->pid || child->asked)
        return;
    child->asked = true;
    int64_t kill_ns = ts_clock_mono_ns() + grace_ms * 1000000;
    if (kill_ns < child->kill_ns)
        child->kill_ns = kill_ns;
    (void)kill(-child->pid, SIGTERM);
    (void)kill(-child->pid, SIGCONT); /* a stopped one can't end */
}

unsigned col_child_fds(const struct col_child *child, struct pollfd *out)
{
    unsigned n = 0;
    const int fds[COL_CHILD_FDS] = {child->out_fd, child->err_fd, child->ended ? -1 : child->pid_fd};
    for (unsigned i = 0; i < COL_CHILD_FDS; i++)
        if (child->pid && fds[i] >= 0)
            out[n++] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    return n;
}

size_t col_child_read(struct col_child *child, unsigned which, char *p, size_t n_bytes)
{
    int *fd = which ? &child->err_fd : &child->out_fd;
    ssize_t n;
    if (*fd < 0)
        return 0;
    do
        n = read(*fd, p, n_bytes);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return (size_t)n;
    if (n == 0 || errno != EAGAIN) {
        close(*fd);
        *fd = -1;
    }
    return 0;
}

/* Did the first process end? It is not waited for yet: its number stays taken. */
static void child_look(struct col_child *child)
{
    siginfo_t info = {.si_pid = 0};
    if (child->ended)
        return;
    int rc = waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (rc < 0 && errno == EINTR)
        return;
    if (rc == 0 && info.si_pid == 0)
        return;
    child->ended = true;
    if (child->asked)
        return;
    int64_t kill_ns = ts_clock_mono_ns() + GRACE_MS * 1000000ll;
    child->kill_ns = kill_ns < child->kill_ns ? kill_ns : child->kill_ns;
    (void)kill(-child->pid, SIGTERM);
}

static void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool col_child_over(struct col_child *child)
{
    if (!child->pid)
        return true;
    child_look(child);
    bool due = ts_clock_mono_ns() >= child->kill_ns, quiet = child->out_fd < 0 && child->err_fd < 0;
    if (due && !child->killed) {
        (void)kill(-child->pid, SIGKILL);
        child->killed = true;
    }
    if (!child->ended || (!quiet && !due))
        return false;
    (void)kill(-child->pid, SIGKILL); /* what may be left of the group, without pipes of ours */
    if (waitpid(child->pid, &child->status, WNOHANG) < 0)
        child->status = 0; /* SIGCHLD is ignored in this process: nobody knows how it ended */
    fd_close(&child->out_fd);
    fd_close(&child->err_fd);
    fd_close(&child->pid_fd);
    child->pid = 0;
    child->kill_ns = INT64_MAX;
    return true;
}

int64_t col_child_wake_ns(const struct col_child *child)
{
    int64_t look_ns = ts_clock_mono_ns() + LOOK_MS * 1000000ll,
            wake_ns = child->killed ? look_ns : child->kill_ns;
    if (!child->pid)
        return INT64_MAX;
    if (child->ended && child->out_fd < 0 && child->err_fd < 0)
        return 0; /* nothing is left to poll for */
    if (!child->ended && child->pid_fd < 0 && look_ns < wake_ns)
        wake_ns = look_ns;
    return wake_ns;
}

/* Read what both pipes have; returns bytes. */
static size_t child_drain(struct col_child *child, struct ts_buf *out)
{
    char rest[4096], *p = ts_buf_reserve(out, sizeof(rest));
    size_t n = col_child_read(child, 0, p ? p : rest, sizeof(rest));
    out->n += p ? n : 0;
    return n + col_child_read(child, 1, rest, sizeof(rest));
}

int col_child_run(const struct col_child_opts *opts, int64_t limit_ms, int64_t grace_ms, struct ts_buf *out,
                  struct ts_error *err)
{
    struct col_child child;
    struct pollfd fds[COL_CHILD_FDS];
    ts_buf_clear(out);
    TS_TRY(col_child_start(&child, opts, err));
    int64_t late_ns = ts_clock_mono_ns() + limit_ms * 1000000;
    while (!col_child_over(&child)) {
        size_t n = child_drain(&child, out);
        int64_t now_ns = ts_clock_mono_ns(), wake_ns = col_child_wake_ns(&child);
        if (now_ns >= late_ns)
            col_child_stop(&child, grace_ms);
        if (n)
            continue;
        wake_ns = wake_ns < late_ns || now_ns >= late_ns ? wake_ns : late_ns;
        int64_t wait_ms = wake_ns > now_ns ? (wake_ns - now_ns) / 1000000 + 1 : 0;
        (void)poll(fds, col_child_fds(&child, fds), wait_ms < limit_ms ? (int)wait_ms : (int)limit_ms);
    }
    return 0;
}
