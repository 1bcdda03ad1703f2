/*
 * weblog_count.c - counts requests in cells, and emits the cells as points.
 *
 * Threads    one
 */
#include "collectors/weblog/weblog_count.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/weblog/weblog_bots.h"

#include <string.h>

#define FIRST_SLOTS 64u
#define BATCH_CELLS 16u /* at most 22 points each: below the smallest spool */
#define TAGS_MAX    4u  /* domain, path, bot, and status or upto_ms */
#define LATE_MS     499 /* late cells have 1 to 499 ms behind a full second, finished logs the rest */

static const uint32_t took_ms[COL_WEB_TOOK_STEPS] = {10, 30, 100, 300, 1000, 3000, 10000, UINT32_MAX};
static const char *const took_names[COL_WEB_TOOK_STEPS] = {"10",   "30",   "100",   "300",
                                                           "1000", "3000", "10000", "more"};
static const char *const bot_names[COL_WEB_BOTS] = {"", "no", "yes"};
static const char *const class_names[COL_WEB_CLASSES] = {"1xx", "2xx", "3xx", "4xx", "5xx", "other"};

void col_web_count_init(struct col_web_count *c, const struct col_web_limits *limits)
{
    *c = (struct col_web_count){.limits = *limits, .horizon_ms = COL_WEB_NO_HORIZON, .generation = 1};
    ts_buf_init(&c->text, 0);
    col_web_names_init(&c->names, &(struct col_web_name_limits){.max_domains = limits->max_domains,
                                                                .max_paths = limits->max_paths,
                                                                .forget_ms = limits->forget_ms});
}

void col_web_count_release(struct col_web_count *c)
{
    col_web_names_release(&c->names);
    ts_free(c->cells);
    ts_free(c->cell_slots);
    ts_buf_release(&c->text);
    *c = (struct col_web_count){.n_cells = 0};
}

/* --- names --- */

/* The value as it will be sent, so that values that are equal in points are counted as one. */
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

static uint32_t series_of(struct col_web_count *c, const struct col_web_hit *h, struct ts_slice domain,
                          int64_t now_ms)
{
    uint32_t d = col_web_names_of(&c->names, clean(c, domain, true), COL_WEB_TOP, h->status, now_ms);
    if (!c->limits.path_depth)
        return col_web_names_fixed(&c->names, TS_SLICE_LIT(""), d);
    struct ts_slice prefix = col_web_prefix(h->path, c->limits.path_depth);
    bool plain = prefix.n <= 1; /* "/" and an empty path are not invented by clients */
    return col_web_names_of(&c->names, clean(c, prefix, false), d, plain ? 0 : h->status, now_ms);
}

/* --- cells --- */

static uint32_t *cell_slot(const struct col_web_count *c, int64_t start_ms, uint32_t series,
                           enum col_web_bot bot)
{
    uint32_t mask = c->n_cell_slots - 1;
    uint32_t i = (uint32_t)ts_hash_u64(((uint64_t)start_ms * 31 + series) * COL_WEB_BOTS + bot) & mask;
    for (; c->cell_slots[i]; i = (i + 1) & mask) {
        const struct col_web_cell *cell = &c->cells[c->cell_slots[i] - 1];
        if (cell->start_ms == start_ms && cell->series == series && cell->bot == bot)
            break;
    }
    return &c->cell_slots[i];
}

static void cells_index(struct col_web_count *c)
{
    memset(c->cell_slots, 0, c->n_cell_slots * sizeof(*c->cell_slots));
    for (uint32_t i = 0; i < c->n_cells; i++)
        *cell_slot(c, c->cells[i].start_ms, c->cells[i].series, c->cells[i].bot) = i + 1;
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
                                      enum col_web_bot bot, bool *out_new)
{
    if (c->n_cells == c->cap_cells)
        cells_resize(c, c->n_cell_slots ? c->n_cell_slots * 2 : FIRST_SLOTS);
    uint32_t *slot = cell_slot(c, start_ms, series, bot);
    *out_new = !*slot;
    if (*slot)
        return &c->cells[*slot - 1];
    struct col_web_cell *cell = &c->cells[c->n_cells];
    *cell = (struct col_web_cell){.time_ms = start_ms, .start_ms = start_ms, .series = series, .bot = bot};
    *slot = ++c->n_cells;
    return cell;
}

bool col_web_cell_restore(struct col_web_count *c, const struct col_web_cell *cell)
{
    bool is_new;
    if (cell->series >= c->names.n || c->names.list[cell->series].parent == COL_WEB_TOP)
        return false;
    struct col_web_cell *mine = cell_find(c, cell->start_ms, cell->series, cell->bot, &is_new);
    if (is_new) {
        *mine = *cell;
        c->n_dirty += cell->dirty;
    }
    return is_new;
}

/* Offset of the late cells of this generation within their buckets; no other generation uses the same offset. */
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
    uint32_t series = series_of(c, h, domain, now_ms);
    int64_t start_ms = h->time_ms - ts_floor_mod(h->time_ms, c->limits.bucket_ms);
    enum col_web_bot bot = !c->limits.tag_bots        ? COL_WEB_BOT_UNTOLD
                           : col_web_is_bot(h->agent) ? COL_WEB_BOT_YES
                                                      : COL_WEB_BOT_NO;
    struct col_web_cell *cell = cell_find(c, start_ms, series, bot, &is_new);
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
    struct col_tag all[TAGS_MAX];
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
        const struct col_web_name *path = &c->names.list[cell->series];
        struct col_tag tags[TAGS_MAX] = {{"domain", ts_slice_str(c->names.list[path->parent].text)}};
        unsigned n_tags = 1;
        if (*path->text)
            tags[n_tags++] = (struct col_tag){"path", ts_slice_str(path->text)};
        if (cell->bot)
            tags[n_tags++] = (struct col_tag){"bot", ts_slice_str(bot_names[cell->bot])};
        cell_emit(cell, tags, n_tags, emit);
        if (++n % BATCH_CELLS == 0)
            rc = col_emit_end(emit, false, err);
    }
    col_emit_time(emit, before_ms);
    return rc;
}

void col_web_count_sent(struct col_web_count *c, bool flying)
{
    for (uint32_t i = 0; c->n_dirty && i < c->n_cells; i++) {
        if (!c->cells[i].dirty)
            continue;
        c->n_dirty--;
        c->cells[i].dirty = false;
        c->cells[i].flying = flying;
    }
}

void col_web_count_landed(struct col_web_count *c, bool lost)
{
    for (uint32_t i = 0; i < c->n_cells; i++) {
        struct col_web_cell *cell = &c->cells[i];
        c->n_dirty += lost && cell->flying && !cell->dirty;
        cell->dirty |= lost && cell->flying;
        cell->flying = false;
    }
}

/* --- evicting cells --- */

bool col_web_count_full(const struct col_web_count *c)
{
    return c->n_cells > c->limits.max_cells;
}

/* Evict cells that were sent and were last changed before touched_ms, or belong to a bucket before start_ms. */
static uint32_t evict_before(struct col_web_count *c, int64_t touched_ms, int64_t start_ms)
{
    uint32_t n = 0;
    bool late = false;
    for (uint32_t i = 0; i < c->n_cells; i++) {
        const struct col_web_cell *cell = &c->cells[i];
        if (cell->dirty || cell->flying || (cell->touched_ms >= touched_ms && cell->start_ms >= start_ms)) {
            c->cells[n++] = *cell;
            continue;
        }
        late |= cell->time_ms != cell->start_ms + c->limits.slot_ms;
        if (cell->start_ms > c->horizon_ms)
            c->horizon_ms = cell->start_ms;
    }
    uint32_t n_gone = c->n_cells - n;
    c->n_cells = n;
    c->generation += late; /* its time within a bucket may have been used, and must not be used again */
    if (n_gone)
        cells_index(c);
    return n_gone;
}

/* Remove names that were replaced and have no counts any more, when there are many of them. */
static void names_pack(struct col_web_count *c)
{
    if (c->names.n_gone < 64 + c->names.n / 2)
        return;
    bool *keep = ts_xcalloc(c->names.n, sizeof(*keep));
    uint32_t *map = ts_xcalloc(c->names.n, sizeof(*map));
    for (uint32_t i = 0; i < c->n_cells; i++)
        keep[c->cells[i].series] = true;
    col_web_names_pack(&c->names, keep, map);
    for (uint32_t i = 0; i < c->n_cells; i++)
        c->cells[i].series = map[c->cells[i].series];
    if (c->n_cells)
        cells_index(c);
    ts_free(keep);
    ts_free(map);
}

static uint32_t count_evict(struct col_web_count *c, int64_t now_ms, bool full)
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

uint32_t col_web_count_evict(struct col_web_count *c, int64_t now_ms, bool full)
{
    uint32_t n = count_evict(c, now_ms, full);
    names_pack(c);
    return n;
}

void col_web_count_forget(struct col_web_count *c)
{
    col_web_count_sent(c, false);
    col_web_count_landed(c, false);
    (void)evict_before(c, INT64_MAX, INT64_MAX);
}
