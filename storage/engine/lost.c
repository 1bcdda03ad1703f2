/*
 * lost.c - has the manifest lost edits that it once had?
 *
 * Threads    one
 */
#include "storage/engine/lost.h"

#include <string.h>

#include "base/mem.h"
#include "storage/engine/files/sst_format.h"
#include "storage/engine/handover_record.h"
#include "storage/engine/log/wal.h"

/* --- everything --- */

/* Stops at the first sorted file or log segment. */
static int is_data(void *arg, const char *name)
{
    const char *dot = strrchr(name, '.');
    bool *found = arg;
    *found |= dot && (strcmp(dot, ".t") == 0 || strcmp(dot, ".s") == 0 || strcmp(dot, ".log") == 0);
    return *found ? TS_ECANCELLED : 0;
}

bool sto_lost__all(const struct ts_fs *fs, const char *dir, const struct sto_manifest_state *state)
{
    static const char *const folders[] = {"files", "wal"};
    bool found = false;
    if (state && state->run > 0)
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = ts_fs_join(dir, folders[i]);
        (void)fs->list(fs, path, is_data, &found, NULL); /* a folder that is not there has none */
        ts_free(path);
    }
    return found;
}

/* --- later edits --- */

/* A comparison of the folder of sorted files with the manifest. */
struct compare {
    const struct ts_fs *fs;
    const struct sto_manifest_state *state;
    char *files_dir, *wal_dir;       /* owned */
    struct sto_handover_record bulk; /* files of a hand-over that was not completed */
    bool lost;                       /* the result: edits are lost */
    struct ts_error *err;            /* of the caller */
};

/* Read the footer of a sorted file. 1, 0: the file is not complete, < 0. */
static int read_info(const struct compare *c, uint64_t file_no, struct sto_sst_info *out)
{
    char *path = sto_sst__path(c->files_dir, file_no, STO_SST_KIND_POINTS);
    uint8_t bytes[STO_SST_FOOTER_BYTES];
    struct sto_sst_footer foot;
    struct ts_file *file = NULL;
    uint64_t size = 0;
    size_t n = 0;
    int rc = c->fs->open(c->fs, path, TS_OPEN_READ, &file, c->err);
    if (rc == 0)
        rc = c->fs->size(file, &size, c->err);
    if (rc == 0 && size >= STO_SST_HEADER_BYTES + sizeof bytes)
        rc = c->fs->pread(file, bytes, sizeof bytes, size - sizeof bytes, &n, c->err);
    if (rc == 0)
        rc = n == sizeof bytes && sto_sst__get_footer(bytes, size, path, &foot, NULL) == 0 &&
             foot.kind == STO_SST_KIND_POINTS && foot.info.file_no == file_no;
    if (rc == 1)
        *out = foot.info;
    if (file)
        (void)c->fs->close(file, NULL);
    ts_free(path);
    return rc;
}

/* Was `old` among the files that a merge replaced by `new`? */
static bool may_replace(const struct sto_sst_info *new, const struct sto_sst_info *old)
{
    return old->gen_lo >= new->gen_lo && old->gen_hi <= new->gen_hi && old->min_ms <= new->max_ms &&
           old->max_ms >= new->min_ms;
}

/* Was this file, which the manifest does not list, once listed? 1, 0, < 0. */
static int was_named(const struct compare *c, const struct sto_sst_info *info)
{
    if (info->gen_hi > c->state->flushed_gen) {
        int rc = sto_wal_has_gen(c->fs, c->wal_dir, info->gen_hi, c->err);
        if (rc < 1)
            return rc < 0 ? rc : 1;
    }
    bool any_gone = false;
    for (size_t i = 0; i < c->state->n_files; i++) {
        const struct sto_sst_info *old = &c->state->files[i];
        if (!may_replace(info, old))
            continue;
        char *path = sto_sst__path(c->files_dir, old->file_no, STO_SST_KIND_POINTS);
        int rc = ts_fs_exists(c->fs, path, c->err);
        ts_free(path);
        if (rc != 0)
            return rc < 0 ? rc : 0; /* a merge that was not completed, or not of this file */
        any_gone = true;
    }
    return any_gone;
}

static int look(void *arg, const char *name)
{
    struct compare *c = arg;
    enum sto_sst_kind kind;
    uint64_t file_no;
    struct sto_sst_info info;
    if (!sto_sst__name_parse(name, &file_no, &kind) || kind != STO_SST_KIND_POINTS ||
        sto_manifest_file(c->state, file_no) ||
        sto_handover_record_holds(&c->bulk, c->state->flushed_gen, file_no))
        return 0;
    int rc = read_info(c, file_no, &info);
    if (rc == 1)
        rc = was_named(c, &info);
    c->lost = rc == 1;
    return c->lost ? TS_ECANCELLED : rc;
}

int sto_lost__edits(const struct ts_fs *fs, const char *dir, const struct sto_manifest_state *state,
                    struct ts_error *err)
{
    struct compare c = {.fs = fs,
                        .state = state,
                        .files_dir = ts_fs_join(dir, "files"),
                        .wal_dir = ts_fs_join(dir, "wal"),
                        .err = err};
    struct ts_error why = {0};
    int rc = sto_handover_record_read(fs, dir, &c.bulk, &why);
    if (rc >= 0)
        rc = fs->list(fs, c.files_dir, look, &c, &why);
    sto_handover_record_release(&c.bulk);
    ts_free(c.files_dir);
    ts_free(c.wal_dir);
    if (c.lost || rc == 0 || rc == TS_ENOTFOUND)
        return c.lost;
    if (err && why.code)
        *err = why;
    return rc;
}
