/*
 * test_rows.c - collectors that are rows of a table, on a folder of saved files; small texts of /proc beside them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/collect.h"
#include "collectors/host/parse.h"
#include "t_points.h"
#include "tests/unit/t_folder.h"

extern const struct col_collector col_netclass, col_raid, col_edac, col_power, col_throttle, col_hwmon,
    col_zfs, col_xfs, col_btrfs, col_nfsd, col_pressure, col_netstack, col_schedstat;

static char root[T_FOLDER_BYTES];
static struct t_points p;

static int setup(void **state)
{
    (void)state;
    t_folder_make(root);
    t_points_init(&p);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    t_points_release(&p);
    return t_folder_remove(root);
}

static void file(const char *path, const char *text)
{
    t_folder_file(root, path, text, 0644);
}

/* Init and read; returns what either said. */
static int run(const struct col_collector *c)
{
    struct col_ctx ctx = {.root = root};
    struct ts_error err = {0};
    void *state = NULL;
    t_points_clear(&p);
    int rc = c->init(&ctx, &state, &err);
    if (rc == 0) {
        rc = c->read(state, p.emit, &err);
        t_points_end(&p);
        c->release(state);
    }
    assert_true(t_all_listed(&p, c));
    return rc;
}

#define IS(point, value) assert_string_equal(t_value(&p, point), value)

static void test_rows__links(void **state)
{
    (void)state;
    assert_int_equal(run(&col_netclass), TS_ENOTFOUND);
    file("/sys/class/net/eth0/mtu", "1500\n");
    file("/sys/class/net/eth0/speed", "1000\n");
    file("/sys/class/net/eth0/carrier", "1\n");
    file("/sys/class/net/eth0/carrier_changes", "7\n");
    file("/sys/class/net/eth0/bonding_slave/link_failure_count", "2\n");
    file("/sys/class/net/lo/mtu", "65536\n");
    file("/sys/class/net/lo/carrier", ""); /* the kernel answers with an error */
    file("/sys/class/net/bonding_masters", "bond0\n");
    assert_int_equal(run(&col_netclass), 0);
    assert_int_equal(p.n, 6);
    IS("sys.net.mtu iface=eth0", "1500");
    IS("sys.net.mtu iface=lo", "65536");
    IS("sys.net.speed iface=eth0", "1000");
    IS("sys.net.carrier iface=eth0", "1");
    IS("sys.net.carrier_changes iface=eth0", "7");
    IS("sys.net.bond.link_failures iface=eth0", "2");
}

static void test_rows__hardware(void **state)
{
    (void)state;
    file("/sys/block/md0/md/raid_disks", "3\n");
    file("/sys/block/md0/md/degraded", "1\n");
    file("/sys/block/md0/md/sync_speed", "none\n");
    file("/sys/block/sda/md/degraded", "9\n"); /* no array */
    assert_int_equal(run(&col_raid), 0);
    assert_int_equal(p.n, 2);
    IS("sys.md.degraded dev=md0", "1");
    file("/sys/devices/system/edac/mc/mc0/ce_count", "5\n");
    file("/sys/devices/system/edac/mc/mc0/ue_count", "0\n");
    file("/sys/devices/system/edac/mc/power/ce_count", "1\n");
    assert_int_equal(run(&col_edac), 0);
    assert_int_equal(p.n, 2);
    IS("sys.edac.errors controller=mc0 type=corrected", "5");
    IS("sys.edac.errors controller=mc0 type=uncorrected", "0");
    file("/sys/class/power_supply/BAT0/capacity", "93\n");
    file("/sys/class/power_supply/BAT0/energy_now", "45500000\n");
    file("/sys/class/power_supply/AC/online", "1\n");
    assert_int_equal(run(&col_power), 0);
    assert_int_equal(p.n, 3);
    IS("sys.power_supply.capacity supply=BAT0", "93");
    IS("sys.power_supply.energy supply=BAT0 type=now", "45.5");
    IS("sys.power_supply.online supply=AC", "1");
    file("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "11\n");
    file("/sys/devices/system/cpu/cpu12/thermal_throttle/package_throttle_count", "4\n");
    file("/sys/devices/system/cpu/cpufreq/policy0/x", "4\n");
    assert_int_equal(run(&col_throttle), 0);
    assert_int_equal(p.n, 2);
    IS("sys.cpu.throttles cpu=cpu0 type=core", "11");
    IS("sys.cpu.throttles cpu=cpu12 type=package", "4");
    file("/sys/class/hwmon/hwmon3/fan1_input", "1200\n");
    file("/sys/class/hwmon/hwmon3/fan1_min", "300\n");
    file("/sys/class/hwmon/hwmon3/in0_input", "1234\n");
    file("/sys/class/hwmon/hwmon3/intrusion0_alarm", "0\n");
    file("/sys/class/hwmon/hwmon3/power1_average", "65000000\n");
    assert_int_equal(run(&col_hwmon), 0);
    assert_int_equal(p.n, 3);
    IS("sys.fan device=hwmon3 sensor=fan1", "1200");
    IS("sys.voltage device=hwmon3 sensor=in0", "1.234");
    IS("sys.power device=hwmon3 sensor=power1", "65.0");
}

static void test_rows__file_systems(void **state)
{
    (void)state;
    assert_int_equal(run(&col_zfs), TS_ENOTFOUND);
    file("/proc/spl/kstat/zfs/arcstats", "13 1 0x01 96 26112 1 2\nname                            type data\n"
                                         "hits                            4    1000\n"
                                         "misses                          4    20\n"
                                         "c                               4    4096\n"
                                         "size                            4    2048\n");
    assert_int_equal(run(&col_zfs), 0);
    assert_int_equal(p.n, 4);
    IS("zfs.arc.requests type=hit", "1000");
    IS("zfs.arc.requests type=miss", "20");
    IS("zfs.arc.bytes type=target", "4096");
    IS("zfs.arc.bytes type=size", "2048");
    file("/proc/fs/xfs/stat", "extent_alloc 1 2 3 4\nrw 70 80\nxpc 0 900 1000\nlog 5 6 7 8 9\n");
    assert_int_equal(run(&col_xfs), 0);
    IS("xfs.calls type=write", "70");
    IS("xfs.calls type=read", "80");
    IS("xfs.bytes type=write", "900");
    IS("xfs.bytes type=read", "1000");
    IS("xfs.extents type=freed", "3");
    file("/sys/fs/btrfs/features/x", "1\n");
    file("/sys/fs/btrfs/0f-1a/allocation/data/bytes_used", "77\n");
    file("/sys/fs/btrfs/0f-1a/allocation/data/total_bytes", "99\n");
    file("/sys/fs/btrfs/0f-1a/allocation/metadata/bytes_used", "5\n");
    file("/sys/fs/btrfs/0f-1a/allocation/global_rsv_size", "5\n");
    assert_int_equal(run(&col_btrfs), 0);
    assert_int_equal(p.n, 3);
    IS("btrfs.used fs=0f-1a use=data", "77");
    IS("btrfs.total fs=0f-1a use=data", "99");
    IS("btrfs.used fs=0f-1a use=metadata", "5");
    file("/proc/net/rpc/nfsd",
         "rc 1 2 3\nfh 0 0 0 0 0\nio 400 500\nth 8 0 0.000\nnet 10 0 10 2\nrpc 9 1 1 0 0\n");
    assert_int_equal(run(&col_nfsd), 0);
    IS("nfs.server.bytes type=read", "400");
    IS("nfs.server.bytes type=write", "500");
    IS("nfs.server.threads", "8");
    IS("nfs.server.rpc type=bad", "1");
    IS("nfs.server.cache type=nocache", "3");
    IS("nfs.server.packets type=tcp_connections", "2");
}

static void test_rows__pressure(void **state)
{
    (void)state;
    assert_int_equal(run(&col_pressure), TS_ENOTFOUND);
    file("/proc/pressure/cpu", "some avg10=1.50 avg60=0.00 avg300=0.00 total=123456\n");
    file("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 "
                              "avg300=0.00 total=5\n");
    assert_int_equal(run(&col_pressure), 0);
    assert_int_equal(p.n, 3);
    IS("proc.pressure kind=some resource=cpu", "123456");
    IS("proc.pressure kind=some resource=io", "7");
    IS("proc.pressure kind=full resource=io", "5");
}

static void test_rows__packets_and_neighbours(void **state)
{
    (void)state;
    file("/proc/net/softnet_stat",
         "0000000a 00000001 00000002 00000000\n00000006 00000000 00000001 00000000\n");
    file("/proc/net/arp",
         "IP address       HW type     Flags       HW address            Mask     Device\n"
         "10.0.0.1         0x1         0x2         52:54:00:12:35:02     *        eth0\n"
         "10.0.0.2         0x1         0x2         52:54:00:12:35:03     *        eth0\n"
         "10.1.0.2         0x1         0x2         52:54:00:12:35:04     *        eth1\nshort line\n");
    assert_int_equal(run(&col_netstack), 0);
    assert_int_equal(p.n, 5);
    IS("proc.softnet type=processed", "16");
    IS("proc.softnet type=dropped", "1");
    IS("proc.softnet type=squeezed", "3");
    IS("proc.arp.entries iface=eth0", "2");
    IS("proc.arp.entries iface=eth1", "1");
}

static void test_rows__scheduler(void **state)
{
    (void)state;
    file("/proc/schedstat",
         "version 15\ntimestamp 4295\ncpu0 0 0 0 0 0 0 100 20 3\ndomain0 03 1 2 3 4 5 6 7 8 9 10\n"
         "cpu1 0 0 0 0 0 0 50 30 4\ncpu2 cut\n");
    assert_int_equal(run(&col_schedstat), 0);
    assert_int_equal(p.n, 3);
    IS("proc.sched.running", "150");
    IS("proc.sched.waiting", "50");
    IS("proc.sched.timeslices", "7");
}

static void test_rows__web_servers(void **state)
{
    extern const struct col_collector col_webstatus;
    (void)state;
    col_webstatus_parse(
        TS_SLICE_LIT(
            "Active connections: 291 \nserver accepts handled requests\n 16630948 16630940 31070465 \n"
            "Reading: 6 Writing: 179 Waiting: 106 \nNotWaiting: 7\n"),
        "front", p.emit);
    t_points_end(&p);
    assert_int_equal(p.n, 7);
    IS("nginx.connections job=front state=active", "291");
    IS("nginx.connections job=front state=waiting", "106");
    IS("nginx.connections_total job=front state=accepted", "16630948");
    IS("nginx.connections_total job=front state=handled", "16630940");
    IS("nginx.requests job=front", "31070465");
    assert_true(t_all_listed(&p, &col_webstatus));
    t_points_clear(&p);
    col_webstatus_parse(
        TS_SLICE_LIT("localhost\nServerVersion: Apache/2.4.57\nServerUptimeSeconds: 77\nTotal Accesses: 131\n"
                     "Total kBytes: 5\nCPULoad: .01\nBusyWorkers: 1\nIdleWorkers: 49\nConnsTotal: 3\n"
                     "Scoreboard: __W\n"),
        "old", p.emit);
    t_points_end(&p);
    assert_int_equal(p.n, 6);
    IS("apache.requests job=old", "131");
    IS("apache.bytes job=old", "5120");
    IS("apache.workers job=old state=busy", "1");
    IS("apache.connections job=old", "3");
    IS("apache.uptime job=old", "77");
    assert_true(t_all_listed(&p, &col_webstatus));
    t_points_clear(&p);
    col_webstatus_parse(TS_SLICE_LIT("<html>Active connections: many</html>\n1 2\n\n"), "x", p.emit);
    t_points_end(&p);
    assert_int_equal(p.n, 0);
}

static void test_rows__units_of_systemd(void **state)
{
    extern const struct col_collector col_systemd;
    (void)state;
    col_systemd_parse(
        TS_SLICE_LIT("cron.service     loaded    active       running Regular background program\n"
                     "backup.service   loaded    failed       failed  Backup\n"
                     "late.service     loaded    activating   start   Late\n"
                     "off.service      loaded    inactive     dead    Off\n"
                     "gone.service     not-found inactive     dead    gone.service\n"
                     "home.mount       loaded    active       mounted /home\nshort\n"),
        "*.service", p.emit);
    t_points_end(&p);
    assert_int_equal(p.n, 8);
    IS("sys.unit.state unit=cron.service", "2");
    IS("sys.unit.state unit=late.service", "1");
    IS("sys.unit.state unit=off.service", "0");
    IS("sys.unit.state unit=backup.service", "-1");
    IS("sys.unit.state unit=gone.service", "");
    IS("sys.unit.count state=active", "2");
    IS("sys.unit.count state=failed", "1");
    assert_true(t_all_listed(&p, &col_systemd));
}

/* A case with a folder of its own. */
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_rows__links),
        CASE(test_rows__hardware),
        CASE(test_rows__file_systems),
        CASE(test_rows__pressure),
        CASE(test_rows__packets_and_neighbours),
        CASE(test_rows__scheduler),
        CASE(test_rows__web_servers),
        CASE(test_rows__units_of_systemd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
