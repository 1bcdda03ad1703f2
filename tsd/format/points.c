/*
 * points.c - NDJSON with a point a line: {"metric":"m","tags":{"k":"v"},"timestamp":1,"value":2}.
 *
 * Threads    see out.h
 * Not here   a series a line (json.c); totals, which have a line for each row there too
 */
#include "tsd/format/out.h"

#define POINT_LINE_BYTES 160 /* time, value and what stands between them */

static void points_head(const struct qry_series *s, struct ts_buf *b)
{
    struct ts_json j;
    ts_buf_clear(b);
    ts_json_init(&j, b);
    ts_json_obj(&j);
    ts_json_member_slice(&j, "metric", s->metric);
    ts_json_member_obj(&j, "tags");
    for (size_t i = 0; i < s->n_tags; i++)
        ts_json_member_slices(&j, s->tags[i].k, s->tags[i].v);
    ts_json_obj_end(&j);
    ts_buf_str(b, ",\"timestamp\":"); /* the object stays open */
}

static int points_series(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    bool iso = o->spec->times == QRY_TIMES_ISO;
    struct ts_buf time;
    int rc = 0;
    points_head(s, &o->scratch);
    ts_buf_init(&time, 0);
    for (size_t i = 0; i < s->n && rc >= 0; i++) {
        double d;
        ts_buf_clear(&time);
        if (iso)
            ts_time_print(o->spec->tz, s->ts_ms[i], false, &time);
        rc = ts_sink_write(o->sink, ts_buf_get(&o->scratch), err);
        if (rc >= 0)
            rc = ts_sink_room(o->sink, POINT_LINE_BYTES, err);
        if (rc < 0)
            break;
        char *p = o->sink->p;
        if (iso) {
            *p++ = '"';
            memcpy(p, time.p, time.n);
            p += time.n;
            *p++ = '"';
        } else {
            p += ts_num_print_int(o->spec->ms ? s->ts_ms[i] : ts_floor_div(s->ts_ms[i], 1000), p);
        }
        p = (char *)memcpy(p, ",\"value\":", 9) + 9;
        memcpy(&d, &s->v[i], 8);
        if (tsd_out_is_int(s, i))
            p += ts_num_print_int((int64_t)s->v[i], p);
        else
            p = tsd_out_json_double(p, d, s->nan_is_null);
        p = (char *)memcpy(p, "}\n", 2) + 2;
        o->sink->p = p;
    }
    ts_buf_release(&time);
    return rc < 0 ? rc : 0;
}

static int points_total(struct tsd_out *o, const struct qry_total *t, struct ts_error *err)
{
    return tsd_out_ndjson.total(o, t, err);
}

const struct tsd_out_format tsd_out_ndjson_points = {.name = "ndjson-points",
                                                     .content_type = "application/x-ndjson; charset=UTF-8",
                                                     .begin = tsd_out_nothing,
                                                     .series = points_series,
                                                     .total = points_total,
                                                     .end = tsd_out_nothing,
                                                     .help = "NDJSON, a point a line."};
