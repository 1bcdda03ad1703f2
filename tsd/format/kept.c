/*
 * kept.c - CSV that begins when all series are known: a column for each tag key (csv-tags), or a row for each time and a column for
 * each series (csv-wide).
 *
 * Threads    see out.h
 * Memory     all points, in the account of the query
 * Not here   rows of totals, which have such columns anyway (csv.c)
 */
#include "tsd/format/out.h"

#include "base/mem.h"
#include "query/limit.h"
#include "query/sort.h"

#include <math.h>

#define KEPT_MAX_COLUMNS 10000 /* series of csv-wide, keys of csv-tags: more is no table */

/* A series; memory of the arena. */
struct kept_series {
    struct ts_slice metric;
    struct sto_tag_text *tags; /* [n_tags], texts are copies */
    size_t n_tags;
    int64_t *ts_ms;  /* [n] */
    uint64_t *v;     /* [n] */
    uint8_t *is_int; /* [n] */
    size_t n, at;    /* at: the next one to be printed */
    bool nan_is_null;
};
struct tsd_out_kept {
    struct qry_budget budget;
    struct ts_arena arena;
    struct kept_series *series; /* counted in the budget */
    size_t n, cap;
    size_t n_points;
    size_t n_steps; /* since the last look at the limits */
};

static int kept_begin(struct tsd_out *o, struct ts_error *err)
{
    (void)err;
    if (o->spec->by_on)
        return 0;
    o->kept = ts_xcalloc(1, sizeof(*o->kept));
    qry_budget_init(&o->kept->budget, o->limit);
    ts_arena_init(&o->kept->arena, 0);
    o->kept->arena.budget = o->kept->budget.memory;
    return 0;
}

void tsd_out__kept_free(struct tsd_out_kept *k)
{
    if (!k)
        return;
    ts_budget_free(k->budget.memory, k->series, k->cap * sizeof(*k->series));
    ts_arena_release(&k->arena);
    ts_free(k);
}

static int kept_text(struct tsd_out_kept *k, struct ts_slice s, struct ts_slice *out, struct ts_error *err)
{
    char *p = qry_arena_take(&k->arena, s.n + 1, 1, err);
    if (!p)
        return qry_memory_code(err);
    memcpy(p, s.p ? s.p : "", s.n);
    *out = (struct ts_slice){p, s.n};
    return 0;
}

static int kept_series(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    struct tsd_out_kept *k = o->kept;
    struct kept_series mine = {.n = s->n, .n_tags = s->n_tags, .nan_is_null = s->nan_is_null};
    if (k->n == KEPT_MAX_COLUMNS)
        return ts_error_set(err, TS_ELIMIT, "The table has more than %d series: choose some with top",
                            KEPT_MAX_COLUMNS);
    TS_TRY(kept_text(k, s->metric, &mine.metric, err));
    mine.tags = qry_arena_take(&k->arena, s->n_tags + 1, sizeof(*mine.tags), err);
    mine.ts_ms = mine.tags ? qry_arena_take(&k->arena, s->n + 1, sizeof(*mine.ts_ms), err) : NULL;
    mine.v = mine.ts_ms ? qry_arena_take(&k->arena, s->n + 1, sizeof(*mine.v), err) : NULL;
    mine.is_int = mine.v ? qry_arena_take(&k->arena, s->n + 1, 1, err) : NULL;
    if (!mine.is_int)
        return qry_memory_code(err);
    for (size_t i = 0; i < s->n_tags; i++) {
        TS_TRY(kept_text(k, s->tags[i].k, &mine.tags[i].k, err));
        TS_TRY(kept_text(k, s->tags[i].v, &mine.tags[i].v, err));
    }
    for (size_t i = 0; i < s->n; i++) {
        mine.ts_ms[i] = s->ts_ms[i];
        mine.v[i] = s->v[i];
        mine.is_int[i] = tsd_out_is_int(s, i);
    }
    TS_TRY(ts_budget_grow(k->budget.memory, &k->series, &k->cap, k->n + 1, sizeof(*k->series), err));
    k->series[k->n++] = mine;
    k->n_points += s->n;
    return qry_budget_look(&k->budget, err);
}

static int kept_total(struct tsd_out *o, const struct qry_total *t, struct ts_error *err)
{
    return tsd_out_csv.total(o, t, err);
}
static int kept_head(struct tsd_out *o, struct ts_error *err)
{
    return tsd_out_csv.head(o, err);
}

static void kept_time(const struct tsd_out *o, int64_t ts_ms, struct ts_buf *b)
{
    if (o->spec->times == QRY_TIMES_ISO)
        ts_time_print(o->spec->tz, ts_ms, false, b);
    else
        ts_buf_printf(b, "%lld", (long long)(o->spec->ms ? ts_ms : ts_floor_div(ts_ms, 1000)));
}

static void kept_value(const struct kept_series *s, size_t i, struct ts_buf *b)
{
    char text[64];
    double d;
    memcpy(&d, &s->v[i], 8);
    if (s->is_int[i])
        ts_buf_append(b, text, ts_num_print_int((int64_t)s->v[i], text));
    else if (!isnan(d) || !s->nan_is_null)
        ts_buf_append(b, text, ts_num_print_double(d, text));
}

static int kept_line(struct tsd_out *o, struct ts_error *err)
{
    ts_buf_char(&o->scratch, '\n');
    TS_TRY(ts_sink_write(o->sink, ts_buf_get(&o->scratch), err));
    ts_buf_clear(&o->scratch);
    return qry_budget_step(&o->kept->budget, &o->kept->n_steps, err);
}

/* --- csv-wide --- */

static int cmp_times(const void *a, const void *b, void *arg)
{
    const int64_t *x = a, *y = b;
    (void)arg;
    return *x < *y ? -1 : *x > *y;
}

/* All times, ascending, each once. */
static int kept_times(struct tsd_out_kept *k, int64_t **out, size_t *out_n, struct ts_error *err)
{
    int64_t *all = qry_arena_take(&k->arena, k->n_points + 1, sizeof(*all), err);
    size_t n = 0;
    if (!all)
        return qry_memory_code(err);
    for (size_t i = 0; i < k->n; i++) {
        memcpy(all + n, k->series[i].ts_ms, k->series[i].n * sizeof(*all));
        n += k->series[i].n;
    }
    TS_TRY(qry_sort(all, n, sizeof(*all), cmp_times, NULL, &k->budget, err));
    *out = all;
    *out_n = 0;
    for (size_t i = 0; i < n; i++)
        if (!i || all[i] != all[i - 1])
            all[(*out_n)++] = all[i];
    return 0;
}

static void wide_name(const struct kept_series *s, struct ts_buf *b)
{
    struct ts_buf name;
    ts_buf_init(&name, 0);
    ts_buf_slice(&name, s->metric);
    for (size_t i = 0; i < s->n_tags; i++)
        ts_buf_printf(&name, "%s%.*s=%.*s", i ? "," : "{", (int)s->tags[i].k.n, s->tags[i].k.p,
                      (int)s->tags[i].v.n, s->tags[i].v.p);
    ts_buf_str(&name, s->n_tags ? "}" : "");
    tsd_out_csv_field(b, ts_buf_get(&name));
    ts_buf_release(&name);
}

static int wide_end(struct tsd_out *o, struct ts_error *err)
{
    struct tsd_out_kept *k = o->kept;
    struct ts_buf *b = &o->scratch;
    int64_t *times = NULL;
    size_t n = 0;
    if (!k)
        return 0;
    TS_TRY(kept_times(k, &times, &n, err));
    ts_buf_clear(b);
    ts_buf_str(b, "timestamp");
    for (size_t i = 0; i < k->n; i++) {
        ts_buf_char(b, ',');
        wide_name(&k->series[i], b);
    }
    TS_TRY(kept_line(o, err));
    for (size_t t = 0; t < n; t++) {
        kept_time(o, times[t], b);
        for (size_t i = 0; i < k->n; i++) {
            struct kept_series *s = &k->series[i];
            ts_buf_char(b, ',');
            if (s->at < s->n && s->ts_ms[s->at] == times[t])
                kept_value(s, s->at, b);
            while (s->at < s->n && s->ts_ms[s->at] == times[t]) /* compat: several of one second */
                s->at++;
        }
        TS_TRY(kept_line(o, err));
    }
    return 0;
}

/* --- csv-tags --- */

/* Keys of all series, in the order in which they come. */
static int tags_keys(struct tsd_out_kept *k, struct ts_slice **out, size_t *out_n, struct ts_error *err)
{
    size_t n = 0, cap = 0;
    struct ts_slice *keys = NULL;
    for (size_t i = 0; i < k->n; i++)
        for (size_t t = 0; t < k->series[i].n_tags; t++) {
            size_t at = 0;
            while (at < n && !ts_slice_eq(keys[at], k->series[i].tags[t].k))
                at++;
            if (at < n)
                continue;
            if (n == cap) {
                cap = cap ? 2 * cap : 64;
                struct ts_slice *more = qry_arena_take(&k->arena, cap, sizeof(*more), err);
                if (!more)
                    return qry_memory_code(err);
                if (n)
                    memcpy(more, keys, n * sizeof(*more));
                keys = more;
            }
            keys[n++] = k->series[i].tags[t].k;
            TS_TRY(qry_budget_step(&k->budget, &k->n_steps, err));
        }
    *out = keys;
    *out_n = n;
    return 0;
}

static int tags_series(struct tsd_out *o, const struct kept_series *s, const struct ts_slice *keys,
                       size_t n_keys, struct ts_error *err)
{
    struct ts_buf tail, *b = &o->scratch;
    int rc = 0;
    ts_buf_init(&tail, 0);
    for (size_t i = 0; i < n_keys; i++) {
        ts_buf_char(&tail, ',');
        for (size_t t = 0; t < s->n_tags; t++)
            if (ts_slice_eq(s->tags[t].k, keys[i]))
                tsd_out_csv_field(&tail, s->tags[t].v);
    }
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        tsd_out_csv_field(b, s->metric);
        ts_buf_char(b, ',');
        kept_time(o, s->ts_ms[i], b);
        ts_buf_char(b, ',');
        kept_value(s, i, b);
        ts_buf_slice(b, ts_buf_get(&tail));
        rc = kept_line(o, err);
    }
    ts_buf_release(&tail);
    return rc;
}

static int tags_end(struct tsd_out *o, struct ts_error *err)
{
    struct tsd_out_kept *k = o->kept;
    struct ts_slice *keys = NULL;
    size_t n = 0;
    if (!k)
        return 0;
    TS_TRY(tags_keys(k, &keys, &n, err));
    ts_buf_clear(&o->scratch);
    ts_buf_str(&o->scratch, "metric,timestamp,value");
    for (size_t i = 0; i < n; i++) {
        ts_buf_char(&o->scratch, ',');
        tsd_out_csv_field(&o->scratch, keys[i]);
    }
    TS_TRY(kept_line(o, err));
    for (size_t i = 0; i < k->n; i++)
        TS_TRY(tags_series(o, &k->series[i], keys, n, err));
    return 0;
}

const struct tsd_out_format tsd_out_csv_tags = {.name = "csv-tags",
                                                .content_type = "text/csv; charset=UTF-8",
                                                .begin = kept_begin,
                                                .head = kept_head,
                                                .series = kept_series,
                                                .total = kept_total,
                                                .end = tags_end,
                                                .help = "CSV with a column for each tag key."};
const struct tsd_out_format tsd_out_csv_wide = {
    .name = "csv-wide",
    .content_type = "text/csv; charset=UTF-8",
    .begin = kept_begin,
    .head = kept_head,
    .series = kept_series,
    .total = kept_total,
    .end = wide_end,
    .help = "CSV with a row for each time and a column for each series."};
