/*
 * line_conn.c - the line protocol on a connection.
 *
 * Threads    the connection's worker
 * Invariant  answers to sync come in the order of the requests
 * Not here   lines (line.c), commands (commands.c)
 */
#include "tsd/protocols/line/line_conn.h"

#include "base/budget.h"
#include "tsd/protocols/line/line.h"
#include "tsd/net/stats.h"
#include "tsd/net/worker.h"

#include <signal.h>
#include <unistd.h>

#define LINE_SYNC_BYTES 32 /* "ok" and a number */

/* Why a connection is not read. */
enum line_wait {
    LINE_WAIT_NOTHING,
    LINE_WAIT_SERIES,  /* new_series_per_min: until the next tick */
    LINE_WAIT_SHARDS,  /* numbered increments, while the number of shards is in doubt: the same */
    LINE_WAIT_ANSWERS, /* a sync waits until others are answered, or replies have left */
};

/* Syncs of a connection are joined: one barrier is under way, and those that come meanwhile share the next one. */
struct line_conn {
    struct tsd_line line; /* the protocol */
    uint64_t
        *syncs; /* points taken when each was requested, oldest first; counted in the connections' account */
    size_t cap_syncs;        /* allocated, up to line_max_syncs */
    unsigned n_syncs, n_way; /* not answered; of them, the first that the barrier under way covers */
    enum line_wait waits;    /* since the last input */
    uint64_t n_refusals;     /* of increments with ids, that an answer to sync has named */
    int64_t unfinished_ms;   /* since when a line waits for its end; 0 = none does */
};

static void line_sync_start(struct tsd_conn *c, struct line_conn *lc);

static void line_wait(struct tsd_conn *c, enum line_wait what)
{
    struct line_conn *lc = c->state;
    lc->waits = what;
    tsd_conn_block(c, what != LINE_WAIT_NOTHING);
}

/* Go on if what it waited for has come. */
static void line_go_on(struct tsd_conn *c)
{
    const struct line_conn *lc = c->state;
    if (!c->dead && lc->waits == LINE_WAIT_ANSWERS && lc->n_syncs < c->w->daemon->set.line_max_syncs)
        line_wait(c, LINE_WAIT_NOTHING);
}

/* Has a sequence been refused that was not sent again? Then no sync says ok, since its client might take it for made. */
static bool line_once_refused(struct tsd_conn *c, struct ts_error *out)
{
    struct line_conn *lc = c->state;
    const struct tsd_once *o = &c->once;
    if (!o->refused && o->n_refusals == lc->n_refusals)
        return false;
    lc->n_refusals = o->n_refusals;
    if (o->refused)
        ts_error_set(out, TS_EIO, "sequence %llu was refused: %s", (unsigned long long)o->refused, o->why);
    else
        ts_error_set(out, TS_EIO, "a sequence was refused before this line was sent: %s", o->why);
    return true;
}

static void line_synced(void *arg, int rc, const struct ts_error *err)
{
    struct tsd_conn *c = arg;
    struct line_conn *lc = c->state;
    struct ts_error refused = {0};
    if (rc == 0 && line_once_refused(c, &refused)) {
        rc = refused.code;
        err = &refused;
    }
    tsd_conn_reserve(c, lc->n_way * LINE_SYNC_BYTES);
    for (unsigned i = 0; i < lc->n_way && !c->dead; i++) {
        if (rc == 0)
            ts_buf_printf(&c->out, "ok %llu\n", (unsigned long long)lc->syncs[i]);
        else
            ts_buf_printf(&c->out, "sync: error %s\n", err && err->text[0] ? err->text : ts_err_text(rc));
    }
    if (c->out.failed && !c->dead)
        tsd_conn_kill(c); /* no memory for answers that the client must not miss */
    lc->n_syncs -= lc->n_way;
    memmove(lc->syncs, lc->syncs + lc->n_way, lc->n_syncs * sizeof(*lc->syncs));
    lc->n_way = 0;
    if (lc->n_syncs && !c->dead)
        line_sync_start(c, lc);
    tsd_conn_flush(c);
    line_go_on(c);
    tsd_conn_unhold(c);
}

static void line_sync_start(struct tsd_conn *c, struct line_conn *lc)
{
    lc->n_way = lc->n_syncs;
    tsd_conn_hold(c);
    tsd_ingest_barrier(lc->line.in, STO_LEVEL_DISK, c->asker, line_synced, c);
}

static bool line_on_sync(struct tsd_line *l)
{
    struct tsd_conn *c = l->arg;
    struct line_conn *lc = c->state;
    struct ts_error err = {0};
    if (lc->n_syncs == c->w->daemon->set.line_max_syncs || l->out->n > l->reply_max_bytes)
        return false;
    if (ts_budget_grow(c->tail.budget, &lc->syncs, &lc->cap_syncs, lc->n_syncs + 1, sizeof(*lc->syncs),
                       &err) < 0) {
        tsd_line_say(l, "sync: error ", "", ts_slice_str(err.text));
        return true;
    }
    lc->syncs[lc->n_syncs++] = l->n_points;
    if (!lc->n_way)
        line_sync_start(c, lc);
    return true;
}

static void line_on_stats(struct tsd_line *l, struct ts_buf *out)
{
    struct tsd_conn *c = l->arg;
    tsd_stats_lines(c->w->daemon, out);
}

static void line_on_drop_caches(struct tsd_line *l)
{
    struct tsd_conn *c = l->arg;
    atomic_fetch_add_explicit(&c->w->daemon->drop_requests, 1, memory_order_relaxed);
}

static bool line_on_end_daemon(struct tsd_line *l)
{
    struct tsd_conn *c = l->arg;
    return c->w->daemon->set.allow_diediedie && kill(getpid(), SIGTERM) == 0;
}

static const struct tsd_line_ops line_ops = {.sync = line_on_sync,
                                             .stats = line_on_stats,
                                             .drop_caches = line_on_drop_caches,
                                             .end_daemon = line_on_end_daemon};

static int line_match(const struct tsd_worker *w, const char *p, size_t n)
{
    (void)w;
    (void)p;
    (void)n;
    return 1; /* whatever is not HTTP */
}

static void line_open(struct tsd_conn *c)
{
    const struct tsd_settings *set = &c->w->daemon->set;
    struct line_conn *lc = ts_xcalloc(1, sizeof(*lc));
    lc->line = (struct tsd_line){.in = &c->w->ingest,
                                 .ops = &line_ops,
                                 .arg = c,
                                 .asker = c->asker,
                                 .once = &c->once,
                                 .histograms = &set->histograms,
                                 .rollups = &set->rollups,
                                 .out = &c->out,
                                 .reply_max_bytes = set->line_reply_max_bytes,
                                 .line_max_bytes = set->line_max_bytes,
                                 .max_work = TSD_LINE_TURN_WORK,
                                 .who = &c->who};
    c->state = lc;
}

/* Everything taken on the connection is accepted: it may close. */
static void line_accepted(void *arg, int rc, const struct ts_error *err)
{
    (void)rc;
    (void)err;
    tsd_conn_unhold(arg);
}

/* The client has finished: when it sees the connection closed, its points can be queried. */
static void line_end(struct tsd_conn *c, const struct tsd_line *l)
{
    if (!l->n_points)
        return;
    tsd_conn_hold(c);
    tsd_ingest_barrier(l->in, STO_LEVEL_LOG, 0, line_accepted, c);
}

/* What becomes of the connection after its lines were worked through. */
static void line_after(struct tsd_conn *c, struct tsd_line *l, enum tsd_line_end how, bool eof)
{
    switch (how) {
    case TSD_LINE_BUSY:
        if (!l->in->waits_for_series && !sto_writer_accepts_parts(l->in->writer)) {
            line_wait(c, LINE_WAIT_SHARDS); /* a lack of something else pauses the worker at the next try */
            return;
        }
        if (!l->in->waits_for_series) {
            tsd_worker_pause(c->w);
            return;
        }
        tsd_count(&c->w->counts.n_paused_series, 1);
        line_wait(c, LINE_WAIT_SERIES);
        return;
    case TSD_LINE_WAIT:
        line_wait(c, LINE_WAIT_ANSWERS);
        return;
    case TSD_LINE_YIELD:
        c->again = true;
        return;
    case TSD_LINE_EXIT:
        line_end(c, l);
        tsd_conn_close_soon(c);
        return;
    case TSD_LINE_MORE:
        if (eof)
            line_end(c, l);
    }
}

static size_t line_input(struct tsd_conn *c, const char *p, size_t n, bool eof)
{
    struct line_conn *lc = c->state;
    struct tsd_line *l = &lc->line;
    struct tsd_counts *counts = &c->w->counts;
    const char *rest = p;
    uint64_t before = l->in->n_points;
    l->n_commands = l->n_dropped = 0;
    l->work = 0;
    tsd_ingest_begin(l->in);
    l->in->new_series = &c->new_series;
    l->in->may_wait = true;
    l->in->waits_for_series = false;
    enum tsd_line_end how = tsd_line_input(l, p, p + n, eof, &rest);
    l->in->new_series = NULL;
    tsd_count(&counts->n_lines, l->in->n_points - before + l->n_commands);
    tsd_count(&counts->n_dropped, l->n_dropped);
    if (how != TSD_LINE_MORE || (rest == p + n && !l->skipping))
        lc->unfinished_ms = 0;
    else if (!lc->unfinished_ms || (rest != p && !l->skipping))
        lc->unfinished_ms = c->w->now_ms;
    line_after(c, l, how, eof);
    if (c->out.failed &&
        !c->dead) { /* an answer found no memory: its client must not take the next one for it */
        tsd_conn_kill(c);
        return n;
    }
    return how == TSD_LINE_EXIT ? n : (size_t)(rest - p);
}

/* All answers have left. */
static void line_sent(struct tsd_conn *c)
{
    line_go_on(c);
}

/* A line that waits for a new series or for shards is tried again; one that does not end ends its connection. */
static void line_tick(struct tsd_conn *c)
{
    struct line_conn *lc = c->state;
    int64_t max_ms = c->w->daemon->set.line_read_timeout_ms;
    if (lc->waits == LINE_WAIT_SERIES || lc->waits == LINE_WAIT_SHARDS)
        line_wait(c, LINE_WAIT_NOTHING);
    if (lc->unfinished_ms && (c->blocked || c->w->paused))
        lc->unfinished_ms = c->w->now_ms; /* its end may be there and we do not read it */
    if (!max_ms || !lc->unfinished_ms || c->closing || c->w->now_ms - lc->unfinished_ms < max_ms)
        return;
    char text[96];
    int n = snprintf(text, sizeof(text), "line has no end after %lld s (line_read_timeout_s)",
                     (long long)max_ms / 1000);
    tsd_count(&c->w->counts.n_line_timeouts, 1);
    tsd_line_say(&lc->line, "", "", (struct ts_slice){text, (size_t)n});
    line_end(c, &lc->line);
    tsd_conn_flush(c);
    tsd_conn_close_soon(c);
}

static void line_free(struct tsd_conn *c)
{
    struct line_conn *lc = c->state;
    if (lc)
        ts_budget_free(c->tail.budget, lc->syncs, lc->cap_syncs * sizeof(*lc->syncs));
    ts_free(lc);
    c->state = NULL;
}

const struct tsd_protocol tsd_line_protocol = {.name = "line",
                                               .match = line_match,
                                               .open = line_open,
                                               .input = line_input,
                                               .sent = line_sent,
                                               .tick = line_tick,
                                               .free = line_free,
                                               .waits = true};
