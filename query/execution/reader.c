/*
 * reader.c - scans within the limits of a run.
 */
#include "query/execution/reader.h"

#include "query/execution/aged.h"
#include "query/execution/as_of.h"
#include "query/execution/reader_int.h"
#include "query/language/cond.h"

/*
 * Fetched rows are held in memory until they are merged. What does not fit is fetched in slices, in the order of the rows: some series at
 * a time, or a part of the time of one series. The size of a slice, series times hours, follows from what fitted before.
 */
#define FETCH_PART                                                                                           \
    8u /* fetched rows of a slice take at most this part of the memory that is left: readings run in parallel */
#define FETCH_MIN_BYTES ((uint64_t)1 << 20) /* but no less is tried */
#define SHRINK          4u                  /* a slice that does not fit is divided by it */

/* A running reading. */
struct reader {
    struct qry_reading *r;
    struct sto_scan_spec spec; /* of the present slice */
    struct sto_merge *scan;    /* owned; NULL: there is nothing to read */
    size_t first;              /* index in r->series of the first series of the slice */
    size_t pos;                /* series whose rows are passed on; SIZE_MAX: none yet */
    struct sto_cells kept;     /* with conditions: points of the current row; owned */
    struct qry_reader_count count;
    struct qry_notes notes; /* annotations of the running fetch */
    uint64_t stamp;         /* of them */
};

/* Remove the points that do not meet the conditions: 1, 0 if nothing is left, < 0. */
static int meet(struct reader *r, struct sto_row *row, struct ts_error *err)
{
    if (row->sum) {
        int all = qry_where_hour(r->r->where, row->sum);
        if (all >= 0)
            return all;
        int rc = sto_merge_points(r->scan, row, err);
        if (rc <= 0)
            return rc;
        r->count.n_points += row->cells->n;
    }
    qry_where_cells(r->r->where, row->cells, &r->kept);
    row->cells = &r->kept;
    return r->kept.n > 0;
}

int qry_reader__report(const struct qry_reading *r, struct qry_reader_count *c, struct ts_error *err)
{
    int rc = qry_budget_points(r->budget, c->n_points);
    *c = (struct qry_reader_count){0};
    return rc < 0 ? ts_error_set(err, rc, "%s", ts_err_text(rc)) : 0;
}

/* The next row that has points which meet the conditions: 1; 0 at the end; < 0. */
static int next(struct reader *r, struct sto_row *out, struct ts_error *err)
{
    const struct qry_where *where = r->r->where;
    for (;;) {
        int rc = r->scan ? sto_merge_next(r->scan, out, err) : 0;
        if (rc < 0)
            return rc;
        if (rc == 0)
            return qry_reader__report(r->r, &r->count, err);
        qry_reader__count(r->r, &r->count, out);
        if (where && where->n)
            rc = meet(r, out, err);
        if (rc < 0)
            return rc;
        TS_TRY(qry_reader__check(r->r, &r->count, err));
        if (rc > 0)
            return 1;
    }
}

/* Pass the rows of a slice on. */
static int pass_rows(struct reader *rd, struct ts_error *err)
{
    const struct qry_reading *r = rd->r;
    struct sto_row row;
    int rc;
    while ((rc = next(rd, &row, err)) > 0) {
        row.pos += rd->first;
        if (row.pos != rd->pos) {
            if (r->end && rd->pos != SIZE_MAX)
                TS_TRY(r->end(r->arg, rd->pos, err));
            rd->pos = row.pos;
            if (r->begin)
                TS_TRY(r->begin(r->arg, rd->pos, err));
        }
        TS_TRY(r->row(r->arg, &row, err));
    }
    return rc;
}

static void foreign(void *arg, const struct sto_series *s, struct sto_remote_tag *tags,
                    struct sto_remote_series *out)
{
    const struct qry_reading *r = arg;
    qry_view_names_of(r->view, s, tags, out);
}

static int remote_failed(void *arg, int rc, struct ts_error *err)
{
    const struct qry_reading *r = arg;
    return qry_view_failed(r->view, rc, err);
}

/* --- annotations --- */

static int on_note(void *arg, const struct sto_series *s, int64_t start_ms, struct ts_slice record,
                   struct ts_error *err)
{
    struct reader *rd = arg;
    return qry_notes_add(&rd->notes, s, start_ms, record, err);
}

static void notes_begin(struct reader *rd)
{
    const struct qry_note_taker *taker = rd->r->view->notes;
    rd->stamp = taker->before(taker->arg);
    qry_notes_clear(&rd->notes);
}

static int notes_read(void *arg, size_t first, size_t n, struct ts_error *err)
{
    struct reader *rd = arg;
    const struct qry_note_taker *taker = rd->r->view->notes;
    qry_notes_sort(&rd->notes);
    struct qry_notes_read read = {.series = rd->spec.series + first,
                                  .n = n,
                                  .from_ms = rd->spec.from_ms,
                                  .to_ms = rd->spec.to_ms,
                                  .notes = &rd->notes,
                                  .stamp = rd->stamp};
    int rc = taker->read(taker->arg, &read, err);
    notes_begin(rd);
    return rc;
}

/* --- slices --- */

/* Hour of a time, or of the nearest one that points can have. */
static int64_t hour_of(int64_t ms)
{
    ms = ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : ms;
    return sto_hour(ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : ms);
}

static uint64_t hours_of(int64_t from_ms, int64_t to_ms)
{
    int64_t from = hour_of(from_ms), to = hour_of(to_ms);
    return to < from ? 1 : (uint64_t)(to - from) + 1;
}

/* Set the slice that begins with series first at from_ms and has at most `size` hours of series. Returns its size. */
static uint64_t set_slice(struct reader *rd, size_t first, int64_t from_ms, uint64_t size)
{
    const struct qry_reading *r = rd->r;
    struct sto_scan_spec *spec = &rd->spec;
    int64_t last_ms = r->to_ms - 1;
    uint64_t n_hours = hours_of(r->from_ms, last_ms), n = size / n_hours;
    rd->first = first;
    spec->series = r->series + first;
    spec->from_ms = from_ms;
    spec->to_ms = last_ms;
    if (r->whole_hours)
        spec->whole_hours = r->whole_hours + (hour_of(from_ms) - hour_of(r->from_ms));
    if (spec->days)
        spec->days = r->days + (hour_of(from_ms) - hour_of(r->from_ms));
    if (from_ms == r->from_ms && n) {
        spec->n_series = n < r->n - first ? (size_t)n : r->n - first;
        return spec->n_series * n_hours;
    }
    n_hours = hours_of(from_ms, last_ms);
    spec->n_series = 1;
    if (size >= n_hours)
        return n_hours;
    spec->to_ms = (hour_of(from_ms) + (int64_t)size) * TS_HOUR_MS - 1;
    return size;
}

static int read_slice(struct reader *rd, struct ts_error *err)
{
    int rc = pass_rows(rd, err);
    sto_merge_free(rd->scan);
    rd->scan = NULL;
    return rc;
}

/* Begin the scan of a slice. *fits: the fetched rows have found memory, or there is another error. */
static int try_slice(struct reader *rd, struct ts_budget *fetched, bool *fits, struct ts_error *err)
{
    uint64_t room = ts_budget_room(rd->r->budget->memory);
    uint64_t limit = room == UINT64_MAX ? 0 : room / FETCH_PART;
    ts_budget_init(fetched, "fetched rows", rd->r->budget->memory ? rd->r->budget->memory->key : NULL,
                   rd->r->budget->memory, limit && limit < FETCH_MIN_BYTES ? FETCH_MIN_BYTES : limit);
    rd->spec.fetched = fetched;
    rd->spec.local_only = !qry_view_remote(rd->r->view);
    if (rd->spec.note)
        notes_begin(rd);
    int rc = sto_scan(rd->r->snap, &rd->spec, &rd->scan, err);
    *fits = rc != TS_ELIMIT;
    return rc;
}

/* Read slice by slice, as the fetched rows find memory. */
static int read_slices(struct reader *rd, struct ts_error *err)
{
    const struct qry_reading *r = rd->r;
    int64_t from_ms = r->from_ms;
    uint64_t size = UINT64_MAX;
    for (size_t first = 0; first < r->n;) {
        struct ts_budget fetched;
        bool fits;
        uint64_t is = set_slice(rd, first, from_ms, size);
        int rc = try_slice(rd, &fetched, &fits, err);
        if (!fits && is > 1) {
            TS_TRY(qry_budget_look(r->budget, err)); /* unless that was what refused */
            size = is / SHRINK ? is / SHRINK : 1;
            continue;
        }
        if (rc == 0)
            rc = read_slice(rd, err);
        TS_TRY(rc);
        if (size != UINT64_MAX && fetched.peak_bytes < fetched.limit_bytes / SHRINK)
            size = is < size ? size : size * 2;
        from_ms = rd->spec.to_ms == r->to_ms - 1 ? r->from_ms : rd->spec.to_ms + 1;
        first += from_ms == r->from_ms ? rd->spec.n_series : 0;
    }
    return 0;
}

int qry_read(struct qry_reading *r, struct ts_error *err)
{
    if (r->as_of_us)
        return qry_as_of_read(r, err);
    if (r->from_ms < r->to_ms && qry_aged_concerns(r))
        return qry_aged_read(r, err);
    struct reader rd = {.r = r, .pos = SIZE_MAX, .notes.memory = r->budget->memory};
    struct sto_scan_spec *spec = &rd.spec;
    int rc = 0;
    *spec = (struct sto_scan_spec){.metric = r->metric,
                                   .series = r->series,
                                   .n_series = r->n,
                                   .from_ms = r->from_ms,
                                   .to_ms = r->to_ms - 1,
                                   .whole_hours = r->whole_hours,
                                   /* conditions may need the points of a summary, and a day has too many */
                                   .days = r->where && r->where->n ? NULL : r->days,
                                   .needs_sum = r->needs_sum,
                                   .sums_only = r->sums_only && !(r->where && r->where->n),
                                   .final = true,
                                   .counts_only = r->counts_only,
                                   .look = qry_budget_look_at,
                                   .look_arg = r->budget,
                                   .memory = r->budget->memory};
    if (r->from_ms >= r->to_ms || r->n == 0)
        return 0;
    if (r->view && r->view->remote) {
        struct sto_remote_call call = qry_view_call(r->view);
        spec->foreign = foreign;
        spec->remote_failed = remote_failed;
        spec->foreign_arg = spec->remote_failed_arg = r;
        spec->cancel = call.cancel;
        spec->deadline_ns = call.deadline_ns;
        if (r->view->notes) {
            spec->note = on_note;
            spec->notes_read = notes_read;
            spec->note_arg = &rd;
        }
        rc = read_slices(&rd, err);
    } else {
        rc = sto_scan(r->snap, spec, &rd.scan, err);
        if (rc == 0)
            rc = read_slice(&rd, err);
    }
    if (rc == 0 && r->end && rd.pos != SIZE_MAX)
        rc = r->end(r->arg, rd.pos, err);
    sto_merge_free(rd.scan);
    sto_cells_release(&rd.kept);
    qry_notes_release(&rd.notes);
    return rc;
}
