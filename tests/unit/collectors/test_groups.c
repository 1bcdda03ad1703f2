/*
 * test_groups.c - processes by groups, from a folder in place of /proc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectors/collect.h"
#include "t_points.h"
#include "tests/unit/t_folder.h"

extern const struct col_collector col_groups;

static char dir[T_FOLDER_BYTES];
static struct ts_conf *conf;
static struct t_points p;
static void *groups;

static int setup(void **state)
{
    static const struct ts_conf_key *const tables[] = {col_conf_keys};
    (void)state;
    t_folder_make(dir);
    conf = ts_conf_new(tables, 1);
    t_points_init(&p);
    groups = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (groups)
        col_groups.release(groups);
    t_points_release(&p);
    ts_conf_free(conf);
    return t_folder_remove(dir);
}

static void write_file(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

static int began = 77; /* when processes began, in hundredths of a second */

/* A process with so many hundredths of a second, pages and open files. */
static void process(int pid, const char *name, const char *line, size_t n_line, int jiffies, int n_files)
{
    char path[256], text[512];
    snprintf(path, sizeof(path), "%s/proc", dir);
    (void)mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/proc/%d", dir, pid);
    (void)mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/proc/%d/stat", dir, pid);
    int n = snprintf(text, sizeof(text),
                     "%d (%s) S 1 2 3 0 -1 4194560 1 2 3 4 %d 5 10 20 20 0 2 0 %d 1000 10 1\n", pid, name,
                     jiffies - 5, began);
    write_file(path, text, (size_t)n);
    snprintf(path, sizeof(path), "%s/proc/%d/cmdline", dir, pid);
    write_file(path, line, n_line);
    snprintf(path, sizeof(path), "%s/proc/%d/fd", dir, pid);
    if (n_files)
        (void)mkdir(path, 0755);
    for (int i = 0; i < n_files; i++) {
        snprintf(path, sizeof(path), "%s/proc/%d/fd/%d", dir, pid, i);
        write_file(path, "", 0);
    }
}

static int start(const char *key)
{
    static struct col_ctx ctx;
    ctx = (struct col_ctx){.conf = conf, .root = dir};
    assert_int_equal(ts_conf_set(conf, "collect_processes", ts_slice_str(key), "test", NULL), 0);
    return col_groups.init(&ctx, &groups, NULL);
}

static void turn(void)
{
    t_points_clear(&p);
    assert_int_equal(col_groups.read(groups, p.emit, NULL), 0);
    t_points_end(&p);
    assert_true(t_all_listed(&p, &col_groups));
}

static void test_groups__processes_are_added_up(void **state)
{
    (void)state;
    process(10, "postgres", "postgres", 8, 100, 3);
    process(11, "postgres", "postgres: writer", 16, 50, 2);
    process(12, "java", "/usr/bin/java\0-jar\0/srv/search.jar", 34, 1000, 0); /* not for us to see */
    process(13, "java", "java\0-jar\0other.jar", 19, 1000, 1);
    process(14, "sh", "sh", 2, 7, 1);
    assert_int_equal(start("search=*/search.jar*; db = postgres,post*; all=java,post*; none=nobody"), 0);
    turn();
    assert_string_equal(t_value(&p, "proc.group.count group=db"), "2");
    assert_string_equal(t_value(&p, "proc.group.threads group=db"), "4");
    assert_string_equal(t_value(&p, "proc.group.open_files group=db"), "5");
    assert_string_equal(t_value(&p, "proc.group.cpu group=db"),
                        "0"); /* what was used before we looked is not counted */
    assert_string_equal(t_value(&p, "proc.group.count group=search"), "1");
    assert_string_equal(t_value(&p, "proc.group.open_files group=search"), "");
    assert_string_equal(t_value(&p, "proc.group.count group=all"), "1");
    assert_string_equal(t_value(&p, "proc.group.count group=none"), "0");
    assert_string_equal(t_value(&p, "proc.group.memory group=none"), "0");
    assert_string_equal(t_value(&p, "proc.group.open_files group=none"), "0");
    /* one goes on, one has ended, one is new */
    char command[256];
    snprintf(command, sizeof(command), "rm -r %s/proc/11", dir);
    assert_int_equal(system(command), 0);
    process(10, "postgres", "postgres", 8, 150, 3);
    process(15, "postgres", "postgres", 8, 20, 1);
    turn();
    char want[32];
    snprintf(want, sizeof(want), "%d", (50 + 20) * 1000 / (int)sysconf(_SC_CLK_TCK));
    assert_string_equal(t_value(&p, "proc.group.cpu group=db"), want);
    assert_string_equal(t_value(&p, "proc.group.count group=db"), "2");
}

/* Another process has the number of one that ended: all that it used is new. */
static void test_groups__numbers_are_used_again(void **state)
{
    char want[32];
    (void)state;
    process(10, "postgres", "postgres", 8, 100, 1);
    assert_int_equal(start("db=postgres"), 0);
    turn();
    began = 78;
    process(10, "postgres", "postgres", 8, 30, 1);
    turn();
    snprintf(want, sizeof(want), "%d", 30 * 1000 / (int)sysconf(_SC_CLK_TCK));
    assert_string_equal(t_value(&p, "proc.group.cpu group=db"), want);
    process(10, "postgres", "postgres", 8, 130, 1);
    began = 77;
    turn();
    snprintf(want, sizeof(want), "%d", 130 * 1000 / (int)sysconf(_SC_CLK_TCK));
    assert_string_equal(t_value(&p, "proc.group.cpu group=db"), want);
}

static void test_groups__wrong_keys_are_refused(void **state)
{
    static const char *const bad[] = {"db", "=x", "db=", "a=b; c"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(start(bad[i]), TS_EINVAL);
    assert_int_equal(start(""), TS_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_groups__processes_are_added_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_groups__numbers_are_used_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_groups__wrong_keys_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
