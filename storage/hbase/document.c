/*
 * document.c - JSON documents in cells.
 */
#include "storage/hbase/document.h"

#include "base/num.h"

static bool is_missing(const json_t *value)
{
    return !value || json_is_null(value);
}

static bool are_strings(const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!json_is_string(value))
            return false;
    }
    return true;
}

/* May a member of this type have this value? */
static bool fits(enum sto_hbase_type type, const json_t *value)
{
    switch (type) {
    case STO_HBASE_TEXT:
    case STO_HBASE_GIVEN:
        return json_is_string(value);
    case STO_HBASE_INTEGER:
        return json_is_integer(value);
    case STO_HBASE_NUMBER:
        return json_is_number(value) || json_is_string(value);
    case STO_HBASE_TRUTH:
        return json_is_boolean(value);
    case STO_HBASE_PROPERTIES:
        return json_is_object(value) && are_strings(value);
    }
    return false;
}

/* --- writing --- */

static int on_text(const char *p, size_t n, void *out)
{
    return ts_buf_append(out, p, n);
}

static int write_json(const json_t *value, struct ts_buf *out)
{
    int rc = json_dump_callback(value, on_text, out, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    return rc == 0 ? 0 : out->failed ? TS_ELIMIT : TS_EINVAL;
}

static int write_number(const json_t *value, struct ts_buf *out)
{
    char text[TS_NUM_TEXT_BYTES];
    if (!json_is_number(value))
        return ts_buf_str(out, "\"NaN\"");
    return ts_buf_append(out, text, ts_num_print_java(json_number_value(value), text));
}

static int write_value(enum sto_hbase_type type, const json_t *value, struct ts_buf *out)
{
    if (type == STO_HBASE_NUMBER)
        return write_number(value, out);
    if (!is_missing(value))
        return write_json(value, out);
    return ts_buf_str(out, type == STO_HBASE_INTEGER      ? "0"
                           : type == STO_HBASE_TRUTH      ? "false"
                           : type == STO_HBASE_PROPERTIES ? "null"
                                                          : "\"\"");
}

int sto_hbase_document_write(const struct sto_hbase_field *fields, const json_t *document, struct ts_buf *out,
                             struct ts_error *err)
{
    char before = '{';
    for (; fields->name; fields++) {
        const json_t *value = json_object_get(document, fields->name);
        if (!is_missing(value) && !fits(fields->type, value))
            return ts_error_set(err, TS_EINVAL,
                                "the member %s of a document has another type than OpenTSDB's", fields->name);
        if (fields->type == STO_HBASE_GIVEN && (is_missing(value) || json_string_length(value) == 0))
            continue;
        TS_TRY(ts_buf_printf(out, "%c\"%s\":", before, fields->name));
        TS_TRY(write_value(fields->type, value, out));
        before = ',';
    }
    return ts_buf_char(out, '}');
}

/* --- parsing --- */

static json_t *missing_value(enum sto_hbase_type type)
{
    switch (type) {
    case STO_HBASE_INTEGER:
        return json_integer(0);
    case STO_HBASE_NUMBER:
        return json_string("NaN");
    case STO_HBASE_TRUTH:
        return json_false();
    case STO_HBASE_PROPERTIES:
        return json_null();
    case STO_HBASE_TEXT:
    case STO_HBASE_GIVEN:
        break;
    }
    return json_string("");
}

static int complete(const struct sto_hbase_field *fields, json_t *document, struct ts_error *err)
{
    for (; fields->name; fields++) {
        const json_t *value = json_object_get(document, fields->name);
        if (is_missing(value))
            json_object_set_new(document, fields->name, missing_value(fields->type));
        else if (!fits(fields->type, value))
            return ts_error_set(err, TS_ECORRUPT, "the member %s of a document in HBase has an unknown type",
                                fields->name);
    }
    return 0;
}

int sto_hbase_document_parse(const struct sto_hbase_field *fields, struct ts_slice text, json_t **out,
                             struct ts_error *err)
{
    *out = NULL;
    json_t *document;
    struct ts_error why = {0};
    int rc = ts_json_load(text, &document, &why);
    if (ts_json_may_be_whole(rc))
        return ts_error_set(err, TS_ELIMIT, "%s", why.text);
    if (rc < 0)
        return ts_error_set(err, TS_ECORRUPT, "a document in HBase is no JSON: %s", why.text);
    rc = json_is_object(document) ? complete(fields, document, err)
                                  : ts_error_set(err, TS_ECORRUPT, "a document in HBase is no JSON object");
    if (rc < 0)
        json_decref(document);
    else
        *out = document;
    return rc;
}
