/*
 * csvread.c - reads fields, lays them out as a table for people.
 *
 * Threads    see csvread.h
 */
#include "tsd/commands/csvread.h"

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

/* What is known of a column. */
struct csv_column {
    size_t width; /* of its widest field */
    bool number;  /* all fields below the header are numbers or empty */
};

/* A number, perhaps with commas between its thousands, perhaps a size: 1.5 KiB. */
static bool csv_is_number(struct ts_slice s)
{
    static const char *const units[] = {" bytes", " KiB", " MiB", " GiB", " TiB", " PiB"};
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
        size_t n = strlen(units[u]);
        if (s.n > n && memcmp(s.p + s.n - n, units[u], n) == 0)
            s.n -= n;
    }
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '.' || (s.p[i] == ',' && i > 0) ||
              s.p[i] == 'e' || s.p[i] == '+' || (s.p[i] == '-' && (i == 0 || s.p[i - 1] == 'e'))))
            return ts_slice_is(s, "NaN");
    return true;
}

/* Measure the columns; returns how many there are. */
static size_t csv_measure(struct ts_slice csv, struct ts_buf *field, struct csv_column *columns)
{
    const char *at = csv.p, *end = csv.p + csv.n;
    size_t n = 0;
    for (bool header = true; at < end; header = false) {
        bool more = true;
        for (size_t c = 0; more; c++) {
            tsd_csv_field(&at, end, field, &more);
            size_t w = csv_width(ts_buf_get(field));
            if (c >= CSV_MAX_COLUMNS)
                continue;
            if (c >= n)
                columns[n++] = (struct csv_column){0, true};
            if (!header && !csv_is_number(ts_buf_get(field)))
                columns[c].number = false;
            if (w > columns[c].width && w <= CSV_MAX_WIDTH)
                columns[c].width = w;
        }
    }
    return n;
}

void tsd_csv_table(struct ts_slice csv, size_t n_keys, struct ts_buf *out)
{
    const char *at = csv.p, *end = csv.p + csv.n;
    struct csv_column columns[CSV_MAX_COLUMNS];
    struct ts_buf field;
    ts_buf_init(&field, 0);
    size_t n = csv_measure(csv, &field, columns);
    while (at < end) {
        bool more = true;
        for (size_t c = 0; more; c++) {
            tsd_csv_field(&at, end, &field, &more);
            size_t w = csv_width(ts_buf_get(&field)), room = c < n ? columns[c].width : 0,
                   pad = room > w ? room - w : 0;
            bool right = c + 1 == n || (c >= n_keys && c < n && columns[c].number);
            if (c)
                ts_buf_str(out, "  ");
            if (right)
                csv_pad(out, pad);
            ts_buf_slice(out, ts_buf_get(&field));
            if (!right && more)
                csv_pad(out, pad);
        }
        ts_buf_char(out, '\n');
    }
    ts_buf_release(&field);
}
