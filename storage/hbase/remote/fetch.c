/*
 * fetch.c - reads points of the data table: limits, readers and their threads.
 *
 * One reader works in the thread of the caller. Several have threads of their own, while that of the caller looks at its cancel flag. A reader takes the next
 * part as long as there are any; one that gets no connection before everything has been taken is not missed, so that fetches never wait for
 * each other with connections in their hands.
 */
#include "storage/hbase/remote/fetch_int.h"

#include "base/mem.h"
#include "base/thread.h"
#include "base/time.h"

#define MOST_READERS     64
#define ROWS_OF_A_READER 64             /* computed keys for which another reader begins */
#define LOOK_NS          (20 * 1000000) /* between looks at cancel */
#define DEFAULT_CALL_MS  60000

/* --- one reader --- */

static bool take_part(struct sto_hbase__fetch *x, struct sto_hbase__part *out)
{
    pthread_mutex_lock(&x->mu);
    bool is = x->next < x->n_parts && x->rc == 0 && !sto_hbase__fetch_found(x);
    if (is)
        *out = x->parts[x->next++];
    if (x->next >= x->n_parts)
        atomic_store_explicit(&x->exhausted, true, memory_order_relaxed);
    pthread_mutex_unlock(&x->mu);
    return is;
}

static int read_all(struct sto_hbase__reader *r, struct ts_error *err)
{
    struct sto_hbase__part part;
    if (!r->x->n_parts)
        return sto_hbase__read_gets(r, err);
    while (take_part(r->x, &part))
        TS_TRY(sto_hbase__scan_part(r, &part, err));
    return 0;
}

void sto_hbase__fetch_fail(struct sto_hbase__fetch *x, int rc, const struct ts_error *err)
{
    pthread_mutex_lock(&x->mu);
    if (x->rc == 0 && rc < 0 && !sto_hbase__fetch_found(x)) {
        x->rc = rc;
        x->err = *err;
        atomic_store_explicit(&x->stop, true, memory_order_relaxed);
        atomic_store_explicit(&x->exhausted, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&x->mu);
}

static void *reader_main(void *arg)
{
    struct sto_hbase__reader *r = arg;
    struct sto_hbase__fetch *x = r->x;
    struct sto_remote_call until_exhausted = x->limits;
    struct ts_error err = {0};
    until_exhausted.cancel = &x->exhausted;
    int rc = sto_hbase_begin(x->h->access, &until_exhausted, &r->s, &err);
    if (rc == 0) {
        r->s.wait.cancel = &x->stop;
        rc = read_all(r, &err);
        sto_hbase_end(&r->s);
        sto_hbase__fetch_fail(x, rc, &err);
    } else if (!atomic_load_explicit(&x->exhausted, memory_order_relaxed)) {
        sto_hbase__fetch_fail(x, rc, &err);
    }
    pthread_mutex_lock(&x->mu);
    x->n_running--;
    pthread_cond_signal(&x->ended);
    pthread_mutex_unlock(&x->mu);
    return NULL;
}

/* --- several --- */

static bool is_cancelled(const struct sto_remote_call *call)
{
    return call->cancel && atomic_load_explicit(call->cancel, memory_order_relaxed);
}

/* Until all readers have ended. */
static void watch(struct sto_hbase__fetch *x)
{
    struct ts_error err = {0};
    pthread_mutex_lock(&x->mu);
    while (x->n_running) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&x->ended, &x->mu, &until);
        if (!is_cancelled(&x->limits) || x->rc < 0)
            continue;
        int rc = ts_error_set(&err, TS_ECANCELLED, "reading rows from HBase was cancelled");
        pthread_mutex_unlock(&x->mu);
        sto_hbase__fetch_fail(x, rc, &err);
        pthread_mutex_lock(&x->mu);
    }
    pthread_mutex_unlock(&x->mu);
}

static void read_in_threads(struct sto_hbase__fetch *x, unsigned n)
{
    struct sto_hbase__reader *readers = ts_xcalloc(n, sizeof *readers);
    unsigned n_started = 0;
    for (; n_started < n; n_started++) {
        struct sto_hbase__reader *r = &readers[n_started];
        sto_hbase__reader_init(r, x);
        pthread_mutex_lock(&x->mu);
        x->n_running++;
        pthread_mutex_unlock(&x->mu);
        if (ts_thread_start(&r->thread, &(struct ts_thread_opts){
                                            .name = "hbase-fetch", .fn = reader_main, .arg = r}) == 0)
            continue;
        pthread_mutex_lock(&x->mu);
        x->n_running--;
        pthread_mutex_unlock(&x->mu);
        sto_hbase__reader_release(r);
        break;
    }
    if (n_started == 0)
        sto_hbase__fetch_fail(x, TS_EBUSY,
                              &(struct ts_error){.code = TS_EBUSY, .text = "no thread can be started"});
    watch(x);
    for (unsigned i = 0; i < n_started; i++) {
        pthread_join(readers[i].thread, NULL);
        sto_hbase__reader_release(&readers[i]);
    }
    ts_free(readers);
}

static void read_here(struct sto_hbase__fetch *x, struct sto_hbase_session *s)
{
    struct sto_hbase__reader r;
    struct ts_error err = {0};
    sto_hbase__reader_init(&r, x);
    r.s = *s;
    sto_hbase__fetch_fail(x, read_all(&r, &err), &err);
    *s = r.s; /* it may have another connection */
    sto_hbase__reader_release(&r);
}

/* --- the call --- */

static unsigned count_readers(const struct sto_hbase__fetch *x)
{
    uint64_t rows = x->n_gets * (uint64_t)sto_hbase__count_rows(x);
    uint64_t useful = x->n_parts ? x->n_parts : (rows + ROWS_OF_A_READER - 1) / ROWS_OF_A_READER;
    unsigned most = x->h->opts.scan_connections ? x->h->opts.scan_connections : 4;
    most = most < MOST_READERS ? most : MOST_READERS;
    return useful < most ? (unsigned)useful : most;
}

static void init(struct sto_hbase__fetch *x, const struct sto_remote_call *call)
{
    pthread_condattr_t attr;
    int64_t call_ms = x->h->opts.access.call_ms ? x->h->opts.access.call_ms : DEFAULT_CALL_MS;
    if (call)
        x->limits = *call;
    if (!x->limits.deadline_ns)
        x->limits.deadline_ns = ts_clock_mono_ns() + call_ms * 1000000;
    x->wanted.memory = x->reported.memory = x->limits.memory;
    ts_buf_init(&x->filter, 0);
    x->filter.budget = x->limits.memory;
    ts_buf_init(&x->cell_filter, 0);
    x->cell_filter.budget = x->limits.memory;
    ts_buf_init(&x->misplaced, 0);
    x->misplaced.budget = x->limits.memory;
    pthread_mutex_init(&x->mu, NULL);
    pthread_mutex_init(&x->deliver_mu, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&x->ended, &attr);
    pthread_condattr_destroy(&attr);
}

int sto_hbase__fetch(struct sto_remote *r, const struct sto_fetch *f, const struct sto_remote_call *call,
                     sto_fetch_row_fn each, void *arg, struct ts_error *err)
{
    struct sto_hbase__fetch x = {.h = sto_hbase_of(r), .f = f, .each = each, .arg = arg};
    struct sto_hbase_session s;
    struct ts_error why = {0};
    init(&x, call);
    int rc = sto_hbase_begin(x.h->access, &x.limits, &s, &why);
    if (rc == 0) {
        rc = sto_hbase__fetch_prepare(&x, &s, &why);
        unsigned n = rc == 1 ? count_readers(&x) : 0;
        if (n == 1)
            read_here(&x, &s);
        sto_hbase_end(&s);
        if (n > 1)
            read_in_threads(&x, n);
        if (x.rc == 0 && x.misplaced.n)
            sto_hbase__fetch_fail(&x, sto_hbase__misplaced_read(&x, &why), &why);
    }
    if (rc == 1) {
        rc = x.rc;
        why = x.err;
        if (rc == 0)
            sto_hbase__note_density(&x);
    }
    sto_hbase__fetch_release(&x);
    pthread_mutex_destroy(&x.mu);
    pthread_mutex_destroy(&x.deliver_mu);
    pthread_cond_destroy(&x.ended);
    return rc < 0 ? ts_error_set(err, rc, "%s", why.text) : 0;
}

void sto_hbase__fetch_status(struct sto_hbase *h, void (*each)(void *arg, const char *name, uint64_t value),
                             void *arg)
{
    const struct {
        const char *name;
        const _Atomic uint64_t *value;
    } counters[] = {
        {"fetched_rows", &h->fetched.n_rows},
        {"fetched_cells", &h->fetched.n_cells},
        {"fetched_points", &h->fetched.n_points},
        {"fetched_damaged_cells", &h->fetched.n_damaged},
        {"fetched_contradicting_points", &h->fetched.n_contradicting},
        {"fetched_histograms", &h->fetched.n_histograms},
        {"fetched_odd_keys", &h->fetched.n_odd_keys},
        {"fetched_misplaced_rows", &h->fetched.n_misplaced},
        {"fetched_rows_without_names", &h->fetched.n_unnamed},
        {"scanners_resumed", &h->fetched.n_resumed},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        each(arg, counters[i].name, atomic_load_explicit(counters[i].value, memory_order_relaxed));
}
