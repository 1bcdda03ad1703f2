/*
 * versions.c - lists of versions: as text, CSV and JSON.
 *
 *   text  METRIC TIME VALUE {tags} written TIME [deleted TIME] [older versions dropped]
 *   csv   metric,timestamp,value,written,deleted,tags
 *   json  [{"metric","tags","timestamp","value","written","deleted"}, ...]
 *
 * Times of writing are ms since 1970 in CSV and JSON, and are missing (-) for points that are older than the versions of their metric.
 *
 * Threads    see out.h
 */
#include "tsd/format/out.h"

#include <string.h>

#include "query/versions.h"

/* A list under way. */
struct list {
    struct tsd_out *o;
    struct sto_catalog *cat;
    int (*row)(struct list *l, const struct qry_version *v, struct ts_error *err);
};

static struct ts_slice metric_of(const struct list *l, const struct qry_version *v)
{
    return sto_uid_name(l->cat, STO_UID_METRIC, v->series->metric);
}

/* Tags, each "k=v", with sep between them. */
static void tags_of(const struct list *l, const struct qry_version *v, const char *sep, struct ts_buf *b)
{
    for (unsigned i = 0; i < v->series->n_tags; i++) {
        ts_buf_str(b, i ? sep : "");
        ts_buf_slice(b, sto_uid_name(l->cat, STO_UID_TAGK, v->series->tags[i].k));
        ts_buf_char(b, '=');
        ts_buf_slice(b, sto_uid_name(l->cat, STO_UID_TAGV, v->series->tags[i].v));
    }
}

static void value_of(const struct qry_version *v, struct ts_buf *b)
{
    char text[TS_NUM_TEXT_BYTES];
    size_t n = v->value.kind == TS_NUM_INT ? ts_num_print_i128(v->value.m, text)
                                           : ts_num_print_double(ts_num_double(v->value), text);
    (void)ts_buf_append(b, text, n);
}

static int64_t time_of(const struct list *l, const struct qry_version *v)
{
    return l->o->spec->ms || v->ms ? v->ts_ms : ts_floor_div(v->ts_ms, 1000);
}

static int text_row(struct list *l, const struct qry_version *v, struct ts_error *err)
{
    struct ts_buf *b = &l->o->scratch;
    const struct ts_tz *tz = l->o->spec->tz;
    ts_buf_clear(b);
    ts_buf_slice(b, metric_of(l, v));
    ts_buf_char(b, ' ');
    ts_time_print(tz, v->ts_ms, v->ms, b);
    ts_buf_char(b, ' ');
    value_of(v, b);
    ts_buf_str(b, " {");
    tags_of(l, v, ", ", b);
    ts_buf_str(b, "} written ");
    if (v->written_us)
        ts_time_print(tz, v->written_us / 1000, true, b);
    else
        ts_buf_char(b, '-');
    if (v->deleted_us) {
        ts_buf_str(b, " deleted ");
        ts_time_print(tz, v->deleted_us / 1000, true, b);
    }
    ts_buf_str(b, v->older_gone ? " older versions dropped\n" : "\n");
    return ts_sink_write(l->o->sink, ts_buf_get(b), err);
}

static int csv_row(struct list *l, const struct qry_version *v, struct ts_error *err)
{
    struct ts_buf *b = &l->o->scratch, tags;
    ts_buf_clear(b);
    ts_buf_init(&tags, 0);
    tsd_out_csv_field(b, metric_of(l, v));
    ts_buf_printf(b, ",%lld,", (long long)time_of(l, v));
    value_of(v, b);
    ts_buf_char(b, ',');
    if (v->written_us)
        ts_buf_printf(b, "%lld", (long long)(v->written_us / 1000));
    ts_buf_char(b, ',');
    if (v->deleted_us)
        ts_buf_printf(b, "%lld", (long long)(v->deleted_us / 1000));
    ts_buf_char(b, ',');
    tags_of(l, v, " ", &tags);
    tsd_out_csv_field(b, ts_buf_get(&tags));
    ts_buf_release(&tags);
    ts_buf_char(b, '\n');
    return ts_sink_write(l->o->sink, ts_buf_get(b), err);
}

static int json_row(struct list *l, const struct qry_version *v, struct ts_error *err)
{
    struct ts_buf *b = &l->o->scratch;
    struct ts_json j;
    ts_buf_clear(b);
    if (l->o->n)
        ts_buf_char(b, ',');
    ts_json_init(&j, b);
    ts_json_obj(&j);
    ts_json_member_slice(&j, "metric", metric_of(l, v));
    ts_json_member_obj(&j, "tags");
    for (unsigned i = 0; i < v->series->n_tags; i++) {
        ts_json_key_slice(&j, sto_uid_name(l->cat, STO_UID_TAGK, v->series->tags[i].k));
        ts_json_slice(&j, sto_uid_name(l->cat, STO_UID_TAGV, v->series->tags[i].v));
    }
    ts_json_obj_end(&j);
    ts_json_member_int(&j, "timestamp", time_of(l, v));
    if (v->value.kind == TS_NUM_INT)
        ts_json_member_int(&j, "value", v->value.m);
    else
        ts_json_member_double(&j, "value", ts_num_double(v->value));
    if (v->written_us)
        ts_json_member_int(&j, "written", v->written_us / 1000);
    if (v->deleted_us)
        ts_json_member_int(&j, "deleted", v->deleted_us / 1000);
    if (v->older_gone)
        ts_json_member_bool(&j, "olderDropped", true);
    ts_json_obj_end(&j);
    return ts_sink_write(l->o->sink, ts_buf_get(b), err);
}

static int on_version(void *arg, const struct qry_version *v, struct ts_error *err)
{
    struct list *l = arg;
    int rc = l->row(l, v, err);
    l->o->n++;
    return rc;
}

int tsd_out_versions(struct tsd_out *o, struct sto_store *store, struct qry_limit *limit,
                     struct ts_error *err)
{
    static const struct {
        const struct tsd_out_format *format;
        int (*row)(struct list *l, const struct qry_version *v, struct ts_error *err);
        const char *head, *tail;
    } forms[] = {{&tsd_out_text, text_row, "", ""},
                 {&tsd_out_csv, csv_row, "metric,timestamp,value,written,deleted,tags\n", ""},
                 {&tsd_out_json, json_row, "[", "]"}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (o->format != forms[i].format)
            continue;
        struct list l = {o, sto_store_catalog(store), forms[i].row};
        TS_TRY(ts_sink_str(o->sink, forms[i].head, err));
        TS_TRY(qry_versions(store, o->spec, limit, on_version, &l, err));
        return ts_sink_str(o->sink, forms[i].tail, err);
    }
    return ts_error_set(err, TS_EINVAL, "versions are listed by the formats text, csv and json, not by %s",
                        o->format->name);
}
