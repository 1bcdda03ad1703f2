/*
 * ship.c - sends accepted points to the remote store, hour by hour.
 *
 * Threads    ship.h
 * Not here   sending rows (shipment.c), removing shipped files (ship_drop.c), merges (ship_pick.c)
 */
#include "storage/engine/ship.h"

#include "base/log.h"
#include "base/map64.h"
#include "base/thread.h"
#include "base/time.h"
#include "storage/engine/shipment.h"

#include <stdlib.h>
#include <string.h>

#define EVERY_MS     10000               /* default of ship_every_ms */
#define PAUSE_MAX_MS 60000               /* longest pause after failures */
#define DELETE_NS    (60 * 1000000000ll) /* time limit for one delete to be acknowledged */

/* An hour that has points above its mark. */
struct hour {
    int32_t hour;
    uint64_t n_ops;   /* operations of it in memstores of generations after the target of the pass */
    uint64_t gen;     /* highest generation up to the target that has rows of it; 0 = none has */
    uint64_t through; /* generations up to this one were shipped, */
    uint64_t n_sent;  /* and so many of these operations */
    bool held;        /* some additions of it, or rows that the remote store refuses, stay here */
};

/* Hours, each once. */
struct hours {
    struct hour *list; /* owned */
    size_t n, cap;
    struct ts_map64 places; /* hour as uint32_t -> index in list while it is being made */
};

struct sto_shipper {
    struct sto_engine *e;
    pthread_mutex_t mu; /* one pass at a time; before all locks of the engine */
    struct hours known; /* hours that the last pass shipped, newest first; under mu */
    /* generation to which the running pass sets marks; 0 = no pass runs; under files_mu */
    uint64_t target;
    _Atomic bool stop;
    pthread_t thread;
    bool runs;
    pthread_mutex_t wake_mu;
    pthread_cond_t wake;
    _Atomic uint64_t n_passes, n_errors, n_rows, n_deletes, n_refused, n_held;
};

/* A running pass. */
struct pass {
    struct sto_shipper *s;
    struct sto_engine *e;
    struct sto_version *v;
    uint64_t target;
    struct sto_mark_list marks; /* present ones; owned */
    struct hours hours;
    struct ts_error failed; /* error of an hour that cannot be read here; the other hours are shipped */
};

/* --- which hours --- */

static struct hour *hour_of(struct hours *h, int32_t hour)
{
    uint32_t at;
    if (ts_map64_get(&h->places, (uint32_t)hour, &at))
        return &h->list[at];
    if (h->n == h->cap)
        h->list = ts_xrealloc(h->list, (h->cap = h->cap ? h->cap * 2 : 64) * sizeof *h->list);
    h->list[h->n] = (struct hour){.hour = hour};
    if (ts_map64_add(&h->places, (uint32_t)hour, (uint32_t)h->n) < 0)
        TS_BUG("a hash table without a limit refused an entry");
    return &h->list[h->n++];
}

static void hours_of_mem(struct pass *p, const struct sto_mem *mem)
{
    uint64_t pos = 0, gen = sto_mem_gen(mem);
    for (const struct sto_mem_row *r; (r = sto_mem_walk(mem, &pos));)
        for (; r; r = sto_mem_row_next(r)) {
            struct hour *h = hour_of(&p->hours, sto_mem_row_hour(r));
            if (gen > p->target)
                h->n_ops += sto_mem_row_n(r);
            else /* files that have just been written do not replace it yet */
                h->gen = gen > h->gen ? gen : h->gen;
        }
}

/* Does a file have generations above the mark of an hour? */
static bool is_above(const struct pass *p, const struct sto_sst_info *f, int64_t lo_ms, int64_t hi_ms)
{
    return lo_ms <= hi_ms && f->gen_hi > sto_mark_lowest(&p->marks, sto_hour(lo_ms), sto_hour(hi_ms));
}

static int hours_of_file(struct pass *p, struct sto_sst *sst, struct ts_error *err)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    const struct sto_key first = {.hour = INT32_MIN};
    if (!f->n_points || !is_above(p, f, f->min_ms, f->max_ms))
        return 0;
    if (sto_sst_broken(sst))
        return ts_error_set(err, TS_ECORRUPT, "%s", sto_sst_broken(sst));
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
    sto_sst_cur_set_walk(cur);
    int rc = sto_sst_cur_seek(cur, &first, err);
    for (uint64_t n = 0; rc == 1; rc = sto_sst_cur_next(cur, err)) {
        int32_t at = sto_sst_cur_key(cur)->hour;
        if (f->gen_hi > sto_mark_of(&p->marks, at)) {
            struct hour *h = hour_of(&p->hours, at);
            h->gen = f->gen_hi > h->gen ? f->gen_hi : h->gen;
        }
        if ((++n & 4095) == 0 && atomic_load_explicit(&p->s->stop, memory_order_relaxed)) {
            rc = ts_error_set(err, TS_ECANCELLED, "the store is closing");
            break;
        }
    }
    sto_sst_cur_free(cur);
    return rc < 0 ? rc : 0;
}

static int newest_first(const void *pa, const void *pb)
{
    const struct hour *a = pa, *b = pb;
    return a->hour > b->hour ? -1 : a->hour < b->hour;
}

static void forget_known(struct sto_shipper *s)
{
    ts_free(s->known.list);
    s->known = (struct hours){0};
}

/* Set how much of an hour the last pass has shipped. */
static void look_back(const struct sto_shipper *s, struct hour *h)
{
    const struct hour *was =
        s->known.n ? bsearch(h, s->known.list, s->known.n, sizeof *h, newest_first) : NULL;
    if (was) {
        h->through = was->through;
        h->n_sent = was->n_sent;
        h->held = was->held;
    }
}

static int find_hours(struct pass *p, struct ts_error *err)
{
    for (size_t i = 0; i < p->v->n_mems; i++)
        hours_of_mem(p, p->v->mems[i]);
    for (size_t i = 0; i < p->v->n_ssts; i++)
        TS_TRY(hours_of_file(p, p->v->ssts[i], err));
    if (p->hours.n)
        qsort(p->hours.list, p->hours.n, sizeof *p->hours.list, newest_first);
    for (size_t i = 0; i < p->hours.n; i++)
        look_back(p->s, &p->hours.list[i]);
    return 0;
}

/* --- marks --- */

/* Set the marks of the hours lo..hi to the target: everything up to it was shipped. */
static int mark(struct pass *p, int32_t lo, int32_t hi, struct ts_error *err)
{
    struct sto_engine *e = p->e;
    if (lo > hi || p->target == 0)
        return 0;
    struct sto_mark_list list = sto_mark_list_with(&p->marks, lo, hi, p->target);
    if (sto_mark_list_same(&list, &p->marks)) {
        ts_free(list.marks);
        return 0;
    }
    pthread_mutex_lock(&e->files_mu);
    int rc = sto_manifest_apply(e->manifest, &(struct sto_manifest_edit){.marks = &list}, err);
    pthread_mutex_unlock(&e->files_mu);
    sto_engine__fatal(e, rc, err);
    if (rc < 0) {
        ts_free(list.marks);
        return rc;
    }
    ts_free(p->marks.marks);
    p->marks = list;
    sto_version__mark(e, sto_marks_new(&list));
    return sto_version__edit(e, NULL, 0, NULL, 0, 0, NULL, 0);
}

/* --- deletes --- */

static int send_delete(struct pass *p, const struct sto_tomb *t, int32_t lo, int32_t hi, struct ts_error *err)
{
    struct sto_remote *remote = p->e->opts.remote;
    struct sto_remote_tag tags[STO_SHIP_TAGS_MAX];
    struct sto_remote_series series;
    int64_t from_ms = lo * TS_HOUR_MS, to_ms = (hi + 1ll) * TS_HOUR_MS - 1;
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + DELETE_NS, .cancel = &p->s->stop};
    if (!p->e->owner.names(p->e->owner.arg, t->series, tags, &series))
        return 0;
    series.tags = tags;
    from_ms = t->from_ms > from_ms ? t->from_ms : from_ms;
    to_ms = t->to_ms < to_ms ? t->to_ms : to_ms;
    forget_known(p->s); /* the delete may concern points of memstores that were shipped already */
    atomic_fetch_add_explicit(&p->s->n_deletes, 1, memory_order_relaxed);
    return remote->ops->delete_range(remote, &series, from_ms, to_ms, &call, err);
}

/* Ship a delete, except for hours whose marks cover it: newer points of theirs may have been shipped since. */
static int ship_tomb(struct pass *p, const struct sto_tomb *t, struct ts_error *err)
{
    int64_t end = sto_hour(t->to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : t->to_ms);
    int64_t lo = sto_hour(t->from_ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : t->from_ms), from = lo;
    while (lo <= end) {
        int64_t next = (int64_t)sto_mark_end(&p->marks, (int32_t)lo) + 1;
        if (sto_mark_of(&p->marks, (int32_t)lo) >= t->gen) {
            if (from < lo)
                TS_TRY(send_delete(p, t, (int32_t)from, (int32_t)(lo - 1), err));
            from = next;
        }
        lo = next;
    }
    return from <= end ? send_delete(p, t, (int32_t)from, (int32_t)end, err) : 0;
}

static int ship_tombs(struct pass *p, struct ts_error *err)
{
    for (size_t i = 0; i < p->v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(p->v->ssts[i]);
        size_t n;
        const struct sto_tomb *t = sto_sst_tombs(p->v->ssts[i], &n);
        if (!f->n_tombs || !is_above(p, f, f->tomb_min_ms, f->tomb_max_ms))
            continue;
        for (size_t k = 0; k < n; k++)
            if (t[k].gen <= p->target)
                TS_TRY(ship_tomb(p, &t[k], err));
    }
    for (size_t i = 0; i < p->v->n_mems; i++) { /* files that were just written do not contain them yet */
        size_t n;
        const struct sto_tomb *t = sto_mem_tombs(p->v->mems[i], &n);
        for (size_t k = 0; k < n && sto_mem_gen(p->v->mems[i]) <= p->target; k++)
            TS_TRY(ship_tomb(p, &t[k], err));
    }
    return 0;
}

/* --- rows --- */

/* Rows of an hour that are above its mark and in generations up to the target (all that its new mark covers), or those of later
 * generations, which are in memory. They are not mixed: otherwise additions in memory would be shipped as a part of what the
 * mark covers, and deletes in memory would keep points back that the mark covers. */
static int scan_hour(struct pass *p, const struct hour *h, bool later, struct sto_merge **out,
                     struct ts_error *err)
{
    uint64_t above = sto_mark_of(&p->marks, h->hour);
    struct sto_sst **ssts = ts_xcalloc(p->v->n_ssts + 1, sizeof *ssts);
    struct sto_mem **mems = ts_xcalloc(p->v->n_mems + 1, sizeof(struct sto_mem *));
    size_t n = 0, n_mems = 0;
    struct sto_scan_spec spec = {.from_ms = h->hour * TS_HOUR_MS,
                                 .to_ms = h->hour * TS_HOUR_MS + TS_HOUR_MS - 1,
                                 .cutoff_ms = p->v->cutoff_ms,
                                 .cutoff_gen = p->v->cutoff_gen};
    for (size_t i = 0; !later && i < p->v->n_ssts; i++)
        if (sto_sst_info(p->v->ssts[i])->gen_hi > above)
            ssts[n++] = p->v->ssts[i];
    for (size_t i = 0; i < p->v->n_mems; i++)
        if ((sto_mem_gen(p->v->mems[i]) > p->target) == later)
            mems[n_mems++] = p->v->mems[i];
    int rc = sto_merge_new(&spec, ssts, n, mems, n_mems, out, err);
    ts_free(ssts);
    ts_free(mems);
    return rc;
}

/* Rows of one scan. *out_local: the error is one of files here. */
static int ship_rows(struct pass *p, struct hour *h, bool later, bool *out_local, struct ts_error *err)
{
    struct sto_merge *merge = NULL;
    struct sto_sending sending;
    struct sto_row row;
    int sent = 0, rc = scan_hour(p, h, later, &merge, err);
    *out_local = rc < 0;
    if (rc < 0)
        return rc;
    bool first = !later && sto_mark_of(&p->marks, h->hour) == 0 && !h->n_sent;
    sto_sending__init(&sending, p->e, &p->s->stop, first);
    while ((rc = sto_merge_next(merge, &row, err)) == 1 && sent == 0)
        sent = sto_sending__row(&sending, &row, err);
    *out_local = rc < 0;
    sto_merge_free(merge);
    rc = sto_sending__end(&sending, rc < 0 ? rc : sent, err);
    atomic_fetch_add_explicit(&p->s->n_rows, sending.n_rows, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->s->n_refused, sending.n_refused, memory_order_relaxed);
    if (rc == 0 && !later)
        h->held = sending.held || sending.n_refused;
    return rc;
}

/* What the mark will cover, then what is later. *out_local: as ship_rows. */
static int ship_hour(struct pass *p, struct hour *h, bool *out_local, struct ts_error *err)
{
    if (h->gen > h->through) {
        h->n_sent = 0; /* older values may replace in the remote store what was sent of memory before */
        TS_TRY(ship_rows(p, h, false, out_local, err));
        h->through = p->target;
    }
    if (h->n_ops != h->n_sent)
        TS_TRY(ship_rows(p, h, true, out_local, err));
    h->n_sent = h->n_ops;
    return 0;
}

/* Ship one hour and set its mark, and the marks of the hours after it up to *top, which have no points. */
static int do_hour(struct pass *p, struct hour *h, int32_t *top, struct ts_error *err)
{
    bool local = false;
    int rc = 0;
    if (atomic_load_explicit(&p->s->stop, memory_order_relaxed))
        return ts_error_set(err, TS_ECANCELLED, "the store is closing");
    if (h->gen > h->through || h->n_ops != h->n_sent)
        rc = ship_hour(p, h, &local, err);
    if (rc < 0 && !local)
        return rc;
    if (rc < 0 && !p->failed.code)
        p->failed = err ? *err : (struct ts_error){.code = rc};
    if (rc < 0 || h->held) { /* its mark does not change */
        if (h->hour < *top)
            TS_TRY(mark(p, h->hour + 1, *top, err));
    } else {
        TS_TRY(mark(p, h->hour, *top, err));
    }
    *top = h->hour == INT32_MIN ? h->hour : h->hour - 1;
    return 0;
}

static int do_hours(struct pass *p, struct ts_error *err)
{
    int32_t top = INT32_MAX;
    uint64_t n_held = 0;
    for (size_t i = 0; i < p->hours.n; i++) {
        TS_TRY(do_hour(p, &p->hours.list[i], &top, err));
        n_held += p->hours.list[i].held;
    }
    atomic_store_explicit(&p->s->n_held, n_held, memory_order_relaxed);
    TS_TRY(mark(p, INT32_MIN, top, err));
    if (p->failed.code && err)
        *err = p->failed;
    return p->failed.code;
}

/* --- passes --- */

static void begin(struct pass *p)
{
    pthread_mutex_lock(&p->e->files_mu);
    p->target = p->s->target = sto_manifest_state(p->e->manifest)->flushed_gen;
    pthread_mutex_unlock(&p->e->files_mu);
    /* pinned after the target was set, so that this version has everything up to it */
    p->v = sto_engine_pin(p->e);
    const struct sto_mark_list *list = sto_marks_list(p->v->marks);
    p->marks = (struct sto_mark_list){.marks = ts_xcalloc(list->n + 1, sizeof *list->marks), .n = list->n};
    if (list->n)
        memcpy(p->marks.marks, list->marks, list->n * sizeof *list->marks);
    ts_map64_init(&p->hours.places, 0);
}

static void end(struct pass *p)
{
    pthread_mutex_lock(&p->e->files_mu);
    p->s->target = 0;
    pthread_mutex_unlock(&p->e->files_mu);
    ts_map64_release(&p->hours.places);
    forget_known(p->s);
    p->s->known = p->hours;
    ts_free(p->marks.marks);
    sto_engine_unpin(p->e, p->v);
}

int sto_engine_ship(struct sto_engine *e, struct ts_error *err)
{
    struct ts_error why = {0};
    if (!e->shipper)
        return ts_error_set(err, TS_EINVAL, "the store has no remote store, or is opened for reading only");
    struct pass p = {.s = e->shipper, .e = e};
    pthread_mutex_lock(&p.s->mu);
    begin(&p);
    int rc = ship_tombs(&p, &why); /* deletes first, since rows that are shipped after them are newer */
    if (rc == 0)
        rc = find_hours(&p, &why);
    if (rc == 0)
        rc = do_hours(&p, &why);
    end(&p);
    pthread_mutex_unlock(&p.s->mu);
    atomic_fetch_add_explicit(rc < 0 ? &e->shipper->n_errors : &e->shipper->n_passes, 1,
                              memory_order_relaxed);
    if (rc < 0 && err)
        *err = why;
    return rc;
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

void sto_ship__stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                     void *arg)
{
    struct sto_shipper *s = e->shipper;
    if (!s)
        return;
    each(arg, "ship.passes", atomic_load(&s->n_passes));
    each(arg, "ship.errors", atomic_load(&s->n_errors));
    each(arg, "ship.rows", atomic_load(&s->n_rows));
    each(arg, "ship.deletes", atomic_load(&s->n_deletes));
    each(arg, "ship.refused_rows", atomic_load(&s->n_refused));
    each(arg, "ship.held_hours", atomic_load(&s->n_held));
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
    pthread_mutex_init(&s->mu, NULL);
    pthread_mutex_init(&s->wake_mu, NULL);
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
    forget_known(s);
    pthread_mutex_destroy(&s->mu);
    pthread_mutex_destroy(&s->wake_mu);
    pthread_cond_destroy(&s->wake);
    ts_free(s);
}
