/*
 * forget.h - series that nothing mentions any more leave the catalog, and their memory is used again.
 *
 * Who may still look at a series is known in two ways. Workers end turns, and whoever decides about forgetting waits until
 * each has ended one. All others say when they begin and end to look (sto_catalog_read_begin, _end); snapshots do so by
 * themselves. What was taken out at one moment is freed when every worker has ended a turn and every reader that began
 * before has ended.
 *
 *   used: what files and memstores mention
 *   sto_catalog_forget_begin(used)   leaving = all but used; texts that workers know are void (generation)
 *   (each worker ends a turn, then all it sent is in the memstores)
 *   sto_catalog_forget_spare(used)   what was put meanwhile stays
 *   sto_catalog_forget_finish()      the log says that they are gone, synced; then they are taken out
 *   (each worker ends a turn)
 *   sto_catalog_reclaim()            memory
 *
 * A series that is asked for by its text or ids while it is leaving stays. While the log is being written the answer is
 * TS_EBUSY: whoever sends the point tries again a moment later and gets a new number. Numbers are never given out twice.
 *
 * Threads    one thread at a time calls the functions of a pass; readers: any
 * Not here   what mentions a series (engine/forget.c)
 */
#ifndef STORAGE_CATALOG_FORGET_H
#define STORAGE_CATALOG_FORGET_H

#include "storage/catalog/catalog.h"

/* Does something outside of the engine mention a series (annotations, metadata)? Called without a lock. */
typedef bool (*sto_catalog_keep_fn)(void *arg, const struct sto_series *s);

/**
 * Begin: all series but these may leave, and those that series of hidden metrics with the same tags belong to.
 *
 * @param used  numbers that are mentioned; borrowed until return
 * @param keep  NULL: nobody else mentions series
 * @return how many may leave; 0: nothing was begun
 *
 * Cost: one look at each series, without a lock.
 */
uint64_t sto_catalog_forget_begin(struct sto_catalog *cat, const roaring_bitmap_t *used,
                                  sto_catalog_keep_fn keep, void *arg);
/** What is used stays after all, and what keep says: whoever writes something about a series asks for the series
 * afterwards, so either keep sees what was written, or the series is asked for while it is leaving. */
void sto_catalog_forget_spare(struct sto_catalog *cat, const roaring_bitmap_t *used, sto_catalog_keep_fn keep,
                              void *arg);
/** Nothing is forgotten, unless the log is being written (see finish). */
void sto_catalog_forget_cancel(struct sto_catalog *cat);
/**
 * Write down that what is left is gone, and take it out.
 *
 * @param out_n  [out] series that were forgotten
 * @return 0
 *         TS_ENOSPC TS_ENOMEM TS_EMFILE  call again later, before anything else is begun: until then these series are
 *                                        refused with TS_EBUSY
 *         TS_EIO                         the log takes nothing more until reopened
 *
 * Blocks: one fdatasync. The catalog's mutex is held for 256 series at a time.
 */
int sto_catalog_forget_finish(struct sto_catalog *cat, uint64_t *out_n, struct ts_error *err);
/** Is a finish that failed still to be repeated? */
bool sto_catalog_forget_unfinished(const struct sto_catalog *cat);
/** Is there memory that waits for readers? */
bool sto_catalog_has_retired(const struct sto_catalog *cat);
/** Every worker has ended a turn since the last call: free what no reader can look at any more. What was taken out is
 * freed by the second call at the earliest. */
void sto_catalog_reclaim(struct sto_catalog *cat);

/* Tests: moments of a pass at which others may act. */
enum sto_forget_step {
    STO_FORGET_BEGUN,  /* it is known what may leave */
    STO_FORGET_SPARED, /* and what stays after all */
    STO_FORGET_WRITTEN, /* the log says what is gone, the tables do not yet; the catalog must not be synced now */
    STO_FORGET_TAKEN, /* the tables too */
};
/** Tests: step(arg, where) is called by the thread that forgets, at each of these moments of each pass. */
void sto_catalog_forget_on_step(struct sto_catalog *cat, void (*step)(void *arg, enum sto_forget_step where),
                                void *arg);

#endif
