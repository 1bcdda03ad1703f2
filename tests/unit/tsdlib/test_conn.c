/*
 * test_conn.c - connections of clients that are slow, silent or send requests in part, by a clock that the test moves.
 */
#include "t_daemon.h"

#include <semaphore.h>

#include "tsd/net/conn.h"

#define SMALL_BYTES (300u << 10) /* of a long reply; what a pair of sockets holds is more */

static struct t_daemon t;
static char answer[1u << 20];
static int64_t clock_ns;
static sem_t in_worker_done;

static void move_clock(int64_t s)
{
    clock_ns += s * 1000000000;
    ts_clock_set_fake_mono(clock_ns);
}

static void open_with(const char *const *keys)
{
    clock_ns = ts_clock_mono_ns();
    move_clock(0);
    sem_init(&in_worker_done, 0, 0);
    t_daemon_open(&t, keys);
}

static int set_up_slow(void **state)
{
    static const char *const keys[] = {
        "write_stall_timeout_s", "10", "write_min_bytes_per_s", "1k", "line_reply_max_bytes", "16M", NULL};
    (void)state;
    open_with(keys);
    return 0;
}

static int set_up_line(void **state)
{
    static const char *const keys[] = {"line_read_timeout_s", "5", NULL};
    (void)state;
    open_with(keys);
    return 0;
}

static int set_up_incomplete(void **state)
{
    static const char *const keys[] = {"max_incomplete_requests", "8", NULL};
    (void)state;
    open_with(keys);
    t.d.set.n_workers = 4; /* three that have nothing to do */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ts_clock_set_fake_mono(0);
    t_daemon_close(&t);
    sem_destroy(&in_worker_done);
    return 0;
}

/* --- in the worker --- */

struct in_worker {
    struct tsd_call call;
    void (*fn)(struct tsd_worker *w);
};

static void run_it(struct tsd_worker *w, struct tsd_call *call)
{
    w->now_ms = ts_clock_mono_ns() / 1000000;
    ((struct in_worker *)call)->fn(w);
    sem_post(&in_worker_done);
}

/* Run fn in the worker's thread and wait for it. */
static void in_worker(void (*fn)(struct tsd_worker *w))
{
    struct in_worker i = {.call = {.run = run_it}, .fn = fn};
    tsd_worker_call(t.workers[0], &i.call);
    sem_wait(&in_worker_done);
}

/* What look() saw of the connection made last. */
static struct {
    size_t unsent, tail;
    uint64_t sent, n_half;
    struct tsd_counts counts;
} seen;

static void look(struct tsd_worker *w)
{
    seen.unsent = w->conns ? tsd_conn_unsent(w->conns) : 0;
    seen.tail = w->conns ? w->conns->tail.n : 0;
    seen.sent = w->conns ? w->conns->sent_bytes : 0;
    seen.n_half = w->n_half;
    seen.counts = w->counts;
}

static void tick(struct tsd_worker *w)
{
    for (struct tsd_conn *c = w->conns, *next; c; c = next) {
        next = c->next;
        tsd_conn_tick(c);
    }
    look(w);
}

/* Ten seconds pass while the worker reads nothing, because the store is behind. */
static void pause_10_s(struct tsd_worker *w)
{
    w->paused = true;
    move_clock(10);
    w->now_ms = ts_clock_mono_ns() / 1000000;
    tick(w);
    w->paused = false;
}

static void send_all(int fd, const char *p, size_t n)
{
    for (ssize_t k; n; p += k, n -= (size_t)k)
        if ((k = send(fd, p, n, MSG_NOSIGNAL)) <= 0)
            fail_msg("send");
}

static void send_text(int fd, const char *text)
{
    send_all(fd, text, strlen(text));
}

static size_t read_least(int fd, size_t least)
{
    size_t n = 0;
    for (ssize_t k; n < least && (k = recv(fd, answer, least - n, 0)) > 0;)
        n += (size_t)k;
    return n;
}

/* --- */

/* write_min_bytes_per_s is a rate: 1 KiB a second for 10 s are 10 KiB. Who takes more stays, who takes nothing goes. */
static void test_conn__only_who_takes_less_than_the_rate_is_slow(void **state)
{
    (void)state;
    static char lines[5 * 16000 + 1];
    int fd = t_connect(&t);
    for (size_t i = 0; i < sizeof(lines) - 1; i += 5)
        memcpy(lines + i, "help\n", 5);
    send_all(fd, lines, sizeof(lines) - 1);
    do
        in_worker(look);
    while (seen.counts.n_lines < 16000);
    assert_true(seen.unsent > 2 * SMALL_BYTES);
    in_worker(tick); /* counting begins */
    assert_true(read_least(fd, SMALL_BYTES) >= SMALL_BYTES);
    do
        in_worker(look);
    while (seen.sent < 20u << 10);
    assert_true(seen.unsent > 0);
    move_clock(10);
    in_worker(tick);
    assert_int_equal(seen.counts.n_stalled, 0);
    move_clock(11);
    in_worker(tick);
    assert_int_equal(seen.counts.n_stalled, 1);
    close(fd);
}

/* The end of a line may be there while nothing is read: such time does not count. */
static void test_conn__a_line_does_not_end_while_nothing_is_read(void **state)
{
    (void)state;
    int fd = t_connect(&t);
    send_text(fd, "put half.m 1500000000 1 h=a");
    do
        in_worker(look);
    while (seen.tail < 27);
    in_worker(pause_10_s);
    assert_int_equal(seen.counts.n_line_timeouts, 0);
    send_text(fd, "\nsync\nput half.m");
    char said[16] = {0};
    assert_int_equal(recv(fd, said, 5, MSG_WAITALL), 5);
    assert_string_equal(said, "ok 1\n");
    do
        in_worker(look);
    while (seen.tail < 10);
    move_clock(10);
    in_worker(tick);
    assert_int_equal(seen.counts.n_line_timeouts, 1);
    close(fd);
}

/* Each of four workers has a fourth of max_incomplete_requests = 8. */
static void test_conn__workers_share_the_incomplete_requests(void **state)
{
    (void)state;
    int fd[3];
    for (unsigned i = 0; i < 3; i++) {
        fd[i] = t_connect(&t);
        send_text(fd[i], "GET /version HTTP/1.1\r\nHost: x\r\n");
        do
            in_worker(look);
        while (seen.n_half + seen.counts.n_incomplete < i + 1);
    }
    assert_int_equal(seen.n_half, 2);
    assert_true(t_read_all(fd[0], answer, sizeof(answer)) > 0);
    assert_int_equal(strncmp(answer, "HTTP/1.1 503", 12), 0);
    assert_non_null(strstr(answer, "max_incomplete_requests"));
    for (unsigned i = 0; i < 3; i++)
        close(fd[i]);
}

int main(void)
{
#define T(f, set_up) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_conn__only_who_takes_less_than_the_rate_is_slow, set_up_slow),
        T(test_conn__a_line_does_not_end_while_nothing_is_read, set_up_line),
        T(test_conn__workers_share_the_incomplete_requests, set_up_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
