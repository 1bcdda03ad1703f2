/*
 * test_hbase_golden.c - rows that a real OpenTSDB wrote: every one decodes to its points, and our encoder makes the same bytes.
 */
#include "tests/unit/hbase/t_golden.h"

#include "storage/hbase/encode.h"

#define DUPLICATES 6 /* the metric with several points of one time: r.dup */

static struct t_golden_puts all_puts;

/* What is compared with the recorded rows. */
struct look {
    const struct sto_hbase_schema *schema;
    int phases;      /* puts up to this phase are in the rows */
    size_t n_points; /* of all rows */
};
static const struct sto_hbase_schema plain = {3, 3, 3, 0, 20}, salted = {3, 3, 3, 1, 20};

/* The puts of a row in their order, as cells, which are not sorted. The key made of their ids is that of the row. */
static void cells_of_row(const struct look *look, const struct t_golden_row *row, struct sto_cells *out)
{
    for (size_t i = 0; i < all_puts.n; i++) {
        const struct t_golden_put *p = &all_puts.put[i];
        uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES], key[STO_HBASE_MAX_KEY_BYTES];
        struct ts_slice id = {(const char *)tsuid, sto_hbase_tsuid_make(look->schema, &p->ids, tsuid)};
        struct ts_slice made = {(const char *)key, sto_hbase_rowkey_make(look->schema, id, p->base_s, key)};
        if (p->phase > look->phases || !ts_slice_eq(made, t_slice(&row->key)))
            continue;
        sto_cells_reserve(out, out->n + 1);
        out->meta[out->n] = p->off_ms | sto_meta_flags(STO_OP_PUT, p->value.kind, p->value.exp, p->ms);
        out->m[out->n++] = p->value.m;
    }
    assert_true(out->n > 0);
}

static bool same_value(const struct sto_cells *a, uint32_t i, const struct sto_cells *b, uint32_t j)
{
    struct ts_num x = sto_cell_num(a->meta[i], a->m[i]), y = sto_cell_num(b->meta[j], b->m[j]);
    if ((x.kind == TS_NUM_INT) != (y.kind == TS_NUM_INT))
        return false;
    return x.kind == TS_NUM_INT ? x.m == y.m : ts_num_double(x) == ts_num_double(y);
}

static uint64_t metric_of(const struct look *look, const struct t_golden_row *row)
{
    struct sto_hbase_rowkey key;
    struct ts_error err = {0};
    assert_int_equal(sto_hbase_rowkey_parse(look->schema, t_slice(&row->key), &key, &err), 0);
    assert_int_equal(sto_hbase_rowkey_check(look->schema, &key, &err), 0);
    return key.ids.metric;
}

/* Every point that was read was put, every time that was put was read; of several puts of one time only one is read. */
static void expect_points(const struct sto_cells *read, const struct sto_cells *put)
{
    uint32_t n_times = 0;
    for (uint32_t i = 0; i < put->n; i++) {
        bool again = false;
        for (uint32_t j = 0; j < i; j++)
            again = again || sto_meta_off(put->meta[j]) == sto_meta_off(put->meta[i]);
        n_times += !again;
    }
    assert_int_equal(read->n, n_times);
    for (uint32_t i = 0; i < read->n; i++) {
        bool found = false;
        assert_true(i == 0 || sto_meta_off(read->meta[i]) > sto_meta_off(read->meta[i - 1]));
        for (uint32_t j = 0; j < put->n; j++)
            found = found || (sto_meta_off(put->meta[j]) == sto_meta_off(read->meta[i]) &&
                              same_value(read, i, put, j));
        assert_true(found);
    }
}

static void decode(const struct look *look, const struct t_golden_row *row, const struct sto_cells *put,
                   struct sto_hbase_columns *c)
{
    struct ts_error err = {0};
    sto_hbase_columns_init(c, NULL);
    assert_int_equal(sto_hbase_columns_decode(c, row->cell, row->n, NULL, &err), 0);
    assert_int_equal(c->n_damaged, 0);
    assert_true((c->n_contradicting == 0) || metric_of(look, row) == DUPLICATES);
    expect_points(&c->cells, put);
}

/* --- single cells --- */

static void each_single(void *arg, struct t_golden_row *row)
{
    struct look *look = arg;
    struct sto_cells put = {0};
    struct sto_hbase_columns c;
    size_t n_found = 0;
    cells_of_row(look, row, &put);
    decode(look, row, &put, &c);
    for (uint32_t i = 0; i < put.n; i++) { /* the last put of a qualifier is what HBase keeps */
        struct sto_hbase_point p;
        bool last = true;
        sto_hbase_encode_point(put.meta[i], put.m[i], &p);
        for (uint32_t j = i + 1; j < put.n && last; j++) {
            struct sto_hbase_point later;
            sto_hbase_encode_point(put.meta[j], put.m[j], &later);
            last = later.n_qualifier != p.n_qualifier ||
                   memcmp(later.qualifier, p.qualifier, p.n_qualifier) != 0;
        }
        for (size_t k = 0; k < row->n && last; k++)
            n_found += ts_slice_eq(t_slice(&row->qualifier[k]),
                                   (struct ts_slice){(char *)p.qualifier, p.n_qualifier}) &&
                       ts_slice_eq(t_slice(&row->value[k]), (struct ts_slice){(char *)p.value, p.n_value});
    }
    assert_int_equal(n_found, row->n);
    look->n_points += row->n;
    sto_hbase_columns_release(&c);
    sto_cells_release(&put);
}

static void test_hbase_golden__single_cells(void **state)
{
    (void)state;
    struct look look = {&plain, 1, 0};
    assert_int_equal(t_golden_each("plain.jsonl", "tsdb", each_single, &look), 11);
    assert_int_equal(look.n_points, 44);
    look = (struct look){&salted, 1, 0};
    assert_int_equal(t_golden_each("salt.jsonl", "tsdb", each_single, &look), 11);
    assert_int_equal(look.n_points, 44);
}

/* --- compacted --- */

static void each_compacted(void *arg, struct t_golden_row *row)
{
    if (row->n > 1) { /* OpenTSDB had not compacted it yet */
        each_single(arg, row);
        return;
    }
    struct look *look = arg;
    struct sto_cells put = {0};
    struct sto_hbase_columns c;
    struct ts_buf qualifier, value;
    ts_buf_init(&qualifier, 0);
    ts_buf_init(&value, 0);
    cells_of_row(look, row, &put);
    decode(look, row, &put, &c);
    assert_int_equal(sto_hbase_encode_compacted(&c.cells, &qualifier, &value), 0);
    assert_true(ts_slice_eq(ts_buf_get(&qualifier), t_slice(&row->qualifier[0])));
    assert_true(ts_slice_eq(ts_buf_get(&value), t_slice(&row->value[0])));
    look->n_points += c.cells.n;
    ts_buf_release(&qualifier);
    ts_buf_release(&value);
    sto_hbase_columns_release(&c);
    sto_cells_release(&put);
}

static void each_late(void *arg, struct t_golden_row *row)
{
    struct look *look = arg;
    struct sto_cells put = {0};
    struct sto_hbase_columns c;
    cells_of_row(look, row, &put);
    decode(look, row, &put, &c);
    assert_int_equal(c.n_contradicting + c.n_equal, 0);
    look->n_points += c.cells.n;
    sto_hbase_columns_release(&c);
    sto_cells_release(&put);
}

static void test_hbase_golden__compacted_rows(void **state)
{
    (void)state;
    struct look look = {&plain, 1, 0};
    assert_int_equal(t_golden_each("compacted.jsonl", "tsdb", each_compacted, &look), 11);
    assert_int_equal(look.n_points, 41);
    look = (struct look){&plain, 2, 0};
    assert_int_equal(t_golden_each("compacted-late.jsonl", "tsdb", each_late, &look), 11);
    assert_int_equal(look.n_points, 46);
}

/* --- appends --- */

static void each_append(void *arg, struct t_golden_row *row)
{
    struct look *look = arg;
    struct sto_cells put = {0};
    struct sto_hbase_columns c;
    struct ts_buf value;
    ts_buf_init(&value, 0);
    cells_of_row(look, row, &put);
    decode(look, row, &put, &c);
    assert_int_equal(sto_hbase_encode_appends(&put, &value), 0); /* in the order of arrival */
    assert_true(ts_slice_eq(ts_buf_get(&value), t_slice(&row->value[0])));
    assert_true(ts_slice_eq(STO_HBASE_APPENDS, t_slice(&row->qualifier[0])));
    for (uint32_t i = 0; i < c.cells.n; i++) { /* the last put of a time */
        uint32_t j = put.n - 1;
        while (sto_meta_off(put.meta[j]) != sto_meta_off(c.cells.meta[i]))
            j--;
        assert_true(same_value(&c.cells, i, &put, j));
    }
    look->n_points += c.cells.n;
    ts_buf_release(&value);
    sto_hbase_columns_release(&c);
    sto_cells_release(&put);
}

static void test_hbase_golden__append_columns(void **state)
{
    (void)state;
    struct look look = {&plain, 2, 0};
    assert_int_equal(t_golden_each("appends.jsonl", "tsdb", each_append, &look), 11);
    assert_int_equal(look.n_points, 46);
}

static int read_puts(void **state)
{
    (void)state;
    t_golden_puts(&all_puts);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hbase_golden__single_cells),
        cmocka_unit_test(test_hbase_golden__compacted_rows),
        cmocka_unit_test(test_hbase_golden__append_columns),
    };
    return cmocka_run_group_tests(tests, read_puts, NULL);
}
