/*
 * column.h - names of the value columns in a table of totals.
 *
 * Threads    any
 */
#ifndef QUERY_EXECUTION_COLUMN_H
#define QUERY_EXECUTION_COLUMN_H

#include "query/query.h"

/** Concatenate two texts with sep between them; memory of the arena. */
struct ts_slice qry_column_join(struct ts_arena *arena, struct ts_slice a, const char *sep,
                                struct ts_slice b);
/** Name of the column of a sub query: "web.hits"; "avg web.hits" if several columns have the same metric;
 * with "{host=web1}" appended if their filters differ; with a number if even these are equal. The text
 * belongs to the spec or the arena. */
struct ts_slice qry_column_name(const struct qry_spec *spec, size_t sub, struct ts_arena *arena);

#endif
