/*
 * importbulk_store.c - the store of a bulk load: a running daemon by HTTP, or the folder of a stopped one.
 *
 * Threads    the main thread
 */
#include "tsd/commands/importbulk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/client.h"
#include "tsd/ingest/bulknames.h"

#define STORE_TRIES      50        /* of names, while series are being forgotten or too many jobs wait */
#define STORE_TAKE_TRIES 1500      /* of a hand-over, while another one is under way: five minutes, */
#define STORE_TAKE_NS    200000000 /* with this between them */

int tsd_bulk_store_open(struct tsd_bulk_store *s, enum tsd_local how, struct ts_error *err)
{
    return tsd_args_get(s->args, "data") ? tsd_local_open(s->args, how, &s->local, &s->rules, err) : 0;
}

int tsd_bulk_store_close(struct tsd_bulk_store *s, struct ts_error *err)
{
    return s->local ? sto_close(s->local, err) : 0;
}

static int store_ask(struct tsd_bulk_store *s, const char *method, const char *path, struct ts_slice body,
                     struct tsd_client_reply *reply, struct ts_error *err)
{
    struct tsd_client_req req = {
        .method = method, .path = path, .content_type = body.n ? "text/plain" : NULL, .body = body};
    *reply = (struct tsd_client_reply){0};
    return tsd_client_request(s->args, &req, reply, err);
}

/* --- begin --- */

static uint64_t store_number(const json_t *o, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(o, name));
}

static int store_rules(const json_t *o, struct tsd_rules *out, struct ts_error *err)
{
    const char *special = json_string_value(json_object_get(o, "special"));
    uint64_t max_tags = store_number(o, "maxTags");
    if (!special || strlen(special) >= sizeof out->special || max_tags < 1 || max_tags > TSD_TAGS_MAX)
        return ts_error_set(err, TS_EPARSE, "the daemon's answer about a bulk load makes no sense");
    bool compat = json_is_true(json_object_get(o, "compat"));
    tsd_rules_init(out, compat, true, (unsigned)max_tags, special);
    out->old_times = json_is_true(json_object_get(o, "oldTimes"));
    out->hbase = json_is_true(json_object_get(o, "hbase"));
    out->min_ms = json_integer_value(json_object_get(o, "minMs"));
    out->max_ms = json_integer_value(json_object_get(o, "maxMs"));
    out->max_name_bytes[STO_UID_METRIC] = store_number(o, "maxMetricBytes");
    out->max_name_bytes[STO_UID_TAGK] = store_number(o, "maxTagkBytes");
    out->max_name_bytes[STO_UID_TAGV] = store_number(o, "maxTagvBytes");
    return 0;
}

/* Is the folder that the daemon has named the same one here? */
static int store_is_here(const struct sto_bulk_place *place, struct ts_error *err)
{
    char *path = ts_fs_join(place->dir, "TOKEN"), *text = NULL;
    struct ts_error why = {0};
    size_t n = 0;
    int rc = ts_fs_read_file(ts_fs_real(), path, STO_BULK_TOKEN_BYTES, &text, &n, &why);
    bool same = rc == 0 && n == strlen(place->token) && memcmp(text, place->token, n) == 0;
    ts_free(text);
    ts_free(path);
    if (same)
        return 0;
    return ts_error_set(
        err, TS_EINVAL,
        "the daemon's folder %s is not the one here (%s): --bulk needs the daemon's machine and "
        "the right to write into its folder; import without --bulk from elsewhere",
        place->dir, rc < 0 ? why.text : "another TOKEN");
}

static int store_place(struct tsd_bulk_store *s, json_t *o, struct sto_bulk_place *out, struct ts_error *err)
{
    const char *dir = json_string_value(json_object_get(o, "dir")),
               *token = json_string_value(json_object_get(o, "token"));
    if (!dir || !token || strlen(token) >= sizeof out->token)
        return ts_error_set(err, TS_EPARSE, "the daemon's answer about a bulk load makes no sense");
    out->dir = ts_xstrdup(dir);
    (void)snprintf(out->token, sizeof out->token, "%s", token);
    out->done = json_is_true(json_object_get(o, "done"));
    out->sum =
        (struct sto_bulk_sum){store_number(o, "files"), store_number(o, "points"), store_number(o, "bytes")};
    TS_TRY(store_rules(json_object_get(o, "rules"), &s->rules, err));
    return store_is_here(out, err);
}

int tsd_bulk_store_begin(struct tsd_bulk_store *s, struct sto_bulk_place *out, struct ts_error *err)
{
    char path[80];
    struct tsd_client_reply reply;
    *out = (struct sto_bulk_place){0};
    if (s->local)
        return sto_bulk_begin(s->local, ts_slice_str(s->id), out, err);
    (void)snprintf(path, sizeof path, "/api/admin/bulk?id=%s", s->id);
    int rc = store_ask(s, "POST", path, (struct ts_slice){NULL, 0}, &reply, err);
    json_t *o = rc == 0 ? json_loadb(reply.body.p, reply.body.n, 0, NULL) : NULL;
    if (rc == 0)
        rc = store_place(s, o, out, err);
    if (rc < 0) {
        ts_free(out->dir);
        out->dir = NULL;
    }
    json_decref(o);
    ts_buf_release(&reply.body);
    return rc;
}

/* --- the rest --- */

int tsd_bulk_store_names(struct tsd_bulk_store *s, struct ts_slice lines, struct ts_buf *out,
                         struct ts_error *err)
{
    char path[80];
    struct tsd_client_reply reply = {0};
    int rc = 0;
    if (s->local)
        return tsd_bulk_names(s->local, &s->rules, lines, out, err);
    (void)snprintf(path, sizeof path, "/api/admin/bulk/names?id=%s", s->id);
    for (unsigned i = 0; i < STORE_TRIES; i++) {
        ts_buf_release(&reply.body);
        rc = store_ask(s, "POST", path, lines, &reply, err);
        if (rc == 0 || (reply.status != 503 && reply.status != 429))
            break;
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    if (rc == 0)
        ts_buf_slice(out, ts_buf_get(&reply.body));
    ts_buf_release(&reply.body);
    return rc;
}

int tsd_bulk_store_touch(struct tsd_bulk_store *s, struct ts_error *err)
{
    char path[80];
    struct tsd_client_reply reply;
    struct ts_error why = {0};
    if (s->local)
        return sto_bulk_touch(s->local, ts_slice_str(s->id), err);
    (void)snprintf(path, sizeof path, "/api/admin/bulk/names?id=%s", s->id);
    int rc = store_ask(s, "POST", path, (struct ts_slice){NULL, 0}, &reply, &why);
    bool gone = rc < 0 && (reply.status == 400 || reply.status == 404);
    ts_buf_release(&reply.body);
    if (gone)
        *err = why;
    return gone ? rc : 0;
}

bool tsd_bulk_store_replaces(const struct tsd_bulk_store *s)
{
    return tsd_args_has(s->args, "series");
}

/* What tsd replace replaces. */
static void store_replaced(const struct tsd_bulk_store *s, struct ts_buf *path)
{
    static const char *const params[][2] = {
        {"series", "series"}, {"start", "from"}, {"end", "to"}, {"tz", "tz"}};
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        const char *value = tsd_args_get(s->args, params[i][1]);
        if (!value)
            continue;
        ts_buf_printf(path, "&%s=", params[i][0]);
        ts_buf_uri(path, ts_slice_str(value));
    }
}

/* Is the store handing over the files of another command, or were summaries made meanwhile? */
static bool store_is_busy(const struct tsd_client_reply *reply, const struct ts_error *err)
{
    return reply->status == 503 && strstr(err->text, "try again") != NULL;
}

int tsd_bulk_store_take(struct tsd_bulk_store *s, const struct sto_bulk_sum *sum, uint64_t *out_deleted,
                        struct ts_error *err)
{
    struct ts_buf path;
    struct tsd_client_reply reply;
    struct sto_bulk_sum taken;
    *out_deleted = 0;
    if (s->local)
        return sto_bulk_hand_over(s->local, ts_slice_str(s->id), sum, &taken, err);
    ts_buf_init(&path, 0);
    ts_buf_printf(&path, "/api/admin/bulk/take?id=%s&files=%" PRIu64 "&points=%" PRIu64, s->id, sum->n_files,
                  sum->n_points);
    if (tsd_bulk_store_replaces(s))
        store_replaced(s, &path);
    ts_buf_char(&path, 0);
    int rc = store_ask(s, "POST", path.p, (struct ts_slice){NULL, 0}, &reply, err);
    for (unsigned i = 0; rc < 0 && store_is_busy(&reply, err) && i < STORE_TAKE_TRIES; i++) {
        ts_buf_release(&reply.body);
        (void)nanosleep(&(struct timespec){.tv_nsec = STORE_TAKE_NS}, NULL);
        rc = store_ask(s, "POST", path.p, (struct ts_slice){NULL, 0}, &reply, err);
    }
    json_t *o = rc == 0 ? json_loadb(reply.body.p, reply.body.n, 0, NULL) : NULL;
    *out_deleted = store_number(o, "deleted");
    json_decref(o);
    ts_buf_release(&reply.body);
    ts_buf_release(&path);
    return rc;
}

int tsd_bulk_store_end(struct tsd_bulk_store *s, struct sto_bulk_ended *out, struct ts_error *err)
{
    char path[80];
    struct tsd_client_reply reply;
    *out = (struct sto_bulk_ended){0};
    if (s->local)
        return sto_bulk_end(s->local, ts_slice_str(s->id), out, err);
    (void)snprintf(path, sizeof path, "/api/admin/bulk?id=%s", s->id);
    int rc = store_ask(s, "DELETE", path, (struct ts_slice){NULL, 0}, &reply, err);
    json_t *o = rc == 0 ? json_loadb(reply.body.p, reply.body.n, 0, NULL) : NULL;
    out->found = json_is_true(json_object_get(o, "found"));
    out->done = json_is_true(json_object_get(o, "done"));
    json_decref(o);
    ts_buf_release(&reply.body);
    return rc;
}

static void store_state(const json_t *o, struct sto_bulk_load *out)
{
    const char *id = json_string_value(json_object_get(o, "id"));
    *out = (struct sto_bulk_load){.n_bytes = store_number(o, "bytes"),
                                  .idle_ms = json_integer_value(json_object_get(o, "idleMs")),
                                  .busy = json_is_true(json_object_get(o, "busy")),
                                  .given_up = json_is_true(json_object_get(o, "givenUp")),
                                  .done = json_is_true(json_object_get(o, "done"))};
    (void)snprintf(out->id, sizeof out->id, "%s", id ? id : "");
}

int tsd_bulk_store_list(struct tsd_bulk_store *s, struct sto_bulk_load out[STO_BULK_MAX], size_t *out_n,
                        struct ts_error *err)
{
    json_t *list = NULL;
    *out_n = 0;
    if (s->local)
        return sto_bulk_list(s->local, out, out_n, err);
    TS_TRY(tsd_client_json(s->args, "/api/admin/bulk", 0, &list, err));
    for (; *out_n < json_array_size(list) && *out_n < STO_BULK_MAX; ++*out_n)
        store_state(json_array_get(list, *out_n), &out[*out_n]);
    json_decref(list);
    return 0;
}
