/*
 * fsck_repair.c - repairs what a check found damaged.
 *
 * The order: a hand-over of bulk files that was not completed is moved to DIR/damaged; damaged record logs are copied to DIR/damaged and replaced, each by one rename; the catalog gets
 * the names that the write-ahead log has, and made-up names for series that have none; good rows are written
 * to new files; one manifest edit replaces the damaged files by these; then the damaged files are moved to
 * DIR/damaged. A repair that was interrupted at any point is continued by the next one.
 *
 * Threads    one
 * Invariant  nothing damaged is deleted or overwritten before a copy of it, or the file itself, is in DIR/damaged; files of an
 *            interrupted merge, whose rows are all in its inputs, are left to the next start
 * Not here   finding what is damaged
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/merge/merge.h"
#include "storage/engine/once_all.h"
#include "storage/engine/retention.h"
#include "storage/engine/files/sst_format.h"
#include "storage/age_marks.h"
#include "storage/floors.h"
#include "storage/fsck_int.h"
#include "storage/quota.h"
#include "storage/retain.h"
#include "storage/reclog_int.h"

/* --- DIR/damaged --- */

/* An unused path in DIR/damaged for a file; the caller frees it with ts_free. */
static int aside_path(struct sto_fsck *k, const char *path, char **out_path, struct ts_error *err)
{
    char *dir = ts_fs_join(k->opts.dir, STO_FSCK_DAMAGED);
    const char *slash = strrchr(path, '/');
    char *first = ts_fs_join(dir, slash ? slash + 1 : path), *to = ts_xstrdup(first), number[16];
    int rc = k->fs->mkdir(k->fs, dir, err);
    for (unsigned i = 1; rc == 0 && ts_fs_exists(k->fs, to, NULL) == 1; i++) {
        snprintf(number, sizeof number, ".%u", i);
        ts_free(to);
        to = ts_fs_suffixed(first, number);
    }
    ts_free(first);
    ts_free(dir);
    *out_path = rc == 0 ? to : NULL;
    if (rc < 0)
        ts_free(to);
    return rc;
}

/* Copy a file into DIR/damaged; a missing file is no error. 1: the disk can't read enough of it for a copy. */
static int copy_aside(struct sto_fsck *k, const char *path, struct ts_error *err)
{
    char *to = NULL, *p = NULL;
    size_t n = 0;
    struct ts_error why = {0};
    struct ts_unread unread;
    int rc = ts_fs_read_rest(k->fs, path, (size_t)1 << 40, &p, &n, &unread, &why);
    if (rc == TS_ENOTFOUND)
        return 0;
    if (rc == TS_EIO)
        return 1;
    if (rc < 0)
        return ts_error_set(err, rc, "%s", why.text);
    rc = aside_path(k, path, &to, err);
    if (rc == 0)
        rc = ts_fs_write_atomic(k->fs, to, p, n, err);
    if (rc == 0 && unread.n_bytes)
        sto_fsck__find(k, STO_FIND_DONE, path, UINT64_MAX,
                       "kept as %s, with zeros in place of %" PRIu64 " bytes that can't be read", to,
                       unread.n_bytes);
    else if (rc == 0)
        sto_fsck__find(k, STO_FIND_DONE, path, UINT64_MAX, "kept as %s", to);
    ts_free(to);
    ts_free(p);
    return rc;
}

int sto_fsck__move_aside(struct sto_fsck *k, const char *path, struct ts_error *err)
{
    char *to = NULL;
    struct ts_error why = {0};
    TS_TRY(aside_path(k, path, &to, err));
    int rc = k->fs->rename(k->fs, path, to, &why);
    if (rc == 0)
        sto_fsck__find(k, STO_FIND_DONE, path, UINT64_MAX, "moved to %s", to);
    ts_free(to);
    return rc == TS_ENOTFOUND ? 0 : rc < 0 ? ts_error_set(err, rc, "%s", why.text) : 0;
}

/* Keep a log that is about to be replaced. One that can't be copied is moved. If the repair is interrupted right then, the next one
 * uses the other file of the two. */
static int keep_log(struct sto_fsck *k, const char *path, struct ts_error *err)
{
    int rc = copy_aside(k, path, err);
    return rc == 1 ? sto_fsck__move_aside(k, path, err) : rc;
}

/* --- segments of the write-ahead log --- */

/* Keep damaged segments before any is read again. Those that can't be copied are moved when the repair is done. */
static int keep_segments(struct sto_fsck *k, struct ts_error *err)
{
    for (size_t i = 0; i < k->n_bad_parts; i++) {
        struct sto_fsck__bad_part *b = &k->bad_parts[i];
        if (i > 0 && strcmp(b->path, b[-1].path) == 0)
            continue;
        int rc = copy_aside(k, b->path, err);
        TS_TRY(rc);
        b->must_move = rc == 1;
    }
    return 0;
}

/* Remove the segments, whose points are in files. */
static int drop_segments(struct sto_fsck *k, uint64_t flushed_gen, struct ts_error *err)
{
    for (size_t i = 0; i < k->n_bad_parts; i++)
        if (k->bad_parts[i].must_move)
            TS_TRY(sto_fsck__move_aside(k, k->bad_parts[i].path, err));
    return sto_wal_drop(k->fs, k->wal_dir, flushed_gen, err);
}

/* --- record logs --- */

static int repair_log(struct sto_fsck *k, enum sto_fsck__log which, struct ts_error *err)
{
    struct sto_fsck__reclog *log = &k->logs[which];
    bool rebuilt = which == STO_FSCK_MANIFEST && k->manifest_rebuilt;
    if (rebuilt) {
        TS_TRY(keep_log(k, log->path, err));
        TS_TRY(keep_log(k, log->copy_path, err));
        (void)k->fs->unlink(k->fs, log->copy_path, NULL);
        (void)k->fs->unlink(k->fs, log->path, NULL);
        return k->fs->sync_dir(k->fs, k->opts.dir, err);
    }
    if (!log->bad && !log->copy_bad)
        return 0;
    if (!log->whole.n) { /* nothing of the cells is left: write a log without records */
        sto_reclog__header_make((uint8_t *)ts_buf_reserve(&log->whole, STO_RECLOG_HEADER_BYTES), "CELL");
        log->whole.n = STO_RECLOG_HEADER_BYTES;
    }
    if (log->bad) {
        TS_TRY(keep_log(k, log->path, err));
        TS_TRY(ts_fs_write_atomic(k->fs, log->path, log->whole.p, log->whole.n, err));
    }
    if (log->copy_bad)
        TS_TRY(keep_log(k, log->copy_path, err));
    TS_TRY(ts_fs_write_atomic(k->fs, log->copy_path, log->whole.p, log->whole.n, err));
    sto_fsck__find(k, STO_FIND_DONE, log->bad ? log->path : log->copy_path, UINT64_MAX,
                   "written again, %zu bytes%s", log->whole.n,
                   log->holes ? ", without the lost records" : "");
    return 0;
}

/* --- catalog --- */

/* Give a series whose name is lost a new one: METRIC lost_series=NUMBER. */
static int make_name(struct sto_catalog *cat, const struct sto_fsck__unnamed *u, struct ts_error *err)
{
    static const char key[] = "lost_series";
    char value[16], made[32], *text;
    struct ts_slice metric = sto_uid_name(cat, STO_UID_METRIC, u->metric);
    struct sto_tag tag;
    const struct sto_series *s;
    snprintf(value, sizeof value, "%u", u->series);
    if (!metric.p)
        metric = (struct ts_slice){made, (size_t)snprintf(made, sizeof made, "lost_metric.%u", u->metric)};
    TS_TRY(sto_uid_make(cat, STO_UID_TAGK, ts_slice_str(key), &tag.k, err));
    TS_TRY(sto_uid_make(cat, STO_UID_TAGV, ts_slice_str(value), &tag.v, err));
    size_t n = metric.n + sizeof key + sizeof value + 2;
    text = ts_xmalloc(n);
    int len = snprintf(text, n, "%.*s %s=%s", (int)metric.n, metric.p, key, value);
    int rc = sto_series_restore(cat, u->series, u->metric, &tag, 1, (struct ts_slice){text, (size_t)len},
                                (uint32_t)metric.n, &s, err);
    ts_free(text);
    return rc;
}

/* Contents of the write-ahead log, to be written to sorted files. */
struct salvage {
    struct sto_fsck *k;
    struct sto_catalog *cat;
    struct sto_mem **mems; /* by generation, ascending */
    size_t n, cap;
    bool names_only;
    char *unread; /* a segment of which the check has read more; owned, NULL = none */
};

static struct sto_mem *mem_of(struct salvage *s, uint64_t gen)
{
    for (size_t i = s->n; i-- > 0;)
        if (sto_mem_gen(s->mems[i]) == gen)
            return s->mems[i];
    if (s->n == s->cap)
        s->mems = ts_xrealloc(s->mems, (s->cap = s->cap ? s->cap * 2 : 4) * sizeof *s->mems);
    return s->mems[s->n++] =
               sto_mem_new(gen, 0, (struct sto_shard_spread){s->k->n_shards, s->k->n_shards, 1});
}

static const struct sto_series *salvage_series(void *arg, uint32_t id, uint32_t metric,
                                               const struct sto_tag *tags, size_t n_tags,
                                               struct ts_slice text, uint32_t metric_len,
                                               struct ts_error *err)
{
    struct salvage *s = arg;
    const struct sto_series *out = NULL;
    return sto_series_restore(s->cat, id, metric, tags, n_tags, text, metric_len, &out, err) < 0 ? NULL : out;
}

static const struct sto_series *salvage_known(void *arg, uint32_t id, struct ts_error *err)
{
    struct salvage *s = arg;
    return sto_series_known(s->cat, id, err);
}

static int salvage_points(void *arg, uint64_t gen, const struct sto_point *points, size_t n,
                          struct ts_error *err)
{
    struct salvage *s = arg;
    (void)err;
    if (!s->names_only)
        sto_mem_apply(mem_of(s, gen), points, n);
    return 0;
}

/* Has the check read these bytes of a segment? */
static bool was_read(const struct sto_fsck *k, const char *path, uint64_t off, uint64_t n)
{
    for (size_t i = 0; i < k->n_bad_parts; i++) {
        const struct sto_fsck__bad_part *b = &k->bad_parts[i];
        if (strcmp(b->path, path) == 0 && off >= b->off && n <= b->n && off - b->off <= b->n - n)
            return false;
    }
    return true;
}

static void salvage_bad(void *arg, const char *path, uint64_t off, uint64_t n, bool torn, int64_t from_ms,
                        int64_t to_ms)
{
    struct salvage *s = arg;
    (void)torn;
    (void)from_ms;
    (void)to_ms;
    if (!s->unread && was_read(s->k, path, off, n))
        s->unread = ts_xstrdup(path);
}

static void salvage_damage(void *arg, const char *path, const char *what)
{
    (void)what;
    salvage_bad(arg, path, 0, UINT64_MAX, false, INT64_MAX, INT64_MIN);
}

static const struct sto_wal_salvage_ops salvage_ops = {
    .replay = {.series = salvage_series, .known = salvage_known, .points = salvage_points},
    .bad = salvage_bad,
    .damage = salvage_damage};

/* The new files and the manifest edit that adds them. */
struct edit {
    struct sto_sst_info *add;
    uint64_t *remove;
    size_t n_add, n_remove;
    uint64_t flushed_gen;
};

static struct sto_sst_info *edit_slot(struct edit *e)
{
    e->add = ts_xrealloc(e->add, (e->n_add + 1) * sizeof *e->add);
    return &e->add[e->n_add];
}

/* --- the write-ahead log --- */

static int write_tombs(struct sto_fsck *k, const struct salvage *s, struct edit *e, struct ts_error *err)
{
    struct sto_sst_writer *w = NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->n; i++) {
        size_t n;
        const struct sto_tomb *tombs = sto_mem_tombs(s->mems[i], &n);
        if (n && !w)
            rc = sto_sst_writer_new(k->fs, k->files_dir, k->next_file_no++, &w, err);
        for (size_t t = 0; rc == 0 && t < n; t++)
            rc = sto_sst_write_tomb(w, &tombs[t], err);
    }
    if (rc < 0 || !w) {
        sto_sst_writer_abort(w);
        return rc;
    }
    TS_TRY(
        sto_sst_writer_finish(w, sto_mem_gen(s->mems[0]), sto_mem_gen(s->mems[s->n - 1]), edit_slot(e), err));
    e->n_add++;
    return 0;
}

static int write_rows(struct sto_fsck *k, const struct salvage *s, struct edit *e, struct ts_error *err)
{
    struct sto_scan_spec spec = {.from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    struct sto_merge *merge = NULL;
    struct sto_sst_writer *w = NULL;
    struct sto_row row;
    uint64_t n_rows = 0;
    int rc = sto_merge_new(&spec, NULL, 0, s->mems, s->n, &merge, err);
    if (rc == 0)
        rc = sto_sst_writer_new(k->fs, k->files_dir, k->next_file_no++, &w, err);
    while (rc >= 0 && (rc = sto_merge_next(merge, &row, err)) == 1) {
        rc = sto_sst_write_row(w, &row.key, row.cells, err);
        n_rows++;
    }
    sto_merge_free(merge);
    if (rc < 0 || n_rows == 0) {
        sto_sst_writer_abort(w);
        return rc;
    }
    TS_TRY(
        sto_sst_writer_finish(w, sto_mem_gen(s->mems[0]), sto_mem_gen(s->mems[s->n - 1]), edit_slot(e), err));
    e->n_add++;
    return 0;
}

static int by_gen(const void *a, const void *b)
{
    uint64_t x = sto_mem_gen(*(struct sto_mem *const *)a), y = sto_mem_gen(*(struct sto_mem *const *)b);
    return x < y ? -1 : x > y;
}

static int wal_to_files(struct sto_fsck *k, struct salvage *s, struct edit *e, struct ts_error *err)
{
    if (s->n) {
        qsort(s->mems, s->n, sizeof(struct sto_mem *), by_gen);
        TS_TRY(write_rows(k, s, e, err));
        TS_TRY(write_tombs(k, s, e, err));
        TS_TRY(k->fs->sync_dir(k->fs, k->files_dir, err));
    }
    e->flushed_gen = k->wal.max_gen > k->flushed_gen ? k->wal.max_gen : k->flushed_gen;
    sto_fsck__find(k, STO_FIND_DONE, k->wal_dir, UINT64_MAX,
                   "%" PRIu64 " points of the write-ahead log written to files", k->wal.n_points);
    return 0;
}

/* Read the points of the write-ahead log into memory: everything that the check has read, since the log is then removed. */
static int read_points(struct sto_fsck *k, struct salvage *s, struct ts_error *err)
{
    struct sto_wal_salvage_result found;
    ts_free(s->unread);
    s->unread = NULL;
    s->names_only = false;
    TS_TRY(sto_wal_salvage(k->fs, k->wal_dir, k->flushed_gen, &salvage_ops, s, &found, err));
    if (!s->unread && found.n_points >= k->wal.n_points)
        return 0;
    return ts_error_set(
        err, TS_EIO,
        "%s: the repair can't read what the check has read (%" PRIu64 " points in all, now %" PRIu64
        "): the errors of the disk are intermittent. The log stays; copy the data folder to another "
        "disk and repair it there",
        s->unread ? s->unread : k->wal_dir, k->wal.n_points, found.n_points);
}

/* Add the names that the write-ahead log has, and made-up ones for other series; read the points of a damaged
 * log into memory. */
static int repair_catalog(struct sto_fsck *k, struct salvage *s, struct ts_error *err)
{
    struct sto_catalog_opts opts = {.dir = k->opts.dir, .n_shards = k->n_shards, .lenient = true};
    struct sto_wal_salvage_result found;
    bool with_points = !s->names_only;
    TS_TRY(sto_catalog_open(k->fs, &opts, &s->cat, err));
    s->names_only = true; /* names of the log are added before made-up ones */
    TS_TRY(sto_wal_salvage(k->fs, k->wal_dir, k->flushed_gen, &salvage_ops, s, &found, err));
    for (size_t i = 0; i < k->n_unnamed; i++)
        TS_TRY(make_name(s->cat, &k->unnamed[i], err));
    if (k->n_unnamed)
        sto_fsck__find(k, STO_FIND_DONE, k->logs[STO_FSCK_CATALOG].path, UINT64_MAX,
                       "%zu series without a name are now called METRIC lost_series=NUMBER", k->n_unnamed);
    if (with_points)
        TS_TRY(read_points(k, s, err));
    return sto_catalog_sync(s->cat, true, err);
}

/* --- files --- */

/* attempts to find a file number; files of earlier, failed repairs may occupy some */
#define NUMBER_TRIES 1000

/* Write what can be read of a damaged file to a new one. If that is less than the check has read, the file
 * stays as it is. */
static int salvage_file(struct sto_fsck *k, const struct sto_fsck__file *f, struct sto_sst_info *out,
                        struct ts_error *err)
{
    struct sto_fsck_file found;
    int rc = TS_EEXIST;
    for (int i = 0; rc == TS_EEXIST && i < NUMBER_TRIES; i++)
        rc = sto_fsck_file_salvage(k->fs, k->files_dir, &f->info, k->next_file_no++, out, &found, err);
    if (rc < 0 || (found.n_rows >= f->n_rows && found.n_points >= f->n_points && found.n_tombs >= f->n_tombs))
        return rc;
    if (rc == 1)
        sto_sst_remove(k->fs, k->files_dir, out);
    return ts_error_set(
        err, TS_EIO,
        "%08" PRIx64 ".t: the check has read %" PRIu64 " rows, the repair %" PRIu64
        ": the errors of the disk are intermittent. The file stays; copy the data folder to another disk "
        "and repair it there",
        f->info.file_no, f->n_rows, found.n_rows);
}

static int repair_files(struct sto_fsck *k, struct edit *e, struct ts_error *err)
{
    e->remove = ts_xcalloc(k->n_files + 1, sizeof *e->remove);
    for (size_t i = 0; i < k->n_files; i++) {
        const struct sto_fsck__file *f = &k->files[i];
        if (!f->damaged) {
            if (k->manifest_rebuilt) {
                *edit_slot(e) = f->info;
                e->n_add++;
            }
            continue;
        }
        int rc = salvage_file(k, f, edit_slot(e), err);
        TS_TRY(rc);
        char *path = sto_sst__path(k->files_dir, f->info.file_no, STO_SST_KIND_POINTS);
        if (rc == 1)
            sto_fsck__find(k, STO_FIND_DONE, path, UINT64_MAX,
                           "%" PRIu64 " rows, %" PRIu64 " points written to %08" PRIx64 ".t",
                           e->add[e->n_add].n_rows, e->add[e->n_add].n_points, e->add[e->n_add].file_no);
        else
            sto_fsck__find(k, STO_FIND_DONE, path, UINT64_MAX, "none of it can be read");
        ts_free(path);
        e->n_add += rc == 1;
        if (!k->manifest_rebuilt)
            e->remove[e->n_remove++] = f->info.file_no;
    }
    return 0;
}

static int apply(struct sto_fsck *k, const struct edit *e, struct ts_error *err)
{
    struct sto_manifest *m = NULL;
    struct sto_mark all = {INT32_MIN, INT32_MAX,
                           1}; /* what was sent to a remote store is not known any more */
    const struct sto_mark_list sent = {.marks = &all, .n = 1};
    const struct sto_complete nothing = {0}; /* what is lost here may be in the remote store alone */
    struct ts_buf ids;
    struct sto_manifest_edit edit = {.add = e->add,
                                     .n_add = e->n_add,
                                     .remove = e->remove,
                                     .n_remove = e->n_remove,
                                     .flushed_gen = e->flushed_gen,
                                     .complete = &nothing,
                                     .next_file_no = k->next_file_no};
    if (k->manifest_rebuilt) {
        edit.run = k->wal.max_run + 1;
        edit.flushed_gen = e->flushed_gen ? e->flushed_gen : k->flushed_gen;
        edit.cutoff_ms = k->cutoff_ms;
        edit.cutoff_gen = k->cutoff_gen;
        edit.sent = &sent;
    }
    ts_buf_init(&ids, 0);
    if (edit.flushed_gen) { /* which additions with ids are in the files is not known any more: no id may add again */
        sto_once_all_encode_forgotten(k->n_shards, (uint64_t)(ts_clock_ms() / 1000), &ids);
        edit.once = ts_buf_get(&ids);
    }
    int rc = ids.failed
                 ? ts_error_set(err, TS_ENOMEM, "no memory for a manifest record")
                 : sto_manifest_open(k->fs, k->opts.dir, k->manifest_rebuilt, false, k->n_shards, &m, err);
    if (rc == 0)
        rc = sto_manifest_apply(m, &edit, err);
    sto_manifest_close(m);
    ts_buf_release(&ids);
    return rc;
}

/* Remove files that are no longer part of the store. */
static int remove_leftovers(struct sto_fsck *k, struct ts_error *err)
{
    for (size_t i = 0; i < k->n_files; i++) {
        const struct sto_sst_info *info = &k->files[i].info;
        int first = k->files[i].damaged ? STO_SST_KIND_POINTS : STO_SST_KIND_DAYS;
        for (int kind = first; (k->files[i].damaged || k->files[i].bad_days) && kind <= STO_SST_KIND_DAYS;
             kind++) {
            char *path = sto_sst__path(k->files_dir, info->file_no, (enum sto_sst_kind)kind);
            int rc = kind != STO_SST_KIND_SUMS || info->s_bytes ? sto_fsck__move_aside(k, path, err) : 0;
            ts_free(path);
            TS_TRY(rc);
        }
    }
    TS_TRY(sto_fsck__drop_totals(k, err));
    return k->fs->sync_dir(k->fs, k->files_dir, err);
}

/* Must the manifest change, if only because what was lost may be in a remote store? */
static bool needs_edit(const struct sto_fsck *k, const struct edit *e)
{
    bool lost = k->n_unnamed || k->catalog_lost || k->manifest_rebuilt;
    for (int i = 0; i < STO_FSCK_N_LOGS; i++)
        lost |= k->logs[i].holes;
    return lost || e->n_add || e->n_remove || e->flushed_gen;
}

/* Set a file of the data folder aside. */
static int move_aside(struct sto_fsck *k, const char *name, struct ts_error *err)
{
    char *path = ts_fs_join(k->opts.dir, name);
    int rc = sto_fsck__move_aside(k, path, err);
    ts_free(path);
    return rc;
}

int sto_fsck__repair(struct sto_fsck *k, struct ts_error *err)
{
    bool wal = k->wal.damaged || k->wal.beyond_torn || k->manifest_rebuilt;
    struct salvage s = {.k = k, .names_only = !wal};
    struct edit e = {0};
    int rc = sto_fsck__drop_bulk(k, err);
    for (int i = 0; rc == 0 && i < STO_FSCK_N_LOGS; i++)
        rc = repair_log(k, (enum sto_fsck__log)i, err);
    if (rc == 0)
        rc = k->fs->mkdir(k->fs, k->files_dir, err);
    if (rc == 0)
        rc = keep_segments(k, err);
    if (rc == 0 && (wal || k->n_unnamed || k->catalog_lost))
        rc = repair_catalog(k, &s, err);
    if (rc == 0)
        rc = repair_files(k, &e, err);
    if (rc == 0 && wal)
        rc = wal_to_files(k, &s, &e, err);
    int rc_close = sto_catalog_close(s.cat, rc < 0 ? NULL : err);
    rc = rc < 0 ? rc : rc_close;
    if (rc == 0 && needs_edit(k, &e))
        rc = apply(k, &e, err);
    if (rc == 0)
        rc = remove_leftovers(k, err);
    if (rc == 0)
        rc = sto_fsck__drop_merge(k, err);
    if (rc == 0 && k->bad_merge)
        rc = move_aside(k, STO_UNFINISHED_NAME, err);
    if (rc == 0 && k->bad_retention)
        rc = move_aside(k, STO_RETENTION_NAME, err);
    if (rc == 0 && k->bad_rules)
        rc = move_aside(k, STO_RULES_NAME, err);
    if (rc == 0 && k->bad_floors)
        rc = move_aside(k, STO_FLOORS_NAME, err);
    if (rc == 0 && k->bad_quota)
        rc = move_aside(k, STO_QUOTA_NAME, err);
    if (rc == 0 && k->bad_aged)
        rc = move_aside(k, STO_AGED_NAME, err);
    if (rc == 0 && wal)
        rc = drop_segments(k, e.flushed_gen, err);
    for (size_t i = 0; i < s.n; i++)
        sto_mem_unref(s.mems[i]);
    ts_free(s.mems);
    ts_free(s.unread);
    ts_free(e.add);
    ts_free(e.remove);
    return rc;
}
