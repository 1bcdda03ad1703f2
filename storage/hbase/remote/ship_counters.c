/*
 * ship_counters.c - the cells of series in tsdb-meta, which OpenTSDB writes with every point (docs/OPENTSDB.md, section 10.9).
 *
 *   SEEN     ts_ctr is put as 1, so that it is there, and its timestamp is the time of the last shipment
 *   COUNTED  ts_ctr is incremented by the points of a row that are new or have another value than in HBase; a series whose counter begins with
 *            them is new, and gets ts_meta unless it has it
 *
 * Both follow points that HBase has acknowledged, and never hold them up: a request that fails is counted and logged. An increment is not repeated,
 * since nobody knows whether it was executed, and what is not known is not counted. A crash between points and counter loses that count. OpenTSDB's
 * counters are no more exact: they count every put, of equal points too.
 *
 * Cost       one increment, or one cell of a batch, for each row that has new points
 */
#include "storage/hbase/metatable.h"
#include "storage/hbase/remote/ship_int.h"
#include "storage/hbase/uidtable.h"

#include "base/log.h"
#include "base/time.h"

#define IN_FLIGHT 16 /* increments over the connection */

static struct ts_slice table_of(const struct sto_hbase *h)
{
    return ts_slice_str(h->opts.tables.meta);
}

static struct ts_slice tsuid_of(const struct sto_hbase__worker *w, size_t piece)
{
    return (struct ts_slice){(const char *)w->ids[piece].tsuid, w->ids[piece].n};
}

static void failed(struct sto_hbase__worker *w, uint64_t n, const struct ts_error *why)
{
    static struct ts_log_limit limit;
    sto_hbase__count(&w->counts->n_uncounted, n);
    ts_log_limited(&limit, TS_LOG_WARN, "counters of series in table %s were not written: %s",
                   w->h->opts.tables.meta, why->text);
}

/* Has the piece points that HBase did not have? */
static bool is_new(const struct sto_hbase__worker *w, size_t piece)
{
    return w->ids[piece].rc == 0 && w->pieces[piece].n_new > 0;
}

/* --- SEEN --- */

static void put_seen(struct sto_hbase__worker *w)
{
    struct sto_thrift_request *r = &w->puts[0];
    struct sto_thrift_reply reply = {0};
    struct ts_error why = {0};
    struct sto_thrift_cell cell = {.family = STO_HBASE_META_FAMILY,
                                   .qualifier = STO_HBASE_META_COUNTER,
                                   .value = TS_SLICE_LIT("\0\0\0\0\0\0\0\1")};
    sto_thrift_batch_begin(r, STO_THRIFT_PUT_MULTIPLE, table_of(w->h));
    for (size_t i = 0; i < w->n_pieces; i++)
        if (is_new(w, i))
            sto_thrift_batch_put(
                r, &(struct sto_thrift_put){.row = tsuid_of(w, i), .cells = &cell, .n_cells = 1});
    if (r->n_items == 0)
        return;
    int rc = sto_thrift_batch_end(r);
    if (rc < 0)
        (void)ts_error_set(&why, TS_ELIMIT, "there is no memory for a request to HBase");
    else
        rc = sto_hbase_call(&w->session, r, &reply, NULL, &why);
    if (rc < 0)
        failed(w, r->n_items, &why);
}

/* --- COUNTED --- */

/* Does the counter begin with the increment of a piece? */
static bool begins(const struct sto_hbase__worker *w, size_t piece, const struct sto_thrift_reply *reply)
{
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    uint64_t value = 0;
    sto_thrift_items_init(&it, reply);
    return sto_thrift_row(&it, &row, NULL) == 1 && sto_thrift_row_next(&row, &cell, NULL) == 1 &&
           sto_hbase_counter_parse(cell.value, &value, NULL) == 0 && value == w->pieces[piece].n_new;
}

/* Write the metadata of a new series, unless somebody has. */
static int put_document(struct sto_hbase__worker *w, size_t piece, struct ts_error *err)
{
    struct ts_slice tsuid = tsuid_of(w, piece);
    char hex[2 * STO_HBASE_MAX_TSUID_BYTES];
    struct sto_thrift_reply reply = {0};
    sto_hbase_hex_print(tsuid, hex);
    json_t *root = json_object();
    json_object_set_new(root, "tsuid", json_stringn(hex, 2 * tsuid.n));
    json_object_set_new(root, "created", json_integer(sto_hbase__now_ms(w->h) / 1000));
    ts_buf_clear(&w->value);
    int rc = sto_hbase_document_write(sto_hbase_meta_fields, root, &w->value, err);
    json_decref(root);
    if (rc < 0)
        return rc;
    struct sto_thrift_cell cell = {.family = STO_HBASE_META_FAMILY,
                                   .qualifier = STO_HBASE_META_DOCUMENT,
                                   .value = ts_buf_get(&w->value)};
    struct sto_thrift_check check = {
        .row = tsuid, .family = cell.family, .qualifier = cell.qualifier, .compare = STO_THRIFT_EQUAL};
    struct sto_thrift_put put = {.row = tsuid, .cells = &cell, .n_cells = 1};
    if (sto_thrift_call_check_and_put(&w->puts[0], table_of(w->h), &check, &put) < 0)
        return ts_error_set(err, TS_ELIMIT, "there is no memory for a request to HBase");
    return sto_hbase_call(&w->session, &w->puts[0], &reply, NULL, err);
}

/* Increment the counters of n pieces, all in flight together; those of new series stay in list. Returns how many these are. */
static size_t increment(struct sto_hbase__worker *w, uint16_t *list, size_t n)
{
    const struct sto_thrift_column column = {.family = STO_HBASE_META_FAMILY,
                                             .qualifier = STO_HBASE_META_COUNTER};
    struct ts_error why = {0};
    size_t n_sent = 0, n_new = 0;
    int rc = 0;
    for (; n_sent < n; n_sent++) {
        struct sto_thrift_request *r = &w->changes[n_sent];
        if (sto_thrift_call_increment(r, table_of(w->h), tsuid_of(w, list[n_sent]), &column,
                                      w->pieces[list[n_sent]].n_new) < 0)
            rc = ts_error_set(&why, TS_ELIMIT, "there is no memory for a request to HBase");
        else
            rc = sto_thrift_client_send(w->session.client, r, sto_hbase_attempt(&w->session), &why);
        if (rc < 0)
            break;
    }
    if (rc < 0)
        failed(w, n - n_sent, &why);
    for (size_t i = 0; i < n_sent; i++) {
        struct sto_thrift_reply reply = {0};
        if (sto_thrift_client_receive(w->session.client, w->session.wait.cancel, &reply, NULL, &why) < 0)
            failed(w, 1, &why);
        else if (begins(w, list[i], &reply))
            list[n_new++] = list[i];
    }
    return n_new;
}

static void count_points(struct sto_hbase__worker *w)
{
    uint16_t list[IN_FLIGHT];
    for (size_t at = 0; at < w->n_pieces;) {
        size_t n = 0;
        for (; at < w->n_pieces && n < IN_FLIGHT; at++)
            if (is_new(w, at))
                list[n++] = (uint16_t)at;
        n = increment(w, list, n);
        for (size_t i = 0; i < n; i++) {
            struct ts_error why = {0};
            if (put_document(w, list[i], &why) < 0)
                failed(w, 1, &why);
        }
    }
}

void sto_hbase__ship_counters(struct sto_hbase__worker *w)
{
    if (w->h->opts.counters == STO_HBASE_SEEN)
        put_seen(w);
    else if (w->h->opts.counters == STO_HBASE_COUNTED)
        count_points(w);
}
