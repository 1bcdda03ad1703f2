/*
 * sst_series.c - directory and pages of a set of series.
 *
 * Threads    sst_series.h
 */
#include "storage/engine/files/sst_series.h"

#include <inttypes.h>
#include <string.h>

#include "base/budget.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#define CHUNK_BYTES     (64u << 10) /* bytes read at a time when the file is opened */
#define COOKIE_NO_RUNS  12346u
#define COOKIE_RUNS     12347u
#define NO_OFFSETS      4u     /* fewer containers have no table of offsets if some hold runs */
#define KEYS            65536u /* most containers */
#define ARRAY_MOST      4096u  /* numbers of a container that is an array; with more it is a bitset */
#define CONTAINER_BYTES 8192u  /* most bytes of a container, bytes of a bitset */

static uint32_t key_of(const struct sto_sst_series *s, uint32_t i)
{
    return s->heads[i] & 0xffff;
}

static uint32_t count_of(const struct sto_sst_series *s, uint32_t i)
{
    return (s->heads[i] >> 16) + 1;
}

static bool is_run(const struct sto_sst_series *s, uint32_t i)
{
    return s->runs && (s->runs[i / 8] >> (i % 8) & 1);
}

/* Bytes of container i, which begins at p; 0: it is not whole, or invalid. */
static size_t container_bytes(const struct sto_sst_series *s, uint32_t i, const uint8_t *p, size_t have)
{
    size_t n = count_of(s, i) <= ARRAY_MOST ? 2 * (size_t)count_of(s, i) : CONTAINER_BYTES;
    if (is_run(s, i))
        n = have < 2 || ts_ld16(p) == 0 ? 0 : 2 + 4 * (size_t)ts_ld16(p);
    return n <= have && n <= CONTAINER_BYTES ? n : 0;
}

/* --- opening --- */

/* A set being read through a buffer. */
struct walk {
    uint8_t *buf; /* cap bytes; those from `at` to `have` are not consumed */
    size_t cap, at, have;
    uint64_t read_to; /* in the file */
    uint32_t crc;     /* of all that was read */
};

static int makes_no_sense(const struct sto_sst_series *s, struct ts_error *err)
{
    return ts_error_set(err, TS_ECORRUPT, "%s: series bitmap at %" PRIu64 " is damaged", s->file->path,
                        s->off);
}

/* Have n bytes in the buffer, or all that are left. */
static int need(const struct sto_sst_series *s, struct walk *w, size_t n, struct ts_error *err)
{
    if (w->have - w->at >= n || w->read_to == s->end)
        return 0;
    memmove(w->buf, w->buf + w->at, w->have - w->at);
    w->have -= w->at;
    w->at = 0;
    size_t want = w->cap - w->have, got = 0;
    want = s->end - w->read_to < want ? (size_t)(s->end - w->read_to) : want;
    TS_TRY(sto_handle_pread(s->file, w->buf + w->have, want, w->read_to, &got, err));
    if (got != want)
        return makes_no_sense(s, err);
    w->crc = ts_crc32c(w->crc, w->buf + w->have, want);
    w->have += want;
    w->read_to += want;
    return 0;
}

/* Consume n bytes; out NULL: they are skipped. */
static int take(const struct sto_sst_series *s, struct walk *w, void *out, size_t n, struct ts_error *err)
{
    while (n) {
        TS_TRY(need(s, w, 1, err));
        size_t part = w->have - w->at < n ? w->have - w->at : n;
        if (!part)
            return makes_no_sense(s, err);
        if (out) {
            memcpy(out, w->buf + w->at, part);
            out = (uint8_t *)out + part;
        }
        w->at += part;
        n -= part;
    }
    return 0;
}

static int no_memory(const struct sto_sst_series *s, struct ts_error *err)
{
    return ts_error_set(err, TS_ENOMEM, "%s: no memory for its series", s->file->path);
}

static int read_heads(struct sto_sst_series *s, struct walk *w, struct ts_error *err)
{
    uint32_t cookie;
    TS_TRY(take(s, w, &cookie, 4, err));
    bool has_runs = (cookie & 0xffff) == COOKIE_RUNS;
    s->n = (cookie >> 16) + 1;
    if (!has_runs)
        TS_TRY(take(s, w, &s->n, 4, err));
    if ((!has_runs && cookie != COOKIE_NO_RUNS) || s->n > KEYS || 4 * (uint64_t)s->n > s->end - s->off)
        return makes_no_sense(s, err);
    s->heads = ts_try_malloc(4 * (size_t)s->n + 1);
    s->runs = has_runs ? ts_try_malloc((s->n + 7) / 8) : NULL;
    if (!s->heads || (has_runs && !s->runs))
        return no_memory(s, err);
    if (has_runs)
        TS_TRY(take(s, w, s->runs, (s->n + 7) / 8, err));
    TS_TRY(take(s, w, s->heads, 4 * (size_t)s->n, err));
    for (uint32_t i = 0; i < s->n; i++) {
        if (i && key_of(s, i) <= key_of(s, i - 1))
            return makes_no_sense(s, err);
        s->count += count_of(s, i);
    }
    return has_runs && s->n < NO_OFFSETS ? 0 : take(s, w, NULL, 4 * (size_t)s->n, err);
}

/* The highest number of container i. */
static uint32_t last_of(const struct sto_sst_series *s, uint32_t i, const uint8_t *p, size_t n_bytes)
{
    uint32_t low = 0;
    if (is_run(s, i)) {
        low = (uint32_t)ts_ld16(p + n_bytes - 4) + ts_ld16(p + n_bytes - 2);
    } else if (count_of(s, i) <= ARRAY_MOST) {
        low = ts_ld16(p + n_bytes - 2);
    } else {
        size_t word = n_bytes / 8;
        while (word && !ts_ld64(p + 8 * (word - 1)))
            word--;
        low = word ? (uint32_t)(64 * word - 1) - (uint32_t)__builtin_clzll(ts_ld64(p + 8 * (word - 1))) : 0;
    }
    return key_of(s, i) << 16 | (low & 0xffff);
}

static int make_pages(struct sto_sst_series *s, struct walk *w, struct ts_error *err)
{
    size_t cap = 0, most = sto_pages_bytes(s->pages);
    TS_TRY(ts_budget_grow(NULL, &s->at, &cap, 1, sizeof *s->at, err));
    for (uint32_t i = 0; i < s->n; i++) {
        TS_TRY(need(s, w, CONTAINER_BYTES, err));
        const uint8_t *p = w->buf + w->at;
        size_t n_bytes = container_bytes(s, i, p, w->have - w->at);
        uint64_t pos = w->read_to - (w->have - w->at);
        if (!n_bytes)
            return makes_no_sense(s, err);
        if (!s->n_pages || pos + n_bytes - s->at[s->n_pages - 1].pos > most) {
            TS_TRY(ts_budget_grow(NULL, &s->at, &cap, s->n_pages + 2, sizeof *s->at, err));
            s->at[s->n_pages++] = (struct sto_sst_series_page){.pos = pos, .first = i};
        }
        struct sto_sst_series_page *page = &s->at[s->n_pages - 1];
        page->crc = ts_crc32c(page->crc, p, n_bytes);
        s->max = last_of(s, i, p, n_bytes);
        w->at += n_bytes;
    }
    s->at[s->n_pages] = (struct sto_sst_series_page){.pos = s->end, .first = s->n};
    return w->at == w->have && w->read_to == s->end ? 0 : makes_no_sense(s, err);
}

static int read_all(struct sto_sst_series *s, struct walk *w, uint32_t crc, struct ts_error *err)
{
    TS_TRY(read_heads(s, w, err));
    TS_TRY(make_pages(s, w, err));
    return w->crc == crc ? 0 : makes_no_sense(s, err);
}

int sto_sst_series_open(struct sto_sst_series *s, struct sto_handle *file, const struct sto_sst_footer *foot,
                        struct sto_pages *pages, struct ts_error *err)
{
    *s = (struct sto_sst_series){.file = file,
                                 .pages = pages,
                                 .owner = sto_pages_owner(),
                                 .off = foot->bitmap_off,
                                 .end = foot->index_off};
    bool is_short = sto_pages_eager(pages, s->end - s->off);
    struct walk w = {.cap = is_short ? (size_t)(s->end - s->off) : CHUNK_BYTES, .read_to = s->off};
    if (!(w.buf = ts_try_malloc(w.cap + 1)))
        return no_memory(s, err);
    int rc = read_all(s, &w, foot->bitmap_crc, err);
    if (rc == 0 && is_short)
        s->bytes = w.buf;
    else
        ts_free(w.buf);
    return rc;
}

void sto_sst_series_release(struct sto_sst_series *s)
{
    if (s->pages && !s->bytes)
        sto_pages_forget(s->pages, s->owner, s->n_pages);
    ts_free(s->heads);
    ts_free(s->runs);
    ts_free(s->at);
    ts_free(s->bytes);
    *s = (struct sto_sst_series){.n = 0};
}

size_t sto_sst_series_memory(const struct sto_sst_series *s)
{
    return 4 * (size_t)s->n + (s->runs ? (s->n + 7) / 8 : 0) + (s->n_pages + 1) * sizeof *s->at +
           (s->bytes ? (size_t)(s->end - s->off) : 0);
}

/* --- pages --- */

static size_t page_bytes(const struct sto_sst_series *s, uint32_t no)
{
    return (size_t)(s->at[no + 1].pos - s->at[no].pos);
}

static int damaged(struct sto_sst_series *s, struct ts_error *err)
{
    if (!atomic_exchange_explicit(&s->damaged, true, memory_order_relaxed)) /* a hint; needs no order */
        ts_log(TS_LOG_ERROR, "%s: series bitmap at %" PRIu64 " is damaged", s->file->path, s->off);
    return ts_error_set(err, TS_ECORRUPT,
                        "%s: series bitmap at %" PRIu64
                        " is damaged; a running tsd makes it again within a minute if "
                        "all rows can be read, else run tsd fsck",
                        s->file->path, s->off);
}

/* Do the containers of a page have its length? */
static bool is_page(const struct sto_sst_series *s, uint32_t no, const uint8_t *p)
{
    size_t left = page_bytes(s, no), n = 1;
    for (uint32_t i = s->at[no].first; n && i < s->at[no + 1].first; i++) {
        n = container_bytes(s, i, p, left);
        p += n;
        left -= n;
    }
    return n && !left;
}

static int new_page(struct sto_sst_series *s, uint32_t no, struct sto_page **out, struct ts_error *err)
{
    size_t n = page_bytes(s, no), got = 0;
    struct sto_page *page = sto_page_new(s->owner, no, (uint32_t)n);
    if (!page)
        return no_memory(s, err);
    int rc = sto_handle_pread(s->file, page->bytes, n, s->at[no].pos, &got, err);
    if (rc == 0 &&
        (got != n || ts_crc32c(0, page->bytes, n) != s->at[no].crc || !is_page(s, no, page->bytes)))
        rc = damaged(s, err);
    if (rc < 0) {
        ts_free(page);
        return rc;
    }
    *out = page;
    return 0;
}

/* Uses the bytes of a page, maybe while a shard of the cache is locked. */
typedef void page_fn(void *arg, const struct sto_sst_series *s, const uint8_t *p);

static int with_page(struct sto_sst_series *s, uint32_t no, bool alone, page_fn *use, void *arg,
                     struct ts_error *err)
{
    if (s->bytes) {
        use(arg, s, s->bytes + (s->at[no].pos - s->off));
        return 0;
    }
    bool shared = s->pages && !alone;
    const struct sto_page *found = shared ? sto_pages_enter(s->pages, s->owner, no) : NULL;
    if (found) {
        use(arg, s, found->bytes);
        sto_pages_leave(s->pages, found);
        return 0;
    }
    struct sto_page *page = NULL;
    TS_TRY(new_page(s, no, &page, err));
    use(arg, s, page->bytes);
    if (shared)
        sto_pages_put(s->pages, page);
    else
        ts_free(page);
    return 0;
}

/* --- single numbers --- */

/* A window to be filled. */
struct window {
    uint32_t from, i; /* first container of the page; the one that the window lies in */
    uint32_t low;     /* first number of the window, within its container */
    uint64_t *bits;
};

static void set_bits(struct window *w, uint32_t first, uint32_t last)
{
    uint32_t end = w->low + STO_SST_SERIES_WINDOW - 1;
    last = last < end ? last : end;
    for (uint32_t v = first > w->low ? first : w->low; v <= last; v++)
        w->bits[(v - w->low) / 64] |= 1ull << (v % 64);
}

/* The first of n items, of `size` bytes each and sorted by a number in their first two bytes, whose number is not below v. */
static uint32_t lower_bound(const uint8_t *p, size_t size, uint32_t n, uint32_t v)
{
    uint32_t lo = 0;
    while (lo < n) {
        uint32_t mid = lo + (n - lo) / 2;
        if (ts_ld16(p + size * mid) < v)
            lo = mid + 1;
        else
            n = mid;
    }
    return lo;
}

static void fill_bits(void *arg, const struct sto_sst_series *s, const uint8_t *p)
{
    struct window *w = arg;
    uint32_t end = w->low + STO_SST_SERIES_WINDOW;
    for (uint32_t i = w->from; i < w->i; i++)
        p += container_bytes(s, i, p, CONTAINER_BYTES);
    if (is_run(s, w->i)) {
        uint32_t n = ts_ld16(p), r = lower_bound(p + 2, 4, n, w->low);
        for (r -= r > 0; r < n && ts_ld16(p + 2 + 4 * r) < end; r++)
            set_bits(w, ts_ld16(p + 2 + 4 * r), (uint32_t)ts_ld16(p + 2 + 4 * r) + ts_ld16(p + 4 + 4 * r));
    } else if (count_of(s, w->i) <= ARRAY_MOST) {
        uint32_t n = count_of(s, w->i);
        for (uint32_t k = lower_bound(p, 2, n, w->low); k < n && ts_ld16(p + 2 * k) < end; k++)
            set_bits(w, ts_ld16(p + 2 * k), ts_ld16(p + 2 * k));
    } else {
        memcpy(w->bits, p + w->low / 8, STO_SST_SERIES_WINDOW / 8);
    }
}

/* The page of a container. */
static uint32_t page_of(const struct sto_sst_series *s, uint32_t i)
{
    uint32_t lo = 0, hi = s->n_pages;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->at[mid].first <= i)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* The first container whose key is not below `key`. */
static uint32_t container_of(const struct sto_sst_series *s, uint32_t key)
{
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (key_of(s, mid) < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int sto_sst_series_has(struct sto_sst_series *s, struct sto_sst_series_reader *r, uint32_t id,
                       struct ts_error *err)
{
    uint32_t base = id & ~(STO_SST_SERIES_WINDOW - 1);
    if (!r->filled || r->base != base) {
        uint32_t i = container_of(s, base >> 16);
        *r = (struct sto_sst_series_reader){.base = base};
        if (i < s->n && key_of(s, i) == base >> 16) {
            uint32_t no = page_of(s, i);
            struct window w = {.from = s->at[no].first, .i = i, .low = base & 0xffff, .bits = r->bits};
            TS_TRY(with_page(s, no, false, fill_bits, &w, err));
        }
        r->filled = true;
    }
    return (int)(r->bits[(id - base) / 64] >> (id % 64) & 1);
}

/* --- sets --- */

/* The containers of a page as a bitmap of their own, in portable form. */
struct part {
    uint32_t first, n;  /* containers */
    uint8_t *buf;       /* memory for them */
    size_t used, bytes; /* of buf; bytes of the page */
};

static void *put(struct part *part, size_t n)
{
    part->used += n;
    return memset(part->buf + part->used - n, 0, n);
}

static void copy_part(void *arg, const struct sto_sst_series *s, const uint8_t *p)
{
    struct part *part = arg;
    bool has_runs = false;
    for (uint32_t i = 0; i < part->n; i++)
        has_runs = has_runs || is_run(s, part->first + i);
    ts_st32(put(part, 4), has_runs ? COOKIE_RUNS | (part->n - 1) << 16 : COOKIE_NO_RUNS);
    if (has_runs) {
        uint8_t *runs = put(part, (part->n + 7) / 8);
        for (uint32_t i = 0; i < part->n; i++)
            runs[i / 8] |= (uint8_t)(is_run(s, part->first + i) << (i % 8));
    } else {
        ts_st32(put(part, 4), part->n);
    }
    memcpy(put(part, 4 * (size_t)part->n), s->heads + part->first, 4 * (size_t)part->n);
    if (!has_runs || part->n >= NO_OFFSETS) {
        uint8_t *offsets = put(part, 4 * (size_t)part->n);
        const uint8_t *at = p;
        for (uint32_t i = 0; i < part->n; i++) {
            ts_st32(offsets + 4 * (size_t)i, (uint32_t)(part->used + (size_t)(at - p)));
            at += container_bytes(s, part->first + i, at, CONTAINER_BYTES);
        }
    }
    memcpy(put(part, part->bytes), p, part->bytes);
}

static int part_of(struct sto_sst_series *s, uint32_t no, bool alone, roaring_bitmap_t **out,
                   struct ts_error *err)
{
    struct part part = {
        .first = s->at[no].first, .n = s->at[no + 1].first - s->at[no].first, .bytes = page_bytes(s, no)};
    part.buf = ts_try_malloc(8 + (part.n + 7) / 8 + 8 * (size_t)part.n + part.bytes);
    if (!part.buf)
        return no_memory(s, err);
    int rc = with_page(s, no, alone, copy_part, &part, err);
    if (rc == 0 && !(*out = roaring_bitmap_portable_deserialize_safe((const char *)part.buf, part.used)))
        rc = no_memory(s, err); /* its format was checked before */
    ts_free(part.buf);
    return rc;
}

/* Find the first page from *no on that may have numbers of the selection (NULL: all). */
static bool seek_page(const struct sto_sst_series *s, roaring_uint32_iterator_t *selection, uint32_t *no)
{
    for (; *no < s->n_pages; ++*no) {
        uint32_t lo = key_of(s, s->at[*no].first) << 16;
        uint32_t hi = key_of(s, s->at[*no + 1].first - 1) << 16 | 0xffff;
        if (selection && !roaring_move_uint32_iterator_equalorlarger(selection, lo))
            return false;
        if (!selection || selection->current_value <= hi)
            return true;
    }
    return false;
}

/* Visits parts of the set that may have numbers of a selection; true ends that. */
struct visit {
    const roaring_bitmap_t *selection; /* NULL: all */
    roaring_bitmap_t *out;             /* gets the numbers; NULL: the first one found is enough */
};

static bool visit_part(const struct visit *v, const roaring_bitmap_t *part)
{
    if (!v->out)
        return roaring_bitmap_intersect(part, v->selection);
    if (v->selection) {
        roaring_bitmap_t *both = roaring_bitmap_and(part, v->selection);
        roaring_bitmap_or_inplace(v->out, both);
        roaring_bitmap_free(both);
    } else {
        roaring_bitmap_or_inplace(v->out, part);
    }
    return false;
}

/* 1: a number was found, and it is enough; 0; < 0. */
static int visit_parts(struct sto_sst_series *s, const struct visit *v, struct ts_error *err)
{
    roaring_uint32_iterator_t it;
    if (v->selection)
        roaring_init_iterator(v->selection, &it);
    for (uint32_t no = 0; seek_page(s, v->selection ? &it : NULL, &no); no++) {
        roaring_bitmap_t *part;
        TS_TRY(part_of(s, no, !v->selection, &part, err));
        bool enough = visit_part(v, part);
        roaring_bitmap_free(part);
        if (enough)
            return 1;
    }
    return 0;
}

int sto_sst_series_meets(struct sto_sst_series *s, const roaring_bitmap_t *selection, struct ts_error *err)
{
    return visit_parts(s, &(struct visit){.selection = selection}, err);
}

int sto_sst_series_common(struct sto_sst_series *s, const roaring_bitmap_t *selection, roaring_bitmap_t *out,
                          struct ts_error *err)
{
    return visit_parts(s, &(struct visit){.selection = selection, .out = out}, err);
}

int sto_sst_series_add_to(struct sto_sst_series *s, roaring_bitmap_t *out, struct ts_error *err)
{
    return visit_parts(s, &(struct visit){.out = out}, err);
}
