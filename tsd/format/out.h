/*
 * out.h - output formats: they write series or totals as text to a sink. HTTP and the command line share them.
 *
 *   tsd_out_init(&o, format, spec, sink)   o.format->begin   series* or total*   end
 *
 * Threads    one thread at a time
 * Not here   where the text goes (sink.h), what is computed (query/)
 */
#ifndef TSD_FORMAT_OUT_H
#define TSD_FORMAT_OUT_H

#include "base/json.h"
#include "base/sink.h"
#include "query/query.h"
#include "query/thin.h"

struct tsd_out;

/* A format, a row of TSD_OUT_FORMATS. Functions return 0 or the error of the sink. */
struct tsd_out_format {
    const char *name;         /* as in format=csv */
    const char *content_type; /* for HTTP */
    const char *accept; /* media types of a header Accept that select it, separated by blanks; NULL: none */
    int (*begin)(struct tsd_out *o, struct ts_error *err);
    int (*head)(struct tsd_out *o, struct ts_error *err); /* columns of totals, o->head; NULL: not printed */
    int (*series)(struct tsd_out *o, const struct qry_series *s, struct ts_error *err);
    int (*total)(struct tsd_out *o, const struct qry_total *t, struct ts_error *err);
    int (*end)(struct tsd_out *o, struct ts_error *err);
    const char *help; /* one sentence */
    bool has_figures; /* prints the figures of a series */
};

/* All formats that users may name, the default of commands first: each is a struct tsd_out_format tsd_out_<identifier> in a file of
 * this folder. */
#define TSD_OUT_FORMATS(ROW)                                                                                 \
    ROW(text, "text")                                                                                        \
    ROW(csv, "csv")                                                                                          \
    ROW(csv_tags, "csv-tags")                                                                                \
    ROW(csv_wide, "csv-wide")                                                                                \
    ROW(json, "json")                                                                                        \
    ROW(markdown, "markdown")                                                                                \
    ROW(ndjson, "ndjson")                                                                                    \
    ROW(ndjson_points, "ndjson-points")

#define TSD_OUT__DECLARE(identifier, name) extern const struct tsd_out_format tsd_out_##identifier;
TSD_OUT_FORMATS(TSD_OUT__DECLARE)
extern const struct tsd_out_format tsd_out_ascii; /* of the old path /q */
/* Their names, "text|csv|...", for helps and errors. */
#define TSD_OUT__NAME(identifier, name) "|" name
#define TSD_OUT_NAMES                   (&(TSD_OUT_FORMATS(TSD_OUT__NAME))[1])
/** All formats, ended by NULL. */
extern const struct tsd_out_format *const tsd_out_formats[];
/** Format by name; NULL if there is none. */
const struct tsd_out_format *tsd_out_find(struct ts_slice name);

/* The state of one reply. */
struct tsd_out {
    const struct tsd_out_format *format; /* row of the table */
    const struct qry_spec *spec;         /* borrowed */
    struct ts_sink *sink;                /* borrowed */
    const struct qry_stats *stats;       /* of the run, NULL: none kept */
    struct qry_limit *limit;             /* of the run; may be NULL */
    struct tsd_out_kept *kept;           /* series that wait for the end (kept.c); owned, NULL: none */
    struct sto_catalog
        *cat; /* for ids of tag keys; NULL before tsd_out_run, and if clients see the ids of a remote store */
    struct ts_buf scratch;       /* head of a series */
    const struct qry_head *head; /* totals: their columns, borrowed */
    size_t n;                    /* series or rows written */
    size_t n_left_out;           /* series that max_series leaves out */
    size_t *n_of;                /* series of each sub query, also those left out; NULL: not counted */
    struct qry_thin thin;        /* points of the current series with thin; owned */
    struct sto_store *notes;     /* json: has notes on series, to be shown; NULL = none */
    struct tsd_notes_fetched
        *fetched;          /* and those of series that only the remote store has; borrowed; NULL = none */
    struct ts_buf globals; /* json: array of global annotations; empty = none to show */
    int64_t time_hi;       /* json: seconds / 10000 whose digits are in time_text; -1 = none */
    char time_text[8];     /* six digits */
};
/** Prepare; spec and sink are borrowed. */
void tsd_out_init(struct tsd_out *o, const struct tsd_out_format *format, const struct qry_spec *spec,
                  struct ts_sink *sink);
/** Release; idempotent. */
void tsd_out_release(struct tsd_out *o);
/** Begin an answer from a store: its annotations, the format's beginning. Then series or totals, then format->end. */
int tsd_out_begin(struct tsd_out *o, struct sto_store *store, struct ts_error *err);
/** Run a query and write its whole answer, series or totals as spec says. */
int tsd_out_run(struct tsd_out *o, struct sto_store *store, struct ts_pool *pool, struct qry_limit *limit,
                struct ts_error *err);

/** Write the list of versions that spec->versions asks for; what tsd_out_run does then. */
int tsd_out_versions(struct tsd_out *o, struct sto_store *store, struct qry_limit *limit,
                     struct ts_error *err);

/* --- for formats --- */
/** Callbacks of qry_run and qry_totals; arg = struct tsd_out. */
int tsd_out_series(void *arg, const struct qry_series *s, struct ts_error *err);
/** With compat = opentsdb: after a query, the empty outputs that explicitTags leaves in OpenTSDB's answer. n_shown is the
 * number of series of the sub query; reads its series once more. */
int tsd_out_nameless(struct tsd_out *o, size_t sub, size_t n_shown, struct sto_store *store,
                     struct ts_pool *pool, struct qry_limit *limit, struct ts_error *err);
/** Callbacks of qry_table; arg = struct tsd_out. */
int tsd_out_head(void *arg, const struct qry_head *head, struct ts_error *err);
/** A row. */
int tsd_out_total(void *arg, const struct qry_total *t, struct ts_error *err);
/** Is point i of a series an integer? */
static inline bool tsd_out_is_int(const struct qry_series *s, size_t i)
{
    return s->all_int || (s->is_int && s->is_int[i]);
}
/** A field of CSV, in quotes where it needs them. */
int tsd_out_csv_field(struct ts_buf *b, struct ts_slice s);
/** Text as Markdown: what it would read as its own is escaped, ends of lines are blanks. */
void tsd_out_markdown_text(struct ts_buf *b, struct ts_slice s);
/** The same as a cell of a table, "| text ". */
void tsd_out_markdown_cell(struct ts_buf *b, struct ts_slice s);
/** Release what kept.c holds; NULL is harmless. Internal to the folder. */
void tsd_out__kept_free(struct tsd_out_kept *k);
/** A beginning or an end that writes nothing. */
int tsd_out_nothing(struct tsd_out *o, struct ts_error *err);
/** A row of totals with one blank between its columns. */
int tsd_out_total_words(struct tsd_out *o, const struct qry_total *t, struct ts_error *err);
/** A double as JSON: Java's digits, NaN as "NaN" or null, at most 48 bytes; returns the end. */
char *tsd_out_json_double(char *p, double d, bool nan_is_null);
/** A total's value as text; bytes written (at most 48). */
size_t tsd_out_total_value(const struct qry_total_value *v, char *out);
/** The i-th value of a row, the first one being 0. */
struct qry_total_value tsd_out_total_nth(const struct qry_total *t, size_t i);
/** A whole row of totals into o->scratch and on: columns of time, tag values by field, the values, with sep between. No value
 * is nothing between commas, else "null". */
int tsd_out_total_row(struct tsd_out *o, const struct qry_total *t, char sep,
                      int (*field)(struct ts_buf *b, struct ts_slice s), struct ts_error *err);
/* How a row prints its time. */
enum tsd_out_time { TSD_OUT_S, TSD_OUT_MS, TSD_OUT_ISO };
/** Rows of a series: head, time, sep (at most 3 bytes), value, tail. NaN of fill policy null is nothing between commas, else
 * "null". */
int tsd_out_points(struct tsd_out *o, const struct qry_series *s, struct ts_slice head,
                   enum tsd_out_time time, const char *sep, struct ts_slice tail, struct ts_error *err);
/** A time as "2026-11-02 13:00:00", UTC, with .mmm if it has milliseconds. */
void tsd_out_time(struct ts_buf *b, int64_t ms);

/* --- statistics of a query under OpenTSDB's names: showStats, showSummary, /api/stats/query (querystats.c) --- */

/** One sub query as an object. Times in ms. The sub queries of a request are read side by side: each shows the time of
 * all. */
void tsd_querystats_sub(struct ts_json *j, const struct qry_stats *stats, size_t sub);
/** The whole query as an object, sub queries inside (queryIdx_00). partial: say that the answer lacks what only the remote
 * store has. total_ns < 0: not known yet. */
void tsd_querystats_all(struct ts_json *j, const struct qry_stats *stats, bool partial, int64_t total_ns);

#endif
