/*
 * versions.c - tsd versions: list and change the metrics that keep versions.
 *
 * Threads    the main thread
 * Not here   what a request answers (tsd/meta/versions.c), queries as of a time (query.c)
 */
#include "base/num.h"
#include "base/time.h"
#include "storage/versions.h"
#include "tsd/commands/cmd.h"
#include "tsd/commands/meta_client.h"

#include <string.h>

const struct ts_opt tsd_versions_opts[] = {TSD_META_CLIENT_OPTS, {.name = NULL}};

static void print_row(const json_t *row, struct ts_buf *out)
{
    const char *metric = json_string_value(json_object_get(row, "metric"));
    ts_buf_printf(out, "%s %lld since ", metric ? metric : "",
                  (long long)json_integer_value(json_object_get(row, "versions")));
    ts_time_print(NULL, json_integer_value(json_object_get(row, "since")), false, out);
    ts_buf_char(out, '\n');
}

static const char *verb_of(const struct tsd_args *args)
{
    return args->n_words ? args->words[0] : "list";
}

/* {"metric":"stats.users","versions":5} */
static void print_body(const struct tsd_args *args, struct ts_buf *body)
{
    struct ts_json j;
    int64_t n = 0;
    ts_json_init(&j, body);
    ts_json_obj(&j);
    ts_json_member_str(&j, "metric", args->words[1]);
    if (args->n_words > 2 && ts_num_parse_int(ts_slice_str(args->words[2]), &n, NULL) == 0)
        ts_json_member_int(&j, "versions", n);
    ts_json_obj_end(&j);
}

static int versions_ask(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    const struct tsd_args *args = client->args;
    const char *verb = verb_of(args);
    struct ts_buf body;
    json_t *root = NULL;
    ts_buf_init(&body, 0);
    if (strcmp(verb, "list") != 0)
        print_body(args, &body);
    struct tsd_meta_client_req req = {.method = strcmp(verb, "list") == 0  ? "GET"
                                                : strcmp(verb, "set") == 0 ? "POST"
                                                                           : "DELETE",
                                      .path = "api/versions",
                                      .body = ts_buf_get(&body)};
    int rc = tsd_meta_client_request(client, &req, &root, err);
    ts_buf_release(&body);
    const json_t *metrics = json_object_get(root, "metrics");
    for (size_t i = 0; i < json_array_size(metrics); i++)
        print_row(json_array_get(metrics, i), out);
    if (rc == 0 && json_array_size(metrics) == 0)
        tsd_say("no metric keeps versions");
    json_decref(root);
    return rc;
}

int tsd_versions_run(const struct tsd_args *args)
{
    const char *verb = verb_of(args);
    bool list = strcmp(verb, "list") == 0, set = strcmp(verb, "set") == 0,
         remove = strcmp(verb, "remove") == 0;
    int64_t n;
    if (!list && !set && !remove)
        return tsd_usage_word(args, verb, "list set remove");
    if (list && args->n_words > 1)
        return tsd_usage(args, "list takes no words");
    if (remove && args->n_words != 2)
        return tsd_usage(args, "remove takes one metric");
    if (set && args->n_words != 3)
        return tsd_usage(args, "set takes a metric and how many versions it keeps, as in stats.users 5");
    if (set &&
        (ts_num_parse_int(ts_slice_str(args->words[2]), &n, NULL) < 0 || n < 1 || n > STO_VERSIONS_MAX))
        return tsd_usage(args, "set takes a metric and then how many versions it keeps, 1 to %u, not %s",
                         STO_VERSIONS_MAX, args->words[2]);
    return tsd_meta_client_run(args, list ? TSD_LOCAL_READ : TSD_LOCAL_WRITE, versions_ask);
}
