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
#include "storage/store.h"

/** Id of a metric; TS_ENOTFOUND "No such name for 'metrics': 'x'". */
int qry_select_metric(struct sto_catalog *cat, struct ts_slice name, uint32_t *out_id, struct ts_error *err);
/** Id of a tag key; TS_ENOTFOUND with OpenTSDB's text. */
int qry_select_tagk(struct sto_catalog *cat, struct ts_slice name, uint32_t *out_id, struct ts_error *err);
/** Append to the error "unknown name" the name that was probably meant, if one of the first 2,000 names of
 * its kind or one of others (terminated by NULL; may be NULL) is similar. */
void qry_select_near(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name,
                     const char *const *others, struct ts_error *err);
/** Select the series of a metric that match all filters; the caller owns *out_set. An unknown tag value
 * matches nothing; with must_exist it is TS_ENOTFOUND. TS_ELIMIT: too many filters, or a regular expression
 * took too many steps; errors of qry_budget_look. */
int qry_select_filters(struct sto_catalog *cat, uint32_t metric, const struct qry_filter *filters, size_t n,
                       bool explicit_tags, bool must_exist, struct qry_budget *budget, struct ts_arena *arena,
                       roaring_bitmap_t **out_set, struct ts_error *err);
/** The limits of a run in the form that sto_select takes. */
struct sto_select_ctl qry_select_ctl(struct qry_budget *budget);
#define QRY_TSUID_MAX_IDS 511 /* a metric and 255 tags */
/** Ids of a hex TSUID: the metric, then keys and values in turn. 0, TS_EINVAL. */
int qry_tsuid_ids(struct ts_slice hex, uint32_t ids[QRY_TSUID_MAX_IDS], size_t *out_n);
/** Series by hex TSUID; TS_EINVAL, TS_ENOTFOUND. */
int qry_select_tsuid(struct sto_catalog *cat, struct ts_slice hex, const struct sto_series **out,
                     struct ts_error *err);
/** Store the series of a set, ascending by number, in *out (memory of the arena); takes ownership of set.
 * TS_ELIMIT (query_max_series, query_max_bytes), errors of qry_budget_look. */
int qry_select_series(const struct sto_catalog *cat, roaring_bitmap_t *set, struct qry_budget *budget,
                      struct ts_arena *arena, const struct sto_series ***out, size_t *out_n,
                      struct ts_error *err);

#endif
