/*
 * forget.h - remove series to which nothing refers, and names that no series has, from the catalog and free
 * their memory.
 *
 * Readers may hold pointers to series in two ways. A worker holds one at most until the end of its turn, and
 * the thread that forgets waits until each worker has ended one. All other readers call
 * sto_catalog_read_begin and sto_catalog_read_end; snapshots do that themselves. A removed series is freed
 * when every worker has ended a turn and every reader that began before the removal has ended.
 *
 *   used: the series in files and memstores
 *   sto_catalog_forget_begin(used)   leaving = all but used; caches of workers become void (generation)
 *   (each worker ends a turn, after which all it sent is in the memstores)
 *   sto_catalog_forget_spare(used)   series that were put meanwhile stay
 *   sto_catalog_forget_finish()      writes them to the log as forgotten, syncs it, and removes them
 *   (each worker ends a turn)
 *   sto_catalog_reclaim()            memory
 *
 * A series that is looked up by its text or ids while it is leaving stays. While the log is being written, a
 * lookup returns TS_EBUSY; the sender tries again a moment later and gets a new number. Numbers are never
 * reused.
 *
 * Names go the same way in the same passes. A name may be forgotten if
 *   - no series has it, not even one that was removed and is not freed yet. Therefore whoever holds a series
 *     finds its names, and the names of a series follow it in a later pass;
 *   - no person has assigned it (sto_uid_assign). A log of an older version does not say which names were
 *     assigned: all that no series had when it was first opened count as assigned. A deleted name
 *     (sto_uid_delete) may be forgotten;
 *   - nothing outside of the catalog mentions its id (sto_name_keeper), and its kind may be forgotten.
 * All names become candidates before the series are visited, and a lookup by name, by sto_uid_keep or by the
 * creation of a series keeps a candidate. So a name is either seen in a series or kept, whenever the series is
 * created. While the log is being written, series and names are not created from these names (TS_EBUSY). Series
 * come before names in the log, so that after a crash no series lacks a name. The highest id of each kind stays
 * known, and ids are never reused: a name that comes back gets a new one.
 *
 * Threads    one thread at a time calls the functions of a pass; readers: any
 * Not here   which series have points (engine/forget.c)
 */
#ifndef STORAGE_CATALOG_FORGET_H
#define STORAGE_CATALOG_FORGET_H

#include "storage/catalog/catalog.h"

/* Does something outside of the engine, such as an annotation or metadata, refer to the series? Called
 * without a lock. */
typedef bool (*sto_catalog_keep_fn)(void *arg, const struct sto_series *s);

/* What keeps names that no series has. */
struct sto_name_keeper {
    unsigned kinds; /* bit 1 << kind: names of this kind are never forgotten */
    /* Add the ids that something outside of the catalog mentions to the sets, by kind. Called without a lock,
     * twice in a pass; whoever writes a mention calls sto_uid_keep afterwards. NULL = there are none. */
    void (*mentioned)(void *arg, roaring_bitmap_t *const *ids);
    void *arg; /* for mentioned */
};
/** Set what keeps names; before the first pass. Until then nothing but series and people does. */
void sto_catalog_keep_names(struct sto_catalog *cat, const struct sto_name_keeper *keeper);

/**
 * Begin a pass: all series may leave but those in used and those whose tags a series of an internal metric
 * shares.
 *
 * @param used  numbers of series that have points; borrowed until return
 * @param keep  NULL: nothing else refers to series
 * @return how many series and names may leave; 0: no pass was begun
 *
 * Cost: two visits to each series and one to each name, without a lock.
 */
uint64_t sto_catalog_forget_begin(struct sto_catalog *cat, const roaring_bitmap_t *used,
                                  sto_catalog_keep_fn keep, void *arg);
/** Keep the series that are in use by now, and those that keep accepts. A writer of a reference to a series
 * looks the series up after writing it; therefore either keep sees the reference, or the series is looked up
 * while it is leaving. */
void sto_catalog_forget_spare(struct sto_catalog *cat, const roaring_bitmap_t *used, sto_catalog_keep_fn keep,
                              void *arg);
/** End the pass without forgetting anything, unless finish has begun to write the log. */
void sto_catalog_forget_cancel(struct sto_catalog *cat);
/**
 * Write the remaining series and names to the log as forgotten, and remove them.
 *
 * @param out_n  [out] series that were forgotten
 * @return 0
 *         TS_ENOSPC TS_ENOMEM TS_EMFILE  call again later, before anything else is begun: until then these
 *                                        series and names are refused with TS_EBUSY
 *         TS_EIO                         the log accepts nothing more until it is reopened
 *
 * Blocks: one fdatasync. The catalog's mutex is held for 256 series at a time.
 */
int sto_catalog_forget_finish(struct sto_catalog *cat, uint64_t *out_n, struct ts_error *err);
/** Is a finish that failed still to be repeated? */
bool sto_catalog_forget_unfinished(const struct sto_catalog *cat);
/** Are there removed series or names that are not freed yet? */
bool sto_catalog_has_retired(const struct sto_catalog *cat);
/** Free removed series and names that no reader can hold any more. Every worker must have ended a turn since the
 * last call. Each is freed by the second call after its removal at the earliest. */
void sto_catalog_reclaim(struct sto_catalog *cat);

/* Tests: steps of a pass after which other threads may act. */
enum sto_forget_step {
    STO_FORGET_BEGUN,  /* the candidates are known */
    STO_FORGET_SPARED, /* the series in use were removed from the candidates */
    /* the log has the forgotten series, the tables still contain them; the catalog must not be synced now */
    STO_FORGET_WRITTEN,
    STO_FORGET_TAKEN, /* they are removed from the tables too */
};
/** Tests: call step(arg, where) in the thread that forgets, at each of these steps of each pass. */
void sto_catalog_forget_on_step(struct sto_catalog *cat, void (*step)(void *arg, enum sto_forget_step where),
                                void *arg);

#endif
