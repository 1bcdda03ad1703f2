/*
 * test_remote_trees.c - trees in tsdb-tree: OpenTSDB's bytes, its own trees, changes beside it, and faults.
 */
#include "tests/unit/hbase/ship_kit.h"

#include "storage/hbase/treetable.h"
#include "storage/remote_cell.h"

#define ROW  TS_SLICE_LIT("\0\3") /* of tree 3 */
#define TREE "1{\"name\":\"Hosts\",\"strictMatch\":true,\"enabled\":true,\"created\":1795226522,\"rules\":["
#define RULE "{\"level\":0,\"order\":1,\"type\":\"TAGK\",\"field\":\"dc\",\"regexGroupIdx\":2}"
#define MORE "{\"level\":1,\"order\":0,\"type\":\"METRIC\",\"separator\":\"\\\\.\"}"
#define TREE_DOC                                                                                             \
    "{\"name\":\"Hosts\",\"description\":\"\",\"notes\":\"\",\"strictMatch\":true,\"created\":1795226522,"   \
    "\"enabled\":true,\"storeFailures\":false}"
#define RULE_DOC                                                                                             \
    "{\"type\":\"TAGK\",\"field\":\"dc\",\"regex\":\"\",\"separator\":\"\",\"description\":\"\",\"notes\":"  \
    "\"\","                                                                                                  \
    "\"level\":0,\"order\":1,\"treeId\":3,\"customField\":\"\",\"regexGroupIdx\":2,\"displayFormat\":\"\"}"

static struct ts_buf key_bytes;

static struct ts_slice key_of(uint16_t tree)
{
    struct sto_remote_tag tags[STO_REMOTE_CELL_MAX_TAGS];
    struct sto_remote_cell again;
    ts_buf_clear(&key_bytes);
    assert_int_equal(
        sto_remote_cell_key(&(struct sto_remote_cell){.kind = STO_REMOTE_TREE, .tree = tree}, &key_bytes), 0);
    assert_int_equal(sto_remote_cell_parse(ts_buf_get(&key_bytes), tags, &again), 0);
    assert_true(again.kind == STO_REMOTE_TREE && again.tree == tree);
    for (size_t n = 0; n < key_bytes.n; n++)
        assert_int_equal(sto_remote_cell_parse((struct ts_slice){key_bytes.p, n}, tags, &again), TS_EPARSE);
    return ts_buf_get(&key_bytes);
}

static int cas(const char *expected, const char *value)
{
    struct ts_error err = {0};
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + 30000000000ll};
    int rc = k_remote->ops->cell_cas(k_remote, key_of(3), ts_slice_str(expected), ts_slice_str(value), &call,
                                     &err);
    if (rc < 0)
        assert_true(*err.text);
    if (rc < 0 && rc != TS_EEXIST && rc != TS_EINVAL)
        fail_msg("%d %s", rc, err.text);
    return rc;
}

/* The record of tree 3; "" if there is none. */
static const char *get(void)
{
    static char text[4096];
    struct ts_buf out;
    struct ts_error err = {0};
    ts_buf_init(&out, 0);
    int rc = k_remote->ops->cell_get(k_remote, key_of(3), NULL, &out, &err);
    if (rc < 0 && rc != TS_ENOTFOUND)
        fail_msg("%s", err.text);
    (void)snprintf(text, sizeof text, "%.*s", (int)out.n, rc == 0 ? out.p : "");
    ts_buf_release(&out);
    return text;
}

static void expect(const char *qualifier, const char *want)
{
    struct ts_buf out;
    ts_buf_init(&out, 0);
    bool found = fake_hbase_get(k_fake, "tsdb-tree", ROW, "t", ts_slice_str(qualifier), &out, NULL);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, want);
    assert_true(found == (*want != 0));
    ts_buf_release(&out);
}

static void put(struct ts_slice row, const char *qualifier, const char *value)
{
    fake_hbase_put(k_fake, "tsdb-tree", row, "t", ts_slice_str(qualifier), ts_slice_str(value), 0);
}

static void test_remote_trees__trees_have_opentsdb_s_bytes(void **state)
{
    (void)state;
    k_open(false, false);
    assert_string_equal(get(), "");
    assert_int_equal(cas("", TREE RULE "]}"), 0);
    expect("tree", TREE_DOC);
    expect("tree_rule:0:1", RULE_DOC);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb-tree"), 2);
    assert_int_equal(cas("", TREE RULE "]}"), TS_EEXIST);
    assert_int_equal(cas(TREE RULE "]}", TREE RULE "]}"), 0);
    assert_string_equal(
        get(),
        "1{\"created\":1795226522,\"description\":\"\",\"enabled\":true,\"name\":\"Hosts\",\"notes\":\"\","
        "\"rules\":[{\"customField\":\"\",\"description\":\"\",\"displayFormat\":\"\",\"field\":\"dc\","
        "\"level\":0,"
        "\"notes\":\"\",\"order\":1,\"regex\":\"\",\"regexGroupIdx\":2,\"separator\":\"\",\"type\":\"TAGK\"}]"
        ","
        "\"storeFailures\":false,\"strictMatch\":true}");
    /* one cell is written for one rule, and only what differs */
    uint64_t n = fake_hbase_count(k_fake, STO_THRIFT_CHECK_AND_PUT);
    assert_int_equal(cas(TREE RULE "]}", TREE RULE "," MORE "]}"), 0);
    assert_int_equal(fake_hbase_count(k_fake, STO_THRIFT_CHECK_AND_PUT), n + 1);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb-tree"), 3);
    /* rules in any order are the same tree; several changes at once */
    assert_int_equal(cas(TREE MORE "," RULE "]}", "1{\"name\":\"H\",\"rules\":[" MORE "]}"), 0);
    expect("tree_rule:0:1", "");
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb-tree"), 2);
    assert_int_equal(cas("1{\"name\":\"H\",\"rules\":[" MORE "]}", ""), 0);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb-tree"), 0);
    assert_string_equal(get(), "");
    assert_int_equal(cas("1{\"name\":\"H\"}", ""), TS_EEXIST);
}

static void test_remote_trees__what_opentsdb_wrote_is_read_and_changed(void **state)
{
    (void)state;
    k_open(false, false);
    put(ROW, "tree_rule:1:0", "{\"type\":\"METRIC\"}"); /* left over from a tree that was deleted */
    assert_string_equal(get(), "");
    assert_int_equal(cas("", TREE RULE "]}"), 0); /* which a new one does not take over */
    expect("tree_rule:1:0", "");
    assert_int_equal(cas(TREE RULE "]}", ""), 0);
    put(ROW, "tree_rule:1:0", "{\"type\":\"METRIC\"}");
    put(ROW, "tree", "{ \"enabled\":true, \"name\":\"Theirs\", \"later\":1 }");
    put(ROW, "tree_rule:0:0", "{\"treeId\":3,\"order\":0,\"level\":0,\"field\":\"h\",\"type\":\"TAGK\"}");
    put(ROW, "branch", "{\"path\":{\"0\":\"ROOT\"},\"displayName\":\"ROOT\"}");
    put(ROW, "leaf:abcd", "{}");
    put(ROW, "tree_rule:01:0", "no rule");
    assert_non_null(strstr(get(), "\"name\":\"Theirs\""));
    char was[4096];
    (void)snprintf(was, sizeof was, "%s", get());
    assert_int_equal(cas(was, "1{\"name\":\"Theirs\",\"enabled\":true,\"rules\":[{\"level\":0,\"order\":0,"
                              "\"type\":\"TAGK\",\"field\":\"h\"}]}"),
                     0);
    expect("tree", "{ \"enabled\":true, \"name\":\"Theirs\", \"later\":1 }"); /* it says the same */
    expect("tree_rule:1:0", "");
    assert_int_equal(cas(get(), ""), 0);
    expect("tree", "");
    expect("branch", "{\"path\":{\"0\":\"ROOT\"},\"displayName\":\"ROOT\"}"); /* the rest of the row stays */
    expect("leaf:abcd", "{}");
    put(ROW, "tree", "{\"name\":7}");
    struct ts_error err = {0};
    struct ts_buf out;
    ts_buf_init(&out, 0);
    assert_int_equal(k_remote->ops->cell_get(k_remote, key_of(3), NULL, &out, &err), TS_EBACKEND);
    assert_non_null(strstr(err.text, "the column tree of tree 3 in table tsdb-tree"));
    ts_buf_release(&out);
}

static void test_remote_trees__records_that_are_no_trees_are_refused(void **state)
{
    static const char *const bad[] = {
        "1{\"rules\":[{\"level\":-1}]}",
        "1{\"rules\":[{\"level\":65536}]}",
        "1{\"rules\":[{\"order\":\"1\"}]}",
        "1{\"rules\":[7]}",
        "1{\"rules\":[{\"level\":1},{\"level\":1,\"order\":0}]}",
        "1{\"name\":1}",
        "1{\"enabled\":1}",
        "2{}",
        "1",
    };
    (void)state;
    k_open(false, false);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (cas("", bad[i]) != TS_EINVAL)
            fail_msg("%s", bad[i]);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb-tree"), 0);
}

/* Another writer changes a cell between reading and writing. */
struct other {
    const char *qualifier, *value;
    int left; /* times it does so */
};

static void write_between(void *arg, const struct fake_hbase_request *r)
{
    struct other *o = arg;
    if (!r->family.n || o->left == 0)
        return;
    o->left--;
    put(ROW, o->qualifier, o->value);
}

static void test_remote_trees__another_writer_between_read_and_write(void **state)
{
    (void)state;
    k_open(false, false);
    assert_int_equal(cas("", TREE RULE "]}"), 0);
    struct other o = {"tree_rule:0:1", "{\"type\":\"TAGK\",\"field\":\"theirs\"}", 1};
    fake_hbase_set_before(k_fake, write_between, &o);
    assert_int_equal(
        cas(TREE RULE "]}", TREE "{\"level\":0,\"order\":1,\"type\":\"TAGK\",\"field\":\"ours\"}]}"),
        TS_EEXIST);
    expect("tree_rule:0:1", o.value);
    /* another rule, meanwhile: both changes stay */
    char was[4096];
    (void)snprintf(was, sizeof was, "%s", get());
    o = (struct other){"tree_rule:5:0", "{\"type\":\"METRIC\"}", 1};
    assert_int_equal(cas(was, TREE "{\"level\":0,\"order\":1,\"type\":\"TAGK\",\"field\":\"ours\"}]}"), 0);
    assert_int_equal(o.left, 0);
    expect("tree_rule:5:0", "{\"type\":\"METRIC\"}");
    assert_non_null(strstr(get(), "\"field\":\"ours\""));
    /* the definition of a tree that two writers make */
    assert_int_equal(cas(get(), ""), 0);
    o = (struct other){"tree", "{\"name\":\"Theirs\"}", 1};
    assert_int_equal(cas("", TREE RULE "]}"), TS_EEXIST);
    expect("tree", "{\"name\":\"Theirs\"}");
    expect("tree_rule:0:1", "");
    fake_hbase_set_before(k_fake, NULL, NULL);
}

static void test_remote_trees__faults_of_changes(void **state)
{
    (void)state;
    static const enum fake_hbase_fault faults[] = {FAKE_HBASE_GARBAGE, FAKE_HBASE_HALF};
    k_open(false, false);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        for (unsigned skip = 0; skip < 2; skip++) {
            struct fake_hbase_plan plan = {.fault = faults[i], .skip = skip};
            fake_hbase_inject(k_fake, plan);
            assert_int_equal(cas("", TREE RULE "," MORE "]}"), 0);
            fake_hbase_heal(k_fake);
            expect("tree", TREE_DOC);
            fake_hbase_inject(k_fake, plan);
            assert_int_equal(cas(TREE RULE "," MORE "]}", ""), 0);
            fake_hbase_heal(k_fake);
            assert_int_equal(fake_hbase_cells(k_fake, "tsdb-tree"), 0);
        }
    fake_hbase_down(k_fake);
    struct ts_error err = {0};
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + 200000000};
    int rc =
        k_remote->ops->cell_cas(k_remote, key_of(3), TS_SLICE_LIT(""), TS_SLICE_LIT(TREE "]}"), &call, &err);
    assert_true(rc == TS_EBACKEND || rc == TS_ETIMEOUT);
    fake_hbase_up(k_fake);
}

static bool add_id(void *arg, uint16_t id)
{
    struct ts_buf *out = arg;
    ts_buf_printf(out, "%u ", id);
    return out->n < 20;
}

static void expect_trees(const char *want)
{
    struct ts_buf out;
    struct ts_error err = {0};
    ts_buf_init(&out, 0);
    if (k_remote->ops->trees(k_remote, NULL, add_id, &out, &err) < 0)
        fail_msg("%s", err.text);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, want);
    ts_buf_release(&out);
}

static void test_remote_trees__the_list(void **state)
{
    (void)state;
    k_open(false, false);
    expect_trees("");
    put(TS_SLICE_LIT("\0"), "x", "no row of a tree");
    put(TS_SLICE_LIT("\1"), "x", "no row of a tree");
    put(TS_SLICE_LIT("\0\2"), "tree", "{\"name\":\"a\"}");
    put(TS_SLICE_LIT("\0\2\1\2\3\4"), "branch", "{}");
    put(TS_SLICE_LIT("\0\2\1\2\3\4\1\2\3\4"), "branch", "{}");
    put(TS_SLICE_LIT("\0\5\1\2\3\4"), "branch", "{}"); /* of a tree without definition */
    put(TS_SLICE_LIT("\1\0"), "tree", "{\"name\":\"b\"}");
    expect_trees("2 256 ");
    put(TS_SLICE_LIT("\xff\xff"), "tree", "{\"name\":\"c\"}");
    expect_trees("2 256 65535 ");
    uint64_t n = fake_hbase_count(k_fake, STO_THRIFT_N_CALLS);
    expect_trees("2 256 65535 ");
    assert_true(fake_hbase_count(k_fake, STO_THRIFT_N_CALLS) - n <= 6);
}

static void test_remote_trees__qualifiers(void **state)
{
    static const char *const bad[] = {
        "tree_rule:",        "tree_rule:1",     "tree_rule:1:", "tree_rule:01:1", "tree_rule:1:-1",
        "tree_rule:65536:0", "tree_rule:1:2:3", "tree",         "tree_rule: 1:2", "tree_rulE:1:2"};
    int64_t level, order;
    char text[STO_HBASE_RULE_BYTES];
    (void)state;
    size_t n = sto_hbase_rule_qualifier(65535, 65535, text);
    assert_string_equal(text, "tree_rule:65535:65535");
    assert_int_equal(sto_hbase_rule_parse((struct ts_slice){text, n}, &level, &order), 0);
    assert_true(level == 65535 && order == 65535);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (sto_hbase_rule_parse(ts_slice_str(bad[i]), &level, &order) != TS_EPARSE)
            fail_msg("%s", bad[i]);
}

static int teardown(void **state)
{
    ts_buf_release(&key_bytes);
    ts_buf_init(&key_bytes, 0);
    return k_teardown(state);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(test_remote_trees__##NAME, k_setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(trees_have_opentsdb_s_bytes),
        CASE(what_opentsdb_wrote_is_read_and_changed),
        CASE(records_that_are_no_trees_are_refused),
        CASE(another_writer_between_read_and_write),
        CASE(faults_of_changes),
        CASE(the_list),
        CASE(qualifiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
