/*
 * ids_batch.c - the distinct names or ids of a call, first looked up in the cache, then together in HBase.
 *
 * Threads    a batch belongs to one thread
 */
#include "storage/hbase/remote/ids_int.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "storage/hbase/limits.h"

#define MAX_REQUEST_BYTES (64u << 20)
#define SHOWN_BYTES       80 /* of a name in a text */

/* --- requests --- */

void sto_hbase__ids_io_init(struct sto_hbase__ids_io *io, struct sto_hbase_id_cache *c,
                            struct sto_hbase_session *s)
{
    *io = (struct sto_hbase__ids_io){.c = c, .s = s, .table = ts_slice_str(c->table)};
    sto_thrift_request_init(&io->r, MAX_REQUEST_BYTES, c->memory);
    for (size_t i = 0; i < STO_HBASE__PIPELINE; i++)
        sto_thrift_request_init(&io->ring[i], MAX_REQUEST_BYTES, c->memory);
    ts_buf_init(&io->key, 0);
    ts_buf_init(&io->value, 0);
}

void sto_hbase__ids_io_release(struct sto_hbase__ids_io *io)
{
    sto_thrift_request_release(&io->r);
    for (size_t i = 0; i < STO_HBASE__PIPELINE; i++)
        sto_thrift_request_release(&io->ring[i]);
    ts_buf_release(&io->key);
    ts_buf_release(&io->value);
}

static int no_memory(const struct sto_hbase__ids_io *io, size_t n, struct ts_error *err)
{
    return ts_error_set(err, TS_ELIMIT, "there is no memory to look up %zu names in table %s", n,
                        io->c->table);
}

/* Hand out the values of a reply to n gets, which begin with item first. */
static int values(struct sto_hbase__ids_io *io, const struct sto_thrift_reply *reply, size_t first, size_t n,
                  sto_hbase__row_fn key, sto_hbase__value_fn got, void *arg, struct ts_error *err)
{
    struct sto_thrift_items it;
    sto_thrift_items_init(&it, reply);
    for (size_t i = first; i < first + n; i++) {
        struct sto_thrift_row row;
        struct sto_thrift_cell cell;
        ts_buf_clear(&io->key);
        if (key(arg, i, &io->key) < 0)
            return no_memory(io, n, err);
        int rc = sto_hbase_asked_row(&it, ts_buf_get(&io->key), &row, err);
        if (rc == 0 && row.row.p)
            rc = sto_thrift_row_next(&row, &cell, err);
        if (rc < 0)
            return sto_hbase_error(rc, err);
        TS_TRY(got(arg, i, rc ? cell.value : (struct ts_slice){NULL, 0}, err));
    }
    return 0;
}

int sto_hbase__ids_read(struct sto_hbase__ids_io *io, struct ts_slice family, enum sto_remote_kind kind,
                        size_t n, sto_hbase__row_fn row, sto_hbase__value_fn got, void *arg,
                        struct ts_error *err)
{
    struct sto_thrift_column column = {.family = family, .qualifier = sto_hbase_uid_qualifier(kind)};
    struct sto_thrift_get get = {.select = {.columns = &column, .n_columns = 1}};
    for (size_t i = 0, first = 0; i < n; first = i) {
        struct sto_thrift_reply reply;
        sto_thrift_batch_begin(&io->r, STO_THRIFT_GET_MULTIPLE, io->table);
        for (; i < n && i - first < STO_HBASE__BATCH_ITEMS && io->r.bytes.n < STO_HBASE__BATCH_BYTES; i++) {
            ts_buf_clear(&io->key);
            if (row(arg, i, &io->key) < 0)
                return no_memory(io, i - first + 1, err);
            get.row = ts_buf_get(&io->key);
            sto_thrift_batch_get(&io->r, &get);
        }
        if (sto_thrift_batch_end(&io->r) < 0)
            return no_memory(io, i - first, err);
        TS_TRY(sto_hbase_call(io->s, &io->r, &reply, NULL, err));
        TS_TRY(values(io, &reply, first, i - first, row, got, arg, err));
        atomic_fetch_add_explicit(&io->c->n_lookups, i - first, memory_order_relaxed);
    }
    return 0;
}

/* --- the table of a batch --- */

int sto_hbase__batch_init(struct sto_hbase__batch *b, struct sto_hbase_id_cache *c,
                          struct sto_hbase_session *s, size_t n_most, struct ts_buf *names,
                          struct ts_error *err)
{
    *b = (struct sto_hbase__batch){.c = c, .names = names, .now_ms = c->now_ms()};
    sto_hbase__ids_io_init(&b->io, c, s);
    size_t n_heads = 16;
    while (n_heads < n_most)
        n_heads *= 2;
    b->list = ts_budget_alloc(c->memory, (n_most + 1) * sizeof(*b->list), err);
    b->cap = b->list ? n_most + 1 : 0;
    b->heads = b->list ? ts_budget_alloc(c->memory, n_heads * sizeof(*b->heads), err) : NULL;
    b->n_heads = b->heads ? n_heads : 0;
    b->refs = b->heads ? ts_budget_alloc(c->memory, (n_most + 1) * sizeof(*b->refs), err) : NULL;
    b->n_refs = b->refs ? n_most + 1 : 0;
    if (!b->refs) {
        sto_hbase__batch_release(b);
        if (err)
            err->code = TS_ELIMIT;
        return TS_ELIMIT;
    }
    memset(b->heads, 0xff, n_heads * sizeof(*b->heads));
    return 0;
}

void sto_hbase__batch_release(struct sto_hbase__batch *b)
{
    sto_hbase__ids_io_release(&b->io);
    ts_budget_free(b->c->memory, b->list, b->cap * sizeof(*b->list));
    ts_budget_free(b->c->memory, b->heads, b->n_heads * sizeof(*b->heads));
    ts_budget_free(b->c->memory, b->refs, b->n_refs * sizeof(*b->refs));
}

static struct sto_hbase__want *add(struct sto_hbase__batch *b, uint32_t hash, enum sto_remote_kind kind)
{
    struct sto_hbase__want *w = &b->list[b->n];
    uint32_t *head = &b->heads[hash & (b->n_heads - 1)];
    *w = (struct sto_hbase__want){.hash = hash, .next = *head, .kind = (uint8_t)kind};
    *head = (uint32_t)b->n++;
    return w;
}

uint32_t sto_hbase__batch_name(struct sto_hbase__batch *b, enum sto_remote_kind kind, struct ts_slice name)
{
    uint32_t hash = (uint32_t)ts_hash(name.p, name.n) + kind;
    for (uint32_t i = b->heads[hash & (b->n_heads - 1)]; i != STO_HBASE__NO_WANT; i = b->list[i].next)
        if (b->list[i].hash == hash && b->list[i].kind == kind && ts_slice_eq(b->list[i].name, name))
            return i;
    struct sto_hbase__want *w = add(b, hash, kind);
    const struct sto_hbase__record *r = sto_hbase__records_by_name(&b->c->names, w->kind, name);
    w->name = name;
    if (r && sto_hbase__is_fresh(b->c, r->seen_ms[STO_HBASE__BY_NAME], b->now_ms)) {
        w->id = r->number;
        w->seen_ms = r->seen_ms[STO_HBASE__BY_NAME];
        w->state = STO_HBASE__KNOWN;
    } else if (!r && sto_hbase_check_name(kind, name, NULL) < 0) {
        w->state = STO_HBASE__INVALID;
    }
    return (uint32_t)(w - b->list);
}

/* Append the name of an id to the names of the batch. */
static int keep_name(struct sto_hbase__batch *b, struct sto_hbase__want *w, struct ts_slice name)
{
    w->off = b->names->n;
    w->name.n = name.n;
    return ts_buf_slice(b->names, name);
}

uint32_t sto_hbase__batch_id(struct sto_hbase__batch *b, enum sto_remote_kind kind, uint64_t id)
{
    uint32_t hash = (uint32_t)ts_hash_u64(id * 4 + kind);
    for (uint32_t i = b->heads[hash & (b->n_heads - 1)]; i != STO_HBASE__NO_WANT; i = b->list[i].next)
        if (b->list[i].id == id && b->list[i].kind == kind)
            return i;
    struct sto_hbase__want *w = add(b, hash, kind);
    const struct sto_hbase__record *r = sto_hbase__records_by_number(&b->c->names, w->kind, id);
    w->id = id;
    if (id == 0 || id > sto_hbase_width_max(sto_hbase_uid_width(&b->c->schema, kind)))
        w->state = STO_HBASE__ABSENT;
    else if (r && sto_hbase__is_fresh(b->c, r->seen_ms[STO_HBASE__BY_NUMBER], b->now_ms) &&
             keep_name(b, w, (struct ts_slice){r->bytes, r->n}) == 0)
        w->state = STO_HBASE__KNOWN;
    return (uint32_t)(w - b->list);
}

/* --- what HBase says --- */

void sto_hbase__batch_remember(struct sto_hbase__batch *b, const struct sto_hbase__want *w,
                               enum sto_hbase__direction d)
{
    struct ts_slice name = b->names ? (struct ts_slice){b->names->p + w->off, w->name.n} : w->name;
    if (sto_hbase__records_put(&b->c->names, d, w->kind, name, w->id, b->now_ms))
        b->c->series.generation++;
}

/* HBase does not have it (any more). The mutex must be held. */
static void forget(struct sto_hbase__batch *b, const struct sto_hbase__want *w, enum sto_hbase__direction d)
{
    struct sto_hbase__record *r = b->names ? sto_hbase__records_by_number(&b->c->names, w->kind, w->id)
                                           : sto_hbase__records_by_name(&b->c->names, w->kind, w->name);
    if (r)
        b->c->series.generation++;
    sto_hbase__records_forget(&b->c->names, r, d);
}

/* Items of one kind that are read. */
struct reading {
    struct sto_hbase__batch *b;
    enum sto_remote_kind kind;
    const uint32_t *items; /* positions */
};

static int row_of_name(void *arg, size_t i, struct ts_buf *key)
{
    const struct reading *q = arg;
    return sto_hbase_name_encode(q->b->list[q->items[i]].name, key);
}

/* What is wrong comes last, since a long name may cut the text. */
static int damaged(const struct sto_hbase__batch *b, const struct sto_hbase__want *w, struct ts_error *err)
{
    static const char *const kinds[] = {"metric", "tag key", "tag value"};
    struct ts_error why = err ? *err : (struct ts_error){0};
    return ts_error_set(err, TS_EBACKEND,
                        "the entry of the %s \"%.*s\" in table %s is damaged; run tsd uid fsck --hbase (%s)",
                        kinds[w->kind], TS_SHOWN(w->name, SHOWN_BYTES), b->c->table, why.text);
}

static int got_id(void *arg, size_t i, struct ts_slice value, struct ts_error *err)
{
    const struct reading *q = arg;
    struct sto_hbase__want *w = &q->b->list[q->items[i]];
    w->state = value.p ? STO_HBASE__KNOWN : STO_HBASE__ABSENT;
    if (value.p && sto_hbase_uid_parse(&q->b->c->schema, q->kind, value, &w->id, err) < 0) {
        w->state = STO_HBASE__DAMAGED;
        return q->b->spares ? 0 : damaged(q->b, w, err);
    }
    w->seen_ms = q->b->now_ms;
    return 0;
}

static int row_of_id(void *arg, size_t i, struct ts_buf *key)
{
    const struct reading *q = arg;
    uint8_t id[STO_HBASE_MAX_WIDTH];
    int n = sto_hbase_uid_make(&q->b->c->schema, q->kind, q->b->list[q->items[i]].id, id, NULL);
    return n < 0 ? n : ts_buf_append(key, id, (size_t)n);
}

static int got_name(void *arg, size_t i, struct ts_slice value, struct ts_error *err)
{
    const struct reading *q = arg;
    struct sto_hbase__want *w = &q->b->list[q->items[i]];
    struct ts_buf *names = q->b->names;
    w->state = value.n ? STO_HBASE__KNOWN : STO_HBASE__ABSENT;
    w->off = names->n;
    if (sto_hbase_name_decode(value, names) < 0)
        return ts_error_set(err, TS_ELIMIT, "there is no memory for the names of ids in HBase");
    w->name.n = names->n - w->off;
    return 0;
}

/* Look up the UNREAD ones of a kind, whose positions are in items. */
static int read_kind(struct sto_hbase__batch *b, enum sto_remote_kind kind, const uint32_t *items, size_t n,
                     struct ts_error *err)
{
    struct reading q = {.b = b, .kind = kind, .items = items};
    enum sto_hbase__direction d = b->names ? STO_HBASE__BY_NUMBER : STO_HBASE__BY_NAME;
    if (b->names)
        TS_TRY(sto_hbase__ids_read(&b->io, STO_HBASE_UID_REVERSE, kind, n, row_of_id, got_name, &q, err));
    else
        TS_TRY(sto_hbase__ids_read(&b->io, STO_HBASE_UID_FORWARD, kind, n, row_of_name, got_id, &q, err));
    pthread_mutex_lock(&b->c->mu);
    for (size_t i = 0; i < n; i++) {
        const struct sto_hbase__want *w = &b->list[items[i]];
        if (w->state == STO_HBASE__KNOWN)
            sto_hbase__batch_remember(b, w, d);
        else
            forget(b, w, d);
    }
    pthread_mutex_unlock(&b->c->mu);
    return 0;
}

int sto_hbase__batch_read(struct sto_hbase__batch *b, struct ts_error *err)
{
    size_t n_bytes = b->n * sizeof(uint32_t);
    uint32_t *items = ts_budget_alloc(b->c->memory, n_bytes + 1, err);
    int rc = items ? 0 : TS_ELIMIT;
    for (unsigned kind = 0; rc == 0 && kind < STO_HBASE__N_KINDS; kind++) {
        size_t n = 0;
        for (size_t i = 0; i < b->n; i++)
            if (b->list[i].kind == kind && b->list[i].state == STO_HBASE__UNREAD)
                items[n++] = (uint32_t)i;
        if (n)
            rc = read_kind(b, (enum sto_remote_kind)kind, items, n, err);
    }
    ts_budget_free(b->c->memory, items, items ? n_bytes + 1 : 0);
    return rc;
}
