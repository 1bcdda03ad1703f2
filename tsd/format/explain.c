/*
 * explain.c - two forms of one answer.
 *
 * Threads    see answers.h
 */
#include "tsd/format/answers.h"

#include "base/json.h"
#include "query/aggregators/agg.h"
#include "tsd/format/out.h"

/* --- JSON --- */

static void put_counts(struct ts_json *j, const struct sto_scan_cost *c)
{
    ts_json_member_count(j, "rows", c->n_rows);
    ts_json_member_count(j, "points", c->n_points);
    ts_json_member_count(j, "summaries", c->n_sums);
    ts_json_member_count(j, "blocks", c->n_blocks);
    ts_json_member_count(j, "bytes", c->n_bytes);
    ts_json_member_count(j, "summaryBlocks", c->n_sum_blocks);
    ts_json_member_count(j, "summaryBytes", c->n_sum_bytes);
    ts_json_member_count(j, "deletes", c->n_tombs);
}

/* Times of what holds deletes alone are none. */
static void put_span(struct ts_json *j, const struct sto_scan_cost *c)
{
    if (c->min_ms > c->max_ms)
        return;
    ts_json_member_int(j, "from", c->min_ms);
    ts_json_member_int(j, "to", c->max_ms);
}

static void put_file(struct ts_json *j, const struct sto_scan_cost *c)
{
    ts_json_obj(j);
    ts_json_member_count(j, "file", c->file_no);
    put_span(j, c);
    ts_json_member_count(j, "series", c->n_series);
    put_counts(j, c);
    if (c->broken)
        ts_json_member_str(j, "broken", c->broken);
    ts_json_obj_end(j);
}

static void put_sub(struct ts_json *j, size_t index, const struct qry_explained *e)
{
    ts_json_obj(j);
    ts_json_member_count(j, "index", index);
    ts_json_member_slice(j, "metric", e->metric);
    ts_json_member_str(j, "aggregator", e->sub->agg->name);
    ts_json_member_str(j, "reads", e->reads);
    ts_json_member_count(j, "scans", e->n_scans);
    ts_json_member_count(j, "series", e->n_series);
    ts_json_member_count(j, "groups", e->n_groups);
    ts_json_member_int(j, "from", e->from_ms);
    ts_json_member_int(j, "to", e->to_ms);
    ts_json_member_int(j, "hours", e->n_hours);
    ts_json_member_int(j, "summaryHours", e->n_whole);
    if (e->kept) {
        ts_json_member_str(j, "keptTotal", e->kept);
        ts_json_member_int(j, "keptHours", e->n_kept_hours);
    }
    if (e->n_expired_hours || e->n_expired_days) {
        ts_json_member_count(j, "expiredHours", e->n_expired_hours);
        ts_json_member_count(j, "expiredDays", e->n_expired_days);
    }
    ts_json_member_arr(j, "files");
    for (size_t i = 0; i < e->n_files; i++)
        put_file(j, &e->files[i]);
    ts_json_arr_end(j);
    ts_json_member_obj(j, "memory");
    ts_json_member_count(j, "memstores", e->n_memstores);
    ts_json_member_count(j, "series", e->memory.n_series);
    put_counts(j, &e->memory);
    ts_json_obj_end(j);
    ts_json_member_obj(j, "total");
    ts_json_member_count(j, "files", e->n_files);
    put_counts(j, &e->total);
    ts_json_obj_end(j);
    ts_json_obj_end(j);
}

static void put_limit(struct ts_json *j, const struct qry_explained_limit *l)
{
    ts_json_obj(j);
    ts_json_member_str(j, "key", l->key);
    ts_json_member_count(j, "limit", l->limit);
    ts_json_key(j, "needs");
    if (l->known)
        ts_json_int(j, (int64_t)l->needs);
    else
        ts_json_null(j);
    ts_json_member_bool(j, "refused", l->refused);
    ts_json_obj_end(j);
}

static void explain_json(const struct qry_spec *spec, const struct qry_explain *x, struct ts_buf *out)
{
    struct ts_json j;
    ts_json_init(&j, out);
    ts_json_obj(&j);
    ts_json_member_int(&j, "start", spec->start_ms);
    ts_json_member_int(&j, "end", spec->end_ms);
    ts_json_member_arr(&j, "queries");
    for (size_t i = 0; i < x->n_subs; i++)
        put_sub(&j, i, &x->subs[i]);
    ts_json_arr_end(&j);
    ts_json_member_arr(&j, "limits");
    for (size_t i = 0; i < QRY_EXPLAINED_LIMITS; i++)
        put_limit(&j, &x->limits[i]);
    ts_json_arr_end(&j);
    ts_json_obj_end(&j);
}

/* --- text --- */

static void say_n(struct ts_buf *b, uint64_t n, const char *one, const char *many)
{
    ts_buf_printf(b, "%llu %s", (unsigned long long)n, n == 1 ? one : many);
}

static void say_cost(struct ts_buf *b, const struct sto_scan_cost *c)
{
    const char *about = c->memory ? "" : "about ";
    say_n(b, c->n_series, "series", "series");
    if (c->n_rows) {
        ts_buf_printf(b, ", %s", about);
        say_n(b, c->n_rows, "row", "rows");
        ts_buf_str(b, " of ");
        say_n(b, c->n_points, "point", "points");
    }
    if (c->n_blocks) {
        ts_buf_str(b, " in ");
        say_n(b, c->n_blocks, "block", "blocks");
        ts_buf_printf(b, " (%llu bytes)", (unsigned long long)c->n_bytes);
    }
    if (c->n_sum_blocks) {
        ts_buf_printf(b, ", %s", about);
        say_n(b, c->n_sums, "summary", "summaries");
        ts_buf_str(b, " in ");
        say_n(b, c->n_sum_blocks, "block", "blocks");
        ts_buf_printf(b, " (%llu bytes)", (unsigned long long)c->n_sum_bytes);
    }
    if (c->n_tombs) {
        ts_buf_str(b, ", ");
        say_n(b, c->n_tombs, "delete", "deletes");
    }
    ts_buf_char(b, '\n');
}

static void say_file(struct ts_buf *b, const struct sto_scan_cost *c)
{
    ts_buf_printf(b, "  file %08llu  ", (unsigned long long)c->file_no);
    if (c->min_ms > c->max_ms) {
        ts_buf_str(b, "only deletes");
    } else {
        tsd_out_time(b, c->min_ms);
        ts_buf_str(b, " to ");
        tsd_out_time(b, c->max_ms);
    }
    ts_buf_str(b, "  ");
    if (c->broken)
        ts_buf_printf(b, "can't be read: %s\n", c->broken);
    else
        say_cost(b, c);
}

static void say_sub(struct ts_buf *b, const struct qry_explained *e)
{
    const struct sto_scan_cost *t = &e->total;
    ts_buf_printf(b, "%s ", e->sub->agg->name);
    ts_buf_slice(b, e->metric);
    ts_buf_str(b, ": ");
    say_n(b, e->n_series, "series", "series");
    ts_buf_str(b, " in ");
    say_n(b, e->n_groups, "group", "groups");
    ts_buf_printf(b, ", reads %s", e->reads);
    if (e->n_scans > 1)
        ts_buf_printf(b, " (%zu scans)", e->n_scans);
    ts_buf_char(b, '\n');
    if (e->from_ms == e->to_ms) {
        ts_buf_str(b, "  nothing is stored in this time\n");
        return;
    }
    ts_buf_str(b, "  reads ");
    tsd_out_time(b, e->from_ms);
    ts_buf_str(b, " up to ");
    tsd_out_time(b, e->to_ms);
    ts_buf_printf(b, " UTC, %lld hours, of them by summaries where there are some: %lld\n",
                  (long long)e->n_hours, (long long)e->n_whole);
    if (e->kept)
        ts_buf_printf(b, "  a kept total over %s answers %lld hours; the rest:\n", e->kept,
                      (long long)e->n_kept_hours);
    if (e->n_expired_hours || e->n_expired_days) {
        ts_buf_str(b, "  among the summaries are about ");
        if (e->n_expired_hours)
            ts_buf_printf(b, "%llu of hours%s", (unsigned long long)e->n_expired_hours,
                          e->n_expired_days ? " and " : "");
        if (e->n_expired_days)
            ts_buf_printf(b, "%llu of days", (unsigned long long)e->n_expired_days);
        ts_buf_str(b, " whose points have expired\n");
    }
    for (size_t i = 0; i < e->n_files; i++)
        say_file(b, &e->files[i]);
    if (e->n_memstores) {
        ts_buf_str(b, "  memory  ");
        say_cost(b, &e->memory);
    }
    ts_buf_printf(
        b, "  total: %zu %s, about %llu rows of %llu points, %llu summaries, %llu blocks, %llu bytes\n",
        e->n_files, e->n_files == 1 ? "file" : "files", (unsigned long long)t->n_rows,
        (unsigned long long)t->n_points, (unsigned long long)t->n_sums,
        (unsigned long long)(t->n_blocks + t->n_sum_blocks),
        (unsigned long long)(t->n_bytes + t->n_sum_bytes));
}

static void explain_text(const struct qry_explain *x, struct ts_buf *out)
{
    for (size_t i = 0; i < x->n_subs; i++)
        say_sub(out, &x->subs[i]);
    for (size_t i = 0; i < QRY_EXPLAINED_LIMITS; i++) {
        const struct qry_explained_limit *l = &x->limits[i];
        if (!l->limit)
            continue;
        ts_buf_printf(out, "limit %s = %llu", l->key, (unsigned long long)l->limit);
        if (l->known)
            ts_buf_printf(out, ", needs about %llu", (unsigned long long)l->needs);
        ts_buf_str(out, l->refused ? ": WOULD BE REFUSED\n" : "\n");
    }
}

int tsd_explain_run(struct sto_store *store, const struct qry_spec *spec, struct qry_limit *limit,
                    int64_t timeout_ms, bool json, struct ts_sink *sink, struct ts_error *err)
{
    struct ts_arena arena;
    struct qry_explain x;
    struct ts_buf out;
    ts_arena_init(&arena, 0);
    ts_buf_init(&out, 0);
    int rc = qry_explain(store, spec, limit, timeout_ms, &arena, &x, err);
    if (rc == 0) {
        if (json)
            explain_json(spec, &x, &out);
        else
            explain_text(&x, &out);
        rc = ts_sink_write(sink, ts_buf_get(&out), err);
    }
    ts_buf_release(&out);
    ts_arena_release(&arena);
    return rc;
}
