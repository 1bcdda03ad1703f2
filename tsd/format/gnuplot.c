/*
 * gnuplot.c - quoting for gnuplot, and its process.
 *
 * Threads    see picture.h
 * Not here   what a picture looks like (commands/plot.c, http/graph.c)
 */
#include "tsd/format/picture.h"

#include "base/num.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define GNUPLOT_SAY     160               /* characters of its error output that are reported */
#define GNUPLOT_MEMORY  ((rlim_t)1 << 30) /* address space, bytes */
#define GNUPLOT_POLL_MS 200               /* between two checks of the clock */

extern char **environ;

static void gnuplot_text(const char *text, bool format, struct ts_buf *out)
{
    ts_buf_str(out, *text == '\'' ? "' " : "'");
    for (; *text; text++) {
        if (*text == '\'' || (format && *text == '%'))
            ts_buf_char(out, *text);
        ts_buf_char(out, (unsigned char)*text < 32 || *text == 127 ? ' ' : *text);
    }
    ts_buf_char(out, '\'');
}

void tsd_gnuplot_quote(const char *text, struct ts_buf *out)
{
    gnuplot_text(text, false, out);
}

void tsd_gnuplot_tic(const char *text, struct ts_buf *out)
{
    gnuplot_text(text, true, out);
}

void tsd_gnuplot_number(double v, struct ts_buf *out)
{
    char text[TS_NUM_TEXT_BYTES];
    if (isnan(v))
        ts_buf_str(out, "NaN");
    else
        ts_buf_append(out, text, ts_num_print_double(v, text));
}

void tsd_gnuplot_data(size_t at, const int64_t *x_s, const double *y, size_t n, struct ts_buf *out)
{
    ts_buf_printf(out, "$d%zu << EOD\n", at);
    for (size_t k = 0; k < n; k++) {
        ts_buf_printf(out, "%lld ", (long long)x_s[k]);
        tsd_gnuplot_number(y[k], out);
        ts_buf_char(out, '\n');
    }
    ts_buf_str(out, "EOD\n");
}

/* --- the process --- */

/* Start gnuplot with the script's pipe as input, the file as output and a pipe for its complaints. */
static int gnuplot_spawn(int in, int file, int complaints, pid_t *out_pid)
{
    static char *const argv[] = {(char *)"gnuplot", (char *)"-", NULL};
    posix_spawn_file_actions_t acts;
    posix_spawnattr_t attr; /* our threads block signals and ignore broken pipes; it should not */
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&acts);
    posix_spawn_file_actions_adddup2(&acts, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&acts, file, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&acts, complaints, STDERR_FILENO);
    int e = posix_spawnp(out_pid, argv[0], &acts, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&acts);
    posix_spawnattr_destroy(&attr);
    return e;
}

static void gnuplot_limit(pid_t pid, int64_t timeout_ms)
{
    rlim_t cpu_s = (rlim_t)(timeout_ms / 1000 + 1);
    (void)prlimit(pid, RLIMIT_AS, &(struct rlimit){GNUPLOT_MEMORY, GNUPLOT_MEMORY}, NULL);
    (void)prlimit(pid, RLIMIT_CPU, &(struct rlimit){cpu_s, cpu_s}, NULL);
    (void)prlimit(pid, RLIMIT_CORE, &(struct rlimit){0, 0}, NULL);
}

/* Write the script and read complaints at the same time; keeps the first of them. */
static int gnuplot_feed(int in, int complaints, struct ts_slice script, int64_t until_ns,
                        const _Atomic bool *cancelled, char *say)
{
    int rc = 0;
    size_t n_say = 0;
    bool open = true;
    fcntl(in, F_SETFL, O_NONBLOCK);
    while (open) {
        struct pollfd fds[2] = {{.fd = complaints, .events = POLLIN}, {.fd = in, .events = POLLOUT}};
        if (poll(fds, in >= 0 ? 2 : 1, GNUPLOT_POLL_MS) < 0 && errno != EINTR)
            break;
        if (ts_clock_mono_ns() > until_ns)
            rc = TS_ETIMEOUT;
        else if (cancelled && atomic_load_explicit(cancelled, memory_order_relaxed))
            rc = TS_ECANCELLED;
        if (rc < 0)
            break;
        if (in >= 0 && fds[1].revents) {
            ssize_t n = write(in, script.p, script.n);
            if (n > 0)
                script = (struct ts_slice){script.p + n, script.n - (size_t)n};
            if ((n < 0 && errno != EAGAIN && errno != EINTR) || script.n == 0) {
                close(in);
                in = -1;
            }
        }
        if (fds[0].revents) {
            char more[256];
            ssize_t n = read(complaints, more, sizeof(more));
            open = n > 0 || (n < 0 && errno == EINTR);
            for (ssize_t i = 0; i < n && n_say < GNUPLOT_SAY; i++)
                if (more[i] != '\n' || n_say)
                    say[n_say++] = (unsigned char)more[i] < 32 ? ' ' : more[i];
        }
    }
    if (in >= 0)
        close(in);
    say[n_say] = 0;
    return rc;
}

static int gnuplot_into(struct ts_slice script, int file, int64_t timeout_ms, const _Atomic bool *cancelled,
                        struct ts_error *err)
{
    int in[2], complaints[2], status = 0;
    char say[GNUPLOT_SAY + 1] = "";
    pid_t pid;
    if (pipe2(in, O_CLOEXEC) < 0)
        return ts_error_sys(err, TS_EIO, errno, "can't make a pipe to gnuplot");
    if (pipe2(complaints, O_CLOEXEC) < 0) {
        int e = errno;
        close(in[0]);
        close(in[1]);
        return ts_error_sys(err, TS_EIO, e, "can't make a pipe to gnuplot");
    }
    int e = gnuplot_spawn(in[0], file, complaints[1], &pid);
    close(in[0]);
    close(complaints[1]);
    int rc = 0;
    if (e == 0)
        gnuplot_limit(pid, timeout_ms); /* it waits for its script meanwhile */
    if (e == 0)
        rc = gnuplot_feed(in[1], complaints[0], script, ts_clock_mono_ns() + timeout_ms * 1000000, cancelled,
                          say);
    else
        close(in[1]);
    close(complaints[0]);
    if (e == ENOENT)
        return ts_error_set(err, TS_ENOTFOUND,
                            "gnuplot draws the picture and is not installed: apt-get install gnuplot-nox");
    if (e != 0)
        return ts_error_sys(err, TS_EIO, e, "can't start gnuplot");
    if (rc < 0)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (rc < 0)
        return ts_error_set(err, rc, rc == TS_ETIMEOUT ? "gnuplot took too long" : "the client is gone");
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
        return ts_error_set(err, TS_EIO, "gnuplot ended early: %s", say);
    if (WEXITSTATUS(status) != 0)
        return ts_error_set(err, TS_EIO, "gnuplot could not draw: %s", say);
    return 0;
}

int tsd_gnuplot_run(struct ts_slice script, int64_t timeout_ms, const _Atomic bool *cancelled,
                    FILE **out_picture, struct ts_error *err)
{
    *out_picture = NULL;
    FILE *picture = tmpfile();
    if (!picture)
        return ts_error_sys(err, TS_EIO, errno, "can't make a temporary file for the picture");
    int rc = gnuplot_into(script, fileno(picture), timeout_ms, cancelled, err);
    if (rc < 0) {
        fclose(picture);
        return rc;
    }
    rewind(picture);
    *out_picture = picture;
    return 0;
}
