/*
 * age.c - see age.h.
 */
#include "storage/age.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/age_marks.h"
#include "storage/aged.h"
#include "storage/engine/aged_files.h"
#include "storage/store_int.h"

#define LONG_MS                                                                                              \
    (8 * TS_DAY_MS) /* points that are kept for so long get their summaries once a day, others once an hour */
#define CHUNK_HOURS 20000u             /* hours of series that are read together */
#define CHUNK_MAX   4096u              /* most series of these */
#define WRITE_BYTES ((size_t)16 << 20) /* rows of summaries in memory, before they are written */
#define PASS_ROWS   2000000u           /* a pass ends after so many rows, and the next one goes on (opts.h) */

int sto_age__open(struct sto_store *st, struct ts_error *err)
{
    struct sto_floors *marks = NULL;
    int rc = sto_age_marks__read(st, &marks, err);
    st->age.is_there = rc == 1;
    if (marks)
        sto_retain_set_aged(st, marks);
    sto_floors_unref(marks);
    return rc < 0 ? rc : 0;
}

void sto_age__close(struct sto_store *st)
{
    sto_keep_unref(st->age.keep);
    st->age.keep = NULL;
}

/* --- what is to be done --- */

/* Series whose hours from from_ms to before to_ms get summaries. */
struct todo {
    roaring_bitmap_t *series; /* owned */
    int64_t from_ms, to_ms;   /* full hours; from STO_MIN_TS_MS: they have no mark */
    bool keeps; /* their mark was lost: rows that are there may say more than the points that are left */
    roaring_bitmap_t *done; /* of them; owned */
};

/* A pass. */
struct pass {
    struct sto_store *st;
    struct sto_keep *keep;   /* a reference */
    int64_t before_ms;       /* what has expired then */
    roaring_bitmap_t *known; /* all series; owned */
    struct todo *todo;       /* owned */
    size_t n_todo;
    struct sto_snap *snap; /* what is read; NULL: there is nothing to do */
    struct sto_aged_files *files;
    uint64_t generation;        /* of the catalog when it was taken: series of summaries are found by names */
    int64_t first_ms;           /* no point is older */
    uint64_t n_rows;            /* written */
    uint64_t max_rows;          /* it ends after so many */
    uint64_t n_series;          /* whose marks have risen */
    struct ts_buf metric, text; /* scratch */
};

static void add_todo(struct pass *p, roaring_bitmap_t *series, int64_t from_ms, int64_t to_ms, bool keeps)
{
    if (roaring_bitmap_is_empty(series) || from_ms >= to_ms) {
        roaring_bitmap_free(series);
        return;
    }
    p->todo = ts_xrealloc(p->todo, (p->n_todo + 1) * sizeof *p->todo);
    p->todo[p->n_todo++] = (struct todo){.series = series,
                                         .from_ms = from_ms,
                                         .to_ms = to_ms,
                                         .keeps = keeps,
                                         .done = roaring_bitmap_create()};
}

/* The series of a rule, which are taken, by their marks. */
static void add_rule(struct pass *p, size_t rule, roaring_bitmap_t *series)
{
    const struct sto_floors *aged = sto_keep_aged(p->keep);
    int64_t keep_ms = sto_keep_rule_ms(p->keep, rule);
    int64_t step_ms = keep_ms >= LONG_MS ? TS_DAY_MS : TS_HOUR_MS;
    if (p->before_ms < STO_MIN_TS_MS + keep_ms) {
        roaring_bitmap_free(series);
        return;
    }
    int64_t to_ms = ts_floor_div(p->before_ms - keep_ms, step_ms) * step_ms;
    for (size_t i = 0; aged && i < aged->n; i++) {
        add_todo(p, roaring_bitmap_and(series, aged->at[i].series), aged->at[i].cutoff_ms, to_ms,
                 aged->at[i].cutoff_ms == STO_AGED_LOST_MS);
        roaring_bitmap_andnot_inplace(series, aged->at[i].series);
    }
    add_todo(p, series, STO_MIN_TS_MS, to_ms, false);
}

static void find_todo(struct pass *p)
{
    size_t n = sto_keep_n_rules(p->keep);
    roaring_bitmap_t **of = ts_xcalloc(n + 1, sizeof(roaring_bitmap_t *));
    p->known = roaring_bitmap_create();
    for (uint32_t id = 0, end = sto_series_count(p->st->catalog); id < end; id++) {
        int rule = sto_keep_rule(p->keep, id);
        if (rule < 0)
            continue;
        roaring_bitmap_add(p->known, id);
        if (!sto_keep_rule_ages(p->keep, (size_t)rule))
            continue;
        if (!of[rule])
            of[rule] = roaring_bitmap_create();
        roaring_bitmap_add(of[rule], id);
    }
    for (size_t r = 0; r < n; r++)
        if (of[r])
            add_rule(p, r, of[r]);
    ts_free(of);
}

static void release(struct pass *p)
{
    for (size_t i = 0; i < p->n_todo; i++) {
        roaring_bitmap_free(p->todo[i].series);
        roaring_bitmap_free(p->todo[i].done);
    }
    if (p->known)
        roaring_bitmap_free(p->known);
    ts_free(p->todo);
    ts_buf_release(&p->metric);
    ts_buf_release(&p->text);
    sto_aged_files_end(p->files);
    sto_snap_release(p->snap);
    sto_keep_unref(p->keep);
}

/* --- rows --- */

/* Series of one metric that are read together. */
struct chunk {
    const struct sto_series *const *series; /* [n] ascending by number */
    const struct sto_series **aged;         /* [n] that of the summaries of each; NULL: not known yet */
    size_t n;
    int64_t from_ms, to_ms;
    bool keeps; /* of a row and the points of its hour the one that knows more points is right; n is 1 */
};

/* Find or create the series of the summaries of a series. */
static int resolve(struct pass *p, const struct sto_series *s, const struct sto_series **out,
                   struct ts_error *err)
{
    if (*out)
        return 0;
    sto_aged_metric_name(p->st->catalog, s->metric, &p->metric);
    return sto_series_resolve_like(p->st->catalog, ts_buf_get(&p->metric), s, &p->text, out, err);
}

static void put_row(struct pass *p, const struct sto_aged *a, const struct sto_series *aged, int32_t hour)
{
    struct sto_point cells[STO_AGED_CELLS];
    sto_aged_files_put(p->files, cells, sto_aged_row(a, aged, hour, cells));
    p->n_rows++;
}

static int scan_begin(struct pass *p, const struct chunk *c, const struct sto_series *const *series, size_t n,
                      struct sto_merge **out, struct ts_error *err)
{
    struct sto_scan_spec spec = {.metric = series[0]->metric,
                                 .series = series,
                                 .n_series = n,
                                 .from_ms = c->from_ms,
                                 .to_ms = c->to_ms - 1,
                                 .aged = true,
                                 .final = true};
    return sto_scan(p->snap, &spec, out, err);
}

/* The rows that former passes have written of one series. */
struct former {
    struct sto_merge *scan; /* owned; NULL: there are none */
    struct sto_row row;     /* the present one */
    bool more;              /* there is one */
};

static int former_next(struct former *f, struct ts_error *err)
{
    int rc = sto_merge_next(f->scan, &f->row, err);
    f->more = rc == 1;
    return rc < 0 ? rc : 0;
}

static int former_begin(struct pass *p, const struct chunk *c, struct former *f, struct ts_error *err)
{
    uint32_t metric = sto_snap_aged_metric(p->snap, c->series[0]->metric);
    const struct sto_series *old = c->keeps ? sto_snap_aged_series(p->snap, metric, c->series[0]) : NULL;
    *f = (struct former){.scan = NULL};
    if (!old)
        return 0;
    TS_TRY(scan_begin(p, c, &old, 1, &f->scan, err));
    return former_next(f, err);
}

/* How many points the former row of an hour knows of; 0: there is none. To be called with ascending hours. */
static int former_points(struct former *f, int32_t hour, uint64_t *out, struct ts_error *err)
{
    struct sto_aged a;
    *out = 0;
    while (f->more && f->row.key.hour < hour)
        TS_TRY(former_next(f, err));
    if (f->more && f->row.key.hour == hour && sto_aged_read(f->row.cells, &a))
        *out = (uint64_t)a.part[0].n + a.part[1].n;
    return 0;
}

/* One hour of a series. */
static int write_hour(struct pass *p, struct chunk *c, const struct sto_row *row, struct former *former,
                      struct ts_error *err)
{
    struct sto_aged a;
    uint64_t known;
    if (!sto_aged_make(row->cells, &a))
        return 0;
    TS_TRY(former_points(former, row->key.hour, &known, err));
    if (known >= (uint64_t)a.part[0].n + a.part[1].n)
        return 0;
    TS_TRY(resolve(p, c->series[row->pos], &c->aged[row->pos], err));
    put_row(p, &a, c->aged[row->pos], row->key.hour);
    return sto_aged_files_stopped(p->files) ? ts_error_set(err, TS_ECANCELLED, "the store is closing") : 0;
}

static int write_points(struct pass *p, struct chunk *c, struct ts_error *err)
{
    struct sto_merge *scan = NULL;
    struct former former;
    struct sto_row row;
    int rc = former_begin(p, c, &former, err);
    if (rc == 0)
        rc = scan_begin(p, c, c->series, c->n, &scan, err);
    while (rc == 0 && (rc = sto_merge_next(scan, &row, err)) == 1)
        rc = write_hour(p, c, &row, &former, err);
    sto_merge_free(scan);
    sto_merge_free(former.scan);
    return rc;
}

static int cmp_id(const void *a, const void *b)
{
    uint32_t x = (*(const struct sto_series *const *)a)->id, y = (*(const struct sto_series *const *)b)->id;
    return x < y ? -1 : x > y;
}

/* Rows that a former pass has written of hours that have no points any more say so. */
static int write_gone(struct pass *p, struct chunk *c, struct ts_error *err)
{
    const struct sto_aged none = {.sum = {{0}}};
    uint32_t metric = sto_snap_aged_metric(p->snap, c->series[0]->metric);
    const struct sto_series **old = ts_xcalloc(c->n, sizeof(*old));
    struct sto_merge *scan = NULL;
    struct sto_row row;
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if ((old[n] = sto_snap_aged_series(p->snap, metric, c->series[i])))
            n++;
    qsort(old, n, sizeof(*old), cmp_id);
    int rc = n ? scan_begin(p, c, old, n, &scan, err) : 0;
    while (scan && rc == 0 && (rc = sto_merge_next(scan, &row, err)) == 1) {
        rc = 0;
        if (!sto_aged_files_has(p->files, old[row.pos], row.key.hour))
            put_row(p, &none, old[row.pos], row.key.hour);
    }
    sto_merge_free(scan);
    ts_free(old);
    return rc;
}

static int write_chunk(struct pass *p, struct chunk *c, struct ts_error *err)
{
    c->aged = ts_xcalloc(c->n, sizeof(*c->aged));
    int rc = 0;
    if (!sto_uid_deleted(sto_uid_name(p->st->catalog, STO_UID_METRIC, c->series[0]->metric))) {
        rc = write_points(p, c, err);
        rc = rc || c->keeps ? rc : write_gone(p, c, err);
    }
    ts_free(c->aged);
    if (rc == 0 && sto_aged_files_bytes(p->files) >= WRITE_BYTES)
        rc = sto_aged_files_write(p->files, err);
    return rc;
}

static int cmp_series(const void *a, const void *b)
{
    const struct sto_series *x = *(const struct sto_series *const *)a,
                            *y = *(const struct sto_series *const *)b;
    return x->metric != y->metric ? (x->metric < y->metric ? -1 : 1) : x->id < y->id ? -1 : x->id > y->id;
}

static int do_series(struct pass *p, struct todo *t, const struct sto_series **series, size_t n,
                     struct ts_error *err)
{
    struct chunk c = {
        .from_ms = t->from_ms > p->first_ms ? t->from_ms : p->first_ms, .to_ms = t->to_ms, .keeps = t->keeps};
    uint64_t hours = c.from_ms < c.to_ms ? (uint64_t)((c.to_ms - c.from_ms) / TS_HOUR_MS) : 1;
    size_t most = hours < CHUNK_HOURS ? (size_t)(CHUNK_HOURS / hours) : 1;
    most = c.keeps ? 1 : most < CHUNK_MAX ? most : CHUNK_MAX;
    for (size_t i = 0; i < n && p->n_rows < p->max_rows; i += c.n) {
        c.series = series + i;
        for (c.n = 1; c.n < most && i + c.n < n && series[i + c.n]->metric == series[i]->metric;)
            c.n++;
        if (c.from_ms < c.to_ms)
            TS_TRY(write_chunk(p, &c, err));
        for (size_t k = 0; k < c.n; k++)
            roaring_bitmap_add(t->done, series[i + k]->id);
    }
    return 0;
}

static int do_one(struct pass *p, struct todo *t, struct ts_error *err)
{
    size_t n = 0;
    const struct sto_series **series =
        ts_xcalloc((size_t)roaring_bitmap_get_cardinality(t->series) + 1, sizeof(*series));
    roaring_uint32_iterator_t it;
    roaring_init_iterator(t->series, &it);
    for (; it.has_value; roaring_advance_uint32_iterator(&it)) {
        const struct sto_series *s = sto_series_get(p->st->catalog, it.current_value);
        if (s)
            series[n++] = s;
    }
    qsort(series, n, sizeof(*series), cmp_series);
    int rc = do_series(p, t, series, n, err);
    ts_free(series);
    return rc;
}

/* --- a pass --- */

/* The marks once all that was done is durable. */
static struct sto_floors *risen(struct pass *p)
{
    const struct sto_floors *old = sto_keep_aged(p->keep);
    size_t n_old = old ? old->n : 0, n = 0;
    struct sto_floors *out = sto_floors_new(n_old + p->n_todo);
    roaring_bitmap_t *done = roaring_bitmap_create();
    for (size_t i = 0; i < p->n_todo; i++) {
        const struct todo *t = &p->todo[i];
        size_t k = 0;
        roaring_bitmap_or_inplace(done, t->done);
        while (k < n && out->at[k].cutoff_ms != t->to_ms)
            k++;
        if (k == n && !roaring_bitmap_is_empty(t->done))
            out->at[n++] = (struct sto_floor){.cutoff_ms = t->to_ms, .series = roaring_bitmap_create()};
        if (k < n)
            roaring_bitmap_or_inplace(out->at[k].series, t->done);
    }
    p->n_series = roaring_bitmap_get_cardinality(done);
    for (size_t i = 0; i < n_old; i++) {
        roaring_bitmap_t *left = roaring_bitmap_and(old->at[i].series, p->known);
        size_t k = 0;
        roaring_bitmap_andnot_inplace(left, done);
        while (k < n && out->at[k].cutoff_ms != old->at[i].cutoff_ms)
            k++;
        if (k < n)
            roaring_bitmap_or_inplace(out->at[k].series, left);
        if (k < n || roaring_bitmap_is_empty(left))
            roaring_bitmap_free(left);
        else
            out->at[n++] = (struct sto_floor){.cutoff_ms = old->at[i].cutoff_ms, .series = left};
    }
    roaring_bitmap_free(done);
    out->n = n;
    for (size_t i = 0; i < n; i++)
        roaring_bitmap_run_optimize(out->at[i].series);
    sto_floors_filled(out);
    return out;
}

/* Has a delete come since the points were read? */
static bool is_overtaken(const struct pass *p)
{
    for (size_t i = 0; i < p->n_todo; i++)
        if (sto_aged_files_overtaken(p->files, p->todo[i].done, p->todo[i].to_ms))
            return true;
    return false;
}

/* From now on rows of summaries without a mark are those of a pass that was not completed. */
static int begin(struct pass *p, struct ts_error *err)
{
    struct sto_store *st = p->st;
    if (!st->age.is_there) /* marks that were lost are among those in force */
        TS_TRY(sto_age_marks__write(st, sto_keep_aged(p->keep), err));
    st->age.is_there = true;
    TS_TRY(sto_aged_files_begin(st->engine, &p->files, err));
    p->generation = sto_catalog_generation(st->catalog);
    p->snap = sto_snap_take(st);
    int64_t last_ms;
    bool any = sto_snap_time_range(p->snap, &p->first_ms, &last_ms);
    p->first_ms = any ? ts_floor_div(p->first_ms, TS_HOUR_MS) * TS_HOUR_MS : INT64_MAX;
    return 0;
}

static int finish(struct pass *p, struct ts_error *err)
{
    struct sto_store *st = p->st;
    TS_TRY(sto_aged_files_write(p->files, err));
    if (is_overtaken(p))
        return ts_error_set(err, TS_EBUSY, "points of these hours are being deleted");
    if (sto_catalog_generation(st->catalog) != p->generation)
        return ts_error_set(err, TS_EBUSY, "names were changed meanwhile");
    struct sto_floors *marks = risen(p);
    int rc = sto_age_marks__write(st, marks, err);
    if (rc == 0)
        sto_retain_set_aged(st, marks);
    else
        p->n_series = 0;
    sto_floors_unref(marks);
    return rc;
}

static int run(struct pass *p, bool *out_all, struct ts_error *err)
{
    *out_all = true;
    find_todo(p);
    if (!p->n_todo)
        return 0;
    TS_TRY(begin(p, err));
    for (size_t i = 0; i < p->n_todo; i++) {
        TS_TRY(do_one(p, &p->todo[i], err));
        *out_all &= p->n_rows < p->max_rows;
    }
    return finish(p, err);
}

void sto_age__pass(struct sto_store *st, int64_t before_ms)
{
    static struct ts_log_limit limit;
    struct sto_age *a = &st->age;
    struct pass p = {.st = st,
                     .keep = sto_retain_keep(st),
                     .before_ms = before_ms,
                     .max_rows = st->opts.age_pass_rows ? st->opts.age_pass_rows : PASS_ROWS};
    struct ts_error why = {0};
    bool all = true;
    if (!sto_keep_ages(p.keep) || (p.keep == a->keep && sto_hour(before_ms) == a->hour)) {
        sto_keep_unref(p.keep);
        return;
    }
    ts_buf_init(&p.metric, 0);
    ts_buf_init(&p.text, 0);
    int rc = run(&p, &all, &why);
    if (rc == 0 && all && !p.n_series) {
        sto_keep_unref(a->keep);
        a->keep = sto_keep_ref(p.keep);
        a->hour = sto_hour(before_ms);
    }
    if (p.n_series) {
        atomic_fetch_add_explicit(&a->n_passes, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&a->n_hours, p.n_rows, memory_order_relaxed);
        ts_log(TS_LOG_INFO, "hours whose points have expired have summaries now hours=%llu series=%llu",
               (unsigned long long)p.n_rows, (unsigned long long)p.n_series);
    }
    if (rc < 0) {
        atomic_fetch_add_explicit(&a->n_errors, 1, memory_order_relaxed);
        ts_log_limited(&limit, TS_LOG_WARN, "expired points of series with hours= stay on disk: %s",
                       why.text);
    }
    release(&p);
}

void sto_age__stats(const struct sto_store *st, void (*each)(void *arg, const char *name, uint64_t value),
                    void *arg)
{
    each(arg, "aged.passes", atomic_load_explicit(&st->age.n_passes, memory_order_relaxed));
    each(arg, "aged.hours", atomic_load_explicit(&st->age.n_hours, memory_order_relaxed));
    each(arg, "aged.errors", atomic_load_explicit(&st->age.n_errors, memory_order_relaxed));
}
