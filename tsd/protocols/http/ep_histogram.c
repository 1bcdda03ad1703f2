/*
 * ep_histogram.c - POST /api/histogram: histograms in JSON.
 *
 * Threads    the connection's worker
 * Source     protocols-and-queries 2.4
 */
#include "tsd/protocols/http/ep.h"
#include "tsd/protocols/http/put_call.h"
#include "tsd/ingest/histogram.h"

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
