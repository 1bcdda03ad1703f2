/*
 * text.c - for people and awk: totals as "date hour tags value" with one blank between, series as OpenTSDB's
 * command line prints them, "METRIC TIME VALUE {k=v, k2=v2}", with times as people read them but with compat.
 *
 * Threads    see out.h
 * Source     docs/OPENTSDB.md, section 11.2; all digits are printed, not six decimals
 */
#include "tsd/format/out.h"

/* A first line "# date host web.hits before" if a row has several values; otherwise they could not be
 * distinguished. */
static int text_head(struct tsd_out *o, struct ts_error *err)
{
    const struct qry_head *head = o->head;
    struct ts_buf *b = &o->scratch;
    if (head->n_values < 2)
        return 0;
    ts_buf_clear(b);
    ts_buf_char(b, '#');
    for (size_t i = 0; i < head->n_times; i++)
        ts_buf_printf(b, " %s", qry_time_column_name(head->times[i]));
    for (size_t i = 0; i < head->n_tags + head->n_values; i++) {
        struct ts_slice name = i < head->n_tags ? head->tags[i] : head->values[i - head->n_tags];
        ts_buf_char(b, ' ');
        for (size_t k = 0; k < name.n; k++) /* one word a column */
            ts_buf_char(b, name.p[k] == ' ' ? '_' : name.p[k]);
    }
    ts_buf_char(b, '\n');
    return ts_sink_write(o->sink, ts_buf_get(b), err);
}

static int text_series(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    struct ts_buf *b = &o->scratch;
    ts_buf_clear(b);
    ts_buf_slice(b, s->metric);
    ts_buf_char(b, ' ');
    size_t metric_n = b->n;
    ts_buf_str(b, " {");
    for (size_t i = 0; i < s->n_tags; i++) {
        if (i)
            ts_buf_str(b, ", ");
        ts_buf_slice(b, s->tags[i].k);
        ts_buf_char(b, '=');
        ts_buf_slice(b, s->tags[i].v);
    }
    ts_buf_str(b, "}\n");
    bool iso = o->spec->times == QRY_TIMES_ISO || (o->spec->times == QRY_TIMES_USUAL && !o->spec->compat);
    return tsd_out_points(o, s, (struct ts_slice){b->p, metric_n}, iso ? TSD_OUT_ISO : TSD_OUT_MS, " ",
                          (struct ts_slice){b->p + metric_n, b->n - metric_n}, err);
}

const struct tsd_out_format tsd_out_text = {.name = "text",
                                            .content_type = "text/plain; charset=UTF-8",
                                            .begin = tsd_out_nothing,
                                            .head = text_head,
                                            .series = text_series,
                                            .total = tsd_out_total_words,
                                            .end = tsd_out_nothing,
                                            .help = "Plain columns."};
