/*
 * versions.c - see versions.h.
 */
#include "tsd/ingest/versions.h"

#include "base/mem.h"
#include "storage/versioned.h"
#include "tsd/ingest/ingest.h"

#include <string.h>

#define METRICS_KNOWN 64   /* direct mapped, by id */
#define SERIES_KNOWN  1024 /* direct mapped, by number */
#define MAX_TAGS      255

/* Whether a metric keeps versions. */
struct metric_known {
    uint32_t end; /* id + 1; 0 = none */
    uint32_t no;  /* number of the declaration */
    uint8_t n;    /* versions that are kept; 0 = it keeps none */
};

/* The internal series of a series. */
struct series_known {
    uint32_t end; /* number + 1; 0 = none */
    const struct sto_series *writes;
};

struct tsd_versions {
    uint64_t epoch; /* of the store when the declarations were looked at */
    int64_t now_us; /* of the running turn; never goes back */
    int64_t last_delete_ms;
    struct metric_known metrics[METRICS_KNOWN];
    struct series_known series[SERIES_KNOWN];
};

void tsd_versions_free(struct tsd_versions *v)
{
    ts_free(v);
}

void tsd_versions_forget(struct tsd_ingest *in)
{
    if (!in->versions)
        return;
    memset(in->versions->metrics, 0, sizeof in->versions->metrics);
    memset(in->versions->series, 0, sizeof in->versions->series);
}

static void look_at_clock(struct tsd_versions *v)
{
    int64_t now_us = ts_clock_us();
    v->now_us = now_us > v->now_us ? now_us : v->now_us;
}

void tsd_versions_begin(struct tsd_ingest *in)
{
    uint64_t epoch = in->declared ? sto_versioned_epoch(in->declared) : 0;
    if (!epoch)
        return;
    if (!in->versions)
        in->versions = ts_xcalloc(1, sizeof *in->versions);
    if (in->versions->epoch != epoch)
        tsd_versions_forget(in);
    in->versions->epoch = epoch;
    look_at_clock(in->versions);
}

static const struct metric_known *metric_of(struct tsd_ingest *in, uint32_t metric)
{
    struct metric_known *k = &in->versions->metrics[metric % METRICS_KNOWN];
    if (k->end != metric + 1) {
        struct sto_versioned v;
        sto_versioned_find(in->declared, sto_uid_name(in->cat, STO_UID_METRIC, metric), &v);
        *k = (struct metric_known){.end = metric + 1, .no = v.no, .n = (uint8_t)v.n};
    }
    return k;
}

/* Find or create an internal series of a series. */
static int resolve(struct tsd_ingest *in, const struct metric_known *k, enum sto_versioned_what what,
                   const struct sto_series *series, const struct sto_series **out)
{
    struct sto_tag_text tags[MAX_TAGS];
    struct sto_versioned v = {
        .metric = sto_uid_name(in->cat, STO_UID_METRIC, series->metric), .n = k->n, .no = k->no};
    for (unsigned i = 0; i < series->n_tags; i++)
        tags[i] = (struct sto_tag_text){sto_uid_name(in->cat, STO_UID_TAGK, series->tags[i].k),
                                        sto_uid_name(in->cat, STO_UID_TAGV, series->tags[i].v)};
    ts_buf_clear(&in->internal);
    sto_versioned_name(&v, what, &in->internal);
    return tsd_ingest_internal(in, ts_buf_get(&in->internal), v.metric, tags, series->n_tags, out);
}

static int writes_of(struct tsd_ingest *in, const struct metric_known *k, const struct sto_series *series,
                     const struct sto_series **out)
{
    struct series_known *s = &in->versions->series[series->id % SERIES_KNOWN];
    if (s->end == series->id + 1) {
        *out = s->writes;
        return 0;
    }
    TS_TRY(resolve(in, k, STO_VERSIONED_WRITES, series, out));
    *s = (struct series_known){.end = series->id + 1, .writes = *out};
    return 0;
}

/* Make room for n operations of a series. */
static int make_room(struct tsd_ingest *in, const struct sto_series *series, uint32_t n)
{
    unsigned slot = tsd_ingest_slot(in, series);
    const struct sto_batch *b = slot ? in->open[slot - 1] : NULL;
    if (b && STO_BATCH_POINTS - b->n >= n)
        return 0;
    return tsd_ingest_open_room(in, series, n) ? 0 : tsd_ingest_refusal(in);
}

/* Append cells of an internal series: a stamp and its value, as often as there are values. There is room. */
static int append(struct tsd_ingest *in, const struct sto_series *series, int64_t ts_ms, unsigned keep,
                  const struct sto_cells *values)
{
    for (uint32_t i = 0; i < values->n; i++) {
        TS_TRY(tsd_ingest_append(in, series, ts_ms, in->versions->now_us, sto_stamp_flags(keep)));
        TS_TRY(tsd_ingest_append(in, series, ts_ms, values->m[i],
                                 values->meta[i] | (uint32_t)STO_OP_KEEP << STO_META_OP_SHIFT));
    }
    return 0;
}

int tsd_versions_put(struct tsd_ingest *in, const struct sto_series *series, int64_t ts_ms, int64_t m,
                     uint32_t flags)
{
    const struct metric_known *k = metric_of(in, series->metric);
    const struct sto_series *writes;
    if (!k->n)
        return 0;
    TS_TRY(writes_of(in, k, series, &writes));
    /* room for both, wherever they are; opening the second batch leaves the first one open unless it is the same */
    TS_TRY(make_room(in, series, 3));
    TS_TRY(make_room(in, writes, 3));
    TS_TRY(append(in, writes, ts_ms, k->n, &(struct sto_cells){.n = 1, .meta = &flags, .m = &m}));
    TS_TRY(tsd_ingest_append(in, series, ts_ms, m, flags));
    return 1;
}

int tsd_versions_delete(struct tsd_ingest *in, const struct sto_series *series, int64_t from_ms,
                        int64_t to_ms)
{
    const struct metric_known *k = metric_of(in, series->metric);
    const struct sto_series *deletes;
    struct tsd_versions *v = in->versions;
    uint32_t meta[2] = {sto_meta_flags(STO_OP_KEEP, TS_NUM_INT, 0, true), meta[0]};
    int64_t range[2] = {from_ms, to_ms};
    if (!k->n)
        return 0;
    TS_TRY(resolve(in, k, STO_VERSIONED_DELETES, series, &deletes));
    TS_TRY(make_room(in, series, 5));
    TS_TRY(make_room(in, deletes, 5));
    look_at_clock(v);
    v->now_us++; /* what was put before is older, what is put afterwards is newer */
    int64_t ts_ms = v->now_us / 1000;
    ts_ms = ts_ms > v->last_delete_ms ? ts_ms : v->last_delete_ms + 1;
    v->last_delete_ms = ts_ms;
    TS_TRY(
        append(in, deletes, ts_ms, STO_VERSIONS_MAX, &(struct sto_cells){.n = 2, .meta = meta, .m = range}));
    v->now_us++;
    TS_TRY(tsd_ingest_append(in, series, from_ms, to_ms, sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, false)));
    return 1;
}

bool tsd_versions_refuse(struct tsd_ingest *in, const struct sto_series *series, const char *so)
{
    if (!metric_of(in, series->metric)->n)
        return false;
    ts_buf_clear(&in->msg);
    ts_buf_printf(&in->msg, "this metric keeps versions, %s", so);
    return true;
}
