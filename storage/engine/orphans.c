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
    unsigned n;
};

/* Remove a file that the manifest does not list: it was being written when the process ended. */
static int drop_orphan(void *arg, const char *name)
{
    struct orphans *o = arg;
    enum sto_sst_kind kind;
    uint64_t no;
    if (!sto_sst__name_parse(name, &no, &kind) ||
        (sto_manifest_file(sto_manifest_state(o->e->manifest), no) &&
         !sto_total_files__is_old(o->e, name, kind)))
        return 0;
    if (no >= o->e->next_file_no)
        o->e->next_file_no = no + 1;
    if (sto_unfinished__holds(o->e, no))
        return 0;
    if (o->keep) {
        sto_unfinished__keep(o->e, no);
        return 0;
    }
    char *path = ts_fs_join(o->e->files_dir, name);
    if (o->e->fs->unlink(o->e->fs, path, NULL) == 0)
        o->n++;
    ts_free(path);
    return 0;
}

int sto_orphans__drop(struct sto_engine *e, struct ts_error *err)
{
    struct orphans o = {.e = e, .keep = !sto_unfinished__open(e)};
    TS_TRY(e->fs->list(e->fs, e->files_dir, drop_orphan, &o, err));
    if (o.n)
        ts_log(TS_LOG_INFO, "removed unfinished files=%u", o.n);
    return 0;
}
