/*
 * fake_access.c - what tests read and write directly, and counters.
 */
#include "tests/hbase/fake_int.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"

static struct fake_table *known(struct fake_hbase *f, const char *table)
{
    struct fake_table *t = fake__table(f, ts_slice_str(table));
    if (!t)
        TS_BUG("the fake HBase has no table %s", table);
    return t;
}

static size_t known_family(const struct fake_table *t, const char *family)
{
    size_t i = fake__family(t, ts_slice_str(family));
    if (i == SIZE_MAX)
        TS_BUG("table %s of the fake HBase has no family %s", t->name, family);
    return i;
}

static struct sto_thrift_family usual(struct ts_slice name)
{
    return (struct sto_thrift_family){.name = name,
                                      .bloom = STO_THRIFT_BLOOM_ROW,
                                      .compression = STO_THRIFT_COMPRESSION_NONE,
                                      .encoding = STO_THRIFT_ENCODING_NONE,
                                      .max_versions = 1,
                                      .ttl_s = INT32_MAX};
}

void fake_hbase_create(struct fake_hbase *f, const char *table, const char *families)
{
    struct sto_thrift_family list[16];
    size_t n = 0;
    for (const char *p = families; *p && n < 16;) {
        size_t k = strcspn(p, " ");
        if (k)
            list[n++] = usual((struct ts_slice){p, k});
        p += k + (p[k] == ' ');
    }
    pthread_mutex_lock(&f->mu);
    if (!fake__table(f, ts_slice_str(table)))
        fake__table_new(f, ts_slice_str(table), list, n);
    pthread_mutex_unlock(&f->mu);
}

void fake_hbase_create_opentsdb(struct fake_hbase *f)
{
    fake_hbase_create(f, "tsdb", "t");
    fake_hbase_create(f, "tsdb-uid", "id name");
    fake_hbase_create(f, "tsdb-tree", "t");
    fake_hbase_create(f, "tsdb-meta", "name");
}

void fake_hbase_set_clock(struct fake_hbase *f, int64_t now_ms)
{
    pthread_mutex_lock(&f->mu);
    f->clock_ms = now_ms;
    pthread_mutex_unlock(&f->mu);
}

void fake_hbase_set_old(struct fake_hbase *f)
{
    pthread_mutex_lock(&f->mu);
    f->is_old = true;
    pthread_mutex_unlock(&f->mu);
}

void fake_hbase_put(struct fake_hbase *f, const char *table, struct ts_slice row, const char *family,
                    struct ts_slice qualifier, struct ts_slice value, int64_t ts_ms)
{
    pthread_mutex_lock(&f->mu);
    struct fake_table *t = known(f, table);
    fake__put_cell(t, row, known_family(t, family), qualifier, value, ts_ms ? ts_ms : fake__stamp_ms(f));
    pthread_mutex_unlock(&f->mu);
}

void fake_hbase_delete(struct fake_hbase *f, const char *table, struct ts_slice row, const char *family,
                       struct ts_slice qualifier)
{
    pthread_mutex_lock(&f->mu);
    struct fake_table *t = known(f, table);
    int64_t now_ms = fake__stamp_ms(f);
    for (size_t i = 0; !qualifier.p && i < t->n_families; i++)
        fake__put_marker(t, row, STO_THRIFT_DELETE_FAMILY, i, (struct ts_slice){0}, now_ms);
    if (qualifier.p)
        fake__put_marker(t, row, STO_THRIFT_DELETE_COLUMNS, known_family(t, family), qualifier, now_ms);
    pthread_mutex_unlock(&f->mu);
}

bool fake_hbase_get(struct fake_hbase *f, const char *table, struct ts_slice row, const char *family,
                    struct ts_slice qualifier, struct ts_buf *out, int64_t *out_ts_ms)
{
    pthread_mutex_lock(&f->mu);
    struct fake_table *t = known(f, table);
    const struct fake_cell *c = fake__newest(t, row, known_family(t, family), qualifier, fake__now_ms(f));
    if (c)
        ts_buf_slice(out, c->value);
    if (c && out_ts_ms)
        *out_ts_ms = c->ts_ms;
    pthread_mutex_unlock(&f->mu);
    return c != NULL;
}

/* Call each for every cell that a scan would find. Under mu. */
static void each_cell(const struct fake_hbase *f, const struct fake_table *t,
                      void (*each)(void *arg, const struct fake_table *t, const struct fake_row *r,
                                   const struct fake_cell *c),
                      void *arg)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const struct fake_row *r = t->rows[i];
        const struct fake_cell *last = NULL;
        int32_t versions = 0;
        for (size_t k = 0; k < r->n_cells; k++) {
            const struct fake_cell *c = &r->cells[k];
            if (!fake__is_visible(t, r, c, fake__now_ms(f)))
                continue;
            if (!last || last->family != c->family || !ts_slice_eq(last->qualifier, c->qualifier))
                versions = 0;
            last = c;
            if (versions++ < t->families[c->family].max_versions)
                each(arg, t, r, c);
        }
    }
}

static void count(void *arg, const struct fake_table *t, const struct fake_row *r, const struct fake_cell *c)
{
    (void)t, (void)r, (void)c;
    ++*(size_t *)arg;
}

size_t fake_hbase_cells(struct fake_hbase *f, const char *table)
{
    size_t n = 0;
    pthread_mutex_lock(&f->mu);
    each_cell(f, known(f, table), count, &n);
    pthread_mutex_unlock(&f->mu);
    return n;
}

struct dump {
    struct ts_buf *out;
    bool with_ts;
};

static void hex(struct ts_buf *out, struct ts_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        ts_buf_printf(out, "%02x", (unsigned char)s.p[i]);
}

static void dump_cell(void *arg, const struct fake_table *t, const struct fake_row *r,
                      const struct fake_cell *c)
{
    const struct dump *d = arg;
    hex(d->out, r->key);
    ts_buf_char(d->out, ' ');
    ts_buf_slice(d->out, t->families[c->family].name);
    ts_buf_char(d->out, ':');
    hex(d->out, c->qualifier);
    if (d->with_ts)
        ts_buf_printf(d->out, "@%lld", (long long)c->ts_ms);
    ts_buf_char(d->out, '=');
    hex(d->out, c->value);
    ts_buf_char(d->out, '\n');
}

void fake_hbase_dump(struct fake_hbase *f, const char *table, bool with_ts, struct ts_buf *out)
{
    pthread_mutex_lock(&f->mu);
    each_cell(f, known(f, table), dump_cell, &(struct dump){out, with_ts});
    pthread_mutex_unlock(&f->mu);
}

void fake_hbase_compact(struct fake_hbase *f, const char *table)
{
    pthread_mutex_lock(&f->mu);
    fake__compact(known(f, table), fake__now_ms(f));
    pthread_mutex_unlock(&f->mu);
}

/* --- golden rows --- */

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes of hexadecimal digits. False: they are not. */
static bool bytes(const char *text, struct ts_buf *out)
{
    ts_buf_clear(out);
    ts_buf_append(out, "", 0);
    for (; text && *text; text += 2) {
        if (digit(text[0]) < 0 || digit(text[1]) < 0)
            return false;
        ts_buf_char(out, (char)(digit(text[0]) << 4 | digit(text[1])));
    }
    return text != NULL;
}

static bool load_cell(struct fake_hbase *f, const char *table, struct ts_slice row, json_t *cell)
{
    struct ts_buf qualifier, value;
    const char *family = json_string_value(json_object_get(cell, "family"));
    bool fine = false;
    ts_buf_init(&qualifier, 0);
    ts_buf_init(&value, 0);
    if (family && bytes(json_string_value(json_object_get(cell, "qualifier")), &qualifier) &&
        bytes(json_string_value(json_object_get(cell, "value")), &value)) {
        pthread_mutex_lock(&f->mu);
        struct fake_table *t = fake__table(f, ts_slice_str(table));
        struct sto_thrift_family one = usual(ts_slice_str(family));
        t = t ? t : fake__table_new(f, ts_slice_str(table), &one, 1);
        fine = fake__add_family(t, &one);
        fake__put_cell(t, row, fake__family(t, one.name), ts_buf_get(&qualifier), ts_buf_get(&value),
                       (int64_t)json_integer_value(json_object_get(cell, "timestamp")));
        pthread_mutex_unlock(&f->mu);
    }
    ts_buf_release(&qualifier);
    ts_buf_release(&value);
    return fine;
}

static bool load_row(struct fake_hbase *f, json_t *line)
{
    struct ts_buf row;
    size_t i;
    json_t *cell;
    const char *table = json_string_value(json_object_get(line, "table"));
    ts_buf_init(&row, 0);
    bool fine = table && bytes(json_string_value(json_object_get(line, "row")), &row);
    json_array_foreach(json_object_get(line, "cells"), i, cell) fine =
        fine && load_cell(f, table, ts_buf_get(&row), cell);
    ts_buf_release(&row);
    return fine;
}

bool fake_hbase_load(struct fake_hbase *f, const char *path)
{
    FILE *in = fopen(path, "re");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    bool fine = in != NULL;
    while (fine && (n = getline(&line, &cap, in)) > 0) {
        json_t *row = json_loadb(line, (size_t)n, 0, NULL);
        fine = row && load_row(f, row);
        json_decref(row);
    }
    free(line);
    if (in)
        (void)fclose(in);
    return fine;
}

/* --- counters --- */

uint64_t fake_hbase_count(struct fake_hbase *f, enum sto_thrift_call call)
{
    pthread_mutex_lock(&f->mu);
    uint64_t n = f->n_calls[call];
    pthread_mutex_unlock(&f->mu);
    return n;
}

uint64_t fake_hbase_count_rows(struct fake_hbase *f, enum sto_thrift_call call)
{
    pthread_mutex_lock(&f->mu);
    uint64_t n = f->n_rows[call];
    pthread_mutex_unlock(&f->mu);
    return n;
}

uint64_t fake_hbase_looked(struct fake_hbase *f)
{
    pthread_mutex_lock(&f->mu);
    uint64_t n = f->n_looked;
    pthread_mutex_unlock(&f->mu);
    return n;
}

uint64_t fake_hbase_connections(struct fake_hbase *f)
{
    pthread_mutex_lock(&f->mu);
    uint64_t n = f->n_conns;
    pthread_mutex_unlock(&f->mu);
    return n;
}

size_t fake_hbase_scanners(struct fake_hbase *f)
{
    pthread_mutex_lock(&f->mu);
    size_t n = f->n_scanners;
    pthread_mutex_unlock(&f->mu);
    return n;
}
