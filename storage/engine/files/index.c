/*
 * index.c - fences and pages of an index.
 *
 * Threads    index.h
 */
#include "storage/engine/files/index.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define INDEX_CHUNK_BYTES (64u << 10) /* bytes read at a time while fences are made */
#define INDEX_NOWAIT_BYTES                                                                                   \
    (256u << 10) /* a thread that must not wait does not read a longer index: this one takes a millisecond */

static uint32_t n_pages(const struct sto_index *x)
{
    return (uint32_t)(((uint64_t)x->n_blocks + x->page_blocks - 1) / x->page_blocks);
}

void sto_index_init(struct sto_index *x, struct sto_handle *file, uint64_t file_bytes,
                    const struct sto_sst_footer *foot, struct sto_pages *pages)
{
    *x = (struct sto_index){.file = file,
                            .pages = pages,
                            .owner = sto_pages_owner(),
                            .n_blocks = foot->n_blocks,
                            .page_blocks = sto_pages_blocks(pages),
                            .crc = foot->index_crc,
                            .off = foot->index_off,
                            .end = file_bytes - STO_SST_FOOTER_BYTES,
                            .blocks_end = foot->tombs_off};
    atomic_init(&x->fences, NULL);
}

void sto_index_release(struct sto_index *x)
{
    struct sto_index_fence *fences = atomic_load_explicit(&x->fences, memory_order_relaxed);
    if (x->pages && fences)
        sto_pages_forget(x->pages, x->owner, n_pages(x));
    ts_free(fences);
    *x = (struct sto_index){.n_blocks = 0};
}

size_t sto_index_memory(struct sto_index *x)
{
    return atomic_load_explicit(&x->fences, memory_order_relaxed)
               ? ((size_t)n_pages(x) + 1) * sizeof(struct sto_index_fence)
               : 0;
}

static int damaged(const struct sto_index *x, struct ts_error *err)
{
    return ts_error_set(err, TS_ECORRUPT, "%s: index at %" PRIu64 " is damaged", x->file->path, x->off);
}

static int read_exactly(const struct sto_index *x, void *p, size_t n, uint64_t off, struct ts_error *err)
{
    size_t got = 0;
    TS_TRY(sto_handle_pread(x->file, p, n, off, &got, err));
    return got == n ? 0 : damaged(x, err);
}

/* --- fences --- */

/* An index being read through a buffer. */
struct walk {
    struct sto_index_fence *fences; /* to be filled */
    struct sto_sst_index_at at;     /* what the entries read so far say */
    uint64_t pos;                   /* of the next entry, in the file */
    uint32_t i;                     /* its number */
};

/* Decode the entries from p on that are certainly whole; returns the byte after the last one, NULL if they
 * are invalid. */
static const uint8_t *walk_entries(const struct sto_index *x, struct walk *w, const uint8_t *p,
                                   const uint8_t *end, bool last)
{
    struct sto_sst_block block;
    while (w->i < x->n_blocks && (last || end - p >= (ptrdiff_t)STO_SST_ENTRY_BYTES)) {
        struct sto_index_fence *fence = &w->fences[w->i / x->page_blocks];
        if (w->i % x->page_blocks == 0)
            *fence = (struct sto_index_fence){.at = w->at, .pos = w->pos};
        const uint8_t *next = sto_sst__get_entry(p, end, &w->at, &block);
        if (!next)
            return NULL;
        fence->crc = ts_crc32c(fence->crc, p, (size_t)(next - p));
        w->pos += (uint64_t)(next - p);
        w->i++;
        p = next;
    }
    return p;
}

static int make_fences(const struct sto_index *x, struct sto_index_fence *fences, uint8_t *buf,
                       struct ts_error *err)
{
    struct walk w = {.fences = fences, .at = STO_SST_INDEX_BEGIN, .pos = x->off};
    uint64_t read_to = x->off;
    uint32_t crc = 0;
    size_t have = 0; /* bytes in buf that are not walked yet */
    do {
        size_t n = INDEX_CHUNK_BYTES - have;
        n = x->end - read_to < n ? (size_t)(x->end - read_to) : n;
        TS_TRY(read_exactly(x, buf + have, n, read_to, err));
        crc = ts_crc32c(crc, buf + have, n);
        read_to += n;
        have += n;
        const uint8_t *p = walk_entries(x, &w, buf, buf + have, read_to == x->end);
        if (!p || (w.i == x->n_blocks && read_to < x->end))
            return damaged(x, err);
        have -= (size_t)(p - buf);
        memmove(buf, p, have);
    } while (read_to < x->end);
    if (have || crc != x->crc || w.at.off != x->blocks_end)
        return damaged(x, err);
    fences[n_pages(x)] = (struct sto_index_fence){.at = w.at, .pos = w.pos};
    return 0;
}

int sto_index_load(struct sto_index *x, struct ts_error *err)
{
    /* acquire: pairs with the exchange below, the fences were written before */
    if (atomic_load_explicit(&x->fences, memory_order_acquire))
        return 0;
    if (x->end - x->off > INDEX_NOWAIT_BYTES && ts_fs_is_nowait())
        return ts_error_set(err, TS_EBUSY, "%s: its index was not read yet", x->file->path);
    struct sto_index_fence *fences = ts_try_malloc(((size_t)n_pages(x) + 1) * sizeof *fences), *none = NULL;
    uint8_t *buf = ts_try_malloc(INDEX_CHUNK_BYTES);
    int rc = fences && buf ? make_fences(x, fences, buf, err)
                           : ts_error_set(err, TS_ENOMEM, "%s: no memory for an index of %u blocks",
                                          x->file->path, x->n_blocks);
    ts_free(buf);
    /* Several threads may have made them; only one set is kept. */
    if (rc < 0 || !atomic_compare_exchange_strong_explicit(&x->fences, &none, fences, memory_order_acq_rel,
                                                           memory_order_acquire))
        ts_free(fences);
    return rc;
}

/* --- pages --- */

static int read_page(const struct sto_index *x, const struct sto_index_fence *fence,
                     struct sto_sst_block *blocks, uint32_t n, struct ts_error *err)
{
    uint8_t buf[STO_PAGE_BLOCKS * STO_SST_ENTRY_BYTES];
    const uint8_t *p = buf, *end = buf + (fence[1].pos - fence->pos);
    struct sto_sst_index_at at = fence->at;
    TS_TRY(read_exactly(x, buf, (size_t)(end - buf), fence->pos, err));
    if (ts_crc32c(0, buf, (size_t)(end - buf)) != fence->crc)
        return damaged(x, err);
    for (uint32_t i = 0; i < n; i++)
        if (!(p = sto_sst__get_entry(p, end, &at, &blocks[i])))
            return damaged(x, err);
    return 0;
}

/* Read a page from the file; the caller owns it. */
static int new_page(const struct sto_index *x, const struct sto_index_fence *fences, uint32_t no,
                    struct sto_page **out, struct ts_error *err)
{
    uint32_t first = no * x->page_blocks, n = x->n_blocks - first;
    n = n < x->page_blocks ? n : x->page_blocks;
    struct sto_page *page = sto_page_new(x->owner, no, n * (uint32_t)sizeof(struct sto_sst_block));
    if (!page)
        return ts_error_set(err, TS_ENOMEM, "%s: no memory for a page of its index", x->file->path);
    int rc = read_page(x, &fences[no], (struct sto_sst_block *)(void *)page->bytes, n, err);
    if (rc < 0) {
        ts_free(page);
        return rc;
    }
    *out = page;
    return 0;
}

/* Find the first entry of a page whose last key is not below key; without a key, take entry `at`. */
static void pick(const struct sto_page *page, const struct sto_index_fence *fence, uint32_t page_blocks,
                 const struct sto_key *key, uint32_t at, struct sto_index_hit *out)
{
    const struct sto_sst_block *blocks = (const struct sto_sst_block *)(const void *)page->bytes;
    uint32_t hi = page->n_bytes / (uint32_t)sizeof *blocks;
    while (key && at < hi) {
        uint32_t mid = at + (hi - at) / 2;
        if (sto_key_cmp(&blocks[mid].last, key) < 0)
            at = mid + 1;
        else
            hi = mid;
    }
    out->i = page->no * page_blocks + at;
    out->block = blocks[at];
    out->before = at ? blocks[at - 1].last : fence->at.before;
}

/* As pick, in page `no`, whether it is cached, the reader's own, or must be read. */
static int pick_in(struct sto_index_reader *r, const struct sto_index_fence *fences, uint32_t no,
                   const struct sto_key *key, uint32_t at, struct sto_index_hit *out, struct ts_error *err)
{
    struct sto_index *x = r->x;
    struct sto_page *page = r->own && r->own->no == no ? r->own : NULL;
    bool shared = x->pages && !r->alone;
    const struct sto_page *found = shared ? sto_pages_enter(x->pages, x->owner, no) : NULL;
    if (found) {
        pick(found, &fences[no], x->page_blocks, key, at, out);
        sto_pages_leave(x->pages, found);
        return 0;
    }
    if (!page)
        TS_TRY(new_page(x, fences, no, &page, err));
    pick(page, &fences[no], x->page_blocks, key, at, out);
    if (shared) {
        sto_pages_put(x->pages, page);
    } else if (page != r->own) {
        ts_free(r->own);
        r->own = page;
    }
    return 0;
}

int sto_index_at(struct sto_index_reader *r, uint32_t i, struct sto_index_hit *out, struct ts_error *err)
{
    struct sto_index *x = r->x;
    if (i >= x->n_blocks)
        TS_BUG("block %u of %u", i, x->n_blocks);
    TS_TRY(sto_index_load(x, err));
    const struct sto_index_fence *fences = atomic_load_explicit(&x->fences, memory_order_acquire);
    return pick_in(r, fences, i / x->page_blocks, NULL, i % x->page_blocks, out, err);
}

int sto_index_find(struct sto_index_reader *r, const struct sto_key *key, struct sto_index_hit *out,
                   struct ts_error *err)
{
    struct sto_index *x = r->x;
    TS_TRY(sto_index_load(x, err));
    const struct sto_index_fence *fences = atomic_load_explicit(&x->fences, memory_order_acquire);
    uint32_t lo = 0, end = n_pages(x), hi = end;
    while (lo < hi) { /* fence i + 1 begins with the last key of page i */
        uint32_t mid = lo + (hi - lo) / 2;
        if (sto_key_cmp(&fences[mid + 1].at.before, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == end)
        return 0;
    int rc = pick_in(r, fences, lo, key, 0, out, err);
    return rc < 0 ? rc : 1;
}

void sto_index_reader_release(struct sto_index_reader *r)
{
    ts_free(r->own);
    r->own = NULL;
}
