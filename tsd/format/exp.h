/*
 * exp.h - the reply of /api/query/exp: outputs as rows of times and values, then the request as it was
 * understood.
 *
 * Threads    one thread at a time
 * Source     protocols-and-queries 8.2 "Reply"; recorded answers of OpenTSDB
 */
#ifndef TSD_FORMAT_EXP_H
#define TSD_FORMAT_EXP_H

#include "query/expressions/exprquery.h"
#include "base/sink.h"

/* A reply being written. */
struct tsd_exp_out {
    const struct qry_exp *q; /* borrowed */
    struct ts_sink *sink;    /* borrowed */
    struct ts_buf scratch;   /* everything but the rows; release it at the end */
    size_t n;                /* outputs written */
};
/** {"outputs":[ */
int tsd_exp_begin(struct tsd_exp_out *o, struct ts_error *err);
/** One output; callback of qry_exp_run, arg = struct tsd_exp_out. */
int tsd_exp_output(void *arg, const struct qry_exp_result *r, struct ts_error *err);
/** ],"query":{...}} */
int tsd_exp_end(struct tsd_exp_out *o, struct ts_error *err);
/** The request with what was filled in, as one object. */
void tsd_exp_echo(const struct qry_exp *q, struct ts_json *j);

#endif
