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

/** Kind of a metric that may be unknown (a gauge). Cost: a look at its record if there are any. */
enum tsd_kind tsd_kind_of(struct sto_store *store, struct ts_slice metric);
/** Kind by its name, "gauge", "count", "counter"; false if it is none. */
bool tsd_kind_parse(struct ts_slice name, enum tsd_kind *out);
/** Make sum and rate of a query's sub queries what the kinds of their metrics want. Nothing with compat, nothing for totals. */
void tsd_kinds_apply(struct sto_store *store, struct qry_spec *spec);

#endif
