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

/* A counter of the store. */
static inline uint64_t ship_stat(struct sto_store *st, const char *name)
{
    struct r_stat s = {.name = name};
    sto_stats(st, r_stat_one, &s);
    return s.value;
}

#endif
