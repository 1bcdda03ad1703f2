/*
 * sample.c - do the keys of a table fit the configuration?
 *
 * With another number of salts or another width of ids than the table was made with, nothing is found and nothing fails: so some rows of the table are
 * looked at when HBase answers for the first time, and before what deletes rows.
 *
 * The keys are divided at the starts of regions and of the salt buckets of the configuration, so that no part of the table speaks for all of it, and a few
 * rows of each part are read. The parts follow one another without gaps, so that the rows of a table that has only few are found wherever they are.
 *
 * Threads    any
 */
#include "storage/hbase/remote/remote_int.h"

#include "base/mem.h"
#include "storage/hbase/bigendian.h"
#include "storage/hbase/rowkey.h"

#include <stdlib.h>

#define REQUEST_BYTES 4096
#define MOST_BUCKETS  64u /* whose starts divide the keys */

/* A sample being taken. */
struct sampling {
    struct sto_hbase *h;
    struct sto_hbase_session s;
    struct sto_thrift_request request;
    struct ts_arena arena; /* of the keys */
    struct ts_slice *keys; /* n of cap: where parts begin, the first one with the first key */
    size_t n, cap;
    struct ts_budget *memory;
};

static int no_memory(struct ts_error *err)
{
    return ts_error_set(err, TS_ELIMIT, "there is no memory for keys of HBase (hbase_memory_bytes)");
}

static int add_key(struct sampling *x, struct ts_slice key, struct ts_error *err)
{
    TS_TRY(ts_budget_grow(x->memory, &x->keys, &x->cap, x->n + 1, sizeof *x->keys, err));
    char *own = ts_arena_try(&x->arena, key.n + 1);
    if (!own)
        return no_memory(err);
    if (key.n)
        memcpy(own, key.p, key.n);
    x->keys[x->n++] = (struct ts_slice){own, key.n};
    return 0;
}

static int add_regions(struct sampling *x, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_region region;
    int rc;
    (void)sto_thrift_call_get_all_region_locations(&x->request, ts_slice_str(x->h->opts.tables.data));
    TS_TRY(sto_hbase_call(&x->s, &x->request, &reply, NULL, err));
    sto_thrift_items_init(&it, &reply);
    while ((rc = sto_thrift_region(&it, &region, err)) == 1)
        TS_TRY(add_key(x, region.start, err));
    return sto_hbase_error(rc, err);
}

static int add_buckets(struct sampling *x, struct ts_error *err)
{
    const struct sto_hbase_schema *schema = &x->h->opts.schema;
    uint32_t n = sto_hbase_buckets(schema), n_parts = n < MOST_BUCKETS ? n : MOST_BUCKETS;
    uint8_t key[STO_HBASE_MAX_WIDTH];
    uint64_t most = schema->salt_width < 8 ? 1ull << 8 * schema->salt_width : UINT64_MAX;
    TS_TRY(add_key(x, (struct ts_slice){NULL, 0}, err));
    for (uint32_t i = 1; i < n_parts + (n < most);
         i++) { /* with the one behind the last bucket, where there should be nothing */
        sto_hbase_put(key, (uint64_t)n * i / n_parts, schema->salt_width);
        TS_TRY(add_key(x, (struct ts_slice){(const char *)key, schema->salt_width}, err));
    }
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    return ts_slice_cmp(*(const struct ts_slice *)a, *(const struct ts_slice *)b);
}

/* Each start once, and at most STO_HBASE_SAMPLE_PARTS of them, evenly, the first and the last one included. */
static void choose(struct sampling *x)
{
    size_t n = 0, n_parts;
    qsort(x->keys, x->n, sizeof *x->keys, by_bytes);
    for (size_t i = 0; i < x->n; i++)
        if (i == 0 || !ts_slice_eq(x->keys[i], x->keys[i - 1]))
            x->keys[n++] = x->keys[i];
    n_parts = n < STO_HBASE_SAMPLE_PARTS ? n : STO_HBASE_SAMPLE_PARTS;
    for (size_t i = 1; i < n_parts; i++)
        x->keys[i] = x->keys[i * (n - 1) / (n_parts - 1)];
    x->n = n_parts;
}

static int look_at_part(struct sampling *x, size_t part, struct sto_hbase_sample *out, struct ts_error *err)
{
    const struct sto_hbase_schema *schema = &x->h->opts.schema;
    int32_t n_rows = (int32_t)(STO_HBASE_SAMPLE_ROWS / x->n);
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_hbase_rowkey key;
    int rc;
    n_rows = n_rows < (int32_t)STO_HBASE_SAMPLE_MIN ? (int32_t)STO_HBASE_SAMPLE_MIN : n_rows;
    struct sto_thrift_scan scan = {
        .start = x->keys[part],
        .stop = part + 1 < x->n ? x->keys[part + 1] : (struct ts_slice){NULL, 0},
        .select = {.filter = TS_SLICE_LIT("FirstKeyOnlyFilter() AND KeyOnlyFilter()")},
        .caching = n_rows,
        .limit_rows = n_rows};
    (void)sto_thrift_call_get_scanner_results(&x->request, ts_slice_str(x->h->opts.tables.data), &scan,
                                              n_rows);
    TS_TRY(sto_hbase_call(&x->s, &x->request, &reply, NULL, err));
    sto_thrift_items_init(&it, &reply);
    for (; (rc = sto_thrift_row(&it, &row, err)) == 1; out->n_rows++) {
        bool is_key = sto_hbase_rowkey_parse(schema, row.row, &key, NULL) == 0;
        bool odd = !is_key || (!key.global && sto_hbase_rowkey_check(schema, &key, NULL) < 0);
        out->n_odd += odd;
        out->n_beyond += is_key && odd && key.salt >= sto_hbase_buckets(schema);
    }
    return sto_hbase_error(rc, err);
}

int sto_hbase_sample_keys(struct sto_remote *r, const struct sto_remote_call *call,
                          struct sto_hbase_sample *out, struct ts_error *err)
{
    struct sampling x = {.h = sto_hbase_of(r)};
    *out = (struct sto_hbase_sample){0};
    TS_TRY(sto_hbase_begin(x.h->access, call, &x.s, err));
    x.memory = x.h->opts.access.memory;
    sto_thrift_request_init(&x.request, REQUEST_BYTES, x.memory);
    ts_arena_init(&x.arena, REQUEST_BYTES);
    x.arena.budget = x.memory;
    int rc = add_buckets(&x, err);
    if (rc == 0)
        rc = add_regions(&x, err);
    if (rc == 0)
        choose(&x);
    for (size_t i = 0; i < x.n && rc == 0; i++)
        rc = look_at_part(&x, i, out, err);
    ts_budget_free(x.memory, x.keys, x.cap * sizeof *x.keys);
    ts_arena_release(&x.arena);
    sto_thrift_request_release(&x.request);
    sto_hbase_end(&x.s);
    return rc;
}

int sto_hbase_sample_check(const struct sto_hbase_sample *s, struct ts_error *err)
{
    if (!sto_hbase_sample_is_odd(s))
        return 0;
    return ts_error_set(err, TS_EINVAL,
                        "%u of %u rows from all parts of the table of points have keys that do not fit "
                        "hbase_salt_width, hbase_salt_buckets and the widths of ids",
                        s->n_odd, s->n_rows);
}
