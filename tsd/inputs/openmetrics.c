/*
 * openmetrics.c - OpenMetrics and the text format of Prometheus, with or without times.
 *
 * Times are seconds with a fraction in OpenMetrics, milliseconds in Prometheus' format: their size says which. A sample without a time gets that of the import.
 *
 * Threads    see input.h
 * Not here   names and labels (base/sample.h)
 */
#include "tsd/inputs/formats.h"

#include "base/cut.h"
#include "base/sample.h"
#include "base/text.h"

/* The next word, and what is behind it. */
static struct ts_slice sample_word(struct ts_slice *s)
{
    *s = ts_slice_trim(*s);
    size_t n = 0;
    while (n < s->n && s->p[n] != ' ' && s->p[n] != '\t')
        n++;
    struct ts_slice word = {s->p, n};
    *s = (struct ts_slice){s->p + n, s->n - n};
    return word;
}

static int sample_time(struct tsd_input_run *run, struct ts_slice word, int64_t units_per_s, int64_t *out_ms,
                       struct ts_error *err)
{
    if (word.n && *word.p != '#')
        return tsd_input_number_time(run, word, units_per_s, out_ms, err);
    run->n_timeless++;
    *out_ms = ts_floor_div(run->opts->now_ms, 1000) * 1000;
    return 0;
}

static bool sample_is_infinite(struct ts_slice word)
{
    return ts_slice_is(word, "+Inf") || ts_slice_is(word, "-Inf") || ts_slice_is(word, "Inf");
}

int tsd_sample_point(struct tsd_input_run *run, struct ts_slice line, int64_t units_per_s,
                     struct ts_error *err)
{
    struct ts_sample *sample = ts_arena_alloc(&run->arena, sizeof(*sample));
    struct ts_slice rest = line;
    int64_t ts_ms = 0;
    bool read = ts_sample_read(&rest, sample);
    size_t at = line.n - rest.n + 1;
    struct ts_slice value = sample_word(&rest);
    int rc = read && value.n
                 ? sample_time(run, sample_word(&rest), units_per_s, &ts_ms, err)
                 : ts_error_set(err, TS_EPARSE,
                                "not METRIC{LABEL=\"VALUE\"} VALUE TIME, from character %zu on", at);
    ts_buf_clear(&run->point);
    for (unsigned i = 0; rc == 0 && i < sample->n_labels; i++)
        tsd_input_tag(&run->point, ts_slice_str(sample->keys[i]), ts_slice_str(sample->values[i]));
    if (rc == 0 && (sample_is_infinite(value) || tsd_input_missing(run, value)))
        run->n_missing++;
    else if (rc == 0)
        rc = tsd_input_point(run, ts_slice_str(sample->metric), ts_ms, value, ts_buf_get(&run->point), err);
    ts_arena_release(&run->arena);
    return rc;
}

int tsd_openmetrics_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    line = ts_slice_trim(line);
    return line.n && *line.p != '#' ? tsd_sample_point(run, line, 0, err) : 0;
}

/* "# TYPE" or "# HELP" among the first lines, or a name with a brace. */
bool tsd_openmetrics_guess(struct ts_slice lines)
{
    struct ts_slice rest = lines, line;
    while (ts_slice_next(&rest, '\n', &line))
        if (ts_slice_begins_nocase(line, "# TYPE ") || ts_slice_begins_nocase(line, "# HELP "))
            return true;
    if (!tsd_input_first(&lines, &line))
        return false;
    struct ts_slice word = sample_word(&line);
    const char *brace = memchr(word.p, '{', word.n), *comma = memchr(word.p, ',', word.n);
    return brace && brace > word.p && (!comma || brace < comma);
}
