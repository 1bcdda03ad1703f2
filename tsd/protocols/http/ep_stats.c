/*
 * ep_stats.c - /api/stats and /api/stats/query.
 *
 * Threads    the connection's worker
 * Source     docs/OPENTSDB.md, section 2.14: timestamp in seconds, value a string
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "base/num.h"
#include "base/time.h"
#include "tsd/net/stats.h"
#include "tsd/protocols/http/queries.h"

struct stats_out {
    struct ts_json json;
    const char *host; /* of the tag */
    int64_t now_s;    /* of every figure */
};

static void stats_each(void *arg, const char *name, const char *tag, uint64_t value)
{
    struct stats_out *s = arg;
    struct ts_json *j = &s->json;
    char text[160];
    const char *eq = strchr(tag, '=');
    ts_json_obj(j);
    (void)snprintf(text, sizeof(text), "tsd.%s", name);
    ts_json_member_str(j, "metric", text);
    ts_json_member_int(j, "timestamp", s->now_s);
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    ts_json_member_str(j, "value", text);
    ts_json_member_obj(j, "tags");
    if (eq) {
        ts_json_key_slice(j, (struct ts_slice){tag, (size_t)(eq - tag)});
        ts_json_str(j, eq + 1);
    }
    ts_json_member_str(j, "host", s->host);
    ts_json_obj_end(j);
    ts_json_obj_end(j);
}

void tsd_ep_stats(struct tsd_req *req)
{
    struct ts_buf b;
    struct stats_out s = {.host = req->d->host, .now_s = ts_clock_ms() / 1000};
    ts_buf_init(&b, 0);
    ts_json_init(&s.json, &b);
    ts_json_arr(&s.json);
    tsd_stats_each(req->d, stats_each, &s);
    ts_json_arr_end(&s.json);
    tsd_reply_json_take(req, 200, &b);
}

/* --- /api/stats/query --- */

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
