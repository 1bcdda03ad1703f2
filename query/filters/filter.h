/*
 * filter.h - tag filters: conditions on the value of one tag key.
 *
 * Every filter, negated or not, requires the series to have the key. The catalog's sets answer filters that list their values
 * (by_values); the others are matched against each distinct value once.
 *
 * Threads    a prepared filter is constant; a state from open belongs to one thread
 * Source     docs/OPENTSDB.md, section 4.3; patterns follow OpenTSDB's rules exactly
 */
#ifndef QUERY_FILTERS_FILTER_H
#define QUERY_FILTERS_FILTER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

struct qry_budget; /* query/limit.h */
struct qry_filter_type;

/* One filter of a sub query; memory lives in the spec's arena. */
struct qry_filter {
    const struct qry_filter_type *type;
    struct ts_slice tagk; /* tag key */
    struct ts_slice text; /* the text in the parentheses */
    bool group_by;        /* the query also groups by this key */
    bool shorthand;       /* written without a type: host=web* */
    struct ts_slice
        *values; /* [n_values] the names that the types of lists have; in lower case if they ignore it */
    size_t n_values;
    bool any;        /* matches every value */
    const void *own; /* of the type, made by prepare; NULL: nothing */
};

/* A type of filter; table.c lists them. Each is defined in a file of its own or with its relatives, as
 * `const struct qry_filter_type qry_filter_<name>`. */
struct qry_filter_type {
    const char *name;
    bool by_values; /* values are names of tag values: the catalog finds them */
    bool negate;    /* by_values: matches the values that are not listed */
    /* Parse f->text. TS_EINVAL with text. */
    int (*prepare)(struct qry_filter *f, struct ts_arena *arena, struct ts_error *err);
    /* Create the state for match, within the limits of a run; NULL: the filter itself is the state. */
    int (*open)(const struct qry_filter *f, struct qry_budget *budget, void **out_state,
                struct ts_error *err);
    bool (*match)(void *state, struct ts_slice value);
    /* Free the state and return an error that occurred in match. Not NULL if open is not. */
    int (*close)(void *state, struct ts_error *err);
    const char *help;    /* one sentence */
    const char *example; /* as written in a query */
};

/** Type by name, any case; NULL if there is none. */
const struct qry_filter_type *qry_filter_find(struct ts_slice name);
/** All types, sorted by name, ended by NULL. */
const struct qry_filter_type *const *qry_filter_table(void);
/** Filter from an expression of a URI: "*", "web01|web02", "web*", "type(text)". TS_EINVAL with OpenTSDB's
 * texts; without compat the type that was probably meant is named. */
int qry_filter_parse(struct ts_slice tagk, struct ts_slice expr, bool group_by, bool compat,
                     struct ts_arena *arena, struct qry_filter *out, struct ts_error *err);
/** Filter of a type by name, from a JSON body. */
int qry_filter_make(struct ts_slice tagk, struct ts_slice type, struct ts_slice text, bool group_by,
                    bool compat, struct ts_arena *arena, struct qry_filter *out, struct ts_error *err);

/** Parts of text between separators, in the arena; at least one. Internal to the folder. */
struct ts_slice *qry_filter__split(struct ts_slice text, char sep, struct ts_arena *arena, size_t *out_n);
/** The same texts in lower case, letter by letter, in the arena. Internal to the folder. */
void qry_filter__lower(struct ts_slice *texts, size_t n, struct ts_arena *arena);
/** Match a value in lower case. Internal to the folder. */
bool qry_filter__match_lower(bool (*match)(void *state, struct ts_slice value), void *state,
                             struct ts_slice value);

#endif
