/*
 * test_store_days.c - day summaries: they say what the points say, whatever else has rows, deletes or expires, in any zone; and they are
 * used, made again, and done without.
 */
#include "tests/unit/storage/windows_kit.h"

#include "storage/engine/files/sst_format.h"
#include "storage/fsck.h"
#include "tests/model/days.h"
#include "tests/unit/t_random.h"

#define N_DAYS 12

/* kit_series: even numbers are of m0, odd ones of m1; host=h<number> */

static void set_zone(const char *name)
{
    const struct ts_tz *zone;
    struct ts_error err = {0};
    if (ts_tz_open(ts_slice_str(name), &zone, &err) < 0)
        fail_msg("%s", err.text);
    ts_tz_set_default(zone);
}

static struct sto_store *open_days(struct t_faultfs *f)
{
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    opts.day_rows = 1;
    return kit_open(&opts);
}

static struct sto_store *begin(struct t_faultfs **out_f, const char *zone)
{
    *out_f = t_faultfs_new(1);
    clocks(T0, 1000);
    set_zone(zone);
    struct sto_store *st = open_days(*out_f);
    for (unsigned i = 0; i < N_SERIES; i++)
        (void)kit_series(st, i); /* so that their ids ascend */
    return st;
}

static void end(struct sto_store *st, struct t_faultfs *f)
{
    kit_close(st);
    t_faultfs_free(f);
    ts_tz_set_default(NULL);
}

/* What a scan has read. */
struct read {
    struct t_ref_point *p; /* next point of the reference, n are left */
    size_t n;
    unsigned n_days, n_hours, n_rows; /* rows by kind */
};

/* The next points of the reference are those of a summary. */
static void expect_summary(struct read *r, const struct sto_row *row)
{
    const struct sto_summary *sum = row->sum;
    int64_t start = row->key.hour * TS_HOUR_MS;
    assert_true(sum->n > 0 && sum->n <= r->n);
    assert_true(t_ref_sums_up(sum, start, r->p, sum->n));
    assert_true(r->p[sum->n - 1].ts_ms < start + row->n_hours * TS_HOUR_MS);
    r->p += sum->n;
    r->n -= sum->n;
}

static void expect_cells(struct read *r, const struct sto_row *row)
{
    for (uint32_t i = 0; i < row->cells->n; i++, r->p++, r->n--) {
        assert_true(r->n > 0);
        assert_int_equal(r->p->ts_ms, row->key.hour * TS_HOUR_MS + sto_meta_off(row->cells->meta[i]));
        assert_true(t_ref_same(r->p->value, sto_cell_num(row->cells->meta[i], row->cells->m[i])));
    }
}

/* The next points of the reference are those of a run. */
static void expect_run(struct read *r, const struct sto_run *run)
{
    for (size_t i = 0; i < run->n; i++) {
        struct sto_summary sum = {.n = (uint32_t)run->counts[i]};
        assert_true(run->counts[i] > 0 && (uint64_t)run->counts[i] <= r->n);
        assert_true(r->p[0].ts_ms >= run->keys[i].hour * TS_HOUR_MS);
        assert_true(i + 1 == run->n || r->p[sum.n - 1].ts_ms < run->keys[i + 1].hour * TS_HOUR_MS);
        assert_true(t_ref_adds_up(r->p, sum.n, run->is_int, run->sums[i]));
        r->p += sum.n;
        r->n -= sum.n;
    }
}

/* Read all series of a metric from..to by days, and compare everything with the reference. */
static struct read scan_days(struct sto_store *st, const struct t_ref *ref, unsigned metric, int64_t from,
                             int64_t to, bool runs)
{
    const struct sto_series *series[N_SERIES / 2];
    size_t n_hours = (size_t)(sto_hour(to) - sto_hour(from)) + 1, n = 0;
    uint8_t *days = t_days_of(from, to), *whole = ts_xmalloc(n_hours);
    struct read all = {0}, r = {0};
    struct ts_error err = {0};
    for (unsigned i = metric; i < N_SERIES; i += 2)
        series[n++] = kit_series(st, i);
    memset(whole, 1, n_hours);
    struct sto_scan_spec spec = {.metric = series[0]->metric,
                                 .series = series,
                                 .n_series = n,
                                 .from_ms = from,
                                 .to_ms = to,
                                 .whole_hours = whole,
                                 .days = days,
                                 .needs_sum = runs,
                                 .sums_only = runs,
                                 .final = true};
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_merge *scan;
    struct t_ref_point *want = NULL;
    size_t pos = SIZE_MAX;
    struct sto_row row;
    int rc;
    assert_int_equal(sto_scan(snap, &spec, &scan, &err), 0);
    while ((rc = sto_merge_next(scan, &row, &err)) == 1) {
        while (pos == SIZE_MAX || pos < row.pos) {
            assert_int_equal(r.n, 0); /* of the series before */
            ts_free(want);
            pos = pos == SIZE_MAX ? 0 : pos + 1;
            r.n = t_ref_scan(ref, metric + 2 * (unsigned)pos, from, to, &want);
            r.p = want;
        }
        all.n_days += row.n_hours > 1;
        all.n_hours += row.sum && row.n_hours == 1;
        all.n_rows += row.cells != NULL;
        if (row.run)
            expect_run(&r, row.run);
        else if (row.sum)
            expect_summary(&r, &row);
        else
            expect_cells(&r, &row);
    }
    if (rc < 0)
        fail_msg("%s", err.text);
    assert_int_equal(r.n, 0);
    assert_true(runs || sto_merge_counts(scan)->n_days == all.n_days);
    all.n_days = (unsigned)sto_merge_counts(scan)->n_days;
    for (pos = pos == SIZE_MAX ? 0 : pos + 1; pos < n; pos++) {
        ts_free(want);
        assert_int_equal(t_ref_scan(ref, metric + 2 * (unsigned)pos, from, to, &want), 0);
    }
    ts_free(want);
    sto_merge_free(scan);
    sto_snap_release(snap);
    ts_free(days);
    ts_free(whole);
    return all;
}

/* The same row by row, and as runs, which must have as many days. */
static struct read read_days(struct sto_store *st, const struct t_ref *ref, unsigned metric, int64_t from,
                             int64_t to)
{
    struct read rows = scan_days(st, ref, metric, from, to, false);
    assert_int_equal(scan_days(st, ref, metric, from, to, true).n_days, rows.n_days);
    return rows;
}

static void put(struct sto_store *st, struct t_ref *ref, unsigned series, int64_t ts_ms, struct ts_num v)
{
    assert_int_equal(sto_put(sto_writer(st, 0), kit_series(st, series), ts_ms, v, false), 0);
    t_ref_apply(ref, &(struct sto_point){.series = &t_handles[series],
                                         .ts_ms = ts_ms,
                                         .m = v.m,
                                         .flags = sto_meta_flags(STO_OP_PUT, v.kind, v.exp, false)});
}

static void delete (struct sto_store *st, struct t_ref *ref, unsigned series, int64_t from_ms, int64_t to_ms)
{
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, series), from_ms, to_ms), 0);
    t_ref_apply(ref, &(struct sto_point){.series = &t_handles[series],
                                         .ts_ms = from_ms,
                                         .m = to_ms,
                                         .flags = sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, true)});
}

static void merge(struct sto_store *st)
{
    struct ts_error err = {0};
    if (sto_store_pump_merges(st, &err) < 0)
        fail_msg("%s", err.text);
}

/* An hour's points of some days: series 0 and 1, integers and decimals. */
static void put_days(struct sto_store *st, struct t_ref *ref, int64_t from_ms, int n_days)
{
    for (int64_t h = 0; h < n_days * 24; h++)
        for (int k = 0; k < 30; k++) {
            int64_t t = from_ms + h * TS_HOUR_MS + k * 100000;
            put(st, ref, 0, t, (struct ts_num){.m = h * 100 + k});
            put(st, ref, 1, t, (struct ts_num){.m = 1000 - h * k, .kind = TS_NUM_DEC, .exp = 2});
        }
    sto_writer_turn(sto_writer(st, 0));
}

#define MIDNIGHT (T0 - 12 * TS_HOUR_MS) /* UTC */

/* --- tests --- */

/* Bytes of all sorted files. */
static uint64_t bytes_of(struct t_faultfs *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t_faultfs_count(f); i++) {
        size_t n = 0;
        if (!strstr(t_faultfs_path(f, i), "/files/"))
            continue;
        ts_free(t_faultfs_get(f, t_faultfs_path(f, i), &n));
        sum += n;
    }
    return sum;
}

static void test_store_days__whole_days_are_one_row(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f, "UTC");
    struct t_ref *ref = t_ref_new();
    put_days(st, ref, MIDNIGHT - 5 * DAY, 5);
    flush_to(st, STO_LEVEL_COMPACT);
    struct read r = read_days(st, ref, 0, MIDNIGHT - 5 * DAY, MIDNIGHT - 1);
    assert_int_equal(r.n_days, 5);
    assert_int_equal(r.n_hours + r.n_rows, 0);
    r = read_days(st, ref, 1, MIDNIGHT - 5 * DAY + 1, MIDNIGHT - 2); /* the edges by hours */
    assert_int_equal(r.n_days, 3);
    assert_int_equal(r.n_hours, 46);
    kit_close(st);
    st = open_days(f); /* they are there after a start */
    assert_int_equal(read_days(st, ref, 0, MIDNIGHT - 5 * DAY, MIDNIGHT - 1).n_days, 5);
    assert_int_equal(stat_of(st, "files.bytes"), bytes_of(f)); /* those of days count too */
    t_ref_free(ref);
    end(st, f);
}

/* Points elsewhere, and deletes, concern their day alone. */
static void test_store_days__other_sources_are_seen(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f, "UTC");
    struct t_ref *ref = t_ref_new();
    int64_t from = MIDNIGHT - 8 * DAY;
    put_days(st, ref, from, 8);
    flush_to(st, STO_LEVEL_COMPACT);
    put(st, ref, 0, from + DAY + 1000, (struct ts_num){.m = 7}); /* before all points of the day but one */
    put(st, ref, 0, from + 4 * DAY - 1000, (struct ts_num){.m = 8}); /* after all points of the day */
    delete (st, ref, 0, from + 5 * DAY + TS_HOUR_MS, from + 5 * DAY + 2 * TS_HOUR_MS);
    sto_writer_turn(sto_writer(st, 0));
    for (int k = 0; k < 2; k++) { /* from memory, from another file */
        struct read r = read_days(st, ref, 0, from, MIDNIGHT - 1);
        assert_int_equal(r.n_days, 5);
        assert_int_equal(read_days(st, ref, 1, from, MIDNIGHT - 1).n_days, 8);
        flush_to(st, STO_LEVEL_FILES);
    }
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(read_days(st, ref, 0, from, MIDNIGHT - 1).n_days, 8);
    t_ref_free(ref);
    end(st, f);
}

/* A day with integers and decimals has no summary; nor has a day whose hours are of another day in the zone. */
static void test_store_days__mixed_days_are_read(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f, "UTC");
    struct t_ref *ref = t_ref_new();
    int64_t from = MIDNIGHT - 4 * DAY;
    put_days(st, ref, from, 4);
    put(st, ref, 0, from + DAY + 23 * TS_HOUR_MS + 5000,
        (struct ts_num){.m = 15, .kind = TS_NUM_DEC, .exp = 1});
    put(st, ref, 2, from + DAY, (struct ts_num){.m = 1});
    put(st, ref, 2, from + DAY + TS_HOUR_MS, (struct ts_num){.m = 15, .kind = TS_NUM_DEC, .exp = 1});
    sto_writer_turn(sto_writer(st, 0));
    flush_to(st, STO_LEVEL_COMPACT);
    struct read r = read_days(st, ref, 0, from, MIDNIGHT - 1);
    assert_int_equal(r.n_days, 3);
    assert_int_equal(r.n_hours, 23 + 2);
    assert_int_equal(r.n_rows, 1);
    t_ref_free(ref);
    end(st, f);
}

/* Days are those of the zone, of 23 to 25 hours; another zone makes them again; one with half hours has none. */
static void test_store_days__zones(void **state)
{
    (void)state;
    static const struct {
        const char *zone;
        int64_t begins_ms;                                         /* of a day */
        int hours;                                                 /* of this day */
        bool half;                                                 /* days do not begin at whole hours */
    } cases[] = {{"Europe/Berlin", 1792879200000ll, 25, false},    /* 2026-10-25 */
                 {"Europe/Berlin", 1774738800000ll, 23, false},    /* 2026-03-29 */
                 {"America/New_York", 1793505600000ll, 25, false}, /* 2026-11-01 */
                 {"Asia/Kolkata", 1792866600000ll, 24, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct t_faultfs *f;
        struct sto_store *st = begin(&f, cases[i].zone);
        struct t_ref *ref = t_ref_new();
        int64_t from = cases[i].begins_ms, to = from + cases[i].hours * TS_HOUR_MS - 1;
        put_days(st, ref, (int64_t)sto_hour(from) * TS_HOUR_MS - DAY, 4);
        flush_to(st, STO_LEVEL_COMPACT);
        struct read r = read_days(st, ref, 0, from, to);
        assert_int_equal(r.n_days, !cases[i].half);
        if (!cases[i].half)
            assert_int_equal(r.n_hours + r.n_rows, 0);
        kit_close(st);
        set_zone("UTC");
        st = open_days(f);
        assert_int_equal(read_days(st, ref, 0, MIDNIGHT - 400 * DAY, MIDNIGHT + 30 * DAY - 1).n_days, 0);
        merge(st); /* makes those of this zone */
        assert_true(read_days(st, ref, 0, MIDNIGHT - 400 * DAY, MIDNIGHT + 30 * DAY - 1).n_days >= 3);
        t_ref_free(ref);
        end(st, f);
    }
}

/* Path of the first file of days; borrowed. */
static const char *days_file(struct t_faultfs *f)
{
    for (size_t i = 0; i < t_faultfs_count(f); i++) {
        size_t n = strlen(t_faultfs_path(f, i));
        if (n > 2 && strcmp(t_faultfs_path(f, i) + n - 2, ".d") == 0)
            return t_faultfs_path(f, i);
    }
    fail_msg("there is no file of days");
    return NULL;
}

/* Their file may be missing, cut off, or damaged anywhere: answers are the same. */
static void test_store_days__damage(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f, "UTC");
    struct t_ref *ref = t_ref_new();
    put_days(st, ref, MIDNIGHT - 3 * DAY, 3);
    flush_to(st, STO_LEVEL_COMPACT);
    size_t n = 0, n_worse = 0;
    const char *path = days_file(f);
    ts_free(t_faultfs_get(f, path, &n));
    assert_true(n > 200);
    kit_close(st);
    for (size_t off = 0; off < n; off += off % 7 + 1) {
        t_faultfs_flip(f, path, off, (uint8_t)(1u << off % 8));
        st = open_days(f);
        struct read r = read_days(st, ref, 1, MIDNIGHT - 3 * DAY, MIDNIGHT - 1);
        assert_true(r.n_days <= 3);
        n_worse += r.n_days < 3;
        t_faultfs_flip(f, path, off, (uint8_t)(1u << off % 8));
        kit_close(st);
    }
    assert_true(n_worse > 40);
    t_faultfs_flip(f, path, n / 3, 1); /* in a block: found when it is read */
    st = open_days(f);
    (void)read_days(st, ref, 1, MIDNIGHT - 3 * DAY, MIDNIGHT - 1);
    merge(st);
    kit_close(st);
    st = open_days(f);
    merge(st); /* made again */
    assert_int_equal(read_days(st, ref, 1, MIDNIGHT - 3 * DAY, MIDNIGHT - 1).n_days, 3);
    t_ref_free(ref);
    end(st, f);
}

/* While the disk is full none are made; they are once there is space again. */
static void test_store_days__full_disk(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f, "UTC");
    struct t_ref *ref = t_ref_new();
    put_days(st, ref, MIDNIGHT - 3 * DAY, 3);
    flush_to(st, STO_LEVEL_COMPACT);
    kit_close(st);
    set_zone("Europe/Berlin"); /* so that they are to be made again */
    st = open_days(f);
    t_faultfs_set_capacity(f, 1);
    merge(st);
    assert_int_equal(read_days(st, ref, 1, MIDNIGHT - 4 * DAY, MIDNIGHT + DAY - 1).n_days, 0);
    t_faultfs_set_capacity(f, 0);
    merge(st);
    assert_true(read_days(st, ref, 1, MIDNIGHT - 4 * DAY, MIDNIGHT + DAY - 1).n_days >= 3);
    t_ref_free(ref);
    end(st, f);
}

/* A day that has begun to expire is read by its hours: with a rule, whose time differs from series to series, and with one for all. */
static void test_store_days__expired_hours_are_left_out(void **state)
{
    (void)state;
    for (int with_rule = 0; with_rule < 2; with_rule++) {
        struct t_faultfs *f;
        struct sto_store *st = begin(&f, "UTC");
        struct t_ref *ref = t_ref_new();
        put_days(st, ref, MIDNIGHT - 3 * DAY, 3);
        flush_to(st, STO_LEVEL_COMPACT);
        kit_close(st);
        clocks(T0 + TS_HOUR_MS / 2, 2000);
        struct sto_opts opts = KIT_OPTS(f, 1);
        opts.own_threads = false;
        opts.pumped = true;
        opts.retention_ms = with_rule ? 0 : 60 * TS_HOUR_MS;
        opts.retention_rules = with_rule ? "m0 points=60h" : NULL;
        st = kit_open(&opts); /* what is half an hour into the second day, or older, has expired */
        t_ref_apply(ref, &(struct sto_point){.series = &t_handles[0],
                                             .ts_ms = MIDNIGHT - 9 * DAY,
                                             .m = MIDNIGHT - 2 * DAY + TS_HOUR_MS / 2 - 1,
                                             .flags = sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, true)});
        struct read r = read_days(st, ref, 0, MIDNIGHT - 3 * DAY, MIDNIGHT - 1);
        assert_int_equal(r.n_days, 1);
        assert_int_equal(r.n_hours, 23);
        assert_int_equal(r.n_rows, 1);
        t_ref_free(ref);
        end(st, f);
    }
}

static struct sto_fsck_result check(struct t_faultfs *f, bool repair)
{
    struct sto_fsck_opts opts = {.fs = t_faultfs_fs(f), .dir = "/db", .repair = repair};
    struct sto_fsck_result found;
    struct ts_error err = {0};
    if (sto_fsck(&opts, &found, &err) < 0)
        fail_msg("%s", err.text);
    return found;
}

/* A store with one file, whose first point has this value. */
static struct sto_store *one_file(struct t_faultfs **f, struct t_ref *ref, const char *zone, int64_t m)
{
    struct sto_store *st = begin(f, zone);
    put(st, ref, 1, MIDNIGHT - 3 * DAY, (struct ts_num){.m = m});
    for (int i = 1; i < 70; i++)
        put(st, ref, 1, MIDNIGHT - 3 * DAY + i * TS_HOUR_MS, (struct ts_num){.m = i});
    sto_writer_turn(sto_writer(st, 0));
    flush_to(st, STO_LEVEL_COMPACT);
    return st;
}

/* Put the file of days of another store, which differs in nothing but its values, in place of that of f. As its own: with what identifies the rows of f. */
static void take_days(struct t_faultfs *f, struct t_faultfs *other, bool as_own)
{
    size_t n, n_own;
    struct sto_sst_footer foot, own_foot;
    struct ts_error err = {0};
    const char *path = days_file(f);
    assert_string_equal(path, days_file(other));
    uint8_t *bytes = t_faultfs_get(other, path, &n), *own = t_faultfs_get(f, path, &n_own);
    uint8_t *end = bytes + n - STO_SST_FOOTER_BYTES;
    assert_int_equal(sto_sst__get_footer(end, n, path, &foot, &err), 0);
    assert_int_equal(sto_sst__get_footer(own + n_own - STO_SST_FOOTER_BYTES, n_own, path, &own_foot, &err),
                     0);
    size_t n_zone = foot.index_off - foot.bitmap_off;
    assert_int_equal(n_zone, own_foot.index_off - own_foot.bitmap_off);
    if (as_own) {
        memcpy(bytes + foot.bitmap_off, own + own_foot.bitmap_off, n_zone);
        foot.bitmap_crc = own_foot.bitmap_crc;
        sto_sst__put_footer(&foot, end);
    }
    t_faultfs_put(f, path, bytes, n);
    ts_free(bytes);
    ts_free(own);
}

/* Day summaries of other rows are not used, even if number, generations and counts are the same: a folder may have been copied over another one. */
static void test_store_days__of_another_store(void **state)
{
    (void)state;
    struct t_faultfs *f, *other;
    struct t_ref *ref = t_ref_new(), *wrong = t_ref_new();
    kit_close(one_file(&other, wrong, "UTC", 5));
    kit_close(one_file(&f, ref, "UTC", 4));
    take_days(f, other, false);
    struct sto_store *st = open_days(f);
    assert_int_equal(read_days(st, ref, 1, MIDNIGHT - 3 * DAY, MIDNIGHT - 1).n_days, 0);
    merge(st);
    assert_int_equal(read_days(st, ref, 1, MIDNIGHT - 3 * DAY, MIDNIGHT - 1).n_days, 3);
    t_ref_free(ref);
    t_ref_free(wrong);
    t_faultfs_free(other);
    end(st, f);
}

/* fsck, which does not know the zone of the daemon, compares them with the points, and a repair removes wrong ones. */
static void test_store_days__fsck(void **state)
{
    (void)state;
    static const char *const zones[] = {"UTC", "Europe/Berlin"};
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        struct t_faultfs *f, *other;
        struct t_ref *ref = t_ref_new(), *wrong = t_ref_new();
        kit_close(one_file(&other, wrong, zones[i], 5));
        kit_close(one_file(&f, ref, zones[i], 4));
        ts_tz_set_default(NULL);
        const struct ts_tz *none = ts_tz_default();
        assert_int_equal(check(f, false).n_damage, 0);
        take_days(f, other, true);
        assert_int_equal(check(f, false).n_damage, 1);
        assert_ptr_equal(ts_tz_default(), none);
        assert_int_equal(check(f, true).n_left, 0);
        assert_int_equal(check(f, false).n_damage, 0);
        set_zone(zones[i]);
        struct sto_store *st = open_days(f);
        merge(st);
        assert_true(read_days(st, ref, 1, MIDNIGHT - 4 * DAY, MIDNIGHT + DAY - 1).n_days >= 3);
        t_ref_free(ref);
        t_ref_free(wrong);
        t_faultfs_free(other);
        end(st, f);
    }
}

static uint64_t below(uint64_t *rnd, uint64_t n)
{
    return t_random(rnd) % n;
}

/* Random points, deletes, flushes and merges: whatever range is read. */
static void random_life(uint64_t seed)
{
    static const char *const zones[] = {"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"};
    uint64_t rnd = seed;
    for (int i = 0; i < 8; i++)
        (void)t_random(&rnd); /* the first ones of small seeds are alike */
    struct t_faultfs *f;
    struct sto_store *st = begin(&f, zones[seed % 4]);
    struct t_ref *ref = t_ref_new();
    unsigned n_days = 0;
    for (int step = 0; step < 60; step++) {
        int64_t at = T0 - (int64_t)below(&rnd, N_DAYS * 24) * TS_HOUR_MS;
        unsigned series = (unsigned)below(&rnd, N_SERIES);
        switch (below(&rnd, 8)) {
        case 0:
            delete (st, ref, series, at, at + (int64_t)below(&rnd, 30 * TS_HOUR_MS));
            break;
        case 1:
            flush_to(st, STO_LEVEL_FILES);
            break;
        case 2:
            flush_to(st, STO_LEVEL_COMPACT);
            break;
        case 3:
            sto_writer_turn(sto_writer(st, 0));
            merge(st);
            break;
        default:
            for (uint64_t k = below(&rnd, 200); k-- > 0;)
                put(st, ref, series, at + (int64_t)below(&rnd, 40 * 3600) * 1000,
                    (struct ts_num){.m = (int64_t)below(&rnd, 1000),
                                    .kind = series > 2 && below(&rnd, 100) ? TS_NUM_DEC : TS_NUM_INT,
                                    .exp = 0});
        }
        sto_writer_turn(sto_writer(st, 0));
        int64_t from = MIDNIGHT - (int64_t)below(&rnd, (N_DAYS + 2) * 24) * TS_HOUR_MS;
        int64_t to = from + (int64_t)below(&rnd, N_DAYS * 24) * TS_HOUR_MS + TS_HOUR_MS - 1;
        for (unsigned m = 0; m < 2; m++) {
            n_days += read_days(st, ref, m, from, to).n_days;
            n_days += read_days(st, ref, m, MIDNIGHT - (N_DAYS + 2) * DAY, MIDNIGHT + 3 * DAY - 1).n_days;
        }
    }
    assert_true(n_days > 0 || seed % 4 == 3);
    t_ref_free(ref);
    end(st, f);
}

static void test_store_days__random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        random_life(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(test_store_days__whole_days_are_one_row),
                                       CASE(test_store_days__other_sources_are_seen),
                                       CASE(test_store_days__mixed_days_are_read),
                                       CASE(test_store_days__zones),
                                       CASE(test_store_days__damage),
                                       CASE(test_store_days__full_disk),
                                       CASE(test_store_days__expired_hours_are_left_out),
                                       CASE(test_store_days__of_another_store),
                                       CASE(test_store_days__fsck),
                                       CASE(test_store_days__random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
