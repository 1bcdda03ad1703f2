/*
 * meta_client.c - the same request to a daemon or to a folder; lines from what searches find.
 *
 * Threads    the main thread
 */
#include "tsd/commands/meta_client.h"

#include "tsd/meta/request.h"
#include "tsd/meta/uidmeta.h"

/* Open the folder if --data is given. */
static int meta_client_open(struct tsd_meta_client *client, const struct tsd_args *args, enum tsd_local how,
                            struct ts_error *err)
{
    *client = (struct tsd_meta_client){.args = args};
    return tsd_args_has(args, "data") ? tsd_local_open(args, how, &client->store, &client->rules, err) : 0;
}

/* Close it. */
static int meta_client_close(struct tsd_meta_client *client, struct ts_error *err)
{
    int rc = client->store ? sto_close(client->store, err) : 0;
    client->store = NULL;
    return rc;
}

/* --- a folder --- */

static enum tsd_method meta_client_method(const char *name)
{
    return !strcmp(name, "GET")      ? TSD_GET
           : !strcmp(name, "POST")   ? TSD_POST
           : !strcmp(name, "DELETE") ? TSD_DELETE
                                     : TSD_PUT;
}

static size_t meta_client_n_params(const struct tsd_meta_client_req *req)
{
    size_t n = 0;
    while (n < TSD_META_CLIENT_PARAMS && req->params[n].name.p)
        n++;
    return n;
}

/* A request to the folder. */
struct folder_request {
    struct tsd_meta_client *client;
    const struct tsd_meta_client_req *req;
};

static int run_on_folder(void *arg, struct ts_sink *sink, struct ts_error *err)
{
    const struct folder_request *r = arg;
    struct ts_arena arena;
    ts_arena_init(&arena, 0);
    struct tsd_meta_req request = {.store = r->client->store,
                                   .rules = &r->client->rules,
                                   .meta_series = true,
                                   .search = true,
                                   .method = meta_client_method(r->req->method),
                                   .method_name = r->req->method,
                                   .path = ts_slice_str(r->req->path),
                                   .params = r->req->params,
                                   .n_params = meta_client_n_params(r->req),
                                   .body = r->req->body,
                                   .arena = &arena,
                                   .sink = sink};
    int rc = tsd_meta_req_run(&request, err);
    if (rc < 0 && request.details[0])
        (void)ts_error_set(err, rc, "%s", request.details);
    r->client->status = (unsigned)request.status;
    ts_arena_release(&arena);
    return rc;
}

static int meta_client_local(struct tsd_meta_client *client, const struct tsd_meta_client_req *req,
                             struct ts_buf *out, struct ts_error *err)
{
    struct tsd_answer answer = {.args = client->args, .store = client->store};
    struct folder_request r = {client, req};
    return tsd_answer_local(&answer, run_on_folder, &r, out, err);
}

/* --- a daemon --- */

/* An answer with an error object, or of another shape than is expected. */
static int meta_client_refused(const struct tsd_client_reply *reply, struct ts_error *err)
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

static int meta_client_remote(struct tsd_meta_client *client, const struct tsd_meta_client_req *req,
                              struct ts_buf *out, struct ts_error *err)
{
    struct ts_buf path;
    struct tsd_client c;
    struct tsd_client_reply reply;
    const char *host, *port;
    ts_buf_init(&path, 0);
    ts_buf_printf(&path, "/%s", req->path);
    for (size_t i = 0; i < meta_client_n_params(req); i++) {
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
    tsd_client_where(client->args, &host, &port);
    ts_buf_init(&reply.body, 0);
    int rc = tsd_client_open(&c, host, port, err);
    if (rc == 0)
        rc = tsd_client_http(&c, &http, &reply, err);
    tsd_client_close(&c);
    client->status = reply.status;
    if (rc == 0 && reply.status >= 400)
        rc = meta_client_refused(&reply, err);
    if (rc == 0)
        ts_buf_slice(out, ts_buf_get(&reply.body));
    ts_buf_release(&reply.body);
    ts_buf_release(&path);
    return rc;
}

/* --- both --- */

int tsd_meta_client_request(struct tsd_meta_client *client, const struct tsd_meta_client_req *req,
                            json_t **out, struct ts_error *err)
{
    struct ts_buf text;
    *out = NULL;
    ts_buf_init(&text, 0);
    int rc = client->store ? meta_client_local(client, req, &text, err)
                           : meta_client_remote(client, req, &text, err);
    if (rc == 0 && text.n && client->status != 204 && client->status != 304)
        rc = ts_json_load(ts_buf_get(&text), out, err);
    ts_buf_release(&text);
    return rc;
}

int tsd_meta_client_send(struct tsd_meta_client *client, const char *method, const char *path,
                         const struct ts_buf *body, struct ts_error *err)
{
    struct tsd_meta_client_req req = {.method = method, .path = path, .body = ts_buf_get(body)};
    json_t *answer;
    int rc = tsd_meta_client_request(client, &req, &answer, err);
    json_decref(answer);
    return rc;
}

int tsd_meta_client_run(const struct tsd_args *args, enum tsd_local how,
                        int (*run)(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err))
{
    struct tsd_meta_client client;
    struct ts_error err = {0}, close_err = {0};
    struct ts_buf out;
    if (tsd_client_or_data(args) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    if (meta_client_open(&client, args, how, &err) < 0)
        return tsd_fail(&err);
    ts_buf_init(&out, 0);
    int rc = run(&client, &out, &err);
    int print_rc = tsd_print_all(ts_buf_get(&out), rc < 0 ? NULL : &err);
    ts_buf_release(&out);
    int close_rc = meta_client_close(&client, &close_err);
    if (rc < 0 || print_rc < 0)
        return tsd_fail(&err);
    return close_rc < 0 ? tsd_fail(&close_err) : TSD_EXIT_OK;
}

/* --- lines from results --- */

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));
    return text ? text : "";
}

static void print_series(const json_t *r, struct ts_buf *out)
{
    const char *k;
    json_t *v;
    ts_buf_printf(out, "%s %s ", text_of(r, "tsuid"), text_of(r, "metric"));
    json_object_foreach(json_object_get(r, "tags"), k, v)
        ts_buf_printf(out, "%s=%s ", k, json_string_value(v));
    ts_buf_char(out, '\n');
}

static void print_name(const json_t *r, struct ts_buf *out)
{
    enum sto_uid_kind kind = STO_UID_METRIC;
    uint32_t id = 0;
    (void)tsd_uid_kind(ts_slice_str(text_of(r, "type")), &kind);
    (void)tsd_uid_parse(ts_slice_str(text_of(r, "uid")), &id);
    ts_buf_printf(out, "%s %s: ", kind == STO_UID_METRIC ? "metrics" : tsd_uid_kind_name(kind),
                  text_of(r, "name"));
    tsd_uid_bytes(id, out);
    ts_buf_char(out, '\n');
}

static void print_note(const json_t *r, struct ts_buf *out)
{
    const char *tsuid = text_of(r, "tsuid");
    ts_buf_printf(out, "%lld %s %s\n", (long long)json_integer_value(json_object_get(r, "startTime")),
                  *tsuid ? tsuid : "-", text_of(r, "description"));
}

void tsd_meta_line(const json_t *r, struct ts_buf *out)
{
    if (json_is_string(r))
        ts_buf_printf(out, "%s\n", json_string_value(r));
    else if (json_object_get(r, "startTime"))
        print_note(r, out);
    else if (json_object_get(r, "uid"))
        print_name(r, out);
    else
        print_series(r, out);
}
