/*
 * fetch_gets.c - rows of computed keys, by getMultiple.
 *
 * Readers take the next rows of the request in turn. The number of rows of a call follows the size of the last reply.
 */
#include "storage/hbase/remote/fetch_int.h"

#define REPLY_BYTES ((size_t)512 << 10) /* of a reply, about */
#define FIRST_ROWS  32                  /* of the first call */
#define MOST_ROWS   512                 /* of a call */

static const struct sto_thrift_column FAMILY = {.family = {"t", 1}};

/* A row to be fetched: its series and base time. */
struct place {
    struct sto_hbase__met *met;
    uint32_t base_s;
};
/* Calls of one reader. */
struct gets {
    struct sto_hbase__reader *r;
    struct sto_thrift_request request;
    struct place places[MOST_ROWS];
    size_t n, n_rows, most_rows; /* places used; of the next call; of any call */
};

/* Set g->places to the next rows of the request that no other reader has taken. */
static void take(struct gets *g)
{
    struct sto_hbase__fetch *x = g->r->x;
    g->n = 0;
    pthread_mutex_lock(&x->mu);
    while (g->n < g->n_rows && x->next < x->n_gets && !sto_hbase__fetch_found(x)) {
        struct sto_hbase__met *met = x->gets[x->next];
        if (!met->is_reported)
            g->places[g->n++] = (struct place){met, x->next_h * STO_HBASE_ROW_S};
        bool is_last = x->next_h == x->last_h || met->is_reported;
        x->next += is_last;
        x->next_h = is_last ? x->first_h : (uint32_t)sto_hbase__next_row(x, x->next_h);
    }
    if (x->next == x->n_gets)
        atomic_store_explicit(&x->exhausted, true, memory_order_relaxed);
    pthread_mutex_unlock(&x->mu);
}

static size_t key_of(const struct gets *g, size_t i, uint8_t *out)
{
    const struct sto_hbase__met *met = g->places[i].met;
    return sto_hbase_rowkey_make(&g->r->x->h->opts.schema,
                                 (struct ts_slice){(const char *)met->tsuid, met->n_tsuid},
                                 g->places[i].base_s, out);
}

/* Read the reply to rows [from, to). */
static int read_reply(struct gets *g, size_t from, size_t to, const struct sto_thrift_reply *reply,
                      struct ts_error *err)
{
    struct sto_thrift_items items;
    struct sto_thrift_row row;
    uint8_t bytes[STO_HBASE_MAX_KEY_BYTES];
    int rc;
    sto_thrift_items_init(&items, reply);
    if (items.left != to - from)
        return ts_error_set(err, TS_EBACKEND, "HBase has returned %zu rows although %zu were requested",
                            (size_t)items.left, to - from);
    for (size_t i = from; (rc = sto_thrift_row(&items, &row, err)) == 1; i++) {
        if (row.is_partial)
            return ts_error_set(err, TS_EBACKEND,
                                "HBase has returned a part of a row that was requested whole");
        if (!row.row.p || row.n_left == 0)
            continue;
        struct ts_slice key = {(const char *)bytes, key_of(g, i, bytes)};
        if (!ts_slice_eq(key, row.row))
            return ts_error_set(err, TS_EBACKEND, "HBase has returned another row than was requested");
        sto_hbase__row_begin(g->r, g->places[i].met, g->places[i].base_s);
        TS_TRY(sto_hbase__row_add(g->r, &row, err));
        TS_TRY(sto_hbase__row_end(g->r, key, err));
    }
    return rc;
}

/* Fetch rows [from, to) by one call. */
static int call(struct gets *g, size_t from, size_t to, size_t *out_bytes, struct ts_error *err)
{
    struct sto_hbase__fetch *x = g->r->x;
    struct sto_thrift_reply reply;
    uint8_t bytes[STO_HBASE_MAX_KEY_BYTES];
    sto_thrift_batch_begin(&g->request, STO_THRIFT_GET_MULTIPLE, x->table);
    for (size_t i = from; i < to; i++) {
        struct sto_thrift_get get = {.row = {(const char *)bytes, key_of(g, i, bytes)},
                                     .select = {.columns = &FAMILY, .n_columns = 1}};
        if (x->filter.n)
            get.select.filter = ts_buf_get(&x->filter);
        sto_thrift_batch_get(&g->request, &get);
    }
    *out_bytes = 0;
    if (sto_thrift_batch_end(&g->request) < 0)
        return sto_hbase__refused(&g->request.bytes, g->request.bytes.n + 1, "a request for rows", err);
    TS_TRY(sto_hbase_call(&g->r->s, &g->request, &reply, NULL, err));
    *out_bytes = reply.value.n;
    return sto_hbase_error(read_reply(g, from, to, &reply, err), err);
}

/* Fetch all places, by smaller calls if a reply does not fit. */
static int fetch_places(struct gets *g, struct ts_error *err)
{
    for (size_t from = 0; from < g->n;) {
        size_t to = g->n - from > g->n_rows ? from + g->n_rows : g->n, n_bytes;
        int rc = call(g, from, to, &n_bytes, err);
        if (rc == TS_ELIMIT && n_bytes == 0 && to > from + 1) {
            g->most_rows = g->n_rows = (to - from) / 8 + 1;
            continue;
        }
        TS_TRY(rc);
        size_t a_row = n_bytes / (to - from) + 1, want = REPLY_BYTES / a_row + 1;
        size_t most = g->n_rows * 4 < g->most_rows ? g->n_rows * 4 : g->most_rows;
        g->n_rows = want < most ? want : most;
        from = to;
    }
    return 0;
}

int sto_hbase__read_gets(struct sto_hbase__reader *r, struct ts_error *err)
{
    struct ts_budget *memory = r->x->limits.memory;
    struct gets *g = ts_budget_calloc(memory, 1, sizeof *g, err);
    int rc = 0;
    if (!g)
        return TS_ELIMIT;
    g->r = r;
    g->n_rows = FIRST_ROWS;
    g->most_rows = MOST_ROWS;
    sto_thrift_request_init(&g->request, 0, memory);
    for (take(g); g->n && rc == 0; take(g)) {
        rc = fetch_places(g, err);
        if (rc < 0)
            break;
    }
    sto_thrift_request_release(&g->request);
    ts_budget_free(memory, g, sizeof *g);
    return rc < 0 ? rc : sto_hbase__read_doubtful(r, err);
}

/* --- rows whose first cell is not a point, so that they may have none --- */

static int read_one(struct sto_hbase__reader *r, struct sto_thrift_request *q, struct ts_slice key,
                    struct ts_error *err)
{
    struct sto_hbase__met *met;
    struct sto_thrift_reply reply;
    struct sto_thrift_items items;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    uint32_t base_s;
    bool found = false;
    int rc;
    TS_TRY(sto_hbase__row_judge(r, key, false, &met, &base_s, err));
    if (!met || met->is_reported)
        return 0;
    struct sto_thrift_get get = {
        .row = key,
        .select = {.columns = &FAMILY, .n_columns = 1, .filter = TS_SLICE_LIT("KeyOnlyFilter()")}};
    (void)sto_thrift_call_get(q, r->x->table, &get);
    TS_TRY(sto_hbase_call(&r->s, q, &reply, NULL, err));
    sto_thrift_items_init(&items, &reply);
    if ((rc = sto_thrift_row(&items, &row, err)) == 1)
        while (!found && (rc = sto_thrift_row_next(&row, &cell, err)) == 1)
            found = sto_hbase__is_point(cell.qualifier);
    if (rc < 0)
        return sto_hbase_error(rc, err);
    return found ? sto_hbase__row_report(r, met, base_s, err) : 0;
}

int sto_hbase__read_doubtful(struct sto_hbase__reader *r, struct ts_error *err)
{
    struct sto_thrift_request q;
    int rc = 0;
    sto_thrift_request_init(&q, 0, NULL); /* small */
    for (size_t at = 0; rc == 0 && at < r->doubtful.n;) {
        uint32_t n;
        memcpy(&n, r->doubtful.p + at, sizeof n);
        rc = read_one(r, &q, (struct ts_slice){r->doubtful.p + at + sizeof n, n}, err);
        at += sizeof n + n;
    }
    ts_buf_clear(&r->doubtful);
    sto_thrift_request_release(&q);
    return rc;
}
