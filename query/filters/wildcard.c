/*
 * wildcard.c - wildcard, iwildcard: patterns with stars.
 *
 * OpenTSDB's rule, kept because dashboards rely on it: a pattern is tied to the front only if it ends with a
 * star, to the end only if it begins with one; each part must be found at or after the summed length of the
 * parts before it. So web*net also matches xwebfoonetx.
 */
#include "query/filters/filter.h"

struct pattern {
    struct ts_slice *part; /* [n] between stars */
    size_t n;
    bool open_front, open_end; /* it begins, or ends, with a star */
};

static int wildcard_prepare(struct qry_filter *f, struct ts_arena *arena, struct ts_error *err)
{
    struct pattern *p = ts_arena_zalloc(arena, sizeof *p);
    struct ts_slice t = f->text;
    f->own = p;
    if (!t.n)
        return ts_error_set(err, TS_EINVAL, "Filter cannot be null or empty");
    if (!memchr(t.p, '*', t.n))
        return ts_error_set(err, TS_EINVAL, "Filter must contain an asterisk: %.*s", (int)t.n, t.p);
    while (t.n && t.p[0] == '*') {
        p->open_front = true;
        t = (struct ts_slice){t.p + 1, t.n - 1};
    }
    while (t.n && t.p[t.n - 1] == '*') {
        p->open_end = true;
        t.n--;
    }
    f->any = !t.n;
    if (!f->any)
        p->part = qry_filter__split(t, '*', arena, &p->n);
    return 0;
}

static int iwildcard_prepare(struct qry_filter *f, struct ts_arena *arena, struct ts_error *err)
{
    TS_TRY(wildcard_prepare(f, arena, err));
    const struct pattern *p = f->own;
    qry_filter__lower(p->part, p->n, arena);
    return 0;
}

static bool wildcard_match(void *state, struct ts_slice v)
{
    const struct qry_filter *f = state;
    const struct pattern *p = f->own;
    const struct ts_slice *part = p->part;
    if (f->any)
        return true;
    if (p->open_front && !p->open_end) {
        struct ts_slice last = part[p->n - 1];
        if (v.n < last.n || (last.n && memcmp(v.p + v.n - last.n, last.p, last.n) != 0))
            return false;
    }
    if (p->open_end && !p->open_front) {
        if (v.n < part[0].n || memcmp(v.p, part[0].p, part[0].n) != 0)
            return false;
    }
    size_t at = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (at > v.n)
            return false;
        if (part[i].n && !memmem(v.p + at, v.n - at, part[i].p, part[i].n))
            return false;
        at += part[i].n;
    }
    return true;
}

static bool iwildcard_match(void *state, struct ts_slice value)
{
    return qry_filter__match_lower(wildcard_match, state, value);
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
