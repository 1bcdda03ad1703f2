/*
 * t_row.h - a row of the data table as text: cells in, points and findings out.
 *
 *   cell    "0000 2A", "0000 2A @7" (time stamp 7; 1 without it): qualifier and value in hexadecimal digits
 *   result  "0s=42 500ms=1.5", followed by what the visitor saw: " annotation(2):30000 lost(0<1):0 damaged(1)"
 *
 * Threads    one
 */
#ifndef T_ROW_H
#define T_ROW_H

#include "tests/unit/hbase/t_hbase.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "storage/hbase/columns.h"

#define T_ROW_CELLS 16

/* A row of cells that own their bytes. */
struct t_row {
    struct t_bytes qualifier[T_ROW_CELLS], value[T_ROW_CELLS];
    struct sto_hbase_cell cell[T_ROW_CELLS];
    size_t n;
};

/** Add a cell as described above. */
static inline void t_row_add(struct t_row *row, const char *text)
{
    char part[3 * T_HEX_BYTES];
    assert_true(row->n < T_ROW_CELLS && strlen(text) < sizeof(part));
    snprintf(part, sizeof(part), "%s", text);
    char *at = strchr(part, '@');
    int64_t ts_ms = at ? strtoll(at + 1, NULL, 10) : 1;
    if (at)
        *at = 0;
    char *value = strchr(part, ' ');
    if (value)
        *value++ = 0;
    struct t_bytes *q = &row->qualifier[row->n], *v = &row->value[row->n];
    *q = t_hex(part);
    *v = t_hex(value ? value : "");
    row->cell[row->n++] = (struct sto_hbase_cell){t_slice(q), t_slice(v), ts_ms};
}

/** Print a point. */
static inline void t_print_point(struct ts_buf *out, uint32_t meta, int64_t m)
{
    char text[TS_NUM_TEXT_BYTES];
    struct ts_num v = sto_cell_num(meta, m);
    size_t n =
        v.kind == TS_NUM_INT ? ts_num_print_int(v.m, text) : ts_num_print_double(ts_num_double(v), text);
    bool ms = meta & STO_META_MS;
    uint32_t off = sto_meta_off(meta);
    assert_true(ms || off % 1000 == 0);
    ts_buf_printf(out, "%s%u%s=%.*s", out->n ? " " : "", ms ? off : off / 1000, ms ? "ms" : "s", (int)n,
                  text);
}

static inline void t_on_annotation(void *arg, size_t cell, uint32_t off_ms)
{
    ts_buf_printf(arg, " annotation(%zu):%u", cell, off_ms);
}
static inline void t_on_histogram(void *arg, size_t cell, uint32_t off_ms)
{
    ts_buf_printf(arg, " histogram(%zu):%u", cell, off_ms);
}
static inline void t_on_finding(void *arg, size_t cell, enum sto_hbase_finding finding, const char *text)
{
    static const char *const names[] = {"damaged", "irregular", "unknown"};
    size_t n = strlen(text);
    assert_true(n > 10 && text[n - 1] == '.'); /* one whole sentence */
    ts_buf_printf(arg, " %s(%zu)", names[finding], cell);
}
static inline void t_on_duplicate(void *arg, const struct sto_hbase_duplicate *d)
{
    ts_buf_printf(arg, " %s(%zu<%zu):%u",
                  d->equal      ? "equal"
                  : d->appended ? "replaced"
                                : "lost",
                  d->lost, d->kept, d->off_ms);
}

/** Decode a row and compare it with text. */
static inline void t_expect_row(const struct t_row *row, const char *expected)
{
    struct ts_buf out, events;
    ts_buf_init(&out, 0);
    ts_buf_init(&events, 0);
    struct sto_hbase_visitor visitor = {t_on_annotation, t_on_histogram, t_on_finding, t_on_duplicate,
                                        &events};
    struct sto_hbase_columns c;
    struct ts_error err = {0};
    sto_hbase_columns_init(&c, NULL);
    assert_int_equal(sto_hbase_columns_decode(&c, row->cell, row->n, &visitor, &err), 0);
    for (uint32_t i = 0; i < c.cells.n; i++)
        t_print_point(&out, c.cells.meta[i], c.cells.m[i]);
    ts_buf_slice(&out, ts_buf_get(&events));
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, expected);
    ts_buf_release(&out);
    ts_buf_release(&events);
    sto_hbase_columns_release(&c);
}
/** The same for a row of cells; the list ends with NULL. */
static inline void t_expect_cells(const char *const *cells, const char *expected)
{
    struct t_row row = {.n = 0};
    for (; *cells; cells++)
        t_row_add(&row, *cells);
    t_expect_row(&row, expected);
}
#define T_CELLS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
