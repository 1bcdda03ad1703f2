/*
 * test_forget_steps.c - a pass of forgetting stops at each of its moments, and others act: who puts, who asks, who reads, and
 * the power.
 *
 * Two writers, turned by the test. One series has points on disk, the others have none; one of them is in use.
 */
#include "tests/unit/storage/windows_kit.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "storage/catalog/forget.h"

#define SOME    16 /* series without points */
#define KNOWN   0  /* this one has points */
#define N_STEPS 4

struct scene {
    struct t_faultfs *f;
    struct sto_store *st;
    unsigned used;                  /* the series that somebody wants; its log belongs to writer 1 */
    const struct sto_series *known; /* as somebody has known it since before the pass */
    uint32_t id;                    /* its number then */
    enum sto_forget_step at;        /* where act is called */
    void (*act)(struct scene *x);   /* NULL = nothing */
    unsigned n_acts;                /* calls of it */
    int rc;                         /* of what it did */
    uint32_t got;                   /* number that it was given */
    struct sto_snap *snap;          /* that it took */
    bool said;                      /* something is said about the series now */
};

static void on_step(void *arg, enum sto_forget_step where)
{
    struct scene *x = arg;
    if (where == x->at && x->act) {
        x->act(x);
        x->n_acts++;
    }
}

static bool keeps(struct sto_store *st, const struct sto_series *s);
static struct scene *on_stage; /* for keeps */

static struct sto_store *scene_open(struct scene *x, bool pumped)
{
    struct sto_opts opts = KIT_OPTS(x->f, 2);
    opts.own_threads = false;
    opts.pumped = pumped;
    opts.retention_ms = 30 * DAY;
    opts.keeps_series = keeps;
    x->st = kit_open(&opts);
    on_stage = x;
    sto_catalog_forget_on_step(sto_store_catalog(x->st), on_step, x);
    return x->st;
}

static bool keeps(struct sto_store *st, const struct sto_series *s)
{
    (void)st;
    return on_stage->said && s->id == on_stage->id;
}

/* A store with a series that has a point in a file and a point in a log, and others that have none. */
static void scene_begin(struct scene *x, enum sto_forget_step at, void (*act)(struct scene *x))
{
    *x = (struct scene){.f = t_faultfs_new(1), .at = at, .act = act, .got = UINT32_MAX};
    clocks(T0, 1000);
    scene_open(x, true);
    put_at(x->st, KNOWN, T0, 1);
    flush_to(x->st, STO_LEVEL_FILES);
    put_at(x->st, KNOWN, T0 + 1000, 2);
    flush_to(x->st, STO_LEVEL_DISK);
    for (unsigned i = 1; i <= SOME; i++) {
        const struct sto_series *s = kit_series(x->st, i);
        if (!x->known && sto_writer_slot(sto_writer(x->st, 0), s) == 1) {
            x->used = i;
            x->known = s;
            x->id = s->id;
        }
    }
    assert_non_null(x->known);
}

static void scene_end(struct scene *x)
{
    kit_close(x->st);
    t_faultfs_free(x->f);
}

static uint64_t pass(struct scene *x)
{
    struct ts_error err = {0};
    uint64_t before = stat_of(x->st, "catalog.series_forgotten");
    if (sto_store_pump_forget(x->st, &err) < 0)
        fail_msg("forget: %s", err.text);
    assert_int_equal(x->n_acts, 1);
    return stat_of(x->st, "catalog.series_forgotten") - before;
}

/* The series as the catalog has it; NULL: it has none. */
static const struct sto_series *find(struct scene *x)
{
    char text[32], host[8];
    snprintf(host, sizeof host, "h%u", x->used);
    int n = snprintf(text, sizeof text, "m%u host=%s", x->used % 2, host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    const struct sto_series *s = NULL;
    (void)sto_series_resolve(sto_store_catalog(x->st), (struct ts_slice){text, (size_t)n}, 2, &tag, 1, false,
                             &s, NULL);
    return s;
}

static void turn_both(struct scene *x)
{
    for (unsigned i = 0; i < 4; i++)
        sto_writer_turn(sto_writer(x->st, i % 2));
}

/* --- those who put --- */

/* A worker puts to a series that it has known for long; what it sends waits in another worker's queue. */
static void put_by_old_knowledge(struct scene *x)
{
    x->rc = sto_put(sto_writer(x->st, 0), x->known, T0, (struct ts_num){.m = 7}, true);
    sto_writer_turn(sto_writer(x->st, 0));
}

static void test_forget_steps__a_point_under_way_keeps_its_series(void **state)
{
    (void)state;
    struct scene x;
    scene_begin(&x, STO_FORGET_BEGUN, put_by_old_knowledge);
    assert_int_equal(pass(&x), SOME - 1);
    assert_int_equal(x.rc, 0);
    assert_ptr_equal(sto_series_get(sto_store_catalog(x.st), x.id), x.known);
    assert_int_equal(seen(x.st, x.used).n, 1);
    assert_int_equal(seen(x.st, KNOWN).n, 2);
    scene_end(&x);
}

/* A delete, too: what it concerns may be in a batch. */
static void delete_by_old_knowledge(struct scene *x)
{
    x->rc = sto_delete(sto_writer(x->st, 0), x->known, 0, STO_MAX_TS_MS);
    sto_writer_turn(sto_writer(x->st, 0));
}

static void test_forget_steps__a_delete_under_way_keeps_its_series(void **state)
{
    (void)state;
    struct scene x;
    scene_begin(&x, STO_FORGET_BEGUN, delete_by_old_knowledge);
    assert_int_equal(pass(&x), SOME - 1);
    assert_ptr_equal(sto_series_get(sto_store_catalog(x.st), x.id), x.known);
    scene_end(&x);
}

/* Whoever has ended a turn asks for the series, and puts to what the answer is. */
static void ask_and_put(struct scene *x)
{
    char text[32], host[8];
    snprintf(host, sizeof host, "h%u", x->used);
    int n = snprintf(text, sizeof text, "m%u host=%s", x->used % 2, host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    const struct sto_series *s = NULL;
    x->rc = sto_series_resolve(sto_store_catalog(x->st), (struct ts_slice){text, (size_t)n}, 2, &tag, 1, true,
                               &s, NULL);
    if (x->rc < 0)
        return;
    x->got = s->id;
    assert_int_equal(sto_put(sto_writer(x->st, 0), s, T0, (struct ts_num){.m = 7}, true), 0);
}

static void test_forget_steps__who_asks_gets_a_series_that_stays(void **state)
{
    (void)state;
    static const struct {
        enum sto_forget_step at;
        bool stays; /* with its number */
        int rc;     /* of asking for it */
    } rows[N_STEPS] = {
        {STO_FORGET_BEGUN, true, 0},
        {STO_FORGET_SPARED, true, 0},
        {STO_FORGET_WRITTEN, false, TS_EBUSY},
        {STO_FORGET_TAKEN, false, 0},
    };
    for (unsigned i = 0; i < N_STEPS; i++) {
        struct scene x;
        scene_begin(&x, rows[i].at, ask_and_put);
        uint32_t end = sto_series_count(sto_store_catalog(x.st));
        assert_int_equal(pass(&x), rows[i].stays ? SOME - 1 : SOME);
        assert_int_equal(x.rc, rows[i].rc);
        if (x.rc == TS_EBUSY) {
            ask_and_put(&x); /* again */
            assert_int_equal(x.rc, 0);
        }
        turn_both(&x);
        assert_int_equal(x.got, rows[i].stays ? x.id : end);
        assert_int_equal(find(&x)->id, x.got);
        assert_int_equal(seen(x.st, x.used).n, 1);
        assert_int_equal(seen(x.st, KNOWN).n, 2);
        x.act = NULL;
        for (unsigned k = 0; k < 4; k++) { /* memory is used again, and the next passes leave it alone */
            assert_int_equal(sto_store_pump_forget(x.st, NULL), 0);
            turn_both(&x);
        }
        assert_int_equal(find(&x)->id, x.got);
        assert_int_equal(seen(x.st, x.used).sum, 7);
        scene_end(&x);
    }
}

/* Somebody says something about the series when it was already seen that nobody did. */
static void say_something(struct scene *x)
{
    x->said = true;
}

static void test_forget_steps__what_is_said_meanwhile_keeps_its_series(void **state)
{
    (void)state;
    struct scene x;
    scene_begin(&x, STO_FORGET_BEGUN, say_something);
    assert_int_equal(pass(&x), SOME - 1);
    assert_ptr_equal(find(&x), x.known);
    scene_end(&x);
}

/* --- those who read --- */

static void take_snapshot(struct scene *x)
{
    x->snap = sto_snap_take(x->st);
    x->known = sto_series_get(sto_store_catalog(x->st), x->id);
}

static void test_forget_steps__a_snapshot_reads_on(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_STEPS; i++) {
        struct scene x;
        scene_begin(&x, (enum sto_forget_step)i, take_snapshot);
        assert_int_equal(pass(&x), SOME);
        assert_true((x.known != NULL) == (i < STO_FORGET_TAKEN));
        x.act = NULL;
        for (unsigned k = 0; k < 5; k++) { /* others come, and take what memory there is */
            assert_int_equal(sto_store_pump_forget(x.st, NULL), 0);
            for (unsigned n = 0; n < SOME; n++)
                (void)kit_series(x.st, 100 + n);
        }
        const struct sto_series *both[2] = {kit_series(x.st, KNOWN), x.known};
        struct sto_scan_spec spec = {.metric = both[0]->metric,
                                     .series = both,
                                     .n_series = x.known && x.known->metric == both[0]->metric ? 2 : 1,
                                     .from_ms = STO_MIN_TS_MS,
                                     .to_ms = STO_MAX_TS_MS,
                                     .final = true};
        struct sto_merge *scan;
        struct sto_row row;
        unsigned n_points = 0;
        int rc = sto_scan(x.snap, &spec, &scan, NULL);
        while (rc >= 0 && (rc = sto_merge_next(scan, &row, NULL)) == 1)
            n_points += row.cells->n;
        assert_int_equal(rc, 0);
        assert_int_equal(n_points, 2);
        sto_merge_free(scan);
        if (x.known) {
            assert_int_equal(x.known->id, x.id);
            assert_memory_equal(sto_series_text(x.known).p + x.known->metric_len, " host=h", 7);
        }
        sto_snap_release(x.snap);
        scene_end(&x);
    }
}

static void list_all(struct scene *x)
{
    struct sto_catalog *cat = sto_store_catalog(x->st);
    uint32_t metric;
    assert_int_equal(sto_uid_find(cat, STO_UID_METRIC, TS_SLICE_LIT("m0"), &metric), 0);
    roaring_bitmap_t *set;
    assert_int_equal(sto_select(cat, metric, NULL, 0, false, NULL, &set, NULL), 0);
    x->got = (uint32_t)roaring_bitmap_get_cardinality(set);
    roaring_uint32_iterator_t it;
    for (roaring_init_iterator(set, &it); it.has_value; roaring_advance_uint32_iterator(&it))
        assert_non_null(sto_series_get(cat, it.current_value));
    roaring_bitmap_free(set);
}

static void test_forget_steps__lists_show_it_until_it_is_gone(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_STEPS; i++) {
        struct scene x;
        scene_begin(&x, (enum sto_forget_step)i, list_all);
        assert_int_equal(pass(&x), SOME);
        assert_int_equal(x.got, i < STO_FORGET_TAKEN ? 1 + SOME / 2 : 1);
        scene_end(&x);
    }
}

/* --- the power --- */

/* A point that is confirmed to be on disk, and then there is no power. */
static void put_and_cut(struct scene *x)
{
    ask_and_put(x);
    turn_both(x);
    struct ts_error err = {0};
    if (sto_flush(x->st, STO_LEVEL_DISK, &err) < 0)
        fail_msg("%s", err.text);
    t_faultfs_power_cut(x->f);
}

static void cut(struct scene *x)
{
    t_faultfs_power_cut(x->f);
}

static void test_forget_steps__a_crash_loses_no_point(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_STEPS * 4; i++) {
        struct scene x;
        bool puts = i / N_STEPS % 2;
        enum t_keep keep = i / N_STEPS / 2 ? T_KEEP_ALL : T_KEEP_NONE;
        scene_begin(&x, (enum sto_forget_step)(i % N_STEPS), puts ? put_and_cut : cut);
        uint32_t end = sto_series_count(sto_store_catalog(x.st));
        (void)sto_store_pump_forget(x.st, NULL);
        assert_int_equal(x.n_acts, 1);
        (void)sto_close(x.st, NULL);
        t_faultfs_reboot(x.f, keep);
        x.act = NULL;
        scene_open(&x, true);
        assert_int_equal(seen(x.st, KNOWN).n, 2);
        bool taken = puts && x.rc == 0;
        if (taken) {
            assert_non_null(find(&x));
            assert_int_equal(find(&x)->id, x.got);
            assert_int_equal(seen(x.st, x.used).n, 1);
        }
        /* A number that was written down as forgotten is nobody else's, before and after another pass. */
        for (unsigned k = 0; k < 2; k++) {
            const struct sto_series *other = kit_series(x.st, 200 + k);
            assert_true(x.at < STO_FORGET_WRITTEN || other->id >= end);
            assert_true(!taken || other->id != x.got);
            assert_int_equal(sto_store_pump_forget(x.st, NULL), 0);
        }
        assert_int_equal(taken ? seen(x.st, x.used).n : 1, 1);
        assert_true((find(&x) != NULL) == taken);
        scene_end(&x);
    }
}

/* --- workers of their own --- */

struct passing {
    struct scene *x;
    int begun, go, spared, ended; /* eventfds */
};

static void tell(int fd)
{
    uint64_t one = 1;
    assert_int_equal(write(fd, &one, sizeof one), sizeof one);
}

static void await(int fd)
{
    uint64_t n;
    assert_int_equal(read(fd, &n, sizeof n), sizeof n);
}

static struct passing *passing;

static void stop_when_begun(struct scene *x)
{
    (void)x;
    tell(passing->begun);
    await(passing->go);
}

static void on_every_step(void *arg, enum sto_forget_step where)
{
    on_step(arg, where);
    if (where == STO_FORGET_SPARED)
        tell(passing->spared);
}

static void *pass_thread(void *arg)
{
    struct passing *p = arg;
    assert_int_equal(sto_store_pump_forget(p->x->st, NULL), 0);
    tell(p->ended);
    return NULL;
}

/* A worker holds a point in an open batch and ends its turn when the store wakes it, as the daemon's do. */
static void test_forget_steps__waits_until_workers_have_ended_a_turn(void **state)
{
    (void)state;
    struct scene x;
    struct passing p = {&x, eventfd(0, 0), eventfd(0, 0), eventfd(0, 0), eventfd(0, 0)};
    pthread_t thread;
    passing = &p;
    scene_begin(&x, STO_FORGET_BEGUN, stop_when_begun);
    kit_close(x.st); /* again, with writers that the store waits for */
    scene_open(&x, false);
    x.known = NULL;
    for (unsigned i = 1; i <= SOME; i++)
        (void)kit_series(x.st, i);
    x.known = find(&x);
    sto_catalog_forget_on_step(sto_store_catalog(x.st), on_every_step, &x);
    assert_int_equal(pthread_create(&thread, NULL, pass_thread, &p), 0);
    await(p.begun);
    assert_int_equal(sto_put(sto_writer(x.st, 0), x.known, T0, (struct ts_num){.m = 7}, true), 0);
    tell(p.go);
    struct pollfd fds[] = {{sto_writer_fd(sto_writer(x.st, 0)), POLLIN, 0},
                           {sto_writer_fd(sto_writer(x.st, 1)), POLLIN, 0},
                           {p.spared, POLLIN, 0},
                           {p.ended, POLLIN, 0}};
    while (!(fds[3].revents & POLLIN)) {
        assert_true(poll(fds, 4, -1) > 0);
        if (fds[2].revents & POLLIN) { /* who forgets has nobody to wait for any more */
            await(p.spared);
            fds[0].fd = fds[1].fd = -1;
            continue;
        }
        for (unsigned i = 2; i-- > 0;)
            if (fds[i].revents & POLLIN)
                sto_writer_turn(sto_writer(x.st, i));
    }
    pthread_join(thread, NULL);
    turn_both(&x);
    assert_ptr_equal(sto_series_get(sto_store_catalog(x.st), x.known->id), x.known);
    assert_int_equal(seen(x.st, x.used).n, 1);
    scene_end(&x);
    close(p.begun), close(p.go), close(p.spared), close(p.ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_forget_steps__a_point_under_way_keeps_its_series),
        CASE(test_forget_steps__a_delete_under_way_keeps_its_series),
        CASE(test_forget_steps__who_asks_gets_a_series_that_stays),
        CASE(test_forget_steps__what_is_said_meanwhile_keeps_its_series),
        CASE(test_forget_steps__a_snapshot_reads_on),
        CASE(test_forget_steps__lists_show_it_until_it_is_gone),
        CASE(test_forget_steps__a_crash_loses_no_point),
        CASE(test_forget_steps__waits_until_workers_have_ended_a_turn),
    };
    ts_log_set_level(TS_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
