/*
 * live_kit.h - what programs share that make calls to a running gateway: where it is, the table, rows of the run.
 *
 *   TSD_HBASE_GATEWAY=HOST:PORT   the gateway; without it they fail
 *   TSD_HBASE_FRAMED=1            it has framed transport
 *   TSD_HBASE_TABLE=NAME          the table, "tsd_thrift_live" if it is not set; created unless it exists
 */
#ifndef TESTS_HBASE_LIVE_KIT_H
#define TESTS_HBASE_LIVE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "storage/hbase/thrift/client.h"

#define MINUTE_NS 60000000000ll

static struct ts_slice TABLE = {"tsd_thrift_live", 15};
static const struct ts_slice F = {"t", 1}; /* its family */
static bool framed;
static struct sto_thrift_gateway gateway;
static struct sto_thrift_client *c;
static struct sto_thrift_request r;
static struct sto_thrift_reply reply;
static struct ts_error err;
static char prefix[32]; /* of the rows of this run */

static inline struct sto_thrift_wait soon(void)
{
    return (struct sto_thrift_wait){.until_ns = ts_clock_mono_ns() + MINUTE_NS};
}

/* Call what r has; it must end with that code. */
static inline void call(int encoded, int want)
{
    enum sto_thrift_sent sent;
    assert_int_equal(encoded, 0);
    err = (struct ts_error){0};
    int rc = sto_thrift_client_call(c, &r, soon(), &reply, &sent, &err);
    if (rc != want)
        fail_msg("%s: %d %s", sto_thrift_call_info(r.call)->name, rc, err.text);
    assert_int_equal(sent, STO_THRIFT_ANSWERED);
}

/* The key of a row of this run, in one of four buffers. */
static inline struct ts_slice key(const char *name)
{
    static char keys[4][64];
    static unsigned at;
    char *k = keys[at++ % 4];
    (void)snprintf(k, sizeof(keys[0]), "%s%s", prefix, name);
    return ts_slice_str(k);
}

static inline struct sto_thrift_cell cell_of(const char *qualifier, const char *value)
{
    return (struct sto_thrift_cell){
        .family = F, .qualifier = ts_slice_str(qualifier), .value = ts_slice_str(value)};
}

static inline void put(const char *row, const char *qualifier, const char *value)
{
    struct sto_thrift_cell cell = cell_of(qualifier, value);
    call(sto_thrift_call_put(&r, TABLE,
                             &(struct sto_thrift_put){.row = key(row), .cells = &cell, .n_cells = 1}),
         0);
}

/* The row has these cells: "q=v q=v", in the order of qualifiers; "" = there is no such row. */
static inline void has(const char *row, const char *want)
{
    struct sto_thrift_items it;
    struct sto_thrift_row got;
    struct sto_thrift_cell cell;
    char text[200] = "";
    size_t n = 0;
    call(sto_thrift_call_get(&r, TABLE, &(struct sto_thrift_get){.row = key(row)}), 0);
    sto_thrift_items_init(&it, &reply);
    assert_int_equal(sto_thrift_row(&it, &got, &err), 1);
    assert_int_equal(got.row.p != NULL, want[0] != 0);
    while (sto_thrift_row_next(&got, &cell, &err) == 1 && n < sizeof(text)) {
        assert_true(cell.has_ts);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s=%.*s", n ? " " : "", (int)cell.qualifier.n,
                              cell.qualifier.p, (int)cell.value.n, cell.value.p);
    }
    assert_string_equal(text, want);
}

/* Create the table unless it exists. */
static inline void live_table(void)
{
    call(sto_thrift_call_table_exists(&r, TABLE), 0);
    if (sto_thrift_reply_bool(&reply))
        return;
    struct sto_thrift_family f = STO_THRIFT_FAMILY(F);
    struct ts_slice splits[] = {{"3", 1}, {"6", 1}};
    f.bloom = STO_THRIFT_BLOOM_ROW;
    f.max_versions = 1;
    f.ttl_s = 86400;
    call(sto_thrift_call_create_table(&r, TABLE, &f, 1, splits, framed ? 0 : 2), 0);
}

/* Delete rows. */
static inline void live_remove(const char *const *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        call(sto_thrift_call_delete(
                 &r, TABLE,
                 &(struct sto_thrift_delete){.row = key(rows[i]), .type = STO_THRIFT_DELETE_COLUMNS}),
             0);
}

/* False: the environment does not say where the gateway is. */
static inline bool live_start(void)
{
    const char *where = getenv("TSD_HBASE_GATEWAY"), *frames = getenv("TSD_HBASE_FRAMED");
    const char *table = getenv("TSD_HBASE_TABLE");
    char *host = where ? strdup(where) : NULL, *colon = host ? strrchr(host, ':') : NULL;
    if (!colon) {
        (void)fprintf(stderr, "TSD_HBASE_GATEWAY is not set to HOST:PORT\n");
        free(host);
        return false;
    }
    *colon = 0;
    gateway = (struct sto_thrift_gateway){host, colon + 1};
    framed = frames && *frames == '1';
    TABLE = table && *table ? ts_slice_str(table) : TABLE;
    c = sto_thrift_client_new(
        &(struct sto_thrift_client_opts){.gateways = &gateway,
                                         .n_gateways = 1,
                                         .transport = framed ? STO_THRIFT_FRAMED : STO_THRIFT_BUFFERED});
    sto_thrift_request_init(&r, 0, NULL);
    (void)snprintf(prefix, sizeof(prefix), "%lld.", (long long)ts_clock_ms());
    return true;
}

static inline void live_stop(void)
{
    sto_thrift_request_release(&r);
    sto_thrift_client_free(c);
    free((char *)(uintptr_t)gateway.host);
}

#endif
