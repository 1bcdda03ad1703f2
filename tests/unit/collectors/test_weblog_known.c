/*
 * test_weblog_known.c - which logs an import leaves out: those that are followed, and those that were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "collectors/collect.h"
#include "collectors/core/collector.h"
#include "collectors/weblog/weblog_known.h"

extern const struct col_collector col_weblog;

/* A folder with logs, a configuration that follows a.log there. */
struct t_known {
    char dir[64];
    struct ts_conf *conf;
};

/* A value; one that begins with / is below the folder. */
static void set(struct t_known *t, const char *key, const char *name)
{
    char value[200];
    snprintf(value, sizeof(value), "%s%s", name[0] == '/' ? t->dir : "", name);
    assert_int_equal(ts_conf_set(t->conf, key, ts_slice_str(value), "test", NULL), 0);
}

static void sh(const struct t_known *t, const char *command)
{
    char cmd[512];
    snprintf(cmd, sizeof(cmd), "cd %s && { %s; }", t->dir, command);
    assert_int_equal(system(cmd), 0);
}

static void begin(struct t_known *t)
{
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    *t = (struct t_known){.dir = "/tmp/tsd-test-known-XXXXXX", .conf = ts_conf_new(tables, 1)};
    ts_log_set_level(TS_LOG_ERROR);
    assert_non_null(mkdtemp(t->dir));
    sh(t, "mkdir state");
    set(t, "collect_dir", "/state");
    set(t, "collect_weblog", "/a*.log");
}

static void end(struct t_known *t)
{
    sh(t, "rm -r \"$PWD\"");
    ts_conf_free(t->conf);
}

static int put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    (void)arg;
    (void)lines;
    (void)n_points;
    (void)durable;
    (void)err;
    return 0;
}

/* The collector reads what there is, and is gone again. */
static void follow(const struct t_known *t)
{
    struct col_ctx ctx = {.conf = t->conf, .root = "", .state_dir = ts_conf_str(t->conf, "collect_dir")};
    struct col_emit *emit = col_emit_new(&(struct col_emit_opts){.out = {.put = put}});
    struct ts_error err = {0};
    void *state = NULL;
    if (col_weblog.init(&ctx, &state, &err) < 0 || col_weblog.once(state, emit, &err) < 0)
        fail_msg("%s", err.text);
    col_weblog.release(state);
    col_emit_free(emit);
}

/* What is said of a file; "" = nothing. */
static const char *says(const struct t_known *t, const char *name)
{
    static char why[100];
    char path[200];
    uint64_t imported;
    struct col_web_known *k;
    assert_int_equal(col_web_known_new(t->conf, &k, NULL), 0);
    snprintf(path, sizeof(path), "%s/%s", t->dir, name);
    if (!col_web_known_find(k, path, (struct ts_slice){NULL, 0}, NULL, why, sizeof(why), &imported))
        why[0] = '\0';
    col_web_known_free(k);
    return why;
}

static void test_weblog_known__by_configuration(void **state)
{
    struct t_known t;
    (void)state;
    begin(&t);
    sh(&t, "touch a.log a.log.1 b.log; ln -s a.log link");
    assert_string_equal(says(&t, "a.log"), "collect_weblog follows it");
    assert_string_equal(says(&t, "link"), "collect_weblog follows it");
    assert_string_equal(says(&t, "a.log.1"), "");
    assert_string_equal(says(&t, "b.log"), "");
    assert_string_equal(says(&t, "missing.log"), "");
    set(&t, "collect_dir", "none");
    assert_string_equal(says(&t, "a.log"), "");
    end(&t);
}

static void test_weblog_known__by_checkpoint(void **state)
{
    struct t_known t;
    (void)state;
    begin(&t);
    sh(&t, "seq 1 9 >a.log.2; gzip a.log.2; seq 10 19 >a.log.1; : >a2.log");
    follow(&t); /* nothing to follow but an empty file */
    sh(&t, "seq 20 29 >a.log");
    follow(&t);
    sh(&t, "mv a.log a.log.0; seq 30 39 >a.log");
    follow(&t);
    set(&t, "collect_weblog", "");
    assert_string_equal(says(&t, "a.log"), "it is followed");
    assert_string_equal(says(&t, "a2.log"), "it is followed");
    assert_string_equal(says(&t, "a.log.0"), "it was followed until it was rotated");
    assert_string_equal(says(&t, "a.log.1"), ""); /* rotated before */
    assert_string_equal(says(&t, "a.log.2.gz"), "");
    sh(&t, "gzip a.log.0; mv a.log.0.gz c.gz");
    assert_string_equal(says(&t, "c.gz"), "it was followed until it was rotated");
    sh(&t, "rm a.log; seq 40 49 >a.log"); /* nobody saw this one, but it will be */
    assert_string_equal(says(&t, "a.log"), "it is followed");
    sh(&t, "echo x >>state/weblog.state");
    ts_log_set_level(TS_LOG_ERROR);
    assert_string_equal(says(&t, "a.log"), "");
    end(&t);
}

static void test_weblog_known__files_read_to_their_end(void **state)
{
    struct t_known t;
    (void)state;
    begin(&t);
    sh(&t, "seq 20 29 >a.log");
    follow(&t);
    sh(&t, "mv a.log a.log.1; gzip a.log.1; seq 30 39 >a.log");
    follow(&t); /* a packed one is done when it was read */
    set(&t, "collect_weblog", "");
    assert_string_equal(says(&t, "a.log.1.gz"), "it was followed to its end");
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weblog_known__by_configuration),
        cmocka_unit_test(test_weblog_known__by_checkpoint),
        cmocka_unit_test(test_weblog_known__files_read_to_their_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
