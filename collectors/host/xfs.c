/*
 * xfs.c - file systems of type xfs, all together, from /proc/fs/xfs/stat.
 *
 * Threads    the collector's own
 * Source     xfs.org, Runtime Stats
 */
#include "collectors/host/rows.h"

static const struct col_metric metrics[] = {
    {"xfs.calls", "type", "calls", "Reads and writes asked for: read, write.", COL_COUNTER},
    {"xfs.bytes", "type", "bytes", "Bytes of them: read, write.", COL_COUNTER},
    {"xfs.extents", "type", "extents", "Extents allocated, freed.", COL_COUNTER},
    {"xfs.log_writes", "", "writes", "Blocks of the log written.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct col_row rows[] = {
    {.path = "/proc/fs/xfs/stat", .key = "rw", .type = "write"},
    {.path = "/proc/fs/xfs/stat", .key = "rw", .column = 1, .type = "read"},
    {.path = "/proc/fs/xfs/stat", .key = "xpc", .column = 1, .metric = 1, .type = "write"},
    {.path = "/proc/fs/xfs/stat", .key = "xpc", .column = 2, .metric = 1, .type = "read"},
    {.path = "/proc/fs/xfs/stat", .key = "extent_alloc", .metric = 2, .type = "allocated"},
    {.path = "/proc/fs/xfs/stat", .key = "extent_alloc", .column = 2, .metric = 2, .type = "freed"},
    {.path = "/proc/fs/xfs/stat", .key = "log", .metric = 3},
    {.path = NULL},
};

COL_ROWS_COLLECTOR(xfs, 60, "File systems of type xfs.");
