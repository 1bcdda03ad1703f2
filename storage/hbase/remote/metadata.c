/*
 * metadata.c - makes OpenTSDB's metadata.
 */
#include "storage/hbase/remote/metadata.h"

#include "base/hash.h"
#include "base/map64.h"
#include "base/mem.h"
#include "storage/hbase/metatable.h"
#include "storage/hbase/remote/metadata_int.h"
#include "storage/hbase/uidtable.h"

#include <string.h>

#define BATCH      500     /* rows of a look-up */
#define ITEMS_MAX  131072u /* names and series that are known before their metadata is looked at */
#define ITEM_BYTES 96u     /* memory of one, an estimate; longer keys are rare */
#define SERIES     3u      /* kind of an item, after those of enum sto_remote_kind */
#define LATE_S     3600u   /* a time of creation that is so much later than the first row is wrong */

/* A name or a series. */
struct item {
    const uint8_t *row; /* id, or TSUID: n_row bytes; in the arena */
    uint32_t first_s;   /* its first row that was met */
    uint8_t kind, n_row;
};
/* A run. */
struct run {
    struct sto_hbase__walk w; /* first member; its arena is of items, and of a batch */
    struct sto_hbase_metadata_counts *counts;
    struct item *items;      /* n of them; owned */
    size_t n, taken;         /* taken: bytes of the account */
    struct ts_map64 places;  /* hash of kind and row -> index in items */
    struct ts_map64 unnamed; /* hashes of ids without a name */
};

static int no_memory(struct ts_error *err)
{
    return sto_hbase__walk_no_memory(err);
}

/* --- what is there --- */

static uint64_t hash_of(unsigned kind, const uint8_t *row, size_t n)
{
    return ts_hash_u64(ts_hash(row, n) + kind + 1);
}

/* Note that a name or series has a row. 0: it is noted; 1: there is no room, or another one has the same hash. */
static int note(struct run *u, unsigned kind, const uint8_t *row, size_t n_row, uint32_t first_s)
{
    uint64_t hash = hash_of(kind, row, n_row);
    uint32_t at;
    if (ts_map64_get(&u->places, hash, &at)) {
        struct item *i = &u->items[at];
        if (i->kind != kind || i->n_row != n_row || memcmp(i->row, row, n_row) != 0)
            return 1;
        i->first_s = first_s < i->first_s ? first_s : i->first_s;
        return 0;
    }
    if (u->n == ITEMS_MAX || ts_map64_add(&u->places, hash, (uint32_t)u->n) < 0)
        return 1;
    uint8_t *copy = ts_arena_alloc(&u->w.arena, n_row);
    memcpy(copy, row, n_row);
    u->items[u->n++] =
        (struct item){.row = copy, .first_s = first_s, .kind = (uint8_t)kind, .n_row = (uint8_t)n_row};
    return 0;
}

/* A row of the data table, as ids. */
struct found {
    struct sto_hbase_rowkey key;
    uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES];
    size_t n_tsuid;
};

/* Note the names and the series of a row. 1: there is no room. */
static int note_row(struct run *u, const struct found *f)
{
    const struct sto_hbase_schema *schema = &u->w.h->opts.schema;
    uint8_t id[STO_HBASE_MAX_WIDTH];
    int n = sto_hbase_uid_make(schema, STO_REMOTE_METRIC, f->key.ids.metric, id, NULL);
    int rc = n > 0 ? note(u, STO_REMOTE_METRIC, id, (size_t)n, f->key.base_s) : 0;
    for (size_t i = 0; i < f->key.ids.n_tags && rc == 0; i++) {
        n = sto_hbase_uid_make(schema, STO_REMOTE_TAGK, f->key.ids.tag[i].k, id, NULL);
        rc = n > 0 ? note(u, STO_REMOTE_TAGK, id, (size_t)n, f->key.base_s) : 0;
        n = sto_hbase_uid_make(schema, STO_REMOTE_TAGV, f->key.ids.tag[i].v, id, NULL);
        if (rc == 0 && n > 0)
            rc = note(u, STO_REMOTE_TAGV, id, (size_t)n, f->key.base_s);
    }
    return rc ? rc : note(u, SERIES, f->tsuid, f->n_tsuid, f->key.base_s);
}

/* --- a batch --- */

/* What HBase has of an item. */
struct state {
    bool has_name, has_document, has_counter;
    struct ts_slice document; /* its bytes; in the arena */
};

static const char *table_of(const struct run *u, unsigned kind)
{
    return kind == SERIES ? u->w.h->opts.tables.meta : u->w.h->opts.tables.uid;
}

static struct ts_slice document_of(unsigned kind)
{
    return kind == SERIES ? STO_HBASE_META_DOCUMENT : sto_hbase_uid_document((enum sto_remote_kind)kind);
}

static int take_states(struct run *u, const struct sto_thrift_reply *reply, struct item *const *items,
                       size_t n, struct state *states, struct ts_error *err)
{
    struct sto_thrift_items it;
    sto_thrift_items_init(&it, reply);
    for (size_t i = 0; i < n; i++) {
        struct sto_thrift_row row;
        struct sto_thrift_cell cell;
        unsigned kind = items[i]->kind;
        struct ts_slice key = {(const char *)items[i]->row, items[i]->n_row};
        int rc = sto_hbase_asked_row(&it, key, &row, err);
        while (rc >= 0 && row.row.p && (rc = sto_thrift_row_next(&row, &cell, err)) == 1) {
            if (ts_slice_eq(cell.qualifier, document_of(kind))) {
                char *p = ts_arena_alloc(&u->w.arena, cell.value.n + 1);
                if (cell.value.n)
                    memcpy(p, cell.value.p, cell.value.n);
                states[i].has_document = true;
                states[i].document = (struct ts_slice){p, cell.value.n};
            } else if (kind == SERIES) {
                states[i].has_counter |= ts_slice_eq(cell.qualifier, STO_HBASE_META_COUNTER);
            } else {
                states[i].has_name |=
                    ts_slice_eq(cell.qualifier, sto_hbase_uid_qualifier((enum sto_remote_kind)kind));
            }
        }
        TS_TRY(sto_hbase_error(rc < 0 ? rc : 0, err));
    }
    return 0;
}

static int read_states(struct run *u, struct item *const *items, size_t n, struct state *states,
                       struct ts_error *err)
{
    static const struct sto_thrift_column family = {.family = {"name", 4}}; /* of both tables */
    struct sto_thrift_reply reply;
    TS_TRY(sto_hbase__walk_wait(&u->w, err));
    sto_thrift_batch_begin(&u->w.r, STO_THRIFT_GET_MULTIPLE, ts_slice_str(table_of(u, items[0]->kind)));
    for (size_t i = 0; i < n; i++) {
        struct sto_thrift_get get = {.row = {(const char *)items[i]->row, items[i]->n_row},
                                     .select = {.columns = &family, .n_columns = 1}};
        sto_thrift_batch_get(&u->w.r, &get);
    }
    if (sto_thrift_batch_end(&u->w.r) < 0)
        return no_memory(err);
    TS_TRY(sto_hbase_call(&u->w.s, &u->w.r, &reply, NULL, err));
    return take_states(u, &reply, items, n, states, err);
}

/* Has an id of the series no name? */
static bool is_unnamed(const struct run *u, const struct item *i)
{
    const struct sto_hbase_schema *s = &u->w.h->opts.schema;
    uint32_t unused;
    size_t at = s->metric_width;
    bool is = ts_map64_get(&u->unnamed, hash_of(STO_REMOTE_METRIC, i->row, at), &unused);
    while (at < i->n_row && !is) {
        is = ts_map64_get(&u->unnamed, hash_of(STO_REMOTE_TAGK, i->row + at, s->tagk_width), &unused);
        at += s->tagk_width;
        is = is || ts_map64_get(&u->unnamed, hash_of(STO_REMOTE_TAGV, i->row + at, s->tagv_width), &unused);
        at += s->tagv_width;
    }
    return is;
}

/* The document that an item should have: that of HBase with a right time of creation, or a new one. 0: the one of HBase is right, or cannot be read. */
static int make_document(struct run *u, const struct item *i, const struct state *state, struct ts_buf *out,
                         struct ts_error *err)
{
    const struct sto_hbase_field *fields = i->kind == SERIES ? sto_hbase_meta_fields : sto_hbase_uid_fields;
    char hex[2 * STO_HBASE_MAX_TSUID_BYTES];
    json_t *root = NULL;
    struct ts_error why = {0};
    int rc = state->has_document ? sto_hbase_document_parse(fields, state->document, &root, &why) : 0;
    if (rc < 0) {
        u->counts->n_damaged++;
        return 0;
    }
    int64_t created = root ? json_integer_value(json_object_get(root, "created")) : 0;
    bool wrong = created == 0 || created > (int64_t)i->first_s + LATE_S;
    root = root ? root : json_object();
    if (i->kind == SERIES) {
        sto_hbase_hex_print((struct ts_slice){(const char *)i->row, i->n_row}, hex);
        json_object_set_new(root, "tsuid", json_stringn(hex, 2 * (size_t)i->n_row));
    } else {
        json_object_set_new(root, "type", json_string(sto_hbase_uid_type((enum sto_remote_kind)i->kind)));
    }
    json_object_set_new(root, "created", json_integer(i->first_s));
    if (wrong)
        rc = sto_hbase_document_write(fields, root, out, err);
    json_decref(root);
    return rc < 0 ? no_memory(err) : wrong;
}

static int settle_document(struct run *u, const struct item *i, const struct state *state,
                           struct ts_error *err)
{
    struct sto_hbase__cell_id id = {
        table_of(u, i->kind), {(const char *)i->row, i->n_row}, TS_SLICE_LIT("name"), document_of(i->kind)};
    struct ts_buf document;
    ts_buf_init(&document, 0);
    int rc = make_document(u, i, state, &document, err);
    if (rc == 1)
        rc = sto_hbase__cell_change(&u->w.s, &u->w.r, &id, state->document, ts_buf_get(&document), 0, NULL, 0,
                                    err);
    ts_buf_release(&document);
    if (rc == 1 && state->has_document)
        u->counts->n_corrected++;
    else if (rc == 1 && i->kind == SERIES)
        u->counts->n_series++;
    else if (rc == 1)
        u->counts->n_names++;
    return rc < 0 ? rc : 0;
}

static int settle(struct run *u, const struct item *i, const struct state *state, struct ts_error *err)
{
    struct sto_hbase__cell_id counter = {u->w.h->opts.tables.meta,
                                         {(const char *)i->row, i->n_row},
                                         STO_HBASE_META_FAMILY,
                                         STO_HBASE_META_COUNTER};
    if (i->kind != SERIES && !state->has_name) {
        u->counts->n_unnamed++;
        uint64_t hash = hash_of(i->kind, i->row, i->n_row);
        uint32_t unused;
        return ts_map64_get(&u->unnamed, hash, &unused) || ts_map64_add(&u->unnamed, hash, 0) == 0
                   ? 0
                   : no_memory(err);
    }
    if (i->kind == SERIES && is_unnamed(u, i)) {
        u->counts->n_unnamed++;
        return 0;
    }
    TS_TRY(settle_document(u, i, state, err));
    if (i->kind != SERIES || state->has_counter)
        return 0;
    int rc = sto_hbase__cell_change(&u->w.s, &u->w.r, &counter, (struct ts_slice){NULL, 0},
                                    TS_SLICE_LIT("\0\0\0\0\0\0\0\1"), 0, NULL, 0, err);
    u->counts->n_counters += rc == 1;
    return rc < 0 ? rc : 0;
}

/* Look at the items of names, or of series. */
static int settle_all(struct run *u, bool series, struct ts_error *err)
{
    struct item *batch[BATCH];
    for (size_t at = 0; at < u->n;) {
        struct state states[BATCH] = {{0}};
        size_t n = 0;
        for (; at < u->n && n < BATCH; at++)
            if ((u->items[at].kind == SERIES) == series)
                batch[n++] = &u->items[at];
        if (n)
            TS_TRY(read_states(u, batch, n, states, err));
        for (size_t i = 0; i < n; i++) {
            TS_TRY(sto_hbase__walk_wait(&u->w, err));
            TS_TRY(settle(u, batch[i], &states[i], err));
        }
    }
    return 0;
}

/* Look at all items, and forget them. */
static int flush(struct run *u, struct ts_error *err)
{
    TS_TRY(settle_all(u, false, err)); /* first, to know which ids have no name */
    TS_TRY(settle_all(u, true, err));
    u->n = 0;
    ts_arena_release(&u->w.arena);
    ts_map64_release(&u->places);
    return 0;
}

/* Keys of a page of the data table; they are copied, because a flush sends requests. */
static int sync_page(struct sto_hbase__walk *w, struct sto_thrift_items *rows, struct ts_slice *last,
                     size_t *n, struct ts_error *err)
{
    struct run *u = (struct run *)(void *)w;
    struct found *page = ts_xcalloc(STO_HBASE__WALK_ROWS, sizeof *page);
    struct sto_thrift_row row;
    size_t n_found = 0;
    int rc;
    while ((rc = sto_thrift_row(rows, &row, err)) == 1 && *n < STO_HBASE__WALK_ROWS) {
        struct found *f = &page[n_found];
        ++*n;
        *last = row.row;
        if (sto_hbase_rowkey_parse(&u->w.h->opts.schema, row.row, &f->key, NULL) < 0) {
            u->counts->n_bad_keys++;
            continue;
        }
        if (f->key.global)
            continue;
        f->n_tsuid = sto_hbase_tsuid_make(&u->w.h->opts.schema, &f->key.ids, f->tsuid);
        n_found++;
    }
    u->counts->n_rows += *n;
    struct ts_slice kept = {NULL, 0};
    if (rc >= 0 && *n) { /* what follows may send requests, and *last must outlive them */
        char *p = ts_xmalloc(last->n + 1);
        memcpy(p, last->p, last->n);
        kept = (struct ts_slice){p, last->n};
    }
    for (size_t i = 0; i < n_found && rc >= 0; i++)
        if (note_row(u, &page[i]) != 0) {
            rc = flush(u, err);
            if (rc == 0 && note_row(u, &page[i]) != 0)
                rc = no_memory(err);
        }
    if (rc >= 0 && kept.p) {
        ts_buf_clear(&u->w.start); /* a place that stays while the page ends */
        rc = ts_buf_slice(&u->w.start, kept) < 0 ? no_memory(err) : 0;
        *last = ts_buf_get(&u->w.start);
    }
    ts_free((void *)(uintptr_t)kept.p);
    ts_free(page);
    return rc < 0 ? rc : 0;
}

int sto_hbase_metasync(struct sto_remote *r, const struct sto_remote_call *call,
                       struct sto_hbase_metadata_counts *out, struct ts_error *err)
{
    static const struct sto_thrift_column family = {.family = {"t", 1}};
    struct run u = {.counts = out};
    TS_TRY(sto_hbase__walk_begin(&u.w, r, call, err));
    ts_map64_init(&u.places, 0);
    ts_map64_init(&u.unnamed, 0);
    int rc = ts_budget_take(u.w.h->opts.access.memory, (uint64_t)ITEMS_MAX * ITEM_BYTES, err);
    if (rc == 0) {
        u.taken = (size_t)ITEMS_MAX * ITEM_BYTES;
        u.items = ts_xcalloc(ITEMS_MAX, sizeof *u.items);
        rc = sto_hbase__walk_pages(&u.w, u.w.h->opts.tables.data, &family,
                                   "FirstKeyOnlyFilter() AND KeyOnlyFilter()", (struct ts_slice){NULL, 0},
                                   sync_page, err);
    }
    if (rc == 0)
        rc = flush(&u, err);
    ts_map64_release(&u.places);
    ts_map64_release(&u.unnamed);
    ts_free(u.items);
    if (u.taken)
        ts_budget_give(u.w.h->opts.access.memory, u.taken);
    sto_hbase__walk_end(&u.w);
    return rc;
}
