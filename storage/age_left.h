/*
 * age_left.h - series whose points stay although they have expired, since a pass has not made their summaries.
 *
 * A few of so many series do not matter as series, but may have most of the points: so the limit of bytes (engine/evict.h) looks at their bytes.
 *
 * Threads    the compact thread
 * Not here   passes (age.h)
 */
#ifndef STORAGE_AGE_LEFT_H
#define STORAGE_AGE_LEFT_H

#include "storage/engine/engine.h"

struct sto_catalog;

/** Remember those of two sets that have points; each may be NULL. */
void sto_age_left__note(struct sto_age_left *left, const struct sto_catalog *catalog,
                        const roaring_bitmap_t *a, const roaring_bitmap_t *b);
/** Forget them. */
void sto_age_left__release(struct sto_age_left *left);

#endif
