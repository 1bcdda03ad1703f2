/*
 * answers.h - answers other than series and totals, for HTTP and the command line: newest points, estimates, deletes, rows,
 * formulas.
 *
 * Threads    one thread at a time; queries spread over the pool
 */
#ifndef TSD_FORMAT_ANSWERS_H
#define TSD_FORMAT_ANSWERS_H

#include "base/sink.h"
#include "query/execution/explain.h"
#include "query/expressions/exprquery.h"
#include "query/query.h"
#include "tsd/format/out.h"

/* --- newest points of series in any format, as series with arrays and milliseconds, newest first (latest.c) --- */

/* What to write. */
struct tsd_latest {
    const struct tsd_out_format *format; /* row of out.c */
    const struct qry_last_request *asks; /* one after the other */
    size_t n_asks;                       /* of the queries */
    const struct ts_tz *tz;              /* of times in text; NULL = UTC */
};

/** Run the queries and write the whole answer. Errors of qry_run_latest and of the sink. */
int tsd_latest_run(const struct tsd_latest *what, struct sto_store *store, struct ts_pool *pool,
                   struct qry_limit *limit, struct ts_sink *sink, struct ts_error *err);
/** Options of a query from their texts, which may be empty: n (points of each series), at (a time as in
 * queries), tz (the zone of dates and of printed times; *out_tz is NULL without one). TS_EINVAL, TS_EPARSE
 * with text. */
int tsd_latest_parse(struct ts_slice n, struct ts_slice at, struct ts_slice tz, int64_t now_ms,
                     struct qry_last_request *ask, const struct ts_tz **out_tz, struct ts_error *err);

/* --- the estimate of what a query would read: docs/QUERY.md "Explain" (explain.c) --- */

/** Explain a spec and write the answer.
 *  @param json        else text
 *  @param limit       of the query it would be; NULL: none
 *  @param timeout_ms  0 = none
 *  @return 0; errors of qry_explain and of the sink */
int tsd_explain_run(struct sto_store *store, const struct qry_spec *spec, struct qry_limit *limit,
                    int64_t timeout_ms, bool json, struct ts_sink *sink, struct ts_error *err);

/* --- what a delete removed, or would remove: docs/QUERY.md "Deleting" (deleted.c) --- */

enum { TSD_DELETED_KINDS = 3 }; /* points, rollups, histograms */

/* Counts of one kind in one sub query. */
struct tsd_deleted_count {
    uint64_t n_series; /* series with at least one */
    uint64_t n_points; /* points, rollups or histograms */
};
/* Counts of one request. */
struct tsd_deleted {
    const struct qry_spec *spec;                         /* borrowed */
    struct tsd_deleted_count (*subs)[TSD_DELETED_KINDS]; /* [spec->n_subs]; in the arena */
    struct qry_delete_target *targets;                   /* owned: the delete targets */
    size_t n, cap;                                       /* of targets: used, allocated */
    bool dry;                                            /* only count, delete nothing */
};
/** Prepare. */
void tsd_deleted_init(struct tsd_deleted *d, const struct qry_spec *spec, bool dry, struct ts_arena *arena);
/** Free targets. Idempotent. */
void tsd_deleted_release(struct tsd_deleted *d);
/** Find and count the delete targets. Errors as for qry_delete_find. */
int tsd_deleted_find(struct tsd_deleted *d, struct sto_store *st, struct qry_limit *limit,
                     struct ts_error *err);
/** Add the targets that qry_delete_aged finds for those from number `from` on, whose deletes are visible, behind all that are there. They do not
 * count. To be called with what it has added until it adds nothing. */
int tsd_deleted_find_aged(struct tsd_deleted *d, struct sto_store *st, size_t from, struct ts_error *err);
/** All points, rollups and histograms. */
uint64_t tsd_deleted_sum(const struct tsd_deleted *d);
/** Write the summary. */
int tsd_deleted_print(const struct tsd_deleted *d, bool json, struct ts_sink *sink, struct ts_error *err);

/* --- rows of series as OpenTSDB's scan prints them, or as lines of import, CSV or JSON (scan.c) --- */

enum tsd_scan_form { TSD_SCAN_ROWS, TSD_SCAN_IMPORT, TSD_SCAN_CSV, TSD_SCAN_JSON };
enum tsd_scan_family {
    TSD_SCAN_POINTS,
    TSD_SCAN_HOURS,
    TSD_SCAN_DAYS,
    TSD_SCAN_ANNOTATIONS,
    TSD_SCAN_HISTOGRAMS
};

#define TSD_SCAN_BOUND_MAX 512 /* bytes of a key that a client sends */
/* A key of a row in the form of OpenTSDB, or its beginning. */
struct tsd_scan_key {
    size_t n; /* bytes; 0 = there is no bound */
    uint8_t p[TSD_SCAN_BOUND_MAX];
};
/* Rows with from <= key < to. */
struct tsd_scan_range {
    struct tsd_scan_key from, to;
};
/* Which rows of those that a spec chooses are printed, and how. Zero: all of them, as rows. */
struct tsd_scan_opts {
    enum tsd_scan_form form;
    enum tsd_scan_family family; /* what is read */
    struct tsd_scan_range range; /* only rows with these keys */
    bool prefix;                 /* range is that of a prefix */
    bool keys;                   /* rows without their points */
    bool first;                  /* of each row the first point alone */
    uint64_t max_rows;           /* of a page; 0 = all */
    struct ts_slice after;       /* the token of the page before, borrowed; p NULL: from the beginning */
    double sample; /* the part of the rows that is printed, chosen by a hash of their keys; 0 = all */
    bool between;  /* only points between these times of day, in the zone of the spec: */
    int32_t day_from_ms, day_to_ms; /* from <= time < to; from > to: over midnight */
    bool deletes;         /* what is printed is deleted next: a sum that does not fit is NaN, no error */
    struct ts_buf *token; /* CSV: gets the token of the next page; NULL: that is the last line */
};
/** The name of an option, and whether it has no value; NULL: there are not so many. */
const char *tsd_scan_opt_name(size_t i, bool *out_flag);
/** Set the option at an index. TS_EINVAL with a text that names it. */
int tsd_scan_opts_set(struct tsd_scan_opts *o, size_t i, struct ts_slice value, struct ts_error *err);
/** Do the options fit each other, and conditions on values if there are any (where)? TS_EINVAL. */
int tsd_scan_opts_check(const struct tsd_scan_opts *o, bool where, struct ts_error *err);
/** Write what a spec chooses; aggregators, downsampling and rates do not matter. A page that is full ends with a token.
 *  @param limit  series, time, cancelling; NULL: none
 *  @return 0; TS_EINVAL: a token is wrong; errors of choosing and reading, and of the sink */
int tsd_scan_run(struct sto_store *store, const struct qry_spec *spec, const struct tsd_scan_opts *opts,
                 struct qry_limit *limit, struct ts_sink *sink, struct ts_error *err);

/* --- the reply of /api/query/exp: outputs as rows of times and values, then the request as it was understood (exp.c) --- */

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
