/*
 * test_remote_slices.c - readings of series that lie in the remote store: in slices that fit in memory, with their annotations.
 */
#include "query/execution/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "storage/remote/memory_remote.h"
#include "storage/remote_cell.h"
#include "tests/unit/t_folder.h"

#define T0_MS  1499997600000ll
#define N_HERE 60u /* points of an hour */
#define MIB    ((uint64_t)1 << 20)

static char dir[T_FOLDER_BYTES];
static struct sto_remote *remote;
static struct sto_store *st;
static struct qry_limit limit;
static struct qry_budget budget;
static struct qry_view view;
static struct sto_snap *snap;

static void shipped(void *arg, int rc, const struct ts_error *err)
{
    (void)arg, (void)err;
    assert_int_equal(rc, 0);
}

static struct sto_remote_series named(const char *host, struct sto_remote_tag *tag)
{
    *tag = (struct sto_remote_tag){TS_SLICE_LIT("host"), ts_slice_str(host)};
    return (struct sto_remote_series){STO_REMOTE_NO_KEY, TS_SLICE_LIT("m"), tag, 1};
}

/* Points of one hour of m{host=HOST}, a minute apart. */
static void ship(const char *host, int hour)
{
    struct sto_remote_tag tag;
    uint32_t meta[N_HERE];
    int64_t m[N_HERE];
    for (uint32_t i = 0; i < N_HERE; i++) {
        meta[i] = i * 60000 | sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
        m[i] = (int64_t)hour * 1000 + i;
    }
    struct sto_cells cells = {.n = N_HERE, .meta = meta, .m = m};
    struct sto_remote_row row = {
        .series = named(host, &tag), .hour = sto_hour(T0_MS) + hour, .cells = &cells};
    struct sto_shipment s = {.rows = &row, .n = 1};
    remote->ops->ship(remote, &s, NULL, shipped, NULL);
}

static void ship_all(unsigned n_series, int n_hours)
{
    char host[16];
    for (unsigned i = 0; i < n_series; i++)
        for (int h = 0; h < n_hours; h++) {
            snprintf(host, sizeof host, "h%02u", i);
            ship(host, h);
        }
}

/* Another program writes an annotation. */
static void annotate(const char *host, int64_t at_ms, const char *record)
{
    struct sto_remote_tag tag;
    struct sto_remote_cell cell = {
        .kind = STO_REMOTE_ANNOTATION, .series = named(host, &tag), .start_ms = T0_MS + at_ms};
    struct ts_buf key;
    ts_buf_init(&key, 0);
    assert_int_equal(sto_remote_cell_key(&cell, &key), 0);
    assert_int_equal(
        remote->ops->cell_cas(remote, ts_buf_get(&key), TS_SLICE_LIT(""), ts_slice_str(record), NULL, NULL),
        0);
    ts_buf_release(&key);
}

static int setup(void **state)
{
    (void)state;
    t_folder_make(dir);
    remote = sto_memory_remote_new(NULL);
    struct sto_opts opts = {
        .dir = dir, .create = true, .pumped = true, .no_background = true, .remote = remote};
    assert_int_equal(sto_open(&opts, &st, NULL), 0);
    limit = (struct qry_limit){0};
    qry_budget_init(&budget, &limit);
    qry_view_open(&view, st, &limit);
    snap = sto_snap_take(st);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sto_snap_release(snap);
    qry_view_close(&view);
    assert_int_equal(limit.memory->used_bytes, 0); /* all of it was counted and given back */
    assert_int_equal(sto_close(st, NULL), 0);
    remote->ops->close(remote);
    t_folder_remove(dir);
    return 0;
}

/* What a reading has passed on. */
struct seen {
    uint64_t hash;           /* of all rows in their order */
    size_t n_begun, n_ended; /* series */
    uint64_t n_rows, n_points;
    size_t pos; /* of the series that has begun */
};

static int begin(void *arg, size_t pos, struct ts_error *err)
{
    struct seen *s = arg;
    (void)err;
    assert_true(s->n_begun == s->n_ended && (s->n_begun == 0 || pos > s->pos));
    s->n_begun++;
    s->pos = pos;
    return 0;
}

static int on_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    struct seen *s = arg;
    (void)err;
    assert_true(row->pos == s->pos && row->cells);
    s->n_rows++;
    s->n_points += row->cells->n;
    s->hash = ts_hash_u64(s->hash ^ row->pos) ^ ts_hash_u64((uint64_t)row->key.hour);
    for (uint32_t i = 0; i < row->cells->n; i++)
        s->hash = ts_hash_u64(s->hash ^ sto_meta_off(row->cells->meta[i])) ^ (uint64_t)row->cells->m[i];
    return 0;
}

static int end(void *arg, size_t pos, struct ts_error *err)
{
    struct seen *s = arg;
    (void)err;
    assert_int_equal(pos, s->pos);
    s->n_ended++;
    return 0;
}

/* Read all points of the metric from T0_MS on. */
static int read_all(int n_hours, struct seen *out, struct ts_error *err)
{
    struct qry_view_ask all = {
        .metric = {"m", 1}, .from_ms = T0_MS, .to_ms = T0_MS + n_hours * TS_HOUR_MS - 1};
    struct qry_reading r = {.snap = snap,
                            .budget = &budget,
                            .view = &view,
                            .from_ms = all.from_ms,
                            .to_ms = all.to_ms + 1,
                            .begin = begin,
                            .row = on_row,
                            .end = end,
                            .arg = out};
    if (view.n_series == 0) {
        roaring_bitmap_t *set = roaring_bitmap_create();
        assert_int_equal(qry_view_add(&view, &all, &budget, set, err), 0);
        roaring_bitmap_free(set);
    }
    r.series = view.series;
    r.n = view.n_series;
    r.metric = view.series[0]->metric;
    *out = (struct seen){.hash = 1};
    limit.memory->peak_bytes = limit.memory->used_bytes;
    return qry_read(&r, err);
}

/* The same rows in the same order, whether all or a part of them fits in memory. */
static void same_within(unsigned n_series, int n_hours, uint64_t limit_bytes)
{
    struct seen all, sliced;
    struct ts_error err = {0};
    ship_all(n_series, n_hours);
    assert_int_equal(read_all(n_hours, &all, &err), 0);
    assert_true(limit.memory->peak_bytes > limit_bytes); /* otherwise this is no test */
    assert_int_equal(all.n_rows, (uint64_t)n_series * (uint64_t)n_hours);
    limit.memory->limit_bytes = limit_bytes;
    if (read_all(n_hours, &sliced, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(limit.memory->peak_bytes <= limit_bytes);
    limit.memory->limit_bytes = 0;
    assert_int_equal(sliced.n_begun, n_series);
    assert_int_equal(sliced.n_ended, n_series);
    assert_int_equal(sliced.n_rows, all.n_rows);
    assert_int_equal(sliced.n_points, all.n_points);
    assert_int_equal(sliced.hash, all.hash);
}

static void test_many_series(void **state)
{
    (void)state;
    same_within(150, 60, 4 * MIB);
}

static void test_a_long_time_of_one_series(void **state)
{
    (void)state;
    same_within(1, 9000, 4 * MIB);
}

static void test_long_times_of_several_series(void **state)
{
    (void)state;
    same_within(3, 3000, 4 * MIB);
}

static void test_no_memory_at_all(void **state)
{
    struct seen seen;
    struct ts_error err = {0};
    (void)state;
    ship_all(2, 10);
    assert_int_equal(read_all(10, &seen, &err), 0);
    limit.memory->limit_bytes = limit.memory->used_bytes + 1000;
    assert_int_equal(read_all(10, &seen, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_bytes"));
    limit.memory->limit_bytes = 0;
}

/* The store fails in the middle. */
static void test_unreachable_between_slices(void **state)
{
    struct seen all, seen;
    struct ts_error err = {0};
    (void)state;
    ship_all(1, 9000);
    assert_int_equal(read_all(9000, &all, &err), 0);
    limit.memory->limit_bytes = 4 * MIB;
    sto_memory_remote_unreachable_after(remote, 6);
    assert_int_equal(read_all(9000, &seen, &err), TS_EBACKEND);
    sto_memory_remote_set_unreachable(remote, false);
    assert_true(seen.n_rows > 0 && seen.n_rows < all.n_rows);
    limit.memory->limit_bytes = 0;
}

/* --- annotations --- */

struct taken {
    struct ts_buf text;
    size_t n_series;
};

static uint64_t before(void *arg)
{
    (void)arg;
    return 7;
}

static int take(void *arg, const struct qry_notes_read *read, struct ts_error *err)
{
    struct taken *t = arg;
    (void)err;
    assert_int_equal(read->stamp, 7);
    t->n_series += read->n;
    for (size_t i = 0; i < read->notes->n; i++) {
        const struct qry_note *note = &read->notes->list[i];
        assert_true(note->start_ms >= read->from_ms && note->start_ms <= read->to_ms);
        ts_buf_printf(&t->text, "%u %lld %.*s;", (unsigned)(note->series->id - STO_FOREIGN),
                      (long long)((note->start_ms - T0_MS) / 1000), (int)note->record.n, note->record.p);
    }
    return 0;
}

static void test_annotations_come_with_points(void **state)
{
    struct seen seen;
    struct ts_error err = {0};
    struct taken t = {.n_series = 0};
    struct qry_note_taker taker = {.before = before, .read = take, .arg = &t};
    (void)state;
    ship_all(2, 3);
    annotate("h01", 10000, "1{b}");
    annotate("h00", 5000, "1{longer}");
    annotate("h00", 3 * TS_HOUR_MS, "1{too late}");
    annotate("h00", 1000, "1{a}");
    ts_buf_init(&t.text, 0);
    view.notes = &taker;
    assert_int_equal(read_all(3, &seen, &err), 0);
    assert_true(ts_slice_is(ts_buf_get(&t.text), "0 1 1{a};0 5 1{longer};1 10 1{b};"));
    assert_int_equal(t.n_series, 2);
    sto_memory_remote_set_unreachable(remote, true);
    ts_buf_clear(&t.text);
    limit.allow_partial = true;
    snap = (sto_snap_release(snap), sto_snap_take(st));
    struct qry_reading r = {.snap = snap,
                            .budget = &budget,
                            .view = &view,
                            .metric = view.series[0]->metric,
                            .series = view.series,
                            .n = view.n_series,
                            .from_ms = T0_MS,
                            .to_ms = T0_MS + TS_HOUR_MS,
                            .row = on_row,
                            .arg = &seen};
    assert_int_equal(qry_read(&r, &err), 0);
    assert_int_equal(t.n_series, 2); /* nothing was read, so nothing is known to be missing */
    ts_buf_release(&t.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_many_series, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_long_time_of_one_series, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_times_of_several_series, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory_at_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unreachable_between_slices, setup, teardown),
        cmocka_unit_test_setup_teardown(test_annotations_come_with_points, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
