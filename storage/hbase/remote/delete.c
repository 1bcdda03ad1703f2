/*
 * delete.c - deletes the points of a series in a time range.
 *
 *   which rows       computed keys of a few dozen hours at a time, read by getMultiple; a scan for one key skips hours in which the
 *                    metric has no row. So a range of a hundred years costs what lies in it
 *   whole hours      only qualifiers are read. A row that has nothing but points, all of them settled for some minutes, loses its family, another
 *                    one its cells of points: new points of the row get their time from HBase's clock, which may be behind, and must not be hidden
 *   first and last   cells of the range are deleted, columns with other points written anew (change.h), in one mutateRow
 *
 * Every delete names the timestamps that were read, so that what another writer puts meanwhile survives. A row is read until it has no
 * points of the range: there could be appends, or older versions. When all is done, the call waits until the clock is past all these timestamps,
 * because a delete also hides what is put later with an older or equal one. Cells from the future, which it cannot wait for, are deleted version
 * by version.
 *
 * A row that is too large for a reply is read and deleted in pieces (delete_rest.h).
 *
 * A delete with a row that HBase refuses to change, or that is too large for a reply, fails with TS_EINVAL; rows before it are deleted.
 *
 * Histograms are deleted likewise, cell by cell. The deletes of a histogram come as one for each bucket; that of underflow, which every
 * histogram has, is the one that is executed. So are rollups: the cells of one function, in rows that may have many hours and the cells of other functions.
 *
 * Memory     the cells of a few dozen rows, counted
 * Not here   why timestamps matter (ship.c)
 */
#include "base/mem.h"
#include "storage/hbase/histogram.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/remote/delete_rest.h"
#include "storage/hbase/remote/rollup_cells.h"
#include "storage/hbase/remote/ship_int.h"

#include <poll.h>
#include <string.h>

#define HOURS_AT_ONCE  48             /* rows that are read together */
#define PIECE_CELLS    4096           /* of a row that is too large to be read at once */
#define PIECES_MAX     1024           /* pieces, from which on their number is not doubled any more */
#define ROUNDS         64             /* of reading and deleting the same rows */
#define SETTLED_MS     (10 * 60000ll) /* the clocks of HBase and of its clients differ by less than this */
#define FUTURE_MS      1000 /* cells that are newer than the clock by more than this are from the future */
#define REQUEST_BYTES  ((size_t)64 << 20)
#define KEYS_ONLY      TS_SLICE_LIT("KeyOnlyFilter()")
#define HISTOGRAM_KEYS TS_SLICE_LIT("ColumnPrefixFilter('\6') AND KeyOnlyFilter()")
#define ONE_KEY        TS_SLICE_LIT("FirstKeyOnlyFilter() AND KeyOnlyFilter()")

/* One call of delete_range. */
struct eraser {
    struct sto_hbase *h;
    struct ts_budget *memory;
    struct sto_hbase_session session;
    struct sto_hbase_series_id id;
    struct ts_slice table;
    bool histograms; /* these are deleted, not points */
    bool rollups;    /* the same, those of place */
    bool in_pieces;  /* the cells at hand are not all of their row */
    struct sto_hbase_rollup_place place;
    uint32_t hours[HOURS_AT_ONCE]; /* at which the rows that are read together begin */
    struct ts_buf filter;
    int64_t from_ms, to_ms;
    uint32_t first_h, last_h; /* hours of these */
    struct sto_hbase_change change;
    struct sto_hbase_cell *cells;
    size_t cap_cells;
    struct sto_thrift_column *columns; /* of one delete */
    size_t cap_columns;
    /* scan or read, deleteMultiple, two mutateRow */
    struct sto_thrift_request read, deletes, edges[2];
    size_t n_edges;
    /* in pieces: if what stays is there, the second edge suffices, otherwise the first one does everything */
    struct sto_hbase__rest rest;
    bool has_rest;
    uint64_t n_rows;     /* with points of the range, in this round */
    int64_t newest_ms;   /* newest timestamp of a delete that hides older cells */
    bool refused, final; /* kind of the last failure */
};

static size_t key_of(const struct eraser *e, uint32_t hour, uint8_t *out)
{
    return sto_hbase_rowkey_make(&e->h->opts.schema, (struct ts_slice){(const char *)e->id.tsuid, e->id.n},
                                 hour * STO_HBASE_ROW_S, out);
}

static int call(struct eraser *e, const struct sto_thrift_request *r, struct sto_thrift_reply *reply,
                struct ts_error *err)
{
    *reply = (struct sto_thrift_reply){.call = r->call};
    int rc = sto_thrift_client_call(e->session.client, r, sto_hbase_attempt(&e->session), reply, NULL, err);
    if (rc == TS_EBACKEND) {
        e->final = sto_hbase_is_final(reply);
        e->refused = sto_hbase_refuses_rows(reply);
    }
    return rc;
}

/* --- which hours --- */

/* The first hour from *hour on in which the metric has a row of this salt. 1; 0: there is none. */
static int next_hour(struct eraser *e, uint32_t *hour, struct ts_error *err)
{
    const struct sto_hbase_schema *schema = &e->h->opts.schema;
    uint8_t first[STO_HBASE_MAX_KEY_BYTES], last[STO_HBASE_MAX_KEY_BYTES];
    size_t n = (size_t)schema->salt_width + schema->metric_width + 4;
    struct sto_thrift_column family = {.family = STO_HBASE_FAMILY};
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_hbase_rowkey key;
    (void)key_of(e, *hour, first);
    size_t n_last = key_of(e, e->last_h, last);
    last[n_last] = 0; /* the row after the last one */
    struct sto_thrift_scan scan = {.start = {(const char *)first, n},
                                   .stop = {(const char *)last, n_last + 1},
                                   .select = {.columns = &family, .n_columns = 1, .filter = ONE_KEY},
                                   .caching = 1,
                                   .limit_rows = 1};
    (void)sto_thrift_call_get_scanner_results(&e->read, e->table, &scan, 1);
    TS_TRY(call(e, &e->read, &reply, err));
    sto_thrift_items_init(&it, &reply);
    int rc = sto_thrift_row(&it, &row, err);
    if (rc <= 0)
        return rc;
    if (sto_hbase_rowkey_parse(schema, row.row, &key, NULL) < 0)
        return 1;
    uint32_t base_s = e->rollups ? sto_hbase_rollup_base(e->place.shape, key.base_s) : key.base_s;
    *hour = base_s / STO_HBASE_ROW_S > *hour ? base_s / STO_HBASE_ROW_S : *hour;
    return 1;
}

/* --- rows --- */

/* Does the range cover the whole hour? */
static bool is_whole(const struct eraser *e, uint32_t hour)
{
    return e->from_ms <= hour * TS_HOUR_MS && e->to_ms >= hour * TS_HOUR_MS + TS_HOUR_MS - 1;
}

/* The filter for the cells of a row that are looked at. */
static struct ts_slice filter_of(struct eraser *e, uint32_t hour)
{
    struct sto_hbase_rollup_cells cells = {.place = &e->place};
    if (e->histograms)
        return HISTOGRAM_KEYS;
    if (!e->rollups)
        return is_whole(e, hour) ? KEYS_ONLY : (struct ts_slice){NULL, 0};
    ts_buf_clear(&e->filter);
    if (!sto_hbase_rollup_part(e->place.shape, hour * STO_HBASE_ROW_S, (uint64_t)(e->from_ms / 1000),
                               (uint64_t)(e->to_ms / 1000), &cells.first, &cells.last))
        cells.last =
            STO_HBASE_MAX_INTERVALS - 1; /* the row has no interval of the range, and none is deleted */
    sto_hbase_rollup_filter(&cells, 1, &e->filter);
    ts_buf_str(&e->filter, " AND KeyOnlyFilter()");
    return ts_buf_get(&e->filter);
}

static int read_hours(struct eraser *e, uint32_t n, struct sto_thrift_reply *reply, struct ts_error *err)
{
    struct sto_thrift_column family = {.family = STO_HBASE_FAMILY};
    uint8_t key[STO_HBASE_MAX_KEY_BYTES];
    sto_thrift_batch_begin(&e->read, STO_THRIFT_GET_MULTIPLE, e->table);
    for (uint32_t i = 0; i < n; i++) {
        size_t n_key = key_of(e, e->hours[i], key);
        struct sto_thrift_get get = {
            .row = {(const char *)key, n_key},
            .select = {.columns = &family, .n_columns = 1, .filter = filter_of(e, e->hours[i])}};
        sto_thrift_batch_get(&e->read, &get);
    }
    (void)sto_thrift_batch_end(&e->read);
    return call(e, &e->read, reply, err);
}

static void note_delete(struct eraser *e, int64_t ts_ms)
{
    e->newest_ms = ts_ms > e->newest_ms ? ts_ms : e->newest_ms;
}

/* Is a cell of a rollup that begins in the range? */
static bool is_rollup(const struct eraser *e, uint32_t hour, struct ts_slice qualifier)
{
    uint32_t index;
    uint8_t flags;
    if (!sto_hbase_rollup_is(&e->place, qualifier, &index, &flags))
        return false;
    int64_t at_s = (int64_t)hour * STO_HBASE_ROW_S + (int64_t)index * e->place.shape->interval_s;
    return at_s * 1000 >= e->from_ms && at_s * 1000 <= e->to_ms;
}

/* Is a cell of the row of an hour deleted with it: does it have points, or is it a histogram or rollup of the range? */
static bool is_deleted(const struct eraser *e, uint32_t hour, struct ts_slice qualifier)
{
    uint32_t off_ms;
    bool ms;
    if (e->rollups)
        return is_rollup(e, hour, qualifier);
    if (!e->histograms)
        return sto_hbase_is_points(qualifier);
    if (!sto_hbase_histogram_is(qualifier, &off_ms, &ms))
        return false;
    int64_t at_ms = hour * TS_HOUR_MS + off_ms;
    return at_ms >= e->from_ms && at_ms <= e->to_ms;
}

/* The number of such cells. Sets the newest timestamp of the row. */
static size_t count_points(const struct eraser *e, uint32_t hour, size_t n, int64_t *newest_ms)
{
    size_t n_points = 0;
    *newest_ms = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        n_points += is_deleted(e, hour, e->cells[i].qualifier);
        *newest_ms = e->cells[i].ts_ms > *newest_ms ? e->cells[i].ts_ms : *newest_ms;
    }
    return n_points;
}

/* Plan the delete of a whole row of which n cells were read. */
static int delete_row(struct eraser *e, struct ts_slice key, uint32_t hour, size_t n, struct ts_error *err)
{
    int64_t newest_ms, now_ms = ts_clock_ms(), future_ms = now_ms + FUTURE_MS;
    size_t n_points = count_points(e, hour, n, &newest_ms), n_columns = 0;
    struct sto_thrift_column family = {.family = STO_HBASE_FAMILY, .ts_ms = newest_ms, .has_ts = true};
    struct sto_thrift_delete del = {
        .row = key, .columns = &family, .n_columns = 1, .type = STO_THRIFT_DELETE_FAMILY};
    if (n_points == 0)
        return 0;
    e->n_rows++;
    if (n_points == n && !e->in_pieces && !e->histograms && !e->rollups && newest_ms <= now_ms - SETTLED_MS) {
        note_delete(e, newest_ms);
        sto_thrift_batch_delete(&e->deletes, &del);
        return 0;
    }
    TS_TRY(ts_budget_grow(e->memory, &e->columns, &e->cap_columns, n, sizeof *e->columns, err));
    for (int future = 0; future < 2; future++, n_columns = 0) {
        for (size_t i = 0; i < n; i++) {
            const struct sto_hbase_cell *c = &e->cells[i];
            if (!is_deleted(e, hour, c->qualifier) || (c->ts_ms > future_ms) != future)
                continue;
            e->columns[n_columns++] = (struct sto_thrift_column){
                .family = STO_HBASE_FAMILY, .qualifier = c->qualifier, .ts_ms = c->ts_ms, .has_ts = true};
            if (!future)
                note_delete(e, c->ts_ms);
        }
        del.columns = e->columns;
        del.n_columns = n_columns;
        del.type = future ? STO_THRIFT_DELETE_COLUMN : STO_THRIFT_DELETE_COLUMNS;
        if (n_columns)
            sto_thrift_batch_delete(&e->deletes, &del);
    }
    return 0;
}

/* Plan the change of the first or last row. */
static int delete_part(struct eraser *e, struct ts_slice key, uint32_t hour, size_t n, struct ts_error *err)
{
    struct sto_hbase_change *c = &e->change;
    struct sto_hbase_wish wish = {.removes = true};
    int64_t now_ms = ts_clock_ms();
    (void)sto_hour_part((int32_t)hour, e->from_ms, e->to_ms, &wish.from_off, &wish.to_off);
    TS_TRY(sto_hbase_change_plan(c, e->cells, n, &wish, err));
    if (!c->n_deletes)
        return 0;
    e->n_rows++;
    TS_TRY(ts_budget_grow(e->memory, &e->columns, &e->cap_columns, c->n_deletes, sizeof *e->columns, err));
    size_t n_past = 0, n_future = 0;
    for (size_t i = 0; i < c->n_deletes; i++)
        if (c->deletes[i].ts_ms > now_ms + FUTURE_MS)
            e->columns[c->n_deletes - ++n_future] = c->deletes[i];
        else
            e->columns[n_past++] = c->deletes[i];
    for (size_t i = 0; i < n_past; i++)
        note_delete(e, e->columns[i].ts_ms);
    e->has_rest = e->in_pieces && c->guard && c->n_puts;
    if (e->has_rest)
        TS_TRY(sto_hbase__rest_plan(&e->rest, e->table, key, c));
    for (size_t i = 0; i < c->n_puts; i++) {
        c->puts[i].has_ts = true;
        c->puts[i].ts_ms = c->newest_ms >= now_ms ? c->newest_ms + 1 : now_ms;
    }
    struct sto_thrift_delete past = {
        .row = key, .columns = e->columns, .n_columns = n_past, .type = STO_THRIFT_DELETE_COLUMNS};
    struct sto_thrift_delete future = {
        .row = key, .columns = e->columns + n_past, .n_columns = n_future, .type = STO_THRIFT_DELETE_COLUMN};
    struct sto_thrift_put puts = {.row = key, .cells = c->puts, .n_cells = c->n_puts};
    struct sto_thrift_mutation steps[3];
    size_t n_steps = 0;
    if (n_past)
        steps[n_steps++] = (struct sto_thrift_mutation){.delete = &past};
    if (n_future)
        steps[n_steps++] = (struct sto_thrift_mutation){.delete = &future};
    if (c->n_puts)
        steps[n_steps++] = (struct sto_thrift_mutation){.put = &puts};
    TS_TRY(sto_hbase_change_request(c, e->table, key, steps, n_steps, &e->edges[e->n_edges++]));
    return e->has_rest ? sto_hbase_change_request(c, e->table, key, steps, n_steps - 1, &e->edges[1])
                       : 0; /* if a guard refuses it, the next round looks */
}

/* Nothing is planned. */
static void begin_plan(struct eraser *e)
{
    sto_thrift_batch_begin(&e->deletes, STO_THRIFT_DELETE_MULTIPLE, e->table);
    e->n_edges = e->n_rows = 0;
    e->has_rest = false;
}

static int plan_hours(struct eraser *e, uint32_t n, const struct sto_thrift_reply *reply,
                      struct ts_error *err)
{
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    begin_plan(e);
    sto_thrift_items_init(&it, reply);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t key[STO_HBASE_MAX_KEY_BYTES];
        uint32_t hour = e->hours[i];
        struct ts_slice k = {(const char *)key, key_of(e, hour, key)};
        int rc = sto_hbase_asked_row(&it, k, &row, err);
        int64_t n_cells = rc < 0 ? rc : sto_hbase__row_cells(&row, &e->cells, &e->cap_cells, e->memory, err);
        if (n_cells < 0)
            return (int)n_cells;
        TS_TRY(e->histograms || e->rollups || is_whole(e, hour)
                   ? delete_row(e, k, hour, (size_t)n_cells, err)
                   : delete_part(e, k, hour, (size_t)n_cells, err));
    }
    return sto_thrift_batch_end(&e->deletes);
}

static int send_edges(struct eraser *e, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    if (e->has_rest) {
        TS_TRY(call(e, &e->rest.put, &reply, err));
        TS_TRY(call(e, &e->rest.look, &reply, err));
        int there = sto_hbase__rest_is_there(&reply, err);
        return there < 0 ? there : call(e, &e->edges[there], &reply, err);
    }
    for (size_t i = 0; i < e->n_edges; i++)
        TS_TRY(call(e, &e->edges[i], &reply, err));
    return 0;
}

static int send_deletes(struct eraser *e, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    TS_TRY(send_edges(e, err));
    if (!e->deletes.n_items)
        return 0;
    TS_TRY(call(e, &e->deletes, &reply, err));
    sto_thrift_items_init(&it, &reply);
    int rc = sto_thrift_row(&it, &row, err);
    e->final = false;
    return rc == 1 ? ts_error_set(err, TS_EBACKEND, "HBase did not delete all rows of a batch") : rc;
}

/* Delete the points of n rows. */
static int erase(struct eraser *e, uint32_t n, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    for (unsigned round = 0; round < ROUNDS; round++) {
        TS_TRY(read_hours(e, n, &reply, err));
        TS_TRY(plan_hours(e, n, &reply, err));
        if (e->n_rows == 0)
            return 0;
        TS_TRY(send_deletes(e, err));
        sto_hbase__count(&sto_hbase__ship_counts(e->h)->n_deleted_rows, e->n_rows);
    }
    e->final = e->refused = true;
    return ts_error_set(err, TS_EBACKEND,
                        "points that are deleted from HBase are written again all the time");
}

/* --- a row that is too large to be read at once --- */

/* A buffer that grows takes more than it needs, so that a part may fit. */
static int as_limit(int rc)
{
    return rc == TS_ENOMEM ? TS_ELIMIT : rc;
}

static int read_pieces(struct eraser *e, uint32_t hour, int32_t n, int32_t n_cells,
                       struct sto_thrift_reply *reply, struct ts_error *err)
{
    struct sto_thrift_column family = {.family = STO_HBASE_FAMILY};
    uint8_t key[STO_HBASE_MAX_KEY_BYTES + 1];
    size_t n_key = key_of(e, hour, key);
    key[n_key] = 0; /* the row after it */
    struct sto_thrift_scan scan = {
        .start = {(const char *)key, n_key},
        .stop = {(const char *)key, n_key + 1},
        .select = {.columns = &family, .n_columns = 1, .filter = filter_of(e, hour)},
        .caching = 1,
        .batch_cells = n_cells};
    (void)sto_thrift_call_get_scanner_results(&e->read, e->table, &scan, n);
    return call(e, &e->read, reply, err);
}

/* Plan the deletes of the first piece that has any; returns how many pieces there are up to it. */
static int32_t plan_pieces(struct eraser *e, uint32_t hour, const struct sto_thrift_reply *reply,
                           struct ts_error *err)
{
    uint8_t key[STO_HBASE_MAX_KEY_BYTES];
    struct ts_slice k = {(const char *)key, key_of(e, hour, key)};
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    int32_t n = 0;
    int rc = 0;
    begin_plan(e);
    sto_thrift_items_init(&it, reply);
    while (e->n_rows == 0 && (rc = sto_thrift_row(&it, &row, err)) == 1) {
        int64_t n_cells = sto_hbase__row_cells(&row, &e->cells, &e->cap_cells, e->memory, err);
        if (n_cells < 0)
            return (int32_t)n_cells;
        TS_TRY(is_whole(e, hour) ? delete_row(e, k, hour, (size_t)n_cells, err)
                                 : delete_part(e, k, hour, (size_t)n_cells, err));
        n++;
    }
    if (rc >= 0)
        rc = sto_thrift_batch_end(&e->deletes);
    return rc < 0 ? rc : n;
}

/* Delete the points of such a row, a piece after the other, cell by cell. What stays is read again and again, so it is expected to be little. */
static int erase_large(struct eraser *e, uint32_t hour, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    for (int32_t n = 1, n_cells = PIECE_CELLS;;) {
        int rc = read_pieces(e, hour, n, n_cells, &reply, err);
        int32_t n_read = as_limit(rc < 0 ? rc : plan_pieces(e, hour, &reply, err));
        if (n_read == TS_ELIMIT && n == 1 && n_cells > 1) {
            n_cells /= 16; /* they are large */
            continue;
        }
        if (n_read < 0)
            return n_read;
        if (e->n_rows) {
            TS_TRY(send_deletes(e, err));
            sto_hbase__count(&sto_hbase__ship_counts(e->h)->n_deleted_rows, 1);
        } else if (n_read < n) {
            return 0;
        } else {
            n = n < PIECES_MAX ? n * 2 : n + PIECES_MAX;
        }
    }
}

/* --- the range --- */

/* The rows that begin from an hour on, at most n; returns their number, and *out_next: where the next one begins. */
static uint32_t list_hours(struct eraser *e, uint32_t hour, uint32_t n, uint64_t *out_next)
{
    uint32_t n_hours = 0;
    uint64_t at = hour;
    for (; at <= e->last_h && n_hours < n; n_hours++) {
        e->hours[n_hours] = (uint32_t)at;
        at = e->rollups
                 ? sto_hbase_rollup_next(e->place.shape, (uint32_t)at * STO_HBASE_ROW_S) / STO_HBASE_ROW_S
                 : at + 1;
    }
    *out_next = at;
    return n_hours;
}

/* Look for the next rows and delete what they have; *hour: the one after these. */
static int step(struct eraser *e, uint32_t *hour, uint32_t *n_at_once, struct ts_error *err)
{
    uint64_t next;
    if (e->last_h - *hour >= HOURS_AT_ONCE) {
        int found = next_hour(e, hour, err);
        if (found <= 0) {
            *hour = found == 0 ? e->last_h + 1 : *hour;
            return found;
        }
    }
    uint32_t n = list_hours(e, *hour, *n_at_once, &next);
    int rc = as_limit(erase(e, n, err));
    if (rc == TS_ELIMIT && n > 1) {
        *n_at_once = n / 2; /* a smaller reply */
        return 0;
    }
    if (rc == TS_ELIMIT && !e->histograms && !e->rollups) {
        e->in_pieces = true;
        rc = erase_large(e, e->hours[0], err);
        e->in_pieces = false;
    }
    if (rc == 0)
        *hour = next > e->last_h ? e->last_h + 1 : (uint32_t)next;
    return rc;
}

static int erase_all(struct eraser *e, struct ts_error *err)
{
    struct ts_error why = {0};
    uint32_t n_at_once = HOURS_AT_ONCE;
    unsigned attempt = 0;
    for (uint32_t hour = e->first_h; hour <= e->last_h;) {
        TS_TRY(sto_hbase__pause_after(&e->session, attempt, &why, err));
        e->final = e->refused = false;
        int rc = step(e, &hour, &n_at_once, &why);
        attempt = rc < 0 ? attempt + 1 : 0;
        if (rc >= 0) {
            why.code = 0;
            continue;
        }
        struct sto_hbase__attempt now = {attempt - 1, 1, e->refused, e->final};
        enum sto_hbase__verdict verdict = sto_hbase__judge(e->h, &e->session, &now, rc, &why);
        e->refused = verdict == STO_HBASE__REFUSE;
        if (verdict != STO_HBASE__REPEAT)
            return sto_hbase__fail(&why, err);
    }
    return 0;
}

/* Wait until what is put next has later timestamps than what was deleted. */
static void wait_for_clock(const struct eraser *e)
{
    if (e->newest_ms == INT64_MIN)
        return;
    for (int64_t ms = 2; ms > 0; ms = e->newest_ms + 2 - ts_clock_ms()) {
        if (ms > FUTURE_MS + 2)
            break; /* the clock was set back */
        (void)poll(NULL, 0, (int)ms);
    }
}

static int erase_series(struct eraser *e, const struct sto_remote_series *series, struct ts_error *err)
{
    int rc = sto_hbase_ids_series(e->h->ids, &e->session, STO_REMOTE_FIND_EACH, &series, 1, &e->id, err);
    if (rc == 0 && e->id.rc == TS_EINVAL && sto_hbase_check_series(series, NULL) == 0)
        return ts_error_set(err, TS_EINVAL, "%s", e->id.why.text); /* a name is damaged */
    if (rc < 0 || e->id.rc < 0 || e->id.n == 0)
        return rc; /* a series that the tables do not have, or cannot have, has no points */
    sto_hbase_change_init(&e->change, e->memory);
    ts_buf_init(&e->filter, 0);
    sto_thrift_request_init(&e->read, REQUEST_BYTES, e->memory);
    sto_thrift_request_init(&e->deletes, REQUEST_BYTES, e->memory);
    sto_thrift_request_init(&e->edges[0], REQUEST_BYTES, e->memory);
    sto_thrift_request_init(&e->edges[1], REQUEST_BYTES, e->memory);
    sto_hbase__rest_init(&e->rest, REQUEST_BYTES, e->memory);
    rc = erase_all(e, err);
    wait_for_clock(e);
    sto_thrift_request_release(&e->read);
    sto_thrift_request_release(&e->deletes);
    sto_thrift_request_release(&e->edges[0]);
    sto_thrift_request_release(&e->edges[1]);
    sto_hbase__rest_release(&e->rest);
    sto_hbase_change_release(&e->change);
    ts_budget_free(e->memory, e->cells, e->cap_cells * sizeof *e->cells);
    ts_budget_free(e->memory, e->columns, e->cap_columns * sizeof *e->columns);
    ts_buf_release(&e->filter);
    return rc;
}

/* What is deleted, and from which table; series becomes the visible one. False: such points are not in HBase. */
static bool set_kind(struct eraser *e, struct sto_remote_series *series)
{
    struct sto_internal name;
    e->table = sto_hbase__table(e->h);
    if (!sto_internal_parse(series->metric, &name))
        return true;
    series->metric = name.metric;
    series->key = STO_REMOTE_NO_KEY; /* it is that of the internal series */
    e->histograms = name.kind == STO_INTERNAL_HISTOGRAM;
    if (e->histograms)
        return ts_slice_is(name.detail, "u");
    if (sto_hbase_rollups_find(e->h->opts.rollups, name.detail, &e->place, NULL) < 0)
        return false;
    e->table = ts_slice_str(e->place.table);
    e->rollups = e->place.shape != NULL;
    if (e->rollups) {
        e->first_h = sto_hbase_rollup_base(e->place.shape, e->first_h * STO_HBASE_ROW_S) / STO_HBASE_ROW_S;
        e->last_h = sto_hbase_rollup_base(e->place.shape, e->last_h * STO_HBASE_ROW_S) / STO_HBASE_ROW_S;
    }
    return true;
}

int sto_hbase__delete_range(struct sto_remote *r, const struct sto_remote_series *series, int64_t from_ms,
                            int64_t to_ms, const struct sto_remote_call *call_limits, struct ts_error *err)
{
    struct sto_hbase *h = sto_hbase_of(r);
    struct eraser e = {.h = h, .memory = h->opts.access.memory, .newest_ms = INT64_MIN};
    e.from_ms = from_ms > 0 ? from_ms : 0;
    e.to_ms = to_ms < h->abilities.max_ms ? to_ms : h->abilities.max_ms;
    if (e.from_ms > e.to_ms)
        return 0;
    struct sto_remote_series visible = *series;
    e.first_h = (uint32_t)(e.from_ms / TS_HOUR_MS);
    e.last_h = (uint32_t)(e.to_ms / TS_HOUR_MS);
    if (!set_kind(&e, &visible))
        return 0;
    if (call_limits && call_limits->memory)
        e.memory = call_limits->memory;
    TS_TRY(sto_hbase_begin(h->access, call_limits, &e.session, err));
    sto_hbase__count(&sto_hbase__ship_counts(h)->n_deletes, 1);
    int rc = erase_series(&e, &visible, err);
    sto_hbase_end(&e.session);
    return rc;
}
