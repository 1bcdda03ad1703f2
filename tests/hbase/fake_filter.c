/*
 * fake_filter.c - HBase's filter language: ParseFilter's syntax, and the filters that tsd uses.
 *
 * Text in single quotes is bytes as they are, a quote is doubled. AND binds more tightly than OR, both in capitals. A row that is compared with a
 * regular expression is decoded as UTF-8 first, and what is malformed in it becomes U+FFFD: the language cannot select another charset.
 */
#include "tests/hbase/fake_filter.h"

#include <stdio.h>

#include "base/regex.h"
#include "base/text.h"

#define MAX_ARGS 64

struct parser {
    const char *p, *end;
    struct ts_arena *arena;
    struct fake_error *e;
    unsigned depth;
};

static struct fake_filter *wrong(struct parser *s, const char *what)
{
    if (s->e->kind == FAKE_FINE) { /* HBase gives no reason: its handler does not expect the exception */
        s->e->kind = FAKE_APPLICATION;
        (void)snprintf(s->e->text, sizeof s->e->text, "Internal error processing a filter: %s", what);
    }
    return NULL;
}

static void blanks(struct parser *s)
{
    while (s->p < s->end && *s->p == ' ')
        s->p++;
}

static bool take(struct parser *s, const char *word)
{
    size_t n = strlen(word);
    blanks(s);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
        return false;
    s->p += n;
    return true;
}

/* --- arguments --- */

struct args {
    struct ts_slice v[MAX_ARGS];
    size_t n;
};

/* 'bytes', without the quotes. */
static bool quoted(struct parser *s, struct ts_slice *out)
{
    char *to = ts_arena_alloc(s->arena, (size_t)(s->end - s->p) + 1);
    *out = (struct ts_slice){to, 0};
    for (s->p++; s->p < s->end; s->p++) {
        if (*s->p == '\'' && (s->p + 1 == s->end || s->p[1] != '\'')) {
            s->p++;
            return true;
        }
        s->p += *s->p == '\'';
        to[out->n++] = *s->p;
    }
    return false;
}

static bool arguments(struct parser *s, struct args *out)
{
    out->n = 0;
    if (!take(s, "("))
        return false;
    while (!take(s, ")")) {
        if ((out->n && !take(s, ",")) || out->n == MAX_ARGS)
            return false;
        struct ts_slice *v = &out->v[out->n++];
        blanks(s);
        if (s->p < s->end && *s->p == '\'') {
            if (!quoted(s, v))
                return false;
            continue;
        }
        *v = (struct ts_slice){s->p, 0};
        while (s->p < s->end && *s->p != ',' && *s->p != ')' && *s->p != ' ' && *s->p != '\'')
            s->p++;
        v->n = (size_t)(s->p - v->p);
        if (!v->n)
            return false;
    }
    return true;
}

static bool operator(struct ts_slice v, enum sto_thrift_compare *out)
{
    static const char *const names[] = {"<", "<=", "=", "!=", ">=", ">"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ts_slice_is(v, names[i])) {
            *out = (enum sto_thrift_compare)i;
            return true;
        }
    return false;
}

/* Bytes of a well-formed character at p; 0: malformed, and *skip bytes of it become one U+FFFD, as in Java. */
static size_t character(const unsigned char *p, size_t n, size_t *skip)
{
    size_t want = p[0] < 0x80                    ? 1
                  : p[0] >= 0xc2 && p[0] <= 0xdf ? 2
                  : p[0] >= 0xe0 && p[0] <= 0xef ? 3
                  : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4
                                                 : 0;
    *skip = 1;
    for (size_t i = 1; i < want; i++) {
        unsigned char low = i > 1 ? 0x80 : p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
        unsigned char high = i > 1 ? 0xbf : p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
        if (i == n || p[i] < low || p[i] > high) {
            *skip = i;
            return 0;
        }
    }
    return want;
}

/* Decode as Java does, and encode again. */
static void as_text(struct ts_slice s, struct ts_buf *out)
{
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t i = 0, skip; i < s.n;) {
        size_t n = character(p + i, s.n - i, &skip);
        if (n)
            ts_buf_append(out, p + i, n);
        else
            ts_buf_str(out, "\xef\xbf\xbd");
        i += n ? n : skip;
    }
}

/* "binary:bytes" */
static bool comparator(struct ts_slice v, struct fake_filter *out)
{
    static const char *const names[] = {"binary", "binaryprefix", "regexstring", "substring"};
    const char *colon = v.n ? memchr(v.p, ':', v.n) : NULL;
    size_t n = colon ? (size_t)(colon - v.p) : 0;
    for (size_t i = 0; colon && i < sizeof names / sizeof *names; i++)
        if (ts_slice_is((struct ts_slice){v.p, n}, names[i])) {
            out->comparator = (enum comparator)i;
            out->text = (struct ts_slice){colon + 1, v.n - n - 1};
            bool text = i == REGEX || i == SUBSTRING;
            if (text && out->op != STO_THRIFT_EQUAL && out->op != STO_THRIFT_NOT_EQUAL)
                return false;
            if (i == REGEX) {
                struct ts_buf b;
                ts_buf_init(&b, 0);
                ts_buf_str(&b, "(?s)");
                as_text(out->text, &b);
                int rc = ts_regex_new(ts_buf_get(&b), false, TS_REGEX_STEPS, &out->regex, NULL);
                ts_buf_release(&b);
                return rc == 0;
            }
            return true;
        }
    return false;
}

static bool truth(struct ts_slice v, bool *out)
{
    *out = ts_slice_is(v, "true");
    return *out || ts_slice_is(v, "false");
}

/* --- filters --- */

/* The arguments of one filter; false: they are wrong. */
static bool fill(struct fake_filter *x, const struct args *a, struct ts_arena *arena)
{
    switch (x->kind) {
    case COLUMN_PREFIXES:
        x->prefixes = ts_arena_alloc(arena, (a->n + 1) * sizeof *x->prefixes);
        memcpy(x->prefixes, a->v, a->n * sizeof *x->prefixes);
        x->n_prefixes = a->n;
        return a->n >= 1;
    case KEY_ONLY:
    case FIRST_KEY_ONLY:
        return a->n == 0;
    case PREFIX:
    case COLUMN_PREFIX:
        x->text = a->v[0];
        return a->n == 1;
    case COLUMN_RANGE:
        x->text = a->v[0];
        x->to = a->v[2];
        return a->n == 4 && truth(a->v[1], &x->from_inclusive) && truth(a->v[3], &x->to_inclusive);
    case ROW:
    case QUALIFIER:
        return a->n == 2 && operator(a->v[0], &x->op) && comparator(a->v[1], x);
    default:
        return false;
    }
}

static struct fake_filter *one(struct parser *s);

static struct fake_filter *joined(struct parser *s, enum kind kind, struct fake_filter *a,
                                  struct fake_filter *b)
{
    struct fake_filter *x = ts_arena_zalloc(s->arena, sizeof *x);
    x->kind = kind;
    x->a = a;
    x->b = b;
    return x;
}

static struct fake_filter *all_of(struct parser *s)
{
    struct fake_filter *x = one(s);
    while (x && take(s, "AND")) {
        struct fake_filter *y = one(s);
        x = joined(s, ALL_OF, x, y);
    }
    return x;
}

static struct fake_filter *one_of(struct parser *s)
{
    struct fake_filter *x = all_of(s);
    while (x && take(s, "OR")) {
        struct fake_filter *y = all_of(s);
        x = joined(s, ONE_OF, x, y);
    }
    return x;
}

static struct fake_filter *one(struct parser *s)
{
    static const struct {
        const char *name;
        enum kind kind;
    } rows[] = {{"KeyOnlyFilter", KEY_ONLY},
                {"FirstKeyOnlyFilter", FIRST_KEY_ONLY},
                {"PrefixFilter", PREFIX},
                {"ColumnPrefixFilter", COLUMN_PREFIX},
                {"MultipleColumnPrefixFilter", COLUMN_PREFIXES},
                {"ColumnRangeFilter", COLUMN_RANGE},
                {"RowFilter", ROW},
                {"QualifierFilter", QUALIFIER}};
    struct fake_filter *x = NULL;
    if (++s->depth > FAKE_FILTER_DEPTH)
        return wrong(s, "it is nested too deeply");
    if (take(s, "(")) {
        x = one_of(s);
        s->depth--;
        return x && take(s, ")") ? x : wrong(s, "a bracket is not closed");
    }
    blanks(s);
    const char *name = s->p;
    while (s->p < s->end && ((*s->p >= 'A' && *s->p <= 'Z') || (*s->p >= 'a' && *s->p <= 'z')))
        s->p++;
    struct ts_slice word = {name, (size_t)(s->p - name)};
    char text[100];
    (void)snprintf(text, sizeof text, "the fake HBase has no %.60s",
                   ts_arena_strndup(s->arena, word.p, word.n));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (ts_slice_is(word, rows[i].name)) {
            struct args a = {.n = 0};
            x = ts_arena_zalloc(s->arena, sizeof *x);
            x->kind = rows[i].kind;
            s->depth--;
            bool fine = arguments(s, &a) && fill(x, &a, s->arena);
            if (!fine)
                ts_regex_free(x->regex);
            return fine ? x : wrong(s, "its arguments are wrong");
        }
    return wrong(s, text);
}

struct fake_filter *fake__filter(struct ts_arena *arena, struct ts_slice text, struct fake_error *e)
{
    struct parser s = {.p = text.p, .end = text.p + text.n, .arena = arena, .e = e};
    struct fake_filter *x = one_of(&s);
    blanks(&s);
    if (x && s.p < s.end)
        wrong(&s, "something follows it");
    if (e->kind == FAKE_FINE)
        return x;
    fake__filter_release(x);
    return NULL;
}

void fake__filter_release(struct fake_filter *x)
{
    if (!x)
        return;
    fake__filter_release(x->a);
    fake__filter_release(x->b);
    ts_regex_free(x->regex);
    x->regex = NULL;
}

/* --- evaluation --- */

void fake__filter_row(struct fake_filter *x)
{
    if (!x)
        return;
    x->found = false;
    fake__filter_row(x->a);
    fake__filter_row(x->b);
}

static bool regex_finds(struct ts_regex *re, struct ts_slice value)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    as_text(value, &b);
    bool found = ts_regex_find(re, ts_buf_get(&b), 0, NULL) == 1;
    ts_buf_release(&b);
    return found;
}

static bool satisfies(const struct fake_filter *x, struct ts_slice value)
{
    struct ts_slice cut = value;
    int d = 0;
    switch (x->comparator) {
    case BINARY_PREFIX:
        cut.n = value.n < x->text.n ? value.n : x->text.n;
        d = ts_slice_cmp(cut, x->text);
        break;
    case BINARY:
        d = ts_slice_cmp(value, x->text);
        break;
    case REGEX:
        d = regex_finds(x->regex, value) ? 0 : 1;
        break;
    case SUBSTRING:
        d = x->text.n == 0 || (value.n && memmem(value.p, value.n, x->text.p, x->text.n)) ? 0 : 1;
        break;
    }
    switch (x->op) {
    case STO_THRIFT_LESS:
        return d < 0;
    case STO_THRIFT_LESS_OR_EQUAL:
        return d <= 0;
    case STO_THRIFT_EQUAL:
        return d == 0;
    case STO_THRIFT_NOT_EQUAL:
        return d != 0;
    case STO_THRIFT_GREATER_OR_EQUAL:
        return d >= 0;
    default:
        return d > 0;
    }
}

static bool begins(struct ts_slice s, struct ts_slice with)
{
    return s.n >= with.n && (!with.n || memcmp(s.p, with.p, with.n) == 0);
}

static bool in_range(const struct fake_filter *x, struct ts_slice qualifier)
{
    int from = ts_slice_cmp(qualifier, x->text), to = ts_slice_cmp(qualifier, x->to);
    if (x->text.n && (x->from_inclusive ? from < 0 : from <= 0))
        return false;
    return !x->to.n || (x->to_inclusive ? to <= 0 : to < 0);
}

static bool begins_with_one(const struct fake_filter *x, struct ts_slice qualifier)
{
    bool found = false;
    for (size_t i = 0; i < x->n_prefixes && !found; i++)
        found = begins(qualifier, x->prefixes[i]);
    return found;
}

bool fake__filter_cell(struct fake_filter *x, struct ts_slice row, const struct fake_cell *c, bool *no_value)
{
    switch (x->kind) {
    case ALL_OF: /* HBase does not offer a cell to the second one if the first refuses it */
        return fake__filter_cell(x->a, row, c, no_value) && fake__filter_cell(x->b, row, c, no_value);
    case ONE_OF: {
        bool a = fake__filter_cell(x->a, row, c, no_value);
        return fake__filter_cell(x->b, row, c, no_value) || a;
    }
    case KEY_ONLY:
        return *no_value = true;
    case FIRST_KEY_ONLY:
        if (x->found)
            return false;
        return x->found = true;
    case PREFIX:
        return begins(row, x->text);
    case COLUMN_PREFIX:
        return begins(c->qualifier, x->text);
    case COLUMN_PREFIXES:
        return begins_with_one(x, c->qualifier);
    case COLUMN_RANGE:
        return in_range(x, c->qualifier);
    case ROW:
        return satisfies(x, row);
    case QUALIFIER:
        return satisfies(x, c->qualifier);
    case RANGES:
        return fake__range_of(x, row) < x->n_ranges &&
               ts_slice_cmp(row, x->ranges[fake__range_of(x, row)].from) >= 0;
    }
    return false;
}

size_t fake__range_of(const struct fake_filter *x, struct ts_slice row)
{
    size_t lo = 0, hi = x->n_ranges;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (ts_slice_cmp(x->ranges[mid].to, row) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

enum fake_seek fake__filter_seek(const struct fake_filter *x, struct ts_slice row, struct ts_slice *out)
{
    if (!x)
        return FAKE_SEEK_NONE;
    if (x->kind == ALL_OF) {
        enum fake_seek seek = fake__filter_seek(x->a, row, out);
        return seek != FAKE_SEEK_NONE ? seek : fake__filter_seek(x->b, row, out);
    }
    if (x->kind != RANGES)
        return FAKE_SEEK_NONE;
    size_t at = fake__range_of(x, row);
    if (at == x->n_ranges)
        return FAKE_SEEK_END;
    *out = x->ranges[at].from;
    return ts_slice_cmp(row, *out) < 0 ? FAKE_SEEK_ROW : FAKE_SEEK_NONE;
}
