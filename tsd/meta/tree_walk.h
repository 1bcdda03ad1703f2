/*
 * tree_walk.h - computing branches of trees: one pass over all series for each request, which keeps only what
 * its answer needs.
 *
 * Threads    any; each call belongs to one thread
 * Not here   the path of a series (tree_rules.h)
 */
#ifndef TSD_META_TREE_WALK_H
#define TSD_META_TREE_WALK_H

#include "tsd/meta/tree_rules.h"

/** Should a walk end? TS_ECANCELLED, TS_ETIMEOUT. limit may be NULL. */
int tsd_tree_walk_check(struct qry_limit *limit, struct ts_error *err);

/* --- ids of branches: tree id, 4 hex digits, and the hash of each name on the way, 8 --- */
struct tsd_tree_branch_id {
    uint16_t tree;          /* its id */
    const uint32_t *hashes; /* of the names below the root */
    size_t depth;           /* how many; 0 = the root */
};
/** Read an id. TS_EINVAL. Memory of the arena. */
int tsd_tree_branch_parse(struct ts_slice hex, struct ts_arena *arena, struct tsd_tree_branch_id *out,
                          struct ts_error *err);
/** Append the id of a branch of a path: its first `depth` parts. */
void tsd_tree_branch_hex(uint16_t tree, const uint32_t *hashes, size_t depth, struct ts_buf *out);

/* --- a branch --- */
/* What is directly below a branch. */
struct tsd_tree_child {
    struct ts_slice name;          /* what it is called */
    uint32_t hash;                 /* of the name */
    const struct sto_series *leaf; /* NULL: a branch */
};
struct tsd_tree_branch {
    struct tsd_tree_branch_id id;    /* which */
    struct ts_slice *names;          /* of the branches from below the root down to it: id.depth */
    struct tsd_tree_child *children; /* owned: branches, then leaves, each by name */
    size_t n, cap;                   /* used, allocated */
    size_t n_branches;               /* of them */
    struct ts_arena arena;           /* of names */
};
/** Free what it holds. */
void tsd_tree_branch_release(struct tsd_tree_branch *b);
/**
 * Find a branch and what is below it. Of several series with one name in one branch the oldest is its leaf.
 *
 * @param limit  when to give up, and max_bytes for all that is kept; may be NULL
 * @param out    [out] the caller's: tsd_tree_branch_release, in any case
 * @return 0; TS_ENOTFOUND: no series is below it (the root is always there); TS_ELIMIT; TS_ECANCELLED; TS_ETIMEOUT
 *
 * Cost: tsd_tree_plan_run for each series; memory for the children of this branch alone.
 */
int tsd_tree_branch_find(struct sto_store *st, const struct tsd_tree *t, const struct tsd_tree_branch_id *id,
                         struct qry_limit *limit, struct tsd_tree_branch *out, struct ts_error *err);

/* --- failures --- */
/* Gets a series that is not in the tree: first is the one that has its place; if it is NULL, why has the
 * reason. < 0 ends the walk. */
typedef int (*tsd_tree_failure_fn)(void *arg, const struct sto_series *s, const struct sto_series *first,
                                   struct ts_slice why, struct ts_error *err);
/** Series whose place an older one has. Memory: about 25 bytes a series, at most max_bytes of limit. Errors
 * as tsd_tree_branch_find. */
int tsd_tree_collisions(struct sto_store *st, const struct tsd_tree *t, struct qry_limit *limit,
                        tsd_tree_failure_fn each, void *arg, struct ts_error *err);
/** Series that no rule matched. */
int tsd_tree_not_matched(struct sto_store *st, const struct tsd_tree *t, struct qry_limit *limit,
                         tsd_tree_failure_fn each, void *arg, struct ts_error *err);

#endif
