/*
 * test_line.c - framing and commands of the line protocol.
 */
#include "t_ingest.h"

static unsigned n_syncs, n_drops;

static void test_line__commands_answer(void **state)
{
    (void)state;
    assert_string_equal(
        t_send(&t, "help\n"),
        "available commands: put dropcaches exit help histogram incr incr! rollup stats sync version \n");
    assert_string_equal(t_send(&t, "\n"), "unknown command: .  Try `help'.\n");
    assert_string_equal(t_send(&t, "\r\n"), "unknown command: .  Try `help'.\n");
    assert_string_equal(t_send(&t, "foo bar\n"), "unknown command: foo.  Try `help'.\n");
    assert_string_equal(t_send(&t, "puts m 1 2 a=b\n"), "unknown command: puts.  Try `help'.\n");
    assert_string_equal(t_send(&t, "dropcaches now\n"), "Caches dropped.\n");
    const char *version = t_send(&t, "version\n");
    assert_memory_equal(version, "tsd ", 4);
    assert_non_null(strstr(version, " built at revision "));
    assert_non_null(strstr(version, "\nBuilt on "));
}

static void test_line__words_of_any_case_but_for_compat(void **state)
{
    (void)state;
    assert_string_equal(
        t_send(&t, "PUT m 1500000000 1 a=b\nHelp\n"),
        "available commands: put dropcaches exit help histogram incr incr! rollup stats sync version \n");
    assert_int_equal(t.line.n_points, 1);
    assert_memory_equal(t_send(&t, "Put m 1500000000\n"), "put: illegal argument: not enough", 33);
}

static void test_line__compat_has_opentsdbs_version(void **state)
{
    (void)state;
    assert_memory_equal(t_send(&t, "version\n"), "net.opentsdb.tools ", 19);
    assert_string_equal(t_send(&t, "Help\n"), "unknown command: Help.  Try `help'.\n");
}

static bool on_sync(struct tsd_line *l)
{
    n_syncs++;
    assert_int_equal(l->n_points, 2);
    return true;
}
static void on_drop(struct tsd_line *l)
{
    (void)l;
    n_drops++;
}
static void on_stats(struct tsd_line *l, struct ts_buf *out)
{
    (void)l;
    ts_buf_str(out, "tsd.x 1 2 host=h\n");
}

static void test_line__operations_reach_the_daemon(void **state)
{
    (void)state;
    static const struct tsd_line_ops ops = {.sync = on_sync, .stats = on_stats, .drop_caches = on_drop};
    t.line.ops = &ops;
    n_syncs = n_drops = 0;
    assert_string_equal(
        t_send(&t, "put m 1500000000 1 a=b\nput m 1500000001 1 a=b\nput m\nsync\ndropcaches\nstats\n"),
        "put: illegal argument: not enough arguments (need least 4, got 1)\nCaches dropped.\n"
        "tsd.x 1 2 host=h\n");
    assert_int_equal(n_syncs, 1);
    assert_int_equal(n_drops, 1);
}

static void test_line__exit_ends_the_input(void **state)
{
    (void)state;
    char text[128] = "put m 1500000000 1 a=b\nexit\nput m 1500000001 1 a=b\n"; /* and room to read ahead */
    const char *rest;
    enum tsd_line_end how = tsd_line_input(&t.line, text, text + strlen(text), false, &rest);
    assert_int_equal(how, TSD_LINE_EXIT);
    assert_int_equal(t.line.n_points, 1);
    assert_int_equal(rest - text, 28);
}

static const char stream[] =
    "put m 1500000000 1 a=b\nput m 1500000001 2.5 a=b\r\nput\nput m 1500000002 3 c=d a=b\n"
    "\nput n 1500000002 3 c=d\nput m 1500000003 4 a=b\nput m 1500000004 5 a=b\nversio\n"
    "put m 1500000005 6 a=b";

/* Bytes as they may come: pieces of every size, the rest kept by the caller. */
static void test_line__pieces_of_any_size_give_the_same(void **state)
{
    (void)state;
    char whole[512], points[512];
    snprintf(whole, sizeof(whole), "%s", t_send(&t, stream));
    snprintf(points, sizeof(points), "%s", t_points(&t));
    assert_int_equal(t.line.n_points, 7);
    for (size_t piece = 1; piece < sizeof(stream); piece++) {
        char kept[1024];
        size_t n = 0;
        t.line.n_points = 0;
        ts_buf_clear(&t.out);
        for (size_t at = 0; at < sizeof(stream) - 1; at += piece) {
            size_t k = sizeof(stream) - 1 - at < piece ? sizeof(stream) - 1 - at : piece;
            memcpy(kept + n, stream + at, k);
            n += k;
            size_t used = t_bytes(&t, kept, n, at + k == sizeof(stream) - 1);
            memmove(kept, kept + used, n - used);
            n -= used;
        }
        ts_buf_char(&t.out, 0);
        assert_int_equal(n, 0);
        assert_int_equal(t.line.n_points, 7);
        assert_string_equal(t.out.p, whole);
    }
    assert_string_equal(t_points(&t), points);
}

static void test_line__the_last_line_needs_no_feed(void **state)
{
    (void)state;
    const char *text = "put m 1500000000 1 a=b";
    assert_int_equal(t_bytes(&t, text, strlen(text), false), 0);
    assert_int_equal(t.line.n_points, 0);
    assert_int_equal(t_bytes(&t, text, strlen(text), true), strlen(text));
    assert_int_equal(t.line.n_points, 1);
}

/* A put of exactly n bytes without its end. */
static void long_put(char *out, size_t n)
{
    int k = snprintf(out, n + 1, "put m 1500000000 1 a=");
    memset(out + k, 'x', n - (size_t)k);
    out[n] = 0;
}

static void test_line__too_long_lines_cost_one_answer(void **state)
{
    (void)state;
    char line[4 * T_LINE_MAX], text[12 * T_LINE_MAX];
    const char *refusal = "put: illegal argument: line too long: more than 256 bytes (line_max_bytes)\n";
    long_put(line, T_LINE_MAX);
    snprintf(text, sizeof(text), "%s\n%s\r\n", line, line);
    assert_string_equal(t_send(&t, text), "");
    assert_int_equal(t.line.n_points, 2);
    long_put(line, T_LINE_MAX + 1);
    snprintf(text, sizeof(text), "%s\nput m 1500000000 1 a=b\n", line);
    assert_string_equal(t_send(&t, text), refusal);
    assert_int_equal(t.line.n_points, 3);
    long_put(line, 3 * T_LINE_MAX);
    snprintf(text, sizeof(text), "%s\nput m 1500000000 1 a=b\n", line);
    assert_string_equal(t_send(&t, text), refusal);
    assert_int_equal(t.line.n_points, 4);
    memset(line, 'y', 3 * T_LINE_MAX);
    snprintf(text, sizeof(text), "%s\n", line);
    assert_string_equal(t_send(&t, text), "line too long: more than 256 bytes (line_max_bytes)\n");
}

/* It comes in pieces: one answer, the rest is skipped, the next line is fine. */
static void test_line__too_long_lines_in_pieces(void **state)
{
    (void)state;
    char piece[200];
    memset(piece, 'x', sizeof(piece));
    memcpy(piece, "put m ", 6);
    ts_buf_clear(&t.out);
    char kept[2048];
    size_t n = 0;
    for (int i = 0; i < 20; i++) {
        memcpy(kept + n, piece, sizeof(piece));
        n += sizeof(piece);
        size_t used = t_bytes(&t, kept, n, false);
        memmove(kept, kept + used, n - used);
        n -= used;
        assert_true(n <= T_LINE_MAX + 1);
    }
    ts_buf_char(&t.out, 0);
    assert_string_equal(t.out.p,
                        "put: illegal argument: line too long: more than 256 bytes (line_max_bytes)\n");
    ts_buf_clear(&t.out);
    const char *rest = "xxx\nput m 1500000000 1 a=b\n";
    (void)t_bytes(&t, rest, strlen(rest), false);
    assert_int_equal(t.out.n, 0);
    assert_int_equal(t.line.n_points, 1);
}

static void test_line__a_zero_byte_is_a_byte(void **state)
{
    (void)state;
    static const char text[] = "put m 1500000000 1 a=b\0c\nput m 1500000000 1 a=b\n";
    ts_buf_clear(&t.out);
    assert_int_equal(t_bytes(&t, text, sizeof(text) - 1, false), sizeof(text) - 1);
    assert_int_equal(t.line.n_points, 1);
    assert_memory_equal(t.out.p, "put: illegal argument: Invalid tag value with key [a]", 53);
}

static void test_line__replies_nobody_reads_are_dropped(void **state)
{
    (void)state;
    t.line.reply_max_bytes = 1000;
    ts_buf_clear(&t.out);
    for (int i = 0; i < 100; i++)
        (void)t_bytes(&t, "put\nput m 1500000000 1 a=b\n", 27, false);
    assert_true(t.out.n > 1000 && t.out.n < 1100);
    assert_true(t.line.n_dropped > 50);
    assert_int_equal(t.line.n_points, 100);
}

static void test_line__replies_of_commands_count_too(void **state)
{
    (void)state;
    static const struct tsd_line_ops ops = {.stats = on_stats};
    static const char *const lines[] = {"stats\n", "help\n", "version\n", "dropcaches\n", "nothing\n"};
    t.line.ops = &ops;
    t.line.reply_max_bytes = 1000;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ts_buf_clear(&t.out);
        t.line.n_dropped = 0;
        for (int k = 0; k < 200; k++)
            (void)t_bytes(&t, lines[i], strlen(lines[i]), false);
        if (t.out.n <= 1000 || t.out.n > 1500 || t.line.n_dropped < 100)
            fail_msg("%s: %zu bytes wait, %llu dropped", lines[i], t.out.n,
                     (unsigned long long)t.line.n_dropped);
    }
}

static bool no_sync(struct tsd_line *l)
{
    (void)l;
    return n_syncs-- > 0;
}

static void test_line__a_sync_that_must_wait_keeps_its_line(void **state)
{
    (void)state;
    static const struct tsd_line_ops ops = {.sync = no_sync};
    char text[128] =
        "sync\nput m 1500000000 1 a=b\nsync\nput m 1500000001 1 a=b\n"; /* and room to read ahead */
    const char *rest;
    t.line.ops = &ops;
    n_syncs = 1;
    assert_int_equal(tsd_line_input(&t.line, text, text + strlen(text), false, &rest), TSD_LINE_WAIT);
    assert_int_equal(rest - text, 28);
    assert_int_equal(t.line.n_points, 1);
    assert_int_equal(t.line.n_commands, 1);
    n_syncs = 1;
    assert_int_equal(tsd_line_input(&t.line, rest, text + strlen(text), false, &rest), TSD_LINE_MORE);
    assert_int_equal(t.line.n_points, 2);
    assert_int_equal(t.line.n_commands, 2);
}

/* Each kind of work is counted; points of known series are none. */
static void test_line__work_is_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        unsigned n; /* lines until max_work; 0 = all */
    } rows[] = {{"stats", 5},
                {"help", 200},
                {"version", 200},
                {"sync", 500},
                {"bogus", 500},
                {"put bad", 500},
                {"put m 1500000000 1 a=b", 0}};
    static const struct tsd_line_ops ops = {.stats = on_stats, .sync = no_sync};
    struct ts_buf b;
    t.line.ops = &ops;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t n = strlen(rows[i].line) + 1;
        const char *rest;
        ts_buf_init(&b, 0);
        for (int k = 0; k < 1000; k++)
            ts_buf_printf(&b, "%s\n", rows[i].line);
        ts_buf_reserve(&b, TSD_INPUT_PAD);
        memset(b.p + b.n, 0, TSD_INPUT_PAD);
        n_syncs = 1000;
        t.line.max_work = 1000;
        t.line.work = 0;
        enum tsd_line_end how = tsd_line_input(&t.line, b.p, b.p + b.n, false, &rest);
        if (how != (rows[i].n ? TSD_LINE_YIELD : TSD_LINE_MORE) ||
            (size_t)(rest - b.p) != n * (rows[i].n ? rows[i].n : 1000))
            fail_msg("%s: stopped after %zu bytes", rows[i].line, (size_t)(rest - b.p));
        ts_buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_line__commands_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__words_of_any_case_but_for_compat, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__compat_has_opentsdbs_version, set_up_compat, tear_down),
        cmocka_unit_test_setup_teardown(test_line__operations_reach_the_daemon, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__exit_ends_the_input, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__pieces_of_any_size_give_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__the_last_line_needs_no_feed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__too_long_lines_cost_one_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__too_long_lines_in_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__a_zero_byte_is_a_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__replies_nobody_reads_are_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__replies_of_commands_count_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__a_sync_that_must_wait_keeps_its_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line__work_is_bounded, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
