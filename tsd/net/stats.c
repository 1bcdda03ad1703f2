/*
 * stats.c - adds up the workers' counters and reads those of the store.
 *
 * Threads    counters are read without a lock while workers write them: each is one aligned word, and a
 * figure that is a moment old is fine
 */
#include "tsd/net/stats.h"

#include "base/time.h"
#include "tsd/daemon/schedule.h"
#include "tsd/net/worker.h"

#include <stdio.h>
#include <unistd.h>

#define STATS_SUM(d, member) stats_sum(d, offsetof(struct tsd_counts, member))

static uint64_t stats_sum(const struct tsd_daemon *d, size_t off)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < d->n_workers; i++) {
        const char *p = (const char *)&d->workers[i]->counts + off;
        sum += __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_RELAXED);
    }
    return sum;
}

/* Upper edge of the slot that holds the percentile, ms; 0 when nothing was counted. */
static uint64_t stats_percentile(const struct tsd_daemon *d, unsigned pct)
{
    uint64_t total = 0, seen = 0;
    for (unsigned i = 0; i < TSD_LATENCY_SLOTS; i++)
        total += stats_sum(d, offsetof(struct tsd_counts, latency) + i * 8);
    if (!total)
        return 0;
    for (unsigned i = 0; i < TSD_LATENCY_SLOTS; i++) {
        seen += stats_sum(d, offsetof(struct tsd_counts, latency) + i * 8);
        if (seen * 100 >= total * pct)
            return i < 50 ? (i + 1) * 2 : 200ull << (i - 50);
    }
    return 0;
}

uint64_t tsd_stats_resident_bytes(void)
{
    unsigned long long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f) {
        if (fscanf(f, "%llu %llu", &pages, &resident) != 2)
            resident = 0;
        (void)fclose(f);
    }
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t tsd_stats_cache_bytes(const struct tsd_daemon *d)
{
    return STATS_SUM(d, cache_bytes);
}

struct stats_store {
    tsd_stat_fn each;
    void *arg;
};

static void stats_from_store(void *arg, const char *name, uint64_t value)
{
    struct stats_store *s = arg;
    char full[128];
    bool backlog = !strncmp(name, "ship.backlog_", 13); /* beside what else is known of HBase */
    (void)snprintf(full, sizeof(full), backlog ? "hbase.%s" : "storage.%s", backlog ? name + 5 : name);
    s->each(s->arg, full, "", value);
}

static void stats_account(void *arg, const struct ts_budget *b)
{
    struct stats_store *s = arg;
    char tag[64];
    (void)snprintf(tag, sizeof(tag), "account=%s", b->name);
    s->each(s->arg, "memory.used_bytes", tag, atomic_load(&b->used_bytes));
    s->each(s->arg, "memory.peak_bytes", tag, atomic_load(&b->peak_bytes));
    s->each(s->arg, "memory.limit_bytes", tag, b->limit_bytes);
    s->each(s->arg, "memory.refused", tag, atomic_load(&b->n_refused));
    if (b->weight)
        s->each(s->arg, "memory.refused_per_address", tag, atomic_load(&b->n_share_refused));
}

static void stats_from_hbase(void *arg, const char *name, uint64_t value)
{
    struct stats_store *s = arg;
    char full[128];
    (void)snprintf(full, sizeof(full), "hbase.%s", name);
    s->each(s->arg, full, "", value);
}

static void stats_hbase(struct tsd_daemon *d, tsd_stat_fn each, void *arg)
{
    struct stats_store s = {each, arg};
    if (!d->hbase)
        return;
    stats_account(&s, tsd_hbase_account(d->hbase));
    tsd_hbase_stats(d->hbase, stats_from_hbase, &s);
}

static void stats_uid(struct tsd_daemon *d, tsd_stat_fn each, void *arg)
{
    static const char *const kinds[STO_UID_KINDS] = {"kind=metrics", "kind=tagk", "kind=tagv"};
    struct sto_catalog *cat = sto_store_catalog(d->store);
    for (int k = 0; k < STO_UID_KINDS; k++) {
        uint32_t used = sto_uid_max(cat, (enum sto_uid_kind)k);
        each(arg, "uid.ids-used", kinds[k], used);
        each(arg, "uid.ids-available", kinds[k], UINT32_MAX - used);
        each(arg, "uid.cache-size", kinds[k], used);
        each(arg, "uid.random-collisions", kinds[k], 0);    /* ids are given out in order */
        each(arg, "uid.rejected-assignments", kinds[k], 0); /* nothing vetoes a name that may stand */
    }
    each(arg, "uid.cache-hit", "kind=series", STATS_SUM(d, n_guessed) + STATS_SUM(d, n_found));
    each(arg, "uid.cache-miss", "kind=series", STATS_SUM(d, n_missed));
}

static void stats_memory(struct tsd_daemon *d, tsd_stat_fn each, void *arg)
{
    struct stats_store s = {each, arg};
    tsd_memory_each(&d->memory, stats_account, &s);
    each(arg, "memory.refused", "account=query", atomic_load(&d->memory.n_query_refused));
    for (size_t i = QRY_REFUSAL_NONE + 1; i < QRY_REFUSALS; i++) {
        char tag[64];
        (void)snprintf(tag, sizeof(tag), "key=%s", qry_refusal_keys[i]);
        each(arg, "query.refused", tag, atomic_load(&d->memory.n_query_ended[i]));
    }
}

static void stats_jobs(struct tsd_daemon *d, tsd_stat_fn each, void *arg)
{
    struct tsd_schedule *const classes[] = {d->jobs, d->small_jobs, d->picture_jobs};
    static const char *const tags[] = {"class=query", "class=small", "class=picture"};
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        struct tsd_schedule_counts n = {0};
        if (classes[i])
            tsd_schedule_count(classes[i], &n);
        each(arg, "jobs.running", tags[i], n.n_running);
        each(arg, "jobs.waiting", tags[i], n.n_waiting);
        each(arg, "jobs.refused_queue_full", tags[i], n.n_full);
        each(arg, "jobs.refused_per_address", tags[i], n.n_address);
    }
    each(arg, "jobs.at_once", "", STATS_SUM(d, n_at_once));
    each(arg, "spool.used_bytes", "", atomic_load(&d->spools.account.used_bytes));
    each(arg, "spool.replies", "", atomic_load(&d->spools.n_begun));
    each(arg, "spool.full", "", atomic_load(&d->spools.n_full));
    each(arg, "spool.refused_per_address", "", atomic_load(&d->spools.account.n_share_refused));
    each(arg, "spool.replies_cut", "", atomic_load(&d->n_reply_cut));
}

static void stats_connections(struct tsd_daemon *d, tsd_stat_fn each, void *arg)
{
    each(arg, "connectionmgr.connections", "type=open", atomic_load(&d->n_connections));
    static const char *const rejections[TSD_REJECTIONS] = {
        "reason=max_connections", "reason=max_connections_per_address", "reason=open_files"};
    uint64_t n_rejected = 0;
    for (int i = 0; i < TSD_REJECTIONS; i++) {
        uint64_t n = atomic_load_explicit(&d->n_rejected[i], memory_order_relaxed);
        each(arg, "connections.rejected", rejections[i], n);
        n_rejected += n;
    }
    each(arg, "connectionmgr.connections", "type=rejected", n_rejected);
    each(arg, "connectionmgr.connections", "type=total", atomic_load(&d->n_accepted));
    each(arg, "connectionmgr.exceptions", "type=timeout", STATS_SUM(d, n_idle) + STATS_SUM(d, n_stalled));
    each(arg, "http.incomplete", "type=dropped", STATS_SUM(d, n_incomplete));
}

static void stats_requests(struct tsd_daemon *d, tsd_stat_fn each, void *arg)
{
    each(arg, "rpc.received", "type=telnet", STATS_SUM(d, n_lines));
    each(arg, "rpc.received", "type=http", STATS_SUM(d, n_http));
    each(arg, "rpc.received", "type=put", STATS_SUM(d, n_http_put));
    each(arg, "rpc.received", "type=udp", STATS_SUM(d, n_datagrams));
    static const char *const none[][2] = {{"rpc.forbidden", "type=telnet"},
                                          {"rpc.unauthorized", "type=telnet"},
                                          {"rpc.unauthorized", "type=http"},
                                          {"http.query.unauthorized", ""},
                                          {"http.query.forbidden", ""}};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        each(arg, none[i][0], none[i][1], 0); /* nobody has to log in */
    uint64_t n_forbidden = 0;
    for (int i = 0; i < TSD_DENIED_KINDS; i++) {
        uint64_t n = atomic_load_explicit(&d->n_denied[i], memory_order_relaxed);
        each(arg, "http.refused", tsd_denial_tags[i], n);
        n_forbidden += n;
    }
    each(arg, "rpc.forbidden", "type=http", n_forbidden);
    each(arg, "rpc.exceptions", "", STATS_SUM(d, n_exceptions));
    each(arg, "rpc.errors", "type=hbase_errors", STATS_SUM(d, n_refused[TSD_REF_STORAGE]));
    each(arg, "rpc.errors", "type=disk_full", STATS_SUM(d, n_refused[TSD_REF_DISK]));
    each(arg, "rpc.errors", "type=invalid_values", STATS_SUM(d, n_refused[TSD_REF_VALUE]));
    each(arg, "rpc.errors", "type=illegal_arguments", STATS_SUM(d, n_refused[TSD_REF_ILLEGAL]));
    each(arg, "rpc.errors", "type=unknown_metrics", STATS_SUM(d, n_refused[TSD_REF_UNKNOWN]));
    each(arg, "rpc.errors", "type=max_series", STATS_SUM(d, n_refused[TSD_REF_SERIES]));
    each(arg, "rpc.errors", "type=new_series_per_min", STATS_SUM(d, n_refused[TSD_REF_NEW_SERIES]));
    each(arg, "rpc.errors", "type=read_only", STATS_SUM(d, n_refused[TSD_REF_READ_ONLY]));
    each(arg, "rpc.errors", "type=not_for_hbase", STATS_SUM(d, n_refused[TSD_REF_HBASE]));
    each(arg, "rpc.errors", "type=expired", STATS_SUM(d, n_refused[TSD_REF_EXPIRED]));
    each(arg, "rpc.errors", "type=socket_writes_blocked", STATS_SUM(d, n_dropped));
}

void tsd_stats_each(struct tsd_daemon *d, tsd_stat_fn each, void *arg)
{
    static const struct {
        const char *name;
        unsigned pct;
    } latency[] = {{"http.latency_50pct", 50},
                   {"http.latency_75pct", 75},
                   {"http.latency_90pct", 90},
                   {"http.latency_95pct", 95}};
    stats_connections(d, each, arg);
    stats_requests(d, each, arg);
    for (size_t i = 0; i < sizeof(latency) / sizeof(latency[0]); i++)
        each(arg, latency[i].name, "type=all", stats_percentile(d, latency[i].pct));
    each(arg, "http.graph.requests", "cache=miss", STATS_SUM(d, n_graphs));
    each(arg, "http.graph.refused", "reason=graph_max_running", atomic_load(&d->n_graphs_refused));
    each(arg, "http.graph.refused", "reason=graph_timeout_s", atomic_load(&d->n_graphs_late));
    each(arg, "http.query.success", "", STATS_SUM(d, n_query_ok));
    each(arg, "http.query.invalid_requests", "", STATS_SUM(d, n_query_bad));
    each(arg, "http.query.exceptions", "", STATS_SUM(d, n_query_failed));
    each(arg, "http.query.points", "", atomic_load(&d->n_points_read));
    each(arg, "datapoints.added", "type=all", STATS_SUM(d, n_points));
    each(arg, "connectionmgr.exceptions", "type=line_read_timeout", STATS_SUM(d, n_line_timeouts));
    each(arg, "ingest.pauses", "reason=store", STATS_SUM(d, n_paused));
    each(arg, "ingest.pauses", "reason=new_series", STATS_SUM(d, n_paused_series));
    each(arg, "ingest.cache_bytes", "", tsd_stats_cache_bytes(d));
    each(arg, "ingest.series", "by=guess", STATS_SUM(d, n_guessed));
    each(arg, "ingest.series", "by=table", STATS_SUM(d, n_found));
    each(arg, "ingest.series", "by=catalog", STATS_SUM(d, n_missed));
    each(arg, "self.points", "", atomic_load(&d->n_self_points));
    each(arg, "self.skipped", "", atomic_load(&d->n_self_skipped));
    each(arg, "process.resident_bytes", "", tsd_stats_resident_bytes());
    each(arg, "process.uptime_s", "", (uint64_t)(ts_clock_ms() - d->started_ms) / 1000);
    stats_memory(d, each, arg);
    stats_jobs(d, each, arg);
    stats_uid(d, each, arg);
    stats_hbase(d, each, arg);
    struct stats_store s = {each, arg};
    sto_stats(d->store, stats_from_store, &s);
}

struct stats_lines {
    struct tsd_daemon *d;
    struct ts_buf *out;
    int64_t now_s;
};

static void stats_line(void *arg, const char *name, const char *tag, uint64_t value)
{
    struct stats_lines *l = arg;
    ts_buf_printf(l->out, "tsd.%s %lld %llu%s%s host=%s\n", name, (long long)l->now_s,
                  (unsigned long long)value, *tag ? " " : "", tag, l->d->host);
}

void tsd_stats_lines(struct tsd_daemon *d, struct ts_buf *out)
{
    struct stats_lines l = {d, out, ts_clock_ms() / 1000};
    tsd_stats_each(d, stats_line, &l);
}
