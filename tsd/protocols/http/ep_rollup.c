/*
 * ep_rollup.c - POST /api/rollup: points of rollups in JSON.
 *
 * Threads    the connection's worker
 * Source     protocols-and-queries 2.3
 */
#include "tsd/protocols/http/ep.h"
#include "tsd/protocols/http/gzip.h"
#include "tsd/protocols/http/put_call.h"
#include "tsd/ingest/rollups.h"

static struct ts_slice rollup_word(const json_t *item, const char *name)
{
    const json_t *v = json_object_get(item, name);
    return (struct ts_slice){json_string_value(v), json_string_length(v)};
}

static int rollup_point(struct tsd_put_call *put, const struct tsd_put_body *body, size_t i)
{
    struct tsd_ingest *in = tsd_put_ingest(put);
    const struct tsd_put_point *p = &body->points[i];
    const json_t *item = tsd_put_body_item(body, i);
    struct tsd_time time;
    struct ts_num v;
    struct tsd_rollup_words words = {.interval = rollup_word(item, "interval"),
                                     .aggregator = rollup_word(item, "aggregator"),
                                     .group_by = rollup_word(item, "groupByAggregator")};
    if (!tsd_put_check(put, p, true, &time))
        return 0;
    bool interval_less = !words.interval.n && (words.aggregator.n || !words.group_by.n);
    if (interval_less || (words.interval.n && !words.aggregator.n)) {
        tsd_put_refuse(put, p, TS_EINVAL,
                       ts_slice_str(interval_less ? "Missing interval" : "Missing aggregator"));
        return 0;
    }
    if (!tsd_put_number(put, p, &time, &v))
        return 0;
    struct sto_tag_text *tags = ts_arena_try(tsd_put_arena(put), (p->n_tags + 1) * sizeof(*tags));
    if (!tags) {
        struct ts_error err = {0};
        (void)tsd_memory_no_body(&tsd_put_daemon(put)->memory, tsd_put_arena(put)->budget, &err);
        ts_buf_clear(&in->msg);
        ts_buf_str(&in->msg, err.text);
        return tsd_put_end(put, p, TS_ENOMEM);
    }
    memcpy(tags, p->tags, p->n_tags * sizeof(*tags));
    return tsd_put_end(put, p,
                       tsd_rollup_take(in, &tsd_put_daemon(put)->set.rollups, &words, p->metric, tags,
                                       p->n_tags, &time, p->value, v));
}

void tsd_ep_rollup(struct tsd_req *req)
{
    tsd_put_serve(req, true, rollup_point);
}
