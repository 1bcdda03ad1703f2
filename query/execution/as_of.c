/*
 * as_of.c - see as_of.h.
 */
#include "query/execution/as_of.h"

#include "base/mem.h"
#include "base/text.h"
#include "query/language/cond.h"
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
    struct sto_cells cells, met; /* of the current hour; owned */
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
            if (m[0] > a->r->as_of_us)
                continue;
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
    TS_TRY(scan_begin(a, &deletes, STO_MIN_TS_MS, STO_MAX_TS_MS, &scan, err));
    int rc = 0;
    while (scan && rc == 0 && (rc = sto_merge_next(scan, &row, err)) > 0)
        rc = dead_add(a, row.cells, err);
    sto_merge_free(scan);
    return rc;
}

static bool is_dead(const struct as_of *a, int64_t ts_ms, int64_t written_us)
{
    for (size_t i = 0; i < a->n_dead; i++)
        if (a->dead[i].at_us > written_us && a->dead[i].from_ms <= ts_ms && a->dead[i].to_ms >= ts_ms)
            return true;
    return false;
}

/* --- the cells of an hour --- */

static void put(struct as_of *a, uint32_t meta, int64_t m)
{
    a->cells.meta[a->cells.n] = meta & ~STO_META_OP_MASK;
    a->cells.m[a->cells.n++] = m;
}

/* The version of a time that counts, if any. */
static int put_version(struct as_of *a, const struct sto_series *s, int32_t hour, const struct sto_cells *c,
                       const struct sto_versions *v, struct ts_error *err)
{
    int64_t ts_ms = hour * TS_HOUR_MS + v->off;
    uint32_t i = v->n;
    while (i > 0 && c->m[v->first + 2 * (i - 1)] > a->r->as_of_us)
        i--;
    if (i > 0) {
        uint32_t at = v->first + 2 * (i - 1);
        if (!is_dead(a, ts_ms, c->m[at]))
            put(a, c->meta[at + 1], c->m[at + 1]);
        return 0;
    }
    char text[TIME_BYTES];
    /* it may have been written before the metric was declared, and replaced since */
    if (!v->older_gone && (s->id >= a->declared.series_end || ts_ms >= a->declared.since_us / 1000))
        return 0;
    return ts_error_set(err, TS_EINVAL,
                        v->older_gone
                            ? "what %.*s was at %s is not known any more: the point was written more "
                              "often since than its versions are kept (%u)"
                            : "what %.*s was at %s is not known: it is older than the versions of the "
                              "metric, and was written since (%u are kept)",
                        TS_SHOWN(a->declared.metric, 200), time_text(ts_ms, text), a->declared.n);
}

/* Join points and versions of an hour, each NULL if there are none. */
static int make_cells(struct as_of *a, const struct sto_series *s, int32_t hour,
                      const struct sto_cells *points, const struct sto_cells *versions, struct ts_error *err)
{
    static const struct sto_cells none;
    struct sto_versions v = {.n = 0};
    uint32_t i = 0, at = 0;
    points = points ? points : &none;
    versions = versions ? versions : &none;
    a->cells.n = 0;
    sto_cells_reserve(&a->cells, points->n + versions->n / 2);
    bool more = sto_versions_next(versions, &at, &v);
    while (i < points->n || more) {
        uint32_t off = i < points->n ? sto_meta_off(points->meta[i]) : UINT32_MAX;
        if (more && v.off <= off) {
            TS_TRY(put_version(a, s, hour, versions, &v, err));
            i += v.off == off;
            more = sto_versions_next(versions, &at, &v);
        } else {
            put(a, points->meta[i], points->m[i]);
            i++;
        }
    }
    return 0;
}

/* --- reading --- */

/* Pass the cells of an hour on. *begun: the series has rows. */
static int pass(struct as_of *a, const struct sto_series *s, size_t pos, int32_t hour, bool *begun,
                struct ts_error *err)
{
    struct qry_reading *r = a->r;
    struct sto_cells *cells = &a->cells;
    r->n_points += cells->n;
    r->n_rows++;
    TS_TRY(qry_budget_points(r->budget, cells->n));
    TS_TRY(qry_budget_look(r->budget, err));
    if (r->where && r->where->n) {
        qry_where_cells(r->where, cells, &a->met);
        cells = &a->met;
    }
    if (!cells->n)
        return 0;
    cells->uniform = false;
    if (!*begun && r->begin)
        TS_TRY(r->begin(r->arg, pos, err));
    *begun = true;
    struct sto_row row = {.key = {.metric = s->metric, .series = s->id, .hour = hour},
                          .pos = pos,
                          .n_hours = 1,
                          .cells = cells};
    return r->row(r->arg, &row, err);
}

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

static int read_rows(struct as_of *a, const struct sto_series *s, size_t pos, struct side *points,
                     struct side *versions, struct ts_error *err)
{
    bool begun = false;
    TS_TRY(side_next(points, err));
    TS_TRY(side_next(versions, err));
    while (points->scan || versions->scan) {
        int32_t p = points->scan ? points->row.key.hour : INT32_MAX;
        int32_t v = versions->scan ? versions->row.key.hour : INT32_MAX, hour = p < v ? p : v;
        TS_TRY(make_cells(a, s, hour, points->scan && p == hour ? points->row.cells : NULL,
                          versions->scan && v == hour ? versions->row.cells : NULL, err));
        TS_TRY(pass(a, s, pos, hour, &begun, err));
        if (points->scan && p == hour)
            TS_TRY(side_next(points, err));
        if (versions->scan && v == hour)
            TS_TRY(side_next(versions, err));
    }
    return begun && a->r->end ? a->r->end(a->r->arg, pos, err) : 0;
}

static int read_series(struct as_of *a, size_t pos, struct ts_error *err)
{
    const struct qry_reading *r = a->r;
    const struct sto_series *s = r->series[pos], *writes = internal_series(a, a->writes, s);
    struct side points = {.scan = NULL}, versions = {.scan = NULL};
    TS_TRY(find_dead(a, s, err));
    int rc = scan_begin(a, &s, r->from_ms, r->to_ms - 1, &points.scan, err);
    if (rc == 0)
        rc = scan_begin(a, &writes, r->from_ms, r->to_ms - 1, &versions.scan, err);
    if (rc == 0)
        rc = read_rows(a, s, pos, &points, &versions, err);
    sto_merge_free(points.scan);
    sto_merge_free(versions.scan);
    return rc;
}

int qry_as_of_read(struct qry_reading *r, struct ts_error *err)
{
    struct as_of a = {.r = r};
    struct ts_slice metric = qry_view_name(r->view, STO_UID_METRIC, r->metric);
    if (r->from_ms >= r->to_ms || r->n == 0)
        return 0;
    TS_TRY(qry_as_of_check(r->view, metric, r->as_of_us, err));
    sto_versioned_find(r->view->store, metric, &a.declared);
    a.writes = internal_id(&a, STO_VERSIONED_WRITES);
    a.deletes = internal_id(&a, STO_VERSIONED_DELETES);
    int rc = 0;
    for (size_t i = 0; i < r->n && rc == 0; i++)
        rc = read_series(&a, i, err);
    ts_budget_free(r->budget->memory, a.dead, a.cap_dead * sizeof *a.dead);
    sto_cells_release(&a.cells);
    sto_cells_release(&a.met);
    return rc;
}
