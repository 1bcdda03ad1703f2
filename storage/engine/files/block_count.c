/*
 * block_count.c - walks the index of a file and adds up lengths of blocks.
 *
 * Threads    block_count.h
 */
#include "storage/engine/files/block_count.h"

#include "storage/engine/files/sst_int.h"

struct sto_block_count sto_block_count_of(struct sto_sst *sst, enum sto_sst_what what)
{
    struct sto_sst__file *f = what == STO_SST_POINTS ? &sst->t : &sst->s;
    return (struct sto_block_count){.sst = sst, .f = f, .index.x = &f->index};
}

static int one_or_error(int rc)
{
    return rc < 0 ? rc : 1;
}

int sto_block_count_add(struct sto_block_count *c, uint32_t metric, uint32_t series, int32_t lo, int32_t hi,
                        struct ts_error *err)
{
    const struct sto_key from = {metric, series, lo}, to = {metric, series, hi};
    struct sto_index_hit hit;
    int rc = c->next == c->index.x->n_blocks ? 0 : sto_index_find(&c->index, &from, &hit, err);
    if (rc == 1 && hit.i < c->next)
        rc = one_or_error(sto_index_at(&c->index, c->next, &hit, err));
    while (rc == 1 && sto_key_cmp(&hit.block.first, &to) <= 0) {
        c->n++;
        c->bytes += hit.block.len;
        c->next = hit.i + 1;
        if (c->next == c->index.x->n_blocks)
            break;
        rc = one_or_error(sto_index_at(&c->index, c->next, &hit, err));
    }
    return rc < 0 ? sto_sst__index_failed(c->sst, c->f, rc, err) : 0;
}

void sto_block_count_release(struct sto_block_count *c)
{
    sto_index_reader_release(&c->index);
}

uint64_t sto_block_count_file_bytes(const struct sto_block_count *c)
{
    return c->f->index.blocks_end - STO_SST_HEADER_BYTES;
}
