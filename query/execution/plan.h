/*
 * plan.h - the plan of a sub query: names resolved, series selected and grouped, the range to read.
 *
 * Threads    one thread makes a plan; afterwards it is constant, except that each piece sets has_data of its own series
 * Source     docs/OPENTSDB.md, sections 4.2, 4.3
 */
#ifndef QUERY_EXECUTION_PLAN_H
#define QUERY_EXECUTION_PLAN_H

#include "query/execution/downsample.h"
#include "query/execution/reader.h"
#include "query/filters/filter.h"

#define QRY_WHOLE_HOURS_MAX (1 << 24) /* most hours of the bitmap whole_hours; longer scans read points */

/* The series of one output. */
struct qry_group {
    const uint32_t *key;     /* value ids of the grouping keys */
    uint32_t n;              /* series */
    const uint32_t *members; /* positions of the series, in scan order */
};

struct qry_plan {
    const struct qry_spec *spec;
    const struct qry_sub *sub;
    size_t index;                     /* index of the sub query */
    struct ts_arena *arena;           /* memory of the plan */
    uint32_t metric;                  /* metric id */
    size_t n;                         /* number of series */
    const struct sto_series **series; /* ascending by number */
    uint8_t *has_data;                /* [n] 1: points were found in the range */
    uint32_t *rank;                   /* [n] position in the order of names; NULL: as scanned */
    uint32_t *group_of;               /* [n] group of each series */
    uint32_t *keys;                   /* ids of the grouping keys, ascending */
    size_t n_keys;
    struct qry_group *groups; /* in output order */
    size_t n_groups;
    int64_t from_ms, to_ms;           /* padded range, from <= t < to */
    int64_t scan_from_ms, scan_to_ms; /* the same, clipped to hours that may have data; empty: to <= from */
    uint8_t *whole_hours;             /* hours that summaries may answer; NULL: none */
    bool needs_points;                /* no summary suffices for its buckets or totals, as of percentiles */
    const uint8_t *days;              /* the same of days (days.h); NULL: none */
    struct qry_one one;               /* what days were made with */
    struct qry_grid grid;             /* if sub->downsample.on */
    size_t chunk;                     /* series per piece of work */
    /* Pieces that follow the groups, so that each piece has few open groups (NULL: pieces of chunk positions): */
    uint32_t *piece_at;    /* [n] positions, piece by piece, ascending in each */
    uint32_t *piece_first; /* [n_pieces + 1] where the positions of each piece begin */
    size_t n_pieces;
    /* For plans that read internal series in place of visible ones (rollup.h): */
    const struct sto_series **shown; /* [n] visible series; NULL: the same as series */
    uint32_t shown_metric;           /* id of the visible metric */
    const uint32_t *shown_pos;       /* [n] position of each series in the plan it was made from */
    const uint32_t *shown_group;     /* [n_groups] index of each group in that plan, ascending */
    bool by_tags;                    /* totals: groups are combinations of tag values */
    bool keep_spans; /* series are processed after reading: not dense, rates are computed later */
};
/** The visible series at a position. */
static inline const struct sto_series *qry_plan_shown(const struct qry_plan *p, size_t pos)
{
    return p->shown ? p->shown[pos] : p->series[pos];
}

/** Resolve the names of a sub query of a spec whose view is set, select its series and group them; totals pass by_keys, the tag keys to
 * group by instead of those of the filters. TS_ENOTFOUND with OpenTSDB's text; TS_ELIMIT, errors of
 * qry_budget_look. */
int qry_plan_select(const struct qry_spec *spec, size_t index, const struct ts_slice *by_keys,
                    size_t n_by_keys, struct qry_budget *budget, struct ts_arena *arena, struct qry_plan *out,
                    struct ts_error *err);
/** Compute the padded range, the buckets and the whole hours of a query without totals. Errors as for
 * qry_grid_make. */
int qry_plan_range(struct sto_snap *snap, struct qry_plan *p, struct ts_error *err);
/** Clip from_ms..to_ms to the days (of the store's zone) that may have data; sets scan_from_ms and scan_to_ms. */
void qry_plan_clip(struct sto_snap *snap, struct qry_plan *p);
/** Set whole_hours to the hours of the scan that lie in it whole (memory of the arena), and *out_n to the number of hours of
 * the scan; leaves it NULL and *out_n 0 if the scan is empty or too long. TS_ELIMIT, TS_ENOMEM. */
int qry_plan_whole_hours(struct qry_plan *p, size_t *out_n, struct ts_error *err);
/** Let no summary answer a plan of buckets or totals, since its accumulator needs points. Where points have expired there are whole_hours all the same, all 0: what has expired is left out,
 * and counted (left_out.h). Errors of qry_plan_whole_hours. */
int qry_plan_no_hours(struct sto_snap *snap, struct qry_plan *p, struct ts_error *err);
/** Number of series per piece of work. It depends on the query and the number of series and hours alone, so
 * that no digit of a result depends on threads or files. sums: most hours are read as summaries. */
size_t qry_plan_chunk(size_t n_series, int64_t n_hours, bool sums);
/** Cut the series of a plan whose range and buckets are set into pieces; sums as for qry_plan_chunk. TS_ELIMIT, TS_ENOMEM. */
int qry_plan_cut(struct qry_plan *p, bool sums, struct ts_error *err);
/** Make the plan of totals (totals.c) for --explain, so query_max_series does not apply; memory of the
 * arena. */
int qry_totals_plan(struct sto_snap *snap, const struct qry_spec *spec, struct qry_limit *limit,
                    struct ts_arena *arena, struct qry_plan *out, struct ts_error *err);
/** The group that series with these tags belong to, ascending by key; -1: none is selected, or the plan has more than 255 keys. Tags that the plan does not group by do not matter. O(log n_groups). */
int64_t qry_plan_find_group(const struct qry_plan *p, const struct sto_tag *tags, size_t n_tags);
/** Specification of the scan that a plan needs. */
struct sto_scan_spec qry_plan_scan(const struct qry_plan *p);
/** The reading of a plan: all of its series over the range of the scan. The caller sets who takes the rows. */
struct qry_reading qry_plan_reading(const struct qry_plan *p, struct sto_snap *snap,
                                    struct qry_budget *budget);
/** Refuse a plan that would read more bytes of files than the limit allows; errors as for qry_budget_scan. */
int qry_plan_afford(const struct qry_plan *p, struct sto_snap *snap, struct qry_budget *budget,
                    struct ts_error *err);
/** Are series added to the buckets of their groups while they are read? */
bool qry_plan_dense(const struct qry_plan *p);
/** Number of pieces. */
static inline size_t qry_plan_chunks(const struct qry_plan *p)
{
    if (p->piece_at)
        return p->n_pieces;
    return p->n ? (p->n + p->chunk - 1) / p->chunk : 0;
}
/** Where a piece begins, among positions or in piece_at, and its number of series. */
static inline size_t qry_plan_piece(const struct qry_plan *p, size_t piece, size_t *out_n)
{
    size_t first = p->piece_at ? p->piece_first[piece] : piece * p->chunk;
    size_t end = p->piece_at ? p->piece_first[piece + 1] : first + p->chunk;
    *out_n = (end < p->n ? end : p->n) - first;
    return first;
}
/** Position of series i of a piece that begins at first. */
static inline size_t qry_plan_pos(const struct qry_plan *p, size_t first, size_t i)
{
    return p->piece_at ? p->piece_at[first + i] : first + i;
}
/** Do all series of a group lie in one piece, the one that begins at first and has n series? */
bool qry_plan_inner(const struct qry_plan *p, uint32_t group, size_t first, size_t n);
/** Rank of a series in the order of the members of its group. */
static inline uint32_t qry_plan_rank(const struct qry_plan *p, size_t pos)
{
    return p->rank ? p->rank[pos] : (uint32_t)pos;
}
/** Compare tag values of totals: by bytes; then the series without a value, then the others. */
static inline int qry_total_cmp_values(uint32_t a, struct ts_slice a_text, uint32_t b, struct ts_slice b_text)
{
    int x = a == QRY_OTHERS ? 2 : a == QRY_NO_VALUE, y = b == QRY_OTHERS ? 2 : b == QRY_NO_VALUE;
    return x != y ? x - y : ts_slice_cmp(a_text, b_text);
}
/** Text of a value id, also of QRY_NO_VALUE and QRY_OTHERS; memory of the view. */
struct ts_slice qry_plan_value_name(const struct qry_view *view, uint32_t id);
/** Value id of a key in a series; 0 if it has no such key. */
uint32_t qry_series_value(const struct sto_series *s, uint32_t tagk);

#endif
