/*
 * annotation.c - places and documents of annotations.
 */
#include "storage/hbase/annotation.h"

#include "storage/hbase/bigendian.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/rowkey.h"

const struct sto_hbase_field sto_hbase_annotation_fields[] = {
    {"tsuid", STO_HBASE_GIVEN},      {"startTime", STO_HBASE_INTEGER}, {"endTime", STO_HBASE_INTEGER},
    {"description", STO_HBASE_TEXT}, {"notes", STO_HBASE_TEXT},        {"custom", STO_HBASE_PROPERTIES},
    {NULL, STO_HBASE_TEXT},
};

static bool is_ms(int64_t time)
{
    return time > UINT32_MAX;
}

int sto_hbase_annotation_place(int64_t start, uint32_t *out_base_s, uint8_t *qualifier, struct ts_error *err)
{
    TS_TRY(sto_hbase_check_time(is_ms(start) || start < 0 ? start : start * 1000, err));
    uint32_t start_s = (uint32_t)(is_ms(start) ? start / 1000 : start);
    *out_base_s = start_s - start_s % STO_HBASE_ROW_S;
    int64_t shown = start % 1000 ? start : start / 1000;
    qualifier[0] = 1;
    if (is_ms(shown)) {
        sto_hbase_put(qualifier + 1, (uint64_t)(shown - (int64_t)*out_base_s * 1000), 4);
        return 5;
    }
    sto_hbase_put(qualifier + 1, (uint64_t)(shown % STO_HBASE_ROW_S), 2);
    return 3;
}
