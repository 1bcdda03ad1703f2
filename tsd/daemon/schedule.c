/*
 * schedule.c - a queue in front of a pool of threads.
 *
 * A thread that ends an entry takes the next one itself, so the pool's own queue holds no more tasks than it has threads.
 *
 * Threads    see schedule.h
 * Invariant  n_running <= n_threads; an address is in the list while entries of it run or wait
 */
#include "tsd/daemon/schedule.h"

#include "base/mem.h"
#include "base/pool.h"

#include <pthread.h>

#define SCHEDULE_LOCAL_FACTOR 4

/* A client address with entries. */
struct schedule_address {
    struct schedule_address *next; /* in the list */
    unsigned n_running, n_all;     /* entries; n_all counts waiting ones too */
    bool local;                    /* on this machine */
    uint64_t key;                  /* tsd_peer_key */
};

struct schedule_entry {
    struct schedule_entry *next; /* in the queue */
    struct tsd_schedule *owner;
    struct schedule_address *address;
    void (*fn)(void *arg);
    void *arg;
};

struct tsd_schedule {
    struct tsd_schedule_limits limits; /* constant */
    struct ts_pool *pool;              /* constant */
    pthread_mutex_t mu;                /* guards what follows */
    struct schedule_entry *first, **end;
    struct schedule_address *addresses;
    struct tsd_schedule_counts counts;
};

struct tsd_schedule *tsd_schedule_new(const char *name, const struct tsd_schedule_limits *limits)
{
    struct tsd_schedule *s = ts_xcalloc(1, sizeof(*s));
    s->limits = *limits;
    s->end = &s->first;
    pthread_mutex_init(&s->mu, NULL);
    s->pool = ts_pool_new_nice(limits->n_threads, name, limits->nice);
    return s;
}

void tsd_schedule_free(struct tsd_schedule *s)
{
    if (!s)
        return;
    ts_pool_free(s->pool);
    pthread_mutex_destroy(&s->mu);
    ts_free(s);
}

/* --- under the mutex --- */

static struct schedule_address *schedule_address(struct tsd_schedule *s, uint64_t key, bool local)
{
    for (struct schedule_address *a = s->addresses; a; a = a->next)
        if (a->key == key)
            return a;
    struct schedule_address *a = ts_xcalloc(1, sizeof(*a));
    a->key = key;
    a->local = local;
    a->next = s->addresses;
    s->addresses = a;
    return a;
}

static void schedule_forget(struct tsd_schedule *s, struct schedule_address *address)
{
    struct schedule_address **at = &s->addresses;
    if (address->n_all)
        return;
    while (*at != address)
        at = &(*at)->next;
    *at = address->next;
    ts_free(address);
}

/* May another entry of an address begin? */
static bool schedule_may_run(const struct tsd_schedule *s, const struct schedule_address *a)
{
    unsigned share = s->limits.n_threads * 3 / 4;
    return a->local || a->n_running < (share ? share : 1);
}

/* The entry at a place of the queue leaves it. */
static struct schedule_entry *schedule_unlink(struct tsd_schedule *s, struct schedule_entry **at)
{
    struct schedule_entry *e = *at;
    *at = e->next;
    if (!e->next)
        s->end = at;
    s->counts.n_waiting--;
    return e;
}

/* The next entry that may run leaves the queue; NULL: none. */
static struct schedule_entry *schedule_take(struct tsd_schedule *s)
{
    struct schedule_entry **best = NULL;
    for (struct schedule_entry **at = &s->first; *at; at = &(*at)->next)
        if (schedule_may_run(s, (*at)->address) &&
            (!best || (*at)->address->n_running < (*best)->address->n_running))
            best = at;
    if (!best)
        return NULL;
    struct schedule_entry *e = schedule_unlink(s, best);
    s->counts.n_running++;
    e->address->n_running++;
    return e;
}

static int schedule_refuse(struct tsd_schedule *s, const struct schedule_address *a, struct ts_error *err)
{
    unsigned most = s->limits.max_per_address * (a->local ? SCHEDULE_LOCAL_FACTOR : 1);
    unsigned queue = s->limits.max_waiting - s->limits.max_waiting / 4;
    bool full = s->counts.n_waiting >= s->limits.max_waiting;
    if (a->n_all >= most || (!full && a->n_all - a->n_running >= queue)) {
        s->counts.n_address++;
        return ts_error_set(err, TS_ELIMIT,
                            "Too many requests of one client address: %u run or wait (query_max_per_address)",
                            a->n_all);
    }
    if (full) {
        s->counts.n_full++;
        return ts_error_set(err, TS_EBUSY, "Too many requests: %u run and %u wait (query_max_waiting)",
                            s->counts.n_running, s->counts.n_waiting);
    }
    return 0;
}

/* --- threads --- */

/* Runs entries until none may run. */
static void schedule_thread(void *arg)
{
    struct schedule_entry *e = arg;
    struct tsd_schedule *s = e->owner;
    while (e) {
        e->fn(e->arg);
        pthread_mutex_lock(&s->mu);
        s->counts.n_running--;
        e->address->n_running--;
        e->address->n_all--;
        schedule_forget(s, e->address);
        ts_free(e);
        e = schedule_take(s);
        pthread_mutex_unlock(&s->mu);
    }
}

int tsd_schedule_add(struct tsd_schedule *s, uint64_t address, bool local, void (*fn)(void *arg), void *arg,
                     struct ts_error *err)
{
    struct schedule_entry *e = NULL;
    pthread_mutex_lock(&s->mu);
    struct schedule_address *a = schedule_address(s, address, local);
    int rc = schedule_refuse(s, a, err);
    if (rc == 0) {
        e = ts_xcalloc(1, sizeof(*e));
        *e = (struct schedule_entry){.owner = s, .address = a, .fn = fn, .arg = arg};
        a->n_all++;
        *s->end = e;
        s->end = &e->next;
        s->counts.n_waiting++;
        e = s->counts.n_running < s->limits.n_threads ? schedule_take(s) : NULL;
    }
    schedule_forget(s, a);
    pthread_mutex_unlock(&s->mu);
    if (e)
        ts_pool_run(s->pool, TS_PRIO_HIGH, schedule_thread, e);
    return rc;
}

bool tsd_schedule_remove(struct tsd_schedule *s, const void *arg)
{
    struct schedule_entry *e = NULL;
    pthread_mutex_lock(&s->mu);
    struct schedule_entry **at = &s->first;
    while (*at && (*at)->arg != arg)
        at = &(*at)->next;
    if (*at) {
        e = schedule_unlink(s, at);
        e->address->n_all--;
        schedule_forget(s, e->address);
    }
    pthread_mutex_unlock(&s->mu);
    ts_free(e);
    return e != NULL;
}

void tsd_schedule_count(struct tsd_schedule *s, struct tsd_schedule_counts *out)
{
    pthread_mutex_lock(&s->mu);
    *out = s->counts;
    pthread_mutex_unlock(&s->mu);
}
