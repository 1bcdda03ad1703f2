/*
 * test_cells_shared.c - small cells that a remote store shares: written there first, and followed here.
 */
#include "storage/cells_shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "storage/remote/memory_remote.h"

#define LOG_NAME "cells.log"
#include "tests/unit/log_kit.h"

static struct sto_shared_cells shared;
static struct sto_shared_changes changes;

/* Keys that begin with "s/" are shared, as "r/". */
static int remote_key(void *arg, struct ts_slice key, struct ts_buf *out)
{
    (void)arg;
    if (key.n < 2 || memcmp(key.p, "s/", 2) != 0)
        return TS_ENOTFOUND;
    TS_TRY(ts_buf_str(out, "r/"));
    return ts_buf_append(out, key.p + 2, key.n - 2);
}

static int setup(void **state)
{
    struct ts_error err = {0};
    assert_int_equal(t_setup(state), 0);
    shared = (struct sto_shared_cells){
        .remote = sto_memory_remote_new(NULL), .key = remote_key, .changes = &changes};
    return sto_cellmap_open(ts_fs_real(), dir, false, true, &shared.map, &err);
}

static int teardown(void **state)
{
    assert_int_equal(sto_cellmap_close(shared.map, NULL), 0);
    shared.remote->ops->close(shared.remote);
    return t_teardown(state);
}

static int put(const char *key, const char *value)
{
    return sto_shared_put(&shared, ts_slice_str(key), ts_slice_str(value), false, NULL);
}

static int cas(const char *key, const char *expected, const char *value)
{
    struct ts_error err = {0};
    int rc =
        sto_shared_cas(&shared, ts_slice_str(key), ts_slice_str(expected), ts_slice_str(value), true, &err);
    assert_true(rc == 0 || *err.text);
    if (rc == TS_EBACKEND)
        assert_non_null(strstr(err.text, shared.remote->ops->name));
    return rc;
}

/* Another program changes the remote store. */
static void other(const char *key, const char *expected, const char *value)
{
    assert_int_equal(shared.remote->ops->cell_cas(shared.remote, ts_slice_str(key), ts_slice_str(expected),
                                                  ts_slice_str(value), NULL, NULL),
                     0);
}

static void expect(const char *here, const char *there)
{
    struct ts_buf out;
    ts_buf_init(&out, 0);
    (void)sto_cellmap_get(shared.map, TS_SLICE_LIT("s/a"), &out);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, here);
    ts_buf_clear(&out);
    (void)shared.remote->ops->cell_get(shared.remote, TS_SLICE_LIT("r/a"), NULL, &out, NULL);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, there);
    ts_buf_release(&out);
}

static void test_cells_shared__changes_go_to_both(void **state)
{
    (void)state;
    assert_int_equal(cas("s/a", "", "1"), 0);
    expect("1", "1");
    assert_int_equal(cas("s/a", "0", "2"), TS_EEXIST);
    expect("1", "1");
    assert_int_equal(put("s/a", "3"), 0);
    expect("3", "3");
    assert_int_equal(put("s/a", ""), 0);
    expect("", "");
    assert_int_equal(put("x/a", "here"), 0); /* not shared */
    assert_int_equal(cas("x/a", "here", "still"), 0);
    assert_int_equal(sto_shared_refresh(&shared, TS_SLICE_LIT("x/a"), true, NULL), 0);
}

/* A change for which the copy has no memory does not reach the remote store. */
static void test_cells_shared__what_has_no_memory_goes_to_neither(void **state)
{
    (void)state;
    assert_int_equal(put("s/a", "1"), 0);
    sto_cellmap_set_sizes(shared.map, 0, 1);
    assert_int_equal(put("s/a", "22"), TS_ENOSPC);
    assert_int_equal(cas("s/a", "1", "22"), TS_ENOSPC);
    expect("1", "1");
    assert_int_equal(cas("s/a", "1", ""), 0);
    expect("", "");
}

static void test_cells_shared__other_programs_are_followed(void **state)
{
    (void)state;
    other("r/a", "", "theirs");
    expect("", "theirs");
    assert_int_equal(cas("s/a", "", "ours"), TS_EEXIST); /* the copy knows better now */
    expect("theirs", "theirs");
    assert_int_equal(cas("s/a", "theirs", "ours"), 0);
    other("r/a", "ours", "again");
    assert_int_equal(sto_shared_refresh(&shared, TS_SLICE_LIT("s/a"), false, NULL), 0);
    expect("again", "again");
}

/* Write a cell while there is no remote store. */
static void put_alone(const char *value)
{
    struct sto_shared_cells alone = shared;
    alone.remote = NULL;
    assert_int_equal(sto_shared_put(&alone, TS_SLICE_LIT("s/a"), ts_slice_str(value), false, NULL), 0);
}

static void refresh(void)
{
    assert_int_equal(sto_shared_refresh(&shared, TS_SLICE_LIT("s/a"), true, NULL), 0);
}

static void test_cells_shared__what_others_delete_goes(void **state)
{
    (void)state;
    assert_int_equal(put("s/a", "1"), 0);
    other("r/a", "1", "");
    refresh();
    expect("", "");
    other("r/a", "", "theirs"); /* what came from there, too */
    refresh();
    other("r/a", "theirs", "");
    refresh();
    expect("", "");
    assert_int_equal(put("s/a", "2"), 0);
    other("r/a", "2", "");
    put_alone("3"); /* the remote store never had this value */
    refresh();
    expect("3", "");
}

static void found(const char *value, uint64_t stamp)
{
    assert_int_equal(*value ? sto_shared_seen(&shared, TS_SLICE_LIT("s/a"), ts_slice_str(value), stamp, NULL)
                            : sto_shared_missing(&shared, TS_SLICE_LIT("s/a"), stamp, NULL),
                     0);
}

/* No call of the remote store is needed, which would fail. */
static void test_cells_shared__fetches_are_followed(void **state)
{
    (void)state;
    uint64_t stamp = sto_shared_stamp(&shared);
    sto_memory_remote_set_unreachable(shared.remote, true);
    found("1", stamp);
    expect("1", "");
    found("2", stamp);
    expect("2", "");
    found("", stamp);
    expect("", "");
    put_alone("3");
    found("", sto_shared_stamp(&shared));
    expect("3", ""); /* the remote store never had it */
    sto_memory_remote_set_unreachable(shared.remote, false);
}

/* A fetch that began before a change does not take it back. */
static void test_cells_shared__old_fetches_change_nothing(void **state)
{
    (void)state;
    assert_int_equal(put("s/a", "1"), 0);
    uint64_t stamp = sto_shared_stamp(&shared);
    assert_int_equal(put("s/a", "2"), 0);
    found("1", stamp);
    expect("2", "2");
    found("", stamp);
    expect("2", "2");
    atomic_fetch_add(&changes.n_begun, 1); /* a change that is running */
    stamp = sto_shared_stamp(&shared);
    found("1", stamp);
    expect("2", "2");
    atomic_fetch_add(&changes.n_ended, 1);
    found("1", sto_shared_stamp(&shared));
    expect("1", "2");
}

/* Written before there was a remote store: it is not deleted. */
static void test_cells_shared__what_only_the_copy_has_stays(void **state)
{
    (void)state;
    put_alone("1");
    refresh();
    expect("1", "");
    assert_int_equal(cas("s/a", "0", "2"), TS_EEXIST);
    expect("1", "");
    assert_int_equal(cas("s/a", "1", "2"), 0);
    expect("2", "2");
    other("r/a", "2", "");
    assert_int_equal(cas("s/a", "2", ""), 0);
    expect("", "");
    assert_int_equal(put("s/a", "3"), 0);
    other("r/a", "3", "");
    assert_int_equal(put("s/a", "4"), 0);
    expect("4", "4");
    other("r/a", "4", "");
    assert_int_equal(put("s/a", ""), 0);
    expect("", "");
}

static void test_cells_shared__nothing_changes_while_it_is_away(void **state)
{
    (void)state;
    assert_int_equal(put("s/a", "1"), 0);
    sto_memory_remote_set_unreachable(shared.remote, true);
    assert_int_equal(cas("s/a", "1", "2"), TS_EBACKEND);
    assert_int_equal(put("s/a", ""), TS_EBACKEND);
    assert_int_equal(sto_shared_refresh(&shared, TS_SLICE_LIT("s/a"), true, NULL), TS_EBACKEND);
    assert_int_equal(put("x/a", "here"), 0);
    sto_memory_remote_set_unreachable(shared.remote, false);
    expect("1", "1");
    ts_fs_set_nowait(true);
    assert_int_equal(cas("s/a", "1", "2"), TS_EBUSY);
    ts_fs_set_nowait(false);
    expect("1", "1");
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(test_cells_shared__##NAME, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(changes_go_to_both),           CASE(what_has_no_memory_goes_to_neither),
        CASE(other_programs_are_followed),  CASE(what_others_delete_goes),
        CASE(fetches_are_followed),         CASE(old_fetches_change_nothing),
        CASE(what_only_the_copy_has_stays), CASE(nothing_changes_while_it_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
