/*
 * test_view.c - names and series that only the remote store has: ids of one request, limits, errors.
 */
#include "query/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/time.h"
#include "storage/remote/memory_remote.h"
#include "tests/unit/t_folder.h"

#define T0_MS 1499997600000ll

static char dir[T_FOLDER_BYTES];
static struct sto_remote *remote;
static struct sto_store *st;
static struct qry_limit limit;
static struct qry_budget budget;
static struct qry_view view;

static void shipped(void *arg, int rc, const struct ts_error *err)
{
    (void)arg, (void)err;
    assert_int_equal(rc, 0);
}

/* A point of m{dc=DC,host=HOST} in the remote store. */
static void ship(const char *host, const char *dc)
{
    const struct sto_remote_tag tags[] = {{TS_SLICE_LIT("dc"), ts_slice_str(dc)},
                                          {TS_SLICE_LIT("host"), ts_slice_str(host)}};
    uint32_t meta = 0;
    int64_t m = 1;
    struct sto_cells cells = {.n = 1, .meta = &meta, .m = &m};
    struct sto_remote_row row = {
        .series = {STO_REMOTE_NO_KEY, TS_SLICE_LIT("m"), tags, 2}, .hour = sto_hour(T0_MS), .cells = &cells};
    struct sto_shipment s = {.rows = &row, .n = 1};
    remote->ops->ship(remote, &s, NULL, shipped, NULL);
}

static int setup(void **state)
{
    (void)state;
    t_folder_make(dir);
    remote = sto_memory_remote_new(NULL);
    ship("web2", "y");
    ship("web1", "x");
    ship("db1", "x");
    struct sto_opts opts = {
        .dir = dir, .create = true, .pumped = true, .no_background = true, .remote = remote};
    assert_int_equal(sto_open(&opts, &st, NULL), 0);
    limit = (struct qry_limit){0};
    qry_budget_init(&budget, &limit);
    qry_view_open(&view, st, &limit);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    qry_view_close(&view);
    assert_int_equal(limit.memory->used_bytes, 0); /* all of it was counted and given back */
    assert_int_equal(sto_series_count(sto_store_catalog(st)), 0);
    assert_int_equal(sto_uid_max(sto_store_catalog(st), STO_UID_TAGV), 0);
    assert_int_equal(sto_close(st, NULL), 0);
    remote->ops->close(remote);
    t_folder_remove(dir);
    return 0;
}

/* Numbers of the series that match, in a set that the caller frees. */
static roaring_bitmap_t *add(const struct qry_view_ask *ask, int want_rc, struct ts_error *err)
{
    roaring_bitmap_t *set = roaring_bitmap_create();
    assert_int_equal(qry_view_add(&view, ask, &budget, set, err), want_rc);
    return set;
}

static void expect(const roaring_bitmap_t *set, const char *want)
{
    struct ts_buf got;
    roaring_uint32_iterator_t it;
    ts_buf_init(&got, 0);
    for (roaring_init_iterator(set, &it); it.has_value; roaring_advance_uint32_iterator(&it)) {
        const struct sto_series *s = qry_view_series(&view, it.current_value);
        assert_true(qry_series_foreign(s));
        ts_buf_printf(&got, "%.*s;", (int)s->text_len, sto_series_text(s).p);
    }
    ts_buf_char(&got, 0);
    assert_string_equal(got.p, want);
    ts_buf_release(&got);
}

static bool is_web(void *arg, struct ts_slice value)
{
    (void)arg;
    return value.n > 3 && memcmp(value.p, "web", 3) == 0;
}

static const struct qry_view_ask all = {.metric = {"m", 1}, .from_ms = T0_MS, .to_ms = T0_MS};

static void test_series(void **state)
{
    (void)state;
    roaring_bitmap_t *set = add(&all, 0, NULL);
    expect(set, "m dc=x host=db1;m dc=x host=web1;m dc=y host=web2;");
    roaring_bitmap_free(set);
    /* the same numbers again, for other conditions */
    struct qry_view_cond conds[] = {{.tagk = TS_SLICE_LIT("host"), .match = is_web},
                                    {.tagk = TS_SLICE_LIT("dc"),
                                     .values = (const struct ts_slice[]){{"y", 1}},
                                     .n_values = 1,
                                     .negate = true}};
    struct qry_view_ask some = all;
    some.conds = conds;
    some.n_conds = 2;
    some.explicit_keys = true;
    set = add(&some, 0, NULL);
    expect(set, "m dc=x host=web1;");
    assert_int_equal(roaring_bitmap_minimum(set), STO_FOREIGN + 1);
    roaring_bitmap_free(set);
    conds[1].negate = false;
    set = add(&some, 0, NULL);
    expect(set, "m dc=y host=web2;");
    roaring_bitmap_free(set);
    some.n_conds = 1; /* two keys are not one */
    set = add(&some, 0, NULL);
    expect(set, "");
    roaring_bitmap_free(set);
    assert_int_equal(view.n_series, 3);
}

static void test_range(void **state)
{
    (void)state;
    struct qry_view_ask later = all;
    later.from_ms = later.to_ms = T0_MS + TS_HOUR_MS;
    roaring_bitmap_t *set = add(&later, 0, NULL);
    expect(set, "");
    roaring_bitmap_free(set);
}

static void test_names(void **state)
{
    uint32_t id = 0, again = 0;
    (void)state;
    assert_int_equal(qry_view_known(&view, STO_UID_TAGV, TS_SLICE_LIT("web1"), &id), TS_ENOTFOUND);
    assert_int_equal(qry_view_find(&view, STO_UID_TAGV, TS_SLICE_LIT("web1"), &id, NULL), 0);
    assert_int_equal(id, STO_FOREIGN);
    assert_true(ts_slice_is(qry_view_name(&view, STO_UID_TAGV, id), "web1"));
    assert_int_equal(qry_view_known(&view, STO_UID_TAGV, TS_SLICE_LIT("web1"), &again), 0);
    assert_int_equal(id, again);
    /* a prefix of a name is no name */
    assert_int_equal(qry_view_find(&view, STO_UID_TAGV, TS_SLICE_LIT("web"), &id, NULL), TS_ENOTFOUND);
    assert_null(qry_view_name(&view, STO_UID_TAGV, STO_FOREIGN + 1).p);
}

static void test_limits(void **state)
{
    struct ts_error err = {0};
    (void)state;
    limit.max_series = 2;
    roaring_bitmap_free(add(&all, TS_ELIMIT, &err));
    assert_non_null(strstr(err.text, "query_max_series"));
    limit.max_series = 0;
    limit.memory->limit_bytes = 100;
    roaring_bitmap_free(add(&all, TS_ELIMIT, &err));
    assert_non_null(strstr(err.text, "query_max_bytes"));
    limit.memory->limit_bytes = 0;
    limit.cancelled = true;
    roaring_bitmap_free(add(&all, TS_ECANCELLED, &err));
}

static void test_unreachable(void **state)
{
    struct ts_error err = {0};
    uint32_t id;
    (void)state;
    sto_memory_remote_set_unreachable(remote, true);
    roaring_bitmap_free(add(&all, TS_EBACKEND, &err));
    assert_non_null(strstr(err.text, "remote store memory"));
    assert_int_equal(qry_view_find(&view, STO_UID_METRIC, TS_SLICE_LIT("m"), &id, &err), TS_EBACKEND);
    assert_false(qry_limit_incomplete(&limit));
    limit.allow_partial = true;
    roaring_bitmap_t *set = add(&all, 0, &err);
    expect(set, "");
    roaring_bitmap_free(set);
    assert_true(qry_limit_incomplete(&limit));
    /* the rest of the answer comes from what is here too, although the remote store is back */
    sto_memory_remote_set_unreachable(remote, false);
    set = add(&all, 0, &err);
    expect(set, "");
    roaring_bitmap_free(set);
}

/* An answer that began without a mark does not become incomplete. */
static void test_unreachable_later(void **state)
{
    struct ts_error err = {0};
    (void)state;
    limit.allow_partial = true;
    qry_limit_commit(&limit);
    assert_false(qry_limit_incomplete(&limit));
    sto_memory_remote_set_unreachable(remote, true);
    roaring_bitmap_free(add(&all, TS_EBACKEND, &err));
    assert_false(qry_limit_incomplete(&limit));
}

static const struct sto_remote_ops *memory_ops;
static int64_t asked_until_ns; /* deadline of the last fetch */

static int fetch_until(struct sto_remote *r, const struct sto_fetch *f, const struct sto_remote_call *call,
                       sto_fetch_row_fn each, void *arg, struct ts_error *err)
{
    asked_until_ns = call->deadline_ns;
    return memory_ops->fetch(r, f, call, each, arg, err);
}

/* Where a partial answer is allowed, half of the time is left for what is here. */
static void test_partial_leaves_time(void **state)
{
    (void)state;
    const int64_t second_ns = 1000000000;
    static struct sto_remote_ops ops;
    ops = *remote->ops;
    memory_ops = remote->ops;
    ops.fetch = fetch_until;
    remote->ops = &ops;
    ts_clock_set_fake_mono(100 * second_ns);
    limit.deadline_ns = 160 * second_ns;
    roaring_bitmap_free(add(&all, 0, NULL));
    assert_int_equal(asked_until_ns, 160 * second_ns);
    limit.allow_partial = true;
    roaring_bitmap_free(add(&all, 0, NULL));
    assert_int_equal(asked_until_ns, 130 * second_ns);
    ts_clock_set_fake_mono(0);
    remote->ops = memory_ops;
}

static void test_nowait(void **state)
{
    (void)state;
    ts_fs_set_nowait(true);
    roaring_bitmap_free(add(&all, TS_EBUSY, NULL));
    ts_fs_set_nowait(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_series, setup, teardown),
        cmocka_unit_test_setup_teardown(test_range, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unreachable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unreachable_later, setup, teardown),
        cmocka_unit_test_setup_teardown(test_partial_leaves_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nowait, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
