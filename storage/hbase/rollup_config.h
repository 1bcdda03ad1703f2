/*
 * rollup_config.h - OpenTSDB's configuration of rollups: intervals with their tables, functions with their ids.
 *
 * It says where a rollup series, which tsd stores under an internal metric (storage/internal.h), has its points in HBase:
 *
 *   1h-sum    `table` of the interval 1h, cells of the function sum
 *   1h-sum:   the same in its `preAggregationTable`; a tag names the aggregator over series
 *   :         `preAggregationTable` of the default interval, in rows of an hour and with cells as the data table has them
 *
 * Threads    constant once parsed
 * Source     docs/OPENTSDB.md, section 10.7
 * Not here   keys and cells (rollup.h), which points are accepted (tsd/ingest/rollups.h)
 */
#ifndef STORAGE_HBASE_ROLLUP_CONFIG_H
#define STORAGE_HBASE_ROLLUP_CONFIG_H

#include "storage/hbase/rollup.h"

#define STO_HBASE_ROLLUP_INTERVALS 16 /* most intervals, without the default one */

/* An interval, but for the default one. */
struct sto_hbase_rollup_interval {
    char text[16];                 /* as given, such as "1h" */
    struct sto_hbase_rollup shape; /* interval and span of its rows */
    char *table, *pre_table;       /* owned: of rollups; of rollups of pre-aggregates. They may be the same */
};
struct sto_hbase_rollups {
    struct sto_hbase_rollup_interval intervals[STO_HBASE_ROLLUP_INTERVALS];
    size_t n;        /* of them */
    char *pre_table; /* owned: of pre-aggregates without interval */
    char *
        functions[STO_HBASE_MAX_FUNCTION + 1]; /* owned: names by id, in small letters; NULL: there is none */
    char *tag_key;   /* owned: key of the tag that names the aggregator of a pre-aggregate */
    char *raw_value; /* owned: its value for rollups of points */
};

/**
 * Parse {"aggregationIds":{"sum":0,..},"intervals":[{"table":..,"preAggregationTable":..,"interval":"1h","rowSpan":"1d"},..]}. The table of the default
 * interval is not used, as in OpenTSDB. Other members (delaySla) are ignored.
 *
 * @param tag_key, raw_value  copied
 * @param out  [out] released with sto_hbase_rollups_release, also after an error
 * @return 0
 *         TS_EINVAL  one sentence: something is missing, has the wrong type, occurs twice, or its times are not those of OpenTSDB's rows
 *         TS_EPARSE  it is not JSON; TS_ELIMIT: it has too many values
 */
int sto_hbase_rollups_parse(struct ts_slice json, const char *tag_key, const char *raw_value,
                            struct sto_hbase_rollups *out, struct ts_error *err);
/** Free what it owns; idempotent. */
void sto_hbase_rollups_release(struct sto_hbase_rollups *r);

/* Where the points of an internal metric of rollups are. */
struct sto_hbase_rollup_place {
    const char *table;                    /* borrowed from the configuration */
    const struct sto_hbase_rollup *shape; /* the same; NULL: rows of an hour with cells of points */
    uint8_t function;                     /* id, of cells of rollups */
    const char *function_name;            /* the same; NULL without a shape */
    bool pre;                             /* of pre-aggregates */
    bool shared; /* rollups of points and of pre-aggregates are in the same table, and differ by their tag */
};
/**
 * Find the place of an internal metric.
 *
 * @param r       NULL: nothing is configured
 * @param detail  sto_internal.detail of its name: "1h-sum", "1h-sum:", ":"
 * @return 0
 *         TS_EINVAL  one sentence: the interval or the function is not configured
 */
int sto_hbase_rollups_find(const struct sto_hbase_rollups *r, struct ts_slice detail,
                           struct sto_hbase_rollup_place *out, struct ts_error *err);
/** Does a series with this value of tag_key (NULL slice: it has no such tag) belong to pre-aggregates? */
bool sto_hbase_rollups_is_pre(const struct sto_hbase_rollups *r, struct ts_slice value);

#endif
