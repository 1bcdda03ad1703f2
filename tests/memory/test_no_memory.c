/*
 * test_no_memory.c - the n-th allocation whose size comes from outside fails, for every n: a clear error, and
 * the next try works as if nothing had been.
 *
 * Covered    a store: open with replay, scan, cells; queries and totals; bodies of puts; packed bodies; files
 *            to import; configuration files
 * Not here   sizes we choose, blocks being written by a flush too: when those fail the process says so and
 *            ends, as after a kill nothing is lost (base/mem.h); what jansson takes
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/conf.h"
#include "base/json.h"
#include "query/query.h"
#include "tests/unit/storage/store_kit.h"
#include "base/lineread.h"
#include "tsd/protocols/http/gzip.h"
#include "tsd/protocols/http/put_json.h"
#include "tsd/daemon/settings.h"

#include <unistd.h>

static bool t_long; /* TSD_TEST_LONG: every allocation, else every seventh after the first forty */

#define N_POINTS 600u
#define MAX_N    20000u /* allocations of one attempt, far more than any takes */

static bool t_armed, t_reached; /* an allocation is to fail; it did */

/* No more failures; did one happen? An attempt may call it before it tidies up. */
static bool t_calm(void)
{
    if (t_armed)
        t_reached = ts_mem_fail_left() == 0;
    t_armed = false;
    ts_mem_fail_after(0);
    return t_reached;
}

/* One attempt; answers a code, err says why. */
typedef int (*attempt_fn)(void *arg, struct ts_error *err);

/* Fail each allocation in turn until an attempt takes fewer. Returns how many attempts had an error. */
static unsigned each_allocation(const char *what, attempt_fn attempt, void *arg)
{
    unsigned n_errors = 0;
    for (uint64_t n = 1; n < MAX_N; n += n < 40 || t_long ? 1 : 7) {
        struct ts_error err = {0};
        t_armed = true;
        ts_mem_fail_after(n);
        int rc = attempt(arg, &err);
        bool reached = t_calm();
        if (rc < 0) {
            n_errors++;
            if ((rc != TS_ENOMEM && rc != TS_ELIMIT && rc != TS_ENOSPC && rc != TS_EPARSE) ||
                err.code != rc || !err.text[0])
                fail_msg("%s, allocation %llu: %s \"%s\"", what, (unsigned long long)n, ts_err_name(rc),
                         err.text);
        }
        struct ts_error again = {0};
        t_reached = true;
        if ((rc = attempt(arg, &again)) < 0)
            fail_msg("%s: after allocation %llu failed: %s", what, (unsigned long long)n, again.text);
        if (!reached)
            return n_errors;
    }
    fail_msg("%s: more than %u allocations", what, MAX_N);
    return 0;
}

/* --- a store --- */

/* A store on the file system in memory, and what was put into it. */
struct world {
    struct t_faultfs *f;
    struct sto_opts opts;
    struct sto_store *st;
    struct diary diary;
    uint64_t rnd;
    bool read_only; /* try_open opens for reading */
};

static void world_put(struct world *w, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t r = t_rand(&w->rnd);
        (void)kit_op(w->st, sto_writer(w->st, 0), &w->diary, (unsigned)(r >> 32) % N_SERIES, STO_OP_PUT,
                     T0 + (int64_t)(r >> 8 & 0xfff) * 1000, (int64_t)(r >> 44));
    }
    sto_writer_turn(sto_writer(w->st, 0));
}

static struct world world_new(void)
{
    struct world w = {.f = t_faultfs_new(1), .rnd = 5};
    w.opts = (struct sto_opts)KIT_OPTS(w.f, 1);
    w.st = kit_open(&w.opts);
    world_put(&w, N_POINTS);
    assert_int_equal(sto_flush(w.st, STO_LEVEL_FILES, NULL), 0);
    world_put(&w, N_POINTS);
    assert_int_equal(sto_flush(w.st, STO_LEVEL_FILES, NULL), 0);
    world_put(&w, 40);
    assert_int_equal(sto_flush(w.st, STO_LEVEL_LOG, NULL), 0);
    return w;
}

static void world_free(struct world *w)
{
    kit_expect_all(w->st, &w->diary, "in the end");
    kit_close(w->st);
    w->st = kit_open(&w->opts);
    kit_expect_all(w->st, &w->diary, "opened again");
    kit_close(w->st);
    diary_release(&w->diary);
    t_faultfs_free(w->f);
}

static void count_point(void *arg, int64_t ts_ms, struct ts_num v)
{
    (void)ts_ms;
    (void)v;
    ++*(size_t *)arg;
}

/* Never fewer points than there are. */
static int try_scan(void *arg, struct ts_error *err)
{
    struct world *w = arg;
    static size_t n_all;
    size_t n = 0;
    for (unsigned s = 0; s < N_SERIES; s++)
        TS_TRY(kit_points(w->st, kit_series(w->st, s), count_point, &n, err));
    assert_true(n_all == 0 || n == n_all);
    n_all = n;
    return 0;
}

static int try_open(void *arg, struct ts_error *err)
{
    struct world *w = arg;
    struct sto_store *st = NULL;
    struct t_faultfs *copy = t_faultfs_clone(w->f, 1);
    struct sto_opts opts = w->opts;
    opts.fs = t_faultfs_fs(copy);
    opts.read_only = w->read_only;
    opts.create = !w->read_only;
    int rc = sto_open(&opts, &st, err);
    assert_true((rc == 0) == (st != NULL));
    (void)t_calm(); /* closing flushes */
    if (rc == 0)
        (void)sto_close(st, NULL); /* what it could not do now stands in the log */
    assert_int_equal(t_faultfs_n_open(copy), 0);
    t_faultfs_free(copy);
    return rc;
}

static int try_cell(void *arg, struct ts_error *err)
{
    struct world *w = arg;
    int64_t now;
    struct ts_buf out;
    TS_TRY(sto_cell_put(w->st, TS_SLICE_LIT("k"), TS_SLICE_LIT("a value of some length"), err));
    TS_TRY(sto_cell_incr(w->st, TS_SLICE_LIT("n"), 1, &now, err));
    ts_buf_init(&out, 0);
    int rc = sto_cell_get(w->st, TS_SLICE_LIT("k"), &out);
    ts_buf_release(&out);
    return rc < 0 ? ts_error_set(err, rc, "no memory for a cell") : 0;
}

static void test_no_memory__scans_are_whole_or_fail(void **state)
{
    (void)state;
    struct world w = world_new();
    assert_true(each_allocation("scan", try_scan, &w) > 0);
    world_free(&w);
}

static void test_no_memory__a_store_opens_or_says_why(void **state)
{
    (void)state;
    struct world w = world_new();
    for (int read_only = 0; read_only < 2; read_only++) {
        w.read_only = read_only;
        assert_true(each_allocation("open", try_open, &w) > 0);
    }
    world_free(&w);
}

static void test_no_memory__cells_are_changed_or_not(void **state)
{
    (void)state;
    struct world w = world_new();
    (void)each_allocation("cell", try_cell, &w);
    world_free(&w);
}

/* --- queries --- */

static int on_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    (void)err;
    *(size_t *)arg += s->n;
    return 0;
}

static int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    (void)err;
    *(size_t *)arg += !t->empty;
    return 0;
}

static int ask(struct world *w, const char *json, bool totals, struct ts_error *err)
{
    struct ts_arena arena = {0};
    struct qry_spec spec = {0};
    struct qry_limit limit = {.max_bytes = 1 << 30};
    size_t n = 0;
    int rc = qry_parse_json(ts_slice_str(json), T0 + 86400000, false, &arena, &spec, err);
    if (rc == 0)
        rc = totals ? qry_totals(w->st, NULL, &spec, &limit, on_total, &n, err)
                    : qry_run(w->st, NULL, &spec, &limit, on_series, &n, err);
    assert_true(rc < 0 || n > 0);
    ts_arena_release(&arena);
    return rc;
}

static int try_query(void *arg, struct ts_error *err)
{
    TS_TRY(
        ask(arg,
            "{\"start\":1793600000,\"end\":1793800000,\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"m0\","
            "\"downsample\":\"1m-p95\",\"rate\":true,\"filters\":[{\"type\":\"regexp\",\"tagk\":\"host\","
            "\"filter\":\"h.*\",\"groupBy\":true}]}]}",
            false, err));
    return ask(
        arg,
        "{\"start\":1793600000,\"end\":1793800000,\"queries\":[{\"aggregator\":\"none\",\"metric\":\"m1\"}]}",
        false, err);
}

static int try_totals(void *arg, struct ts_error *err)
{
    return ask(
        arg,
        "{\"start\":1793600000,\"end\":1793800000,\"by\":\"day,host\",\"queries\":[{\"aggregator\":\"avg\","
        "\"metric\":\"m0\",\"tags\":{\"host\":\"*\"}}]}",
        true, err);
}

static void test_no_memory__queries_fail_and_work_again(void **state)
{
    (void)state;
    struct world w = world_new();
    assert_true(each_allocation("query", try_query, &w) > 0);
    (void)each_allocation("totals", try_totals, &w);
    world_free(&w);
}

/* --- bytes from clients and files --- */

static int try_put_body(void *arg, struct ts_error *err)
{
    struct ts_arena arena = {0};
    struct tsd_put_body body;
    struct ts_error details = {0};
    (void)arg;
    int rc = tsd_put_body_read(
        TS_SLICE_LIT("[{\"metric\":\"\\u006d\",\"timestamp\":1,\"value\":2,\"tags\":{\"a\":\"b\"}}]"), false,
        &arena, &body, err, &details);
    assert_true(rc < 0 || body.n_points == 1);
    tsd_put_body_release(&body);
    ts_arena_release(&arena);
    return rc;
}

/* "hello hello ..." of 70,000 bytes, packed. */
static int try_gunzip(void *arg, struct ts_error *err)
{
    struct ts_slice packed = ts_buf_get(arg);
    struct ts_buf out;
    ts_buf_init(&out, 1 << 20);
    int rc = tsd_gunzip(packed, 1000, &out, err);
    assert_true(rc < 0 || out.n == 70000);
    ts_buf_release(&out);
    return rc;
}

static void test_no_memory__bodies_are_refused_and_taken_again(void **state)
{
    (void)state;
    char *text = ts_xmalloc(70000);
    for (size_t i = 0; i < 70000; i++)
        text[i] = "hello "[i % 6];
    struct ts_buf packed;
    struct tsd_gzip *z = tsd_gzip_new(false);
    struct ts_slice in = {text, 70000};
    bool ended = false;
    ts_buf_init(&packed, 0);
    while (!ended)
        packed.n += tsd_gzip_run(z, &in, ts_buf_reserve(&packed, 4096), 4096, true, &ended);
    tsd_gzip_free(z);
    (void)each_allocation("put body", try_put_body, NULL);
    assert_true(each_allocation("packed body", try_gunzip, &packed) > 0);
    ts_buf_release(&packed);
    ts_free(text);
}

static int try_lines(void *arg, struct ts_error *err)
{
    struct ts_lines *l = NULL;
    struct ts_slice piece;
    size_t n = 0;
    int rc = ts_lines_open(arg, &l, err);
    while (rc >= 0 && (rc = ts_lines_next(l, &piece, err)) == 1)
        n += piece.n;
    assert_true(rc < 0 || n == 300000);
    ts_lines_close(l);
    return rc;
}

static int try_conf(void *arg, struct ts_error *err)
{
    static const struct ts_conf_key *const tables[] = {tsd_conf_keys, sto_conf_keys};
    struct ts_conf *c = ts_conf_new(tables, 2);
    int rc = ts_conf_load_file(c, arg, err);
    ts_conf_free(c);
    return rc;
}

/* A file of n bytes made of a line of 30; its path is arg. */
static void make_file(char *path, const char *line, size_t n)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < n; i += strlen(line))
        assert_int_equal(write(fd, line, strlen(line)), strlen(line));
    close(fd);
}

static void test_no_memory__files_are_read_or_not(void **state)
{
    (void)state;
    char lines[] = "/tmp/tsd-no-memory-XXXXXX", conf[] = "/tmp/tsd-no-memory-XXXXXX";
    make_file(lines, "a.metric 1700000000 1 host=ab\n", 300000);
    make_file(conf, "log_level = debug\n", 180);
    (void)each_allocation("lines", try_lines, lines);
    (void)each_allocation("conf", try_conf, conf);
    unlink(lines);
    unlink(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory__scans_are_whole_or_fail),
        cmocka_unit_test(test_no_memory__a_store_opens_or_says_why),
        cmocka_unit_test(test_no_memory__cells_are_changed_or_not),
        cmocka_unit_test(test_no_memory__queries_fail_and_work_again),
        cmocka_unit_test(test_no_memory__bodies_are_refused_and_taken_again),
        cmocka_unit_test(test_no_memory__files_are_read_or_not),
    };
    t_long = getenv("TSD_TEST_LONG") != NULL;
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
