/*
 * test_gzip.c - bodies there and back; bombs, cuts and lies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <zlib.h>

#include "base/mem.h"
#include "tsd/protocols/http/gzip.h"

#define BYTES ((size_t)300000)
#define RATIO 1100 /* more than deflate reaches */

static char *plain, *packed;
static struct ts_buf out;

static int set_up(void **state)
{
    (void)state;
    plain = ts_xmalloc(BYTES);
    packed = ts_xmalloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        plain[i] = (char)(i * i >> 3);
    ts_buf_init(&out, BYTES);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ts_free(plain);
    ts_free(packed);
    ts_buf_release(&out);
    return 0;
}

/* Compress with small pieces in and out. */
static size_t pack(size_t n, size_t piece)
{
    struct tsd_gzip *z = tsd_gzip_new(false);
    size_t at = 0;
    bool ended = false;
    for (size_t i = 0; i < n || !ended; i += piece) {
        struct ts_slice in = {plain + (i < n ? i : n), i < n ? (n - i < piece ? n - i : piece) : 0};
        bool last = i + piece >= n;
        do {
            size_t room = 777 < BYTES - at ? 777 : BYTES - at;
            at += tsd_gzip_run(z, &in, packed + at, room, last, &ended);
        } while (in.n || (last && !ended));
    }
    tsd_gzip_free(z);
    return at;
}

static void test_gzip__there_and_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 65536, BYTES};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = pack(sizes[i], 1000);
        assert_int_equal(tsd_gunzip((struct ts_slice){packed, n}, RATIO, &out, NULL), 0);
        assert_int_equal(out.n, sizes[i]);
        assert_true(sizes[i] == 0 || !memcmp(out.p, plain, out.n));
    }
}

static void test_gzip__a_bomb_stops_at_the_limit(void **state)
{
    (void)state;
    struct ts_error err = {0};
    memset(plain, 0, BYTES);
    size_t n = pack(BYTES, BYTES);
    struct ts_buf small;
    ts_buf_init(&small, 1000);
    assert_int_equal(tsd_gunzip((struct ts_slice){packed, n}, RATIO, &small, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "1000 bytes (http_max_body_bytes)"));
    assert_true(small.n <= 1000);
    ts_buf_release(&small);
}

static void test_gzip__a_bomb_stops_at_the_ratio(void **state)
{
    (void)state;
    static char bomb[TSD_INFLATE_FREE_BYTES + 4096];
    struct ts_error err = {0};
    z_stream z = {.next_in = NULL};
    struct ts_buf big;
    for (int more = 0; more < 2; more++) { /* what any ratio allows, and a byte more */
        memset(&z, 0, sizeof(z));
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
        z.next_in = (Bytef *)bomb;
        z.avail_in = (uInt)(TSD_INFLATE_FREE_BYTES + (more ? 1 : 0));
        z.next_out = (Bytef *)packed;
        z.avail_out = (uInt)BYTES;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        struct ts_slice in = {packed, BYTES - z.avail_out};
        deflateEnd(&z);
        ts_buf_init(&big, 1 << 20);
        assert_int_equal(tsd_gunzip(in, 100, &big, &err), more ? TS_ELIMIT : 0);
        assert_int_equal(big.n, TSD_INFLATE_FREE_BYTES);
        assert_true(!more || strstr(err.text, "100 times that (http_max_inflate_ratio)"));
        assert_int_equal(tsd_gunzip(in, 1100, &big, &err), 0);
        ts_buf_release(&big);
    }
}

static void test_gzip__a_bomb_stops_early(void **state)
{
    (void)state;
    static char zeros[1 << 16];
    struct ts_error err = {0};
    struct ts_buf big;
    z_stream z = {.next_out = (Bytef *)packed, .avail_out = (uInt)BYTES};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    for (int i = 0; i < 1600; i++) { /* 100 MiB */
        z.next_in = (Bytef *)zeros;
        z.avail_in = sizeof(zeros);
        assert_int_equal(deflate(&z, i < 1599 ? Z_NO_FLUSH : Z_FINISH), i < 1599 ? Z_OK : Z_STREAM_END);
    }
    deflateEnd(&z);
    ts_buf_init(&big, 1 << 23);
    assert_int_equal(tsd_gunzip((struct ts_slice){packed, BYTES - z.avail_out}, 100, &big, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "more than 200 times that (http_max_inflate_ratio)"));
    assert_true(big.n <= (1 << 20) + (64 << 10));
    ts_buf_release(&big);
}

static void test_gzip__cut_and_broken_bodies_are_refused(void **state)
{
    (void)state;
    size_t n = pack(5000, 5000);
    for (size_t k = 1; k < n; k += 7)
        assert_int_equal(tsd_gunzip((struct ts_slice){packed, k}, RATIO, &out, NULL), TS_EPARSE);
    packed[n - 5] ^= 1; /* checksum */
    assert_int_equal(tsd_gunzip((struct ts_slice){packed, n}, RATIO, &out, NULL), TS_EPARSE);
    assert_int_equal(tsd_gunzip(TS_SLICE_LIT("[{\"metric\":\"m\"}]"), RATIO, &out, NULL), TS_EPARSE);
}

static void test_gzip__deflate_in_both_meanings(void **state)
{
    (void)state;
    static const int windows[] = {15, -15};
    for (int i = 0; i < 2; i++) {
        z_stream z = {.next_in = NULL};
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, windows[i], 8, Z_DEFAULT_STRATEGY), Z_OK);
        z.next_in = (Bytef *)plain;
        z.avail_in = 5000;
        z.next_out = (Bytef *)packed;
        z.avail_out = (uInt)BYTES;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        size_t n = BYTES - z.avail_out;
        deflateEnd(&z);
        assert_int_equal(tsd_gunzip((struct ts_slice){packed, n}, RATIO, &out, NULL), 0);
        assert_int_equal(out.n, 5000);
        assert_memory_equal(out.p, plain, 5000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_gzip__there_and_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gzip__a_bomb_stops_at_the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gzip__a_bomb_stops_at_the_ratio, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gzip__a_bomb_stops_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gzip__cut_and_broken_bodies_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gzip__deflate_in_both_meanings, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
