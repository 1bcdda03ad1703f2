/*
 * sim_cells.c - the simulation's small cells: changes in one order, of which a crash leaves a front part.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

static struct ts_slice key_text(unsigned key, char out[16])
{
    snprintf(out, 16, "%s%u", key & 1 ? "note/" : "meta/", key);
    return ts_slice_str(out);
}

/* Its bytes. */
static struct ts_slice value_bytes(struct sim_value v, char out[SIM_VALUE])
{
    uint64_t x = v.seed;
    for (uint32_t i = 0; i < v.n && v.n != 8; i++)
        out[i] = (char)(t_rand(&x) >> 32);
    if (v.n == 8)
        ts_st64(out, v.seed);
    return (struct ts_slice){out, v.n};
}

/* Key after the first n changes. */
static struct sim_value value_at(const struct sim_cells *c, unsigned key, size_t n)
{
    while (n-- > 0)
        if (c->ops[n].key == key)
            return c->ops[n].value;
    return c->base[key];
}

static bool store_has(struct sim *s, unsigned key, struct sim_value want)
{
    char text[16], bytes[SIM_VALUE];
    struct ts_buf is;
    ts_buf_init(&is, 0);
    int rc = sto_cell_get(s->st, key_text(key, text), &is);
    struct ts_slice b = value_bytes(want, bytes);
    bool same = want.n ? rc == 0 && ts_slice_eq(ts_buf_get(&is), b) : rc == TS_ENOTFOUND;
    ts_buf_release(&is);
    return same;
}

static void remember(struct sim_cells *c, unsigned key, struct sim_value value)
{
    if (c->n == c->cap)
        c->ops = ts_xrealloc(c->ops, (c->cap = c->cap ? c->cap * 2 : 64) * sizeof *c->ops);
    c->ops[c->n++] = (struct sim_cell_op){key, value};
}

static struct sim_value some_value(struct sim *s)
{
    struct sim_value v = {.seed = sim_rnd(s, UINT64_MAX)};
    uint64_t r = sim_rnd(s, 20);
    v.n = r == 0 ? (uint32_t)sim_rnd(s, SIM_VALUE) : r < 3 ? 0 : 1 + (uint32_t)sim_rnd(s, 40);
    if (v.n == 8)
        v.n = 9;
    return v;
}

void sim_cell_step(struct sim *s)
{
    struct sim_cells *c = &s->cells;
    unsigned key = (unsigned)sim_rnd(s, SIM_CELLS);
    struct sim_value was = value_at(c, key, c->n), now = some_value(s);
    char text[16], a[SIM_VALUE], b[SIM_VALUE];
    struct ts_error err = {0};
    int rc, want = 0;
    uint64_t how = sim_rnd(s, 3);
    if (how == 0) {
        rc = sto_cell_put(s->st, key_text(key, text), value_bytes(now, a), &err);
    } else if (how == 1) {
        bool right = sim_chance(s, 70);
        struct sim_value guess = right ? was : (struct sim_value){.n = was.n + 1, .seed = 1};
        if (guess.n > SIM_VALUE)
            return;
        want = right ? 0 : TS_EEXIST;
        rc = sto_cell_cas(s->st, key_text(key, text), value_bytes(guess, b), value_bytes(now, a), &err);
    } else {
        int64_t delta = (int64_t)sim_rnd(s, 1000) - 500, sum = 0;
        want = was.n && was.n != 8 ? TS_EINVAL : 0;
        now = (struct sim_value){.n = 8, .seed = (was.n ? was.seed : 0) + (uint64_t)delta};
        rc = sto_cell_incr(s->st, key_text(key, text), delta, &sum, &err);
        if (rc == 0 && (uint64_t)sum != now.seed)
            sim_fail(s, "counter %u is %lld, expected %lld", key, (long long)sum, (long long)now.seed);
    }
    sim_say(s, "cell %u how %d bytes %u: %d", key, (int)how, now.n, rc);
    s->n_ops++;
    if (want && rc == want)
        return;
    if (!sim_ok(s, rc, &err, "a cell")) {
        if (!want && !store_has(s, key, was)) /* the change is in memory and may reach the log later */
            remember(c, key, now);
        return;
    }
    if (want)
        sim_fail(s, "a change of cell %u was taken, expected %s", key, ts_err_name(want));
    remember(c, key, now);
    c->n_seen = c->n;
    if (s->opts.wal_sync != STO_SYNC_NONE)
        c->n_disk = c->n;
}

struct walk {
    struct sim *s;
    unsigned n;
    char last[16];
};

static bool each_cell(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct walk *w = arg;
    (void)value;
    if (key.n >= sizeof w->last)
        sim_fail(w->s, "a cell nobody made");
    struct ts_slice last = ts_slice_str(w->last);
    if (ts_slice_cmp(key, last) <= 0)
        sim_fail(w->s, "cells are out of order");
    memcpy(w->last, key.p, key.n);
    w->last[key.n] = 0;
    w->n +=
        key.n < 5 || memcmp(key.p, "total", 5) != 0; /* declarations of kept totals are not of the model */
    return true;
}

static void check_count(struct sim *s)
{
    struct walk w = {.s = s};
    unsigned n = 0;
    for (unsigned key = 0; key < SIM_CELLS; key++)
        n += value_at(&s->cells, key, s->cells.n).n != 0;
    sto_cell_each(s->st, (struct ts_slice){"", 0}, each_cell, &w);
    if (w.n != n)
        sim_fail(s, "%u cells, expected %u", w.n, n);
}

void sim_check_cells(struct sim *s)
{
    for (unsigned key = 0; key < SIM_CELLS; key++)
        if (!store_has(s, key, value_at(&s->cells, key, s->cells.n)))
            sim_fail(s, "cell %u has another value than was written last", key);
    check_count(s);
}

void sim_check_cell_survivors(struct sim *s, bool power, const char *when)
{
    struct sim_cells *c = &s->cells;
    size_t floor = power ? c->n_disk : c->n_seen;
    unsigned key = 0;
    for (;; c->n--, s->n_lost++) {
        for (key = 0; key < SIM_CELLS && store_has(s, key, value_at(c, key, c->n)); key++)
            ;
        if (key == SIM_CELLS)
            break;
        if (c->n == floor)
            sim_fail(s, "%s: cell %u does not have what was confirmed (%zu changes)", when, key, floor);
    }
    check_count(s);
    for (key = 0; key < SIM_CELLS; key++)
        c->base[key] = value_at(c, key, c->n);
    c->n = c->n_seen = c->n_disk = 0;
}
