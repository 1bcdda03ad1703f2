/*
 * reclog_int.h - a record log that is open, and how its bytes are read: shared by reclog.c, reclog_copy.c,
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
#define STO_RECLOG_COPY    ".copy" /* behind the name of a log: the same bytes once more */

/* The same bytes in a second file. */
struct sto_reclog__copy {
    bool wanted;          /* sto_reclog_keep_copy was called */
    struct ts_file *file; /* NULL: there is none at the moment */
    char *path;           /* owned; NULL until wanted */
    uint64_t end_off;     /* bytes that are those of the log */
    bool dirty_end;       /* bytes of a failed write may stand behind end_off */
    bool warned;          /* the first failure was told */
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
    bool dirty_end;      /* bytes of a failed write may stand behind end_off: cut first */
    bool broken;         /* a write or sync failed: nothing more is accepted */
    struct ts_error why; /* the error that broke it */
    struct sto_reclog__copy copy;
    struct ts_buf healed; /* records found in the copy alone, to be added to the file; empty mostly */
};

/* What stands before a body. */
struct sto_reclog__head {
    uint32_t n_bytes; /* length of the body */
    uint32_t crc;     /* CRC-32C of the body */
    uint64_t synced;  /* bytes of the file on disk when the record was made */
};

/* Takes a record that is whole; off is its place in the file, body is borrowed until return. < 0 ends the reading. */
typedef int (*sto_reclog__record_fn)(void *arg, uint64_t off, const struct sto_reclog__head *head,
                                     struct ts_slice body, struct ts_error *err);

/** A log without a file; path is copied. */
struct sto_reclog *sto_reclog__new(const struct ts_fs *fs, const char *path, const char kind[4]);
/** Close its files and free it; the buffer is lost. */
int sto_reclog__free(struct sto_reclog *log, struct ts_error *err);
/** From now on nothing is accepted. */
void sto_reclog__break(struct sto_reclog *log, const struct ts_error *why);
/** What a broken log answers: TS_EIO. */
int sto_reclog__refuse(const struct sto_reclog *log, struct ts_error *err);
/** Make a header of kind. */
void sto_reclog__header_make(uint8_t h[STO_RECLOG_HEADER_BYTES], const char kind[4]);
/** 0, TS_ECORRUPT, TS_EVERSION; path is for the text. */
int sto_reclog__header_check(const uint8_t *h, const char *path, const char kind[4], struct ts_error *err);
/** Can what stands at p (STO_RECLOG_HEAD_BYTES) be the head of a record at off of a file of size bytes? */
bool sto_reclog__head_get(const uint8_t *p, uint64_t off, uint64_t size, struct sto_reclog__head *out);
/** Make the head of a record. */
void sto_reclog__head_make(uint8_t h[STO_RECLOG_HEAD_BYTES], struct ts_slice body, uint64_t synced);
/** `synced` of a good head. */
uint64_t sto_reclog__synced(const char *head);
/** Hand the records from *off on of a file of size bytes to fn, until its end or the first one that is not whole: both
 * checksums are looked at. *off becomes the end of the last one. 0 also if the reading ended early; TS_EIO, TS_ENOMEM,
 * what fn returned. Reads by pieces of 256 KiB, or of one record. */
int sto_reclog__read(const struct ts_fs *fs, struct ts_file *file, uint64_t size, uint64_t *off,
                     sto_reclog__record_fn fn, void *arg, struct ts_error *err);
/** A whole record at off of a file that is in memory? Its body is borrowed from the file. */
bool sto_reclog__record_get(struct ts_slice file, uint64_t off, struct ts_slice *out_body,
                            uint64_t *out_synced);
/** "PATH.copy"; ts_free it. */
char *sto_reclog__copy_path(const char *path);
/** A new file has taken the log's name: close the old one, go on with the new one, sync the folder. */
int sto_reclog__take_over(struct sto_reclog *log, struct ts_file *file, struct ts_error *err);

/* reclog_copy.c */
/** The log ends at log->end_off, by what its own file says. Records that the copy has behind that go to
 * log->healed; there are some only if the bytes before are the same in both. No copy is no error. */
int sto_reclog__copy_heal(struct sto_reclog *log, struct ts_error *err);
/** Bring the copy to log->end_off, p being the n bytes before that. Failures are logged once, never told. */
void sto_reclog__copy_append(struct sto_reclog *log, const void *p, size_t n);
/** A sync of the log has failed: take from the copy what may not be on disk, so that the next opening sees them
 * differ. */
void sto_reclog__copy_cut(struct sto_reclog *log);
/** The log's file was replaced: make the copy anew. */
void sto_reclog__copy_renew(struct sto_reclog *log);
/** Sync and close it. */
void sto_reclog__copy_close(struct sto_reclog *log);

#endif
