/*
 * tz_int.h - a zone's table of offsets, and how it is read from a TZif file.
 *
 * Threads    plain values: one thread at a time
 */
#ifndef BASE_TZ_INT_H
#define BASE_TZ_INT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TZ_END_MS         16725225600000ll /* 2500-01-01: rules are looked up below this */
#define TZ_MAX_STEPS      8192             /* changes of offset in one zone; real zones stay below 1,300 */
#define TZ_MAX_OFFSET_S   86399            /* every offset from UTC is below a day */
#define TZ_MAX_FILE_BYTES 262144           /* real files stay below 4 KiB */

/* One stretch of constant offset, up to the next entry. */
struct tz_step {
    int64_t from_ms;   /* first instant of it */
    int64_t offset_ms; /* local time minus UTC */
};

/* All offsets of a zone. */
struct tz_table {
    struct tz_step *steps; /* owned, ascending by from_ms; the first one begins at INT64_MIN */
    size_t n_steps;        /* entries, at least 1 once the table is read */
    bool repeats;          /* rules continue for ever: the last entry begins at or after TZ_END_MS */
};

/**
 * Read a file of compiled zone rules, version 2 or later, "fat" or "slim".
 *
 * @param file       the whole file; not trusted
 * @param out_table  [out] the table; release it, also after an error
 * @return 0
 *         TS_ENOTFOUND  this is no TZif file
 *         TS_ECORRUPT   the file is damaged, is of version 1, or has leap seconds; the text says which
 *
 * Cost: O(file bytes), and 2 entries for each year up to 2500.
 * Source: RFC 9636; the rule string of the footer is POSIX's TZ with hours up to 167.
 */
int ts_tzif_read(struct ts_slice file, struct tz_table *out_table, struct ts_error *err);
/** Free the entries. Idempotent. */
void ts_tzif_release(struct tz_table *table);

#endif
