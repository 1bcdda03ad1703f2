/*
 * test_log.c - form of lines, levels, what is kept, what is left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/time.h"

static int saved_stderr;
static FILE *caught; /* stderr while a case runs */

static int set_up(void **state)
{
    (void)state;
    fflush(stderr);
    saved_stderr = dup(STDERR_FILENO);
    caught = tmpfile();
    ts_log_set_level(TS_LOG_INFO);
    ts_clock_set_fake(1700000000123); /* 2023-11-14T22:13:20.123Z */
    return caught && dup2(fileno(caught), STDERR_FILENO) >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    fclose(caught);
    ts_clock_set_fake(0);
    return 0;
}

/* All that was written since set_up. */
static const char *written(void)
{
    static char text[1u << 16];
    ssize_t n = pread(fileno(caught), text, sizeof(text) - 1, 0);
    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static void test_log__a_line_has_time_level_and_text(void **state)
{
    (void)state;
    ts_log(TS_LOG_WARN, "disk slow wait_ms=%d", 12);
    assert_string_equal(written(), "2023-11-14T22:13:20.123Z warn disk slow wait_ms=12\n");
}

static void test_log__lines_below_the_level_are_dropped(void **state)
{
    (void)state;
    ts_log(TS_LOG_DEBUG, "no");
    ts_log(TS_LOG_INFO, "i");
    ts_log_set_level(TS_LOG_ERROR);
    ts_log(TS_LOG_WARN, "no");
    ts_log(TS_LOG_ERROR, "e");
    ts_log_set_level(TS_LOG_DEBUG);
    ts_log(TS_LOG_DEBUG, "d");
    assert_string_equal(written(), "2023-11-14T22:13:20.123Z info i\n"
                                   "2023-11-14T22:13:20.123Z error e\n"
                                   "2023-11-14T22:13:20.123Z debug d\n");
}

static void test_log__level_names_are_exact(void **state)
{
    (void)state;
    const char *const names[] = {"debug", "info", "warn", "error"};
    enum ts_log_level level;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ts_log_level_parse(names[i], &level), 0);
        assert_int_equal(level, i);
    }
    level = TS_LOG_WARN;
    const char *const wrong[] = {"", "INFO", "warning", "err", "info "};
    for (int i = 0; i < 5; i++)
        assert_int_equal(ts_log_level_parse(wrong[i], &level), TS_EPARSE);
    assert_int_equal(level, TS_LOG_WARN);
}

static void test_log__one_call_is_one_line_whatever_is_in_it(void **state)
{
    (void)state;
    ts_log(TS_LOG_INFO, "a\nb\r\nc\t\x1b[31m\x7f \xc3\xa9 %s", "x\ny");
    assert_string_equal(written(), "2023-11-14T22:13:20.123Z info a b  c  [31m  \xc3\xa9 x y\n");
}

static void test_log__long_text_is_cut_between_characters(void **state)
{
    (void)state;
    char text[5001];
    for (size_t i = 0; i < 2500; i++)
        memcpy(text + 2 * i, "\xc3\xa9", 2);
    text[5000] = '\0';
    size_t n_head = strlen("2023-11-14T22:13:20.123Z info ");
    ts_log(TS_LOG_INFO, "%s", text);
    assert_int_equal(strlen(written()), n_head + 2000 + 1);
    ts_log(TS_LOG_INFO, "x%s", text); /* byte 2,000 is half a character */
    assert_int_equal(strlen(written()), 2 * (n_head + 1) + 2000 + 1999);
    ts_log(TS_LOG_INFO, "%.2000s", text);
    assert_int_equal(strlen(written()), 3 * (n_head + 1) + 2000 + 1999 + 2000);
}

static void test_log__errno_survives(void **state)
{
    (void)state;
    errno = ENOSPC;
    close(STDERR_FILENO); /* the write fails, too */
    ts_log(TS_LOG_ERROR, "x");
    assert_int_equal(errno, ENOSPC);
    assert_true(dup2(fileno(caught), STDERR_FILENO) >= 0);
}

static void test_log__limited_lines_are_counted_and_told(void **state)
{
    (void)state;
    struct ts_log_limit limit = {0};
    ts_log_limited(&limit, TS_LOG_DEBUG, "below the level"); /* neither printed nor counted */
    assert_int_equal(limit.next_ns, 0);
    ts_log_limited(&limit, TS_LOG_WARN, "n=%d", 1);
    assert_string_equal(written(), "2023-11-14T22:13:20.123Z warn n=1\n");
    assert_true(limit.next_ns > ts_clock_mono_ns() - 1000000000ll);
    limit.next_ns = INT64_MAX; /* the second is not over, however slow the machine */
    for (int i = 0; i < 7; i++)
        ts_log_limited(&limit, TS_LOG_WARN, "n=%d", 2);
    assert_int_equal(limit.n_dropped, 7);
    limit.next_ns = 0; /* it is over */
    ts_log_limited(&limit, TS_LOG_WARN, "n=%d", 3);
    assert_string_equal(written(), "2023-11-14T22:13:20.123Z warn n=1\n"
                                   "2023-11-14T22:13:20.123Z warn n=3 n_left_out=7\n");
    assert_int_equal(limit.n_dropped, 0);
}

/* Lines that ts_log_recent gave. */
struct recent {
    unsigned n;            /* all */
    unsigned n_out_of_row; /* not one less than the one before */
    long first, last;      /* numbers after '#' */
};
static void take_recent(void *arg, const char *line)
{
    struct recent *r = arg;
    const char *mark = strchr(line, '#');
    long number = mark ? strtol(mark + 1, NULL, 10) : -1;
    if (r->n == 0)
        r->first = number;
    else
        r->n_out_of_row += number != r->last - 1;
    r->last = number;
    r->n++;
}

static void test_log__the_last_1024_lines_are_kept_newest_first(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++)
        ts_log(TS_LOG_INFO, "#%d", i);
    struct recent r = {0};
    ts_log_recent(take_recent, &r);
    assert_int_equal(r.n, 1024);
    assert_int_equal(r.n_out_of_row, 0);
    assert_int_equal(r.first, 2999);
    assert_int_equal(r.last, 2999 - 1023);
}

static void log_while_reading(void *arg, const char *line)
{
    unsigned *n = arg;
    if ((*n)++ % 100 == 0)
        ts_log(TS_LOG_INFO, "inside #%u", *n);
    assert_null(strchr(line, '\n'));
    assert_memory_equal(line, "2023-11-14T22:13:20.123Z ", 25);
}

static void test_log__emit_may_log_itself(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++)
        ts_log(TS_LOG_INFO, "#%d", i);
    unsigned n = 0;
    ts_log_recent(log_while_reading, &n);
    assert_int_equal(n, 1024);
}

static struct ts_log_limit shared_limit;
static void count_line(void *arg, const char *line)
{
    (void)line;
    ++*(unsigned *)arg;
}
static void *log_a_lot(void *arg)
{
    for (int i = 0; i < 500; i++) {
        ts_log(TS_LOG_INFO, "thread %s line #%d", (const char *)arg, i);
        ts_log_limited(&shared_limit, TS_LOG_WARN, "limited");
        if (i % 50 == 0) {
            unsigned n = 0;
            ts_log_recent(count_line, &n);
        }
    }
    return NULL;
}

static void test_log__lines_of_threads_do_not_mix(void **state)
{
    (void)state;
    char names[4][2] = {"a", "b", "c", "d"};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_a_lot, names[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    static char line[4096];
    unsigned n_lines = 0, n_bad = 0;
    rewind(caught);
    while (fgets(line, sizeof(line), caught)) {
        if (strstr(line, "limited"))
            continue;
        char name;
        int number, n_read = 0;
        n_bad += sscanf(line, "2023-11-14T22:13:20.123Z info thread %c line #%d%n", &name, &number,
                        &n_read) != 2 ||
                 line[n_read] != '\n';
        n_lines++;
    }
    assert_int_equal(n_lines, 2000);
    assert_int_equal(n_bad, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_log__a_line_has_time_level_and_text),
        CASE(test_log__lines_below_the_level_are_dropped),
        CASE(test_log__level_names_are_exact),
        CASE(test_log__one_call_is_one_line_whatever_is_in_it),
        CASE(test_log__long_text_is_cut_between_characters),
        CASE(test_log__errno_survives),
        CASE(test_log__limited_lines_are_counted_and_told),
        CASE(test_log__the_last_1024_lines_are_kept_newest_first),
        CASE(test_log__emit_may_log_itself),
        CASE(test_log__lines_of_threads_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
