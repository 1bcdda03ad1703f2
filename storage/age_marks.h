/*
 * age_marks.h - DIR/AGED: up to which hour each series has summaries in place of points.
 *
 * If the file is damaged or missing although there are summaries, every series that has a series of summaries gets the mark STO_AGED_LOST_MS, which
 * says that its mark is not known. It is replaced by a mark as soon as a pass has looked at the series, whatever becomes of other series, of passes and
 * of rules; until then it is kept in the file as any mark is.
 *
 * Format     docs/FORMAT.md "Marks of summaries"
 * Threads    reading: when the store opens; writing: the compact thread
 * Not here   which marks rise (age.h), marks of a series (keep.h)
 */
#ifndef STORAGE_AGE_MARKS_H
#define STORAGE_AGE_MARKS_H

#include "base/err.h"
#include "storage/floors.h"

#define STO_AGED_NAME    "AGED" /* in the data folder */
#define STO_AGED_LOST_MS STO_MIN_TS_MS

struct sto_store;

/**
 * Read DIR/AGED.
 *
 * @param out  [out] the marks; the reference is the caller's; NULL: there are none
 * @return 1, 0 = the file is damaged or missing, and out has the series whose marks are lost, which is logged
 *         TS_EVERSION, TS_EIO, TS_ENOMEM
 *
 * Cost: a look at each series if the file is damaged or missing.
 */
int sto_age_marks__read(struct sto_store *st, struct sto_floors **out, struct ts_error *err);
/** Replace DIR/AGED; NULL: by no marks. It is on disk when 0 is returned. TS_ELIMIT: more than STO_FLOORS_MAX marks; errors of sto_floors_write_to. */
int sto_age_marks__write(struct sto_store *st, const struct sto_floors *marks, struct ts_error *err);
/** Add a mark of a set of series, which is taken, to marks->at[0..marks->n), which has room for one more. */
void sto_age_marks__add(struct sto_floors *marks, int64_t to_ms, roaring_bitmap_t *series);

#endif
