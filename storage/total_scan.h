/*
 * total_scan.h - what kept totals (total.h) answer of a query.
 *
 * A caller that wants the sums of all points of some series by the hour begins a scan of a total, asks which hours it answers, reads these from it, and reads the
 * others series by series (scan.h).
 *
 * Threads    a scan belongs to one thread
 */
#ifndef STORAGE_TOTAL_SCAN_H
#define STORAGE_TOTAL_SCAN_H

#include "storage/scan.h"

#define STO_TOTALS_MAX 16u /* most declared totals */
#define STO_TOTAL_KEYS 8u  /* most keys of one */

struct sto_snap;

/* A declared total with the ids of its names. */
struct sto_total_ids {
    uint32_t no;                   /* its number, from 1 */
    uint32_t metric;               /* id */
    uint32_t over[STO_TOTAL_KEYS]; /* ids of the keys that are summed over, ascending */
    uint32_t n_over;               /* how many, at least 1 */
};

/** Does a total sum over a key? */
static inline bool sto_total_has_key(const struct sto_total_ids *t, uint32_t key)
{
    bool has = false;
    for (uint32_t i = 0; i < t->n_over; i++)
        has |= t->over[i] == key;
    return has;
}
/** Copy the tags that are not summed over to out, which may be tags. Returns how many. */
static inline size_t sto_total_rest(const struct sto_total_ids *t, const struct sto_tag *tags, size_t n_tags,
                                    struct sto_tag *out)
{
    size_t n = 0;
    for (size_t i = 0; i < n_tags; i++)
        if (!sto_total_has_key(t, tags[i].k))
            out[n++] = tags[i];
    return n;
}
/** Are they the same total of the same names? Names can be given to another metric or key. */
static inline bool sto_total_same(const struct sto_total_ids *a, const struct sto_total_ids *b)
{
    bool same = a->no == b->no && a->metric == b->metric && a->n_over == b->n_over;
    for (uint32_t i = 0; same && i < a->n_over; i++)
        same = a->over[i] == b->over[i];
    return same;
}

/* How far the files of a store have a total. */
struct sto_total_state {
    uint64_t n_files;   /* sorted files with it */
    uint64_t n_waiting; /* sorted files that are old enough and have not been looked at yet */
    uint64_t n_without; /* sorted files that have too many groups, or too long a time, for it */
    uint64_t n_groups;  /* most groups of a file */
    uint64_t n_bytes;   /* on the disk */
};

/* A query of a total. Borrowed for the life of the scan. */
struct sto_total_spec {
    struct sto_total_ids total;
    /* the selected series, ascending by number: with one series of a group all others of the group that have points in these hours are selected */
    const struct sto_series *const *series;
    size_t n_series;
    int32_t hour_lo;          /* first hour */
    size_t n_hours;           /* hours, at least 1 */
    const uint8_t *wanted;    /* [n_hours] 0: the hour is not to be answered */
    struct ts_budget *memory; /* account of what the scan holds */
    /* Is a group selected, and as what? tags: those that are not summed over, ascending by key.
     * @return a number that rows of the group get; < 0: none of its series is selected */
    int64_t (*group)(void *arg, const struct sto_tag *tags, size_t n_tags);
    void *arg;
};

/** The declared totals whose names are known, by number: how many; out has room for STO_TOTALS_MAX. */
size_t sto_snap_totals(const struct sto_snap *snap, struct sto_total_ids *out);

struct sto_total_scan;
/**
 * Begin a scan: find out which hours are exact.
 *
 * @return 0; TS_ELIMIT: spec->memory refuses; errors of reading sets of series of files
 */
int sto_total_scan_new(struct sto_snap *snap, const struct sto_total_spec *spec, struct sto_total_scan **out,
                       struct ts_error *err);
/** The hours that are answered: [n_hours] 1, or 0 = read it by series. The caller may set further ones to 0 before the first row. */
uint8_t *sto_total_scan_hours(struct sto_total_scan *scan);
/**
 * The next row of an hour that is answered: the summary of the points that a file has of a group in an hour. A group has a row for each file with points of
 * that hour; first and last point are not those of the group.
 *
 * @param out_group  what spec->group returned
 * @param out_sum    borrowed until the next call
 * @return 1; 0: there are no more; TS_ECORRUPT, TS_EIO, TS_EMFILE, TS_ENOMEM: a file cannot be read, and what was returned before may be a part of an hour;
 *         after TS_ECORRUPT the file's total is not used any more; TS_ELIMIT; TS_EBUSY: the thread must not wait
 */
int sto_total_scan_next(struct sto_total_scan *scan, int64_t *out_group, int32_t *out_hour,
                        const struct sto_summary **out_sum, struct ts_error *err);
/** End it; NULL is ignored. */
void sto_total_scan_free(struct sto_total_scan *scan);

#endif
