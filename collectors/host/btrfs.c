/*
 * btrfs.c - space of file systems of type btrfs by its use, from /sys/fs/btrfs.
 *
 * Threads    the collector's own
 * Source     the kernel's fs/btrfs/sysfs.c
 */
#include "collectors/host/rows.h"

static const struct col_metric metrics[] = {
    {"btrfs.used", "fs use", "bytes", "Bytes used for data, metadata, system.", COL_GAUGE},
    {"btrfs.total", "fs use", "bytes", "Bytes set aside for them.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct col_row rows[] = {
    {.path = "/sys/fs/btrfs/*/allocation/*/bytes_used"},
    {.path = "/sys/fs/btrfs/*/allocation/*/total_bytes", .metric = 1},
    {.path = NULL},
};

COL_ROWS_COLLECTOR(btrfs, 60, "Space of file systems of type btrfs.");
