/*
 * line_conn.c - the line protocol on a connection.
 *
 * Threads    the connection's worker
 * Invariant  answers to sync come in the order asked
 * Not here   lines (line.c), commands (commands.c)
 */
#include "tsd/line/line_conn.h"

#include "tsd/line/line.h"
#include "tsd/stats.h"
#include "tsd/worker.h"

#include <signal.h>
#include <unistd.h>

/* One sync asked for and not answered. */
struct line_sync {
    struct tsd_conn *c;             /* held */
    struct line_sync *next;         /* asked later */
    uint64_t n_points;              /* taken on the connection when it was asked */
    int rc;                         /* result */
    bool done;                      /* result is here */
    char text[TS_ERROR_TEXT_BYTES]; /* of an error */
};

struct line_conn {
    struct tsd_line line;                 /* the protocol */
    struct line_sync *syncs, **syncs_end; /* not answered, oldest first */
};

static void line_sync_answer(struct tsd_conn *c, struct line_conn *lc)
{
    while (lc->syncs && lc->syncs->done) {
        struct line_sync *s = lc->syncs;
        lc->syncs = s->next;
        if (!lc->syncs)
            lc->syncs_end = &lc->syncs;
        if (!c->dead && s->rc == 0)
            ts_buf_printf(&c->out, "ok %llu\n", (unsigned long long)s->n_points);
        else if (!c->dead)
            ts_buf_printf(&c->out, "sync: error %s\n", s->text);
        ts_free(s);
    }
    tsd_conn_flush(c);
}

static void line_synced(void *arg, int rc, const struct ts_error *err)
{
    struct line_sync *s = arg;
    struct tsd_conn *c = s->c;
    s->done = true;
    s->rc = rc;
    if (rc < 0)
        (void)snprintf(s->text, sizeof(s->text), "%s", err && err->text[0] ? err->text : ts_err_text(rc));
    line_sync_answer(c, c->state);
    tsd_conn_unhold(c);
}

static void line_on_sync(struct tsd_line *l)
{
    struct tsd_conn *c = l->arg;
    struct line_conn *lc = c->state;
    struct line_sync *s = ts_xcalloc(1, sizeof(*s));
    s->c = c;
    s->n_points = l->n_points;
    *lc->syncs_end = s;
    lc->syncs_end = &s->next;
    tsd_conn_hold(c);
    tsd_ingest_barrier(l->in, STO_LEVEL_DISK, line_synced, s);
}

static void line_on_stats(struct tsd_line *l, struct ts_buf *out)
{
    struct tsd_conn *c = l->arg;
    tsd_stats_lines(c->w->daemon, out);
}

static void line_on_drop_caches(struct tsd_line *l)
{
    struct tsd_conn *c = l->arg;
    atomic_fetch_add_explicit(&c->w->daemon->drop_asked, 1, memory_order_relaxed);
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
    lc->syncs_end = &lc->syncs;
    lc->line = (struct tsd_line){.in = &c->w->ingest,
                                 .ops = &line_ops,
                                 .arg = c,
                                 .histograms = &set->histograms,
                                 .rollups = &set->rollups,
                                 .out = &c->out,
                                 .reply_max_bytes = set->line_reply_max_bytes,
                                 .line_max_bytes = set->line_max_bytes};
    c->state = lc;
}

/* Everything taken on the connection is accepted: it may close. */
static void line_accepted(void *arg, int rc, const struct ts_error *err)
{
    (void)rc;
    (void)err;
    tsd_conn_unhold(arg);
}

/* The client is done: who sees the connection closed may ask for its points. */
static void line_end(struct tsd_conn *c, const struct tsd_line *l)
{
    if (!l->n_points)
        return;
    tsd_conn_hold(c);
    tsd_ingest_barrier(l->in, STO_LEVEL_LOG, line_accepted, c);
}

static size_t line_input(struct tsd_conn *c, const char *p, size_t n, bool eof)
{
    struct line_conn *lc = c->state;
    struct tsd_line *l = &lc->line;
    struct tsd_counts *counts = &c->w->counts;
    const char *rest = p;
    uint64_t before = l->in->n_points;
    l->n_commands = l->n_dropped = 0;
    tsd_ingest_begin(l->in);
    l->in->new_series = &c->new_series;
    l->in->may_wait = true;
    l->in->waits_for_series = false;
    enum tsd_line_end how = tsd_line_input(l, p, p + n, eof, &rest);
    l->in->new_series = NULL;
    tsd_count(&counts->n_lines, l->in->n_points - before + l->n_commands);
    tsd_count(&counts->n_dropped, l->n_dropped);
    if (how == TSD_LINE_BUSY && l->in->waits_for_series)
        tsd_conn_block(c, true); /* until line_tick */
    else if (how == TSD_LINE_BUSY)
        tsd_worker_pause(c->w);
    else if (eof || how == TSD_LINE_EXIT)
        line_end(c, l);
    if (how == TSD_LINE_EXIT) {
        tsd_conn_close_soon(c);
        return n;
    }
    return (size_t)(rest - p);
}

/* A line that waits for a new series is tried again. */
static void line_tick(struct tsd_conn *c)
{
    tsd_conn_block(c, false);
}

static void line_free(struct tsd_conn *c)
{
    ts_free(c->state);
    c->state = NULL;
}

const struct tsd_protocol tsd_line_protocol = {.name = "line",
                                               .match = line_match,
                                               .open = line_open,
                                               .input = line_input,
                                               .tick = line_tick,
                                               .free = line_free,
                                               .waits = true};
