/*
 * memory_select.h - which series of a remote store in memory a fetch selects.
 *
 * Threads    pure functions
 */
#ifndef STORAGE_REMOTE_MEMORY_SELECT_H
#define STORAGE_REMOTE_MEMORY_SELECT_H

#include "storage/remote.h"

/** Has a series the metric of a fetch (all_buckets: one that begins with it), and does it match all conditions? */
bool sto_memory_selects(const struct sto_fetch *f, const struct sto_remote_series *s);
/** Which of the series that a fetch requests has the tags of this one? f->n_series: none has. */
size_t sto_memory_position(const struct sto_fetch *f, const struct sto_remote_series *s);

#endif
