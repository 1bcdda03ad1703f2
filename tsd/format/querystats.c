/*
 * querystats.c - any, while nobody writes the stats.
 */
#include "tsd/format/out.h"

static void put_ms(struct ts_json *j, const char *key, int64_t ns)
{
    ts_json_member_double(j, key, (double)ns / 1e6);
}

/* Our filters choose series before anything is read: what is read passes them. */
static void put_read(struct ts_json *j, uint64_t n_points, uint64_t n_rows)
{
    ts_json_member_count(j, "dpsPostFilter", n_points);
    ts_json_member_count(j, "dpsPreFilter", n_points);
    ts_json_member_count(j, "rowsPostFilter", n_rows);
    ts_json_member_count(j, "rowsPreFilter", n_rows);
}

static void put_names(struct ts_json *j)
{
    ts_json_member_count(j, "successfulScan", 1);
    ts_json_member_count(j, "uidPairsResolved", 0); /* ids and names are in memory */
}

static void put_scanner(struct ts_json *j, const struct qry_stats *s, const struct qry_sub_stats *sub)
{
    ts_json_member_obj(j, "scannerStats");
    ts_json_member_obj(j, "scannerIdx_00");
    put_ms(j, "compactionTime", 0);
    put_ms(j, "hbaseTime", s->read_ns);
    put_read(j, sub->n_points, sub->n_rows);
    put_ms(j, "scannerTime", s->read_ns);
    put_ms(j, "scannerUidToStringTime", 0);
    put_names(j);
    ts_json_obj_end(j);
    ts_json_obj_end(j);
}

void tsd_querystats_sub(struct ts_json *j, const struct qry_stats *s, size_t index)
{
    const struct qry_sub_stats *sub = &s->subs[index];
    ts_json_obj(j);
    put_ms(j, "aggregationTime", s->group_ns);
    put_ms(j, "avgHBaseTime", s->read_ns);
    put_ms(j, "avgScannerTime", s->read_ns);
    put_ms(j, "avgScannerUidToStringTime", 0);
    ts_json_member_count(j, "emittedDPs", sub->n_out);
    put_ms(j, "groupByTime", 0);
    put_ms(j, "maxHBaseTime", s->read_ns);
    put_ms(j, "maxScannerUidToStringTime", 0);
    ts_json_member_count(j, "nanDPs", sub->n_nan);
    ts_json_member_count(j, "queryIndex", index);
    put_ms(j, "queryScanTime", s->read_ns);
    put_read(j, sub->n_points, sub->n_rows);
    put_ms(j, "saltScannerMergeTime", 0);
    put_scanner(j, s, sub);
    put_ms(j, "serializationTime", s->emit_ns);
    put_names(j);
    put_ms(j, "uidToStringTime", s->plan_ns);
    ts_json_member_count(j, "tsdSeries", sub->n_series);
    ts_json_member_count(j, "tsdGroups", sub->n_groups);
    ts_json_obj_end(j);
}

static struct qry_sub_stats total(const struct qry_stats *s)
{
    struct qry_sub_stats t = {.n_series = 0};
    for (size_t i = 0; i < s->n_subs; i++) {
        t.n_series += s->subs[i].n_series;
        t.n_groups += s->subs[i].n_groups;
        t.n_rows += s->subs[i].n_rows;
        t.n_points += s->subs[i].n_points;
        t.n_out += s->subs[i].n_out;
        t.n_nan += s->subs[i].n_nan;
    }
    return t;
}

void tsd_querystats_all(struct ts_json *j, const struct qry_stats *s, bool partial, int64_t total_ns)
{
    struct qry_sub_stats t = total(s);
    ts_json_obj(j);
    put_ms(j, "avgAggregationTime", s->group_ns);
    put_ms(j, "avgHBaseTime", s->read_ns);
    put_ms(j, "avgQueryScanTime", s->read_ns);
    put_ms(j, "avgScannerTime", s->read_ns);
    put_ms(j, "avgScannerUidToStringTime", 0);
    put_ms(j, "avgSerializationTime", s->emit_ns);
    ts_json_member_count(j, "emittedDPs", t.n_out);
    put_ms(j, "maxAggregationTime", s->group_ns);
    put_ms(j, "maxHBaseTime", s->read_ns);
    put_ms(j, "maxQueryScanTime", s->read_ns);
    put_ms(j, "maxScannerUidToStringTime", 0);
    put_ms(j, "maxSerializationTime", s->emit_ns);
    put_ms(j, "maxUidToStringTime", s->plan_ns);
    ts_json_member_count(j, "nanDPs", t.n_nan);
    if (partial)
        ts_json_member_bool(j, "partial", true);
    put_ms(j, "processingPreWriteTime", s->plan_ns + s->read_ns + s->group_ns);
    put_read(j, t.n_points, t.n_rows);
    put_names(j);
    if (total_ns >= 0)
        put_ms(j, "totalTime", total_ns);
    ts_json_member_count(j, "tsdSeries", t.n_series);
    ts_json_member_count(j, "tsdGroups", t.n_groups);
    for (size_t i = 0; i < s->n_subs; i++) {
        char key[40];
        (void)snprintf(key, sizeof(key), "queryIdx_%02zu", i);
        ts_json_key(j, key);
        tsd_querystats_sub(j, s, i);
    }
    ts_json_obj_end(j);
}
