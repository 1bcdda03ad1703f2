/*
 * queries.c - a list of running queries and a ring of ended ones.
 *
 * Invariant  an entry in the list belongs to a job whose run has not returned: the job may be cancelled under the mutex
 */
#include "tsd/protocols/http/queries.h"

#include "base/time.h"
#include "tsd/format/out.h"

#include <pthread.h>
#include <stdlib.h>

#define QUERIES_TEXT_BYTES 4096 /* kept of a query or of headers; larger ones are left out */
#define QUERIES_METRICS    64   /* metrics of a query whose reads are counted */
#define READS_SETS         1024 /* a power of 2; sets of READS_WAYS metrics each, whose reads are kept */
#define READS_WAYS         4

/* How often queries have read a metric. */
struct metric_reads {
    uint32_t metric; /* id; 0: free */
    uint64_t n;
    int64_t last_ms;
};

struct tsd_query_entry {
    struct tsd_query_entry *prev, *next; /* running list */
    struct tsd_job *job;                 /* while it runs */
    const struct qry_stats *stats;       /* while it runs: of the job */
    uint64_t id;                         /* for people, from 1 */
    int64_t began_ms, ended_ms;          /* wall clock */
    int64_t began_ns, took_ns;           /* monotonic */
    unsigned n_running;                  /* with this one, when it began */
    int status;                          /* of the reply */
    bool sent;                           /* the client was there at the end */
    uint64_t n_points;                   /* read */
    uint32_t metrics[QUERIES_METRICS];   /* ids; n_metrics */
    size_t n_metrics;
    char peer[64];                     /* address and port */
    struct ts_buf what, headers, text; /* JSON, JSON, why it failed */
    struct ts_buf done;                /* JSON of the stats, once ended */
};

struct tsd_queries {
    pthread_mutex_t mu;                              /* guards everything */
    struct tsd_query_entry *running;                 /* newest first */
    unsigned n_running;                              /* how many */
    struct tsd_query_entry *ended[TSD_QUERIES_KEPT]; /* ring */
    uint64_t n_ended;                                /* since the start */
    uint64_t last_id;                                /* given out */
    struct metric_reads reads[READS_SETS][READS_WAYS];
};

struct tsd_queries *tsd_queries_new(void)
{
    struct tsd_queries *qs = ts_xcalloc(1, sizeof(*qs));
    pthread_mutex_init(&qs->mu, NULL);
    return qs;
}

static void entry_free(struct tsd_query_entry *e)
{
    if (!e)
        return;
    ts_buf_release(&e->what);
    ts_buf_release(&e->headers);
    ts_buf_release(&e->text);
    ts_buf_release(&e->done);
    ts_free(e);
}

void tsd_queries_free(struct tsd_queries *qs)
{
    if (!qs)
        return;
    for (size_t i = 0; i < TSD_QUERIES_KEPT; i++)
        entry_free(qs->ended[i]);
    pthread_mutex_destroy(&qs->mu);
    ts_free(qs);
}

/* One of the metrics that a query reads; each counts once. */
static void entry_metric(struct tsd_query_entry *e, struct sto_catalog *cat, struct ts_slice name)
{
    uint32_t id;
    if (e->n_metrics == QUERIES_METRICS || sto_uid_find(cat, STO_UID_METRIC, name, &id) < 0)
        return;
    for (size_t i = 0; i < e->n_metrics; i++)
        if (e->metrics[i] == id)
            return;
    e->metrics[e->n_metrics++] = id;
}

/* A job's query begins: from run, once its text is understood. It is listed until the job's run has returned.
 *  @param what   the query as JSON; copied
 *  @param spec   whose metrics are read; NULL: none
 *  @param stats  filled by the run; lives as long as the job's arena */
static void query_begin(struct tsd_job *job, struct ts_slice what, const struct qry_spec *spec,
                        const struct qry_stats *stats)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct tsd_queries *qs = req->d->queries;
    struct tsd_query_entry *e = ts_xcalloc(1, sizeof(*e));
    struct ts_json j;
    if (!qs) {
        ts_free(e);
        return;
    }
    ts_buf_init(&e->what, QUERIES_TEXT_BYTES);
    ts_buf_init(&e->headers, QUERIES_TEXT_BYTES);
    ts_buf_init(&e->text, QUERIES_TEXT_BYTES);
    ts_buf_init(&e->done, 0);
    ts_buf_slice(&e->what, what.n <= QUERIES_TEXT_BYTES ? what : TS_SLICE_LIT("null"));
    ts_json_init(&j, &e->headers);
    tsd_req_headers(req, &j);
    if (e->headers.failed) {
        ts_buf_clear(&e->headers);
        ts_buf_str(&e->headers, "{}");
    }
    for (size_t i = 0; spec && i < spec->n_subs; i++)
        entry_metric(e, sto_store_catalog(req->d->store), spec->subs[i].metric);
    e->job = job;
    e->stats = stats;
    e->began_ms = ts_clock_ms();
    e->began_ns = ts_clock_mono_ns();
    (void)snprintf(e->peer, sizeof(e->peer), "%s", req->c->who.address);
    pthread_mutex_lock(&qs->mu);
    e->id = ++qs->last_id;
    e->next = qs->running;
    if (e->next)
        e->next->prev = e;
    qs->running = e;
    e->n_running = ++qs->n_running;
    pthread_mutex_unlock(&qs->mu);
    tsd_job_listed(job, e);
}

/* Memory for the statistics of the run. */
static const struct qry_stats *queries_stats(struct tsd_job *job, size_t n_subs)
{
    struct ts_arena *arena = tsd_job_arena(job);
    struct qry_stats *stats = ts_arena_alloc(arena, sizeof(*stats)); /* looked at when run has returned */
    qry_stats_init(stats, n_subs, arena);
    tsd_job_limit(job)->stats = stats;
    return stats;
}

void tsd_query_begin_spec(struct tsd_job *job, const struct qry_spec *spec, const struct ts_buf *member)
{
    const struct qry_stats *stats = queries_stats(job, spec->n_subs);
    struct ts_buf echo, what;
    struct ts_json j;
    ts_buf_init(&echo, 0);
    ts_buf_init(&what, 0);
    ts_json_init(&j, &echo);
    struct sto_store *store = tsd_job_req(job)->d->store;
    qry_echo(spec, sto_store_remote(store) ? NULL : sto_store_catalog(store),
             &j); /* ids of clients are others */
    ts_buf_char(&what, '{');
    if (member) {
        ts_buf_slice(&what, ts_buf_get(member));
        ts_buf_char(&what, ',');
    }
    ts_buf_append(&what, echo.p + 1, echo.n - 1);
    query_begin(job, ts_buf_get(&what), spec, stats);
    ts_buf_release(&what);
    ts_buf_release(&echo);
}

void tsd_query_begin_member(struct tsd_job *job, const struct ts_buf *member)
{
    struct ts_buf what;
    ts_buf_init(&what, 0);
    ts_buf_char(&what, '{');
    ts_buf_slice(&what, ts_buf_get(member));
    ts_buf_char(&what, '}');
    query_begin(job, ts_buf_get(&what), NULL, queries_stats(job, 0));
    ts_buf_release(&what);
}

static struct metric_reads *reads_set(struct tsd_queries *qs, uint32_t metric)
{
    return qs->reads[((metric * UINT32_C(2654435761)) >> 16) & (READS_SETS - 1)];
}

/* Count a read; of the metrics of a set, the one that was read longest ago gives way to a new one. */
static void reads_count(struct tsd_queries *qs, uint32_t metric, int64_t now_ms)
{
    struct metric_reads *set = reads_set(qs, metric), *at = set;
    for (size_t i = 0; i < READS_WAYS && at->metric != metric; i++)
        if (set[i].metric == metric || set[i].last_ms < at->last_ms)
            at = &set[i];
    if (at->metric != metric)
        *at = (struct metric_reads){.metric = metric};
    at->n++;
    at->last_ms = now_ms;
}

bool tsd_queries_reads(struct tsd_queries *qs, uint32_t metric, uint64_t *out_n, int64_t *out_last_ms)
{
    const struct metric_reads *set = reads_set(qs, metric);
    bool found = false;
    pthread_mutex_lock(&qs->mu);
    for (size_t i = 0; i < READS_WAYS; i++) {
        if (set[i].metric != metric)
            continue;
        *out_n = set[i].n;
        *out_last_ms = set[i].last_ms;
        found = true;
    }
    pthread_mutex_unlock(&qs->mu);
    return found;
}

static void queries_unlink(struct tsd_queries *qs, struct tsd_query_entry *e)
{
    if (e->prev)
        e->prev->next = e->next;
    else
        qs->running = e->next;
    if (e->next)
        e->next->prev = e->prev;
    qs->n_running--;
}

void tsd_query_drop(struct tsd_queries *qs, struct tsd_query_entry *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&qs->mu);
    queries_unlink(qs, e);
    pthread_mutex_unlock(&qs->mu);
    entry_free(e);
}

/* From the list into the ring. */
static struct tsd_query_entry *queries_move(struct tsd_queries *qs, struct tsd_query_entry *e)
{
    queries_unlink(qs, e);
    struct tsd_query_entry **place = &qs->ended[qs->n_ended++ % TSD_QUERIES_KEPT], *old = *place;
    *place = e;
    return old;
}

void tsd_query_end(struct tsd_queries *qs, struct tsd_query_entry *e, int status, const char *text, bool sent)
{
    struct ts_json j;
    if (!e)
        return;
    struct ts_buf done;
    int64_t took_ns = ts_clock_mono_ns() - e->began_ns;
    ts_buf_init(&done, 0);
    ts_json_init(&j, &done);
    tsd_querystats_all(&j, e->stats, qry_limit_incomplete(tsd_job_limit(e->job)), took_ns);
    pthread_mutex_lock(&qs->mu);
    e->done = done;
    e->took_ns = took_ns;
    e->ended_ms = ts_clock_ms();
    e->n_points = atomic_load_explicit(&tsd_job_limit(e->job)->n_points, memory_order_relaxed);
    atomic_fetch_add_explicit(&tsd_job_req(e->job)->d->n_points_read, e->n_points, memory_order_relaxed);
    for (size_t i = 0; i < e->n_metrics; i++)
        reads_count(qs, e->metrics[i], e->ended_ms);
    e->status = status;
    e->sent = sent;
    e->job = NULL;
    e->stats = NULL;
    if (text)
        ts_buf_str(&e->text, text);
    struct tsd_query_entry *old = queries_move(qs, e);
    pthread_mutex_unlock(&qs->mu);
    entry_free(old);
}

int tsd_queries_cancel(struct tsd_queries *qs, uint64_t id)
{
    int rc = TS_ENOTFOUND;
    pthread_mutex_lock(&qs->mu);
    for (struct tsd_query_entry *e = qs->running; e; e = e->next) {
        if (e->id != id)
            continue;
        tsd_job_cancel(e->job);
        rc = 0;
    }
    pthread_mutex_unlock(&qs->mu);
    return rc;
}

/* --- printing --- */

static void print_running(struct ts_json *j, const struct tsd_query_entry *e)
{
    ts_json_obj(j);
    ts_json_member_count(j, "id", e->id);
    ts_json_member_raw(j, "query", ts_buf_get(&e->what));
    ts_json_member_str(j, "remote", e->peer);
    ts_json_member_str(j, "user", "");
    ts_json_member_raw(j, "headers", ts_buf_get(&e->headers));
    ts_json_member_int(j, "queryStart", e->began_ms);
    ts_json_member_int(j, "elapsed", (ts_clock_mono_ns() - e->began_ns) / 1000000);
    ts_json_member_count(j, "pointsRead",
                         atomic_load_explicit(&tsd_job_limit(e->job)->n_points, memory_order_relaxed));
    ts_json_obj_end(j);
}

static void print_ended(struct ts_json *j, const struct tsd_query_entry *e)
{
    const char *phrase = tsd_http_phrase(e->status);
    ts_json_obj(j);
    ts_json_member_count(j, "id", e->id);
    ts_json_member_raw(j, "query", ts_buf_get(&e->what));
    ts_json_member_slice(j, "exception", e->text.n ? ts_buf_get(&e->text) : TS_SLICE_LIT("null"));
    ts_json_member_int(j, "executed", 1);
    ts_json_member_str(j, "remote", e->peer);
    ts_json_member_str(j, "user", "");
    ts_json_member_raw(j, "requestHeaders", ts_buf_get(&e->headers));
    ts_json_member_count(j, "numRunningQueries", e->n_running);
    ts_json_member_obj(j, "httpResponse");
    ts_json_member_int(j, "code", e->status);
    ts_json_member_str(j, "reasonPhrase", phrase);
    ts_json_obj_end(j);
    ts_json_member_int(j, "queryStartTimestamp", e->began_ms);
    ts_json_member_int(j, "queryCompletedTimestamp", e->ended_ms);
    ts_json_member_bool(j, "sentToClient", e->sent);
    ts_json_member_count(j, "pointsRead", e->n_points);
    ts_json_member_raw(j, "stats", ts_buf_get(&e->done));
    ts_json_obj_end(j);
}

void tsd_queries_print(struct tsd_queries *qs, uint64_t only_id, struct ts_json *j)
{
    pthread_mutex_lock(&qs->mu);
    ts_json_obj(j);
    ts_json_member_arr(j, "running");
    for (const struct tsd_query_entry *e = qs->running; e; e = e->next)
        if (!only_id || e->id == only_id)
            print_running(j, e);
    ts_json_arr_end(j);
    ts_json_member_arr(j, "completed");
    for (uint64_t i = 0; i < TSD_QUERIES_KEPT && i < qs->n_ended; i++) {
        const struct tsd_query_entry *e = qs->ended[(qs->n_ended - 1 - i) % TSD_QUERIES_KEPT];
        if (!only_id || e->id == only_id)
            print_ended(j, e);
    }
    ts_json_arr_end(j);
    ts_json_obj_end(j);
    pthread_mutex_unlock(&qs->mu);
}

static void print_summary(struct ts_json *j, const struct tsd_query_entry *e, int64_t took_ns)
{
    ts_json_obj(j);
    ts_json_member_count(j, "id", e->id);
    ts_json_member_slice(j, "text", ts_buf_get(&e->what));
    ts_json_member_str(j, "client", e->peer);
    ts_json_member_int(j, "ms", took_ns / 1000000);
    if (e->ended_ms)
        ts_json_member_int(j, "ended", e->ended_ms);
    ts_json_obj_end(j);
}

static int slower_first(const void *a, const void *b)
{
    const struct tsd_query_entry *const *x = a, *const *y = b;
    return (*x)->took_ns > (*y)->took_ns ? -1 : (*x)->took_ns < (*y)->took_ns;
}

void tsd_queries_summary(struct tsd_queries *qs, size_t max, struct ts_json *j)
{
    const struct tsd_query_entry *ended[TSD_QUERIES_KEPT];
    pthread_mutex_lock(&qs->mu);
    int64_t now_ns = ts_clock_mono_ns();
    ts_json_member_arr(j, "running");
    for (const struct tsd_query_entry *e = qs->running; e; e = e->next)
        print_summary(j, e, now_ns - e->began_ns);
    ts_json_arr_end(j);
    size_t n = qs->n_ended < TSD_QUERIES_KEPT ? (size_t)qs->n_ended : TSD_QUERIES_KEPT;
    for (size_t i = 0; i < n; i++)
        ended[i] = qs->ended[i];
    qsort(ended, n, sizeof(ended[0]), slower_first);
    ts_json_member_arr(j, "slow");
    for (size_t i = 0; i < n && i < max; i++)
        print_summary(j, ended[i], ended[i]->took_ns);
    ts_json_arr_end(j);
    pthread_mutex_unlock(&qs->mu);
}
