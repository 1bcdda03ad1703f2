/*
 * once_gone.h - which ids of clients are forgotten: a few ranges of the seconds in which they were made.
 *
 * A forgotten id must be refused for ever, and cannot be listed for ever. Ids are forgotten in about the order in which they were made, so
 * one range grows. An id whose client had its clock ahead, or that came while this machine had, lies beyond the present: it begins a
 * range of its own, or all ids made from now until then would be refused. Ranges that come near each other become one.
 *
 * Threads    one
 */
#ifndef STORAGE_ENGINE_ONCE_GONE_H
#define STORAGE_ENGINE_ONCE_GONE_H

#include <stdbool.h>
#include <stdint.h>

#define STO_ONCE_GONE 8 /* most ranges; beyond that the two nearest ones become one */

/* {0}: none are forgotten. */
struct sto_once_gone {
    unsigned n; /* ranges in use */
    struct sto_once_range {
        uint64_t from_s, to_s; /* both included; seconds since 1970 */
    } at[STO_ONCE_GONE];       /* ascending, without overlap */
};

/** Forget the ids that were made in a second, and those between it and a range that is at most near_s away. */
void sto_once_gone_add(struct sto_once_gone *g, uint64_t made_s, uint64_t near_s);
/** Are the ids forgotten that were made in this second? */
bool sto_once_gone_has(const struct sto_once_gone *g, uint64_t made_s);

#endif
