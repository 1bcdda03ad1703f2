/*
 * ep_health.c - for programs that watch the daemon: does it run, is it ready, what does it count.
 *
 * Threads    the connection's worker
 */
#include "tsd/protocols/http/ep.h"

#include "tsd/daemon/health.h"
#include "tsd/net/prometheus.h"
#include "tsd/net/stats.h"

void tsd_ep_healthz(struct tsd_req *req)
{
    tsd_reply(req, 200, tsd_type_text, TS_SLICE_LIT("ok\n"));
}

/* A line for each problem that blocks; if none does, "ready" and a line for each of the others. */
void tsd_ep_readyz(struct tsd_req *req)
{
    struct tsd_health h;
    struct ts_buf b;
    tsd_health_look(req->d, false, &h);
    bool ready = tsd_health_ready(&h);
    ts_buf_init(&b, 0);
    if (ready)
        ts_buf_str(&b, "ready\n");
    for (size_t i = 0; i < h.n; i++)
        if (ready || h.problems[i].blocks)
            ts_buf_printf(&b, "%s: %s\n", h.problems[i].what, h.problems[i].action);
    tsd_reply(req, ready ? 200 : 503, tsd_type_text, ts_buf_get(&b));
    ts_buf_release(&b);
}

void tsd_ep_metrics_text(struct tsd_req *req)
{
    struct tsd_prometheus p;
    struct ts_buf b;
    tsd_prometheus_init(&p);
    ts_buf_init(&b, 0);
    tsd_stats_each(req->d, tsd_prometheus_add, &p);
    tsd_prometheus_print(&p, &b);
    tsd_reply(req, 200, TSD_PROMETHEUS_TYPE, ts_buf_get(&b));
    ts_buf_release(&b);
    tsd_prometheus_release(&p);
}
