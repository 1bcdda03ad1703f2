/*
 * annotate.c - tsd annotate: makes, lists and deletes annotations of times, on series or global.
 *
 * Threads    the main thread
 */
#include "base/text.h"
#include "base/time.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/meta_client.h"

const struct ts_opt tsd_annotate_opts[] = {
    TSD_META_CLIENT_OPTS,
    {.name = "end", .arg = "TIME", .help = "End of the annotated event."},
    {.name = "notes", .arg = "TEXT", .help = "Further details."},
    {.name = "field", .arg = "NAME=TEXT", .help = "A free text field; may stand several times."},
    {.name = NULL},
};

static int annotate_time(const char *word, int64_t *out_ms, struct ts_error *err)
{
    return ts_time_parse(ts_slice_str(word), NULL, ts_clock_ms(), false, out_ms, NULL, err);
}

/* START END behind the first word; dates are of the zone of the daemon, and an END that is a day includes it. */
static int annotate_range(const struct tsd_args *args, int64_t *from_ms, int64_t *to_ms, struct ts_error *err)
{
    TS_TRY(tsd_zone_begin(args, err));
    TS_TRY(annotate_time(args->words[1], from_ms, err));
    return ts_time_parse_end(ts_slice_str(args->words[2]), NULL, ts_clock_ms(), false, to_ms, err);
}

/* --- which series --- */

/* TSUIDs of the series that words name, "METRIC tag=value ..."; "" for no words: a global annotation. The
 * caller's. */
static int annotate_series(struct tsd_meta_client *client, size_t skip, json_t **out, struct ts_error *err)
{
    const struct tsd_args *args = client->args;
    struct ts_buf m;
    json_t *root = NULL;
    *out = json_array();
    if (skip >= args->n_words) {
        json_array_append_new(*out, json_string(""));
        return 0;
    }
    ts_buf_init(&m, 0);
    ts_buf_str(&m, args->words[skip]);
    for (size_t i = skip + 1; i < args->n_words; i++)
        ts_buf_printf(&m, "%c%s", i == skip + 1 ? '{' : ',', args->words[i]);
    if (args->n_words > skip + 1)
        ts_buf_char(&m, '}');
    struct tsd_meta_client_req req = {
        .method = "GET",
        .path = "api/find/lookup",
        .params = {{TS_SLICE_LIT("m"), ts_buf_get(&m)}, {TS_SLICE_LIT("limit"), TS_SLICE_LIT("0")}}};
    int rc = tsd_meta_client_request(client, &req, &root, err);
    const json_t *results = json_object_get(root, "results");
    for (size_t i = 0; i < json_array_size(results); i++)
        json_array_append(*out, json_object_get(json_array_get(results, i), "tsuid"));
    if (rc == 0 && json_array_size(*out) == 0)
        rc = ts_error_set(err, TS_ENOTFOUND, "no such series: %.*s", TS_SHOWN(m, 150));
    ts_buf_release(&m);
    json_decref(root);
    return rc;
}

/* --- forms --- */

static void annotate_fields(const struct tsd_args *args, struct ts_json *j)
{
    bool any = false;
    for (unsigned i = 0; i < args->n_uses; i++) {
        const char *eq;
        if (!args->uses[i].name || strcmp(args->uses[i].name, "field") ||
            !(eq = strchr(args->uses[i].value, '=')))
            continue;
        if (!any)
            ts_json_member_obj(j, "custom");
        any = true;
        ts_json_key_slice(j, (struct ts_slice){args->uses[i].value, (size_t)(eq - args->uses[i].value)});
        ts_json_str(j, eq + 1);
    }
    if (any)
        ts_json_obj_end(j);
}

static int64_t annotate_stamp(int64_t ms)
{
    return ms % 1000 ? ms : ms / 1000;
}

/* TIME DESCRIPTION [METRIC tag=value ...] */
static int annotate_add(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    const struct tsd_args *args = client->args;
    const char *end = tsd_args_get(args, "end"), *notes = tsd_args_get(args, "notes");
    int64_t start_ms, end_ms = 0;
    json_t *series = NULL;
    struct ts_buf body;
    struct ts_json j;
    (void)out;
    TS_TRY(tsd_zone_begin(args, err));
    TS_TRY(annotate_time(args->words[0], &start_ms, err));
    if (end)
        TS_TRY(annotate_time(end, &end_ms, err));
    int rc = annotate_series(client, 2, &series, err);
    ts_buf_init(&body, 0);
    ts_json_init(&j, &body);
    ts_json_arr(&j);
    for (size_t i = 0; i < json_array_size(series); i++) {
        ts_json_obj(&j);
        ts_json_member_int(&j, "startTime", annotate_stamp(start_ms));
        ts_json_member_int(&j, "endTime", annotate_stamp(end_ms));
        ts_json_member_str(&j, "tsuid", json_string_value(json_array_get(series, i)));
        ts_json_member_str(&j, "description", args->words[1]);
        ts_json_member_str(&j, "notes", notes ? notes : "");
        annotate_fields(args, &j);
        ts_json_obj_end(&j);
    }
    ts_json_arr_end(&j);
    if (rc == 0)
        rc = tsd_meta_client_send(client, "PUT", "api/annotation/bulk", &body, err);
    ts_buf_release(&body);
    json_decref(series);
    return rc;
}

/* list START END [METRIC tag=value ...] */
static int annotate_list(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    int64_t from_ms, to_ms;
    json_t *series = NULL;
    TS_TRY(annotate_range(client->args, &from_ms, &to_ms, err));
    int rc = annotate_series(client, 3, &series, err);
    for (size_t i = 0; i < json_array_size(series) && rc == 0; i++) {
        json_t *root = NULL;
        struct ts_buf from;
        const char *tsuid = json_string_value(json_array_get(series, i));
        ts_buf_init(&from, 0);
        ts_buf_printf(&from, "%lldms", (long long)(from_ms > 0 ? from_ms : 1));
        struct tsd_meta_client_req req = {
            .method = "GET",
            .path = "api/annotations",
            .params = {{TS_SLICE_LIT("start_time"), ts_buf_get(&from)},
                       {TS_SLICE_LIT("end_time"), TS_SLICE_LIT("9999999999999ms")}}};
        if (*tsuid)
            req.params[2] = (struct qry_param){TS_SLICE_LIT("tsuids"), ts_slice_str(tsuid)};
        rc = tsd_meta_client_request(client, &req, &root, err);
        for (size_t k = 0; k < json_array_size(root); k++) {
            const json_t *note = json_array_get(root, k);
            int64_t t = json_integer_value(json_object_get(note, "startTime"));
            t = t < 4294967296 ? t * 1000 : t;
            if (t <= to_ms)
                tsd_meta_line(note, out);
        }
        json_decref(root);
        ts_buf_release(&from);
    }
    json_decref(series);
    return rc;
}

/* delete START END [METRIC tag=value ...] */
static int annotate_delete(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    int64_t from_ms, to_ms;
    json_t *series = NULL, *answer = NULL;
    struct ts_buf body;
    struct ts_json j;
    bool global = client->args->n_words == 3;
    TS_TRY(annotate_range(client->args, &from_ms, &to_ms, err));
    int rc = annotate_series(client, 3, &series, err);
    ts_buf_init(&body, 0);
    ts_json_init(&j, &body);
    ts_json_obj(&j);
    ts_json_member_int(&j, "startTime", annotate_stamp(from_ms));
    ts_json_member_int(&j, "endTime", annotate_stamp(to_ms));
    ts_json_member_bool(&j, "global", global);
    ts_json_member_arr(&j, "tsuids");
    for (size_t i = 0; i < json_array_size(series) && !global; i++)
        ts_json_str(&j, json_string_value(json_array_get(series, i)));
    ts_json_arr_end(&j);
    ts_json_obj_end(&j);
    struct tsd_meta_client_req req = {
        .method = "DELETE", .path = "api/annotation/bulk", .body = ts_buf_get(&body)};
    if (rc == 0)
        rc = tsd_meta_client_request(client, &req, &answer, err);
    if (rc == 0)
        ts_buf_printf(out, "%lld deleted\n",
                      (long long)json_integer_value(json_object_get(answer, "totalDeleted")));
    ts_buf_release(&body);
    json_decref(answer);
    json_decref(series);
    return rc;
}

int tsd_annotate_run(const struct tsd_args *args)
{
    const char *word = args->n_words ? args->words[0] : "";
    bool list = strcmp(word, "list") == 0, erase = strcmp(word, "delete") == 0;
    if (args->n_words < (list || erase ? 3u : 2u))
        return tsd_usage(args, "the words must be TIME DESCRIPTION, or list START END, or delete START END; "
                               "a series may follow");
    for (unsigned i = 0; i < args->n_uses; i++)
        if (args->uses[i].name && !strcmp(args->uses[i].name, "field") && !strchr(args->uses[i].value, '='))
            return tsd_usage(args, "--field takes NAME=TEXT");
    return tsd_meta_client_run(args, list ? TSD_LOCAL_READ : TSD_LOCAL_WRITE,
                               list    ? annotate_list
                               : erase ? annotate_delete
                                       : annotate_add);
}
