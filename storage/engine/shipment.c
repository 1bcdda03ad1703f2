/*
 * shipment.c - sends rows of hours to the remote store.
 *
 * Threads    shipment.h
 */
#include "storage/engine/shipment.h"

#include "base/array.h"
#include "base/log.h"
#include "base/time.h"

#include <string.h>

#define BATCH_ROWS    1000u               /* most rows of one shipment; HBase gets them in one call */
#define BATCH_BYTES   (1u << 20)          /* size of the cells of one shipment, approximately */
#define FLIGHT_BYTES  (16u << 20)         /* memory of all shipments in flight, approximately */
#define SHIP_LIMIT_NS (60 * 1000000000ll) /* time limit for one shipment to be acknowledged */

struct sto_shipment_batch {
    struct sto_sending *to;
    struct sto_shipment shipment;
    struct sto_remote_call call;
    struct ts_arena arena; /* cells and tags */
    uint64_t n_bytes;      /* memory of all of it */
    struct sto_remote_row rows[BATCH_ROWS];
};

void sto_flight__init(struct sto_flight *f)
{
    *f = (struct sto_flight){0};
    pthread_mutex_init(&f->mu, NULL);
    pthread_cond_init(&f->cond, NULL);
}

void sto_flight__release(struct sto_flight *f)
{
    pthread_mutex_destroy(&f->mu);
    pthread_cond_destroy(&f->cond);
}

int sto_flight__failure(struct sto_flight *f, struct ts_error *err)
{
    pthread_mutex_lock(&f->mu);
    int rc = f->why.code;
    if (rc < 0 && err)
        *err = f->why;
    pthread_mutex_unlock(&f->mu);
    return rc;
}

void sto_sending__init(struct sto_sending *s, struct sto_engine *e, struct sto_flight *flight,
                       const _Atomic bool *cancel, int32_t first_hour, uint32_t n_hours)
{
    *s = (struct sto_sending){
        .e = e, .flight = flight, .cancel = cancel, .first_hour = first_hour, .n_hours = n_hours};
}

void sto_sending__release(struct sto_sending *s)
{
    ts_free(s->refusals);
    s->refusals = NULL;
    s->n_refusals = s->cap_refusals = 0;
}

/* Under the mutex of the flight. */
static void add_refusal(struct sto_sending *s, int32_t hour, uint32_t series)
{
    s->n_refused++;
    sto_sending__hour(s, hour)->n_refused++;
    if (s->n_refusals == STO_SENDING_REFUSALS)
        return;
    TS_ARRAY_GROW(s->refusals, s->n_refusals, s->cap_refusals, 16);
    s->refusals[s->n_refusals++] = (struct sto_sent_refusal){hour, series};
}

static void refused(void *arg, size_t row, const struct ts_error *err)
{
    static struct ts_log_limit limit;
    struct sto_shipment_batch *b = arg;
    const struct sto_remote_row *r = &b->rows[row];
    struct ts_slice metric = r->series.metric;
    sto_refusals_note(&b->to->e->refusals, (uint32_t)r->series.key, r->hour, ts_clock_ms(), err);
    ts_log_limited(&limit, TS_LOG_WARN, "the remote store refuses rows of %.*s: %s",
                   (int)ts_utf8_cut(metric, 80).n, metric.p, err->text);
    pthread_mutex_lock(&b->to->flight->mu);
    add_refusal(b->to, r->hour, (uint32_t)r->series.key);
    pthread_mutex_unlock(&b->to->flight->mu);
}

static void done(void *arg, int rc, const struct ts_error *err)
{
    struct sto_shipment_batch *b = arg;
    struct sto_sending *s = b->to;
    struct sto_flight *f = s->flight;
    uint64_t n_bytes = b->n_bytes;
    ts_arena_release(&b->arena);
    ts_free(b);
    pthread_mutex_lock(&f->mu);
    if (rc < 0 && !s->failed)
        s->failed = rc;
    if (rc < 0 && !f->why.code)
        f->why = *err;
    f->n_bytes -= n_bytes;
    s->n--;
    pthread_cond_signal(&f->cond); /* while holding the mutex: after it is released, both may be freed */
    pthread_mutex_unlock(&f->mu);
}

/* Send the open batch, if it has rows. */
static void send_open(struct sto_sending *s)
{
    struct sto_shipment_batch *b = s->open;
    struct sto_remote *remote = s->e->opts.remote;
    s->open = NULL;
    if (!b)
        return;
    b->call =
        (struct sto_remote_call){.deadline_ns = ts_clock_mono_ns() + SHIP_LIMIT_NS, .cancel = s->cancel};
    s->n_rows += b->shipment.n;
    b->n_bytes = sizeof *b + b->arena.used_bytes;
    pthread_mutex_lock(&s->flight->mu);
    s->flight->n_bytes += b->n_bytes;
    s->n++;
    pthread_mutex_unlock(&s->flight->mu);
    remote->ops->ship(remote, &b->shipment, &b->call, done, b);
}

/* Wait while too much is in flight. */
static int wait_for_room(struct sto_flight *f, struct ts_error *err)
{
    pthread_mutex_lock(&f->mu);
    while (f->n_bytes > FLIGHT_BYTES)
        pthread_cond_wait(&f->cond, &f->mu);
    pthread_mutex_unlock(&f->mu);
    return sto_flight__failure(f, err);
}

/* Copy the PUTs of a row, NULL if it has none; *held: it also has additions. */
static struct sto_cells *copy_puts(struct ts_arena *arena, const struct sto_cells *cells, bool *held)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < cells->n; i++)
        n += sto_meta_op(cells->meta[i]) == STO_OP_PUT;
    *held |= n < cells->n;
    if (n == 0)
        return NULL;
    struct sto_cells *c = ts_arena_alloc(arena, sizeof *c);
    *c = (struct sto_cells){.meta = ts_arena_alloc(arena, n * sizeof *c->meta),
                            .m = ts_arena_alloc(arena, n * sizeof *c->m),
                            .uniform = cells->uniform,
                            .common = cells->common};
    for (uint32_t i = 0; i < cells->n; i++)
        if (sto_meta_op(cells->meta[i]) == STO_OP_PUT) {
            c->meta[c->n] = cells->meta[i];
            c->m[c->n++] = cells->m[i];
        }
    return c;
}

/* False: there are too many. */
static bool note_additions(struct sto_additions *list, const struct sto_key *key,
                           const struct sto_cells *cells)
{
    for (uint32_t i = 0; i < cells->n; i++) {
        if (sto_meta_op(cells->meta[i]) != STO_OP_ADD)
            continue;
        if (list->n == list->max)
            return false;
        TS_ARRAY_GROW(list->list, list->n, list->cap, 64);
        list->list[list->n++] = (struct sto_addition){*key, sto_meta_off(cells->meta[i])};
    }
    return true;
}

int sto_sending__row(struct sto_sending *s, const struct sto_key *key, const struct sto_cells *all,
                     uint32_t bound, struct ts_error *err)
{
    struct sto_remote_tag tags[STO_SHIP_TAGS_MAX];
    struct sto_remote_series series = {0};
    if (sto_cells_are_kept(all))
        return 0; /* versions are of this store alone */
    if (!s->e->owner.names(s->e->owner.arg, key->series, tags, &series))
        return 0; /* the series was forgotten, so its points are not needed */
    struct sto_shipment_batch *b = s->open;
    if (!b) {
        s->open = b = ts_xmalloc(sizeof *b);
        b->to = s;
        b->shipment = (struct sto_shipment){.rows = b->rows, .refused = refused, .arg = b};
        ts_arena_init(&b->arena, 64u << 10);
    }
    struct sto_sent_hour *sent = sto_sending__hour(s, key->hour);
    bool held = false;
    struct sto_cells *cells = copy_puts(&b->arena, all, &held);
    sent->held |= held;
    if (held && s->additions)
        sent->missed |= !note_additions(s->additions, key, all);
    if (!cells)
        return 0;
    series.tags = memcpy(ts_arena_alloc(&b->arena, (series.n_tags + 1) * sizeof *tags), tags,
                         series.n_tags * sizeof *tags);
    uint32_t end = sto_meta_off(cells->meta[cells->n - 1]) + 1;
    sent->end = end > sent->end ? end : sent->end;
    s->n_points += cells->n;
    b->rows[b->shipment.n++] = (struct sto_remote_row){
        .series = series, .hour = key->hour, .cells = cells, .fresh = sto_meta_off(cells->meta[0]) >= bound};
    b->shipment.n_bytes += cells->n * (sizeof *cells->meta + sizeof *cells->m);
    if (b->shipment.n < BATCH_ROWS && b->shipment.n != s->e->opts.ship_batch_rows &&
        b->shipment.n_bytes < BATCH_BYTES)
        return 0;
    send_open(s);
    return wait_for_room(s->flight, err);
}

void sto_sending__flush(struct sto_sending *s, int rc)
{
    if (s->open && (rc < 0 || s->open->shipment.n == 0)) {
        ts_arena_release(&s->open->arena);
        ts_free(s->open);
        s->open = NULL;
    }
    send_open(s);
}

bool sto_sending__is_answered(struct sto_sending *s)
{
    pthread_mutex_lock(&s->flight->mu);
    bool answered = s->n == 0;
    pthread_mutex_unlock(&s->flight->mu);
    return answered;
}

int sto_sending__end(struct sto_sending *s, int rc, struct ts_error *err)
{
    struct sto_flight *f = s->flight;
    sto_sending__flush(s, rc);
    pthread_mutex_lock(&f->mu);
    while (s->n > 0)
        pthread_cond_wait(&f->cond, &f->mu);
    int failed = s->failed;
    if (rc == 0 && failed && err)
        *err = f->why;
    pthread_mutex_unlock(&f->mu);
    return rc < 0 ? rc : failed;
}
