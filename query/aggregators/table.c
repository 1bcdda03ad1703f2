/*
 * table.c - all aggregators, in the order in which they are listed to users; group accumulators' memory.
 */
#include "query/aggregators/agg.h"

#include "query/limit.h"

#include <string.h>

/* The accumulators that rows name, each pair defined in a file of this folder. */
#define ACCUMULATORS(name)                                                                                   \
    extern const struct qry_acc_ops qry_acc_##name;                                                          \
    extern const struct qry_group_acc_ops qry_group_acc_##name
ACCUMULATORS(avg);
ACCUMULATORS(count);
ACCUMULATORS(dev);
ACCUMULATORS(diff);
ACCUMULATORS(first);
ACCUMULATORS(last);
ACCUMULATORS(max);
ACCUMULATORS(median);
ACCUMULATORS(min);
ACCUMULATORS(mult);
ACCUMULATORS(pct);
ACCUMULATORS(square);
ACCUMULATORS(sum);

#define ROW(nm, ip, fam, hlp)                                                                                \
    .name = nm, .interp = QRY_INTERP_##ip, .bucket_acc = &qry_acc_##fam, .group_acc = &qry_group_acc_##fam,  \
    .help = hlp
#define PCT(nm, share, hlp) ROW(nm, LERP, pct, hlp), .p = share
#define EP(nm, share, rule, legacy, hlp)                                                                     \
    {                                                                                                        \
        PCT(nm, share, hlp), .rank = QRY_RANK_##rule, .legacy_doubles = legacy                               \
    }
#define EP_ROWS(legacy)                                                                                      \
    EP("ep50r3", .5, R3, legacy, "50th percentile, estimated by rule R-3."),                                 \
        EP("ep75r3", .75, R3, legacy, "75th percentile, estimated by rule R-3."),                            \
        EP("ep90r3", .9, R3, legacy, "90th percentile, estimated by rule R-3."),                             \
        EP("ep95r3", .95, R3, legacy, "95th percentile, estimated by rule R-3."),                            \
        EP("ep99r3", .99, R3, legacy, "99th percentile, estimated by rule R-3."),                            \
        EP("ep999r3", .999, R3, legacy, "99.9th percentile, estimated by rule R-3."),                        \
        EP("ep50r7", .5, R7, legacy, "50th percentile, estimated by rule R-7."),                             \
        EP("ep75r7", .75, R7, legacy, "75th percentile, estimated by rule R-7."),                            \
        EP("ep90r7", .9, R7, legacy, "90th percentile, estimated by rule R-7."),                             \
        EP("ep95r7", .95, R7, legacy, "95th percentile, estimated by rule R-7."),                            \
        EP("ep99r7", .99, R7, legacy, "99th percentile, estimated by rule R-7."),                            \
        EP("ep999r7", .999, R7, legacy, "99.9th percentile, estimated by rule R-7.")

static const struct qry_agg table[] = {
    {ROW("sum", LERP, sum, "Sum of all series."), .additive = true},
    {ROW("min", LERP, min, "Smallest value.")},
    {ROW("max", LERP, max, "Largest value.")},
    {ROW("avg", LERP, avg, "Sum divided by the number of values."), .rollup = "sum"},
    {.name = "none", .interp = QRY_INTERP_ZIM, .help = "Series stay apart."},
    {ROW("median", LERP, median, "The upper middle value.")},
    {ROW("mult", LERP, mult, "Product."), .no_unit = true},
    {ROW("dev", LERP, dev, "Population standard deviation.")},
    {ROW("diff", LERP, diff, "Last value minus the first.")},
    {ROW("count", ZIM, count, "Number of values (in a group: of series alive)."), .no_unit = true,
     .additive = true},
    {ROW("zimsum", ZIM, sum, "Sum; a series without a point counts 0."), .additive = true, .rollup = "sum"},
    {ROW("mimmin", MAX, min, "Smallest value; a series without a point does not count."), .rollup = "min"},
    {ROW("mimmax", MIN, max, "Largest value; a series without a point does not count."), .rollup = "max"},
    {ROW("first", ZIM, first, "First value.")},
    {ROW("last", ZIM, last, "Last value.")},
    {ROW("pfsum", PREV, sum, "Sum; a series without a point counts its last value."), .additive = true,
     .rollup = "sum"},
    {ROW("squareSum", ZIM, square, "Sum of squares."), .no_unit = true, .additive = true},
    {PCT("p50", .5, "50th percentile.")},
    {PCT("p75", .75, "75th percentile.")},
    {PCT("p90", .9, "90th percentile.")},
    {PCT("p95", .95, "95th percentile.")},
    {PCT("p99", .99, "99th percentile.")},
    {PCT("p999", .999, "99.9th percentile.")},
    EP_ROWS(false),
    {.name = NULL},
};

/* Names whose rule OpenTSDB drops as soon as doubles are involved. */
static const struct qry_agg compat_table[] = {
    EP_ROWS(true),
    {.name = NULL},
};

static const struct qry_agg *find_in(const struct qry_agg *rows, struct ts_slice name)
{
    for (; rows->name; rows++)
        if (ts_slice_is(name, rows->name))
            return rows;
    return NULL;
}

const struct qry_agg *qry_agg_find(struct ts_slice name, bool compat)
{
    const struct qry_agg *row = compat ? find_in(compat_table, name) : NULL;
    return row ? row : find_in(table, name);
}

const struct qry_agg *qry_agg_table(void)
{
    return table;
}

bool qry_agg_is_none(const struct qry_agg *agg)
{
    return !agg->bucket_acc;
}

const char *qry_agg_name(size_t i)
{
    return i < sizeof table / sizeof table[0] ? table[i].name : NULL;
}

/* --- group accumulators --- */
static void group_acc_failed(struct qry_group_acc *l, const struct ts_error *err)
{
    if (!l->rc)
        l->rc = qry_budget_fail(l->budget, qry_memory_code(err), err);
}

void *qry_group_acc__scratch(struct qry_group_acc *l, size_t n_bytes)
{
    struct ts_error err = {0};
    void *p = l->rc ? NULL : ts_budget_alloc(l->budget->memory, n_bytes, &err);
    if (!p)
        group_acc_failed(l, &err);
    return p;
}

void *qry_group_acc__array(struct qry_group_acc *l, size_t size)
{
    struct ts_error err = {0};
    void *p = l->rc ? NULL : ts_budget_calloc(l->budget->memory, l->n, size, &err);
    if (!p)
        group_acc_failed(l, &err);
    return p;
}

int qry_group_acc_open(struct qry_group_acc *l, const struct qry_agg *agg, size_t n, bool is_int,
                       struct qry_budget *budget)
{
    *l =
        (struct qry_group_acc){.ops = agg->group_acc, .agg = agg, .n = n, .is_int = is_int, .budget = budget};
    l->ops->open(l);
    return l->rc;
}

void qry_group_acc__open(struct qry_group_acc *l, int64_t i, double d)
{
    if (l->is_int)
        l->i = qry_group_acc__array(l, sizeof *l->i);
    else
        l->d = qry_group_acc__array(l, sizeof *l->d);
    for (size_t k = 0; l->rc == 0 && k < l->n; k++) {
        if (l->is_int)
            l->i[k] = i;
        else
            l->d[k] = d;
    }
}

void qry_group_acc__done_f64(struct qry_group_acc *l, double *out)
{
    memcpy(out, l->d, l->n * sizeof *out);
}

void qry_group_acc__done_i64(struct qry_group_acc *l, int64_t *out)
{
    memcpy(out, l->i, l->n * sizeof *out);
}

void qry_group_acc__keep(struct qry_group_acc *l, size_t at, const void *v, size_t n, uint32_t rank)
{
    struct ts_error err = {0};
    if (l->rc)
        return;
    if (ts_budget_grow(l->budget->memory, &l->rows, &l->cap_rows, l->n_rows + 1, sizeof *l->rows, &err) < 0) {
        group_acc_failed(l, &err);
        return;
    }
    uint64_t *copy = qry_group_acc__scratch(l, n * sizeof *copy);
    if (!copy)
        return;
    memcpy(copy, v, n * sizeof *copy);
    l->rows[l->n_rows++] = (struct qry_group_acc_row){.at = at, .n = n, .v = copy, .rank = rank};
}

void qry_group_acc__keep_all(struct qry_group_acc *l, struct qry_group_acc *from)
{
    struct ts_error err = {0};
    size_t n = l->n_rows + from->n_rows;
    if (ts_budget_grow(l->budget->memory, &l->rows, &l->cap_rows, n, sizeof *l->rows, &err) < 0) {
        group_acc_failed(l, &err);
        return;
    }
    if (from->n_rows)
        memcpy(l->rows + l->n_rows, from->rows, from->n_rows * sizeof *l->rows);
    l->n_rows = n;
    from->n_rows = 0; /* the values are ours now */
}

static void free_array(const struct qry_group_acc *l, void *p, size_t size)
{
    if (p)
        ts_budget_free(l->budget->memory, p, l->n * size);
}

void qry_group_acc_close(struct qry_group_acc *l)
{
    for (size_t k = 0; l->xs && k < l->n; k++)
        ts_xsum_release(&l->xs[k]);
    for (size_t r = 0; r < l->n_rows; r++)
        ts_budget_free(l->budget->memory, l->rows[r].v, l->rows[r].n * sizeof *l->rows[r].v);
    free_array(l, l->xs, sizeof *l->xs);
    free_array(l, l->d, sizeof *l->d);
    free_array(l, l->d2, sizeof *l->d2);
    free_array(l, l->i, sizeof *l->i);
    free_array(l, l->i2, sizeof *l->i2);
    free_array(l, l->cnt, sizeof *l->cnt);
    free_array(l, l->r1, sizeof *l->r1);
    free_array(l, l->r2, sizeof *l->r2);
    if (l->rows)
        ts_budget_free(l->budget->memory, l->rows, l->cap_rows * sizeof *l->rows);
    *l = (struct qry_group_acc){0};
}

bool qry_group_acc_keeps(const struct qry_agg *agg)
{
    return agg->group_acc && agg->group_acc->keeps;
}
