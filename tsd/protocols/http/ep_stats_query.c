/*
 * ep_stats_query.c - /api/stats/query: queries that run and that ran; DELETE with id ends one that runs.
 *
 * Threads    the connection's worker
 * Source     protocols-and-queries 2.14; id and DELETE are our own
 */
#include "tsd/protocols/http/ep.h"

#include "base/num.h"
#include "tsd/protocols/http/queries.h"

/* The parameter id; 0: not given. False when the request is answered. */
static bool query_id(struct tsd_req *req, uint64_t *out)
{
    struct ts_slice text;
    int64_t id;
    *out = 0;
    if (!tsd_req_param(req, "id", &text))
        return true;
    if (ts_num_parse_int(text, &id, NULL) < 0 || id < 1) {
        tsd_reply_error(req, 400, "Unable to parse 'id' as a number", "Take it from /api/stats/query");
        return false;
    }
    *out = (uint64_t)id;
    return true;
}

void tsd_ep_stats_query(struct tsd_req *req)
{
    struct ts_buf b;
    struct ts_json j;
    uint64_t id;
    if (!query_id(req, &id))
        return;
    if (req->method == TSD_DELETE) {
        if (!id)
            tsd_reply_error(req, 400, "Missing parameter <code>id</code>", "Take it from /api/stats/query");
        else if (tsd_queries_cancel(req->d->queries, id) < 0)
            tsd_reply_error(req, 404, "No query with this id is running", NULL);
        else
            tsd_reply_empty(req, 204);
        return;
    }
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    tsd_queries_print(req->d->queries, id, &j);
    tsd_reply_json_take(req, 200, &b);
}
