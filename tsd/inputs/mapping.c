/*
 * mapping.c - the text of a mapping to templates, and the fields of a record to points by them.
 *
 * Threads    see mapping.h
 */
#include "tsd/inputs/mapping.h"

#include "base/array.h"
#include "base/cut.h"
#include "base/num.h"
#include "base/text.h"

#define MAP_PARTS    32u /* of one text */
#define MAP_SHOWN    60  /* bytes of a text in an error */
#define MAP_NO_FIELD UINT32_MAX

/* A part of a text. */
struct map_part {
    struct ts_slice literal; /* text as it stands; p NULL: a reference */
    struct ts_slice shown;   /* a reference as it was written, for errors */
    struct ts_slice name;    /* of the column; p NULL: by number or range */
    uint32_t column;         /* its number, found in the header if it has a name; MAP_NO_FIELD for {} */
    uint32_t from, to;       /* a range of characters, from 1, both inclusive */
    struct ts_slice format;  /* of a time; p NULL = none */
};

struct map_text {
    struct map_part *parts; /* in the arena */
    unsigned n;             /* of them */
};

struct map_tag {
    struct ts_slice key;
    struct map_text text;
};

struct map_value {
    struct map_text metric; /* parts shared with other values */
    struct map_text text;   /* one reference */
    double factor;          /* of the value; 0 = none */
    bool divide;            /* by factor instead */
};

struct tsd_mapping {
    struct ts_arena arena;    /* of all texts */
    bool fixed;               /* references are ranges */
    bool named;               /* some are names */
    struct map_text time;     /* the time */
    struct ts_slice format;   /* of all of it; p NULL: forms of time as in queries */
    struct map_value *values; /* owned */
    unsigned n_values, cap_values;
    struct map_tag *tags; /* owned */
    unsigned n_tags, cap_tags;
    struct map_part **refs; /* owned: all references but {} */
    unsigned n_refs, cap_refs;
};

/* A mapping being parsed. */
struct map_parse {
    struct tsd_mapping *m;
    const char *from, *p, *end; /* the text, what is left */
    struct map_text metric;     /* of the values that follow */
    struct ts_error *err;
};

static int map_wrong(const struct map_parse *s, const char *what)
{
    return ts_error_set(s->err, TS_EINVAL, "the mapping, character %zu: %s", (size_t)(s->p - s->from) + 1,
                        what);
}

static bool map_number(struct ts_slice *s, uint32_t *out)
{
    uint32_t v = 0;
    size_t n = 0;
    while (n < s->n && n < 7 && s->p[n] >= '0' && s->p[n] <= '9')
        v = v * 10 + (uint32_t)(s->p[n++] - '0');
    *out = v;
    *s = (struct ts_slice){s->p + n, s->n - n};
    return n > 0;
}

/* FROM-TO. */
static bool map_range(struct ts_slice s, struct map_part *part)
{
    if (!map_number(&s, &part->from) || !s.n || *s.p != '-')
        return false;
    s = (struct ts_slice){s.p + 1, s.n - 1};
    return map_number(&s, &part->to) && !s.n && part->from >= 1 && part->to >= part->from;
}

static int map_ref_add(struct map_parse *s, struct map_part *part)
{
    struct tsd_mapping *m = s->m;
    if (m->n_refs == TSD_MAPPING_REFS)
        return map_wrong(s, "there are too many references to columns");
    TS_ARRAY_GROW(m->refs, m->n_refs, m->cap_refs, 16);
    m->refs[m->n_refs++] = part;
    if (m->fixed)
        part->column = m->n_refs - 1;
    return 0;
}

/* What stands between braces. */
static int map_ref(struct map_parse *s, struct ts_slice inner, struct map_part *part)
{
    struct tsd_mapping *m = s->m;
    const char *colon = inner.n ? memchr(inner.p, ':', inner.n) : NULL;
    part->shown = inner;
    part->column = MAP_NO_FIELD;
    if (!inner.n)
        return 0;
    struct ts_slice what = {inner.p, colon ? (size_t)(colon - inner.p) : inner.n}, rest = what;
    part->shown = what;
    if (colon)
        part->format = (struct ts_slice){colon + 1, inner.n - what.n - 1};
    if (m->fixed && !map_range(what, part))
        return map_wrong(s, "with fixed widths a reference is {FROM-TO}, characters counted from 1");
    if (!m->fixed && !(map_number(&rest, &part->column) && !rest.n)) {
        if (!what.n)
            return map_wrong(s, "a reference has no column");
        part->name = what;
        part->column = MAP_NO_FIELD;
        m->named = true;
    } else if (!m->fixed && part->column >= TSD_INPUT_FIELDS) {
        return map_wrong(s, "columns go from {0} to {4095}");
    }
    return map_ref_add(s, part);
}

/* A literal up to the next brace or comma; backslashes go. */
static void map_literal(struct map_parse *s, struct map_part *part)
{
    char *text = ts_arena_alloc(&s->m->arena, (size_t)(s->end - s->p) + 1);
    size_t n = 0;
    while (s->p < s->end && *s->p != '{' && *s->p != ',') {
        s->p += *s->p == '\\' && s->p + 1 < s->end;
        text[n++] = *s->p++;
    }
    part->literal = (struct ts_slice){text, n};
}

/* The text of an item, up to a comma. */
static int map_text(struct map_parse *s, struct map_text *out)
{
    struct map_part *parts = ts_arena_zalloc(&s->m->arena, MAP_PARTS * sizeof(*parts));
    *out = (struct map_text){.parts = parts};
    while (s->p < s->end && *s->p != ',') {
        if (out->n == MAP_PARTS)
            return map_wrong(s, "a text has too many parts");
        if (*s->p != '{') {
            map_literal(s, &parts[out->n++]);
            continue;
        }
        const char *close = memchr(s->p, '}', (size_t)(s->end - s->p));
        if (!close || memchr(s->p + 1, '{', (size_t)(close - s->p - 1)))
            return map_wrong(s, "this brace is not closed");
        TS_TRY(map_ref(s, (struct ts_slice){s->p + 1, (size_t)(close - s->p - 1)}, &parts[out->n++]));
        s->p = close + 1;
    }
    struct map_part range = {0};
    if (s->m->fixed && out->n == 1 && parts[0].literal.p && map_range(parts[0].literal, &range)) {
        range.shown = parts[0].literal; /* station=1-11 */
        parts[0] = range;
        return map_ref_add(s, &parts[0]);
    }
    return out->n ? 0 : map_wrong(s, "a text is missing behind =");
}

static bool map_is_ref(const struct map_part *part)
{
    return !part->literal.p;
}

/* The time: if references have formats, the literals between them are part of the format of the whole. */
static int map_time(struct map_parse *s)
{
    struct tsd_mapping *m = s->m;
    bool format = false, plain = false;
    size_t n = 0;
    if (m->time.n)
        return map_wrong(s, "time stands twice");
    TS_TRY(map_text(s, &m->time));
    for (unsigned i = 0; i < m->time.n; i++) {
        const struct map_part *part = &m->time.parts[i];
        n += part->format.n + part->literal.n * 2;
        format |= part->format.p != NULL;
        plain |= map_is_ref(part) && !part->format.p;
        if (map_is_ref(part) && part->column == MAP_NO_FIELD && !part->name.p)
            return map_wrong(s, "{} stands for a value's name, in metric alone");
    }
    if (!format)
        return 0;
    if (plain)
        return map_wrong(s, "either all references of a time have a format or none");
    char *text = ts_arena_alloc(&m->arena, n + 1);
    n = 0;
    for (unsigned i = 0; i < m->time.n; i++) {
        struct ts_slice add =
            map_is_ref(&m->time.parts[i]) ? m->time.parts[i].format : m->time.parts[i].literal;
        for (size_t k = 0; k < add.n; k++) {
            if (add.p[k] == '%' && !map_is_ref(&m->time.parts[i]))
                text[n++] = '%';
            text[n++] = add.p[k];
        }
    }
    m->format = (struct ts_slice){text, n};
    struct ts_error why = {0};
    return ts_time_format_check(m->format, &why) < 0 ? map_wrong(s, why.text) : 0;
}

/* One column, and perhaps a factor: {5}, {5}/10, {5}*0.1. */
static int map_value(struct map_parse *s)
{
    struct tsd_mapping *m = s->m;
    struct map_value v = {.metric = s->metric};
    struct ts_num num;
    if (!s->metric.n)
        return map_wrong(s, "a metric must stand before its value: metric=NAME,value={COLUMN}");
    if (m->n_values == TSD_MAPPING_VALUES)
        return map_wrong(s, "there are too many values");
    TS_TRY(map_text(s, &v.text));
    const struct map_part *first = &v.text.parts[0], *scale = &v.text.parts[1];
    if (!map_is_ref(first) || (first->column == MAP_NO_FIELD && !first->name.p) || first->format.p ||
        v.text.n > 2)
        return map_wrong(s, "a value is one column, {COLUMN}, perhaps with a factor behind it, as in {5}/10");
    if (v.text.n == 2) {
        v.divide = scale->literal.n && scale->literal.p[0] == '/';
        if (!map_is_ref(scale) && (v.divide || (scale->literal.n && scale->literal.p[0] == '*')) &&
            ts_num_parse((struct ts_slice){scale->literal.p + 1, scale->literal.n - 1}, &num, NULL) == 0)
            v.factor = ts_num_double(num);
        if (v.factor == 0)
            return map_wrong(s, "the factor of a value is /NUMBER or *NUMBER, and not 0");
    }
    TS_ARRAY_GROW(m->values, m->n_values, m->cap_values, 8);
    m->values[m->n_values++] = v;
    return 0;
}

static int map_tag(struct map_parse *s, struct ts_slice key)
{
    struct tsd_mapping *m = s->m;
    struct map_tag tag = {.key = key};
    for (unsigned i = 0; i < m->n_tags; i++)
        if (ts_slice_eq(m->tags[i].key, key))
            return map_wrong(s, "this tag stands twice");
    if (m->n_tags == 255)
        return map_wrong(s, "there are too many tags");
    TS_TRY(map_text(s, &tag.text));
    for (unsigned i = 0; i < tag.text.n; i++)
        if (map_is_ref(&tag.text.parts[i]) && (tag.text.parts[i].format.p || (!tag.text.parts[i].shown.n)))
            return map_wrong(s, "a tag takes columns, {COLUMN}, without a format");
    TS_ARRAY_GROW(m->tags, m->n_tags, m->cap_tags, 8);
    m->tags[m->n_tags++] = tag;
    return 0;
}

static int map_metric(struct map_parse *s)
{
    TS_TRY(map_text(s, &s->metric));
    for (unsigned i = 0; i < s->metric.n; i++)
        if (s->metric.parts[i].format.p)
            return map_wrong(s, "only a time has a format");
    return 0;
}

static int map_items(struct map_parse *s)
{
    while (s->p < s->end) {
        const char *eq = memchr(s->p, '=', (size_t)(s->end - s->p));
        struct ts_slice key = {s->p, eq ? (size_t)(eq - s->p) : 0};
        key = ts_slice_trim(key);
        if (!key.n || memchr(key.p, ',', key.n) || memchr(key.p, '{', key.n))
            return map_wrong(s, "an item is NAME=TEXT: time=, metric=, value= or a tag");
        s->p = eq + 1;
        TS_TRY(ts_slice_is(key, "time")     ? map_time(s)
               : ts_slice_is(key, "metric") ? map_metric(s)
               : ts_slice_is(key, "value")  ? map_value(s)
                                            : map_tag(s, key));
        s->p += s->p < s->end;
    }
    if (!s->m->time.n)
        return map_wrong(s, "time is missing: time={COLUMN}");
    return s->m->n_values ? 0 : map_wrong(s, "value is missing: metric=NAME,value={COLUMN}");
}

int tsd_mapping_parse(struct ts_slice text, bool fixed, struct tsd_mapping **out, struct ts_error *err)
{
    *out = NULL;
    if (text.n > TSD_MAPPING_BYTES)
        return ts_error_set(err, TS_EINVAL, "the mapping is longer than %u bytes", TSD_MAPPING_BYTES);
    struct tsd_mapping *m = ts_xcalloc(1, sizeof(*m));
    ts_arena_init(&m->arena, 0);
    m->fixed = fixed;
    const char *copy = ts_arena_strndup(&m->arena, text.p ? text.p : "", text.n);
    struct map_parse s = {.m = m, .from = copy, .p = copy, .end = copy + text.n, .err = err};
    int rc = map_items(&s);
    if (rc < 0)
        tsd_mapping_free(m);
    else
        *out = m;
    return rc;
}

void tsd_mapping_free(struct tsd_mapping *m)
{
    if (!m)
        return;
    ts_arena_release(&m->arena);
    ts_free(m->values);
    ts_free(m->tags);
    ts_free(m->refs);
    ts_free(m);
}

bool tsd_mapping_named(const struct tsd_mapping *m)
{
    return m->named;
}

/* --- records --- */

int tsd_mapping_header(struct tsd_mapping *m, const struct ts_slice *fields, size_t n, struct ts_error *err)
{
    for (unsigned i = 0; i < m->n_refs; i++) {
        struct map_part *part = m->refs[i];
        if (!part->name.p)
            continue;
        part->column = MAP_NO_FIELD;
        for (size_t k = 0; k < n && part->column == MAP_NO_FIELD; k++)
            if (ts_slice_eq(ts_slice_trim(fields[k]), part->name))
                part->column = (uint32_t)k;
        if (part->column != MAP_NO_FIELD)
            continue;
        struct ts_buf list;
        ts_buf_init(&list, 600);
        for (size_t k = 0; k < n; k++) {
            ts_buf_str(&list, k ? ", " : "");
            ts_buf_slice(&list, fields[k]);
        }
        int rc = ts_error_set(err, TS_EINVAL, "the header has no column {%.*s}; it has %.*s%s",
                              TS_SHOWN(part->name, MAP_SHOWN), TS_SHOWN(ts_buf_get(&list), 300),
                              list.failed || list.n > 300 ? " ..." : "");
        ts_buf_release(&list);
        return rc;
    }
    return 0;
}

void tsd_mapping_cut(const struct tsd_mapping *m, struct tsd_input_run *run, struct ts_slice line)
{
    run->n_fields = 0;
    for (unsigned i = 0; i < m->n_refs; i++) {
        size_t from = m->refs[i]->from - 1, to = m->refs[i]->to < line.n ? m->refs[i]->to : line.n;
        struct ts_slice field =
            from < to ? (struct ts_slice){line.p + from, to - from} : (struct ts_slice){NULL, 0};
        TS_ARRAY_GROW(run->fields, run->n_fields, run->max_fields, 64);
        run->fields[run->n_fields++] = ts_slice_trim(field);
    }
}

static int map_at(const struct map_part *part, struct ts_error *err)
{
    struct ts_error why = *err;
    return ts_error_set(err, why.code, "column {%.*s}: %s", TS_SHOWN(part->shown, MAP_SHOWN), why.text);
}

static int map_field(const struct tsd_input_run *run, const struct map_part *part, struct ts_slice *out,
                     struct ts_error *err)
{
    if (part->column >= run->n_fields)
        return ts_error_set(err, TS_EPARSE, "column {%.*s}: the line has only %zu columns",
                            TS_SHOWN(part->shown, MAP_SHOWN), run->n_fields);
    *out = run->fields[part->column];
    return 0;
}

/* A text with its references resolved, into out. own: the value's column, whose name {} is. */
static int map_render(const struct tsd_input_run *run, const struct map_text *text,
                      const struct map_part *own, struct ts_buf *out, struct ts_error *err)
{
    ts_buf_clear(out);
    for (unsigned i = 0; i < text->n; i++) {
        const struct map_part *part = &text->parts[i];
        struct ts_slice field = part->literal;
        if (!field.p && !part->shown.n)
            field = own->shown;
        else if (!field.p)
            TS_TRY(map_field(run, part, &field, err));
        if (ts_buf_slice(out, field) < 0)
            return ts_error_set(err, TS_ELIMIT, "a text of the mapping becomes longer than %zu bytes",
                                TSD_INPUT_POINT_BYTES);
    }
    return 0;
}

static bool map_is_number(struct ts_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] < '0' || s.p[i] > '9') && s.p[i] != '.' && s.p[i] != '-')
            return false;
    return s.n > 0 && !memchr(s.p + 1, '-', s.n - 1) && (s.n != 8 && s.n != 4);
}

static int map_read_time(const struct tsd_mapping *m, struct tsd_input_run *run, int64_t *out_ms,
                         struct ts_error *err)
{
    TS_TRY(map_render(run, &m->time, NULL, &run->point, err));
    struct ts_slice text = ts_slice_trim(ts_buf_get(&run->point));
    int rc = m->format.p ? ts_time_format_read(text, m->format, run->opts->tz, out_ms, err)
             : run->opts->units_per_s || map_is_number(text)
                 ? tsd_input_number_time(run, text, 0, out_ms, err)
                 : ts_time_parse_clock(text, run->opts->tz, run->opts->now_ms, out_ms, err);
    return rc < 0 && m->time.n == 1 && map_is_ref(&m->time.parts[0]) ? map_at(&m->time.parts[0], err) : rc;
}

/* A value by its factor, as text in scratch. */
static struct ts_slice map_scaled(const struct map_value *v, struct ts_slice field,
                                  char scratch[TS_NUM_TEXT_BYTES])
{
    struct ts_num num;
    if (v->factor == 0 || ts_num_parse(ts_slice_trim(field), &num, NULL) < 0)
        return field; /* what is no number is found later */
    unsigned digits = 0;
    while (v->divide && digits < 9 && ts_pow10[digits] != v->factor)
        digits++;
    double d;
    if (v->divide && digits < 9 && num.kind != TS_NUM_RAW && num.exp + digits <= TS_NUM_MAX_EXP) {
        d = (double)num.m /
            ts_pow10[num.exp + digits]; /* -11 / 10 is -1.1, without an error of rounding of its own */
    } else {
        d = ts_num_double(num);
        d = v->divide ? d / v->factor : d * v->factor;
    }
    return (struct ts_slice){scratch, ts_num_print_double(d, scratch)};
}

/* All tags of a record, into the arena. */
static int map_tags(const struct tsd_mapping *m, struct tsd_input_run *run, struct ts_slice *out,
                    struct ts_error *err)
{
    struct ts_buf tags;
    int rc = 0;
    ts_buf_init(&tags, TSD_INPUT_POINT_BYTES);
    for (unsigned i = 0; rc == 0 && i < m->n_tags; i++) {
        rc = map_render(run, &m->tags[i].text, NULL, &run->point, err);
        tsd_input_tag(&tags, m->tags[i].key, ts_buf_get(&run->point));
    }
    if (rc == 0 && tags.failed)
        rc = ts_error_set(err, TS_ELIMIT, "the tags become longer than %zu bytes", TSD_INPUT_POINT_BYTES);
    if (rc == 0)
        *out = (struct ts_slice){ts_arena_strndup(&run->arena, tags.n ? tags.p : "", tags.n), tags.n};
    ts_buf_release(&tags);
    return rc;
}

int tsd_mapping_points(const struct tsd_mapping *m, struct tsd_input_run *run, struct ts_error *err)
{
    char scratch[TS_NUM_TEXT_BYTES];
    struct ts_slice tags = {0}, field = {0};
    int64_t ts_ms = 0;
    int rc = map_read_time(m, run, &ts_ms, err);
    if (rc == 0)
        rc = map_tags(m, run, &tags, err);
    for (unsigned i = 0; rc == 0 && i < m->n_values; i++) {
        const struct map_value *v = &m->values[i];
        const struct map_part *column = &v->text.parts[0];
        rc = map_field(run, column, &field, err);
        if (rc == 0 && tsd_input_missing(run, field)) {
            run->n_missing++;
            continue;
        }
        if (rc == 0)
            rc = map_render(run, &v->metric, column, &run->point, err);
        if (rc == 0 && (rc = tsd_input_point(run, ts_buf_get(&run->point), ts_ms,
                                             map_scaled(v, field, scratch), tags, err)) < 0)
            rc = map_at(column, err);
    }
    ts_arena_release(&run->arena);
    return rc;
}
