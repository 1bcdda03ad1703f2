/*
 * test_store_quota.c - a store with max_bytes keeps within it, the newest points are all there, nothing older than the cutoff is in an answer, and no
 * crash changes that.
 */
#include "tests/unit/storage/windows_kit.h"

#include "storage/fsck.h"
#include "storage/max_bytes.h"
#include "storage/quota.h"
#include "storage/store_int.h"
#include "tests/unit/t_random.h"

#define MEMSTORE (64u << 10)
#define LIMIT    (400u << 10)
#define A_DAY    600 /* points */

/* What was put. */
struct put {
    int64_t ts_ms, v;
};
struct life {
    struct t_faultfs *f;
    struct sto_store *st;
    struct put *puts;
    size_t n;
    uint64_t x;
};

static struct sto_store *open_limited(struct t_faultfs *f, uint64_t max_bytes, int64_t grace_ms)
{
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    opts.memstore_bytes = MEMSTORE;
    opts.max_bytes = max_bytes;
    opts.max_bytes_grace_ms = grace_ms;
    return kit_open(&opts);
}

static void begin(struct life *l, uint64_t max_bytes, int64_t grace_ms)
{
    *l = (struct life){.f = t_faultfs_new(1), .x = 99, .puts = ts_xcalloc(200 * A_DAY, sizeof *l->puts)};
    clocks(T0, 1000);
    l->st = open_limited(l->f, max_bytes, grace_ms);
}

static void end(struct life *l)
{
    kit_close(l->st);
    t_faultfs_free(l->f);
    ts_free(l->puts);
}

/* Let d days have passed since T0, and put points of the last one. */
static void a_day(struct life *l, int64_t d)
{
    clocks(T0 + d * DAY, 1000 + d * DAY);
    for (int64_t k = 0; k < A_DAY; k++) {
        struct put p = {T0 + (d - 1) * DAY + k * (DAY / A_DAY), (int64_t)(t_random(&l->x) >> 8)};
        put_at(l->st, 0, p.ts_ms, p.v);
        l->puts[l->n++] = p;
    }
    flush_to(l->st, STO_LEVEL_FILES);
}

static void merge(struct life *l)
{
    struct ts_error err = {0};
    if (sto_store_pump_merges(l->st, &err) < 0)
        fail_msg("merges: %s", err.text);
}

static struct seen wanted(const struct life *l, int64_t from_ms)
{
    struct seen w = {0, 0};
    for (size_t i = 0; i < l->n; i++)
        if (l->puts[i].ts_ms >= from_ms) {
            w.n++;
            w.sum += (uint64_t)l->puts[i].v;
        }
    return w;
}

static struct sto_max_bytes look(struct sto_store *st)
{
    struct sto_max_bytes m;
    struct ts_error err = {0};
    if (sto_max_bytes(st, &(struct sto_max_bytes_call){.what = STO_MAX_BYTES_LIST, .explain = true}, &m,
                      &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

static int set(struct sto_store *st, uint64_t max_bytes)
{
    struct sto_max_bytes m;
    return sto_max_bytes(st, &(struct sto_max_bytes_call){.what = STO_MAX_BYTES_SET, .max_bytes = max_bytes},
                         &m, NULL);
}

/* All points from the cutoff on are there, and no others. */
static void expect(struct life *l, int64_t cutoff_ms)
{
    struct seen is = seen(l->st, 0), w = wanted(l, cutoff_ms);
    assert_int_equal(is.n, w.n);
    assert_true(is.sum == w.sum);
}

static void test_store_quota__a_store_keeps_within_its_limit(void **state)
{
    (void)state;
    struct life l;
    begin(&l, LIMIT, 0);
    int64_t last_ms = STO_MIN_TS_MS;
    for (int64_t d = 1; d <= 150; d++) {
        a_day(&l, d);
        merge(&l);
        struct sto_max_bytes m = look(l.st);
        assert_true(m.cutoff_ms >= last_ms);
        assert_true(m.bytes - m.pending_bytes <= LIMIT);
        expect(&l, m.cutoff_ms);
        clocks(T0 + d * DAY + 120000, 1000 + d * DAY + 120000);
        merge(&l); /* what was cut through is written again */
        assert_true(look(l.st).bytes <= LIMIT);
        expect(&l, look(l.st).cutoff_ms);
        last_ms = m.cutoff_ms;
    }
    assert_true(last_ms > T0 + 50 * DAY && last_ms < T0 + 130 * DAY); /* it uses its room */
    assert_true(look(l.st).bytes > LIMIT / 32 * 24);
    assert_int_equal(stat_of(l.st, "quota.max_bytes"), LIMIT);
    assert_true(stat_of(l.st, "quota.cutoffs") > 3);
    end(&l);
}

/* What the limit has hidden does not come back: not after a restart, not when the clock is wrong, not with a higher limit. */
static void test_store_quota__the_cutoff_outlives_the_store(void **state)
{
    (void)state;
    struct life l;
    begin(&l, LIMIT, 0);
    for (int64_t d = 1; d <= 100; d++) {
        a_day(&l, d);
        merge(&l);
    }
    int64_t cutoff_ms = look(l.st).cutoff_ms;
    assert_true(cutoff_ms > T0);
    kit_close(l.st);
    l.st = open_limited(l.f, 10 * LIMIT, 0);
    assert_int_equal(look(l.st).cutoff_ms, cutoff_ms);
    put_at(l.st, 0, cutoff_ms - 1, 1); /* as a writer does that has not looked at the limit yet */
    put_at(l.st, 0, T0 - 50 * DAY, 1);
    flush_to(l.st, STO_LEVEL_FILES);
    expect(&l, cutoff_ms);
    merge(&l);
    expect(&l, cutoff_ms);
    clocks(T0 - 500 * DAY, 1000);
    merge(&l);
    expect(&l, cutoff_ms);
    end(&l);
}

static void test_store_quota__a_series_that_is_gone_is_forgotten_and_rules_hold_too(void **state)
{
    (void)state;
    struct life l;
    begin(&l, LIMIT, 0);
    const struct sto_retain_call rule = {
        .what = STO_RETAIN_ADD, .text = TS_SLICE_LIT("m1 points=forever; m0 points=5000d"), .at = SIZE_MAX};
    assert_int_equal(sto_retain(l.st, &rule, NULL), 0);
    put_at(l.st, 1, T0, 1); /* a rule keeps it for ever, and the limit comes before rules */
    put_at(l.st, 1, T0 + 150 * DAY, 2);
    for (int64_t d = 1; d <= 150; d++) {
        a_day(&l, d);
        merge(&l);
    }
    assert_true(look(l.st).cutoff_ms > T0);
    expect(&l, look(l.st).cutoff_ms);
    assert_int_equal(seen(l.st, 1).n, 1);
    end(&l);
}

static void test_store_quota__nothing_goes_before_the_grace_is_over(void **state)
{
    (void)state;
    struct life l;
    begin(&l, 0, 600000);
    for (int64_t d = 1; d <= 100; d++)
        a_day(&l, d);
    merge(&l);
    expect(&l, STO_MIN_TS_MS);
    assert_int_equal(set(l.st, LIMIT), 0);
    struct sto_max_bytes m = look(l.st);
    assert_int_equal(m.held_ms, 600000);
    assert_true(m.is_set && m.next_ms > T0 && m.freed_bytes > 0);
    merge(&l);
    clocks(T0 + 100 * DAY + 599999, 1000 + 100 * DAY + 599999);
    merge(&l);
    expect(&l, STO_MIN_TS_MS);
    assert_int_equal(set(l.st, 10 * LIMIT), 0); /* the mistake is corrected */
    clocks(T0 + 100 * DAY + 700000, 1000 + 100 * DAY + 700000);
    merge(&l);
    expect(&l, STO_MIN_TS_MS);
    assert_int_equal(set(l.st, LIMIT), 0); /* lower again: the grace begins again */
    merge(&l);
    expect(&l, STO_MIN_TS_MS);
    kit_close(l.st); /* and it does at a start */
    clocks(T0 + 100 * DAY + 1400000, 1000 + 100 * DAY + 1400000);
    l.st = open_limited(l.f, 0, 600000);
    assert_int_equal(look(l.st).max_bytes, LIMIT); /* it was set by a command */
    merge(&l);
    expect(&l, STO_MIN_TS_MS);
    clocks(T0 + 100 * DAY + 2000000, 1000 + 100 * DAY + 2000000);
    merge(&l);
    m = look(l.st);
    assert_true(m.cutoff_ms > T0);
    expect(&l, m.cutoff_ms);
    end(&l);
}

static void test_store_quota__without_a_limit_old_points_are_taken_again(void **state)
{
    (void)state;
    struct life l;
    begin(&l, LIMIT, 0);
    for (int64_t d = 1; d <= 100; d++) {
        a_day(&l, d);
        merge(&l);
    }
    int64_t cutoff_ms = look(l.st).cutoff_ms;
    /* hidden: in a file that the cutoff of the manifest does not concern yet, and in memory */
    put_at(l.st, 0, T0 + DAY, 5);
    flush_to(l.st, STO_LEVEL_FILES);
    put_at(l.st, 0, T0 + 3 * DAY, 6);
    sto_writer_turn(sto_writer(l.st, 0));
    expect(&l, cutoff_ms);
    assert_int_equal(set(l.st, 0), 0);
    for (int i = 0; i < 3; i++) {
        merge(&l);
        expect(&l, cutoff_ms); /* nothing reappears */
    }
    assert_int_equal(look(l.st).cutoff_ms, STO_MIN_TS_MS);
    put_at(l.st, 0, T0 + 2 * DAY, 7);
    flush_to(l.st, STO_LEVEL_FILES);
    assert_int_equal(seen(l.st, 0).n, wanted(&l, cutoff_ms).n + 1);
    flush_to(l.st, STO_LEVEL_COMPACT);
    assert_int_equal(seen(l.st, 0).n, wanted(&l, cutoff_ms).n + 1);
    kit_close(l.st);
    l.st = open_limited(l.f, LIMIT, 0);
    assert_int_equal(look(l.st).max_bytes, 0); /* none, whatever the configuration says */
    struct sto_max_bytes m;
    assert_int_equal(sto_max_bytes(l.st, &(struct sto_max_bytes_call){.what = STO_MAX_BYTES_CONF}, &m, NULL),
                     0);
    assert_int_equal(m.max_bytes, LIMIT);
    assert_false(m.is_set);
    end(&l);
}

static void test_store_quota__what_cannot_be_kept_is_refused(void **state)
{
    (void)state;
    struct life l;
    struct ts_error err = {0};
    struct sto_max_bytes m;
    struct sto_store *st = NULL;
    begin(&l, 0, 0);
    struct sto_max_bytes_call call = {.what = STO_MAX_BYTES_SET, .max_bytes = 2 * MEMSTORE - 1};
    assert_int_equal(sto_max_bytes(l.st, &call, &m, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "memstore_bytes"));
    call.max_bytes++;
    call.dry_run = true;
    assert_int_equal(sto_max_bytes(l.st, &call, &m, NULL), 0);
    assert_int_equal(m.max_bytes, 2 * MEMSTORE);
    assert_int_equal(look(l.st).max_bytes, 0);
    kit_close(l.st);
    struct sto_opts opts = KIT_OPTS(l.f, 1);
    opts.memstore_bytes = MEMSTORE;
    opts.max_bytes = 1000;
    assert_int_equal(sto_open(&opts, &st, &err), TS_EINVAL);
    l.st = open_limited(l.f, 0, 0);
    end(&l);
}

/* What is put now stays: of points that are all of the last two hours, those of the last full one are not cut off. */
static void test_store_quota__the_last_hour_stays(void **state)
{
    (void)state;
    struct life l;
    enum { N = 60000 };
    begin(&l, 2 * MEMSTORE, 0);
    for (int64_t k = 0; k < N; k++)
        put_at(l.st, 0, T0 - 2 * TS_HOUR_MS + k * (2 * TS_HOUR_MS / N), (int64_t)(t_random(&l.x) >> 8));
    flush_to(l.st, STO_LEVEL_FILES);
    assert_true(look(l.st).bytes > 3 * MEMSTORE);
    merge(&l);
    assert_int_equal(look(l.st).cutoff_ms, (int64_t)sto_hour(T0 - TS_HOUR_MS) * TS_HOUR_MS);
    end(&l);
}

/* Points that are in the log alone count. */
static void test_store_quota__the_log_counts(void **state)
{
    (void)state;
    struct life l;
    begin(&l, 0, 0);
    uint64_t bytes = look(l.st).bytes;
    for (int64_t k = 0; k < 500; k++)
        put_at(l.st, 0, T0 - k * 1000, (int64_t)(t_random(&l.x) >> 8));
    flush_to(l.st, STO_LEVEL_LOG);
    assert_true(look(l.st).bytes >= bytes + 500 * sizeof(int64_t));
    end(&l);
}

static void test_store_quota__a_damaged_file_is_noticed(void **state)
{
    (void)state;
    struct life l;
    struct ts_error err = {0};
    struct sto_store *st = NULL;
    begin(&l, LIMIT, 0);
    for (int64_t d = 1; d <= 100; d++) {
        a_day(&l, d);
        merge(&l);
    }
    kit_close(l.st);
    assert_true(t_faultfs_flip(l.f, "/db/QUOTA", 26, 1));
    struct sto_opts opts = KIT_OPTS(l.f, 1);
    assert_int_equal(sto_open(&opts, &st, &err), TS_ECORRUPT);
    struct sto_fsck_result result;
    struct sto_fsck_opts check = {.fs = t_faultfs_fs(l.f), .dir = "/db", .repair = true};
    assert_int_equal(sto_fsck(&check, &result, &err), 0);
    assert_int_equal(result.n_damage, 1);
    l.st = open_limited(l.f, LIMIT, 0);
    assert_int_equal(look(l.st).cutoff_ms, STO_MIN_TS_MS);
    merge(&l); /* what is gone is gone, and what is there is within the limit */
    assert_true(look(l.st).bytes <= LIMIT);
    end(&l);
}

/* A file of a later version, of whatever length, is not damaged: a repair must not set it aside. */
static void test_store_quota__a_later_version_is_not_damage(void **state)
{
    (void)state;
    static const size_t lengths[] = {20, 48, 300};
    struct life l;
    struct sto_quota_file file;
    begin(&l, LIMIT, 0);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint8_t *b = ts_xcalloc(lengths[i], 1);
        struct ts_error err = {0};
        memcpy(b, "TSDQUOTA\3", 9);
        t_faultfs_put(l.f, "/db/QUOTA", b, lengths[i]);
        assert_int_equal(sto_quota_read(t_faultfs_fs(l.f), "/db", &file, &err), TS_EVERSION);
        b[8] = 1;
        t_faultfs_put(l.f, "/db/QUOTA", b, lengths[i]);
        assert_int_equal(sto_quota_read(t_faultfs_fs(l.f), "/db", &file, &err), TS_ECORRUPT);
        ts_free(b);
    }
    end(&l);
}

/* Somebody raises or removes the limit while a cutoff is chosen for the former one: it is not taken. */
static void test_store_quota__a_cutoff_is_that_of_its_limit(void **state)
{
    (void)state;
    struct life l;
    struct sto_quota q;
    struct ts_error err = {0};
    begin(&l, 0, 0);
    assert_int_equal(sto_quota_open(&q, t_faultfs_fs(l.f), "/db", 0, 0, &err), 0);
    assert_int_equal(sto_quota_set(&q, true, 2000, &err), 0);
    assert_int_equal(sto_quota_raise(&q, T0, T0, 1000, &err), 0);
    assert_int_equal(sto_quota_cutoff_ms(&q), STO_MIN_TS_MS);
    assert_int_equal(sto_quota_raise(&q, T0, T0, 2000, &err), 1);
    assert_int_equal(sto_quota_raise(&q, T0 - DAY, T0 - DAY, 2000, &err), 0);
    assert_int_equal(sto_quota_cutoff_ms(&q), T0);
    assert_int_equal(sto_quota_clear(&q, &err), 0); /* there is a limit again: it stays */
    assert_int_equal(sto_quota_cutoff_ms(&q), T0);
    assert_int_equal(sto_quota_set(&q, true, 0, &err), 0);
    assert_int_equal(sto_quota_raise(&q, T0 + DAY, T0 + DAY, 2000, &err), 0);
    assert_int_equal(sto_quota_cutoff_ms(&q), T0);
    assert_int_equal(sto_quota_points_ms(&q), T0);
    assert_int_equal(sto_quota_clear(&q, &err), 0);
    assert_int_equal(sto_quota_cutoff_ms(&q), STO_MIN_TS_MS);
    sto_quota_close(&q);
    end(&l);
}

/* Points may be cut off before summaries, never after them; a file that has one cutoff is one that older programs read. */
static void test_store_quota__points_have_a_cutoff_of_their_own(void **state)
{
    (void)state;
    struct life l;
    struct sto_quota q;
    struct sto_quota_file file;
    struct ts_error err = {0};
    begin(&l, 0, 0);
    for (int k = 0; k < 3; k++) {
        static const int64_t points_ms[] = {T0, T0 + DAY, T0},
                             cutoff_ms[] = {T0, STO_MIN_TS_MS, T0 + 2 * DAY},
                             is_points_ms[] = {T0, T0 + DAY, T0 + 2 * DAY}, is_ms[] = {T0, T0, T0 + 2 * DAY};
        assert_int_equal(sto_quota_open(&q, t_faultfs_fs(l.f), "/db", 2000, 0, &err), 0);
        uint64_t n = sto_quota_n_changes(&q);
        assert_int_equal(sto_quota_raise(&q, points_ms[k], cutoff_ms[k], 2000, &err), 1);
        assert_int_equal(sto_quota_n_changes(&q), n + 1);
        assert_int_equal(sto_quota_raise(&q, points_ms[k], cutoff_ms[k], 2000, &err), 0);
        assert_int_equal(sto_quota_points_ms(&q), is_points_ms[k]);
        assert_int_equal(sto_quota_cutoff_ms(&q), is_ms[k]);
        sto_quota_close(&q);
        assert_int_equal(sto_quota_read(t_faultfs_fs(l.f), "/db", &file, &err), 1);
        assert_int_equal(file.points_ms, is_points_ms[k]);
        assert_int_equal(file.cutoff_ms, is_ms[k]);
        size_t size;
        uint8_t *b = t_faultfs_get(l.f, "/db/QUOTA", &size);
        assert_int_equal(b[8], k == 1 ? 2 : 1);
        assert_int_equal(size, k == 1 ? 44 : 36);
        ts_free(b);
    }
    end(&l);
}

/* The power goes at each write while points are removed: afterwards the cutoff is the former one or the new one, and answers are those of the
 * cutoff. */
static void test_store_quota__no_crash_brings_anything_back(void **state)
{
    (void)state;
    struct life l;
    begin(&l, 0, 0);
    for (int64_t d = 1; d <= 100; d++)
        a_day(&l, d);
    merge(&l);
    assert_int_equal(set(l.st, LIMIT), 0);
    kit_close(l.st);
    struct t_faultfs *whole = l.f;
    unsigned n_old = 0, n_new = 0;
    bool fired = true;
    for (uint64_t at = 1; fired; at++) {
        l.f = t_faultfs_clone(whole, at);
        l.st = open_limited(l.f, 0, 0);
        t_faultfs_plan(l.f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
        (void)sto_store_pump_merges(l.st, NULL);
        fired = t_faultfs_fired(l.f);
        (void)sto_close(l.st, NULL);
        t_faultfs_reboot(l.f, T_KEEP_RANDOM);
        l.st = open_limited(l.f, 0, 0);
        int64_t cutoff_ms = look(l.st).cutoff_ms;
        expect(&l, cutoff_ms);
        n_old += cutoff_ms == STO_MIN_TS_MS;
        n_new += cutoff_ms > T0;
        merge(&l);
        clocks(T0 + 100 * DAY + 120000, 1000 + 100 * DAY + 120000);
        merge(&l);
        assert_true(look(l.st).cutoff_ms > T0 && look(l.st).bytes <= LIMIT);
        expect(&l, look(l.st).cutoff_ms);
        kit_close(l.st);
        t_faultfs_free(l.f);
        clocks(T0 + 100 * DAY, 1000 + 100 * DAY);
    }
    assert_true(n_old > 1 && n_new > 5);
    l.f = whole;
    l.st = open_limited(l.f, 0, 0);
    end(&l);
}

/* The power goes at each write after the limit was removed: what it had cut off stays away, in files and in memory, and then there is no cutoff any
 * more. */
static void test_store_quota__no_crash_brings_anything_back_without_a_limit(void **state)
{
    (void)state;
    struct life l;
    begin(&l, LIMIT, 0);
    for (int64_t d = 1; d <= 100; d++) {
        a_day(&l, d);
        merge(&l);
    }
    int64_t cutoff_ms = look(l.st).cutoff_ms;
    assert_true(cutoff_ms > T0);
    put_at(l.st, 0, T0 + DAY, 5); /* beyond the cutoff, as those that were on their way when it rose */
    flush_to(l.st, STO_LEVEL_FILES);
    put_at(l.st, 0, T0 + 3 * DAY, 6);
    assert_int_equal(set(l.st, 0), 0);
    flush_to(l.st, STO_LEVEL_LOG);
    kit_close(l.st);
    struct t_faultfs *whole = l.f;
    unsigned n_old = 0, n_new = 0;
    bool fired = true;
    for (uint64_t at = 1; fired; at++) {
        l.f = t_faultfs_clone(whole, at);
        l.st = open_limited(l.f, 0, 0);
        t_faultfs_plan(l.f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
        for (int i = 0; i < 3; i++)
            (void)sto_store_pump_merges(l.st, NULL);
        fired = t_faultfs_fired(l.f);
        (void)sto_close(l.st, NULL);
        t_faultfs_reboot(l.f, T_KEEP_RANDOM);
        l.st = open_limited(l.f, 0, 0);
        int64_t is_ms = look(l.st).cutoff_ms;
        assert_true(is_ms == cutoff_ms || is_ms == STO_MIN_TS_MS);
        n_old += is_ms == cutoff_ms;
        n_new += is_ms == STO_MIN_TS_MS;
        for (int i = 0; i < 3; i++) {
            expect(&l, cutoff_ms);
            merge(&l);
        }
        expect(&l, cutoff_ms);
        assert_int_equal(look(l.st).cutoff_ms, STO_MIN_TS_MS);
        put_at(l.st, 0, T0 + 2 * DAY, 7);
        flush_to(l.st, STO_LEVEL_COMPACT);
        assert_int_equal(seen(l.st, 0).n, wanted(&l, cutoff_ms).n + 1);
        kit_close(l.st);
        t_faultfs_free(l.f);
    }
    assert_true(n_old > 5 && n_new > 0);
    l.f = whole;
    l.st = open_limited(l.f, 0, 0);
    end(&l);
}

int main(void)
{
    ts_log_set_level(TS_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        CASE(test_store_quota__a_store_keeps_within_its_limit),
        CASE(test_store_quota__the_cutoff_outlives_the_store),
        CASE(test_store_quota__a_series_that_is_gone_is_forgotten_and_rules_hold_too),
        CASE(test_store_quota__nothing_goes_before_the_grace_is_over),
        CASE(test_store_quota__without_a_limit_old_points_are_taken_again),
        CASE(test_store_quota__what_cannot_be_kept_is_refused),
        CASE(test_store_quota__the_last_hour_stays),
        CASE(test_store_quota__the_log_counts),
        CASE(test_store_quota__a_damaged_file_is_noticed),
        CASE(test_store_quota__a_later_version_is_not_damage),
        CASE(test_store_quota__a_cutoff_is_that_of_its_limit),
        CASE(test_store_quota__points_have_a_cutoff_of_their_own),
        CASE(test_store_quota__no_crash_brings_anything_back),
        CASE(test_store_quota__no_crash_brings_anything_back_without_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
