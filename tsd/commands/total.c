/*
 * total.c - tsd total: list and change the totals that are kept.
 *
 * Threads    the main thread
 * Not here   what a request answers (tsd/meta/total.c)
 */
#include "base/cut.h"
#include "storage/total.h"
#include "tsd/commands/cmd.h"
#include "tsd/commands/meta_client.h"
#include "tsd/commands/terminal.h"

#include <string.h>

const struct ts_opt tsd_total_opts[] = {
    {.name = "over",
     .arg = "KEY,...",
     .help = "With add and remove: the keys of tags that are summed over, separated by commas."},
    TSD_META_CLIENT_OPTS,
    {.name = NULL}};

static long long count(const json_t *row, const char *name)
{
    return (long long)json_integer_value(json_object_get(row, name));
}

static void print_row(const json_t *row, struct ts_buf *out)
{
    const json_t *over = json_object_get(row, "over");
    const char *metric = json_string_value(json_object_get(row, "metric"));
    ts_buf_printf(out, "%s over ", metric ? metric : "");
    for (size_t i = 0; i < json_array_size(over); i++) {
        const char *key = json_string_value(json_array_get(over, i));
        ts_buf_printf(out, "%s%s", i ? "," : "", key ? key : "");
    }
    if (!json_is_true(json_object_get(row, "known"))) {
        ts_buf_str(out, ": no points have this metric and these tags yet\n");
        return;
    }
    char bytes[TSD_FIGURE_BYTES];
    ts_buf_printf(out, ": in %lld file%s, %s", count(row, "files"), count(row, "files") == 1 ? "" : "s",
                  tsd_bytes_text((double)count(row, "bytes"), bytes));
    if (count(row, "waiting"))
        ts_buf_printf(out, "; to be made for %lld", count(row, "waiting"));
    if (count(row, "without"))
        ts_buf_printf(out, "; too many groups in %lld", count(row, "without"));
    ts_buf_char(out, '\n');
}

/* {"metric":"web.hits","over":["domain"]} */
static void print_body(const struct tsd_args *args, struct ts_buf *body)
{
    struct ts_json j;
    const char *over = tsd_args_get(args, "over");
    ts_json_init(&j, body);
    ts_json_obj(&j);
    ts_json_member_str(&j, "metric", args->words[1]);
    ts_json_member_arr(&j, "over");
    for (const char *p = over, *end; p; p = *end ? end + 1 : NULL) {
        end = p + strcspn(p, ",");
        ts_json_slice(&j, (struct ts_slice){p, (size_t)(end - p)});
    }
    ts_json_arr_end(&j);
    ts_json_obj_end(&j);
}

static int total_ask(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    const struct tsd_args *args = client->args;
    const char *verb = args->n_words ? args->words[0] : "list";
    bool change = strcmp(verb, "list") != 0;
    struct ts_buf body;
    json_t *root = NULL;
    ts_buf_init(&body, 0);
    if (change)
        print_body(args, &body);
    struct tsd_meta_client_req req = {.method = !change                    ? "GET"
                                                : strcmp(verb, "add") == 0 ? "POST"
                                                                           : "DELETE",
                                      .path = "api/total",
                                      .body = ts_buf_get(&body)};
    int rc = tsd_meta_client_request(client, &req, &root, err);
    ts_buf_release(&body);
    const json_t *totals = json_object_get(root, "totals");
    for (size_t i = 0; i < json_array_size(totals); i++)
        print_row(json_array_get(totals, i), out);
    if (rc == 0 && json_array_size(totals) == 0)
        tsd_say("no totals are kept");
    json_decref(root);
    return rc;
}

/* Words that no daemon would take: empty names, keys that come twice. */
static int check_names(const struct tsd_args *args, struct ts_error *err)
{
    struct ts_slice over[STO_TOTAL_KEYS + 1], rest = ts_slice_str(tsd_args_get(args, "over"));
    size_t n = 0;
    bool more = true;
    while (more && n < STO_TOTAL_KEYS + 1) {
        more = memchr(rest.p, ',', rest.n) != NULL;
        over[n++] = ts_slice_cut(&rest, ',');
    }
    return sto_total_names_check(ts_slice_str(args->words[1]), over, n, err);
}

int tsd_total_run(const struct tsd_args *args)
{
    struct ts_error err = {0};
    const char *verb = args->n_words ? args->words[0] : "list";
    bool change = strcmp(verb, "add") == 0 || strcmp(verb, "remove") == 0;
    if (!change && strcmp(verb, "list") != 0)
        return tsd_usage_word(args, verb, "list add remove");
    if (!change && args->n_words > 1)
        return tsd_usage(args, "list takes no words");
    if (change && args->n_words != 2)
        return tsd_usage(args, "%s takes one metric, as in web.hits --over domain", verb);
    if (change != tsd_args_has(args, "over"))
        return change ? tsd_usage(args,
                                  "%s needs --over with the keys of tags that are summed over, as in "
                                  "%s --over domain",
                                  verb, args->words[1])
                      : tsd_usage(args, "--over belongs to add and remove");
    if (change && check_names(args, &err) < 0)
        return tsd_usage(args, "%s", err.text);
    return tsd_meta_client_run(args, change ? TSD_LOCAL_WRITE : TSD_LOCAL_READ, total_ask);
}
