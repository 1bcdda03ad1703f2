/*
 * fuzz_hbase_columns.c - rows of OpenTSDB's data table made of any bytes.
 *
 * Input      the length of a key (1 byte), the key, then cells: length of the qualifier (1 byte), length of the value (2
 *            bytes, the low one first), time stamp (1 byte), qualifier, value
 *
 * Checked    no read beyond a cell, no leak; points are sorted, finite, and inside of their hour; what was decoded can be
 *            encoded and is the same when it is decoded again; a key that is in order is the one that its ids make
 */
#include "base/budget.h"
#include "storage/hbase/columns.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/rowkey.h"
#include "tests/fuzz/fuzz_kit.h"

#define MAX_CELLS 64

/* What the visitor has seen. */
struct seen {
    size_t n_cells, n_damaged, n_equal, n_contradicting;
};

static void on_offset(void *arg, size_t cell, uint32_t off_ms)
{
    (void)off_ms;
    CHECK(cell < ((struct seen *)arg)->n_cells);
}

static void on_finding(void *arg, size_t cell, enum sto_hbase_finding finding, const char *text)
{
    struct seen *s = arg;
    CHECK(cell < s->n_cells && text[0]);
    s->n_damaged += finding == STO_HBASE_DAMAGED;
}

static void on_duplicate(void *arg, const struct sto_hbase_duplicate *d)
{
    struct seen *s = arg;
    CHECK(d->kept < s->n_cells && d->lost < s->n_cells);
    CHECK(!d->appended || d->kept == d->lost);
    s->n_equal += d->equal;
    s->n_contradicting += !d->equal && !d->appended;
}

static struct ts_slice take(struct input *in, size_t n)
{
    size_t left = (size_t)(in->end - in->p);
    struct ts_slice s = {(const char *)in->p, n < left ? n : left};
    in->p += s.n;
    return s;
}

/* Key and TSUID are made again of what was parsed. */
static void try_key(struct ts_slice key)
{
    static const struct sto_hbase_schema schemas[] = {
        {3, 3, 3, 0, 20}, {3, 3, 3, 1, 20}, {1, 2, 8, 4, 1000000}};
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++) {
        const struct sto_hbase_schema *s = &schemas[i];
        struct sto_hbase_rowkey parsed;
        struct ts_error err = {0};
        uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES], made[STO_HBASE_MAX_KEY_BYTES];
        int rc = sto_hbase_rowkey_parse(s, key, &parsed, &err);
        check_answer(rc, &err);
        if (rc < 0)
            continue;
        rc = sto_hbase_rowkey_check(s, &parsed, &err);
        check_answer(rc, &err);
        if (rc < 0)
            continue;
        size_t n = parsed.global ? 0 : sto_hbase_tsuid_make(s, &parsed.ids, tsuid);
        n = parsed.global
                ? sto_hbase_rowkey_global(s, parsed.base_s, made)
                : sto_hbase_rowkey_make(s, (struct ts_slice){(char *)tsuid, n}, parsed.base_s, made);
        CHECK(ts_slice_eq(key, (struct ts_slice){(char *)made, n}));
    }
}

static void check_same(const struct sto_cells *a, const struct sto_cells *b)
{
    CHECK(a->n == b->n);
    for (uint32_t i = 0; i < a->n; i++)
        CHECK(a->meta[i] == b->meta[i] && a->m[i] == b->m[i]);
}

/* Encode what was decoded, in both forms, and decode that. */
static void try_again(const struct sto_cells *cells)
{
    struct sto_hbase_columns c;
    struct ts_buf qualifier, value;
    struct ts_error err = {0};
    ts_buf_init(&qualifier, 0);
    ts_buf_init(&value, 0);
    sto_hbase_columns_init(&c, NULL);
    if (cells->n && sto_hbase_encode_compacted(cells, &qualifier, &value) == 0) {
        struct sto_hbase_cell cell = {ts_buf_get(&qualifier), ts_buf_get(&value), 0};
        CHECK(sto_hbase_columns_decode(&c, &cell, 1, NULL, &err) == 0 && c.n_damaged == 0);
        check_same(cells, &c.cells);
    }
    ts_buf_clear(&value);
    CHECK(sto_hbase_encode_appends(cells, &value) == 0 || cells->n == 0);
    struct sto_hbase_cell cell = {STO_HBASE_APPENDS, ts_buf_get(&value), 0};
    CHECK(sto_hbase_columns_decode(&c, &cell, 1, NULL, &err) == 0 && c.n_damaged == 0);
    check_same(cells, &c.cells);
    sto_hbase_columns_release(&c);
    ts_buf_release(&qualifier);
    ts_buf_release(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct input in = {data, data + n};
    struct sto_hbase_cell cells[MAX_CELLS];
    struct seen seen = {0};
    try_key(take(&in, next8(&in)));
    for (; in.p < in.end && seen.n_cells < MAX_CELLS; seen.n_cells++) {
        size_t n_qualifier = next8(&in), n_value = next8(&in);
        n_value |= (size_t)next8(&in) << 8;
        int64_t ts_ms = next8(&in);
        cells[seen.n_cells].ts_ms = ts_ms;
        cells[seen.n_cells].qualifier = take(&in, n_qualifier);
        cells[seen.n_cells].value = take(&in, n_value);
    }
    struct ts_budget account;
    struct sto_hbase_columns c;
    struct ts_error err = {0};
    struct sto_hbase_visitor visitor = {on_offset, on_offset, on_finding, on_duplicate, &seen};
    ts_budget_init(&account, "fuzz", "fuzz_bytes", NULL, 0);
    sto_hbase_columns_init(&c, &account);
    CHECK(sto_hbase_columns_decode(&c, cells, seen.n_cells, &visitor, &err) == 0);
    CHECK(c.n_damaged == seen.n_damaged && c.n_equal == seen.n_equal &&
          c.n_contradicting == seen.n_contradicting);
    CHECK(account.used_bytes <= 64 * 12 + 30 * (uint64_t)n);
    CHECK(sto_hbase_check_points(0, &c.cells, &err) == 0);
    try_again(&c.cells);
    sto_hbase_columns_release(&c);
    CHECK(account.used_bytes == 0);
    return 0;
}
