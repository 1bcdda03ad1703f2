/*
 * test_disk.c - /proc/diskstats of all kernels; rates between two reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/host/disk.h"
#include "t_points.h"

extern const struct col_collector col_disk;

static const char *dm_name = "vg0-root"; /* of dm-0 */

static void ask(void *arg, const char *dev, bool *out_whole, char out_name[128])
{
    (void)arg;
    *out_whole = !strchr(dev, 'p') && strcmp(dev, "sda1") != 0;
    snprintf(out_name, 128, "%s", strcmp(dev, "dm-0") == 0 ? dm_name : "");
}

static void parse(struct t_points *p, struct col_disks *d, const char *text, int64_t now_ms)
{
    t_points_clear(p);
    col_disks_parse(d, ts_slice_str(text), now_ms, p->emit);
    t_points_end(p);
    assert_true(t_all_listed(p, &col_disk));
}

/* dm-0 is set up anew under another name: it is another device, and no rates are made across the change. */
static void test_disk__names_are_asked_again(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    struct col_disks *d = col_disks_new("", ask, NULL);
    parse(&p, d, " 253 0 dm-0 1 0 2 3 4 0 5 6 0 7 8\n", 1000);
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=vg0-root"), "1");
    dm_name = "vg1-data";
    parse(&p, d, " 253 0 dm-0 2 0 2 3 4 0 5 6 0 7 8\n", 2000);
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=vg1-data"), "2");
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=vg0-root"), "");
    assert_string_equal(t_value(&p, "iostat.disk.util dev=vg1-data"), "");
    parse(&p, d, " 253 0 dm-0 3 0 2 3 4 0 5 6 0 7 8\n", 3000);
    assert_string_equal(t_value(&p, "iostat.disk.util dev=vg1-data"), "0.0");
    dm_name = "vg0-root";
    col_disks_free(d);
    t_points_release(&p);
}

/* A disk is pulled and another put in: its counters begin anew, and there is no rate from the one to the other. */
static void test_disk__no_rates_from_one_disk_to_its_successor(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    struct col_disks *d = col_disks_new("", ask, NULL);
    parse(&p, d, " 8 0 sda 1000 0 2000 300 1000 0 2000 300 0 400 600\n", 1000);
    parse(&p, d, " 8 0 sda 10 0 20 3 2000 0 20 3 0 4 6\n", 2000); /* fewer reads */
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=sda"), "10");
    assert_string_equal(t_value(&p, "iostat.disk.util dev=sda"), "");
    assert_string_equal(t_value(&p, "iostat.disk.await dev=sda"), "");
    parse(&p, d, " 8 0 sda 20 0 40 3 10 0 20 3 0 4 6\n", 3000); /* fewer writes */
    assert_string_equal(t_value(&p, "iostat.disk.util dev=sda"), "");
    parse(&p, d, " 8 0 sda 30 0 40 3 10 0 20 3 0 504 6\n", 4000);
    assert_string_equal(t_value(&p, "iostat.disk.util dev=sda"), "50.0");
    col_disks_free(d);
    t_points_release(&p);
}

/* Linux 6, 4.18, 3.10 and 2.6.18 side by side; names of every kind */
static void test_disk__columns_of_all_kernels(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    struct col_disks *d = col_disks_new("loop*", ask, NULL);
    parse(&p, d,
          " 259       0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n"
          " 259       1 nvme0n1p1 21 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
          " 253       0 dm-0 0 0 0 0 7 0 8 9 0 1 2\n"
          "   9       0 md0 1 0 0 0 0 0 0 0 0 0 0\n"
          "   8       1 sda1 11 22 33 44\n"
          "   7       0 loop0 5 5 5 5 5 5 5 5 5 5 5\n"
          "   1       0 ram0 0 0 0 0 0 0 0 0 0 0 0\n"
          "   8      32 sdc 1 2\n   8\n",
          1000);
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=nvme0n1"), "1");
    assert_string_equal(t_value(&p, "iostat.disk.read_bytes dev=nvme0n1"), "1536");
    assert_string_equal(t_value(&p, "iostat.disk.msec_weighted_total dev=nvme0n1"), "11");
    assert_string_equal(t_value(&p, "iostat.disk.sectors_discarded dev=nvme0n1"), "14");
    assert_string_equal(t_value(&p, "iostat.disk.msecs_flushing dev=nvme0n1"), "17");
    assert_string_equal(t_value(&p, "iostat.part.read_requests dev=nvme0n1p1"), "21");
    assert_string_equal(t_value(&p, "iostat.part.flush_requests dev=nvme0n1p1"), "");
    assert_string_equal(t_value(&p, "iostat.disk.write_requests dev=vg0-root"), "7");
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=md0"), "1");
    assert_string_equal(t_value(&p, "iostat.part.read_issued dev=sda1"), "11");
    assert_string_equal(t_value(&p, "iostat.part.write_sectors dev=sda1"), "44");
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=loop0"), "");
    assert_string_equal(t_value(&p, "iostat.disk.read_requests dev=ram0"), "");
    assert_string_equal(t_value(&p, "iostat.disk.util dev=nvme0n1"), ""); /* no second read yet */
    assert_int_equal(p.n, 19 + 17 + 13 + 13 + 4);
    col_disks_free(d);
    t_points_release(&p);
}

static void test_disk__rates_of_two_reads(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    struct col_disks *d = col_disks_new("", ask, NULL);
    parse(&p, d, "8 0 sda 100 0 0 1000 50 0 0 4294967290 0 4294967000 0\n", 5000);
    parse(&p, d, "8 0 sda 110 0 0 1050 55 0 0 24 0 204 0\n", 6000); /* two times went over 32 bits */
    assert_string_equal(t_value(&p, "iostat.disk.r_await dev=sda"), "5.0");
    assert_string_equal(t_value(&p, "iostat.disk.w_await dev=sda"), "6.0");
    assert_string_equal(t_value(&p, "iostat.disk.await dev=sda"), "5.33");
    assert_string_equal(t_value(&p, "iostat.disk.svctm dev=sda"), "33.33");
    assert_string_equal(t_value(&p, "iostat.disk.util dev=sda"), "50.0");
    parse(&p, d, "8 0 sda 110 0 0 1050 55 0 0 24 0 9999 0\n", 7000); /* nothing ended, always busy */
    assert_string_equal(t_value(&p, "iostat.disk.await dev=sda"), "0.0");
    assert_string_equal(t_value(&p, "iostat.disk.util dev=sda"), "100.0");
    parse(&p, d, "8 0 sda 1 0 0 1 1 0 0 1 0 1 0\n", 8000); /* another disk under the same name */
    assert_string_equal(t_value(&p, "iostat.disk.util dev=sda"), "");
    parse(&p, d, "8 0 sda 2 0 0 1 1 0 0 1 0 1 0\n", 8000); /* no time passed */
    assert_string_equal(t_value(&p, "iostat.disk.util dev=sda"), "");
    col_disks_free(d);
    t_points_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disk__names_are_asked_again),
        cmocka_unit_test(test_disk__no_rates_from_one_disk_to_its_successor),
        cmocka_unit_test(test_disk__columns_of_all_kernels),
        cmocka_unit_test(test_disk__rates_of_two_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
