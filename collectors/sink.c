/*
 * sink.c - the thread that sends.
 *
 *   wait for lines > gather > connect > block + "sync" > "ok N" > cut the spool > ...
 *
 * One block is under way at a time: on a local network that is some 100,000 points a second.
 * Threads    see sink.h; the figures are atomic, everything else belongs to the thread
 */
#include "collectors/sink.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/sink_int.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SINK_TIMEOUT_MS   60000
#define SINK_RETRY_MIN_MS 1000
#define SINK_RETRY_MAX_MS 60000
#define SINK_BLOCK_BYTES  ((size_t)256 << 10)
#define SINK_IDLE_MS      60000 /* longest sleep without lines */

struct col_sink {
    struct col_sink_opts opts;     /* constant */
    struct col_sink__addrs addrs;  /* constant */
    pthread_t thread;              /* constant */
    int stop_fd;                   /* eventfd, readable once told to stop */
    atomic_bool stopping;          /* told to stop; release pairs with acquire in sink_stopping */
    atomic_int_least64_t until_ns; /* monotonic end of deliveries after that; written before stopping */
    bool drained;                  /* the spool was empty at the end; read after join */
    struct col_sink__conn conn;    /* open or not */
    unsigned at;                   /* address to try next, or connected to */
    int64_t opened_ns;             /* when the connection was made */
    int64_t retry_ms;              /* next pause */
    uint64_t random;               /* state of jitter */
    bool told;                     /* the log knows that nobody answers */
    struct ts_buf block;           /* lines under way */
    atomic_uint_least64_t n_sent, n_refused, n_connects, n_failures; /* figures */
    atomic_bool connected;                                           /* figure */
};

static void sink_count(atomic_uint_least64_t *figure, uint64_t n)
{
    atomic_fetch_add_explicit(figure, n, memory_order_relaxed); /* a figure, orders nothing */
}

static bool sink_stopping(struct col_sink *s)
{
    return atomic_load_explicit(&s->stopping, memory_order_acquire); /* pairs with col_sink_stop */
}

/* Time left of the deadline, or no more than max_ms; 0 = it is over. */
static int64_t sink_left_ms(struct col_sink *s, int64_t max_ms)
{
    if (!sink_stopping(s))
        return max_ms;
    int64_t until_ns = atomic_load_explicit(&s->until_ns, memory_order_relaxed); /* ordered by stopping */
    int64_t left = (until_ns - ts_clock_mono_ns()) / 1000000;
    return left < 0 ? 0 : left < max_ms ? left : max_ms;
}

/* A number in [from, to). */
static int64_t sink_random(struct col_sink *s, int64_t from, int64_t to)
{
    s->random = ts_hash_u64(s->random + 0x9e3779b97f4a7c15ull);
    return to <= from ? from : from + (int64_t)(s->random % (uint64_t)(to - from));
}

/* Sleep unless told to stop. */
static void sink_pause(struct col_sink *s, int64_t ms)
{
    struct pollfd p = {.fd = s->stop_fd, .events = POLLIN};
    (void)poll(&p, 1, (int)ms);
}

static void sink_close(struct col_sink *s)
{
    col_sink__close(&s->conn);
    atomic_store_explicit(&s->connected, false, memory_order_relaxed); /* a figure */
}

/* Connect to one of the addresses, each tried once. */
static int sink_connect(struct col_sink *s)
{
    struct ts_error err = {0};
    for (unsigned i = 0; i < s->addrs.n; i++) {
        const struct col_sink__addr *a = &s->addrs.p[s->at];
        int64_t left_ms = sink_left_ms(s, s->opts.timeout_ms);
        if (left_ms > 0 && col_sink__open(&s->conn, a, left_ms, &err) == 0) {
            sink_count(&s->n_connects, 1);
            atomic_store_explicit(&s->connected, true, memory_order_relaxed); /* a figure */
            s->opened_ns = ts_clock_mono_ns();
            return 0;
        }
        sink_count(&s->n_failures, 1);
        s->at = (s->at + 1) % s->addrs.n;
    }
    if (!s->told && *err.text)
        ts_log(TS_LOG_WARN, "collect: %s; points wait in the spool", err.text);
    s->told = true;
    return TS_EIO;
}

static void sink_backoff(struct col_sink *s)
{
    sink_pause(s, sink_random(s, s->retry_ms / 2, s->retry_ms * 3 / 2));
    s->retry_ms = s->retry_ms * 2 > s->opts.retry_max_ms ? s->opts.retry_max_ms : s->retry_ms * 2;
}

/* The block was answered. */
static void sink_done(struct col_sink *s, const struct col_spool_pos *pos, const struct col_sink__answer *a)
{
    static struct ts_log_limit limit;
    uint32_t n_refused = a->n_taken < pos->n_lines ? pos->n_lines - (uint32_t)a->n_taken : 0;
    col_spool_ack(s->opts.spool, pos);
    sink_count(&s->n_sent, pos->n_lines - n_refused);
    sink_count(&s->n_refused, n_refused);
    if (n_refused)
        ts_log_limited(&limit, TS_LOG_WARN, "collect: the daemon refused n_points=%u, for instance: %s",
                       n_refused, a->text);
    if (s->told)
        ts_log(TS_LOG_INFO, "collect: %s answers again", s->addrs.p[s->at].text);
    s->told = false;
    s->retry_ms = SINK_RETRY_MIN_MS;
}

/* Send one block and wait for its answer. 1 = done, 0 = nothing to send. */
static int sink_block(struct col_sink *s)
{
    static struct ts_log_limit limit;
    struct ts_error err = {0};
    struct col_spool_pos pos;
    struct col_sink__answer answer;
    int rc = col_spool_read(s->opts.spool, s->opts.block_bytes, &s->block, &pos, &err);
    if (rc <= 0)
        return 0; /* what can't be read was given up, logged and counted */
    ts_buf_str(&s->block, "sync\n");
    rc = col_sink__exchange(&s->conn, ts_buf_get(&s->block), pos.n_lines, sink_left_ms(s, s->opts.timeout_ms),
                            &answer, &err);
    if (rc == 0) {
        sink_done(s, &pos, &answer);
        return 1;
    }
    sink_count(&s->n_failures, 1);
    ts_log_limited(&limit, TS_LOG_WARN, "collect: %s: %s; the points are sent again", s->addrs.p[s->at].text,
                   err.text);
    return rc;
}

/* Send until nothing waits. An address that took nothing since it was connected to gives way to the next. */
static int sink_deliver(struct col_sink *s)
{
    bool any = false;
    int rc;
    if (s->conn.fd >= 0 && s->opts.reconnect_ms && s->at &&
        ts_clock_mono_ns() - s->opened_ns > s->opts.reconnect_ms * 1000000) {
        sink_close(s);
        s->at = 0;
    }
    if (s->conn.fd < 0)
        TS_TRY(sink_connect(s));
    while ((rc = sink_block(s)) > 0)
        any = true;
    if (rc < 0) {
        bool old = s->conn.n_blocks > 0;
        sink_close(s);
        if (!any && !old)
            s->at = (s->at + 1) % s->addrs.n;
        /* a connection that had worked may just be stale: try once more without a pause */
        return old ? 0 : rc;
    }
    return 0;
}

static void *sink_main(void *arg)
{
    struct col_sink *s = arg;
    for (;;) {
        /* who stops us wakes the spool after saying so: once that is seen nothing more comes to wait for */
        bool waits = col_spool_wait(s->opts.spool, sink_stopping(s) ? 0 : SINK_IDLE_MS);
        bool stopping = sink_stopping(s);
        if (stopping && (!waits || sink_left_ms(s, 1) == 0))
            break;
        if (!waits)
            continue;
        if (!stopping && s->opts.delay_ms)
            sink_pause(s, sink_random(s, 0, s->opts.delay_ms));
        if (sink_deliver(s) == 0)
            continue;
        if (stopping)
            break; /* every address was tried */
        sink_backoff(s);
    }
    struct col_spool_stats st;
    col_spool_stats(s->opts.spool, &st);
    s->drained = st.n_points == 0;
    sink_close(s);
    return NULL;
}

struct col_sink *col_sink_start(const struct col_sink_opts *opts)
{
    struct col_sink *s = ts_xcalloc(1, sizeof(*s));
    sigset_t all, old;
    s->opts = *opts;
    s->opts.timeout_ms = opts->timeout_ms ? opts->timeout_ms : SINK_TIMEOUT_MS;
    s->opts.retry_max_ms = opts->retry_max_ms ? opts->retry_max_ms : SINK_RETRY_MAX_MS;
    s->opts.block_bytes = opts->block_bytes ? opts->block_bytes : SINK_BLOCK_BYTES;
    s->retry_ms = SINK_RETRY_MIN_MS < s->opts.retry_max_ms ? SINK_RETRY_MIN_MS : s->opts.retry_max_ms;
    s->random = ts_hash_u64((uint64_t)ts_clock_mono_ns() ^ ((uint64_t)getpid() << 32));
    s->conn.fd = -1;
    ts_buf_init(&s->block, 0);
    s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->stop_fd < 0 || col_sink__addrs_parse(opts->servers, &s->addrs, NULL) < 0)
        TS_BUG("sink without a descriptor or with addresses that were not checked");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&s->thread, NULL, sink_main, s) != 0)
        TS_BUG("no thread for the sink");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_setname_np(s->thread, "tsd-sink");
    return s;
}

bool col_sink_end(struct col_sink *s, int64_t wait_ms)
{
    uint64_t one = 1;
    atomic_store_explicit(&s->until_ns, ts_clock_mono_ns() + wait_ms * 1000000, memory_order_relaxed);
    atomic_store_explicit(&s->stopping, true, memory_order_release); /* pairs with sink_stopping */
    if (write(s->stop_fd, &one, sizeof(one)) < 0)
        TS_BUG("eventfd takes nothing");
    col_spool_wake(s->opts.spool);
    pthread_join(s->thread, NULL);
    return s->drained;
}

bool col_sink_stop(struct col_sink *s, int64_t wait_ms)
{
    if (!s)
        return true;
    bool drained = col_sink_end(s, wait_ms);
    close(s->stop_fd);
    col_sink__addrs_release(&s->addrs);
    ts_buf_release(&s->block);
    ts_free(s);
    return drained;
}

void col_sink_stats(struct col_sink *s, struct col_sink_stats *out)
{
    /* figures, order nothing */
    out->n_sent = atomic_load_explicit(&s->n_sent, memory_order_relaxed);
    out->n_refused = atomic_load_explicit(&s->n_refused, memory_order_relaxed);
    out->n_connects = atomic_load_explicit(&s->n_connects, memory_order_relaxed);
    out->n_failures = atomic_load_explicit(&s->n_failures, memory_order_relaxed);
    out->connected = atomic_load_explicit(&s->connected, memory_order_relaxed);
}
