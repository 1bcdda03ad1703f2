/*
 * put_json.c - data points out of JSON.
 *
 * Threads    see put_json.h
 * Invariant  the pull parser takes a part of what RFC 8259 allows and nothing it does not, but NaN and
 * Infinity, which OpenTSDB's parser lets through to the check of values
 */
#include "tsd/protocols/http/put_json.h"

#include "base/budget.h"

#include <strings.h>

#define PUT_JSON_FIRST 16 /* capacity for points at first; doubles */

/* Answers of the pull parser. */
enum pull {
    PULL_OK = 0,
    PULL_ODD = 1,   /* not the usual shape, or not JSON: parse with jansson */
    PULL_LARGE = 2, /* more points than ts_json_max_values */
    PULL_FULL = 3,  /* the arena's account refuses */
};

struct pull_state {
    const char *p, *end;           /* what is left */
    struct ts_arena *arena;        /* for points and tags */
    struct tsd_put_point *points;  /* found */
    size_t n_points, max_points;   /* in use, allocated */
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
    point->tags = ts_arena_try(s->arena, n * sizeof(*point->tags) + 1);
    if (!point->tags)
        return PULL_FULL;
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

/* Twice as many points. */
static bool pull_grow(struct pull_state *s)
{
    size_t max = s->max_points ? 2 * s->max_points : PUT_JSON_FIRST;
    struct tsd_put_point *more = ts_arena_try(s->arena, max * sizeof(*more));
    if (!more)
        return false;
    if (s->n_points)
        memcpy(more, s->points, s->n_points * sizeof(*more));
    s->points = more;
    s->max_points = max;
    return true;
}

static enum pull pull_point(struct pull_state *s)
{
    enum pull how;
    if (!pull_char(s, '{'))
        return PULL_ODD;
    if (s->n_points == ts_json_max_values())
        return PULL_LARGE;
    if (s->n_points == s->max_points && !pull_grow(s))
        return PULL_FULL;
    struct tsd_put_point *point = &s->points[s->n_points++];
    *point = (struct tsd_put_point){.n_tags = 0};
    for (bool first = true; !pull_char(s, '}'); first = false) {
        if (!first && !pull_char(s, ','))
            return PULL_ODD;
        if ((how = pull_field(s, point)) != PULL_OK)
            return how;
    }
    return PULL_OK;
}

static enum pull pull_body(struct ts_slice body, struct ts_arena *arena, struct tsd_put_body *out)
{
    struct pull_state s = {.p = body.p, .end = body.p + body.n, .arena = arena};
    enum pull how;
    out->is_array = pull_char(&s, '[');
    if (!out->is_array) {
        if ((how = pull_point(&s)) != PULL_OK)
            return how;
    } else if (!pull_char(&s, ']')) {
        do {
            if ((how = pull_point(&s)) != PULL_OK)
                return how;
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

/* jansson makes its own of numbers (1.50 is 1.5, -0 is 0, 2^63 none at all), and a tag value is the text that was
 * sent. So numbers become strings before: MARK and their text. A string that begins with MARK gets another one. */
#define MARK '\x7f'

/* A string, copied, escapes as they are; false: it doesn't end. */
static bool mark_string(struct pull_state *s, struct ts_buf *out)
{
    const char *from = s->p++;
    static const char escaped[] = "\\u007f";
    size_t n = sizeof(escaped) - 1;
    bool twice = s->p < s->end && *s->p == MARK;
    if ((size_t)(s->end - s->p) >= n && !strncasecmp(s->p, escaped, n))
        twice = true;
    while (s->p < s->end && *s->p != '"')
        s->p += *s->p == '\\' && s->end - s->p > 1 ? 2 : 1;
    if (s->p == s->end) {
        ts_buf_append(out, from,
                      (size_t)(s->end - from)); /* or the rest of the body could be JSON without it */
        return false;
    }
    s->p++;
    ts_buf_char(out, *from++);
    if (twice)
        ts_buf_char(out, MARK);
    ts_buf_append(out, from, (size_t)(s->p - from));
    return true;
}

/* Copy a number as a string. What is not a number, or is a number in the place of a name, is copied unchanged as far as it was read, so that no
 * byte is read twice. */
static void mark_number(struct pull_state *s, struct ts_buf *out)
{
    const char *from = s->p;
    struct ts_slice number;
    bool whole = pull_number(s, &number);
    const char *after = s->p > from ? s->p : from + 1;
    bool name = whole && pull_char(s, ':');
    s->p = after;
    if (!whole || name) {
        ts_buf_append(out, from, (size_t)(after - from));
        return;
    }
    ts_buf_char(out, '"');
    ts_buf_char(out, MARK);
    ts_buf_slice(out, number);
    ts_buf_char(out, '"');
}

/* The body with its numbers as strings. What is no JSON stays none. */
static void mark_numbers(struct ts_slice body, struct ts_buf *out)
{
    struct pull_state s = {.p = body.p, .end = body.p + body.n};
    while (s.p < s.end) {
        char c = *s.p;
        if (c == '"') {
            if (!mark_string(&s, out))
                return;
        } else if (c == '-' || c == 'N' || c == 'I' || (unsigned char)(c - '0') <= 9) {
            mark_number(&s, out);
        } else {
            ts_buf_char(out, c);
            s.p++;
        }
    }
}

/* A string of the marked tree as it was sent. */
static struct ts_slice mark_off(const char *p, size_t n)
{
    return n && *p == MARK ? (struct ts_slice){p + 1, n - 1} : (struct ts_slice){p, n};
}

static bool marked_number(const json_t *v)
{
    const char *p = json_string_value(v);
    return p && p[0] == MARK && p[1] != MARK;
}

/* Text of a string or number; {NULL, 0} for anything else. */
static struct ts_slice tree_text(const json_t *v)
{
    if (json_is_string(v))
        return mark_off(json_string_value(v), json_string_length(v));
    if (json_is_boolean(v))
        return ts_slice_str(json_is_true(v) ? "true" : "false");
    return (struct ts_slice){NULL, 0};
}

/* One point of the tree; false: the arena's account refuses its tags. */
static bool tree_point(json_t *v, struct ts_arena *arena, struct tsd_put_point *out)
{
    *out = (struct tsd_put_point){.null_point = !json_is_object(v)};
    if (out->null_point)
        return true;
    json_t *time = json_object_get(v, "timestamp"), *tags = json_object_get(v, "tags");
    out->metric = tree_text(json_object_get(v, "metric"));
    out->time = tree_text(time);
    out->time_quoted = json_is_string(time) && !marked_number(time);
    out->value = tree_text(json_object_get(v, "value"));
    if (!json_is_object(tags))
        return true;
    out->tags = ts_arena_try(arena, json_object_size(tags) * sizeof(*out->tags) + 1);
    if (!out->tags)
        return false;
    const char *k;
    json_t *tag;
    json_object_foreach(tags, k, tag) out->tags[out->n_tags++] =
        (struct sto_tag_text){mark_off(k, strlen(k)), tree_text(tag)};
    return true;
}

/* out->texts; the error is that of the body as it was sent. */
static int tree_load(struct ts_slice body, struct ts_budget *budget, struct tsd_put_body *out,
                     struct ts_error *why)
{
    struct ts_buf marked;
    json_t *as_sent;
    ts_buf_init(&marked, 0);
    marked.budget = budget;
    mark_numbers(body, &marked);
    int rc =
        marked.failed ? ts_json_no_memory(body.n, why) : ts_json_load(ts_buf_get(&marked), &out->texts, why);
    ts_buf_release(&marked);
    if (rc == TS_EPARSE && ts_json_load(body, &as_sent, why) == 0)
        json_decref(as_sent);
    return rc;
}

/* There is no memory for a body and its points: at present, or never, when they alone need more than half of what a client may have. */
static int put_no_memory(struct ts_slice body, const struct ts_arena *arena, struct ts_error *err)
{
    uint64_t most = arena->budget ? ts_budget_most(arena->budget) : UINT64_MAX;
    if (body.n + arena->used_bytes <= most / 2)
        return ts_json_no_memory(body.n, err);
    return ts_error_set(
        err, TS_ELIMIT,
        "The points of a body of %zu bytes need more memory than http_body_total_bytes (%llu) leaves "
        "one request: send them in parts",
        body.n, (unsigned long long)most);
}

static int tree_body(struct ts_slice body, bool tree, struct ts_arena *arena, struct tsd_put_body *out,
                     struct ts_error *err, struct ts_error *details)
{
    struct ts_error why = {0};
    int rc = tree_load(body, arena->budget, out, &why);
    if (rc == 0 && tree)
        rc = ts_json_load(body, &out->tree, &why);
    if (rc < 0) {
        if (details)
            *details = why;
        tsd_put_body_release(out);
        if (rc == TS_ENOMEM || rc == TS_ELIMIT)
            return ts_error_set(err, rc, "%s", why.text);
        return ts_error_set(err, TS_EPARSE, "Unable to parse the given JSON");
    }
    out->is_array = json_is_array(out->texts);
    out->n_points = out->is_array ? json_array_size(out->texts) : 1;
    out->points = ts_arena_try(arena, out->n_points * sizeof(*out->points) + 1);
    bool fits = out->points != NULL;
    for (size_t i = 0; fits && i < out->n_points; i++)
        fits = tree_point(out->is_array ? json_array_get(out->texts, i) : out->texts, arena, &out->points[i]);
    if (fits)
        return 0;
    tsd_put_body_release(out);
    return put_no_memory(body, arena, err);
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
    enum pull how = tree ? PULL_ODD : pull_body(body, arena, out);
    if (how == PULL_FULL)
        return put_no_memory(body, arena, err);
    if (how != PULL_ODD)
        return how == PULL_OK ? 0 : ts_json_too_large(err);
    int rc = tree_body(body, tree, arena, out, err, details);
    return rc == TS_ENOMEM ? put_no_memory(body, arena, err) : rc;
}

void tsd_put_body_release(struct tsd_put_body *b)
{
    json_decref(b->tree);
    json_decref(b->texts);
    b->tree = b->texts = NULL;
}
