/*
 * test_annotation.c - places and documents of annotations.
 */
#include "tests/unit/hbase/t_hbase.h"

#include "base/budget.h"
#include "base/json.h"
#include "storage/hbase/annotation.h"

static void expect_place(int64_t start, uint32_t base_s, const char *qualifier)
{
    uint8_t q[STO_HBASE_OFFSET_BYTES];
    uint32_t base;
    struct ts_error err = {0};
    int n = sto_hbase_annotation_place(start, &base, q, &err);
    assert_true(n > 0);
    assert_int_equal(base, base_s);
    t_assert_hex(q, (size_t)n, qualifier);
}

static void test_annotation__places_are_those_of_opentsdb(void **state)
{
    (void)state;
    expect_place(1356998400, 1356998400, "010000");
    expect_place(1356998401, 1356998400, "010001");
    expect_place(1356998400500, 1356998400, "01000001F4");
    expect_place(1356998430000, 1356998400, "01001E");
    expect_place(1357001999999, 1356998400, "010036EE7F");
    expect_place(1328140000, 1328137200, "010D0C"); /* not 2800, its true offset */
    expect_place(4294967295, 4294965600, "01069F");
    expect_place(0, 0, "010000");
    uint8_t q[STO_HBASE_OFFSET_BYTES];
    uint32_t base;
    struct ts_error err = {0};
    assert_int_equal(sto_hbase_annotation_place(-1, &base, q, &err), TS_EINVAL);
    assert_int_equal(sto_hbase_annotation_place(4294967296000, &base, q, &err), TS_EINVAL);
    assert_int_equal(sto_hbase_annotation_place(INT64_MAX, &base, q, &err), TS_EINVAL);
    assert_int_equal(sto_hbase_annotation_place(INT64_MIN, &base, q, &err), TS_EINVAL);
}

/* The document is parsed, and written like this again. */
static void expect_document(const char *text, const char *written)
{
    json_t *document;
    struct ts_error err = {0};
    struct ts_buf out;
    ts_buf_init(&out, 0);
    assert_int_equal(
        sto_hbase_document_parse(sto_hbase_annotation_fields, ts_slice_str(text), &document, &err), 0);
    assert_int_equal(sto_hbase_document_write(sto_hbase_annotation_fields, document, &out, &err), 0);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, written);
    ts_buf_release(&out);
    json_decref(document);
}

static void test_annotation__documents_keep_their_bytes(void **state)
{
    (void)state;
    static const char first[] = "{\"startTime\":1356998400,\"endTime\":0,\"description\":\"\",\"notes\":\"\","
                                "\"custom\":null}";
    static const char second[] =
        "{\"tsuid\":\"000001000001000001\",\"startTime\":1356998400500,"
        "\"endTime\":1356998401,"
        "\"description\":\"a \\\"b\\\" \\\\ / \\u001F\\b\\f\\n\\r\\t\x7f\","
        "\"notes\":\"K\xc3\xb6ln \xe2\x82\xac\",\"custom\":{\"a\":\"1\",\"b\":\"\"}}";
    static const char third[] = "{\"startTime\":1,\"endTime\":-9223372036854775808,\"description\":\"\","
                                "\"notes\":\"\",\"custom\":{}}";
    static const char *const same[] = {first, second, third};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        expect_document(same[i], same[i]);
    expect_document(" {\"custom\": {\"b\":\"2\", \"a\":\"1\"}, \"x\": 1, \"notes\": null, \"tsuid\":\"\", "
                    "\"startTime\":5 } ",
                    "{\"startTime\":5,\"endTime\":0,\"description\":\"\",\"notes\":\"\",\"custom\":{\"a\":"
                    "\"1\",\"b\":\"2\"}}");
}

static void test_annotation__broken_documents_are_reported(void **state)
{
    (void)state;
    static const char *const broken[] = {"",
                                         "{",
                                         "[]",
                                         "1",
                                         "{\"startTime\":\"1\"}",
                                         "{\"notes\":1}",
                                         "{\"custom\":[]}",
                                         "{\"custom\":{\"a\":1}}",
                                         "{\"startTime\":1.5}"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        json_t *document;
        struct ts_error err = {0};
        int rc =
            sto_hbase_document_parse(sto_hbase_annotation_fields, ts_slice_str(broken[i]), &document, &err);
        assert_int_equal(rc, TS_ECORRUPT);
        assert_null(document);
        assert_true(err.text[0]);
    }
    json_t *document = json_pack("{s:i}", "notes", 1);
    struct ts_error err = {0};
    struct ts_buf out;
    ts_buf_init(&out, 0);
    assert_int_equal(sto_hbase_document_write(sto_hbase_annotation_fields, document, &out, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "notes"));
    ts_buf_release(&out);
    ts_buf_init(&out, 20);
    json_object_clear(document);
    assert_int_equal(sto_hbase_document_write(sto_hbase_annotation_fields, document, &out, &err), TS_ELIMIT);
    ts_buf_release(&out);
    json_decref(document);
}

/* A document for which there is no memory now is not taken for a damaged one, which would be left out or replaced; and one that was loaded can be changed,
 * however full the account is. */
static void test_annotation__short_memory_damages_no_document(void **state)
{
    struct ts_budget account;
    struct ts_error err = {0};
    json_t *document = NULL;
    const struct ts_slice text = TS_SLICE_LIT("{\"description\":\"x\",\"startTime\":1356998400}");
    (void)state;
    ts_budget_init(&account, "json", "http_body_total_bytes", NULL, 1 << 20);
    ts_json_count_in(&account);
    ts_budget_force(&account, 1 << 20);
    assert_int_equal(sto_hbase_document_parse(sto_hbase_annotation_fields, text, &document, &err), TS_ELIMIT);
    ts_budget_give(&account, 1 << 20);
    assert_int_equal(sto_hbase_document_parse(sto_hbase_annotation_fields, text, &document, &err), 0);
    ts_budget_force(&account, 1 << 20);
    assert_int_equal(json_object_set_new(document, "notes", json_string("y")), 0);
    assert_string_equal(json_string_value(json_object_get(document, "notes")), "y");
    json_decref(document);
    assert_int_equal(atomic_load(&account.used_bytes), 1 << 20);
    ts_json_count_in(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_annotation__places_are_those_of_opentsdb),
        cmocka_unit_test(test_annotation__documents_keep_their_bytes),
        cmocka_unit_test(test_annotation__broken_documents_are_reported),
        cmocka_unit_test(test_annotation__short_memory_damages_no_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
