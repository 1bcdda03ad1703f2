/*
 * versions.c - see versions.h.
 */
#include "storage/versions.h"

bool sto_versions_next(const struct sto_cells *c, uint32_t *at, struct sto_versions *out)
{
    uint32_t i = *at;
    while (i + 1 < c->n && (!sto_is_stamp(c->meta[i]) || sto_is_stamp(c->meta[i + 1]) ||
                            sto_meta_off(c->meta[i]) != sto_meta_off(c->meta[i + 1])))
        i++;
    if (i + 1 >= c->n) {
        *at = c->n;
        return false;
    }
    *out = (struct sto_versions){.off = sto_meta_off(c->meta[i]), .first = i};
    out->older_gone = c->meta[i] & STO_META_MS;
    while (i + 1 < c->n && sto_meta_off(c->meta[i]) == out->off && sto_is_stamp(c->meta[i]) &&
           !sto_is_stamp(c->meta[i + 1]) && sto_meta_off(c->meta[i + 1]) == out->off) {
        out->n++;
        i += 2;
    }
    *at = i;
    return true;
}

/* Remove cells that are no pair of stamp and value. */
static void drop_single(struct sto_cells *c)
{
    uint32_t to = 0, step;
    for (uint32_t i = 0; i + 1 < c->n; i += step) {
        uint32_t a = c->meta[i], b = c->meta[i + 1];
        bool pair = sto_is_stamp(a) && !sto_is_stamp(b) && sto_meta_op(b) == STO_OP_KEEP &&
                    sto_meta_off(a) == sto_meta_off(b);
        step = pair ? 2 : 1;
        for (uint32_t k = 0; pair && k < 2; k++, to++) {
            c->meta[to] = c->meta[i + k];
            c->m[to] = c->m[i + k];
        }
    }
    c->n = to;
}

/* How many of the oldest go. The version that has dropped the last one that is gone is not older than the oldest that stays, so it stays too, and
 * drops whatever is put before it later. So the result is the same however a history is divided into sources that are trimmed and joined. */
static uint32_t n_dropped(const struct sto_cells *c, const struct sto_versions *v)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t keep = sto_meta_exp(c->meta[v->first + 2 * i]);
        if (i + 1 - first > keep)
            first = i + 1 - keep;
    }
    return first;
}

void sto_versions_trim(struct sto_cells *c)
{
    struct sto_versions v;
    uint32_t to = 0;
    drop_single(c);
    for (uint32_t at = 0; sto_versions_next(c, &at, &v);) {
        uint32_t drop = n_dropped(c, &v), gone = drop || v.older_gone ? STO_META_MS : 0, first = to;
        for (uint32_t i = v.first + 2 * drop; i < v.first + 2 * v.n; i++, to++) {
            c->meta[to] = c->meta[i];
            c->m[to] = c->m[i];
        }
        c->meta[first] |= gone;
    }
    c->n = to;
}
