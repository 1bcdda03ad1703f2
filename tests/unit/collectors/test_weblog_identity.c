/*
 * test_weblog_identity.c - which file is which: remounts, copies, lost configuration, equal lines, all names and packings of rotated files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/collectors/t_follow.h"

/* Device and inode say nothing of a file that was copied, restored or mounted anew. */
static void test_weblog_identity__a_remount_counts_nothing_twice(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "seq 1 400 >a.log", turn_first(d));
    for (unsigned i = 0; i < 3; i++) {
        col_web__remounts += 1000; /* all numbers of devices and inodes change */
        again(d);
        t_after(d, "echo more >>a.log", "more|");
    }
    sh(d, "echo last >>a.log; mv a.log a.log.1; echo new >a.log");
    col_web__remounts += 1000;
    again(d);
    t_comes(d, "last|new|");
    col_web__remounts = 0;
}

static void test_weblog_identity__a_log_replaced_by_its_copy_goes_on(void **state)
{
    struct t_dir *d = *state;
    (void)turn_first(d);
    t_after(d, "seq 1 400 >a.log", d->first);
    t_after(d, "cp -p a.log b; mv b a.log", "");
    t_after(d, "echo c1 >>a.log", "c1|");
    /* the server has the old file still; what it writes there counts as well */
    sh(d, "exec 3>>a.log; cp -p a.log b; mv b a.log; echo c2 >>a.log; echo c3 >&3");
    t_comes(d, "c3|c2|");
    again(d);
    t_after(d, "cp a.log b; rm a.log; mv b a.log; echo c4 >>a.log", "c4|");
    /* an older copy is put back: all of it was counted, what follows is new */
    t_after(d, "cp a.log old; echo c5 >>a.log", "c5|");
    t_after(d, "cp old a.log", "");
    t_after(d, "echo c6 >>a.log", "c6|");
    again(d);
    t_after(d, "rm a.log; cp old a.log", "");
    t_after(d, "echo c7 >>a.log", "c7|");
}

/* A start without the log in the configuration forgets nothing. */
static void test_weblog_identity__a_log_left_out_for_a_start_goes_on(void **state)
{
    struct t_dir *d = *state;
    char *pattern = d->logs.logs[0].pattern, other[] = "/nowhere/x.log";
    t_after(d, "echo a1 >a.log", "a1|");
    d->logs.logs[0].pattern = other;
    again(d);
    t_after(d, "echo a2 >>a.log; mv a.log a.log.1; echo b1 >a.log; mv a.log a.log.2; echo c1 >a.log", "");
    again(d);
    t_comes(d, "");
    d->logs.logs[0].pattern = pattern;
    again(d);
    t_comes(d, "a2|b1|c1|");
    again(d);
    t_comes(d, "");
    /* for longer than they are kept, they are gone */
    d->keep_ms = 1000;
    d->logs.logs[0].pattern = other;
    again(d);
    d->now_ms += 5000;
    t_comes(d, "");
    assert_int_equal(d->f.n_tails, 0);
    d->logs.logs[0].pattern = pattern;
}

/* What one log finished is forgotten by no other. */
static void test_weblog_identity__many_logs_forget_nothing_of_each_other(void **state)
{
    struct t_dir *d = *state;
    sh(d, "for i in $(seq 40); do echo $i.0 >s$i.log; done");
    (void)turn(d);
    for (unsigned day = 1; day <= 12; day++) {
        char command[300];
        snprintf(command, sizeof(command),
                 "for i in $(seq 40); do for k in $(seq 12 -1 1); do [ ! -f s$i.log.$k ] || mv s$i.log.$k "
                 "s$i.log.$((k+1)); done; mv s$i.log s$i.log.1; echo $i.%u >s$i.log; done",
                 day);
        if (day % 4 == 0)
            again(d);
        sh(d, command);
        const char *came = turn(d);
        unsigned n = 0;
        for (const char *p = came; *p; p++)
            n += *p == '|';
        if (n != 40)
            fail_msg("day %u: %s", day, came);
        d->now_ms += ROTATED_MS + 1000;
        t_comes(d, "");
    }
    again(d);
    t_comes(d, "");
}

/* Equal lines in two logs are two lines each. */
static void test_weblog_identity__logs_of_equal_lines_are_two(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "seq 1 3 >a.log; cp a.log b.log", "1|2|3|1|2|3|");
    t_after(d,
            "seq 4 6 >>a.log; mv a.log a.log.1; mv b.log b.log.1; seq 7 9 >a.log; cp a.log b.log; seq 4 6 "
            ">>b.log.1",
            "4|5|6|7|8|9|4|5|6|7|8|9|");
    sh(d, "mv a.log a.log.2; mv b.log b.log.2; gzip a.log.2 b.log.2; seq 10 11 >a.log; cp a.log b.log");
    again(d);
    t_comes(d, "10|11|10|11|");
    again(d);
    t_comes(d, "");
}

/* What came while we were not there, by every name that logrotate can give it, packed by whatever it has. */
static void test_weblog_identity__every_name_and_packing_of_logrotate(void **state)
{
    static const char *const names[] = {"a.log.1",          "a.log-20261121",     "a.log-20261121_07",
                                        "a.log-2026112107", "a.log.2026-11-21",   "a.log-1795312222",
                                        "a.1.log",          "a-20261121.log",     "a-20261121_07.log",
                                        "a.log.1.old",      "a.log-20261121.bak", "a.log_2026-11-21T07:00:01",
                                        "a.log-24",         "a.log.week24",       "a.log.3"};
    static const char *const tools[] = {"true", "gzip", "xz", "bzip2", "zstd -q --rm"};
    struct t_dir *d = *state;
    (void)turn_first(d);
    t_after(d, "seq 1 400 >a.log", d->first);
    unsigned n = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        for (size_t k = 0; k < sizeof(tools) / sizeof(*tools); k++) {
            char command[300], want[100];
            n += 2;
            /* two at once: one that we had begun, one that nobody has seen */
            snprintf(command, sizeof(command),
                     "rm -f a.log?* a[-.][0-9]*; echo x%u >>a.log; mv a.log a.log.9; gzip a.log.9; echo y%u "
                     ">a.log; "
                     "mv a.log %s; %s %s; echo z%u >a.log",
                     n, n, names[i], tools[k], names[i], n);
            sh(d, command);
            again(d);
            const char *came = turn(d);
            bool ok = true;
            for (const char *c = "xyz"; *c; c++) {
                snprintf(want, sizeof(want), "%c%u|", *c, n);
                ok = ok && strstr(came, want) && strlen(came) == 3 * strlen(want);
            }
            if (!ok)
                fail_msg("%s by %s: %s", names[i], tools[k], came);
        }
}

/* A number too short for a date before the ending: of the log if its first bytes say so, else nobody's. */
static void test_weblog_identity__short_numbers_need_their_first_bytes(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "echo a1 >a.log", "a1|");
    sh(d, "echo a2 >>a.log; mv a.log a-24.log; gzip a-24.log; echo other >a-443.log; echo b1 >a.log");
    again(d);
    t_comes(d, "a2|b1|");
}

static void test_weblog_identity__packings_that_are_not_read_are_named(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "echo a1 >a.log", "a1|");
    ts_log_set_level(TS_LOG_ERROR + 1);
    t_after(d, "printf '\004\042\115\030xxxxxxxxxx' >a.log.1.lz4; mv a.log a.log.2; echo b1 >a.log", "b1|");
    assert_int_equal(d->f.n_reported, 1);
    t_after(d, "mv a.log a.log.3; echo c1 >a.log", "c1|");
    assert_int_equal(d->f.n_reported, 1);
    ts_log_set_level(TS_LOG_ERROR);
}

/* Numbers in a site's name make no rotated file of it; the neighbour decides. */
static void test_weblog_identity__numbered_sites_are_followed(void **state)
{
    struct t_dir *d = *state;
    sh(d, "echo a >site.log; sleep 0.01; echo b >site-1.log; echo c >shop-24.log; echo d >x-443.log; echo e "
          ">site.log.1; "
          "echo f >site.log-20261121; echo g >orphan.log.1");
    const char *came = turn(d);
    assert_true(strstr(came, "a|") && strstr(came, "b|") && strstr(came, "c|") && strstr(came, "d|"));
    assert_int_equal(strlen(came), 8);
    assert_int_equal(d->f.n_left_out, 2); /* of site.log, and the orphan */
    t_after(d, "mv site-1.log site-1.log.1; echo b2 >site-1.log", "b2|");
    t_after(d,
            "mv site-1.log site-1-20261121.log; echo b3 >site-1.log; mv site.log site-20261121.log; echo a3 "
            ">site.log; mv "
            "shop-24.log shop-24-20261121.log; echo c3 >shop-24.log",
            "c3|b3|a3|");
    again(d);
    t_comes(d, "");
}

/* The wall clock ends no rotated file. */
static void test_weblog_identity__steps_of_the_clock_end_nothing(void **state)
{
    struct t_dir *d = *state;
    d->keep_ms = 86400000;
    again(d);
    t_after(d, "echo a1 >a.log", "a1|");
    t_after(d, "mv a.log a.log.1; echo b1 >a.log", "b1|");
    d->wall_ms += (int64_t)86400000 * 400;
    t_after(d, "echo a2 >>a.log.1", "a2|");
    d->wall_ms -= (int64_t)86400000 * 800;
    t_after(d, "echo a3 >>a.log.1; mv a.log.1 a.log.2; mv a.log a.log.1; echo c1 >a.log", "a3|c1|");
    again(d);
    t_comes(d, "");
}

/* What is forgotten is what was not seen for longest, and its age is kept: a file so old is never taken for a new one. */
static void test_weblog_identity__forgotten_files_stay_old(void **state)
{
    struct col_web_tail *t = col_web_tail_new("/log/x.log", NULL);
    static const enum col_web_role roles[] = {COL_WEB_DONE, COL_WEB_PAST, COL_WEB_ROTATED};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct col_web_place *p = col_web_place_add(t, roles[i]);
        p->seen_ms = 100 * (i + 1);
        p->mtime_ms = 900 - 100 * i;
    }
    assert_int_equal(col_web_tail_trim(t, 100), 0);
    assert_true(t->floor_ms == INT64_MIN);
    assert_int_equal(col_web_tail_trim(t, 101), 1);
    assert_int_equal(t->floor_ms, 900);
    assert_int_equal(col_web_tail_trim(t, 1000), 1); /* what is not read to its end stays */
    assert_int_equal(t->n_places, 1);
    assert_int_equal(t->floor_ms, 900); /* never back */
    for (int i = 0; i < (int)COL_WEB_PLACES_MAX + 2; i++) {
        struct col_web_place *p = col_web_place_add(t, COL_WEB_DONE);
        p->seen_ms = 5000 - i;
        p->mtime_ms = 10000 + i;
    }
    assert_int_equal(col_web_tail_trim(t, 0), 3);
    assert_int_equal(t->n_places, COL_WEB_PLACES_MAX);
    assert_int_equal(t->floor_ms, 10000 + COL_WEB_PLACES_MAX + 1);
    for (uint32_t i = 0; i < t->n_places; i++)
        if (t->places[i]->role == COL_WEB_DONE)
            assert_true(t->places[i]->seen_ms > 5000 - (int)COL_WEB_PLACES_MAX + 1);
    col_web_tail_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_weblog_identity__a_remount_counts_nothing_twice, set_up),
        T_CASE(test_weblog_identity__a_log_replaced_by_its_copy_goes_on, set_up),
        T_CASE(test_weblog_identity__a_log_left_out_for_a_start_goes_on, set_up),
        T_CASE(test_weblog_identity__many_logs_forget_nothing_of_each_other, set_up_all),
        T_CASE(test_weblog_identity__logs_of_equal_lines_are_two, set_up_all),
        T_CASE(test_weblog_identity__every_name_and_packing_of_logrotate, set_up),
        T_CASE(test_weblog_identity__short_numbers_need_their_first_bytes, set_up),
        T_CASE(test_weblog_identity__packings_that_are_not_read_are_named, set_up),
        T_CASE(test_weblog_identity__numbered_sites_are_followed, set_up_all),
        T_CASE(test_weblog_identity__steps_of_the_clock_end_nothing, set_up),
        cmocka_unit_test(test_weblog_identity__forgotten_files_stay_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
