/*
 * age.c - see age.h.
 */
#include "storage/age.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/age_days.h"
#include "storage/age_marks.h"
#include "storage/age_rows.h"
#include "storage/aged.h"
#include "storage/engine/aged_files.h"
#include "storage/store_int.h"

#define LONG_MS                                                                                              \
    (8 * TS_DAY_MS) /* points that are kept for so long get their summaries once a day, others once an hour */
#define PASS_ROWS   2000000u   /* a pass ends after so many rows, and the next one goes on (opts.h) */
#define SLICE_IDS   (1u << 16) /* numbers of series that are looked at together: a container of a bitmap */
#define SLICE_BYTES 8192u      /* most that it takes */
#define SET_BYTES   256u       /* a bitmap of one container takes so much more */
#define FEW         32u /* the limit of bytes does not wait for the summaries of one in so many series */
#define VOIDS       3u  /* so many passes in a row may be void without counting as failures */

int sto_age__open(struct sto_store *st, struct ts_error *err)
{
    struct sto_floors *marks = NULL;
    pthread_mutex_init(&st->age.marks_mu, NULL);
    st->age.is_open = true;
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
    sto_age_left__release(&st->age.left);
    if (st->age.is_open)
        pthread_mutex_destroy(&st->age.marks_mu);
    st->age.is_open = false;
}

/* --- what is to be done --- */

/* Series of a slice whose hours from from_ms to before to_ms get summaries. */
struct todo {
    roaring_bitmap_t *series; /* owned */
    int64_t from_ms, to_ms;   /* full hours; from STO_MIN_TS_MS: they have no mark */
    bool keeps; /* their mark was lost: rows that are there may say more than the points that are left */
};

/* Series that get the same mark. */
struct rise {
    int64_t to_ms;
    bool has_days;             /* they have hours, which have become days */
    roaring_bitmap_t *pending; /* their rows may be in memory still; owned */
    roaring_bitmap_t *done;    /* their rows are on disk; owned */
};

/* A pass. */
struct pass {
    struct sto_store *st;
    struct sto_keep *keep;    /* a reference */
    int64_t before_ms;        /* what has expired then */
    struct ts_budget *memory; /* what is held counts in it */
    uint64_t held_bytes;      /* taken from it until the end */
    roaring_bitmap_t *gone;   /* series with marks that are not known any more; owned */
    struct todo *todo;        /* of a slice; owned */
    size_t n_todo;
    struct rise *rise; /* owned */
    size_t n_rise;
    struct sto_aged_files *files; /* NULL: there was nothing to do yet */
    struct sto_age_rows rows;     /* with the snapshot that is read */
    uint64_t generation; /* of the catalog when it was taken: series of summaries are found by names */
    int64_t first_ms;    /* no point is older */
    uint64_t max_rows;   /* it ends after so many */
    bool cut;            /* it ends with what is in todo: there is no memory for more */
    bool only_failed;    /* nothing went wrong but with the series that failed */
    uint64_t n_ages;     /* series with rules that keep summaries of them */
    roaring_bitmap_t *overtaken; /* series of which something was deleted or loaded meanwhile; owned */
    bool
        is_void; /* rules or names were changed meanwhile: it has set no marks, and nothing else went wrong */
    uint64_t n_series;  /* whose marks have risen, those of hours too */
    uint64_t n_of_days; /* of them, those of hours */
    uint64_t n_days;    /* rows of days, of p->rows.n_rows */
};

static bool is_full(const struct pass *p)
{
    return p->rows.n_rows >= p->max_rows;
}

/* There is no memory: the pass ends with what it has to do, or fails if that is nothing. */
static int cut(struct pass *p, int rc)
{
    p->cut = p->n_todo || p->n_rise;
    return p->cut ? 0 : rc;
}

/* Most bytes of a bitmap of n series of a slice. */
static uint64_t set_bytes(uint64_t n)
{
    return SET_BYTES + (2 * n < SLICE_BYTES ? 2 * n : SLICE_BYTES);
}

/* --- what is to be done --- */

/* The set is taken. */
static int add_todo(struct pass *p, roaring_bitmap_t *series, int64_t from_ms, int64_t to_ms,
                    struct ts_error *err)
{
    bool any = !p->cut && !roaring_bitmap_is_empty(series) && from_ms < to_ms;
    uint64_t bytes = 3 * set_bytes(roaring_bitmap_get_cardinality(series)) + sizeof *p->todo;
    int rc =
        any ? ts_budget_take(p->memory, bytes, err) : 0; /* this set, and what becomes of it (struct rise) */
    if (!any || rc < 0) {
        roaring_bitmap_free(series);
        return rc < 0 ? cut(p, rc) : 0;
    }
    p->held_bytes += bytes;
    p->todo = ts_xrealloc(p->todo, (p->n_todo + 1) * sizeof *p->todo);
    p->todo[p->n_todo++] = (struct todo){.series = series, .from_ms = from_ms, .to_ms = to_ms};
    return 0;
}

/* Are the rows of a series hours, of which days are made? If not, they are points. */
static bool has_days(const struct pass *p, const struct sto_series *s)
{
    return s && sto_aged_level_of(p->st->catalog, s->metric) == STO_AGED_HOURS;
}

/* The series of a rule in a slice, by their marks. Rows of all are points, or hours. */
static int add_rule(struct pass *p, size_t rule, roaring_bitmap_t *series, struct ts_error *err)
{
    const struct sto_floors *aged = sto_keep_aged(p->keep);
    int64_t keep_ms = sto_keep_rule_ms(p->keep, rule);
    int64_t step_ms = keep_ms >= LONG_MS ? TS_DAY_MS : TS_HOUR_MS;
    bool days = has_days(p, sto_series_get(p->st->catalog, roaring_bitmap_minimum(series)));
    int64_t to_ms = p->before_ms < STO_MIN_TS_MS + keep_ms
                        ? STO_MIN_TS_MS
                        : ts_floor_div(p->before_ms - keep_ms, step_ms) * step_ms;
    if (days && !p->st->opts.knows_zone)
        return 0;
    if (days && to_ms > STO_MIN_TS_MS)
        to_ms = sto_age_days_floor(to_ms);
    if (!days && to_ms < sto_keep_least_points_ms(p->keep)) /* these go first, and rows of hours do not */
        to_ms = sto_keep_least_points_ms(p->keep);
    if (to_ms <= STO_MIN_TS_MS)
        return 0;
    for (size_t i = 0; aged && i < aged->n && !roaring_bitmap_is_empty(series); i++) {
        size_t n = p->n_todo;
        TS_TRY(
            add_todo(p, roaring_bitmap_and(series, aged->at[i].series), aged->at[i].cutoff_ms, to_ms, err));
        if (p->n_todo > n)
            p->todo[n].keeps = aged->at[i].cutoff_ms == STO_AGED_LOST_MS;
        roaring_bitmap_andnot_inplace(series, aged->at[i].series);
    }
    return add_todo(p, roaring_bitmap_copy(series), STO_MIN_TS_MS, to_ms, err);
}

/* Remember which series of a slice have marks and are not known any more. */
static void add_gone(struct pass *p, const roaring_bitmap_t *unknown)
{
    const struct sto_floors *aged = sto_keep_aged(p->keep);
    for (size_t i = 0; aged && i < aged->n && !roaring_bitmap_is_empty(unknown); i++) {
        roaring_bitmap_t *both = roaring_bitmap_and(unknown, aged->at[i].series);
        roaring_bitmap_or_inplace(p->gone, both);
        roaring_bitmap_free(both);
    }
}

/* What is to be done with the series from number `from` on. of[n_rules + 1]: scratch, all NULL. */
static int find_todo(struct pass *p, uint32_t from, uint32_t end, roaring_bitmap_t **of, struct ts_error *err)
{
    size_t n = sto_keep_n_rules(p->keep);
    roaring_bitmap_t *unknown = roaring_bitmap_create();
    int rc = 0;
    for (uint32_t id = from; id < end; id++) {
        int rule = sto_keep_rule(p->keep, id);
        if (rule < 0)
            roaring_bitmap_add(unknown, id);
        if (rule < 0 || !sto_keep_rule_ages(p->keep, (size_t)rule))
            continue;
        if (!of[rule])
            of[rule] = roaring_bitmap_create();
        roaring_bitmap_add(of[rule], id);
        p->n_ages++;
    }
    add_gone(p, unknown);
    roaring_bitmap_free(unknown);
    for (size_t r = 0; r < n; r++) {
        if (of[r] && rc == 0)
            rc = add_rule(p, r, of[r], err);
        if (of[r])
            roaring_bitmap_free(of[r]);
        of[r] = NULL;
    }
    return rc;
}

static void free_todo(struct pass *p)
{
    for (size_t i = 0; i < p->n_todo; i++)
        roaring_bitmap_free(p->todo[i].series);
    ts_free(p->todo);
    p->todo = NULL;
    p->n_todo = 0;
}

/* --- doing it --- */

/* From now on rows of summaries without a mark are those of a pass that was not completed. */
static int begin(struct pass *p, struct ts_error *err)
{
    struct sto_store *st = p->st;
    if (!st->age.is_there) /* marks that were lost are among those in force */
        TS_TRY(sto_age_marks__write(st, sto_keep_aged(p->keep), err));
    st->age.is_there = true;
    TS_TRY(sto_aged_files_begin(st->engine, &p->files, err));
    p->generation = sto_catalog_generation(st->catalog);
    p->rows.st = st;
    p->rows.snap = sto_snap_take(st);
    p->rows.files = p->files;
    p->rows.memory = p->memory;
    sto_age_rows__init(&p->rows);
    int64_t last_ms;
    bool any = sto_snap_time_range(p->rows.snap, &p->first_ms, &last_ms);
    p->first_ms = any ? ts_floor_div(p->first_ms, TS_HOUR_MS) * TS_HOUR_MS : INT64_MAX;
    return 0;
}

static struct rise *rise_to(struct pass *p, int64_t to_ms, bool has_days)
{
    for (size_t i = 0; i < p->n_rise; i++)
        if (p->rise[i].to_ms == to_ms && p->rise[i].has_days == has_days)
            return &p->rise[i];
    p->rise = ts_xrealloc(p->rise, (p->n_rise + 1) * sizeof *p->rise);
    p->rise[p->n_rise] = (struct rise){to_ms, has_days, roaring_bitmap_create(), roaring_bitmap_create()};
    return &p->rise[p->n_rise++];
}

/* Write all rows to disk. */
static int write_rows(struct pass *p, struct ts_error *err)
{
    TS_TRY(sto_aged_files_write(p->files, err));
    for (size_t i = 0; i < p->n_rise; i++) {
        roaring_bitmap_or_inplace(p->rise[i].done, p->rise[i].pending);
        roaring_bitmap_clear(p->rise[i].pending);
        roaring_bitmap_run_optimize(p->rise[i].done);
    }
    return 0;
}

static int cmp_series(const void *a, const void *b)
{
    const struct sto_series *x = *(const struct sto_series *const *)a,
                            *y = *(const struct sto_series *const *)b;
    return x->metric != y->metric ? (x->metric < y->metric ? -1 : 1) : x->id < y->id ? -1 : x->id > y->id;
}

/* The hours of a chunk of one series whose mark was lost: up to where it has summaries; or, of hours, from where its days are not needed. False: the
 * mark stays lost. */
static bool find_hours(struct pass *p, const struct todo *t, struct sto_age_chunk *c)
{
    const struct sto_floors *aged = sto_keep_aged(p->keep);
    int64_t needed_ms;
    if (c->has_days) {
        if (!sto_age_rows__needed(&p->rows, c->series[0], &needed_ms))
            return false;
        c->first = sto_hour(needed_ms);
        c->from_ms = c->from_ms < needed_ms ? needed_ms : c->from_ms;
        c->to_ms = c->to_ms < needed_ms ? needed_ms : c->to_ms;
    } else if (!sto_age_rows__end(&p->rows, c->series[0], t->to_ms, &c->to_ms)) {
        return false;
    }
    c->keeps = !c->has_days;
    /* a mark of its own, if there is room for one more */
    return c->to_ms == t->to_ms || p->n_rise + aged->n < STO_FLOORS_MAX / 2;
}

/* The next chunk of n series. Returns how many series it has; they are left alone if c->n is 0. */
static size_t next_chunk(struct pass *p, const struct todo *t, const struct sto_series **series, size_t n,
                         struct sto_age_chunk *c)
{
    *c = (struct sto_age_chunk){.series = series,
                                .n = 1,
                                .from_ms = p->first_ms,
                                .to_ms = t->to_ms,
                                .first = sto_hour(t->from_ms),
                                .has_days = has_days(p, series[0])};
    if (c->has_days && c->from_ms < c->to_ms)
        c->from_ms = sto_age_days_floor(c->from_ms);
    if (c->from_ms < t->from_ms)
        c->from_ms = t->from_ms;
    if (t->keeps) {
        c->n = find_hours(p, t, c);
        return 1;
    }
    size_t most = c->from_ms < c->to_ms ? sto_age_rows__most(c, n) : 1;
    while (c->n < most && series[c->n]->metric == series[0]->metric)
        c->n++;
    return c->n;
}

static int do_series(struct pass *p, const struct todo *t, const struct sto_series **series, size_t n,
                     struct ts_error *err)
{
    struct sto_age_chunk c;
    for (size_t i = 0; i < n && !is_full(p);) {
        i += next_chunk(p, t, series + i, n - i, &c);
        uint64_t n_rows = p->rows.n_rows;
        if (c.n && c.from_ms < c.to_ms)
            TS_TRY(sto_age_rows__write(&p->rows, &c, err));
        p->n_days += c.has_days ? p->rows.n_rows - n_rows : 0;
        for (size_t k = 0; k < c.n; k++)
            if (!roaring_bitmap_contains(p->rows.failed, c.series[k]->id))
                roaring_bitmap_add(rise_to(p, c.to_ms, c.has_days)->pending, c.series[k]->id);
        if (sto_aged_files_full(p->files))
            TS_TRY(write_rows(p, err));
    }
    return 0;
}

static int do_one(struct pass *p, const struct todo *t, struct ts_error *err)
{
    size_t n = 0, room = (size_t)roaring_bitmap_get_cardinality(t->series);
    const struct sto_series **series = ts_budget_calloc(p->memory, room, sizeof(*series), err);
    if (!series)
        return cut(p, err->code);
    roaring_uint32_iterator_t it;
    roaring_init_iterator(t->series, &it);
    for (; it.has_value; roaring_advance_uint32_iterator(&it)) {
        const struct sto_series *s = sto_series_get(p->st->catalog, it.current_value);
        if (s && (!has_days(p, s) || sto_age_days_ready(p->st->catalog, p->keep, s, t->to_ms)))
            series[n++] = s;
    }
    qsort(series, n, sizeof(*series), cmp_series);
    int rc = do_series(p, t, series, n, err);
    ts_budget_free(p->memory, series, room * sizeof(*series));
    return rc;
}

static int do_slice(struct pass *p, struct ts_error *err)
{
    if (p->n_todo && !p->files)
        TS_TRY(begin(p, err));
    for (size_t i = 0; i < p->n_todo && !is_full(p); i++)
        TS_TRY(do_one(p, &p->todo[i], err));
    return 0;
}

static int do_all(struct pass *p, struct ts_error *err)
{
    roaring_bitmap_t **of = ts_xcalloc(sto_keep_n_rules(p->keep) + 1, sizeof(roaring_bitmap_t *));
    uint32_t end = sto_series_count(p->st->catalog);
    int rc = 0;
    for (uint32_t from = 0; from < end && rc == 0 && !p->cut && !is_full(p);) {
        uint32_t to = end - from < SLICE_IDS ? end : from + SLICE_IDS;
        rc = find_todo(p, from, to, of, err);
        if (rc == 0)
            rc = do_slice(p, err);
        free_todo(p);
        from = to;
    }
    ts_free(of);
    return rc;
}

/* --- the end of a pass --- */

/* A delete has come since the points were read: what it has of a series is not in its rows, which get no mark. */
static void on_delete(void *arg, const struct sto_tomb *t)
{
    struct pass *p = arg;
    for (size_t i = 0; i < p->n_rise; i++)
        if (t->from_ms < p->rise[i].to_ms && roaring_bitmap_contains(p->rise[i].done, t->series) &&
            t->to_ms >= sto_keep_aged_to_ms(p->keep, t->series)) {
            roaring_bitmap_remove(p->rise[i].done, t->series);
            roaring_bitmap_add(p->overtaken, t->series);
        }
}

/* So has a bulk load, which may have points that have expired. */
static int drop_loaded(struct pass *p, struct ts_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < p->n_rise && rc == 0; i++) {
        roaring_bitmap_t *newer = roaring_bitmap_create();
        rc = sto_aged_files_newer(p->files, p->rows.snap->v, p->rise[i].done, p->rise[i].to_ms, newer, err);
        roaring_bitmap_or_inplace(p->overtaken, newer);
        roaring_bitmap_andnot_inplace(p->rise[i].done, newer);
        roaring_bitmap_free(newer);
    }
    return rc;
}

/* The marks once all that was done is durable. */
static struct sto_floors *risen(struct pass *p)
{
    const struct sto_floors *old = sto_keep_aged(p->keep);
    size_t n_old = old ? old->n : 0;
    struct sto_floors *out = sto_floors_new(n_old + p->n_rise);
    out->n = 0;
    for (size_t i = 0; i < p->n_rise; i++) {
        uint64_t n = roaring_bitmap_get_cardinality(p->rise[i].done);
        p->n_series += n;
        p->n_of_days += p->rise[i].has_days ? n : 0;
        sto_age_marks__add(out, p->rise[i].to_ms, roaring_bitmap_copy(p->rise[i].done));
    }
    for (size_t i = 0; i < n_old; i++) {
        roaring_bitmap_t *left = roaring_bitmap_andnot(old->at[i].series, p->gone);
        for (size_t k = 0; k < p->n_rise; k++)
            roaring_bitmap_andnot_inplace(left, p->rise[k].done);
        sto_age_marks__add(out, old->at[i].cutoff_ms, left);
    }
    for (size_t i = 0; i < out->n; i++)
        roaring_bitmap_run_optimize(out->at[i].series);
    sto_floors_filled(out);
    return out;
}

static bool has_other_rules(const struct pass *p)
{
    struct sto_keep *now = sto_retain_keep(p->st);
    bool others = now != p->keep;
    sto_keep_unref(now);
    return others;
}

/* With marks_mu: neither a bulk file nor other rules come between the look at them and the marks. */
static int set_marks(struct pass *p, struct ts_error *err)
{
    struct sto_store *st = p->st;
    sto_aged_files_deletes(p->files, on_delete, p);
    TS_TRY(drop_loaded(p, err));
    if (sto_catalog_generation(st->catalog) != p->generation)
        return ts_error_set(err, TS_EBUSY, "names were changed meanwhile");
    if (has_other_rules(p)) /* points that they keep may have come since the snapshot */
        return ts_error_set(err, TS_EBUSY, "the rules were changed meanwhile");
    struct sto_floors *marks = risen(p);
    int rc = p->n_series ? sto_age_marks__write(st, marks, err) : 0;
    if (rc == 0 && p->n_series)
        sto_retain_set_aged(st, marks);
    if (rc < 0)
        p->n_series = 0;
    sto_floors_unref(marks);
    return rc;
}

/* Make the marks of all series whose rows are on disk, also when the pass has failed. */
static int save_marks(struct pass *p, struct ts_error *err)
{
    pthread_mutex_lock(&p->st->age.marks_mu);
    int rc = set_marks(p, err);
    pthread_mutex_unlock(&p->st->age.marks_mu);
    return rc;
}

static int run(struct pass *p, struct ts_error *err)
{
    struct ts_error why = {0};
    p->gone = roaring_bitmap_create();
    p->overtaken = roaring_bitmap_create();
    int rc = do_all(p, &why);
    if (rc == 0 && p->files)
        rc = write_rows(p, &why);
    int rc2 = p->files ? save_marks(p, rc < 0 ? NULL : &why) : 0;
    p->is_void = rc == 0 && rc2 == TS_EBUSY;
    if (rc == 0 && rc2 == 0 && p->rows.failed && !roaring_bitmap_is_empty(p->rows.failed)) {
        rc = p->rows.why.code;
        why = p->rows.why;
        p->only_failed = true;
    }
    *err = why;
    return rc < 0 ? rc : rc2;
}

static void release(struct pass *p)
{
    free_todo(p);
    for (size_t i = 0; i < p->n_rise; i++) {
        roaring_bitmap_free(p->rise[i].pending);
        roaring_bitmap_free(p->rise[i].done);
    }
    ts_free(p->rise);
    if (p->gone)
        roaring_bitmap_free(p->gone);
    if (p->overtaken)
        roaring_bitmap_free(p->overtaken);
    if (p->files)
        sto_age_rows__release(&p->rows);
    sto_aged_files_end(p->files);
    sto_snap_release(p->rows.snap);
    sto_keep_unref(p->keep);
    ts_budget_give(p->memory, p->held_bytes);
}

/* Nothing is left to do at this hour with these rules, or what is left has just failed again. */
static bool is_complete(const struct pass *p, int rc)
{
    return (rc == 0 || p->only_failed) && !p->cut && !is_full(p) && !p->n_series &&
           roaring_bitmap_is_empty(p->overtaken);
}

/* What a pass is to the limit of bytes (age.h). */
static int outcome(const struct pass *p, int rc)
{
    bool ran = rc == 0 || p->only_failed;
    uint64_t n_overtaken = roaring_bitmap_get_cardinality(p->overtaken);
    uint64_t n_left = n_overtaken + (p->only_failed ? roaring_bitmap_get_cardinality(p->rows.failed) : 0);
    if (ran && !p->cut && !is_full(p) && !p->n_series && n_left <= p->n_ages / FEW)
        return 1;
    if (ran && p->n_series > n_overtaken) /* whoever deletes can delay that, but not for ever */
        return 0;
    if (p->is_void && p->st->age.n_void <= VOIDS)
        return TS_ECANCELLED;
    return rc < 0 ? rc : TS_EBUSY;
}

static void report(struct pass *p, int rc, const struct ts_error *why)
{
    static struct ts_log_limit limit;
    struct sto_age *a = &p->st->age;
    if (p->n_series) {
        atomic_fetch_add_explicit(&a->n_passes, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&a->n_hours, p->rows.n_rows - p->n_days, memory_order_relaxed);
        atomic_fetch_add_explicit(&a->n_days, p->n_days, memory_order_relaxed);
        ts_log(TS_LOG_INFO,
               "expired points have summaries now hours=%llu series=%llu days=%llu series_with_days=%llu",
               (unsigned long long)(p->rows.n_rows - p->n_days),
               (unsigned long long)(p->n_series - p->n_of_days), (unsigned long long)p->n_days,
               (unsigned long long)p->n_of_days);
    }
    if (rc >= 0 || rc == TS_ECANCELLED)
        return;
    atomic_fetch_add_explicit(&a->n_errors, 1, memory_order_relaxed);
    if (p->only_failed)
        ts_log_limited(&limit, TS_LOG_WARN,
                       "expired points, or hours, of %llu series stay on disk without summaries: %s",
                       (unsigned long long)roaring_bitmap_get_cardinality(p->rows.failed), why->text);
    else
        ts_log_limited(&limit, TS_LOG_WARN, "expired points of series with hours= or days= stay on disk: %s",
                       why->text);
}

int sto_age__pass(struct sto_store *st, int64_t before_ms)
{
    struct sto_age *a = &st->age;
    struct pass p = {.st = st,
                     .keep = sto_retain_keep(st),
                     .before_ms = before_ms,
                     .memory = sto_aged_files_memory(st->engine),
                     .max_rows = st->opts.age_pass_rows ? st->opts.age_pass_rows : PASS_ROWS};
    struct ts_error why = {0};
    if (!sto_keep_ages(p.keep)) {
        sto_age_left__release(&a->left);
        sto_keep_unref(p.keep);
        return 1;
    }
    if (p.keep == a->keep && sto_hour(before_ms) == a->hour) {
        sto_keep_unref(p.keep);
        return a->outcome;
    }
    int rc = run(&p, &why);
    a->n_void = p.is_void ? a->n_void + 1 : 0;
    sto_age_left__note(&a->left, st->catalog, p.overtaken, p.only_failed ? p.rows.failed : NULL);
    int out = outcome(&p, rc);
    if (is_complete(&p, rc)) {
        a->outcome = out;
        sto_keep_unref(a->keep);
        a->keep = sto_keep_ref(p.keep);
        a->hour = sto_hour(before_ms);
    }
    report(&p, rc, &why);
    release(&p);
    return out;
}

void sto_age__stats(const struct sto_store *st, void (*each)(void *arg, const char *name, uint64_t value),
                    void *arg)
{
    each(arg, "aged.passes", atomic_load_explicit(&st->age.n_passes, memory_order_relaxed));
    each(arg, "aged.hours", atomic_load_explicit(&st->age.n_hours, memory_order_relaxed));
    each(arg, "aged.days", atomic_load_explicit(&st->age.n_days, memory_order_relaxed));
    each(arg, "aged.errors", atomic_load_explicit(&st->age.n_errors, memory_order_relaxed));
}
