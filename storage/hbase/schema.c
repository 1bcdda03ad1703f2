/*
 * schema.c - checks the widths of ids and salt.
 */
#include "storage/hbase/schema.h"

#include <stddef.h>

uint64_t sto_hbase_width_max(unsigned width)
{
    return width >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * width) - 1;
}

uint32_t sto_hbase_buckets(const struct sto_hbase_schema *s)
{
    return s->salt_width ? s->salt_buckets : 1;
}

int sto_hbase_schema_check(const struct sto_hbase_schema *s, struct ts_error *err)
{
    const struct {
        const char *key;
        uint8_t width;
    } ids[] = {{"hbase_metric_width", s->metric_width},
               {"hbase_tagk_width", s->tagk_width},
               {"hbase_tagv_width", s->tagv_width}};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (ids[i].width < 1 || ids[i].width > STO_HBASE_MAX_WIDTH)
            return ts_error_set(err, TS_EINVAL, "%s is %u, but an id has 1 to 8 bytes", ids[i].key,
                                ids[i].width);
    if (s->salt_width > STO_HBASE_MAX_WIDTH)
        return ts_error_set(err, TS_EINVAL, "hbase_salt_width is %u, but a salt has 0 to 8 bytes",
                            s->salt_width);
    if (s->salt_width == 0)
        return 0;
    if (s->salt_buckets < 1 || s->salt_buckets > INT32_MAX)
        return ts_error_set(err, TS_EINVAL, "hbase_salt_buckets is %u, but it must be 1 to 2147483647",
                            s->salt_buckets);
    /* salts are 0 to buckets - 1 */
    if (s->salt_buckets - 1 > sto_hbase_width_max(s->salt_width))
        return ts_error_set(
            err, TS_EINVAL, "hbase_salt_buckets is %u, but hbase_salt_width = %u has room for %llu",
            s->salt_buckets, s->salt_width, (unsigned long long)sto_hbase_width_max(s->salt_width) + 1);
    return 0;
}
