/*
 * test_export.c - exports and metadata of series keep to a limit: their memory is counted in its account and given back, they end when
 * the limit says so.
 */
#include "tests/unit/tsdlib/t_ingest.h"

#include "query/limit.h"
#include "tsd/ingest/histogram.h"
#include "tsd/meta/tsmeta.h"

#define N_HISTOGRAMS 4000
#define N_BUCKETS    12 /* of each: 4000 * 14 counts of 24 bytes */

static const struct tsd_histograms histograms_on = {.on = true, .codec = 42, .max_buckets = N_BUCKETS + 2};

static void fill(void)
{
    char line[T_LINE_MAX];
    t.line.histograms = &histograms_on;
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(line, sizeof line, "put cpu.user %d %d host=a\n", 1600000000 + i * 10, i);
        assert_string_equal(t_send(&t, line), "");
    }
    for (int i = 0; i < N_HISTOGRAMS; i++) {
        int n = snprintf(line, sizeof line, "histogram latency %d u=0:o=0", 1600000000 + i);
        for (int b = 0; b < N_BUCKETS; b++)
            n += snprintf(line + n, sizeof line - (size_t)n, ":%d,%d=%d", b, b + 1, i % 7 + b);
        (void)snprintf(line + n, sizeof line - (size_t)n, " host=a\n");
        assert_string_equal(t_send(&t, line), "");
    }
}

/* Export a metric; everything that was taken must have been given back. */
static int export(const char *metric, int64_t from_ms, struct qry_limit *limit, uint64_t *out_n,
                  struct ts_error *err)
{
    struct tsd_lines_spec spec = {.metric = ts_slice_str(metric), .from_ms = from_ms, .to_ms = STO_MAX_TS_MS};
    ts_buf_clear(&t.exported);
    int rc = tsd_lines_export(t.store, &spec, limit, t_export_sink, &t.exported, out_n, err);
    assert_true(atomic_load(&limit->memory->used_bytes) == 0);
    return rc;
}

static const struct sto_series *series(void)
{
    const struct sto_series *s = sto_series_get(sto_store_catalog(t.store), 0);
    assert_non_null(s);
    return s;
}

static void test_export__memory_is_counted(void **state)
{
    static const struct {
        const char *metric;
        uint64_t n, least; /* lines; bytes that their export holds at some time */
    } rows[] = {{"cpu.user", 3000, 4096},
                {"latency", N_HISTOGRAMS, (uint64_t)N_HISTOGRAMS * (N_BUCKETS + 2) * 24}};
    (void)state;
    fill();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct qry_limit all = {.max_bytes = 256 << 20}, some = {.max_bytes = rows[i].least / 2};
        struct ts_error err = {0};
        uint64_t n = 0;
        assert_int_equal(export(rows[i].metric, STO_MIN_TS_MS, &all, &n, &err), 0);
        assert_int_equal(n, rows[i].n);
        assert_true(atomic_load(&all.memory->peak_bytes) >= rows[i].least);
        assert_int_equal(export(rows[i].metric, STO_MIN_TS_MS, &some, &n, &err), TS_ELIMIT);
        assert_non_null(strstr(err.text, "query_max_bytes"));
    }
}

/* Nothing is in the range, so nothing is emitted: that does not keep the export from noticing that it must end. */
static void test_export__ends_when_it_must(void **state)
{
    static const char *const metrics[] = {"cpu.user", "latency", ""};
    (void)state;
    fill();
    for (size_t i = 0; i < 3; i++) {
        struct qry_limit gone = {.cancelled = true}, late = {.deadline_ns = 1};
        struct ts_error err = {0};
        assert_int_equal(export(metrics[i], STO_MAX_TS_MS, &gone, NULL, &err), TS_ECANCELLED);
        assert_int_equal(export(metrics[i], STO_MAX_TS_MS, &late, NULL, &err), TS_ETIMEOUT);
        assert_non_null(strstr(err.text, "query_timeout_ms"));
        assert_int_equal(t.exported.n, 0);
    }
}

static void test_export__metadata_of_a_series_keeps_to_a_limit(void **state)
{
    struct qry_limit all = {.max_bytes = 64 << 20}, some = {.max_bytes = 64}, gone = {.cancelled = true};
    struct tsd_tsmeta_points points;
    struct ts_error err = {0};
    (void)state;
    fill();
    assert_int_equal(tsd_tsmeta_points(t.store, NULL, series(), &all, &points, &err), 0);
    assert_int_equal(points.n, 3000);
    assert_true(atomic_load(&all.memory->peak_bytes) > 4096);
    assert_true(atomic_load(&all.memory->used_bytes) == 0);
    assert_int_equal(tsd_tsmeta_points(t.store, NULL, series(), &some, &points, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_bytes"));
    assert_true(atomic_load(&some.memory->used_bytes) == 0);
    assert_int_equal(tsd_tsmeta_points(t.store, NULL, series(), &gone, &points, &err), TS_ECANCELLED);
    assert_int_equal(tsd_tsmeta_points(t.store, NULL, series(), NULL, &points, &err), 0);
    assert_int_equal(points.n, 3000);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_export__memory_is_counted),
        CASE(test_export__ends_when_it_must),
        CASE(test_export__metadata_of_a_series_keeps_to_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
