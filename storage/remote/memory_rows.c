/*
 * memory_rows.c - the contents of a remote store in memory: names, series, rows.
 */
#include "storage/remote/memory_rows.h"

#include <string.h>

#include "base/mem.h"

/* --- names --- */

static struct ts_slice text_of(const struct sto_memory_name *name)
{
    return (struct ts_slice){name->text, name->n};
}

uint64_t sto_memory_name_id(struct sto_memory_rows *m, enum sto_remote_kind kind, struct ts_slice name,
                            bool make)
{
    for (size_t i = 0; i < m->n_names; i++)
        if (m->names[i].kind == kind && ts_slice_eq(text_of(&m->names[i]), name))
            return i + 1;
    if (!make)
        return 0;
    if (m->n_names == m->cap_names)
        m->names =
            ts_xrealloc(m->names, (m->cap_names = m->cap_names ? m->cap_names * 2 : 16) * sizeof *m->names);
    m->names[m->n_names++] =
        (struct sto_memory_name){.kind = kind, .text = ts_xstrndup(name.p, name.n), .n = name.n};
    return m->n_names;
}

struct ts_slice sto_memory_name_text(const struct sto_memory_rows *m, enum sto_remote_kind kind, uint64_t id)
{
    if (id == 0 || id > m->n_names || m->names[id - 1].kind != kind)
        return (struct ts_slice){NULL, 0};
    return text_of(&m->names[id - 1]);
}

/* --- series --- */

static bool has_tag(const struct sto_memory_series *s, uint64_t k, uint64_t v)
{
    for (size_t i = 0; i < s->n_tags; i++)
        if (s->tags[2 * i] == k && s->tags[2 * i + 1] == v)
            return true;
    return false;
}

/* ids: 2 * n_tags, key and value alternately. */
static struct sto_memory_series *find(struct sto_memory_rows *m, uint64_t metric, const uint64_t *ids,
                                      size_t n_tags)
{
    for (size_t i = 0; i < m->n_series; i++) {
        struct sto_memory_series *s = &m->series[i];
        bool same = s->metric == metric && s->n_tags == n_tags;
        for (size_t k = 0; same && k < n_tags; k++)
            same = has_tag(s, ids[2 * k], ids[2 * k + 1]);
        if (same)
            return s;
    }
    return NULL;
}

struct sto_memory_series *sto_memory_series_find(struct sto_memory_rows *m, const struct sto_remote_series *s,
                                                 bool make)
{
    uint64_t metric = sto_memory_name_id(m, STO_REMOTE_METRIC, s->metric, make);
    uint64_t *ids = ts_xcalloc(2 * s->n_tags + 1, sizeof *ids);
    bool known = metric != 0;
    for (size_t i = 0; i < s->n_tags; i++) {
        ids[2 * i] = sto_memory_name_id(m, STO_REMOTE_TAGK, s->tags[i].k, make);
        ids[2 * i + 1] = sto_memory_name_id(m, STO_REMOTE_TAGV, s->tags[i].v, make);
        known = known && ids[2 * i] && ids[2 * i + 1];
    }
    struct sto_memory_series *found = known ? find(m, metric, ids, s->n_tags) : NULL;
    if (found || !make) {
        ts_free(ids);
        return found;
    }
    if (m->n_series == m->cap_series)
        m->series = ts_xrealloc(m->series,
                                (m->cap_series = m->cap_series ? m->cap_series * 2 : 16) * sizeof *m->series);
    found = &m->series[m->n_series++];
    *found = (struct sto_memory_series){.metric = metric, .tags = ids, .n_tags = s->n_tags};
    return found;
}

void sto_memory_rows_release(struct sto_memory_rows *m)
{
    for (size_t i = 0; i < m->n_names; i++)
        ts_free(m->names[i].text);
    for (size_t i = 0; i < m->n_series; i++) {
        for (size_t k = 0; k < m->series[i].n_rows; k++) {
            sto_cells_release(&m->series[i].rows[k].cells);
            sto_cells_release(&m->series[i].rows[k].ever);
        }
        if (m->series[i].rows)
            ts_free(m->series[i].rows - m->series[i].n_before);
        ts_free(m->series[i].tags);
    }
    ts_free(m->names);
    ts_free(m->series);
    *m = (struct sto_memory_rows){0};
}

/* --- rows --- */

/* Move the rows into a larger block, with as many free rows before them as after them. */
static void rows_grow(struct sto_memory_series *s)
{
    size_t cap = s->n_rows * 3 + 8, n_before = s->n_rows + 4;
    struct sto_memory_row *block = ts_xcalloc(cap, sizeof *block);
    if (s->rows) {
        memcpy(block + n_before, s->rows, s->n_rows * sizeof *block);
        ts_free(s->rows - s->n_before);
    }
    s->rows = block + n_before;
    s->cap_rows = cap;
    s->n_before = n_before;
}

/* Make an uninitialised row at a position. The rows on the shorter side move, because a backlog arrives from its newest hour to its
 * oldest one, and what comes later has newer hours. */
static void row_insert(struct sto_memory_series *s, size_t at)
{
    bool to_front = at < s->n_rows - at;
    if (!s->rows || (to_front ? s->n_before == 0 : s->n_before + s->n_rows == s->cap_rows))
        rows_grow(s);
    if (to_front) {
        s->rows--;
        s->n_before--;
        memmove(s->rows, s->rows + 1, at * sizeof *s->rows);
    } else {
        memmove(s->rows + at + 1, s->rows + at, (s->n_rows - at) * sizeof *s->rows);
    }
    s->n_rows++;
}

struct sto_memory_row *sto_memory_row_find(struct sto_memory_series *s, int32_t hour, bool make)
{
    size_t lo = 0, hi = s->n_rows;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->rows[mid].hour < hour)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < s->n_rows && s->rows[lo].hour == hour)
        return &s->rows[lo];
    if (!make)
        return NULL;
    row_insert(s, lo);
    s->rows[lo] = (struct sto_memory_row){.hour = hour};
    return &s->rows[lo];
}

static void append(struct sto_cells *to, const struct sto_cells *from, uint32_t i)
{
    to->meta[to->n] = from->meta[i];
    to->m[to->n++] = from->m[i];
}

/* Write cells over others. Returns how many were there before. */
static uint32_t put(struct sto_cells *to, const struct sto_cells *cells)
{
    struct sto_cells was = *to, now = {0};
    uint32_t i = 0, k = 0, n_both = 0;
    sto_cells_reserve(&now, was.n + cells->n);
    while (i < was.n || k < cells->n) {
        uint32_t a = i < was.n ? sto_meta_off(was.meta[i]) : UINT32_MAX;
        uint32_t b = k < cells->n ? sto_meta_off(cells->meta[k]) : UINT32_MAX;
        n_both += a == b;
        if (b <= a)
            append(&now, cells, k++);
        else
            append(&now, &was, i);
        i += a <= b;
    }
    sto_cells_release(&was);
    *to = now;
    return n_both;
}

void sto_memory_row_put(struct sto_memory_row *row, const struct sto_cells *cells)
{
    (void)put(&row->cells, cells);
}

bool sto_memory_row_note(struct sto_memory_row *row, const struct sto_remote_row *sent)
{
    return put(&row->ever, sent->cells) == 0 || !sent->fresh;
}

/* Copy the points within the range (inside), or all others. */
static void copy(const struct sto_memory_row *row, int64_t from_ms, int64_t to_ms, bool inside,
                 struct sto_cells *out)
{
    uint32_t lo = 1, hi = 0;
    (void)sto_hour_part(row->hour, from_ms, to_ms, &lo, &hi);
    sto_cells_reserve(out, row->cells.n);
    out->n = 0;
    for (uint32_t i = 0; i < row->cells.n; i++) {
        uint32_t off = sto_meta_off(row->cells.meta[i]);
        if ((off >= lo && off <= hi) == inside)
            append(out, &row->cells, i);
    }
}

void sto_memory_row_delete(struct sto_memory_row *row, int64_t from_ms, int64_t to_ms)
{
    struct sto_cells rest = {0};
    copy(row, from_ms, to_ms, false, &rest);
    sto_cells_release(&row->cells);
    row->cells = rest;
}

void sto_memory_row_read(const struct sto_memory_row *row, int64_t from_ms, int64_t to_ms,
                         struct sto_cells *out)
{
    copy(row, from_ms, to_ms, true, out);
}

size_t sto_memory_rows_points(const struct sto_memory_rows *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_series; i++)
        for (size_t k = 0; k < m->series[i].n_rows; k++)
            n += m->series[i].rows[k].cells.n;
    return n;
}
