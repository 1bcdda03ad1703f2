/*
 * ship_kit.h - a store with a remote store behind it: operations, and comparison of the remote store with the
 * plain reference.
 */
#ifndef TESTS_UNIT_STORAGE_SHIP_KIT_H
#define TESTS_UNIT_STORAGE_SHIP_KIT_H

#include "tests/unit/storage/store_kit.h"

#include "storage/remote/memory_remote.h"
#include "tests/unit/storage/remote_kit.h"

/* Pumped and single-threaded; everything happens when the test says so. */
#define SHIP_OPTS(f, r)                                                                                      \
    {                                                                                                        \
        .fs = t_faultfs_fs(f), .dir = "/db", .create = true, .pumped = true, .no_background = true,          \
        .survive_sync_errors = true, .n_writers = 1, .remote = (r), .wal_sync = STO_SYNC_NONE                \
    }

/* A series of the kit by its names. */
struct ship_names {
    char metric[8], host[8];
    struct sto_remote_tag tag;
    struct sto_remote_series s;
};

static inline void ship_names(struct ship_names *n, unsigned i)
{
    snprintf(n->metric, sizeof n->metric, "m%u", i % 2);
    snprintf(n->host, sizeof n->host, "h%u", i);
    n->tag = (struct sto_remote_tag){TS_SLICE_LIT("host"), ts_slice_str(n->host)};
    n->s = (struct sto_remote_series){
        .key = STO_REMOTE_NO_KEY, .metric = ts_slice_str(n->metric), .tags = &n->tag, .n_tags = 1};
}

/* Points of rows in any order, compared one by one. */
struct ship_compare {
    const struct t_ref_point *want;
    size_t n_want, n;
    char *why;
    size_t n_why;
    bool same;
};

static inline int ship_compare_row(void *arg, const struct sto_remote_row *row, size_t pos,
                                   struct ts_error *err)
{
    struct ship_compare *c = arg;
    (void)pos, (void)err;
    for (uint32_t i = 0; i < row->cells->n; i++, c->n++) {
        int64_t t = row->hour * TS_HOUR_MS + sto_meta_off(row->cells->meta[i]);
        bool found = false;
        for (size_t k = 0; k < c->n_want && !found; k++)
            found = c->want[k].ts_ms == t &&
                    t_ref_same(c->want[k].value, sto_cell_num(row->cells->meta[i], row->cells->m[i]));
        if (!found && c->same)
            snprintf(c->why, c->n_why, "%.*s: %lld = %lld is not expected", (int)row->series.tags[0].v.n,
                     row->series.tags[0].v.p, (long long)t, (long long)row->cells->m[i]);
        c->same = c->same && found;
    }
    return 0;
}

/* The remote store holds what the reference does. */
static inline void ship_expect(struct sto_remote *r, const struct diary *d, const char *when)
{
    struct t_ref *ref = t_ref_new();
    for (size_t i = 0; i < d->n; i++)
        t_ref_apply(ref, &d->ops[i]);
    for (unsigned i = 0; i < N_SERIES; i++) {
        struct ship_names names;
        struct t_ref_point *want;
        char why[200] = "";
        struct ts_error err = {0};
        struct ship_compare c = {.same = true, .why = why, .n_why = sizeof why};
        ship_names(&names, i);
        c.n_want = t_ref_scan(ref, i, STO_MIN_TS_MS, STO_MAX_TS_MS, &want);
        c.want = want;
        struct sto_fetch f = {.metric = names.s.metric,
                              .series = &names.s,
                              .n_series = 1,
                              .from_ms = STO_MIN_TS_MS,
                              .to_ms = STO_MAX_TS_MS};
        if (r->ops->fetch(r, &f, NULL, ship_compare_row, &c, &err) < 0)
            fail_msg("%s: fetch: %s", when, err.text);
        if (!c.same || c.n != c.n_want)
            fail_msg("%s: series %u: the remote store has %zu points, expected %zu; %s", when, i, c.n,
                     c.n_want, why);
        ts_free(want);
    }
    t_ref_free(ref);
}

/* Let the writer write, and answer its barriers. */
static inline void ship_turn(struct sto_store *st)
{
    sto_writer_turn(sto_writer(st, 0));
    sto_store_pump(st);
}

static inline void ship_flush(struct sto_store *st)
{
    struct ts_error err = {0};
    ship_turn(st);
    if (sto_flush(st, STO_LEVEL_FILES, &err) < 0)
        fail_msg("flush: %s", err.text);
}

static inline void ship_all(struct sto_store *st)
{
    struct ts_error err = {0};
    ship_turn(st);
    if (sto_ship(st, &err) < 0)
        fail_msg("ship: %s", err.text);
}

/* A store, the remote store behind it, and what was put. */
struct ship_both {
    struct t_faultfs *f;
    struct sto_remote *r;
    struct sto_opts opts; /* of the next ship_reopen */
    struct sto_store *st; /* NULL: is not open */
    struct diary d;
};

/* Make the file system and the remote store; the store is opened by ship_reopen. */
static inline void ship_init(struct ship_both *b, uint64_t seed)
{
    *b = (struct ship_both){.f = t_faultfs_new(seed), .r = sto_memory_remote_new(NULL)};
    b->opts = (struct sto_opts)SHIP_OPTS(b->f, b->r);
}

static inline void ship_reopen(struct ship_both *b)
{
    if (b->st)
        kit_close(b->st);
    b->st = kit_open(&b->opts);
}

static inline void ship_begin(struct ship_both *b)
{
    ship_init(b, 1);
    ship_reopen(b);
}

/* The process dies; without close nothing is written. */
static inline void ship_kill(struct ship_both *b)
{
    (void)sto_close(b->st, NULL);
    b->st = NULL;
    t_faultfs_kill(b->f);
}

static inline void ship_end(struct ship_both *b)
{
    if (b->st)
        kit_close(b->st);
    b->r->ops->close(b->r);
    t_faultfs_free(b->f);
    diary_release(&b->d);
    ts_clock_set_fake(0);
    ts_clock_set_fake_mono(0);
}

/* An operation that the store takes. */
static inline void ship_op(struct ship_both *b, unsigned series, enum sto_op op, int64_t ts_ms, int64_t m)
{
    assert_int_equal(kit_op(b->st, sto_writer(b->st, 0), &b->d, series, op, ts_ms, m), 0);
}

static inline void ship_put(struct ship_both *b, unsigned series, int64_t ts_ms, int64_t v)
{
    ship_op(b, series, STO_OP_PUT, ts_ms, v);
}

static inline void ship_add(struct ship_both *b, unsigned series, int64_t ts_ms, int64_t v)
{
    ship_op(b, series, STO_OP_ADD, ts_ms, v);
}

static inline void ship_del(struct ship_both *b, unsigned series, int64_t from_ms, int64_t to_ms)
{
    ship_op(b, series, STO_OP_DEL, from_ms, to_ms);
}

/* A counter of the store. */
static inline uint64_t ship_stat(struct sto_store *st, const char *name)
{
    struct r_stat s = {.name = name};
    sto_stats(st, r_stat_one, &s);
    return s.value;
}

/* A store with a shipped point that is not here any more. */
static inline void ship_begin_shipped(struct ship_both *b, int64_t value)
{
    ship_begin(b);
    ship_put(b, 0, T0, value);
    ship_put(b, 1, T0, 1); /* its file stays, so that the generation of the other one is known */
    ship_flush(b->st);
    ship_all(b->st);
    assert_int_equal(sto_drop_shipped(b->st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b->st, "files.points"), 0);
}

static inline void ship_end_settled(struct ship_both *b)
{
    for (int i = 0; i < 2; i++) { /* the additions, then the sums */
        ship_flush(b->st);
        ship_all(b->st);
    }
    assert_int_equal(ship_stat(b->st, "ship.held_hours"), 0);
    ship_expect(b->r, &b->d, "at the end");
    ship_end(b);
}

#endif
