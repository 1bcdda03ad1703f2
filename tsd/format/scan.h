/*
 * scan.h - rows of series in the form of OpenTSDB's scan: keys, qualifiers and values as they would lie in its table; or as
 * lines of import.
 *
 *   [0, 0, 1, 80, -30, 39, 0, 0, 0, 1, 0, 0, 1] METRIC 1356998400 (Tue Jan 01 00:00:00 UTC 2013) {host=web01}
 *     [0, 0]<TAB>[42]<TAB>0<TAB>l<TAB>1356998400<TAB>(Tue Jan 01 00:00:00 UTC 2013)
 *
 * A row is an hour of a series, of which the points from start to end are shown. Rows come series by series.
 *
 * Threads    one
 * Source     storage-and-tools 2.2, 2.4, 3.3
 */
#ifndef TSD_FORMAT_SCAN_H
#define TSD_FORMAT_SCAN_H

#include "query/query.h"
#include "base/sink.h"

/** Write what a spec chooses; aggregators, downsampling and rates do not matter.
 *  @param import  lines that tsd import takes; else rows
 *  @param limit   series, time, cancelling; NULL: none
 *  @return 0; errors of choosing and reading, and of the sink */
int tsd_scan_run(struct sto_store *store, const struct qry_spec *spec, bool import, struct qry_limit *limit,
                 struct ts_sink *sink, struct ts_error *err);

#endif
