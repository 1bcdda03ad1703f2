/*
 * test_weblog_beside.c - import and collector at the same time: something happens just before one of them gets the lock that both decide
 * under, so that what it saw of a file before is no longer true. Each line counts once.
 */
#include "tests/unit/collectors/t_weblog.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/lineread.h"
#include "base/log.h"
#include "base/mem.h"
#include "collectors/weblog/weblog_import.h"

/* Three kinds of lines, since files that begin alike are one file; each of its own bucket, so that no repeated import mends what was counted
 * twice. */
#define LINE "1.1.1.1 - - [17/May/2015:10:0%d:00 +0000] \\\"GET / HTTP/1.1\\\" 200 1\\n"

/* One case under way. */
struct t_beside {
    char dir[40], log[80];
    struct ts_conf *conf; /* of imports: it follows nothing */
    struct t_store store;
    struct t_collector c;
    const char *meanwhile; /* a command before a try of the lock; NULL = nothing */
    const char *imported;  /* an import of this file behind it; NULL = none */
    bool killed;           /* that import */
    bool follows;          /* a collector that looks once behind it */
    const char *then;      /* a command behind all that; NULL = none */
    unsigned n_tries;      /* until then */
};

static unsigned n_refused; /* files that imports left out */

static struct t_beside *beside; /* the case; NULL = nothing happens */

static void import_bad(void *arg, uint64_t line, const char *why)
{
    (void)arg;
    fail_msg("line %llu: %s", (unsigned long long)line, why);
}

static void import_refused(void *arg, const char *why)
{
    (void)arg;
    (void)why; /* for another import */
    n_refused++;
}

/* Does anybody hold the lock of collect_dir? */
static bool folder_is_locked(const struct t_beside *b)
{
    int fd = open(b->c.ctx.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    bool free = syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return !free;
}

/* As tsd collect weblog-import does it. */
static void import_file(struct t_beside *b, const char *path, bool killed)
{
    struct col_web_import_opts opts = {.conf = b->conf,
                                       .out = {.put = store_put, .arg = &b->store},
                                       .bad = import_bad,
                                       .refused = import_refused,
                                       .remember = true};
    struct col_web_import *im;
    struct ts_lines *lines;
    struct ts_slice text;
    if (access(path, F_OK) < 0)
        return;
    assert_int_equal(ts_lines_open(path, &lines, NULL), 0);
    assert_int_equal(col_web_import_new(&opts, &im, NULL), 0);
    for (bool first = true; ts_lines_next(lines, &text, NULL) > 0; first = false) {
        if (first)
            col_web_import_begin(im, path);
        assert_int_equal(col_web_import_lines(im, text, NULL), 0);
    }
    assert_false(folder_is_locked(b)); /* others may begin, whatever was decided */
    assert_int_equal(col_web_import_end(im, NULL), 0);
    if (!killed)
        col_web_import_done(im);
    col_web_import_free(im);
    ts_lines_close(lines);
}

static void import_all(struct t_beside *b, bool killed)
{
    static const char *const endings[] = {"", ".1", ".1.gz", ".2"};
    char path[100];
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        snprintf(path, sizeof(path), "%s%s", b->log, endings[i]);
        import_file(b, path, killed);
    }
}

/* A collector from its start to its first checkpoint and points. */
static void follow_once(struct t_beside *b)
{
    struct t_collector c = b->c;
    begin(&c, "600", "60");
    assert_int_equal(col_weblog.once(c.state, c.emit, NULL), 0);
    col_weblog.release(c.state);
}

/* In front of the C library's: only import and collector lock anything here. */
int flock(int fd, int how)
{
    struct t_beside *b = beside;
    if (b && b->n_tries && !--b->n_tries) {
        char path[100];
        beside = NULL;
        sh(b->dir, b->meanwhile);
        snprintf(path, sizeof(path), "%s/%s", b->dir, b->imported ? b->imported : "");
        if (b->imported)
            import_file(b, path, b->killed);
        if (b->follows)
            follow_once(b);
        if (b->then)
            sh(b->dir, b->then);
        beside = b;
    }
    return (int)syscall(SYS_flock, fd, how);
}

static void case_begin(struct t_beside *b)
{
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    static char state[60];
    *b = (struct t_beside){.dir = "/tmp/tsd-test-beside-XXXXXX",
                           .conf = ts_conf_new(tables, 1),
                           .store = {.points = ts_xcalloc(N_POINTS, sizeof(*b->store.points))},
                           .c = {.conf = ts_conf_new(tables, 1)}};
    ts_log_set_level(TS_LOG_ERROR);
    assert_non_null(mkdtemp(b->dir));
    snprintf(b->log, sizeof(b->log), "%s/a.log", b->dir);
    snprintf(state, sizeof(state), "%s/state", b->dir);
    sh(b->dir, "mkdir state; printf \"" LINE "\" 3 >line; printf \"" LINE "\" 4 >other; "
               "for i in $(seq 40); do printf \"" LINE "\" 5; done >many");
    set(b->conf, "collect_dir", state);
    set(b->c.conf, "collect_dir", state);
    set(b->c.conf, "collect_weblog", b->log);
    b->c.ctx = (struct col_ctx){.conf = b->c.conf, .root = "", .state_dir = state};
    b->c.emit = col_emit_new(&(struct col_emit_opts){.out = {.put = store_put, .arg = &b->store}});
}

/* Whatever was begun is repeated. */
static void case_end(struct t_beside *b, long n, const char *what)
{
    beside = NULL;
    follow_once(b);
    import_all(b, false);
    follow_once(b);
    if (store_sum(&b->store, "web.hits ", "") != n)
        fail_msg("%s: %ld requests, expected %ld", what, store_sum(&b->store, "web.hits ", ""), n);
    col_emit_free(b->c.emit);
    ts_conf_free(b->conf);
    ts_conf_free(b->c.conf);
    ts_free(b->store.points);
    sh(b->dir, "rm -r \"$PWD\"");
}

/* A collector has opened a file; before it gets the lock the file grows, and an import takes all of it. */
static void test_weblog_beside__a_file_grows_before_the_collector_decides(void **state)
{
    static const struct {
        const char *before,
            *looked; /* what is there; what comes when a collector has looked at it, NULL = it has not */
        const char *meanwhile, *imported; /* see there */
        long n;                           /* requests in the end */
    } cases[] = {
        {"cat many >a.log", NULL, "cat line >>a.log", "a.log", 41},
        {"cat line >a.log", NULL, "cat many >>a.log", "a.log", 41}, /* its first bytes are more, too */
        {": >a.log", NULL, "cat many >>a.log", "a.log", 40},
        {"head -c 20 line >a.log", NULL, "tail -c +21 line >>a.log; cat many >>a.log", "a.log", 41},
        {"cat many >a.log; cat line >a.log.1", NULL, "cat line >>a.log.1", "a.log.1", 42},
        {": >a.log; cat line >a.log.1", NULL, "cat many >>a.log.1", "a.log.1", 41},
        /* rotated twice while nobody looked */
        {"cat line >a.log", "mv a.log a.log.2; cat other line >a.log.1; : >a.log", "cat many >>a.log.1",
         "a.log.1", 43},
        /* its first bytes come when it is open already */
        {": >a.log", "cat line >a.log", "cat many >>a.log", "a.log", 41},
        {": >a.log", "mv a.log a.log.1; : >a.log; cat line >a.log.1", "cat many >>a.log.1", "a.log.1", 41},
    };
    (void)state;
    for (size_t i = 0; i < 6 * sizeof(cases) / sizeof(*cases); i++) {
        struct t_beside b;
        char what[300];
        case_begin(&b);
        const char *before = cases[i / 6].before, *looked = cases[i / 6].looked;
        sh(b.dir, before);
        if (looked) {
            follow_once(&b);
            sh(b.dir, looked);
        }
        b.meanwhile = cases[i / 6].meanwhile;
        b.imported = cases[i / 6].imported;
        b.killed = i % 2;
        b.n_tries = 1 + (unsigned)(i / 2 % 3);
        snprintf(what, sizeof(what), "%s; %s; before lock %u: %s", before, looked ? looked : "-", b.n_tries,
                 b.meanwhile);
        beside = &b;
        follow_once(&b);
        bool happened = !b.n_tries;
        beside = NULL;
        if (!happened)
            sh(b.dir, b.meanwhile);
        case_end(&b, cases[i / 6].n, what);
    }
}

/* The same the other way round: an import has read first lines; before it gets the lock files grow, are rotated, and a collector begins. */
static void test_weblog_beside__files_change_before_the_import_decides(void **state)
{
    static const struct {
        const char *before, *meanwhile; /* see there */
        long n;                         /* requests in the end */
    } cases[] = {
        {"cat many >a.log", "cat line >>a.log", 41},
        {"cat line >a.log", "cat many >>a.log", 41},
        {"cat many >a.log", "mv a.log a.log.1; cat line line >>a.log", 42},
        {"cat line >a.log", "cat many >>a.log; mv a.log a.log.1; cat other many >>a.log", 82},
        {"cat many >a.log; cat line line >a.log.1",
         "cat line >>a.log; mv a.log.1 a.log.2; mv a.log a.log.1; cat other >a.log", 44},
    };
    (void)state;
    for (size_t i = 0; i < 4 * sizeof(cases) / sizeof(*cases); i++) {
        struct t_beside b;
        case_begin(&b);
        sh(b.dir, cases[i / 4].before);
        b.meanwhile = cases[i / 4].meanwhile;
        b.follows = true;
        b.n_tries = 1 + (unsigned)(i / 2 % 2);
        beside = &b;
        import_all(&b, i % 2);
        bool happened = !b.n_tries;
        beside = NULL;
        if (!happened)
            sh(b.dir, b.meanwhile);
        case_end(&b, cases[i / 4].n, cases[i / 4].meanwhile);
    }
}

/* An import reads a rotated file. A collector begins, then the name goes to a file of which more was imported: that is not what is read. */
static void test_weblog_beside__a_name_changes_hands_before_the_import_decides(void **state)
{
    struct t_beside b;
    char path[100];
    (void)state;
    case_begin(&b);
    sh(b.dir, "cat line >a.log");
    import_all(&b, false);
    sh(b.dir, "cat other other >>a.log; mv a.log a.log.1; cat many >a.log");
    import_file(&b, b.log, false);
    b.meanwhile = "true";
    b.follows = true;
    b.then = "mv a.log.1 a.log.2; mv a.log a.log.1; : >a.log";
    b.n_tries = 1;
    beside = &b;
    snprintf(path, sizeof(path), "%s.1", b.log);
    import_file(&b, path, false);
    assert_int_equal(b.n_tries, 0);
    case_end(&b, 43, "a name changed hands");
}

/* Two imports of one log at a time would send the same points: the older counts might come last. The second one leaves it out. */
static void test_weblog_beside__a_log_has_one_import_at_a_time(void **state)
{
    struct t_beside b;
    struct col_web_import_opts opts = {
        .out = {.put = store_put}, .bad = import_bad, .refused = import_refused, .remember = true};
    struct col_web_import *im;
    struct ts_lines *lines;
    struct ts_slice text;
    (void)state;
    case_begin(&b);
    opts.conf = b.conf;
    opts.out.arg = &b.store;
    sh(b.dir, "cat many >a.log");
    assert_int_equal(ts_lines_open(b.log, &lines, NULL), 0);
    assert_int_equal(col_web_import_new(&opts, &im, NULL), 0);
    assert_int_equal(ts_lines_next(lines, &text, NULL), 1);
    col_web_import_begin(im, b.log);
    assert_int_equal(col_web_import_lines(im, text, NULL), 0);
    sh(b.dir, "cat many >>a.log");
    n_refused = 0;
    import_file(&b, b.log, false);
    assert_int_equal(n_refused, 1);
    assert_int_equal(col_web_import_end(im, NULL), 0);
    col_web_import_done(im);
    col_web_import_free(im);
    ts_lines_close(lines);
    import_file(&b, b.log, false);
    assert_int_equal(n_refused, 1);
    assert_int_equal(store_sum(&b.store, "web.hits ", ""), 80);
    case_end(&b, 80, "two imports");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weblog_beside__a_file_grows_before_the_collector_decides),
        cmocka_unit_test(test_weblog_beside__files_change_before_the_import_decides),
        cmocka_unit_test(test_weblog_beside__a_name_changes_hands_before_the_import_decides),
        cmocka_unit_test(test_weblog_beside__a_log_has_one_import_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
