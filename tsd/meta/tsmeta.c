/*
 * tsmeta.c - records of series in cells.
 *
 *   key    "tsmeta/" · TSUID as upper-case hexadecimal text
 *
 * Threads    see tsmeta.h
 */
#include "tsd/meta/tsmeta.h"

#include "base/time.h"
#include "query/execution/reader.h"
#include "query/tsuid.h"
#include "tsd/meta/keep.h"
#include "tsd/meta/uidmeta.h"

#define TSMETA_PREFIX    "tsmeta/"
#define TSMETA_MAX_HOURS (1 << 24) /* longer stores are counted without summaries */

const struct tsd_field tsd_tsmeta_fields[] = {
    [TSD_TSMETA_TSUID] = {"tsuid", NULL, TSD_FIELD_TEXT, TSD_FIELD_COMPUTED},
    [TSD_TSMETA_DISPLAY_NAME] = {"displayName", "display_name", TSD_FIELD_TEXT, 0},
    [TSD_TSMETA_DESCRIPTION] = {"description", "description", TSD_FIELD_TEXT, 0},
    [TSD_TSMETA_NOTES] = {"notes", "notes", TSD_FIELD_TEXT, 0},
    [TSD_TSMETA_CREATED] = {"created", NULL, TSD_FIELD_INT, TSD_FIELD_OURS},
    [TSD_TSMETA_CUSTOM] = {"custom", NULL, TSD_FIELD_MAP, 0},
    [TSD_TSMETA_UNITS] = {"units", "units", TSD_FIELD_TEXT, 0},
    [TSD_TSMETA_DATA_TYPE] = {"dataType", "data_type", TSD_FIELD_TEXT, 0},
    [TSD_TSMETA_RETENTION] = {"retention", "retention", TSD_FIELD_INT, 0},
    [TSD_TSMETA_MAX] = {"max", "max", TSD_FIELD_DOUBLE, 0},
    [TSD_TSMETA_MIN] = {"min", "min", TSD_FIELD_DOUBLE, 0},
    {NULL, NULL, TSD_FIELD_TEXT, 0},
};

/* --- points --- */

static int tsmeta_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    (void)err;
    struct tsd_tsmeta_points *out = arg;
    int64_t base = row->key.hour * TS_HOUR_MS;
    uint32_t n = row->sum ? row->sum->n : row->cells->n;
    int64_t first = base + (row->sum ? row->sum->first_off : sto_meta_off(row->cells->meta[0]));
    if (out->n == 0)
        out->first_ms = first;
    out->last_ms = base + (row->sum ? row->sum->last_off : sto_meta_off(row->cells->meta[n - 1]));
    out->n += n;
    return 0;
}

static int tsmeta_scan(struct sto_snap *snap, const struct qry_view *view, const struct sto_series *s,
                       int64_t from_ms, int64_t to_ms, struct qry_budget *budget,
                       struct tsd_tsmeta_points *out, struct ts_error *err)
{
    int64_t n_hours = (ts_floor_div(to_ms, TS_HOUR_MS) - ts_floor_div(from_ms, TS_HOUR_MS)) + 1;
    uint8_t *whole = NULL;
    if (n_hours <= TSMETA_MAX_HOURS) {
        whole = ts_budget_alloc(budget->memory, (size_t)n_hours, err);
        if (!whole)
            return qry_memory_code(err);
        memset(whole, 1, (size_t)n_hours);
    }
    struct qry_reading r = {.snap = snap,
                            .budget = budget,
                            .view = view,
                            .metric = s->metric,
                            .series = &s,
                            .n = 1,
                            .from_ms = from_ms,
                            .to_ms = to_ms + 1,
                            .whole_hours = whole,
                            .row = tsmeta_row,
                            .arg = out};
    int rc = qry_read(&r, err);
    if (whole)
        ts_budget_free(budget->memory, whole, (size_t)n_hours);
    return rc;
}

int tsd_tsmeta_points(struct sto_store *st, const struct qry_view *view, const struct sto_series *s,
                      struct qry_limit *limit, struct tsd_tsmeta_points *out, struct ts_error *err)
{
    struct qry_budget budget;
    struct ts_error why = {0};
    qry_budget_init(&budget, limit);
    struct sto_snap *snap = sto_snap_take(st);
    int64_t from_ms, to_ms;
    int rc = 0;
    *out = (struct tsd_tsmeta_points){0};
    if (sto_snap_time_range(snap, &from_ms, &to_ms)) {
        from_ms = ts_floor_div(from_ms, TS_HOUR_MS) * TS_HOUR_MS; /* summaries are of whole hours */
        to_ms = ts_floor_div(to_ms, TS_HOUR_MS) * TS_HOUR_MS + TS_HOUR_MS - 1;
        rc = tsmeta_scan(snap, view, s, from_ms, to_ms, &budget, out, err);
    }
    if (rc < 0 && err && qry_budget_result(&budget, &why) < 0)
        *err = why;
    sto_snap_release(snap);
    return rc;
}

/* --- records --- */

static void tsmeta_key(const struct sto_series *s, struct ts_buf *key)
{
    ts_buf_init(key, 0);
    ts_buf_str(key, TSMETA_PREFIX);
    qry_tsuid(s, key);
}

static void tsmeta_tsuid(struct ts_slice key, struct ts_arena *arena, struct tsd_record *r)
{
    size_t n = sizeof(TSMETA_PREFIX) - 1;
    r->v[TSD_TSMETA_TSUID].text = (struct ts_slice){ts_arena_strndup(arena, key.p + n, key.n - n), key.n - n};
}

int tsd_tsmeta_load(struct sto_store *st, const struct sto_series *s, struct ts_arena *arena,
                    struct tsd_record *out, bool *out_stored, struct ts_error *err)
{
    struct ts_buf key;
    tsmeta_key(s, &key);
    int rc = tsd_record_load(st, ts_buf_get(&key), tsd_tsmeta_fields, arena, out, err);
    *out_stored = rc == 0;
    tsmeta_tsuid(ts_buf_get(&key), arena, out);
    ts_buf_release(&key);
    return rc == TS_ENOTFOUND ? 0 : rc;
}

void tsd_tsmeta_refresh(struct sto_store *st, const struct sto_series *s)
{
    struct ts_buf key;
    tsmeta_key(s, &key);
    (void)sto_cell_refresh(st, ts_buf_get(&key), false, NULL);
    ts_buf_release(&key);
}

bool tsd_tsmeta_key_parse(struct ts_slice key, struct ts_slice *out_tsuid)
{
    const size_t n = sizeof(TSMETA_PREFIX) - 1;
    if (key.n <= n || memcmp(key.p, TSMETA_PREFIX, n) != 0)
        return false;
    *out_tsuid = (struct ts_slice){key.p + n, key.n - n};
    return true;
}

bool tsd_tsmeta_there(struct sto_store *st, const struct sto_series *s)
{
    struct ts_buf key, value;
    tsmeta_key(s, &key);
    ts_buf_init(&value, 0);
    bool there = sto_cell_get(st, ts_buf_get(&key), &value) == 0;
    ts_buf_release(&value);
    ts_buf_release(&key);
    return there;
}

/* A visit of the TSUIDs of records. */
struct tsmeta_tsuids {
    void (*each)(void *arg, struct ts_slice tsuid); /* gets them */
    void *arg;                                      /* for each */
};

static bool tsmeta_tsuid_each(void *arg, struct ts_slice key, struct ts_slice value)
{
    const struct tsmeta_tsuids *w = arg;
    const size_t n = sizeof(TSMETA_PREFIX) - 1;
    (void)value;
    w->each(w->arg, (struct ts_slice){key.p + n, key.n - n});
    return true;
}

void tsd_tsmeta_tsuids(struct sto_store *st, void (*each)(void *arg, struct ts_slice tsuid), void *arg)
{
    struct tsmeta_tsuids w = {each, arg};
    sto_cell_each(st, TS_SLICE_LIT(TSMETA_PREFIX), tsmeta_tsuid_each, &w);
}

int tsd_tsmeta_store(struct sto_store *st, const struct sto_series *s, struct tsd_record *given, bool replace,
                     struct ts_arena *arena, struct tsd_record *out, bool *out_changed, struct ts_error *err)
{
    struct ts_buf key;
    bool stored;
    TS_TRY(tsd_tsmeta_load(st, s, arena, out, &stored, err));
    if (!stored) {
        given->v[TSD_TSMETA_CREATED].i = ts_clock_ms() / 1000;
        given->v[TSD_TSMETA_CREATED].given = true;
    }
    tsmeta_key(s, &key);
    int rc = tsd_record_store(st, ts_buf_get(&key), given, replace, arena, out, out_changed, err);
    tsmeta_tsuid(ts_buf_get(&key), arena, out);
    if (rc == 0 && tsd_meta_mentioned(st, out->v[TSD_TSMETA_TSUID].text) == TS_ENOTFOUND)
        rc = ts_error_set(err, TS_EBUSY, "the series was forgotten this moment, try again");
    ts_buf_release(&key);
    return rc;
}

int tsd_tsmeta_delete(struct sto_store *st, const struct sto_series *s, struct ts_error *err)
{
    struct ts_buf key;
    tsmeta_key(s, &key);
    int rc = sto_cell_put(st, ts_buf_get(&key), (struct ts_slice){NULL, 0}, err);
    ts_buf_release(&key);
    return rc;
}

static int tsmeta_name(struct sto_store *st, struct qry_view *view, enum sto_uid_kind kind, uint32_t id,
                       struct ts_json *j, struct ts_error *err)
{
    struct ts_arena arena;
    struct tsd_record r;
    ts_arena_init(&arena, 0);
    int rc = id < STO_FOREIGN ? tsd_uidmeta_load(st, kind, id, &arena, &r, err)
                              : tsd_uidmeta_foreign(view, kind, id, &r);
    if (rc == 0)
        rc = tsd_uidmeta_show(view, kind, id, &arena, &r, err);
    if (rc == 0)
        tsd_uidmeta_json(&r, j);
    ts_arena_release(&arena);
    return rc;
}

int tsd_tsmeta_json(struct sto_store *st, struct qry_view *view, const struct sto_series *s,
                    const struct tsd_record *r, const struct tsd_tsmeta_points *points, struct ts_json *j,
                    struct ts_error *err)
{
    struct tsd_record shown = *r;
    struct ts_buf tsuid;
    ts_buf_init(&tsuid, 0);
    int rc = qry_ids_tsuid_of(view, s, &tsuid, err);
    shown.v[TSD_TSMETA_TSUID].text = ts_buf_get(&tsuid);
    if (points && points->n && !shown.v[TSD_TSMETA_CREATED].i)
        shown.v[TSD_TSMETA_CREATED].i = ts_floor_div(points->first_ms, 1000);
    ts_json_obj(j);
    tsd_record_members(&shown, j);
    ts_buf_release(&tsuid);
    TS_TRY(rc == TS_ENOTFOUND ? 0 : rc);
    ts_json_key(j, "metric");
    TS_TRY(tsmeta_name(st, view, STO_UID_METRIC, s->metric, j, err));
    ts_json_member_arr(j, "tags");
    for (unsigned i = 0; i < s->n_tags; i++) {
        TS_TRY(tsmeta_name(st, view, STO_UID_TAGK, s->tags[i].k, j, err));
        TS_TRY(tsmeta_name(st, view, STO_UID_TAGV, s->tags[i].v, j, err));
    }
    ts_json_arr_end(j);
    if (points) {
        ts_json_member_int(j, "lastReceived", ts_floor_div(points->last_ms, 1000));
        ts_json_member_count(j, "totalDatapoints", points->n);
    }
    ts_json_obj_end(j);
    return 0;
}

bool tsd_tsmeta_any(struct sto_store *st)
{
    return tsd_record_any(st, TS_SLICE_LIT(TSMETA_PREFIX), TS_SLICE_LIT("tsmeta0"));
}
