/*
 * bench_fetch.c - rates of reading points out of a real HBase: cells of one point, compacted rows, one series of one hour.
 *
 *   TSD_HBASE_GATEWAY=127.0.0.1:9090 build/release/tests/bench_fetch [SERIES [HOURS [SALT_BUCKETS]]]
 *
 * Without that variable it fails. It creates the tables hbfetch_dataN and hbfetch_uid unless they exist (N: salt buckets, 0 = none), and writes
 * SERIES x HOURS rows of 60 cells and as many of one compacted cell of 360 points. scan_ lines are a bare loop over one scanner that only counts: what the
 * gateway and HBase give at that moment.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/remote/remote_int.h"

#define FIRST_HOUR   376944 /* 2013-01-01 */
#define ROWS_AT_ONCE 200
#define CELLS        60
#define POINTS       360
#define LATENCIES    200

static const struct ts_slice FAMILY = {"t", 1};
static size_t n_series = 200, n_hours = 24;
static struct sto_hbase *h;
static struct sto_hbase_session s;
static struct sto_thrift_request r;
static struct sto_thrift_reply reply;
static struct ts_error err;
static char table[32];

static void check(int rc, const char *what)
{
    if (rc >= 0)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, err.text);
    exit(1);
}

static void create(const char *name, const char *family, const char *family2)
{
    struct sto_thrift_family families[] = {STO_THRIFT_FAMILY(ts_slice_str(family)),
                                           STO_THRIFT_FAMILY(ts_slice_str(family2 ? family2 : ""))};
    check(sto_thrift_call_table_exists(&r, ts_slice_str(name)), name);
    check(sto_hbase_call(&s, &r, &reply, NULL, &err), name);
    if (sto_thrift_reply_bool(&reply))
        return;
    check(sto_thrift_call_create_table(&r, ts_slice_str(name), families, family2 ? 2 : 1, NULL, 0), name);
    check(sto_hbase_call(&s, &r, &reply, NULL, &err), name);
}

/* --- writing --- */

/* A series of a metric: host=h17. */
static struct sto_remote_series series_of(const char *metric, size_t i, struct sto_remote_tag *tag,
                                          char *text)
{
    int n = snprintf(text, 32, "h%zu", i);
    *tag = (struct sto_remote_tag){TS_SLICE_LIT("host"), {text, (size_t)n}};
    return (struct sto_remote_series){STO_REMOTE_NO_KEY, ts_slice_str(metric), tag, 1};
}

static void write_rows(const char *metric, const struct sto_thrift_cell *cells, size_t n_cells)
{
    static struct sto_hbase_series_id id;
    sto_thrift_batch_begin(&r, STO_THRIFT_PUT_MULTIPLE, ts_slice_str(table));
    for (size_t i = 0; i < n_series; i++) {
        struct sto_remote_tag tag;
        char text[32];
        struct sto_remote_series series = series_of(metric, i, &tag, text);
        const struct sto_remote_series *list[] = {&series};
        check(sto_hbase_ids_series(h->ids, &s, STO_REMOTE_MAKE, list, 1, &id, &err), "ids");
        for (size_t k = 0; k < n_hours; k++) {
            uint8_t key[STO_HBASE_MAX_KEY_BYTES];
            size_t n = sto_hbase_rowkey_make(&h->opts.schema, (struct ts_slice){(const char *)id.tsuid, id.n},
                                             (uint32_t)(FIRST_HOUR + k) * 3600u, key);
            sto_thrift_batch_put(&r, &(struct sto_thrift_put){{(const char *)key, n}, cells, n_cells, 0});
            if (r.n_items < ROWS_AT_ONCE && (i + 1 < n_series || k + 1 < n_hours))
                continue;
            check(sto_thrift_batch_end(&r), "put");
            check(sto_hbase_call(&s, &r, &reply, NULL, &err), "put");
            sto_thrift_batch_begin(&r, STO_THRIFT_PUT_MULTIPLE, ts_slice_str(table));
        }
    }
}

static void write_all(void)
{
    struct sto_thrift_cell cells[CELLS];
    struct sto_hbase_point points[CELLS];
    struct sto_cells row = {0};
    struct ts_buf q, v;
    uint32_t flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
    for (unsigned i = 0; i < CELLS; i++) {
        sto_hbase_encode_point(flags | i * 60000, 1000 + i, &points[i]);
        cells[i] = (struct sto_thrift_cell){.family = FAMILY,
                                            .qualifier = {(char *)points[i].qualifier, points[i].n_qualifier},
                                            .value = {(char *)points[i].value, points[i].n_value}};
    }
    write_rows("bench.plain", cells, CELLS);
    sto_cells_reserve(&row, POINTS);
    for (row.n = 0; row.n < POINTS; row.n++) {
        row.meta[row.n] = flags | row.n * 10000;
        row.m[row.n] = 1000 + row.n;
    }
    ts_buf_init(&q, 0);
    ts_buf_init(&v, 0);
    check(sto_hbase_encode_compacted(&row, &q, &v), "encode");
    cells[0] =
        (struct sto_thrift_cell){.family = FAMILY, .qualifier = ts_buf_get(&q), .value = ts_buf_get(&v)};
    write_rows("bench.compact", cells, 1);
    ts_buf_release(&q);
    ts_buf_release(&v);
    sto_cells_release(&row);
}

/* --- reading --- */

struct sums {
    uint64_t n_rows, n_points;
};

static int on_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *e)
{
    struct sums *sums = arg;
    (void)pos, (void)e;
    sums->n_rows++;
    sums->n_points += row->cells ? row->cells->n : 0;
    return 0;
}

static int64_t fetch(const struct sto_fetch *f, struct sums *sums)
{
    int64_t t = ts_clock_mono_ns();
    *sums = (struct sums){0};
    check(h->remote.ops->fetch(&h->remote, f, NULL, on_row, sums, &err), "fetch");
    return ts_clock_mono_ns() - t;
}

/* All rows of a metric over one connection, without decoding. */
static int64_t bare(const char *metric, uint64_t *n_cells)
{
    struct sto_remote_name name = {.kind = STO_REMOTE_METRIC, .name = ts_slice_str(metric)};
    struct ts_buf unused;
    int64_t t = ts_clock_mono_ns(), found;
    *n_cells = 0;
    ts_buf_init(&unused, 0);
    check(sto_hbase_ids_names(h->ids, &s, STO_REMOTE_FIND, &name, 1, &unused, &err), "metric");
    for (uint32_t b = 0; b < sto_hbase_buckets(&h->opts.schema); b++) {
        struct sto_hbase_scan keys;
        sto_hbase_scan_make(&h->opts.schema, name.id, 0, INT64_MAX, b, &keys);
        struct sto_thrift_scan scan = {.start = {(char *)keys.start, keys.n_start},
                                       .stop = {(char *)keys.stop, keys.n_stop}};
        check(sto_thrift_call_open_scanner(&r, ts_slice_str(table), &scan), "scan");
        check(sto_hbase_call(&s, &r, &reply, NULL, &err), "scan");
        struct sto_thrift_scanner id = sto_thrift_reply_scanner(&reply);
        check(sto_thrift_call_get_scanner_rows(&r, id, 200), "scan");
        check(sto_thrift_client_send(s.client, &r, s.wait, &err), "scan");
        do {
            struct sto_thrift_items it;
            struct sto_thrift_row row;
            check(sto_thrift_client_send(s.client, &r, s.wait, &err), "scan");
            check(sto_thrift_client_receive(s.client, NULL, &reply, NULL, &err), "scan");
            sto_thrift_items_init(&it, &reply);
            for (found = 0; sto_thrift_row(&it, &row, &err) == 1; found++)
                *n_cells += row.n_left;
        } while (found);
        check(sto_thrift_client_receive(s.client, NULL, &reply, NULL, &err), "scan");
    }
    return ts_clock_mono_ns() - t;
}

static void rate(const char *what, uint64_t n, int64_t ns)
{
    printf("%s=%" PRIu64 " %s_ms=%" PRId64 " %s_per_s=%.0f\n", what, n, what, ns / 1000000, what,
           (double)n * 1e9 / (double)ns);
}

static void read_metric(const char *metric, uint64_t cells_a_row, const char *what)
{
    struct sto_fetch f = {.metric = ts_slice_str(metric), .from_ms = 0, .to_ms = STO_MAX_TS_MS};
    struct sums sums;
    uint64_t n_cells;
    char name[64];
    for (int i = 0; i < 3; i++) {
        int64_t bare_ns = bare(metric, &n_cells), ns = fetch(&f, &sums);
        (void)snprintf(name, sizeof(name), "scan_%s_cells", what);
        rate(name, n_cells, bare_ns);
        (void)snprintf(name, sizeof(name), "fetch_%s_cells", what);
        rate(name, sums.n_rows * cells_a_row, ns);
        (void)snprintf(name, sizeof(name), "fetch_%s_points", what);
        rate(name, sums.n_points, ns);
        printf("fetch_%s_ratio=%.2f\n", what, (double)bare_ns / (double)ns);
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const int64_t *)a < *(const int64_t *)b ? -1 : *(const int64_t *)a > *(const int64_t *)b;
}

/* Known series by computed keys, and the same series by conditions. */
static void read_some(void)
{
    static int64_t ns[LATENCIES];
    struct sto_remote_tag tag;
    struct sums sums;
    char text[32];
    struct sto_remote_series series = series_of("bench.compact", n_series / 2, &tag, text);
    struct sto_fetch f = {.metric = series.metric, .series = &series, .n_series = 1};
    f.from_ms = FIRST_HOUR * TS_HOUR_MS;
    f.to_ms = f.from_ms + TS_HOUR_MS - 1;
    for (int i = 0; i < LATENCIES; i++)
        ns[i] = fetch(&f, &sums);
    qsort(ns, LATENCIES, sizeof(*ns), by_number);
    printf("hour_points=%" PRIu64 " hour_p50_us=%" PRId64 " hour_p99_us=%" PRId64 "\n", sums.n_points,
           ns[LATENCIES / 2] / 1000, ns[LATENCIES * 99 / 100] / 1000);
    f.to_ms = f.from_ms + (int64_t)n_hours * TS_HOUR_MS - 1;
    int64_t t = fetch(&f, &sums);
    rate("gets_rows", sums.n_rows, t);
    struct sto_remote_cond cond = {.tagk = tag.k, .values = &tag.v, .n_values = 1};
    f = (struct sto_fetch){
        .metric = series.metric, .conds = &cond, .n_conds = 1, .from_ms = f.from_ms, .to_ms = f.to_ms};
    t = fetch(&f, &sums);
    rate("filtered_rows", sums.n_rows, t);
    rate("filtered_rows_passed", n_series * n_hours, t);
    f.n_conds = 0;
    f.series_only = true;
    t = fetch(&f, &sums);
    rate("series_only_series", sums.n_rows, t);
    rate("series_only_rows_passed", n_series * n_hours, t);
}

int main(int argc, char **argv)
{
    const char *where = getenv("TSD_HBASE_GATEWAY");
    char *host = where ? strdup(where) : NULL, *colon = host ? strrchr(host, ':') : NULL;
    if (!colon || argc > 4) {
        (void)fprintf(stderr, "usage: TSD_HBASE_GATEWAY=HOST:PORT bench_fetch [SERIES [HOURS [BUCKETS]]]\n");
        free(host);
        return 2;
    }
    n_series = argc > 1 ? strtoul(argv[1], NULL, 10) : n_series;
    n_hours = argc > 2 ? strtoul(argv[2], NULL, 10) : n_hours;
    unsigned buckets = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    *colon = 0;
    struct sto_thrift_gateway gateway = {host, colon + 1};
    struct sto_hbase_opts opts = {.access = {.gateways = &gateway, .n_gateways = 1, .call_ms = 600000},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .tables = {table, "hbfetch_uid", "hbfetch_tree", "hbfetch_meta"}};
    (void)snprintf(table, sizeof(table), "hbfetch_data%u", buckets);
    opts.schema.salt_width = buckets ? 1 : 0;
    opts.schema.salt_buckets = buckets ? buckets : 20;
    struct sto_remote *remote;
    check(sto_hbase_open(&opts, &remote, &err), "open");
    h = sto_hbase_of(remote);
    sto_thrift_request_init(&r, 0, NULL);
    check(sto_hbase_begin(h->access, NULL, &s, &err), "begin");
    create(table, "t", NULL);
    create("hbfetch_uid", "id", "name");
    write_all();
    read_metric("bench.plain", CELLS, "plain");
    read_metric("bench.compact", 1, "compact");
    read_some();
    sto_hbase_end(&s);
    sto_thrift_request_release(&r);
    remote->ops->close(remote);
    free(host);
    return 0;
}
