/*
 * merge.h - which files of runs are merged into which files of ready/, and the merging of one unit.
 *
 * A unit is a range of time, and of keys, that a thread merges by itself: up to STO_SPLIT files side by side, each of a window of its own. A window
 * all of whose points one run has needs no merging: its files are moved, unless they are rough. A range of time with many points is divided by key into units of
 * about as many points each (split.c). The plan depends on the runs alone, so that an import that continues has the same units.
 *
 * Threads    plan: one; units are merged by several threads at the same time
 * Not here   what is finished (state.h), the order of steps (writer.c)
 */
#ifndef STORAGE_ENGINE_BULK_MERGE_H
#define STORAGE_ENGINE_BULK_MERGE_H

#include <stdatomic.h>

#include "base/budget.h"
#include "storage/bulk.h"
#include "storage/engine/bulk/state.h"
#include "storage/engine/files/sst.h"

/* A file of a run. */
struct sto_bulk_file {
    struct sto_sst_info info;
    size_t run;          /* index of its run */
    bool moved;          /* a unit moves it */
    bool rough;          /* it was written to be merged (sto_sst_writer_set_rough), so it is never moved */
    struct sto_sst *sst; /* open; NULL if it is moved */
};

struct sto_bulk_unit {
    size_t first_cut, n_cuts; /* into plan.cuts */
    bool move;                /* the files that lie in it are moved */
    bool has_after, has_upto; /* it is divided by key: after <, <= upto */
    struct sto_key after;     /* last key of the unit before it, if has_after */
    struct sto_key upto;      /* its last key, if has_upto */
};

struct sto_bulk_plan {
    struct sto_cut *cuts; /* owned */
    size_t n_cuts;
    struct sto_bulk_unit *units; /* owned */
    size_t n_units, cap_units;
};

/** Plan the units. files: all files of all runs; moved is set. */
void sto_bulk_plan_make(struct sto_bulk_plan *p, struct sto_day_counts *days, uint64_t big_day_points,
                        uint64_t unit_points, struct sto_bulk_file *files, size_t n_files);
#define STO_BULK_SPLIT_MAX 64u /* most units that one range of time is divided into */
#define STO_BULK_SPLIT_KEYS                                                                                  \
    16384u /* about so many keys of the files, from which the borders are chosen, are in memory at a time */
/**
 * Divide units with twice unit_points or more by key. Borders are last keys of blocks, such that each unit has about as many blocks. A row is in one unit.
 *
 * @param days   as for sto_bulk_plan_make
 * @param files  open, apart from those that are moved
 * @return 0; errors of reading an index, then the plan has not changed
 */
int sto_bulk_plan_split(struct sto_bulk_plan *p, const struct sto_day_counts *days, uint64_t unit_points,
                        const struct sto_bulk_file *files, size_t n_files, struct ts_error *err);
/** Points of a unit's range of time, in all runs. */
uint64_t sto_bulk_unit_points(const struct sto_bulk_plan *p, const struct sto_bulk_unit *u,
                              const struct sto_day_counts *days);
/** Release. */
void sto_bulk_plan_release(struct sto_bulk_plan *p);
/** Does a file lie in the time of a unit, in part? */
bool sto_bulk_unit_meets(const struct sto_bulk_plan *p, const struct sto_bulk_unit *u,
                         const struct sto_sst_info *info);

/* What merging a unit needs. */
struct sto_bulk_merge {
    const struct ts_fs *fs;
    const char *dir;             /* of the output */
    struct sto_bulk_file *files; /* all; those with an sst are read */
    size_t n_files;
    struct ts_budget *memory;   /* for the blocks that are held */
    uint64_t output_bytes;      /* files are cut by key at this size */
    _Atomic uint64_t *next_no;  /* number of the next file */
    _Atomic uint64_t *n_merged; /* grows by the points that are written */
    const _Atomic bool *cancel; /* may be NULL */
};
/** Merge a unit; its files are complete and synced, but not their folder. On error they are removed. out is empty before. 0;
 * TS_ECANCELLED; errors of reading and writing. */
int sto_bulk_merge_unit(const struct sto_bulk_merge *m, const struct sto_bulk_plan *p,
                        const struct sto_bulk_unit *u, struct sto_bulk_part *out, struct ts_error *err);

#endif
