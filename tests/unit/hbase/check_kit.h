/*
 * check_kit.h - what tests of checks of OpenTSDB's tables share: a remote store over a fake HBase, and what a check counts as text.
 *
 * Threads    one
 */
#ifndef TESTS_UNIT_HBASE_CHECK_KIT_H
#define TESTS_UNIT_HBASE_CHECK_KIT_H

#include "tests/unit/hbase/t_fetch.h"

#include "storage/hbase/remote/check.h"

#define NOW_MS INT64_C(1900000000000) /* of the checks */
#define OLD_MS INT64_C(1800000000000) /* of what is put */
#define FULL                                                                                                 \
    (STO_HBASE_FIX | STO_HBASE_FIX_NEWEST | STO_HBASE_DELETE_VALUES | STO_HBASE_DELETE_COLUMNS |             \
     STO_HBASE_DELETE_ROWS | STO_HBASE_DELETE_ORPHANS | STO_HBASE_DELETE_UNKNOWN)

static struct t_fetch t;
#define PLAIN  ((struct sto_hbase_schema){3, 3, 3, 0, 20})
#define SALTED ((struct sto_hbase_schema){3, 3, 3, 1, 20})

static size_t max_reply_bytes;         /* 0 = the default */
static struct ts_budget *check_memory; /* NULL: nothing is counted */

static inline int64_t clock_ms(void)
{
    return NOW_MS;
}

static inline void open_store(struct sto_hbase_schema schema)
{
    struct ts_error err = {0};
    t.schema = schema;
    t.fake = fake_hbase_start(STO_THRIFT_BUFFERED, 0);
    assert_non_null(t.fake);
    fake_hbase_create_opentsdb(t.fake);
    fake_hbase_set_clock(t.fake, OLD_MS);
    struct sto_thrift_gateway gateway = {"127.0.0.1", fake_hbase_port(t.fake)};
    struct sto_hbase_opts opts = {.access = {.gateways = &gateway,
                                             .n_gateways = 1,
                                             .max_reply_bytes = max_reply_bytes,
                                             .memory = check_memory},
                                  .schema = schema,
                                  .now_ms = clock_ms,
                                  .tables = STO_HBASE_TABLES_DEFAULT};
    if (sto_hbase_open(&opts, &t.remote, &err) < 0)
        fail_msg("%s", err.text);
}

/* --- running --- */

struct seen {
    size_t n;
    struct ts_buf last; /* text of the last fault */
};

static inline void on_found(void *arg, const struct sto_hbase_found *f)
{
    struct seen *s = arg;
    assert_string_equal(f->name, sto_hbase_fault_name(f->fault));
    assert_true(strlen(f->text) > 10 && f->text[strlen(f->text) - 1] == '.'); /* a sentence */
    s->n++;
    ts_buf_clear(&s->last);
    ts_buf_str(&s->last, f->text);
}

static inline void put_counts(const struct sto_hbase_check_result *res, struct ts_buf *out)
{
    ts_buf_clear(out);
    for (unsigned i = 0; i < STO_HBASE_N_FAULTS; i++)
        if (res->n_found[i])
            ts_buf_printf(out, "%s%s=%llu/%llu", out->n ? " " : "", sto_hbase_fault_name(i),
                          (unsigned long long)res->n_found[i], (unsigned long long)res->n_fixed[i]);
    ts_buf_char(out, 0);
}

/* Check; want: "NAME=FOUND/REPAIRED ..." in the order of enum sto_hbase_fault. */
static inline struct sto_hbase_check_result expect_with(const struct sto_hbase_check_opts *opts, bool ids,
                                                        const char *want)
{
    struct sto_hbase_check_result res = {0};
    struct sto_hbase_check_opts o = *opts;
    struct seen seen = {.n = 0};
    struct ts_error err = {0};
    struct ts_buf text;
    uint64_t n = 0;
    ts_buf_init(&text, 0);
    ts_buf_init(&seen.last, 0);
    o.found = on_found;
    o.arg = &seen;
    if ((ids ? sto_hbase_check_ids : sto_hbase_check_data)(t.remote, &o, NULL, &res, &err) < 0)
        fail_msg("%s", err.text);
    put_counts(&res, &text);
    if (strcmp(text.p, want) != 0)
        fail_msg("found %s instead of %s; last: %.*s", text.p, want, (int)seen.last.n, seen.last.p);
    for (unsigned i = 0; i < STO_HBASE_N_FAULTS; i++)
        n += res.n_found[i];
    assert_int_equal(n, seen.n);
    ts_buf_release(&text);
    ts_buf_release(&seen.last);
    return res;
}
static inline struct sto_hbase_check_result expect(unsigned fixes, const char *want)
{
    struct sto_hbase_check_opts opts = STO_HBASE_CHECK_ALL;
    opts.fixes = fixes;
    return expect_with(&opts, false, want);
}
static inline struct sto_hbase_check_result expect_ids(unsigned fixes, const char *want)
{
    struct sto_hbase_check_opts opts = STO_HBASE_CHECK_ALL;
    opts.fixes = fixes;
    return expect_with(&opts, true, want);
}

/* A cell of the table of ids; row and value in hexadecimal digits. */
static inline void name_cell(const char *row_hex, const char *family, const char *kind, const char *value_hex)
{
    struct t_bytes row = t_hex(row_hex), value = t_hex(value_hex);
    fake_hbase_put(t.fake, "tsdb-uid", t_slice(&row), family, ts_slice_str(kind), t_slice(&value), 0);
}

/* Names m1, m2, k1 and v1, and all that belongs to them. */
static inline void open_ids(void)
{
    open_store(PLAIN);
    t_fetch_names(&t, 2, 1, 1);
    name_cell("00", "id", "metrics", "0000000000000009");
    name_cell("00", "id", "tagk", "0000000000000001");
    name_cell("00", "id", "tagv", "0000000000000001");
    name_cell("000001", "name", "metric_meta", "7B7D");
    expect_ids(0, "");
}

#endif
