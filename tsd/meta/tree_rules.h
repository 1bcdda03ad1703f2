/*
 * tree_rules.h - applying the rules of a tree to a series, which gives the names of the branches that lead to
 * its leaf, and of the leaf.
 *
 * Levels are applied in their order; of each level, the first rule that matches is used, in the order of
 * rules:
 *
 *   METRIC         the metric                  METRIC_CUSTOM  customField of the metric's metadata
 *   TAGK           value of the tag `field`    TAGK_CUSTOM    customField of the metadata of the key `field`
 *                                              TAGV_CUSTOM    customField of the metadata of the value of the
 *                                              tag
 *                                                             `field`, else about a value that is `field`
 *
 *   regex          a group of it is taken (regexGroupIdx from 0; without groups all that matched), else no
 *   match
 *   separator      instead: each part is a branch of its own; empty parts are left out. One character, or an
 *                  expression
 *   displayFormat  name of the branch: {value}, {ovalue} before regex and separator, {tag_name}, {tsuid}
 *
 * The last name is the leaf's. A series without any name, or with strictMatch without one of each level, is
 * not in the tree.
 *
 * Threads    a plan and a path belong to one thread
 * Source     docs/OPENTSDB.md, sections 2.15, 10.9 (hashes)
 */
#ifndef TSD_META_TREE_RULES_H
#define TSD_META_TREE_RULES_H

#include "tsd/meta/tree.h"

/** Is a rule valid? Its type is converted to capitals. TS_EINVAL says why not. */
int tsd_tree_rule_check(struct tsd_record *rule, struct ts_error *err);
/** Hash of a name as OpenTSDB makes it: h = 31 * h + unit, over UTF-16. */
uint32_t tsd_tree_hash(struct ts_slice name);

/* One name of a path. */
struct tsd_tree_part {
    size_t at, n;  /* bytes of the path's text */
    uint32_t hash; /* of the name */
};
/* Where a series is. */
struct tsd_tree_path {
    struct tsd_tree_part *parts; /* owned: branches below the root, then the leaf */
    size_t n, cap;               /* used, allocated; 0 = not in the tree */
    struct ts_buf text;          /* names, one after the other */
    struct ts_buf why;           /* why it is not in the tree */
    struct ts_json *messages;    /* gets a string for each step; an array must be open. NULL = not wanted */
};
/** Empty. */
void tsd_tree_path_init(struct tsd_tree_path *p);
/** Free it; usable again. */
void tsd_tree_path_release(struct tsd_tree_path *p);
/** Name of a part. */
struct ts_slice tsd_tree_path_name(const struct tsd_tree_path *p, size_t i);

/* Where rules find what the ids of a series mean; an id never means another name while the plan exists. */
struct tsd_tree_names {
    /* A name, borrowed until the path of the next series is found */
    struct ts_slice (*name)(void *arg, enum sto_uid_kind kind, uint32_t id);
    /* A free text field of a name (member of `custom`) is appended: 1; 0: it has none; or an error. May block */
    int (*custom)(void *arg, enum sto_uid_kind kind, uint32_t id, struct ts_slice field, struct ts_buf *out,
                  struct ts_error *err);
    /* The TSUID in hexadecimal digits is appended */
    void (*tsuid)(void *arg, const struct sto_series *s, struct ts_buf *out);
    void *arg;
};

struct tsd_tree_plan;
/** Compile the rules of a tree for series of a store's catalog. Borrows the tree and its arena's texts. TS_ELIMIT names the rule. */
int tsd_tree_plan_new(struct sto_store *st, const struct tsd_tree *t, struct tsd_tree_plan **out,
                      struct ts_error *err);
/** The same for series whose names are elsewhere; names is copied. */
int tsd_tree_plan_over(const struct tsd_tree_names *names, const struct tsd_tree *t,
                       struct tsd_tree_plan **out, struct ts_error *err);
/** NULL is harmless. */
void tsd_tree_plan_free(struct tsd_tree_plan *plan);
/** Find the path of a series, of which metric and tags are used. Errors: TS_ELIMIT, a regular expression takes too long; of reading metadata.
 * Cost: about a microsecond, and what its expressions cost. */
int tsd_tree_plan_run(struct tsd_tree_plan *plan, const struct sto_series *s, struct tsd_tree_path *out,
                      struct ts_error *err);

#endif
