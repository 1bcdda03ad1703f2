/*
 * self_metrics.c - figures become points of worker 0.
 *
 * Threads    see self_metrics.h
 */
#include "tsd/net/self_metrics.h"

#include "tsd/net/stats.h"
#include "tsd/net/worker.h"

#include <stdio.h>

/* One attempt at the points of a round. */
struct self_round {
    struct tsd_worker *w;
    int64_t ts_ms;   /* of every point */
    char host[256];  /* value of the tag host */
    bool names_only; /* series are made, and no points */
    bool stopped;    /* the store takes no more */
    size_t n, from;  /* figures seen; the first ones, which an attempt before this one has handled */
    uint64_t n_put, n_no_series, n_waiting;
};

/* The name of this machine with '_' for characters that tag values must not have. */
static void self_host(const struct tsd_rules *rules, const char *name, char *out, size_t size)
{
    struct ts_buf why;
    ts_buf_init(&why, 0);
    (void)snprintf(out, size, "%s", name);
    for (char *p = out; *p; p++) {
        struct sto_tag_text tag = {TS_SLICE_LIT("host"), {p, 1}};
        if (tsd_names_check(rules, TS_SLICE_LIT("tsd"), &tag, 1, &why) < 0)
            *p = '_';
        ts_buf_clear(&why);
    }
    ts_buf_release(&why);
}

/* The series of a figure, which is made whether or not points of clients may make metrics. */
static int self_series(struct tsd_ingest *in, struct ts_slice metric, const struct sto_tag_text *tags,
                       size_t n_tags, const struct sto_series **out)
{
    uint32_t id;
    int rc = tsd_ingest_text(in, metric, tags, n_tags, out);
    if (rc != TS_ENOTFOUND)
        return rc;
    TS_TRY(sto_uid_make(in->cat, STO_UID_METRIC, metric, &id, NULL));
    return tsd_ingest_text(in, metric, tags, n_tags, out);
}

static void self_figure(void *arg, const char *name, const char *tag, uint64_t value)
{
    struct self_round *r = arg;
    struct tsd_ingest *in = &r->w->ingest;
    const struct sto_series *series;
    char metric[160];
    int n = snprintf(metric, sizeof(metric), "tsd.%s", name);
    if (r->n++ < r->from)
        return;
    const char *eq = strchr(tag, '=');
    struct sto_tag_text tags[2] = {{TS_SLICE_LIT("host"), ts_slice_str(r->host)}};
    if (eq)
        tags[1] = (struct sto_tag_text){{tag, (size_t)(eq - tag)}, ts_slice_str(eq + 1)};
    if (r->stopped || n >= (int)sizeof(metric)) {
        r->n_waiting++;
        return;
    }
    if (self_series(in, (struct ts_slice){metric, (size_t)n}, tags, eq ? 2 : 1, &series) < 0) {
        r->n_no_series++;
        return;
    }
    if (r->names_only)
        return;
    int64_t m = value > INT64_MAX ? INT64_MAX : (int64_t)value;
    r->stopped =
        tsd_ingest_point(in, series, r->ts_ms, m, sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false)) < 0;
    r->n_put += !r->stopped;
    r->n_waiting += r->stopped;
}

/* Nothing here counts as what clients send. */
static void self_put(struct self_round *r)
{
    struct tsd_worker *w = r->w;
    struct tsd_ingest *in = &w->ingest;
    struct tsd_series_conn *new_series = in->new_series;
    uint64_t n_guessed = in->n_guessed, n_found = in->n_found, n_missed = in->n_missed;
    in->new_series = NULL;
    in->own_series = true;
    tsd_ingest_begin(in);
    tsd_stats_each(w->daemon, self_figure, r);
    in->new_series = new_series;
    in->own_series = false;
    in->n_guessed = n_guessed;
    in->n_found = n_found;
    in->n_missed = n_missed;
    if (!r->names_only)
        atomic_fetch_add_explicit(&w->daemon->n_self_points, r->n_put, memory_order_relaxed);
}

/* The round that ends has stored what it could: count the rest, and leave it for health.h. */
static void self_end(struct tsd_worker *w)
{
    struct tsd_self *self = &w->self;
    atomic_fetch_add_explicit(&w->daemon->n_self_skipped, self->n_no_series + self->n_waiting,
                              memory_order_relaxed);
    atomic_store_explicit(&w->daemon->n_self_no_series, self->n_no_series, memory_order_relaxed);
    atomic_store_explicit(&w->daemon->n_self_late, self->n_waiting, memory_order_relaxed);
    self->n_done = 0;
    self->n_no_series = self->n_waiting = 0;
}

void tsd_self_tick(struct tsd_worker *w, int64_t now_ms)
{
    struct tsd_daemon *d = w->daemon;
    struct tsd_self *self = &w->self;
    int64_t every_ms = d->set.self_interval_ms;
    if (w->index != 0 || !every_ms || w->draining)
        return;
    int64_t round = now_ms / every_ms;
    bool first = !self->round, next = round != self->round, busy = w->paused || sto_store_refusing(d->store);
    if (next && !first && !self->naming)
        self_end(w);
    if (!next && (!self->n_waiting || busy))
        return;
    self->round = round;
    self->naming = first;
    struct self_round r = {
        .w = w, .ts_ms = round * every_ms, .names_only = first, .stopped = busy, .from = self->n_done};
    self_host(&d->set.rules, d->host, r.host, sizeof(r.host));
    self_put(&r);
    if (first)
        return;
    self->n_done = r.n - (size_t)r.n_waiting;
    self->n_no_series += r.n_no_series;
    self->n_waiting = r.n_waiting;
}
