/*
 * day_files.c - see day_files.h.
 */
#include "storage/engine/day_files.h"

#include "base/log.h"
#include "storage/engine/files/days.h"
#include "storage/engine/output.h"

#include <inttypes.h>

#define AGE_MS        (4 * TS_HOUR_MS) /* merges of a day begin three hours after its end */
#define MIN_ROWS      4096u            /* smaller files are read as fast by their hours */
#define BYTES_PER_ROW 16u              /* of a day summary, more than they have */

bool sto_day_files__is_old(const struct sto_engine *e, const struct sto_sst_info *info, int64_t now_ms)
{
    return e->opts.day_rows || info->max_ms < now_ms - AGE_MS;
}

/* Should a file get day summaries? */
static bool is_due(const struct sto_engine *e, struct sto_sst *sst, int64_t now_ms)
{
    const struct sto_sst_info *info = sto_sst_info(sst);
    bool due = info->n_rows >= (e->opts.day_rows ? e->opts.day_rows : MIN_ROWS) &&
               sto_day_files__is_old(e, info, now_ms);
    return due && !sto_sst_broken(sst) && !sto_sst_has_lost_index(sst) && !*sto_sst_days_tried(sst) &&
           !sto_sst_has_days(sst);
}

/* Make those of one file: 1; 0 = not before there is space; TS_ECANCELLED. */
static int make(struct sto_engine *e, struct sto_sst *sst, struct ts_error *err)
{
    static struct ts_log_limit limit;
    const struct sto_sst_info *info = sto_sst_info(sst);
    struct ts_error why = {0};
    uint64_t room;
    *sto_sst_days_tried(sst) = true;
    if (sto_sst_drop_lost_days(sst))
        return 1;
    bool has_room = sto_output__has_room(e, info->n_rows * BYTES_PER_ROW, &room);
    int rc = has_room ? sto_days_write(sst, &e->stop_compact, &why) : TS_ENOSPC;
    if (rc == TS_ENOSPC) {
        *sto_sst_days_tried(sst) = false;
        ts_log_limited(&limit, TS_LOG_WARN,
                       "day summaries of file %08" PRIx64 " wait for space free_bytes=%" PRIu64,
                       info->file_no, room);
        return 0;
    }
    if (rc == 1 && !sto_sst_open_days(sst))
        rc = ts_error_set(&why, TS_EIO, "they cannot be read");
    if (rc == TS_ECANCELLED) {
        *sto_sst_days_tried(sst) = false;
        if (err)
            *err = why;
        return rc;
    }
    if (rc < 0)
        ts_log(TS_LOG_WARN, "day summaries of file %08" PRIx64 " are left out: %s", info->file_no, why.text);
    return 1;
}

int sto_day_files__make_one(struct sto_engine *e, struct ts_error *err)
{
    struct sto_version *v = sto_engine_pin(e);
    int64_t now_ms = ts_clock_ms();
    size_t i = 0;
    while (i < v->n_ssts && !is_due(e, v->ssts[i], now_ms))
        i++;
    int rc = i < v->n_ssts;
    if (rc)
        rc = make(e, v->ssts[i], err);
    sto_engine_unpin(e, v);
    return rc;
}
