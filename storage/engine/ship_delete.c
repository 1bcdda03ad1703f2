/*
 * ship_delete.c - ships deletes.
 *
 * A delete of a generation up to the target is sent for hours that are not done, since points that are newer than it were sent of others.
 * Whatever else was sent of its hours since their marks, from memory too, may be newer than the delete, which the remote store does not know:
 * all of it is sent again. One that the remote store refuses is set aside (ship_refused.c).
 *
 * Threads    under the mutex of the shipper
 */
#include "storage/engine/ship_int.h"

#include "base/time.h"
#include "storage/internal.h"

#include <string.h>

#define DELETE_NS                                                                                            \
    (60 *                                                                                                    \
     1000000000ll) /* time limit for so many hours of one delete to be acknowledged: a longer range is sent in parts, */
#define DELETE_HOURS 8192 /* each of which begins where the one before has ended */

typedef int (*part_fn)(struct sto_ship__pass *p, const struct sto_tomb *t, int32_t lo, int32_t hi,
                       struct ts_error *err);

static int send_hours(struct sto_ship__pass *p, const struct sto_tomb *t, int32_t lo, int32_t hi,
                      struct ts_error *err)
{
    struct sto_remote *remote = p->e->opts.remote;
    struct sto_remote_tag tags[STO_SHIP_TAGS_MAX];
    struct sto_remote_series series;
    int64_t from_ms = lo * TS_HOUR_MS, to_ms = (hi + 1ll) * TS_HOUR_MS - 1;
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + DELETE_NS, .cancel = &p->s->stop};
    struct sto_internal internal;
    if (!p->e->owner.names(p->e->owner.arg, t->series, tags, &series))
        return 0;
    if (sto_internal_parse(series.metric, &internal) && internal.kind == STO_INTERNAL_VERSIONS)
        return 0; /* versions are never sent */
    series.tags = tags;
    from_ms = t->from_ms > from_ms ? t->from_ms : from_ms;
    to_ms = t->to_ms < to_ms ? t->to_ms : to_ms;
    atomic_fetch_add_explicit(&p->s->n_deletes, 1, memory_order_relaxed);
    return remote->ops->delete_range(remote, &series, from_ms, to_ms, &call, err);
}

static int send_part(struct sto_ship__pass *p, const struct sto_tomb *t, int32_t lo, int32_t hi,
                     struct ts_error *err)
{
    for (int64_t from = lo; from <= hi; from += DELETE_HOURS) {
        int64_t to = from + DELETE_HOURS - 1;
        TS_TRY(send_hours(p, t, (int32_t)from, (int32_t)(to < hi ? to : hi), err));
    }
    return 0;
}

/* Send a part of a delete, or set the delete aside if it is refused. */
static int try_part(struct sto_ship__pass *p, const struct sto_tomb *t, int32_t lo, int32_t hi,
                    struct ts_error *err)
{
    struct ts_error why = {0};
    if (sto_ship__is_set_aside(p, t))
        return 0;
    int rc = send_part(p, t, lo, hi, &why);
    if (rc == TS_EINVAL)
        return sto_ship__refuse_delete(p, t, &why, err);
    return rc < 0 ? ts_error_set(err, rc, "%s", why.text) : 0;
}

static int plan_part(struct sto_ship__pass *p, const struct sto_tomb *t, int32_t lo, int32_t hi,
                     struct ts_error *err)
{
    (void)err;
    if (sto_ship__is_set_aside(p, t) && !sto_ship__has_followers(p, t))
        return 0;
    p->del_lo = lo < p->del_lo ? lo : p->del_lo;
    p->del_hi = hi > p->del_hi ? hi : p->del_hi;
    return 0;
}

/* The parts of a delete whose hours are not done. */
static int parts_of(struct sto_ship__pass *p, const struct sto_tomb *t, part_fn each, struct ts_error *err)
{
    int64_t end = sto_hour(t->to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : t->to_ms);
    int64_t lo = sto_hour(t->from_ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : t->from_ms), from = lo;
    while (lo <= end) {
        int64_t next = (int64_t)sto_mark_end(&p->done, (int32_t)lo) + 1;
        if (sto_mark_of(&p->done, (int32_t)lo) >= t->gen) {
            if (from < lo)
                TS_TRY(each(p, t, (int32_t)from, (int32_t)(lo - 1), err));
            from = next;
        }
        lo = next;
    }
    return from <= end ? each(p, t, (int32_t)from, (int32_t)end, err) : 0;
}

static int each_delete(struct sto_ship__pass *p, part_fn each, struct ts_error *err)
{
    for (size_t i = 0; i < p->v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(p->v->ssts[i]);
        size_t n;
        const struct sto_tomb *t = sto_sst_tombs(p->v->ssts[i], &n);
        if (!f->n_tombs || sto_mark_covers(&p->done, f->gen_hi, f->tomb_min_ms, f->tomb_max_ms))
            continue;
        for (size_t k = 0; k < n; k++)
            if (t[k].gen <= p->target)
                TS_TRY(parts_of(p, &t[k], each, err));
    }
    for (size_t i = 0; i < p->v->n_mems; i++) { /* files that were just written do not contain them yet */
        size_t n;
        const struct sto_tomb *t = sto_mem_tombs(p->v->mems[i], &n);
        for (size_t k = 0; k < n && sto_mem_gen(p->v->mems[i]) <= p->target; k++)
            TS_TRY(parts_of(p, &t[k], each, err));
    }
    return 0;
}

void sto_ship__plan_deletes(struct sto_ship__pass *p)
{
    (void)each_delete(p, plan_part, NULL);
}

int sto_ship__deletes(struct sto_ship__pass *p, struct ts_error *err)
{
    int rc = each_delete(p, try_part, err);
    if (rc == 0)
        sto_ship__refused_end(p);
    return rc == 0 ? p->too_many : rc;
}
