/*
 * test_weblog.c - the whole collector on a log that grows and is rotated, with outputs that fail and restarts at random: what is stored
 * in the end is what a plain count says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/collect.h"
#include "collectors/core/collector.h"
#include "collectors/weblog/weblog_logs.h"
#include "tests/unit/collectors/t_weblog.h"

#define T_SEED   20261121u
#define N_ROUNDS 250

/* Some lines of two domains in the same few minutes, so that buckets change again and again. Odd ones among them: what is no line at all,
 * and a line without a host, which counts for the file's name. */
static unsigned add_lines(struct t_store *s, const char *log, bool odd, long sums[3])
{
    FILE *f = fopen(log, "ae");
    unsigned n = next_rand(s, 40);
    assert_non_null(f);
    if (odd && next_rand(s, 4) == 0)
        fprintf(f, next_rand(s, 2) ? "\n\n" : "HTTP/1.1\" 200 5\n");
    if (odd && next_rand(s, 4) == 0) {
        fprintf(f, "::1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n");
        sums[2]++;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned k = next_rand(s, 2), bytes = next_rand(s, 1000);
        fprintf(
            f, "%s:80 1.2.3.4 - - [17/May/2015:10:%02u:03 +0000] \"GET /%c/x HTTP/1.1\" 200 %u \"-\" \"-\"\n",
            k ? "b.org" : "a.org", next_rand(s, 8), 'p' + (char)next_rand(s, 3), bytes);
        sums[k]++;
    }
    fclose(f);
    return n;
}

static void every_line_once(const char *format)
{
    static const char *const rotations[] = {"mv a.log a.log.$N",
                                            "mv a.log a.log.$N; gzip a.log.$N",
                                            "cp a.log a.log.$N; : >a.log",
                                            "cp a.log a.log.$N; : >a.log; gzip a.log.$N",
                                            "mv a.log old/a.log.$N",
                                            "mv a.log old/a.log.$N; gzip old/a.log.$N",
                                            "cp a.log old/a.log.$N; : >a.log",
                                            "mv a.log a.log.$N; gzip a.log.$N; mv a.log.$N.gz old"};
    static const char *const lates[] = {"0", "1", "600"}, *const buckets[] = {"60", "60", "300", "10"};
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct t_store s = {.points = ts_xcalloc(N_POINTS, sizeof(*s.points)), .seed = T_SEED, .faults = true};
    const char *seed = getenv("TSD_TEST_SEED");
    struct t_collector c = {.conf = ts_conf_new(tables, 1)};
    char dir[] = "/tmp/tsd-test-weblog-XXXXXX", log[64], spec[96], command[200];
    long sums[3] = {0, 0, 0};
    bool odd = !strcmp(format, "auto");
    if (seed)
        s.seed = (uint32_t)strtoul(seed, NULL, 10);
    ts_log_set_level(TS_LOG_ERROR);
    assert_non_null(mkdtemp(dir));
    snprintf(log, sizeof(log), "%s/a.log", dir);
    snprintf(spec, sizeof(spec), "%s:%s", format, log);
    set(c.conf, "collect_weblog", spec);
    c.ctx = (struct col_ctx){.conf = c.conf, .root = "", .state_dir = dir};
    c.emit = col_emit_new(&(struct col_emit_opts){.out = {.put = store_put, .arg = &s}});
    sh(dir, "mkdir old; : >a.log");
    set(c.conf, "collect_weblog_olddir", "old");
    begin(&c, "600", "60");
    (void)col_weblog.once(c.state, c.emit,
                          NULL); /* it must have been seen: what was rotated before is history */
    unsigned n_rotations = 0;
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        (void)add_lines(&s, log, odd, sums);
        if (next_rand(&s, 12) == 0) {
            snprintf(command, sizeof(command), "N=%u; %s; touch a.log", ++n_rotations,
                     rotations[next_rand(&s, 8)]);
            sh(dir, command);
        }
        if (next_rand(&s, 3))
            (void)col_weblog.once(c.state, c.emit, NULL);
        if (next_rand(&s, 5) == 0) { /* as after kill -9: what was not in the checkpoint is forgotten */
            col_weblog.release(c.state);
            begin(&c, lates[next_rand(&s, 3)], buckets[next_rand(&s, 4)]);
        }
    }
    s.faults = false;
    assert_int_equal(col_weblog.once(c.state, c.emit, NULL), 0);
    assert_int_equal(store_sum(&s, "web.hits ", "domain=a.org"), sums[0]);
    assert_int_equal(store_sum(&s, "web.hits ", "domain=b.org"), sums[1]);
    assert_int_equal(store_sum(&s, "web.hits ", "domain=a "), sums[2]);
    assert_int_equal(store_sum(&s, "web.hits ", "status=2xx"), sums[0] + sums[1] + sums[2]);
    assert_true(n_rotations > 10);
    col_weblog.release(c.state);
    col_emit_free(c.emit);
    ts_conf_free(c.conf);
    ts_free(s.points);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

static void test_weblog__every_line_counts_once(void **state)
{
    (void)state;
    every_line_once("vhost_combined");
}

static void test_weblog__every_line_counts_once_whatever_its_format(void **state)
{
    (void)state;
    every_line_once("auto");
}

/* A checkpoint as version 0.1 wrote it: one log, read to byte 68; one rotated file read to its end, one that nobody read. */
static void write_state_1(const char *dir)
{
    char path[128];
    struct ts_buf body, text;
    ts_buf_init(&body, 0);
    ts_buf_init(&text, 0);
    ts_buf_printf(
        &body,
        "{\"files\":[{\"path\":\"%s/a.log\",\"dev\":65024,\"ino\":9978652,\"head_bytes\":68,\"head\":"
        "\"2361eb254126898c\",\"off\":68,\"mtime_ms\":1000,\"kind\":\"common\",\"skip\":false,\"rotated\":"
        "false}],\"done\":[{\"head_bytes\":136,\"head\":\"c05dff24dbf9d2d6\",\"unread\":true},{\"head_"
        "bytes\":340,"
        "\"head\":\"3ad7a8ebf60b518e\",\"unread\":false}],\"names\":[[-1,\"a\"],[0,\"/"
        "\"]],\"cells\":[[1793966400000,"
        "1793966400000,1,0,0,0,0,0,6,0,0,0,0,0,507,0,0,0,0,0,0,0,0,0,0,0,0]],\"horizon_ms\":-"
        "9223372036854775808,"
        "\"generation\":1,\"counted\":6,\"late\":0,\"bad\":0}\n",
        dir);
    ts_buf_printf(&text, "tsd-weblog 1 %08x\n", ts_crc32c(0, body.p, body.n));
    ts_buf_slice(&text, ts_buf_get(&body));
    snprintf(path, sizeof(path), "%s/weblog.state", dir);
    assert_int_equal(ts_fs_write_atomic(ts_fs_real(), path, text.p, text.n, NULL), 0);
    ts_buf_release(&body);
    ts_buf_release(&text);
}

static void test_weblog__a_checkpoint_of_version_1_is_read(void **state)
{
#define T_OLD "10.0.0.1 - - [06/Nov/2026:12:00:00 +0000] \"GET /%s HTTP/1.1\" 200 %s\n"
    static const struct {
        const char *file, *paths, *bytes;
    } logs[] = {{"a.log.3", "p q", "100"},
                {"a.log.2", "1 2 3 4 5", "100"},
                {"a.log.1", "new", "7"},
                {"a.log", "z", "1"}};
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct t_store s = {.points = ts_xcalloc(N_POINTS, sizeof(*s.points))};
    struct t_collector c = {.conf = ts_conf_new(tables, 1)};
    char dir[] = "/tmp/tsd-test-weblog-XXXXXX", log[64], command[200];
    (void)state;
    ts_log_set_level(TS_LOG_ERROR);
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof(logs) / sizeof(*logs); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", dir, logs[i].file);
        FILE *f = fopen(path, "we");
        for (const char *p = logs[i].paths; *p;) {
            size_t n = strcspn(p, " ");
            char name[8];
            snprintf(name, sizeof(name), "%.*s", (int)n, p);
            fprintf(f, T_OLD, name, logs[i].bytes);
            p += n + (p[n] == ' ');
        }
        fclose(f);
    }
    write_state_1(dir);
    snprintf(log, sizeof(log), "%s/a.log", dir);
    set(c.conf, "collect_weblog", log);
    c.ctx = (struct col_ctx){.conf = c.conf, .root = "", .state_dir = dir};
    c.emit = col_emit_new(&(struct col_emit_opts){.out = {.put = store_put, .arg = &s}});
    for (unsigned i = 0; i < 3; i++) { /* the second time from what was written as version 2 */
        begin(&c, "600", "60");
        assert_int_equal(col_weblog.once(c.state, c.emit, NULL), 0);
        assert_int_equal(store_sum(&s, "web.hits ", ""), 7 + i);
        assert_int_equal(store_sum(&s, "web.bytes ", ""), 508 + i);
        col_weblog.release(c.state);
        FILE *f = fopen(log, "ae");
        fprintf(f, T_OLD, "z", "1");
        fclose(f);
    }
    col_emit_free(c.emit);
    ts_conf_free(c.conf);
    ts_free(s.points);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

/* A '=' is in front of a domain, unless what follows is part of the path. */
static void test_weblog__paths_may_have_equals_signs(void **state)
{
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct ts_conf *conf = ts_conf_new(tables, 1);
    struct col_web_logs logs;
    char dir[] = "/tmp/tsd-test-weblog-XXXXXX", list[300], file[100], domain[100];
    (void)state;
    assert_non_null(mkdtemp(dir));
    sh(dir, "echo x >a=b.log");
    snprintf(file, sizeof(file), "%s/a=b.log", dir);
    snprintf(domain, sizeof(domain), "%s/c=d.log", dir);
    snprintf(list, sizeof(list), "/srv/a=b/x.log, json:/srv/a=b/*.log=c.org, %s, %s", file, domain);
    set(conf, "collect_weblog", list);
    assert_int_equal(col_web_logs_init(&logs, conf, NULL), 0);
    assert_int_equal(logs.n, 4);
    assert_string_equal(logs.logs[0].pattern, "/srv/a=b/x.log");
    assert_string_equal(logs.logs[1].pattern, "/srv/a=b/*.log");
    assert_string_equal(logs.logs[1].name, "c.org");
    assert_string_equal(logs.logs[2].pattern, file); /* it is there */
    assert_string_equal(logs.logs[3].name, "d.log");
    col_web_logs_release(&logs);
    ts_conf_free(conf);
    sh(dir, "rm -r \"$PWD\"");
}

/* A spool that may stand still. */
struct t_spool {
    struct t_store *store;
    uint64_t n_taken, n_waiting, n_lost, n_bytes;
    bool still; /* nothing leaves it */
};

static int spool_put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    struct t_spool *s = arg;
    s->n_taken += n_points;
    s->n_waiting += s->still ? n_points : 0;
    s->n_bytes += lines.n;
    return s->still ? 0 : store_put(s->store, lines, n_points, durable, err);
}

static void spool_progress(void *arg, struct col_out_progress *out)
{
    const struct t_spool *s = arg;
    *out = (struct col_out_progress){
        .n_taken = s->n_taken, .n_left = s->n_taken - s->n_waiting, .n_lost = s->n_lost};
}

/* Twenty domains of five paths, for an hour in which nothing leaves the spool: each count goes there once, and what the spool loses
 * in the end is sent again. */
static void test_weblog__counts_wait_while_the_spool_stands_still(void **state)
{
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct t_store store = {.points = ts_xcalloc(N_POINTS, sizeof(*store.points))};
    struct t_spool spool = {.store = &store};
    struct t_collector c = {.conf = ts_conf_new(tables, 1)};
    char dir[] = "/tmp/tsd-test-weblog-XXXXXX", log[64];
    uint64_t n_round = 0;
    (void)state;
    assert_non_null(mkdtemp(dir));
    ts_log_set_level(TS_LOG_ERROR);
    snprintf(log, sizeof(log), "%s/a.log", dir);
    sh(dir, ": >a.log");
    set(c.conf, "collect_weblog", log);
    set(c.conf, "collect_weblog_format", "vhost_combined");
    c.ctx = (struct col_ctx){.conf = c.conf, .root = "", .state_dir = dir};
    c.emit = col_emit_new(
        &(struct col_emit_opts){.out = {.put = spool_put, .arg = &spool, .progress = spool_progress}});
    int64_t now_ms = 1431857100000;
    ts_clock_set_fake(now_ms);
    begin(&c, "600", "60");
    spool.still = true;
    for (unsigned i = 0; i < 360; i++) { /* every ten seconds */
        FILE *f = fopen(log, "ae");
        for (unsigned k = 0; k < (i % 60 ? 40u : 100u); k++)
            fprintf(f,
                    "d%u.org:80 1.1.1.1 - - [17/May/2015:10:%02u:%02u +0000] \"GET /p%u/ HTTP/1.1\" 200 1 "
                    "\"-\" \"-\"\n",
                    k / 5 % 20, 5 + i % 50, i % 60, k % 5);
        fclose(f);
        now_ms += 10000;
        ts_clock_set_fake(now_ms);
        assert_int_equal(col_weblog.once(c.state, c.emit, NULL), 0);
        n_round = i ? n_round : spool.n_bytes;
    }
    assert_true(n_round > 10000); /* 100 series, hits and bytes */
    assert_true(spool.n_bytes <
                3 * n_round); /* and figures once a minute; it was a round every ten seconds */
    spool.still = false;      /* all of it was lost */
    spool.n_lost = spool.n_waiting;
    spool.n_waiting = 0;
    for (unsigned i = 0; i < 3; i++) {
        now_ms += 10000;
        ts_clock_set_fake(now_ms);
        assert_int_equal(col_weblog.once(c.state, c.emit, NULL), 0);
    }
    ts_clock_set_fake(0);
    assert_int_equal(store_sum(&store, "web.hits ", ""), 6 * 100 + 354 * 40);
    col_weblog.release(c.state);
    col_emit_free(c.emit);
    ts_conf_free(c.conf);
    ts_free(store.points);
    sh(dir, "rm -r \"$PWD\"");
}

/* A new host name or tag: open buckets go on under it for what is new, and keep the old one for what was counted. */
static void test_weblog__a_new_host_name_counts_nothing_twice(void **state)
{
    static const char line[] =
        "a.org:80 1.1.1.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n";
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    static const char *const hosts[] = {"a", "b", "a", "a"}, *const tags[] = {"", "", "", "dc=x"};
    struct t_store store = {.points = ts_xcalloc(N_POINTS, sizeof(*store.points))};
    struct t_spool spool = {.store = &store};
    struct t_collector c = {.conf = ts_conf_new(tables, 1)};
    char dir[] = "/tmp/tsd-test-weblog-XXXXXX", log[64];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(log, sizeof(log), "%s/a.log", dir);
    sh(dir, ": >a.log");
    set(c.conf, "collect_weblog", log);
    set(c.conf, "collect_weblog_format", "vhost_combined");
    c.ctx = (struct col_ctx){.conf = c.conf, .root = "", .state_dir = dir};
    for (unsigned i = 0; i < 4; i++) {
        set(c.conf, "collect_host", hosts[i]);
        set(c.conf, "collect_tags", tags[i]);
        c.emit = col_emit_new(
            &(struct col_emit_opts){.out = {.put = spool_put, .arg = &spool, .progress = spool_progress},
                                    .host = hosts[i],
                                    .tags = tags[i]});
        begin(&c, "600", "60");
        for (unsigned k = 0; k < 2; k++) {
            FILE *f = fopen(log, "ae");
            for (unsigned n = 0; n < 10; n++)
                fputs(line, f);
            fclose(f);
            /* the last counts of each life are killed on their way */
            spool.still = k && i < 3;
            assert_int_equal(col_weblog.once(c.state, c.emit, NULL), 0);
            spool.n_waiting = 0;
        }
        col_weblog.release(c.state);
        col_emit_free(c.emit);
    }
    assert_int_equal(store_sum(&store, "web.hits ", ""), 80);
    assert_int_equal(store_sum(&store, "web.hits ", "host=b"), 20);
    assert_int_equal(store_sum(&store, "web.hits ", "dc=x"), 20);
    ts_conf_free(c.conf);
    ts_free(store.points);
    sh(dir, "rm -r \"$PWD\"");
}

/* The key changes in the middle of a bucket, and counts are killed on their way: each request is in one point, with the tag from then on. */
static void test_weblog__programs_get_a_tag(void **state)
{
    static const char *const agents[] = {"Googlebot/2.1", "Mozilla/5.0 Firefox/128.0", "-"};
    static const char *const modes[] = {"count", "tag", "tag", "drop", "tag"};
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct t_store store = {.points = ts_xcalloc(N_POINTS, sizeof(*store.points))};
    struct t_spool spool = {.store = &store};
    struct t_collector c = {.conf = ts_conf_new(tables, 1)};
    char dir[] = "/tmp/tsd-test-weblog-XXXXXX", log[64];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(log, sizeof(log), "%s/a.org.log", dir);
    set(c.conf, "collect_weblog", log);
    c.ctx = (struct col_ctx){.conf = c.conf, .root = "", .state_dir = dir};
    c.emit = col_emit_new(
        &(struct col_emit_opts){.out = {.put = spool_put, .arg = &spool, .progress = spool_progress}});
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        FILE *f = fopen(log, "ae");
        for (unsigned k = 0; k < 6; k++)
            fprintf(f, "1.1.1.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"%s\"\n",
                    agents[k % 3]);
        fclose(f);
        set(c.conf, "collect_weblog_bots", modes[i]);
        begin(&c, "600", "60");
        spool.still = i % 2; /* what was sent is lost with the process */
        assert_int_equal(col_weblog.once(c.state, c.emit, NULL), 0);
        spool.n_waiting = 0;
        col_weblog.release(c.state);
    }
    assert_int_equal(store_sum(&store, "web.hits ", "bot=yes"), 3 * 2);
    assert_int_equal(store_sum(&store, "web.hits ", "bot=no"), 3 * 4);
    assert_int_equal(store_sum(&store, "web.hits ", ""), 6 + 3 * 6 + 4);
    col_emit_free(c.emit);
    ts_conf_free(c.conf);
    ts_free(store.points);
    sh(dir, "rm -r \"$PWD\"");
}

static void test_weblog__wrong_keys_are_refused(void **state)
{
    static const struct {
        const char *key, *value, *text;
    } wrong[] = {{"collect_weblog", "relative.log", "no path that begins with /"},
                 {"collect_weblog", "nonsense:/x.log", "is no log format"},
                 {"collect_weblog", "/x.log=nodot", "says nothing about domains"},
                 {"collect_weblog_format", "$status", "it has no time"},
                 {"collect_weblog_bucket_s", "7", "divide 900"}};
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct ts_conf *conf = ts_conf_new(tables, 1);
        struct col_ctx ctx = {.conf = conf, .root = ""};
        struct ts_error err = {0};
        void *made = NULL;
        assert_int_equal(col_weblog.init(&ctx, &made, &err), TS_ENOTFOUND);
        assert_false(col_weblog.wanted(conf));
        set(conf, "collect_weblog", "/x.log");
        assert_true(col_weblog.wanted(conf));
        set(conf, wrong[i].key, wrong[i].value);
        assert_int_equal(col_weblog.init(&ctx, &made, &err), TS_EINVAL);
        if (!strstr(err.text, wrong[i].text))
            fail_msg("%s", err.text);
        assert_null(made);
        ts_conf_free(conf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weblog__every_line_counts_once),
        cmocka_unit_test(test_weblog__every_line_counts_once_whatever_its_format),
        cmocka_unit_test(test_weblog__a_checkpoint_of_version_1_is_read),
        cmocka_unit_test(test_weblog__paths_may_have_equals_signs),
        cmocka_unit_test(test_weblog__counts_wait_while_the_spool_stands_still),
        cmocka_unit_test(test_weblog__a_new_host_name_counts_nothing_twice),
        cmocka_unit_test(test_weblog__programs_get_a_tag),
        cmocka_unit_test(test_weblog__wrong_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
