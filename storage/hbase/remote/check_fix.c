/*
 * check_fix.c - repairs one row of the data table.
 *
 * A repair is planned from what was read, cell by cell: a cell stays, goes, or is written anew. What is written anew has the timestamp of the cell that it
 * replaces: a cell that another writer puts meanwhile has a later one and wins, as it would have before. New cells are written first; the row is read
 * to see that they are there, because deletes of the past may hide them; then the old cells are deleted, up to the timestamps that were read. An append column,
 * to which others append at any time, is replaced by compare-and-set.
 *
 * After each change the row is read and checked again, until nothing can be done or it did not help.
 */
#include "storage/hbase/remote/check_int.h"

#include "base/time.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/remote/ship_int.h"

#include <string.h>

#define ROUNDS          4   /* of changing and reading: one is enough unless other writers come between */
#define DELETES_AT_ONCE 500 /* columns of one delete */

enum action { STAYS, GOES, WRITTEN_ANEW };
/* A repair that is planned. */
struct plan {
    struct sto_hbase__checker *c;
    unsigned fixes;
    enum action *actions; /* of each cell */
    bool *replaced;       /* of each cell: something is put at its qualifier, so that it is not deleted */
    bool *lost;           /* of each entry: it leaves its cell */
    struct sto_thrift_cell *puts; /* n_puts of them, with timestamps */
    size_t n_puts;
    size_t appends; /* cell of the append column, if it is written anew; SIZE_MAX = it is not */
    struct ts_slice appends_value;
    bool is_whole; /* the row is deleted */
};

static void *take(struct sto_hbase__checker *c, size_t n, size_t n_bytes, struct ts_error *err)
{
    void *got = ts_arena_try(&c->arena, n * n_bytes + 1);
    if (got)
        memset(got, 0, n * n_bytes + 1);
    else
        (void)sto_hbase__no_memory(err);
    return got;
}

/* --- several points of one time --- */

/* The entry of [i, end), which have one time, that counts among those of its cell: in an append column the last one. */
static bool counts(const struct plan *p, size_t at, size_t end)
{
    const struct sto_hbase_entry *e = p->c->columns.entries;
    if (p->c->states[e[at].cell].kind != STO_HBASE__APPENDS)
        return true;
    for (size_t k = at + 1; k < end; k++)
        if (e[k].cell == e[at].cell)
            return false;
    return true;
}

static bool same_value(const struct sto_hbase_entry *a, const struct sto_hbase_entry *b)
{
    return a->length == b->length && ((a->raw ^ b->raw) << (64 - 8 * a->length)) == 0;
}

/* May points leave this cell? One that has unreadable points can only be written without them. */
static bool may_lose(const struct plan *p, uint32_t cell)
{
    const struct sto_hbase__cell_state *state = &p->c->states[cell];
    return !state->damaged || (p->fixes & STO_HBASE_DELETE_VALUES);
}

/* Which entry of [i, end) stays; SIZE_MAX: this may not be decided. */
static size_t choose(const struct plan *p, size_t i, size_t end)
{
    const struct sto_hbase_entry *e = p->c->columns.entries;
    size_t first = SIZE_MAX, last = end - 1, stays = last;
    bool equal = true;
    for (size_t k = i; k < end; k++) {
        if (!counts(p, k, end))
            continue;
        first = first == SIZE_MAX ? k : first;
        equal = equal && same_value(&e[k], &e[last]);
        /* of equal ones that of the largest column, which need not be written then */
        if (p->c->states[e[k].cell].n_entries > p->c->states[e[stays].cell].n_entries)
            stays = k;
    }
    if (equal)
        return p->fixes & STO_HBASE_FIX ? stays : SIZE_MAX;
    if (p->fixes & STO_HBASE_FIX_NEWEST)
        return last;
    return p->fixes & STO_HBASE_FIX_OLDEST ? first : SIZE_MAX;
}

/* Decide about the entries of [i, end), which have one time. Cells that contradict each other and may not be changed stay as they are. */
static void decide(const struct plan *p, size_t i, size_t end, bool *fixed)
{
    const struct sto_hbase_entry *e = p->c->columns.entries;
    size_t stays = choose(p, i, end);
    for (size_t k = i; k < end; k++) {
        uint32_t cell = e[k].cell;
        if (stays == SIZE_MAX || !may_lose(p, cell)) {
            fixed[cell] = true;
        } else if (k != stays) {
            p->lost[k] = true;
            if (p->actions[cell] == STAYS)
                p->actions[cell] = p->c->states[cell].kind == STO_HBASE__SINGLE ? GOES : WRITTEN_ANEW;
        }
    }
}

static int decide_times(struct plan *p, struct ts_error *err)
{
    const struct sto_hbase_columns *columns = &p->c->columns;
    bool *fixed = take(p->c, p->c->n_cells, sizeof *fixed, err);
    if (!fixed)
        return TS_ELIMIT;
    for (size_t i = 0, end; i < columns->n_entries; i = end) {
        for (end = i + 1;
             end < columns->n_entries && columns->entries[end].off_ms == columns->entries[i].off_ms;)
            end++;
        if (end > i + 1)
            decide(p, i, end, fixed);
    }
    for (size_t i = 0; i < p->c->n_cells; i++)
        if (fixed[i])
            p->actions[i] = STAYS;
    for (size_t i = 0; i < columns->n_entries; i++)
        p->lost[i] = p->lost[i] && !fixed[columns->entries[i].cell];
    return 0;
}

/* --- single cells --- */

static enum action action_of(const struct plan *p, size_t cell)
{
    const struct sto_hbase__cell_state *s = &p->c->states[cell];
    unsigned wrong = s->kind == STO_HBASE__ANNOTATION || s->kind == STO_HBASE__COMPACTED
                         ? STO_HBASE_DELETE_COLUMNS
                         : STO_HBASE_DELETE_VALUES;
    if ((s->bad && (p->fixes & wrong)) || (s->unknown && (p->fixes & STO_HBASE_DELETE_UNKNOWN)))
        return GOES;
    bool loses = s->contested && (p->fixes & STO_HBASE_FIX_NEWEST   ? !s->is_newest
                                  : p->fixes & STO_HBASE_FIX_OLDEST ? !s->is_oldest
                                                                    : false);
    if (loses || (s->repeated && (p->fixes & STO_HBASE_FIX)))
        return GOES;
    if (s->bad)
        return STAYS;
    if (s->damaged)
        return p->fixes & STO_HBASE_DELETE_VALUES ? WRITTEN_ANEW : STAYS;
    return s->irregular && (p->fixes & STO_HBASE_FIX) ? WRITTEN_ANEW : STAYS;
}

static void add_put(struct plan *p, struct ts_slice qualifier, struct ts_slice value, int64_t ts_ms)
{
    p->puts[p->n_puts++] = (struct sto_thrift_cell){STO_HBASE_FAMILY, qualifier, value, ts_ms, true};
}

/* Encode the points that stay in a cell. */
static int write_anew(struct plan *p, size_t cell, struct ts_error *err)
{
    struct sto_hbase__checker *c = p->c;
    const struct sto_hbase_columns *columns = &c->columns;
    bool appends = c->states[cell].kind == STO_HBASE__APPENDS;
    size_t most = c->states[cell].n_entries, n = 0, n_ms = 0;
    uint8_t *q = take(c, most + 1, 4, err), *v = q ? take(c, most + 1, 12, err) : NULL;
    uint8_t *q_at = q, *v_at = v, *q_last = q, *v_last = v;
    uint32_t last_ms = UINT32_MAX;
    if (!v)
        return TS_ELIMIT;
    for (size_t i = 0; i < columns->n_entries; i++) {
        struct sto_hbase_entry e = columns->entries[i];
        if (e.cell != cell || p->lost[i])
            continue;
        if (e.off_ms == last_ms) { /* twice in the cell: the later one counts */
            q_at = q_last;
            v_at = v_last;
            n--;
        }
        q_last = q_at;
        v_last = v_at;
        last_ms = e.off_ms;
        if (!e.is_float && (p->fixes & STO_HBASE_FIX))
            e.length = sto_hbase__integer_bytes(e.raw) & 15;
        sto_hbase_entry_put(&e, appends ? &v_at : &q_at, &v_at);
        n_ms += e.ms;
        n++;
    }
    struct ts_slice value = {(const char *)v, (size_t)(v_at - v)};
    if (n == 0) {
        p->actions[cell] = GOES;
    } else if (appends) {
        p->appends = cell;
        p->appends_value = value;
    } else {
        if (n > 1)
            v[value.n++] = n_ms && n_ms < n;
        add_put(p, (struct ts_slice){(const char *)q, (size_t)(q_at - q)}, value, c->cells[cell].ts_ms);
    }
    return 0;
}

/* A put at the qualifier of a cell of the row replaces it. False: that one stays, so that nothing can be done. */
static bool settle_puts(struct plan *p)
{
    const struct sto_hbase__checker *c = p->c;
    for (size_t i = 0; i < p->n_puts; i++) {
        struct sto_thrift_cell *put = &p->puts[i];
        for (size_t k = 0; k < i; k++)
            if (ts_slice_eq(p->puts[k].qualifier, put->qualifier))
                return false;
        for (size_t k = 0; k < c->n_cells; k++) {
            if (!ts_slice_eq(c->cells[k].qualifier, put->qualifier))
                continue;
            if (p->actions[k] == STAYS)
                return false;
            p->replaced[k] = true;
            put->ts_ms = c->cells[k].ts_ms > put->ts_ms ? c->cells[k].ts_ms : put->ts_ms;
        }
    }
    return true;
}

/* --- the plan --- */

/* May the whole row be deleted? Not one with more tags than tsd reads: OpenTSDB's tsd.storage.max_tags may be larger. */
static bool row_goes(const struct sto_hbase__checker *c, unsigned fixes)
{
    const struct sto_hbase_schema *s = &c->x->h->opts.schema;
    size_t fixed = (size_t)s->salt_width + s->metric_width + 4, pair = (size_t)s->tagk_width + s->tagv_width;
    bool many = c->key.n > fixed + pair * STO_HBASE_MAX_TAGS && (c->key.n - fixed) % pair == 0;
    return (c->n_found[STO_HBASE_BAD_KEY] && !many && (fixes & STO_HBASE_DELETE_ROWS)) ||
           (c->n_found[STO_HBASE_ORPHAN] && (fixes & STO_HBASE_DELETE_ORPHANS));
}

static bool is_settled(const struct plan *p)
{
    int64_t limit_ms = sto_hbase__check_now_ms(p->c->x) - STO_HBASE_SETTLED_MS;
    for (size_t i = 0; i < p->c->n_cells; i++)
        if (p->actions[i] != STAYS && p->c->cells[i].ts_ms > limit_ms)
            return false;
    return true;
}

/* 1: something is to be done; 0: nothing. */
static int make_plan(struct plan *p, bool *out_too_new, struct ts_error *err)
{
    struct sto_hbase__checker *c = p->c;
    size_t n = c->n_cells;
    bool any = false;
    ts_arena_release(&c->arena);
    p->n_puts = 0;
    p->appends = SIZE_MAX;
    p->actions = take(c, n, sizeof *p->actions, err);
    p->replaced = p->actions ? take(c, n, sizeof *p->replaced, err) : NULL;
    p->lost = p->replaced ? take(c, c->columns.n_entries, sizeof *p->lost, err) : NULL;
    p->puts = p->lost ? take(c, n, sizeof *p->puts, err) : NULL;
    if (!p->puts)
        return TS_ELIMIT;
    p->is_whole = row_goes(c, p->fixes);
    for (size_t i = 0; i < n; i++)
        p->actions[i] = p->is_whole ? GOES : action_of(p, i);
    if (!p->is_whole)
        TS_TRY(decide_times(p, err));
    for (size_t i = 0; i < n; i++) {
        if (p->actions[i] == WRITTEN_ANEW)
            TS_TRY(write_anew(p, i, err));
        any = any || p->actions[i] != STAYS;
    }
    if (!any || !settle_puts(p))
        return 0;
    *out_too_new = !is_settled(p);
    return !*out_too_new;
}

/* --- changes --- */

static struct ts_slice table_of(const struct sto_hbase__checker *c)
{
    return ts_slice_str(c->x->table);
}

static int call(struct sto_hbase__checker *c, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    return sto_hbase_call(&c->s, &c->request, &reply, NULL, err);
}

int sto_hbase__row_read(struct sto_hbase__checker *c, struct ts_error *err)
{
    struct sto_thrift_column family = {.family = STO_HBASE_FAMILY};
    struct sto_thrift_get get = {.row = c->key, .select = {.columns = &family, .n_columns = 1}};
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    (void)sto_thrift_call_get(&c->request, table_of(c), &get);
    TS_TRY(sto_hbase_call(&c->s, &c->request, &reply, NULL, err));
    ts_buf_clear(&c->row);
    if (ts_buf_slice(&c->row, reply.value) < 0)
        return sto_hbase__no_memory(err);
    reply.value = ts_buf_get(&c->row);
    sto_thrift_items_init(&it, &reply);
    c->n_cells = 0;
    int rc = sto_thrift_row(&it, &row, err);
    if (rc <= 0 || !row.row.p)
        return sto_hbase_error(rc < 0 ? rc : 0, err);
    int64_t n = sto_hbase__row_cells(&row, &c->cells, &c->cap_cells, c->x->memory, err);
    if (n < 0)
        return sto_hbase_error((int)n, err);
    c->n_cells = (size_t)n;
    return 0;
}

bool sto_hbase__is_there(const struct sto_hbase__checker *c, const struct sto_thrift_cell *put)
{
    for (size_t i = 0; i < c->n_cells; i++)
        if (ts_slice_eq(c->cells[i].qualifier, put->qualifier))
            return c->cells[i].ts_ms > put->ts_ms ||
                   (c->cells[i].ts_ms == put->ts_ms && ts_slice_eq(c->cells[i].value, put->value));
    return false;
}

int sto_hbase__delete_columns(struct sto_hbase__checker *c, const struct sto_thrift_column *columns, size_t n,
                              struct ts_error *err)
{
    for (size_t at = 0; at < n; at += DELETES_AT_ONCE) {
        struct sto_thrift_delete del = {.row = c->key,
                                        .columns = columns + at,
                                        .n_columns = n - at < DELETES_AT_ONCE ? n - at : DELETES_AT_ONCE,
                                        .type = STO_THRIFT_DELETE_COLUMNS};
        (void)sto_thrift_call_delete(&c->request, table_of(c), &del);
        TS_TRY(call(c, err));
    }
    return 0;
}

int sto_hbase__put_cells(struct sto_hbase__checker *c, const struct sto_thrift_cell *cells, size_t n,
                         struct ts_error *err)
{
    struct sto_thrift_put put = {.row = c->key, .cells = cells, .n_cells = n};
    (void)sto_thrift_call_put(&c->request, table_of(c), &put);
    return call(c, err);
}

static int replace_appends(struct plan *p, struct ts_error *err)
{
    struct sto_hbase__checker *c = p->c;
    const struct sto_hbase_cell *cell = &c->cells[p->appends];
    struct sto_hbase__cell_id id = {c->x->table, c->key, STO_HBASE_FAMILY, cell->qualifier};
    return sto_hbase__cell_change(&c->s, &c->request, &id, cell->value, p->appends_value, cell->ts_ms, NULL,
                                  0, err);
}

/* Execute a plan. Afterwards c->cells are those of the row, except after an error. 0: another writer has changed the append column, or a put
 * is hidden by deletes. */
static int execute(struct plan *p, struct ts_error *err)
{
    struct sto_hbase__checker *c = p->c;
    struct sto_thrift_column *deletes = take(c, c->n_cells, sizeof *deletes, err);
    size_t n_deletes = 0;
    int done = 1;
    if (!deletes)
        return TS_ELIMIT;
    /* c->row, which the cells point into, is read again before the deletes: qualifiers are copied by the arena */
    for (size_t i = 0; i < c->n_cells; i++) {
        if (p->actions[i] == STAYS || p->replaced[i] || i == p->appends)
            continue;
        struct ts_slice q = c->cells[i].qualifier;
        char *copy = take(c, q.n, 1, err);
        if (!copy)
            return TS_ELIMIT;
        if (q.n)
            memcpy(copy, q.p, q.n);
        deletes[n_deletes++] =
            (struct sto_thrift_column){STO_HBASE_FAMILY, {copy, q.n}, c->cells[i].ts_ms, true};
    }
    if (p->appends != SIZE_MAX)
        done = replace_appends(p, err);
    if (done > 0 && p->n_puts) {
        TS_TRY(sto_hbase__put_cells(c, p->puts, p->n_puts, err));
        TS_TRY(sto_hbase__row_read(c, err));
        for (size_t i = 0; i < p->n_puts && done; i++)
            done = sto_hbase__is_there(c, &p->puts[i]);
    }
    TS_TRY(done);
    if (done)
        TS_TRY(sto_hbase__delete_columns(c, deletes, n_deletes, err));
    return done;
}

/* --- one column --- */

static bool is_over(const struct sto_hbase__checker *c)
{
    return sto_hbase__check_now_ms(c->x) >= c->base_s * 1000ll + TS_HOUR_MS + STO_HBASE_SETTLED_MS;
}

/* Make one column of the points of a row without faults. */
static int compact(struct sto_hbase__checker *c, bool *out_too_new, struct ts_error *err)
{
    struct sto_hbase_wish wish = {.compacts = true};
    struct sto_hbase_change *change = &c->change;
    int64_t newest_ms = INT64_MIN;
    size_t n_points = 0;
    for (size_t i = 0; i < c->n_cells; i++) {
        if (!sto_hbase_is_points(c->cells[i].qualifier))
            continue;
        n_points++;
        newest_ms = c->cells[i].ts_ms > newest_ms ? c->cells[i].ts_ms : newest_ms;
    }
    if (n_points < 2 || c->x->shape || !is_over(c))
        return 0;
    TS_TRY(sto_hbase_change_plan(change, c->cells, c->n_cells, &wish, err));
    if (change->n_puts != 1 || !change->n_deletes)
        return 0;
    *out_too_new = newest_ms > sto_hbase__check_now_ms(c->x) - STO_HBASE_SETTLED_MS;
    if (*out_too_new)
        return 0;
    change->puts[0].ts_ms = newest_ms;
    change->puts[0].has_ts = true;
    TS_TRY(sto_hbase__put_cells(c, change->puts, 1, err));
    struct ts_buf deleted; /* the plan borrows its qualifiers from the cells, which are read again */
    ts_buf_init(&deleted, 0);
    deleted.budget = c->x->memory;
    int rc = 0;
    for (size_t i = 0; i < change->n_deletes; i++)
        (void)ts_buf_slice(&deleted, change->deletes[i].qualifier);
    if (deleted.failed)
        rc = sto_hbase__no_memory(err);
    for (size_t i = 0, at = 0; i < change->n_deletes && rc == 0; i++) {
        change->deletes[i].qualifier.p = deleted.p + at;
        at += change->deletes[i].qualifier.n;
    }
    if (rc == 0)
        rc = sto_hbase__row_read(c, err);
    if (rc == 0 && sto_hbase__is_there(c, &change->puts[0])) {
        rc = sto_hbase__delete_columns(c, change->deletes, change->n_deletes, err);
        pthread_mutex_lock(&c->x->mu);
        c->x->res->n_compacted += rc == 0;
        pthread_mutex_unlock(&c->x->mu);
    }
    ts_buf_release(&deleted);
    return rc;
}

/* --- a row --- */

static int repair(struct plan *p, bool *out_too_new, struct ts_error *err)
{
    struct sto_hbase__checker *c = p->c;
    for (unsigned round = 0; round < ROUNDS; round++) {
        TS_TRY(sto_hbase__checker_wait(c, err));
        TS_TRY(sto_hbase__row_read(c, err));
        TS_TRY(sto_hbase__check_row(c, err));
        int rc = make_plan(p, out_too_new, err);
        if (rc > 0)
            rc = execute(p, err);
        else if (rc == 0)
            return 0;
        TS_TRY(rc);
    }
    TS_TRY(sto_hbase__row_read(c, err));
    return sto_hbase__check_row(c, err);
}

/* Move the row, whose other faults were repaired as far as possible, to the bucket of its series. Those that are left move with it. */
static int move(struct sto_hbase__checker *c, bool *out_too_new, bool *out_moved, struct ts_error *err)
{
    bool can = c->n_cells && c->n_found[STO_HBASE_WRONG_SALT] && !c->n_found[STO_HBASE_BAD_KEY];
    if (!can || !(c->x->opts->fixes & STO_HBASE_FIX))
        return 0;
    ts_arena_release(&c->arena);
    int rc = sto_hbase__move_row(c, out_too_new, err);
    *out_moved = rc == 1;
    if (rc == 1)
        c->n_found[STO_HBASE_WRONG_SALT] = 0;
    return rc < 0 ? rc : 0;
}

int sto_hbase__fix_row(struct sto_hbase__checker *c, struct ts_error *err)
{
    struct sto_hbase_check_result *res = c->x->res;
    struct plan p = {.c = c, .fixes = c->x->opts->fixes};
    uint32_t before[STO_HBASE_N_FAULTS];
    bool too_new = false, moved = false;
    memcpy(before, c->n_found, sizeof before);
    c->reports = false;
    int rc = repair(&p, &too_new, err);
    if (rc == 0 && c->n_cells == 0) /* also the faults of its key are gone */
        memset(c->n_found, 0, sizeof c->n_found);
    if (rc == 0)
        rc = move(c, &too_new, &moved, err);
    if (rc == 0 && !moved && (p.fixes & STO_HBASE_COMPACT) && !c->n_found[STO_HBASE_BAD_KEY])
        rc = compact(c, &too_new, err);
    pthread_mutex_lock(&c->x->mu);
    res->n_too_new += too_new;
    for (unsigned i = 0; rc == 0 && i < STO_HBASE_N_FAULTS; i++)
        res->n_fixed[i] += before[i] > c->n_found[i] ? before[i] - c->n_found[i] : 0;
    pthread_mutex_unlock(&c->x->mu);
    ts_arena_release(&c->arena);
    return rc;
}
