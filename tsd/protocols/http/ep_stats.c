/*
 * ep_stats.c - /api/stats.
 *
 * Threads    the connection's worker
 * Source     protocols-and-queries 2.14: timestamp in seconds, value a string
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "base/time.h"
#include "tsd/net/stats.h"

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
