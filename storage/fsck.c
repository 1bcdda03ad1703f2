/*
 * fsck.c - checks a stopped store and repairs it: the order of the steps, and what is reported.
 *
 * The record logs are checked first, because they list the files and the names of series. Then follow the
 * write-ahead log, which has names too, and the sorted files. After a repair a second check finds what is
 * left.
 *
 * Threads    one
 * Not here   record logs (fsck_logs.c), files (fsck_files.c), repairing (fsck_repair.c)
 */
#include "storage/fsck.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "storage/cells.h"
#include "storage/fsck_int.h"
#include "storage/reclog_int.h"

/* --- reporting --- */

void sto_fsck__find(struct sto_fsck *k, enum sto_finding_kind kind, const char *path, uint64_t off,
                    const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    k->out->n_damage += kind == STO_FIND_DAMAGE;
    k->out->n_lost += kind == STO_FIND_LOST;
    struct sto_finding f = {
        .kind = kind, .path = path, .off = off, .text = text, .from_ms = INT64_MAX, .to_ms = INT64_MIN};
    if (k->opts.found)
        k->opts.found(k->opts.arg, &f);
}

void sto_fsck__lost(struct sto_fsck *k, const char *path, uint32_t metric, uint32_t series, int64_t from_ms,
                    int64_t to_ms, uint64_t n_points, const char *text)
{
    const struct sto_series *s = k->cat && series != UINT32_MAX ? sto_series_get(k->cat, series) : NULL;
    char unnamed[64];
    struct sto_finding f = {.kind = STO_FIND_LOST,
                            .path = path,
                            .off = UINT64_MAX,
                            .text = text,
                            .from_ms = from_ms,
                            .to_ms = to_ms,
                            .n_points = n_points};
    if (s)
        f.series = sto_series_text(s);
    else if (series != UINT32_MAX)
        f.series =
            (struct ts_slice){unnamed, (size_t)snprintf(unnamed, sizeof unnamed,
                                                        "series number %u of metric %u", series, metric)};
    k->out->n_lost++;
    k->out->n_lost_points += n_points;
    if (k->opts.found)
        k->opts.found(k->opts.arg, &f);
}

void sto_fsck__read_bytes(struct sto_fsck *k, uint64_t n_bytes)
{
    k->out->n_bytes += n_bytes;
    if (k->opts.progress)
        k->opts.progress(k->opts.arg, k->out->n_bytes, k->all_bytes);
}

/* --- names and the write-ahead log --- */

static int open_catalog(struct sto_fsck *k, struct ts_error *err)
{
    struct sto_catalog_opts opts = {
        .dir = k->opts.dir, .n_shards = k->n_shards, .read_only = true, .lenient = true};
    const struct sto_fsck__reclog *log = &k->logs[STO_FSCK_CATALOG];
    TS_TRY(sto_catalog_open(sto_fsck_view_fs(k->view), &opts, &k->cat, err));
    k->catalog_end = sto_series_count(k->cat);
    uint64_t n = sto_catalog_left_out(k->cat);
    k->catalog_lost = n > 0;
    if (n)
        sto_fsck__find(k, STO_FIND_DAMAGE, log->path, UINT64_MAX,
                       "%" PRIu64 " records contradict earlier ones, or use names that are lost", n);
    return 0;
}

static const struct sto_series *on_series(void *arg, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                                          size_t n_tags, struct ts_slice text, uint32_t metric_len,
                                          struct ts_error *err)
{
    struct sto_fsck *k = arg;
    const struct sto_series *s = NULL;
    return sto_series_restore(k->cat, id, metric, tags, n_tags, text, metric_len, &s, err) < 0 ? NULL : s;
}

static const struct sto_series *on_known(void *arg, uint32_t id, struct ts_error *err)
{
    struct sto_fsck *k = arg;
    return sto_series_known(k->cat, id, err);
}

static int on_points(void *arg, uint64_t gen, const struct sto_point *points, size_t n, struct ts_error *err)
{
    (void)arg;
    (void)gen;
    (void)points;
    (void)n;
    (void)err;
    return 0;
}

/* Remember a damaged part of a segment, of which a repair keeps a copy. */
static void bad_part(struct sto_fsck *k, const char *path, uint64_t off, uint64_t n)
{
    const struct sto_fsck__bad_part *last = k->n_bad_parts ? &k->bad_parts[k->n_bad_parts - 1] : NULL;
    if (last && last->n == UINT64_MAX && strcmp(last->path, path) == 0)
        return;
    k->bad_parts = ts_xrealloc(k->bad_parts, (k->n_bad_parts + 1) * sizeof *k->bad_parts);
    k->bad_parts[k->n_bad_parts++] =
        (struct sto_fsck__bad_part){.path = ts_xstrdup(path), .off = off, .n = n};
}

static void on_bad(void *arg, const char *path, uint64_t off, uint64_t n, bool torn, int64_t from_ms,
                   int64_t to_ms)
{
    struct sto_fsck *k = arg;
    bad_part(k, path, off, n);
    if (torn) {
        sto_fsck__find(k, STO_FIND_NOTE, path, off,
                       "torn, %" PRIu64 " bytes that were never synced: truncated when the store is opened",
                       n);
        return;
    }
    sto_fsck__find(k, STO_FIND_DAMAGE, path, off, "%" PRIu64 " bytes are damaged", n);
    sto_fsck__lost(k, path, 0, UINT32_MAX, from_ms, to_ms, 0, "points, written about then");
}

static void on_wal_damage(void *arg, const char *path, const char *what)
{
    struct sto_fsck *k = arg;
    bad_part(k, path, 0, UINT64_MAX);
    sto_fsck__find(k, STO_FIND_DAMAGE, path, UINT64_MAX, "%s", what);
    sto_fsck__lost(k, path, 0, UINT32_MAX, INT64_MAX, INT64_MIN, 0, "points of it");
}

static void on_wal_read(void *arg, uint64_t n_bytes)
{
    sto_fsck__read_bytes(arg, n_bytes);
}

static int read_wal(struct sto_fsck *k, struct ts_error *err)
{
    static const struct sto_wal_salvage_ops ops = {
        .replay = {.series = on_series, .known = on_known, .points = on_points},
        .bad = on_bad,
        .damage = on_wal_damage,
        .read = on_wal_read};
    TS_TRY(sto_wal_salvage(k->fs, k->wal_dir, k->flushed_gen, &ops, k, &k->wal, err));
    k->out->n_log_points = k->wal.n_points;
    if (k->wal.n_skipped)
        sto_fsck__lost(k, k->wal_dir, 0, UINT32_MAX, INT64_MAX, INT64_MIN, k->wal.n_skipped,
                       "points of the log, whose series were defined in the damaged part");
    return 0;
}

static bool count_cell(void *arg, struct ts_slice key, struct ts_slice value)
{
    (void)key;
    (void)value;
    ++*(uint64_t *)arg;
    return true;
}

static int read_cells(struct sto_fsck *k, struct ts_error *err)
{
    const struct sto_fsck__reclog *log = &k->logs[STO_FSCK_CELLS];
    struct sto_cellmap *map = NULL;
    struct ts_error why = {0};
    int rc =
        log->whole.n ? sto_cellmap_open(sto_fsck_view_fs(k->view), k->opts.dir, true, true, &map, &why) : 0;
    if (rc == TS_ENOMEM || rc == TS_EVERSION) {
        *err = why;
        return rc;
    }
    if (rc < 0)
        sto_fsck__find(k, STO_FIND_DAMAGE, log->path, UINT64_MAX, "%s", why.text);
    if (!map)
        return 0;
    sto_cellmap_each(map, (struct ts_slice){NULL, 0}, count_cell, &k->out->n_cells);
    return sto_cellmap_close(map, err);
}

/* --- one check --- */

static void release(struct sto_fsck *k)
{
    for (int i = 0; i < STO_FSCK_N_LOGS; i++) {
        ts_free(k->logs[i].path);
        ts_free(k->logs[i].copy_path);
        ts_buf_release(&k->logs[i].whole);
    }
    (void)sto_catalog_close(k->cat, NULL);
    sto_fsck_view_free(k->view);
    for (size_t i = 0; i < k->n_bad_parts; i++)
        ts_free(k->bad_parts[i].path);
    ts_free(k->bad_parts);
    ts_free(k->files);
    sto_unfinished_release(&k->merge);
    sto_handover_record_release(&k->bulk);
    ts_free(k->at_path);
    sto_fsck__totals_release(k);
    ts_free(k->unnamed);
    if (k->unnamed_ids)
        roaring_bitmap_free(k->unnamed_ids);
    ts_free(k->wal_dir);
    ts_free(k->files_dir);
}

/* A log of which nothing is left is read as one without records. */
static void view_empty_catalog(struct sto_fsck *k)
{
    struct sto_fsck__reclog *log = &k->logs[STO_FSCK_CATALOG];
    if (!log->whole.n) {
        uint8_t header[STO_RECLOG_HEADER_BYTES];
        sto_reclog__header_make(header, "CATA");
        ts_buf_append(&log->whole, header, sizeof header);
        sto_fsck_view_set(k->view, log->path, header, sizeof header);
        sto_fsck_view_set(k->view, log->copy_path, header, sizeof header);
    }
}

static int check(struct sto_fsck *k, struct ts_error *err)
{
    k->wal_dir = ts_fs_join(k->opts.dir, "wal");
    k->files_dir = ts_fs_join(k->opts.dir, "files");
    k->view = sto_fsck_view_new(k->fs);
    TS_TRY(sto_fsck__logs(k, err));
    view_empty_catalog(k);
    TS_TRY(sto_fsck__read_merge(k, err));
    TS_TRY(sto_fsck__read_bulk(k, err));
    TS_TRY(sto_fsck__list_files(k, err));
    TS_TRY(open_catalog(k, err));
    TS_TRY(read_wal(k, err));
    TS_TRY(sto_fsck__files(k, err));
    TS_TRY(sto_fsck__totals(k, err));
    TS_TRY(sto_fsck__merge_files(k, err));
    TS_TRY(read_cells(k, err));
    TS_TRY(sto_fsck__strays(k, err));
    k->out->n_series = sto_series_count(k->cat);
    return 0;
}

/* --- public API --- */

static int lock(const struct sto_fsck_opts *opts, const struct ts_fs *fs, struct ts_file **out_file,
                struct ts_error *err)
{
    char *path = ts_fs_join(opts->dir, "LOCK");
    struct ts_error why = {0};
    int rc = fs->open(fs, path, opts->repair ? TS_OPEN_APPEND : TS_OPEN_READ, out_file, &why);
    if (rc == TS_ENOTFOUND && !opts->repair)
        rc = 0;
    else if (rc == 0 && (rc = fs->lock(*out_file, &why)) == TS_EBUSY)
        ts_error_set(&why, TS_EBUSY, "%s is in use by another tsd process; stop it first", opts->dir);
    if (rc < 0 && *out_file) {
        (void)fs->close(*out_file, NULL);
        *out_file = NULL;
    }
    if (rc < 0 && err)
        *err = why;
    ts_free(path);
    return rc;
}

static int is_ours(void *arg, const char *name)
{
    bool *ours = arg;
    *ours |= strncmp(name, "MANIFEST", 8) == 0 || strncmp(name, "catalog.log", 11) == 0 ||
             strcmp(name, "wal") == 0;
    return 0;
}

int sto_fsck(const struct sto_fsck_opts *opts, struct sto_fsck_result *out, struct ts_error *err)
{
    struct ts_error dummy = {0}, why = {0};
    const struct ts_fs *fs = opts->fs ? opts->fs : ts_fs_real();
    struct ts_file *lock_file = NULL;
    bool ours = false;
    *out = (struct sto_fsck_result){0};
    err = err ? err : &dummy;
    int rc = fs->list(fs, opts->dir, is_ours, &ours, &why);
    if (rc < 0 || !ours)
        return rc < 0 && rc != TS_ENOTFOUND
                   ? ts_error_set(err, rc, "%s", why.text)
                   : ts_error_set(err, TS_ENOTFOUND, "%s is not a tsd store", opts->dir);
    TS_TRY(lock(opts, fs, &lock_file, err));
    struct sto_fsck k = {.opts = *opts, .out = out, .fs = fs};
    rc = check(&k, err);
    out->n_left = out->n_damage;
    bool torn = k.wal.beyond_torn; /* no damage, but opening the store would truncate readable records */
    if (rc == 0 && opts->repair && (out->n_damage || torn)) {
        rc = sto_fsck__repair(&k, err);
        out->repaired = true;
        release(&k);
        if (rc == 0) {
            struct sto_fsck_result again = {0};
            k = (struct sto_fsck){.opts = {.fs = fs, .dir = opts->dir}, .out = &again, .fs = fs};
            rc = check(&k, err);
            out->n_left = again.n_damage;
            release(&k);
        }
    } else {
        release(&k);
    }
    if (lock_file)
        (void)fs->close(lock_file, NULL);
    return rc;
}
