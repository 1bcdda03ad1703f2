/*
 * reclog_int.h - internals of an open record log and its reader, shared by reclog.c, reclog_copy.c,
 * reclog_rewrite.c and fsck.
 *
 * Format     docs/FORMAT.md "Record log"
 * Threads    one thread at a time (callers lock)
 */
#ifndef STORAGE_RECLOG_INT_H
#define STORAGE_RECLOG_INT_H

#include "storage/reclog.h"

#define STO_RECLOG_MAGIC   "TSDRECL\n"
#define STO_RECLOG_VERSION 1u
#define STO_RECLOG_COPY    ".copy" /* suffix of the copy of a log */

/* The copy of a log. */
struct sto_reclog__copy {
    bool wanted;          /* sto_reclog_keep_copy was called */
    struct ts_file *file; /* NULL: there is no copy at present */
    char *path;           /* owned; NULL until wanted */
    uint64_t end_off;     /* bytes that equal those of the log */
    bool dirty_end;       /* a failed write may have left bytes after end_off */
    bool warned;          /* the first failure was logged */
};

struct sto_reclog {
    const struct ts_fs *fs;
    struct ts_file *file;
    char *path;          /* owned */
    char kind[4];        /* of the file */
    struct ts_buf buf;   /* records not yet written */
    uint64_t end_off;    /* end of the last whole record in the file */
    uint64_t synced_off; /* everything before it is known to be on disk */
    bool read_only;
    /* a failed write may have left bytes after end_off; truncate before the next write */
    bool dirty_end;
    bool broken;         /* a write or sync failed; the log accepts nothing more */
    struct ts_error why; /* the error that broke it */
    struct sto_reclog__copy copy;
    struct ts_buf healed; /* records found only in the copy, to be added to the file; usually empty */
};

/* Head of a record, which precedes its body. */
struct sto_reclog__head {
    uint32_t n_bytes; /* length of the body */
    uint32_t crc;     /* CRC-32C of the body */
    uint64_t synced;  /* bytes of the file on disk when the record was made */
};

/* Receives a complete record; off is its place in the file, body is borrowed until return. A result < 0 ends
 * the reading. */
typedef int (*sto_reclog__record_fn)(void *arg, uint64_t off, const struct sto_reclog__head *head,
                                     struct ts_slice body, struct ts_error *err);

/** New log without a file; path is copied. */
struct sto_reclog *sto_reclog__new(const struct ts_fs *fs, const char *path, const char kind[4]);
/** Close the files and free the log; the buffer is discarded. */
int sto_reclog__free(struct sto_reclog *log, struct ts_error *err);
/** Mark the log as broken: it accepts nothing more. */
void sto_reclog__break(struct sto_reclog *log, const struct ts_error *why);
/** Error of a broken log: TS_EIO, with the first error in the text. */
int sto_reclog__refuse(const struct sto_reclog *log, struct ts_error *err);
/** Write the header of a file of this kind to h. */
void sto_reclog__header_make(uint8_t h[STO_RECLOG_HEADER_BYTES], const char kind[4]);
/** Check a header. 0, TS_ECORRUPT, TS_EVERSION; path is only for the text. */
int sto_reclog__header_check(const uint8_t *h, const char *path, const char kind[4], struct ts_error *err);
/** Read a head from the STO_RECLOG_HEAD_BYTES bytes at p. Returns false if they cannot be the head of a
 * record at off of a file of size bytes. */
bool sto_reclog__head_get(const uint8_t *p, uint64_t off, uint64_t size, struct sto_reclog__head *out);
/** Write the head of a record to h. */
void sto_reclog__head_make(uint8_t h[STO_RECLOG_HEAD_BYTES], struct ts_slice body, uint64_t synced);
/** The field `synced` of a valid head. */
uint64_t sto_reclog__synced(const char *head);
/** Call fn for the records from *off on of a file of size bytes, up to its end or the first incomplete
 * record; both checksums are verified. *off becomes the end of the last complete record. 0, also if the
 * reading ended early; TS_EIO, TS_ENOMEM, or what fn returned. Reads 256 KiB or one record at a time. */
int sto_reclog__read(const struct ts_fs *fs, struct ts_file *file, uint64_t size, uint64_t *off,
                     sto_reclog__record_fn fn, void *arg, struct ts_error *err);
/** Is there a complete record at off of a file in memory? Its body is borrowed from the file. */
bool sto_reclog__record_get(struct ts_slice file, uint64_t off, struct ts_slice *out_body,
                            uint64_t *out_synced);
/** "PATH.copy"; the caller frees it with ts_free. */
char *sto_reclog__copy_path(const char *path);
/** Replace the file of the log after a new file has got its name: close the old one and sync the folder. */
int sto_reclog__take_over(struct sto_reclog *log, struct ts_file *file, struct ts_error *err);

/* reclog_copy.c */
/** Read records that the copy has after log->end_off, the end of the log in its own file, into log->healed.
 * They are used only if the bytes before are the same in both files. A missing copy is no error. */
int sto_reclog__copy_heal(struct sto_reclog *log, struct ts_error *err);
/** Bring the copy to log->end_off, p being the n bytes before that. Failures are logged once and not
 * returned. */
void sto_reclog__copy_append(struct sto_reclog *log, const void *p, size_t n);
/** A sync of the log has failed: remove from the copy the bytes that may not be on disk, so that the next
 * opening sees that the files differ. */
void sto_reclog__copy_cut(struct sto_reclog *log);
/** Close the copy after the file of the log was replaced: it is that of the former one until it is made again. */
void sto_reclog__copy_drop(struct sto_reclog *log);
/** Make a new copy after the file of the log was replaced. */
void sto_reclog__copy_renew(struct sto_reclog *log);
/** Sync and close the copy. */
void sto_reclog__copy_close(struct sto_reclog *log);

#endif
