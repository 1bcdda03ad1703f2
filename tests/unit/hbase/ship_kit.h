/*
 * ship_kit.h - what tests of shipping to HBase share: a fake HBase, a remote store over it, rows by their points.
 *
 *   points    "0:42 60:-1 90500ms:1.5": seconds or milliseconds after the hour, and the value
 *
 * All rows belong to one series of metric "m" with the tag host=a, whose ids are 1, so that another writer can be played.
 */
#ifndef TESTS_UNIT_HBASE_SHIP_KIT_H
#define TESTS_UNIT_HBASE_SHIP_KIT_H

#include "tests/hbase/fake_hbase.h"
#include "tests/unit/hbase/t_row.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/time.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/remote/remote.h"

#define K_HOUR       400000 /* 2015-08-19 */
#define K_CELLS      256
#define K_ANNOTATION TS_SLICE_LIT("\1\0\0") /* qualifier of one */

static struct fake_hbase *k_fake;
static struct sto_remote *k_remote;
static int64_t k_now;
static const struct sto_remote_tag k_tags[] = {{{"host", 4}, {"a", 1}}};
static const struct sto_remote_series k_series = {.key = 1, .metric = {"m", 1}, .tags = k_tags, .n_tags = 1};

static inline int64_t k_clock(void)
{
    return k_now;
}

/** Open a remote store over the fake. */
static inline void k_open(bool compacts, bool sole_writer)
{
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .max_connections = 6},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .ship_connections = 2,
                                  .compacts = compacts,
                                  .sole_writer = sole_writer,
                                  .now_ms = k_clock};
    struct ts_error err = {0};
    if (sto_hbase_open(&opts, &k_remote, &err) < 0)
        fail_msg("%s", err.text);
}
static inline void k_close(void)
{
    k_remote->ops->close(k_remote);
    k_remote = NULL;
}
static inline void k_start(void)
{
    k_now = (int64_t)K_HOUR * TS_HOUR_MS; /* hours before K_HOUR are over */
    k_fake = fake_hbase_start(STO_THRIFT_BUFFERED, 0);
    assert_non_null(k_fake);
    fake_hbase_create_opentsdb(k_fake);
}
static inline void k_stop(void)
{
    fake_hbase_stop(k_fake);
    k_fake = NULL;
}

static inline int k_setup(void **state)
{
    (void)state;
    k_start();
    return 0;
}
static inline int k_teardown(void **state)
{
    (void)state;
    if (k_remote)
        k_close();
    k_stop();
    return 0;
}

/* --- points --- */

static inline struct sto_cells k_cells(const char *text)
{
    struct sto_cells c = {0};
    while (*text) {
        char *end, word[64];
        unsigned long off = strtoul(text, &end, 10);
        bool ms = strncmp(end, "ms", 2) == 0;
        struct ts_num v;
        struct ts_error err = {0};
        end += ms ? 3 : 1;
        size_t n = strcspn(end, " ");
        (void)snprintf(word, sizeof word, "%.*s", (int)n, end);
        assert_int_equal(ts_num_parse(ts_slice_str(word), &v, &err), 0);
        sto_cells_reserve(&c, c.n + 1);
        c.meta[c.n] = (uint32_t)(ms ? off : off * 1000) | sto_meta_flags(STO_OP_PUT, v.kind, v.exp, ms);
        c.m[c.n++] = v.m;
        text = end + n;
        text += *text == ' ';
    }
    return c;
}

/** Key of the row of an hour. */
static inline struct ts_slice k_key(int32_t hour)
{
    static __thread uint8_t key[4][STO_HBASE_MAX_KEY_BYTES];
    static __thread unsigned at;
    struct sto_hbase_schema schema = STO_HBASE_SCHEMA_DEFAULT;
    uint8_t *k = key[at++ % 4];
    size_t n = sto_hbase_rowkey_make(&schema, TS_SLICE_LIT("\0\0\1\0\0\1\0\0\1"), (uint32_t)hour * 3600u, k);
    return (struct ts_slice){(const char *)k, n};
}

/** Remove a row, and all traces of it. */
static inline void k_forget(int32_t hour)
{
    fake_hbase_delete(k_fake, "tsdb", k_key(hour), "t", (struct ts_slice){NULL, 0});
    fake_hbase_compact(k_fake, "tsdb");
}

/** Another writer puts each point as a cell of its own (kind 's'), all in a compacted column ('c') or in an append column ('a'). */
static inline void k_other(int32_t hour, char kind, const char *points)
{
    struct sto_cells c = k_cells(points);
    struct ts_buf q, v;
    ts_buf_init(&q, 0);
    ts_buf_init(&v, 0);
    if (kind == 'c')
        assert_int_equal(sto_hbase_encode_compacted(&c, &q, &v), 0);
    if (kind == 'a') {
        ts_buf_slice(&q, STO_HBASE_APPENDS);
        assert_int_equal(sto_hbase_encode_appends(&c, &v), 0);
    }
    for (uint32_t i = 0; i < c.n && kind == 's'; i++) {
        struct sto_hbase_point p;
        sto_hbase_encode_point(c.meta[i], c.m[i], &p);
        fake_hbase_put(k_fake, "tsdb", k_key(hour), "t",
                       (struct ts_slice){(char *)p.qualifier, p.n_qualifier},
                       (struct ts_slice){(char *)p.value, p.n_value}, 0);
    }
    if (kind != 's')
        fake_hbase_put(k_fake, "tsdb", k_key(hour), "t", ts_buf_get(&q), ts_buf_get(&v), 0);
    sto_cells_release(&c);
    ts_buf_release(&q);
    ts_buf_release(&v);
}

/* --- shipping --- */

struct k_result {
    pthread_mutex_t mu;
    pthread_cond_t cond;
    bool done;
    int rc;
    struct ts_error err, why; /* of the shipment; of the last row that was refused */
    size_t n_refused;
};
static inline void k_done(void *arg, int rc, const struct ts_error *err)
{
    struct k_result *r = arg;
    pthread_mutex_lock(&r->mu);
    r->done = true;
    r->rc = rc;
    if (err)
        r->err = *err;
    pthread_cond_signal(&r->cond);
    pthread_mutex_unlock(&r->mu);
}
static inline void k_refused(void *arg, size_t row, const struct ts_error *err)
{
    struct k_result *r = arg;
    (void)row;
    r->why = *err;
    r->n_refused++;
}
/** A call that ends after some milliseconds. */
static inline struct sto_remote_call k_call_for(int64_t ms)
{
    return (struct sto_remote_call){.deadline_ns = ts_clock_mono_ns() + ms * 1000000};
}
static inline void k_wait(struct k_result *r)
{
    pthread_mutex_lock(&r->mu);
    while (!r->done)
        pthread_cond_wait(&r->cond, &r->mu);
    pthread_mutex_unlock(&r->mu);
}
/** Ship rows within the limits of a call (NULL: none), and wait. */
static inline struct k_result k_ship_within(const struct sto_remote_row *rows, size_t n,
                                            const struct sto_remote_call *call)
{
    struct k_result r = {.mu = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct sto_shipment s = {.rows = rows, .n = n, .refused = k_refused, .arg = &r};
    k_remote->ops->ship(k_remote, &s, call, k_done, &r);
    k_wait(&r);
    return r;
}
/** Ship rows and wait. */
static inline struct k_result k_ship_rows(const struct sto_remote_row *rows, size_t n)
{
    return k_ship_within(rows, n, NULL);
}
/** Every getMultiple is answered with its rows in reverse order, until fake_hbase_heal. */
static inline void k_reverse_rows(void)
{
    fake_hbase_inject(k_fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_OTHER_ORDER,
                                                       .of_call = true,
                                                       .call = STO_THRIFT_GET_MULTIPLE,
                                                       .n = UINT_MAX});
}
/** Ship points of the series; the call must succeed. */
static inline void k_ship(int32_t hour, bool fresh, const char *points)
{
    struct sto_cells c = k_cells(points);
    struct sto_remote_row row = {.series = k_series, .hour = hour, .cells = &c, .fresh = fresh};
    struct k_result r = k_ship_rows(&row, 1);
    if (r.rc < 0 || r.n_refused)
        fail_msg("%s%s", r.err.text, r.why.text);
    sto_cells_release(&c);
}

/* --- looking --- */

struct k_row {
    struct t_bytes q[K_CELLS], v[K_CELLS];
    struct sto_hbase_cell cell[K_CELLS];
    size_t n;
};
/** Parse the part of a dump that belongs to a row. */
static inline void k_read(int32_t hour, struct k_row *row)
{
    struct ts_buf dump;
    char key[2 * STO_HBASE_MAX_KEY_BYTES + 1];
    struct ts_slice k = k_key(hour);
    ts_buf_init(&dump, 0);
    fake_hbase_dump(k_fake, "tsdb", true, &dump);
    ts_buf_char(&dump, 0);
    sto_hbase_hex_print(k, key);
    key[2 * k.n] = 0;
    row->n = 0;
    char *rest = NULL;
    for (char *line = strtok_r(dump.p, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *colon = strchr(line, ':'), *at = strchr(line, '@'), *equals = strchr(line, '=');
        if (strncasecmp(line, key, strlen(key)) != 0)
            continue;
        assert_true(row->n < K_CELLS);
        *at = *equals = 0;
        row->q[row->n] = t_hex(colon + 1);
        row->v[row->n] = t_hex(equals + 1);
        row->cell[row->n] = (struct sto_hbase_cell){t_slice(&row->q[row->n]), t_slice(&row->v[row->n]),
                                                    strtoll(at + 1, NULL, 10)};
        row->n++;
    }
    ts_buf_release(&dump);
}
/** Decode a row as text ("0s=42 500ms=1.5"), and count contradictions and damage. */
static inline size_t k_text(int32_t hour, struct ts_buf *out, size_t *n_cells)
{
    struct k_row *row = ts_xmalloc(sizeof *row);
    struct sto_hbase_columns c;
    struct ts_error err = {0};
    k_read(hour, row);
    sto_hbase_columns_init(&c, NULL);
    if (sto_hbase_columns_decode(&c, row->cell, row->n, NULL, &err) < 0)
        abort();
    for (uint32_t i = 0; i < c.cells.n; i++)
        t_print_point(out, c.cells.meta[i], c.cells.m[i]);
    ts_buf_char(out, 0);
    size_t n = c.n_contradicting + c.n_damaged;
    if (n_cells)
        *n_cells = row->n;
    sto_hbase_columns_release(&c);
    ts_free(row);
    return n;
}
/** The row has these points and no contradictions; returns its cells. */
static inline size_t k_expect(int32_t hour, const char *want)
{
    struct ts_buf text;
    size_t n;
    ts_buf_init(&text, 0);
    size_t n_bad = k_text(hour, &text, &n);
    assert_string_equal(text.p, want);
    assert_int_equal(n_bad, 0);
    ts_buf_release(&text);
    return n;
}
/** Does the row contradict itself? For threads of the fake. */
static inline bool k_contradicts(int32_t hour)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    size_t n = k_text(hour, &text, NULL);
    ts_buf_release(&text);
    return n > 0;
}
/** Requests that change something. */
static inline uint64_t k_changes(void)
{
    return fake_hbase_count(k_fake, STO_THRIFT_PUT_MULTIPLE) +
           fake_hbase_count(k_fake, STO_THRIFT_MUTATE_ROW) + fake_hbase_count(k_fake, STO_THRIFT_APPEND) +
           fake_hbase_count(k_fake, STO_THRIFT_DELETE_MULTIPLE);
}

#endif
