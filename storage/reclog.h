/*
 * reclog.h - an append-only log of checked records in one file, with a checkpoint that replaces it: manifest,
 * catalog and small cells use it.
 *
 *   header (magic, version, kind, CRC) | record | record | ...
 *   record: length u32 · CRC of body u32 · synced u64 · CRC of these 16 bytes u32 · body
 *
 * `synced` is the number of bytes of the file that were on disk when the record was made. After a power cut
 * any subset of the pages that were not synced may have survived, so that a bad record may be followed by
 * good ones: the log ends at the bad record and is truncated there when it is opened for writing. If a later
 * record shows that the bad one had been synced, the file is damaged: TS_ECORRUPT with file and offset.
 * Rewriting writes path.tmp, syncs it, renames it and syncs the folder, so that the file is always either the
 * old or the new one.
 *
 * Format     docs/FORMAT.md "Record log"
 * Threads    one thread at a time (callers lock), except for sto_reclog_rewrite_write
 */
#ifndef STORAGE_RECLOG_H
#define STORAGE_RECLOG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

struct sto_reclog;
#define STO_RECLOG_MAX_RECORD_BYTES (64u << 20)
#define STO_RECLOG_HEADER_BYTES     20u /* before the first record */
#define STO_RECLOG_HEAD_BYTES       20u /* before the body of each record */

/* Receives one record while a log is opened. body is borrowed until return. A result < 0 stops the opening,
 * which returns it. */
typedef int (*sto_reclog_fn)(void *arg, struct ts_slice body, struct ts_error *err);

/**
 * Open (or create) a log and call each() for its records in order.
 *
 * @param kind       4 characters such as "MANI", which must be those of the file
 * @param read_only  nothing is changed: a torn tail is skipped, a missing file is TS_ENOTFOUND
 * @param each       may be NULL
 * @return 0
 *         TS_ECORRUPT  damage, or a file of another kind: file and offset are named
 *         TS_EVERSION  made by a newer program
 *         TS_ENOTFOUND TS_EIO TS_ENOSPC TS_ENOMEM, or what each() returned
 *
 * Owns: path is copied; fs must outlive the log.   Blocks: reads the file; writing: one fdatasync.
 */
int sto_reclog_open(const struct ts_fs *fs, const char *path, const char kind[4], bool read_only,
                    sto_reclog_fn each, void *arg, struct sto_reclog **out_log, struct ts_error *err);
/** Keep a copy of the file beside it (PATH.copy) from now on. The next opening restores the lost end of a log
 * from it; fsck repairs a damaged log with it. If the copy is missing or differs, it is made now, and the log
 * is rewritten too, because its end may be only in memory (if a process ended after a failed sync). An error
 * of the copy is logged once and has no other effect. Does nothing for a read-only log.
 *  @return 0; TS_EIO: the log could not be rewritten; close it */
int sto_reclog_keep_copy(struct sto_reclog *log, struct ts_error *err);
/** Write the buffer (without sync) and close. NULL is ignored; the log is freed also on error. */
int sto_reclog_close(struct sto_reclog *log, struct ts_error *err);
/** Close without writing the buffer. NULL is ignored. */
void sto_reclog_abandon(struct sto_reclog *log);
/** Add a record (1..STO_RECLOG_MAX_RECORD_BYTES) to the buffer, which the next flush writes. TS_ELIMIT (too
 * large), TS_EINVAL (empty, or the log is read-only), TS_ENOMEM; on error nothing is added. */
int sto_reclog_add(struct sto_reclog *log, struct ts_slice body, struct ts_error *err);
/** Write the buffer, and call fdatasync if sync is set. After TS_EIO the log refuses everything until it is
 * reopened. TS_ENOSPC truncates the file to its last good end and keeps the buffer for another attempt (if
 * the sync returned it, that attempt is refused with TS_EIO). Later refusals name the first error. */
int sto_reclog_flush(struct sto_reclog *log, bool sync, struct ts_error *err);
/** Has a write or sync failed, so that everything is refused until the log is opened again? */
bool sto_reclog_broken(const struct sto_reclog *log);
/** Bytes in the file and in the buffer. */
uint64_t sto_reclog_bytes(const struct sto_reclog *log);
/* Adds the records of the new contents to `fresh` with sto_reclog_add; it may call sto_reclog_flush(fresh,
 * false) to keep the buffer small. A result < 0 ends the rewriting. */
typedef int (*sto_reclog_emit_fn)(void *arg, struct sto_reclog *fresh, struct ts_error *err);
/**
 * Replace the contents, buffer included.
 *
 * @return 0, or an error of emit or of writing: the log is unchanged, or broken if the folder could not be
 *         synced after the rename (TS_EIO)
 */
int sto_reclog_rewrite(struct sto_reclog *log, sto_reclog_emit_fn emit, void *arg, struct ts_error *err);
/* What replaces the contents of a log, and who decides about it. */
struct sto_reclog_replacement {
    sto_reclog_emit_fn emit; /* adds the records */
    void *arg;               /* of emit */
    bool (*may)(
        void *
            arg); /* NULL, or called when they are on disk under another name; false: the log stays as it is */
    void *may_arg; /* of may */
};
/** The same, if may() allows it. Whatever takes long on a slow disk has been done before, but for the sync of the folder. The copy of the log is given up until
 * sto_reclog_renew_copy. Errors as sto_reclog_rewrite; TS_EBUSY: may() has returned false. */
int sto_reclog_replace(struct sto_reclog *log, const struct sto_reclog_replacement *with,
                       struct ts_error *err);
/** Make the copy of a log anew if there is none at present. An error is logged and has no other effect. Blocks: one fdatasync. */
void sto_reclog_renew_copy(struct sto_reclog *log);

/* The same in three steps. The long one needs no lock of the log: records may be added and flushed meanwhile,
 * and follow those of emit; emit may produce some of them too. Only one rewriting may run at a time, and no
 * sto_reclog_rewrite before it has ended. */
struct sto_reclog_rewrite;
/** Begin, and remember where the log ends. 0, errors of sto_reclog_flush, TS_EINVAL (read-only). */
int sto_reclog_rewrite_begin(struct sto_reclog *log, struct sto_reclog_rewrite **out_rw,
                             struct ts_error *err);
/** Write the new contents to a file beside the log, synced. After an error call sto_reclog_rewrite_abort. Blocks. */
int sto_reclog_rewrite_write(struct sto_reclog_rewrite *rw, sto_reclog_emit_fn emit, void *arg,
                             struct ts_error *err);
/** Add the records written meanwhile and rename the file to that of the log. rw is freed. Errors as for
 * sto_reclog_rewrite, and TS_ECORRUPT: a record written meanwhile cannot be read back; the log is unchanged.
 * Blocks: one fdatasync, and the copy is made again. */
int sto_reclog_rewrite_finish(struct sto_reclog *log, struct sto_reclog_rewrite *rw, struct ts_error *err);
/** Abort; the log is unchanged. rw is freed. */
void sto_reclog_rewrite_abort(struct sto_reclog_rewrite *rw);

#endif
