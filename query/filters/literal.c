/*
 * literal.c - literal_or, iliteral_or, not_literal_or, not_iliteral_or: listed values.
 */
#include "query/filters/filter.h"

#include "base/cut.h"
#include "base/hash.h"
#include "query/limit.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#define STACK_VALUE_BYTES 512 /* longest value lowered without the heap */
#define LOWER_BYTES(n)    ((n)*3 + 4)

struct ts_slice *qry_filter__split(struct ts_slice text, char sep, struct ts_arena *arena, size_t *out_n)
{
    struct ts_slice *parts = ts_arena_alloc(arena, (ts_slice_count(text, sep) + 1) * sizeof *parts), part;
    *out_n = 0;
    while (ts_slice_next(&text, sep, &part))
        parts[(*out_n)++] = part;
    return parts;
}

/* UTF-8 text in lower case; out has at least LOWER_BYTES(n) bytes. Returns the length. */
static size_t lower(struct ts_slice text, char *out)
{
    int32_t i = 0, n = (int32_t)text.n, o = 0, cap = (int32_t)LOWER_BYTES(text.n);
    const uint8_t *in = (const uint8_t *)text.p;
    uint8_t *to = (uint8_t *)out;
    while (i < n) {
        int32_t from = i;
        UChar32 c;
        U8_NEXT(in, i, n, c);
        UBool failed = 0;
        if (c >= 0) {
            uint32_t low = (uint32_t)u_tolower(c);
            U8_APPEND(to, o, cap, low, failed);
        }
        if (c < 0 || failed)
            while (from < i)
                to[o++] = in[from++];
    }
    return (size_t)o;
}

void qry_filter__lower(struct ts_slice *texts, size_t n, struct ts_arena *arena)
{
    for (size_t i = 0; i < n; i++) {
        char *p = ts_arena_alloc(arena, LOWER_BYTES(texts[i].n));
        texts[i] = (struct ts_slice){p, lower(texts[i], p)};
    }
}

bool qry_filter__match_lower(bool (*match)(void *state, struct ts_slice value), void *state,
                             struct ts_slice value)
{
    char stack[LOWER_BYTES(STACK_VALUE_BYTES)], *low = stack;
    if (value.n > STACK_VALUE_BYTES)
        low = ts_xmalloc(LOWER_BYTES(value.n));
    bool yes = match(state, (struct ts_slice){low, lower(value, low)});
    if (low != stack)
        ts_free(low);
    return yes;
}

static int literal_prepare(struct qry_filter *f, struct ts_arena *arena, struct ts_error *err)
{
    if (!f->text.n)
        return ts_error_set(err, TS_EINVAL, "Filter cannot be null or empty");
    struct ts_slice *parts = qry_filter__split(f->text, '|', arena, &f->n_values);
    size_t n = 0;
    for (size_t i = 0; i < f->n_values; i++)
        if (parts[i].n)
            parts[n++] = parts[i];
    if (!n)
        return ts_error_set(err, TS_EINVAL, "Filter cannot be null or empty");
    f->values = parts;
    f->n_values = n;
    return 0;
}

static int iliteral_prepare(struct qry_filter *f, struct ts_arena *arena, struct ts_error *err)
{
    TS_TRY(literal_prepare(f, arena, err));
    qry_filter__lower(f->values, f->n_values, arena);
    return 0;
}

/* The folded words by hash. */
struct words {
    const struct qry_filter *f;
    struct qry_budget *budget; /* its account counts this */
    uint32_t *slots;           /* [n_slots] open addressing: number of a word + 1 */
    size_t n_slots;            /* a power of 2, at least twice the words */
};

static size_t word_slot(const struct words *w, struct ts_slice word)
{
    size_t at = (size_t)ts_hash(word.p, word.n) & (w->n_slots - 1);
    while (w->slots[at] && !ts_slice_eq(w->f->values[w->slots[at] - 1], word))
        at = (at + 1) & (w->n_slots - 1);
    return at;
}

static int iliteral_open(const struct qry_filter *f, struct qry_budget *budget, void **out_state,
                         struct ts_error *err)
{
    struct words *w = ts_budget_calloc(budget->memory, 1, sizeof *w, err);
    if (!w)
        return qry_memory_code(err);
    *w = (struct words){.f = f, .budget = budget, .n_slots = 4};
    while (w->n_slots < 2 * f->n_values)
        w->n_slots *= 2;
    w->slots = ts_budget_calloc(budget->memory, w->n_slots, sizeof *w->slots, err);
    if (!w->slots) {
        int rc = qry_memory_code(err);
        ts_budget_free(budget->memory, w, sizeof *w);
        return rc;
    }
    for (size_t i = 0; i < f->n_values; i++)
        w->slots[word_slot(w, f->values[i])] = (uint32_t)i + 1;
    *out_state = w;
    return 0;
}

static int iliteral_close(void *state, struct ts_error *err)
{
    struct words *w = state;
    (void)err;
    ts_budget_free(w->budget->memory, w->slots, w->n_slots * sizeof *w->slots);
    ts_budget_free(w->budget->memory, w, sizeof *w);
    return 0;
}

static bool is_listed(void *state, struct ts_slice value)
{
    const struct words *w = state;
    return w->slots[word_slot(w, value)] != 0;
}

static bool iliteral_match(void *state, struct ts_slice value)
{
    return qry_filter__match_lower(is_listed, state, value);
}

static bool not_iliteral_match(void *state, struct ts_slice value)
{
    return !iliteral_match(state, value);
}

const struct qry_filter_type qry_filter_literal_or = {.name = "literal_or",
                                                      .by_values = true,
                                                      .prepare = literal_prepare,
                                                      .help =
                                                          "The value is one of those listed; case counts.",
                                                      .example = "host=literal_or(web01|web02)"};
const struct qry_filter_type qry_filter_not_literal_or = {
    .name = "not_literal_or",
    .by_values = true,
    .negate = true,
    .prepare = literal_prepare,
    .help = "The value is none of those listed; case counts.",
    .example = "host=not_literal_or(web01|web02)"};
const struct qry_filter_type qry_filter_iliteral_or = {.name = "iliteral_or",
                                                       .prepare = iliteral_prepare,
                                                       .open = iliteral_open,
                                                       .match = iliteral_match,
                                                       .close = iliteral_close,
                                                       .help =
                                                           "The value is one of those listed in any case.",
                                                       .example = "host=iliteral_or(WEB01|web02)"};
const struct qry_filter_type qry_filter_not_iliteral_or = {
    .name = "not_iliteral_or",
    .prepare = iliteral_prepare,
    .open = iliteral_open,
    .match = not_iliteral_match,
    .close = iliteral_close,
    .help = "The value is none of those listed in any case.",
    .example = "host=not_iliteral_or(WEB01)"};
