/*
 * merge.c - returns the rows of many files and memstores in key order, each row once.
 *
 * A heap holds the next row of each source. The rows with the smallest key are removed together (the group)
 * and become one result: a summary, the unchanged cells of a single source, or merged cells. Selected series
 * are added to the heap one after the other.
 *
 * Threads    one; memstores are read beside their writers
 * Not here   positions in sources (merge_src.c), tombstones (merge_tomb.c), merging of cells (merge_cells.c), long rows
 *            (merge_slices.c)
 */
#include "storage/engine/merge/merge.h"

#include "storage/engine/memory/fold.h"
#include "storage/engine/merge/merge_heap.h"
#include "storage/remote.h"

#define ROWS_AHEAD   8 /* rows of memstores fetched ahead */
#define SERIES_AHEAD 6 /* series whose rows in memstores are fetched ahead */
#define CELL_BYTES   (sizeof(int64_t) + sizeof(uint32_t))
#define ROW_BYTES    96 /* of a memstore's row with its first cells: two cache lines */

static struct sto_merge__src *src_of(const struct sto_merge *m, const struct sto_merge__item *item)
{
    return &m->srcs[(uint32_t)item->key & ~STO_MERGE__ROW];
}

/* --- scans of all rows --- */

static void push_ref(struct sto_merge *m, struct sto_merge__src *src)
{
    if (src->at_ref == src->n_refs)
        return;
    if (src->at_ref + ROWS_AHEAD < src->n_refs) {
        const char *ahead = (const char *)src->refs[src->at_ref + ROWS_AHEAD].row;
        __builtin_prefetch(ahead);
        __builtin_prefetch(ahead + ROW_BYTES - 1);
    }
    const struct sto_merge__ref *ref = &src->refs[src->at_ref];
    sto_merge__heap_push(
        m, sto_merge__heap_key(ref->metric, ref->series, sto_mem_row_hour(ref->row), (size_t)(src - m->srcs)),
        ref->row);
}

/* A cursor of a file has moved: update the count of files with an open block. */
static void count_open(struct sto_merge *m, struct sto_merge__src *src)
{
    bool open = sto_merge__is_open(src);
    m->n_open += (size_t)open - (size_t)src->open;
    src->open = open;
    m->counts.n_open_most = m->n_open > m->counts.n_open_most ? m->n_open : m->counts.n_open_most;
}

static int walk_file(struct sto_merge *m, struct sto_merge__src *src, struct ts_error *err)
{
    int rc = sto_merge__walk(m, src, m->hour_lo, m->hour_hi, err);
    if (rc == 1)
        sto_merge__heap_push_file(m, src);
    count_open(m, src);
    return rc;
}

static int begin_all(struct sto_merge *m, struct ts_error *err)
{
    for (size_t i = m->n_srcs; i-- > 0;) { /* newest first, see sto_merge__srcs_init */
        struct sto_merge__src *src = &m->srcs[i];
        if (!src->has_rows)
            continue;
        if (src->mem) {
            sto_merge__collect(src, m->hour_lo, m->hour_hi);
            push_ref(m, src);
        } else {
            TS_TRY(walk_file(m, src, err));
        }
    }
    return 0;
}

/* --- scans of selected series --- */

/* First time that is kept of a series. */
static int64_t kept_from(const struct sto_merge *m, uint32_t id)
{
    struct sto_remote_tag tags[UINT8_MAX]; /* n_tags of a series is a byte */
    struct sto_remote_series names;
    if (id < STO_FOREIGN || !m->spec.foreign)
        return sto_keep_from_ms(m->spec.keep, id, m->spec.now_ms);
    m->spec.foreign(m->spec.foreign_arg, m->spec.series[m->pos], tags, &names);
    return sto_keep_names_from_ms(m->spec.keep, &names, m->spec.now_ms);
}

/* From now on, rows of this series are read: leave out what has expired. */
static void begin_series(struct sto_merge *m, uint32_t id)
{
    m->from_ms = m->spec.from_ms;
    m->row_lo = m->hour_lo;
    if (!m->spec.keep)
        return;
    int64_t from_ms = kept_from(m, id);
    if (from_ms <= m->from_ms)
        return;
    m->from_ms = from_ms;
    if (from_ms > STO_MAX_TS_MS)
        m->row_lo = INT32_MAX;
    else if (sto_hour(from_ms) > m->row_lo)
        m->row_lo = sto_hour(from_ms);
}

/* Add the first row of a series in a file to the heap. */
static int enter_file(struct sto_merge *m, struct sto_merge__src *src, uint32_t id, struct ts_error *err)
{
    const struct sto_key key = {m->spec.metric, id, m->row_lo};
    src->vain = false;
    int rc = sto_merge__seek(m, src, &key, m->hour_hi, err);
    if (rc == 1)
        sto_merge__heap_push_file(m, src);
    else if (rc == 0)
        sto_merge__rest(m, src);
    count_open(m, src);
    return rc < 0 ? rc : 0;
}

/* Add an item for a file whose rows begin later than the scan; the file is not read before that hour is
 * reached. */
static int push_later(struct sto_merge *m, struct sto_merge__src *src, uint32_t id, struct ts_error *err)
{
    int rc = sto_merge__has(src, id, err);
    if (rc == 1)
        sto_merge__heap_push(
            m,
            sto_merge__heap_key(m->spec.metric, id, src->hour_first, (size_t)(src - m->srcs)) &
                ~(unsigned __int128)STO_MERGE__ROW,
            NULL);
    return rc < 0 ? rc : 0;
}

/* Read the files whose first hour is reached. */
static int enter_due(struct sto_merge *m, struct ts_error *err)
{
    while (m->n_heap && !((uint32_t)m->heap[0].key & STO_MERGE__ROW)) {
        struct sto_merge__item item = sto_merge__heap_pop(m);
        TS_TRY(enter_file(m, src_of(m, &item), (uint32_t)(item.key >> 64), err));
    }
    return 0;
}

static int enter_series(struct sto_merge *m, struct ts_error *err)
{
    uint32_t id = m->spec.series[m->pos]->id;
    begin_series(m, id);
    if (m->pos + 2 * SERIES_AHEAD < m->spec.n_series)
        __builtin_prefetch(m->spec.series[m->pos + 2 * SERIES_AHEAD]);
    if (m->row_lo > m->hour_hi)
        return 0;                          /* all of it has expired */
    for (size_t i = m->n_srcs; i-- > 0;) { /* newest first, see sto_merge__srcs_init */
        struct sto_merge__src *src = &m->srcs[i];
        if (!src->has_rows)
            continue;
        if (src->sst && src->hour_first > m->row_lo) {
            TS_TRY(push_later(m, src, id, err));
            continue;
        }
        if (src->sst) {
            TS_TRY(enter_file(m, src, id, err));
            continue;
        }
        if (m->pos + SERIES_AHEAD < m->spec.n_series)
            __builtin_prefetch(sto_mem_rows(src->mem, m->spec.series[m->pos + SERIES_AHEAD]));
        for (const struct sto_mem_row *r = sto_mem_rows(src->mem, m->spec.series[m->pos]); r;
             r = sto_mem_row_next(r)) {
            int32_t hour = sto_mem_row_hour(r);
            if (hour >= m->row_lo && hour <= m->hour_hi)
                sto_merge__heap_push(m, sto_merge__heap_key(m->spec.metric, id, hour, i), r);
        }
    }
    return 0;
}

/* Advance the sources of the row returned last. This is done only now, because that row was borrowed from
 * them. */
static int advance_group(struct sto_merge *m, struct ts_error *err)
{
    size_t n = m->n_group;
    m->n_group = m->n_read = 0;
    for (size_t i = 0; i < n; i++) {
        struct sto_merge__src *src = m->group[i].src;
        if (src->mem) { /* selected series: all rows are in the heap */
            if (!m->spec.series) {
                src->at_ref++;
                push_ref(m, src);
            }
        } else if (m->spec.series) {
            int rc = sto_merge__step(m, src, m->hour_hi, err);
            if (rc < 0)
                return rc;
            if (rc == 1)
                sto_merge__heap_push_file(m, src);
            else
                sto_merge__rest(m, src);
            count_open(m, src);
        } else {
            TS_TRY(walk_file(m, src, err));
        }
    }
    return 0;
}

/* --- one row --- */

static void take_group(struct sto_merge *m, struct sto_key *out_key)
{
    unsigned __int128 id = m->heap[0].key >> 32;
    do {
        struct sto_merge__item item = sto_merge__heap_pop(m);
        m->group[m->n_group++] = (struct sto_merge__member){src_of(m, &item), item.row};
    } while (m->n_heap > 0 && m->heap[0].key >> 32 == id);
    *out_key = (struct sto_key){(uint32_t)(id >> 64), (uint32_t)(id >> 32),
                                (int32_t)((uint32_t)id ^ STO_MERGE__HOUR_SIGN)};
}

static bool is_whole_hour(const struct sto_merge *m, int32_t hour)
{
    int64_t lo = hour * TS_HOUR_MS;
    return m->spec.whole_hours[hour - sto_hour(m->spec.from_ms)] && m->from_ms <= lo &&
           m->spec.to_ms >= lo + TS_HOUR_MS - 1;
}

/* The part of c that the scan wants, borrowed. */
static struct sto_cells trim(const struct sto_merge *m, int32_t hour, const struct sto_cells *c)
{
    struct sto_cells part = *c;
    part.cap = 0;
    int64_t start = hour * TS_HOUR_MS;
    uint32_t lo = 0, hi = c->n;
    if (m->from_ms >= start + TS_HOUR_MS)
        lo = c->n; /* the row has expired */
    else if (m->from_ms > start)
        lo = sto_cells_find(c, m->from_ms - start);
    if (m->spec.to_ms < start + TS_HOUR_MS - 1)
        hi = sto_cells_find(c, m->spec.to_ms - start + 1);
    part.n = hi > lo ? hi - lo : 0;
    if (lo) { /* a row without cells has no arrays */
        part.meta += lo;
        part.m += lo;
    }
    return part;
}

/* Read the cells of a row of a memstore, which may be written to meanwhile. */
static int read_mem(struct sto_merge *m, const struct sto_mem_row *row, struct sto_cells *out,
                    struct ts_error *err)
{
    uint64_t had = sto_cells_bytes(out), more = sto_cells_growth(out, sto_mem_row_n(row));
    TS_TRY(sto_merge__take(m, more, err));
    sto_mem_row_read(row, out);
    uint64_t has = sto_cells_bytes(out);
    if (has > had + more)
        ts_tally_force(&m->share.tally, has - had - more);
    else
        ts_tally_give(&m->share.tally, had + more - has);
    return 0;
}

static int read_pieces(struct sto_merge *m, int32_t hour, struct ts_error *err)
{
    for (m->n_read = 0; m->n_read < m->n_group; m->n_read++) {
        size_t i = m->n_read;
        const struct sto_cells *c = &m->bufs[i];
        if (i < m->n_gone) {
            m->pieces[i] = (struct sto_cells){.n = 0};
            continue;
        }
        if (m->group[i].row)
            TS_TRY(read_mem(m, m->group[i].row, &m->bufs[i], err));
        else
            TS_TRY(sto_merge__cells(m, m->group[i].src, &c, err));
        m->counts.n_rows++;
        m->counts.n_points += c->n;
        m->counts.n_bytes += c->n * (sizeof(c->meta[0]) + sizeof(c->m[0]));
        m->pieces[i] = trim(m, hour, c);
    }
    return 0;
}

static bool has_adds(const struct sto_cells *c)
{
    if (sto_cells_are_kept(c))
        return false;
    if (c->uniform)
        return (c->common & STO_META_OP_MASK) != 0;
    uint32_t ops = 0;
    for (uint32_t i = 0; i < c->n; i++)
        ops |= c->meta[i];
    return (ops & STO_META_OP_MASK) != 0;
}

/* Return the only piece as it is; ADDs become PUTs in a copy of the flags. */
static int pass_through(struct sto_merge *m, const struct sto_cells **out_cells, struct ts_error *err)
{
    m->view = m->pieces[0];
    *out_cells = &m->view;
    if (m->spec.final && has_adds(&m->view)) {
        TS_TRY(sto_merge__take(m, sto_cells_growth(&m->out, m->view.n), err));
        sto_cells_reserve(&m->out, m->view.n);
        for (uint32_t i = 0; i < m->view.n; i++)
            m->out.meta[i] = m->view.meta[i] & ~STO_META_OP_MASK;
        m->view.meta = m->out.meta;
        sto_fold_uniform(&m->view);
    }
    return 0;
}

/* Merge the pieces, with the tombstones between them, which delete from all earlier pieces. */
static int merge_pieces(struct sto_merge *m, int32_t hour, const struct sto_cells **out_cells,
                        struct ts_error *err)
{
    static const struct sto_cells nothing;
    uint64_t all = 0;
    size_t n = 0, d = 0;
    for (size_t i = 0; i <= m->n_group; i++) {
        for (size_t k = 0; k < m->n_dels; k++)
            if (m->dels[k].older == i)
                m->parts[n++] = (struct sto_merge_src){&nothing, m->hour_tombs + m->dels[k].at, m->dels[k].n},
                d++;
        if (i < m->n_group)
            m->parts[n++] = (struct sto_merge_src){.cells = &m->pieces[i]};
    }
    if (d != m->n_dels)
        TS_BUG("%zu of %zu tombstone sources placed", d, m->n_dels);
    for (size_t i = 0; i < m->n_group; i++)
        all += m->pieces[i].n;
    /* Cells that are not deleted are copied and then joined: at most twice all cells, or those of a slice and its result, besides the result. */
    uint64_t had = sto_cells_bytes(&m->out);
    uint64_t result = sto_cells_growth(&m->out, sto_merge__most_cells(m, all));
    uint64_t scratch =
        n > 1 ? 2 * (all < 2 * STO_MERGE__SLICE_CELLS ? all : 2 * STO_MERGE__SLICE_CELLS) * CELL_BYTES : 0;
    TS_TRY(sto_merge__take(m, result + scratch, err));
    if (all > STO_MERGE__SLICE_CELLS)
        sto_merge__slices(m, hour, n, all);
    else
        sto_merge_cells(hour, m->parts, n, m->spec.final, &m->out);
    /* less than the result was taken for if cells are deleted */
    ts_tally_give(&m->share.tally, scratch + had + result - sto_cells_bytes(&m->out));
    *out_cells = &m->out;
    return 0;
}

/* A reader may not take a sum that did not fit for a number: name it. */
static int check_sums(const struct sto_merge *m, int32_t hour, const struct sto_cells *c,
                      struct ts_error *err)
{
    bool any = false;
    if (!m->spec.series || !m->spec.final || m->spec.counts_only ||
        (c->uniform && sto_meta_kind(c->common) != TS_NUM_RAW))
        return 0;
    for (uint32_t i = 0; i < c->n; i++)
        any |= c->m[i] == STO_SUM_OVERFLOW;
    for (uint32_t i = 0; any && i < c->n; i++) {
        if (c->m[i] != STO_SUM_OVERFLOW || sto_meta_kind(c->meta[i]) != TS_NUM_RAW)
            continue;
        struct ts_slice text = ts_utf8_cut(sto_series_text(m->spec.series[m->pos - 1]), 120);
        return ts_error_set(
            err, TS_EINVAL,
            "the sum of %.*s at %lld ms does not fit into 64 bits: put a value there, or delete it",
            (int)text.n, text.p, (long long)(hour * TS_HOUR_MS + sto_meta_off(c->meta[i])));
    }
    return 0;
}

/* Read the points of the group: 1, 0 if none are left, < 0. */
static int read_row(struct sto_merge *m, struct sto_row *out_row, struct ts_error *err)
{
    int32_t hour = out_row->key.hour;
    m->n_gone = 0;
    if (m->spec.must_go_on) { /* a row that is too long may be deleted: then it is not read */
        sto_merge__tombs_at(m, &out_row->key);
        m->n_gone = sto_merge__n_gone(m, hour);
    }
    TS_TRY(read_pieces(m, hour, err));
    /* after the cells are read, so that every delete that preceded one of them is seen */
    sto_merge__tombs_at(m, &out_row->key);
    if (m->n_group == 1 && m->n_dels == 0)
        TS_TRY(pass_through(m, &out_row->cells, err));
    else
        TS_TRY(merge_pieces(m, hour, &out_row->cells, err));
    TS_TRY(check_sums(m, hour, out_row->cells, err));
    return out_row->cells->n > 0;
}

/* Make the row of the group, by its summary if possible: 1, 0 if no points are left, < 0. */
static int make_row(struct sto_merge *m, const struct sto_key *key, struct sto_row *out_row,
                    struct ts_error *err)
{
    *out_row = (struct sto_row){.key = *key, .pos = m->spec.series ? m->pos - 1 : 0, .n_hours = 1};
    struct sto_merge__src *only = m->n_group == 1 ? m->group[0].src : NULL;
    const struct sto_summary *sum = NULL;
    if (only && only->by_sums && !only->vain && is_whole_hour(m, key->hour))
        sum = sto_sst_cur_summary(only->sums.cur);
    if (sum && (sum->has_sum || !m->spec.needs_sum)) {
        sto_merge__tombs_at(m, key);
        out_row->sum = m->n_dels == 0 ? sum : NULL;
        if (out_row->sum) {
            m->counts.n_summaries++;
            return 1;
        }
    }
    return read_row(m, out_row, err);
}

/* Add the series whose rows were read to an error of damage. */
static int blame(const struct sto_series *s, int rc, struct ts_error *err)
{
    if (rc == TS_ECORRUPT && err && s->text_len)
        (void)ts_error_wrap(err, "%.*s", (int)ts_utf8_cut(sto_series_text(s), 80).n, sto_series_text(s).p);
    return rc;
}

/* Add series and files to the heap until a row is on top of it, or none is left. */
static int enter_next(struct sto_merge *m, struct ts_error *err)
{
    while (m->spec.series) {
        size_t n = m->n_heap;
        bool due = n && !((uint32_t)m->heap[0].key & STO_MERGE__ROW);
        if (n && !due)
            return 0;
        if (!due && m->pos >= m->spec.n_series)
            return 0;
        const struct sto_series *series = m->spec.series[due ? m->pos - 1 : m->pos];
        int rc = due ? enter_due(m, err) : enter_series(m, err);
        if (rc < 0)
            return blame(series, rc, err);
        m->pos += !due;
    }
    return 0;
}

int sto_merge_next(struct sto_merge *m, struct sto_row *out_row, struct ts_error *err)
{
    for (;;) {
        struct sto_key key;
        TS_TRY(advance_group(m, err));
        TS_TRY(enter_next(m, err));
        if (m->n_heap == 0)
            return 0;
        take_group(m, &key);
        if (!m->spec.series)
            begin_series(m, key.series);
        int rc = m->spec.sums_only ? sto_merge__run(m, &key, out_row, err) : 0;
        if (rc == 0)
            rc = m->spec.days && sto_merge__has_day(m) ? sto_merge__day(m, &key, out_row, err)
                                                       : make_row(m, &key, out_row, err);
        if (rc == TS_ELIMIT && m->spec.most_bytes)
            return sto_merge__too_long(m, &key, err);
        if (rc < 0 && m->spec.series && m->pos > 0)
            return blame(m->spec.series[m->pos - 1], rc, err);
        if (rc != 0)
            return rc;
    }
}

int sto_merge_points(struct sto_merge *m, struct sto_row *row, struct ts_error *err)
{
    if (!row->sum || row->n_hours != 1)
        TS_BUG("the row has its points, or is a day");
    row->sum = NULL;
    int rc = read_row(m, row, err);
    return rc < 0 ? blame(m->spec.series[row->pos], rc, err) : rc;
}

/* --- making and freeing --- */

/* First and last hour of the scan; lo > hi if it is empty. */
static void set_hours(struct sto_merge *m)
{
    struct sto_scan_spec *spec = &m->spec;
    spec->from_ms = spec->from_ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : spec->from_ms;
    spec->to_ms = spec->to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : spec->to_ms;
    m->hour_lo = INT32_MAX;
    m->hour_hi = INT32_MIN;
    if (spec->from_ms > spec->to_ms)
        return;
    m->hour_lo = sto_hour(spec->from_ms);
    m->hour_hi = sto_hour(spec->to_ms);
    if (spec->series || (spec->cut_hour_lo == 0 && spec->cut_hour_hi == 0))
        return;
    if (spec->cut_hour_lo > m->hour_lo)
        m->hour_lo = spec->cut_hour_lo;
    if (spec->cut_hour_hi <= m->hour_hi && spec->cut_hour_hi != INT32_MAX)
        m->hour_hi = spec->cut_hour_hi == INT32_MIN ? INT32_MIN : spec->cut_hour_hi - 1;
}

int sto_merge_new(const struct sto_scan_spec *spec, struct sto_sst *const *ssts, size_t n_ssts,
                  struct sto_mem *const *mems, size_t n_mems, struct sto_merge **out_merge,
                  struct ts_error *err)
{
    *out_merge = NULL;
    struct sto_merge *m = ts_xcalloc(1, sizeof(*m));
    m->spec = *spec;
    m->share = (struct sto_sst_share){
        .tally = {.budget = spec->memory}, .make_room = sto_merge__make_room, .arg = m};
    ts_tally_force(&m->share.tally, sizeof(*m));
    m->share.tally.forced = spec->must_go_on;
    set_hours(m);
    m->from_ms = m->spec.from_ms;
    m->row_lo = m->hour_lo;
    int rc = 0;
    if (m->hour_lo <= m->hour_hi)
        rc = sto_merge__srcs_init(m, ssts, n_ssts, mems, n_mems, err);
    else
        m->pos = spec->n_series; /* the range is empty */
    if (rc == 0) {
        sto_merge__tombs_init(m);
        m->group = ts_xcalloc(m->n_srcs, sizeof(*m->group));
        m->bufs = ts_xcalloc(m->n_srcs, sizeof(*m->bufs));
        m->pieces = ts_xcalloc(m->n_srcs, sizeof(*m->pieces));
        m->parts = ts_xcalloc(m->n_srcs, 2 * sizeof(*m->parts));
        m->dels = ts_xcalloc(m->n_srcs, sizeof(*m->dels));
        m->share.tally.forced = false;
        rc = spec->series ? 0 : begin_all(m, err);
    }
    if (rc < 0)
        sto_merge_free(m);
    else
        *out_merge = m;
    return rc;
}

void sto_merge_free(struct sto_merge *m)
{
    if (!m)
        return;
    for (size_t i = 0; m->bufs && i < m->n_srcs; i++)
        sto_cells_release(&m->bufs[i]);
    sto_merge__srcs_release(m);
    sto_cells_release(&m->out);
    ts_free(m->run_rows);
    ts_free(m->bufs);
    ts_free(m->heap);
    ts_free(m->group);
    ts_free(m->pieces);
    ts_free(m->parts);
    ts_free(m->dels);
    sto_merge__tombs_release(m);
    for (size_t i = 0; i < m->n_own; i++)
        sto_mem_unref(m->own[i]);
    ts_free(m->own);
    ts_tally_release(&m->share.tally);
    ts_free(m);
}

void sto_merge_own(struct sto_merge *m, struct sto_mem **mems, size_t n_mems)
{
    m->own = mems;
    m->n_own = n_mems;
}

const struct sto_merge_counts *sto_merge_counts(const struct sto_merge *m)
{
    return &m->counts;
}
