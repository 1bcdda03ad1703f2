/*
 * tree.h - definitions of trees: how series are filed as leaves of branches, by rules over their names.
 *
 * A tree is one small cell with its definition and its rules, so that a change of several rules is atomic.
 * Branches, leaves, collisions and unmatched series are not stored: they are computed from the rules and the
 * catalog (tree_rules.h, tree_walk.h) and are never out of date.
 *
 * Format     docs/FORMAT.md "Keys of cells"
 * With a remote store its trees are those of all programs that use it, by compare-and-set (storage/cells_shared.h).
 *
 * Threads    any; storing may block (a sync of the cells' log, the remote store), and so may loading with a remote store
 * Not here   what the rules do (tree_rules.h)
 * Source     docs/OPENTSDB.md, sections 2.15, 10.9
 */
#ifndef TSD_META_TREE_H
#define TSD_META_TREE_H

#include "tsd/meta/fields.h"

#define TSD_TREE_ID_MAX   65535 /* of a tree; the first is 1 */
#define TSD_TREE_RANK_MAX 65535 /* of level and order of a rule */

/* Rows of tsd_tree_fields. */
enum tsd_tree_field {
    TSD_TREE_NAME,
    TSD_TREE_DESCRIPTION,
    TSD_TREE_NOTES,
    TSD_TREE_STRICT_MATCH,   /* a rule of each level must match */
    TSD_TREE_ENABLED,        /* it has branches */
    TSD_TREE_STORE_FAILURES, /* it reports collisions and unmatched series */
    TSD_TREE_CREATED,        /* seconds */
};
extern const struct tsd_field tsd_tree_fields[];

/* Rows of tsd_tree_rule_fields. */
enum tsd_tree_rule_field {
    TSD_TREE_RULE_LEVEL,
    TSD_TREE_RULE_ORDER, /* among those of its level: the first that matches counts */
    TSD_TREE_RULE_TYPE,  /* METRIC, METRIC_CUSTOM, TAGK, TAGK_CUSTOM, TAGV_CUSTOM */
    TSD_TREE_RULE_FIELD,
    TSD_TREE_RULE_CUSTOM_FIELD,
    TSD_TREE_RULE_REGEX,
    TSD_TREE_RULE_REGEX_GROUP,
    TSD_TREE_RULE_SEPARATOR,
    TSD_TREE_RULE_DISPLAY_FORMAT,
    TSD_TREE_RULE_DESCRIPTION,
    TSD_TREE_RULE_NOTES,
};
extern const struct tsd_field tsd_tree_rule_fields[];

/* A tree. Memory of the arena it was loaded with. */
struct tsd_tree {
    uint16_t id;              /* from 1 on */
    struct tsd_record def;    /* of tsd_tree_fields */
    struct tsd_record *rules; /* of tsd_tree_rule_fields, by level and order */
    size_t n_rules;           /* how many */
    size_t cap_rules;         /* allocated */
};

/** Parse the key of a tree's cell. */
bool tsd_tree_key_parse(struct ts_slice key, uint16_t *out_id);
/** Parse a tree that has been read as a record, whose texts are copied to the arena. TS_ECORRUPT, TS_EVERSION. */
int tsd_tree_parse(struct ts_slice record, uint16_t id, struct ts_arena *arena, struct tsd_tree *out,
                   struct ts_error *err);
/** Load; first from the remote store, if there is one that answers. TS_ENOTFOUND, TS_ECORRUPT, TS_EVERSION. */
int tsd_tree_load(struct sto_store *st, uint16_t id, struct ts_arena *arena, struct tsd_tree *out,
                  struct ts_error *err);
/** Ids of all trees, ascending, in the arena; how many. With a remote store also of those that it has; if it does not answer, of those
 * that are known here. */
size_t tsd_tree_ids(struct sto_store *st, struct ts_arena *arena, uint16_t **out);
/** Create a tree from the given fields, with the next id. TS_EINVAL (no name), TS_ELIMIT (no id left).
 * Blocks: one sync. */
int tsd_tree_create(struct sto_store *st, const struct tsd_record *given, struct ts_arena *arena,
                    struct tsd_tree *out, struct ts_error *err);
/* Changes a tree that tsd_tree_change loaded; < 0: nothing is stored. */
typedef int (*tsd_tree_change_fn)(void *arg, struct tsd_tree *t, struct ts_arena *arena,
                                  struct ts_error *err);
/**
 * Change a tree, atomically with respect to other changes.
 *
 * @param change       does it; called again, on the new state, if another change came first
 * @param out          [out] what is stored now
 * @param out_changed  [out] false: it was so before, nothing was written
 * @return 0; TS_ENOTFOUND; what change or storing said
 *
 * Blocks: one sync.
 */
int tsd_tree_change(struct sto_store *st, uint16_t id, struct ts_arena *arena, tsd_tree_change_fn change,
                    void *arg, struct tsd_tree *out, bool *out_changed, struct ts_error *err);
/** Delete definition and rules. TS_ENOTFOUND. Blocks: one sync. */
int tsd_tree_delete(struct sto_store *st, uint16_t id, struct ts_error *err);

/** The rule of a level and order; NULL if there is none. */
struct tsd_record *tsd_tree_rule(const struct tsd_tree *t, int64_t level, int64_t order);
/** Add a rule, or merge its given fields into the one that is there, or replace it. TS_EINVAL: it makes no sense
 * (tsd_tree_rule_check). For use inside tsd_tree_change: the tree was loaded. */
int tsd_tree_rule_put(struct tsd_tree *t, const struct tsd_record *given, bool replace,
                      struct ts_arena *arena, struct ts_error *err);
/** Remove a rule. TS_ENOTFOUND. */
int tsd_tree_rule_delete(struct tsd_tree *t, int64_t level, int64_t order, struct ts_error *err);

/** The tree with its rules as an object. */
void tsd_tree_json(const struct tsd_tree *t, struct ts_json *j);
/** One of its rules. */
void tsd_tree_rule_json(const struct tsd_tree *t, const struct tsd_record *rule, struct ts_json *j);

#endif
