/*
 * netclass.c - what network interfaces are set to and how they are, from /sys/class/net.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/ABI/testing/sysfs-class-net
 */
#include "collectors/host/rows.h"

static const struct col_metric metrics[] = {
    {"sys.net.carrier", "iface", "1", "1 while there is a link, else 0.", COL_GAUGE},
    {"sys.net.carrier_changes", "iface", "1", "Times the link came or went.", COL_COUNTER},
    {"sys.net.speed", "iface", "Mbit/s", "Speed of the link.", COL_GAUGE},
    {"sys.net.mtu", "iface", "bytes", "Largest packet.", COL_GAUGE},
    {"sys.net.bond.link_failures", "iface", "1", "Times a member of a bond lost its link.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct col_row rows[] = {
    {.path = "/sys/class/net/*/carrier"},
    {.path = "/sys/class/net/*/carrier_changes", .metric = 1},
    {.path = "/sys/class/net/*/speed", .metric = 2},
    {.path = "/sys/class/net/*/mtu", .metric = 3},
    {.path = "/sys/class/net/*/bonding_slave/link_failure_count", .metric = 4},
    {.path = NULL},
};

COL_ROWS_COLLECTOR(netclass, 60, "Links of network interfaces, bonds among them.");
