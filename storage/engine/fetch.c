/*
 * fetch.c - adds rows of the remote store to a scan as further sources.
 *
 * The rows fetched become memstores, one for each ship mark of their hours, whose generation is the mark. So
 * they are newer than everything that was shipped and older than everything that was not, and tombstones
 * apply to them as to all points of that generation.
 *
 * Limit      rows are those of the time of the fetch, additions those of the version. What a client puts or deletes at such a time after a flush that came
 *            after the version may be shipped before the fetch, and is then shown together with the addition. A later query shows the point as it is.
 * Threads    the thread of the scan, also while the remote store reports rows
 */
#include "storage/engine/engine_int.h"

#include <string.h>

#define SERIES_AT_ONCE                                                                                       \
    8192u /* series of one call of fetch: the remote store reads many rows that lie side by side faster */
#define POINTS_AT_ONCE 512u /* points put into a memstore together */
#define LOOK_ROWS      64u  /* rows between two checks of the scan's limits */
#define POINT_BYTES    24u  /* memory of a point in a memstore, an estimate */
#define ROW_BYTES      256u /* memory of a row without its points, an estimate */

/* A running fetch. */
struct fetch {
    struct sto_engine *e;
    const struct sto_version *v;
    const struct sto_scan_spec *spec;
    size_t first;          /* index in spec->series of the first series of this call */
    struct sto_mem **mems; /* owned */
    size_t n_mems;
    size_t n_rows;
};

static struct ts_budget *account(const struct fetch *f)
{
    return f->spec->fetched ? f->spec->fetched : f->spec->memory;
}

static struct sto_mem *mem_of(struct fetch *f, uint64_t gen, bool foreign)
{
    uint16_t owner = foreign ? STO_MEM_FOREIGN : STO_MEM_REMOTE;
    for (size_t i = f->n_mems; i-- > 0;)
        if (sto_mem_gen(f->mems[i]) == gen && sto_mem_owner(f->mems[i]) == owner)
            return f->mems[i];
    f->mems = ts_xrealloc(f->mems, (f->n_mems + 1) * sizeof(struct sto_mem *));
    struct sto_mem *mem =
        sto_mem_new(gen, owner, (struct sto_shard_spread){foreign ? 1 : f->e->n_groups, 1, 1});
    sto_mem_count_in(mem, account(f));
    return f->mems[f->n_mems++] = mem;
}

/* Check whether the account has memory for a row. The memstore counts what it uses, but is never refused
 * memory. */
static int may_take(const struct fetch *f, const struct sto_remote_row *row, struct ts_error *err)
{
    uint64_t n_bytes = ROW_BYTES + (uint64_t)row->cells->n * POINT_BYTES;
    TS_TRY(ts_budget_take(account(f), n_bytes, err));
    ts_budget_give(account(f), n_bytes);
    return 0;
}

static int on_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    struct fetch *f = arg;
    struct sto_point points[POINTS_AT_ONCE];
    if (f->spec->look && f->n_rows++ % LOOK_ROWS == 0)
        TS_TRY(f->spec->look(f->spec->look_arg, err));
    TS_TRY(may_take(f, row, err));
    const struct sto_series *series = f->spec->series[f->first + pos];
    struct sto_mem *mem =
        mem_of(f, sto_mark_of(sto_marks_list(f->v->marks), row->hour), series->id >= STO_FOREIGN);
    for (uint32_t i = 0, n = 0; i < row->cells->n; i++) {
        uint32_t meta = row->cells->meta[i];
        points[n++] = (struct sto_point){.series = series,
                                         .ts_ms = row->hour * TS_HOUR_MS + sto_meta_off(meta),
                                         .m = row->cells->m[i],
                                         .flags = meta & STO_META_FLAGS_MASK};
        if (n < POINTS_AT_ONCE && i + 1 < row->cells->n)
            continue;
        sto_mem_apply(mem, points, n);
        n = 0;
    }
    return 0;
}

static int on_note(void *arg, const struct sto_remote_note *note, size_t pos, struct ts_error *err)
{
    struct fetch *f = arg;
    return f->spec->note(f->spec->note_arg, f->spec->series[f->first + pos], note->start_ms, note->record,
                         err);
}

/* The names of a series. */
static int names_of(struct fetch *f, const struct sto_series *s, struct sto_remote_tag *tags,
                    struct sto_remote_series *out, struct ts_error *err)
{
    if (s->id >= STO_FOREIGN && f->spec->foreign)
        f->spec->foreign(f->spec->foreign_arg, s, tags, out);
    else if (!f->e->owner.names(f->e->owner.arg, s->id, tags, out))
        return ts_error_set(err, TS_EBUSY, "series %u is being forgotten; try again", s->id);
    return 0;
}

/* Fetch the rows of n series from f->first on. */
static int fetch_some(struct fetch *f, size_t n, struct sto_remote_series *series, struct ts_arena *arena,
                      struct ts_error *err)
{
    struct sto_remote *remote = f->e->opts.remote;
    const struct sto_remote_call call = {
        .deadline_ns = f->spec->deadline_ns, .cancel = f->spec->cancel, .memory = f->spec->memory};
    struct sto_remote_tag tags[STO_SHIP_TAGS_MAX];
    struct sto_fetch ask = {
        .series = series, .n_series = n, .from_ms = f->spec->from_ms, .to_ms = f->spec->to_ms};
    for (size_t i = 0; i < n; i++) {
        TS_TRY(names_of(f, f->spec->series[f->first + i], tags, &series[i], err));
        series[i].tags = memcpy(ts_arena_alloc(arena, series[i].n_tags * sizeof *tags), tags,
                                series[i].n_tags * sizeof *tags);
    }
    ask.metric = series[0].metric;
    /* series of internal metrics have no annotations */
    bool notes = f->spec->note && ask.metric.n && *ask.metric.p != 1;
    ask.note = notes ? on_note : NULL;
    int rc = remote->ops->fetch(remote, &ask, &call, on_row, f, err);
    return rc == 0 && notes ? f->spec->notes_read(f->spec->note_arg, f->first, n, err) : rc;
}

static int fetch_all(struct fetch *f, struct ts_error *err)
{
    struct sto_remote_series *series = ts_xcalloc(SERIES_AT_ONCE, sizeof *series);
    int rc = 0;
    for (size_t n; rc == 0 && f->first < f->spec->n_series; f->first += n) {
        struct ts_arena arena;
        ts_arena_init(&arena, 0);
        n = f->spec->n_series - f->first;
        n = n < SERIES_AT_ONCE ? n : SERIES_AT_ONCE;
        rc = fetch_some(f, n, series, &arena, err);
        ts_arena_release(&arena);
    }
    ts_free(series);
    return rc;
}

static void release(struct sto_mem **mems, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sto_mem_unref(mems[i]);
    ts_free(mems);
}

/* Begin a scan of the version and of the rows that were fetched. */
static int merge_both(const struct fetch *f, struct sto_merge **out, struct ts_error *err)
{
    struct sto_scan_spec spec = *f->spec;
    struct sto_mem **mems = ts_xcalloc(f->v->n_mems + f->n_mems + 1, sizeof(struct sto_mem *));
    spec.cutoff_ms = f->v->cutoff_ms;
    spec.cutoff_gen = f->v->cutoff_gen;
    if (f->n_mems)
        memcpy(mems, f->mems, f->n_mems * sizeof(struct sto_mem *));
    if (f->v->n_mems)
        memcpy(mems + f->n_mems, f->v->mems, f->v->n_mems * sizeof(struct sto_mem *));
    int rc = sto_merge_new(&spec, f->v->ssts, f->v->n_ssts, mems, f->n_mems + f->v->n_mems, out, err);
    ts_free(mems);
    return rc;
}

int sto_engine_scan_both(struct sto_engine *e, const struct sto_version *v, const struct sto_scan_spec *spec,
                         struct sto_merge **out, struct ts_error *err)
{
    struct sto_scan_spec within = *spec;
    struct fetch f = {.e = e, .v = v, .spec = &within};
    *out = NULL;
    if (!spec->series)
        return ts_error_set(err, TS_EINVAL, "a scan of all rows cannot include the remote store");
    if (ts_fs_is_nowait())
        return ts_error_set(err, TS_EBUSY, "the remote store has to be read");
    within.from_ms = spec->from_ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : spec->from_ms;
    within.to_ms = spec->to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : spec->to_ms;
    int rc = within.from_ms <= within.to_ms ? fetch_all(&f, err) : 0;
    f.spec = spec;
    if (rc < 0 && spec->remote_failed) {
        struct ts_error why = err ? *err : (struct ts_error){0};
        rc = spec->remote_failed(spec->remote_failed_arg, rc, err ? err : &why);
    }
    if (rc == 0)
        rc = merge_both(&f, out, err);
    if (rc < 0)
        release(f.mems, f.n_mems);
    else
        sto_merge_own(*out, f.mems, f.n_mems);
    return rc;
}

bool sto_engine_time_range(struct sto_engine *e, const struct sto_version *v, int64_t *out_min_ms,
                           int64_t *out_max_ms)
{
    struct sto_remote *remote = e->opts.remote;
    int64_t lo = STO_MIN_TS_MS, hi = STO_MAX_TS_MS;
    bool any = sto_version_time_range(v, out_min_ms, out_max_ms);
    int rc = ts_fs_is_nowait() ? TS_EBUSY : remote->ops->time_range(remote, NULL, &lo, &hi, NULL);
    if (rc == 0)
        return any;
    if (rc < 0) { /* the bounds are not known; the scan will report the error */
        lo = STO_MIN_TS_MS;
        hi = STO_MAX_TS_MS;
    }
    *out_min_ms = any && *out_min_ms < lo ? *out_min_ms : lo;
    *out_max_ms = any && *out_max_ms > hi ? *out_max_ms : hi;
    return true;
}
