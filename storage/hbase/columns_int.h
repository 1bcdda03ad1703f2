/*
 * columns_int.h - points of a row between parsing (columns.c) and the result (columns_merge.c).
 */
#ifndef STORAGE_HBASE_COLUMNS_INT_H
#define STORAGE_HBASE_COLUMNS_INT_H

#include "storage/hbase/columns.h"

/** Sort the entries of c, report duplicates, and fill c->cells and the counts of duplicates. Errors as
 * sto_hbase_columns_decode. */
int sto_hbase_columns__merge(struct sto_hbase_columns *c, const struct sto_hbase_cell *cells,
                             const struct sto_hbase_visitor *visitor, struct ts_error *err);

#endif
