/*
 * scrape.c - pages in Prometheus' text formats, fetched over HTTP: exporters, and programs that show their own figures.
 *
 * Targets are fetched one after the other. One that cannot be fetched has `up` 0.
 *
 * Threads    the collector's own
 * Not here   the formats (exposition.h), when a page is fetched (targets.h)
 */
#include "base/mem.h"
#include "base/time.h"
#include "collectors/core/collector.h"
#include "collectors/core/exposition.h"
#include "collectors/core/fields.h"
#include "collectors/core/targets.h"

#define INTERVAL_S 15u

static const struct col_metric metrics[] = {
    {"up", "job", "1", "1 if the target was fetched and its page read in this turn, else 0.", COL_GAUGE},
    {"scrape_samples", "job", "1", "Samples of the page that were taken.", COL_GAUGE},
    {"scrape_left_out", "job", "1",
     "Samples beyond collect_scrape_samples, values that are no numbers, lines that are no samples.",
     COL_GAUGE},
    {"scrape_duration_ms", "job", "ms", "Time it took to fetch the page.", COL_GAUGE},
    {"*", "job", "1", "What the page holds, by its own names; labels are tags.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* The collector's state. */
struct scrape {
    struct col_targets targets; /* owned */
    int64_t timeout_ms;         /* for one page */
    uint64_t max_samples;       /* of one page */
    const char *honored;        /* patterns of jobs whose labels host and job stand */
    struct ts_buf body;         /* of the page fetched last */
    struct ts_log_limit limit;  /* of complaints */
};

static void scrape_release(void *state)
{
    struct scrape *s = state;
    if (!s)
        return;
    ts_buf_release(&s->body);
    col_targets_release(&s->targets);
    ts_free(s);
}

static bool scrape_wanted(const struct ts_conf *conf)
{
    return *ts_conf_str(conf, "collect_scrape") != '\0';
}

static int scrape_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    if (!scrape_wanted(ctx->conf))
        return ts_error_set(err, TS_ENOTFOUND, "collect_scrape is empty");
    struct scrape *s = ts_xcalloc(1, sizeof(*s));
    s->timeout_ms = ts_conf_int(ctx->conf, "collect_scrape_timeout_ms");
    s->max_samples = (uint64_t)ts_conf_int(ctx->conf, "collect_scrape_samples");
    s->honored = ts_conf_str(ctx->conf, "collect_scrape_honor_labels");
    ts_buf_init(&s->body, (size_t)ts_conf_int(ctx->conf, "collect_scrape_bytes"));
    int rc = col_targets_parse(&s->targets, "collect_scrape", ts_conf_str(ctx->conf, "collect_scrape"),
                               "/metrics", err);
    if (rc < 0)
        scrape_release(s);
    else
        *out_state = s;
    return rc;
}

static void scrape_target(struct scrape *s, struct col_target *t, struct col_emit *emit)
{
    const struct col_tag job = {"job", ts_slice_str(t->job)};
    struct col_exposition x = {.emit = emit,
                               .tags = &job,
                               .n_tags = 1,
                               .max_samples = s->max_samples,
                               .exported = !col_match_any(s->honored, job.value)};
    int64_t from_ns = ts_clock_mono_ns();
    bool up = col_target_turn(t, s->timeout_ms, &s->body, &s->limit);
    int64_t ms = (ts_clock_mono_ns() - from_ns) / 1000000;
    col_emit_int(emit, metrics[0].name, up, &job, 1);
    if (!up)
        return;
    col_exposition_read(&x, ts_buf_get(&s->body));
    col_emit_u64(emit, metrics[1].name, x.n_samples, &job, 1);
    col_emit_u64(emit, metrics[2].name, x.n_left_out + x.n_bad, &job, 1);
    col_emit_int(emit, metrics[3].name, ms, &job, 1);
}

static int scrape_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct scrape *s = state;
    (void)err;
    for (unsigned i = 0; i < s->targets.n; i++)
        scrape_target(s, &s->targets.p[i], emit);
    if (s->body.cap > ((size_t)1 << 20)) /* a page this large is not the rule */
        ts_buf_release(&s->body);
    return 0;
}

/* With --once somebody wants to know whether it works. */
static int scrape_once(void *state, struct col_emit *emit, struct ts_error *err)
{
    const struct scrape *s = state;
    TS_TRY(scrape_read(state, emit, err));
    return col_targets_failed(&s->targets, err);
}

const struct col_collector col_scrape = {
    .name = "scrape",
    .help = "Pages in Prometheus' text formats, over HTTP (collect_scrape).",
    .metrics = metrics,
    .interval_s = INTERVAL_S,
    .by_request = true,
    .wanted = scrape_wanted,
    .init = scrape_init,
    .read = scrape_read,
    .once = scrape_once,
    .release = scrape_release,
};
