/*
 * text.c - for people and awk: totals as "date hour tags value" with one blank between, series as OpenTSDB's
 * command line prints them: "METRIC MILLISECONDS VALUE {k=v, k2=v2}".
 *
 * Threads    see out.h
 * Source     storage-and-tools 3.2; all digits are printed, not six decimals
 */
#include "tsd/out/out.h"

#define TEXT_POINT_BYTES 96

static int text_nothing(struct tsd_out *o, struct ts_error *err)
{
    (void)o;
    (void)err;
    return 0;
}

static int text_total(struct tsd_out *o, const struct qry_total *t, struct ts_error *err)
{
    const struct qry_spec *spec = o->spec;
    struct ts_buf *b = &o->scratch;
    char text[64];
    ts_buf_clear(b);
    if (spec->by_day || spec->by_hour) {
        ts_buf_append(b, text, tsd_out_total_day(t, text));
        ts_buf_char(b, ' ');
    }
    if (spec->by_hour) {
        ts_buf_append(b, text, tsd_out_total_hour(t, text));
        ts_buf_char(b, ' ');
    }
    for (size_t i = 0; i < spec->n_by_tags; i++) {
        ts_buf_slice(b, t->tags[i]);
        ts_buf_char(b, ' ');
    }
    ts_buf_append(b, text, tsd_out_total_value(t, text));
    ts_buf_char(b, '\n');
    return tsd_sink_write(o->sink, ts_buf_get(b), err);
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
    struct ts_slice metric = {b->p, metric_n}, tags = {b->p + metric_n, b->n - metric_n};
    for (size_t i = 0; i < s->n; i++) {
        TS_TRY(tsd_sink_write(o->sink, metric, err));
        TS_TRY(tsd_sink_room(o->sink, TEXT_POINT_BYTES, err));
        char *p = o->sink->p;
        p += ts_num_print_int(s->ts_ms[i], p);
        *p++ = ' ';
        if (tsd_out_is_int(s, i)) {
            p += ts_num_print_int((int64_t)s->v[i], p);
        } else {
            double d;
            memcpy(&d, &s->v[i], 8);
            p += ts_num_print_double(d, p);
        }
        o->sink->p = p;
        TS_TRY(tsd_sink_write(o->sink, tags, err));
    }
    return 0;
}

const struct tsd_out_format tsd_out_text = {.name = "text",
                                            .content_type = "text/plain; charset=UTF-8",
                                            .begin = text_nothing,
                                            .series = text_series,
                                            .total = text_total,
                                            .end = text_nothing,
                                            .help = "Plain columns."};
