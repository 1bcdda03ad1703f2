/*
 * handover_record.h - the record DIR/BULK: the files that a hand-over of bulk files is about to make part of the store.
 *
 * It is on disk before the first copy is created in files/, and gets the generation of the files before they do. So a file that it names
 * and that the manifest does not list is no sign of a manifest that has lost edits (lost.h), and a repair without a manifest leaves such
 * files out: the staging folder still has all of their points. The hand-over is complete when the manifest calls its generation flushed,
 * since only its own edit does that.
 *
 * Format     docs/FORMAT.md "Bulk load"
 * Threads    plain data
 */
#ifndef STORAGE_ENGINE_HANDOVER_RECORD_H
#define STORAGE_ENGINE_HANDOVER_RECORD_H

#include "storage/bulk.h"

#define STO_HANDOVER_NAME "BULK" /* in the data folder */

struct sto_handover_record {
    char id[STO_BULK_ID_CHARS + 1]; /* the staging folder */
    uint64_t gen;            /* generation of the files; 0 = none yet: they are not part of the store */
    struct sto_bulk_sum sum; /* of the files */
    uint64_t *nos;           /* their numbers; owned */
    size_t n;
};

/** Release what it owns and empty it. */
void sto_handover_record_release(struct sto_handover_record *r);
/** Read DIR/BULK. 1; 0: there is none, *r is empty; TS_ECORRUPT; TS_EVERSION; errors of reading. */
int sto_handover_record_read(const struct ts_fs *fs, const char *dir, struct sto_handover_record *r,
                             struct ts_error *err);
/** Replace DIR/BULK; it is on disk when 0 is returned. */
int sto_handover_record_write(const struct ts_fs *fs, const char *dir, const struct sto_handover_record *r,
                              struct ts_error *err);
/** Does the record name a file that was not part of a store whose manifest says flushed_gen? */
bool sto_handover_record_holds(const struct sto_handover_record *r, uint64_t flushed_gen, uint64_t file_no);

#endif
