/*
 * csv.c - totals as rows "date,hour,tags...,values..."; series as rows "metric,timestamp,value,tags".
 *
 * Threads    see out.h
 * Source     RFC 4180 (quoting); lines end in LF
 */
#include "tsd/format/out.h"

int tsd_out_csv_field(struct ts_buf *b, struct ts_slice s)
{
    bool plain = true;
    for (size_t i = 0; i < s.n && plain; i++)
        plain = s.p[i] != '"' && s.p[i] != ',' && s.p[i] != '\n' && s.p[i] != '\r';
    if (plain)
        return ts_buf_slice(b, s);
    ts_buf_char(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            ts_buf_char(b, '"');
        ts_buf_char(b, s.p[i]);
    }
    return ts_buf_char(b, '"');
}

static int csv_begin(struct tsd_out *o, struct ts_error *err)
{
    return o->spec->by_on ? 0 : ts_sink_str(o->sink, "metric,timestamp,value,tags\n", err);
}

/* "web.bytes", or "web.bytes (bytes)" where the unit is known. */
static void csv_value_name(struct ts_buf *b, struct ts_slice name, struct ts_slice unit)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_buf_slice(&text, name);
    if (unit.n)
        ts_buf_printf(&text, " (%.*s)", (int)unit.n, unit.p);
    tsd_out_csv_field(b, ts_buf_get(&text));
    ts_buf_release(&text);
}

static int csv_head(struct tsd_out *o, struct ts_error *err)
{
    const struct qry_head *head = o->head;
    struct ts_buf *b = &o->scratch;
    ts_buf_clear(b);
    for (size_t i = 0; i < head->n_times; i++)
        ts_buf_printf(b, "%s,", qry_time_column_name(head->times[i]));
    for (size_t i = 0; i < head->n_tags; i++) {
        tsd_out_csv_field(b, head->tags[i]);
        ts_buf_char(b, ',');
    }
    for (size_t i = 0; i < head->n_values; i++) {
        if (i)
            ts_buf_char(b, ',');
        csv_value_name(b, head->values[i], head->units ? head->units[i] : (struct ts_slice){NULL, 0});
    }
    if (o->spec->partial == QRY_PARTIAL_COLUMN)
        ts_buf_str(b, ",partial");
    ts_buf_char(b, '\n');
    return ts_sink_write(o->sink, ts_buf_get(b), err);
}

static int csv_total(struct tsd_out *o, const struct qry_total *t, struct ts_error *err)
{
    return tsd_out_total_row(o, t, ',', tsd_out_csv_field, err);
}

/* The last field of every row of a series: "k=v k2=v2". */
static void csv_tags(struct ts_buf *b, const struct qry_series *s)
{
    struct ts_buf tags;
    ts_buf_init(&tags, 0);
    for (size_t i = 0; i < s->n_tags; i++) {
        if (i)
            ts_buf_char(&tags, ' ');
        ts_buf_slice(&tags, s->tags[i].k);
        ts_buf_char(&tags, '=');
        ts_buf_slice(&tags, s->tags[i].v);
    }
    tsd_out_csv_field(b, ts_buf_get(&tags));
    ts_buf_release(&tags);
}

static int csv_series(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    struct ts_buf *b = &o->scratch;
    ts_buf_clear(b);
    tsd_out_csv_field(b, s->metric);
    ts_buf_char(b, ',');
    size_t head_n = b->n;
    ts_buf_char(b, ',');
    csv_tags(b, s);
    ts_buf_char(b, '\n');
    enum tsd_out_time time = o->spec->times == QRY_TIMES_ISO ? TSD_OUT_ISO
                             : o->spec->ms                   ? TSD_OUT_MS
                                                             : TSD_OUT_S;
    return tsd_out_points(o, s, (struct ts_slice){b->p, head_n}, time, ",",
                          (struct ts_slice){b->p + head_n, b->n - head_n}, err);
}

const struct tsd_out_format tsd_out_csv = {.name = "csv",
                                           .content_type = "text/csv; charset=UTF-8",
                                           .accept = "text/csv",
                                           .begin = csv_begin,
                                           .head = csv_head,
                                           .series = csv_series,
                                           .total = csv_total,
                                           .end = tsd_out_nothing,
                                           .help = "Rows with a header, for spreadsheets and scripts."};
