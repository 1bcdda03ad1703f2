/*
 * check_scan.c - pages of rows of a range of keys, and whether the ids of their keys have names.
 *
 * A page is a scan of its own (getScannerResults), so that nothing is kept in HBase between two of them, and a page that fails is read again.
 */
#include "storage/hbase/remote/check_int.h"

#include "base/time.h"

#define PAGE_BYTES ((size_t)1 << 20) /* the aim */
#define ONE_KEY    TS_SLICE_LIT("FirstKeyOnlyFilter() AND KeyOnlyFilter()")

/* --- pages --- */

static int request_page(struct sto_hbase__checker *c, const struct sto_hbase__pages *pages, int32_t n_rows,
                        struct ts_slice filter, struct sto_thrift_reply *out, struct ts_error *err)
{
    struct sto_thrift_column family = {.family = pages->family};
    struct sto_thrift_scan scan = {
        .start = ts_buf_get(&c->start),
        .stop = pages->stop,
        .select = {.columns = &family, .n_columns = pages->family.p != NULL, .filter = filter},
        .caching = n_rows,
        .limit_rows = n_rows,
        .spares_cache = true};
    (void)sto_thrift_call_get_scanner_results(&c->request, ts_slice_str(pages->table), &scan, n_rows);
    TS_TRY(sto_hbase__checker_wait(c, err));
    return sto_hbase_call(&c->s, &c->request, out, NULL, err);
}

/* The next page begins after this row. */
static int begin_after(struct sto_hbase__checker *c, struct ts_slice key, struct ts_error *err)
{
    ts_buf_clear(&c->start);
    (void)ts_buf_slice(&c->start, key);
    return ts_buf_char(&c->start, 0) < 0 ? sto_hbase__no_memory(err) : 0;
}

/* The first row is too large to be read. */
static int pass_over(struct sto_hbase__checker *c, const struct sto_hbase__pages *pages,
                     const struct ts_error *why, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    TS_TRY(request_page(c, pages, 1, ONE_KEY, &reply, err));
    sto_thrift_items_init(&it, &reply);
    int rc = sto_thrift_row(&it, &row, err);
    if (rc <= 0)
        return sto_hbase_error(rc, err);
    sto_hbase__found(c->x, STO_HBASE_UNREADABLE_ROW, pages->table, row.row, (struct ts_slice){NULL, 0},
                     "It cannot be read: %s.", why->text);
    return begin_after(c, row.row, err);
}

int sto_hbase__read_page(struct sto_hbase__checker *c, const struct sto_hbase__pages *pages,
                         struct sto_thrift_reply *out, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = request_page(c, pages, c->n_rows, (struct ts_slice){NULL, 0}, out, &why);
    if (rc == 0) {
        ts_buf_clear(&c->page);
        if (ts_buf_slice(&c->page, out->value) == 0) {
            out->value = ts_buf_get(&c->page);
            return 1;
        }
        rc = sto_hbase__no_memory(&why);
    }
    if (rc == TS_ELIMIT && c->n_rows > 1) {
        c->n_rows = c->n_rows > 8 ? c->n_rows / 8 : 1;
        return 0;
    }
    if (rc == TS_ELIMIT)
        return pass_over(c, pages, &why, err);
    if (err)
        *err = why;
    return rc;
}

int sto_hbase__next_page(struct sto_hbase__checker *c, struct ts_slice last, int n, struct ts_error *err)
{
    size_t want = PAGE_BYTES / (c->page.n / (size_t)n + 1) + 1;
    c->n_rows = want < STO_HBASE__PAGE_ROWS ? (int32_t)want : STO_HBASE__PAGE_ROWS;
    return begin_after(c, last, err);
}

/* --- names --- */

/* The series of a page. */
struct series {
    uint8_t bytes[STO_HBASE__PAGE_ROWS][STO_HBASE_MAX_TSUID_BYTES];
    struct ts_slice tsuid[STO_HBASE__PAGE_ROWS];
    struct sto_remote_series names[STO_HBASE__PAGE_ROWS];
    struct sto_remote_tag tags[STO_HBASE__PAGE_ROWS * STO_HBASE_MAX_TAGS];
    int rc[STO_HBASE__PAGE_ROWS];
    size_t n;
};

/* Look up the names of all series of a page. */
static int look_up(struct sto_hbase__checker *c, const struct sto_thrift_reply *reply, struct series *list,
                   struct ts_error *err)
{
    const struct sto_hbase_schema *schema = &c->x->h->opts.schema;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_hbase_rowkey key;
    struct ts_buf names;
    int rc;
    list->n = 0;
    sto_thrift_items_init(&it, reply);
    while ((rc = sto_thrift_row(&it, &row, err)) == 1 && list->n < STO_HBASE__PAGE_ROWS)
        if (sto_hbase_rowkey_parse(schema, row.row, &key, NULL) == 0 && !key.global) {
            size_t n = sto_hbase_tsuid_make(schema, &key.ids, list->bytes[list->n]);
            list->tsuid[list->n] = (struct ts_slice){(const char *)list->bytes[list->n], n};
            list->n++;
        }
    TS_TRY(sto_hbase_error(rc < 0 ? rc : 0, err));
    ts_buf_init(&names, 0);
    names.budget = c->x->memory;
    if (list->n)
        rc = sto_hbase_ids_of_tsuids(c->x->h->ids, &c->s, list->tsuid, list->n, &names, list->tags,
                                     list->names, list->rc, err);
    ts_buf_release(&names);
    return rc;
}

/* --- rows --- */

/* Is the row one of the time range? One whose key cannot be read (NULL) has no time. */
static bool is_wanted(const struct sto_hbase__checker *c, const struct sto_hbase_rowkey *key)
{
    const struct sto_hbase_check_opts *o = c->x->opts;
    if (!key)
        return o->metric.n || (o->from_ms == INT64_MIN && o->to_ms == INT64_MAX);
    int64_t from_ms = (int64_t)key->base_s * 1000, next_ms = from_ms + TS_HOUR_MS;
    if (c->x->shape)
        next_ms = (int64_t)sto_hbase_rollup_next(c->x->shape, key->base_s) * 1000;
    return from_ms <= o->to_ms && next_ms > o->from_ms;
}

/* What the row has is counted before its repair. */
static void count_row(struct sto_hbase__checker *c)
{
    struct sto_hbase_check_result *res = c->x->res;
    pthread_mutex_lock(&c->x->mu);
    res->n_rows++;
    res->n_cells += c->n_cells;
    res->n_points += c->columns.cells.n;
    res->n_annotations += c->n_annotations;
    res->n_histograms += c->n_histograms;
    res->n_rollups += c->n_rollups;
    pthread_mutex_unlock(&c->x->mu);
}

/* May a fault of the row be repaired, or the row be compacted? */
static bool is_repaired(const struct sto_hbase__checker *c)
{
    unsigned fixes = c->x->opts->fixes;
    for (unsigned i = 0; i < STO_HBASE_N_FAULTS; i++)
        if (c->n_found[i] && (sto_hbase_fault_fixes(i) & fixes))
            return true;
    return (fixes & STO_HBASE_COMPACT) && !c->x->shape && c->n_cells > 1;
}

static int check_one(struct sto_hbase__checker *c, struct sto_thrift_row *row, const struct series *list,
                     size_t *at, struct ts_error *err)
{
    struct sto_hbase_rowkey key;
    struct sto_thrift_cell cell;
    int rc;
    bool parsed = sto_hbase_rowkey_parse(&c->x->h->opts.schema, row->row, &key, NULL) == 0;
    c->is_orphan = parsed && !key.global && list->rc[(*at)++] == TS_ENOTFOUND;
    if (!is_wanted(c, parsed ? &key : NULL))
        return 0;
    c->key = row->row;
    c->n_cells = 0;
    TS_TRY(ts_budget_grow(c->x->memory, &c->cells, &c->cap_cells, row->n_left, sizeof *c->cells, err));
    while ((rc = sto_thrift_row_next(row, &cell, err)) == 1)
        c->cells[c->n_cells++] = (struct sto_hbase_cell){cell.qualifier, cell.value, cell.ts_ms};
    TS_TRY(sto_hbase_error(rc, err));
    c->reports = true;
    TS_TRY(sto_hbase__check_row(c, err));
    count_row(c);
    return is_repaired(c) ? sto_hbase__fix_row(c, err) : 0;
}

/* Check the rows of a page; returns how many there are, and the key of the last one. */
static int check_page(struct sto_hbase__checker *c, const struct sto_thrift_reply *reply,
                      const struct series *list, struct ts_slice *out_last, struct ts_error *err)
{
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    size_t at = 0;
    int rc, n = 0;
    sto_thrift_items_init(&it, reply);
    while ((rc = sto_thrift_row(&it, &row, err)) == 1) {
        struct ts_error why = {0};
        *out_last = row.row;
        n++;
        rc = check_one(c, &row, list, &at, &why);
        if (rc == TS_ELIMIT) /* it is more than the memory of the check can hold */
            sto_hbase__found(c->x, STO_HBASE_UNREADABLE_ROW, c->x->table, row.row, (struct ts_slice){NULL, 0},
                             "It cannot be read: %s.", why.text);
        else if (rc < 0)
            return ts_error_set(err, rc, "%s", why.text);
    }
    return rc < 0 ? sto_hbase_error(rc, err) : n;
}

static void tell_progress(struct sto_hbase__checker *c)
{
    const struct sto_hbase__check *x = c->x;
    if (!x->opts->progress)
        return;
    pthread_mutex_lock(&c->x->mu);
    x->opts->progress(x->opts->arg, x->res->n_rows, x->res->n_points);
    pthread_mutex_unlock(&c->x->mu);
}

static int check_pages(struct sto_hbase__checker *c, const struct sto_hbase__range *range,
                       struct series *list, struct ts_error *err)
{
    struct sto_hbase__pages pages = {c->x->table, STO_HBASE_FAMILY, ts_buf_get(&range->stop)};
    while (!atomic_load_explicit(&c->x->stop, memory_order_relaxed)) { /* set by a checker that failed */
        struct sto_thrift_reply reply;
        struct ts_slice last = {NULL, 0};
        int32_t asked = c->n_rows;
        int rc = sto_hbase__read_page(c, &pages, &reply, err);
        TS_TRY(rc);
        if (rc == 0)
            continue;
        TS_TRY(look_up(c, &reply, list, err));
        int n = check_page(c, &reply, list, &last, err);
        TS_TRY(n);
        tell_progress(c);
        if (n < asked)
            return 0;
        TS_TRY(sto_hbase__next_page(c, last, n, err));
    }
    return 0;
}

int sto_hbase__check_range(struct sto_hbase__checker *c, const struct sto_hbase__range *range,
                           struct ts_error *err)
{
    struct series *list = ts_budget_calloc(c->x->memory, 1, sizeof *list, err);
    if (!list)
        return TS_ELIMIT;
    ts_buf_clear(&c->start);
    int rc = ts_buf_slice(&c->start, ts_buf_get(&range->start)) < 0 ? sto_hbase__no_memory(err)
                                                                    : check_pages(c, range, list, err);
    ts_budget_free(c->x->memory, list, sizeof *list);
    return rc;
}
