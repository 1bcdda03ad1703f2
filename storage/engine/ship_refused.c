/*
 * ship_refused.c - deletes that the remote store has refused.
 *
 * Such a delete stays here, where queries apply it to what the remote store returns, and its hours get no mark; everything else is shipped, rows of these
 * hours too. It is sent again after a start, when its hours are to be shipped again, and at the intervals of refused rows (ship.h). Its hours then count as
 * not done, as those of a new delete do, so that what is newer than the delete is sent after it.
 *
 * Threads    under the mutex of the shipper
 */
#include "storage/engine/ship_int.h"

#include "base/array.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

/* Refused deletes; with more of them shipping waits. Every pass looks through them for each delete. */
#define DELETES_MAX 4096

static int32_t first_hour(const struct sto_tomb *t)
{
    return sto_hour(t->from_ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : t->from_ms);
}

static int32_t last_hour(const struct sto_tomb *t)
{
    return sto_hour(t->to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : t->to_ms);
}

/* One of the same range, perhaps of another generation. */
static struct sto_refused_delete *find(const struct sto_shipper *s, const struct sto_tomb *t)
{
    for (size_t i = 0; i < s->n_refused_deletes; i++) {
        const struct sto_tomb *o = &s->refused[i].tomb;
        if (o->series == t->series && o->from_ms == t->from_ms && o->to_ms == t->to_ms)
            return &s->refused[i];
    }
    return NULL;
}

void sto_ship__note_unmarked(struct sto_ship__pass *p, int32_t lo, int32_t hi)
{
    sto_mark_list_replace(&p->s->unmarked, sto_mark_list_with(&p->s->unmarked, lo, hi, p->target));
}

void sto_ship__refused_begin(struct sto_ship__pass *p)
{
    struct sto_shipper *s = p->s;
    for (size_t i = 0; i < s->n_refused_deletes; i++) {
        struct sto_refused_delete *d = &s->refused[i];
        d->failed = false;
        d->due = sto_ship__is_due(p, d->n, d->at_ms);
        if (d->due)
            sto_mark_list_replace(
                &s->unmarked, sto_mark_list_without(&s->unmarked, first_hour(&d->tomb), last_hour(&d->tomb)));
        for (size_t k = 0; d->due && k < s->hours.n; k++) {
            struct sto_ship__hour *h = &s->hours.list[k];
            if (h->hour < first_hour(&d->tomb) || h->hour > last_hour(&d->tomb))
                continue;
            h->through = 0;
            h->follow = true; /* also if the delete has expired, and nothing here is newer than its mark */
        }
    }
    for (size_t i = 0; i < s->unmarked.n; i++) /* their marks are lower */
        sto_mark_list_replace(&p->done,
                              sto_mark_list_with(&p->done, s->unmarked.marks[i].hour_lo,
                                                 s->unmarked.marks[i].hour_hi, s->unmarked.marks[i].gen));
}

bool sto_ship__is_set_aside(const struct sto_ship__pass *p, const struct sto_tomb *t)
{
    const struct sto_refused_delete *d = find(p->s, t);
    return d && (!d->due || d->failed);
}

bool sto_ship__has_followers(const struct sto_ship__pass *p, const struct sto_tomb *t)
{
    const struct sto_refused_delete *d = find(p->s, t);
    return d && d->again;
}

void sto_ship__refused_followed(struct sto_shipper *s)
{
    for (size_t i = 0; i < s->n_refused_deletes; i++)
        s->refused[i].again = false;
}

int sto_ship__refuse_delete(struct sto_ship__pass *p, const struct sto_tomb *t, const struct ts_error *why,
                            struct ts_error *err)
{
    struct sto_shipper *s = p->s;
    struct sto_refused_delete *d = find(s, t);
    struct ts_error text;
    if (!d && s->n_refused_deletes == DELETES_MAX) {
        /* those that succeed in this pass make room for the next one */
        p->too_many =
            ts_error_set(err, TS_EBACKEND, "the remote store has refused %u deletes; of one more it says: %s",
                         DELETES_MAX, why->text);
        return 0;
    }
    if (!d) {
        TS_ARRAY_GROW(s->refused, s->n_refused_deletes, s->cap_refused_deletes, 16);
        d = &s->refused[s->n_refused_deletes++];
        *d = (struct sto_refused_delete){.tomb = *t};
    }
    d->failed = d->again = true;
    d->n++;
    d->at_ms = p->begun_ms;
    atomic_fetch_add_explicit(&s->n_deletes_refused, 1, memory_order_relaxed);
    (void)ts_error_set(&text, TS_EINVAL, "the delete of %" PRId64 " to %" PRId64 ": %s", t->from_ms, t->to_ms,
                       why->text);
    sto_refusals_note(&p->e->refusals, t->series, first_hour(t), p->begun_ms, &text);
    return 0;
}

void sto_ship__refused_end(struct sto_ship__pass *p)
{
    struct sto_shipper *s = p->s;
    size_t n = 0;
    for (size_t i = 0; i < s->n_refused_deletes; i++) {
        struct sto_refused_delete *d = &s->refused[i];
        if (d->due && !d->failed)
            continue;
        d->due = false;
        sto_mark_list_replace(
            &p->undeleted, sto_mark_list_with(&p->undeleted, first_hour(&d->tomb), last_hour(&d->tomb), 1));
        s->refused[n++] = *d;
    }
    s->n_refused_deletes = n;
}

void sto_ship__refused_ask(struct sto_shipper *s, const struct sto_mark_list *hours)
{
    for (size_t i = 0; i < s->n_refused_deletes; i++) {
        struct sto_refused_delete *d = &s->refused[i];
        for (size_t k = 0; k < hours->n; k++)
            if (hours->marks[k].hour_lo <= last_hour(&d->tomb) &&
                hours->marks[k].hour_hi >= first_hour(&d->tomb))
                d->at_ms = 1;
    }
}
