/*
 * choice.c - parameters that choose among the series, points and cells of an answer: top, bottom, where, kinds, sort, compare, thin, ...
 *
 * Threads    any
 */
#include "query/language/cond.h"

#include "base/cut.h"
#include "base/text.h"
#include "query/language/parse.h"
#include "query/thin.h"

#include <stdio.h>
#include <string.h>

static const char *const rank_names[] = {
    [QRY_TOP_AVG] = "avg", [QRY_TOP_MAX] = "max",   [QRY_TOP_MIN] = "min",
    [QRY_TOP_SUM] = "sum", [QRY_TOP_LAST] = "last", [QRY_TOP_COUNT] = "count"};

static int parse_count(const char *name, struct ts_slice s, size_t *out, struct ts_error *err)
{
    int64_t n;
    if (ts_num_parse_int(s, &n, NULL) < 0 || n < 1)
        return ts_error_set(err, TS_EINVAL, "Invalid number of series: %s=%.*s", name, TS_SHOWN(s, 40));
    *out = (size_t)n;
    return 0;
}

static int parse_top(struct ts_slice top, struct ts_slice bottom, struct ts_slice rank, struct qry_top *out,
                     struct ts_error *err)
{
    *out = (struct qry_top){.rank = QRY_TOP_AVG, .bottom = bottom.p != NULL};
    if (top.p && bottom.p)
        return ts_error_set(err, TS_EINVAL, "Give top or bottom, not both");
    if (top.p || bottom.p)
        TS_TRY(parse_count(top.p ? "top" : "bottom", top.p ? top : bottom, &out->n, err));
    if (!rank.p)
        return 0;
    if (!out->n)
        return ts_error_set(err, TS_EINVAL, "rank is for top and bottom: give one of them");
    for (size_t i = 0; i < sizeof rank_names / sizeof rank_names[0]; i++) {
        if (ts_slice_is(rank, rank_names[i])) {
            out->rank_given = true;
            out->rank = (enum qry_top_by)i;
            return 0;
        }
    }
    return ts_error_set(err, TS_EINVAL, "No such rank: %.*s (avg, max, min, sum, last, count)",
                        TS_SHOWN(rank, 40));
}

static int parse_thin(struct ts_slice s, size_t *out, struct ts_error *err)
{
    int64_t n;
    if (ts_num_parse_int(s, &n, NULL) < 0 || n < 1 || n > QRY_MAX_THIN)
        return ts_error_set(
            err, TS_EINVAL,
            "Invalid number of columns: thin=%.*s (1 to %d, such as the width of the graph in pixels)",
            TS_SHOWN(s, 40), QRY_MAX_THIN);
    *out = (size_t)n;
    return 0;
}

/* "points,rollups", "all". */
static int parse_kinds(struct ts_slice s, unsigned *out, struct ts_error *err)
{
    static const struct {
        const char *name; /* as requested */
        unsigned bits;    /* enum qry_kind */
    } kinds[] = {{"points", QRY_KIND_POINTS},
                 {"rollups", QRY_KIND_ROLLUPS},
                 {"histograms", QRY_KIND_HISTOGRAMS},
                 {"all", QRY_KIND_POINTS | QRY_KIND_ROLLUPS | QRY_KIND_HISTOGRAMS}};
    struct ts_slice one;
    *out = 0;
    while (ts_slice_next(&s, ',', &one)) {
        unsigned bits = 0;
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            bits |= ts_slice_is(one, kinds[k].name) ? kinds[k].bits : 0;
        if (!bits)
            return ts_error_set(err, TS_EINVAL, "No such kind: %.*s (points, rollups, histograms, all)",
                                TS_SHOWN(one, 40));
        *out |= bits;
    }
    return 0;
}

/* One of some words, by its number. */
static int parse_word(const char *what, struct ts_slice s, const char *const *words, int *out,
                      struct ts_error *err)
{
    struct ts_buf all;
    ts_buf_init(&all, 0);
    for (int i = 0; words[i]; i++) {
        if (ts_slice_is(s, words[i])) {
            *out = i;
            ts_buf_release(&all);
            return 0;
        }
        ts_buf_printf(&all, "%s%s", i ? ", " : "", words[i]);
    }
    int rc = ts_error_set(err, TS_EINVAL, "Invalid value of %s: %.*s (%.*s)", what, TS_SHOWN(s, 40),
                          (int)all.n, all.p);
    ts_buf_release(&all);
    return rc;
}

enum choice {
    CHOICE_TOP,
    CHOICE_BOTTOM,
    CHOICE_RANK,
    CHOICE_WHERE,
    CHOICE_KINDS,
    CHOICE_TIMES,
    CHOICE_SORT,
    CHOICE_OTHERS,
    CHOICE_COMPARE,
    CHOICE_COLUMNS,
    CHOICE_PARTIAL,
    CHOICE_THIN,
    CHOICE_FIGURES,
    CHOICE_MAX_SERIES,
    CHOICE_AS_OF,
    CHOICE_VERSIONS,
    N_CHOICES
};
const char *const qry_choice_names[] = {[CHOICE_TOP] = "top",
                                        [CHOICE_BOTTOM] = "bottom",
                                        [CHOICE_RANK] = "rank",
                                        [CHOICE_WHERE] = "where",
                                        [CHOICE_KINDS] = "kinds",
                                        [CHOICE_TIMES] = "times",
                                        [CHOICE_SORT] = "sort",
                                        [CHOICE_OTHERS] = "others",
                                        [CHOICE_COMPARE] = "compare",
                                        [CHOICE_COLUMNS] = "columns",
                                        [CHOICE_PARTIAL] = "partial",
                                        [CHOICE_THIN] = "thin",
                                        [CHOICE_FIGURES] = "figures",
                                        [CHOICE_MAX_SERIES] = "max_series",
                                        [CHOICE_VERSIONS] = "versions",
                                        [CHOICE_AS_OF] = "as_of",
                                        [N_CHOICES] = NULL};

int qry_choice_json(const char *name, const json_t *v, struct ts_arena *arena, struct ts_slice *out,
                    struct ts_error *err)
{
    static const char flags[] = " others figures versions ", counts[] = " top bottom thin max_series as_of ";
    char word[32];
    *out = (struct ts_slice){NULL, 0};
    if (json_is_null(v))
        return 0;
    int n = snprintf(word, sizeof word, " %s ", name);
    bool flag = n < (int)sizeof word && strstr(flags, word);
    bool count = n < (int)sizeof word && strstr(counts, word);
    if (json_is_string(v) || (count && json_is_integer(v)))
        *out = qry_json_text(v, arena);
    else if (flag && json_is_boolean(v))
        *out = json_is_true(v) ? TS_SLICE_LIT("true") : TS_SLICE_LIT("false");
    else
        return ts_error_set(err, TS_EINVAL, "The member %s of the body must be %s", name,
                            flag    ? "true or false"
                            : count ? "a whole number"
                                    : "a text");
    return 0;
}

/* Choices that are about tables of totals. */
static int parse_table(const struct ts_slice *v, struct ts_arena *arena, struct qry_spec *spec,
                       struct ts_error *err)
{
    static const char *const sorts[] = {"usual", "time", "name", "value", NULL};
    static const char *const partials[] = {"none", "mark", "column", NULL};
    int word = 0;
    if (v[CHOICE_SORT].p) {
        TS_TRY(parse_word("sort", v[CHOICE_SORT], sorts, &word, err));
        spec->sort = (enum qry_sort)word;
    }
    if (v[CHOICE_PARTIAL].p) {
        TS_TRY(parse_word("partial", v[CHOICE_PARTIAL], partials, &word, err));
        spec->partial = (enum qry_partial)word;
    }
    spec->others = v[CHOICE_OTHERS].p && !ts_slice_is(v[CHOICE_OTHERS], "false");
    if (v[CHOICE_COMPARE].p) {
        struct ts_slice s = v[CHOICE_COMPARE];
        TS_TRY(ts_duration_exact(s, &spec->compare_n, &spec->compare_unit, NULL, err));
        spec->compare_text = (struct ts_slice){ts_arena_strndup(arena, s.p, s.n), s.n};
        if (spec->compare_n > 100000)
            return ts_error_set(err, TS_EINVAL, "compare goes back at most 100000 units, not %.*s",
                                TS_SHOWN(s, 40));
    }
    if (v[CHOICE_COLUMNS].n)
        spec->columns = (struct ts_slice){ts_arena_strndup(arena, v[CHOICE_COLUMNS].p, v[CHOICE_COLUMNS].n),
                                          v[CHOICE_COLUMNS].n};
    return 0;
}

/* How much of each series, and of how many of them, an answer shows. */
static int parse_amount(const struct ts_slice *v, struct qry_spec *spec, struct ts_error *err)
{
    spec->figures = v[CHOICE_FIGURES].p && !ts_slice_is(v[CHOICE_FIGURES], "false");
    if (v[CHOICE_MAX_SERIES].p)
        TS_TRY(parse_count("max_series", v[CHOICE_MAX_SERIES], &spec->max_series, err));
    return v[CHOICE_THIN].p ? parse_thin(v[CHOICE_THIN], &spec->thin, err) : 0;
}

/* The last microsecond of the millisecond that is named. */
int qry_spec_as_of(struct qry_spec *spec, struct ts_error *err)
{
    struct ts_slice s = spec->as_of_text;
    int64_t ms;
    if (!s.p)
        return 0;
    TS_TRY(ts_time_parse(s, spec->tz, spec->now_ms, false, &ms, NULL, err));
    if (ms <= 0 || ms >= STO_MAX_TS_MS)
        return ts_error_set(err, TS_EINVAL, "as_of is a time since 1970: %.*s", TS_SHOWN(s, 40));
    spec->as_of_us = ms * 1000 + 999;
    return 0;
}

int qry_parse_choice(const struct qry_param *params, size_t n, struct ts_arena *arena, struct qry_spec *spec,
                     struct ts_buf *out_uri, struct ts_error *err)
{
    static const char *const times[] = {"usual", "iso", "epoch", NULL};
    struct ts_slice v[N_CHOICES] = {{NULL, 0}};
    int word = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < N_CHOICES; k++) {
            if (!ts_slice_is(params[i].name, qry_choice_names[k]))
                continue;
            v[k] = params[i].value.p ? params[i].value : TS_SLICE_LIT("");
            if (!out_uri)
                continue;
            ts_buf_printf(out_uri, "&%s=", qry_choice_names[k]);
            qry_uri_encode(v[k], out_uri);
        }
    }
    TS_TRY(parse_top(v[CHOICE_TOP], v[CHOICE_BOTTOM], v[CHOICE_RANK], &spec->top, err));
    TS_TRY(v[CHOICE_KINDS].p ? parse_kinds(v[CHOICE_KINDS], &spec->kinds, err) : 0);
    TS_TRY(v[CHOICE_TIMES].p ? parse_word("times", v[CHOICE_TIMES], times, &word, err) : 0);
    spec->times = (enum qry_times)word;
    TS_TRY(parse_table(v, arena, spec, err));
    TS_TRY(parse_amount(v, spec, err));
    spec->versions = v[CHOICE_VERSIONS].p && !ts_slice_is(v[CHOICE_VERSIONS], "false");
    if (v[CHOICE_AS_OF].p)
        spec->as_of_text = (struct ts_slice){ts_arena_strndup(arena, v[CHOICE_AS_OF].p, v[CHOICE_AS_OF].n),
                                             v[CHOICE_AS_OF].n};
    if (spec->now_ms) /* otherwise now and the zone are not known yet */
        TS_TRY(qry_spec_as_of(spec, err));
    return v[CHOICE_WHERE].p ? qry_where_parse(v[CHOICE_WHERE], arena, &spec->where, err) : 0;
}
