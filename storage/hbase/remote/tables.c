/*
 * tables.c - plans split keys and families, creates tables, reads their descriptors and regions.
 */
#include "storage/hbase/remote/tables.h"

#include "base/text.h"
#include "base/time.h"
#include "storage/hbase/bigendian.h"
#include "storage/hbase/remote/remote_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_SPLIT_BYTES 16 /* of a split key that is too long, in a text */

/* --- names of attributes --- */

static const char *const blooms[] = {"NONE", "ROW", "ROWCOL"};
static const char *const compressions[] = {"LZO", "GZ", "NONE", "SNAPPY", "LZ4", "BZIP2", "ZSTD"};
static const char *const encodings[] = {"NONE",      NULL, "PREFIX", "DIFF",
                                        "FAST_DIFF", NULL, NULL,     "ROW_INDEX_V1"};
static const struct {
    const char *word; /* in sentences */
    const char *const *names;
    int32_t n;
} attributes[] = {
    [STO_HBASE_BLOOM] = {"Bloom filter", blooms, sizeof blooms / sizeof *blooms},
    [STO_HBASE_COMPRESSION] = {"compression", compressions, sizeof compressions / sizeof *compressions},
    [STO_HBASE_ENCODING] = {"data block encoding", encodings, sizeof encodings / sizeof *encodings},
};

const char *sto_hbase_attribute_name(enum sto_hbase_attribute what, int32_t value)
{
    return value >= 0 && value < attributes[what].n ? attributes[what].names[value] : NULL;
}

int32_t sto_hbase_attribute_value(enum sto_hbase_attribute what, struct ts_slice name)
{
    for (int32_t i = 0; i < attributes[what].n; i++)
        if (attributes[what].names[i] && ts_slice_is_nocase(name, attributes[what].names[i]))
            return i;
    return -1;
}

/* --- memory --- */

void sto_hbase_table_list_init(struct sto_hbase_table_list *list, struct ts_budget *memory)
{
    memset(list, 0, sizeof *list);
    ts_arena_init(&list->arena, 4096);
    list->arena.budget = memory;
}

void sto_hbase_table_list_release(struct sto_hbase_table_list *list)
{
    ts_arena_release(&list->arena);
    memset(list->tables, 0, sizeof list->tables);
    list->n = 0;
}

static int take(struct sto_hbase_table_list *list, size_t n, size_t size, void **out, struct ts_error *err)
{
    size_t n_bytes = (n ? n : 1) * size;
    *out = ts_arena_try(&list->arena, n_bytes);
    if (!*out)
        return ts_error_set(err, TS_ELIMIT, "no memory for %zu bytes about tables of HBase", n_bytes);
    memset(*out, 0, n_bytes);
    return 0;
}

static int keep(struct sto_hbase_table_list *list, struct ts_slice *io, struct ts_error *err)
{
    void *copy = NULL;
    TS_TRY(take(list, io->n + 1, 1, &copy, err));
    if (io->n)
        memcpy(copy, io->p, io->n);
    io->p = copy;
    return 0;
}

/* --- the plan --- */

static int check_number(uint64_t n_regions, struct ts_error *err)
{
    return n_regions <= STO_HBASE_MAX_REGIONS
               ? 0
               : ts_error_set(err, TS_EINVAL,
                              "the data table would begin with %llu regions, but at most %d can be requested",
                              (unsigned long long)n_regions, STO_HBASE_MAX_REGIONS);
}

/* Split keys of buckets and of ranges of ids in each of them. n_ranges 1: of buckets alone. */
static int split_evenly(const struct sto_hbase_create *want, uint32_t n_ranges,
                        struct sto_hbase_table_list *list, struct ts_error *err)
{
    const struct sto_hbase_schema *s = &want->schema;
    uint32_t n_buckets = sto_hbase_buckets(s);
    struct sto_hbase_table *t = &list->tables[0];
    void *keys;
    TS_TRY(check_number((uint64_t)n_buckets * n_ranges, err));
    TS_TRY(take(list, (size_t)n_buckets * n_ranges, sizeof *t->splits, &keys, err));
    t->splits = keys;
    for (uint32_t b = 0; b < n_buckets; b++)
        for (uint32_t i = 0; i < n_ranges; i++) {
            uint8_t key[2 * STO_HBASE_MAX_WIDTH], *end = sto_hbase_put(key, b, s->salt_width);
            if (b == 0 && i == 0)
                continue; /* the first region begins with the table */
            if (i > 0)
                end = sto_hbase_put(end, 1 + (uint64_t)((__uint128_t)want->n_metrics * i / n_ranges),
                                    s->metric_width);
            t->splits[t->n_splits] = (struct ts_slice){(const char *)key, (size_t)(end - key)};
            TS_TRY(keep(list, &t->splits[t->n_splits++], err));
        }
    return 0;
}

static int bad_length(struct ts_slice key, struct ts_error *err)
{
    char begin[2 * SHOWN_SPLIT_BYTES + 1];
    size_t n = key.n < SHOWN_SPLIT_BYTES ? key.n : SHOWN_SPLIT_BYTES;
    sto_hbase_hex_print((struct ts_slice){key.p, n}, begin);
    begin[2 * n] = 0;
    return ts_error_set(err, TS_EINVAL, "the split key %s%s has %zu bytes, but it must have 1 to %d", begin,
                        n < key.n ? "..." : "", key.n, STO_HBASE_MAX_SPLIT_BYTES);
}

static int not_ascending(struct ts_slice before, struct ts_slice key, struct ts_error *err)
{
    char texts[2][2 * STO_HBASE_MAX_SPLIT_BYTES + 1];
    sto_hbase_hex_print(before, texts[0]);
    texts[0][2 * before.n] = 0;
    sto_hbase_hex_print(key, texts[1]);
    texts[1][2 * key.n] = 0;
    return ts_error_set(err, TS_EINVAL,
                        "the split key %.80s is not above %.80s, which is before it; split keys must ascend",
                        texts[1], texts[0]);
}

static int split_at(const struct sto_hbase_create *want, struct sto_hbase_table_list *list,
                    struct ts_error *err)
{
    struct sto_hbase_table *t = &list->tables[0];
    void *keys;
    TS_TRY(check_number((uint64_t)want->n_keys + 1, err));
    TS_TRY(take(list, want->n_keys, sizeof *t->splits, &keys, err));
    t->splits = keys;
    for (size_t i = 0; i < want->n_keys; i++) {
        struct ts_slice key = want->keys[i];
        if (key.n == 0 || key.n > STO_HBASE_MAX_SPLIT_BYTES)
            return bad_length(key, err);
        if (i && ts_slice_cmp(want->keys[i - 1], key) >= 0)
            return not_ascending(want->keys[i - 1], key, err);
        TS_TRY(keep(list, &key, err));
        t->splits[t->n_splits++] = key;
    }
    return 0;
}

static int plan_splits(const struct sto_hbase_create *want, struct sto_hbase_table_list *list,
                       struct ts_error *err)
{
    switch (want->split) {
    case STO_HBASE_SPLIT_SALT:
        if (!want->schema.salt_width)
            return ts_error_set(err, TS_EINVAL,
                                "the data table cannot be divided by salt: hbase_salt_width is 0");
        return split_evenly(want, 1, list, err);
    case STO_HBASE_SPLIT_METRIC:
        if (want->n_ranges < 2 || want->n_metrics < want->n_ranges ||
            want->n_metrics > sto_hbase_width_max(want->schema.metric_width))
            return ts_error_set(
                err, TS_EINVAL,
                "%llu metric ids cannot be divided into %u ranges: there must be 2 or more ranges, at least "
                "as many ids, and no more than the %llu that hbase_metric_width = %u allows",
                (unsigned long long)want->n_metrics, want->n_ranges,
                (unsigned long long)sto_hbase_width_max(want->schema.metric_width),
                want->schema.metric_width);
        return split_evenly(want, want->n_ranges, list, err);
    case STO_HBASE_SPLIT_KEYS:
        return split_at(want, list, err);
    default:
        return 0;
    }
}

static struct sto_thrift_family family(const struct sto_hbase_create *want, struct ts_slice name,
                                       int32_t max_versions, int32_t ttl_s)
{
    return (struct sto_thrift_family){.name = name,
                                      .bloom = want->bloom,
                                      .compression = want->compression,
                                      .encoding = want->encoding,
                                      .max_versions = max_versions,
                                      .ttl_s = ttl_s ? ttl_s : INT32_MAX};
}

/* Add a table of rollups, unless it is there. interval "": the default one. */
static int plan_rollup(const struct sto_hbase_create *want, const char *name, const char *kind,
                       const char *interval, struct sto_hbase_table_list *out, struct ts_error *err)
{
    char text[64];
    struct ts_slice kept = ts_slice_str(name), role = {text, 0};
    for (size_t i = 0; i < out->n; i++)
        if (!strcmp(out->tables[i].name, name))
            return 0;
    role.n = (size_t)snprintf(text, sizeof text, "%s%s%s", kind, *interval ? " " : "", interval);
    TS_TRY(keep(out, &kept, err));
    TS_TRY(keep(out, &role, err));
    struct sto_hbase_table *t = &out->tables[out->n++];
    *t = (struct sto_hbase_table){.role = role.p,
                                  .name = kept.p,
                                  .difference = "",
                                  .n_wanted = 1,
                                  .splits = out->tables[0].splits,
                                  .n_splits = out->tables[0].n_splits};
    t->wanted[0] = family(want, TS_SLICE_LIT("t"), 1, 0);
    return 0;
}

static int plan_rollups(const struct sto_hbase_create *want, struct sto_hbase_table_list *out,
                        struct ts_error *err)
{
    const struct sto_hbase_rollups *r = want->rollups;
    TS_TRY(plan_rollup(want, r->pre_table, "pre-aggregate", "", out, err));
    for (size_t i = 0; i < r->n; i++) {
        TS_TRY(plan_rollup(want, r->intervals[i].table, "rollup", r->intervals[i].text, out, err));
        TS_TRY(plan_rollup(want, r->intervals[i].pre_table, "pre-aggregate", r->intervals[i].text, out, err));
    }
    return 0;
}

int sto_hbase_tables_plan(const struct sto_hbase_create *want, struct sto_hbase_table_list *out,
                          struct ts_error *err)
{
    static const char *const roles[] = {"data", "uid", "tree", "meta"};
    const char *const names[] = {want->names.data, want->names.uid, want->names.tree, want->names.meta};
    struct sto_hbase_table *t = out->tables;
    TS_TRY(sto_hbase_schema_check(&want->schema, err));
    TS_TRY(sto_hbase_names_check(&want->names, want->rollups, err));
    out->n = STO_HBASE_N_TABLES;
    for (size_t i = 0; i < STO_HBASE_N_TABLES; i++) {
        struct ts_slice name = ts_slice_str(names[i]);
        TS_TRY(keep(out, &name, err));
        t[i] = (struct sto_hbase_table){
            .role = roles[i], .name = name.p, .difference = "", .n_wanted = i == 1 ? 2 : 1};
    }
    t[0].wanted[0] = family(want, TS_SLICE_LIT("t"), 1, want->ttl_s);
    t[1].wanted[0] = family(want, TS_SLICE_LIT("id"), -1, 0);
    t[1].wanted[1] = family(want, TS_SLICE_LIT("name"), -1, 0);
    t[2].wanted[0] = family(want, TS_SLICE_LIT("t"), 1, 0);
    t[3].wanted[0] = family(want, TS_SLICE_LIT("name"), -1, 0);
    TS_TRY(plan_splits(want, out, err));
    return want->rollups ? plan_rollups(want, out, err) : 0;
}

/* --- what differs --- */

static void say(struct ts_buf *out, const char *what, struct ts_slice family, const char *has,
                const char *wants)
{
    ts_buf_printf(out, "%s%s of family %.*s is %s, not %s", out->n ? "; " : "", what, (int)family.n, family.p,
                  has, wants);
}

static void say_number(struct ts_buf *out, const char *what, const struct sto_thrift_family *f, int32_t has,
                       int32_t wants)
{
    char texts[2][24];
    const int32_t values[] = {has, wants};
    if (has < 0 || wants < 0 || has == wants)
        return; /* not said, or not requested */
    for (int i = 0; i < 2; i++)
        if (values[i] == INT32_MAX)
            (void)snprintf(texts[i], sizeof texts[i], "unlimited");
        else
            (void)snprintf(texts[i], sizeof texts[i], "%d", values[i]);
    say(out, what, f->name, texts[0], texts[1]);
}

static void compare(struct ts_buf *out, const struct sto_thrift_family *has,
                    const struct sto_thrift_family *wants)
{
    const int32_t values[][2] = {[STO_HBASE_BLOOM] = {has->bloom, wants->bloom},
                                 [STO_HBASE_COMPRESSION] = {has->compression, wants->compression},
                                 [STO_HBASE_ENCODING] = {has->encoding, wants->encoding}};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        const char *a = sto_hbase_attribute_name(i, values[i][0]);
        const char *b = sto_hbase_attribute_name(i, values[i][1]);
        if (values[i][0] >= 0 && b && values[i][0] != values[i][1])
            say(out, attributes[i].word, has->name, a ? a : "unknown", b);
    }
    say_number(out, "number of versions", has, has->max_versions, wants->max_versions);
    say_number(out, "TTL in seconds", has, has->ttl_s, wants->ttl_s);
}

static const struct sto_thrift_family *find_family(const struct sto_hbase_table *t, struct ts_slice name)
{
    for (size_t i = 0; i < t->n_families; i++)
        if (ts_slice_eq(t->families[i].name, name))
            return &t->families[i];
    return NULL;
}

static bool has_region_at(const struct sto_hbase_table *t, struct ts_slice key)
{
    size_t lo = 0, hi = t->n_regions;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (ts_slice_cmp(t->regions[mid].start, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->n_regions && ts_slice_eq(t->regions[lo].start, key);
}

/* Is it divided at the keys that were requested? It may be at others too: HBase divides regions that grow. */
static void compare_splits(struct ts_buf *out, const struct sto_hbase_table *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_splits; i++)
        n += !has_region_at(t, t->splits[i]);
    if (n)
        ts_buf_printf(out, "%sits %zu region%s not divided at %zu of the %zu split keys that are requested",
                      out->n ? "; " : "", t->n_regions, t->n_regions == 1 ? " is" : "s are", n, t->n_splits);
}

static int note_differences(struct sto_hbase_table_list *list, struct sto_hbase_table *t,
                            struct ts_error *err)
{
    struct ts_buf text;
    ts_buf_init(&text, 4096);
    for (size_t i = 0; i < t->n_wanted; i++) {
        const struct sto_thrift_family *has = find_family(t, t->wanted[i].name);
        if (has)
            compare(&text, has, &t->wanted[i]);
        else
            ts_buf_printf(&text, "%sfamily %.*s is missing", text.n ? "; " : "", (int)t->wanted[i].name.n,
                          t->wanted[i].name.p);
    }
    compare_splits(&text, t);
    struct ts_slice kept = ts_buf_get(&text);
    int rc = keep(list, &kept, err);
    if (rc == 0)
        t->difference = kept.p;
    ts_buf_release(&text);
    return rc;
}

/* --- looking --- */

/* Number of items, for which memory is taken before they are kept. */
static int count_families(const struct sto_thrift_reply *reply, size_t *out, struct ts_error *err)
{
    struct sto_thrift_items it;
    struct sto_thrift_family f;
    int rc;
    *out = 0;
    sto_thrift_families_init(&it, reply);
    while ((rc = sto_thrift_family(&it, &f, err)) == 1)
        ++*out;
    return rc;
}

static int read_families(const struct sto_thrift_reply *reply, struct sto_hbase_table_list *list,
                         struct sto_hbase_table *t, struct ts_error *err)
{
    struct sto_thrift_items it;
    size_t n;
    void *p;
    TS_TRY(count_families(reply, &n, err));
    TS_TRY(take(list, n, sizeof *t->families, &p, err));
    t->families = p;
    sto_thrift_families_init(&it, reply);
    for (t->n_families = 0; t->n_families < n; t->n_families++) {
        TS_TRY(sto_thrift_family(&it, &t->families[t->n_families], err));
        TS_TRY(keep(list, &t->families[t->n_families].name, err));
    }
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct sto_thrift_region *x = a, *y = b;
    return ts_slice_cmp(x->start, y->start);
}

static int read_regions(const struct sto_thrift_reply *reply, struct sto_hbase_table_list *list,
                        struct sto_hbase_table *t, struct ts_error *err)
{
    struct sto_thrift_items it;
    struct sto_thrift_region region;
    size_t n = 0;
    int rc;
    void *p;
    sto_thrift_items_init(&it, reply);
    while ((rc = sto_thrift_region(&it, &region, err)) == 1)
        n++;
    TS_TRY(rc);
    TS_TRY(take(list, n, sizeof *t->regions, &p, err));
    t->regions = p;
    sto_thrift_items_init(&it, reply);
    for (t->n_regions = 0; t->n_regions < n; t->n_regions++) {
        struct sto_thrift_region *r = &t->regions[t->n_regions];
        TS_TRY(sto_thrift_region(&it, r, err));
        TS_TRY(keep(list, &r->host, err));
        TS_TRY(keep(list, &r->start, err));
        TS_TRY(keep(list, &r->stop, err));
    }
    qsort(t->regions, n, sizeof *t->regions, by_start);
    return 0;
}

static int look(struct sto_hbase_session *s, struct sto_thrift_request *r, struct sto_hbase_table_list *list,
                struct sto_hbase_table *t, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    struct ts_slice name = ts_slice_str(t->name);
    (void)sto_thrift_call_table_exists(r, name);
    TS_TRY(sto_hbase_call(s, r, &reply, NULL, err));
    t->exists = sto_thrift_reply_bool(&reply);
    if (!t->exists)
        return 0;
    (void)sto_thrift_call_get_table_descriptor(r, name);
    TS_TRY(sto_hbase_call(s, r, &reply, NULL, err));
    TS_TRY(sto_hbase_error(read_families(&reply, list, t, err), err));
    (void)sto_thrift_call_get_all_region_locations(r, name);
    TS_TRY(sto_hbase_call(s, r, &reply, NULL, err));
    TS_TRY(sto_hbase_error(read_regions(&reply, list, t, err), err));
    return note_differences(list, t, err);
}

static int look_all(struct sto_hbase_session *s, struct sto_thrift_request *r,
                    struct sto_hbase_table_list *list, struct ts_error *err)
{
    for (size_t i = 0; i < list->n; i++)
        TS_TRY(look(s, r, list, &list->tables[i], err));
    return 0;
}

/* --- creating --- */

static int exists(struct sto_hbase_session *s, struct sto_thrift_request *r, struct sto_hbase_table *t,
                  struct ts_error *err)
{
    struct sto_thrift_reply reply;
    (void)sto_thrift_call_table_exists(r, ts_slice_str(t->name));
    TS_TRY(sto_hbase_call(s, r, &reply, NULL, err));
    t->exists = sto_thrift_reply_bool(&reply);
    return 0;
}

static int create(struct sto_hbase_session *s, struct sto_thrift_request *r, struct sto_hbase_table *t,
                  struct ts_error *err)
{
    struct sto_thrift_reply reply;
    struct ts_error later = {0};
    TS_TRY(exists(s, r, t, err));
    t->existed = t->exists;
    if (t->exists)
        return 0;
    if (sto_thrift_call_create_table(r, ts_slice_str(t->name), t->wanted, t->n_wanted, t->splits,
                                     t->n_splits) < 0)
        return ts_error_set(err, TS_ELIMIT, "the request for table %s has too many split keys", t->name);
    int rc = sto_hbase_call(s, r, &reply, NULL, err);
    if (rc == 0 || rc == TS_ECANCELLED)
        return rc;
    /* the reply may have been lost, or another program may have been faster */
    if (exists(s, r, t, &later) == 0 && t->exists)
        return 0;
    return ts_error_wrap(err, "table %s was not created", t->name);
}

static int create_all(struct sto_hbase_session *s, struct sto_thrift_request *r,
                      struct sto_hbase_table_list *list, struct ts_error *err)
{
    for (size_t i = 0; i < list->n; i++)
        TS_TRY(create(s, r, &list->tables[i], err));
    return look_all(s, r, list, err);
}

static int with_session(struct sto_hbase_access *a, const struct sto_remote_call *call,
                        struct sto_hbase_table_list *list,
                        int (*work)(struct sto_hbase_session *s, struct sto_thrift_request *r,
                                    struct sto_hbase_table_list *list, struct ts_error *err),
                        struct ts_error *err)
{
    struct sto_hbase_session s;
    struct sto_thrift_request r;
    TS_TRY(sto_hbase_begin(a, call, &s, err));
    sto_thrift_request_init(&r, 0, NULL);
    int rc = work(&s, &r, list, err);
    sto_thrift_request_release(&r);
    sto_hbase_end(&s);
    return rc;
}

int sto_hbase_tables_look(struct sto_hbase_access *a, const struct sto_remote_call *call,
                          struct sto_hbase_table_list *list, struct ts_error *err)
{
    TS_TRY(with_session(a, call, list, look_all, err));
    for (size_t i = 0; i < list->n; i++)
        list->tables[i].existed = list->tables[i].exists;
    return 0;
}

int sto_hbase_tables_create(struct sto_hbase_access *a, const struct sto_remote_call *call,
                            struct sto_hbase_table_list *list, struct ts_error *err)
{
    return with_session(a, call, list, create_all, err);
}

int sto_hbase_gateway_probe(const struct sto_hbase_access_opts *opts, size_t gateway, const char *table,
                            struct ts_error *err)
{
    struct sto_thrift_client *c =
        sto_thrift_client_new(&(struct sto_thrift_client_opts){.gateways = &opts->gateways[gateway],
                                                               .n_gateways = 1,
                                                               .transport = opts->transport,
                                                               .tls = opts->tls,
                                                               .connect_timeout_ms = opts->timeout_ms,
                                                               .max_reply_bytes = 1 << 20});
    struct sto_thrift_wait wait = {.until_ns = ts_clock_mono_ns() + opts->timeout_ms * 1000000};
    struct sto_thrift_request r;
    struct sto_thrift_reply reply;
    sto_thrift_request_init(&r, 0, NULL);
    (void)sto_thrift_call_table_exists(&r, ts_slice_str(table));
    int rc = sto_thrift_client_call(c, &r, wait, &reply, NULL, err);
    sto_thrift_request_release(&r);
    sto_thrift_client_free(c);
    return sto_hbase_error(rc, err);
}

int sto_hbase_has_ids(struct sto_remote *r, const struct sto_remote_call *call, struct ts_error *err)
{
    struct sto_hbase *h = sto_hbase_of(r);
    struct sto_hbase_session s;
    struct sto_thrift_request request;
    struct sto_thrift_reply reply;
    TS_TRY(sto_hbase_begin(h->access, call, &s, err));
    sto_thrift_request_init(&request, 0, NULL);
    (void)sto_thrift_call_table_exists(&request, ts_slice_str(h->opts.tables.uid));
    int rc = sto_hbase_call(&s, &request, &reply, NULL, err);
    if (rc == 0)
        rc = sto_thrift_reply_bool(&reply);
    sto_thrift_request_release(&request);
    sto_hbase_end(&s);
    return rc;
}
