/*
 * metatable.c - documents of the table of series.
 */
#include "storage/hbase/metatable.h"

const struct sto_hbase_field sto_hbase_meta_fields[] = {
    {"tsuid", STO_HBASE_TEXT}, {"displayName", STO_HBASE_TEXT}, {"description", STO_HBASE_TEXT},
    {"notes", STO_HBASE_TEXT}, {"created", STO_HBASE_INTEGER},  {"custom", STO_HBASE_PROPERTIES},
    {"units", STO_HBASE_TEXT}, {"dataType", STO_HBASE_TEXT},    {"retention", STO_HBASE_INTEGER},
    {"max", STO_HBASE_NUMBER}, {"min", STO_HBASE_NUMBER},       {NULL, STO_HBASE_TEXT},
};
