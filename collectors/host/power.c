/*
 * power.c - batteries and supplies, from /sys/class/power_supply.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/ABI/testing/sysfs-class-power
 */
#include "collectors/host/rows.h"

static const struct col_metric metrics[] = {
    {"sys.power_supply.online", "supply", "1", "1 while the supply gives power.", COL_GAUGE},
    {"sys.power_supply.capacity", "supply", "percent", "Charge of a battery.", COL_GAUGE},
    {"sys.power_supply.power", "supply", "W", "Power it gives or takes.", COL_GAUGE},
    {"sys.power_supply.energy", "supply type", "Wh", "Energy in a battery: now, full, design.", COL_GAUGE},
    {"sys.power_supply.cycles", "supply", "1", "Times a battery was charged.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct col_row rows[] = {
    {.path = "/sys/class/power_supply/*/online"},
    {.path = "/sys/class/power_supply/*/capacity", .metric = 1},
    {.path = "/sys/class/power_supply/*/power_now", .metric = 2, .scale = 1e-6},
    {.path = "/sys/class/power_supply/*/energy_now", .metric = 3, .type = "now", .scale = 1e-6},
    {.path = "/sys/class/power_supply/*/energy_full", .metric = 3, .type = "full", .scale = 1e-6},
    {.path = "/sys/class/power_supply/*/energy_full_design", .metric = 3, .type = "design", .scale = 1e-6},
    {.path = "/sys/class/power_supply/*/cycle_count", .metric = 4},
    {.path = NULL},
};

COL_ROWS_COLLECTOR(power, 60, "Batteries and power supplies.");
