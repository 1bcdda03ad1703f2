/*
 * test_merge_cells.c - pieces of one row: newest wins, adds sum, tombstones cut, and merging in steps gives
 * the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "storage/engine/memory/fold.h"
#include "storage/engine/merge/merge.h"

#define MAX_CELLS 4000

/* A piece on the stack of a test. */
struct piece {
    uint32_t meta[MAX_CELLS]; /* cells */
    int64_t m[MAX_CELLS];     /* cells */
    struct sto_cells cells;   /* points into both */
};

static void add_cell(struct piece *p, enum sto_op op, uint32_t off, int64_t v)
{
    p->meta[p->cells.n] = sto_meta_flags(op, TS_NUM_INT, 0, false) | off;
    p->m[p->cells.n] = v;
    p->cells.meta = p->meta;
    p->cells.m = p->m;
    p->cells.n++;
    sto_fold_uniform(&p->cells);
}

static void expect(const struct sto_cells *c, uint32_t i, enum sto_op op, uint32_t off, int64_t v)
{
    assert_true(i < c->n);
    assert_int_equal(sto_meta_op(c->meta[i]), op);
    assert_int_equal(sto_meta_off(c->meta[i]), off);
    assert_int_equal(c->m[i], v);
}

static struct sto_tomb tomb(int64_t from_ms, int64_t to_ms)
{
    return (struct sto_tomb){1, 1, from_ms, to_ms, 0};
}

static void test_merge_cells__nothing_gives_nothing(void **state)
{
    (void)state;
    struct sto_cells out = {0}, none = {0};
    struct sto_tomb t = tomb(INT64_MIN, INT64_MAX);
    struct sto_merge_src src[] = {{.cells = &none}, {.tombs = &t, .n_tombs = 1}};
    sto_merge_cells(0, src, 0, true, &out);
    assert_int_equal(out.n, 0);
    sto_merge_cells(0, src, 2, true, &out);
    assert_int_equal(out.n, 0);
    assert_true(out.uniform);
    sto_cells_release(&out);
}

static void test_merge_cells__newer_put_wins(void **state)
{
    (void)state;
    static struct piece a, b;
    a = b = (struct piece){0};
    add_cell(&a, STO_OP_PUT, 1000, 1);
    add_cell(&a, STO_OP_PUT, 2000, 2);
    add_cell(&a, STO_OP_PUT, 5000, 5);
    add_cell(&b, STO_OP_PUT, 0, 10);
    add_cell(&b, STO_OP_PUT, 2000, 20);
    add_cell(&b, STO_OP_PUT, 3599999, 30);
    struct sto_merge_src src[] = {{.cells = &a.cells}, {.cells = &b.cells}};
    struct sto_cells out = {0};
    sto_merge_cells(7, src, 2, true, &out);
    assert_int_equal(out.n, 5);
    expect(&out, 0, STO_OP_PUT, 0, 10);
    expect(&out, 1, STO_OP_PUT, 1000, 1);
    expect(&out, 2, STO_OP_PUT, 2000, 20);
    expect(&out, 3, STO_OP_PUT, 5000, 5);
    expect(&out, 4, STO_OP_PUT, 3599999, 30);
    assert_true(out.uniform);
    assert_int_equal(out.common, sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false));
    sto_cells_release(&out);
}

static void test_merge_cells__disjoint_pieces_are_joined_in_time(void **state)
{
    (void)state;
    static struct piece p[3];
    memset(p, 0, sizeof(p));
    for (uint32_t i = 0; i < 100; i++) {
        add_cell(&p[0], STO_OP_PUT, 2000000 + i, i);
        add_cell(&p[1], STO_OP_PUT, i, i);
        add_cell(&p[2], STO_OP_ADD, 1000000 + i, i);
    }
    struct sto_merge_src src[] = {{.cells = &p[0].cells}, {.cells = &p[1].cells}, {.cells = &p[2].cells}};
    struct sto_cells out = {0};
    sto_merge_cells(0, src, 3, false, &out);
    assert_int_equal(out.n, 300);
    for (uint32_t i = 0; i < 300; i++)
        expect(&out, i, i / 100 == 1 ? STO_OP_ADD : STO_OP_PUT, i / 100 * 1000000 + i % 100, i % 100);
    assert_false(out.uniform);
    sto_cells_release(&out);
}

static void test_merge_cells__adds_find_their_put_or_stay(void **state)
{
    (void)state;
    static struct piece p[3];
    memset(p, 0, sizeof(p));
    add_cell(&p[0], STO_OP_PUT, 1000, 1);
    add_cell(&p[0], STO_OP_ADD, 2000, 2);
    add_cell(&p[1], STO_OP_ADD, 1000, 10);
    add_cell(&p[1], STO_OP_ADD, 2000, 20);
    add_cell(&p[2], STO_OP_ADD, 1000, 100);
    add_cell(&p[2], STO_OP_ADD, 3000, 300);
    struct sto_merge_src src[] = {{.cells = &p[0].cells}, {.cells = &p[1].cells}, {.cells = &p[2].cells}};
    struct sto_cells out = {0};
    for (int final = 0; final < 2; final++) {
        sto_merge_cells(0, src, 3, final != 0, &out);
        assert_int_equal(out.n, 3);
        expect(&out, 0, STO_OP_PUT, 1000, 111);
        expect(&out, 1, final ? STO_OP_PUT : STO_OP_ADD, 2000, 22);
        expect(&out, 2, final ? STO_OP_PUT : STO_OP_ADD, 3000, 300);
        assert_int_equal(out.uniform, final);
    }
    sto_cells_release(&out);
}

static void test_merge_cells__sums_beyond_64_bits_are_marked(void **state)
{
    (void)state;
    static struct piece a, b;
    a = b = (struct piece){0};
    add_cell(&a, STO_OP_PUT, 1000, INT64_MIN);
    add_cell(&a, STO_OP_PUT, 2000, INT64_MAX);
    add_cell(&b, STO_OP_ADD, 1000, -1);
    add_cell(&b, STO_OP_ADD, 2000, INT64_MIN);
    struct sto_merge_src src[] = {{.cells = &a.cells}, {.cells = &b.cells}};
    struct sto_cells out = {0};
    sto_merge_cells(0, src, 2, true, &out);
    assert_int_equal(out.n, 2);
    assert_int_equal(sto_meta_kind(out.meta[0]), TS_NUM_RAW);
    assert_int_equal(out.m[0], STO_SUM_OVERFLOW);
    expect(&out, 1, STO_OP_PUT, 2000, -1);
    assert_int_equal(sto_meta_kind(out.meta[1]), TS_NUM_INT);
    sto_cells_release(&out);
}

static void test_merge_cells__tombstones_cut_older_sources_only(void **state)
{
    (void)state;
    static struct piece p[3];
    memset(p, 0, sizeof(p));
    const int32_t hour = -5;
    const int64_t base = hour * TS_HOUR_MS;
    for (uint32_t i = 0; i < 10; i++)
        add_cell(&p[0], STO_OP_PUT, i * 1000, i);
    add_cell(&p[1], STO_OP_PUT, 3500, 100);
    add_cell(&p[1], STO_OP_ADD, 4000, 101);
    add_cell(&p[2], STO_OP_ADD, 5000, 200);
    /* the second deletes 3..5 s, the third 4 s and what lies before the hour or after it */
    struct sto_tomb second[] = {tomb(base + 3000, base + 5000), tomb(base + 4500, base + 4600)};
    struct sto_tomb third[] = {tomb(base + 4000, base + 4000), tomb(INT64_MIN, base - 1),
                               tomb(base + TS_HOUR_MS, INT64_MAX), tomb(base + 9000, base + TS_HOUR_MS)};
    struct sto_merge_src src[] = {{.cells = &p[0].cells},
                                  {.cells = &p[1].cells, .tombs = second, .n_tombs = 2},
                                  {.cells = &p[2].cells, .tombs = third, .n_tombs = 4}};
    struct sto_cells out = {0};
    sto_merge_cells(hour, src, 3, false, &out);
    assert_int_equal(out.n, 8);
    expect(&out, 2, STO_OP_PUT, 2000, 2);
    expect(&out, 3, STO_OP_PUT, 3500, 100);
    expect(&out, 4, STO_OP_ADD, 5000, 200); /* its put was deleted before it was added to */
    expect(&out, 5, STO_OP_PUT, 6000, 6);
    expect(&out, 7, STO_OP_PUT, 8000, 8);
    /* tombstones of the oldest source delete nothing here */
    src[0].tombs = third;
    src[0].n_tombs = 4;
    sto_merge_cells(hour, src, 1, false, &out);
    assert_int_equal(out.n, 10);
    sto_cells_release(&out);
}

static uint64_t seed = 0x9e3779b97f4a7c15ull;
static uint32_t rnd(uint32_t n)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)((seed >> 20) % n);
}

#define N_SRC   20
#define N_TOMBS 3

static struct piece rsrc[N_SRC];
static struct sto_tomb rtombs[N_SRC * N_TOMBS];

static void make_random(uint32_t n_src, uint32_t range)
{
    for (uint32_t s = 0; s < n_src; s++) {
        rsrc[s] = (struct piece){0};
        for (uint32_t off = rnd(range), n = 0; off < range && n < 60; off += 1 + rnd(range / 8), n++)
            add_cell(&rsrc[s], rnd(3) ? STO_OP_PUT : STO_OP_ADD, off, rnd(1000));
        for (uint32_t t = 0; t < N_TOMBS; t++) {
            int64_t from = (int64_t)rnd(range * 2) - range / 2;
            rtombs[s * N_TOMBS + t] = tomb(from, from + rnd(range / 3 + 1));
        }
    }
}

/* What is at one time, by looking at all: true if there is something. */
static bool plain(uint32_t n_src, uint32_t off, int64_t *out_v, enum sto_op *out_op)
{
    bool have = false;
    for (uint32_t s = 0; s < n_src; s++) {
        for (uint32_t t = 0; t < N_TOMBS; t++)
            if (rtombs[s * N_TOMBS + t].from_ms <= off && off <= rtombs[s * N_TOMBS + t].to_ms)
                have = false;
        for (uint32_t i = 0; i < rsrc[s].cells.n; i++) {
            if (sto_meta_off(rsrc[s].meta[i]) != off)
                continue;
            bool add = sto_meta_op(rsrc[s].meta[i]) == STO_OP_ADD;
            *out_v = add && have ? *out_v + rsrc[s].m[i] : rsrc[s].m[i];
            *out_op = add && (!have || *out_op == STO_OP_ADD) ? STO_OP_ADD : STO_OP_PUT;
            have = true;
        }
    }
    return have;
}

static void check_random(const struct sto_cells *out, uint32_t n_src, uint32_t range)
{
    uint32_t k = 0;
    for (uint32_t off = 0; off < range; off++) {
        int64_t v = 0;
        enum sto_op op = STO_OP_PUT;
        if (plain(n_src, off, &v, &op))
            expect(out, k++, op, off, v);
    }
    assert_int_equal(k, out->n);
}

static void test_merge_cells__random_pieces_at_once_and_in_steps(void **state)
{
    (void)state;
    struct sto_cells out = {0}, part = {0};
    for (int run = 0; run < 4000; run++) {
        uint32_t n = 1 + rnd(run % 10 ? 4 : N_SRC), range = 8 + rnd(200);
        make_random(n, range);
        struct sto_merge_src src[N_SRC];
        for (uint32_t s = 0; s < n; s++)
            src[s] = (struct sto_merge_src){&rsrc[s].cells, &rtombs[s * N_TOMBS], N_TOMBS};
        sto_merge_cells(0, src, n, false, &out);
        check_random(&out, n, range);
        /* neighbours first, as compaction does: their cells and all their tombstones stand for them */
        uint32_t lo = rnd(n), hi = lo + 1 + rnd(n - lo);
        sto_merge_cells(0, src + lo, hi - lo, false, &part);
        src[lo] = (struct sto_merge_src){&part, &rtombs[lo * N_TOMBS], (size_t)(hi - lo) * N_TOMBS};
        for (uint32_t s = hi; s < n; s++)
            src[lo + 1 + s - hi] = src[s];
        sto_merge_cells(0, src, n - (hi - lo) + 1, false, &out);
        check_random(&out, n, range);
    }
    sto_cells_release(&out);
    sto_cells_release(&part);
}

static void test_merge_cells__many_tombstones_are_linear(void **state)
{
    (void)state;
    enum { N = 300000 };
    struct sto_tomb *tombs = ts_xmalloc(N * sizeof(*tombs));
    for (uint32_t i = 0; i < N; i++)
        tombs[i] = tomb((i * 7919u) % 3600000, 3600000); /* all overlap: quadratic would time out */
    static struct piece a;
    a = (struct piece){0};
    for (uint32_t i = 0; i < MAX_CELLS; i++)
        add_cell(&a, STO_OP_PUT, i * 900, i);
    struct sto_merge_src src[] = {{.cells = &a.cells}, {.tombs = tombs, .n_tombs = N}};
    struct sto_cells out = {0};
    sto_merge_cells(0, src, 2, true, &out);
    assert_int_equal(out.n, 0); /* the first one begins at 0 */
    src[1].tombs = tombs + 1;
    src[1].n_tombs = 1;
    sto_merge_cells(0, src, 2, true, &out);
    assert_int_equal(out.n, 7919 / 900 + 1);
    sto_cells_release(&out);
    ts_free(tombs);
}

/* Ends of time included: a compiler that subtracts before it compares fails here. */
static void test_merge_cells__parts_of_an_hour(void **state)
{
    (void)state;
    const int32_t hour = 497532;
    const int64_t lo = hour * TS_HOUR_MS, hi = lo + TS_HOUR_MS - 1;
    const struct {
        int64_t from_ms, to_ms;
        bool is_there;
        uint32_t from, to;
    } cases[] = {
        {INT64_MIN, hi, true, 0, 3599999},  {INT64_MIN, INT64_MAX, true, 0, 3599999},
        {INT64_MIN, lo, true, 0, 0},        {INT64_MIN, lo - 1, false, 7, 7},
        {lo, INT64_MAX, true, 0, 3599999},  {hi, INT64_MAX, true, 3599999, 3599999},
        {lo + 5, hi - 5, true, 5, 3599994}, {lo - 1, lo + 1, true, 0, 1},
        {hi + 1, INT64_MAX, false, 7, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t from = 7, to = 7;
        assert_int_equal(sto_hour_part(hour, cases[i].from_ms, cases[i].to_ms, &from, &to),
                         cases[i].is_there);
        assert_int_equal(from, cases[i].from);
        assert_int_equal(to, cases[i].to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_cells__nothing_gives_nothing),
        cmocka_unit_test(test_merge_cells__newer_put_wins),
        cmocka_unit_test(test_merge_cells__disjoint_pieces_are_joined_in_time),
        cmocka_unit_test(test_merge_cells__adds_find_their_put_or_stay),
        cmocka_unit_test(test_merge_cells__sums_beyond_64_bits_are_marked),
        cmocka_unit_test(test_merge_cells__tombstones_cut_older_sources_only),
        cmocka_unit_test(test_merge_cells__random_pieces_at_once_and_in_steps),
        cmocka_unit_test(test_merge_cells__parts_of_an_hour),
        cmocka_unit_test(test_merge_cells__many_tombstones_are_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
