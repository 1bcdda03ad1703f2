/*
 * fsck_totals.c - compares kept totals with the points of their files.
 *
 * Threads    one
 */
#include "storage/fsck_int.h"

#include "base/mem.h"
#include "storage/engine/files/sst_format.h"
#include "storage/engine/files/total.h"

#include <string.h>

static int tags_of(void *arg, uint32_t series, struct sto_tag *tags)
{
    const struct sto_fsck *k = arg;
    const struct sto_series *s = sto_series_get(k->cat, series);
    if (s && s->n_tags)
        memcpy(tags, s->tags, s->n_tags * sizeof *tags);
    return s ? s->n_tags : -1;
}

static void add_bad(struct sto_fsck *k, const char *path, const char *why)
{
    k->bad_totals = ts_xrealloc(k->bad_totals, (k->n_bad_totals + 1) * sizeof(char *));
    k->bad_totals[k->n_bad_totals++] = ts_xstrdup(path);
    sto_fsck__find(k, STO_FIND_DAMAGE, path, UINT64_MAX,
                   "%s; a repair removes the file, which tsd makes again", why);
}

static void check(struct sto_fsck *k, const struct sto_sst_info *info, const char *path, uint32_t no)
{
    struct sto_sst *sst;
    struct sto_total_ids ids;
    struct ts_error why = {0};
    if (sto_sst_open(k->fs, k->files_dir, NULL, info, &sst, NULL) < 0)
        return;
    int rc = sto_sst_total_ids(sst, no, &ids, &why);
    if (rc == 0 && sto_sst_open_total(sst, &ids))
        rc = sto_total_check(sst, &ids, tags_of, k, NULL, &why);
    if (rc == TS_ECORRUPT)
        add_bad(k, path, why.text);
    sto_sst_unref(sst);
}

static int on_name(void *arg, const char *name)
{
    struct sto_fsck *k = arg;
    enum sto_sst_kind kind;
    uint64_t no;
    if (!sto_sst__name_parse(name, &no, &kind) || kind != STO_SST_KIND_TOTAL)
        return 0;
    for (size_t i = 0; i < k->n_files; i++)
        if (k->files[i].info.file_no == no && !k->files[i].damaged) {
            char *path = ts_fs_join(k->files_dir, name);
            check(k, &k->files[i].info, path, sto_sst__total_of(name));
            ts_free(path);
        }
    return 0;
}

int sto_fsck__totals(struct sto_fsck *k, struct ts_error *err)
{
    int rc = k->fs->list(k->fs, k->files_dir, on_name, k, err);
    return rc == TS_ENOTFOUND ? 0 : rc;
}

int sto_fsck__drop_totals(struct sto_fsck *k, struct ts_error *err)
{
    for (size_t i = 0; i < k->n_bad_totals; i++)
        TS_TRY(sto_fsck__move_aside(k, k->bad_totals[i], err));
    return 0;
}

void sto_fsck__totals_release(struct sto_fsck *k)
{
    for (size_t i = 0; i < k->n_bad_totals; i++)
        ts_free(k->bad_totals[i]);
    ts_free(k->bad_totals);
}
