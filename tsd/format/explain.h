/*
 * explain.h - prints the estimate of what a query would read, as JSON or as text.
 *
 * Threads    one
 * Source     docs/QUERY.md "Explain"
 */
#ifndef TSD_FORMAT_EXPLAIN_H
#define TSD_FORMAT_EXPLAIN_H

#include "query/execution/explain.h"
#include "base/sink.h"

/** Explain a spec and write the answer.
 *  @param json        else text
 *  @param limit       of the query it would be; NULL: none
 *  @param timeout_ms  0 = none
 *  @return 0; errors of qry_explain and of the sink */
int tsd_explain_run(struct sto_store *store, const struct qry_spec *spec, struct qry_limit *limit,
                    int64_t timeout_ms, bool json, struct ts_sink *sink, struct ts_error *err);

#endif
