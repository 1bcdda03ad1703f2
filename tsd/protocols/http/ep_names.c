/*
 * ep_names.c - /api/suggest: names that begin with a prefix.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Source     docs/OPENTSDB.md, section 5.2
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "base/text.h"
#include "query/view.h"
#include "tsd/protocols/http/job.h"

#include <stdlib.h>

#define SUGGEST_DEFAULT 25

struct suggest {
    struct ts_budget *memory; /* account of names */
    struct ts_slice *names;   /* found here and in the remote store; borrowed from the view */
    size_t n, cap;            /* of names: used, allocated */
    bool printable;           /* without prefix only names that begin with '!' to '}' */
    int rc;                   /* why names are missing */
    struct ts_error *err;     /* the same */
};

static void suggest_each(void *arg, uint32_t id, struct ts_slice name)
{
    struct suggest *s = arg;
    (void)id;
    if (s->rc < 0 || (s->printable && (name.n == 0 || name.p[0] < '!' || name.p[0] > '}')))
        return;
    s->rc = ts_budget_grow(s->memory, &s->names, &s->cap, s->n + 1, sizeof *s->names, s->err);
    if (s->rc == 0)
        s->names[s->n++] = name;
}

static int suggest_cmp(const void *a, const void *b)
{
    return ts_slice_cmp(*(const struct ts_slice *)a, *(const struct ts_slice *)b);
}

/* Write the first max names of both in byte order. */
static int suggest_write(struct tsd_job *job, enum sto_uid_kind kind, struct ts_slice q, size_t max,
                         bool printable, struct ts_error *err)
{
    struct qry_view view;
    struct ts_buf text;
    struct ts_json json;
    qry_view_open(&view, tsd_job_req(job)->d->store, tsd_job_limit(job));
    struct suggest s = {.memory = view.memory, .printable = printable, .err = err};
    int rc = 0;
    if (kind != STO_UID_METRIC || !sto_name_internal(q)) /* internal metrics are nobody's concern */
        rc = qry_view_suggest(&view, kind, q, max, suggest_each, &s, err);
    rc = rc < 0 ? rc : s.rc;
    ts_buf_init(&text, 0);
    ts_json_init(&json, &text);
    ts_json_arr(&json);
    if (s.n && qry_view_remote(&view)) /* the catalog alone reports them in order */
        qsort(s.names, s.n, sizeof *s.names, suggest_cmp);
    for (size_t i = 0; i < s.n && i < max && rc == 0; i++)
        ts_json_slice(&json, s.names[i]);
    ts_json_arr_end(&json);
    if (rc == 0)
        rc = ts_sink_write(tsd_job_sink(job), ts_buf_get(&text), err);
    ts_buf_release(&text);
    ts_budget_free(s.memory, s.names, s.cap * sizeof *s.names);
    qry_view_close(&view);
    return rc;
}

/* type, q and max from the query string or the body. */
static int suggest_words(struct tsd_job *job, struct ts_slice *type, struct ts_slice *q, struct ts_slice *max,
                         struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_arena *arena = tsd_job_arena(job);
    if (req->method != TSD_POST || req->body.n == 0) {
        (void)tsd_req_param(req, "type", type);
        (void)tsd_req_param(req, "q", q);
        (void)tsd_req_param(req, "max", max);
        return 0;
    }
    struct ts_slice *out[3] = {type, q, max};
    static const char *const names[3] = {"type", "q", "max"};
    json_t *root;
    TS_TRY(tsd_job_json(job, &root, err));
    struct ts_json_unknown unknown = {.n = 0};
    int rc = req->d->set.rules.compat ? 0 : ts_json_known(root, "type q max", &unknown, err);
    tsd_job_ignored(job, &unknown);
    for (int i = 0; i < 3; i++) {
        json_t *v = json_object_get(root, names[i]);
        char number[TS_NUM_TEXT_BYTES];
        struct ts_slice text = {"", 0};
        if (json_is_string(v))
            text = (struct ts_slice){json_string_value(v), json_string_length(v)};
        else if (json_is_integer(v))
            text = (struct ts_slice){number, ts_num_print_int(json_integer_value(v), number)};
        *out[i] = (struct ts_slice){ts_arena_strndup(arena, text.p, text.n), text.n};
    }
    json_decref(root);
    return rc;
}

int tsd_ep_suggest(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_slice type, q, max_text;
    int64_t max = SUGGEST_DEFAULT;
    enum sto_uid_kind kind;
    TS_TRY(suggest_words(job, &type, &q, &max_text, err));
    if (ts_slice_is(type, "metrics"))
        kind = STO_UID_METRIC;
    else if (ts_slice_is(type, "tagk"))
        kind = STO_UID_TAGK;
    else if (ts_slice_is(type, "tagv"))
        kind = STO_UID_TAGV;
    else
        return ts_error_set(err, TS_EINVAL, "Invalid 'type' parameter:%.*s", TS_SHOWN(type, 64));
    if (max_text.n && ts_num_parse_int(max_text, &max, NULL) < 0)
        return ts_error_set(err, TS_EINVAL, "Unable to parse 'max' as a number");
    if (max <= 0)
        max = SUGGEST_DEFAULT;
    return suggest_write(job, kind, q, (size_t)max, q.n == 0 && req->d->set.rules.compat, err);
}
