/*
 * ep_put.c - POST /api/put, /api/incr, /api/rollup, /api/histogram: points, increments, rollups and histograms in JSON.
 *
 * Threads    the connection's worker
 * Source     docs/OPENTSDB.md, sections 2.2 to 2.4
 */
#include "tsd/protocols/http/ep.h"

#include "tsd/ingest/histogram.h"
#include "tsd/ingest/rollups.h"
#include "tsd/protocols/http/gzip.h"
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

/* --- /api/incr --- */

/* An increment must not be repeated, so what the store does not take after the first one is refused like a bad point: the
 * answer says which. */
static int incr_end(struct tsd_put_call *put, const struct tsd_put_point *p, int rc)
{
    struct tsd_ingest *in = tsd_put_ingest(put);
    int end = tsd_put_end(put, p, rc);
    if (end == 0 || !tsd_put_is_begun(put))
        return end;
    tsd_put_refuse(put, p, end,
                   end == TS_EBUSY || !in->msg.n ? ts_slice_str("the store is behind, send it again later")
                                                 : ts_buf_get(&in->msg));
    return 0;
}

/* An increment of a body with an id: it is sent with all others, or not at all. */
static int incr_collect(struct tsd_put_call *put, const struct tsd_put_point *p,
                        const struct sto_series *series, int64_t ts_ms, struct ts_num v, bool ms)
{
    struct sto_point add = {
        .series = series, .m = v.m, .flags = sto_meta_flags(STO_OP_ADD, v.kind, v.exp, ms)};
    tsd_ingest_round(tsd_put_ingest(put), series, &ts_ms, &add.flags);
    add.ts_ms = ts_ms;
    if (!tsd_ingest_keeps(tsd_put_ingest(put), series, ts_ms))
        return tsd_put_end(put, p, tsd_ingest_expired(tsd_put_ingest(put), series));
    if (tsd_ingest_no_add(tsd_put_ingest(put), series))
        return tsd_put_end(put, p, TS_EINVAL);
    return tsd_put_end(put, p, tsd_put_collect(put, &add));
}

static int incr_point(struct tsd_put_call *put, const struct tsd_put_body *body, size_t i)
{
    struct tsd_ingest *in = tsd_put_ingest(put);
    const struct tsd_put_point *p = &body->points[i];
    const struct sto_series *series;
    struct tsd_time time;
    struct ts_num v;
    if (!tsd_put_check(put, p, true, &time) || !tsd_put_number(put, p, &time, &v))
        return 0;
    int rc = tsd_ingest_text(in, p->metric, p->tags, p->n_tags, &series);
    if (rc == 0 && tsd_put_has_once(put))
        return incr_collect(put, p, series, time.ts_ms, v, time.ms);
    if (tsd_put_has_once(put))
        return tsd_put_end(put, p, rc);
    if (rc == 0)
        rc = tsd_ingest_add(in, series, time.ts_ms, v.m, sto_meta_flags(STO_OP_ADD, v.kind, v.exp, time.ms),
                            tsd_put_asker(put));
    in->n_points += rc == 0;
    return incr_end(put, p, rc);
}

void tsd_ep_incr(struct tsd_req *req)
{
    tsd_put_serve_incr(req, incr_point);
}

/* --- /api/rollup --- */

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
        (void)tsd_memory_no_body(&tsd_put_daemon(put)->memory, tsd_put_arena(put)->budget, 0, &err);
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

/* --- /api/histogram --- */

/* The text of a number or string, in the arena. */
static struct ts_slice histogram_text(struct ts_arena *arena, const json_t *v)
{
    char text[TS_NUM_TEXT_BYTES];
    if (json_is_string(v))
        return (struct ts_slice){json_string_value(v), json_string_length(v)};
    if (!json_is_integer(v))
        return (struct ts_slice){"", 0};
    size_t n = ts_num_print_int(json_integer_value(v), text);
    return (struct ts_slice){ts_arena_strndup(arena, text, n), n};
}

static int histogram_buckets(struct ts_arena *arena, const json_t *item, struct tsd_histogram *h,
                             struct ts_buf *msg)
{
    json_t *buckets = json_object_get(item, "buckets"), *count;
    const char *key;
    tsd_histogram_clear(h);
    if (json_object_size(buckets) == 0) {
        ts_buf_clear(msg);
        ts_buf_str(msg, "Histogram buckets cannot be null or empty if 'value' is empty.");
        return TS_EINVAL;
    }
    json_object_foreach(buckets, key, count)
        TS_TRY(tsd_histogram_set(h, ts_slice_str(key), histogram_text(arena, count), msg));
    static const char *const ends[][2] = {{"underflow", "u"}, {"overflow", "o"}};
    for (int i = 0; i < 2; i++) {
        const json_t *v = json_object_get(item, ends[i][0]);
        if (v && !json_is_null(v))
            TS_TRY(tsd_histogram_set(h, ts_slice_str(ends[i][1]), histogram_text(arena, v), msg));
    }
    return 0;
}

static int histogram_read(struct tsd_put_call *put, const json_t *item, struct tsd_histogram *h)
{
    struct ts_buf *msg = &tsd_put_ingest(put)->msg;
    struct ts_slice value = histogram_text(tsd_put_arena(put), json_object_get(item, "value"));
    struct ts_slice id_text = histogram_text(tsd_put_arena(put), json_object_get(item, "id"));
    int64_t id = 0;
    ts_buf_clear(msg);
    if (value.n == 0)
        return histogram_buckets(tsd_put_arena(put), item, h, msg);
    if (id_text.n && ts_num_parse_int(id_text, &id, NULL) < 0)
        id = -1;
    return tsd_histogram_binary(h, &tsd_put_daemon(put)->set.histograms, id, value, msg);
}

static int histogram_point(struct tsd_put_call *put, const struct tsd_put_body *body, size_t i)
{
    const struct tsd_put_point *p = &body->points[i];
    struct tsd_histogram h = {.max = tsd_put_daemon(put)->set.histograms.max_buckets};
    struct tsd_time time;
    if (!tsd_put_check(put, p, false, &time))
        return 0;
    int rc = histogram_read(put, tsd_put_body_item(body, i), &h);
    if (rc == 0)
        rc = tsd_histogram_take(tsd_put_ingest(put), &tsd_put_daemon(put)->set.histograms, &h, p->metric,
                                p->tags, p->n_tags, &time);
    tsd_histogram_release(&h);
    return tsd_put_end(put, p, rc);
}

void tsd_ep_histogram(struct tsd_req *req)
{
    if (!req->d->set.histograms.on) {
        tsd_reply_error(req, 503, tsd_histograms_off, NULL);
        return;
    }
    tsd_put_serve(req, true, histogram_point);
}
