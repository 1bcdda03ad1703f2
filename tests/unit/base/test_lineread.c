/*
 * test_lineread.c - lines of plain, packed, cut and damaged files.
 */
#include "base/lineread.h"
#include "base/unpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <bzlib.h>
#include <lzma.h>
#include <zstd.h>

#include <cmocka.h>

#define T_PATH "/tmp/tsd-test-lineread"

static char path[64];

static void t_write(const void *p, size_t n)
{
    snprintf(path, sizeof(path), T_PATH ".%d", (int)getpid());
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    fclose(f);
}

/* Everything a file gives, and how it ended. */
static int t_read(struct ts_buf *out, struct ts_error *err)
{
    struct ts_lines *l;
    struct ts_slice piece;
    ts_buf_init(out, 0);
    int rc = ts_lines_open(path, &l, err);
    if (rc < 0)
        return rc;
    while ((rc = ts_lines_next(l, &piece, err)) > 0) {
        assert_true(piece.n > 0);
        assert_int_equal(piece.p[piece.n - 1], '\n');
        ts_buf_slice(out, piece);
    }
    struct stat st;
    if (rc == 0) {
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(ts_lines_done_bytes(l), st.st_size);
    }
    ts_lines_close(l);
    remove(path);
    return rc;
}

static void t_expect(const void *p, size_t n, const char *want, size_t n_want)
{
    struct ts_buf got;
    struct ts_error err = {0};
    t_write(p, n);
    if (t_read(&got, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(got.n, n_want);
    assert_true(n_want == 0 || memcmp(got.p, want, n_want) == 0);
    ts_buf_release(&got);
}

/* n lines of different lengths. */
static char *t_lines(unsigned n, size_t *out_n)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    for (unsigned i = 0; i < n; i++)
        ts_buf_printf(&b, "metric.%u %u %u host=%*d\n", i % 7, i, i * 3, (int)(i % 90 + 1), i);
    *out_n = b.n;
    return b.p;
}

static size_t t_gzip(const char *p, size_t n, char *out, size_t cap)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return cap - z.avail_out;
}

static size_t t_xz(const char *p, size_t n, char *out, size_t cap)
{
    size_t n_out = 0;
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (const uint8_t *)p, n, (uint8_t *)out,
                                             &n_out, cap),
                     LZMA_OK);
    return n_out;
}

static size_t t_bzip2(const char *p, size_t n, char *out, size_t cap)
{
    unsigned n_out = (unsigned)cap;
    assert_int_equal(BZ2_bzBuffToBuffCompress(out, &n_out, (char *)(uintptr_t)p, (unsigned)n, 1, 0, 0),
                     BZ_OK);
    return n_out;
}

static void test_lineread__plain_files_come_back(void **state)
{
    (void)state;
    size_t n;
    t_expect("", 0, "", 0);
    t_expect("\n", 1, "\n", 1);
    t_expect("a", 1, "a\n", 2);
    t_expect("a b\nc", 5, "a b\nc\n", 6);
    t_expect("12345678\n", 9, "12345678\n", 9);
    char *p = t_lines(60000, &n);
    t_expect(p, n, p, n);
    t_expect(p, n - 1, p, n); /* the missing line feed is added */
    free(p);
}

static void test_lineread__packed_files_come_back(void **state)
{
    (void)state;
    size_t n, cap;
    char *p = t_lines(60000, &n);
    cap = n + 1000;
    char *packed = malloc(2 * cap);
    size_t gz = t_gzip(p, n, packed, cap);
    t_expect(packed, gz, p, n);
    size_t zs = ZSTD_compress(packed, cap, p, n, 3);
    assert_false(ZSTD_isError(zs));
    t_expect(packed, zs, p, n);
    /* two members, one after the other, are one text */
    gz = t_gzip("a\nb", 3, packed, cap);
    gz += t_gzip("c\n", 2, packed + gz, cap);
    t_expect(packed, gz, "a\nbc\n", 5);
    zs = ZSTD_compress(packed, cap, "a\nb", 3, 3);
    zs += ZSTD_compress(packed + zs, cap, "c\n", 2, 3);
    t_expect(packed, zs, "a\nbc\n", 5);
    gz = t_gzip("", 0, packed, cap);
    t_expect(packed, gz, "", 0);
    size_t xz = t_xz(p, n, packed, cap);
    t_expect(packed, xz, p, n);
    xz = t_xz("a\nb", 3, packed, cap);
    xz += t_xz("c\n", 2, packed + xz, cap);
    t_expect(packed, xz, "a\nbc\n", 5);
    size_t bz = t_bzip2(p, n, packed, cap);
    t_expect(packed, bz, p, n);
    bz = t_bzip2("a\nb", 3, packed, cap);
    bz += t_bzip2("c\n", 2, packed + bz, cap);
    t_expect(packed, bz, "a\nbc\n", 5);
    free(packed);
    free(p);
}

static void test_lineread__other_packings_are_refused_by_name(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *name;
    } rows[] = {{"\x04\x22\x4d\x18xxxxxx", 10, "lz4"},
                {"PK\x03\x04xxxx", 8, "zip"},
                {"\x1f\x9dxxxxxx", 8, "compress"}};
    struct ts_lines *l;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ts_error err = {0};
        t_write(rows[i].text, rows[i].n);
        assert_int_equal(ts_lines_open(path, &l, &err), TS_EINVAL);
        assert_non_null(strstr(err.text, rows[i].name));
        assert_null(l);
    }
}

static void test_lineread__first_bytes_of_packed_texts(void **state)
{
    size_t n, k;
    char *p = t_lines(60000, &n), *packed = malloc(n), first[1024];
    const struct ts_pack *pack;
    (void)state;
    for (int i = 0; i < 4; i++) {
        k = i == 0   ? t_gzip(p, n, packed, n)
            : i == 1 ? ZSTD_compress(packed, n, p, n, 3)
            : i == 2 ? t_xz(p, n, packed, n)
                     : t_bzip2(p, n, packed, n);
        t_write(packed, k);
        assert_int_equal(ts_unpack_first(path, first, sizeof(first), &n, &pack), 0);
        assert_int_equal(n, sizeof(first));
        assert_memory_equal(first, p, n);
        assert_non_null(pack);
        t_write(packed, 20); /* cut before anything can be told */
        assert_int_equal(ts_unpack_first(path, first, sizeof(first), &n, &pack), 0);
        assert_int_equal(n, 0);
        free(p);
        p = t_lines(60000, &n);
    }
    t_write("a\nb", 3);
    assert_int_equal(ts_unpack_first(path, first, sizeof(first), &n, &pack), 0);
    assert_int_equal(n, 3);
    assert_null(pack);
    free(packed);
    free(p);
}

static void test_lineread__cut_and_damaged_packed_files_say_so(void **state)
{
    (void)state;
    size_t n;
    char *p = t_lines(2000, &n), *packed = malloc(2 * n);
    size_t sizes[2] = {t_gzip(p, n, packed, n), 0};
    for (int zstd = 0; zstd < 2; zstd++) {
        if (zstd)
            sizes[1] = ZSTD_compress(packed, n, p, n, 3);
        for (size_t cut = 4; cut < sizes[zstd]; cut += sizes[zstd] / 7) {
            struct ts_buf got;
            struct ts_error err = {0};
            t_write(packed, cut);
            assert_int_equal(t_read(&got, &err), TS_ECORRUPT);
            assert_non_null(strstr(err.text, "middle of its packed data"));
            assert_true(got.n == 0 || memcmp(got.p, p, got.n) == 0);
            ts_buf_release(&got);
        }
        struct ts_buf got;
        struct ts_error err = {0};
        char kept = packed[sizes[zstd] / 2];
        packed[sizes[zstd] / 2] = (char)~kept;
        packed[sizes[zstd] / 2 + 1] = (char)~packed[sizes[zstd] / 2 + 1];
        t_write(packed, sizes[zstd]);
        int rc = t_read(&got, &err);
        if (!zstd) /* gzip has a checksum; a zstd frame of this kind has none */
            assert_int_equal(rc, TS_ECORRUPT);
        ts_buf_release(&got);
    }
    free(packed);
    free(p);
}

/* A file that becomes shorter meanwhile is no file that has ended: its last line is not given out, for it may be half of one. */
static void test_lineread__files_cut_while_read_say_so(void **state)
{
    (void)state;
    size_t n;
    char *text = t_lines(100000, &n), packed[1 << 20];
    size_t n_packed = t_gzip(text, n, packed, sizeof packed);
    for (int i = 0; i < 2; i++) {
        size_t cut = i ? n_packed - n_packed / 10 : n - n / 10;
        uint64_t n_given = 0;
        struct ts_lines *l;
        struct ts_slice piece;
        struct ts_error err = {0};
        int rc;
        t_write(i ? packed : text, i ? n_packed : n);
        assert_int_equal(ts_lines_open(path, &l, &err), 0);
        assert_int_equal(truncate(path, (off_t)cut), 0);
        while ((rc = ts_lines_next(l, &piece, &err)) > 0) {
            assert_memory_equal(piece.p, text + n_given, piece.n);
            assert_int_equal(piece.p[piece.n - 1], '\n');
            n_given += piece.n;
        }
        assert_int_equal(rc, TS_EIO);
        assert_non_null(strstr(err.text, "was cut to"));
        assert_true(n_given > n / 2 && n_given < n);
        ts_lines_close(l);
        remove(path);
    }
    free(text);
}

static void test_lineread__lines_grow_up_to_the_limit(void **state)
{
    (void)state;
    size_t n = TS_LINES_MAX_BYTES + 10;
    char *p = malloc(n);
    memset(p, 'x', n);
    p[5000000] = '\n';
    t_expect(p, 5000001, p, 5000001);
    p[5000000] = 'x';
    struct ts_buf got;
    struct ts_error err = {0};
    t_write(p, n);
    assert_int_equal(t_read(&got, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "longer than 16 MiB"));
    ts_buf_release(&got);
    free(p);
}

static void test_lineread__missing_files_and_folders_are_refused(void **state)
{
    (void)state;
    struct ts_lines *l = (struct ts_lines *)1;
    struct ts_error err = {0};
    assert_int_equal(ts_lines_open("/nonexistent/file", &l, &err), TS_EIO);
    assert_null(l);
    assert_non_null(strstr(err.text, "/nonexistent/file: can't be opened"));
    assert_int_equal(ts_lines_open("/tmp", &l, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "is a folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lineread__plain_files_come_back),
        cmocka_unit_test(test_lineread__packed_files_come_back),
        cmocka_unit_test(test_lineread__other_packings_are_refused_by_name),
        cmocka_unit_test(test_lineread__first_bytes_of_packed_texts),
        cmocka_unit_test(test_lineread__cut_and_damaged_packed_files_say_so),
        cmocka_unit_test(test_lineread__files_cut_while_read_say_so),
        cmocka_unit_test(test_lineread__lines_grow_up_to_the_limit),
        cmocka_unit_test(test_lineread__missing_files_and_folders_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
