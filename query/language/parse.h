/*
 * parse.h - parsers of the parts of a query that URIs, JSON bodies and command-line words share.
 *
 * Every function fails with TS_EINVAL or TS_EPARSE and OpenTSDB's text where it has one.
 * Source     docs/OPENTSDB.md, section 3
 */
#ifndef QUERY_LANGUAGE_PARSE_H
#define QUERY_LANGUAGE_PARSE_H

#include "base/json.h"
#include "query/filters/filter.h"
#include "query/query.h"

#define QRY_MAX_SUBS 1000 /* sub queries of one query */

/** Aggregator by name: "No such aggregation function: X", without compat with the name that was probably meant. */
int qry_parse_agg(struct ts_slice name, bool compat, const struct qry_agg **out, struct ts_error *err);
/** "1h-avg-nan", "0all-sum", "1dc-sum". */
int qry_parse_downsample(struct ts_slice s, bool compat, struct qry_downsample *out, struct ts_error *err);
/** "rate", "rate{counter,100,5}". */
int qry_parse_rate(struct ts_slice s, struct qry_rate *out, struct ts_error *err);
/** "ROLLUP_FALLBACK" in any case; an unknown one is ROLLUP_NOFALLBACK. */
enum qry_rollup_usage qry_parse_rollup_usage(struct ts_slice s);
/** Percentiles of a histogram query into out; sorts p, which stays borrowed. TS_EINVAL: outside of 0..100. */
int qry_parse_percentiles(double *p, size_t n, struct qry_sub *out, struct ts_error *err);
/** The value of m: "sum:1h-avg:rate:cpu{host=*}{dc=lga}". */
int qry_parse_m(struct ts_slice m, bool compat, struct ts_arena *arena, struct qry_sub *out,
                struct ts_error *err);
/** The value of tsuid: "sum:1h-avg:000001000001000001,...". */
int qry_parse_tsuid(struct ts_slice m, bool compat, struct ts_arena *arena, struct qry_sub *out,
                    struct ts_error *err);

/** A string or number of a body as text in the arena; {NULL,0} for anything else. */
struct ts_slice qry_json_text(const json_t *v, struct ts_arena *arena);
/** After ts_json_load returned TS_EPARSE: the refusal of the body, with the reason in err unless compat. TS_EINVAL. */
int qry_json_broken(bool compat, struct ts_error *err);
/** A member of a body that qry_choice_names lists, as text for qry_parse_choice; {NULL,0} for null. TS_EINVAL: it has a
 * wrong type. */
int qry_choice_json(const char *name, const json_t *v, struct ts_arena *arena, struct ts_slice *out,
                    struct ts_error *err);
/** true, or the string "true". */
bool qry_json_true(const json_t *v);
/** A list of filters {"type","tagk","filter","groupBy"}; null and nothing give none. */
int qry_json_filters(const json_t *a, bool compat, struct ts_json_unknown *unknown, struct ts_arena *arena,
                     const struct qry_filter **out, size_t *out_n, struct ts_error *err);
/** ts_json_known, but with compat any member is taken. */
int qry_json_known(const json_t *object, const char *known, bool compat, struct ts_json_unknown *unknown,
                   struct ts_error *err);

/** Append a text percent-encoded for a query string. */
void qry_uri_encode(struct ts_slice s, struct ts_buf *out);

/* Times and options as texts, before they are checked together. */
struct qry_spec_text {
    struct ts_slice start, end, tz; /* p == NULL: not given */
    struct ts_slice by, fill;       /* not in OpenTSDB; p == NULL: not given */
    bool json;                      /* the query is a JSON body: some error texts differ */
};
/** Set the members that all forms share (zone, times, totals) and check the whole spec. out->subs is already
 * set. */
int qry_spec_finish(const struct qry_spec_text *text, int64_t now_ms, struct ts_arena *arena,
                    struct qry_spec *out, struct ts_error *err);

/** Set as_of_us by as_of_text, once now and the zone are known; nothing without a text. TS_EPARSE, TS_EINVAL. */
int qry_spec_as_of(struct qry_spec *spec, struct ts_error *err);

#endif
