/*
 * deleted.c - counts deleted points and reports them.
 *
 * Threads    see answers.h
 */
#include "tsd/format/answers.h"

#include "base/array.h"
#include "base/json.h"
#include "base/mem.h"
#include "tsd/format/out.h"

static const struct {
    enum qry_kind kind;
    const char *name, *one, *many;
} deleted_kinds[TSD_DELETED_KINDS] = {{QRY_KIND_POINTS, "points", "point", "points"},
                                      {QRY_KIND_ROLLUPS, "rollups", "rollup", "rollups"},
                                      {QRY_KIND_HISTOGRAMS, "histograms", "histogram", "histograms"}};

void tsd_deleted_init(struct tsd_deleted *d, const struct qry_spec *spec, bool dry, struct ts_arena *arena)
{
    *d = (struct tsd_deleted){.spec = spec, .dry = dry};
    d->subs = ts_arena_zalloc(arena, (spec->n_subs + 1) * sizeof *d->subs);
}

void tsd_deleted_release(struct tsd_deleted *d)
{
    ts_free(d->targets);
    d->targets = NULL;
    d->n = d->cap = 0;
}

static int deleted_take(void *arg, const struct qry_delete_target *x, struct ts_error *err)
{
    struct tsd_deleted *d = arg;
    (void)err;
    TS_ARRAY_GROW(d->targets, d->n, d->cap, 64);
    d->targets[d->n++] = *x;
    for (size_t k = 0; x->counts && k < TSD_DELETED_KINDS; k++) {
        if (deleted_kinds[k].kind != x->kind)
            continue;
        d->subs[x->sub][k].n_series++;
        d->subs[x->sub][k].n_points += x->n_points;
    }
    return 0;
}

int tsd_deleted_find(struct tsd_deleted *d, struct sto_store *st, struct qry_limit *limit,
                     struct ts_error *err)
{
    return qry_delete_find(st, d->spec, limit, deleted_take, d, err);
}

int tsd_deleted_find_aged(struct tsd_deleted *d, struct sto_store *st, size_t from, struct ts_error *err)
{
    size_t n = d->n - from;
    struct qry_delete_target *targets = ts_xmalloc((n + 1) * sizeof *targets); /* d->targets moves */
    if (n)
        memcpy(targets, d->targets + from, n * sizeof *targets);
    int rc = qry_delete_aged(st, targets, n, deleted_take, d, err);
    ts_free(targets);
    return rc;
}

uint64_t tsd_deleted_sum(const struct tsd_deleted *d)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < d->spec->n_subs; i++)
        for (size_t k = 0; k < TSD_DELETED_KINDS; k++)
            sum += d->subs[i][k].n_points;
    return sum;
}

/* The metric as it was requested; of ids the first one. */
static struct ts_slice deleted_name(const struct qry_sub *sub)
{
    return sub->n_tsuids ? sub->tsuids[0] : sub->metric;
}

static void deleted_json(const struct tsd_deleted *d, int64_t from_ms, int64_t to_ms, struct ts_buf *out)
{
    struct ts_json j;
    ts_json_init(&j, out);
    ts_json_obj(&j);
    ts_json_member_int(&j, "start", from_ms);
    ts_json_member_int(&j, "end", to_ms);
    ts_json_member_bool(&j, "deleted", !d->dry);
    ts_json_member_arr(&j, "queries");
    for (size_t i = 0; i < d->spec->n_subs; i++) {
        ts_json_obj(&j);
        ts_json_member_count(&j, "index", i);
        ts_json_member_slice(&j, "metric", deleted_name(&d->spec->subs[i]));
        for (size_t k = 0; k < TSD_DELETED_KINDS; k++) {
            ts_json_member_obj(&j, deleted_kinds[k].name);
            ts_json_member_count(&j, "series", d->subs[i][k].n_series);
            ts_json_member_count(&j, "count", d->subs[i][k].n_points);
            ts_json_obj_end(&j);
        }
        ts_json_obj_end(&j);
    }
    ts_json_arr_end(&j);
    ts_json_obj_end(&j);
}

static void deleted_text(const struct tsd_deleted *d, int64_t from_ms, int64_t to_ms, struct ts_buf *out)
{
    const char *verb = d->dry ? "would delete" : "deleted";
    const struct ts_tz *tz = d->spec->tz;
    for (size_t i = 0; i < d->spec->n_subs; i++) {
        struct ts_slice name = deleted_name(&d->spec->subs[i]);
        bool any = false;
        for (size_t k = 0; k < TSD_DELETED_KINDS; k++) {
            const struct tsd_deleted_count *c = &d->subs[i][k];
            if (!c->n_series)
                continue;
            ts_buf_printf(out, "%s %llu %s of %llu series of ", verb, (unsigned long long)c->n_points,
                          c->n_points == 1 ? deleted_kinds[k].one : deleted_kinds[k].many,
                          (unsigned long long)c->n_series);
            any = true;
            ts_buf_slice(out, name);
            ts_buf_str(out, ", ");
            tsd_out_time(out, from_ms + ts_tz_offset_ms(tz, from_ms));
            ts_buf_str(out, " to ");
            tsd_out_time(out, to_ms + ts_tz_offset_ms(tz, to_ms));
            ts_buf_printf(out, " %s\n", ts_tz_name(tz));
        }
        if (any)
            continue;
        ts_buf_printf(out, "%s nothing of ", verb);
        ts_buf_slice(out, name);
        ts_buf_char(out, '\n');
    }
}

int tsd_deleted_print(const struct tsd_deleted *d, bool json, struct ts_sink *sink, struct ts_error *err)
{
    struct ts_buf out;
    int64_t from_ms, to_ms;
    ts_buf_init(&out, 0);
    qry_delete_target_range(d->spec, &from_ms, &to_ms);
    if (json)
        deleted_json(d, from_ms, to_ms, &out);
    else
        deleted_text(d, from_ms, to_ms, &out);
    int rc = ts_sink_write(sink, ts_buf_get(&out), err);
    ts_buf_release(&out);
    return rc;
}
