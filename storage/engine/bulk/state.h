/*
 * state.h - the file STATE of a staging folder: how far an import has come.
 *
 * It is a text, replaced as a whole: after each run, and after each unit of merging.
 *
 * Format     docs/FORMAT.md "Bulk load"
 * Threads    one at a time
 */
#ifndef STORAGE_ENGINE_BULK_STATE_H
#define STORAGE_ENGINE_BULK_STATE_H

#include "base/buf.h"
#include "base/fs.h"
#include "storage/engine/merge/partition.h"

#define STO_BULK_STATE_NAME "STATE"

/* A run, or a merged unit, and its files. */
struct sto_bulk_part {
    uint64_t *nos; /* numbers of its files; owned */
    size_t n;
};

struct sto_bulk_state {
    char *note;   /* of the importer, one line; owned; NULL = none */
    bool merging; /* no run follows */
    bool
        by_key; /* the units of merging are divided by key; imports that began to merge with an older program have other units */
    bool merged;                /* all units are done */
    struct sto_day_counts days; /* points of all runs; owned */
    struct sto_bulk_part *runs; /* in the order of the input; owned */
    size_t n_runs, cap_runs;
    struct sto_bulk_part *units; /* by number of the unit: its files if it is done; owned */
    bool *done;                  /* by number of the unit; owned */
    size_t n_units;              /* length of units and done */
};

/** Release what it owns and empty it. */
void sto_bulk_state_release(struct sto_bulk_state *s);
/** Make room for units 0 to n - 1. */
void sto_bulk_state_units(struct sto_bulk_state *s, size_t n);
/** Read DIR/STATE. 1; 0: there is none, *s is empty; TS_ECORRUPT; TS_EVERSION; errors of reading. */
int sto_bulk_state_read(const struct ts_fs *fs, const char *dir, struct sto_bulk_state *s,
                        struct ts_error *err);
/** Replace DIR/STATE; it is on disk when 0 is returned. */
int sto_bulk_state_write(const struct ts_fs *fs, const char *dir, const struct sto_bulk_state *s,
                         struct ts_error *err);

#endif
