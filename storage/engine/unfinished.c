/*
 * unfinished.c - the record of an interrupted merge.
 *
 * Format     docs/FORMAT.md "Unfinished merge"
 * Threads    unfinished.h
 */
#include "storage/engine/unfinished.h"

#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/files/sst_format.h"
#include "storage/engine/manifest_format.h"
#include "storage/engine/output.h"

#define MAGIC         "TSDMERGE"
#define VERSION       2u /* written if there is a level; otherwise 1 is */
#define FILES_VERSION 2u /* files are described as in this version of the manifest */
#define READ_TRIES    3  /* some errors of a disk pass */
#define COMMIT_TRIES  3u /* merges that couldn't read its files, until it starts again */
/* Offsets, little-endian. The checksum covers bytes 0 to 11 and the body. */
enum head_off { U_VERSION = 8, U_CRC = 12, U_BODY = 16 };

void sto_unfinished_release(struct sto_unfinished *u)
{
    ts_free(u->inputs);
    ts_free(u->outputs);
    *u = (struct sto_unfinished){0};
}

uint64_t sto_unfinished_bytes(const struct sto_unfinished *u)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < u->n_outputs; i++)
        sum += u->outputs[i].t_bytes + u->outputs[i].s_bytes;
    return sum;
}

/* --- bytes --- */

static uint32_t checksum(const uint8_t *b, size_t n)
{
    return ts_crc32c(ts_crc32c(0, b, U_CRC), b + U_BODY, n - U_BODY);
}

static void put_body(struct ts_buf *b, const struct sto_unfinished *u)
{
    sto_manifest__put_u64(b, u->gen_lo);
    sto_manifest__put_u64(b, u->gen_hi);
    sto_manifest__put_u64(b, u->carried_gen);
    sto_manifest__put_u64(b, ts_zigzag(u->cutoff_ms));
    sto_manifest__put_u64(b, u->cutoff_gen);
    sto_manifest__put_u64(b, u->final);
    sto_manifest__put_u64(b, u->window.level);
    sto_manifest__put_u64(b, ts_zigzag(u->window.index));
    sto_manifest__put_u64(b, u->n_cuts);
    for (size_t i = 0; i < u->n_cuts; i++)
        sto_manifest__put_u64(b, ts_zigzag(u->cuts[i].hour_lo));
    sto_manifest__put_u64(b, u->last.metric);
    sto_manifest__put_u64(b, u->last.series);
    sto_manifest__put_u64(b, ts_zigzag(u->last.hour));
    sto_manifest__put_u64(b, u->n_inputs);
    for (size_t i = 0; i < u->n_inputs; i++)
        sto_manifest__put_u64(b, u->inputs[i]);
    sto_manifest__put_files(b, u->outputs, u->n_outputs);
    if (u->level)
        sto_manifest__put_u64(b, u->level);
}

int sto_unfinished_write(const struct ts_fs *fs, const char *dir, const struct sto_unfinished *u,
                         struct ts_error *err)
{
    static const char no_checksum[4];
    char version[4], *path = ts_fs_join(dir, STO_UNFINISHED_NAME);
    struct ts_buf b;
    int rc;
    ts_buf_init(&b, STO_UNFINISHED_MAX_BYTES);
    ts_st32((uint8_t *)version, u->level ? VERSION : 1);
    (void)ts_buf_append(&b, MAGIC, U_VERSION);
    (void)ts_buf_append(&b, version, sizeof version);
    (void)ts_buf_append(&b, no_checksum, sizeof no_checksum);
    put_body(&b, u);
    if (b.failed) {
        rc = ts_error_set(err, TS_ELIMIT, "%s would be longer than %u bytes", path, STO_UNFINISHED_MAX_BYTES);
    } else {
        ts_st32((uint8_t *)b.p + U_CRC, checksum((const uint8_t *)b.p, b.n));
        rc = ts_fs_write_atomic(fs, path, b.p, b.n, err);
    }
    ts_buf_release(&b);
    ts_free(path);
    return rc;
}

static int32_t get_i32(struct sto_manifest__reader *r)
{
    int64_t v = ts_unzigzag(sto_manifest__get_u64(r, UINT32_MAX));
    return (int32_t)v; /* the zigzag form of 32 bits has 32 bits */
}

/* Cuts ascend and cover all of time. */
static void get_cuts(struct sto_manifest__reader *r, struct sto_unfinished *u)
{
    u->n_cuts = (size_t)sto_manifest__get_u64(r, STO_SPLIT);
    for (size_t i = 0; i < u->n_cuts; i++) {
        u->cuts[i] = (struct sto_cut){.hour_lo = get_i32(r), .hour_hi = INT32_MAX};
        if (i > 0)
            u->cuts[i - 1].hour_hi = u->cuts[i].hour_lo;
        r->bad |= i == 0 ? u->cuts[i].hour_lo != INT32_MIN : u->cuts[i].hour_lo <= u->cuts[i - 1].hour_lo;
    }
    r->bad |= u->n_cuts == 0;
}

static int get_inputs(struct sto_manifest__reader *r, struct sto_unfinished *u, struct ts_error *err)
{
    u->n_inputs = sto_manifest__get_count(r, 1);
    u->inputs = ts_try_malloc((u->n_inputs + 1) * sizeof *u->inputs);
    if (!u->inputs)
        return ts_error_set(err, TS_ENOMEM, "no memory for %zu files of an unfinished merge", u->n_inputs);
    for (size_t i = 0; i < u->n_inputs; i++)
        u->inputs[i] = sto_manifest__get_u64(r, UINT64_MAX - 1);
    r->bad |= u->n_inputs == 0;
    return 0;
}

static int get_body(struct sto_manifest__reader *r, uint32_t version, struct sto_unfinished *u,
                    struct ts_error *err)
{
    u->gen_lo = sto_manifest__get_u64(r, UINT64_MAX);
    u->gen_hi = sto_manifest__get_u64(r, UINT64_MAX);
    u->carried_gen = sto_manifest__get_u64(r, UINT64_MAX);
    u->cutoff_ms = ts_unzigzag(sto_manifest__get_u64(r, UINT64_MAX));
    u->cutoff_gen = sto_manifest__get_u64(r, UINT64_MAX);
    u->final = sto_manifest__get_u64(r, 1) != 0;
    u->window.level = (uint8_t)sto_manifest__get_u64(r, STO_WINDOW_ALL);
    u->window.index = get_i32(r);
    get_cuts(r, u);
    u->last.metric = (uint32_t)sto_manifest__get_u64(r, UINT32_MAX);
    u->last.series = (uint32_t)sto_manifest__get_u64(r, UINT32_MAX);
    u->last.hour = get_i32(r);
    TS_TRY(get_inputs(r, u, err));
    TS_TRY(sto_manifest__get_files(r, FILES_VERSION, &u->outputs, &u->n_outputs, err));
    u->level = version > 1 ? (unsigned)sto_manifest__get_u64(r, STO_SST_LEVEL_MOST) : 0;
    for (size_t i = 0; i < u->n_outputs; i++)
        r->bad |= u->outputs[i].gen_lo != u->gen_lo || u->outputs[i].gen_hi != u->gen_hi;
    r->bad |= u->last.hour == INT32_MAX || r->p != r->end;
    return r->bad ? TS_ECORRUPT : 0;
}

static int decode(const char *path, const uint8_t *b, size_t n, struct sto_unfinished *out,
                  struct ts_error *err)
{
    if (n < U_BODY || memcmp(b, MAGIC, U_VERSION) != 0)
        return ts_error_set(err, TS_ECORRUPT, "%s is damaged", path);
    if (ts_ld32(b + U_CRC) != checksum(b, n))
        return ts_error_set(err, TS_ECORRUPT, "%s is damaged: its checksum is wrong", path);
    uint32_t version = ts_ld32(b + U_VERSION);
    if (version < 1 || version > VERSION)
        return ts_error_set(err, TS_EVERSION, "%s has version %u, this program knows %u", path, version,
                            VERSION);
    struct sto_manifest__reader r = {.p = b + U_BODY, .end = b + n};
    int rc = get_body(&r, version, out, err);
    if (rc == TS_ECORRUPT)
        rc = ts_error_set(err, TS_ECORRUPT, "%s is damaged: its fields contradict each other", path);
    if (rc < 0)
        sto_unfinished_release(out);
    return rc < 0 ? rc : 1;
}

int sto_unfinished_read(const struct ts_fs *fs, const char *dir, struct sto_unfinished *out,
                        struct ts_error *err)
{
    char *path = ts_fs_join(dir, STO_UNFINISHED_NAME), *p = NULL;
    size_t n = 0;
    struct ts_error why = {0};
    *out = (struct sto_unfinished){0};
    int rc = TS_EIO;
    for (int i = 0; rc == TS_EIO && i < READ_TRIES; i++)
        rc = ts_fs_read_small(fs, path, STO_UNFINISHED_MAX_BYTES, &p, &n, &why);
    if (rc == 1)
        rc = decode(path, (const uint8_t *)p, n, out, err);
    else if (rc < 0 && err)
        *err = why;
    ts_free(p);
    ts_free(path);
    return rc;
}

/* --- can the merge continue? --- */

static bool is_output(const struct sto_unfinished *u, uint64_t file_no)
{
    for (size_t i = 0; i < u->n_outputs; i++)
        if (u->outputs[i].file_no == file_no)
            return true;
    return false;
}

/* Has retention since cut off points that the finished files have and would show? */
static bool is_uncovered(const struct sto_unfinished *u, int64_t cutoff_ms, uint64_t cutoff_gen)
{
    if (!cutoff_gen || u->gen_hi < cutoff_gen || (cutoff_ms == u->cutoff_ms && cutoff_gen == u->cutoff_gen))
        return false;
    for (size_t i = 0; i < u->n_outputs; i++)
        if (u->outputs[i].min_ms < cutoff_ms)
            return true;
    return false;
}

const char *sto_unfinished_misfit(const struct sto_unfinished *u, const struct sto_sst_info *files, size_t n,
                                  int64_t cutoff_ms, uint64_t cutoff_gen)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    size_t n_there = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sto_sst_info *f = &files[i];
        if (is_output(u, f->file_no))
            return "its result is in the manifest";
        if (!ts_has_u64(u->inputs, u->n_inputs, f->file_no))
            continue;
        if (f->gen_lo < u->gen_lo || f->gen_hi > u->gen_hi)
            return "its generations are not those of its inputs";
        n_there++;
        lo = f->min_ms < lo ? f->min_ms : lo;
        hi = f->max_ms > hi ? f->max_ms : hi;
    }
    if (n_there != u->n_inputs)
        return "some of its inputs are no longer in the store";
    for (size_t i = 0; i < n; i++) {
        const struct sto_sst_info *f = &files[i];
        if (!f->n_points || f->min_ms > hi || f->max_ms < lo ||
            ts_has_u64(u->inputs, u->n_inputs, f->file_no))
            continue;
        if (f->gen_lo <= u->gen_hi && (f->gen_hi >= u->gen_lo || u->final))
            return "other files have generations between those of its inputs";
    }
    return is_uncovered(u, cutoff_ms, cutoff_gen) ? "retention has dropped more points since" : NULL;
}

void sto_unfinished_pick(const struct sto_unfinished *u, const struct sto_sst_info *files, size_t n,
                         struct sto_pick *out)
{
    *out = (struct sto_pick){.why = STO_PICK_UNFINISHED,
                             .files = ts_xcalloc(u->n_inputs + 1, sizeof *out->files),
                             .window = u->window,
                             .final = u->final,
                             .gen_lo = u->gen_lo,
                             .gen_hi = u->gen_hi,
                             .n_cuts = u->n_cuts};
    memcpy(out->cuts, u->cuts, sizeof out->cuts);
    for (size_t i = 0; i < n; i++)
        if (ts_has_u64(u->inputs, u->n_inputs, files[i].file_no)) {
            out->files[out->n++] = i;
            out->bytes += files[i].t_bytes + files[i].s_bytes;
        }
}

/* --- the record of a store --- */

void sto_unfinished__leave(struct sto_engine *e)
{
    if (e->unfinished)
        sto_unfinished_release(e->unfinished);
    ts_free(e->unfinished);
    e->unfinished = NULL;
    e->unfinished_tries = 0;
    atomic_store_explicit(&e->unfinished_bytes, 0, memory_order_relaxed);
}

static void take(struct sto_engine *e, struct sto_unfinished *u)
{
    unsigned tries = e->unfinished_tries; /* of the same merge */
    sto_unfinished__leave(e);
    e->unfinished_tries = tries;
    e->unfinished = ts_xcalloc(1, sizeof *u);
    *e->unfinished = *u;
    atomic_store_explicit(&e->unfinished_bytes, sto_unfinished_bytes(u), memory_order_relaxed);
}

/* If this fails, the record that remains does not fit the manifest any more. */
static void unlink_record(struct sto_engine *e)
{
    char *path = ts_fs_join(e->dir, STO_UNFINISHED_NAME);
    (void)e->fs->unlink(e->fs, path, NULL);
    ts_free(path);
}

/* Check the finished files as a start checks the files of the manifest. 0; TS_ECORRUPT: one is damaged or missing. What can't be
 * read now counts as whole: they are read once more when the merge ends. */
static int check_outputs(struct sto_engine *e, const struct sto_unfinished *u, struct ts_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc != TS_ECORRUPT && i < u->n_outputs; i++) {
        struct sto_sst *sst = NULL;
        rc = sto_sst_open(e->fs, e->files_dir, NULL, &u->outputs[i], &sst, err);
        if (rc == TS_ENOTFOUND)
            rc = TS_ECORRUPT;
        if (rc == 0)
            rc = sto_sst_check_index(sst, err);
        if (rc == 0 && sto_sst_needs_remake(sst))
            rc = ts_error_set(err, TS_ECORRUPT, "the summaries of its file %llu are damaged",
                              (unsigned long long)u->outputs[i].file_no);
        sto_sst_unref(sst);
    }
    return rc == TS_ECORRUPT ? rc : 0;
}

/* The record is of no use any more: its files go with those that nobody lists. */
static void discard(struct sto_engine *e, struct sto_unfinished *u, bool done, const char *why)
{
    if (!done) /* otherwise the merge was completed, but the record was not removed */
        ts_log(TS_LOG_INFO, "an interrupted merge starts again: %s", why);
    unlink_record(e);
    sto_unfinished_release(u);
}

bool sto_unfinished__open(struct sto_engine *e)
{
    const struct sto_manifest_state *state = sto_manifest_state(e->manifest);
    struct sto_unfinished u;
    struct ts_error why = {0};
    bool done = false;
    int rc = sto_unfinished_read(e->fs, e->dir, &u, &why);
    if (rc == 0)
        return true;
    if (rc < 0 && rc != TS_ECORRUPT && rc != TS_EVERSION) {
        ts_log(TS_LOG_WARN,
               "an interrupted merge starts again, its files stay for now: %s; the next start tries again, "
               "and removes them if %s/" STO_UNFINISHED_NAME " is gone",
               why.text, e->dir);
        return false;
    }
    const char *misfit =
        rc == 1 ? sto_unfinished_misfit(&u, state->files, state->n_files, state->cutoff_ms, state->cutoff_gen)
                : why.text;
    if (!misfit && check_outputs(e, &u, &why) < 0)
        misfit = why.text;
    for (size_t i = 0; rc == 1 && i < u.n_outputs; i++) {
        uint64_t no = u.outputs[i].file_no;
        done |= sto_manifest_file(state, no) != NULL;
        e->next_file_no = no >= e->next_file_no ? no + 1 : e->next_file_no;
    }
    if (misfit) {
        discard(e, &u, done, misfit);
        return true;
    }
    ts_log(TS_LOG_INFO, "an interrupted merge continues files=%zu finished_bytes=%llu", u.n_inputs,
           (unsigned long long)sto_unfinished_bytes(&u));
    take(e, &u);
    return true;
}

bool sto_unfinished__holds(const struct sto_engine *e, uint64_t file_no)
{
    return e->unfinished && is_output(e->unfinished, file_no);
}

void sto_unfinished__keep(struct sto_engine *e, uint64_t file_no)
{
    if (sto_manifest_file(sto_manifest_state(e->manifest), file_no))
        TS_BUG("file %llu is part of the store", (unsigned long long)file_no);
    e->kept_files = ts_xrealloc(e->kept_files, (e->n_kept_files + 1) * sizeof *e->kept_files);
    e->kept_files[e->n_kept_files++] = file_no;
}

/* Nothing refers to the kept files any more. */
static void drop_kept(struct sto_engine *e)
{
    for (size_t i = 0; i < e->n_kept_files; i++)
        for (int kind = STO_SST_KIND_POINTS; kind <= STO_SST_KIND_SUMS; kind++) {
            char *path = sto_sst__path(e->files_dir, e->kept_files[i], (enum sto_sst_kind)kind);
            (void)e->fs->unlink(e->fs, path, NULL);
            ts_free(path);
        }
    ts_free(e->kept_files);
    e->kept_files = NULL;
    e->n_kept_files = 0;
}

bool sto_unfinished__make_room(struct sto_engine *e, uint64_t n_bytes, uint64_t *out_room)
{
    bool has = sto_output__has_room(e, n_bytes, out_room);
    if (has || !e->n_kept_files)
        return has;
    sto_unfinished__drop(e, "its record can't be read, and the space is needed");
    return sto_output__has_room(e, n_bytes, out_room);
}

int sto_unfinished__save(struct sto_engine *e, struct sto_unfinished *u, struct ts_error *err)
{
    int rc = sto_unfinished_write(e->fs, e->dir, u, err);
    if (rc < 0) {
        sto_unfinished_release(u);
    } else {
        take(e, u);
        drop_kept(e);
    }
    return rc;
}

void sto_unfinished__done(struct sto_engine *e)
{
    unlink_record(e);
    /* The inputs are unlinked later: after a power cut a record must not be found together with inputs that are back. */
    (void)e->fs->sync_dir(e->fs, e->dir, NULL);
    sto_unfinished__leave(e);
}

/* files_mu is not held while files are unlinked: that takes long for large ones, and flushes need it. */
static bool is_listed(struct sto_engine *e, uint64_t file_no)
{
    pthread_mutex_lock(&e->files_mu);
    bool listed = sto_manifest_file(sto_manifest_state(e->manifest), file_no) != NULL;
    pthread_mutex_unlock(&e->files_mu);
    return listed;
}

void sto_unfinished__unreadable(struct sto_engine *e, const char *why)
{
    if (++e->unfinished_tries >= COMMIT_TRIES)
        sto_unfinished__drop(e, why);
}

void sto_unfinished__drop(struct sto_engine *e, const char *why)
{
    struct sto_unfinished *u = e->unfinished;
    if (!u && !e->n_kept_files)
        return;
    ts_log(TS_LOG_INFO, "an interrupted merge starts again: %s", why);
    unlink_record(e);
    drop_kept(e);
    for (size_t i = 0; u && i < u->n_outputs; i++)
        if (!is_listed(e, u->outputs[i].file_no))
            sto_sst_remove(e->fs, e->files_dir, &u->outputs[i]);
    sto_unfinished__leave(e);
}
