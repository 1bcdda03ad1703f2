/*
 * fetch_scan.c - the rows of a range of keys, by a scanner.
 *
 * Two requests for rows are in flight: while one reply is decoded, the gateway works on the next. Replies are copied, so that the connection is
 * free for looking up names. The number of rows in a request follows the size of the last reply.
 *
 * A scanner that fails is opened again after the last row that is complete. A row of several results is complete when a result has come that is not
 * full: so a row whose first cells have come is read again as a whole, and none is returned twice or left out.
 *
 * Not here   column ranges at the edges of the time range: compacted columns begin before the first point that is wanted, and columns of
 *            milliseconds and of appends do not sort by time, so that little could be left out, of two rows of each series
 */
#include "storage/hbase/remote/closer.h"
#include "storage/hbase/remote/fetch_int.h"

#include "base/time.h"

#define REPLY_BYTES  ((size_t)512 << 10) /* of a reply: the aim; two of them are held */
#define FIRST_ROWS   64                  /* of the first request */
#define FIRST_OF_ANY 4                   /* the same, when one row is searched for */
#define MOST_ROWS    2048                /* of a request */
#define BATCH_CELLS                                                                                          \
    4096 /* most cells of a result: more than a row of seconds has, and a reply of rows of milliseconds stays below 64 MiB */
#define MOST_MET        65536 /* series that a reader remembers; then it forgets all of them */
#define LOOKUP          1024  /* series whose names are looked up together */
#define MOST_USELESS    512   /* rows of other series in ranges that conditions leave, and */
#define MOST_USELESS_OF 8 /* times those that are wanted: then the rest is read with a filter on all rows */
#define MOST_ERRORS     3 /* exceptions that HBase does not want to be repeated, without a row between them */

/* A reply that was copied. */
struct copy {
    struct ts_buf bytes;
    struct sto_thrift_reply reply; /* value points into bytes */
};
struct lookup;
/* A scan of a part. */
struct scan {
    struct sto_hbase__reader *r;
    const struct sto_hbase__part *part;
    bool is_narrow;  /* scanners get narrow ranges */
    uint32_t next_h; /* hour and series of the ranges that come after those of the scanner */
    size_t next_at;
    uint64_t n_useless, n_useful;       /* rows received by is_narrow: of other series, and others */
    struct ts_buf filter;               /* of is_narrow */
    struct ts_buf stop;                 /* end of what the scanner reads */
    struct ts_buf key;                  /* of the row that is being collected; empty = there is none */
    struct ts_buf start;                /* where to open the scanner: all rows before are done */
    struct sto_hbase_scanner *requests; /* owned: for rows, and the scanner */
    bool is_open;                       /* there is a scanner */
    unsigned n_sent, n_got;             /* requests for rows over this scanner */
    int32_t n_rows, most_rows;          /* of the next request; of all */
    struct copy now, ahead;             /* the reply being read, and the one after it */
    bool has_ahead;
    int ahead_rc; /* of ahead */
    struct ts_error ahead_err;
    struct lookup *lookup; /* owned; NULL until a series is new */
    bool is_network;       /* the last error came from sending or receiving */
    bool is_final;         /* it is an exception that HBase does not want to be repeated */
    unsigned n_failed;     /* attempts since a row was complete */
    unsigned n_final;      /* of these, is_final */
};

/* --- requests --- */

static int open_scanner(struct scan *c, struct ts_error *err)
{
    struct sto_hbase__reader *r = c->r;
    struct sto_thrift_column family = {.family = STO_HBASE__FAMILY};
    struct sto_thrift_scan scan = {.start = ts_buf_get(&c->start),
                                   .stop = ts_buf_get(&c->stop),
                                   .select = {.columns = &family, .n_columns = 1},
                                   .batch_cells = BATCH_CELLS};
    if (r->x->filter.n)
        scan.select.filter = ts_buf_get(&r->x->filter);
    if (c->is_narrow)
        scan.select.filter_bytes = ts_buf_get(&c->filter);
    struct sto_thrift_reply reply = {0};
    ts_buf_clear(&c->requests->open.bytes);
    (void)sto_thrift_call_open_scanner(&c->requests->open, r->x->table, &scan);
    r->s.leaves = true;
    int rc = sto_hbase_call(&r->s, &c->requests->open, &reply, NULL, err);
    r->s.leaves = false;
    if (rc == 0)
        c->requests->scanner = sto_thrift_reply_scanner(&reply);
    c->is_open = rc == 0;
    c->n_sent = c->n_got = 0;
    c->has_ahead = false;
    return rc;
}

static int send_next(struct scan *c, struct ts_error *err)
{
    struct sto_thrift_request *q = &c->requests->rows[c->n_sent % 2];
    (void)sto_thrift_call_get_scanner_rows(q, c->requests->scanner, c->n_rows);
    TS_TRY(sto_thrift_client_send(c->r->s.client, q, sto_hbase_attempt(&c->r->s), err));
    c->n_sent++;
    return 0;
}

/* Receive the oldest reply in flight into `to`. It stays in flight if the fetch ends. */
static int receive(struct scan *c, struct copy *to, struct ts_error *err)
{
    struct sto_thrift_reply *reply = &to->reply;
    struct sto_thrift_wait wait = {.until_ns = INT64_MAX, .cancel = c->r->s.wait.cancel};
    int rc = sto_thrift_client_try_receive(c->r->s.client, wait, reply, err);
    c->n_got += rc != TS_ECANCELLED;
    c->is_final = rc == TS_EBACKEND && sto_hbase_is_final(reply);
    if (rc < 0)
        return rc;
    ts_buf_clear(&to->bytes);
    if (!ts_buf_reserve(&to->bytes, reply->value.n + 1))
        return sto_hbase__refused(&to->bytes, reply->value.n, "rows of HBase", err);
    ts_buf_slice(&to->bytes, reply->value);
    reply->value = ts_buf_get(&to->bytes);
    return 0;
}

/* The next reply into c->now, with another request in flight behind it. */
static int next_reply(struct scan *c, struct ts_error *err)
{
    if (c->has_ahead) {
        struct copy was = c->now;
        c->now = c->ahead;
        c->ahead = was;
        c->has_ahead = false;
        if (c->ahead_rc < 0)
            *err = c->ahead_err;
        return c->ahead_rc;
    }
    /* For one row nothing is requested ahead. */
    unsigned n_ahead = c->r->x->f->any_row ? 1 : 2;
    while (c->n_sent < c->n_got + n_ahead)
        TS_TRY(send_next(c, err));
    return receive(c, &c->now, err);
}

/* Empty the connection. An error of the reply that is in flight is kept for its turn. */
static void receive_ahead(struct scan *c)
{
    if (c->n_got == c->n_sent)
        return;
    c->ahead_err = (struct ts_error){0};
    c->ahead_rc = receive(c, &c->ahead, &c->ahead_err);
    c->has_ahead = true;
}

/* --- names --- */

/* Series whose names are looked up together. */
struct lookup {
    struct sto_hbase__met *met[LOOKUP];
    struct ts_slice tsuid[LOOKUP];
    struct sto_remote_series series[LOOKUP];
    struct sto_remote_tag tags[LOOKUP * STO_HBASE_MAX_TAGS];
    int rc[LOOKUP];
    size_t n;
};

static int look_up(struct scan *c, struct ts_error *err)
{
    struct lookup *l = c->lookup;
    struct sto_hbase__reader *r = c->r;
    struct ts_buf names;
    if (!l || l->n == 0)
        return 0;
    receive_ahead(c);
    ts_buf_init(&names, 0);
    names.budget = r->x->limits.memory;
    for (size_t i = 0; i < l->n; i++)
        l->tsuid[i] = (struct ts_slice){(const char *)l->met[i]->tsuid, l->met[i]->n_tsuid};
    int rc =
        sto_hbase_ids_of_tsuids(r->x->h->ids, &r->s, l->tsuid, l->n, &names, l->tags, l->series, l->rc, err);
    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        l->met[i]->naming = STO_HBASE__UNNAMED;
        if (l->rc[i] == 0)
            rc = sto_hbase__met_name(&r->met, l->met[i], &l->series[i], err);
    }
    ts_buf_release(&names);
    l->n = 0;
    return rc;
}

/* A row of this key is coming: its series needs names. */
static int expect(struct scan *c, struct ts_slice key, struct sto_hbase__met **out, struct ts_error *err)
{
    uint32_t base_s;
    TS_TRY(sto_hbase__row_judge(c->r, key, false, out, &base_s, err));
    if (!*out || (*out)->naming != STO_HBASE__NEW)
        return 0;
    if (!c->lookup)
        c->lookup = ts_budget_calloc(c->r->x->limits.memory, 1, sizeof *c->lookup, err);
    if (!c->lookup)
        return TS_ELIMIT;
    (*out)->naming = STO_HBASE__LISTED;
    c->lookup->met[c->lookup->n++] = *out;
    return c->lookup->n == LOOKUP ? look_up(c, err) : 0;
}

/* Forget series that were met, if there are very many. */
static int forget_some(struct scan *c, struct ts_error *err)
{
    struct sto_hbase__reader *r = c->r;
    if (r->x->f->series || r->met.n <= MOST_MET || r->x->f->series_only)
        return 0;
    sto_hbase__table_clear(&r->met);
    if (!r->row.met)
        return 0;
    TS_TRY(expect(c, ts_buf_get(&c->key), &r->row.met, err));
    return look_up(c, err); /* the row may end before another one is new */
}

/* The series of a row is new: look up its names together with those of the rows behind it in the reply. */
static int expect_all(struct scan *c, struct ts_slice key, struct sto_thrift_items rest, struct ts_error *err)
{
    struct sto_hbase__met *met;
    struct sto_thrift_row row;
    int rc;
    TS_TRY(expect(c, key, &met, err));
    while ((rc = sto_thrift_row(&rest, &row, err)) == 1)
        TS_TRY(expect(c, row.row, &met, err));
    return rc < 0 ? rc : look_up(c, err);
}

/* --- rows --- */

static int no_memory(const struct ts_buf *b, struct ts_error *err)
{
    return sto_hbase__refused(b, STO_HBASE_MAX_KEY_BYTES, "keys of rows", err);
}

/* The row that is being collected is complete, if there is one. */
static int finish_row(struct scan *c, struct ts_error *err)
{
    if (c->key.n == 0)
        return 0;
    TS_TRY(sto_hbase__row_end(c->r, ts_buf_get(&c->key), err));
    ts_buf_clear(&c->start);
    ts_buf_slice(&c->start, ts_buf_get(&c->key));
    ts_buf_clear(&c->key);
    c->n_failed = c->n_final = 0;
    return ts_buf_char(&c->start, 0) < 0 ? no_memory(&c->start, err) : 0;
}

/* rest: the rows behind it in the reply. */
static int begin_row(struct scan *c, struct ts_slice key, const struct sto_thrift_items *rest,
                     struct ts_error *err)
{
    struct sto_hbase__met *met;
    uint32_t base_s = 0;
    TS_TRY(finish_row(c, err));
    if (key.n == 0 || ts_slice_cmp(key, ts_buf_get(&c->start)) < 0)
        return ts_error_set(err, TS_EBACKEND,
                            "HBase has returned rows that are not in the order of their keys");
    if (ts_slice_cmp(key, ts_buf_get(&c->stop)) >= 0)
        return ts_error_set(err, TS_EBACKEND,
                            "HBase has returned rows behind the end of the range of a scan");
    if (ts_buf_slice(&c->key, key) < 0)
        return no_memory(&c->key, err);
    TS_TRY(sto_hbase__row_judge(c->r, key, true, &met, &base_s, err));
    const struct sto_hbase__fetch *x = c->r->x;
    if (met && met->naming == STO_HBASE__NEW && !x->f->any_row)
        TS_TRY(expect_all(c, key, *rest, err));
    sto_hbase__row_begin(c->r, met, base_s);
    *(met ? &c->n_useful : &c->n_useless) += 1;
    return x->f->any_row && (met || (!x->f->series && !x->n_conds)) ? sto_hbase__row_found(c->r, err) : 0;
}

/* Read the rows of c->now. Returns how many results it has. */
static int read_rows(struct scan *c, struct ts_error *err)
{
    struct sto_thrift_items items;
    struct sto_thrift_row row;
    int rc = 0, n = 0;
    TS_TRY(forget_some(c, err));
    sto_thrift_items_init(&items, &c->now.reply);
    while (!sto_hbase__fetch_found(c->r->x) && (rc = sto_thrift_row(&items, &row, err)) == 1) {
        if (c->key.n == 0 || !ts_slice_eq(row.row, ts_buf_get(&c->key)))
            TS_TRY(begin_row(c, row.row, &items, err));
        bool is_last = !row.is_partial && row.n_left < BATCH_CELLS;
        TS_TRY(sto_hbase__row_add(c->r, &row, err));
        if (is_last)
            TS_TRY(finish_row(c, err));
        n++;
    }
    TS_TRY(rc);
    TS_TRY(sto_hbase__row_hold(c->r, err));
    return n;
}

/* --- the scanner --- */

static void adapt(struct scan *c, int n_results)
{
    size_t a_row = c->now.bytes.n / (size_t)n_results + 1, want = REPLY_BYTES / a_row + 1;
    size_t most = (size_t)c->n_rows * 4 < (size_t)c->most_rows ? (size_t)c->n_rows * 4 : (size_t)c->most_rows;
    c->n_rows = (int32_t)(want < most ? want : most);
}

/* Best effort: a scanner that is not closed ends by its lease. */
static void close_scanner(struct scan *c)
{
    struct sto_thrift_reply reply;
    struct ts_error err = {0};
    receive_ahead(c);
    if (c->has_ahead && c->ahead_rc < 0)
        return;
    c->is_open = false;
    if (sto_thrift_call_close_scanner(&c->requests->rows[0], c->requests->scanner) == 0)
        (void)sto_thrift_client_call(c->r->s.client, &c->requests->rows[0], sto_hbase_attempt(&c->r->s),
                                     &reply, NULL, &err);
}

/* The fetch ends before the scanner does. */
static void leave_scanner(struct scan *c)
{
    struct sto_thrift_client *client = c->r->s.client;
    c->requests->is_opening = !c->is_open && sto_thrift_client_in_flight(client);
    if ((!c->is_open && !c->requests->is_opening) || !sto_thrift_client_is_open(client))
        return;
    sto_hbase_leave_scanner(&c->r->s, c->requests);
    c->requests = sto_hbase_scanner_new();
    c->n_sent = c->n_got = 0;
    c->is_open = false;
}

static int set_key(struct ts_buf *b, const uint8_t *key, size_t n, struct ts_error *err)
{
    ts_buf_clear(b);
    return ts_buf_append(b, key, n) < 0 ? no_memory(b, err) : 0;
}

/* The end of all rows of the part; from_start: their begin, too. */
static int set_keys(struct scan *c, bool from_start, struct ts_error *err)
{
    struct sto_hbase_scan keys;
    const struct sto_hbase__part *p = c->part;
    const struct sto_hbase__fetch *x = c->r->x;
    sto_hbase_scan_bases(&x->h->opts.schema, x->metric, p->first_h * STO_HBASE_ROW_S,
                         p->last_h * STO_HBASE_ROW_S, p->bucket, &keys);
    if (from_start)
        TS_TRY(set_key(&c->start, keys.start, keys.n_start, err));
    return set_key(&c->stop, keys.stop, keys.n_stop, err);
}

/* Conditions leave ranges before tags which are narrow only if no series has others. If most of the rows there are of other series, the rest of the part is read with a
 * filter on all rows. Returns whether it is. */
static bool widen(struct scan *c)
{
    if (!c->is_narrow || c->r->x->narrow != STO_HBASE__BY_CONDS || c->n_useless < MOST_USELESS ||
        c->n_useless < MOST_USELESS_OF * c->n_useful)
        return false;
    c->is_narrow = false;
    return true;
}

/* Open a scanner at c->start and read its rows. 1: it was closed, and the part is to be read on from c->start. */
static int scan_once(struct scan *c, struct ts_error *err)
{
    c->is_network = c->is_final = c->is_open = false;
    ts_buf_clear(&c->key);
    sto_hbase__row_begin(c->r, NULL, 0);
    TS_TRY(open_scanner(c, err));
    for (;;) {
        c->is_network = true;
        TS_TRY(next_reply(c, err));
        c->is_network = false;
        int n = read_rows(c, err);
        TS_TRY(n);
        if (n == 0 || sto_hbase__fetch_found(c->r->x))
            break;
        adapt(c, n);
        if (!widen(c))
            continue;
        close_scanner(c);
        return set_keys(c, false, err) < 0 ? TS_ELIMIT : 1;
    }
    TS_TRY(finish_row(c, err));
    close_scanner(c);
    return 0;
}

/* A scan has failed. 0: open it again at c->start; otherwise the error. */
static int resume(struct scan *c, int rc, struct ts_error *err)
{
    struct sto_hbase_session *s = &c->r->s;
    if (rc != TS_EBACKEND || c->n_sent != c->n_got)
        sto_thrift_client_close(s->client);
    if (rc == TS_ETIMEOUT && ts_clock_mono_ns() >= s->wait.until_ns)
        c->is_network = false;
    if (!c->is_network || rc == TS_ECANCELLED)
        return sto_hbase_error(rc, err);
    if (rc == TS_ELIMIT || rc == TS_ENOMEM) {
        if (c->most_rows == 1)
            return sto_hbase_error(rc, err);
        c->most_rows = c->n_rows > 8 ? c->n_rows / 8 : 1;
        c->n_rows = c->most_rows;
    }
    c->n_final += c->is_final || rc == TS_ECORRUPT;
    struct ts_error stopped = {0};
    int paused = c->n_final > MOST_ERRORS ? TS_ETIMEOUT : sto_hbase_pause(s, c->n_failed++, &stopped);
    if (paused == TS_ECANCELLED)
        *err = stopped;
    if (paused < 0)
        return paused == TS_ECANCELLED ? paused : sto_hbase_error(rc == TS_ENOTFOUND ? TS_EBACKEND : rc, err);
    sto_hbase__count(&c->r->x->h->fetched.n_resumed, 1);
    return 0;
}

static void scan_init(struct scan *c, struct sto_hbase__reader *r, const struct sto_hbase__part *part)
{
    struct ts_budget *memory = r->x->limits.memory;
    *c = (struct scan){.r = r,
                       .part = part,
                       .is_narrow = r->x->narrow != STO_HBASE__WIDE,
                       .next_h = part->first_h,
                       .next_at = part->from,
                       .requests = sto_hbase_scanner_new(),
                       .n_rows = r->x->f->any_row ? FIRST_OF_ANY : FIRST_ROWS,
                       .most_rows = MOST_ROWS};
    struct ts_buf *bufs[] = {&c->key, &c->start, &c->stop, &c->filter, &c->now.bytes, &c->ahead.bytes};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++) {
        ts_buf_init(bufs[i], 0);
        bufs[i]->budget = memory;
    }
}

static void scan_release(struct scan *c)
{
    struct ts_buf *bufs[] = {&c->key, &c->start, &c->stop, &c->filter, &c->now.bytes, &c->ahead.bytes};
    sto_hbase_scanner_free(c->requests);
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        ts_buf_release(bufs[i]);
    ts_budget_free(c->r->x->limits.memory, c->lookup, c->lookup ? sizeof *c->lookup : 0);
}

/* Read from c->start to c->stop, and more if the scan is widened. */
static int scan_range(struct scan *c, struct ts_error *err)
{
    int rc;
    while ((rc = scan_once(c, err)) != 0) {
        if (rc > 0)
            continue;
        if (!c->is_network || rc == TS_ECANCELLED)
            leave_scanner(c);
        TS_TRY(resume(c, rc, err));
    }
    return 0;
}

static int scan_all(struct scan *c, struct ts_error *err)
{
    const struct sto_hbase__fetch *x = c->r->x;
    if (!c->is_narrow) {
        TS_TRY(set_keys(c, true, err));
        return scan_range(c, err);
    }
    while (c->is_narrow && c->next_h <= c->part->last_h && !sto_hbase__fetch_found(x)) {
        sto_hbase__ranges_next(x, c->part, &c->next_h, &c->next_at, &c->start, &c->stop, &c->filter);
        if (c->filter.failed)
            return sto_hbase__refused(&c->filter, c->filter.n, "a filter of rows", err);
        TS_TRY(scan_range(c, err));
    }
    return 0;
}

int sto_hbase__scan_part(struct sto_hbase__reader *r, const struct sto_hbase__part *part,
                         struct ts_error *err)
{
    struct sto_hbase__fetch *x = r->x;
    struct scan c;
    scan_init(&c, r, part);
    sto_hbase__table_clear(&r->met);
    int rc = scan_all(&c, err);
    sto_hbase__count(&x->n_seen, c.n_useful + c.n_useless);
    if (sto_hbase__fetch_found(x))
        atomic_store_explicit(&r->x->stop, true, memory_order_relaxed); /* the others end, too */
    else if (rc == 0)
        rc = sto_hbase__read_doubtful(r, err);
    /* Requests in flight borrow c. */
    if (sto_thrift_client_in_flight(r->s.client))
        sto_thrift_client_close(r->s.client);
    scan_release(&c);
    return rc;
}
