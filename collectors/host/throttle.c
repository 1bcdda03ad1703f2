/*
 * throttle.c - times a processor slowed down because it was hot, from /sys/devices/system/cpu.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/ABI/testing/sysfs-devices-system-cpu
 */
#include "collectors/host/rows.h"

static const struct col_metric metrics[] = {
    {"sys.cpu.throttles", "cpu type", "1", "Times a core, or its package, slowed down because it was hot.",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct col_row rows[] = {
    {.path = "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count", .type = "core"},
    {.path = "/sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count", .type = "package"},
    {.path = NULL},
};

COL_ROWS_COLLECTOR(throttle, 60, "Processors that slow down because they are hot.");
