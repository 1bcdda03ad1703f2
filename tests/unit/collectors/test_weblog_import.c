/*
 * test_weblog_import.c - imports of logs beside the collector that follows them: each line counts once, whichever comes first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/lineread.h"
#include "base/log.h"
#include "base/mem.h"
#include "collectors/weblog/weblog_import.h"
#include "collectors/weblog/weblog_journal.h"
#include "tests/unit/collectors/t_weblog.h"

static void import_bad(void *arg, uint64_t line, const char *why)
{
    (void)arg;
    (void)line;
    (void)why;
}

static void import_refused(void *arg, const char *why)
{
    (void)arg;
    fail_msg("%s", why);
}

/* Import a text as that of the file `name`, which has it or more. killed: nobody hears of its end. */
static void import_text(const struct ts_conf *conf, struct t_store *store, const char *name, const char *text,
                        bool killed)
{
    struct col_web_import_opts opts = {.conf = conf,
                                       .out = {.put = store_put, .arg = store},
                                       .bad = import_bad,
                                       .refused = import_refused,
                                       .remember = true};
    struct col_web_import *im;
    assert_int_equal(col_web_import_new(&opts, &im, NULL), 0);
    col_web_import_begin(im, name);
    assert_int_equal(col_web_import_lines(im, ts_slice_str(text), NULL), 0);
    assert_int_equal(col_web_import_end(im, NULL), 0);
    if (!killed)
        col_web_import_done(im);
    col_web_import_free(im);
}

static void keep_line(void *arg, const char *line)
{
    if (strstr(line, "was imported"))
        ts_buf_printf(arg, "%s\n", line);
}

/* A log whose copy elsewhere was imported first counts twice: a warning names it, once, and no other log; also where lines that are no
 * requests stand above its first one. */
static void test_weblog_import__a_log_whose_copy_was_imported_is_named(void **state)
{
    static const char plain[] = "1.1.1.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n"
                                "1.1.1.2 - - [17/May/2015:10:05:04 +0000] \"GET / HTTP/1.1\" 200 1\n",
                      iis[] = "#Version: 1.0\r\n\r\n#Fields: date time cs-uri-stem sc-status\r\nnonsense\r\n"
                              "2015-05-17 10:05:03 /a 200\r\n2015-05-17 10:05:04 /a 200\r\n";
    static const struct {
        const char *name, *text;
        bool imported;
    } logs[] = {{"plain.log", plain, true}, {"iis.log", iis, true}, {"rest.log", plain + 64, false}};
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct t_store store = {.points = ts_xcalloc(N_POINTS, sizeof(*store.points))};
    struct t_collector c = {.conf = ts_conf_new(tables, 1)};
    char dir[] = "/tmp/tsd-test-weblog-XXXXXX", path[80];
    (void)state;
    assert_non_null(mkdtemp(dir));
    ts_log_set_level(TS_LOG_WARN);
    set(c.conf, "collect_dir", dir);
    sh(dir, "mkdir copy");
    for (size_t i = 0; i < 3; i++) {
        for (unsigned k = 0; k < 2; k++) {
            snprintf(path, sizeof(path), "%s/%s%s", dir, k ? "copy/" : "", logs[i].name);
            FILE *f = fopen(path, "we");
            fputs(logs[i].text, f);
            fclose(f);
        }
        if (logs[i].imported)
            import_text(c.conf, &store, path, logs[i].text, false);
    }
    snprintf(path, sizeof(path), "%s/*.log", dir);
    set(c.conf, "collect_weblog", path);
    c.ctx = (struct col_ctx){.conf = c.conf, .root = "", .state_dir = dir};
    c.emit = col_emit_new(&(struct col_emit_opts){.out = {.put = store_put, .arg = &store}});
    for (unsigned round = 0; round < 2; round++) {
        struct ts_buf told;
        begin(&c, "600", "60");
        assert_int_equal(col_weblog.once(c.state, c.emit, NULL), 0);
        col_weblog.release(c.state);
        ts_buf_init(&told, 0);
        ts_log_recent(keep_line, &told);
        ts_buf_char(&told, '\0');
        for (size_t i = 0; i < 3; i++) {
            snprintf(path, sizeof(path), "%s/%s", dir, logs[i].name);
            const char *at = strstr(told.p, path);
            assert_int_equal(at != NULL, logs[i].imported);
            assert_null(at ? strstr(at + 1, path) : NULL); /* not again after a restart */
        }
        ts_buf_release(&told);
    }
    assert_int_equal(store_sum(&store, "web.hits ", ""), 2 * 4 + 1);
    ts_log_set_level(TS_LOG_ERROR);
    col_emit_free(c.emit);
    ts_conf_free(c.conf);
    ts_free(store.points);
    sh(dir, "rm -r \"$PWD\"");
}

/* What stands in a file now is imported, as by tsd collect weblog-import. */
static void import_file(const struct ts_conf *conf, struct t_store *store, const char *path, bool killed)
{
    char packed[100];
    struct ts_lines *lines;
    struct ts_slice text;
    snprintf(packed, sizeof(packed), "%s.gz", path);
    if (access(path, F_OK) < 0)
        path = packed;
    assert_int_equal(ts_lines_open(path, &lines, NULL), 0);
    if (ts_lines_next(lines, &text, NULL) > 0) {
        char *copy = ts_xstrndup(text.p, text.n);
        import_text(conf, store, path, copy, killed);
        ts_free(copy);
    }
    ts_lines_close(lines);
}

/* Look at all logs, as a collector that is started, and ended before it says so. */
static void follow_once(struct t_collector *c)
{
    begin(c, "600", "60");
    assert_int_equal(col_weblog.once(c->state, c->emit, NULL), 0);
    col_weblog.release(c->state);
}

/* Files "line", a request in the common format, and "iis", a log of IIS with two. */
static void write_lines(const char *dir)
{
    sh(dir, "mkdir state; echo '1.1.1.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1' >line; "
            "printf '#Fields: date time cs-uri-stem sc-status\\n2015-05-17 10:05:03 /a 200\\n"
            "2015-05-17 10:05:04 /a 200\\n' >iis");
}

/* An import takes what is there, a collector that begins later goes on behind it, in a log that has grown, in one that was rotated since, and
 * behind an import that was killed; the import may be repeated at any time. Lines that the import has not seen whole are the collector's. */
static void test_weblog_import__import_first_and_follow_then(void **state)
{
    static const struct {
        const char *before, *after; /* what becomes of the log, and of it again when it was imported */
        bool killed;                /* the import */
        long n;                     /* requests in the end */
    } cases[] = {
        {"cat line line >a.log", "cat line >>a.log", false, 3},
        {"cat line line >a.log", "cat line >>a.log", true, 3},
        {"cat line line >a.log; head -c 50 line >>a.log", "tail -c +51 line >>a.log; cat line >>a.log", false,
         4},
        {"head -c 50 line >a.log", "tail -c +51 line >>a.log", false, 1},
        {"cat line line >a.log",
         "cat line >>a.log; mv a.log a.log.1; head -c 40 line >a.log; cat line line "
         ">>a.log",
         false, 4},
        {"cat line line >a.log", "cat line >>a.log; gzip <a.log >a.log.1.gz; : >a.log", false, 3},
        {"cat iis >a.log", "tail -n 1 iis >>a.log", false, 3},
        {"cat iis >a.log",
         "echo '#Fields: sc-status time date' >>a.log; echo 200 10:05:05 2015-05-17 >>a.log", true, 3},
        {"cat iis >a.log; gzip -k a.log; rm a.log", "gzip -dk a.log; echo 2015-05-17 10:05:05 /a 200 >>a.log",
         false, 3},
        {"cat line line line >a.log", "mv a.log a.log.1; cp a.log.1 a.log", false, 3},
    };
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    (void)state;
    ts_log_set_level(TS_LOG_ERROR);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct t_store store = {.points = ts_xcalloc(N_POINTS, sizeof(*store.points))};
        struct t_collector c = {.conf = ts_conf_new(tables, 1)};
        char dir[] = "/tmp/tsd-test-weblog-XXXXXX", log[80], text[400];
        assert_non_null(mkdtemp(dir));
        snprintf(log, sizeof(log), "%s/a.log", dir);
        write_lines(dir);
        snprintf(text, sizeof(text), "%s/state", dir);
        set(c.conf, "collect_dir", text);
        sh(dir, cases[i].before);
        import_file(c.conf, &store, log, cases[i].killed);
        sh(dir, cases[i].after);
        c.ctx = (struct col_ctx){.conf = c.conf, .root = "", .state_dir = text};
        c.emit = col_emit_new(&(struct col_emit_opts){.out = {.put = store_put, .arg = &store}});
        set(c.conf, "collect_weblog", log);
        follow_once(&c);
        if (cases[i].killed) /* as the warning says */
            import_file(c.conf, &store, log, false);
        follow_once(&c);
        set(c.conf, "collect_weblog", "");
        import_file(c.conf, &store, log, false);
        if (store_sum(&store, "web.hits ", "") != cases[i].n)
            fail_msg("%s; import; %s: %ld requests, expected %ld", cases[i].before, cases[i].after,
                     store_sum(&store, "web.hits ", ""), cases[i].n);
        col_emit_free(c.emit);
        ts_conf_free(c.conf);
        ts_free(store.points);
        sh(dir, "rm -r \"$PWD\"");
    }
}

static bool any_path(void *arg, const char *path)
{
    (void)arg;
    return !strcmp(path, "/x/a\tb.log");
}

/* An import and a collector that begin at the same time: the one waits while the other decides. */
/* The folder is the collector's: what an import writes there follows no link, and what a crash left of a line spoils none. */
static void test_weblog_import__its_journal_is_a_file_of_whole_lines(void **state)
{
    static const char log[] = "1.1.1.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n";
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct t_store store = {.points = ts_xcalloc(N_POINTS, sizeof(*store.points))};
    struct ts_conf *conf = ts_conf_new(tables, 1);
    char dir[] = "/tmp/tsd-test-weblog-XXXXXX", path[80];
    (void)state;
    ts_log_set_level(TS_LOG_ERROR);
    assert_non_null(mkdtemp(dir));
    set(conf, "collect_dir", dir);
    snprintf(path, sizeof(path), "%s/a.log", dir);
    FILE *f = fopen(path, "we");
    fputs(log, f);
    fclose(f);
    sh(dir, "ln -s victim weblog.imports");
    import_text(conf, &store, path, log, false);
    sh(dir, "test ! -e victim && rm weblog.imports && printf 'place\\t1024\\t01' > weblog.imports");
    import_text(conf, &store, path, log, false);
    sh(dir,
       "test $(grep -c . weblog.imports) -ge 2 && grep -qx \"$(printf 'place\\t1024\\t01')\" weblog.imports");
    sh(dir, "rm -r \"$PWD\"");
    ts_conf_free(conf);
    ts_free(store.points);
}

static void test_weblog_import__waits_for_the_lock_of_the_folder(void **state)
{
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct ts_conf *conf = ts_conf_new(tables, 1);
    char dir[] = "/tmp/tsd-test-weblog-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    set(conf, "collect_dir", dir);
    struct col_web_journal *a = col_web_journal_open(conf), *b = col_web_journal_look(dir);
    struct col_web_head head = col_web_head_of("abc", 3);
    struct col_web_taken taken;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool held = col_web_journal_lock(a, 0); /* no descriptor is left: somebody else may have it */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_false(held);
    assert_true(col_web_journal_lock(a, 0));
    assert_true(col_web_journal_lock(a, 0)); /* again is fine */
    assert_false(col_web_journal_lock(b, 50));
    assert_false(col_web_journal_locked(b));
    col_web_journal_take(a, "/x/a\tb.log", &head, 7);
    col_web_journal_unlock(a);
    assert_true(col_web_journal_lock(b, 0));
    assert_true(col_web_journal_taken(b, TS_SLICE_LIT("abcdef"), any_path, NULL, &taken));
    assert_int_equal(taken.bytes, 7);
    assert_false(taken.done);
    assert_false(col_web_journal_taken(b, TS_SLICE_LIT("abd"), any_path, NULL, &taken));
    col_web_journal_unlock(b);
    col_web_journal_done(a);
    assert_true(col_web_journal_lock(b, 0));
    assert_true(col_web_journal_taken(b, TS_SLICE_LIT("abc"), any_path, NULL, &taken));
    assert_true(taken.done);
    col_web_journal_unlock(b);
    for (unsigned i = 0; i < 200; i++) { /* of other files, and more of the same in another process */
        head = col_web_head_of((const char *)&i, sizeof(i));
        col_web_journal_take(a, "/x/other.log", &head, 10 + i);
    }
    head = col_web_head_of("abc", 3);
    col_web_journal_take(a, "/x/a\tb.log", &head, 9);
    assert_true(col_web_journal_lock(b, 0));
    assert_true(col_web_journal_taken(b, TS_SLICE_LIT("abcd"), any_path, NULL, &taken));
    assert_int_equal(taken.bytes, 9);
    assert_false(taken.done);
    col_web_journal_close(a);
    col_web_journal_close(b);
    ts_conf_free(conf);
    sh(dir, "rm -r \"$PWD\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weblog_import__a_log_whose_copy_was_imported_is_named),
        cmocka_unit_test(test_weblog_import__import_first_and_follow_then),
        cmocka_unit_test(test_weblog_import__its_journal_is_a_file_of_whole_lines),
        cmocka_unit_test(test_weblog_import__waits_for_the_lock_of_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
