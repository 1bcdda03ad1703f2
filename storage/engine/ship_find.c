/*
 * ship_find.c - finds the hours that have something to ship.
 *
 * Threads    under the mutex of the shipper
 */
#include "storage/engine/ship_int.h"

#include "base/time.h"

#include <stdlib.h>
#include <string.h>

#define GRACE_MS                                                                                             \
    (5 * 60 * 1000) /* with ship_whole_hours an hour is over when so much time has passed since its end */
#define REFUSED_MS         (10 * 60 * 1000) /* until refused rows are sent again; */
#define REFUSED_DOUBLE_MAX 7                /* each time twice as long, so many times */
#define HOURS_MAX                                                                                            \
    65536u /* hours that are remembered; more are forgotten, which costs some rows their freshness */

static struct sto_ship__hour *hour_of(struct sto_ship__pass *p, int32_t hour)
{
    struct sto_ship__hours *hours = &p->s->hours;
    uint32_t at;
    if (!ts_map64_get(&hours->places, (uint32_t)hour, &at)) {
        if (hours->n == hours->cap)
            hours->list = ts_xrealloc(hours->list,
                                      (hours->cap = hours->cap ? hours->cap * 2 : 64) * sizeof *hours->list);
        at = (uint32_t)hours->n;
        hours->list[hours->n++] = (struct sto_ship__hour){.hour = hour};
        if (ts_map64_add(&hours->places, (uint32_t)hour, at) < 0)
            TS_BUG("a hash table without a limit refused an entry");
    }
    struct sto_ship__hour *h = &hours->list[at];
    if (h->pass != p->s->n_begun) {
        h->pass = p->s->n_begun;
        h->file_gen = h->mem_gen = 0;
        h->again_left = false;
        h->row = h->n_rows = 0;
        h->again = !h->again_held && !h->again_done && sto_mark_of(&p->again, hour) != 0;
    }
    return h;
}

void sto_ship__hours_release(struct sto_ship__hours *hours)
{
    for (size_t i = 0; i < hours->n; i++)
        ts_free(hours->list[i].refused);
    ts_map64_release(&hours->places);
    ts_free(hours->list);
    *hours = (struct sto_ship__hours){0};
    ts_map64_init(&hours->places, 0);
}

/* Forget hours of which only offsets are known. The others have something that their marks do not cover and that memory does not show. */
static void forget_some(struct sto_ship__pass *p)
{
    struct sto_ship__hours *hours = &p->s->hours;
    size_t n = 0;
    if (hours->n <= HOURS_MAX)
        return;
    for (size_t i = 0; i < hours->n; i++)
        if (hours->list[i].held || hours->list[i].follow ||
            hours->list[i].mixed > sto_mark_of(&p->marks, hours->list[i].hour))
            hours->list[n++] = hours->list[i];
        else
            ts_free(hours->list[i].refused);
    hours->n = n;
    ts_map64_release(&hours->places);
    ts_map64_init(&hours->places, 0);
    for (size_t i = 0; i < n; i++)
        if (ts_map64_add(&hours->places, (uint32_t)hours->list[i].hour, (uint32_t)i) < 0)
            TS_BUG("a hash table without a limit refused an entry");
}

uint64_t sto_ship__done(const struct sto_ship__pass *p, const struct sto_ship__hour *h)
{
    uint64_t mark = sto_mark_of(&p->done, h->hour);
    return mark > h->through ? mark : h->through;
}

bool sto_ship__has_changed(const struct sto_ship__pass *p, const struct sto_ship__hour *h)
{
    uint64_t done = sto_ship__done(p, h);
    return h->file_gen > done || (h->mem_gen > done && (h->held || h->mixed > done)) || h->again ||
           h->follow || (h->missed && p->target > h->through) ||
           (h->hour >= p->del_lo && h->hour <= p->del_hi);
}

bool sto_ship__needs_merge(const struct sto_ship__pass *p, const struct sto_ship__hour *h)
{
    return h->retry || sto_ship__has_changed(p, h);
}

static void set_done(struct sto_ship__pass *p, int32_t lo, int32_t hi, uint64_t gen)
{
    sto_mark_list_replace(&p->done, sto_mark_list_with(&p->done, lo, hi, gen));
}

/* --- files --- */

/* Are all generations lo..hi in memory? */
static bool is_in_memory(const struct sto_ship__pass *p, uint64_t lo, uint64_t hi)
{
    for (uint64_t gen = lo; gen <= hi; gen++) {
        bool found = false;
        for (size_t i = 0; i < p->n_mems && !found; i++)
            found = sto_mem_gen(p->mems[i]) == gen;
        if (!found)
            return false;
    }
    return true;
}

/* The hours of a file cannot be read: leave all of them alone. */
static void leave_alone(struct sto_ship__pass *p, const struct sto_sst_info *f, const struct ts_error *why)
{
    int64_t lo = f->min_ms < f->tomb_min_ms ? f->min_ms : f->tomb_min_ms,
            hi = f->max_ms > f->tomb_max_ms ? f->max_ms : f->tomb_max_ms;
    int32_t first = sto_hour(lo < STO_MIN_TS_MS ? STO_MIN_TS_MS : lo),
            last = sto_hour(hi > STO_MAX_TS_MS ? STO_MAX_TS_MS : hi);
    p->n_unreadable += (uint64_t)((int64_t)last - first + 1);
    set_done(p, first, last, UINT64_MAX);
    if (!p->failed.code)
        p->failed = *why;
}

/* Note the hours of a file that are not done, or those that are to be sent again. */
static int walk_file(struct sto_ship__pass *p, struct sto_sst *sst, bool again, struct ts_error *err)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    const struct sto_key first = {.hour = INT32_MIN};
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
    sto_sst_cur_set_walk(cur);
    int rc = sto_sst_cur_seek(cur, &first, err);
    for (uint64_t n = 0; rc == 1; rc = sto_sst_cur_next(cur, err)) {
        int32_t at = sto_sst_cur_key(cur)->hour;
        if (again && sto_mark_of(&p->again, at)) {
            (void)hour_of(p, at);
        } else if (!again && f->gen_hi > sto_mark_of(&p->done, at)) {
            struct sto_ship__hour *h = hour_of(p, at);
            h->file_gen = f->gen_hi > h->file_gen ? f->gen_hi : h->file_gen;
        }
        if ((++n & 4095) == 0 && atomic_load_explicit(&p->s->stop, memory_order_relaxed)) {
            rc = ts_error_set(err, TS_ECANCELLED, "the store is closing");
            break;
        }
    }
    sto_sst_cur_free(cur);
    return rc < 0 ? rc : 0;
}

static bool has_hours_again(const struct sto_ship__pass *p, const struct sto_sst_info *f)
{
    int32_t lo = sto_hour(f->min_ms), hi = sto_hour(f->max_ms);
    return sto_mark_of(&p->again, lo) || sto_mark_end(&p->again, lo) < hi;
}

static int hours_of_file(struct sto_ship__pass *p, struct sto_sst *sst, struct ts_error *err)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    struct ts_error why = {0};
    int rc = 0;
    if (!f->n_points || sto_sst_broken(sst))
        return 0;
    if (!sto_mark_covers(&p->done, f->gen_hi, f->min_ms, f->max_ms) && !is_in_memory(p, f->gen_lo, f->gen_hi))
        rc = walk_file(p, sst, false, &why);
    if (rc == 0 && has_hours_again(p, f))
        rc = walk_file(p, sst, true, &why);
    if (rc == TS_ECANCELLED)
        return ts_error_set(err, rc, "%s", why.text);
    if (rc < 0)
        leave_alone(p, f, &why);
    return 0;
}

/* Hours of files that are known to be broken, if they have anything to ship. */
static void skip_broken(struct sto_ship__pass *p)
{
    for (size_t i = 0; i < p->v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(p->v->ssts[i]);
        const char *broken = sto_sst_broken(p->v->ssts[i]);
        struct ts_error why;
        if (!broken || (sto_mark_covers(&p->marks, f->gen_hi, f->min_ms, f->max_ms) &&
                        sto_mark_covers(&p->marks, f->gen_hi, f->tomb_min_ms, f->tomb_max_ms)))
            continue;
        (void)ts_error_set(&why, TS_ECORRUPT, "%s", broken);
        leave_alone(p, f, &why);
    }
}

/* --- memory --- */

static void add_row(struct sto_ship__pass *p, const struct sto_mem_row *row, uint64_t gen, int32_t hour)
{
    if (p->n_rows == p->cap_rows)
        p->rows = ts_xrealloc(p->rows, (p->cap_rows = p->cap_rows ? p->cap_rows * 2 : 256) * sizeof *p->rows);
    p->rows[p->n_rows++] = (struct sto_ship__row){.row = row, .gen = gen, .hour = hour};
}

/* Rows with operations that were not sent; of hours that are merged all rows, since they are sent again after that. */
static void hours_of_mem(struct sto_ship__pass *p, const struct sto_mem *mem, uint64_t *out_sent)
{
    uint64_t pos = 0, gen = sto_mem_gen(mem);
    for (const struct sto_mem_row *r; (r = sto_mem_walk(mem, &pos));)
        for (; r; r = sto_mem_row_next(r)) {
            int32_t hour = sto_mem_row_hour(r);
            if (gen <= sto_mark_of(&p->done, hour)) {
                *out_sent += gen <= sto_mark_of(&p->marks, hour) ? sto_mem_row_n(r) : sto_mem_row_sent(r);
                continue;
            }
            struct sto_ship__hour *h = hour_of(p, hour);
            if (gen <= p->target && gen > h->mem_gen)
                h->mem_gen = gen;
            if (sto_mem_row_n(r) != sto_mem_row_sent(r) || h->held || h->mixed > sto_ship__done(p, h) ||
                sto_ship__needs_merge(p, h))
                add_row(p, r, gen, hour);
            else
                *out_sent += sto_mem_row_sent(r);
        }
}

/* Newest generation first: rows of a generation exist only when its owner writes no more to older ones. In the reverse order, the last
 * operations of an older generation could be missed by a pass that sends newer ones, and would then be sent after them. */
static int cmp_newest_mem(const void *pa, const void *pb)
{
    uint64_t a = sto_mem_gen(*(struct sto_mem *const *)pa), b = sto_mem_gen(*(struct sto_mem *const *)pb);
    return a > b ? -1 : a < b;
}

static int cmp_row(const void *pa, const void *pb)
{
    const struct sto_ship__row *a = pa, *b = pb;
    const struct sto_series *x = sto_mem_row_series(a->row), *y = sto_mem_row_series(b->row);
    if (a->hour != b->hour)
        return a->hour > b->hour ? -1 : 1;
    if (a->gen != b->gen)
        return a->gen < b->gen ? -1 : 1;
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* --- the order --- */

static int cmp_newest(const void *pa, const void *pb, void *arg)
{
    const struct sto_ship__hour *list = arg, *a = &list[*(const uint32_t *)pa],
                                *b = &list[*(const uint32_t *)pb];
    return a->hour > b->hour ? -1 : a->hour < b->hour;
}

static void put_in_order(struct sto_ship__pass *p)
{
    struct sto_ship__hours *hours = &p->s->hours;
    if (p->n_rows)
        qsort(p->rows, p->n_rows, sizeof *p->rows, cmp_row);
    for (size_t i = 0; i < p->n_rows; i++) {
        struct sto_ship__hour *h = hour_of(p, p->rows[i].hour);
        h->row = h->n_rows++ ? h->row : i;
    }
    p->order = ts_xcalloc(hours->n + 1, sizeof *p->order);
    for (size_t i = 0; i < hours->n; i++)
        if (hours->list[i].pass == p->s->n_begun && sto_mark_of(&p->done, hours->list[i].hour) != UINT64_MAX)
            p->order[p->n_order++] = (uint32_t)i;
    if (p->n_order)
        qsort_r(p->order, p->n_order, sizeof *p->order, cmp_newest, hours->list);
}

bool sto_ship__is_due(const struct sto_ship__pass *p, unsigned n, int64_t refused_ms)
{
    unsigned n_doubled = n > REFUSED_DOUBLE_MAX ? REFUSED_DOUBLE_MAX : n - 1;
    int64_t past_ms = p->begun_ms - refused_ms;
    return refused_ms && (past_ms < 0 || past_ms >= (int64_t)REFUSED_MS << n_doubled);
}

/* Hours that this process has shipped without marking them; the pass has to know them, since they get no mark now either. */
static void overlay_held(struct sto_ship__pass *p)
{
    for (size_t i = 0; i < p->s->hours.n; i++) {
        struct sto_ship__hour *h = &p->s->hours.list[i];
        if (!h->held && !h->follow)
            continue;
        h->retry = sto_ship__is_due(p, h->n_refusals, h->refused_ms);
        (void)hour_of(p, h->hour);
        if (h->through > sto_mark_of(&p->done, h->hour))
            set_done(p, h->hour, h->hour, h->through);
    }
}

/* Hours that are not over wait, so that each of their rows is shipped as a whole. */
static void skip_open(struct sto_ship__pass *p)
{
    if (!p->e->opts.ship_whole_hours)
        return;
    p->open_hour = sto_hour(ts_clock_ms() - GRACE_MS);
    set_done(p, (int32_t)p->open_hour, INT32_MAX, UINT64_MAX);
}

int sto_ship__find(struct sto_ship__pass *p, struct ts_error *err)
{
    forget_some(p);
    sto_ship__refused_begin(p);
    overlay_held(p);
    skip_broken(p);
    skip_open(p);
    for (size_t i = 0; i < p->v->n_ssts; i++)
        TS_TRY(hours_of_file(p, p->v->ssts[i], err));
    sto_ship__plan_deletes(p);
    p->sent = ts_xcalloc(p->n_mems + 1, sizeof *p->sent);
    if (p->n_mems)
        qsort(p->mems, p->n_mems, sizeof *p->mems, cmp_newest_mem);
    for (size_t i = 0; i < p->n_mems; i++)
        hours_of_mem(p, p->mems[i], &p->sent[i]);
    put_in_order(p);
    return 0;
}
