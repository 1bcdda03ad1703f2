/*
 * test_remote_check_ids.c - damage of the table of ids is found, repaired, and gone in the second run; names are deleted.
 */
#include "tests/unit/hbase/check_kit.h"

static void test_remote_check_ids__names_and_ids(void **state)
{
    (void)state;
    static const struct {
        const char *cells[3][4]; /* row, family, kind, value; A is 41, B is 42 */
        const char *found, *fixed;
    } cases[] = {
        {{{"41", "id", "metrics", "000005"}}, "no_reverse=1/0", "no_reverse=1/1"},
        {{{"000005", "name", "metrics", "41"}}, "no_forward=1/0", "no_forward=1/1"},
        /* m1 has the id 1 */
        {{{"41", "id", "metrics", "000001"}}, "shared_id=1/0", "shared_id=1/1"},
        {{{"000005", "name", "metrics", "6D31"}}, "second_id=1/0", "second_id=1/1"},
        {{{"41", "id", "metrics", "000005"}, {"000005", "name", "metrics", "42"}},
         "no_forward=1/0 other_name=1/0",
         "other_name=1/1"},
        {{{"41", "id", "metrics", "000005"}, {"000005", "name", "metrics", "6D31"}},
         "other_name=1/0 second_id=1/0",
         "other_name=1/1"},
        {{{"000005", "name", "metrics", "41"}, {"000006", "name", "metrics", "41"}},
         "no_forward=2/0",
         "no_forward=1/1 second_id=1/1"},
        {{{"00", "id", "metrics", "0000000000000001"}}, "counter_low=1/0", "counter_low=1/1"},
        {{{"00", "id", "metrics", "000001"}}, "uid_counter=1/0", "uid_counter=1/1"},
        {{{"41", "id", "strange", "000005"}}, "uid_column=1/0", "uid_column=1/1"},
        {{{"41", "id", "metrics", "0005"}}, "uid_length=1/0", NULL},
        /* the id still shows the name: it is given back, and not taken from it */
        {{{"41", "id", "metrics", "05"}, {"000005", "name", "metrics", "41"}},
         "uid_length=1/0 no_forward=1/0",
         "uid_length=1/1 no_forward=1/1"},
        {{{"41", "id", "metrics", "FF0005"}, {"FF0005", "name", "metrics", "41"}}, "random_ids=1/0", NULL},
        {{{"41", "id", "tagv", "FF0005"}, {"FF0005", "name", "tagv", "41"}},
         "counter_low=1/0",
         "counter_low=1/1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_ids();
        for (size_t k = 0; k < 3 && cases[i].cells[k][0]; k++)
            name_cell(cases[i].cells[k][0], cases[i].cells[k][1], cases[i].cells[k][2], cases[i].cells[k][3]);
        expect_ids(0, cases[i].found);
        fake_hbase_set_clock(t.fake, OLD_MS + 1000);
        expect_ids(FULL, cases[i].fixed ? cases[i].fixed : cases[i].found);
        if (cases[i].fixed)
            expect_ids(FULL, "");
        struct ts_buf id;
        ts_buf_init(&id, 0);
        assert_true(
            fake_hbase_get(t.fake, "tsdb-uid", TS_SLICE_LIT("m1"), "id", TS_SLICE_LIT("metrics"), &id, NULL));
        assert_true(ts_slice_eq(ts_buf_get(&id), TS_SLICE_LIT("\0\0\1")));
        ts_buf_release(&id);
        t_fetch_close(&t);
    }
}

static void test_remote_check_ids__names_are_deleted(void **state)
{
    (void)state;
    struct ts_error err = {0};
    open_ids();
    size_t n = fake_hbase_cells(t.fake, "tsdb-uid");
    assert_int_equal(sto_hbase_delete_name(t.remote, STO_REMOTE_METRIC, TS_SLICE_LIT("m1"), NULL, &err), 0);
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb-uid"), n - 3); /* with its metadata */
    assert_int_equal(sto_hbase_delete_name(t.remote, STO_REMOTE_METRIC, TS_SLICE_LIT("m1"), NULL, &err),
                     TS_ENOTFOUND);
    assert_int_equal(sto_hbase_delete_name(t.remote, STO_REMOTE_METRIC, TS_SLICE_LIT("\316\261"), NULL, &err),
                     TS_ENOTFOUND);
    expect_ids(0, "");
    t_fetch_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_check_ids__names_and_ids),
        cmocka_unit_test(test_remote_check_ids__names_are_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
