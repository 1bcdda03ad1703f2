/*
 * input.c - what the formats share: names, numbers, points as put lines.
 *
 * Threads    see input.h
 */
#include "tsd/inputs/input.h"

#include "base/array.h"
#include "base/cut.h"
#include "base/num.h"
#include "base/text.h"
#include "tsd/inputs/mapping.h"

#include <math.h>
#include <stdio.h>

#define INPUT_SHOWN 60 /* bytes of a text in an error */

int tsd_input_begin(struct tsd_input_run *run, const struct tsd_input *row, const struct tsd_input_opts *opts,
                    struct ts_error *err)
{
    size_t max = opts->max_line_bytes ? opts->max_line_bytes : TSD_INPUT_LINE_BYTES;
    *run = (struct tsd_input_run){.row = row, .opts = opts};
    ts_buf_init(&run->text, 0);
    ts_buf_init(&run->held, max);
    ts_buf_init(&run->field, max);
    ts_buf_init(&run->point, TSD_INPUT_POINT_BYTES);
    ts_arena_init(&run->arena, 0);
    if (!row->mapped)
        return 0;
    bool fixed = strcmp(row->name, "fixed") == 0;
    if (!opts->mapping.p)
        return ts_error_set(err, TS_EINVAL, "%s needs --%s, which says what each column is", row->name,
                            fixed ? "fixed" : "csv");
    TS_TRY(tsd_mapping_parse(opts->mapping, fixed, &run->map, err));
    tsd_input_file(run);
    return 0;
}

void tsd_input_file(struct tsd_input_run *run)
{
    run->header = !run->map || !tsd_mapping_named(run->map);
    run->n_skipped = 0;
    run->held.n = 0;
    run->line = 0;
}

int tsd_input_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    size_t n = run->text.n, n_points = run->n_points;
    size_t max = run->opts->max_line_bytes ? run->opts->max_line_bytes : TSD_INPUT_LINE_BYTES;
    run->first_line = run->held.n ? run->held_line : run->line;
    if (run->n_skipped < run->opts->n_skip) {
        run->n_skipped++;
        return 0;
    }
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    int rc = line.n > max
                 ? ts_error_set(err, TS_ELIMIT, "the line is longer than %zu bytes (--max-line)", max)
                 : run->row->line(run, line, err);
    if (rc < 0) {
        run->text.n = n;
        run->n_points = n_points;
    }
    return rc;
}

int tsd_input_end(struct tsd_input_run *run, struct ts_error *err)
{
    run->first_line = run->held_line;
    return run->row->end ? run->row->end(run, err) : 0;
}

void tsd_input_release(struct tsd_input_run *run)
{
    tsd_mapping_free(run->map);
    ts_buf_release(&run->text);
    ts_buf_release(&run->held);
    ts_buf_release(&run->field);
    ts_buf_release(&run->point);
    ts_arena_release(&run->arena);
    ts_free(run->line_of);
    ts_free(run->fields);
    *run = (struct tsd_input_run){0};
}

static bool input_name_char(unsigned char c)
{
    return c >= 128 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || c == '.' || c == '/';
}

void tsd_input_name(struct ts_buf *out, struct ts_slice name)
{
    char *room = name.n ? ts_buf_reserve(out, name.n) : NULL;
    if (!room)
        return;
    for (size_t i = 0; i < name.n; i++)
        room[i] = name.p[i];
    for (size_t i = 0; i < name.n; i++)
        if (!input_name_char((unsigned char)room[i]))
            room[i] = '_';
    out->n += name.n;
}

void tsd_input_tag(struct ts_buf *out, struct ts_slice key, struct ts_slice value)
{
    value = ts_slice_trim(value);
    if (!value.n)
        return;
    ts_buf_char(out, ' ');
    tsd_input_name(out, key);
    ts_buf_char(out, '=');
    tsd_input_name(out, value);
}

/* A whole number beyond 64 bits becomes a double, by ".0" behind it. */
static bool input_is_large(struct ts_slice s)
{
    size_t i = s.n && (*s.p == '-' || *s.p == '+');
    if (s.n - i < 19 || s.n > 300)
        return false;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    return i == s.n;
}

/* Seconds, with three decimals if there are milliseconds; milliseconds beyond what seconds may be. The values of a record, and often of
 * its neighbours, have the same time. */
static void input_time(struct tsd_input_run *run, int64_t ts_ms)
{
    uint64_t ms = ts_ms < 0 ? 0 - (uint64_t)ts_ms : (uint64_t)ts_ms, s = ms / 1000;
    const char *sign = ts_ms < 0 ? "-" : "";
    int n;
    if (s > UINT32_MAX)
        n = snprintf(run->time_text, sizeof run->time_text, " %s%llu", sign, (unsigned long long)ms);
    else if (ms % 1000)
        n = snprintf(run->time_text, sizeof run->time_text, " %s%u.%03u", sign, (unsigned)s,
                     (unsigned)(ms % 1000));
    else /* a point says that eight digits are not a date */
        n = snprintf(run->time_text, sizeof run->time_text, " %s%u%s", sign, (unsigned)s,
                     ts_time_is_date((int64_t)s) ? "." : "");
    run->n_time = (size_t)n;
    run->time_ms = ts_ms;
}

int tsd_input_point(struct tsd_input_run *run, struct ts_slice metric, int64_t ts_ms, struct ts_slice value,
                    struct ts_slice tags, struct ts_error *err)
{
    struct ts_num num;
    struct ts_error why = {0};
    bool large = false;
    value = ts_slice_trim(value);
    if (ts_num_parse(value, &num, &why) < 0 && !(large = input_is_large(value)))
        return ts_error_set(err, TS_EPARSE, "\"%.*s\" is not a number", TS_SHOWN(value, INPUT_SHOWN));
    size_t n = run->text.n;
    tsd_input_name(&run->text, metric);
    if (run->text.n == n)
        return ts_error_set(err, TS_EPARSE, "the name of the metric is empty");
    if (!run->n_time || run->time_ms != ts_ms)
        input_time(run, ts_ms);
    ts_buf_append(&run->text, run->time_text, run->n_time);
    ts_buf_char(&run->text, ' ');
    ts_buf_slice(&run->text, value);
    if (large)
        ts_buf_str(&run->text, ".0");
    ts_buf_slice(&run->text, tags);
    if (run->opts->tags.n)
        ts_buf_slice(&run->text, run->opts->tags);
    if (run->text.n - n > TSD_INPUT_POINT_BYTES)
        return ts_error_set(err, TS_ELIMIT, "a point would be longer than %zu bytes", TSD_INPUT_POINT_BYTES);
    ts_buf_char(&run->text, '\n');
    TS_ARRAY_GROW(run->line_of, run->n_points, run->cap, 4096);
    run->line_of[run->n_points++] = run->first_line;
    return 0;
}

bool tsd_input_missing(const struct tsd_input_run *run, struct ts_slice value)
{
    static const char *const words[] = {"", "na", "n/a", "nan", "null", "none"};
    struct ts_slice more = run->opts->missing, word;
    value = ts_slice_trim(value);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (ts_slice_is_nocase(value, words[i]))
            return true;
    while (ts_slice_next(&more, ',', &word))
        if (ts_slice_eq(word, value))
            return true;
    return false;
}

/* By the size of a time: seconds to the year 2286, then milli-, micro- and nanoseconds. */
static int64_t input_units(double v)
{
    v = fabs(v);
    return v < 1e10 ? 1 : v < 1e13 ? 1000 : v < 1e16 ? 1000000 : 1000000000;
}

int tsd_input_number_time(const struct tsd_input_run *run, struct ts_slice text, int64_t units_per_s,
                          int64_t *out_ms, struct ts_error *err)
{
    struct ts_num num;
    if (ts_num_parse(text, &num, NULL) < 0)
        return ts_error_set(err, TS_EPARSE, "\"%.*s\" is not a time", TS_SHOWN(text, INPUT_SHOWN));
    double v = ts_num_double(num);
    int64_t units = run->opts->units_per_s ? run->opts->units_per_s : units_per_s;
    if (!units)
        units = input_units(v);
    if (num.kind == TS_NUM_INT && units >= 1000) {
        *out_ms = ts_floor_div(num.m, units / 1000);
        return 0;
    }
    v = floor(v * 1000 / (double)units + (units == 1 ? 0.5 : 0));
    if (!(fabs(v) < 9e15))
        return ts_error_set(err, TS_ELIMIT, "the time \"%.*s\" is too far away", TS_SHOWN(text, INPUT_SHOWN));
    *out_ms = (int64_t)v;
    return 0;
}

bool tsd_input_first(struct ts_slice *lines, struct ts_slice *out_line)
{
    while (ts_slice_next(lines, '\n', out_line)) {
        out_line->n -= out_line->n && out_line->p[out_line->n - 1] == '\r';
        if (ts_slice_trim(*out_line).n && *out_line->p != '#')
            return true;
    }
    return false;
}
