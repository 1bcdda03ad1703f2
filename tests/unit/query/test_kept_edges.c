/*
 * test_kept_edges.c - kept totals at the edges: hours without a sum, memory in the first and the last hour of a query, keys that change their names.
 */
#include "tests/unit/query/kept_kit.h"

#include "query/tsuid.h"

/* Of an hour whose sum cannot be told exactly a total has none. */
static void test_kept_edges__hours_without_a_sum_are_read(void **state)
{
    (void)state;
    fill(true);
    unsigned slot = 4 * 20 + 3;
    put(7, slot, 0, true);
    assert_int_equal(sto_put(sto_writer(st, 0), series("web.hits", 7), (T0_S + slot * 900ll) * 1000,
                             ts_num_from_double(1e300), false),
                     0);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask(BY_DAY, AGG_COUNT, 0, SLOTS, -1, "no sum"), ALL_HOURS - 1);
    put(7, slot, 5, true); /* over it */
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("a sum"), ALL_HOURS);
}

/* Points in memory are in the first or the last hour that is asked for, or beside them. */
static void test_kept_edges__memory_at_the_edges_of_a_query(void **state)
{
    (void)state;
    fill(false);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    for (unsigned edge = 0; edge < 4; edge++) {
        static const unsigned slots[] = {4 * 50, 4 * 80 - 1, 4 * 50 - 1, 4 * 80};
        put(5, slots[edge], 100000, false);
        settle(STO_LEVEL_LOG);
        assert_int_equal(ask(BY_DAY, AGG_SUM, 4 * 50, 4 * 80, -1, "in memory"), edge < 2 ? 29 : 30);
        settle(STO_LEVEL_COMPACT);
        assert_int_equal(ask(BY_DAY, AGG_SUM, 4 * 50, 4 * 80, -1, "in files"), 30);
    }
}

static void rename_key(const char *from, const char *to)
{
    assert_int_equal(
        sto_uid_rename(sto_store_catalog(st), STO_UID_TAGK, ts_slice_str(from), ts_slice_str(to), NULL), 0);
}

/* A total is declared by names: another key of tags takes the name of the one that is summed over, and gives it back. */
static void test_kept_edges__another_key_takes_the_name(void **state)
{
    (void)state;
    fill(false);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask(BY_DAY_HOST, AGG_SUM, 0, SLOTS, -1, "at rest"), ALL_HOURS);
    rename_key("domain", "site");
    assert_int_equal(ask(BY_DAY_HOST, AGG_SUM, 0, SLOTS, -1, "nothing has the name"), 0);
    rename_key("kind", "domain"); /* the total is over what was called kind now */
    assert_int_equal(ask(BY_DAY_HOST, AGG_SUM, 0, SLOTS, -1, "renamed"), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask(BY_DAY_HOST, AGG_SUM, 0, SLOTS, -1, "made anew"), ALL_HOURS);
    rename_key("domain", "kind");
    rename_key("site", "domain");
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "by the key of the total"), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask(BY_DAY_HOST, AGG_SUM, 0, SLOTS, -1, "as at first"), ALL_HOURS);
}

static int on_count(void *arg, const struct qry_total *t, struct ts_error *err)
{
    int64_t *n = arg;
    (void)err;
    assert_true(t->is_int);
    *n += (int64_t)t->i;
    return 0;
}

/* How many points a query by day has of all time. None of its hours may come from totals. */
static int64_t count_read(const char *name, const char *text)
{
    char end[24];
    struct ts_arena arena;
    struct qry_spec spec;
    struct qry_limit limit = {0};
    struct ts_error err = {0};
    int64_t n = 0;
    snprintf(end, sizeof end, "%lld", T0_S + N_DAYS * 86400ll - 1);
    struct qry_param p[] = {{TS_SLICE_LIT("start"), TS_SLICE_LIT("1499990400")},
                            {TS_SLICE_LIT("end"), ts_slice_str(end)},
                            {ts_slice_str(name), ts_slice_str(text)},
                            {TS_SLICE_LIT("by"), TS_SLICE_LIT("day")}};
    ts_arena_init(&arena, 0);
    if (qry_parse_params(p, 4, (T0_S + 86400ll * 30) * 1000, false, &arena, &spec, &err) < 0 ||
        qry_totals(st, NULL, &spec, &limit, on_count, &n, &err) < 0)
        fail_msg("%s", err.text);
    ts_arena_release(&arena);
    assert_int_equal(limit.n_kept_hours, 0);
    return n;
}

/* TSUIDs, and tags that have to be all that a series has, select some of the series that a total sums up. */
static void test_kept_edges__some_series_of_a_total(void **state)
{
    (void)state;
    struct ts_buf text;
    int64_t n = 0;
    const struct sto_series *alone; /* it has no domain, so it is in the group of all that have its host */
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), TS_SLICE_LIT("h1")};
    assert_int_equal(sto_series_resolve(sto_store_catalog(st),
                                        (struct ts_slice)TS_SLICE_LIT("web.hits host=h1"), 8, &tag, 1, true,
                                        &alone, NULL),
                     0);
    fill(false);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("all"), ALL_HOURS);
    ts_buf_init(&text, 0);
    ts_buf_str(&text, "count:");
    for (unsigned i = 5; i < 7; i++) {
        qry_tsuid(series("web.hits", i), &text);
        ts_buf_str(&text, i == 5 ? "," : "");
        for (unsigned s = 0; s < SLOTS; s++)
            n += has[i][s];
    }
    ts_buf_char(&text, 0);
    assert_int_equal(count_read("tsuid", text.p), n);
    ts_buf_release(&text);
    assert_int_equal(count_read("m", "count:explicit_tags:web.hits{}{host=h1}"),
                     0); /* all that have points have a domain too */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept_edges__hours_without_a_sum_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_edges__memory_at_the_edges_of_a_query, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_edges__another_key_takes_the_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_edges__some_series_of_a_total, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
