/*
 * test_smart.c - what smartctl printed of real disks: raw values with and without words behind them, Seagate's pairs, other answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collectors/core/collector.h"
#include "collectors/host/parse.h"
#include "t_points.h"
#include "tests/unit/t_folder.h"

extern const struct col_collector col_smart;

#define TABLE                                                                                                \
    "=== START OF READ SMART DATA SECTION ===\n"                                                             \
    "SMART Attributes Data Structure revision number: 10\n"                                                  \
    "Vendor Specific SMART Attributes with Thresholds:\n"                                                    \
    "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n"

static const char seagate[] =
    "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0-18-amd64] (local build)\n"
    "=== START OF INFORMATION SECTION ===\n"
    "Model Family:     Seagate Barracuda 7200.14 (AF)\n"
    "Device Model:     ST2000DM001-1CH164\n" TABLE
    "  1 Raw_Read_Error_Rate     0x000f   117   099   006    Pre-fail  Always       -       12885025336\n"
    "  3 Spin_Up_Time            0x0003   096   095   000    Pre-fail  Always       -       0\n"
    "  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always   FAILING_NOW 8\n"
    "  7 Seek_Error_Rate         0x000f   087   060   030    Pre-fail  Always       -       4869475811\n"
    "  9 Power_On_Hours          0x0032   059   059   000    Old_age   Always       -       "
    "36218h+42m+11.375s\n"
    "190 Airflow_Temperature_Cel 0x0022   066   054   045    Old_age   Always       -       34 (Min/Max "
    "24/39)\n"
    "250 Of_This_Maker           0x0022   066   054   045    Old_age   Always       -       5\n"
    "\n";

static void test_smart__attributes_of_a_seagate(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    assert_true(col_smart_parse(ts_slice_str(seagate), "sda", p.emit));
    t_points_end(&p);
    assert_int_equal(p.n, 6 + 4);
    assert_string_equal(t_value(&p, "smart.raw_read_error_rate disk=sda"), "12885025336");
    assert_string_equal(t_value(&p, "smart.raw_read_count disk=sda"), "123448"); /* 3 * 2^32 + 123448 */
    assert_string_equal(t_value(&p, "smart.raw_read_errors disk=sda"), "3");
    assert_string_equal(t_value(&p, "smart.seek_count disk=sda"), "574508515"); /* 2^32 + 574508515 */
    assert_string_equal(t_value(&p, "smart.seek_errors disk=sda"), "1");
    assert_string_equal(t_value(&p, "smart.reallocated_sector_ct disk=sda"), "8");
    assert_string_equal(t_value(&p, "smart.power_on_hours disk=sda"), "36218");
    assert_string_equal(t_value(&p, "smart.airflow_temperature_celsius disk=sda"), "34");
    assert_true(t_all_listed(&p, &col_smart));
    t_points_release(&p);
}

static void test_smart__of_others_no_pairs(void **state)
{
    static const char text[] =
        "Device Model:     Samsung SSD 870 EVO 1TB\n" TABLE
        "  1 Raw_Read_Error_Rate     0x000f   117   099   006    Pre-fail  Always       -       7\n"
        "177 Wear_Leveling_Count     0x0013   099   099   000    Pre-fail  Always       -       21\n"
        "192 Power-Off_Retract_Count 0x0012   099   099   000    Old_age   Always       -       33\n"
        "bad 177 line\n"
        "177 cut 0x0013\n"
        "99999 Wear_Leveling_Count   0x0013   099   099   000    Pre-fail  Always       -       21\n";
    struct t_points p;
    (void)state;
    t_points_init(&p);
    assert_true(col_smart_parse(ts_slice_str(text), "sdb", p.emit));
    t_points_end(&p);
    assert_int_equal(p.n, 3);
    assert_string_equal(t_value(&p, "smart.wear_leveling_count disk=sdb"), "21");
    assert_string_equal(t_value(&p, "smart.power-off_retract_count disk=sdb"), "33");
    t_points_release(&p);
}

static const char nvme[] = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n"
                           "=== START OF INFORMATION SECTION ===\n"
                           "Model Number:                       Samsung SSD 980 PRO 1TB\n"
                           "=== START OF SMART DATA SECTION ===\n"
                           "SMART/Health Information (NVMe Log 0x02)\n"
                           "Critical Warning:                   0x04\n"
                           "Temperature:                        38 Celsius\n"
                           "Available Spare:                    100%\n"
                           "Available Spare Threshold:          10%\n"
                           "Percentage Used:                    3%\n"
                           "Data Units Read:                    12,345,678 [6.32 TB]\n"
                           "Power On Hours:                     1,234\n"
                           "Unsafe Shutdowns:                   17\n"
                           "Media and Data Integrity Errors:    2\n";

static void test_smart__nvme_and_sas(void **state)
{
    static const char sas[] = "Vendor:               SEAGATE\n"
                              "Current Drive Temperature:     99 C\n" /* not in the section */
                              "=== START OF READ SMART DATA SECTION ===\n"
                              "Current Drive Temperature:     30 C\n"
                              "Drive Trip Temperature:        60 C\n"
                              "Accumulated power on time, hours:minutes 31245:12\n"
                              "Elements in grown defect list: 4\n"
                              "Non-medium error count:        x\n";
    struct t_points p;
    (void)state;
    t_points_init(&p);
    assert_true(col_smart_parse(ts_slice_str(nvme), "nvme0n1", p.emit));
    t_points_end(&p);
    assert_int_equal(p.n, 8);
    assert_string_equal(t_value(&p, "smart.critical_warning disk=nvme0n1"), "4");
    assert_string_equal(t_value(&p, "smart.temperature_celsius disk=nvme0n1"), "38");
    assert_string_equal(t_value(&p, "smart.available_spare disk=nvme0n1"), "100");
    assert_string_equal(t_value(&p, "smart.percentage_used disk=nvme0n1"), "3");
    assert_string_equal(t_value(&p, "smart.data_units_read disk=nvme0n1"), "12345678");
    assert_string_equal(t_value(&p, "smart.power_on_hours disk=nvme0n1"), "1234");
    assert_true(t_all_listed(&p, &col_smart));
    t_points_clear(&p);
    assert_true(col_smart_parse(ts_slice_str(sas), "sdab", p.emit));
    t_points_end(&p);
    assert_int_equal(p.n, 3);
    assert_string_equal(t_value(&p, "smart.temperature_celsius disk=sdab"), "30");
    assert_string_equal(t_value(&p, "smart.power_on_hours disk=sdab"), "31245");
    assert_string_equal(t_value(&p, "smart.grown_defects disk=sdab"), "4");
    t_points_release(&p);
}

static void test_smart__other_answers_give_nothing(void **state)
{
    static const char *const texts[] = {
        "", "Device is in STANDBY mode, exit(2)\n",
        "Smartctl open device: /dev/sda failed: Permission denied\n",
        "  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       8\n"};
    struct t_points p;
    (void)state;
    t_points_init(&p);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_false(col_smart_parse(ts_slice_str(texts[i]), "sda", p.emit));
    t_points_end(&p);
    assert_int_equal(p.n, 0);
    t_points_release(&p);
}

/* A smartctl of ours: sda has attributes, sdb sleeps, sdc can't be opened. */
static void test_smart__asks_smartctl_of_each_disk(void **state)
{
    struct t_points p;
    char folder[T_FOLDER_BYTES], *path = getenv("PATH"), *old = ts_xstrdup(path ? path : "");
    struct col_ctx ctx = {.root = folder};
    struct ts_error err = {0};
    void *smart;
    (void)state;
    t_folder_make(folder);
    t_folder_file(folder, "bin/smartctl",
                  "#!/bin/sh\nfor disk; do :; done\necho noise >&2\n"
                  "case $disk in\n/dev/sda) cat \"${0%/*}/sda.txt\" ;;\n"
                  "/dev/sdaa|/dev/nvme0n1) cat \"${0%/*}/nvme.txt\" ;;\n"
                  "/dev/sdb) echo 'Device is in STANDBY mode, exit(2)'; exit 2 ;;\n"
                  "*) echo 'open failed'; exit 2 ;;\nesac\n",
                  0755);
    t_folder_file(folder, "bin/sda.txt", seagate, 0644);
    t_folder_file(folder, "sys/block/sda/size", "1", 0644);
    t_folder_file(folder, "sys/block/sdb/size", "1", 0644);
    t_folder_file(folder, "bin/nvme.txt", nvme, 0644);
    t_folder_file(folder, "sys/block/nvme0n1/size", "1", 0644);
    t_folder_file(folder, "sys/block/sdaa/size", "1", 0644);
    t_folder_file(folder, "sys/block/nvme0c0n1/size", "1",
                  0644); /* a path of the first, no disk of its own */
    t_folder_file(folder, "sys/block/dm-0/size", "1", 0644);
    t_points_init(&p);
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(col_smart.init(&ctx, &smart, &err), TS_ENOTFOUND);
    char both[512];
    snprintf(both, sizeof(both), "%s/bin:%s", folder, old);
    setenv("PATH", both, 1);
    if (geteuid() != 0) {
        assert_int_equal(col_smart.init(&ctx, &smart, &err), TS_ENOTFOUND);
    } else {
        assert_int_equal(col_smart.init(&ctx, &smart, &err), 0);
        assert_int_equal(col_smart.read(smart, p.emit, &err), 0);
        t_points_end(&p);
        assert_int_equal(p.n, 10 + 2 * 8);
        t_folder_file(folder, "sys/block/sdc/size", "1", 0644);
        assert_int_equal(col_smart.read(smart, p.emit, &err), TS_EIO);
        assert_non_null(strstr(err.text, "of 1 disks, sdc"));
        col_smart.release(smart);
    }
    setenv("PATH", old, 1);
    ts_free(old);
    t_points_release(&p);
    t_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smart__attributes_of_a_seagate),
        cmocka_unit_test(test_smart__of_others_no_pairs),
        cmocka_unit_test(test_smart__nvme_and_sas),
        cmocka_unit_test(test_smart__other_answers_give_nothing),
        cmocka_unit_test(test_smart__asks_smartctl_of_each_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
