/*
 * test_interrupts.c - /proc/interrupts with holes, queues and lines of one number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/host/parse.h"
#include "t_points.h"

extern const struct col_collector col_interrupts;

static const char text[] =
    "           CPU0       CPU2       CPU3       \n"
    "  0:         45          0          0   IO-APIC   2-edge      timer\n"
    "  1:          0          9          0   IO-APIC   1-edge      i8042\n"
    " 24:          1          2          3   PCI-MSI 524288-edge      eth0-TxRx-0\n"
    " 25:         10         20         30   PCI-MSI 524289-edge      eth0-TxRx-1\n"
    " 26:          5          5          5   PCI-MSI 1-edge      nvme0q0\n"
    " 27:          5          5          5   PCI-MSI 2-edge      nvme0q12\n"
    " 28:          7          0          0   PCI-MSI 3-edge      eth0\n"
    " 29:          1          1          1   PCI-MSI 4-edge      virtio0-input.0\n"
    " 16:          3          0          0   IO-APIC  16-fasteoi   ehci_hcd:usb1, uhci_hcd:usb2\n"
    "NMI:          1          2          3   Non-maskable interrupts\n"
    "ERR:          4\n"
    "MIS:          0\n";

static void test_interrupts__by_source_and_core(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    col_interrupts_parse(ts_slice_str(text), true, p.emit);
    t_points_end(&p);
    assert_string_equal(t_value(&p, "proc.interrupts cpu=0 type=timer"), "45");
    assert_string_equal(t_value(&p, "proc.interrupts cpu=2 type=i8042"), "9");
    assert_string_equal(t_value(&p, "proc.interrupts cpu=1 type=i8042"), "");
    assert_string_equal(t_value(&p, "proc.interrupts cpu=3 type=eth0-TxRx"), "33");
    assert_string_equal(t_value(&p, "proc.interrupts cpu=0 type=nvme0q"), "10");
    assert_string_equal(t_value(&p, "proc.interrupts cpu=0 type=eth0"), "7");
    assert_string_equal(t_value(&p, "proc.interrupts cpu=3 type=virtio0-input"), "1");
    assert_string_equal(t_value(&p, "proc.interrupts cpu=2 type=NMI"), "2");
    assert_string_equal(t_value(&p, "proc.interrupts cpu=all type=ERR"), "4");
    assert_true(t_all_listed(&p, &col_interrupts));
    t_points_release(&p);
}

static void test_interrupts__sums(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    col_interrupts_parse(ts_slice_str(text), false, p.emit);
    col_softirqs_parse(
        TS_SLICE_LIT(
            "                    CPU0       CPU1\n          HI:          1          2\n      NET_RX:  3 4\n"),
        false, p.emit);
    t_points_end(&p);
    assert_string_equal(t_value(&p, "proc.interrupts type=eth0-TxRx"), "66");
    assert_string_equal(t_value(&p, "proc.interrupts type=ERR"), "4");
    assert_string_equal(t_value(&p, "proc.softirqs type=NET_RX"), "7");
    t_points_release(&p);
}

static void test_interrupts__odd_texts(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    col_interrupts_parse(TS_SLICE_LIT(""), true, p.emit);
    col_interrupts_parse(TS_SLICE_LIT("no heading\n NMI: 1 2\n"), true, p.emit);
    col_interrupts_parse(TS_SLICE_LIT("  CPU0 CPU1\n NMI:\n :\n 5: 1 2\n X 1\n"), true, p.emit);
    t_points_end(&p);
    assert_int_equal(p.n, 0);
    t_points_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupts__by_source_and_core),
        cmocka_unit_test(test_interrupts__sums),
        cmocka_unit_test(test_interrupts__odd_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
