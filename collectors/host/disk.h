/*
 * disk.h - points of block devices from a text of /proc/diskstats; remembers the last text for rates.
 *
 * Threads    one at a time
 */
#ifndef COLLECTORS_HOST_DISK_H
#define COLLECTORS_HOST_DISK_H

#include "collectors/core/collector.h"

#include <stdbool.h>

struct col_disks;

/** What the system knows of a device: whether it is a whole one (not a partition), and its name ("" = as the kernel names it). */
typedef void (*col_disk_query_fn)(void *arg, const char *dev, bool *out_whole, char out_name[128]);

/** Create the state that one text leaves for the next one. exclude: patterns of device names to leave out; borrowed. */
struct col_disks *col_disks_new(const char *exclude, col_disk_query_fn ask, void *arg);
void col_disks_free(struct col_disks *d);
/** Emit the points of a text. Rates are computed against the last call; now_ms: any clock that never goes back. */
void col_disks_parse(struct col_disks *d, struct ts_slice text, int64_t now_ms, struct col_emit *emit);

#endif
