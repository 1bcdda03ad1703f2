/*
 * copy.c - tsd copy: options, both stores, and the order of things.
 *
 * Threads    the main thread
 * Not here   what is copied and compared (copy_in.c, copy_out.c, copy_verify.c)
 */
#include "tsd/commands/copy.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "collectors/collect.h"
#include "storage/internal.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/hbase.h"
#include "tsd/ingest/histogram.h"
#include "tsd/server.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LISTED_ROWS 20 /* that were not copied */

const struct ts_opt tsd_copy_opts[] = {
    {.name = "from", .arg = "WHERE", .help = "The source: hbase, or a data folder."},
    {.name = "to",
     .arg = "WHERE",
     .help = "The destination: a data folder, made if it is missing, or hbase."},
    {.name = "metric",
     .arg = "NAME",
     .help = "Copy this metric; NAME* means all that begin with NAME. May be repeated. Default: all."},
    {.name = "start", .arg = "TIME", .help = "First time, as in tsd query. Default: the first point."},
    {.name = "end",
     .arg = "TIME",
     .help = "Last time, inclusive; of a day, month or year, its end. Default: the last point."},
    {.name = "verify", .help = "Copy nothing, and only compare both sides."},
    {.name = "dry-run", .letter = 'n', .help = "Copy nothing, and print what would be copied."},
    TSD_HBASE_OPTS,
    {.name = NULL},
};

/* --- what is chosen --- */

static int take_times(struct tsd_copy *c, struct ts_error *err)
{
    const char *start = tsd_args_get(c->args, "start"), *end = tsd_args_get(c->args, "end");
    c->from_ms = STO_MIN_TS_MS;
    c->to_ms = STO_MAX_TS_MS - 1;
    if (start)
        TS_TRY(ts_time_parse(ts_slice_str(start), NULL, ts_clock_ms(), false, &c->from_ms, NULL, err));
    if (end)
        TS_TRY(ts_time_parse_end(ts_slice_str(end), NULL, ts_clock_ms(), false, &c->to_ms, err));
    return c->from_ms <= c->to_ms ? 0 : ts_error_set(err, TS_EINVAL, "--start is later than --end");
}

static int take_sides(struct tsd_copy *c, struct ts_error *err)
{
    const char *from = tsd_args_get(c->args, "from"), *to = tsd_args_get(c->args, "to");
    if (!from || !to)
        return ts_error_set(err, TS_EINVAL, "copy needs %s: one is hbase, the other a folder",
                            from ? "--to"
                            : to ? "--from"
                                 : "--from and --to");
    bool of_hbase = strcmp(from, "hbase") == 0;
    c->to_hbase = strcmp(to, "hbase") == 0;
    c->dir = of_hbase ? to : from;
    if (of_hbase == c->to_hbase)
        return ts_error_set(err, TS_EINVAL,
                            "one of --from and --to is hbase and the other one a data folder; a folder of "
                            "that name is ./hbase");
    return *c->dir ? 0 : ts_error_set(err, TS_EINVAL, "the data folder has no name");
}

/* --- messages --- */

void tsd_copy_show(struct tsd_copy *c, int64_t next_ms)
{
    double part = 0;
    int64_t from = c->first_ms, now = ts_clock_ms();
    now = c->to_ms < now ? c->to_ms : now;
    if (next_ms > now)
        part = 1;
    else if (next_ms > from && now > from)
        part = (double)(next_ms - from) / (double)(now - from);
    tsd_progress_set(&c->bar, c->at * TSD_COPY_STEPS + (uint64_t)(part * TSD_COPY_STEPS), c->n_points);
}

int tsd_copy_turn(struct tsd_copy *c, struct ts_error *err)
{
    tsd_progress_set(&c->bar, c->bar.done_bytes, c->n_points);
    return c->interrupted && atomic_load_explicit(c->interrupted, memory_order_relaxed)
               ? ts_error_set(err, TS_ECANCELLED, "it was interrupted")
               : 0;
}

void tsd_copy_print_metric(struct ts_slice metric, struct ts_buf *out)
{
    struct sto_internal name;
    if (!sto_internal_parse(metric, &name)) {
        ts_buf_slice(out, metric);
        return;
    }
    bool pre = name.detail.n && name.detail.p[name.detail.n - 1] == ':';
    name.detail.n -= pre;
    ts_buf_slice(out, name.metric);
    if (name.detail.n)
        ts_buf_printf(out, " (rollups %.*s%s)", (int)name.detail.n, name.detail.p,
                      pre ? " of pre-aggregates" : "");
    else
        ts_buf_str(out, " (pre-aggregates)");
}

void tsd_copy_refuse(struct tsd_copy *c, const struct sto_remote_row *row, const char *why)
{
    struct tsd_copy_refused *r = &c->refused;
    struct sto_internal internal;
    struct ts_buf names;
    bool one = row->cells->n == 1;
    bool is_bucket =
        sto_internal_parse(row->series.metric, &internal) && internal.kind == STO_INTERNAL_HISTOGRAM;
    const char *what = is_bucket
                           ? one ? "count of a bucket of histograms" : "counts of a bucket of histograms"
                       : one ? "point"
                             : "points";
    ts_buf_init(&names, 0);
    if (is_bucket)
        ts_buf_slice(&names, internal.metric);
    else
        tsd_copy_print_metric(row->series.metric, &names);
    for (size_t i = 0; i < row->series.n_tags; i++)
        ts_buf_printf(&names, " %.*s=%.*s", (int)row->series.tags[i].k.n, row->series.tags[i].k.p,
                      (int)row->series.tags[i].v.n, row->series.tags[i].v.p);
    pthread_mutex_lock(&r->mu);
    r->n_rows++;
    r->n_points += row->cells->n;
    r->n_read += c->to_hbase && !is_bucket ? row->cells->n : 0;
    if (r->n_listed < LISTED_ROWS) {
        r->n_listed++;
        tsd_say("%u %s of %.*s, hour %lld, %s not copied: %s", row->cells->n, what,
                TS_SHOWN(ts_buf_get(&names), 400), (long long)row->hour * 3600, one ? "was" : "were", why);
    }
    pthread_mutex_unlock(&r->mu);
    ts_buf_release(&names);
}

static void say_copied(const struct tsd_copy *c)
{
    char points[32], rate[32];
    double s = tsd_progress_s(&c->bar);
    uint64_t n = c->n_points - c->refused.n_read;
    tsd_count_text(n, points);
    tsd_count_text(s > 0 ? (uint64_t)((double)n / s) : 0, rate);
    tsd_say("copied %s point%s in %.2f s (%s points/s), %llu histogram%s and %llu annotation%s", points,
            ts_plural(n), s, rate, (unsigned long long)c->n_histograms, ts_plural(c->n_histograms),
            (unsigned long long)c->n_notes, ts_plural(c->n_notes));
    if (c->n_refused_notes)
        tsd_say("%llu annotation%s not copied", (unsigned long long)c->n_refused_notes,
                c->n_refused_notes == 1 ? " was" : "s were");
    tsd_say("metadata of names and series, and trees, are not copied");
    if (c->refused.n_rows)
        tsd_say("%llu point%s of %llu row%s %s not copied; %llu row%s listed",
                (unsigned long long)c->refused.n_points, ts_plural(c->refused.n_points),
                (unsigned long long)c->refused.n_rows, ts_plural(c->refused.n_rows),
                c->refused.n_points == 1 ? "was" : "were", (unsigned long long)c->refused.n_listed,
                c->refused.n_listed == 1 ? " is" : "s are");
}

/* --- both stores --- */

/* 1, 0: is there a store in the folder? */
static int has_store(const struct tsd_copy *c, struct ts_error *err)
{
    char *path = ts_fs_join(c->dir, "MANIFEST");
    int rc = ts_fs_exists(ts_fs_real(), path, err);
    ts_free(path);
    return rc;
}

static int open_state(struct tsd_copy *c, bool fresh, struct ts_error *err)
{
    struct ts_buf what;
    const struct sto_hbase_tables *t = &c->set.opts.tables;
    ts_buf_init(&what, 0);
    ts_buf_printf(&what, "%s tables %s %s", c->to_hbase ? "into" : "from", t->data, t->uid);
    ts_buf_char(&what, 0);
    int rc = tsd_copy_state_open(c->dir, what.p, fresh, &c->state, err);
    ts_buf_release(&what);
    return rc;
}

static int open_hbase(struct tsd_copy *c, struct ts_error *err)
{
    TS_TRY(tsd_hbase_probe(&c->set, err));
    c->set.opts.access.away_ms = TSD_COPY_AWAY_MS;
    TS_TRY(sto_hbase_open(&c->set.opts, &c->remote, err));
    c->interrupted = tsd_hbase_interrupted();
    struct sto_remote_call call = tsd_copy_call(c);
    return tsd_hbase_look_at_keys(c->remote, &call,
                                  err); /* others would find nothing, or write what nobody finds */
}

/* Open both sides for reading, and list the metrics: nothing is made before it is known what to copy. */
static int open_source(struct tsd_copy *c, bool writes, bool has_folder, struct ts_error *err)
{
    TS_TRY(open_hbase(c, err));
    if (c->to_hbase || (has_folder && !writes))
        TS_TRY(tsd_local_open_dir(c->args, c->dir, TSD_LOCAL_READ, &c->store, NULL, err));
    return tsd_copy_list(c, err);
}

/* Make what is missing of the folder, and the progress file. */
static int open_destination(struct tsd_copy *c, bool has_folder, struct ts_error *err)
{
    if (!c->to_hbase) {
        bool made = mkdir(c->dir, 0750) == 0; /* whatever is wrong with it, opening it says so */
        int rc = tsd_local_open_dir(c->args, c->dir, TSD_LOCAL_CREATE, &c->store, NULL, err);
        if (made && rc < 0)
            (void)rmdir(c->dir); /* somebody else may have opened it meanwhile */
        TS_TRY(rc);
        c->made_folder = made;
    }
    return open_state(c, !c->to_hbase && !has_folder, err);
}

static int close_store(struct tsd_copy *c, struct ts_error *err)
{
    struct sto_store *store = c->store;
    c->store = NULL;
    return store ? sto_close(store, err) : 0;
}

/* --- all metrics --- */

int tsd_copy_metrics(struct tsd_copy *c, const struct tsd_copy_way *way, struct ts_error *err)
{
    int rc = 0;
    for (c->at = 0; rc == 0 && c->at < c->n_metrics; c->at++) {
        struct ts_slice metric = c->metrics[c->at];
        int64_t from_ms = tsd_copy_state_next(c->state, metric, c->from_ms);
        if (from_ms <= c->to_ms)
            rc = way->read(c, metric, from_ms, &way->reader, err);
        tsd_copy_show(c, INT64_MAX);
    }
    int saved = way->save(way->reader.arg, rc == 0 ? err : NULL);
    if (rc == TS_ECANCELLED) /* whichever call has noticed it */
        return ts_error_set(err, TS_ECANCELLED, "it was interrupted");
    return rc < 0 ? rc : saved;
}

/* --- the command --- */

static int copy(struct tsd_copy *c, bool *out_same, struct ts_error *err)
{
    bool compares = tsd_args_has(c->args, "verify"), plans = tsd_args_has(c->args, "dry-run");
    int has_folder = has_store(c, err);
    if (has_folder < 0)
        return has_folder;
    TS_TRY(open_source(c, !compares && !plans, has_folder, err));
    if (plans) {
        *out_same = true;
        return tsd_copy_plan(c, err);
    }
    if (!compares) {
        TS_TRY(open_destination(c, has_folder, err));
        tsd_progress_begin(&c->bar, c->n_metrics * TSD_COPY_STEPS);
        int rc = (c->to_hbase ? tsd_copy_out : tsd_copy_in)(c, err);
        tsd_progress_clear(&c->bar);
        if (rc < 0) {
            ts_error_wrap(err, "the copy is not complete; the same command continues it");
            return rc;
        }
        say_copied(c);
    }
    int rc = tsd_copy_verify(c, out_same, err);
    if (rc < 0 && !compares)
        ts_error_wrap(
            err,
            "everything was copied, but not all of it was compared; the same command compares both sides");
    return rc;
}

/* Did this run copy nothing, and is there nothing that another one would continue? */
static bool has_copied_nothing(const struct tsd_copy *c)
{
    return c->n_points == 0 && c->n_histograms == 0 && c->n_notes == 0 &&
           (!c->state || tsd_copy_state_is_new(c->state));
}

static int run(struct tsd_copy *c)
{
    struct ts_error err = {0}, close_err = {0};
    bool same = false;
    pthread_mutex_init(&c->refused.mu, NULL);
    ts_arena_init(&c->names, 0);
    int rc = copy(c, &same, &err);
    int close_rc = close_store(c, &close_err);
    bool leaves_nothing = rc < 0 && has_copied_nothing(c);
    tsd_copy_state_close(c->state, rc == 0 || leaves_nothing);
    if (leaves_nothing && c->made_folder)
        tsd_remove_folder(c->dir);
    if (c->remote)
        c->remote->ops->close(c->remote);
    ts_budget_free(&c->memory, c->metrics, c->cap_metrics * sizeof *c->metrics);
    ts_arena_release(&c->names);
    pthread_mutex_destroy(&c->refused.mu);
    if (rc < 0)
        return tsd_fail(&err);
    if (close_rc < 0)
        return tsd_fail(&close_err);
    if (c->n_left_out)
        tsd_say("%llu metric%s left out", (unsigned long long)c->n_left_out,
                c->n_left_out == 1 ? " was" : "s were");
    bool all = c->refused.n_rows == 0 && c->n_refused_notes == 0 && c->n_left_out == 0;
    return same && all ? TSD_EXIT_OK : TSD_EXIT_FAILED;
}

int tsd_copy_run(const struct tsd_args *args)
{
    struct tsd_copy c = {.args = args};
    struct ts_error err = {0};
    if (args->n_words)
        return tsd_usage(args, "copy takes options only, not \"%s\"", args->words[0]);
    if (tsd_args_has(args, "verify") && tsd_args_has(args, "dry-run"))
        return tsd_usage(args, "--verify and --dry-run exclude each other");
    int rc = take_sides(&c, &err);
    if (rc == 0)
        rc = take_times(&c, &err);
    if (rc == 0)
        rc = tsd_hbase_take(args, &c.set, &c.memory, &err);
    if (rc == 0)
        rc = tsd_hbase_daemon_keys(args, &c.set, &err);
    int code = rc < 0 ? tsd_usage(args, "%s", err.text) : run(&c);
    tsd_hbase_settings_release(&c.set);
    return code;
}
