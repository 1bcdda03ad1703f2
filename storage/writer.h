/*
 * writer.h - how points reach the owners of their shards: a writer belongs to one thread, which fills batches and turns the writer.
 * The engine implements it (engine/writer.c).
 *
 * Threads    the one that owns the writer
 * Not here   single points (sto_put in store.h), which writer belongs to whom (sto_writer)
 */
#ifndef STORAGE_WRITER_H
#define STORAGE_WRITER_H

#include "base/err.h"
#include "storage/batch.h"

struct sto_writer;

/* A refusal because of TS_ENOSPC has these words in its text. A socket transports the text alone: clients of the line protocol find the code by them
 * (docs/PROTOCOL.md, "What a refused put says"). */
#define STO_DISK_FULL "the disk is full"

/** Open batch for the owner of a series' shard, for parsers that put many points. Append to
 * batch->points[batch->n++] while n < STO_BATCH_POINTS, then call again. Returns NULL if the owner is busy or
 * the store refuses puts; sto_writer_error returns the reason. */
struct sto_batch *sto_writer_batch(struct sto_writer *writer, const struct sto_series *series);
/** Reason of a refusal, to be called after a put or sto_writer_batch failed: TS_ENOSPC, TS_ENOMEM, TS_EMFILE or
 * TS_EIO if the store refuses puts, otherwise TS_EBUSY; the text is in err. Never 0. */
int sto_writer_error(const struct sto_writer *writer, struct ts_error *err);
/** Index of the batch slot of a series, which is the owner of its shard. Until the next call of
 * sto_writer_batch or sto_writer_turn, series with equal slots share one batch. */
unsigned sto_writer_slot(const struct sto_writer *writer, const struct sto_series *series);
/** Send the open batches to the owners of their shards, and apply the batches that other writers sent: write
 * the log, then the memstores. Call it at the end of each turn of the event loop and when sto_writer_fd is
 * readable. It applies up to 64 batches; if there are more, sto_writer_fd stays readable, so that a worker serves its clients
 * even if others send batches faster than it applies them. */
void sto_writer_turn(struct sto_writer *writer);
/** Descriptor that is readable while sto_writer_turn has something to do. The writer owns it. */
int sto_writer_fd(const struct sto_writer *writer);
/** May the caller read more input? Returns false once any queue is filled to more than 75 % or memstores wait
 * for a flush, and true again below 50 %. Callers that ignore this may exceed memstore_bytes. The daemon
 * checks before each read of a line socket and before each body, so that it exceeds the limit by one buffer
 * and one body a worker at most. */
bool sto_writer_ready(struct sto_writer *writer);

/* --- additions that a client numbers (docs/PROTOCOL.md "Counters", engine/once.h) --- */

/** Number of a new stream, for struct sto_stream: higher than those of all streams before it. Any thread. */
uint64_t sto_writer_stream(struct sto_writer *writer);
/** As sto_writer_batch, but the batch has room for a part of n additions (at most STO_BATCH_POINTS) of that stream, which the caller adds at
 * once with sto_batch_part; stream NULL: for n points of no part that must not be parted, as a stamp and its value (storage/versions.h). The
 * points of a batch that sto_writer_batch has returned before may have been sent. */
struct sto_batch *sto_writer_batch_part(struct sto_writer *writer, const struct sto_series *series,
                                        const struct sto_stream *stream, uint32_t n);
/** False: sto_writer_batch_part accepts no part of a sequence at present, although the store accepts all else: the number of shards is being changed on a slow
 * disk. Its caller tries again later, and holds up nobody else meanwhile. */
bool sto_writer_accepts_parts(const struct sto_writer *writer);
/* A sequence of a stream was refused; parts of it that belong to other shards may have been added. */
struct sto_refused {
    const struct sto_stream *stream; /* borrowed until return */
    uint64_t seq;                    /* the lowest one that was refused in a batch */
    const char *why;                 /* what the client should do; static */
    bool forgotten;                  /* repeating it is in vain: the id is too old */
};
typedef void (*sto_refused_fn)(void *arg, const struct sto_refused *refused);
/** Set what is called in the thread of the writer, from any function of this header, for a sequence that an owner refused; before the barrier
 * that was requested after it is answered. */
void sto_writer_on_refused(struct sto_writer *writer, sto_refused_fn fn, void *arg);

/* A number of shards. */
typedef void (*sto_shards_fn)(void *arg, uint32_t n_shards);
/** Set what is called in the thread of the writer, from sto_writer_turn and before anything else that it calls back, when the store has got
 * another number of shards. Slots of series change with it. */
void sto_writer_on_shards(struct sto_writer *writer, sto_shards_fn fn, void *arg);

enum sto_level {
    STO_LEVEL_LOG,     /* written to the log with write(2) and visible to queries */
    STO_LEVEL_DISK,    /* logs synced */
    STO_LEVEL_FILES,   /* memstores flushed to files */
    STO_LEVEL_COMPACT, /* and the files are merged */
};
typedef void (*sto_done_fn)(void *arg, int rc, const struct ts_error *err);
/**
 * Request that everything put into this writer before the call reaches a level (LOG or DISK).
 *
 * @param asker  who asks, a number that the caller chooses: the one in the additions (sto_point.asker) that the answer
 *               is about; 0: whoever asks adds nothing
 * @param done   called once with the result, in the thread of the writer, from sto_writer_turn
 *
 * Results that done receives:
 *         0
 *         TS_ENOSPC TS_ENOMEM TS_EMFILE  the disk is full, memory is exhausted or no file can be opened. Some
 *                                        puts wait and are written as soon as that is possible: request
 *                                        another barrier. Additions of this asker that wait are dropped and never
 *                                        written, since the asker will repeat them; those of others go on waiting.
 *                                        Additions of this asker to other owners' shards may have been made.
 *         TS_EIO                         some puts are lost, or it is unknown until the store is opened again
 *                                        whether they are
 */
void sto_writer_barrier(struct sto_writer *writer, enum sto_level level, uint32_t asker, sto_done_fn done,
                        void *arg);

#endif
