/*
 * latest.c - the newest points of the series of a request, newest first.
 *
 * The search starts with the newest hours and goes back in growing steps, each time for the series that do not have enough points yet.
 * The summaries of whole hours give their last point, or the number of their points if several are requested, so that only hours with
 * requested points are read.
 *
 * Threads    pieces of a step run on the pool; everything else in the caller's thread
 * Source     docs/OPENTSDB.md, section 5.1 (back_scan); n and at are additions of tsd
 */
#include "query/execution/plan.h"

#include "base/cut.h"
#include "base/text.h"
#include "query/execution/select.h"
#include "query/ids.h"

#include "base/mem.h"

#include <string.h>

#define FIRST_WINDOW_HOURS 2 /* most series have their last point here, since collectors write every minute */
#define WINDOW_GROWTH      8
#define MAX_PIECES         64  /* most pieces of a window */
#define MIN_PIECE_SERIES   128 /* smaller pieces would decode the same blocks repeatedly */
/* adjacent series whose wanted points begin within this time are read together */
#define NEAR_HOURS 24
#define NO_HOUR    INT32_MAX

/* The series of one request. */
struct latest_set {
    uint32_t metric;                  /* id; all series belong to it */
    const struct sto_series **series; /* ascending by number */
    size_t n;                         /* number of series */
};
/* Points of one series. */
struct tail {
    size_t n, cap;    /* points; allocated in v */
    size_t cap_ts;    /* allocated in ts */
    int64_t *ts;      /* newest first in results, oldest first while a window is read */
    struct ts_num *v; /* their values */
};

struct latest_run {
    struct sto_snap *snap;
    struct qry_view *view;
    struct qry_budget budget;
    uint32_t metric;
    size_t want;                    /* number of points requested of each series */
    const struct sto_series **left; /* series with too few points yet */
    size_t *place;                  /* index of each of them in all */
    size_t n_left;
    struct tail *all;       /* results, owned */
    size_t chunk;           /* series in a piece */
    int64_t from_ms, to_ms; /* window, from <= t < to; from is an hour's begin */
    bool small;             /* the window has few hours, so points are read instead of summaries */
    const uint8_t *whole_hours;
};

/* State of one piece of a window. */
struct piece {
    struct latest_run *r;
    size_t first, n;     /* its series in left */
    size_t base;         /* the first of them that is read now */
    struct tail scratch; /* of the current series */
    struct hour *hours;  /* of the current series, owned */
    size_t n_hours, cap; /* of hours: used, allocated */
    int32_t *bound;      /* [n] hour from which the points of a series are needed; NO_HOUR: none; owned */
};
struct hour {
    int32_t hour;
    uint32_t n; /* points */
};

/* --- selecting series --- */
/* Set the error for a name that does not exist, with similar names. */
static int nobody_sent(const struct qry_view *view, bool compat, enum sto_uid_kind kind, struct ts_slice name,
                       int rc, struct ts_error *err)
{
    if (rc == TS_ENOTFOUND && !compat)
        qry_select_near(view, kind, name, NULL, err);
    return rc;
}

/* Ids of the values "a|b"; "*" is any value. */
static int parse_values(struct qry_view *view, struct ts_slice in, bool compat, struct ts_arena *arena,
                        struct sto_tag_cond *c, struct qry_view_cond *names, struct ts_error *err)
{
    if (ts_slice_is(in, "*"))
        return 0;
    uint32_t *ids = ts_arena_alloc(arena, (in.n / 2 + 1) * sizeof *ids), id = 0;
    struct ts_slice *values = ts_arena_alloc(arena, (in.n / 2 + 1) * sizeof *values), v;
    c->values = ids;
    names->values = values;
    while (ts_slice_next(&in, '|', &v)) {
        if (!v.n)
            continue;
        TS_TRY(nobody_sent(view, compat, STO_UID_TAGV, v, qry_select_tagv(view, v, &id, err), err));
        values[names->n_values++] = v;
        if (id < STO_FOREIGN)
            ids[c->n_values++] = id; /* the catalog has no others */
    }
    return 0;
}

/* Conditions from "{k=v,...}". */
static int parse_conds(struct qry_view *view, struct ts_slice in, bool compat, struct ts_arena *arena,
                       struct sto_tag_cond *conds, struct qry_view_cond *names, size_t *out_n,
                       struct ts_error *err)
{
    struct ts_slice item;
    *out_n = 0;
    if (!in.n)
        return 0;
    while (ts_slice_next(&in, ',', &item)) {
        const char *eq = item.n ? memchr(item.p, '=', item.n) : NULL;
        if (!eq || eq == item.p || eq == item.p + item.n - 1)
            return ts_error_set(err, TS_EINVAL, "When parsing tag '%.*s': invalid tag: %.*s", (int)item.n,
                                item.p, (int)item.n, item.p);
        struct ts_slice k = {item.p, (size_t)(eq - item.p)}, v = {eq + 1, item.n - k.n - 1};
        names[*out_n] = (struct qry_view_cond){.tagk = k};
        struct sto_tag_cond *c = &conds[(*out_n)++];
        *c = (struct sto_tag_cond){0};
        TS_TRY(nobody_sent(view, compat, STO_UID_TAGK, k, qry_select_tagk(view, k, &c->tagk, err), err));
        TS_TRY(parse_values(view, v, compat, arena, c, &names[*out_n - 1], err));
    }
    return 0;
}

static int select_tsuid(struct qry_view *view, struct ts_slice tsuid, struct ts_arena *arena,
                        struct latest_set *out, struct ts_error *err)
{
    out->series = ts_arena_alloc(arena, sizeof(*out->series));
    TS_TRY(qry_ids_series(view, tsuid, &out->series[0], err));
    out->metric = out->series[0]->metric;
    out->n = 1;
    return 0;
}

/* Select the series of a request by names or by TSUID. */
static int select_series(struct qry_view *view, const struct qry_last_request *ask, struct qry_budget *budget,
                         struct ts_arena *arena, struct latest_set *out, struct ts_error *err)
{
    struct ts_slice text = ask->timeseries;
    const char *open = text.n ? memchr(text.p, '{', text.n) : NULL;
    struct ts_slice metric = {text.p, open ? (size_t)(open - text.p) : text.n};
    struct sto_tag_cond *conds = NULL;
    struct qry_view_cond *names = NULL;
    size_t n_conds = 0;
    roaring_bitmap_t *set;
    if (ask->tsuid.n)
        return select_tsuid(view, ask->tsuid, arena, out, err);
    if (!metric.n)
        return ts_error_set(err, TS_EINVAL, "Missing the metric of a timeseries");
    if (open && text.p[text.n - 1] != '}')
        return ts_error_set(err, TS_EINVAL, "Missing '}' at the end of: %.*s", (int)text.n, text.p);
    TS_TRY(nobody_sent(view, ask->compat, STO_UID_METRIC, metric,
                       qry_select_metric(view, metric, &out->metric, err), err));
    if (open) {
        struct ts_slice in = {open + 1, text.n - metric.n - 2};
        conds = ts_arena_alloc(arena, (in.n / 2 + 2) * sizeof *conds);
        names = ts_arena_alloc(arena, (in.n / 2 + 2) * sizeof *names);
        TS_TRY(parse_conds(view, in, ask->compat, arena, conds, names, &n_conds, err));
    }
    TS_TRY(qry_select_here(view, out->metric, conds, n_conds, ask->only, budget, &set, err));
    struct qry_view_ask remote = {.metric = metric,
                                  .conds = names,
                                  .n_conds = n_conds,
                                  .explicit_keys = ask->only,
                                  .from_ms = STO_MIN_TS_MS,
                                  .to_ms = ask->at_on ? ask->at_ms : STO_MAX_TS_MS};
    int64_t hours = (STO_MAX_TS_MS - TS_DAY_MS) / TS_HOUR_MS;
    if (ask->back_scan_hours > 0 && ask->back_scan_hours < hours)
        remote.from_ms = (ask->at_on ? ask->at_ms : ask->now_ms) - (ask->back_scan_hours + 1) * TS_HOUR_MS;
    /* without a limit of time series that have points since then are looked for */
    remote.useful_from_ms = remote.from_ms > STO_MIN_TS_MS ? remote.from_ms : remote.to_ms;
    int rc = qry_view_add(view, &remote, budget, set, err);
    if (rc < 0)
        roaring_bitmap_free(set);
    TS_TRY(rc);
    return qry_select_series(view, set, budget, arena, &out->series, &out->n, err);
}

/* --- reading --- */
static void tail_release(struct tail *t, struct qry_budget *budget)
{
    ts_budget_free(budget->memory, t->ts, t->cap_ts * sizeof *t->ts);
    ts_budget_free(budget->memory, t->v, t->cap * sizeof *t->v);
    *t = (struct tail){0};
}

static int tail_room(struct tail *t, size_t more, struct qry_budget *budget, struct ts_error *err)
{
    size_t n = t->n + more < 16 ? 16 : t->n + more;
    TS_TRY(ts_budget_grow(budget->memory, &t->ts, &t->cap_ts, n, sizeof *t->ts, err));
    return ts_budget_grow(budget->memory, &t->v, &t->cap, n, sizeof *t->v, err);
}

static size_t still_wanted(const struct piece *p, size_t pos)
{
    const struct latest_run *r = p->r;
    return r->want - r->all[r->place[p->first + pos]].n;
}

/* A reading of series a..b of the piece, from an hour on or over the whole window. */
static struct qry_reading reading(struct piece *p, size_t a, size_t b, int64_t from_ms)
{
    const struct latest_run *r = p->r;
    p->base = a;
    return (struct qry_reading){.snap = r->snap,
                                .budget = &p->r->budget,
                                .view = r->view,
                                .metric = r->metric,
                                .series = r->left + p->first + a,
                                .n = b - a,
                                .from_ms = from_ms,
                                .to_ms = r->to_ms,
                                .arg = p};
}

/* --- one point each: the last one of a row, or its summary's --- */
static int take_newest(void *arg, const struct sto_row *row, struct ts_error *err)
{
    const struct piece *p = arg;
    struct tail *t = &p->r->all[p->r->place[p->first + row->pos]];
    int64_t base = row->key.hour * TS_HOUR_MS;
    (void)err;
    t->n = 1; /* rows of a series come in the order of time, so the last one remains */
    if (row->sum) {
        t->ts[0] = base + row->sum->last_off;
        t->v[0] = row->sum->last;
        return 0;
    }
    uint32_t k = row->cells->n - 1;
    t->ts[0] = base + sto_meta_off(row->cells->meta[k]);
    t->v[0] = sto_cell_num(row->cells->meta[k], row->cells->m[k]);
    return 0;
}

static int read_newest(struct piece *p, struct ts_error *err)
{
    struct qry_reading rd = reading(p, 0, p->n, p->r->from_ms);
    rd.whole_hours = p->r->whole_hours;
    rd.row = take_newest;
    return qry_read(&rd, err);
}

/* --- several points of each: first count the points of hours, then read them --- */
static int bound_series(void *arg, size_t pos, struct ts_error *err)
{
    struct piece *p = arg;
    size_t wanted = still_wanted(p, pos);
    (void)err;
    p->bound[pos] = NO_HOUR;
    for (size_t i = p->n_hours, have = 0; i-- > 0 && have < wanted;) {
        p->bound[pos] = p->hours[i].hour;
        have += p->hours[i].n;
    }
    p->n_hours = 0;
    return 0;
}

static int count_hour(void *arg, const struct sto_row *row, struct ts_error *err)
{
    struct piece *p = arg;
    TS_TRY(ts_budget_grow(p->r->budget.memory, &p->hours, &p->cap, p->n_hours + 1, sizeof *p->hours, err));
    p->hours[p->n_hours++] = (struct hour){row->key.hour, row->sum ? row->sum->n : row->cells->n};
    return 0;
}

static int count_hours(struct piece *p, struct ts_error *err)
{
    struct qry_reading rd = reading(p, 0, p->n, p->r->from_ms);
    rd.whole_hours = p->r->whole_hours;
    rd.row = count_hour;
    rd.end = bound_series;
    return qry_read(&rd, err);
}

/* Keep the newest points of the current series, with those of one more row. */
static int add_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    struct piece *p = arg;
    const struct sto_cells *c = row->cells;
    struct tail *t = &p->scratch;
    size_t wanted = still_wanted(p, p->base + row->pos), skip = c->n > wanted ? c->n - wanted : 0;
    if (t->n >= wanted && t->n + c->n - skip > t->cap) {
        size_t drop = t->n - wanted;
        memmove(t->ts, t->ts + drop, wanted * sizeof *t->ts);
        memmove(t->v, t->v + drop, wanted * sizeof *t->v);
        t->n = wanted;
    }
    TS_TRY(tail_room(t, c->n - skip, &p->r->budget, err));
    for (size_t i = skip; i < c->n; i++, t->n++) {
        t->ts[t->n] = row->key.hour * TS_HOUR_MS + sto_meta_off(c->meta[i]);
        t->v[t->n] = sto_cell_num(c->meta[i], c->m[i]);
    }
    return 0;
}

/* The current series was read: append its points to the newer ones that were found before. */
static int end_series(void *arg, size_t pos, struct ts_error *err)
{
    struct piece *p = arg;
    size_t wanted = still_wanted(p, p->base + pos);
    struct tail *from = &p->scratch, *to = &p->r->all[p->r->place[p->first + p->base + pos]];
    size_t n = from->n < wanted ? from->n : wanted;
    TS_TRY(tail_room(to, n, &p->r->budget, err));
    for (size_t i = 0; i < n; i++, to->n++) {
        to->ts[to->n] = from->ts[from->n - 1 - i];
        to->v[to->n] = from->v[from->n - 1 - i];
    }
    from->n = 0;
    return 0;
}

/* Read the points of series a..b of the piece from a time on. */
static int read_points(struct piece *p, size_t a, size_t b, int64_t from_ms, struct ts_error *err)
{
    struct qry_reading rd = reading(p, a, b, from_ms);
    rd.row = add_row;
    rd.end = end_series;
    return qry_read(&rd, err);
}

static int read_several(struct piece *p, struct ts_error *err)
{
    struct latest_run *r = p->r;
    if (r->small)
        return read_points(p, 0, p->n, sto_hour(r->from_ms) * TS_HOUR_MS, err);
    for (size_t i = 0; i < p->n; i++)
        p->bound[i] = NO_HOUR;
    TS_TRY(count_hours(p, err));
    for (size_t a = 0, b; a < p->n; a = b) {
        int32_t lo = p->bound[a], hi = lo;
        for (b = a + 1; b < p->n && lo != NO_HOUR && p->bound[b] != NO_HOUR; b++) {
            int32_t l = p->bound[b] < lo ? p->bound[b] : lo, h = p->bound[b] > hi ? p->bound[b] : hi;
            if (h - l > NEAR_HOURS)
                break;
            lo = l;
            hi = h;
        }
        if (lo != NO_HOUR)
            TS_TRY(read_points(p, a, b, lo * TS_HOUR_MS, err));
    }
    return 0;
}

/* --- windows --- */
static int window_piece(void *arg, size_t i, struct ts_error *err)
{
    struct latest_run *r = arg;
    struct piece p = {.r = r, .first = i * r->chunk};
    p.n = r->n_left - p.first < r->chunk ? r->n_left - p.first : r->chunk;
    p.bound = ts_budget_alloc(r->budget.memory, p.n * sizeof *p.bound, err);
    int rc = !p.bound ? qry_memory_code(err) : r->want == 1 ? read_newest(&p, err) : read_several(&p, err);
    tail_release(&p.scratch, &r->budget);
    ts_budget_free(r->budget.memory, p.hours, p.cap * sizeof *p.hours);
    ts_budget_free(r->budget.memory, p.bound, p.bound ? p.n * sizeof *p.bound : 0);
    return rc;
}

static int read_window(struct latest_run *r, struct ts_pool *pool, struct ts_error *err)
{
    size_t n_hours = (size_t)((r->to_ms - r->from_ms + TS_HOUR_MS - 1) / TS_HOUR_MS);
    uint8_t *whole = NULL;
    if (n_hours <= QRY_WHOLE_HOURS_MAX) {
        whole = ts_budget_alloc(r->budget.memory, n_hours, err);
        if (!whole)
            return qry_memory_code(err);
        memset(whole, 1, n_hours);
    }
    r->whole_hours = whole;
    r->small = n_hours <= FIRST_WINDOW_HOURS;
    r->chunk = (r->n_left + MAX_PIECES - 1) / MAX_PIECES;
    r->chunk = r->chunk < MIN_PIECE_SERIES ? MIN_PIECE_SERIES : r->chunk;
    size_t n = (r->n_left + r->chunk - 1) / r->chunk;
    int rc = qry_budget_each(&r->budget, pool, n, window_piece, r, err);
    ts_budget_free(r->budget.memory, whole, whole ? n_hours : 0);
    return rc;
}

/* Remove the series that have all requested points from left. */
static void drop_done(struct latest_run *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_left; i++) {
        if (r->all[r->place[i]].n >= r->want)
            continue;
        r->place[n] = r->place[i];
        r->left[n++] = r->left[i];
    }
    r->n_left = n;
}

static int64_t floor_hour(int64_t t)
{
    return ts_floor_div(t, TS_HOUR_MS) * TS_HOUR_MS;
}

static int search(struct latest_run *r, struct ts_pool *pool, const struct qry_last_request *ask,
                  struct ts_error *err)
{
    int64_t lo, hi, hours = FIRST_WINDOW_HOURS, local = sto_snap_complete_from(r->snap);
    if (!sto_snap_time_range(r->snap, &lo, &hi))
        return 0;
    lo = floor_hour(lo);
    hi = floor_hour(hi) + TS_HOUR_MS;
    if (ask->back_scan_hours > 0) {
        int64_t top = floor_hour(ask->at_on ? ask->at_ms : ask->now_ms) + TS_HOUR_MS;
        int64_t most = (top - lo) / TS_HOUR_MS;
        int64_t bottom = ask->back_scan_hours < most ? top - (ask->back_scan_hours + 1) * TS_HOUR_MS : lo;
        hi = top < hi ? top : hi;
        lo = bottom > lo ? bottom : lo;
    }
    if (ask->at_on && ask->at_ms < hi)
        hi = ask->at_ms + 1;
    for (r->to_ms = hi; r->n_left && r->to_ms > lo; r->to_ms = r->from_ms) {
        int64_t top = floor_hour(r->to_ms - 1) + TS_HOUR_MS, room = (top - lo) / TS_HOUR_MS;
        r->from_ms = hours < room ? top - hours * TS_HOUR_MS : lo;
        if (r->to_ms > local && r->from_ms < local) /* what is here is read first, and may suffice */
            r->from_ms = local;
        TS_TRY(read_window(r, pool, err));
        drop_done(r);
        hours = hours < INT64_MAX / WINDOW_GROWTH ? hours * WINDOW_GROWTH : hours;
    }
    return 0;
}

static int emit_all(struct latest_run *r, const struct latest_set *set, qry_latest_fn emit, void *arg,
                    struct ts_error *err)
{
    int rc = 0;
    size_t step = 0;
    for (size_t i = 0; i < set->n && rc >= 0; i++) {
        const struct tail *t = &r->all[i];
        struct qry_latest out = {set->series[i], r->view, t->n, t->ts, t->v};
        rc = qry_budget_step(&r->budget, &step, err);
        if (t->n && rc == 0)
            rc = emit(arg, &out, err);
    }
    return rc < 0 ? rc : 0;
}

/* Give all series that need one point their memory in one block of the arena. */
static int give_one_each(struct latest_run *r, size_t n, struct ts_arena *arena, struct ts_error *err)
{
    int64_t *ts = qry_arena_take(arena, n, sizeof *ts, err);
    struct ts_num *v = ts ? qry_arena_take(arena, n, sizeof *v, err) : NULL;
    for (size_t i = 0; i < n && v; i++)
        r->all[i] = (struct tail){.ts = ts + i, .v = v + i};
    return v ? 0 : qry_memory_code(err);
}

static int run_set(struct latest_run *r, struct ts_pool *pool, const struct qry_last_request *ask,
                   const struct latest_set *set, struct ts_arena *arena, struct ts_error *err)
{
    r->metric = set->metric;
    r->n_left = set->n;
    r->left = qry_arena_take(arena, set->n, sizeof(*r->left), err);
    r->place = r->left ? qry_arena_take(arena, set->n, sizeof *r->place, err) : NULL;
    if (!r->place)
        return qry_memory_code(err);
    for (size_t i = 0; i < set->n; i++) {
        r->left[i] = set->series[i];
        r->place[i] = i;
    }
    return search(r, pool, ask, err);
}

int qry_run_latest(struct sto_store *st, struct ts_pool *pool, const struct qry_last_request *ask,
                   struct qry_limit *limit, qry_latest_fn emit, void *arg, struct ts_error *err)
{
    struct qry_view view;
    struct latest_run r = {.want = ask->n ? ask->n : 1, .view = &view};
    struct latest_set set = {0};
    struct ts_arena arena;
    ts_arena_init(&arena, 0);
    qry_budget_init(&r.budget, limit);
    arena.budget = r.budget.memory;
    qry_view_open(&view, st, limit);
    r.snap = sto_snap_take(st); /* before the remote store is read */
    int rc = select_series(&view, ask, &r.budget, &arena, &set, err);
    if (rc == 0 && set.n) {
        r.all = qry_arena_zero(&arena, set.n, sizeof *r.all, err);
        rc = !r.all ? qry_memory_code(err) : r.want == 1 ? give_one_each(&r, set.n, &arena, err) : 0;
        if (rc == 0)
            rc = run_set(&r, pool, ask, &set, &arena, err);
        if (rc == 0)
            rc = qry_ids_load(&view, set.series, set.n, err);
        if (rc == 0)
            rc = emit_all(&r, &set, emit, arg, err);
        for (size_t i = 0; r.all && i < set.n && r.want > 1; i++)
            tail_release(&r.all[i], &r.budget);
    }
    sto_snap_release(r.snap);
    ts_arena_release(&arena);
    qry_view_close(&view);
    return rc < 0 ? rc : 0;
}

/* The query that one point belongs to. */
struct single {
    qry_last_fn emit;
    void *arg;
};

static int emit_single(void *arg, const struct qry_latest *p, struct ts_error *err)
{
    const struct single *s = arg;
    struct qry_last out = {p->series, p->view, p->ts_ms[0], p->v[0]};
    return s->emit(s->arg, &out, err);
}

int qry_run_last(struct sto_store *st, struct ts_pool *pool, const struct qry_last_request *ask,
                 struct qry_limit *limit, qry_last_fn emit, void *arg, struct ts_error *err)
{
    struct qry_last_request one = *ask;
    struct single s = {emit, arg};
    one.n = 1;
    return qry_run_latest(st, pool, &one, limit, emit_single, &s, err);
}
