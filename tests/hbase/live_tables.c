/*
 * live_tables.c - creates and empties OpenTSDB's tables at a running gateway.
 */
#include "tests/hbase/live_tables.h"

#include "base/mem.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N_TABLES  4
#define ROWS      500 /* that are deleted by one request */
#define N_PASSES  200 /* over a table, until it counts as never empty */
#define NAME_SIZE 120

struct live_tables {
    char *host;
    struct sto_thrift_gateway gateway;
    struct sto_hbase_access_opts access_opts;
    struct sto_hbase_access *access;
    struct sto_thrift_request r, del;
    char name[N_TABLES][NAME_SIZE];
    int64_t newest_ms; /* of the cells that were deleted */
};

static const struct {
    const char *name, *families[4];
} SHAPES[N_TABLES] = {{"data", {"t"}}, {"uid", {"id", "name"}}, {"tree", {"t"}}, {"meta", {"name"}}};

static bool failed(const char *what, const struct ts_error *err)
{
    (void)fprintf(stderr, "%s: %s\n", what, err->text);
    return false;
}

static bool create(struct live_tables *t, struct sto_hbase_session *s, size_t i)
{
    struct sto_thrift_family families[4];
    struct sto_thrift_reply reply;
    struct ts_error err = {0};
    struct ts_slice table = ts_slice_str(t->name[i]);
    size_t n = 0;
    if (sto_thrift_call_table_exists(&t->r, table) < 0 || sto_hbase_call(s, &t->r, &reply, NULL, &err) < 0)
        return failed("tableExists", &err);
    if (sto_thrift_reply_bool(&reply))
        return true;
    for (; SHAPES[i].families[n]; n++) {
        families[n] = STO_THRIFT_FAMILY(ts_slice_str(SHAPES[i].families[n]));
        families[n].max_versions = 1;
    }
    if (sto_thrift_call_create_table(&t->r, table, families, n, NULL, 0) < 0 ||
        sto_hbase_call(s, &t->r, &reply, NULL, &err) < 0)
        return failed("createTable", &err);
    return true;
}

/* Timestamps of cells may be ahead of the clock, one millisecond for each change of a row, and a put in the millisecond of a delete is hidden by it. A clock
 * that stands is one that a test has set. */
static void wait_for_the_clock(const struct live_tables *t)
{
    struct timespec wait = {.tv_nsec = 3000000};
    int64_t was_ms, now_ms = ts_clock_ms();
    do {
        was_ms = now_ms;
        (void)nanosleep(&wait, NULL);
        now_ms = ts_clock_ms();
    } while (now_ms <= t->newest_ms && now_ms != was_ms);
}

/* Delete a row up to its newest cell: a delete without a timestamp would have that of HBase's clock, and hide what this program puts with its own. */
static void delete_row(struct live_tables *t, size_t i, struct sto_thrift_row *row)
{
    struct sto_thrift_column families[4];
    struct sto_thrift_cell cell;
    struct ts_error err = {0};
    int64_t newest_ms = 0;
    size_t n = 0;
    while (sto_thrift_row_next(row, &cell, &err) == 1)
        newest_ms = cell.ts_ms > newest_ms ? cell.ts_ms : newest_ms;
    t->newest_ms = newest_ms > t->newest_ms ? newest_ms : t->newest_ms;
    for (; SHAPES[i].families[n]; n++)
        families[n] = (struct sto_thrift_column){
            .family = ts_slice_str(SHAPES[i].families[n]), .ts_ms = newest_ms, .has_ts = true};
    sto_thrift_batch_delete(
        &t->del, &(struct sto_thrift_delete){
                     .row = row->row, .columns = families, .n_columns = n, .type = STO_THRIFT_DELETE_FAMILY});
}

/* Delete the first rows of a table; how many, or -1. */
static int64_t delete_some(struct live_tables *t, struct sto_hbase_session *s, size_t i)
{
    struct ts_slice table = ts_slice_str(t->name[i]);
    struct sto_thrift_scan scan = {.limit_rows = ROWS};
    struct sto_thrift_reply reply;
    struct sto_thrift_items items;
    struct sto_thrift_row row;
    struct ts_error err = {0};
    int64_t n = 0;
    if (sto_thrift_call_get_scanner_results(&t->r, table, &scan, ROWS) < 0 ||
        sto_hbase_call(s, &t->r, &reply, NULL, &err) < 0)
        return failed("getScannerResults", &err) - 1;
    sto_thrift_items_init(&items, &reply);
    sto_thrift_batch_begin(&t->del, STO_THRIFT_DELETE_MULTIPLE, table);
    for (; sto_thrift_row(&items, &row, &err) == 1; n++)
        delete_row(t, i, &row);
    if (n == 0)
        return 0;
    if (sto_thrift_batch_end(&t->del) < 0 || sto_hbase_call(s, &t->del, &reply, NULL, &err) < 0)
        return failed("deleteMultiple", &err) - 1;
    return n;
}

static bool empty(struct live_tables *t, struct sto_hbase_session *s, size_t i, bool *out_deleted)
{
    for (int pass = 0; pass < N_PASSES; pass++) {
        int64_t n = delete_some(t, s, i);
        if (n <= 0)
            return n == 0;
        *out_deleted = true;
        if (n < ROWS)
            wait_for_the_clock(t);
    }
    (void)fprintf(stderr, "the table %s does not become empty\n", t->name[i]);
    return false;
}

bool live_tables_empty(struct live_tables *t)
{
    struct sto_hbase_session s;
    struct ts_error err = {0};
    bool ok = true, deleted = false;
    if (sto_hbase_begin(t->access, NULL, &s, &err) < 0)
        return failed("begin", &err);
    for (size_t i = 0; i < N_TABLES && ok; i++)
        ok = empty(t, &s, i, &deleted);
    sto_hbase_end(&s);
    if (deleted)
        wait_for_the_clock(t);
    return ok;
}

struct sto_remote *live_tables_open(const struct live_tables *t, struct sto_hbase_opts opts)
{
    struct sto_remote *remote = NULL;
    struct ts_error err = {0};
    opts.access.gateways = &t->gateway;
    opts.access.n_gateways = 1;
    opts.access.transport = t->access_opts.transport;
    opts.tables = (struct sto_hbase_tables){t->name[0], t->name[1], t->name[2], t->name[3]};
    if (sto_hbase_open(&opts, &remote, &err) < 0)
        (void)failed("sto_hbase_open", &err);
    return remote;
}

static bool create_all(struct live_tables *t)
{
    struct sto_hbase_session s;
    struct ts_error err = {0};
    bool ok = true;
    if (sto_hbase_begin(t->access, NULL, &s, &err) < 0)
        return failed("begin", &err);
    for (size_t i = 0; i < N_TABLES && ok; i++)
        ok = create(t, &s, i);
    sto_hbase_end(&s);
    return ok;
}

struct live_tables *live_tables_new(const char *name)
{
    const char *where = getenv("TSD_HBASE_GATEWAY"), *framed = getenv("TSD_HBASE_FRAMED"),
               *prefix = getenv("TSD_HBASE_TABLES");
    struct live_tables *t = ts_xcalloc(1, sizeof *t);
    t->host = ts_xstrdup(where ? where : "");
    char *colon = strrchr(t->host, ':');
    if (!colon) {
        (void)fprintf(stderr, "TSD_HBASE_GATEWAY is not set to HOST:PORT\n");
        ts_free(t->host);
        ts_free(t);
        return NULL;
    }
    *colon = 0;
    t->gateway = (struct sto_thrift_gateway){t->host, colon + 1};
    t->access_opts = (struct sto_hbase_access_opts){
        .gateways = &t->gateway,
        .n_gateways = 1,
        .transport = framed && *framed == '1' ? STO_THRIFT_FRAMED : STO_THRIFT_BUFFERED};
    t->access = sto_hbase_access_new(&t->access_opts);
    sto_thrift_request_init(&t->r, 0, NULL);
    sto_thrift_request_init(&t->del, 0, NULL);
    for (size_t i = 0; i < N_TABLES; i++)
        if (prefix && *prefix)
            (void)snprintf(t->name[i], NAME_SIZE, "%.80s%s", prefix, SHAPES[i].name);
        else
            (void)snprintf(t->name[i], NAME_SIZE, "tsd_%.40s_%ld_%s", name, (long)getpid(), SHAPES[i].name);
    if (create_all(t))
        return t;
    live_tables_free(t);
    return NULL;
}

void live_tables_free(struct live_tables *t)
{
    if (!t)
        return;
    sto_hbase_access_free(t->access);
    sto_thrift_request_release(&t->r);
    sto_thrift_request_release(&t->del);
    ts_free(t->host);
    ts_free(t);
}
