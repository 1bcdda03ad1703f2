/*
 * t_golden.h - the recorded rows of tests/golden/hbase and the puts they were made of.
 *
 * Threads    one
 */
#ifndef T_GOLDEN_H
#define T_GOLDEN_H

#include "tests/unit/hbase/t_hbase.h"

#include <stdio.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "storage/hbase/columns.h"
#include "storage/point.h"

#define T_GOLDEN_CELLS 40
#define T_GOLDEN_PUTS  80
#define T_GOLDEN_NAMES 20

/* A recorded row. */
struct t_golden_row {
    char table[16];
    struct t_bytes key;
    size_t n;
    char family[T_GOLDEN_CELLS][8];
    struct t_bytes qualifier[T_GOLDEN_CELLS], value[T_GOLDEN_CELLS];
    struct sto_hbase_cell cell[T_GOLDEN_CELLS];
};
/* A put, with the ids that its names got. */
struct t_golden_put {
    struct sto_hbase_ids ids;
    uint32_t base_s, off_ms;
    bool ms;
    int phase;
    struct ts_num value;
};
/* All puts in their order, and the names in the order of their ids. */
struct t_golden_puts {
    struct t_golden_put put[T_GOLDEN_PUTS];
    size_t n;
    char name[3][T_GOLDEN_NAMES][16]; /* by kind: enum sto_remote_kind; id - 1 */
    size_t n_names[3];
};

/** Contents of a file of tests/golden/hbase; the caller frees them. */
static inline char *t_golden_read(const char *file, size_t *n)
{
    char path[1024], *text;
    struct ts_error err = {0};
    snprintf(path, sizeof(path), "%s/%s", T_GOLDEN_FOLDER, file);
    assert_int_equal(ts_fs_read_file(ts_fs_real(), path, 1 << 20, &text, n, &err), 0);
    text = ts_xrealloc(text, *n + 1);
    text[*n] = 0;
    return text;
}

static inline void t_golden_parse(const char *line, size_t n, struct t_golden_row *row)
{
    json_t *json, *cell;
    size_t i;
    struct ts_error err = {0};
    assert_int_equal(ts_json_load((struct ts_slice){line, n}, &json, &err), 0);
    memset(row, 0, sizeof(*row));
    snprintf(row->table, sizeof(row->table), "%s", json_string_value(json_object_get(json, "table")));
    row->key = t_hex(json_string_value(json_object_get(json, "row")));
    json_array_foreach(json_object_get(json, "cells"), i, cell)
    {
        assert_true(i < T_GOLDEN_CELLS);
        snprintf(row->family[i], sizeof(row->family[i]), "%s",
                 json_string_value(json_object_get(cell, "family")));
        row->qualifier[i] = t_hex(json_string_value(json_object_get(cell, "qualifier")));
        row->value[i] = t_hex(json_string_value(json_object_get(cell, "value")));
        row->cell[i] = (struct sto_hbase_cell){t_slice(&row->qualifier[i]), t_slice(&row->value[i]),
                                               json_integer_value(json_object_get(cell, "timestamp"))};
        row->n = i + 1;
    }
    json_decref(json);
}

/** Call each for all rows of a table in a file; returns how many there are. */
static inline size_t t_golden_each(const char *file, const char *table,
                                   void (*each)(void *, struct t_golden_row *), void *arg)
{
    static struct t_golden_row row;
    size_t n, found = 0;
    char *text = t_golden_read(file, &n), *line = text;
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        t_golden_parse(line, (size_t)(end - line), &row);
        if (strcmp(row.table, table) == 0) {
            each(arg, &row);
            found++;
        }
    }
    ts_free(text);
    return found;
}

static inline uint64_t t_golden_id(struct t_golden_puts *all, int kind, const char *name)
{
    size_t i = 0;
    while (i < all->n_names[kind] && strcmp(all->name[kind][i], name))
        i++;
    if (i == all->n_names[kind]) {
        assert_true(i < T_GOLDEN_NAMES && strlen(name) < sizeof(all->name[kind][i]));
        snprintf(all->name[kind][all->n_names[kind]++], sizeof(all->name[kind][i]), "%s", name);
    }
    return i + 1;
}

static inline void t_golden_put(struct t_golden_puts *all, char *line, int phase)
{
    char *rest = NULL, *metric = strtok_r(line, " ", &rest), *time = strtok_r(NULL, " ", &rest),
         *value = strtok_r(NULL, " ", &rest);
    assert_true(all->n < T_GOLDEN_PUTS);
    struct t_golden_put *p = &all->put[all->n++];
    int64_t ts;
    struct ts_error err = {0};
    assert_int_equal(ts_num_parse_int(ts_slice_str(time), &ts, &err), 0);
    assert_int_equal(ts_num_parse(ts_slice_str(value), &p->value, &err), 0);
    p->phase = phase;
    p->ms = ts > UINT32_MAX;
    ts = p->ms ? ts : ts * 1000;
    p->base_s = (uint32_t)(ts / 3600000 * 3600);
    p->off_ms = (uint32_t)(ts % 3600000);
    p->ids = (struct sto_hbase_ids){.metric = t_golden_id(all, 0, metric)};
    for (char *tag; (tag = strtok_r(NULL, " ", &rest));) {
        char *equals = strchr(tag, '=');
        *equals = 0;
        struct sto_hbase_pair *pair = &p->ids.tag[p->ids.n_tags++];
        pair->k = t_golden_id(all, 1, tag);
        pair->v = t_golden_id(all, 2, equals + 1);
    }
}

/** Read puts.txt. */
static inline void t_golden_puts(struct t_golden_puts *all)
{
    size_t n;
    int phase = 0;
    char *text = t_golden_read("puts.txt", &n), *line = text;
    memset(all, 0, sizeof(*all));
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        if (strncmp(line, "#phase", 6) == 0)
            phase++;
        else if (strncmp(line, "put ", 4) == 0)
            t_golden_put(all, line + 4, phase);
    }
    ts_free(text);
    assert_int_equal(phase, 2);
}

#endif
