/*
 * copy_out.c - tsd copy from a folder into HBase.
 *
 * Rows are collected in a load, which is sent in shipments of rows of similar hours while the next load is being read. Slices are recorded in the
 * progress file when all their shipments were acknowledged.
 *
 * Fresh     Where HBase has no point of the metric in the time of a slice, its rows are put without a look. Otherwise, so also after a
 *           copy was killed within the slice, each row is read and merged with what is there: the value of the folder replaces another
 *           one of the same time, and no time gets two cells, which OpenTSDB would refuse to read.
 * Memory    two loads, each an eighth of hbase_memory_bytes; what is in flight is limited by them
 * Threads   the main thread reads; senders of the remote store end shipments (under mu)
 */
#include "base/mem.h"
#include "tsd/commands/copy.h"

#include <pthread.h>
#include <stdlib.h>

#define N_LOADS        2
#define LOAD_PART      8          /* of hbase_memory_bytes */
#define SHIPMENT_ROWS  1024u      /* of a shipment, at most */
#define SHIPMENT_BYTES (1u << 20) /* the same, of cells */
#define POINT_BYTES    (sizeof(uint32_t) + sizeof(int64_t))

struct out;
struct load;
/* A part of a load on its way. */
struct parcel {
    struct sto_shipment shipment;
    struct sto_remote_call call;
    struct load *load;
};
/* Rows that are sent together. */
struct load {
    struct out *out;
    struct ts_arena arena; /* of everything that rows point to, and of parcels */
    struct sto_remote_row *rows;
    size_t n_rows, cap_rows;
    uint64_t n_bytes;   /* of arena and rows, about */
    size_t n_in_flight; /* parcels; under mu */
};
/* A copy. */
struct out {
    struct tsd_copy *c;
    struct load loads[N_LOADS];
    unsigned filling;               /* load that rows go to */
    uint64_t load_bytes;            /* limit */
    int64_t slice_ms;               /* begin of the present slice */
    bool is_fresh;                  /* HBase had no point of the metric within the present slice */
    uint64_t last_series;           /* number of the series of the last row */
    struct sto_remote_series names; /* of it, in the arena of the load being filled */
    pthread_mutex_t mu;
    pthread_cond_t cond;
    int rc; /* first error; under mu */
    struct ts_error err;
};

/* --- shipments --- */

static void on_refused(void *arg, size_t row, const struct ts_error *err)
{
    const struct parcel *p = arg;
    tsd_copy_refuse(p->load->out->c, &p->shipment.rows[row], err->text);
}

static void on_done(void *arg, int rc, const struct ts_error *err)
{
    struct parcel *p = arg;
    struct out *o = p->load->out;
    pthread_mutex_lock(&o->mu);
    if (rc < 0 && o->rc == 0) {
        o->rc = rc;
        o->err = *err;
    }
    p->load->n_in_flight--;
    pthread_cond_signal(&o->cond);
    pthread_mutex_unlock(&o->mu);
}

static int by_hour(const void *pa, const void *pb)
{
    const struct sto_remote_row *a = pa, *b = pb;
    if (a->hour != b->hour)
        return a->hour < b->hour ? -1 : 1;
    return (a->series.key > b->series.key) - (a->series.key < b->series.key);
}

/* Rows from `from` on that make a shipment. */
static size_t count_rows(const struct load *l, size_t from, uint64_t *out_bytes)
{
    size_t n = 0;
    *out_bytes = 0;
    while (from + n < l->n_rows && n < SHIPMENT_ROWS && *out_bytes < SHIPMENT_BYTES)
        *out_bytes += l->rows[from + n++].cells->n * POINT_BYTES;
    return n;
}

static bool has_failed(struct out *o)
{
    pthread_mutex_lock(&o->mu);
    bool failed = o->rc < 0;
    pthread_mutex_unlock(&o->mu);
    return failed;
}

static void send_load(struct out *o, struct load *l)
{
    struct tsd_copy *c = o->c;
    if (has_failed(o)) /* nothing more is recorded */
        return;
    if (l->n_rows) /* rows are NULL before the first one */
        qsort(l->rows, l->n_rows, sizeof *l->rows, by_hour);
    for (size_t at = 0; at < l->n_rows;) {
        struct parcel *p = ts_arena_zalloc(&l->arena, sizeof *p);
        p->load = l;
        p->call = tsd_copy_call(c);
        p->call.cancel = NULL; /* Ctrl-C ends the reading; what was read is sent and recorded */
        p->shipment.rows = l->rows + at;
        p->shipment.n = count_rows(l, at, &p->shipment.n_bytes);
        p->shipment.refused = on_refused;
        p->shipment.arg = p;
        at += p->shipment.n;
        pthread_mutex_lock(&o->mu);
        l->n_in_flight++;
        pthread_mutex_unlock(&o->mu);
        c->remote->ops->ship(c->remote, &p->shipment, &p->call, on_done, p);
    }
}

/* Wait until a load was acknowledged, and empty it. */
static int await_load(struct out *o, struct load *l, struct ts_error *err)
{
    pthread_mutex_lock(&o->mu);
    while (l->n_in_flight)
        pthread_cond_wait(&o->cond, &o->mu);
    int rc = o->rc;
    if (rc < 0 && err)
        *err = o->err;
    pthread_mutex_unlock(&o->mu);
    ts_arena_release(&l->arena);
    ts_arena_init(&l->arena, 0);
    l->n_rows = 0;
    l->n_bytes = 0;
    return rc;
}

static int send_filled(struct out *o, struct ts_error *err)
{
    send_load(o, &o->loads[o->filling]);
    o->filling = (o->filling + 1) % N_LOADS;
    o->last_series = STO_REMOTE_NO_KEY;
    return await_load(o, &o->loads[o->filling], err);
}

static int send_all(struct out *o, struct ts_error *err)
{
    int rc = 0;
    for (unsigned i = 0; i < N_LOADS; i++) {
        int one = send_filled(o, rc < 0 ? NULL : err);
        rc = rc < 0 ? rc : one;
    }
    return rc;
}

/* --- rows --- */

static struct sto_remote_series copy_names(struct load *l, const struct sto_remote_series *names)
{
    struct sto_remote_series own = *names;
    struct sto_remote_tag *tags = ts_arena_alloc(&l->arena, names->n_tags * sizeof *tags);
    memcpy(tags, names->tags, names->n_tags * sizeof *tags); /* the catalog keeps the names */
    own.tags = tags;
    l->n_bytes += names->n_tags * sizeof *tags;
    return own;
}

static const struct sto_cells *copy_cells(struct load *l, const struct sto_cells *cells)
{
    struct sto_cells *own = ts_arena_alloc(&l->arena, sizeof *own);
    *own = (struct sto_cells){.n = cells->n, .common = cells->common, .uniform = cells->uniform};
    own->m = ts_arena_alloc(&l->arena, cells->n * sizeof *own->m);
    own->meta = ts_arena_alloc(&l->arena, cells->n * sizeof *own->meta);
    memcpy(own->m, cells->m, cells->n * sizeof *own->m);
    memcpy(own->meta, cells->meta, cells->n * sizeof *own->meta);
    l->n_bytes += sizeof *own + cells->n * POINT_BYTES;
    return own;
}

static int on_begin(void *arg, int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    struct out *o = arg;
    int rc = tsd_copy_any_hbase(o->c, o->c->metrics[o->c->at], from_ms, to_ms, err);
    o->slice_ms = from_ms;
    o->is_fresh = rc == 0;
    return rc < 0 ? rc : 0;
}

static int add_row(struct out *o, const struct sto_remote_row *row, struct ts_error *err)
{
    struct load *l = &o->loads[o->filling];
    if (l->n_bytes >= o->load_bytes) {
        TS_TRY(send_filled(o, err));
        tsd_copy_show(o->c, o->slice_ms);
        l = &o->loads[o->filling];
    }
    if (row->series.key != o->last_series) {
        o->names = copy_names(l, &row->series);
        o->last_series = row->series.key;
    }
    TS_TRY(ts_budget_grow(NULL, &l->rows, &l->cap_rows, l->n_rows + 1, sizeof *l->rows, err));
    l->rows[l->n_rows++] = (struct sto_remote_row){
        .series = o->names, .hour = row->hour, .cells = copy_cells(l, row->cells), .fresh = o->is_fresh};
    l->n_bytes += sizeof *row;
    return 0;
}

static int on_row(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    struct out *o = arg;
    o->c->n_points += row->cells->n;
    return add_row(o, row, err);
}

static int on_bucket(void *arg, const struct sto_remote_row *row, struct ts_error *err)
{
    struct out *o = arg;
    o->c->n_histograms += tsd_copy_is_every(row) ? row->cells->n : 0;
    return add_row(o, row, err);
}

/* What was recorded is acknowledged, and then said to be copied. */
static int save(void *arg, struct ts_error *err)
{
    struct out *o = arg;
    TS_TRY(send_all(o, err));
    return tsd_copy_state_sync(o->c->state, err);
}

static int on_slice(void *arg, int64_t next_ms, struct ts_error *err)
{
    struct out *o = arg;
    struct tsd_copy *c = o->c;
    tsd_copy_show(c, next_ms);
    TS_TRY(tsd_copy_state_set(c->state, c->metrics[c->at], c->from_ms, next_ms, err));
    return tsd_copy_state_is_due(c->state) ? save(o, err) : 0;
}

/* --- the copy --- */

static int begin(struct out *o, struct ts_error *err)
{
    o->load_bytes = o->c->memory.limit_bytes / LOAD_PART;
    TS_TRY(ts_budget_take(&o->c->memory, N_LOADS * o->load_bytes, err));
    pthread_mutex_init(&o->mu, NULL);
    pthread_cond_init(&o->cond, NULL);
    o->last_series = STO_REMOTE_NO_KEY;
    for (unsigned i = 0; i < N_LOADS; i++) {
        o->loads[i].out = o;
        ts_arena_init(&o->loads[i].arena, 0);
    }
    return 0;
}

static void end(struct out *o)
{
    for (unsigned i = 0; i < N_LOADS; i++) {
        (void)await_load(o, &o->loads[i], NULL);
        ts_arena_release(&o->loads[i].arena);
        ts_free(o->loads[i].rows);
    }
    pthread_mutex_destroy(&o->mu);
    pthread_cond_destroy(&o->cond);
    ts_budget_give(&o->c->memory, N_LOADS * o->load_bytes);
}

int tsd_copy_out(struct tsd_copy *c, struct ts_error *err)
{
    struct out o = {.c = c};
    struct tsd_copy_way way = {
        .read = tsd_copy_read_slices,
        .reader = {.row = on_row, .bucket = on_bucket, .begin = on_begin, .slice = on_slice, .arg = &o},
        .save = save};
    TS_TRY(begin(&o, err));
    int rc = tsd_copy_metrics(c, &way, err);
    end(&o);
    return rc < 0 ? rc : tsd_copy_notes_out(c, err);
}
