/*
 * shards.c - see shards.h.
 */
#include "storage/engine/shards.h"

#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/once_engine.h"
#include "storage/readonly.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES 32     /* longest DIR/SHARDS */
#define RETRY_MS   10000  /* after something has kept the number from changing, */
#define PAUSE_MS   600000 /* at most; each time that the disk is too slow doubles it */

static bool is_number_of_shards(unsigned long n)
{
    return n >= 1 && n <= STO_SHARDS_MOST && (n & (n - 1)) == 0;
}

int sto_shards_read(const struct ts_fs *fs, const char *dir, uint32_t *out_n, struct ts_error *err)
{
    char *path = ts_fs_join(dir, STO_SHARDS_NAME), *p = NULL, text[FILE_BYTES + 1] = "";
    size_t n = 0;
    int rc = ts_fs_read_small(fs, path, FILE_BYTES, &p, &n, err);
    if (rc == 1) {
        memcpy(text, p, n);
        size_t digits = strspn(text, "0123456789");
        unsigned long wanted = digits && digits < 5 ? strtoul(text, NULL, 10) : 0;
        if (!is_number_of_shards(wanted) || strcmp(text + digits, "\n") != 0)
            rc = ts_error_set(err, TS_ECORRUPT, "%s is damaged: it must be a power of two up to %u", path,
                              STO_SHARDS_MOST);
        else
            *out_n = (uint32_t)wanted;
    }
    ts_free(p);
    ts_free(path);
    return rc;
}

void sto_shards__open(struct sto_engine *e)
{
    struct ts_error why = {0};
    uint32_t n = e->n_shards;
    if (sto_shards_read(e->fs, e->dir, &n, &why) < 0)
        ts_log(TS_LOG_WARN, "the number of shards stays as it is: %s", why.text);
    atomic_store_explicit(&e->n_shards_wanted, n, memory_order_relaxed);
}

struct sto_shards sto_engine_shards(const struct sto_engine *e)
{
    struct sto_shards n = {.n_wanted = atomic_load_explicit(&e->n_shards_wanted, memory_order_relaxed)};
    n.n_now = sto_engine__n_shards(e);
    n.waits = n.n_now == n.n_wanted ? NULL : atomic_load_explicit(&e->shards_wait, memory_order_relaxed);
    return n;
}

void sto_shards__stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                       void *arg)
{
    struct sto_shards shards = sto_engine_shards(e);
    each(arg, "shards", shards.n_now);
    each(arg, "shards_wanted", shards.n_wanted);
    each(arg, "shards_changes", atomic_load_explicit(&e->n_shards_changes, memory_order_relaxed));
    each(arg, "shards_stop_ms", atomic_load_explicit(&e->shards_stop_ms, memory_order_relaxed));
}

int sto_engine_set_shards(struct sto_engine *e, unsigned n_shards, struct ts_error *err)
{
    char text[FILE_BYTES];
    if (e->opts.read_only)
        return sto_read_only_refuse(&e->owner.read_only_why, err);
    if (!is_number_of_shards(n_shards))
        return ts_error_set(err, TS_EINVAL, "%u shards: a power of two up to %u is needed", n_shards,
                            STO_SHARDS_MOST);
    if (atomic_load_explicit(&e->shards_at_work, memory_order_relaxed))
        return ts_error_set(err, TS_EBUSY, "the number of shards is being changed: try again");
    char *path = ts_fs_join(e->dir, STO_SHARDS_NAME);
    int n = snprintf(text, sizeof text, "%u\n", n_shards);
    pthread_mutex_lock(&e->files_mu);
    int rc = ts_fs_write_atomic(e->fs, path, text, (size_t)n, err);
    if (rc == 0)
        atomic_store_explicit(&e->n_shards_wanted, n_shards, memory_order_relaxed);
    pthread_mutex_unlock(&e->files_mu);
    ts_free(path);
    if (rc < 0)
        return rc;
    atomic_store_explicit(&e->shards_wait, NULL, memory_order_relaxed);
    atomic_store_explicit(&e->shards_look, true, memory_order_relaxed);
    pthread_mutex_lock(&e->bg_mu);
    pthread_cond_signal(&e->flush_cond);
    pthread_mutex_unlock(&e->bg_mu);
    return 0;
}

/* --- the change --- */

static const char wait_repeat[] =
    "clients that number their increments may still repeat some, which fewer shards "
    "could not tell apart",
                  wait_refused[] = "increments were refused, and their client has to repeat them first",
                  wait_room[] = "counter_ids_bytes is too low for that many copies of the ids of clients",
                  wait_memory[] = "no memory for the ids of clients",
                  wait_thread[] = "a thread that puts points does not answer",
                  wait_slow[] = "the disk is too slow: puts would wait for more than a second",
                  wait_space[] = "points wait for space or memory, or bulk files are handed over",
                  wait_error[] = "an error, which is in the log";

/* A change at work. */
struct change {
    struct sto_engine *e;
    uint32_t was, wanted;
    bool open;              /* the store is in use: clients go on with their streams */
    struct sto_once **made; /* tables of ids for the wanted number; owned */
    struct ts_buf ids;      /* the same as the manifest has them */
    const char *why;        /* why it has to wait; static */
    bool in_doubt;          /* the manifest may have the wanted number */
    int64_t
        began_again_ns; /* monotonic time at which they were stopped for the second time; 0 = they were not */
    int64_t stopped_ms; /* for which writers were stopped */
};

static int waits(struct change *c, const char *why, struct ts_error *err)
{
    c->why = why;
    return ts_error_set(err, TS_EBUSY, "%s", why);
}

/* Make the tables of ids. No owner uses the present ones. TS_EBUSY: it has to wait. */
static int make_tables(struct change *c, struct ts_error *err)
{
    struct sto_engine *e = c->e;
    size_t fit = sto_once_fit(e->once_budget.limit_bytes / c->wanted);
    struct sto_once_limits limits = sto_once__limits(e, c->wanted);
    struct sto_once_time now = sto_once__now(&e->owners[0]);
    for (uint32_t i = 0; i < c->was; i++)
        if (c->wanted > c->was && sto_once_n(e->once[i]) > fit)
            return waits(c, wait_room, err);
    if (c->open && sto_once_all_wait(e->once, c->was))
        return waits(c, wait_refused, err);
    int rc = sto_once_all_change(e->once, c->was, c->wanted, &limits, &c->made);
    if (rc)
        return waits(c, rc == TS_EBUSY ? wait_repeat : wait_memory, err);
    sto_once_all_encode(c->made, c->wanted, 0, 1, &now, &c->ids);
    return 0;
}

/* The manifest has a number and its tables from now on. Errors of sto_manifest_set_shards. */
static int write_manifest(struct sto_engine *e, const struct sto_manifest_shards *to, struct ts_error *err)
{
    pthread_mutex_lock(&e->files_mu);
    int rc = sto_manifest_set_shards(e->manifest, to, err);
    pthread_mutex_unlock(&e->files_mu);
    return rc;
}

/* The copy of the manifest, which the change has left behind. */
static void renew_copy(struct sto_engine *e)
{
    pthread_mutex_lock(&e->files_mu);
    sto_manifest_renew_copy(e->manifest);
    pthread_mutex_unlock(&e->files_mu);
}

/* The store has the number that was wanted. */
static void drop_wish(struct sto_engine *e, uint32_t n_shards)
{
    char *path = ts_fs_join(e->dir, STO_SHARDS_NAME);
    pthread_mutex_lock(&e->files_mu);
    if (atomic_load_explicit(&e->n_shards_wanted, memory_order_relaxed) == n_shards)
        (void)e->fs->unlink(e->fs, path, NULL); /* if it stays, it says what the manifest says */
    pthread_mutex_unlock(&e->files_mu);
    ts_free(path);
}

static struct change change_of(struct sto_engine *e, bool open)
{
    struct change c = {.e = e,
                       .was = sto_engine__n_shards(e),
                       .wanted = atomic_load_explicit(&e->n_shards_wanted, memory_order_relaxed),
                       .open = open};
    ts_buf_init(&c.ids, 0);
    return c;
}

static void release(struct change *c)
{
    sto_once_all_free(c->made, c->wanted);
    c->made = NULL;
    ts_buf_release(&c->ids);
}

static void report(const struct change *c)
{
    if (c->why && atomic_exchange_explicit(&c->e->shards_wait, c->why, memory_order_relaxed) != c->why)
        ts_log(TS_LOG_WARN, "the store keeps %u shards for now, %u %s wanted: %s", c->was, c->wanted,
               c->wanted == 1 ? "is" : "are", c->why);
}

int sto_shards__close(struct sto_engine *e, struct ts_error *err)
{
    struct change c = change_of(e, false);
    struct ts_error why = {0};
    if (c.wanted == c.was || !e->once)
        return 0;
    int rc = make_tables(&c, &why);
    rc = rc == 0 ? write_manifest(e, &(struct sto_manifest_shards){.n = c.wanted, .once = ts_buf_get(&c.ids)},
                                  err)
                 : 0;
    report(&c);
    if (rc == 0 && !c.why) {
        drop_wish(e, c.wanted);
        ts_log(TS_LOG_INFO, "the store has %u shard%s instead of %u from its next start on", c.wanted,
               ts_plural(c.wanted), c.was);
    }
    release(&c);
    return rc;
}

/* --- while the store is in use --- */

/* The tables and owners of the wanted number take the place of the former ones. */
static void install(struct change *c)
{
    struct sto_engine *e = c->e;
    struct sto_once **former = e->once;
    e->once = c->made;
    c->made = NULL;
    atomic_store_explicit(&e->n_shards, c->wanted, memory_order_relaxed);
    sto_flush__next_generation(e); /* each owner gets a memstore and a part of the log for its new shards */
    sto_once_all_free(former, c->was);
    atomic_fetch_add_explicit(&e->n_shards_changes, 1, memory_order_relaxed);
}

int sto_shards__settle(struct sto_engine *e, struct ts_error *err)
{
    if (!atomic_load_explicit(&e->shards_doubt, memory_order_relaxed))
        return 0;
    /* the tables as of what is in files; no part of a sequence was put since */
    const struct sto_manifest_shards to = {.n = sto_engine__n_shards(e),
                                           .once = {e->once_frozen, e->once_frozen_bytes}};
    TS_TRY(write_manifest(e, &to, err));
    atomic_store_explicit(&e->shards_doubt, false, memory_order_relaxed);
    return 0;
}

/* Make the tables, which wait in memory until everything is in files. */
static int begin(struct change *c, struct ts_error *err)
{
    if (!sto_stop__hold(c->e))
        return waits(c, wait_slow, err);
    int rc = make_tables(c, err);
    sto_stop__let(c->e);
    return rc;
}

/* The new manifest is on disk but for its name. From here on the store may have the wanted number after a crash, unless writers have gone on and may have put parts. */
static bool may_replace(void *arg)
{
    struct change *c = arg;
    if (!sto_stop__hold(c->e))
        return false;
    atomic_store_explicit(&c->e->shards_doubt, true, memory_order_relaxed);
    c->in_doubt = true;
    sto_stop__let(c->e);
    return true;
}

/* One edit of the manifest changes the number and the tables. If the sync of its folder takes too long, owners go on with the former number, and the edit is undone. */
static int commit(struct change *c, struct ts_error *err)
{
    struct sto_engine *e = c->e;
    if (!sto_stop__hold(e))
        return waits(c, wait_slow, err);
    sto_stop__let(e);
    int rc = write_manifest(e,
                            &(struct sto_manifest_shards){
                                .n = c->wanted, .once = ts_buf_get(&c->ids), .may = may_replace, .arg = c},
                            err);
    if (!c->in_doubt)
        return rc == TS_EBUSY ? waits(c, wait_slow, err) : rc;
    if (rc == 0 && sto_stop__hold(e)) {
        install(c);
        atomic_store_explicit(&e->shards_doubt, false, memory_order_relaxed);
        return 0;
    }
    if (rc == 0)
        return (rc = sto_shards__settle(e, err)) < 0 ? rc : waits(c, wait_slow, err);
    if (rc != TS_EIO) /* it has the former number; with TS_EIO one or the other, and takes nothing more */
        atomic_store_explicit(&e->shards_doubt, false, memory_order_relaxed);
    return rc;
}

/* Change it while all writers are stopped and owners have handled all batches. */
static int change_stopped(struct change *c, uint64_t *out_gen, struct ts_error *err)
{
    TS_TRY(begin(c, err));
    int rc = sto_flush__stopped(c->e, out_gen, err);
    if (rc < 0)
        return waits(c, rc == TS_EBUSY || sto_engine__may_wait(rc) ? wait_space : wait_error, err);
    sto_flush__ahead(c->e);
    rc = commit(c, err);
    if (rc < 0 && !c->why)
        c->why = wait_error;
    return rc;
}

/* Writers have been stopped since then, or until they went on by themselves. */
static int64_t stop_ms(const struct sto_engine *e, int64_t began_ns)
{
    int64_t ms = (ts_clock_mono_ns() - began_ns) / 1000000;
    return ms < e->stop.times.most_ms ? ms : e->stop.times.most_ms;
}

/* check: only find out whether it has to wait. */
static int stop_and_change(struct change *c, bool check, struct ts_error *err)
{
    struct sto_engine *e = c->e;
    uint64_t gen = 0;
    int64_t began_ns = INT64_MAX; /* if none has stopped */
    pthread_mutex_lock(&e->flush_mu);
    int rc = sto_stop__begin(e, &began_ns, err);
    if (rc < 0) {
        if (!atomic_load_explicit(&e->stop_compact,
                                  memory_order_relaxed)) /* else the store is closing, and changes then */
            c->why = atomic_load_explicit(&e->n_holding, memory_order_relaxed) ? wait_space : wait_thread;
    } else {
        rc = check ? begin(c, err) : change_stopped(c, &gen, err);
        if (rc == TS_EIO) /* the manifest has either number: the logs must get nothing that depends on it */
            sto_engine__refuse(e, rc, err);
        sto_stop__end(e);
        if (!check)
            atomic_store_explicit(&e->shards_stop_ms, (uint64_t)stop_ms(e, began_ns), memory_order_relaxed);
    }
    c->stopped_ms += began_ns == INT64_MAX ? 0 : stop_ms(e, began_ns);
    sto_flush__end_ahead(e);
    if (c->in_doubt)
        renew_copy(e);
    pthread_mutex_unlock(&e->flush_mu);
    sto_flush__drop_logs(e, gen);
    release(c);
    return rc;
}

/* Most of what is in memory goes to files before the stop, and what came meanwhile once more. That second flush shows how long the one within the stop would take. */
static int flush_before(struct change *c, struct ts_error *err)
{
    int rc = 0;
    int64_t took_ms = 0;
    for (int i = 0; i < 2 && rc == 0; i++) {
        int64_t began_ns = ts_clock_mono_ns();
        if ((rc = sto_flush__all(c->e, err)) < 0)
            c->why = sto_engine__may_wait(rc) ? wait_space : wait_error;
        took_ms = (ts_clock_mono_ns() - began_ns) / 1000000;
    }
    return rc == 0 && took_ms > c->e->stop.times.most_ms / 2 && !c->e->opts.pumped ? waits(c, wait_slow, err)
                                                                                   : rc;
}

/* When the next change, or the next try, may come. */
static void space_out(const struct change *c, bool changed)
{
    struct sto_engine *e = c->e;
    int64_t now_ms = ts_clock_mono_ns() / 1000000;
    bool slow = c->why == wait_slow;
    int64_t twice = e->shards_pause_ms < PAUSE_MS / 2 ? 2 * e->shards_pause_ms : PAUSE_MS;
    e->shards_pause_ms = slow && e->shards_pause_ms ? twice : RETRY_MS;
    e->shards_next_ms = now_ms + (e->stop.times.parts - 1) * c->stopped_ms;
    if (!changed)
        e->shards_again_ms = now_ms + e->shards_pause_ms;
}

/* 0, also if it has to wait; errors of flushes and of the manifest. */
static int try_change(struct sto_engine *e, struct ts_error *err)
{
    struct change c = change_of(e, true);
    atomic_store_explicit(&e->shards_at_work, true, memory_order_relaxed);
    int rc = stop_and_change(&c, true, err);
    if (rc == 0)
        rc = flush_before(&c, err);
    if (rc == 0)
        rc = stop_and_change(&c, false, err);
    if (rc < 0 && c.why == wait_error)
        ts_log(TS_LOG_ERROR, "the number of shards cannot be changed: %s", err->text);
    sto_engine__fatal(e, rc, err);
    report(&c);
    if (rc == 0) {
        drop_wish(e, c.wanted);
        ts_log(TS_LOG_INFO, "the store has %u shard%s instead of %u; puts waited for %llu ms", c.wanted,
               ts_plural(c.wanted), c.was,
               (unsigned long long)atomic_load_explicit(&e->shards_stop_ms, memory_order_relaxed));
    }
    space_out(&c, rc == 0);
    atomic_store_explicit(&e->shards_at_work, false, memory_order_relaxed);
    return rc == TS_EBUSY ? 0 : rc;
}

static bool is_wanted(const struct sto_engine *e)
{
    return !e->opts.read_only && e->once &&
           atomic_load_explicit(&e->n_shards_wanted, memory_order_relaxed) != sto_engine__n_shards(e);
}

void sto_shards__tick(struct sto_engine *e)
{
    int64_t now_ms = ts_clock_mono_ns() / 1000000;
    struct ts_error err = {0};
    if (atomic_exchange_explicit(&e->shards_look, false, memory_order_relaxed))
        e->shards_again_ms = now_ms;
    if (is_wanted(e) && now_ms >= e->shards_again_ms && now_ms >= e->shards_next_ms)
        (void)try_change(e, &err);
}

int sto_engine_pump_shards(struct sto_engine *e, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = is_wanted(e) ? try_change(e, &why) : 0;
    if (rc < 0 && err)
        *err = why;
    return rc;
}
