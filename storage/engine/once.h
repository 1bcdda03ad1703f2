/*
 * once.h - which additions of a client a shard already has, so that a repeated one is recognised and not added again.
 *
 * A client numbers its additions: an id (when it was made, and random bits) and a sequence from 1 on, ascending. The additions of one
 * sequence may belong to several shards; those of one shard are a part. Each shard has a table of its own, so that the number of
 * owners may change, and its owner decides about its parts alone: a part is new if its sequence is above the last one that this
 * shard added. So a repeat after a crash adds exactly the parts that are missing.
 *
 *   order     A client repeats everything from the first sequence without an answer on, in ascending order. After a refusal, later
 *             sequences are refused until the one that was refused arrives, because the last sequence would pass it otherwise.
 *   stream    A connection or request that sends sequences of an id in order has a number, higher than those of all streams before it in
 *             this run. What is left of an older stream is refused once a newer one has reached the shard: it could overtake a repeat.
 *   age       New sequences of an id are added until kept_s seconds after it was made. Repeats are recognised longer: the table keeps an id
 *             for kept_s and STO_ONCE_LONGER_S of the time for which the store runs, from when the shard first saw it, whatever happens to the wall
 *             clock (once_time.h). Then it forgets the id, which is refused from then on and never taken for a new one (once_gone.h).
 *   room      If there are max_ids ids, or max_client_ids of the client's address, a new one is refused. No id makes room for another one.
 *             Ids that were there when the store opened count for an address once it uses them again, if a log had them alone.
 *   crash     The caller writes id and sequence in the log record that has the additions, and calls sto_once_added after it. It encodes
 *             the table when a generation is frozen, before any addition of the next one, and makes that durable with the edit of the
 *             manifest that ends the flush: a table that knew of additions of a later generation would refuse what a power cut has lost.
 *             Replay calls sto_once_added for each record of later generations. What was refused is not kept: a crash ends all streams.
 *
 * Threads    the owner
 * Cost       two probes of a hash table for each part; memory is allocated only when the table grows
 * Not here   parts of a batch (parts.h), all tables of a store (once_all.h), records of the log, the manifest, and protocols
 */
#ifndef STORAGE_ENGINE_ONCE_H
#define STORAGE_ENGINE_ONCE_H

#include "base/buf.h"
#include "base/budget.h"
#include "storage/batch.h"
#include "storage/engine/once_gone.h"
#include "storage/engine/once_time.h"

#define STO_ONCE_AHEAD_S  3600u                  /* the clock of a client may be this far ahead */
#define STO_ONCE_LONGER_S (2 * STO_ONCE_AHEAD_S) /* ids stay this much longer than they may be used */

/* Limits of a table. */
struct sto_once_limits {
    size_t max_ids;           /* most ids at a time; at least 1 */
    size_t max_client_ids;    /* most ids of one client address; 0 = no limit of its own */
    uint64_t kept_s;          /* seconds for which an id may be used after it was made; at least 1 */
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
    STO_ONCE_SHARE,     /* the same for its address */
};
struct sto_once;

/** What the client should know of a refusal; static. */
const char *sto_once_why(enum sto_once_answer answer);
/** Most ids of a table that never takes more than so many bytes of its account, also while it grows. */
size_t sto_once_fit(uint64_t n_bytes);
/** Make an empty table. 0, TS_ENOMEM. */
int sto_once_new(const struct sto_once_limits *limits, struct sto_once **out);
/** Free a table. NULL is ignored. */
void sto_once_free(struct sto_once *t);
/**
 * Decide about one part. A new id gets its place here, so that sto_once_added does not fail afterwards. After STO_ONCE_NEW the caller
 * may ask about further parts, as if this one were added; then it calls sto_once_added for all of them, or sto_once_undone, or
 * sto_once_refused for the first.
 *
 * @param stream  its id, number and client; asker is not used
 * @param seq     at least 1
 */
enum sto_once_answer sto_once_look(struct sto_once *t, const struct sto_stream *stream, uint64_t seq,
                                   const struct sto_once_time *now);
/** The log has a part. During replay ids are taken beyond max_ids and beyond the account's limit, since their additions are in the
 * store. 0; TS_ENOMEM, only for an id that sto_once_look has not just accepted. */
int sto_once_added(struct sto_once *t, const struct sto_once_id *id, uint64_t seq);
/** A part that sto_once_look called new was not added and is not in the log: later sequences of the id are refused until it arrives. */
void sto_once_refused(struct sto_once *t, const struct sto_once_id *id, uint64_t seq);
/** The parts of an id that sto_once_look called new since the last call of sto_once_added are not in the log, and the caller will ask again. */
void sto_once_undone(struct sto_once *t, const struct sto_once_id *id);
/** Forget all ids of the table. */
void sto_once_forget_all(struct sto_once *t);
/** Do two tables remember the same ids, each with the same last sequence, and no other? */
bool sto_once_same(const struct sto_once *a, const struct sto_once *b);
/** Does a sequence that was refused have to arrive before later ones? */
bool sto_once_waits(const struct sto_once *t);
/** Make a copy with other limits, which knows the streams, too; while no part is being decided. Its memory is counted even beyond the account's
 * limit. 0, TS_ENOMEM. */
int sto_once_copy(const struct sto_once *from, const struct sto_once_limits *limits, struct sto_once **out);
/** Add what a table that is the same (sto_once_same) knows of ids that have added nothing, of streams and of time. 0; TS_ENOMEM: `to` has a part. */
int sto_once_join(struct sto_once *to, const struct sto_once *from);
/** Is an id of this second refused because one was forgotten? */
bool sto_once_is_forgotten(const struct sto_once *t, uint64_t made_s);
/** steady_s of the moment at which the table was encoded that was read; 0 = none was. */
uint64_t sto_once_former_s(const struct sto_once *t);
/** Has the table no id, and has it forgotten none? Then it need not be stored. */
bool sto_once_is_new(const struct sto_once *t);
/** Ids in the table; some of them may be over already. */
size_t sto_once_n(const struct sto_once *t);
/** Append the table to out, as docs/FORMAT.md "Ids of clients" describes it, without ids that are over at that moment. 0, TS_ENOMEM, TS_ELIMIT (out
 * is full; it has a part). */
int sto_once_encode(const struct sto_once *t, const struct sto_once_time *now, struct ts_buf *out);
/** Read what sto_once_encode wrote into a table that is empty, of a store that opens. 0, TS_ENOMEM, TS_ECORRUPT (the table may have a part). */
int sto_once_decode(struct sto_once *t, struct ts_slice bytes, struct ts_error *err);

#endif
