/*
 * fields.c - lines, words, numbers.
 *
 * Threads    see fields.h
 */
#include "collectors/core/fields.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define PATTERN_MAX 256 /* bytes of one pattern or name */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool col_line_next(struct ts_slice *text, struct ts_slice *out_line)
{
    if (!text->n)
        return false;
    const char *nl = memchr(text->p, '\n', text->n);
    size_t n = nl ? (size_t)(nl - text->p) : text->n;
    size_t used = nl ? n + 1 : n;
    *out_line = (struct ts_slice){text->p, n};
    *text = (struct ts_slice){text->p + used, text->n - used};
    return true;
}

bool col_word_next(struct ts_slice *line, struct ts_slice *out_word)
{
    size_t i = 0, from;
    while (i < line->n && is_blank(line->p[i]))
        i++;
    from = i;
    while (i < line->n && !is_blank(line->p[i]))
        i++;
    if (i == from)
        return false;
    *out_word = (struct ts_slice){line->p + from, i - from};
    *line = (struct ts_slice){line->p + i, line->n - i};
    return true;
}

bool col_u64_of(struct ts_slice s, uint64_t *out)
{
    uint64_t v = 0;
    if (!s.n)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *out = v;
    return true;
}

bool col_i64_of(struct ts_slice s, int64_t *out)
{
    bool minus = s.n && s.p[0] == '-';
    uint64_t v;
    if (!col_u64_of(minus ? (struct ts_slice){s.p + 1, s.n - 1} : s, &v) || v > INT64_MAX)
        return false;
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

bool col_u64_next(struct ts_slice *line, uint64_t *out)
{
    struct ts_slice rest = *line, word;
    if (!col_word_next(&rest, &word) || !col_u64_of(word, out))
        return false;
    *line = rest;
    return true;
}

unsigned col_u64_row(struct ts_slice line, uint64_t *out, unsigned max)
{
    unsigned n = 0;
    while (n < max && col_u64_next(&line, &out[n]))
        n++;
    return n;
}

bool col_prefix_take(struct ts_slice *s, const char *prefix)
{
    size_t n = strlen(prefix);
    if (s->n < n || memcmp(s->p, prefix, n) != 0)
        return false;
    *s = (struct ts_slice){s->p + n, s->n - n};
    return true;
}

struct ts_slice col_trim(struct ts_slice s)
{
    while (s.n && is_blank(s.p[0]))
        s = (struct ts_slice){s.p + 1, s.n - 1};
    while (s.n && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool col_list_next(const char **text, char separator, struct ts_slice *out)
{
    const char set[] = {separator, '\0'};
    while (**text) {
        size_t n = strcspn(*text, set);
        *out = col_trim((struct ts_slice){*text, n});
        *text += n + ((*text)[n] == separator);
        if (out->n)
            return true;
    }
    return false;
}

bool col_match_any(const char *patterns, struct ts_slice name)
{
    char pat[PATTERN_MAX], text[PATTERN_MAX];
    struct ts_slice one;
    if (name.n >= sizeof(text))
        return false;
    (void)snprintf(text, sizeof(text), "%.*s", (int)name.n, name.p ? name.p : "");
    while (col_list_next(&patterns, ',', &one)) {
        if (one.n >= sizeof(pat))
            continue;
        (void)snprintf(pat, sizeof(pat), "%.*s", (int)one.n, one.p);
        if (fnmatch(pat, text, 0) == 0)
            return true;
    }
    return false;
}
