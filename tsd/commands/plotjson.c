/*
 * plotjson.c - from the JSON of a thinned answer to series of a picture, with the figures of all points.
 *
 * Threads    see plot.h
 * Not here   text and CSV (plotdata.c)
 */
#include "base/json.h"
#include "base/time.h"
#include "tsd/commands/plot.h"

#include <math.h>

#define JSON_GAP_TIMES 5 /* a gap of so many average distances ends a line */

/* A number; null and "NaN" are none. */
static int json_number(const json_t *v, double *out, struct ts_error *err)
{
    const char *text = json_string_value(v);
    *out = NAN;
    if (json_is_number(v))
        *out = json_number_value(v);
    else if (text && ts_slice_is(ts_slice_str(text), "NaN"))
        return 0;
    else if (text)
        return ts_error_set(err, TS_EINVAL, "an infinite value can't be drawn");
    return 0;
}

/* Figures of a series; without a value they stay empty. */
static int json_figures(const json_t *v, struct tsd_plot_figures *out, struct ts_error *err)
{
    *out = (struct tsd_plot_figures){.n = (uint64_t)json_integer_value(json_object_get(v, "count"))};
    TS_TRY(json_number(json_object_get(v, "min"), &out->min, err));
    TS_TRY(json_number(json_object_get(v, "max"), &out->max, err));
    TS_TRY(json_number(json_object_get(v, "avg"), &out->avg, err));
    TS_TRY(json_number(json_object_get(v, "sum"), &out->sum, err));
    return json_number(json_object_get(v, "last"), &out->last, err);
}

static int json_points(const json_t *dps, bool ms, struct tsd_plot_series *s, struct ts_error *err)
{
    size_t i;
    json_t *pair;
    json_array_foreach(dps, i, pair)
    {
        const json_t *at = json_array_get(pair, 0);
        double y;
        if (!json_is_integer(at) || json_array_size(pair) != 2)
            return ts_error_set(err, TS_EPARSE, "a point in the answer is no pair of time and value");
        TS_TRY(json_number(json_array_get(pair, 1), &y, err));
        tsd_plot__add(s, ms ? ts_floor_div(json_integer_value(at), 1000) : json_integer_value(at), y);
    }
    return 0;
}

/* "metric {k=v, k2=v2}". */
static void json_name(const json_t *row, struct ts_buf *name)
{
    const char *metric = json_string_value(json_object_get(row, "metric")), *k;
    json_t *tags = json_object_get(row, "tags"), *v;
    bool first = true;
    ts_buf_clear(name);
    ts_buf_str(name, metric ? metric : "");
    json_object_foreach(tags, k, v)
    {
        const char *value = json_string_value(v);
        ts_buf_printf(name, "%s%s=%s", first ? " {" : ", ", k, value ? value : "");
        first = false;
    }
    ts_buf_str(name, first ? "" : "}");
}

/* Distances between thinned points say little: the average one between all points decides, at least two columns. */
static void json_gap(const struct tsd_plot *p, struct tsd_plot_series *s, int64_t n_columns)
{
    if (s->n < 2 || s->figures.n < 2)
        return;
    int64_t usual_s = (s->x_s[s->n - 1] - s->x_s[0]) / (int64_t)(s->figures.n - 1) + 1;
    int64_t column_s = n_columns ? (p->to_ms - p->from_ms) / 1000 / n_columns + 1 : 1;
    s->gap_s = usual_s * JSON_GAP_TIMES > 2 * column_s ? usual_s * JSON_GAP_TIMES : 2 * column_s;
}

int tsd_plot_read_json(struct tsd_plot *p, struct ts_slice text, bool ms, int64_t n_columns,
                       struct ts_error *err)
{
    struct ts_buf name;
    json_t *root, *row;
    size_t i;
    int rc = 0;
    TS_TRY(ts_json_load(text, &root, err));
    ts_buf_init(&name, 0);
    p->named = true;
    json_array_foreach(root, i, row)
    {
        json_name(row, &name);
        struct tsd_plot_series *s = tsd_plot__series(p, &name, true);
        rc = json_points(json_object_get(row, "dps"), ms, s, err);
        rc = rc < 0 ? rc : json_figures(json_object_get(row, "figures"), &s->figures, err);
        if (rc < 0)
            break;
        json_gap(p, s, n_columns);
    }
    ts_buf_release(&name);
    json_decref(root);
    return rc;
}
