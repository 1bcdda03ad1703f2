/*
 * test_uid_check.c - /api/uid/fsck: metadata of nothing is found, and taken away by POST alone; what belongs to something stays.
 */
#include "t_ingest.h"

#include "tsd/meta/request.h"

/* Room for an answer. */
struct t_answer {
    struct ts_sink sink;
    char piece[4096];
};

static int t_more(struct ts_sink *s, struct ts_error *err)
{
    (void)s;
    (void)err;
    fail_msg("the answer is longer than a piece");
    return -1;
}

/* The answer to a request, until the next one. */
static const char *t_check(enum tsd_method method)
{
    static struct t_answer a;
    struct ts_error err = {0};
    struct ts_arena arena;
    a.sink = (struct ts_sink){
        .start = a.piece, .p = a.piece, .end = a.piece + sizeof(a.piece) - 1, .more = t_more};
    ts_arena_init(&arena, 0);
    struct tsd_meta_req ask = {.store = t.store,
                               .rules = &t.rules,
                               .meta_series = true,
                               .method = method,
                               .method_name = method == TSD_POST ? "POST" : "GET",
                               .path = TS_SLICE_LIT("api/uid/fsck"),
                               .arena = &arena,
                               .sink = &a.sink};
    if (tsd_meta_req_run(&ask, &err) < 0)
        fail_msg("%s", err.text);
    ts_arena_release(&arena);
    *a.sink.p = '\0';
    return a.piece;
}

static void t_cell(const char *key, size_t n)
{
    struct ts_error err = {0};
    if (sto_cell_put(t.store, (struct ts_slice){key, n}, TS_SLICE_LIT("{}"), &err) < 0)
        fail_msg("%s", err.text);
}
#define T_CELL(key) t_cell(key, sizeof(key) - 1)

#define T_METRIC_1 "uidmeta/\0\0\0\0\1"

static void test_uid_check__a_clean_store_has_no_findings(void **state)
{
    (void)state;
    assert_string_equal(t_send(&t, "put m 1500000000 1 a=b c=d\n"), "");
    T_CELL(T_METRIC_1);
    T_CELL("tsmeta/000001000001000001000002000002");
    assert_string_equal(t_check(TSD_GET), "{\"findings\":[],\"names\":5,\"errors\":0}");
}

static void test_uid_check__post_takes_away_what_belongs_to_nothing(void **state)
{
    static const char found[] =
        "{\"findings\":[\"metric 000009: metadata of an id without a name\","
        "\"metadata with a key that makes no sense\",\"metadata with a key that makes no sense\","
        "\"000001000001000003: metadata of no series\",\"x: metadata of no "
        "series\"],\"names\":3,\"errors\":5}";
    struct ts_buf value;
    (void)state;
    assert_string_equal(t_send(&t, "put m 1500000000 1 a=b\n"), "");
    T_CELL(T_METRIC_1);
    T_CELL("uidmeta/\0\0\0\0\11");
    T_CELL("uidmeta/\11\0\0\0\1");
    T_CELL("uidmeta/short");
    T_CELL("tsmeta/000001000001000003");
    T_CELL("tsmeta/x");
    assert_string_equal(t_check(TSD_GET), found);
    assert_string_equal(t_check(TSD_GET), found); /* GET changes nothing */
    assert_string_equal(t_check(TSD_POST), found);
    assert_string_equal(t_check(TSD_POST), "{\"findings\":[],\"names\":3,\"errors\":0}");
    ts_buf_init(&value, 0);
    assert_int_equal(sto_cell_get(t.store, (struct ts_slice){T_METRIC_1, sizeof(T_METRIC_1) - 1}, &value), 0);
    ts_buf_release(&value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_uid_check__a_clean_store_has_no_findings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_uid_check__post_takes_away_what_belongs_to_nothing, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
