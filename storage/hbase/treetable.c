/*
 * treetable.c - cells of the table of trees.
 */
#include "storage/hbase/treetable.h"

#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct sto_hbase_field sto_hbase_tree_fields[] = {
    {"name", STO_HBASE_TEXT},           {"description", STO_HBASE_TEXT}, {"notes", STO_HBASE_TEXT},
    {"strictMatch", STO_HBASE_TRUTH},   {"created", STO_HBASE_INTEGER},  {"enabled", STO_HBASE_TRUTH},
    {"storeFailures", STO_HBASE_TRUTH}, {NULL, STO_HBASE_TEXT},
};

const struct sto_hbase_field sto_hbase_rule_fields[] = {
    {"type", STO_HBASE_TEXT},
    {"field", STO_HBASE_TEXT},
    {"regex", STO_HBASE_TEXT},
    {"separator", STO_HBASE_TEXT},
    {"description", STO_HBASE_TEXT},
    {"notes", STO_HBASE_TEXT},
    {"level", STO_HBASE_INTEGER},
    {"order", STO_HBASE_INTEGER},
    {"treeId", STO_HBASE_INTEGER},
    {"customField", STO_HBASE_TEXT},
    {"regexGroupIdx", STO_HBASE_INTEGER},
    {"displayFormat", STO_HBASE_TEXT},
    {NULL, STO_HBASE_TEXT},
};

const struct sto_hbase_field sto_hbase_leaf_fields[] = {
    {"displayName", STO_HBASE_TEXT}, {"tsuid", STO_HBASE_TEXT}, {NULL, STO_HBASE_TEXT}};

size_t sto_hbase_rule_qualifier(int64_t level, int64_t order, char out[STO_HBASE_RULE_BYTES])
{
    return (size_t)snprintf(out, STO_HBASE_RULE_BYTES, STO_HBASE_TREE_RULE "%u:%u", (unsigned)level & 0xffff,
                            (unsigned)order & 0xffff);
}

int sto_hbase_rule_parse(struct ts_slice qualifier, int64_t *out_level, int64_t *out_order)
{
    char again[STO_HBASE_RULE_BYTES];
    size_t n = sizeof STO_HBASE_TREE_RULE - 1;
    if (qualifier.n <= n || memcmp(qualifier.p, STO_HBASE_TREE_RULE, n) != 0)
        return TS_EPARSE;
    struct ts_slice rest = {qualifier.p + n, qualifier.n - n}, level;
    const char *colon = memchr(rest.p, ':', rest.n);
    if (!colon)
        return TS_EPARSE;
    level = (struct ts_slice){rest.p, (size_t)(colon - rest.p)};
    rest = (struct ts_slice){colon + 1, rest.n - level.n - 1};
    if (ts_num_parse_int(level, out_level, NULL) < 0 || ts_num_parse_int(rest, out_order, NULL) < 0 ||
        *out_level < 0 || *out_level > STO_HBASE_TREE_RANK_MAX || *out_order < 0 ||
        *out_order > STO_HBASE_TREE_RANK_MAX)
        return TS_EPARSE;
    n = sto_hbase_rule_qualifier(*out_level, *out_order, again);
    return ts_slice_eq(qualifier, (struct ts_slice){again, n}) ? 0 : TS_EPARSE;
}
