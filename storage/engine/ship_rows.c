/*
 * ship_rows.c - ships the rows of an hour, in steps.
 *
 * A step begins when everything of the one before was acknowledged, since the order of writes must hold within an hour. Steps of other hours
 * may be under way at the same time.
 *
 * There are two ways. *Memory*: rows of memstores are sent generation by generation, of each row what was appended since the last time; the
 * row remembers how many of its operations were acknowledged. *Merge*: what lies above the mark and up to the target is read from files and
 * memstores as a merge; older values may then replace newer ones that were sent from memory before, so all of these are sent again.
 *
 * With ship_whole_hours an hour from which nothing was ever sent is shipped as a merge too, to which the puts of later memstores are added,
 * so that each row is sent once. They are added up to the first memstore that has other operations on the row.
 *
 * Rows that the remote store has refused are sent again by themselves, if nothing else of their hour has changed: others may have been
 * corrected by another writer since they were shipped.
 *
 * What is fresh: all offsets that were ever sent of an hour, by a shipment that failed too, are below `end`, or unknown. Of a row in
 * memory more is known: everything sent of its series from elsewhere is below `before`, and if its operations are in order of time, what
 * follows those sent is later than they are.
 *
 * Threads    under the mutex of the shipper
 */
#include "storage/engine/ship_int.h"

#include "base/array.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Add what a step has sent, all of which is answered. elsewhere: rows in memory do not know of it. */
static void note_hour(struct sto_ship__hour *h, struct sto_sending *s, bool elsewhere)
{
    uint32_t end = sto_sending__hour(s, h->hour)->end;
    h->end = end > h->end ? end : h->end;
    if (elsewhere)
        h->before = h->end;
}

/* The same for all n hours of a sending, from index `first` of the order on. */
static void note(struct sto_ship__pass *p, size_t first, size_t n, struct sto_sending *s, bool elsewhere)
{
    for (size_t i = 0; i < n; i++)
        note_hour(sto_ship__hour_at(p, first + i), s, elsewhere);
    p->n_points += s->n_points;
    atomic_fetch_add_explicit(&p->s->n_rows, s->n_rows, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->s->n_points, s->n_points, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->s->n_refused, s->n_refused, memory_order_relaxed);
}

/* --- merges --- */

/* Begin a sending of n hours from index `first` of the order on. */
static void begin_sending(struct sto_ship__pass *p, size_t first, size_t n, struct sto_sending *s)
{
    int32_t hi = sto_ship__hour_at(p, first)->hour, lo = sto_ship__hour_at(p, first + n - 1)->hour;
    sto_sending__init(s, p->e, &p->flight, &p->s->stop, lo, (uint32_t)(hi - lo) + 1);
    s->additions = &p->additions;
}

/* Rows of hours that are above their mark, which is that of the last one, and in generations up to the target, which is all that their new mark covers; or, again, of files
 * that their mark covers. They are not mixed with what is later in memory: otherwise additions in memory would be shipped as a part of what
 * the mark covers, and deletes in memory would keep points back that the mark covers. What is sent again leaves out what deletes of any
 * file delete: a delete that was shipped already, but lies in a file or an hour beyond the mark, would not be sent after it. */
static int scan_hours(struct sto_ship__pass *p, const struct sto_sending *s, bool again,
                      struct sto_merge **out, struct ts_error *err)
{
    uint64_t mark = sto_mark_of(&p->marks, s->first_hour);
    struct sto_sst **ssts = ts_xcalloc(p->v->n_ssts + 1, sizeof *ssts);
    struct sto_mem **mems = ts_xcalloc(p->v->n_mems + 1, sizeof(struct sto_mem *));
    size_t n = 0, n_mems = 0, n_others = 0;
    struct sto_sst **others = ts_xcalloc(p->v->n_ssts + 1, sizeof *others);
    struct sto_scan_spec spec = {.from_ms = s->first_hour * TS_HOUR_MS,
                                 .to_ms = (s->first_hour + (int64_t)s->n_hours) * TS_HOUR_MS - 1,
                                 .cutoff_ms = p->v->cutoff_ms,
                                 .cutoff_gen = p->v->cutoff_gen};
    for (size_t i = 0; i < p->v->n_ssts; i++)
        if ((sto_sst_info(p->v->ssts[i])->gen_hi <= mark) == again)
            ssts[n++] = p->v->ssts[i];
        else if (again && !sto_sst_broken(p->v->ssts[i]))
            others[n_others++] = p->v->ssts[i];
    spec.deletes = others;
    spec.n_deletes = n_others;
    for (size_t i = 0; !again && i < p->v->n_mems; i++)
        if (sto_mem_gen(p->v->mems[i]) <= p->target)
            mems[n_mems++] = p->v->mems[i];
    int rc = sto_merge_new(&spec, ssts, n, mems, n_mems, out, err);
    ts_free(ssts);
    ts_free(others);
    ts_free(mems);
    return rc;
}

/* Were points of a series refused in this hour? Yes, if it is not known. */
static bool was_refused(const struct sto_ship__hour *h, uint32_t series)
{
    return !h->refused || bsearch(&series, h->refused, h->n_refused, sizeof *h->refused, ts_cmp_u32);
}

/* Of which rows a merge is sent. */
struct merge_of {
    size_t first, n; /* hours, in the order of the pass */
    bool again;      /* what their mark covers */
    bool refused;    /* rows that were refused alone */
};

/* Send a merge. *out_local: the error is one of files here. */
static int send_merge(struct sto_ship__pass *p, const struct merge_of *of, struct sto_sending *sending,
                      bool *out_local, struct ts_error *err)
{
    struct sto_merge *merge = NULL;
    struct sto_row row;
    const struct sto_ship__hour *hours[STO_SENDING_HOURS] = {0};
    int sent = 0, rc = scan_hours(p, sending, of->again, &merge, err);
    *out_local = rc < 0;
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < of->n; i++) {
        const struct sto_ship__hour *h = sto_ship__hour_at(p, of->first + i);
        hours[h->hour - sending->first_hour] = h;
    }
    while (sent == 0 && (rc = sto_merge_next(merge, &row, err)) == 1) {
        const struct sto_ship__hour *h = hours[row.key.hour - sending->first_hour];
        if (h && (!of->refused || was_refused(h, row.key.series)))
            sent = sto_sending__row(sending, &row.key, row.cells, h->knows ? h->end : UINT32_MAX, err);
    }
    *out_local = rc < 0;
    sto_merge_free(merge);
    return rc < 0 ? rc : sent;
}

/* --- whole hours --- */

/* A row being put together from a merge and from memory. */
struct whole {
    struct sto_ship__row **rows; /* rows of memory above the target, by series and generation; owned */
    size_t n, at;
    struct sto_cells all, later, sum; /* the row; what is added to it; for adding */
};

static int cmp_series(const void *pa, const void *pb)
{
    const struct sto_ship__row *a = *(struct sto_ship__row *const *)pa,
                               *b = *(struct sto_ship__row *const *)pb;
    const struct sto_series *x = sto_mem_row_series(a->row), *y = sto_mem_row_series(b->row);
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return a->gen < b->gen ? -1 : a->gen > b->gen;
}

static void whole_init(struct whole *w, struct sto_ship__pass *p, const struct sto_ship__hour *h)
{
    *w = (struct whole){.rows = ts_xcalloc(h->n_rows + 1, sizeof(struct sto_ship__row *))};
    for (size_t i = h->row; i < h->row + h->n_rows; i++) {
        p->rows[i].n = 0;
        if (p->rows[i].gen > p->target)
            w->rows[w->n++] = &p->rows[i];
    }
    if (w->n)
        qsort(w->rows, w->n, sizeof(struct sto_ship__row *), cmp_series);
}

static void whole_release(struct whole *w)
{
    ts_free(w->rows);
    sto_cells_release(&w->all);
    sto_cells_release(&w->later);
    sto_cells_release(&w->sum);
}

static void add_cell(struct sto_cells *to, const struct sto_cells *from, uint32_t i)
{
    to->meta[to->n] = from->meta[i];
    to->m[to->n++] = from->m[i];
}

/* Put later points over the row. */
static void put_over(struct whole *w)
{
    const struct sto_cells *a = &w->all, *b = &w->later;
    struct sto_cells *sum = &w->sum, was = w->all;
    uint32_t i = 0, k = 0;
    sto_cells_reserve(sum, a->n + b->n);
    sum->n = 0;
    sum->uniform = false;
    while (i < a->n || k < b->n) {
        uint32_t x = i < a->n ? sto_meta_off(a->meta[i]) : UINT32_MAX,
                 y = k < b->n ? sto_meta_off(b->meta[k]) : UINT32_MAX;
        if (x < y)
            add_cell(sum, a, i++);
        else
            add_cell(sum, b, k++);
        i += x == y;
    }
    w->all = *sum;
    w->sum = was;
}

static void copy_row(struct sto_cells *to, const struct sto_cells *from)
{
    sto_cells_reserve(to, from->n);
    memcpy(to->meta, from->meta, from->n * sizeof *to->meta);
    memcpy(to->m, from->m, from->n * sizeof *to->m);
    to->n = from->n;
    to->uniform = from->uniform;
    to->common = from->common;
}

/* The next row in the order of series; merged: of the merge, NULL: it has ended. Returns whether merged was used. */
static bool whole_next(struct whole *w, const struct sto_row *merged, struct sto_key *key)
{
    const struct sto_series *s = w->at < w->n ? sto_mem_row_series(w->rows[w->at]->row) : NULL;
    bool mixed = false, use = merged && (!s || merged->key.metric < s->metric ||
                                         (merged->key.metric == s->metric && merged->key.series <= s->id));
    *key = use ? merged->key : (struct sto_key){.metric = s->metric, .series = s->id, .hour = key->hour};
    w->all.n = 0;
    if (use && merged->cells->n)
        copy_row(&w->all, merged->cells);
    for (; w->at < w->n; w->at++) {
        struct sto_ship__row *r = w->rows[w->at];
        if (sto_mem_row_series(r->row)->id != key->series)
            break;
        uint32_t n = 0;
        if (!mixed)
            (void)sto_mem_row_read_from(r->row, 0, &w->later, &n, &mixed);
        if (mixed)
            continue; /* it and what is newer follow by themselves */
        put_over(w);
        r->n = n;
    }
    return use;
}

/* Send the rows of an hour once, from files and memory. Parameters and result as for send_merge. */
static int send_whole(struct sto_ship__pass *p, const struct sto_ship__hour *h, struct sto_sending *sending,
                      bool *out_local, struct ts_error *err)
{
    struct sto_merge *merge = NULL;
    struct whole w;
    struct sto_row row;
    struct sto_key key = {.hour = h->hour};
    int sent = 0, rc = scan_hours(p, sending, false, &merge, err);
    *out_local = rc < 0;
    if (rc < 0)
        return rc;
    whole_init(&w, p, h);
    rc = sto_merge_next(merge, &row, err);
    while (sent == 0 && (rc == 1 || (rc == 0 && w.at < w.n))) {
        bool used = whole_next(&w, rc == 1 ? &row : NULL, &key);
        if (w.all.n)
            sent = sto_sending__row(sending, &key, &w.all, h->end, err);
        if (used && sent == 0)
            rc = sto_merge_next(merge, &row, err);
    }
    *out_local = rc < 0;
    sto_merge_free(merge);
    whole_release(&w);
    return rc < 0 ? rc : sent;
}

/* --- again --- */

/* Send what the mark of some hours covers. *out_n_points: how much it was. */
static int send_again(struct sto_ship__pass *p, size_t first, size_t n, uint64_t *out_n_points,
                      struct ts_error *err)
{
    struct sto_sending sending;
    bool local = false;
    struct ts_error why = {0};
    begin_sending(p, first, n, &sending);
    sending.additions = NULL; /* their sums were sent */
    for (size_t i = first; i < first + n; i++)
        sto_ship__hour_at(p, i)->follow = true;
    int rc = send_merge(p, &(struct merge_of){.first = first, .n = n, .again = true}, &sending, &local, &why);
    rc = sto_sending__end(&sending, rc, &why);
    note(p, first, n, &sending, true);
    *out_n_points = sending.n_points;
    for (size_t i = first; i < first + n; i++) {
        struct sto_ship__hour *h = sto_ship__hour_at(p, i);
        const struct sto_sent_hour *sent = sto_sending__hour(&sending, h->hour);
        h->again_held = rc == 0 && (sent->held || sent->n_refused);
        h->again_done = rc == 0;
        h->again &= rc < 0;
    }
    sto_sending__release(&sending);
    if (rc < 0 && local && n > 1) { /* an hour that cannot be read must not hold up the others */
        rc = 0;
        for (size_t i = first; i < first + n && rc == 0; i++)
            rc = send_again(p, i, 1, out_n_points, err);
        return rc;
    }
    if (rc < 0 && !local)
        return ts_error_set(err, rc, "%s", why.text);
    if (rc < 0 && !p->failed.code)
        p->failed = why;
    return 0;
}

/* The number of hours from an index of the order on whose marks are equal, and which one sending can have; at most max. again: which
 * are to be sent again. Others have nothing but files that were not shipped. */
static size_t together(const struct sto_ship__pass *p, size_t first, size_t max, bool again)
{
    const struct sto_ship__hour *from = sto_ship__hour_at(p, first);
    uint64_t mark = sto_mark_of(&p->marks, from->hour);
    size_t n = 1;
    for (; n < max && first + n < p->n_order; n++) {
        const struct sto_ship__hour *h = sto_ship__hour_at(p, first + n);
        bool fits = again ? h->again : h->n_rows == 0 && sto_ship__has_changed(p, h);
        if (!fits || from->hour - h->hour >= (int32_t)STO_SENDING_HOURS ||
            sto_mark_of(&p->marks, h->hour) != mark)
            break;
    }
    return n;
}

int sto_ship__again(struct sto_ship__pass *p, struct ts_error *err)
{
    for (size_t i = 0, n, max = 1; i < p->n_order && p->again.n; i += n) {
        struct sto_ship__hour *h = sto_ship__hour_at(p, i);
        uint64_t n_points;
        n = 1;
        if (!h->again)
            continue;
        if (p->n_points >= sto_ship__pass_points(p)) { /* it is as any other hour until the next pass */
            h->again = false;
            h->again_left = p->more = true;
            continue;
        }
        n = together(p, i, max, true);
        TS_TRY(send_again(p, i, n, &n_points, err));
        max = sto_ship__next_group(n, n_points);
    }
    p->n_again = p->n_points;
    return 0;
}

/* --- the step that merges --- */

/* Rows of memory of an hour that is merged are sent again after that, and know nothing any more. */
static void send_memory_again(struct sto_ship__pass *p, const struct sto_ship__open *o,
                              struct sto_ship__hour *h)
{
    for (size_t i = h->row; i < h->row + h->n_rows; i++)
        if (!o->again_refused || was_refused(h, sto_mem_row_series(p->rows[i].row)->id))
            sto_mem_row_set_sent(p->rows[i].row, 0);
    h->before = h->end;
}

/* Send what the mark will cover as a merge, or the whole hour together with what memory has beyond it. */
static void begin_merge(struct sto_ship__pass *p, struct sto_ship__open *o)
{
    const struct merge_of of = {.first = o->first, .n = o->n_hours, .refused = o->again_refused};
    for (size_t i = 0; i < o->n_hours; i++)
        send_memory_again(p, o, sto_ship__hour_at(p, o->first + i));
    o->merges = o->runs = true;
    begin_sending(p, o->first, o->n_hours, &o->sending);
    o->rc = o->whole ? send_whole(p, o->h, &o->sending, &o->local, &o->why)
                     : send_merge(p, &of, &o->sending, &o->local, &o->why);
    sto_sending__flush(&o->sending, o->rc);
}

/* Remember which series of an hour were refused, so that they alone are sent again. */
static void set_refused(struct sto_ship__hour *h, const struct sto_sending *s, bool known)
{
    size_t n = 0;
    ts_free(h->refused);
    h->refused = NULL;
    h->n_refused = 0;
    if (!known || s->n_refusals < s->n_refused)
        return;
    h->refused = ts_xcalloc(s->n_refusals + 1, sizeof *h->refused);
    for (size_t i = 0; i < s->n_refusals; i++)
        if (s->refusals[i].hour == h->hour)
            h->refused[n++] = s->refusals[i].series;
    if (n)
        qsort(h->refused, n, sizeof *h->refused, ts_cmp_u32);
    h->n_refused = n;
}

/* All of an hour up to the target was acknowledged, or refused. */
static void end_merge_of(struct sto_ship__pass *p, struct sto_ship__open *o, struct sto_ship__hour *h)
{
    const struct sto_sent_hour *sent = sto_sending__hour(&o->sending, h->hour);
    bool refused = sent->n_refused != 0;
    for (size_t i = h->row; i < h->row + h->n_rows; i++) {
        const struct sto_ship__row *r = &p->rows[i];
        if (r->gen <= p->target) {
            sto_mem_row_set_sent(r->row, sto_mem_row_n(r->row));
        } else if (o->whole) {
            sto_mem_row_set_sent(r->row, r->n);
            if (refused && r->gen > h->mixed)
                h->mixed = r->gen;
        }
    }
    h->retry = false;
    h->additions = sent->held || (o->again_refused && h->additions);
    h->held = h->additions || refused || sto_mark_of(&p->undeleted, h->hour);
    h->refused_ms = refused ? p->begun_ms : 0;
    h->n_refusals = refused ? h->n_refusals + 1 : 0;
    set_refused(h, &o->sending, refused && !o->whole);
    h->follow &= o->again_refused;
    h->missed = sent->missed || (o->again_refused && h->missed);
    h->through = p->target;
}

static void end_merge(struct sto_ship__pass *p, struct sto_ship__open *o)
{
    o->rc = sto_sending__end(&o->sending, o->rc, &o->why);
    note(p, o->first, o->n_hours, &o->sending, true);
    for (size_t i = 0; i < o->n_hours && o->rc == 0; i++)
        end_merge_of(p, o, sto_ship__hour_at(p, o->first + i));
}

/* --- memory --- */

/* Send what was appended to rows of one generation, from `at` on. *out_mixed: there is more than points. */
static int send_rows(struct sto_ship__pass *p, const struct sto_ship__hour *h, size_t at, size_t n,
                     struct sto_sending *sending, bool *out_mixed, struct ts_error *err)
{
    struct sto_cells cells = {0}, whole = {0};
    uint32_t all = h->knows ? h->end : UINT32_MAX, own = h->knows ? h->before : UINT32_MAX;
    bool newest = p->rows[at].gen == h->gen;
    int rc = 0;
    for (size_t i = at; i < at + n && rc == 0; i++) {
        struct sto_ship__row *r = &p->rows[i];
        const struct sto_series *series = sto_mem_row_series(r->row);
        const struct sto_key key = {.metric = series->metric, .series = series->id, .hour = h->hour};
        uint32_t from = sto_mem_row_sent(r->row);
        bool ordered = sto_mem_row_read_from(r->row, from, &cells, &r->n, out_mixed);
        sto_ship__resolve(r->row, &cells, &whole);
        if (cells.n)
            rc = sto_sending__row(sending, &key, &cells, newest && (ordered || from == 0) ? own : all, err);
    }
    sto_cells_release(&cells);
    sto_cells_release(&whole);
    return rc;
}

/* The next step: the rows of one generation. If it fails, none of it counts as sent, but none of it is fresh either. */
static void begin_generation(struct sto_ship__pass *p, struct sto_ship__open *o)
{
    struct sto_ship__hour *h = o->h;
    size_t end = h->row + h->n_rows;
    uint64_t gen = p->rows[o->at].gen;
    for (o->n = 1; o->at + o->n < end && p->rows[o->at + o->n].gen == gen;)
        o->n++;
    if (gen > h->gen) {
        h->gen = gen;
        h->before = h->end;
    }
    o->runs = true;
    o->mixed = false;
    begin_sending(p, o->first, 1, &o->sending);
    o->rc = send_rows(p, h, o->at, o->n, &o->sending, &o->mixed, &o->why);
    sto_sending__flush(&o->sending, o->rc);
}

static void end_generation(struct sto_ship__pass *p, struct sto_ship__open *o)
{
    struct sto_ship__hour *h = o->h;
    uint64_t gen = p->rows[o->at].gen;
    o->rc = sto_sending__end(&o->sending, o->rc, &o->why);
    note(p, o->first, 1, &o->sending, o->rc < 0 || gen < h->gen);
    bool mixed = o->mixed || sto_sending__hour(&o->sending, h->hour)->held || o->sending.n_refused;
    if (mixed && gen > h->mixed)
        h->mixed = gen;
    for (size_t i = o->at; i < o->at + o->n && o->rc == 0; i++)
        sto_mem_row_set_sent(p->rows[i].row, p->rows[i].n);
    o->at += o->n;
    o->late |= mixed && gen <= p->target;
}

/* --- hours --- */

/* Begin the next step, if there is one and no shipment has failed. */
static void next_step(struct sto_ship__pass *p, struct sto_ship__open *o)
{
    struct sto_ship__hour *h = o->h;
    size_t end = h->row + h->n_rows;
    while (o->merges && o->at < end && p->rows[o->at].gen <= p->target)
        o->at++;
    if (o->late) /* the merge will come first */
        return;
    if (o->at == end) {
        if (!o->merges && h->mem_gen)
            h->through = p->target;
        return;
    }
    o->rc = sto_flight__failure(&p->flight, &o->why);
    if (o->rc == 0)
        begin_generation(p, o);
}

static void begin_some(struct sto_ship__pass *p, size_t at, size_t max, struct sto_ship__open *o)
{
    struct sto_ship__hour *h = sto_ship__hour_at(p, at);
    bool changed = sto_ship__has_changed(p, h);
    *o = (struct sto_ship__open){.first = at, .n_hours = 1, .h = h, .at = h->row};
    if (changed && h->n_rows == 0)
        o->n_hours = together(p, at, max, false);
    o->whole = o->n_hours == 1 && p->e->opts.ship_whole_hours && h->knows && h->end == 0;
    o->again_refused = !o->whole && !changed && h->retry;
    if (o->whole || changed || h->retry)
        begin_merge(p, o);
    else
        next_step(p, o);
}

void sto_ship__begin_hours(struct sto_ship__pass *p, size_t at, size_t max, struct sto_ship__open *o)
{
    begin_some(p, at, max, o);
    if (o->n_hours == 1 || o->rc == 0 || !o->local)
        return;
    /* one that cannot be read must not hold up the others */
    (void)sto_sending__end(&o->sending, o->rc, &o->why);
    note(p, o->first, o->n_hours, &o->sending, true);
    sto_sending__release(&o->sending);
    begin_some(p, at, 1, o);
}

bool sto_ship__is_over(struct sto_ship__pass *p, struct sto_ship__open *o, bool wait)
{
    while (o->runs && (wait || sto_sending__is_answered(&o->sending))) {
        bool merge = o->merges && o->n == 0;
        o->runs = false;
        if (merge)
            end_merge(p, o);
        else
            end_generation(p, o);
        sto_sending__release(&o->sending);
        if (o->rc == 0)
            next_step(p, o);
    }
    return !o->runs;
}
