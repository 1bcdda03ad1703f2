/*
 * hbase.c - the remote store of a running daemon, and the thread that watches it.
 *
 * Threads    see hbase.h; the thread alone asks HBase, and others read under the mutex what it found
 */
#include "tsd/daemon/hbase.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/time.h"

#include <pthread.h>

#define PROBE_MS    10000 /* between two questions to HBase while it answers */
#define AWAY_MS     2000  /* the same while it does not */
#define PROBE_MAX_S 10    /* a question that takes longer counts as not answered */
#define LOOKS_MAX   5     /* at keys, while there are fewer */
#define DROP_MS     30000 /* between two checks for files that may be removed */

struct tsd_hbase {
    struct sto_remote *remote; /* owned */
    struct ts_budget memory;   /* replies and ids */
    const char *gateways;      /* for messages; borrowed */
    int64_t keep_local_ms;     /* constant */
    bool sole_writer;          /* constant */
    struct sto_store *store;   /* while watched */
    pthread_t thread;
    unsigned n_looks;  /* at keys; the thread alone */
    bool runs;         /* the thread was started; main thread alone */
    _Atomic bool stop; /* cancels the question that is under way */
    pthread_mutex_t mu;
    pthread_cond_t wake;
    enum tsd_hbase_health health; /* under mu, as the following */
    struct ts_error why;          /* last error */
    struct ts_error odd_keys;     /* keys that do not fit the configuration; code 0: they fit */
    uint64_t n_outages;           /* times that HBase stopped answering */
    uint64_t n_drop_errors;       /* files could not be removed */
};

int tsd_hbase_open(const struct tsd_hbase_settings *set, struct ts_budget *memory, struct tsd_hbase **out,
                   struct ts_error *err)
{
    struct tsd_hbase *h = ts_xcalloc(1, sizeof(*h));
    pthread_condattr_t steady;
    uint64_t most = memory && memory->limit_bytes ? memory->limit_bytes / 2 : UINT64_MAX;
    if (set->memory_bytes <= most)
        ts_budget_init(&h->memory, "hbase", "hbase_memory_bytes", memory, set->memory_bytes);
    else
        ts_budget_init(&h->memory, "hbase", "memory_limit", memory, most);
    struct sto_hbase_opts opts = set->opts;
    opts.access.gateways = set->gateways;
    opts.access.memory = &h->memory;
    *out = NULL;
    int rc = sto_hbase_open(&opts, &h->remote, err);
    if (rc < 0) {
        ts_free(h);
        return rc;
    }
    h->gateways = set->gateways_key;
    h->keep_local_ms = set->keep_local_ms;
    h->sole_writer = set->opts.sole_writer;
    pthread_mutex_init(&h->mu, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&h->wake, &steady);
    pthread_condattr_destroy(&steady);
    *out = h;
    return 0;
}

struct sto_remote *tsd_hbase_remote(struct tsd_hbase *h)
{
    return h->remote;
}

/* --- the thread --- */

static bool on_name(void *arg, struct ts_slice name)
{
    (void)arg, (void)name;
    return false; /* one is enough */
}

static void set_health(struct tsd_hbase *h, enum tsd_hbase_health now, const struct ts_error *why)
{
    pthread_mutex_lock(&h->mu);
    enum tsd_hbase_health was = h->health;
    h->health = now;
    h->why = *why;
    h->n_outages += was == TSD_HBASE_UP && now != TSD_HBASE_UP;
    pthread_mutex_unlock(&h->mu);
    if (was == now)
        return;
    if (now == TSD_HBASE_UP)
        ts_log(TS_LOG_INFO,
               was != TSD_HBASE_UNKNOWN ? "HBase answers again gateways=%s" : "HBase answers gateways=%s",
               h->gateways);
    else
        ts_log(TS_LOG_WARN, "HBase %s: %s; points are accepted and wait here until it does",
               now == TSD_HBASE_AWAY ? "does not answer" : "does not serve the table of ids", why->text);
}

/* A table that was made with other salts or widths gives no error, but answers that lack points. */
static void look_at_keys(struct tsd_hbase *h, const struct sto_remote_call *call)
{
    struct sto_hbase_sample keys;
    struct ts_error why = {0};
    if (h->n_looks >= LOOKS_MAX || sto_hbase_sample_keys(h->remote, call, &keys, NULL) < 0)
        return;
    h->n_looks = keys.n_rows < STO_HBASE_SAMPLE_MIN ? h->n_looks + 1 : LOOKS_MAX;
    if (sto_hbase_sample_check(&keys, &why) < 0)
        ts_log(TS_LOG_ERROR,
               "%s: answers lack points, and what is written now is found by nobody else. Stop, and "
               "configure the numbers with which the table was made",
               why.text);
    pthread_mutex_lock(&h->mu);
    h->odd_keys = why;
    pthread_mutex_unlock(&h->mu);
}

bool tsd_hbase_has_odd_keys(struct tsd_hbase *h, struct ts_error *why)
{
    pthread_mutex_lock(&h->mu);
    *why = h->odd_keys;
    pthread_mutex_unlock(&h->mu);
    return why->code != 0;
}

/* Ask HBase for one name: that needs a gateway, a region server and the table of ids. */
static void probe(struct tsd_hbase *h)
{
    struct ts_error err = {0};
    struct sto_remote_call call = {
        .deadline_ns = ts_clock_mono_ns() + PROBE_MAX_S * 1000000000ll, .cancel = &h->stop, .is_query = true};
    int rc = h->remote->ops->suggest(h->remote, STO_REMOTE_METRIC, TS_SLICE_LIT(""), 1, &call, on_name, NULL,
                                     &err);
    enum tsd_hbase_health now = rc >= 0                                         ? TSD_HBASE_UP
                                : sto_hbase_has_ids(h->remote, &call, NULL) < 0 ? TSD_HBASE_AWAY
                                                                                : TSD_HBASE_REFUSES;
    if (!atomic_load_explicit(&h->stop, memory_order_relaxed))
        set_health(h, now, &err);
    if (rc >= 0)
        look_at_keys(h, &call);
}

static void drop_shipped(struct tsd_hbase *h)
{
    struct ts_error err = {0};
    static struct ts_log_limit limit;
    if (h->sole_writer && sto_complete_from(h->store) == INT64_MAX) /* it was refused at the start */
        (void)sto_set_sole_writer(h->store, true, NULL);
    if (sto_drop_shipped(h->store, ts_clock_ms() - h->keep_local_ms, &err) == 0)
        return;
    ts_log_limited(&limit, TS_LOG_WARN, "files whose points are in HBase could not be removed: %s", err.text);
    pthread_mutex_lock(&h->mu);
    h->n_drop_errors++;
    pthread_mutex_unlock(&h->mu);
}

/* Wait until a time of the monotonic clock, or until the thread is to end. */
static void wait_until(struct tsd_hbase *h, int64_t until_ms)
{
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    int waited = 0;
    pthread_mutex_lock(&h->mu);
    while (waited == 0 && !atomic_load_explicit(&h->stop, memory_order_relaxed))
        waited = pthread_cond_timedwait(&h->wake, &h->mu, &until);
    pthread_mutex_unlock(&h->mu);
}

static void *watch(void *arg)
{
    struct tsd_hbase *h = arg;
    int64_t probe_ms = 0, drop_ms = 0;
    while (!atomic_load_explicit(&h->stop, memory_order_relaxed)) {
        int64_t now_ms = ts_clock_mono_ns() / 1000000;
        if (now_ms >= probe_ms) {
            probe(h);
            probe_ms = ts_clock_mono_ns() / 1000000 + (h->health == TSD_HBASE_UP ? PROBE_MS : AWAY_MS);
        }
        if (now_ms >= drop_ms && !atomic_load_explicit(&h->stop, memory_order_relaxed)) {
            drop_shipped(h);
            drop_ms = ts_clock_mono_ns() / 1000000 + DROP_MS;
        }
        wait_until(h, probe_ms < drop_ms ? probe_ms : drop_ms);
    }
    return NULL;
}

int tsd_hbase_watch(struct tsd_hbase *h, struct sto_store *store, struct ts_error *err)
{
    h->store = store;
    struct ts_error why = {0};
    if (sto_set_sole_writer(store, h->sole_writer, &why) < 0) /* a store that cannot be written to */
        ts_log(TS_LOG_WARN, "hbase_sole_writer = %s has no effect yet: %s", h->sole_writer ? "true" : "false",
               why.text);
    int rc =
        ts_thread_start(&h->thread, &(struct ts_thread_opts){.name = "tsd-hbase", .fn = watch, .arg = h});
    if (rc)
        return ts_error_sys(err, TS_ENOMEM, rc, "no more threads can be started");
    h->runs = true;
    return 0;
}

void tsd_hbase_unwatch(struct tsd_hbase *h)
{
    if (!h || !h->runs)
        return;
    pthread_mutex_lock(&h->mu);
    atomic_store_explicit(&h->stop, true, memory_order_relaxed); /* under mu: the thread is woken by it */
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->mu);
    pthread_join(h->thread, NULL);
    h->runs = false;
}

void tsd_hbase_close(struct tsd_hbase *h)
{
    if (!h)
        return;
    h->remote->ops->close(h->remote);
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->mu);
    ts_free(h);
}

/* --- what is known --- */

enum tsd_hbase_health tsd_hbase_state(struct tsd_hbase *h, struct ts_error *why)
{
    pthread_mutex_lock(&h->mu);
    enum tsd_hbase_health health = h->health;
    if (why)
        *why = h->why;
    pthread_mutex_unlock(&h->mu);
    return health;
}

void tsd_hbase_stats(struct tsd_hbase *h, void (*each)(void *arg, const char *name, uint64_t value),
                     void *arg)
{
    pthread_mutex_lock(&h->mu);
    uint64_t up = h->health == TSD_HBASE_UP, n_outages = h->n_outages, n_drop_errors = h->n_drop_errors;
    pthread_mutex_unlock(&h->mu);
    each(arg, "up", up);
    each(arg, "outages", n_outages);
    each(arg, "drop_errors", n_drop_errors);
    h->remote->ops->status(h->remote, each, arg);
}

const struct ts_budget *tsd_hbase_account(const struct tsd_hbase *h)
{
    return &h->memory;
}
