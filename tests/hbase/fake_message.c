/*
 * fake_message.c - filters that come as messages of protocol buffers: Filter.proto of HBase, the filters that tsd uses.
 */
#include "tests/hbase/fake_filter.h"

#include <stdio.h>
#include <stdlib.h>

#define CLASSES "org.apache.hadoop.hbase.filter."

/* A message being read; fails once and for all. */
struct message {
    const uint8_t *p, *end;
    bool failed;
};
/* One field of it. */
struct member {
    unsigned field;
    bool is_bytes;
    uint64_t v;            /* of a number */
    struct ts_slice bytes; /* otherwise */
};

static struct message message_of(struct ts_slice s)
{
    const uint8_t *p = (const uint8_t *)s.p;
    return (struct message){p, p + s.n, false};
}

static uint64_t varint(struct message *m)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (m->p == m->end)
            break;
        uint8_t byte = *m->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    m->failed = true;
    return 0;
}

/* False: the end, or the message is damaged. */
static bool next(struct message *m, struct member *out)
{
    if (m->failed || m->p == m->end)
        return false;
    uint64_t key = varint(m);
    *out = (struct member){.field = (unsigned)(key >> 3), .is_bytes = (key & 7) == 2};
    out->v = varint(m);
    if ((key & 7) != 0 && !out->is_bytes)
        m->failed = true;
    if (!out->is_bytes || m->failed)
        return !m->failed;
    if (out->v > (uint64_t)(m->end - m->p)) {
        m->failed = true;
        return false;
    }
    out->bytes = (struct ts_slice){(const char *)m->p, (size_t)out->v};
    m->p += out->v;
    return true;
}

static struct fake_filter *wrong(struct fake_error *e, const char *what)
{
    if (e->kind == FAKE_FINE) {
        e->kind = FAKE_APPLICATION;
        (void)snprintf(e->text, sizeof e->text, "Internal error processing a filter: %s", what);
    }
    return NULL;
}

/* --- ranges --- */

static int by_from(const void *pa, const void *pb)
{
    const struct fake_range *a = pa, *b = pb;
    return ts_slice_cmp(a->from, b->from);
}

/* RowRange: its begin is included, its end is not. */
static bool range_of(struct ts_slice bytes, struct fake_range *out)
{
    struct message m = message_of(bytes);
    struct member v;
    bool from_included = false, to_included = true;
    while (next(&m, &v)) {
        if (v.field == 1 && v.is_bytes)
            out->from = v.bytes;
        else if (v.field == 2 && !v.is_bytes)
            from_included = v.v;
        else if (v.field == 3 && v.is_bytes)
            out->to = v.bytes;
        else if (v.field == 4 && !v.is_bytes)
            to_included = v.v;
    }
    return !m.failed && from_included && !to_included && out->to.n && ts_slice_cmp(out->from, out->to) < 0;
}

/* MultiRowRangeFilter: ranges are sorted, and joined where they overlap. */
static bool read_ranges(struct fake_filter *x, struct ts_slice body, struct ts_arena *arena)
{
    struct message m = message_of(body), again = m;
    struct member v;
    size_t n = 0, k = 0;
    while (next(&m, &v))
        n++;
    x->kind = RANGES;
    x->ranges = ts_arena_zalloc(arena, (n + 1) * sizeof *x->ranges);
    for (n = 0; next(&again, &v); n++)
        if (v.field != 1 || !range_of(v.bytes, &x->ranges[n]))
            return false;
    qsort(x->ranges, n, sizeof *x->ranges, by_from);
    for (size_t i = 1; i < n; i++) {
        if (ts_slice_cmp(x->ranges[i].from, x->ranges[k].to) >= 0)
            x->ranges[++k] = x->ranges[i];
        else if (ts_slice_cmp(x->ranges[i].to, x->ranges[k].to) > 0)
            x->ranges[k].to = x->ranges[i].to;
    }
    x->n_ranges = n ? k + 1 : 0;
    return n > 0; /* HBase refuses a filter without ranges */
}

/* --- filters --- */

static struct fake_filter *read_filter(struct ts_arena *arena, struct ts_slice message, unsigned depth,
                                       struct fake_error *e);

/* FilterList, all of whose members must pass. */
static struct fake_filter *read_list(struct ts_arena *arena, struct ts_slice body, unsigned depth,
                                     struct fake_error *e)
{
    struct message m = message_of(body);
    struct member v;
    struct fake_filter *all = NULL;
    bool pass_all = false;
    while (e->kind == FAKE_FINE && next(&m, &v)) {
        if (v.field == 1 && !v.is_bytes)
            pass_all = v.v == 1;
        if (v.field != 2 || !v.is_bytes)
            continue;
        struct fake_filter *one = read_filter(arena, v.bytes, depth + 1, e), *both = all;
        if (all) {
            both = ts_arena_zalloc(arena, sizeof *both);
            *both = (struct fake_filter){.kind = ALL_OF, .a = all, .b = one};
        }
        all = both ? both : one;
    }
    return all && pass_all && !m.failed ? all : wrong(e, "a list is wrong");
}

static bool fill(struct fake_filter *x, struct ts_slice class, struct ts_slice body, struct ts_arena *arena)
{
    struct message m = message_of(body);
    struct member v = {0};
    bool has_member = next(&m, &v);
    if (ts_slice_is(class, CLASSES "MultiRowRangeFilter"))
        return read_ranges(x, body, arena);
    if (ts_slice_is(class, CLASSES "FirstKeyOnlyFilter")) {
        x->kind = FIRST_KEY_ONLY;
        return !has_member && !m.failed;
    }
    if (ts_slice_is(class, CLASSES "KeyOnlyFilter")) {
        x->kind = KEY_ONLY;
        return has_member && v.field == 1 && !v.is_bytes && v.v == 0;
    }
    x->kind = COLUMN_PREFIX;
    x->text = v.bytes;
    return ts_slice_is(class, CLASSES "ColumnPrefixFilter") && has_member && v.field == 1 && v.is_bytes;
}

static struct fake_filter *read_filter(struct ts_arena *arena, struct ts_slice message, unsigned depth,
                                       struct fake_error *e)
{
    struct message m = message_of(message);
    struct member v;
    struct ts_slice class = {0}, body = {0};
    while (next(&m, &v)) {
        if (v.field == 1 && v.is_bytes)
            class = v.bytes;
        else if (v.field == 2 && v.is_bytes)
            body = v.bytes;
    }
    if (m.failed || depth > FAKE_FILTER_DEPTH)
        return wrong(e, "a message is wrong");
    if (ts_slice_is(class, CLASSES "FilterList"))
        return read_list(arena, body, depth, e);
    struct fake_filter *x = ts_arena_zalloc(arena, sizeof *x);
    return fill(x, class, body, arena) ? x : wrong(e, "the fake HBase has no such filter");
}

struct fake_filter *fake__filter_message(struct ts_arena *arena, struct ts_slice message,
                                         struct fake_error *e)
{
    struct fake_filter *x = read_filter(arena, message, 0, e);
    return e->kind == FAKE_FINE ? x : NULL;
}
