/*
 * meta_client.c - the same request to a daemon or to a folder.
 *
 * Threads    the main thread
 */
#include "tsd/commands/meta_client.h"

#include "tsd/meta/request.h"

int tsd_meta_client_open(struct tsd_meta_client *door, const struct tsd_args *args, enum tsd_local how,
                         struct ts_error *err)
{
    *door = (struct tsd_meta_client){.args = args};
    return tsd_args_has(args, "data") ? tsd_local_open(args, how, &door->store, &door->rules, err) : 0;
}

int tsd_meta_client_close(struct tsd_meta_client *door, struct ts_error *err)
{
    int rc = door->store ? sto_close(door->store, err) : 0;
    door->store = NULL;
    return rc;
}

/* --- a folder --- */

/* A sink that ends in a buffer. */
struct door_sink {
    struct ts_sink sink; /* written to */
    struct ts_buf *out;  /* gets what was written */
    char piece[65536];   /* memory of the sink */
};

static int door_more(struct ts_sink *s, struct ts_error *err)
{
    struct door_sink *d = s->arg;
    int rc = ts_buf_append(d->out, s->start, (size_t)(s->p - s->start));
    s->p = s->start;
    return rc < 0 ? ts_error_set(err, rc, "the answer is too large") : 0;
}

static enum tsd_method door_method(const char *name)
{
    return !strcmp(name, "GET")      ? TSD_GET
           : !strcmp(name, "POST")   ? TSD_POST
           : !strcmp(name, "DELETE") ? TSD_DELETE
                                     : TSD_PUT;
}

static size_t door_params(const struct tsd_meta_client_req *req)
{
    size_t n = 0;
    while (n < TSD_DOOR_PARAMS && req->params[n].name.p)
        n++;
    return n;
}

static int door_local(struct tsd_meta_client *door, const struct tsd_meta_client_req *req, struct ts_buf *out,
                      struct ts_error *err)
{
    struct door_sink *d = ts_xmalloc(sizeof(*d));
    struct ts_arena arena;
    ts_arena_init(&arena, 0);
    d->out = out;
    d->sink = (struct ts_sink){
        .start = d->piece, .p = d->piece, .end = d->piece + sizeof(d->piece), .more = door_more, .arg = d};
    struct tsd_meta_req ask = {.store = door->store,
                               .rules = &door->rules,
                               .meta_series = true,
                               .search = true,
                               .method = door_method(req->method),
                               .method_name = req->method,
                               .path = ts_slice_str(req->path),
                               .params = req->params,
                               .n_params = door_params(req),
                               .body = req->body,
                               .arena = &arena,
                               .sink = &d->sink};
    int rc = tsd_meta_req_run(&ask, err);
    if (rc == 0)
        rc = door_more(&d->sink, err);
    if (rc < 0 && ask.details[0])
        (void)ts_error_set(err, rc, "%s", ask.details);
    door->status = (unsigned)ask.status;
    ts_arena_release(&arena);
    ts_free(d);
    return rc;
}

/* --- a daemon --- */

/* An answer with an error object, or of another shape than is expected. */
static int door_refused(const struct tsd_client_reply *reply, struct ts_error *err)
{
    json_t *root = NULL;
    int rc = 0;
    if (reply->body.n == 0 || ts_json_load(ts_buf_get(&reply->body), &root, NULL) < 0)
        return tsd_client_refused(reply, err);
    const json_t *error = json_object_get(root, "error");
    if (json_is_object(error)) {
        const char *details = json_string_value(json_object_get(error, "details"));
        rc = tsd_client_refused(reply, err);
        if (details)
            (void)ts_error_set(err, rc, "%s", details);
    }
    json_decref(root);
    return rc;
}

static int door_remote(struct tsd_meta_client *door, const struct tsd_meta_client_req *req,
                       struct ts_buf *out, struct ts_error *err)
{
    struct ts_buf path;
    struct tsd_client c;
    struct tsd_client_reply reply;
    const char *host, *port;
    ts_buf_init(&path, 0);
    ts_buf_printf(&path, "/%s", req->path);
    for (size_t i = 0; i < door_params(req); i++) {
        ts_buf_char(&path, i ? '&' : '?');
        ts_buf_uri(&path, req->params[i].name);
        ts_buf_char(&path, '=');
        ts_buf_uri(&path, req->params[i].value);
    }
    ts_buf_char(&path, 0);
    struct tsd_client_req http = {.method = req->method,
                                  .path = path.p,
                                  .content_type = req->body.n ? "application/json" : NULL,
                                  .body = req->body};
    tsd_client_where(door->args, &host, &port);
    ts_buf_init(&reply.body, 0);
    int rc = tsd_client_open(&c, host, port, err);
    if (rc == 0)
        rc = tsd_client_http(&c, &http, &reply, err);
    tsd_client_close(&c);
    door->status = reply.status;
    if (rc == 0 && reply.status >= 400)
        rc = door_refused(&reply, err);
    if (rc == 0)
        ts_buf_slice(out, ts_buf_get(&reply.body));
    ts_buf_release(&reply.body);
    ts_buf_release(&path);
    return rc;
}

/* --- both --- */

int tsd_meta_client_request(struct tsd_meta_client *door, const struct tsd_meta_client_req *req, json_t **out,
                            struct ts_error *err)
{
    struct ts_buf text;
    *out = NULL;
    ts_buf_init(&text, 0);
    int rc = door->store ? door_local(door, req, &text, err) : door_remote(door, req, &text, err);
    if (rc == 0 && text.n && door->status != 204 && door->status != 304)
        rc = ts_json_load(ts_buf_get(&text), out, err);
    ts_buf_release(&text);
    return rc;
}

int tsd_meta_client_tell(struct tsd_meta_client *door, const char *method, const char *path,
                         const struct ts_buf *body, struct ts_error *err)
{
    struct tsd_meta_client_req req = {.method = method, .path = path, .body = ts_buf_get(body)};
    json_t *answer;
    int rc = tsd_meta_client_request(door, &req, &answer, err);
    json_decref(answer);
    return rc;
}

int tsd_meta_client_run(const struct tsd_args *args, enum tsd_local how,
                        int (*run)(struct tsd_meta_client *door, struct ts_buf *out, struct ts_error *err))
{
    struct tsd_meta_client door;
    struct ts_error err = {0}, close_err = {0};
    struct ts_buf out;
    if (tsd_client_or_data(args) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    if (tsd_meta_client_open(&door, args, how, &err) < 0)
        return tsd_fail(&err);
    ts_buf_init(&out, 0);
    int rc = run(&door, &out, &err);
    int print_rc = tsd_print_all(ts_buf_get(&out), rc < 0 ? NULL : &err);
    ts_buf_release(&out);
    int close_rc = tsd_meta_client_close(&door, &close_err);
    if (rc < 0 || print_rc < 0)
        return tsd_fail(&err);
    return close_rc < 0 ? tsd_fail(&close_err) : TSD_EXIT_OK;
}
