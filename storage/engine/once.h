/*
 * once.h - which additions of a client an owner already has, so that a repeated one is recognised and not added again.
 *
 * A client numbers its additions: an id (when it was made, and random bits) and a sequence from 1 on, ascending. The additions of one
 * sequence may belong to several owners. Each owner has a table of its own and decides about its own part alone: the part is new if its
 * sequence is above the last one that this owner added. So a repeat after a crash adds exactly the parts that are missing.
 *
 *   order     A client repeats everything from the first sequence without an answer on, in ascending order. After a refusal, later
 *             sequences are refused until the one that was refused arrives, because the last sequence would pass it otherwise.
 *   stream    A connection or request that sends sequences of an id in order has a number, higher than those of all streams before it in
 *             this run. What is left of an older stream is refused once a newer one has reached the owner: it could overtake a repeat.
 *   memory    An id is forgotten kept_s seconds after it was made, never earlier. The time up to which ids are forgotten never moves
 *             back, so a forgotten id is refused and never taken for a new one. If there are max_ids ids, a new one is refused.
 *   crash     The caller writes id and sequence in the log record that has the additions, and calls sto_once_added after it. It encodes
 *             the table when a generation is frozen, before any addition of the next one, and makes that durable with the edit of the
 *             manifest that ends the flush: a table that knew of additions of a later generation would refuse what a power cut has lost.
 *             Replay calls sto_once_added for each record of later generations. What was refused is not kept: a crash ends all streams.
 *
 * Threads    the owner
 * Cost       two probes of a hash table for each part; memory is allocated only when the table grows
 * Not here   records of the log, the manifest, and protocols; nothing writes the encoded form into a store yet
 */
#ifndef STORAGE_ENGINE_ONCE_H
#define STORAGE_ENGINE_ONCE_H

#include "base/buf.h"
#include "base/budget.h"

#define STO_ONCE_AHEAD_S 3600u /* the clock of a client may be this far ahead */

/* Identity of a client. No two clients may have the same. */
struct sto_once_id {
    uint64_t made_s; /* seconds since 1970 when the client made it; at least 1 */
    uint64_t random; /* distinguishes ids of one second */
};
/* Limits of a table. */
struct sto_once_limits {
    size_t max_ids;           /* most ids at a time; at least 1 */
    uint64_t kept_s;          /* seconds from when an id was made until it is forgotten; at least 1 */
    struct ts_budget *budget; /* account of the table; NULL: not counted */
};
/* What to do with a part. All but the first two are refusals. */
enum sto_once_answer {
    STO_ONCE_NEW,       /* add it, then call sto_once_added or sto_once_refused */
    STO_ONCE_REPEAT,    /* it was added before: answer as if it were new, add nothing */
    STO_ONCE_WAIT,      /* an earlier sequence was refused and must arrive first */
    STO_ONCE_STALE,     /* a newer stream of this id has been seen */
    STO_ONCE_FORGOTTEN, /* the id is too old; the client makes a new one */
    STO_ONCE_AHEAD,     /* the clock of the client is ahead; it corrects it and begins a new stream */
    STO_ONCE_FULL,      /* there is no room for another id; the client begins a new stream later */
};
struct sto_once;

/** Make an empty table. 0, TS_ENOMEM. */
int sto_once_new(const struct sto_once_limits *limits, struct sto_once **out);
/** Free a table. NULL is ignored. */
void sto_once_free(struct sto_once *t);
/**
 * Decide about one part. A new id gets its place here, so that sto_once_added does not fail afterwards. After STO_ONCE_NEW the caller asks
 * about no other part of this id before it has called sto_once_added or sto_once_refused.
 *
 * @param seq     at least 1
 * @param stream  number of the stream, at least 1
 * @param now_s   wall clock; it may jump
 */
enum sto_once_answer sto_once_look(struct sto_once *t, const struct sto_once_id *id, uint64_t seq,
                                   uint64_t stream, uint64_t now_s);
/** The log has a part. During replay ids are taken beyond max_ids and beyond the account's limit, since their additions are in the
 * store. 0; TS_ENOMEM, only for an id that sto_once_look has not just accepted. */
int sto_once_added(struct sto_once *t, const struct sto_once_id *id, uint64_t seq);
/** A part that sto_once_look called new was not added and is not in the log: later sequences of the id are refused until it arrives. */
void sto_once_refused(struct sto_once *t, const struct sto_once_id *id, uint64_t seq);
/** Ids in the table; some of them may be forgotten already. */
size_t sto_once_n(const struct sto_once *t);
/** Append the table to out: varints for the time up to which ids are forgotten, the number of ids, and for each one the second it was made in,
 * its random bits and its last sequence. 0, TS_ENOMEM, TS_ELIMIT (out is full; it has a part). */
int sto_once_encode(const struct sto_once *t, struct ts_buf *out);
/** Read what sto_once_encode wrote into a table that is empty. 0, TS_ENOMEM, TS_ECORRUPT (the table may have a part). */
int sto_once_decode(struct sto_once *t, struct ts_slice bytes, struct ts_error *err);

#endif
