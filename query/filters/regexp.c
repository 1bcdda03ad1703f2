/*
 * regexp.c - regexp: a regular expression found anywhere in the value.
 *
 * Compiled twice: once to refuse bad patterns early, once for matching, because a spec's arena frees nothing.
 */
#include "query/filters/filter.h"

#include "base/regex.h"

struct regexp_state {
    struct ts_regex *re; /* owned */
    int failed;          /* code of the first match that was too costly; 0 = none */
    struct ts_error why; /* its text */
};

static int regexp_prepare(struct qry_filter *f, struct ts_arena *arena, struct ts_error *err)
{
    (void)arena;
    struct ts_regex *re;
    if (!f->text.n)
        return ts_error_set(err, TS_EINVAL, "Filter cannot be null or empty");
    TS_TRY(ts_regex_new(f->text, false, TS_REGEX_STEPS, &re, err));
    ts_regex_free(re);
    f->any = ts_slice_is(f->text, ".*");
    return 0;
}

static int regexp_close(void *state, struct ts_error *err)
{
    struct regexp_state *st = state;
    int failed = st->failed;
    if (failed && err)
        *err = st->why;
    ts_regex_free(st->re);
    ts_free(st);
    return failed;
}

static int regexp_open(const struct qry_filter *f, void **out_state, struct ts_error *err)
{
    struct regexp_state *st = ts_xcalloc(1, sizeof *st);
    int rc = ts_regex_new(f->text, false, TS_REGEX_STEPS, &st->re, err);
    if (rc < 0)
        ts_free(st);
    else
        *out_state = st;
    return rc;
}

static bool regexp_match(void *state, struct ts_slice value)
{
    struct regexp_state *st = state;
    if (st->failed)
        return false;
    int rc = ts_regex_find(st->re, value, 0, &st->why);
    if (rc < 0)
        st->failed = rc;
    return rc > 0;
}

const struct qry_filter_type qry_filter_regexp = {.name = "regexp",
                                                  .prepare = regexp_prepare,
                                                  .open = regexp_open,
                                                  .match = regexp_match,
                                                  .close = regexp_close,
                                                  .help =
                                                      "A regular expression (PCRE2) is found in the value.",
                                                  .example = "host=regexp(web[0-9]+)"};
