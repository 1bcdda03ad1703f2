/*
 * staging.h - the staging folders of bulk loads: DIR/bulk/ID.
 *
 *   TOKEN        random digits, by which an importer sees that the path it was given leads to the same folder
 *   STATE, files of the importer (engine/bulk/)
 *   ready/       files to be handed over
 *   DONE         they are part of the store
 *
 * Threads    any; a mutex inside, which is not held while files are copied
 * Not here   handing over (engine/handover.h)
 */
#ifndef STORAGE_STAGING_H
#define STORAGE_STAGING_H

#include <pthread.h>

#include "storage/bulk.h"

struct sto_engine;
struct sto_catalog;
struct sto_floors;

struct sto_staging_folder {
    char id[STO_BULK_ID_CHARS + 1];
    int64_t used_ms;      /* monotonic time of the last call that named it */
    bool busy;            /* it is handed over, or removed */
    _Atomic bool *cancel; /* ends the hand-over that is at work; NULL = there is none */
};

struct sto_staging {
    const struct ts_fs *fs;      /* borrowed */
    char *dir;                   /* the data folder; owned */
    int64_t keep_ms;             /* a folder that is not used for so long is removed */
    struct sto_engine *engine;   /* set when the store is open */
    struct sto_catalog *catalog; /* the same */
    /* As in struct sto_handover, set with them; marks gets marks_arg. */
    struct sto_floors *(*marks)(void *arg);
    void *marks_arg;
    pthread_mutex_t *marks_mu;
    pthread_mutex_t mu;     /* protects the list */
    pthread_cond_t vacated; /* a folder is not busy any more */
    struct sto_staging_folder folders[STO_BULK_MAX];
    unsigned n;
};

/** Find the folders that there are. 0; errors of the file system. Release it in any case. */
int sto_staging_open(struct sto_staging *s, const struct ts_fs *fs, const char *dir, int64_t keep_ms,
                     struct ts_error *err);
/** Release what it owns. */
void sto_staging_release(struct sto_staging *s);
/** Is there a folder whose files may be handed over, so that no series may be forgotten? */
bool sto_staging_any(struct sto_staging *s);
/** Remove the folders that were not used for keep_ms. The compact thread calls it from time to time; it logs errors. */
void sto_staging_tick(struct sto_staging *s);
/** As sto_bulk_begin. */
int sto_staging_begin(struct sto_staging *s, struct ts_slice id, struct sto_bulk_place *out,
                      struct ts_error *err);
/** As sto_bulk_touch. */
int sto_staging_touch(struct sto_staging *s, struct ts_slice id, struct ts_error *err);
/** As sto_bulk_list. */
int sto_staging_list(struct sto_staging *s, struct sto_bulk_load out[STO_BULK_MAX], size_t *out_n,
                     struct ts_error *err);
/** As sto_bulk_hand_over, or as sto_bulk_replace if replace is not NULL. */
int sto_staging_hand_over(struct sto_staging *s, struct ts_slice id, const struct sto_bulk_sum *expect,
                          const struct sto_bulk_replace *replace, struct sto_bulk_sum *out,
                          struct ts_error *err);
/** As sto_bulk_end. */
int sto_staging_end(struct sto_staging *s, struct ts_slice id, struct sto_bulk_ended *out,
                    struct ts_error *err);

#endif
