/*
 * query.h - the public API of queries: text or JSON in, series of points or totals out.
 *
 * A spec is parsed once (URI, JSON body or command-line words give the same struct), checked, and run against
 * a store. Results come as blocks that are borrowed for the length of a callback: a callback may block (a
 * slow reader stops the query) or return < 0 to end it.
 *
 * Threads    a spec and a run belong to one thread; a run spreads its work over the pool
 * Source     protocols-and-queries sections 3 and 4 (semantics); docs/QUERY.md
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include "base/budget.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/time.h"
#include "storage/store.h"

#include <stdatomic.h>

enum qry_fill { QRY_FILL_NONE, QRY_FILL_NAN, QRY_FILL_NULL, QRY_FILL_ZERO, QRY_FILL_PREVIOUS };

enum qry_rollup_usage {
    QRY_ROLLUP_UNSET,        /* fallback to points; with compat no fallback */
    QRY_ROLLUP_NOFALLBACK,   /* the largest interval that fits, or nothing */
    QRY_ROLLUP_FALLBACK,     /* smaller intervals next */
    QRY_ROLLUP_FALLBACK_RAW, /* the points next */
    QRY_ROLLUP_RAW,          /* never */
};

struct qry_agg;     /* aggs/agg.h */
struct qry_rollups; /* rollup.h */
struct qry_filter;  /* filters/filter.h: one tag filter */

/* How to downsample one series. */
struct qry_downsample {
    bool on;
    bool all;      /* 0all: one bucket from start to end (end excluded) */
    bool calendar; /* buckets of the zone's calendar */
    int64_t n;     /* count of units */
    enum ts_unit unit;
    int64_t interval_ms; /* n units in ms (n = 30 d, y = 365 d) */
    const struct qry_agg *fn;
    enum qry_fill fill;
};
struct qry_rate {
    bool on;
    bool counter, drop_resets;
    int64_t counter_max; /* 2^63-1 by default */
    int64_t reset_value; /* 0 = none */
};
#define QRY_UNIT_BYTES 32 /* of a unit's name, with the zero at its end */
/* One metric to query. */
struct qry_sub {
    const struct qry_agg *agg;
    struct ts_slice metric;
    struct ts_slice *tsuids; /* hex; instead of metric */
    size_t n_tsuids;
    struct qry_downsample downsample;
    struct qry_rate rate;
    const struct qry_filter *filters; /* ANDed */
    size_t n_filters;
    bool explicit_tags;
    bool none;                       /* aggregator none: no grouping */
    struct ts_slice downsample_text; /* as sent, for showQuery; p == NULL: not given */
    bool rate_options;               /* options of rate were given, for showQuery */
    enum qry_rollup_usage rollup_usage;
    bool pre_aggregate;        /* read pre-aggregates */
    const double *percentiles; /* of histograms, ascending, 0..100 */
    size_t n_percentiles;
    bool histogram_buckets;    /* an output for each bucket of histograms */
    char unit[QRY_UNIT_BYTES]; /* of its values, for headings; empty: unknown. Set by who runs it */
};
/* A condition on values; cond.h. */
struct qry_cond;
struct qry_where {
    const struct qry_cond *conds; /* ANDed */
    size_t n;                     /* 0: every point */
};
/* Keys of time of totals: cells of n units of the zone's calendar, weekdays, hours of the day. */
struct qry_by_time {
    int64_t n;         /* units; 0: no interval */
    enum ts_unit unit; /* of n */
    bool hour_of_day, weekday;
    bool day, hour; /* were given by name */
};
/* Order of rows of totals. */
enum qry_sort {
    QRY_SORT_USUAL, /* by time, but by value where top or bottom chooses without a key of time */
    QRY_SORT_TIME,  /* by time, then tag values */
    QRY_SORT_NAME,  /* by tag values, then time */
    QRY_SORT_VALUE, /* the largest first value first */
};
enum qry_partial { QRY_PARTIAL_NONE, QRY_PARTIAL_MARK, QRY_PARTIAL_COLUMN };
#define QRY_NO_VALUE 0          /* id of the value of a series without the key, "(none)" */
#define QRY_OTHERS   UINT32_MAX /* id of all values that are not shown apart, "(others)" */
/* Tag cells that are shown apart. */
struct qry_keep {
    const uint32_t *ids; /* [n] rows of value ids in the order of by_tags, ascending */
    size_t n;
    size_t apart; /* index of a key of by_tags whose values do not count and stay; SIZE_MAX: none */
    bool
        others; /* the rest is one cell, its ids all QRY_OTHERS but for the one of apart; else it is left out */
};
/** Order of a row of keep and ids of the same keys. */
static inline int qry_keep_cmp(const struct qry_keep *keep, const uint32_t *row, const uint32_t *ids,
                               size_t n_keys)
{
    for (size_t k = 0; k < n_keys; k++)
        if (k != keep->apart && row[k] != ids[k])
            return row[k] < ids[k] ? -1 : 1;
    return 0;
}
/* How text and CSV print the times of points. */
enum qry_times {
    QRY_TIMES_USUAL, /* text: ISO 8601, with compat milliseconds; CSV: seconds, with ms milliseconds */
    QRY_TIMES_ISO,   /* ISO 8601 in the zone of the query */
    QRY_TIMES_EPOCH, /* text: milliseconds; CSV: seconds, with ms milliseconds */
};
enum qry_top_by { QRY_TOP_AVG, QRY_TOP_MAX, QRY_TOP_MIN, QRY_TOP_SUM, QRY_TOP_LAST, QRY_TOP_COUNT };
/* Only the best series of each sub query; top.h. */
struct qry_top {
    size_t n;             /* how many; 0: all, in their usual order */
    bool bottom;          /* the lowest ones */
    enum qry_top_by rank; /* by what, of series */
    bool rank_given;      /* it was requested */
};
/* Everything requested; memory lives in the arena given to the parser. */
struct qry_spec {
    int64_t start_ms, end_ms;             /* both inclusive for output */
    struct ts_slice start_text, end_text; /* as sent, for echoes; end: p == NULL = not given */
    const struct ts_tz *tz;               /* calendar buckets, --by, dates */
    bool ms;                              /* msResolution */
    bool show_tsuids, show_query, arrays, no_annotations, global_annotations, show_summary, show_stats;
    bool del; /* delete what is read */
    struct qry_sub *subs;
    size_t n_subs;
    /* totals (--by): */
    struct qry_by_time by_time;
    bool by_on;               /* totals are requested (also with no key: one cell) */
    struct ts_slice *by_tags; /* tag keys in the order given */
    size_t n_by_tags;
    bool fill_zero;              /* cells without points give a row of 0 */
    bool fill_null;              /* with fill_zero: a row without a value instead */
    const struct qry_keep *keep; /* of tag cells only these; NULL: all. Set while totals are made (table.c) */
    enum qry_sort sort;          /* order of rows */
    bool others;                 /* with top and bottom: the rest is one row, (others) */
    int64_t compare_n;           /* the same cells so many units before; 0: not wanted */
    enum ts_unit compare_unit;   /* their unit */
    struct ts_slice compare_text, columns; /* as sent; the key of by whose values are columns, n == 0: none */
    enum qry_partial partial;              /* how CSV and text mark rows that the range cuts */
    int64_t now_ms;                        /* time of the request */
    bool compat;                           /* compat = opentsdb */
    bool uncut;                            /* emit what was read around start..end too */
    bool
        values_must_exist; /* a literal filter with a value that nobody sent fails; else it matches nothing */
    struct qry_where where;            /* of the raw points only these count */
    struct qry_top top;                /* of series only these are shown */
    const struct qry_rollups *rollups; /* set by who runs it; NULL = none */
    struct ts_json_unknown unknown;    /* members of a body that were ignored */
    enum qry_times times;              /* how text and CSV print the times of points */
    unsigned kinds; /* of a delete: bits of enum qry_kind; 0 = what the query reads, points or histograms */
};
/* What a delete takes. */
enum qry_kind { QRY_KIND_POINTS = 1, QRY_KIND_ROLLUPS = 2, QRY_KIND_HISTOGRAMS = 4 };

/* Name and value of a request parameter, decoded. */
struct qry_param {
    struct ts_slice name, value;
};

/** From the parameters of GET /api/query (start, end, m, tsuid, ms, arrays, ...; ours: tz, by, fill). Texts
 * of errors as OpenTSDB's. */
int qry_parse_params(const struct qry_param *params, size_t n, int64_t now_ms, bool compat,
                     struct ts_arena *arena, struct qry_spec *out, struct ts_error *err);
struct ts_near; /* base/near.h */
/** Is the wanted name that of a parameter of queries? If not, near has seen all of them. */
bool qry_param_known(struct ts_near *near);
/** From the body of POST /api/query (ours: by, fill). */
int qry_parse_json(struct ts_slice body, int64_t now_ms, bool compat, struct ts_arena *arena,
                   struct qry_spec *out, struct ts_error *err);
/** From command-line words: START [END] AGG [rate [counter,..]] [downsample N FUNC] METRIC [tag=value ...]
 * (storage-and-tools 3.2); several queries may follow. by, tz, fill: option texts or NULL. With by, an END
 * that is a date without time includes that day. The result is the text of request parameters too (*out_uri,
 * appended "start=..&end=..&m=..", percent-encoded), so that it can be sent to a daemon. */
int qry_parse_words(const char *const *words, size_t n, const char *by, const char *tz, const char *fill,
                    int64_t now_ms, struct ts_arena *arena, struct qry_spec *out, struct ts_buf *out_uri,
                    struct ts_error *err);

/** Names of the parameters that qry_parse_choice takes, ended by NULL. */
extern const char *const qry_choice_names[];
#define QRY_MAX_CHOICES 16 /* more than there are */
/** Options that choose among what is there, by name those of qry_choice_names; other parameters are not looked at. What counts is
 * appended to out_uri ("&top=5", percent-encoded), which may be NULL. TS_EINVAL. */
int qry_parse_choice(const struct qry_param *params, size_t n, struct ts_arena *arena, struct qry_spec *spec,
                     struct ts_buf *out_uri, struct ts_error *err);

/** Does what was chosen fit the queries? All parsers check this; after a later qry_parse_choice it must be
 * checked again. TS_EINVAL. */
int qry_spec_check_choice(const struct qry_spec *spec, struct ts_error *err);

/* What a run did with one sub query. */
struct qry_sub_stats {
    uint64_t n_series;     /* selected */
    uint64_t n_groups;     /* of them */
    uint64_t n_rows;       /* read: hours of series */
    uint64_t n_points;     /* read; a summary of an hour counts as one */
    uint64_t n_out, n_nan; /* points of the answer, and of them without a value */
};
/* What a run did; times are of the wall clock, of all sub queries together. */
struct qry_stats {
    int64_t plan_ns;            /* names, series, ranges */
    int64_t read_ns;            /* storage, downsampling, rates */
    int64_t group_ns;           /* joining series */
    int64_t emit_ns;            /* printing, and waiting for the client */
    struct qry_sub_stats *subs; /* [n_subs] in the caller's arena */
    size_t n_subs;              /* of the spec */
};
/** Allocate the stats of n sub queries. */
void qry_stats_init(struct qry_stats *stats, size_t n, struct ts_arena *arena);

/* Which limit ended a run; the names are those of qry_refusal_keys. */
enum qry_refusal {
    QRY_REFUSAL_NONE,
    QRY_REFUSAL_POINTS,
    QRY_REFUSAL_TIME,
    QRY_REFUSAL_SERIES,
    QRY_REFUSAL_READ_BYTES,
    QRY_REFUSAL_CELLS,
    QRY_REFUSAL_FILTERS,
    QRY_REFUSAL_REGEX,
    QRY_REFUSAL_SUBS,
    QRY_REFUSALS
};
/** Their keys, "query_max_points"; NULL for QRY_REFUSAL_NONE. */
extern const char *const qry_refusal_keys[QRY_REFUSALS];
/* Budget of one run, shared with whoever may cancel it. It stays where it is while anything runs under it. */
struct qry_limit {
    uint64_t max_points;      /* points read; 0 = none */
    uint64_t max_bytes;       /* memory of the run, if memory is NULL; 0 = none */
    uint64_t max_series;      /* series selected; 0 = none */
    uint64_t max_cells;       /* cells of time of totals; 0 = none */
    uint64_t max_read_bytes;  /* of files, by estimate before anything is read; 0 = none */
    struct ts_budget *memory; /* account of all memory of the run, with its limit; NULL: one is made in own */
    struct ts_budget own;     /* that one, of max_bytes */
    uint64_t max_regex_steps; /* of all regular expressions of filters; 0 = none */
    size_t max_filters;       /* of one sub query; 0 = none */
    size_t max_subs;          /* sub queries of one request; 0 = none */
    int64_t deadline_ns;      /* monotonic; 0 = none; look with qry_limit_late */
    int64_t
        cpu_deadline_ns; /* processor time of the one thread that runs it: until then deadline_ns moves; 0 = none */
    _Atomic bool cancelled;         /* set by the connection when the client has disconnected */
    _Atomic uint64_t n_points;      /* read so far */
    _Atomic uint64_t n_regex_steps; /* so far, about (base/regex.h) */
    uint64_t n_read_bytes;    /* of files, estimated so far, by all sub queries; the planning thread's */
    _Atomic unsigned refusal; /* enum qry_refusal: what ended it */
    _Atomic uint64_t n_looks; /* how often the run looked at its limits */
    uint64_t cancel_at_look;  /* for tests: the run is cancelled at this look; 0 = never */
    struct qry_stats *stats;  /* filled by the run; NULL: not wanted */
};

/** Is its time over? A thread that was not running does not use up processor time: with cpu_deadline_ns set,
 * what is left of that is added to deadline_ns. Then for that thread only; else any. */
bool qry_limit_late(struct qry_limit *l);

/* A result series. Borrowed during the callback. */
struct qry_series {
    size_t sub; /* index of the sub query */
    struct ts_slice metric;
    const struct sto_tag_text *tags; /* common tags, and */
    size_t n_tags;
    const struct ts_slice *agg_tags; /* keys with different values */
    size_t n_agg_tags;
    const struct ts_slice *tsuids; /* sorted; only if show_tsuids */
    size_t n_tsuids;
    const struct sto_series *const *members; /* series[places[i]] with data[places[i]] are behind it, */
    const uint32_t *places;                  /* for i < n_places */
    const uint8_t *data;
    size_t n_places;
    size_t n;              /* points */
    const int64_t *ts_ms;  /* ascending */
    const uint64_t *v;     /* int64_t or bits of a double */
    const uint8_t *is_int; /* NULL: none is an integer; else one byte a point */
    bool all_int;          /* every point is an integer (is_int may be NULL then) */
    bool nan_is_null;      /* print NaN as null (fill policy null) */
    bool joined; /* a function made it of several series: OpenTSDB shows an empty list of annotations */
};
typedef int (*qry_series_fn)(void *arg, const struct qry_series *s, struct ts_error *err);

/** Run a spec: emit is called for each group in order (sub by sub). pool may be NULL (all in the calling
 * thread). TS_ENOTFOUND: unknown metric, tag key or value, with OpenTSDB's text. TS_ELIMIT names limit, how
 * far it got, and key. TS_ECANCELLED, TS_ETIMEOUT. */
int qry_run(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec, struct qry_limit *limit,
            qry_series_fn emit, void *arg, struct ts_error *err);

/* A value of a row of totals after the first one. */
struct qry_total_value {
    bool null, is_int;
    __int128 i; /* value if is_int */
    double d;   /* value else */
};
/* One row of totals: a cell. */
struct qry_total {
    int64_t ts_ms;                /* UTC start of the cell (clipped to nothing); meaningful if by_time.n */
    struct ts_civil local;        /* its date and hour in the zone */
    int64_t local_ms;             /* the same as a number */
    int64_t offset_ms;            /* zone's offset: distinguishes the repeated hour of autumn */
    bool repeated;                /* this local date and hour stands twice; this row is the second */
    enum ts_unit unit;            /* of by_time */
    uint8_t weekday, hour_of_day; /* 1..7 from Monday on, 0..23; if they are keys */
    const struct ts_slice *tags;  /* values of the tag columns, in their order */
    const uint32_t *ids;          /* their ids, QRY_NO_VALUE and QRY_OTHERS */
    bool is_int;
    bool empty;                         /* no point: from fill zero or null */
    bool null;                          /* empty, to be shown as no value */
    __int128 i;                         /* value if is_int */
    double d;                           /* value else */
    const struct qry_total_value *more; /* [n_more] values of further columns */
    size_t n_more;
    bool partial; /* the range of the query cuts its interval of time, or it is not over yet */
};
typedef int (*qry_total_fn)(void *arg, const struct qry_total *t, struct ts_error *err);
/** Totals of spec->subs[0]: the aggregator applied once to all points of a cell (time x tag values). Rows sorted by time, then
 * tag values (bytes). A series without one of the by_tags counts as QRY_NO_VALUE; with compat it is left out. */
int qry_totals(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec,
               struct qry_limit *limit, qry_total_fn emit, void *arg, struct ts_error *err);

/* Columns of time of totals. */
enum qry_time_column {
    QRY_COLUMN_DATE,
    QRY_COLUMN_HOUR,
    QRY_COLUMN_TIME,
    QRY_COLUMN_WEEK,
    QRY_COLUMN_MONTH,
    QRY_COLUMN_QUARTER,
    QRY_COLUMN_YEAR,
    QRY_COLUMN_WEEKDAY,
    QRY_COLUMN_HOUR_OF_DAY,
};
#define QRY_MAX_TIME_COLUMNS  4
#define QRY_TIME_COLUMN_BYTES 40 /* most that one takes, with a final zero */
/** Columns of time of a breakdown; returns how many. */
size_t qry_time_columns(const struct qry_by_time *t, enum qry_time_column *out);
/** "date", "hour" ... */
const char *qry_time_column_name(enum qry_time_column c);
/** A row's text in a column: "2026-11-02", "02" or, the second time round, "02+01:00", "Mon". Bytes written. */
size_t qry_time_column_print(enum qry_time_column c, const struct qry_total *t, char *out);

/* Columns of a table of totals, in their order. */
struct qry_head {
    enum qry_time_column times[QRY_MAX_TIME_COLUMNS];
    size_t n_times;
    const struct ts_slice *tags; /* keys */
    size_t n_tags;
    const struct ts_slice *values; /* names of the values' columns */
    const struct ts_slice *units;  /* of them, n == 0: unknown */
    size_t n_values;
};
/** Called once, before the rows; head is borrowed until the last row. */
typedef int (*qry_head_fn)(void *arg, const struct qry_head *head, struct ts_error *err);
/**
 * Totals of all sub queries as one table: their values side by side, the best tag cells (top, bottom, others), the same cells
 * some time before (compare), values of a key as columns, rows in order. Without any of these rows are emitted as they are made.
 *
 * @param head   called once with the columns
 * @param emit   called for each row
 * @return 0, errors of qry_totals, or what head and emit return
 *
 * Memory: counted in the account of limit.   Threads: as qry_run.
 */
int qry_table(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec,
              struct qry_limit *limit, qry_head_fn head, qry_total_fn emit, void *arg, struct ts_error *err);

/* A series with points between start and end of a query that deletes. */
struct qry_delete_target {
    const struct sto_series *series;
    int64_t from_ms, to_ms; /* delete from..to, both inclusive */
    uint64_t n_points;      /* there now */
    size_t sub;             /* index of the sub query */
    enum qry_kind kind;     /* series of rollups and of buckets of histograms are internal ones */
    bool counts; /* its points are whole things: of a histogram's buckets only the first one's are */
};
typedef int (*qry_delete_target_fn)(void *arg, const struct qry_delete_target *d, struct ts_error *err);
/** Without compat a start that names a day, a month or a year needs an end, since it may mean that time alone or everything since it began.
 *  Returns 0; TS_EINVAL, with a text that says both. */
int qry_delete_need_end(const struct qry_spec *spec, struct ts_error *err);
/** What a delete takes: start to end; with compat the hours in which they lie, as OpenTSDB deletes. Both inclusive. */
void qry_delete_target_range(const struct qry_spec *spec, int64_t *out_from_ms, int64_t *out_to_ms);
/** Series of all sub queries with points in qry_delete_target_range, of the kinds that spec says. Errors as qry_run. */
int qry_delete_find(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                    qry_delete_target_fn each, void *arg, struct ts_error *err);

/* /api/query/last: last point of each series of a metric with the given tags (exact values). */
struct qry_last {
    const struct sto_series *series;
    int64_t ts_ms;
    struct ts_num value;
};
typedef int (*qry_last_fn)(void *arg, const struct qry_last *p, struct ts_error *err);
/* Whose newest points are requested. */
struct qry_last_request {
    struct ts_slice timeseries; /* "metric{k=v,...}", the series that have these tags; a value
                                   may also be a star (any) or "a|b" (one of these) */
    struct ts_slice tsuid;      /* hex; if given, this series instead */
    bool only;                  /* timeseries names all tags: the one series that has no others */
    int64_t back_scan_hours;    /* look back this far before the present hour; 0 = in the whole store */
    int64_t now_ms;             /* for back_scan_hours */
    size_t n;                   /* qry_run_latest: points of each series; 0 = 1 */
    bool at_on;                 /* only points at or before */
    int64_t at_ms;              /* this time */
    bool compat;                /* errors name nothing that is near */
};
/** The newest point of each series; series without one are left out. Errors as qry_run. */
int qry_run_last(struct sto_store *st, struct ts_pool *pool, const struct qry_last_request *ask,
                 struct qry_limit *limit, qry_last_fn emit, void *arg, struct ts_error *err);

/* Points of one series, newest first. Borrowed during the callback. */
struct qry_latest {
    const struct sto_series *series;
    size_t n; /* points, at least 1 */
    const int64_t *ts_ms;
    const struct ts_num *v;
};
typedef int (*qry_latest_fn)(void *arg, const struct qry_latest *p, struct ts_error *err);
/** The newest ask->n points of each series, in the order of the series' numbers; series without one are left out. Goes
 * back from the end and reads no further than it must. Errors as qry_run. */
int qry_run_latest(struct sto_store *st, struct ts_pool *pool, const struct qry_last_request *ask,
                   struct qry_limit *limit, qry_latest_fn emit, void *arg, struct ts_error *err);

/** Name of the i-th aggregator in the table's order; NULL after the last one. */
const char *qry_agg_name(size_t i);
/** Echo of a sub query as showQuery and /api/stats/query print it, one JSON object.
 * cat: for the ids of tag keys, NULL: left out. Source: protocols-and-queries 2.5, golden answers. */
void qry_echo_sub(const struct qry_sub *sub, size_t index, struct sto_catalog *cat, struct ts_json *j);
/** Echo of a whole query, as /api/stats/query shows it. */
void qry_echo(const struct qry_spec *spec, struct sto_catalog *cat, struct ts_json *j);
/** Upper-case hex of a series' TSUID with 3-byte ids (4 where they do not fit). */
void qry_tsuid(const struct sto_series *s, struct ts_buf *out);
/** The same from hex in any case and width that clients send, whether there is such a series or not. TS_EINVAL
 * "Invalid TSUID: ..". */
int qry_tsuid_plain(struct ts_slice hex, struct ts_buf *out, struct ts_error *err);

/** Is a sub query one for histograms? */
static inline bool qry_sub_is_histogram(const struct qry_sub *sub)
{
    return sub->n_percentiles > 0 || sub->histogram_buckets;
}

#endif
