/*
 * markdown.c - findings, columns separated by tabs, and CSV as tables of Markdown.
 *
 * Threads    see markdown.h
 */
#include "tsd/commands/markdown.h"

#include "base/cut.h"
#include "tsd/commands/csvread.h"
#include "tsd/format/out.h"

#include <string.h>

static void markdown_rule(struct ts_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ts_buf_str(out, "| :--- ");
    ts_buf_str(out, "|\n");
}

/* Length of the kind of a finding with its colon; 0: the line is no finding. */
static size_t report_kind(struct ts_slice line)
{
    static const char *const kinds[] = {"note: ", "damage: ", "lost: ", "done: "};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t n = strlen(kinds[i]);
        if (line.n > n && memcmp(line.p, kinds[i], n) == 0)
            return n;
    }
    return 0;
}

void tsd_markdown_report(struct tsd_markdown *m, struct ts_slice text, struct ts_buf *out)
{
    while (text.n) {
        struct ts_slice line = ts_slice_cut(&text, '\n');
        size_t n = report_kind(line);
        if (m->has_lines && (!m->in_table || !n))
            ts_buf_char(out, '\n');
        if (n && !m->in_table)
            ts_buf_str(out, "| kind | finding |\n| :--- | :--- |\n");
        m->has_lines = true;
        m->in_table = n > 0;
        if (!n) {
            tsd_out_markdown_text(out, line);
            ts_buf_char(out, '\n');
            continue;
        }
        tsd_out_markdown_cell(out, (struct ts_slice){line.p, n - 2});
        tsd_out_markdown_cell(out, (struct ts_slice){line.p + n, line.n - n});
        ts_buf_str(out, "|\n");
    }
}

void tsd_markdown_tabs(struct ts_slice text, struct ts_buf *out)
{
    for (bool header = true; text.n; header = false) {
        struct ts_slice line = ts_slice_cut(&text, '\n');
        size_t n = 0;
        for (; line.n; n++)
            tsd_out_markdown_cell(out, ts_slice_cut(&line, '\t'));
        ts_buf_str(out, "|\n");
        if (header)
            markdown_rule(out, n);
    }
}

void tsd_markdown_csv(struct ts_slice csv, struct ts_buf *out)
{
    const char *at = csv.p, *end = csv.p + csv.n;
    struct ts_buf field;
    ts_buf_init(&field, 0);
    for (bool header = true; at < end; header = false) {
        bool more = true;
        size_t n = 0;
        for (; more; n++) {
            tsd_csv_field(&at, end, &field, &more);
            tsd_out_markdown_cell(out, ts_buf_get(&field));
        }
        ts_buf_str(out, "|\n");
        if (header)
            markdown_rule(out, n);
    }
    ts_buf_release(&field);
}
