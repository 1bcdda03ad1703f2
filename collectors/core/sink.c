/*
 * sink.c - the thread that sends.
 *
 *   wait for lines > gather > connect > block + "sync" > "ok N" > cut the spool > ...
 *                                                  \ some refused > sort line by line > those for later to a spool of their own
 *
 * One block is under way at a time: on a local network that is some 100,000 points a second.
 * Invariant  values of one series and time arrive in the order in which they came: a line that finds an older one among those put aside is put
 *            behind it, unsent; of several put aside only the last is sent. The spool of those for later keeps that order over a crash
 * Threads    see sink.h; the figures are atomic, everything else belongs to the thread
 */
#include "collectors/core/sink.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/time.h"
#include "collectors/core/answer.h"
#include "collectors/core/fields.h"
#include "collectors/core/sink_int.h"
#include "collectors/core/waiting.h"

#include <poll.h>
#include <pthread.h>
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
#define SINK_SORT_AFTER                                                                                      \
    3u /* a block that failed so often is sorted line by line: one of its lines may be why */

struct col_sink {
    struct col_sink_opts opts;     /* constant */
    struct col_sink__addrs addrs;  /* constant */
    pthread_t thread;              /* constant */
    int stop_fd;                   /* eventfd, readable when the sink must stop */
    atomic_bool stopping;          /* the sink must stop; release pairs with acquire in sink_stopping */
    atomic_int_least64_t until_ns; /* monotonic end of deliveries after that; written before stopping */
    bool drained;                  /* the spool was empty at the end; read after join */
    struct col_sink__conn conn;    /* open or not */
    unsigned at;                   /* address to try next, or connected to */
    int64_t opened_ns;             /* when the connection was made */
    atomic_int_least64_t retry_ms; /* next pause; written by the thread alone */
    unsigned n_held;               /* times the daemon took nothing of the block that comes next */
    int64_t later_ms;              /* pause before points put aside are sent again */
    int64_t later_ns;              /* monotonic time when that ends */
    uint64_t random;               /* state of jitter */
    bool reported;                 /* the log knows that nobody answers */
    struct ts_buf block;           /* lines under way */
    struct ts_buf verdicts;        /* of its lines, when they were sorted */
    struct col_lines aside;        /* lines of it that are for later */
    struct col_lines older;        /* lines of it that are not sent: see sink_split */
    struct col_lines rest;         /* scratch of sink_split */
    struct col_waiting waiting;    /* points that wait in opts.later */
    uint64_t later_gone;           /* points that opts.later had lost when these were counted */
    atomic_uint_least64_t n_sent, n_refused, n_later, n_superseded, n_connects, n_failures; /* figures */
    atomic_bool connected, opentsdb;                                                        /* figures */
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

/* Sleep until the time is over or the sink must stop. */
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
    if (!s->reported && *err.text)
        ts_log(TS_LOG_WARN, "collect: %s; points wait in the spool", err.text);
    s->reported = true;
    return TS_EIO;
}

static int64_t sink_retry_ms(struct col_sink *s)
{
    return atomic_load_explicit(&s->retry_ms, memory_order_relaxed); /* a figure to others */
}

static void sink_set_retry(struct col_sink *s, int64_t ms)
{
    ms = ms > s->opts.retry_max_ms ? s->opts.retry_max_ms : ms;
    atomic_store_explicit(&s->retry_ms, ms, memory_order_relaxed); /* a figure to others */
}

static void sink_backoff(struct col_sink *s)
{
    int64_t ms = sink_retry_ms(s);
    sink_pause(s, sink_random(s, ms / 2, ms * 3 / 2));
    sink_set_retry(s, ms * 2);
}

/* --- blocks --- */

/* What an answer shows about the daemon. */
static void sink_daemon(struct col_sink *s)
{
    const char *where = s->addrs.p[s->at].text;
    if (s->reported)
        ts_log(TS_LOG_INFO, "collect: %s answers again", where);
    if (s->conn.opentsdb && s->conn.n_blocks == 1)
        ts_log(TS_LOG_INFO,
               "collect: %s does not know sync, so it is OpenTSDB: points count as delivered when it has "
               "answered, before they are on its disk",
               where);
    atomic_store_explicit(&s->opentsdb, s->conn.opentsdb, memory_order_relaxed); /* a figure */
    s->reported = false;
    s->n_held = 0;
    sink_set_retry(s, s->opts.retry_min_ms);
}

static void lines_add(struct col_lines *to, struct ts_slice line)
{
    ts_buf_slice(&to->text, line);
    ts_buf_char(&to->text, '\n');
    to->n++;
}

/* Keep the lines of s->block that are not taken at present, without those that a newer value of the block, which was taken, overwrites. */
static void sink_aside(struct col_sink *s)
{
    struct ts_slice text = ts_buf_get(&s->block), line;
    struct col_waiting taken = {.places = NULL}; /* by lines that follow */
    for (size_t i = 0; i < s->verdicts.n && col_line_next(&text, &line); i++)
        if (s->verdicts.p[i] == COL_TAKEN)
            col_waiting_add(&taken, line);
    text = ts_buf_get(&s->block);
    for (size_t i = 0; i < s->verdicts.n && col_line_next(&text, &line); i++) {
        if (s->verdicts.p[i] == COL_TAKEN)
            col_waiting_remove(&taken, line);
        else if (s->verdicts.p[i] == COL_NEVER)
            continue;
        else if (!col_waiting_count(&taken, line))
            lines_add(&s->aside, line);
        else
            sink_count(&s->n_superseded, 1);
    }
    col_waiting_clear(&taken);
}

/* Called when the daemon accepted no line: is every line that it may accept later refused only because of its series (COL_LATER_SERIES,
 * not COL_LATER)? */
static bool sink_series_only(const struct col_sink *s)
{
    return !s->verdicts.n || !memchr(s->verdicts.p, COL_LATER, s->verdicts.n);
}

/* Send the lines in s->block, if there are any, then, if some were refused for now or the block failed often, line by line. Lines to be sent
 * later are in s->aside afterwards. After an error the whole block must be kept. */
static int sink_exchange(struct col_sink *s, uint32_t n_lines, bool sort, struct col_sink__answer *out,
                         struct ts_error *err)
{
    size_t n = s->block.n;
    ts_buf_clear(&s->verdicts);
    ts_buf_clear(&s->aside.text);
    s->aside.n = 0;
    *out = (struct col_sink__answer){0};
    if (!n_lines)
        return 0;
    if (!sort || s->conn.opentsdb) {
        ts_buf_str(&s->block, "sync\n");
        int rc = col_sink__exchange(&s->conn, ts_buf_get(&s->block), n_lines,
                                    sink_left_ms(s, s->opts.timeout_ms), out, err);
        s->block.n = n;
        if (rc < 0 || s->conn.opentsdb || out->n_taken + out->n_never == n_lines)
            return rc;
    }
    TS_TRY(col_sink__sort(&s->conn, ts_buf_get(&s->block), n_lines, sink_left_ms(s, s->opts.timeout_ms),
                          &s->verdicts, out, err));
    if (out->n_later && !out->n_taken && !sink_series_only(s))
        return ts_error_set(err, TS_EBACKEND, "the daemon takes no points at present: \"%s\"", out->text);
    sink_aside(s);
    return 0;
}

/* The block was answered. */
static void sink_count_answer(struct col_sink *s, uint32_t n_lines, const struct col_sink__answer *a)
{
    static struct ts_log_limit never, later;
    uint64_t n_refused = a->n_never + a->n_later;
    sink_count(&s->n_sent, n_refused < n_lines ? n_lines - n_refused : 0);
    sink_count(&s->n_refused, a->n_never);
    sink_count(&s->n_later, a->n_later);
    if (a->n_later)
        ts_log_limited(&later, TS_LOG_WARN,
                       "collect: n_points=%llu are not taken at present and are sent again later; the daemon "
                       "says \"%s\"",
                       (unsigned long long)a->n_later, a->text);
    else if (a->n_never)
        ts_log_limited(&never, TS_LOG_WARN, "collect: the daemon refused n_points=%llu, for instance: %s",
                       (unsigned long long)a->n_never, a->text);
}

static void sink_failed(struct col_sink *s, const struct ts_error *err)
{
    static struct ts_log_limit limit;
    sink_count(&s->n_failures, 1);
    ts_log_limited(&limit, TS_LOG_WARN, "collect: %s: %s; the points are sent again", s->addrs.p[s->at].text,
                   err->text);
}

static void waiting_take(void *arg, struct ts_slice lines)
{
    col_waiting_add(arg, lines);
}

/* Know which points wait: count them at the start, and when some were lost. */
static void sink_recount(struct col_sink *s)
{
    struct col_spool_stats st;
    col_spool_stats(s->opts.later, &st);
    uint64_t gone = st.n_dropped_points + st.n_damaged;
    if (!st.n_points || gone != s->later_gone)
        col_waiting_clear(&s->waiting);
    if (st.n_points && gone != s->later_gone)
        col_spool_each(s->opts.later, waiting_take, &s->waiting);
    s->later_gone = gone;
}

/* Move the lines of s->block of whose points more than more_than values wait to s->older. Returns how many are left. */
static uint32_t sink_split(struct col_sink *s, uint64_t more_than, bool remove)
{
    col_waiting_split(&s->waiting, ts_buf_get(&s->block), more_than, remove, &s->older, &s->rest);
    struct ts_buf whole = s->block;
    s->block = s->rest.text;
    s->rest.text = whole;
    return s->rest.n;
}

/* Put lines behind those that wait for later. */
static int sink_put_aside(struct col_sink *s, const struct col_lines *lines, struct ts_error *err)
{
    if (!lines->n)
        return 0;
    col_waiting_add(&s->waiting, ts_buf_get(&lines->text));
    return col_spool_append(s->opts.later, ts_buf_get(&lines->text), lines->n, true, err);
}

/* Send one block and wait for its answer; lines with an older value among those put aside go behind it. 1 = done, 0 = nothing to send. */
static int sink_block(struct col_sink *s)
{
    struct ts_error err = {0};
    struct col_spool_pos pos;
    struct col_sink__answer answer;
    sink_recount(s);
    int rc = col_spool_read(s->opts.spool, s->opts.block_bytes, &s->block, &pos, &err);
    if (rc <= 0)
        return 0; /* what can't be read was given up, logged and counted */
    uint32_t n_lines = sink_split(s, 0, false);
    rc = sink_exchange(s, n_lines, s->n_held >= SINK_SORT_AFTER, &answer, &err);
    if (rc < 0) {
        s->n_held += rc == TS_EBACKEND;
        sink_failed(s, &err);
        return rc;
    }
    if (sink_put_aside(s, &s->aside, &err) < 0)
        sink_failed(s, &err); /* lost, as the figures of that spool say */
    if (sink_put_aside(s, &s->older, &err) < 0)
        sink_failed(s, &err);
    col_spool_ack(s->opts.spool, &pos);
    sink_count(&s->n_later, s->older.n);
    sink_count_answer(s, n_lines, &answer);
    if (n_lines)
        sink_daemon(s);
    return 1;
}

/* Points that were refused again are put behind the others, and the block is removed. False: there is no
 * space, or the disk cannot be written. */
static bool sink_later_done(struct col_sink *s, const struct col_spool_pos *pos)
{
    struct col_spool_stats st;
    struct ts_error err = {0};
    col_spool_stats(s->opts.later, &st);
    if (st.n_bytes + s->aside.text.n > col_spool_max_bytes(s->opts.later)) /* it would drop what waits */
        return false;
    if (sink_put_aside(s, &s->aside, &err) < 0) {
        sink_failed(s, &err);
        s->later_gone = UINT64_MAX; /* whether the lines are there is not known */
        return false;
    }
    col_spool_ack(s->opts.later, pos);
    col_waiting_remove(&s->waiting, ts_buf_get(&s->block));
    return true;
}

/* Send the points put aside that have waited longest, without those that a newer value overwrites which waits too. 2 = some were taken, 1 =
 * some were out of date, 0 = neither. */
static int sink_later(struct col_sink *s)
{
    struct ts_error err = {0};
    struct col_spool_pos pos;
    struct col_sink__answer answer;
    sink_recount(s);
    int rc = col_spool_read(s->opts.later, s->opts.block_bytes, &s->block, &pos, &err);
    if (rc <= 0)
        return 0;
    uint32_t n_lines = sink_split(s, 1, true);
    rc = sink_exchange(s, n_lines, false, &answer, &err);
    if (rc < 0)
        sink_failed(s, &err);
    if (rc < 0 || !sink_later_done(s, &pos)) {
        col_waiting_add(&s->waiting, ts_buf_get(&s->older.text));
        return rc < 0 ? rc : 0;
    }
    sink_count(&s->n_superseded, s->older.n);
    sink_count_answer(s, n_lines, &answer);
    return answer.n_taken ? 2 : s->older.n > 0;
}

/* Points put aside, when their pause is over, for as long as some are taken. */
static int sink_laters(struct col_sink *s)
{
    int rc = 0;
    bool any = false;
    if (ts_clock_mono_ns() < s->later_ns || s->conn.fd < 0)
        return 0;
    while (!sink_stopping(s) && (rc = sink_later(s)) > 0)
        any |= rc == 2;
    s->later_ms = any ? s->opts.retry_min_ms : s->later_ms * 2;
    s->later_ms = s->later_ms > s->opts.retry_max_ms ? s->opts.retry_max_ms : s->later_ms;
    s->later_ns = ts_clock_mono_ns() + sink_random(s, s->later_ms / 2, s->later_ms * 3 / 2) * 1000000;
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
    if (rc == 0)
        rc = sink_laters(s);
    if (rc < 0) {
        /* a connection that had worked may just be stale: try once more without a pause */
        bool stale = s->conn.n_blocks > 0 && rc != TS_EBACKEND;
        sink_close(s);
        if (!any && !stale)
            s->at = (s->at + 1) % s->addrs.n;
        return stale ? 0 : rc;
    }
    return 0;
}

/* Sleep until lines come, or points put aside are due. True = there is something to send. */
static bool sink_wait(struct col_sink *s, bool stopping)
{
    struct col_spool_stats st;
    col_spool_stats(s->opts.later, &st);
    int64_t idle_ms = stopping ? 0 : SINK_IDLE_MS;
    int64_t due_ms = (s->later_ns - ts_clock_mono_ns() + 999999) / 1000000;
    due_ms = due_ms < 0 ? 0 : due_ms;
    if (st.n_points && due_ms < idle_ms)
        idle_ms = due_ms;
    return col_spool_wait(s->opts.spool, idle_ms) ||
           (!stopping && st.n_points && ts_clock_mono_ns() >= s->later_ns);
}

static void *sink_main(void *arg)
{
    struct col_sink *s = arg;
    for (;;) {
        /* who stops us wakes the spool after saying so: once that is seen nothing more comes to wait for */
        bool waits = sink_wait(s, sink_stopping(s));
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
    struct col_spool_stats st, later;
    col_spool_stats(s->opts.spool, &st);
    col_spool_stats(s->opts.later, &later);
    s->drained = st.n_points + later.n_points == 0;
    sink_close(s);
    return NULL;
}

struct col_sink *col_sink_start(const struct col_sink_opts *opts)
{
    struct col_sink *s = ts_xcalloc(1, sizeof(*s));
    s->opts = *opts;
    s->opts.timeout_ms = opts->timeout_ms ? opts->timeout_ms : SINK_TIMEOUT_MS;
    s->opts.retry_max_ms = opts->retry_max_ms ? opts->retry_max_ms : SINK_RETRY_MAX_MS;
    s->opts.retry_min_ms = opts->retry_min_ms ? opts->retry_min_ms : SINK_RETRY_MIN_MS;
    if (s->opts.retry_min_ms > s->opts.retry_max_ms)
        s->opts.retry_min_ms = s->opts.retry_max_ms;
    s->opts.block_bytes = opts->block_bytes ? opts->block_bytes : SINK_BLOCK_BYTES;
    s->later_ms = s->opts.retry_min_ms;
    sink_set_retry(s, s->opts.retry_min_ms);
    s->random = ts_hash_u64((uint64_t)ts_clock_mono_ns() ^ ((uint64_t)getpid() << 32));
    s->conn.fd = -1;
    ts_buf_init(&s->block, 0);
    ts_buf_init(&s->verdicts, 0);
    ts_buf_init(&s->aside.text, 0);
    ts_buf_init(&s->older.text, 0);
    ts_buf_init(&s->rest.text, 0);
    s->later_gone = UINT64_MAX;
    s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->stop_fd < 0 || col_sink__addrs_parse(opts->servers, &s->addrs, NULL) < 0)
        TS_BUG("sink without a descriptor or with addresses that were not checked");
    if (ts_thread_start(&s->thread,
                        &(struct ts_thread_opts){.name = "tsd-sink", .fn = sink_main, .arg = s}) != 0)
        TS_BUG("no thread for the sink");
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
    ts_buf_release(&s->verdicts);
    ts_buf_release(&s->aside.text);
    ts_buf_release(&s->older.text);
    ts_buf_release(&s->rest.text);
    col_waiting_clear(&s->waiting);
    ts_free(s);
    return drained;
}

void col_sink_stats(struct col_sink *s, struct col_sink_stats *out)
{
    /* figures, order nothing */
    out->n_sent = atomic_load_explicit(&s->n_sent, memory_order_relaxed);
    out->n_refused = atomic_load_explicit(&s->n_refused, memory_order_relaxed);
    out->n_later = atomic_load_explicit(&s->n_later, memory_order_relaxed);
    out->n_superseded = atomic_load_explicit(&s->n_superseded, memory_order_relaxed);
    out->pause_ms = (uint64_t)atomic_load_explicit(&s->retry_ms, memory_order_relaxed);
    out->opentsdb = atomic_load_explicit(&s->opentsdb, memory_order_relaxed);
    out->n_connects = atomic_load_explicit(&s->n_connects, memory_order_relaxed);
    out->n_failures = atomic_load_explicit(&s->n_failures, memory_order_relaxed);
    out->connected = atomic_load_explicit(&s->connected, memory_order_relaxed);
}
