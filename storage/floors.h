/*
 * floors.h - what rules of retention have removed for good: sets of series, each with a cutoff.
 *
 * A floor says that points of its series before cutoff_ms are gone, provided they are of generations below gen: as if a tombstone of
 * that generation had deleted them. Merges leave them out, and scans do not show them, whatever the rules say later. So nothing
 * that a removed point had overwritten, and nothing that a removed tombstone had deleted, reappears from an older file when a rule keeps
 * points longer. A floor is on disk before the first point is removed because of it. Points that are put later are of newer
 * generations and are not affected. Numbers of series are never used again, so sets need no names.
 *
 * Format     docs/FORMAT.md, "Floors of retention"
 * Threads    immutable; references by any thread
 * Not here   when floors rise (engine/expire.h)
 */
#ifndef STORAGE_FLOORS_H
#define STORAGE_FLOORS_H

#include "base/fs.h"
#include "storage/point.h"

#include <roaring/roaring.h>
#include <stdatomic.h>

#define STO_FLOORS_NAME      "FLOORS"     /* in the data folder */
#define STO_FLOORS_MAX       512u         /* most floors: one of each duration, and those of former rules */
#define STO_FLOORS_MAX_BYTES (256u << 20) /* largest file */

struct sto_floor {
    int64_t cutoff_ms;        /* points before it are gone, */
    uint64_t gen;             /* provided they are of generations below this one */
    roaring_bitmap_t *series; /* of these series; owned */
};

struct sto_floors {
    atomic_uint refs;
    uint64_t epoch;        /* differs between floors of one run; set by the engine */
    uint64_t max_gen;      /* highest gen */
    size_t n;              /* length of at */
    struct sto_floor at[]; /* in any order; a series may be in several */
};

/** New, with one reference; the caller fills at[0..n) and calls sto_floors_filled. */
struct sto_floors *sto_floors_new(size_t n);
/** Computes what follows from at. */
void sto_floors_filled(struct sto_floors *f);
/** One more reference; NULL is ignored. */
struct sto_floors *sto_floors_ref(struct sto_floors *f);
/** Give a reference back; NULL is ignored. */
void sto_floors_unref(struct sto_floors *f);

/**
 * Read DIR/FLOORS.
 *
 * @param out  [out] NULL unless 1 is returned
 * @return 1, 0 = there is none, TS_ECORRUPT, TS_EVERSION (written by a newer program), TS_EIO, TS_ENOMEM
 */
int sto_floors_read(const struct ts_fs *fs, const char *dir, struct sto_floors **out, struct ts_error *err);
/** The same of another file of the folder that has the same form. */
int sto_floors_read_from(const struct ts_fs *fs, const char *dir, const char *name, struct sto_floors **out,
                         struct ts_error *err);
/** Replace DIR/FLOORS; it is on disk when 0 is returned. TS_ELIMIT: it would be larger than STO_FLOORS_MAX_BYTES; TS_ENOSPC, TS_EIO: the
 * former floors are there still. Blocks. */
int sto_floors_write(const struct ts_fs *fs, const char *dir, const struct sto_floors *f,
                     struct ts_error *err);
/** The same of another file. */
int sto_floors_write_to(const struct ts_fs *fs, const char *dir, const char *name, const struct sto_floors *f,
                        struct ts_error *err);

#endif
