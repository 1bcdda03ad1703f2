/*
 * list.c - every collector and metric, printed from the tables.
 *
 * Threads    pure
 */
#include "collectors/collect.h"
#include "collectors/core/collector.h"

static void list_text(const struct col_collector *c, struct ts_buf *out)
{
    ts_buf_printf(out, "%s", c->name);
    if (c->read)
        ts_buf_printf(out, ", every %u s", c->interval_s);
    ts_buf_printf(out, "%s: %s\n", c->by_request ? ", only when asked for" : "", c->help);
    for (const struct col_metric *m = c->metrics; m->name; m++)
        ts_buf_printf(out, "  %-36s %-12s %-8s %-16s %s\n", m->name, m->unit,
                      m->kind == COL_COUNTER ? "counter" : "gauge", m->tags, m->help);
    ts_buf_char(out, '\n');
}

static void list_csv_field(struct ts_buf *out, const char *text, char end)
{
    bool quoted = text[strcspn(text, ",\"\n")];
    if (quoted)
        ts_buf_char(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            ts_buf_char(out, '"');
        ts_buf_char(out, *text);
    }
    if (quoted)
        ts_buf_char(out, '"');
    ts_buf_char(out, end);
}

static void list_csv(const struct col_collector *c, struct ts_buf *out)
{
    for (const struct col_metric *m = c->metrics; m->name; m++) {
        ts_buf_printf(out, "%s,%u,", c->name, c->read ? c->interval_s : 0);
        list_csv_field(out, m->name, ',');
        list_csv_field(out, m->tags, ',');
        list_csv_field(out, m->unit, ',');
        ts_buf_str(out, m->kind == COL_COUNTER ? "counter," : "gauge,");
        list_csv_field(out, m->help, '\n');
    }
}

void col_list(bool csv, struct ts_buf *out)
{
    if (csv)
        ts_buf_str(out, "collector,interval_s,metric,tags,unit,kind,help\n");
    for (const struct col_collector *const *c = col_collectors; *c; c++) {
        if (csv)
            list_csv(*c, out);
        else
            list_text(*c, out);
    }
}
