/*
 * metric.c - tsd metric: kind and unit of a metric, which are free text fields of its name.
 *
 * Threads    the main thread
 * Not here   how fields are stored (uid.c does it), what queries make of a kind (meta/kind.c)
 */
#include "base/mem.h"
#include "base/near.h"
#include "tsd/commands/cmd.h"
#include "tsd/commands/meta_client.h"
#include "tsd/meta/kind.h"

#include <string.h>

/* tsd uid WORDS... with the options of this command. */
static int metric_uid(const struct tsd_args *args, const char **words, size_t n)
{
    struct tsd_args uid = *args;
    uid.words = words;
    uid.n_words = n;
    return tsd_uid_run(&uid);
}

/* A field of that name, or something near to kind or unit, which would be stored and never looked at? */
static int metric_field(const struct tsd_args *args, struct ts_slice name)
{
    static const char *const known[] = {"kind", "unit"};
    struct ts_near near;
    ts_near_init(&near, name);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (ts_slice_is(name, known[i]))
            return TSD_EXIT_OK;
        ts_near_see(&near, ts_slice_str(known[i]));
    }
    if (!near.n)
        return TSD_EXIT_OK;
    return tsd_usage(
        args, "a metric has no field \"%.*s\"; did you mean %s? (tsd uid set stores a field of any name)",
        (int)name.n, name.p, near.best);
}

static int metric_set(const struct tsd_args *args)
{
    for (size_t i = 2; i < args->n_words; i++) {
        const char *eq = strchr(args->words[i], '=');
        enum tsd_kind kind;
        if (!eq || eq == args->words[i])
            return tsd_usage(args, "set takes kind=count, unit=hits; not \"%s\"", args->words[i]);
        int code = metric_field(args, (struct ts_slice){args->words[i], (size_t)(eq - args->words[i])});
        if (code != TSD_EXIT_OK)
            return code;
        if (strncmp(args->words[i], "kind=", 5) == 0 && eq[1] && !tsd_kind_parse(ts_slice_str(eq + 1), &kind))
            return tsd_usage(args, "kind is gauge, count or counter, not \"%s\"", eq + 1);
    }
    for (size_t i = 2; i < args->n_words; i++) {
        char *field = ts_xstrdup(args->words[i]), *value = strchr(field, '=');
        *value++ = 0;
        const char *words[] = {"set", "metrics", args->words[1], field, value};
        int code = metric_uid(args, words, 5);
        ts_free(field);
        if (code != TSD_EXIT_OK)
            return code;
    }
    return TSD_EXIT_OK;
}

/* What the metric is; an unknown one gets a hint. */
static int metric_info(struct tsd_meta_client *client, json_t **out_root, struct ts_error *err)
{
    struct tsd_meta_client_req req = {
        .method = "GET",
        .path = "api/metric",
        .params = {{TS_SLICE_LIT("metric"), ts_slice_str(client->args->words[1])}}};
    return tsd_meta_client_request(client, &req, out_root, err);
}

/* Is there such a metric? Prints nothing. */
static int metric_check(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    json_t *root = NULL;
    (void)out;
    TS_TRY(metric_info(client, &root, err));
    json_decref(root);
    return 0;
}

/* The kind that holds although nobody set it. */
static int metric_kind(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    json_t *root = NULL;
    TS_TRY(metric_info(client, &root, err));
    const char *kind = json_string_value(json_object_get(root, "kind"));
    const char *source = json_string_value(json_object_get(root, "source"));
    if (kind && source && strcmp(source, "set") != 0)
        ts_buf_printf(out, "kind: %s (%s)\n", kind, source);
    json_decref(root);
    return 0;
}

int tsd_metric_run(const struct tsd_args *args)
{
    if (args->n_words >= 3 && strcmp(args->words[0], "set") == 0)
        return metric_set(args);
    if (args->n_words == 2 && strcmp(args->words[0], "show") == 0) {
        const char *words[] = {"get", "metrics", args->words[1]};
        int code = tsd_meta_client_run(args, TSD_LOCAL_READ, metric_check);
        if (code == TSD_EXIT_OK)
            code = metric_uid(args, words, 3);
        return code == TSD_EXIT_OK ? tsd_meta_client_run(args, TSD_LOCAL_READ, metric_kind) : code;
    }
    if (args->n_words && strcmp(args->words[0], "show") != 0 && strcmp(args->words[0], "set") != 0)
        return tsd_usage_word(args, args->words[0], "show set");
    return tsd_usage(args, "the words must be show METRIC, or set METRIC kind=count unit=hits");
}
