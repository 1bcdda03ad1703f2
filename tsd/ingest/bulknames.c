/*
 * bulknames.c - finds and creates series for a bulk load.
 *
 * Threads    see bulknames.h
 */
#include "tsd/ingest/bulknames.h"

#include "base/array.h"
#include "base/cut.h"
#include "storage/aged.h"
#include "storage/versioned.h"
#include "tsd/ingest/ingest.h"

#include <inttypes.h>

/* Scratch of a batch. */
struct names {
    struct sto_store *st;
    struct sto_catalog *cat; /* of it */
    const struct tsd_rules *rules;
    struct sto_tag_text *tags; /* of the line; owned */
    size_t n_tags, cap_tags;
    struct ts_buf text; /* of the visible series of an internal one */
    struct ts_buf msg;  /* why a series is refused */
};

static bool split(struct names *n, struct ts_slice line, struct ts_slice *out_metric)
{
    struct ts_slice rest = line;
    *out_metric = ts_slice_cut(&rest, ' ');
    n->n_tags = 0;
    while (rest.n) {
        struct ts_slice v = ts_slice_cut(&rest, ' '), k = ts_slice_cut(&v, '=');
        if (!k.n || !v.n)
            return false;
        TS_ARRAY_GROW(n->tags, n->n_tags, n->cap_tags, 16);
        n->tags[n->n_tags++] = (struct sto_tag_text){k, v};
    }
    return out_metric->n && n->n_tags;
}

static int resolve(struct names *n, struct ts_slice text, size_t metric_len, const struct sto_series **out)
{
    struct ts_error err = {0};
    int rc = sto_series_resolve(n->cat, text, (uint32_t)metric_len, n->tags, n->n_tags, true, out, &err);
    if (rc < 0)
        ts_buf_str(&n->msg, err.text);
    return rc;
}

/* The series that users see, of which an internal one has the tags. */
static int resolve_visible(struct names *n, struct ts_slice metric, struct ts_slice tags,
                           const struct sto_series **out)
{
    uint32_t id;
    TS_TRY(tsd_names_check(n->rules, metric, n->tags, n->n_tags, &n->msg));
    if (!n->rules->make_metrics && sto_uid_find(n->cat, STO_UID_METRIC, metric, &id) < 0) {
        ts_buf_str(&n->msg, "No such name for 'metrics': '");
        ts_buf_slice(&n->msg, metric);
        ts_buf_char(&n->msg, '\'');
        return TS_ENOTFOUND;
    }
    ts_buf_clear(&n->text);
    ts_buf_slice(&n->text, metric);
    ts_buf_char(&n->text, ' ');
    ts_buf_slice(&n->text, tags);
    if (n->text.failed)
        return TS_ELIMIT;
    return resolve(n, ts_buf_get(&n->text), metric.n, out);
}

/* A bulk load writes no versions. */
static int check_versions(struct names *n, struct ts_slice metric)
{
    struct sto_versioned v;
    sto_versioned_find(n->st, metric, &v);
    if (!v.n)
        return 0;
    ts_buf_str(&n->msg, "this metric keeps versions, which sorted files would go past: tsd import without "
                        "--bulk stores its points");
    return TS_EINVAL;
}

static int one(struct names *n, struct ts_slice line, const struct sto_series **out)
{
    struct ts_slice metric;
    struct sto_internal parts;
    ts_buf_clear(&n->msg);
    if (!split(n, line, &metric)) {
        ts_buf_str(&n->msg, "not a series");
        return TS_EINVAL;
    }
    struct ts_slice tags = {metric.p + metric.n + 1, line.n - metric.n - 1};
    if (!sto_name_internal(metric)) {
        TS_TRY(check_versions(n, metric));
        return resolve_visible(n, metric, tags, out);
    }
    if (!sto_internal_parse(metric, &parts) || sto_name_internal(parts.metric) ||
        parts.kind == STO_INTERNAL_VERSIONS || parts.kind == STO_INTERNAL_AGED) {
        ts_buf_str(&n->msg, "not a series");
        return TS_EINVAL;
    }
    TS_TRY(resolve_visible(n, parts.metric, tags, out));
    return resolve(n, line, metric.n, out);
}

static void answer(struct sto_store *st, const struct sto_series *s, struct ts_buf *out)
{
    int64_t from_ms = sto_aged_first_ms(st, s->id);
    ts_buf_printf(out, "%" PRIu32 " %" PRIu32, s->metric, s->id);
    if (from_ms > STO_MIN_TS_MS)
        ts_buf_printf(out, " %" PRId64, from_ms);
    ts_buf_char(out, '\n');
}

int tsd_bulk_names(struct sto_store *st, const struct tsd_rules *rules, struct ts_slice lines,
                   struct ts_buf *out, struct ts_error *err)
{
    struct sto_catalog *cat = sto_store_catalog(st);
    struct names n = {.st = st, .cat = cat, .rules = rules};
    int rc = 0;
    ts_buf_init(&n.text, (size_t)1 << 20);
    ts_buf_init(&n.msg, 8192);
    while (lines.n && rc == 0) {
        const struct sto_series *s = NULL;
        unsigned reading = sto_catalog_read_begin(cat);
        int one_rc = one(&n, ts_slice_cut(&lines, '\n'), &s);
        if (one_rc == 0)
            answer(st, s, out);
        sto_catalog_read_end(cat, reading);
        if (one_rc == TS_EBUSY)
            rc = ts_error_set(err, TS_EBUSY, "series are being forgotten: try again");
        else if (one_rc < 0)
            ts_buf_printf(out, "! %s%.*s\n", tsd_refusal_text(tsd_refusal_of(one_rc), false), (int)n.msg.n,
                          n.msg.p ? n.msg.p : "");
    }
    ts_buf_release(&n.text);
    ts_buf_release(&n.msg);
    ts_free(n.tags);
    if (rc == 0 && out->failed)
        rc = ts_error_set(err, TS_ELIMIT, "there are too many series in one request");
    return rc < 0 ? rc : sto_catalog_sync(cat, true, err);
}
