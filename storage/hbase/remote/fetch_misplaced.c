/*
 * fetch_misplaced.c - rows in the salt buckets of other series.
 *
 * After somebody has changed the number of buckets, one hour of a series may have a row in the bucket that it had before and another one in its bucket now.
 * Scanners of different buckets meet them in any order, so those in a wrong bucket are put off until all others were read. Then each is read again together with
 * the row in the right bucket, whose cells decide by their timestamps what is newer, as within one row; the caller, which has the other row, gets what is
 * new. Of histograms and rollups it gets all that both rows have.
 *
 * Not here   rows of series by their keys (fetch_gets.c), which are looked for in their bucket only
 */
#include "storage/hbase/remote/fetch_int.h"

#include <stdlib.h>

#define MOST_MET 65536 /* series that are remembered; then they are forgotten */
#define AT_ONCE  64    /* most rows of a call, but for a series and hour that has more */

static const struct sto_thrift_column FAMILY = {.family = {"t", 1}};

/* --- keys --- */

int sto_hbase__misplaced_add(struct sto_hbase__fetch *x, struct ts_slice key, struct ts_error *err)
{
    unsigned salt = x->h->opts.schema.salt_width;
    char bytes[1 + STO_HBASE_MAX_KEY_BYTES]; /* length, and the key with its salt at the end */
    bytes[0] = (char)key.n;
    memcpy(bytes + 1, key.p + salt, key.n - salt);
    memcpy(bytes + 1 + key.n - salt, key.p, salt);
    pthread_mutex_lock(&x->mu);
    int rc = ts_buf_append(&x->misplaced, bytes, 1 + key.n);
    pthread_mutex_unlock(&x->mu);
    return rc < 0 ? sto_hbase__refused(&x->misplaced, key.n, "keys of rows in wrong salt buckets", err) : 0;
}

static int by_row(const void *pa, const void *pb)
{
    const struct ts_slice *a = pa, *b = pb;
    return a->n != b->n ? (a->n < b->n ? -1 : 1) : memcmp(a->p, b->p, a->n);
}

/* Keys that were put off, sorted, each once. Returns how many; *cap of memory. */
static size_t list_keys(const struct sto_hbase__fetch *x, struct ts_slice **out, size_t *cap,
                        struct ts_error *err)
{
    const struct ts_buf *b = &x->misplaced;
    size_t n = 0, kept = 0;
    for (size_t at = 0; at < b->n; at += 1 + (uint8_t)b->p[at])
        n++;
    *cap = n;
    *out = ts_budget_calloc(x->limits.memory, n, sizeof **out, err);
    if (!*out)
        return 0;
    n = 0;
    for (size_t at = 0; at < b->n; at += 1 + (uint8_t)b->p[at])
        (*out)[n++] = (struct ts_slice){b->p + at + 1, (uint8_t)b->p[at]};
    qsort(*out, n, sizeof **out, by_row);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || by_row(&(*out)[kept - 1], &(*out)[i]) != 0)
            (*out)[kept++] = (*out)[i];
    return kept;
}

/* --- rows --- */

/* Rows that are read by one call. */
struct batch {
    struct sto_hbase__reader *r;
    struct sto_thrift_request request;
    const struct ts_slice *keys; /* as they were put off: n of them */
    size_t n;
    unsigned salt;  /* bytes */
    bool has_reply; /* of the last call */
};

/* Have two keys one series and hour? */
static bool same_row(const struct batch *b, size_t i, size_t k)
{
    return b->keys[i].n == b->keys[k].n && memcmp(b->keys[i].p, b->keys[k].p, b->keys[i].n - b->salt) == 0;
}

/* The key with its salt in front. */
static struct ts_slice key_of(const struct batch *b, size_t i, uint8_t *out)
{
    struct ts_slice k = b->keys[i];
    memcpy(out, k.p + k.n - b->salt, b->salt);
    memcpy(out + b->salt, k.p, k.n - b->salt);
    return (struct ts_slice){(const char *)out, k.n};
}

/* The series of a row; NULL: none that is wanted. */
static int judge(const struct batch *b, size_t i, struct sto_hbase__met **out, uint32_t *out_base_s,
                 struct ts_error *err)
{
    uint8_t bytes[STO_HBASE_MAX_KEY_BYTES];
    return sto_hbase__row_judge(b->r, key_of(b, i, bytes), false, out, out_base_s, err);
}

/* Look up the names of new series of keys [from, to), which have at most AT_ONCE series. */
static int name_series(struct batch *b, size_t from, size_t to, struct ts_error *err)
{
    struct sto_hbase__reader *r = b->r;
    struct sto_hbase__met *met[AT_ONCE], *one;
    struct ts_slice tsuid[AT_ONCE];
    struct sto_remote_series series[AT_ONCE];
    struct sto_remote_tag tags[AT_ONCE * STO_HBASE_MAX_TAGS];
    struct ts_buf names;
    uint32_t base_s;
    int found[AT_ONCE];
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        TS_TRY(judge(b, i, &one, &base_s, err));
        if (!one || one->naming != STO_HBASE__NEW)
            continue;
        one->naming = STO_HBASE__UNNAMED;
        tsuid[n] = (struct ts_slice){(const char *)one->tsuid, one->n_tsuid};
        met[n++] = one;
    }
    if (n == 0)
        return 0;
    ts_buf_init(&names, 0);
    names.budget = r->x->limits.memory;
    int rc = sto_hbase_ids_of_tsuids(r->x->h->ids, &r->s, tsuid, n, &names, tags, series, found, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (found[i] == 0)
            rc = sto_hbase__met_name(&r->met, met[i], &series[i], err);
    ts_buf_release(&names);
    return rc;
}

/* The key of the row in the right bucket. */
static struct ts_slice home_of(const struct batch *b, const struct sto_hbase__met *met, uint32_t base_s,
                               uint8_t *out)
{
    struct ts_slice tsuid = {(const char *)met->tsuid, met->n_tsuid};
    return (struct ts_slice){(const char *)out,
                             sto_hbase_rowkey_make(&b->r->x->h->opts.schema, tsuid, base_s, out)};
}

static void request_row(struct batch *b, struct ts_slice key)
{
    struct sto_hbase__fetch *x = b->r->x;
    struct sto_thrift_get get = {.row = key, .select = {.columns = &FAMILY, .n_columns = 1}};
    if (x->filter.n)
        get.select.filter = ts_buf_get(&x->filter);
    sto_thrift_batch_get(&b->request, &get);
}

/* The next row of the reply is that of this key. */
static int take_row(struct batch *b, struct sto_thrift_items *items, struct ts_slice key,
                    struct ts_error *err)
{
    struct sto_thrift_row row;
    TS_TRY(sto_hbase_asked_row(items, key, &row, err));
    return row.row.p ? sto_hbase__row_add(b->r, &row, err) : 0;
}

/* Read keys [from, to), which are all those of some rows. */
static int read_some(struct batch *b, size_t from, size_t to, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    struct sto_thrift_items items;
    struct sto_hbase__met *met;
    uint8_t bytes[STO_HBASE_MAX_KEY_BYTES];
    uint32_t base_s;
    if (!b->r->x->f->series && b->r->met.n > MOST_MET)
        sto_hbase__table_clear(&b->r->met);
    TS_TRY(name_series(b, from, to, err));
    sto_thrift_batch_begin(&b->request, STO_THRIFT_GET_MULTIPLE, b->r->x->table);
    for (size_t i = from; i < to; i++) {
        request_row(b, key_of(b, i, bytes));
        if (i + 1 < to && same_row(b, i, i + 1))
            continue;
        TS_TRY(judge(b, i, &met, &base_s, err));
        if (met)
            request_row(b, home_of(b, met, base_s, bytes));
    }
    if (sto_thrift_batch_end(&b->request) < 0)
        return sto_hbase__refused(&b->request.bytes, b->request.bytes.n + 1, "a request for rows", err);
    TS_TRY(sto_hbase_call(&b->r->s, &b->request, &reply, NULL, err));
    b->has_reply = true;
    sto_thrift_items_init(&items, &reply);
    for (size_t i = from; i < to; i++) {
        if (i == from || !same_row(b, i - 1, i)) {
            TS_TRY(judge(b, i, &met, &base_s, err));
            sto_hbase__row_begin(b->r, met, base_s);
        }
        TS_TRY(take_row(b, &items, key_of(b, i, bytes), err));
        if ((i + 1 < to && same_row(b, i, i + 1)) || !met)
            continue;
        b->r->row.n_misplaced = b->r->row.n_cells;
        TS_TRY(take_row(b, &items, home_of(b, met, base_s, bytes), err));
        if (b->r->row.n_misplaced)
            TS_TRY(sto_hbase__row_end(b->r, key_of(b, i, bytes), err));
    }
    return 0;
}

static int read_all(struct batch *b, struct ts_error *err)
{
    size_t most = AT_ONCE;
    for (size_t from = 0, to; from < b->n;) {
        for (to = from + 1; to < b->n && (to - from < most || same_row(b, to - 1, to));)
            to++;
        TS_TRY(sto_hbase__fetch_ended(b->r->x, err));
        b->has_reply = false;
        int rc = read_some(b, from, to, err);
        if (rc == TS_ELIMIT && most > 1 && !b->has_reply) { /* it was too large */
            most = 1;
            continue;
        }
        if (rc < 0)
            return sto_hbase_error(rc, err);
        from = to;
    }
    return 0;
}

int sto_hbase__misplaced_read(struct sto_hbase__fetch *x, struct ts_error *err)
{
    struct sto_hbase__reader *r = ts_budget_calloc(x->limits.memory, 1, sizeof *r, err);
    struct ts_slice *keys = NULL;
    size_t cap = 0;
    if (!r)
        return TS_ELIMIT;
    sto_hbase__reader_init(r, x);
    r->reads_misplaced = true;
    struct batch b = {.r = r, .salt = x->h->opts.schema.salt_width};
    sto_thrift_request_init(&b.request, 0, x->limits.memory);
    b.n = list_keys(x, &keys, &cap, err);
    b.keys = keys;
    int rc = keys ? sto_hbase_begin(x->h->access, &x->limits, &r->s, err) : TS_ELIMIT;
    if (rc == 0) {
        rc = read_all(&b, err);
        sto_hbase_end(&r->s);
    }
    ts_budget_free(x->limits.memory, keys, keys ? cap * sizeof *keys : 0);
    sto_thrift_request_release(&b.request);
    sto_hbase__reader_release(r);
    ts_budget_free(x->limits.memory, r, sizeof *r);
    return rc;
}

/* --- what is new --- */

bool sto_hbase__misplaced_is_old(const struct sto_hbase__row *row, size_t cell)
{
    const struct sto_hbase_cell *c = &row->cells[cell];
    bool is = row->n_misplaced && cell >= row->n_misplaced;
    for (size_t i = row->n_misplaced; row->n_misplaced && i < row->n_cells && !is; i++)
        is = row->cells[i].ts_ms >= c->ts_ms && ts_slice_eq(row->cells[i].qualifier, c->qualifier);
    return is;
}

/* Entries [from, to) have one time, the last one counts. Is it of a misplaced row, and another value than that of the right row? */
static bool is_new(const struct sto_hbase__reader *r, size_t from, size_t to)
{
    const struct sto_hbase_entry *e = r->columns.entries, *last = &e[to - 1];
    if (last->cell >= r->row.n_misplaced)
        return false;
    for (size_t i = to - 1; i-- > from;)
        if (e[i].cell >= r->row.n_misplaced)
            return e[i].raw != last->raw || e[i].length != last->length || e[i].is_float != last->is_float;
    return true;
}

int sto_hbase__misplaced_points(struct sto_hbase__reader *r, struct sto_cells *out, struct ts_error *err)
{
    const struct sto_hbase_columns *c = &r->columns;
    uint32_t n = 0;
    TS_TRY(ts_budget_grow(r->x->limits.memory, &r->meta, &r->cap_meta, c->cells.n, sizeof *r->meta, err));
    TS_TRY(ts_budget_grow(r->x->limits.memory, &r->m, &r->cap_m, c->cells.n, sizeof *r->m, err));
    for (size_t from = 0, to, i = 0; from < c->n_entries; from = to, i++) {
        for (to = from + 1; to < c->n_entries && c->entries[to].off_ms == c->entries[from].off_ms;)
            to++;
        if (!is_new(r, from, to))
            continue;
        r->meta[n] = c->cells.meta[i];
        r->m[n++] = c->cells.m[i];
    }
    *out = (struct sto_cells){.meta = r->meta, .m = r->m, .n = n};
    return 0;
}
