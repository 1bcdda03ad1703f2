/*
 * test_memstore.c - rows in memory: order, last write wins, adds, deletes, readers beside the writer, memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/mem.h"
#include "storage/engine/memory/fold.h"
#include "storage/engine/memory/memstore.h"
#include "tests/model/reference.h"

#define HOUR TS_HOUR_MS

/* A few series, some numbers far apart. */
#define N_SERIES 6
#define ONE      ((struct sto_shard_spread){1, 1, 1}) /* one shard, one owner */
static struct sto_series series[N_SERIES];
static const uint32_t ids[N_SERIES] = {0, 1, 7, 1023, 1024, 1000000};

static int setup(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_SERIES; i++)
        series[i] = (struct sto_series){.id = ids[i], .local = ids[i], .metric = 1 + i % 2};
    return 0;
}

static struct sto_point op_int(enum sto_op op, uint32_t s, int64_t ts_ms, int64_t v)
{
    return (struct sto_point){.series = &series[s],
                              .ts_ms = ts_ms,
                              .m = v,
                              .flags = sto_meta_flags(op, TS_NUM_INT, 0, ts_ms % 1000 != 0)};
}

static struct sto_point put(uint32_t s, int64_t ts_ms, int64_t v)
{
    return op_int(STO_OP_PUT, s, ts_ms, v);
}

static struct sto_point add(uint32_t s, int64_t ts_ms, int64_t v)
{
    return op_int(STO_OP_ADD, s, ts_ms, v);
}

static struct sto_point del(uint32_t s, int64_t from_ms, int64_t to_ms)
{
    return (struct sto_point){.series = &series[s],
                              .ts_ms = from_ms,
                              .m = to_ms,
                              .flags = (uint32_t)STO_OP_DEL << STO_META_OP_SHIFT};
}

static void apply(struct sto_mem *mem, struct sto_point p)
{
    sto_mem_apply(mem, &p, 1);
}

static const struct sto_mem_row *find_row(const struct sto_mem *mem, uint32_t s, int32_t hour)
{
    const struct sto_mem_row *found = NULL;
    for (const struct sto_mem_row *r = sto_mem_rows(mem, &series[s]); r; r = sto_mem_row_next(r)) {
        assert_ptr_equal(sto_mem_row_series(r), &series[s]);
        if (sto_mem_row_hour(r) != hour)
            continue;
        assert_null(found); /* an hour has one row */
        found = r;
    }
    return found;
}

/* Cells of a row, checked for what every row promises. */
static struct sto_cells read_row(const struct sto_mem *mem, uint32_t s, int32_t hour)
{
    struct sto_cells c = {0};
    const struct sto_mem_row *row = find_row(mem, s, hour);
    if (row)
        sto_mem_row_read(row, &c);
    bool uniform = true;
    for (uint32_t i = 0; i < c.n; i++) {
        assert_true(sto_meta_op(c.meta[i]) == STO_OP_PUT || sto_meta_op(c.meta[i]) == STO_OP_ADD);
        if (i > 0) {
            assert_true(sto_meta_off(c.meta[i - 1]) < sto_meta_off(c.meta[i]));
            uniform = uniform && ((c.meta[i] ^ c.meta[0]) & STO_META_FLAGS_MASK) == 0;
        }
    }
    if (c.n > 0) {
        assert_int_equal(c.uniform, uniform);
        if (uniform)
            assert_int_equal(c.common, c.meta[0] & STO_META_FLAGS_MASK);
    }
    return c;
}

static void expect_cell(const struct sto_cells *c, uint32_t i, enum sto_op op, uint32_t off, int64_t m)
{
    assert_true(i < c->n);
    assert_int_equal(sto_meta_op(c->meta[i]), op);
    assert_int_equal(sto_meta_off(c->meta[i]), off);
    assert_int_equal(c->m[i], m);
}

static void test_memstore__empty_has_nothing(void **state)
{
    (void)state;
    struct sto_mem *mem = sto_mem_new(42, 3, ONE);
    size_t n;
    int64_t lo, hi;
    assert_int_equal(sto_mem_gen(mem), 42);
    assert_int_equal(sto_mem_owner(mem), 3);
    uint64_t pos = 0;
    for (uint32_t s = 0; s < N_SERIES; s++)
        assert_null(sto_mem_rows(mem, &series[s]));
    assert_null(sto_mem_walk(mem, &pos));
    assert_int_equal(sto_mem_points(mem), 0);
    assert_false(sto_mem_time_range(mem, &lo, &hi));
    (void)sto_mem_tombs(mem, &n);
    assert_int_equal(n, 0);
    sto_mem_apply(mem, NULL, 0);
    apply(mem, del(0, 0, 10)); /* nothing there to delete: a tombstone only */
    assert_null(sto_mem_rows(mem, &series[0]));
    sto_mem_unref(mem);
    sto_mem_unref(NULL);
}

static void test_memstore__points_lie_in_rows_by_hour(void **state)
{
    (void)state;
    struct sto_mem *mem = sto_mem_new(1, 3, ONE);
    for (uint32_t s = 0; s < N_SERIES; s++) {
        apply(mem, put(s, -1, 1));
        apply(mem, put(s, 0, 2));
        apply(mem, put(s, HOUR - 1, 3));
        apply(mem, put(s, HOUR, 4));
        apply(mem, put(s, -HOUR, 5));
        apply(mem, put(s, STO_MAX_TS_MS, 6));
        apply(mem, put(s, STO_MIN_TS_MS, 7));
    }
    for (uint32_t s = 0; s < N_SERIES; s++) {
        struct sto_cells c = read_row(mem, s, -1);
        assert_int_equal(c.n, 2);
        expect_cell(&c, 0, STO_OP_PUT, 0, 5);
        expect_cell(&c, 1, STO_OP_PUT, (uint32_t)HOUR - 1, 1);
        sto_cells_release(&c);
        c = read_row(mem, s, 0);
        assert_int_equal(c.n, 2);
        expect_cell(&c, 0, STO_OP_PUT, 0, 2);
        assert_int_equal(c.meta[1] & STO_META_MS, STO_META_MS);
        assert_int_equal(c.meta[0] & STO_META_MS, 0);
        sto_cells_release(&c);
        c = read_row(mem, s, INT32_MAX);
        expect_cell(&c, 0, STO_OP_PUT, 0, 6);
        sto_cells_release(&c);
        c = read_row(mem, s, -INT32_MAX);
        expect_cell(&c, 0, STO_OP_PUT, 0, 7);
        sto_cells_release(&c);
        assert_null(find_row(mem, s, 2));
    }
    int64_t lo, hi;
    assert_true(sto_mem_time_range(mem, &lo, &hi));
    assert_true(lo <= STO_MIN_TS_MS && hi >= STO_MAX_TS_MS);
    assert_int_equal(sto_mem_points(mem), 7 * N_SERIES);
    static const struct sto_series never[] = {
        {.id = 2, .local = 2}, {.id = 1000001, .local = 1000001}, {.id = UINT32_MAX, .local = UINT32_MAX}};
    for (size_t i = 0; i < 3; i++)
        assert_null(sto_mem_rows(mem, &never[i]));
    uint64_t pos = 0;
    unsigned n_walked = 0, seen = 0;
    for (const struct sto_mem_row *r; (r = sto_mem_walk(mem, &pos)); n_walked++)
        seen |= 1u << (sto_mem_row_series(r) - series);
    assert_int_equal(n_walked, N_SERIES);
    assert_int_equal(seen, (1u << N_SERIES) - 1);
    sto_mem_unref(mem);
}

/* Each memstore has the series of its own shards and no others, each in a slot of its own. */
static void owners_have_theirs(uint32_t n_shards, uint16_t n_owners)
{
    enum { N = 700, GROUPS = 8, OWNERS_MOST = 7 };
    static struct sto_series all[N];
    struct sto_mem *mems[OWNERS_MOST];
    for (uint16_t o = 0; o < n_owners; o++)
        mems[o] = sto_mem_new(1, o, (struct sto_shard_spread){GROUPS, n_shards, n_owners});
    for (uint32_t i = 0; i < N; i++) {
        uint16_t hash = (uint16_t)(i % GROUPS + i / GROUPS * 31 % 8192 * GROUPS);
        all[i] = (struct sto_series){.id = i, .shard = hash, .local = i / GROUPS};
        struct sto_point p = {.series = &all[i],
                              .ts_ms = 1000,
                              .m = i,
                              .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false)};
        sto_mem_apply(mems[hash % n_shards % n_owners], &p, 1);
    }
    for (uint32_t i = 0; i < N; i++)
        for (uint16_t o = 0; o < n_owners; o++) {
            const struct sto_mem_row *r = sto_mem_rows(mems[o], &all[i]);
            bool is_its = o == all[i].shard % n_shards % n_owners;
            assert_int_equal(sto_mem_takes(mems[o], &all[i]), is_its);
            if (!is_its) {
                assert_null(r);
                continue;
            }
            assert_ptr_equal(sto_mem_row_series(r), &all[i]);
            assert_null(sto_mem_row_next(r));
        }
    unsigned n_walked = 0;
    for (uint16_t o = 0; o < n_owners; o++) {
        uint64_t pos = 0;
        for (const struct sto_mem_row *r; (r = sto_mem_walk(mems[o], &pos)); n_walked++)
            assert_int_equal(sto_mem_row_series(r)->shard % n_shards % n_owners, o);
        sto_mem_unref(mems[o]);
    }
    assert_int_equal(n_walked, N);
}

/* Whether there are fewer shards than groups of series, as many, or more. */
static void test_memstore__owners_have_series_of_their_shards(void **state)
{
    (void)state;
    for (uint32_t n_shards = 1; n_shards <= 64; n_shards *= 2)
        for (uint16_t n_owners = 1; n_owners <= 7; n_owners++)
            owners_have_theirs(n_shards, n_owners);
}

/* A few series of very many cost what they hold, in whatever order they come. */
static void test_memstore__memory_depends_on_series_with_rows(void **state)
{
    (void)state;
    enum { EXIST = 4000000, TOUCHED = 20000 };
    struct sto_series *some = ts_xcalloc(TOUCHED, sizeof *some);
    struct sto_mem *mem = sto_mem_new(1, 0, ONE);
    for (uint32_t i = 0; i < TOUCHED; i++) {
        some[i].local = some[i].id = (uint32_t)(i * 2654435761ull % EXIST);
        struct sto_point p = {.series = &some[i],
                              .ts_ms = 1000,
                              .m = i,
                              .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false)};
        sto_mem_apply(mem, &p, 1);
    }
    /* row 96, leaf 64, its share of a branch: EXIST / 1024 of 1 KiB */
    size_t most = TOUCHED * (size_t)(96 + 64) + EXIST + (EXIST >> 10) * 16 + ((size_t)2 << 20);
    if (sto_mem_bytes(mem) > most)
        fail_msg("%zu bytes, %zu expected at most", sto_mem_bytes(mem), most);
    sto_mem_unref(mem);
    ts_free(some);
}

static void test_memstore__long_rows_come_back_whole(void **state)
{
    (void)state;
    struct sto_mem *mem = sto_mem_new(1, 3, ONE);
    static const uint32_t sizes[] = {1, 3, 4, 5, 12, 13, 28, 124, 252, 253, 380, 381, 3600, 20000};
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        int64_t base = (int64_t)k * HOUR;
        for (uint32_t i = 0; i < sizes[k]; i++)
            apply(mem, put(2, base + i * 150, i * 3));
        struct sto_cells c = read_row(mem, 2, (int32_t)k);
        assert_int_equal(c.n, sizes[k]);
        for (uint32_t i = 0; i < sizes[k]; i++)
            expect_cell(&c, i, STO_OP_PUT, i * 150, i * 3);
        sto_cells_release(&c);
    }
    sto_mem_unref(mem);
}

static void test_memstore__last_put_wins_and_adds_sum(void **state)
{
    (void)state;
    struct sto_mem *mem = sto_mem_new(1, 3, ONE);
    struct sto_point ops[] = {
        put(0, 5000, 1),         put(0, 3000, 2), put(0, 5000, 3),  /* last put wins */
        add(0, 7000, 4),         add(0, 7000, 5),                   /* adds alone stay an add */
        put(0, 9000, 6),         add(0, 9000, 7), add(0, 9000, -1), /* adds on a put make a put */
        add(0, 1000, 8),         put(0, 1000, 9),                   /* a put ends adds before it */
        put(0, 2000, INT64_MAX), add(0, 2000, 1),                   /* 64 bits are not enough */
    };
    sto_mem_apply(mem, ops, sizeof(ops) / sizeof(ops[0]));
    struct sto_cells c = read_row(mem, 0, 0);
    assert_int_equal(c.n, 6);
    expect_cell(&c, 0, STO_OP_PUT, 1000, 9);
    expect_cell(&c, 2, STO_OP_PUT, 3000, 2);
    expect_cell(&c, 3, STO_OP_PUT, 5000, 3);
    expect_cell(&c, 4, STO_OP_ADD, 7000, 9);
    expect_cell(&c, 5, STO_OP_PUT, 9000, 12);
    assert_int_equal(sto_meta_kind(c.meta[1]), TS_NUM_RAW);
    assert_int_equal(c.m[1], STO_SUM_OVERFLOW);
    assert_false(c.uniform);
    sto_cells_release(&c);
    sto_mem_unref(mem);
}

static void test_memstore__adds_of_doubles_are_short_decimals_again(void **state)
{
    (void)state;
    struct sto_mem *mem = sto_mem_new(1, 3, ONE);
    struct sto_point a = put(1, 1000, 125), b = add(1, 1000, 5), c1 = add(1, 1000, 2);
    a.flags = sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, 2, false);
    b.flags = sto_meta_flags(STO_OP_ADD, TS_NUM_DEC, 1, true);
    apply(mem, a);
    apply(mem, b);
    struct sto_cells c = read_row(mem, 1, 0);
    assert_int_equal(c.n, 1);
    assert_int_equal(sto_meta_op(c.meta[0]), STO_OP_PUT);
    assert_int_equal(sto_meta_kind(c.meta[0]), TS_NUM_DEC);
    assert_int_equal(c.meta[0] & STO_META_MS, STO_META_MS); /* as the newest write says */
    assert_true(ts_num_double(sto_cell_num(c.meta[0], c.m[0])) == 1.75);
    sto_cells_release(&c);
    apply(mem, c1); /* integer onto a double is a double */
    c = read_row(mem, 1, 0);
    assert_int_not_equal(sto_meta_kind(c.meta[0]), TS_NUM_INT);
    assert_true(ts_num_double(sto_cell_num(c.meta[0], c.m[0])) == 3.75);
    sto_cells_release(&c);
    sto_mem_unref(mem);
}

static void test_memstore__delete_takes_what_came_before(void **state)
{
    (void)state;
    struct sto_mem *mem = sto_mem_new(1, 3, ONE);
    struct sto_point ops[] = {
        put(0, HOUR - 1000, 1),          put(0, HOUR, 2),       put(0, HOUR + 500, 3),
        put(0, HOUR + 501, 4),           add(0, HOUR + 100, 5), put(1, HOUR, 50),
        del(0, HOUR - 1000, HOUR + 500), /* over two rows, ends inclusive */
        add(0, HOUR + 100, 7),           put(0, HOUR + 200, 8), del(0, 10, 9), /* empty: nothing */
    };
    sto_mem_apply(mem, ops, sizeof(ops) / sizeof(ops[0]));
    struct sto_cells c = read_row(mem, 0, 0);
    assert_int_equal(c.n, 0);
    sto_cells_release(&c);
    c = read_row(mem, 0, 1);
    assert_int_equal(c.n, 3);
    expect_cell(&c, 0, STO_OP_ADD, 100,
                7); /* an add after a delete stays an add: the tombstone cuts what is older */
    expect_cell(&c, 1, STO_OP_PUT, 200, 8);
    expect_cell(&c, 2, STO_OP_PUT, 501, 4);
    sto_cells_release(&c);
    c = read_row(mem, 1, 1);
    assert_int_equal(c.n, 1); /* another series is not touched */
    sto_cells_release(&c);
    size_t n;
    const struct sto_tomb *t = sto_mem_tombs(mem, &n);
    assert_int_equal(n, 1);
    assert_int_equal(t[0].series, series[0].id);
    assert_int_equal(t[0].metric, series[0].metric);
    assert_int_equal(t[0].from_ms, HOUR - 1000);
    assert_int_equal(t[0].to_ms, HOUR + 500);
    sto_mem_unref(mem);
}

static void test_memstore__tombstones_keep_their_order_and_grow(void **state)
{
    (void)state;
    struct sto_mem *mem = sto_mem_new(1, 3, ONE);
    apply(mem, put(0, 0, 1));
    apply(mem, del(0, INT64_MIN, INT64_MAX)); /* all of time */
    apply(mem, del(0, 5, 6));                 /* inside of the one before: adds nothing */
    for (int64_t i = 0; i < 100; i++)
        apply(mem, del((uint32_t)(i & 1), i, i + 1));
    size_t n;
    const struct sto_tomb *t = sto_mem_tombs(mem, &n);
    assert_int_equal(t[0].from_ms, INT64_MIN);
    assert_int_equal(t[0].to_ms, INT64_MAX);
    assert_int_equal(n, 1 + 50); /* those of the first series lie in the whole of time too */
    for (size_t i = 1; i < n; i++) {
        assert_int_equal(t[i].from_ms, i * 2 - 1);
        assert_int_equal(t[i].series, series[1].id);
        assert_int_equal(t[i].gen, 1);
    }
    size_t place = sto_mem_tombs_last(mem, series[1].id), found = 0;
    while (place) { /* from the last one of a series to its first */
        const struct sto_tomb *one = sto_mem_tomb(mem, place, &place);
        assert_int_equal(one->series, series[1].id);
        assert_int_equal(one->from_ms, 99 - 2 * (int64_t)found++);
    }
    assert_int_equal(found, 50);
    assert_int_equal(sto_mem_tombs_last(mem, series[0].id), 1);
    assert_int_equal(sto_mem_tombs_last(mem, 4000000), 0);
    struct sto_cells c = read_row(mem, 0, 0);
    assert_int_equal(c.n, 0);
    sto_cells_release(&c);
    sto_mem_unref(mem);
}

static void test_memstore__same_time_a_million_times_is_linear(void **state)
{
    (void)state;
    enum { N = 1000000 };
    struct sto_mem *mem = sto_mem_new(1, 3, ONE);
    struct sto_point *ops = ts_xmalloc(N * sizeof(*ops));
    for (int64_t i = 0; i < N; i++)
        ops[i] = put(0, 1000, i);
    sto_mem_apply(mem, ops, N);
    for (int64_t i = 0; i < N; i++) /* deletes of neighbours, each over the same half of the row */
        ops[i] = i % 2 ? del(0, 2000 + i % 3, 1800000) : add(0, 1000, 1);
    sto_mem_apply(mem, ops, N);
    struct sto_cells c = read_row(mem, 0, 0); /* quadratic would be 10^12 steps: the test would time out */
    assert_int_equal(c.n, 1);
    expect_cell(&c, 0, STO_OP_PUT, 1000, N - 1 + N / 2);
    sto_cells_release(&c);
    ts_free(ops);
    sto_mem_unref(mem);
}

static void test_memstore__many_hours_of_one_series_in_any_order(void **state)
{
    (void)state;
    enum { N = 50000 };
    struct sto_mem *mem = sto_mem_new(1, 3, ONE);
    for (int64_t round = 0; round < 2; round++)
        for (int64_t i = 0; i < N; i++) /* 7919 and N share no factor: every hour once a round */
            apply(mem, put(4, (i * 7919 % N - N / 2) * HOUR + round, i));
    uint32_t n_rows = 0;
    for (const struct sto_mem_row *r = sto_mem_rows(mem, &series[4]); r; r = sto_mem_row_next(r)) {
        assert_int_equal(sto_mem_row_n(r), 2);
        n_rows++;
    }
    assert_int_equal(n_rows, N);
    sto_mem_unref(mem);
}

static void test_memstore__new_row_takes_little_memory(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct sto_series *many = ts_xcalloc(N, sizeof(*many));
    struct sto_mem *mem = sto_mem_new(1, 3, ONE);
    for (uint32_t i = 0; i < N; i++) {
        many[i] = (struct sto_series){.id = i, .metric = 1};
        struct sto_point p = put(0, 1000, i);
        p.series = &many[i];
        sto_mem_apply(mem, &p, 1);
    }
    assert_true(sto_mem_bytes(mem) / N <= 115); /* row 96, head 8, unused end of the newest arena block */
    sto_mem_unref(mem);
    ts_free(many);
}

/* Random operations; every row must be what the reference says. Deletes older sources would have to heed are
 * in the tombstones. */
static void test_memstore__random_operations_match_the_reference(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252ull;
    for (int run = 0; run < 60; run++) {
        struct sto_mem *mem = sto_mem_new(1, 3, ONE);
        struct t_ref *ref = t_ref_new();
        for (int i = 0; i < 50 + run * 20; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            uint32_t s = (uint32_t)(seed >> 8) % 2;
            int64_t ts = (int64_t)((seed >> 16) % (run % 2 ? 400 : 4000)) * 25000 - 2 * HOUR;
            struct sto_point p = (seed & 63) == 0  ? del(s, ts, ts + (int64_t)((seed >> 40) % 3) * HOUR / 2)
                                 : (seed & 3) == 0 ? add(s, ts, (int64_t)(seed >> 40))
                                                   : put(s, ts, (int64_t)(seed >> 44) - 1000);
            apply(mem, p);
            t_ref_apply(ref, &p);
        }
        for (uint32_t s = 0; s < 2; s++) {
            for (int32_t hour = -3; hour < 30; hour++) {
                struct t_ref_point *want;
                size_t n = t_ref_scan(ref, series[s].id, hour * HOUR, hour * HOUR + HOUR - 1, &want);
                struct sto_cells c = read_row(mem, s, hour);
                assert_int_equal(c.n, n);
                for (uint32_t i = 0; i < n; i++) {
                    assert_int_equal(hour * HOUR + sto_meta_off(c.meta[i]), want[i].ts_ms);
                    assert_true(t_ref_same(sto_cell_num(c.meta[i], c.m[i]), want[i].value));
                    assert_int_equal((c.meta[i] & STO_META_MS) != 0, want[i].ms);
                }
                sto_cells_release(&c);
                ts_free(want);
            }
        }
        t_ref_free(ref);
        sto_mem_unref(mem);
    }
}

/* --- readers beside the writer --- */

#define RACE_ROUNDS 20000

/* What readers and writer share. */
struct race {
    struct sto_mem *mem; /* written by one, read by the others */
    _Atomic bool done;   /* set by the writer */
};

/* Series 0: strictly ascending. Series 1: each time twice, second put one more than the first. Series 2:
 * descending. */
static void *race_read(void *arg)
{
    struct race *race = arg;
    struct sto_cells c = {0};
    const char *wrong = NULL;
    bool last = false;
    while (!wrong) {
        bool stop = last;
        last = race->done; /* one more look at the whole */
        for (uint32_t s = 0; s < 3 && !wrong; s++) {
            for (const struct sto_mem_row *r = sto_mem_rows(race->mem, &series[s]); r;
                 r = sto_mem_row_next(r)) {
                sto_mem_row_read(r, &c);
                int64_t base = sto_mem_row_hour(r) * HOUR;
                for (uint32_t i = 0; i < c.n; i++) {
                    int64_t want = base + sto_meta_off(c.meta[i]);
                    if (i > 0 && sto_meta_off(c.meta[i]) <= sto_meta_off(c.meta[i - 1]))
                        wrong = "order";
                    if (c.m[i] != want && !(s == 1 && c.m[i] == want + 1))
                        wrong = "value";
                    if (s == 0 && i > 0 && sto_meta_off(c.meta[i]) != sto_meta_off(c.meta[i - 1]) + 997)
                        wrong = "hole in a prefix";
                }
            }
        }
        size_t n;
        const struct sto_tomb *t = sto_mem_tombs(race->mem, &n);
        for (size_t i = 0; i < n; i++)
            if (t[i].from_ms != (int64_t)i || t[i].series != series[5].id)
                wrong = "tombstone";
        (void)sto_mem_bytes(race->mem);
        (void)sto_mem_points(race->mem);
        uint64_t pos = 0;
        for (const struct sto_mem_row *r; (r = sto_mem_walk(race->mem, &pos));)
            assert_non_null(sto_mem_row_series(r));
        if (stop)
            break;
    }
    sto_cells_release(&c);
    sto_mem_unref(race->mem);
    return (void *)(uintptr_t)wrong;
}

static void test_memstore__readers_see_whole_prefixes_beside_the_writer(void **state)
{
    (void)state;
    struct race race = {.mem = sto_mem_new(1, 3, ONE)};
    pthread_t readers[3];
    for (int i = 0; i < 3; i++) {
        sto_mem_ref(race.mem);
        assert_int_equal(pthread_create(&readers[i], NULL, race_read, &race), 0);
    }
    for (int64_t i = 0; i < RACE_ROUNDS; i++) {
        struct sto_point ops[] = {put(0, i * 997, i * 997), put(1, i * 997, i * 997),
                                  put(1, i * 997, i * 997 + 1),
                                  put(2, (RACE_ROUNDS - i) * 997, (RACE_ROUNDS - i) * 997)};
        sto_mem_apply(race.mem, ops, sizeof(ops) / sizeof(ops[0]));
        if (i % 100 == 0) /* new pages and tombstones too */
            apply(race.mem, del(5, i / 100, i / 100 + 1));
        if (i == RACE_ROUNDS / 2)
            apply(race.mem, put(5, 0, 0));
    }
    race.done = true;
    for (int i = 0; i < 3; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(readers[i], &wrong), 0);
        if (wrong)
            fail_msg("reader saw a wrong %s", (const char *)wrong);
    }
    sto_mem_unref(race.mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_memstore__empty_has_nothing, setup),
        cmocka_unit_test_setup(test_memstore__points_lie_in_rows_by_hour, setup),
        cmocka_unit_test(test_memstore__owners_have_series_of_their_shards),
        cmocka_unit_test(test_memstore__memory_depends_on_series_with_rows),
        cmocka_unit_test_setup(test_memstore__long_rows_come_back_whole, setup),
        cmocka_unit_test_setup(test_memstore__last_put_wins_and_adds_sum, setup),
        cmocka_unit_test_setup(test_memstore__adds_of_doubles_are_short_decimals_again, setup),
        cmocka_unit_test_setup(test_memstore__delete_takes_what_came_before, setup),
        cmocka_unit_test_setup(test_memstore__tombstones_keep_their_order_and_grow, setup),
        cmocka_unit_test_setup(test_memstore__same_time_a_million_times_is_linear, setup),
        cmocka_unit_test_setup(test_memstore__many_hours_of_one_series_in_any_order, setup),
        cmocka_unit_test_setup(test_memstore__new_row_takes_little_memory, setup),
        cmocka_unit_test_setup(test_memstore__random_operations_match_the_reference, setup),
        cmocka_unit_test_setup(test_memstore__readers_see_whole_prefixes_beside_the_writer, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
