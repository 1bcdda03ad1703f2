/*
 * search_terms.c - the words of a query, and whether they hold.
 *
 * Regular expressions are limited: a match that takes too many steps ends the search. Values that are not UTF-8
 * match none.
 *
 * Threads    see search.h
 */
#include "tsd/meta/search.h"

#include "base/array.h"
#include "base/regex.h"

#include <strings.h>

#define TERMS_MAX        64
#define TERM_MATCH_LIMIT 100000 /* steps of a regular expression on one value */

enum term_kind { TERM_CONTAINS, TERM_LIKE, TERM_EXACT, TERM_REGEX };

struct term {
    enum term_kind kind;   /* how */
    struct ts_slice field; /* "" = any */
    struct ts_slice text;  /* what; without case for CONTAINS and LIKE */
    struct ts_regex *re;   /* REGEX; owned */
};

struct tsd_terms {
    struct ts_arena arena;      /* of texts */
    struct term all[TERMS_MAX]; /* the words */
    size_t n;                   /* how many */
};

static char term_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* --- reading --- */

/* A word without its quotes: field, kind, text. */
static int term_read(struct tsd_terms *t, struct ts_slice word, bool quoted, struct ts_error *err)
{
    if (t->n == TERMS_MAX)
        return ts_error_set(err, TS_ELIMIT, "A search has at most %d words", TERMS_MAX);
    struct term *term = &t->all[t->n++];
    size_t i = 0;
    while (!quoted && i < word.n && word.p[i] != ':' && word.p[i] != '=' && word.p[i] != '/')
        i++;
    bool field = !quoted && i && i < word.n && word.p[i] != '/';
    *term = (struct term){.text = word};
    if (field) {
        term->field = (struct ts_slice){word.p, i};
        term->text = (struct ts_slice){word.p + i + 1, word.n - i - 1};
        if (word.p[i] == '=') {
            term->kind = TERM_EXACT;
            return 0;
        }
    }
    size_t n = term->text.n;
    const char *p = term->text.p;
    bool caseless = n > 2 && p[n - 1] == 'i' && p[n - 2] == '/';
    if (!quoted && n > 1 && p[0] == '/' && (p[n - 1] == '/' || caseless)) {
        term->text = (struct ts_slice){p + 1, n - 2 - caseless};
        term->kind = TERM_REGEX;
        return ts_regex_new(term->text, caseless, TERM_MATCH_LIMIT, &term->re, err);
    }
    char *low = ts_arena_strndup(&t->arena, p, n);
    for (size_t k = 0; k < n; k++)
        low[k] = term_lower(low[k]);
    term->text.p = low;
    if (n && (memchr(low, '*', n) || memchr(low, '?', n)))
        term->kind = TERM_LIKE;
    return 0;
}

/* The next word: quotes keep blanks and are removed. */
static size_t term_word(struct tsd_terms *t, struct ts_slice q, size_t i, struct ts_slice *out, bool *quoted)
{
    char *p = ts_arena_alloc(&t->arena, q.n - i + 1);
    size_t n = 0;
    bool in = false;
    *quoted = q.p[i] == '"';
    for (; i < q.n && (in || q.p[i] != ' '); i++) {
        if (q.p[i] == '"')
            in = !in;
        else if (q.p[i] == '\\' && i + 1 < q.n && (q.p[i + 1] == '"' || q.p[i + 1] == ' '))
            p[n++] = q.p[++i];
        else
            p[n++] = q.p[i];
    }
    *out = (struct ts_slice){p, n};
    return i;
}

int tsd_terms_new(struct ts_slice query, struct tsd_terms **out, struct ts_error *err)
{
    struct tsd_terms *t = ts_xcalloc(1, sizeof(*t));
    int rc = 0;
    *out = NULL;
    ts_arena_init(&t->arena, 0);
    for (size_t i = 0; i < query.n && rc == 0; i++) {
        struct ts_slice word;
        bool quoted;
        if (query.p[i] == ' ')
            continue;
        i = term_word(t, query, i, &word, &quoted);
        rc = term_read(t, word, quoted, err);
    }
    if (rc < 0)
        tsd_terms_free(t);
    else
        *out = t;
    return rc;
}

void tsd_terms_free(struct tsd_terms *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        ts_regex_free(t->all[i].re);
    ts_arena_release(&t->arena);
    ts_free(t);
}

/* --- matching --- */

static bool term_contains(struct ts_slice value, struct ts_slice low)
{
    for (size_t i = 0; i + low.n <= value.n; i++) {
        size_t k = 0;
        while (k < low.n && term_lower(value.p[i + k]) == low.p[k])
            k++;
        if (k == low.n)
            return true;
    }
    return false;
}

/* Stars and question marks: back to the last star when a character does not fit. */
static bool term_like(struct ts_slice value, struct ts_slice low)
{
    size_t v = 0, p = 0, star = SIZE_MAX, from = 0;
    while (v < value.n) {
        if (p < low.n && low.p[p] == '*') {
            star = p++;
            from = v;
        } else if (p < low.n && (low.p[p] == '?' || low.p[p] == term_lower(value.p[v]))) {
            p++;
            v++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            v = ++from;
        } else {
            return false;
        }
    }
    while (p < low.n && low.p[p] == '*')
        p++;
    return p == low.n;
}

static int term_holds(const struct term *term, struct ts_slice value, struct ts_error *err)
{
    switch (term->kind) {
    case TERM_EXACT:
        return ts_slice_eq(value, term->text);
    case TERM_LIKE:
        return term_like(value, term->text);
    case TERM_REGEX:
        return ts_regex_find(term->re, value, 0, err);
    case TERM_CONTAINS:
        break;
    }
    return term_contains(value, term->text);
}

static bool term_same_name(struct ts_slice a, struct ts_slice b)
{
    return a.n == b.n && !strncasecmp(a.p, b.p, a.n);
}

static int term_match(const struct term *term, const struct tsd_doc *doc, struct ts_error *err)
{
    struct ts_slice field = term->field;
    if (field.n > 7 && !strncasecmp(field.p, "custom.", 7))
        field = (struct ts_slice){field.p + 7, field.n - 7};
    int rc = 0;
    for (size_t i = 0; i < doc->n && rc == 0; i++)
        if (field.n == 0 || term_same_name(doc->fields[i].name, field))
            rc = term_holds(term, doc->fields[i].value, err);
    return rc;
}

int tsd_terms_match(const struct tsd_terms *t, const struct tsd_doc *doc, struct ts_error *err)
{
    int rc = 1;
    for (size_t i = 0; i < t->n && rc > 0; i++)
        rc = term_match(&t->all[i], doc, err);
    return rc;
}

uint64_t tsd_terms_steps(const struct tsd_terms *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->n; i++)
        sum += t->all[i].re ? ts_regex_steps(t->all[i].re) : 0;
    return sum;
}

/* --- documents --- */

void tsd_doc_add(struct tsd_doc *doc, struct ts_slice name, struct ts_slice value)
{
    TS_ARRAY_GROW(doc->fields, doc->n, doc->cap, 16);
    doc->fields[doc->n++] = (struct qry_param){name, value};
}

static void doc_map(struct tsd_doc *doc, struct ts_slice map, struct ts_arena *arena)
{
    json_t *root, *v;
    const char *k;
    if (!map.n || ts_json_load(map, &root, NULL) < 0)
        return;
    json_object_foreach(root, k, v)
    {
        size_t n_k = strlen(k), n_v = json_string_length(v);
        if (json_is_string(v))
            tsd_doc_add(doc, (struct ts_slice){ts_arena_strndup(arena, k, n_k), n_k},
                        (struct ts_slice){ts_arena_strndup(arena, json_string_value(v), n_v), n_v});
    }
    json_decref(root);
}

void tsd_doc_record(struct tsd_doc *doc, const struct tsd_record *r, struct ts_arena *arena)
{
    for (size_t i = 0; r->fields[i].name; i++) {
        if (r->fields[i].kind == TSD_FIELD_MAP)
            doc_map(doc, r->v[i].text, arena);
        else if (r->fields[i].kind == TSD_FIELD_TEXT)
            tsd_doc_add(doc, ts_slice_str(r->fields[i].name), r->v[i].text);
    }
}
