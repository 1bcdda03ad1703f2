/*
 * fold.c - turns operations on one row into sorted cells: a stable sort by offset, then one pass.
 *
 * Threads    pure functions
 * Invariant  no input makes it quadratic: a time written a million times and a million deletes are sorted,
 *            and each cell is marked as deleted at most once
 * Not here   where operations come from (memstore_read.c), rows of several sources (merge_cells.c)
 */
#include "storage/engine/memory/fold.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "storage/versions.h"

#define STACK_CELLS                                                                                          \
    256 /* rows of up to this many operations need no heap; most unsorted rows of a memstore have fewer */
#define INSERTION_MAX 24 /* below, looking for order costs more */
#define RADIX_BITS    11 /* two passes sort the 22 bits of an offset */
#define RADIX_BUCKETS (1u << RADIX_BITS)
#define MANTISSA_MAX  (1ll << 53) /* of a decimal (base/num.h) */
#define KEY_OFF_SHIFT 32          /* a key is offset << 32 | index in order of arrival */

static const struct ts_num overflow = {.m = STO_SUM_OVERFLOW, .kind = TS_NUM_RAW};

static bool is_overflow(struct ts_num v)
{
    return v.kind == TS_NUM_RAW && v.m == STO_SUM_OVERFLOW;
}

/* The mantissa of an integer or decimal with exp digits after the point, if it is at most 2^53. */
static bool mantissa(struct ts_num v, unsigned exp, int64_t *out)
{
    int64_t m = v.m;
    for (unsigned i = v.kind == TS_NUM_DEC ? v.exp : 0; i < exp; i++)
        if (__builtin_mul_overflow(m, 10, &m))
            return false;
    *out = m;
    return v.kind != TS_NUM_RAW && m <= MANTISSA_MAX && m >= -MANTISSA_MAX;
}

struct ts_num sto_num_add(struct ts_num a, struct ts_num b)
{
    int64_t x, y;
    if (is_overflow(a) || is_overflow(b))
        return overflow;
    if (a.kind == TS_NUM_INT && b.kind == TS_NUM_INT)
        return __builtin_add_overflow(a.m, b.m, &x) ? overflow : (struct ts_num){.m = x, .kind = TS_NUM_INT};
    unsigned ea = a.kind == TS_NUM_DEC ? a.exp : 0, eb = b.kind == TS_NUM_DEC ? b.exp : 0;
    unsigned exp = ea > eb ? ea : eb;
    if (mantissa(a, exp, &x) && mantissa(b, exp, &y) && x + y <= MANTISSA_MAX && x + y >= -MANTISSA_MAX)
        return (struct ts_num){.m = x + y, .kind = TS_NUM_DEC, .exp = (uint8_t)exp};
    double sum = ts_num_double(a) + ts_num_double(b);
    return isfinite(sum) ? ts_num_from_double(sum) : overflow;
}

void sto_fold_uniform(struct sto_cells *c)
{
    uint32_t diff = 0, first = c->n ? c->meta[0] : 0;
    for (uint32_t i = 0; i < c->n; i++)
        diff |= c->meta[i] ^ first;
    c->uniform = (diff & STO_META_FLAGS_MASK) == 0;
    c->common = first & STO_META_FLAGS_MASK;
}

static uint32_t key_off(uint64_t key)
{
    return (uint32_t)(key >> KEY_OFF_SHIFT);
}

static void sort_insertion(uint64_t *keys, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint64_t k = keys[i];
        uint32_t j = i;
        for (; j > 0 && keys[j - 1] > k; j--)
            keys[j] = keys[j - 1];
        keys[j] = k;
    }
}

static void radix_pass(const uint64_t *from, uint64_t *to, uint32_t n, unsigned shift)
{
    uint32_t at[RADIX_BUCKETS] = {0};
    for (uint32_t i = 0; i < n; i++)
        at[from[i] >> shift & (RADIX_BUCKETS - 1)]++;
    for (uint32_t b = 0, sum = 0; b < RADIX_BUCKETS; b++) {
        uint32_t count = at[b];
        at[b] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        to[at[from[i] >> shift & (RADIX_BUCKETS - 1)]++] = from[i];
}

/* Merge a keys in keys and b keys in late, both sorted, into keys; from the end, so that no further memory
 * is needed. */
static void merge_late(uint64_t *keys, uint32_t a, const uint64_t *late, uint32_t b)
{
    while (b > 0) {
        bool take_late = a == 0 || keys[a - 1] < late[b - 1];
        keys[a + b - 1] = take_late ? late[b - 1] : keys[a - 1];
        b -= take_late;
        a -= !take_late;
    }
}

/* Keys are in order of arrival, which is mostly the order of time: the late ones are removed, sorted
 * separately (from a second sender they are in order, too) and merged. If there are many, a radix sort by
 * offset follows. It is stable, and that sorts whole keys: of equal offsets, those that were not late come
 * first. */
static void sort_keys(uint64_t *keys, uint64_t *tmp, uint32_t n)
{
    if (n <= INSERTION_MAX) {
        sort_insertion(keys, n);
        return;
    }
    uint32_t a = 0, b = 0;
    uint64_t max = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t k = keys[i];
        bool late = k < max;
        tmp[b] = k;
        keys[a] = k;
        b += late;
        a += !late;
        max = late ? max : k;
    }
    if (b <= n / 2) {
        sort_keys(tmp, tmp + b, b);
        merge_late(keys, a, tmp, b);
        return;
    }
    memcpy(keys + a, tmp, b * sizeof(*keys));
    radix_pass(keys, tmp, n, KEY_OFF_SHIFT);
    radix_pass(tmp, keys, n, KEY_OFF_SHIFT + RADIX_BITS);
}

static uint32_t lower_bound(const uint64_t *keys, uint32_t n, uint64_t key)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (keys[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* First index >= i that is not marked; jump[n] = n ends the search. Halves paths on the way. */
static uint32_t find_unpainted(uint32_t *jump, uint32_t i)
{
    while (jump[i] != i) {
        jump[i] = jump[jump[i]];
        i = jump[i];
    }
    return i;
}

/* Drop keys that a later delete covers. The latest delete marks first; marked keys are skipped from then
 * on. */
static uint32_t drop_deleted(const uint32_t *meta, const int64_t *m, uint32_t n, uint64_t *keys,
                             uint32_t n_keys)
{
    uint32_t *jump = ts_xmalloc((n_keys + 1u) * sizeof(*jump));
    uint32_t *killer = ts_xcalloc(n_keys, sizeof(*killer)); /* place of the delete + 1 */
    for (uint32_t i = 0; i <= n_keys; i++)
        jump[i] = i;
    for (uint32_t d = n; d-- > 0;) {
        if (sto_meta_op(meta[d]) != STO_OP_DEL)
            continue;
        uint32_t k =
            find_unpainted(jump, lower_bound(keys, n_keys, (uint64_t)sto_meta_off(meta[d]) << KEY_OFF_SHIFT));
        while (k < n_keys && (int64_t)key_off(keys[k]) <= m[d]) {
            killer[k] = d + 1;
            jump[k] = k + 1;
            k = find_unpainted(jump, k + 1);
        }
    }
    uint32_t kept = 0;
    for (uint32_t k = 0; k < n_keys; k++)
        if ((uint32_t)keys[k] >= killer[k])
            keys[kept++] = keys[k];
    ts_free(killer);
    ts_free(jump);
    return kept;
}

/* Apply (meta, m) to a cell: a put replaces it, an add is summed. The newest write decides whether the
 * time counts as milliseconds. */
void sto_fold_on_top(uint32_t *cell_meta, int64_t *cell_m, uint32_t meta, int64_t m)
{
    if (sto_meta_op(meta) == STO_OP_PUT) {
        *cell_meta = meta;
        *cell_m = m;
        return;
    }
    struct ts_num sum = sto_num_add(sto_cell_num(*cell_meta, *cell_m), sto_cell_num(meta, m));
    *cell_meta =
        sto_meta_flags((enum sto_op)sto_meta_op(*cell_meta), sum.kind, sum.exp, (meta & STO_META_MS) != 0) |
        sto_meta_off(meta);
    *cell_m = sum.m;
}

static uint32_t fold_points(const uint32_t *meta, const int64_t *m, const uint64_t *keys, uint32_t n_keys,
                            struct sto_cells *out)
{
    uint32_t k = 0; /* cells in out */
    for (uint32_t i = 0; i < n_keys; i++) {
        uint32_t at = (uint32_t)keys[i];
        if (k > 0 && sto_meta_off(out->meta[k - 1]) == key_off(keys[i])) {
            sto_fold_on_top(&out->meta[k - 1], &out->m[k - 1], meta[at], m[at]);
        } else {
            out->meta[k] = meta[at];
            out->m[k] = m[at];
            k++;
        }
    }
    return k;
}

static void fold_versions(const uint32_t *meta, const int64_t *m, const uint64_t *keys, uint32_t n_keys,
                          struct sto_cells *out)
{
    for (uint32_t i = 0; i < n_keys; i++) {
        out->meta[i] = meta[(uint32_t)keys[i]];
        out->m[i] = m[(uint32_t)keys[i]];
    }
    out->n = n_keys;
    sto_versions_trim(out);
}

void sto_fold(const uint32_t *meta, const int64_t *m, uint32_t n, struct sto_cells *out)
{
    uint64_t stack_keys[2 * STACK_CELLS];
    uint64_t *keys = n <= STACK_CELLS ? stack_keys : ts_xmalloc((size_t)n * 2 * sizeof(*keys));
    uint32_t n_keys = 0, kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        kept |= meta[i] & meta[i] << 1; /* the highest bit: both bits of the operation, which is KEEP */
        if (sto_meta_op(meta[i]) != STO_OP_DEL)
            keys[n_keys++] = (uint64_t)sto_meta_off(meta[i]) << KEY_OFF_SHIFT | i;
    }
    sort_keys(keys, keys + n, n_keys);
    if (n_keys < n && n_keys > 0)
        n_keys = drop_deleted(meta, m, n, keys, n_keys);

    sto_cells_reserve(out, n_keys);
    if (kept >> 31)
        fold_versions(meta, m, keys, n_keys, out);
    else
        out->n = fold_points(meta, m, keys, n_keys, out);
    sto_fold_uniform(out);
    if (keys != stack_keys)
        ts_free(keys);
}
_Static_assert(STO_META_OP_SHIFT == 30 && STO_OP_KEEP == 3, "sto_fold looks for both bits of an operation");
