/*
 * test_tree.c - trees: rules at work on the series of a real store, branches, collisions, what is refused.
 */
#include "t_ingest.h"

#include "tsd/meta/tree_walk.h"
#include "tsd/meta/uidmeta.h"

struct t_tree {
    struct t_ingest in;
    struct ts_arena arena;
    struct tsd_tree tree;
};

static void t_start(struct t_tree *w, const char *const *series)
{
    struct ts_error err = {0};
    struct tsd_record def;
    memset(w, 0, sizeof(*w));
    t_open(&w->in, false);
    ts_arena_init(&w->arena, 0);
    for (; series && *series; series++) {
        char line[300];
        int n = snprintf(line, sizeof(line), "put %s\n", *series);
        t_bytes(&w->in, line, (size_t)n, true);
    }
    assert_int_equal(w->in.out.n, 0);
    tsd_record_init(&def, tsd_tree_fields);
    def.v[TSD_TREE_NAME].text = TS_SLICE_LIT("test");
    def.v[TSD_TREE_NAME].given = true;
    if (tsd_tree_create(w->in.store, &def, &w->arena, &w->tree, &err) < 0)
        fail_msg("%s", err.text);
}

static void t_end(struct t_tree *w)
{
    ts_arena_release(&w->arena);
    t_close(&w->in);
}

static int t_put(void *arg, struct tsd_tree *tree, struct ts_arena *arena, struct ts_error *err)
{
    return tsd_tree_rule_put(tree, arg, false, arena, err);
}

/* Store a rule given as JSON. */
static int t_try_rule(struct t_tree *w, const char *json, struct ts_error *err)
{
    struct tsd_record rule;
    bool changed;
    json_t *root = json_loads(json, 0, NULL);
    assert_non_null(root);
    tsd_record_init(&rule, tsd_tree_rule_fields);
    int rc = tsd_record_from_json(&rule, root, &w->arena, err);
    json_decref(root);
    return rc < 0
               ? rc
               : tsd_tree_change(w->in.store, w->tree.id, &w->arena, t_put, &rule, &w->tree, &changed, err);
}

static void t_rule(struct t_tree *w, const char *json)
{
    struct ts_error err = {0};
    if (t_try_rule(w, json, &err) < 0)
        fail_msg("%s: %s", json, err.text);
}

/* Where series number id is: "a/b/c", or "- WHY". */
static void t_path(struct t_tree *w, uint32_t id, const char *want)
{
    struct ts_error err = {0};
    struct tsd_tree_plan *plan;
    struct tsd_tree_path p;
    struct ts_buf text;
    tsd_tree_path_init(&p);
    ts_buf_init(&text, 0);
    if (tsd_tree_plan_new(w->in.store, &w->tree, &plan, &err) < 0 ||
        tsd_tree_plan_run(plan, sto_series_get(sto_store_catalog(w->in.store), id), &p, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < p.n; i++) {
        ts_buf_str(&text, i ? "/" : "");
        ts_buf_slice(&text, tsd_tree_path_name(&p, i));
    }
    if (p.n == 0) {
        ts_buf_str(&text, "- ");
        ts_buf_slice(&text, ts_buf_get(&p.why));
    }
    ts_buf_char(&text, '\0');
    assert_string_equal(text.p, want);
    ts_buf_release(&text);
    tsd_tree_path_release(&p);
    tsd_tree_plan_free(plan);
}

static const char *const hosts[] = {"sys.cpu.user 1 1 host=web01.lga.example.com dc=lga",
                                    "sys.mem 1 1 host=db-7.sjc.example.com", "app 1 1 id=3", NULL};

/* --- rules --- */

static void test_tree__hashes_are_those_of_java(void **state)
{
    (void)state;
    assert_int_equal(tsd_tree_hash(TS_SLICE_LIT("")), 0);
    assert_int_equal(tsd_tree_hash(TS_SLICE_LIT("sys")), 0x1BECD);
    assert_int_equal(tsd_tree_hash(TS_SLICE_LIT("cpu")), 0x181A8);
    /* "Aa" and "BB" are the well-known pair */
    assert_int_equal(tsd_tree_hash(TS_SLICE_LIT("Aa")), tsd_tree_hash(TS_SLICE_LIT("BB")));
    assert_int_equal(tsd_tree_hash(TS_SLICE_LIT("\xc3\xa4")), 0xe4);
    /* U+1F600 is two units of UTF-16, D83D DE00 */
    assert_int_equal(tsd_tree_hash(TS_SLICE_LIT("\xf0\x9f\x98\x80")), 31u * 0xD83D + 0xDE00);
}

static void test_tree__levels_make_branches(void **state)
{
    (void)state;
    struct t_tree w;
    t_start(&w, hosts);
    t_path(&w, 0, "- The tree has no rules");
    t_rule(&w, "{\"level\":2,\"order\":0,\"type\":\"METRIC\",\"separator\":\".\"}");
    t_rule(&w, "{\"level\":0,\"order\":0,\"type\":\"tagk\",\"field\":\"dc\"}");
    t_rule(&w,
           "{\"level\":0,\"order\":1,\"type\":\"TAGK\",\"field\":\"host\",\"regex\":\"\\\\.([a-z]+)\\\\.\"}");
    t_path(&w, 0, "lga/sys/cpu/user"); /* the first rule of a level that matches */
    t_path(&w, 1, "sjc/sys/mem");
    t_path(&w, 2, "app"); /* a level may be missing, */
    w.tree.def.v[TSD_TREE_STRICT_MATCH].i = 1;
    t_path(&w, 2, "- No rule of level 0 matched, and the tree is strict"); /* unless */
    t_path(&w, 1, "sjc/sys/mem");
    t_end(&w);
}

static void test_tree__expressions_and_groups(void **state)
{
    (void)state;
    struct t_tree w;
    t_start(&w, hosts);
    t_rule(
        &w,
        "{\"level\":0,\"order\":0,\"type\":\"TAGK\",\"field\":\"host\",\"regex\":\"^([a-z]+)-?([0-9]+)\"}");
    t_path(&w, 0, "web");
    t_rule(&w, "{\"level\":0,\"order\":0,\"regexGroupIdx\":1}");
    t_path(&w, 0, "01");
    t_path(&w, 1, "7");
    t_path(&w, 2, "- No rule matched");
    t_rule(&w, "{\"level\":0,\"order\":0,\"regex\":\"[a-z]+\",\"regexGroupIdx\":0}");
    t_path(&w, 0, "web"); /* without groups what matched */
    t_rule(&w, "{\"level\":0,\"order\":0,\"regex\":\"^(x)?web\"}");
    t_path(&w, 0, "- No rule matched"); /* the group took no part */
    t_end(&w);
}

static void test_tree__separators(void **state)
{
    (void)state;
    struct t_tree w;
    t_start(&w, (const char *const[]){"..a..b. 1 1 x=a-b_c", NULL});
    t_rule(&w, "{\"level\":0,\"order\":0,\"type\":\"METRIC\",\"separator\":\"\\\\.\"}");
    t_path(&w, 0, "a/b"); /* empty parts are left out */
    t_rule(&w, "{\"level\":1,\"order\":0,\"type\":\"TAGK\",\"field\":\"x\",\"separator\":\"[-_]\"}");
    t_path(&w, 0, "a/b/a/b/c");
    t_rule(&w, "{\"level\":1,\"order\":0,\"separator\":\"-\"}");
    t_path(&w, 0, "a/b/a/b_c");
    t_rule(&w, "{\"level\":1,\"order\":0,\"separator\":\"[-q]*\"}");
    t_path(&w, 0, "a/b/a-b_c"); /* one that matches nothing parts nothing */
    t_end(&w);
}

static void test_tree__display_formats(void **state)
{
    (void)state;
    struct t_tree w;
    t_start(&w, hosts);
    t_rule(&w, "{\"level\":0,\"order\":0,\"type\":\"TAGK\",\"field\":\"dc\",\"displayFormat\":\"{tag_name}: "
               "{value}\"}");
    t_rule(&w, "{\"level\":1,\"order\":0,\"type\":\"TAGK\",\"field\":\"host\",\"regex\":\"^([^.]+)\","
               "\"displayFormat\":\"{value} of {ovalue} {other} {\"}");
    t_rule(&w, "{\"level\":2,\"order\":0,\"type\":\"METRIC\",\"displayFormat\":\"{tsuid}{tag_name}\"}");
    t_path(&w, 0, "dc: lga/web01 of web01.lga.example.com {other} {/000001000001000001000002000002");
    t_end(&w);
}

static void t_custom(struct t_tree *w, enum sto_uid_kind kind, const char *name, const char *field,
                     const char *text)
{
    struct ts_error err = {0};
    uint32_t id;
    assert_int_equal(sto_uid_find(sto_store_catalog(w->in.store), kind, ts_slice_str(name), &id), 0);
    if (tsd_uidmeta_set(w->in.store, kind, id, ts_slice_str(field), ts_slice_str(text), &err) < 0)
        fail_msg("%s", err.text);
}

static void test_tree__free_texts_of_names(void **state)
{
    (void)state;
    struct t_tree w;
    t_start(&w, hosts);
    t_rule(&w, "{\"level\":0,\"order\":0,\"type\":\"METRIC_CUSTOM\",\"customField\":\"owner\"}");
    t_rule(&w,
           "{\"level\":1,\"order\":0,\"type\":\"TAGK_CUSTOM\",\"field\":\"host\",\"customField\":\"title\"}");
    t_rule(&w,
           "{\"level\":2,\"order\":0,\"type\":\"TAGV_CUSTOM\",\"field\":\"host\",\"customField\":\"rack\","
           "\"displayFormat\":\"{tag_name} {value}\"}");
    t_rule(&w,
           "{\"level\":3,\"order\":0,\"type\":\"TAGV_CUSTOM\",\"field\":\"lga\",\"customField\":\"city\"}");
    t_path(&w, 0, "- No rule matched");
    t_custom(&w, STO_UID_METRIC, "sys.cpu.user", "owner", "ops");
    t_custom(&w, STO_UID_TAGK, "host", "title", "machine");
    t_custom(&w, STO_UID_TAGV, "db-7.sjc.example.com", "rack", "r12");
    t_custom(&w, STO_UID_TAGV, "lga", "city", "New York");
    t_path(&w, 0, "ops/machine/New York");
    t_path(&w, 1, "machine/rack r12");
    t_path(&w, 2, "- No rule matched");
    t_end(&w);
}

static void test_tree__rules_that_make_no_sense(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{\"level\":0,\"order\":0}", "Missing rule type"},
        {"{\"level\":0,\"order\":0,\"type\":\"HOST\"}",
         "Invalid rule type: HOST (METRIC, METRIC_CUSTOM, TAGK, TAGK_CUSTOM, TAGV_CUSTOM)"},
        {"{\"level\":-1,\"order\":0,\"type\":\"METRIC\"}", "Invalid rule level: -1 (0 to 65535)"},
        {"{\"level\":0,\"order\":65536,\"type\":\"METRIC\"}", "Invalid rule order: 65536 (0 to 65535)"},
        {"{\"level\":0,\"order\":0,\"type\":\"TAGK\"}", "Missing field name required for TAGK rule"},
        {"{\"level\":0,\"order\":0,\"type\":\"METRIC_CUSTOM\"}",
         "Missing custom field name required for METRIC_CUSTOM rule"},
        {"{\"level\":0,\"order\":0,\"type\":\"METRIC\",\"regexGroupIdx\":-1}",
         "Invalid regex group index: -1 (from 0 on)"},
        {"{\"level\":0,\"order\":0,\"type\":\"METRIC\",\"regex\":\"(a)(b)\",\"regexGroupIdx\":2}",
         "Invalid regex group index: 2, the expression has 2 groups, from 0 on"},
        {"{\"level\":0,\"order\":0,\"type\":\"METRIC\",\"regex\":\"a(\"}",
         "Failed to compile regular expression \"a(\": missing closing parenthesis at 2"},
        {"{\"level\":0,\"order\":0,\"type\":\"METRIC\",\"separator\":\"a(\"}",
         "Failed to compile regular expression \"a(\": missing closing parenthesis at 2"},
        {"{\"level\":\"x\",\"order\":0,\"type\":\"METRIC\"}", "Field 'level' must be a whole number"},
    };
    struct t_tree w;
    t_start(&w, NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ts_error err = {0};
        assert_int_equal(t_try_rule(&w, bad[i][0], &err), TS_EINVAL);
        assert_string_equal(err.text, bad[i][1]);
    }
    assert_int_equal(tsd_tree_load(w.in.store, 1, &w.arena, &w.tree, NULL), 0);
    assert_int_equal(w.tree.n_rules, 0);
    t_end(&w);
}

static void test_tree__a_costly_expression_is_an_error(void **state)
{
    (void)state;
    struct ts_error err = {0};
    struct t_tree w;
    struct tsd_tree_branch b;
    t_start(&w, (const char *const[]){"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_ 1 1 a=b", NULL});
    t_rule(&w, "{\"level\":4,\"order\":2,\"type\":\"METRIC\",\"regex\":\"^(a+)+$\"}");
    struct tsd_tree_branch_id id = {.tree = 1};
    assert_int_equal(tsd_tree_branch_find(w.in.store, &w.tree, &id, NULL, &b, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "rule of level 4, order 2"));
    tsd_tree_branch_release(&b);
    t_end(&w);
}

/* --- walks --- */

static const char *const machines[] = {"a.x 1 1 h=1",  "a.y 1 1 h=1",  "a.x 1 1 h=2", "b 1 1 h=1",
                                       "Aa.x 1 1 h=1", "BB.y 1 1 h=1", NULL};

/* Children of a branch: "a,b,leaf=ID". */
static void t_branch(struct t_tree *w, const char *hex, struct qry_limit *limit, const char *want)
{
    struct ts_error err = {0};
    struct tsd_tree_branch_id id;
    struct tsd_tree_branch b;
    struct ts_buf text;
    ts_buf_init(&text, 0);
    assert_int_equal(tsd_tree_branch_parse(ts_slice_str(hex), &w->arena, &id, &err), 0);
    int rc = tsd_tree_branch_find(w->in.store, &w->tree, &id, limit, &b, &err);
    for (size_t i = 0; i < b.n && rc == 0; i++) {
        ts_buf_str(&text, i ? "," : "");
        ts_buf_slice(&text, b.children[i].name);
        if (b.children[i].leaf)
            ts_buf_printf(&text, "=%u", b.children[i].leaf->id);
    }
    ts_buf_printf(&text, "%s%c", rc < 0 ? ts_err_name(rc) : "", 0);
    assert_string_equal(text.p, want);
    ts_buf_release(&text);
    tsd_tree_branch_release(&b);
}

static void test_tree__branches(void **state)
{
    (void)state;
    struct t_tree w;
    t_start(&w, machines);
    t_branch(&w, "0001", NULL, "");
    t_rule(&w, "{\"level\":0,\"order\":0,\"type\":\"METRIC\",\"separator\":\".\"}");
    t_branch(&w, "0001", NULL, "Aa,a,b=3"); /* "BB" has the id of "Aa" */
    t_branch(&w, "000100000061", NULL, "x=0,y=1");
    t_branch(&w, "000100000840", NULL, "x=4,y=5");      /* what is below both */
    t_branch(&w, "000100000062", NULL, "TS_ENOTFOUND"); /* a leaf, no branch */
    t_branch(&w, "00010000006100000078", NULL, "TS_ENOTFOUND");
    struct qry_limit little = {.max_bytes = 2000};
    t_branch(&w, "0001", &little, "TS_ELIMIT");
    struct qry_limit gone = {.max_bytes = 0};
    atomic_store(&gone.cancelled, true);
    t_branch(&w, "0001", &gone, "TS_ECANCELLED");
    struct qry_limit late = {.deadline_ns = 1};
    t_branch(&w, "0001", &late, "TS_ETIMEOUT");
    t_end(&w);
}

static void test_tree__ids_of_branches(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "1", "001", "00010", "0000", "000100", "0001000000X1", "0001 0000061", NULL};
    struct ts_arena arena;
    struct tsd_tree_branch_id id;
    ts_arena_init(&arena, 0);
    for (const char *const *p = bad; *p; p++)
        assert_int_equal(tsd_tree_branch_parse(ts_slice_str(*p), &arena, &id, NULL), TS_EINVAL);
    assert_int_equal(tsd_tree_branch_parse(TS_SLICE_LIT("00fF0001becd80000000"), &arena, &id, NULL), 0);
    assert_int_equal(id.tree, 255);
    assert_int_equal(id.depth, 2);
    assert_int_equal(id.hashes[0], 0x1becd);
    assert_int_equal(id.hashes[1], 0x80000000u);
    struct ts_buf hex;
    ts_buf_init(&hex, 0);
    tsd_tree_branch_hex(id.tree, id.hashes, id.depth, &hex);
    assert_true(ts_slice_is(ts_buf_get(&hex), "00FF0001BECD80000000"));
    ts_buf_release(&hex);
    ts_arena_release(&arena);
}

static int t_failure(void *arg, const struct sto_series *s, const struct sto_series *first,
                     struct ts_slice why, struct ts_error *err)
{
    (void)why;
    (void)err;
    ts_buf_printf(arg, first ? "%u:%u " : "%u ", s->id, first ? first->id : 0);
    return 0;
}

static void test_tree__collisions_and_what_does_not_match(void **state)
{
    (void)state;
    struct t_tree w;
    struct ts_buf text;
    t_start(&w, machines);
    ts_buf_init(&text, 0);
    t_rule(&w, "{\"level\":0,\"order\":0,\"type\":\"METRIC\",\"separator\":\".\",\"regex\":\"^[aAB]\"}");
    assert_int_equal(tsd_tree_collisions(w.in.store, &w.tree, NULL, t_failure, &text, NULL), 0);
    assert_true(
        ts_slice_is(ts_buf_get(&text), "1:0 2:0 ")); /* the first letter alone: the expression goes first */
    ts_buf_clear(&text);
    assert_int_equal(tsd_tree_not_matched(w.in.store, &w.tree, NULL, t_failure, &text, NULL), 0);
    assert_true(ts_slice_is(ts_buf_get(&text), "3 "));
    t_rule(&w, "{\"level\":0,\"order\":0,\"regex\":\"\"}");
    ts_buf_clear(&text);
    assert_int_equal(tsd_tree_collisions(w.in.store, &w.tree, NULL, t_failure, &text, NULL), 0);
    assert_true(ts_slice_is(ts_buf_get(&text), "2:0 "));
    struct qry_limit little = {.max_bytes = 100};
    assert_int_equal(tsd_tree_collisions(w.in.store, &w.tree, &little, t_failure, &text, NULL), TS_ELIMIT);
    ts_buf_release(&text);
    t_end(&w);
}

/* --- definitions --- */

static void test_tree__ids_are_counted_from_the_highest(void **state)
{
    (void)state;
    struct t_tree w;
    uint16_t *ids;
    t_start(&w, NULL);
    struct tsd_record def = w.tree.def;
    def.v[TSD_TREE_NAME].given = true;
    assert_int_equal(tsd_tree_create(w.in.store, &def, &w.arena, &w.tree, NULL), 0);
    assert_int_equal(w.tree.id, 2);
    assert_int_equal(tsd_tree_delete(w.in.store, 1, NULL), 0);
    assert_int_equal(tsd_tree_delete(w.in.store, 1, NULL), TS_ENOTFOUND);
    assert_int_equal(tsd_tree_create(w.in.store, &def, &w.arena, &w.tree, NULL), 0);
    assert_int_equal(w.tree.id, 3);
    assert_int_equal(tsd_tree_ids(w.in.store, &w.arena, &ids), 2);
    assert_int_equal(ids[0], 2);
    assert_int_equal(ids[1], 3);
    assert_int_equal(tsd_tree_load(w.in.store, 1, &w.arena, &w.tree, NULL), TS_ENOTFOUND);
    t_end(&w);
}

static void test_tree__a_rule_that_says_the_same_changes_nothing(void **state)
{
    (void)state;
    struct t_tree w;
    struct tsd_record rule;
    bool changed = true;
    t_start(&w, NULL);
    t_rule(&w, "{\"level\":1,\"order\":0,\"type\":\"METRIC\",\"notes\":\"n\"}");
    tsd_record_init(&rule, tsd_tree_rule_fields);
    rule.v[TSD_TREE_RULE_LEVEL].i = 1;
    rule.v[TSD_TREE_RULE_LEVEL].given = rule.v[TSD_TREE_RULE_ORDER].given = true;
    assert_int_equal(tsd_tree_change(w.in.store, 1, &w.arena, t_put, &rule, &w.tree, &changed, NULL), 0);
    assert_false(changed);
    assert_int_equal(w.tree.n_rules, 1);
    assert_true(ts_slice_is(w.tree.rules[0].v[TSD_TREE_RULE_NOTES].text, "n"));
    assert_null(tsd_tree_rule(&w.tree, 0, 0));
    assert_int_equal(tsd_tree_rule_delete(&w.tree, 0, 0, NULL), TS_ENOTFOUND);
    assert_int_equal(tsd_tree_rule_delete(&w.tree, 1, 0, NULL), 0);
    assert_int_equal(w.tree.n_rules, 0);
    t_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree__hashes_are_those_of_java),
        cmocka_unit_test(test_tree__levels_make_branches),
        cmocka_unit_test(test_tree__expressions_and_groups),
        cmocka_unit_test(test_tree__separators),
        cmocka_unit_test(test_tree__display_formats),
        cmocka_unit_test(test_tree__free_texts_of_names),
        cmocka_unit_test(test_tree__rules_that_make_no_sense),
        cmocka_unit_test(test_tree__a_costly_expression_is_an_error),
        cmocka_unit_test(test_tree__branches),
        cmocka_unit_test(test_tree__ids_of_branches),
        cmocka_unit_test(test_tree__collisions_and_what_does_not_match),
        cmocka_unit_test(test_tree__ids_are_counted_from_the_highest),
        cmocka_unit_test(test_tree__a_rule_that_says_the_same_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
