/*
 * fuzz_query.c - texts of queries: parameters of a URI, a JSON body, times and lengths of time, words.
 *
 * First byte: low four bits modulo 4: 0 = parameters, "&" between them; 1 = a JSON body; 2 = words, line ends
 * between them; 3 = a time and a duration in a zone (its name to the first line end). Bit 4: compat = opentsdb.
 *
 * Checked    no crash; errors have a code and a text; what is understood is complete; the same twice; words
 *            that are understood are understood again as the URI they turn into
 */
#include "query/query.h"
#include "tests/fuzz/fuzz_kit.h"

#define NOW_MS     1793620800123ll
#define MAX_PARAMS 64u

/* A spec that was answered with 0 can be run. */
static void check_spec(int rc, const struct ts_error *err, const struct qry_spec *s)
{
    check_answer(rc, err);
    if (rc < 0)
        return;
    CHECK(s->n_subs >= 1 && s->start_ms <= s->end_ms);
    for (size_t i = 0; i < s->n_subs; i++) {
        const struct qry_sub *sub = &s->subs[i];
        CHECK(sub->agg && (sub->metric.n || sub->n_tsuids));
        CHECK(!sub->downsample.on || (sub->downsample.fn && (sub->downsample.all || sub->downsample.n > 0)));
    }
}

/* Cut at every c. */
static size_t cut(struct ts_slice text, char c, struct ts_slice *out, size_t max)
{
    size_t n = 0;
    while (text.n && n < max) {
        const char *p = memchr(text.p, c, text.n);
        size_t len = p ? (size_t)(p - text.p) : text.n;
        out[n++] = (struct ts_slice){text.p, len};
        text = p ? (struct ts_slice){p + 1, text.n - len - 1} : (struct ts_slice){NULL, 0};
    }
    return n;
}

static int params(struct ts_slice text, bool compat, struct qry_spec *out, struct ts_error *err,
                  struct ts_arena *arena)
{
    struct ts_slice parts[MAX_PARAMS];
    struct qry_param v[MAX_PARAMS];
    size_t n = cut(text, '&', parts, MAX_PARAMS);
    for (size_t i = 0; i < n; i++) {
        const char *eq = parts[i].n ? memchr(parts[i].p, '=', parts[i].n) : NULL;
        size_t len = eq ? (size_t)(eq - parts[i].p) : parts[i].n;
        v[i].name = (struct ts_slice){parts[i].p, len};
        v[i].value = eq ? (struct ts_slice){eq + 1, parts[i].n - len - 1} : (struct ts_slice){"", 0};
    }
    return qry_parse_params(v, n, NOW_MS, compat, arena, out, err);
}

static int words(struct ts_slice text, struct qry_spec *out, struct ts_error *err, struct ts_arena *arena)
{
    struct ts_slice parts[MAX_PARAMS];
    const char *v[MAX_PARAMS];
    struct ts_buf uri;
    size_t n = cut(text, '\n', parts, MAX_PARAMS);
    for (size_t i = 0; i < n; i++)
        v[i] = ts_arena_strndup(arena, parts[i].p, parts[i].n);
    size_t n_opts = n > 3 ? 3 : 0; /* by, tz, fill */
    ts_buf_init(&uri, 0);
    int rc = qry_parse_words(v + n_opts, n - n_opts, n_opts && v[0][0] ? v[0] : NULL,
                             n_opts && v[1][0] ? v[1] : NULL, n_opts && v[2][0] ? v[2] : NULL, NOW_MS, arena,
                             out, &uri, err);
    CHECK(rc < 0 || uri.n);
    ts_buf_release(&uri);
    return rc;
}

static void times(struct ts_slice text)
{
    const char *nl = text.n ? memchr(text.p, '\n', text.n) : NULL;
    const struct ts_tz *tz = NULL;
    struct ts_error err = {0};
    int64_t a = 0, b = 0, n, ms;
    enum ts_unit unit;
    bool is_date;
    if (nl) {
        struct ts_slice name = {text.p, (size_t)(nl - text.p)};
        int rc = name.n < 64 ? ts_tz_open(name, &tz, &err) : 0;
        check_answer(rc, &err);
        text = (struct ts_slice){nl + 1, text.n - name.n - 1};
    }
    for (int strict = 0; strict < 2; strict++) {
        err = (struct ts_error){0};
        int rc = ts_time_parse(text, tz, NOW_MS, strict, &a, &is_date, &err);
        check_answer(rc, &err);
        CHECK(ts_time_parse(text, tz, NOW_MS, strict, &b, NULL, NULL) == rc && (rc < 0 || a == b));
    }
    err = (struct ts_error){0};
    int rc = ts_duration_parse(text, &n, &unit, &ms, &err);
    check_answer(rc, &err);
    if (rc == 0 && n > 0 && n < 1000 && a > -STO_MAX_TS_MS && a < STO_MAX_TS_MS) {
        int64_t from = ts_calendar_floor(tz, a, n, unit);
        CHECK(from <= a && ts_calendar_next(tz, from, n, unit) > from);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    ts_log_set_level(TS_LOG_ERROR + 1);
    if (n == 0)
        return 0;
    char *copy = ts_xmalloc(n); /* exactly: a sanitizer sees reads beyond */
    memcpy(copy, data + 1, n - 1);
    struct ts_slice text = {copy, n - 1};
    for (int i = 0; i < 2; i++) {
        struct ts_arena arena = {0};
        struct qry_spec spec = {0};
        struct ts_error err = {0};
        bool compat = data[0] & 16;
        unsigned what = data[0] & 3;
        if (what == 3)
            times(text);
        else
            check_spec(what == 0   ? params(text, compat, &spec, &err, &arena)
                       : what == 1 ? qry_parse_json(text, NOW_MS, compat, &arena, &spec, &err)
                                   : words(text, &spec, &err, &arena),
                       &err, &spec);
        ts_arena_release(&arena);
    }
    ts_free(copy);
    return 0;
}
