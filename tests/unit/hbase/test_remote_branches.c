/*
 * test_remote_branches.c - branches and leaves of trees are stored as OpenTSDB stores them, beside other writers; collisions and series that no rule matched.
 */
#include "tests/unit/hbase/check_kit.h"

#include "storage/hbase/remote/branches.h"

#include <limits.h>

#define N_OF(x) (sizeof(x) / sizeof *(x))

static struct sto_hbase_leaf_counts counts;
static const struct ts_slice series[] = {{"\0\0\1\0\0\1\0\0\1", 9}, {"\0\0\1\0\0\1\0\0\2", 9}};

/* The cell of a row is this text; "" if it does not exist. */
static void expect_cell(const char *row_hex, const char *qualifier_hex, const char *want)
{
    struct t_bytes row = t_hex(row_hex), q = t_hex(qualifier_hex);
    struct ts_buf out;
    ts_buf_init(&out, 0);
    (void)fake_hbase_get(t.fake, "tsdb-tree", t_slice(&row), "t", t_slice(&q), &out, NULL);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, want);
    ts_buf_release(&out);
}

static void put(const char *row_hex, const char *qualifier_hex, const char *value)
{
    struct t_bytes row = t_hex(row_hex), q = t_hex(qualifier_hex);
    fake_hbase_put(t.fake, "tsdb-tree", t_slice(&row), "t", t_slice(&q), ts_slice_str(value), 0);
}

#define BRANCH           "6272616E6368"
#define LEAF(hash)       "6C6561663A" hash
#define COLLISION(tsuid) "747265655F636F6C6C6973696F6E3A" tsuid
#define NO_MATCH(tsuid)  "747265655F6E6F745F6D6174636865643A" tsuid
#define DAL              "0001838F"
#define WEB01            "06BC4C55"
#define ONE              "000001000001000001"
#define TWO              "000001000001000002"
#define DOCUMENT(n, uid) "{\"displayName\":\"" n "\",\"tsuid\":\"" uid "\"}"

/* Names with the hashes that OpenTSDB gives them (docs/OPENTSDB.md, section 10.9). */
static const struct sto_hbase_path_name dal_web01[] = {{{"dal", 3}, 0x0001838f}, {{"web01", 5}, 0x06bc4c55}};

static struct sto_hbase_leaf leaf_of(const struct sto_hbase_path_name *names, size_t n, unsigned which)
{
    return (struct sto_hbase_leaf){.tree = 1,
                                   .stores_failures = true,
                                   .names = names,
                                   .n_names = n,
                                   .why = n ? TS_SLICE_LIT("") : TS_SLICE_LIT("No rule matched"),
                                   .tsuid = series[which],
                                   .counts = &counts};
}

static void store(const struct sto_hbase_leaf *leaves, size_t n)
{
    struct ts_error err = {0};
    counts = (struct sto_hbase_leaf_counts){0};
    if (sto_hbase_store_leaves(t.remote, leaves, n, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_remote_branches__a_leaf_and_its_branches(void **state)
{
    (void)state;
    open_store(PLAIN);
    struct sto_hbase_leaf leaf = leaf_of(dal_web01, 2, 0);
    store(&leaf, 1);
    assert_int_equal(counts.n_branches, 2);
    assert_int_equal(counts.n_leaves, 1);
    expect_cell("0001", BRANCH, "{\"path\":{\"0\":\"ROOT\"},\"displayName\":\"ROOT\"}");
    expect_cell("0001" DAL, BRANCH, "{\"path\":{\"0\":\"ROOT\",\"1\":\"dal\"},\"displayName\":\"dal\"}");
    expect_cell("0001" DAL, LEAF(WEB01), DOCUMENT("web01", ONE));
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb-tree"), 3);
    store(&leaf, 1); /* nothing is left to do */
    assert_int_equal(counts.n_branches + counts.n_leaves + counts.n_collisions, 0);
    assert_int_equal(counts.n_known, 1);
    leaf.n_names = 1; /* a leaf of the root, whose name is that of a branch */
    store(&leaf, 1);
    assert_int_equal(counts.n_branches, 0);
    assert_int_equal(counts.n_leaves, 1);
    expect_cell("0001", LEAF(DAL), DOCUMENT("dal", ONE));
    t_fetch_close(&t);
}

static void test_remote_branches__what_is_there_stays(void **state)
{
    (void)state;
    open_store(PLAIN);
    put("0001" DAL, BRANCH, "{\"displayName\":\"theirs\"}");
    put("0001" DAL, LEAF(WEB01), "{\"tsuid\":\"000001000001000001\",\"displayName\":\"theirs\"}");
    struct sto_hbase_leaf leaves[] = {leaf_of(dal_web01, 2, 0), leaf_of(dal_web01, 2, 1)};
    store(leaves, 2);
    assert_int_equal(counts.n_branches, 1); /* the root */
    assert_int_equal(counts.n_leaves, 0);
    assert_int_equal(counts.n_known, 1);
    assert_int_equal(counts.n_collisions, 1);
    expect_cell("0001" DAL, BRANCH, "{\"displayName\":\"theirs\"}");
    expect_cell("0001" DAL, LEAF(WEB01), "{\"tsuid\":\"000001000001000001\",\"displayName\":\"theirs\"}");
    expect_cell("000101", COLLISION(TWO), ONE);
    put("0001" DAL, LEAF(WEB01), "no document");
    store(leaves, 1);
    assert_int_equal(counts.n_damaged, 1);
    expect_cell("0001" DAL, LEAF(WEB01), "no document");
    t_fetch_close(&t);
}

static void test_remote_branches__failures(void **state)
{
    (void)state;
    open_store(PLAIN);
    struct sto_hbase_leaf leaves[] = {leaf_of(dal_web01, 2, 1), leaf_of(dal_web01, 2, 0),
                                      leaf_of(NULL, 0, 0)};
    for (int stores = 0; stores < 2; stores++) {
        for (size_t i = 0; i < N_OF(leaves); i++)
            leaves[i].stores_failures = stores;
        store(leaves, N_OF(leaves)); /* the first one gets the leaf */
        assert_int_equal(counts.n_leaves, !stores);
        assert_int_equal(counts.n_known, stores);
        assert_int_equal(counts.n_collisions, 1);
        assert_int_equal(counts.n_not_matched, 1);
        expect_cell("0001" DAL, LEAF(WEB01), DOCUMENT("web01", TWO));
        expect_cell("000101", COLLISION(ONE), stores ? TWO : "");
        expect_cell("000102", NO_MATCH(ONE), stores ? "No rule matched" : "");
    }
    put("000102", NO_MATCH(ONE), "another reason");
    store(leaves, N_OF(leaves));
    expect_cell("000102", NO_MATCH(ONE), "No rule matched");
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb-tree"), 5);
    t_fetch_close(&t);
}

/* Another writer stores the leaf for another series first. */
static void write_first(void *arg, const struct fake_hbase_request *r)
{
    int *n = arg;
    if (r->call != STO_THRIFT_CHECK_AND_PUT || ++*n != 3)
        return;
    put("0001" DAL, LEAF(WEB01), DOCUMENT("web01", TWO));
}

static void test_remote_branches__another_writer_is_not_overwritten(void **state)
{
    (void)state;
    open_store(PLAIN);
    int n = 0;
    fake_hbase_set_before(t.fake, write_first, &n);
    struct sto_hbase_leaf leaf = leaf_of(dal_web01, 2, 0);
    store(&leaf, 1);
    fake_hbase_set_before(t.fake, NULL, NULL);
    assert_int_equal(counts.n_branches, 2);
    assert_int_equal(counts.n_leaves, 0);
    assert_int_equal(counts.n_collisions, 1);
    expect_cell("0001" DAL, LEAF(WEB01), DOCUMENT("web01", TWO));
    expect_cell("000101", COLLISION(ONE), TWO);
    t_fetch_close(&t);
}

static void test_remote_branches__long_and_many_paths(void **state)
{
    (void)state;
    open_store(PLAIN);
    struct sto_hbase_path_name names[STO_HBASE_PATH_MAX_NAMES + 1];
    for (size_t i = 0; i < N_OF(names); i++)
        names[i] = (struct sto_hbase_path_name){{"a\"b", 3}, (uint32_t)i};
    struct sto_hbase_leaf leaf = leaf_of(names, N_OF(names), 0);
    store(&leaf, 1);
    assert_int_equal(counts.n_too_deep, 1);
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb-tree"), 0);
    leaf.n_names--;
    store(&leaf, 1);
    assert_int_equal(counts.n_branches, STO_HBASE_PATH_MAX_NAMES);
    assert_int_equal(counts.n_leaves, 1);
    expect_cell("000100000000", BRANCH,
                "{\"path\":{\"0\":\"ROOT\",\"1\":\"a\\\"b\"},\"displayName\":\"a\\\"b\"}");
    static struct sto_hbase_path_name many[1201][2];
    static struct sto_hbase_leaf leaves[1201]; /* more rows than a request looks up */
    for (size_t i = 0; i < N_OF(leaves); i++) {
        many[i][0] = (struct sto_hbase_path_name){{"b", 1}, (uint32_t)(1000 + i)};
        many[i][1] = (struct sto_hbase_path_name){{"l", 1}, 108};
        leaves[i] = leaf_of(many[i], 2, 0);
        leaves[i].tree = 2;
    }
    store(leaves, N_OF(leaves));
    assert_int_equal(counts.n_branches, N_OF(leaves) + 1);
    assert_int_equal(counts.n_leaves, N_OF(leaves));
    store(leaves, N_OF(leaves));
    assert_int_equal(counts.n_known, N_OF(leaves));
    t_fetch_close(&t);
}

/* --- series --- */

struct met {
    size_t n, n_pages;
    uint64_t sum; /* of ids of values */
    int rc;
};

static int on_series(void *arg, const struct sto_hbase_meta_series *list, size_t n, struct ts_error *err)
{
    struct met *m = arg;
    m->n_pages++;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(list[i].tsuid.n, 9);
        assert_true(list[i].ids.metric == 1 && list[i].ids.n_tags == 1);
        m->sum += list[i].ids.tag[0].v;
        m->n++;
    }
    return m->rc < 0 ? ts_error_set(err, m->rc, "enough") : 0;
}

static void test_remote_branches__all_series_with_metadata(void **state)
{
    (void)state;
    open_store(PLAIN);
    uint64_t sum = 0, n_bad = 0;
    struct met met = {.n = 0};
    struct ts_error err = {0};
    for (unsigned i = 1; i <= 1100; i++) { /* more than a page */
        char hex[32];
        (void)snprintf(hex, sizeof hex, "000001000001%06X", i);
        struct t_bytes row = t_hex(hex);
        fake_hbase_put(t.fake, "tsdb-meta", t_slice(&row), "name",
                       i % 10 ? TS_SLICE_LIT("ts_meta") : TS_SLICE_LIT("ts_ctr"), TS_SLICE_LIT("{}"), 0);
        sum += i % 10 ? i : 0;
    }
    fake_hbase_put(t.fake, "tsdb-meta", TS_SLICE_LIT("odd"), "name", TS_SLICE_LIT("ts_meta"),
                   TS_SLICE_LIT("{}"), 0);
    assert_int_equal(sto_hbase_each_meta_series(t.remote, NULL, on_series, &met, &n_bad, &err), 0);
    assert_int_equal(met.n, 990);
    assert_int_equal(met.sum, sum);
    assert_int_equal(n_bad, 1);
    met = (struct met){.rc = TS_ELIMIT};
    assert_int_equal(sto_hbase_each_meta_series(t.remote, NULL, on_series, &met, &n_bad, &err), TS_ELIMIT);
    assert_int_equal(met.n_pages, 1);
    assert_string_equal(err.text, "enough");
    t_fetch_close(&t);
}

static void test_remote_branches__errors_of_hbase(void **state)
{
    (void)state;
    open_store(PLAIN);
    struct sto_hbase_leaf leaf = leaf_of(dal_web01, 2, 0);
    struct ts_error err = {0};
    struct met met = {.n = 0};
    uint64_t n_bad = 0;
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + 300000000};
    fake_hbase_down(t.fake);
    int rc = sto_hbase_store_leaves(t.remote, &leaf, 1, &call, &err);
    assert_true((rc == TS_EBACKEND || rc == TS_ETIMEOUT) && err.text[0]);
    fake_hbase_up(t.fake);
    _Atomic bool cancel = true;
    call = (struct sto_remote_call){.cancel = &cancel};
    assert_int_equal(sto_hbase_store_leaves(t.remote, &leaf, 1, &call, &err), TS_ECANCELLED);
    assert_int_equal(sto_hbase_each_meta_series(t.remote, &call, on_series, &met, &n_bad, &err),
                     TS_ECANCELLED);
    for (unsigned skip = 0; skip < 5;
         skip++) { /* each call once: the lost reply was to a change that was made */
        fake_hbase_inject(t.fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_DROP_AFTER, .skip = skip});
        leaf.tree = (uint16_t)(skip + 1);
        store(&leaf, 1);
        assert_int_equal(counts.n_collisions, 0);
        fake_hbase_heal(t.fake);
    }
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb-tree"), 5 * 3);
    struct fake_hbase_plan plan = {
        .fault = FAKE_HBASE_OTHER_ORDER, .of_call = true, .call = STO_THRIFT_GET_MULTIPLE, .n = UINT_MAX};
    fake_hbase_inject(t.fake, plan);
    leaf.tree = 1;
    assert_int_equal(sto_hbase_store_leaves(t.remote, &leaf, 1, NULL, &err), TS_EBACKEND);
    assert_non_null(strstr(err.text, "another row"));
    t_fetch_close(&t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_branches__a_leaf_and_its_branches),
        cmocka_unit_test(test_remote_branches__what_is_there_stays),
        cmocka_unit_test(test_remote_branches__failures),
        cmocka_unit_test(test_remote_branches__another_writer_is_not_overwritten),
        cmocka_unit_test(test_remote_branches__long_and_many_paths),
        cmocka_unit_test(test_remote_branches__all_series_with_metadata),
        cmocka_unit_test(test_remote_branches__errors_of_hbase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
