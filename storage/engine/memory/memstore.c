/*
 * memstore.c - rows of one generation: writing, and finding a row.
 *
 * Threads    the owner applies; all else from any thread that holds a reference
 * Invariant  what is published (row, cell, leaf, branch, root, tombstone) is never changed or moved; a table
 *            that grows is replaced by a new one, and the old one stays in the arena
 * Not here   cells of a row in order of time (memstore_read.c), tombstones (memstore_tomb.c)
 */
#include "storage/engine/memory/memstore.h"

#include <string.h>

#include "base/hash.h"
#include "base/thread.h"
#include "storage/engine/memory/memstore_int.h"
#include "storage/slots.h"

#define INDEX_FROM    8  /* up to this many rows of a series are searched one by one, more by hash */
#define INDEX_FIRST   64 /* slots of a new index */
#define ROOT_FIRST    4
#define LEAF_HEADS    (1u << STO_MEM_LEAF_BITS)
#define BRANCH_LEAVES (1u << STO_MEM_BRANCH_BITS)
#define BRANCH_SLOTS  (LEAF_HEADS * BRANCH_LEAVES)
#define WALK_AHEAD    2 /* leaves whose first row is prefetched while walking */
#define NO_HOUR_LO    INT32_MAX
#define NO_HOUR_HI    INT32_MIN

/* Stages of a point in sto_mem_apply, in points after it entered the pipeline: prefetch the pointer to its
 * leaf, then its head, then the row, then the row's tail; then apply it. Each stage needs what the
 * previous one prefetched (bench_memstore, 10,000 series). */
#define AT_LEAF     4
#define AT_HEAD     7
#define AT_ROW      10
#define AT_TAIL     13
#define AT_APPLY    16
#define AHEAD_SLOTS 16 /* power of two, more than AT_APPLY - AT_LEAF */

/* First rows of 8 series. */
struct mem_leaf {
    _Atomic(struct sto_mem_row *) heads[LEAF_HEADS]; /* stored with release; newest row of the series */
};

struct mem_branch {
    _Atomic(struct mem_leaf *)
        leaves[BRANCH_LEAVES]; /* NULL = none of these series has rows; stored with release */
};

/* Branches by slot >> 10. Grows by replacement. */
struct mem_root {
    uint64_t n;                              /* capacity */
    _Atomic(struct mem_branch *) branches[]; /* NULL = none of these series has rows; stored with release */
};

struct sto_mem {
    /* Read by any thread, changed by the owner; pointers are loaded with acquire. */
    _Atomic(struct mem_root *) root;    /* release */
    struct sto_mem__tombs tombs;        /* see struct sto_mem__tombs */
    _Atomic int32_t min_hour, max_hour; /* release: bounds of the rows' hours */
    _Atomic uint64_t n_points;          /* relaxed: statistics */
    _Atomic size_t index_bytes;         /* relaxed: statistics, memory of index */
    struct ts_arena arena;              /* owner: all rows, chunks, leaves, branches, roots, tombstones */
    struct sto_mem_row *
        *index;       /* owner: open-addressing hash of rows of series with many rows; NULL = none yet */
    size_t index_cap; /* owner: slots, power of two */
    size_t n_index;   /* owner: slots used */
    uint64_t gen;     /* fixed */
    uint16_t owner;   /* fixed */
    uint32_t n_shards, n_owners; /* fixed */
    struct sto_slots slots;      /* fixed */
    char pad[64];                /* keeps readers' counting off the owner's cache lines */
    _Atomic uint32_t refs;       /* any thread; the last unref frees */
};

struct sto_mem *sto_mem_new(uint64_t gen, uint16_t owner, struct sto_shard_spread spread)
{
    struct sto_mem *mem = ts_xcalloc(1, sizeof(*mem));
    mem->gen = gen;
    mem->owner = owner;
    mem->n_owners = spread.n_owners;
    mem->n_shards = spread.n_shards;
    mem->slots = sto_slots_of(spread);
    ts_arena_init(&mem->arena, 0);
    atomic_init(&mem->min_hour, NO_HOUR_LO);
    atomic_init(&mem->max_hour, NO_HOUR_HI);
    atomic_init(&mem->refs, 1);
    return mem;
}

void sto_mem_count_in(struct sto_mem *mem, struct ts_budget *account)
{
    mem->arena.budget = account;
}

struct sto_mem *sto_mem_ref(struct sto_mem *mem)
{
    atomic_fetch_add_explicit(&mem->refs, 1, memory_order_relaxed);
    return mem;
}

void sto_mem_unref(struct sto_mem *mem)
{
    /* acq_rel: everything that other threads did with the memstore happens before it is freed */
    if (!mem || atomic_fetch_sub_explicit(&mem->refs, 1, memory_order_acq_rel) != 1)
        return;
    ts_arena_release(&mem->arena);
    ts_free(mem->index);
    ts_free(mem);
}

uint64_t sto_mem_gen(const struct sto_mem *mem)
{
    return mem->gen;
}

uint16_t sto_mem_owner(const struct sto_mem *mem)
{
    return mem->owner;
}

size_t sto_mem_counted_bytes(const struct sto_mem *mem)
{
    return __atomic_load_n(&mem->arena.used_bytes, __ATOMIC_RELAXED);
}

size_t sto_mem_bytes(const struct sto_mem *mem)
{
    return sizeof(*mem) + sto_mem_counted_bytes(mem) +
           atomic_load_explicit(&mem->index_bytes, memory_order_relaxed);
}

uint64_t sto_mem_points(const struct sto_mem *mem)
{
    return atomic_load_explicit(&mem->n_points, memory_order_relaxed);
}

bool sto_mem_time_range(const struct sto_mem *mem, int64_t *out_min_ms, int64_t *out_max_ms)
{
    /* acquire: a reader that sees an hour also sees everything that the owner wrote before, also to older
     * memstores */
    int32_t lo = atomic_load_explicit(&mem->min_hour, memory_order_acquire);
    int32_t hi = atomic_load_explicit(&mem->max_hour, memory_order_acquire);
    if (lo > hi)
        return false;
    *out_min_ms = lo * TS_HOUR_MS;
    *out_max_ms = hi * TS_HOUR_MS + TS_HOUR_MS - 1;
    return true;
}

bool sto_mem_takes(const struct sto_mem *mem, const struct sto_series *series)
{
    return mem->n_owners == 1 || sto_shard_of(series, mem->n_shards) % mem->n_owners == mem->owner;
}

/* --- the way to a row --- */

static inline uint64_t slot_of(const struct sto_mem *mem, const struct sto_series *series)
{
    return sto_slots_at(&mem->slots, series);
}

static inline struct mem_branch *branch_at(const struct sto_mem *mem, uint64_t slot)
{
    /* acquire here and below: partners are grow_root, owner_leaf and link_row */
    const struct mem_root *root = atomic_load_explicit(&mem->root, memory_order_acquire);
    uint64_t i = slot / BRANCH_SLOTS;
    return root && i < root->n ? atomic_load_explicit(&root->branches[i], memory_order_acquire) : NULL;
}

static inline struct mem_leaf *leaf_at(const struct mem_branch *branch, uint64_t slot)
{
    return branch ? atomic_load_explicit(&branch->leaves[slot / LEAF_HEADS % BRANCH_LEAVES],
                                         memory_order_acquire)
                  : NULL;
}

const struct sto_mem_row *sto_mem_rows(const struct sto_mem *mem, const struct sto_series *series)
{
    uint64_t slot = slot_of(mem, series);
    if (!sto_mem_takes(mem, series))
        return NULL; /* the slot belongs to another series here */
    if ((series->id >= STO_FOREIGN) != (mem->owner == STO_MEM_FOREIGN))
        return NULL; /* numbers within a shard of foreign series and of others overlap */
    struct mem_leaf *leaf = leaf_at(branch_at(mem, slot), slot);
    return leaf ? atomic_load_explicit(&leaf->heads[slot % LEAF_HEADS], memory_order_acquire) : NULL;
}

const struct sto_mem_row *sto_mem_walk(const struct sto_mem *mem, uint64_t *pos)
{
    const struct mem_root *root = atomic_load_explicit(&mem->root, memory_order_acquire);
    uint64_t end = root ? root->n * BRANCH_SLOTS : 0, slot = *pos;
    while (slot < end) {
        const struct mem_branch *branch = branch_at(mem, slot);
        if (!branch) {
            slot = (slot / BRANCH_SLOTS + 1) * BRANCH_SLOTS;
            continue;
        }
        const struct mem_leaf *leaf = leaf_at(branch, slot);
        if (!leaf) {
            slot = (slot / LEAF_HEADS + 1) * LEAF_HEADS;
            continue;
        }
        uint64_t ahead = slot + WALK_AHEAD * LEAF_HEADS;
        const struct mem_leaf *next =
            ahead / BRANCH_SLOTS == slot / BRANCH_SLOTS ? leaf_at(branch, ahead) : NULL;
        if (next)
            __builtin_prefetch(atomic_load_explicit(&next->heads[slot % LEAF_HEADS], memory_order_relaxed));
        const struct sto_mem_row *row =
            atomic_load_explicit(&leaf->heads[slot % LEAF_HEADS], memory_order_acquire);
        slot++;
        if (row) {
            *pos = slot;
            return row;
        }
    }
    *pos = slot;
    return NULL;
}

const struct sto_mem_row *sto_mem_row_next(const struct sto_mem_row *row)
{
    return row->next;
}

const struct sto_series *sto_mem_row_series(const struct sto_mem_row *row)
{
    return row->series;
}

int32_t sto_mem_row_hour(const struct sto_mem_row *row)
{
    return row->hour;
}

const struct sto_tomb *sto_mem_tombs(const struct sto_mem *mem, size_t *out_n)
{
    return sto_mem__tombs_all(&mem->tombs, out_n);
}

size_t sto_mem_tombs_last(const struct sto_mem *mem, uint32_t series)
{
    return sto_mem__tombs_last(&mem->tombs, series);
}

const struct sto_tomb *sto_mem_tomb(const struct sto_mem *mem, size_t place, size_t *out_before)
{
    return sto_mem__tombs_at(&mem->tombs, place, out_before);
}

/* --- the owner's tables --- */

static struct mem_root *grow_root(struct sto_mem *mem, uint64_t branch_no)
{
    const struct mem_root *old = atomic_load_explicit(&mem->root, memory_order_relaxed);
    uint64_t n = old ? old->n : ROOT_FIRST / 2;
    do
        n *= 2;
    while (n <= branch_no);
    struct mem_root *root = ts_arena_zalloc(&mem->arena, sizeof(*root) + n * sizeof(root->branches[0]));
    root->n = n;
    for (uint64_t i = 0; old && i < old->n; i++)
        atomic_init(&root->branches[i], atomic_load_explicit(&old->branches[i], memory_order_relaxed));
    atomic_store_explicit(&mem->root, root, memory_order_release); /* partner: branch_at */
    return root;
}

/* The leaf of a slot, created if it is missing. */
static struct mem_leaf *owner_leaf(struct sto_mem *mem, uint64_t slot)
{
    struct mem_root *root = atomic_load_explicit(&mem->root, memory_order_relaxed);
    uint64_t i = slot / BRANCH_SLOTS;
    if (!root || i >= root->n)
        root = grow_root(mem, i);
    struct mem_branch *branch = atomic_load_explicit(&root->branches[i], memory_order_relaxed);
    if (!branch) {
        branch = ts_arena_zalloc(&mem->arena, sizeof(*branch));
        atomic_store_explicit(&root->branches[i], branch, memory_order_release); /* partner: branch_at */
    }
    _Atomic(struct mem_leaf *) *at = &branch->leaves[slot / LEAF_HEADS % BRANCH_LEAVES];
    struct mem_leaf *leaf = atomic_load_explicit(at, memory_order_relaxed);
    if (!leaf) {
        leaf = ts_arena_zalloc(&mem->arena, sizeof(*leaf));
        atomic_store_explicit(at, leaf, memory_order_release); /* partner: leaf_at */
    }
    return leaf;
}

static size_t index_hash(const struct sto_mem *mem, uint32_t id, int32_t hour)
{
    return (size_t)ts_hash_u64((uint64_t)id << 32 | (uint32_t)hour) & (mem->index_cap - 1);
}

static void index_put(struct sto_mem *mem, struct sto_mem_row *row)
{
    size_t i = index_hash(mem, row->series->id, row->hour);
    while (mem->index[i])
        i = (i + 1) & (mem->index_cap - 1);
    mem->index[i] = row;
    mem->n_index++;
}

static void index_add(struct sto_mem *mem, struct sto_mem_row *row)
{
    if (mem->n_index * 2 >= mem->index_cap) {
        struct sto_mem_row **old = mem->index;
        size_t old_cap = mem->index_cap;
        mem->index_cap = old_cap ? old_cap * 2 : INDEX_FIRST;
        mem->index = ts_xcalloc(mem->index_cap, sizeof(struct sto_mem_row *));
        mem->n_index = 0;
        for (size_t i = 0; i < old_cap; i++)
            if (old[i])
                index_put(mem, old[i]);
        ts_free(old);
        atomic_store_explicit(&mem->index_bytes, mem->index_cap * sizeof(struct sto_mem_row *),
                              memory_order_relaxed);
    }
    index_put(mem, row);
}

static struct sto_mem_row *index_find(const struct sto_mem *mem, uint32_t id, int32_t hour)
{
    for (size_t i = index_hash(mem, id, hour); mem->index[i]; i = (i + 1) & (mem->index_cap - 1))
        if (mem->index[i]->hour == hour && mem->index[i]->series->id == id)
            return mem->index[i];
    return NULL;
}

/* --- writing --- */

static struct sto_mem_row *link_row(struct sto_mem *mem, _Atomic(struct sto_mem_row *) *head,
                                    const struct sto_series *series, int32_t hour)
{
    struct sto_mem_row *older = atomic_load_explicit(head, memory_order_relaxed);
    struct sto_mem_row *row = ts_arena_alloc(&mem->arena, sizeof(*row));
    row->series = series;
    row->next = older;
    row->tail = row->first;
    row->hour = hour;
    atomic_init(&row->state, 0);
    row->min_off = 0;
    row->left = STO_MEM_FIRST_CELLS;
    row->chunk_log = (unsigned)__builtin_ctz(STO_MEM_FIRST_CELLS) & 7;
    row->depth =
        (older ? older->depth + (older->depth < STO_MEM_DEPTH_MAX ? 1u : 0u) : 0u) & STO_MEM_DEPTH_MAX;
    row->sent_high = 0;
    row->sent_low = 0;
    if (row->depth == INDEX_FROM)
        for (struct sto_mem_row *r = older; r; r = r->next)
            index_add(mem, r);
    if (row->depth >= INDEX_FROM)
        index_add(mem, row);
    if (hour < atomic_load_explicit(&mem->min_hour, memory_order_relaxed))
        atomic_store_explicit(&mem->min_hour, hour, memory_order_release);
    if (hour > atomic_load_explicit(&mem->max_hour, memory_order_relaxed))
        atomic_store_explicit(&mem->max_hour, hour, memory_order_release);
    atomic_store_explicit(head, row, memory_order_release); /* partner: sto_mem_rows */
    return row;
}

static bool row_covers(const struct sto_mem_row *row, int64_t ts_ms)
{
    return (uint64_t)ts_ms - (uint64_t)(row->hour * TS_HOUR_MS) < (uint64_t)TS_HOUR_MS;
}

/* The newest row has another hour: search the older rows or the index, and link a new row if there is none. */
static struct sto_mem_row *find_or_link(struct sto_mem *mem, _Atomic(struct sto_mem_row *) *head,
                                        const struct sto_series *series, int64_t ts_ms)
{
    if (ts_ms < STO_MIN_TS_MS || ts_ms > STO_MAX_TS_MS)
        TS_BUG("time %lld is outside the range that rows can store", (long long)ts_ms);
    struct sto_mem_row *first = atomic_load_explicit(head, memory_order_relaxed);
    int32_t hour = sto_hour(ts_ms);
    int n = 0;
    for (struct sto_mem_row *r = first; r && n < INDEX_FROM; r = r->next, n++)
        if (r->hour == hour)
            return r;
    if (first && first->depth >= INDEX_FROM) {
        struct sto_mem_row *r = index_find(mem, series->id, hour);
        if (r)
            return r;
    }
    return link_row(mem, head, series, hour);
}

static void add_chunk(struct sto_mem *mem, struct sto_mem_row *row)
{
    uint32_t cap = sto_mem__next_cap(1u << row->chunk_log);
    struct sto_mem_cell *chunk =
        ts_arena_alloc(&mem->arena, cap * sizeof(struct sto_mem_cell) + sizeof(struct sto_mem_cell *));
    *sto_mem__link(row->tail, 0) = chunk; /* visible to readers that see a state that counts the chunk's
                                           * first cell */
    row->tail = chunk;
    row->left = (uint8_t)cap;
    row->chunk_log = (unsigned)__builtin_ctz(cap) & 7;
}

static inline void append(struct sto_mem *mem, struct sto_mem_row *row, uint32_t meta, int64_t m)
{
    if (__builtin_expect(row->left == 0, 0))
        add_chunk(mem, row);
    row->tail->meta = meta;
    row->tail->m = m;
    row->tail++;
    row->left--;
    uint32_t off = sto_meta_off(meta);
    uint32_t state = atomic_load_explicit(&row->state, memory_order_relaxed);
    if (__builtin_expect(state >= UINT32_MAX - 2, 0))
        TS_BUG("a row of one memstore holds 2^31 operations");
    state |= off < row->min_off || meta >> STO_META_OP_SHIFT >= STO_OP_DEL; /* a DEL or KEEP is folded */
    row->min_off = (off + 1) & STO_META_OFF_MASK;
    ts_thread_yield_sometimes();
    atomic_store_explicit(&row->state, state + 2, memory_order_release); /* partner: sto_mem_row_read */
}

/* Add the tombstone first: a reader that sees a row written after the delete then sees the tombstone, too. */
static void apply_del(struct sto_mem *mem, const struct sto_point *p)
{
    int64_t from_ms = p->ts_ms, to_ms = p->m;
    if (from_ms > to_ms)
        return;
    sto_mem__tombs_add(&mem->tombs, &mem->arena,
                       &(struct sto_tomb){p->series->metric, p->series->id, from_ms, to_ms, mem->gen});
    uint64_t slot = slot_of(mem, p->series);
    struct mem_leaf *leaf = leaf_at(branch_at(mem, slot), slot);
    struct sto_mem_row *row =
        leaf ? atomic_load_explicit(&leaf->heads[slot % LEAF_HEADS], memory_order_relaxed) : NULL;
    for (; row; row = row->next) {
        uint32_t from, to;
        if (sto_hour_part(row->hour, from_ms, to_ms, &from, &to))
            append(mem, row, (uint32_t)STO_OP_DEL << STO_META_OP_SHIFT | from, to);
    }
}

/* Points in the pipeline of sto_mem_apply: results of earlier stages. */
struct ahead {
    uint64_t slot[AHEAD_SLOTS];                       /* of the series of point i, at i mod AHEAD_SLOTS */
    _Atomic(struct mem_leaf *) *leaf[AHEAD_SLOTS];    /* the pointer to its leaf; NULL: there is no branch */
    _Atomic(struct sto_mem_row *) *head[AHEAD_SLOTS]; /* its head */
    struct sto_mem_row *row[AHEAD_SLOTS];             /* newest row then; for prefetching only */
};

static inline void step_leaf(const struct sto_mem *mem, struct ahead *a, const struct sto_point *points,
                             size_t i)
{
    uint64_t slot = slot_of(mem, points[i].series);
    struct mem_branch *branch = branch_at(mem, slot);
    a->slot[i % AHEAD_SLOTS] = slot;
    a->leaf[i % AHEAD_SLOTS] = branch ? &branch->leaves[slot / LEAF_HEADS % BRANCH_LEAVES] : NULL;
    __builtin_prefetch((const void *)a->leaf[i % AHEAD_SLOTS]);
}

/* Head of a series; creates its leaf if that is missing. */
static inline _Atomic(struct sto_mem_row *) *owner_head(struct sto_mem *mem, const struct ahead *a, size_t i)
{
    uint64_t slot = a->slot[i % AHEAD_SLOTS];
    struct mem_leaf *leaf = a->leaf[i % AHEAD_SLOTS]
                                ? atomic_load_explicit(a->leaf[i % AHEAD_SLOTS], memory_order_relaxed)
                                : NULL;
    if (__builtin_expect(!leaf, 0))
        leaf = owner_leaf(mem, slot);
    return &leaf->heads[slot % LEAF_HEADS];
}

static inline void step_head(struct sto_mem *mem, struct ahead *a, const struct sto_point *points, size_t i)
{
    static _Atomic(struct sto_mem_row *) no_head; /* a delete creates no leaf */
    bool is_del = points[i].flags >> STO_META_OP_SHIFT == STO_OP_DEL;
    a->head[i % AHEAD_SLOTS] = is_del ? &no_head : owner_head(mem, a, i);
    __builtin_prefetch((const void *)a->head[i % AHEAD_SLOTS]);
}

static inline void step_row(struct ahead *a, size_t i)
{
    a->row[i % AHEAD_SLOTS] = atomic_load_explicit(a->head[i % AHEAD_SLOTS], memory_order_relaxed);
    __builtin_prefetch(a->row[i % AHEAD_SLOTS], 1);
}

static inline void step_tail(const struct ahead *a, size_t i)
{
    const struct sto_mem_row *row = a->row[i % AHEAD_SLOTS];
    if (row)
        __builtin_prefetch(row->tail, 1);
}

static inline void apply_one(struct sto_mem *mem, _Atomic(struct sto_mem_row *) *head,
                             const struct sto_point *p)
{
    if (__builtin_expect(p->flags >> STO_META_OP_SHIFT == STO_OP_DEL, 0)) {
        apply_del(mem, p);
        return;
    }
    struct sto_mem_row *row = atomic_load_explicit(head, memory_order_relaxed);
    if (__builtin_expect(!row || !row_covers(row, p->ts_ms), 0))
        row = find_or_link(mem, head, p->series, p->ts_ms);
    append(mem, row, (p->flags & STO_META_FLAGS_MASK) | (uint32_t)(p->ts_ms - row->hour * TS_HOUR_MS), p->m);
}

/* A pipeline: each iteration moves one point forward in each stage. While i < X, i - X wraps to a huge
 * number. */
void sto_mem_apply(struct sto_mem *mem, const struct sto_point *points, size_t n)
{
    struct ahead a;
    for (size_t i = 0; i < n + AT_APPLY; i++) {
        if (i < n)
            __builtin_prefetch(points[i].series);
        if (i - AT_LEAF < n)
            step_leaf(mem, &a, points, i - AT_LEAF);
        if (i - AT_HEAD < n)
            step_head(mem, &a, points, i - AT_HEAD);
        if (i - AT_ROW < n)
            step_row(&a, i - AT_ROW);
        if (i - AT_TAIL < n)
            step_tail(&a, i - AT_TAIL);
        if (i - AT_APPLY < n)
            apply_one(mem, a.head[(i - AT_APPLY) % AHEAD_SLOTS], &points[i - AT_APPLY]);
    }
    uint64_t had = atomic_load_explicit(&mem->n_points, memory_order_relaxed);
    atomic_store_explicit(&mem->n_points, had + n, memory_order_relaxed);
}
