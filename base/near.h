/*
 * near.h - finds the name that a user probably meant, for "did you mean".
 *
 * Threads    any
 */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

#define TS_NEAR_MAX_BYTES 64 /* longer names are neither compared nor suggested */
#define TS_NEAR_PART      4  /* member least: the wanted name is a whole part of the best one */

/* A search for the nearest of some names. */
struct ts_near {
    struct ts_slice wanted;           /* what was written */
    unsigned least;                   /* edit distance of the best name so far */
    char best[TS_NEAR_MAX_BYTES + 1]; /* that name, with a terminating zero */
    size_t n;                         /* its length in bytes; 0: no name is near */
};
/** Begin; wanted is borrowed until the last name was seen. */
void ts_near_init(struct ts_near *near, struct ts_slice wanted);
/** Offer a name. It is near if at most three letters, and at most a third of them, must be changed, added,
 * dropped or swapped with their neighbour (ignoring case, and - is the same as _), or if the wanted name is a whole part of it
 * between dots, slashes or similar characters. Of equally near names the first one wins. Cost: O(product of
 * the lengths). */
void ts_near_see(struct ts_near *near, struct ts_slice name);
/** Offer the names of a list separated by blanks. Returns true as soon as one of them is the wanted name. */
bool ts_near_list(struct ts_near *near, const char *list);
/** Append "; did you mean NAME?" to the message in err if a name was near. err may be NULL. */
void ts_near_hint(const struct ts_near *near, struct ts_error *err);

#endif
