/*
 * kind.h - what a metric is: a gauge, a count of things, or a counter that grows; and what queries make of it.
 *
 * The kind is the free text field `kind` of the metric (tsd metric set, /api/uid/uidmeta); metrics of the web log
 * collectors are counts without it.
 *
 *   count    each point is so many things of its own: sum adds what is there and draws no line between points (as zimsum)
 *   counter  a value that only grows and begins anew: rate without options leaves out what a reset makes (as dropcounter)
 *   gauge    a state at a time; the default
 *
 * Threads    any
 * Not here   how the field is stored (uidmeta.h)
 */
#ifndef TSD_META_KIND_H
#define TSD_META_KIND_H

#include "query/query.h"

enum tsd_kind { TSD_KIND_GAUGE, TSD_KIND_COUNT, TSD_KIND_COUNTER };

/* Who says what kind a metric is of. */
enum tsd_kind_source { TSD_KIND_DEFAULT, TSD_KIND_BUILT_IN, TSD_KIND_SET };
/* What is known of a metric. */
struct tsd_metric_info {
    enum tsd_kind kind;
    enum tsd_kind_source source;
    char unit[QRY_UNIT_BYTES]; /* as people say it; empty: nobody did */
    bool known;                /* there is a metric of this name */
};
/** Kind and unit of a metric that may be unknown. Cost: a look at its record if there are any. */
void tsd_metric_look(struct sto_store *store, struct ts_slice metric, struct tsd_metric_info *out);
/** "gauge", "count", "counter". */
const char *tsd_kind_name(enum tsd_kind kind);
/** Kind by its name, "gauge", "count", "counter"; false if it is none. */
bool tsd_kind_parse(struct ts_slice name, enum tsd_kind *out);
/** Make sum and rate of a query's sub queries what the kinds of their metrics want, and tell them the units. Nothing with compat; totals
 * get units alone. Sub queries by TSUIDs are looked at by the metric of the first one, since all have the same. */
void tsd_kinds_apply(struct sto_store *store, struct qry_spec *spec);

#endif
