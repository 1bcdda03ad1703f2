/*
 * writer.c - the importer's side of a staging folder: runs, then merging, each step recorded in STATE before the next one.
 *
 *   a run        its files are written and synced, the folder is synced, STATE lists them; a crash before that removes them
 *   a unit       the same in ready/; files of a window that one run has are renamed, which may be repeated
 *   the end      STATE says merged; the runs' other files are removed
 *
 * Threads    see storage/bulk.h; state_mu while units end
 * Not here   sorting (sort.c), merging (merge.c), the format of STATE (state.c)
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "storage/engine/bulk/merge.h"
#include "storage/engine/bulk/pair.h"
#include "storage/engine/bulk/sort.h"
#include "storage/engine/files/handles.h"
#include "storage/engine/files/pages.h"

#define DEF_MEMORY_BYTES ((uint64_t)64 << 20)
#define DEF_UNIT_POINTS  4000000u
#define PAGES_BYTES      ((size_t)16 << 20) /* cache of index pages; merging reads each page once */

struct sto_bulk_writer {
    struct sto_bulk_writer_opts opts; /* with defaults; dir is owned */
    char *ready_dir;                  /* owned */
    struct sto_bulk_state state;
    _Atomic uint64_t next_no;     /* of files */
    _Atomic uint64_t n_points;    /* of all runs */
    _Atomic uint64_t n_merged;    /* written by merging, or moved */
    uint64_t n_refused;           /* points of refused series */
    bool last;                    /* the next run is the last one */
    uint32_t *rank;               /* place of each series in the order of keys; owned */
    uint32_t *order;              /* scratch for it: series in that order; owned */
    size_t n_rank;                /* length of both */
    struct sto_bulk_room room;    /* of sorting */
    pthread_mutex_t state_mu;     /* protects state while units are merged */
    struct sto_sst_caches caches; /* of files that are merged */
    struct sto_bulk_file *files;  /* of all runs; owned while merging */
    size_t n_files;
    struct sto_bulk_plan plan;
    struct ts_budget memory; /* of merging */
    _Atomic int rc;          /* first error of a unit */
    struct ts_error err;     /* its text; under state_mu */
};

/* --- opening --- */

static bool lists(const struct sto_bulk_part *parts, size_t n, uint64_t no)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < parts[i].n; k++)
            if (parts[i].nos[k] == no)
                return true;
    return false;
}

/* Remove the files of a folder that STATE does not list, and pass all numbers. */
static int tidy(struct sto_bulk_writer *w, const char *dir, bool ready, struct ts_error *err)
{
    const struct sto_bulk_state *s = &w->state;
    uint64_t *nos = NULL;
    size_t n = 0;
    int rc = sto_pair_list(w->opts.fs, dir, &nos, &n, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        bool keep = (lists(s->runs, s->n_runs, nos[i]) && (ready || !s->merged)) ||
                    (ready && lists(s->units, s->n_units, nos[i]));
        if (nos[i] >= atomic_load(&w->next_no))
            atomic_store(&w->next_no, nos[i] + 1);
        if (!keep)
            rc = sto_pair_remove(w->opts.fs, dir, nos[i], err);
    }
    ts_free(nos);
    return rc;
}

static void count_points(struct sto_bulk_writer *w)
{
    uint64_t n = 0;
    for (size_t i = 0; i < w->state.days.n; i++)
        n += w->state.days.days[i].n;
    atomic_store(&w->n_points, n);
}

int sto_bulk_writer_open(const struct sto_bulk_writer_opts *opts, struct ts_buf *out_note,
                         struct sto_bulk_writer **out_w, struct ts_error *err)
{
    struct sto_bulk_writer *w = ts_xcalloc(1, sizeof *w);
    w->opts = *opts;
    w->opts.dir = ts_xstrdup(opts->dir);
    w->opts.memory_bytes = opts->memory_bytes ? opts->memory_bytes : DEF_MEMORY_BYTES;
    w->opts.big_day_points = opts->big_day_points ? opts->big_day_points : STO_BIG_DAY_POINTS;
    w->opts.output_bytes = opts->output_bytes ? opts->output_bytes : STO_OUTPUT_BYTES;
    w->opts.unit_points = opts->unit_points ? opts->unit_points : DEF_UNIT_POINTS;
    w->ready_dir = ts_fs_join(opts->dir, "ready");
    atomic_init(&w->next_no, 1);
    pthread_mutex_init(&w->state_mu, NULL);
    int rc = sto_bulk_state_read(w->opts.fs, w->opts.dir, &w->state, err);
    if (rc >= 0)
        rc = w->opts.fs->mkdir(w->opts.fs, w->ready_dir, err);
    if (rc == 0)
        rc = tidy(w, w->opts.dir, false, err);
    if (rc == 0)
        rc = tidy(w, w->ready_dir, true, err);
    if (rc < 0) {
        sto_bulk_writer_close(w);
        return rc;
    }
    count_points(w);
    if (w->state.note)
        ts_buf_str(out_note, w->state.note);
    *out_w = w;
    return 0;
}

void sto_bulk_writer_close(struct sto_bulk_writer *w)
{
    if (!w)
        return;
    sto_bulk_state_release(&w->state);
    pthread_mutex_destroy(&w->state_mu);
    ts_free(w->ready_dir);
    ts_free((char *)(uintptr_t)w->opts.dir);
    ts_free(w->rank);
    ts_free(w->order);
    ts_free(w->room.points);
    ts_free(w);
}

bool sto_bulk_writer_is_merging(const struct sto_bulk_writer *w)
{
    return w->state.merging;
}

void sto_bulk_writer_progress(const struct sto_bulk_writer *w, uint64_t *out_points, uint64_t *out_merged)
{
    *out_points = atomic_load_explicit(&w->n_points, memory_order_relaxed);
    *out_merged = atomic_load_explicit(&w->n_merged, memory_order_relaxed);
}

uint64_t sto_bulk_writer_refused(const struct sto_bulk_writer *w)
{
    return w->n_refused;
}

/* --- runs --- */

void sto_bulk_writer_last(struct sto_bulk_writer *w)
{
    w->last = true;
}

static int by_key(const void *pa, const void *pb, void *arg)
{
    const struct sto_bulk_id *ids = arg, *a = &ids[*(const uint32_t *)pa], *b = &ids[*(const uint32_t *)pb];
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    return a->series < b->series ? -1 : a->series > b->series;
}

/* Ranks of all series; the order is kept while no series is added. */
static void rank_series(struct sto_bulk_writer *w, const struct sto_bulk_id *ids, size_t n)
{
    if (n == w->n_rank && n)
        return;
    w->rank = ts_xrealloc(w->rank, (n + 1) * sizeof *w->rank);
    w->order = ts_xrealloc(w->order, (n + 1) * sizeof *w->order);
    for (size_t i = 0; i < n; i++)
        w->order[i] = (uint32_t)i;
    if (n)
        qsort_r(w->order, n, sizeof *w->order, by_key, (void *)(uintptr_t)ids);
    for (size_t i = 0; i < n; i++)
        w->rank[w->order[i]] = (uint32_t)i;
    w->n_rank = n;
}

/* List a run that is written in STATE. */
static int record_run(struct sto_bulk_writer *w, const struct sto_bulk_sort *s, struct ts_slice note,
                      struct ts_error *err)
{
    struct sto_bulk_state *st = &w->state;
    struct sto_bulk_part part = {.nos = ts_xcalloc(s->n_infos + 1, sizeof *part.nos), .n = s->n_infos};
    for (size_t i = 0; i < s->n_infos; i++)
        part.nos[i] = s->infos[i].file_no;
    TS_ARRAY_GROW(st->runs, st->n_runs, st->cap_runs, 16);
    st->runs[st->n_runs++] = part;
    for (size_t i = 0; i < s->days.n; i++)
        sto_day_counts_add(&st->days, s->days.days[i].day * 24, s->days.days[i].n);
    ts_free(st->note);
    st->note = ts_xstrndup(note.p, note.n);
    TS_TRY(w->opts.fs->sync_dir(w->opts.fs, w->opts.dir, err));
    TS_TRY(sto_bulk_state_write(w->opts.fs, w->opts.dir, st, err));
    count_points(w);
    return 0;
}

int sto_bulk_writer_run(struct sto_bulk_writer *w, struct sto_bulk_chunk *chunks, size_t n_chunks,
                        const struct sto_bulk_id *ids, size_t n_ids, struct ts_slice note,
                        struct ts_error *err)
{
    rank_series(w, ids, n_ids);
    struct sto_bulk_sort s = {.fs = w->opts.fs,
                              .dir = w->opts.dir,
                              .pool = w->opts.pool,
                              .ids = ids,
                              .rank = w->rank,
                              .n_series = (uint32_t)n_ids,
                              .big_day_points = w->opts.big_day_points,
                              .gen = w->state.n_runs + 1,
                              .next_no = &w->next_no,
                              .cancel = w->opts.cancel,
                              .earlier = &w->state.days,
                              .last = w->last,
                              .room = &w->room};
    int rc = sto_bulk_sort(&s, chunks, n_chunks, err);
    if (rc == 0)
        rc = record_run(w, &s, note, err);
    w->n_refused += s.n_refused;
    ts_free(s.days.days);
    ts_free(s.infos);
    return rc;
}

/* --- merging --- */

/* Describe a file of a run, which may be moved already, in whole or in part. */
static int run_info(const struct sto_bulk_writer *w, uint64_t no, struct sto_bulk_file *out,
                    struct ts_error *err)
{
    struct sto_sst_footer foot[2];
    uint64_t bytes[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        enum sto_sst_kind kind = i ? STO_SST_KIND_SUMS : STO_SST_KIND_POINTS;
        struct ts_error why = {0};
        int rc = sto_pair_footer(w->opts.fs, w->opts.dir, no, kind, &foot[i], &bytes[i], &why);
        if (rc == TS_ENOTFOUND)
            rc = sto_pair_footer(w->opts.fs, w->ready_dir, no, kind, &foot[i], &bytes[i], &why);
        if (rc < 0 && !(rc == TS_ENOTFOUND && i)) {
            if (err)
                *err = why;
            return rc == TS_ENOTFOUND ? TS_ECORRUPT : rc;
        }
    }
    out->info = foot[0].info;
    out->info.t_bytes = bytes[0];
    out->info.s_bytes = bytes[1];
    out->rough = sto_sst__is_rough(&foot[0]);
    return 0;
}

static int list_files(struct sto_bulk_writer *w, struct ts_error *err)
{
    size_t cap = 0;
    for (size_t r = 0; r < w->state.n_runs; r++)
        for (size_t i = 0; i < w->state.runs[r].n; i++) {
            struct sto_bulk_file f = {.run = r};
            TS_TRY(run_info(w, w->state.runs[r].nos[i], &f, err));
            TS_ARRAY_GROW(w->files, w->n_files, cap, 64);
            w->files[w->n_files++] = f;
        }
    return 0;
}

static int open_files(struct sto_bulk_writer *w, struct ts_error *err)
{
    for (size_t i = 0; i < w->n_files; i++)
        if (!w->files[i].moved)
            TS_TRY(
                sto_sst_open(w->opts.fs, w->opts.dir, &w->caches, &w->files[i].info, &w->files[i].sst, err));
    return 0;
}

/* Move one of the two files of a pair, unless that is done. */
static int move(const struct sto_bulk_writer *w, uint64_t no, enum sto_sst_kind kind, struct ts_error *err)
{
    char *from = sto_sst__path(w->opts.dir, no, kind), *to = sto_sst__path(w->ready_dir, no, kind);
    struct ts_error why = {0};
    int rc = w->opts.fs->rename(w->opts.fs, from, to, &why);
    if (rc == TS_ENOTFOUND)
        rc = 0; /* moved before, or there are no summaries; the footers were read above */
    else if (rc < 0 && err)
        *err = why;
    ts_free(from);
    ts_free(to);
    return rc;
}

static int move_unit(struct sto_bulk_writer *w, const struct sto_bulk_unit *u, struct sto_bulk_part *out,
                     struct ts_error *err)
{
    size_t cap = 0;
    for (size_t i = 0; i < w->n_files; i++) {
        const struct sto_sst_info *info = &w->files[i].info;
        if (!sto_bulk_unit_meets(&w->plan, u, info))
            continue;
        TS_TRY(move(w, info->file_no, STO_SST_KIND_SUMS, err));
        TS_TRY(move(w, info->file_no, STO_SST_KIND_POINTS, err));
        TS_ARRAY_GROW(out->nos, out->n, cap, 8);
        out->nos[out->n++] = info->file_no;
        atomic_fetch_add_explicit(&w->n_merged, info->n_points, memory_order_relaxed);
    }
    return 0;
}

/* A unit is complete: sync the folder it is in, and note it. */
static int record_unit(struct sto_bulk_writer *w, size_t i, struct sto_bulk_part *part, struct ts_error *err)
{
    int rc = w->opts.fs->sync_dir(w->opts.fs, w->ready_dir, err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&w->state_mu);
    w->state.units[i] = *part;
    w->state.done[i] = true;
    *part = (struct sto_bulk_part){0};
    rc = sto_bulk_state_write(w->opts.fs, w->opts.dir, &w->state, err);
    pthread_mutex_unlock(&w->state_mu);
    return rc;
}

static void unit_piece(void *arg, size_t i)
{
    struct sto_bulk_writer *w = arg;
    const struct sto_bulk_unit *u = &w->plan.units[i];
    struct sto_bulk_merge m = {.fs = w->opts.fs,
                               .dir = w->ready_dir,
                               .files = w->files,
                               .n_files = w->n_files,
                               .memory = &w->memory,
                               .output_bytes = w->opts.output_bytes,
                               .next_no = &w->next_no,
                               .n_merged = &w->n_merged,
                               .cancel = w->opts.cancel};
    struct sto_bulk_part part = {0};
    struct ts_error err = {0};
    if (w->state.done[i] || atomic_load_explicit(&w->rc, memory_order_relaxed) < 0)
        return;
    int rc = u->move ? move_unit(w, u, &part, &err) : sto_bulk_merge_unit(&m, &w->plan, u, &part, &err);
    if (rc == 0)
        rc = record_unit(w, i, &part, &err);
    ts_free(part.nos);
    if (rc == 0)
        return;
    pthread_mutex_lock(&w->state_mu);
    if (atomic_load(&w->rc) == 0) {
        w->err = err;
        atomic_store(&w->rc, rc);
    }
    pthread_mutex_unlock(&w->state_mu);
}

/* The points of units that were finished before count as merged. */
static void count_done(struct sto_bulk_writer *w)
{
    uint64_t n = 0;
    struct sto_sst_info info;
    for (size_t i = 0; i < w->state.n_units; i++)
        for (size_t k = 0; k < w->state.units[i].n; k++)
            if (sto_pair_info(w->opts.fs, w->ready_dir, w->state.units[i].nos[k], &info, NULL) == 0)
                n += info.n_points;
    atomic_store(&w->n_merged, n);
}

static int merge_all(struct sto_bulk_writer *w, struct ts_error *err)
{
    TS_TRY(list_files(w, err));
    sto_bulk_plan_make(&w->plan, &w->state.days, w->opts.big_day_points, w->opts.unit_points, w->files,
                       w->n_files);
    TS_TRY(open_files(w, err));
    if (w->state.by_key)
        TS_TRY(sto_bulk_plan_split(&w->plan, &w->state.days, w->opts.unit_points, w->files, w->n_files, err));
    if (w->state.n_units > w->plan.n_units)
        return ts_error_set(err, TS_ECORRUPT, "%s/%s lists %zu units, but the runs have %zu", w->opts.dir,
                            STO_BULK_STATE_NAME, w->state.n_units, w->plan.n_units);
    count_done(w);
    sto_bulk_state_units(&w->state, w->plan.n_units);
    atomic_store(&w->rc, 0);
    ts_pool_each(w->opts.pool, w->plan.n_units, unit_piece, w);
    int rc = atomic_load(&w->rc);
    if (rc < 0 && err)
        *err = w->err;
    return rc;
}

static void release_files(struct sto_bulk_writer *w)
{
    for (size_t i = 0; i < w->n_files; i++)
        sto_sst_unref(w->files[i].sst);
    ts_free(w->files);
    w->files = NULL;
    w->n_files = 0;
    sto_bulk_plan_release(&w->plan);
    sto_pages_free(w->caches.pages);
    sto_handles_free(w->caches.handles);
    w->caches = (struct sto_sst_caches){0};
}

static int sum_up(struct sto_bulk_writer *w, struct sto_bulk_sum *out, struct ts_error *err)
{
    *out = (struct sto_bulk_sum){0};
    for (size_t i = 0; i < w->state.n_units; i++)
        for (size_t k = 0; k < w->state.units[i].n; k++) {
            struct sto_sst_info info;
            TS_TRY(sto_pair_info(w->opts.fs, w->ready_dir, w->state.units[i].nos[k], &info, err));
            out->n_files++;
            out->n_points += info.n_points;
            out->n_bytes += info.t_bytes + info.s_bytes;
        }
    return 0;
}

int sto_bulk_writer_finish(struct sto_bulk_writer *w, struct sto_bulk_sum *out_sum, struct ts_error *err)
{
    if (!w->state.merging) {
        w->state.merging = w->state.by_key = true;
        TS_TRY(sto_bulk_state_write(w->opts.fs, w->opts.dir, &w->state, err));
    }
    ts_free(w->room.points); /* merging has memory of its own */
    w->room = (struct sto_bulk_room){0};
    if (!w->state.merged) {
        ts_budget_init(&w->memory, "merging runs", "--bulk-memory", NULL, w->opts.memory_bytes);
        w->caches.pages = sto_pages_new(&(struct sto_pages_opts){.limit_bytes = PAGES_BYTES});
        w->caches.handles = sto_handles_new(0);
        int rc = merge_all(w, err);
        release_files(w);
        if (rc < 0)
            return rc;
        w->state.merged = true;
        TS_TRY(sto_bulk_state_write(w->opts.fs, w->opts.dir, &w->state, err));
    }
    TS_TRY(tidy(w, w->opts.dir, false, err));
    return sum_up(w, out_sum, err);
}
