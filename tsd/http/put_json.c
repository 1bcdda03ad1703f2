/*
 * put_json.c - data points out of JSON.
 *
 * Threads    see put_json.h
 * Invariant  the pull parser takes a part of what RFC 8259 allows and nothing it does not, but NaN and
 * Infinity, which OpenTSDB's parser lets through to the check of values
 */
#include "tsd/http/put_json.h"

#define PUT_JSON_FIRST 16 /* points and tags room at first; doubles */

/* Answers of the pull parser. */
enum pull {
    PULL_OK = 0,
    PULL_ODD = 1, /* not the usual shape, or not JSON: ask jansson */
};

struct pull_state {
    const char *p, *end;           /* what is left */
    struct ts_arena *arena;        /* for points and tags */
    struct tsd_put_point *points;  /* found */
    size_t n_points, max_points;   /* in use, room */
    struct sto_tag_text tags[256]; /* of the present point */
};

static void pull_blank(struct pull_state *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t'))
        s->p++;
}

static bool pull_char(struct pull_state *s, char c)
{
    pull_blank(s);
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

/* A string without escapes. */
static bool pull_string(struct pull_state *s, struct ts_slice *out)
{
    if (!pull_char(s, '"'))
        return false;
    const char *from = s->p;
    while (s->p < s->end && *s->p != '"') {
        if (*s->p == '\\' || (unsigned char)*s->p < 0x20)
            return false;
        s->p++;
    }
    if (s->p == s->end)
        return false;
    *out = (struct ts_slice){from, (size_t)(s->p - from)};
    s->p++;
    return true;
}

static bool pull_digits(struct pull_state *s)
{
    const char *from = s->p;
    while (s->p < s->end && (unsigned char)(*s->p - '0') <= 9)
        s->p++;
    return s->p > from;
}

static bool pull_word(struct pull_state *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n))
        return false;
    s->p += n;
    return true;
}

/* A number, its text as it stands. */
static bool pull_number(struct pull_state *s, struct ts_slice *out)
{
    pull_blank(s);
    const char *from = s->p;
    if (s->p < s->end && *s->p == '-')
        s->p++;
    if (pull_word(s, "NaN") || pull_word(s, "Infinity")) {
        *out = (struct ts_slice){from, (size_t)(s->p - from)};
        return true;
    }
    const char *whole = s->p;
    if (!pull_digits(s) || (*whole == '0' && s->p - whole > 1))
        return false;
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        if (!pull_digits(s))
            return false;
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        if (!pull_digits(s))
            return false;
    }
    *out = (struct ts_slice){from, (size_t)(s->p - from)};
    return true;
}

static bool pull_scalar(struct pull_state *s, struct ts_slice *out, bool *out_quoted)
{
    pull_blank(s);
    *out_quoted = s->p < s->end && *s->p == '"';
    return *out_quoted ? pull_string(s, out) : pull_number(s, out);
}

static enum pull pull_tags(struct pull_state *s, struct tsd_put_point *point)
{
    uint32_t n = 0;
    bool quoted;
    if (!pull_char(s, '{'))
        return PULL_ODD;
    while (!pull_char(s, '}')) {
        struct sto_tag_text tag;
        if ((n && !pull_char(s, ',')) || n == sizeof(s->tags) / sizeof(s->tags[0]) ||
            !pull_string(s, &tag.k) || !pull_char(s, ':') || !pull_scalar(s, &tag.v, &quoted))
            return PULL_ODD;
        uint32_t i = 0;
        while (i < n && !ts_slice_eq(s->tags[i].k, tag.k))
            i++;
        s->tags[i] = tag;
        n += i == n;
    }
    point->tags = ts_arena_alloc(s->arena, n * sizeof(*point->tags) + 1);
    memcpy(point->tags, s->tags, n * sizeof(*point->tags));
    point->n_tags = n;
    return PULL_OK;
}

static enum pull pull_field(struct pull_state *s, struct tsd_put_point *point)
{
    struct ts_slice name, other;
    bool quoted;
    if (!pull_string(s, &name) || !pull_char(s, ':'))
        return PULL_ODD;
    if (ts_slice_is(name, "tags"))
        return pull_tags(s, point);
    if (ts_slice_is(name, "metric"))
        return pull_string(s, &point->metric) ? PULL_OK : PULL_ODD;
    if (ts_slice_is(name, "timestamp"))
        return pull_scalar(s, &point->time, &point->time_quoted) ? PULL_OK : PULL_ODD;
    if (ts_slice_is(name, "value"))
        return pull_scalar(s, &point->value, &quoted) ? PULL_OK : PULL_ODD;
    return pull_scalar(s, &other, &quoted) ? PULL_OK : PULL_ODD;
}

static enum pull pull_point(struct pull_state *s)
{
    if (!pull_char(s, '{'))
        return PULL_ODD;
    if (s->n_points == s->max_points) {
        struct tsd_put_point *more = ts_arena_alloc(s->arena, 2 * s->max_points * sizeof(*more));
        memcpy(more, s->points, s->n_points * sizeof(*more));
        s->points = more;
        s->max_points *= 2;
    }
    struct tsd_put_point *point = &s->points[s->n_points++];
    *point = (struct tsd_put_point){.n_tags = 0};
    for (bool first = true; !pull_char(s, '}'); first = false)
        if ((!first && !pull_char(s, ',')) || pull_field(s, point) != PULL_OK)
            return PULL_ODD;
    return PULL_OK;
}

static enum pull pull_body(struct ts_slice body, struct ts_arena *arena, struct tsd_put_body *out)
{
    struct pull_state s = {.p = body.p, .end = body.p + body.n, .arena = arena, .max_points = PUT_JSON_FIRST};
    s.points = ts_arena_alloc(arena, s.max_points * sizeof(*s.points));
    out->is_array = pull_char(&s, '[');
    if (!out->is_array) {
        if (pull_point(&s) != PULL_OK)
            return PULL_ODD;
    } else if (!pull_char(&s, ']')) {
        do {
            if (pull_point(&s) != PULL_OK)
                return PULL_ODD;
        } while (pull_char(&s, ','));
        if (!pull_char(&s, ']'))
            return PULL_ODD;
    }
    pull_blank(&s);
    out->points = s.points;
    out->n_points = s.n_points;
    return s.p == s.end ? PULL_OK : PULL_ODD;
}

/* --- the tree --- */

/* Text of a string or number; {NULL, 0} for anything else. */
static struct ts_slice tree_text(const json_t *v, struct ts_arena *arena)
{
    char text[TS_NUM_TEXT_BYTES];
    size_t n;
    if (json_is_string(v))
        return (struct ts_slice){json_string_value(v), json_string_length(v)};
    if (json_is_integer(v))
        n = ts_num_print_int(json_integer_value(v), text);
    else if (json_is_real(v))
        n = ts_num_print_double(json_real_value(v), text);
    else if (json_is_boolean(v))
        return ts_slice_str(json_is_true(v) ? "true" : "false");
    else
        return (struct ts_slice){NULL, 0};
    return (struct ts_slice){ts_arena_strndup(arena, text, n), n};
}

static void tree_point(json_t *v, struct ts_arena *arena, struct tsd_put_point *out)
{
    *out = (struct tsd_put_point){.null_point = !json_is_object(v)};
    if (out->null_point)
        return;
    json_t *time = json_object_get(v, "timestamp"), *tags = json_object_get(v, "tags");
    out->metric = tree_text(json_object_get(v, "metric"), arena);
    out->time = tree_text(time, arena);
    out->time_quoted = json_is_string(time);
    out->value = tree_text(json_object_get(v, "value"), arena);
    if (!json_is_object(tags))
        return;
    out->tags = ts_arena_alloc(arena, json_object_size(tags) * sizeof(*out->tags) + 1);
    const char *k;
    json_t *tag;
    json_object_foreach(tags, k, tag) out->tags[out->n_tags++] =
        (struct sto_tag_text){ts_slice_str(k), tree_text(tag, arena)};
}

static int tree_body(struct ts_slice body, struct ts_arena *arena, struct tsd_put_body *out,
                     struct ts_error *err, struct ts_error *details)
{
    struct ts_error why = {0};
    if (ts_json_load(body, &out->tree, &why) < 0) {
        if (details)
            *details = why;
        return ts_error_set(err, TS_EPARSE, "Unable to parse the given JSON");
    }
    out->is_array = json_is_array(out->tree);
    out->n_points = out->is_array ? json_array_size(out->tree) : 1;
    out->points = ts_arena_alloc(arena, out->n_points * sizeof(*out->points) + 1);
    for (size_t i = 0; i < out->n_points; i++)
        tree_point(out->is_array ? json_array_get(out->tree, i) : out->tree, arena, &out->points[i]);
    return 0;
}

const json_t *tsd_put_body_item(const struct tsd_put_body *b, size_t i)
{
    return b->is_array ? json_array_get(b->tree, i) : b->tree;
}

int tsd_put_body_read(struct ts_slice body, bool tree, struct ts_arena *arena, struct tsd_put_body *out,
                      struct ts_error *err, struct ts_error *details)
{
    *out = (struct tsd_put_body){.points = NULL};
    size_t i = 0;
    while (i < body.n && (body.p[i] == ' ' || body.p[i] == '\n' || body.p[i] == '\r' || body.p[i] == '\t'))
        i++;
    if (i == body.n || (body.p[i] != '{' && body.p[i] != '['))
        return ts_error_set(err, TS_EPARSE, "The JSON must start as an object or an array");
    if (!tree && pull_body(body, arena, out) == PULL_OK)
        return 0;
    return tree_body(body, arena, out, err, details);
}

void tsd_put_body_release(struct tsd_put_body *b)
{
    json_decref(b->tree);
    b->tree = NULL;
}
