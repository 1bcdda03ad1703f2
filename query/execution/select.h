/*
 * select.h - resolves the names of a query to ids and sets of series.
 *
 * Threads    any
 * Source     docs/OPENTSDB.md, section 4.3
 */
#ifndef QUERY_EXECUTION_SELECT_H
#define QUERY_EXECUTION_SELECT_H

#include "query/filters/filter.h"
#include "query/limit.h"
#include "query/view.h"
#include "storage/store.h"

/** Id of a metric; TS_ENOTFOUND "No such name for 'metrics': 'x'". */
int qry_select_metric(struct qry_view *view, struct ts_slice name, uint32_t *out_id, struct ts_error *err);
/** Id of a tag key; TS_ENOTFOUND with OpenTSDB's text. */
int qry_select_tagk(struct qry_view *view, struct ts_slice name, uint32_t *out_id, struct ts_error *err);
/** Id of a tag value; TS_ENOTFOUND with OpenTSDB's text. */
int qry_select_tagv(struct qry_view *view, struct ts_slice name, uint32_t *out_id, struct ts_error *err);
/** Append to the error "unknown name" the name that was probably meant, if one of the first 2,000 names of
 * its kind or one of others (terminated by NULL; may be NULL) is similar. */
void qry_select_near(const struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name,
                     const char *const *others, struct ts_error *err);
/** Append to the error "unknown name" a key similar to the first key of the filters that does not exist. */
void qry_select_near_filter(const struct qry_view *view, const struct qry_sub *sub, struct ts_error *err);
/** Times that a sub query may read, or more: series without points there are of no use. */
void qry_select_range(const struct qry_spec *spec, const struct qry_sub *sub, int64_t *out_from_ms,
                      int64_t *out_to_ms);
/** Times whose points the series of a sub query are read for: hours, the buckets at both ends included; from <= t < to. */
void qry_select_hours(const struct qry_spec *spec, const struct qry_sub *sub, int64_t *out_from_ms,
                      int64_t *out_to_ms);
/** The earliest time of which a sub query reads points, also of totals. */
int64_t qry_select_first(const struct qry_spec *spec, const struct qry_sub *sub);
/** Select from the catalog alone, where conditions with foreign ids match nothing. As sto_select. */
int qry_select_here(const struct qry_view *view, uint32_t metric, const struct sto_tag_cond *conds, size_t n,
                    bool explicit_tags, struct qry_budget *budget, roaring_bitmap_t **out_set,
                    struct ts_error *err);
/* Which series of a metric are wanted. */
struct qry_selection {
    struct ts_slice metric_name;
    uint32_t metric; /* its id */
    const struct qry_filter *filters;
    size_t n;
    bool explicit_tags;
    bool must_exist; /* an unknown tag value is TS_ENOTFOUND; otherwise it matches nothing */
    /* internal metrics of the metric, whose series show that visible ones exist (internal_metric.h) */
    const struct ts_slice *internal;
    size_t n_internal;
    int64_t from_ms, to_ms; /* the remote store reports series that may have points from <= t <= to */
    int64_t useful_from_ms; /* as in struct qry_view_ask */
};
/** Select the series that match all filters, here and in the remote store; the caller owns *out_set. TS_ELIMIT: too
 * many filters or series, or a regular expression took too many steps; errors of qry_budget_look and of
 * qry_view_add. */
int qry_select_filters(struct qry_view *view, const struct qry_selection *what, struct qry_budget *budget,
                       struct ts_arena *arena, roaring_bitmap_t **out_set, struct ts_error *err);
/** The limits of a run in the form that sto_select takes. */
struct sto_select_ctl qry_select_ctl(struct qry_budget *budget);
/** Store the series of a set, ascending by number, in *out (memory of the arena); takes ownership of set.
 * TS_ELIMIT (query_max_series, query_max_bytes), errors of qry_budget_look. */
int qry_select_series(const struct qry_view *view, roaring_bitmap_t *set, struct qry_budget *budget,
                      struct ts_arena *arena, const struct sto_series ***out, size_t *out_n,
                      struct ts_error *err);

#endif
