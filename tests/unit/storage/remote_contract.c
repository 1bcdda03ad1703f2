/*
 * remote_contract.c - what every remote store must do, see storage/remote.h.
 */
#include "tests/unit/storage/remote_contract.h"

#include "tests/unit/storage/remote_contract_int.h"
#include "tests/unit/storage/remote_kit.h"

static struct sto_remote *(*open_remote)(void);
static struct remote_contract_opts opts_now;

static int setup(void **state)
{
    *state = open_remote();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    struct sto_remote *r = *state;
    r->ops->close(r);
    return 0;
}

/* --- points --- */

static void what_is_shipped_is_fetched(void **state)
{
    struct sto_remote *r = *state;
    assert_int_equal(r_ship(r, "cpu dc=x host=a", R_HOUR, R_CELLS(0, 1, 60, -2, 3599, 3)), 0);
    assert_int_equal(r_ship(r, "cpu dc=x host=b", R_HOUR, R_CELLS(5, 9)), 0);
    assert_int_equal(r_ship(r, "cpu dc=x host=a", R_HOUR + 1, R_CELLS(0, 4)), 0);
    assert_int_equal(r_ship(r, "cpu dc=x host=a", R_HOUR - 2, R_CELLS(7, 7)), 0);
    assert_int_equal(r_ship(r, "mem host=a", R_HOUR, R_CELLS(0, 100)), 0);
    r_expect_metric(r, "cpu",
                    "cpu dc=x host=a @-2 7:7\n"
                    "cpu dc=x host=a @0 0:1 60:-2 3599:3\n"
                    "cpu dc=x host=a @1 0:4\n"
                    "cpu dc=x host=b @0 5:9\n");
    r_expect_metric(r, "mem", "mem host=a @0 0:100\n");
    r_expect_metric(r, "disk", "");
}

static void a_shipment_may_have_many_rows(void **state)
{
    struct sto_remote *r = *state;
    struct r_result result = R_RESULT;
    struct sto_remote_row rows[20];
    struct r_series *series[20];
    char texts[20][32];
    for (int i = 0; i < 20; i++) {
        snprintf(texts[i], sizeof texts[i], "cpu host=h%02d", i);
        series[i] = r_series(texts[i]);
        rows[i] = (struct sto_remote_row){
            .series = series[i]->s, .hour = R_HOUR, .cells = R_CELLS(i, i), .fresh = true};
    }
    struct sto_shipment s = {.rows = rows, .n = 20, .n_bytes = 240};
    r->ops->ship(r, &s, NULL, r_done, &result);
    assert_int_equal(r_wait(&result), 0);
    const struct sto_remote_series *of[2] = {&series[19]->s, &series[3]->s};
    struct sto_remote_series chosen[2] = {*of[0], *of[1]};
    struct sto_fetch f = {.metric = TS_SLICE_LIT("cpu"),
                          .series = chosen,
                          .n_series = 2,
                          .from_ms = STO_MIN_TS_MS,
                          .to_ms = STO_MAX_TS_MS};
    r_expect(r, &f, "cpu host=h03 @0 3:3\ncpu host=h19 @0 19:19\n");
    for (int i = 0; i < 20; i++) {
        struct sto_cells *c = (struct sto_cells *)(uintptr_t)rows[i].cells;
        sto_cells_release(c);
        ts_free(c);
        ts_free(series[i]);
    }
}

static void the_last_shipment_counts(void **state)
{
    struct sto_remote *r = *state;
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 1, 10, 2, 20, 3)), 0);
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(5, 5, 10, 22)), 0);
    r_expect_metric(r, "cpu", "cpu host=a @0 0:1 5:5 10:22 20:3\n");
}

static void a_shipment_may_be_repeated(void **state)
{
    struct sto_remote *r = *state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 1, 10, 2)), 0);
    r_expect_metric(r, "cpu", "cpu host=a @0 0:1 10:2\n");
}

static void a_fetch_is_cut_by_time(void **state)
{
    struct sto_remote *r = *state;
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 1, 10, 2, 20, 3)), 0);
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR + 1, R_CELLS(0, 4, 10, 5)), 0);
    struct sto_fetch f = {.metric = TS_SLICE_LIT("cpu"), .from_ms = R_T0 + 10000, .to_ms = R_T0 + TS_HOUR_MS};
    r_expect(r, &f, "cpu host=a @0 10:2 20:3\ncpu host=a @1 0:4\n");
    f.from_ms = R_T0 + 10001;
    f.to_ms = R_T0 + 19999;
    r_expect(r, &f, "");
}

static void a_fetch_selects_by_tags(void **state)
{
    struct sto_remote *r = *state;
    struct ts_slice hosts[2] = {TS_SLICE_LIT("a"), TS_SLICE_LIT("c")};
    struct sto_remote_cond conds[2] = {{.tagk = TS_SLICE_LIT("host"), .values = hosts, .n_values = 2},
                                       {.tagk = TS_SLICE_LIT("dc")}};
    assert_int_equal(r_ship(r, "cpu dc=x host=a", R_HOUR, R_CELLS(0, 1)), 0);
    assert_int_equal(r_ship(r, "cpu dc=x host=b", R_HOUR, R_CELLS(0, 2)), 0);
    assert_int_equal(r_ship(r, "cpu dc=y host=c", R_HOUR, R_CELLS(0, 3)), 0);
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 4)), 0);
    struct sto_fetch f = {.metric = TS_SLICE_LIT("cpu"),
                          .conds = conds,
                          .n_conds = 2,
                          .from_ms = STO_MIN_TS_MS,
                          .to_ms = STO_MAX_TS_MS};
    r_expect(r, &f, "cpu dc=x host=a @0 0:1\ncpu dc=y host=c @0 0:3\n");
    f.n_conds = 1;
    r_expect(r, &f, "cpu dc=x host=a @0 0:1\ncpu dc=y host=c @0 0:3\ncpu host=a @0 0:4\n");
    f.series_only = true;
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR + 1, R_CELLS(0, 5)), 0);
    r_expect(r, &f, "cpu dc=x host=a\ncpu dc=y host=c\ncpu host=a\n");
}

static void a_delete_takes_what_was_stored_before(void **state)
{
    struct sto_remote *r = *state;
    struct ts_error err = {0};
    struct r_series *a = r_series("cpu host=a"), *never = r_series("cpu host=never");
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 1, 10, 2, 20, 3)), 0);
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR + 2, R_CELLS(0, 4, 10, 5)), 0);
    assert_int_equal(r_ship(r, "cpu host=b", R_HOUR, R_CELLS(10, 6)), 0);
    assert_int_equal(r->ops->delete_range(r, &a->s, R_T0 + 10000, R_T0 + 2 * TS_HOUR_MS, NULL, &err), 0);
    assert_int_equal(r->ops->delete_range(r, &never->s, STO_MIN_TS_MS, STO_MAX_TS_MS, NULL, &err), 0);
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(20, 33)), 0);
    r_expect_metric(r, "cpu", "cpu host=a @0 0:1 20:33\ncpu host=a @2 10:5\ncpu host=b @0 10:6\n");
    ts_free(a);
    ts_free(never);
}

/* Cells that a fetch returns. */
struct wanted_cells {
    const struct sto_cells *cells;
    bool exact; /* bit by bit; otherwise as doubles */
    int n_rows; /* that came */
};
static int same_cells(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    struct wanted_cells *w = arg;
    (void)pos, (void)err;
    w->n_rows++;
    assert_int_equal(row->cells->n, w->cells->n);
    for (size_t i = 0; i < row->cells->n; i++) {
        struct ts_num got = sto_cell_num(row->cells->meta[i], row->cells->m[i]),
                      want = sto_cell_num(w->cells->meta[i], w->cells->m[i]);
        assert_int_equal(sto_meta_off(row->cells->meta[i]), sto_meta_off(w->cells->meta[i]));
        if (w->exact)
            assert_int_equal(row->cells->m[i], w->cells->m[i]);
        assert_true(ts_num_double(got) == ts_num_double(want));
    }
    return 0;
}

/* Values of all kinds come back; as doubles where the remote store is not exact. */
static void values_come_back(void **state)
{
    static const char *const texts[] = {
        "0", "-1", "9223372036854775807", "-9223372036854775808", "0.5", "-1234.25", "1e300"};
    struct sto_remote *r = *state;
    struct sto_cells *c = R_CELLS(0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0);
    struct r_series *s = r_series("v host=a");
    struct r_result result = R_RESULT;
    struct sto_remote_row row = {.series = s->s, .hour = R_HOUR, .cells = c};
    struct sto_shipment shipment = {.rows = &row, .n = 1, .n_bytes = 84};
    for (uint32_t i = 0; i < 7; i++) {
        struct ts_num v;
        assert_int_equal(ts_num_parse(ts_slice_str(texts[i]), &v, NULL), 0);
        c->meta[i] = sto_meta_off(c->meta[i]) | sto_meta_flags(STO_OP_PUT, v.kind, v.exp, false);
        c->m[i] = v.m;
    }
    r->ops->ship(r, &shipment, NULL, r_done, &result);
    assert_int_equal(r_wait(&result), 0);
    struct sto_fetch f = {.metric = TS_SLICE_LIT("v"), .from_ms = R_T0, .to_ms = R_T0 + TS_HOUR_MS};
    struct wanted_cells want = {.cells = c, .exact = r->ops->abilities(r)->exact};
    assert_int_equal(r->ops->fetch(r, &f, NULL, same_cells, &want, NULL), 0);
    assert_int_equal(want.n_rows, 1);
    sto_cells_release(c);
    ts_free(c);
    ts_free(s);
}

static void the_range_of_times_is_known_or_unknown(void **state)
{
    struct sto_remote *r = *state;
    int64_t lo = 1, hi = 2;
    struct ts_error err = {0};
    int rc = r->ops->time_range(r, NULL, &lo, &hi, &err);
    if (!r->ops->abilities(r)->knows_range) {
        assert_int_equal(rc, TS_ENOTFOUND);
        return;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(10, 2)), 0);
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR - 5, R_CELLS(0, 1)), 0);
    assert_int_equal(r->ops->time_range(r, NULL, &lo, &hi, &err), 1);
    assert_true(lo <= R_T0 - 5 * TS_HOUR_MS && lo > R_T0 - 7 * TS_HOUR_MS);
    assert_true(hi >= R_T0 + 10000 && hi < R_T0 + 2 * TS_HOUR_MS);
}

/* --- bounds of calls --- */

static void a_call_may_be_cancelled_or_too_late(void **state)
{
    struct sto_remote *r = *state;
    _Atomic bool cancel = true;
    struct sto_remote_call cancelled = {.cancel = &cancel}, late = {.deadline_ns = 1};
    struct sto_fetch f = {.metric = TS_SLICE_LIT("cpu"), .from_ms = R_T0, .to_ms = R_T0 + TS_HOUR_MS};
    struct r_series *s = r_series("cpu host=a");
    struct ts_error err = {0};
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 1)), 0);
    assert_int_equal(r->ops->fetch(r, &f, &cancelled, r_print, NULL, &err), TS_ECANCELLED);
    assert_true(err.text[0] != 0);
    assert_int_equal(r->ops->fetch(r, &f, &late, r_print, NULL, &err), TS_ETIMEOUT);
    struct sto_remote_row row = {.series = s->s, .hour = R_HOUR, .cells = R_CELLS(0, 2)};
    struct sto_shipment shipment = {.rows = &row, .n = 1, .n_bytes = 12};
    struct r_result result = R_RESULT, second = R_RESULT;
    r->ops->ship(r, &shipment, &cancelled, r_done, &result);
    assert_int_equal(r_wait(&result), TS_ECANCELLED);
    r->ops->ship(r, &shipment, &late, r_done, &second);
    assert_int_equal(r_wait(&second), TS_ETIMEOUT);
    struct sto_cells *c = (struct sto_cells *)(uintptr_t)row.cells;
    sto_cells_release(c);
    ts_free(c);
    ts_free(s);
}

static int end_after_one(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    (void)row, (void)pos;
    ++*(int *)arg;
    return ts_error_set(err, TS_ELIMIT, "one is enough");
}

static void a_fetch_ends_when_its_reader_ends_it(void **state)
{
    struct sto_remote *r = *state;
    struct sto_fetch f = {.metric = TS_SLICE_LIT("cpu"), .from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    struct ts_error err = {0};
    int n = 0;
    for (int i = 0; i < 5; i++)
        assert_int_equal(r_ship(r, "cpu host=a", R_HOUR + i, R_CELLS(0, 1)), 0);
    assert_int_equal(r->ops->fetch(r, &f, NULL, end_after_one, &n, &err), TS_ELIMIT);
    assert_string_equal(err.text, "one is enough");
    assert_int_equal(n, 1);
}

static int count_any(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    (void)err;
    assert_true(ts_slice_is(row->series.metric, "cpu"));
    assert_int_equal(row->series.n_tags, 0);
    assert_null(row->cells);
    assert_true(pos == SIZE_MAX);
    ++*(int *)arg;
    return 0;
}

static void a_fetch_ends_at_any_row(void **state)
{
    struct sto_remote *r = *state;
    struct sto_fetch f = {
        .metric = TS_SLICE_LIT("cpu"), .from_ms = R_T0, .to_ms = STO_MAX_TS_MS, .any_row = true};
    struct ts_error err = {0};
    int n = 0;
    assert_int_equal(r->ops->fetch(r, &f, NULL, count_any, &n, &err), 0);
    assert_int_equal(n, 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(r_ship(r, "cpu host=a", R_HOUR + i, R_CELLS(0, 1)), 0);
        assert_int_equal(r_ship(r, "cpu host=b", R_HOUR + i, R_CELLS(0, 1)), 0);
    }
    assert_int_equal(r->ops->fetch(r, &f, NULL, count_any, &n, &err), 0);
    assert_int_equal(n, 1);
    f.from_ms = R_T0 + 6 * TS_HOUR_MS;
    assert_int_equal(r->ops->fetch(r, &f, NULL, count_any, &n, &err), 0);
    assert_int_equal(n, 1);
}

/* --- names --- */

/* Copies the name that a look-up by id found, which is borrowed until done returns. */
struct found_name {
    struct r_result result;
    const struct sto_remote_name *name;
    char text[16];
};
static void found_done(void *arg, int rc, const struct ts_error *err)
{
    struct found_name *f = arg;
    if (rc == 0 && f->name->rc == 0)
        snprintf(f->text, sizeof f->text, "%.*s", (int)f->name->name.n, f->name->name.p);
    r_done(&f->result, rc, err);
}

static void names_get_ids(void **state)
{
    struct sto_remote *r = *state;
    struct sto_remote_name list[3] = {{.kind = STO_REMOTE_METRIC, .name = TS_SLICE_LIT("cpu")},
                                      {.kind = STO_REMOTE_TAGK, .name = TS_SLICE_LIT("cpu")},
                                      {.kind = STO_REMOTE_METRIC, .name = TS_SLICE_LIT("cpu")}};
    struct r_result first = R_RESULT, second = R_RESULT, third = R_RESULT;
    if (!r->ops->abilities(r)->id_bytes[STO_REMOTE_METRIC])
        return;
    r->ops->names(r, STO_REMOTE_FIND, list, 3, NULL, r_done, &first);
    assert_int_equal(r_wait(&first), 0);
    assert_int_equal(list[0].rc, TS_ENOTFOUND);
    r->ops->names(r, STO_REMOTE_MAKE, list, 3, NULL, r_done, &second);
    assert_int_equal(r_wait(&second), 0);
    uint64_t metric = list[0].id, tagk = list[1].id;
    assert_int_equal(list[0].rc, 0);
    assert_int_equal(list[1].rc, 0);
    assert_int_equal(list[2].id, metric);
    assert_true(metric > 0 && tagk > 0);
    list[0].id = list[1].id = 0;
    r->ops->names(r, STO_REMOTE_FIND, list, 2, NULL, r_done, &third);
    assert_int_equal(r_wait(&third), 0);
    assert_int_equal(list[0].id, metric);
    assert_int_equal(list[1].id, tagk);
    struct sto_remote_name back[2] = {{.kind = STO_REMOTE_METRIC, .id = metric},
                                      {.kind = STO_REMOTE_METRIC, .id = metric + 1000}};
    struct found_name found = {.result = R_RESULT, .name = &back[0]};
    r->ops->names(r, STO_REMOTE_BY_ID, back, 2, NULL, found_done, &found);
    assert_int_equal(r_wait(&found.result), 0);
    assert_int_equal(back[0].rc, 0);
    assert_string_equal(found.text, "cpu");
    assert_int_equal(back[1].rc, TS_ENOTFOUND);
}

static bool join_names(void *arg, struct ts_slice name)
{
    ts_buf_printf(arg, "%.*s,", (int)name.n, name.p);
    return true;
}

static void points_stay_with_a_renamed_name(void **state)
{
    struct sto_remote *r = *state;
    struct ts_error err = {0};
    struct ts_buf out;
    ts_buf_init(&out, 0);
    assert_int_equal(r_ship(r, "cpu.b host=a", R_HOUR, R_CELLS(0, 1)), 0);
    assert_int_equal(r_ship(r, "cpu.a host=a", R_HOUR, R_CELLS(0, 2)), 0);
    assert_int_equal(r_ship(r, "mem host=a", R_HOUR, R_CELLS(0, 3)), 0);
    assert_int_equal(
        r->ops->suggest(r, STO_REMOTE_METRIC, TS_SLICE_LIT("cpu"), 9, NULL, join_names, &out, &err), 0);
    assert_true(ts_slice_is(ts_buf_get(&out), "cpu.a,cpu.b,"));
    ts_buf_clear(&out);
    assert_int_equal(
        r->ops->suggest(r, STO_REMOTE_METRIC, TS_SLICE_LIT("cpu"), 1, NULL, join_names, &out, &err), 0);
    assert_true(ts_slice_is(ts_buf_get(&out), "cpu.a,"));
    assert_int_equal(
        r->ops->rename(r, STO_REMOTE_METRIC, TS_SLICE_LIT("cpu.a"), TS_SLICE_LIT("cpu.b"), NULL, &err),
        TS_EEXIST);
    assert_int_equal(
        r->ops->rename(r, STO_REMOTE_METRIC, TS_SLICE_LIT("none"), TS_SLICE_LIT("some"), NULL, &err),
        TS_ENOTFOUND);
    assert_int_equal(
        r->ops->rename(r, STO_REMOTE_METRIC, TS_SLICE_LIT("cpu.a"), TS_SLICE_LIT("load"), NULL, &err), 0);
    r_expect_metric(r, "load", "load host=a @0 0:2\n");
    r_expect_metric(r, "cpu.a", "");
    ts_buf_release(&out);
}

/* --- small cells --- */

static int cas(struct sto_remote *r, const char *key, const char *expected, const char *value)
{
    struct ts_error err = {0};
    return r->ops->cell_cas(r, ts_slice_str(key), ts_slice_str(expected), ts_slice_str(value), NULL, &err);
}

static void small_cells_change_by_compare_and_set(void **state)
{
    struct sto_remote *r = *state;
    struct ts_error err = {0};
    struct ts_buf out;
    if (opts_now.no_small_cells)
        skip();
    ts_buf_init(&out, 0);
    assert_int_equal(r->ops->cell_get(r, TS_SLICE_LIT("b"), NULL, &out, &err), TS_ENOTFOUND);
    assert_int_equal(cas(r, "b", "x", "1"), TS_EEXIST);
    assert_int_equal(cas(r, "b", "", "1"), 0);
    assert_int_equal(cas(r, "b", "", "2"), TS_EEXIST);
    assert_int_equal(cas(r, "b", "1", "2"), 0);
    assert_int_equal(r->ops->cell_get(r, TS_SLICE_LIT("b"), NULL, &out, &err), 0);
    assert_true(ts_slice_is(ts_buf_get(&out), "2"));
    assert_int_equal(cas(r, "b", "2", ""), 0);
    ts_buf_clear(&out);
    assert_int_equal(r->ops->cell_get(r, TS_SLICE_LIT("b"), NULL, &out, &err), TS_ENOTFOUND);
    ts_buf_release(&out);
}

/* --- many callers --- */

struct racer {
    struct sto_remote *r;
    int number, n_won;
};

/* Everybody increments the same cell, and ships rows of a series of its own. */
static void *race(void *arg)
{
    struct racer *me = arg;
    char series[32], is[16], next[16];
    snprintf(series, sizeof series, "cpu host=h%d", me->number);
    for (int i = 0; i < 50; i++) {
        struct ts_buf value;
        if (r_ship(me->r, series, R_HOUR, R_CELLS(i, i)) < 0)
            me->n_won = -1000000;
        if (opts_now.no_small_cells)
            continue;
        ts_buf_init(&value, 0);
        (void)me->r->ops->cell_get(me->r, TS_SLICE_LIT("counter"), NULL, &value, NULL);
        snprintf(is, sizeof is, "%.*s", (int)value.n, value.n ? value.p : "");
        snprintf(next, sizeof next, "%d", (int)strtol(is, NULL, 10) + 1);
        me->n_won += cas(me->r, "counter", is, next) == 0;
        ts_buf_release(&value);
    }
    return NULL;
}

static void callers_may_run_at_the_same_time(void **state)
{
    struct racer racers[4];
    pthread_t threads[4];
    struct ts_buf value;
    int n_won = 0;
    for (int i = 0; i < 4; i++) {
        racers[i] = (struct racer){.r = *state, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        n_won += racers[i].n_won;
    }
    if (opts_now.no_small_cells) {
        assert_int_equal(n_won, 0);
    } else {
        ts_buf_init(&value, 0);
        assert_int_equal(racers[0].r->ops->cell_get(racers[0].r, TS_SLICE_LIT("counter"), NULL, &value, NULL),
                         0);
        ts_buf_char(&value, 0);
        assert_int_equal((int)strtol(value.p, NULL, 10), n_won);
        assert_true(n_won >= 50);
        ts_buf_release(&value);
    }
    struct sto_fetch f = {.metric = TS_SLICE_LIT("cpu"), .from_ms = R_T0 + 49000, .to_ms = R_T0 + 49999};
    r_expect(racers[0].r, &f,
             "cpu host=h0 @0 49:49\ncpu host=h1 @0 49:49\ncpu host=h2 @0 49:49\ncpu host=h3 @0 49:49\n");
}

/* --- state --- */

static void count_text(void *arg, const char *text)
{
    (void)text;
    ++*(int *)arg;
}

static void a_whole_store_has_no_faults(void **state)
{
    struct sto_remote *r = *state;
    struct ts_error err = {0};
    int n = 0;
    assert_true(r->ops->name && r->ops->name[0]);
    for (int i = 0; i < 5; i++)
        assert_int_equal(r_ship(r, "cpu host=a", R_HOUR + (i * 3) % 5, R_CELLS(0, 1)), 0);
    assert_int_equal(r_stat(r, "no such counter"), 0);
    if (opts_now.no_check)
        skip();
    assert_int_equal(r->ops->check(r, false, NULL, count_text, &n, &err), 0);
    assert_int_equal(n, 0);
}

int remote_contract_run(const char *name, struct sto_remote *(*open)(void),
                        const struct remote_contract_opts *opts)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(what_is_shipped_is_fetched),
        CASE(a_shipment_may_have_many_rows),
        CASE(the_last_shipment_counts),
        CASE(a_shipment_may_be_repeated),
        CASE(a_fetch_is_cut_by_time),
        CASE(a_fetch_selects_by_tags),
        CASE(a_delete_takes_what_was_stored_before),
        CASE(values_come_back),
        CASE(the_range_of_times_is_known_or_unknown),
        CASE(a_call_may_be_cancelled_or_too_late),
        CASE(a_fetch_ends_when_its_reader_ends_it),
        CASE(a_fetch_ends_at_any_row),
        CASE(names_get_ids),
        CASE(points_stay_with_a_renamed_name),
        CASE(small_cells_change_by_compare_and_set),
        CASE(remote_contract__a_fetch_reads_annotations),
        CASE(remote_contract__a_fetch_ends_when_annotations_are_refused),
        CASE(remote_contract__buckets_of_histograms),
        CASE(callers_may_run_at_the_same_time),
        CASE(a_whole_store_has_no_faults),
    };
    open_remote = open;
    opts_now = opts ? *opts : (struct remote_contract_opts){0};
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}
