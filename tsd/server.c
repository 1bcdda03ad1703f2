/*
 * server.c - start and stop.
 *
 *   start   settings > remote store > store > pools > workers > listen > collectors
 *   stop    collectors > listen closed > workers drained > what is left cut off > jobs ended > workers ended > store
 * closed > remote store closed
 *
 * Workers leave their loops only when none has connections any more: an answer that one waits for may need
 * the shards of another.
 *
 * Threads    main
 */
#include "tsd/server.h"

#include "tsd/protocols.h"

#include "base/json.h"
#include "base/log.h"
#include "base/openfiles.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "collectors/collect.h"
#include "query/execution/internal_metric.h"
#include "tsd/protocols/http/http.h"
#include "tsd/protocols/http/job.h"
#include "tsd/protocols/http/queries.h"
#include "tsd/net/listen.h"
#include "tsd/meta/fields.h"
#include "tsd/meta/keep.h"
#include "tsd/meta/shared.h"
#include "tsd/net/stats.h"
#include "tsd/daemon/version.h"
#include "tsd/net/worker.h"

#include <event2/event.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define SERVER_POLL_MS   2    /* while stopping */
#define SERVER_FEW_FILES 3072 /* for connections: fewer are worth a word */
#define SERVER_FILES_MIN 64   /* descriptors kept for files, at least */
#define SERVER_FILES_MAX 8192 /* and at most */
/* Descriptors that a daemon opens for itself (76 were counted with 2 workers, 146 with 16), and those that are left for
 * connections where the limit is the smallest one that is accepted. */
#define SERVER_OWN_FILES    72
#define SERVER_WORKER_FILES 6
#define SERVER_CONNECTIONS  32
#define SERVER_CUT_MS       10000 /* for cut connections to come back */

struct server {
    struct tsd_daemon d;       /* what threads share */
    struct event_base *base;   /* of main */
    struct tsd_listen *listen; /* sockets */
    struct event *ev_tick;     /* every second */
    struct col_run *collect;   /* collectors of this machine; NULL = none */
    unsigned n_started;        /* workers running */
    unsigned n_stuck;          /* threads of collectors that did not end */
    const char *signal_name;   /* what ended us */
};

static void server_on_signal(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    (void)what;
    s->signal_name = fd == SIGINT ? "SIGINT" : "SIGTERM";
    (void)event_base_loopbreak(s->base);
}

/* Every second: measure what accounts cannot count, and give freed memory back. */
static void server_on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct tsd_daemon *d = arg;
    (void)fd;
    (void)what;
    tsd_memory_look(&d->memory, d->store, tsd_stats_cache_bytes(d));
    if (tsd_memory_trim_due(&d->memory))
        ts_pool_run(d->pieces, TS_PRIO_LOW, tsd_memory_trim, NULL);
}

static void server_tick(struct server *s)
{
    struct timeval second = {1, 0};
    s->ev_tick = event_new(s->base, -1, EV_PERSIST, server_on_tick, &s->d);
    if (!s->ev_tick || event_add(s->ev_tick, &second) < 0)
        TS_BUG("no timer");
    server_on_tick(-1, 0, &s->d);
}

/* Of the descriptors that the process may have, a quarter is kept for files, at least 64: the rest is for connections. */
static void server_descriptors(struct tsd_daemon *d, uint64_t limit)
{
    uint64_t kept = limit / 4 > SERVER_FILES_MAX ? SERVER_FILES_MAX : limit / 4;
    if (kept < SERVER_FILES_MIN)
        kept = SERVER_FILES_MIN;
    d->max_fd = !limit ? UINT64_MAX : limit > kept ? limit - kept : 1;
}

/* Refuse a limit of open files with which the daemon could not start, or start but accept no connection. */
static int server_check_descriptors(unsigned n_workers, struct ts_error *err)
{
    uint64_t limit = ts_open_files_limit();
    uint64_t least =
        SERVER_OWN_FILES + SERVER_WORKER_FILES * n_workers + SERVER_CONNECTIONS + SERVER_FILES_MIN;
    if (least / 3 > SERVER_FILES_MIN) /* a quarter of the limit is kept for files */
        least = (least - SERVER_FILES_MIN) * 4 / 3;
    if (!limit || limit >= least)
        return 0;
    return ts_error_set(
        err, TS_ELIMIT,
        "only %llu open files are allowed, and a daemon with %u worker%s needs at least %llu: "
        "raise the limit (LimitNOFILE, ulimit -Hn) or lower workers",
        (unsigned long long)limit, n_workers, ts_plural(n_workers), (unsigned long long)least);
}

/* What whoever started the daemon should know. */
static void server_remark(const struct tsd_daemon *d)
{
    if (d->max_fd <= SERVER_FEW_FILES)
        ts_log(TS_LOG_WARN,
               "few open files are allowed: %llu descriptors for connections, the others for files; raise "
               "the limit (LimitNOFILE, ulimit -n)",
               (unsigned long long)d->max_fd);
    if (geteuid() == 0)
        ts_log(TS_LOG_WARN, "running as root: the daemon needs no privilege; start it as a user that owns "
                            "nothing but its data folder");
}

/* Kinds of names that are never forgotten: all of them in OpenTSDB, and those that points do not create. */
static unsigned server_kept_kinds(const struct tsd_rules *rules)
{
    if (rules->compat)
        return 1u << STO_UID_METRIC | 1u << STO_UID_TAGK | 1u << STO_UID_TAGV;
    return rules->make_metrics ? 0 : 1u << STO_UID_METRIC;
}

/* The remote store, if there is to be one; nothing is connected yet. */
static int server_open_hbase(struct tsd_daemon *d, struct sto_opts *opts, struct ts_error *err)
{
    if (!d->hbase_set.on)
        return 0;
    TS_TRY(tsd_hbase_open(&d->hbase_set, tsd_memory_account(&d->memory, TSD_MEM_PROCESS), &d->hbase, err));
    opts->remote = tsd_hbase_remote(d->hbase);
    opts->ship_every_ms = d->hbase_set.ship_every_ms;
    opts->ship_whole_hours = d->hbase_set.ship_whole_hours;
    return 0;
}

/* Sort the names, so that the first completion after the start does not have to. */
static void server_sort_names(void *arg)
{
    struct sto_catalog *cat = sto_store_catalog(arg);
    unsigned reading = sto_catalog_read_begin(cat);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        sto_uid_suggest(cat, (enum sto_uid_kind)kind, (struct ts_slice){NULL, 0}, 0, NULL, NULL);
    sto_catalog_read_end(cat, reading);
}

static int server_start(struct server *s, const struct ts_conf *conf, unsigned *out_port,
                        struct ts_error *err)
{
    struct tsd_daemon *d = &s->d;
    d->conf = conf;
    d->protocols = tsd_protocols;
    TS_TRY(tsd_settings_load(conf, &d->set, err));
    TS_TRY(tsd_hbase_load(conf, &d->hbase_set, err));
    TS_TRY(tsd_hbase_load_rollups(conf, &d->hbase_set, err));
    d->hbase_set.opts.histogram_codec = d->set.histograms.on ? d->set.histograms.codec : -1;
    TS_TRY(tsd_hbase_rules(conf, &d->set.rules, err));
    TS_TRY(server_check_descriptors(d->set.n_workers, err));
    ts_tz_set_default(d->set.zone);
    tsd_views_init(&d->views, d->set.views_folder, d->set.data, d->set.n_views);
    tsd_record_set_max_bytes(d->set.annotation_max_bytes);
    ts_json_set_max_values(d->set.json_max_values);
    tsd_memory_init(&d->memory, &d->set);
    tsd_memory_setup_allocator(&d->memory, &d->set);
    struct sto_opts opts = {.fs = NULL};
    sto_opts_from_conf(&opts, conf);
    opts.dir = d->set.data;
    opts.create = true;
    opts.knows_zone = true; /* it is the key timezone */
    opts.n_writers = d->set.n_workers;
    if (!opts.memstore_bytes)
        opts.memstore_bytes = tsd_memory_memstore_bytes(&d->set);
    if (!opts.ids_bytes)
        opts.ids_bytes = tsd_memory_counter_ids_bytes(&d->set);
    if (!opts.index_cache_bytes)
        opts.index_cache_bytes = tsd_memory_index_cache_bytes(&d->set);
    if (!opts.merge_memory_bytes)
        opts.merge_memory_bytes = tsd_memory_merge_bytes(&d->set);
    opts.keeps_series = tsd_meta_keeps_series;
    opts.mentioned_names = tsd_meta_mentioned_names;
    opts.remote_cell = tsd_meta_remote_cell;
    opts.kept_name_kinds = server_kept_kinds(&d->set.rules);
    opts.max_name_bytes = tsd_memory_name_bytes(&d->set);
    opts.max_cell_bytes = tsd_memory_cell_bytes(&d->set);
    TS_TRY(server_open_hbase(d, &opts, err));
    TS_TRY(sto_open(&opts, &d->store, err));
    if (d->hbase)
        TS_TRY(tsd_hbase_watch(d->hbase, d->store, err));
    TS_TRY(qry_internal_restore(d->store, err));
    d->started_ms = ts_clock_ms();
    tsd_series_total_init(&d->new_series, d->set.new_series_per_min_total, ts_clock_mono_ns() / 1000000);
    d->queries = tsd_queries_new();
    if (gethostname(d->host, sizeof(d->host) - 1) < 0 || !*d->host)
        (void)snprintf(d->host, sizeof(d->host), "localhost");
    d->pieces = ts_pool_new_nice(d->set.n_query_threads, "tsd-query", TSD_JOBS_NICE);
    ts_pool_run(d->pieces, TS_PRIO_LOW, server_sort_names, d->store);
    tsd_jobs_open(d);
    d->workers = ts_xcalloc(d->set.n_workers, sizeof(struct tsd_worker *));
    for (unsigned i = 0; i < d->set.n_workers; i++)
        d->workers[i] = tsd_worker_new(d, i);
    d->n_workers = d->set.n_workers;
    for (; s->n_started < d->n_workers; s->n_started++)
        TS_TRY(tsd_worker_start(d->workers[s->n_started], err));
    server_tick(s);
    return tsd_listen_open(d, s->base, &s->listen, out_port, err);
}

/* The collectors of this machine send to our own port: the way in that all points take. */
static int server_collect(struct server *s, unsigned port, struct ts_error *err)
{
    char own[280], dir[PATH_MAX];
    const char *bind = s->d.set.bind;
    int n = (int)strcspn(bind, ", ");
    bool v6 = memchr(bind, ':', (size_t)n);
    if (!strncmp(bind, "0.0.0.0", (size_t)n))
        (void)snprintf(own, sizeof(own), "127.0.0.1:%u", port);
    else if (!strncmp(bind, "::", (size_t)n))
        (void)snprintf(own, sizeof(own), "[::1]:%u", port);
    else
        (void)snprintf(own, sizeof(own), v6 ? "[%.*s]:%u" : "%.*s:%u", n > 250 ? 250 : n, bind, port);
    (void)snprintf(dir, sizeof(dir), "%s/collect", s->d.set.data);
    struct col_run_opts opts = {.conf = s->d.conf, .servers = own, .state_dir = dir};
    return col_run_start(&opts, &s->collect, err);
}

static uint32_t server_connections(const struct server *s)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < s->n_started; i++)
        n += atomic_load_explicit(&s->d.workers[i]->n_conns,
                                  memory_order_acquire); /* pairs with worker_bury */
    return n;
}

static void server_wait_idle(const struct server *s, int64_t max_ms)
{
    int64_t until = ts_clock_mono_ns() / 1000000 + max_ms;
    while (server_connections(s) && ts_clock_mono_ns() / 1000000 < until)
        (void)poll(NULL, 0, SERVER_POLL_MS);
}

static int server_stop(struct server *s, struct ts_error *err)
{
    struct tsd_daemon *d = &s->d;
    atomic_store_explicit(&d->stopping, true, memory_order_relaxed);
    s->n_stuck = col_run_stop(s->collect);
    tsd_listen_close(s->listen);
    for (unsigned i = 0; i < s->n_started; i++)
        tsd_worker_drain(d->workers[i]);
    server_wait_idle(s, d->set.stop_timeout_ms);
    for (unsigned i = 0; i < s->n_started; i++)
        tsd_worker_cut(d->workers[i]);
    for (unsigned i = 0; i < s->n_started; i++)
        tsd_worker_await_cut(d->workers[i]); /* until then one may give work to the pool */
    tsd_jobs_close(d);
    server_wait_idle(s, SERVER_CUT_MS);
    for (unsigned i = 0; i < s->n_started; i++)
        tsd_worker_stop(d->workers[i]);
    for (unsigned i = 0; i < s->n_started; i++)
        tsd_worker_join(d->workers[i]);
    ts_pool_free(d->pieces);
    for (unsigned i = 0; i < d->n_workers; i++)
        tsd_worker_free(d->workers[i]);
    ts_free(d->workers);
    tsd_rollups_release(&d->set.rollups);
    tsd_queries_free(d->queries);
    tsd_peers_release(&d->peers);
    tsd_views_release(&d->views);
    tsd_series_total_release(&d->new_series);
    tsd_memory_reset_allocator();
    tsd_hbase_unwatch(d->hbase);
    int rc = d->store ? sto_close(d->store, err) : 0;
    tsd_hbase_close(d->hbase);
    tsd_hbase_settings_release(&d->hbase_set);
    return rc;
}

int tsd_server_run(const struct ts_conf *conf, struct ts_error *err)
{
    struct server *s = ts_xcalloc(1, sizeof(*s));
    struct ts_error stop_err = {0};
    unsigned port = 0;
    (void)signal(SIGPIPE, SIG_IGN);
    server_descriptors(&s->d, ts_open_files_raise());
    tsd_peers_init(&s->d.peers, &s->d.memory, &s->d.spools.account);
    s->base = event_base_new();
    struct event *term = s->base ? evsignal_new(s->base, SIGTERM, server_on_signal, s) : NULL;
    struct event *intr = s->base ? evsignal_new(s->base, SIGINT, server_on_signal, s) : NULL;
    if (!term || !intr || event_add(term, NULL) < 0 || event_add(intr, NULL) < 0)
        TS_BUG("no event base");
    int rc = server_start(s, conf, &port, err);
    if (rc == 0) {
        ts_log(TS_LOG_INFO, "listening bind=%s port=%u data=%s workers=%u version=%s", s->d.set.bind, port,
               s->d.set.data, s->d.n_workers, TSD_VERSION);
        server_remark(&s->d);
        if (s->d.set.collect)
            rc = server_collect(s, port, err);
        if (rc == 0)
            (void)event_base_dispatch(s->base);
        ts_log(TS_LOG_INFO, "stopping signal=%s", s->signal_name ? s->signal_name : "none");
    }
    int stop_rc = server_stop(s, &stop_err);
    if (rc == 0 && stop_rc < 0) {
        rc = stop_rc;
        if (err)
            *err = stop_err;
    } else if (rc == 0) {
        ts_log(TS_LOG_INFO, "stopped");
    }
    if (s->n_stuck) { /* a collector hangs in the kernel; its thread uses what would be freed from here on */
        if (rc < 0)
            ts_log(TS_LOG_ERROR, "%s", err ? err->text : ts_err_text(rc));
        _exit(rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    if (s->ev_tick)
        event_free(s->ev_tick);
    event_free(term);
    event_free(intr);
    event_base_free(s->base);
    ts_free(s);
    return rc;
}
