/*
 * reclog.h - an append-only log of checked records in one file, with a checkpoint that replaces it: manifest,
 * catalog and small cells use it.
 *
 *   header (magic, version, kind, CRC) | record | record | ...
 *   record: length u32 · CRC of body u32 · synced u64 · CRC of these 16 bytes u32 · body
 *
 * `synced` tells how much of the file was on disk when the record was made. After a power cut the pages of a
 * file survive in any order, so a bad record may have good ones behind it that were never synced: the log
 * ends there and is cut when opened for writing. A bad record that a later record knows to have been synced
 * is damage: TS_ECORRUPT with file and offset. Rewriting writes path.tmp, syncs, renames, syncs the folder:
 * the file is the old or the new one, never between.
 *
 * Format     docs/FORMAT.md "Record log"
 * Threads    one thread at a time (callers lock), but for sto_reclog_rewrite_write
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

/* Takes one record while a log is opened; body is borrowed until return; < 0 stops and is returned by open. */
typedef int (*sto_reclog_fn)(void *arg, struct ts_slice body, struct ts_error *err);

/**
 * Open (or create) a log and hand each record to each() in order.
 *
 * @param kind       4 characters ("MANI") that must agree with the file's
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
/** From now on keep a copy of the file beside it (PATH.copy); a log that loses its end is healed by it at the next
 * opening, one that is damaged by fsck. Made now if it is missing or not the same; then the log is written anew too,
 * for its end may be in memory alone (a process that ended after a failed sync). What goes wrong with the copy is
 * logged once and otherwise without consequence. Nothing is done for a log that is read-only.
 *  @return 0; TS_EIO: the log could not be written anew, close it */
int sto_reclog_keep_copy(struct sto_reclog *log, struct ts_error *err);
/** Write what is buffered (without sync) and close. NULL is harmless; the log is gone in any case. */
int sto_reclog_close(struct sto_reclog *log, struct ts_error *err);
/** Close without writing what is buffered. NULL is harmless. */
void sto_reclog_abandon(struct sto_reclog *log);
/** Add a record (1..STO_RECLOG_MAX_RECORD_BYTES) to the buffer; it is written by the next flush. TS_ELIMIT (too
 *  large), TS_EINVAL (empty, or the log is read-only), TS_ENOMEM; nothing is added then. */
int sto_reclog_add(struct sto_reclog *log, struct ts_slice body, struct ts_error *err);
/** Write the buffer; sync: fdatasync too. After TS_EIO the log refuses everything until reopened; TS_ENOSPC cuts
 *  back to the last good end and keeps the buffer for a later try (if it was a sync that met it, that try is refused
 *  with TS_EIO). What is refused later names the first error. */
int sto_reclog_flush(struct sto_reclog *log, bool sync, struct ts_error *err);
/** Has a write or sync failed, so that everything is refused until the log is opened again? */
bool sto_reclog_broken(const struct sto_reclog *log);
/** Bytes in the file and in the buffer. */
uint64_t sto_reclog_bytes(const struct sto_reclog *log);
/* Adds the records of new contents through sto_reclog_add on the log passed to it; it may call sto_reclog_flush(fresh,
 * false) to keep the buffer small. < 0 ends the rewriting. */
typedef int (*sto_reclog_emit_fn)(void *arg, struct sto_reclog *fresh, struct ts_error *err);
/**
 * Replace the contents, buffer included.
 *
 * @return 0, or an error of emit or of writing: the log is as it was, unless it is broken now (the folder could not
 *         be synced after the rename: TS_EIO)
 */
int sto_reclog_rewrite(struct sto_reclog *log, sto_reclog_emit_fn emit, void *arg, struct ts_error *err);

/* The same in three steps, of which the long one needs no lock of the log: meanwhile records may be added and flushed,
 * and come behind those of emit; some of them may be among those of emit too. One rewriting at a time, and no
 * sto_reclog_rewrite before it has ended. */
struct sto_reclog_rewrite;
/** Remember where the log ends. 0, or what sto_reclog_flush answers, TS_EINVAL (read-only). */
int sto_reclog_rewrite_begin(struct sto_reclog *log, struct sto_reclog_rewrite **out_rw,
                             struct ts_error *err);
/** Write the new contents to a file beside the log, synced. After an error call sto_reclog_rewrite_abort. Blocks. */
int sto_reclog_rewrite_write(struct sto_reclog_rewrite *rw, sto_reclog_emit_fn emit, void *arg,
                             struct ts_error *err);
/** Add what came meanwhile, give the file the log's name. rw is freed. Errors as sto_reclog_rewrite, and TS_ECORRUPT:
 * a record that came meanwhile can't be read back as it was written; the log is as it was. Blocks: one fdatasync, and
 * the copy is made anew. */
int sto_reclog_rewrite_finish(struct sto_reclog *log, struct sto_reclog_rewrite *rw, struct ts_error *err);
/** Give it up; the log is as it was. */
void sto_reclog_rewrite_abort(struct sto_reclog_rewrite *rw);

#endif
