/*
 * memstore.c - rows of one generation: the writer's side, and the way to a row.
 *
 * Threads    the owner applies; all else from any thread that holds a reference
 * Invariant  what is published (row, cell, page, directory, tombstone) is never changed or moved; grown
 *            tables are new ones, the old stay in the arena
 * Not here   cells of a row in order of time (memstore_read.c)
 */
#include "storage/engine/memstore.h"

#include <sched.h>
#include <string.h>

#include "base/hash.h"
#include "storage/engine/memstore_int.h"

#define INDEX_FROM      8  /* rows of a series that are looked through one by one; above, by hash */
#define INDEX_FIRST     64 /* slots of a new index */
#define DIR_FIRST_PAGES 4
#define TOMBS_FIRST     8
#define NO_HOUR_LO      INT32_MAX
#define NO_HOUR_HI      INT32_MIN

/* When a point has its steps, counted in points after its series was asked for: its head is asked for, then
 * the row, then the row's tail, then it is applied. Each step needs what the one before asked for
 * (bench_memstore, 10,000 series). */
#define AT_HEAD     4
#define AT_ROW      8
#define AT_TAIL     12
#define AT_APPLY    16
#define AHEAD_SLOTS 16 /* power of two, more than AT_APPLY - AT_HEAD */

/* First rows of 1024 series. */
struct mem_page {
    _Atomic(struct sto_mem_row *)
        heads[STO_MEM_PAGE_ROWS]; /* stored with release; newest row of the series */
};

/* Pages by id >> 10. Grows by replacement. */
struct mem_dir {
    uint32_t n_pages;                   /* room */
    _Atomic(struct mem_page *) pages[]; /* NULL = no series of that page has rows; stored with release */
};

struct sto_mem {
    /* Read by any thread, changed by the owner; loads with acquire where a pointer leads to memory. */
    _Atomic(struct mem_dir *) dir;      /* release */
    _Atomic(struct sto_tomb *) tombs;   /* release, before n_tombs */
    _Atomic size_t n_tombs;             /* release: so many are readable in any tombs array loaded later */
    _Atomic uint32_t n_ids;             /* relaxed: highest series number with a row + 1 */
    _Atomic int32_t min_hour, max_hour; /* release: bounds of the rows' hours */
    _Atomic uint64_t n_points;          /* relaxed: statistics */
    _Atomic size_t index_bytes;         /* relaxed: statistics, memory of index */
    struct ts_arena arena;              /* owner: all rows, chunks, pages, directories, tombstones */
    struct sto_mem_row *
        *index;            /* owner: open-addressing hash of rows of series with many rows; NULL = none yet */
    size_t index_cap;      /* owner: slots, power of two */
    size_t n_index;        /* owner: slots used */
    size_t tombs_cap;      /* owner: room in tombs */
    uint64_t gen;          /* fixed */
    uint16_t owner;        /* fixed */
    char pad[64];          /* keeps readers' counting off the owner's cache lines */
    _Atomic uint32_t refs; /* any thread; the last one frees */
};

struct sto_mem *sto_mem_new(uint64_t gen, uint16_t owner)
{
    struct sto_mem *mem = ts_xcalloc(1, sizeof(*mem));
    mem->gen = gen;
    mem->owner = owner;
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
    /* acq_rel: what others did with the memstore happened before it is freed */
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
    /* acquire: who sees an hour sees all that the owner wrote before, into older memstores too */
    int32_t lo = atomic_load_explicit(&mem->min_hour, memory_order_acquire);
    int32_t hi = atomic_load_explicit(&mem->max_hour, memory_order_acquire);
    if (lo > hi)
        return false;
    *out_min_ms = lo * TS_HOUR_MS;
    *out_max_ms = hi * TS_HOUR_MS + TS_HOUR_MS - 1;
    return true;
}

/* --- the way to a row --- */

const struct sto_mem_row *sto_mem_rows(const struct sto_mem *mem, uint32_t id)
{
    /* acquire: partners are publish_dir, make_page and link_row */
    const struct mem_dir *dir = atomic_load_explicit(&mem->dir, memory_order_acquire);
    if (!dir || id >> STO_MEM_PAGE_BITS >= dir->n_pages)
        return NULL;
    struct mem_page *page = atomic_load_explicit(&dir->pages[id >> STO_MEM_PAGE_BITS], memory_order_acquire);
    if (!page)
        return NULL;
    return atomic_load_explicit(&page->heads[id & (STO_MEM_PAGE_ROWS - 1)], memory_order_acquire);
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

uint32_t sto_mem_n_ids(const struct sto_mem *mem)
{
    return atomic_load_explicit(&mem->n_ids, memory_order_relaxed);
}

const struct sto_tomb *sto_mem_tombs(const struct sto_mem *mem, size_t *out_n)
{
    /* count first: any array seen after it holds at least so many (partner: add_tomb) */
    *out_n = atomic_load_explicit(&mem->n_tombs, memory_order_acquire);
    return atomic_load_explicit(&mem->tombs, memory_order_acquire);
}

/* --- the owner's tables --- */

static struct mem_dir *owner_dir(struct sto_mem *mem)
{
    return atomic_load_explicit(&mem->dir, memory_order_relaxed);
}

static struct mem_dir *grow_dir(struct sto_mem *mem, uint32_t page_no)
{
    const struct mem_dir *old = owner_dir(mem);
    uint32_t n = old ? old->n_pages : DIR_FIRST_PAGES / 2;
    do
        n *= 2;
    while (n <= page_no);
    struct mem_dir *dir = ts_arena_zalloc(&mem->arena, sizeof(*dir) + n * sizeof(dir->pages[0]));
    dir->n_pages = n;
    for (uint32_t i = 0; old && i < old->n_pages; i++)
        atomic_init(&dir->pages[i], atomic_load_explicit(&old->pages[i], memory_order_relaxed));
    atomic_store_explicit(&mem->dir, dir, memory_order_release); /* partner: sto_mem_rows */
    return dir;
}

/* Head of a series, made if missing. */
static _Atomic(struct sto_mem_row *) *owner_head(struct sto_mem *mem, uint32_t id)
{
    struct mem_dir *dir = owner_dir(mem);
    uint32_t page_no = id >> STO_MEM_PAGE_BITS;
    if (__builtin_expect(!dir || page_no >= dir->n_pages, 0))
        dir = grow_dir(mem, page_no);
    struct mem_page *page = atomic_load_explicit(&dir->pages[page_no], memory_order_relaxed);
    if (__builtin_expect(!page, 0)) {
        page = ts_arena_zalloc(&mem->arena, sizeof(*page));
        atomic_store_explicit(&dir->pages[page_no], page, memory_order_release); /* partner: sto_mem_rows */
    }
    return &page->heads[id & (STO_MEM_PAGE_ROWS - 1)];
}

/* The head if there is a page for it: for prefetching. */
static _Atomic(struct sto_mem_row *) *peek_head(struct sto_mem *mem, uint32_t id)
{
    struct mem_dir *dir = owner_dir(mem);
    uint32_t page_no = id >> STO_MEM_PAGE_BITS;
    if (!dir || page_no >= dir->n_pages)
        return NULL;
    struct mem_page *page = atomic_load_explicit(&dir->pages[page_no], memory_order_relaxed);
    return page ? &page->heads[id & (STO_MEM_PAGE_ROWS - 1)] : NULL;
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
    row->chunk_log = (uint8_t)__builtin_ctz(STO_MEM_FIRST_CELLS);
    row->depth = older ? (uint8_t)(older->depth + (older->depth < UINT8_MAX)) : 0;
    if (row->depth == INDEX_FROM)
        for (struct sto_mem_row *r = older; r; r = r->next)
            index_add(mem, r);
    if (row->depth >= INDEX_FROM)
        index_add(mem, row);
    if (hour < atomic_load_explicit(&mem->min_hour, memory_order_relaxed))
        atomic_store_explicit(&mem->min_hour, hour, memory_order_release);
    if (hour > atomic_load_explicit(&mem->max_hour, memory_order_relaxed))
        atomic_store_explicit(&mem->max_hour, hour, memory_order_release);
    if (series->id >= atomic_load_explicit(&mem->n_ids, memory_order_relaxed))
        atomic_store_explicit(&mem->n_ids, series->id + 1, memory_order_relaxed);
    atomic_store_explicit(head, row, memory_order_release); /* partner: sto_mem_rows */
    return row;
}

static bool row_covers(const struct sto_mem_row *row, int64_t ts_ms)
{
    return (uint64_t)ts_ms - (uint64_t)(row->hour * TS_HOUR_MS) < (uint64_t)TS_HOUR_MS;
}

/* The head did not match: further rows, the index, at last a new row. */
static struct sto_mem_row *find_or_link(struct sto_mem *mem, _Atomic(struct sto_mem_row *) *head,
                                        const struct sto_series *series, int64_t ts_ms)
{
    if (ts_ms < STO_MIN_TS_MS || ts_ms > STO_MAX_TS_MS)
        TS_BUG("time %lld is beyond what rows can hold", (long long)ts_ms);
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
    *sto_mem__link(row->tail, 0) = chunk; /* seen by who sees a state that counts the chunk's first cell */
    row->tail = chunk;
    row->left = (uint16_t)cap;
    row->chunk_log = (uint8_t)__builtin_ctz(cap);
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
    state |= off < row->min_off || meta >> STO_META_OP_SHIFT == STO_OP_DEL;
    row->min_off = off + 1;
#ifdef TSD_DEBUG_YIELD
    if ((state & 6) == 0)
        sched_yield();
#endif
    atomic_store_explicit(&row->state, state + 2, memory_order_release); /* partner: sto_mem_row_read */
}

static void add_tomb(struct sto_mem *mem, const struct sto_tomb *tomb)
{
    size_t n = atomic_load_explicit(&mem->n_tombs, memory_order_relaxed);
    struct sto_tomb *tombs = atomic_load_explicit(&mem->tombs, memory_order_relaxed);
    if (n > 0 && tombs[n - 1].series == tomb->series && tombs[n - 1].from_ms <= tomb->from_ms &&
        tombs[n - 1].to_ms >= tomb->to_ms)
        return; /* the same again: older generations lose nothing more */
    if (n == mem->tombs_cap) {
        mem->tombs_cap = n ? n * 2 : TOMBS_FIRST;
        struct sto_tomb *grown = ts_arena_alloc(&mem->arena, mem->tombs_cap * sizeof(*grown));
        if (n > 0)
            memcpy(grown, tombs, n * sizeof(*grown));
        tombs = grown;
        atomic_store_explicit(&mem->tombs, tombs, memory_order_release); /* partner: sto_mem_tombs */
    }
    tombs[n] = *tomb;
    atomic_store_explicit(&mem->n_tombs, n + 1, memory_order_release); /* partner: sto_mem_tombs */
}

/* The tombstone first: a reader that sees a row written to after the delete can see the tombstone too. */
static void apply_del(struct sto_mem *mem, const struct sto_point *p)
{
    int64_t from_ms = p->ts_ms, to_ms = p->m;
    if (from_ms > to_ms)
        return;
    add_tomb(mem, &(struct sto_tomb){p->series->metric, p->series->id, from_ms, to_ms});
    _Atomic(struct sto_mem_row *) *head = peek_head(mem, p->series->id);
    struct sto_mem_row *row = head ? atomic_load_explicit(head, memory_order_relaxed) : NULL;
    for (; row; row = row->next) {
        int64_t lo = row->hour * TS_HOUR_MS, hi = lo + TS_HOUR_MS - 1;
        if (to_ms < lo || from_ms > hi)
            continue;
        uint32_t off = from_ms > lo ? (uint32_t)(from_ms - lo) : 0;
        append(mem, row, (uint32_t)STO_OP_DEL << STO_META_OP_SHIFT | off, (to_ms < hi ? to_ms : hi) - lo);
    }
}

/* Points on their way through sto_mem_apply: what an earlier step found. */
struct ahead {
    _Atomic(struct sto_mem_row *) *head[AHEAD_SLOTS]; /* of the series of point i, at i mod AHEAD_SLOTS */
    struct sto_mem_row *row[AHEAD_SLOTS];             /* newest row then; for prefetching only */
};

static inline void step_head(struct sto_mem *mem, struct ahead *a, const struct sto_point *points, size_t i)
{
    static _Atomic(struct sto_mem_row *) no_head; /* a delete makes no page */
    bool is_del = points[i].flags >> STO_META_OP_SHIFT == STO_OP_DEL;
    a->head[i % AHEAD_SLOTS] = is_del ? &no_head : owner_head(mem, points[i].series->id);
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

/* A pipeline: each turn takes one point a step further in each stage. i - X wraps to a huge number while i <
 * X. */
void sto_mem_apply(struct sto_mem *mem, const struct sto_point *points, size_t n)
{
    struct ahead a;
    for (size_t i = 0; i < n + AT_APPLY; i++) {
        if (i < n)
            __builtin_prefetch(points[i].series);
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
