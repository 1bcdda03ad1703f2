/*
 * weblog_count.c - names, cells, points.
 *
 * Threads    one
 */
#include "collectors/weblog_count.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"

#include <string.h>

#define FIRST_SLOTS 64u
#define BATCH_CELLS 16u /* at most 22 points each: below the smallest spool */
#define LATE_MS     499 /* late cells have 1 to 499 ms behind a full second, finished logs the rest */

static const uint32_t took_ms[COL_WEB_TOOK_STEPS] = {10, 30, 100, 300, 1000, 3000, 10000, UINT32_MAX};
static const char *const took_names[COL_WEB_TOOK_STEPS] = {"10",   "30",   "100",   "300",
                                                           "1000", "3000", "10000", "more"};
static const char *const class_names[COL_WEB_CLASSES] = {"1xx", "2xx", "3xx", "4xx", "5xx", "other"};

void col_web_count_init(struct col_web_count *c, const struct col_web_limits *limits)
{
    *c = (struct col_web_count){.limits = *limits, .horizon_ms = COL_WEB_NO_HORIZON, .generation = 1};
    ts_buf_init(&c->text, 0);
}

void col_web_count_release(struct col_web_count *c)
{
    for (uint32_t i = 0; i < c->n_names; i++)
        ts_free(c->names[i].text);
    ts_free(c->names);
    ts_free(c->name_slots);
    ts_free(c->cells);
    ts_free(c->cell_slots);
    ts_buf_release(&c->text);
    *c = (struct col_web_count){.n_names = 0};
}

/* --- names --- */

static uint64_t name_hash(struct ts_slice text, uint32_t parent)
{
    return ts_hash_u64(ts_hash(text.p, text.n) + parent);
}

static uint32_t *name_slot(const struct col_web_count *c, struct ts_slice text, uint32_t parent)
{
    uint32_t mask = c->n_name_slots - 1, i = (uint32_t)name_hash(text, parent) & mask;
    for (; c->name_slots[i]; i = (i + 1) & mask) {
        const struct col_web_name *n = &c->names[c->name_slots[i] - 1];
        if (n->parent == parent && ts_slice_is(text, n->text))
            break;
    }
    return &c->name_slots[i];
}

static void names_grow(struct col_web_count *c)
{
    c->n_name_slots = c->n_name_slots ? c->n_name_slots * 2 : FIRST_SLOTS;
    ts_free(c->name_slots);
    c->name_slots = ts_xcalloc(c->n_name_slots, sizeof(*c->name_slots));
    c->cap_names = c->n_name_slots / 2;
    c->names = ts_xrealloc(c->names, c->cap_names * sizeof(*c->names));
    for (uint32_t i = 0; i < c->n_names; i++)
        *name_slot(c, ts_slice_str(c->names[i].text), c->names[i].parent) = i + 1;
}

/* Index of a name, made if it is new; own: it counts as one of those that have a value of their own. */
static uint32_t name_add(struct col_web_count *c, struct ts_slice text, uint32_t parent, bool own)
{
    if (c->n_names == c->cap_names)
        names_grow(c);
    uint32_t *slot = name_slot(c, text, parent);
    if (*slot)
        return *slot - 1;
    struct col_web_name *n = &c->names[c->n_names];
    *n = (struct col_web_name){.text = ts_xcalloc(1, text.n + 1), .parent = parent};
    memcpy(n->text, text.p, text.n);
    if (own && parent == COL_WEB_TOP)
        c->n_domains++;
    else if (own)
        c->names[parent].n_subs++;
    *slot = ++c->n_names;
    return c->n_names - 1;
}

/* Known, or room for one more (and allowed to take it): itself; else "other". */
static uint32_t name_of(struct col_web_count *c, struct ts_slice text, uint32_t parent, bool may_add)
{
    uint32_t n = parent == COL_WEB_TOP ? c->n_domains : c->names[parent].n_subs;
    uint32_t max = parent == COL_WEB_TOP ? c->limits.max_domains : c->limits.max_paths;
    uint32_t *slot = c->n_name_slots ? name_slot(c, text, parent) : NULL;
    if (slot && *slot)
        return *slot - 1;
    if (n < max && may_add)
        return name_add(c, text, parent, !ts_slice_is(text, "other"));
    return name_add(c, TS_SLICE_LIT("other"), parent, false);
}

bool col_web_name_restore(struct col_web_count *c, struct ts_slice text, uint32_t parent)
{
    uint32_t n = c->n_names;
    if (parent != COL_WEB_TOP && (parent >= n || c->names[parent].parent != COL_WEB_TOP))
        return false;
    return text.n <= COL_WEB_NAME_BYTES && !memchr(text.p, '\0', text.n) &&
           name_add(c, text, parent, !ts_slice_is(text, "other")) == n;
}

/* A value as it will be sent, so that two that look alike in points are one here. */
static struct ts_slice clean(struct col_web_count *c, struct ts_slice raw, bool lower)
{
    if (raw.n > COL_WEB_NAME_BYTES)
        raw.n = COL_WEB_NAME_BYTES;
    ts_buf_clear(&c->text);
    col_name_append(&c->text, raw);
    for (size_t i = 0; lower && i < c->text.n; i++)
        if (c->text.p[i] >= 'A' && c->text.p[i] <= 'Z')
            c->text.p[i] = (char)(c->text.p[i] | 0x20);
    return ts_buf_get(&c->text);
}

static uint32_t series_of(struct col_web_count *c, const struct col_web_hit *h, struct ts_slice domain)
{
    uint32_t d = name_of(c, clean(c, domain, true), COL_WEB_TOP, true);
    if (!c->limits.path_depth)
        return name_add(c, TS_SLICE_LIT(""), d, false);
    struct ts_slice prefix = col_web_prefix(h->path, c->limits.path_depth);
    bool found = h->status < 400; /* what nobody has is asked for by thousands of names */
    return name_of(c, clean(c, prefix, false), d, found || !prefix.n || prefix.n == 1);
}

/* --- cells --- */

static uint32_t *cell_slot(const struct col_web_count *c, int64_t start_ms, uint32_t series)
{
    uint32_t mask = c->n_cell_slots - 1;
    uint32_t i = (uint32_t)ts_hash_u64((uint64_t)start_ms * 31 + series) & mask;
    for (; c->cell_slots[i]; i = (i + 1) & mask) {
        const struct col_web_cell *cell = &c->cells[c->cell_slots[i] - 1];
        if (cell->start_ms == start_ms && cell->series == series)
            break;
    }
    return &c->cell_slots[i];
}

static void cells_index(struct col_web_count *c)
{
    memset(c->cell_slots, 0, c->n_cell_slots * sizeof(*c->cell_slots));
    for (uint32_t i = 0; i < c->n_cells; i++)
        *cell_slot(c, c->cells[i].start_ms, c->cells[i].series) = i + 1;
}

static void cells_resize(struct col_web_count *c, uint32_t n_slots)
{
    c->n_cell_slots = n_slots;
    ts_free(c->cell_slots);
    c->cell_slots = ts_xcalloc(n_slots, sizeof(*c->cell_slots));
    c->cap_cells = n_slots / 2;
    c->cells = ts_xrealloc(c->cells, c->cap_cells * sizeof(*c->cells));
    cells_index(c);
}

static struct col_web_cell *cell_find(struct col_web_count *c, int64_t start_ms, uint32_t series,
                                      bool *out_new)
{
    if (c->n_cells == c->cap_cells)
        cells_resize(c, c->n_cell_slots ? c->n_cell_slots * 2 : FIRST_SLOTS);
    uint32_t *slot = cell_slot(c, start_ms, series);
    *out_new = !*slot;
    if (*slot)
        return &c->cells[*slot - 1];
    struct col_web_cell *cell = &c->cells[c->n_cells];
    *cell = (struct col_web_cell){.time_ms = start_ms, .start_ms = start_ms, .series = series};
    *slot = ++c->n_cells;
    return cell;
}

bool col_web_cell_restore(struct col_web_count *c, const struct col_web_cell *cell)
{
    bool is_new;
    if (cell->series >= c->n_names || c->names[cell->series].parent == COL_WEB_TOP)
        return false;
    struct col_web_cell *mine = cell_find(c, cell->start_ms, cell->series, &is_new);
    if (is_new) {
        *mine = *cell;
        c->n_dirty += cell->dirty;
    }
    return is_new;
}

/* Time of late cells of this generation inside their bucket: unlike any other's. */
static int64_t late_slot_ms(const struct col_web_count *c)
{
    int64_t g = c->generation - 1, n_seconds = c->limits.bucket_ms / 1000;
    return g / LATE_MS % n_seconds * 1000 + g % LATE_MS + 1;
}

static void cell_count(struct col_web_cell *cell, const struct col_web_hit *h)
{
    unsigned k = h->status / 100 - 1;
    k = h->status >= 100 && k < COL_WEB_CLASSES - 1 ? k : COL_WEB_CLASSES - 1;
    cell->hits[k]++;
    cell->bytes[k] += h->bytes;
    if (h->took_us < 0)
        return;
    uint64_t us = (uint64_t)h->took_us;
    unsigned step = 0;
    while (step < COL_WEB_TOOK_STEPS - 1 && us > took_ms[step] * 1000ull)
        step++;
    cell->took[step]++;
    cell->n_timed++;
    cell->sum_us += us;
    cell->max_us = us > cell->max_us ? us : cell->max_us;
}

void col_web_count_hit(struct col_web_count *c, const struct col_web_hit *h, struct ts_slice domain,
                       int64_t now_ms)
{
    bool is_new;
    uint32_t series = series_of(c, h, domain);
    int64_t start_ms = h->time_ms - ts_floor_mod(h->time_ms, c->limits.bucket_ms);
    struct col_web_cell *cell = cell_find(c, start_ms, series, &is_new);
    if (is_new)
        cell->time_ms += c->limits.slot_ms;
    if (is_new && start_ms <= c->horizon_ms)
        cell->time_ms += late_slot_ms(c);
    cell_count(cell, h);
    cell->touched_ms = now_ms;
    c->n_dirty += !cell->dirty;
    cell->dirty = true;
    c->n_counted++;
    c->n_late += cell->time_ms != cell->start_ms + c->limits.slot_ms;
}

/* --- points --- */

static void cell_emit(const struct col_web_cell *cell, const struct col_tag *tags, unsigned n_tags,
                      struct col_emit *emit)
{
    struct col_tag all[3];
    memcpy(all, tags, n_tags * sizeof(*tags));
    col_emit_time(emit, cell->time_ms);
    for (unsigned k = 0; k < COL_WEB_CLASSES; k++) {
        if (!cell->hits[k])
            continue;
        all[n_tags] = (struct col_tag){"status", ts_slice_str(class_names[k])};
        col_emit_u64(emit, "web.hits", cell->hits[k], all, n_tags + 1);
        col_emit_u64(emit, "web.bytes", cell->bytes[k], all, n_tags + 1);
    }
    if (!cell->n_timed)
        return;
    col_emit_u64(emit, "web.time.count", cell->n_timed, tags, n_tags);
    col_emit_num(emit, "web.time.sum", (double)cell->sum_us / 1000, tags, n_tags);
    col_emit_num(emit, "web.time.max", (double)cell->max_us / 1000, tags, n_tags);
    for (unsigned k = 0; k < COL_WEB_TOOK_STEPS; k++) {
        all[n_tags] = (struct col_tag){"upto_ms", ts_slice_str(took_names[k])};
        if (cell->took[k])
            col_emit_u64(emit, "web.time.requests", cell->took[k], all, n_tags + 1);
    }
}

int col_web_count_emit(const struct col_web_count *c, struct col_emit *emit, struct ts_error *err)
{
    int64_t before_ms = col_emit_time_get(emit);
    unsigned n = 0;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < c->n_cells; i++) {
        const struct col_web_cell *cell = &c->cells[i];
        if (!cell->dirty)
            continue;
        const struct col_web_name *path = &c->names[cell->series];
        struct col_tag tags[2] = {{"domain", ts_slice_str(c->names[path->parent].text)},
                                  {"path", ts_slice_str(path->text)}};
        cell_emit(cell, tags, *path->text ? 2 : 1, emit);
        if (++n % BATCH_CELLS == 0)
            rc = col_emit_end(emit, false, err);
    }
    col_emit_time(emit, before_ms);
    return rc;
}

void col_web_count_sent(struct col_web_count *c)
{
    for (uint32_t i = 0; c->n_dirty && i < c->n_cells; i++) {
        c->n_dirty -= c->cells[i].dirty;
        c->cells[i].dirty = false;
    }
}

/* --- giving up --- */

bool col_web_count_full(const struct col_web_count *c)
{
    return c->n_cells > c->limits.max_cells;
}

/* Give up what was sent and was last changed before touched_ms, or belongs to a bucket before start_ms. */
static uint32_t evict_before(struct col_web_count *c, int64_t touched_ms, int64_t start_ms)
{
    uint32_t n = 0;
    bool late = false;
    for (uint32_t i = 0; i < c->n_cells; i++) {
        const struct col_web_cell *cell = &c->cells[i];
        if (cell->dirty || (cell->touched_ms >= touched_ms && cell->start_ms >= start_ms)) {
            c->cells[n++] = *cell;
            continue;
        }
        late |= cell->time_ms != cell->start_ms + c->limits.slot_ms;
        if (cell->start_ms > c->horizon_ms)
            c->horizon_ms = cell->start_ms;
    }
    uint32_t n_gone = c->n_cells - n;
    c->n_cells = n;
    c->generation += late; /* its time inside a bucket may have been used: not again */
    if (n_gone)
        cells_index(c);
    return n_gone;
}

uint32_t col_web_count_evict(struct col_web_count *c, int64_t now_ms, bool full)
{
    int64_t newest_ms = INT64_MIN;
    if (!full)
        return evict_before(c, now_ms - c->limits.late_ms, INT64_MIN);
    for (uint32_t i = 0; i < c->n_cells; i++)
        newest_ms = c->cells[i].start_ms > newest_ms ? c->cells[i].start_ms : newest_ms;
    uint32_t n_gone = c->n_cells ? evict_before(c, INT64_MIN, newest_ms - c->limits.late_ms) : 0;
    if (c->n_cells > c->limits.max_cells / 2)
        n_gone += evict_before(c, INT64_MIN, INT64_MAX);
    return n_gone;
}
