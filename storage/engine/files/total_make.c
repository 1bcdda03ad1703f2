/*
 * total_make.c - adds up the rows of a sorted file by groups of series and hours, and writes them as its kept total, or compares them with it.
 *
 * A pass over the rows of the metric adds up as many groups as memory allows; the next pass continues with the others. All groups are found in
 * the first pass.
 *
 * Threads    total.h
 * Not here   opening (total.c)
 */
#include "storage/engine/files/total.h"

#include "base/hash.h"
#include "base/mem.h"
#include "storage/day.h"
#include "storage/engine/files/total_int.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_ROWS 1024u /* rows between two checks of cancel */
#define SLOTS     (2 * STO_TOTAL_GROUPS)
#define TAGS_MIN  64u
#define ROWS      1u /* flags of an hour: the file has rows of the metric, */
#define HOLE      2u /* and a group that has no summary, or one without a sum */

/* A group and hour. */
struct acc {
    struct sto_summary sum; /* n 0: no rows yet */
    uint8_t exp;            /* largest exponent of its decimals */
    bool bad;               /* it has no summary */
};

struct group {
    size_t tags; /* index of the first one in maker.tags */
    uint32_t n_tags;
    struct acc *accs; /* [n_hours]; NULL: not in this pass; counted */
};

struct maker {
    struct sto_sst *sst;
    const struct sto_total_ids *ids;
    sto_total_tags_fn tags_of;
    void *arg;
    struct ts_budget *memory;
    const _Atomic bool *cancel;
    struct sto_sst_cur *sums, *points; /* sums NULL: the file has no summaries */
    struct sto_sst_writer *w;          /* takes the rows, or */
    struct sto_sst_cur *check;         /* has the rows that are expected */
    uint64_t n_compared;               /* rows of it */
    int32_t hour_lo;                   /* first hour of the file */
    size_t n_hours;                    /* hours of the file; 0: too many */
    uint8_t *seen;                     /* [n_hours] flags: there are rows of the metric, a hole; owned */
    struct group *groups;              /* [STO_TOTAL_GROUPS]; owned */
    size_t n_groups;
    size_t first, end;    /* groups of this pass: first <= g < end; in the first pass all that have accs */
    bool full;            /* no further group is added up in this pass */
    size_t used_bytes;    /* of accs */
    struct sto_tag *tags; /* of all groups; owned */
    size_t n_tags, cap_tags;
    uint16_t *slots;             /* [SLOTS] open addressing: group + 1; owned */
    struct sto_total_file shown; /* what the file will say */
};

/* --- groups --- */

static size_t slot_of(const struct maker *m, const struct sto_tag *tags, size_t n)
{
    size_t at = (size_t)ts_hash(tags, n * sizeof *tags) % SLOTS;
    for (; m->slots[at]; at = (at + 1) % SLOTS) {
        const struct group *g = &m->groups[m->slots[at] - 1];
        if (g->n_tags == n && memcmp(m->tags + g->tags, tags, n * sizeof *tags) == 0)
            break;
    }
    return at;
}

/* Give a group memory for its hours, if this pass has some. */
static int open_accs(struct maker *m, struct group *g, struct ts_error *err)
{
    size_t bytes = m->n_hours * sizeof *g->accs;
    if (m->full)
        return 0;
    if (m->used_bytes && m->used_bytes + bytes > STO_TOTAL_BYTES) {
        m->full = true;
        return 0;
    }
    g->accs = ts_budget_calloc(m->memory, m->n_hours, sizeof *g->accs, err);
    if (!g->accs && !m->used_bytes)
        return TS_ELIMIT;
    m->full = !g->accs;
    m->used_bytes += g->accs ? bytes : 0;
    return 0;
}

static void close_accs(struct maker *m)
{
    for (size_t g = 0; m->groups && g < m->n_groups; g++) {
        ts_budget_free(m->memory, m->groups[g].accs, m->groups[g].accs ? m->n_hours * sizeof(struct acc) : 0);
        m->groups[g].accs = NULL;
    }
    m->used_bytes = 0;
    m->full = false;
}

/* There is too much for a total: only what says where the rows are will be written. */
static void leave_out(struct maker *m)
{
    close_accs(m);
    m->shown.left_out = true;
}

static int add_group(struct maker *m, size_t slot, const struct sto_tag *tags, size_t n, struct ts_error *err)
{
    if (m->shown.left_out)
        return 0;
    if (m->n_groups == STO_TOTAL_GROUPS || m->n_tags + n > STO_TOTAL_TAGS ||
        (m->n_groups + 1) * m->n_hours > STO_TOTAL_CELLS) {
        leave_out(m);
        return 0;
    }
    if (m->n_tags + n > m->cap_tags) {
        m->cap_tags = (m->n_tags + n) * 2;
        m->tags = ts_xrealloc(m->tags, m->cap_tags * sizeof *m->tags);
    }
    memcpy(m->tags + m->n_tags, tags, n * sizeof *tags);
    struct group *g = &m->groups[m->n_groups++];
    *g = (struct group){.tags = m->n_tags, .n_tags = (uint32_t)n};
    m->n_tags += n;
    m->slots[slot] = (uint16_t)m->n_groups;
    return open_accs(m, g, err);
}

/* The group of a series; NULL: it is not added up in this pass. */
static int group_of(struct maker *m, uint32_t series, struct group **out, struct ts_error *err)
{
    struct sto_tag tags[UINT8_MAX];
    int n_all = m->tags_of(m->arg, series, tags);
    *out = NULL;
    if (n_all < 0)
        return ts_error_set(err, TS_ECORRUPT, "file %08llx has rows of series %u, whose tags are not known",
                            (unsigned long long)m->sst->info.file_no, series);
    size_t n = sto_total_rest(m->ids, tags, (size_t)n_all, tags);
    size_t slot = slot_of(m, tags, n);
    if (!m->slots[slot])
        TS_TRY(add_group(m, slot, tags, n, err));
    if (m->slots[slot] && !m->shown.left_out && m->groups[m->slots[slot] - 1].accs)
        *out = &m->groups[m->slots[slot] - 1];
    return 0;
}

/* --- rows --- */

static int add_row(struct maker *m, struct group *g, const struct sto_key *key, struct ts_error *err)
{
    struct acc *a = &g->accs[key->hour - m->hour_lo];
    struct sto_summary sum;
    bool has;
    if (a->bad)
        return 0;
    TS_TRY(sto_sst__summary_at(m->sums, m->points, key, &sum, &has, err));
    uint8_t exp = has ? sto_sst__exponent(&sum) : 0;
    a->bad = !has || a->sum.n > UINT32_MAX - sum.n || !sto_day_add(&a->sum, &sum, 0);
    a->exp = exp > a->exp ? exp : a->exp;
    return 0;
}

/* Walk all rows of the metric. */
static int walk(struct maker *m, struct ts_error *err)
{
    struct sto_sst_cur *cur = m->sums ? m->sums : m->points;
    const struct sto_key from = {.metric = m->ids->metric, .hour = INT32_MIN};
    struct group *g = NULL;
    uint32_t series = 0;
    uint64_t n = 0;
    int rc = sto_sst_cur_seek(cur, &from, err);
    for (; rc == 1 && sto_sst_cur_key(cur)->metric == m->ids->metric; rc = sto_sst_cur_next(cur, err)) {
        struct sto_key key = *sto_sst_cur_key(cur);
        if (n++ == 0 || key.series != series) {
            TS_TRY(group_of(m, key.series, &g, err));
            series = key.series;
            m->shown.series_lo = n == 1 ? series : m->shown.series_lo;
            m->shown.series_hi = series;
        }
        if (m->n_hours && (key.hour < m->hour_lo || (size_t)(key.hour - m->hour_lo) >= m->n_hours))
            return ts_error_set(err, TS_ECORRUPT, "file %08llx has rows out of its times",
                                (unsigned long long)m->sst->info.file_no);
        if (m->n_hours)
            m->seen[key.hour - m->hour_lo] |= ROWS;
        if (g)
            TS_TRY(add_row(m, g, &key, err));
        if (n % LOOK_ROWS == 0 && m->cancel && atomic_load_explicit(m->cancel, memory_order_relaxed))
            return ts_error_set(err, TS_ECANCELLED, "the store is closing");
    }
    TS_TRY(rc);
    m->shown.none = n == 0;
    return 0;
}

/* --- output --- */

/* Compare the next row of the file with what its points say. */
static int compare(struct maker *m, const struct sto_key *key, const struct sto_summary *want,
                   struct ts_error *err)
{
    const struct sto_key first = {.hour = INT32_MIN};
    int rc = m->n_compared++ ? sto_sst_cur_next(m->check, err) : sto_sst_cur_seek(m->check, &first, err);
    TS_TRY(rc);
    const struct sto_summary *is = rc ? sto_sst_cur_summary(m->check) : NULL;
    bool same = rc == 1 && sto_key_cmp(sto_sst_cur_key(m->check), key) == 0 && !is == !want &&
                (!is || sto_summary_same(is, want));
    return same ? 0
                : ts_error_set(err, TS_ECORRUPT,
                               "a kept total does not agree with the points: metric %u group %u hour %d",
                               key->metric, key->series, key->hour);
}

static int put_acc(struct maker *m, size_t g, size_t h, struct ts_error *err)
{
    struct acc *a = &m->groups[g].accs[h];
    struct sto_summary *sum = a->bad ? NULL : &a->sum;
    const struct sto_key key = {m->ids->metric, (uint32_t)g, m->hour_lo + (int32_t)h};
    if (!a->bad && !a->sum.n)
        return 0;
    if (sum) { /* the order of series says nothing about times */
        sum->first_off = sum->last_off = 0;
        sum->first = sum->min;
        sum->last = sum->max;
    }
    if (!sum || !sum->has_sum)
        m->seen[h] |= HOLE;
    return m->check ? compare(m, &key, sum, err) : sto_sst__write_sum(m->w, &key, sum, sum ? a->exp : 0, err);
}

static int put_pass(struct maker *m, struct ts_error *err)
{
    for (size_t g = m->first; g < m->end; g++)
        for (size_t h = 0; h < m->n_hours; h++)
            TS_TRY(put_acc(m, g, h, err));
    return 0;
}

/* Add up all groups, and put them out in their order. */
static int make_groups(struct maker *m, struct ts_error *err)
{
    TS_TRY(walk(m, err));
    while (!m->shown.none && !m->shown.left_out) {
        for (m->end = m->first; m->end < m->n_groups && m->groups[m->end].accs;)
            m->end++;
        TS_TRY(put_pass(m, err));
        close_accs(m);
        m->first = m->end;
        if (m->first == m->n_groups)
            return 0;
        for (size_t g = m->first; g < m->n_groups && !m->full; g++)
            TS_TRY(open_accs(m, &m->groups[g], err));
        m->full = true; /* all groups are known */
        TS_TRY(walk(m, err));
    }
    return 0;
}

/* The hours that have a flag; owned by the caller. */
static struct sto_total_run *runs_of(const struct maker *m, uint8_t flag, size_t *out_n)
{
    struct sto_total_run *runs = ts_xcalloc(STO_TOTAL_RUNS, sizeof *runs);
    size_t n = 0;
    for (size_t h = 0; h < m->n_hours && n <= STO_TOTAL_RUNS; h++) {
        int32_t hour = m->hour_lo + (int32_t)h;
        if (!(m->seen[h] & flag))
            continue;
        if (n && runs[n - 1].to == hour)
            runs[n - 1].to = hour + 1;
        else if (n++ < STO_TOTAL_RUNS)
            runs[n - 1] = (struct sto_total_run){hour, hour + 1};
    }
    if (n > STO_TOTAL_RUNS || !m->n_hours) {
        runs[0] = (struct sto_total_run){m->hour_lo, sto_hour(m->sst->info.max_ms) + 1};
        n = 1;
    }
    *out_n = n;
    return runs;
}

/* Call put with everything that describes the total. */
static int describe(struct maker *m, int (*put)(struct maker *m, struct ts_slice about, struct ts_error *err),
                    struct ts_error *err)
{
    struct ts_buf about;
    size_t n = m->shown.left_out ? 0 : m->n_groups;
    struct sto_total_group *groups = ts_xcalloc(n + 1, sizeof *groups);
    struct sto_total_run *runs = runs_of(m, ROWS, &m->shown.n_runs), *holes = NULL;
    if (!m->shown.left_out)
        holes = runs_of(m, HOLE, &m->shown.n_holes);
    for (size_t g = 0; g < n; g++)
        groups[g] = (struct sto_total_group){m->tags + m->groups[g].tags, m->groups[g].n_tags};
    m->shown.runs = runs;
    m->shown.holes = holes;
    m->shown.groups = groups;
    m->shown.n_groups = n;
    ts_buf_init(&about, 0);
    sto_total__put(m->sst, &m->shown, &about);
    int rc = put(m, ts_buf_get(&about), err);
    ts_buf_release(&about);
    ts_free(groups);
    ts_free(runs);
    ts_free(holes);
    return rc;
}

/* --- beginning and end --- */

static void begin(struct maker *m)
{
    const struct sto_sst_info *info = &m->sst->info;
    int64_t n_hours = info->n_rows ? (int64_t)sto_hour(info->max_ms) - sto_hour(info->min_ms) + 1 : 0;
    m->sums = sto_sst_has_sums(m->sst) ? sto_sst_cur_new(m->sst, STO_SST_SUMMARIES, NULL) : NULL;
    m->points = sto_sst_cur_new(m->sst, STO_SST_POINTS, NULL);
    m->shown = (struct sto_total_file){.ids = *m->ids};
    m->groups = ts_xcalloc(STO_TOTAL_GROUPS, sizeof *m->groups);
    m->slots = ts_xcalloc(SLOTS, sizeof *m->slots);
    m->cap_tags = TAGS_MIN;
    m->tags = ts_xcalloc(m->cap_tags, sizeof *m->tags); /* there is a place for a group without tags */
    m->hour_lo = info->n_rows ? sto_hour(info->min_ms) : 0;
    if (n_hours > STO_TOTAL_HOURS)
        leave_out(m);
    else
        m->n_hours = (size_t)n_hours;
    m->seen = ts_xcalloc(m->n_hours + 1, 1);
}

static void end(struct maker *m)
{
    close_accs(m);
    sto_sst_cur_free(m->sums);
    sto_sst_cur_free(m->points);
    sto_sst_cur_free(m->check);
    ts_free(m->groups);
    ts_free(m->slots);
    ts_free(m->tags);
    ts_free(m->seen);
}

static int write_rest(struct maker *m, struct ts_slice about, struct ts_error *err)
{
    struct sto_sst_writer *w = m->w;
    m->w = NULL; /* freed in any case */
    return sto_sst__sums_end(w, STO_SST_KIND_TOTAL, about, err);
}

int sto_total_make(struct sto_sst *sst, const struct sto_total_ids *ids, sto_total_tags_fn tags, void *arg,
                   struct ts_budget *memory, const _Atomic bool *cancel, struct ts_error *err)
{
    struct maker m = {
        .sst = sst, .ids = ids, .tags_of = tags, .arg = arg, .memory = memory, .cancel = cancel};
    char *path = sto_sst__path_of_total(sst, ids->no);
    begin(&m);
    int rc = sto_sst__sums_begin(sst, path, &m.w, err);
    if (rc == 0)
        rc = make_groups(&m, err);
    if (rc == 0 && !m.shown.none)
        rc = describe(&m, write_rest, err);
    sto_sst_writer_abort(m.w);
    end(&m);
    ts_free(path);
    TS_TRY(rc);
    if (m.shown.none)
        sto_sst__total_none(sst, ids);
    else if (!sto_sst_open_total(sst, ids))
        return ts_error_set(err, TS_EIO, "the file of a kept total cannot be read");
    return 0;
}

static int same_about(struct maker *m, struct ts_slice about, struct ts_error *err)
{
    struct ts_buf is;
    ts_buf_init(&is, 0);
    sto_total__put(m->sst, sto_sst_total(m->sst, m->ids), &is);
    bool same = ts_slice_eq(ts_buf_get(&is), about);
    ts_buf_release(&is);
    return same ? 0
                : ts_error_set(err, TS_ECORRUPT, "a kept total does not describe the rows of file %08llx",
                               (unsigned long long)m->sst->info.file_no);
}

int sto_total_check(struct sto_sst *sst, const struct sto_total_ids *ids, sto_total_tags_fn tags, void *arg,
                    struct ts_budget *memory, struct ts_error *err)
{
    struct maker m = {.sst = sst, .ids = ids, .tags_of = tags, .arg = arg, .memory = memory};
    const struct sto_total_file *t = sto_sst_total(sst, ids);
    if (!t)
        return ts_error_set(err, TS_ECORRUPT, "there is no kept total to check");
    begin(&m);
    m.check = t->none || t->left_out ? NULL : sto_sst_total_cur(sst, t, NULL);
    int rc = m.check ? make_groups(&m, err) : walk(&m, err);
    if (rc == 0 && m.shown.none != t->none)
        rc = ts_error_set(err, TS_ECORRUPT, "a kept total does not know the rows of its metric");
    if (rc == 0 && !t->none)
        rc = describe(&m, same_about, err);
    if (rc == 0 && m.check && sto_sst_cur_next(m.check, err) == 1)
        rc = ts_error_set(err, TS_ECORRUPT, "a kept total has more rows than its points");
    end(&m);
    return rc;
}
