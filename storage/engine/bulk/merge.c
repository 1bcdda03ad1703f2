/*
 * merge.c - plans and merges units.
 *
 * Threads    see merge.h
 */
#include "storage/engine/bulk/merge.h"

#include "base/array.h"
#include "base/time.h"
#include "storage/engine/bulk/pair.h"
#include "storage/engine/merge/merge.h"

/* --- the plan --- */

static int32_t hour_of(int64_t ms)
{
    return sto_hour(ms);
}

/* Does a file lie in hours lo <= h < hi, in part? hi INT32_MAX: to the end of time. */
static bool meets(const struct sto_sst_info *info, int32_t lo, int32_t hi)
{
    return hour_of(info->max_ms) >= lo && (hi == INT32_MAX || hour_of(info->min_ms) < hi);
}

bool sto_bulk_unit_meets(const struct sto_bulk_plan *p, const struct sto_bulk_unit *u,
                         const struct sto_sst_info *info)
{
    return meets(info, p->cuts[u->first_cut].hour_lo, p->cuts[u->first_cut + u->n_cuts - 1].hour_hi);
}

/* Has one run all files of a cut, and does none of them reach beyond it? */
static bool is_simple(const struct sto_cut *cut, const struct sto_bulk_file *files, size_t n)
{
    const struct sto_bulk_file *first = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct sto_sst_info *info = &files[i].info;
        if (!meets(info, cut->hour_lo, cut->hour_hi))
            continue;
        if ((first && first->run != files[i].run) || files[i].rough || hour_of(info->min_ms) < cut->hour_lo ||
            (cut->hour_hi != INT32_MAX && hour_of(info->max_ms) >= cut->hour_hi))
            return false;
        first = &files[i];
    }
    return first != NULL;
}

static uint64_t points_of(const struct sto_cut *cut, const struct sto_day_counts *days)
{
    uint64_t n = 0;
    for (size_t i = 0; i < days->n; i++) {
        int32_t hour = days->days[i].day * 24;
        if (hour >= cut->hour_lo && (cut->hour_hi == INT32_MAX || hour < cut->hour_hi))
            n += days->days[i].n;
    }
    return n;
}

uint64_t sto_bulk_unit_points(const struct sto_bulk_plan *p, const struct sto_bulk_unit *u,
                              const struct sto_day_counts *days)
{
    uint64_t n = 0;
    for (size_t i = 0; i < u->n_cuts; i++)
        n += points_of(&p->cuts[u->first_cut + i], days);
    return n;
}

void sto_bulk_plan_make(struct sto_bulk_plan *p, struct sto_day_counts *days, uint64_t big_day_points,
                        uint64_t unit_points, struct sto_bulk_file *files, size_t n_files)
{
    uint64_t sum = 0;
    bool open = false; /* the last unit takes further cuts */
    *p = (struct sto_bulk_plan){0};
    p->n_cuts = sto_day_counts_cut(days, big_day_points, &p->cuts);
    for (size_t c = 0; c < p->n_cuts; c++) {
        bool move = is_simple(&p->cuts[c], files, n_files);
        struct sto_bulk_unit *last = p->n_units ? &p->units[p->n_units - 1] : NULL;
        if (!move && open && last->n_cuts < STO_SPLIT && sum < unit_points) {
            last->n_cuts++;
            sum += points_of(&p->cuts[c], days);
            continue;
        }
        TS_ARRAY_GROW(p->units, p->n_units, p->cap_units, 16);
        p->units[p->n_units] = (struct sto_bulk_unit){.first_cut = c, .n_cuts = 1, .move = move};
        for (size_t i = 0; move && i < n_files; i++)
            files[i].moved |= sto_bulk_unit_meets(p, &p->units[p->n_units], &files[i].info);
        p->n_units++;
        open = !move;
        sum = points_of(&p->cuts[c], days);
    }
}

void sto_bulk_plan_release(struct sto_bulk_plan *p)
{
    ts_free(p->cuts);
    ts_free(p->units);
    *p = (struct sto_bulk_plan){0};
}

/* --- one unit --- */

/* The files being written, by cut. */
struct outputs {
    const struct sto_bulk_merge *m;
    struct sto_sst_writer *w[STO_SPLIT];
    struct sto_bulk_part *part;
    size_t cap;
};

static int finish(struct outputs *o, size_t cut, struct ts_error *err)
{
    struct sto_sst_writer *w = o->w[cut];
    struct sto_sst_info info;
    o->w[cut] = NULL;
    TS_TRY(sto_sst_writer_finish(w, 1, 1, &info, err));
    TS_ARRAY_GROW(o->part->nos, o->part->n, o->cap, 8);
    o->part->nos[o->part->n++] = info.file_no;
    return 0;
}

static int write_row(struct outputs *o, size_t cut, const struct sto_row *row, struct ts_error *err)
{
    if (!o->w[cut]) {
        uint64_t no = atomic_fetch_add(o->m->next_no, 1);
        TS_TRY(sto_sst_writer_new(o->m->fs, o->m->dir, no, &o->w[cut], err));
        sto_sst_writer_note(o->w[cut], ts_clock_ms(), 0);
    }
    TS_TRY(sto_sst_write_row(o->w[cut], &row->key, row->cells, err));
    atomic_fetch_add_explicit(o->m->n_merged, row->cells->n, memory_order_relaxed);
    return sto_sst_writer_bytes(o->w[cut]) >= o->m->output_bytes ? finish(o, cut, err) : 0;
}

static int write_rows(struct outputs *o, struct sto_merge *merge, const struct sto_bulk_unit *u,
                      const struct sto_cut *cuts, struct ts_error *err)
{
    size_t n_cuts = u->n_cuts;
    struct sto_row row;
    uint64_t n_rows = 0;
    size_t at = 0;
    int rc = 1;
    while (rc >= 0 && (rc = sto_merge_next(merge, &row, err)) == 1) {
        if (u->has_upto && sto_key_cmp(&row.key, &u->upto) > 0) {
            rc = 0;
            break;
        }
        if (row.key.hour < cuts[at].hour_lo)
            at = 0;
        while (at + 1 < n_cuts && row.key.hour >= cuts[at + 1].hour_lo)
            at++;
        rc = write_row(o, at, &row, err);
        if ((++n_rows & 255) == 0 && rc == 0 && o->m->cancel &&
            atomic_load_explicit(o->m->cancel, memory_order_relaxed))
            rc = ts_error_set(err, TS_ECANCELLED, "the import was interrupted");
    }
    for (size_t i = 0; i < n_cuts && rc == 0; i++)
        if (o->w[i])
            rc = finish(o, i, err);
    return rc;
}

static int start(const struct sto_bulk_merge *m, const struct sto_bulk_plan *p, const struct sto_bulk_unit *u,
                 struct sto_merge **out, struct ts_error *err)
{
    struct sto_scan_spec spec = {.from_ms = STO_MIN_TS_MS,
                                 .to_ms = STO_MAX_TS_MS,
                                 .cut_hour_lo = p->cuts[u->first_cut].hour_lo,
                                 .cut_hour_hi = p->cuts[u->first_cut + u->n_cuts - 1].hour_hi,
                                 .memory = m->memory,
                                 .after = u->has_after ? &u->after : NULL,
                                 .must_go_on = true,
                                 .most_bytes = sto_merge_most_bytes(m->memory)};
    struct sto_sst **ssts = ts_xcalloc(m->n_files + 1, sizeof *ssts);
    size_t n = 0;
    for (size_t i = 0; i < m->n_files; i++)
        if (m->files[i].sst && sto_bulk_unit_meets(p, u, &m->files[i].info))
            ssts[n++] = m->files[i].sst;
    int rc = sto_merge_new(&spec, ssts, n, NULL, 0, out, err);
    ts_free(ssts);
    return rc;
}

int sto_bulk_merge_unit(const struct sto_bulk_merge *m, const struct sto_bulk_plan *p,
                        const struct sto_bulk_unit *u, struct sto_bulk_part *out, struct ts_error *err)
{
    struct sto_merge *merge = NULL;
    struct outputs o = {.m = m, .part = out};
    TS_TRY(start(m, p, u, &merge, err));
    int rc = write_rows(&o, merge, u, p->cuts + u->first_cut, err);
    sto_merge_free(merge);
    for (size_t i = 0; i < STO_SPLIT; i++)
        sto_sst_writer_abort(o.w[i]);
    for (size_t i = 0; rc < 0 && i < out->n; i++)
        (void)sto_pair_remove(m->fs, m->dir, out->nos[i], NULL);
    if (rc < 0) {
        ts_free(out->nos);
        *out = (struct sto_bulk_part){0};
    }
    return rc;
}
