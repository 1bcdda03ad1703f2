/*
 * edac.c - errors of memory that the controller corrected or could not, from /sys/devices/system/edac.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/admin-guide/RAS/main.rst
 */
#include "collectors/host/rows.h"

static const struct col_metric metrics[] = {
    {"sys.edac.errors", "controller type", "errors", "Errors of memory: corrected, uncorrected.",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct col_row rows[] = {
    {.path = "/sys/devices/system/edac/mc/mc*/ce_count", .type = "corrected"},
    {.path = "/sys/devices/system/edac/mc/mc*/ue_count", .type = "uncorrected"},
    {.path = NULL},
};

COL_ROWS_COLLECTOR(edac, 60, "Errors of memory with ECC.");
