/*
 * treetable.h - cells of the table of trees, tsdb-tree.
 *
 *   row      family  qualifier                  value
 *   tree     t       tree                       document of the definition
 *   tree     t       tree_rule:LEVEL:ORDER      document of a rule; decimal numbers
 *   branch   t       branch                     document of a branch: path, displayName
 *   branch   t       leaf:HASH                  document of a leaf: displayName, tsuid; 4 bytes, hash of the name
 *   tree 01  t       tree_collision:TSUID       TSUID in hexadecimal digits of the series that was there before
 *   tree 02  t       tree_not_matched:TSUID     text
 *
 * tree is the id of a tree, 2 bytes; branch is a tree and for each level below the root the 4-byte hash of its name. The root's branch is in the
 * row of its tree.
 *
 * OpenTSDB compares the bytes of documents. Those of a rule have their last four members in an order that its Java machine decides; this one is
 * that of its manual.
 *
 * Format     docs/OPENTSDB.md, section 10.9
 * Threads    pure functions
 * Not here   what rules do (tsd/meta/tree_rules.h)
 */
#ifndef STORAGE_HBASE_TREETABLE_H
#define STORAGE_HBASE_TREETABLE_H

#include "storage/hbase/document.h"

#define STO_HBASE_TREE_FAMILY      TS_SLICE_LIT("t")
#define STO_HBASE_TREE_DEFINITION  TS_SLICE_LIT("tree")
#define STO_HBASE_TREE_RULE        "tree_rule:"
#define STO_HBASE_TREE_BRANCH      TS_SLICE_LIT("branch")
#define STO_HBASE_TREE_LEAF        "leaf:"
#define STO_HBASE_TREE_COLLISION   TS_SLICE_LIT("tree_collision:")
#define STO_HBASE_TREE_NOT_MATCHED TS_SLICE_LIT("tree_not_matched:")
#define STO_HBASE_TREE_BYTES       2 /* of a tree's id */
#define STO_HBASE_BRANCH_BYTES     4 /* of each level of a branch's id */
#define STO_HBASE_TREE_RANK_MAX    65535
#define STO_HBASE_RULE_BYTES                                                                                 \
    (sizeof(STO_HBASE_TREE_RULE) + 2 * 5 + 1) /* of a qualifier, with the zero at its end */

/* Members of a definition: name, description, notes, strictMatch, created (seconds), enabled, storeFailures. */
extern const struct sto_hbase_field sto_hbase_tree_fields[];
/* Members of a rule: type, field, regex, separator, description, notes, level, order, treeId, customField, regexGroupIdx, displayFormat. */
extern const struct sto_hbase_field sto_hbase_rule_fields[];
/* Members of a leaf: displayName, tsuid. */
extern const struct sto_hbase_field sto_hbase_leaf_fields[];

/** Write the qualifier of a rule, with a zero at its end; level and order are 0 to STO_HBASE_TREE_RANK_MAX. Returns its length. */
size_t sto_hbase_rule_qualifier(int64_t level, int64_t order, char out[STO_HBASE_RULE_BYTES]);
/** Parse the qualifier of a rule. 0; TS_EPARSE: it is none. */
int sto_hbase_rule_parse(struct ts_slice qualifier, int64_t *out_level, int64_t *out_order);

#endif
