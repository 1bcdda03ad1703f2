/*
 * bench_ship.c - rates of shipping to a real HBase, beside those of a bare sender of ready-made requests.
 *
 *   TSD_HBASE_GATEWAY=127.0.0.1:9090 build/release/tests/bench_ship [SECONDS [CONNECTIONS [CASE]]]
 *
 * Each case is sent for so long (5 s), first by the remote store, then by as many threads that put requests encoded before, with the same rows
 * in other hours. Series are known: their ids are assigned before. Tables tsd_bench_ship and tsd_bench_ship_uid (prefix: TSD_HBASE_PREFIX) are created
 * unless they exist, and keep what was written.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/remote/remote.h"
#include "storage/hbase/rowkey.h"

#define SERIES      1000
#define IN_FLIGHT   16 /* shipments */
#define MAX_THREADS 64

/* What a row has. */
struct shape {
    const char *name;
    uint32_t n_points; /* of a row */
    bool as_one;       /* in one column */
};
static const struct shape shapes[] = {{"one point a row", 1, false},
                                      {"six points a row, single cells", 6, false},
                                      {"six points a row, one column", 6, true},
                                      {"360 points a row, one column", 360, true}};

static struct sto_thrift_gateway gateway;
static char data_table[64], uid_table[64];
static double seconds = 5;
static unsigned connections = 4;
static int32_t next_hour; /* no hour is written twice */
static struct sto_remote_tag tags[SERIES][2];
static char hosts[SERIES][16];
static struct sto_remote_series series[SERIES];

static void fail(const char *what, const struct ts_error *err)
{
    (void)fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

static struct ts_slice table(void)
{
    return ts_slice_str(data_table);
}

/* --- tables --- */

static void create(struct sto_thrift_client *c, const char *name, const char *const *families, size_t n)
{
    struct sto_thrift_request r;
    struct sto_thrift_reply reply;
    struct sto_thrift_family f[2];
    struct ts_error err = {0};
    struct sto_thrift_wait wait = {.until_ns = ts_clock_mono_ns() + 60000000000ll};
    for (size_t i = 0; i < n; i++)
        f[i] = STO_THRIFT_FAMILY(ts_slice_str(families[i]));
    sto_thrift_request_init(&r, 1u << 20, NULL);
    (void)sto_thrift_call_table_exists(&r, ts_slice_str(name));
    if (sto_thrift_client_call(c, &r, wait, &reply, NULL, &err) < 0)
        fail("tableExists", &err);
    if (!sto_thrift_reply_bool(&reply)) {
        (void)sto_thrift_call_create_table(&r, ts_slice_str(name), f, n, NULL, 0);
        if (sto_thrift_client_call(c, &r, wait, &reply, NULL, &err) < 0)
            fail("createTable", &err);
    }
    sto_thrift_request_release(&r);
}

static struct sto_thrift_client *connect_to_hbase(void)
{
    return sto_thrift_client_new(&(struct sto_thrift_client_opts){.gateways = &gateway, .n_gateways = 1});
}

/* --- through the remote store --- */

static int64_t bench_now(void)
{
    return ts_clock_ms();
}

/* A shipment of SERIES rows that is used again and again, each time for another hour. */
struct load {
    struct sto_remote_row rows[SERIES];
    struct sto_shipment s;
    struct sto_cells cells[SERIES];
    bool busy;
};
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void make_cells(struct sto_cells *c, uint32_t n, uint32_t series_at)
{
    uint32_t step = n == 1 ? 3600 : 10;
    sto_cells_reserve(c, n);
    c->uniform = true;
    c->common = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
    for (uint32_t i = 0; i < n; i++) {
        c->meta[i] = c->common | (i * step * 1000u);
        c->m[i] = 1000 + (int64_t)((i * 37 + series_at * 11) % 20000);
    }
    c->n = n;
}

static void on_done(void *arg, int rc, const struct ts_error *err)
{
    struct load *l = arg;
    if (rc < 0)
        fail("ship", err);
    pthread_mutex_lock(&mu);
    l->busy = false;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mu);
}

static void wait_while(const bool *busy)
{
    pthread_mutex_lock(&mu);
    while (*busy)
        pthread_cond_wait(&cond, &mu);
    pthread_mutex_unlock(&mu);
}

static double run_remote(struct sto_remote *r, const struct shape *shape)
{
    struct load *loads = ts_xcalloc(IN_FLIGHT, sizeof *loads);
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        struct load *l = &loads[i];
        l->s =
            (struct sto_shipment){.rows = l->rows, .n = SERIES, .n_bytes = 12ull * SERIES * shape->n_points};
        for (uint32_t k = 0; k < SERIES; k++) {
            make_cells(&l->cells[k], shape->n_points, k);
            l->rows[k] = (struct sto_remote_row){.series = series[k], .cells = &l->cells[k], .fresh = true};
        }
    }
    uint64_t n = 0;
    int64_t begin = ts_clock_mono_ns(), end = begin + (int64_t)(seconds * 1e9);
    for (size_t at = 0; ts_clock_mono_ns() < end; at = (at + 1) % IN_FLIGHT, n++) {
        struct load *l = &loads[at];
        wait_while(&l->busy);
        for (uint32_t k = 0; k < SERIES; k++)
            l->rows[k].hour = next_hour;
        next_hour++;
        l->busy = true;
        r->ops->ship(r, &l->s, NULL, on_done, l);
    }
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        wait_while(&loads[i].busy);
        for (uint32_t k = 0; k < SERIES; k++)
            sto_cells_release(&loads[i].cells[k]);
    }
    double took = (double)(ts_clock_mono_ns() - begin) / 1e9;
    ts_free(loads);
    return (double)n * SERIES / took;
}

/* --- the bare sender --- */

struct bare {
    const struct shape *shape;
    pthread_t thread;
    struct sto_thrift_request *requests;
    size_t n_requests;
    uint64_t n_sent;
    int64_t end_ns;
};

static void encode_row(struct sto_thrift_request *r, const struct shape *shape, uint32_t at, int32_t hour)
{
    uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES], key[STO_HBASE_MAX_KEY_BYTES];
    struct sto_hbase_schema schema = STO_HBASE_SCHEMA_DEFAULT;
    struct sto_hbase_ids ids = {.metric = 0xfffffe, .n_tags = 2, .tag = {{1, at + 1}, {2, 1}}};
    struct sto_cells c = {0};
    struct sto_thrift_cell cells[400];
    struct sto_hbase_point points[400];
    struct ts_buf q, v;
    ts_buf_init(&q, 0);
    ts_buf_init(&v, 0);
    size_t n_tsuid = sto_hbase_tsuid_make(&schema, &ids, tsuid);
    size_t n_key = sto_hbase_rowkey_make(&schema, (struct ts_slice){(char *)tsuid, n_tsuid},
                                         (uint32_t)hour * STO_HBASE_ROW_S, key);
    struct sto_thrift_put put = {.row = {(char *)key, n_key}, .cells = cells, .n_cells = 1};
    make_cells(&c, shape->n_points, at);
    if (shape->as_one) {
        (void)sto_hbase_encode_compacted(&c, &q, &v);
        cells[0] = (struct sto_thrift_cell){TS_SLICE_LIT("t"), ts_buf_get(&q), ts_buf_get(&v), 0, false};
    } else {
        for (uint32_t i = 0; i < c.n; i++) {
            sto_hbase_encode_point(c.meta[i], c.m[i], &points[i]);
            cells[i] = (struct sto_thrift_cell){TS_SLICE_LIT("t"),
                                                {(char *)points[i].qualifier, points[i].n_qualifier},
                                                {(char *)points[i].value, points[i].n_value},
                                                0,
                                                false};
        }
        put.n_cells = c.n;
    }
    sto_thrift_batch_put(r, &put);
    sto_cells_release(&c);
    ts_buf_release(&q);
    ts_buf_release(&v);
}

static void *send_bare(void *arg)
{
    struct bare *b = arg;
    struct sto_thrift_client *c = connect_to_hbase();
    struct sto_thrift_reply reply;
    struct ts_error err = {0};
    while (b->n_sent < b->n_requests && ts_clock_mono_ns() < b->end_ns) {
        struct sto_thrift_wait wait = {.until_ns = ts_clock_mono_ns() + 60000000000ll};
        if (sto_thrift_client_call(c, &b->requests[b->n_sent], wait, &reply, NULL, &err) < 0)
            fail("putMultiple", &err);
        b->n_sent++;
    }
    sto_thrift_client_free(c);
    return NULL;
}

/* expected: rows a second, for as many requests as a run can need. */
static double run_bare(const struct shape *shape, double expected)
{
    static struct bare bare[MAX_THREADS];
    size_t n_requests = (size_t)(expected * 2 * seconds / SERIES / connections) + 2;
    size_t most = shape->n_points > 100 ? 300 : 2000; /* memory */
    n_requests = n_requests < most ? n_requests : most;
    for (unsigned i = 0; i < connections; i++) {
        bare[i] = (struct bare){.shape = shape, .n_requests = n_requests};
        bare[i].requests = ts_xcalloc(n_requests, sizeof *bare[i].requests);
        for (size_t k = 0; k < n_requests; k++) {
            struct sto_thrift_request *r = &bare[i].requests[k];
            sto_thrift_request_init(r, 0, NULL);
            sto_thrift_batch_begin(r, STO_THRIFT_PUT_MULTIPLE, table());
            for (uint32_t s = 0; s < SERIES; s++)
                encode_row(r, shape, s, next_hour);
            (void)sto_thrift_batch_end(r);
            next_hour++;
        }
    }
    int64_t begin = ts_clock_mono_ns();
    uint64_t n = 0;
    for (unsigned i = 0; i < connections; i++) {
        bare[i].end_ns = begin + (int64_t)(seconds * 1e9);
        if (pthread_create(&bare[i].thread, NULL, send_bare, &bare[i]))
            exit(1);
    }
    for (unsigned i = 0; i < connections; i++)
        pthread_join(bare[i].thread, NULL);
    double took = (double)(ts_clock_mono_ns() - begin) / 1e9;
    for (unsigned i = 0; i < connections; i++) {
        n += bare[i].n_sent;
        for (size_t k = 0; k < n_requests; k++)
            sto_thrift_request_release(&bare[i].requests[k]);
        ts_free(bare[i].requests);
    }
    return (double)n * SERIES / took;
}

/* --- */

static void make_series(void)
{
    for (size_t i = 0; i < SERIES; i++) {
        (void)snprintf(hosts[i], sizeof hosts[i], "host%04zu", i);
        tags[i][0] = (struct sto_remote_tag){TS_SLICE_LIT("dc"), TS_SLICE_LIT("a")};
        tags[i][1] = (struct sto_remote_tag){TS_SLICE_LIT("host"), ts_slice_str(hosts[i])};
        series[i] = (struct sto_remote_series){
            .key = i, .metric = TS_SLICE_LIT("bench.ship"), .tags = tags[i], .n_tags = 2};
    }
}

static void measure(struct sto_remote *r, const struct shape *shape)
{
    double rows = run_remote(r, shape), bare = run_bare(shape, rows);
    printf("%-32s rows/s=%.0f points/s=%.0f bare_rows/s=%.0f ratio=%.2f\n", shape->name, rows,
           rows * shape->n_points, bare, rows / bare);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    char *where = getenv("TSD_HBASE_GATEWAY"), *colon = where ? strrchr(where, ':') : NULL;
    const char *prefix = getenv("TSD_HBASE_PREFIX");
    struct ts_error err = {0};
    if (!colon) {
        (void)fprintf(stderr,
                      "usage: TSD_HBASE_GATEWAY=HOST:PORT bench_ship [SECONDS [CONNECTIONS [CASE]]]\n");
        return 2;
    }
    seconds = argc > 1 ? (double)strtoul(argv[1], NULL, 10) : seconds;
    connections = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : connections;
    if (!(seconds > 0 && seconds <= 600) || connections < 1 || connections > MAX_THREADS)
        return 2;
    size_t one = argc > 3 ? (size_t)strtoul(argv[3], NULL, 10) : SIZE_MAX;
    *colon = 0;
    gateway = (struct sto_thrift_gateway){where, colon + 1};
    (void)snprintf(data_table, sizeof data_table, "%stsd_bench_ship", prefix ? prefix : "");
    (void)snprintf(uid_table, sizeof uid_table, "%stsd_bench_ship_uid", prefix ? prefix : "");
    struct sto_thrift_client *c = connect_to_hbase();
    create(c, data_table, (const char *const[]){"t"}, 1);
    create(c, uid_table, (const char *const[]){"id", "name"}, 2);
    sto_thrift_client_free(c);
    make_series();
    next_hour = (int32_t)(ts_clock_ms() / 1000 % 400000); /* other hours than the run before, all over */
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct sto_hbase_opts opts = {
            .access = {.gateways = &gateway, .n_gateways = 1, .max_connections = connections + 2},
            .schema = STO_HBASE_SCHEMA_DEFAULT,
            .tables = {.data = data_table, .uid = uid_table},
            .ship_connections = connections,
            .sole_writer = shapes[i].as_one,
            .now_ms = bench_now};
        struct sto_remote *r;
        if (one != SIZE_MAX && one != i)
            continue;
        if (sto_hbase_open(&opts, &r, &err) < 0)
            fail("open", &err);
        measure(r, &shapes[i]);
        r->ops->close(r);
    }
    return 0;
}
