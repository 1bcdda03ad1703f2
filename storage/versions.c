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

void sto_versions_trim(struct sto_cells *c)
{
    struct sto_versions v;
    uint32_t to = 0;
    for (uint32_t at = 0; sto_versions_next(c, &at, &v);) {
        uint32_t keep = sto_meta_exp(c->meta[v.first + 2 * (v.n - 1)]), drop = v.n > keep ? v.n - keep : 0;
        uint32_t gone = drop || v.older_gone ? STO_META_MS : 0, from = v.first + 2 * drop;
        for (uint32_t i = from; i < v.first + 2 * v.n; i++, to++) {
            c->meta[to] = c->meta[i];
            c->m[to] = c->m[i];
        }
        c->meta[to - 2 * (v.n - drop)] |= gone;
    }
    c->n = to;
}
