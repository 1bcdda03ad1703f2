/*
 * test_process.c - /proc/<pid>/stat with names of every kind; processes that come, go and are replaced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/host/process.h"
#include "t_points.h"

extern const struct col_collector col_process;

static void add(struct col_procs *p, int pid, const char *name, char state, int jiffies, int start, int rss)
{
    char text[512];
    snprintf(
        text, sizeof(text),
        "%d (%s) %c 1 2 3 0 -1 4194560 1 2 3 4 %d 5 10 20 20 0 2 0 %d 1000 %d 18446744073709551615 1 1 0\n",
        pid, name, state, jiffies - 5, start, rss);
    col_procs_add(p, ts_slice_str(text));
}

static void end(struct col_procs *p, int64_t now_ms, struct t_points *out)
{
    t_points_clear(out);
    col_procs_end(p, now_ms, out->emit);
    t_points_end(out);
    assert_true(t_all_listed(out, &col_process));
}

static void test_process__states_and_commands(void **state)
{
    struct t_points out;
    struct col_procs_opts opts = {.top = 2, .page_bytes = 4096, .jiffies_per_s = 100};
    (void)state;
    t_points_init(&out);
    struct col_procs *p = col_procs_new(&opts);
    col_procs_begin(p);
    add(p, 1, "init", 'S', 50, 0, 10);
    add(p, 20, "a) b (c", 'R', 100, 7, 20);
    add(p, 21, "web", 'D', 100, 7, 5);
    add(p, 22, "web", 'Z', 100, 7, 6);
    add(p, 9, "kworker/0:1-events", 'I', 100, 7, 0);
    add(p, 10, "kworker/u4:2", 'X', 100, 7, 0);
    end(p, 1000, &out);
    assert_string_equal(t_value(&out, "proc.processes.count state=running"), "1");
    assert_string_equal(t_value(&out, "proc.processes.count state=blocked"), "1");
    assert_string_equal(t_value(&out, "proc.processes.count state=zombie"), "1");
    assert_string_equal(t_value(&out, "proc.processes.count state=idle"), "1");
    assert_string_equal(t_value(&out, "proc.processes.count state=other"), "1");
    assert_string_equal(t_value(&out, "proc.processes.count state=stopped"), "0");
    assert_string_equal(t_value(&out, "proc.processes.threads"), "12");
    assert_string_equal(t_value(&out, "proc.top.memory command=a__b__c"), "81920");
    assert_string_equal(t_value(&out, "proc.top.memory command=web"), "45056");
    assert_int_equal(out.n, 7 + 1 + 2); /* no processor time before a second round */
    col_procs_begin(p);
    add(p, 1, "init", 'S', 50, 0, 10);
    add(p, 20, "a) b (c", 'R', 100, 9, 20); /* another process under the same number: all of it is new */
    add(p, 21, "web", 'S', 150, 7, 5);      /* 50; 22 has ended */
    add(p, 23, "web", 'S', 25, 99, 5);      /* begun since */
    add(p, 9, "kworker/0:9", 'I', 101, 7, 0);
    end(p, 3000, &out);
    assert_string_equal(t_value(&out, "proc.top.cpu command=a__b__c"), "50.0");
    assert_string_equal(t_value(&out, "proc.top.cpu command=web"), "37.5");
    assert_string_equal(t_value(&out, "proc.top.cpu command=kworker"), ""); /* third */
    col_procs_free(p);
    t_points_release(&out);
}

static void test_process__odd_texts_and_many(void **state)
{
    struct t_points out;
    struct col_procs_opts opts = {.top = 1000, .page_bytes = 4096, .jiffies_per_s = 100};
    (void)state;
    t_points_init(&out);
    struct col_procs *p = col_procs_new(&opts);
    for (int round = 1; round <= 2; round++) {
        col_procs_begin(p);
        static const char *const bad[] = {"",   "1",         "1 (x",          "1 x) S",
                                          ")(", "x (y) S 1", "5 (y) S 1 2 3", "5 (y)"};
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
            col_procs_add(p, ts_slice_str(bad[i]));
        for (int i = 500; i > 0; i--) { /* in no order */
            char name[32];
            snprintf(name, sizeof(name), "p%d", i);
            add(p, i, name, 'S', 10 + i * round, 0, i);
        }
        end(p, 1000 * round, &out);
    }
    assert_string_equal(t_value(&out, "proc.top.cpu command=p500"), "500.0");
    assert_string_equal(t_value(&out, "proc.top.cpu command=p7"), "7.0");
    assert_string_equal(t_value(&out, "proc.processes.count state=sleeping"), "500");
    assert_int_equal(out.n, 8 + 500 + 500);
    col_procs_free(p);
    t_points_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process__states_and_commands),
        cmocka_unit_test(test_process__odd_texts_and_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
