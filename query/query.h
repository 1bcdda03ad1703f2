/*
 * query.h - the public API of the query engine: it parses queries and runs them against a store.
 *
 * A query arrives as request parameters, a JSON body or command-line words; each form is parsed and checked once
 * and gives the same struct qry_spec. A run passes its results to a callback, which borrows them until it
 * returns. The callback may block (a slow client slows its query down) and may end the run by returning < 0.
 *
 * Threads    a spec and a run belong to one thread; the run distributes its work over the pool
 * Source     docs/OPENTSDB.md, sections 3 and 4 (semantics); docs/QUERY.md
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include "base/budget.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/time.h"
#include "query/left_out.h"
#include "storage/store.h"

#include <stdatomic.h>

enum qry_fill { QRY_FILL_NONE, QRY_FILL_NAN, QRY_FILL_NULL, QRY_FILL_ZERO, QRY_FILL_PREVIOUS };

enum qry_rollup_usage {
    QRY_ROLLUP_UNSET,        /* not given: as FALLBACK_RAW; with compat as NOFALLBACK */
    QRY_ROLLUP_NOFALLBACK,   /* only the largest interval that fits */
    QRY_ROLLUP_FALLBACK,     /* if it has no data, the smaller intervals */
    QRY_ROLLUP_FALLBACK_RAW, /* if it has no data, the points themselves */
    QRY_ROLLUP_RAW,          /* always the points themselves */
};

struct qry_agg;     /* query/aggregators/agg.h */
struct qry_rollups; /* query/execution/rollup.h */
struct qry_filter;  /* query/filters/filter.h: one tag filter */
struct qry_view;    /* query/view.h: names and series */

/* How to downsample one series. */
struct qry_downsample {
    bool on;
    bool all;      /* 0all: one bucket from start to end, end excluded */
    bool calendar; /* buckets follow the calendar of the query's time zone */
    int64_t n;     /* length of a bucket in units */
    enum ts_unit unit;
    int64_t interval_ms; /* the same in ms, where a month has 30 days and a year 365 */
    const struct qry_agg *fn;
    enum qry_fill fill;
};
/* Options of rate, the change per second. */
struct qry_rate {
    bool on;
    bool counter, drop_resets; /* a counter that may wrap; where it decreases there is no point */
    int64_t counter_max;       /* where the counter wraps; 2^63-1 by default */
    int64_t reset_value;       /* a rate above this after a decrease is a reset and becomes 0; 0 = none */
};
#define QRY_UNIT_BYTES 32 /* bytes of a unit's name with its terminating zero */
/* One metric to query. */
struct qry_sub {
    const struct qry_agg *agg;
    struct ts_slice metric;
    struct ts_slice *tsuids; /* hexadecimal TSUIDs, given instead of a metric */
    size_t n_tsuids;
    struct qry_downsample downsample;
    struct qry_rate rate;
    const struct qry_filter *filters; /* ANDed */
    size_t n_filters;
    bool explicit_tags;
    bool none;                       /* aggregator none: no grouping */
    struct ts_slice downsample_text; /* as the client sent it, for showQuery; p == NULL: not given */
    bool rate_options;               /* options of rate are given, for showQuery */
    enum qry_rollup_usage rollup_usage;
    bool pre_aggregate;        /* the query reads pre-aggregates */
    const double *percentiles; /* requested percentiles of histograms, ascending, 0..100 */
    size_t n_percentiles;
    bool histogram_buckets; /* each bucket of a histogram is one output */
    /* Unit of the values, for headings; empty: unknown. The caller of a run sets it. */
    char unit[QRY_UNIT_BYTES];
};
/* A condition on values: query/language/cond.h. */
struct qry_cond;
struct qry_where {
    const struct qry_cond *conds; /* [n] ANDed */
    size_t n;                     /* 0: every point qualifies */
};
/* The time keys of totals: intervals of n calendar units in the query's time zone, weekdays, hours of the
 * day. */
struct qry_by_time {
    int64_t n;                 /* length of the interval in units; 0: no interval */
    enum ts_unit unit;         /* unit of n */
    bool hour_of_day, weekday; /* these are keys */
    bool day, hour;            /* the key was written as "day" or "hour" */
};
/* Order of the rows of totals. */
enum qry_sort {
    QRY_SORT_USUAL, /* by time, but by value with top or bottom and no time key */
    QRY_SORT_TIME,  /* by time, then tag values */
    QRY_SORT_NAME,  /* by tag values, then time */
    QRY_SORT_VALUE, /* by the first value, the largest one first */
};
/* How CSV and text mark a row whose interval the range of the query covers only in part. */
enum qry_partial { QRY_PARTIAL_NONE, QRY_PARTIAL_MARK, QRY_PARTIAL_COLUMN };
#define QRY_NO_VALUE 0          /* stands for the value of a series that lacks the key, "(none)" */
#define QRY_OTHERS   UINT32_MAX /* stands for all values that have no row of their own, "(others)" */
/* The combinations of tag values that get rows of their own. */
struct qry_keep {
    const uint32_t *ids; /* [n] combinations, each one value id per key of by_tags, ascending */
    size_t n;
    size_t apart; /* index of a key of by_tags that is not compared and keeps its value; SIZE_MAX: none */
    /* All other combinations are added up in one, whose ids are QRY_OTHERS except for that of apart; false: they
     * are left out. */
    bool others;
};
/** Compare one combination of keep with the value ids of a series: < 0, 0 or > 0. Ignores the key
 * keep->apart. */
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
/* Restricts each sub query to its best series; query/execution/top.h. */
struct qry_top {
    size_t n;             /* number of series; 0: all, in their usual order */
    bool bottom;          /* the lowest series, not the highest */
    enum qry_top_by rank; /* the value of a series that decides */
    bool rank_given;      /* the client named it */
};
struct qry_note_taker; /* query/notes.h */
struct qry_figures;    /* query/thin.h */
/* A parsed query. All its memory belongs to the arena that the parser was given. */
struct qry_spec {
    int64_t start_ms, end_ms;             /* both inclusive */
    struct ts_slice start_text, end_text; /* as the client sent them, for echoes; end.p == NULL: not given */
    const struct ts_tz *tz;               /* time zone of calendar buckets, of time keys and of dates */
    bool ms;                              /* msResolution: print times in milliseconds */
    bool show_tsuids, show_query, arrays, no_annotations, global_annotations, show_summary, show_stats;
    bool del; /* delete the points that the query reads */
    struct qry_sub *subs;
    size_t n_subs;
    /* totals (--by): */
    struct qry_by_time by_time;
    bool by_on;               /* totals are requested; without a key they are one cell */
    struct ts_slice *by_tags; /* tag keys in the order given */
    size_t n_by_tags;
    bool fill_zero; /* a cell without points gives a row with the value 0 */
    bool fill_null; /* with fill_zero: that row has no value */
    /* The combinations of tag values that get rows of their own; NULL: all. table.c sets it during a run. */
    const struct qry_keep *keep;
    enum qry_sort sort;        /* order of the rows */
    bool others;               /* with top or bottom: the other series are added up in the row (others) */
    int64_t compare_n;         /* compare with the same cells this many units earlier; 0: no comparison */
    enum ts_unit compare_unit; /* unit of compare_n */
    /* compare as the client sent it; the tag key whose values become columns, n == 0: none. */
    struct ts_slice compare_text, columns;
    enum qry_partial partial; /* how CSV and text mark partial rows */
    int64_t now_ms;           /* time of the request */
    bool compat;              /* compat = opentsdb */
    bool uncut;               /* also emit the points that were read just outside of start..end */
    /* A literal filter with an unknown tag value is an error; false: it matches nothing. */
    bool values_must_exist;
    bool versions;              /* list the versions of the points instead (versions.h) */
    struct ts_slice as_of_text; /* as the client sent it; p == NULL: not given */
    int64_t
        as_of_us; /* points as they were at this time of writing, us since 1970; 0: as they are (docs/QUERY.md "Versions") */
    struct qry_where where;            /* only raw points that meet these conditions count */
    struct qry_top top;                /* only these series are shown */
    const struct qry_rollups *rollups; /* the caller of a run sets it; NULL = none */
    /* The names and series of the request, which several runs of it share; the caller of a run sets it, NULL: the run
     * opens one of its own. */
    struct qry_view *view;
    const struct qry_note_taker
        *notes; /* receives annotations of the remote store (query/notes.h); the caller of a run sets it,
                                         * NULL: they are not read */
    struct ts_json_unknown unknown; /* unknown members of the JSON body */
    enum qry_times times;           /* how text and CSV print the times of points */
    /* Bits of enum qry_kind: what a delete removes; 0 = what the query reads, points or histograms. */
    unsigned kinds;
    /* The answer, not qry_run: columns that each series is thinned to (query/thin.h), 0: all points stay; print the figures of all
     * points of a series also without thin; series that are printed, 0: all. */
    size_t thin;
    bool figures;
    size_t max_series;
};
/* What a delete removes. */
enum qry_kind { QRY_KIND_POINTS = 1, QRY_KIND_ROLLUPS = 2, QRY_KIND_HISTOGRAMS = 4 };

/* Name and value of a request parameter, decoded. */
struct qry_param {
    struct ts_slice name, value;
};

/**
 * Parse the parameters of GET /api/query: start, end, m, tsuid, ms, arrays and others as in OpenTSDB; tz, by and
 * fill are tsd's own. The query functions below take the same arguments.
 *
 * @param params  [n] decoded parameters; borrowed as long as out
 * @param now_ms  the present, for relative times; milliseconds since 1970
 * @param compat  compat = opentsdb
 * @param arena   takes all memory of out
 * @return 0; TS_EINVAL, TS_EPARSE, TS_ELIMIT: the query is refused; err has OpenTSDB's text where it has one
 */
int qry_parse_params(const struct qry_param *params, size_t n, int64_t now_ms, bool compat,
                     struct ts_arena *arena, struct qry_spec *out, struct ts_error *err);
struct ts_near; /* base/near.h */
/** Is the name that near looks for a parameter of queries? If not, all of their names were offered to near. */
bool qry_param_known(struct ts_near *near);
/** Parse the body of POST /api/query; the members by and fill are tsd's own. As qry_parse_params. */
int qry_parse_json(struct ts_slice body, int64_t now_ms, bool compat, struct ts_arena *arena,
                   struct qry_spec *out, struct ts_error *err);
/**
 * Parse command-line words: START [END] AGG [rate [counter,..]] [downsample N FUNC] METRIC [tag=value ...]
 * (docs/OPENTSDB.md, section 11.2). Several queries may follow one another. As qry_parse_params, and:
 *
 * @param by, tz, fill  texts of the options of these names, or NULL. With by, an END that is a date without a time
 *                      includes that day
 * @param out_uri       [out] the query as request parameters for a daemon, "start=..&end=..&m=..",
 *                      percent-encoded, is appended
 */
int qry_parse_words(const char *const *words, size_t n, const char *by, const char *tz, const char *fill,
                    int64_t now_ms, struct ts_arena *arena, struct qry_spec *out, struct ts_buf *out_uri,
                    struct ts_error *err);

/** Names of the parameters that qry_parse_choice evaluates, terminated by NULL. */
extern const char *const qry_choice_names[];
#define QRY_MAX_CHOICES 16 /* upper bound of the number of these names */
/**
 * Evaluate the parameters that qry_choice_names lists, which select and order the results (top, where, sort ...);
 * others are ignored.
 *
 * @param out_uri  the evaluated parameters ("&top=5", percent-encoded) are appended; may be NULL
 * @return 0; TS_EINVAL: a value is wrong
 */
int qry_parse_choice(const struct qry_param *params, size_t n, struct ts_arena *arena, struct qry_spec *spec,
                     struct ts_buf *out_uri, struct ts_error *err);

/** Check that the parameters of qry_parse_choice fit the queries. All parsers do this; the caller must repeat it after a later
 * qry_parse_choice. TS_EINVAL. */
int qry_spec_check_choice(const struct qry_spec *spec, struct ts_error *err);

/* Statistics of one sub query of a run. */
struct qry_sub_stats {
    uint64_t n_series;     /* series selected */
    uint64_t n_groups;     /* groups of these series */
    uint64_t n_rows;       /* rows read */
    uint64_t n_points;     /* points read; a summary counts as one */
    uint64_t n_out, n_nan; /* points of the answer; those among them without a value */
};
/* Statistics of a run: elapsed time of each phase, of all sub queries together. */
struct qry_stats {
    int64_t plan_ns;            /* resolving names, selecting series and ranges */
    int64_t read_ns;            /* reading, downsampling, rates */
    int64_t group_ns;           /* aggregating series */
    int64_t emit_ns;            /* printing, and waiting for the client */
    struct qry_sub_stats *subs; /* [n_subs] in the caller's arena */
    size_t n_subs;              /* sub queries of the spec */
};
/** Allocate cleared statistics of n sub queries in the arena. */
void qry_stats_init(struct qry_stats *stats, size_t n, struct ts_arena *arena);

/* The limit that ended a run; qry_refusal_keys has the keys of the configuration. */
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
/** The configuration key of each limit, such as "query_max_points"; NULL for QRY_REFUSAL_NONE. */
extern const char *const qry_refusal_keys[QRY_REFUSALS];
/* Does an answer lack what only the remote store has? */
enum qry_completeness {
    QRY_COMPLETE,   /* it lacks nothing so far */
    QRY_INCOMPLETE, /* the remote store has failed, and the answer comes from what is here */
    QRY_COMMITTED, /* it was complete when its first bytes were sent, so the run must end if the remote store fails */
};
/* The limits of one run, shared with the thread that may cancel it. It must not move while a run uses it. */
struct qry_limit {
    uint64_t max_points;      /* points read; 0 = none */
    uint64_t max_bytes;       /* memory of the run; used if memory is NULL; 0 = none */
    uint64_t max_series;      /* series selected; 0 = none */
    uint64_t max_cells;       /* time cells of totals; 0 = none */
    uint64_t max_read_bytes;  /* bytes of files to read, estimated before the run reads anything; 0 = none */
    struct ts_budget *memory; /* account of all memory of the run; NULL: the run uses own */
    struct ts_budget own;     /* an account with the limit max_bytes */
    uint64_t max_regex_steps; /* steps of all regular expressions in filters; 0 = none */
    size_t max_filters;       /* filters of one sub query; 0 = none */
    size_t max_subs;          /* sub queries of one request; 0 = none */
    int64_t deadline_ns;      /* monotonic; 0 = none; check it with qry_limit_late */
    /* On the clock of the processor time of the only thread of the run: until then deadline_ns is extended; 0 = none. */
    int64_t cpu_deadline_ns;
    _Atomic bool cancelled;         /* set by the connection when the client has disconnected */
    _Atomic uint64_t n_points;      /* points read so far */
    _Atomic uint64_t n_kept_hours;  /* hours that kept totals answered, for each sub query and plan */
    _Atomic uint64_t n_regex_steps; /* steps so far, approximately (base/regex.h) */
    uint64_t n_read_bytes;    /* estimated bytes of files of all sub queries so far; of the planning thread */
    _Atomic unsigned refusal; /* enum qry_refusal: the limit that ended the run */
    _Atomic uint64_t n_looks; /* how often the run checked its limits */
    bool allow_partial;       /* where the remote store fails, the run continues with what is here */
    _Atomic unsigned completeness; /* enum qry_completeness, set by the run; see qry_limit_commit */
    struct qry_left_out left_out;  /* what has expired and did not fit, so far */
    uint64_t cancel_at_look;       /* for tests: the run is cancelled at this check; 0 = never */
    struct qry_stats *stats;       /* the run fills it; may be NULL */
};

/** Has the run exceeded its time? With cpu_deadline_ns a thread that had to wait for a processor gets more time: the processor
 * time that is left extends deadline_ns. With cpu_deadline_ns only the thread of the run may call this, else any thread. */
bool qry_limit_late(struct qry_limit *l);
/** May the run continue although the remote store has failed? If so, the answer is incomplete from now on. Any thread. */
bool qry_limit_continue(struct qry_limit *l);
/** The remote store has failed, and the run continues without it. Any thread. */
bool qry_limit_incomplete(const struct qry_limit *l);
/** The caller is about to send the first bytes of the answer, with a mark if qry_limit_incomplete: an answer that is complete
 * now will not become incomplete. */
void qry_limit_commit(struct qry_limit *l);

/* A result series. Borrowed during the callback. */
struct qry_series {
    size_t sub; /* index of the sub query */
    struct ts_slice metric;
    const struct sto_tag_text *tags; /* tags that all series of the group share */
    size_t n_tags;
    const struct ts_slice *agg_tags; /* keys whose values differ (aggregateTags) */
    size_t n_agg_tags;
    const struct ts_slice *tsuids; /* sorted; only with show_tsuids */
    size_t n_tsuids;
    const struct qry_view *view; /* names of the members; NULL: there are none */
    /* The group consists of the series members[places[i]], i < n_places, for which data[places[i]] is not 0. */
    const struct sto_series *const *members;
    const uint32_t *places;
    const uint8_t *data;
    size_t n_places;
    size_t n;              /* points */
    const int64_t *ts_ms;  /* ascending */
    const uint64_t *v;     /* int64_t or bits of a double */
    const uint8_t *is_int; /* one flag per point; NULL: all_int holds for all of them */
    bool all_int;          /* every point is an integer */
    bool nan_is_null;      /* print NaN as null (fill policy null) */
    bool joined;           /* a function combined several series; OpenTSDB prints no annotations for it */
    /* Figures of all points before thinning, borrowed; NULL: not requested. */
    const struct qry_figures *figures;
};
typedef int (*qry_series_fn)(void *arg, const struct qry_series *s, struct ts_error *err);

/**
 * Run a query and emit one series per group, sub query by sub query.
 *
 * @param pool   threads that share the work; NULL: the calling thread does all of it
 * @param limit  limits, cancellation and statistics; borrowed until return; NULL: none
 * @param emit   callback for each series, in the calling thread; its error ends the run and is returned
 * @return 0
 *         TS_ENOTFOUND   unknown metric, tag key or tag value, with OpenTSDB's text
 *         TS_ELIMIT      a limit is exceeded; the text names the limit, the progress and the key
 *         TS_ECANCELLED, TS_ETIMEOUT, errors of the store
 */
int qry_run(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec, struct qry_limit *limit,
            qry_series_fn emit, void *arg, struct ts_error *err);

/* A further value of a row of totals. */
struct qry_total_value {
    bool null, is_int;
    __int128 i; /* the value if is_int */
    double d;   /* the value otherwise */
};
/* One row of totals: a cell. */
struct qry_total {
    int64_t ts_ms; /* start of the cell in UTC, not clipped to the range of the query; valid if by_time.n */
    struct ts_civil local;        /* date and hour in the query's time zone */
    int64_t local_ms;             /* the same in milliseconds, as if it were UTC */
    int64_t offset_ms;            /* offset of the zone: distinguishes the repeated hour in autumn */
    bool repeated;                /* this local date and hour occurs twice, and this is the second time */
    enum ts_unit unit;            /* unit of by_time */
    uint8_t weekday, hour_of_day; /* 1 (Monday) to 7, 0 to 23; valid if they are keys */
    const struct ts_slice *tags;  /* values of the tag columns, in their order */
    const uint32_t *ids;          /* ids of these values, or QRY_NO_VALUE, QRY_OTHERS */
    bool is_int;
    bool empty; /* the cell has no points; the row exists because of fill zero or null */
    bool null;  /* empty and printed without a value */
    __int128 i; /* the value if is_int */
    double d;   /* the value otherwise */
    const struct qry_total_value *more; /* [n_more] values of further columns */
    size_t n_more;
    bool partial; /* the query's range does not cover the interval, or the interval is not over yet */
};
typedef int (*qry_total_fn)(void *arg, const struct qry_total *t, struct ts_error *err);
/** Compute the totals of spec->subs[0]. A cell is one row, such as one domain in one hour; the aggregator is
 * applied once to all of its points, and nothing is interpolated. Rows are sorted by time, then by the bytes
 * of their tag values. A series that lacks a key of by_tags counts as QRY_NO_VALUE; with compat it is left
 * out. Arguments and errors as for qry_run. */
int qry_totals(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec,
               struct qry_limit *limit, qry_total_fn emit, void *arg, struct ts_error *err);

/* The time columns of totals. */
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
#define QRY_TIME_COLUMN_BYTES 40 /* longest text of a time column, with its terminating zero */
/** Store the time columns of a breakdown in out, QRY_MAX_TIME_COLUMNS at most; returns their number. */
size_t qry_time_columns(const struct qry_by_time *t, enum qry_time_column *out);
/** Name of a time column: "date", "hour" ... */
const char *qry_time_column_name(enum qry_time_column c);
/** Print the value of a row in a time column: "2026-11-02", "Mon", "02", or "02+01:00" for a repeated hour.
 * out has QRY_TIME_COLUMN_BYTES; returns the number of bytes without the zero. */
size_t qry_time_column_print(enum qry_time_column c, const struct qry_total *t, char *out);

/* The columns of a table of totals: times, tags, values, in this order. */
struct qry_head {
    enum qry_time_column times[QRY_MAX_TIME_COLUMNS];
    size_t n_times;
    const struct ts_slice *tags; /* tag keys */
    size_t n_tags;
    const struct ts_slice *values; /* names of the value columns */
    const struct ts_slice *units;  /* units of these columns; n == 0: unknown */
    size_t n_values;
};
/** Callback, called once before the rows; head stays valid until the last row. */
typedef int (*qry_head_fn)(void *arg, const struct qry_head *head, struct ts_error *err);
/**
 * Compute the totals of all sub queries as one table: it puts their values side by side, applies top, bottom and others,
 * adds the earlier cells (compare), turns the values of a key into columns and sorts the rows. Without any of these it emits each
 * row as soon as it is computed.
 *
 * @param head   called once with the columns
 * @param emit   called for each row
 * @return 0, errors of qry_totals, or the error of a callback
 *
 * Memory: counted in the account of limit.   Threads: as qry_run.
 */
int qry_table(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec,
              struct qry_limit *limit, qry_head_fn head, qry_total_fn emit, void *arg, struct ts_error *err);

/* A series with points in the range of a query that deletes. */
struct qry_delete_target {
    const struct sto_series *series;
    int64_t from_ms, to_ms; /* range to delete, both ends inclusive */
    uint64_t n_points;      /* points in that range now */
    size_t sub;             /* index of the sub query */
    enum qry_kind kind;     /* rollups and histogram buckets are stored in internal series */
    /* Add n_points to the number that is reported. Histograms count once per histogram, not per bucket: it is true
     * for the series of one bucket only. */
    bool counts;
};
typedef int (*qry_delete_target_fn)(void *arg, const struct qry_delete_target *d, struct ts_error *err);
/** Without compat, refuse a delete whose start names a day, a month or a year and that has no end: the user
 * may mean that period alone, or everything since it began. TS_EINVAL with a text that names both ways to
 * write it. */
int qry_delete_need_end(const struct qry_spec *spec, struct ts_error *err);
/** Range that a delete removes, both ends inclusive: start to end; with compat, as in OpenTSDB, extended to
 * whole hours. */
void qry_delete_target_range(const struct qry_spec *spec, int64_t *out_from_ms, int64_t *out_to_ms);
/** Report to each the series of all sub queries that have points of spec->kinds in qry_delete_target_range.
 * Errors as for qry_run. */
int qry_delete_find(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                    qry_delete_target_fn each, void *arg, struct ts_error *err);

/** Report to each what is to be deleted besides these targets: the summaries of hours whose points have expired (storage/aged.h) and that lie in their
 * ranges as a whole; of targets that are such summaries, those of days. Call it when the deletes of the targets are visible; not before, since a pass of
 * retention may make summaries meanwhile; and once more with what it has reported. The result of each ends it. Errors of a scan. */
int qry_delete_aged(struct sto_store *st, const struct qry_delete_target *targets, size_t n,
                    qry_delete_target_fn each, void *arg, struct ts_error *err);

/** Add to set the numbers of the series that the sub queries choose and the catalog has, whether or not they have points.
 * Errors as for qry_run. */
int qry_series_select(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                      roaring_bitmap_t *set, struct ts_error *err);

/* The last point of a series, as for /api/query/last. */
struct qry_last {
    const struct sto_series *series;
    const struct qry_view *view; /* its names */
    int64_t ts_ms;
    struct ts_num value;
};
typedef int (*qry_last_fn)(void *arg, const struct qry_last *p, struct ts_error *err);
/* A request for the newest points of series. */
struct qry_last_request {
    /* "metric{k=v,...}": the series that have these tags; a value may also be "*" (any) or "a|b" (one of these). */
    struct ts_slice timeseries;
    struct ts_slice tsuid;   /* hexadecimal; if given, this series is used instead */
    bool only;               /* timeseries names all tags: only the series without further tags */
    int64_t back_scan_hours; /* how far to search back from the present hour; 0 = the whole store */
    int64_t now_ms;          /* for back_scan_hours */
    size_t n;                /* qry_run_latest: points per series; 0 = 1 */
    bool at_on;              /* only points at or before at_ms */
    int64_t at_ms;
    bool compat; /* compat = opentsdb: errors suggest no similar name */
};
/** Emit the newest point of each series; series without points are left out. Errors as for qry_run. */
int qry_run_last(struct sto_store *st, struct ts_pool *pool, const struct qry_last_request *ask,
                 struct qry_limit *limit, qry_last_fn emit, void *arg, struct ts_error *err);

/* The newest points of one series, newest first. Borrowed during the callback. */
struct qry_latest {
    const struct sto_series *series;
    const struct qry_view *view; /* its names */
    size_t n;                    /* points, at least 1 */
    const int64_t *ts_ms;
    const struct ts_num *v;
};
typedef int (*qry_latest_fn)(void *arg, const struct qry_latest *p, struct ts_error *err);
/** Emit the newest ask->n points of each series, in the order of the series' numbers; series without points
 * are left out. It searches backwards from the end and reads no more than it needs. Errors as for qry_run. */
int qry_run_latest(struct sto_store *st, struct ts_pool *pool, const struct qry_last_request *ask,
                   struct qry_limit *limit, qry_latest_fn emit, void *arg, struct ts_error *err);

/** Name of the i-th aggregator in the table's order; NULL after the last one. */
const char *qry_agg_name(size_t i);
/** Write a sub query as one JSON object, as showQuery and /api/stats/query print it. cat supplies the ids of
 * tag keys; without it (NULL) they are left out. Source: docs/OPENTSDB.md, section 2.5, recorded answers of
 * OpenTSDB. */
void qry_echo_sub(const struct qry_sub *sub, size_t index, struct sto_catalog *cat, struct ts_json *j);
/** Write a whole query as /api/stats/query prints it; cat as for qry_echo_sub. */
void qry_echo(const struct qry_spec *spec, struct sto_catalog *cat, struct ts_json *j);

/** Does a sub query read histograms? */
static inline bool qry_sub_is_histogram(const struct qry_sub *sub)
{
    return sub->n_percentiles > 0 || sub->histogram_buckets;
}

#endif
