/*
 * search_handlers.c - /api/search/TYPE, and /api/find/TYPE, which answers whatever the configuration says.
 *
 * Threads    see request.h
 * Source     docs/OPENTSDB.md, sections 2.8, 5.3
 */
#include "tsd/meta/request.h"

#include "base/text.h"
#include "base/time.h"
#include "tsd/meta/annotation.h"
#include "tsd/meta/search.h"
#include "tsd/meta/search_lookup.h"
#include "tsd/meta/tsmeta.h"
#include "tsd/meta/uidmeta.h"

#define LOOKUP_TOGETHER 256 /* series of a lookup whose ids are looked up together */
#define SEARCH_LIMIT    25  /* results, if nothing is said */

/* A search at work. */
struct search_work {
    struct tsd_meta_req *ask;                        /* the request */
    const struct search *kind;                       /* row below */
    struct ts_slice query;                           /* of all but lookup */
    struct tsd_lookup lookup;                        /* of lookup */
    int64_t limit, start;                            /* results wanted: how many (0 = all), from which on */
    bool use_meta;                                   /* lookup: as OpenTSDB's meta table would answer */
    bool always;                                     /* whatever the configuration says */
    uint64_t n_found, n_shown;                       /* hits, and those in the answer */
    const struct sto_series *found[LOOKUP_TOGETHER]; /* of a lookup, not yet printed */
    size_t n_waiting;                                /* how many */
    int rc;                                          /* why a walk stopped */
    struct ts_error *err;                            /* the same */
};

struct search {
    const char *name; /* end of the path */
    const char *type; /* in the answer */
    /* Walk and write results. */
    int (*run)(struct search_work *w, struct ts_error *err);
    /* Write one result to w->text. */
    int (*print)(struct search_work *w, const struct tsd_hit *hit, struct ts_json *j);
};

/* --- results --- */

static int print_tsmeta(struct search_work *w, const struct tsd_hit *hit, struct ts_json *j)
{
    struct ts_arena arena;
    struct tsd_record r;
    bool stored;
    ts_arena_init(&arena, 0);
    int rc = tsd_tsmeta_load(w->ask->store, hit->series, &arena, &r, &stored, w->err);
    if (rc == 0)
        rc = tsd_tsmeta_json(w->ask->store, &w->ask->view, hit->series, &r, NULL, j, w->err);
    ts_arena_release(&arena);
    return rc;
}

static int print_summary(struct search_work *w, const struct tsd_hit *hit, struct ts_json *j)
{
    ts_json_obj(j);
    int rc = tsd_lookup_members(&w->ask->view, hit->series, j, w->err);
    ts_json_obj_end(j);
    return rc;
}

static int print_tsuid(struct search_work *w, const struct tsd_hit *hit, struct ts_json *j)
{
    struct ts_buf tsuid;
    ts_buf_init(&tsuid, 0);
    int rc = qry_ids_tsuid_of(&w->ask->view, hit->series, &tsuid, w->err);
    ts_json_slice(j, ts_buf_get(&tsuid));
    ts_buf_release(&tsuid);
    return rc == TS_ENOTFOUND ? 0 : rc;
}

static int print_record(struct search_work *w, const struct tsd_hit *hit, struct ts_json *j)
{
    (void)w;
    ts_json_obj(j);
    tsd_record_members(hit->record, j);
    ts_json_obj_end(j);
    return 0;
}

/* Write a hit if it is among those wanted. */
static bool search_hit(void *arg, const struct tsd_hit *hit)
{
    struct search_work *w = arg;
    struct ts_json j;
    if (w->n_found++ < (uint64_t)w->start || (w->limit && w->n_shown >= (uint64_t)w->limit))
        return true;
    tsd_meta_req_json(w->ask, w->n_shown++ ? "," : "", &j);
    w->rc = w->kind->print(w, hit, &j);
    if (w->rc == 0)
        w->rc = tsd_meta_req_write(w->ask, w->err);
    return w->rc == 0;
}

/* Print the series that were found, whose ids are looked up together. */
static bool lookup_flush(struct search_work *w)
{
    w->rc = qry_ids_load(&w->ask->view, w->found, w->n_waiting, w->err);
    for (size_t i = 0; i < w->n_waiting && w->rc == 0; i++)
        (void)search_hit(w, &(struct tsd_hit){.series = w->found[i]});
    w->n_waiting = 0;
    return w->rc == 0;
}

static bool lookup_hit(void *arg, const struct sto_series *s)
{
    struct search_work *w = arg;
    if (w->limit && w->n_found + w->n_waiting >= (uint64_t)w->start + (uint64_t)w->limit)
        return false;
    w->found[w->n_waiting++] = s;
    return w->n_waiting < LOOKUP_TOGETHER || lookup_flush(w);
}

/* --- walks --- */

static int run_lookup(struct search_work *w, struct ts_error *err)
{
    if (w->use_meta && !w->ask->meta_series && !w->always)
        return 0; /* as OpenTSDB without its meta table */
    int rc = tsd_lookup_run(&w->ask->view, &w->lookup, w->ask->limit, lookup_hit, w, err);
    if (rc == 0 && w->rc == 0)
        (void)lookup_flush(w);
    w->n_found = w->n_shown; /* what is returned, as OpenTSDB counts */
    return rc;
}

static int run_terms(struct search_work *w,
                     int (*walk)(struct qry_view *view, struct sto_store *st, const struct tsd_terms *terms,
                                 struct qry_limit *limit, tsd_hit_fn each, void *arg, struct ts_error *err),
                     struct ts_error *err)
{
    struct tsd_terms *terms;
    TS_TRY(tsd_terms_new(w->query, &terms, err));
    int rc = walk(&w->ask->view, w->ask->store, terms, w->ask->limit, search_hit, w, err);
    tsd_terms_free(terms);
    return rc;
}

static int run_series(struct search_work *w, struct ts_error *err)
{
    return run_terms(w, tsd_search_series, err);
}

static int run_names(struct search_work *w, struct ts_error *err)
{
    return run_terms(w, tsd_search_names, err);
}

static int run_deleted(struct search_work *w, struct ts_error *err)
{
    return run_terms(w, tsd_search_deleted, err);
}

static int run_notes(struct search_work *w, struct ts_error *err)
{
    return run_terms(w, tsd_search_notes, err);
}

static const struct search searches[] = {
    {"annotation", "ANNOTATION", run_notes, print_record},
    {"deleted", "DELETED", run_deleted, print_record},
    {"lookup", "LOOKUP", run_lookup, print_summary},
    {"tsmeta", "TSMETA", run_series, print_tsmeta},
    {"tsmeta_summary", "TSMETA_SUMMARY", run_series, print_summary},
    {"tsuids", "TSUIDS", run_series, print_tsuid},
    {"uidmeta", "UIDMETA", run_names, print_record},
};

/* --- requests --- */

static int search_number(const struct tsd_meta_req *ask, const char *name, int64_t *out, struct ts_error *err)
{
    struct ts_slice text;
    if (!tsd_meta_req_param(ask, name, &text))
        return 0;
    if (ts_num_parse_int(text, out, NULL) < 0 || *out < 0)
        return ts_error_set(err, TS_EINVAL, "Unable to parse '%s' as a number", name);
    return 0;
}

static int search_params(struct search_work *w, struct ts_error *err)
{
    struct ts_slice m, use_meta;
    TS_TRY(search_number(w->ask, "limit", &w->limit, err));
    TS_TRY(search_number(w->ask, "start_index", &w->start, err));
    (void)tsd_meta_req_param(w->ask, "query", &w->query);
    (void)tsd_meta_req_param(w->ask, "m", &m);
    if (tsd_meta_req_param(w->ask, "use_meta", &use_meta) && w->kind->run != run_lookup)
        w->use_meta = !ts_slice_is(use_meta, "false");
    return w->kind->run == run_lookup ? tsd_lookup_parse(m, w->ask->arena, &w->lookup, err) : 0;
}

/* "tags":[{"key":"k","value":"v"}] */
static int search_tags(struct search_work *w, const json_t *tags, struct ts_error *err)
{
    size_t n = json_array_size(tags);
    w->lookup.pairs = ts_arena_alloc(w->ask->arena, (n + 1) * sizeof(*w->lookup.pairs));
    for (size_t i = 0; i < n; i++) {
        const json_t *tag = json_array_get(tags, i);
        if (!json_is_object(tag))
            return ts_error_set(err, TS_EPARSE, "A tag must be an object with key and value");
        w->lookup.pairs[w->lookup.n_pairs++] =
            (struct sto_tag_text){tsd_meta_req_text(w->ask, json_object_get(tag, "key")),
                                  tsd_meta_req_text(w->ask, json_object_get(tag, "value"))};
    }
    if (w->kind->run == run_lookup && w->lookup.metric.n == 0 && n == 0)
        return ts_error_set(err, TS_EINVAL, "Missing metric and tags. Please supply at least one value.");
    return 0;
}

static int search_object(struct search_work *w, const json_t *root, struct ts_error *err)
{
    const json_t *limit = json_object_get(root, "limit"), *start = json_object_get(root, "startIndex");
    if (!json_is_object(root))
        return ts_error_set(err, TS_EPARSE, "Expected a JSON object");
    TS_TRY(tsd_meta_req_known(w->ask, root, NULL, "query limit startIndex useMeta metric tags", err));
    if (json_is_integer(limit))
        w->limit = json_integer_value(limit);
    if (json_is_integer(start))
        w->start = json_integer_value(start);
    if (w->limit < 0 || w->start < 0)
        return ts_error_set(err, TS_EINVAL, "limit and startIndex must not be negative");
    w->use_meta = !json_is_false(json_object_get(root, "useMeta"));
    w->query = tsd_meta_req_text(w->ask, json_object_get(root, "query"));
    w->lookup.metric = tsd_meta_req_text(w->ask, json_object_get(root, "metric"));
    return search_tags(w, json_object_get(root, "tags"), err);
}

static int search_request(struct search_work *w, struct ts_error *err)
{
    if (w->ask->method == TSD_GET)
        return search_params(w, err);
    json_t *root;
    TS_TRY(tsd_meta_req_body(w->ask, &root, err));
    int rc = search_object(w, root, err);
    json_decref(root);
    return rc;
}

/* --- answers --- */

static int search_head(struct search_work *w, struct ts_error *err)
{
    struct ts_json j;
    tsd_meta_req_json(w->ask, "", &j);
    ts_json_obj(&j);
    ts_json_member_str(&j, "type", w->kind->type);
    if (w->query.n)
        ts_json_member_slice(&j, "query", w->query);
    if (w->kind->run == run_lookup) {
        ts_json_member_slice(&j, "metric", w->lookup.metric.n ? w->lookup.metric : TS_SLICE_LIT("*"));
        ts_json_member_arr(&j, "tags");
        for (size_t i = 0; i < w->lookup.n_pairs; i++) {
            const struct sto_tag_text *p = &w->lookup.pairs[i];
            ts_json_obj(&j);
            ts_json_member_slice(&j, "key", p->k.n ? p->k : TS_SLICE_LIT("*"));
            ts_json_member_slice(&j, "value", p->v.n ? p->v : TS_SLICE_LIT("*"));
            ts_json_obj_end(&j);
        }
        ts_json_arr_end(&j);
    }
    ts_json_member_int(&j, "limit", w->limit);
    ts_json_member_int(&j, "startIndex", w->start);
    ts_json_key(&j, "results");
    ts_buf_char(&w->ask->text, '[');
    return tsd_meta_req_write(w->ask, err);
}

static int search_tail(struct search_work *w, int64_t began_ns, struct ts_error *err)
{
    double ms = (double)(ts_clock_mono_ns() - began_ns) / 1e6;
    struct ts_buf *text = &w->ask->text;
    ts_buf_clear(text);
    ts_buf_printf(text, "],\"totalResults\":%llu,\"time\":%.3f}", (unsigned long long)w->n_found, ms);
    return tsd_meta_req_write(w->ask, err);
}

static int search_answer(struct search_work *w, struct ts_error *err)
{
    int64_t began_ns = ts_clock_mono_ns();
    TS_TRY(search_head(w, err));
    TS_TRY(w->kind->run(w, err));
    TS_TRY(w->rc);
    return search_tail(w, began_ns, err);
}

static int search_run(struct tsd_meta_req *ask, bool always, struct ts_error *err)
{
    const char *slash = memrchr(ask->path.p, '/', ask->path.n);
    struct ts_slice name = {slash + 1, (size_t)(ask->path.p + ask->path.n - slash - 1)};
    struct search_work w = {
        .ask = ask, .limit = SEARCH_LIMIT, .use_meta = true, .always = always, .err = err};
    if (ask->method != TSD_GET && ask->method != TSD_POST)
        return ts_error_set(err, TS_EINVAL, "Unsupported method: %s", ask->method_name);
    for (size_t i = 0; i < sizeof(searches) / sizeof(searches[0]); i++)
        if (ts_slice_is(name, searches[i].name))
            w.kind = &searches[i];
    if (!w.kind) {
        (void)snprintf(ask->details, sizeof(ask->details), "Unknown type: %.*s", TS_SHOWN(name, 200));
        return ts_error_set(err, TS_EINVAL, "Invalid search query type supplied");
    }
    if (w.kind->run != run_lookup && !ask->search && !always) {
        (void)snprintf(ask->details, sizeof(ask->details), "Searching has not been enabled on this TSD");
        return ts_error_set(err, TS_EINVAL, "Searching is not enabled");
    }
    TS_TRY(search_request(&w, err));
    if (w.kind->run != run_lookup && w.query.n == 0)
        return ts_error_set(err, TS_EINVAL, "Missing query");
    w.lookup.compat = ask->rules->compat;
    int rc = w.kind->run == run_lookup ? tsd_lookup_check(&ask->view, &w.lookup, err) : 0;
    if (rc == TS_ENOTFOUND)
        rc = tsd_meta_req_not_found(ask, "Unable to resolve one or more UIDs", err);
    return rc < 0 ? rc : search_answer(&w, err);
}

int tsd_handle_search(struct tsd_meta_req *ask, struct ts_error *err)
{
    return search_run(ask, false, err);
}

int tsd_meta_req_find(struct tsd_meta_req *ask, struct ts_error *err)
{
    return search_run(ask, true, err);
}
