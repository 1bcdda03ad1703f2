/*
 * kept.c - see kept.h.
 */
#include "query/execution/kept.h"

#include "base/hash.h"
#include "query/limit.h"
#include "storage/total_run.h"

#include <string.h>

#define REPORT_ROWS 64u /* rows between two reports to the budget */

/* --- does a total help? --- */

/* Does the query select or group by a key that the total sums over? */
static bool asks_for(const struct qry_plan *p, const struct sto_total_ids *t)
{
    struct sto_catalog *catalog = p->spec->view->cat;
    for (size_t k = 0; k < p->n_keys; k++)
        if (sto_total_has_key(t, p->keys[k]))
            return true;
    for (size_t i = 0; i < p->sub->n_filters; i++) {
        uint32_t key;
        if (sto_uid_find(catalog, STO_UID_TAGK, p->sub->filters[i].tagk, &key) < 0 ||
            sto_total_has_key(t, key))
            return true;
    }
    return false;
}

/* Choose the total that leaves the fewest groups. */
static bool choose(const struct qry_plan *p, const struct sto_snap *snap, struct sto_total_ids *out)
{
    struct sto_total_ids all[STO_TOTALS_MAX];
    size_t n = sto_snap_totals(snap, all);
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (all[i].metric == p->metric && (!any || all[i].n_over > out->n_over) && !asks_for(p, &all[i])) {
            *out = all[i];
            any = true;
        }
    return any;
}

/* --- which groups are selected? --- */

/* The tags of a series that are not summed over. Returns how many. */
static size_t rest_of(const struct qry_kept *k, const struct sto_series *s, struct sto_tag *out)
{
    return sto_total_rest(&k->total, s->tags, s->n_tags, out);
}

/* The slot of a group: of a selected series of it, or an empty one. */
static size_t slot_of(const struct qry_kept *k, const struct sto_tag *tags, size_t n)
{
    struct sto_tag rest[UINT8_MAX];
    size_t at = (size_t)ts_hash(tags, n * sizeof *tags) & (k->n_slots - 1);
    for (; k->slots[at]; at = (at + 1) & (k->n_slots - 1))
        if (rest_of(k, k->plan->series[k->slots[at] - 1], rest) == n &&
            memcmp(rest, tags, n * sizeof *tags) == 0)
            break;
    return at;
}

/* With filters, remember which groups have selected series. */
static int find_groups(struct qry_kept *k, struct ts_error *err)
{
    struct sto_tag rest[UINT8_MAX];
    size_t n_slots = 64, step = 0;
    if (!k->plan->sub->n_filters)
        return 0;
    while (n_slots < 2 * k->plan->n)
        n_slots *= 2;
    k->slots = ts_budget_calloc(k->budget->memory, n_slots, sizeof *k->slots, err);
    if (!k->slots)
        return qry_memory_code(err);
    k->n_slots = n_slots;
    for (size_t i = 0; i < k->plan->n; i++) {
        size_t n = rest_of(k, k->plan->series[i], rest), slot = slot_of(k, rest, n);
        k->slots[slot] = k->slots[slot] ? k->slots[slot] : (uint32_t)i + 1;
        TS_TRY(qry_budget_step(k->budget, &step, err));
    }
    return 0;
}

static int64_t on_group(void *arg, const struct sto_tag *tags, size_t n_tags)
{
    const struct qry_kept *k = arg;
    if (k->n_slots && !k->slots[slot_of(k, tags, n_tags)])
        return -1;
    return qry_plan_find_group(k->plan, tags, n_tags);
}

/* --- gaps --- */

static void read_all(struct qry_kept *k)
{
    const struct qry_plan *p = k->plan;
    sto_total_scan_free(k->scan);
    k->scan = NULL;
    k->n_hours = 0;
    k->gap[0] = (struct qry_gap){p->scan_from_ms, p->scan_to_ms};
    k->n_gaps = p->scan_from_ms < p->scan_to_ms;
}

/* Runs of hours that are not answered, if those that are at most `apart` hours apart are joined. With set, hours between them are not answered any more. */
static size_t count_runs(uint8_t *hours, size_t n, size_t apart, bool set)
{
    size_t runs = 0, end = 0; /* end of the last run */
    for (size_t h = 0; h < n; h++) {
        if (hours[h])
            continue;
        if (runs == 0 || h - end > apart)
            runs++;
        else if (set)
            memset(hours + end, 0, h - end);
        end = h + 1;
    }
    return runs;
}

/* What is read by series: the hours that are not answered, and with them the short times between them. */
static void cut(struct qry_kept *k, int32_t hour_lo, size_t n_hours)
{
    uint8_t *hours = sto_total_scan_hours(k->scan);
    const struct qry_plan *p = k->plan;
    size_t apart = 0;
    while (count_runs(hours, n_hours, apart, false) > QRY_GAPS)
        apart = apart * 2 + 1;
    (void)count_runs(hours, n_hours, apart, true);
    k->n_gaps = 0;
    for (size_t h = 0; h < n_hours; h++) {
        k->n_hours += hours[h];
        if (hours[h] || (h && !hours[h - 1]))
            continue;
        size_t end = h;
        while (end < n_hours && !hours[end])
            end++;
        struct qry_gap s = {(hour_lo + (int64_t)h) * TS_HOUR_MS, (hour_lo + (int64_t)end) * TS_HOUR_MS};
        s.from_ms = s.from_ms < p->scan_from_ms ? p->scan_from_ms : s.from_ms;
        s.to_ms = s.to_ms > p->scan_to_ms ? p->scan_to_ms : s.to_ms;
        k->gap[k->n_gaps++] = s;
    }
}

static int begin(struct qry_kept *k, struct sto_snap *snap, struct ts_error *err)
{
    const struct qry_plan *p = k->plan;
    int32_t lo = sto_hour(p->scan_from_ms);
    size_t n = (size_t)((int64_t)sto_hour(p->scan_to_ms - 1) - lo + 1);
    struct sto_total_spec spec = {.total = k->total,
                                  .series = p->series,
                                  .n_series = p->n,
                                  .hour_lo = lo,
                                  .n_hours = n,
                                  .wanted = p->whole_hours,
                                  .memory = k->budget->memory,
                                  .group = on_group,
                                  .arg = k};
    TS_TRY(find_groups(k, err));
    TS_TRY(sto_total_scan_new(snap, &spec, &k->scan, err));
    cut(k, lo, n);
    if (!k->n_hours)
        read_all(k);
    return 0;
}

int qry_kept_begin(struct qry_plan *p, struct sto_snap *snap, struct qry_budget *budget,
                   const struct qry_acc_ops *ops, struct qry_kept *out, struct ts_error *err)
{
    *out = (struct qry_kept){.plan = p, .budget = budget, .sums_only = ops && ops->add_sums};
    read_all(out);
    if (!out->n_gaps || !p->n || !p->whole_hours || !ops->of_groups || p->spec->where.n ||
        p->sub->explicit_tags || p->sub->n_tsuids || p->shown || p->n_keys > UINT8_MAX ||
        !choose(p, snap, &out->total))
        return 0;
    return begin(out, snap, err);
}

struct sto_scan_spec qry_kept_scan(const struct qry_kept *k, size_t i)
{
    struct qry_reading rd;
    struct sto_scan_spec scan = qry_plan_scan(k->plan);
    qry_kept_cut(k, i, &rd);
    scan.from_ms = rd.from_ms;
    scan.to_ms = rd.to_ms - 1;
    scan.whole_hours = rd.whole_hours;
    scan.days = rd.days;
    return scan;
}

int qry_kept_afford(const struct qry_kept *k, struct sto_snap *snap, struct ts_error *err)
{
    for (size_t i = 0; i < k->n_gaps; i++) {
        struct sto_scan_spec scan = qry_kept_scan(k, i);
        TS_TRY(qry_budget_scan(k->budget, snap, &scan, err));
    }
    return 0;
}

void qry_kept_cut(const struct qry_kept *k, size_t i, struct qry_reading *rd)
{
    const struct qry_plan *p = k->plan;
    const struct qry_gap *s = &k->gap[i];
    size_t skipped = (size_t)((int64_t)sto_hour(s->from_ms) - sto_hour(p->scan_from_ms));
    rd->from_ms = s->from_ms;
    rd->to_ms = s->to_ms;
    rd->whole_hours = p->whole_hours ? p->whole_hours + skipped : NULL;
    rd->days = p->days ? p->days + skipped : NULL;
}

/* --- rows --- */

/* The next row, or run of rows, of the total. */
static int next_row(struct qry_kept *k, int64_t *out_group, struct sto_row *out_row, struct sto_run *run,
                    struct ts_error *err)
{
    *out_row = (struct sto_row){.n_hours = 1};
    if (!k->sums_only)
        return sto_total_scan_next(k->scan, out_group, &out_row->key.hour, &out_row->sum, err);
    int rc = sto_total_scan_run(k->scan, out_group, run, err);
    if (rc == 1) {
        out_row->key = run->keys[0];
        out_row->run = run;
    }
    return rc;
}

static int read_rows(struct qry_kept *k, qry_kept_fn each, void *arg, struct ts_error *err)
{
    struct sto_row row;
    struct sto_run run;
    int64_t group;
    uint64_t n = 0;
    int rc;
    while ((rc = next_row(k, &group, &row, &run, err)) == 1) {
        TS_TRY(each(arg, (uint32_t)group, &row, err));
        n += row.run ? run.n : 1;
        if (n < REPORT_ROWS)
            continue;
        if (qry_budget_points(k->budget, n) < 0)
            return qry_budget_result(k->budget, err);
        n = 0;
    }
    return rc;
}

int qry_kept_read(struct qry_kept *k, qry_kept_fn each, void *arg, struct ts_error *err)
{
    struct ts_error why = {0};
    if (!k->scan)
        return 1;
    int rc = read_rows(k, each, arg, &why);
    if (rc == TS_ECORRUPT || rc == TS_EIO) {
        read_all(k);
        return 0;
    }
    if (rc == 0 && k->budget->limit)
        atomic_fetch_add_explicit(&k->budget->limit->n_kept_hours, (uint64_t)k->n_hours,
                                  memory_order_relaxed);
    if (rc < 0 && err)
        *err = why;
    return rc < 0 ? rc : 1;
}

void qry_kept_release(struct qry_kept *k)
{
    sto_total_scan_free(k->scan);
    k->scan = NULL;
    ts_budget_free(k->budget ? k->budget->memory : NULL, k->slots, k->n_slots * sizeof *k->slots);
    k->slots = NULL;
    k->n_slots = 0;
}
