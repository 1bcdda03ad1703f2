/*
 * sample.c - reads blocks at equal distances.
 *
 * Threads    sample.h
 */
#include "storage/engine/files/sample.h"

#include "storage/engine/files/sst_int.h"

/* Read the rows from the first to the last key of a block. */
static int read_block(struct sto_sst_cur *cur, const struct sto_sst_block *b, sto_sample_fn each, void *arg,
                      struct ts_error *err)
{
    const struct sto_cells *cells;
    int rc = sto_sst_cur_seek(cur, &b->first, err);
    for (; rc == 1 && sto_key_cmp(sto_sst_cur_key(cur), &b->last) <= 0; rc = sto_sst_cur_next(cur, err)) {
        TS_TRY(sto_sst_cur_cells(cur, &cells, err));
        each(arg, sto_sst_cur_key(cur), cells->n);
    }
    return rc < 0 ? rc : 0;
}

int sto_sample_rows(struct sto_sst *sst, uint32_t n_blocks, sto_sample_fn each, void *arg,
                    struct ts_error *err)
{
    struct sto_index_reader reader = {.x = &sst->t.index, .alone = true};
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
    uint32_t n = reader.x->n_blocks, n_read = n < n_blocks ? n : n_blocks;
    struct sto_index_hit hit;
    int rc = 0;
    sto_sst_cur_set_walk(cur);
    for (uint32_t k = 0; rc == 0 && k < n_read; k++) {
        rc = sto_index_at(&reader, (uint32_t)((uint64_t)n * k / n_read), &hit, err);
        if (rc < 0)
            rc = sto_sst__index_failed(sst, &sst->t, rc, err);
        else
            rc = read_block(cur, &hit.block, each, arg, err);
    }
    sto_sst_cur_free(cur);
    sto_index_reader_release(&reader);
    return rc;
}

uint32_t sto_sample_blocks(const struct sto_sst *sst)
{
    return sst->t.index.n_blocks;
}

int sto_sample_keys(struct sto_sst *sst, uint32_t step, sto_sample_fn each, void *arg, struct ts_error *err)
{
    struct sto_index_reader reader = {.x = &sst->t.index, .alone = true};
    struct sto_index_hit hit;
    int rc = 0;
    for (uint64_t i = step - 1; i < reader.x->n_blocks && rc == 0; i += step) {
        rc = sto_index_at(&reader, (uint32_t)i, &hit, err);
        if (rc == 0)
            each(arg, &hit.block.last, 0);
    }
    sto_index_reader_release(&reader);
    return rc < 0 ? sto_sst__index_failed(sst, &sst->t, rc, err) : 0;
}
