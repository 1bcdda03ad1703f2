/*
 * ep_annotation.c - /api/annotation, /api/annotation/bulk, /api/annotations.
 *
 * Threads    the endpoints in the worker, the rest in a job
 * Source     protocols-and-queries 2.10
 */
#include "tsd/http/ep.h"

#include "base/time.h"
#include "tsd/http/job.h"
#include "tsd/meta/annotation_out.h"

/* The body as JSON; the caller's. */
static int note_body(const struct tsd_req *req, json_t **out, struct ts_error *err)
{
    *out = NULL;
    if (req->body.n == 0)
        return ts_error_set(err, TS_EPARSE, "Missing message content");
    return ts_json_load(req->body, out, err);
}

/* The note of a request: its body, or its parameters where there is none. */
static int note_request(struct tsd_job *job, struct tsd_record *out, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_arena *arena = tsd_job_arena(job);
    json_t *root;
    if (req->method == TSD_GET || req->body.n == 0)
        return tsd_note_from_params(req->params, req->n_params, ts_clock_ms(), req->d->set.rules.compat,
                                    arena, out, err);
    TS_TRY(note_body(req, &root, err));
    int rc = tsd_note_from_json(root, arena, out, err);
    json_decref(root);
    return rc;
}

static int note_answer(struct tsd_job *job, const struct tsd_record *note, struct ts_error *err)
{
    struct ts_buf text;
    struct ts_json j;
    ts_buf_init(&text, 0);
    ts_json_init(&j, &text);
    tsd_note_json(note, &j);
    int rc = tsd_sink_write(tsd_job_sink(job), ts_buf_get(&text), err);
    ts_buf_release(&text);
    return rc;
}

static int note_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct sto_store *st = req->d->store;
    struct tsd_record given, note;
    bool changed;
    TS_TRY(note_request(job, &given, err));
    if (req->method == TSD_DELETE) {
        tsd_job_status(job, 204);
        return tsd_note_delete(st, &given, err);
    }
    if (req->method == TSD_GET) {
        int rc = tsd_note_load(st, &given, tsd_job_arena(job), &note, err);
        if (rc == TS_ENOTFOUND)
            tsd_job_error_status(job, 404);
        TS_TRY(rc);
        return note_answer(job, &note, err);
    }
    TS_TRY(tsd_note_store(st, &given, req->method == TSD_PUT, tsd_job_arena(job), &note, &changed, err));
    if (!changed) {
        tsd_job_status(job, 304);
        return 0;
    }
    return note_answer(job, &note, err);
}

void tsd_ep_annotation(struct tsd_req *req)
{
    tsd_job_start(req, tsd_type_json, note_run);
}

/* --- all global notes of a range --- */

static int note_time(const struct tsd_req *req, const char *name, int64_t missing, int64_t *out_ms,
                     struct ts_error *err)
{
    struct ts_slice text;
    *out_ms = missing;
    if (!tsd_req_param(req, name, &text) || text.n == 0)
        return 0;
    return ts_time_parse(text, NULL, ts_clock_ms(), req->d->set.rules.compat, out_ms, NULL, err);
}

/* A walk that writes notes. */
struct note_list {
    struct ts_json json; /* of the answer */
    int64_t end_ms;      /* notes must have ended by then */
};

static bool note_list_add(void *arg, const struct tsd_record *note)
{
    struct note_list *list = arg;
    if (tsd_note_ms(note->v[TSD_NOTE_END].i) <= list->end_ms)
        tsd_note_json(note, &list->json);
    return true;
}

static int notes_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    int64_t from_ms, to_ms;
    struct ts_buf text;
    struct note_list list;
    TS_TRY(note_time(req, "start_time", INT64_MIN, &from_ms, err));
    TS_TRY(note_time(req, "end_time", ts_clock_ms(), &to_ms, err));
    if (from_ms == INT64_MIN)
        return ts_error_set(err, TS_EINVAL, "Missing start time");
    ts_buf_init(&text, 0);
    list.end_ms = to_ms;
    ts_json_init(&list.json, &text);
    ts_json_arr(&list.json);
    tsd_notes_each(req->d->store, (struct ts_slice){"", 0}, from_ms, to_ms, note_list_add, &list);
    ts_json_arr_end(&list.json);
    int rc = tsd_sink_write(tsd_job_sink(job), ts_buf_get(&text), err);
    ts_buf_release(&text);
    return rc;
}

void tsd_ep_annotations(struct tsd_req *req)
{
    tsd_job_start(req, tsd_type_json, notes_run);
}

/* --- many at once --- */

static int bulk_store_all(struct tsd_job *job, const json_t *root, struct ts_json *j, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_arena *arena = tsd_job_arena(job);
    size_t n = json_array_size(root);
    if (!json_is_array(root) || n == 0)
        return ts_error_set(err, TS_EPARSE, "Expected an array of annotations");
    struct tsd_record *given = ts_arena_alloc(arena, n * sizeof(*given)), note;
    for (size_t i = 0; i < n; i++) /* one bad note refuses all */
        TS_TRY(tsd_note_from_json(json_array_get(root, i), arena, &given[i], err));
    ts_json_arr(j);
    for (size_t i = 0; i < n; i++) {
        bool changed;
        TS_TRY(tsd_note_store(req->d->store, &given[i], req->method == TSD_PUT, arena, &note, &changed, err));
        tsd_note_json(&note, j);
    }
    ts_json_arr_end(j);
    return 0;
}

/* What a bulk delete was asked for. */
struct bulk_delete {
    struct ts_slice start, end; /* texts; {NULL,0} = not given */
    struct ts_slice *tsuids;    /* plain */
    size_t n_tsuids;            /* how many */
    bool global;                /* global notes too */
    uint64_t n;                 /* deleted */
};

static int bulk_tsuid(struct bulk_delete *b, struct ts_slice hex, struct ts_arena *arena,
                      struct ts_error *err)
{
    struct ts_buf plain;
    ts_buf_init(&plain, 0);
    int rc = qry_tsuid_plain(hex, &plain, err);
    if (rc == 0)
        b->tsuids[b->n_tsuids++] = (struct ts_slice){ts_arena_strndup(arena, plain.p, plain.n), plain.n};
    ts_buf_release(&plain);
    return rc;
}

static int bulk_params(struct tsd_job *job, struct bulk_delete *b, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_slice list;
    (void)tsd_req_param(req, "start_time", &b->start);
    (void)tsd_req_param(req, "end_time", &b->end);
    (void)tsd_req_param(req, "tsuids", &list);
    b->global = tsd_req_flag(req, "global");
    b->tsuids = ts_arena_alloc(tsd_job_arena(job), (list.n + 1) * sizeof(*b->tsuids));
    for (size_t i = 0, end; i < list.n; i = end + 1) {
        const char *comma = memchr(list.p + i, ',', list.n - i);
        end = comma ? (size_t)(comma - list.p) : list.n;
        if (end > i)
            TS_TRY(bulk_tsuid(b, (struct ts_slice){list.p + i, end - i}, tsd_job_arena(job), err));
    }
    return 0;
}

/* A time given as a text or a number. */
static struct ts_slice bulk_time(const json_t *v, struct ts_arena *arena)
{
    char number[TS_NUM_TEXT_BYTES];
    if (json_is_string(v))
        return (struct ts_slice){ts_arena_strndup(arena, json_string_value(v), json_string_length(v)),
                                 json_string_length(v)};
    if (!json_is_integer(v))
        return (struct ts_slice){NULL, 0};
    size_t n = ts_num_print_int(json_integer_value(v), number);
    return (struct ts_slice){ts_arena_strndup(arena, number, n), n};
}

static int bulk_object(struct tsd_job *job, const json_t *root, struct bulk_delete *b, struct ts_error *err)
{
    struct ts_arena *arena = tsd_job_arena(job);
    const json_t *list = json_object_get(root, "tsuids");
    b->start = bulk_time(json_object_get(root, "startTime"), arena);
    b->end = bulk_time(json_object_get(root, "endTime"), arena);
    b->global = json_is_true(json_object_get(root, "global"));
    b->tsuids = ts_arena_alloc(arena, (json_array_size(list) + 1) * sizeof(*b->tsuids));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *hex = json_string_value(json_array_get(list, i));
        TS_TRY(bulk_tsuid(b, ts_slice_str(hex ? hex : ""), arena, err));
    }
    return 0;
}

static int bulk_erase(struct tsd_job *job, struct bulk_delete *b, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    int64_t now_ms = ts_clock_ms(), from_ms, to_ms = now_ms;
    bool strict = req->d->set.rules.compat;
    if (!b->start.n)
        return ts_error_set(err, TS_EINVAL, "Missing start time");
    if (!b->n_tsuids && !b->global)
        return ts_error_set(err, TS_EINVAL, "Missing the TSUIDs or global annotations flag");
    TS_TRY(ts_time_parse(b->start, NULL, now_ms, strict, &from_ms, NULL, err));
    if (b->end.n)
        TS_TRY(ts_time_parse(b->end, NULL, now_ms, strict, &to_ms, NULL, err));
    if (b->global)
        TS_TRY(tsd_notes_delete(req->d->store, (struct ts_slice){"", 0}, from_ms, to_ms, &b->n, err));
    for (size_t i = 0; i < b->n_tsuids; i++)
        TS_TRY(tsd_notes_delete(req->d->store, b->tsuids[i], from_ms, to_ms, &b->n, err));
    return 0;
}

static void bulk_delete_json(const struct bulk_delete *b, struct ts_json *j)
{
    ts_json_obj(j);
    if (b->n_tsuids) {
        ts_json_key(j, "tsuids");
        ts_json_arr(j);
        for (size_t i = 0; i < b->n_tsuids; i++)
            ts_json_slice(j, b->tsuids[i]);
        ts_json_arr_end(j);
    }
    ts_json_key(j, "global");
    ts_json_bool(j, b->global);
    ts_json_key(j, "startTime");
    ts_json_slice(j, b->start);
    if (b->end.n) {
        ts_json_key(j, "endTime");
        ts_json_slice(j, b->end);
    }
    ts_json_key(j, "totalDeleted");
    ts_json_int(j, (int64_t)b->n);
    ts_json_obj_end(j);
}

static int bulk_do(struct tsd_job *job, const json_t *root, struct ts_json *j, struct ts_error *err)
{
    struct bulk_delete b = {.n = 0};
    if (tsd_job_req(job)->method != TSD_DELETE)
        return bulk_store_all(job, root, j, err);
    TS_TRY(root ? bulk_object(job, root, &b, err) : bulk_params(job, &b, err));
    TS_TRY(bulk_erase(job, &b, err));
    bulk_delete_json(&b, j);
    return 0;
}

static int bulk_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_buf text;
    struct ts_json j;
    json_t *root = NULL;
    if (req->method != TSD_DELETE || req->body.n)
        TS_TRY(note_body(req, &root, err));
    ts_buf_init(&text, 0);
    ts_json_init(&j, &text);
    int rc = bulk_do(job, root, &j, err);
    if (rc == 0)
        rc = tsd_sink_write(tsd_job_sink(job), ts_buf_get(&text), err);
    ts_buf_release(&text);
    json_decref(root);
    return rc;
}

void tsd_ep_annotation_bulk(struct tsd_req *req)
{
    tsd_job_start(req, tsd_type_json, bulk_run);
}
