/*
 * cells.c - small cells in OpenTSDB's tables: annotations, metadata of names and series; trees are in cells_tree.c.
 *
 * A change reads the cell, compares its document with the expected one, and sends a compare-and-set with the bytes that were
 * read. When it is not known what became of a request, the cell is read again: the document that was to be
 * written means success.
 */
#include "storage/hbase/remote/cells_int.h"
#include "storage/hbase/remote/ship_int.h"

#include "base/time.h"

#include <poll.h>

#define REQUEST_BYTES ((size_t)4 << 20)

/* One call. */
struct cell_call {
    struct sto_hbase *h;
    struct sto_hbase_session s;
    struct sto_hbase__place place;
    struct sto_thrift_request r;
    struct ts_buf raw, document; /* as it was read; as OpenTSDB would write it */
    bool exists;
    size_t at;     /* qualifier of place that it was read from */
    int64_t ts_ms; /* its timestamp */
};

static int begin(struct cell_call *c, struct sto_remote *r, const struct sto_remote_call *call,
                 struct ts_error *err)
{
    *c = (struct cell_call){.h = sto_hbase_of(r)};
    TS_TRY(sto_hbase_begin(c->h->access, call, &c->s, err));
    struct ts_budget *memory = call ? call->memory : NULL;
    sto_thrift_request_init(&c->r, REQUEST_BYTES, memory);
    ts_buf_init(&c->raw, 0);
    ts_buf_init(&c->document, 0);
    c->raw.budget = c->document.budget = memory;
    return 0;
}

static void end(struct cell_call *c)
{
    sto_hbase_end(&c->s);
    sto_thrift_request_release(&c->r);
    ts_buf_release(&c->raw);
    ts_buf_release(&c->document);
}

static struct ts_slice row_of(const struct cell_call *c)
{
    return (struct ts_slice){(const char *)c->place.row, c->place.n_row};
}

static int no_memory(struct ts_error *err)
{
    return ts_error_set(err, TS_ELIMIT, "there is no memory for a cell of HBase");
}

/* --- reading --- */

static int damaged(const struct cell_call *c, const struct ts_error *why, struct ts_error *err)
{
    char hex[2 * STO_HBASE_MAX_KEY_BYTES];
    sto_hbase_hex_print(row_of(c), hex);
    return ts_error_set(err, TS_EBACKEND, "the row %.*s of table %s: %s", (int)(2 * c->place.n_row), hex,
                        c->place.table, why->text);
}

/* Keep the cell if it is one of the place. */
static int keep(struct cell_call *c, const struct sto_thrift_cell *cell, struct ts_error *err)
{
    for (size_t i = 0; i < c->place.n_qualifiers && !c->exists; i++) {
        if (!ts_slice_eq(cell->qualifier, c->place.qualifier[i]))
            continue;
        c->exists = true;
        c->at = i;
        c->ts_ms = cell->ts_ms;
        if (cell->value.n && ts_buf_slice(&c->raw, cell->value) < 0)
            return no_memory(err);
    }
    return 0;
}

/* Read the cell. */
static int read_cell(struct cell_call *c, struct ts_error *err)
{
    struct sto_thrift_column columns[2];
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    struct ts_error why = {0};
    c->exists = false;
    ts_buf_clear(&c->raw);
    ts_buf_clear(&c->document);
    for (size_t i = 0; i < c->place.n_qualifiers; i++)
        columns[i] =
            (struct sto_thrift_column){.family = c->place.family, .qualifier = c->place.qualifier[i]};
    struct sto_thrift_get get = {.row = row_of(c),
                                 .select = {.columns = columns, .n_columns = c->place.n_qualifiers}};
    if (sto_thrift_call_get(&c->r, ts_slice_str(c->place.table), &get) < 0)
        return no_memory(err);
    TS_TRY(sto_hbase_call(&c->s, &c->r, &reply, NULL, err));
    sto_thrift_items_init(&it, &reply);
    int rc = sto_thrift_row(&it, &row, err);
    while (rc == 1 && (rc = sto_thrift_row_next(&row, &cell, err)) == 1)
        TS_TRY(keep(c, &cell, err));
    TS_TRY(sto_hbase_error(rc, err));
    if (!c->exists)
        return 0;
    rc = sto_hbase__document_again(&c->place, ts_buf_get(&c->raw), &c->document, &why);
    if (rc == TS_ELIMIT)
        return ts_error_set(err, rc, "%s", why.text);
    return rc < 0 ? damaged(c, &why, err) : 0;
}

/* Is it the key of a tree? */
static bool is_tree(struct ts_slice key, struct sto_remote_cell *out)
{
    struct sto_remote_tag tags[STO_REMOTE_CELL_MAX_TAGS];
    return sto_remote_cell_parse(key, tags, out) == 0 && out->kind == STO_REMOTE_TREE;
}

int sto_hbase__cell_get(struct sto_remote *r, struct ts_slice key, const struct sto_remote_call *call,
                        struct ts_buf *out, struct ts_error *err)
{
    struct cell_call c;
    struct sto_remote_cell cell;
    if (is_tree(key, &cell))
        return sto_hbase__tree_get(sto_hbase_of(r), cell.tree, call, out, err);
    TS_TRY(begin(&c, r, call, err));
    int rc = sto_hbase__place_of(c.h, &c.s, key, STO_REMOTE_FIND, &c.place, err);
    if (rc == 0)
        rc = read_cell(&c, err);
    if (rc == 0 && !c.exists)
        rc = ts_error_set(err, TS_ENOTFOUND, "table %s has no such cell", c.place.table);
    if (rc == 0)
        rc = sto_hbase_error(sto_hbase__record_of_document(c.place.fields, ts_buf_get(&c.document), out, err),
                             err);
    end(&c);
    return rc;
}

/* --- changing --- */

/* The request that changes the cell from what was read to a document (empty: deletes it). */
static int make_change(struct cell_call *c, struct ts_slice record, struct ts_slice document)
{
    struct ts_slice table = ts_slice_str(c->place.table);
    int at = c->exists ? (int)c->at : sto_hbase__place_for(&c->place, record);
    TS_TRY(at);
    struct sto_thrift_check check = {.row = row_of(c),
                                     .family = c->place.family,
                                     .qualifier = c->place.qualifier[at],
                                     .compare = STO_THRIFT_EQUAL};
    if (c->exists)
        check.value = ts_buf_get(&c->raw);
    if (c->exists && !check.value.p)
        check.value.p = "";
    struct sto_thrift_cell cell = {.family = check.family, .qualifier = check.qualifier, .value = document};
    struct sto_thrift_column column = {
        .family = check.family, .qualifier = check.qualifier, .ts_ms = c->ts_ms, .has_ts = true};
    struct sto_thrift_put put = {.row = check.row, .cells = &cell, .n_cells = 1};
    struct sto_thrift_delete del = {
        .row = check.row, .columns = &column, .n_columns = 1, .type = STO_THRIFT_DELETE_COLUMNS};
    return document.n ? sto_thrift_call_check_and_put(&c->r, table, &check, &put)
                      : sto_thrift_call_check_and_mutate(&c->r, table, &check,
                                                         &(struct sto_thrift_mutation){.delete = &del}, 1);
}

void sto_hbase__wait_for_clock(int64_t ts_ms)
{
    int64_t ms = ts_ms + 2 - ts_clock_ms();
    if (ms > 0 && ms < 100)
        (void)poll(NULL, 0, (int)ms);
}

int sto_hbase__send_change(struct sto_hbase_session *s, const struct sto_thrift_request *r, unsigned attempt,
                           struct ts_error *err)
{
    struct sto_thrift_reply reply = {0};
    enum sto_thrift_sent sent = STO_THRIFT_NOT_SENT;
    int rc = sto_hbase_call(s, r, &reply, &sent, err);
    if (rc == 0)
        return sto_thrift_reply_bool(&reply);
    bool ends = sent == STO_THRIFT_ANSWERED ? sto_hbase_is_final(&reply) : sent == STO_THRIFT_NOT_SENT;
    if (ends || rc == TS_ECANCELLED || rc == TS_ELIMIT || sto_hbase_pause(s, attempt, NULL) < 0)
        return rc;
    return 0;
}

static int swap(struct cell_call *c, struct ts_slice expected, struct ts_slice record,
                struct ts_slice document, struct ts_error *err)
{
    for (unsigned attempt = 1;; attempt++) {
        struct ts_slice present;
        TS_TRY(read_cell(c, err));
        present = ts_buf_get(&c->document);
        if (attempt > 1 && ts_slice_eq(present, document))
            return 0; /* the attempt before, whose reply was lost, has made the change */
        if (!ts_slice_eq(present, expected))
            return ts_error_set(err, TS_EEXIST, "the cell has another value");
        if (ts_slice_eq(present, document))
            return 0;
        if (make_change(c, record, document) < 0)
            return no_memory(err);
        int rc = sto_hbase__send_change(&c->s, &c->r, attempt, err);
        if (rc == 1 && !document.n)
            sto_hbase__wait_for_clock(c->ts_ms);
        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
}

int sto_hbase__cell_cas(struct sto_remote *r, struct ts_slice key, struct ts_slice expected,
                        struct ts_slice value, const struct sto_remote_call *call, struct ts_error *err)
{
    struct cell_call c;
    struct ts_buf before, after;
    struct sto_remote_cell cell;
    if (is_tree(key, &cell))
        return sto_hbase__tree_cas(sto_hbase_of(r), cell.tree, expected, value, call, err);
    TS_TRY(begin(&c, r, call, err));
    ts_buf_init(&before, 0);
    ts_buf_init(&after, 0);
    before.budget = after.budget = c.raw.budget;
    int rc = sto_hbase__place_of(c.h, &c.s, key, value.n ? STO_REMOTE_MAKE : STO_REMOTE_FIND, &c.place, err);
    bool absent = rc == TS_ENOTFOUND; /* what has no id has no cell */
    if (absent)
        rc = expected.n ? ts_error_set(err, TS_EEXIST, "the cell does not exist") : 0;
    if (rc == 0 && !absent && expected.n)
        rc = sto_hbase__document_of_record(&c.place, expected, &before, err);
    if (rc == 0 && !absent && value.n)
        rc = sto_hbase__document_of_record(&c.place, value, &after, err);
    if (rc == 0 && !absent)
        rc = swap(&c, ts_buf_get(&before), value, ts_buf_get(&after), err);
    ts_buf_release(&before);
    ts_buf_release(&after);
    end(&c);
    return rc;
}
