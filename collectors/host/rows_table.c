/*
 * rows_table.c - collectors that are rows of a table: the file and the line in which each value stands.
 *
 * Threads    the collectors' own
 * Source     of the kernel: fs/btrfs/sysfs.c, fs/nfsd/stats.c, and in Documentation/: admin-guide/RAS/main.rst,
 *            hwmon/sysfs-interface.rst, admin-guide/md.rst, ABI/testing/sysfs-class-net, sysfs-class-power,
 *            sysfs-devices-system-cpu; xfs.org, Runtime Stats; OpenZFS, module/zfs/arc.c
 */
#include "collectors/host/rows.h"

/* Space of file systems of type btrfs by its use, from /sys/fs/btrfs. */
static const struct col_metric btrfs_metrics[] = {
    {"btrfs.used", "fs use", "bytes", "Bytes used for data, metadata, system.", COL_GAUGE},
    {"btrfs.total", "fs use", "bytes", "Bytes set aside for them.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const struct col_row btrfs_rows[] = {
    {.path = "/sys/fs/btrfs/*/allocation/*/bytes_used"},
    {.path = "/sys/fs/btrfs/*/allocation/*/total_bytes", .metric = 1},
    {.path = NULL},
};
COL_ROWS_COLLECTOR(btrfs, 60, "Space of file systems of type btrfs.");

/* Errors of memory that the controller corrected or could not, from /sys/devices/system/edac. */
static const struct col_metric edac_metrics[] = {
    {"sys.edac.errors", "controller type", "errors", "Errors of memory: corrected, uncorrected.",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const struct col_row edac_rows[] = {
    {.path = "/sys/devices/system/edac/mc/mc*/ce_count", .type = "corrected"},
    {.path = "/sys/devices/system/edac/mc/mc*/ue_count", .type = "uncorrected"},
    {.path = NULL},
};
COL_ROWS_COLLECTOR(edac, 60, "Errors of memory with ECC.");

/* Fans, voltages, currents and powers of boards, from /sys/class/hwmon; temperatures are temperature.c. */
static const struct col_metric hwmon_metrics[] = {
    {"sys.fan", "device sensor", "rpm", "Speed of a fan.", COL_GAUGE},
    {"sys.voltage", "device sensor", "V", "A voltage.", COL_GAUGE},
    {"sys.current", "device sensor", "A", "A current.", COL_GAUGE},
    {"sys.power", "device sensor", "W", "A power.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const struct col_row hwmon_rows[] = {
    {.path = "/sys/class/hwmon/*/fan*_input"},
    {.path = "/sys/class/hwmon/*/in*_input", .metric = 1, .scale = 1e-3},
    {.path = "/sys/class/hwmon/*/curr*_input", .metric = 2, .scale = 1e-3},
    {.path = "/sys/class/hwmon/*/power*_input", .metric = 3, .scale = 1e-6},
    {.path = "/sys/class/hwmon/*/power*_average", .metric = 3, .scale = 1e-6},
    {.path = NULL},
};
COL_ROWS_COLLECTOR(hwmon, 60, "Fans and voltages of boards.");

/* What network interfaces are set to and how they are, from /sys/class/net. */
static const struct col_metric netclass_metrics[] = {
    {"sys.net.carrier", "iface", "1", "1 while there is a link, else 0.", COL_GAUGE},
    {"sys.net.carrier_changes", "iface", "1", "Times the link came or went.", COL_COUNTER},
    {"sys.net.speed", "iface", "Mbit/s", "Speed of the link.", COL_GAUGE},
    {"sys.net.mtu", "iface", "bytes", "Largest packet.", COL_GAUGE},
    {"sys.net.bond.link_failures", "iface", "1", "Times a member of a bond lost its link.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const struct col_row netclass_rows[] = {
    {.path = "/sys/class/net/*/carrier"},
    {.path = "/sys/class/net/*/carrier_changes", .metric = 1},
    {.path = "/sys/class/net/*/speed", .metric = 2},
    {.path = "/sys/class/net/*/mtu", .metric = 3},
    {.path = "/sys/class/net/*/bonding_slave/link_failure_count", .metric = 4},
    {.path = NULL},
};
COL_ROWS_COLLECTOR(netclass, 60, "Links of network interfaces, bonds among them.");

/* The NFS server of the kernel, from /proc/net/rpc/nfsd. */
static const struct col_metric nfsd_metrics[] = {
    {"nfs.server.bytes", "type", "bytes", "Bytes clients read and wrote: read, write.", COL_COUNTER},
    {"nfs.server.rpc", "type", "calls", "Calls: all, bad ones.", COL_COUNTER},
    {"nfs.server.cache", "type", "calls", "Answers from the reply cache: hit, miss, nocache (needed none).",
     COL_COUNTER},
    {"nfs.server.packets", "type", "packets", "Packets and connections: all, udp, tcp, tcp_connections.",
     COL_COUNTER},
    {"nfs.server.threads", "", "threads", "Threads of the server.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const struct col_row nfsd_rows[] = {
    {.path = "/proc/net/rpc/nfsd", .key = "io", .type = "read"},
    {.path = "/proc/net/rpc/nfsd", .key = "io", .column = 1, .type = "write"},
    {.path = "/proc/net/rpc/nfsd", .key = "rpc", .metric = 1, .type = "all"},
    {.path = "/proc/net/rpc/nfsd", .key = "rpc", .column = 1, .metric = 1, .type = "bad"},
    {.path = "/proc/net/rpc/nfsd", .key = "rc", .metric = 2, .type = "hit"},
    {.path = "/proc/net/rpc/nfsd", .key = "rc", .column = 1, .metric = 2, .type = "miss"},
    {.path = "/proc/net/rpc/nfsd", .key = "rc", .column = 2, .metric = 2, .type = "nocache"},
    {.path = "/proc/net/rpc/nfsd", .key = "net", .metric = 3, .type = "all"},
    {.path = "/proc/net/rpc/nfsd", .key = "net", .column = 1, .metric = 3, .type = "udp"},
    {.path = "/proc/net/rpc/nfsd", .key = "net", .column = 2, .metric = 3, .type = "tcp"},
    {.path = "/proc/net/rpc/nfsd", .key = "net", .column = 3, .metric = 3, .type = "tcp_connections"},
    {.path = "/proc/net/rpc/nfsd", .key = "th", .metric = 4},
    {.path = NULL},
};
COL_ROWS_COLLECTOR(nfsd, 15, "The NFS server of the kernel.");

/* Batteries and supplies, from /sys/class/power_supply. */
static const struct col_metric power_metrics[] = {
    {"sys.power_supply.online", "supply", "1", "1 while the supply gives power.", COL_GAUGE},
    {"sys.power_supply.capacity", "supply", "percent", "Charge of a battery.", COL_GAUGE},
    {"sys.power_supply.power", "supply", "W", "Power it gives or takes.", COL_GAUGE},
    {"sys.power_supply.energy", "supply type", "Wh", "Energy in a battery: now, full, design.", COL_GAUGE},
    {"sys.power_supply.cycles", "supply", "1", "Times a battery was charged.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const struct col_row power_rows[] = {
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

/* Software RAID, from /sys/block. */
static const struct col_metric raid_metrics[] = {
    {"sys.md.disks", "dev", "disks", "Disks the array should have.", COL_GAUGE},
    {"sys.md.degraded", "dev", "disks", "Disks that are missing.", COL_GAUGE},
    {"sys.md.mismatches", "dev", "sectors", "Sectors that differed at the last check.", COL_GAUGE},
    {"sys.md.sync_speed", "dev", "KiB/s", "Speed of a rebuild or check under way.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const struct col_row raid_rows[] = {
    {.path = "/sys/block/md*/md/raid_disks"},
    {.path = "/sys/block/md*/md/degraded", .metric = 1},
    {.path = "/sys/block/md*/md/mismatch_cnt", .metric = 2},
    {.path = "/sys/block/md*/md/sync_speed", .metric = 3},
    {.path = NULL},
};
COL_ROWS_COLLECTOR(raid, 60, "Software RAID (md): missing disks, mismatches.");

/* Times a processor slowed down because it was hot, from /sys/devices/system/cpu. */
static const struct col_metric throttle_metrics[] = {
    {"sys.cpu.throttles", "cpu type", "1", "Times a core, or its package, slowed down because it was hot.",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const struct col_row throttle_rows[] = {
    {.path = "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count", .type = "core"},
    {.path = "/sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count", .type = "package"},
    {.path = NULL},
};
COL_ROWS_COLLECTOR(throttle, 60, "Processors that slow down because they are hot.");

/* File systems of type xfs, all together, from /proc/fs/xfs/stat. */
static const struct col_metric xfs_metrics[] = {
    {"xfs.calls", "type", "calls", "Reads and writes asked for: read, write.", COL_COUNTER},
    {"xfs.bytes", "type", "bytes", "Bytes of them: read, write.", COL_COUNTER},
    {"xfs.extents", "type", "extents", "Extents allocated, freed.", COL_COUNTER},
    {"xfs.log_writes", "", "writes", "Blocks of the log written.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const struct col_row xfs_rows[] = {
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

/* The cache of ZFS, from /proc/spl/kstat/zfs/arcstats. */
static const struct col_metric zfs_metrics[] = {
    {"zfs.arc.requests", "type", "requests", "Requests to the cache: hit, miss.", COL_COUNTER},
    {"zfs.arc.l2_requests", "type", "requests", "Requests to the second cache on disk: hit, miss.",
     COL_COUNTER},
    {"zfs.arc.bytes", "type", "bytes", "Sizes of the cache: size, target, max, and l2.", COL_GAUGE},
    {"zfs.arc.throttled", "", "1", "Times a reader waited because there was no memory for the cache.",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const struct col_row zfs_rows[] = {
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
