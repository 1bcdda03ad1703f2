/*
 * annotation_handlers.c - /api/annotation, /api/annotation/bulk, /api/annotations.
 *
 * Threads    see request.h
 * Source     docs/OPENTSDB.md, section 2.10
 */
#include "tsd/meta/request.h"

#include "base/cut.h"
#include "base/time.h"
#include "tsd/meta/annotation_remote.h"

/* The annotation of a request: its body, or its parameters where there is none. */
static int note_request(struct tsd_meta_req *ask, struct tsd_record *out, struct ts_error *err)
{
    struct ts_arena *arena = ask->arena;
    json_t *root;
    if (ask->method == TSD_GET || ask->body.n == 0)
        return tsd_note_from_params(ask->params, ask->n_params, ts_clock_ms(), ask->rules->compat, &ask->view,
                                    arena, out, err);
    TS_TRY(tsd_meta_req_body(ask, &root, err));
    int rc = tsd_meta_req_known(ask, root, tsd_note_fields, "", err);
    if (rc == 0)
        rc = tsd_note_from_json(root, &ask->view, arena, out, err);
    json_decref(root);
    return rc;
}

static int note_answer(struct tsd_meta_req *ask, const struct tsd_record *note, struct ts_error *err)
{
    struct ts_json j;
    tsd_meta_req_json(ask, "", &j);
    TS_TRY(tsd_note_json(&ask->view, note, &j, err));
    return tsd_meta_req_write(ask, err);
}

int tsd_handle_annotation(struct tsd_meta_req *ask, struct ts_error *err)
{
    struct sto_store *st = ask->store;
    struct tsd_record given, note;
    bool changed;
    TS_TRY(note_request(ask, &given, err));
    if (ask->method == TSD_DELETE) {
        ask->status = 204;
        return tsd_note_delete(st, &given, err);
    }
    if (ask->method == TSD_GET) {
        int rc = tsd_note_load(st, &given, ask->arena, &note, err);
        if (rc == TS_ENOTFOUND)
            ask->error_status = 404;
        TS_TRY(rc);
        return note_answer(ask, &note, err);
    }
    TS_TRY(tsd_note_store(st, &given, ask->method == TSD_PUT, ask->arena, &note, &changed, err));
    if (!changed) {
        ask->status = 304;
        return 0;
    }
    return note_answer(ask, &note, err);
}

/* --- all global annotations of a range --- */

static int note_time(const struct tsd_meta_req *ask, const char *name, int64_t missing, int64_t *out_ms,
                     struct ts_error *err)
{
    struct ts_slice text;
    *out_ms = missing;
    if (!tsd_meta_req_param(ask, name, &text) || text.n == 0)
        return 0;
    return ts_time_parse(text, NULL, ts_clock_ms(), ask->rules->compat, out_ms, NULL, err);
}

/* A visit that writes annotations. */
struct note_list {
    struct ts_json json;   /* of the answer */
    int64_t end_ms;        /* notes must have ended by then */
    struct qry_view *view; /* for their TSUIDs */
    struct ts_error *err;  /* why it ended */
    int rc;                /* the same */
};

static bool note_list_add(void *arg, const struct tsd_record *note)
{
    struct note_list *list = arg;
    if (tsd_note_ms(note->v[TSD_NOTE_END].i) <= list->end_ms)
        list->rc = tsd_note_json(list->view, note, &list->json, list->err);
    return list->rc == 0;
}

static const _Atomic bool *note_cancel(const struct tsd_meta_req *ask)
{
    return ask->limit ? &ask->limit->cancelled : NULL;
}

static int note_list_global(const struct tsd_meta_req *ask, int64_t from_ms, int64_t to_ms,
                            struct note_list *list, struct ts_error *err)
{
    struct ts_slice global = {"", 0};
    TS_TRY(tsd_notes_fetch(ask->store, global, from_ms, to_ms, false, note_cancel(ask), err));
    tsd_notes_each(ask->store, global, from_ms, to_ms, note_list_add, list);
    return 0;
}

/* Notes of series instead: ids with commas between. */
static int note_list_series(struct tsd_meta_req *ask, struct ts_slice tsuids, int64_t from_ms, int64_t to_ms,
                            struct note_list *list, struct ts_error *err)
{
    struct ts_buf plain;
    int rc = 0;
    ts_buf_init(&plain, 0);
    while (tsuids.n && rc == 0) {
        ts_buf_clear(&plain);
        rc = qry_ids_local(&ask->view, ts_slice_cut(&tsuids, ','), &plain, err);
        if (rc == 0)
            rc =
                tsd_notes_fetch(ask->store, ts_buf_get(&plain), from_ms, to_ms, false, note_cancel(ask), err);
        if (rc == 0)
            tsd_notes_each(ask->store, ts_buf_get(&plain), from_ms, to_ms, note_list_add, list);
        rc = rc < 0 ? rc : list->rc;
        if (rc == 0 && ask->limit && atomic_load_explicit(&ask->limit->cancelled, memory_order_relaxed))
            rc = ts_error_set(err, TS_ECANCELLED, "the client is gone");
    }
    ts_buf_release(&plain);
    return rc;
}

int tsd_handle_annotations(struct tsd_meta_req *ask, struct ts_error *err)
{
    int64_t from_ms, to_ms;
    struct ts_slice tsuids;
    struct note_list list = {.view = &ask->view, .err = err};
    TS_TRY(note_time(ask, "start_time", INT64_MIN, &from_ms, err));
    TS_TRY(note_time(ask, "end_time", ts_clock_ms(), &to_ms, err));
    if (from_ms == INT64_MIN)
        return ts_error_set(err, TS_EINVAL, "Missing start time");
    list.end_ms = to_ms;
    tsd_meta_req_json(ask, "", &list.json);
    ts_json_arr(&list.json);
    int rc = 0;
    if (tsd_meta_req_param(ask, "tsuids", &tsuids))
        rc = note_list_series(ask, tsuids, from_ms, to_ms, &list, err);
    else
        rc = note_list_global(ask, from_ms, to_ms, &list, err);
    rc = rc < 0 ? rc : list.rc;
    ts_json_arr_end(&list.json);
    return rc < 0 ? rc : tsd_meta_req_write(ask, err);
}

/* --- many at once --- */

static int bulk_store_all(struct tsd_meta_req *ask, const json_t *root, struct ts_json *j,
                          struct ts_error *err)
{
    struct ts_arena *arena = ask->arena;
    size_t n = json_array_size(root);
    if (!json_is_array(root) || n == 0)
        return ts_error_set(err, TS_EPARSE, "Expected an array of annotations");
    struct tsd_record *given = ts_arena_alloc(arena, n * sizeof(*given)), note;
    unsigned how = TSD_STORE_LATER | (ask->method == TSD_PUT ? TSD_STORE_REPLACE : 0u);
    for (size_t i = 0; i < n; i++) { /* one bad annotation makes the whole request fail */
        TS_TRY(tsd_meta_req_known(ask, json_array_get(root, i), tsd_note_fields, "", err));
        TS_TRY(tsd_note_from_json(json_array_get(root, i), &ask->view, arena, &given[i], err));
    }
    ts_json_arr(j);
    for (size_t i = 0; i < n; i++) {
        bool changed;
        TS_TRY(tsd_note_store(ask->store, &given[i], how, arena, &note, &changed, err));
        TS_TRY(tsd_note_json(&ask->view, &note, j, err));
    }
    ts_json_arr_end(j);
    return sto_cell_sync(ask->store, err);
}

/* What a bulk delete was requested. */
struct bulk_delete {
    struct ts_slice start, end; /* texts; {NULL,0} = not given */
    struct ts_slice *tsuids;    /* of the catalog */
    struct ts_slice *shown;     /* the same, of clients */
    size_t n_tsuids;            /* how many */
    bool global;                /* global annotations too */
    uint64_t n;                 /* deleted */
};

static void bulk_open(struct bulk_delete *b, size_t n, struct ts_arena *arena)
{
    b->tsuids = ts_arena_alloc(arena, (n + 1) * sizeof(*b->tsuids));
    b->shown = ts_arena_alloc(arena, (n + 1) * sizeof(*b->shown));
}

static int bulk_tsuid(struct tsd_meta_req *ask, struct bulk_delete *b, struct ts_slice hex,
                      struct ts_error *err)
{
    struct ts_arena *arena = ask->arena;
    struct ts_buf plain, shown;
    ts_buf_init(&plain, 0);
    ts_buf_init(&shown, 0);
    int rc = qry_ids_local(&ask->view, hex, &plain, err);
    if (rc == 0)
        rc = qry_ids_shown(&ask->view, ts_buf_get(&plain), &shown, err);
    if (rc == 0) {
        b->shown[b->n_tsuids] = (struct ts_slice){ts_arena_strndup(arena, shown.p, shown.n), shown.n};
        b->tsuids[b->n_tsuids++] = (struct ts_slice){ts_arena_strndup(arena, plain.p, plain.n), plain.n};
    }
    ts_buf_release(&shown);
    ts_buf_release(&plain);
    return rc;
}

static int bulk_params(struct tsd_meta_req *ask, struct bulk_delete *b, struct ts_error *err)
{
    struct ts_slice list, global;
    (void)tsd_meta_req_param(ask, "start_time", &b->start);
    (void)tsd_meta_req_param(ask, "end_time", &b->end);
    (void)tsd_meta_req_param(ask, "tsuids", &list);
    b->global = tsd_meta_req_param(ask, "global", &global);
    bulk_open(b, list.n, ask->arena);
    while (list.n) {
        struct ts_slice part = ts_slice_cut(&list, ',');
        if (part.n)
            TS_TRY(bulk_tsuid(ask, b, part, err));
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

static int bulk_object(struct tsd_meta_req *ask, const json_t *root, struct bulk_delete *b,
                       struct ts_error *err)
{
    struct ts_arena *arena = ask->arena;
    const json_t *list = json_object_get(root, "tsuids");
    TS_TRY(tsd_meta_req_known(ask, root, NULL, "startTime endTime tsuids global totalDeleted", err));
    b->start = bulk_time(json_object_get(root, "startTime"), arena);
    b->end = bulk_time(json_object_get(root, "endTime"), arena);
    b->global = json_is_true(json_object_get(root, "global"));
    bulk_open(b, json_array_size(list), arena);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *hex = json_string_value(json_array_get(list, i));
        TS_TRY(bulk_tsuid(ask, b, ts_slice_str(hex ? hex : ""), err));
    }
    return 0;
}

static int bulk_erase(struct tsd_meta_req *ask, struct bulk_delete *b, struct ts_error *err)
{
    int64_t now_ms = ts_clock_ms(), from_ms, to_ms = now_ms;
    bool strict = ask->rules->compat;
    if (!b->start.n)
        return ts_error_set(err, TS_EINVAL, "Missing start time");
    if (!b->n_tsuids && !b->global)
        return ts_error_set(err, TS_EINVAL, "Missing the TSUIDs or global annotations flag");
    TS_TRY(ts_time_parse(b->start, NULL, now_ms, strict, &from_ms, NULL, err));
    if (b->end.n)
        TS_TRY(strict ? ts_time_parse(b->end, NULL, now_ms, true, &to_ms, NULL, err)
                      : ts_time_parse_end(b->end, NULL, now_ms, false, &to_ms, err));
    if (b->global)
        TS_TRY(tsd_notes_delete(ask->store, (struct ts_slice){"", 0}, from_ms, to_ms, &b->n, err));
    for (size_t i = 0; i < b->n_tsuids; i++)
        TS_TRY(tsd_notes_delete(ask->store, b->tsuids[i], from_ms, to_ms, &b->n, err));
    return 0;
}

static void bulk_delete_json(const struct bulk_delete *b, struct ts_json *j)
{
    ts_json_obj(j);
    if (b->n_tsuids) {
        ts_json_member_arr(j, "tsuids");
        for (size_t i = 0; i < b->n_tsuids; i++)
            ts_json_slice(j, b->shown[i]);
        ts_json_arr_end(j);
    }
    ts_json_member_bool(j, "global", b->global);
    ts_json_member_slice(j, "startTime", b->start);
    if (b->end.n)
        ts_json_member_slice(j, "endTime", b->end);
    ts_json_member_count(j, "totalDeleted", b->n);
    ts_json_obj_end(j);
}

static int bulk_do(struct tsd_meta_req *ask, const json_t *root, struct ts_json *j, struct ts_error *err)
{
    struct bulk_delete b = {.n = 0};
    if (ask->method != TSD_DELETE)
        return bulk_store_all(ask, root, j, err);
    TS_TRY(root ? bulk_object(ask, root, &b, err) : bulk_params(ask, &b, err));
    TS_TRY(bulk_erase(ask, &b, err));
    bulk_delete_json(&b, j);
    return 0;
}

int tsd_handle_annotation_bulk(struct tsd_meta_req *ask, struct ts_error *err)
{
    struct ts_json j;
    json_t *root = NULL;
    if (ask->method != TSD_DELETE || ask->body.n)
        TS_TRY(tsd_meta_req_body(ask, &root, err));
    tsd_meta_req_json(ask, "", &j);
    int rc = bulk_do(ask, root, &j, err);
    json_decref(root);
    return rc < 0 ? rc : tsd_meta_req_write(ask, err);
}
