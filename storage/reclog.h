/*
 * reclog.h - an append-only log of checked records in one file, with a checkpoint that replaces it: manifest, catalog and small cells use it.
 *
 *   header (magic, version, kind) | record: length u32 · CRC-32C u32 · body | ...
 *
 * A torn tail (a bad record with nothing good behind it) is cut when opened for writing; a bad record with good ones behind it is TS_ECORRUPT with file and offset.
 * Rewriting writes name.tmp, syncs, renames, syncs the folder: the file is the old or the new one, never between.
 * Format     docs/FORMAT.md "Record log"
 * Threads    one thread at a time (callers lock)
 */
#ifndef STORAGE_RECLOG_H
#define STORAGE_RECLOG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

struct sto_reclog;
#define STO_RECLOG_MAX_RECORD_BYTES (64u << 20)

typedef int (*sto_reclog_fn)(void *arg, struct ts_slice body, struct ts_error *err);

/** Open (or create) path; kind (4 characters, "MANI") must agree; each record is given to each() in order. read_only: nothing is changed, torn tails are skipped. */
int sto_reclog_open(const struct ts_fs *fs, const char *path, const char kind[4], bool read_only, sto_reclog_fn each, void *arg,
                    struct sto_reclog **out_log, struct ts_error *err);
int sto_reclog_close(struct sto_reclog *log, struct ts_error *err);
/** Add a record to the buffer; it is written by the next flush. Never fails but for TS_ELIMIT (record too large). */
int sto_reclog_add(struct sto_reclog *log, struct ts_slice body, struct ts_error *err);
/** Write the buffer; sync: fdatasync too. After TS_EIO the log refuses everything until reopened; TS_ENOSPC cuts back and keeps the buffer for a later try. */
int sto_reclog_flush(struct sto_reclog *log, bool sync, struct ts_error *err);
/** Bytes in the file and in the buffer. */
uint64_t sto_reclog_bytes(const struct sto_reclog *log);
/** Replace the contents: emit() is called to add records to the new file through sto_reclog_add on the log passed to it. */
int sto_reclog_rewrite(struct sto_reclog *log, int (*emit)(void *arg, struct sto_reclog *fresh, struct ts_error *err), void *arg,
                       struct ts_error *err);

#endif
