/*
 * total.c - opens files of kept totals.
 *
 * Format     docs/FORMAT.md "File of a kept total"
 * Threads    total.h. A member is complete before it is put into the list of its file (release), which readers load with acquire
 * Not here   writing and checking (total_make.c)
 */
#include "storage/engine/files/total.h"

#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/files/sst_int.h"
#include "storage/engine/files/total_int.h"

#include <string.h>

#define F_LEFT_OUT 1u /* flags: no rows were written */
#define CRC_BYTES  4u
#define HEAD_BYTES (4u << 20) /* more than the limits of total.h allow */

/* --- bytes --- */

static void put(struct ts_buf *out, uint64_t v)
{
    uint8_t bytes[TS_VARINT_MAX_BYTES];
    (void)ts_buf_append(out, bytes, (size_t)(ts_put_varint(bytes, v) - bytes));
}

static void put_ids(const struct sto_sst *sst, const struct sto_total_ids *ids, struct ts_buf *out)
{
    uint8_t crc[CRC_BYTES];
    ts_st32(crc, sst->rows_crc);
    (void)ts_buf_append(out, crc, sizeof crc);
    put(out, ids->no);
    put(out, ids->metric);
    put(out, ids->n_over);
    for (uint32_t i = 0; i < ids->n_over; i++)
        put(out, ids->over[i]);
}

static void put_runs(const struct sto_total_run *runs, size_t n, struct ts_buf *out)
{
    int64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        put(out, ts_zigzag(runs[i].from - before));
        put(out, (uint64_t)((int64_t)runs[i].to - runs[i].from));
        before = runs[i].to;
    }
}

void sto_total__put(const struct sto_sst *sst, const struct sto_total_file *shown, struct ts_buf *out)
{
    put_ids(sst, &shown->ids, out);
    put(out, shown->left_out ? F_LEFT_OUT : 0);
    put(out, shown->series_lo);
    put(out, shown->series_hi - shown->series_lo);
    put(out, shown->n_runs);
    put(out, shown->n_holes);
    put(out, shown->n_groups);
    put_runs(shown->runs, shown->n_runs, out);
    put_runs(shown->holes, shown->n_holes, out);
    for (size_t g = 0; g < shown->n_groups; g++) {
        put(out, shown->groups[g].n_tags);
        for (size_t i = 0; i < shown->groups[g].n_tags; i++) {
            put(out, shown->groups[g].tags[i].k);
            put(out, shown->groups[g].tags[i].v);
        }
    }
    if (out->failed)
        TS_BUG("no memory for what describes a kept total");
}

/* Reads numbers; after an error all are 0. */
struct in {
    const uint8_t *p, *end; /* p NULL: an error has occurred */
};

static uint64_t get(struct in *in, uint64_t most)
{
    uint64_t v = 0;
    if (in->p)
        in->p = ts_get_varint(in->p, in->end, &v);
    if (in->p && v > most)
        in->p = NULL;
    return in->p ? v : 0;
}

static void get_runs(struct in *in, struct sto_total_run *runs, size_t n)
{
    int64_t at = 0;
    for (size_t i = 0; in->p && i < n; i++) {
        int64_t from = at + ts_unzigzag(get(in, UINT64_MAX)), len = (int64_t)get(in, UINT32_MAX);
        bool fits = from >= INT32_MIN && from <= INT32_MAX && len > 0 && from + len <= INT32_MAX &&
                    (i == 0 || from > at);
        if (!fits) {
            in->p = NULL;
            return;
        }
        runs[i] = (struct sto_total_run){(int32_t)from, (int32_t)(from + len)};
        at = from + len;
    }
}

/* Read the groups. tags: room for one of each two bytes that are left. */
static void get_groups(struct in *in, struct sto_total_group *groups, size_t n, struct sto_tag *tags)
{
    for (size_t g = 0; in->p && g < n; g++) {
        size_t n_tags = (size_t)get(in, UINT8_MAX);
        groups[g] = (struct sto_total_group){tags, n_tags};
        for (size_t i = 0; in->p && i < n_tags; i++) {
            *tags = (struct sto_tag){(uint32_t)get(in, UINT32_MAX), (uint32_t)get(in, UINT32_MAX)};
            if (in->p && i && tags[-1].k >= tags[0].k)
                in->p = NULL;
            tags += in->p != NULL;
        }
    }
}

/* Read what sto_total__put wrote, after the ids. */
static int decode(struct sto_sst__total *t, const uint8_t *p, const uint8_t *end, const char *path,
                  struct ts_error *err)
{
    struct in in = {p, end};
    struct sto_total_file *shown = &t->shown;
    shown->left_out = get(&in, F_LEFT_OUT) != 0;
    shown->series_lo = (uint32_t)get(&in, UINT32_MAX);
    shown->series_hi = shown->series_lo + (uint32_t)get(&in, UINT32_MAX - shown->series_lo);
    shown->n_runs = (size_t)get(&in, STO_TOTAL_RUNS);
    shown->n_holes = (size_t)get(&in, STO_TOTAL_RUNS);
    shown->n_groups = (size_t)get(&in, STO_TOTAL_GROUPS);
    size_t left = in.p ? (size_t)(in.end - in.p) : 0;
    size_t n = (shown->n_runs + shown->n_holes) * sizeof(struct sto_total_run) +
               shown->n_groups * sizeof(struct sto_total_group) + left / 2 * sizeof(struct sto_tag);
    char *arrays = in.p && left <= HEAD_BYTES ? ts_try_malloc(n + 1) : NULL;
    if (in.p && left <= HEAD_BYTES && !arrays)
        return ts_error_set(err, TS_ENOMEM, "%s: no memory for %zu bytes", path, n);
    if (!arrays)
        return ts_error_set(err, TS_ECORRUPT, "%s: what describes the total makes no sense", path);
    struct sto_total_group *groups = (void *)arrays;
    struct sto_tag *tags = (void *)(groups + shown->n_groups);
    struct sto_total_run *runs = (void *)(tags + left / 2);
    t->arrays = arrays;
    get_runs(&in, runs, shown->n_runs);
    get_runs(&in, runs + shown->n_runs, shown->n_holes);
    get_groups(&in, groups, shown->n_groups, tags);
    shown->runs = runs;
    shown->holes = runs + shown->n_runs;
    shown->groups = groups;
    t->memory_bytes = sizeof *t + n;
    return in.p == in.end && shown->n_runs
               ? 0
               : ts_error_set(err, TS_ECORRUPT, "%s: what describes the total makes no sense", path);
}

/* --- the list --- */

static struct sto_sst__total *find(const struct sto_sst *sst, const struct sto_total_ids *ids)
{
    struct sto_sst__total *t = atomic_load_explicit(&sst->totals, memory_order_acquire); /* partner: add */
    /* `dropped` is a hint */
    while (t &&
           (atomic_load_explicit(&t->dropped, memory_order_relaxed) || !sto_total_same(&t->shown.ids, ids)))
        t = t->next;
    return t;
}

static void add(struct sto_sst *sst, struct sto_sst__total *t)
{
    t->next = atomic_load_explicit(&sst->totals, memory_order_relaxed);
    atomic_store_explicit(&sst->totals, t, memory_order_release); /* partner: find */
}

static void total_free(struct sto_sst__total *t)
{
    if (t->file.path) {
        sto_index_release(&t->file.index);
        sto_handle_close(&t->file.handle);
    }
    ts_free(t->file.path);
    ts_free(t->arrays);
    ts_free(t);
}

void sto_sst__totals_free(struct sto_sst *sst, bool unlink_them)
{
    struct sto_sst__total *t = atomic_load_explicit(&sst->totals, memory_order_acquire);
    for (struct sto_sst__total *next; t; t = next) {
        next = t->next;
        if (unlink_them && t->file.path)
            (void)sst->fs->unlink(sst->fs, t->file.path, NULL);
        total_free(t);
    }
}

size_t sto_sst__totals_memory(struct sto_sst *sst)
{
    size_t n = 0;
    struct sto_sst__total *t = atomic_load_explicit(&sst->totals, memory_order_acquire);
    for (; t; t = t->next)
        n += t->memory_bytes + (t->file.there ? sto_index_memory(&t->file.index) : 0);
    return n;
}

uint64_t sto_sst__totals_bytes(const struct sto_sst *sst)
{
    uint64_t n = 0;
    const struct sto_sst__total *t = atomic_load_explicit(&sst->totals, memory_order_acquire);
    for (; t; t = t->next)
        n += atomic_load_explicit(&t->lost, memory_order_relaxed) ? 0 : t->shown.bytes; /* removed: a hint */
    return n;
}

const struct sto_total_file *sto_sst_total(const struct sto_sst *sst, const struct sto_total_ids *ids)
{
    const struct sto_sst__total *t = find(sst, ids);
    return t && !atomic_load_explicit(&t->lost, memory_order_relaxed) ? &t->shown : NULL; /* a hint */
}

bool sto_sst_total_is_known(const struct sto_sst *sst, const struct sto_total_ids *ids)
{
    return find(sst, ids) != NULL;
}

/* Add a member without a file. */
static void add_empty(struct sto_sst *sst, const struct sto_total_ids *ids, bool lost)
{
    struct sto_sst__total *t = ts_xcalloc(1, sizeof *t);
    t->shown = (struct sto_total_file){.ids = *ids, .none = true};
    t->memory_bytes = sizeof *t;
    atomic_init(&t->lost, lost);
    add(sst, t);
}

void sto_sst__total_none(struct sto_sst *sst, const struct sto_total_ids *ids)
{
    add_empty(sst, ids, false);
}

void sto_sst_total_failed(struct sto_sst *sst, const struct sto_total_ids *ids)
{
    add_empty(sst, ids, true);
}

char *sto_sst__path_of_total(const struct sto_sst *sst, uint32_t no)
{
    const char *name = strrchr(sst->t.path, '/');
    char *dir = ts_xstrdup(sst->t.path);
    dir[name - sst->t.path] = 0;
    char *path = sto_sst__total_path(dir, sst->info.file_no, no);
    ts_free(dir);
    return path;
}

/* Open the file of t. 0; TS_ENOTFOUND: there is none, or it is one of other rows or ids. */
static int open_total(struct sto_sst *sst, const struct sto_total_ids *ids, struct sto_sst__total *t,
                      struct ts_error *err)
{
    struct ts_slice about;
    struct ts_buf want;
    int rc = sto_sst__open_sums(sst, &t->file, STO_SST_KIND_TOTAL, &about, err);
    ts_buf_init(&want, 0);
    put_ids(sst, ids, &want);
    if (rc == 0 && (about.n < want.n || memcmp(about.p, want.p, want.n) != 0))
        rc = ts_error_set(err, TS_ENOTFOUND, "%s: is of other rows", t->file.path);
    if (rc == 0)
        rc = decode(t, (const uint8_t *)about.p + want.n, (const uint8_t *)about.p + about.n, t->file.path,
                    err);
    if (rc == 0)
        rc = sto_index_load(&t->file.index, err);
    ts_buf_release(&want);
    ts_free((void *)(uintptr_t)about.p);
    t->shown.bytes = t->file.bytes;
    return rc;
}

bool sto_sst_open_total(struct sto_sst *sst, const struct sto_total_ids *ids)
{
    struct ts_error why = {0};
    if (find(sst, ids))
        return sto_sst_total(sst, ids) != NULL;
    struct sto_sst__total *t = ts_xcalloc(1, sizeof *t);
    t->shown = (struct sto_total_file){.ids = *ids};
    t->file.path = sto_sst__path_of_total(sst, ids->no);
    atomic_init(&t->lost, false);
    int rc = open_total(sst, ids, t, &why);
    if (rc == 0) {
        add(sst, t);
        return true;
    }
    if (rc == TS_ECORRUPT)
        ts_log(TS_LOG_WARN, "a kept total is left out until it is made again error=\"%s\"", why.text);
    total_free(t);
    return false;
}

int sto_sst_total_ids(struct sto_sst *sst, uint32_t no, struct sto_total_ids *out, struct ts_error *err)
{
    struct sto_sst__file file = {.path = sto_sst__path_of_total(sst, no)};
    struct ts_slice about;
    int rc = sto_sst__open_sums(sst, &file, STO_SST_KIND_TOTAL, &about, err);
    struct in in = {(const uint8_t *)about.p + CRC_BYTES, (const uint8_t *)about.p + about.n};
    if (rc == 0 && about.n < CRC_BYTES)
        in.p = NULL;
    *out = (struct sto_total_ids){.no = no};
    if (rc == 0 && get(&in, UINT32_MAX) != no)
        in.p = NULL;
    if (rc == 0) {
        out->metric = (uint32_t)get(&in, UINT32_MAX);
        out->n_over = (uint32_t)get(&in, STO_TOTAL_KEYS);
    }
    for (uint32_t i = 0; rc == 0 && i < out->n_over; i++)
        out->over[i] = (uint32_t)get(&in, UINT32_MAX);
    if (rc == 0 && (!in.p || !out->n_over))
        rc = ts_error_set(err, TS_ECORRUPT, "%s: does not say what it sums up", file.path);
    ts_free((void *)(uintptr_t)about.p);
    sto_index_release(&file.index);
    sto_handle_close(&file.handle);
    ts_free(file.path);
    return rc;
}

void sto_sst_lose_total(struct sto_sst *sst, const struct sto_total_ids *ids, const struct ts_error *why)
{
    struct sto_sst__total *t = find(sst, ids);
    if (!t || atomic_exchange_explicit(&t->lost, true, memory_order_relaxed))
        return;
    ts_log(TS_LOG_WARN, "a kept total is left out until it is made again error=\"%s\"", why->text);
    (void)sst->fs->unlink(sst->fs, t->file.path, NULL);
}

void sto_sst_drop_totals(struct sto_sst *sst, const struct sto_total_ids *ids, size_t n)
{
    struct sto_sst__total *t = atomic_load_explicit(&sst->totals, memory_order_acquire);
    for (; t; t = t->next) {
        size_t i = 0;
        while (i < n && !sto_total_same(&ids[i], &t->shown.ids))
            i++;
        if (i < n || !t->file.path)
            continue;
        atomic_store_explicit(&t->dropped, true, memory_order_relaxed);
        if (!atomic_exchange_explicit(&t->lost, true, memory_order_relaxed))
            (void)sst->fs->unlink(sst->fs, t->file.path, NULL);
    }
}

struct sto_sst_cur *sto_sst_total_cur(struct sto_sst *sst, const struct sto_total_file *t,
                                      struct sto_sst_share *share)
{
    struct sto_sst__total *of = atomic_load_explicit(&sst->totals, memory_order_acquire); /* partner: add */
    while (&of->shown != t)
        of = of->next;
    return sto_sst__cur_of(sst, &of->file, STO_SST_TOTAL, share);
}
