/*
 * search_lookup.h - lookup of series by the exact names of metric and tags.
 *
 * Threads    a lookup belongs to one thread
 * Source     docs/OPENTSDB.md, section 5.3
 */
#ifndef TSD_META_SEARCH_LOOKUP_H
#define TSD_META_SEARCH_LOOKUP_H

#include "base/json.h"
#include "base/mem.h"
#include "query/query.h"

/* What is looked up. "" and "*" mean any. */
struct tsd_lookup {
    struct ts_slice metric;     /* "" = any */
    struct sto_tag_text *pairs; /* as requested; one key twice: either value */
    size_t n_pairs;             /* how many */
    bool compat;                /* errors do not name similar names */
};

/** Parse "[metric]{k=v,...}" or "metric"; an empty text is TS_EINVAL with OpenTSDB's text. Slices
 * point into m. */
int tsd_lookup_parse(struct ts_slice m, struct ts_arena *arena, struct tsd_lookup *out, struct ts_error *err);

/** Are all names known, here or to the remote store? 0, or TS_ENOTFOUND "No such name for 'tagv': 'x'", without compat with a similar name;
 * errors of query/view.h. */
int tsd_lookup_check(struct qry_view *view, const struct tsd_lookup *what, struct ts_error *err);
/* Gets a series; false to stop. */
typedef bool (*tsd_lookup_fn)(void *arg, const struct sto_series *s);
/**
 * Series that match, in the order of their numbers; then those that only the remote store has, metric by metric, in the order of names.
 *
 * @param limit  ends it when cancelled or too late; may be NULL
 * @return 0; TS_ENOTFOUND "No such name for 'tagv': 'x'"; TS_ECANCELLED; TS_ETIMEOUT; errors of query/view.h
 *
 * Cost: with a metric as sto_select; without one ~10 ns for each series there is. With a remote store it reads the keys of all rows of the
 * metric, or of all metrics, there.
 */
int tsd_lookup_run(struct qry_view *view, const struct tsd_lookup *what, struct qry_limit *limit,
                   tsd_lookup_fn each, void *arg, struct ts_error *err);
/** Write the members "tsuid", "metric" and "tags" of a series; without "tsuid" if it has none. 0; errors of query/ids.h. */
int tsd_lookup_members(struct qry_view *view, const struct sto_series *s, struct ts_json *j,
                       struct ts_error *err);

#endif
