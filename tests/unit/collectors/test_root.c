/*
 * test_root.c - collectors on a folder of saved files: control groups of both versions, sensors, disks, small files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/collect.h"
#include "collectors/core/source.h"
#include "t_points.h"
#include "tests/unit/t_folder.h"

extern const struct col_collector col_units, col_temperature, col_entropy, col_disk, col_sockets, col_process,
    col_tcpudp, col_interrupts, col_fs, col_nfs, col_netfilter, col_mountstats, col_numa, col_frequency;

static char root[T_FOLDER_BYTES];
static struct ts_conf *conf;

static int setup(void **state)
{
    static const struct ts_conf_key *const tables[] = {col_conf_keys};
    (void)state;
    t_folder_make(root);
    conf = ts_conf_new(tables, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ts_conf_free(conf);
    return t_folder_remove(root);
}

/* A file below the root. */
static void file(const char *path, const char *text)
{
    t_folder_file(root, path, text, 0644);
}

/* Init, read twice (the second counts), release. Returns what init or read said. */
static int run(const struct col_collector *c, struct t_points *p)
{
    struct col_ctx ctx = {.conf = conf, .root = root};
    struct ts_error err = {0};
    void *state = NULL;
    t_points_init(p);
    int rc = c->init ? c->init(&ctx, &state, &err) : 0;
    if (rc == 0) {
        rc = c->read(state, p->emit, &err);
        t_points_end(p);
        t_points_clear(p);
        if (rc == 0)
            rc = c->read(state, p->emit, &err);
        t_points_end(p);
        if (c->release)
            c->release(state);
    }
    if (rc < 0)
        assert_true(*err.text);
    assert_true(t_all_listed(p, c));
    return rc;
}

static void set(const char *key, const char *value)
{
    assert_int_equal(ts_conf_set(conf, key, ts_slice_str(value), "test", NULL), 0);
}

static void test_root__groups_of_version_2(void **state)
{
    struct t_points p;
    (void)state;
    file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n");
    file("/sys/fs/cgroup/cgroup.procs", "1\n");
    file("/sys/fs/cgroup/system.slice/cgroup.procs", "");
    file("/sys/fs/cgroup/system.slice/cpu.stat",
         "usage_usec 9000\nuser_usec 7000\nsystem_usec 2000\nnew_usec 5\n");
    file("/sys/fs/cgroup/system.slice/ssh.service/cgroup.procs", "77\n");
    file("/sys/fs/cgroup/system.slice/ssh.service/cpu.stat",
         "usage_usec 5\nuser_usec 4999\nsystem_usec 1000\n");
    file("/sys/fs/cgroup/system.slice/ssh.service/memory.current", "4096\n");
    file("/sys/fs/cgroup/system.slice/ssh.service/pids.current", "3\n");
    file("/sys/fs/cgroup/user.slice/session-12.scope/cgroup.procs", "");
    file("/sys/fs/cgroup/user.slice/session-12.scope/memory.current", "5\n");
    file("/sys/fs/cgroup/user.slice/cgroup.procs", "");
    file("/sys/fs/cgroup/docker/0a1b/cgroup.procs", "");
    file("/sys/fs/cgroup/docker/0a1b/memory.current", "99\n");
    file("/sys/fs/cgroup/docker/cgroup.procs", "");
    file("/sys/fs/cgroup/cpu-burner.service/cgroup.procs", "78\n");
    file("/sys/fs/cgroup/cpu-burner.service/memory.current", "1\n");
    file("/sys/fs/cgroup/io.slice/cgroup.procs", "");
    file("/sys/fs/cgroup/io.slice/memory.current", "2\n");
    assert_int_equal(run(&col_units, &p), 0);
    assert_string_equal(t_value(&p, "proc.cgroup.cpu cgroup=system.slice unit=system.slice type=user"), "7");
    assert_string_equal(
        t_value(&p, "proc.cgroup.cpu cgroup=system.slice/ssh.service unit=ssh.service type=user"), "4");
    assert_string_equal(t_value(&p, "proc.cgroup.memory cgroup=system.slice/ssh.service unit=ssh.service"),
                        "4096");
    assert_string_equal(t_value(&p, "proc.cgroup.tasks cgroup=system.slice/ssh.service unit=ssh.service"),
                        "3");
    assert_string_equal(t_value(&p, "proc.cgroup.memory cgroup=docker/0a1b unit=none"), "99");
    assert_string_equal(t_value(&p, "proc.cgroup.memory cgroup=cpu-burner.service unit=cpu-burner.service"),
                        "1");
    assert_string_equal(t_value(&p, "proc.cgroup.memory cgroup=io.slice unit=io.slice"), "2");
    assert_string_equal(t_value(&p, "proc.cgroup.left_out"), "0");
    assert_int_equal(p.n, 10);
    t_points_release(&p);
    set("collect_cgroups",
        "2"); /* the groups that use the most, not the first ones: the slice by processor time, ssh by memory */
    assert_int_equal(run(&col_units, &p), 0);
    assert_string_equal(t_value(&p, "proc.cgroup.cpu cgroup=system.slice unit=system.slice type=user"), "7");
    assert_string_equal(t_value(&p, "proc.cgroup.memory cgroup=system.slice/ssh.service unit=ssh.service"),
                        "4096");
    assert_string_equal(t_value(&p, "proc.cgroup.memory cgroup=docker/0a1b unit=none"), "");
    assert_string_equal(t_value(&p, "proc.cgroup.left_out"), "5");
    t_points_release(&p);
    set("collect_cgroups", "0");
    assert_int_equal(run(&col_units, &p), TS_ENOTFOUND);
    t_points_release(&p);
}

static void test_root__groups_of_version_1(void **state)
{
    struct t_points p;
    (void)state;
    assert_int_equal(run(&col_units, &p), TS_ENOTFOUND); /* a container without any */
    t_points_release(&p);
    file("/sys/fs/cgroup/cpuacct/cgroup.procs", "1\n");
    file("/sys/fs/cgroup/cpuacct/system.slice/cron.service/cgroup.procs", "5\n");
    file("/sys/fs/cgroup/cpuacct/system.slice/cron.service/cpuacct.stat", "user 200\nsystem 50\n");
    file("/sys/fs/cgroup/cpuacct/system.slice/cgroup.procs", "");
    file("/sys/fs/cgroup/memory/system.slice/cron.service/memory.usage_in_bytes", "8192\n");
    assert_int_equal(run(&col_units, &p), 0);
    assert_string_equal(
        t_value(&p, "proc.cgroup.cpu cgroup=system.slice/cron.service unit=cron.service type=user"), "2000");
    assert_string_equal(t_value(&p, "proc.cgroup.memory cgroup=system.slice/cron.service unit=cron.service"),
                        "8192");
    assert_int_equal(p.n, 4);
    t_points_release(&p);
}

#define ID_A "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
#define ID_B "1a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
#define ID_C "2a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
#define ID_D "3a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"

/* Containers by name, with their limits, disks and what the limits did. */
static void test_root__containers_have_names(void **state)
{
    struct t_points p;
    (void)state;
#define G "/sys/fs/cgroup/"
    file(G "cgroup.controllers", "cpu io memory\n");
    file(G "system.slice/cgroup.procs", "");
    file(G "system.slice/docker-" ID_A ".scope/cgroup.procs", "5\n");
    file(G "system.slice/docker-" ID_A ".scope/memory.current", "100\n");
    file(G "system.slice/docker-" ID_A ".scope/memory.max", "1000\n");
    file(G "system.slice/docker-" ID_A ".scope/memory.events",
         "low 0\noom 2\noom_kill 3\noom_group_kill 0\n");
    file(G "system.slice/docker-" ID_A ".scope/cpu.max", "150000 100000\n");
    file(G "system.slice/docker-" ID_A ".scope/cpu.stat",
         "usage_usec 9\nnr_throttled 4\nthrottled_usec 5000\n");
    file(G "system.slice/docker-" ID_A ".scope/io.stat",
         "8:0 rbytes=10 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=2 rios=0 wios=0\n");
    file("/var/lib/docker/containers/" ID_A "/config.v2.json",
         "{\"State\":{},\"ID\":\"" ID_A "\",\"Image\":\"x\",\"Name\":\"/shop-db\",\"Driver\":\"overlay2\"}");
    file(G "machine.slice/cgroup.procs", "");
    file(G "machine.slice/libpod-" ID_B ".scope/cgroup.procs", "6\n");
    file(G "machine.slice/libpod-" ID_B ".scope/memory.current", "7\n");
    file(G "machine.slice/libpod-" ID_B ".scope/memory.max", "max\n");
    file(G "machine.slice/libpod-" ID_B ".scope/cpu.max", "max 100000\n");
    file("/var/lib/containers/storage/overlay-containers/containers.json",
         "[{\"id\":\"" ID_D "\",\"names\":[\"other\"]},{\"id\":\"" ID_B
         "\",\"names\":[\"mail\"],\"image\":\"y\"}]");
    file(G "kubepods.slice/cgroup.procs", "");
    file(G "kubepods.slice/cri-containerd-" ID_C ".scope/cgroup.procs", "8\n");
    file(G "kubepods.slice/cri-containerd-" ID_C ".scope/memory.current", "9\n");
    file("/var/log/containers/api-5d9c_prod_web-" ID_C ".log", "");
    file(G "docker/cgroup.procs", "");
    file(G "docker/" ID_D "/cgroup.procs", "9\n");
    file(G "docker/" ID_D "/memory.current", "11\n");
    assert_int_equal(run(&col_units, &p), 0);
#define A "cgroup=system.slice/docker-" ID_A ".scope unit=docker-" ID_A ".scope container=shop-db"
    assert_string_equal(t_value(&p, "proc.cgroup.memory " A), "100");
    assert_string_equal(t_value(&p, "proc.cgroup.memory_limit " A), "1000");
    assert_string_equal(t_value(&p, "proc.cgroup.oom_kills " A), "3");
    assert_string_equal(t_value(&p, "proc.cgroup.cpu_limit " A), "1.5");
    assert_string_equal(t_value(&p, "proc.cgroup.throttled " A), "5");
    assert_string_equal(t_value(&p, "proc.cgroup.io " A " type=read"), "11");
    assert_string_equal(t_value(&p, "proc.cgroup.io " A " type=write"), "22");
#define B "cgroup=machine.slice/libpod-" ID_B ".scope unit=libpod-" ID_B ".scope container=mail"
    assert_string_equal(t_value(&p, "proc.cgroup.memory " B), "7");
    assert_string_equal(t_value(&p, "proc.cgroup.memory_limit " B), "");
    assert_string_equal(t_value(&p, "proc.cgroup.memory cgroup=kubepods.slice/cri-containerd-" ID_C
                                    ".scope unit=cri-containerd-" ID_C ".scope container=prod/api-5d9c/web"),
                        "9");
    assert_string_equal(t_value(&p, "proc.cgroup.memory cgroup=docker/" ID_D " unit=none container=other"),
                        "11");
    t_points_release(&p);
}

static void test_root__sensors(void **state)
{
    struct t_points p;
    (void)state;
    assert_int_equal(run(&col_temperature, &p), TS_ENOTFOUND); /* a virtual machine */
    t_points_release(&p);
    file("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
    file("/sys/class/thermal/thermal_zone0/temp", "41000\n");
    file("/sys/class/thermal/cooling_device0/type", "Fan\n");
    assert_int_equal(run(&col_temperature, &p), 0);
    assert_string_equal(t_value(&p, "sys.temperature chip=thermal device=thermal_zone0 sensor=x86_pkg_temp"),
                        "41.0");
    assert_int_equal(p.n, 1);
    t_points_release(&p);
    file("/sys/class/hwmon/hwmon0/name", "coretemp\n");
    file("/sys/class/hwmon/hwmon0/temp1_input", "45500\n");
    file("/sys/class/hwmon/hwmon0/temp1_label", "Package id 0\n");
    file("/sys/class/hwmon/hwmon0/temp2_input", "-5000\n");
    file("/sys/class/hwmon/hwmon0/temp2_max", "90000\n");
    file("/sys/class/hwmon/hwmon0/temp3_input", "");
    file("/sys/class/hwmon/hwmon0/fan1_input", "1200\n");
    assert_int_equal(run(&col_temperature, &p), 0);
    assert_string_equal(t_value(&p, "sys.temperature chip=coretemp device=hwmon0 sensor=Package_id_0"),
                        "45.5");
    assert_string_equal(t_value(&p, "sys.temperature chip=coretemp device=hwmon0 sensor=temp2"), "-5.0");
    assert_int_equal(p.n, 2);
    t_points_release(&p);
}

static void test_root__disks_and_partitions_from_sys(void **state)
{
    struct t_points p;
    (void)state;
    file("/proc/diskstats",
         " 259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11\n 259 1 nvme0n1p1 1 2 3 4 5 6 7 8 9 10 11\n"
         " 254 3 dm-3 1 2 3 4 5 6 7 8 9 10 11\n 9 127 md127 1 2 3 4 5 6 7 8 9 10 11\n");
    file("/sys/class/block/nvme0n1/size", "5\n");
    file("/sys/class/block/nvme0n1p1/partition", "1\n");
    file("/sys/class/block/dm-3/dm/name", "vg0-home\n");
    assert_int_equal(run(&col_disk, &p), 0);
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=nvme0n1"), "1");
    assert_string_equal(t_value(&p, "iostat.part.read_requests dev=nvme0n1p1"), "1");
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=vg0-home"), "1");
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=md127"), "1");
    t_points_release(&p);
}

static void test_root__missing_and_broken_files(void **state)
{
    struct t_points p;
    (void)state;
    static const struct col_collector *const all[] = {
        &col_entropy, &col_disk, &col_sockets, &col_process, &col_tcpudp, &col_interrupts, &col_fs};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        assert_true(run(all[i], &p) < 0);
        assert_int_equal(p.n, 0);
        t_points_release(&p);
    }
    file("/proc/sys/kernel/random/entropy_avail", "none\n");
    assert_true(run(&col_entropy, &p) < 0);
    t_points_release(&p);
    file("/proc/sys/kernel/random/entropy_avail", "256\n");
    assert_int_equal(run(&col_entropy, &p), 0);
    assert_string_equal(t_value(&p, "proc.kernel.entropy_avail"), "256");
    t_points_release(&p);
    file("/proc/net/sockstat", "TCP: inuse 5\n"); /* a kernel without IPv6 and /proc/net/tcp */
    assert_int_equal(run(&col_sockets, &p), 0);
    assert_int_equal(p.n, 1);
    t_points_release(&p);
}

static void test_root__processes_and_long_files(void **state)
{
    struct t_points p;
    struct ts_buf big;
    (void)state;
    file("/proc/1/stat", "1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 10 5 10 20 20 0 1 0 5 1000 3 9 1 1 0\n");
    file("/proc/self/stat", "9 (me) S 0 1 1 0 -1 4194560 1 2 3 4 10 5 10 20 20 0 1 0 5 1000 3 9 1 1 0\n");
    file("/proc/12x/stat", "garbage");
    assert_int_equal(run(&col_process, &p), 0);
    assert_string_equal(t_value(&p, "proc.processes.count state=sleeping"), "1");
    t_points_release(&p);
    ts_buf_init(&big, 0);
    for (int i = 0; i < 5000; i++)
        ts_buf_printf(
            &big, "%6d: 0100007F:8C05 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n", i);
    ts_buf_char(&big, '\0');
    file("/proc/net/sockstat", "");
    file("/proc/net/tcp", big.p);
    assert_int_equal(run(&col_sockets, &p), 0);
    assert_string_equal(t_value(&p, "net.tcp_state.listen type=tcp"), "5000");
    t_points_release(&p);
    /* a buffer's maximum is a limit, at any size of the file */
    struct ts_buf small;
    struct ts_error err = {0};
    ts_buf_init(&small, 1000);
    assert_int_equal(col_source_read(root, "/proc/net/tcp", &small, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "1000"));
    ts_buf_release(&small);
    ts_buf_release(&big);
}

static void test_root__nfs_calls_by_operation(void **state)
{
    struct t_points p;
    (void)state;
    assert_int_equal(run(&col_nfs, &p), TS_ENOTFOUND);
    t_points_release(&p);
    file("/proc/net/rpc/nfs", "net 0 0 0 0\nrpc 1234 5 1240\n"
                              "proc2 18 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                              "proc3 22 0 100 2 3 4 5 600 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n"
                              "proc4 72 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
                              "27 28 29 30 31 32 33 34 35 36 "
                              "37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 "
                              "63 64 65 66 67 68 69 70 71 72\n"
                              "proc4 5 cut\nproc3\nrpc\n");
    assert_int_equal(run(&col_nfs, &p), 0);
    assert_string_equal(t_value(&p, "nfs.client.rpc.stats type=retrans"), "5");
    assert_string_equal(t_value(&p, "nfs.client.rpc op=getattr version=3"), "100");
    assert_string_equal(t_value(&p, "nfs.client.rpc op=read version=3"), "600");
    assert_string_equal(t_value(&p, "nfs.client.rpc op=commit version=3"), "21");
    assert_string_equal(t_value(&p, "nfs.client.rpc op=getattr version=4"), "19");
    assert_string_equal(t_value(&p, "nfs.client.rpc op=sequence version=4"), "42");
    assert_int_equal(p.n, 3 + 22 + 69); /* the last operations have no name yet */
    t_points_release(&p);
}

static void test_root__nfs_volumes(void **state)
{
    struct t_points p;
    (void)state;
    assert_int_equal(run(&col_mountstats, &p), TS_ENOTFOUND);
    t_points_release(&p);
#define OPS                                                                                                  \
    "\tper-op statistics\n\t        NULL: 1 1 0 44 24 1 2 3\n\t        READ: 10 11 1 1000 2000 5 6 7 0\n"    \
    "\t     GETATTR: 20 20 0 1 2 3 4 5\n\t      LOOKUP: 100 100 0 10 20 30 40 50\n\t     NEW_ONE: 1 2 3\n"
    file("/proc/self/mountstats",
         "device rootfs mounted on / with fstype rootfs\ndevice proc mounted on /proc with fstype proc\n"
         "device [fe80::1]:/export/home mounted on /home with fstype nfs4 statvers=1.1\n"
         "\topts:\trw,vers=4.1\n\tage:\t99\n\tbytes:\t1 2 3 4 5 6 7 8 \n\tRPC iostats version: 1.1  p/v: "
         "100003/4 (nfs)\n"
         "\txprt:\ttcp 0 0 2 0 0 7 7 0 7 0 2 0 0\n" OPS
         "device [fe80::1]:/export/home mounted on /again with fstype nfs4 statvers=1.1\n\tbytes:\t1 2 3 4 5 "
         "6 7 8\n" OPS
         "device nas:/ mounted on /nas with fstype nfs statvers=1.1\n\tbytes:\t9 9 9 9 9 9 9 9\n");
    assert_int_equal(run(&col_mountstats, &p), 0);
    assert_string_equal(t_value(&p, "proc.mountstats.read.ops nfshost=_fe80__1_ nfsvol=/export/home"), "10");
    assert_string_equal(t_value(&p, "proc.mountstats.read.totaltime nfshost=_fe80__1_ nfsvol=/export/home"),
                        "7");
    assert_string_equal(t_value(&p, "proc.mountstats.getattr.qtime nfshost=_fe80__1_ nfsvol=/export/home"),
                        "3");
    assert_string_equal(t_value(&p, "proc.mountstats.other.ops nfshost=_fe80__1_ nfsvol=/export/home"),
                        "101");
    assert_string_equal(t_value(&p, "proc.mountstats.bytes.serverread nfshost=_fe80__1_ nfsvol=/export/home"),
                        "5");
    assert_string_equal(t_value(&p, "proc.mountstats.bytes.writepages nfshost=nas nfsvol=/"), "9");
    assert_int_equal(p.n, 5 * 8 + 8 + 8);
    t_points_release(&p);
}

static void test_root__memory_nodes_and_clock_speeds(void **state)
{
    struct t_points p;
    (void)state;
    assert_int_equal(run(&col_numa, &p), TS_ENOTFOUND);
    t_points_release(&p);
    assert_int_equal(run(&col_frequency, &p), TS_ENOTFOUND);
    t_points_release(&p);
    file("/sys/devices/system/node/node0/numastat",
         "numa_hit 10\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\nother_node 6\n");
    file("/sys/devices/system/node/node12/numastat", "numa_hit 7\nnew 1\ncut\n");
    file("/sys/devices/system/node/possible", "0-12\n");
    assert_int_equal(run(&col_numa, &p), 0);
    assert_int_equal(p.n, 7);
    assert_string_equal(t_value(&p, "sys.numa.zoneallocs node=0 type=miss"), "2");
    assert_string_equal(t_value(&p, "sys.numa.foreign_allocs node=0"), "3");
    assert_string_equal(t_value(&p, "sys.numa.allocation node=0 type=remote"), "6");
    assert_string_equal(t_value(&p, "sys.numa.zoneallocs node=12 type=hit"), "7");
    t_points_release(&p);
    file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3800000\n");
    file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1200000\n");
    file("/sys/devices/system/cpu/cpu1/online", "0\n");
    file("/sys/devices/system/cpu/cpufreq/boost", "1\n");
    assert_int_equal(run(&col_frequency, &p), 0);
    assert_int_equal(p.n, 2);
    assert_string_equal(t_value(&p, "proc.scaling.cur cpu=0"), "1200000");
    t_points_release(&p);
}

static void test_root__connection_tracking(void **state)
{
    struct t_points p;
    (void)state;
    assert_int_equal(run(&col_netfilter, &p), TS_ENOTFOUND);
    t_points_release(&p);
    file("/proc/sys/net/netfilter/nf_conntrack_count", "77\n");
    file("/proc/sys/net/netfilter/nf_conntrack_max", "262144\n");
    file("/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established", "432000\n");
    file("/proc/sys/net/netfilter/nf_conntrack_generic_timeout", "600\n");
    file("/proc/sys/net/netfilter/nf_conntrack_gre_timeout_stream", "180\n");
    file("/proc/sys/net/netfilter/nf_conntrack_events", "2\n");
    file("/proc/sys/net/netfilter/nf_conntrack_helper", "0\n");
    file("/proc/sys/net/netfilter/nf_log/2", "NONE\n");
    assert_int_equal(run(&col_netfilter, &p), 0);
    assert_int_equal(p.n, 2); /* no settings */
    assert_string_equal(t_value(&p, "proc.sys.net.netfilter.nf_conntrack_count"), "77");
    assert_string_equal(t_value(&p, "proc.sys.net.netfilter.nf_conntrack_max"), "262144");
    t_points_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_root__groups_of_version_2, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root__groups_of_version_1, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root__containers_have_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root__sensors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root__disks_and_partitions_from_sys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root__missing_and_broken_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root__processes_and_long_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root__nfs_calls_by_operation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root__connection_tracking, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root__nfs_volumes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root__memory_nodes_and_clock_speeds, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
