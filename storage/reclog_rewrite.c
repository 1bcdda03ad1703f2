/*
 * reclog_rewrite.c - rewrite a record log: a new file is written beside it and renamed.
 *
 * Format     docs/FORMAT.md "Record log"
 * Threads    see reclog.h: the long step needs no lock of the log
 * Invariant  the file under the log's name is the old or the new one, each with all records that were flushed
 */
#include "base/mem.h"
#include "storage/reclog_int.h"

#define TAIL_BYTES (1u << 20) /* of records written meanwhile, before they are appended to the new file */

/* A rewriting in progress. */
struct sto_reclog_rewrite {
    struct sto_reclog *fresh; /* the new file, PATH.tmp */
    /* end of the old file at the beginning; records after it are appended to the new file */
    uint64_t from_off;
};

int sto_reclog__take_over(struct sto_reclog *log, struct ts_file *file, struct ts_error *err)
{
    (void)log->fs->close(log->file, NULL); /* its contents are replaced: an error has no effect */
    log->file = file;
    return ts_fs_sync_folder_of(log->fs, log->path, err);
}

static int may_write(const struct sto_reclog *log, struct ts_error *err)
{
    if (log->read_only)
        return ts_error_set(err, TS_EINVAL, "%s: opened read-only", log->path);
    return log->broken ? sto_reclog__refuse(log, err) : 0;
}

static struct sto_reclog *fresh_new(const struct sto_reclog *log)
{
    char *tmp = ts_fs_suffixed(log->path, ".tmp");
    struct sto_reclog *fresh = sto_reclog__new(log->fs, tmp, log->kind);
    ts_free(tmp);
    return fresh;
}

/* Create fresh->path with the contents from emit, written and synced. */
static int write_fresh(struct sto_reclog *fresh, sto_reclog_emit_fn emit, void *arg, struct ts_error *err)
{
    (void)fresh->fs->unlink(fresh->fs, fresh->path, NULL); /* remove what a crash left */
    TS_TRY(fresh->fs->open(fresh->fs, fresh->path, TS_OPEN_CREATE, &fresh->file, err));
    uint8_t header[STO_RECLOG_HEADER_BYTES];
    sto_reclog__header_make(header, fresh->kind);
    TS_TRY(fresh->fs->append(fresh->file, header, sizeof(header), err));
    fresh->end_off = sizeof(header);
    TS_TRY(emit(arg, fresh, err));
    return sto_reclog_flush(fresh, true, err);
}

static void drop_fresh(struct sto_reclog *fresh)
{
    if (fresh->file)
        (void)fresh->fs->unlink(fresh->fs, fresh->path, NULL);
    (void)sto_reclog__free(fresh, NULL);
}

/* The new file, written and synced, becomes the log; its copy is that of the former one. fresh is freed also on error. */
static int put_in_place(struct sto_reclog *log, struct sto_reclog *fresh, struct ts_error *err)
{
    int rc = log->fs->rename(log->fs, fresh->path, log->path, err);
    if (rc < 0) {
        drop_fresh(fresh);
        return rc;
    }
    /* from here on the new file is the log, even if its name is not synced yet */
    struct ts_file *file = fresh->file;
    log->end_off = fresh->end_off;
    log->synced_off = fresh->synced_off;
    log->dirty_end = false;
    ts_buf_clear(&log->buf);
    ts_buf_release(&log->healed);
    fresh->file = NULL;
    (void)sto_reclog__free(fresh, NULL);
    struct ts_error why = {0};
    rc = sto_reclog__take_over(log, file, &why);
    if (rc == 0)
        return 0;
    why.code = TS_EIO;
    sto_reclog__break(log,
                      &why); /* a power cut may restore the old file, without records added from now on */
    if (err)
        *err = why;
    return TS_EIO;
}

int sto_reclog_replace(struct sto_reclog *log, const struct sto_reclog_replacement *with,
                       struct ts_error *err)
{
    TS_TRY(may_write(log, err));
    struct sto_reclog *fresh = fresh_new(log);
    int rc = write_fresh(fresh, with->emit, with->arg, err);
    if (rc == 0 && with->may && !with->may(with->may_arg))
        rc = ts_error_set(err, TS_EBUSY, "%s is not replaced", log->path);
    if (rc < 0) {
        drop_fresh(fresh);
        return rc;
    }
    TS_TRY(put_in_place(log, fresh, err));
    sto_reclog__copy_drop(log);
    return 0;
}

int sto_reclog_rewrite(struct sto_reclog *log, sto_reclog_emit_fn emit, void *arg, struct ts_error *err)
{
    TS_TRY(sto_reclog_replace(log, &(struct sto_reclog_replacement){.emit = emit, .arg = arg}, err));
    sto_reclog_renew_copy(log);
    return 0;
}

/* --- in three steps --- */

int sto_reclog_rewrite_begin(struct sto_reclog *log, struct sto_reclog_rewrite **out_rw, struct ts_error *err)
{
    *out_rw = NULL;
    TS_TRY(may_write(log, err));
    TS_TRY(sto_reclog_flush(log, false, err));
    struct sto_reclog_rewrite *rw = ts_xcalloc(1, sizeof(*rw));
    rw->fresh = fresh_new(log);
    rw->from_off = log->end_off;
    *out_rw = rw;
    return 0;
}

int sto_reclog_rewrite_write(struct sto_reclog_rewrite *rw, sto_reclog_emit_fn emit, void *arg,
                             struct ts_error *err)
{
    return write_fresh(rw->fresh, emit, arg, err);
}

static int add_again(void *arg, uint64_t off, const struct sto_reclog__head *head, struct ts_slice body,
                     struct ts_error *err)
{
    (void)off;
    (void)head; /* the synced offset of the old file means nothing in the new one */
    struct sto_reclog *fresh = arg;
    TS_TRY(sto_reclog_add(fresh, body, err));
    return fresh->buf.n < TAIL_BYTES ? 0 : sto_reclog_flush(fresh, false, err);
}

/* Append the records of the file of the log from off on. This process wrote them all, so that there is no
 * torn end. */
static int add_tail(struct sto_reclog *log, struct sto_reclog *fresh, uint64_t off, struct ts_error *err)
{
    TS_TRY(sto_reclog__read(log->fs, log->file, log->end_off, &off, add_again, fresh, err));
    if (off < log->end_off)
        return ts_error_set(err, TS_ECORRUPT, "%s: offset %llu: damaged record, it is not copied", log->path,
                            (unsigned long long)off);
    return 0;
}

int sto_reclog_rewrite_finish(struct sto_reclog *log, struct sto_reclog_rewrite *rw, struct ts_error *err)
{
    struct sto_reclog *fresh = rw->fresh;
    int rc = may_write(log, err);
    if (rc == 0)
        rc = sto_reclog_flush(log, false, err); /* buffered records then follow with the rest of the file */
    if (rc == 0)
        rc = add_tail(log, fresh, rw->from_off, err);
    if (rc == 0)
        rc = sto_reclog_flush(fresh, true, err);
    ts_free(rw);
    if (rc < 0) {
        drop_fresh(fresh);
        return rc;
    }
    TS_TRY(put_in_place(log, fresh, err));
    sto_reclog__copy_renew(log);
    return 0;
}

void sto_reclog_rewrite_abort(struct sto_reclog_rewrite *rw)
{
    drop_fresh(rw->fresh);
    ts_free(rw);
}
