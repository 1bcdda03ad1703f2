/*
 * t_fetch.h - a remote store over a fake HBase, whose rows tests write byte by byte, and what fetches return as text.
 *
 *   names    metrics m1.., tag keys k1.., tag values v1..: the number is the id
 *   result   sorted lines "m1 k1=v7 k2=v3 hour=10 pos=0: 0s=42 500ms=1.5"; without pos if there is none
 */
#ifndef TESTS_UNIT_HBASE_T_FETCH_H
#define TESTS_UNIT_HBASE_T_FETCH_H

#include "tests/unit/hbase/t_row.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "base/time.h"
#include "storage/hbase/remote/remote.h"
#include "storage/hbase/uidtable.h"
#include "tests/hbase/fake_hbase.h"

#define T_FETCH_ROWS 8192

/* A remote store over a fake HBase. */
struct t_fetch {
    struct fake_hbase *fake;
    struct sto_remote *remote;
    struct sto_hbase_schema schema;
};
/* What a fetch returned. */
struct t_rows {
    char *line[T_FETCH_ROWS]; /* owned */
    size_t n;
    size_t fail_at; /* the row of this number is answered with TS_ELIMIT; 0 = none */
};

static inline void t_fetch_open(struct t_fetch *t, struct sto_hbase_schema schema, unsigned connections)
{
    struct ts_error err = {0};
    t->schema = schema;
    t->fake = fake_hbase_start(STO_THRIFT_BUFFERED, 0);
    assert_non_null(t->fake);
    fake_hbase_create_opentsdb(t->fake);
    struct sto_thrift_gateway gateway = {"127.0.0.1", fake_hbase_port(t->fake)};
    struct sto_hbase_opts opts = {.access = {.gateways = &gateway, .n_gateways = 1},
                                  .schema = schema,
                                  .tables = STO_HBASE_TABLES_DEFAULT,
                                  .scan_connections = connections};
    if (sto_hbase_open(&opts, &t->remote, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void t_fetch_close(struct t_fetch *t)
{
    t->remote->ops->close(t->remote);
    fake_hbase_stop(t->fake);
}

/* A name with its id, both ways. */
static inline void t_fetch_name(struct t_fetch *t, enum sto_remote_kind kind, const char *name, uint64_t id)
{
    uint8_t bytes[STO_HBASE_MAX_WIDTH];
    size_t n = (size_t)sto_hbase_uid_make(&t->schema, kind, id, bytes, NULL);
    struct ts_slice uid = {(const char *)bytes, n}, q = sto_hbase_uid_qualifier(kind);
    fake_hbase_put(t->fake, "tsdb-uid", ts_slice_str(name), "id", q, uid, 0);
    fake_hbase_put(t->fake, "tsdb-uid", uid, "name", q, ts_slice_str(name), 0);
}

/* Metrics m1.., tag keys k1.., tag values v1.. up to these numbers. */
static inline void t_fetch_names(struct t_fetch *t, uint64_t metrics, uint64_t keys, uint64_t values)
{
    const struct {
        char letter;
        uint64_t n;
    } kinds[] = {{'m', metrics}, {'k', keys}, {'v', values}};
    char name[32];
    for (int kind = 0; kind < 3; kind++)
        for (uint64_t id = 1; id <= kinds[kind].n; id++) {
            (void)snprintf(name, sizeof(name), "%c%llu", kinds[kind].letter, (unsigned long long)id);
            t_fetch_name(t, (enum sto_remote_kind)kind, name, id);
        }
}

/* A series of m1: pairs of ids of keys and values, ending with 0. */
static inline struct t_bytes t_tsuid(const struct t_fetch *t, const unsigned *pairs)
{
    struct sto_hbase_ids ids = {.metric = 1};
    struct t_bytes out;
    for (; *pairs; pairs += 2)
        ids.tag[ids.n_tags++] = (struct sto_hbase_pair){pairs[0], pairs[1]};
    out.n = sto_hbase_tsuid_make(&t->schema, &ids, out.p);
    return out;
}
#define T_PAIRS(...) ((const unsigned[]){__VA_ARGS__, 0})

static inline struct t_bytes t_key(const struct t_fetch *t, const unsigned *pairs, uint32_t hour)
{
    struct t_bytes tsuid = t_tsuid(t, pairs), out;
    out.n = sto_hbase_rowkey_make(&t->schema, t_slice(&tsuid), hour * 3600, out.p);
    return out;
}

/* A cell "QUALIFIER VALUE" in hexadecimal digits, into a row of any key. */
static inline void t_put_key(struct t_fetch *t, const struct t_bytes *key, const char *cell)
{
    char part[2 * T_HEX_BYTES];
    (void)snprintf(part, sizeof(part), "%s", cell);
    char *value = strchr(part, ' ');
    *value++ = 0;
    struct t_bytes q = t_hex(part), v = t_hex(value);
    fake_hbase_put(t->fake, "tsdb", t_slice(key), "t", t_slice(&q), t_slice(&v), 0);
}
static inline void t_put(struct t_fetch *t, const unsigned *pairs, uint32_t hour, const char *cell)
{
    struct t_bytes key = t_key(t, pairs, hour);
    t_put_key(t, &key, cell);
}

/* --- results --- */

static inline int t_fetch_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    struct t_rows *rows = arg;
    struct ts_buf out, points;
    if (rows->fail_at && rows->n + 1 == rows->fail_at)
        return ts_error_set(err, TS_ELIMIT, "enough");
    assert_true(rows->n < T_FETCH_ROWS);
    ts_buf_init(&out, 0);
    ts_buf_init(&points, 0);
    ts_buf_slice(&out, row->series.metric);
    for (size_t i = 0; i < row->series.n_tags; i++) {
        const struct sto_remote_tag *tag = &row->series.tags[i];
        assert_true(i == 0 || ts_slice_cmp(tag[-1].k, tag->k) < 0);
        ts_buf_printf(&out, " %.*s=%.*s", (int)tag->k.n, tag->k.p, (int)tag->v.n, tag->v.p);
    }
    ts_buf_printf(&out, row->cells ? " hour=%d" : " series", row->hour);
    if (pos != SIZE_MAX)
        ts_buf_printf(&out, " pos=%zu", pos);
    ts_buf_char(&out, ':');
    for (uint32_t i = 0; row->cells && i < row->cells->n; i++) {
        assert_int_equal(sto_meta_op(row->cells->meta[i]), STO_OP_PUT);
        t_print_point(&points, row->cells->meta[i], row->cells->m[i]);
    }
    if (points.n)
        ts_buf_char(&out, ' ');
    ts_buf_slice(&out, ts_buf_get(&points));
    rows->line[rows->n++] = ts_xstrndup(out.p, out.n);
    ts_buf_release(&out);
    ts_buf_release(&points);
    return 0;
}

static inline int t_by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Fetch; returns its result. The lines are sorted. */
static inline int t_fetch_into(struct t_fetch *t, const struct sto_fetch *f,
                               const struct sto_remote_call *call, struct t_rows *rows, struct ts_error *err)
{
    *err = (struct ts_error){0};
    rows->n = 0;
    int rc = t->remote->ops->fetch(t->remote, f, call, t_fetch_row, rows, err);
    qsort(rows->line, rows->n, sizeof(char *), t_by_text);
    return rc;
}

static inline void t_rows_release(struct t_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        ts_free(rows->line[i]);
    rows->n = 0;
}

/* All lines, each with its line break; the caller frees it. */
static inline char *t_fetch_text(struct t_fetch *t, const struct sto_fetch *f)
{
    static struct t_rows rows;
    struct ts_error err;
    struct ts_buf out;
    ts_buf_init(&out, 0);
    rows.fail_at = 0;
    if (t_fetch_into(t, f, NULL, &rows, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < rows.n; i++)
        ts_buf_printf(&out, "%s\n", rows.line[i]);
    ts_buf_char(&out, 0);
    t_rows_release(&rows);
    return out.p;
}

static inline void t_expect_fetch(struct t_fetch *t, const struct sto_fetch *f, const char *expected)
{
    char *text = t_fetch_text(t, f);
    assert_string_equal(text, expected);
    ts_free(text);
}

/* --- requests --- */

/* All of m1 between two hours, the second one excluded. */
static inline struct sto_fetch t_hours(uint32_t from, uint32_t to)
{
    return (struct sto_fetch){
        .metric = TS_SLICE_LIT("m1"), .from_ms = from * TS_HOUR_MS, .to_ms = to * TS_HOUR_MS - 1};
}

struct t_status {
    const char *name;
    uint64_t value;
};
static inline void t_status_each(void *arg, const char *name, uint64_t value)
{
    struct t_status *s = arg;
    if (strcmp(s->name, name) == 0)
        s->value = value;
}
/* A counter of the remote store. */
static inline uint64_t t_status(struct t_fetch *t, const char *name)
{
    struct t_status s = {name, UINT64_MAX};
    t->remote->ops->status(t->remote, t_status_each, &s);
    assert_true(s.value != UINT64_MAX);
    return s.value;
}

#endif
