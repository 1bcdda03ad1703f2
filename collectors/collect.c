/*
 * collect.c - which collectors run, where their points go, in which order things start and stop.
 *
 * Threads    see collect.h
 */
#include "collectors/collect.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "collectors/core/collector.h"
#include "collectors/core/fields.h"
#include "collectors/core/sched.h"
#include "collectors/core/sink.h"
#include "collectors/core/source.h"
#include "collectors/core/spool.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STOP_SCHED_MS 5000 /* for reads under way */
#define STOP_SINK_MS  5000 /* to deliver what waits */
#define HOST_BYTES    256

struct col_run {
    char host[HOST_BYTES];                   /* value of host */
    char dir[PATH_MAX];                      /* folder; "" = memory only */
    const struct col_collector **collectors; /* chosen, ended by NULL */
    uint32_t instance;                       /* see run_identify */
    struct col_spool *spool;                 /* owned */
    struct col_spool *later;                 /* of points put aside (sink.h); owned */
    struct col_sink *sink;                   /* owned */
    struct col_sched *sched;                 /* owned; NULL with once */
    const struct ts_conf *conf;              /* borrowed */
};

/* --- from keys --- */

static bool run_wants(const struct ts_conf *conf, const struct col_collector *c)
{
    const char *only = ts_conf_str(conf, "collect_only");
    struct ts_slice name = ts_slice_str(c->name);
    if (col_match_any(ts_conf_str(conf, "collect_skip"), name))
        return false;
    if (c->by_request && c->wanted && c->wanted(conf))
        return true;
    return *only ? col_match_any(only, name) : !c->by_request;
}

/* A word of collect_only or collect_skip that fits no collector is a slip. */
static int run_check_words(const char *key, const char *words, struct ts_error *err)
{
    while (*words) {
        size_t n = strcspn(words, ",");
        char one[128];
        bool any = false;
        struct ts_slice word = col_trim((struct ts_slice){words, n});
        (void)snprintf(one, sizeof(one), "%.*s", (int)word.n, word.p);
        for (const struct col_collector *const *c = col_collectors; *c && !any; c++)
            any = col_match_any(one, ts_slice_str((*c)->name));
        if (*one && !any)
            return ts_error_set(err, TS_EINVAL,
                                "%s: there is no collector \"%s\" (tsd collect --list shows all)", key, one);
        words += n + (words[n] == ',');
    }
    return 0;
}

static int run_choose(const struct ts_conf *conf, const struct col_collector ***out, struct ts_error *err)
{
    size_t n = 0;
    *out = NULL;
    TS_TRY(run_check_words("collect_only", ts_conf_str(conf, "collect_only"), err));
    TS_TRY(run_check_words("collect_skip", ts_conf_str(conf, "collect_skip"), err));
    TS_TRY(col_tags_check(ts_conf_str(conf, "collect_tags"), err));
    TS_TRY(col_prefix_check(ts_conf_str(conf, "collect_prefix"), err));
    while (col_collectors[n])
        n++;
    *out = ts_xcalloc(n + 1, sizeof(**out));
    n = 0;
    for (const struct col_collector *const *c = col_collectors; *c; c++)
        if (run_wants(conf, *c))
            (*out)[n++] = *c;
    return 0;
}

/* The folder: given, or from the keys. Made if missing. */
static int run_folder(const struct col_run_opts *opts, char out[PATH_MAX], struct ts_error *err)
{
    if (opts->state_dir)
        (void)snprintf(out, PATH_MAX, "%s", opts->state_dir);
    else
        TS_TRY(col_state_dir(opts->conf, out, err));
    if (*out && ts_fs_mkdirs(ts_fs_real(), out, err) < 0)
        return ts_error_wrap(err, "collect_dir");
    return 0;
}

static struct col_sched_opts run_sched_opts(const struct ts_conf *conf,
                                            const struct col_collector *const *collectors, const char *host,
                                            struct col_out out)
{
    return (struct col_sched_opts){
        .collectors = collectors,
        .ctx = {.conf = conf, .root = ts_conf_str(conf, "collect_root")},
        .emit = {.out = out,
                 .host = host,
                 .tags = ts_conf_str(conf, "collect_tags"),
                 .prefix = ts_conf_str(conf, "collect_prefix"),
                 .repeat_interval_s = ts_conf_int(conf, "collect_repeat_interval_s")},
        .interval_s = (unsigned)ts_conf_int(conf, "collect_interval_s"),
    };
}

/* --- run --- */

static int run_put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    struct col_run *run = arg;
    return col_spool_append(run->spool, lines, n_points, durable, err);
}

static void run_progress(void *arg, struct col_out_progress *out)
{
    struct col_run *run = arg;
    struct col_spool_stats st, later;
    col_spool_stats(run->spool, &st);
    col_spool_stats(run->later, &later);
    *out = (struct col_out_progress){.n_taken = st.n_taken,
                                     .n_left = st.n_taken - st.n_points,
                                     .n_lost = st.n_dropped_points + later.n_dropped_points};
}

/* What the collectors of a run get. */
static struct col_sched_opts run_opts(struct col_run *run)
{
    struct col_sched_opts sched =
        run_sched_opts(run->conf, run->collectors, run->host,
                       (struct col_out){.put = run_put, .arg = run, .progress = run_progress});
    sched.ctx.state_dir = *run->dir ? run->dir : NULL;
    sched.ctx.run = run;
    return sched;
}

/* A spool in the folder of that name below the run's, or in memory. */
static int run_spool(const struct col_run *run, const char *name, const char *key, struct col_spool **out,
                     struct ts_error *err)
{
    char dir[PATH_MAX + 8];
    (void)snprintf(dir, sizeof(dir), "%s/%s", run->dir, name);
    struct col_spool_opts opts = {
        .dir = *run->dir ? dir : NULL, .key = key, .max_bytes = (uint64_t)ts_conf_int(run->conf, key)};
    return col_spool_open(&opts, out, err);
}

/* Points in both spools. */
static unsigned long long run_waiting(const struct col_run *run)
{
    struct col_spool_stats st, later;
    col_spool_stats(run->spool, &st);
    col_spool_stats(run->later, &later);
    return st.n_points + later.n_points;
}

/* A number of this machine and folder, the same after a restart: two of them under one host name are two collectors that overwrite each
 * other's points. */
static void run_identify(struct col_run *run)
{
    char id[64];
    if (!col_source_word("", "/etc/machine-id", id, sizeof(id)))
        (void)gethostname(id, sizeof(id) - 1);
    uint32_t sum = ts_crc32c(ts_crc32c(0, id, strlen(id)), run->dir, strlen(run->dir));
    run->instance = sum;
    if (!strcmp(run->host, "localhost"))
        ts_log(
            TS_LOG_WARN,
            "collect: the points of this machine have host=localhost, as those of any other without a name "
            "would: set collect_host");
}

static int run_start(struct col_run *run, const struct col_run_opts *opts, struct ts_error *err)
{
    const struct ts_conf *conf = opts->conf;
    const char *servers = opts->servers ? opts->servers : ts_conf_str(conf, "collect_server");
    TS_TRY(col_servers_check(servers, err));
    TS_TRY(run_choose(conf, &run->collectors, err));
    TS_TRY(run_folder(opts, run->dir, err));
    col_host_name(conf, run->host, sizeof(run->host));
    run_identify(run);
    TS_TRY(run_spool(run, "spool", "collect_spool_bytes", &run->spool, err));
    TS_TRY(run_spool(run, "later", "collect_later_bytes", &run->later, err));
    struct col_sink_opts sink = {.spool = run->spool,
                                 .later = run->later,
                                 .servers = servers,
                                 .timeout_ms = ts_conf_int(conf, "collect_timeout_s") * 1000,
                                 .delay_ms = ts_conf_int(conf, "collect_send_delay_ms"),
                                 .retry_max_ms = ts_conf_int(conf, "collect_retry_max_s") * 1000,
                                 .reconnect_ms = ts_conf_int(conf, "collect_reconnect_s") * 1000};
    run->sink = col_sink_start(&sink);
    if (opts->once)
        return 0;
    struct col_sched_opts sched = run_opts(run);
    return col_sched_start(&sched, &run->sched, err);
}

int col_run_start(const struct col_run_opts *opts, struct col_run **out, struct ts_error *err)
{
    struct col_run *run = ts_xcalloc(1, sizeof(*run));
    run->conf = opts->conf;
    *out = NULL;
    int rc = run_start(run, opts, err);
    if (rc < 0)
        (void)col_run_stop(run);
    else
        *out = run;
    return rc;
}

/* Free what no thread uses any more. */
static void run_free(struct col_run *run)
{
    col_spool_close(run->spool);
    col_spool_close(run->later);
    ts_free(run->collectors);
    ts_free(run);
}

int col_run_finish(struct col_run *run, struct ts_error *err)
{
    struct col_sched_opts opts = run_opts(run);
    opts.emit.repeat_interval_s = 0;
    int rc = col_sched_once(&opts, err);
    if (!col_sink_stop(run->sink, ts_conf_int(run->conf, "collect_timeout_s") * 1000) && rc == 0) {
        rc = ts_error_set(err, TS_EIO, "%llu points could not be delivered%s", run_waiting(run),
                          *run->dir ? "; they wait in the spool" : "");
    }
    run_free(run);
    return rc;
}

unsigned col_run_stop(struct col_run *run)
{
    if (!run)
        return 0;
    unsigned n_stuck = col_sched_stop(run->sched, STOP_SCHED_MS);
    /* a stuck thread may resume and read the figures */
    bool drained = n_stuck ? col_sink_end(run->sink, STOP_SINK_MS) : col_sink_stop(run->sink, STOP_SINK_MS);
    if (!drained)
        ts_log(TS_LOG_INFO, "collect: n_points=%llu not delivered yet%s", run_waiting(run),
               *run->dir ? " wait in the spool" : " are lost (collect_dir = none)");
    if (n_stuck)
        return n_stuck; /* their threads may still come and write */
    run_free(run);
    return 0;
}

/* --- own figures --- */

static void run_emit_sched(const struct col_sched *sched, struct col_emit *emit)
{
    struct col_sched_stats st;
    for (unsigned i = 0; sched && col_sched_stats(sched, i, &st); i++) {
        struct ts_slice name = ts_slice_str(st.name);
        if (!st.ready)
            continue;
        const struct {
            const char *metric, *key, *value;
            uint64_t n;
        } rows[] = {
            {"tsd.collect.reads", "result", "ok", st.n_reads > st.n_failed ? st.n_reads - st.n_failed : 0},
            {"tsd.collect.reads", "result", "failed", st.n_failed},
            {"tsd.collect.reads", "result", "skipped", st.n_skipped},
            {"tsd.collect.collector.points", "state", "taken", st.n_points},
            {"tsd.collect.collector.points", "state", "repeated", st.n_left_out},
        };
        for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
            col_emit_u64(emit, rows[k].metric, rows[k].n,
                         COL_TAGS({"collector", name}, {rows[k].key, ts_slice_str(rows[k].value)}));
        col_emit_u64(emit, "tsd.collect.read_ms", st.busy_us / 1000, COL_TAGS({"collector", name}));
    }
}

void col_run_emit(const struct col_run *run, struct col_emit *emit)
{
    struct col_spool_stats sp, later;
    struct col_sink_stats si;
    col_spool_stats(run->spool, &sp);
    col_spool_stats(run->later, &later);
    col_sink_stats(run->sink, &si);
    const struct {
        const char *metric, *key, *value;
        uint64_t n;
    } rows[] = {
        {"tsd.collect.points", "state", "sent", si.n_sent},
        {"tsd.collect.points", "state", "refused", si.n_refused},
        {"tsd.collect.points", "state", "superseded", si.n_superseded},
        {"tsd.collect.points", "state", "dropped", sp.n_dropped_points + later.n_dropped_points},
        {"tsd.collect.points", "state", "damaged", sp.n_damaged + later.n_damaged},
        {"tsd.collect.connects", "result", "ok", si.n_connects},
        {"tsd.collect.connects", "result", "failed", si.n_failures},
    };
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
        col_emit_u64(emit, rows[k].metric, rows[k].n, COL_TAGS({rows[k].key, ts_slice_str(rows[k].value)}));
    col_emit_u64(emit, "tsd.collect.spool.points", sp.n_points, COL_NO_TAGS);
    col_emit_u64(emit, "tsd.collect.spool.bytes", sp.n_bytes, COL_NO_TAGS);
    col_emit_u64(emit, "tsd.collect.later.points", later.n_points, COL_NO_TAGS);
    col_emit_u64(emit, "tsd.collect.spool.dropped_segments", sp.n_dropped_segments + later.n_dropped_segments,
                 COL_NO_TAGS);
    col_emit_u64(emit, "tsd.collect.instance", run->instance, COL_NO_TAGS);
    col_emit_int(emit, "tsd.collect.connected", si.connected, COL_NO_TAGS);
    run_emit_sched(run->sched, emit);
}

/* --- without a daemon --- */

int col_once(const struct ts_conf *conf, struct col_out out, struct ts_error *err)
{
    const struct col_collector **collectors;
    char host[HOST_BYTES];
    TS_TRY(run_choose(conf, &collectors, err));
    col_host_name(conf, host, sizeof(host));
    struct col_sched_opts opts = run_sched_opts(conf, collectors, host, out);
    opts.emit.repeat_interval_s = 0;
    int rc = col_sched_once(&opts, err);
    ts_free(collectors);
    return rc;
}

int col_watch(const struct ts_conf *conf, struct col_out out, int stop_fd, struct ts_error *err)
{
    const struct col_collector **collectors;
    struct col_sched *sched;
    char host[HOST_BYTES];
    TS_TRY(run_choose(conf, &collectors, err));
    col_host_name(conf, host, sizeof(host));
    struct col_sched_opts opts = run_sched_opts(conf, collectors, host, out);
    int rc = col_sched_start(&opts, &sched, err);
    if (rc == 0) {
        struct pollfd p = {.fd = stop_fd, .events = POLLIN};
        (void)poll(&p, 1, -1);
        (void)col_sched_stop(sched, STOP_SCHED_MS);
    }
    ts_free(collectors);
    return rc;
}
