/*
 * feed.c - adds cells to bucket accumulators, one interval at a time.
 */
#include "query/execution/feed.h"

#include "base/mem.h"
#include "query/span.h"

#include <string.h>

void qry_feed_release(struct qry_feed *f)
{
    ts_budget_free(f->memory, f->buf, f->cap * sizeof *f->buf);
    f->buf = NULL;
    f->cap = 0;
}

static int room(struct qry_feed *f, size_t n, struct ts_error *err)
{
    return ts_budget_grow(f->memory, &f->buf, &f->cap, n < 512 ? 512 : n, sizeof *f->buf, err);
}

int qry_feed_row(struct qry_feed *f, const struct sto_row *row, struct ts_error *err)
{
    const struct sto_cells *c = row->cells;
    f->c = c;
    f->base_ms = row->key.hour * TS_HOUR_MS;
    if (!c->uniform) {
        f->how = QRY_FEED_MIXED;
        return room(f, c->n, err);
    }
    uint8_t kind = sto_meta_kind(c->common);
    if (kind == TS_NUM_INT) {
        f->how = QRY_FEED_INT;
    } else if (kind == TS_NUM_DEC && f->ops->add_dec) {
        f->how = QRY_FEED_DEC;
    } else {
        f->how = QRY_FEED_F64;
        f->d = (const double *)(const void *)c->m;
        if (kind == TS_NUM_DEC) {
            TS_TRY(room(f, c->n, err));
            qry_cells_doubles(c, 0, c->n, f->buf);
            f->d = f->buf;
        }
    }
    return 0;
}

size_t qry_feed_border(struct qry_feed *f, size_t i, int64_t off_ms)
{
    const uint32_t *meta = f->c->meta;
    size_t n = f->c->n, lo, hi;
    if (off_ms > STO_META_OFF_MASK)
        return n;
    if (off_ms <= 0)
        return i;
    uint32_t off = (uint32_t)off_ms;
    size_t g = i + f->guess;
    if (f->guess && g <= n && sto_meta_off(meta[g - 1]) < off && (g == n || sto_meta_off(meta[g]) >= off))
        return g;
    if (i == n || sto_meta_off(meta[i]) >= off)
        return i;
    if (sto_meta_off(meta[n - 1]) < off) {
        hi = n;
    } else {
        lo = i, hi = n - 1; /* meta[lo] < off <= meta[hi] */
        for (size_t step = 1; lo + step < hi; step *= 2) {
            if (sto_meta_off(meta[lo + step]) >= off) {
                hi = lo + step;
                break;
            }
            lo += step;
        }
        while (hi - lo > 1) {
            size_t mid = lo + (hi - lo) / 2;
            if (sto_meta_off(meta[mid]) < off)
                lo = mid;
            else
                hi = mid;
        }
    }
    f->guess = hi - i;
    return hi;
}

/* Add cells of mixed kinds, as runs of integers and runs of doubles. */
static void add_mixed(struct qry_feed *f, void *state, size_t i, size_t e)
{
    const struct sto_cells *c = f->c;
    while (i < e) {
        bool ints = sto_meta_kind(c->meta[i]) == TS_NUM_INT;
        size_t k = i + 1;
        while (k < e && (sto_meta_kind(c->meta[k]) == TS_NUM_INT) == ints)
            k++;
        int64_t t0 = f->base_ms + sto_meta_off(c->meta[i]), t1 = f->base_ms + sto_meta_off(c->meta[k - 1]);
        if (ints) {
            f->ops->add_i64(state, c->m + i, k - i, t0, t1);
        } else {
            qry_cells_doubles(c, i, k - i, f->buf);
            f->ops->add_f64(state, f->buf, k - i, t0, t1);
        }
        i = k;
    }
}

int qry_feed_add(struct qry_feed *f, void *state, size_t i, size_t e, struct ts_error *err)
{
    const struct sto_cells *c = f->c;
    if (f->ops->reserve)
        TS_TRY(f->ops->reserve(state, e - i, NULL, f->memory, err));
    int64_t t0 = f->base_ms + sto_meta_off(c->meta[i]), t1 = f->base_ms + sto_meta_off(c->meta[e - 1]);
    switch (f->how) {
    case QRY_FEED_INT:
        f->ops->add_i64(state, c->m + i, e - i, t0, t1);
        break;
    case QRY_FEED_DEC:
        f->ops->add_dec(state, c->m + i, e - i, sto_meta_exp(c->common), t0, t1);
        break;
    case QRY_FEED_F64:
        f->ops->add_f64(state, f->d + i, e - i, t0, t1);
        break;
    default:
        add_mixed(f, state, i, e);
    }
    return 0;
}

void qry_feed_hour(const struct sto_row *row, struct qry_hour *out)
{
    const struct sto_summary *s = row->sum;
    int64_t base = row->key.hour * TS_HOUR_MS;
    *out = (struct qry_hour){.n = s->n,
                             .is_int = s->is_int,
                             .has_sum = s->has_sum,
                             .first_ms = base + s->first_off,
                             .last_ms = base + s->last_off,
                             .first = s->first,
                             .last = s->last,
                             .min = s->min,
                             .max = s->max,
                             .sum = s->sum};
}
