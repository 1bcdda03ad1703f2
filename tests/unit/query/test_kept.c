/*
 * test_kept.c - totals of queries are the same with kept totals and without, whatever happens to the points, and kept totals answer the hours that they should.
 */
#include "tests/unit/query/kept_kit.h"

static void test_kept__totals_answer_whole_hours(void **state)
{
    (void)state;
    fill(false);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("without"), 0);
    assert_int_equal(declare("domain", NULL), 0);
    assert_int_equal(declare("domain", NULL), TS_EEXIST);
    assert_int_equal(ask_all("before they are made"), 0);
    settle(STO_LEVEL_COMPACT);
    for (unsigned agg = 0; agg < AGG_LAST; agg++)
        for (unsigned by = 0; by < BY_DAY_DOMAIN; by++)
            assert_int_equal(ask(by, agg, 0, SLOTS, -1, "with"), ALL_HOURS);
    assert_int_equal(ask(BY_DAY, AGG_SUM, 1, SLOTS - 1, 1, "edges by points, one host"), ALL_HOURS - 2);
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "by a key of the total"), 0);
    reopen();
    assert_int_equal(ask_all("after a start"), ALL_HOURS);
}

static void test_kept__other_points_and_deletes_close_their_hours(void **state)
{
    (void)state;
    fill(true);
    assert_int_equal(declare("domain", "kind"), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("at rest"), ALL_HOURS);
    put(4, 4 * 30 + 1, 17, true); /* over an old value, or between others */
    put(5, 4 * 100, 18, true);
    delete (6, 4 * 50 + 2, 4);
    settle(STO_LEVEL_LOG);
    assert_int_equal(ask_all("in memory"), ALL_HOURS - 2 - 2);
    assert_int_equal(ask(BY_DAY_HOST, AGG_AVG, 0, SLOTS, -1, "in memory"), ALL_HOURS - 4);
    settle(STO_LEVEL_FILES); /* of that file nothing is known but its first and its last point */
    assert_int_equal(ask_all("in a file"), ALL_HOURS - (100 - 30 + 1));
    assert_int_equal(ask(BY_DAY_HOST, AGG_AVG, 0, SLOTS, -1, "in a file"), ALL_HOURS - 71);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("merged"), ALL_HOURS);
    put_other(3, 4 * 30); /* of another metric */
    settle(STO_LEVEL_LOG);
    assert_int_equal(ask_all("others"), ALL_HOURS);
}

/* An hour in which integers and decimals are mixed has no total. */
static void test_kept__mixed_hours_are_read(void **state)
{
    (void)state;
    fill(false);
    put(7, 4 * 20 + 3, 250, true);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("mixed"), ALL_HOURS - 1);
    assert_int_equal(ask(BY_DAY_HOST, AGG_MAX, 0, SLOTS, -1, "mixed"), ALL_HOURS - 1);
}

static void test_kept__what_they_do_not_say_is_read(void **state)
{
    (void)state;
    fill(false);
    assert_int_equal(declare("host", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask(BY_DAY, AGG_SUM, 0, SLOTS, 2, "a filter of its key"), 0);
    assert_int_equal(ask(BY_HOST, AGG_SUM, 0, SLOTS, -1, "by its key"), 0);
    assert_int_equal(ask(BY_DAY, AGG_LAST, 0, SLOTS, -1, "an aggregator of all points"), 0);
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "by another"), ALL_HOURS);
    assert_int_equal(declare("domain", "host"), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("the one with fewer groups"), ALL_HOURS);
    assert_int_equal(undeclare("host"), 0);
    assert_int_equal(undeclare("host"), TS_ENOTFOUND);
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "removed"), 0);
    settle(STO_LEVEL_COMPACT);
    reopen();
    assert_int_equal(declare("host", NULL), 0); /* another number */
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "declared anew"), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "made anew"), ALL_HOURS);
}

/* Points of one host expire after five days: hours in which some have expired are read. */
static void test_kept__expired_points_are_in_no_answer(void **state)
{
    struct ts_error err = {0};
    const struct sto_retain_call call = {.what = STO_RETAIN_ADD,
                                         .text = TS_SLICE_LIT("web.hits host=h1 points=5d\n")};
    (void)state;
    fill(false);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    ts_clock_set_fake((T0_S + N_DAYS * 86400ll) * 1000);
    if (sto_retain(st, &call, &err) < 0)
        fail_msg("%s", err.text);
    for (unsigned i = 1; i < N_SERIES; i += N_HOSTS)
        for (unsigned slot = 0; slot < (N_DAYS - 5) * 96; slot++)
            has[i][slot] = false;
    assert_int_equal(ask_all("expired"), 5 * 24);
    assert_int_equal(ask(BY_DAY_HOST, AGG_SUM, 0, SLOTS, 2, "another host"), ALL_HOURS);
    settle(STO_LEVEL_COMPACT);
    (void)ask_all("removed");
    ts_clock_set_fake(0);
}

/* Thirty groups, of which memory holds two or three at a time. */
static void test_kept__groups_are_added_up_in_passes(void **state)
{
    (void)state;
    assert_int_equal(sto_close(st, NULL), 0);
    merge_bytes = 100000;
    open_store();
    fill(false);
    assert_int_equal(declare("kind", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "in passes"), ALL_HOURS);
    assert_int_equal(ask(BY_DAY_HOST, AGG_MIN, 0, SLOTS, 1, "in passes"), ALL_HOURS);
}

/* A folder that was copied over another one: the total is of a file with the same number and counts. */
static void test_kept__totals_of_other_rows_are_not_used(void **state)
{
    char path[T_FOLDER_BYTES + 40], name[40] = "";
    struct ts_error err = {0};
    char *bytes = NULL;
    size_t n = 0;
    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(declare("domain", NULL), 0);
        fill(false);
        settle(STO_LEVEL_COMPACT);
        assert_int_equal(ask_all("own"), ALL_HOURS);
        struct sto_total_ids ids[STO_TOTALS_MAX];
        assert_int_equal(sto_total_list(st, ids), 1);
        assert_int_equal(sto_close(st, NULL), 0);
        for (unsigned no = 1; k == 0 && !bytes && no < 40; no++) {
            snprintf(name, sizeof name, "%08x.g%u", no, ids[0].no);
            snprintf(path, sizeof path, "%s/files/%s", dir, name);
            (void)ts_fs_read_file(ts_fs_real(), path, 1 << 20, &bytes, &n, &err);
        }
        assert_non_null(bytes);
        if (k)
            break;
        assert_int_equal(t_folder_remove(dir), 0);
        t_folder_make(dir);
        memset(has, 0, sizeof has);
        rnd_state = 88172645463325252ull;
        more = 1;
        open_store();
    }
    snprintf(path, sizeof path, "%s/files/%s", dir, name);
    assert_int_equal(ts_fs_write_atomic(ts_fs_real(), path, bytes, n, &err), 0);
    ts_free(bytes);
    open_store();
    assert_int_equal(ask_all("another's"), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("made anew"), ALL_HOURS);
}

static int on_count(void *arg, const struct qry_total *t, struct ts_error *err)
{
    unsigned *n = arg;
    (void)err;
    assert_int_equal(t->i, 5 * 96); /* web.bytes has five series */
    ++*n;
    return 0;
}

/* Points by day of what is called web.hits now, and was called web.bytes. Returns how many hours kept totals answered. */
static uint64_t count_renamed(void)
{
    struct qry_param p[] = {{TS_SLICE_LIT("start"), TS_SLICE_LIT("1499990400")},
                            {TS_SLICE_LIT("end"), TS_SLICE_LIT("1501027199")},
                            {TS_SLICE_LIT("m"), TS_SLICE_LIT("count:web.hits")},
                            {TS_SLICE_LIT("by"), TS_SLICE_LIT("day")}};
    struct ts_arena arena;
    struct qry_spec spec;
    struct qry_limit limit = {0};
    unsigned n = 0;
    ts_arena_init(&arena, 0);
    assert_int_equal(qry_parse_params(p, 4, (T0_S + 86400ll * 30) * 1000, false, &arena, &spec, NULL), 0);
    assert_int_equal(qry_totals(st, NULL, &spec, &limit, on_count, &n, NULL), 0);
    assert_int_equal(n, N_DAYS);
    ts_arena_release(&arena);
    return limit.n_kept_hours;
}

/* A total is declared by names: when another metric takes its name, what was made of the first one is of no use. */
static void test_kept__another_metric_takes_the_name(void **state)
{
    struct sto_catalog *catalog = sto_store_catalog(st);
    (void)state;
    fill(false);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("at rest"), ALL_HOURS);
    assert_int_equal(sto_uid_rename(catalog, STO_UID_METRIC, (struct ts_slice)TS_SLICE_LIT("web.hits"),
                                    (struct ts_slice)TS_SLICE_LIT("web.old"), NULL),
                     0);
    assert_int_equal(sto_uid_rename(catalog, STO_UID_METRIC, (struct ts_slice)TS_SLICE_LIT("web.bytes"),
                                    (struct ts_slice)TS_SLICE_LIT("web.hits"), NULL),
                     0);
    assert_int_equal(count_renamed(), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(count_renamed(), ALL_HOURS);
    reopen();
    assert_int_equal(count_renamed(), ALL_HOURS);
}

/* The record of a merge cannot be read when a total is no longer declared: its file goes, and the points that it is of stay. */
static void test_kept__old_totals_beside_an_unreadable_merge(void **state)
{
    char path[T_FOLDER_BYTES + 20];
    (void)state;
    fill(false);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(undeclare("domain"), 0);
    assert_int_equal(sto_close(st, NULL), 0);
    snprintf(path, sizeof path, "%s/MERGE", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    open_store();
    assert_int_equal(ask_all("opened"), 0);
    assert_int_equal(sto_close(st, NULL), 0);
    assert_int_equal(rmdir(path), 0);
    open_store();
    assert_int_equal(ask_all("opened again"), 0);
}

/* A random change of the points. */
static void change(void)
{
    unsigned from = (unsigned)rnd(SLOTS), n = 1 + (unsigned)rnd(rnd(3) ? 30 : SLOTS);
    bool dec = rnd(6) == 0;
    if (rnd(4) == 0) {
        for (unsigned k = 0; k < 3; k++)
            delete ((unsigned)rnd(N_SERIES), from, (unsigned)rnd(40) + 1);
        return;
    }
    unsigned first = (unsigned)rnd(N_SERIES), many = 1 + (unsigned)rnd(N_SERIES);
    for (unsigned s = from; s < from + n && s < SLOTS; s++)
        for (unsigned i = first; i < first + many && i < N_SERIES; i++)
            if (rnd(3))
                put(i, s, (int64_t)rnd(100000) - 20000, dec);
}

static void test_kept__random_histories(void **state)
{
    static const enum sto_level levels[] = {STO_LEVEL_LOG, STO_LEVEL_FILES, STO_LEVEL_COMPACT};
    uint64_t n_kept = 0;
    (void)state;
    for (unsigned step = 0; step < 120; step++) {
        char when[40];
        snprintf(when, sizeof when, "step %u", step);
        change();
        settle(levels[rnd(3)]);
        if (rnd(12) == 0)
            reopen();
        if (rnd(8) == 0)
            (void)declare(rnd(2) ? "domain" : "kind", rnd(2) ? "host" : NULL);
        if (rnd(20) == 0)
            (void)undeclare("domain");
        for (int k = 0; k < 4; k++) {
            unsigned from = rnd(3) ? 0 : (unsigned)rnd(SLOTS), to = rnd(3) ? SLOTS : (unsigned)rnd(SLOTS) + 1;
            enum by by = (enum by)rnd(BY_COUNT);
            if (from < to)
                n_kept += ask(by, (enum agg)rnd(AGG_LAST), from, to, rnd(3) ? -1 : (int)rnd(N_HOSTS), when);
        }
    }
    assert_true(n_kept > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept__totals_answer_whole_hours, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__other_points_and_deletes_close_their_hours, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_kept__mixed_hours_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__what_they_do_not_say_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__expired_points_are_in_no_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__groups_are_added_up_in_passes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__totals_of_other_rows_are_not_used, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__another_metric_takes_the_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__old_totals_beside_an_unreadable_merge, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__random_histories, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
