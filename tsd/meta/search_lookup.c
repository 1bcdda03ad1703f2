/*
 * search_lookup.c - names to ids, then a test of each candidate.
 *
 * Threads    see search_lookup.h
 */
#include "tsd/meta/search_lookup.h"

#include "base/cut.h"
#include "base/text.h"
#include "base/time.h"
#include "query/execution/select.h"
#include "query/ids.h"
#include "tsd/meta/series.h"

#define LOOKUP_CHECK 4096 /* candidates between two checks of the limit */

/* One pair as ids; 0 = any. */
struct lookup_pair {
    uint32_t k, v;
};

struct lookup_run {
    struct qry_view *view;     /* names and series */
    uint32_t metric;           /* 0 = any */
    struct lookup_pair *pairs; /* key by key, bare values first */
    size_t n;                  /* pairs */
    struct qry_limit *limit;   /* may be NULL */
    tsd_lookup_fn each;        /* gets what matches */
    void *arg;                 /* for each */
    uint64_t n_seen;           /* candidates */
    bool stopped;              /* each said so */
};

static bool lookup_any(struct ts_slice s)
{
    return s.n == 0 || ts_slice_is(s, "*");
}

/* --- parsing --- */

/* Add one pair "k=v", "k=", "=v" from a word; TS_EINVAL if there is no =. out->pairs must have space. */
static int lookup_word(struct ts_slice word, struct tsd_lookup *out, struct ts_error *err)
{
    const char *eq = word.n ? memchr(word.p, '=', word.n) : NULL;
    if (!eq || word.n == 1)
        return ts_error_set(err, TS_EINVAL, "invalid tag: %.*s", TS_SHOWN(word, 100));
    size_t k = (size_t)(eq - word.p);
    out->pairs[out->n_pairs++] = (struct sto_tag_text){{word.p, k}, {eq + 1, word.n - k - 1}};
    return 0;
}

int tsd_lookup_parse(struct ts_slice m, struct ts_arena *arena, struct tsd_lookup *out, struct ts_error *err)
{
    const char *open = m.n ? memchr(m.p, '{', m.n) : NULL;
    size_t n_metric = open ? (size_t)(open - m.p) : m.n;
    *out = (struct tsd_lookup){.metric = {m.p, n_metric}};
    if (open && m.p[m.n - 1] != '}')
        return ts_error_set(err, TS_EINVAL, "Missing '}' at the end of: %.*s", TS_SHOWN(m, 150));
    struct ts_slice in = open ? (struct ts_slice){open + 1, m.n - n_metric - 2} : (struct ts_slice){"", 0};
    out->pairs = ts_arena_alloc(arena, (in.n + 1) * sizeof(*out->pairs));
    while (in.n)
        TS_TRY(lookup_word(ts_slice_cut(&in, ','), out, err));
    if (out->metric.n == 0 && out->n_pairs == 0)
        return ts_error_set(err, TS_EINVAL, "Missing metric and tags. Please supply at least one value.");
    return 0;
}

/* --- ids --- */

static int lookup_id(struct qry_view *view, bool compat, enum sto_uid_kind kind, struct ts_slice name,
                     uint32_t *out, struct ts_error *err)
{
    static const char *const kinds[STO_UID_KINDS] = {"metrics", "tagk", "tagv"};
    *out = 0;
    int rc = lookup_any(name) ? 0 : qry_view_find(view, kind, name, out, err);
    if (rc != TS_ENOTFOUND)
        return rc;
    ts_error_set(err, TS_ENOTFOUND, "No such name for '%s': '%.*s'", kinds[kind], TS_SHOWN(name, 150));
    if (!compat)
        qry_select_near(view, kind, name, NULL, err);
    return TS_ENOTFOUND;
}

static int lookup_ids(struct qry_view *view, const struct tsd_lookup *what, struct lookup_run *r,
                      struct ts_arena *arena, struct ts_error *err)
{
    TS_TRY(lookup_id(view, what->compat, STO_UID_METRIC, what->metric, &r->metric, err));
    r->pairs = ts_arena_alloc(arena, (what->n_pairs + 1) * sizeof(*r->pairs));
    for (size_t i = 0; i < what->n_pairs; i++) {
        struct lookup_pair p;
        TS_TRY(lookup_id(view, what->compat, STO_UID_TAGK, what->pairs[i].k, &p.k, err));
        TS_TRY(lookup_id(view, what->compat, STO_UID_TAGV, what->pairs[i].v, &p.v, err));
        if (!p.k && !p.v)
            continue; /* anything */
        size_t at = r->n++;
        for (; at && r->pairs[at - 1].k > p.k; at--)
            r->pairs[at] = r->pairs[at - 1];
        r->pairs[at] = p;
    }
    return 0;
}

int tsd_lookup_check(struct qry_view *view, const struct tsd_lookup *what, struct ts_error *err)
{
    struct lookup_run r = {.view = view};
    struct ts_arena arena;
    ts_arena_init(&arena, 0);
    int rc = lookup_ids(view, what, &r, &arena, err);
    ts_arena_release(&arena);
    return rc;
}

/* --- series --- */

/* Does one of the series' tags meet one of the pairs of this key? */
static bool lookup_one_of(const struct sto_series *s, const struct lookup_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < s->n_tags; t++)
            if ((!pairs[i].k || pairs[i].k == s->tags[t].k) && (!pairs[i].v || pairs[i].v == s->tags[t].v))
                return true;
    return false;
}

static bool lookup_matches(const struct lookup_run *r, const struct sto_series *s)
{
    if (r->metric && s->metric != r->metric)
        return false;
    for (size_t i = 0, end; i < r->n; i = end) {
        for (end = i + 1; end < r->n && r->pairs[end].k == r->pairs[i].k;)
            end++;
        if (!lookup_one_of(s, r->pairs + i, end - i))
            return false;
    }
    return true;
}

static int lookup_late(struct lookup_run *r, struct ts_error *err)
{
    if (!r->limit || ++r->n_seen % LOOKUP_CHECK)
        return 0;
    if (atomic_load_explicit(&r->limit->cancelled, memory_order_relaxed))
        return ts_error_set(err, TS_ECANCELLED, "the client went away");
    if (qry_limit_late(r->limit))
        return ts_error_set(err, TS_ETIMEOUT, "Search took longer than query_timeout_ms");
    return 0;
}

static int lookup_offer(struct lookup_run *r, uint32_t id, struct ts_error *err)
{
    const struct sto_series *s = qry_view_series(r->view, id);
    if (s && lookup_matches(r, s) && !sto_name_internal(qry_view_name(r->view, STO_UID_METRIC, s->metric)))
        r->stopped = !r->each(r->arg, s);
    return lookup_late(r, err);
}

/* Is the i-th pair the only one of its key, which is given? */
static bool lookup_alone(const struct lookup_run *r, size_t i)
{
    return r->pairs[i].k && (i == 0 || r->pairs[i - 1].k != r->pairs[i].k) &&
           (i + 1 == r->n || r->pairs[i + 1].k != r->pairs[i].k);
}

/* Keys with one value narrow the set; what is left is tested one by one. */
static int lookup_metric(struct sto_catalog *cat, struct lookup_run *r, struct ts_arena *arena,
                         struct ts_error *err)
{
    if (r->metric >= STO_FOREIGN)
        return 0; /* the catalog has no series of it */
    struct sto_tag_cond *conds = ts_arena_zalloc(arena, (r->n + 1) * sizeof(*conds));
    roaring_bitmap_t *set;
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if ((r->pairs[i].k | r->pairs[i].v) >= STO_FOREIGN)
            continue; /* no series of the catalog will match */
        if (lookup_alone(r, i) && r->pairs[i].v)
            conds[n++] =
                (struct sto_tag_cond){.tagk = r->pairs[i].k, .values = &r->pairs[i].v, .n_values = 1};
    }
    TS_TRY(sto_select(cat, r->metric, conds, n, false, NULL, &set, err));
    roaring_uint32_iterator_t it;
    roaring_init_iterator(set, &it);
    int rc = 0;
    for (; it.has_value && !r->stopped && rc == 0; roaring_advance_uint32_iterator(&it))
        rc = lookup_offer(r, it.current_value, err);
    roaring_bitmap_free(set);
    return rc;
}

/* --- series that only the remote store has --- */

static int lookup_remote_metric(struct lookup_run *r, struct ts_slice metric, struct qry_budget *budget,
                                struct ts_arena *arena, struct ts_error *err)
{
    struct qry_view_ask ask = {.metric = metric, .from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    struct qry_view_cond *conds = ts_arena_zalloc(arena, (r->n + 1) * sizeof(*conds));
    struct ts_slice *values = ts_arena_zalloc(arena, (r->n + 1) * sizeof(*values));
    for (size_t i = 0; i < r->n; i++) {
        if (!lookup_alone(r, i))
            continue;
        struct qry_view_cond *c = &conds[ask.n_conds++];
        c->tagk = qry_view_name(r->view, STO_UID_TAGK, r->pairs[i].k);
        if (!r->pairs[i].v)
            continue;
        values[i] = qry_view_name(r->view, STO_UID_TAGV, r->pairs[i].v);
        c->values = &values[i];
        c->n_values = 1;
    }
    ask.conds = conds;
    roaring_bitmap_t *set = roaring_bitmap_create();
    int rc = qry_view_add(r->view, &ask, budget, set, err);
    roaring_uint32_iterator_t it;
    roaring_init_iterator(set, &it);
    for (; it.has_value && !r->stopped && rc == 0; roaring_advance_uint32_iterator(&it))
        if (it.current_value >= STO_FOREIGN) /* others were offered before */
            rc = lookup_offer(r, it.current_value, err);
    roaring_bitmap_free(set);
    return rc;
}

/* Metrics of the remote store. */
struct lookup_metrics {
    struct ts_budget *memory;
    struct ts_slice *names; /* borrowed from the view */
    size_t n, cap;
    int rc;
    struct ts_error *err;
};

static void lookup_take_metric(void *arg, uint32_t id, struct ts_slice name)
{
    struct lookup_metrics *m = arg;
    (void)id;
    if (m->rc == 0)
        m->rc = ts_budget_grow(m->memory, &m->names, &m->cap, m->n + 1, sizeof *m->names, m->err);
    if (m->rc == 0)
        m->names[m->n++] = name;
}

static int lookup_remote(struct lookup_run *r, struct ts_arena *arena, struct ts_error *err)
{
    struct qry_budget budget;
    struct ts_error why = {0};
    qry_budget_init(&budget, r->limit);
    struct lookup_metrics m = {.memory = budget.memory, .err = err};
    int rc = 0;
    if (r->metric)
        lookup_take_metric(&m, r->metric, qry_view_name(r->view, STO_UID_METRIC, r->metric));
    else
        rc = qry_view_suggest(r->view, STO_UID_METRIC, (struct ts_slice){"", 0}, SIZE_MAX, lookup_take_metric,
                              &m, err);
    rc = rc < 0 ? rc : m.rc;
    for (size_t i = 0; i < m.n && !r->stopped && rc == 0; i++)
        rc = lookup_remote_metric(r, m.names[i], &budget, arena, err);
    ts_budget_free(m.memory, m.names, m.cap * sizeof *m.names);
    if (rc < 0 && err && qry_budget_result(&budget, &why) < 0)
        *err = why;
    return rc;
}

int tsd_lookup_run(struct qry_view *view, const struct tsd_lookup *what, struct qry_limit *limit,
                   tsd_lookup_fn each, void *arg, struct ts_error *err)
{
    struct sto_catalog *cat = view->cat;
    struct lookup_run r = {.view = view, .limit = limit, .each = each, .arg = arg};
    struct ts_arena arena;
    ts_arena_init(&arena, 0);
    int rc = lookup_ids(view, what, &r, &arena, err);
    if (rc == 0 && r.metric)
        rc = lookup_metric(cat, &r, &arena, err);
    else if (rc == 0)
        for (uint32_t id = 0, n = sto_series_count(cat); id < n && !r.stopped && rc == 0; id++)
            rc = lookup_offer(&r, id, err);
    if (rc == 0 && !r.stopped && qry_view_remote(view))
        rc = lookup_remote(&r, &arena, err);
    ts_arena_release(&arena);
    return rc;
}

int tsd_lookup_members(struct qry_view *view, const struct sto_series *s, struct ts_json *j,
                       struct ts_error *err)
{
    struct ts_buf tsuid;
    ts_buf_init(&tsuid, 0);
    int rc = qry_ids_tsuid_of(view, s, &tsuid, err);
    if (rc == 0)
        ts_json_member_slice(j, "tsuid", ts_buf_get(&tsuid));
    ts_buf_release(&tsuid);
    tsd_series_members(view, s, j);
    return rc == TS_ENOTFOUND ? 0 : rc;
}
