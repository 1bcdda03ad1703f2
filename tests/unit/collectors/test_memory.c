/*
 * test_memory.c - /proc/meminfo, vmstat, loadavg, uptime, file-nr of several kernels and of containers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/host/parse.h"
#include "t_points.h"

extern const struct col_collector col_memory, col_vmstat, col_load, col_uptime, col_files;

static void parse(struct t_points *p, void (*fn)(struct ts_slice, struct col_emit *), const char *text)
{
    t_points_clear(p);
    fn(ts_slice_str(text), p->emit);
    t_points_end(p);
}

static void vmstat_parse(struct ts_slice text, struct col_emit *emit)
{
    col_vmstat_parse(text, "pgpg*,pgfault,pgmajfault,oom_kill,pswp*", emit);
}

static void test_memory__lines_become_names(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    parse(&p, col_memory_parse,
          "MemTotal:       24731708 kB\nMemAvailable:   22844000 kB\nActive(anon):     123 "
          "kB\nInactive(file):       7 kB\n"
          "Committed_AS:   5 kB\nHugePages_Total:       3\nHugePages_Free:        1\nHugepagesize:       "
          "2048 kB\nDirectMap4k:  9 kB\n");
    assert_string_equal(t_value(&p, "proc.meminfo.memtotal"), "25325268992");
    assert_string_equal(t_value(&p, "proc.meminfo.memavailable"), "23392256000");
    assert_string_equal(t_value(&p, "proc.meminfo.active_anon"), "125952");
    assert_string_equal(t_value(&p, "proc.meminfo.inactive_file"), "7168");
    assert_string_equal(t_value(&p, "proc.meminfo.committed_as"), "5120");
    assert_string_equal(t_value(&p, "proc.meminfo.hugepages_total"), "3");
    assert_string_equal(t_value(&p, "proc.meminfo.hugepagesize"), "2097152");
    assert_string_equal(t_value(&p, "proc.meminfo.directmap4k"), "9216");
    assert_int_equal(p.n, 9);
    assert_true(t_all_listed(&p, &col_memory));
    t_points_release(&p);
}

/* Linux 2.4 begins with a table; a container's meminfo (lxcfs) may say 0 or leave lines out */
static void test_memory__odd_texts(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    parse(&p, col_memory_parse,
          "        total:    used:    free:  shared: buffers:  cached:\nMem:  1054015488 1 2 3\nMemTotal:    "
          "  1029312 kB\n");
    assert_string_equal(t_value(&p, "proc.meminfo.memtotal"), "1054015488");
    parse(&p, col_memory_parse,
          "MemTotal: 0 kB\n:\n: 5 kB\nNoNumber: kB\nNegative: -5 kB\nX:7kB\nLast:      18446744073709551615");
    assert_string_equal(t_value(&p, "proc.meminfo.memtotal"), "0");
    assert_string_equal(t_value(&p, "proc.meminfo.last"), "9223372036854775807");
    assert_int_equal(p.n, 2);
    t_points_release(&p);
}

static void test_memory__vmstat_takes_what_it_knows(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    parse(&p, vmstat_parse,
          "nr_free_pages 5\npgpgin 1\npgpgout 2\npswpin 3\npswpout 4\npgalloc_dma 7\npgfault 5\npgmajfault "
          "6\noom_kill 8\n");
    assert_int_equal(p.n, 7);
    assert_string_equal(t_value(&p, "proc.vmstat.pgmajfault"), "6");
    assert_true(t_all_listed(&p, &col_vmstat));
    parse(&p, vmstat_parse, "pgpgin\npgpgout x\npgfault 1\n");
    assert_int_equal(p.n, 1);
    t_points_release(&p);
}

static void test_memory__load_and_uptime(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    parse(&p, col_load_parse, "0.20 1.18 12.00 3/180 11827\n");
    assert_string_equal(t_value(&p, "proc.loadavg.1min"), "0.2");
    assert_string_equal(t_value(&p, "proc.loadavg.15min"), "12.0");
    assert_string_equal(t_value(&p, "proc.loadavg.runnable"), "3");
    assert_string_equal(t_value(&p, "proc.loadavg.total_threads"), "180");
    assert_true(t_all_listed(&p, &col_load));
    parse(&p, col_load_parse, "0.20 1.18\n");
    assert_int_equal(p.n, 2);
    parse(&p, col_uptime_parse, "350735.47 234388.90\n");
    assert_string_equal(t_value(&p, "proc.uptime.total"), "350735.47");
    assert_string_equal(t_value(&p, "proc.uptime.now"), "234388.9");
    assert_true(t_all_listed(&p, &col_uptime));
    parse(&p, col_files_parse, "1952\t52\t9223372036854775807\n");
    assert_string_equal(t_value(&p, "proc.sys.fs.file_open"), "1900");
    assert_string_equal(t_value(&p, "proc.sys.fs.file_max"), "9223372036854775807");
    assert_true(t_all_listed(&p, &col_files));
    parse(&p, col_files_parse, "1952\n");
    assert_int_equal(p.n, 0);
    t_points_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory__lines_become_names),
        cmocka_unit_test(test_memory__odd_texts),
        cmocka_unit_test(test_memory__vmstat_takes_what_it_knows),
        cmocka_unit_test(test_memory__load_and_uptime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
