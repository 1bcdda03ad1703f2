/*
 * waiting.h - which points wait in a spool: how many values of each series and time.
 *
 * Values that wait in the spool must not arrive after newer ones of the same series and time, which they would overwrite. So newer
 * values queue behind older ones, and only the last of several waiting values needs to be sent.
 *
 * A point is identified by a 64-bit hash of its line without the value. An entry takes 16 bytes in a table that is at
 * most half full.
 *
 * Threads    one thread at a time
 * Not here   the lines themselves (spool.h), when they are sent (sink.c)
 */
#ifndef COLLECTORS_CORE_WAITING_H
#define COLLECTORS_CORE_WAITING_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* One series and time. */
struct col_waiting_point {
    uint64_t hash; /* of its lines without their values */
    uint64_t n;    /* values that wait; 0 = a free place, or one that all have left */
};

struct col_waiting {
    struct col_waiting_point *places; /* owned; NULL = nothing was ever added */
    size_t n_places;                  /* a power of two */
    size_t n_used;                    /* places with a hash, those that all have left included */
    uint64_t n_lines;                 /* values that wait, of all points */
};

/* Lines and how many. */
struct col_lines {
    struct ts_buf text; /* whole lines */
    uint32_t n;         /* of them */
};

/** Empty again; memory is released. Also the way to release. Idempotent. */
void col_waiting_clear(struct col_waiting *w);
/** Each line of a text waits. Lines are "put METRIC TIME VALUE TAG=VALUE ...". */
void col_waiting_add(struct col_waiting *w, struct ts_slice lines);
/** Each line of a text waits no longer. */
void col_waiting_remove(struct col_waiting *w, struct ts_slice lines);
/** Values of the point of this line that wait. */
uint64_t col_waiting_count(const struct col_waiting *w, struct ts_slice line);
/** Split lines by whether more than `more_than` values of their point wait: those go to `yes`, the others to `no`.
 * With remove each line that goes to `yes` waits no longer. Both outputs are cleared first; they keep the order of
 * the lines. */
void col_waiting_split(struct col_waiting *w, struct ts_slice lines, uint64_t more_than, bool remove,
                       struct col_lines *yes, struct col_lines *no);

#endif
