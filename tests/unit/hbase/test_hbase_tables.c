/*
 * test_hbase_tables.c - cells of the tables of names and of series, compared with those that a real OpenTSDB wrote.
 */
#include "tests/unit/hbase/t_golden.h"

#include "storage/hbase/limits.h"
#include "storage/hbase/metatable.h"
#include "storage/hbase/uidtable.h"

static struct t_golden_puts all_puts;
static const struct sto_hbase_schema schema = {3, 3, 3, 0, 20};

/* How many cells of each sort were seen. */
struct seen {
    size_t counters, forward, reverse, documents;
};

/* The document is parsed, has these members, and is written with the same bytes. */
static void expect_document(const struct sto_hbase_field *fields, struct ts_slice text, const char *name,
                            const char *value)
{
    json_t *document;
    struct ts_error err = {0};
    struct ts_buf out;
    ts_buf_init(&out, 0);
    assert_int_equal(sto_hbase_document_parse(fields, text, &document, &err), 0);
    assert_string_equal(json_string_value(json_object_get(document, name)), value);
    assert_int_equal(sto_hbase_document_write(fields, document, &out, &err), 0);
    assert_true(ts_slice_eq(ts_buf_get(&out), text));
    ts_buf_release(&out);
    json_decref(document);
}

/* --- tsdb-uid --- */

static void forward_cell(const struct t_golden_row *row, size_t i, int kind, struct seen *seen)
{
    struct ts_error err = {0};
    uint64_t id;
    if (ts_slice_eq(t_slice(&row->key), STO_HBASE_UID_COUNTERS)) {
        assert_int_equal(sto_hbase_counter_parse(t_slice(&row->value[i]), &id, &err), 0);
        assert_int_equal(id, all_puts.n_names[kind]);
        seen->counters++;
        return;
    }
    uint8_t bytes[STO_HBASE_MAX_WIDTH];
    struct ts_buf name;
    ts_buf_init(&name, 0);
    assert_int_equal(
        sto_hbase_uid_parse(&schema, (enum sto_remote_kind)kind, t_slice(&row->value[i]), &id, &err), 0);
    assert_in_range(id, 1, all_puts.n_names[kind]);
    assert_int_equal(sto_hbase_name_encode(ts_slice_str(all_puts.name[kind][id - 1]), &name), 0);
    assert_true(ts_slice_eq(ts_buf_get(&name), t_slice(&row->key)));
    int n = sto_hbase_uid_make(&schema, (enum sto_remote_kind)kind, id, bytes, &err);
    assert_true(n > 0 && ts_slice_eq((struct ts_slice){(char *)bytes, (size_t)n}, t_slice(&row->value[i])));
    ts_buf_release(&name);
    seen->forward++;
}

static void reverse_cell(const struct t_golden_row *row, size_t i, int kind, struct seen *seen)
{
    struct ts_error err = {0};
    uint64_t id;
    assert_int_equal(sto_hbase_uid_parse(&schema, (enum sto_remote_kind)kind, t_slice(&row->key), &id, &err),
                     0);
    assert_in_range(id, 1, all_puts.n_names[kind]);
    assert_true(ts_slice_is(t_slice(&row->value[i]), all_puts.name[kind][id - 1]));
    seen->reverse++;
}

static void each_uid_row(void *arg, struct t_golden_row *row)
{
    struct seen *seen = arg;
    for (size_t i = 0; i < row->n; i++) {
        int kind = 0, document = 0;
        while (kind < 3 &&
               !ts_slice_eq(t_slice(&row->qualifier[i]), sto_hbase_uid_qualifier((enum sto_remote_kind)kind)))
            kind++;
        while (document < 3 && !ts_slice_eq(t_slice(&row->qualifier[i]),
                                            sto_hbase_uid_document((enum sto_remote_kind)document)))
            document++;
        assert_true((kind < 3) != (document < 3));
        if (document < 3) {
            assert_true(ts_slice_is(STO_HBASE_UID_REVERSE, row->family[i]));
            expect_document(sto_hbase_uid_fields, t_slice(&row->value[i]), "type",
                            sto_hbase_uid_type((enum sto_remote_kind)document));
            seen->documents++;
        } else if (ts_slice_is(STO_HBASE_UID_FORWARD, row->family[i])) {
            forward_cell(row, i, kind, seen);
        } else {
            assert_true(ts_slice_is(STO_HBASE_UID_REVERSE, row->family[i]));
            reverse_cell(row, i, kind, seen);
        }
    }
}

static void test_hbase_tables__names_and_ids(void **state)
{
    (void)state;
    struct seen seen = {0};
    size_t n_names = all_puts.n_names[0] + all_puts.n_names[1] + all_puts.n_names[2];
    assert_int_equal(n_names, 20);
    assert_int_equal(t_golden_each("plain.jsonl", "tsdb-uid", each_uid_row, &seen), 29);
    assert_int_equal(seen.counters, 3);
    assert_int_equal(seen.forward, n_names);
    assert_int_equal(seen.reverse, n_names);
    assert_int_equal(seen.documents, 0);
    assert_int_equal(t_golden_each("meta.jsonl", "tsdb-uid", each_uid_row, &seen), 29);
    assert_int_equal(seen.documents, n_names);
}

/* --- tsdb-meta --- */

static void each_meta_row(void *arg, struct t_golden_row *row)
{
    struct seen *seen = arg;
    struct sto_hbase_ids ids;
    struct ts_error err = {0};
    char tsuid[2 * STO_HBASE_MAX_TSUID_BYTES + 1];
    uint8_t bytes[STO_HBASE_MAX_TSUID_BYTES];
    assert_int_equal(sto_hbase_tsuid_parse(&schema, t_slice(&row->key), &ids, &err), 0);
    sto_hbase_hex_print(t_slice(&row->key), tsuid);
    tsuid[2 * row->key.n] = 0;
    assert_int_equal(row->n, 2);
    for (size_t i = 0; i < row->n; i++) {
        assert_true(ts_slice_is(STO_HBASE_META_FAMILY, row->family[i]));
        if (ts_slice_eq(t_slice(&row->qualifier[i]), STO_HBASE_META_DOCUMENT)) {
            expect_document(sto_hbase_meta_fields, t_slice(&row->value[i]), "tsuid", tsuid);
            seen->documents++;
            continue;
        }
        uint64_t n_points, n_puts = 0;
        assert_true(ts_slice_eq(t_slice(&row->qualifier[i]), STO_HBASE_META_COUNTER));
        assert_int_equal(sto_hbase_counter_parse(t_slice(&row->value[i]), &n_points, &err), 0);
        for (size_t k = 0; k < all_puts.n; k++) {
            size_t n = sto_hbase_tsuid_make(&schema, &all_puts.put[k].ids, bytes);
            n_puts += all_puts.put[k].phase == 1 &&
                      ts_slice_eq((struct ts_slice){(char *)bytes, n}, t_slice(&row->key));
        }
        assert_int_equal(n_points, n_puts);
        seen->counters++;
    }
}

static void test_hbase_tables__series(void **state)
{
    (void)state;
    struct seen seen = {0};
    assert_int_equal(t_golden_each("meta.jsonl", "tsdb-meta", each_meta_row, &seen), 9);
    assert_int_equal(seen.documents, 9);
    assert_int_equal(seen.counters, 9);
}

/* --- what is not recorded --- */

static void test_hbase_tables__numbers_of_documents(void **state)
{
    (void)state;
    static const char text[] =
        "{\"tsuid\":\"\",\"displayName\":\"\",\"description\":\"\",\"notes\":\"\",\"created\":0,"
        "\"custom\":null,\"units\":\"ms\",\"dataType\":\"\",\"retention\":7,\"max\":1.0E10,\"min\":-0.5}";
    expect_document(sto_hbase_meta_fields, TS_SLICE_LIT(text), "units", "ms");
}

static void test_hbase_tables__wrong_ids_are_refused(void **state)
{
    (void)state;
    struct sto_hbase_schema s = {1, 2, 8, 0, 20};
    uint8_t bytes[STO_HBASE_MAX_WIDTH];
    uint64_t id;
    struct ts_error err = {0};
    assert_int_equal(sto_hbase_uid_make(&s, STO_REMOTE_METRIC, 255, bytes, &err), 1);
    assert_int_equal(sto_hbase_uid_make(&s, STO_REMOTE_TAGV, UINT64_MAX, bytes, &err), 8);
    assert_int_equal(sto_hbase_uid_make(&s, STO_REMOTE_METRIC, 256, bytes, &err), TS_ELIMIT);
    assert_int_equal(sto_hbase_uid_make(&s, STO_REMOTE_TAGK, 65536, bytes, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "tag keys"));
    assert_int_equal(sto_hbase_uid_make(&s, STO_REMOTE_TAGK, 0, bytes, &err), TS_ELIMIT);
    assert_int_equal(sto_hbase_uid_parse(&s, STO_REMOTE_TAGK, TS_SLICE_LIT("\1\2"), &id, &err), 0);
    assert_int_equal(id, 258);
    assert_int_equal(sto_hbase_uid_parse(&s, STO_REMOTE_TAGK, TS_SLICE_LIT("\0\0"), &id, &err), TS_ECORRUPT);
    assert_int_equal(sto_hbase_uid_parse(&s, STO_REMOTE_TAGK, TS_SLICE_LIT("\0\0\1"), &id, &err),
                     TS_ECORRUPT);
    assert_int_equal(sto_hbase_counter_parse(TS_SLICE_LIT("\0\0\0\0\0\0\0"), &id, &err), TS_ECORRUPT);
    assert_int_equal(sto_hbase_counter_parse(TS_SLICE_LIT("\x80\0\0\0\0\0\0\0"), &id, &err), TS_ECORRUPT);
}

static int read_puts(void **state)
{
    (void)state;
    t_golden_puts(&all_puts);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hbase_tables__names_and_ids),
        cmocka_unit_test(test_hbase_tables__series),
        cmocka_unit_test(test_hbase_tables__numbers_of_documents),
        cmocka_unit_test(test_hbase_tables__wrong_ids_are_refused),
    };
    return cmocka_run_group_tests(tests, read_puts, NULL);
}
