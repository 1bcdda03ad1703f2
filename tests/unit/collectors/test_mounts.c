/*
 * test_mounts.c - which mounts are reported, and what of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "collectors/host/fs.h"
#include "t_points.h"

extern const struct col_collector col_fs;

static void assert_paths(const char *text, const char *types, const char *paths, const char *expect)
{
    struct col_mounts m = {0};
    struct ts_buf got;
    ts_buf_init(&got, 0);
    col_mounts_parse(ts_slice_str(text), types, paths, &m);
    for (unsigned i = 0; i < m.n; i++)
        ts_buf_printf(&got, "%s(%s) ", m.p[i].path, m.p[i].type);
    ts_buf_char(&got, '\0');
    assert_string_equal(got.p, expect);
    ts_buf_release(&got);
    col_mounts_release(&m);
}

static void test_mounts__types_and_paths_are_left_out(void **state)
{
    (void)state;
    assert_paths(
        "/dev/sda1 / ext4 rw 0 0\nproc /proc proc rw 0 0\nsrv:/x /mnt nfs4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n"
        "none /n tmpfs rw 0 0\ndev /dev devtmpfs rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\nx /f fuse.sshfs rw 0 "
        "0\ncut /x\n\n",
        "nfs*,proc,devtmpfs,fuse.*", "/dev/*", "/(ext4) /run(tmpfs) ");
}

static void test_mounts__a_device_counts_once(void **state)
{
    (void)state;
    assert_paths(
        "/dev/sda1 /var/lib/x ext4 rw 0 0\n/dev/sda1 / ext4 rw 0 0\n/dev/sda1 /mnt ext4 rw 0 0\n"
        "rootfs /home rootfs rw 0 0\n/dev/sdb1 /home xfs rw 0 0\ntank/a /a zfs rw 0 0\ntank/b /b zfs rw 0 0\n"
        "overlay /c1 overlay rw 0 0\noverlay /c2 overlay rw 0 0\n",
        "", "", "/(ext4) /home(xfs) /a(zfs) /b(zfs) /c1(overlay) /c2(overlay) ");
}

static void test_mounts__escapes_in_names(void **state)
{
    (void)state;
    assert_paths("/dev/sda1 /my\\040disk\\134x ext4 rw 0 0\n/dev/sdb1 /a\\04 ext4 rw 0 0\n", "", "",
                 "/my disk\\x(ext4) /a\\04(ext4) ");
}

static void test_mounts__figures(void **state)
{
    struct t_points p;
    struct col_mount m = {"/dev/x", "/my disk", "ext4"};
    struct statvfs st = {.f_bsize = 4096,
                         .f_frsize = 1024,
                         .f_blocks = 1000,
                         .f_bfree = 500,
                         .f_bavail = 450,
                         .f_files = 10,
                         .f_ffree = 5,
                         .f_favail = 5};
    (void)state;
    t_points_init(&p);
    col_mount_points(&m, &st, p.emit);
    t_points_end(&p);
    assert_string_equal(t_value(&p, "df.bytes.total fstype=ext4 mount=/my_disk"), "1024000");
    assert_string_equal(t_value(&p, "df.bytes.used fstype=ext4 mount=/my_disk"), "512000");
    assert_string_equal(t_value(&p, "df.bytes.free fstype=ext4 mount=/my_disk"), "460800");
    assert_string_equal(t_value(&p, "df.inodes.percentused fstype=ext4 mount=/my_disk"), "50.0");
    assert_int_equal(p.n, 8);
    assert_true(t_all_listed(&p, &col_fs));
    t_points_clear(&p);
    st.f_files = 0; /* btrfs */
    col_mount_points(&m, &st, p.emit);
    t_points_end(&p);
    assert_int_equal(p.n, 4);
    t_points_clear(&p);
    st.f_blocks = 0; /* sysfs */
    col_mount_points(&m, &st, p.emit);
    t_points_end(&p);
    assert_int_equal(p.n, 0);
    t_points_release(&p);
}

static sem_t server_back;  /* statvfs of /away waits for it */
static atomic_int n_asked; /* times it was called for /away */

static int statvfs_away(const char *path, struct statvfs *out)
{
    *out = (struct statvfs){.f_bsize = 1024, .f_blocks = 1000, .f_bfree = 500, .f_bavail = 450};
    if (!strcmp(path, "/away")) {
        n_asked++;
        while (sem_wait(&server_back) != 0)
            ;
    }
    errno = EACCES;
    return strcmp(path, "/secret") ? 0 : -1;
}

static void read_mounts(struct t_points *p, struct col_fs_probe *probe)
{
    static struct ts_log_limit limit;
    struct col_mount list[] = {
        {"s:/x", "/away", "nfs4"}, {"s:/y", "/secret", "nfs4"}, {"/dev/x", "/", "ext4"}};
    struct col_mounts l = {.p = list, .n = 3};
    t_points_clear(p);
    col_mounts_read(&l, "", probe, p->emit, &limit);
    t_points_end(p);
    assert_true(t_all_listed(p, &col_fs));
    assert_string_equal(t_value(p, "df.bytes.total fstype=ext4 mount=/"), "1024000");
    assert_string_equal(t_value(p, "df.error fstype=ext4 mount=/"), "0");
    assert_string_equal(t_value(p, "df.error fstype=nfs4 mount=/secret"), "1");
    assert_string_equal(t_value(p, "df.bytes.total fstype=nfs4 mount=/secret"), "");
}

/* A file system whose server is away holds up no other, is asked once until it answers, and has figures then. */
static void test_mounts__a_server_that_is_away(void **state)
{
    struct t_points p;
    (void)state;
    assert_int_equal(sem_init(&server_back, 0, 0), 0);
    t_points_init(&p);
    struct col_fs_probe *probe = col_fs_probe_new(statvfs_away, 10000);
    for (int i = 0; i < 3; i++) {
        read_mounts(&p, probe);
        assert_string_equal(t_value(&p, "df.error fstype=nfs4 mount=/away"), "1");
        assert_string_equal(t_value(&p, "df.bytes.total fstype=nfs4 mount=/away"), "");
    }
    assert_int_equal(n_asked, 1);
    for (int i = 0; i < 1000; i++)
        (void)sem_post(&server_back);
    for (int i = 0; i < 6000 && strcmp(t_value(&p, "df.error fstype=nfs4 mount=/away"), "0") != 0; i++) {
        read_mounts(&p, probe);
        usleep(10000);
    }
    assert_string_equal(t_value(&p, "df.bytes.total fstype=nfs4 mount=/away"), "1024000");
    col_fs_probe_free(probe);
    t_points_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mounts__types_and_paths_are_left_out),
        cmocka_unit_test(test_mounts__a_device_counts_once),
        cmocka_unit_test(test_mounts__escapes_in_names),
        cmocka_unit_test(test_mounts__figures),
        cmocka_unit_test(test_mounts__a_server_that_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
