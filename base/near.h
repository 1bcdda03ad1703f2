/*
 * near.h - the name that was probably meant.
 *
 * Threads    any
 */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

#define TS_NEAR_MAX_BYTES 64 /* longer names are compared with nothing */

/* A search for the nearest of some names. */
struct ts_near {
    struct ts_slice wanted;           /* what was written */
    unsigned least;                   /* letters to change, of the best so far */
    char best[TS_NEAR_MAX_BYTES + 1]; /* that one, ended by a zero */
    size_t n;                         /* its bytes; 0: none is near */
};
/** Begin; wanted is borrowed until the last name was seen. */
void ts_near_init(struct ts_near *near, struct ts_slice wanted);
/** Look at a name. It is near if few letters are to be changed, added, dropped or swapped with their neighbour (case does not count), a third of them at most and
 * three at the most, or if the wanted one is a whole part of it between dots, slashes or such. The first of equally near ones stays.
 * Cost: product of the lengths. */
void ts_near_see(struct ts_near *near, struct ts_slice name);
/** Look at the names of a list with blanks between. True if the wanted one is among them; the rest of the list is not looked at then. */
bool ts_near_list(struct ts_near *near, const char *list);
/** Append "; did you mean NAME?" to the message in err if a name was near. err may be NULL. */
void ts_near_hint(const struct ts_near *near, struct ts_error *err);

#endif
