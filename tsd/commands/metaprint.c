/*
 * metaprint.c - lines from results.
 *
 * Threads    see metaprint.h
 * Source     storage-and-tools 3.5, 3.7
 */
#include "tsd/commands/metaprint.h"

#include "tsd/meta/uidmeta.h"

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));
    return text ? text : "";
}

static void print_series(const json_t *r, struct ts_buf *out)
{
    const char *k;
    json_t *v;
    ts_buf_printf(out, "%s %s ", text_of(r, "tsuid"), text_of(r, "metric"));
    json_object_foreach(json_object_get(r, "tags"), k, v)
        ts_buf_printf(out, "%s=%s ", k, json_string_value(v));
    ts_buf_char(out, '\n');
}

static void print_name(const json_t *r, struct ts_buf *out)
{
    enum sto_uid_kind kind = STO_UID_METRIC;
    uint32_t id = 0;
    (void)tsd_uid_kind(ts_slice_str(text_of(r, "type")), &kind);
    (void)tsd_uid_parse(ts_slice_str(text_of(r, "uid")), &id);
    ts_buf_printf(out, "%s %s: ", kind == STO_UID_METRIC ? "metrics" : tsd_uid_kind_name(kind),
                  text_of(r, "name"));
    tsd_uid_bytes(id, out);
    ts_buf_char(out, '\n');
}

static void print_note(const json_t *r, struct ts_buf *out)
{
    const char *tsuid = text_of(r, "tsuid");
    ts_buf_printf(out, "%lld %s %s\n", (long long)json_integer_value(json_object_get(r, "startTime")),
                  *tsuid ? tsuid : "-", text_of(r, "description"));
}

void tsd_meta_line(const json_t *r, struct ts_buf *out)
{
    if (json_is_string(r))
        ts_buf_printf(out, "%s\n", json_string_value(r));
    else if (json_object_get(r, "startTime"))
        print_note(r, out);
    else if (json_object_get(r, "uid"))
        print_name(r, out);
    else
        print_series(r, out);
}
