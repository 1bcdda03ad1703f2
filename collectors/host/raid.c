/*
 * raid.c - software RAID, from /sys/block.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/admin-guide/md.rst
 */
#include "collectors/host/rows.h"

static const struct col_metric metrics[] = {
    {"sys.md.disks", "dev", "disks", "Disks the array should have.", COL_GAUGE},
    {"sys.md.degraded", "dev", "disks", "Disks that are missing.", COL_GAUGE},
    {"sys.md.mismatches", "dev", "sectors", "Sectors that differed at the last check.", COL_GAUGE},
    {"sys.md.sync_speed", "dev", "KiB/s", "Speed of a rebuild or check under way.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct col_row rows[] = {
    {.path = "/sys/block/md*/md/raid_disks"},
    {.path = "/sys/block/md*/md/degraded", .metric = 1},
    {.path = "/sys/block/md*/md/mismatch_cnt", .metric = 2},
    {.path = "/sys/block/md*/md/sync_speed", .metric = 3},
    {.path = NULL},
};

COL_ROWS_COLLECTOR(raid, 60, "Software RAID (md): missing disks, mismatches.");
