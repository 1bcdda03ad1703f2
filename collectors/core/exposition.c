/*
 * exposition.c - samples from lines.
 *
 * Threads    see exposition.h
 */
#include "collectors/core/exposition.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/sample.h"
#include "collectors/core/fields.h"

#include <string.h>

#define TAGS_MAX 4u /* of every point */

/* A sample under way. */
struct sample {
    struct ts_sample read;                                 /* as it stands in the text */
    struct col_tag tags[COL_EXPOSITION_LABELS + TAGS_MAX]; /* its labels, and the tags of every point */
    unsigned n_tags;                                       /* entries */
};

/* Has another label of the sample the name of label i? */
static bool has_other(const struct sample *p, unsigned i)
{
    for (unsigned k = 0; k < p->n_tags; k++)
        if (k != i && !strcmp(p->read.keys[k], p->read.keys[i]))
            return true;
    return false;
}

/* Labels host and job get exported_ in front, once more as long as the sample has that label too. False: the name becomes too long. Source:
 * prometheus.io/docs/prometheus/latest/configuration/configuration, honor_labels. */
static bool export_labels(struct sample *p)
{
    static const char front[] = "exported_";
    for (unsigned i = 0; i < p->n_tags; i++) {
        if (strcmp(p->read.keys[i], "host") != 0 && strcmp(p->read.keys[i], "job") != 0)
            continue;
        do {
            size_t n = strlen(p->read.keys[i]);
            if (n + sizeof(front) > TS_SAMPLE_BYTES)
                return false;
            memmove(p->read.keys[i] + sizeof(front) - 1, p->read.keys[i], n + 1);
            memcpy(p->read.keys[i], front, sizeof(front) - 1);
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
        col_emit_int(x->emit, p->read.metric, v.m, p->tags, p->n_tags);
    else
        col_emit_num(x->emit, p->read.metric, ts_num_double(v), p->tags, p->n_tags);
    return true;
}

static bool read_sample(struct col_exposition *x, struct sample *p, struct ts_slice line)
{
    struct ts_slice word;
    p->n_tags = 0;
    if (!ts_sample_read(&line, &p->read))
        return false;
    for (; p->n_tags < p->read.n_labels; p->n_tags++)
        p->tags[p->n_tags] =
            (struct col_tag){p->read.keys[p->n_tags], ts_slice_str(p->read.values[p->n_tags])};
    if (x->exported && !export_labels(p))
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
