/*
 * column.h - what the columns of values of a table of totals are called.
 *
 * Threads    any
 */
#ifndef QUERY_EXECUTION_COLUMN_H
#define QUERY_EXECUTION_COLUMN_H

#include "query/query.h"

/** Two texts with sep between, in the arena. */
struct ts_slice qry_column_join(struct ts_arena *arena, struct ts_slice a, const char *sep,
                                struct ts_slice b);
/** "web.hits"; "avg web.hits" where several columns have the metric; with "{host=web1}" where columns have different filters; with a
 * number where all of this is the same. The text is the spec's or the arena's. */
struct ts_slice qry_column_name(const struct qry_spec *spec, size_t sub, struct ts_arena *arena);

#endif
