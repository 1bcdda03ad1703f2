/*
 * fake_table.c - tables in memory: rows sorted by key, cells sorted within a row, delete markers beside them.
 */
#include "tests/hbase/fake_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/time.h"

void fake__io_error(struct fake_error *e, bool can_retry, const char *fmt, ...)
{
    va_list ap;
    if (e->kind != FAKE_FINE)
        return;
    e->kind = FAKE_IO;
    e->can_retry = can_retry;
    va_start(ap, fmt);
    (void)vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
}

static struct ts_slice copy(struct ts_slice s)
{
    return (struct ts_slice){ts_xstrndup(s.p, s.n), s.n};
}

static void free_slice(struct ts_slice s)
{
    ts_free((char *)(uintptr_t)s.p);
}

int64_t fake__now_ms(const struct fake_hbase *f)
{
    int64_t now_ms = f->clock_ms ? f->clock_ms : ts_clock_ms();
    return f->clock_ms || now_ms > f->stamp_ms ? now_ms : f->stamp_ms;
}

int64_t fake__stamp_ms(struct fake_hbase *f)
{
    int64_t now_ms = f->clock_ms ? f->clock_ms : ts_clock_ms();
    f->stamp_ms = f->clock_ms || now_ms > f->stamp_ms ? now_ms : f->stamp_ms + 1;
    return f->stamp_ms;
}

struct fake_table *fake__table(struct fake_hbase *f, struct ts_slice name)
{
    if (name.n > 8 && memcmp(name.p, "default:", 8) == 0)
        name = (struct ts_slice){name.p + 8, name.n - 8};
    for (size_t i = 0; i < f->n_tables; i++)
        if (ts_slice_is(name, f->tables[i]->name))
            return f->tables[i];
    return NULL;
}

struct fake_table *fake__table_or(struct fake_hbase *f, struct ts_slice name, struct fake_error *e)
{
    struct fake_table *t = fake__table(f, name);
    if (!t)
        fake__io_error(e, false, "%.*s", (int)name.n, name.p);
    return t;
}

static int by_name(const void *a, const void *b)
{
    const struct sto_thrift_family *x = a, *y = b;
    return ts_slice_cmp(x->name, y->name);
}

struct fake_table *fake__table_new(struct fake_hbase *f, struct ts_slice name,
                                   const struct sto_thrift_family *families, size_t n)
{
    struct fake_table *t = ts_xcalloc(1, sizeof *t);
    t->name = ts_xstrndup(name.p, name.n);
    t->families = ts_xcalloc(n, sizeof *t->families);
    t->n_families = n;
    for (size_t i = 0; i < n; i++) {
        t->families[i] = families[i];
        t->families[i].name = copy(families[i].name);
    }
    qsort(t->families, n, sizeof *t->families, by_name);
    TS_ARRAY_GROW(f->tables, f->n_tables, f->cap_tables, 4);
    f->tables[f->n_tables++] = t;
    return t;
}

static void free_row(struct fake_row *r)
{
    for (size_t i = 0; i < r->n_cells; i++)
        free_slice(r->cells[i].qualifier);
    for (size_t i = 0; i < r->n_markers; i++)
        free_slice(r->markers[i].qualifier);
    free_slice(r->key);
    ts_free(r->cells);
    ts_free(r->markers);
    ts_free(r);
}

void fake__tables_free(struct fake_hbase *f)
{
    for (size_t i = 0; i < f->n_tables; i++) {
        struct fake_table *t = f->tables[i];
        for (size_t k = 0; k < t->n_rows; k++)
            free_row(t->rows[k]);
        for (size_t k = 0; k < t->n_families; k++)
            free_slice(t->families[k].name);
        for (size_t k = 0; k < t->n_splits; k++)
            free_slice(t->splits[k]);
        ts_free(t->splits);
        ts_free(t->rows);
        ts_free(t->families);
        ts_free(t->name);
        ts_free(t);
    }
    ts_free(f->tables);
}

bool fake__add_family(struct fake_table *t, const struct sto_thrift_family *family)
{
    size_t at = 0;
    if (fake__family(t, family->name) != SIZE_MAX)
        return true;
    t->families = ts_xrealloc(t->families, (t->n_families + 1) * sizeof *t->families);
    while (at < t->n_families && ts_slice_cmp(t->families[at].name, family->name) < 0)
        at++;
    memmove(t->families + at + 1, t->families + at, (t->n_families - at) * sizeof *t->families);
    t->families[at] = *family;
    t->families[at].name = copy(family->name);
    t->n_families++;
    for (size_t i = 0; i < t->n_rows; i++) { /* families are numbered in the order of their names */
        for (size_t k = 0; k < t->rows[i]->n_cells; k++)
            t->rows[i]->cells[k].family += t->rows[i]->cells[k].family >= at;
        for (size_t k = 0; k < t->rows[i]->n_markers; k++)
            t->rows[i]->markers[k].family += t->rows[i]->markers[k].family >= at;
    }
    return true;
}

size_t fake__family(const struct fake_table *t, struct ts_slice name)
{
    for (size_t i = 0; i < t->n_families; i++)
        if (ts_slice_eq(t->families[i].name, name))
            return i;
    return SIZE_MAX;
}

size_t fake__row_at(const struct fake_table *t, struct ts_slice key)
{
    size_t low = 0, high = t->n_rows;
    if (high && ts_slice_cmp(t->rows[high - 1]->key, key) < 0)
        return high;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (ts_slice_cmp(t->rows[mid]->key, key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct fake_row *fake__row(const struct fake_table *t, struct ts_slice key)
{
    size_t at = fake__row_at(t, key);
    return at < t->n_rows && ts_slice_eq(t->rows[at]->key, key) ? t->rows[at] : NULL;
}

static struct fake_row *make_row(struct fake_table *t, struct ts_slice key)
{
    size_t at = fake__row_at(t, key);
    if (at < t->n_rows && ts_slice_eq(t->rows[at]->key, key))
        return t->rows[at];
    struct fake_row *r = ts_xcalloc(1, sizeof *r);
    r->key = copy(key);
    TS_ARRAY_GROW(t->rows, t->n_rows, t->cap_rows, 16);
    memmove(t->rows + at + 1, t->rows + at, (t->n_rows - at) * sizeof(struct fake_row *));
    t->rows[at] = r;
    t->n_rows++;
    return r;
}

static int compare(const struct fake_cell *c, size_t family, struct ts_slice qualifier, int64_t ts_ms)
{
    if (c->family != family)
        return c->family < family ? -1 : 1;
    int d = ts_slice_cmp(c->qualifier, qualifier);
    if (d)
        return d;
    return c->ts_ms > ts_ms ? -1 : c->ts_ms < ts_ms;
}

/* Index of the first cell that is not before this version. */
static size_t cell_at(const struct fake_row *r, size_t family, struct ts_slice qualifier, int64_t ts_ms)
{
    size_t low = 0, high = r->n_cells;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare(&r->cells[mid], family, qualifier, ts_ms) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void fake__put_cell(struct fake_table *t, struct ts_slice row, size_t family, struct ts_slice qualifier,
                    struct ts_slice value, int64_t ts_ms)
{
    struct fake_row *r = make_row(t, row);
    size_t at = cell_at(r, family, qualifier, ts_ms);
    char *p = ts_xmalloc(qualifier.n + value.n + 1);
    if (qualifier.n)
        memcpy(p, qualifier.p, qualifier.n);
    if (value.n)
        memcpy(p + qualifier.n, value.p, value.n);
    if (at < r->n_cells && compare(&r->cells[at], family, qualifier, ts_ms) == 0) {
        free_slice(r->cells[at].qualifier);
    } else {
        TS_ARRAY_GROW(r->cells, r->n_cells, r->cap_cells, 4);
        memmove(r->cells + at + 1, r->cells + at, (r->n_cells - at) * sizeof *r->cells);
        r->n_cells++;
    }
    r->cells[at] = (struct fake_cell){
        .family = family, .ts_ms = ts_ms, .qualifier = {p, qualifier.n}, .value = {p + qualifier.n, value.n}};
}

void fake__put_marker(struct fake_table *t, struct ts_slice row, enum sto_thrift_delete_type type,
                      size_t family, struct ts_slice qualifier, int64_t ts_ms)
{
    struct fake_row *r = fake__row(t, row);
    r = r ? r : make_row(t, row);
    TS_ARRAY_GROW(r->markers, r->n_markers, r->cap_markers, 4);
    r->markers[r->n_markers++] =
        (struct fake_marker){.family = family, .type = type, .qualifier = copy(qualifier), .ts_ms = ts_ms};
}

static bool hides(const struct fake_marker *m, const struct fake_cell *c)
{
    bool up_to = m->type == STO_THRIFT_DELETE_COLUMNS || m->type == STO_THRIFT_DELETE_FAMILY;
    bool one_column = m->type == STO_THRIFT_DELETE_COLUMNS || m->type == STO_THRIFT_DELETE_COLUMN;
    if (m->family != c->family || (up_to ? c->ts_ms > m->ts_ms : c->ts_ms != m->ts_ms))
        return false;
    return !one_column || ts_slice_eq(m->qualifier, c->qualifier);
}

bool fake__is_visible(const struct fake_table *t, const struct fake_row *r, const struct fake_cell *c,
                      int64_t now_ms)
{
    int32_t ttl_s = t->families[c->family].ttl_s;
    if (ttl_s > 0 && ttl_s < INT32_MAX && c->ts_ms + ttl_s * 1000ll < now_ms)
        return false;
    for (size_t i = 0; i < r->n_markers; i++)
        if (hides(&r->markers[i], c))
            return false;
    return true;
}

const struct fake_cell *fake__newest(const struct fake_table *t, struct ts_slice row, size_t family,
                                     struct ts_slice qualifier, int64_t now_ms)
{
    const struct fake_row *r = fake__row(t, row);
    for (size_t i = r ? cell_at(r, family, qualifier, INT64_MAX) : 0; r && i < r->n_cells; i++) {
        const struct fake_cell *c = &r->cells[i];
        if (c->family != family || !ts_slice_eq(c->qualifier, qualifier))
            break;
        if (fake__is_visible(t, r, c, now_ms))
            return c;
    }
    return NULL;
}

void fake__compact(struct fake_table *t, int64_t now_ms)
{
    size_t n_rows = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        struct fake_row *r = t->rows[i];
        size_t n = 0;
        int32_t versions = 0;
        for (size_t k = 0; k < r->n_cells; k++) {
            struct fake_cell *c = &r->cells[k];
            int32_t most = t->families[c->family].max_versions;
            if (!n || r->cells[n - 1].family != c->family ||
                !ts_slice_eq(r->cells[n - 1].qualifier, c->qualifier))
                versions = 0;
            if (fake__is_visible(t, r, c, now_ms) && ++versions <= (most > 0 ? most : 1))
                r->cells[n++] = *c;
            else
                free_slice(c->qualifier);
        }
        r->n_cells = n;
        for (size_t k = 0; k < r->n_markers; k++)
            free_slice(r->markers[k].qualifier);
        r->n_markers = 0;
        if (n)
            t->rows[n_rows++] = r;
        else
            free_row(r);
    }
    t->n_rows = n_rows;
}
