/*
 * total.h - a kept total of one sorted file: for each group of series and each hour, the summary of all rows of the group (NNNNNNNN.gN).
 *
 * A group is what the series of a metric have in common that differ only in the keys that are summed over: the other tags. The file is
 * derived from the rows of its NNNNNNNN.t and is not in the manifest: it names that file, its generations and its counts, and the checksum of
 * its index, so that one that belongs to it is recognised. Where it is missing or damaged, hours are read series by series. An hour of a group
 * without a summary (kinds of values are mixed, a value is NaN, more than 2^32 - 1 points) has a row that says so.
 *
 * Format     docs/FORMAT.md "File of a kept total"
 * Cost       writing: 0.1 us a row of the metric that has a summary of its hour, otherwise its points are read; 10 to 20 bytes a group and hour.
 *            A pass over the rows for each STO_TOTAL_BYTES of groups and hours
 * Threads    one at a time writes those of a file, beside its readers; an open one is constant
 * Not here   which files get them (engine/total_files.h), where they are exact (engine/total_read.h)
 */
#ifndef STORAGE_ENGINE_FILES_TOTAL_H
#define STORAGE_ENGINE_FILES_TOTAL_H

#include "storage/engine/files/sst.h"
#include "storage/total_scan.h"

#define STO_TOTAL_GROUPS 4096u    /* most groups of a file, */
#define STO_TOTAL_TAGS   200000u  /* most tags of all of them, */
#define STO_TOTAL_HOURS  131072u  /* most hours from the first point of the file to the last one, */
#define STO_TOTAL_CELLS  8000000u /* and most groups times hours: a file with more has no rows of totals */
#define STO_TOTAL_RUNS   4096u    /* most runs of hours, and of holes; where there are more, they are one */
#define STO_TOTAL_BYTES  (16u << 20) /* memory of groups and hours while they are added up */

/* What a group has in common: the tags that are not summed over. */
struct sto_total_group {
    const struct sto_tag *tags; /* ascending by key */
    size_t n_tags;
};

/* Hours that follow each other. */
struct sto_total_run {
    int32_t from, to; /* from <= h < to */
};

/* The kept total of an open sorted file. Constant; it lives as long as the file is referenced. */
struct sto_total_file {
    struct sto_total_ids ids; /* of the total when it was made; the names may be those of others now */
    bool none;                /* the file has no rows of the metric; all that follows is 0 */
    bool left_out; /* it has too many groups or too long a time, and no rows; there are no holes and groups */
    uint32_t series_lo, series_hi; /* numbers of the first and the last series of the metric that have rows */
    const struct sto_total_run *runs; /* hours in which the file has rows of the metric, ascending */
    size_t n_runs;
    const struct sto_total_run
        *holes; /* those of them in which a group has no summary, or one without a sum */
    size_t n_holes;
    const struct sto_total_group *groups; /* by the numbers that rows have */
    size_t n_groups;
    uint64_t bytes; /* of the file */
};

/**
 * The tags of a series.
 *
 * @param tags  room for UINT8_MAX
 * @return how many, ascending by key; < 0: the series is not known
 */
typedef int (*sto_total_tags_fn)(void *arg, uint32_t series, struct sto_tag *tags);

/** This total of an open file; NULL: it has none that can be read. Any thread. */
const struct sto_total_file *sto_sst_total(const struct sto_sst *sst, const struct sto_total_ids *ids);
/** Is it known what the file has of this total? It has it open, or has no rows of the metric, or making it has failed, or it is damaged. */
bool sto_sst_total_is_known(const struct sto_sst *sst, const struct sto_total_ids *ids);
/** Making the total has failed: do not try again until the file is opened the next time. One thread at a time. */
void sto_sst_total_failed(struct sto_sst *sst, const struct sto_total_ids *ids);
/** The ids that the file of a total beside a file names; it may be that of other rows. TS_ENOTFOUND: there is none; TS_ECORRUPT; TS_EIO, TS_EMFILE. One thread, no
 * readers. */
int sto_sst_total_ids(struct sto_sst *sst, uint32_t no, struct sto_total_ids *out, struct ts_error *err);
/** Open the total of a file that has none of these ids open, if it exists and is that of its rows and of these ids. True if it has it now. One that is
 * damaged is logged and removed. Beside readers; one thread at a time. */
bool sto_sst_open_total(struct sto_sst *sst, const struct sto_total_ids *ids);
/**
 * Make the total of a file that has none of these ids open: write it beside the file, sync and open it; or note that the file has no rows of the metric.
 *
 * @param memory  account of groups and hours; what one pass over the rows needs is asked for, less if it is refused
 * @param cancel  TS_ECANCELLED when it becomes true; NULL: nothing cancels
 * @return 0; TS_ECORRUPT: the rows cannot be read, or a series is not known; TS_ELIMIT: memory is refused; errors of the file system. Nothing is left
 *         behind unless it returns 0.
 */
int sto_total_make(struct sto_sst *sst, const struct sto_total_ids *ids, sto_total_tags_fn tags, void *arg,
                   struct ts_budget *memory, const _Atomic bool *cancel, struct ts_error *err);
/** Compare the open total of a file with its points. 0; TS_ECORRUPT with a text that says where they differ, also if the rows cannot be read; TS_EIO,
 * TS_EMFILE, TS_ELIMIT. */
int sto_total_check(struct sto_sst *sst, const struct sto_total_ids *ids, sto_total_tags_fn tags, void *arg,
                    struct ts_budget *memory, struct ts_error *err);
/** Mark a total as damaged, so that it is not read any more, and is made again after the next start. The first call writes a line to the log. Any thread. */
void sto_sst_lose_total(struct sto_sst *sst, const struct sto_total_ids *ids, const struct ts_error *why);
/** Remove the files of totals that are not among these, of an open file. Readers go on, and may find that they cannot read. One thread at a time. */
void sto_sst_drop_totals(struct sto_sst *sst, const struct sto_total_ids *ids, size_t n);
/** A cursor over the rows of a total, which is neither `none` nor `left_out`: the key has the metric, the number of the group and the hour. As sto_sst_cur_new. */
struct sto_sst_cur *sto_sst_total_cur(struct sto_sst *sst, const struct sto_total_file *t,
                                      struct sto_sst_share *share);

#endif
