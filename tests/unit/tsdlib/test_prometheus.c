/*
 * test_prometheus.c - the table of figures, and figures in the text format of Prometheus.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tsd/net/prometheus.h"
#include "tsd/net/stat_table.h"

static void test_stat_table__rows_are_sorted_and_whole(void **state)
{
    (void)state;
    size_t n = 0;
    for (const struct tsd_stat_row *r = tsd_stat_table; r->name; r++, n++) {
        const struct tsd_stat_row *next = r + 1;
        size_t len = strlen(r->help);
        assert_true(*r->unit && len > 10 && r->help[len - 1] == '.');
        assert_null(strchr(r->help, '\n'));
        if (next->name && strcmp(r->name, next->name) == 0)
            assert_true(next->tag && (!r->tag || strcmp(r->tag, next->tag) < 0));
        else if (next->name)
            assert_true(strcmp(r->name, next->name) < 0);
    }
    assert_true(n > 100);
}

static void test_stat_table__a_row_with_the_tag_wins(void **state)
{
    (void)state;
    assert_int_equal(tsd_stat_find("connectionmgr.connections", "type=open")->kind, TSD_STAT_GAUGE);
    assert_int_equal(tsd_stat_find("connectionmgr.connections", "type=total")->kind, TSD_STAT_COUNTER);
    assert_null(tsd_stat_find("connectionmgr.connections", "type=other"));
    assert_string_equal(tsd_stat_find("memory.used_bytes", "account=queries")->unit, "bytes");
    assert_string_equal(tsd_stat_find("process.uptime_s", "")->unit, "s");
    assert_non_null(tsd_stat_find(tsd_stat_table[0].name, tsd_stat_table[0].tag));
    assert_null(tsd_stat_find("a", ""));
    assert_null(tsd_stat_find("process", ""));
    assert_null(tsd_stat_find("zzz", ""));
}

static void printed(struct tsd_prometheus *p, const char *expected)
{
    struct ts_buf out;
    ts_buf_init(&out, 0);
    tsd_prometheus_print(p, &out);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, expected);
    ts_buf_release(&out);
    tsd_prometheus_release(p);
}

static void test_prometheus__samples_of_a_metric_stand_together(void **state)
{
    (void)state;
    struct tsd_prometheus p;
    tsd_prometheus_init(&p);
    tsd_prometheus_add(&p, "spool.full", "", 7);
    tsd_prometheus_add(&p, "jobs.running", "class=small", 2);
    tsd_prometheus_add(&p, "storage.files.count", "", UINT64_MAX);
    tsd_prometheus_add(&p, "jobs.running", "class=query", 1);
    printed(&p, "# HELP tsd_jobs_running Jobs that run, by class.\n"
                "# TYPE tsd_jobs_running gauge\n"
                "tsd_jobs_running{class=\"small\"} 2\n"
                "tsd_jobs_running{class=\"query\"} 1\n"
                "# HELP tsd_spool_full_total Replies that could not use a file because query_spool_bytes was "
                "reached.\n"
                "# TYPE tsd_spool_full_total counter\n"
                "tsd_spool_full_total 7\n"
                "# HELP tsd_storage_files_count Sorted files.\n"
                "# TYPE tsd_storage_files_count gauge\n"
                "tsd_storage_files_count 18446744073709551615\n");
}

static void test_prometheus__labels_are_escaped_and_names_mapped(void **state)
{
    (void)state;
    struct tsd_prometheus p;
    tsd_prometheus_init(&p);
    tsd_prometheus_add(&p, "no-such.figure", "9 l.abel=a\\b\"c\nd=e", 1);
    printed(&p, "# TYPE tsd_no_such_figure untyped\n"
                "tsd_no_such_figure{__l_abel=\"a\\\\b\\\"c\\nd=e\"} 1\n");
}

static void test_prometheus__nothing_is_printed_of_nothing(void **state)
{
    (void)state;
    struct tsd_prometheus p;
    tsd_prometheus_init(&p);
    printed(&p, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_table__rows_are_sorted_and_whole),
        cmocka_unit_test(test_stat_table__a_row_with_the_tag_wins),
        cmocka_unit_test(test_prometheus__samples_of_a_metric_stand_together),
        cmocka_unit_test(test_prometheus__labels_are_escaped_and_names_mapped),
        cmocka_unit_test(test_prometheus__nothing_is_printed_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
