/*
 * scrape.c - pages in Prometheus' text formats, fetched over HTTP: exporters, and programs that show their own figures.
 *
 * Targets are fetched one after the other. One that cannot be fetched has `up` 0 and is left alone for longer and longer, up to 16 turns,
 * so that it costs the others nothing.
 *
 * Threads    the collector's own
 * Not here   the formats (exposition.h), HTTP (fetch.h)
 */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/collector.h"
#include "collectors/exposition.h"
#include "collectors/fetch.h"
#include "collectors/fields.h"

#include <stdio.h>

#define TARGETS_MAX 256u
#define SKIP_MAX    16u /* turns */
#define INTERVAL_S  15u

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

/* A page. */
struct target {
    char job[128];      /* as named, else HOST:PORT */
    struct col_url url; /* where */
    unsigned n_failed;  /* turns that failed in a row */
    unsigned skip;      /* turns to leave it alone */
};

/* The collector's state. */
struct scrape {
    struct target *p;          /* owned */
    unsigned n;                /* entries */
    int64_t timeout_ms;        /* for one page */
    uint64_t max_samples;      /* of one page */
    struct ts_buf body;        /* of the page fetched last */
    struct ts_log_limit limit; /* of complaints */
};

/* "[NAME=]URL" */
static int target_parse(struct ts_slice text, struct target *t, struct ts_error *err)
{
    const char *eq = memchr(text.p, '=', text.n), *scheme = memmem(text.p, text.n, "://", 3);
    struct ts_slice name = {NULL, 0};
    if (eq && scheme && eq < scheme) {
        name = col_trim((struct ts_slice){text.p, (size_t)(eq - text.p)});
        text = col_trim((struct ts_slice){eq + 1, (size_t)(text.p + text.n - eq - 1)});
    }
    *t = (struct target){.n_failed = 0};
    if (col_url_parse(text, "/metrics", &t->url, err) < 0)
        return ts_error_wrap(err, "collect_scrape");
    (void)snprintf(t->job, sizeof(t->job), "%.*s", name.n ? (int)(name.n < 127 ? name.n : 127) : 127,
                   name.n ? name.p : t->url.where);
    return 0;
}

static int scrape_targets(struct scrape *s, const char *text, struct ts_error *err)
{
    while (*text) {
        size_t n = strcspn(text, ";");
        struct ts_slice one = col_trim((struct ts_slice){text, n});
        text += n + (text[n] == ';');
        if (!one.n)
            continue;
        if (s->n == TARGETS_MAX)
            return ts_error_set(err, TS_EINVAL, "collect_scrape: more than %u targets", TARGETS_MAX);
        s->p = ts_xrealloc(s->p, (s->n + 1) * sizeof(*s->p));
        TS_TRY(target_parse(one, &s->p[s->n], err));
        s->n++;
    }
    return 0;
}

static void scrape_release(void *state)
{
    struct scrape *s = state;
    if (!s)
        return;
    ts_buf_release(&s->body);
    ts_free(s->p);
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
    ts_buf_init(&s->body, (size_t)ts_conf_int(ctx->conf, "collect_scrape_bytes"));
    int rc = scrape_targets(s, ts_conf_str(ctx->conf, "collect_scrape"), err);
    if (rc < 0)
        scrape_release(s);
    else
        *out_state = s;
    return rc;
}

/* Fetch and read a page. */
static int target_read(struct scrape *s, const struct target *t, struct col_emit *emit, struct ts_error *err)
{
    const struct col_tag job = {"job", ts_slice_str(t->job)};
    struct col_exposition x = {.emit = emit, .tags = &job, .n_tags = 1, .max_samples = s->max_samples};
    int64_t from_ns = ts_clock_mono_ns();
    TS_TRY(col_fetch(&t->url, s->timeout_ms, &s->body, err));
    int64_t ms = (ts_clock_mono_ns() - from_ns) / 1000000;
    col_exposition_read(&x, ts_buf_get(&s->body));
    col_emit_u64(emit, metrics[1].name, x.n_samples, &job, 1);
    col_emit_u64(emit, metrics[2].name, x.n_left_out + x.n_bad, &job, 1);
    col_emit_int(emit, metrics[3].name, ms, &job, 1);
    return 0;
}

static void target_turn(struct scrape *s, struct target *t, struct col_emit *emit)
{
    struct ts_error err = {0};
    bool up = false;
    if (t->skip) {
        t->skip--;
    } else if (target_read(s, t, emit, &err) == 0) {
        up = true;
        if (t->n_failed)
            ts_log(TS_LOG_INFO, "scrape: %s answers again", t->url.where);
        t->n_failed = 0;
    } else {
        unsigned turns = t->n_failed < 5 ? 1u << t->n_failed : SKIP_MAX;
        if (!t->n_failed++)
            ts_log_limited(&s->limit, TS_LOG_WARN, "scrape: %s; it is tried again less often", err.text);
        t->skip = (turns < SKIP_MAX ? turns : SKIP_MAX) - 1;
    }
    col_emit_int(emit, metrics[0].name, up, COL_TAGS({"job", ts_slice_str(t->job)}));
}

static int scrape_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct scrape *s = state;
    (void)err;
    for (unsigned i = 0; i < s->n; i++)
        target_turn(s, &s->p[i], emit);
    if (s->body.cap > ((size_t)1 << 20)) /* a page this large is not the rule */
        ts_buf_release(&s->body);
    return 0;
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
    .release = scrape_release,
};
