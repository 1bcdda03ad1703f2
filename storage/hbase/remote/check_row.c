/*
 * check_row.c - one row of the data table: its key, its columns, several points of one time.
 */
#include "storage/hbase/remote/check_int.h"

#include "storage/hbase/annotation.h"
#include "storage/hbase/document.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/qualifier.h"
#include "storage/hbase/remote/change.h"

#include <jansson.h>
#include <string.h>

#define NO_COLUMN ((struct ts_slice){NULL, 0})

#define FOUND STO_HBASE__FOUND

/* --- the key --- */

static void check_key(struct sto_hbase__checker *c)
{
    const struct sto_hbase_schema *schema = &c->x->h->opts.schema;
    struct sto_hbase_rowkey key;
    struct ts_error why = {0};
    uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES];
    c->base_s = UINT32_MAX;
    if (sto_hbase_rowkey_parse(schema, c->key, &key, &why) < 0) {
        FOUND(c, STO_HBASE_BAD_KEY, NO_COLUMN, "No series has such a row: %s.", why.text);
        return;
    }
    c->base_s = key.base_s;
    size_t n = key.global ? 0 : sto_hbase_tsuid_make(schema, &key.ids, tsuid);
    uint32_t salt = sto_hbase_salt(schema, (struct ts_slice){(const char *)tsuid, n});
    bool misplaced = salt != key.salt;
    unsigned long long has = key.salt;
    key.salt = salt;
    if (sto_hbase_rowkey_check(schema, &key, &why) < 0)
        FOUND(c, STO_HBASE_BAD_KEY, NO_COLUMN, "No series has such a row: %s.", why.text);
    else if (misplaced)
        FOUND(c, STO_HBASE_WRONG_SALT, NO_COLUMN,
              "Its salt is %llu, but that of its series is %u, as if hbase_salt_buckets had been another "
              "number.",
              has, salt);
    else if (c->x->shape && key.base_s != sto_hbase_rollup_base(c->x->shape, key.base_s))
        FOUND(c, STO_HBASE_BAD_KEY, NO_COLUMN,
              "It begins at %u s, where no row of this span begins, as if rowSpan of rollups_config had been "
              "another one.",
              (unsigned)key.base_s);
    if (c->is_orphan)
        FOUND(c, STO_HBASE_ORPHAN, NO_COLUMN, "An id of its key has no name.");
}

/* --- columns --- */

static enum sto_hbase__cell_kind kind_of(struct ts_slice q)
{
    struct sto_hbase_qualifier first = {0};
    if (ts_slice_eq(q, STO_HBASE_APPENDS))
        return STO_HBASE__APPENDS;
    if (!sto_hbase_is_points(q))
        return STO_HBASE__OTHER;
    (void)sto_hbase_qualifier_parse((const uint8_t *)q.p, q.n, &first);
    return first.n == q.n ? STO_HBASE__SINGLE : STO_HBASE__COMPACTED;
}

/* Was a point of the cell that is being decoded read? */
static bool has_entries(const struct sto_hbase_columns *columns, size_t cell)
{
    return columns->n_entries && columns->entries[columns->n_entries - 1].cell == cell;
}

static void on_finding(void *arg, size_t cell, enum sto_hbase_finding finding, const char *text)
{
    struct sto_hbase__checker *c = arg;
    struct sto_hbase__cell_state *state = &c->states[cell];
    struct ts_slice q = c->cells[cell].qualifier;
    if (finding == STO_HBASE_UNKNOWN && (q.n == 3 || q.n == 5)) {
        FOUND(c, STO_HBASE_FUTURE_COLUMN, q, "%s", text);
    } else if (finding == STO_HBASE_UNKNOWN) {
        state->unknown = true;
        FOUND(c, STO_HBASE_UNKNOWN_COLUMN, q, "%s", text);
    } else if (finding == STO_HBASE_IRREGULAR) {
        bool single = state->kind == STO_HBASE__SINGLE;
        state->irregular = true;
        FOUND(c, single ? STO_HBASE_OLD_ENCODING : STO_HBASE_IRREGULAR_COLUMN, q, "%s", text);
    } else {
        bool column = state->kind == STO_HBASE__COMPACTED && !has_entries(&c->columns, cell);
        state->damaged = true;
        state->bad = column || state->kind == STO_HBASE__SINGLE || state->kind == STO_HBASE__OTHER;
        FOUND(c, column ? STO_HBASE_BAD_COLUMN : STO_HBASE_BAD_VALUE, q, "%s", text);
    }
}

static void on_annotation(void *arg, size_t cell, uint32_t off_ms)
{
    struct sto_hbase__checker *c = arg;
    struct ts_error why = {0};
    json_t *document = NULL;
    (void)off_ms;
    c->states[cell].kind = STO_HBASE__ANNOTATION;
    if (sto_hbase_document_parse(sto_hbase_annotation_fields, c->cells[cell].value, &document, &why) == 0) {
        c->n_annotations++;
    } else {
        c->states[cell].bad = true;
        FOUND(c, STO_HBASE_BAD_ANNOTATION, c->cells[cell].qualifier, "The annotation cannot be read: %s.",
              why.text);
    }
    json_decref(document);
}

static void on_histogram(void *arg, size_t cell, uint32_t off_ms)
{
    struct sto_hbase__checker *c = arg;
    (void)off_ms;
    if (c->cells[cell].value.n) {
        c->n_histograms++;
        return;
    }
    c->states[cell].bad = true;
    FOUND(c, STO_HBASE_BAD_VALUE, c->cells[cell].qualifier, "The histogram is empty.");
}

static void on_duplicate(void *arg, const struct sto_hbase_duplicate *d)
{
    struct sto_hbase__checker *c = arg;
    struct ts_slice q = c->cells[d->lost].qualifier;
    if (d->appended || (d->equal && d->kept == d->lost && c->states[d->kept].kind == STO_HBASE__APPENDS))
        return; /* UNSORTED_APPENDS */
    if (d->equal)
        FOUND(c, STO_HBASE_REPEATED_POINT, q, "The point at offset %u ms is stored more than once.",
              d->off_ms);
    else
        FOUND(c, STO_HBASE_DUPLICATE_POINT, q, "There are points with different values at offset %u ms.",
              d->off_ms);
}

bool sto_hbase__appends_are_sorted(struct ts_slice value)
{
    const uint8_t *at = (const uint8_t *)value.p, *end = at + value.n;
    int64_t last = -1;
    while (at < end) {
        struct sto_hbase_qualifier q;
        if (!sto_hbase_qualifier_parse(at, (size_t)(end - at), &q) || !sto_hbase_flags_length(q.flags))
            return true; /* damaged: another fault */
        if ((int64_t)q.off_ms <= last)
            return false;
        last = q.off_ms;
        at += q.n + sto_hbase_flags_length(q.flags);
    }
    return true;
}

unsigned sto_hbase__integer_bytes(uint64_t raw)
{
    int64_t v = (int64_t)raw;
    return v == (int8_t)v ? 1 : v == (int16_t)v ? 2 : v == (int32_t)v ? 4 : 8;
}

static void check_integers(struct sto_hbase__checker *c)
{
    const struct sto_hbase_columns *columns = &c->columns;
    for (size_t i = 0; i < columns->n_entries; i++) {
        const struct sto_hbase_entry *e = &columns->entries[i];
        struct sto_hbase__cell_state *state = &c->states[e->cell];
        if (e->is_float || state->kind == STO_HBASE__APPENDS || sto_hbase__integer_bytes(e->raw) == e->length)
            continue;
        state->irregular = true;
        FOUND(c, STO_HBASE_LONG_INTEGER, c->cells[e->cell].qualifier,
              "The integer at offset %u ms has %u bytes and needs %u.", (unsigned)e->off_ms,
              (unsigned)e->length, sto_hbase__integer_bytes(e->raw));
    }
}

static void count_entries(struct sto_hbase__checker *c)
{
    struct sto_hbase_columns *columns = &c->columns;
    for (size_t i = 0; i < columns->n_entries; i++)
        c->states[columns->entries[i].cell].n_entries++;
}

int sto_hbase__check_row(struct sto_hbase__checker *c, struct ts_error *err)
{
    struct sto_hbase_visitor visitor = {on_annotation, on_histogram, on_finding, on_duplicate, c};
    memset(c->n_found, 0, sizeof c->n_found);
    c->n_annotations = c->n_histograms = c->n_rollups = 0;
    TS_TRY(ts_budget_grow(c->x->memory, &c->states, &c->cap_states, c->n_cells, sizeof *c->states, err));
    if (c->n_cells)
        memset(c->states, 0, c->n_cells * sizeof *c->states);
    check_key(c);
    if (c->x->shape)
        return sto_hbase__check_rollups(c, err);
    for (size_t i = 0; i < c->n_cells; i++)
        c->states[i].kind = kind_of(c->cells[i].qualifier);
    TS_TRY(sto_hbase_columns_decode(&c->columns, c->cells, c->n_cells, &visitor, err));
    count_entries(c);
    for (size_t i = 0; i < c->n_cells; i++)
        if (c->states[i].kind == STO_HBASE__APPENDS && !sto_hbase__appends_are_sorted(c->cells[i].value)) {
            c->states[i].irregular = true;
            FOUND(c, STO_HBASE_UNSORTED_APPENDS, c->cells[i].qualifier,
                  "The points of the append column are not in the order of their times.");
        }
    check_integers(c);
    return 0;
}
