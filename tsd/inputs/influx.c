/*
 * influx.c - InfluxDB's line protocol, as influx_inspect export and backups write it.
 *
 *   measurement,tag=value,tag=value field=1.5,count=3i,ok=true,text="..." 1793620800000000000
 *
 * Each field is a metric, measurement and field with a dot between; true is 1, false 0; texts are left out and counted.
 *
 * Threads    see input.h
 * Source     docs.influxdata.com/influxdb/v1/write_protocols/line_protocol_reference
 */
#include "tsd/inputs/formats.h"

#include "base/cut.h"
#include "base/num.h"
#include "base/text.h"

#define INFLUX_UNITS 1000000000 /* of a time, in a second */
#define INFLUX_YEAR_MS                                                                                       \
    (365 * 86400 *                                                                                           \
     1000LL) /* times so near to 1970 were hardly meant: they count something larger than nanoseconds */

/* Does a backslash that means the next character stand there? */
static bool influx_is_escape(struct ts_slice s, size_t i)
{
    return s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] && strchr(",= ", s.p[i + 1]);
}

/* A word up to one of the ends, without its backslashes; *s then begins at that end. Quotes matter in values alone. */
static struct ts_slice influx_word(struct ts_slice *s, const char *ends, struct ts_arena *arena)
{
    size_t i = 0, n = 0, n_escapes = 0;
    for (; i < s->n && !strchr(ends, s->p[i]); i++)
        if (influx_is_escape(*s, i)) {
            n_escapes++;
            i++;
        }
    struct ts_slice word = {s->p, i};
    *s = (struct ts_slice){s->p + i, s->n - i};
    if (!n_escapes)
        return word;
    char *out = ts_arena_alloc(arena, word.n - n_escapes);
    for (size_t k = 0; k < word.n; k++) {
        k += influx_is_escape(word, k);
        out[n++] = word.p[k];
    }
    return (struct ts_slice){out, n};
}

static bool influx_char(struct ts_slice *s, char c)
{
    if (!s->n || *s->p != c)
        return false;
    *s = (struct ts_slice){s->p + 1, s->n - 1};
    return true;
}

/* A value; *out_text: it was a text. False: quotes that do not close. */
static bool influx_value(struct ts_slice *s, struct ts_slice *out, bool *out_text)
{
    size_t i = 0;
    *out_text = s->n && *s->p == '"';
    if (*out_text) {
        for (i = 1; i < s->n && s->p[i] != '"'; i++)
            i += s->p[i] == '\\' && i + 1 < s->n;
        if (i >= s->n)
            return false;
        i++;
    } else {
        while (i < s->n && s->p[i] != ',' && s->p[i] != ' ')
            i++;
    }
    *out = (struct ts_slice){s->p, i};
    *s = (struct ts_slice){s->p + i, s->n - i};
    return true;
}

/* true and false, and numbers without their type. */
static struct ts_slice influx_number(struct ts_slice v)
{
    static const char *const yes[] = {"t", "true"}, *const no[] = {"f", "false"};
    for (size_t i = 0; i < 2; i++) {
        if (ts_slice_is_nocase(v, yes[i]))
            return TS_SLICE_LIT("1");
        if (ts_slice_is_nocase(v, no[i]))
            return TS_SLICE_LIT("0");
    }
    if (v.n > 1 && (v.p[v.n - 1] == 'i' || v.p[v.n - 1] == 'u'))
        v.n--;
    return v;
}

/* Where the time stands: behind the fields' last blank that is not quoted. */
static int influx_time(struct tsd_input_run *run, struct ts_slice fields, int64_t *out_ms,
                       struct ts_error *err)
{
    struct ts_slice s = fields, value;
    bool text;
    while (s.n && *s.p != ' ') {
        (void)influx_word(&s, "=, ", &run->arena);
        if (!influx_char(&s, '=') || !influx_value(&s, &value, &text))
            return ts_error_set(err, TS_EPARSE, "a field is not NAME=VALUE");
        (void)influx_char(&s, ',');
    }
    s = ts_slice_trim(s);
    if (s.n) {
        TS_TRY(tsd_input_number_time(run, s, INFLUX_UNITS, out_ms, err));
        if (run->opts->units_per_s || *out_ms >= INFLUX_YEAR_MS || *out_ms <= -INFLUX_YEAR_MS)
            return 0;
        return ts_error_set(err, TS_EPARSE,
                            "the time %.*s is in 1970 if it counts nanoseconds: --time-unit s, ms or us says "
                            "what it counts, --time-unit ns that it is right",
                            TS_SHOWN(s, 40));
    }
    run->n_timeless++;
    *out_ms = ts_floor_div(run->opts->now_ms, 1000) * 1000;
    return 0;
}

static int influx_fields(struct tsd_input_run *run, struct ts_slice measurement, struct ts_slice s,
                         struct ts_slice tags, struct ts_error *err)
{
    int64_t ts_ms = 0;
    TS_TRY(influx_time(run, s, &ts_ms, err));
    while (s.n && *s.p != ' ') {
        struct ts_slice value, name = influx_word(&s, "=, ", &run->arena);
        bool text = false;
        (void)influx_char(&s, '=');
        (void)influx_value(&s, &value, &text);
        (void)influx_char(&s, ',');
        if (text || tsd_input_missing(run, value)) {
            run->n_missing++;
            continue;
        }
        ts_buf_clear(&run->point);
        ts_buf_slice(&run->point, measurement);
        ts_buf_char(&run->point, '.');
        ts_buf_slice(&run->point, name);
        if (tsd_input_point(run, ts_buf_get(&run->point), ts_ms, influx_number(value), tags, err) < 0) {
            struct ts_error why = *err;
            return ts_error_set(err, why.code, "field %.*s: %s", TS_SHOWN(name, 60), why.text);
        }
    }
    return 0;
}

static int influx_take(struct tsd_input_run *run, struct ts_slice line, struct ts_buf *tags,
                       struct ts_error *err)
{
    struct ts_slice s = line, measurement = influx_word(&s, ", ", &run->arena);
    while (influx_char(&s, ',')) {
        struct ts_slice key = influx_word(&s, "=, ", &run->arena);
        if (!key.n || !influx_char(&s, '='))
            return ts_error_set(err, TS_EPARSE, "a tag is not NAME=VALUE, at character %zu",
                                line.n - s.n + 1);
        tsd_input_tag(tags, key, influx_word(&s, ", ", &run->arena));
    }
    if (!measurement.n || !influx_char(&s, ' ') || !memchr(s.p, '=', s.n))
        return ts_error_set(err, TS_EPARSE, "not MEASUREMENT,tag=value FIELD=VALUE TIME");
    if (tags->failed)
        return ts_error_set(err, TS_ELIMIT, "the tags are longer than %zu bytes", TSD_INPUT_POINT_BYTES);
    while (influx_char(&s, ' '))
        ;
    return influx_fields(run, measurement, s, ts_buf_get(tags), err);
}

/* Lines of an export that say where its points were. */
static bool influx_is_other(struct ts_slice line)
{
    return !line.n || *line.p == '#' || ts_slice_begins_nocase(line, "CREATE DATABASE ") ||
           ts_slice_begins_nocase(line, "CREATE RETENTION ");
}

int tsd_influx_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    struct ts_buf tags;
    line = ts_slice_trim(line);
    if (influx_is_other(line))
        return 0;
    ts_buf_init(&tags, TSD_INPUT_POINT_BYTES);
    int rc = influx_take(run, line, &tags, err);
    ts_buf_release(&tags);
    ts_arena_release(&run->arena);
    return rc;
}

/* "word,k=v f=v 123" or "word f=v 123": behind the first blank stands '=' before any other one, the last word is a number or no time. */
bool tsd_influx_guess(struct ts_slice lines)
{
    struct ts_slice line;
    size_t i = 0;
    int64_t time;
    do
        if (!tsd_input_first(&lines, &line))
            return false;
    while (influx_is_other(line));
    while (i < line.n && line.p[i] != ' ')
        i += line.p[i] == '\\' ? 2 : 1;
    if (i == 0 || i >= line.n || memchr(line.p, '{', i))
        return false;
    struct ts_slice fields = ts_slice_trim((struct ts_slice){line.p + i, line.n - i});
    const char *eq = fields.n ? memchr(fields.p, '=', fields.n) : NULL,
               *last = eq ? memrchr(fields.p, ' ', fields.n) : NULL;
    if (!eq || eq == fields.p || memchr(fields.p, ' ', (size_t)(eq - fields.p)))
        return false;
    struct ts_slice word =
        last ? (struct ts_slice){last + 1, (size_t)(fields.p + fields.n - last) - 1} : fields;
    return memchr(word.p, '=', word.n) || memchr(word.p, '"', word.n) ||
           ts_num_parse_int(word, &time, NULL) == 0;
}
