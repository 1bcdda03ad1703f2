/*
 * memory.c - see memory_int.h.
 */
#include "storage/codecs/memory_int.h"

#include "base/mem.h"
#include "storage/codecs/codec.h"

#define GROW_BYTES  64u          /* growth beyond the need, in addition to a quarter of it */
#define SPARE_BYTES (512u << 10) /* larger decoders are not kept in the pool */

static _Atomic uint64_t spare_bytes; /* bytes of all decoders in pools; a sum that orders nothing */

uint64_t sto_dec_spare_bytes(void)
{
    return atomic_load_explicit(&spare_bytes, memory_order_relaxed);
}

int sto_dec_memory__grow(struct sto_dec_memory *m, void *buf, size_t *cap, size_t need)
{
    void **p = buf;
    if (need <= *cap)
        return 0;
    size_t want = need + need / 4 + GROW_BYTES;
    TS_TRY(ts_tally_take(m->tally, want - *cap, m->err));
    ts_free(*p);
    *p = ts_try_malloc(want);
    size_t had = *cap;
    if (!*p) {
        ts_tally_give(m->tally, want);
        m->bytes -= had;
        *cap = 0;
        return TS_ENOMEM;
    }
    m->bytes += want - had;
    *cap = want;
    return 0;
}

int sto_dec_memory__count(struct sto_dec_memory *m, struct ts_tally *tally, struct ts_error *err)
{
    ts_tally_give(m->tally, m->bytes);
    m->tally = NULL;
    TS_TRY(ts_tally_take(tally, m->bytes, err));
    m->tally = tally;
    return 0;
}

void *sto_dec_memory__take(struct ts_spare *spares)
{
    struct sto_dec_memory *m = ts_spare_take(spares);
    if (m)
        atomic_fetch_sub_explicit(&spare_bytes, m->bytes, memory_order_relaxed);
    return m;
}

bool sto_dec_memory__keep(struct sto_dec_memory *m, struct ts_spare *spares)
{
    uint64_t n_bytes = m->bytes; /* read first: once it is in the pool, another thread may own it */
    (void)sto_dec_memory__count(m, NULL, NULL);
    if (n_bytes > SPARE_BYTES)
        return false;
    atomic_fetch_add_explicit(&spare_bytes, n_bytes, memory_order_relaxed);
    if (ts_spare_give(spares, m))
        return true;
    atomic_fetch_sub_explicit(&spare_bytes, n_bytes, memory_order_relaxed);
    return false;
}
