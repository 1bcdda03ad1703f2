/*
 * age_marks.c - see age_marks.h.
 */
#include "storage/age_marks.h"

#include "base/log.h"
#include "storage/aged.h"
#include "storage/store_int.h"

/* The metric of which one has summaries; false: it has none, or that metric is not known. */
static bool summarised_metric(const struct sto_store *st, uint32_t metric, uint32_t *out)
{
    struct ts_buf name;
    ts_buf_init(&name, 0);
    bool found = sto_aged_of_name(st->catalog, metric, &name) &&
                 sto_uid_find(st->catalog, STO_UID_METRIC, ts_buf_get(&name), out) == 0;
    ts_buf_release(&name);
    return found;
}

/* All series that have a series of summaries, visible ones and those of hours; NULL: there are none. *out_n_hours: those that have hours, *out_n_days:
 * those whose hours have days. */
static roaring_bitmap_t *series_with_summaries(const struct sto_store *st, uint64_t *out_n_hours,
                                               uint64_t *out_n_days)
{
    roaring_bitmap_t *all = NULL;
    uint32_t metric = 0, summarised = 0; /* of the last series */
    bool is_aged = false;
    *out_n_hours = *out_n_days = 0;
    for (uint32_t id = 0, end = sto_series_count(st->catalog); id < end; id++) {
        const struct sto_series *s = sto_series_get(st->catalog, id), *of;
        if (!s)
            continue;
        if (s->metric != metric)
            is_aged = summarised_metric(st, metric = s->metric, &summarised);
        if (!is_aged || sto_series_find_ids(st->catalog, summarised, s->tags, s->n_tags, &of) < 0)
            continue;
        all = all ? all : roaring_bitmap_create();
        roaring_bitmap_add(all, of->id);
        *(sto_aged_level_of(st->catalog, metric) == STO_AGED_DAYS ? out_n_days : out_n_hours) += 1;
    }
    return all;
}

static struct sto_floors *lost_marks(const struct sto_store *st, const char *why)
{
    uint64_t n_hours, n_days;
    roaring_bitmap_t *series = series_with_summaries(st, &n_hours, &n_days);
    if (!series)
        return NULL;
    ts_log(
        TS_LOG_ERROR,
        "hours of %llu series whose points have expired, and days of %llu of them, are not answered until a "
        "pass of retention has found their summaries again: %s",
        (unsigned long long)n_hours, (unsigned long long)n_days, why);
    struct sto_floors *marks = sto_floors_new(1);
    marks->at[0] = (struct sto_floor){.cutoff_ms = STO_AGED_LOST_MS, .series = series};
    sto_floors_filled(marks);
    return marks;
}

int sto_age_marks__read(struct sto_store *st, struct sto_floors **out, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = sto_floors_read_from(st->opts.fs, st->opts.dir, STO_AGED_NAME, out, &why);
    if (rc == 0 || rc == TS_ECORRUPT) {
        *out = lost_marks(st, rc < 0 ? why.text : "DIR/AGED is missing");
        return 0;
    }
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int sto_age_marks__write(struct sto_store *st, const struct sto_floors *marks, struct ts_error *err)
{
    if (marks && marks->n > STO_FLOORS_MAX)
        return ts_error_set(err, TS_ELIMIT, "there are more than %u different marks of summaries",
                            STO_FLOORS_MAX);
    struct sto_floors *none = marks ? NULL : sto_floors_new(0);
    int rc = sto_floors_write_to(st->opts.fs, st->opts.dir, STO_AGED_NAME, marks ? marks : none, err);
    sto_floors_unref(none);
    return rc;
}

void sto_age_marks__add(struct sto_floors *marks, int64_t to_ms, roaring_bitmap_t *series)
{
    size_t k = 0;
    while (k < marks->n && marks->at[k].cutoff_ms != to_ms)
        k++;
    if (k == marks->n && !roaring_bitmap_is_empty(series)) {
        marks->at[marks->n++] = (struct sto_floor){.cutoff_ms = to_ms, .series = series};
        return;
    }
    if (k < marks->n)
        roaring_bitmap_or_inplace(marks->at[k].series, series);
    roaring_bitmap_free(series);
}
