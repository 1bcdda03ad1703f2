/*
 * test_fsck.c - what a check says of a damaged store: which series, which hours, how many points; what a repair leaves.
 *
 * Random damage: tests/damage/flips.c.
 */
#include "tests/unit/storage/store_kit.h"

#include <time.h>

#include "base/time.h"

/* What a check said. */
struct said {
    char damage[8][200];     /* path and text of the first findings of damage */
    unsigned n_damage;       /* findings of damage */
    uint64_t lost[N_SERIES]; /* points lost of m? host=h?, counted ones */
    bool maybe[N_SERIES];    /* named without a count */
    bool unknown;            /* some loss has no series */
    int64_t from_ms, to_ms;  /* times of all losses with a series, together */
};

static void on_found(void *arg, const struct sto_finding *f)
{
    struct said *s = arg;
    if (f->kind == STO_FIND_DAMAGE) {
        if (s->n_damage < 8)
            snprintf(s->damage[s->n_damage], sizeof s->damage[0], "%s: %s", f->path, f->text);
        s->n_damage++;
    }
    if (f->kind != STO_FIND_LOST)
        return;
    if (!f->series.p) {
        s->unknown = true;
        return;
    }
    unsigned i = (unsigned)(f->series.p[f->series.n - 1] - '0');
    assert_true(i < N_SERIES);
    if (f->n_points)
        s->lost[i] += f->n_points;
    else
        s->maybe[i] = true;
    s->from_ms = f->from_ms < s->from_ms ? f->from_ms : s->from_ms;
    s->to_ms = f->to_ms > s->to_ms ? f->to_ms : s->to_ms;
}

static struct said check_store(struct t_faultfs *f, bool repair, struct sto_fsck_result *out)
{
    struct said s = {.from_ms = INT64_MAX, .to_ms = INT64_MIN};
    struct sto_fsck_opts opts = {
        .fs = t_faultfs_fs(f), .dir = "/db", .repair = repair, .found = on_found, .arg = &s};
    struct ts_error err = {0};
    if (sto_fsck(&opts, out, &err) < 0)
        fail_msg("fsck: %s", err.text);
    return s;
}

/* n points of every series, one a second, from start_ms. */
static void put_all(struct sto_store *st, struct diary *d, int64_t start_ms, int64_t n)
{
    for (int64_t i = 0; i < n * N_SERIES; i++)
        assert_int_equal(kit_op(st, sto_writer(st, 0), d, (unsigned)(i % N_SERIES), STO_OP_PUT,
                                start_ms + i / N_SERIES * 1000, i * 7919 % 10007),
                         0);
    sto_writer_turn(sto_writer(st, 0));
}

static struct t_faultfs *end_by_kill(struct sto_store *st, struct t_faultfs *f)
{
    assert_int_equal(sto_flush(st, STO_LEVEL_DISK, NULL), 0);
    struct t_faultfs *copy = t_faultfs_clone(f, 2);
    kit_close(st);
    t_faultfs_free(f);
    return copy;
}

static const char *path_of(struct t_faultfs *f, const char *part, const char *ending, unsigned nth)
{
    for (size_t i = 0; i < t_faultfs_count(f); i++) {
        const char *path = t_faultfs_path(f, i), *end = path + strlen(path) - strlen(ending);
        if (strstr(path, part) && end >= path && !strcmp(end, ending) && !nth--)
            return path;
    }
    fail_msg("no %s file in %s", ending, part);
    return NULL;
}

static void flip(struct t_faultfs *f, const char *path, size_t at)
{
    size_t n;
    uint8_t *p = t_faultfs_get(f, path, &n);
    assert_true(at < n);
    p[at] ^= 4;
    t_faultfs_put(f, path, p, n);
    ts_free(p);
}

static void test_fsck__a_missing_log_segment_is_damage(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_fsck_result r;
    opts.wal_segment_bytes = 4096;
    struct sto_store *st = kit_open(&opts);
    for (int k = 0; k < 20; k++) {
        put_all(st, &d, T0 + k * 200000, 200);
        assert_int_equal(sto_flush(st, STO_LEVEL_DISK, NULL), 0);
    }
    f = end_by_kill(st, f);
    struct said s = check_store(f, false, &r);
    assert_int_equal(s.n_damage, 0);
    assert_int_equal(r.n_log_points, d.n);
    char path[300];
    snprintf(path, sizeof path, "%s", path_of(f, "/wal/", "", 1)); /* neither the first nor the last */
    assert_true(t_faultfs_remove(f, path));
    s = check_store(f, false, &r);
    assert_true(s.n_damage >= 1);
    assert_non_null(strstr(s.damage[0], "is missing"));
    assert_non_null(strstr(s.damage[0], path));
    assert_true(s.unknown);
    assert_true(r.n_log_points < d.n && r.n_log_points > 0);
    uint64_t n_left = r.n_log_points;
    (void)check_store(f, true, &r);
    assert_true(r.repaired);
    assert_int_equal(r.n_left, 0);
    s = check_store(f, false, &r);
    assert_int_equal(s.n_damage, 0);
    assert_int_equal(r.n_points + r.n_log_points, n_left);
    diary_release(&d);
    t_faultfs_free(f);
}

/* A store with all points in one sorted file of several series and blocks. */
static struct t_faultfs *one_file(struct diary *d)
{
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    put_all(st, d, T0, 3000);
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    return end_by_kill(st, f);
}

static void test_fsck__lost_rows_are_counted_by_their_summaries(void **state)
{
    (void)state;
    struct diary d = {0};
    struct sto_fsck_result r;
    struct t_faultfs *f = one_file(&d);
    struct said s = check_store(f, false, &r);
    assert_int_equal(s.n_damage, 0);
    assert_int_equal(r.n_points, d.n);
    flip(f, path_of(f, "/files/", ".t", 0), 100);
    s = check_store(f, false, &r);
    assert_true(s.n_damage >= 1);
    uint64_t n = 0;
    for (unsigned i = 0; i < N_SERIES; i++) {
        assert_false(s.maybe[i]);
        n += s.lost[i];
    }
    assert_true(n > 0);
    assert_int_equal(n, r.n_lost_points);
    assert_int_equal(n + r.n_points, d.n);
    assert_true(s.from_ms <= T0 && s.from_ms >= T0 - TS_HOUR_MS);
    diary_release(&d);
    t_faultfs_free(f);
}

static void test_fsck__without_summaries_every_possible_series_is_named(void **state)
{
    (void)state;
    struct diary d = {0};
    struct sto_fsck_result r;
    struct t_faultfs *f = one_file(&d);
    flip(f, path_of(f, "/files/", ".t", 0), 100);
    flip(f, path_of(f, "/files/", ".s", 0), 100);
    struct said s = check_store(f, false, &r);
    assert_true(s.n_damage >= 1);
    unsigned n_named = 0;
    for (unsigned i = 0; i < N_SERIES; i++) {
        assert_int_equal(s.lost[i], 0); /* no number that nobody knows */
        n_named += s.maybe[i];
    }
    assert_true(n_named > 0);
    assert_true(r.n_points < d.n);
    assert_true(s.from_ms <= T0 && s.to_ms >= T0);
    /* what is not named is all there after a repair */
    (void)check_store(f, true, &r);
    assert_true(r.repaired);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    struct t_ref *ref = t_ref_new();
    for (size_t i = 0; i < d.n; i++)
        t_ref_apply(ref, &d.ops[i]);
    for (unsigned i = 0; i < N_SERIES; i++) {
        char why[200] = "";
        if (!s.maybe[i] && !kit_same(st, ref, i, why, sizeof why))
            fail_msg("series %u was not named: %s", i, why);
    }
    t_ref_free(ref);
    kit_close(st);
    diary_release(&d);
    t_faultfs_free(f);
}

/* Processor time of this thread, which no load of the machine changes much. */
static int64_t cpu_ns(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* The catalog is lost, and with it the names of many series: each is counted once and gets a name of its own. Looking
 * for them costs no more than twenty checks of the same store with names; with a list that was searched it cost 78. */
static void test_fsck__many_series_without_names(void **state)
{
    enum { N = 200000 };
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_fsck_result r;
    struct sto_store *st = kit_open(&opts);
    for (unsigned i = 0; i < N; i++) {
        int rc;
        while ((rc = sto_put(sto_writer(st, 0), kit_series(st, i), T0, (struct ts_num){.m = i}, false)) ==
               TS_EBUSY)
            sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(rc, 0);
    }
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    kit_close(st);
    int64_t began = cpu_ns();
    struct said s = check_store(f, false, &r);
    int64_t named_ns = cpu_ns() - began;
    assert_int_equal(s.n_damage, 0);
    assert_true(t_faultfs_remove(f, "/db/catalog.log"));
    assert_true(t_faultfs_remove(f, "/db/catalog.log.copy"));
    began = cpu_ns();
    (void)check_store(f, false, &r);
    int64_t unnamed_ns = cpu_ns() - began;
    print_message("a check took us=%lld, without names us=%lld\n", (long long)named_ns / 1000,
                  (long long)unnamed_ns / 1000);
    assert_true(unnamed_ns < 20 * named_ns);
    s = check_store(f, true, &r);
    char want[64];
    bool found = false;
    snprintf(want, sizeof want, "%u series of the files have no name", (unsigned)N);
    for (unsigned i = 0; i < s.n_damage && i < 8; i++)
        found |= strstr(s.damage[i], want) != NULL;
    assert_true(found);
    assert_int_equal(r.n_left, 0);
    s = check_store(f, false, &r);
    assert_int_equal(s.n_damage, 0);
    assert_int_equal(r.n_rows, N);
    opts.create = false;
    st = kit_open(&opts);
    assert_int_equal(sto_series_count(sto_store_catalog(st)), N);
    kit_close(st);
    t_faultfs_free(f);
}

/* Bad sectors in the catalog and in its copy: all names are there if one of the two has them, else all but some. */
static void test_fsck__bad_sectors_cost_what_both_copies_have_there(void **state)
{
    enum { N = 300 };
    static const struct {
        uint64_t log, copy;
        bool whole, most;
    } bad[] = {{600, 5000, true, true}, {5000, 600, true, true}, {5000, 5000, false, true},
               {0, 5000, true, true},   {5000, 0, true, true},   {0, 0, false, false}};
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_fsck_result r;
    struct sto_store *st = kit_open(&opts);
    size_t size;
    for (unsigned i = 0; i < N; i++) {
        int rc;
        while ((rc = sto_put(sto_writer(st, 0), kit_series(st, i), T0, (struct ts_num){.m = i}, false)) ==
               TS_EBUSY)
            sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(rc, 0);
        sto_writer_turn(sto_writer(st, 0));
        if (i % 2)
            assert_int_equal(sto_catalog_sync(sto_store_catalog(st), true, NULL), 0);
    }
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    f = end_by_kill(st, f);
    ts_free(t_faultfs_get(f, "/db/catalog.log", &size));
    assert_true(size > 7000);
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct t_faultfs *c = t_faultfs_clone(f, i);
        t_faultfs_set_unreadable(c, "/db/catalog.log", bad[i].log);
        t_faultfs_set_unreadable(c, "/db/catalog.log.copy", bad[i].copy);
        struct said s = check_store(c, true, &r);
        assert_true(s.n_damage > 0);
        assert_true(r.repaired);
        assert_int_equal(r.n_left, 0);
        s = check_store(c, false, &r);
        assert_int_equal(s.n_damage, 0);
        assert_int_equal(r.n_rows, N);
        opts = (struct sto_opts)KIT_OPTS(c, 1);
        opts.create = false;
        st = kit_open(&opts);
        unsigned n_named = 0;
        for (unsigned k = 0; k < N; k++) {
            const struct sto_series *one = sto_series_get(sto_store_catalog(st), k);
            n_named += one && !strstr(sto_series_text(one).p, "lost_series=");
        }
        if (bad[i].whole)
            assert_int_equal(n_named, N);
        if (bad[i].most)
            assert_true(n_named > N * 8 / 10);
        kit_close(st);
        t_faultfs_free(c);
    }
    t_faultfs_free(f);
}

/* --- disks that fail in different ways at each read --- */

/* A store whose write-ahead log has many segments. */
static struct t_faultfs *many_segments(struct diary *d)
{
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.wal_segment_bytes = 4096;
    struct sto_store *st = kit_open(&opts);
    for (int k = 0; k < 20; k++) {
        put_all(st, d, T0 + k * 200000, 200);
        assert_int_equal(sto_flush(st, STO_LEVEL_DISK, NULL), 0);
    }
    return end_by_kill(st, f);
}

/* Reads of a file succeed again. */
static void heal(struct t_faultfs *f, const char *path)
{
    size_t n;
    uint8_t *p = t_faultfs_get(f, path, &n);
    t_faultfs_put(f, path, p, n);
    ts_free(p);
}

struct changing {
    struct t_faultfs *f;
    char good[300], bad[300]; /* files that can be read, and can't, from the beginning of the repair on */
    bool changed;
};

static void change(void *arg, enum t_op op, const char *path, bool after)
{
    struct changing *c = arg;
    if (op != T_OP_MKDIR || after || c->changed || !strstr(path, STO_FSCK_DAMAGED))
        return;
    c->changed = true;
    heal(c->f, c->good);
    t_faultfs_set_unreadable(c->f, c->bad, 3500);
}

/* The repair can't read what the check could, though it reads more points in all: the log stays. */
static void test_fsck__a_repair_that_reads_other_parts_leaves_the_log(void **state)
{
    (void)state;
    struct diary d = {0};
    struct changing c = {.f = many_segments(&d)};
    struct sto_fsck_result r;
    struct ts_error err = {0};
    struct sto_fsck_opts opts = {.fs = t_faultfs_fs(c.f), .dir = "/db", .repair = true};
    snprintf(c.good, sizeof c.good, "%s", path_of(c.f, "/wal/", "", 3));
    snprintf(c.bad, sizeof c.bad, "%s", path_of(c.f, "/wal/", "", 6));
    t_faultfs_set_unreadable(c.f, c.good, 100);
    t_faultfs_set_unreadable(c.f, c.good, 2500);
    t_faultfs_set_hook(c.f, change, &c);
    int rc = sto_fsck(&opts, &r, &err);
    t_faultfs_set_hook(c.f, NULL, NULL);
    assert_true(c.changed);
    assert_int_equal(rc, TS_EIO);
    assert_non_null(strstr(err.text, c.bad));
    heal(c.f, c.bad);
    struct said s = check_store(c.f, false, &r);
    assert_int_equal(s.n_damage, 0);
    assert_int_equal(r.n_log_points, d.n);
    diary_release(&d);
    t_faultfs_free(c.f);
}

/* Is a file of this name, or a later one with a number behind it, in DIR/damaged? Its bytes. */
static size_t bytes_aside(struct t_faultfs *f, const char *path)
{
    char aside[300];
    size_t n = 0;
    snprintf(aside, sizeof aside, "/db/" STO_FSCK_DAMAGED "%s", strrchr(path, '/'));
    ts_free(t_faultfs_get(f, aside, &n));
    return n;
}

/* A segment of which too much can't be read to make a copy: what the disk may give to other tools is kept. */
static void test_fsck__a_segment_that_cannot_be_copied_is_kept(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_fsck_result r;
    char path[300];
    size_t size;
    struct sto_store *st = kit_open(&opts);
    for (int k = 0; k < 20; k++)
        put_all(st, &d, T0 + k * 2000000, 2000);
    f = end_by_kill(st, f);
    snprintf(path, sizeof path, "%s", path_of(f, "/wal/", "", 0));
    ts_free(t_faultfs_get(f, path, &size));
    assert_true(size > 512 * (2 * TS_UNREAD_SECTORS));
    t_faultfs_set_unreadable_part(f, path, 5000, 512 * (TS_UNREAD_SECTORS + 10));
    struct said s = check_store(f, true, &r);
    assert_true(s.n_damage > 0);
    assert_true(r.repaired);
    assert_int_equal(r.n_left, 0);
    assert_int_equal(bytes_aside(f, path), size);
    diary_release(&d);
    t_faultfs_free(f);
}

/* The same for the log of metadata or its copy, which is damage: a start would read it. */
static void test_fsck__a_log_that_cannot_be_copied_is_kept(void **state)
{
    enum { CELL_BYTES = 60000, N = 6 };
    static const char *const paths[] = {"/db/cells.log", "/db/cells.log.copy"};
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_fsck_result r;
    struct sto_store *st = kit_open(&opts);
    struct ts_error err = {0};
    char *text = ts_xcalloc(1, CELL_BYTES);
    memset(text, 'x', CELL_BYTES);
    for (int i = 0; i < N; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(sto_cell_put(st, ts_slice_str(key), (struct ts_slice){text, CELL_BYTES}, &err), 0);
    }
    ts_free(text);
    f = end_by_kill(st, f);
    for (unsigned i = 0; i < 2; i++) {
        struct t_faultfs *c = t_faultfs_clone(f, i);
        size_t size;
        ts_free(t_faultfs_get(c, paths[i], &size));
        assert_true(size > 512 * (2 * TS_UNREAD_SECTORS));
        t_faultfs_set_unreadable_part(c, paths[i], 5000, 512 * (TS_UNREAD_SECTORS + 10));
        struct said s = check_store(c, true, &r);
        assert_true(s.n_damage > 0);
        assert_non_null(strstr(s.damage[0], "can't be read"));
        assert_true(r.repaired);
        assert_int_equal(r.n_left, 0);
        assert_int_equal(r.n_cells, N);
        assert_int_equal(bytes_aside(c, paths[i]), size);
        t_faultfs_free(c);
    }
    t_faultfs_free(f);
}

/* All of the catalog and of its copy is lost: the check goes on, and a repair makes up names. */
static void test_fsck__an_unreadable_catalog_does_not_end_the_check(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_fsck_result r;
    struct ts_error err = {0};
    struct sto_store *st = kit_open(&opts);
    uint64_t r_names = 1;
    put_all(st, &d, T0, 100);
    for (int i = 0; i < 4000; i++) {
        char name[240];
        uint32_t id;
        int n = snprintf(name, sizeof name, "n%d.", i);
        for (; n < 200; n++) /* catalogs are compressed */
            name[n] = (char)('a' + t_rand(&r_names) % 26);
        assert_int_equal(
            sto_uid_make(sto_store_catalog(st), STO_UID_TAGV, (struct ts_slice){name, (size_t)n}, &id, &err),
            0);
    }
    assert_int_equal(sto_catalog_sync(sto_store_catalog(st), true, NULL), 0);
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    f = end_by_kill(st, f);
    size_t size;
    ts_free(t_faultfs_get(f, "/db/catalog.log", &size));
    assert_true(size > 512 * (2 * TS_UNREAD_SECTORS));
    t_faultfs_set_unreadable_part(f, "/db/catalog.log", 0, 512 * (TS_UNREAD_SECTORS + 10));
    t_faultfs_set_unreadable_part(f, "/db/catalog.log.copy", 0, 512 * (TS_UNREAD_SECTORS + 10));
    (void)check_store(f, true, &r);
    assert_true(r.repaired);
    assert_int_equal(r.n_left, 0);
    assert_int_equal(r.n_points, d.n);
    diary_release(&d);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fsck__a_missing_log_segment_is_damage),
        cmocka_unit_test(test_fsck__lost_rows_are_counted_by_their_summaries),
        cmocka_unit_test(test_fsck__without_summaries_every_possible_series_is_named),
        cmocka_unit_test(test_fsck__many_series_without_names),
        cmocka_unit_test(test_fsck__bad_sectors_cost_what_both_copies_have_there),
        cmocka_unit_test(test_fsck__a_repair_that_reads_other_parts_leaves_the_log),
        cmocka_unit_test(test_fsck__a_segment_that_cannot_be_copied_is_kept),
        cmocka_unit_test(test_fsck__a_log_that_cannot_be_copied_is_kept),
        cmocka_unit_test(test_fsck__an_unreadable_catalog_does_not_end_the_check),
    };
    ts_log_set_level(TS_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
