/*
 * test_block.c - blocks of rows: every cell comes back, hostile bytes are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "storage/codecs/codec.h"
#include "storage/versions.h"

static uint64_t seed = 1;
static uint64_t rnd(void)
{
    seed += 0x9e3779b97f4a7c15ull;
    return ts_hash_u64(seed);
}

/* Rows kept beside the encoder. */
#define T_MAX_ROWS 9000
struct t_block {
    uint32_t n;
    struct sto_key key[T_MAX_ROWS];
    struct sto_cells cells[T_MAX_ROWS];
};
static struct t_block in;

static void t_clear(void)
{
    for (uint32_t i = 0; i < in.n; i++)
        sto_cells_release(&in.cells[i]);
    in.n = 0;
}

static struct sto_cells *t_row(uint32_t metric, uint32_t series, int32_t hour)
{
    assert_true(in.n < T_MAX_ROWS);
    in.key[in.n] = (struct sto_key){metric, series, hour};
    return &in.cells[in.n++];
}

static void t_add(struct sto_cells *c, uint32_t off, uint32_t flags, int64_t m)
{
    sto_cells_reserve(c, c->n + 1);
    c->meta[c->n] = off | flags;
    c->m[c->n++] = m;
}

static uint32_t t_int(void)
{
    return sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
}
static uint32_t t_dec(uint8_t exp)
{
    return sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, exp, false);
}
static uint32_t t_raw(void)
{
    return sto_meta_flags(STO_OP_PUT, TS_NUM_RAW, 0, false);
}
static int64_t t_bits(double d)
{
    int64_t b;
    memcpy(&b, &d, 8);
    return b;
}

/* The same to a reader: kinds may change among doubles, the double may not. */
static void t_same(uint32_t meta, int64_t m, uint32_t meta2, int64_t m2)
{
    assert_int_equal(sto_meta_off(meta), sto_meta_off(meta2));
    assert_int_equal(sto_meta_op(meta), sto_meta_op(meta2));
    assert_int_equal(meta & STO_META_MS, meta2 & STO_META_MS);
    if (sto_meta_kind(meta) == TS_NUM_INT) {
        assert_int_equal(sto_meta_kind(meta2), TS_NUM_INT);
        assert_int_equal(sto_meta_exp(meta), sto_meta_exp(meta2));
        assert_true(m == m2);
        return;
    }
    assert_int_not_equal(sto_meta_kind(meta2), TS_NUM_INT);
    if (sto_meta_kind(meta) == TS_NUM_RAW)
        assert_int_equal(sto_meta_kind(meta2), TS_NUM_RAW);
    double a = ts_num_double(sto_cell_num(meta, m)), b = ts_num_double(sto_cell_num(meta2, m2));
    assert_memory_equal(&a, &b, 8);
}

/* Encode what is in `in` with a level, decode, compare; returns the size of the block. */
static size_t t_round_trip_level(unsigned level)
{
    struct sto_enc *e = sto_enc_new();
    struct sto_dec *d = sto_dec_new();
    struct sto_cells out = {0};
    struct ts_error err = {0};
    sto_enc_set_level(e, level);
    for (uint32_t i = 0; i < in.n; i++)
        sto_enc_row(e, &in.key[i], &in.cells[i]);
    assert_int_equal(sto_enc_rows(e), in.n);
    struct ts_slice block = sto_enc_finish(e);
    assert_int_equal(sto_enc_rows(e), 0);
    int rc = sto_dec_open(d, block, &err);
    if (rc)
        fail_msg("%s", err.text);
    assert_int_equal(sto_dec_n_rows(d), in.n);
    for (uint32_t k = 0; k < in.n; k++) {
        uint32_t i = in.n - 1 - k; /* backwards: rows do not depend on each other */
        const struct sto_dec_row *row = sto_dec_row_at(d, i);
        assert_int_equal(sto_key_cmp(&row->key, &in.key[i]), 0);
        assert_int_equal(row->n, in.cells[i].n);
        rc = sto_dec_cells(d, i, &out, &err);
        if (rc)
            fail_msg("row %u: %s", i, err.text);
        assert_int_equal(out.n, in.cells[i].n);
        for (uint32_t j = 0; j < out.n; j++) {
            t_same(in.cells[i].meta[j], in.cells[i].m[j], out.meta[j], out.m[j]);
            if (out.uniform)
                assert_int_equal(out.meta[j] & STO_META_FLAGS_MASK, out.common);
        }
    }
    size_t n = block.n;
    sto_cells_release(&out);
    sto_enc_free(e);
    sto_dec_free(d);
    return n;
}

/* The same for blocks that are read once, and as usual. */
static size_t t_round_trip(void)
{
    (void)t_round_trip_level(STO_LEVEL_ROUGH);
    size_t n = t_round_trip_level(0);
    t_clear();
    return n;
}

static void test_block__one_point_comes_back(void **state)
{
    (void)state;
    static const int64_t m[] = {0, 1, -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof m / sizeof m[0]; i++) {
        t_add(t_row(1, 2, INT32_MIN), 3599000, t_int(), m[i]);
        assert_true(t_round_trip() < 100);
        t_add(t_row(UINT32_MAX, UINT32_MAX, INT32_MAX), 3599999, t_int() | STO_META_MS, m[i]);
        assert_true(t_round_trip() < 100);
    }
}

static void test_block__extreme_values_come_back(void **state)
{
    (void)state;
    struct sto_cells *c = t_row(1, 1, 0);
    for (uint32_t i = 0; i < 400; i++)
        t_add(c, i * 1000, t_int(), i % 3 == 0 ? INT64_MIN : i % 3 == 1 ? INT64_MAX : (int64_t)i);
    static const double d[] = {
        0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, 1.7976931348623157e308, 2.2250738585072014e-308,
        0.1, 1e22};
    c = t_row(1, 2, 0);
    for (uint32_t i = 0; i < 300; i++)
        t_add(c, i * 1000, t_raw(), t_bits(d[i % 10] * (i % 7 ? 1 : 0.3)));
    c = t_row(1, 3, 0);
    for (uint32_t i = 0; i < 300; i++)
        t_add(c, i * 1000, t_int(), (int64_t)rnd());
    c = t_row(1, 4, 0);
    for (uint32_t i = 0; i < 300; i++)
        t_add(c, i * 1000, t_int(), (int64_t)(1ull << (i % 64)));
    c = t_row(1, 5, 0);
    for (uint32_t i = 0; i < 300; i++)
        t_add(c, i * 1000, t_int(), (int64_t)(i * (uint64_t)(INT64_MAX / 150))); /* steady, wraps */
    c = t_row(1, 6, 0);
    for (uint32_t i = 0; i < 300; i++)
        t_add(c, i * 1000, t_dec(22), (int64_t)(i % 2 ? 1ll << 53 : -(1ll << 53)));
    t_round_trip();
}

/* What is read once takes no more than about the bits of the largest difference. */
static void test_block__rough_rows_are_not_much_larger(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 20; s++) {
        struct sto_cells *c = t_row(1, s, 0);
        uint32_t off = 0;
        for (uint32_t i = 0; i < 360; i++) {
            t_add(c, off, t_dec(2), (int64_t)(rnd() % 10000));
            off += 5000 + 1000 * (uint32_t)(rnd() % 4);
        }
    }
    size_t rough = t_round_trip_level(STO_LEVEL_ROUGH), usual = t_round_trip_level(0);
    assert_true(rough < 20 * 360 * 17 / 8 && usual <= rough);
    t_clear();
}

static void test_block__equal_values_cost_nothing(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 20; s++) {
        struct sto_cells *c = t_row(1, s, 0);
        for (uint32_t i = 0; i < 360; i++)
            t_add(c, i * 10000, t_dec(1), 425);
    }
    assert_true(t_round_trip() < 120);
}

static void test_block__rows_of_a_few_points_cost_little_more_than_values(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 1638; s++) {
        struct sto_cells *c = t_row(1, s, 0);
        for (uint32_t i = 0; i < 5; i++)
            t_add(c, i * 60000, t_int(), (int64_t)(rnd() % 1000));
    }
    assert_true(t_round_trip() < 1638 * 5 * 130 / 100);
    for (uint32_t s = 0; s < 8192; s++)
        t_add(t_row(1, s, 0), 7000, t_int(), (int64_t)(rnd() % 1000));
    assert_true(t_round_trip() < 8192 * 135 / 100);
}

static void test_block__exponents_are_brought_together(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 20; s++) {
        struct sto_cells *c = t_row(1, s, 0);
        int64_t v = 5000;
        for (uint32_t i = 0; i < 360; i++) {
            v += (int64_t)(rnd() % 21) - 10;
            bool tens = v % 10 == 0, hundreds = v % 100 == 0;
            t_add(c, i * 10000, t_dec(hundreds ? 0 : tens ? 1 : 2), hundreds ? v / 100 : tens ? v / 10 : v);
        }
    }
    assert_true(t_round_trip() < 20 * 360 * 65 / 100);
    /* the same in short rows, and where one does not fit */
    for (uint32_t s = 0; s < 1000; s++) {
        struct sto_cells *c = t_row(1, s, 0);
        for (uint32_t i = 0; i < 3; i++)
            t_add(c, i * 10000, t_dec((uint8_t)(rnd() % 3)), (int64_t)(rnd() % 1000));
        if (s == 500)
            c->m[0] = 1ll << 53;
    }
    t_round_trip();
}

static void test_block__decimals_that_do_not_fit_one_exponent_stay_the_same_doubles(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 3; s++) {
        struct sto_cells *c = t_row(1, s, 0);
        for (uint32_t i = 0; i < 100; i++)
            t_add(c, i * 1000, t_dec((uint8_t)(i % 23)), (int64_t)(rnd() >> 11) * (i & 1 ? -1 : 1));
    }
    t_round_trip();
}

static void test_block__integers_among_decimals_stay_integers(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 20; s++) {
        struct sto_cells *c = t_row(1, s, 0);
        int64_t v = 5000;
        for (uint32_t i = 0; i < 360; i++) {
            v += (int64_t)(rnd() % 21) - 10;
            if (v % 10 == 0)
                t_add(c, i * 10000, t_int(), v / 10);
            else
                t_add(c, i * 10000, t_dec(1), v);
        }
    }
    assert_true(t_round_trip() < 20 * 360);
}

static void test_block__odd_doubles_among_decimals_are_a_list(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 20; s++) {
        struct sto_cells *c = t_row(1, s, 0);
        int64_t v = 5000;
        for (uint32_t i = 0; i < 360; i++) {
            v += (int64_t)(rnd() % 21) - 10;
            if (i % 100 == s)
                t_add(c, i * 10000, t_raw(), t_bits((double)v / 3));
            else
                t_add(c, i * 10000, t_dec(1), v);
        }
    }
    assert_true(t_round_trip() < 20 * 360);
}

/* Rows of one integer are read as such, up to the end, another series, a row of another kind, one that has a further piece, and the last of the block. */
static void t_singles(int32_t end)
{
    struct sto_enc *e = sto_enc_new();
    struct sto_dec *d = sto_dec_new();
    struct ts_error err = {0};
    struct sto_key keys[64];
    __int128 sums[64];
    for (uint32_t i = 0; i < in.n; i++)
        sto_enc_row(e, &in.key[i], &in.cells[i]);
    assert_int_equal(sto_dec_open(d, sto_enc_finish(e), &err), 0);
    for (uint32_t i = 0; i < in.n; i++) {
        uint32_t n = 0;
        for (; i + n + 1 < in.n && n < 64; n++) {
            const struct sto_key *k = &in.key[i + n];
            const struct sto_cells *c = &in.cells[i + n];
            if (k->metric != in.key[i].metric || k->series != in.key[i].series || k->hour >= end ||
                sto_key_cmp(k, k + 1) == 0 || c->n != 1 || sto_meta_kind(c->meta[0]) != TS_NUM_INT)
                break;
        }
        assert_int_equal(sto_dec_singles(d, i, end, 64, keys, sums, &err), n);
        for (uint32_t k = 0; k < n; k++) {
            assert_int_equal(sto_key_cmp(&keys[k], &in.key[i + k]), 0);
            assert_true(sums[k] == in.cells[i + k].m[0]);
        }
    }
    sto_enc_free(e);
    sto_dec_free(d);
}

static void test_block__rows_of_one_integer_are_read_together(void **state)
{
    (void)state;
    for (unsigned kinds = 0; kinds < 2; kinds++) { /* rows that are alike, and others in between */
        for (uint32_t m = 1; m <= 2; m++)
            for (uint32_t i = 0; i < 200; i++) {
                struct sto_cells *c = t_row(m, 5 + i / 60, (int32_t)(i % 60 - (i % 60 == 30)) - 20);
                t_add(c, (uint32_t)(i * 7 % 3600) * 1000, kinds && i % 41 == 9 ? t_dec(1) : t_int(),
                      (int64_t)(i * i) - 1000);
                if (kinds && i % 50 == 7)
                    t_add(c, 3599000, t_int(), -5);
            }
        t_singles(INT32_MAX);
        t_singles(17);
        t_round_trip();
    }
}

static void test_block__any_mixture_comes_back(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        uint32_t n_rows = 1 + (uint32_t)(rnd() % 60);
        for (uint32_t s = 0; s < n_rows; s++) {
            struct sto_cells *c = t_row(s / 20, s, (int32_t)(rnd() % 10) - 5);
            uint32_t n = 1 + (uint32_t)(rnd() % (rnd() % 4 ? 30 : 600)), off = 0,
                     kinds = (uint32_t)(rnd() % 8);
            uint32_t max_gap = rnd() % 2 ? 3599999 / n : 1 + (uint32_t)(rnd() % 5);
            bool ms = rnd() % 2, adds = rnd() % 4 == 0;
            int shift = (int)(rnd() % 64);
            for (uint32_t i = 0; i < n && off < 3600000; i++) {
                uint32_t kind = kinds < 3    ? kinds
                                : kinds == 3 ? (uint32_t)(rnd() % 3)
                                : kinds == 4 ? (uint32_t)(rnd() % 2)
                                             : 1 + (rnd() % 9 == 0);
                uint8_t exp = 0;
                if (kind == TS_NUM_DEC)
                    exp = (uint8_t)(rnd() % (kinds > 5 ? 23 : 4));
                int64_t m = (int64_t)rnd() >> shift;
                if (kind == TS_NUM_DEC)
                    m >>= 11;
                if (kind == TS_NUM_RAW)
                    m = t_bits((double)m / 7);
                t_add(c, ms ? off : off / 1000 * 1000,
                      sto_meta_flags(adds && rnd() % 2 ? STO_OP_ADD : STO_OP_PUT, (uint8_t)kind, exp, ms), m);
                off += (ms ? 1 : 1000) * (1 + (uint32_t)(rnd() % max_gap) / (ms ? 1 : 1000));
            }
        }
        t_round_trip();
    }
}

/* Rows of versions: offsets that repeat, stamps with exponents that say something else, values of all kinds. */
static void test_block__versions_come_back(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        uint32_t n_rows = 1 + (uint32_t)(rnd() % 20), kinds = (uint32_t)(rnd() % 7);
        bool small = rnd() % 3 == 0; /* stamps that can be scaled, as no clock gives them */
        for (uint32_t s = 0; s < n_rows; s++) {
            struct sto_cells *c = t_row(1, s, 0);
            uint32_t n = 1 + (uint32_t)(rnd() % 40), off = (uint32_t)(rnd() % 1000);
            int shift = (int)(rnd() % 64);
            if (rnd() % 5 == 0) {
                t_add(c, off, t_int(), 5); /* a row of points beside it */
                continue;
            }
            for (uint32_t i = 0; i < n; i++) {
                uint8_t kind = (uint8_t)(kinds < 3 ? kinds : rnd() % 3);
                uint8_t exp = kind == TS_NUM_DEC ? (uint8_t)(rnd() % (kinds > 5 ? 23 : 3)) : 0;
                int64_t m = (int64_t)rnd() >> (kind == TS_NUM_DEC && shift < 11 ? 11 : shift);
                t_add(c, off, sto_stamp_flags(1 + (unsigned)(rnd() % 31)) | (rnd() % 2 ? STO_META_MS : 0),
                      small ? (int64_t)(rnd() % 100) : 1790000000000000ll + (int64_t)(rnd() % 1000000));
                t_add(c, off, sto_meta_flags(STO_OP_KEEP, kind, exp, rnd() % 2),
                      kind == TS_NUM_RAW ? t_bits((double)m / 7) : m);
                if (round % 4 && rnd() % 3 == 0)
                    off += 1 + (uint32_t)(rnd() % 5000);
            }
        }
        t_round_trip();
    }
}

static void test_block__large_rows_come_back(void **state)
{
    (void)state;
    struct sto_cells *c = t_row(1, 1, 0);
    for (uint32_t i = 0; i < STO_BLOCK_POINTS - 1; i++)
        t_add(c, i * 400, t_int() | STO_META_MS, (int64_t)rnd());
    c = t_row(1, 1, 1);
    for (uint32_t i = 0; i < STO_BLOCK_MAX_POINTS; i++)
        t_add(c, i * 54 + (uint32_t)(rnd() % 54), t_raw() | STO_META_MS, t_bits((double)(rnd() >> 8) * 1e-3));
    assert_true(t_round_trip() < (STO_BLOCK_MAX_POINTS + STO_BLOCK_POINTS) * 10);
}

static void test_block__shapes_take_the_codec_that_fits(void **state)
{
    (void)state;
    struct sto_cells *c = t_row(1, 1, 0); /* ramp with noise in its slope */
    for (uint32_t i = 0; i < 3600; i++)
        t_add(c, i * 1000, t_int(), 1000000 + 40000ll * i + (int64_t)(rnd() % 8));
    assert_true(t_round_trip() < 3600 * 50 / 100);
    c = t_row(1, 1, 0); /* counter that resets */
    int64_t v = 1ll << 40;
    for (uint32_t i = 0; i < 3600; i++) {
        v = i == 1000 ? 0 : v + 100000 + (int64_t)(rnd() % 256);
        t_add(c, i * 1000, t_int(), v);
    }
    assert_true(t_round_trip() < 3600 * 115 / 100);
    c = t_row(1, 1, 0); /* curve: constant second difference */
    for (uint32_t i = 0; i < 3600; i++)
        t_add(c, i * 1000, t_int(), 7ll * i * i);
    assert_true(t_round_trip() < 150);
    c = t_row(1, 1, 0); /* multiples of a page */
    for (uint32_t i = 0; i < 3600; i++)
        t_add(c, i * 1000, t_int(), (int64_t)(rnd() % 16) * 4096);
    assert_true(t_round_trip() < 3600 * 55 / 100);
    c = t_row(1, 1, 0); /* floats widened to doubles */
    for (uint32_t i = 0; i < 3600; i++) {
        float f = 100.0f + (float)(rnd() % 1000000) * 1e-5f;
        t_add(c, i * 1000, t_raw(), t_bits((double)f));
    }
    assert_true(t_round_trip() < 3600 * 270 / 100);
    c = t_row(1, 1, 0); /* a grid with jitter */
    for (uint32_t i = 0; i < 360; i++)
        t_add(c, i * 10000 + 100 + (uint32_t)(rnd() % 16), t_int() | STO_META_MS, 5);
    assert_true(t_round_trip() < 360 * 95 / 100); /* differences would take 5 bits more */
}

/* A small block of three rows in buf. */
static size_t t_small(char *buf, size_t cap)
{
    struct sto_enc *e = sto_enc_new();
    for (uint32_t s = 0; s < 40; s++) {
        struct sto_cells *c = t_row(1, s, 0);
        for (uint32_t i = 0; i < 30; i++)
            t_add(c, i * 1000 + (uint32_t)(rnd() % 1000),
                  s % 3   ? t_dec((uint8_t)(s % 7)) | STO_META_MS
                  : i % 2 ? t_int()
                          : t_raw(),
                  (int64_t)(rnd() >> (rnd() % 64)) >> 10);
        sto_enc_row(e, &in.key[in.n - 1], c);
    }
    struct ts_slice b = sto_enc_finish(e);
    assert_true(b.n <= cap);
    memcpy(buf, b.p, b.n);
    sto_enc_free(e);
    t_clear();
    return b.n;
}

static void test_block__each_damaged_byte_is_found(void **state)
{
    (void)state;
    static char buf[32768];
    size_t n = t_small(buf, sizeof buf);
    struct sto_dec *d = sto_dec_new();
    struct ts_error err = {0};
    for (size_t i = 0; i < n; i++) {
        buf[i] = (char)(buf[i] ^ 1 << i % 8);
        assert_int_equal(sto_dec_open(d, (struct ts_slice){buf, n}, &err), TS_ECORRUPT);
        assert_int_equal(sto_dec_n_rows(d), 0);
        buf[i] = (char)(buf[i] ^ 1 << i % 8);
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sto_dec_open(d, (struct ts_slice){buf, i}, &err), TS_ECORRUPT);
    assert_int_equal(sto_dec_open(d, (struct ts_slice){buf, n}, &err), 0);
    buf[4] = 9;
    ts_st32(buf, ts_crc32c(0, buf + 4, n - 4));
    assert_int_equal(sto_dec_open(d, (struct ts_slice){buf, n}, &err), TS_EVERSION);
    sto_dec_free(d);
}

/* With a checksum that fits: any answer but a crash; the sanitizers watch. */
static void test_block__hostile_bytes_do_no_harm(void **state)
{
    (void)state;
    static char good[32768], buf[32768];
    struct sto_dec *d = sto_dec_new();
    struct sto_cells out = {0};
    struct ts_error err = {0};
    size_t n = t_small(good, sizeof good), opened = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        memcpy(buf, good, n);
        size_t changes = 1 + rnd() % 3;
        for (size_t k = 0; k < changes; k++) {
            size_t at = rnd() % 2 ? 5 + rnd() % 120 : 5 + rnd() % (n - 5);
            buf[at] = (char)(rnd() % 3 ? rnd() : (uint64_t)(buf[at] + 1));
        }
        size_t len = rnd() % 8 ? n : 5 + rnd() % (n - 5);
        ts_st32(buf, ts_crc32c(0, buf + 4, len - 4));
        char *copy = ts_xmalloc(len); /* exact size, so that reading beyond is seen */
        memcpy(copy, buf, len);
        int rc = sto_dec_open(d, (struct ts_slice){copy, len}, &err);
        opened += rc == 0;
        refused += rc < 0;
        for (uint32_t i = 0; rc == 0 && i < sto_dec_n_rows(d); i++)
            if (sto_dec_cells(d, i, &out, &err) == 0)
                for (uint32_t j = 1; j < out.n; j++)
                    assert_true(sto_meta_follows(out.meta[j - 1], out.meta[j]));
        ts_free(copy);
    }
    assert_true(opened > 100 && refused > 100);
    sto_cells_release(&out);
    sto_dec_free(d);
}

/* The first values of 60 rows have an escape; bytes of the block are changed until they cannot be decoded. */
static void test_block__first_values_that_fail_fail_again(void **state)
{
    (void)state;
    enum { N = 60, MOST_BYTES = 4096 };
    struct sto_enc *e = sto_enc_new();
    struct sto_dec *d = sto_dec_new();
    struct sto_cells c = {0};
    struct sto_key keys[N];
    __int128 sums[N];
    char buf[MOST_BYTES];
    unsigned n_failed = 0;
    t_clear();
    for (int32_t i = 0; i < N; i++)
        t_add(t_row(1, 1, i), 0, t_int(), i == 30 ? INT64_MAX / 3 : i * i % 7);
    for (uint32_t i = 0; i < in.n; i++)
        sto_enc_row(e, &in.key[i], &in.cells[i]);
    struct ts_slice block = sto_enc_finish(e);
    assert_true(block.n <= sizeof buf);
    for (size_t at = 5; at < block.n; at++) {
        memcpy(buf, block.p, block.n);
        buf[at] = (char)(buf[at] + 1);
        ts_st32(buf, ts_crc32c(0, buf + 4, block.n - 4));
        if (sto_dec_open(d, (struct ts_slice){buf, block.n}, NULL) < 0 ||
            sto_dec_singles(d, 0, INT32_MAX, N, keys, sums, NULL) >= 0)
            continue;
        n_failed++;
        assert_int_equal(sto_dec_singles(d, 0, INT32_MAX, N, keys, sums, NULL), TS_ECORRUPT);
        for (uint32_t i = 0; i < sto_dec_n_rows(d); i++)
            assert_int_equal(sto_dec_cells(d, i, &c, NULL), TS_ECORRUPT);
    }
    assert_true(n_failed > 0);
    sto_cells_release(&c);
    sto_enc_free(e);
    sto_dec_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block__one_point_comes_back),
        cmocka_unit_test(test_block__extreme_values_come_back),
        cmocka_unit_test(test_block__rough_rows_are_not_much_larger),
        cmocka_unit_test(test_block__equal_values_cost_nothing),
        cmocka_unit_test(test_block__rows_of_a_few_points_cost_little_more_than_values),
        cmocka_unit_test(test_block__exponents_are_brought_together),
        cmocka_unit_test(test_block__decimals_that_do_not_fit_one_exponent_stay_the_same_doubles),
        cmocka_unit_test(test_block__integers_among_decimals_stay_integers),
        cmocka_unit_test(test_block__odd_doubles_among_decimals_are_a_list),
        cmocka_unit_test(test_block__rows_of_one_integer_are_read_together),
        cmocka_unit_test(test_block__any_mixture_comes_back),
        cmocka_unit_test(test_block__versions_come_back),
        cmocka_unit_test(test_block__large_rows_come_back),
        cmocka_unit_test(test_block__shapes_take_the_codec_that_fits),
        cmocka_unit_test(test_block__each_damaged_byte_is_found),
        cmocka_unit_test(test_block__hostile_bytes_do_no_harm),
        cmocka_unit_test(test_block__first_values_that_fail_fail_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
