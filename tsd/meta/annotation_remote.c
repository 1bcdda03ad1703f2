/*
 * annotation_remote.c - annotations of a remote store.
 */
#include "tsd/meta/annotation_remote.h"

#include "base/time.h"
#include "query/tsuid.h"
#include "query/view.h"
#include "storage/cells_shared.h"
#include "tsd/meta/shared.h"

#include <string.h>

/* --- correcting the cells here --- */

/* One series, compared with what was fetched of it. */
struct comparison {
    struct sto_store *store;
    const struct qry_note *list; /* n of them, ascending by time */
    size_t n, at;
    uint64_t stamp;
};

/* A cell that is here: was it fetched? */
static bool compare(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct comparison *c = arg;
    struct ts_slice tsuid;
    int64_t start_ms;
    (void)value;
    if (!tsd_note_key_parse(key, &tsuid, &start_ms))
        return true;
    while (c->at < c->n && c->list[c->at].start_ms < start_ms)
        c->at++;
    if (c->at == c->n || c->list[c->at].start_ms != start_ms)
        (void)sto_cell_seen(c->store, key, (struct ts_slice){NULL, 0}, c->stamp, NULL);
    return true;
}

/* The remote store has exactly these annotations of a series in from_ms..to_ms. What cannot be corrected (the disk is full, the store
 * is read only) stays, and the next fetch tries again. */
static void correct(struct sto_store *st, struct ts_slice tsuid, int64_t from_ms, int64_t to_ms,
                    const struct qry_note *list, size_t n, uint64_t stamp)
{
    struct comparison c = {.store = st, .list = list, .n = n, .stamp = stamp};
    struct ts_buf key;
    ts_buf_init(&key, 0);
    tsd_notes_cells(st, tsuid, from_ms, to_ms, compare, &c);
    for (size_t i = 0; i < n; i++) {
        tsd_note_key(tsuid, list[i].start_ms, &key);
        (void)sto_cell_seen(st, ts_buf_get(&key), list[i].record, stamp, NULL);
    }
    ts_buf_release(&key);
}

/* --- queries --- */

static uint64_t before(void *arg)
{
    const struct tsd_notes_fetched *f = arg;
    return sto_cell_stamp(f->store);
}

/* The TSUID of a foreign series has no meaning outside of the request. */
static int keep_foreign(struct tsd_notes_fetched *f, const struct qry_note *list, size_t n,
                        struct ts_error *err)
{
    int rc = 0;
    pthread_mutex_lock(&f->mu);
    f->is_sorted &= n == 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = qry_notes_add(&f->foreign, list[i].series, list[i].start_ms, list[i].record, err);
    pthread_mutex_unlock(&f->mu);
    return rc;
}

static int take(void *arg, const struct qry_notes_read *read, struct ts_error *err)
{
    struct tsd_notes_fetched *f = arg;
    const struct qry_note *all = read->notes->list;
    size_t at = 0;
    struct ts_buf tsuid;
    int rc = 0;
    bool any = tsd_notes_any(f->store);
    ts_buf_init(&tsuid, 0);
    for (size_t i = 0; i < read->n && rc == 0; i++) {
        const struct sto_series *s = read->series[i];
        size_t n = 0;
        while (at + n < read->notes->n && all[at + n].series == s)
            n++;
        const struct qry_note *list = n ? all + at : NULL;
        if (qry_series_foreign(s)) {
            rc = keep_foreign(f, list, n, err);
        } else if (n || any) {
            ts_buf_clear(&tsuid);
            qry_tsuid(s, &tsuid);
            correct(f->store, ts_buf_get(&tsuid), read->from_ms, read->to_ms, list, n, read->stamp);
        }
        at += n;
    }
    ts_buf_release(&tsuid);
    return rc;
}

void tsd_notes_fetched_init(struct tsd_notes_fetched *f, struct sto_store *st, struct ts_budget *memory)
{
    *f = (struct tsd_notes_fetched){
        .taker = {.before = before, .read = take, .arg = f}, .store = st, .foreign.memory = memory};
    pthread_mutex_init(&f->mu, NULL);
}

void tsd_notes_fetched_release(struct tsd_notes_fetched *f)
{
    qry_notes_release(&f->foreign);
    pthread_mutex_destroy(&f->mu);
}

void tsd_notes_fetched_each(struct tsd_notes_fetched *f, const struct sto_series *s, int64_t from_ms,
                            int64_t to_ms, tsd_note_fn each, void *arg)
{
    bool go_on = true;
    pthread_mutex_lock(&f->mu);
    if (!f->is_sorted)
        qry_notes_sort(&f->foreign);
    f->is_sorted = true;
    size_t lo = 0, hi = f->foreign.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (f->foreign.list[mid].series->id < s->id)
            lo = mid + 1;
        else
            hi = mid;
    }
    struct ts_buf tsuid;
    ts_buf_init(&tsuid, 0);
    qry_tsuid(s, &tsuid); /* of the view of the query */
    for (; go_on && lo < f->foreign.n && f->foreign.list[lo].series == s; lo++) {
        const struct qry_note *note = &f->foreign.list[lo];
        if (note->start_ms >= from_ms && note->start_ms <= to_ms)
            go_on = tsd_note_visit(ts_buf_get(&tsuid), note->record, each, arg);
    }
    ts_buf_release(&tsuid);
    pthread_mutex_unlock(&f->mu);
}

/* --- other requests --- */

static int add_note(void *arg, const struct sto_remote_note *note, size_t pos, struct ts_error *err)
{
    (void)pos;
    return qry_notes_add(arg, NULL, note->start_ms, note->record, err);
}

/* The request for a series. TS_ENOTFOUND: no other program can have annotations of it. */
static int request(struct sto_store *st, struct ts_slice tsuid, struct sto_remote_tag *tags,
                   struct sto_remote_series *series, struct sto_fetch *f)
{
    if (tsuid.n == 0)
        return 0;
    if (!tsd_meta_series_names(sto_store_catalog(st), tsuid, tags, series))
        return TS_ENOTFOUND;
    f->metric = series->metric;
    f->series = series;
    f->n_series = 1;
    return 0;
}

int tsd_notes_fetch(struct sto_store *st, struct ts_slice tsuid, int64_t from_ms, int64_t to_ms, bool must,
                    const _Atomic bool *cancel, struct ts_error *err)
{
    struct sto_remote *remote = sto_store_remote(st);
    struct sto_remote_tag tags[TSD_META_TAGS_MAX];
    struct sto_remote_series series;
    struct qry_notes found = {.n = 0};
    struct ts_error why = {0};
    struct sto_fetch f = {.from_ms = from_ms < 0 ? 0 : from_ms,
                          .to_ms = to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : to_ms,
                          .note = add_note};
    if (!remote || f.from_ms > f.to_ms || (!must && f.from_ms >= sto_complete_from(st)) ||
        request(st, tsuid, tags, &series, &f) < 0)
        return 0;
    if (ts_fs_is_nowait())
        return ts_error_set(err, TS_EBUSY, "the remote store has to be read");
    uint64_t stamp = sto_cell_stamp(st);
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + STO_SHARED_WRITE_MS * 1000000ll,
                                   .cancel = cancel,
                                   .is_query = true};
    int rc = remote->ops->fetch(remote, &f, &call, NULL, &found, &why);
    if (rc == 0) {
        qry_notes_sort(&found);
        correct(st, tsuid, f.from_ms, f.to_ms, found.list, found.n, stamp);
    }
    qry_notes_release(&found);
    if (rc == 0 || (!must && rc != TS_ECANCELLED))
        return 0;
    return ts_error_set(err, rc == TS_ETIMEOUT ? TS_EBACKEND : rc,
                        "%s, which keeps annotations, has not answered; try again later: %s",
                        remote->ops->name, why.text);
}
