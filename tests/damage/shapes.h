/*
 * shapes.h - small stores on a file system in memory, of different kinds, to be damaged.
 *
 * Threads    one
 */
#ifndef TESTS_DAMAGE_SHAPES_H
#define TESTS_DAMAGE_SHAPES_H

#include "storage/store.h"
#include "tests/faults/faultfs.h"

#define SHAPE_DIR "/db"

/* One kind of store. */
struct shape {
    const char *name;
    struct t_faultfs *(*make)(uint64_t seed); /* the caller's */
};
extern const struct shape shapes[];
extern const size_t n_shapes;

/** Options of a store on f. */
struct sto_opts shape_opts(struct t_faultfs *f, bool read_only);

#endif
