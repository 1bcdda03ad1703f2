/*
 * merge_kit.h - a store in pieces for the tests of merge: operations go to a memstore and to the reference;
 * memstores become files and files fewer files as the engine does it; any scan must answer what the reference
 * says.
 */
#ifndef TESTS_UNIT_ENGINE_MERGE_KIT_H
#define TESTS_UNIT_ENGINE_MERGE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "storage/engine/merge/merge.h"
#include "tests/model/reference.h"

#define HOUR      TS_HOUR_MS
#define N_SERIES  40 /* half of each metric */
#define MAX_SRCS  64
#define ALL_HOURS 200 /* room for whole_hours */

static uint64_t seed = 1;
static inline uint32_t rnd(uint32_t n)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)((seed >> 20) % n);
}

/* A store in pieces, and what it must answer. */
struct world {
    struct sto_series series[N_SERIES]; /* metric 5 for even, 9 for odd numbers */
    struct t_ref *ref;                  /* every operation so far */
    struct sto_mem *mems[MAX_SRCS];     /* oldest first; the last one is written to */
    struct sto_sst *ssts[MAX_SRCS];     /* any order; all older than the memstores */
    size_t n_mems, n_ssts;              /* used */
    uint64_t gen, file_no;              /* last given out */
    char dir[64];                       /* for the files */
};

static inline void world_init(struct world *w)
{
    *w = (struct world){.ref = t_ref_new(), .gen = 1};
    (void)snprintf(w->dir, sizeof(w->dir), "/tmp/tsd-test-merge-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    for (uint32_t i = 0; i < N_SERIES; i++)
        w->series[i] = (struct sto_series){
            .id = i * 3, .local = i / 4, .metric = i % 2 ? 9 : 5, .shard = (uint16_t)(i % 4)};
    w->mems[w->n_mems++] = sto_mem_new(w->gen, 0, (struct sto_shard_spread){4, 4, 1});
}

static inline void world_release(struct world *w)
{
    for (size_t i = 0; i < w->n_mems; i++)
        sto_mem_unref(w->mems[i]);
    for (size_t i = 0; i < w->n_ssts; i++) {
        sto_sst_unlink_later(w->ssts[i], NULL);
        sto_sst_unref(w->ssts[i]);
    }
    t_ref_free(w->ref);
    (void)rmdir(w->dir);
}

static inline void apply(struct world *w, struct sto_point p)
{
    sto_mem_apply(w->mems[w->n_mems - 1], &p, 1);
    t_ref_apply(w->ref, &p);
}

static inline struct sto_point op_int(const struct sto_series *s, enum sto_op op, int64_t ts_ms, int64_t v)
{
    return (struct sto_point){
        .series = s, .ts_ms = ts_ms, .m = v, .flags = sto_meta_flags(op, TS_NUM_INT, 0, false)};
}

static inline struct sto_point del(const struct sto_series *s, int64_t from_ms, int64_t to_ms)
{
    return (struct sto_point){
        .series = s, .ts_ms = from_ms, .m = to_ms, .flags = (uint32_t)STO_OP_DEL << STO_META_OP_SHIFT};
}

static inline void next_generation(struct world *w)
{
    assert_true(w->n_mems < MAX_SRCS);
    w->mems[w->n_mems++] = sto_mem_new(++w->gen, 0, (struct sto_shard_spread){4, 4, 1});
}

static inline void add_file(struct world *w, struct sto_sst_writer *writer, uint64_t gen_lo, uint64_t gen_hi)
{
    struct ts_error err = {0};
    struct sto_sst_info info;
    assert_true(w->n_ssts < MAX_SRCS);
    if (sto_sst_writer_finish(writer, gen_lo, gen_hi, &info, &err) < 0)
        fail_msg("%s", err.text);
    if (sto_sst_open(ts_fs_real(), w->dir, NULL, &info, &w->ssts[w->n_ssts++], &err) < 0)
        fail_msg("%s", err.text);
}

static inline struct sto_sst_writer *new_writer(struct world *w)
{
    struct sto_sst_writer *writer;
    struct ts_error err = {0};
    if (sto_sst_writer_new(ts_fs_real(), w->dir, ++w->file_no, &writer, &err) < 0)
        fail_msg("%s", err.text);
    return writer;
}

/* All rows of sources within hours lo <= h < hi into a new file; false if there are none. */
static inline bool write_rows(struct world *w, struct sto_sst **ssts, size_t n_ssts, struct sto_mem **mems,
                              size_t n_mems, bool final, int32_t lo, int32_t hi, uint64_t gen_lo,
                              uint64_t gen_hi)
{
    struct ts_error err = {0};
    struct sto_scan_spec spec = {.from_ms = STO_MIN_TS_MS,
                                 .to_ms = STO_MAX_TS_MS,
                                 .final = final,
                                 .cut_hour_lo = lo,
                                 .cut_hour_hi = hi};
    struct sto_merge *merge;
    struct sto_row row;
    struct sto_key last = {0};
    size_t n = 0;
    int rc;
    assert_int_equal(sto_merge_new(&spec, ssts, n_ssts, mems, n_mems, &merge, &err), 0);
    struct sto_sst_writer *writer = new_writer(w);
    while ((rc = sto_merge_next(merge, &row, &err)) == 1) {
        assert_true(n == 0 || sto_key_cmp(&last, &row.key) < 0);
        assert_true(row.key.hour >= lo && (row.key.hour < hi || hi == INT32_MAX));
        assert_int_equal(sto_sst_write_row(writer, &row.key, row.cells, &err), 0);
        last = row.key;
        n++;
    }
    assert_int_equal(rc, 0);
    sto_merge_free(merge);
    if (n > 0)
        add_file(w, writer, gen_lo, gen_hi);
    else
        sto_sst_writer_abort(writer);
    return n > 0;
}

/* The oldest n memstores become files: rows cut at an hour, tombstones by themselves, as the engine does. */
static inline void flush(struct world *w, size_t n, int32_t cut)
{
    struct ts_error err = {0};
    uint64_t gen_lo = sto_mem_gen(w->mems[0]), gen_hi = sto_mem_gen(w->mems[n - 1]);
    write_rows(w, NULL, 0, w->mems, n, false, INT32_MIN, cut, gen_lo, gen_hi);
    write_rows(w, NULL, 0, w->mems, n, false, cut, INT32_MAX, gen_lo, gen_hi);
    struct sto_sst_writer *writer = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t n_tombs;
        const struct sto_tomb *tombs = sto_mem_tombs(w->mems[i], &n_tombs);
        for (size_t k = 0; k < n_tombs; k++) {
            if (!writer)
                writer = new_writer(w);
            assert_int_equal(sto_sst_write_tomb(writer, &tombs[k], &err), 0);
        }
        sto_mem_unref(w->mems[i]);
    }
    if (writer)
        add_file(w, writer, gen_lo, gen_hi);
    memmove(w->mems, w->mems + n, (w->n_mems - n) * sizeof(w->mems[0]));
    w->n_mems -= n;
}

/* All files become one (final), or the newer half of the generations does, with its tombstones. */
static inline void compact(struct world *w, bool final)
{
    struct ts_error err = {0};
    uint64_t from_gen = final ? 0 : w->gen / 2, gen_lo = UINT64_MAX, gen_hi = 0;
    struct sto_sst *in[MAX_SRCS];
    size_t n_in = 0, kept = 0;
    for (bool again = true; again;) { /* whole flushes only: files that share generations go together */
        again = false;
        for (size_t i = 0; i < w->n_ssts; i++) {
            const struct sto_sst_info *f = sto_sst_info(w->ssts[i]);
            if (f->gen_hi >= from_gen && f->gen_lo < from_gen) {
                from_gen = f->gen_lo;
                again = true;
            }
        }
    }
    for (size_t i = 0; i < w->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(w->ssts[i]);
        if (f->gen_lo < from_gen) {
            w->ssts[kept++] = w->ssts[i];
            continue;
        }
        gen_lo = f->gen_lo < gen_lo ? f->gen_lo : gen_lo;
        gen_hi = f->gen_hi > gen_hi ? f->gen_hi : gen_hi;
        in[n_in++] = w->ssts[i];
    }
    w->n_ssts = kept;
    if (n_in == 0)
        return;
    write_rows(w, in, n_in, NULL, 0, final, INT32_MIN, INT32_MAX, gen_lo, gen_hi);
    struct sto_sst_writer *writer = NULL;
    for (size_t i = 0; i < n_in; i++) {
        size_t n_tombs;
        const struct sto_tomb *tombs = sto_sst_tombs(in[i], &n_tombs);
        for (size_t k = 0; k < n_tombs && !final; k++) {
            if (!writer)
                writer = new_writer(w);
            assert_int_equal(sto_sst_write_tomb(writer, &tombs[k], &err), 0);
        }
        sto_sst_unlink_later(in[i], NULL);
        sto_sst_unref(in[i]);
    }
    if (writer)
        add_file(w, writer, gen_lo, gen_hi);
}

/* --- comparing --- */

/* A scan of some series in a range; whole: which hours may be summaries (NULL = none). */
struct ask {
    const struct sto_series *series[N_SERIES];
    size_t n;
    int64_t from_ms, to_ms;
    const uint8_t *whole;
};

static inline void check_summary(const struct sto_summary *s, const struct t_ref_point *p, size_t n,
                                 int64_t start)
{
    __int128 sum = 0;
    double min = ts_num_double(p[0].value), max = min;
    for (size_t i = 0; i < n; i++) {
        double d = ts_num_double(p[i].value);
        sum += p[i].value.m;
        min = d < min ? d : min;
        max = d > max ? d : max;
    }
    assert_int_equal(s->n, n);
    assert_int_equal(s->first_off, p[0].ts_ms - start);
    assert_int_equal(s->last_off, p[n - 1].ts_ms - start);
    assert_true(t_ref_same(s->first, p[0].value));
    assert_true(t_ref_same(s->last, p[n - 1].value));
    assert_true(ts_num_double(s->min) == min);
    assert_true(ts_num_double(s->max) == max);
    if (s->is_int)
        assert_true(s->sum == sum);
}

static inline void check_row(const struct sto_row *row, const struct t_ref_point *p, size_t n,
                             const struct ask *a)
{
    int64_t start = row->key.hour * HOUR;
    assert_true((row->sum == NULL) != (row->cells == NULL));
    if (row->sum) {
        assert_non_null(a->whole);
        assert_true(a->whole[row->key.hour - sto_hour(a->from_ms)]);
        assert_true(a->from_ms <= start && a->to_ms >= start + HOUR - 1);
        check_summary(row->sum, p, n, start);
        return;
    }
    const struct sto_cells *c = row->cells;
    assert_int_equal(c->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(start + sto_meta_off(c->meta[i]), p[i].ts_ms);
        assert_true(t_ref_same(sto_cell_num(c->meta[i], c->m[i]), p[i].value));
        assert_int_equal(sto_meta_op(c->meta[i]), STO_OP_PUT);
        if (c->uniform)
            assert_int_equal(c->meta[i] & STO_META_FLAGS_MASK, c->common);
    }
}

/* Every row the reference has, in order, and no other. Returns what was read. memory: NULL = not counted. */
static inline struct sto_merge_counts check_within(const struct world *w, const struct ask *a,
                                                   struct ts_budget *memory)
{
    struct ts_error err = {0};
    struct sto_scan_spec spec = {.metric = a->n ? a->series[0]->metric : 5,
                                 .series = a->series,
                                 .n_series = a->n,
                                 .from_ms = a->from_ms,
                                 .to_ms = a->to_ms,
                                 .whole_hours = a->whole,
                                 .final = true,
                                 .memory = memory,
                                 .must_go_on = true};
    struct sto_merge *merge;
    struct sto_row row;
    assert_int_equal(sto_merge_new(&spec, w->ssts, w->n_ssts, w->mems, w->n_mems, &merge, &err), 0);
    for (size_t s = 0; s < a->n; s++) {
        struct t_ref_point *p;
        size_t n = t_ref_scan(w->ref, a->series[s]->id, a->from_ms, a->to_ms, &p);
        for (size_t i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n && sto_hour(p[end].ts_ms) == sto_hour(p[i].ts_ms);)
                end++;
            int rc = sto_merge_next(merge, &row, &err);
            if (rc != 1)
                fail_msg("a row is missing: %d %s", rc, err.text);
            assert_int_equal(row.key.series, a->series[s]->id);
            assert_int_equal(row.key.metric, a->series[s]->metric);
            assert_int_equal(row.key.hour, sto_hour(p[i].ts_ms));
            assert_int_equal(row.pos, s);
            check_row(&row, p + i, end - i, a);
        }
        ts_free(p);
    }
    assert_int_equal(sto_merge_next(merge, &row, &err), 0);
    assert_int_equal(sto_merge_next(merge, &row, &err), 0); /* stays at the end */
    struct sto_merge_counts counts = *sto_merge_counts(merge);
    sto_merge_free(merge);
    return counts;
}

/* The same, also with so little memory that each block is read again whenever a row of it is wanted. */
static inline struct sto_merge_counts check(const struct world *w, const struct ask *a)
{
    struct ts_budget tight;
    ts_budget_init(&tight, "a scan", "none", NULL, 1);
    (void)check_within(w, a, &tight);
    assert_int_equal(tight.used_bytes, 0);
    return check_within(w, a, NULL);
}

/* Some series of one metric. */
static inline struct ask ask_some(const struct world *w, uint32_t one_in, int64_t from_ms, int64_t to_ms,
                                  const uint8_t *whole)
{
    struct ask a = {.from_ms = from_ms, .to_ms = to_ms, .whole = whole};
    for (uint32_t i = rnd(2); i < N_SERIES; i += 2)
        if (rnd(one_in) == 0)
            a.series[a.n++] = &w->series[i];
    return a;
}

#endif
