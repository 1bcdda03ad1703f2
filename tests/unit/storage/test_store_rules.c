/*
 * test_store_rules.c - rules of retention by metric and tag: what has expired is in no answer, goes at merges and with whole files, and
 * changes of rules, names and clocks bring back nothing and remove nothing else.
 */
#include "tests/unit/storage/windows_kit.h"

#include "storage/retain.h"

/* kit_series: even numbers are of m0, odd ones of m1; host=h<number> */

static struct sto_store *open_rules(struct t_faultfs *f, int64_t days, const char *rules)
{
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    opts.retention_ms = days * DAY;
    opts.retention_rules = rules;
    return kit_open(&opts);
}

static struct sto_store *begin(const char *rules, struct t_faultfs **out_f)
{
    *out_f = t_faultfs_new(1);
    clocks(T0, 1000);
    return open_rules(*out_f, 0, rules);
}

static void end(struct sto_store *st, struct t_faultfs *f)
{
    kit_close(st);
    t_faultfs_free(f);
}

static int change(struct sto_store *st, enum sto_retain_what what, const char *rules)
{
    struct ts_error err = {0};
    return sto_retain(
        st, &(struct sto_retain_call){.what = what, .text = ts_slice_str(rules), .at = SIZE_MAX}, &err);
}

static void must(struct sto_store *st, enum sto_retain_what what, const char *rules)
{
    assert_int_equal(change(st, what, rules), 0);
}

static void merge(struct sto_store *st)
{
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
}

/* The clock goes on. */
static void later(int64_t ms)
{
    clocks(T0 + ms, 1000 + ms);
}

static void test_store_rules__the_first_that_matches_applies(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin("m0 host=h2 points=forever; m0 points=10d; * host=h1* points=20d", &f);
    for (int64_t d = 0; d < 60; d++)
        for (unsigned i = 0; i < 4; i++)
            put_at(st, i, T0 - d * DAY, 1);
    sto_writer_turn(sto_writer(st, 0));
    for (int k = 0; k < 3; k++) { /* from memory, from files, after merges */
        assert_int_equal(seen(st, 0).n, 11);
        assert_int_equal(seen(st, 1).n, 21);
        assert_int_equal(seen(st, 2).n, 60);
        assert_int_equal(seen(st, 3).n, 60);
        flush_to(st, k ? STO_LEVEL_COMPACT : STO_LEVEL_FILES);
    }
    later(1); /* to the millisecond */
    assert_int_equal(seen(st, 0).n, 10);
    assert_int_equal(seen(st, 1).n, 20);
    must(st, STO_RETAIN_ADD,
         "m0 host=h2 points=5d"); /* rules that are set come before those of the configuration */
    assert_int_equal(seen(st, 2).n, 5);
    assert_int_equal(seen(st, 0).n, 10);
    end(st, f);
}

/* retention_days is for what no rule matches, and shortens nothing that a rule keeps longer. */
static void test_store_rules__beside_one_duration_for_all(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_rules(f, 30, "m0 points=90d");
    for (int64_t d = 0; d < 120; d++)
        for (unsigned i = 0; i < 2; i++)
            put_at(st, i, T0 - d * DAY, 1);
    flush_to(st, STO_LEVEL_COMPACT);
    merge(st);
    assert_int_equal(seen(st, 0).n, 91);
    assert_int_equal(seen(st, 1).n, 31);
    kit_close(st);
    st = open_rules(f, 0, NULL);
    assert_true(seen(st, 0).n >= 91);
    end(st, f);
}

/* Files whose series have all expired are removed as they are; of others, rows go at merges. */
static void test_store_rules__space_is_freed(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin("m0 points=10d", &f);
    put_at(st, 0, T0 - 9 * DAY, 1);
    put_at(st, 2, T0 - 9 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 0, T0 - 8 * DAY, 1);
    for (unsigned i = 1; i < 4; i += 2)
        put_at(st, i, T0 - 8 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    later(2 * DAY); /* both points of m0 are expired, but only for an hour less */
    clocks(T0 + DAY + TS_HOUR_MS - 1, 1000 + DAY + TS_HOUR_MS - 1);
    merge(st);
    assert_int_equal(stat_of(st, "files.points"), 5);
    assert_int_equal(seen(st, 0).n, 1);
    later(DAY + 2 * TS_HOUR_MS);
    merge(st);
    assert_int_equal(stat_of(st, "files.points"), 3); /* the first file is gone */
    later(3 * DAY);
    merge(st); /* a third of the series of the second one has expired */
    assert_int_equal(stat_of(st, "files.points") <= 3, 1);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(stat_of(st, "files.points"), 2);
    assert_int_equal(seen(st, 1).n + seen(st, 3).n, 2);
    end(st, f);
}

/* A rule that keeps points longer brings back no value that was overwritten or deleted. */
static void test_store_rules__nothing_comes_back(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(NULL, &f);
    put_at(st, 0, T0 - 40 * DAY, 1); /* overwritten in the second file */
    put_at(st, 0, T0 - 39 * DAY, 1); /* deleted in the third one */
    put_at(st, 0, T0 + 80 * DAY, 10);
    put_at(st, 1, T0 - 40 * DAY, 5);
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 0, T0 - 40 * DAY, 2);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), T0 - 39 * DAY, T0 - 39 * DAY), 0);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(seen(st, 0).sum, 12);
    must(st, STO_RETAIN_ADD, "m0 points=30d");
    merge(st);
    assert_int_equal(seen(st, 0).sum, 10);
    assert_int_equal(seen(st, 1).sum, 5);
    for (int k = 0; k < 3; k++) {
        if (k == 0)
            must(st, STO_RETAIN_REMOVE, "m0 points=30d");
        else if (k == 1)
            must(st, STO_RETAIN_ADD, "m0 points=60d");
        uint64_t sum = seen(st, 0).sum;
        assert_true(sum == 12 || sum == 10); /* the value written last; or none, but never 1 */
        assert_int_equal(seen(st, 1).sum, 5);
        merge(st);
        kit_close(st);
        st = open_rules(f, 0, NULL);
    }
    put_at(st, 0, T0 - 40 * DAY, 7); /* what is put from now on is there */
    put_at(st, 0, T0 - 39 * DAY, 7);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(seen(st, 0).sum, 24);
    end(st, f);
}

/* What a merge has left out because of a rule stays away from older files, too. */
static void test_store_rules__floors_hide_older_files(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(NULL, &f);
    put_at(st, 0, T0 - 40 * DAY, 1);
    put_kept(st, 1, T0 + 70 * DAY); /* wide: the file stays by itself */
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 0, T0 - 40 * DAY, 2);
    flush_to(st, STO_LEVEL_FILES);
    must(st, STO_RETAIN_ADD, "m0 points=30d");
    merge(st);
    assert_int_equal(stat_of(st, "files.points"), 1 + KEPT_POINTS); /* the second file is gone */
    must(st, STO_RETAIN_REPLACE, "");
    assert_int_equal(seen(st, 0).n, 0);
    kit_close(st);
    st = open_rules(f, 0, NULL);
    assert_int_equal(seen(st, 0).n, 0);
    put_at(st, 0, T0 - 40 * DAY, 3);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(seen(st, 0).sum, 3);
    flush_to(st, STO_LEVEL_FILES);
    merge(st);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(seen(st, 0).sum, 3);
    assert_int_equal(seen(st, 1).sum, KEPT_POINTS);
    later(DAY);
    merge(st); /* nothing needs the floor any more */
    assert_int_equal(seen(st, 0).sum, 3);
    end(st, f);
}

/* Nor does it come back when another rule that keeps points longer has a lower floor of the same series. */
static void test_store_rules__a_lower_floor_does_not_replace_a_higher_one(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(NULL, &f);
    put_at(st, 0, T0 - 70 * DAY, 4); /* the lower floor is needed because of it */
    put_at(st, 0, T0 - 40 * DAY, 1);
    for (unsigned i = 1; i < 4; i += 2)
        put_kept(st, i, T0 + 70 * DAY); /* wide: the file stays by itself, and so much as it is */
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 0, T0 - 40 * DAY, 2);
    flush_to(st, STO_LEVEL_FILES);
    must(st, STO_RETAIN_ADD, "m0 points=30d");
    merge(st);
    assert_int_equal(stat_of(st, "files.points"), 2 + 2 * KEPT_POINTS); /* the second file is gone */
    must(st, STO_RETAIN_REPLACE, "m0 points=60d");
    for (int k = 0; k < 2; k++) {
        merge(st);
        assert_int_equal(seen(st, 0).n, 0);
        kit_close(st);
        st = open_rules(f, 0, NULL);
    }
    assert_int_equal(seen(st, 0).n, 0);
    assert_int_equal(seen(st, 1).sum, KEPT_POINTS);
    end(st, f);
}

static void test_store_rules__a_clock_that_jumps_removes_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin("m0 points=30d", &f);
    put_at(st, 0, T0, 1);
    flush_to(st, STO_LEVEL_FILES);
    clocks(T0 + 400 * DAY, 2000);
    assert_int_equal(seen(st, 0).n, 0);
    flush_to(st, STO_LEVEL_COMPACT);
    clocks(T0 + 2000, 3000);
    assert_int_equal(seen(st, 0).n, 1);
    kit_close(st);
    clocks(T0 + 400 * DAY, 5000); /* nor does a start with a wrong clock */
    st = open_rules(f, 0, "m0 points=30d");
    merge(st);
    clocks(T0 + 3000, 6000);
    assert_int_equal(seen(st, 0).n, 1);
    end(st, f);
}

/* Nor do rules that are set while the store runs, if it was opened with a wrong clock; with a right one they do. */
static void test_store_rules__set_late_they_look_at_the_clock(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        struct t_faultfs *f;
        struct sto_store *st = begin(NULL, &f);
        put_at(st, 0, T0 - 60 * DAY, 1);
        flush_to(st, STO_LEVEL_FILES);
        put_at(st, 1, T0, 1);
        flush_to(st, STO_LEVEL_FILES);
        kit_close(st);
        clocks(wrong ? T0 + 400 * DAY : T0 + DAY / 2, 5000);
        st = open_rules(f, 0, NULL);
        merge(st);
        must(st, STO_RETAIN_ADD, wrong ? "m0 points=90d; m1 points=30d" : "m0 points=30d");
        merge(st);
        assert_int_equal(stat_of(st, "files.points"), wrong ? 2 : 1);
        if (wrong) { /* the clock is set right */
            clocks(T0 + 2000, 6000);
            merge(st);
            assert_int_equal(seen(st, 0).n + seen(st, 1).n, 2);
        }
        end(st, f);
    }
}

/* A series that gets another name gets another rule, at once and also where its rule was known. */
static void test_store_rules__follow_names(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin("m0 points=10d", &f);
    const struct sto_series *s = kit_series(st, 0);
    put_at(st, 0, T0 - 20 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(seen(st, 0).n, 0);
    assert_int_equal(
        sto_uid_rename(sto_store_catalog(st), STO_UID_METRIC, TS_SLICE_LIT("m0"), TS_SLICE_LIT("kept"), NULL),
        0);
    merge(st);
    struct seen now = {0, 0};
    assert_int_equal(kit_points(st, s, see, &now, NULL), 0);
    assert_int_equal(now.n, 1);
    end(st, f);
}

static void count_cost(void *arg, const struct sto_scan_cost *c)
{
    *(uint64_t *)arg += !c->memory && c->n_points;
}

/* Neither a scan nor its estimate looks at files in which all of its series have expired. */
static void test_store_rules__old_files_cost_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin("m0 points=10d", &f);
    for (unsigned i = 0; i < 2; i++)
        put_at(st, i, T0 - 20 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    for (unsigned i = 0; i < 2; i++)
        put_at(st, i, T0, 1);
    flush_to(st, STO_LEVEL_FILES);
    struct sto_snap *snap = sto_snap_take(st);
    for (unsigned i = 0; i < 2; i++) {
        const struct sto_series *s = kit_series(st, i);
        struct sto_scan_spec spec = {.metric = s->metric,
                                     .series = &s,
                                     .n_series = 1,
                                     .from_ms = STO_MIN_TS_MS,
                                     .to_ms = T0,
                                     .final = true};
        uint64_t n_files = 0;
        assert_int_equal(sto_scan_cost(snap, &spec, count_cost, &n_files, NULL), 0);
        assert_int_equal(n_files, i + 1);
    }
    sto_snap_release(snap);
    end(st, f);
}

static void count_row(void *arg, const struct sto_retain_row *row)
{
    uint64_t *n = arg;
    n[0]++;
    if (row->does) {
        n[1] += row->does->n_expired;
        n[2] += row->does->n_series;
    }
}

static void test_store_rules__explain_and_dry_run(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin("m1 points=forever", &f);
    uint64_t n[3] = {0};
    for (unsigned i = 0; i < 4; i++)
        put_at(st, i, T0 - 20 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    struct sto_retain_call call = {.what = STO_RETAIN_ADD,
                                   .text = TS_SLICE_LIT("* host=h1 points=10d; m0 points=10d"),
                                   .dry_run = true,
                                   .explain = true,
                                   .each = count_row,
                                   .arg = n};
    assert_int_equal(sto_retain(st, &call, NULL), 0);
    assert_int_equal(n[0], 4); /* two, the configured one, the rest */
    assert_int_equal(n[1], 3);
    assert_int_equal(n[2], 4);
    merge(st);
    assert_int_equal(seen(st, 1).n, 1);
    assert_int_equal(stat_of(st, "files.points"), 4);
    assert_int_equal(change(st, STO_RETAIN_REMOVE, "m0 points=10d"), TS_ENOTFOUND);
    assert_int_equal(change(st, STO_RETAIN_ADD, "m0 points=10d"), 0);
    assert_int_equal(change(st, STO_RETAIN_ADD, "m0 points=10d"), TS_EEXIST);
    assert_int_equal(change(st, STO_RETAIN_REMOVE, "m1 points=forever"),
                     TS_ENOTFOUND); /* of the configuration */
    assert_int_equal(change(st, STO_RETAIN_ADD, "m0 points=0"), TS_EINVAL);
    end(st, f);
}

/* When the oldest point is that is left of each rule. */
static void note_oldest(void *arg, const struct sto_retain_row *row)
{
    int64_t **at = arg;
    *(*at)++ = row->does->oldest_ms;
}

static void test_store_rules__explain_the_oldest_point(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin("m0 points=10d; m1 points=30d", &f);
    int64_t oldest_ms[3] = {0}, *at = oldest_ms;
    put_at(st, 0, T0 - 9 * DAY, 1);
    put_at(st, 1, T0 - 9 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    later(5 * DAY);
    struct sto_retain_call call = {.what = STO_RETAIN_LIST, .explain = true, .each = note_oldest, .arg = &at};
    assert_int_equal(sto_retain(st, &call, NULL), 0);
    assert_int_equal(oldest_ms[0], INT64_MAX); /* all have expired, though the file has them still */
    assert_int_equal(oldest_ms[1], T0 - 9 * DAY);
    end(st, f);
}

/* A text of one rule must not turn into a comment when it is read again. */
static void test_store_rules__comments_are_no_rules(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(NULL, &f);
    assert_int_equal(change(st, STO_RETAIN_ADD, " #m0 points=10d"), TS_EINVAL);
    assert_int_equal(change(st, STO_RETAIN_ADD, "#m0 points=10d"), TS_EINVAL); /* gives no rule */
    assert_int_equal(change(st, STO_RETAIN_REPLACE, "m1 points=10d; #m0 points=10d"), TS_EINVAL);
    must(st, STO_RETAIN_ADD, "# of m0\nm0 points=10d");
    end(st, f);
}

/* What is set one by one must not be more than is read when the store opens. */
static void test_store_rules__long_ones_are_read_again(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(NULL, &f);
    char *text = ts_xmalloc(STO_RETAIN_RULE_BYTES);
    int rc = 0, n = 0;
    for (; rc == 0 && n < STO_KEEP_RULES; n++) {
        memset(text, 'x', STO_RETAIN_RULE_BYTES);
        snprintf(text + STO_RETAIN_RULE_BYTES - 32, 32, "%d points=10d", n);
        rc = change(st, STO_RETAIN_ADD, text);
    }
    assert_int_equal(rc, TS_ELIMIT);
    assert_true(n > 60 && n < 70);
    must(st, STO_RETAIN_ADD, "m0 points=10d");
    kit_close(st);
    st = open_rules(f, 0, NULL);
    assert_int_equal(change(st, STO_RETAIN_ADD, "m0 points=10d"), TS_EEXIST);
    ts_free(text);
    end(st, f);
}

/* Floors that cannot be read for the moment are not replaced by others; damaged ones are. */
static void test_store_rules__unread_floors_stay(void **state)
{
    (void)state;
    struct t_faultfs *f;
    size_t n = 0;
    struct sto_store *st = begin("m0 points=30d", &f);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct ts_error err = {0};
    opts.own_threads = false;
    opts.pumped = true;
    put_at(st, 0, T0 - 40 * DAY, 1);
    put_at(st, 1, T0 + 70 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    merge(st);
    kit_close(st);
    uint8_t *was = t_faultfs_get(f, "/db/FLOORS", &n);
    assert_non_null(was);
    t_faultfs_set_unreadable(f, "/db/FLOORS", 0);
    assert_int_equal(sto_open(&opts, &st, &err), TS_EIO);
    t_faultfs_put(f, "/db/FLOORS", was, n);
    st = open_rules(f, 0, NULL);
    assert_int_equal(seen(st, 0).n, 0);
    kit_close(st);
    assert_true(t_faultfs_flip(f, "/db/FLOORS", 20, 1));
    st = open_rules(f, 0, NULL);
    ts_free(was);
    end(st, f);
}

/* Rules of one duration make one floor: many rules that change remove points all the same. */
static void test_store_rules__many_may_change(void **state)
{
    (void)state;
    enum { N = STO_KEEP_RULES };
    struct t_faultfs *f;
    struct sto_store *st = begin(NULL, &f);
    struct ts_buf text;
    ts_buf_init(&text, 0);
    for (unsigned i = 0; i < N; i++)
        put_at(st, 2 * i, T0 - 300 * DAY, 1);
    put_at(st, 1, T0 - 300 * DAY, 1); /* is kept for ever, and needs the floors for ever */
    put_at(st, 1, T0, 1);
    flush_to(st, STO_LEVEL_FILES);
    for (int days = 10; days <= 40; days += 10) {
        ts_buf_clear(&text);
        for (unsigned i = 0; i < N; i++)
            ts_buf_printf(&text, "m0 host=h%u points=%dd\n", 2 * i, days);
        ts_buf_char(&text, 0);
        must(st, STO_RETAIN_REPLACE, text.p);
        merge(st);
    }
    for (unsigned i = 0; i < N; i++)
        put_at(st, 2 * i, T0 - 60 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    later(TS_HOUR_MS);
    merge(st);
    assert_int_equal(stat_of(st, "files.points"), 2);
    ts_buf_release(&text);
    end(st, f);
}

/* Set rules survive the store, and a change that fails changes nothing. */
static void test_store_rules__are_durable(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(NULL, &f);
    put_at(st, 0, T0 - 20 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    must(st, STO_RETAIN_ADD, "m0 points=10d");
    t_faultfs_power_cut(f);
    (void)sto_close(st, NULL);
    t_faultfs_reboot(f, T_KEEP_NONE);
    st = open_rules(f, 0, NULL);
    assert_int_equal(seen(st, 0).n, 0);
    leave_room(f, 0);
    assert_int_equal(change(st, STO_RETAIN_REPLACE, "m1 points=10d"), TS_ENOSPC);
    assert_int_equal(seen(st, 0).n, 0);
    t_faultfs_set_capacity(f, 1ull << 40);
    end(st, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_rules__the_first_that_matches_applies),
        CASE(test_store_rules__beside_one_duration_for_all),
        CASE(test_store_rules__space_is_freed),
        CASE(test_store_rules__nothing_comes_back),
        CASE(test_store_rules__floors_hide_older_files),
        CASE(test_store_rules__a_lower_floor_does_not_replace_a_higher_one),
        CASE(test_store_rules__a_clock_that_jumps_removes_nothing),
        CASE(test_store_rules__set_late_they_look_at_the_clock),
        CASE(test_store_rules__follow_names),
        CASE(test_store_rules__old_files_cost_nothing),
        CASE(test_store_rules__explain_and_dry_run),
        CASE(test_store_rules__explain_the_oldest_point),
        CASE(test_store_rules__comments_are_no_rules),
        CASE(test_store_rules__long_ones_are_read_again),
        CASE(test_store_rules__unread_floors_stay),
        CASE(test_store_rules__many_may_change),
        CASE(test_store_rules__are_durable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
