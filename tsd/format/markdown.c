/*
 * markdown.c - tables of Markdown: totals with their columns, series as rows "metric | time | value | tags".
 *
 * Threads    see out.h
 * Source     GitHub Flavored Markdown, section 4.10 (tables), 2.4 (backslash escapes)
 */
#include "tsd/format/out.h"

#include <string.h>

void tsd_out_markdown_text(struct ts_buf *b, struct ts_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i] == '\n' || s.p[i] == '\r' || !s.p[i] ? ' ' : s.p[i];
        if (strchr("|\\`*_<[]&~", c))
            ts_buf_char(b, '\\');
        ts_buf_char(b, c);
    }
}

void tsd_out_markdown_cell(struct ts_buf *b, struct ts_slice s)
{
    ts_buf_str(b, "| ");
    tsd_out_markdown_text(b, s);
    ts_buf_char(b, ' ');
}

/* The line below the names: texts are aligned to the left, values to the right. */
static void markdown_rule(struct ts_buf *b, size_t n_texts, size_t n_values)
{
    for (size_t i = 0; i < n_texts + n_values; i++)
        ts_buf_str(b, i < n_texts ? "| :--- " : "| ---: ");
    ts_buf_str(b, "|\n");
}

static int markdown_begin(struct tsd_out *o, struct ts_error *err)
{
    if (o->spec->by_on)
        return 0;
    return ts_sink_str(o->sink, "| metric | time | value | tags |\n| :--- | :--- | ---: | :--- |\n", err);
}

static int markdown_head(struct tsd_out *o, struct ts_error *err)
{
    const struct qry_head *head = o->head;
    struct ts_buf *b = &o->scratch;
    struct ts_buf name;
    ts_buf_clear(b);
    ts_buf_init(&name, 0);
    for (size_t i = 0; i < head->n_times; i++)
        tsd_out_markdown_cell(b, ts_slice_str(qry_time_column_name(head->times[i])));
    for (size_t i = 0; i < head->n_tags; i++)
        tsd_out_markdown_cell(b, head->tags[i]);
    for (size_t i = 0; i < head->n_values; i++) {
        ts_buf_clear(&name);
        ts_buf_slice(&name, head->values[i]);
        if (head->units && head->units[i].n)
            ts_buf_printf(&name, " (%.*s)", (int)head->units[i].n, head->units[i].p);
        tsd_out_markdown_cell(b, ts_buf_get(&name));
    }
    ts_buf_release(&name);
    if (o->spec->partial == QRY_PARTIAL_COLUMN)
        tsd_out_markdown_cell(b, TS_SLICE_LIT("partial"));
    ts_buf_str(b, "|\n");
    markdown_rule(b, head->n_times + head->n_tags, head->n_values + (o->spec->partial == QRY_PARTIAL_COLUMN));
    return ts_sink_write(o->sink, ts_buf_get(b), err);
}

static int markdown_total(struct tsd_out *o, const struct qry_total *t, struct ts_error *err)
{
    const struct qry_head *head = o->head;
    struct ts_buf *b = &o->scratch;
    char text[64];
    ts_buf_clear(b);
    for (size_t i = 0; i < head->n_times; i++) {
        size_t n = qry_time_column_print(head->times[i], t, text);
        if (t->partial && o->spec->partial == QRY_PARTIAL_MARK && i + 1 == head->n_times)
            text[n++] = '*';
        tsd_out_markdown_cell(b, (struct ts_slice){text, n});
    }
    for (size_t i = 0; i < head->n_tags; i++)
        tsd_out_markdown_cell(b, t->tags[i]);
    for (size_t i = 0; i <= t->n_more; i++) {
        struct qry_total_value v = tsd_out_total_nth(t, i);
        tsd_out_markdown_cell(b, (struct ts_slice){text, v.null ? 0 : tsd_out_total_value(&v, text)});
    }
    if (o->spec->partial == QRY_PARTIAL_COLUMN)
        tsd_out_markdown_cell(b, ts_slice_str(t->partial ? "yes" : "no"));
    ts_buf_str(b, "|\n");
    return ts_sink_write(o->sink, ts_buf_get(b), err);
}

static int markdown_series(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    struct ts_buf *b = &o->scratch;
    ts_buf_clear(b);
    tsd_out_markdown_cell(b, s->metric);
    ts_buf_str(b, "| ");
    size_t head_n = b->n;
    ts_buf_str(b, " | ");
    for (size_t i = 0; i < s->n_tags; i++) {
        if (i)
            ts_buf_char(b, ' ');
        tsd_out_markdown_text(b, s->tags[i].k);
        ts_buf_char(b, '=');
        tsd_out_markdown_text(b, s->tags[i].v);
    }
    ts_buf_str(b, s->n_tags ? " |\n" : "|\n");
    enum tsd_out_time time = o->spec->times != QRY_TIMES_EPOCH ? TSD_OUT_ISO
                             : o->spec->ms                     ? TSD_OUT_MS
                                                               : TSD_OUT_S;
    return tsd_out_points(o, s, (struct ts_slice){b->p, head_n}, time, " | ",
                          (struct ts_slice){b->p + head_n, b->n - head_n}, err);
}

const struct tsd_out_format tsd_out_markdown = {.name = "markdown",
                                                .content_type = "text/markdown; charset=UTF-8",
                                                .accept = "text/markdown",
                                                .begin = markdown_begin,
                                                .head = markdown_head,
                                                .series = markdown_series,
                                                .total = markdown_total,
                                                .end = tsd_out_nothing,
                                                .help = "Tables of Markdown."};
