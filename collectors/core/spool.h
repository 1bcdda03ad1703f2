/*
 * spool.h - stores points until they are delivered: every batch is written to a file before it is sent, and removed when the daemon
 * has acknowledged it.
 *
 * A folder of segments `NUMBER.seg`: batches of put lines, each with a checksum (spool_record.h), appended
 * with write(2). A segment is closed when it has a sixteenth of the limit, unlinked when all of it was
 * acknowledged; the open one is cut to nothing then. When the folder would grow above its limit, the whole oldest
 * segment is dropped and counted; the newest points stay. After a crash everything is sent again from the first segment on; a point
 * that is put twice is one point. A folder that is removed while it is in use is created again.
 *
 *   col_emit_end > append > [ seg seg seg seg ] > read > sink > "ok N" > ack
 *                                ^ acknowledged up to here
 *
 * While writes to the disk fail, batches are kept in memory, within a small limit, in the same order.
 *
 * Threads    append from any thread; read and ack from one thread
 * Not here   sending (sink.h)
 */
#ifndef COLLECTORS_CORE_SPOOL_H
#define COLLECTORS_CORE_SPOOL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

#include <stdbool.h>
#include <stdint.h>

/* How a spool is opened. */
struct col_spool_opts {
    const struct ts_fs *fs; /* NULL = the real one */
    const char *dir;        /* folder, made if missing, with those above it; NULL = memory only */
    const char *key;    /* the one max_bytes is from, for messages; borrowed. NULL = collect_spool_bytes */
    uint64_t max_bytes; /* batches on disk, or in memory without a folder; above it the oldest segment goes */
    uint64_t segment_bytes;  /* a segment is closed at this; 0 = a sixteenth of max_bytes, 4 KiB to 4 MiB */
    uint64_t fallback_bytes; /* batches in memory while the disk takes nothing; 0 = 4 MiB */
};

/* Statistics. */
struct col_spool_stats {
    uint64_t n_points;           /* waiting */
    uint64_t n_bytes;            /* of their batches */
    uint64_t n_taken;            /* points appended so far, those found at the start included */
    uint64_t n_acked;            /* points acknowledged so far */
    uint64_t n_dropped_points;   /* points lost because it was full or a segment was unreadable */
    uint64_t n_dropped_segments; /* segments dropped because it was full */
    uint64_t n_damaged;          /* lines of batches whose checksum was wrong, left out */
};

/* A place between two batches. */
struct col_spool_pos {
    uint64_t segment; /* number; 0 = nowhere */
    uint64_t off;     /* bytes */
    uint32_t n_lines; /* points between the acknowledged place and this, without damaged ones */
};

struct col_spool;
/** Open; TS_EBUSY if another process has the folder, TS_EIO, TS_ENOSPC. A batch that a killed process wrote in part is left out. */
int col_spool_open(const struct col_spool_opts *opts, struct col_spool **out, struct ts_error *err);
/** Close; lines that wait stay in the folder. NULL is harmless. */
void col_spool_close(struct col_spool *s);
/** Append a batch of whole lines (each ends with LF). TS_ELIMIT: larger than the whole spool, dropped and counted.
 * Other errors: the disk refused and the memory for that case is full; dropped and counted. With durable all that was
 * appended so far is on disk on return. */
int col_spool_append(struct col_spool *s, struct ts_slice lines, uint32_t n_points, bool durable,
                     struct ts_error *err);
/** Copy the lines of the batches that come next after the acknowledged place to out: at least one, at most max_bytes
 * if there are more.
 *  @return 1 = lines; 0 = nothing waits; TS_EIO, TS_ECORRUPT: a segment was lost, logged and counted; continue */
int col_spool_read(struct col_spool *s, size_t max_bytes, struct ts_buf *out, struct col_spool_pos *out_pos,
                   struct ts_error *err);
/** Call take with the lines of all batches that wait, in order, some batches at a time. Nothing is acknowledged; what
 * can't be read is left out. The reading thread only. Others wait for the whole of it: it costs the reading of all
 * that waits. */
void col_spool_each(struct col_spool *s, void (*take)(void *arg, struct ts_slice lines), void *arg);
/** Everything up to pos has arrived: remove it. A position in a segment that was dropped meanwhile is
 * ignored. */
void col_spool_ack(struct col_spool *s, const struct col_spool_pos *pos);
/** Sleep until something waits, col_spool_wake was called, or timeout_ms passed. True = something waits. */
bool col_spool_wait(struct col_spool *s, int64_t timeout_ms);
/** End a col_spool_wait under way, or the next one. */
void col_spool_wake(struct col_spool *s);
/** The limit it was opened with, bytes. */
uint64_t col_spool_max_bytes(const struct col_spool *s);
/** Figures. Any thread. */
void col_spool_stats(struct col_spool *s, struct col_spool_stats *out);

#endif
