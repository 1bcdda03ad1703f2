/*
 * ep_metrics.c - /api/tsd/metrics: a list of metrics with what is stored of each; /api/tsd/metric: one of them, with its tags.
 *
 * The names are compared with the text and the pattern in one pass over the catalog. Figures are computed only for the metrics of the
 * page, or, if a figure decides the order, for the first ones that match (metrics_max_sorted). Points are counted where few are stored;
 * elsewhere, points and times come from the indexes of the files and are estimates.
 *
 * Threads    a job
 * Not here   what a user has said about a metric (/api/metric), series that only a remote store has
 */
#include "tsd/protocols/http/ep.h"

#include "base/text.h"
#include "base/time.h"
#include "query/limit.h"
#include "tsd/meta/kind.h"
#include "tsd/protocols/http/job.h"
#include "tsd/protocols/http/queries.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

#define METRICS_DEFAULT  50       /* metrics of an answer */
#define METRICS_MAX      10000    /* and at most */
#define METRICS_OFFSET   10000000 /* metrics that may be left out at the beginning */
#define METRICS_PATTERN  1000u    /* bytes of a pattern */
#define METRICS_TAGS     100      /* tag keys of an answer */
#define METRICS_EXAMPLES 5        /* values of a tag key that are shown */

enum metrics_sort { SORT_NAME, SORT_SERIES, SORT_POINTS, SORT_BYTES, SORT_WRITTEN };
static const char *const sort_names[] = {"name", "series", "points", "bytes", "written"};

/* What is stored of a metric. */
struct figures {
    uint32_t id;
    struct ts_slice name;
    uint64_t n_series, n_points, n_bytes;
    int64_t first_ms, last_ms; /* if there are points; estimated: bounds */
    uint64_t order;            /* the figure by which the list is sorted */
    bool estimated;            /* points and times */
    bool days;                 /* the next two are known */
    uint64_t n_today, n_yesterday;
};

/* A request. */
struct metrics {
    struct tsd_job *job;
    struct sto_store *store;
    struct sto_catalog *cat;
    struct sto_snap *snap;
    struct qry_budget budget; /* time and cancellation */
    const struct tsd_settings *set;
    struct ts_slice match;   /* a part of the names, in any case; empty: of all */
    struct ts_slice pattern; /* of whole names, with * and ?; empty: any */
    bool others_only;        /* metrics of the daemon itself, tsd.*, are left out */
    enum metrics_sort sort;
    size_t limit, offset;
    size_t n_series_left;  /* whose indexes may still be searched, */
    size_t n_metrics_left; /* for so many metrics: what one does not need is there for the next ones */
    size_t cap_series;     /* space in series */
    const struct sto_series **series; /* those of one metric */
    uint64_t n_readable;              /* points that may still be read */
    uint64_t n_days;                  /* the same for the days; 0: they are not wanted */
    int64_t today_ms, yesterday_ms;   /* when the days begin */
    int64_t now_ms;
    double bytes_per_point; /* average of all files */
    struct figures *list;
    size_t n_list, cap_list; /* of list: used, allocated */
    size_t skip, n_names;    /* names that match: left out at the beginning; all */
    size_t steps;
    int rc; /* why the pass over the names has ended */
    struct ts_error *err;
};

/* --- parameters --- */

static int metrics_number(const struct tsd_req *req, const char *key, int64_t min, int64_t max, size_t *out,
                          struct ts_error *err)
{
    struct ts_slice text;
    int64_t n;
    if (!tsd_req_param(req, key, &text))
        return 0;
    if (ts_num_parse_int(text, &n, NULL) < 0 || n < min || n > max)
        return ts_error_set(err, TS_EINVAL, "%s=%.*s is not a number from %lld to %lld", key,
                            TS_SHOWN(text, 40), (long long)min, (long long)max);
    *out = (size_t)n;
    return 0;
}

/* When today and yesterday begin, in the zone of whoever asks. */
static int metrics_days(struct metrics *m, const struct tsd_req *req, struct ts_error *err)
{
    static const char *const names[2] = {"today", "yesterday"};
    int64_t *out[2] = {&m->today_ms, &m->yesterday_ms};
    m->now_ms = ts_clock_ms();
    for (int i = 0; i < 2; i++) {
        struct ts_slice text;
        if (!tsd_req_param(req, names[i], &text))
            return i == 0 ? 0 : ts_error_set(err, TS_EINVAL, "today=MS needs yesterday=MS beside it");
        if (ts_num_parse_int(text, out[i], NULL) < 0 || *out[i] > m->now_ms ||
            *out[i] < m->now_ms - 3 * TS_DAY_MS)
            return ts_error_set(err, TS_EINVAL, "%s=%.*s is not a time in ms within the last three days",
                                names[i], TS_SHOWN(text, 40));
    }
    if (m->yesterday_ms >= m->today_ms)
        return ts_error_set(err, TS_EINVAL, "yesterday=MS is not before today=MS");
    m->n_days = m->set->metrics_max_day_points;
    return 0;
}

static int metrics_parse(struct metrics *m, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(m->job);
    const size_t n_sorts = sizeof(sort_names) / sizeof(sort_names[0]);
    struct ts_slice sort;
    size_t i = 0;
    (void)tsd_req_param(req, "match", &m->match);
    (void)tsd_req_param(req, "pattern", &m->pattern);
    if (tsd_req_param(req, "own", &sort)) {
        m->others_only = ts_slice_is(sort, "false");
        if (!m->others_only && !ts_slice_is(sort, "true"))
            return ts_error_set(err, TS_EINVAL, "own=%.*s is neither true nor false", TS_SHOWN(sort, 40));
    }
    if (m->pattern.n > METRICS_PATTERN)
        return ts_error_set(err, TS_EINVAL, "pattern has more than %u bytes", METRICS_PATTERN);
    TS_TRY(metrics_number(req, "limit", 1, METRICS_MAX, &m->limit, err));
    TS_TRY(metrics_number(req, "offset", 0, METRICS_OFFSET, &m->offset, err));
    TS_TRY(metrics_days(m, req, err));
    if (!tsd_req_param(req, "sort", &sort))
        return 0;
    while (i < n_sorts && !ts_slice_is(sort, sort_names[i]))
        i++;
    if (i == n_sorts)
        return ts_error_set(err, TS_EINVAL, "sort=%.*s is none of name, series, points, bytes, written",
                            TS_SHOWN(sort, 40));
    m->sort = (enum metrics_sort)i;
    return 0;
}

/* --- figures --- */

/* Sums of what the files and memstores have. */
struct cost_sum {
    const struct metrics *m;
    uint64_t n_points;
    double n_bytes;
    int64_t first_ms, last_ms;
};

static void cost_each(void *arg, const struct sto_scan_cost *cost)
{
    struct cost_sum *sum = arg;
    double share = (double)cost->n_points * sum->m->bytes_per_point;
    if (!cost->n_points)
        return;
    sum->n_points += cost->n_points;
    /* few blocks hold mostly other metrics, so that their sizes say little */
    sum->n_bytes +=
        cost->memory || cost->n_blocks >= 4 || share > (double)cost->n_bytes ? (double)cost->n_bytes : share;
    sum->first_ms = cost->min_ms < sum->first_ms ? cost->min_ms : sum->first_ms;
    sum->last_ms = cost->max_ms > sum->last_ms ? cost->max_ms : sum->last_ms;
}

/* Count the points of a metric in the range of spec by reading them. */
static int figures_count(struct metrics *m, struct figures *f, const struct sto_scan_spec *spec,
                         struct ts_error *err)
{
    struct sto_merge *scan;
    struct sto_row row;
    int rc;
    TS_TRY(sto_scan(m->snap, spec, &scan, err));
    f->n_points = 0;
    while ((rc = sto_merge_next(scan, &row, err)) > 0) {
        int64_t hour_ms = (int64_t)row.key.hour * TS_HOUR_MS;
        int64_t first_ms = hour_ms + sto_meta_off(row.cells->meta[0]);
        int64_t last_ms = hour_ms + sto_meta_off(row.cells->meta[row.cells->n - 1]);
        f->first_ms = !f->n_points || first_ms < f->first_ms ? first_ms : f->first_ms;
        f->last_ms = !f->n_points || last_ms > f->last_ms ? last_ms : f->last_ms;
        f->n_points += row.cells->n;
        rc = qry_budget_points(&m->budget, row.cells->n);
        if (rc < 0) {
            (void)qry_budget_result(&m->budget, err);
            break;
        }
    }
    sto_merge_free(scan);
    return rc;
}

/* Count the points of a range if not too many may be there; otherwise *known is false. */
static int figures_range(struct metrics *m, struct sto_scan_spec spec, int64_t from_ms, int64_t to_ms,
                         uint64_t *out, bool *known, struct ts_error *err)
{
    struct cost_sum sum = {.m = m, .first_ms = INT64_MAX, .last_ms = INT64_MIN};
    struct figures f = {0};
    spec.from_ms = from_ms;
    spec.to_ms = to_ms;
    TS_TRY(sto_scan_cost(m->snap, &spec, cost_each, &sum, err));
    *known = *known && sum.n_points <= m->n_days;
    if (!*known)
        return 0;
    m->n_days -= sum.n_points;
    if (sum.n_points)
        TS_TRY(figures_count(m, &f, &spec, err));
    *out = f.n_points;
    return 0;
}

/* The series whose indexes are searched: all, or so many that are spread evenly. Returns how many there are. */
static size_t figures_series(struct metrics *m, const roaring_bitmap_t *set, uint64_t n_all)
{
    size_t share = m->n_series_left / (m->n_metrics_left ? m->n_metrics_left : 1), n = 0;
    uint64_t n_looked = share ? share : 1;
    n_looked = n_looked < m->cap_series ? n_looked : m->cap_series;
    n_looked = n_looked < n_all ? n_looked : n_all;
    for (uint64_t i = 0; i < n_looked; i++) {
        uint64_t rank = i * n_all / n_looked;
        uint32_t id;
        const struct sto_series *s =
            roaring_bitmap_select(set, (uint32_t)rank, &id) ? sto_series_get(m->cat, id) : NULL;
        if (s)
            m->series[n++] = s;
    }
    m->n_series_left -= n < m->n_series_left ? n : m->n_series_left;
    m->n_metrics_left -= m->n_metrics_left > 0;
    return n;
}

/* The series of the metric f->id whose indexes are searched, as a scan of all times; none: out->n_series is 0. */
static int figures_select(struct metrics *m, struct figures *f, struct sto_scan_spec *out,
                          struct ts_error *err)
{
    roaring_bitmap_t *set;
    TS_TRY(qry_budget_look(&m->budget, err));
    TS_TRY(sto_select(m->cat, f->id, NULL, 0, false, NULL, &set, err));
    f->n_series = roaring_bitmap_get_cardinality(set);
    size_t n = figures_series(m, set, f->n_series);
    roaring_bitmap_free(set);
    *out = (struct sto_scan_spec){.metric = f->id,
                                  .series = m->series,
                                  .n_series = n,
                                  .from_ms = STO_MIN_TS_MS,
                                  .to_ms = STO_MAX_TS_MS,
                                  .final = true,
                                  .counts_only = true,
                                  .local_only = true,
                                  .memory = m->budget.memory};
    return 0;
}

/* Everything about the metric f->id but its days. */
static int figures_find(struct metrics *m, struct figures *f, struct ts_error *err)
{
    struct cost_sum sum = {.m = m, .first_ms = INT64_MAX, .last_ms = INT64_MIN};
    struct sto_scan_spec spec;
    TS_TRY(figures_select(m, f, &spec, err));
    size_t n = spec.n_series;
    if (n == 0)
        return 0;
    TS_TRY(sto_scan_cost(m->snap, &spec, cost_each, &sum, err));
    double scale = (double)f->n_series / (double)n;
    f->estimated = n < f->n_series || sum.n_points > m->n_readable;
    f->n_points = (uint64_t)((double)sum.n_points * scale);
    f->n_bytes = (uint64_t)(sum.n_bytes * scale);
    f->first_ms = sum.first_ms;
    f->last_ms = sum.last_ms;
    if (f->estimated || !sum.n_points)
        return 0;
    m->n_readable -= sum.n_points;
    TS_TRY(figures_count(m, f, &spec, err));
    if (f->n_points < sum.n_points)
        f->n_bytes = (uint64_t)ceil(sum.n_bytes * (double)f->n_points / (double)sum.n_points);
    return 0;
}

/* The points of today until now, and those of yesterday in as much time. */
static int figures_days(struct metrics *m, struct figures *f, struct ts_error *err)
{
    int64_t until_ms = m->yesterday_ms + (m->now_ms - m->today_ms);
    struct sto_scan_spec spec;
    TS_TRY(figures_select(m, f, &spec, err));
    f->days = spec.n_series == f->n_series;
    if (!f->days || !spec.n_series)
        return 0;
    TS_TRY(figures_range(m, spec, m->today_ms, m->now_ms, &f->n_today, &f->days, err));
    return figures_range(m, spec, m->yesterday_ms, until_ms, &f->n_yesterday, &f->days, err);
}

/* Space for series, and what all figures need. */
static int figures_prepare(struct metrics *m, size_t n_metrics, struct ts_error *err)
{
    struct sto_window_size windows[64];
    uint64_t n_bytes = 0, n_points = 0;
    size_t n = sto_snap_windows(m->snap, windows, 64);
    for (size_t i = 0; i < n && i < 64; i++) {
        n_bytes += windows[i].n_bytes;
        n_points += windows[i].n_points;
    }
    m->bytes_per_point = n_points ? (double)n_bytes / (double)n_points : 0;
    m->n_readable = m->set->metrics_max_points;
    uint32_t n_known = sto_series_count(m->cat);
    m->n_series_left = m->set->metrics_max_series;
    m->n_metrics_left = n_metrics;
    m->cap_series = m->n_series_left < n_known ? m->n_series_left : n_known;
    m->cap_series += m->cap_series == 0;
    m->series = qry_arena_take(tsd_job_arena(m->job), m->cap_series, sizeof(struct sto_series *), err);
    return m->series ? 0 : qry_memory_code(err);
}

/* Figures and kind as members of an object. */
static void figures_write(struct metrics *m, const struct figures *f, struct ts_json *j)
{
    static const char *const kinds[] = {"gauge", "count", "counter"};
    struct tsd_metric_info info;
    tsd_metric_look(m->store, f->name, &info);
    ts_json_member_slice(j, "metric", f->name);
    ts_json_member_count(j, "series", f->n_series);
    ts_json_member_count(j, "points", f->n_points);
    ts_json_member_count(j, "bytes", f->n_bytes);
    if (f->n_points) {
        ts_json_member_int(j, "first", f->first_ms);
        ts_json_member_int(j, "last", f->last_ms);
    }
    if (info.source != TSD_KIND_DEFAULT)
        ts_json_member_str(j, "kind", kinds[info.kind]);
    if (info.unit[0])
        ts_json_member_str(j, "unit", info.unit);
    ts_json_member_bool(j, "estimated", f->estimated);
    if (f->days) {
        ts_json_member_count(j, "points_today", f->n_today);
        ts_json_member_count(j, "points_yesterday", f->n_yesterday);
    }
    struct tsd_queries *queries = tsd_job_req(m->job)->d->queries;
    uint64_t n_reads;
    int64_t last_ms;
    if (!queries || !tsd_queries_reads(queries, f->id, &n_reads, &last_ms))
        return;
    ts_json_member_count(j, "reads", n_reads);
    ts_json_member_int(j, "last_read", last_ms);
}

/* --- the list --- */

static bool metrics_has(struct ts_slice name, struct ts_slice part)
{
    for (size_t at = 0; at + part.n <= name.n; at++)
        if (!part.n || strncasecmp(name.p + at, part.p, part.n) == 0)
            return true;
    return false;
}

static void metrics_name(void *arg, uint32_t id, struct ts_slice name)
{
    struct metrics *m = arg;
    if (m->rc == 0)
        m->rc = qry_budget_step(&m->budget, &m->steps, m->err);
    if (m->rc < 0 || !name.p || !metrics_has(name, m->match) ||
        (m->pattern.n && !ts_slice_fits(name, m->pattern)) ||
        (m->others_only && ts_slice_fits(name, TS_SLICE_LIT("tsd.*"))))
        return;
    if (m->n_names++ >= m->skip && m->n_list < m->cap_list)
        m->list[m->n_list++] = (struct figures){.id = id, .name = name};
}

static int figures_cmp(const void *a, const void *b)
{
    const struct figures *x = a, *y = b;
    if (x->order != y->order)
        return x->order > y->order ? -1 : 1;
    return ts_slice_cmp(x->name, y->name);
}

static uint64_t figures_order(const struct figures *f, enum metrics_sort sort)
{
    switch (sort) {
    case SORT_SERIES:
        return f->n_series;
    case SORT_POINTS:
        return f->n_points;
    case SORT_BYTES:
        return f->n_bytes;
    case SORT_WRITTEN:
        return f->n_points ? (uint64_t)f->last_ms + 1 : 0;
    default:
        return 0;
    }
}

/* The metrics of the answer are list[*out_from..*out_to) then. */
static int metrics_find(struct metrics *m, size_t *out_from, size_t *out_to, struct ts_error *err)
{
    bool by_name = m->sort == SORT_NAME;
    m->skip = by_name ? m->offset : 0;
    m->cap_list = by_name ? m->limit : m->set->metrics_max_sorted;
    m->list = qry_arena_zero(tsd_job_arena(m->job), m->cap_list, sizeof(*m->list), err);
    if (!m->list)
        return qry_memory_code(err);
    m->err = err;
    sto_uid_suggest(m->cat, STO_UID_METRIC, (struct ts_slice){"", 0}, SIZE_MAX, metrics_name, m);
    if (m->rc < 0)
        return m->rc;
    TS_TRY(figures_prepare(m, m->n_list, err));
    for (size_t i = 0; i < m->n_list; i++) {
        TS_TRY(figures_find(m, &m->list[i], err));
        m->list[i].order = figures_order(&m->list[i], m->sort);
    }
    qsort(m->list, m->n_list, sizeof(*m->list), figures_cmp);
    size_t from = by_name ? 0 : m->offset;
    *out_from = from < m->n_list ? from : m->n_list;
    *out_to = m->n_list - *out_from < m->limit ? m->n_list : *out_from + m->limit;
    if (!m->n_days || *out_from == *out_to)
        return 0;
    TS_TRY(figures_prepare(m, *out_to - *out_from, err)); /* more series of fewer metrics */
    for (size_t i = *out_from; i < *out_to; i++)
        TS_TRY(figures_days(m, &m->list[i], err));
    return 0;
}

static int metrics_write(struct metrics *m, size_t from, size_t to, struct ts_error *err)
{
    struct ts_buf b;
    struct ts_json j;
    bool estimated = false;
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    ts_json_member_arr(&j, "metrics");
    for (size_t i = from; i < to; i++) {
        ts_json_obj(&j);
        figures_write(m, &m->list[i], &j);
        ts_json_obj_end(&j);
        estimated = estimated || m->list[i].estimated;
    }
    ts_json_arr_end(&j);
    ts_json_member_bool(&j, "more", m->skip + to < m->n_names);
    ts_json_member_count(&j, "total", m->n_names);
    ts_json_member_bool(&j, "estimated", estimated);
    ts_json_member_bool(&j, "partial", m->sort != SORT_NAME && m->n_list < m->n_names);
    if (m->sort != SORT_NAME)
        ts_json_member_count(&j, "sorted", m->n_list);
    ts_json_obj_end(&j);
    int rc = ts_sink_write(tsd_job_sink(m->job), ts_buf_get(&b), err);
    ts_buf_release(&b);
    return rc;
}

/* A request without parameters yet. */
static struct metrics *metrics_new(struct tsd_job *job)
{
    struct metrics *m = ts_arena_zalloc(tsd_job_arena(job), sizeof(*m));
    m->job = job;
    m->store = tsd_job_req(job)->d->store;
    m->set = &tsd_job_req(job)->d->set;
    m->cat = sto_store_catalog(m->store);
    m->limit = METRICS_DEFAULT;
    qry_budget_init(&m->budget, tsd_job_limit(job));
    return m;
}

int tsd_ep_metrics(struct tsd_job *job, struct ts_error *err)
{
    struct metrics *m = metrics_new(job);
    size_t from, to;
    TS_TRY(metrics_parse(m, err));
    m->snap = sto_snap_take(m->store);
    int rc = metrics_find(m, &from, &to, err);
    if (rc == 0)
        rc = metrics_write(m, from, to, err);
    sto_snap_release(m->snap);
    return rc;
}

/* --- one metric --- */

/* Tag keys of a metric and their values. */
struct tags {
    uint32_t keys[METRICS_TAGS];
    roaring_bitmap_t *values[METRICS_TAGS];
    size_t n;
    bool more; /* not all series or keys were looked at */
};

static void tags_add(struct tags *t, const struct sto_series *s)
{
    for (size_t i = 0; i < s->n_tags; i++) {
        size_t at = 0;
        while (at < t->n && t->keys[at] != s->tags[i].k)
            at++;
        if (at == METRICS_TAGS) {
            t->more = true;
            continue;
        }
        if (at == t->n) {
            t->keys[t->n] = s->tags[i].k;
            t->values[t->n++] = roaring_bitmap_create();
        }
        roaring_bitmap_add(t->values[at], s->tags[i].v);
    }
}

static int tags_find(struct metrics *m, uint32_t metric, struct tags *t, struct ts_error *err)
{
    roaring_bitmap_t *set;
    roaring_uint32_iterator_t it;
    size_t n = 0;
    int rc = 0;
    TS_TRY(sto_select(m->cat, metric, NULL, 0, false, NULL, &set, err));
    roaring_init_iterator(set, &it);
    for (; it.has_value && n < m->set->metrics_max_tag_series && rc == 0;
         roaring_advance_uint32_iterator(&it), n++) {
        const struct sto_series *s = sto_series_get(m->cat, it.current_value);
        if (s)
            tags_add(t, s);
        rc = qry_budget_step(&m->budget, &m->steps, err);
    }
    t->more = t->more || it.has_value;
    roaring_bitmap_free(set);
    return rc;
}

static void tags_write(struct metrics *m, const struct tags *t, struct ts_json *j)
{
    ts_json_member_arr(j, "tags");
    for (size_t i = 0; i < t->n; i++) {
        roaring_uint32_iterator_t it;
        ts_json_obj(j);
        ts_json_member_slice(j, "tagk", sto_uid_name(m->cat, STO_UID_TAGK, t->keys[i]));
        ts_json_member_count(j, "values", roaring_bitmap_get_cardinality(t->values[i]));
        ts_json_member_arr(j, "example");
        roaring_init_iterator(t->values[i], &it);
        for (size_t n = 0; it.has_value && n < METRICS_EXAMPLES; roaring_advance_uint32_iterator(&it), n++)
            ts_json_slice(j, sto_uid_name(m->cat, STO_UID_TAGV, it.current_value));
        ts_json_arr_end(j);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
    ts_json_member_bool(j, "more", t->more);
}

static int metric_write(struct metrics *m, const struct figures *f, const struct tags *t,
                        struct ts_error *err)
{
    struct ts_buf b;
    struct ts_json j;
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    figures_write(m, f, &j);
    tags_write(m, t, &j);
    ts_json_obj_end(&j);
    int rc = ts_sink_write(tsd_job_sink(m->job), ts_buf_get(&b), err);
    ts_buf_release(&b);
    return rc;
}

int tsd_ep_metric_stored(struct tsd_job *job, struct ts_error *err)
{
    struct metrics *m = metrics_new(job);
    struct tags *t = ts_arena_zalloc(tsd_job_arena(job), sizeof(*t));
    struct figures f = {0};
    if (!tsd_req_param(tsd_job_req(job), "metric", &f.name) || !f.name.n)
        return ts_error_set(err, TS_EINVAL, "the parameter metric is missing: write metric=NAME");
    if (sto_name_internal(f.name) || sto_uid_find(m->cat, STO_UID_METRIC, f.name, &f.id) < 0)
        return ts_error_set(err, TS_ENOTFOUND, "there is no metric %.*s", TS_SHOWN(f.name, 100));
    m->snap = sto_snap_take(m->store);
    int rc = figures_prepare(m, 1, err);
    rc = rc < 0 ? rc : figures_find(m, &f, err);
    rc = rc < 0 ? rc : tags_find(m, f.id, t, err);
    rc = rc < 0 ? rc : metric_write(m, &f, t, err);
    for (size_t i = 0; i < t->n; i++)
        roaring_bitmap_free(t->values[i]);
    sto_snap_release(m->snap);
    return rc;
}
