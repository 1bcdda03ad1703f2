/*
 * ship_hours.c - ships the hours of a pass, several at a time, and sets their marks.
 *
 * Hours are independent of each other, so shipments of the next ones are sent while those of earlier ones wait for their answers; within an
 * hour one step follows another (ship_rows.c). Hours with few points of which only files have something are read together, since a block of a file has many hours of a
 * series, and is read as a whole for each of them. Hours begin in the order of the pass, and end in the same order. When one has ended, everything of it
 * up to the target was acknowledged, and it gets its mark; marks of several hours are one edit of the manifest.
 *
 * After a shipment has failed nothing more is begun. The hours under way are waited for, and those that were acknowledged as a whole get
 * their marks.
 *
 * Threads    under the mutex of the shipper
 */
#include "storage/engine/ship_int.h"

#include "base/mem.h"

#define OPEN_HOURS   64          /* hours being shipped at the same time, or groups of hours */
#define GROUP_POINTS (64u << 10) /* points of hours that are read together, approximately */
#define MARK_HOURS   64          /* marks are set after so many hours, */
#define MARK_POINTS  (1u << 20)  /* or so many points, which a crash may cause to be sent again */
/* A pass that has sent so many ends, since it keeps files and memstores from being freed. */
#define PASS_POINTS (4u << 20)

struct hours {
    struct sto_ship__pass *p;
    struct sto_ship__open *ring; /* OPEN_HOURS; owned */
    size_t first, n;             /* being shipped: ring[first % OPEN_HOURS] and so on */
    size_t group;                /* hours that are read together next */
    int32_t top;                 /* hours above it are done */
    struct sto_mark_list marks;  /* those of the pass, and of hours that have ended since; owned */
    size_t n_ended;              /* hours that have ended since the last edit of the manifest */
    uint64_t n_marked;           /* points of the pass at that time */
    uint64_t n_held;
};

/* The mark of the hours lo..hi, but for those that are left alone or have a delete that was refused, will be the target: everything up to it was shipped. */
static void note_mark(struct hours *w, int32_t lo, int32_t hi)
{
    const struct sto_mark_list *done = &w->p->done, *undeleted = &w->p->undeleted;
    if (lo > hi || w->p->target == 0)
        return;
    for (int64_t at = lo, next; at <= hi; at = next) {
        int32_t end = sto_mark_end(done, (int32_t)at);
        int32_t other = sto_mark_end(undeleted, (int32_t)at);
        end = other < end ? other : end;
        end = end < hi ? end : hi;
        next = (int64_t)end + 1;
        if (sto_mark_of(done, (int32_t)at) == UINT64_MAX)
            continue;
        if (sto_mark_of(undeleted, (int32_t)at))
            sto_ship__note_unmarked(w->p, (int32_t)at, end);
        else
            sto_mark_list_replace(&w->marks, sto_mark_list_with(&w->marks, (int32_t)at, end, w->p->target));
    }
}

/* Set the marks that were noted. */
static int set_marks(struct hours *w, struct ts_error *err)
{
    struct sto_ship__pass *p = w->p;
    struct sto_mark_list copy;
    w->n_ended = 0;
    w->n_marked = p->n_points;
    if (sto_mark_list_same(&w->marks, &p->marks))
        return 0;
    if (!sto_mark_list_copy(&w->marks, &copy))
        return ts_error_set(err, TS_ENOMEM, "no memory for ship marks");
    int rc = sto_ship__set_marks(p, &(struct sto_manifest_edit){.marks = &copy}, err);
    if (rc < 0)
        ts_free(copy.marks);
    else
        sto_mark_list_replace(&p->marks, copy);
    return rc;
}

/* One of the first hours being shipped is over. */
static void end_hour(struct hours *w, const struct sto_ship__open *o, const struct sto_ship__hour *h)
{
    w->n_held += h->held;
    /* of hours between this one and the one before nothing is to be shipped */
    if (o->rc == 0 && !h->held && !o->late)
        note_mark(w, h->hour, w->top);
    else if (h->hour < w->top) /* its mark does not change */
        note_mark(w, h->hour + 1, w->top);
    w->top = h->hour == INT32_MIN ? h->hour : h->hour - 1;
    w->n_ended++;
}

/* The first hours being shipped are over. Returns the error that ends the pass. */
static int end_first(struct hours *w, struct ts_error *err)
{
    struct sto_ship__pass *p = w->p;
    const struct sto_ship__open *o = &w->ring[w->first % OPEN_HOURS];
    if (o->rc < 0 && o->local && !p->failed.code)
        p->failed = o->why;
    p->n_unreadable += o->rc < 0 && o->local;
    p->more |= o->late;
    for (size_t i = 0; i < o->n_hours; i++)
        end_hour(w, o, sto_ship__hour_at(p, o->first + i));
    w->first++;
    w->n--;
    return o->rc < 0 && !o->local ? ts_error_set(err, o->rc, "%s", o->why.text) : 0;
}

/* Continue the hours being shipped, and end those that are over, in their order; wait until at most n_left are being shipped. */
static int continue_hours(struct hours *w, size_t n_left, struct ts_error *err)
{
    for (size_t i = 0; i < w->n; i++)
        (void)sto_ship__is_over(w->p, &w->ring[(w->first + i) % OPEN_HOURS], false);
    while (w->n && sto_ship__is_over(w->p, &w->ring[w->first % OPEN_HOURS], w->n > n_left))
        TS_TRY(end_first(w, err));
    if (w->n_ended >= MARK_HOURS || w->p->n_points - w->n_marked >= MARK_POINTS)
        return set_marks(w, err);
    return 0;
}

uint64_t sto_ship__pass_points(const struct sto_ship__pass *p)
{
    return p->e->opts.ship_pass_points ? p->e->opts.ship_pass_points : PASS_POINTS;
}

size_t sto_ship__next_group(size_t n, uint64_t n_points)
{
    size_t most = n_points ? (size_t)(GROUP_POINTS * n / n_points) : STO_SENDING_HOURS;
    most = most < 1 ? 1 : most;
    n = n * 2 < most ? n * 2 : most;
    return n < STO_SENDING_HOURS ? n : STO_SENDING_HOURS;
}

/* Begin the hours from `at` on that can be read together. *out_n: how many. */
static int begin_hours(struct hours *w, size_t at, size_t *out_n, struct ts_error *err)
{
    if (atomic_load_explicit(&w->p->s->stop, memory_order_relaxed))
        return ts_error_set(err, TS_ECANCELLED, "the store is closing");
    TS_TRY(continue_hours(w, OPEN_HOURS - 1, err));
    TS_TRY(sto_flight__failure(&w->p->flight, err));
    struct sto_ship__open *o = &w->ring[(w->first + w->n++) % OPEN_HOURS];
    sto_ship__begin_hours(w->p, at, w->group, o);
    w->group = sto_ship__next_group(o->n_hours, o->sending.n_points);
    *out_n = o->n_hours;
    return 0;
}

int sto_ship__hours(struct sto_ship__pass *p, bool *out_all, struct ts_error *err)
{
    struct hours w = {.p = p, .top = INT32_MAX, .group = 1};
    struct ts_error why = {0}, after = {0};
    uint64_t most = sto_ship__pass_points(p);
    size_t i = 0;
    int rc = 0;
    *out_all = false;
    if (!sto_mark_list_copy(&p->marks, &w.marks))
        return ts_error_set(err, TS_ENOMEM, "no memory for ship marks");
    w.ring = ts_xcalloc(OPEN_HOURS, sizeof *w.ring);
    for (size_t n = 0; i < p->n_order && p->n_points - p->n_again < most && rc == 0; i += n, n = 0)
        rc = begin_hours(&w, i, &n, &why);
    if (rc == 0)
        rc = continue_hours(&w, 0, &why);
    while (w.n) /* after a failure */
        (void)continue_hours(&w, 0, &after);
    *out_all = rc == 0 && i == p->n_order;
    if (*out_all)
        note_mark(&w, INT32_MIN, w.top);
    if (rc == 0)
        rc = set_marks(&w, &why);
    else
        (void)set_marks(&w, &after);
    if (rc == 0)
        atomic_store_explicit(&p->s->n_held, w.n_held, memory_order_relaxed);
    p->more |= i < p->n_order;
    ts_free(w.ring);
    ts_free(w.marks.marks);
    if (rc < 0 && err)
        *err = why;
    return rc;
}
