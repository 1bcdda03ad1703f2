/*
 * test_rare.c - sequences of which all values but a few are the same (STO_CODEC_RARE).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "storage/codecs/block_int.h"
#include "storage/codecs/codec.h"
#include "storage/codecs/memory_int.h"
#include "storage/codecs/pack_int.h"

#define N        300u
#define MAX_RARE 16u

/* A sequence on its way through a pack. */
struct world {
    struct sto_plan plan;
    struct sto_pack pack;
    struct sto_unpack unpack;
    struct sto_zip zip;
    struct sto_dec_memory memory;
    struct ts_buf bytes; /* the finished pack */
};

static void release(struct world *w)
{
    sto_plan__release(&w->plan);
    sto_pack__release(&w->pack);
    sto_unpack__release(&w->unpack);
    sto_zip__release(&w->zip);
    ts_buf_release(&w->bytes);
}

/* Store residuals, or escapes, and open the pack again. */
static void store(struct world *w, const uint64_t *res, uint32_t n, struct sto_seq *s, bool lazy)
{
    sto_pack__clear(&w->pack);
    ts_buf_clear(&w->bytes);
    sto_pack__put(&w->pack, res, n, s);
    sto_pack__finish(&w->pack, &w->zip, &w->bytes);
    const uint8_t *p = (const uint8_t *)w->bytes.p, *end = p + w->bytes.n;
    w->unpack.lazy = lazy;
    assert_ptr_equal(sto_unpack__open(&w->unpack, p, end, N * 16), end);
    assert_int_equal(sto_unpack__inflate(&w->unpack, &w->zip, &w->memory), 0);
}

/* What is stored comes back, and is found without decoding. Returns the codec. */
static int check(struct world *w, const int64_t *v, uint32_t n, bool lazy)
{
    struct sto_seq s;
    struct sto_unpack_pos pos = {0}, begin = {0};
    struct sto_rare rare[MAX_RARE];
    int64_t got[N];
    uint32_t n_rare = 0, at = 0;
    w->plan.rare = true;
    uint32_t n_res = sto_plan__one(&w->plan, v, n, false, &s);
    store(w, w->plan.res, n_res, &s, lazy);
    assert_int_equal(sto_unpack__get(&w->unpack, &pos, &s, n, got), 0);
    assert_true(sto_unpack__ends_at(&w->unpack, &pos));
    assert_memory_equal(got, v, n * sizeof *v);
    if (s.codec != STO_CODEC_RARE || !lazy)
        return s.codec;
    assert_true(sto_unpack__rare(&w->unpack, &begin, &s, n, rare, MAX_RARE, &n_rare));
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != s.first) {
            assert_int_equal(rare[at].at, i);
            assert_int_equal(rare[at].res * s.unit + (uint64_t)s.first, (uint64_t)v[i]);
            at++;
        }
    assert_int_equal(at, n_rare);
    assert_false(sto_unpack__rare(&w->unpack, &begin, &s, n, rare, n_rare - 1, &n_rare));
    return s.codec;
}

static void test_rare__exceptions_come_back_wherever_they_are(void **state)
{
    (void)state;
    static const uint32_t places[][3] = {{0, 1, 2}, {0, 150, N - 1}, {N - 3, N - 2, N - 1}, {7, 7, 7}};
    static const int64_t values[][2] = {{24, 23}, {0, INT64_MIN}, {INT64_MAX, INT64_MIN}, {-1, INT64_MAX}};
    struct world w = {0};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            for (int lazy = 0; lazy < 2; lazy++) {
                int64_t v[N];
                for (uint32_t j = 0; j < N; j++)
                    v[j] = values[k][0];
                for (int j = 0; j < 3; j++)
                    v[places[i][j]] = values[k][1];
                assert_int_equal(check(&w, v, N, lazy), STO_CODEC_RARE);
            }
    release(&w);
}

static void test_rare__many_exceptions_have_another_codec(void **state)
{
    (void)state;
    struct world w = {0};
    int64_t v[N];
    for (uint32_t n_other = 1; n_other < 60; n_other++) {
        for (uint32_t j = 0; j < N; j++)
            v[j] = j % (N / n_other) == 1 ? (int64_t)j : -9;
        int codec = check(&w, v, N, true);
        if (n_other >= 10)
            assert_int_not_equal(codec, STO_CODEC_RARE);
        if (n_other <= 3)
            assert_int_equal(codec, STO_CODEC_RARE);
    }
    w.plan.rare = false; /* as of blocks of points */
    struct sto_seq s;
    for (uint32_t j = 0; j < N; j++)
        v[j] = j == 5;
    (void)sto_plan__one(&w.plan, v, N, false, &s);
    assert_int_not_equal(s.codec, STO_CODEC_RARE);
    release(&w);
}

static void test_rare__hostile_escapes_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t esc[4];
        uint32_t n;
        bool ok;
    } cases[] = {
        {{0, 1, N - 1, 1}, 4, true}, {{N - 1, 1}, 2, true},
        {{0, 1, 0, 1}, 4, false},    {{N, 1}, 2, false},
        {{0, 1, N, 1}, 4, false},    {{N - 1, 1, 1, 1}, 4, false},
        {{0, 1, 2}, 3, false},       {{5, 1, UINT64_MAX, 1}, 4, false},
        {{UINT64_MAX, 1}, 2, false},
    };
    struct world w = {0};
    struct sto_rare rare[MAX_RARE];
    int64_t got[N];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sto_seq s = {.codec = STO_CODEC_RARE, .unit = 1, .first = 24};
        struct sto_unpack_pos pos = {0}, begin = {0};
        uint32_t n;
        store(&w, cases[i].esc, cases[i].n, &s, true);
        assert_int_equal(sto_unpack__get(&w.unpack, &pos, &s, N, got), cases[i].ok ? 0 : TS_ECORRUPT);
        assert_int_equal(sto_unpack__rare(&w.unpack, &begin, &s, N, rare, MAX_RARE, &n), cases[i].ok);
    }
    struct sto_seq s = {.codec = STO_CODEC_RARE, .unit = 1, .n_esc = 2 * N + 1};
    assert_false(sto_unpack__skip(&(struct sto_unpack_pos){0}, &s, N)); /* more than all values */
    s.n_esc = 2;
    store(&w, NULL, 0, &(struct sto_seq){.codec = STO_CODEC_CONST, .unit = 1}, true);
    assert_int_equal(sto_unpack__get(&w.unpack, &(struct sto_unpack_pos){0}, &s, N, got), TS_ECORRUPT);
    release(&w);
}

/* A block of points: two rows of one point, whose sequences are mostly constant. */
static struct ts_slice block_of_points(struct sto_enc *e)
{
    uint32_t meta = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
    int64_t m = 5;
    for (int32_t i = 0; i < 2; i++) {
        const struct sto_cells cells = {.meta = &meta, .m = &m, .n = 1};
        sto_enc_row(e, &(struct sto_key){1, 1, i}, &cells);
    }
    return sto_enc_finish(e);
}

/* Blocks of points have no version that says that a reader must know the codec, and rows of one integer are read without looking at escapes. */
static void test_rare__blocks_of_points_refuse_it(void **state)
{
    (void)state;
    struct sto_enc *e = sto_enc_new();
    struct sto_dec *d = sto_dec_new();
    struct ts_slice block = block_of_points(e);
    const uint8_t *p = (const uint8_t *)block.p + STO_BLOCK_HEADER_BYTES,
                  *end = (const uint8_t *)block.p + block.n, *next;
    unsigned n_changed = 0;
    uint64_t v;
    struct sto_seq s;
    for (int i = 0; i < 5; i++)
        p = ts_get_varint(p, end, &v);
    for (int i = 0; i < STO_COLS + 2; i++, p = next) {
        struct ts_buf changed, one;
        ts_buf_init(&changed, 0);
        ts_buf_init(&one, 0);
        assert_non_null(next = sto_seq__get(p, end, &s));
        ts_buf_slice(&changed, block);
        s.codec = s.codec == STO_CODEC_CONST ? STO_CODEC_RARE : s.codec;
        sto_seq__put(&one, &s);
        if (s.codec == STO_CODEC_RARE && one.n == (size_t)(next - p)) {
            memcpy(changed.p + (p - (const uint8_t *)block.p), one.p, one.n);
            ts_st32(changed.p, ts_crc32c(0, changed.p + 4, changed.n - 4));
            assert_int_equal(sto_dec_open(d, ts_buf_get(&changed), NULL), TS_ECORRUPT);
            n_changed++;
        }
        ts_buf_release(&one);
        ts_buf_release(&changed);
    }
    assert_int_equal(sto_dec_open(d, block, NULL), 0);
    assert_true(n_changed > 3);
    sto_dec_free(d);
    sto_enc_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rare__exceptions_come_back_wherever_they_are),
        cmocka_unit_test(test_rare__many_exceptions_have_another_codec),
        cmocka_unit_test(test_rare__hostile_escapes_are_refused),
        cmocka_unit_test(test_rare__blocks_of_points_refuse_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
