/*
 * wildcard.c - wildcard, iwildcard: patterns with stars.
 *
 * OpenTSDB's rule, kept because dashboards rely on it: a pattern is tied to the front only if it ends with a
 * star, to the end only if it begins with one; each part must be found at or after the summed length of the
 * parts before it. So web*net also matches xwebfoonetx.
 */
#include "query/filters/filter.h"

#define STACK_VALUE_BYTES 512 /* longest value lowered without the heap */

static int wildcard_prepare(struct qry_filter *f, struct ts_arena *arena, struct ts_error *err)
{
    struct ts_slice t = f->text;
    if (!t.n)
        return ts_error_set(err, TS_EINVAL, "Filter cannot be null or empty");
    if (!memchr(t.p, '*', t.n))
        return ts_error_set(err, TS_EINVAL, "Filter must contain an asterisk: %.*s", (int)t.n, t.p);
    while (t.n && t.p[0] == '*') {
        f->open_front = true;
        t = (struct ts_slice){t.p + 1, t.n - 1};
    }
    while (t.n && t.p[t.n - 1] == '*') {
        f->open_end = true;
        t.n--;
    }
    f->any = !t.n;
    if (!f->any)
        f->values = qry_filter__split(t, '*', arena, &f->n_values);
    return 0;
}

static int iwildcard_prepare(struct qry_filter *f, struct ts_arena *arena, struct ts_error *err)
{
    TS_TRY(wildcard_prepare(f, arena, err));
    for (size_t i = 0; i < f->n_values; i++) {
        char *p = ts_arena_alloc(arena, QRY_FILTER__LOWER_BYTES(f->values[i].n));
        f->values[i] = (struct ts_slice){p, qry_filter__lower(f->values[i], p)};
    }
    return 0;
}

static bool pattern_match(const struct qry_filter *f, struct ts_slice v)
{
    const struct ts_slice *part = f->values;
    size_t n = f->n_values;
    if (f->any)
        return true;
    if (f->open_front && !f->open_end) {
        struct ts_slice last = part[n - 1];
        if (v.n < last.n || (last.n && memcmp(v.p + v.n - last.n, last.p, last.n) != 0))
            return false;
    }
    if (f->open_end && !f->open_front) {
        if (v.n < part[0].n || memcmp(v.p, part[0].p, part[0].n) != 0)
            return false;
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (at > v.n)
            return false;
        if (part[i].n && !memmem(v.p + at, v.n - at, part[i].p, part[i].n))
            return false;
        at += part[i].n;
    }
    return true;
}

static bool wildcard_match(void *state, struct ts_slice value)
{
    return pattern_match(state, value);
}

static bool iwildcard_match(void *state, struct ts_slice value)
{
    char stack[QRY_FILTER__LOWER_BYTES(STACK_VALUE_BYTES)], *low = stack;
    if (value.n > STACK_VALUE_BYTES)
        low = ts_xmalloc(QRY_FILTER__LOWER_BYTES(value.n));
    bool yes = pattern_match(state, (struct ts_slice){low, qry_filter__lower(value, low)});
    if (low != stack)
        ts_free(low);
    return yes;
}

const struct qry_filter_type qry_filter_wildcard = {.name = "wildcard",
                                                    .prepare = wildcard_prepare,
                                                    .match = wildcard_match,
                                                    .help =
                                                        "The value fits a pattern with stars; case counts.",
                                                    .example = "host=wildcard(web*)"};
const struct qry_filter_type qry_filter_iwildcard = {.name = "iwildcard",
                                                     .prepare = iwildcard_prepare,
                                                     .match = iwildcard_match,
                                                     .help =
                                                         "The value fits a pattern with stars in any case.",
                                                     .example = "host=iwildcard(WEB*)"};
