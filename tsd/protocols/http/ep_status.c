/*
 * ep_status.c - /api/tsd/status: the state of the daemon for people, in one document; /api/tsd/cancel.
 *
 * Parts that cannot be known are left out. Everything is read from counters and from what is in memory.
 *
 * Threads    the status in a job, since the free space of the disk is asked for; cancel in the worker
 */
#include "tsd/protocols/http/ep.h"

#include "base/num.h"
#include "base/time.h"
#include "tsd/daemon/health.h"
#include "tsd/daemon/version.h"
#include "tsd/net/rates.h"
#include "tsd/net/stats.h"
#include "tsd/protocols/http/job.h"
#include "tsd/protocols/http/queries.h"

#include <stdlib.h>

#define STATUS_WINDOWS 1000 /* windows of time that are listed, the smallest ones first */
#define STATUS_SENDERS 20   /* addresses that sent the most points */
#define STATUS_SLOW    20   /* slow queries */

/* Figures of /api/stats that the document needs. */
struct status_figures {
    uint64_t file_points, file_bytes, mem_points, catalog_bytes, n_files, n_series, n_metrics;
    uint64_t backlog_points, backlog_bytes, backlog_s, refused_rows, refused_deletes;
    struct ts_json *refused; /* figures rpc.errors are printed here */
};

static void status_figure(void *arg, const char *name, const char *tag, uint64_t value)
{
    struct status_figures *f = arg;
    const struct {
        const char *name;
        uint64_t *to;
    } wanted[] = {{"storage.files.points", &f->file_points},
                  {"storage.files.bytes", &f->file_bytes},
                  {"storage.memstore.points", &f->mem_points},
                  {"storage.catalog.log_bytes", &f->catalog_bytes},
                  {"storage.files.count", &f->n_files},
                  {"storage.catalog.series", &f->n_series},
                  {"storage.catalog.metrics", &f->n_metrics},
                  {"hbase.backlog_points", &f->backlog_points},
                  {"hbase.backlog_bytes", &f->backlog_bytes},
                  {"hbase.backlog_s", &f->backlog_s},
                  {"storage.ship.refused_rows", &f->refused_rows},
                  {"storage.ship.refused_deletes", &f->refused_deletes}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!strcmp(name, wanted[i].name))
            *wanted[i].to = value;
    if (value && !strcmp(name, "rpc.errors") && strchr(tag, '=')) {
        ts_json_obj(f->refused);
        ts_json_member_str(f->refused, "reason", strchr(tag, '=') + 1);
        ts_json_member_count(f->refused, "count", value);
        ts_json_obj_end(f->refused);
    }
}

static void status_daemon(struct tsd_daemon *d, struct ts_json *j)
{
    ts_json_member_str(j, "version", TSD_VERSION);
    ts_json_member_int(j, "started", d->started_ms);
    ts_json_member_int(j, "now", ts_clock_ms());
    ts_json_member_str(j, "timezone", ts_conf_str(d->conf, "timezone"));
    ts_json_member_str(j, "compat", ts_conf_str(d->conf, "compat"));
}

static void status_health(struct tsd_daemon *d, struct ts_json *j)
{
    struct tsd_health h;
    tsd_health_look(d, true, &h);
    ts_json_member_obj(j, "health");
    ts_json_member_bool(j, "ok", !h.n);
    ts_json_member_arr(j, "problems");
    for (size_t i = 0; i < h.n; i++) {
        ts_json_obj(j);
        ts_json_member_str(j, "what", h.problems[i].what);
        ts_json_member_str(j, "action", h.problems[i].action);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
    ts_json_obj_end(j);
}

static void status_rates(const struct tsd_daemon *d, struct ts_json *j)
{
    struct tsd_rate r;
    if (!tsd_rates_get(d, &r))
        return;
    ts_json_member_obj(j, "rates");
    ts_json_member_double(j, "points_in", r.points_in);
    ts_json_member_double(j, "points_out", r.points_out);
    ts_json_member_double(j, "requests", r.requests);
    ts_json_obj_end(j);
}

static void status_totals(const struct status_figures *f, struct ts_json *j)
{
    ts_json_member_obj(j, "totals");
    ts_json_member_count(j, "points", f->file_points + f->mem_points);
    ts_json_member_count(j, "series", f->n_series);
    ts_json_member_count(j, "metrics", f->n_metrics);
    ts_json_member_count(j, "files", f->n_files);
    ts_json_member_count(j, "bytes_on_disk", f->file_bytes + f->catalog_bytes);
    if (f->file_points)
        ts_json_member_double(j, "bytes_per_point", (double)f->file_bytes / (double)f->file_points);
    ts_json_obj_end(j);
}

static void status_account(void *arg, const struct ts_budget *b)
{
    struct ts_json *j = arg;
    ts_json_obj(j);
    ts_json_member_str(j, "account", b->name);
    ts_json_member_count(j, "used", atomic_load(&b->used_bytes));
    ts_json_member_count(j, "limit", b->limit_bytes);
    ts_json_obj_end(j);
}

static void status_memory(struct tsd_daemon *d, struct ts_json *j)
{
    ts_json_member_arr(j, "memory");
    ts_json_obj(j); /* the accounts reserve more than what is in use */
    ts_json_member_str(j, "account", "resident");
    ts_json_member_count(j, "used", tsd_stats_resident_bytes());
    ts_json_member_count(j, "limit", 0);
    ts_json_obj_end(j);
    tsd_memory_each(&d->memory, status_account, j);
    if (d->hbase)
        status_account(j, tsd_hbase_account(d->hbase));
    ts_json_arr_end(j);
}

/* Shards by their owners, and windows. */
static void status_store(struct tsd_daemon *d, struct ts_arena *arena, struct ts_json *j)
{
    struct sto_window_size *windows = ts_arena_alloc(arena, STATUS_WINDOWS * sizeof(*windows));
    struct sto_owner_size *owners = ts_arena_alloc(arena, d->n_workers * sizeof(*owners));
    struct sto_snap *snap = sto_snap_take(d->store);
    size_t n_owners = sto_snap_owners(snap, owners, d->n_workers);
    size_t n_windows = sto_snap_windows(snap, windows, STATUS_WINDOWS);
    sto_snap_release(snap);
    ts_json_member_arr(j, "shards");
    for (size_t i = 0; i < n_owners; i++) {
        ts_json_obj(j);
        ts_json_member_count(j, "shard", i);
        ts_json_member_count(j, "memstore_bytes", owners[i].n_bytes);
        ts_json_member_count(j, "memstore_points", owners[i].n_points);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
    struct sto_shards numbers = sto_shards(d->store);
    ts_json_member_obj(j, "rebalance");
    ts_json_member_count(j, "shards", numbers.n_now);
    ts_json_member_count(j, "wanted", numbers.n_wanted);
    if (numbers.waits)
        ts_json_member_str(j, "waits", numbers.waits);
    ts_json_obj_end(j);
    ts_json_member_arr(j, "windows");
    for (size_t i = 0; i < n_windows && i < STATUS_WINDOWS; i++) {
        ts_json_obj(j);
        ts_json_member_int(j, "start", windows[i].start_ms);
        ts_json_member_int(j, "end", windows[i].end_ms);
        ts_json_member_count(j, "files", windows[i].n_files);
        ts_json_member_count(j, "bytes", windows[i].n_bytes);
        ts_json_member_count(j, "points", windows[i].n_points);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
}

static void status_connections(struct tsd_daemon *d, struct ts_json *j)
{
    ts_json_member_obj(j, "connections");
    ts_json_member_count(j, "open", atomic_load(&d->n_connections));
    if (d->set.max_connections)
        ts_json_member_count(j, "max", d->set.max_connections);
    ts_json_obj_end(j);
}

static void status_senders(struct tsd_daemon *d, struct ts_json *j)
{
    struct tsd_peer_row rows[STATUS_SENDERS];
    size_t n = tsd_peers_top(&d->peers, rows, STATUS_SENDERS);
    char text[TSD_PEER_TEXT_BYTES];
    ts_json_member_arr(j, "senders");
    for (size_t i = 0; i < n && rows[i].n_points; i++) {
        ts_json_obj(j);
        ts_json_member_str(j, "address", tsd_peer_text(rows[i].key, text));
        ts_json_member_count(j, "connections", rows[i].n_connections);
        ts_json_member_count(j, "points", rows[i].n_points);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
}

static void status_remote(struct tsd_daemon *d, const struct status_figures *f, struct ts_json *j)
{
    if (!d->hbase) {
        ts_json_member_null(j, "remote");
        return;
    }
    static const char *const states[] = {[TSD_HBASE_UNKNOWN] = "unknown",
                                         [TSD_HBASE_UP] = "up",
                                         [TSD_HBASE_AWAY] = "away",
                                         [TSD_HBASE_REFUSES] = "no_ids"};
    enum tsd_hbase_health health = tsd_hbase_state(d->hbase, NULL);
    ts_json_member_obj(j, "remote");
    ts_json_member_str(j, "kind", "hbase");
    ts_json_member_str(j, "state", states[health]);
    if (health != TSD_HBASE_UNKNOWN)
        ts_json_member_bool(j, "reachable", health == TSD_HBASE_UP);
    ts_json_member_count(j, "backlog_points", f->backlog_points);
    ts_json_member_count(j, "backlog_bytes", f->backlog_bytes);
    ts_json_member_count(j, "backlog_seconds", f->backlog_s);
    ts_json_member_count(j, "refused_rows", f->refused_rows);
    ts_json_member_count(j, "refused_deletes", f->refused_deletes);
    ts_json_obj_end(j);
}

static void status_key(void *arg, const struct ts_conf_key *key, const char *value)
{
    struct ts_json *j = arg;
    bool secret = tsd_conf_secret(key->name);
    ts_json_obj(j);
    ts_json_member_str(j, "key", key->name);
    ts_json_member_str(j, "value", secret ? "********" : value);
    ts_json_member_str(j, "default", key->def);
    ts_json_member_bool(j, "changed", strcmp(value, key->def) != 0);
    ts_json_member_str(j, "help", key->help);
    ts_json_obj_end(j);
}

static void status_print(struct tsd_daemon *d, struct ts_arena *arena, struct ts_json *j)
{
    struct ts_buf refused;
    struct ts_json list;
    struct status_figures f = {.refused = &list};
    ts_buf_init(&refused, 0);
    ts_json_init(&list, &refused);
    ts_json_arr(&list);
    tsd_stats_each(d, status_figure, &f);
    ts_json_arr_end(&list);
    ts_json_obj(j);
    status_daemon(d, j);
    status_health(d, j);
    status_rates(d, j);
    status_totals(&f, j);
    ts_json_member_raw(j, "refused", ts_buf_get(&refused));
    status_memory(d, j);
    status_store(d, arena, j);
    ts_json_member_obj(j, "queries");
    tsd_queries_summary(d->queries, STATUS_SLOW, j);
    ts_json_obj_end(j);
    status_connections(d, j);
    status_senders(d, j);
    status_remote(d, &f, j);
    ts_json_member_arr(j, "config");
    ts_conf_each(d->conf, status_key, j);
    ts_json_arr_end(j);
    ts_json_obj_end(j);
    ts_buf_release(&refused);
}

int tsd_ep_status(struct tsd_job *job, struct ts_error *err)
{
    struct ts_buf b;
    struct ts_json j;
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    status_print(tsd_job_req(job)->d, tsd_job_arena(job), &j);
    int rc = ts_sink_write(tsd_job_sink(job), ts_buf_get(&b), err);
    ts_buf_release(&b);
    return rc;
}

void tsd_ep_cancel(struct tsd_req *req)
{
    struct ts_slice text;
    int64_t id;
    if (!tsd_req_param(req, "id", &text) || ts_num_parse_int(text, &id, NULL) < 0 || id < 1)
        tsd_reply_error(req, 400, "The parameter id must be the number of a running query",
                        "Take it from /api/tsd/status");
    else if (tsd_queries_cancel(req->d->queries, (uint64_t)id) < 0)
        tsd_reply_error(req, 404, "No query with this id is running: it may have ended", NULL);
    else
        tsd_reply_empty(req, 204);
}
