/*
 * handover.c - the steps of a hand-over, and what a crash has left of one.
 *
 * Threads    see handover.h
 * Invariant  DIR/BULK names the copies from before the first one exists until the last one is listed or removed
 */
#include "storage/engine/handover.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/cut.h"
#include "base/fs_regular.h"
#include "base/log.h"
#include "base/num.h"
#include "base/pool.h"
#include "base/thread.h"
#include "base/time.h"
#include "storage/engine/bulk/pair.h"
#include "storage/engine/output.h"

/* So many flushes may happen while files are copied and checked. Each syncs some files, so they take a quarter of an hour at least. */
#define AHEAD_GENS ((uint64_t)1 << 20)
/* Most threads that copy and check files; each takes 1 MiB and the memory of a decoder. */
#define COPY_THREADS 8
#define COPY_NICE    10 /* of these threads, added to that of the caller */

/* --- DONE --- */

int sto_handover_done_read(const struct ts_fs *fs, const char *staging, struct sto_bulk_sum *out,
                           struct ts_error *err)
{
    char *path = ts_fs_join(staging, STO_HANDOVER_DONE), *text = NULL;
    struct ts_error why = {0};
    size_t n = 0;
    int64_t v[3];
    bool good = true;
    int rc = ts_fs_read_regular(fs, path, 4096, &text, &n, &why);
    struct ts_slice line = {text, n};
    if (rc == 0)
        line = ts_slice_cut(&(struct ts_slice){text, n}, '\n');
    for (int i = 0; rc == 0 && i < 3; i++)
        good = good && ts_num_parse_int(ts_slice_cut(&line, ' '), &v[i], NULL) == 0 && v[i] >= 0;
    if (rc == 0 && good)
        *out = (struct sto_bulk_sum){(uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2]};
    if (rc == 0 && !good)
        rc = ts_error_set(&why, TS_EEXIST, "%s is damaged: remove it, and the folder that it is in", path);
    ts_free(text);
    ts_free(path);
    if (rc < 0 && rc != TS_ENOTFOUND && err)
        *err = why;
    return rc == 0 ? 1 : rc == TS_ENOTFOUND ? 0 : rc;
}

/* The staging folder may have been removed by hand. */
static int done_write(const struct sto_engine *e, const struct sto_handover_record *r, struct ts_error *err)
{
    char text[80], *bulk = ts_fs_join(e->dir, STO_BULK_DIR), *staging = ts_fs_join(bulk, r->id),
                   *path = ts_fs_join(staging, STO_HANDOVER_DONE);
    (void)snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", r->sum.n_files,
                   r->sum.n_points, r->sum.n_bytes);
    struct ts_error why = {0};
    int rc = ts_fs_write_atomic(e->fs, path, text, strlen(text), &why);
    if (rc < 0 && rc != TS_ENOTFOUND && err)
        *err = why;
    ts_free(path);
    ts_free(staging);
    ts_free(bulk);
    return rc == TS_ENOTFOUND ? 0 : rc;
}

/* --- what is left of one --- */

static int drop_record(const struct sto_engine *e, struct ts_error *err)
{
    char *path = ts_fs_join(e->dir, STO_HANDOVER_NAME);
    int rc = e->fs->unlink(e->fs, path, err);
    ts_free(path);
    return rc < 0 ? rc : e->fs->sync_dir(e->fs, e->dir, err);
}

/* Remove the copies of a hand-over that has failed, and then the record. */
static int give_up(const struct sto_engine *e, const struct sto_handover_record *r, struct ts_error *err)
{
    for (size_t i = 0; i < r->n; i++)
        TS_TRY(sto_pair_remove(e->fs, e->files_dir, r->nos[i], err));
    TS_TRY(e->fs->sync_dir(e->fs, e->files_dir, err)); /* none of them may reappear without the record */
    return drop_record(e, err);
}

int sto_handover__settle(struct sto_engine *e, struct ts_error *err)
{
    struct sto_handover_record r;
    TS_TRY(sto_handover_record_read(e->fs, e->dir, &r, err));
    int rc = 0;
    if (!r.id[0])
        return 0;
    pthread_mutex_lock(&e->files_mu);
    uint64_t flushed_gen = sto_manifest_state(e->manifest)->flushed_gen;
    for (size_t i = 0; i < r.n; i++)
        if (r.nos[i] >= e->next_file_no)
            e->next_file_no = r.nos[i] + 1;
    pthread_mutex_unlock(&e->files_mu);
    if (r.gen && r.gen <= flushed_gen) {
        rc = done_write(e, &r, err);
        if (rc == 0)
            rc = drop_record(e, err);
        ts_log(TS_LOG_INFO, "bulk files were handed over before the end of the last run id=%s files=%zu",
               r.id, r.n);
    } else {
        rc = give_up(e, &r, err);
    }
    sto_handover_record_release(&r);
    return rc;
}

bool sto_handover_is_proven(const struct ts_fs *fs, const char *files_dir,
                            const struct sto_handover_record *r, const uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sto_sst_footer foot;
        uint64_t n_bytes;
        if (!sto_handover_record_holds(r, 0, numbers[i]) &&
            sto_pair_footer(fs, files_dir, numbers[i], STO_SST_KIND_POINTS, &foot, &n_bytes, NULL) == 0 &&
            (foot.info.gen_hi >= r->gen || foot.carried_gen >= r->gen))
            return true;
    }
    return false;
}

/* --- steps --- */

/* A hand-over under way. */
struct steps {
    struct sto_engine *e;
    const struct sto_handover *h;
    char *ready;                /* owned */
    struct sto_sst_info *from;  /* files of ready/; owned */
    struct sto_sst_info *infos; /* of the copies; owned */
    struct sto_sst **ssts;      /* the copies, open; owned */
    size_t n;                   /* of from */
    size_t n_copies;            /* of infos and ssts: a file of tombstones may be one more */
    uint64_t gen;               /* of the copies; that of the record is 0 until they are on disk */
    struct sto_floors *marks;   /* by which the copies were checked; a reference */
    struct sto_handover_record record;
    bool perhaps_listed; /* the manifest has failed half-way */
};

static int find_files(struct steps *s, struct ts_error *err)
{
    uint64_t *nos = NULL, n_points = 0, n_bytes = 0, room;
    int rc = sto_pair_list(s->e->fs, s->ready, &nos, &s->n, err);
    s->from = ts_xcalloc(s->n + 1, sizeof *s->from);
    s->n_copies = s->n + (s->h->replace && s->h->replace->n);
    s->infos = ts_xcalloc(s->n_copies + 1, sizeof *s->infos);
    s->ssts = ts_xcalloc(s->n_copies + 1, sizeof *s->ssts);
    for (size_t i = 0; rc == 0 && i < s->n; i++) {
        rc = sto_pair_info(s->e->fs, s->ready, nos[i], &s->from[i], err);
        if (rc == TS_ECORRUPT || rc == TS_EVERSION)
            rc = TS_EINVAL; /* it is no part of the store */
        n_points += s->from[i].n_points;
        n_bytes += s->from[i].t_bytes + s->from[i].s_bytes;
    }
    ts_free(nos);
    if (rc < 0)
        return rc;
    if (s->n != s->h->sum->n_files || n_points != s->h->sum->n_points)
        return ts_error_set(err, TS_EINVAL,
                            "%s has %zu files with %" PRIu64 " points, but %" PRIu64 " files with %" PRIu64
                            " points are to be handed over",
                            s->ready, s->n, n_points, s->h->sum->n_files, s->h->sum->n_points);
    s->record.sum = (struct sto_bulk_sum){s->n, n_points, n_bytes};
    if (!sto_output__has_room(s->e, n_bytes, &room))
        return ts_error_set(err, TS_ENOSPC,
                            "the hand-over copies %" PRIu64 " bytes, but only %" PRIu64
                            " are free: free space and repeat the import, which continues",
                            n_bytes, room);
    return 0;
}

/* That of the tombstones: below that of the files, and above everything else. */
static uint64_t tombs_gen(const struct steps *s)
{
    return s->gen - (s->n_copies > s->n);
}

/* Choose the generation of the files. Flushes go on below it, and end with TS_EBUSY rather than reach it. */
static void reserve_gen(struct steps *s)
{
    struct sto_engine *e = s->e;
    pthread_mutex_lock(&e->flush_mu);
    s->gen = atomic_load_explicit(&e->gen, memory_order_relaxed) +
             (e->opts.bulk_ahead_gens ? e->opts.bulk_ahead_gens : AHEAD_GENS);
    e->reserved_gen = tombs_gen(s);
    pthread_mutex_unlock(&e->flush_mu);
}

static int write_tombs(struct steps *s, struct ts_error *err)
{
    struct sto_engine *e = s->e;
    const struct sto_bulk_replace *r = s->h->replace;
    struct sto_sst_writer *w;
    int rc = 0;
    TS_TRY(sto_sst_writer_new(e->fs, e->files_dir, s->record.nos[s->n], &w, err));
    sto_sst_writer_note(w, ts_clock_ms(), 0);
    for (size_t i = 0; rc == 0 && i < r->n; i++) {
        struct sto_tomb tomb = r->ranges[i];
        tomb.gen = tombs_gen(s);
        rc = sto_sst_write_tomb(w, &tomb, err);
    }
    if (rc < 0) {
        sto_sst_writer_abort(w);
        return rc;
    }
    return sto_sst_writer_finish(w, tombs_gen(s), tombs_gen(s), &s->infos[s->n], err);
}

/* Pairs of files that several threads copy. */
struct copying {
    struct steps *s;
    pthread_mutex_t mu;
    int rc;              /* under mu: error of the first one that failed; what has not begun then need not */
    struct ts_error err; /* the same */
};

static void copy_pair(void *arg, size_t i)
{
    struct copying *c = arg;
    struct steps *s = c->s;
    struct ts_error err = {0};
    pthread_mutex_lock(&c->mu);
    int rc = c->rc;
    pthread_mutex_unlock(&c->mu);
    if (rc < 0)
        return;
    s->infos[i].file_no = s->record.nos[i];
    s->infos[i].gen_lo = s->gen;
    rc = sto_handover__copy(s->e, s->h, s->ready, &s->from[i], s->marks, &s->infos[i], &err);
    pthread_mutex_lock(&c->mu);
    if (rc < 0 && c->rc == 0) {
        c->rc = rc;
        c->err = err;
    }
    pthread_mutex_unlock(&c->mu);
}

static void *copy_all(void *arg)
{
    struct copying *c = arg;
    unsigned cores = ts_pool_cores(COPY_THREADS), n = c->s->n < cores ? (unsigned)c->s->n : cores;
    struct ts_pool *pool = n > 1 && !c->s->e->opts.pumped ? ts_pool_new(n - 1, "tsd-hand-over") : NULL;
    ts_pool_each(pool, c->s->n, copy_pair, c);
    ts_pool_free(pool);
    return NULL;
}

/* A thread for each processor copies and checks pairs, while the caller waits: queries run before them. */
static int copy_pairs(struct steps *s, struct ts_error *err)
{
    struct copying c = {.s = s, .mu = PTHREAD_MUTEX_INITIALIZER};
    struct ts_thread_opts opts = {.name = "tsd-hand-over", .nice = COPY_NICE, .fn = copy_all, .arg = &c};
    pthread_t thread;
    if (!s->e->opts.pumped && ts_thread_start(&thread, &opts) == 0)
        (void)pthread_join(thread, NULL);
    else
        (void)copy_all(&c);
    pthread_mutex_destroy(&c.mu);
    if (c.rc < 0 && err)
        *err = c.err;
    return c.rc;
}

/* Steps 1 and 2. */
static int copy_files(struct steps *s, struct ts_error *err)
{
    struct sto_engine *e = s->e;
    s->record.nos = ts_xcalloc(s->n_copies + 1, sizeof *s->record.nos);
    s->record.n = s->n_copies;
    (void)snprintf(s->record.id, sizeof s->record.id, "%s", s->h->id);
    for (size_t i = 0; i < s->n_copies; i++)
        s->record.nos[i] = sto_engine__file_no(e);
    TS_TRY(sto_handover_record_write(e->fs, e->dir, &s->record, err));
    reserve_gen(s);
    TS_TRY(copy_pairs(s, err));
    if (s->n_copies > s->n)
        TS_TRY(write_tombs(s, err));
    return e->fs->sync_dir(e->fs, e->files_dir, err);
}

/* Step 3. */
static int open_copies(struct steps *s, struct ts_error *err)
{
    struct sto_engine *e = s->e;
    for (size_t i = 0; i < s->n_copies; i++) {
        TS_TRY(sto_sst_open(e->fs, e->files_dir, &e->caches, &s->infos[i], &s->ssts[i], err));
        TS_TRY(sto_sst_check_index(s->ssts[i], err)); /* no query waits for it here */
    }
    s->record.gen = s->gen;
    return sto_handover_record_write(e->fs, e->dir, &s->record, err);
}

/* Step 5. The version is changed under files_mu too: whoever reads flushed_gen there finds the files in the version (ship.c). */
static int list_files(struct steps *s, struct ts_error *err)
{
    struct sto_engine *e = s->e;
    pthread_mutex_lock(&e->files_mu);
    struct sto_manifest_edit edit = {
        .add = s->infos, .n_add = s->n_copies, .flushed_gen = s->record.gen, .next_file_no = e->next_file_no};
    int rc = sto_manifest_apply(e->manifest, &edit, err);
    if (rc == 0)
        rc = sto_version__edit(e, s->ssts, s->n_copies, NULL, 0, s->record.gen, NULL, 0);
    pthread_mutex_unlock(&e->files_mu);
    s->perhaps_listed = rc == TS_EIO;
    sto_engine__fatal(e, rc, err);
    return rc;
}

/* Undo steps 1 to 3. A record that stays although the process goes on would some day be taken for that of a completed hand-over. */
static void abandon(struct steps *s)
{
    struct ts_error why = {0};
    if (give_up(s->e, &s->record, &why) < 0 && s->record.gen)
        sto_engine__fatal(s->e, TS_EIO, &why);
}

/* Marks have risen since the copies were checked: may one of them have a point before its mark? With marks_mu. */
static int check_marks(const struct steps *s, struct ts_error *err)
{
    struct sto_floors *now = s->h->marks(s->h->arg);
    int rc = 0;
    for (size_t i = 0; now && now != s->marks && i < now->n && rc == 0; i++)
        for (size_t k = 0; k < s->n && rc == 0; k++)
            if (s->infos[k].min_ms < now->at[i].cutoff_ms)
                rc = sto_sst_series_meets(sto_sst_series(s->ssts[k]), now->at[i].series, err);
    sto_floors_unref(now);
    return rc <= 0 ? rc
                   : ts_error_set(err, TS_EBUSY,
                                  "summaries of expired points were made during the hand-over: try again");
}

/* Steps 4 and 5. What step 4 has changed stays: a later flush calls the generation flushed, so the record is removed before there is one. */
static int list_all(struct steps *s, struct ts_error *err)
{
    struct sto_engine *e = s->e;
    pthread_mutex_lock(s->h->marks_mu);
    pthread_mutex_lock(&e->flush_mu);
    int rc = check_marks(s, err);
    if (rc == 0)
        rc = sto_flush__below(e, s->gen, err);
    if (rc == 0)
        rc = list_files(s, err);
    if (rc < 0 && !s->perhaps_listed)
        abandon(s);
    e->reserved_gen = 0;
    pthread_mutex_unlock(&e->flush_mu);
    pthread_mutex_unlock(s->h->marks_mu);
    return rc;
}

/* Step 6. The files are part of the store: what fails here is done by the next hand-over, by the end of this one, or by the next start. */
static void note_done(struct steps *s)
{
    struct sto_engine *e = s->e;
    struct ts_error why = {0};
    atomic_fetch_add_explicit(&e->n_bulk_files, s->n, memory_order_relaxed);
    atomic_fetch_add_explicit(&e->n_bulk_points, s->record.sum.n_points, memory_order_relaxed);
    int rc = done_write(e, &s->record, &why);
    if (rc == 0)
        rc = drop_record(e, &why);
    if (rc < 0)
        ts_log(TS_LOG_WARN, "a hand-over of bulk files was completed, but not noted: %s", why.text);
}

static int run(struct steps *s, struct ts_error *err)
{
    struct sto_engine *e = s->e;
    TS_TRY(sto_handover__settle(e, err));
    int rc = sto_handover_done_read(e->fs, s->h->dir, &s->record.sum, err);
    if (rc) /* it is this hand-over that was completed, but not noted until now */
        return rc < 0 ? rc : 0;
    TS_TRY(find_files(s, err));
    s->marks = s->h->marks(s->h->arg);
    rc = copy_files(s, err);
    if (rc == 0)
        rc = open_copies(s, err);
    if (rc < 0) {
        abandon(s);
        pthread_mutex_lock(&e->flush_mu);
        e->reserved_gen = 0;
        pthread_mutex_unlock(&e->flush_mu);
        return rc;
    }
    TS_TRY(list_all(s, err));
    note_done(s);
    return 0;
}

int sto_engine_hand_over(struct sto_engine *e, const struct sto_handover *h, struct sto_bulk_sum *out,
                         struct ts_error *err)
{
    if (atomic_exchange(&e->handing_over, true))
        return ts_error_set(err, TS_EBUSY, "another hand-over of bulk files is at work: try again");
    struct steps s = {.e = e, .h = h, .ready = ts_fs_join(h->dir, "ready")};
    int rc = run(&s, err);
    if (rc == 0)
        *out = s.record.sum;
    for (size_t i = 0; s.ssts && i < s.n_copies; i++)
        sto_sst_unref(s.ssts[i]);
    sto_floors_unref(s.marks);
    ts_free(s.ready);
    ts_free(s.from);
    ts_free(s.infos);
    ts_free(s.ssts);
    sto_handover_record_release(&s.record);
    atomic_store(&e->handing_over, false);
    if (rc == 0)
        sto_compact__wake(e, false);
    return rc;
}

int sto_engine_hand_over_settle(struct sto_engine *e, const char *id, struct ts_error *err)
{
    struct sto_handover_record r;
    TS_TRY(sto_handover_record_read(e->fs, e->dir, &r, err));
    bool is_it = strcmp(r.id, id) == 0;
    sto_handover_record_release(&r);
    if (!is_it)
        return 0;
    if (atomic_exchange(&e->handing_over, true))
        return ts_error_set(err, TS_EBUSY, "another hand-over of bulk files is at work: try again");
    int rc = sto_handover__settle(e, err);
    atomic_store(&e->handing_over, false);
    return rc;
}
