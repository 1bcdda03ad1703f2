/*
 * hwmon.c - fans, voltages, currents and powers of boards, from /sys/class/hwmon; temperatures are temperature.c.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/hwmon/sysfs-interface.rst
 */
#include "collectors/host/rows.h"

static const struct col_metric metrics[] = {
    {"sys.fan", "device sensor", "rpm", "Speed of a fan.", COL_GAUGE},
    {"sys.voltage", "device sensor", "V", "A voltage.", COL_GAUGE},
    {"sys.current", "device sensor", "A", "A current.", COL_GAUGE},
    {"sys.power", "device sensor", "W", "A power.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct col_row rows[] = {
    {.path = "/sys/class/hwmon/*/fan*_input"},
    {.path = "/sys/class/hwmon/*/in*_input", .metric = 1, .scale = 1e-3},
    {.path = "/sys/class/hwmon/*/curr*_input", .metric = 2, .scale = 1e-3},
    {.path = "/sys/class/hwmon/*/power*_input", .metric = 3, .scale = 1e-6},
    {.path = "/sys/class/hwmon/*/power*_average", .metric = 3, .scale = 1e-6},
    {.path = NULL},
};

COL_ROWS_COLLECTOR(hwmon, 60, "Fans and voltages of boards.");
