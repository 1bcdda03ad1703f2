/*
 * latest.c - newest points as series of an output format.
 *
 * Threads    see answers.h
 */
#include "tsd/format/answers.h"

#include "query/ids.h"
#include "tsd/meta/series.h"
#include "base/mem.h"
#include "base/text.h"

/* One answer. */
struct latest {
    struct tsd_out out;   /* the format at work */
    struct ts_buf v;      /* values of one series: uint64_t each */
    struct ts_buf is_int; /* a byte each */
    struct ts_buf tsuid;  /* of one series */
};

static int latest_emit(void *arg, const struct qry_latest *p, struct ts_error *err)
{
    struct latest *l = arg;
    struct sto_tag_text tags[TSD_SERIES_MAX_TAGS];
    ts_buf_clear(&l->v);
    ts_buf_clear(&l->is_int);
    ts_buf_clear(&l->tsuid);
    for (size_t i = 0; i < p->n; i++) {
        double d = ts_num_double(p->v[i]);
        bool is_int = p->v[i].kind == TS_NUM_INT;
        ts_buf_append(&l->v, is_int ? (const void *)&p->v[i].m : (const void *)&d, sizeof d);
        ts_buf_char(&l->is_int, is_int);
    }
    bool has_tsuid = qry_ids_tsuid(p->view, p->series, &l->tsuid);
    struct ts_slice tsuid = ts_buf_get(&l->tsuid);
    struct qry_series s = {.metric = qry_view_name(p->view, STO_UID_METRIC, p->series->metric),
                           .tags = tags,
                           .n_tags = tsd_series_tags(p->view, p->series, tags),
                           .tsuids = &tsuid,
                           .n_tsuids = has_tsuid,
                           .n = p->n,
                           .ts_ms = p->ts_ms,
                           .v = (const uint64_t *)(const void *)l->v.p,
                           .is_int = (const uint8_t *)l->is_int.p};
    return tsd_out_series(&l->out, &s, err);
}

int tsd_latest_run(const struct tsd_latest *what, struct sto_store *store, struct ts_pool *pool,
                   struct qry_limit *limit, struct ts_sink *sink, struct ts_error *err)
{
    struct qry_spec spec = {
        .ms = true, .arrays = true, .show_tsuids = true, .no_annotations = true, .tz = what->tz};
    struct latest l = {0};
    tsd_out_init(&l.out, what->format, &spec, sink);
    ts_buf_init(&l.v, 0);
    ts_buf_init(&l.is_int, 0);
    ts_buf_init(&l.tsuid, 0);
    l.out.limit = limit;
    int rc = tsd_out_begin(&l.out, store, err);
    for (size_t i = 0; i < what->n_asks && rc == 0; i++)
        rc = qry_run_latest(store, pool, &what->asks[i], limit, latest_emit, &l, err);
    if (rc == 0)
        rc = what->format->end(&l.out, err);
    ts_buf_release(&l.v);
    ts_buf_release(&l.is_int);
    ts_buf_release(&l.tsuid);
    tsd_out_release(&l.out);
    return rc;
}

int tsd_latest_parse(struct ts_slice n, struct ts_slice at, struct ts_slice tz, int64_t now_ms,
                     struct qry_last_request *ask, const struct ts_tz **out_tz, struct ts_error *err)
{
    int64_t count = 0;
    *out_tz = NULL;
    if (tz.n)
        TS_TRY(ts_tz_open(tz, out_tz, err));
    if (n.n && (ts_num_parse_int(n, &count, NULL) < 0 || count < 1))
        return ts_error_set(err, TS_EINVAL, "Unable to parse 'n' as a number from 1 on: %.*s",
                            TS_SHOWN(n, 64));
    ask->n = (size_t)count;
    if (!at.n)
        return 0;
    TS_TRY(ts_time_parse_end(at, *out_tz, now_ms, false, &ask->at_ms, err));
    ask->at_on = true;
    ask->at_ms = ask->at_ms > STO_MAX_TS_MS / 4 ? STO_MAX_TS_MS / 4 : ask->at_ms;
    return 0;
}
