/*
 * ship_histogram.c - writes histograms: buckets, which are series of internal metrics, into the cells that OpenTSDB has for whole histograms.
 *
 * A cell has all buckets of a histogram, while its buckets may come in several shipments, which are sent at the same time. So the cells are read,
 * the buckets that came are set in them, and each cell that changes is written by compare-and-set with the bytes that were read; whoever loses
 * that reads again. The rows are looked at once more afterwards, until nothing is left to change. As setting a bucket can be repeated, so
 * can all of this.
 *
 *   which cell    that of the time in ms or in seconds, whichever is there (the newest one), otherwise as the point came
 *   other cells   a cell of another codec, or one that cannot be read, is replaced as a point would be
 *   order         buckets are ascending by their bounds, as OpenTSDB's codec writes them
 *
 * Cost       two reads of the histograms of each row, a compare-and-set for each histogram that changes
 * Memory     the buckets of the shipment, the requests of a round; counted
 * Not here   reading (fetch_histogram.c), deleting (delete.c)
 */
#include "storage/hbase/histogram.h"
#include "base/mem.h"
#include "base/text.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/remote/ship_int.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_AT_ONCE  16   /* of HBase, that are read and changed together */
#define MOST_REQUESTS 1024 /* compare-and-sets of a round */
#define ROUNDS        32 /* of changing and looking: each further one needs another writer who came between */
#define HISTOGRAMS    TS_SLICE_LIT("ColumnPrefixFilter('\6')")

/* A row of the shipment: a bucket of the histograms of a series in an hour. */
struct part {
    uint32_t row; /* in the shipment */
    struct ts_slice metric;
    struct sto_bucket bucket;
};
/* Rows of the shipment that belong to one row in HBase: parts[from, to). */
struct group {
    size_t from, to;
    bool open;     /* it is to be looked at again */
    uint8_t n_key; /* bytes of key; 0: it is refused */
    uint8_t key[STO_HBASE_MAX_KEY_BYTES];
};
/* The count of a bucket at a time. */
struct count {
    uint32_t off_ms;
    bool ms;       /* the time came in ms */
    uint32_t part; /* in parts */
    uint64_t n;
};
/* A histogram that was read. */
struct stored {
    uint32_t off_ms;
    uint32_t cell; /* in w->cells */
};
/* Histograms of a shipment on their way. */
struct histograms {
    struct sto_hbase__worker *w;
    struct ts_budget *memory;
    struct part *parts; /* by series, hour and bucket; owned, as all arrays */
    size_t n_parts, cap_parts;
    struct group groups[ROWS_AT_ONCE];
    struct count *counts; /* of the row that is being planned, by time */
    size_t n_counts, cap_counts;
    struct stored *stored; /* the same, by time and age */
    size_t n_stored, cap_stored;
    struct sto_hbase_tally tally;
    struct ts_buf value;
    struct sto_thrift_request read;
    struct sto_thrift_request *changes;
    size_t n_changes, n_ready, cap_changes; /* of this round; those that are initialised */
    bool refused, final;                    /* kind of the last failure */
};

/* --- which rows --- */

static int check_part(const struct sto_hbase__worker *w, const struct sto_remote_row *row,
                      struct ts_slice metric, struct ts_error *err)
{
    struct sto_remote_series visible = row->series;
    visible.metric = metric;
    if (w->h->opts.histogram_codec < 0)
        return ts_error_set(err, TS_EINVAL,
                            "histograms cannot be stored in HBase without the id of their codec; set "
                            "histograms_config");
    if (row->hour < 0 || row->hour > STO_HBASE_MAX_HOUR)
        return sto_hbase_check_time(row->hour * TS_HOUR_MS, err);
    TS_TRY(sto_hbase_check_series(&visible, err));
    TS_TRY(sto_hbase_check_points(row->hour, row->cells, err));
    for (uint32_t i = 0; i < row->cells->n; i++) {
        struct ts_num v = sto_cell_num(row->cells->meta[i], row->cells->m[i]);
        if (v.kind != TS_NUM_INT || v.m < 0 || (uint64_t)v.m > STO_HBASE_MAX_COUNT)
            return ts_error_set(err, TS_EINVAL,
                                "the count of a bucket is not an integer from 0 to %llu, which HBase's "
                                "format needs",
                                (unsigned long long)STO_HBASE_MAX_COUNT);
    }
    return 0;
}

static int add_parts(struct histograms *h, struct ts_error *err)
{
    const struct sto_shipment *s = h->w->s;
    for (size_t i = 0; i < s->n; i++) {
        struct ts_error why = {0};
        struct sto_internal name;
        struct part part = {.row = (uint32_t)i};
        if (!sto_internal_parse(s->rows[i].series.metric, &name) || name.kind != STO_INTERNAL_HISTOGRAM)
            continue;
        if (!sto_bucket_parse(name.detail, &part.bucket))
            (void)ts_error_set(&why, TS_EINVAL, "\"%.*s\" is no bucket of a histogram",
                               TS_SHOWN(name.detail, 80));
        if (why.code || check_part(h->w, &s->rows[i], name.metric, &why) < 0) {
            sto_hbase__refuse(h->w, i, &why);
            continue;
        }
        if (s->rows[i].cells->n == 0)
            continue;
        part.metric = name.metric;
        TS_TRY(ts_budget_grow(h->memory, &h->parts, &h->cap_parts, h->n_parts + 1, sizeof *h->parts, err));
        h->parts[h->n_parts++] = part;
    }
    return 0;
}

/* Order of rows in HBase, roughly: series, then hour. */
static int cmp_rows(const struct sto_shipment *s, const struct part *a, const struct part *b)
{
    const struct sto_remote_row *x = &s->rows[a->row], *y = &s->rows[b->row];
    int c = ts_slice_cmp(a->metric, b->metric);
    for (size_t i = 0; c == 0 && i < x->series.n_tags && i < y->series.n_tags; i++) {
        c = ts_slice_cmp(x->series.tags[i].k, y->series.tags[i].k);
        c = c ? c : ts_slice_cmp(x->series.tags[i].v, y->series.tags[i].v);
    }
    if (c == 0)
        c = (x->series.n_tags > y->series.n_tags) - (x->series.n_tags < y->series.n_tags);
    return c ? c : (x->hour > y->hour) - (x->hour < y->hour);
}

static int cmp_parts(const void *pa, const void *pb, void *arg)
{
    const struct part *a = pa, *b = pb;
    int c = cmp_rows(arg, a, b);
    return c ? c : sto_bucket_cmp(&a->bucket, &b->bucket);
}

/* The next groups from *at on, with their keys; returns how many, 0: there are no more. */
static int next_groups(struct histograms *h, size_t *at, struct ts_error *err)
{
    struct sto_hbase__worker *w = h->w;
    struct sto_remote_series visible[ROWS_AT_ONCE];
    const struct sto_remote_series *list[ROWS_AT_ONCE];
    int n = 0;
    for (; n < ROWS_AT_ONCE && *at < h->n_parts; n++) {
        struct group *g = &h->groups[n];
        g->from = *at;
        for (g->to = g->from + 1;
             g->to < h->n_parts && cmp_rows(w->s, &h->parts[g->from], &h->parts[g->to]) == 0;)
            g->to++;
        *at = g->to;
        visible[n] = w->s->rows[h->parts[g->from].row].series;
        visible[n].metric = h->parts[g->from].metric;
        visible[n].key = STO_REMOTE_NO_KEY; /* it is that of a bucket */
        list[n] = &visible[n];
    }
    if (n == 0)
        return 0;
    TS_TRY(sto_hbase_ids_series(w->h->ids, &w->session, STO_REMOTE_MAKE, list, (size_t)n, w->ids, err));
    for (int i = 0; i < n; i++) {
        struct group *g = &h->groups[i];
        const struct sto_hbase_series_id *id = &w->ids[i];
        g->n_key = 0;
        for (size_t k = g->from; k < g->to && id->rc < 0; k++)
            sto_hbase__refuse(w, h->parts[k].row, &id->why);
        if (id->rc == 0)
            g->n_key = (uint8_t)sto_hbase_rowkey_make(
                &w->h->opts.schema, (struct ts_slice){(const char *)id->tsuid, id->n},
                (uint32_t)w->s->rows[h->parts[g->from].row].hour * STO_HBASE_ROW_S, g->key);
    }
    return n;
}

/* --- planning --- */

static int cmp_counts(const void *pa, const void *pb)
{
    const struct count *a = pa, *b = pb;
    if (a->off_ms != b->off_ms)
        return a->off_ms < b->off_ms ? -1 : 1;
    return a->part < b->part ? -1 : a->part > b->part;
}

/* All counts of a group, by time. */
static int list_counts(struct histograms *h, const struct group *g, struct ts_error *err)
{
    h->n_counts = 0;
    for (size_t i = g->from; i < g->to; i++) {
        const struct sto_cells *c = h->w->s->rows[h->parts[i].row].cells;
        TS_TRY(ts_budget_grow(h->memory, &h->counts, &h->cap_counts, h->n_counts + c->n, sizeof *h->counts,
                              err));
        for (uint32_t k = 0; k < c->n; k++)
            h->counts[h->n_counts++] = (struct count){.off_ms = sto_meta_off(c->meta[k]),
                                                      .ms = (c->meta[k] & STO_META_MS) != 0,
                                                      .part = (uint32_t)i,
                                                      .n = (uint64_t)c->m[k]};
    }
    if (h->n_counts)
        qsort(h->counts, h->n_counts, sizeof *h->counts, cmp_counts);
    return 0;
}

static int cmp_stored(const void *pa, const void *pb, void *arg)
{
    const struct stored *a = pa, *b = pb;
    const struct sto_hbase_cell *cells = arg;
    if (a->off_ms != b->off_ms)
        return a->off_ms < b->off_ms ? -1 : 1;
    return (cells[a->cell].ts_ms > cells[b->cell].ts_ms) - (cells[a->cell].ts_ms < cells[b->cell].ts_ms);
}

/* The histograms among n cells that were read, by time; of one time the newest is the last. */
static int list_stored(struct histograms *h, size_t n, struct ts_error *err)
{
    h->n_stored = 0;
    TS_TRY(ts_budget_grow(h->memory, &h->stored, &h->cap_stored, n, sizeof *h->stored, err));
    for (size_t i = 0; i < n; i++) {
        struct stored s = {.cell = (uint32_t)i};
        bool ms;
        if (sto_hbase_histogram_is(h->w->cells[i].qualifier, &s.off_ms, &ms))
            h->stored[h->n_stored++] = s;
    }
    if (h->n_stored)
        qsort_r(h->stored, h->n_stored, sizeof *h->stored, cmp_stored, h->w->cells);
    return 0;
}

/* A request of the round, which is empty. */
static int next_request(struct histograms *h, struct sto_thrift_request **out, struct ts_error *err)
{
    TS_TRY(
        ts_budget_grow(h->memory, &h->changes, &h->cap_changes, h->n_changes + 1, sizeof *h->changes, err));
    for (; h->n_ready < h->cap_changes; h->n_ready++)
        sto_thrift_request_init(&h->changes[h->n_ready], (size_t)4 << 20, h->memory);
    *out = &h->changes[h->n_changes++];
    return 0;
}

/* Set counts[from, to), which are of one time, in a cell that was read; NULL: there is none. 1: it changes. */
static int plan_histogram(struct histograms *h, struct ts_slice key, size_t from, size_t to,
                          const struct sto_hbase_cell *cell, struct ts_error *err)
{
    uint8_t codec = (uint8_t)h->w->h->opts.histogram_codec, qualifier[5];
    int64_t now_ms = ts_clock_ms();
    int changes = cell == NULL, rc = cell ? sto_hbase_tally_read(&h->tally, cell->value, NULL) : TS_ECORRUPT;
    if (rc == TS_ELIMIT)
        return ts_error_set(err, TS_ELIMIT, "there is no memory for a histogram");
    if (rc < 0 || h->tally.head.codec != codec) {
        sto_hbase_tally_clear(&h->tally, codec);
        changes = 1;
    }
    for (size_t i = from; i < to; i++) {
        uint64_t had;
        const struct sto_bucket *b = &h->parts[h->counts[i].part].bucket;
        changes |= !sto_hbase_tally_get(&h->tally, b, &had);
        rc = sto_hbase_tally_set(&h->tally, b, h->counts[i].n, err);
        if (rc < 0)
            return rc;
        changes |= rc;
    }
    if (!changes)
        return 0;
    ts_buf_clear(&h->value);
    TS_TRY(sto_hbase_histogram_write(&h->tally.head, h->tally.buckets, &h->value, err));
    struct sto_thrift_check check = {.row = key, .family = STO_HBASE_FAMILY, .compare = STO_THRIFT_EQUAL};
    struct sto_thrift_cell put = {.family = STO_HBASE_FAMILY, .value = ts_buf_get(&h->value)};
    check.qualifier = (struct ts_slice){
        (const char *)qualifier,
        sto_hbase_histogram_qualifier(h->counts[from].off_ms, h->counts[from].ms, qualifier)};
    if (cell) {
        check.qualifier = cell->qualifier;
        check.value = cell->value;
        put.has_ts = true;
        put.ts_ms = cell->ts_ms >= now_ms ? cell->ts_ms + 1 : now_ms;
    }
    put.qualifier = check.qualifier;
    struct sto_thrift_request *r;
    TS_TRY(next_request(h, &r, err));
    if (sto_thrift_call_check_and_put(r, sto_hbase__table(h->w->h), &check,
                                      &(struct sto_thrift_put){.row = key, .cells = &put, .n_cells = 1}) < 0)
        return ts_error_set(err, TS_ELIMIT, "there is no memory for a histogram");
    return 1;
}

/* Plan the changes of a row of which n cells were read. */
static int plan_group(struct histograms *h, struct group *g, size_t n, struct ts_error *err)
{
    struct ts_slice key = {(const char *)g->key, g->n_key};
    size_t at = 0;
    g->open = false;
    TS_TRY(list_counts(h, g, err));
    TS_TRY(list_stored(h, n, err));
    for (size_t i = 0, end; i < h->n_counts; i = end) {
        uint32_t off = h->counts[i].off_ms;
        const struct sto_hbase_cell *cell = NULL;
        for (end = i + 1; end < h->n_counts && h->counts[end].off_ms == off;)
            end++;
        for (; at < h->n_stored && h->stored[at].off_ms <= off; at++)
            if (h->stored[at].off_ms == off)
                cell = &h->w->cells[h->stored[at].cell];
        if (h->n_changes == MOST_REQUESTS) {
            g->open = true;
            return 0;
        }
        int rc = plan_histogram(h, key, i, end, cell, err);
        if (rc < 0)
            return rc;
        g->open |= rc > 0;
    }
    return 0;
}

/* --- rounds --- */

static int read_groups(struct histograms *h, size_t from, size_t to, struct sto_thrift_reply *reply,
                       struct ts_error *err)
{
    struct sto_hbase__worker *w = h->w;
    struct sto_thrift_column family = {.family = STO_HBASE_FAMILY};
    sto_thrift_batch_begin(&h->read, STO_THRIFT_GET_MULTIPLE, sto_hbase__table(w->h));
    for (size_t i = from; i < to; i++)
        if (h->groups[i].open)
            sto_thrift_batch_get(&h->read,
                                 &(struct sto_thrift_get){
                                     .row = {(const char *)h->groups[i].key, h->groups[i].n_key},
                                     .select = {.columns = &family, .n_columns = 1, .filter = HISTOGRAMS}});
    (void)sto_thrift_batch_end(&h->read);
    int rc =
        sto_thrift_client_call(w->session.client, &h->read, sto_hbase_attempt(&w->session), reply, NULL, err);
    if (rc == TS_EBACKEND)
        h->final = sto_hbase_is_final(reply);
    return rc;
}

static int plan_groups(struct histograms *h, size_t from, size_t to, const struct sto_thrift_reply *reply,
                       size_t *out_open, struct ts_error *err)
{
    struct sto_hbase__worker *w = h->w;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    h->n_changes = *out_open = 0;
    sto_thrift_items_init(&it, reply);
    for (size_t i = from; i < to; i++) {
        if (!h->groups[i].open)
            continue;
        struct ts_slice key = {(const char *)h->groups[i].key, h->groups[i].n_key};
        int rc = sto_hbase_asked_row(&it, key, &row, err);
        int64_t n = rc < 0 ? rc : sto_hbase__row_cells(&row, &w->cells, &w->cap_cells, h->memory, err);
        if (n < 0)
            return (int)n;
        TS_TRY(plan_group(h, &h->groups[i], (size_t)n, err));
        *out_open += h->groups[i].open;
    }
    return 0;
}

static int send_changes(struct histograms *h, struct ts_error *err)
{
    struct sto_thrift_request *all[MOST_REQUESTS];
    for (size_t i = 0; i < h->n_changes; i++)
        all[i] = &h->changes[i];
    return sto_hbase__send_all(&h->w->session, all, h->n_changes, NULL, &h->refused, &h->final, err);
}

static void refuse(struct histograms *h, size_t from, size_t to, bool open_alone, const struct ts_error *why)
{
    for (size_t i = from; i < to; i++)
        for (size_t k = h->groups[i].from; k < h->groups[i].to; k++)
            if (!open_alone || h->groups[i].open)
                sto_hbase__refuse(h->w, h->parts[k].row, why);
}

/* Read and change groups[from, to) until nothing is left to change. */
static int settle(struct histograms *h, size_t from, size_t to, struct ts_error *err)
{
    struct sto_thrift_reply reply = {0};
    size_t n_open = 0;
    for (size_t i = from; i < to; i++)
        n_open += h->groups[i].open = h->groups[i].n_key > 0;
    for (unsigned round = 0; n_open; round += h->n_changes < MOST_REQUESTS) {
        if (round > 3) /* others change the same cells: let them come to an end */
            TS_TRY(sto_hbase_pause(&h->w->session, round - 3 < 4 ? round - 3 : 4, err));
        TS_TRY(read_groups(h, from, to, &reply, err));
        TS_TRY(plan_groups(h, from, to, &reply, &n_open, err));
        if (n_open == 0 || round == ROUNDS)
            break;
        sto_hbase__count(round ? &h->w->counts->n_settled : &h->w->counts->n_changed, n_open);
        TS_TRY(send_changes(h, err));
    }
    if (n_open) {
        struct ts_error why = {0};
        (void)ts_error_set(&why, TS_EBUSY,
                           "its histograms do not stay in HBase: deletes with later timestamps hide them, or "
                           "another writer replaces them all the time; check the clocks of all machines");
        refuse(h, from, to, true, &why);
    }
    return 0;
}

/* The same with repeats; rows that HBase refuses for good are found by halves. */
static int settle_again(struct histograms *h, size_t from, size_t to, struct ts_error *err)
{
    struct ts_error why = {0};
    size_t middle = from + (to - from) / 2;
    for (unsigned attempt = 0;; attempt++) {
        TS_TRY(sto_hbase__pause_after(&h->w->session, attempt, &why, err));
        h->refused = h->final = false;
        int rc = settle(h, from, to, &why);
        if (rc == 0)
            return 0;
        /* TS_EINVAL: a stored cell has counts that no histogram here can have */
        struct sto_hbase__attempt now = {attempt, to - from, h->refused || rc == TS_EINVAL, h->final};
        switch (sto_hbase__judge(h->w->h, &h->w->session, &now, rc, &why)) {
        case STO_HBASE__DIVIDE:
            TS_TRY(settle_again(h, from, middle, err));
            return settle_again(h, middle, to, err);
        case STO_HBASE__REFUSE:
            refuse(h, from, to, false, &why);
            return 0;
        case STO_HBASE__FAIL:
            return sto_hbase__fail(&why, err);
        case STO_HBASE__REPEAT:
            break;
        }
        sto_hbase__count(&h->w->counts->n_repeats, 1);
    }
}

/* --- a shipment --- */

static void release(struct histograms *h)
{
    for (size_t i = 0; i < h->n_ready; i++)
        sto_thrift_request_release(&h->changes[i]);
    ts_budget_free(h->memory, h->changes, h->cap_changes * sizeof *h->changes);
    ts_budget_free(h->memory, h->parts, h->cap_parts * sizeof *h->parts);
    ts_budget_free(h->memory, h->counts, h->cap_counts * sizeof *h->counts);
    ts_budget_free(h->memory, h->stored, h->cap_stored * sizeof *h->stored);
    sto_hbase_tally_release(&h->tally);
    ts_buf_release(&h->value);
    sto_thrift_request_release(&h->read);
}

static int send_groups(struct histograms *h, struct ts_error *err)
{
    int n;
    qsort_r(h->parts, h->n_parts, sizeof *h->parts, cmp_parts, (void *)(uintptr_t)h->w->s);
    for (size_t at = 0; (n = next_groups(h, &at, err)) > 0;) {
        uint64_t n_points = 0;
        TS_TRY(settle_again(h, 0, (size_t)n, err));
        for (size_t i = h->groups[0].from; i < h->groups[n - 1].to; i++)
            n_points += h->w->s->rows[h->parts[i].row].cells->n;
        sto_hbase__count(&h->w->counts->n_rows, (uint64_t)n);
        sto_hbase__count(&h->w->counts->n_points, n_points);
    }
    return n;
}

int sto_hbase__ship_histograms(struct sto_hbase__worker *w, struct ts_error *err)
{
    struct histograms h = {.w = w, .memory = w->h->opts.access.memory};
    h.tally.memory = h.memory;
    ts_buf_init(&h.value, (size_t)4 << 20);
    h.value.budget = h.memory;
    sto_thrift_request_init(&h.read, (size_t)4 << 20, h.memory);
    int rc = add_parts(&h, err);
    if (rc == 0 && h.n_parts)
        rc = send_groups(&h, err);
    release(&h);
    return rc;
}
