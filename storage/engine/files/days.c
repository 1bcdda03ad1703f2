/*
 * days.c - see days.h.
 */
#include "storage/engine/files/days.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/files/days_int.h"
#include "storage/engine/files/sst_int.h"

#include <string.h>

#define LOOK_ROWS 1024u /* rows between two checks of cancel */
#define DAYS_MEMO 64u   /* days that are looked up in the zone once for all series */

/* --- which days they are --- */

bool sto_days__zone_put(const struct sto_sst *sst, struct ts_buf *out)
{
    const struct sto_sst_info *info = &sst->info;
    const char *name = ts_tz_default() ? ts_tz_name(ts_tz_default()) : "UTC";
    struct sto_day day;
    uint8_t bytes[8];
    uint32_t crc = 0;
    if (info->n_rows == 0)
        return false;
    for (int32_t hour = sto_hour(info->min_ms), last = sto_hour(info->max_ms); hour <= last; hour = day.to) {
        if (!sto_day_of(hour, &day))
            return false;
        ts_st32(bytes, (uint32_t)day.from);
        ts_st32(bytes + 4, (uint32_t)day.to);
        crc = ts_crc32c(crc, bytes, sizeof bytes);
    }
    ts_st32(bytes, sst->rows_crc);
    ts_st32(bytes + 4, crc);
    (void)ts_buf_append(out, bytes, STO_DAYS__ZONE_NAME);
    (void)ts_buf_append(out, name, strlen(name));
    if (out->failed)
        TS_BUG("no memory for the name of a zone");
    return true;
}

/* --- writing --- */

/* Makes the rows of a file of days. */
struct maker {
    struct sto_sst *sst;               /* borrowed */
    struct sto_sst_cur *sums, *points; /* sums NULL: the file has no summaries */
    struct sto_sst_writer *w;          /* takes the rows, or */
    struct sto_sst_cur *check;         /* has the rows that are expected; one of the two is NULL */
    uint64_t n_compared;               /* rows of it */
    struct sto_key key;                /* of the open day: series and first hour */
    struct sto_day day;                /* the open day; from == to: none is open */
    struct sto_summary sum;            /* of it so far */
    bool mixed;                        /* it has no summary */
    struct sto_day memo[DAYS_MEMO];    /* days by their number, found before; from == to: none */
};

/* Compare the next row of the file with what its points say. */
static int compare(struct maker *k, const struct sto_summary *want, struct ts_error *err)
{
    int rc = k->n_compared++ ? sto_sst_cur_next(k->check, err) : 1;
    TS_TRY(rc);
    const struct sto_summary *is = rc ? sto_sst_cur_summary(k->check) : NULL;
    bool same = rc == 1 && sto_key_cmp(sto_sst_cur_key(k->check), &k->key) == 0 && !is == !want;
    if (same && is)
        same = sto_summary_same(is, want);
    return same ? 0
                : ts_error_set(err, TS_ECORRUPT,
                               "day summaries do not agree with the points: metric %u series %u from hour %d",
                               k->key.metric, k->key.series, k->key.hour);
}

static int end_day(struct maker *k, struct ts_error *err)
{
    if (k->day.from == k->day.to)
        return 0;
    k->day.to = k->day.from;
    const struct sto_summary *sum = k->mixed ? NULL : &k->sum;
    return k->w ? sto_sst__write_sum(k->w, &k->key, sum, sum ? sto_sst__exponent(sum) : 0, err)
                : compare(k, sum, err);
}

int sto_sst__summary_at(struct sto_sst_cur *sums, struct sto_sst_cur *points, const struct sto_key *key,
                        struct sto_summary *out, bool *has, struct ts_error *err)
{
    const struct sto_summary *sum = sums ? sto_sst_cur_summary(sums) : NULL;
    const struct sto_cells *cells;
    *has = sum != NULL;
    if (sum) {
        *out = *sum;
        return 0;
    }
    if (sums) {
        int rc = sto_sst_cur_seek(points, key, err);
        TS_TRY(rc);
        if (rc == 0 || sto_key_cmp(sto_sst_cur_key(points), key) != 0)
            return ts_error_set(err, TS_ECORRUPT, "a row has a summary but no points");
    }
    TS_TRY(sto_sst_cur_cells(points, &cells, err));
    *has = sto_summary_make(cells, out);
    return 0;
}

/* sto_day_of, which takes longer than the rest of a day where the zone has daylight saving. */
static bool day_of(struct maker *k, int32_t hour, struct sto_day *out)
{
    struct sto_day *memo = &k->memo[(uint64_t)ts_floor_div(hour, 24) % DAYS_MEMO];
    if ((hour < memo->from || hour >= memo->to) && !sto_day_of(hour, memo))
        return false;
    *out = *memo;
    return true;
}

static int add_row(struct maker *k, const struct sto_key *key, struct ts_error *err)
{
    struct sto_summary sum;
    bool has;
    if (key->metric != k->key.metric || key->series != k->key.series || key->hour >= k->day.to ||
        k->day.from == k->day.to) {
        TS_TRY(end_day(k, err));
        if (!day_of(k, key->hour, &k->day))
            TS_BUG("hour %d is in no day, although all hours of the file are", key->hour);
        k->key = (struct sto_key){key->metric, key->series, k->day.from};
        k->sum.n = 0;
        k->mixed = false;
    }
    if (k->mixed)
        return 0;
    TS_TRY(sto_sst__summary_at(k->sums, k->points, key, &sum, &has, err));
    k->mixed = !has || !sto_day_add(&k->sum, &sum, (uint32_t)((key->hour - k->day.from) * TS_HOUR_MS));
    return 0;
}

static int add_rows(struct maker *k, const _Atomic bool *cancel, struct ts_error *err)
{
    struct sto_sst_cur *cur = k->sums ? k->sums : k->points;
    const struct sto_key first = {.hour = INT32_MIN};
    uint64_t n = 0;
    int rc = sto_sst_cur_seek(cur, &first, err);
    for (; rc == 1; rc = sto_sst_cur_next(cur, err)) {
        struct sto_key key = *sto_sst_cur_key(cur);
        TS_TRY(add_row(k, &key, err));
        if (++n % LOOK_ROWS == 0 && cancel && atomic_load_explicit(cancel, memory_order_relaxed))
            return ts_error_set(err, TS_ECANCELLED, "the store is closing");
    }
    TS_TRY(rc);
    if (n != sto_sst_info(k->sst)->n_rows)
        return ts_error_set(err, TS_ECORRUPT, "file %08llx has %llu rows, the manifest says %llu",
                            (unsigned long long)sto_sst_info(k->sst)->file_no, (unsigned long long)n,
                            (unsigned long long)sto_sst_info(k->sst)->n_rows);
    return end_day(k, err);
}

static void begin(struct maker *k, struct sto_sst *sst)
{
    *k = (struct maker){.sst = sst,
                        .sums = sto_sst_has_sums(sst) ? sto_sst_cur_new(sst, STO_SST_SUMMARIES, NULL) : NULL,
                        .points = sto_sst_cur_new(sst, STO_SST_POINTS, NULL)};
    if (k->sums)
        sto_sst_cur_set_walk(k->sums);
    sto_sst_cur_set_walk(k->points);
}

static void end(struct maker *k)
{
    sto_sst_cur_free(k->sums);
    sto_sst_cur_free(k->points);
    sto_sst_cur_free(k->check);
}

int sto_days_write(struct sto_sst *sst, const _Atomic bool *cancel, struct ts_error *err)
{
    struct maker k;
    struct ts_buf zone;
    ts_buf_init(&zone, 0);
    if (!sto_days__zone_put(sst, &zone)) {
        ts_buf_release(&zone);
        return 0;
    }
    begin(&k, sst);
    int rc = sto_sst__sums_begin(sst, sst->d.path, &k.w, err);
    if (rc == 0)
        rc = add_rows(&k, cancel, err);
    if (rc == 0)
        rc = sto_sst__sums_end(k.w, STO_SST_KIND_DAYS, ts_buf_get(&zone), err); /* frees it in any case */
    else
        sto_sst_writer_abort(k.w);
    end(&k);
    ts_buf_release(&zone);
    return rc < 0 ? rc : 1;
}

int sto_days_check(struct sto_sst *sst, struct ts_error *err)
{
    struct maker k;
    const struct sto_key first = {.hour = INT32_MIN};
    begin(&k, sst);
    k.check = sto_sst_cur_new(sst, STO_SST_DAYS, NULL);
    int rc = sto_sst_cur_seek(k.check, &first, err);
    if (rc == 0)
        rc = ts_error_set(err, TS_ECORRUPT, "there are no day summaries in the file");
    rc = rc < 0 ? rc : add_rows(&k, NULL, err);
    if (rc == 0 && sto_sst_cur_next(k.check, err) == 1)
        rc = ts_error_set(err, TS_ECORRUPT, "there are more day summaries than days with points");
    end(&k);
    return rc;
}
