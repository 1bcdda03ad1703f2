/*
 * test_weblog_follow.c - files that grow, are rotated in all ways, truncated, packed; restarts in between.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/collectors/t_follow.h"

static void test_weblog_follow__torn_lines_come_once_and_whole(void **state)
{
    struct t_dir *d = *state;
    t_comes(d, "");
    t_after(d, "printf 'one\\ntw' >a.log", "one|");
    t_comes(d, "");
    again(d);
    t_comes(d, "");
    t_after(d, "printf 'o\\r\\n\\nthree\\n' >>a.log", "two\r||three|");
    again(d);
    t_comes(d, "");
    assert_int_equal(n_files(d), 1);
}

static void test_weblog_follow__a_renamed_file_is_read_to_its_end(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "printf 'a1\\n' >a.log", "a1|");
    t_after(d, "printf 'a2\\n' >>a.log; mv a.log a.log.1; printf 'b1\\n' >a.log", "a2|b1|");
    /* the server has not reopened it yet */
    t_after(d, "printf 'a3\\nend' >>a.log.1; printf 'b2\\n' >>a.log", "a3|b2|");
    again(d);
    t_after(d, "mv a.log.1 a.log.2; printf 'b3\\n' >>a.log", "b3|");
    d->now_ms += ROTATED_MS + 1000;
    t_comes(d, "end|"); /* nobody ends this line any more */
    assert_int_equal(n_files(d), 1);
    t_after(d, "mv a.log a.log.1; rm -f a.log.2", "");
    t_after(d, "printf 'c1\\n' >a.log", "c1|");
}

/* Lines "line 1" to "line N" as a command makes them, and as they come. */
static size_t many_lines(unsigned n, char *out, size_t cap)
{
    size_t used = 0;
    for (unsigned i = 1; i <= n && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, "line %u with some more to it|", i);
    return used;
}

/* The process stood still for longer than rotated files are kept: what came meanwhile is read, whole lines whole, however many chunks it takes. */
static void test_weblog_follow__nothing_is_cut_after_a_standstill(void **state)
{
    struct t_dir *d = *state;
    size_t cap = (size_t)4 << 20;
    char *want = ts_xcalloc(1, cap);
    t_after(d, "printf 'a1\n' >a.log", "a1|");
    t_after(d, "mv a.log a.log.1; printf 'b1\n' >a.log", "b1|");
    sh(d, "seq -f 'line %g with some more to it' 40000 >>a.log.1; printf 'half' >>a.log.1");
    d->now_ms += ROTATED_MS + 1000;
    for (int i = 0; i < 100 && col_web_follow_turn(&d->f, d->now_ms, d->now_ms) > 0; i++)
        ;
    size_t n = many_lines(40000, want, cap);
    assert_true(n > 2 * COL_WEB_CHUNK_BYTES && n < cap);
    assert_int_equal(d->lines.n, n);
    assert_memory_equal(d->lines.p, want, n);
    ts_buf_clear(&d->lines);
    t_after(d, "printf ' and half\nend' >>a.log.1", "half and half|");
    d->now_ms += ROTATED_MS + 1000;
    t_comes(d, "end|");
    assert_int_equal(n_files(d), 1);
    ts_free(want);
}

/* The same while a copy is looked for: it is looked for once more before it is given up. */
static void test_weblog_follow__a_copy_is_found_after_a_standstill(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "printf 'a1\n' >a.log", "a1|");
    sh(d, "printf 'a2\n' >>a.log; mv a.log x; : >a.log");
    again(d);
    t_comes(d, "");
    sh(d, "mv x a.log.1");
    d->now_ms += ROTATED_MS + 1000;
    t_comes(d, "a2|");
}

static void test_weblog_follow__a_truncated_file_goes_on_in_its_copy(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "printf 'a1\\n' >a.log", "a1|");
    t_after(d, "printf 'a2\\n' >>a.log; cp a.log a.log.1; : >a.log", "a2|");
    t_after(d,
            "printf 'b1\\nb2 is longer than all that was there\\n' >>a.log; cp a.log a.log.2; : >a.log; "
            "printf 'c1\\n' >>a.log",
            "c1|b1|b2 is longer than all that was there|");
    sh(d, "printf 'c2\\n' >>a.log; cp a.log a.log.3; : >a.log; "
          "printf 'd1 makes the file longer than it was before\\n' >>a.log");
    again(d);
    t_comes(d, "c2|d1 makes the file longer than it was before|");
    t_after(d, ": >a.log", ""); /* without a copy nothing is left to read */
    settle(d, 2);
}

static void test_weblog_follow__rotations_while_nobody_looked(void **state)
{
    struct t_dir *d = *state;
    /* what was rotated before is history */
    t_after(d, "printf 'old\\n' >a.log.1; touch -d '1 hour ago' a.log.1; printf 'a1\\n' >a.log", "a1|");
    sh(d, "printf 'a2\\n' >>a.log; mv a.log.1 a.log.2; mv a.log a.log.1; gzip a.log.1 a.log.2; sleep 0.02;"
          "printf 'b1\\nb2\\n' >a.log; mv a.log a.log-20261121; zstd -q --rm a.log-20261121; sleep 0.02;"
          "printf 'c1\\n' >a.log; cp a.log a-20261122.log; : >a.log; printf 'd1\\n' >>a.log");
    again(d);
    t_comes(d, "a2|b1|b2|c1|d1|");
    again(d);
    t_comes(d, "");
    settle(d, 1);
    /* again, with the path missing in between */
    t_after(d, "printf 'd2\\n' >>a.log; mv a.log a.log.3", "d2|");
    again(d);
    t_after(d, "sleep 0.02; printf 'e1\\n' >a.log; mv a.log a.log.4; printf 'f1\\n' >a.log", "e1|f1|");
}

static void test_weblog_follow__rotated_files_are_found_in_other_folders(void **state)
{
    struct t_dir *d = *state;
    static char olddirs[128];               /* borrowed until the files are released */
    sh(d, "mkdir old abs; ln -s old link"); /* the same folder twice changes nothing */
    snprintf(olddirs, sizeof(olddirs), "old, ,link,missing,%s/abs", d->path);
    d->olddirs = olddirs;
    ts_log_set_level(TS_LOG_ERROR + 1);
    again(d);
    t_after(d, "echo history >old/a.log.9; echo a1 >a.log", "a1|");
    ts_log_set_level(TS_LOG_ERROR);
    t_after(d, "echo a2 >>a.log; mv a.log old/a.log.1; echo b1 >a.log", "a2|b1|"); /* while we look */
    sh(d, "echo a3 >>old/a.log.1");
    again(d);
    t_comes(d, "a3|"); /* by its inode */
    settle(d, 1);
    sh(d,
       "echo b2 >>a.log; mv a.log old/a.log.2; gzip old/a.log.2; sleep 0.02;" /* while nobody does, packed there */
       "echo c1 >a.log; echo c2 >>a.log; mv a.log abs/a.log-20261121; zstd -q --rm abs/a.log-20261121; sleep "
       "0.02;"
       "echo d1 >a.log; cp a.log old/a-20261122.log; : >a.log; echo e1 >>a.log");
    again(d);
    t_comes(d, "b2|c1|c2|d1|e1|");
    settle(d, 1);
    sh(d, "echo e2 >>a.log; mv a.log old/a.log; echo f1 >a.log"); /* with the name it had */
    again(d);
    t_comes(d, "e2|f1|");
    settle(d, 2);
    again(d);
    t_comes(d, "");
}

static void test_weblog_follow__a_half_packed_file_is_not_read(void **state)
{
    struct t_dir *d = *state;
    sh(d, "seq 1 2000 >a.log");
    (void)turn(d);
    sh(d, "seq 2001 2003 >>a.log; mv a.log a.log.1; gzip -k a.log.1; head -c 100 a.log.1.gz >x; mv x "
          "a.log.1.gz");
    again(d);
    t_comes(d, "2001|2002|2003|"); /* from the plain one, which is still there */
    again(d);
    /* what is left of it can't be unpacked: given up, nothing twice */
    t_after(d, "rm a.log.1; sleep 0.02; printf 'b\\n' >a.log", "b|");
    settle(d, 2);
}

/* A packer makes its file before it writes to it: the empty file is no log of its own, and what it writes there is no text. */
static void test_weblog_follow__a_file_being_packed_is_no_text(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "printf 'a1\n' >a.log", "a1|");
    t_after(d, "printf 'a2\n' >>a.log; mv a.log a.log.1; printf 'b1\n' >a.log; : >a.log.1.gz", "a2|b1|");
    t_after(d, "gzip -c a.log.1 >>a.log.1.gz; rm a.log.1", "");
    /* by a name that does not tell, with lines that nobody has read */
    sh(d, "mv a.log a.log.2; : >a.log.3; printf 'c1\n' >a.log");
    t_comes(d, "c1|");
    t_after(d, "printf 'n1\nn2\n' | gzip -c >>a.log.3", "");
    d->now_ms += 2000;
    t_comes(d, "n1|n2|");
    settle(d, 2);
}

static void test_weblog_follow__a_line_that_is_too_long_is_one_bad_line(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "{ echo x; head -c 700000 /dev/zero; } >a.log", "x|<long>|");
    again(d);
    t_after(d, "{ head -c 10 /dev/zero; echo; echo y; } >>a.log", "y|");
}

static void test_weblog_follow__patterns_find_new_files_but_not_rotated_ones(void **state)
{
    struct t_dir *d = *state;
    t_after(d,
            "echo a >a.log; echo r >a.log.1; echo g >a.log.gz; echo d >a.log-20261121; mkdir folder.log; "
            "mkfifo pipe.log",
            "a|");
    t_after(d, "echo b >b.log", "b|");
    /* another name that the pattern takes: the same file */
    t_after(d, "mv b.log c.log; echo c >>c.log", "c|");
}

static void test_weblog_follow__odd_names_are_not_read_again(void **state)
{
    struct t_dir *d = *state;
    sh(d, "seq 1 1000 >a.log");
    assert_true(strlen(turn(d)) > 0);
    assert_int_equal(n_files(d), 1);
    sh(d, "mv a.log a.old; seq 5001 6000 >a.log");
    assert_true(!strncmp(turn(d), "5001|", 5));
    assert_int_equal(n_files(d), 2);
    d->now_ms += ROTATED_MS + 1000;
    t_comes(d, "");
    again(d);
    t_after(d, "mv a.old b.log", "");
    assert_int_equal(n_files(d), 2); /* a log of its own now, read from where it was */
    t_after(d, "echo more >>b.log", "more|");
}

#define T_FRONT "1.1.1.1 - - [17/May/2015:10:05:03 +0000] "
#define T_A     T_FRONT "\"GET /a\" 200 1"
#define T_LINE  "1.1.1.1 - - [17/May/2015:10:05:03 +0000] \"GET /a\" 200 1|"

static void test_weblog_follow__nothing_is_taken_before_its_format_is_known(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "printf '\\n\\n' >a.log", "");
    t_after(d, "printf 'cut\\n" T_FRONT "' >>a.log", "");
    again(d);
    t_comes(d, "");
    assert_int_equal(live(d, 0)->off, 0);
    t_after(d, "printf '\"GET /a\" 200 1\\nodd\\n' >>a.log", "||cut|" T_LINE "odd|");
    assert_int_equal(live(d, 0)->kind, COL_WEB_KIND_COMMON);
    again(d);
    assert_int_equal(live(d, 0)->kind, COL_WEB_KIND_COMMON);
    t_after(d, "mv a.log a.log.1; printf 'a.org:80 " T_A "\\n' >a.log; printf 'more\\n' >>a.log.1",
            "more|a.org:80 " T_LINE);
    assert_int_equal(live(d, 0)->kind, COL_WEB_KIND_COMMON); /* each file by itself */
    assert_int_equal(live(d, 1)->kind, COL_WEB_KIND_VHOST);
    t_after(d, "cp a.log a.log.2; : >a.log; printf '" T_A "\\n' >>a.log", T_LINE);
    settle(d, 2);
    assert_int_equal(live(d, 0)->kind, COL_WEB_KIND_COMMON);
}

static void test_weblog_follow__odd_files_are_told_once_and_given_out_in_the_end(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "printf 'odd 1\\nodd 2\\n' >a.log", "");
    assert_false(live(d, 0)->reported); /* the next line may be better */
    d->now_ms += 20000;
    t_comes(d, "");
    assert_true(live(d, 0)->reported);
    t_after(d, "seq 1 200 >>a.log; printf '" T_A "\\n' >>a.log", ""); /* too far behind to decide */
    assert_int_equal(live(d, 0)->off, 0);
    t_after(d, "mv a.log a.log.1; printf '" T_A "\\n' >a.log", T_LINE);
    again(d);
    t_comes(d, "");
    d->now_ms += ROTATED_MS + 1000;
    assert_true(!strncmp(turn(d), "odd 1|odd 2|1|2|", 16));
    settle(d, 2);
    /* the same, but packed before it was given up */
    t_after(d, "mv a.log a.log.2; printf 'odd 3\\nodd 4' >a.log", "");
    sh(d, "mv a.log a.log.3; gzip a.log.3; sleep 0.02; printf '" T_FRONT "\"GET /b\" 200 1\\n' >a.log");
    again(d);
    t_comes(d, "odd 3|odd 4|" T_FRONT "\"GET /b\" 200 1|");
    settle(d, 2);
}

static void test_weblog_follow__a_line_that_is_too_long_decides_nothing(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "{ head -c 700000 /dev/zero; } >a.log", "<long>|");
    again(d);
    t_after(d, "{ echo; printf '" T_A "\\n'; } >>a.log", T_LINE);
    assert_int_equal(live(d, 0)->kind, COL_WEB_KIND_COMMON);
}

static void keep_line(void *arg, const char *line)
{
    ts_buf_str(arg, line);
    ts_buf_char(arg, '\n');
}

static void test_weblog_follow__what_is_not_there_is_told_at_the_start(void **state)
{
    static const struct {
        const char *pattern, *text;
    } rows[] = {{"missing.log", "No such file or directory; it will be followed when it is there"},
                {"none/*.log", "no file is like "},
                {"folder", "is a folder; name files"},
                {"pipe", "is no regular file"},
                {"a.log", "collect_weblog_olddir: "}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct t_dir d;
        struct ts_buf log;
        dir_init(&d, rows[i].pattern, "combined");
        d.f.opts.olddirs = "old";
        sh(&d, "mkdir folder; mkfifo pipe; touch a.log");
        ts_log_set_level(TS_LOG_WARN);
        assert_string_equal(turn(&d), "");
        assert_string_equal(turn(&d), "");
        ts_log_set_level(TS_LOG_ERROR);
        ts_buf_init(&log, 0);
        ts_log_recent(keep_line, &log);
        ts_buf_char(&log, '\0');
        const char *at = strstr(log.p, d.path);
        if (!at || !strstr(log.p, rows[i].text))
            fail_msg("%s: %s", rows[i].pattern, log.p);
        ts_buf_release(&log);
        dir_release(&d);
    }
}

/* Files and the domains that their names tell. */
static const char *const domains[][2] = {
    {"/l/example.org.access.log", "example.org"},
    {"/l/access.log", ""},
    {"/l/example.org_ssl_access.log.2.gz", "example.org"},
    {"/l/access_log-20261121", ""},
    {"/l/other_vhosts_access.log", ""},
    {"/l/shop-access.log", "shop"},
    /* Tomcat: a file a day, by its fileDateFormat; rotatelogs and cronolog likewise */
    {"/l/localhost_access_log.2026-11-20.txt", ""},
    {"/l/localhost_access_log.2026-11-21.txt.gz", ""},
    {"/l/localhost_access_log.2026-11-20.07.txt", ""},
    {"/l/localhost_access_log.txt", ""},
    {"/l/localhost_access_log.20261120.log", ""},
    {"/l/example.org_access_log.2026-11-20.txt", "example.org"},
    {"/l/example.org.2026-11-20.txt", "example.org"},
    {"/l/example.org-20261120.log", "example.org"},
    {"/l/example.org-2026112007.log", "example.org"},
    {"/l/access-20260206.log", ""},
    {"/l/2026-11-20.log", ""},
    /* IIS: by day, hour, month, size; with fields of its own */
    {"/l/u_ex261119.log", ""},
    {"/l/u_ex26111907.log", ""},
    {"/l/u_ex2611.log.gz", ""},
    {"/l/u_ex261119_x.log", ""},
    {"/l/u_extend12.log", ""},
    {"/l/ex261119.log", ""},
    /* no dates, no names of IIS */
    {"/l/shop-24.log", "shop-24"},
    {"/l/shop-12345678.txt", "shop-12345678"},
    {"/l/shop-20260031.txt", "shop-20260031"},
    {"/l/shop-20261231.txt", "shop"},
    {"/l/shop-20261301.txt", "shop-20261301"},
    {"/l/u_x.log", "u_x"},
    {"/l/u_123.log", "u_123"},
    {"/l/in2024.log", "in2024"},
    {"/l/x20261120.log", "x20261120"},
    {"/l/ex.org.log", "ex.org"},
    {"/l/ex1.log", "ex1"},
    {"/l/in.log", "in"},
    {"/l/localhost.log", "localhost"}};

static void test_weblog_follow__domains(void **state)
{
    struct col_web_log log;
    struct col_web_hit h;
    (void)state;
    col_web_hit_init(&h);
    h.referrer = TS_SLICE_LIT("http://r.org/");
    h.client = TS_SLICE_LIT("x.c.org");
    assert_int_equal(col_web_log_init(&log, "combined", "auto", NULL), 0);
    for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++)
        if (!ts_slice_is(col_web_domain(&log, domains[i][0], &h), domains[i][1]))
            fail_msg("%s has another domain than \"%s\"", domains[i][0], domains[i][1]);
    h.domain = TS_SLICE_LIT("v.org:80");
    assert_true(ts_slice_is(col_web_domain(&log, "/l/f.org.log", &h), "v.org"));
    static const char *const words[][2] = {{"vhost", "v.org"},
                                           {"file", "f.org"},
                                           {"referrer", "r.org"},
                                           {"client", "c.org"},
                                           {"n.org", "n.org"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        col_web_log_release(&log);
        assert_int_equal(col_web_log_init(&log, "combined", words[i][0], NULL), 0);
        assert_true(ts_slice_is(col_web_domain(&log, "/l/f.org.log", &h), words[i][1]));
    }
    col_web_log_release(&log);
    assert_int_equal(col_web_log_init(&log, "combined", "referer", NULL), TS_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_weblog_follow__torn_lines_come_once_and_whole, set_up),
        T_CASE(test_weblog_follow__a_renamed_file_is_read_to_its_end, set_up),
        T_CASE(test_weblog_follow__nothing_is_cut_after_a_standstill, set_up),
        T_CASE(test_weblog_follow__a_copy_is_found_after_a_standstill, set_up),
        T_CASE(test_weblog_follow__a_truncated_file_goes_on_in_its_copy, set_up),
        T_CASE(test_weblog_follow__rotations_while_nobody_looked, set_up),
        T_CASE(test_weblog_follow__rotated_files_are_found_in_other_folders, set_up),
        T_CASE(test_weblog_follow__a_half_packed_file_is_not_read, set_up),
        T_CASE(test_weblog_follow__a_file_being_packed_is_no_text, set_up),
        T_CASE(test_weblog_follow__a_line_that_is_too_long_is_one_bad_line, set_up),
        T_CASE(test_weblog_follow__patterns_find_new_files_but_not_rotated_ones, set_up_all),
        T_CASE(test_weblog_follow__odd_names_are_not_read_again, set_up_all),
        T_CASE(test_weblog_follow__nothing_is_taken_before_its_format_is_known, set_up_auto),
        T_CASE(test_weblog_follow__odd_files_are_told_once_and_given_out_in_the_end, set_up_auto),
        T_CASE(test_weblog_follow__a_line_that_is_too_long_decides_nothing, set_up_auto),
        cmocka_unit_test(test_weblog_follow__what_is_not_there_is_told_at_the_start),
        cmocka_unit_test(test_weblog_follow__domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
