/*
 * bulk_kit.h - a bulk load as an importer does it, on the file system in memory.
 */
#ifndef TESTS_UNIT_STORAGE_BULK_KIT_H
#define TESTS_UNIT_STORAGE_BULK_KIT_H

#include "tests/unit/storage/ship_kit.h"

#include "storage/bulk.h"
#include "tests/unit/t_random.h"

#define BULK_ID   "00000000000000aa"
#define BULK_RUNS 4

/* Points to be loaded, in the order of the input; they are cut into BULK_RUNS runs. */
struct bulk_input {
    struct sto_point *v; /* series: of t_handles */
    size_t n;
};

static inline struct ts_slice bulk_id(void)
{
    return TS_SLICE_LIT(BULK_ID);
}

/* Points over some days, in no order, some times more than once. */
static inline struct bulk_input bulk_random(uint64_t seed, size_t n)
{
    struct bulk_input in = {.v = ts_xcalloc(n, sizeof *in.v), .n = n};
    for (size_t i = 0; i < n; i++) {
        int64_t days = (int64_t)(t_random(&seed) % 40), off = (int64_t)(t_random(&seed) % 300) * 60000;
        in.v[i] = (struct sto_point){.series = &t_handles[t_random(&seed) % N_SERIES],
                                     .ts_ms = T0 - days * TS_DAY_MS + off,
                                     .m = (int64_t)(t_random(&seed) % 1000000),
                                     .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false)};
    }
    return in;
}

/* Points of one run as two chunks. */
static inline void bulk_chunks(const struct bulk_input *in, size_t from, size_t end,
                               struct sto_bulk_chunk out[2])
{
    for (int c = 0; c < 2; c++) {
        size_t a = c ? from + (end - from) / 3 : from, b = c ? end : from + (end - from) / 3;
        out[c] = (struct sto_bulk_chunk){.points = ts_xcalloc(b - a + 1, sizeof *out[c].points), .n = b - a};
        for (size_t i = a; i < b; i++) {
            int32_t hour = sto_hour(in->v[i].ts_ms);
            out[c].points[i - a] = (struct sto_bulk_point){
                .series = in->v[i].series->id,
                .hour = hour,
                .meta = in->v[i].flags | (uint32_t)(in->v[i].ts_ms - hour * TS_HOUR_MS),
                .m = in->v[i].m};
        }
    }
}

static inline void bulk_ids(struct sto_store *st, struct sto_bulk_id ids[N_SERIES])
{
    for (unsigned i = 0; i < N_SERIES; i++) {
        const struct sto_series *s = kit_series(st, i);
        ids[i] = (struct sto_bulk_id){.metric = s->metric, .series = s->id};
    }
}

/* Import into a staging folder, or continue an import. ids as bulk_ids. */
static inline int bulk_write(const struct ts_fs *fs, const char *dir, const struct bulk_input *in,
                             const struct sto_bulk_id *ids, struct sto_bulk_sum *out, struct ts_error *err)
{
    struct sto_bulk_writer_opts opts = {
        .fs = fs, .dir = dir, .big_day_points = 200, .output_bytes = 4000, .unit_points = 100};
    struct sto_bulk_writer *w = NULL;
    struct ts_buf note;
    ts_buf_init(&note, 0);
    int rc = sto_bulk_writer_open(&opts, &note, &w, err);
    int64_t n_runs = 0;
    if (note.n)
        (void)ts_num_parse_int(ts_buf_get(&note), &n_runs, NULL);
    size_t run = (size_t)n_runs;
    ts_buf_release(&note);
    for (; rc == 0 && run < BULK_RUNS && !sto_bulk_writer_is_merging(w); run++) {
        struct sto_bulk_chunk chunks[2];
        char text[8];
        bulk_chunks(in, in->n * run / BULK_RUNS, in->n * (run + 1) / BULK_RUNS, chunks);
        int n = snprintf(text, sizeof text, "%zu", run + 1);
        rc = sto_bulk_writer_run(w, chunks, 2, ids, N_SERIES, (struct ts_slice){text, (size_t)n}, err);
        ts_free(chunks[0].points);
        ts_free(chunks[1].points);
    }
    if (rc == 0)
        rc = sto_bulk_writer_finish(w, out, err);
    sto_bulk_writer_close(w);
    return rc;
}

/* The points are put as of now. */
static inline void bulk_note(struct diary *d, const struct bulk_input *in)
{
    for (size_t i = 0; i < in->n; i++)
        diary_add(d, in->v[i].series->id, in->v[i].ts_ms, in->v[i].m, in->v[i].flags);
}

/* Begin, import and hand over. */
static inline int bulk_load(struct sto_store *st, const struct ts_fs *fs, const struct bulk_input *in,
                            struct ts_error *err)
{
    struct sto_bulk_id ids[N_SERIES];
    struct sto_bulk_place place;
    struct sto_bulk_sum sum = {0}, taken;
    bulk_ids(st, ids);
    TS_TRY(sto_catalog_sync(sto_store_catalog(st), true, err));
    TS_TRY(sto_bulk_begin(st, bulk_id(), &place, err));
    int rc = bulk_write(fs, place.dir, in, ids, &sum, err);
    ts_free(place.dir);
    return rc < 0 ? rc : sto_bulk_hand_over(st, bulk_id(), &sum, &taken, err);
}

/* The store has what the diary says; or, with maybe, nothing of the last n_maybe operations. Returns whether it has these. */
static inline bool bulk_expect(struct sto_store *st, const struct diary *d, size_t n_maybe, const char *when)
{
    char why[200] = "";
    for (int with = 1; with >= (n_maybe ? 0 : 1); with--) {
        struct t_ref *ref = t_ref_new();
        bool same = true;
        for (size_t i = 0; i < d->n - (with ? 0 : n_maybe); i++)
            t_ref_apply(ref, &d->ops[i]);
        for (unsigned s = 0; s < N_SERIES && same; s++)
            same = kit_same(st, ref, s, why, sizeof why);
        t_ref_free(ref);
        if (same)
            return with;
    }
    fail_msg("%s: %s", when, why);
    return false;
}

#endif
