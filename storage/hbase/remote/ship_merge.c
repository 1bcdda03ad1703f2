/*
 * ship_merge.c - rows that were shipped before: read, compared, changed, and looked at once more. ship.c says why.
 */
#include "base/mem.h"
#include "storage/hbase/remote/ship_int.h"

#include <string.h>

#define IN_FLIGHT 16 /* requests over a connection */
#define ROUNDS                                                                                               \
    6 /* of changing and looking, at most: each further one needs another writer who came between */
#define KEEPS_BYTES 65536u /* memory that a request, or an array, keeps for the next one */

/* --- steps --- */

int64_t sto_hbase__row_cells(struct sto_thrift_row *row, struct sto_hbase_cell **cells, size_t *cap,
                             struct ts_budget *memory, struct ts_error *err)
{
    struct sto_thrift_cell cell;
    size_t n = 0;
    int rc;
    TS_TRY(ts_budget_grow(memory, cells, cap, row->n_left, sizeof **cells, err));
    while ((rc = sto_thrift_row_next(row, &cell, err)) == 1)
        if (ts_slice_eq(cell.family, STO_HBASE_FAMILY) && n < *cap)
            (*cells)[n++] = (struct sto_hbase_cell){cell.qualifier, cell.value, cell.ts_ms};
    return rc < 0 ? rc : (int64_t)n;
}

bool sto_hbase__encode_change(struct ts_slice table, struct sto_hbase_change *c, struct ts_slice key,
                              int64_t ts_ms, struct sto_thrift_request *put,
                              struct sto_thrift_request *change)
{
    struct sto_thrift_put puts = {.row = key, .cells = c->puts, .n_cells = c->n_puts};
    struct sto_thrift_delete deletes = {
        .row = key, .columns = c->deletes, .n_columns = c->n_deletes, .type = STO_THRIFT_DELETE_COLUMNS};
    struct sto_thrift_mutation steps[2];
    size_t n = 0;
    for (size_t i = 0; i < c->n_puts; i++) {
        c->puts[i].has_ts = ts_ms != 0;
        c->puts[i].ts_ms = ts_ms;
    }
    if (!c->n_deletes && !c->guard) {
        if (c->n_puts)
            sto_thrift_batch_put(put, &puts);
        return false;
    }
    if (c->n_deletes)
        steps[n++] = (struct sto_thrift_mutation){.delete = &deletes};
    if (c->n_puts)
        steps[n++] = (struct sto_thrift_mutation){.put = &puts};
    if (n == 0) /* points for the append column alone */
        return false;
    (void)sto_hbase_change_request(c, table, key, steps, n, change);
    return true;
}

int sto_hbase__send_all(struct sto_hbase_session *s, struct sto_thrift_request *const *requests, size_t n,
                        bool *undone, bool *out_refused, bool *out_final, struct ts_error *err)
{
    size_t n_sent = 0, n_done = 0;
    int failed = 0;
    struct ts_error why = {0};
    *out_refused = *out_final = false;
    while (n_done < n_sent || (n_sent < n && !failed)) {
        struct sto_thrift_reply reply = {0};
        int rc;
        if (!failed && n_sent < n && n_sent - n_done < IN_FLIGHT) {
            rc = sto_thrift_client_send(s->client, requests[n_sent], sto_hbase_attempt(s), &why);
            n_sent += rc == 0;
        } else {
            rc = sto_thrift_client_receive(s->client, s->wait.cancel, &reply, NULL, &why);
            if (undone)
                undone[n_done] =
                    rc == 0 && reply.call == STO_THRIFT_CHECK_AND_MUTATE && !sto_thrift_reply_bool(&reply);
            n_done++;
        }
        if (rc < 0 && !failed) {
            failed = rc;
            *out_final = rc == TS_EBACKEND && sto_hbase_is_final(&reply);
            *out_refused = rc == TS_EBACKEND && sto_hbase_refuses_rows(&reply);
            if (err)
                *err = why;
        }
    }
    return failed;
}

/* --- a merge --- */

/* Rows that are read and changed together. */
struct unit {
    struct sto_hbase__worker *w;
    const uint16_t *list; /* pieces; no two of one row */
    size_t n;
    uint8_t open[STO_HBASE__MERGE_ROWS]; /* of these, what is looked at in this round */
    size_t n_open;
    bool refused, final;                      /* kind of the last failure */
    uint8_t change_of[STO_HBASE__MERGE_ROWS]; /* by number of a change of the round: its row; */
    uint8_t append_of[STO_HBASE__MERGE_ROWS]; /* the same of an append */
    bool stale
        [STO_HBASE__MERGE_ROWS]; /* another writer has changed the row since it was read: nothing was written, and it is a new one */
    bool was_empty; /* a row had no points: deletes may hide what is put */
};

static int read_rows(struct unit *u, struct sto_thrift_reply *reply, struct ts_error *err)
{
    struct sto_hbase__worker *w = u->w;
    struct sto_thrift_column family = {.family = STO_HBASE_FAMILY};
    sto_thrift_batch_begin(&w->read, STO_THRIFT_GET_MULTIPLE, sto_hbase__table(w->h));
    for (size_t i = 0; i < u->n_open; i++) {
        const struct sto_hbase__piece *p = &w->pieces[u->list[u->open[i]]];
        sto_thrift_batch_get(&w->read,
                             &(struct sto_thrift_get){.row = {(const char *)p->key, p->n_key},
                                                      .select = {.columns = &family, .n_columns = 1}});
    }
    (void)sto_thrift_batch_end(&w->read);
    int rc =
        sto_thrift_client_call(w->session.client, &w->read, sto_hbase_attempt(&w->session), reply, NULL, err);
    if (rc == TS_EBACKEND)
        u->final = sto_hbase_is_final(reply);
    return rc;
}

int64_t sto_hbase__stamp(int64_t newest_ms, bool again)
{
    int64_t now_ms = ts_clock_ms();
    if (newest_ms == INT64_MIN)
        return again ? 0 : now_ms;
    return newest_ms >= now_ms ? newest_ms + 1 : now_ms;
}

/* Plan the change of one row that was read, and encode it. 1: it changes. */
static int plan_row(struct unit *u, size_t at, struct sto_thrift_row *row, bool again, struct ts_error *err)
{
    struct sto_hbase__worker *w = u->w;
    struct sto_hbase__piece *p = &w->pieces[u->list[at]];
    struct ts_slice key = {(const char *)p->key, p->n_key};
    struct sto_cells points = sto_hbase__points(w, p);
    struct sto_hbase_wish wish = {
        .points = &points, .settles = again, .known_ms = w->known_ms[at], .compacts = p->compacts && !again};
    int64_t n = sto_hbase__row_cells(row, &w->cells, &w->cap_cells, w->h->opts.access.memory, err);
    if (n < 0)
        return (int)n;
    TS_TRY(sto_hbase_change_plan(&w->change, w->cells, (size_t)n, &wish, err));
    if (!again)
        w->known_ms[at] = w->change.newest_ms;
    if (!again && w->change.n_points > p->n_new) /* not less after a repeat, which finds some of them */
        p->n_new = w->change.n_points < p->n ? w->change.n_points : p->n;
    if (!again || w->change.newest_ms > w->newest_ms[at])
        w->newest_ms[at] = w->change.newest_ms;
    if (!sto_hbase_change_writes(&w->change))
        return 0;
    if (w->h->opts.sole_writer)
        w->change.guard = NULL;
    u->change_of[w->n_changes] = (uint8_t)at;
    u->was_empty |= w->newest_ms[at] == INT64_MIN;
    struct sto_thrift_request *r = &w->changes[w->n_changes];
    w->n_changes += sto_hbase__encode_change(sto_hbase__table(w->h), &w->change, key,
                                             sto_hbase__stamp(w->newest_ms[at], again), &w->put, r);
    if (w->change.append.n) {
        struct sto_thrift_cell cell = {
            .family = STO_HBASE_FAMILY, .qualifier = TS_SLICE_LIT("\5\0\0"), .value = w->change.append};
        u->append_of[w->n_appends] = (uint8_t)at;
        (void)sto_thrift_call_append(&w->appends[w->n_appends++], sto_hbase__table(w->h),
                                     &(struct sto_thrift_put){.row = key, .cells = &cell, .n_cells = 1},
                                     false);
    }
    return 1;
}

/* Plan all rows of a reply; those that do not change leave the unit. */
static int plan_rows(struct unit *u, const struct sto_thrift_reply *reply, bool again, struct ts_error *err)
{
    struct sto_hbase__worker *w = u->w;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    size_t n_open = 0;
    w->n_changes = w->n_appends = 0;
    sto_thrift_batch_begin(&w->put, STO_THRIFT_PUT_MULTIPLE, sto_hbase__table(w->h));
    sto_thrift_items_init(&it, reply);
    for (size_t i = 0; i < u->n_open; i++) {
        const struct sto_hbase__piece *p = &w->pieces[u->list[u->open[i]]];
        int rc = sto_hbase_asked_row(&it, (struct ts_slice){(const char *)p->key, p->n_key}, &row, err);
        if (rc == 0)
            rc = plan_row(u, u->open[i], &row, again && !u->stale[u->open[i]], err);
        if (rc < 0)
            return rc;
        if (rc > 0)
            u->open[n_open++] = u->open[i];
    }
    u->n_open = n_open;
    return sto_thrift_batch_end(&w->put);
}

/* Send what was planned. Points for append columns come last: what contradicts them is gone then. */
static int send_changes(struct unit *u, struct ts_error *err)
{
    struct sto_hbase__worker *w = u->w;
    struct sto_thrift_request *all[STO_HBASE__MERGE_ROWS + 1];
    bool undone[STO_HBASE__MERGE_ROWS + 1] = {false};
    size_t n = 0;
    if (w->put.n_items)
        all[n++] = &w->put;
    for (size_t i = 0; i < w->n_changes; i++)
        all[n++] = &w->changes[i];
    TS_TRY(sto_hbase__send_all(&w->session, all, n, undone, &u->refused, &u->final, err));
    memset(u->stale, 0, sizeof u->stale);
    for (size_t i = 0; i < w->n_changes; i++)
        u->stale[u->change_of[i]] = undone[n - w->n_changes + i];
    for (size_t i = n = 0; i < w->n_appends; i++)
        if (!u->stale[u->append_of[i]])
            all[n++] = &w->appends[i];
    return sto_hbase__send_all(&w->session, all, n, NULL, &u->refused, &u->final, err);
}

static void trim(struct sto_thrift_request *r)
{
    if (r->bytes.cap > KEEPS_BYTES)
        ts_buf_release(&r->bytes);
}

/* What a large row has needed would count as the memory of others for every row that follows, also of other workers. */
void sto_hbase__trim(struct sto_hbase__worker *w)
{
    for (size_t i = 0; i < STO_HBASE__MERGE_ROWS; i++) {
        trim(&w->changes[i]);
        trim(&w->appends[i]);
    }
    trim(&w->put);
    trim(&w->read);
    if (w->cap_cells > KEEPS_BYTES / sizeof *w->cells) {
        ts_budget_free(w->h->opts.access.memory, w->cells, w->cap_cells * sizeof *w->cells);
        w->cells = NULL;
        w->cap_cells = 0;
        sto_hbase_change_release(&w->change);
    }
}

/* Rows that still had to be changed at the last look: it is not known that their points are there. */
static void refuse_open(struct unit *u)
{
    struct ts_error why = {0};
    (void)ts_error_set(&why, TS_EBUSY,
                       "its points do not stay in HBase: deletes with later timestamps hide them, or another "
                       "writer replaces them all the time; check the clocks of all machines");
    for (size_t i = 0; i < u->n_open; i++)
        sto_hbase__refuse(u->w, u->w->pieces[u->list[u->open[i]]].row, &why);
}

/* Read and change until nothing is left to change. */
static int merge(struct unit *u, struct ts_error *err)
{
    struct sto_hbase__worker *w = u->w;
    struct sto_thrift_reply reply = {0};
    u->n_open = u->n;
    for (size_t i = 0; i < u->n; i++)
        u->open[i] = (uint8_t)i;
    for (unsigned round = 0;; round++) {
        TS_TRY(read_rows(u, &reply, err));
        TS_TRY(plan_rows(u, &reply, round > 0, err));
        if (u->n_open == 0)
            return 0;
        if (round == ROUNDS)
            break;
        sto_hbase__count(round ? &w->counts->n_settled : &w->counts->n_changed, u->n_open);
        TS_TRY(send_changes(u, err));
        if (round == 0 && w->h->opts.sole_writer && w->n_changes == 0 && !u->was_empty)
            return 0; /* nothing was deleted, neither now nor before, and nobody came between */
    }
    refuse_open(u);
    return 0;
}

static int merge_again(struct sto_hbase__worker *w, const uint16_t *list, size_t n, struct ts_error *err);

static int divide(struct sto_hbase__worker *w, const uint16_t *list, size_t n, struct ts_error *err)
{
    TS_TRY(merge_again(w, list, n / 2, err));
    return merge_again(w, list + n / 2, n - n / 2, err);
}

/* The same with repeats; rows that HBase refuses for good, and those that are too large for a reply or for the account, are found by halves. */
static int merge_again(struct sto_hbase__worker *w, const uint16_t *list, size_t n, struct ts_error *err)
{
    struct ts_error why = {0};
    for (unsigned attempt = 0;; attempt++) {
        struct unit u = {.w = w, .list = list, .n = n};
        TS_TRY(sto_hbase__pause_after(&w->session, attempt, &why, err));
        int rc = merge(&u, &why);
        sto_hbase__trim(w);
        if (rc == 0)
            return 0;
        struct sto_hbase__attempt now = {attempt, n, u.refused, u.final};
        switch (sto_hbase__judge(w->h, &w->session, &now, rc, &why)) {
        case STO_HBASE__DIVIDE:
            return divide(w, list, n, err);
        case STO_HBASE__REFUSE:
            sto_hbase__refuse(w, w->pieces[list[0]].row, &why);
            return 0;
        case STO_HBASE__FAIL:
            return sto_hbase__fail(&why, err);
        case STO_HBASE__REPEAT:
            break;
        }
        sto_hbase__count(&w->counts->n_repeats, 1);
    }
}

int sto_hbase__ship_merge(struct sto_hbase__worker *w, struct ts_error *err)
{
    for (size_t from = 0, to; from < w->n_known; from = to) {
        for (to = from + 1; to < w->n_known && to - from < STO_HBASE__MERGE_ROWS &&
                            w->pieces[w->known[to]].row != w->pieces[w->known[to - 1]].row;)
            to++;
        TS_TRY(merge_again(w, w->known + from, to - from, err));
        sto_hbase__count(&w->counts->n_merged, to - from);
    }
    return 0;
}
