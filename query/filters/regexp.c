/*
 * regexp.c - regexp: a regular expression found anywhere in the value.
 *
 * PCRE2 with limits on steps and memory, so that a pattern like (a+)+$ ends with an error and not with a busy
 * daemon. Compiled twice: once to refuse bad patterns early, once for matching, because a spec's arena frees
 * nothing.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "query/filters/filter.h"

#include <pcre2.h>

#define MATCH_STEPS 1000000 /* a value of a few hundred bytes and a sane pattern take hundreds */
#define MATCH_KIB   8192    /* heap of one match */

struct regexp_state {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
    int failed; /* first error of a match that was not "no match"; 0 = none */
};

static int regexp_compile(struct ts_slice text, pcre2_code **out, struct ts_error *err)
{
    int code;
    PCRE2_SIZE at;
    *out = pcre2_compile((PCRE2_SPTR)text.p, text.n, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code,
                         &at, NULL);
    if (*out)
        return 0;
    PCRE2_UCHAR why[120];
    pcre2_get_error_message(code, why, sizeof why);
    return ts_error_set(err, TS_EINVAL, "Failed to compile regular expression \"%.*s\": %s at %zu",
                        (int)(text.n > 100 ? 100 : text.n), text.p, (const char *)why, (size_t)at);
}

static int regexp_prepare(struct qry_filter *f, struct ts_arena *arena, struct ts_error *err)
{
    (void)arena;
    pcre2_code *code;
    if (!f->text.n)
        return ts_error_set(err, TS_EINVAL, "Filter cannot be null or empty");
    TS_TRY(regexp_compile(f->text, &code, err));
    pcre2_code_free(code);
    f->any = ts_slice_is(f->text, ".*");
    return 0;
}

static int regexp_close(void *state, struct ts_error *err)
{
    struct regexp_state *st = state;
    int failed = st->failed;
    pcre2_match_context_free(st->limits);
    pcre2_match_data_free(st->data);
    pcre2_code_free(st->code);
    ts_free(st);
    if (!failed)
        return 0;
    PCRE2_UCHAR why[120];
    pcre2_get_error_message(failed, why, sizeof why);
    return ts_error_set(err, TS_ELIMIT, "The regular expression takes too long to match: %s",
                        (const char *)why);
}

static int regexp_open(const struct qry_filter *f, void **out_state, struct ts_error *err)
{
    struct regexp_state *st = ts_xcalloc(1, sizeof *st);
    int rc = regexp_compile(f->text, &st->code, err);
    if (rc == 0) {
        /* without a compiler for this machine it is interpreted: the same answers */
        pcre2_jit_compile(st->code, PCRE2_JIT_COMPLETE);
        st->data = pcre2_match_data_create_from_pattern(st->code, NULL);
        st->limits = pcre2_match_context_create(NULL);
        if (!st->data || !st->limits)
            rc = ts_error_set(err, TS_ENOMEM, "no memory for a regular expression");
    }
    if (rc < 0) {
        regexp_close(st, NULL);
        return rc;
    }
    pcre2_set_match_limit(st->limits, MATCH_STEPS);
    pcre2_set_heap_limit(st->limits, MATCH_KIB);
    *out_state = st;
    return 0;
}

static bool regexp_match(void *state, struct ts_slice value)
{
    struct regexp_state *st = state;
    if (st->failed)
        return false;
    int rc = pcre2_match(st->code, (PCRE2_SPTR)value.p, value.n, 0, 0, st->data, st->limits);
    /* a value that is not UTF-8 matches nothing; that is no error of the pattern */
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_HEAPLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT ||
        rc == PCRE2_ERROR_JIT_STACKLIMIT || rc == PCRE2_ERROR_NOMEMORY)
        st->failed = rc;
    return rc >= 0;
}

const struct qry_filter_type qry_filter_regexp = {.name = "regexp",
                                                  .prepare = regexp_prepare,
                                                  .open = regexp_open,
                                                  .match = regexp_match,
                                                  .close = regexp_close,
                                                  .help =
                                                      "A regular expression (PCRE2) is found in the value.",
                                                  .example = "host=regexp(web[0-9]+)"};
