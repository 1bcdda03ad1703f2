/*
 * programs.c - programs as collectors: tcollector's folder layout, and commands of the configuration.
 *
 * One thread starts them, reads what they print and stops them; it looks through the folder now and then for what is new, changed or gone.
 *
 * Threads    the collector's own
 * Not here   which there are (programs_dir.h), what becomes of one (program.h), points (emit.h)
 * Source     docs/OPENTSDB.md, sections 12.1, 12.2
 */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/core/collector.h"
#include "collectors/programs/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STOP_GRACE_MS 2500  /* the same when we end ourselves: the scheduler waits 5 s for us */
#define STOP_MAX_MS   3500  /* then what is left is left */
#define ONCE_EVER_MS  3000  /* --once: programs of interval 0 run so long */
#define ONCE_GRACE_MS 1000  /* then SIGKILL follows SIGTERM after */
#define FIGURES_MS    15000 /* between own points */

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

static const char *const end_names[COL_PROGRAM_N_ENDS] = {"ok", "never", "failed", "stopped"};

/* The collector's state. */
struct programs {
    struct col_program_env at; /* configuration, folder */
    char folder[2 * PATH_MAX]; /* that folder, from the root; "" = none */
    struct col_program **p;    /* owned */
    size_t n, cap;             /* entries */
    struct pollfd *fds;        /* owned; entries for stop_fd and all children */
    int64_t scan_ns;           /* monotonic: look through the folder at */
    int64_t figures_ms;        /* wall clock: next own points */
    size_t n_unsafe;           /* files others may change, at the last look */
    size_t n_twice, n_plain;   /* complaints logged last: names that are there twice, files not executable */
    int scan_rc;               /* result of the last look */
};

/* --- all programs --- */

static struct col_program *programs_find(const struct programs *ps, const struct col_program_file *f)
{
    for (size_t i = 0; i < ps->n; i++) {
        struct col_program *p = ps->p[i];
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
    struct col_program *p = col_program_new(f, emit);
    ps->p[ps->n++] = p;
    ts_log(TS_LOG_INFO, "program %s interval_s=%u path=%s", p->file.name, p->file.interval_s, p->file.path);
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
    if (l->n_unsafe && l->n_unsafe != ps->n_unsafe)
        ts_log(TS_LOG_WARN,
               "programs: %s is left out: it, or its folder, belongs to another user than root and us, or "
               "others may "
               "write it (%zu such files)",
               l->unsafe, l->n_unsafe);
    ps->n_unsafe = l->n_unsafe;
    ps->n_twice = l->n_twice;
    ps->n_plain = l->n_not_executable;
}

/* Compare what there is with what runs. */
static void programs_scan(struct programs *ps, struct col_emit *emit)
{
    struct col_program_list l = {.p = NULL};
    struct ts_error err = {0};
    (void)col_programs_commands(ts_conf_str(ps->at.conf, "collect_commands"), &l, NULL); /* checked by init */
    int rc = *ps->folder ? col_programs_scan(ps->folder, &l, &err) : 0;
    if (rc < 0 && rc != ps->scan_rc)
        ts_log(TS_LOG_WARN, "programs: %s", err.text);
    ps->scan_rc = rc;
    if (rc == 0)
        programs_complain(ps, &l);
    for (size_t i = 0; rc == 0 && i < ps->n; i++) {
        struct col_program *p = ps->p[i];
        bool there = p->gone;
        for (size_t k = 0; k < l.n && !there; k++)
            there = programs_find(ps, &l.p[k]) == p;
        if (there)
            continue;
        ts_log(TS_LOG_INFO, "program %s is gone", p->file.name);
        p->gone = true;
        col_child_stop(&p->child, COL_PROGRAM_GRACE_MS);
    }
    for (size_t k = 0; k < l.n; k++) {
        struct col_program *p = programs_find(ps, &l.p[k]);
        if (!p)
            programs_add(ps, &l.p[k], emit);
        else if (p->file.changed_ns != l.p[k].changed_ns)
            col_program_renew(p, l.p[k].changed_ns);
    }
    col_programs_release(&l);
    ps->scan_ns = ts_clock_mono_ns() + ts_conf_int(ps->at.conf, "collect_programs_scan_s") * 1000000000;
}

/* Forget those whose file is gone and that do not run any more. */
static void programs_sweep(struct programs *ps)
{
    size_t kept = 0;
    for (size_t i = 0; i < ps->n; i++) {
        struct col_program *p = ps->p[i];
        if (p->gone && !p->child.pid)
            col_program_free(p);
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
        const struct col_program *p = ps->p[i];
        struct ts_slice name = ts_slice_str(p->file.name);
        if (p->gone)
            continue;
        col_emit_u64(emit, metrics[0].name, p->n_points, COL_TAGS({"program", name}));
        col_emit_u64(emit, metrics[1].name, p->n_bad, COL_TAGS({"program", name}));
        col_emit_u64(emit, metrics[2].name, p->n_starts, COL_TAGS({"program", name}));
        for (unsigned k = 0; k < COL_PROGRAM_N_ENDS; k++)
            col_emit_u64(emit, metrics[3].name, p->n_ends[k],
                         COL_TAGS({"program", name}, {"result", ts_slice_str(end_names[k])}));
        col_emit_int(emit, metrics[4].name, p->child.pid != 0, COL_TAGS({"program", name}));
    }
}

/* Wait for output, ends or due times, and read. True = the collectors are stopping. */
static bool programs_wait(struct programs *ps, int stop_fd, int64_t wake_ns)
{
    nfds_t n = 1;
    ps->fds[0] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
    for (size_t i = 0; i < ps->n; i++) {
        ps->p[i]->n_polled = col_child_fds(&ps->p[i]->child, ps->fds + n);
        n += ps->p[i]->n_polled;
    }
    int64_t wait_ns = wake_ns - ts_clock_mono_ns();
    wait_ns = wait_ns < 0 ? 0 : col_sooner(wait_ns, FIGURES_MS * 1000000ll);
    struct timespec t = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    (void)ppoll(ps->fds, n, &t, NULL);
    const struct pollfd *fd = ps->fds + 1;
    for (size_t i = 0; i < ps->n; i++) {
        bool any = false;
        for (unsigned k = 0; k < ps->p[i]->n_polled; k++, fd++)
            any = any || fd->revents;
        if (any)
            col_program_read(ps->p[i]);
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
            wake_ns = col_sooner(wake_ns, col_child_wake_ns(&ps->p[i]->child));
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
            col_program_step(&ps->at, ps->p[i]);
            wake_ns = col_sooner(wake_ns, col_program_wake_ns(&ps->at, ps->p[i]));
        }
        programs_sweep(ps);
        if (programs_figures_due(ps))
            programs_figures(ps, emit);
        if (col_emit_end(emit, false, err) < 0) /* the spool counts and reports it; programs continue */
            ts_log(TS_LOG_DEBUG, "programs: %s", err->text);
        stop = programs_wait(ps, stop_fd, wake_ns);
    }
    programs_stop(ps);
    programs_figures(ps, emit);
    return col_emit_end(emit, false, err);
}

/* Each program once: those of an interval to their end, at most until their next turn would come; those that
 * run for ever for a while. */
static int programs_once(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct programs *ps = state;
    int64_t from_ns = ts_clock_mono_ns(), ever_ns = from_ns + ONCE_EVER_MS * 1000000ll;
    size_t n_left = 1;
    programs_scan(ps, emit);
    for (size_t i = 0; i < ps->n; i++)
        col_program_start(&ps->at, ps->p[i], from_ns);
    while (n_left) {
        int64_t wake_ns = INT64_MAX, now_ns = ts_clock_mono_ns();
        n_left = 0;
        for (size_t i = 0; i < ps->n; i++) {
            struct col_program *p = ps->p[i];
            int64_t late_ns = p->file.interval_s ? from_ns + p->file.interval_s * 1000000000ll : ever_ns;
            if (now_ns >= late_ns)
                col_child_stop(&p->child, ONCE_GRACE_MS);
            if (!p->child.pid)
                continue;
            if (col_child_over(&p->child)) {
                col_program_ended(&ps->at, p, now_ns);
                continue;
            }
            n_left++;
            wake_ns = col_sooner(
                wake_ns, col_sooner(col_child_wake_ns(&p->child), p->child.asked ? INT64_MAX : late_ns));
        }
        if (n_left)
            (void)programs_wait(ps, -1, wake_ns);
    }
    return ps->scan_rc < 0 ? ts_error_set(err, ps->scan_rc, "%s can't be listed", ps->folder) : 0;
}

/* --- the collector --- */

static bool programs_wanted(const struct ts_conf *conf)
{
    return *ts_conf_str(conf, "collect_programs_dir") || *ts_conf_str(conf, "collect_commands");
}

/* Programs run in another folder than ours. */
static void programs_folder(const char *key, char out[2 * PATH_MAX])
{
    char here[PATH_MAX];
    bool relative = *key && *key != '/' && getcwd(here, sizeof(here));
    (void)snprintf(out, 2 * PATH_MAX, "%s%s%s", relative ? here : "", relative ? "/" : "", key);
}

static int programs_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    if (!programs_wanted(ctx->conf))
        return ts_error_set(err, TS_ENOTFOUND, "collect_programs_dir and collect_commands are empty");
    TS_TRY(col_programs_commands(ts_conf_str(ctx->conf, "collect_commands"), NULL, err));
    struct programs *ps = ts_xcalloc(1, sizeof(*ps));
    ps->at = (struct col_program_env){.conf = ctx->conf, .folder = ps->folder};
    programs_folder(ts_conf_str(ctx->conf, "collect_programs_dir"), ps->folder);
    ps->fds = ts_xcalloc(1, sizeof(*ps->fds));
    *out_state = ps;
    return 0;
}

static void programs_release(void *state)
{
    struct programs *ps = state;
    for (size_t i = 0; i < ps->n; i++)
        col_program_free(ps->p[i]);
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
    .once = programs_once,
    .release = programs_release,
};
