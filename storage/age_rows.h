/*
 * age_rows.h - reads the points of hours and writes rows of summaries, for a pass of age.h; or reads rows of hours and writes rows of days.
 *
 * What goes wrong with one series (a block cannot be read, max_series is reached) ends the work on that series alone. It is remembered, and the pass goes
 * on with the others.
 *
 *   several series   a scan of their points writes rows; a scan of the rows of former passes finds hours without points. A bit for each hour of each series
 *                    says which rows were written
 *   one series       both scans side by side, so that nothing grows with the years of the series
 *
 * Threads    the compact thread
 * Not here   which hours of which series (age.h), the form of rows (aged.h), their files (engine/aged_files.h)
 */
#ifndef STORAGE_AGE_ROWS_H
#define STORAGE_AGE_ROWS_H

#include "base/buf.h"
#include "storage/point.h"

#include <roaring/roaring.h>

struct sto_store;
struct sto_snap;
struct sto_aged_files;
struct ts_budget;

#define STO_AGE_CHUNK_HOURS 20000u /* hours of all series that are read together, unless it is one */
#define STO_AGE_CHUNK_MAX   4096u  /* most series of these */

/* What the chunks of a pass have in common. */
struct sto_age_rows {
    struct sto_store *st;
    struct sto_snap *snap;        /* what is read; borrowed */
    struct sto_aged_files *files; /* where rows go; borrowed */
    struct ts_budget *memory;     /* what is held counts in it */
    uint64_t n_rows;              /* given to files */
    roaring_bitmap_t *failed;     /* series with which something went wrong; owned */
    struct ts_error why;          /* what it was with the first of them */
    bool ends;                    /* an error of the whole pass has come */
    struct ts_buf metric, text;   /* scratch */
};

/* Series of one metric that are read together. */
struct sto_age_chunk {
    const struct sto_series *const *series; /* [n] ascending by number */
    size_t n;                               /* 1 with keeps, or if there are more than STO_AGE_CHUNK_HOURS */
    int64_t from_ms, to_ms;                 /* full hours, from_ms < to_ms */
    bool has_days;                          /* the rows of series are hours, of which days are made */
    int32_t first; /* with has_days: no day begins before this hour, since there are days before it */
    bool keeps;    /* points: of a row and the points of its hour the one that knows more points is right */
};

/** How many of n_left series a chunk of these hours may have. */
size_t sto_age_rows__most(const struct sto_age_chunk *c, size_t n_left);
/** Prepare for the first chunk; the members above `failed` are set by the caller. */
void sto_age_rows__init(struct sto_age_rows *r);
/** Until when a series whose mark was lost has summaries, those of its hours that have become days among them: the end of the last row, at least to_ms, ms.
 * The rules may keep points longer now than when the mark was set, but hours before that end may have none any more. False: the series failed. */
bool sto_age_rows__end(struct sto_age_rows *r, const struct sto_series *series, int64_t to_ms,
                       int64_t *out_ms);
/** The same of a series of hours: until when its days are needed, since its hours are not all there any more; STO_MIN_TS_MS: they are. Days after it are made
 * anew, of the present zone: those that are there may be of another one, and of a pass that was not completed. */
bool sto_age_rows__needed(struct sto_age_rows *r, const struct sto_series *hours, int64_t *out_ms);
/** Write the rows of a chunk, some of them to disk. Series that failed are in r->failed. 0; TS_ECANCELLED: the store is closing; errors of
 * sto_aged_files_write. */
int sto_age_rows__write(struct sto_age_rows *r, const struct sto_age_chunk *c, struct ts_error *err);
void sto_age_rows__release(struct sto_age_rows *r);

#endif
