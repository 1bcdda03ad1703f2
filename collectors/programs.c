/*
 * programs.c - programs as collectors: tcollector's folder layout, and commands of the configuration.
 *
 * One thread starts them, reads what they print and stops them. A program of interval 0 is kept running; one of interval n is
 * started when the clock shows a multiple of n seconds. What fails is started again after a pause that doubles.
 *
 * Threads    the collector's own
 * Not here   which there are (programs_dir.h), one run (programs_child.h), lines (programs_line.h), points (emit.h)
 * Source     storage-and-tools 5.1, 5.2
 */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/collector.h"
#include "collectors/fields.h"
#include "collectors/programs_child.h"
#include "collectors/programs_dir.h"
#include "collectors/programs_env.h"
#include "collectors/programs_line.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/wait.h>

#define EXIT_NEVER     13    /* "do not start me again" */
#define GRACE_MS       5000  /* between SIGTERM and SIGKILL; storage-and-tools 5.1 */
#define STOP_GRACE_MS  2500  /* the same when we end ourselves: the scheduler waits 5 s for us */
#define STOP_MAX_MS    3500  /* then what is left is left */
#define PAUSE_FIRST_MS 1000  /* after a failure; doubles */
#define LIVED_MS       60000 /* a program of interval 0 that ran so long begins anew with pauses */
#define WELL_MAX_MS    15000 /* longest pause after status 0: tcollector's turn */
#define FIGURES_MS     15000 /* between own points */
#define LOG_LINES      50u   /* of standard error a program */
#define LOG_WINDOW_MS  60000 /* in such a time */
#define READ_BYTES     ((size_t)16 << 10)
#define READS_A_TURN   4 /* then the other programs have their turn */

static const struct col_metric metrics[] = {
    {"tsd.collect.program.points", "program", "points", "Points a program printed.", COL_COUNTER},
    {"tsd.collect.program.bad_lines", "program", "lines",
     "Lines of a program that are no points: wrong, too long, without an end.", COL_COUNTER},
    {"tsd.collect.program.starts", "program", "1", "Starts of a program.", COL_COUNTER},
    {"tsd.collect.program.ends", "program result", "1",
     "Ends of a program: ok (status 0), never (13: not started again), failed, stopped by us because it "
     "was silent or took too long.",
     COL_COUNTER},
    {"tsd.collect.program.running", "program", "1", "1 while the program runs, else 0.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* How a run ended; index of n_ends. */
enum end { END_OK, END_NEVER, END_FAILED, END_STOPPED, N_ENDS };
static const char *const end_names[N_ENDS] = {"ok", "never", "failed", "stopped"};

/* A program. */
struct program {
    struct col_program_file file;      /* texts owned */
    struct col_child child;            /* its run */
    struct col_line_cut out, err;      /* what it is printing */
    int64_t log_ns;                    /* monotonic: begin of the minute that n_log counts in */
    unsigned n_log;                    /* lines of its standard error in that minute */
    struct col_emit *emit;             /* for its lines; borrowed */
    unsigned n_polled;                 /* descriptors in the last poll */
    int64_t started_ns, line_ns;       /* monotonic: last start, last line (or start) */
    int64_t next_ns;                   /* monotonic: next start; INT64_MAX = never */
    int64_t late_ns;                   /* monotonic: it must have ended; INT64_MAX = runs for ever */
    int64_t pause_ms;                  /* after the next failure but one; 0 = it is well */
    bool gone;                         /* its file is: forget it when it ended */
    bool renewed;                      /* its file changed: start it again at once when it ended */
    bool bad_logged;                   /* a bad line was */
    uint64_t n_points, n_bad;          /* figures */
    uint64_t n_starts, n_ends[N_ENDS]; /* figures */
};

/* The collector's state. */
struct programs {
    const struct ts_conf *conf; /* borrowed */
    const char *folder;         /* of programs; "" = none. Borrowed */
    struct program **p;         /* owned */
    size_t n, cap;              /* entries */
    struct pollfd *fds;         /* owned; room for stop_fd and all children */
    int64_t scan_ns;            /* monotonic: look through the folder at */
    int64_t figures_ms;         /* wall clock: next own points */
    size_t n_twice, n_plain;    /* complaints logged last: names that are there twice, files not executable */
    int scan_rc;                /* result of the last look */
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- lines --- */

static void program_bad(struct program *p, const char *what)
{
    p->n_bad++;
    if (!p->bad_logged)
        ts_log(TS_LOG_WARN, "program %s prints lines that are no points (further ones are counted only): %s",
               p->file.name, what);
    p->bad_logged = true;
}

static void program_point(void *arg, struct ts_slice line, bool too_long)
{
    struct program *p = arg;
    struct ts_error err = {0};
    p->line_ns = ts_clock_mono_ns();
    if (too_long)
        program_bad(p, "a line of 1024 bytes or more");
    else if (!col_trim(line).n)
        return;
    else if (col_emit_line(p->emit, line, &err) < 0)
        program_bad(p, err.text);
    else
        p->n_points++;
}

/* Standard error goes to our log: a traceback whole, a flood not. */
static void program_complaint(void *arg, struct ts_slice line, bool too_long)
{
    struct program *p = arg;
    int64_t now_ns = ts_clock_mono_ns();
    (void)too_long;
    if (!col_trim(line).n)
        return;
    if (now_ns - p->log_ns >= LOG_WINDOW_MS * 1000000ll) {
        if (p->n_log > LOG_LINES)
            ts_log(TS_LOG_WARN, "program %s: n_left_out=%u lines before this one", p->file.name,
                   p->n_log - LOG_LINES);
        p->log_ns = now_ns;
        p->n_log = 0;
    }
    if (++p->n_log <= LOG_LINES)
        ts_log(TS_LOG_WARN, "program %s: %.*s", p->file.name, (int)line.n, line.p);
}

static void program_read(struct program *p)
{
    char bytes[READ_BYTES];
    for (unsigned which = 0; which < 2; which++)
        for (unsigned i = 0; i < READS_A_TURN; i++) {
            size_t n = col_child_read(&p->child, which, bytes, sizeof(bytes));
            if (!n)
                break;
            col_line_feed(which ? &p->err : &p->out, (struct ts_slice){bytes, n},
                          which ? program_complaint : program_point, p);
        }
}

/* --- one program --- */

/* The next turn of the clock that is at least half an interval away: a program begun just before a turn is left alone at it. */
static int64_t program_turn_ns(const struct program *p, int64_t now_ns)
{
    int64_t step_ms = (int64_t)p->file.interval_s * 1000, now_ms = ts_clock_ms();
    int64_t turn_ms = (ts_floor_div(now_ms + step_ms / 2 - 1, step_ms) + 1) * step_ms;
    return now_ns + (turn_ms - now_ms) * 1000000;
}

/* It failed: the next start comes after a pause, at a turn of the clock. */
static void program_pause(struct program *p, int64_t now_ns, int64_t max_ms)
{
    p->pause_ms = p->pause_ms ? min64(p->pause_ms * 2, max_ms) : min64(PAUSE_FIRST_MS, max_ms);
    int64_t at_ns = now_ns + p->pause_ms * 1000000, step_ns = (int64_t)p->file.interval_s * 1000000000;
    if (step_ns && p->next_ns < at_ns)
        p->next_ns += (at_ns - p->next_ns + step_ns - 1) / step_ns * step_ns;
    else if (!step_ns)
        p->next_ns = at_ns;
}

static void program_start(struct programs *ps, struct program *p, int64_t now_ns)
{
    struct ts_error err = {0};
    struct col_env env = {0};
    col_env_make(&env, ps->folder);
    struct col_child_opts opts = {.path = p->file.path, .shell = p->file.shell, .env = env.vars};
    p->started_ns = p->line_ns = now_ns;
    p->next_ns = p->file.interval_s ? program_turn_ns(p, now_ns) : now_ns;
    p->late_ns = p->file.interval_s ? p->next_ns : INT64_MAX;
    p->renewed = false;
    p->out.n = p->err.n = 0;
    p->out.over = p->err.over = false;
    p->n_starts++;
    if (col_child_start(&p->child, &opts, &err) < 0) {
        p->n_ends[END_FAILED]++;
        program_pause(p, now_ns, ts_conf_int(ps->conf, "collect_programs_retry_max_s") * 1000);
        ts_log(TS_LOG_WARN, "program %s: %s; again in %lld s", p->file.name, err.text,
               (long long)((p->next_ns - now_ns) / 1000000000));
    }
    col_env_release(&env);
}

/* What its end means for the next start. */
static void program_ended(struct programs *ps, struct program *p, int64_t now_ns)
{
    int status = p->child.status;
    int64_t max_ms = ts_conf_int(ps->conf, "collect_programs_retry_max_s") * 1000;
    bool exited = WIFEXITED(status), lived = now_ns - p->started_ns >= LIVED_MS * 1000000ll;
    if (col_line_end(&p->out))
        program_bad(p, "its last line has no end");
    (void)col_line_end(&p->err);
    if (p->renewed || p->gone) {
        p->next_ns = now_ns;
        p->pause_ms = 0;
        return;
    }
    if (lived && !p->file.interval_s)
        p->pause_ms = 0;
    if (p->child.asked) {
        p->n_ends[END_STOPPED]++;
        program_pause(p, now_ns, max_ms);
    } else if (exited && WEXITSTATUS(status) == EXIT_NEVER) {
        p->n_ends[END_NEVER]++;
        p->next_ns = INT64_MAX;
        ts_log(TS_LOG_INFO, "program %s asks not to be started again (until its file changes)", p->file.name);
    } else if (exited && WEXITSTATUS(status) == 0) {
        p->n_ends[END_OK]++;
        if (p->file.interval_s)
            p->pause_ms = 0;
        else
            program_pause(p, now_ns, min64(max_ms, WELL_MAX_MS));
    } else {
        p->n_ends[END_FAILED]++;
        program_pause(p, now_ns, max_ms);
        ts_log(TS_LOG_WARN, "program %s ended with %s %d; again in %lld s", p->file.name,
               exited ? "status" : "signal", exited ? WEXITSTATUS(status) : WTERMSIG(status),
               (long long)((p->next_ns - now_ns) / 1000000000));
    }
}

/* Is it silent or late? Then it has to go. */
static void program_watch(const struct programs *ps, struct program *p, int64_t now_ns)
{
    int64_t silence_s = ts_conf_int(ps->conf, "collect_programs_silence_s");
    bool late = now_ns >= p->late_ns;
    bool silent = !p->file.interval_s && silence_s && now_ns - p->line_ns >= silence_s * 1000000000;
    if (p->child.asked || p->child.ended || (!late && !silent))
        return;
    ts_log(TS_LOG_WARN, "program %s %s %lld s: it is stopped", p->file.name,
           late ? "still runs at its next turn, after" : "printed no line for",
           (long long)((now_ns - (late ? p->started_ns : p->line_ns)) / 1000000000));
    col_child_stop(&p->child, GRACE_MS);
}

static int64_t program_wake_ns(const struct programs *ps, const struct program *p)
{
    int64_t silence_s = ts_conf_int(ps->conf, "collect_programs_silence_s");
    int64_t wake_ns = col_child_wake_ns(&p->child);
    if (!p->child.pid)
        return p->next_ns;
    if (p->child.asked || p->child.ended)
        return wake_ns;
    if (!p->file.interval_s && silence_s)
        wake_ns = min64(wake_ns, p->line_ns + silence_s * 1000000000);
    return min64(wake_ns, p->late_ns);
}

/* All that is due for it now. */
static void program_step(struct programs *ps, struct program *p)
{
    int64_t now_ns = ts_clock_mono_ns();
    if (p->child.pid) {
        program_watch(ps, p, now_ns);
        if (!col_child_over(&p->child))
            return;
        program_ended(ps, p, now_ns);
    }
    if (!p->gone && now_ns >= p->next_ns)
        program_start(ps, p, now_ns);
}

static void program_free(struct program *p)
{
    ts_free(p->file.name);
    ts_free(p->file.path);
    ts_free(p);
}

/* --- all programs --- */

static struct program *programs_find(const struct programs *ps, const struct col_program_file *f)
{
    for (size_t i = 0; i < ps->n; i++) {
        struct program *p = ps->p[i];
        if (!p->gone && p->file.interval_s == f->interval_s && !strcmp(p->file.name, f->name) &&
            !strcmp(p->file.path, f->path))
            return p;
    }
    return NULL;
}

static void programs_add(struct programs *ps, struct col_program_file *f, struct col_emit *emit)
{
    if (ps->n == ps->cap) {
        ps->cap = ps->cap ? ps->cap * 2 : 16;
        ps->p = ts_xrealloc(ps->p, ps->cap * sizeof(*ps->p));
        ps->fds = ts_xrealloc(ps->fds, (ps->cap * COL_CHILD_FDS + 1) * sizeof(*ps->fds));
    }
    struct program *p = ts_xcalloc(1, sizeof(*p));
    p->file = *f; /* texts taken */
    f->name = f->path = NULL;
    p->child = COL_CHILD_NONE;
    p->emit = emit;
    ps->p[ps->n++] = p;
    ts_log(TS_LOG_INFO, "program %s interval_s=%u path=%s", p->file.name, p->file.interval_s, p->file.path);
}

/* Its file changed. One of an interval uses the new file at its next turn. */
static void program_renew(struct program *p, int64_t changed_ns)
{
    p->file.changed_ns = changed_ns;
    p->bad_logged = false;
    p->pause_ms = 0;
    p->renewed = !p->file.interval_s;
    if (!p->child.pid)
        p->next_ns = ts_clock_mono_ns();
    else if (p->renewed)
        col_child_stop(&p->child, GRACE_MS);
    ts_log(TS_LOG_INFO, "program %s changed", p->file.name);
}

static void programs_complain(struct programs *ps, const struct col_program_list *l)
{
    if (l->n_twice && l->n_twice != ps->n_twice)
        ts_log(TS_LOG_WARN,
               "programs: %s is left out: another interval has a file of that name (%zu such files)",
               l->twice, l->n_twice);
    if (l->n_not_executable && l->n_not_executable != ps->n_plain)
        ts_log(TS_LOG_WARN, "programs: %s is left out: it is not executable (%zu such files)",
               l->not_executable, l->n_not_executable);
    ps->n_twice = l->n_twice;
    ps->n_plain = l->n_not_executable;
}

/* Compare what there is with what runs. */
static void programs_scan(struct programs *ps, struct col_emit *emit)
{
    struct col_program_list l = {.p = NULL};
    struct ts_error err = {0};
    (void)col_programs_commands(ts_conf_str(ps->conf, "collect_commands"), &l, NULL); /* checked by init */
    int rc = *ps->folder ? col_programs_scan(ps->folder, &l, &err) : 0;
    if (rc < 0 && rc != ps->scan_rc)
        ts_log(TS_LOG_WARN, "programs: %s", err.text);
    ps->scan_rc = rc;
    if (rc == 0)
        programs_complain(ps, &l);
    for (size_t i = 0; rc == 0 && i < ps->n; i++) {
        struct program *p = ps->p[i];
        bool there = p->gone;
        for (size_t k = 0; k < l.n && !there; k++)
            there = programs_find(ps, &l.p[k]) == p;
        if (there)
            continue;
        ts_log(TS_LOG_INFO, "program %s is gone", p->file.name);
        p->gone = true;
        col_child_stop(&p->child, GRACE_MS);
    }
    for (size_t k = 0; k < l.n; k++) {
        struct program *p = programs_find(ps, &l.p[k]);
        if (!p)
            programs_add(ps, &l.p[k], emit);
        else if (p->file.changed_ns != l.p[k].changed_ns)
            program_renew(p, l.p[k].changed_ns);
    }
    col_programs_release(&l);
    ps->scan_ns = ts_clock_mono_ns() + ts_conf_int(ps->conf, "collect_programs_scan_s") * 1000000000;
}

/* Forget those whose file is gone and that do not run any more. */
static void programs_sweep(struct programs *ps)
{
    size_t kept = 0;
    for (size_t i = 0; i < ps->n; i++) {
        struct program *p = ps->p[i];
        if (p->gone && !p->child.pid)
            program_free(p);
        else
            ps->p[kept++] = p;
    }
    ps->n = kept;
}

/* Now is a turn of own points, or the clock was set back. */
static bool programs_figures_due(struct programs *ps)
{
    int64_t now_ms = ts_clock_ms(), turn_ms = ps->figures_ms;
    if (now_ms >= turn_ms || turn_ms - now_ms > FIGURES_MS)
        ps->figures_ms = (ts_floor_div(now_ms, FIGURES_MS) + 1) * FIGURES_MS;
    return turn_ms && now_ms >= turn_ms;
}

static void programs_figures(const struct programs *ps, struct col_emit *emit)
{
    int64_t now_ms = ts_clock_ms();
    col_emit_time(emit, now_ms / 1000 * 1000);
    for (size_t i = 0; i < ps->n; i++) {
        const struct program *p = ps->p[i];
        struct ts_slice name = ts_slice_str(p->file.name);
        if (p->gone)
            continue;
        col_emit_u64(emit, metrics[0].name, p->n_points, COL_TAGS({"program", name}));
        col_emit_u64(emit, metrics[1].name, p->n_bad, COL_TAGS({"program", name}));
        col_emit_u64(emit, metrics[2].name, p->n_starts, COL_TAGS({"program", name}));
        for (unsigned k = 0; k < N_ENDS; k++)
            col_emit_u64(emit, metrics[3].name, p->n_ends[k],
                         COL_TAGS({"program", name}, {"result", ts_slice_str(end_names[k])}));
        col_emit_int(emit, metrics[4].name, p->child.pid != 0, COL_TAGS({"program", name}));
    }
}

/* Wait until something moves or is due, and read. True = told to stop. */
static bool programs_wait(struct programs *ps, int stop_fd, int64_t wake_ns)
{
    nfds_t n = 1;
    ps->fds[0] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
    for (size_t i = 0; i < ps->n; i++) {
        ps->p[i]->n_polled = col_child_fds(&ps->p[i]->child, ps->fds + n);
        n += ps->p[i]->n_polled;
    }
    int64_t wait_ns = wake_ns - ts_clock_mono_ns();
    wait_ns = wait_ns < 0 ? 0 : min64(wait_ns, FIGURES_MS * 1000000ll);
    struct timespec t = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    (void)ppoll(ps->fds, n, &t, NULL);
    const struct pollfd *fd = ps->fds + 1;
    for (size_t i = 0; i < ps->n; i++) {
        bool any = false;
        for (unsigned k = 0; k < ps->p[i]->n_polled; k++, fd++)
            any = any || fd->revents;
        if (any)
            program_read(ps->p[i]);
    }
    return ps->fds[0].revents != 0;
}

/* All of them get SIGTERM at once; what they print at their end counts. */
static void programs_stop(struct programs *ps)
{
    int64_t until_ns = ts_clock_mono_ns() + STOP_MAX_MS * 1000000ll;
    size_t n_left;
    for (size_t i = 0; i < ps->n; i++)
        col_child_stop(&ps->p[i]->child, STOP_GRACE_MS);
    for (;;) {
        int64_t wake_ns = until_ns;
        n_left = 0;
        for (size_t i = 0; i < ps->n; i++) {
            n_left += !col_child_over(&ps->p[i]->child);
            wake_ns = min64(wake_ns, col_child_wake_ns(&ps->p[i]->child));
        }
        if (!n_left || ts_clock_mono_ns() >= until_ns)
            break;
        (void)programs_wait(ps, -1, wake_ns);
    }
    if (n_left)
        ts_log(TS_LOG_WARN, "programs: %zu do not end", n_left);
}

static int programs_run(void *state, struct col_emit *emit, int stop_fd, struct ts_error *err)
{
    struct programs *ps = state;
    bool stop = false;
    while (!stop) {
        int64_t wake_ns;
        if (ts_clock_mono_ns() >= ps->scan_ns)
            programs_scan(ps, emit);
        wake_ns = ps->scan_ns;
        for (size_t i = 0; i < ps->n; i++) {
            program_step(ps, ps->p[i]);
            wake_ns = min64(wake_ns, program_wake_ns(ps, ps->p[i]));
        }
        programs_sweep(ps);
        if (programs_figures_due(ps))
            programs_figures(ps, emit);
        if (col_emit_end(emit, false, err) < 0) /* counted and told by the spool; programs go on */
            ts_log(TS_LOG_DEBUG, "programs: %s", err->text);
        stop = programs_wait(ps, stop_fd, wake_ns);
    }
    programs_stop(ps);
    programs_figures(ps, emit);
    return col_emit_end(emit, false, err);
}

/* --- the collector --- */

static bool programs_wanted(const struct ts_conf *conf)
{
    return *ts_conf_str(conf, "collect_programs_dir") || *ts_conf_str(conf, "collect_commands");
}

static int programs_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    if (!programs_wanted(ctx->conf))
        return ts_error_set(err, TS_ENOTFOUND, "collect_programs_dir and collect_commands are empty");
    TS_TRY(col_programs_commands(ts_conf_str(ctx->conf, "collect_commands"), NULL, err));
    struct programs *ps = ts_xcalloc(1, sizeof(*ps));
    ps->conf = ctx->conf;
    ps->folder = ts_conf_str(ctx->conf, "collect_programs_dir");
    ps->fds = ts_xcalloc(1, sizeof(*ps->fds));
    *out_state = ps;
    return 0;
}

static void programs_release(void *state)
{
    struct programs *ps = state;
    for (size_t i = 0; i < ps->n; i++)
        program_free(ps->p[i]);
    ts_free(ps->p);
    ts_free(ps->fds);
    ts_free(ps);
}

const struct col_collector col_programs = {
    .name = "programs",
    .help = "Programs that print points, in tcollector's folders and line format, and commands.",
    .metrics = metrics,
    .by_request = true,
    .wanted = programs_wanted,
    .init = programs_init,
    .run = programs_run,
    .release = programs_release,
};
