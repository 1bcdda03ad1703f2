/*
 * fake_exec.c - what each call does to the tables, and its result.
 */
#include "tests/hbase/fake_int.h"

#include <stdio.h>

#include "base/array.h"
#include "base/bytes.h"

static size_t family_or(const struct fake_table *t, struct ts_slice name, bool batch, struct fake_error *e)
{
    size_t i = fake__family(t, name);
    if (i == SIZE_MAX) /* HBase allows a repeat if the change went through its client's batches */
        fake__io_error(
            e, batch,
            "%sorg.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column family %.*s "
            "does not exist in region %s,,1.0. in table '%s'",
            batch ? "Failed 1 action: " : "", (int)name.n, name.p, t->name, t->name);
    return i;
}

static void internal(struct fake_error *e, enum sto_thrift_call call)
{
    if (e->kind != FAKE_FINE)
        return;
    e->kind = FAKE_APPLICATION;
    (void)snprintf(e->text, sizeof e->text, "Internal error processing %s", sto_thrift_call_info(call)->name);
}

/* --- changes --- */

/* Would HBase refuse it? */
static bool put_is_fine(const struct fake_table *t, const struct sto_thrift_put *p, bool batch,
                        enum sto_thrift_call call, struct fake_error *e)
{
    if (!p->row.n || !p->n_cells)
        internal(e, call);
    for (size_t i = 0; i < p->n_cells; i++)
        family_or(t, p->cells[i].family, batch, e);
    return e->kind == FAKE_FINE;
}

static bool delete_is_fine(const struct fake_table *t, const struct sto_thrift_delete *d, bool batch,
                           enum sto_thrift_call call, struct fake_error *e)
{
    if (!d->row.n)
        internal(e, call);
    for (size_t i = 0; i < d->n_columns; i++) {
        family_or(t, d->columns[i].family, batch, e);
        if (d->type == STO_THRIFT_DELETE_FAMILY_VERSION && !d->columns[i].has_ts)
            internal(e, call);
    }
    return e->kind == FAKE_FINE;
}

static void do_put(struct fake_table *t, const struct sto_thrift_put *p, int64_t now_ms)
{
    for (size_t i = 0; i < p->n_cells; i++) {
        const struct sto_thrift_cell *c = &p->cells[i];
        fake__put_cell(t, p->row, fake__family(t, c->family), c->qualifier, c->value,
                       c->has_ts ? c->ts_ms : now_ms);
    }
}

static void do_delete(struct fake_table *t, const struct sto_thrift_delete *d, int64_t now_ms)
{
    for (size_t i = 0; d->n_columns == 0 && i < t->n_families; i++)
        fake__put_marker(t, d->row, STO_THRIFT_DELETE_FAMILY, i, (struct ts_slice){0}, now_ms);
    for (size_t i = 0; i < d->n_columns; i++) {
        const struct sto_thrift_column *c = &d->columns[i];
        size_t family = fake__family(t, c->family);
        int64_t ts_ms = c->has_ts ? c->ts_ms : now_ms;
        if (!c->has_ts && d->type == STO_THRIFT_DELETE_COLUMN) {
            const struct fake_cell *newest = fake__newest(t, d->row, family, c->qualifier, now_ms);
            ts_ms = newest ? newest->ts_ms : now_ms;
        }
        fake__put_marker(t, d->row, d->type, family, c->qualifier, ts_ms);
    }
}

/* Puts and deletes of one row: all or none. */
static void mutate(struct fake_table *t, const struct fake_args *a, struct ts_slice row, int64_t now_ms,
                   struct fake_error *e)
{
    for (size_t i = 0; i < a->n_mutations; i++) {
        const struct sto_thrift_mutation *m = &a->mutations[i];
        struct ts_slice own = m->put ? m->put->row : m->delete ? m->delete->row : (struct ts_slice){0};
        if (!ts_slice_eq(own, row))
            fake__io_error(
                e, true,
                "The row in the recently added Mutation <%.*s> doesn't match the original one <%.*s>",
                (int)own.n, own.p, (int)row.n, row.p);
        else if (m->put)
            put_is_fine(t, m->put, true, a->call, e);
        else
            delete_is_fine(t, m->delete, true, a->call, e);
    }
    for (size_t i = 0; e->kind == FAKE_FINE && i < a->n_mutations; i++)
        if (a->mutations[i].put)
            do_put(t, a->mutations[i].put, now_ms);
        else
            do_delete(t, a->mutations[i].delete, now_ms);
}

static bool compares(enum sto_thrift_compare how, int d)
{
    switch (how) {
    case STO_THRIFT_LESS:
        return d < 0;
    case STO_THRIFT_LESS_OR_EQUAL:
        return d <= 0;
    case STO_THRIFT_EQUAL:
        return d == 0;
    case STO_THRIFT_NOT_EQUAL:
        return d != 0;
    case STO_THRIFT_GREATER_OR_EQUAL:
        return d >= 0;
    case STO_THRIFT_GREATER:
        return d > 0;
    }
    return false;
}

/* HRegion.checkAndMutate: an absent value and an empty one mean the same. */
static bool matches(const struct fake_cell *found, const struct fake_args *a)
{
    bool mutates = a->call == STO_THRIFT_CHECK_AND_MUTATE;
    enum sto_thrift_compare how = mutates ? a->check.compare : STO_THRIFT_EQUAL;
    if (!a->check.value.n)
        return (!found || !found->value.n) == (how != STO_THRIFT_NOT_EQUAL);
    return found && compares(how, ts_slice_cmp(a->check.value, found->value));
}

static void check_and_change(struct fake_hbase *f, struct fake_table *t, const struct fake_args *a,
                             struct ts_buf *out, struct fake_error *e)
{
    int64_t now_ms = fake__stamp_ms(f);
    bool mutates = a->call == STO_THRIFT_CHECK_AND_MUTATE;
    if (mutates && !a->check.value.p)
        internal(e, a->call);
    size_t family = family_or(t, a->check.family, false, e);
    if (e->kind != FAKE_FINE)
        return;
    const struct fake_cell *found = fake__newest(t, a->check.row, family, a->check.qualifier, now_ms);
    bool yes = matches(found, a);
    if (found && found->ts_ms > now_ms) /* what is written must not be older than what was compared */
        now_ms = found->ts_ms;
    if (!mutates && (!a->n_puts || !ts_slice_eq(a->puts[0].row, a->check.row)))
        fake__io_error(e, false,
                       "org.apache.hadoop.hbase.DoNotRetryIOException: The row of the action doesn't match "
                       "the original one");
    if (mutates && yes)
        mutate(t, a, a->check.row, now_ms, e);
    else if (yes && put_is_fine(t, &a->puts[0], false, a->call, e))
        do_put(t, &a->puts[0], now_ms);
    sto_thrift_put_bool(out, 0, yes);
}

/* increment and append: the new values of all cells of a row, then the result. */
static void add(struct fake_hbase *f, struct fake_table *t, const struct fake_args *a, struct ts_buf *out,
                struct fake_error *e)
{
    const struct sto_thrift_put *p = &a->puts[0];
    const struct fake_cell **changed = ts_xcalloc(p->n_cells + 1, sizeof(const struct fake_cell *));
    int64_t now_ms = fake__stamp_ms(f);
    bool appends = a->call == STO_THRIFT_APPEND;
    if (!put_is_fine(t, p, false, a->call, e))
        goto end;
    for (size_t i = 0; i < p->n_cells && !appends; i++) {
        const struct fake_cell *old =
            fake__newest(t, p->row, fake__family(t, p->cells[i].family), p->cells[i].qualifier, now_ms);
        if (old && old->value.n != 8)
            fake__io_error(
                e, false,
                "org.apache.hadoop.hbase.DoNotRetryIOException: Field is not a long, it's %zu bytes wide",
                old->value.n);
    }
    for (size_t i = 0; e->kind == FAKE_FINE && i < p->n_cells; i++) {
        const struct sto_thrift_cell *c = &p->cells[i];
        size_t family = fake__family(t, c->family);
        const struct fake_cell *old = fake__newest(t, p->row, family, c->qualifier, now_ms);
        struct ts_buf value;
        ts_buf_init(&value, 0);
        if (appends && old)
            ts_buf_slice(&value, old->value);
        uint64_t sum;
        if (appends) {
            ts_buf_slice(&value, c->value);
        } else {
            sum =
                __builtin_bswap64(ts_ld64(c->value.p) + (old ? __builtin_bswap64(ts_ld64(old->value.p)) : 0));
            ts_buf_append(&value, &sum, sizeof sum);
        }
        fake__put_cell(t, p->row, family, c->qualifier, ts_buf_get(&value),
                       old && old->ts_ms >= now_ms ? old->ts_ms + 1 : now_ms);
        ts_buf_release(&value);
    }
    for (size_t i = 0; e->kind == FAKE_FINE && i < p->n_cells; i++)
        changed[i] =
            fake__newest(t, p->row, fake__family(t, p->cells[i].family), p->cells[i].qualifier, now_ms);
    bool returns = !appends || a->returns_cells;
    size_t n = 0;
    for (size_t i = 0; e->kind == FAKE_FINE && i < p->n_cells; i++)
        if (changed[i])
            changed[n++] = changed[i];
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 0);
    fake__result(t, returns ? p->row : (struct ts_slice){0}, changed, returns ? n : 0, false, false, out);
end:
    ts_free(changed);
}

/* putMultiple and deleteMultiple: those that are fine are executed even if others are not. */
static void batch(struct fake_hbase *f, struct fake_table *t, const struct fake_args *a, size_t max_rows,
                  struct fake_error *e)
{
    int64_t now_ms = fake__stamp_ms(f);
    bool is_batch = a->call == STO_THRIFT_PUT_MULTIPLE || a->call == STO_THRIFT_DELETE_MULTIPLE;
    for (size_t i = 0; i < a->n_puts && i < max_rows; i++) {
        struct fake_error own = {0};
        if (put_is_fine(t, &a->puts[i], is_batch, a->call, &own))
            do_put(t, &a->puts[i], now_ms);
        else if (e->kind == FAKE_FINE)
            *e = own;
    }
    for (size_t i = 0; i < a->n_deletes && i < max_rows; i++) {
        struct fake_error own = {0};
        if (delete_is_fine(t, &a->deletes[i], is_batch, a->call, &own))
            do_delete(t, &a->deletes[i], now_ms);
        else if (e->kind == FAKE_FINE)
            *e = own;
    }
}

/* --- tables --- */

static int32_t or_default(int32_t v, int32_t normal)
{
    return v >= 0 ? v : normal;
}

static void create_table(struct fake_hbase *f, const struct fake_args *a, struct fake_error *e)
{
    if (fake__table(f, a->table))
        fake__io_error(e, false, "org.apache.hadoop.hbase.TableExistsException: %.*s", (int)a->table.n,
                       a->table.p);
    if (!a->n_families || !a->table.n)
        fake__io_error(
            e, false,
            "org.apache.hadoop.hbase.DoNotRetryIOException: Table should have at least one column family.");
    if (a->n_splits && f->transport == STO_THRIFT_FRAMED)
        internal(e, a->call); /* the handler takes the whole frame for each key */
    for (size_t i = 1; i < a->n_splits; i++)
        if (ts_slice_cmp(a->splits[i - 1], a->splits[i]) == 0)
            internal(e, a->call);
    if (e->kind != FAKE_FINE)
        return;
    struct fake_table *t = fake__table_new(f, a->table, a->families, a->n_families);
    for (size_t i = 0; i < t->n_families; i++) {
        struct sto_thrift_family *m = &t->families[i];
        m->bloom = or_default(m->bloom, STO_THRIFT_BLOOM_ROW);
        m->compression = or_default(m->compression, STO_THRIFT_COMPRESSION_NONE);
        m->encoding = or_default(m->encoding, STO_THRIFT_ENCODING_NONE);
        m->max_versions = or_default(m->max_versions, 1);
        m->ttl_s = or_default(m->ttl_s, INT32_MAX);
    }
    t->splits = ts_xcalloc(a->n_splits + 1, sizeof *t->splits);
    t->n_splits = a->n_splits;
    for (size_t i = 0; i < a->n_splits; i++) {
        struct ts_slice s = {ts_xstrndup(a->splits[i].p, a->splits[i].n), a->splits[i].n};
        size_t at = i;
        for (; at > 0 && ts_slice_cmp(t->splits[at - 1], s) > 0; at--)
            t->splits[at] = t->splits[at - 1];
        t->splits[at] = s;
    }
}

static void table_descriptor(const struct fake_table *t, struct ts_buf *out)
{
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 0);
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 1);
    const char *colon = strchr(t->name, ':');
    sto_thrift_put_bytes(
        out, 1, colon ? (struct ts_slice){t->name, (size_t)(colon - t->name)} : TS_SLICE_LIT("default"));
    sto_thrift_put_bytes(out, 2, ts_slice_str(colon ? colon + 1 : t->name));
    sto_thrift_put_stop(out);
    sto_thrift_put_list(out, 2, STO_THRIFT_STRUCT, (int32_t)t->n_families);
    for (size_t i = 0; i < t->n_families; i++) {
        const struct sto_thrift_family *m = &t->families[i];
        sto_thrift_put_bytes(out, 1, m->name);
        sto_thrift_put_i32(out, 5, m->bloom);
        sto_thrift_put_i32(out, 6, m->compression);
        sto_thrift_put_i32(out, 8, m->encoding);
        sto_thrift_put_i32(out, 10, m->max_versions);
        sto_thrift_put_i32(out, 13, m->ttl_s);
        sto_thrift_put_stop(out);
    }
    sto_thrift_put_stop(out);
}

static void regions(const struct fake_table *t, struct ts_buf *out)
{
    sto_thrift_put_list(out, 0, STO_THRIFT_STRUCT, t ? (int32_t)t->n_splits + 1 : 0);
    for (size_t i = 0; t && i <= t->n_splits; i++) {
        sto_thrift_put_field(out, STO_THRIFT_STRUCT, 1);
        sto_thrift_put_bytes(out, 1, TS_SLICE_LIT("127.0.0.1"));
        sto_thrift_put_i32(out, 2, 16020);
        sto_thrift_put_i64(out, 3, 1);
        sto_thrift_put_stop(out);
        sto_thrift_put_field(out, STO_THRIFT_STRUCT, 2);
        sto_thrift_put_i64(out, 1, 0);
        sto_thrift_put_bytes(out, 2, ts_slice_str(t->name));
        sto_thrift_put_bytes(out, 3, i ? t->splits[i - 1] : TS_SLICE_LIT(""));
        sto_thrift_put_bytes(out, 4, i < t->n_splits ? t->splits[i] : TS_SLICE_LIT(""));
        sto_thrift_put_stop(out);
        sto_thrift_put_stop(out);
    }
}

/* --- scanners --- */

static size_t scanner_at(const struct fake_hbase *f, int32_t id)
{
    size_t i = 0;
    while (i < f->n_scanners && f->scanners[i]->id != id)
        i++;
    return i;
}

static void scanners(struct fake_hbase *f, const struct fake_args *a, struct ts_slice message,
                     struct ts_buf *out, struct fake_error *e)
{
    size_t at = scanner_at(f, a->scanner);
    if (a->call == STO_THRIFT_OPEN_SCANNER || a->call == STO_THRIFT_GET_SCANNER_RESULTS) {
        struct fake_scanner *s = fake__scanner_new(f, message, e);
        if (s && f->same_page)
            s->args.scan.start = (struct ts_slice){0};
        if (s && a->call == STO_THRIFT_OPEN_SCANNER) {
            TS_ARRAY_GROW(f->scanners, f->n_scanners, f->cap_scanners, 4);
            f->scanners[f->n_scanners++] = s;
            s->id = f->next_scanner++;
            sto_thrift_put_i32(out, 0, s->id);
        } else if (s) {
            fake__scanner_rows(f, s, a->n_rows, out, e);
            fake__scanner_free(s);
        }
    } else if (a->call == STO_THRIFT_GET_SCANNER_ROWS && at < f->n_scanners) {
        fake__scanner_rows(f, f->scanners[at], a->n_rows, out, e);
    } else if (a->call == STO_THRIFT_GET_SCANNER_ROWS) {
        e->kind = FAKE_ARGUMENT;
        (void)snprintf(e->text, sizeof e->text, "Invalid scanner Id");
    } else if (at < f->n_scanners) {
        fake__scanner_free(f->scanners[at]);
        f->scanners[at] = f->scanners[--f->n_scanners];
    }
}

/* --- calls --- */

static void on_table(struct fake_hbase *f, struct fake_table *t, const struct fake_args *a, size_t max_rows,
                     struct ts_buf *out, struct fake_error *e)
{
    switch (a->call) {
    case STO_THRIFT_GET:
        sto_thrift_put_field(out, STO_THRIFT_STRUCT, 0);
        fake__get(f, t, &a->gets[0], out, e);
        break;
    case STO_THRIFT_GET_MULTIPLE:
        sto_thrift_put_list(out, 0, STO_THRIFT_STRUCT, (int32_t)a->n_gets);
        for (size_t i = 0; i < a->n_gets; i++)
            fake__get(f, t, &a->gets[i], out, e);
        break;
    case STO_THRIFT_PUT:
    case STO_THRIFT_PUT_MULTIPLE:
    case STO_THRIFT_DELETE_SINGLE:
        batch(f, t, a, max_rows, e);
        break;
    case STO_THRIFT_DELETE_MULTIPLE:
        batch(f, t, a, max_rows, e);
        sto_thrift_put_list(out, 0, STO_THRIFT_STRUCT, 0);
        break;
    case STO_THRIFT_MUTATE_ROW:
        mutate(t, a, a->row, fake__stamp_ms(f), e);
        break;
    case STO_THRIFT_CHECK_AND_PUT:
    case STO_THRIFT_CHECK_AND_MUTATE:
        check_and_change(f, t, a, out, e);
        break;
    case STO_THRIFT_INCREMENT:
    case STO_THRIFT_APPEND:
        add(f, t, a, out, e);
        break;
    case STO_THRIFT_GET_TABLE_DESCRIPTOR:
        table_descriptor(t, out);
        break;
    default:
        internal(e, a->call);
    }
}

void fake__execute(struct fake_hbase *f, const struct fake_args *a, size_t max_rows, struct ts_slice message,
                   struct ts_buf *out, struct fake_error *e)
{
    struct fake_table *t;
    switch (a->call) {
    case STO_THRIFT_TABLE_EXISTS:
        sto_thrift_put_bool(out, 0, fake__table(f, a->table) != NULL);
        return;
    case STO_THRIFT_CREATE_TABLE:
        create_table(f, a, e);
        return;
    case STO_THRIFT_GET_ALL_REGION_LOCATIONS:
        regions(fake__table(f, a->table), out);
        return;
    case STO_THRIFT_OPEN_SCANNER:
    case STO_THRIFT_GET_SCANNER_ROWS:
    case STO_THRIFT_CLOSE_SCANNER:
    case STO_THRIFT_GET_SCANNER_RESULTS:
        scanners(f, a, message, out, e);
        return;
    default:
        t = fake__table_or(f, a->table, e);
        if (!t && (a->call == STO_THRIFT_PUT_MULTIPLE || a->call == STO_THRIFT_DELETE_MULTIPLE)) {
            e->can_retry = true; /* as HBase has it */
            (void)snprintf(e->text, sizeof e->text,
                           "Failed %zu action: %.*s: %zu time, servers with issues: null", fake__n_rows(a),
                           (int)a->table.n, a->table.p, fake__n_rows(a));
        }
        if (t)
            on_table(f, t, a, max_rows, out, e);
    }
}
