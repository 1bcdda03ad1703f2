/*
 * as_of.c - see as_of.h.
 */
#include "query/execution/as_of.h"

#include "base/mem.h"
#include "base/text.h"
#include "query/execution/plan.h"
#include "query/language/cond.h"
#include "query/versions.h"
#include "storage/versioned.h"

#include <string.h>

#define TIME_BYTES 48 /* a time as text */

/* A delete of a range. */
struct deleted {
    int64_t at_us;          /* when */
    int64_t from_ms, to_ms; /* what, inclusive */
};

/* A running reading. */
struct as_of {
    struct qry_reading *r;
    struct sto_versioned declared;
    uint32_t writes, deletes; /* ids of the internal metrics; UINT32_MAX = there is none yet */
    struct deleted *dead;     /* of the current series; counted in the budget */
    size_t n_dead, cap_dead;
    int64_t deletes_from_ms;     /* of the current series: earlier ones may be forgotten */
    bool dead_since;             /* points of the range were deleted after the time that is asked for */
    struct sto_cells cells, met; /* of the current hour; owned */
    bool begun;                  /* r->begin was called for the current series */
    /* Takes an hour of the series at pos: its points and versions, each NULL if there are none. */
    int (*hour)(struct as_of *a, size_t pos, int32_t hour, const struct sto_cells *points,
                const struct sto_cells *versions, struct ts_error *err);
    qry_version_fn each; /* of a list of versions */
    void *arg;
};

/* A time for people, in UTC. */
static const char *time_text(int64_t ms, char text[TIME_BYTES])
{
    struct ts_buf b;
    ts_buf_init(&b, TIME_BYTES - 1);
    ts_time_print(NULL, ms, false, &b);
    memcpy(text, b.p ? b.p : "", b.n);
    text[b.n] = 0;
    ts_buf_release(&b);
    return text;
}

int qry_as_of_check(const struct qry_view *view, struct ts_slice metric, int64_t as_of_us,
                    struct ts_error *err)
{
    struct sto_versioned v = {.n = 0};
    char text[TIME_BYTES];
    if (view->store && !view->remote)
        sto_versioned_find(view->store, metric, &v);
    if (!v.n)
        return ts_error_set(
            err, TS_EINVAL,
            "%.*s keeps no versions, so what it was at another time is not known; tsd versions "
            "set makes a metric keep them from then on",
            TS_SHOWN(metric, 200));
    return as_of_us >= v.since_us
               ? 0
               : ts_error_set(err, TS_EINVAL,
                              "%.*s keeps versions since %s, so what it was before is not known",
                              TS_SHOWN(metric, 200), time_text(v.since_us / 1000, text));
}

static uint32_t internal_id(const struct as_of *a, enum sto_versioned_what what)
{
    struct ts_buf name;
    uint32_t id = UINT32_MAX;
    ts_buf_init(&name, 0);
    sto_versioned_name(&a->declared, what, &name);
    if (sto_uid_find(a->r->view->cat, STO_UID_METRIC, ts_buf_get(&name), &id) < 0)
        id = UINT32_MAX;
    ts_buf_release(&name);
    return id;
}

/* The series of an internal metric with the tags of another; NULL: there is none. */
static const struct sto_series *internal_series(const struct as_of *a, uint32_t metric,
                                                const struct sto_series *s)
{
    const struct sto_series *out;
    if (metric == UINT32_MAX || sto_series_find_ids(a->r->view->cat, metric, s->tags, s->n_tags, &out) < 0)
        return NULL;
    return out;
}

/* Begin a scan of one series. *out NULL: there is no such series. */
static int scan_begin(const struct as_of *a, const struct sto_series *const *series, int64_t from_ms,
                      int64_t to_ms, struct sto_merge **out, struct ts_error *err)
{
    *out = NULL;
    if (!*series)
        return 0;
    struct sto_scan_spec spec = {.metric = (*series)->metric,
                                 .series = series,
                                 .n_series = 1,
                                 .from_ms = from_ms,
                                 .to_ms = to_ms,
                                 .final = true,
                                 .memory = a->r->budget->memory};
    return sto_scan(a->r->snap, &spec, out, err);
}

/* --- deletes --- */

static int dead_add(struct as_of *a, const struct sto_cells *c, struct ts_error *err)
{
    struct sto_versions v;
    for (uint32_t at = 0; sto_versions_next(c, &at, &v);)
        for (uint32_t i = 0; i + 1 < v.n; i += 2) {
            const int64_t *m = c->m + v.first + 2 * i; /* stamp, first ms, stamp, last ms */
            if (m[0] > a->r->as_of_us) {
                a->dead_since |= m[1] < a->r->to_ms && m[3] >= a->r->from_ms;
                continue;
            }
            TS_TRY(ts_budget_grow(a->r->budget->memory, &a->dead, &a->cap_dead, a->n_dead + 1,
                                  sizeof *a->dead, err));
            a->dead[a->n_dead++] = (struct deleted){m[0], m[1], m[3]};
        }
    return 0;
}

static int find_dead(struct as_of *a, const struct sto_series *s, struct ts_error *err)
{
    const struct sto_series *deletes = internal_series(a, a->deletes, s);
    struct sto_merge *scan;
    struct sto_row row;
    a->n_dead = 0;
    a->dead_since = false;
    TS_TRY(scan_begin(a, &deletes, STO_MIN_TS_MS, STO_MAX_TS_MS, &scan, err));
    int rc = 0;
    while (scan && rc == 0 && (rc = sto_merge_next(scan, &row, err)) > 0)
        rc = dead_add(a, row.cells, err);
    sto_merge_free(scan);
    return rc;
}

/* When a version was first deleted; 0: it was not. */
static int64_t deleted_at(const struct as_of *a, int64_t ts_ms, int64_t written_us)
{
    int64_t at_us = 0;
    for (size_t i = 0; i < a->n_dead; i++)
        if (a->dead[i].at_us > written_us && a->dead[i].from_ms <= ts_ms && a->dead[i].to_ms >= ts_ms &&
            (!at_us || a->dead[i].at_us < at_us))
            at_us = a->dead[i].at_us;
    return at_us;
}

/* --- the cells of an hour --- */

static const struct sto_cells no_cells;

static void put(struct as_of *a, uint32_t meta, int64_t m)
{
    a->cells.meta[a->cells.n] = meta & ~STO_META_OP_MASK;
    a->cells.m[a->cells.n++] = m;
}

/* A point was deleted when deletes are no longer remembered, so before all that are: was it there as of the time? */
static int forgotten_delete(const struct as_of *a, int64_t ts_ms, struct ts_error *err)
{
    char text[TIME_BYTES];
    if (a->r->as_of_us / 1000 >= a->deletes_from_ms)
        return 0;
    return ts_error_set(
        err, TS_EINVAL,
        "what %.*s was at %s is not known any more: it was deleted longer ago than the metric "
        "keeps points",
        TS_SHOWN(a->declared.metric, 200), time_text(ts_ms, text));
}

/* The point of a time that has versions. */
enum beside { NO_POINT, POINT_WITHOUT_VERSION, POINT };

/* Is the point one of the kept versions? Otherwise its version is not there: it was lost in a crash with the answer to the put, or it is in a
 * memstore whose snapshot is a moment older. */
static enum beside point_beside(const struct sto_cells *versions, const struct sto_versions *v, uint32_t meta,
                                int64_t m)
{
    for (uint32_t i = v->n; i-- > 0;) {
        uint32_t at = v->first + 2 * i + 1;
        if (versions->m[at] == m && ((versions->meta[at] ^ meta) & ~STO_META_OP_MASK) == 0)
            return POINT;
    }
    return POINT_WITHOUT_VERSION;
}

/* The version of a time that counts, if any. *is_point: set if the point is what counts, since nothing was written later; then nothing is
 * put. */
static int put_version(struct as_of *a, const struct sto_series *s, int32_t hour, const struct sto_cells *c,
                       const struct sto_versions *v, enum beside point, bool *is_point, struct ts_error *err)
{
    int64_t ts_ms = hour * TS_HOUR_MS + v->off;
    uint32_t i = v->n;
    while (i > 0 && c->m[v->first + 2 * (i - 1)] > a->r->as_of_us)
        i--;
    *is_point = point == POINT && i == v->n;
    if (*is_point)
        return 0;
    if (i > 0) {
        uint32_t at = v->first + 2 * (i - 1);
        if (deleted_at(a, ts_ms, c->m[at]))
            return 0;
        /* nothing was written later, and the point is not there: it was deleted */
        if (point == NO_POINT && i == v->n && c->m[at] / 1000 < a->deletes_from_ms)
            return forgotten_delete(a, ts_ms, err);
        put(a, c->meta[at + 1], c->m[at + 1]);
        return 0;
    }
    char text[TIME_BYTES];
    /* it may have been written before the metric was declared, and replaced since */
    if (!v->older_gone && (s->id >= a->declared.series_end || ts_ms > a->declared.last_ms))
        return 0;
    return ts_error_set(err, TS_EINVAL,
                        v->older_gone
                            ? "what %.*s was at %s is not known any more: the point was written more "
                              "often since than its versions are kept (%u)"
                            : "what %.*s was at %s is not known: it is older than the versions of the "
                              "metric, and was written since (%u are kept)",
                        TS_SHOWN(a->declared.metric, 200), time_text(ts_ms, text), a->declared.n);
}

/* Join points and versions of an hour. */
static int make_cells(struct as_of *a, const struct sto_series *s, int32_t hour,
                      const struct sto_cells *points, const struct sto_cells *versions, struct ts_error *err)
{
    struct sto_versions v = {.n = 0};
    uint32_t i = 0, at = 0;
    a->cells.n = 0;
    sto_cells_reserve(&a->cells, points->n + versions->n / 2);
    bool more = sto_versions_next(versions, &at, &v);
    while (i < points->n || more) {
        uint32_t off = i < points->n ? sto_meta_off(points->meta[i]) : UINT32_MAX;
        if (more && v.off <= off) {
            bool is_point;
            enum beside point =
                v.off == off ? point_beside(versions, &v, points->meta[i], points->m[i]) : NO_POINT;
            TS_TRY(put_version(a, s, hour, versions, &v, point, &is_point, err));
            if (is_point)
                put(a, points->meta[i], points->m[i]);
            i += v.off == off;
            more = sto_versions_next(versions, &at, &v);
        } else {
            put(a, points->meta[i], points->m[i]);
            i++;
        }
    }
    return 0;
}

/* Count an hour that was read, and look at the limits. */
static int count(struct as_of *a, uint32_t n, struct ts_error *err)
{
    a->r->n_points += n;
    a->r->n_rows++;
    TS_TRY(qry_budget_points(a->r->budget, n));
    return qry_budget_look(a->r->budget, err);
}

/* Pass on what an hour was. */
static int pass_hour(struct as_of *a, size_t pos, int32_t hour, const struct sto_cells *points,
                     const struct sto_cells *versions, struct ts_error *err)
{
    struct qry_reading *r = a->r;
    const struct sto_series *s = r->series[pos];
    struct sto_cells *cells = &a->cells;
    TS_TRY(make_cells(a, s, hour, points ? points : &no_cells, versions ? versions : &no_cells, err));
    TS_TRY(count(a, cells->n, err));
    if (r->where && r->where->n) {
        qry_where_cells(r->where, cells, &a->met);
        cells = &a->met;
    }
    if (!cells->n)
        return 0;
    cells->uniform = false;
    if (!a->begun && r->begin)
        TS_TRY(r->begin(r->arg, pos, err));
    a->begun = true;
    struct sto_row row = {.key = {.metric = s->metric, .series = s->id, .hour = hour},
                          .pos = pos,
                          .n_hours = 1,
                          .cells = cells};
    return r->row(r->arg, &row, err);
}

/* --- reading --- */

/* A scan and its current row. */
struct side {
    struct sto_merge *scan; /* NULL: at the end */
    struct sto_row row;
};

static int side_next(struct side *s, struct ts_error *err)
{
    int rc = s->scan ? sto_merge_next(s->scan, &s->row, err) : 0;
    if (rc <= 0) {
        sto_merge_free(s->scan);
        s->scan = NULL;
    }
    return rc < 0 ? rc : 0;
}

static int read_rows(struct as_of *a, size_t pos, struct side *points, struct side *versions,
                     struct ts_error *err)
{
    a->begun = false;
    TS_TRY(side_next(points, err));
    TS_TRY(side_next(versions, err));
    while (points->scan || versions->scan) {
        int32_t p = points->scan ? points->row.key.hour : INT32_MAX;
        int32_t v = versions->scan ? versions->row.key.hour : INT32_MAX, hour = p < v ? p : v;
        bool has_points = points->scan && p == hour, has_versions = versions->scan && v == hour;
        TS_TRY(a->hour(a, pos, hour, has_points ? points->row.cells : NULL,
                       has_versions ? versions->row.cells : NULL, err));
        if (has_points)
            TS_TRY(side_next(points, err));
        if (has_versions)
            TS_TRY(side_next(versions, err));
    }
    return a->begun && a->r->end ? a->r->end(a->r->arg, pos, err) : 0;
}

static int read_series(struct as_of *a, size_t pos, struct ts_error *err)
{
    const struct qry_reading *r = a->r;
    const struct sto_series *s = r->series[pos], *writes = internal_series(a, a->writes, s);
    struct side points = {.scan = NULL}, versions = {.scan = NULL};
    a->deletes_from_ms = sto_versioned_deletes_from_ms(r->snap, s);
    TS_TRY(find_dead(a, s, err));
    if (a->dead_since && s->id < a->declared.series_end)
        return ts_error_set(
            err, TS_EINVAL,
            "points of %.*s in this range were deleted since, and may be older than its versions, so what "
            "they were is not known",
            TS_SHOWN(a->declared.metric, 200));
    int rc = scan_begin(a, &s, r->from_ms, r->to_ms - 1, &points.scan, err);
    if (rc == 0)
        rc = scan_begin(a, &writes, r->from_ms, r->to_ms - 1, &versions.scan, err);
    if (rc == 0)
        rc = read_rows(a, pos, &points, &versions, err);
    sto_merge_free(points.scan);
    sto_merge_free(versions.scan);
    return rc;
}

static int read_all(struct as_of *a, struct ts_error *err)
{
    const struct qry_reading *r = a->r;
    struct ts_slice metric = qry_view_name(r->view, STO_UID_METRIC, r->metric);
    if (r->from_ms >= r->to_ms || r->n == 0)
        return 0;
    TS_TRY(qry_as_of_check(r->view, metric, r->as_of_us, err));
    sto_versioned_find(r->view->store, metric, &a->declared);
    a->writes = internal_id(a, STO_VERSIONED_WRITES);
    a->deletes = internal_id(a, STO_VERSIONED_DELETES);
    int rc = 0;
    for (size_t i = 0; i < r->n && rc == 0; i++)
        rc = read_series(a, i, err);
    ts_budget_free(r->budget->memory, a->dead, a->cap_dead * sizeof *a->dead);
    sto_cells_release(&a->cells);
    sto_cells_release(&a->met);
    return rc;
}

int qry_as_of_read(struct qry_reading *r, struct ts_error *err)
{
    struct as_of a = {.r = r, .hour = pass_hour};
    return read_all(&a, err);
}

/* --- lists --- */

/* The versions of a time, the oldest first. */
static int list_time(struct as_of *a, size_t pos, int32_t hour, const struct sto_cells *c,
                     const struct sto_versions *v, struct ts_error *err)
{
    int64_t ts_ms = hour * TS_HOUR_MS + v->off;
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t at = v->first + 2 * i;
        int64_t next_us = i + 1 < v->n ? c->m[at + 2] : INT64_MAX, dead_us = deleted_at(a, ts_ms, c->m[at]);
        TS_TRY(a->each(a->arg,
                       &(struct qry_version){.series = a->r->series[pos],
                                             .ts_ms = ts_ms,
                                             .ms = c->meta[at + 1] & STO_META_MS,
                                             .value = sto_cell_num(c->meta[at + 1], c->m[at + 1]),
                                             .written_us = c->m[at],
                                             .deleted_us = dead_us < next_us ? dead_us : 0,
                                             .older_gone = i == 0 && v->older_gone},
                       err));
    }
    return 0;
}

static int list_hour(struct as_of *a, size_t pos, int32_t hour, const struct sto_cells *points,
                     const struct sto_cells *versions, struct ts_error *err)
{
    struct sto_versions v = {.n = 0};
    uint32_t i = 0, at = 0;
    points = points ? points : &no_cells;
    versions = versions ? versions : &no_cells;
    TS_TRY(count(a, points->n + versions->n / 2, err));
    bool more = sto_versions_next(versions, &at, &v);
    while (i < points->n || more) {
        uint32_t off = i < points->n ? sto_meta_off(points->meta[i]) : UINT32_MAX;
        if (more && v.off <= off) {
            TS_TRY(list_time(a, pos, hour, versions, &v, err));
            i += v.off == off;
            more = sto_versions_next(versions, &at, &v);
            continue;
        }
        TS_TRY(a->each(a->arg,
                       &(struct qry_version){.series = a->r->series[pos],
                                             .ts_ms = hour * TS_HOUR_MS + off,
                                             .ms = points->meta[i] & STO_META_MS,
                                             .value = sto_cell_num(points->meta[i], points->m[i])},
                       err));
        i++;
    }
    return 0;
}

static int list_sub(struct sto_snap *snap, const struct qry_spec *spec, size_t index,
                    struct qry_budget *budget, qry_version_fn each, void *arg, struct ts_error *err)
{
    struct ts_arena arena;
    struct qry_plan plan;
    ts_arena_init(&arena, 0);
    arena.budget = budget->memory;
    int rc = qry_plan_select(spec, index, NULL, 0, budget, &arena, &plan, err);
    if (rc == 0) {
        plan.from_ms = spec->start_ms;
        plan.to_ms = spec->end_ms + 1;
        qry_plan_clip(snap, &plan);
        struct qry_reading rd = qry_plan_reading(&plan, snap, budget);
        struct as_of a = {.r = &rd, .hour = list_hour, .each = each, .arg = arg};
        rc = read_all(&a, err);
    }
    ts_arena_release(&arena);
    return rc;
}

int qry_versions(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                 qry_version_fn each, void *arg, struct ts_error *err)
{
    struct qry_budget budget;
    struct qry_view view;
    struct qry_spec copy, all = *spec;
    struct ts_error why;
    int rc = 0;
    all.as_of_us = INT64_MAX;
    spec = qry_view_use(&view, st, limit, &all, &copy);
    struct sto_snap *snap = sto_snap_take(st);
    qry_budget_init(&budget, limit);
    for (size_t i = 0; i < spec->n_subs && rc == 0; i++)
        rc = list_sub(snap, spec, i, &budget, each, arg, err);
    sto_snap_release(snap);
    qry_view_unuse(&view, spec);
    if (rc < 0 && qry_budget_result(&budget, &why) < 0 && err)
        *err = why;
    return rc;
}
