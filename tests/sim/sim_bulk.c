/*
 * sim_bulk.c - bulk loads in the simulation: an importer stages files, the store takes them, and a crash leaves all of a load or none.
 *
 * While the store copies and checks files, others put, flush and merge. The load gets its place among their operations when the store
 * changes the generation of its memstores: the first call that makes a file which is no copy, or appends to the manifest, comes right after it.
 * Nobody flushes or looks at points from then on until the manifest has the files, which DONE shows. Half of the loads replace: they begin
 * with deletes of a range of some series, in which all of their points lie.
 *
 *   none --stage--> staged --hand over--> none
 *                   staged --a crash in the middle--> the store says whether it has the load; the check of survivors says whether that is true
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BULK_POINTS 200 /* of a load, at most */
#define BULK_RUNS   3   /* at most */

static struct ts_slice bulk_id(void)
{
    return TS_SLICE_LIT("00000000000000aa");
}

void sim_bulk_configure(struct sim *s)
{
    s->bulk.on = sim_has(s, SIM_BULK_SEED);
    if (s->bulk.on)
        s->opts.bulk_ahead_gens = sim_chance(s, 20) ? 300 : 0;
}

/* Does an error of the importer or of the staging folder have a cause? It breaks nothing. */
static bool went_well(struct sim *s, int rc, const struct ts_error *err, const char *what)
{
    if (rc >= 0)
        return true;
    if (!s->faulty && !((s->cut_planned || s->kill_planned) && t_faultfs_fired(s->f)))
        sim_fail(s, "%s: %s", what, err->text);
    sim_say(s, "%s: %s", what, err->text);
    return false;
}

/* --- the importer --- */

/* Choose what is replaced: the deletes are the first operations of the load. */
static void make_deletes(struct sim *s)
{
    struct sim_bulk *b = &s->bulk;
    bool ms;
    b->from_ms = sim_some_time(s, &ms);
    b->to_ms =
        b->from_ms + (int64_t)(sim_chance(s, 50) ? sim_rnd(s, 8 * TS_HOUR_MS) : sim_rnd(s, 90 * TS_DAY_MS));
    for (unsigned i = 0; i < s->n_series; i++)
        if (sim_chance(s, 50) && sim_resolve(s, i, true))
            b->ops.v[b->ops.n++].p =
                (struct sto_point){.series = &s->handles[i],
                                   .ts_ms = b->from_ms,
                                   .m = b->to_ms,
                                   .flags = sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, true)};
    b->n_deletes = b->ops.n;
}

/* Is this series one whose points are replaced, and the time one of that range? */
static bool may_load(const struct sim *s, unsigned series, int64_t ts_ms)
{
    bool is = !s->bulk.n_deletes;
    for (size_t k = 0; k < s->bulk.n_deletes && !is; k++)
        is = s->bulk.ops.v[k].p.series == &s->handles[series];
    return is && (!s->bulk.n_deletes || (ts_ms >= s->bulk.from_ms && ts_ms <= s->bulk.to_ms));
}

static void make_points(struct sim *s)
{
    sim_ops_clear(&s->bulk.ops);
    size_t n = 1 + (size_t)sim_rnd(s, sim_chance(s, 50) ? 20 : BULK_POINTS);
    s->bulk.ops =
        (struct sim_ops){.v = ts_xcalloc(n + SIM_SERIES, sizeof *s->bulk.ops.v), .cap = n + SIM_SERIES};
    s->bulk.n_deletes = 0;
    if (sim_chance(s, 50))
        make_deletes(s);
    for (size_t k = 0; k < n; k++) {
        unsigned i = (unsigned)sim_rnd(s, s->n_series);
        bool ms = false;
        int64_t t = sim_some_time(s, &ms);
        struct ts_num v = sim_some_value(s, i);
        if (s->bulk.n_deletes && sim_chance(s, 80)) {
            t = s->bulk.from_ms + (int64_t)sim_rnd(s, (uint64_t)(s->bulk.to_ms - s->bulk.from_ms) + 1);
            ms = true;
        }
        if (sim_resolve(s, i, true) && may_load(s, i, t))
            s->bulk.ops.v[s->bulk.ops.n++].p =
                (struct sto_point){.series = &s->handles[i],
                                   .ts_ms = t,
                                   .m = v.m,
                                   .flags = sto_meta_flags(STO_OP_PUT, v.kind, v.exp, ms)};
    }
}

static struct sto_bulk_chunk make_chunk(const struct sim *s, size_t from, size_t end)
{
    struct sto_bulk_chunk c = {.points = ts_xcalloc(end - from + 1, sizeof *c.points)};
    for (size_t k = from; k < end; k++) {
        const struct sto_point *p = &s->bulk.ops.v[k].p;
        int32_t hour = sto_hour(p->ts_ms);
        c.points[c.n++] = (struct sto_bulk_point){.series = p->series->id,
                                                  .hour = hour,
                                                  .meta = p->flags | (uint32_t)(p->ts_ms - hour * TS_HOUR_MS),
                                                  .m = p->m};
    }
    return c;
}

static int write_files(struct sim *s, const char *dir, struct ts_error *err)
{
    struct sto_bulk_writer_opts opts = {.fs = s->opts.fs,
                                        .dir = dir,
                                        .big_day_points = 5 + sim_rnd(s, 100),
                                        .output_bytes = 300 + sim_rnd(s, 3000),
                                        .unit_points = 10 + sim_rnd(s, 200)};
    struct sto_bulk_id ids[SIM_SERIES] = {{0}};
    struct sto_bulk_writer *w = NULL;
    struct ts_buf note;
    size_t n_runs = 1 + (size_t)sim_rnd(s, BULK_RUNS), first = s->bulk.n_deletes, n = s->bulk.ops.n - first;
    for (unsigned i = 0; i < s->n_series; i++)
        if (s->series[i].h)
            ids[i] = (struct sto_bulk_id){.metric = s->series[i].h->metric, .series = s->series[i].h->id};
    ts_buf_init(&note, 0);
    int rc = sto_bulk_writer_open(&opts, &note, &w, err);
    ts_buf_release(&note);
    for (size_t run = 0; rc == 0 && run < n_runs; run++) {
        struct sto_bulk_chunk c = make_chunk(s, first + n * run / n_runs, first + n * (run + 1) / n_runs);
        if (sim_rnd(s, 8) < (run + 1 == n_runs ? 6 : 1)) /* rightly or not */
            sto_bulk_writer_last(w);
        if (c.n)
            rc = sto_bulk_writer_run(w, &c, 1, ids, SIM_SERIES, TS_SLICE_LIT("note"), err);
        ts_free(c.points);
    }
    if (rc == 0)
        rc = sto_bulk_writer_finish(w, &s->bulk.sum, err);
    sto_bulk_writer_close(w);
    return rc;
}

static bool end(struct sim *s)
{
    struct sto_bulk_ended ended;
    struct ts_error err = {0};
    return went_well(s, sto_bulk_end(s->st, bulk_id(), &ended, &err), &err, "removing a staging folder");
}

static void stage(struct sim *s)
{
    struct sto_bulk_place place;
    struct ts_error err = {0};
    if (!s->n_series || !end(s)) /* what an importer has left that failed */
        return;
    int rc = sto_bulk_begin(s->st, bulk_id(), &place, &err);
    if (!went_well(s, rc, &err, "a staging folder"))
        return;
    make_points(s);
    rc = sto_catalog_sync(sto_store_catalog(s->st), true, &err);
    if (s->bulk.ops.n && sim_ok(s, rc, &err, "names of a load") &&
        went_well(s, write_files(s, place.dir, &err), &err, "an importer"))
        s->bulk.staged = true;
    sim_say(s, "%zu points are staged: %d", s->bulk.ops.n, s->bulk.staged);
    ts_free(place.dir);
}

/* --- the hand-over --- */

static void enter(struct sim *s)
{
    sim_arrive_all(s); /* the owners have taken in what was sent when they got their new memstores */
    for (unsigned o = 0; o < SIM_WRITERS; o++)
        s->bulk.n_before[o] = s->owners[o].arrived.n;
    for (size_t k = 0; k < s->bulk.ops.n; k++) {
        s->bulk.ops.v[k].seq = t_ref_next(s->ref);
        t_ref_apply(s->ref, &s->bulk.ops.v[k].p);
    }
    s->bulk.entered = s->bulk.listing = true;
    sim_say(s, "the load has its place");
}

static void leave(struct sim *s)
{
    for (size_t k = s->bulk.ops.n; k-- > 0;)
        t_ref_undo(s->ref, s->bulk.ops.v[k].p.series->id, s->bulk.ops.v[k].seq);
    s->bulk.entered = false;
}

/* What was put before the load is in files, if the load is. */
static void confirm_before(struct sim *s)
{
    for (unsigned o = 0; o < SIM_WRITERS; o++) {
        struct sim_owner *w = &s->owners[o];
        size_t n = s->bulk.n_before[o];
        w->n_seen = n > w->n_seen ? n : w->n_seen;
        w->n_disk = n > w->n_disk ? n : w->n_disk;
    }
}

/* Does the record of the hand-over name the file as a copy? */
static bool is_copy(const struct sim *s, const char *path)
{
    size_t n = 0;
    char line[40];
    int n_line = snprintf(line, sizeof line, "\nfile %llu\n", strtoull(strrchr(path, '/') + 1, NULL, 16));
    uint8_t *text = t_faultfs_get(s->f, "/db/BULK", &n);
    bool is = text && memmem(text, n, line, (size_t)n_line);
    ts_free(text);
    return is;
}

void sim_bulk_look(struct sim *s, enum t_op op, const char *path)
{
    if (s->bulk.listing && strstr(path, "/bulk/"))
        s->bulk.listing = false;
    if (!s->bulk.entered && (op == T_OP_OPEN || op == T_OP_APPEND) &&
        (strstr(path, "/MANIFEST") || (strstr(path, "/files/") && !is_copy(s, path))))
        enter(s);
}

static int hand_over(struct sim *s, struct sto_bulk_sum *taken, struct ts_error *err)
{
    const struct sim_bulk *b = &s->bulk;
    struct sto_tomb ranges[SIM_SERIES];
    if (!b->n_deletes)
        return sto_bulk_hand_over(s->st, bulk_id(), &b->sum, taken, err);
    roaring_bitmap_t *series = roaring_bitmap_create();
    for (size_t k = 0; k < b->n_deletes; k++) {
        const struct sto_series *of = s->series[b->ops.v[k].p.series->id].h;
        ranges[k] = (struct sto_tomb){
            .metric = of->metric, .series = of->id, .from_ms = b->from_ms, .to_ms = b->to_ms};
        roaring_bitmap_add(series, of->id);
    }
    struct sto_bulk_replace what = {
        .ranges = ranges, .n = b->n_deletes, .series = series, .from_ms = b->from_ms, .to_ms = b->to_ms};
    int rc = sto_bulk_replace(s->st, bulk_id(), &b->sum, &what, taken, err);
    roaring_bitmap_free(series);
    return rc;
}

static void take(struct sim *s)
{
    struct sto_bulk_sum taken;
    struct ts_error err = {0};
    struct sim_known known;
    unsigned top;
    for (size_t k = 0; k < s->bulk.n_deletes; k++)
        if (!sim_resolve(s, s->bulk.ops.v[k].p.series->id, true))
            return;
    known = sim_known_now(s);
    sim_say(s, "hand over");
    s->bulk.entered = s->bulk.listing = false;
    sim_begin(s, SIM_BULK, true, &top);
    int rc = hand_over(s, &taken, &err);
    sim_end(s, SIM_BULK, top);
    s->bulk.listing = false;
    sim_say(s, "hand over: %d %s", rc, err.text);
    if (rc == 0 && (!s->bulk.entered || taken.n_points != s->bulk.sum.n_points))
        sim_fail(s, "a hand-over ended well without listing its files");
    if (rc == 0) {
        confirm_before(s);
        sim_names_safe(s, &known);
        s->bulk.staged = s->bulk.entered = false;
        s->bulk.n_taken++;
        s->bulk.n_replaced += s->bulk.n_deletes > 0;
    } else if (rc == TS_EINVAL ? !went_well(s, rc, &err, "a hand-over")
                               : !sim_ok(s, rc, &err, "a hand-over")) {
        return; /* the end has come, perhaps while a file was read: the next opening decides */
    }
    sim_make_sure(s);
}

void sim_bulk_survivors(struct sim *s)
{
    struct sto_bulk_place place;
    struct ts_error err = {0};
    if (!s->bulk.staged)
        return;
    int rc = sto_bulk_begin(s->st, bulk_id(), &place, &err);
    if (rc < 0)
        sim_fail(s, "the staging folder after an opening: %s", err.text);
    ts_free(place.dir);
    sim_say(s, "the load is %s", place.done ? "there" : "not there");
    if (place.done && !s->bulk.entered)
        sim_fail(s, "the store says that it has a load which it was not given");
    if (place.done)
        confirm_before(s);
    else if (s->bulk.entered)
        leave(s);
    s->bulk.staged = !place.done;
    s->bulk.entered = false;
    s->bulk.n_kept += place.done;
}

void sim_bulk_step(struct sim *s)
{
    if (!s->bulk.staged) {
        stage(s);
    } else if (
        s->faulty) { /* what waits for space would come after the load, and nobody here would know: see test_store_bulk */
        return;
    } else if (sim_chance(s, 95)) {
        take(s);
    } else { /* the operator gives it up; after an error some of its files may be gone */
        s->bulk.staged = false;
        (void)end(s);
    }
}

void sim_bulk_release(struct sim *s)
{
    sim_ops_clear(&s->bulk.ops);
}
