/*
 * fsck_merge.c - checks the record and the files of an interrupted merge. Readers never see these files, and the merge can
 * start again, so damage here loses nothing.
 *
 * Threads    one
 * Not here   what the record means (engine/unfinished.h)
 */
#include "base/mem.h"
#include "storage/engine/files/sst_format.h"
#include "storage/fsck_int.h"

static char *record_path(const struct sto_fsck *k)
{
    return ts_fs_join(k->opts.dir, STO_UNFINISHED_NAME);
}

int sto_fsck__read_merge(struct sto_fsck *k, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = sto_unfinished_read(k->fs, k->opts.dir, &k->merge, &why);
    if (rc < 0 && rc != TS_ECORRUPT && rc != TS_EVERSION && rc != TS_EIO) {
        *err = why;
        return rc;
    }
    k->has_merge = rc == 1;
    k->unread_merge = rc == TS_EIO;
    k->bad_merge = rc == TS_ECORRUPT || rc == TS_EIO;
    if (rc < 0) {
        char *path = record_path(k);
        sto_fsck__find(k, k->bad_merge ? STO_FIND_DAMAGE : STO_FIND_NOTE, path, UINT64_MAX,
                       "%s: nothing is lost, an interrupted merge starts again", why.text);
        ts_free(path);
    }
    return 0;
}

bool sto_fsck__is_merging(const struct sto_fsck *k, uint64_t file_no)
{
    for (size_t i = 0; k->merge_fits && i < k->merge.n_outputs; i++)
        if (k->merge.outputs[i].file_no == file_no)
            return true;
    return false;
}

void sto_fsck__fit_merge(struct sto_fsck *k, int64_t cutoff_ms, uint64_t cutoff_gen)
{
    struct sto_sst_info *infos = ts_xcalloc(k->n_files + 1, sizeof *infos);
    for (size_t i = 0; i < k->n_files; i++)
        infos[i] = k->files[i].info;
    const char *why =
        k->has_merge ? sto_unfinished_misfit(&k->merge, infos, k->n_files, cutoff_ms, cutoff_gen) : NULL;
    k->merge_fits = k->has_merge && !why;
    if (why) {
        char *path = record_path(k);
        sto_fsck__find(
            k, STO_FIND_NOTE, path, UINT64_MAX,
            "%s: an interrupted merge starts again, its record is removed when the store is opened", why);
        ts_free(path);
    }
    ts_free(infos);
}

int sto_fsck__fit_merge_to(struct sto_fsck *k, const uint64_t *numbers, size_t n, struct ts_error *err)
{
    size_t n_there = 0;
    if (k->unread_merge) /* it may tell which files have rows that others have too */
        return ts_error_set(
            err, TS_EIO,
            "%s/" STO_UNFINISHED_NAME
            " can't be read, and without the manifest it is needed: copy the data folder to another disk and "
            "check it there, or remove this file if the disk can't read it any more",
            k->opts.dir);
    for (size_t i = 0; k->has_merge && i < k->merge.n_inputs; i++)
        for (size_t j = 0; j < n; j++)
            n_there += numbers[j] == k->merge.inputs[i];
    k->merge_fits = k->has_merge && n_there == k->merge.n_inputs;
    return 0;
}

static void on_damage(void *arg, const char *path, uint64_t off, const char *what)
{
    sto_fsck__find(arg, STO_FIND_DAMAGE, path, off,
                   "%s; the file belongs to an interrupted merge, nothing is lost", what);
}

static void on_read(void *arg, uint64_t n_bytes)
{
    sto_fsck__read_bytes(arg, n_bytes);
}

int sto_fsck__merge_files(struct sto_fsck *k, struct ts_error *err)
{
    static const struct sto_fsck_file_ops ops = {.damage = on_damage, .read = on_read};
    for (size_t i = 0; k->merge_fits && i < k->merge.n_outputs; i++) {
        const struct sto_sst_info *info = &k->merge.outputs[i];
        struct sto_fsck_file f;
        TS_TRY(sto_fsck_file_walk(k->fs, k->files_dir, info->file_no, info, &ops, k, &f, err));
    }
    return 0;
}

int sto_fsck__drop_merge(struct sto_fsck *k, struct ts_error *err)
{
    char *path = record_path(k);
    int rc = 0;
    if (k->has_merge && (rc = k->fs->unlink(k->fs, path, err)) == 0) {
        sto_fsck__find(k, STO_FIND_DONE, path, UINT64_MAX, "removed: an interrupted merge starts again");
        rc = k->fs->sync_dir(k->fs, k->opts.dir, err);
    }
    ts_free(path);
    return rc;
}
