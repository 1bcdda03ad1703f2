/*
 * fetch_ranges.c - narrow ranges of keys for scanners.
 *
 * MultiRowRangeFilter makes a region server seek from range to range, so that a scan costs what its ranges have, however many rows lie between
 * them. HBase's filter language lacks it; Thrift2 takes it as a message of protocol buffers (HBase 2.2 and later). Gateways that ignore it apply the
 * filter of the language instead, or none: readers check the keys of all rows anyway (fetch_row.c).
 *
 * Conditions   Tags stand in keys in the order of the ids of their keys, and every condition has to be met. With conditions on the keys a < b, a = v and
 *              b = w, the tags of a row that matches begin either with a key below a, or with a=v. In the first case all is possible; in the second they
 *              go on either with a key below b, or with b=w. So each hour has three ranges: before a; a=v before b; a=v b=w. The ranges before a key
 *              are empty if no series of the metric has such a tag
 * Not here     a row filter on the conditions: together with it a region server would look at every row (FilterListWithAND.filterRowKey)
 * Source       HBase 2.5: Filter.proto, Comparator.proto, org.apache.hadoop.hbase.filter.MultiRowRangeFilter
 */
#include "storage/hbase/remote/fetch_int.h"

#include "storage/hbase/bigendian.h"

#define MOST_OF_HOUR 64 /* ranges of an hour; of more, a filter on all rows is used */
#define MAX_VARINT   10 /* bytes */
#define KEY_BYTES    (STO_HBASE_MAX_KEY_BYTES + 1)
#define PASS_ALL     1 /* FilterList.Operator.MUST_PASS_ALL */
#define CLASSES      "org.apache.hadoop.hbase.filter."

/* --- messages of protocol buffers --- */

enum wire { VARINT = 0, BYTES = 2 };

static size_t varint(uint64_t v, uint8_t *out)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

static void put_varint(struct ts_buf *out, uint64_t v)
{
    uint8_t bytes[MAX_VARINT];
    ts_buf_append(out, bytes, varint(v, bytes));
}

static void put_key(struct ts_buf *out, unsigned field, enum wire wire)
{
    put_varint(out, field << 3 | (unsigned)wire);
}

static void put_number(struct ts_buf *out, unsigned field, uint64_t v)
{
    put_key(out, field, VARINT);
    put_varint(out, v);
}

static void put_bytes(struct ts_buf *out, unsigned field, struct ts_slice v)
{
    put_key(out, field, BYTES);
    put_varint(out, v.n);
    ts_buf_slice(out, v);
}

static size_t size_of_bytes(size_t n) /* of a field below 16 */
{
    uint8_t bytes[MAX_VARINT];
    return 1 + varint(n, bytes) + n;
}

static size_t size_of_filter(const char *name, size_t n_body)
{
    return size_of_bytes(sizeof CLASSES - 1 + strlen(name)) + size_of_bytes(n_body);
}

/* The begin of a Filter, up to the body of n bytes. */
static void begin_filter(struct ts_buf *out, const char *name, size_t n_body)
{
    put_key(out, 1, BYTES);
    put_varint(out, sizeof CLASSES - 1 + strlen(name));
    ts_buf_str(out, CLASSES);
    ts_buf_str(out, name);
    put_key(out, 2, BYTES);
    put_varint(out, n_body);
}

/* The same as a member of a FilterList. */
static void begin_member(struct ts_buf *list, const char *name, size_t n_body)
{
    put_key(list, 2, BYTES);
    put_varint(list, size_of_filter(name, n_body));
    begin_filter(list, name, n_body);
}

void sto_hbase__list_simple(struct ts_buf *list, const char *name)
{
    bool takes_length = strcmp(name, "KeyOnlyFilter") == 0; /* lenAsVal: false */
    begin_member(list, name, takes_length ? 2 : 0);
    if (takes_length)
        put_number(list, 1, 0);
}

void sto_hbase__list_prefix(struct ts_buf *list, struct ts_slice prefix)
{
    begin_member(list, "ColumnPrefixFilter", size_of_bytes(prefix.n));
    put_bytes(list, 1, prefix);
}

/* --- ranges --- */

/* Ranges being listed, ascending. */
struct ranges {
    struct ts_buf *start, *stop, *out; /* begin of the first one; end of the last one; RowRange members */
    size_t n;
};

static void add(struct ranges *r, struct ts_slice from, struct ts_slice to)
{
    if (r->n++ == 0)
        ts_buf_slice(r->start, from);
    ts_buf_clear(r->stop);
    ts_buf_slice(r->stop, to);
    put_key(r->out, 1, BYTES);
    put_varint(r->out, size_of_bytes(from.n) + 2 + size_of_bytes(to.n) + 2);
    put_bytes(r->out, 1, from);
    put_number(r->out, 2, 1); /* the first key is included, */
    put_bytes(r->out, 3, to);
    put_number(r->out, 4, 0); /* the last one is not */
}

static void add_row(struct ranges *r, const struct sto_hbase__fetch *x, const struct sto_hbase__met *met,
                    uint32_t hour)
{
    uint8_t key[KEY_BYTES];
    size_t n =
        sto_hbase_rowkey_make(&x->h->opts.schema, (struct ts_slice){(const char *)met->tsuid, met->n_tsuid},
                              hour * STO_HBASE_ROW_S, key);
    key[n] = 0; /* the least key above it */
    add(r, (struct ts_slice){(const char *)key, n}, (struct ts_slice){(const char *)key, n + 1});
}

/* Bytes of a key: the tags of an hour that were fixed, and an id. */
struct prefix {
    uint8_t bytes[KEY_BYTES];
    size_t n;
};

static struct ts_slice slice_of(const struct prefix *p)
{
    return (struct ts_slice){(const char *)p->bytes, p->n};
}

static struct prefix with(const struct prefix *p, uint64_t id, unsigned width)
{
    struct prefix longer = *p;
    sto_hbase_put(longer.bytes + p->n, id, width);
    longer.n += width;
    return longer;
}

/* The least prefix above all keys that begin with p; they are never all FF, since ids of metrics are not. */
static struct prefix after(const struct prefix *p)
{
    struct prefix next = *p;
    while (next.n > 1 && next.bytes[next.n - 1] == 0xff)
        next.n--;
    next.bytes[next.n - 1]++;
    return next;
}

/* Conditions that stand first with their keys; another one of the same key is left to the readers. */
static size_t next_cond(const struct sto_hbase__cond *conds, size_t n, size_t i)
{
    size_t k = i + 1;
    while (k < n && conds[k].tagk == conds[i].tagk)
        k++;
    return k;
}

/* Keys that begin with p and meet conds[i..n). */
static void add_tags(struct ranges *r, const struct sto_hbase_schema *s, const struct sto_hbase__cond *conds,
                     size_t n, size_t i, const struct prefix *p)
{
    const struct sto_hbase__cond *c = &conds[i];
    size_t next = next_cond(conds, n, i);
    struct prefix key = with(p, c->tagk, s->tagk_width), end = after(&key);
    if (c->any) {
        add(r, slice_of(p), slice_of(&end));
        return;
    }
    add(r, slice_of(p), slice_of(&key));
    for (size_t k = 0; k < c->n_values; k++) {
        struct prefix tag = with(&key, c->values[k], s->tagv_width);
        end = after(&tag);
        if (next == n)
            add(r, slice_of(&tag), slice_of(&end));
        else
            add_tags(r, s, conds, n, next, &tag);
    }
}

size_t sto_hbase__ranges_of_conds(const struct sto_hbase__cond *conds, size_t n)
{
    size_t n_prefixes = 1, n_ranges = 0, n_keys = 0;
    if (n == 0 || conds[0].any)
        return 0;
    for (size_t i = 0; i < n && n_ranges <= MOST_OF_HOUR; i = next_cond(conds, n, i)) {
        if (++n_keys > STO_HBASE_MAX_TAGS)
            return 0; /* no series has so many */
        n_ranges += n_prefixes;
        if (conds[i].any)
            n_prefixes = 0;
        else if (conds[i].n_values > MOST_OF_HOUR)
            return 0;
        else
            n_prefixes *= conds[i].n_values;
        if (n_prefixes == 0)
            break;
    }
    n_ranges += n_prefixes;
    return n_ranges <= MOST_OF_HOUR ? n_ranges : 0;
}

static void add_hour(struct ranges *r, const struct sto_hbase__fetch *x, uint32_t bucket, uint32_t hour)
{
    struct sto_hbase_scan keys;
    struct prefix p = {.n = 0};
    sto_hbase_scan_bases(&x->h->opts.schema, x->metric, hour * STO_HBASE_ROW_S, hour * STO_HBASE_ROW_S,
                         bucket, &keys);
    memcpy(p.bytes, keys.start, p.n = keys.n_start);
    add_tags(r, &x->h->opts.schema, x->conds, x->n_conds, 0, &p);
}

static void list_ranges(struct ranges *r, const struct sto_hbase__fetch *x,
                        const struct sto_hbase__part *part, uint32_t *hour, size_t *at)
{
    if (x->narrow == STO_HBASE__BY_CONDS) {
        size_t of_hour = sto_hbase__ranges_of_conds(x->conds, x->n_conds);
        for (; *hour <= part->last_h && r->n + of_hour <= STO_HBASE__RANGES; ++*hour)
            add_hour(r, x, part->bucket, *hour);
        return;
    }
    while (*hour <= part->last_h && r->n < STO_HBASE__RANGES) {
        add_row(r, x, x->gets[*at], *hour);
        if (++*at == part->to) {
            *at = part->from;
            ++*hour;
        }
    }
}

void sto_hbase__ranges_next(const struct sto_hbase__fetch *x, const struct sto_hbase__part *part,
                            uint32_t *hour, size_t *at, struct ts_buf *start, struct ts_buf *stop,
                            struct ts_buf *filter)
{
    static const char multi[] = "MultiRowRangeFilter";
    struct ts_buf list;
    ts_buf_init(&list, 0);
    list.budget = x->limits.memory;
    struct ranges r = {.start = start, .stop = stop, .out = &list};
    ts_buf_clear(start);
    ts_buf_clear(stop);
    ts_buf_clear(filter);
    list_ranges(&r, x, part, hour, at);
    size_t n_filter = size_of_filter(multi, list.n);
    begin_filter(filter, "FilterList", 2 + size_of_bytes(n_filter) + x->cell_filter.n);
    put_number(filter, 1, PASS_ALL);
    begin_member(filter, multi, list.n);
    ts_buf_slice(filter, ts_buf_get(&list));
    ts_buf_slice(filter, ts_buf_get(&x->cell_filter));
    filter->failed |= list.failed | start->failed | stop->failed;
    ts_buf_release(&list);
}
