/*
 * check_ids.c - the table of ids: every mapping has its counterpart, and counters are above all ids.
 *
 * The table is read in pages; the counterparts of a page are looked up together, so that memory does not grow with the table. What does not fit is
 * read again by itself, and repaired by compare-and-set. A mapping that was written just now is left out: its counterpart may be on its way.
 *
 * Repairs differ from OpenTSDB's in two places. An id whose name has no id is given back to the name instead of being deleted: its points stay
 * readable, and a writer that assigns the name at the same time finds it. Where two names have one id, the one that the id shows keeps it, with all points; the
 * others lose it, and get an id of their own when they are written again. OpenTSDB makes one name of all of them, "fsck.A.B". Names are repaired before
 * ids, in a walk of their own: an id that shows a name without an id belongs to the name that has it, if there is one.
 *
 * Not here   deleting and renaming names (check_name.c, ids_rename.c)
 */
#include "storage/hbase/remote/check_int.h"

#include "base/text.h"
#include "storage/hbase/bigendian.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/rowkey.h"
#include "storage/hbase/uidtable.h"

#include <string.h>

#define N_KINDS        (STO_REMOTE_TAGV + 1)
#define COUNTER_ROUNDS 5
#define RANDOM_FACTOR  16 /* ids so much larger than their number were not counted up */
#define SHOWN_BYTES    60 /* of a name, or of an id, in a text */

/* A mapping of a page; slices point into the page. */
struct mapping {
    enum sto_remote_kind kind;
    bool forward;               /* name to id; otherwise id to name */
    bool fits;                  /* its counterpart says the same */
    struct ts_slice row, value; /* as they stand in the table */
    int64_t ts_ms;
};
struct ids {
    struct sto_hbase__checker *c;
    struct mapping *list;
    size_t n, cap;
    uint64_t max_id[N_KINDS], n_ids[N_KINDS];
    struct ts_buf value;  /* of a cell */
    struct ts_slice last; /* row of the page */
    bool in_two;          /* names are judged and repaired first, then ids */
    bool second;          /* the second time: ids alone, and what was said the first time is not said again */
};

static const char *table_of(const struct ids *x)
{
    return x->c->x->h->opts.tables.uid;
}

static bool fixes(const struct ids *x, unsigned bit)
{
    return x->c->x->opts->fixes & bit;
}

static bool is_settled(const struct ids *x, int64_t ts_ms)
{
    return ts_ms <= sto_hbase__check_now_ms(x->c->x) - STO_HBASE_SETTLED_MS;
}

static void count(struct ids *x, uint64_t *counter)
{
    pthread_mutex_lock(&x->c->x->mu);
    ++*counter;
    pthread_mutex_unlock(&x->c->x->mu);
}

#define FOUND(X, FAULT, M, ...)                                                                              \
    sto_hbase__found((X)->c->x, FAULT, table_of(X), (M)->row, sto_hbase_uid_qualifier((M)->kind), __VA_ARGS__)

/* The bytes of a name, or of an id, for a text. */
struct shown {
    char text[2 * SHOWN_BYTES + sizeof "..."];
};

/* A name in UTF-8, whose control characters would break lines. */
static struct shown name_of(struct ts_slice bytes)
{
    struct shown s = {""};
    char *p = s.text;
    for (size_t i = 0; i < bytes.n && i < SHOWN_BYTES; i++) {
        uint8_t c = (uint8_t)bytes.p[i];
        bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
        if (c >= 0xa0)
            *p++ = (char)(0xc0 | c >> 6);
        *p++ = is_control ? '?' : c < 0x80 ? (char)c : (char)(0x80 | (c & 0x3f));
    }
    memcpy(p, bytes.n > SHOWN_BYTES ? "..." : "", bytes.n > SHOWN_BYTES ? 4 : 1);
    return s;
}

/* An id in hexadecimal digits. */
static struct shown id_of(struct ts_slice bytes)
{
    struct shown s = {""};
    size_t n = bytes.n < SHOWN_BYTES ? bytes.n : SHOWN_BYTES;
    sto_hbase_hex_print((struct ts_slice){bytes.p, n}, s.text);
    memcpy(s.text + 2 * n, n < bytes.n ? "..." : "", n < bytes.n ? 4 : 1);
    return s;
}

/* The result of a repair. */
static int repaired(struct ids *x, enum sto_hbase_fault fault, int rc)
{
    if (rc > 0)
        count(x, &x->c->x->res->n_fixed[fault]);
    return rc < 0 ? rc : 0;
}

/* --- cells --- */

static struct sto_hbase__cell_id cell_of(const struct ids *x, enum sto_remote_kind kind, bool forward,
                                         struct ts_slice row)
{
    return (struct sto_hbase__cell_id){table_of(x), row,
                                       forward ? STO_HBASE_UID_FORWARD : STO_HBASE_UID_REVERSE,
                                       sto_hbase_uid_qualifier(kind)};
}

/* Read a mapping into x->value: 1; 0: there is none. */
static int read_cell(struct ids *x, const struct sto_hbase__cell_id *id, int64_t *out_ts_ms,
                     struct ts_error *err)
{
    ts_buf_clear(&x->value);
    return id->row.n ? sto_hbase__cell_read(&x->c->s, &x->c->request, id, &x->value, out_ts_ms, err) : 0;
}

static int change(struct ids *x, const struct sto_hbase__cell_id *id, struct ts_slice from,
                  struct ts_slice to, int64_t ts_ms, struct ts_error *err)
{
    return sto_hbase__cell_change(&x->c->s, &x->c->request, id, from, to, ts_ms, NULL, 0, err);
}

/* --- mappings that do not fit --- */

/* A name whose id has no name, or another one. */
static int judge_forward(struct ids *x, const struct mapping *m, struct ts_error *err)
{
    struct sto_hbase__cell_id self = cell_of(x, m->kind, true, m->row);
    struct sto_hbase__cell_id back = cell_of(x, m->kind, false, m->value), other;
    const struct ts_slice none = {NULL, 0};
    struct ts_buf name;
    int64_t ts_ms = 0;
    int rc = read_cell(x, &back, &ts_ms, err);
    TS_TRY(rc);
    if (rc && ts_slice_eq(ts_buf_get(&x->value), m->row))
        return 0;
    if (!is_settled(x, m->ts_ms) || (rc && !is_settled(x, ts_ms))) {
        count(x, &x->c->x->res->n_too_new);
        return 0;
    }
    if (rc == 0) {
        FOUND(x, STO_HBASE_NO_REVERSE, m, "The id %s of the name \"%s\" has no name.", id_of(m->value).text,
              name_of(m->row).text);
        return fixes(x, STO_HBASE_FIX)
                   ? repaired(x, STO_HBASE_NO_REVERSE, change(x, &back, none, m->row, 0, err))
                   : 0;
    }
    ts_buf_init(&name, 0);
    if (ts_buf_slice(&name, ts_buf_get(&x->value)) < 0)
        return sto_hbase__no_memory(err);
    other = cell_of(x, m->kind, true, ts_buf_get(&name));
    rc = read_cell(x, &other, NULL, err);
    if (rc > 0 && ts_slice_eq(ts_buf_get(&x->value), m->value)) {
        FOUND(x, STO_HBASE_SHARED_ID, m,
              "The names \"%s\" and \"%s\" have one id, %s, which shows the second one.",
              name_of(m->row).text, name_of(other.row).text, id_of(m->value).text);
        rc = fixes(x, STO_HBASE_FIX)
                 ? repaired(x, STO_HBASE_SHARED_ID, change(x, &self, m->value, none, m->ts_ms, err))
                 : 0;
    } else if (rc >= 0) {
        FOUND(x, STO_HBASE_OTHER_NAME, m, "The id %s of the name \"%s\" shows \"%s\", which %s.",
              id_of(m->value).text, name_of(m->row).text, name_of(other.row).text,
              rc ? "has another id" : "has no id");
        rc = fixes(x, STO_HBASE_FIX)
                 ? repaired(x, STO_HBASE_OTHER_NAME, change(x, &back, other.row, m->row, 0, err))
                 : 0;
    }
    ts_buf_release(&name);
    return rc;
}

/* An id whose name has no id, or bytes that are none (x->value, if is_damaged): it is given back to the name. */
static int judge_lost(struct ids *x, const struct mapping *m, bool is_damaged, struct ts_error *err)
{
    struct sto_hbase__cell_id there = cell_of(x, m->kind, true, m->value);
    struct ts_slice from = is_damaged ? ts_buf_get(&x->value) : (struct ts_slice){NULL, 0};
    if (is_damaged)
        FOUND(x, STO_HBASE_NO_FORWARD, m, "The name \"%s\" of the id %s has %s, which is no id.",
              name_of(m->value).text, id_of(m->row).text, id_of(from).text);
    else
        FOUND(x, STO_HBASE_NO_FORWARD, m, "The name \"%s\" of the id %s has no id.", name_of(m->value).text,
              id_of(m->row).text);
    if (!fixes(x, STO_HBASE_FIX) || !m->value.n)
        return 0;
    int rc = change(x, &there, from, m->row, 0, err);
    TS_TRY(repaired(x, STO_HBASE_NO_FORWARD, rc));
    /* the name was counted before if its row was read */
    return is_damaged && ts_slice_cmp(m->value, x->last) <= 0 ? repaired(x, STO_HBASE_UID_LENGTH, rc) : 0;
}

/* An id whose name has no id, or another one. */
static int judge_reverse(struct ids *x, const struct mapping *m, struct ts_error *err)
{
    struct sto_hbase__cell_id self = cell_of(x, m->kind, false, m->row);
    struct sto_hbase__cell_id there = cell_of(x, m->kind, true, m->value);
    const struct ts_slice none = {NULL, 0}, document = sto_hbase_uid_document(m->kind);
    const struct sto_hbase_schema *schema = &x->c->x->h->opts.schema;
    uint64_t number;
    int64_t ts_ms = 0;
    int rc = read_cell(x, &there, &ts_ms, err);
    TS_TRY(rc);
    if (rc && ts_slice_eq(ts_buf_get(&x->value), m->row))
        return 0;
    if (!is_settled(x, m->ts_ms) || (rc && !is_settled(x, ts_ms))) {
        count(x, &x->c->x->res->n_too_new);
        return 0;
    }
    bool is_damaged =
        rc > 0 && sto_hbase_uid_parse(schema, m->kind, ts_buf_get(&x->value), &number, NULL) < 0;
    if (rc == 0 || is_damaged)
        return judge_lost(x, m, is_damaged, err);
    FOUND(x, STO_HBASE_SECOND_ID, m, "The name \"%s\" of the id %s has another id, %s.",
          name_of(m->value).text, id_of(m->row).text, id_of(ts_buf_get(&x->value)).text);
    return fixes(x, STO_HBASE_FIX)
               ? repaired(x, STO_HBASE_SECOND_ID,
                          sto_hbase__cell_change(&x->c->s, &x->c->request, &self, m->value, none, m->ts_ms,
                                                 &document, 1, err))
               : 0;
}

/* --- a page --- */

static bool kind_of(struct ts_slice qualifier, enum sto_remote_kind *out)
{
    for (unsigned k = 0; k < N_KINDS; k++)
        if (ts_slice_eq(qualifier, sto_hbase_uid_qualifier((enum sto_remote_kind)k))) {
            *out = (enum sto_remote_kind)k;
            return true;
        }
    return false;
}

static bool is_document(const struct sto_thrift_cell *cell)
{
    for (unsigned k = 0; k < N_KINDS; k++)
        if (ts_slice_eq(cell->family, STO_HBASE_UID_REVERSE) &&
            ts_slice_eq(cell->qualifier, sto_hbase_uid_document((enum sto_remote_kind)k)))
            return true;
    return false;
}

static int add_cell(struct ids *x, struct ts_slice row, const struct sto_thrift_cell *cell,
                    struct ts_error *err)
{
    struct mapping m = {.row = row, .value = cell->value, .ts_ms = cell->ts_ms};
    m.forward = ts_slice_eq(cell->family, STO_HBASE_UID_FORWARD);
    if (is_document(cell) ||
        (m.forward && ts_slice_eq(row, STO_HBASE_UID_COUNTERS) && kind_of(cell->qualifier, &m.kind)))
        return 0;
    bool known = kind_of(cell->qualifier, &m.kind);
    if (x->second && (m.forward || !known))
        return 0;
    if (!known) {
        struct sto_hbase__cell_id id = {table_of(x), row, cell->family, cell->qualifier};
        sto_hbase__found(x->c->x, STO_HBASE_UID_COLUMN, table_of(x), row, cell->qualifier,
                         "No kind of name has the column \"%s\", which the row %s (\"%s\") has.",
                         name_of(cell->qualifier).text, id_of(row).text, name_of(row).text);
        if (!fixes(x, STO_HBASE_DELETE_UNKNOWN) || !is_settled(x, cell->ts_ms))
            return 0;
        return repaired(x, STO_HBASE_UID_COLUMN,
                        change(x, &id, cell->value, (struct ts_slice){NULL, 0}, cell->ts_ms, err));
    }
    uint64_t number;
    struct ts_error why = {0};
    if (sto_hbase_uid_parse(&x->c->x->h->opts.schema, m.kind, m.forward ? m.value : m.row, &number, &why) <
        0) {
        if (x->second)
            return 0;
        if (m.forward)
            FOUND(x, STO_HBASE_UID_LENGTH, &m, "What the name \"%s\" has is no id, %s: %s.",
                  name_of(m.row).text, id_of(m.value).text, why.text);
        else
            FOUND(x, STO_HBASE_UID_LENGTH, &m, "The row %s, which has the name \"%s\", is no id: %s.",
                  id_of(m.row).text, name_of(m.value).text, why.text);
        return 0;
    }
    x->max_id[m.kind] = number > x->max_id[m.kind] ? number : x->max_id[m.kind];
    x->n_ids[m.kind] += !m.forward && !x->second;
    if (m.forward)
        count(x, &x->c->x->res->n_names);
    if (x->in_two && m.forward == x->second)
        return 0;
    TS_TRY(ts_budget_grow(x->c->x->memory, &x->list, &x->cap, x->n + 1, sizeof *x->list, err));
    x->list[x->n++] = m;
    return 0;
}

/* Look up all counterparts of a page. */
static int look_up(struct ids *x, struct ts_error *err)
{
    struct sto_thrift_request *r = &x->c->request;
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    for (size_t i = 0, first = 0; i < x->n; first = i) {
        sto_thrift_batch_begin(r, STO_THRIFT_GET_MULTIPLE, ts_slice_str(table_of(x)));
        for (; i < x->n && i - first < STO_HBASE__PAGE_ROWS; i++) {
            const struct mapping *m = &x->list[i];
            struct sto_thrift_column column = {.family =
                                                   m->forward ? STO_HBASE_UID_REVERSE : STO_HBASE_UID_FORWARD,
                                               .qualifier = sto_hbase_uid_qualifier(m->kind)};
            /* a name of no bytes has no row: the id's own row has no such cell */
            sto_thrift_batch_get(r, &(struct sto_thrift_get){.row = m->value.n ? m->value : m->row,
                                                             .select = {.columns = &column, .n_columns = 1}});
        }
        if (sto_thrift_batch_end(r) < 0)
            return sto_hbase__no_memory(err);
        TS_TRY(sto_hbase_call(&x->c->s, r, &reply, NULL, err));
        sto_thrift_items_init(&it, &reply);
        for (size_t k = first; k < i; k++) {
            struct sto_thrift_row row;
            struct sto_thrift_cell cell;
            const struct mapping *m = &x->list[k];
            int rc = sto_hbase_asked_row(&it, m->value.n ? m->value : m->row, &row, err);
            if (rc == 0 && row.row.p)
                rc = sto_thrift_row_next(&row, &cell, err);
            TS_TRY(sto_hbase_error(rc < 0 ? rc : 0, err));
            x->list[k].fits = rc > 0 && ts_slice_eq(cell.value, x->list[k].row);
        }
    }
    return 0;
}

/* Check a page; returns how many rows it has. */
static int check_page(struct ids *x, const struct sto_thrift_reply *reply, struct ts_slice *out_last,
                      struct ts_error *err)
{
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    int rc, n = 0;
    x->n = 0;
    sto_thrift_items_init(&it, reply);
    while ((rc = sto_thrift_row(&it, &row, err)) == 1) {
        *out_last = row.row;
        n++;
        while ((rc = sto_thrift_row_next(&row, &cell, err)) == 1)
            TS_TRY(add_cell(x, row.row, &cell, err));
        TS_TRY(sto_hbase_error(rc, err));
    }
    TS_TRY(sto_hbase_error(rc, err));
    x->last = *out_last;
    TS_TRY(look_up(x, err));
    for (size_t i = 0; i < x->n; i++) {
        TS_TRY(sto_hbase__checker_wait(x->c, err));
        if (!x->list[i].fits)
            TS_TRY((x->list[i].forward ? judge_forward : judge_reverse)(x, &x->list[i], err));
    }
    return n;
}

static int check_table(struct ids *x, struct ts_error *err)
{
    struct sto_hbase__checker *c = x->c;
    struct sto_hbase__pages pages = {.table = table_of(x)};
    for (;;) {
        struct sto_thrift_reply reply;
        struct ts_slice last = {NULL, 0};
        int32_t asked = c->n_rows;
        int rc = sto_hbase__read_page(c, &pages, &reply, err);
        TS_TRY(rc);
        if (rc == 0)
            continue;
        int n = check_page(x, &reply, &last, err);
        TS_TRY(n);
        if (n < asked)
            return 0;
        TS_TRY(sto_hbase__next_page(c, last, n, err));
    }
}

/* --- counters --- */

/* The counter must be raised: 1, with the fault in *out_fault; 0: it is good. */
static int judge_counter(struct ids *x, enum sto_remote_kind kind, bool exists,
                         enum sto_hbase_fault *out_fault)
{
    uint64_t counter = 0;
    struct ts_error why = {0};
    struct mapping m = {.kind = kind, .row = STO_HBASE_UID_COUNTERS};
    *out_fault = STO_HBASE_N_FAULTS;
    if (exists && sto_hbase_counter_parse(ts_buf_get(&x->value), &counter, &why) < 0) {
        *out_fault = STO_HBASE_UID_COUNTER;
        FOUND(x, STO_HBASE_UID_COUNTER, &m, "It cannot be read: %s.", why.text);
        return 1;
    }
    if (counter >= x->max_id[kind])
        return 0;
    if (kind == STO_REMOTE_METRIC && x->max_id[kind] / RANDOM_FACTOR > x->n_ids[kind] + counter) {
        FOUND(x, STO_HBASE_RANDOM_IDS, &m,
              "The counter is %llu and the highest id %llu, so that ids seem to be assigned at random "
              "(tsd.core.uid.random_metrics): it is left as it is.",
              (unsigned long long)counter, (unsigned long long)x->max_id[kind]);
        return 0;
    }
    *out_fault = STO_HBASE_COUNTER_LOW;
    FOUND(x, STO_HBASE_COUNTER_LOW, &m, "The counter is %llu, but there is the id %llu.",
          (unsigned long long)counter, (unsigned long long)x->max_id[kind]);
    return 1;
}

static int check_counter(struct ids *x, enum sto_remote_kind kind, struct ts_error *err)
{
    struct sto_hbase__cell_id id = cell_of(x, kind, true, STO_HBASE_UID_COUNTERS);
    enum sto_hbase_fault fault;
    uint8_t bytes[8];
    struct ts_slice to = {(const char *)bytes, sizeof bytes};
    int exists = read_cell(x, &id, NULL, err);
    TS_TRY(exists);
    if (!judge_counter(x, kind, exists, &fault) || !fixes(x, STO_HBASE_FIX))
        return 0;
    sto_hbase_put(bytes, x->max_id[kind], sizeof bytes);
    for (unsigned round = 0; round < COUNTER_ROUNDS; round++) {
        struct ts_slice from = exists ? ts_buf_get(&x->value) : (struct ts_slice){NULL, 0};
        uint64_t now;
        int rc = change(x, &id, from, to, 0, err);
        if (rc != 0)
            return repaired(x, fault, rc);
        TS_TRY(exists = read_cell(x, &id, NULL, err));
        if (exists && sto_hbase_counter_parse(ts_buf_get(&x->value), &now, NULL) == 0 &&
            now >= x->max_id[kind])
            return repaired(x, fault, 1); /* another writer has */
    }
    return 0;
}

int sto_hbase_check_ids(struct sto_remote *r, const struct sto_hbase_check_opts *opts,
                        const struct sto_remote_call *call, struct sto_hbase_check_result *res,
                        struct ts_error *err)
{
    struct sto_hbase *h = sto_hbase_of(r);
    struct sto_hbase__check check = {.h = h, .opts = opts, .call = call, .res = res};
    struct ids x = {.c = ts_xmalloc(sizeof *x.c)};
    check.memory = call && call->memory ? call->memory : h->opts.access.memory;
    pthread_mutex_init(&check.mu, NULL);
    sto_hbase__checker_init(x.c, &check);
    ts_buf_init(&x.value, 0);
    int rc = sto_hbase__checker_begin(x.c, err);
    if (rc == 0) {
        x.in_two = opts->fixes & STO_HBASE_FIX;
        rc = check_table(&x, err);
        x.second = x.in_two;
        if (rc == 0 && x.second)
            rc = check_table(&x, err);
        for (unsigned k = 0; k < N_KINDS && rc == 0; k++)
            rc = check_counter(&x, (enum sto_remote_kind)k, err);
        sto_hbase_end(&x.c->s);
    }
    ts_budget_free(check.memory, x.list, x.cap * sizeof *x.list);
    ts_buf_release(&x.value);
    sto_hbase__checker_release(x.c);
    ts_free(x.c);
    pthread_mutex_destroy(&check.mu);
    return rc;
}
