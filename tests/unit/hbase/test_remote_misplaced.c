/*
 * test_remote_misplaced.c - rows of one series and hour in several salt buckets, as after a change of their number: of two points of one time the one with the
 * newest timestamp is the last one that a fetch returns, whatever the order of the buckets.
 */
#include "tests/unit/hbase/t_fetch.h"

#define HOUR 376944u
#define N    8 /* series */

static struct t_fetch t;
static const struct sto_hbase_schema salted = {3, 3, 3, 1, 20};

/* What a fetch has returned last. */
struct last {
    int64_t value[N][10]; /* by series and second; 0 = none */
    unsigned n_rows, n_points, n_notes;
    char notes[N * 4];
};

static int on_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    struct last *l = arg;
    (void)pos, (void)err;
    int series = row->series.tags[0].v.p[1] - '1';
    assert_true(series >= 0 && series < N && row->hour == (int32_t)HOUR);
    for (uint32_t i = 0; i < row->cells->n; i++)
        l->value[series][sto_meta_off(row->cells->meta[i]) / 1000] = row->cells->m[i];
    l->n_points += row->cells->n;
    l->n_rows++;
    return 0;
}

static int on_note(void *arg, const struct sto_remote_note *note, size_t pos, struct ts_error *err)
{
    struct last *l = arg;
    (void)pos, (void)err;
    const char key[] = "\"description\":\""; /* The record does not end in a NUL. */
    const char *text = memmem(note->record.p, note->record.n, key, strlen(key));
    assert_non_null(text);
    assert_true(text + strlen(key) < note->record.p + note->record.n);
    l->notes[l->n_notes++] = text[strlen(key)];
    return 0;
}

/* A cell of seconds with a timestamp, in a row whose salt is this one. */
static void put(unsigned value, unsigned salt, unsigned second, unsigned point, int64_t ts_ms)
{
    struct t_bytes key = t_key(&t, T_PAIRS(1, value), HOUR);
    const char q[] = {(char)(second >> 4), (char)(second << 4)}, v = (char)point;
    key.p[0] = (uint8_t)salt;
    fake_hbase_put(t.fake, "tsdb", t_slice(&key), "t", (struct ts_slice){q, 2}, (struct ts_slice){&v, 1},
                   ts_ms);
}

static void put_note(unsigned value, unsigned salt, unsigned second, char text, int64_t ts_ms)
{
    struct t_bytes key = t_key(&t, T_PAIRS(1, value), HOUR);
    const char q[] = {1, 0, (char)second};
    char document[100];
    (void)snprintf(document, sizeof document, "{\"startTime\":%u,\"description\":\"%c\"}",
                   HOUR * 3600 + second, text);
    key.p[0] = (uint8_t)salt;
    fake_hbase_put(t.fake, "tsdb", t_slice(&key), "t", (struct ts_slice){q, 3}, ts_slice_str(document),
                   ts_ms);
}

static unsigned salt_of(unsigned value)
{
    return t_key(&t, T_PAIRS(1, value), HOUR).p[0];
}

static void fetch_all(struct last *l)
{
    struct sto_fetch f = t_hours(HOUR, HOUR + 1);
    struct ts_error err = {0};
    *l = (struct last){.n_rows = 0};
    f.note = on_note;
    if (t.remote->ops->fetch(t.remote, &f, NULL, on_row, l, &err) < 0)
        fail_msg("%s", err.text);
}

static void begin(unsigned connections)
{
    t_fetch_open(&t, salted, connections);
    t_fetch_names(&t, 1, 1, N);
}

/* Two rows of each series; the other row stands before the right one and behind it. */
static void fill_both(void)
{
    for (unsigned v = 1; v <= N; v++) {
        unsigned home = salt_of(v), other = v % 2 ? (home + 1) % 20 : (home + 19) % 20;
        put(v, home, 0, 1, 100);
        put(v, other, 0, 9, 200);
        put(v, home, 1, 2, 300);
        put(v, other, 1, 8, 200);
        put(v, home, 2, 5, 100);
        put(v, other, 2, 5, 200);
        put(v, home, 3, 3, 100);
        put(v, other, 4, 4, 100);
        put(v, home, 5, 6, 100);
        put(v, other, 5, 7, 100); /* equally old: that of the right row */
    }
}

static void expect_both(const struct last *l)
{
    static const int64_t want[10] = {9, 2, 5, 3, 4, 6};
    for (unsigned v = 0; v < N; v++)
        assert_memory_equal(l->value[v], want, sizeof want);
    assert_int_equal(l->n_rows, 2 * N);
    assert_int_equal(l->n_points, (5 + 2) * N); /* of the second row only what is new */
}

static void test_remote_misplaced__the_newest_cell_wins(void **state)
{
    (void)state;
    for (unsigned connections = 1; connections <= 4; connections += 3) {
        struct last l;
        begin(connections);
        fill_both();
        fetch_all(&l);
        expect_both(&l);
        assert_int_equal(t_status(&t, "fetched_misplaced_rows"), N);
        t_fetch_close(&t);
    }
}

/* The same of requested series that have most of the rows of their metric, which a scanner reads. */
static void test_remote_misplaced__of_requested_series(void **state)
{
    (void)state;
    struct last l;
    struct sto_remote_series series[N];
    struct sto_remote_tag tags[N];
    char names[N][4];
    struct ts_error err = {0};
    begin(1);
    fill_both();
    fetch_all(&l); /* from now on it is known how many rows there are */
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "v%u", i + 1);
        tags[i] = (struct sto_remote_tag){TS_SLICE_LIT("k1"), ts_slice_str(names[i])};
        series[i] = (struct sto_remote_series){
            .key = STO_REMOTE_NO_KEY, .metric = TS_SLICE_LIT("m1"), .tags = &tags[i], .n_tags = 1};
    }
    struct sto_fetch f = t_hours(HOUR - 100, HOUR + 1);
    f.series = series;
    f.n_series = N;
    l = (struct last){.n_rows = 0};
    if (t.remote->ops->fetch(t.remote, &f, NULL, on_row, &l, &err) < 0)
        fail_msg("%s", err.text);
    expect_both(&l);
    t_fetch_close(&t);
}

static void test_remote_misplaced__three_rows_and_none_in_the_right_bucket(void **state)
{
    (void)state;
    struct last l;
    begin(4);
    for (unsigned v = 1; v <= N; v++) {
        unsigned home = salt_of(v);
        put(v, (home + 1) % 20, 0, 1, 100);
        put(v, (home + 2) % 20, 0, 2, v % 2 ? 50 : 200);
        put(v, (home + 19) % 20, 1, 3, 100);
        if (v > 4)
            put(v, home, 0, 7, 300);
    }
    fetch_all(&l);
    for (unsigned v = 1; v <= N; v++) {
        assert_int_equal(l.value[v - 1][0], v > 4 ? 7 : v % 2 ? 1 : 2);
        assert_int_equal(l.value[v - 1][1], 3);
    }
    assert_int_equal(l.n_rows, 4 + 2 * 4);
    struct sto_fetch f = t_hours(HOUR, HOUR + 1);
    f.series_only = true; /* the order does not matter */
    t_expect_fetch(&t, &f,
                   "m1 k1=v1 series:\nm1 k1=v2 series:\nm1 k1=v3 series:\nm1 k1=v4 series:\n"
                   "m1 k1=v5 series:\nm1 k1=v6 series:\nm1 k1=v7 series:\nm1 k1=v8 series:\n");
    t_fetch_close(&t);
}

static void test_remote_misplaced__annotations_are_returned_once(void **state)
{
    (void)state;
    struct last l;
    begin(1);
    unsigned home = salt_of(1), other = (home + 1) % 20;
    put(1, home, 0, 1, 100);
    put_note(1, home, 1, 'a', 300);
    put_note(1, other, 1, 'b', 200); /* older */
    put_note(1, other, 2, 'c', 200); /* only here */
    put_note(1, home, 3, 'd', 200);
    put_note(1, other, 3, 'e', 200); /* equally old */
    fetch_all(&l);
    assert_int_equal(l.n_notes, 3);
    assert_string_equal(l.notes, "adc");
    assert_int_equal(l.n_rows, 1);
    t_fetch_close(&t);
}

static void test_remote_misplaced__faults_of_the_gateway(void **state)
{
    (void)state;
    struct last l;
    struct ts_error err = {0};
    struct sto_fetch f = t_hours(HOUR, HOUR + 1);
    begin(1);
    for (unsigned v = 1; v <= N; v++) {
        put(v, salt_of(v), 0, v, 100);
        put(v, (salt_of(v) + 1) % 20, 0, 10 + v, 200);
    }
    struct fake_hbase_plan plan = {
        .fault = FAKE_HBASE_OTHER_ORDER, .of_call = true, .call = STO_THRIFT_GET_MULTIPLE, .n = 1000};
    fetch_all(&l); /* ids are cached now */
    fake_hbase_inject(t.fake, plan);
    l = (struct last){.n_rows = 0};
    assert_int_equal(t.remote->ops->fetch(t.remote, &f, NULL, on_row, &l, &err), TS_EBACKEND);
    assert_non_null(strstr(err.text, "another row"));
    fake_hbase_heal(t.fake);
    plan = (struct fake_hbase_plan){
        .fault = FAKE_HBASE_DROP_AFTER, .of_call = true, .call = STO_THRIFT_GET_MULTIPLE, .n = 1};
    fake_hbase_inject(t.fake, plan);
    fetch_all(&l);
    for (unsigned v = 1; v <= N; v++)
        assert_int_equal(l.value[v - 1][0], 10 + v);
    t_fetch_close(&t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_misplaced__the_newest_cell_wins),
        cmocka_unit_test(test_remote_misplaced__of_requested_series),
        cmocka_unit_test(test_remote_misplaced__three_rows_and_none_in_the_right_bucket),
        cmocka_unit_test(test_remote_misplaced__annotations_are_returned_once),
        cmocka_unit_test(test_remote_misplaced__faults_of_the_gateway),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
