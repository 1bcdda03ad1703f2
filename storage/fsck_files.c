/*
 * fsck_files.c - checks the sorted files of a store: those that the manifest lists, and all others in its
 * folder.
 *
 * Threads    one
 * Not here   reading a file (engine/fsck_file.c)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/handover_record.h"
#include "storage/engine/lost.h"
#include "storage/engine/once_all.h"
#include "storage/engine/retention.h"
#include "storage/engine/shards.h"
#include "storage/engine/files/sst_format.h"
#include "storage/age_marks.h"
#include "storage/floors.h"
#include "storage/fsck_int.h"
#include "storage/quota.h"
#include "storage/retain.h"

#define DEF_SHARDS 16u /* decides only which write-ahead log a series uses */

static void add_file(struct sto_fsck *k, const struct sto_sst_info *info)
{
    if (k->n_files == k->cap_files)
        k->files =
            ts_xrealloc(k->files, (k->cap_files = k->cap_files ? k->cap_files * 2 : 64) * sizeof *k->files);
    k->files[k->n_files++] = (struct sto_fsck__file){.info = *info};
    k->all_bytes += info->t_bytes + info->s_bytes;
}

/* --- without a manifest --- */

struct numbers {
    uint64_t *v;
    size_t n, cap;
};

static int add_number(void *arg, const char *name)
{
    struct numbers *l = arg;
    enum sto_sst_kind kind;
    uint64_t no;
    if (!sto_sst__name_parse(name, &no, &kind) || kind != STO_SST_KIND_POINTS)
        return 0;
    if (l->n == l->cap)
        l->v = ts_xrealloc(l->v, (l->cap = l->cap ? l->cap * 2 : 64) * sizeof *l->v);
    l->v[l->n++] = no;
    return 0;
}

/* Skip the number of a file that a crash has left and the manifest does not list. */
static int pass_number(void *arg, const char *name)
{
    struct sto_fsck *k = arg;
    enum sto_sst_kind kind;
    uint64_t no;
    if (sto_sst__name_parse(name, &no, &kind) && no >= k->next_file_no)
        k->next_file_no = no + 1;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The search for the rows of one file in files that a merge may have made of it. */
struct replaced {
    struct sto_sst_cur **curs; /* cursors on those files; n_curs of them */
    size_t n_curs;
    uint64_t n_rows, n_found; /* rows of the file; those of them found in another */
};

static int look_up(void *arg, const struct sto_key *key, const struct sto_cells *cells, struct ts_error *err)
{
    struct replaced *r = arg;
    bool found = false;
    (void)cells;
    for (size_t i = 0; i < r->n_curs && !found; i++) {
        int rc = sto_sst_cur_seek(r->curs[i], key, err);
        if (rc < 0)
            return rc;
        found = rc == 1 && sto_key_cmp(sto_sst_cur_key(r->curs[i]), key) == 0;
    }
    r->n_rows++;
    r->n_found += found;
    return 0;
}

/* Could a merge have made `new` of `old`? */
static bool may_be_merge(const struct sto_sst_info *new, const struct sto_sst_info *old)
{
    return new->file_no > old->file_no && old->gen_lo >= new->gen_lo && old->gen_hi <= new->gen_hi &&
           old->min_ms <= new->max_ms && old->max_ms >= new->min_ms;
}

/* Does the result of a merge have all rows of file i? 1, 0 no, < 0 error. Reports a finding if it has all or
 * some. */
static int is_replaced(struct sto_fsck *k, size_t i, struct ts_error *err)
{
    static const struct sto_fsck_file_ops ops = {.row = look_up};
    const struct sto_sst_info *old = &k->files[i].info;
    struct replaced r = {.curs = ts_xcalloc(k->n_files, sizeof(struct sto_sst_cur *))};
    struct sto_fsck_file f;
    uint64_t new_no = 0;
    int rc = 0;
    for (size_t j = 0; j < k->n_files; j++) {
        struct sto_sst *sst = NULL;
        if (k->files[j].damaged || !may_be_merge(&k->files[j].info, old) ||
            sto_sst_open(k->fs, k->files_dir, NULL, &k->files[j].info, &sst, NULL) < 0)
            continue;
        new_no = k->files[j].info.file_no;
        r.curs[r.n_curs++] = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
        sto_sst_unref(sst); /* the cursor has a reference */
    }
    if (r.n_curs)
        rc = sto_fsck_file_walk(k->fs, k->files_dir, old->file_no, old, &ops, &r, &f, err);
    for (size_t c = 0; c < r.n_curs; c++)
        sto_sst_cur_free(r.curs[c]);
    ts_free(r.curs);
    if (rc < 0 || r.n_found == 0)
        return rc;
    char *path = sto_sst__path(k->files_dir, old->file_no, STO_SST_KIND_POINTS);
    bool all = r.n_found == r.n_rows && old->n_tombs == 0;
    if (all)
        sto_fsck__find(k, STO_FIND_NOTE, path, UINT64_MAX,
                       "was merged into %08" PRIx64 ".t, which has all its rows: it is left out", new_no);
    else
        sto_fsck__find(k, STO_FIND_DAMAGE, path, UINT64_MAX,
                       "%" PRIu64 " of its %" PRIu64 " rows are also in %08" PRIx64
                       ".t, into which it was merged: both are used, and values that were overwritten or "
                       "deleted may reappear",
                       r.n_found, r.n_rows, new_no);
    ts_free(path);
    return all;
}

/* Leave out files that a merge had replaced but not yet removed: with them, overwritten values would
 * reappear. */
static int leave_out_replaced(struct sto_fsck *k, struct ts_error *err)
{
    bool *gone = ts_xcalloc(k->n_files + 1, sizeof *gone);
    size_t n = 0;
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < k->n_files; i++) {
        rc = is_replaced(k, i, err);
        gone[i] = rc == 1;
    }
    for (size_t i = 0; rc >= 0 && i < k->n_files; i++)
        if (!gone[i])
            k->files[n++] = k->files[i];
    if (rc >= 0)
        k->n_files = n;
    ts_free(gone);
    return rc < 0 ? rc : 0;
}

/* Restore the cutoff of retention from DIR/RETENTION, so that expired points do not reappear. */
static void take_cutoff(struct sto_fsck *k)
{
    struct sto_retention was;
    struct sto_floors *floors;
    if (sto_floors_read(k->fs, k->opts.dir, &floors, NULL) == 1 && floors->max_gen &&
        k->flushed_gen < floors->max_gen - 1)
        k->flushed_gen = floors->max_gen - 1; /* what is put from now on is above the floors */
    sto_floors_unref(floors);
    if (sto_retention_read(k->fs, k->opts.dir, &was, NULL) != 1 || !was.cutoff_gen)
        return;
    k->cutoff_ms = was.cutoff_ms;
    k->cutoff_gen = was.cutoff_gen;
    if (k->flushed_gen < was.cutoff_gen - 1)
        k->flushed_gen = was.cutoff_gen - 1; /* retention removed those files */
}

/* List every intact file of the folder except those that a merge has replaced, and those of a hand-over that was not completed: the
 * staging folder has all of their points. */
static int rebuild(struct sto_fsck *k, struct ts_error *err)
{
    static const struct sto_fsck_file_ops quiet = {.row = NULL};
    struct numbers l = {0};
    int rc = k->fs->list(k->fs, k->files_dir, add_number, &l, err);
    rc = rc == TS_ENOTFOUND ? 0 : rc;
    if (l.n)
        qsort(l.v, l.n, sizeof *l.v, by_number);
    k->manifest_rebuilt = true;
    k->n_shards = DEF_SHARDS;
    k->next_file_no = 1;
    if (rc == 0)
        rc = sto_fsck__fit_merge_to(k, l.v, l.n, err);
    if (rc == 0)
        sto_fsck__fit_bulk_to(k, l.v, l.n);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        struct sto_fsck_file f;
        if (sto_fsck__is_bulk(k, l.v[i])) {
            k->next_file_no = l.v[i] + 1;
            continue;
        }
        if (sto_fsck__is_merging(k, l.v[i])) { /* the inputs have all its rows */
            k->next_file_no = l.v[i] + 1;
            /* the generation of tombstones that were flushed and may have been removed since */
            k->flushed_gen = k->merge.gen_hi > k->flushed_gen ? k->merge.gen_hi : k->flushed_gen;
            continue;
        }
        rc = sto_fsck_file_walk(k->fs, k->files_dir, l.v[i], NULL, &quiet, NULL, &f, err);
        k->next_file_no = l.v[i] + 1;
        if (rc < 0 || !f.readable || f.n_rows + f.n_tombs == 0)
            continue;
        f.info.file_no = l.v[i];
        add_file(k, &f.info);
        k->files[k->n_files - 1].damaged = f.damaged;
        k->flushed_gen = f.info.gen_hi > k->flushed_gen ? f.info.gen_hi : k->flushed_gen;
        k->flushed_gen = f.carried_gen > k->flushed_gen ? f.carried_gen : k->flushed_gen;
    }
    ts_free(l.v);
    take_cutoff(k);
    return rc < 0 ? rc : leave_out_replaced(k, err);
}

/* Can the manifest be read although it lacks edits that the files prove? A file that can't be read proves
 * nothing. */
static bool has_lost(const struct sto_fsck *k, const struct sto_manifest_state *state)
{
    return sto_lost__all(k->fs, k->opts.dir, state) || sto_lost__edits(k->fs, k->opts.dir, state, NULL) == 1;
}

/* Can the ids of clients be read? 0, TS_ECORRUPT, TS_ENOMEM. */
static int check_ids(const struct sto_manifest_state *s, struct ts_error *err)
{
    const struct sto_once_limits limits = {.max_ids = 1, .kept_s = 1};
    struct sto_once **tables;
    if (sto_once_all_new(s->n_shards, &limits, &tables) < 0)
        return ts_error_set(err, TS_ENOMEM, "no memory for the ids of clients");
    int rc = sto_once_all_decode(tables, s->n_shards, s->once, err);
    sto_once_all_free(tables, s->n_shards);
    return rc;
}

static int list_files(struct sto_fsck *k, struct ts_error *err)
{
    struct sto_fsck__reclog *log = &k->logs[STO_FSCK_MANIFEST];
    struct sto_manifest *m = NULL;
    struct ts_error why = {0};
    int rc = log->holes || !log->whole.n
                 ? TS_ECORRUPT
                 : sto_manifest_open(sto_fsck_view_fs(k->view), k->opts.dir, false, true, 0, &m, &why);
    if (rc == TS_ENOMEM || rc == TS_EVERSION) {
        *err = why;
        return rc;
    }
    rc = rc < 0 ? rc : check_ids(sto_manifest_state(m), &why);
    if (rc == TS_ENOMEM) {
        sto_manifest_close(m);
        *err = why;
        return rc;
    }
    if (rc < 0 || has_lost(k, sto_manifest_state(m))) {
        sto_manifest_close(m);
        sto_fsck__find(k, STO_FIND_DAMAGE, log->path, UINT64_MAX,
                       "does not show which files make up the store: every file of the folder is used except "
                       "those whose rows are all in the result of a merge");
        return rebuild(k, err);
    }
    const struct sto_manifest_state *s = sto_manifest_state(m);
    k->n_shards = s->n_shards;
    k->run = s->run;
    k->flushed_gen = s->flushed_gen;
    k->next_file_no = s->next_file_no;
    for (size_t i = 0; i < s->n_files; i++)
        add_file(k, &s->files[i]);
    sto_fsck__fit_merge(k, s->cutoff_ms, s->cutoff_gen);
    sto_fsck__fit_bulk(k);
    sto_manifest_close(m);
    return 0;
}

int sto_fsck__list_files(struct sto_fsck *k, struct ts_error *err)
{
    struct ts_error why = {0};
    TS_TRY(list_files(k, err));
    int rc = k->fs->list(k->fs, k->files_dir, pass_number, k, &why);
    if (rc == 0 || rc == TS_ENOTFOUND)
        return 0;
    *err = why;
    return rc;
}

/* --- one file --- */

static void no_name(struct sto_fsck *k, const struct sto_key *key)
{
    if (!k->unnamed_ids)
        k->unnamed_ids = roaring_bitmap_create();
    if (k->unnamed_ids && !roaring_bitmap_add_checked(k->unnamed_ids, key->series))
        return;
    if (k->n_unnamed == k->cap_unnamed)
        k->unnamed = ts_xrealloc(k->unnamed, (k->cap_unnamed = k->cap_unnamed ? k->cap_unnamed * 2 : 64) *
                                                 sizeof *k->unnamed);
    k->unnamed[k->n_unnamed++] = (struct sto_fsck__unnamed){key->series, key->metric};
}

static int on_row(void *arg, const struct sto_key *key, const struct sto_cells *cells, struct ts_error *err)
{
    struct sto_fsck *k = arg;
    (void)cells;
    (void)err;
    const struct sto_series *s = sto_series_get(k->cat, key->series);
    k->files_end = key->series >= k->files_end ? key->series + 1ull : k->files_end;
    if (!s)
        no_name(k, key);
    else if (s->metric != key->metric)
        sto_fsck__find(k, STO_FIND_DAMAGE, k->files_dir, UINT64_MAX,
                       "rows of series %u are of metric %u, the catalog says %u", key->series, key->metric,
                       s->metric);
    return 0;
}

static void on_damage(void *arg, const char *path, uint64_t off, const char *what)
{
    sto_fsck__find(arg, STO_FIND_DAMAGE, path, off, "%s", what);
}

static void on_read(void *arg, uint64_t n_bytes)
{
    sto_fsck__read_bytes(arg, n_bytes);
}

/* Report the rows between two keys as lost, by series where these are known. */
static void on_lost(void *arg, const struct sto_key *first, const struct sto_key *last, uint64_t n_points,
                    const roaring_bitmap_t *bitmap)
{
    struct sto_fsck *k = arg;
    const struct sto_sst_info *info = &k->at->info;
    const char *path = k->at_path;
    int64_t lo = ts_floor_div(info->min_ms, TS_HOUR_MS) * TS_HOUR_MS,
            hi = ts_floor_div(info->max_ms, TS_HOUR_MS) * TS_HOUR_MS + TS_HOUR_MS - 1;
    if (first->series == last->series && first->metric == last->metric) {
        sto_fsck__lost(k, path, first->metric, first->series, first->hour * TS_HOUR_MS,
                       last->hour * TS_HOUR_MS + TS_HOUR_MS - 1, n_points, "");
        return;
    }
    if (!bitmap) {
        sto_fsck__lost(k, path, 0, UINT32_MAX, lo, hi, 0, "the series is not known");
        return;
    }
    roaring_uint32_iterator_t *it = roaring_create_iterator(bitmap);
    for (; it->has_value; roaring_advance_uint32_iterator(it)) {
        const struct sto_series *s = sto_series_get(k->cat, it->current_value);
        struct sto_key key = {s ? s->metric : first->metric, it->current_value, INT32_MIN}, end = key;
        end.hour = INT32_MAX;
        if (sto_key_cmp(&end, first) < 0 || sto_key_cmp(&key, last) > 0)
            continue;
        bool is_first = key.metric == first->metric && key.series == first->series;
        bool is_last = key.metric == last->metric && key.series == last->series;
        sto_fsck__lost(k, path, key.metric, key.series,
                       is_first && first->hour != INT32_MIN ? first->hour * TS_HOUR_MS : lo,
                       is_last && last->hour != INT32_MAX ? last->hour * TS_HOUR_MS + TS_HOUR_MS - 1 : hi, 0,
                       "at most: the summaries can't be read");
    }
    roaring_free_uint32_iterator(it);
}

/* Compare the day summaries of the present file, whose points are in order, with them. Their zone is that of the daemon, which is not known here. */
static void check_days(struct sto_fsck *k)
{
    struct sto_sst *sst;
    struct ts_error why = {0};
    const struct ts_tz *was = ts_tz_default(), *zone;
    if (sto_sst_open(k->fs, k->files_dir, NULL, &k->at->info, &sst, NULL) < 0)
        return;
    if (sto_sst_days_zone(sst, &zone, NULL) == 0) {
        ts_tz_set_default(zone);
        (void)sto_sst_open_days(sst);
    }
    if (sto_sst_has_days(sst) && sto_days_check(sst, &why) == TS_ECORRUPT) {
        char *path = sto_sst__path(k->files_dir, k->at->info.file_no, STO_SST_KIND_DAYS);
        k->at->bad_days = true;
        sto_fsck__find(k, STO_FIND_DAMAGE, path, UINT64_MAX,
                       "%s; a repair removes the file, which tsd makes again", why.text);
        ts_free(path);
    }
    ts_tz_set_default(was);
    sto_sst_unref(sst);
}

int sto_fsck__files(struct sto_fsck *k, struct ts_error *err)
{
    static const struct sto_fsck_file_ops ops = {
        .row = on_row, .damage = on_damage, .lost = on_lost, .read = on_read};
    for (size_t i = 0; i < k->n_files; i++) {
        struct sto_fsck_file f;
        k->at = &k->files[i];
        ts_free(k->at_path);
        k->at_path = sto_sst__path(k->files_dir, k->at->info.file_no, STO_SST_KIND_POINTS);
        TS_TRY(sto_fsck_file_walk(k->fs, k->files_dir, k->at->info.file_no, &k->at->info, &ops, k, &f, err));
        k->at->damaged = f.damaged;
        k->at->n_rows = f.n_rows;
        k->at->n_points = f.n_points;
        k->at->n_tombs = f.n_tombs;
        if (!f.damaged)
            check_days(k);
        k->out->n_files++;
        k->out->n_blocks += f.n_blocks;
        k->out->n_rows += f.n_rows;
        k->out->n_points += f.n_points;
        if (f.tombs_lost)
            sto_fsck__lost(k, k->at_path, 0, UINT32_MAX, k->at->info.tomb_min_ms, k->at->info.tomb_max_ms, 0,
                           "deletes: points that they removed may reappear");
    }
    if (k->n_unnamed)
        sto_fsck__find(k, STO_FIND_DAMAGE, k->logs[STO_FSCK_CATALOG].path, UINT64_MAX,
                       "%zu series of the files have no name", k->n_unnamed);
    if (k->files_end > k->catalog_end) { /* a store opens only if the catalog has all series of the files */
        sto_fsck__find(k, STO_FIND_DAMAGE, k->logs[STO_FSCK_CATALOG].path, UINT64_MAX,
                       "ends at series %" PRIu64 ", files have series up to %" PRIu64
                       ": names that the write-ahead log still has are restored from it",
                       k->catalog_end, k->files_end - 1);
        k->catalog_lost = true;
    }
    return 0;
}

/* --- other files in the folders --- */

struct strays {
    struct sto_fsck *k;
    const char *dir;
    bool top; /* true: the data folder; false: files/ */
};

static int on_name(void *arg, const char *name)
{
    static const char *const known[] = {"LOCK",
                                        "RESERVE",
                                        "wal",
                                        "files",
                                        STO_FSCK_DAMAGED,
                                        "lost+found",
                                        "MANIFEST",
                                        "MANIFEST.copy",
                                        "catalog.log",
                                        "catalog.log.copy",
                                        "cells.log",
                                        "cells.log.copy",
                                        STO_RETENTION_NAME,
                                        STO_RULES_NAME,
                                        STO_FLOORS_NAME,
                                        STO_AGED_NAME,
                                        STO_QUOTA_NAME,
                                        STO_COMPLETE_NAME,
                                        STO_SHARDS_NAME,
                                        STO_HANDOVER_NAME,
                                        STO_BULK_DIR,
                                        STO_UNFINISHED_NAME};
    struct strays *s = arg;
    enum sto_sst_kind kind;
    uint64_t no;
    size_t n = strlen(name);
    for (size_t i = 0; s->top && i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return 0;
    if (!s->top && sto_sst__name_parse(name, &no, &kind))
        for (size_t i = 0; i < s->k->n_files; i++)
            if (s->k->files[i].info.file_no == no &&
                (kind != STO_SST_KIND_SUMS || s->k->files[i].info.s_bytes))
                return 0;
    char *path = ts_fs_join(s->dir, name);
    bool merging = !s->top && sto_sst__name_parse(name, &no, &kind) && sto_fsck__is_merging(s->k, no);
    if (merging)
        sto_fsck__find(s->k, STO_FIND_NOTE, path, UINT64_MAX,
                       "belongs to an interrupted merge, which continues when the store is opened");
    else if (s->top)
        sto_fsck__find(s->k, STO_FIND_NOTE, path, UINT64_MAX,
                       n > 4 && strcmp(name + n - 4, ".tmp") == 0
                           ? "was being written when tsd crashed: not used"
                           : "is not a file of a store: not used");
    else
        sto_fsck__find(s->k, STO_FIND_NOTE, path, UINT64_MAX,
                       "is not in the manifest: removed when the store is opened");
    ts_free(path);
    return 0;
}

static void look_at_retention(struct sto_fsck *k)
{
    struct sto_retention was;
    struct ts_error why = {0};
    if (sto_retention_read(k->fs, k->opts.dir, &was, &why) >= 0)
        return;
    char *path = ts_fs_join(k->opts.dir, STO_RETENTION_NAME);
    sto_fsck__find(k, STO_FIND_DAMAGE, path, UINT64_MAX, "%s: the daemon writes it again%s", why.text,
                   k->manifest_rebuilt
                       ? "; values that were overwritten or deleted and are older than retention_days "
                         "may reappear when retention is extended or switched off"
                       : "");
    k->bad_retention = why.code == TS_ECORRUPT;
    ts_free(path);
}

/* The rules of retention, and what was removed because of them. */
static void look_at_rules(struct sto_fsck *k)
{
    struct sto_retain_rules rules = {0};
    struct sto_floors *floors;
    struct ts_error why = {0};
    char *path = ts_fs_join(k->opts.dir, STO_RULES_NAME);
    if (sto_retain_file_read(k->fs, k->opts.dir, &rules, &why) < 0) {
        sto_fsck__find(k, STO_FIND_DAMAGE, path, UINT64_MAX, "%s", why.text);
        k->bad_rules = why.code == TS_ECORRUPT;
    }
    ts_free(path);
    path = ts_fs_join(k->opts.dir, STO_FLOORS_NAME);
    if (sto_floors_read(k->fs, k->opts.dir, &floors, &why) < 0) {
        sto_fsck__find(k, STO_FIND_DAMAGE, path, UINT64_MAX,
                       "%s: the daemon writes it again; values that were overwritten or deleted and have "
                       "expired may reappear when a rule of retention keeps points longer",
                       why.text);
        k->bad_floors = why.code == TS_ECORRUPT;
    }
    ts_free(path);
    sto_floors_unref(floors);
    path = ts_fs_join(k->opts.dir, STO_AGED_NAME);
    if (sto_floors_read_from(k->fs, k->opts.dir, STO_AGED_NAME, &floors, &why) < 0) {
        sto_fsck__find(
            k, STO_FIND_DAMAGE, path, UINT64_MAX,
            "%s: summaries of hours are in no answer until the daemon has found out again what it had",
            why.text);
        k->bad_aged = why.code == TS_ECORRUPT;
    }
    ts_free(path);
    path = ts_fs_join(k->opts.dir, STO_QUOTA_NAME);
    struct sto_quota_file quota;
    if (sto_quota_read(k->fs, k->opts.dir, &quota, &why) < 0) {
        sto_fsck__find(k, STO_FIND_DAMAGE, path, UINT64_MAX,
                       "%s; points that max_bytes has cut off and that are on disk still reappear", why.text);
        k->bad_quota = why.code == TS_ECORRUPT;
    }
    ts_free(path);
    sto_floors_unref(floors);
    sto_retain_rules_release(&rules);
}

/* The number of shards that is wanted. Without it the store keeps the number it has. */
static void look_at_shards(struct sto_fsck *k)
{
    uint32_t n;
    struct ts_error why = {0};
    if (sto_shards_read(k->fs, k->opts.dir, &n, &why) >= 0)
        return;
    char *path = ts_fs_join(k->opts.dir, STO_SHARDS_NAME);
    sto_fsck__find(k, STO_FIND_NOTE, path, UINT64_MAX, "%s; tsd rebalance writes it again", why.text);
    ts_free(path);
}

int sto_fsck__strays(struct sto_fsck *k, struct ts_error *err)
{
    look_at_retention(k);
    look_at_shards(k);
    look_at_rules(k);
    struct strays top = {.k = k, .dir = k->opts.dir, .top = true}, files = {.k = k, .dir = k->files_dir};
    TS_TRY(k->fs->list(k->fs, k->opts.dir, on_name, &top, err));
    struct ts_error why = {0};
    int rc = k->fs->list(k->fs, k->files_dir, on_name, &files, &why);
    if (rc < 0 && rc != TS_ENOTFOUND) {
        *err = why;
        return rc;
    }
    return 0;
}
