/*
 * fetch_row.c - a row of the data table: which series it belongs to, its points, to the caller.
 */
#include "storage/hbase/remote/fetch_int.h"

#include "base/log.h"
#include "base/mem.h"
#include "storage/hbase/bigendian.h"
#include "base/time.h"

/* --- which series --- */

static bool cond_matches(const struct sto_hbase__cond *c, const struct sto_hbase_ids *ids)
{
    size_t i = 0;
    while (i < ids->n_tags && ids->tag[i].k != c->tagk)
        i++;
    if (i == ids->n_tags)
        return false;
    size_t lo = 0, hi = c->any ? 0 : c->n_values;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->values[mid] == ids->tag[i].v)
            return true;
        if (c->values[mid] < ids->tag[i].v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return c->any;
}

static bool conds_match(const struct sto_hbase__fetch *x, const struct sto_hbase_ids *ids)
{
    bool all = true;
    for (size_t i = 0; i < x->n_conds && all; i++)
        all = cond_matches(&x->conds[i], ids);
    return all;
}

/* Could OpenTSDB have written this key? A row in the salt bucket of another series is read all the same: OpenTSDB, too, finds the rows that
 * were written with another number of buckets, except by their computed keys. */
static bool is_regular(struct sto_hbase__reader *r, struct ts_slice key, bool count,
                       struct sto_hbase_rowkey *k)
{
    static struct ts_log_limit limit;
    struct sto_hbase *h = r->x->h;
    const struct sto_hbase_schema *schema = &h->opts.schema;
    struct ts_error why = {0};
    int rc = sto_hbase_rowkey_parse(schema, key, k, &why);
    if (rc == 0 && k->global)
        return r->x->metric == 0;
    if (rc == 0 && sto_hbase_rowkey_check(schema, k, &why) == 0)
        return true;
    if (rc == 0) {
        uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES];
        size_t n = sto_hbase_tsuid_make(schema, &k->ids, tsuid);
        k->salt = sto_hbase_salt(schema, (struct ts_slice){(const char *)tsuid, n});
        rc = sto_hbase_rowkey_check(schema, k, &why);
        if (count)
            sto_hbase__count(rc == 0 ? &h->fetched.n_misplaced : &h->fetched.n_odd_keys, 1);
        return rc == 0;
    }
    if (count) {
        char hex[128];
        struct ts_slice shown = {key.p, key.n < 64 ? key.n : 64};
        sto_hbase__count(&h->fetched.n_odd_keys, 1);
        sto_hbase_hex_print(shown, hex);
        ts_log_limited(&limit, TS_LOG_WARN, "skipping the row %.*s of table %.*s: %s", (int)(2 * shown.n),
                       hex, (int)r->x->table.n, r->x->table.p, why.text);
    }
    return false;
}

/* The TSUID stands in the key around the base time. */
static struct ts_slice tsuid_of(const struct sto_hbase_schema *s, struct ts_slice key, uint8_t *out)
{
    size_t before = (size_t)s->salt_width + s->metric_width, n = key.n - s->salt_width - 4;
    memcpy(out, key.p + s->salt_width, s->metric_width);
    memcpy(out + s->metric_width, key.p + before + 4, n - s->metric_width);
    return (struct ts_slice){(const char *)out, n};
}

/* The series of a row, if rows of it were judged before, and its other parts are regular; NULL. */
static struct sto_hbase__met *known(const struct sto_hbase__reader *r, struct ts_slice key,
                                    uint32_t *out_base_s)
{
    const struct sto_hbase__fetch *x = r->x;
    const struct sto_hbase_schema *s = &x->h->opts.schema;
    uint8_t bytes[STO_HBASE_MAX_TSUID_BYTES];
    size_t before = (size_t)s->salt_width + s->metric_width;
    if (!x->metric || key.n < before + 4 || key.n > STO_HBASE_MAX_KEY_BYTES)
        return NULL;
    struct sto_hbase__met *met =
        sto_hbase__table_find(x->f->series ? &x->wanted : &r->met, tsuid_of(s, key, bytes));
    *out_base_s = (uint32_t)sto_hbase_get((const uint8_t *)key.p + before, 4);
    uint32_t hour = *out_base_s / STO_HBASE_ROW_S;
    bool begins = x->rollups ? *out_base_s == sto_hbase_rollup_base(x->place.shape, *out_base_s)
                             : *out_base_s % STO_HBASE_ROW_S == 0;
    bool is = met && begins && hour >= x->first_h && hour <= x->last_h &&
              (!s->salt_width || sto_hbase_get((const uint8_t *)key.p, s->salt_width) == met->bucket);
    return is ? met : NULL;
}

/* Does the row lie in the salt bucket of another series, so that there may be another row of its series and hour? */
static bool is_put_off(const struct sto_hbase__reader *r, struct ts_slice key,
                       const struct sto_hbase_rowkey *k)
{
    const struct sto_fetch *f = r->x->f;
    unsigned width = r->x->h->opts.schema.salt_width;
    return width && !k->global && !r->reads_misplaced && !f->series_only && !f->any_row &&
           sto_hbase_get((const uint8_t *)key.p, width) != k->salt;
}

int sto_hbase__row_judge(struct sto_hbase__reader *r, struct ts_slice key, bool count,
                         struct sto_hbase__met **out, uint32_t *out_base_s, struct ts_error *err)
{
    struct sto_hbase__fetch *x = r->x;
    struct sto_hbase_rowkey k;
    uint8_t bytes[STO_HBASE_MAX_TSUID_BYTES];
    *out = known(r, key, out_base_s);
    if (*out)
        return 0;
    if (!is_regular(r, key, count, &k) || k.ids.metric != x->metric)
        return 0;
    *out_base_s = k.base_s;
    uint32_t hour = k.base_s / STO_HBASE_ROW_S;
    if (hour < x->first_h || hour > x->last_h)
        return 0;
    if (x->rollups && k.base_s != sto_hbase_rollup_base(x->place.shape, k.base_s)) {
        sto_hbase__count(&x->h->fetched.n_odd_keys, count);
        return 0;
    }
    struct ts_slice tsuid = k.global ? (struct ts_slice){"", 1} : tsuid_of(&x->h->opts.schema, key, bytes);
    bool by_table = x->f->series || k.global;
    if (by_table)
        *out = sto_hbase__table_find(&x->wanted, tsuid);
    if (by_table ? !*out : !conds_match(x, &k.ids))
        return 0;
    if (is_put_off(r, key, &k)) {
        *out = NULL;
        return count ? sto_hbase__misplaced_add(x, key, err) : 0;
    }
    if (by_table)
        return 0;
    *out = sto_hbase__table_find(&r->met, tsuid);
    if (*out)
        return 0;
    TS_TRY(sto_hbase__table_add(&r->met, tsuid, out, err));
    (*out)->bucket = (uint32_t)k.salt;
    return 0;
}

/* --- its cells --- */

void sto_hbase__row_begin(struct sto_hbase__reader *r, struct sto_hbase__met *met, uint32_t base_s)
{
    r->row.met = met;
    r->row.base_s = base_s;
    r->row.n_cells = r->row.n_misplaced = 0;
    ts_buf_clear(&r->row.held);
}

int sto_hbase__row_add(struct sto_hbase__reader *r, struct sto_thrift_row *result, struct ts_error *err)
{
    struct sto_hbase__row *row = &r->row;
    struct sto_thrift_cell cell;
    int rc = 0;
    if (!row->met)
        return 0;
    TS_TRY(ts_budget_grow(r->x->limits.memory, &row->cells, &row->cap_cells, row->n_cells + result->n_left,
                          sizeof *row->cells, err));
    while ((rc = sto_thrift_row_next(result, &cell, err)) == 1)
        row->cells[row->n_cells++] = (struct sto_hbase_cell){cell.qualifier, cell.value, cell.ts_ms};
    return rc;
}

int sto_hbase__refused(const struct ts_buf *b, size_t n, const char *what, struct ts_error *err)
{
    int rc = ts_budget_take(b->budget, n, err);
    if (rc < 0) {
        ts_error_wrap(err, "%s", what);
        return rc;
    }
    ts_budget_give(b->budget, n);
    return ts_error_set(err, TS_ELIMIT, "there is no memory for %s%s%s", what,
                        b->budget && b->budget->key ? "; its limit is " : "",
                        b->budget && b->budget->key ? b->budget->key : "");
}

int sto_hbase__row_hold(struct sto_hbase__reader *r, struct ts_error *err)
{
    struct sto_hbase__row *row = &r->row;
    size_t n = 0, done = row->held.n, at = 0;
    for (size_t i = 0; i < row->n_cells; i++)
        n += row->cells[i].qualifier.n + row->cells[i].value.n;
    if (n > done && !ts_buf_reserve(&row->held, n - done))
        return sto_hbase__refused(&row->held, n - done, "a row of several results of HBase", err);
    for (size_t i = 0; i < row->n_cells; i++) {
        struct ts_slice *part[] = {&row->cells[i].qualifier, &row->cells[i].value};
        for (size_t k = 0; k < 2; k++) {
            if (at >= done && part[k]->n)
                ts_buf_slice(&row->held, *part[k]);
            part[k]->p = row->held.p ? row->held.p + at : "";
            at += part[k]->n;
        }
    }
    return 0;
}

/* --- to the caller --- */

int sto_hbase__fetch_ended(const struct sto_hbase__fetch *x, struct ts_error *err)
{
    const _Atomic bool *cancel = x->limits.cancel;
    if (atomic_load_explicit(&x->stop, memory_order_relaxed) ||
        (cancel && atomic_load_explicit(cancel, memory_order_relaxed)))
        return ts_error_set(err, TS_ECANCELLED, "reading rows from HBase was cancelled");
    return 0;
}

static int deliver(struct sto_hbase__fetch *x, const struct sto_remote_row *row, size_t pos,
                   struct ts_error *err)
{
    TS_TRY(sto_hbase__fetch_ended(x, err));
    int rc = x->each(x->arg, row, pos, err);
    if (rc < 0)
        sto_hbase__fetch_fail(x, rc, err);
    sto_hbase__count(&x->h->fetched.n_rows, 1);
    return rc < 0 ? rc : 0;
}

int sto_hbase__row_deliver(struct sto_hbase__fetch *x, struct sto_hbase__met *met, uint32_t base_s,
                           const struct ts_slice *metric, const struct sto_cells *cells, struct ts_error *err)
{
    bool once = !cells && !metric;
    int rc = 0;
    if (met->naming != STO_HBASE__NAMED) {
        sto_hbase__count(&x->h->fetched.n_unnamed, 1);
        return 0;
    }
    if (x->by_tag && !sto_hbase__is_of_place(x, &met->series))
        return 0;
    pthread_mutex_lock(&x->deliver_mu);
    for (; met && rc == 0; met = met->same) {
        if (once && met->is_reported)
            continue;
        met->is_reported = once;
        struct sto_remote_row row = {
            .series = met->series, .hour = (int32_t)(base_s / STO_HBASE_ROW_S), .cells = cells};
        if (x->internal)
            row.series.metric = metric ? *metric : x->f->metric;
        rc = deliver(x, &row, met->pos, err);
    }
    pthread_mutex_unlock(&x->deliver_mu);
    return rc;
}

/* Has another reader given this series to the caller? If not, this one will. 1, 0, or an error. */
static int was_reported(struct sto_hbase__fetch *x, const struct sto_hbase__met *met, struct ts_error *err)
{
    struct ts_slice tsuid = {(const char *)met->tsuid, met->n_tsuid};
    struct sto_hbase__met *added;
    int rc = 1;
    if (x->f->series || x->n_parts < 2)
        return 0;
    pthread_mutex_lock(&x->deliver_mu);
    if (!sto_hbase__table_find(&x->reported, tsuid))
        rc = sto_hbase__table_add(&x->reported, tsuid, &added, err);
    pthread_mutex_unlock(&x->deliver_mu);
    return rc;
}

int sto_hbase__row_report(struct sto_hbase__reader *r, struct sto_hbase__met *met, uint32_t base_s,
                          struct ts_error *err)
{
    if (met->is_reported)
        return 0;
    int was = was_reported(r->x, met, err);
    if (was == 1)
        met->is_reported = true;
    return was != 0 ? was < 0 ? was : 0 : sto_hbase__row_deliver(r->x, met, base_s, NULL, NULL, err);
}

int sto_hbase__row_found(struct sto_hbase__reader *r, struct ts_error *err)
{
    struct sto_hbase__fetch *x = r->x;
    struct sto_remote_row row = {.series = {.key = STO_REMOTE_NO_KEY, .metric = x->f->metric},
                                 .hour = (int32_t)(r->row.base_s / STO_HBASE_ROW_S)};
    int rc = 0;
    pthread_mutex_lock(&x->deliver_mu);
    if (!sto_hbase__fetch_found(x) && (rc = deliver(x, &row, SIZE_MAX, err)) == 0)
        atomic_store_explicit(&x->found, true, memory_order_relaxed);
    pthread_mutex_unlock(&x->deliver_mu);
    return rc;
}

/* What is being decoded. */
struct decoding {
    struct sto_hbase__reader *r;
    struct sto_hbase *h; /* for messages and counters */
    struct ts_slice key; /* the same */
    size_t n_damaged;    /* annotations that cannot be read */
    int rc;              /* of the caller's function */
    struct ts_error err;
};

static void log_damage(struct ts_slice table, struct ts_slice key, const char *text)
{
    static struct ts_log_limit limit;
    char hex[2 * STO_HBASE_MAX_KEY_BYTES];
    if (key.n > STO_HBASE_MAX_KEY_BYTES)
        return;
    sto_hbase_hex_print(key, hex);
    ts_log_limited(&limit, TS_LOG_WARN, "the row %.*s of table %.*s is damaged: %s", (int)(2 * key.n), hex,
                   (int)table.n, table.p, text);
}

void sto_hbase__row_damaged(struct sto_hbase__reader *r, struct ts_slice key, const char *text)
{
    sto_hbase__count(&r->x->h->fetched.n_damaged, 1);
    log_damage(r->x->table, key, text);
}

static void on_finding(void *arg, size_t cell, enum sto_hbase_finding finding, const char *text)
{
    const struct decoding *d = arg;
    (void)cell;
    if (finding == STO_HBASE_DAMAGED)
        log_damage(d->r->x->table, d->key, text);
}

static void on_histogram(void *arg, size_t cell, uint32_t off_ms)
{
    const struct decoding *d = arg;
    (void)cell, (void)off_ms;
    sto_hbase__count(&d->h->fetched.n_histograms, 1);
}

static void on_annotation(void *arg, size_t cell, uint32_t off_ms)
{
    struct decoding *d = arg;
    struct ts_error why = {0};
    (void)off_ms; /* the start time in the document counts */
    if (sto_hbase__misplaced_is_old(&d->r->row, cell))
        return;
    if (d->rc == 0)
        d->rc = sto_hbase__row_note(d->r, d->r->row.cells[cell].value, &why, &d->err);
    if (d->rc == 0 && why.code) {
        d->n_damaged++;
        on_finding(d, cell, STO_HBASE_DAMAGED, why.text);
    }
}

/* The cells of a sorted row within the range; borrowed. */
static struct sto_cells clip(const struct sto_fetch *f, int32_t hour, const struct sto_cells *all)
{
    struct sto_cells part = *all;
    uint32_t lo, hi, from = 0;
    part.n = 0;
    if (all->n == 0 || !sto_hour_part(hour, f->from_ms, f->to_ms, &lo, &hi))
        return part;
    while (from < all->n && sto_meta_off(all->meta[from]) < lo)
        from++;
    part.n = all->n - from;
    while (part.n && sto_meta_off(all->meta[from + part.n - 1]) > hi)
        part.n--;
    part.meta = all->meta + from;
    part.m = all->m + from;
    if (part.n)
        part.common = all->uniform ? all->common : 0;
    return part;
}

bool sto_hbase__is_point(struct ts_slice q)
{
    return q.n && (q.n % 2 == 0 || (q.n == 3 && memcmp(q.p, "\5\0\0", 3) == 0));
}

/* series_only: all cells are there, or only the first one. */
static int end_key_only(struct sto_hbase__reader *r, struct ts_slice key, struct ts_error *err)
{
    struct sto_hbase__row *row = &r->row;
    for (size_t i = 0; i < row->n_cells; i++)
        if (r->x->histograms || sto_hbase__is_point(row->cells[i].qualifier))
            return sto_hbase__row_report(r, row->met, row->base_s, err);
    if (row->n_cells == 0 || row->met->is_reported)
        return 0;
    uint32_t n = (uint32_t)key.n;
    ts_buf_append(&r->doubtful, &n, sizeof n);
    if (ts_buf_slice(&r->doubtful, key) < 0)
        return sto_hbase__refused(&r->doubtful, key.n, "rows whose first cell is no point", err);
    return 0;
}

int sto_hbase__row_end(struct sto_hbase__reader *r, struct ts_slice key, struct ts_error *err)
{
    struct sto_hbase__fetch *x = r->x;
    struct sto_hbase__row *row = &r->row;
    if (!row->met || row->n_cells == 0)
        return 0;
    if (x->f->any_row)
        return sto_hbase__row_found(r, err);
    if (x->histograms && (!x->f->series_only || x->f->all_buckets))
        return sto_hbase__row_histograms(r, key, err);
    if (x->rollups)
        return sto_hbase__row_rollups(r, key, err);
    if (x->f->series_only)
        return end_key_only(r, key, err);
    struct decoding d = {.r = r, .h = x->h, .key = key};
    struct sto_hbase_visitor visitor = {.annotation = x->f->note ? on_annotation : NULL,
                                        .histogram = on_histogram,
                                        .finding = on_finding,
                                        .arg = &d};
    TS_TRY(
        sto_hbase_error(sto_hbase_columns_decode(&r->columns, row->cells, row->n_cells, &visitor, err), err));
    struct sto_hbase__fetched *n = &x->h->fetched;
    sto_hbase__count(&n->n_cells, row->n_cells);
    if (r->columns.n_damaged + d.n_damaged)
        sto_hbase__count(&n->n_damaged, r->columns.n_damaged + d.n_damaged);
    if (d.rc < 0)
        return ts_error_set(err, d.rc, "%s", d.err.text);
    if (!x->each)
        return 0;
    if (r->columns.n_contradicting)
        sto_hbase__count(&n->n_contradicting, r->columns.n_contradicting);
    struct sto_cells cells = r->columns.cells;
    if (row->n_misplaced)
        TS_TRY(sto_hbase__misplaced_points(r, &cells, err));
    cells = clip(x->f, (int32_t)(row->base_s / STO_HBASE_ROW_S), &cells);
    if (cells.n == 0)
        return 0;
    sto_hbase__count(&n->n_points, cells.n);
    return sto_hbase__row_deliver(x, row->met, row->base_s, NULL, &cells, err);
}

/* --- readers --- */

void sto_hbase__reader_init(struct sto_hbase__reader *r, struct sto_hbase__fetch *x)
{
    *r = (struct sto_hbase__reader){.x = x, .met.memory = x->limits.memory};
    sto_hbase_columns_init(&r->columns, x->limits.memory);
    ts_buf_init(&r->row.held, 0);
    r->row.held.budget = x->limits.memory;
    ts_buf_init(&r->doubtful, 0);
    r->doubtful.budget = x->limits.memory;
    ts_buf_init(&r->record, 0);
    r->record.budget = x->limits.memory;
    r->tally.memory = x->limits.memory;
}

void sto_hbase__reader_release(struct sto_hbase__reader *r)
{
    sto_hbase_columns_release(&r->columns);
    sto_hbase__row_release_histograms(r);
    sto_hbase__row_release_rollups(r);
    ts_budget_free(r->x->limits.memory, r->row.cells, r->row.cap_cells * sizeof *r->row.cells);
    ts_buf_release(&r->row.held);
    sto_hbase__table_clear(&r->met);
    ts_buf_release(&r->doubtful);
    ts_buf_release(&r->record);
}
