/*
 * webstatus.c - what web servers say of themselves: nginx's stub_status, Apache's server-status?auto.
 *
 * Threads    the collector's own
 * Not here   their logs (weblog.c), fetching (targets.h)
 * Source     nginx.org ngx_http_stub_status_module; httpd.apache.org mod_status
 */
#include "base/mem.h"
#include "collectors/core/collector.h"
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/targets.h"

#define PAGE_BYTES ((size_t)1 << 20)

static const struct col_metric metrics[] = {
    {"nginx.up", "job", "1", "1 if the page was fetched in this turn, else 0.", COL_GAUGE},
    {"nginx.connections", "job state", "connections",
     "Connections now: active, and of them reading, writing, waiting.", COL_GAUGE},
    {"nginx.connections_total", "job state", "connections",
     "Connections accepted, and handled: fewer if a limit was reached.", COL_COUNTER},
    {"nginx.requests", "job", "requests", "Requests.", COL_COUNTER},
    {"apache.up", "job", "1", "1 if the page was fetched in this turn, else 0.", COL_GAUGE},
    {"apache.requests", "job", "requests", "Requests.", COL_COUNTER},
    {"apache.bytes", "job", "bytes", "Bytes sent.", COL_COUNTER},
    {"apache.workers", "job state", "workers", "Workers: busy, idle.", COL_GAUGE},
    {"apache.connections", "job", "connections", "Connections now.", COL_GAUGE},
    {"apache.uptime", "job", "s", "Time since the start.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* Words of either page: the number behind one. */
static const struct {
    const char *label;  /* with its colon */
    const char *metric; /* where it goes */
    const char *state;  /* tag; NULL = none */
    unsigned factor;    /* to the metric's unit */
} rows[] = {
    {"Active connections:", "nginx.connections", "active", 1},
    {"Reading:", "nginx.connections", "reading", 1},
    {"Writing:", "nginx.connections", "writing", 1},
    {"Waiting:", "nginx.connections", "waiting", 1},
    {"Total Accesses:", "apache.requests", NULL, 1},
    {"Total kBytes:", "apache.bytes", NULL, 1024},
    {"BusyWorkers:", "apache.workers", "busy", 1},
    {"IdleWorkers:", "apache.workers", "idle", 1},
    {"ConnsTotal:", "apache.connections", NULL, 1},
    {"ServerUptimeSeconds:", "apache.uptime", NULL, 1},
};

/* Emit a point with the tag job, and with the tag state if state is set. */
static void status_emit(struct col_emit *emit, const char *metric, uint64_t v, const char *job,
                        const char *state)
{
    const struct col_tag tags[] = {{"job", ts_slice_str(job)}, {"state", ts_slice_str(state ? state : "")}};
    col_emit_u64(emit, metric, v, tags, state ? 2 : 1);
}

/* Emit the number behind each known label of a line. */
static void status_labels(struct ts_slice line, const char *job, struct col_emit *emit)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *at = line.n ? memmem(line.p, line.n, rows[i].label, strlen(rows[i].label)) : NULL;
        if (!at || (at > line.p && at[-1] != ' '))
            continue;
        at += strlen(rows[i].label);
        struct ts_slice rest = {at, (size_t)(line.p + line.n - at)};
        uint64_t v;
        if (col_u64_next(&rest, &v))
            status_emit(emit, rows[i].metric, v * rows[i].factor, job, rows[i].state);
    }
}

void col_webstatus_parse(struct ts_slice text, const char *job, struct col_emit *emit)
{
    struct ts_slice line;
    uint64_t v[3];
    while (col_line_next(&text, &line)) {
        line = col_trim(line);
        if (line.n && *line.p >= '0' && *line.p <= '9' && col_u64_row(line, v, 3) == 3) {
            status_emit(emit, metrics[2].name, v[0], job, "accepted");
            status_emit(emit, metrics[2].name, v[1], job, "handled");
            status_emit(emit, metrics[3].name, v[2], job, NULL);
        } else {
            status_labels(line, job, emit);
        }
    }
}

/* The collector's state. */
struct webstatus {
    struct col_targets nginx, apache; /* owned */
    int64_t timeout_ms;               /* for one page */
    struct ts_buf body;               /* of a page */
    struct ts_log_limit limit;        /* of complaints */
};

static bool webstatus_wanted(const struct ts_conf *conf)
{
    return *ts_conf_str(conf, "collect_nginx_status") || *ts_conf_str(conf, "collect_apache_status");
}

static void webstatus_release(void *state)
{
    struct webstatus *w = state;
    col_targets_release(&w->nginx);
    col_targets_release(&w->apache);
    ts_buf_release(&w->body);
    ts_free(w);
}

static int webstatus_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    const struct ts_conf *conf = ctx->conf;
    if (!webstatus_wanted(conf))
        return ts_error_set(err, TS_ENOTFOUND, "collect_nginx_status and collect_apache_status are empty");
    struct webstatus *w = ts_xcalloc(1, sizeof(*w));
    w->timeout_ms = ts_conf_int(conf, "collect_scrape_timeout_ms");
    ts_buf_init(&w->body, PAGE_BYTES);
    int rc = col_targets_parse(&w->nginx, "collect_nginx_status", ts_conf_str(conf, "collect_nginx_status"),
                               "/nginx_status", err);
    if (rc == 0)
        rc = col_targets_parse(&w->apache, "collect_apache_status",
                               ts_conf_str(conf, "collect_apache_status"), "/server-status?auto", err);
    if (rc < 0)
        webstatus_release(w);
    else
        *out_state = w;
    return rc;
}

static void webstatus_turn(struct webstatus *w, struct col_targets *l, const char *up, struct col_emit *emit)
{
    for (unsigned i = 0; i < l->n; i++) {
        bool there = col_target_turn(&l->p[i], w->timeout_ms, &w->body, &w->limit);
        if (there)
            col_webstatus_parse(ts_buf_get(&w->body), l->p[i].job, emit);
        col_emit_int(emit, up, there, COL_TAGS({"job", ts_slice_str(l->p[i].job)}));
    }
}

static int webstatus_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct webstatus *w = state;
    (void)err;
    webstatus_turn(w, &w->nginx, metrics[0].name, emit);
    webstatus_turn(w, &w->apache, metrics[4].name, emit);
    return 0;
}

/* With --once somebody wants to know whether it works. */
static int webstatus_once(void *state, struct col_emit *emit, struct ts_error *err)
{
    const struct webstatus *w = state;
    TS_TRY(webstatus_read(state, emit, err));
    TS_TRY(col_targets_failed(&w->nginx, err));
    return col_targets_failed(&w->apache, err);
}

const struct col_collector col_webstatus = {
    .name = "webstatus",
    .help = "Connections, requests and workers of nginx and Apache, from their status pages.",
    .metrics = metrics,
    .interval_s = 15,
    .by_request = true,
    .wanted = webstatus_wanted,
    .init = webstatus_init,
    .read = webstatus_read,
    .once = webstatus_once,
    .release = webstatus_release,
};
