/*
 * mentions.c - finds the series that files and memstores mention; others may be forgotten.
 *
 * Threads    any but those of workers
 * Not here   forgetting (storage/forget.c, catalog/forget.c)
 */
#include "storage/engine/engine_int.h"

static void add_mem(roaring_bitmap_t *used, const struct sto_mem *mem)
{
    uint64_t pos = 0;
    size_t n;
    for (const struct sto_mem_row *r; (r = sto_mem_walk(mem, &pos));)
        roaring_bitmap_add(used, sto_mem_row_series(r)->id);
    const struct sto_tomb *tombs = sto_mem_tombs(mem, &n);
    for (size_t i = 0; i < n; i++)
        roaring_bitmap_add(used, tombs[i].series);
}

roaring_bitmap_t *sto_engine_used(struct sto_engine *e)
{
    roaring_bitmap_t *used = roaring_bitmap_create();
    struct sto_version *v = sto_engine_pin(e);
    bool known = true;
    for (size_t i = 0; i < v->n_ssts && known; i++) {
        known = !sto_sst_broken(v->ssts[i]);
        if (known)
            known = sto_sst_series_add_to(sto_sst_series(v->ssts[i]), used, NULL) == 0;
    }
    for (size_t i = 0; i < v->n_mems; i++)
        add_mem(used, v->mems[i]);
    sto_engine_unpin(e, v);
    if (known)
        return used;
    roaring_bitmap_free(used);
    return NULL;
}

int sto_engine_turned(struct sto_engine *e, struct ts_error *err)
{
    /* A worker answers the first wait in a turn before which it has sent all its open batches; the second
     * wait is queued after these. */
    TS_TRY(sto_engine_wait(e, false, err));
    return sto_engine_wait(e, false, err);
}
