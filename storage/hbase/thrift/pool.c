/*
 * pool.c - a stack of idle connections, and threads that wait for one.
 *
 * Threads    mu protects everything but the options; it is not held while anything is sent or connected
 */
#include "storage/hbase/thrift/pool.h"

#include "base/mem.h"
#include "base/time.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define LOOK_NS 100000000ll /* between looks at cancel */

struct sto_thrift_pool {
    struct sto_thrift_client_opts opts; /* of a new connection */
    unsigned max;                       /* cap */
    pthread_mutex_t mu;                 /* of what follows */
    pthread_cond_t returned;            /* signalled when one comes back */
    struct sto_thrift_client **idle;    /* stack of stats.n_idle; max of them fit */
    unsigned n_made;                    /* connections that exist */
    struct sto_thrift_pool_stats stats;
};

struct sto_thrift_pool *sto_thrift_pool_new(const struct sto_thrift_client_opts *opts,
                                            unsigned max_connections)
{
    struct sto_thrift_pool *p = ts_xcalloc(1, sizeof(*p));
    pthread_condattr_t attr;
    p->opts = *opts;
    p->max = max_connections ? max_connections : 1;
    p->idle = ts_xcalloc(p->max, sizeof(struct sto_thrift_client *));
    pthread_mutex_init(&p->mu, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->returned, &attr);
    pthread_condattr_destroy(&attr);
    return p;
}

void sto_thrift_pool_free(struct sto_thrift_pool *p)
{
    if (!p)
        return;
    for (unsigned i = 0; i < p->stats.n_idle; i++)
        sto_thrift_client_free(p->idle[i]);
    pthread_cond_destroy(&p->returned);
    pthread_mutex_destroy(&p->mu);
    ts_free(p->idle);
    ts_free(p);
}

/* Wait until one comes back, at most LOOK_NS. Under mu. */
static void wait_a_while(struct sto_thrift_pool *p, int64_t left_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + (left_ns < LOOK_NS ? left_ns : LOOK_NS);
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_cond_timedwait(&p->returned, &p->mu, &until);
}

/* An idle one, or a new one if there may be more. Under mu. */
static struct sto_thrift_client *pick(struct sto_thrift_pool *p)
{
    if (p->stats.n_idle)
        return p->idle[--p->stats.n_idle];
    if (p->n_made == p->max)
        return NULL;
    p->n_made++;
    struct sto_thrift_client *c = sto_thrift_client_new(&p->opts);
    p->opts.first_gateway++;
    return c;
}

int sto_thrift_pool_take(struct sto_thrift_pool *p, struct sto_thrift_wait wait, const char *key,
                         struct sto_thrift_client **out, struct ts_error *err)
{
    int rc = 0;
    pthread_mutex_lock(&p->mu);
    *out = pick(p);
    p->stats.n_waits += !*out;
    while (!*out && rc == 0) {
        int64_t left_ns = wait.until_ns - ts_clock_mono_ns();
        if (wait.cancel && atomic_load_explicit(wait.cancel, memory_order_relaxed))
            rc = ts_error_set(err, TS_ECANCELLED, "waiting for a connection to HBase was cancelled");
        else if (left_ns <= 0)
            rc = ts_error_set(err, TS_EBUSY, "all %u connections to HBase are in use%s%s%s", p->max,
                              key ? " (" : "", key ? key : "", key ? ")" : "");
        else
            wait_a_while(p, left_ns);
        if (rc == 0)
            *out = pick(p);
    }
    p->stats.n_taken += *out != NULL;
    p->stats.n_given_up += *out == NULL;
    pthread_mutex_unlock(&p->mu);
    return rc;
}

struct sto_thrift_client *sto_thrift_pool_replace(struct sto_thrift_pool *p)
{
    pthread_mutex_lock(&p->mu);
    struct sto_thrift_client *c = sto_thrift_client_new(&p->opts);
    p->opts.first_gateway++;
    pthread_mutex_unlock(&p->mu);
    return c;
}

void sto_thrift_pool_return(struct sto_thrift_pool *p, struct sto_thrift_client *c)
{
    if (sto_thrift_client_in_flight(c))
        sto_thrift_client_close(c);
    sto_thrift_client_trim(c);
    pthread_mutex_lock(&p->mu);
    p->idle[p->stats.n_idle++] = c;
    p->stats.n_taken--;
    pthread_cond_signal(&p->returned);
    pthread_mutex_unlock(&p->mu);
}

struct sto_thrift_pool_stats sto_thrift_pool_stats(struct sto_thrift_pool *p)
{
    pthread_mutex_lock(&p->mu);
    struct sto_thrift_pool_stats s = p->stats;
    pthread_mutex_unlock(&p->mu);
    return s;
}
