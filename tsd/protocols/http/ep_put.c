/*
 * ep_put.c - POST /api/put: points in JSON.
 *
 * Threads    the connection's worker
 * Source     protocols-and-queries 2.2
 */
#include "tsd/protocols/http/ep.h"
#include "tsd/protocols/http/put_call.h"

static int put_point(struct tsd_put_call *put, const struct tsd_put_body *body, size_t i)
{
    struct tsd_ingest *in = tsd_put_ingest(put);
    const struct tsd_put_point *p = &body->points[i];
    const struct sto_series *series;
    struct tsd_time time;
    struct ts_num v;
    if (!tsd_put_check(put, p, true, &time) || !tsd_put_number(put, p, &time, &v))
        return 0;
    int rc = tsd_ingest_text(in, p->metric, p->tags, p->n_tags, &series);
    if (rc == 0)
        rc =
            tsd_ingest_point(in, series, time.ts_ms, v.m, sto_meta_flags(STO_OP_PUT, v.kind, v.exp, time.ms));
    in->n_points += rc == 0;
    return tsd_put_end(put, p, rc);
}

void tsd_ep_put(struct tsd_req *req)
{
    tsd_put_serve(req, false, put_point);
}
