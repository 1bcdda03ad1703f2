/*
 * test_store_ship_sent.c - what a store knows of the points that it has sent: which rows are fresh, and what need not be sent again.
 */
#include "tests/unit/storage/ship_kit.h"

#include "storage/engine/engine_int.h"
#include "storage/engine/manifest.h"
#include "tests/unit/t_random.h"

static void put(struct sto_store *st, struct diary *d, unsigned series, int64_t ts_ms, int64_t v)
{
    assert_int_equal(kit_op(st, sto_writer(st, 0), d, series, STO_OP_PUT, ts_ms, v), 0);
}

static void del(struct sto_store *st, struct diary *d, unsigned series, int64_t from_ms, int64_t to_ms)
{
    assert_int_equal(kit_op(st, sto_writer(st, 0), d, series, STO_OP_DEL, from_ms, to_ms), 0);
}

/* Rows are fresh if nothing of their hour was ever sent, be it in an earlier life, by a shipment that was cut off, or deleted since.
 * The remote store checks each claim. */
static void test_ship_sent__rows_are_fresh_once(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (int i = 0; i < 4; i++)
        put(st, &d, 0, T0 + i * TS_HOUR_MS, i);
    ship_flush(st);
    sto_memory_remote_cut_next(r, 0); /* the newest hour */
    assert_int_equal(sto_ship(st, NULL), TS_EBACKEND);
    assert_int_equal(r_stat(r, "fresh_rows"), 1);
    kit_close(st);
    st = kit_open(&opts);
    ship_all(st);
    ship_expect(r, &d, "after a cut");
    assert_int_equal(r_stat(r, "fresh_rows"), 1); /* all of them were about to be sent */
    put(st, &d, 0, T0 + 5 * TS_HOUR_MS, 5);
    del(st, &d, 0, T0, T0);
    put(st, &d, 0, T0 + 1000, 6);
    ship_flush(st);
    ship_all(st);
    assert_int_equal(r_stat(r, "fresh_rows"), 2);
    put(st, &d, 0, T0, 7);
    put(st, &d, 1, T0 + 5 * TS_HOUR_MS, 5);
    kit_close(st);
    st = kit_open(&opts);
    ship_all(st);
    ship_expect(r, &d, "after a start");
    assert_int_equal(r_stat(r, "fresh_rows"), 2);
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* What was sent from memory is not sent again: not by the next pass, nor from files, nor after a start. */
static void test_ship_sent__each_operation_is_sent_once(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (int i = 0; i < 300; i++) {
        put(st, &d, 0, T0 + i * 20000, i);
        put(st, &d, 1, T0 + i * 20000 - 7000, i);
        if (i % 7 == 0)
            ship_all(st);
        if (i % 50 == 0)
            ship_flush(st);
    }
    ship_flush(st);
    ship_all(st);
    ship_expect(r, &d, "all");
    assert_int_equal(r_stat(r, "shipped_points"), 600);
    assert_int_equal(r_stat(r, "fresh_rows"), r_stat(r, "shipped_rows"));
    assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(st, "files.count"), 0);
    kit_close(st);
    st = kit_open(&opts);
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_points"), 600);
    kit_expect_all(st, &d, "from the remote store");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* Of a shipment that fails nothing counts as sent, nor as fresh. */
static void test_ship_sent__a_failure_counts_as_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (unsigned i = 0; i < 3; i++)
        put(st, &d, i, T0, 1);
    ship_all(st);
    for (unsigned i = 0; i < 3; i++)
        put(st, &d, i, T0 + 1000, 2);
    ship_turn(st);
    sto_memory_remote_cut_next(r, 1);
    assert_int_equal(sto_ship(st, NULL), TS_EBACKEND);
    ship_all(st);
    ship_expect(r, &d, "again");
    assert_int_equal(r_stat(r, "fresh_rows"), 3 + 3); /* before they were cut off */
    put(st, &d, 0, T0 + 2000, 3);
    ship_all(st);
    assert_int_equal(r_stat(r, "fresh_rows"), 3 + 3 + 1);
    put(st, &d, 0, T0 + 1500, 3); /* late */
    ship_all(st);
    assert_int_equal(r_stat(r, "fresh_rows"), 3 + 3 + 1);
    assert_int_equal(r_stat(r, "shipped_points"), 3 + 1 + 3 + 1 + 1);
    ship_expect(r, &d, "late");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* Deletes and additions in memory, between points that were sent. */
static void test_ship_sent__deletes_and_additions_between_passes(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (int i = 0; i < 12; i++) {
        put(st, &d, 0, T0 + i * 1000, i);
        put(st, &d, 1, T0 + i * 1000, i);
        ship_all(st);
        if (i % 3 == 1)
            del(st, &d, 0, T0, T0 + (i - 1) * 1000);
        put(st, &d, 0, T0, 100 + i);
        if (i % 2)
            ship_all(st);
        assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 1, STO_OP_ADD, T0 + i * 1000, 5), 0);
        if (i % 4 == 0)
            ship_flush(st);
        ship_turn(st);
        kit_expect_all(st, &d, "between");
    }
    ship_flush(st);
    ship_all(st);
    kit_expect_all(st, &d, "at last");
    kit_close(st);
    st = kit_open(&opts);
    ship_all(st);
    kit_expect_all(st, &d, "after a start");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* An hour that stays without a mark does not repeat deletes that were acknowledged. */
static void test_ship_sent__deletes_of_held_hours_are_sent_once(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    put(st, &d, 0, T0, 1);
    ship_flush(st);
    ship_all(st);
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 0, STO_OP_ADD, T0, 5), 0);
    del(st, &d, 1, T0, T0 + 1000);
    ship_flush(st);
    for (int i = 0; i < 3; i++)
        ship_all(st);
    assert_int_equal(ship_stat(st, "ship.held_hours"), 1);
    assert_int_equal(r_stat(r, "deletes"), 1);
    kit_expect_all(st, &d, "held");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* What was shipped is shipped again, but for deletes: what they would delete may be newer. */
static void test_ship_sent__hours_are_sent_again(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL), *other = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (int i = 0; i < 5; i++)
        put(st, &d, 0, T0 + i * TS_HOUR_MS, i);
    del(st, &d, 1, T0, T0 + 1000);
    ship_flush(st);
    ship_all(st);
    put(st, &d, 0, T0 + 1000, 7);
    ship_all(st);
    int32_t hour = (int32_t)(T0 / TS_HOUR_MS);
    assert_int_equal(sto_reship(st, hour, hour + 1, NULL), 0);
    assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
    assert_true(ship_stat(st, "files.points") >= 2);
    uint64_t points = r_stat(r, "shipped_points");
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_points"), points + 3);
    assert_int_equal(r_stat(r, "deletes"), 1);
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_points"), points + 3);
    ship_expect(r, &d, "again");
    /* A remote store that has lost everything. */
    assert_int_equal(sto_reship(st, INT32_MIN, INT32_MAX, NULL), 0);
    kit_close(st);
    opts.remote = other;
    st = kit_open(&opts);
    ship_all(st);
    ship_expect(other, &d, "from the beginning");
    kit_expect_all(st, &d, "from the beginning");
    kit_close(st);
    r->ops->close(r);
    other->ops->close(other);
    t_faultfs_free(f);
    diary_release(&d);
}

/* An hour that is held back has no mark above the delete, which was shipped all the same and is not sent once more. */
static void test_ship_sent__what_is_sent_again_stays_deleted(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    put(st, &d, 0, T0, 1);
    put(st, &d, 0, T0 + 1000, 2);
    ship_flush(st);
    ship_all(st);
    del(st, &d, 0, T0, T0);
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 0, STO_OP_ADD, T0 + 2000, 5), 0);
    ship_flush(st);
    ship_all(st);
    assert_int_equal(ship_stat(st, "ship.held_hours"), 1);
    r_expect_metric(r, "m0", "m0 host=h0 @0 1:2\n");
    assert_int_equal(sto_reship(st, INT32_MIN, INT32_MAX, NULL), 0);
    ship_all(st);
    r_expect_metric(r, "m0", "m0 host=h0 @0 1:2\n");
    kit_expect_all(st, &d, "sent again");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* A manifest that was made anew knows no marks: what is here is sent again, and a delete that was shipped long ago spares the newer points
 * that only the remote store has. */
static void test_ship_sent__lost_marks_delete_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    struct sto_manifest *m;
    struct sto_mark all = {INT32_MIN, INT32_MAX, 1};
    const struct sto_mark_list every = {&all, 1}, none = {0};
    put(st, &d, 0, T0, 1);
    put(st, &d, 0, T0 + 1000, 1);
    ship_flush(st);
    del(st, &d, 0, T0, T0);
    ship_flush(st);
    ship_all(st);
    put(st, &d, 0, T0, 2);
    ship_flush(st);
    ship_all(st);
    assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
    uint64_t deletes = r_stat(r, "deletes"), points = r_stat(r, "shipped_points");
    kit_close(st);
    assert_int_equal(sto_manifest_open(t_faultfs_fs(f), "/db", false, false, 0, &m, NULL), 0);
    assert_int_equal(sto_manifest_apply(m, &(struct sto_manifest_edit){.marks = &none, .sent = &every}, NULL),
                     0);
    sto_manifest_close(m);
    st = kit_open(&opts);
    put(st, &d, 0, T0 + 2000, 3);
    ship_all(st);
    assert_int_equal(r_stat(r, "deletes"), deletes);
    assert_true(r_stat(r, "shipped_points") >= points + 1);
    ship_expect(r, &d, "marks are lost");
    kit_expect_all(st, &d, "marks are lost");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* --- any order of everything, with many passes --- */

static void some_ops(struct sto_store *st, struct diary *d, uint64_t *rnd, int64_t now_ms)
{
    for (uint64_t n = t_rand(rnd) % 12; n; n--) {
        unsigned series = (unsigned)(t_rand(rnd) % N_SERIES);
        int64_t t = now_ms + (int64_t)(t_rand(rnd) % 4) * 1000;
        if (t_rand(rnd) % 5 == 0)
            t = T0 + (int64_t)(t_rand(rnd) % 60) * 300000;
        if (t_rand(rnd) % 20)
            put(st, d, series, t, (int64_t)(t_rand(rnd) % 1000));
        else
            del(st, d, series, t, t + (int64_t)(t_rand(rnd) % 8) * 600000);
    }
    ship_turn(st);
}

static void ship_badly(struct sto_store *st, struct sto_remote *r, uint64_t *rnd)
{
    if (t_rand(rnd) % 2)
        sto_memory_remote_unreachable_after(r, t_rand(rnd) % 6);
    else
        sto_memory_remote_cut_next(r, t_rand(rnd) % 3);
    (void)sto_ship(st, NULL);
    sto_memory_remote_unreachable_after(r, UINT64_MAX);
    sto_memory_remote_set_unreachable(r, false);
    sto_memory_remote_cut_next(r, SIZE_MAX);
}

static void life(uint64_t seed, bool whole_hours)
{
    uint64_t rnd = seed;
    struct t_faultfs *f = t_faultfs_new(seed);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    opts.ship_whole_hours = whole_hours;
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    char when[64];
    for (int step = 0; step < 150; step++) {
        snprintf(when, sizeof when, "seed %llu step %d", (unsigned long long)seed, step);
        some_ops(st, &d, &rnd, T0 + step * 40000);
        uint64_t what = t_rand(&rnd) % 24;
        int32_t hour = (int32_t)(T0 / TS_HOUR_MS + (int64_t)(t_rand(&rnd) % 6));
        if (what < 10)
            ship_all(st);
        else if (what < 13)
            ship_badly(st, r, &rnd);
        else if (what < 18)
            ship_flush(st);
        else if (what == 18)
            assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, NULL), 0);
        else if (what == 19)
            assert_int_equal(sto_drop_shipped(st, T0 + (int64_t)(t_rand(&rnd) % 80) * 900000, NULL), 0);
        else if (what == 20)
            assert_int_equal(sto_reship(st, hour, hour + (int32_t)(t_rand(&rnd) % 3), NULL), 0);
        else if (what == 21) {
            kit_close(st);
            st = kit_open(&opts);
        } else if (what == 22) {
            (void)sto_close(st, NULL);
            t_faultfs_kill(f);
            st = kit_open(&opts);
        } else {
            ship_flush(st);
            ship_all(st);
            ship_expect(r, &d, when);
        }
        kit_expect_all(st, &d, when);
    }
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

static void test_ship_sent__any_order_of_everything(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        life(seed, seed % 2 == 0);
}

/* An hour waits until it is over by five minutes; then each row is sent once, from files and memory; what comes late follows. */
static void test_ship_sent__whole_hours_wait_for_their_end(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    opts.ship_whole_hours = true;
    int64_t hour_ms = T0 - T0 % TS_HOUR_MS;
    ts_clock_set_fake(hour_ms + TS_HOUR_MS / 2);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (int i = 0; i < 300; i++) {
        put(st, &d, (unsigned)i % 3, hour_ms + i * 10000, i);
        if (i % 90 == 89)
            ship_flush(st);
        if (i % 20 == 0)
            ship_all(st);
    }
    put(st, &d, 0, hour_ms, 7); /* over a point that is in a file */
    put(st, &d, 3, hour_ms + 1000, 8);
    ts_clock_set_fake(hour_ms + TS_HOUR_MS + 5 * 60000 - 1);
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_rows"), 0);
    assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(st, "files.count"), 3);
    ts_clock_set_fake(hour_ms + TS_HOUR_MS + 5 * 60000);
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_rows"), 4);
    assert_int_equal(r_stat(r, "fresh_rows"), 4);
    assert_int_equal(r_stat(r, "shipped_points"), 301);
    ship_expect(r, &d, "over");
    put(st, &d, 1, hour_ms + 10000, 9); /* late */
    put(st, &d, 2, hour_ms + TS_HOUR_MS, 10);
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_rows"), 5);
    ship_flush(st);
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_rows"), 5);
    kit_close(st);
    ts_clock_set_fake(hour_ms + 3 * TS_HOUR_MS);
    st = kit_open(&opts);
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_rows"), 6);
    ship_expect(r, &d, "the next hour");
    kit_expect_all(st, &d, "the next hour");
    kit_close(st);
    r->ops->close(r);
    ts_clock_set_fake(0);
    t_faultfs_free(f);
    diary_release(&d);
}

/* Additions and deletes in memory do not become a part of whole rows, and what is newer than they are follows them. */
static void test_ship_sent__whole_hours_leave_additions_alone(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    opts.ship_whole_hours = true;
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (unsigned i = 0; i < 3; i++)
        put(st, &d, i, T0, 10);
    ship_flush(st);
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 0, STO_OP_ADD, T0, 5), 0);
    put(st, &d, 0, T0 + 1000, 6);
    del(st, &d, 1, T0, T0);
    put(st, &d, 2, T0, 11);
    ship_all(st);
    kit_expect_all(st, &d, "in memory");
    ship_flush(st);
    ship_all(st);
    kit_expect_all(st, &d, "in files"); /* the addition stays here, since what it adds to is shipped */
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* --- what happens while a pass looks for rows --- */

const struct sto_mem_row *__real_sto_mem_walk(const struct sto_mem *mem, uint64_t *pos);
const struct sto_mem_row *__wrap_sto_mem_walk(const struct sto_mem *mem, uint64_t *pos);
void __real_sto_engine__pump(struct sto_engine *e);
void __wrap_sto_engine__pump(struct sto_engine *e);

bool __real_sto_wal_prepare(struct sto_wal *w, uint64_t gen);
bool __wrap_sto_wal_prepare(struct sto_wal *w, uint64_t gen);

/* A pass that begins while a flush waits for the writers to change to a new generation. */
static struct {
    struct sto_store *st;
    struct diary *d;
    bool waits, ships, puts; /* in this order */
} switching;

const struct sto_mem_row *__wrap_sto_mem_walk(const struct sto_mem *mem, uint64_t *pos)
{
    const struct sto_mem_row *row = __real_sto_mem_walk(mem, pos);
    if (!row && switching.puts) { /* the first memstore was walked */
        switching.puts = false;
        put(switching.st, switching.d, 0, T0, 2);
        ship_turn(switching.st); /* this is still of the old generation; then the writer changes */
        put(switching.st, switching.d, 0, T0, 3);
        ship_turn(switching.st);
    }
    return row;
}

void __wrap_sto_engine__pump(struct sto_engine *e)
{
    if (switching.ships) {
        switching.ships = false;
        switching.puts = true;
        assert_int_equal(sto_ship(switching.st, NULL), 0);
        assert_false(switching.puts);
    }
    __real_sto_engine__pump(e);
}

bool __wrap_sto_wal_prepare(struct sto_wal *w, uint64_t gen)
{
    switching.ships |= switching.waits;
    switching.waits = false;
    return __real_sto_wal_prepare(w, gen);
}

/* A value that arrives in the old generation after the pass has walked it, and a newer one in the new generation before it has walked that
 * one: the newer one stays. */
static void test_ship_sent__a_pass_sees_generations_in_order(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    put(st, &d, 0, T0, 1);
    ship_all(st);
    switching.st = st;
    switching.d = &d;
    switching.waits = true;
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    assert_false(switching.waits || switching.ships);
    ship_all(st);
    ship_expect(r, &d, "after the flush");
    ship_flush(st);
    ship_all(st);
    ship_expect(r, &d, "at last");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* A store may have more hours than a pass remembers; hours that must be merged from files are merged nevertheless. */
static void test_ship_sent__many_hours_keep_their_additions(void **state)
{
    (void)state;
    enum { MANY = 65536 + 8 }; /* more than are remembered */
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (int i = 0; i < MANY; i++)
        put(st, &d, 0, T0 - i * TS_HOUR_MS, 1);
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 1, STO_OP_ADD, T0, 5), 0);
    ship_all(st); /* all but the addition */
    ship_flush(st);
    ship_all(st);
    assert_int_equal(ship_stat(st, "ship.held_hours"), 1);
    assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
    assert_true(ship_stat(st, "files.points") >= 1);
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* Passes, flushes and merges in threads of their own, while values of the same times come. */
static void test_ship_sent__threads_keep_the_last_values(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.no_background = false;
    opts.memstore_bytes = 1 << 16;
    opts.remote = r;
    opts.ship_every_ms = 1;
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    uint64_t rnd = 1;
    for (int i = 0; i < 8000; i++) {
        unsigned series = (unsigned)(t_rand(&rnd) % N_SERIES);
        int64_t t = T0 + (int64_t)(t_rand(&rnd) % 60) * 120000;
        if (t_rand(&rnd) % 200)
            put(st, &d, series, t, i);
        else
            assert_int_equal(kit_op(st, sto_writer(st, 0), &d, series, STO_OP_DEL, t, t + 600000), 0);
        sto_writer_turn(sto_writer(st, 0));
        if (i % 1000 == 999)
            assert_int_equal(sto_flush(st, i % 2000 == 999 ? STO_LEVEL_FILES : STO_LEVEL_COMPACT, NULL), 0);
    }
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    assert_int_equal(sto_ship(st, NULL), 0);
    ship_expect(r, &d, "at last");
    kit_expect_all(st, &d, "at last");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_sent__rows_are_fresh_once),
        cmocka_unit_test(test_ship_sent__each_operation_is_sent_once),
        cmocka_unit_test(test_ship_sent__a_failure_counts_as_nothing),
        cmocka_unit_test(test_ship_sent__deletes_and_additions_between_passes),
        cmocka_unit_test(test_ship_sent__deletes_of_held_hours_are_sent_once),
        cmocka_unit_test(test_ship_sent__hours_are_sent_again),
        cmocka_unit_test(test_ship_sent__what_is_sent_again_stays_deleted),
        cmocka_unit_test(test_ship_sent__lost_marks_delete_nothing),
        cmocka_unit_test(test_ship_sent__whole_hours_wait_for_their_end),
        cmocka_unit_test(test_ship_sent__whole_hours_leave_additions_alone),
        cmocka_unit_test(test_ship_sent__any_order_of_everything),
        cmocka_unit_test(test_ship_sent__a_pass_sees_generations_in_order),
        cmocka_unit_test(test_ship_sent__many_hours_keep_their_additions),
        cmocka_unit_test(test_ship_sent__threads_keep_the_last_values),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
