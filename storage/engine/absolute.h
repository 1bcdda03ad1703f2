/*
 * absolute.h - logs the value of a time that has additions, so that they need no older value any more.
 *
 * An addition whose older value only the remote store has cannot be sent to it, since a sum that is sent twice would count twice. So the
 * shipping pass reads the value that a query would find without the active memstores, and the owner of the series puts it, together with what
 * its memstore has added. This is one step among all writes of the series, because nobody else writes it. From then on the put hides
 * older values here and in the remote store, whether it was sent or not, and it may be sent any number of times.
 *
 *   shipping pass  value below the active memstores -> request
 *   owner          value and its active memstore -> log -> memstore
 *   shipping pass  waits for the log to be synced; a later pass sends the puts like all others
 *
 * Without the sync a power cut could remove the put and leave the addition, whose sum the remote store has by then. For the same reason no put is
 * made while somebody reads a version without the memstore that it would go to: he would add the addition to the sum.
 *
 * Not here   which additions, and the values below them (ship_absolute.c)
 */
#ifndef STORAGE_ENGINE_ABSOLUTE_H
#define STORAGE_ENGINE_ABSOLUTE_H

#include "storage/batch.h"
#include "storage/engine/engine_int.h"

struct sto_absolute;

/** A request to an owner, to be sent.
 *
 * @param owner     its index; all points are of series of its shards
 * @param v         the version that the values come from, all but the active memstores; pinned until sto_absolute_send returns
 * @param n_frozen  operations of its other memstores, counted before the values were read (sto_absolute_frozen) */
struct sto_absolute *sto_absolute_new(struct sto_engine *e, unsigned owner, const struct sto_version *v,
                                      uint64_t n_frozen);
/** Operations of the memstores of a version whose generation is below its newest one, which is the active one. */
uint64_t sto_absolute_frozen(const struct sto_version *v);
/** Its points, at most STO_BATCH_POINTS, those of one series and hour one after the other: the value of a time as a put, or an addition of 0
 * where there is no value. */
struct sto_batch *sto_absolute_batch(struct sto_absolute *a);
/**
 * Send it to the owner, wait until the puts are in its log and its memstore, and free the request.
 *
 * @param stop       if it becomes true, the call returns within 50 ms unless the owner has begun
 * @param out_n_put  [out] puts that were made. Values that were put or deleted meanwhile need none
 * @param out_over   [out] the owner is at another generation: other values of this version cannot be put either
 * @return 0; TS_EBUSY: some could not be put now, since the owner is at another generation, has no space or has deletes
 *         of these series in memory, and their values have to be read again; TS_ECANCELLED; TS_EIO: the log is broken
 *
 * Threads: one that runs no owner, unless no thread runs owners. Cost: the owner's time, O(points + operations of their rows in memory).
 */
int sto_absolute_send(struct sto_absolute *a, const _Atomic bool *stop, uint32_t *out_n_put, bool *out_over,
                      struct ts_error *err);
/** Wait until everything that is in the logs now is synced, whatever wal_sync says: what the remote store has must not be lost here. TS_ECANCELLED; TS_EIO. */
int sto_absolute_sync(struct sto_engine *e, const _Atomic bool *stop, struct ts_error *err);

/** The owner's part; takes the message. */
void sto_absolute__handle(struct sto_owner *o, struct ts_msg *msg);
/** Free a message that no owner will take any more, and for which nobody waits. */
void sto_absolute__drop(struct ts_msg *msg);

#endif
