/*
 * ship_rows.c - a shipment: what cannot be stored is refused, fresh rows are put in batches, others are merged (ship_merge.c). Buckets of
 * histograms (ship_histogram.c) and rollups (ship_rollup.c) come last.
 *
 * Batches    putMultiple of about 1,000 rows or 1 MiB; a few are in flight while the next one is encoded. One that fails is sent again by itself,
 *            and divided in halves if HBase refuses rows of it for good, until the refused rows are found; the others are stored
 * Memory     a worker has a fixed size and its buffers are counted; a request has at most MAX_REQUEST_BYTES
 */
#include "base/mem.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/remote/ship_int.h"
#include "storage/internal.h"

#include <string.h>

#define BATCH_ROWS        1000u
#define BATCH_BYTES       ((size_t)1 << 20)
#define MAX_REQUEST_BYTES ((size_t)128 << 20)
#define PIECE_POINTS      32768u /* of a piece, at most; more than fit into one column */
#define CELLS_AT_ONCE     256u   /* single cells in one put */
#define MANY_ROWS         8 /* HBase does not refuse so many, each by itself, but all of them for another reason */

void sto_hbase__worker_init(struct sto_hbase__worker *w, struct sto_hbase *h,
                            struct sto_hbase__counts *counts)
{
    struct ts_budget *memory = h->opts.access.memory;
    w->h = h;
    w->counts = counts;
    ts_budget_force(memory, sizeof *w);
    for (size_t i = 0; i < STO_HBASE__WINDOW; i++)
        sto_thrift_request_init(&w->puts[i], MAX_REQUEST_BYTES, memory);
    for (size_t i = 0; i < STO_HBASE__MERGE_ROWS; i++) {
        sto_thrift_request_init(&w->changes[i], MAX_REQUEST_BYTES, memory);
        sto_thrift_request_init(&w->appends[i], MAX_REQUEST_BYTES, memory);
    }
    sto_thrift_request_init(&w->read, MAX_REQUEST_BYTES, memory);
    sto_thrift_request_init(&w->put, MAX_REQUEST_BYTES, memory);
    ts_buf_init(&w->qualifier, 1u << 20);
    ts_buf_init(&w->value, 1u << 20);
    w->qualifier.budget = w->value.budget = memory;
    sto_hbase_change_init(&w->change, memory);
}

void sto_hbase__worker_release(struct sto_hbase__worker *w)
{
    struct ts_budget *memory = w->h->opts.access.memory;
    for (size_t i = 0; i < STO_HBASE__WINDOW; i++)
        sto_thrift_request_release(&w->puts[i]);
    for (size_t i = 0; i < STO_HBASE__MERGE_ROWS; i++) {
        sto_thrift_request_release(&w->changes[i]);
        sto_thrift_request_release(&w->appends[i]);
    }
    sto_thrift_request_release(&w->read);
    sto_thrift_request_release(&w->put);
    ts_buf_release(&w->qualifier);
    ts_buf_release(&w->value);
    sto_hbase_change_release(&w->change);
    ts_budget_free(memory, w->cells, w->cap_cells * sizeof *w->cells);
    ts_budget_give(memory, sizeof *w);
}

/* --- what cannot be stored --- */

void sto_hbase__refuse(struct sto_hbase__worker *w, size_t row, const struct ts_error *why)
{
    if (w->last_refused == row)
        return;
    w->last_refused = row;
    sto_hbase__count(&w->counts->n_refused, 1);
    if (w->s->refused)
        w->s->refused(w->s->arg, row, why);
}

/* Does another file send it? */
static bool is_internal(const struct sto_remote_row *row)
{
    struct sto_internal name;
    return sto_internal_parse(row->series.metric, &name);
}

static int check_row(const struct sto_remote_row *row, struct ts_error *err)
{
    if (row->series.metric.n && row->series.metric.p[0] == STO_INTERNAL_MARK)
        return ts_error_set(err, TS_EINVAL, "the internal metric is not one of rollups or histograms");
    if (row->hour < 0 || row->hour > STO_HBASE_MAX_HOUR)
        return sto_hbase_check_time(row->hour * TS_HOUR_MS, err);
    TS_TRY(sto_hbase_check_series(&row->series, err));
    return sto_hbase_check_points(row->hour, row->cells, err);
}

/* --- pieces --- */

/* The next piece of the shipment; its rows are checked. False: there are no more. */
static bool next_piece(struct sto_hbase__worker *w, struct sto_hbase__piece *p, int64_t now_ms)
{
    const struct sto_hbase_opts *o = &w->h->opts;
    for (; w->at_row < w->s->n; w->at_row++, w->at_point = 0) {
        const struct sto_remote_row *row = &w->s->rows[w->at_row];
        struct ts_error why = {0};
        if (is_internal(row))
            continue;
        if (w->at_point == 0 && check_row(row, &why) < 0) {
            sto_hbase__refuse(w, w->at_row, &why);
            continue;
        }
        uint32_t left = row->cells->n - w->at_point;
        if (left == 0)
            continue;
        bool over = now_ms >= (row->hour + 1) * TS_HOUR_MS;
        p->row = (uint32_t)w->at_row;
        p->from = w->at_point;
        p->n = left < PIECE_POINTS ? left : PIECE_POINTS;
        p->fresh = row->fresh;
        p->n_new = p->fresh ? p->n : 0;
        p->compacts = over && (o->compacts || o->sole_writer);
        p->as_one = p->n > 1 && (p->compacts || o->sole_writer);
        w->at_point += p->n;
        return true;
    }
    return false;
}

/* Fill pieces with their keys. 0: the shipment has no more. */
static int next_chunk(struct sto_hbase__worker *w, struct ts_error *err)
{
    int64_t now_ms = sto_hbase__now_ms(w->h);
    size_t n = 0;
    while (n < STO_HBASE__CHUNK && next_piece(w, &w->pieces[n], now_ms)) {
        w->series[n] = &w->s->rows[w->pieces[n].row].series;
        n++;
    }
    w->n_fresh = w->n_known = w->n_pieces = 0;
    if (n == 0)
        return 0;
    TS_TRY(sto_hbase_ids_series(w->h->ids, &w->session, STO_REMOTE_MAKE, w->series, n, w->ids, err));
    for (size_t i = 0; i < n; i++) {
        struct sto_hbase__piece *p = &w->pieces[i];
        const struct sto_hbase_series_id *id = &w->ids[i];
        if (id->rc < 0) {
            sto_hbase__refuse(w, p->row, &id->why);
            continue;
        }
        uint32_t base_s = (uint32_t)w->s->rows[p->row].hour * STO_HBASE_ROW_S;
        p->n_key = (uint8_t)sto_hbase_rowkey_make(
            &w->h->opts.schema, (struct ts_slice){(const char *)id->tsuid, id->n}, base_s, p->key);
        if (p->fresh)
            w->fresh[w->n_fresh++] = (uint16_t)i;
        else
            w->known[w->n_known++] = (uint16_t)i;
    }
    w->n_pieces = n;
    return 1;
}

/* --- fresh rows --- */

/* Add the points of a piece to a request, as cells of their own. */
static void put_single(const struct sto_hbase__worker *w, struct sto_thrift_request *r, struct ts_slice key,
                       const struct sto_cells *c)
{
    struct sto_hbase_point points[CELLS_AT_ONCE];
    struct sto_thrift_cell cells[CELLS_AT_ONCE];
    struct sto_thrift_put put = {.row = key, .cells = cells};
    for (uint32_t i = 0; i < c->n;) {
        size_t n = 0;
        for (; n < CELLS_AT_ONCE && i < c->n; n++, i++) {
            sto_hbase_encode_point(c->meta[i], c->m[i], &points[n]);
            cells[n] = (struct sto_thrift_cell){
                .family = STO_HBASE_FAMILY,
                .qualifier = {(const char *)points[n].qualifier, points[n].n_qualifier},
                .value = {(const char *)points[n].value, points[n].n_value},
                .ts_ms = w->stamp_ms,
                .has_ts = true};
        }
        put.n_cells = n;
        sto_thrift_batch_put(r, &put);
    }
}

/* The same as one column; false: it would be too large. */
static bool put_compacted(struct sto_hbase__worker *w, struct sto_thrift_request *r, struct ts_slice key,
                          const struct sto_cells *c)
{
    ts_buf_clear(&w->qualifier);
    ts_buf_clear(&w->value);
    if (sto_hbase_encode_compacted(c, &w->qualifier, &w->value) < 0)
        return false;
    struct sto_thrift_cell cell = {.family = STO_HBASE_FAMILY,
                                   .qualifier = ts_buf_get(&w->qualifier),
                                   .value = ts_buf_get(&w->value),
                                   .ts_ms = w->stamp_ms,
                                   .has_ts = true};
    sto_thrift_batch_put(r, &(struct sto_thrift_put){.row = key, .cells = &cell, .n_cells = 1});
    return true;
}

/* Encode as many of list[from, to) as one request takes; returns the end of what it has. */
static size_t encode(struct sto_hbase__worker *w, struct sto_thrift_request *r, size_t from, size_t to)
{
    size_t i = from;
    sto_thrift_batch_begin(r, STO_THRIFT_PUT_MULTIPLE, sto_hbase__table(w->h));
    for (; i < to && i - from < BATCH_ROWS && r->bytes.n < BATCH_BYTES; i++) {
        const struct sto_hbase__piece *p = &w->pieces[w->fresh[i]];
        struct ts_slice key = {(const char *)p->key, p->n_key};
        struct sto_cells c = sto_hbase__points(w, p);
        if (!p->as_one || !put_compacted(w, r, key, &c))
            put_single(w, r, key, &c);
    }
    (void)sto_thrift_batch_end(r);
    return i;
}

/* Send fresh[from, to) again, by itself, and find the rows that HBase refuses. */
static int send_divided(struct sto_hbase__worker *w, size_t from, size_t to, struct ts_error *err)
{
    struct sto_thrift_request *r = &w->puts[0];
    struct sto_thrift_reply reply = {0};
    struct ts_error why = {0};
    for (size_t end; from < to; from = end) {
        end = encode(w, r, from, to);
        int rc = sto_hbase_call(&w->session, r, &reply, NULL, &why);
        if (rc == 0)
            continue;
        if (rc != TS_EBACKEND || !sto_hbase_refuses_rows(&reply)) {
            if (err)
                *err = why;
            return rc;
        }
        if (end - from == 1) {
            w->bad[w->n_bad++] = w->fresh[from];
            w->bad_why = why;
            continue;
        }
        size_t middle = from + (end - from) / 2;
        TS_TRY(send_divided(w, from, middle, err));
        TS_TRY(send_divided(w, middle, end, err));
    }
    return 0;
}

/* The same; rows that HBase refuses are reported. */
static int send_again(struct sto_hbase__worker *w, size_t from, size_t to, struct ts_error *err)
{
    w->n_bad = 0;
    TS_TRY(send_divided(w, from, to, err));
    if (w->n_bad == to - from && w->n_bad >= MANY_ROWS) {
        if (err)
            *err = w->bad_why;
        return TS_EBACKEND;
    }
    w->bad_why.code = TS_EINVAL;
    for (size_t i = 0; i < w->n_bad; i++) {
        sto_hbase__refuse(w, w->pieces[w->bad[i]].row, &w->bad_why);
        w->pieces[w->bad[i]].n_new = 0;
    }
    return 0;
}

/* Put the fresh pieces: encode a request while those before it are on their way. */
static int send_fresh(struct sto_hbase__worker *w, struct ts_error *err)
{
    struct range {
        size_t from, to;
    } sent[STO_HBASE__WINDOW], failed[STO_HBASE__WINDOW + 1];
    size_t n_sent = 0, n_done = 0, n_failed = 0;
    for (size_t at = 0; at < w->n_fresh || n_sent > n_done;) {
        struct sto_thrift_reply reply;
        struct range *slot;
        if (at < w->n_fresh && n_sent - n_done < STO_HBASE__WINDOW && n_failed == 0) {
            struct sto_thrift_request *r = &w->puts[n_sent % STO_HBASE__WINDOW];
            struct range range = {at, encode(w, r, at, w->n_fresh)};
            at = range.to;
            if (sto_thrift_client_send(w->session.client, r, sto_hbase_attempt(&w->session), NULL) < 0)
                failed[n_failed++] = range;
            else
                sent[n_sent++ % STO_HBASE__WINDOW] = range;
        } else {
            slot = &sent[n_done++ % STO_HBASE__WINDOW];
            if (sto_thrift_client_receive(w->session.client, w->session.wait.cancel, &reply, NULL, NULL) < 0)
                failed[n_failed++] = *slot;
        }
        if (n_sent > n_done)
            continue;
        for (size_t i = 0; i < n_failed; i++)
            TS_TRY(send_again(w, failed[i].from, failed[i].to, err));
        n_failed = 0;
    }
    return 0;
}

/* --- */

static void count_sent(struct sto_hbase__worker *w)
{
    uint64_t n_points = 0, n_rows = 0, n_one = 0;
    for (size_t i = 0; i < w->n_fresh + w->n_known; i++) {
        bool known = i >= w->n_fresh;
        const struct sto_hbase__piece *p = &w->pieces[known ? w->known[i - w->n_fresh] : w->fresh[i]];
        n_points += p->n;
        n_rows += p->from == 0;
        n_one += !known && p->as_one;
    }
    sto_hbase__count(&w->counts->n_points, n_points);
    sto_hbase__count(&w->counts->n_rows, n_rows);
    sto_hbase__count(&w->counts->n_compacted, n_one);
}

static int send_chunks(struct sto_hbase__worker *w, struct ts_error *err)
{
    int rc;
    while ((rc = next_chunk(w, err)) == 1) {
        TS_TRY(send_fresh(w, err));
        TS_TRY(sto_hbase__ship_merge(w, err));
        count_sent(w);
        sto_hbase__ship_counters(w);
    }
    if (rc == 0)
        rc = sto_hbase__ship_histograms(w, err);
    return rc < 0 ? rc : sto_hbase__ship_rollups(w, err);
}

int sto_hbase__ship_now(struct sto_hbase__worker *w, const struct sto_shipment *s,
                        const struct sto_remote_call *call, struct ts_error *err)
{
    TS_TRY(sto_hbase_begin(w->h->access, call, &w->session, err));
    w->s = s;
    w->stamp_ms = ts_clock_ms();
    w->at_row = w->at_point = 0;
    w->last_refused = SIZE_MAX;
    int rc = send_chunks(w, err);
    sto_hbase_end(&w->session);
    return rc;
}
