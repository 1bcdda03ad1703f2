/*
 * columns_int.h - points of a row between parsing (columns.c) and the result (columns_merge.c).
 */
#ifndef STORAGE_HBASE_COLUMNS_INT_H
#define STORAGE_HBASE_COLUMNS_INT_H

#include "storage/hbase/columns.h"

/* A point as it stands in a cell. */
struct sto_hbase_entry {
    uint32_t off_ms : 22; /* below 3,600,000 */
    uint32_t ms : 1;      /* the qualifier is in ms */
    uint32_t is_float : 1;
    uint32_t length : 4; /* bytes of the value: 1, 2, 4, 8 */
    uint32_t cell;       /* index of its cell */
    uint64_t raw;        /* integers with their sign, floats as the bits of their length */
};

/** Sort the entries of c, report duplicates, and fill c->cells and the counts of duplicates. Errors as
 * sto_hbase_columns_decode. */
int sto_hbase_columns__merge(struct sto_hbase_columns *c, const struct sto_hbase_cell *cells,
                             const struct sto_hbase_visitor *visitor, struct ts_error *err);

#endif
