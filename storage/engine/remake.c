/*
 * remake.c - rewrites files that are damaged without loss of points.
 *
 * Threads    remake.h
 */
#include "storage/engine/remake.h"

#include <inttypes.h>

#include "base/log.h"
#include "storage/engine/check/fsck_file.h"
#include "storage/engine/output.h"

#define NUMBER_TRIES 1000 /* limit of numbers that files of an earlier crash may occupy */

/* Has the new file all rows and tombstones of the old one? */
static bool is_whole(const struct sto_sst_info *old, const struct sto_sst_info *new)
{
    return new->n_rows == old->n_rows &&new->n_points == old->n_points &&new->n_tombs ==
           old->n_tombs &&new->min_ms == old->min_ms &&new->max_ms == old->max_ms &&new->tomb_min_ms ==
           old->tomb_min_ms &&new->tomb_max_ms == old->tomb_max_ms;
}

/* Write everything that can be read of a file to a new one: 1, 0 nothing can be read, < 0. */
static int salvage(struct sto_engine *e, const struct sto_sst_info *old, struct sto_sst_info *out,
                   struct sto_fsck_file *found, struct ts_error *err)
{
    int rc = TS_EEXIST;
    for (int i = 0; rc == TS_EEXIST && i < NUMBER_TRIES; i++)
        rc = sto_fsck_file_salvage(e->fs, e->files_dir, old, sto_engine__file_no(e), out, found, err);
    return rc;
}

/* Check for free space before a file is rewritten. Its rows can still be read, so rewriting it is not worth
 * filling the disk. */
static int look_at_room(struct sto_engine *e, const struct sto_sst_info *info, struct ts_error *err)
{
    uint64_t room = 0;
    if (sto_output__has_room(e, info->t_bytes + info->s_bytes, &room))
        return 0;
    return ts_error_set(err, TS_ENOSPC,
                        "making file %08" PRIx64 " again needs more space than the %" PRIu64 " bytes left",
                        info->file_no, room);
}

static int remake(struct sto_engine *e, struct sto_sst *sst, bool *out_broken, struct ts_error *err)
{
    const struct sto_sst_info *old = sto_sst_info(sst);
    const char *broken = sto_sst_broken(sst);
    bool points = broken || sto_sst_has_lost_index(sst); /* else the summaries alone */
    struct sto_sst_info *new = ts_xcalloc(1, sizeof *new);
    struct sto_output out = {.e = e, .gen_lo = old->gen_lo, .gen_hi = old->gen_hi, .infos = new};
    struct sto_fsck_file found = {.unread = false};
    struct ts_error why = {0};
    uint64_t file_no = old->file_no;
    /* a broken file is rewritten anyway, since the store does not open without it */
    int rc = broken ? 0 : look_at_room(e, old, &why);
    if (rc == 0)
        rc = salvage(e, old, new, &found, &why);
    out.n = out.cap = rc == 1;
    if (rc == 1 && is_whole(old, new))
        rc = sto_output__commit(&out, &file_no, 1, 0, &why);
    else if (rc >= 0 && found.unread)
        rc = ts_error_set(&why, TS_EIO,
                          "file %08" PRIx64
                          " is damaged and the disk cannot read all of its rows at present; if this "
                          "persists run tsd fsck",
                          file_no);
    else if (rc >= 0)
        rc = ts_error_set(&why, TS_ECORRUPT, "%s", broken ? broken : "rows of the file can't be read");
    *out_broken |= out.perhaps_named;
    bool may_do_without = !points && !out.perhaps_named;
    sto_output__release(&out, rc == 0);
    if (rc == 0)
        ts_log(TS_LOG_WARN, "a damaged file was rewritten file=%08" PRIx64 ".%c rows=%" PRIu64, file_no,
               points ? 't' : 's', old->n_rows);
    else if (rc == TS_ECORRUPT)
        sto_sst_set_no_remake(sst);
    else if (rc == TS_EIO && found.unread)
        sto_sst_note_unread(sst);
    if (rc < 0 && may_do_without)
        return 0; /* a line was logged already */
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int sto_remake__all(struct sto_engine *e, bool *out_broken, struct ts_error *err)
{
    struct sto_version *v = sto_engine_pin(e);
    int rc = 0;
    *out_broken = false;
    for (size_t i = 0; !*out_broken && i < v->n_ssts; i++) {
        if (!sto_sst_needs_remake(v->ssts[i]))
            continue;
        if (!sto_output__take(e, &v->ssts[i], 1))
            continue;
        int one = remake(e, v->ssts[i], out_broken, rc ? NULL : err);
        sto_output__give_back(e);
        rc = rc ? rc : one;
    }
    sto_engine_unpin(e, v);
    return rc;
}
