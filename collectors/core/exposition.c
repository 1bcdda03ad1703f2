/*
 * exposition.c - samples from lines.
 *
 * Threads    see exposition.h
 */
#include "collectors/core/exposition.h"

#include "base/mem.h"
#include "base/num.h"
#include "collectors/core/fields.h"

#include <stdio.h>

#define NAME_BYTES  256u /* of a metric or label */
#define VALUE_BYTES 256u /* of a label's value; emit cuts at 255 */
#define TAGS_MAX    4u   /* of every point */

/* A sample under way. */
struct sample {
    char metric[NAME_BYTES];                               /* as it will be called */
    char keys[COL_EXPOSITION_LABELS][NAME_BYTES];          /* of labels */
    char values[COL_EXPOSITION_LABELS][VALUE_BYTES];       /* of labels */
    struct col_tag tags[COL_EXPOSITION_LABELS + TAGS_MAX]; /* both, and those of every point */
    unsigned n_tags;                                       /* entries */
};

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':' || c == '.' || c == '-';
}

/* Take a name off the front; ':' of recording rules becomes '_'. */
static bool take_name(struct ts_slice *s, char out[NAME_BYTES])
{
    size_t n = 0;
    while (n < s->n && name_char(s->p[n]))
        n++;
    if (!n || n >= NAME_BYTES)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = s->p[i];
    for (size_t i = 0; i < n; i++)
        if (out[i] == ':')
            out[i] = '_';
    out[n] = '\0';
    *s = (struct ts_slice){s->p + n, s->n - n};
    return true;
}

static void skip_blanks(struct ts_slice *s)
{
    while (s->n && (*s->p == ' ' || *s->p == '\t'))
        *s = (struct ts_slice){s->p + 1, s->n - 1};
}

static bool take_char(struct ts_slice *s, char c)
{
    skip_blanks(s);
    if (!s->n || *s->p != c)
        return false;
    *s = (struct ts_slice){s->p + 1, s->n - 1};
    return true;
}

/* Take "text" with its escapes; what is longer than fits is cut. */
static bool take_quoted(struct ts_slice *s, char out[VALUE_BYTES])
{
    size_t n = 0;
    if (!take_char(s, '"'))
        return false;
    while (s->n && *s->p != '"') {
        size_t step = *s->p == '\\' && s->n > 1 ? 2 : 1;
        char c = s->p[step - 1];
        if (n + 1 < VALUE_BYTES)
            out[n++] = step == 2 && c == 'n' ? ' ' : c;
        *s = (struct ts_slice){s->p + step, s->n - step};
    }
    out[n] = '\0';
    return take_char(s, '"');
}

/* {a="b",c="d"}; an empty value is no label. */
static bool take_labels(struct ts_slice *s, struct sample *p)
{
    if (!take_char(s, '{'))
        return true;
    while (!take_char(s, '}')) {
        char key[NAME_BYTES], value[VALUE_BYTES];
        if (!take_name(s, key) || !take_char(s, '=') || !take_quoted(s, value) ||
            p->n_tags == COL_EXPOSITION_LABELS)
            return false;
        (void)take_char(s, ',');
        if (!*value)
            continue;
        (void)snprintf(p->keys[p->n_tags], NAME_BYTES, "%s", key);
        (void)snprintf(p->values[p->n_tags], VALUE_BYTES, "%s",
                       value[0] == '+' ? value + 1 : value); /* le="+Inf" */
        p->tags[p->n_tags] = (struct col_tag){p->keys[p->n_tags], ts_slice_str(p->values[p->n_tags])};
        p->n_tags++;
    }
    return true;
}

/* Has another label of the sample the name of label i? */
static bool has_other(const struct sample *p, unsigned i)
{
    for (unsigned k = 0; k < p->n_tags; k++)
        if (k != i && !strcmp(p->keys[k], p->keys[i]))
            return true;
    return false;
}

/* Labels host and job get exported_ in front, once more as long as the sample has that label too. False: the name becomes too long. Source:
 * prometheus.io/docs/prometheus/latest/configuration/configuration, honor_labels. */
static bool export_labels(struct sample *p)
{
    static const char front[] = "exported_";
    for (unsigned i = 0; i < p->n_tags; i++) {
        if (strcmp(p->keys[i], "host") != 0 && strcmp(p->keys[i], "job") != 0)
            continue;
        do {
            size_t n = strlen(p->keys[i]);
            if (n + sizeof(front) > NAME_BYTES)
                return false;
            memmove(p->keys[i] + sizeof(front) - 1, p->keys[i], n + 1);
            memcpy(p->keys[i], front, sizeof(front) - 1);
        } while (has_other(p, i));
    }
    return true;
}

static void add_common(const struct col_exposition *x, struct sample *p)
{
    unsigned n_own = p->n_tags;
    for (unsigned i = 0; i < x->n_tags && i < TAGS_MAX; i++) {
        bool has = false;
        for (unsigned k = 0; k < n_own; k++)
            has = has || strcmp(p->tags[k].key, x->tags[i].key) == 0;
        if (!has)
            p->tags[p->n_tags++] = x->tags[i];
    }
}

/* Parse and emit a value; false if word is not a number. NaN and infinities are values that are left out. */
static bool sample_value(struct col_exposition *x, const struct sample *p, struct ts_slice word)
{
    struct ts_num v;
    uint64_t large;
    static const char *const odd[] = {"NaN", "+Inf", "-Inf", "Inf"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
        if (ts_slice_is(word, odd[i])) {
            x->n_left_out++;
            return true;
        }
    if (word.n && *word.p == '+')
        word = (struct ts_slice){word.p + 1, word.n - 1};
    if (col_u64_of(word, &large) &&
        large > INT64_MAX) /* a counter beyond what an integer of the store holds */
        v = ts_num_from_double((double)large);
    else if (ts_num_parse(word, &v, NULL) < 0)
        return false;
    if (x->n_samples >= x->max_samples) {
        x->n_left_out++;
        return true;
    }
    x->n_samples++;
    if (v.kind == TS_NUM_INT)
        col_emit_int(x->emit, p->metric, v.m, p->tags, p->n_tags);
    else
        col_emit_num(x->emit, p->metric, ts_num_double(v), p->tags, p->n_tags);
    return true;
}

static bool read_sample(struct col_exposition *x, struct sample *p, struct ts_slice line)
{
    struct ts_slice word;
    p->n_tags = 0;
    if (!take_name(&line, p->metric) || !take_labels(&line, p) || (x->exported && !export_labels(p)))
        return false;
    add_common(x, p);
    return col_word_next(&line, &word) && sample_value(x, p, word);
}

void col_exposition_read(struct col_exposition *x, struct ts_slice text)
{
    struct ts_slice line;
    struct sample *p = ts_xcalloc(1, sizeof(*p));
    while (col_line_next(&text, &line)) {
        line = col_trim(line);
        if (line.n && *line.p != '#' && !read_sample(x, p, line))
            x->n_bad++;
    }
    ts_free(p);
}
