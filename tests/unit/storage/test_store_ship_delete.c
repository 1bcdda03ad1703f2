/*
 * test_store_ship_delete.c - deletes on their way to the remote store: a long range goes in parts, each of which has its own limit of time.
 */
#include "tests/unit/storage/ship_kit.h"

#include "base/array.h"

static struct part {
    int64_t from_ms, to_ms;
} * parts;
static size_t n_parts, cap_parts;
static int (*whole_delete)(struct sto_remote *r, const struct sto_remote_series *s, int64_t from_ms,
                           int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err);

static int noted_delete(struct sto_remote *r, const struct sto_remote_series *s, int64_t from_ms,
                        int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err)
{
    TS_ARRAY_GROW(parts, n_parts, cap_parts, 16);
    parts[n_parts++] = (struct part){from_ms, to_ms};
    return whole_delete(r, s, from_ms, to_ms, call, err);
}

static void test_ship_delete__a_long_range_goes_in_parts(void **state)
{
    (void)state;
    struct ship_both b;
    int64_t from_ms = T0 - 3000 * TS_DAY_MS + 1234, to_ms = T0 + 5678;
    ship_begin_shipped(&b, 10);
    ship_put(&b, 0, T0 - 2000 * TS_DAY_MS, 1);
    ship_put(&b, 0, T0 + 6000, 2);
    ship_put(&b, 0, from_ms - 1, 3);
    ship_all(b.st);
    struct sto_remote_ops ops = *b.r->ops;
    const struct sto_remote_ops *before = b.r->ops;
    whole_delete = ops.delete_range;
    ops.delete_range = noted_delete;
    b.r->ops = &ops;
    ship_del(&b, 0, from_ms, to_ms);
    ship_flush(b.st);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "deleted");
    assert_true(n_parts > 5);
    assert_true(parts[0].from_ms == from_ms && parts[n_parts - 1].to_ms == to_ms);
    for (size_t i = 0; i < n_parts; i++) {
        assert_true(i == 0 || parts[i].from_ms == parts[i - 1].to_ms + 1);
        assert_true(parts[i].to_ms - parts[i].from_ms < 400 * TS_DAY_MS);
    }
    b.r->ops = before;
    ts_free(parts);
    ship_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ship_delete__a_long_range_goes_in_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
