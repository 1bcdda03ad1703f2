/*
 * expire_cut.c - counts hidden points in a sample of the blocks of a file.
 *
 * Threads    expire_cut.h
 */
#include "storage/engine/expire_cut.h"

#include "base/mem.h"
#include "storage/engine/files/sample.h"
#include "storage/engine/files/sst_series.h"

bool sto_expire_cut__waits(const struct sto_sst_info *file, int64_t cutoff_ms, int64_t now_ms)
{
    int64_t kept_ms = (now_ms - cutoff_ms) / STO_CUT_WAIT_PART;
    int64_t most_ms = kept_ms < STO_CUT_WAIT_MS ? kept_ms : STO_CUT_WAIT_MS;
    return file->max_ms - cutoff_ms < most_ms && cutoff_ms - file->min_ms < most_ms;
}

/* A file and what hides points of it. */
struct cut_file {
    struct sto_sst *sst;
    const struct sto_floor **floors; /* those that count; owned */
    size_t n_floors;                 /* length */
    int32_t hour;                    /* rows of all series before it are hidden; INT32_MIN = none are */
};

/* Does a cutoff hide points of a file, but not all, and does the file not wait for it? */
static bool passes(const struct sto_sst_info *f, int64_t cutoff_ms, uint64_t gen, const struct sto_cut_by *by)
{
    return f->gen_hi < gen && f->min_ms < cutoff_ms && f->max_ms >= cutoff_ms &&
           (by->at_once || !sto_expire_cut__waits(f, cutoff_ms, by->now_ms));
}

/* Choose what counts: everything that hides rows, unless the file waits for it. False: no cutoff passes the file. */
static bool cut_file_init(struct cut_file *c, struct sto_sst *sst, const struct sto_cut_by *by)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    bool any = passes(f, by->cutoff_ms, by->cutoff_gen, by);
    *c = (struct cut_file){.sst = sst, .hour = any ? sto_hour(by->cutoff_ms) : INT32_MIN};
    if (by->floors)
        c->floors = ts_xcalloc(by->floors->n + 1, sizeof *c->floors);
    for (size_t i = 0; by->floors && i < by->floors->n; i++) {
        const struct sto_floor *at = &by->floors->at[i];
        bool passed = passes(f, at->cutoff_ms, at->gen, by);
        bool below = f->gen_hi < at->gen && f->max_ms < at->cutoff_ms;
        if ((!passed && !below) || sto_sst_series_meets(sto_sst_series(sst), at->series, NULL) != 1)
            continue;
        c->floors[c->n_floors++] = at;
        any |= passed || by->at_once;
    }
    return any;
}

static bool is_hidden(const struct cut_file *c, const struct sto_key *key)
{
    bool hidden = key->hour < c->hour;
    for (size_t i = 0; i < c->n_floors && !hidden; i++)
        hidden = key->hour < sto_hour(c->floors[i]->cutoff_ms) &&
                 roaring_bitmap_contains(c->floors[i]->series, key->series);
    return hidden;
}

/* Points of a sample. */
struct sample {
    const struct cut_file *of;
    uint64_t n, n_hidden;
};

static void count_row(void *arg, const struct sto_key *key, uint32_t n_points)
{
    struct sample *s = arg;
    s->n += n_points;
    s->n_hidden += is_hidden(s->of, key) ? n_points : 0;
}

uint64_t sto_expire_cut__points(struct sto_sst *sst, const struct sto_cut_by *by)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    struct cut_file c;
    struct sample s = {.of = &c};
    uint64_t n = 0;
    if (!f->n_points || sto_sst_broken(sst) || sto_sst_has_lost_index(sst))
        return 0;
    if (cut_file_init(&c, sst, by) && sto_sample_rows(sst, STO_CUT_BLOCKS, count_row, &s, NULL) == 0 && s.n)
        n = (uint64_t)((double)f->n_points * ((double)s.n_hidden / (double)s.n));
    ts_free(c.floors);
    return n;
}

/* Points of a sample that are of some series. */
struct share {
    const roaring_bitmap_t *series;
    int32_t from; /* hour */
    uint64_t n, n_of;
};

static void count_share(void *arg, const struct sto_key *key, uint32_t n_points)
{
    struct share *s = arg;
    s->n += n_points;
    s->n_of += key->hour >= s->from && roaring_bitmap_contains(s->series, key->series) ? n_points : 0;
}

uint64_t sto_expire_cut__points_of(struct sto_sst *sst, const roaring_bitmap_t *series, int64_t from_ms)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    struct share s = {.series = series, .from = from_ms > STO_MIN_TS_MS ? sto_hour(from_ms) : INT32_MIN};
    if (!f->n_points || f->max_ms < from_ms || sto_sst_broken(sst) || sto_sst_has_lost_index(sst) ||
        sto_sst_series_meets(sto_sst_series(sst), series, NULL) != 1)
        return 0;
    if (sto_sample_rows(sst, STO_CUT_BLOCKS, count_share, &s, NULL) < 0 || !s.n)
        return 0;
    return (uint64_t)((double)f->n_points * ((double)s.n_of / (double)s.n));
}
