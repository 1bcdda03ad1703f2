/*
 * zfs.c - the cache of ZFS, from /proc/spl/kstat/zfs/arcstats.
 *
 * Threads    the collector's own
 * Source     OpenZFS, module/zfs/arc.c (names of the statistics)
 */
#include "collectors/host/rows.h"

static const struct col_metric metrics[] = {
    {"zfs.arc.requests", "type", "requests", "Requests to the cache: hit, miss.", COL_COUNTER},
    {"zfs.arc.l2_requests", "type", "requests", "Requests to the second cache on disk: hit, miss.",
     COL_COUNTER},
    {"zfs.arc.bytes", "type", "bytes", "Sizes of the cache: size, target, max, and l2.", COL_GAUGE},
    {"zfs.arc.throttled", "", "1", "Times a reader waited because there was no memory for the cache.",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct col_row rows[] = {
    {.path = "/proc/spl/kstat/zfs/arcstats", .key = "hits", .column = 1, .type = "hit"},
    {.path = "/proc/spl/kstat/zfs/arcstats", .key = "misses", .column = 1, .type = "miss"},
    {.path = "/proc/spl/kstat/zfs/arcstats", .key = "l2_hits", .column = 1, .metric = 1, .type = "hit"},
    {.path = "/proc/spl/kstat/zfs/arcstats", .key = "l2_misses", .column = 1, .metric = 1, .type = "miss"},
    {.path = "/proc/spl/kstat/zfs/arcstats", .key = "size", .column = 1, .metric = 2, .type = "size"},
    {.path = "/proc/spl/kstat/zfs/arcstats", .key = "c", .column = 1, .metric = 2, .type = "target"},
    {.path = "/proc/spl/kstat/zfs/arcstats", .key = "c_max", .column = 1, .metric = 2, .type = "max"},
    {.path = "/proc/spl/kstat/zfs/arcstats", .key = "l2_size", .column = 1, .metric = 2, .type = "l2"},
    {.path = "/proc/spl/kstat/zfs/arcstats", .key = "memory_throttle_count", .column = 1, .metric = 3},
    {.path = NULL},
};

COL_ROWS_COLLECTOR(zfs, 60, "The cache of ZFS.");
