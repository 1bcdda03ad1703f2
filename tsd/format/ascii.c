/*
 * ascii.c - OpenTSDB's old text of points: "metric seconds value tagk=tagv ...", as put would take it back.
 *
 * Threads    see out.h
 * Source     docs/OPENTSDB.md, section 6: NaN is left out, doubles as Java prints them
 */
#include "tsd/format/out.h"

static int ascii_series(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    struct ts_buf *b = &o->scratch;
    ts_buf_clear(b);
    ts_buf_slice(b, s->metric);
    ts_buf_char(b, ' ');
    size_t head_n = b->n;
    for (size_t i = 0; i < s->n_tags; i++) {
        ts_buf_char(b, ' ');
        ts_buf_slice(b, s->tags[i].k);
        ts_buf_char(b, '=');
        ts_buf_slice(b, s->tags[i].v);
    }
    ts_buf_char(b, '\n');
    struct ts_slice head = {b->p, head_n}, tail = {b->p + head_n, b->n - head_n};
    for (size_t i = 0; i < s->n; i++) {
        char text[2 * TS_NUM_TEXT_BYTES];
        double d;
        memcpy(&d, &s->v[i], 8);
        bool is_int = tsd_out_is_int(s, i);
        if (!is_int && d != d)
            continue;
        size_t n = ts_num_print_int(ts_floor_div(s->ts_ms[i], 1000), text);
        text[n++] = ' ';
        n += is_int ? ts_num_print_int((int64_t)s->v[i], text + n) : ts_num_print_java(d, text + n);
        TS_TRY(ts_sink_write(o->sink, head, err));
        TS_TRY(ts_sink_write(o->sink, (struct ts_slice){text, n}, err));
        TS_TRY(ts_sink_write(o->sink, tail, err));
    }
    return 0;
}

const struct tsd_out_format tsd_out_ascii = {.name = "ascii",
                                             .content_type = "text/plain; charset=UTF-8",
                                             .begin = tsd_out_nothing,
                                             .series = ascii_series,
                                             .total = tsd_out_total_words,
                                             .end = tsd_out_nothing,
                                             .help = "Lines as put takes them, in whole seconds."};
