/*
 * rollup_kit.h - what tests of rollups over a fake HBase share: tables and their configuration, rows of shipments, cells of tables.
 *
 * Rollups are those of the series of ship_kit.h.
 */
#ifndef TESTS_UNIT_HBASE_ROLLUP_KIT_H
#define TESTS_UNIT_HBASE_ROLLUP_KIT_H

#include "tests/unit/hbase/ship_kit.h"

#include "storage/internal.h"

/* The functions 39, 40 and 44 are bytes that HBase's filter language uses itself. p1d is a table of both kinds. */
#define CONFIG                                                                                               \
    "{\"aggregationIds\":{\"sum\":1,\"count\":39,\"min\":40,\"max\":44,\"last\":42},\"intervals\":["         \
    "{\"table\":\"tsdb\",\"preAggregationTable\":\"agg\",\"interval\":\"1m\",\"rowSpan\":\"1h\","            \
    "\"defaultInterval\":true},"                                                                             \
    "{\"table\":\"r1h\",\"preAggregationTable\":\"p1h\",\"interval\":\"1h\",\"rowSpan\":\"1d\"},"            \
    "{\"table\":\"r30s\",\"preAggregationTable\":\"p30s\",\"interval\":\"30s\",\"rowSpan\":\"1d\"},"         \
    "{\"table\":\"p1d\",\"preAggregationTable\":\"p1d\",\"interval\":\"1d\",\"rowSpan\":\"1n\"}]}"
#define DAY_HOUR (K_HOUR - 16) /* midnight before K_HOUR */

static struct sto_hbase_rollups rollups;

static inline void open_rollups(bool with)
{
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .max_connections = 12},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .ship_connections = 6,
                                  .histogram_codec = -1,
                                  .rollups = with ? &rollups : NULL,
                                  .compacts = true,
                                  .now_ms = k_clock};
    struct ts_error err = {0};
    if (sto_hbase_open(&opts, &k_remote, &err) < 0)
        fail_msg("%s", err.text);
}

static inline int setup(void **state)
{
    static const char *const tables[] = {"agg", "r1h", "p1h", "r30s", "p30s", "p1d"};
    struct ts_error err = {0};
    (void)k_setup(state);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        fake_hbase_create(k_fake, tables[i], "t");
    if (sto_hbase_rollups_parse(TS_SLICE_LIT(CONFIG), "_aggregate", "RAW", &rollups, &err) < 0)
        fail_msg("%s", err.text);
    open_rollups(true);
    k_ship(K_HOUR + 9, true, "0:1"); /* ids of the names */
    return 0;
}

static inline int teardown(void **state)
{
    (void)k_teardown(state);
    sto_hbase_rollups_release(&rollups);
    return 0;
}

/* --- shipments --- */

/* Rows of a shipment of the series. */
struct rows {
    struct sto_remote_row row[16];
    struct sto_cells cells[16];
    struct ts_buf name[16];
    size_t n;
};

static inline void add(struct rows *b, const char *spec, int32_t hour, bool fresh, const char *points)
{
    size_t i = b->n++;
    ts_buf_init(&b->name[i], 0);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_ROLLUP, k_series.metric, ts_slice_str(spec)},
                      &b->name[i]);
    b->cells[i] = k_cells(points);
    b->row[i] =
        (struct sto_remote_row){.series = k_series, .hour = hour, .cells = &b->cells[i], .fresh = fresh};
    b->row[i].series.metric = ts_buf_get(&b->name[i]);
    b->row[i].series.key = 100 + i;
}

static inline void release(struct rows *b)
{
    for (size_t i = 0; i < b->n; i++) {
        ts_buf_release(&b->name[i]);
        sto_cells_release(&b->cells[i]);
    }
    *b = (struct rows){.n = 0};
}

static inline void ship(struct rows *b)
{
    struct k_result r = k_ship_rows(b->row, b->n);
    if (r.rc < 0 || r.n_refused)
        fail_msg("%s%s", r.err.text, r.why.text);
    release(b);
}

static inline void ship_one(const char *spec, int32_t hour, bool fresh, const char *points)
{
    struct rows b = {.n = 0};
    add(&b, spec, hour, fresh, points);
    ship(&b);
}

/* --- tables --- */

static inline struct ts_slice key_of(int32_t base_hour)
{
    return k_key(base_hour);
}

static inline void put_at(const char *table, int32_t base_hour, struct ts_slice qualifier, const char *value,
                          int64_t ts_ms)
{
    struct t_bytes v = t_hex(value);
    fake_hbase_put(k_fake, table, key_of(base_hour), "t", qualifier, t_slice(&v), ts_ms);
}

static inline void put(const char *table, int32_t base_hour, const char *qualifier, const char *value)
{
    struct t_bytes q = t_hex(qualifier);
    put_at(table, base_hour, t_slice(&q), value, 0);
}

/* The cells of a table as "QUALIFIER=VALUE" with blanks between them; all of them are in the row of base_hour. */
static inline void expect(const char *table, int32_t base_hour, const char *want)
{
    struct ts_buf dump, text;
    char key[2 * STO_HBASE_MAX_KEY_BYTES + 1];
    struct ts_slice k = key_of(base_hour);
    sto_hbase_hex_print(k, key);
    key[2 * k.n] = 0;
    ts_buf_init(&dump, 0);
    ts_buf_init(&text, 0);
    fake_hbase_dump(k_fake, table, false, &dump);
    ts_buf_char(&dump, 0);
    char *rest = NULL;
    for (char *line = strtok_r(dump.p, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncasecmp(line, key, strlen(key)) != 0)
            fail_msg("a row that is not %s: %s", key, line);
        ts_buf_printf(&text, "%s%s", text.n ? " " : "", strchr(line, ':') + 1);
    }
    ts_buf_char(&text, 0);
    if (strcasecmp(text.p, want) != 0)
        fail_msg("%s has %s, not %s", table, text.p, want);
    ts_buf_release(&dump);
    ts_buf_release(&text);
}

static inline void clear(const char *table, int32_t base_hour)
{
    fake_hbase_delete(k_fake, table, key_of(base_hour), "t", (struct ts_slice){NULL, 0});
    fake_hbase_compact(k_fake, table);
}

#endif
