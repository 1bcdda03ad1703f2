/*
 * exp.c - outputs of formulas as JSON.
 */
#include "tsd/format/answers.h"

#include <stdlib.h>

#include "base/json.h"
#include "tsd/format/out.h"

#define EXP_VALUE_BYTES 64 /* most that a time or a value takes */

int tsd_exp_begin(struct tsd_exp_out *o, struct ts_error *err)
{
    return ts_sink_str(o->sink, "{\"outputs\":[", err);
}

/* --- rows --- */
static int exp_row(struct ts_sink *k, const struct qry_exp_result *r, size_t row, struct ts_error *err)
{
    TS_TRY(ts_sink_room(k, EXP_VALUE_BYTES, err));
    if (row)
        *k->p++ = ',';
    *k->p++ = '[';
    k->p += ts_num_print_int(r->ts_ms[row], k->p);
    for (size_t i = 0; i < r->n_cols; i++) {
        TS_TRY(ts_sink_room(k, EXP_VALUE_BYTES, err));
        *k->p++ = ',';
        k->p = tsd_out_json_double(k->p, r->v[i][row], r->nan_is_null);
    }
    TS_TRY(ts_sink_room(k, EXP_VALUE_BYTES, err));
    *k->p++ = ']';
    return 0;
}

/* --- what the columns are --- */
static int exp_cmp_names(const void *a, const void *b)
{
    return ts_slice_cmp(((const struct qry_name *)a)->text, ((const struct qry_name *)b)->text);
}

static void exp_metrics(struct ts_json *j, const struct qry_label *l)
{
    struct qry_name *sorted = ts_xmalloc(l->n_metrics * sizeof(*sorted) + 1);
    if (l->n_metrics)
        memcpy(sorted, l->metrics, l->n_metrics * sizeof(*sorted));
    qsort(sorted, l->n_metrics, sizeof(*sorted), exp_cmp_names);
    ts_json_member_arr(j, "metrics");
    for (size_t i = 0; i < l->n_metrics; i++)
        ts_json_slice(j, sorted[i].text);
    ts_json_arr_end(j);
    ts_free(sorted);
}

/* OpenTSDB names the metrics of the first column at all of them. */
static void exp_column(struct ts_json *j, const struct tsd_exp_out *o, const struct qry_exp_result *r,
                       size_t i)
{
    const struct qry_label *l = &r->labels[i].label;
    ts_json_obj(j);
    ts_json_member_int(j, "index", (int64_t)i + 1);
    exp_metrics(j, o->q->spec.compat ? &r->labels[0].label : l);
    ts_json_member_obj(j, "commonTags");
    for (size_t t = 0; t < l->n_tags; t++)
        ts_json_member_slices(j, l->tags[t].k.text, l->tags[t].v.text);
    ts_json_obj_end(j);
    ts_json_member_arr(j, "aggregatedTags");
    for (size_t t = 0; t < l->n_agg_tags; t++)
        ts_json_slice(j, l->agg_tags[t].text);
    ts_json_arr_end(j);
    ts_json_obj_end(j);
}

static int exp_meta(struct tsd_exp_out *o, const struct qry_exp_result *r, struct ts_error *err)
{
    struct ts_json j;
    ts_buf_clear(&o->scratch);
    /* one row is first, not last */
    ts_buf_printf(
        &o->scratch,
        "],\"dpsMeta\":{\"firstTimestamp\":%lld,\"lastTimestamp\":%lld,\"setCount\":%zu,\"series\":%zu},"
        "\"meta\":[{\"index\":0,\"metrics\":[\"timestamp\"]}",
        r->n_rows ? (long long)r->ts_ms[0] : 0,
        r->n_rows > (o->q->spec.compat ? 1 : 0) ? (long long)r->ts_ms[r->n_rows - 1] : 0, r->n_rows,
        r->n_cols);
    for (size_t i = 0; i < r->n_cols; i++) {
        ts_json_init(&j, &o->scratch);
        ts_buf_char(&o->scratch, ',');
        exp_column(&j, o, r, i);
        if (o->scratch.n < TS_SINK_MAX_ROOM)
            continue;
        TS_TRY(ts_sink_write(o->sink, ts_buf_get(&o->scratch), err));
        ts_buf_clear(&o->scratch);
    }
    ts_buf_str(&o->scratch, "]}");
    return ts_sink_write(o->sink, ts_buf_get(&o->scratch), err);
}

int tsd_exp_output(void *arg, const struct qry_exp_result *r, struct ts_error *err)
{
    struct tsd_exp_out *o = arg;
    struct ts_json j;
    ts_buf_clear(&o->scratch);
    if (o->n++)
        ts_buf_char(&o->scratch, ',');
    ts_json_init(&j, &o->scratch);
    ts_json_obj(&j);
    ts_json_member_slice(&j, "id", r->output->id);
    if (r->output->alias.p)
        ts_json_member_slice(&j, "alias", r->output->alias);
    ts_json_key(&j, "dps");
    ts_buf_char(&o->scratch, '[');
    TS_TRY(ts_sink_write(o->sink, ts_buf_get(&o->scratch), err));
    for (size_t row = 0; row < r->n_rows; row++)
        TS_TRY(exp_row(o->sink, r, row, err));
    return exp_meta(o, r, err);
}

int tsd_exp_end(struct tsd_exp_out *o, struct ts_error *err)
{
    struct ts_json j;
    ts_buf_clear(&o->scratch);
    ts_buf_str(&o->scratch, "],\"query\":");
    ts_json_init(&j, &o->scratch);
    tsd_exp_echo(o->q, &j);
    ts_buf_char(&o->scratch, '}');
    return ts_sink_write(o->sink, ts_buf_get(&o->scratch), err);
}
