/*
 * orphans.c - see orphans.h.
 */
#include "storage/engine/orphans.h"

#include "base/log.h"
#include "storage/engine/files/sst_format.h"
#include "storage/engine/total_files.h"
#include "storage/engine/unfinished.h"

struct orphans {
    struct sto_engine *e;
    bool keep; /* the record of a merge that may have finished them can't be read */
    struct sto_total_ids totals[STO_TOTALS_MAX]; /* that are declared */
    size_t n_totals;
    unsigned n; /* files removed */
};

static void drop(struct orphans *o, const char *name)
{
    char *path = ts_fs_join(o->e->files_dir, name);
    if (o->e->fs->unlink(o->e->fs, path, NULL) == 0)
        o->n++;
    ts_free(path);
}

/* Remove a file that the manifest does not list, since it was being written when the process ended, or one of a total that is not declared. */
static int drop_orphan(void *arg, const char *name)
{
    struct orphans *o = arg;
    enum sto_sst_kind kind;
    uint64_t no;
    if (!sto_sst__name_parse(name, &no, &kind))
        return 0;
    if (sto_manifest_file(sto_manifest_state(o->e->manifest), no)) {
        if (kind == STO_SST_KIND_TOTAL && !sto_total_files__is_declared(o->totals, o->n_totals, name))
            drop(o, name);
        return 0;
    }
    if (no >= o->e->next_file_no)
        o->e->next_file_no = no + 1;
    if (sto_unfinished__holds(o->e, no))
        return 0;
    if (o->keep) {
        sto_unfinished__keep(o->e, no);
        return 0;
    }
    drop(o, name);
    return 0;
}

int sto_orphans__drop(struct sto_engine *e, struct ts_error *err)
{
    struct orphans o = {.e = e, .keep = !sto_unfinished__open(e)};
    o.n_totals = sto_engine_declared(e, o.totals);
    TS_TRY(e->fs->list(e->fs, e->files_dir, drop_orphan, &o, err));
    if (o.n)
        ts_log(TS_LOG_INFO, "removed unfinished files=%u", o.n);
    return 0;
}
