/*
 * copy_verify.c - compares both sides of a copy by points and checksum of each metric and day, and says what was left out.
 *
 * Both sides are read again from their beginning, by scans that have nothing in common with the copy but the interfaces they read through.
 *
 * Threads    the main thread; rows from HBase come from threads of it, one at a time
 */
#include "base/text.h"
#include "query/execution/internal_metric.h"
#include "tsd/commands/copy.h"

/* A day in the report: 10 digits of a date that people can read, whatever the year. */
static void print_day(int64_t day, struct ts_buf *out)
{
    struct ts_civil t = ts_civil_from_ms(NULL, day * TS_DAY_MS);
    ts_buf_printf(out, "%04d-%02d-%02d", t.year, t.month, t.day);
}

/* --- what is read --- */

static int on_row(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    return tsd_copy_days_add(arg, row, err);
}

static int on_bucket(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    return tsd_copy_days_add_bucket(arg, row, err);
}

/* What is counted for each day. */
enum { POINTS, HISTOGRAMS, N_KINDS };

/* A metric on both sides. */
struct sides {
    struct tsd_copy *c;
    struct tsd_copy_days hbase[N_KINDS], folder[N_KINDS];
    struct tsd_copy_notes *notes; /* of HBase */
};

static int on_remote_row(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    struct sides *s = arg;
    s->c->n_points += row->cells->n;
    return on_row(&s->hbase[POINTS], row, err);
}

static int on_remote_bucket(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    return on_bucket(&((struct sides *)arg)->hbase[HISTOGRAMS], row, err);
}

static int on_own_row(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    return on_row(&((struct sides *)arg)->folder[POINTS], row, err);
}

static int on_own_bucket(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    return on_bucket(&((struct sides *)arg)->folder[HISTOGRAMS], row, err);
}

static int on_remote_note(void *arg, const struct sto_remote_note *note, struct ts_error *err)
{
    return tsd_copy_notes_add(((struct sides *)arg)->notes, note, err);
}

static int on_global(void *arg, const struct sto_remote_note *note, size_t pos, struct ts_error *err)
{
    (void)pos;
    return tsd_copy_notes_add(arg, note, err);
}

static int on_slice(void *arg, int64_t next_ms, struct ts_error *err)
{
    (void)err;
    tsd_copy_show(((struct sides *)arg)->c, next_ms);
    return 0;
}

static int read_sides(struct sides *s, struct ts_slice metric, struct ts_error *err)
{
    struct tsd_copy *c = s->c;
    struct tsd_copy_reader remote = {.row = on_remote_row,
                                     .bucket = on_remote_bucket,
                                     .note = on_remote_note,
                                     .slice = on_slice,
                                     .arg = s},
                           local = {.row = on_own_row, .bucket = on_own_bucket, .arg = s};
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        s->hbase[kind] = s->folder[kind] = (struct tsd_copy_days){.memory = &c->memory};
    TS_TRY(tsd_copy_read_hbase(c, metric, c->from_ms, &remote, err));
    return tsd_copy_read_folder(c, metric, c->from_ms, c->to_ms, &local, err);
}

/* --- the report --- */

/* Counts of a report. */
struct report {
    uint64_t n[N_KINDS], n_days[N_KINDS], n_different; /* on the source's side; of both kinds */
    struct tsd_copy_notes hbase, folder;               /* annotations */
};

static void print_line(const struct tsd_copy *c, unsigned kind, const struct tsd_copy_day *from,
                       const struct tsd_copy_day *to, struct report *r, struct ts_buf *out)
{
    bool same = from->n_points == to->n_points && from->check == to->check;
    tsd_copy_print_metric(c->metrics[c->at], out);
    ts_buf_str(out, kind == HISTOGRAMS ? " (histograms)\t" : "\t");
    print_day(from->day, out);
    ts_buf_printf(out, "\t%llu\t%016llx\t", (unsigned long long)from->n_points,
                  (unsigned long long)from->check);
    if (same)
        ts_buf_str(out, "same\n");
    else
        ts_buf_printf(out, "differs: %s has %llu\t%016llx\n", c->to_hbase ? "HBase" : c->dir,
                      (unsigned long long)to->n_points, (unsigned long long)to->check);
    r->n[kind] += from->n_points;
    r->n_days[kind]++;
    r->n_different += !same;
}

static void print_days(const struct sides *s, unsigned kind, struct report *r, struct ts_buf *out)
{
    const struct tsd_copy_days *from = s->c->to_hbase ? &s->folder[kind] : &s->hbase[kind],
                               *to = s->c->to_hbase ? &s->hbase[kind] : &s->folder[kind];
    for (size_t i = 0, k = 0; i < from->n || k < to->n;) {
        int64_t a = i < from->n ? from->list[i].day : INT64_MAX, b = k < to->n ? to->list[k].day : INT64_MAX;
        struct tsd_copy_day none = {.day = a < b ? a : b};
        print_line(s->c, kind, a <= b ? &from->list[i] : &none, b <= a ? &to->list[k] : &none, r, out);
        i += a <= b;
        k += b <= a;
    }
}

static int compare_metric(struct tsd_copy *c, struct report *r, struct ts_error *err)
{
    struct sides s = {.c = c, .notes = &r->hbase};
    struct ts_buf out;
    ts_buf_init(&out, 0);
    int rc = read_sides(&s, c->metrics[c->at], err);
    for (unsigned kind = 0; kind < N_KINDS; kind++) {
        if (rc == 0)
            print_days(&s, kind, r, &out);
        tsd_copy_days_release(&s.hbase[kind]);
        tsd_copy_days_release(&s.folder[kind]);
    }
    if (rc == 0) {
        tsd_progress_clear(&c->bar);
        rc = tsd_print(ts_buf_get(&out), err);
    }
    ts_buf_release(&out);
    return rc;
}

/* --- what was left out --- */

/* What HBase has beside points. */
struct left_out {
    uint64_t n_histograms, n_damaged, n_unnamed, n_odd_keys;
};

static void on_counter(void *arg, const char *name, uint64_t value)
{
    struct left_out *l = arg;
    const struct {
        const char *name;
        uint64_t *value;
    } known[] = {{"fetched_histograms", &l->n_histograms},
                 {"fetched_damaged_cells", &l->n_damaged},
                 {"fetched_rows_without_names", &l->n_unnamed},
                 {"fetched_odd_keys", &l->n_odd_keys}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            *known[i].value = value - *known[i].value;
}

/* True: nothing. now: differences of counters since the comparison began. */
static bool say_left_out(const struct tsd_copy *c, const struct left_out *now)
{
    const struct {
        uint64_t n;
        const char *one, *many; /* nouns */
        const char *why;
    } parts[] = {
        {c->set.opts.histogram_codec < 0 ? now->n_histograms : 0, "histogram cell was",
         "histogram cells were", ": histograms_config does not name the codec"},
        {now->n_damaged, "damaged cell was", "damaged cells were", "; tsd fsck --hbase lists damage"},
        {now->n_unnamed, "row without names in the table of ids was",
         "rows without names in the table of ids were", "; tsd fsck --hbase lists damage"},
        {now->n_odd_keys, "row whose key belongs to no series was",
         "rows whose keys belong to no series were", "; tsd fsck --hbase lists damage"}};
    bool none = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].n) {
            none = false;
            tsd_say("%llu %s not copied%s", (unsigned long long)parts[i].n,
                    parts[i].n == 1 ? parts[i].one : parts[i].many, parts[i].why);
        }
    return none;
}

static int on_internal_row(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    (void)err;
    *(uint64_t *)arg += row->cells->n;
    return 0;
}

/* Points of rollups that the folder has. */
static int count_rollups(struct tsd_copy *c, uint64_t *out_n, struct ts_error *err)
{
    const struct qry_internal_metric *list;
    struct tsd_copy_reader counter = {.row = on_internal_row, .arg = out_n};
    struct ts_arena arena;
    size_t n;
    int rc = 0;
    ts_arena_init(&arena, 0);
    qry_internal_list(sto_store_catalog(c->store), TS_SLICE_LIT(""), &arena, &list, &n);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (list[i].parts.kind == STO_INTERNAL_ROLLUP && tsd_copy_has(c, list[i].parts.metric))
            rc = tsd_copy_read_folder(c, list[i].name, c->from_ms, c->to_ms, &counter, err);
    ts_arena_release(&arena);
    return rc;
}

/* --- all metrics --- */

static bool same_notes(const struct report *r)
{
    return r->hbase.n == r->folder.n && r->hbase.check == r->folder.check;
}

static void say_result(const struct tsd_copy *c, const struct report *r)
{
    char points[32], rate[32];
    double s = tsd_progress_s(&c->bar);
    uint64_t n_days = r->n_days[POINTS] + r->n_days[HISTOGRAMS];
    tsd_count_text(r->n[POINTS], points);
    tsd_count_text(s > 0 ? (uint64_t)((double)r->n[POINTS] / s) : 0, rate);
    tsd_say("compared %s point%s in %.2f s (%s points/s), and %llu histogram%s", points,
            ts_plural(r->n[POINTS]), s, rate, (unsigned long long)r->n[HISTOGRAMS],
            ts_plural(r->n[HISTOGRAMS]));
    if (!same_notes(r))
        tsd_say("annotations differ: HBase has %llu, %s has %llu", (unsigned long long)r->hbase.n, c->dir,
                (unsigned long long)r->folder.n);
    else
        tsd_say("%s%llu annotation%s the same on both sides", r->hbase.n == 1 ? "" : "all ",
                (unsigned long long)r->hbase.n, r->hbase.n == 1 ? " is" : "s are");
    if (r->n_different)
        tsd_say("%llu of %llu day%s of metrics differ%s", (unsigned long long)r->n_different,
                (unsigned long long)n_days, ts_plural(n_days), r->n_different == 1 ? "s" : "");
    else
        tsd_say("%s%llu day%s of %zu metric%s %s the same on both sides", n_days == 1 ? "" : "all ",
                (unsigned long long)n_days, ts_plural(n_days), c->n_names, ts_plural(c->n_names),
                n_days == 1 ? "is" : "are");
}

int tsd_copy_verify(struct tsd_copy *c, bool *out_same, struct ts_error *err)
{
    struct report r = {0};
    struct left_out left = {0};
    uint64_t n_rollups = 0;
    int rc = 0;
    *out_same = false;
    c->remote->ops->status(c->remote, on_counter, &left);
    c->n_points = 0;
    tsd_progress_begin(&c->bar, c->n_metrics * TSD_COPY_STEPS);
    for (c->at = 0; rc == 0 && c->at < c->n_metrics; c->at++)
        rc = compare_metric(c, &r, err);
    tsd_progress_clear(&c->bar);
    if (rc == 0)
        rc = tsd_print_end(err);
    if (rc == 0)
        rc = tsd_copy_notes_global(c, on_global, &r.hbase, err);
    if (rc == 0)
        rc = tsd_copy_notes_of_folder(c, &r.folder, err);
    if (rc == 0 && c->to_hbase && !c->set.opts.rollups)
        rc = count_rollups(c, &n_rollups, err);
    if (rc < 0)
        return rc;
    c->remote->ops->status(c->remote, on_counter, &left);
    say_result(c, &r);
    *out_same =
        r.n_different == 0 && same_notes(&r) && (c->to_hbase || say_left_out(c, &left)) && n_rollups == 0;
    if (n_rollups)
        tsd_say("%llu point%s of rollups %s not copied: rollups and rollups_config do not name the tables",
                (unsigned long long)n_rollups, ts_plural(n_rollups), n_rollups == 1 ? "was" : "were");
    return 0;
}

/* --- --dry-run --- */

/* A metric that would be copied. */
struct plan {
    struct tsd_copy_days days;
    uint64_t n_series, last_key, n_histograms;
};

static int on_plan_row(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    struct plan *p = arg;
    p->n_series += row->series.key != p->last_key;
    p->last_key = row->series.key;
    return tsd_copy_days_add(&p->days, row, err);
}

static int on_plan_bucket(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    struct plan *p = arg;
    (void)err;
    p->n_histograms += tsd_copy_is_every(row) ? row->cells->n : 0;
    return 0;
}

static int plan_out(struct tsd_copy *c, struct ts_slice metric, struct ts_buf *out, struct ts_error *err)
{
    struct plan p = {.days.memory = &c->memory, .last_key = STO_REMOTE_NO_KEY};
    struct tsd_copy_reader reader = {.row = on_plan_row, .bucket = on_plan_bucket, .arg = &p};
    uint64_t n_points = 0;
    int rc = tsd_copy_read_folder(c, metric, c->from_ms, c->to_ms, &reader, err);
    for (size_t i = 0; i < p.days.n; i++)
        n_points += p.days.list[i].n_points;
    if (rc == 0 && p.days.n) {
        tsd_copy_print_metric(metric, out);
        ts_buf_printf(out, "\t%llu series\t", (unsigned long long)p.n_series);
        print_day(p.days.list[0].day, out);
        ts_buf_str(out, " to ");
        print_day(p.days.list[p.days.n - 1].day, out);
        ts_buf_printf(out, "\t%zu day%s\t%llu point%s\n", p.days.n, ts_plural(p.days.n),
                      (unsigned long long)n_points, ts_plural(n_points));
    }
    if (rc == 0 && p.n_histograms)
        ts_buf_printf(out, "%.*s (histograms)\t%llu histogram%s\n", (int)metric.n, metric.p,
                      (unsigned long long)p.n_histograms, ts_plural(p.n_histograms));
    tsd_copy_days_release(&p.days);
    return rc;
}

static int on_plan_series(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    (void)row, (void)pos, (void)err;
    ++*(uint64_t *)arg;
    return 0;
}

static int find_last(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms, int64_t *out_day,
                     struct ts_error *err)
{
    int64_t lo = ts_floor_div(from_ms, TS_DAY_MS), hi = UINT32_MAX * 1000ll / TS_DAY_MS;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo + 1) / 2, mid_ms = mid * TS_DAY_MS;
        int rc = mid_ms > c->to_ms ? 0 : tsd_copy_any_hbase(c, metric, mid_ms, c->to_ms, err);
        if (rc < 0)
            return rc;
        if (rc)
            lo = mid;
        else
            hi = mid - 1;
    }
    *out_day = lo;
    return 0;
}

static int plan_in(struct tsd_copy *c, struct ts_slice metric, struct ts_buf *out, struct ts_error *err)
{
    int64_t first_ms, last_day = 0;
    uint64_t n_series = 0;
    int rc = tsd_copy_first_hbase(c, metric, c->from_ms, c->to_ms, &first_ms, err);
    if (rc != 1)
        return rc;
    TS_TRY(find_last(c, metric, first_ms, &last_day, err));
    struct sto_remote_call call = tsd_copy_call(c);
    struct sto_fetch f = {
        .metric = metric, .from_ms = first_ms, .to_ms = (last_day + 1) * TS_DAY_MS - 1, .series_only = true};
    f.to_ms = f.to_ms < c->to_ms ? f.to_ms : c->to_ms;
    TS_TRY(c->remote->ops->fetch(c->remote, &f, &call, on_plan_series, &n_series, err));
    tsd_copy_print_metric(metric, out);
    ts_buf_printf(out, "\t%llu series\t", (unsigned long long)n_series);
    print_day(ts_floor_div(first_ms, TS_DAY_MS), out);
    ts_buf_str(out, " to ");
    print_day(last_day, out);
    ts_buf_char(out, '\n');
    return 0;
}

int tsd_copy_plan(struct tsd_copy *c, struct ts_error *err)
{
    struct ts_buf out;
    int rc = 0;
    ts_buf_init(&out, 0);
    for (c->at = 0; rc == 0 && c->at < c->n_metrics; c->at++) {
        ts_buf_clear(&out);
        rc = (c->to_hbase ? plan_out : plan_in)(c, c->metrics[c->at], &out, err);
        if (rc == 0)
            rc = tsd_print(ts_buf_get(&out), err);
    }
    ts_buf_release(&out);
    return rc < 0 ? rc : tsd_print_end(err);
}
