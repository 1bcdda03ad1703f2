/*
 * compact_thread.c - the thread that merges files in the background, and what wakes it.
 *
 * Threads    the compact thread; wake: any
 * Not here   merging (compact.c)
 */
#include "base/log.h"
#include "storage/engine/engine_int.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void sto_compact__wake(struct sto_engine *e, bool full)
{
    pthread_mutex_lock(&e->bg_mu);
    e->compact_wanted = true;
    e->full_wanted |= full;
    pthread_cond_signal(&e->compact_cond);
    pthread_mutex_unlock(&e->bg_mu);
}

void sto_engine_compact_soon(struct sto_engine *e)
{
    sto_compact__wake(e, true);
}

void sto_engine_look_soon(struct sto_engine *e)
{
    atomic_store_explicit(&e->look_wanted, true, memory_order_relaxed); /* a merge that runs sees it, too */
    sto_compact__wake(e, false);
}

void *sto_compact__thread(void *arg)
{
    struct sto_engine *e = arg;
    static struct ts_log_limit limit;
    /* Merges run at lower priority than ingest and queries. Flushes do not, because they free memory. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
    pthread_mutex_lock(&e->bg_mu);
    while (!e->bg_stop) {
        if (!e->compact_wanted) {
            struct timespec until;
            clock_gettime(CLOCK_MONOTONIC, &until); /* as the condition does: see sto_engine_open */
            /* retention and joins of windows are checked each minute */
            until.tv_sec += 60;
            pthread_cond_timedwait(&e->compact_cond, &e->bg_mu, &until);
        }
        bool full = e->full_wanted;
        e->compact_wanted = e->full_wanted = false;
        if (e->bg_stop)
            break;
        pthread_mutex_unlock(&e->bg_mu);
        struct ts_error err = {0};
        if (e->owner.tidy)
            e->owner.tidy(e->owner.arg);
        int rc = full ? sto_engine_flush(e, &err) : 0;
        if (rc == 0)
            rc = sto_compact__all(e, full, &err);
        if (e->owner.forget)
            e->owner.forget(e->owner.arg, full);
        if (rc < 0 && rc != TS_ECANCELLED)
            ts_log_limited(&limit, TS_LOG_ERROR, "merging files failed and will be tried again: %s",
                           err.text);
        pthread_mutex_lock(&e->bg_mu);
    }
    pthread_mutex_unlock(&e->bg_mu);
    atomic_fetch_sub_explicit(&e->n_bg, 1, memory_order_release); /* pairs with stop_background */
    return NULL;
}
