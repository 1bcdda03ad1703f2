/*
 * ship.c - sends accepted points to the remote store, hour by hour.
 *
 * Threads    ship.h
 * Not here   hours and their marks (ship_hours.c), sending rows (ship_rows.c, shipment.c), removing shipped files (ship_drop.c), merges (ship_pick.c)
 */
#include "storage/engine/ship.h"

#include "base/log.h"
#include "base/thread.h"
#include "base/time.h"
#include "storage/engine/ship_int.h"

#include <stdlib.h>
#include <string.h>

#define EVERY_MS     10000      /* default of ship_every_ms */
#define PAUSE_MAX_MS 60000      /* longest pause after failures */
#define ADDITIONS    (1u << 20) /* default of ship_additions: 16 MiB */
#define SENT_RANGES  1024       /* ranges of hours that were sent, in the manifest */

/* --- marks --- */

/* Make an edit durable. */
static int edit_manifest(struct sto_engine *e, const struct sto_manifest_edit *edit, struct ts_error *err)
{
    pthread_mutex_lock(&e->files_mu);
    int rc = sto_manifest_apply(e->manifest, edit, err);
    pthread_mutex_unlock(&e->files_mu);
    sto_engine__fatal(e, rc, err);
    return rc;
}

int sto_ship__set_marks(struct sto_ship__pass *p, const struct sto_manifest_edit *edit, struct ts_error *err)
{
    TS_TRY(edit_manifest(p->e, edit, err));
    sto_version__mark(p->e, sto_marks_new(edit->marks));
    return sto_version__edit(p->e, NULL, 0, NULL, 0, 0, NULL, 0);
}

/* --- hours that were sent --- */

/* Write down, before anything is sent, that something of these hours was: whatever becomes of this pass and of the
 * process, nothing of them counts as fresh in another life. */
static int note_sent(struct sto_ship__pass *p, struct ts_error *err)
{
    struct sto_engine *e = p->e;
    struct sto_mark_list sent;
    bool any = false;
    pthread_mutex_lock(&e->files_mu);
    bool copied = sto_mark_list_copy(&sto_manifest_state(e->manifest)->sent, &sent);
    pthread_mutex_unlock(&e->files_mu);
    if (!copied)
        return ts_error_set(err, TS_ENOMEM, "no memory for the hours that were sent to the remote store");
    for (size_t i = 0; i < p->n_order; i++) {
        struct sto_ship__hour *h = &p->s->hours.list[p->order[i]];
        if (sto_mark_of(&sent, h->hour))
            continue;
        h->knows = true;
        h->end = h->before = 0;
        h->gen = 0;
        sto_mark_list_replace(&sent, sto_mark_list_with(&sent, h->hour, h->hour, 1));
        any = true;
    }
    sto_mark_list_coarsen(&sent, SENT_RANGES);
    int rc = any ? edit_manifest(e, &(struct sto_manifest_edit){.sent = &sent}, err) : 0;
    ts_free(sent.marks);
    return rc;
}

/* A manifest that was made anew has lost its marks. What is in files then counts as shipped, since newer points may be in the remote store
 * alone, which must not be hidden or deleted; and it is sent again. */
static int replace_lost_marks(struct sto_ship__pass *p, struct ts_error *err)
{
    struct sto_mark all = {INT32_MIN, INT32_MAX, 1}, marks = {INT32_MIN, INT32_MAX, p->target};
    const struct sto_mark_list hours = {&all, 1}, list = {&marks, 1};
    pthread_mutex_lock(&p->e->files_mu);
    bool lost =
        p->target && !p->marks.n && sto_mark_list_same(&sto_manifest_state(p->e->manifest)->sent, &hours);
    pthread_mutex_unlock(&p->e->files_mu);
    if (!lost)
        return 0;
    TS_TRY(sto_ship__set_marks(p, &(struct sto_manifest_edit){.marks = &list, .again = &hours}, err));
    sto_mark_list_replace(&p->marks, sto_mark_list_with(&list, INT32_MIN, INT32_MAX, p->target));
    sto_mark_list_replace(&p->again, sto_mark_list_with(&hours, INT32_MIN, INT32_MAX, 1));
    return 0;
}

/* Hours that are left to be sent again become durable, with those that were requested while the pass ran. */
static int set_again(struct sto_ship__pass *p, struct sto_mark_list *left, struct ts_error *err)
{
    struct sto_engine *e = p->e;
    pthread_mutex_lock(&e->files_mu);
    for (size_t i = 0; i < p->s->asked.n; i++)
        sto_mark_list_replace(
            left, sto_mark_list_with(left, p->s->asked.marks[i].hour_lo, p->s->asked.marks[i].hour_hi, 1));
    int rc = sto_manifest_apply(e->manifest, &(struct sto_manifest_edit){.again = left}, err);
    pthread_mutex_unlock(&e->files_mu);
    sto_engine__fatal(e, rc, err);
    return rc;
}

/* Requests that came before the pass begin with it: also hours that were held back are tried once more. Under files_mu. */
static void take_asked(struct sto_shipper *s)
{
    if (s->asked.n)
        s->e->opts.remote->ops->recheck(s->e->opts.remote);
    for (size_t i = 0; s->asked.n && i < s->hours.n; i++) {
        struct sto_ship__hour *h = &s->hours.list[i];
        h->again_held = false;
        if (!sto_mark_of(&s->asked, h->hour))
            continue;
        h->again_done = false;
        if (h->refused_ms)
            h->refused_ms = 1; /* long ago */
    }
    sto_ship__refused_ask(s, &s->asked);
    sto_mark_list_replace(&s->asked, (struct sto_mark_list){0});
}

/* Take the hours that were sent again from the list; complete: the pass has seen all hours. */
static int forget_again(struct sto_ship__pass *p, bool complete, struct ts_error *err)
{
    struct sto_mark_list left;
    if (!p->again.n)
        return 0;
    if (!sto_mark_list_copy(complete ? &(struct sto_mark_list){0} : &p->again, &left))
        return ts_error_set(err, TS_ENOMEM, "no memory for hours that are shipped again");
    for (size_t i = 0; i < p->n_order; i++) {
        const struct sto_ship__hour *h = &p->s->hours.list[p->order[i]];
        bool waits = h->again_held || (h->again_done && h->follow);
        bool stays = h->again || h->again_left || (waits && sto_mark_of(&p->again, h->hour));
        if (stays == complete && (complete || sto_mark_of(&p->again, h->hour)))
            sto_mark_list_replace(&left, complete ? sto_mark_list_with(&left, h->hour, h->hour, 1)
                                                  : sto_mark_list_without(&left, h->hour, h->hour));
    }
    for (size_t i = 0; complete && i < p->again.n; i++) { /* hours that are not over were not seen */
        const struct sto_mark *m = &p->again.marks[i];
        int64_t lo = m->hour_lo > p->open_hour ? m->hour_lo : p->open_hour;
        if (lo <= m->hour_hi)
            sto_mark_list_replace(&left, sto_mark_list_with(&left, (int32_t)lo, m->hour_hi, 1));
    }
    int rc = sto_mark_list_same(&left, &p->again) ? 0 : set_again(p, &left, err);
    ts_free(left.marks);
    return rc;
}

int sto_engine_reship(struct sto_engine *e, int32_t from_hour, int32_t to_hour, struct ts_error *err)
{
    struct sto_mark_list again;
    struct sto_mark_history past;
    if (!e->shipper)
        return ts_error_set(err, TS_EINVAL, "the store has no remote store, or is opened for reading only");
    if (from_hour > to_hour)
        return 0;
    pthread_mutex_lock(&e->files_mu);
    again = sto_mark_list_with(&sto_manifest_state(e->manifest)->again, from_hour, to_hour, 1);
    (void)sto_mark_history_copy(&sto_manifest_state(e->manifest)->past,
                                &past); /* empty if it fails: all stays longer */
    (void)sto_mark_history_forget(&past, from_hour, to_hour);
    int rc =
        sto_manifest_apply(e->manifest, &(struct sto_manifest_edit){.again = &again, .past = &past}, err);
    if (rc == 0)
        sto_mark_list_replace(&e->shipper->asked,
                              sto_mark_list_with(&e->shipper->asked, from_hour, to_hour, 1));
    pthread_mutex_unlock(&e->files_mu);
    sto_engine__fatal(e, rc, err);
    ts_free(again.marks);
    sto_mark_history_release(&past);
    return rc;
}

/* --- passes --- */

/* Ship the hours of the pass. */
static int do_hours(struct sto_ship__pass *p, struct ts_error *err)
{
    bool all = false;
    TS_TRY(sto_ship__hours(p, &all, err));
    TS_TRY(forget_again(p, all && !p->failed.code, err));
    if (p->failed.code && err)
        *err = p->failed;
    return p->failed.code;
}

static void copy_list(struct sto_mark_list *out, const struct sto_mark_list *list)
{
    if (!sto_mark_list_copy(list, out))
        *out = (struct sto_mark_list){.marks = ts_xcalloc(1, sizeof *out->marks)};
}

/* Memstores of the version, and those that were in memory in the last pass. */
static void take_mems(struct sto_ship__pass *p)
{
    p->mems = ts_xcalloc(p->v->n_mems + p->s->n_kept + 1, sizeof(struct sto_mem *));
    for (size_t i = 0; i < p->v->n_mems; i++)
        p->mems[p->n_mems++] = p->v->mems[i];
    for (size_t i = 0; i < p->s->n_kept; i++) {
        bool there = false;
        for (size_t k = 0; k < p->v->n_mems && !there; k++)
            there = p->v->mems[k] == p->s->kept[i];
        if (!there)
            p->mems[p->n_mems++] = p->s->kept[i];
    }
}

static void release_kept(struct sto_shipper *s)
{
    for (size_t i = 0; i < s->n_kept; i++)
        sto_mem_unref(s->kept[i]);
    ts_free(s->kept);
    s->kept = NULL;
    s->n_kept = 0;
}

/* Keep the memstores that will be in files when the next pass begins. */
static void keep_mems(struct sto_ship__pass *p, bool good)
{
    release_kept(p->s);
    if (!good)
        return; /* it may be long until the next one succeeds */
    p->s->kept = ts_xcalloc(p->v->n_mems + 1, sizeof(struct sto_mem *));
    for (size_t i = 0; i < p->v->n_mems; i++)
        if (sto_mem_gen(p->v->mems[i]) > p->target)
            p->s->kept[p->s->n_kept++] = sto_mem_ref(p->v->mems[i]);
}

static int begin(struct sto_ship__pass *p, struct ts_error *err)
{
    p->s->n_begun++;
    p->begun_ms = ts_clock_ms();
    p->open_hour = INT64_MAX;
    /* Both at once: the version has all files up to the target, and none above it */
    pthread_mutex_lock(&p->e->files_mu);
    p->target = p->s->target = sto_manifest_state(p->e->manifest)->flushed_gen;
    p->v = sto_engine_pin(p->e);
    copy_list(&p->again, &sto_manifest_state(p->e->manifest)->again);
    take_asked(p->s);
    pthread_mutex_unlock(&p->e->files_mu);
    copy_list(&p->marks, sto_marks_list(p->v->marks));
    p->del_lo = INT64_MAX;
    p->del_hi = INT64_MIN;
    take_mems(p);
    TS_TRY(replace_lost_marks(p, err));
    copy_list(&p->done, &p->marks);
    return 0;
}

static void end(struct sto_ship__pass *p, bool good)
{
    pthread_mutex_lock(&p->e->files_mu);
    p->s->target = 0;
    pthread_mutex_unlock(&p->e->files_mu);
    sto_ship__note_backlog(p, good);
    keep_mems(p, good);
    ts_free(p->mems);
    ts_free(p->sent);
    ts_free(p->rows);
    ts_free(p->order);
    ts_free(p->marks.marks);
    ts_free(p->again.marks);
    ts_free(p->done.marks);
    ts_free(p->undeleted.marks);
    sto_engine_unpin(p->e, p->v);
}

/* Additions that the pass has not made absolute are left to the next one. */
static void keep_additions(struct sto_ship__pass *p)
{
    p->s->waiting = p->additions;
    atomic_store_explicit(&p->s->n_waiting, p->additions.n, memory_order_relaxed);
}

/* *out_more: something is left for another pass. *out_put: sums were put, which another pass should send. */
static int run_pass(struct sto_shipper *s, bool *out_more, bool *out_put, struct ts_error *err)
{
    struct sto_ship__pass p = {.s = s, .e = s->e};
    sto_flight__init(&p.flight);
    pthread_mutex_lock(&s->mu);
    p.additions = s->waiting;
    p.additions.max = s->e->opts.ship_additions ? s->e->opts.ship_additions : ADDITIONS;
    int rc = begin(&p, err);
    if (rc == 0)
        rc = sto_ship__find(&p, err);
    if (rc == 0)
        rc = note_sent(&p, err);
    if (rc == 0)
        rc = sto_ship__again(&p, err);
    if (rc == 0)
        rc = sto_ship__deletes(&p, err); /* before rows, since those are newer */
    if (rc == 0)
        rc = sto_ship__sync_absolute(&p, err);
    if (rc == 0)
        rc = do_hours(&p, err);
    if (rc == 0 || p.failed.code) { /* hours that cannot be read do not hold up the others */
        struct ts_error why = {0};
        int later = sto_ship__absolute(&p, &why);
        if (rc == 0 && later < 0)
            rc = ts_error_set(err, later, "%s", why.text);
    }
    if (rc == 0 && !p.more)
        sto_ship__refused_followed(s);
    keep_additions(&p);
    end(&p, rc == 0);
    sto_flight__release(&p.flight);
    atomic_store_explicit(&s->n_unreadable, p.n_unreadable, memory_order_relaxed);
    pthread_mutex_unlock(&s->mu);
    atomic_fetch_add_explicit(rc < 0 ? &s->n_errors : &s->n_passes, 1, memory_order_relaxed);
    *out_more = p.more;
    *out_put = p.put;
    return rc;
}

/* Remember how long passes have failed, and why. */
static void note_result(struct sto_shipper *s, int rc, const struct ts_error *why)
{
    if (rc == TS_ECANCELLED)
        return;
    pthread_mutex_lock(&s->sent_mu);
    if (rc == 0)
        s->failing_ms = 0;
    else if (!s->failing_ms)
        s->failing_ms = ts_clock_ms();
    if (rc < 0)
        s->last = *why;
    pthread_mutex_unlock(&s->sent_mu);
}

uint64_t sto_engine_ship_failing(struct sto_engine *e, struct ts_error *out)
{
    struct sto_shipper *s = e->shipper;
    if (!s)
        return 0;
    pthread_mutex_lock(&s->sent_mu);
    int64_t ms = s->failing_ms ? ts_clock_ms() - s->failing_ms : 0;
    if (out && s->failing_ms)
        *out = s->last;
    pthread_mutex_unlock(&s->sent_mu);
    return ms > 0 ? (uint64_t)ms / 1000 : 0;
}

int sto_engine_ship(struct sto_engine *e, struct ts_error *err)
{
    struct ts_error why = {0};
    bool more = true, put = false, once = false;
    int rc = 0;
    if (!e->shipper)
        return ts_error_set(err, TS_EINVAL, "the store has no remote store, or is opened for reading only");
    while (more && rc == 0) {
        rc = run_pass(e->shipper, &more, &put, &why);
        more |= put && !once; /* once: while clients add, there is always more to put */
        once |= put;
    }
    note_result(e->shipper, rc, &why);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

size_t sto_engine_refused(struct sto_engine *e, struct sto_refused_row *out, size_t max)
{
    return sto_refusals_copy(&e->refusals, out, max);
}

uint64_t sto_ship__target(struct sto_engine *e)
{
    uint64_t target = 0;
    if (e->shipper) {
        pthread_mutex_lock(&e->files_mu);
        target = e->shipper->target;
        pthread_mutex_unlock(&e->files_mu);
    }
    return target;
}

void sto_ship__stats(struct sto_engine *e, const struct sto_version *v,
                     void (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
    struct sto_shipper *s = e->shipper;
    if (!s)
        return;
    each(arg, "ship.passes", atomic_load(&s->n_passes));
    each(arg, "ship.errors", atomic_load(&s->n_errors));
    each(arg, "ship.failing_s", sto_engine_ship_failing(e, NULL));
    each(arg, "ship.rows", atomic_load(&s->n_rows));
    each(arg, "ship.points", atomic_load(&s->n_points));
    each(arg, "ship.deletes", atomic_load(&s->n_deletes));
    each(arg, "ship.refused_deletes", atomic_load(&s->n_deletes_refused));
    each(arg, "ship.refused_rows", atomic_load(&s->n_refused));
    each(arg, "ship.absolute_points", atomic_load(&s->n_absolute));
    each(arg, "ship.waiting_additions", atomic_load(&s->n_waiting));
    each(arg, "ship.held_hours", atomic_load(&s->n_held));
    each(arg, "ship.unreadable_hours", atomic_load(&s->n_unreadable));
    each(arg, "ship.expired_points", atomic_load(&s->n_expired));
    sto_ship__backlog_stats(s, v, each, arg);
}

/* --- the thread --- */

static void *run(void *arg)
{
    struct sto_shipper *s = arg;
    static struct ts_log_limit limit;
    int64_t every_ms = s->e->opts.ship_every_ms ? s->e->opts.ship_every_ms : EVERY_MS, pause_ms = every_ms;
    pthread_mutex_lock(&s->wake_mu);
    while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until); /* the clock of the condition: see sto_ship__init */
        until.tv_sec += pause_ms / 1000;
        until.tv_nsec += pause_ms % 1000 * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        int waited = 0;
        while (waited == 0 && !atomic_load_explicit(&s->stop, memory_order_relaxed))
            waited = pthread_cond_timedwait(&s->wake, &s->wake_mu, &until);
        pthread_mutex_unlock(&s->wake_mu);
        struct ts_error err = {0};
        int rc = atomic_load_explicit(&s->stop, memory_order_relaxed) ? 0 : sto_engine_ship(s->e, &err);
        if (rc < 0 && rc != TS_ECANCELLED)
            ts_log_limited(&limit, TS_LOG_WARN,
                           "shipping to the remote store failed and will be tried again: %s", err.text);
        pause_ms = rc == 0 ? every_ms : pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
        pthread_mutex_lock(&s->wake_mu);
    }
    pthread_mutex_unlock(&s->wake_mu);
    return NULL;
}

void sto_ship__init(struct sto_engine *e)
{
    if (!e->opts.remote || e->opts.read_only)
        return;
    struct sto_shipper *s = ts_xcalloc(1, sizeof *s);
    pthread_condattr_t steady;
    s->e = e;
    ts_map64_init(&s->hours.places, 0);
    pthread_mutex_init(&s->mu, NULL);
    pthread_mutex_init(&s->wake_mu, NULL);
    pthread_mutex_init(&s->sent_mu, NULL);
    s->since_ms = ts_clock_ms();
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &steady);
    pthread_condattr_destroy(&steady);
    e->shipper = s;
}

int sto_ship__start(struct sto_engine *e, struct ts_error *err)
{
    struct sto_shipper *s = e->shipper;
    if (!s || e->opts.no_background || e->opts.pumped)
        return 0;
    int rc = ts_thread_start(&s->thread, &(struct ts_thread_opts){.name = "tsd-ship", .fn = run, .arg = s});
    if (rc)
        return ts_error_sys(err, TS_ENOMEM, rc, "no more threads can be started");
    s->runs = true;
    return 0;
}

void sto_ship__stop(struct sto_engine *e)
{
    struct sto_shipper *s = e->shipper;
    if (!s)
        return;
    pthread_mutex_lock(&s->wake_mu);
    atomic_store_explicit(&s->stop, true, memory_order_relaxed); /* the mutex orders it for the thread */
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->wake_mu);
    if (s->runs)
        pthread_join(s->thread, NULL);
    s->runs = false;
}

void sto_ship__free(struct sto_engine *e)
{
    struct sto_shipper *s = e->shipper;
    if (!s)
        return;
    release_kept(s);
    ts_free(s->asked.marks);
    ts_free(s->waiting.list);
    ts_free(s->large);
    ts_free(s->refused);
    ts_free(s->unmarked.marks);
    sto_ship__hours_release(&s->hours);
    pthread_mutex_destroy(&s->mu);
    pthread_mutex_destroy(&s->wake_mu);
    pthread_mutex_destroy(&s->sent_mu);
    ts_free(s->sent);
    ts_free(s->with_sums.marks);
    pthread_cond_destroy(&s->wake);
    ts_free(s);
}
