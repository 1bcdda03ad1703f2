/*
 * memory_remote.c - a remote store in memory: the functions of the table, and injected faults.
 *
 * Threads    one mutex; `done` of a shipment is called without it
 * Not here   names, series and rows (memory_rows.c), which series are fetched (memory_select.c)
 */
#include "storage/remote/memory_remote.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "storage/remote_cell.h"
#include "storage/remote/memory_rows.h"
#include "storage/remote/memory_select.h"

/* A small cell. */
struct cell {
    struct ts_buf key, value;
};

/* The result of a shipment that is held back. */
struct late {
    sto_remote_done_fn done;
    void *arg;
    int rc;
    struct ts_error err;
};

struct memory_remote {
    struct sto_remote remote; /* must be the first member */
    struct sto_remote_abilities abilities;
    pthread_mutex_t mu; /* everything below */
    struct sto_memory_rows rows;
    struct cell *cells; /* owned; ascending by key */
    size_t n_cells, n_late;
    struct late *late; /* owned; results that wait */
    bool away, hold;
    uint64_t calls_left;    /* calls until the store becomes unreachable; UINT64_MAX = never */
    size_t cut;             /* number of rows that a shipment stores; SIZE_MAX = all; */
    uint64_t cut_after;     /* that one comes after so many others */
    struct ts_slice refuse; /* metric whose rows are refused; n 0 = none */
    uint64_t n_shipments, n_shipped_rows, n_shipped_points, n_fresh_rows, n_deletes;
};

static struct memory_remote *mine(struct sto_remote *r)
{
    return (struct memory_remote *)r;
}

/* Lock, or fail: the call was cancelled, its time is over, or the store is unreachable. */
static int enter(struct memory_remote *m, const struct sto_remote_call *call, struct ts_error *err)
{
    if (call && call->cancel && atomic_load_explicit(call->cancel, memory_order_relaxed))
        return ts_error_set(err, TS_ECANCELLED, "the call was cancelled");
    if (call && call->deadline_ns && ts_clock_mono_ns() >= call->deadline_ns)
        return ts_error_set(err, TS_ETIMEOUT, "the deadline of the call has passed");
    pthread_mutex_lock(&m->mu);
    m->away |= m->calls_left == 0;
    m->calls_left -= m->calls_left != UINT64_MAX && m->calls_left > 0;
    if (!m->away)
        return 0;
    pthread_mutex_unlock(&m->mu);
    return ts_error_set(err, TS_EBACKEND, "the remote store in memory is unreachable");
}

static int leave(struct memory_remote *m, int rc)
{
    pthread_mutex_unlock(&m->mu);
    return rc;
}

static const struct sto_remote_abilities *abilities(const struct sto_remote *r)
{
    return &((const struct memory_remote *)r)->abilities;
}

/* --- writing points --- */

/* Why a row or delete of a series is refused for good; 0 = it is not. */
static int judge(const struct memory_remote *m, const struct sto_remote_series *s, struct ts_error *err)
{
    if (m->refuse.n && ts_slice_eq(m->refuse, s->metric))
        return ts_error_set(err, TS_EINVAL, "the metric is refused");
    if (s->n_tags > m->abilities.max_tags)
        return ts_error_set(err, TS_EINVAL, "a series has at most %u tags", m->abilities.max_tags);
    return 0;
}

static int store_rows(struct memory_remote *m, const struct sto_shipment *s, struct ts_error *err)
{
    size_t cut = m->cut_after ? SIZE_MAX : m->cut;
    if (m->cut_after)
        m->cut_after--;
    else
        m->cut = SIZE_MAX;
    m->n_shipments++;
    for (size_t i = 0; i < s->n; i++) {
        struct ts_error why = {0};
        if (judge(m, &s->rows[i].series, &why) < 0) {
            if (s->refused)
                s->refused(s->arg, i, &why);
            continue;
        }
        struct sto_memory_series *series = sto_memory_series_find(&m->rows, &s->rows[i].series, true);
        struct sto_memory_row *row = sto_memory_row_find(series, s->rows[i].hour, true);
        /* also of rows that are cut off: the sender does not know which of them are */
        if (!sto_memory_row_note(row, &s->rows[i]))
            TS_BUG("a row that claims to be fresh has an offset that was sent before");
        m->n_fresh_rows += s->rows[i].fresh;
        if (i >= cut)
            continue;
        sto_memory_row_put(row, s->rows[i].cells);
        m->n_shipped_rows++;
        m->n_shipped_points += s->rows[i].cells->n;
    }
    return cut < s->n ? ts_error_set(err, TS_EBACKEND, "the shipment was cut off after %zu rows", cut) : 0;
}

static void ship(struct sto_remote *r, const struct sto_shipment *s, const struct sto_remote_call *call,
                 sto_remote_done_fn done, void *arg)
{
    struct memory_remote *m = mine(r);
    struct ts_error err = {0};
    int rc = enter(m, call, &err);
    if (rc == 0) {
        rc = store_rows(m, s, &err);
        bool hold = m->hold;
        if (hold) {
            m->late = ts_xrealloc(m->late, (m->n_late + 1) * sizeof *m->late);
            m->late[m->n_late++] = (struct late){done, arg, rc, err};
        }
        pthread_mutex_unlock(&m->mu);
        if (hold)
            return;
    }
    done(arg, rc, rc < 0 ? &err : NULL);
}

static int delete_range(struct sto_remote *r, const struct sto_remote_series *series, int64_t from_ms,
                        int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err)
{
    struct memory_remote *m = mine(r);
    TS_TRY(enter(m, call, err));
    struct sto_memory_series *s = sto_memory_series_find(&m->rows, series, false);
    m->n_deletes++;
    int rc = s ? judge(m, series, err) : 0;
    for (size_t i = 0; rc == 0 && s && i < s->n_rows; i++)
        sto_memory_row_delete(&s->rows[i], from_ms, to_ms);
    return leave(m, rc);
}

/* --- reading points --- */

/* One fetch at work. */
struct fetching {
    struct memory_remote *m;
    const struct sto_fetch *f;
    const struct sto_remote_call *call;
    sto_fetch_row_fn each;
    void *arg;
    struct sto_cells cells; /* owned; cells of the present row */
    bool found;             /* any_row: it was returned */
};

static int cmp_tag(const void *pa, const void *pb)
{
    const struct sto_remote_tag *a = pa, *b = pb;
    return ts_slice_cmp(a->k, b->k);
}

/* Names of a series; tags has space for n_tags. */
static struct sto_remote_series named(const struct memory_remote *m, const struct sto_memory_series *s,
                                      struct sto_remote_tag *tags)
{
    for (size_t i = 0; i < s->n_tags; i++) {
        tags[i].k = sto_memory_name_text(&m->rows, STO_REMOTE_TAGK, s->tags[2 * i]);
        tags[i].v = sto_memory_name_text(&m->rows, STO_REMOTE_TAGV, s->tags[2 * i + 1]);
    }
    qsort(tags, s->n_tags, sizeof *tags, cmp_tag);
    return (struct sto_remote_series){.key = STO_REMOTE_NO_KEY,
                                      .metric = sto_memory_name_text(&m->rows, STO_REMOTE_METRIC, s->metric),
                                      .tags = tags,
                                      .n_tags = s->n_tags};
}

static int fetch_series(struct fetching *w, const struct sto_memory_series *s,
                        const struct sto_remote_series *names, size_t pos, struct ts_error *err)
{
    const struct sto_fetch *f = w->f;
    for (size_t i = 0; i < s->n_rows; i++) {
        if (w->call && w->call->cancel && atomic_load_explicit(w->call->cancel, memory_order_relaxed))
            return ts_error_set(err, TS_ECANCELLED, "the call was cancelled");
        sto_memory_row_read(&s->rows[i], f->from_ms, f->to_ms, &w->cells);
        if (w->cells.n == 0)
            continue;
        bool whole = !f->series_only && !f->any_row;
        struct sto_remote_row row = {
            .series = *names, .hour = s->rows[i].hour, .cells = whole ? &w->cells : NULL};
        row.series.n_tags = f->any_row ? 0 : names->n_tags;
        TS_TRY(w->each(w->arg, &row, f->any_row ? SIZE_MAX : pos, err));
        w->found = f->any_row;
        if (!whole)
            break;
    }
    return 0;
}

static int fetch_all(struct fetching *w, struct ts_error *err)
{
    const struct sto_fetch *f = w->f;
    bool by_name = f->series && !f->all_buckets;
    for (size_t i = 0; by_name && i < f->n_series && !w->found; i++) {
        const struct sto_memory_series *s = sto_memory_series_find(&w->m->rows, &f->series[i], false);
        if (s)
            TS_TRY(fetch_series(w, s, &f->series[i], i, err));
    }
    for (size_t i = 0; !by_name && i < w->m->rows.n_series && !w->found; i++) {
        const struct sto_memory_series *s = &w->m->rows.series[i];
        struct sto_remote_tag *tags = ts_xcalloc(s->n_tags + 1, sizeof *tags);
        struct sto_remote_series names = named(w->m, s, tags);
        size_t pos = f->series ? sto_memory_position(f, &names) : SIZE_MAX;
        int rc =
            pos != f->n_series && sto_memory_selects(f, &names) ? fetch_series(w, s, &names, pos, err) : 0;
        ts_free(tags);
        TS_TRY(rc);
    }
    return 0;
}

static int fetch_notes(struct fetching *w, struct ts_error *err);

static int fetch(struct sto_remote *r, const struct sto_fetch *f, const struct sto_remote_call *call,
                 sto_fetch_row_fn each, void *arg, struct ts_error *err)
{
    struct fetching w = {.m = mine(r), .f = f, .call = call, .each = each, .arg = arg};
    TS_TRY(enter(w.m, call, err));
    int rc = each ? fetch_all(&w, err) : 0;
    if (rc == 0 && f->note)
        rc = fetch_notes(&w, err);
    sto_cells_release(&w.cells);
    return leave(w.m, rc);
}

static int time_range(struct sto_remote *r, const struct sto_remote_call *call, int64_t *out_min_ms,
                      int64_t *out_max_ms, struct ts_error *err)
{
    struct memory_remote *m = mine(r);
    TS_TRY(enter(m, call, err));
    *out_min_ms = INT64_MAX;
    *out_max_ms = INT64_MIN;
    for (size_t i = 0; i < m->rows.n_series; i++) {
        const struct sto_memory_series *s = &m->rows.series[i];
        for (size_t k = 0; k < s->n_rows; k++) {
            int64_t lo = s->rows[k].hour * TS_HOUR_MS, hi = lo + TS_HOUR_MS - 1;
            if (s->rows[k].cells.n == 0)
                continue;
            *out_min_ms = lo < *out_min_ms ? lo : *out_min_ms;
            *out_max_ms = hi > *out_max_ms ? hi : *out_max_ms;
        }
    }
    if (!m->abilities.knows_range)
        return leave(m, ts_error_set(err, TS_ENOTFOUND, "the range of times is not known"));
    return leave(m, *out_min_ms <= *out_max_ms);
}

/* --- names --- */

static void look_up(struct memory_remote *m, enum sto_remote_lookup what, struct sto_remote_name *name)
{
    if (what == STO_REMOTE_BY_ID) {
        name->name = sto_memory_name_text(&m->rows, name->kind, name->id);
        name->rc = name->name.p ? 0 : TS_ENOTFOUND;
        return;
    }
    name->id = sto_memory_name_id(&m->rows, name->kind, name->name, what == STO_REMOTE_MAKE);
    name->rc = name->id ? 0 : TS_ENOTFOUND;
}

static void names(struct sto_remote *r, enum sto_remote_lookup what, struct sto_remote_name *list, size_t n,
                  const struct sto_remote_call *call, sto_remote_done_fn done, void *arg)
{
    struct memory_remote *m = mine(r);
    struct ts_error err = {0};
    int rc = enter(m, call, &err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        look_up(m, what, &list[i]);
    if (rc == 0)
        pthread_mutex_unlock(&m->mu);
    done(arg, rc, rc < 0 ? &err : NULL);
}

static int cmp_slice(const void *pa, const void *pb)
{
    return ts_slice_cmp(*(const struct ts_slice *)pa, *(const struct ts_slice *)pb);
}

static bool begins_with(struct ts_slice s, struct ts_slice prefix)
{
    return s.n >= prefix.n && ts_slice_eq((struct ts_slice){s.p, prefix.n}, prefix);
}

static int suggest(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice prefix, size_t max,
                   const struct sto_remote_call *call, bool (*each)(void *arg, struct ts_slice name),
                   void *arg, struct ts_error *err)
{
    struct memory_remote *m = mine(r);
    TS_TRY(enter(m, call, err));
    struct ts_slice *found = ts_xcalloc(m->rows.n_names + 1, sizeof *found);
    size_t n = 0;
    for (uint64_t id = 1; id <= m->rows.n_names; id++) {
        struct ts_slice text = sto_memory_name_text(&m->rows, kind, id);
        if (text.p && begins_with(text, prefix))
            found[n++] = text;
    }
    qsort(found, n, sizeof *found, cmp_slice);
    for (size_t i = 0; i < n && i < max && each(arg, found[i]); i++)
        ;
    ts_free(found);
    return leave(m, 0);
}

static int rename_one(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice from,
                      struct ts_slice to, const struct sto_remote_call *call, struct ts_error *err)
{
    struct memory_remote *m = mine(r);
    TS_TRY(enter(m, call, err));
    uint64_t id = sto_memory_name_id(&m->rows, kind, from, false);
    if (!id)
        return leave(m, ts_error_set(err, TS_ENOTFOUND, "no such name: %.*s", (int)from.n, from.p));
    if (sto_memory_name_id(&m->rows, kind, to, false))
        return leave(m, ts_error_set(err, TS_EEXIST, "the name is in use: %.*s", (int)to.n, to.p));
    struct sto_memory_name *name = &m->rows.names[id - 1];
    char *text = ts_xstrndup(to.p, to.n);
    ts_free(name->text);
    name->text = text;
    name->n = to.n;
    return leave(m, 0);
}

/* --- small cells --- */

/* Index of the first cell whose key is not below key. */
static size_t cell_at(const struct memory_remote *m, struct ts_slice key)
{
    size_t i = 0;
    while (i < m->n_cells && ts_slice_cmp(ts_buf_get(&m->cells[i].key), key) < 0)
        i++;
    return i;
}

static struct cell *cell_find(struct memory_remote *m, struct ts_slice key)
{
    size_t i = cell_at(m, key);
    return i < m->n_cells && ts_slice_eq(ts_buf_get(&m->cells[i].key), key) ? &m->cells[i] : NULL;
}

static void cell_free(struct cell *c)
{
    ts_buf_release(&c->key);
    ts_buf_release(&c->value);
}

static int cell_get(struct sto_remote *r, struct ts_slice key, const struct sto_remote_call *call,
                    struct ts_buf *out, struct ts_error *err)
{
    struct memory_remote *m = mine(r);
    TS_TRY(enter(m, call, err));
    const struct cell *c = cell_find(m, key);
    if (!c)
        return leave(m, ts_error_set(err, TS_ENOTFOUND, "there is no such cell"));
    return leave(m, ts_buf_slice(out, ts_buf_get(&c->value)));
}

static int trees(struct sto_remote *r, const struct sto_remote_call *call,
                 bool (*each)(void *arg, uint16_t id), void *arg, struct ts_error *err)
{
    struct memory_remote *m = mine(r);
    TS_TRY(enter(m, call, err));
    struct sto_remote_tag tags[STO_REMOTE_CELL_MAX_TAGS];
    struct sto_remote_cell cell;
    bool goes_on = true;
    for (size_t i = 0; i < m->n_cells && goes_on; i++)
        if (sto_remote_cell_parse(ts_buf_get(&m->cells[i].key), tags, &cell) == 0 &&
            cell.kind == STO_REMOTE_TREE)
            goes_on = each(arg, cell.tree);
    return leave(m, 0);
}

static int cell_cas(struct sto_remote *r, struct ts_slice key, struct ts_slice expected,
                    struct ts_slice value, const struct sto_remote_call *call, struct ts_error *err)
{
    struct memory_remote *m = mine(r);
    TS_TRY(enter(m, call, err));
    struct cell *c = cell_find(m, key);
    struct ts_slice is = c ? ts_buf_get(&c->value) : (struct ts_slice){"", 0};
    if (!ts_slice_eq(is, expected))
        return leave(m, ts_error_set(err, TS_EEXIST, "the cell has another value"));
    size_t at = cell_at(m, key);
    if (c && value.n == 0) {
        cell_free(c);
        memmove(c, c + 1, (m->n_cells - at - 1) * sizeof *c);
        m->n_cells--;
    } else if (value.n) {
        if (!c) {
            m->cells = ts_xrealloc(m->cells, (m->n_cells + 1) * sizeof *m->cells);
            c = &m->cells[at];
            memmove(c + 1, c, (m->n_cells++ - at) * sizeof *c);
            ts_buf_init(&c->key, 0);
            ts_buf_init(&c->value, 0);
            (void)ts_buf_slice(&c->key, key);
        }
        ts_buf_clear(&c->value);
        (void)ts_buf_slice(&c->value, value);
    }
    return leave(m, 0);
}

/* --- annotations --- */

static bool same_series(const struct sto_remote_series *a, const struct sto_remote_series *b)
{
    bool same = ts_slice_eq(a->metric, b->metric) && a->n_tags == b->n_tags;
    for (size_t i = 0; i < a->n_tags && same; i++)
        same = ts_slice_eq(a->tags[i].k, b->tags[i].k) && ts_slice_eq(a->tags[i].v, b->tags[i].v);
    return same;
}

/* Report an annotation, once for each requested series that it belongs to. */
static int fetch_note(struct fetching *w, const struct sto_remote_cell *at, struct ts_slice record,
                      struct ts_error *err)
{
    const struct sto_fetch *f = w->f;
    bool is_global = at->series.metric.n == 0;
    struct sto_remote_note note = {is_global ? NULL : &at->series, at->start_ms, record};
    if (at->start_ms < f->from_ms || at->start_ms > f->to_ms || is_global != (f->metric.n == 0))
        return 0;
    if (is_global || !f->series)
        return is_global || sto_memory_selects(f, &at->series) ? f->note(w->arg, &note, SIZE_MAX, err) : 0;
    for (size_t i = 0; i < f->n_series; i++)
        if (same_series(&f->series[i], &at->series))
            TS_TRY(f->note(w->arg, &note, i, err));
    return 0;
}

static int fetch_notes(struct fetching *w, struct ts_error *err)
{
    struct sto_remote_tag tags[STO_REMOTE_CELL_MAX_TAGS];
    struct sto_remote_cell at;
    for (size_t i = 0; i < w->m->n_cells; i++) {
        const struct cell *c = &w->m->cells[i];
        if (sto_remote_cell_parse(ts_buf_get(&c->key), tags, &at) == 0 && at.kind == STO_REMOTE_ANNOTATION)
            TS_TRY(fetch_note(w, &at, ts_buf_get(&c->value), err));
    }
    return 0;
}

/* --- state --- */

/* It remembers nothing of itself. */
static void recheck(struct sto_remote *r)
{
    (void)r;
}

static void status(struct sto_remote *r, void (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
    struct memory_remote *m = mine(r);
    pthread_mutex_lock(&m->mu);
    each(arg, "away", m->away);
    each(arg, "series", m->rows.n_series);
    each(arg, "points", sto_memory_rows_points(&m->rows));
    each(arg, "cells", m->n_cells);
    each(arg, "shipments", m->n_shipments), each(arg, "shipped_rows", m->n_shipped_rows);
    each(arg, "shipped_points", m->n_shipped_points);
    each(arg, "fresh_rows", m->n_fresh_rows), each(arg, "deletes", m->n_deletes);
    pthread_mutex_unlock(&m->mu);
}

static int check(struct sto_remote *r, bool repair, const struct sto_remote_call *call,
                 void (*found)(void *arg, const char *text), void *arg, struct ts_error *err)
{
    struct memory_remote *m = mine(r);
    (void)repair;
    TS_TRY(enter(m, call, err));
    for (size_t i = 0; i < m->rows.n_series; i++) {
        const struct sto_memory_series *s = &m->rows.series[i];
        for (size_t k = 1; k < s->n_rows; k++)
            if (s->rows[k - 1].hour >= s->rows[k].hour)
                found(arg, "the rows of a series are not in the order of their hours");
    }
    return leave(m, 0);
}

static void close_remote(struct sto_remote *r)
{
    struct memory_remote *m = mine(r);
    sto_memory_rows_release(&m->rows);
    for (size_t i = 0; i < m->n_cells; i++)
        cell_free(&m->cells[i]);
    ts_free(m->cells);
    ts_free(m->late);
    pthread_mutex_destroy(&m->mu);
    ts_free(m);
}

static const struct sto_remote_ops ops = {.name = "memory",
                                          .close = close_remote,
                                          .abilities = abilities,
                                          .ship = ship,
                                          .delete_range = delete_range,
                                          .fetch = fetch,
                                          .time_range = time_range,
                                          .names = names,
                                          .suggest = suggest,
                                          .rename = rename_one,
                                          .cell_get = cell_get,
                                          .cell_cas = cell_cas,
                                          .recheck = recheck,
                                          .trees = trees,
                                          .status = status,
                                          .check = check};

struct sto_remote *sto_memory_remote_new(const struct sto_memory_remote_opts *opts)
{
    struct memory_remote *m = ts_xcalloc(1, sizeof *m);
    m->remote.ops = &ops;
    m->abilities = (struct sto_remote_abilities){.exact = true,
                                                 .milliseconds = true,
                                                 .knows_range = !opts || !opts->no_range,
                                                 .min_ms = STO_MIN_TS_MS,
                                                 .max_ms = STO_MAX_TS_MS,
                                                 .max_tags = opts && opts->max_tags ? opts->max_tags : 255,
                                                 .id_bytes = {3, 2, 4}};
    m->calls_left = UINT64_MAX;
    m->cut = SIZE_MAX;
    pthread_mutex_init(&m->mu, NULL);
    return &m->remote;
}

/* --- faults --- */

void sto_memory_remote_set_unreachable(struct sto_remote *r, bool away)
{
    pthread_mutex_lock(&mine(r)->mu);
    mine(r)->away = away;
    mine(r)->calls_left = UINT64_MAX;
    pthread_mutex_unlock(&mine(r)->mu);
}

void sto_memory_remote_unreachable_after(struct sto_remote *r, uint64_t n_calls)
{
    pthread_mutex_lock(&mine(r)->mu);
    mine(r)->calls_left = n_calls;
    pthread_mutex_unlock(&mine(r)->mu);
}

void sto_memory_remote_cut_next(struct sto_remote *r, size_t n_rows)
{
    sto_memory_remote_cut_after(r, 0, n_rows);
}

void sto_memory_remote_cut_after(struct sto_remote *r, uint64_t n_shipments, size_t n_rows)
{
    pthread_mutex_lock(&mine(r)->mu);
    mine(r)->cut = n_rows;
    mine(r)->cut_after = n_shipments;
    pthread_mutex_unlock(&mine(r)->mu);
}

void sto_memory_remote_refuse(struct sto_remote *r, struct ts_slice metric)
{
    pthread_mutex_lock(&mine(r)->mu);
    mine(r)->refuse = metric;
    pthread_mutex_unlock(&mine(r)->mu);
}

void sto_memory_remote_hold(struct sto_remote *r)
{
    pthread_mutex_lock(&mine(r)->mu);
    mine(r)->hold = true;
    pthread_mutex_unlock(&mine(r)->mu);
}

void sto_memory_remote_release(struct sto_remote *r)
{
    struct memory_remote *m = mine(r);
    pthread_mutex_lock(&m->mu);
    struct late *late = m->late;
    size_t n = m->n_late;
    m->late = NULL;
    m->n_late = 0;
    m->hold = false;
    pthread_mutex_unlock(&m->mu);
    for (size_t i = 0; i < n; i++)
        late[i].done(late[i].arg, late[i].rc, late[i].rc < 0 ? &late[i].err : NULL);
    ts_free(late);
}
