/*
 * schema.c - hits of domains by hour in five designs of rows, built in a real HBase and asked the same questions (docs/SCHEMA.md).
 *
 *   TSD_HBASE_GATEWAY=127.0.0.1:9090 build/release/tests/schema build DAYS [DESIGN] [PREFIX]   create the tables PREFIX_DESIGN_DAYS and fill them
 *   TSD_HBASE_GATEWAY=127.0.0.1:9090 build/release/tests/schema ask DAYS [DESIGN] [PREFIX]     rows of a Markdown table; wrong answers end with 1
 *   build/release/tests/schema lines DAYS                                                      the same hits, for tsd import
 *   build/release/tests/schema truth DAYS                                                      the answers, computed
 *
 * DESIGN is one of the names below, or all. Flush and compact the tables between build and ask, as docs/SCHEMA.md does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "storage/hbase/bigendian.h"
#include "storage/hbase/thrift/client.h"
#include "tests/hbase/hits.h"

#define CALL_NS       600000000000ll
#define CELLS_AT_ONCE 4000 /* of a request that puts */
#define OPEN          4    /* requests in flight */
#define ONE           99   /* the domain of the question about one: the hundredth */
#define REPEATS       3
#define REPEATED_NS   10000000000ll /* what takes longer is asked once */

enum design { DAY_ROWS, FAMILIES, HOUR_COLUMNS, VERSIONS, OPENTSDB, N_DESIGNS };
static const struct {
    const char *name;
    int rows_at_once; /* that a scan fetches, about as many bytes in each design */
} designs[N_DESIGNS] = {
    {"day_rows", 2000}, {"families", 64}, {"hour_columns", 16}, {"versions", 16}, {"opentsdb", 10000}};

enum question { TOTALS, ONE_DOMAIN, TOP_DOMAINS, ONE_DAY, N_QUESTIONS };
static const char *const questions[N_QUESTIONS] = {"total by day or hour", "one domain by hour",
                                                   "top domains", "top domains of one day"};

/* Sums of hits, of what was asked for. */
struct answer {
    uint64_t *hour;   /* by hour */
    uint64_t *domain; /* by domain */
};
struct cost {
    uint64_t rows, cells, bytes;
    int64_t wall_ns;
};

static struct sto_thrift_client *c;
static struct ts_error err;
static uint32_t n_hours;
static char table_name[128];

#define DIE(...)                                                                                             \
    do {                                                                                                     \
        (void)fprintf(stderr, "schema: " __VA_ARGS__);                                                       \
        (void)fputc('\n', stderr);                                                                           \
        exit(1);                                                                                             \
    } while (0)

static struct ts_slice table(void)
{
    return ts_slice_str(table_name);
}
static struct sto_thrift_wait soon(void)
{
    return (struct sto_thrift_wait){.until_ns = ts_clock_mono_ns() + CALL_NS};
}
static void call(const struct sto_thrift_request *r, struct sto_thrift_reply *reply)
{
    if (sto_thrift_client_call(c, r, soon(), reply, NULL, &err) != 0)
        DIE("%s: %s", table_name, err.text);
}

/* --- keys and cells --- */

/* One cell as a design stores it. */
struct place {
    uint8_t row[32], qualifier[16], value[8];
    size_t row_n, qualifier_n, value_n;
    const char *family;
    int64_t ts_ms; /* 0: HBase assigns it */
};

static uint8_t *put_domain(uint8_t *p, unsigned domain)
{
    char name[24];
    int n = snprintf(name, sizeof(name), "d%04u.example", domain);
    memcpy(p, name, (size_t)n);
    return p + n;
}

/* Where a design stores the hits of a domain in an hour; of FAMILIES, domain HITS_DOMAINS is the total. */
static void place(enum design design, unsigned domain, uint32_t hour, uint64_t hits, struct place *out)
{
    uint8_t *row = out->row, *q = out->qualifier;
    uint32_t at = HITS_FIRST_HOUR + hour;
    out->family = "t";
    out->ts_ms = 0;
    out->value_n = 8; /* HBase's counters */
    switch (design) {
    case DAY_ROWS:
        row = put_domain(row, domain);
        row += snprintf((char *)row, 16, "/%05u", at / 24);
        q = sto_hbase_put(q, hour % 24, 1);
        break;
    case FAMILIES:
        row = sto_hbase_put(row, at, 4);
        if (domain == HITS_DOMAINS) {
            q = sto_hbase_put(q, 'n', 1);
        } else {
            out->family = "d";
            q = put_domain(q, domain);
        }
        break;
    case HOUR_COLUMNS:
        row = put_domain(row, domain);
        q = sto_hbase_put(q, at, 4);
        break;
    case VERSIONS:
        row = put_domain(row, domain);
        q = sto_hbase_put(q, 'n', 1);
        out->ts_ms = at * (int64_t)3600000;
        break;
    default: /* metric 1, hour, tag key 1, the domain's id; an integer at second 0 */
        row = sto_hbase_put(sto_hbase_put(sto_hbase_put(sto_hbase_put(row, 1, 3), at * 3600u, 4), 1, 3),
                            domain + 1, 3);
        out->value_n = hits < 128 ? 1 : hits < 32768 ? 2 : 4;
        q = sto_hbase_put(q, out->value_n - 1, 2);
    }
    (void)sto_hbase_put(out->value, hits, (unsigned)out->value_n);
    out->row_n = (size_t)(row - out->row);
    out->qualifier_n = (size_t)(q - out->qualifier);
}

static unsigned domain_at(const char *p)
{
    return (unsigned)(p[1] - '0') * 1000 + (unsigned)(p[2] - '0') * 100 + (unsigned)(p[3] - '0') * 10 +
           (unsigned)(p[4] - '0');
}

/* The opposite of place: add a cell to an answer. */
static void add(enum design design, struct ts_slice row, const struct sto_thrift_cell *cell, struct answer *a)
{
    unsigned domain;
    uint64_t at;
    switch (design) {
    case DAY_ROWS:
        domain = domain_at(row.p);
        at = 0;
        for (size_t i = row.n - 5; i < row.n; i++)
            at = at * 10 + (uint64_t)(row.p[i] - '0');
        at = at * 24 + sto_hbase_get(cell->qualifier.p, 1);
        break;
    case FAMILIES:
        domain = cell->family.p[0] == 't' ? HITS_DOMAINS : domain_at(cell->qualifier.p);
        at = sto_hbase_get(row.p, 4);
        break;
    case HOUR_COLUMNS:
        domain = domain_at(row.p);
        at = sto_hbase_get(cell->qualifier.p, 4);
        break;
    case VERSIONS:
        domain = domain_at(row.p);
        at = (uint64_t)cell->ts_ms / 3600000;
        break;
    default:
        domain = (unsigned)sto_hbase_get(row.p + 10, 3) - 1;
        at = sto_hbase_get(row.p + 3, 4) / 3600;
    }
    if (domain > HITS_DOMAINS || at < HITS_FIRST_HOUR || at - HITS_FIRST_HOUR >= n_hours)
        DIE("%s: a cell that was never put", table_name);
    uint64_t hits = sto_hbase_get(cell->value.p, (unsigned)cell->value.n);
    a->hour[at - HITS_FIRST_HOUR] += hits;
    a->domain[domain] += hits;
}

/* --- build --- */

/* Puts on their way: cells of one row are collected, rows of a request likewise. */
static struct {
    struct sto_thrift_request open[OPEN];
    uint64_t n_sent;
    struct place places[CELLS_AT_ONCE];
    struct sto_thrift_cell cells[CELLS_AT_ONCE];
    size_t n_row, n_request;
    uint64_t n_rows, n_cells;
} out;

static void receive(void)
{
    struct sto_thrift_reply reply;
    if (sto_thrift_client_receive(c, NULL, &reply, NULL, &err) != 0)
        DIE("%s: %s", table_name, err.text);
}

static void begin_request(void)
{
    if (sto_thrift_client_in_flight(c) == OPEN)
        receive();
    sto_thrift_batch_begin(&out.open[out.n_sent % OPEN], STO_THRIFT_PUT_MULTIPLE, table());
    out.n_request = 0;
}

static void end_row(void)
{
    if (!out.n_row)
        return;
    struct sto_thrift_put put = {
        .row = {(char *)out.places[0].row, out.places[0].row_n}, .cells = out.cells, .n_cells = out.n_row};
    sto_thrift_batch_put(&out.open[out.n_sent % OPEN], &put);
    out.n_request += out.n_row;
    out.n_row = 0;
    out.n_rows++;
}

static void end_request(void)
{
    end_row();
    if (!out.n_request)
        return;
    struct sto_thrift_request *r = &out.open[out.n_sent++ % OPEN];
    if (sto_thrift_batch_end(r) != 0 || sto_thrift_client_send(c, r, soon(), &err) != 0)
        DIE("%s: %s", table_name, err.text);
    out.n_request = 0;
}

static void put_cell(enum design design, unsigned domain, uint32_t hour, uint64_t hits)
{
    struct place *p = &out.places[out.n_row];
    place(design, domain, hour, hits, p);
    if (out.n_row && (p->row_n != out.places[0].row_n || memcmp(p->row, out.places[0].row, p->row_n) != 0)) {
        end_row();
        out.places[0] = *p;
        p = &out.places[0];
    }
    out.cells[out.n_row++] = (struct sto_thrift_cell){.family = ts_slice_str(p->family),
                                                      .qualifier = {(char *)p->qualifier, p->qualifier_n},
                                                      .value = {(char *)p->value, p->value_n},
                                                      .ts_ms = p->ts_ms,
                                                      .has_ts = p->ts_ms != 0};
    out.n_cells++;
    if (out.n_request + out.n_row == CELLS_AT_ONCE) {
        end_request();
        begin_request();
    }
}

static void create(enum design design)
{
    struct sto_thrift_request r;
    struct sto_thrift_reply reply;
    struct sto_thrift_family f[2] = {STO_THRIFT_FAMILY(TS_SLICE_LIT("t")),
                                     STO_THRIFT_FAMILY(TS_SLICE_LIT("d"))};
    f[0].max_versions = design == VERSIONS ? INT32_MAX : 1;
    f[1].max_versions = 1;
    sto_thrift_request_init(&r, 0, NULL);
    if (sto_thrift_call_create_table(&r, table(), f, design == FAMILIES ? 2 : 1, NULL, 0) != 0)
        DIE("out of memory");
    call(&r, &reply);
    sto_thrift_request_release(&r);
}

static void build(enum design design)
{
    create(design);
    memset(&out, 0, sizeof(out));
    for (int i = 0; i < OPEN; i++)
        sto_thrift_request_init(&out.open[i], 0, NULL);
    int64_t began_ns = ts_clock_mono_ns();
    begin_request();
    bool by_hour = design == FAMILIES || design == OPENTSDB;
    uint32_t outer = by_hour ? n_hours : HITS_DOMAINS, inner = by_hour ? HITS_DOMAINS : n_hours;
    for (uint32_t i = 0; i < outer; i++) {
        uint64_t total = 0;
        for (uint32_t k = 0; k < inner; k++) {
            unsigned domain = by_hour ? k : i;
            uint32_t hour = by_hour ? i : k, hits = hits_of(domain, hour);
            if (hits)
                put_cell(design, domain, hour, hits);
            total += hits;
        }
        if (design == FAMILIES)
            put_cell(design, HITS_DOMAINS, i, total);
    }
    end_request();
    while (sto_thrift_client_in_flight(c))
        receive();
    int64_t ms = (ts_clock_mono_ns() - began_ns) / 1000000;
    printf("%s: %" PRIu64 " cells in %" PRIu64 " puts, %" PRId64 " ms, %.0f cells/s\n", table_name,
           out.n_cells, out.n_rows, ms, (double)out.n_cells * 1000 / (double)(ms + 1));
    for (int i = 0; i < OPEN; i++)
        sto_thrift_request_release(&out.open[i]);
}

/* --- ask --- */

/* Add all rows of a reply; how many they were. */
static uint64_t read_rows(enum design design, const struct sto_thrift_reply *reply, struct answer *a,
                          struct cost *cost)
{
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    uint64_t n = 0;
    int rc;
    sto_thrift_items_init(&it, reply);
    while ((rc = sto_thrift_row(&it, &row, &err)) == 1) {
        n++;
        cost->rows += row.row.p != NULL;
        while ((rc = sto_thrift_row_next(&row, &cell, &err)) == 1) {
            add(design, row.row, &cell, a);
            cost->cells++;
        }
        if (rc < 0)
            break;
    }
    if (rc < 0)
        DIE("%s: %s", table_name, err.text);
    cost->bytes += reply->value.n;
    return n;
}

static void scan(enum design design, const struct sto_thrift_scan *s, struct answer *a, struct cost *cost)
{
    struct sto_thrift_request r;
    struct sto_thrift_reply reply;
    int rows = designs[design].rows_at_once;
    sto_thrift_request_init(&r, 0, NULL);
    if (sto_thrift_call_open_scanner(&r, table(), s) != 0)
        DIE("out of memory");
    call(&r, &reply);
    struct sto_thrift_scanner id = sto_thrift_reply_scanner(&reply);
    (void)sto_thrift_call_get_scanner_rows(&r, id, rows);
    uint64_t found;
    do {
        call(&r, &reply);
        found = read_rows(design, &reply, a, cost);
    } while (found);
    (void)sto_thrift_call_close_scanner(&r, id);
    call(&r, &reply);
    sto_thrift_request_release(&r);
}

/* One domain of OpenTSDB's rows: its keys are known, so they are fetched, a day at a time. */
static void get_hours(struct answer *a, struct cost *cost)
{
    struct sto_thrift_request r;
    struct sto_thrift_reply reply;
    struct place p;
    sto_thrift_request_init(&r, 0, NULL);
    for (uint32_t from = 0; from < n_hours; from += 1000) {
        sto_thrift_batch_begin(&r, STO_THRIFT_GET_MULTIPLE, table());
        for (uint32_t h = from; h < from + 1000 && h < n_hours; h++) {
            place(OPENTSDB, ONE, h, 1, &p);
            sto_thrift_batch_get(&r, &(struct sto_thrift_get){.row = {(char *)p.row, p.row_n}});
        }
        if (sto_thrift_batch_end(&r) != 0)
            DIE("out of memory");
        call(&r, &reply);
        (void)read_rows(OPENTSDB, &reply, a, cost);
    }
    sto_thrift_request_release(&r);
}

/* What a scan of a question selects; borrowed bytes. */
struct plan {
    struct sto_thrift_scan scan;
    struct sto_thrift_column column;
    struct place from, to;
    char name[16], filter[64];
};

/* The first hour of the day in the middle, which one question is about. */
static uint32_t middle_day(void)
{
    return n_hours / 48 * 24;
}

static void plan_domain(enum design design, struct plan *p)
{
    p->column.qualifier =
        (struct ts_slice){p->name, (size_t)(put_domain((uint8_t *)p->name, ONE) - (uint8_t *)p->name)};
    if (design == FAMILIES)
        return; /* a column of every row */
    place(HOUR_COLUMNS, ONE + 1, 0, 1, &p->to);
    p->scan.start = p->column.qualifier;
    p->scan.stop = (struct ts_slice){(char *)p->to.row, p->to.row_n};
}

static void plan_day(enum design design, struct plan *p)
{
    uint32_t day = middle_day(), at = HITS_FIRST_HOUR + day;
    size_t n = 0;
    place(design, 0, day, 1, &p->from);
    place(design, 0, day + 24, 1, &p->to);
    if (design == FAMILIES || design == OPENTSDB) { /* neighbouring rows */
        n = design == FAMILIES ? 4 : 7;
        p->scan.start = (struct ts_slice){(char *)p->from.row, n};
        p->scan.stop = (struct ts_slice){(char *)p->to.row, n};
    } else if (design == VERSIONS) {
        p->scan.select.from_ts_ms = p->from.ts_ms;
        p->scan.select.to_ts_ms = p->to.ts_ms;
    } else if (design == DAY_ROWS) {
        n = (size_t)snprintf(p->filter, sizeof(p->filter), "RowFilter (=, 'substring:/%05u')", at / 24);
        p->scan.select.filter = (struct ts_slice){p->filter, n};
    } else { /* bytes as they are, quotes twice */
        n = (size_t)snprintf(p->filter, sizeof(p->filter), "ColumnRangeFilter ('");
        for (int i = 0; i < 8; i++) {
            char byte = (char)(i < 4 ? p->from : p->to).qualifier[i % 4];
            if (byte == '\'')
                p->filter[n++] = byte;
            p->filter[n++] = byte;
            if (i % 4 == 3)
                n += (size_t)snprintf(p->filter + n, 16, i == 3 ? "', true, '" : "', false)");
        }
        p->scan.select.filter = (struct ts_slice){p->filter, n};
    }
}

static void ask(enum design design, enum question q, struct answer *a, struct cost *cost)
{
    struct plan p = {.scan = {.caching = designs[design].rows_at_once, .select = {.max_versions = 1}}};
    if (design == OPENTSDB && q == ONE_DOMAIN) {
        get_hours(a, cost);
        return;
    }
    if (design == VERSIONS)
        p.scan.select.max_versions = INT32_MAX;
    if (design == FAMILIES) {
        p.column.family = q == TOTALS ? TS_SLICE_LIT("t") : TS_SLICE_LIT("d");
        p.scan.select.columns = &p.column;
        p.scan.select.n_columns = 1;
    }
    if (q == ONE_DOMAIN)
        plan_domain(design, &p);
    if (q == ONE_DAY)
        plan_day(design, &p);
    scan(design, &p.scan, a, cost);
}

/* The answer to a question as the generator knows it. */
static void truth(enum question q, struct answer *a)
{
    uint32_t day = middle_day();
    for (unsigned d = 0; d < HITS_DOMAINS; d++)
        for (uint32_t h = 0; h < n_hours; h++) {
            if ((q == ONE_DOMAIN && d != ONE) || (q == ONE_DAY && h / 24 != day / 24))
                continue;
            uint32_t hits = hits_of(d, h);
            a->hour[h] += hits;
            a->domain[d] += hits;
        }
}

static struct answer answer_new(void)
{
    return (struct answer){.hour = ts_xcalloc(n_hours, sizeof(uint64_t)),
                           .domain = ts_xcalloc(HITS_DOMAINS + 1, sizeof(uint64_t))};
}
static void answer_free(struct answer *a)
{
    ts_free(a->hour);
    ts_free(a->domain);
}

/* Compare what was read with what was put. */
static bool is_right(enum design design, enum question q, const struct answer *got, const struct answer *want)
{
    bool right = memcmp(got->hour, want->hour, n_hours * sizeof(uint64_t)) == 0;
    if (design != FAMILIES || q != TOTALS) /* which has sums of all domains only */
        right = right && memcmp(got->domain, want->domain, HITS_DOMAINS * sizeof(uint64_t)) == 0;
    return right;
}

/* Ask several times, unless that takes long; the fastest one counts. Only FAMILIES has a scan of its own for the top domains. */
static int ask_all(enum design design)
{
    int bad = 0;
    struct cost best = {0};
    for (int q = 0; q < N_QUESTIONS; q++) {
        struct answer want = answer_new();
        bool right = true, same = q == TOP_DOMAINS && design != FAMILIES;
        truth((enum question)q, &want);
        best.wall_ns = 0;
        for (int i = 0; !same && i < REPEATS && best.wall_ns < REPEATED_NS; i++) {
            struct answer a = answer_new();
            struct cost cost = {.wall_ns = -ts_clock_mono_ns()};
            ask(design, (enum question)q, &a, &cost);
            cost.wall_ns += ts_clock_mono_ns();
            right = right && is_right(design, (enum question)q, &a, &want);
            if (i == 0 || cost.wall_ns < best.wall_ns)
                best = cost;
            answer_free(&a);
        }
        if (same)
            printf("| %s | %s | the scan of all totals |\n", designs[design].name, questions[q]);
        else
            printf("| %s | %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %.1f |%s\n", designs[design].name,
                   questions[q], best.rows, best.cells, best.bytes, (double)best.wall_ns / 1e6,
                   right ? "" : " WRONG");
        (void)fflush(stdout);
        bad |= !right;
        answer_free(&want);
    }
    return bad;
}

static void print_lines(void)
{
    for (uint32_t h = 0; h < n_hours; h++)
        for (unsigned d = 0; d < HITS_DOMAINS; d++) {
            uint32_t hits = hits_of(d, h);
            if (hits)
                printf("web.hits %u %u domain=d%04u.example\n", (HITS_FIRST_HOUR + h) * 3600u, hits, d);
        }
}

static void print_truth(void)
{
    for (int q = 0; q < N_QUESTIONS; q++) {
        struct answer a = answer_new();
        truth((enum question)q, &a);
        uint64_t all = 0;
        for (uint32_t h = 0; h < n_hours; h++)
            all += a.hour[h];
        printf("%s: %" PRIu64 " hits, domain 0 has %" PRIu64 "\n", questions[q], all, a.domain[0]);
        answer_free(&a);
    }
}

static int run(const char *what, const char *name, const char *prefix, int days)
{
    int bad = 0, found = 0;
    for (int d = 0; d < N_DESIGNS; d++) {
        if (strcmp(name, "all") != 0 && strcmp(name, designs[d].name) != 0)
            continue;
        found = 1;
        (void)snprintf(table_name, sizeof(table_name), "%s_%s_%d", prefix, designs[d].name, days);
        if (what[0] == 'b')
            build((enum design)d);
        else
            bad |= ask_all((enum design)d);
    }
    return found ? bad : 2;
}

int main(int argc, char **argv)
{
    const char *where = getenv("TSD_HBASE_GATEWAY");
    char *host = where ? strdup(where) : NULL, *colon = host ? strrchr(host, ':') : NULL;
    int days = 0, rc = 2;
    if (argc >= 3 && argc <= 5 && sscanf(argv[2], "%d", &days) == 1 && days > 0 && days <= 3660) {
        n_hours = (uint32_t)days * 24;
        hits_init();
        if (strcmp(argv[1], "lines") == 0 || strcmp(argv[1], "truth") == 0) {
            (argv[1][0] == 'l' ? print_lines : print_truth)();
            rc = 0;
        } else if (colon && (strcmp(argv[1], "build") == 0 || strcmp(argv[1], "ask") == 0)) {
            *colon = 0;
            struct sto_thrift_gateway gateway = {host, colon + 1};
            c = sto_thrift_client_new(
                &(struct sto_thrift_client_opts){.gateways = &gateway, .n_gateways = 1});
            rc = run(argv[1], argc > 3 ? argv[3] : "all", argc > 4 ? argv[4] : "tsd_schema", days);
            sto_thrift_client_free(c);
        }
    }
    if (rc == 2)
        (void)fprintf(
            stderr,
            "usage: [TSD_HBASE_GATEWAY=HOST:PORT] schema build|ask|lines|truth DAYS [DESIGN] [PREFIX]\n");
    free(host);
    return rc;
}
