/*
 * pieces.c - divides the series of a plan into pieces of work.
 *
 * Threads    as plan.h
 */
#include "query/execution/plan.h"

#include "base/array.h"
#include "query/limit.h"

#include <stdlib.h>

/* Neighbouring pieces both decode the block of rows where they meet, so pieces should be some blocks long. */
#define CHUNK_MAX_SERIES 4096
#define CHUNK_MIN_ROWS   256  /* the same, rows of points */
#define CHUNK_MIN_SUMS   4096 /* rows that are summaries */
#define CHUNKS_WANTED    64   /* enough for any number of cores */

/* limit of memory for groups that reach into several pieces; beyond it each group is read in pieces of its
 * own */
#define OPEN_MAX_BYTES  (32u << 20)
#define PIECE_MAX_BYTES (8u << 20) /* limit of memory for the groups of one such piece */

size_t qry_plan_chunk(size_t n_series, int64_t n_hours, bool sums)
{
    int64_t rows = sums ? CHUNK_MIN_SUMS : CHUNK_MIN_ROWS;
    if (n_hours < 1)
        n_hours = 1;
    size_t few = (size_t)((rows + n_hours - 1) / n_hours);
    size_t fair = (n_series + CHUNKS_WANTED - 1) / CHUNKS_WANTED;
    size_t chunk = few > fair ? few : fair;
    return chunk > CHUNK_MAX_SERIES ? CHUNK_MAX_SERIES : chunk;
}

bool qry_plan_dense(const struct qry_plan *p)
{
    return p->sub->downsample.on && p->grid.dense && !p->sub->none && !p->keep_spans;
}

bool qry_plan_inner(const struct qry_plan *p, uint32_t group, size_t first, size_t n)
{
    const struct qry_group *g = &p->groups[group];
    if (p->piece_at)
        return g->n <= p->chunk; /* only larger groups are spread over pieces */
    return g->members[0] >= first && g->members[g->n - 1] < first + n;
}

/* Memory that a group needs while its series are read. Values that a group accumulator keeps are counted in
 * addition, wherever they are. */
static uint64_t group_bytes(const struct qry_plan *p)
{
    return p->grid.n * (qry_group_acc_keeps(p->sub->agg) ? 1 : QRY_LANE_POINT_BYTES);
}

/* Memory that is in use at the end of reading if pieces are runs of positions: groups that reach into several
 * pieces count once for each. */
static uint64_t open_bytes(const struct qry_plan *p)
{
    uint64_t n_open = 0, most = OPEN_MAX_BYTES / (group_bytes(p) + 1) + 1;
    size_t n_pieces = p->n ? (p->n + p->chunk - 1) / p->chunk : 0;
    if (n_pieces * (uint64_t)p->n_groups <= most)
        return 0;
    for (size_t g = 0; g < p->n_groups && n_open <= most; g++) {
        size_t last = SIZE_MAX, n = 0;
        for (size_t i = 0; i < p->groups[g].n && n_open + n <= most; i++) {
            size_t piece = p->groups[g].members[i] / p->chunk;
            n += piece != last;
            last = piece;
        }
        n_open += n > 1 ? n : 0;
    }
    return n_open * group_bytes(p);
}

/* Cut pieces that consist of whole groups, or of a part of one large group. */
static int cut_groups(struct qry_plan *p, struct ts_error *err)
{
    size_t at = 0, n_groups = 0, most_groups = (size_t)(PIECE_MAX_BYTES / (group_bytes(p) + 1)) + 1;
    uint32_t *order = qry_arena_take(p->arena, p->n, sizeof *order, err);
    uint32_t *first = order ? qry_arena_take(p->arena, p->n + 2, sizeof *first, err) : NULL;
    if (!first)
        return qry_memory_code(err);
    p->n_pieces = 0;
    first[0] = 0;
    for (size_t g = 0; g < p->n_groups; g++) {
        const struct qry_group *group = &p->groups[g];
        size_t begun = at - first[p->n_pieces];
        if (begun && (begun + group->n > p->chunk || n_groups == most_groups)) {
            first[++p->n_pieces] = (uint32_t)at;
            n_groups = 0;
        }
        for (size_t i = 0; i < group->n; i++) {
            if (at - first[p->n_pieces] == p->chunk)
                first[++p->n_pieces] = (uint32_t)at;
            order[at++] = group->members[i];
        }
        n_groups++;
        if (group->n > p->chunk) { /* its last piece has no other groups either */
            first[++p->n_pieces] = (uint32_t)at;
            n_groups = 0;
        }
    }
    if (first[p->n_pieces] < at)
        first[++p->n_pieces] = (uint32_t)at;
    for (size_t i = 0; i < p->n_pieces; i++)
        qsort(order + first[i], first[i + 1] - first[i], sizeof *order, ts_cmp_u32);
    p->piece_at = order;
    p->piece_first = first;
    return 0;
}

int qry_plan_cut(struct qry_plan *p, bool sums, struct ts_error *err)
{
    p->chunk = qry_plan_chunk(p->n, (p->to_ms - p->from_ms) / TS_HOUR_MS, sums);
    return qry_plan_dense(p) && open_bytes(p) > OPEN_MAX_BYTES ? cut_groups(p, err) : 0;
}
