/*
 * table.c - all tag filters, and filters from text.
 */
#include "query/filters/filter.h"

#include "base/text.h"
#include "base/near.h"

/* The types, sorted by name: each is a struct qry_filter_type qry_filter_<name> in a file of this folder. */
#define FILTERS(ROW)                                                                                         \
    ROW(iliteral_or)                                                                                         \
    ROW(iwildcard)                                                                                           \
    ROW(literal_or)                                                                                          \
    ROW(not_iliteral_or)                                                                                     \
    ROW(not_literal_or)                                                                                      \
    ROW(regexp)                                                                                              \
    ROW(wildcard)

#define DECLARE(name) extern const struct qry_filter_type qry_filter_##name;
#define ADDRESS(name) &qry_filter_##name,
FILTERS(DECLARE)
static const struct qry_filter_type *const table[] = {FILTERS(ADDRESS) NULL};

const struct qry_filter_type *const *qry_filter_table(void)
{
    return table;
}

const struct qry_filter_type *qry_filter_find(struct ts_slice name)
{
    for (size_t i = 0; table[i]; i++)
        if (ts_slice_is_nocase(name, table[i]->name))
            return table[i];
    return NULL;
}

static int no_such_type(struct ts_slice type, bool compat, struct ts_error *err)
{
    struct ts_near near;
    int rc = ts_error_set(err, TS_EINVAL, "Could not find a tag value filter of the type: %.*s",
                          TS_SHOWN(type, 120));
    ts_near_init(&near, type);
    for (size_t i = 0; !compat && table[i]; i++)
        ts_near_see(&near, ts_slice_str(table[i]->name));
    ts_near_hint(&near, err);
    return rc;
}

int qry_filter_make(struct ts_slice tagk, struct ts_slice type, struct ts_slice text, bool group_by,
                    bool compat, struct ts_arena *arena, struct qry_filter *out, struct ts_error *err)
{
    *out =
        (struct qry_filter){.type = qry_filter_find(type), .tagk = tagk, .text = text, .group_by = group_by};
    if (!tagk.n)
        return ts_error_set(err, TS_EINVAL, "Tag key cannot be null or empty");
    if (!out->type)
        return no_such_type(type, compat, err);
    return out->type->prepare(out, arena, err);
}

int qry_filter_parse(struct ts_slice tagk, struct ts_slice expr, bool group_by, bool compat,
                     struct ts_arena *arena, struct qry_filter *out, struct ts_error *err)
{
    const char *open = expr.n ? memchr(expr.p, '(', expr.n) : NULL;
    if (open) {
        if (expr.p[expr.n - 1] != ')')
            return ts_error_set(err, TS_EINVAL, "Invalid filter, missing the closing parenthesis: %.*s",
                                (int)expr.n, expr.p);
        struct ts_slice type = {expr.p, (size_t)(open - expr.p)};
        struct ts_slice text = {open + 1, expr.n - type.n - 2};
        return qry_filter_make(tagk, type, text, group_by, compat, arena, out, err);
    }
    bool star = expr.n && memchr(expr.p, '*', expr.n);
    struct ts_slice type = star ? TS_SLICE_LIT("iwildcard") : TS_SLICE_LIT("literal_or");
    TS_TRY(qry_filter_make(tagk, type, expr, group_by, compat, arena, out, err));
    out->shorthand = true;
    return 0;
}
