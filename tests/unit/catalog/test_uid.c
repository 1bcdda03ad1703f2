/*
 * test_uid.c - names and ids: making, finding, renaming, suggesting, limits.
 *
 * Threads    one
 */
#include "tests/unit/catalog/t_catalog.h"

/* Names that suggest told, one line each. */
struct t_names {
    struct ts_buf text; /* "id:name " */
    size_t n;
};

static void t_each(void *arg, uint32_t id, struct ts_slice name)
{
    struct t_names *got = arg;
    got->n++;
    ts_buf_printf(&got->text, "%u:%.*s ", id, (int)name.n, name.p);
}

static void t_suggest(struct sto_catalog *cat, const char *prefix, size_t max, const char *want)
{
    struct t_names got = {0};
    sto_uid_suggest(cat, STO_UID_TAGV, ts_slice_str(prefix), max, t_each, &got);
    ts_buf_char(&got.text, 0);
    assert_string_equal(got.text.p, want);
    ts_buf_release(&got.text);
}

static uint32_t t_make(struct sto_catalog *cat, enum sto_uid_kind kind, const char *name)
{
    uint32_t id;
    assert_int_equal(sto_uid_make(cat, kind, ts_slice_str(name), &id, NULL), 0);
    return id;
}

static void test_uid__ids_count_from_one_for_each_kind(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    uint32_t id = 99;
    assert_int_equal(sto_uid_find(cat, STO_UID_METRIC, TS_SLICE_LIT("a"), &id), TS_ENOTFOUND);
    assert_int_equal(id, 0);
    assert_int_equal(sto_uid_max(cat, STO_UID_METRIC), 0);
    assert_int_equal(t_make(cat, STO_UID_METRIC, "a"), 1);
    assert_int_equal(t_make(cat, STO_UID_METRIC, "b"), 2);
    assert_int_equal(t_make(cat, STO_UID_METRIC, "a"), 1);
    assert_int_equal(t_make(cat, STO_UID_TAGK, "b"), 1);
    assert_int_equal(t_make(cat, STO_UID_TAGV, "b"), 1);
    assert_int_equal(t_id(cat, STO_UID_METRIC, "b"), 2);
    assert_int_equal(t_id(cat, STO_UID_TAGK, "a"), 0);
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, 2), "b");
    assert_null(sto_uid_name(cat, STO_UID_METRIC, 0).p);
    assert_null(sto_uid_name(cat, STO_UID_METRIC, 3).p);
    assert_null(sto_uid_name(cat, STO_UID_METRIC, UINT32_MAX).p);
    assert_int_equal(sto_uid_max(cat, STO_UID_METRIC), 2);
    t_close(cat);
}

static void test_uid__wrong_names_are_refused(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    struct ts_error err = {0};
    uint32_t id;
    static char big[65536];
    memset(big, 'x', sizeof(big));
    assert_int_equal(sto_uid_make(cat, STO_UID_METRIC, (struct ts_slice){NULL, 0}, &id, &err), TS_EINVAL);
    assert_int_equal(sto_uid_make(cat, STO_UID_METRIC, TS_SLICE_LIT("a b"), &id, &err), TS_EINVAL);
    assert_int_equal(sto_uid_make(cat, STO_UID_TAGK, TS_SLICE_LIT("a=b"), &id, &err), TS_EINVAL);
    assert_int_equal(sto_uid_make(cat, STO_UID_TAGV, TS_SLICE_LIT("a=b"), &id, &err), 0);
    assert_int_equal(sto_uid_make(cat, STO_UID_TAGV, (struct ts_slice){big, 65536}, &id, &err), TS_ELIMIT);
    assert_int_equal(sto_uid_make(cat, STO_UID_TAGV, (struct ts_slice){big, 65535}, &id, &err), 0);
    assert_int_equal(sto_uid_max(cat, STO_UID_METRIC), 0);
    t_close(cat);
}

static void test_uid__long_and_utf8_names_survive(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    static char big[65001];
    memset(big, 'q', 65000);
    uint32_t a = t_make(cat, STO_UID_TAGV, "Größe.温度.🌡"), b = t_make(cat, STO_UID_TAGV, big);
    big[64999] = 'r';
    uint32_t c = t_make(cat, STO_UID_TAGV, big);
    t_close(cat);
    cat = t_open();
    t_assert_slice(sto_uid_name(cat, STO_UID_TAGV, a), "Größe.温度.🌡");
    t_assert_slice(sto_uid_name(cat, STO_UID_TAGV, c), big);
    assert_int_equal(sto_uid_name(cat, STO_UID_TAGV, b).n, 65000);
    assert_int_equal(t_id(cat, STO_UID_TAGV, big), c);
    big[64999] = 'q';
    assert_int_equal(t_id(cat, STO_UID_TAGV, big), b);
    t_close(cat);
}

static void test_uid__rename_keeps_the_id_and_is_on_disk(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    uint32_t a = t_make(cat, STO_UID_METRIC, "old"), b = t_make(cat, STO_UID_METRIC, "other");
    struct ts_slice before = sto_uid_name(cat, STO_UID_METRIC, a);
    struct ts_error err = {0};
    assert_int_equal(sto_catalog_generation(cat), 0);
    assert_int_equal(sto_uid_rename(cat, STO_UID_METRIC, TS_SLICE_LIT("none"), TS_SLICE_LIT("x"), &err),
                     TS_ENOTFOUND);
    assert_int_equal(sto_uid_rename(cat, STO_UID_METRIC, TS_SLICE_LIT("old"), TS_SLICE_LIT("other"), &err),
                     TS_EEXIST);
    assert_int_equal(sto_uid_rename(cat, STO_UID_METRIC, TS_SLICE_LIT("old"), TS_SLICE_LIT(""), &err),
                     TS_EINVAL);
    assert_int_equal(sto_catalog_generation(cat), 0);
    assert_int_equal(sto_uid_rename(cat, STO_UID_METRIC, TS_SLICE_LIT("old"), TS_SLICE_LIT("new"), &err), 0);
    assert_int_equal(sto_catalog_generation(cat), 1);
    t_assert_slice(before, "old"); /* old bytes stay valid */

    struct sto_catalog *reader = t_open_fs(ts_fs_real(), true); /* what is on disk now */
    t_assert_slice(sto_uid_name(reader, STO_UID_METRIC, a), "new");
    t_close(reader);

    assert_int_equal(t_id(cat, STO_UID_METRIC, "old"), 0);
    assert_int_equal(t_id(cat, STO_UID_METRIC, "new"), a);
    uint32_t c = t_make(cat, STO_UID_METRIC, "old"); /* the name is free again */
    assert_int_equal(c, b + 1);
    assert_int_equal(sto_uid_rename(cat, STO_UID_METRIC, TS_SLICE_LIT("other"), TS_SLICE_LIT("third"), &err),
                     0);
    assert_int_equal(sto_uid_rename(cat, STO_UID_METRIC, TS_SLICE_LIT("new"), TS_SLICE_LIT("other"), &err),
                     0);
    t_close(cat);
    cat = t_open();
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, a), "other");
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, b), "third");
    assert_int_equal(t_id(cat, STO_UID_METRIC, "old"), c);
    assert_int_equal(t_id(cat, STO_UID_METRIC, "other"), a);
    t_close(cat);
}

static void t_containing(struct sto_catalog *cat, const char *part, size_t max, const char *want)
{
    struct t_names got = {0};
    sto_uid_containing(cat, STO_UID_TAGV, ts_slice_str(part), max, t_each, &got);
    ts_buf_char(&got.text, 0);
    assert_string_equal(got.text.p, want);
    ts_buf_release(&got.text);
}

static void test_uid__suggest_is_in_byte_order(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_suggest(cat, "", 10, "");
    t_make(cat, STO_UID_TAGV, "b");
    t_make(cat, STO_UID_TAGV, "web10");
    t_make(cat, STO_UID_TAGV, "web1");
    t_make(cat, STO_UID_TAGV, "web");
    t_make(cat, STO_UID_TAGV, "\xc3\xa4");
    t_make(cat, STO_UID_TAGV, "B");
    t_suggest(cat, "", 10, "6:B 1:b 4:web 3:web1 2:web10 5:\xc3\xa4 ");
    t_suggest(cat, "web", 10, "4:web 3:web1 2:web10 ");
    t_suggest(cat, "web1", 10, "3:web1 2:web10 ");
    t_suggest(cat, "web", 2, "4:web 3:web1 ");
    t_suggest(cat, "web", 0, "");
    t_suggest(cat, "webx", 10, "");
    assert_int_equal(sto_uid_rename(cat, STO_UID_TAGV, TS_SLICE_LIT("b"), TS_SLICE_LIT("weba"), NULL), 0);
    t_suggest(cat, "web", 10, "4:web 3:web1 2:web10 1:weba ");
    t_close(cat);
}

static void test_uid__containing_is_in_byte_order(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_containing(cat, "b", 10, "");
    static const char *const names[] = {"web2", "b", "aweb1", "xb", "\1web", "dead.web", "a", "ab", "bb"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        t_make(cat, STO_UID_TAGV, names[i]);
    assert_int_equal(sto_uid_delete(cat, STO_UID_TAGV, TS_SLICE_LIT("dead.web"), NULL), 0);
    t_containing(cat, "b", 10, "8:ab 3:aweb1 1:web2 4:xb ");
    t_containing(cat, "b", 2, "8:ab 3:aweb1 ");
    t_containing(cat, "web", 10, "3:aweb1 ");
    t_containing(cat, "", 10, "");
    t_containing(cat, "b", 0, "");
    t_containing(cat, "longer than any name", 10, "");
    t_close(cat);
}

/* More names than the unsorted tail holds, made in a scattered order, asked for between. */
static void test_uid__suggest_sorted_and_tail_agree(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    enum { N = 20011 };
    struct t_names got;
    for (uint32_t i = 0; i < N; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "n%05u", (unsigned)((uint64_t)i * 7919 % N));
        t_make(cat, STO_UID_TAGV, name);
        if (i % 3001 == 0 || i == N - 1) {
            got = (struct t_names){0};
            sto_uid_suggest(cat, STO_UID_TAGV, TS_SLICE_LIT("n"), SIZE_MAX, t_each, &got);
            assert_int_equal(got.n, i + 1);
            ts_buf_release(&got.text);
        }
    }
    got = (struct t_names){0};
    sto_uid_suggest(cat, STO_UID_TAGV, TS_SLICE_LIT("n"), SIZE_MAX, t_each, &got);
    ts_buf_char(&got.text, 0);
    char *p = got.text.p;
    for (uint32_t i = 0; i < N; i++) {
        p = strchr(p, ':');
        assert_non_null(p);
        assert_int_equal(strtoul(p + 2, &p, 10), i);
    }
    ts_buf_release(&got.text);
    char want[64];
    (void)snprintf(want, sizeof(want), "%u:n20010 ", t_id(cat, STO_UID_TAGV, "n20010"));
    t_suggest(cat, "n2001", 3, want);
    t_close(cat);
}

static void test_uid__read_only_makes_nothing(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_make(cat, STO_UID_METRIC, "a");
    t_close(cat);
    cat = t_open_fs(ts_fs_real(), true);
    uint32_t id;
    struct ts_error err = {0};
    assert_int_equal(sto_uid_make(cat, STO_UID_METRIC, TS_SLICE_LIT("a"), &id, &err), 0);
    assert_int_equal(id, 1);
    assert_int_equal(sto_uid_make(cat, STO_UID_METRIC, TS_SLICE_LIT("b"), &id, &err), TS_EINVAL);
    assert_int_equal(sto_uid_rename(cat, STO_UID_METRIC, TS_SLICE_LIT("a"), TS_SLICE_LIT("c"), &err),
                     TS_EINVAL);
    t_close(cat);
}

static void test_uid__a_deleted_name_frees_no_id(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    struct ts_error err = {0};
    const struct sto_series *old = t_series(cat, "m host=a");
    uint32_t host = t_id(cat, STO_UID_TAGK, "host"), a = t_id(cat, STO_UID_TAGV, "a");
    uint64_t generation = sto_catalog_generation(cat);
    assert_int_equal(sto_uid_delete(cat, STO_UID_TAGV, TS_SLICE_LIT("b"), &err), TS_ENOTFOUND);
    assert_int_equal(sto_uid_delete(cat, STO_UID_TAGV, TS_SLICE_LIT("a"), &err), 0);
    assert_true(sto_catalog_generation(cat) > generation);
    assert_int_equal(t_id(cat, STO_UID_TAGV, "a"), 0);
    assert_true(sto_uid_deleted(sto_uid_name(cat, STO_UID_TAGV, a)));
    assert_false(sto_uid_deleted(TS_SLICE_LIT("~a")));
    assert_false(sto_uid_deleted(TS_SLICE_LIT("~~a")));
    assert_int_equal(sto_uid_delete(cat, STO_UID_TAGV, sto_uid_name(cat, STO_UID_TAGV, a), &err), TS_EINVAL);
    const struct sto_series *fresh =
        t_series(cat, "m host=a"); /* the name again: another id, another series */
    assert_ptr_not_equal(fresh, old);
    assert_int_equal(fresh->tags[0].k, host);
    assert_true(fresh->tags[0].v > a);
    t_close(cat);
    cat = t_open();
    assert_int_equal(t_id(cat, STO_UID_TAGV, "a"), a + 1);
    assert_true(sto_uid_deleted(sto_uid_name(cat, STO_UID_TAGV, a)));
    assert_int_equal(t_series(cat, "m host=a")->id, 1);
    assert_int_equal(
        sto_uid_rename(cat, STO_UID_TAGV, sto_uid_name(cat, STO_UID_TAGV, a), TS_SLICE_LIT("back"), &err), 0);
    assert_int_equal(t_series(cat, "m host=back")->id, 0);
    t_close(cat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_uid__ids_count_from_one_for_each_kind),
        T_CASE(test_uid__wrong_names_are_refused),
        T_CASE(test_uid__long_and_utf8_names_survive),
        T_CASE(test_uid__rename_keeps_the_id_and_is_on_disk),
        T_CASE(test_uid__a_deleted_name_frees_no_id),
        T_CASE(test_uid__suggest_is_in_byte_order),
        T_CASE(test_uid__containing_is_in_byte_order),
        T_CASE(test_uid__suggest_sorted_and_tail_agree),
        T_CASE(test_uid__read_only_makes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
