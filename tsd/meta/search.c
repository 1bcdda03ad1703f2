/*
 * search.c - searches series, names and annotations by visiting all of them.
 *
 * Threads    see search.h
 */
#include "tsd/meta/search.h"

#include "base/time.h"
#include "tsd/meta/annotation_remote.h"
#include "tsd/meta/tsmeta.h"
#include "tsd/meta/uidmeta.h"

#define SEARCH_CHECK 1024 /* candidates between two checks of the limit */

/* A search. */
struct search_run {
    struct qry_view *view;         /* ids that clients see */
    struct sto_store *store;       /* where */
    const struct tsd_terms *terms; /* what */
    struct qry_limit *limit;       /* may be NULL */
    tsd_hit_fn each;               /* gets hits */
    void *arg;                     /* for each */
    struct tsd_doc doc;            /* the current candidate */
    uint64_t n_seen;               /* candidates */
    bool deleted;                  /* names: only deleted ones */
    bool stored;                   /* there are stored records at all */
    bool stopped;                  /* each returned false */
    int rc;                        /* why it ended */
    struct ts_error *err;          /* its text */
};

static int search_check(struct search_run *r)
{
    if (!r->limit || ++r->n_seen % SEARCH_CHECK)
        return 0;
    if (atomic_load_explicit(&r->limit->cancelled, memory_order_relaxed))
        return ts_error_set(r->err, TS_ECANCELLED, "the client went away");
    if (qry_limit_late(r->limit))
        return ts_error_set(r->err, TS_ETIMEOUT, "Search took longer than query_timeout_ms");
    return 0;
}

static int search_offer(struct search_run *r, const struct tsd_hit *hit)
{
    uint64_t most = r->limit ? r->limit->max_regex_steps : 0;
    int rc = tsd_terms_match(r->terms, &r->doc, r->err);
    r->doc.n = 0;
    if (rc > 0)
        r->stopped = !r->each(r->arg, hit);
    if (rc >= 0 && most && tsd_terms_steps(r->terms) > most)
        return ts_error_set(r->err, TS_ELIMIT,
                            "The regular expressions of the search take more than %llu steps "
                            "(query_max_regex_steps): write them so that they go back less often",
                            (unsigned long long)most);
    return rc < 0 ? rc : 0;
}

static int search_one_series(struct search_run *r, const struct sto_series *s)
{
    struct sto_catalog *cat = sto_store_catalog(r->store);
    struct ts_arena arena;
    struct tsd_record record;
    struct ts_buf tsuid;
    bool stored = false;
    int rc = 0;
    ts_arena_init(&arena, 0);
    ts_buf_init(&tsuid, 0);
    if (r->stored)
        rc = tsd_tsmeta_load(r->store, s, &arena, &record, &stored, r->err);
    (void)qry_ids_tsuid(r->view, s, &tsuid);
    tsd_doc_add(&r->doc, TS_SLICE_LIT("tsuid"), ts_buf_get(&tsuid));
    tsd_doc_add(&r->doc, TS_SLICE_LIT("metric"), sto_uid_name(cat, STO_UID_METRIC, s->metric));
    for (unsigned i = 0; i < s->n_tags; i++)
        tsd_doc_add(&r->doc, sto_uid_name(cat, STO_UID_TAGK, s->tags[i].k),
                    sto_uid_name(cat, STO_UID_TAGV, s->tags[i].v));
    if (stored)
        tsd_doc_record(&r->doc, &record, &arena);
    if (rc == 0)
        rc = search_offer(r, &(struct tsd_hit){.series = s, .record = stored ? &record : NULL});
    ts_buf_release(&tsuid);
    ts_arena_release(&arena);
    return rc;
}

/* Look up the ids of the names of series from this number on together. */
static int search_load_series(struct search_run *r, uint32_t from)
{
    const struct sto_series *series[SEARCH_CHECK];
    struct sto_catalog *cat = sto_store_catalog(r->store);
    size_t n = 0;
    for (uint32_t id = from, end = sto_series_count(cat); id < end && id - from < SEARCH_CHECK; id++) {
        const struct sto_series *s = sto_series_get(cat, id);
        if (s && !sto_name_internal(sto_uid_name(cat, STO_UID_METRIC, s->metric)))
            series[n++] = s;
    }
    return qry_ids_load(r->view, series, n, r->err);
}

/* The same for names. */
static int search_load_names(struct search_run *r, enum sto_uid_kind kind, uint32_t from)
{
    uint32_t ids[SEARCH_CHECK], n = 0, max = sto_uid_max(sto_store_catalog(r->store), kind);
    while (n < SEARCH_CHECK && from + n <= max)
        ids[n] = from + n, n++;
    return qry_ids_load_names(r->view, kind, ids, n, r->err);
}

int tsd_search_series(struct qry_view *view, struct sto_store *st, const struct tsd_terms *terms,
                      struct qry_limit *limit, tsd_hit_fn each, void *arg, struct ts_error *err)
{
    struct search_run r = {
        .view = view, .store = st, .terms = terms, .limit = limit, .each = each, .arg = arg, .err = err};
    struct sto_catalog *cat = sto_store_catalog(st);
    r.stored = tsd_tsmeta_any(st);
    for (uint32_t id = 0, n = sto_series_count(cat); id < n && !r.stopped && r.rc == 0; id++) {
        const struct sto_series *s = sto_series_get(cat, id);
        if (id % SEARCH_CHECK == 0)
            r.rc = search_load_series(&r, id);
        if (r.rc == 0 && s && !sto_name_internal(sto_uid_name(cat, STO_UID_METRIC, s->metric)))
            r.rc = search_one_series(&r, s);
        if (r.rc == 0)
            r.rc = search_check(&r);
    }
    ts_free(r.doc.fields);
    return r.rc;
}

static int search_one_name(struct search_run *r, enum sto_uid_kind kind, uint32_t id)
{
    struct ts_slice name = sto_uid_name(sto_store_catalog(r->store), kind, id);
    struct ts_arena arena;
    struct tsd_record record;
    if (!name.p || sto_uid_deleted(name) != r->deleted || sto_name_internal(name))
        return 0;
    ts_arena_init(&arena, 0);
    int rc = r->stored ? tsd_uidmeta_load(r->store, kind, id, &arena, &record, r->err)
                       : tsd_uidmeta_plain(r->store, kind, id, &arena, &record, r->err);
    if (rc == 0)
        rc = tsd_uidmeta_show(r->view, kind, id, &arena, &record, r->err);
    if (rc == 0) {
        tsd_doc_record(&r->doc, &record, &arena);
        rc = search_offer(r, &(struct tsd_hit){.record = &record});
    }
    ts_arena_release(&arena);
    return rc;
}

/* Names of all kinds. */
static int search_names(struct search_run *run)
{
    struct search_run r = *run;
    struct sto_catalog *cat = sto_store_catalog(r.store);
    r.stored = tsd_uidmeta_any(r.store);
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        uint32_t n = sto_uid_max(cat, (enum sto_uid_kind)kind);
        for (uint32_t id = 1; id <= n && !r.stopped && r.rc == 0; id++) {
            if (id % SEARCH_CHECK == 1)
                r.rc = search_load_names(&r, (enum sto_uid_kind)kind, id);
            if (r.rc == 0)
                r.rc = search_one_name(&r, (enum sto_uid_kind)kind, id);
            if (r.rc == 0)
                r.rc = search_check(&r);
        }
    }
    ts_free(r.doc.fields);
    return r.rc;
}

int tsd_search_names(struct qry_view *view, struct sto_store *st, const struct tsd_terms *terms,
                     struct qry_limit *limit, tsd_hit_fn each, void *arg, struct ts_error *err)
{
    return search_names(&(struct search_run){
        .view = view, .store = st, .terms = terms, .limit = limit, .each = each, .arg = arg, .err = err});
}

int tsd_search_deleted(struct qry_view *view, struct sto_store *st, const struct tsd_terms *terms,
                       struct qry_limit *limit, tsd_hit_fn each, void *arg, struct ts_error *err)
{
    return search_names(&(struct search_run){.view = view,
                                             .store = st,
                                             .terms = terms,
                                             .limit = limit,
                                             .each = each,
                                             .arg = arg,
                                             .err = err,
                                             .deleted = true});
}

static bool search_one_note(void *arg, const struct tsd_record *note)
{
    struct search_run *r = arg;
    struct ts_arena arena;
    struct tsd_record shown = *note;
    struct ts_buf tsuid;
    ts_arena_init(&arena, 0);
    ts_buf_init(&tsuid, 0);
    if (note->v[TSD_NOTE_TSUID].text.n)
        r->rc = qry_ids_shown(r->view, note->v[TSD_NOTE_TSUID].text, &tsuid, r->err);
    shown.v[TSD_NOTE_TSUID].text = ts_buf_get(&tsuid);
    r->rc = r->rc == TS_ENOTFOUND ? 0 : r->rc;
    if (r->rc == 0) {
        tsd_doc_record(&r->doc, &shown, &arena);
        r->rc = search_offer(r, &(struct tsd_hit){.record = &shown});
        if (r->rc == 0)
            r->rc = search_check(r);
    }
    ts_buf_release(&tsuid);
    ts_arena_release(&arena);
    return r->rc == 0 && !r->stopped;
}

int tsd_search_notes(struct qry_view *view, struct sto_store *st, const struct tsd_terms *terms,
                     struct qry_limit *limit, tsd_hit_fn each, void *arg, struct ts_error *err)
{
    struct search_run r = {
        .view = view, .store = st, .terms = terms, .limit = limit, .each = each, .arg = arg, .err = err};
    /* Those of series would take a read of all points. Queries and other requests have met most of them. */
    r.rc = tsd_notes_fetch(st, (struct ts_slice){"", 0}, 0, INT64_MAX, false,
                           limit ? &limit->cancelled : NULL, err);
    if (r.rc == 0)
        tsd_notes_all(st, search_one_note, &r);
    ts_free(r.doc.fields);
    return r.rc;
}
