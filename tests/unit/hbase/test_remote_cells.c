/*
 * test_remote_cells.c - small cells in OpenTSDB's tables: the same bytes as OpenTSDB, and other writers beside us.
 */
#include "tests/unit/hbase/ship_kit.h"

#include "base/budget.h"
#include "base/json.h"
#include "storage/hbase/remote/cells_int.h"
#include "storage/remote_cell.h"

#define START_MS (1328140000ll * 1000) /* a multiple of 1000 s: OpenTSDB's peculiar offset */

static struct ts_buf key_of_cell;

static struct ts_slice cell_key(const struct sto_remote_cell *cell)
{
    struct sto_remote_tag tags[STO_REMOTE_CELL_MAX_TAGS];
    struct sto_remote_cell again;
    ts_buf_clear(&key_of_cell);
    assert_int_equal(sto_remote_cell_key(cell, &key_of_cell), 0);
    assert_int_equal(sto_remote_cell_parse(ts_buf_get(&key_of_cell), tags, &again), 0);
    assert_int_equal(again.kind, cell->kind);
    assert_int_equal(again.series.n_tags, cell->series.n_tags);
    assert_true(again.start_ms == cell->start_ms);
    for (size_t n = 0; n < key_of_cell.n && cell->kind != STO_REMOTE_NAME_META; n++)
        assert_int_equal(sto_remote_cell_parse((struct ts_slice){key_of_cell.p, n}, tags, &again), TS_EPARSE);
    return ts_buf_get(&key_of_cell);
}

static struct ts_slice note_key(bool global, int64_t start_ms)
{
    struct sto_remote_cell cell = {.kind = STO_REMOTE_ANNOTATION, .start_ms = start_ms};
    if (!global)
        cell.series = k_series;
    return cell_key(&cell);
}

static struct ts_slice series_key(void)
{
    return cell_key(&(struct sto_remote_cell){.kind = STO_REMOTE_SERIES_META, .series = k_series});
}

static struct ts_slice name_key(enum sto_remote_kind kind, const char *name)
{
    return cell_key(&(struct sto_remote_cell){
        .kind = STO_REMOTE_NAME_META, .name_kind = kind, .name = ts_slice_str(name)});
}

static int cas(struct ts_slice key, const char *expected, const char *value)
{
    struct ts_error err = {0};
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + 30000000000ll};
    int rc = k_remote->ops->cell_cas(k_remote, key, ts_slice_str(expected), ts_slice_str(value), &call, &err);
    if (rc < 0)
        assert_true(*err.text);
    return rc;
}

/* The record of a cell; "" if there is none. */
static const char *get(struct ts_slice key)
{
    static char text[1024];
    struct ts_buf out;
    struct ts_error err = {0};
    ts_buf_init(&out, 0);
    int rc = k_remote->ops->cell_get(k_remote, key, NULL, &out, &err);
    if (rc < 0 && rc != TS_ENOTFOUND)
        fail_msg("%s", err.text);
    (void)snprintf(text, sizeof text, "%.*s", (int)out.n, rc == 0 ? out.p : "");
    ts_buf_release(&out);
    return text;
}

/* The bytes of a cell in HBase. */
static void expect(const char *table, struct ts_slice row, const char *family, struct ts_slice qualifier,
                   const char *want)
{
    struct ts_buf out;
    ts_buf_init(&out, 0);
    bool found = fake_hbase_get(k_fake, table, row, family, qualifier, &out, NULL);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, want);
    assert_true(found == (*want != 0));
    ts_buf_release(&out);
}

#define TSUID     TS_SLICE_LIT("\0\0\1\0\0\1\0\0\1")
#define NOTE_HOUR (1328140000 / 3600)
#define NOTE_DOC                                                                                             \
    "{\"tsuid\":\"000001000001000001\",\"startTime\":1328140000,\"endTime\":1328140100,"                     \
    "\"description\":\"a\\\"b\",\"notes\":\"\",\"custom\":{\"a\":\"1\",\"b\":\"2\"}}"
#define NOTE                                                                                                 \
    "1{\"description\":\"a\\\"b\",\"notes\":\"\",\"custom\":{\"b\":\"2\",\"a\":\"1\"},"                      \
    "\"startTime\":1328140000,\"endTime\":1328140100}"

static void test_remote_cells__annotations_have_opentsdb_s_bytes(void **state)
{
    (void)state;
    k_open(false, false);
    assert_string_equal(get(note_key(false, START_MS)), "");
    assert_int_equal(cas(note_key(false, START_MS), "", NOTE), 0);
    expect("tsdb", k_key(NOTE_HOUR), "t", TS_SLICE_LIT("\1\x0d\x0c"), NOTE_DOC);
    assert_int_equal(cas(note_key(false, START_MS), "", NOTE), TS_EEXIST);
    /* the same start in ms is another qualifier of OpenTSDB's, and the same annotation */
    assert_int_equal(cas(note_key(false, START_MS), NOTE, "1{\"startTime\":1328140000000}"), 0);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 1);
    assert_int_equal(cas(note_key(false, START_MS), "1{\"startTime\":1328140000000}", ""), 0);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 0);
    assert_string_equal(get(note_key(false, START_MS)), "");
    assert_int_equal(cas(note_key(false, START_MS), "", "1{\"startTime\":1328140000000}"), 0);
    expect("tsdb", k_key(NOTE_HOUR), "t", TS_SLICE_LIT("\1\x0a\xf0"),
           "{\"tsuid\":\"000001000001000001\",\"startTime\":1328140000000,\"endTime\":0,"
           "\"description\":\"\",\"notes\":\"\",\"custom\":null}");
    k_ship(NOTE_HOUR, true, "0:1"); /* points of the same row, read beside it */
    (void)k_expect(NOTE_HOUR, "0s=1");
    /* a global one, in ms */
    assert_int_equal(cas(note_key(true, 1356998400500), "", "1{\"startTime\":1356998400500}"), 0);
    expect("tsdb", TS_SLICE_LIT("\0\0\0\x50\xe2\x27\0"), "t", TS_SLICE_LIT("\1\0\0\1\xf4"),
           "{\"startTime\":1356998400500,\"endTime\":0,\"description\":\"\",\"notes\":\"\",\"custom\":null}");
}

static void test_remote_cells__metadata_has_opentsdb_s_bytes(void **state)
{
    (void)state;
    k_open(false, false);
    assert_string_equal(get(series_key()), "");
    assert_int_equal(cas(series_key(), "", "1{\"created\":1795226522}"), 0);
    expect("tsdb-meta", TSUID, "name", TS_SLICE_LIT("ts_meta"),
           "{\"tsuid\":\"000001000001000001\",\"displayName\":\"\",\"description\":\"\",\"notes\":\"\","
           "\"created\":1795226522,\"custom\":null,\"units\":\"\",\"dataType\":\"\",\"retention\":0,"
           "\"max\":\"NaN\",\"min\":\"NaN\"}");
    assert_int_equal(cas(series_key(), "1{\"created\":1795226522,\"max\":\"NaN\"}", "1{\"max\":4.5}"), 0);
    assert_string_equal(
        get(series_key()),
        "1{\"created\":0,\"dataType\":\"\",\"description\":\"\",\"displayName\":\"\",\"max\":4.5,"
        "\"notes\":\"\",\"retention\":0,\"units\":\"\"}");
    assert_int_equal(cas(name_key(STO_REMOTE_TAGK, "host"), "", "1{\"created\":1795226522}"), 0);
    expect("tsdb-uid", TS_SLICE_LIT("\0\0\1"), "name", TS_SLICE_LIT("tagk_meta"),
           "{\"type\":\"TAGK\",\"displayName\":\"\",\"description\":\"\",\"notes\":\"\","
           "\"created\":1795226522,\"custom\":null}");
    assert_int_equal(cas(name_key(STO_REMOTE_METRIC, "r.other"), "", ""), 0); /* nothing is assigned for it */
    expect("tsdb-uid", TS_SLICE_LIT("r.other"), "id", TS_SLICE_LIT("metrics"), "");
    assert_int_equal(cas(TS_SLICE_LIT("counter"), "", "1{}"), TS_EINVAL);
    assert_int_equal(cas((struct ts_slice){NULL, 0}, "", "1{}"), TS_EINVAL);
}

static void test_remote_cells__what_opentsdb_wrote_is_read_and_changed(void **state)
{
    (void)state;
    assert_true(fake_hbase_load(k_fake, T_GOLDEN_FOLDER "/meta.jsonl"));
    k_open(false, false);
    assert_string_equal(get(name_key(STO_REMOTE_METRIC, "r.int")),
                        "1{\"created\":1795226522,\"description\":\"\",\"displayName\":\"\",\"notes\":\"\"}");
    assert_int_equal(cas(name_key(STO_REMOTE_METRIC, "r.int"), "1{\"created\":1795226522}",
                         "1{\"created\":1795226522,\"notes\":\"n\"}"),
                     0);
    expect("tsdb-uid", TS_SLICE_LIT("\0\0\1"), "name", TS_SLICE_LIT("metric_meta"),
           "{\"type\":\"METRIC\",\"displayName\":\"\",\"description\":\"\",\"notes\":\"n\","
           "\"created\":1795226522,\"custom\":null}");
    /* of another program: other blanks and order */
    fake_hbase_put(k_fake, "tsdb-uid", TS_SLICE_LIT("\0\0\1"), "name", TS_SLICE_LIT("metric_meta"),
                   TS_SLICE_LIT("{ \"notes\": \"m\", \"type\":\"METRIC\" }"), 0);
    assert_int_equal(cas(name_key(STO_REMOTE_METRIC, "r.int"), "1{\"notes\":\"n\"}", "1{}"), TS_EEXIST);
    assert_int_equal(cas(name_key(STO_REMOTE_METRIC, "r.int"), "1{\"notes\":\"m\"}", "1{\"notes\":\"o\"}"),
                     0);
    expect("tsdb-uid", TS_SLICE_LIT("\0\0\1"), "name", TS_SLICE_LIT("metric_meta"),
           "{\"type\":\"METRIC\",\"displayName\":\"\",\"description\":\"\",\"notes\":\"o\",\"created\":0,"
           "\"custom\":null}");
    fake_hbase_put(k_fake, "tsdb-uid", TS_SLICE_LIT("\0\0\1"), "name", TS_SLICE_LIT("metric_meta"),
                   TS_SLICE_LIT("no JSON"), 0);
    assert_int_equal(cas(name_key(STO_REMOTE_METRIC, "r.int"), "", "1{}"), TS_EBACKEND);
}

/* Another writer changes the cell between our read and our compare-and-set, once. */
static void other_writer(void *arg, const struct fake_hbase_request *r)
{
    const char *document = arg;
    if ((r->call != STO_THRIFT_CHECK_AND_PUT && r->call != STO_THRIFT_CHECK_AND_MUTATE) ||
        !ts_slice_is(r->table, "tsdb"))
        return;
    fake_hbase_set_before(k_fake, NULL, NULL);
    fake_hbase_put(k_fake, "tsdb", k_key(NOTE_HOUR), "t", TS_SLICE_LIT("\1\x0d\x0c"), ts_slice_str(document),
                   0);
}

static void test_remote_cells__another_writer_between_read_and_write(void **state)
{
    (void)state;
    static char theirs[] = "{\"startTime\":1328140000,\"notes\":\"theirs\"}";
    k_open(false, false);
    fake_hbase_set_before(k_fake, other_writer, theirs);
    assert_int_equal(cas(note_key(false, START_MS), "", NOTE), TS_EEXIST);
    expect("tsdb", k_key(NOTE_HOUR), "t", TS_SLICE_LIT("\1\x0d\x0c"), theirs);
    const char *read = "1{\"startTime\":1328140000,\"notes\":\"theirs\"}";
    assert_int_equal(cas(note_key(false, START_MS), read, NOTE), 0);
    fake_hbase_set_before(k_fake, other_writer, theirs);
    assert_int_equal(cas(note_key(false, START_MS), NOTE, ""), TS_EEXIST);
    expect("tsdb", k_key(NOTE_HOUR), "t", TS_SLICE_LIT("\1\x0d\x0c"), theirs);
}

static void test_remote_cells__faults_of_changes(void **state)
{
    (void)state;
    k_open(false, false);
    assert_int_equal(cas(note_key(false, START_MS), "", NOTE), 0);
    for (int f = FAKE_HBASE_DROP; f <= FAKE_HBASE_HALF; f++) {
        if (f == FAKE_HBASE_LATE || f == FAKE_HBASE_FINAL_ERROR || f == FAKE_HBASE_ILLEGAL_ARGUMENT ||
            f == FAKE_HBASE_SOME_ROWS)
            continue;
        for (unsigned skip = 0; skip < 2; skip++) {
            struct fake_hbase_plan plan = {.fault = (enum fake_hbase_fault)f, .skip = skip};
            fake_hbase_inject(k_fake, plan);
            assert_int_equal(cas(note_key(false, START_MS), NOTE, ""), 0);
            fake_hbase_heal(k_fake);
            expect("tsdb", k_key(NOTE_HOUR), "t", TS_SLICE_LIT("\1\x0d\x0c"), "");
            fake_hbase_inject(k_fake, plan);
            assert_int_equal(cas(note_key(false, START_MS), "", NOTE), 0);
            fake_hbase_heal(k_fake);
            expect("tsdb", k_key(NOTE_HOUR), "t", TS_SLICE_LIT("\1\x0d\x0c"), NOTE_DOC);
        }
    }
    fake_hbase_down(k_fake);
    struct ts_error err = {0};
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + 200000000};
    int rc = k_remote->ops->cell_cas(k_remote, note_key(false, START_MS), TS_SLICE_LIT(NOTE),
                                     TS_SLICE_LIT(""), &call, &err);
    assert_true(rc == TS_EBACKEND || rc == TS_ETIMEOUT);
    fake_hbase_up(k_fake);
    expect("tsdb", k_key(NOTE_HOUR), "t", TS_SLICE_LIT("\1\x0d\x0c"), NOTE_DOC);
}

static int teardown(void **state)
{
    ts_buf_release(&key_of_cell);
    ts_buf_init(&key_of_cell, 0);
    return k_teardown(state);
}

/* A series that cannot get an id has no place: its annotation is not taken for one that is stored. */
static void test_remote_cells__a_counter_that_gives_no_ids_stores_nothing(void **state)
{
    (void)state;
    k_open(false, false);
    fake_hbase_put(k_fake, "tsdb-uid", (struct ts_slice){"\0", 1}, "id", TS_SLICE_LIT("metrics"),
                   TS_SLICE_LIT("1234567"), 0);
    assert_int_equal(cas(note_key(false, START_MS), "", NOTE), TS_EINVAL);
    assert_int_equal(cas(name_key(STO_REMOTE_METRIC, "m"), "", "1{\"created\":1795226522}"), TS_EBACKEND);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 0);
}

/* Without memory for a record it is not known where it belongs, and no place is taken instead. */
static void test_remote_cells__short_memory_takes_no_place(void **state)
{
    struct ts_budget account;
    struct sto_hbase__place place = {.n_qualifiers = 2};
    const struct ts_slice in_ms = TS_SLICE_LIT("1{\"startTime\":1328140000000}");
    (void)state;
    ts_budget_init(&account, "json", "http_body_total_bytes", NULL, 1 << 20);
    ts_json_count_in(&account);
    assert_int_equal(sto_hbase__place_for(&place, in_ms), 1);
    assert_int_equal(sto_hbase__place_for(&place, TS_SLICE_LIT("1{\"startTime\":1328140000}")), 0);
    assert_int_equal(sto_hbase__place_for(&place, (struct ts_slice){NULL, 0}), 0);
    ts_budget_force(&account, 1 << 20);
    assert_int_equal(sto_hbase__place_for(&place, in_ms), TS_ENOMEM);
    ts_json_count_in(NULL);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(test_remote_cells__##NAME, k_setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(annotations_have_opentsdb_s_bytes),
        CASE(metadata_has_opentsdb_s_bytes),
        CASE(what_opentsdb_wrote_is_read_and_changed),
        CASE(another_writer_between_read_and_write),
        CASE(faults_of_changes),
        CASE(a_counter_that_gives_no_ids_stores_nothing),
        CASE(short_memory_takes_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
