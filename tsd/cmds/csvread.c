/*
 * csvread.c - reads fields, lays them out as a table for people.
 *
 * Threads    see csvread.h
 */
#include "tsd/cmds/csvread.h"

#define CSV_MAX_COLUMNS 64
#define CSV_MAX_WIDTH   60 /* a longer field pushes its row, not the column */

void tsd_csv_field(const char **at, const char *end, struct ts_buf *out, bool *out_more)
{
    const char *p = *at;
    ts_buf_clear(out);
    if (p < end && *p == '"') {
        for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
            p += *p == '"';
            ts_buf_char(out, *p);
        }
        p += p < end;
    } else {
        const char *from = p;
        while (p < end && *p != ',' && *p != '\n' && *p != '\r')
            p++;
        ts_buf_append(out, from, (size_t)(p - from));
    }
    *out_more = p < end && *p == ',';
    if (*out_more) {
        p++;
    } else {
        while (p < end && *p == '\r')
            p++;
        p += p < end && *p == '\n';
    }
    *at = p;
}

/* Columns that a field takes on a terminal: its characters. */
static size_t csv_width(struct ts_slice s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] & 0xc0) != 0x80;
    return n;
}

static void csv_pad(struct ts_buf *out, size_t n)
{
    while (n--)
        ts_buf_char(out, ' ');
}

/* Widths of the columns; returns how many there are. */
static size_t csv_measure(struct ts_slice csv, struct ts_buf *field, size_t *widths)
{
    const char *at = csv.p, *end = csv.p + csv.n;
    size_t n = 0;
    while (at < end) {
        bool more = true;
        for (size_t c = 0; more; c++) {
            tsd_csv_field(&at, end, field, &more);
            size_t w = csv_width(ts_buf_get(field));
            if (c >= CSV_MAX_COLUMNS)
                continue;
            if (c >= n)
                widths[n++] = 0;
            if (w > widths[c] && w <= CSV_MAX_WIDTH)
                widths[c] = w;
        }
    }
    return n;
}

void tsd_csv_table(struct ts_slice csv, struct ts_buf *out)
{
    const char *at = csv.p, *end = csv.p + csv.n;
    size_t widths[CSV_MAX_COLUMNS];
    struct ts_buf field;
    ts_buf_init(&field, 0);
    size_t n = csv_measure(csv, &field, widths);
    while (at < end) {
        bool more = true;
        for (size_t c = 0; more; c++) {
            tsd_csv_field(&at, end, &field, &more);
            size_t w = csv_width(ts_buf_get(&field)), room = c < n ? widths[c] : 0,
                   pad = room > w ? room - w : 0;
            bool last = c + 1 == n;
            if (c)
                ts_buf_str(out, "  ");
            if (last)
                csv_pad(out, pad);
            ts_buf_slice(out, ts_buf_get(&field));
            if (!last && more)
                csv_pad(out, pad);
        }
        ts_buf_char(out, '\n');
    }
    ts_buf_release(&field);
}
