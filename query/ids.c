/*
 * ids.c - ids of names as clients see them.
 *
 * A call of the remote store looks up up to BATCH names. What it reports is kept in hash tables of the view, by the ids that names have there.
 */
#include "query/ids.h"

#include "base/hash.h"
#include "base/text.h"
#include "query/tsuid.h"
#include "query/view_int.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BATCH     1024 /* names of a call */
#define FEW_SLOTS 64u

bool qry_ids_remote(const struct qry_view *view)
{
    return view->remote && view->remote->ops->abilities(view->remote)->id_bytes[STO_REMOTE_METRIC] > 0;
}

static unsigned id_digits(const struct qry_view *view, enum sto_uid_kind kind)
{
    return 2u * view->remote->ops->abilities(view->remote)->id_bytes[kind];
}

/* Kind of the i-th id of a TSUID. */
static enum sto_uid_kind kind_at(size_t i)
{
    return i == 0 ? STO_UID_METRIC : i % 2 ? STO_UID_TAGK : STO_UID_TAGV;
}

/* --- what was looked up --- */
static struct qry_view_remote_id *id_slot(const struct qry_view_remote_ids *t, uint32_t id)
{
    size_t at = (size_t)ts_hash_u64(id) & (t->n_slots - 1);
    while (t->slots[at].id && t->slots[at].id != id)
        at = (at + 1) & (t->n_slots - 1);
    return &t->slots[at];
}

/* NULL: it was not looked up. */
static const struct qry_view_remote_id *id_known(const struct qry_view *view, enum sto_uid_kind kind,
                                                 uint32_t id)
{
    const struct qry_view_remote_ids *t = &view->ids[kind];
    const struct qry_view_remote_id *slot = t->n_slots ? id_slot(t, id) : NULL;
    return slot && slot->id ? slot : NULL;
}

static int ids_grow(struct qry_view *view, struct qry_view_remote_ids *t, struct ts_error *err)
{
    struct qry_view_remote_ids more = {.n = t->n, .n_slots = t->n_slots ? t->n_slots * 2 : FEW_SLOTS};
    more.slots = ts_budget_calloc(view->memory, more.n_slots, sizeof *more.slots, err);
    if (!more.slots)
        return qry_memory_code(err);
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slots[i].id)
            *id_slot(&more, t->slots[i].id) = t->slots[i];
    ts_budget_free(view->memory, t->slots, t->n_slots * sizeof *t->slots);
    *t = more;
    return 0;
}

static int id_keep(struct qry_view *view, enum sto_uid_kind kind, uint32_t id, uint64_t remote,
                   struct ts_error *err)
{
    struct qry_view_remote_ids *t = &view->ids[kind];
    if (2 * (t->n + 1) > t->n_slots)
        TS_TRY(ids_grow(view, t, err));
    struct qry_view_remote_id *slot = id_slot(t, id);
    t->n += slot->id == 0;
    *slot = (struct qry_view_remote_id){id, remote};
    return 0;
}

/* --- calls --- */
/* A call that somebody waits for. */
struct waiting {
    struct qry_view *view;
    struct sto_remote_name *list;
    size_t n;
    bool by_id; /* names are copied into the arena of the view */
    pthread_mutex_t mu;
    pthread_cond_t answered;
    bool done; /* under mu, as the following */
    int rc;
    struct ts_error err;
};

/* Copy the names, which are borrowed until the caller returns. The thread that owns the arena waits meanwhile. */
static int copy_names(struct waiting *w, struct ts_error *err)
{
    for (size_t i = 0; i < w->n; i++) {
        struct sto_remote_name *name = &w->list[i];
        if (name->rc < 0)
            continue;
        char *copy = qry_arena_take(&w->view->arena, name->name.n + 1, 1, err);
        if (!copy)
            return qry_memory_code(err);
        memcpy(copy, name->name.p, name->name.n);
        name->name.p = copy;
    }
    return 0;
}

static void call_done(void *arg, int rc, const struct ts_error *err)
{
    struct waiting *w = arg;
    pthread_mutex_lock(&w->mu);
    if (err)
        w->err = *err;
    w->rc = rc == 0 && w->by_id ? copy_names(w, &w->err) : rc;
    w->done = true;
    pthread_cond_signal(&w->answered);
    pthread_mutex_unlock(&w->mu);
}

/* 0; 1: the request continues without the remote store; errors of ids.h. */
static int call(struct qry_view *view, enum sto_remote_lookup what, struct sto_remote_name *list, size_t n,
                struct ts_error *err)
{
    if (!qry_view_remote(view))
        return 1;
    TS_TRY(qry_view__may_wait(err));
    struct sto_remote_call limits = qry_view_call(view);
    struct waiting w = {.view = view, .list = list, .n = n, .by_id = what == STO_REMOTE_BY_ID};
    pthread_mutex_init(&w.mu, NULL);
    pthread_cond_init(&w.answered, NULL);
    view->remote->ops->names(view->remote, what, list, n, &limits, call_done, &w);
    pthread_mutex_lock(&w.mu);
    while (!w.done)
        pthread_cond_wait(&w.answered, &w.mu);
    pthread_mutex_unlock(&w.mu);
    pthread_cond_destroy(&w.answered);
    pthread_mutex_destroy(&w.mu);
    if (w.rc == 0)
        return 0;
    if (err)
        *err = w.err;
    int rc = qry_view_failed(view, w.rc, err);
    return rc == 0 ? 1 : rc;
}

/* --- loading --- */
/* Names that are being looked up. */
struct batch {
    struct qry_view *view;
    struct sto_remote_name list[BATCH];
    uint32_t ids[BATCH]; /* in the view */
    size_t n;
};

static int batch_send(struct batch *b, struct ts_error *err)
{
    size_t n = b->n;
    b->n = 0;
    int rc = n ? call(b->view, STO_REMOTE_MAKE, b->list, n, err) : 1;
    if (rc != 0)
        return rc < 0 ? rc : 0;
    for (size_t i = 0; i < n; i++) {
        const struct sto_remote_name *name = &b->list[i];
        if (name->rc < 0 && name->rc != TS_EINVAL && name->rc != TS_ENOTFOUND)
            return ts_error_set(err, name->rc, "The remote store %s gives no id to the name %.*s",
                                b->view->remote->ops->name, TS_SHOWN(name->name, 100));
        TS_TRY(id_keep(b->view, (enum sto_uid_kind)name->kind, b->ids[i], name->rc < 0 ? 0 : name->id, err));
    }
    return 0;
}

static int batch_add(struct batch *b, enum sto_uid_kind kind, uint32_t id, struct ts_error *err)
{
    if (id_known(b->view, kind, id))
        return 0;
    struct ts_slice name = qry_view_name(b->view, kind, id);
    if (!name.p || sto_name_internal(name) || sto_uid_deleted(name))
        return id_keep(b->view, kind, id, 0, err);
    for (size_t i = b->n;
         i-- > 0 && b->n - i <= 8;) /* neighbours often share a name; the store merges the others */
        if (b->ids[i] == id && b->list[i].kind == (enum sto_remote_kind)kind)
            return 0;
    b->list[b->n] = (struct sto_remote_name){.kind = (enum sto_remote_kind)kind, .name = name};
    b->ids[b->n++] = id;
    return b->n == BATCH ? batch_send(b, err) : 0;
}

static struct batch *batch_new(struct qry_view *view, struct ts_error *err)
{
    struct batch *b = ts_budget_alloc(view->memory, sizeof *b, err);
    if (b)
        b->view = view, b->n = 0;
    return b;
}

/* Send the rest, and free it. */
static int batch_end(struct batch *b, int rc, struct ts_error *err)
{
    if (rc == 0)
        rc = batch_send(b, err);
    ts_budget_free(b->view->memory, b, sizeof *b);
    return rc;
}

static bool series_known(const struct qry_view *view, const struct sto_series *s)
{
    bool all = id_known(view, STO_UID_METRIC, s->metric) != NULL;
    for (size_t i = 0; i < s->n_tags && all; i++)
        all = id_known(view, STO_UID_TAGK, s->tags[i].k) && id_known(view, STO_UID_TAGV, s->tags[i].v);
    return all;
}

int qry_ids_load(struct qry_view *view, const struct sto_series *const *series, size_t n,
                 struct ts_error *err)
{
    size_t first = 0;
    if (!qry_ids_remote(view) || !qry_view_remote(view))
        return 0;
    while (first < n && series_known(view, series[first]))
        first++;
    if (first == n)
        return 0;
    struct batch *b = batch_new(view, err);
    int rc = b ? 0 : qry_memory_code(err);
    for (size_t i = first; i < n && rc == 0; i++) {
        const struct sto_series *s = series[i];
        rc = batch_add(b, STO_UID_METRIC, s->metric, err);
        for (size_t t = 0; t < s->n_tags && rc == 0; t++) {
            rc = batch_add(b, STO_UID_TAGK, s->tags[t].k, err);
            if (rc == 0)
                rc = batch_add(b, STO_UID_TAGV, s->tags[t].v, err);
        }
    }
    return b ? batch_end(b, rc, err) : rc;
}

int qry_ids_load_names(struct qry_view *view, enum sto_uid_kind kind, const uint32_t *ids, size_t n,
                       struct ts_error *err)
{
    size_t first = 0;
    if (!qry_ids_remote(view) || !qry_view_remote(view))
        return 0;
    while (first < n && id_known(view, kind, ids[first]))
        first++;
    if (first == n)
        return 0;
    struct batch *b = batch_new(view, err);
    int rc = b ? 0 : qry_memory_code(err);
    for (size_t i = first; i < n && rc == 0; i++)
        rc = batch_add(b, kind, ids[i], err);
    return b ? batch_end(b, rc, err) : rc;
}

int qry_ids_of_name(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name, bool make,
                    uint64_t *out_id, struct ts_error *err)
{
    struct sto_remote_name one = {.kind = (enum sto_remote_kind)kind, .name = name};
    *out_id = 0;
    int rc = call(view, make ? STO_REMOTE_MAKE : STO_REMOTE_FIND, &one, 1, err);
    if (rc != 0)
        return rc < 0 ? rc : TS_ENOTFOUND;
    if (one.rc == TS_EINVAL)
        return ts_error_set(err, TS_EINVAL, "The remote store %s cannot hold the name %.*s",
                            view->remote->ops->name, TS_SHOWN(name, 100));
    if (one.rc == 0)
        *out_id = one.id;
    return one.rc;
}

/* --- printing --- */
static void print_id(struct ts_buf *out, unsigned digits, uint64_t id)
{
    char text[QRY_IDS_UID_HEX];
    for (unsigned i = digits; i-- > 0; id >>= 4)
        text[i] = "0123456789ABCDEF"[id & 15];
    ts_buf_append(out, text, digits);
}

void qry_ids_print(const struct qry_view *view, enum sto_uid_kind kind, uint64_t remote_id,
                   struct ts_buf *out)
{
    print_id(out, id_digits(view, kind), remote_id);
}

struct remote_tag {
    uint64_t k, v;
};

static int cmp_remote_tag(const void *pa, const void *pb)
{
    const struct remote_tag *a = pa, *b = pb;
    return a->k < b->k ? -1 : a->k > b->k;
}

/* False: one of the names has no id. */
static bool print_series(const struct qry_view *view, uint32_t metric, const struct sto_tag *tags,
                         size_t n_tags, struct ts_buf *out)
{
    struct remote_tag ids[QRY_VIEW_MAX_TAGS];
    const struct qry_view_remote_id *m = id_known(view, STO_UID_METRIC, metric);
    bool all = m && m->remote;
    for (size_t i = 0; i < n_tags && all; i++) {
        const struct qry_view_remote_id *k = id_known(view, STO_UID_TAGK, tags[i].k);
        const struct qry_view_remote_id *v = id_known(view, STO_UID_TAGV, tags[i].v);
        all = k && v && k->remote && v->remote;
        if (all)
            ids[i] = (struct remote_tag){k->remote, v->remote};
    }
    if (!all)
        return false;
    qsort(ids, n_tags, sizeof *ids, cmp_remote_tag);
    qry_ids_print(view, STO_UID_METRIC, m->remote, out);
    for (size_t i = 0; i < n_tags; i++) {
        qry_ids_print(view, STO_UID_TAGK, ids[i].k, out);
        qry_ids_print(view, STO_UID_TAGV, ids[i].v, out);
    }
    return true;
}

bool qry_ids_tsuid(const struct qry_view *view, const struct sto_series *s, struct ts_buf *out)
{
    if (qry_ids_remote(view))
        return print_series(view, s->metric, s->tags, s->n_tags, out);
    if (qry_series_foreign(s))
        return false; /* its ids mean nothing to the client */
    qry_tsuid(s, out);
    return true;
}

size_t qry_ids_metric_digits(const struct qry_view *view, const struct sto_series *s)
{
    uint32_t all = s->metric;
    for (size_t i = 0; i < s->n_tags; i++)
        all |= s->tags[i].k | s->tags[i].v;
    return qry_ids_remote(view) ? id_digits(view, STO_UID_METRIC) : all >> 24 ? 8 : 6;
}

int qry_ids_tsuid_of(struct qry_view *view, const struct sto_series *s, struct ts_buf *out,
                     struct ts_error *err)
{
    TS_TRY(qry_ids_load(view, &s, 1, err));
    return qry_ids_tsuid(view, s, out) ? 0 : TS_ENOTFOUND;
}

int qry_ids_hex(struct qry_view *view, enum sto_uid_kind kind, uint32_t id, struct ts_buf *out,
                struct ts_error *err)
{
    if (!qry_ids_remote(view)) {
        print_id(out, id >> 24 ? 8 : 6, id);
        return 0;
    }
    TS_TRY(qry_ids_load_names(view, kind, &id, 1, err));
    const struct qry_view_remote_id *known = id_known(view, kind, id);
    if (!known || !known->remote)
        return TS_ENOTFOUND;
    qry_ids_print(view, kind, known->remote, out);
    return 0;
}

int qry_ids_shown(struct qry_view *view, struct ts_slice local, struct ts_buf *out, struct ts_error *err)
{
    return qry_ids_shown_from(view, view, local, out, err);
}

int qry_ids_shown_from(struct qry_view *view, const struct qry_view *from, struct ts_slice local,
                       struct ts_buf *out, struct ts_error *err)
{
    uint32_t ids[QRY_TSUID_MAX_IDS];
    struct sto_tag tags[QRY_TSUID_MAX_IDS / 2];
    size_t n = 0;
    bool names = qry_tsuid_ids(local, ids, &n) == 0;
    for (size_t i = 0; i < n && names; i++)
        if (ids[i] >= STO_FOREIGN && view->remote && !qry_ids_remote(view))
            return TS_ENOTFOUND; /* of the view; it means nothing to the client */
    names = names && qry_ids_remote(view);
    for (size_t i = 0; i < n && names; i++)
        names = qry_view_name(from, kind_at(i), ids[i]).p != NULL;
    if (!names) {
        ts_buf_slice(out, local);
        return 0;
    }
    for (size_t i = 0; i < n && from != view; i++)
        if (ids[i] >= STO_FOREIGN)
            TS_TRY(qry_view_find(view, kind_at(i), qry_view_name(from, kind_at(i), ids[i]), &ids[i], err));
    for (size_t i = 0; i < n; i++)
        TS_TRY(qry_ids_load_names(view, kind_at(i), &ids[i], 1, err));
    for (size_t i = 0; i < n / 2; i++)
        tags[i] = (struct sto_tag){ids[1 + 2 * i], ids[2 + 2 * i]};
    return print_series(view, ids[0], tags, n / 2, out) ? 0 : TS_ENOTFOUND;
}

/* --- from clients --- */
static int parse_hex(struct ts_slice hex, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < hex.n; i++) {
        char c = hex.p[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                       : -1;
        if (d < 0)
            return TS_EINVAL;
        *out = *out << 4 | (uint64_t)d;
    }
    return 0;
}

/* Divide a TSUID into ids of the remote store. */
static int parse_tsuid(const struct qry_view *view, struct ts_slice hex, struct sto_remote_name *list,
                       size_t *out_n)
{
    size_t n = 0;
    for (; hex.n && n < QRY_TSUID_MAX_IDS; n++) {
        size_t digits = id_digits(view, kind_at(n));
        if (hex.n < digits)
            return TS_EINVAL;
        list[n] = (struct sto_remote_name){.kind = (enum sto_remote_kind)kind_at(n)};
        TS_TRY(parse_hex((struct ts_slice){hex.p, digits}, &list[n].id));
        hex = (struct ts_slice){hex.p + digits, hex.n - digits};
    }
    *out_n = n;
    return hex.n || n % 2 == 0 ? TS_EINVAL : 0;
}

/* Look up the names of ids; those the catalog lacks enter the view. ids: what they are in the view. */
static int find_names(struct qry_view *view, struct sto_remote_name *list, size_t n, uint32_t *ids,
                      struct ts_error *err)
{
    int rc = call(view, STO_REMOTE_BY_ID, list, n, err);
    if (rc != 0)
        return rc < 0 ? rc : TS_ENOTFOUND;
    for (size_t i = 0; i < n; i++) {
        enum sto_uid_kind kind = (enum sto_uid_kind)list[i].kind;
        if (list[i].rc < 0)
            return list[i].rc;
        TS_TRY(qry_view__intern(view, kind, list[i].name, &ids[i], err));
        TS_TRY(id_keep(view, kind, ids[i], list[i].id, err));
    }
    return 0;
}

static int no_tsuid(int rc, struct ts_slice hex, struct ts_error *err)
{
    return rc == TS_EINVAL      ? ts_error_set(err, rc, "Invalid TSUID: %.*s", TS_SHOWN(hex, 150))
           : rc == TS_ENOTFOUND ? ts_error_set(err, rc, "No such TSUID: %.*s", TS_SHOWN(hex, 150))
                                : rc;
}

/* The names of a TSUID, and their ids in the view: the metric, then keys and values in turn. */
static int find_tsuid(struct qry_view *view, struct ts_slice hex, struct sto_remote_name *list, uint32_t *ids,
                      size_t *out_n, struct ts_error *err)
{
    int rc = parse_tsuid(view, hex, list, out_n);
    if (rc == 0)
        rc = find_names(view, list, *out_n, ids, err);
    return no_tsuid(rc, hex, err);
}

static int cmp_tag_names(const void *pa, const void *pb)
{
    const struct sto_remote_tag *a = pa, *b = pb;
    return ts_slice_cmp(a->k, b->k);
}

int qry_ids_series(struct qry_view *view, struct ts_slice hex, const struct sto_series **out,
                   struct ts_error *err)
{
    struct sto_remote_name list[QRY_TSUID_MAX_IDS];
    struct sto_remote_tag tags[QRY_TSUID_MAX_IDS / 2];
    uint32_t ids[QRY_TSUID_MAX_IDS];
    size_t n;
    *out = NULL;
    if (!qry_ids_remote(view))
        return qry_tsuid_series(view->cat, hex, out, err);
    TS_TRY(find_tsuid(view, hex, list, ids, &n, err));
    if (n < 3)
        return no_tsuid(TS_ENOTFOUND, hex, err);
    for (size_t i = 0; i < n / 2; i++)
        tags[i] = (struct sto_remote_tag){list[1 + 2 * i].name, list[2 + 2 * i].name};
    qsort(tags, n / 2, sizeof *tags, cmp_tag_names);
    for (size_t i = 1; i < n / 2; i++)
        if (ts_slice_eq(tags[i - 1].k, tags[i].k))
            return no_tsuid(TS_EINVAL, hex, err);
    struct sto_remote_series names = {
        .key = STO_REMOTE_NO_KEY, .metric = list[0].name, .tags = tags, .n_tags = n / 2};
    return qry_view__series(view, &names, out, err);
}

int qry_ids_find(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice hex, uint32_t *out_id,
                 struct ts_error *err)
{
    struct sto_remote_name one = {.kind = (enum sto_remote_kind)kind};
    if (!hex.n || hex.n != id_digits(view, kind) || parse_hex(hex, &one.id) < 0)
        return TS_EINVAL;
    return find_names(view, &one, 1, out_id, err);
}

int qry_ids_adopt(struct qry_view *view, enum sto_uid_kind kind, uint32_t *id, struct ts_error *err)
{
    return *id < STO_FOREIGN ? 0 : sto_uid_make(view->cat, kind, qry_view_name(view, kind, *id), id, err);
}

static int cmp_tag(const void *pa, const void *pb)
{
    const struct sto_tag *a = pa, *b = pb;
    return a->k < b->k ? -1 : a->k > b->k;
}

int qry_ids_local(struct qry_view *view, struct ts_slice hex, struct ts_buf *out, struct ts_error *err)
{
    struct sto_remote_name list[QRY_TSUID_MAX_IDS];
    uint32_t ids[QRY_TSUID_MAX_IDS];
    size_t n;
    if (!qry_ids_remote(view))
        return qry_tsuid_plain(hex, out, err);
    TS_TRY(find_tsuid(view, hex, list, ids, &n, err));
    for (size_t i = 0; i < n; i++)
        TS_TRY(qry_ids_adopt(view, kind_at(i), &ids[i], err));
    struct sto_series *s = ts_budget_alloc(view->memory, sizeof *s + n / 2 * sizeof *s->tags, err);
    if (!s)
        return qry_memory_code(err);
    *s = (struct sto_series){.metric = ids[0], .n_tags = (uint8_t)(n / 2)};
    for (size_t i = 0; i < n / 2; i++)
        s->tags[i] = (struct sto_tag){ids[1 + 2 * i], ids[2 + 2 * i]};
    qsort(s->tags, n / 2, sizeof *s->tags, cmp_tag);
    qry_tsuid(s, out);
    ts_budget_free(view->memory, s, sizeof *s + n / 2 * sizeof *s->tags);
    return 0;
}
