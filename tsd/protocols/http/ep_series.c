/*
 * ep_series.c - PUT /api/series: the points of a range are replaced by those of the body, all at once.
 *
 *   body > points, checked > a staging folder > sorted files > one edit of the manifest, with tombstones
 *
 * The way is that of a bulk load whose importer is this job, so that a crash leaves the old points or the new ones. One point that is
 * refused refuses the request: a replacement with holes would lose what it was to correct.
 *
 * Threads    jobs
 * Not here   what is replaced (replace.h), bulk loads of an importer (ep_bulk.c)
 */
#include "tsd/protocols/http/ep.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/json.h"
#include "base/log.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/sink.h"
#include "base/text.h"
#include "tsd/ingest/args.h"
#include "tsd/protocols/http/put_json.h"
#include "tsd/protocols/http/replace.h"

#define SERIES_CACHE_BYTES ((size_t)1 << 20) /* of texts */
#define SERIES_MERGE_BYTES ((uint64_t)8 << 20)
#define POINT_COPIES                                                                                         \
    4u /* a point; while it is sorted, by series and by time, two more, and keys that take less than one */

/* The points of a body. */
struct taken {
    struct tsd_ingest in;
    struct tsd_ingest_sink sink;
    struct sto_batch *batch;     /* owned */
    struct sto_bulk_chunk chunk; /* points; their series are numbers of the store until taken_rank */
    struct ts_tally tally;       /* memory of chunk */
    roaring_bitmap_t *numbers;   /* of the series; owned */
    struct sto_bulk_id *ids;     /* by rank of the number, n_ids of them; owned */
    size_t n_ids;
    struct ts_error full; /* why nothing more can be taken; code 0 = there is room */
};

/* --- points --- */

static bool taken_room(struct taken *t, size_t n)
{
    size_t cap = t->chunk.cap * 2 + STO_BATCH_POINTS;
    if (t->chunk.n + n <= t->chunk.cap)
        return true;
    if (ts_tally_take(&t->tally, (cap - t->chunk.cap) * POINT_COPIES * sizeof *t->chunk.points, &t->full) < 0)
        return false;
    t->chunk.points = ts_xrealloc(t->chunk.points, cap * sizeof *t->chunk.points);
    t->chunk.cap = cap;
    return true;
}

static void taken_batch(struct taken *t)
{
    bool room = taken_room(t, t->batch->n);
    for (uint32_t i = 0; i < t->batch->n && room; i++) {
        const struct sto_point *p = &t->batch->points[i];
        t->chunk.points[t->chunk.n++] = sto_bulk_point_of(p);
        roaring_bitmap_add(t->numbers, p->series->id);
    }
    t->batch->n = 0;
}

static struct sto_batch *taken_next(void *arg)
{
    struct taken *t = arg;
    taken_batch(t);
    return t->batch;
}

/* One point; in.msg says why it is refused. */
static int taken_point(struct taken *t, const struct qry_spec *range, const struct tsd_put_point *p)
{
    struct tsd_ingest *in = &t->in;
    const struct sto_series *series;
    struct tsd_time time;
    struct ts_num v;
    struct ts_error err = {0};
    const char *why = NULL;
    int rc = 0;
    ts_buf_clear(&in->msg);
    if (p->null_point || p->metric.n == 0)
        why = "it has no metric";
    else if (!tsd_put_time(in->rules, p, &time, &in->msg))
        why = "its time is not valid";
    else if (p->n_tags == 0)
        why = "it has no tags";
    else if (p->value.n == 0 || (rc = ts_num_parse(p->value, &v, &err)) < 0)
        why = rc == TS_EINVAL ? err.text : "its value is no number";
    if (why) {
        ts_buf_clear(&in->msg);
        ts_buf_str(&in->msg, why);
        return TS_EINVAL;
    }
    if (!time.bad && (time.ts_ms < range->start_ms || time.ts_ms > range->end_ms)) {
        ts_buf_str(&in->msg, "its time is outside of start and end");
        return TS_EINVAL;
    }
    if (time.bad)
        return tsd_args_bad_time(in, time.raw, p->value, p->metric, p->tags, p->n_tags);
    TS_TRY(tsd_ingest_text(in, p->metric, p->tags, p->n_tags, &series));
    if (in->versions &&
        tsd_versions_refuse(in, series,
                            "which a replacement would go past: delete the range and put its points"))
        return TS_EINVAL;
    return tsd_ingest_point(in, series, time.ts_ms, v.m, sto_meta_flags(STO_OP_PUT, v.kind, v.exp, time.ms));
}

/* All points of a body; the first that is refused ends it. */
static int taken_body(struct taken *t, struct tsd_job *job, const struct qry_spec *range,
                      struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct tsd_put_body body = {0};
    int rc = tsd_put_body_read(req->body, false, tsd_job_arena(job), &body, err, NULL);
    for (size_t i = 0; rc == 0 && i < body.n_points; i++) {
        rc = taken_point(t, range, &body.points[i]);
        if (rc == TS_EBUSY)
            rc = ts_error_set(err, rc, "series are being forgotten: try again");
        else if (rc < 0)
            rc = ts_error_set(err, rc, "nothing is replaced: point %zu of the body is refused: %.*s", i + 1,
                              TS_SHOWN(ts_buf_get(&t->in.msg), 300));
        if (rc == 0 && t->full.code) {
            *err = t->full;
            rc = err->code;
        }
        if (rc == 0 && (i & 1023) == 0 &&
            atomic_load_explicit(&tsd_job_limit(job)->cancelled, memory_order_relaxed))
            rc = ts_error_set(err, TS_ECANCELLED, "nothing is replaced: the request was given up");
    }
    if (rc == 0)
        taken_batch(t);
    if (rc == 0 && t->full.code) {
        *err = t->full;
        rc = err->code;
    }
    tsd_put_body_release(&body);
    return rc;
}

/* Number the series from 0, in the order of their numbers in the store. */
static void taken_rank(struct taken *t, struct sto_catalog *cat)
{
    roaring_uint32_iterator_t *it = roaring_create_iterator(t->numbers);
    uint32_t last = UINT32_MAX, rank = 0;
    t->ids = ts_xcalloc(roaring_bitmap_get_cardinality(t->numbers) + 1, sizeof *t->ids);
    for (; it->has_value; roaring_advance_uint32_iterator(it)) {
        const struct sto_series *series = sto_series_get(cat, it->current_value);
        t->ids[t->n_ids++] =
            (struct sto_bulk_id){.metric = series ? series->metric : 0, .series = it->current_value};
    }
    roaring_free_uint32_iterator(it);
    for (size_t i = 0; i < t->chunk.n; i++) {
        struct sto_bulk_point *p = &t->chunk.points[i];
        rank = p->series == last ? rank : (uint32_t)roaring_bitmap_rank(t->numbers, p->series) - 1;
        last = p->series;
        p->series = rank;
    }
}

/* All series of the points are among those that are replaced. */
static int taken_check(const struct taken *t, struct sto_catalog *cat, const struct tsd_replace *r,
                       struct ts_error *err)
{
    if (roaring_bitmap_is_subset(t->numbers, r->series))
        return 0;
    roaring_bitmap_t *others = roaring_bitmap_andnot(t->numbers, r->series);
    const struct sto_series *series = sto_series_get(cat, roaring_bitmap_minimum(others));
    roaring_bitmap_free(others);
    return ts_error_set(
        err, TS_EINVAL,
        "nothing is replaced: the body has points of %.*s, which is not among the series that are "
        "to be replaced",
        TS_SHOWN(sto_series_text(series), 200));
}

static void taken_init(struct taken *t, const struct tsd_req *req, struct ts_budget *memory)
{
    struct sto_catalog *cat = sto_store_catalog(req->d->store);
    *t = (struct taken){.sink = {.next = taken_next, .arg = t},
                        .batch = ts_xcalloc(1, sizeof *t->batch),
                        .tally = {.budget = memory},
                        .numbers = roaring_bitmap_create()};
    tsd_ingest_init_apart(&t->in, &req->d->set.rules, cat, &t->sink, SERIES_CACHE_BYTES);
    t->in.declared = req->d->store;
    t->in.store = req->d->store; /* by its rules of retention some points have expired */
    tsd_ingest_begin(&t->in);
}

static void taken_release(struct taken *t)
{
    if (t->in.n_slots)
        t->in.open[0] = NULL;
    tsd_ingest_release(&t->in);
    ts_free(t->chunk.points);
    ts_free(t->ids);
    ts_free(t->batch);
    roaring_bitmap_free(t->numbers);
    ts_tally_release(&t->tally);
}

/* --- files --- */

static int series_write(struct taken *t, const char *dir, const _Atomic bool *cancel,
                        struct sto_bulk_sum *out, struct ts_error *err)
{
    struct sto_bulk_writer_opts opts = {
        .fs = ts_fs_real(), .dir = dir, .memory_bytes = SERIES_MERGE_BYTES, .cancel = cancel};
    struct sto_bulk_writer *w = NULL;
    struct ts_buf note;
    ts_buf_init(&note, 0);
    int rc = sto_bulk_writer_open(&opts, &note, &w, err);
    ts_buf_release(&note);
    if (rc == 0)
        sto_bulk_writer_last(w);
    if (rc == 0 && t->chunk.n)
        rc = sto_bulk_writer_run(w, &t->chunk, 1, t->ids, t->n_ids, TS_SLICE_LIT("PUT"), err);
    if (rc == 0)
        rc = sto_bulk_writer_finish(w, out, err);
    sto_bulk_writer_close(w);
    return rc;
}

static int series_answer(struct tsd_job *job, const struct tsd_replace *r, const struct sto_bulk_sum *new,
                         struct ts_error *err)
{
    struct ts_buf b;
    struct ts_json j;
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    ts_json_member_count(&j, "series", roaring_bitmap_get_cardinality(r->series));
    ts_json_member_count(&j, "deleted", tsd_replace_old(r));
    ts_json_member_count(&j, "written", new->n_points);
    ts_json_obj_end(&j);
    int rc = ts_sink_write(tsd_job_sink(job), ts_buf_get(&b), err);
    ts_buf_release(&b);
    return rc;
}

/* While there is the folder, no series is forgotten. */
static int series_replace(struct tsd_job *job, struct tsd_replace *r, struct ts_slice id, const char *dir,
                          struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct sto_catalog *cat = sto_store_catalog(req->d->store);
    struct sto_bulk_sum new = {0}, done;
    struct taken t;
    taken_init(&t, req, tsd_job_arena(job)->budget);
    int rc = taken_body(&t, job, &r->spec, err);
    if (rc == 0)
        taken_rank(&t, cat);
    if (rc == 0)
        rc = sto_catalog_sync(cat, true, err);
    if (rc == 0)
        rc = series_write(&t, dir, &tsd_job_limit(job)->cancelled, &new, err);
    if (rc == 0)
        rc = tsd_replace_find(job, r, err);
    if (rc == 0)
        rc = taken_check(&t, cat, r, err);
    taken_release(&t);
    if (rc == 0)
        rc = sto_bulk_replace(req->d->store, id, &new, &r->what, &done, err);
    return rc < 0 ? rc : series_answer(job, r, &new, err);
}

int tsd_ep_series(struct tsd_job *job, struct ts_error *err)
{
    struct sto_store *store = tsd_job_req(job)->d->store;
    struct tsd_replace r;
    struct sto_bulk_place place;
    struct sto_bulk_ended ended;
    char id[STO_BULK_ID_CHARS + 1];
    uint64_t number;
    int rc = tsd_replace_parse(job, &r, err);
    if (rc == 0 && getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        rc = ts_error_set(err, TS_EIO, "cannot get random numbers");
    if (rc == 0)
        (void)snprintf(id, sizeof id, "%016" PRIx64, number);
    if (rc == 0 && (rc = sto_bulk_begin(store, ts_slice_str(id), &place, err)) == 0) {
        rc = series_replace(job, &r, ts_slice_str(id), place.dir, err);
        if (sto_bulk_end(store, ts_slice_str(id), &ended, NULL) < 0)
            ts_log(TS_LOG_WARN, "the folder of a replacement is removed later id=%s", id);
        ts_free(place.dir);
    }
    tsd_replace_release(&r);
    return rc;
}
