/*
 * regex.c - PCRE2 behind regex.h.
 *
 * Threads    see regex.h
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/regex.h"

#include "base/mem.h"

#include <pcre2.h>

#define REGEX_KIB 8192 /* heap of one match */

struct ts_regex {
    pcre2_code *code;            /* compiled */
    pcre2_match_data *data;      /* of the last match */
    pcre2_match_context *limits; /* of each match */
    uint32_t max_steps;          /* of one find */
    uint64_t n_steps;            /* of all finds, see ts_regex_steps */
};

int ts_regex_new(struct ts_slice pattern, bool caseless, uint32_t max_steps, struct ts_regex **out,
                 struct ts_error *err)
{
    struct ts_regex *re = ts_xcalloc(1, sizeof(*re));
    uint32_t flags = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | (caseless ? PCRE2_CASELESS : 0);
    int code = 0, rc = 0;
    PCRE2_SIZE at = 0;
    *out = NULL;
    re->code = pcre2_compile((PCRE2_SPTR)(pattern.p ? pattern.p : ""), pattern.n, flags, &code, &at, NULL);
    if (!re->code) {
        PCRE2_UCHAR why[120];
        pcre2_get_error_message(code, why, sizeof(why));
        struct ts_slice shown = ts_utf8_cut(pattern, 100);
        rc = ts_error_set(err, TS_EINVAL, "Failed to compile regular expression \"%.*s\": %s at %zu",
                          (int)shown.n, shown.p, (const char *)why, (size_t)at);
    } else {
        /* without a compiler for this machine it is interpreted: the same answers */
        pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE);
        re->data = pcre2_match_data_create_from_pattern(re->code, NULL);
        re->limits = pcre2_match_context_create(NULL);
        if (!re->data || !re->limits)
            rc = ts_error_set(err, TS_ENOMEM, "no memory for a regular expression");
    }
    if (rc < 0) {
        ts_regex_free(re);
        return rc;
    }
    re->max_steps = max_steps;
    pcre2_set_heap_limit(re->limits, REGEX_KIB);
    *out = re;
    return 0;
}

void ts_regex_free(struct ts_regex *re)
{
    if (!re)
        return;
    pcre2_match_context_free(re->limits);
    pcre2_match_data_free(re->data);
    pcre2_code_free(re->code);
    ts_free(re);
}

unsigned ts_regex_groups(const struct ts_regex *re)
{
    uint32_t n = 0;
    pcre2_pattern_info(re->code, PCRE2_INFO_CAPTURECOUNT, &n);
    return n;
}

uint64_t ts_regex_steps(const struct ts_regex *re)
{
    return re->n_steps;
}

/* PCRE2 does not say how many steps a match took: it is tried with few, then with more. */
static int match(struct ts_regex *re, struct ts_slice value, size_t from)
{
    static const uint32_t limits[] = {64, 4096, 65536, UINT32_MAX};
    for (size_t i = 0;; i++) {
        uint32_t limit = limits[i] < re->max_steps ? limits[i] : re->max_steps;
        pcre2_set_match_limit(re->limits, limit);
        int rc = pcre2_match(re->code, (PCRE2_SPTR)(value.p ? value.p : ""), value.n, from, 0, re->data,
                             re->limits);
        re->n_steps += limit;
        if (rc != PCRE2_ERROR_MATCHLIMIT || limit == re->max_steps)
            return rc;
    }
}

int ts_regex_find(struct ts_regex *re, struct ts_slice value, size_t from, struct ts_error *err)
{
    int rc = match(re, value, from);
    if (rc != PCRE2_ERROR_MATCHLIMIT && rc != PCRE2_ERROR_HEAPLIMIT && rc != PCRE2_ERROR_DEPTHLIMIT &&
        rc != PCRE2_ERROR_JIT_STACKLIMIT && rc != PCRE2_ERROR_NOMEMORY)
        return rc >= 0; /* a value that is not UTF-8 matches nothing; that is no error of the pattern */
    PCRE2_UCHAR why[120];
    pcre2_get_error_message(rc, why, sizeof(why));
    return ts_error_set(err, TS_ELIMIT, "The regular expression takes too long to match: %s",
                        (const char *)why);
}

bool ts_regex_group(const struct ts_regex *re, unsigned n, size_t *out_start, size_t *out_end)
{
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(re->data);
    if (n >= pcre2_get_ovector_count(re->data) || at[2 * n] == PCRE2_UNSET)
        return false;
    *out_start = at[2 * n];
    *out_end = at[2 * n + 1];
    return true;
}
