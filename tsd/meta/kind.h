/*
 * kind.h - the kind of a metric: a gauge, a count of events, or a counter that grows; and its effect on
 * queries.
 *
 * The kind is the free text field `kind` of the metric (tsd metric set, /api/uid/uidmeta); metrics of the web
 * log collectors are counts without it.
 *
 *   count    each point is a number of new events: sum adds stored points without interpolation (as zimsum)
 *   counter  a value that only grows until it is reset: rate without options leaves out resets (as
 *   dropcounter)
 *   gauge    a state at a time; the default
 *
 * Threads    any
 * Not here   how the field is stored (uidmeta.h)
 */
#ifndef TSD_META_KIND_H
#define TSD_META_KIND_H

#include "query/query.h"

enum tsd_kind { TSD_KIND_GAUGE, TSD_KIND_COUNT, TSD_KIND_COUNTER };

/* Where the kind of a metric comes from. */
enum tsd_kind_source { TSD_KIND_DEFAULT, TSD_KIND_BUILT_IN, TSD_KIND_SET };
/* What is known of a metric. */
struct tsd_metric_info {
    enum tsd_kind kind;
    enum tsd_kind_source source;
    char unit[QRY_UNIT_BYTES]; /* as a user has set it; empty: not set */
    bool known;                /* there is a metric of this name */
};
/** Kind and unit of a metric that may be unknown. Cost: a lookup of its record if there are any records. */
void tsd_metric_look(struct sto_store *store, struct ts_slice metric, struct tsd_metric_info *out);
/** Kind by its name, "gauge", "count", "counter"; false if the name is unknown. */
bool tsd_kind_parse(struct ts_slice name, enum tsd_kind *out);
/** Adapt sum and rate of a query's sub queries to the kinds of their metrics, and set the units. Does nothing
 * with compat; totals get only units. For sub queries by TSUIDs the metric of the first TSUID counts, since
 * all have the same; with a remote store that is looked up there, within the limit (may be NULL). */
void tsd_kinds_apply(struct sto_store *store, struct qry_spec *spec, struct qry_limit *limit);

#endif
