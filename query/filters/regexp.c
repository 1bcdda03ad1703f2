/*
 * regexp.c - regexp: a regular expression found anywhere in the value.
 *
 * Compiled twice: once to refuse bad patterns early, once for matching, because a spec's arena frees nothing.
 */
#include "query/filters/filter.h"

#include "base/regex.h"
#include "query/limit.h"

#define STEPS_PER_LOOK 262144 /* some milliseconds */

struct regexp_state {
    struct ts_regex *re;       /* owned */
    struct qry_budget *budget; /* of the run */
    uint64_t n_looked;         /* steps until the last look at its limits */
    int failed;                /* code of the first match that was too costly; 0 = none */
    struct ts_error why;       /* its text */
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

static int regexp_open(const struct qry_filter *f, struct qry_budget *budget, void **out_state,
                       struct ts_error *err)
{
    struct regexp_state *st = ts_xcalloc(1, sizeof *st);
    st->budget = budget;
    int rc = ts_regex_new(f->text, false, TS_REGEX_STEPS, &st->re, err);
    if (rc < 0)
        ts_free(st);
    else
        *out_state = st;
    return rc;
}

/* Steps since the last time count against the run's limit. */
static int count_steps(struct regexp_state *st)
{
    struct qry_limit *l = st->budget->limit;
    uint64_t n = ts_regex_steps(st->re) - st->n_looked;
    if (n < STEPS_PER_LOOK)
        return 0;
    st->n_looked += n;
    uint64_t all = l ? atomic_fetch_add_explicit(&l->n_regex_steps, n, memory_order_relaxed) + n : 0;
    if (l && l->max_regex_steps && all > l->max_regex_steps) {
        qry_limit_refuse(l, QRY_REFUSAL_REGEX);
        return ts_error_set(
            &st->why, TS_ELIMIT,
            "The query's regular expressions took more than %llu steps: write them so that they need not "
            "go back so often, or filter by other tags first. (query_max_regex_steps)",
            (unsigned long long)l->max_regex_steps);
    }
    return qry_budget_look(st->budget, &st->why);
}

static bool regexp_match(void *state, struct ts_slice value)
{
    struct regexp_state *st = state;
    if (st->failed)
        return false;
    int rc = ts_regex_find(st->re, value, 0, &st->why), over = rc < 0 ? rc : count_steps(st);
    if (over < 0) {
        st->failed = over;
        qry_budget_fail(st->budget, over, &st->why);
    }
    return over == 0 && rc > 0;
}

const struct qry_filter_type qry_filter_regexp = {.name = "regexp",
                                                  .prepare = regexp_prepare,
                                                  .open = regexp_open,
                                                  .match = regexp_match,
                                                  .close = regexp_close,
                                                  .help =
                                                      "A regular expression (PCRE2) is found in the value.",
                                                  .example = "host=regexp(web[0-9]+)"};
