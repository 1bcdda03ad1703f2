/*
 * test_memory_limit.c - what the machine has, the shares of it, JSON trees in their account.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "storage/store.h"
#include "tsd/daemon/memory.h"
#include "tsd/daemon/settings.h"

#define MIB ((uint64_t)1 << 20)

static char root[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/tsd-memory-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    char cmd[128];
    (void)state;
    snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
    return system(cmd);
}

/* A file below the root, with the folders above it. */
static void put(const char *path, const char *text)
{
    char cmd[512];
    snprintf(cmd, sizeof(cmd), "mkdir -p $(dirname %s/%s) && printf '%s' > %s/%s", root, path, text, root,
             path);
    assert_int_equal(system(cmd), 0);
}

static void test_memory_limit__machine_without_cgroups(void **state)
{
    (void)state;
    put("proc/meminfo", "MemFree: 7 kB\\nMemTotal:  2048 kB\\nSwapTotal: 9 kB\\n");
    assert_int_equal(tsd_memory_machine_bytes(root), 2 * MIB);
}

static void test_memory_limit__least_cgroup_above_us_counts(void **state)
{
    (void)state;
    put("proc/meminfo", "MemTotal: 1048576 kB\\n");
    put("proc/self/cgroup", "0::/a/b\\n");
    put("sys/fs/cgroup/a/b/memory.max", "max\\n");
    assert_int_equal(tsd_memory_machine_bytes(root), 1024 * MIB);
    put("sys/fs/cgroup/a/memory.max", "104857600\\n");
    assert_int_equal(tsd_memory_machine_bytes(root), 100 * MIB);
    put("sys/fs/cgroup/a/b/memory.max", "52428800\\n");
    assert_int_equal(tsd_memory_machine_bytes(root), 50 * MIB);
    put("sys/fs/cgroup/memory.max", "10485760\\n"); /* a container sees its own limit at the root */
    assert_int_equal(tsd_memory_machine_bytes(root), 10 * MIB);
}

static void test_memory_limit__cgroups_of_version_1(void **state)
{
    (void)state;
    put("proc/meminfo", "MemTotal: 1048576 kB\\n");
    put("proc/self/cgroup", "9:cpu,cpuacct:/x\\n7:memory:/m/n\\n0::/\\n");
    put("sys/fs/cgroup/memory/m/n/memory.limit_in_bytes", "9223372036854771712\\n");
    put("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "209715200\\n");
    assert_int_equal(tsd_memory_machine_bytes(root), 200 * MIB);
}

static void test_memory_limit__shares_of_a_small_limit_fit_into_it(void **state)
{
    static const uint64_t limits[] = {TSD_MEMORY_MIN_BYTES, 100 * MIB, 512 * MIB, 1024 * MIB,
                                      64 * 1024 * MIB};
    struct tsd_settings s;
    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        s = (struct tsd_settings){.memory_limit_bytes = limits[i]};
        tsd_memory_defaults(&s);
        uint64_t sum = s.query_total_bytes + s.http_body_total_bytes + s.reply_total_bytes +
                       s.stream_total_bytes + s.connection_total_bytes + s.series_cache_bytes +
                       2 * tsd_memory_memstore_bytes(&s) + tsd_memory_index_cache_bytes(&s) +
                       tsd_memory_merge_bytes(&s) + tsd_memory_counter_ids_bytes(&s);
        assert_true(sum <= limits[i] / 100 * 85); /* the rest is fragmentation */
        assert_true(s.query_max_bytes <= s.query_total_bytes / 2);
        assert_true(tsd_memory_memstore_bytes(&s) <= 32 * MIB);
    }
    s = (struct tsd_settings){.memory_limit_bytes = 512 * MIB};
    tsd_memory_defaults(&s);
    struct tsd_settings large = {.memory_limit_bytes = 64 * 1024 * MIB, .query_max_bytes = 7 * MIB};
    tsd_memory_defaults(&large);
    assert_int_equal(large.query_max_bytes, 7 * MIB); /* what is said stays */
    assert_int_equal(large.series_cache_bytes, 256 * MIB);
    assert_int_equal(tsd_memory_memstore_bytes(&large), 32 * MIB);
    assert_int_equal(tsd_memory_index_cache_bytes(&s), 32 * MIB);
    assert_int_equal(tsd_memory_index_cache_bytes(&large), 256 * MIB);
    assert_int_equal(tsd_memory_merge_bytes(&s), 16 * MIB);
    assert_int_equal(tsd_memory_merge_bytes(&large), 32 * MIB);
}

static void test_memory_limit__accounts_count_in_the_process(void **state)
{
    static struct tsd_memory m;
    struct tsd_settings s = {.memory_limit_bytes = 100 * MIB,
                             .query_total_bytes = 90 * MIB,
                             .reply_total_bytes = MIB,
                             .stream_total_bytes = MIB,
                             .connection_total_bytes = MIB};
    struct ts_error err = {0};
    (void)state;
    tsd_memory_defaults(&s);
    tsd_memory_init(&m, &s);
    struct ts_budget *queries = tsd_memory_account(&m, TSD_MEM_QUERIES);
    assert_int_equal(ts_budget_take(queries, 86 * MIB, &err), TS_ELIMIT); /* 15 % stay free */
    assert_non_null(strstr(err.text, "memory_limit"));
    uint64_t reserved = atomic_load(&m.accounts[TSD_MEM_PROCESS].used_bytes);
    assert_int_equal(ts_budget_take(queries, 76 * MIB, &err), 0);
    assert_int_equal(ts_budget_take(tsd_memory_account(&m, TSD_MEM_BODIES), 12 * MIB, &err), TS_ELIMIT);
    ts_budget_give(queries, 76 * MIB);
    assert_int_equal(atomic_load(&m.accounts[TSD_MEM_PROCESS].used_bytes), reserved);
}

static void test_memory_limit__growth_leaves_the_part_of_clients_alone(void **state)
{
    static struct tsd_memory m;
    static const enum tsd_account clients[] = {TSD_MEM_REPLIES, TSD_MEM_STREAMS, TSD_MEM_CONNECTIONS};
    struct tsd_settings s = {.memory_limit_bytes = 64 * MIB};
    struct ts_error err = {0};
    (void)state;
    tsd_memory_defaults(&s);
    tsd_memory_init(&m, &s);
    assert_true(tsd_memory_name_bytes(&s) < 20 * MIB);
    for (int i = TSD_MEM_MEMSTORES; i <= TSD_MEM_FILES; i++)
        ts_budget_report(&m.accounts[i], 1024 * MIB);
    struct ts_budget *queries = &m.accounts[TSD_MEM_QUERIES];
    assert_int_equal(ts_budget_take(queries, queries->reserved_bytes + 1, &err), TS_ELIMIT);
    uint64_t sum = m.accounts[TSD_MEM_PROCESS].limit_bytes;
    for (int i = 0; i < 3; i++) {
        struct ts_budget *account = tsd_memory_account(&m, clients[i]);
        assert_int_equal(ts_budget_take(account, account->limit_bytes, &err), 0);
        assert_int_equal(ts_budget_take(account, 1, &err), TS_ELIMIT); /* and each leaves the others theirs */
        sum += account->limit_bytes;
    }
    assert_true(sum <= 64 * MIB / 100 * 85);
    s.reply_total_bytes = 1024 * MIB; /* more than there is: half is left for work */
    tsd_memory_init(&m, &s);
    assert_true(m.accounts[TSD_MEM_PROCESS].limit_bytes >= 64 * MIB / 100 * 85 / 2);
}

/* Queries and names at their limits: bodies of the usual size are taken, and a larger one is refused with what is really full. */
static void test_memory_limit__bodies_have_a_reserve(void **state)
{
    static struct tsd_memory m;
    struct tsd_settings s = {.memory_limit_bytes = 64 * MIB};
    struct ts_error err = {0};
    (void)state;
    tsd_memory_defaults(&s);
    tsd_memory_init(&m, &s);
    struct ts_budget *bodies = &m.accounts[TSD_MEM_BODIES], *queries = &m.accounts[TSD_MEM_QUERIES];
    assert_int_equal(ts_budget_take(queries, queries->limit_bytes, NULL), 0);
    ts_budget_report(&m.accounts[TSD_MEM_NAMES], 12 * MIB);
    ts_budget_report(&m.accounts[TSD_MEM_MEMSTORES], 16 * MIB);
    assert_int_equal(ts_budget_room(&m.accounts[TSD_MEM_PROCESS]), 0);
    assert_int_equal(ts_budget_take(bodies, 2 * MIB, NULL), 0);
    assert_int_equal(ts_budget_take(bodies, 2 * MIB, NULL), TS_ELIMIT);
    assert_int_equal(atomic_load(&bodies->n_refused), 0);
    assert_int_equal(atomic_load(&m.accounts[TSD_MEM_PROCESS].n_refused), 1);
    assert_int_equal(tsd_memory_no_body(&m, bodies, 2 * MIB, &err), TS_ENOMEM);
    assert_non_null(strstr(err.text, "query_total_bytes"));
    assert_non_null(strstr(err.text, "memory_limit"));
    ts_budget_give_all(queries);
    while (ts_budget_take(bodies, 4096, NULL) == 0)
        ;
    assert_int_equal(tsd_memory_no_body(&m, bodies, 4096, &err), TS_ENOMEM);
    assert_non_null(strstr(err.text, "(http_body_total_bytes)"));
    assert_int_equal(tsd_memory_no_body(&m, bodies, bodies->limit_bytes, &err), TS_ENOMEM);
    assert_int_equal(tsd_memory_no_body(&m, bodies, bodies->limit_bytes + 1, &err),
                     TS_ELIMIT); /* never fits */
    assert_non_null(strstr(err.text, "http_body_total_bytes"));
    struct tsd_settings wide = {.memory_limit_bytes = 64 * MIB, .query_total_bytes = 1024 * MIB};
    tsd_memory_defaults(&wide); /* what is reserved is bounded, whatever a limit says */
    tsd_memory_init(&m, &wide);
    assert_true(ts_budget_room(&m.accounts[TSD_MEM_PROCESS]) > 32 * MIB);
}

static void test_memory_limit__json_trees_are_counted_and_refused(void **state)
{
    static struct tsd_memory m;
    struct tsd_settings s = {.memory_limit_bytes = 100 * MIB, .http_body_total_bytes = MIB};
    struct ts_error err = {0};
    json_t *tree;
    (void)state;
    tsd_memory_defaults(&s);
    tsd_memory_init(&m, &s);
    tsd_memory_setup_allocator(&m, &s);
    assert_int_equal(ts_json_load(TS_SLICE_LIT("{\"a\":[1,2,3]}"), &tree, &err), 0);
    assert_true(atomic_load(&m.accounts[TSD_MEM_JSON].used_bytes) > 100);
    assert_int_equal(atomic_load(&m.accounts[TSD_MEM_JSON].used_bytes),
                     atomic_load(&m.accounts[TSD_MEM_BODIES].used_bytes));
    json_decref(tree);
    assert_int_equal(atomic_load(&m.accounts[TSD_MEM_JSON].used_bytes), 0);
    struct ts_buf b;
    ts_buf_init(&b, 0);
    ts_buf_str(&b, "[0");
    for (int i = 0; i < 100000; i++)
        ts_buf_str(&b, ",[]");
    ts_buf_str(&b, "]");
    assert_true(ts_json_load(ts_buf_get(&b), &tree, &err) < 0);
    ts_buf_release(&b);
    assert_int_equal(atomic_load(&m.accounts[TSD_MEM_JSON].used_bytes), 0);
    assert_true(atomic_load(&m.accounts[TSD_MEM_JSON].n_refused) > 0);
    /* large trees leave room for those of small bodies */
    json_t *small;
    assert_int_equal(ts_budget_take(&m.accounts[TSD_MEM_JSON], MIB / 4 * 3 / 4 * 3, NULL), 0);
    ts_json_small(false);
    assert_true(ts_json_load(TS_SLICE_LIT("{\"a\":[1,2,3]}"), &small, &err) < 0);
    ts_json_small(true);
    assert_int_equal(ts_json_load(TS_SLICE_LIT("{\"a\":[1,2,3]}"), &small, &err), 0);
    json_decref(small);
    tsd_memory_reset_allocator();
    uint64_t used = atomic_load(&m.accounts[TSD_MEM_JSON].used_bytes);
    assert_int_equal(ts_json_load(TS_SLICE_LIT("[1,2,3]"), &tree, &err), 0);
    assert_int_equal(atomic_load(&m.accounts[TSD_MEM_JSON].used_bytes), used);
    json_decref(tree);
}

/* Texts of growing length, begin and end around n times fill: each is loaded within the account or refused, and leaves nothing there. Returns how many were
 * loaded. */
static size_t load_growing(const char *begin, const char *fill, const char *end, size_t *out_refused)
{
    struct ts_budget account;
    size_t n_loaded = 0;
    ts_budget_init(&account, "json", "http_body_total_bytes", NULL, 3 * MIB / 2);
    ts_json_count_in(&account);
    *out_refused = 0;
    for (size_t n = 1; n < 2 * MIB / strlen(fill); n += n / 8 + 1) {
        struct ts_error err = {0};
        json_t *tree = NULL;
        struct ts_buf b;
        ts_buf_init(&b, 0);
        ts_buf_str(&b, begin);
        for (size_t i = 0; i < n; i++)
            ts_buf_str(&b, fill);
        ts_buf_str(&b, end);
        int rc = ts_json_load(ts_buf_get(&b), &tree, &err);
        ts_buf_release(&b);
        n_loaded += rc == 0;
        *out_refused += rc == TS_ELIMIT && strstr(err.text, "http_body_total_bytes"); /* it never fits */
        json_t *text = json_object_get(tree, "a");
        if (json_is_string(text))
            assert_int_equal(json_string_length(text), n * strlen(fill));
        json_decref(tree);
        assert_int_equal(atomic_load(&account.used_bytes), 0);
        if (atomic_load(&account.peak_bytes) > account.limit_bytes)
            fail_msg("%zu times %s: %llu bytes", n, fill,
                     (unsigned long long)atomic_load(&account.peak_bytes));
    }
    ts_json_count_in(NULL);
    return n_loaded;
}

/* A text is loaded as it is or not at all, whatever its strings and its account: the parser must not meet a refusal within a string. */
static void test_memory_limit__strings_are_whole_or_refused(void **state)
{
    size_t n_refused;
    (void)state;
    assert_true(load_growing("{\"a\":\"", "abcdefghijk", "\"}", &n_refused) > 20 && n_refused > 3);
    assert_true(load_growing("{\"a\":\"", "[1,2]:{3,4}", "\"}", &n_refused) > 20 && n_refused > 3);
    assert_true(load_growing("{\"a", "abcdefghijk", "\":1}", &n_refused) > 20 && n_refused > 3);
    /* what is no JSON is read to its end as well */
    assert_true(load_growing("{\"a\":\"", "abcdefghijk", "", &n_refused) == 0 && n_refused > 3);
    assert_true(load_growing("[", "12345678901", "]", &n_refused) < 4 && n_refused > 3);
}

/* Containers and values of arrays fit into what is taken for a text before it is loaded. */
static void test_memory_limit__values_fit_into_what_is_taken(void **state)
{
    static const char *const fills[] = {
        ",1",
        ",[]",
        ",{}",
        ",\"b\"",
        ",1.5",
        ",[[[1]]]",
        ",{\"a\":1}",
        ",{\"a\":\"b\"}",
        ",{\"a\":{\"b\":\"c\"}}",
        ",{\"a\":{\"b\":{\"c\":{\"d\":{}}}}}",
        ",{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9}"};
    size_t n_refused;
    (void)state;
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++)
        assert_true(load_growing("[0", fills[i], "]", &n_refused) > 20 && n_refused > 3);
}

/* Members of one object, whose table grows: the least account that a text is loaded with is enough for it. */
static void test_memory_limit__members_fit_into_what_is_taken(void **state)
{
    (void)state;
    for (size_t k = 0; k < 13 * 8; k++) { /* the table doubles at powers of 2 */
        size_t n = (((8 + k % 8) << k / 8) >> 3) + (k % 8 == 0);
        struct ts_budget account;
        struct ts_error err = {0};
        json_t *tree = NULL;
        struct ts_buf b;
        ts_buf_init(&b, 0);
        for (size_t i = 0; i < n; i++)
            ts_buf_printf(&b, "%s\"%zu\":\"\"", i ? "," : "{", i);
        ts_buf_char(&b, '}');
        for (uint64_t limit = 4096 + n * 100; !tree; limit += limit / 64) {
            assert_true(limit < 8192 + n * 1000);
            ts_budget_init(&account, "json", "http_body_total_bytes", NULL, limit);
            ts_json_count_in(&account);
            (void)ts_json_load(ts_buf_get(&b), &tree, &err);
        }
        ts_buf_release(&b);
        json_decref(tree);
        if (atomic_load(&account.peak_bytes) > account.limit_bytes)
            fail_msg("%zu members: %llu bytes, limit %llu", n,
                     (unsigned long long)atomic_load(&account.peak_bytes),
                     (unsigned long long)account.limit_bytes);
    }
    ts_json_count_in(NULL);
}

/* Only trees that are made while the account is set are counted in it; a large body that is refused is counted as a refusal. */
static void test_memory_limit__refusals_of_trees_are_counted(void **state)
{
    struct ts_budget account;
    struct ts_error err = {0};
    json_t *tree;
    (void)state;
    ts_budget_init(&account, "json", "http_body_total_bytes", NULL, MIB);
    ts_json_count_in(&account);
    ts_budget_force(&account, MIB / 4 * 3);
    ts_json_small(false);
    assert_int_equal(ts_json_load(TS_SLICE_LIT("[1,2,3]"), &tree, &err), TS_ENOMEM);
    ts_json_small(true);
    assert_int_equal(atomic_load(&account.n_refused), 1);
    assert_int_equal(ts_json_load(TS_SLICE_LIT("[1,2,3]"), &tree, &err), 0);
    json_decref(tree);
    assert_int_equal(atomic_load(&account.used_bytes), MIB / 4 * 3);
    ts_json_count_in(NULL);
    assert_int_equal(ts_json_load(TS_SLICE_LIT("[1,2,3]"), &tree, &err), 0);
    assert_int_equal(atomic_load(&account.used_bytes), MIB / 4 * 3);
    json_decref(tree);
    assert_int_equal(atomic_load(&account.used_bytes), MIB / 4 * 3);
}

static void test_memory_limit__large_uses_are_followed_by_one_trim(void **state)
{
    static struct tsd_memory m;
    (void)state;
    tsd_memory_ended(&m, MIB);
    assert_false(tsd_memory_trim_due(&m));
    tsd_memory_ended(&m, 100 * MIB);
    assert_true(tsd_memory_trim_due(&m));
    tsd_memory_ended(&m, 100 * MIB);
    assert_false(tsd_memory_trim_due(&m)); /* not so soon after the last one */
    m.trimmed_ns = 0;
    assert_true(tsd_memory_trim_due(&m));
    assert_false(tsd_memory_trim_due(&m));
    tsd_memory_trim(NULL);
}

/* What the store itself says of the memory of some of its parts. */
struct measured {
    const char *const *names; /* of the parts, up to NULL */
    uint64_t sum;
    unsigned n; /* parts that are not empty */
};

static void measure(void *arg, const char *name, uint64_t value)
{
    struct measured *m = arg;
    for (const char *const *p = m->names; *p; p++)
        if (!strcmp(name, *p)) {
            m->sum += value;
            m->n += value > 0;
        }
}

static void put_point(struct sto_store *st, int64_t t_ms, enum sto_level level)
{
    struct sto_tag_text tag = {TS_SLICE_LIT("a"), TS_SLICE_LIT("b")};
    const struct sto_series *series;
    struct ts_error err = {0};
    assert_int_equal(
        sto_series_resolve(sto_store_catalog(st), TS_SLICE_LIT("m a=b"), 1, &tag, 1, true, &series, &err), 0);
    assert_int_equal(
        sto_put(sto_writer(st, 0), series, t_ms, (struct ts_num){.m = 1, .kind = TS_NUM_INT}, false), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, level, &err), 0);
}

/* An increment with an id. */
static void add_once(struct sto_store *st)
{
    const struct sto_stream stream = {.id = {(uint64_t)(ts_clock_ms() / 1000), 1},
                                      .number = sto_writer_stream(sto_writer(st, 0))};
    struct sto_tag_text tag = {TS_SLICE_LIT("a"), TS_SLICE_LIT("b")};
    const struct sto_series *series;
    struct ts_error err = {0};
    assert_int_equal(
        sto_series_resolve(sto_store_catalog(st), TS_SLICE_LIT("m a=b"), 1, &tag, 1, true, &series, &err), 0);
    struct sto_batch *b = sto_writer_batch_part(sto_writer(st, 0), series, &stream, 1);
    assert_true(b && sto_batch_part(b, &stream, 1, 1));
    b->points[b->n++] = (struct sto_point){
        .series = series, .m = 1, .flags = sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false)};
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_LOG, &err), 0);
}

/* Read all points of the series, so that its file's index is looked at. */
static void read_points(struct sto_store *st)
{
    const struct sto_series *series = sto_series_get(sto_store_catalog(st), 0);
    struct sto_scan_spec spec = {.metric = series->metric,
                                 .series = &series,
                                 .n_series = 1,
                                 .from_ms = 0,
                                 .to_ms = STO_MAX_TS_MS,
                                 .final = true};
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_merge *scan = NULL;
    struct sto_row row;
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    while (sto_merge_next(scan, &row, NULL) == 1)
        ;
    sto_merge_free(scan);
    sto_snap_release(snap);
}

static void test_memory_limit__what_a_store_holds_is_measured(void **state)
{
    static const char *const
        live[] = {"memstore.bytes", NULL},
        *const snapshots[] = {"memstore.snapshot_bytes", NULL},
        *const names[] = {"catalog.names_bytes", "catalog.series_bytes", "catalog.index_bytes", "cells.bytes",
                          NULL},
        *const files[] = {"files.index_bytes", NULL}, *const index_cache[] = {"index_cache.bytes", NULL},
        *const decoders[] = {"decoders.bytes", NULL}, *const ids[] = {"counters.ids_bytes", NULL};
    static const struct {
        enum tsd_account account;
        const char *const *names;
        unsigned n; /* of names: each must be there */
    } rows[] = {
        {TSD_MEM_MEMSTORES, live, 1}, {TSD_MEM_SNAPSHOTS, snapshots, 1},     {TSD_MEM_NAMES, names, 4},
        {TSD_MEM_FILES, files, 1},    {TSD_MEM_INDEX_CACHE, index_cache, 1}, {TSD_MEM_DECODERS, decoders, 1},
        {TSD_MEM_COUNTER_IDS, ids, 1}};
    static struct tsd_memory m;
    struct tsd_settings s = {.memory_limit_bytes = 512 * MIB};
    struct sto_opts opts = {
        .dir = root, .create = true, .n_writers = 1, .own_threads = true, .no_background = true};
    struct sto_store *st;
    struct ts_error err = {0};
    (void)state;
    tsd_memory_defaults(&s);
    tsd_memory_init(&m, &s);
    uint64_t reserved =
        atomic_load(&m.accounts[TSD_MEM_PROCESS].used_bytes); /* for accounts that use nothing yet */
    assert_int_equal(sto_open(&opts, &st, &err), 0);
    put_point(st, 1500000000000, STO_LEVEL_LOG);
    assert_int_equal(sto_cell_put(st, TS_SLICE_LIT("key"), TS_SLICE_LIT("value"), &err), 0);
    struct sto_snap *snap = sto_snap_take(st); /* holds what the flush lets go of */
    put_point(st, 1500000001000, STO_LEVEL_FILES);
    put_point(st, 1500000002000, STO_LEVEL_LOG);
    add_once(st);
    read_points(st);
    tsd_memory_look(&m, st, 12345);
    uint64_t sum = 12345;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct measured now = {.names = rows[i].names};
        sto_stats(st, measure, &now);
        assert_int_equal(now.n, rows[i].n);
        assert_int_equal(atomic_load(&m.accounts[rows[i].account].used_bytes), now.sum);
        sum += now.sum;
    }
    assert_int_equal(atomic_load(&m.accounts[TSD_MEM_SERIES_CACHE].used_bytes), 12345);
    assert_int_equal(atomic_load(&m.accounts[TSD_MEM_PROCESS].used_bytes), reserved + sum);
    sto_snap_release(snap);
    tsd_memory_look(&m, st, 0);
    assert_int_equal(atomic_load(&m.accounts[TSD_MEM_SNAPSHOTS].used_bytes), 0);
    assert_int_equal(sto_close(st, &err), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_memory_limit__machine_without_cgroups),
        CASE(test_memory_limit__least_cgroup_above_us_counts),
        CASE(test_memory_limit__cgroups_of_version_1),
        CASE(test_memory_limit__shares_of_a_small_limit_fit_into_it),
        CASE(test_memory_limit__accounts_count_in_the_process),
        CASE(test_memory_limit__growth_leaves_the_part_of_clients_alone),
        CASE(test_memory_limit__bodies_have_a_reserve),
        CASE(test_memory_limit__json_trees_are_counted_and_refused),
        CASE(test_memory_limit__strings_are_whole_or_refused),
        CASE(test_memory_limit__values_fit_into_what_is_taken),
        CASE(test_memory_limit__members_fit_into_what_is_taken),
        CASE(test_memory_limit__refusals_of_trees_are_counted),
        CASE(test_memory_limit__what_a_store_holds_is_measured),
        CASE(test_memory_limit__large_uses_are_followed_by_one_trim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
