/*
 * csv.c - columns with commas, tabs or another character between, as RFC 4180 quotes them.
 *
 * A record with line ends between quotes is held until its quotes close.
 *
 * Threads    see input.h
 * Not here   what the columns mean (mapping.c)
 */
#include "tsd/inputs/formats.h"

#include "base/array.h"
#include "base/cut.h"
#include "tsd/inputs/mapping.h"

#define CSV_RECORD_LINES 100u /* of one record */

static int csv_field_add(struct tsd_input_run *run, struct ts_slice field, struct ts_error *err)
{
    if (run->n_fields == TSD_INPUT_FIELDS)
        return ts_error_set(err, TS_ELIMIT, "the line has more than %u columns", TSD_INPUT_FIELDS);
    TS_ARRAY_GROW(run->fields, run->n_fields, run->max_fields, 64);
    run->fields[run->n_fields++] = field;
    return 0;
}

/* A field in quotes, from behind the first one; its text goes to run->field, which has room for the record. */
static int csv_quoted(struct tsd_input_run *run, const char **at, const char *end, struct ts_slice *out,
                      struct ts_error *err)
{
    const char *p = *at;
    size_t from = run->field.n;
    for (; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
        p += *p == '"';
        run->field.p[run->field.n++] = *p;
    }
    *out = (struct ts_slice){run->field.p + from, run->field.n - from};
    *at = p + (p < end);
    return p < end ? 0 : ts_error_set(err, TS_EBUSY, "the quotes of a field are not closed");
}

int tsd_input_record(struct tsd_input_run *run, struct ts_slice record, char delimiter, struct ts_error *err)
{
    const char *p = record.p, *end = p + record.n;
    run->n_fields = 0;
    ts_buf_clear(&run->field);
    if (record.n && !ts_buf_reserve(&run->field, record.n)) /* once: fields point into it */
        return ts_error_set(err, TS_ELIMIT, "the record is too long");
    for (;;) {
        struct ts_slice field;
        if (p < end && *p == '"') {
            p++;
            TS_TRY(csv_quoted(run, &p, end, &field, err));
        } else {
            const char *stop = p < end ? memchr(p, delimiter, (size_t)(end - p)) : NULL;
            field = (struct ts_slice){p, (size_t)((stop ? stop : end) - p)};
            p += field.n;
        }
        TS_TRY(csv_field_add(run, field, err));
        if (p == end)
            return 0;
        if (*p != delimiter)
            return ts_error_set(err, TS_EPARSE, "column {%zu}: text stands behind the closing quote",
                                run->n_fields - 1);
        p++;
    }
}

/* A line that a held record begins, or goes on with. */
static int csv_hold(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    if (!run->held.n)
        run->held_line = run->line;
    if (run->line - run->held_line < CSV_RECORD_LINES && ts_buf_slice(&run->held, line) == 0 &&
        ts_buf_char(&run->held, '\n') == 0)
        return 0;
    ts_buf_clear(&run->held);
    return ts_error_set(err, TS_ELIMIT, "quotes that open here are not closed within %u lines and %zu bytes",
                        CSV_RECORD_LINES, run->held.max);
}

static int csv_take(struct tsd_input_run *run, struct ts_error *err)
{
    if (run->header)
        return tsd_mapping_points(run->map, run, err);
    TS_TRY(tsd_mapping_header(run->map, run->fields, run->n_fields, err));
    run->header = true;
    return 0;
}

static int csv_line(struct tsd_input_run *run, struct ts_slice line, char delimiter, struct ts_error *err)
{
    if (run->opts->delimiter)
        delimiter = run->opts->delimiter;
    struct ts_slice record = line;
    if (!run->held.n && run->line == 1 && line.n >= 3 && memcmp(line.p, "\xef\xbb\xbf", 3) == 0)
        record = line = (struct ts_slice){line.p + 3, line.n - 3}; /* byte order mark */
    if (!run->held.n && !line.n)
        return 0;
    if (run->held.n && !(line.n && memchr(line.p, '"', line.n)))
        return csv_hold(run, line, err);
    if (run->held.n) {
        if (ts_buf_slice(&run->held, line) < 0)
            return csv_hold(run, line, err);
        record = ts_buf_get(&run->held);
    }
    struct ts_error open = {0};
    int rc = tsd_input_record(run, record, delimiter, &open);
    if (rc == TS_EBUSY) {
        run->held.n -= run->held.n ? line.n : 0;
        return csv_hold(run, line, err);
    }
    rc = rc < 0 ? ts_error_set(err, rc, "%s", open.text) : csv_take(run, err);
    ts_buf_clear(&run->held);
    return rc;
}

int tsd_csv_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    return csv_line(run, line, ',', err);
}

int tsd_tsv_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    return csv_line(run, line, '\t', err);
}

int tsd_csv_end(struct tsd_input_run *run, struct ts_error *err)
{
    if (!run->held.n)
        return 0;
    ts_buf_clear(&run->held);
    return ts_error_set(err, TS_EPARSE, "the file ends before the quotes that open in this line are closed");
}

/* Two lines, or a single one, with the same number of a character in each. */
static bool csv_guess(struct ts_slice lines, char delimiter)
{
    struct ts_slice first, second;
    if (!tsd_input_first(&lines, &first) || !memchr(first.p, delimiter, first.n))
        return false;
    return !tsd_input_first(&lines, &second) || memchr(second.p, '"', second.n) ||
           ts_slice_count(first, delimiter) == ts_slice_count(second, delimiter);
}

bool tsd_csv_guess(struct ts_slice lines)
{
    return csv_guess(lines, ',') || csv_guess(lines, ';');
}

bool tsd_tsv_guess(struct ts_slice lines)
{
    return csv_guess(lines, '\t');
}
