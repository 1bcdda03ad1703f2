/*
 * ids_rename.c - suggests and renames names of tsdb-uid.
 *
 * A rename makes the three changes that OpenTSDB makes (reverse mapping, new forward mapping, delete the old forward mapping), but the new forward mapping
 * first, and each by compare-and-set:
 *
 *   (1) new name -> id, if the new name has no id     another writer may be giving an id to that name: one of them wins, and nothing has changed
 *   (2) id -> new name, if it is as it was read       of two renames of one name one wins; the other one takes back its step 1, or does not begin
 *   (3) delete old name -> id, if it is still the id  another writer may have given the old name another id meanwhile
 *
 * Whatever ends it, each name that has an id has one that is shown by a name, and a repeat continues: a new name that has the id already is no error.
 */
#include "storage/hbase/remote/ids_int.h"

#include "base/text.h"
#include "storage/hbase/bigendian.h"
#include "storage/hbase/limits.h"

#define SUGGEST_ROWS 256 /* of a page */
#define SHOWN_BYTES  80  /* of a name in a text */

/* --- suggestions --- */

/* The first row after all that begin with prefix; empty: there is none. */
static struct ts_slice row_after(struct ts_slice prefix, struct ts_buf *out)
{
    while (prefix.n && (uint8_t)prefix.p[prefix.n - 1] == 0xff)
        prefix.n--;
    ts_buf_clear(out);
    if (prefix.n && ts_buf_slice(out, prefix) == 0)
        out->p[out->n - 1]++;
    return ts_buf_get(out);
}

/* A walk over names. */
struct suggesting {
    struct sto_hbase__ids_io *io;
    struct ts_buf start, stop, name;
    size_t left; /* names that may be reported */
    bool (*each)(void *arg, struct ts_slice name);
    void *arg;
};

/* Report a page. 1: there may be more; 0: that is all. */
static int report_page(struct suggesting *w, const struct sto_thrift_reply *reply, size_t n_asked,
                       struct ts_error *err)
{
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    size_t n = 0;
    int rc;
    sto_thrift_items_init(&it, reply);
    while ((rc = sto_thrift_row(&it, &row, err)) > 0) {
        n++;
        ts_buf_clear(&w->start); /* the next page begins after this row */
        ts_buf_clear(&w->name);
        (void)ts_buf_slice(&w->start, row.row);
        if (ts_buf_char(&w->start, 0) < 0 || sto_hbase_name_decode(row.row, &w->name) < 0)
            return ts_error_set(err, TS_ELIMIT, "there is no memory for names of HBase");
        if (ts_slice_eq(row.row, STO_HBASE_UID_COUNTERS))
            continue;
        if (w->left == 0 || !w->each(w->arg, ts_buf_get(&w->name)))
            return 0;
        w->left--;
    }
    return rc < 0 ? sto_hbase_error(rc, err) : n == n_asked && w->left > 0;
}

static int suggest(struct suggesting *w, enum sto_remote_kind kind, struct ts_error *err)
{
    struct sto_hbase__ids_io *io = w->io;
    struct sto_thrift_column column = {.family = STO_HBASE_UID_FORWARD,
                                       .qualifier = sto_hbase_uid_qualifier(kind)};
    int rc = w->left > 0;
    while (rc > 0) {
        struct sto_thrift_reply reply;
        int32_t n = w->left < SUGGEST_ROWS ? (int32_t)w->left + 1 : SUGGEST_ROWS;
        struct sto_thrift_scan scan = {.start = ts_buf_get(&w->start),
                                       .stop = ts_buf_get(&w->stop),
                                       .select = {.columns = &column, .n_columns = 1},
                                       .caching = n,
                                       .limit_rows = n};
        if (sto_thrift_call_get_scanner_results(&io->r, io->table, &scan, n) < 0)
            return ts_error_set(err, TS_ELIMIT, "there is no memory for a request to HBase");
        TS_TRY(sto_hbase_call(io->s, &io->r, &reply, NULL, err));
        rc = report_page(w, &reply, (size_t)n, err);
    }
    return rc;
}

int sto_hbase_ids_suggest(struct sto_hbase_id_cache *c, struct sto_hbase_session *s,
                          enum sto_remote_kind kind, struct ts_slice prefix, size_t max,
                          bool (*each)(void *arg, struct ts_slice name), void *arg, struct ts_error *err)
{
    struct sto_hbase__ids_io io;
    struct suggesting w = {.io = &io, .left = max, .each = each, .arg = arg};
    sto_hbase__ids_io_init(&io, c, s);
    int rc = sto_hbase_name_encode(prefix, &w.start);
    if (rc == 0) {
        (void)row_after(ts_buf_get(&w.start), &w.stop);
        rc = suggest(&w, kind, err);
    } else if (rc == TS_EINVAL) {
        rc = 0; /* no name of HBase has such characters */
    } else {
        rc = ts_error_set(err, TS_ELIMIT, "there is no memory for a name");
    }
    ts_buf_release(&w.start);
    ts_buf_release(&w.stop);
    ts_buf_release(&w.name);
    sto_hbase__ids_io_release(&io);
    return rc;
}

/* --- renames --- */

/* A rename. */
struct renaming {
    struct sto_hbase__ids_io io;
    enum sto_remote_kind kind;
    struct ts_slice from_utf8, to_utf8;
    struct ts_buf from, to, reverse; /* names as they stand in the table; of the id before the rename */
    bool has_reverse;                /* the id has a name */
    uint64_t id, to_id;              /* 0: the name has none */
    uint8_t id_bytes[STO_HBASE_MAX_WIDTH];
    struct ts_slice id_row; /* id_bytes */
};

static int row_of_names(void *arg, size_t i, struct ts_buf *key)
{
    const struct renaming *x = arg;
    return ts_buf_slice(key, ts_buf_get(i ? &x->to : &x->from));
}

static int got_ids(void *arg, size_t i, struct ts_slice value, struct ts_error *err)
{
    struct renaming *x = arg;
    uint64_t *id = i ? &x->to_id : &x->id;
    *id = 0;
    return value.p ? sto_hbase_error(sto_hbase_uid_parse(&x->io.c->schema, x->kind, value, id, err), err) : 0;
}

/* A cell to be changed: its row, and the value it has now. */
struct cell {
    struct ts_slice row;
    struct ts_buf value;
    bool exists;
};

static int row_of_cell(void *arg, size_t i, struct ts_buf *key)
{
    const struct cell *cell = arg;
    (void)i;
    return ts_buf_slice(key, cell->row);
}

static int got_cell(void *arg, size_t i, struct ts_slice value, struct ts_error *err)
{
    struct cell *cell = arg;
    (void)i;
    cell->exists = value.p != NULL;
    ts_buf_clear(&cell->value);
    return ts_buf_slice(&cell->value, value) < 0
               ? ts_error_set(err, TS_ELIMIT, "there is no memory for a name of HBase")
               : 0;
}

/* Is the value of a cell this one (p NULL: does it not exist)? 1; 0; or an error. */
static int has_value(struct renaming *x, struct ts_slice family, struct ts_slice row, struct ts_slice value,
                     struct ts_error *err)
{
    struct cell cell = {.row = row};
    int rc = sto_hbase__ids_read(&x->io, family, x->kind, 1, row_of_cell, got_cell, &cell, err);
    if (rc == 0)
        rc = value.p ? cell.exists && ts_slice_eq(value, ts_buf_get(&cell.value)) : !cell.exists;
    ts_buf_release(&cell.value);
    return rc;
}

/* Change a cell from one value to another (p NULL: it does not exist) by compare-and-set. 1: it has the new value; 0: another one; or an error. */
static int change(struct renaming *x, struct ts_slice family, struct ts_slice row, struct ts_slice from,
                  struct ts_slice to, struct ts_error *err)
{
    struct sto_hbase__ids_io *io = &x->io;
    struct sto_thrift_cell cell = {
        .family = family, .qualifier = sto_hbase_uid_qualifier(x->kind), .value = to};
    struct sto_thrift_column column = {.family = family, .qualifier = cell.qualifier};
    struct sto_thrift_check check = {.row = row,
                                     .family = family,
                                     .qualifier = cell.qualifier,
                                     .compare = STO_THRIFT_EQUAL,
                                     .value = from};
    struct sto_thrift_delete del = {
        .row = row, .columns = &column, .n_columns = 1, .type = STO_THRIFT_DELETE_COLUMNS};
    struct sto_thrift_put put = {.row = row, .cells = &cell, .n_cells = 1};
    for (unsigned attempt = 1;; attempt++) {
        struct sto_thrift_reply reply = {0};
        enum sto_thrift_sent sent = STO_THRIFT_NOT_SENT;
        int rc = to.p ? sto_thrift_call_check_and_put(&io->r, io->table, &check, &put)
                      : sto_thrift_call_check_and_mutate(&io->r, io->table, &check,
                                                         &(struct sto_thrift_mutation){.delete = &del}, 1);
        if (rc < 0)
            return ts_error_set(err, TS_ELIMIT, "there is no memory for a request to HBase");
        rc = sto_hbase_call(io->s, &io->r, &reply, &sent, err);
        if (rc == 0 && sto_thrift_reply_bool(&reply))
            return 1;
        if (rc == 0) /* perhaps an attempt before, whose reply was lost, has changed it */
            return has_value(x, family, row, to, err);
        bool ends = sent == STO_THRIFT_ANSWERED ? sto_hbase_is_final(&reply) : sent == STO_THRIFT_NOT_SENT;
        if (ends || rc == TS_ECANCELLED || rc == TS_ELIMIT || sto_hbase_pause(io->s, attempt, NULL) < 0)
            return rc;
    }
}

static int in_use(const struct renaming *x, struct ts_error *err)
{
    return ts_error_set(err, TS_EEXIST, "the name \"%.*s\" is in use in table %s",
                        TS_SHOWN(x->to_utf8, SHOWN_BYTES), x->io.c->table);
}

/* What both names and the id stand for now. */
static int read_names(struct renaming *x, struct ts_error *err)
{
    struct cell cell = {0};
    TS_TRY(sto_hbase__ids_read(&x->io, STO_HBASE_UID_FORWARD, x->kind, 2, row_of_names, got_ids, x, err));
    if (x->id == 0)
        return ts_error_set(err, TS_ENOTFOUND, "the name \"%.*s\" does not exist in table %s",
                            TS_SHOWN(x->from_utf8, SHOWN_BYTES), x->io.c->table);
    if ((x->to_id && x->to_id != x->id) || ts_slice_eq(x->from_utf8, x->to_utf8))
        return in_use(x, err);
    int n = sto_hbase_uid_make(&x->io.c->schema, x->kind, x->id, x->id_bytes, err);
    TS_TRY(n);
    x->id_row = cell.row = (struct ts_slice){(const char *)x->id_bytes, (size_t)n};
    int rc =
        sto_hbase__ids_read(&x->io, STO_HBASE_UID_REVERSE, x->kind, 1, row_of_cell, got_cell, &cell, err);
    x->reverse = cell.value;
    x->has_reverse = cell.exists;
    TS_TRY(rc);
    struct ts_slice shown = ts_buf_get(&x->reverse);
    if (!x->has_reverse || ts_slice_eq(shown, ts_buf_get(&x->from)) || ts_slice_eq(shown, ts_buf_get(&x->to)))
        return 0;
    /* It is shown by a third name. If that has the id too, another rename is between its steps 2 and 3. */
    rc = has_value(x, STO_HBASE_UID_FORWARD, shown, x->id_row, err);
    return rc <= 0
               ? rc
               : ts_error_set(err, TS_EEXIST,
                              "another rename of \"%.*s\" in table %s has not ended: repeat that one first",
                              TS_SHOWN(x->from_utf8, SHOWN_BYTES), x->io.c->table);
}

static int rename_steps(struct renaming *x, struct ts_error *err)
{
    const struct ts_slice none = {NULL, 0};
    struct ts_slice from = ts_buf_get(&x->from), to = ts_buf_get(&x->to);
    TS_TRY(read_names(x, err));
    int rc = x->to_id ? 1 : change(x, STO_HBASE_UID_FORWARD, to, none, x->id_row, err);
    TS_TRY(rc);
    if (rc == 0)
        return in_use(x, err);
    struct ts_slice reverse = x->has_reverse ? ts_buf_get(&x->reverse) : none;
    rc = ts_slice_eq(reverse, to) ? 1 : change(x, STO_HBASE_UID_REVERSE, x->id_row, reverse, to, err);
    TS_TRY(rc);
    if (rc == 0) {
        TS_TRY(change(x, STO_HBASE_UID_FORWARD, to, x->id_row, none, err));
        return ts_error_set(err, TS_ENOTFOUND,
                            "the name \"%.*s\" was renamed in table %s by another writer at the same time",
                            TS_SHOWN(x->from_utf8, SHOWN_BYTES), x->io.c->table);
    }
    rc = change(x, STO_HBASE_UID_FORWARD, from, x->id_row, none, err);
    return rc < 0 ? rc : 0;
}

/* What the cache says of both names and the id may be wrong now. */
static void follow(const struct renaming *x, bool is_done)
{
    struct sto_hbase_id_cache *c = x->io.c;
    uint8_t kind = (uint8_t)x->kind;
    pthread_mutex_lock(&c->mu);
    struct sto_hbase__records *t = &c->names;
    sto_hbase__records_forget(t, sto_hbase__records_by_name(t, kind, x->from_utf8), STO_HBASE__BY_NAME);
    sto_hbase__records_forget(t, sto_hbase__records_by_name(t, kind, x->to_utf8), STO_HBASE__BY_NAME);
    sto_hbase__records_forget(t, sto_hbase__records_by_number(t, kind, x->id), STO_HBASE__BY_NUMBER);
    if (is_done) {
        (void)sto_hbase__records_put(t, STO_HBASE__BY_NAME, kind, x->to_utf8, x->id, c->now_ms());
        (void)sto_hbase__records_put(t, STO_HBASE__BY_NUMBER, kind, x->to_utf8, x->id, c->now_ms());
    }
    c->series.generation++;
    pthread_mutex_unlock(&c->mu);
}

int sto_hbase_ids_rename(struct sto_hbase_id_cache *c, struct sto_hbase_session *s, enum sto_remote_kind kind,
                         struct ts_slice from, struct ts_slice to, struct ts_error *err)
{
    if (sto_hbase_check_name(kind, from, err) < 0) {
        if (err)
            err->code = TS_ENOTFOUND;
        return TS_ENOTFOUND;
    }
    TS_TRY(sto_hbase_check_name(kind, to, err));
    struct renaming x = {.kind = kind, .from_utf8 = from, .to_utf8 = to};
    sto_hbase__ids_io_init(&x.io, c, s);
    int rc = 0;
    if (sto_hbase_name_encode(from, &x.from) < 0 || sto_hbase_name_encode(to, &x.to) < 0)
        rc = ts_error_set(err, TS_ELIMIT, "there is no memory for names of HBase");
    else
        rc = rename_steps(&x, err);
    if (x.id)
        follow(&x, rc == 0);
    ts_buf_release(&x.from);
    ts_buf_release(&x.to);
    ts_buf_release(&x.reverse);
    sto_hbase__ids_io_release(&x.io);
    return rc;
}
