/*
 * test_ids.c - ids that clients see: those of the catalog, or of a remote store; TSUIDs both ways, errors.
 */
#include "query/ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "query/tsuid.h"
#include "storage/remote/memory_remote.h"
#include "tests/unit/t_folder.h"
#include "base/fs.h"

static char dir[T_FOLDER_BYTES];
static struct sto_remote *remote;
static struct sto_store *st;
static struct qry_limit limit;
static struct qry_view view;
static struct ts_buf text;

static void open_store(bool with_remote)
{
    t_folder_make(dir);
    remote = with_remote ? sto_memory_remote_new(NULL) : NULL;
    struct sto_opts opts = {
        .dir = dir, .create = true, .pumped = true, .no_background = true, .remote = remote};
    assert_int_equal(sto_open(&opts, &st, NULL), 0);
    limit = (struct qry_limit){0};
    qry_view_open(&view, st, &limit);
    ts_buf_init(&text, 0);
}

static int setup(void **state)
{
    (void)state;
    open_store(true);
    return 0;
}

static int setup_alone(void **state)
{
    (void)state;
    open_store(false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ts_buf_release(&text);
    qry_view_close(&view);
    if (limit.memory)
        assert_int_equal(limit.memory->used_bytes, 0); /* all of it was counted and given back */
    assert_int_equal(sto_close(st, NULL), 0);
    if (remote)
        remote->ops->close(remote);
    t_folder_remove(dir);
    return 0;
}

/* A series "METRIC K=V K=V" of the catalog. */
static const struct sto_series *here(const char *line, uint32_t metric_len, const struct sto_tag_text *tags,
                                     size_t n)
{
    const struct sto_series *s;
    assert_int_equal(
        sto_series_resolve(sto_store_catalog(st), ts_slice_str(line), metric_len, tags, n, true, &s, NULL),
        0);
    return s;
}

static const struct sto_series *series_mb(void)
{
    const struct sto_tag_text tags[] = {{TS_SLICE_LIT("a"), TS_SLICE_LIT("x")},
                                        {TS_SLICE_LIT("b"), TS_SLICE_LIT("y")}};
    return here("m a=x b=y", 1, tags, 2);
}

static void made(void *arg, int rc, const struct ts_error *err)
{
    (void)arg, (void)err;
    assert_int_equal(rc, 0);
}

/* Another program gives an id to a name. */
static uint64_t elsewhere(enum sto_remote_kind kind, const char *name)
{
    struct sto_remote_name one = {.kind = kind, .name = ts_slice_str(name)};
    remote->ops->names(remote, STO_REMOTE_MAKE, &one, 1, NULL, made, NULL);
    assert_int_equal(one.rc, 0);
    return one.id;
}

static uint64_t find_there(enum sto_remote_kind kind, const char *name)
{
    struct sto_remote_name one = {.kind = kind, .name = ts_slice_str(name)};
    remote->ops->names(remote, STO_REMOTE_FIND, &one, 1, NULL, made, NULL);
    return one.rc < 0 ? 0 : one.id;
}

static const char *shown(void)
{
    ts_buf_char(&text, 0);
    return text.p;
}

/* Names that have no id get one; the widths are those of the remote store, the tags in the order of its ids. */
static void test_tsuid(void **state)
{
    (void)state;
    const struct sto_series *s = series_mb();
    assert_int_equal(elsewhere(STO_REMOTE_TAGK, "b"), 1); /* before a, unlike here */
    assert_int_equal(qry_ids_tsuid_of(&view, s, &text, NULL), 0);
    assert_string_equal(shown(),
                        "000002" /* m */ "0001" /* b */ "00000005" /* y */ "0003" /* a */ "00000004");
    assert_int_equal(find_there(STO_REMOTE_METRIC, "m"), 2);
    assert_int_equal(find_there(STO_REMOTE_TAGV, "y"), 5);
    ts_buf_clear(&text);
    assert_int_equal(qry_ids_hex(&view, STO_UID_TAGV, s->tags[1].v, &text, NULL), 0);
    assert_string_equal(shown(), "00000005");
}

static void test_back(void **state)
{
    const struct sto_series *s = series_mb(), *back;
    (void)state;
    assert_int_equal(qry_ids_tsuid_of(&view, s, &text, NULL), 0);
    assert_int_equal(qry_ids_series(&view, ts_buf_get(&text), &back, NULL), 0);
    assert_ptr_equal(s, back);
    struct ts_buf local, plain;
    ts_buf_init(&local, 0);
    ts_buf_init(&plain, 0);
    assert_int_equal(qry_ids_local(&view, ts_buf_get(&text), &local, NULL), 0);
    qry_tsuid(s, &plain);
    assert_true(ts_slice_eq(ts_buf_get(&local), ts_buf_get(&plain)));
    ts_buf_clear(&plain);
    assert_int_equal(qry_ids_shown(&view, ts_buf_get(&local), &plain, NULL), 0);
    assert_true(ts_slice_eq(ts_buf_get(&plain), ts_buf_get(&text)));
    ts_buf_release(&local);
    ts_buf_release(&plain);
}

/* A series whose names only the remote store has. */
static void test_foreign(void **state)
{
    const struct sto_series *s;
    uint32_t id;
    (void)state;
    elsewhere(STO_REMOTE_METRIC, "far");
    elsewhere(STO_REMOTE_TAGK, "k");
    elsewhere(STO_REMOTE_TAGV, "v");
    assert_int_equal(qry_ids_series(&view, TS_SLICE_LIT("000001000200000003"), &s, NULL), 0);
    assert_true(qry_series_foreign(s));
    assert_true(ts_slice_is(sto_series_text(s), "far k=v"));
    assert_true(qry_ids_tsuid(&view, s, &text)); /* its ids are known already */
    assert_string_equal(shown(), "000001000200000003");
    assert_int_equal(sto_uid_find(sto_store_catalog(st), STO_UID_METRIC, TS_SLICE_LIT("far"), &id),
                     TS_ENOTFOUND);
    ts_buf_clear(&text); /* a key of a small cell needs ids of the catalog */
    assert_int_equal(qry_ids_local(&view, TS_SLICE_LIT("000001000200000003"), &text, NULL), 0);
    assert_string_equal(shown(), "000001000001000001");
    assert_int_equal(qry_ids_find(&view, STO_UID_TAGV, TS_SLICE_LIT("00000003"), &id, NULL), 0);
    assert_true(ts_slice_is(qry_view_name(&view, STO_UID_TAGV, id), "v"));
}

static void test_bad(void **state)
{
    const struct sto_series *s;
    struct ts_error err = {0};
    uint32_t id;
    (void)state;
    elsewhere(STO_REMOTE_METRIC, "m");
    static const char *const invalid[] = {"", "00000", "0000010002", "00000100020000000g",
                                          "0000010002000000030004"};
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        assert_int_equal(qry_ids_series(&view, ts_slice_str(invalid[i]), &s, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "Invalid TSUID: 0000010002000000030004"));
    assert_int_equal(qry_ids_series(&view, TS_SLICE_LIT("000001000900000009"), &s, &err), TS_ENOTFOUND);
    assert_non_null(strstr(err.text, "No such TSUID"));
    assert_int_equal(qry_ids_find(&view, STO_UID_METRIC, TS_SLICE_LIT("0001"), &id, NULL), TS_EINVAL);
    assert_int_equal(qry_ids_find(&view, STO_UID_METRIC, TS_SLICE_LIT("000007"), &id, NULL), TS_ENOTFOUND);
}

/* Many series need few calls: one for 1,024 names. */
static void test_batches(void **state)
{
    enum { N = 1500 };
    static const struct sto_series *series[N];
    (void)state;
    for (int i = 0; i < N; i++) {
        char line[32], value[16];
        (void)snprintf(value, sizeof value, "v%d", i);
        (void)snprintf(line, sizeof line, "m k=%s", value);
        const struct sto_tag_text tag = {TS_SLICE_LIT("k"), ts_slice_str(value)};
        series[i] = here(line, 1, &tag, 1);
    }
    sto_memory_remote_unreachable_after(remote, 2); /* 1,502 names */
    assert_int_equal(qry_ids_load(&view, series, N, NULL), 0);
    for (int i = 0; i < N; i++) {
        ts_buf_clear(&text);
        assert_true(qry_ids_tsuid(&view, series[i], &text));
        assert_int_equal(text.n, 6 + 4 + 8);
    }
    assert_int_equal(qry_ids_load(&view, series, N, NULL), 0); /* no call is left */
    limit.memory->limit_bytes = 1;                             /* nor is memory needed */
    assert_int_equal(qry_ids_load(&view, series, N, NULL), 0);
    limit.memory->limit_bytes = 0;
}

static void test_memory(void **state)
{
    const struct sto_series *s = series_mb();
    struct ts_error err = {0};
    (void)state;
    limit.memory->limit_bytes = 100;
    assert_int_equal(qry_ids_load(&view, &s, 1, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_bytes"));
    limit.memory->limit_bytes = 0;
}

static void test_away(void **state)
{
    const struct sto_series *s = series_mb(), *back;
    struct ts_error err = {0};
    (void)state;
    sto_memory_remote_set_unreachable(remote, true);
    assert_int_equal(qry_ids_tsuid_of(&view, s, &text, &err), TS_EBACKEND);
    assert_non_null(strstr(err.text, "remote store memory"));
    assert_int_equal(qry_ids_series(&view, TS_SLICE_LIT("000001000200000003"), &back, &err), TS_EBACKEND);
    limit.allow_partial = true; /* the answer goes on without TSUIDs, never with those of the catalog */
    assert_int_equal(qry_ids_tsuid_of(&view, s, &text, &err), TS_ENOTFOUND);
    assert_int_equal(text.n, 0);
    assert_true(qry_limit_incomplete(&limit));
    sto_memory_remote_set_unreachable(remote, false);
    limit.allow_partial = false;
}

/* A thread of connections never waits for the remote store. */
static void test_nowait(void **state)
{
    const struct sto_series *s = series_mb();
    (void)state;
    ts_fs_set_nowait(true);
    assert_int_equal(qry_ids_load(&view, &s, 1, NULL), TS_EBUSY);
    ts_fs_set_nowait(false);
    assert_int_equal(find_there(STO_REMOTE_METRIC, "m"), 0);
    assert_int_equal(qry_ids_load(&view, &s, 1, NULL), 0);
    ts_fs_set_nowait(true);
    assert_int_equal(qry_ids_load(&view, &s, 1, NULL), 0); /* known by now */
    ts_fs_set_nowait(false);
}

static void test_cancel(void **state)
{
    const struct sto_series *s = series_mb();
    (void)state;
    limit.cancelled = true;
    assert_int_equal(qry_ids_load(&view, &s, 1, NULL), TS_ECANCELLED);
}

/* Internal and deleted names are never sent. */
static void test_unsent(void **state)
{
    const struct sto_tag_text tag = {TS_SLICE_LIT("k"), TS_SLICE_LIT("v")};
    const struct sto_series *inner = here("\1in k=v", 3, &tag, 1), *gone = here("gone k=v", 4, &tag, 1);
    (void)state;
    assert_int_equal(sto_uid_delete(sto_store_catalog(st), STO_UID_METRIC, TS_SLICE_LIT("gone"), NULL), 0);
    assert_int_equal(qry_ids_tsuid_of(&view, inner, &text, NULL), TS_ENOTFOUND);
    assert_int_equal(qry_ids_tsuid_of(&view, gone, &text, NULL), TS_ENOTFOUND);
    assert_int_equal(find_there(STO_REMOTE_METRIC, "\1in"), 0);
}

static void test_alone(void **state)
{
    const struct sto_series *s = series_mb(), *back;
    (void)state;
    assert_false(qry_ids_remote(&view));
    assert_int_equal(qry_ids_load(&view, &s, 1, NULL), 0);
    assert_int_equal(qry_ids_tsuid_of(&view, s, &text, NULL), 0);
    assert_string_equal(shown(), "000001000001000001000002000002");
    assert_int_equal(qry_ids_series(&view, TS_SLICE_LIT("000001000001000001000002000002"), &back, NULL), 0);
    assert_ptr_equal(back, s);
    assert_int_equal(qry_ids_metric_digits(&view, s), 6);
    ts_buf_clear(&text);
    assert_int_equal(qry_ids_local(&view, TS_SLICE_LIT("000001000001000001"), &text, NULL), 0);
    assert_string_equal(shown(), "000001000001000001");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tsuid, setup, teardown),
        cmocka_unit_test_setup_teardown(test_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad, setup, teardown),
        cmocka_unit_test_setup_teardown(test_batches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nowait, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unsent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alone, setup_alone, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
