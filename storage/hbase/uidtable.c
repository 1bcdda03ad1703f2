/*
 * uidtable.c - rows and cells of the table of names and ids.
 */
#include "storage/hbase/uidtable.h"

#include "storage/hbase/bigendian.h"

const struct sto_hbase_field sto_hbase_uid_fields[] = {
    {"type", STO_HBASE_TEXT},  {"displayName", STO_HBASE_TEXT}, {"description", STO_HBASE_TEXT},
    {"notes", STO_HBASE_TEXT}, {"created", STO_HBASE_INTEGER},  {"custom", STO_HBASE_PROPERTIES},
    {NULL, STO_HBASE_TEXT},
};

/* By enum sto_remote_kind. */
static const struct {
    const char *qualifier, *document, *type, *plural;
} kinds[] = {
    {"metrics", "metric_meta", "METRIC", "metrics"},
    {"tagk", "tagk_meta", "TAGK", "tag keys"},
    {"tagv", "tagv_meta", "TAGV", "tag values"},
};

struct ts_slice sto_hbase_uid_qualifier(enum sto_remote_kind kind)
{
    return ts_slice_str(kinds[kind].qualifier);
}

struct ts_slice sto_hbase_uid_document(enum sto_remote_kind kind)
{
    return ts_slice_str(kinds[kind].document);
}

const char *sto_hbase_uid_type(enum sto_remote_kind kind)
{
    return kinds[kind].type;
}

unsigned sto_hbase_uid_width(const struct sto_hbase_schema *s, enum sto_remote_kind kind)
{
    return kind == STO_REMOTE_METRIC ? s->metric_width
           : kind == STO_REMOTE_TAGK ? s->tagk_width
                                     : s->tagv_width;
}

int sto_hbase_uid_make(const struct sto_hbase_schema *s, enum sto_remote_kind kind, uint64_t id, uint8_t *out,
                       struct ts_error *err)
{
    unsigned width = sto_hbase_uid_width(s, kind);
    if (id == 0 || id > sto_hbase_width_max(width))
        return ts_error_set(err, TS_ELIMIT, "all ids of %s are assigned: %llu is no id of %u bytes",
                            kinds[kind].plural, (unsigned long long)id, width);
    sto_hbase_put(out, id, width);
    return (int)width;
}

int sto_hbase_uid_parse(const struct sto_hbase_schema *s, enum sto_remote_kind kind, struct ts_slice bytes,
                        uint64_t *out, struct ts_error *err)
{
    unsigned width = sto_hbase_uid_width(s, kind);
    if (bytes.n != width)
        return ts_error_set(err, TS_ECORRUPT, "an id has %zu bytes, but those of %s have %u", bytes.n,
                            kinds[kind].plural, width);
    *out = sto_hbase_get(bytes.p, width);
    return *out ? 0
                : ts_error_set(err, TS_ECORRUPT, "an id of %s is 0, which is never assigned",
                               kinds[kind].plural);
}

int sto_hbase_counter_parse(struct ts_slice bytes, uint64_t *out, struct ts_error *err)
{
    if (bytes.n != 8)
        return ts_error_set(err, TS_ECORRUPT, "a counter has %zu bytes instead of 8", bytes.n);
    *out = sto_hbase_get(bytes.p, 8);
    return *out <= INT64_MAX ? 0 : ts_error_set(err, TS_ECORRUPT, "a counter is negative");
}
