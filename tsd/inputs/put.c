/*
 * put.c - put lines: what they look like.
 *
 * Threads    see input.h
 * Not here   reading them (tsd/protocols/line/put.h)
 */
#include "tsd/inputs/formats.h"

#include "base/array.h"
#include "base/cut.h"
#include "base/text.h"
#include "tsd/inputs/import_line.h"

/* "put ...", "rollup ...", "histogram ..." or four words of which the last holds a tag and the first holds neither ',' nor '{'. */
bool tsd_put_guess(struct ts_slice lines)
{
    static const char *const words[] = {"put ", "rollup ", "histogram "};
    struct ts_slice line;
    if (!tsd_input_first(&lines, &line))
        return true; /* nothing but comments */
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (ts_slice_begins_nocase(line, words[i]))
            return true;
    struct ts_slice metric = ts_slice_cut(&line, ' ');
    (void)ts_slice_cut(&line, ' ');
    struct ts_slice value = ts_slice_cut(&line, ' ');
    return value.n && line.n && memchr(line.p, '=', line.n) && !memchr(value.p, '=', value.n) &&
           !memchr(metric.p, ',', metric.n) && !memchr(metric.p, '{', metric.n);
}

/* The line with the zone of --tz, as UTC, where its time names none. */
static int put_zoned(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    const struct tsd_input_opts *opts = run->opts;
    struct ts_slice word = tsd_import_time(line);
    int64_t ms;
    bool local = word.n > 11 && word.p[4] == '-' && word.p[10] == 'T';
    for (size_t i = 11; i < word.n && local; i++)
        local = !strchr("Zz+-", word.p[i]);
    int rc = local ? ts_time_parse_clock(word, opts->tz, opts->now_ms, &ms, err) : TS_EPARSE;
    if (rc == TS_ENOTFOUND)
        return rc;
    if (rc < 0) { /* whoever stores the line says what is wrong */
        ts_buf_slice(&run->text, line);
        return 0;
    }
    ts_buf_slice(&run->text, (struct ts_slice){line.p, (size_t)(word.p - line.p)});
    ts_time_print(NULL, ms, memchr(word.p, '.', word.n) != NULL, &run->text);
    size_t end = (size_t)(word.p + word.n - line.p);
    ts_buf_slice(&run->text, (struct ts_slice){line.p + end, line.n - end});
    return 0;
}

/* A put line, a rollup or a histogram, with more tags, or with the zone of its time. */
int tsd_tagged_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    line = ts_slice_trim(line);
    if (!line.n || *line.p == '#')
        return 0;
    struct ts_slice rest = line;
    if (ts_slice_begins_nocase(rest, "put "))
        (void)ts_slice_cut(&rest, ' ');
    if (ts_slice_count(rest, ' ') < 2) /* one of --tag would stand in the place of another word */
        return ts_error_set(err, TS_EPARSE, "too few words (a line is METRIC TIME VALUE TAG=VALUE ...)");
    if (line.n + run->opts->tags.n > TSD_INPUT_POINT_BYTES)
        return ts_error_set(err, TS_ELIMIT, "a point would be longer than %zu bytes", TSD_INPUT_POINT_BYTES);
    if (run->opts->zoned)
        TS_TRY(put_zoned(run, line, err));
    else
        ts_buf_slice(&run->text, line);
    ts_buf_slice(&run->text, run->opts->tags);
    ts_buf_char(&run->text, '\n');
    TS_ARRAY_GROW(run->line_of, run->n_points, run->cap, 4096);
    run->line_of[run->n_points++] = run->first_line;
    return 0;
}
