/*
 * table.c - totals as a table: puts several values side by side, selects the best combinations of tag values, adds the earlier cells
 * of a comparison, turns the values of a key into columns, and sorts the rows.
 *
 * Each value is a run of totals of its own. Values are collected, sorted into rows, and emitted. A run without time keys finds the best combinations; the
 * others become one group of the plan (qry_keep), so that every aggregator computes the correct value for them.
 *
 * Threads    the caller's; runs spread over the pool
 * Not here   cells and their values (totals.c), time cells (breakdowns/), the earlier range (compare.c),
 *            names of columns (column.c)
 */
#include "query/breakdowns/breakdown.h"
#include "query/execution/column.h"
#include "query/breakdowns/compare.h"
#include "query/execution/plan.h"
#include "query/sort.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_COLUMNS 10000 /* most value columns */

/* A value that will be put into a row. */
struct item {
    struct qry_total t; /* its cell; tags and ids are copies in the arena */
    int64_t order_ms;   /* position of its interval of time; 0 without one */
    uint32_t column;    /* index among the values of one combination: the sub query, or its earlier value */
    uint32_t rank;      /* rank of its combination among the best; 0 without top or bottom */
    uint32_t pivot;     /* number of its value of the key that makes columns */
};
/* A row: adjacent items of the sorted list. */
struct row {
    size_t first, n;
};
/* A value of the key that makes columns. */
struct pivot {
    uint32_t id, rank, place;
    struct ts_slice text;
};

struct table {
    const struct qry_spec *spec;
    struct sto_store *st;
    struct ts_pool *pool;
    struct qry_limit *limit;
    struct qry_budget budget;
    struct ts_arena arena;
    struct item *items; /* owned */
    size_t n, cap;
    struct pivot *pivots; /* by id; in the arena */
    size_t n_pivots;      /* 1 without such a key */
    size_t n_tags;        /* of the cells being collected */
    size_t pivot_tag;     /* index of the key; SIZE_MAX: none, or one of time */
    bool pivot_weekday, pivot_hour;
    struct qry_keep keep;
    uint32_t *ranks; /* rank of each row of keep */
    /* what is being collected */
    uint32_t column;
    /* the earlier range is collected, whose cells get the times of those that they are compared with */
    bool before;
    size_t n_steps; /* since the last check of the limits */
    qry_total_fn emit;
    void *arg;
};

/* --- collecting --- */

static uint32_t rank_of(const struct table *tb, const uint32_t *ids)
{
    const struct qry_keep *k = &tb->keep;
    size_t n_tags = tb->spec->n_by_tags, lo = 0, hi = k->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = qry_keep_cmp(k, k->ids + mid * n_tags, ids, n_tags);
        if (c == 0)
            return tb->ranks[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (uint32_t)k->n; /* all others */
}

static int collect(void *arg, const struct qry_total *t, struct ts_error *err)
{
    struct table *tb = arg;
    size_t n_tags = tb->n_tags;
    const struct qry_by_time *by = &tb->spec->by_time;
    struct item it = {.t = *t, .order_ms = by->n ? t->ts_ms : 0, .column = tb->column};
    if (tb->before && !qry_compare_move(tb->spec, &it.t))
        return 0;
    if (tb->spec->compare_n && by->n) /* cells of both runs must have the same keys */
        it.order_ms = qry_compare_start_ms(tb->spec->tz, &it.t);
    struct ts_slice *tags = qry_arena_take(&tb->arena, n_tags, sizeof *tags, err);
    uint32_t *ids = tags ? qry_arena_take(&tb->arena, n_tags, sizeof *ids, err) : NULL;
    if (!ids)
        return qry_memory_code(err);
    if (n_tags) {
        memcpy(tags, t->tags, n_tags * sizeof *tags);
        memcpy(ids, t->ids, n_tags * sizeof *ids);
    }
    it.t.tags = tags;
    it.t.ids = ids;
    it.rank = tb->keep.n ? rank_of(tb, ids) : 0;
    TS_TRY(ts_budget_grow(tb->budget.memory, &tb->items, &tb->cap, tb->n + 1, sizeof *tb->items, err));
    tb->items[tb->n++] = it;
    return 0;
}

/* Collect one run of totals in the items. */
static int collect_sub(struct table *tb, size_t sub, bool before, struct ts_error *err)
{
    struct qry_spec one = *tb->spec;
    one.subs = &tb->spec->subs[sub];
    one.n_subs = 1;
    one.keep = tb->keep.n ? &tb->keep : NULL;
    if (before && !qry_compare_range(tb->spec, &one.start_ms, &one.end_ms))
        return 0;
    tb->before = before;
    tb->column = (uint32_t)(tb->spec->compare_n ? 2 * sub + before : sub);
    return qry_totals(tb->st, tb->pool, &one, tb->limit, collect, tb, err);
}

/* --- selecting the best --- */

static double number(const struct qry_total *t)
{
    return t->null ? NAN : t->is_int ? (double)t->i : t->d;
}

/* Values before no values; the larger first, or with bottom the smaller. */
static int cmp_values(const struct qry_total *a, const struct qry_total *b, bool bottom)
{
    double x = number(a), y = number(b);
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    if (a->is_int && b->is_int && a->i != b->i)
        return (a->i < b->i) == bottom ? -1 : 1;
    return x == y ? 0 : (x < y) == bottom ? -1 : 1;
}

static int cmp_tags(const struct table *tb, const struct item *a, const struct item *b)
{
    for (size_t i = 0; i < tb->n_tags; i++) {
        int c = i == tb->pivot_tag
                    ? 0
                    : qry_total_cmp_values(a->t.ids[i], a->t.tags[i], b->t.ids[i], b->t.tags[i]);
        if (c)
            return c;
    }
    return 0;
}

static int cmp_best(const void *a, const void *b, void *arg)
{
    const struct table *tb = arg;
    const struct item *x = a, *y = b;
    int c = cmp_values(&x->t, &y->t, tb->spec->top.bottom);
    return c ? c : cmp_tags(tb, x, y);
}

static int cmp_ids(const void *a, const void *b, void *arg)
{
    const struct table *tb = arg;
    const struct item *x = a, *y = b;
    for (size_t i = 0; i < tb->n_tags; i++)
        if (x->t.ids[i] != y->t.ids[i])
            return x->t.ids[i] < y->t.ids[i] ? -1 : 1;
    return 0;
}

/* The tag keys that are ranked: all but the one whose values are columns, if there are others. */
static int ranked_tags(struct table *tb, struct qry_spec *flat, struct ts_error *err)
{
    const struct qry_spec *spec = tb->spec;
    if (tb->pivot_tag == SIZE_MAX || spec->n_by_tags < 2)
        return 0;
    tb->keep.apart = tb->pivot_tag;
    flat->n_by_tags = 0;
    flat->by_tags = qry_arena_take(&tb->arena, spec->n_by_tags, sizeof *flat->by_tags, err);
    if (!flat->by_tags)
        return qry_memory_code(err);
    for (size_t i = 0; i < spec->n_by_tags; i++)
        if (i != tb->pivot_tag)
            flat->by_tags[flat->n_by_tags++] = spec->by_tags[i];
    return 0;
}

/* The n best items as rows of keep, in the order of their ids. */
static int keep_best(struct table *tb, size_t n, struct ts_error *err)
{
    size_t width = tb->spec->n_by_tags;
    uint32_t *ids = qry_arena_zero(&tb->arena, n * width, sizeof *ids, err);
    tb->ranks = ids ? qry_arena_take(&tb->arena, n, sizeof *tb->ranks, err) : NULL;
    if (!tb->ranks)
        return qry_memory_code(err);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0, from = 0; k < width; k++)
            if (k != tb->keep.apart)
                ids[i * width + k] = tb->items[i].t.ids[from++];
        tb->ranks[i] = tb->items[i].rank;
    }
    tb->keep.ids = ids;
    tb->keep.n = n;
    tb->keep.others = tb->spec->others;
    return 0;
}

/* Find the tag cells that are shown, by their value over the whole range. */
static int find_best(struct table *tb, struct ts_error *err)
{
    struct qry_spec flat = *tb->spec;
    size_t pivot_tag = tb->pivot_tag, n = 0;
    flat.n_subs = 1;
    flat.by_time = (struct qry_by_time){0};
    flat.fill_zero = flat.fill_null = false;
    TS_TRY(ranked_tags(tb, &flat, err));
    tb->n_tags = flat.n_by_tags;
    tb->pivot_tag = SIZE_MAX; /* its columns are made later */
    TS_TRY(qry_totals(tb->st, tb->pool, &flat, tb->limit, collect, tb, err));
    for (size_t i = 0; i < tb->n; i++)
        if (!isnan(number(&tb->items[i].t)))
            tb->items[n++] = tb->items[i];
    TS_TRY(qry_sort(tb->items, n, sizeof *tb->items, cmp_best, tb, &tb->budget, err));
    n = n < flat.top.n ? n : flat.top.n;
    for (size_t i = 0; i < n; i++)
        tb->items[i].rank = (uint32_t)i;
    TS_TRY(qry_sort(tb->items, n, sizeof *tb->items, cmp_ids, tb, &tb->budget, err));
    TS_TRY(keep_best(tb, n, err));
    tb->n = 0;
    tb->n_tags = tb->spec->n_by_tags;
    tb->pivot_tag = pivot_tag;
    return 0;
}

/* --- rows --- */

static int cmp_time(const struct table *tb, const struct item *a, const struct item *b)
{
    if (a->order_ms != b->order_ms)
        return a->order_ms < b->order_ms ? -1 : 1;
    int c = tb->spec->compare_n && tb->spec->by_time.n ? qry_compare_clock(&a->t, &b->t) : 0;
    if (c)
        return c;
    if (a->t.weekday != b->t.weekday && !tb->pivot_weekday)
        return a->t.weekday < b->t.weekday ? -1 : 1;
    if (a->t.hour_of_day != b->t.hour_of_day && !tb->pivot_hour)
        return a->t.hour_of_day < b->t.hour_of_day ? -1 : 1;
    return 0;
}

static int cmp_rows(const struct table *tb, const struct item *a, const struct item *b)
{
    bool by_name = tb->spec->sort == QRY_SORT_NAME;
    int c = by_name ? cmp_tags(tb, a, b) : cmp_time(tb, a, b);
    if (c)
        return c;
    bool of_rows = tb->pivot_tag == SIZE_MAX || tb->keep.apart != SIZE_MAX; /* else ranks are of columns */
    if (!by_name && of_rows && a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return by_name ? cmp_time(tb, a, b) : cmp_tags(tb, a, b);
}

static int cmp_items(const void *a, const void *b, void *arg)
{
    const struct table *tb = arg;
    const struct item *x = a, *y = b;
    int c = cmp_rows(tb, x, y);
    if (c)
        return c;
    if (x->pivot != y->pivot)
        return x->pivot < y->pivot ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static const struct item *first_value(const struct table *tb, const struct row *r)
{
    const struct item *it = &tb->items[r->first];
    return it->column == 0 && it->pivot == 0 ? it : NULL;
}

static int cmp_row_values(const void *a, const void *b, void *arg)
{
    const struct table *tb = arg;
    const struct row *x = a, *y = b;
    const struct item *v = first_value(tb, x), *w = first_value(tb, y);
    bool others_x = tb->keep.n && tb->items[x->first].rank == tb->keep.n,
         others_y = tb->keep.n && tb->items[y->first].rank == tb->keep.n;
    if (others_x != others_y)
        return others_x - others_y;
    int c = !v || !w ? !v - !w : cmp_values(&v->t, &w->t, tb->spec->top.bottom);
    return c ? c : x->first < y->first ? -1 : 1;
}

/* --- columns made of values of a key --- */

static uint32_t pivot_id(const struct table *tb, const struct item *it)
{
    return tb->pivot_tag != SIZE_MAX ? it->t.ids[tb->pivot_tag]
           : tb->pivot_weekday       ? it->t.weekday
           : tb->pivot_hour          ? it->t.hour_of_day
                                     : 0;
}

static int cmp_pivot_ids(const void *a, const void *b, void *arg)
{
    const struct pivot *x = a, *y = b;
    (void)arg;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int cmp_pivot_places(const void *a, const void *b, void *arg)
{
    const struct table *tb = arg;
    const struct pivot *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return tb->pivot_tag != SIZE_MAX ? qry_total_cmp_values(x->id, x->text, y->id, y->text)
                                     : (x->id > y->id) - (x->id < y->id);
}

static struct ts_slice pivot_text(struct table *tb, const struct item *it)
{
    char text[QRY_TIME_COLUMN_BYTES];
    if (tb->pivot_tag != SIZE_MAX)
        return it->t.tags[tb->pivot_tag];
    size_t n =
        qry_time_column_print(tb->pivot_weekday ? QRY_COLUMN_WEEKDAY : QRY_COLUMN_HOUR_OF_DAY, &it->t, text);
    return (struct ts_slice){ts_arena_strndup(&tb->arena, text, n), n};
}

/* Values of the key in the items, each once, and the number of its columns for each item. */
static int make_pivots(struct table *tb, struct ts_error *err)
{
    struct pivot *p = qry_arena_take(&tb->arena, tb->n + 1, sizeof *p, err);
    size_t n = 0;
    tb->n_pivots = 1;
    if (!p)
        return qry_memory_code(err);
    if (!tb->spec->columns.n)
        return 0;
    for (size_t i = 0; i < tb->n; i++)
        p[i] = (struct pivot){pivot_id(tb, &tb->items[i]),
                              tb->pivot_tag != SIZE_MAX && tb->keep.apart == SIZE_MAX ? tb->items[i].rank : 0,
                              (uint32_t)i,
                              {NULL, 0}};
    TS_TRY(qry_sort(p, tb->n, sizeof *p, cmp_pivot_ids, tb, &tb->budget, err));
    for (size_t i = 0; i < tb->n; i++) {
        if (n && p[n - 1].id == p[i].id)
            continue;
        p[n] = p[i];
        if (n++ == MAX_COLUMNS)
            return ts_error_set(err, TS_ELIMIT, "The table has more than %d columns: choose some with top",
                                MAX_COLUMNS);
    }
    for (size_t i = 0; i < n; i++)
        p[i].text = pivot_text(tb, &tb->items[p[i].place]);
    TS_TRY(qry_sort(p, n, sizeof *p, cmp_pivot_places, tb, &tb->budget, err));
    for (size_t i = 0; i < n; i++)
        p[i].place = (uint32_t)i;
    tb->pivots = qry_arena_take(&tb->arena, n, sizeof *p, err);
    if (!tb->pivots)
        return qry_memory_code(err);
    memcpy(tb->pivots, p, n * sizeof *p); /* in the order of columns */
    TS_TRY(qry_sort(p, n, sizeof *p, cmp_pivot_ids, tb, &tb->budget, err));
    for (size_t i = 0; i < tb->n; i++) {
        uint32_t id = pivot_id(tb, &tb->items[i]);
        size_t lo = 0, hi = n;
        while (hi - lo > 1) {
            size_t mid = (lo + hi) / 2;
            if (p[mid].id <= id)
                lo = mid;
            else
                hi = mid;
        }
        tb->items[i].pivot = p[lo].place;
    }
    tb->n_pivots = n;
    return 0;
}

/* --- names of columns --- */

static size_t columns_of_sub(const struct table *tb)
{
    return tb->spec->compare_n ? 4 : 1;
}

static int make_head(struct table *tb, struct qry_head *head, struct ts_error *err)
{
    static const char *const derived[] = {"", "before", "difference", "ratio"};
    const struct qry_spec *spec = tb->spec;
    size_t per_sub = columns_of_sub(tb), per_pivot = spec->n_subs * per_sub, k = 0;
    struct ts_slice *tags = qry_arena_take(&tb->arena, spec->n_by_tags, sizeof *tags, err);
    struct ts_slice *names =
        tags ? qry_arena_take(&tb->arena, tb->n_pivots * per_pivot, sizeof *names, err) : NULL;
    struct ts_slice *units =
        names ? qry_arena_zero(&tb->arena, tb->n_pivots * per_pivot, sizeof *units, err) : NULL;
    if (!units)
        return qry_memory_code(err);
    *head = (struct qry_head){
        .tags = tags, .values = names, .units = units, .n_values = tb->n_pivots * per_pivot};
    enum qry_time_column times[QRY_MAX_TIME_COLUMNS];
    size_t n_times = qry_time_columns(&spec->by_time, times);
    for (size_t i = 0; i < n_times; i++)
        if (!(tb->pivot_weekday && times[i] == QRY_COLUMN_WEEKDAY) &&
            !(tb->pivot_hour && times[i] == QRY_COLUMN_HOUR_OF_DAY))
            head->times[head->n_times++] = times[i];
    for (size_t i = 0; i < spec->n_by_tags; i++)
        if (i != tb->pivot_tag)
            tags[head->n_tags++] = spec->by_tags[i];
    for (size_t p = 0; p < tb->n_pivots; p++)
        for (size_t s = 0; s < spec->n_subs; s++)
            for (size_t d = 0; d < per_sub; d++) {
                struct ts_slice name = qry_column_name(spec, s, &tb->arena);
                if (d)
                    name = spec->n_subs == 1
                               ? ts_slice_str(derived[d])
                               : qry_column_join(&tb->arena, name, " ", ts_slice_str(derived[d]));
                if (spec->columns.n)
                    name = per_pivot == 1 ? tb->pivots[p].text
                                          : qry_column_join(&tb->arena, tb->pivots[p].text, " ", name);
                if (d == 0 && !spec->columns.n && !spec->subs[s].agg->no_unit)
                    units[k] = ts_slice_str(spec->subs[s].unit);
                names[k++] = name;
            }
    return 0;
}

/* --- emitting --- */

static bool is_partial(const struct qry_spec *spec, const struct qry_total *t)
{
    if (!spec->by_time.n)
        return false;
    int64_t to_ms = qry_by_time_end(&spec->by_time, spec->tz, t->ts_ms, t->local_ms, t->repeated),
            last_ms = spec->end_ms + 1;
    if (spec->now_ms && spec->now_ms < last_ms)
        last_ms = spec->now_ms;
    return t->ts_ms < spec->start_ms || (to_ms > last_ms && t->ts_ms < last_ms);
}

/* Emit rows as they are made. */
static int pass_on(void *arg, const struct qry_total *t, struct ts_error *err)
{
    struct table *tb = arg;
    struct qry_total row = *t;
    row.partial = is_partial(tb->spec, t);
    return tb->emit(tb->arg, &row, err);
}

static int emit_row(struct table *tb, const struct row *r, struct qry_total_value *v, size_t n_values,
                    struct ts_slice *tags, struct ts_error *err)
{
    const struct qry_spec *spec = tb->spec;
    const struct item *first = &tb->items[r->first];
    size_t per_sub = columns_of_sub(tb), n_tags = 0, per_pivot = spec->n_subs * per_sub;
    for (size_t i = 0; i < n_values; i++)
        v[i] = (struct qry_total_value){.null = !spec->fill_zero || spec->fill_null, .is_int = true};
    for (size_t i = 0; i < r->n; i++) {
        const struct item *it = first + i;
        size_t at = it->pivot * per_pivot +
                    (spec->compare_n ? it->column / 2 * per_sub + it->column % 2 : it->column);
        v[at] = (struct qry_total_value){it->t.null, it->t.is_int, it->t.i, it->t.d};
    }
    for (size_t i = 0; spec->compare_n && i + 3 < n_values; i += 4)
        qry_compare_derive(v + i);
    for (size_t i = 0; i < spec->n_by_tags; i++)
        if (i != tb->pivot_tag)
            tags[n_tags++] = first->t.tags[i];
    struct qry_total out = first->t;
    out.tags = tags;
    out.null = v[0].null;
    out.is_int = v[0].is_int;
    out.i = v[0].i;
    out.d = v[0].d;
    out.more = v + 1;
    out.n_more = n_values - 1;
    out.partial = is_partial(spec, &out);
    return tb->emit(tb->arg, &out, err);
}

static int emit_rows(struct table *tb, size_t n_values, struct ts_error *err)
{
    size_t n_rows = 0;
    struct row *rows = qry_arena_take(&tb->arena, tb->n + 1, sizeof *rows, err);
    struct ts_slice *tags = rows ? qry_arena_take(&tb->arena, tb->spec->n_by_tags, sizeof *tags, err) : NULL;
    if (!tags)
        return qry_memory_code(err);
    for (size_t i = 0; i < tb->n; i++) {
        if (i && cmp_rows(tb, &tb->items[i - 1], &tb->items[i]) == 0)
            rows[n_rows - 1].n++;
        else
            rows[n_rows++] = (struct row){i, 1};
    }
    if (tb->spec->sort == QRY_SORT_VALUE)
        TS_TRY(qry_sort(rows, n_rows, sizeof *rows, cmp_row_values, tb, &tb->budget, err));
    /* not the arena's: 128-bit integers are aligned to 16 */
    struct qry_total_value *v = ts_budget_calloc(tb->budget.memory, n_values + 4, sizeof *v, err);
    int rc = v ? 0 : qry_memory_code(err);
    for (size_t i = 0; i < n_rows && rc >= 0; i++) {
        rc = qry_budget_step(&tb->budget, &tb->n_steps, err);
        if (rc >= 0)
            rc = emit_row(tb, &rows[i], v, n_values, tags, err);
    }
    ts_budget_free(tb->budget.memory, v, v ? (n_values + 4) * sizeof *v : 0);
    return rc;
}

static int run_table(struct table *tb, qry_head_fn head, struct ts_error *err)
{
    const struct qry_spec *spec = tb->spec;
    struct qry_head h;
    bool as_made = spec->n_subs == 1 && !spec->top.n && spec->sort <= QRY_SORT_TIME && !spec->compare_n &&
                   !spec->columns.n;
    if (as_made) {
        tb->n_pivots = 1;
        TS_TRY(make_head(tb, &h, err));
        TS_TRY(head(tb->arg, &h, err));
        return qry_totals(tb->st, tb->pool, spec, tb->limit, pass_on, tb, err);
    }
    if (spec->top.n)
        TS_TRY(find_best(tb, err));
    bool nothing = spec->top.n && !tb->keep.n; /* no tag cell has a value */
    for (size_t i = 0; i < spec->n_subs && !nothing; i++) {
        TS_TRY(collect_sub(tb, i, false, err));
        if (spec->compare_n)
            TS_TRY(collect_sub(tb, i, true, err));
    }
    TS_TRY(make_pivots(tb, err));
    TS_TRY(qry_sort(tb->items, tb->n, sizeof *tb->items, cmp_items, tb, &tb->budget, err));
    TS_TRY(make_head(tb, &h, err));
    TS_TRY(head(tb->arg, &h, err));
    return emit_rows(tb, h.n_values, err);
}

int qry_table(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec,
              struct qry_limit *limit, qry_head_fn head, qry_total_fn emit, void *arg, struct ts_error *err)
{
    struct qry_view view;
    struct qry_spec copy;
    spec = qry_view_use(&view, st, limit, spec, &copy);
    struct table tb = {.spec = spec, .st = st, .pool = pool, .limit = limit, .emit = emit, .arg = arg};
    qry_budget_init(&tb.budget, limit);
    ts_arena_init(&tb.arena, 0);
    tb.arena.budget = tb.budget.memory;
    tb.pivot_tag = tb.keep.apart = SIZE_MAX;
    tb.n_tags = spec->n_by_tags;
    for (size_t i = 0; spec->columns.n && i < spec->n_by_tags; i++)
        if (ts_slice_eq(spec->columns, spec->by_tags[i]))
            tb.pivot_tag = i;
    tb.pivot_weekday = tb.pivot_tag == SIZE_MAX && spec->columns.n && ts_slice_is(spec->columns, "weekday");
    tb.pivot_hour = tb.pivot_tag == SIZE_MAX && spec->columns.n && ts_slice_is(spec->columns, "hourofday");
    int rc = run_table(&tb, head, err);
    ts_budget_free(tb.budget.memory, tb.items, tb.cap * sizeof *tb.items);
    ts_arena_release(&tb.arena);
    qry_view_unuse(&view, spec);
    return rc < 0 ? rc : 0;
}
