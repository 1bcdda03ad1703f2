/*
 * access.c - sessions over the connection pool: the deadline of one request, repeats, errors, counters.
 *
 * A connection that breaks tries the next gateway by itself when it is opened again (client.h), so that a repeat goes to another gateway.
 * Threads    see access.h; counters are atomic and relaxed
 */
#include "storage/hbase/remote/access.h"

#include "base/mem.h"
#include "base/time.h"
#include "base/tls.h"
#include "storage/hbase/remote/closer.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>

#define MS              1000000ll /* in nanoseconds */
#define DEFAULT_CONNS   8
#define DEFAULT_WAIT_MS 30000
#define DEFAULT_CALL_MS 60000
#define FIRST_PAUSE_MS  50
#define MAX_PAUSE_MS    5000
#define DEFAULT_AWAY_MS 2000
#define AWAY_WAITS      2  /* times away_ms, for the reply to a query while nobody answers */
#define LOOK_MS         50 /* between two checks of cancel */

struct sto_hbase_access {
    struct sto_hbase_access_opts opts; /* with defaults filled in; gateways are owned */
    struct sto_thrift_pool *pool;      /* the connections */
    struct sto_hbase_closer *closer;   /* of scanners that were left */
    _Atomic uint64_t random;           /* state of jitter */
    _Atomic int64_t silent_ns;         /* monotonic time of the first request in a row without an answer; 0 */
    _Atomic uint64_t n_calls;          /* requests of sto_hbase_call */
    _Atomic uint64_t n_repeats;        /* of those, sent once more */
    _Atomic uint64_t n_exceptions;     /* replies that were exceptions */
    _Atomic uint64_t n_timeouts;       /* requests without a reply in time */
    _Atomic uint64_t n_failed;         /* calls that ended with an error */
};

static void count(_Atomic uint64_t *n)
{
    atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

struct sto_hbase_access *sto_hbase_access_new(const struct sto_hbase_access_opts *opts)
{
    struct sto_hbase_access *a = ts_xcalloc(1, sizeof *a);
    struct sto_hbase_access_opts *o = &a->opts;
    struct sto_thrift_gateway *gateways = ts_xcalloc(opts->n_gateways, sizeof *gateways);
    *o = *opts;
    for (size_t i = 0; i < o->n_gateways; i++)
        gateways[i] = (struct sto_thrift_gateway){ts_xstrdup(opts->gateways[i].host),
                                                  ts_xstrdup(opts->gateways[i].port)};
    o->gateways = gateways;
    o->tls = ts_tls_ref(opts->tls);
    o->max_connections = o->max_connections ? o->max_connections : DEFAULT_CONNS;
    o->timeout_ms = o->timeout_ms ? o->timeout_ms : DEFAULT_WAIT_MS;
    o->call_ms = o->call_ms ? o->call_ms : DEFAULT_CALL_MS;
    o->away_ms = o->away_ms ? o->away_ms : DEFAULT_AWAY_MS;
    atomic_init(&a->random, (uint64_t)ts_clock_ms() ^ (uint64_t)(uintptr_t)a);
    a->pool =
        sto_thrift_pool_new(&(struct sto_thrift_client_opts){.gateways = gateways,
                                                             .n_gateways = o->n_gateways,
                                                             .transport = o->transport,
                                                             .tls = o->tls,
                                                             .connect_timeout_ms = o->connect_timeout_ms,
                                                             .max_reply_bytes = o->max_reply_bytes,
                                                             .max_reply_key = o->max_reply_key,
                                                             .budget = o->memory},
                            o->max_connections);
    a->closer = sto_hbase_closer_new();
    return a;
}

void sto_hbase_access_free(struct sto_hbase_access *a)
{
    if (!a)
        return;
    sto_hbase_closer_free(a->closer);
    sto_thrift_pool_free(a->pool);
    for (size_t i = 0; i < a->opts.n_gateways; i++) {
        ts_free((char *)(uintptr_t)a->opts.gateways[i].host);
        ts_free((char *)(uintptr_t)a->opts.gateways[i].port);
    }
    ts_free((void *)(uintptr_t)a->opts.gateways);
    ts_tls_unref(a->opts.tls);
    ts_free(a);
}

/* --- sessions --- */

/* Nothing is sent if the call is cancelled, or its deadline has passed, at the beginning. */
int sto_hbase_begin(struct sto_hbase_access *a, const struct sto_remote_call *call,
                    struct sto_hbase_session *out, struct ts_error *err)
{
    *out = (struct sto_hbase_session){.access = a};
    out->wait.until_ns =
        call && call->deadline_ns ? call->deadline_ns : ts_clock_mono_ns() + a->opts.call_ms * MS;
    out->wait.cancel = call ? call->cancel : NULL;
    out->is_query = call && call->is_query;
    int rc = sto_thrift_pool_take(a->pool, out->wait, a->opts.max_connections_key, &out->client, err);
    if (rc == TS_EBUSY) { /* the deadline has passed */
        rc = TS_ETIMEOUT;
        if (err)
            err->code = rc;
    }
    if (rc == 0 && (rc = sto_hbase_pause(out, 0, err)) < 0)
        sto_hbase_end(out);
    return rc;
}

void sto_hbase_end(struct sto_hbase_session *s)
{
    if (s->client)
        sto_thrift_pool_return(s->access->pool, s->client);
    s->client = NULL;
}

void sto_hbase_leave_scanner(struct sto_hbase_session *s, struct sto_hbase_scanner *requests)
{
    struct sto_thrift_client *c = s->client;
    s->client = sto_thrift_pool_replace(s->access->pool);
    sto_hbase_closer_take(s->access->closer, c, requests);
}

/* --- is anybody there? --- */

/* An exception says nothing: the gateway is there, but HBase behind it may not be. */
static void note_answer(struct sto_hbase_access *a, int rc)
{
    int64_t none = 0;
    if (rc == 0) {
        if (atomic_load_explicit(&a->silent_ns, memory_order_relaxed))
            atomic_store_explicit(&a->silent_ns, 0, memory_order_relaxed);
    } else if (rc == TS_EIO || rc == TS_ETIMEOUT)
        atomic_compare_exchange_strong_explicit(&a->silent_ns, &none, ts_clock_mono_ns(),
                                                memory_order_relaxed, memory_order_relaxed);
}

static bool is_away(const struct sto_hbase_access *a)
{
    int64_t since_ns = atomic_load_explicit(&a->silent_ns, memory_order_relaxed);
    return since_ns && ts_clock_mono_ns() - since_ns >= a->opts.away_ms * MS;
}

struct sto_thrift_wait sto_hbase_attempt(const struct sto_hbase_session *s)
{
    const struct sto_hbase_access_opts *o = &s->access->opts;
    int64_t ms = o->timeout_ms, away_ms = o->away_ms * AWAY_WAITS;
    if (s->is_query && away_ms < ms && is_away(s->access))
        ms = away_ms;
    int64_t until_ns = ts_clock_mono_ns() + ms * MS;
    return (struct sto_thrift_wait){.until_ns = until_ns < s->wait.until_ns ? until_ns : s->wait.until_ns,
                                    .cancel = s->wait.cancel};
}

/* --- pauses --- */

/* A number from 0 to n - 1. splitmix64: Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014 */
static int64_t random_below(struct sto_hbase_access *a, int64_t n)
{
    uint64_t z = atomic_fetch_add_explicit(&a->random, 0x9e3779b97f4a7c15u, memory_order_relaxed);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int64_t)((z ^ z >> 31) % (uint64_t)n);
}

static bool is_cancelled(const struct sto_hbase_session *s)
{
    return s->wait.cancel && atomic_load_explicit(s->wait.cancel, memory_order_relaxed);
}

int sto_hbase_pause(struct sto_hbase_session *s, unsigned n, struct ts_error *err)
{
    int64_t ms = 0;
    if (n > 0) {
        ms = n < 8 ? FIRST_PAUSE_MS << (n - 1) : MAX_PAUSE_MS;
        ms = ms < MAX_PAUSE_MS ? ms : MAX_PAUSE_MS;
        ms = ms / 2 + random_below(s->access, ms / 2 + 1);
    }
    if (n > 0 && s->is_query && is_away(s->access))
        return ts_error_set(err, TS_ETIMEOUT, "no gateway of HBase answers");
    if (ts_clock_mono_ns() + ms * MS >= s->wait.until_ns)
        return ts_error_set(err, TS_ETIMEOUT, "the deadline of a call to HBase has passed");
    while (!is_cancelled(s) && ms > 0) {
        int once = ms < LOOK_MS ? (int)ms : LOOK_MS;
        (void)poll(NULL, 0, once);
        ms -= once;
    }
    return is_cancelled(s) ? ts_error_set(err, TS_ECANCELLED, "a call to HBase was cancelled") : 0;
}

/* --- calls --- */

int sto_hbase_asked_row(struct sto_thrift_items *it, struct ts_slice key, struct sto_thrift_row *out,
                        struct ts_error *err)
{
    int rc = sto_thrift_row(it, out, err);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return ts_error_set(err, TS_ECORRUPT, "HBase's reply to getMultiple has too few rows");
    if (out->row.p && out->n_left && !ts_slice_eq(out->row, key))
        return ts_error_set(err, TS_ECORRUPT,
                            "HBase's reply to getMultiple has another row than was requested");
    return 0;
}

int sto_hbase_error(int rc, struct ts_error *err)
{
    switch (rc) {
    case TS_EIO:
    case TS_ECORRUPT:
    case TS_EBUSY:
        rc = TS_EBACKEND;
        break;
    case TS_ENOMEM:
        rc = TS_ELIMIT;
        break;
    default:
        break;
    }
    if (err && rc < 0)
        err->code = rc;
    return rc;
}

bool sto_hbase_is_final(const struct sto_thrift_reply *r)
{
    static const char *const reasons[] = {"NoSuchColumnFamilyException", "TableNotFoundException",
                                          "DoNotRetryIOException", "AccessDeniedException"};
    if (r->outcome != STO_THRIFT_IO_ERROR)
        return r->outcome != STO_THRIFT_DONE;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (r->text.n && memmem(r->text.p, r->text.n, reasons[i], strlen(reasons[i])))
            return true;
    return !r->can_retry;
}

bool sto_hbase_refuses_rows(const struct sto_thrift_reply *r)
{
    static const char *const of_tables[] = {"TableNotFound",     "TableNotEnabled", "NoSuchColumnFamily",
                                            "NamespaceNotFound", "AccessDenied",    "QuotaExceeded",
                                            "SpaceLimiting"};
    if (r->outcome == STO_THRIFT_DONE || !sto_hbase_is_final(r))
        return false;
    for (size_t i = 0; i < sizeof of_tables / sizeof *of_tables; i++)
        if (r->text.n && memmem(r->text.p, r->text.n, of_tables[i], strlen(of_tables[i])))
            return false;
    return true;
}

/* May a request be sent once more after it has ended like this? */
static bool may_repeat(const struct sto_thrift_request *r, int rc, enum sto_thrift_sent sent,
                       const struct sto_thrift_reply *reply)
{
    bool harmless = sto_thrift_call_info(r->call)->effect != STO_THRIFT_CHANGES;
    if (rc == TS_EBACKEND)
        return harmless && !sto_hbase_is_final(reply);
    if (rc == TS_EIO || rc == TS_ETIMEOUT || rc == TS_ECORRUPT)
        return !r->connection && (harmless || sent == STO_THRIFT_NOT_SENT);
    return false;
}

static int failed(struct sto_hbase_session *s, int rc, unsigned n_repeats, struct ts_error *why,
                  struct ts_error *err)
{
    count(&s->access->n_failed);
    if (rc == TS_ETIMEOUT && ts_clock_mono_ns() < s->wait.until_ns)
        rc = TS_EBACKEND;
    rc = sto_hbase_error(rc, why);
    if (!err)
        return rc;
    *err = *why;
    size_t n = strlen(err->text);
    if (n_repeats)
        (void)snprintf(err->text + n, sizeof err->text - n, "; tried %u times", n_repeats + 1);
    return rc;
}

static int call_once(struct sto_hbase_session *s, const struct sto_thrift_request *r,
                     struct sto_thrift_reply *out, enum sto_thrift_sent *sent, struct ts_error *why)
{
    struct sto_thrift_wait wait = sto_hbase_attempt(s), forever = {INT64_MAX, wait.cancel};
    if (!s->leaves)
        return sto_thrift_client_call(s->client, r, wait, out, sent, why);
    *out = (struct sto_thrift_reply){.call = r->call};
    TS_TRY(sto_thrift_client_send(s->client, r, wait, why));
    *sent = STO_THRIFT_SENT;
    return sto_thrift_client_try_receive(s->client, forever, out, why);
}

int sto_hbase_call(struct sto_hbase_session *s, const struct sto_thrift_request *r,
                   struct sto_thrift_reply *out, enum sto_thrift_sent *out_sent, struct ts_error *err)
{
    enum sto_thrift_sent all = STO_THRIFT_NOT_SENT;
    struct ts_error why = {0};
    unsigned n = 0;
    int rc;
    count(&s->access->n_calls);
    for (;; n++) {
        enum sto_thrift_sent sent = STO_THRIFT_NOT_SENT;
        rc = call_once(s, r, out, &sent, &why);
        note_answer(s->access, rc);
        all = sent == STO_THRIFT_NOT_SENT && all != STO_THRIFT_NOT_SENT ? STO_THRIFT_SENT : sent;
        if (out_sent)
            *out_sent = all;
        if (rc == 0)
            return 0;
        if (rc == TS_EBACKEND)
            count(&s->access->n_exceptions);
        if (rc == TS_ETIMEOUT)
            count(&s->access->n_timeouts);
        if (!may_repeat(r, rc, sent, out))
            break;
        struct ts_error stopped = {0};
        int pause = sto_hbase_pause(s, n + 1, &stopped);
        if (pause == TS_ECANCELLED) {
            rc = pause;
            why = stopped;
            *out = (struct sto_thrift_reply){.call = r->call};
        }
        if (pause < 0)
            break;
        count(&s->access->n_repeats);
    }
    return failed(s, rc, n, &why, err);
}

void sto_hbase_access_status(struct sto_hbase_access *a,
                             void (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
    struct sto_thrift_pool_stats p = sto_thrift_pool_stats(a->pool);
    const struct {
        const char *name;
        const _Atomic uint64_t *value;
    } counters[] = {
        {"calls", &a->n_calls},
        {"call_repeats", &a->n_repeats},
        {"call_exceptions", &a->n_exceptions},
        {"call_timeouts", &a->n_timeouts},
        {"call_failures", &a->n_failed},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        each(arg, counters[i].name, atomic_load_explicit(counters[i].value, memory_order_relaxed));
    each(arg, "connections_in_use", p.n_taken);
    each(arg, "connections_idle", p.n_idle);
    each(arg, "connection_waits", p.n_waits);
    each(arg, "connection_waits_in_vain", p.n_given_up);
}
