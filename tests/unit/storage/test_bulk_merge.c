/*
 * test_bulk_merge.c - merging of runs by several threads: units that are divided by key have each row once, and the last write of each time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "storage/bulk.h"
#include "storage/engine/bulk/pair.h"
#include "storage/engine/bulk/state.h"
#include "storage/engine/files/sst.h"
#include "tests/faults/faultfs.h"
#include "tests/unit/t_random.h"

#define DIR      "/load"
#define T0       (20000 * TS_DAY_MS)
#define N_SERIES 400
#define N_RUNS   3
#define ONE_UNIT 1000000000 /* unit_points: nothing is divided */

/* The points of a load, in the order of the input; run i has the i-th third of them. */
struct load {
    struct sto_bulk_point *v;
    size_t n;
};

struct row_point {
    struct sto_key key;
    uint32_t off;
    int64_t m;
};

/* What the files of ready/ have. */
struct content {
    struct row_point *v; /* owned; by key and time */
    size_t n, cap;
    size_t n_files;
};

static struct sto_bulk_point point(uint32_t series, int64_t ts_ms, int64_t m)
{
    int32_t hour = sto_hour(ts_ms);
    return (struct sto_bulk_point){.series = series,
                                   .hour = hour,
                                   .meta = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, true) |
                                           (uint32_t)(ts_ms - hour * TS_HOUR_MS),
                                   .m = m};
}

static struct sto_bulk_id id_of(uint32_t series)
{
    return (struct sto_bulk_id){.metric = 1 + series % 3, .series = 1000 - series};
}

static struct sto_bulk_writer *open_with(struct sto_bulk_writer_opts opts)
{
    opts.dir = DIR;
    opts.big_day_points = 1000;
    struct sto_bulk_writer *w = NULL;
    struct ts_error err = {0};
    struct ts_buf note;
    ts_buf_init(&note, 0);
    if (sto_bulk_writer_open(&opts, &note, &w, &err) < 0)
        fail_msg("%s", err.text);
    ts_buf_release(&note);
    return w;
}

static struct sto_bulk_writer *open_writer(const struct ts_fs *fs, struct ts_pool *pool, uint64_t unit_points)
{
    return open_with((struct sto_bulk_writer_opts){.fs = fs, .pool = pool, .unit_points = unit_points});
}

static void write_runs(struct sto_bulk_writer *w, const struct load *in)
{
    struct sto_bulk_id ids[N_SERIES];
    struct ts_error err = {0};
    for (uint32_t i = 0; i < N_SERIES; i++)
        ids[i] = id_of(i);
    for (size_t r = 0; r < N_RUNS; r++) {
        size_t from = in->n * r / N_RUNS, n = in->n * (r + 1) / N_RUNS - from;
        struct sto_bulk_chunk c = {.points = ts_xcalloc(n + 1, sizeof *c.points), .n = n};
        memcpy(c.points, in->v + from, n * sizeof *c.points);
        if (sto_bulk_writer_run(w, &c, 1, ids, N_SERIES, TS_SLICE_LIT("note"), &err) < 0)
            fail_msg("%s", err.text);
        ts_free(c.points);
    }
}

static int by_key_and_time(const void *pa, const void *pb)
{
    const struct row_point *a = pa, *b = pb;
    int c = sto_key_cmp(&a->key, &b->key);
    return c ? c : (a->off > b->off) - (a->off < b->off);
}

static void read_file(const struct ts_fs *fs, uint64_t no, struct content *out)
{
    struct sto_sst_info info;
    struct sto_sst *sst = NULL;
    struct ts_error err = {0};
    const struct sto_cells *cells;
    assert_int_equal(sto_pair_info(fs, DIR "/ready", no, &info, &err), 0);
    assert_int_equal(sto_sst_open(fs, DIR "/ready", NULL, &info, &sst, &err), 0);
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
    int rc = sto_sst_cur_seek(cur, &(struct sto_key){.hour = INT32_MIN}, &err);
    for (; rc == 1; rc = sto_sst_cur_next(cur, &err)) {
        assert_int_equal(sto_sst_cur_cells(cur, &cells, &err), 0);
        for (uint32_t i = 0; i < cells->n; i++) {
            TS_ARRAY_GROW(out->v, out->n, out->cap, 4096);
            out->v[out->n++] =
                (struct row_point){*sto_sst_cur_key(cur), sto_meta_off(cells->meta[i]), cells->m[i]};
        }
    }
    assert_int_equal(rc, 0);
    sto_sst_cur_free(cur);
    sto_sst_unref(sst);
}

static struct content read_ready(const struct ts_fs *fs)
{
    struct content c = {0};
    uint64_t *nos = NULL;
    struct ts_error err = {0};
    assert_int_equal(sto_pair_list(fs, DIR "/ready", &nos, &c.n_files, &err), 0);
    for (size_t i = 0; i < c.n_files; i++)
        read_file(fs, nos[i], &c);
    ts_free(nos);
    if (c.n)
        qsort(c.v, c.n, sizeof *c.v, by_key_and_time);
    return c;
}

/* What the last writes of the input are. */
static struct content expected(const struct load *in)
{
    struct content c = {.v = ts_xcalloc(in->n + 1, sizeof *c.v)};
    for (size_t i = 0; i < in->n; i++) {
        struct sto_bulk_id id = id_of(in->v[i].series);
        c.v[i] = (struct row_point){
            {id.metric, id.series, in->v[i].hour}, sto_meta_off(in->v[i].meta), in->v[i].m};
    }
    /* stable: values ascend in the order of the input in all loads here */
    for (size_t i = 0; i < in->n; i++)
        assert_true(i == 0 || in->v[i - 1].m < in->v[i].m);
    if (in->n)
        qsort(c.v, in->n, sizeof *c.v, by_key_and_time);
    for (size_t i = 0; i < in->n; i++) {
        if (c.n && by_key_and_time(&c.v[c.n - 1], &c.v[i]) == 0)
            c.v[c.n - 1].m = c.v[i].m > c.v[c.n - 1].m ? c.v[i].m : c.v[c.n - 1].m;
        else
            c.v[c.n++] = c.v[i];
    }
    return c;
}

static void expect_same(const struct content *got, const struct content *want, const char *what)
{
    if (got->n != want->n)
        fail_msg("%s: %zu points instead of %zu", what, got->n, want->n);
    for (size_t i = 0; i < got->n; i++)
        if (by_key_and_time(&got->v[i], &want->v[i]) != 0 || got->v[i].m != want->v[i].m)
            fail_msg("%s: point %zu is another one", what, i);
}

/* Load with threads and units, and compare. Returns the number of files. */
static size_t check(const struct load *in, unsigned n_threads, uint64_t unit_points, const char *what)
{
    struct t_faultfs *f = t_faultfs_new(1);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct ts_pool *pool = n_threads ? ts_pool_new(n_threads, "merge") : NULL;
    struct ts_error err = {0};
    struct sto_bulk_sum sum;
    assert_int_equal(fs->mkdir(fs, DIR, &err), 0);
    struct sto_bulk_writer *w = open_writer(fs, pool, unit_points);
    write_runs(w, in);
    if (sto_bulk_writer_finish(w, &sum, &err) < 0)
        fail_msg("%s: %s", what, err.text);
    struct content got = read_ready(fs), want = expected(in);
    expect_same(&got, &want, what);
    assert_int_equal(sum.n_points, want.n);
    assert_int_equal(sum.n_files, got.n_files);
    sto_bulk_writer_close(w);
    ts_pool_free(pool);
    ts_free(got.v);
    ts_free(want.v);
    t_faultfs_free(f);
    return got.n_files;
}

/* Several times as many units as threads, fewer, and one; content is the same. */
static void check_all(const struct load *in, size_t least_files, const char *what)
{
    size_t n_one = check(in, 0, ONE_UNIT, what);
    size_t n_some = check(in, 3, in->n / 3 + 1, what), n_many = check(in, 3, in->n / 40 + 1, what);
    assert_true(n_some >= n_one && n_many >= n_some);
    assert_int_equal(check(in, 0, in->n / 40 + 1, what),
                     n_many); /* the plan does not depend on the threads */
    if (n_many < least_files)
        fail_msg("%s: %zu files", what, n_many);
}

static struct load make(size_t n)
{
    return (struct load){.v = ts_xcalloc(n + 1, sizeof(struct sto_bulk_point)), .n = n};
}

static void test_bulk_merge__a_day_of_many_series(void **state)
{
    (void)state;
    uint64_t seed = 1;
    struct load in = make(60000);
    for (size_t i = 0; i < in.n; i++)
        in.v[i] = point((uint32_t)(t_random(&seed) % N_SERIES),
                        T0 + (int64_t)(t_random(&seed) % 1440) * 60000, (int64_t)i);
    check_all(&in, 9, "a day");
    ts_free(in.v);
}

static void test_bulk_merge__one_series_is_divided_by_hour(void **state)
{
    (void)state;
    uint64_t seed = 2;
    struct load in = make(60000);
    for (size_t i = 0; i < in.n; i++)
        in.v[i] = point(7, T0 + (int64_t)(t_random(&seed) % (24 * 3600)) * 1000, (int64_t)i);
    check_all(&in, 4, "one series");
    ts_free(in.v);
}

static void test_bulk_merge__a_row_is_never_divided(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct load in = make(40000);
    for (unsigned n_rows = 1; n_rows <= 3; n_rows++) {
        for (size_t i = 0; i < in.n; i++)
            in.v[i] = point((uint32_t)(t_random(&seed) % n_rows),
                            T0 + (int64_t)(t_random(&seed) % TS_HOUR_MS), (int64_t)i);
        check_all(&in, 0, "few rows");
    }
    ts_free(in.v);
}

/* Repeats of the points of an hour in each run do not take more than 8 times the memory, or 32 MiB. */
static void test_bulk_merge__a_row_has_a_limit(void **state)
{
    (void)state;
    enum { TIMES = 1200000 };
    struct t_faultfs *f = t_faultfs_new(1);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct ts_error err = {0};
    struct sto_bulk_sum sum;
    struct load in = make((size_t)N_RUNS * TIMES);
    for (size_t i = 0; i < in.n; i++)
        in.v[i] = point(7, T0 + (int64_t)(i % TIMES) * 3, (int64_t)i);
    assert_int_equal(fs->mkdir(fs, DIR, &err), 0);
    for (int enough = 0; enough < 2; enough++) {
        struct sto_bulk_writer *w = open_with((struct sto_bulk_writer_opts){
            .fs = fs, .unit_points = ONE_UNIT, .memory_bytes = enough ? 64 << 20 : 1 << 20});
        if (!enough)
            write_runs(w, &in);
        assert_int_equal(sto_bulk_writer_finish(w, &sum, &err), enough ? 0 : TS_ELIMIT);
        assert_true(enough || strstr(err.text, "raise --bulk-memory"));
        sto_bulk_writer_close(w);
    }
    assert_int_equal(sum.n_points, TIMES); /* continued with what the first one wrote */
    ts_free(in.v);
    t_faultfs_free(f);
}

static void test_bulk_merge__ranges_without_rows(void **state)
{
    (void)state;
    uint64_t seed = 4;
    struct load in = make(60000);
    /* the second run has files of many days, whose keys tell nothing of the first day */
    for (size_t i = 0; i < in.n; i++) {
        bool wide = i >= in.n / 3 && i < in.n / 3 * 2;
        uint32_t series = (uint32_t)(t_random(&seed) % 200) + (wide ? 200 : 0);
        int64_t day = wide ? (int64_t)(t_random(&seed) % 400) * TS_DAY_MS : 0;
        in.v[i] = point(series, T0 + day + (int64_t)(t_random(&seed) % 1440) * 60000, (int64_t)i);
    }
    check_all(&in, 3, "wide files");
    ts_free(in.v);
}

static void test_bulk_merge__small_loads(void **state)
{
    (void)state;
    for (size_t n = 0; n < 5; n++) {
        struct load in = make(n);
        for (size_t i = 0; i < n; i++)
            in.v[i] = point((uint32_t)(i % 2), T0 + (int64_t)(i / 4) * 1000, (int64_t)i);
        check_all(&in, 0, "small");
        ts_free(in.v);
    }
}

/* Units have other numbers if they are not divided: an import that an older program began to merge keeps those. */
static void test_bulk_merge__an_older_import_has_its_units(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct load in = make(60000);
    for (size_t i = 0; i < in.n; i++)
        in.v[i] = point((uint32_t)(t_random(&seed) % N_SERIES),
                        T0 + (int64_t)(t_random(&seed) % 1440) * 60000, (int64_t)i);
    for (int by_key = 0; by_key < 2; by_key++) {
        struct t_faultfs *f = t_faultfs_new(1);
        const struct ts_fs *fs = t_faultfs_fs(f);
        struct sto_bulk_state s;
        struct sto_bulk_sum sum;
        struct ts_error err = {0};
        assert_int_equal(fs->mkdir(fs, DIR, &err), 0);
        struct sto_bulk_writer *w = open_writer(fs, NULL, 1000);
        write_runs(w, &in);
        sto_bulk_writer_close(w);
        assert_int_equal(sto_bulk_state_read(fs, DIR, &s, &err), 1);
        s.merging = true;
        s.by_key = by_key;
        assert_int_equal(sto_bulk_state_write(fs, DIR, &s, &err), 0);
        sto_bulk_state_release(&s);
        w = open_writer(fs, NULL, 1000);
        assert_true(sto_bulk_writer_is_merging(w));
        assert_int_equal(sto_bulk_writer_finish(w, &sum, &err), 0);
        assert_true(by_key ? sum.n_files > 4 : sum.n_files == 1);
        sto_bulk_writer_close(w);
        t_faultfs_free(f);
    }
    ts_free(in.v);
}

/* Days 0 to 5, two in each run, in the order of time, each in a chunk of its own. */
static void write_days(struct sto_bulk_writer *w, const struct load *in, bool last)
{
    struct sto_bulk_id ids[N_SERIES];
    struct ts_error err = {0};
    for (uint32_t i = 0; i < N_SERIES; i++)
        ids[i] = id_of(i);
    for (size_t r = 0; r < N_RUNS; r++) {
        struct sto_bulk_chunk c[2];
        size_t n = in->n / N_RUNS / 2;
        for (size_t i = 0; i < 2; i++) {
            c[i] = (struct sto_bulk_chunk){.points = ts_xcalloc(n, sizeof *c[i].points), .n = n};
            memcpy(c[i].points, in->v + (2 * r + i) * n, n * sizeof *c[i].points);
        }
        if (last && r + 1 == N_RUNS)
            sto_bulk_writer_last(w);
        if (sto_bulk_writer_run(w, c, 2, ids, N_SERIES, TS_SLICE_LIT("note"), &err) < 0)
            fail_msg("%s", err.text);
        for (size_t i = 0; i < 2; i++)
            ts_free(c[i].points);
    }
}

/* Count the files of a folder, those that are rough, and those with summaries. */
static void count_files(const struct ts_fs *fs, const char *dir, size_t *out_n, size_t *out_rough,
                        size_t *out_summed)
{
    uint64_t *nos = NULL, bytes;
    struct ts_error err = {0};
    assert_int_equal(sto_pair_list(fs, dir, &nos, out_n, &err), 0);
    *out_rough = *out_summed = 0;
    for (size_t i = 0; i < *out_n; i++) {
        struct sto_sst_footer foot;
        struct sto_sst_info info;
        assert_int_equal(sto_pair_footer(fs, dir, nos[i], STO_SST_KIND_POINTS, &foot, &bytes, &err), 0);
        assert_int_equal(sto_pair_info(fs, dir, nos[i], &info, &err), 0);
        *out_rough += sto_sst__is_rough(&foot);
        *out_summed += info.s_bytes != 0;
    }
    ts_free(nos);
}

/* The day that the input has reached is written roughly, unless it ends there, and anew when the runs are merged. */
static void test_bulk_merge__rough_files_are_written_anew(void **state)
{
    (void)state;
    struct load in = make(60000);
    for (size_t i = 0; i < in.n; i++)
        in.v[i] = point((uint32_t)(i % 10),
                        T0 + (int64_t)(i / 10000) * TS_DAY_MS + (int64_t)(i % 10000) * 8000, (int64_t)i);
    for (int last = 0; last < 2; last++) {
        struct t_faultfs *f = t_faultfs_new(1);
        const struct ts_fs *fs = t_faultfs_fs(f);
        struct sto_bulk_sum sum;
        struct ts_error err = {0};
        size_t n, n_rough, n_summed;
        assert_int_equal(fs->mkdir(fs, DIR, &err), 0);
        struct sto_bulk_writer *w = open_writer(fs, NULL, 5000);
        write_days(w, &in, last);
        count_files(fs, DIR, &n, &n_rough, &n_summed);
        assert_int_equal(n_rough, last ? 2 : 3);
        assert_int_equal(n_summed, n - n_rough);
        assert_int_equal(sto_bulk_writer_finish(w, &sum, &err), 0);
        count_files(fs, DIR "/ready", &n, &n_rough, &n_summed);
        assert_int_equal(n_rough, 0);
        assert_int_equal(n_summed, n);
        struct content got = read_ready(fs), want = expected(&in);
        expect_same(&got, &want, "days");
        ts_free(got.v);
        ts_free(want.v);
        sto_bulk_writer_close(w);
        t_faultfs_free(f);
    }
    ts_free(in.v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bulk_merge__a_day_of_many_series),
        cmocka_unit_test(test_bulk_merge__one_series_is_divided_by_hour),
        cmocka_unit_test(test_bulk_merge__a_row_is_never_divided),
        cmocka_unit_test(test_bulk_merge__a_row_has_a_limit),
        cmocka_unit_test(test_bulk_merge__ranges_without_rows),
        cmocka_unit_test(test_bulk_merge__small_loads),
        cmocka_unit_test(test_bulk_merge__an_older_import_has_its_units),
        cmocka_unit_test(test_bulk_merge__rough_files_are_written_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
