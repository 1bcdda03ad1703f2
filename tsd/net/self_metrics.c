/*
 * self_metrics.c - figures become points of worker 0.
 *
 * Threads    see self_metrics.h
 */
#include "tsd/net/self_metrics.h"

#include "tsd/net/stats.h"
#include "tsd/net/worker.h"

#include <stdio.h>

/* A round of points. */
struct self_round {
    struct tsd_worker *w;
    int64_t ts_ms;  /* of every point */
    char host[256]; /* value of the tag host */
    bool stopped;   /* the store takes no more */
    uint64_t n_put, n_skipped;
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
    const char *eq = strchr(tag, '=');
    struct sto_tag_text tags[2] = {{TS_SLICE_LIT("host"), ts_slice_str(r->host)}};
    if (eq)
        tags[1] = (struct sto_tag_text){{tag, (size_t)(eq - tag)}, ts_slice_str(eq + 1)};
    int rc = r->stopped || n >= (int)sizeof(metric)
                 ? TS_EBUSY
                 : self_series(in, (struct ts_slice){metric, (size_t)n}, tags, eq ? 2 : 1, &series);
    if (rc == 0) {
        int64_t m = value > INT64_MAX ? INT64_MAX : (int64_t)value;
        rc = tsd_ingest_point(in, series, r->ts_ms, m, sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false));
        r->stopped = rc < 0;
    }
    r->n_put += rc == 0;
    r->n_skipped += rc < 0;
}

/* Nothing here counts as what clients send. */
static void self_put(struct self_round *r)
{
    struct tsd_worker *w = r->w;
    struct tsd_ingest *in = &w->ingest;
    struct tsd_series_conn *new_series = in->new_series;
    uint64_t n_guessed = in->n_guessed, n_found = in->n_found, n_missed = in->n_missed;
    in->new_series = NULL;
    tsd_ingest_begin(in);
    tsd_stats_each(w->daemon, self_figure, r);
    in->new_series = new_series;
    in->n_guessed = n_guessed;
    in->n_found = n_found;
    in->n_missed = n_missed;
    atomic_fetch_add_explicit(&w->daemon->n_self_points, r->n_put, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->daemon->n_self_skipped, r->n_skipped, memory_order_relaxed);
}

void tsd_self_tick(struct tsd_worker *w, int64_t now_ms)
{
    struct tsd_daemon *d = w->daemon;
    int64_t every_ms = d->set.self_interval_ms;
    if (w->index != 0 || !every_ms || w->draining)
        return;
    int64_t round = now_ms / every_ms;
    if (round == w->self_round)
        return;
    bool first = !w->self_round;
    w->self_round = round;
    if (first)
        return;
    struct self_round r = {
        .w = w, .ts_ms = round * every_ms, .stopped = w->paused || sto_store_refusing(d->store)};
    self_host(&d->set.rules, d->host, r.host, sizeof(r.host));
    self_put(&r);
}
