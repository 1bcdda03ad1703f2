/*
 * test_fold.c - operations in order of arrival become sorted cells, whatever the order they came in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "storage/engine/memory/fold.h"

#define MAX_OPS 5000
#define NO_CELL UINT32_MAX

static uint32_t metas[MAX_OPS];
static int64_t values[MAX_OPS];
static uint32_t n_ops;

static uint64_t seed = 0x853c49e6748fea9bull;
static uint32_t rnd(uint32_t n)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)((seed >> 20) % n);
}

static void op(enum sto_op o, uint32_t off, int64_t v)
{
    metas[n_ops] =
        (o == STO_OP_DEL ? (uint32_t)o << STO_META_OP_SHIFT : sto_meta_flags(o, TS_NUM_INT, 0, false)) | off;
    values[n_ops++] = v;
}

/* Fold, and compare with every offset looked at alone. */
static void check(uint32_t step)
{
    struct sto_cells out = {0};
    uint32_t k = 0;
    sto_fold(metas, values, n_ops, &out);
    for (uint32_t off = 0; off < TS_HOUR_MS; off += step) {
        uint32_t have = NO_CELL;
        int64_t sum = 0;
        for (uint32_t i = 0; i < n_ops; i++) {
            uint32_t o = sto_meta_op(metas[i]);
            if (o == STO_OP_DEL ? sto_meta_off(metas[i]) <= off && off <= values[i] : false) {
                have = NO_CELL;
            } else if (o != STO_OP_DEL && sto_meta_off(metas[i]) == off) {
                sum = o == STO_OP_ADD && have != NO_CELL ? sum + values[i] : values[i];
                have = o == STO_OP_PUT || have == NO_CELL ? o : have;
            }
        }
        if (have == NO_CELL)
            continue;
        assert_true(k < out.n);
        assert_int_equal(sto_meta_off(out.meta[k]), off);
        assert_int_equal(sto_meta_op(out.meta[k]), have);
        assert_int_equal(out.m[k], sum);
        k++;
    }
    assert_int_equal(k, out.n);
    sto_cells_release(&out);
    n_ops = 0;
}

static void test_fold__nothing_and_deletes_alone_give_nothing(void **state)
{
    (void)state;
    check(100000);
    op(STO_OP_DEL, 0, 3599999);
    op(STO_OP_DEL, 5, 4);
    check(1000);
}

static void test_fold__orders_of_arrival(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 23, 24, 25, 100, 500, 3600};
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        uint32_t n = sizes[k];
        for (uint32_t i = 0; i < n; i++)
            op(STO_OP_PUT, i * 1000, i); /* in order */
        check(1000);
        for (uint32_t i = n; i-- > 0;)
            op(STO_OP_PUT, i * 1000, i); /* backwards */
        check(1000);
        for (uint32_t i = 0; i < n; i++)
            op(STO_OP_PUT,
               (i % 2        ? i
                : i + 40 < n ? i + 40
                             : i) *
                   1000 % 3600000,
               i); /* two senders, one ahead, times twice */
        check(1000);
        for (uint32_t i = 0; i < n; i++)
            op(STO_OP_PUT, (i % 5 * n / 5 + i / 5) * 1000 % 3600000, i); /* five senders far apart */
        check(1000);
        for (uint32_t i = 0; i < n; i++)
            op(rnd(2) ? STO_OP_PUT : STO_OP_ADD, rnd(3600) * 1000, i); /* any order */
        check(1000);
        for (uint32_t i = 0; i < n; i++)
            op(rnd(9) ? STO_OP_ADD : STO_OP_PUT, rnd(5) * 899000, i); /* few times, often */
        check(1000);
    }
}

static void test_fold__random_operations_with_deletes(void **state)
{
    (void)state;
    for (int run = 0; run < 300; run++) {
        uint32_t n = 1 + rnd(run % 20 ? 80 : 2000), lag = rnd(20000) + 1;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t off = (i * 10000 + rnd(3) * lag) / 10000 * 10000 % 3600000;
            uint32_t what = rnd(40);
            if (what == 0)
                op(STO_OP_DEL, off, off + rnd(200000));
            else
                op(what < 10 ? STO_OP_ADD : STO_OP_PUT, off, i);
        }
        check(10000);
    }
}

static void test_fold__sums_of_numbers(void **state)
{
    (void)state;
    static const struct {
        struct ts_num a, b;
        double sum;
        bool is_int;
    } cases[] = {
        {{1, TS_NUM_INT, 0}, {2, TS_NUM_INT, 0}, 3, true},
        {{INT64_MAX, TS_NUM_INT, 0}, {INT64_MIN, TS_NUM_INT, 0}, -1, true},
        {{1, TS_NUM_DEC, 1}, {2, TS_NUM_DEC, 1}, 0.3, false}, /* as doubles they make 0.30000000000000004 */
        {{1, TS_NUM_DEC, 22}, {1, TS_NUM_INT, 0}, 1, false},
        {{1ll << 53, TS_NUM_DEC, 1},
         {1, TS_NUM_DEC, 1},
         900719925474099.375,
         false}, /* rounded, as doubles are */
        {{(1ll << 53) + 2, TS_NUM_INT, 0}, {5, TS_NUM_DEC, 1}, 9007199254740994.0, false},
        {{15, TS_NUM_DEC, 1}, {225, TS_NUM_DEC, 2}, 3.75, false},
        {{15, TS_NUM_DEC, 1}, {1, TS_NUM_INT, 0}, 2.5, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ts_num s = sto_num_add(cases[i].a, cases[i].b), r = sto_num_add(cases[i].b, cases[i].a);
        assert_true(ts_num_double(s) == cases[i].sum);
        assert_true(ts_num_double(r) == cases[i].sum);
        assert_int_equal(s.kind == TS_NUM_INT, cases[i].is_int);
    }
    static const struct ts_num large[][2] = {
        {{INT64_MAX, TS_NUM_INT, 0}, {1, TS_NUM_INT, 0}},
        {{INT64_MIN, TS_NUM_INT, 0}, {-1, TS_NUM_INT, 0}},
        {{0x7fe0000000000000, TS_NUM_RAW, 0}, {0x7fe0000000000000, TS_NUM_RAW, 0}},
        {{STO_SUM_OVERFLOW, TS_NUM_RAW, 0}, {-5, TS_NUM_INT, 0}},
        {{STO_SUM_OVERFLOW, TS_NUM_RAW, 0}, {15, TS_NUM_DEC, 1}},
    };
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
        for (unsigned k = 0; k < 2; k++) {
            struct ts_num s = sto_num_add(large[i][k], large[i][1 - k]);
            assert_true(s.m == STO_SUM_OVERFLOW && s.kind == TS_NUM_RAW);
        }
    struct ts_num short_one =
        sto_num_add((struct ts_num){15, TS_NUM_DEC, 1}, (struct ts_num){225, TS_NUM_DEC, 2});
    assert_int_equal(short_one.kind, TS_NUM_DEC); /* and small on disk again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold__nothing_and_deletes_alone_give_nothing),
        cmocka_unit_test(test_fold__orders_of_arrival),
        cmocka_unit_test(test_fold__random_operations_with_deletes),
        cmocka_unit_test(test_fold__sums_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
