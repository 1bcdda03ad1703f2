/*
 * prometheus.c - names, types, help texts and samples as text.
 *
 * Threads    see prometheus.h
 */
#include "tsd/net/prometheus.h"

#include "base/array.h"
#include "tsd/net/stat_table.h"

#include <stdlib.h>

struct tsd_prometheus_sample {
    const char *name;               /* of the metric: "tsd_..." */
    const char *tag;                /* "k=v" or "" */
    const struct tsd_stat_row *row; /* NULL: the table lacks it */
    uint64_t value;
    size_t order; /* in which it was added */
};

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

void tsd_prometheus_init(struct tsd_prometheus *p)
{
    *p = (struct tsd_prometheus){.n = 0};
    ts_arena_init(&p->arena, 0);
}

void tsd_prometheus_release(struct tsd_prometheus *p)
{
    ts_arena_release(&p->arena);
    ts_free(p->samples);
    *p = (struct tsd_prometheus){.n = 0};
}

/* "tsd_" and the name; a counter ends in "_total". */
static const char *metric_name(struct ts_arena *arena, const char *name, const struct tsd_stat_row *row)
{
    static const char head[] = "tsd_", total[] = "_total";
    bool counter = row && row->kind == TSD_STAT_COUNTER;
    size_t n = strlen(name), at = sizeof(head) - 1;
    char *out = ts_arena_alloc(arena, at + n + sizeof(total));
    memcpy(out, head, at);
    for (size_t i = 0; i < n; i++)
        out[at++] = is_alnum(name[i]) ? name[i] : '_';
    memcpy(out + at, counter ? total : "", counter ? sizeof(total) : 1);
    return out;
}

void tsd_prometheus_add(void *arg, const char *name, const char *tag, uint64_t value)
{
    struct tsd_prometheus *p = arg;
    const struct tsd_stat_row *row = tsd_stat_find(name, tag);
    TS_ARRAY_GROW(p->samples, p->n, p->cap, 256);
    p->samples[p->n] = (struct tsd_prometheus_sample){.name = metric_name(&p->arena, name, row),
                                                      .tag = ts_arena_strndup(&p->arena, tag, strlen(tag)),
                                                      .row = row,
                                                      .value = value,
                                                      .order = p->n};
    p->n++;
}

static int sample_cmp(const void *a, const void *b)
{
    const struct tsd_prometheus_sample *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : x->order < y->order ? -1 : x->order > y->order;
}

/* A help text, or the value of a label, which stands in quotes. */
static void print_escaped(struct ts_buf *out, const char *text, bool quoted)
{
    for (; *text; text++) {
        if (*text == '\\')
            ts_buf_str(out, "\\\\");
        else if (*text == '\n')
            ts_buf_str(out, "\\n");
        else if (*text == '"' && quoted)
            ts_buf_str(out, "\\\"");
        else
            ts_buf_char(out, *text);
    }
}

static void print_label(struct ts_buf *out, const char *tag)
{
    const char *eq = strchr(tag, '=');
    if (!eq)
        return;
    ts_buf_char(out, '{');
    for (const char *c = tag; c < eq; c++) {
        bool digit_first = c == tag && *c >= '0' && *c <= '9';
        ts_buf_char(out, is_alnum(*c) && !digit_first ? *c : '_');
    }
    ts_buf_str(out, "=\"");
    print_escaped(out, eq + 1, true);
    ts_buf_str(out, "\"}");
}

static void print_head(struct ts_buf *out, const struct tsd_prometheus_sample *s)
{
    if (s->row) {
        ts_buf_printf(out, "# HELP %s ", s->name);
        print_escaped(out, s->row->help, false);
        ts_buf_char(out, '\n');
    }
    ts_buf_printf(out, "# TYPE %s %s\n", s->name,
                  !s->row                            ? "untyped"
                  : s->row->kind == TSD_STAT_COUNTER ? "counter"
                                                     : "gauge");
}

void tsd_prometheus_print(struct tsd_prometheus *p, struct ts_buf *out)
{
    if (p->n)
        qsort(p->samples, p->n, sizeof(*p->samples), sample_cmp);
    for (size_t i = 0; i < p->n; i++) {
        const struct tsd_prometheus_sample *s = &p->samples[i];
        if (!i || strcmp(s->name, p->samples[i - 1].name) != 0)
            print_head(out, s);
        ts_buf_str(out, s->name);
        print_label(out, s->tag);
        ts_buf_printf(out, " %llu\n", (unsigned long long)s->value);
    }
}
