/*
 * test_weblog_follow.c - files that grow, are rotated in all ways, truncated, packed; restarts in between.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "collectors/weblog_follow.h"
#include "tests/unit/t_folder.h"

#define ROTATED_MS 5000

/* A folder with logs that are followed. */
struct t_dir {
    char path[T_FOLDER_BYTES];
    struct col_web_logs logs;
    struct col_web_follow f;
    struct ts_buf lines; /* what came, "line|" each; "<long>|" for one that is too long */
    int64_t now_ms;
    const char *olddirs; /* NULL = none */
};

static void take_line(void *arg, const struct col_web_file *file, uint64_t off, struct ts_slice line)
{
    struct t_dir *d = arg;
    (void)off;
    assert_true(!file->log->detect || file->kind != COL_WEB_KIND_UNKNOWN); /* never before it is known */
    ts_buf_slice(&d->lines, line);
    ts_buf_char(&d->lines, '|');
}

static void take_long(void *arg, const struct col_web_file *file, uint64_t off)
{
    (void)file;
    (void)off;
    ts_buf_str(&((struct t_dir *)arg)->lines, "<long>|");
}

static struct col_web_follow_opts opts_of(struct t_dir *d)
{
    return (struct col_web_follow_opts){.logs = &d->logs,
                                        .olddirs = d->olddirs,
                                        .rotated_ms = ROTATED_MS,
                                        .line = take_line,
                                        .too_long = take_long,
                                        .arg = d};
}

static void dir_init(struct t_dir *d, const char *pattern, const char *format)
{
    char full[512];
    *d = (struct t_dir){.now_ms = 1000000};
    t_folder_make(d->path);
    ts_log_set_level(TS_LOG_ERROR);
    d->logs.logs = ts_xcalloc(1, sizeof(*d->logs.logs));
    d->logs.n = 1;
    assert_int_equal(col_web_log_init(&d->logs.logs[0], format, "auto", NULL), 0);
    snprintf(full, sizeof(full), "%s/%s", d->path, pattern);
    d->logs.logs[0].pattern = ts_xstrdup(full);
    d->logs.logs[0].wild = strpbrk(pattern, "*?") != NULL;
    ts_buf_init(&d->lines, 0);
    struct col_web_follow_opts opts = opts_of(d);
    col_web_follow_init(&d->f, &opts);
}

static void dir_release(struct t_dir *d)
{
    col_web_follow_release(&d->f);
    col_web_logs_release(&d->logs);
    ts_buf_release(&d->lines);
    assert_int_equal(t_folder_remove(d->path), 0);
}

static struct t_dir dir; /* of the case at hand */

static int set_up(void **state)
{
    *state = &dir;
    dir_init(&dir, "a.log", "combined");
    return 0;
}

static int set_up_all(void **state)
{
    *state = &dir;
    dir_init(&dir, "*", "combined");
    return 0;
}

static int set_up_auto(void **state)
{
    *state = &dir;
    dir_init(&dir, "a.log", "auto");
    return 0;
}

static int tear_down(void **state)
{
    dir_release(*state);
    return 0;
}

/* A shell command in the folder. */
static void sh(struct t_dir *d, const char *command)
{
    char cmd[512];
    snprintf(cmd, sizeof(cmd), "cd %s && { %s; }", d->path, command);
    assert_int_equal(system(cmd), 0);
}

/* Turns until nothing more comes; what came. */
static const char *turn(struct t_dir *d)
{
    static char out[4096];
    d->now_ms += 100;
    for (int i = 0; i < 100 && col_web_follow_turn(&d->f, d->now_ms) > 0; i++)
        ;
    snprintf(out, sizeof(out), "%.*s", (int)d->lines.n, d->lines.p);
    ts_buf_clear(&d->lines);
    return out;
}

/* What comes now, and what comes of a command: macros, so that a failure names the line of its case. */
#define t_comes(d, want) assert_string_equal(turn(d), want)
#define t_after(d, command, want)                                                                            \
    do {                                                                                                     \
        sh(d, command);                                                                                      \
        t_comes(d, want);                                                                                    \
    } while (0)

/* As after a kill: a new process knows what a checkpoint would have kept. */
static void again(struct t_dir *d)
{
    struct col_web_follow old = d->f;
    struct col_web_follow_opts opts = opts_of(d);
    col_web_follow_init(&d->f, &opts);
    for (uint32_t i = 0; i < old.n_files; i++) {
        struct col_web_file saved = *old.files[i];
        saved.file = NULL;
        saved.lines = NULL;
        saved.lines_off = 0;
        saved.search_ms = 0;
        saved.quiet_ms = d->now_ms;
        assert_true(col_web_follow_restore(&d->f, &saved));
    }
    memcpy(d->f.done, old.done, COL_WEB_DONE_MAX * sizeof(*old.done));
    d->f.n_done = old.n_done;
    col_web_follow_release(&old);
}

/* So much time goes by that rotated files are given up; nothing new is there, and one file is followed. */
static void settle(struct t_dir *d, int n_times)
{
    for (int i = 0; i < n_times; i++) {
        d->now_ms += ROTATED_MS + 1000;
        assert_string_equal(turn(d), "");
    }
    assert_int_equal(d->f.n_files, 1);
}

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
    assert_int_equal(d->f.n_files, 1);
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
    assert_int_equal(d->f.n_files, 1);
    assert_int_equal(d->f.n_done, 1);
    t_after(d, "mv a.log a.log.1; rm -f a.log.2", "");
    t_after(d, "printf 'c1\\n' >a.log", "c1|");
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
    t_comes(d, "d1 makes the file longer than it was before|c2|");
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
    t_comes(d, "c1|d1|a2|b1|b2|");
    again(d);
    t_comes(d, "");
    settle(d, 1);
    /* again, with the path missing in between */
    t_after(d, "printf 'd2\\n' >>a.log; mv a.log a.log.3", "d2|");
    again(d);
    t_after(d, "sleep 0.02; printf 'e1\\n' >a.log; mv a.log a.log.4; printf 'f1\\n' >a.log", "f1|e1|");
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
    t_comes(d, "d1|e1|b2|c1|c2|");
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
    assert_int_equal(d->f.n_files, 1);
    sh(d, "mv a.log a.old; seq 5001 6000 >a.log");
    assert_true(!strncmp(turn(d), "5001|", 5));
    d->now_ms += ROTATED_MS + 1000;
    t_comes(d, "");
    again(d);
    t_after(d, "mv a.old b.log", "");
    assert_int_equal(d->f.n_files, 1);
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
    assert_int_equal(d->f.files[0]->off, 0);
    t_after(d, "printf '\"GET /a\" 200 1\\nodd\\n' >>a.log", "||cut|" T_LINE "odd|");
    assert_int_equal(d->f.files[0]->kind, COL_WEB_KIND_COMMON);
    again(d);
    assert_int_equal(d->f.files[0]->kind, COL_WEB_KIND_COMMON);
    t_after(d, "mv a.log a.log.1; printf 'a.org:80 " T_A "\\n' >a.log; printf 'more\\n' >>a.log.1",
            "more|a.org:80 " T_LINE);
    assert_int_equal(d->f.files[0]->kind, COL_WEB_KIND_COMMON); /* each file by itself */
    assert_int_equal(d->f.files[1]->kind, COL_WEB_KIND_VHOST);
    t_after(d, "cp a.log a.log.2; : >a.log; printf '" T_A "\\n' >>a.log", T_LINE);
    settle(d, 2);
    assert_int_equal(d->f.files[0]->kind, COL_WEB_KIND_COMMON);
}

static void test_weblog_follow__odd_files_are_told_once_and_given_out_in_the_end(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "printf 'odd 1\\nodd 2\\n' >a.log", "");
    assert_false(d->f.files[0]->told); /* the next line may be better */
    d->now_ms += 20000;
    t_comes(d, "");
    assert_true(d->f.files[0]->told);
    t_after(d, "seq 1 200 >>a.log; printf '" T_A "\\n' >>a.log", ""); /* too far behind to decide */
    assert_int_equal(d->f.files[0]->off, 0);
    t_after(d, "mv a.log a.log.1; printf '" T_A "\\n' >a.log", T_LINE);
    again(d);
    d->now_ms += ROTATED_MS + 1000;
    assert_true(!strncmp(turn(d), "odd 1|odd 2|1|2|", 16));
    settle(d, 2);
    /* the same, but packed before it was given up */
    t_after(d, "mv a.log a.log.2; printf 'odd 3\\nodd 4' >a.log", "");
    sh(d, "mv a.log a.log.3; gzip a.log.3; sleep 0.02; printf '" T_A "\\n' >a.log");
    again(d);
    t_comes(d, "odd 3|odd 4|" T_LINE);
    settle(d, 2);
}

static void test_weblog_follow__a_line_that_is_too_long_decides_nothing(void **state)
{
    struct t_dir *d = *state;
    t_after(d, "{ head -c 700000 /dev/zero; } >a.log", "<long>|");
    again(d);
    t_after(d, "{ echo; printf '" T_A "\\n'; } >>a.log", T_LINE);
    assert_int_equal(d->f.files[0]->kind, COL_WEB_KIND_COMMON);
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

static void test_weblog_follow__names_of_rotated_files(void **state)
{
    static const char *const yes[] = {
        "/x/a.log.1", "/x/a.log-20261121",   "a.log.2.gz", "access-20261121.log",
        "a.1.zst",    "/x/a.log-2026-11-21", "a.log.10"};
    static const char *const no[] = {"/x/a.log",    "/x.1/a.log", "access_log", "web2",
                                     "/x/web2.log", ".1",         "1",          "vhost-a.log"};
    (void)state;
    for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
        if (!col_web_is_rotated_name(yes[i]))
            fail_msg("%s", yes[i]);
    for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
        if (col_web_is_rotated_name(no[i]))
            fail_msg("%s", no[i]);
}

static void test_weblog_follow__domains(void **state)
{
    struct col_web_log log;
    struct col_web_hit h;
    static const char *const files[][2] = {{"/l/example.org.access.log", "example.org"},
                                           {"/l/access.log", ""},
                                           {"/l/example.org_ssl_access.log.2.gz", "example.org"},
                                           {"/l/access_log-20261121", ""},
                                           {"/l/other_vhosts_access.log", ""},
                                           {"/l/shop-access.log", "shop"}};
    (void)state;
    col_web_hit_init(&h);
    h.referrer = TS_SLICE_LIT("http://r.org/");
    h.client = TS_SLICE_LIT("x.c.org");
    assert_int_equal(col_web_log_init(&log, "combined", "auto", NULL), 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        assert_true(ts_slice_is(col_web_domain(&log, files[i][0], &h), files[i][1]));
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

#define T_CASE(f, begin) cmocka_unit_test_setup_teardown(f, begin, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_weblog_follow__torn_lines_come_once_and_whole, set_up),
        T_CASE(test_weblog_follow__a_renamed_file_is_read_to_its_end, set_up),
        T_CASE(test_weblog_follow__a_truncated_file_goes_on_in_its_copy, set_up),
        T_CASE(test_weblog_follow__rotations_while_nobody_looked, set_up),
        T_CASE(test_weblog_follow__rotated_files_are_found_in_other_folders, set_up),
        T_CASE(test_weblog_follow__a_half_packed_file_is_not_read, set_up),
        T_CASE(test_weblog_follow__a_line_that_is_too_long_is_one_bad_line, set_up),
        T_CASE(test_weblog_follow__patterns_find_new_files_but_not_rotated_ones, set_up_all),
        T_CASE(test_weblog_follow__odd_names_are_not_read_again, set_up_all),
        T_CASE(test_weblog_follow__nothing_is_taken_before_its_format_is_known, set_up_auto),
        T_CASE(test_weblog_follow__odd_files_are_told_once_and_given_out_in_the_end, set_up_auto),
        T_CASE(test_weblog_follow__a_line_that_is_too_long_decides_nothing, set_up_auto),
        cmocka_unit_test(test_weblog_follow__what_is_not_there_is_told_at_the_start),
        cmocka_unit_test(test_weblog_follow__names_of_rotated_files),
        cmocka_unit_test(test_weblog_follow__domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
