/*
 * test_weblog_count.c - buckets, bounded names, late lines, and the checkpoint.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "collectors/weblog/weblog_state.h"
#include "t_points.h"

static const struct col_web_limits limits = {.bucket_ms = 60000,
                                             .late_ms = 10000,
                                             .max_domains = 2,
                                             .max_paths = 2,
                                             .forget_ms = 1000000,
                                             .path_depth = 1,
                                             .max_cells = 1000};

static void hit(struct col_web_count *c, int64_t s, const char *domain, const char *path, uint32_t status,
                int64_t took_us, int64_t now_ms)
{
    struct col_web_hit h;
    col_web_hit_init(&h);
    h.time_ms = s * 1000;
    h.status = status;
    h.bytes = 10;
    h.took_us = took_us;
    h.path = ts_slice_str(path);
    col_web_count_hit(c, &h, ts_slice_str(domain), now_ms);
}

static void sent(struct col_web_count *c, struct t_points *p)
{
    t_points_clear(p);
    assert_int_equal(col_web_count_emit(c, p->emit, NULL), 0);
    t_points_end(p);
    col_web_count_sent(c, false);
}

/* Sum of a metric over all points, by what the lines say. */
static long sum(struct t_points *p, const char *metric, const char *with)
{
    long n = 0;
    ts_buf_char(&p->lines, '\0');
    for (char *save, *line = strtok_r(p->lines.p, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char name[64], value[64];
        if (sscanf(line, "put %63s %*s %63s", name, value) == 2 && !strcmp(name, metric) &&
            strstr(line, with))
            n += strtol(value, NULL, 10);
    }
    t_points_clear(p);
    return n;
}

static void test_weblog_count__a_bucket_is_an_absolute_count(void **state)
{
    struct col_web_count c;
    struct t_points p;
    (void)state;
    col_web_count_init(&c, &limits);
    t_points_init(&p);
    hit(&c, 120, "A.org", "/x/1", 200, 5000, 0);
    hit(&c, 179, "a.org", "/x/2?y", 200, 10000, 0);
    hit(&c, 150, "a.org", "/x/3", 404, 10001, 0);
    hit(&c, 150, "a.org", "/x/3", 999, -1, 0);
    sent(&c, &p);
    ts_buf_char(&p.lines, '\0');
    assert_string_equal(p.lines.p, "put web.hits 120 2 domain=a.org path=/x status=2xx\n"
                                   "put web.bytes 120 20 domain=a.org path=/x status=2xx\n"
                                   "put web.hits 120 1 domain=a.org path=/x status=4xx\n"
                                   "put web.bytes 120 10 domain=a.org path=/x status=4xx\n"
                                   "put web.hits 120 1 domain=a.org path=/x status=other\n"
                                   "put web.bytes 120 10 domain=a.org path=/x status=other\n"
                                   "put web.time.count 120 3 domain=a.org path=/x\n"
                                   "put web.time.sum 120 25.001 domain=a.org path=/x\n"
                                   "put web.time.max 120 10.001 domain=a.org path=/x\n"
                                   "put web.time.requests 120 2 domain=a.org path=/x upto_ms=10\n"
                                   "put web.time.requests 120 1 domain=a.org path=/x upto_ms=30\n");
    sent(&c, &p); /* nothing changed */
    assert_int_equal(p.n, 0);
    hit(&c, 121, "a.org", "/x/1", 200, -1, 0);
    sent(&c, &p);
    assert_string_equal(t_value(&p, "web.hits domain=a.org path=/x status=2xx"), "3");
    t_points_release(&p);
    col_web_count_release(&c);
}

/* Counts on their way are sent again if they are lost, those that arrived are not. */
static void test_weblog_count__lost_counts_are_sent_again(void **state)
{
    struct col_web_count c;
    struct t_points p;
    (void)state;
    col_web_count_init(&c, &limits);
    t_points_init(&p);
    for (int lost = 0; lost < 2; lost++) {
        hit(&c, 120, "a.org", "/x/1", 200, -1, 0);
        hit(&c, 180, "a.org", "/x/1", 200, -1, 0);
        assert_int_equal(c.n_dirty, 2);
        col_web_count_sent(&c, true);
        assert_int_equal(c.n_dirty, 0);
        hit(&c, 180, "a.org", "/x/1", 200, -1, 0); /* while it is on its way */
        assert_int_equal(c.n_dirty, 1);
        col_web_count_landed(&c, lost);
        assert_int_equal(c.n_dirty, 1 + lost);
        sent(&c, &p);
        assert_int_equal(c.n_dirty, 0);
        assert_int_equal(sum(&p, "web.hits", "domain=a.org"), lost ? 2 + 4 : 2);
        col_web_count_landed(&c, true); /* nothing is under way */
        assert_int_equal(c.n_dirty, 0);
    }
    t_points_release(&p);
    col_web_count_release(&c);
}

static void test_weblog_count__names_are_bounded(void **state)
{
    struct col_web_count c;
    struct t_points p;
    (void)state;
    col_web_count_init(&c, &limits);
    t_points_init(&p);
    hit(&c, 60, "a", "/x/1", 200, -1, 0);
    hit(&c, 60, "a", "/scan/1", 404, -1, 0); /* makes no value of path */
    hit(&c, 60, "a", "/y/1", 200, -1, 0);
    hit(&c, 60, "a", "/z/1", 200, -1, 0);
    hit(&c, 60, "a", "/y/1", 500, -1, 0); /* known: stays itself */
    hit(&c, 60, "b", "-", 400, -1, 0);
    hit(&c, 60, "c", "/x/1", 200, -1, 0);
    hit(&c, 60, "d", "/x/1", 200, -1, 0);
    hit(&c, 60, "other", "/x/1", 200, -1, 0);
    sent(&c, &p);
    assert_string_equal(t_value(&p, "web.hits domain=a path=other status=4xx"), "1");
    assert_string_equal(t_value(&p, "web.hits domain=a path=/x status=2xx"), "1");
    assert_string_equal(t_value(&p, "web.hits domain=a path=other status=2xx"), "1");
    assert_string_equal(t_value(&p, "web.hits domain=a path=/y status=5xx"), "1");
    assert_string_equal(t_value(&p, "web.hits domain=b path=none status=4xx"), "1");
    assert_string_equal(t_value(&p, "web.hits domain=other path=/x status=2xx"), "2");
    assert_string_equal(t_value(&p, "web.hits domain=c path=/x status=2xx"), "1"); /* b stood below */
    assert_int_equal(c.names.n_other_domains, 1); /* "other" is nobody's loss */
    assert_int_equal(c.names.n_other_paths, 2);
    assert_int_equal(sum(&p, "web.hits", ""), 9);
    t_points_release(&p);
    col_web_count_release(&c);
}

/* Scanners and redirects keep nobody out; what is not hit any more gives way; a name that comes back is the same again. */
static void test_weblog_count__names_give_way(void **state)
{
    struct col_web_count c;
    struct t_points p;
    char name[20];
    (void)state;
    col_web_count_init(&c, &limits);
    t_points_init(&p);
    for (int i = 0; i < 120; i++) { /* invented hosts */
        snprintf(name, sizeof(name), "scan%d.org", i);
        hit(&c, 60, name, "/", 404, -1, 0);
    }
    for (int i = 0; i < 25; i++) { /* redirected paths of invented folders */
        snprintf(name, sizeof(name), "/scan%d/", i);
        hit(&c, 60, "a.org", name, 301, -1, 0);
    }
    hit(&c, 60, "a.org", "/shop/", 200, -1, 0);
    hit(&c, 60, "a.org", "/new/", 502, -1, 0); /* fails, and there is no room: none was good or gives way */
    hit(&c, 60, "a.org", "/news/", 200, -1, 0);
    hit(&c, 60, "b.org", "/fails/", 503, -1, 0); /* only fails, and is seen */
    sent(&c, &p);
    assert_string_equal(t_value(&p, "web.hits domain=other path=/ status=4xx"), "118");
    assert_string_equal(t_value(&p, "web.hits domain=a.org path=/shop status=2xx"), "1");
    assert_string_equal(t_value(&p, "web.hits domain=a.org path=/news status=2xx"), "1");
    assert_string_equal(t_value(&p, "web.hits domain=a.org path=/new status=5xx"), "");
    assert_string_equal(t_value(&p, "web.hits domain=b.org path=/fails status=5xx"), "1");
    /* b.org was never answered with 2xx: it gives way to c.org, which then keeps others out for a while */
    hit(&c, 120, "c.org", "/", 200, -1, 500000);
    hit(&c, 120, "d.org", "/", 200, -1, 900000);
    hit(&c, 120, "a.org", "/shop/", 200, -1, 900000);
    sent(&c, &p);
    assert_string_equal(t_value(&p, "web.hits domain=c.org path=/ status=2xx"), "1");
    assert_string_equal(t_value(&p, "web.hits domain=other path=/ status=2xx"), "1");
    hit(&c, 180, "d.org", "/", 200, -1, 1499999);
    sent(&c, &p);
    assert_string_equal(t_value(&p, "web.hits domain=d.org path=/ status=2xx"), "");
    hit(&c, 180, "d.org", "/", 200, -1, 1500000); /* c.org was last hit long enough ago */
    sent(&c, &p);
    assert_string_equal(t_value(&p, "web.hits domain=d.org path=/ status=2xx"), "1");
    /* c.org is back when a.org is the oldest: its open bucket goes on, and is not overwritten by a twin's */
    hit(&c, 120, "c.org", "/", 200, -1, 2500001);
    sent(&c, &p);
    assert_string_equal(t_value(&p, "web.hits domain=c.org path=/ status=2xx"), "2");
    assert_int_equal(c.names.n_domains, 2);
    /* what is forgotten takes no memory for good */
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "n%d.org", i);
        hit(&c, 60, name, "/", 200, -1, 4000000 + i * 2000000ll);
        col_web_count_sent(&c, false);
        (void)col_web_count_evict(&c, 4000000 + i * 2000000ll + 20000, false);
    }
    assert_true(c.names.n < 300);
    sent(&c, &p);
    t_points_release(&p);
    col_web_count_release(&c);
}

/* A name stands where its best answer puts it, and nowhere else. */
static void test_weblog_count__a_better_answer_raises_a_name(void **state)
{
    static const uint32_t statuses[] = {404, 301, 500, 200, 404};
    static const unsigned standings[] = {0, 1, 1, 2, 2};
    struct col_web_count c;
    (void)state;
    col_web_count_init(&c, &limits);
    for (size_t i = 0; i < 5; i++) {
        hit(&c, 60, "a.org", "/", statuses[i], -1, 0);
        for (unsigned k = 0; k < COL_WEB_STANDINGS; k++)
            assert_int_equal(c.names.n_at[k], k == standings[i]);
    }
    col_web_count_release(&c);
}

/* Different names that look alike in points are one series: else one would overwrite the other. */
static void test_weblog_count__names_are_cleaned_before_they_are_counted(void **state)
{
    struct col_web_count c;
    struct t_points p;
    char a[300], b[300];
    (void)state;
    memset(a, 'x', sizeof(a));
    memset(b, 'x', sizeof(b));
    a[298] = 'a', a[299] = b[299] = '\0';
    col_web_count_init(&c, &limits);
    t_points_init(&p);
    hit(&c, 60, "a b", "/\xc3\xa4/1", 200, -1, 0);
    hit(&c, 60,
        "A\xff"
        "B",
        "/__/1", 200, -1, 0);
    hit(&c, 60, "a_b", "/_&/1", 200, -1, 0);
    hit(&c, 60, a, "/", 200, -1, 0);
    hit(&c, 60, b, "/", 200, -1, 0);
    sent(&c, &p);
    assert_string_equal(t_value(&p, "web.hits domain=a_b path=/__ status=2xx"), "3");
    assert_int_equal(sum(&p, "web.hits", "domain=xxx"), 2);
    assert_int_equal(c.names.n_domains, 2);
    t_points_release(&p);
    col_web_count_release(&c);
}

/* What comes after a bucket was given up has a time of its own, again and again. */
static void test_weblog_count__late_lines_overwrite_nothing(void **state)
{
    struct col_web_count c;
    struct t_points p;
    struct ts_buf all;
    (void)state;
    ts_buf_init(&all, 0);
    col_web_count_init(&c, &limits);
    t_points_init(&p);
    for (int64_t i = 0; i < 3; i++) {
        hit(&c, 60, "a", "/", 200, -1, i * 20000);
        hit(&c, 61, "a", "/", 200, -1, i * 20000);
        sent(&c, &p);
        ts_buf_slice(&all, ts_buf_get(&p.lines));
        assert_int_equal(col_web_count_evict(&c, i * 20000 + 9000, false), 0);
        assert_int_equal(col_web_count_evict(&c, i * 20000 + 10001, false), 1);
    }
    ts_buf_char(&all, '\0');
    assert_string_equal(all.p, "put web.hits 60 2 domain=a path=/ status=2xx\n"
                               "put web.bytes 60 20 domain=a path=/ status=2xx\n"
                               "put web.hits 60001 2 domain=a path=/ status=2xx\n"
                               "put web.bytes 60001 20 domain=a path=/ status=2xx\n"
                               "put web.hits 60002 2 domain=a path=/ status=2xx\n"
                               "put web.bytes 60002 20 domain=a path=/ status=2xx\n");
    assert_int_equal(c.n_late, 4);
    hit(&c, 120, "a", "/", 200, -1, 60000); /* a younger bucket is not late */
    sent(&c, &p);
    assert_non_null(memmem(p.lines.p, p.lines.n, "web.hits 120 1", 14));
    hit(&c, 120, "a", "/", 200, -1, 60000); /* not sent yet: never given up */
    assert_int_equal(col_web_count_evict(&c, 600000, false), 0);
    ts_buf_release(&all);
    t_points_release(&p);
    col_web_count_release(&c);
}

/* Points by metric, time and tags hold the last value put: their sum is the number of lines, whatever was given up when. */
static void test_weblog_count__too_many_cells_go_early(void **state)
{
    enum { N_LINES = 20000, N_MINUTES = 3000 };
    struct col_web_count c;
    struct t_points p;
    struct {
        int64_t ms;
        long n;
    } stored[N_LINES];
    size_t n_stored = 0;
    uint32_t seed = 7;
    long total = 0;
    (void)state;
    col_web_count_init(&c, &limits);
    t_points_init(&p);
    for (int i = 0; i < N_LINES; i++) {
        seed = seed * 1103515245 + 12345;
        hit(&c, (int64_t)(seed >> 8) % N_MINUTES * 60 + 60000, "a", "/", 200, -1, 0);
        if (!col_web_count_full(&c) && i < N_LINES - 1)
            continue;
        sent(&c, &p);
        ts_buf_char(&p.lines, '\0');
        for (char *save, *line = strtok_r(p.lines.p, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
            long long t;
            long n;
            if (sscanf(line, "put web.hits %lld %ld", &t, &n) != 2)
                continue;
            int64_t ms = t < 1000000 ? t * 1000 : t;
            size_t k = 0;
            while (k < n_stored && stored[k].ms != ms)
                k++;
            n_stored += k == n_stored;
            stored[k].ms = ms;
            stored[k].n = n;
        }
        t_points_clear(&p);
        if (i < N_LINES - 1)
            assert_true(col_web_count_evict(&c, 0, true) > 0);
        assert_true(c.n_cells <= limits.max_cells);
    }
    for (size_t k = 0; k < n_stored; k++)
        total += stored[k].n;
    assert_int_equal(total, N_LINES);
    assert_true(c.n_late > 1000);
    t_points_release(&p);
    col_web_count_release(&c);
}

/* --- the checkpoint --- */

static char t_state[64]; /* the checkpoint; other runs of this test have another */

static void no_line(void *arg, const struct col_web_place *place, uint64_t off, struct ts_slice line)
{
    (void)arg;
    (void)place;
    (void)off;
    (void)line;
}

static void no_long(void *arg, const struct col_web_place *place, uint64_t off)
{
    no_line(arg, place, off, (struct ts_slice){NULL, 0});
}

/* All that a checkpoint holds, with one log configured. */
struct t_all {
    struct col_web_logs logs;
    struct col_web_follow follow;
    struct col_web_count count;
    uint64_t n_bad;
    struct col_web_state st;
};

static void all_init(struct t_all *t)
{
    *t = (struct t_all){.n_bad = 0};
    snprintf(t_state, sizeof(t_state), "/tmp/tsd-test-weblog.%d.state", (int)getpid());
    t->logs.logs = ts_xcalloc(1, sizeof(*t->logs.logs));
    t->logs.n = 1;
    assert_int_equal(col_web_log_init(&t->logs.logs[0], "combined", "auto", NULL), 0);
    t->logs.logs[0].pattern = ts_xstrdup("/nowhere/*.log");
    t->logs.logs[0].wild = true;
    struct col_web_follow_opts opts = {.logs = &t->logs, .line = no_line, .too_long = no_long};
    col_web_follow_init(&t->follow, &opts);
    col_web_count_init(&t->count, &limits);
    t->st =
        (struct col_web_state){.path = t_state, .follow = &t->follow, .count = &t->count, .n_bad = &t->n_bad};
}

static void all_release(struct t_all *t)
{
    col_web_follow_release(&t->follow);
    col_web_count_release(&t->count);
    col_web_logs_release(&t->logs);
}

/* A followed log with a part that was read to its end and one that is being read. */
static void set_places(struct col_web_tail *t)
{
    t->floor_ms = 7;
    t->seen_ms = 8;
    *col_web_place_add(t, COL_WEB_PAST) =
        (struct col_web_place){.tail = t, .role = COL_WEB_PAST, .head = {1024, 42}, .off = COL_WEB_OFF_ALL};
    *col_web_place_add(t, COL_WEB_CURRENT) = (struct col_web_place){.tail = t,
                                                                    .role = COL_WEB_CURRENT,
                                                                    .head = {77, 0xfedcba9876543210u},
                                                                    .off = 12345678901,
                                                                    .skip = true,
                                                                    .dev = 1,
                                                                    .ino = UINT64_MAX >> 1,
                                                                    .kind = COL_WEB_KIND_COMMON,
                                                                    .mtime_ms = 99,
                                                                    .seen_ms = 98};
}

static void check_places(const struct col_web_tail *t)
{
    assert_true(t->floor_ms == 7 && t->seen_ms == 8 && t->n_places == 2);
    assert_true(t->places[0]->role == COL_WEB_PAST && t->places[0]->head.hash == 42 &&
                t->places[0]->off == COL_WEB_OFF_ALL);
    assert_true(t->places[1]->off == 12345678901 && t->places[1]->skip && t->places[1]->seen_ms == 98);
    assert_true(t->places[1]->head.hash == 0xfedcba9876543210u);
    assert_int_equal(t->places[1]->kind, COL_WEB_KIND_COMMON);
}

static void test_weblog_count__the_checkpoint_comes_back(void **state)
{
    struct t_all a, b;
    struct t_points p;
    static const char path[] = "/nowhere/a\"b%41\xff.log";
    (void)state;
    all_init(&a);
    all_init(&b);
    t_points_init(&p);
    hit(&a.count, 60, "a", "/x/", 200, 7, 0);
    hit(&a.count, 60, "b", "/x/", 200, 7, 0);
    sent(&a.count, &p);
    assert_int_equal(col_web_count_evict(&a.count, 60000, false), 2);
    hit(&a.count, 60, "c", "/x/", 500, 8000, 0);
    sent(&a.count, &p);
    hit(&a.count, 180, "a", "/x/", 200, 1, 0);
    a.n_bad = 5;
    struct col_web_tail *t = col_web_follow_restore(&a.follow, path);
    assert_non_null(t);
    assert_null(col_web_follow_restore(&a.follow, path));
    set_places(t);
    col_web_follow_inherit(&a.follow, &(struct col_web_head){1024, 43}, true);
    assert_int_equal(col_web_state_save(&a.st, NULL), 0);
    assert_int_equal(col_web_state_load(&b.st, 500, NULL), 0);
    assert_int_equal(b.n_bad, 5);
    assert_int_equal(b.count.n_counted, 4);
    assert_int_equal(b.count.n_late, 1);
    assert_int_equal(b.count.n_cells, 2);
    assert_int_equal(b.count.n_dirty, 1); /* what was sent is not sent again */
    assert_int_equal(b.count.names.n_domains, 2);
    assert_int_equal(b.follow.n_tails, 1);
    t = b.follow.tails[0];
    assert_string_equal(t->path, path);
    check_places(t);
    assert_true(b.follow.n_inherited == 1 && b.follow.inherited[0].hash == 43 && b.follow.inherited_past[0]);
    hit(&a.count, 60, "d", "/", 200, 3, 0); /* both go on alike */
    hit(&b.count, 60, "d", "/", 200, 3, 0);
    sent(&a.count, &p);
    ts_buf_char(&p.lines, '\0');
    char *want = ts_xstrdup(p.lines.p);
    sent(&b.count, &p);
    ts_buf_char(&p.lines, '\0');
    assert_string_equal(p.lines.p, want);
    ts_free(want);
    t_points_release(&p);
    all_release(&a);
    all_release(&b);
    (void)ts_fs_real()->unlink(ts_fs_real(), t_state, NULL);
}

static void write_state(const char *text)
{
    assert_int_equal(ts_fs_write_atomic(ts_fs_real(), t_state, text, strlen(text), NULL), 0);
}

static void test_weblog_count__a_damaged_checkpoint_is_refused(void **state)
{
    struct t_all a;
    struct ts_error err = {0};
    char *text;
    size_t n;
    (void)state;
    all_init(&a);
    assert_int_equal(col_web_state_load(&a.st, 0, &err), TS_ENOTFOUND);
    hit(&a.count, 60, "a", "/x/", 200, 7, 0);
    assert_int_equal(col_web_state_save(&a.st, NULL), 0);
    assert_int_equal(ts_fs_read_file(ts_fs_real(), t_state, 1 << 20, &text, &n, NULL), 0);
    all_release(&a);
    for (size_t i = 0; i < n; i += 3) { /* any byte */
        all_init(&a);
        text[i] ^= 1;
        write_state(text);
        int rc = col_web_state_load(&a.st, 0, &err);
        assert_true(rc == TS_ECORRUPT || rc == TS_EVERSION);
        text[i] ^= 1;
        all_release(&a);
    }
    ts_free(text);
    all_init(&a);
    write_state("tsd-weblog 3 xyz\n{}");
    assert_int_equal(col_web_state_load(&a.st, 0, &err), TS_EVERSION);
    write_state("");
    assert_int_equal(col_web_state_load(&a.st, 0, &err), TS_ECORRUPT);
    all_release(&a);
    (void)ts_fs_real()->unlink(ts_fs_real(), t_state, NULL);
}

static void test_weblog_count__a_checkpoint_without_kinds_is_read(void **state)
{
    static const char file[] =
        "{\"path\":\"/nowhere/%c.log\",\"dev\":1,\"ino\":%d,\"head_bytes\":3,\"head\":"
        "\"00000000000000aa\",\"off\":%d,\"mtime_ms\":5,\"skip\":false,\"rotated\":false}";
    struct t_all a;
    struct ts_buf body, text;
    struct ts_error err = {0};
    (void)state;
    all_init(&a);
    ts_buf_init(&body, 0);
    ts_buf_init(&text, 0);
    ts_buf_str(&body, "{\"files\":[");
    ts_buf_printf(&body, file, 'a', 1, 700);
    ts_buf_char(&body, ',');
    ts_buf_printf(&body, file, 'b', 2, 0);
    ts_buf_str(&body,
               "],\"done\":[{\"head_bytes\":7,\"head\":\"00000000000000bb\"}],\"names\":[],\"cells\":[],"
               "\"horizon_ms\":0,\"generation\":1,\"counted\":9,\"late\":0,\"bad\":2}\n");
    ts_buf_printf(&text, "tsd-weblog 1 %08x\n", ts_crc32c(0, body.p, body.n));
    ts_buf_slice(&text, ts_buf_get(&body));
    ts_buf_char(&text, '\0');
    write_state(text.p);
    if (col_web_state_load(&a.st, 0, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(a.follow.n_tails, 2);
    assert_int_equal(col_web_current(a.follow.tails[0])->kind,
                     COL_WEB_KIND_COMBINED); /* its beginning was read as such */
    assert_int_equal(col_web_current(a.follow.tails[1])->kind, COL_WEB_KIND_UNKNOWN);
    assert_int_equal(a.follow.n_inherited, 1);
    assert_true(a.follow.inherited_past[0]); /* it does not say; what may be new is not kept from an import */
    assert_int_equal(a.n_bad, 2);
    ts_buf_release(&body);
    ts_buf_release(&text);
    all_release(&a);
    (void)ts_fs_real()->unlink(ts_fs_real(), t_state, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weblog_count__a_bucket_is_an_absolute_count),
        cmocka_unit_test(test_weblog_count__lost_counts_are_sent_again),
        cmocka_unit_test(test_weblog_count__names_are_bounded),
        cmocka_unit_test(test_weblog_count__names_give_way),
        cmocka_unit_test(test_weblog_count__a_better_answer_raises_a_name),
        cmocka_unit_test(test_weblog_count__names_are_cleaned_before_they_are_counted),
        cmocka_unit_test(test_weblog_count__late_lines_overwrite_nothing),
        cmocka_unit_test(test_weblog_count__too_many_cells_go_early),
        cmocka_unit_test(test_weblog_count__the_checkpoint_comes_back),
        cmocka_unit_test(test_weblog_count__a_damaged_checkpoint_is_refused),
        cmocka_unit_test(test_weblog_count__a_checkpoint_without_kinds_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
