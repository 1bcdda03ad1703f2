/*
 * columns.c - parses the cells of a row of the data table into entries (columns_int.h).
 */
#include "storage/hbase/columns.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "storage/hbase/bigendian.h"
#include "storage/hbase/columns_int.h"
#include "storage/hbase/qualifier.h"
#include "storage/hbase/value.h"

#define TEXT_BYTES 160

/* A cell being parsed. */
struct parse {
    struct sto_hbase_columns *c;
    const struct sto_hbase_cell *cell;
    uint32_t index; /* of the cell */
    bool found;     /* finding and text are set */
    enum sto_hbase_finding finding;
    char text[TEXT_BYTES];
};

/* --- findings --- */

/* Note what is wrong with the cell. The first finding stays, but damage replaces an irregularity. */
static void __attribute__((format(printf, 3, 4)))
note(struct parse *p, enum sto_hbase_finding finding, const char *fmt, ...)
{
    if (p->found && (p->finding == STO_HBASE_DAMAGED || finding != STO_HBASE_DAMAGED))
        return;
    p->found = true;
    p->finding = finding;
    va_list args;
    va_start(args, fmt);
    vsnprintf(p->text, sizeof(p->text), fmt, args);
    va_end(args);
}

/* --- points --- */

/* Add a point whose value has length bytes; there is room for it. */
static void add(struct parse *p, const struct sto_hbase_qualifier *q, const uint8_t *value, unsigned length)
{
    bool is_float = q->flags & STO_HBASE_FLOAT;
    uint64_t raw = sto_hbase_value_load(value, length, is_float);
    if (q->off_ms >= TS_HOUR_MS) {
        note(p, STO_HBASE_DAMAGED, "A point has an offset of %u ms, which is beyond the hour of the row.",
             q->off_ms);
        return;
    }
    if (is_float && !sto_hbase_value_is_finite(raw, length)) {
        note(p, STO_HBASE_DAMAGED, "The value of the point at offset %u ms is not a finite number.",
             q->off_ms);
        return;
    }
    p->c->entries[p->c->n_entries++] = (struct sto_hbase_entry){
        q->off_ms & STO_META_OFF_MASK, q->n == 4, is_float, length & 15, p->index, raw};
}

static int reserve(struct parse *p, size_t n, struct ts_error *err)
{
    struct sto_hbase_columns *c = p->c;
    return ts_budget_grow(c->memory, &c->entries, &c->cap_entries, c->n_entries + n, sizeof(*c->entries),
                          err);
}

/* A float of 4 bytes that an old version stored on 8: in front of it are zeros, or ones where its sign was extended. */
static bool is_padded_float(const struct sto_hbase_qualifier *q, struct ts_slice value)
{
    if (q->n != 2 || q->flags != (STO_HBASE_FLOAT | 3) || value.n != 8)
        return false;
    uint32_t front = (uint32_t)sto_hbase_get(value.p, 4);
    return front == 0 || front == UINT32_MAX;
}

static int parse_single(struct parse *p, const struct sto_hbase_qualifier *q, struct ts_error *err)
{
    struct ts_slice value = p->cell->value;
    const uint8_t *bytes = (const uint8_t *)value.p;
    bool is_float = q->flags & STO_HBASE_FLOAT;
    TS_TRY(reserve(p, 1, err));
    if (value.n == sto_hbase_flags_length(q->flags) && value.n) {
        add(p, q, bytes, (unsigned)value.n);
    } else if (!is_float && (value.n == 1 || value.n == 2 || value.n == 4 || value.n == 8)) {
        note(p, STO_HBASE_IRREGULAR, "The integer at offset %u ms has %zu bytes, but its qualifier says %u.",
             q->off_ms, value.n, (q->flags & STO_HBASE_LENGTH) + 1);
        add(p, q, bytes, (unsigned)value.n);
    } else if (is_padded_float(q, value)) {
        note(p, STO_HBASE_IRREGULAR, "The float at offset %u ms has 8 bytes, but its qualifier says 4.",
             q->off_ms);
        add(p, q, bytes + 4, 4);
    } else {
        note(p, STO_HBASE_DAMAGED,
             "The value at offset %u ms has %zu bytes, which its qualifier does not permit.", q->off_ms,
             value.n);
    }
    return 0;
}

/* --- compacted columns --- */

/* Parse the points of a compacted column; false if it is damaged as a whole. */
static bool parse_compacted_points(struct parse *p)
{
    struct ts_slice qualifier = p->cell->qualifier, value = p->cell->value;
    const uint8_t *at = (const uint8_t *)qualifier.p, *end = at + qualifier.n;
    const uint8_t *v = (const uint8_t *)value.p, *v_end = v + value.n;
    struct sto_hbase_qualifier q;
    for (uint32_t last = 0; at < end; at += q.n, last = q.off_ms) {
        if (!sto_hbase_qualifier_parse(at, (size_t)(end - at), &q)) {
            note(p, STO_HBASE_DAMAGED, "The qualifier of a compacted column ends inside of a point.");
            return false;
        }
        unsigned length = sto_hbase_flags_length(q.flags);
        if (length == 0 || (size_t)(v_end - v) < length) {
            note(p, STO_HBASE_DAMAGED, "The point at offset %u ms of a compacted column has %s.", q.off_ms,
                 length ? "no value" : "unknown flags");
            return false;
        }
        if (q.off_ms < last)
            note(p, STO_HBASE_IRREGULAR, "The points of a compacted column are not sorted at offset %u ms.",
                 q.off_ms);
        add(p, &q, v, length);
        v += length;
    }
    if (v_end - v != 1)
        note(p, STO_HBASE_DAMAGED,
             "The values of a compacted column are followed by %zu bytes instead of one.",
             (size_t)(v_end - v));
    else if (*v > 1)
        note(p, STO_HBASE_IRREGULAR, "The last byte of a compacted column is %u, but only 0 and 1 are known.",
             *v);
    return v_end - v == 1;
}

static int parse_compacted(struct parse *p, struct ts_error *err)
{
    size_t before = p->c->n_entries;
    TS_TRY(reserve(p, p->cell->qualifier.n / 2, err));
    if (!parse_compacted_points(p))
        p->c->n_entries = before;
    return 0;
}

/* --- append columns --- */

static int parse_appends(struct parse *p, struct ts_error *err)
{
    struct ts_slice value = p->cell->value;
    const uint8_t *at = (const uint8_t *)value.p, *end = at + value.n;
    TS_TRY(reserve(p, value.n / 3, err)); /* the smallest point has 3 bytes */
    while (at < end) {
        struct sto_hbase_qualifier q;
        bool whole = sto_hbase_qualifier_parse(at, (size_t)(end - at), &q);
        unsigned length = whole ? sto_hbase_flags_length(q.flags) : 0;
        if (length == 0 || (size_t)(end - at) < q.n + length) {
            note(p, STO_HBASE_DAMAGED, "The last %zu bytes of an append column are no point.",
                 (size_t)(end - at));
            return 0;
        }
        add(p, &q, at + q.n, length);
        at += q.n + length;
    }
    return 0;
}

/* --- cells --- */

/* Parse a cell whose qualifier has an odd length. */
static int parse_typed(struct parse *p, const struct sto_hbase_visitor *visitor, struct ts_error *err)
{
    struct ts_slice q = p->cell->qualifier;
    const uint8_t *bytes = (const uint8_t *)q.p;
    uint32_t off = 0;
    if (q.n == 3)
        off = (uint32_t)sto_hbase_get(bytes + 1, 2) * 1000;
    else if (q.n == 5)
        off = (uint32_t)sto_hbase_get(bytes + 1, 4);
    if (q.n == 3 && bytes[0] == 5 && off == 0)
        return parse_appends(p, err);
    if ((q.n == 3 || q.n == 5) && (bytes[0] == 1 || bytes[0] == 6)) {
        void (*call)(void *, size_t, uint32_t) = !visitor        ? NULL
                                                 : bytes[0] == 1 ? visitor->annotation
                                                                 : visitor->histogram;
        if (call)
            call(visitor->arg, p->index, off);
        return 0;
    }
    note(p, STO_HBASE_UNKNOWN, "A column of type %u with a qualifier of %zu bytes is not known.", bytes[0],
         q.n);
    return 0;
}

static int parse_cell(struct parse *p, const struct sto_hbase_visitor *visitor, struct ts_error *err)
{
    struct ts_slice qualifier = p->cell->qualifier;
    if (qualifier.n == 0) {
        note(p, STO_HBASE_UNKNOWN, "A column without a qualifier is not known.");
        return 0;
    }
    if (qualifier.n % 2)
        return parse_typed(p, visitor, err);
    struct sto_hbase_qualifier q;
    if (sto_hbase_qualifier_parse((const uint8_t *)qualifier.p, qualifier.n, &q) && q.n == qualifier.n)
        return parse_single(p, &q, err);
    return parse_compacted(p, err);
}

void sto_hbase_columns_init(struct sto_hbase_columns *c, struct ts_budget *memory)
{
    memset(c, 0, sizeof(*c));
    c->memory = memory;
}

void sto_hbase_columns_release(struct sto_hbase_columns *c)
{
    ts_budget_free(c->memory, c->entries, c->cap_entries * sizeof(*c->entries));
    ts_budget_free(c->memory, c->spare, c->cap_spare * sizeof(*c->spare));
    ts_budget_free(c->memory, c->meta, c->cap_meta * sizeof(*c->meta));
    ts_budget_free(c->memory, c->m, c->cap_m * sizeof(*c->m));
    sto_hbase_columns_init(c, c->memory);
}

int sto_hbase_columns_decode(struct sto_hbase_columns *c, const struct sto_hbase_cell *cells, size_t n,
                             const struct sto_hbase_visitor *visitor, struct ts_error *err)
{
    c->cells = (struct sto_cells){0};
    c->n_entries = c->n_equal = c->n_contradicting = c->n_damaged = 0;
    for (size_t i = 0; i < n; i++) {
        struct parse p;
        p.c = c;
        p.cell = &cells[i];
        p.index = (uint32_t)i;
        p.found = false;
        TS_TRY(parse_cell(&p, visitor, err));
        if (!p.found)
            continue;
        c->n_damaged += p.finding == STO_HBASE_DAMAGED;
        if (visitor && visitor->finding)
            visitor->finding(visitor->arg, i, p.finding, p.text);
    }
    return sto_hbase_columns__merge(c, cells, visitor, err);
}
