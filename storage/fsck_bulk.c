/*
 * fsck_bulk.c - the record DIR/BULK and the copies of a hand-over of bulk files: are they part of the store?
 *
 * With its manifest a store knows (handover_record.h). Without it, or when a repair is about to call later generations flushed, a start
 * could not tell any more. So a rebuilt manifest has the copies if the hand-over was completed, and a repair moves the record
 * and the copies aside if it was not.
 *
 * Threads    one
 * Not here   the steps of a hand-over (engine/handover.h)
 */
#include <inttypes.h>

#include "base/array.h"
#include "storage/bulk.h"
#include "storage/engine/handover.h"
#include "storage/fsck_int.h"

static char *record_path(const struct sto_fsck *k)
{
    return ts_fs_join(k->opts.dir, STO_HANDOVER_NAME);
}

int sto_fsck__read_bulk(struct sto_fsck *k, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = sto_handover_record_read(k->fs, k->opts.dir, &k->bulk, &why);
    if (rc >= 0)
        return 0;
    if (rc != TS_ECORRUPT && rc != TS_EVERSION && rc != TS_EIO) {
        *err = why;
        return rc;
    }
    char *path = record_path(k);
    k->bad_bulk = rc != TS_EVERSION;
    sto_fsck__find(
        k, k->bad_bulk ? STO_FIND_DAMAGE : STO_FIND_NOTE, path, UINT64_MAX,
        k->bad_bulk ? "can't be read: a bulk load was being handed over. Look whether its points are there, "
                      "and repeat tsd import --bulk if they are not"
                    : "was written by another version of tsd");
    ts_free(path);
    return 0;
}

/* --- was it completed? --- */

static int is_any(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return 0;
}

/* Has the staging folder files of the importer, and no DONE? Then it has all points of the hand-over. */
static bool is_staged(const struct sto_fsck *k)
{
    char *bulk = ts_fs_join(k->opts.dir, STO_BULK_DIR), *staging = ts_fs_join(bulk, k->bulk.id),
         *ready = ts_fs_join(staging, "ready");
    struct sto_bulk_sum sum;
    bool is = sto_handover_done_read(k->fs, staging, &sum, NULL) != 1 &&
              k->fs->list(k->fs, ready, is_any, NULL, NULL) == 0;
    ts_free(ready);
    ts_free(staging);
    ts_free(bulk);
    return is;
}

void sto_fsck__fit_bulk(struct sto_fsck *k)
{
    k->bulk_done = k->bulk.gen && k->bulk.gen <= k->flushed_gen;
}

void sto_fsck__fit_bulk_to(struct sto_fsck *k, const uint64_t *numbers, size_t n)
{
    k->bulk_done =
        k->bulk.gen && (!is_staged(k) || sto_handover_is_proven(k->fs, k->files_dir, &k->bulk, numbers, n));
    if (k->bulk_done && k->flushed_gen < k->bulk.gen)
        k->flushed_gen = k->bulk.gen; /* by which a start knows it too */
    if (k->bulk.id[0] && !k->bulk_done) {
        char *path = record_path(k);
        sto_fsck__find(
            k, STO_FIND_NOTE, path, UINT64_MAX,
            "names files of a bulk load whose hand-over was not completed: they are left out; repeat "
            "the import, which still has their points");
        ts_free(path);
    }
}

bool sto_fsck__is_bulk(const struct sto_fsck *k, uint64_t file_no)
{
    return !k->bulk_done && sto_handover_record_holds(&k->bulk, 0, file_no);
}

/* --- moving aside --- */

/* Names of files that are to be moved. */
struct copies {
    struct sto_fsck *k;
    char **v; /* owned */
    size_t n, cap;
};

static bool is_listed(const struct sto_fsck *k, uint64_t file_no)
{
    for (size_t i = 0; i < k->n_files; i++)
        if (k->files[i].info.file_no == file_no)
            return true;
    return sto_fsck__is_merging(k, file_no);
}

/* With a damaged record, everything that the manifest does not list may be a copy. */
static int add_copy(void *arg, const char *name)
{
    struct copies *c = arg;
    enum sto_sst_kind kind;
    uint64_t no;
    if (!sto_sst__name_parse(name, &no, &kind) || is_listed(c->k, no) ||
        !(c->k->bad_bulk || sto_fsck__is_bulk(c->k, no)))
        return 0;
    TS_ARRAY_GROW(c->v, c->n, c->cap, 16);
    c->v[c->n++] = ts_fs_join(c->k->files_dir, name);
    return 0;
}

int sto_fsck__drop_bulk(struct sto_fsck *k, struct ts_error *err)
{
    if (!k->bad_bulk && (!k->bulk.id[0] || k->bulk_done))
        return 0;
    struct copies c = {.k = k};
    struct ts_error why = {0};
    int rc = k->fs->list(k->fs, k->files_dir, add_copy, &c, &why);
    if (rc < 0 && rc != TS_ENOTFOUND)
        *err = why;
    else
        rc = 0;
    for (size_t i = 0; i < c.n; i++) {
        rc = rc < 0 ? rc : sto_fsck__move_aside(k, c.v[i], err);
        ts_free(c.v[i]);
    }
    if (rc == 0 && c.n)
        rc = k->fs->sync_dir(k->fs, k->files_dir, err); /* none may reappear without the record */
    ts_free(c.v);
    if (rc < 0)
        return rc;
    char *path = record_path(k);
    rc = sto_fsck__move_aside(k, path, err);
    ts_free(path);
    return rc < 0 ? rc : k->fs->sync_dir(k->fs, k->opts.dir, err);
}
