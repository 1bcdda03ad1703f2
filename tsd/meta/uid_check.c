/*
 * uid_check.c - /api/uid/fsck: do names, series and metadata agree? POST deletes metadata of names and series
 * that do not exist.
 *
 * The catalog's log is checked when it is read; this looks for errors that no single record can show.
 *
 * Threads    see request.h
 * Source     docs/OPENTSDB.md, section 11.5 (uid fsck)
 */
#include "query/tsuid.h"
#include "base/text.h"
#include "tsd/meta/request.h"
#include "tsd/meta/uidmeta.h"

#define CHECK_FINDINGS_MAX 1000 /* reported one by one; all are counted */

struct uid_check {
    struct sto_store *store; /* checked */
    struct ts_json json;     /* array of findings */
    uint64_t n_names;        /* looked at */
    uint64_t n_errors;       /* found */
    bool fix;                /* delete what can be deleted */
    int rc;                  /* why a fix failed */
    struct ts_error *err;    /* the same */
};

__attribute__((format(printf, 2, 3))) static void check_found(struct uid_check *c, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (c->n_errors++ >= CHECK_FINDINGS_MAX)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ts_json_str(&c->json, text);
}

/* An id and its name must find each other. */
static void check_names(struct uid_check *c, enum sto_uid_kind kind)
{
    struct sto_catalog *cat = sto_store_catalog(c->store);
    uint32_t max = sto_uid_max(cat, kind), other;
    for (uint32_t id = 1; id <= max; id++) {
        struct ts_slice name = sto_uid_name(cat, kind, id);
        int n = (int)(name.n < 200 ? name.n : 200);
        if (!name.p)
            continue; /* a hole: lost in a crash, used by nothing */
        c->n_names++;
        int rc = sto_uid_find(cat, kind, name, &other);
        if ((rc < 0 || other != id) && !sto_uid_name(cat, kind, id).p)
            continue; /* forgotten this moment */
        if (rc < 0)
            check_found(c, "%s %06X: its name %.*s does not lead back to it", tsd_uid_kind_name(kind), id, n,
                        name.p);
        else if (other != id)
            check_found(c, "%s %06X: its name %.*s leads to %06X", tsd_uid_kind_name(kind), id, n, name.p,
                        other);
    }
}

static void check_series(struct uid_check *c)
{
    struct sto_catalog *cat = sto_store_catalog(c->store);
    for (uint32_t id = 0, n = sto_series_count(cat); id < n; id++) {
        const struct sto_series *s = sto_series_get(cat, id);
        bool ok = !s || sto_uid_name(cat, STO_UID_METRIC, s->metric).p;
        for (unsigned t = 0; s && t < s->n_tags; t++)
            ok = ok && sto_uid_name(cat, STO_UID_TAGK, s->tags[t].k).p &&
                 sto_uid_name(cat, STO_UID_TAGV, s->tags[t].v).p;
        if (!ok)
            check_found(c, "series %u has an id without a name", id);
    }
}

static bool check_drop(struct uid_check *c, struct ts_slice key)
{
    if (c->fix)
        c->rc = sto_cell_put(c->store, key, (struct ts_slice){NULL, 0}, c->err);
    return c->rc == 0;
}

/* key: "uidmeta/" kind id */
static bool check_uidmeta(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct uid_check *c = arg;
    const unsigned char *p = (const unsigned char *)key.p + 8;
    (void)value;
    if (key.n == 13 && *p < STO_UID_KINDS) {
        enum sto_uid_kind kind = (enum sto_uid_kind) * p;
        uint32_t id = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
        if (sto_uid_name(sto_store_catalog(c->store), kind, id).p)
            return true;
        check_found(c, "%s %06X: metadata of an id without a name", tsd_uid_kind_name(kind), id);
    } else {
        check_found(c, "metadata with a key that makes no sense");
    }
    return check_drop(c, key);
}

/* key: "tsmeta/" TSUID */
static bool check_tsmeta(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct uid_check *c = arg;
    const struct sto_series *s;
    struct ts_slice tsuid = {key.p + 7, key.n - 7};
    (void)value;
    if (qry_tsuid_series(sto_store_catalog(c->store), tsuid, &s, NULL) == 0)
        return true;
    check_found(c, "%.*s: metadata of no series", TS_SHOWN(tsuid, 200));
    return check_drop(c, key);
}

int tsd_handle_uid_fsck(struct tsd_meta_req *ask, struct ts_error *err)
{
    struct uid_check c = {.store = ask->store, .fix = ask->method == TSD_POST, .err = err};
    tsd_meta_req_json(ask, "{\"findings\":", &c.json);
    ts_json_arr(&c.json);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        check_names(&c, (enum sto_uid_kind)kind);
    check_series(&c);
    sto_cell_each(ask->store, TS_SLICE_LIT("uidmeta/"), check_uidmeta, &c);
    if (c.rc == 0)
        sto_cell_each(ask->store, TS_SLICE_LIT("tsmeta/"), check_tsmeta, &c);
    ts_json_arr_end(&c.json);
    ts_buf_printf(&ask->text, ",\"names\":%llu,\"errors\":%llu}", (unsigned long long)c.n_names,
                  (unsigned long long)c.n_errors);
    return c.rc < 0 ? c.rc : tsd_meta_req_write(ask, err);
}
