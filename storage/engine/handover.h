/*
 * handover.h - makes the bulk files of a staging folder part of the store, all at once.
 *
 *   1  DIR/BULK names the staging folder and the numbers that the copies get
 *   2  each file is copied into files/ and the copy is read from front to back: nothing of the staging folder is trusted. The footers of
 *      the copies have the generation that step 5 will give them: one far above those of the memstores, which flushes do not reach meanwhile
 *      If something is replaced, a file of tombstones is one more copy; its generation is the one below
 *   3  DIR/BULK says that generation; the copies are opened
 *      (points of hours that have summaries in place of points are refused: step 2 reads the marks, and if they have risen since, step 4 does not begin)
 *   4  everything put so far is flushed; the generation of the next memstores is the one above that of the files
 *   5  one edit of the manifest lists all files and calls their generation flushed
 *   6  the staging folder gets DONE, DIR/BULK is removed
 *
 * A crash or an error before 5 leaves the store as it was: a start removes the copies, and the staging folder is complete. After 5 the
 * files are part of the store, and a start does 6, or the next call that concerns the folder. Files of the staging folder are removed only when
 * it has DONE. Steps 4 and 5 hold flush_mu, so that no flush comes between: that is one flush and one record of the manifest. Flushes, and
 * puts that wait for one, never wait for the copies to be read, written or synced.
 *
 * A replacement deletes what was put before step 4 and, since its tombstones are older than the files, nothing of these.
 *
 * For equal times the files are newer than everything that was put before step 4, deletes too, and older than what is put afterwards: it is as if
 * their points had been put at that moment. An importer does not know when its input was true, but whoever starts an import while
 * points arrive wants its values, and whoever corrects a value afterwards wants the correction.
 *
 * Threads    one hand-over at a time; a job's thread, and others of the same priority that copy and check files with it, one for each further processor
 * Not here   staging folders (storage/staging.h), copying (handover_copy.c)
 */
#ifndef STORAGE_ENGINE_HANDOVER_H
#define STORAGE_ENGINE_HANDOVER_H

#include "storage/engine/engine.h"
#include "storage/engine/handover_record.h"
#include "storage/floors.h"

/* What is handed over. */
struct sto_handover {
    const char *dir;                        /* the staging folder */
    const char *id;                         /* its name */
    const struct sto_bulk_sum *sum;         /* what ready/ must contain; n_bytes is not compared */
    const struct sto_bulk_replace *replace; /* NULL: nothing is deleted */
    /* Does the store have this series, with this metric? Any thread. */
    bool (*known)(void *arg, uint32_t metric, uint32_t series);
    /* Marks of summaries (storage/age.h): points of their series before the cutoff never answer. A reference; NULL: there are none. They do not change while
     * marks_mu is locked. Any thread. */
    struct sto_floors *(*marks)(void *arg);
    pthread_mutex_t *marks_mu; /* borrowed */
    /* Append its metric and tags, as in "m host=a", cut after 100 bytes. Any thread. */
    void (*name)(void *arg, uint32_t series, struct ts_buf *out);
    void *arg;
    const _Atomic bool *cancel; /* ends steps 1 and 2 with TS_ECANCELLED; may be NULL */
};

/** Hand over; errors as sto_bulk_hand_over. */
int sto_engine_hand_over(struct sto_engine *e, const struct sto_handover *h, struct sto_bulk_sum *out,
                         struct ts_error *err);
/** Finish what an error has left of the last hand-over if it was that of the staging folder id. Call it before the folder is removed: without
 * DONE, and while DIR/BULK names it, a repair of the manifest takes the points from the folder. 0; TS_EBUSY; errors of the file system.
 * Threads: any. */
int sto_engine_hand_over_settle(struct sto_engine *e, const char *id, struct ts_error *err);
/** Finish what a crash or an error has left of the last hand-over: DIR/BULK is gone when 0 is returned. For a start, and before the next
 * hand-over. Errors of the file system. */
int sto_handover__settle(struct sto_engine *e, struct ts_error *err);

#define STO_HANDOVER_DONE "DONE" /* in a staging folder: its files are part of the store */
/** Read DIR/DONE of a staging folder. 1; 0: there is none; TS_EEXIST: it is damaged, or not the store's; errors of reading. */
int sto_handover_done_read(const struct ts_fs *fs, const char *staging, struct sto_bulk_sum *out,
                           struct ts_error *err);

/** For a store without a manifest, whose files have these numbers: does one that the record does not name prove that the manifest had those that it
 * names? No flush and no merge writes a generation as high as theirs before. */
bool sto_handover_is_proven(const struct ts_fs *fs, const char *files_dir,
                            const struct sto_handover_record *r, const uint64_t *numbers, size_t n);

/* handover_copy.c */
/** Copy one pair of files from the folder `from` to files/ and check each byte of the copy, which is synced when 0 is returned. No point is before the mark of its
 * series; marks may be NULL. copy has the number of the copy and, as gen_lo, its only generation; it describes the copy then. TS_EINVAL: it is no valid file of
 * points. The caller removes what there is of the copy after an error. */
int sto_handover__copy(struct sto_engine *e, const struct sto_handover *h, const char *from,
                       const struct sto_sst_info *info, const struct sto_floors *marks,
                       struct sto_sst_info *copy, struct ts_error *err);

#endif
