/*
 * once.h - sequences of increments that a client numbers, so that a repeat is recognised (docs/PROTOCOL.md "Counters").
 *
 * A connection of lines is one stream of one id; each line is a sequence. A request is a stream, its body one sequence. What the owner
 * of a shard decides comes back later (tsd_once_refused), before the barrier that was requested after the sequence is answered.
 *
 * Threads    one worker
 * Invariant  while a sequence is refused, later ones of the stream are not sent to any owner
 * Not here   what is a repeat (storage/engine/once.h), syntax of lines and bodies
 */
#ifndef TSD_INGEST_ONCE_H
#define TSD_INGEST_ONCE_H

#include "base/buf.h"
#include "storage/store.h"

#define TSD_ONCE_ID_BYTES 40 /* longest text of an id: 20 digits, a dash, 16 hexadecimal digits */

/* What a connection has sent of its id. {.client = ...}: nothing yet. */
struct tsd_once {
    uint64_t client;              /* address of the client, which may have so many ids; 0 = does not count */
    struct sto_stream stream;     /* number 0: no id was sent */
    char text[TSD_ONCE_ID_BYTES]; /* the id as it was sent */
    uint32_t text_n;              /* its length */
    uint64_t refused;             /* lowest sequence that was refused and not sent again since; 0 = none */
    uint64_t n_refusals;          /* refusals so far */
    char why[160];                /* of the last one */
};

/** Read an id, "SECONDS-HEX": when it was made, and up to 16 hexadecimal digits. 0; TS_EPARSE, also for 0 seconds. */
int tsd_once_id(struct ts_slice text, struct sto_once_id *out);
/** Read a sequence: a number from 1 on. 0, TS_EPARSE. */
int tsd_once_seq(struct ts_slice text, uint64_t *out);
/** Begin a stream with an id. */
void tsd_once_begin(struct tsd_once *o, struct sto_writer *writer, uint32_t asker,
                    const struct sto_once_id *id, struct ts_slice text);
/** May a sequence be sent? No, if an earlier one was refused. */
static inline bool tsd_once_may(const struct tsd_once *o, uint64_t seq)
{
    return !o->refused || seq <= o->refused;
}
/** A sequence was sent to its owners. */
static inline void tsd_once_sent(struct tsd_once *o, uint64_t seq)
{
    if (seq == o->refused)
        o->refused = 0;
}
/** A sequence was refused, here or by an owner; it has to be repeated. */
void tsd_once_refused(struct tsd_once *o, uint64_t seq, struct ts_slice why);

#endif
