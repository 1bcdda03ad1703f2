/*
 * lines_int.h - what the files of export share: lines.c (points), lines_internal.c (rollups, histograms).
 *
 * Threads    one
 */
#ifndef TSD_FORMAT_LINES_INT_H
#define TSD_FORMAT_LINES_INT_H

#include "base/mem.h"
#include "query/execution/reader.h"
#include "tsd/format/lines.h"

#define TSD_LINES_SERIES      4096u               /* of one scan */
#define TSD_LINES_PIECE_BYTES ((size_t)256 << 10) /* of text that is emitted at once */

/* One export under way. */
struct tsd_lines_run {
    struct sto_catalog *cat;           /* names */
    struct qry_view view;              /* the same, with those of the remote store */
    const struct qry_view_cond *conds; /* conditions on series of the remote store; memory of the caller */
    struct sto_snap *snap;             /* what is read */
    struct qry_budget *budget;         /* memory and end of the run; borrowed */
    tsd_lines_fn emit;                 /* where text goes */
    void *arg;                         /* for emit */
    struct ts_buf out;                 /* text not emitted yet */
    struct ts_buf front, back;         /* "metric " and " k=v k=v\n" of the row's series */
    struct ts_slice lead;              /* stands before the metric: "rollup 1h-sum " */
    struct ts_slice metric;            /* users' name of an internal one; p NULL: the series' own */
    bool found;                        /* some metric was wanted */
    uint64_t n;                        /* points, histograms */
};
/** Begin; st and budget are borrowed. */
void tsd_lines__open(struct tsd_lines_run *r, struct sto_store *st, struct qry_budget *budget,
                     tsd_lines_fn emit, void *arg);
/** Release memory and snapshot. */
void tsd_lines__close(struct tsd_lines_run *r);
/** Emit the text if there are at_least bytes of it. */
int tsd_lines__flush(struct tsd_lines_run *r, size_t at_least, struct ts_error *err);
/** Set front and back to a series' names. */
void tsd_lines__names(struct tsd_lines_run *r, const struct sto_series *s);
/** Print a row of the series whose names are set. */
int tsd_lines__row(struct tsd_lines_run *r, const struct sto_row *row, struct ts_error *err);
/** A reading of the points of n series of a metric, from_ms and to_ms inclusive; the caller sets its functions and calls qry_read. */
struct qry_reading tsd_lines__reading(const struct tsd_lines_run *r, uint32_t metric,
                                      const struct sto_series *const *series, size_t n, int64_t from_ms,
                                      int64_t to_ms);
/** Print points as lines, of those series of a metric that meet the conditions of spec. conds has these
 * conditions as ids. */
int tsd_lines__metric(struct tsd_lines_run *r, uint32_t metric, const struct tsd_lines_spec *spec,
                      const struct sto_tag_cond *conds, struct ts_error *err);
/** Does spec name this metric, or a pattern that it matches, or none? Notes in the run that there is one. */
bool tsd_lines__wanted(struct tsd_lines_run *r, const struct tsd_lines_spec *spec, struct ts_slice metric);
/** Print rollups and histograms as lines, of the metrics that spec wants. */
int tsd_lines__internal(struct tsd_lines_run *r, const struct tsd_lines_spec *spec,
                        const struct sto_tag_cond *conds, struct ts_arena *arena, struct ts_error *err);

/* --- histograms, joined from the counts of their buckets --- */

/* Receives a histogram as it stands in a line of import; in order of time. Borrowed until return; < 0 ends the reading. */
typedef int (*tsd_lines_hist_fn)(void *arg, int64_t ts_ms, bool ms, struct ts_slice text,
                                 struct ts_error *err);
struct tsd_lines_hists;
/** The histograms of a metric; the object lives in the arena. Close it. */
struct tsd_lines_hists *tsd_lines__hists_open(struct tsd_lines_run *r, struct ts_slice metric,
                                              struct ts_arena *arena, tsd_lines_hist_fn each, void *arg);
/** The internal metric of its first bucket, which every histogram has; empty: the metric has no histograms. */
struct ts_slice tsd_lines__hists_metric(const struct tsd_lines_hists *h);
/** Read those of a series of that metric from from_ms to to_ms, both included. Errors of qry_read and of the function. */
int tsd_lines__hists_read(struct tsd_lines_hists *h, const struct sto_series *first, int64_t from_ms,
                          int64_t to_ms, struct ts_error *err);
/** Release what the arena does not. */
void tsd_lines__hists_close(struct tsd_lines_hists *h);

#endif
