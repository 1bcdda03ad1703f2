/*
 * metrics.c - tsd metrics: a list of what is stored.
 *
 * Threads    the main thread
 * Not here   the request (status_get.c), kinds and units of one metric (metric.c)
 */
#include "base/num.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/status.h"
#include "tsd/commands/terminal.h"

#include <string.h>

#define METRICS_LIMIT     50
#define METRICS_MAX_LIMIT 10000

const struct ts_opt tsd_metrics_opts[] = {
    {.name = "sort",
     .arg = "name|series|points|bytes|written",
     .help = "Order: by name, or by a figure, the largest first. written: the time of the last point. "
             "Default name."},
    {.name = "limit", .letter = 'n', .arg = "N", .help = "Metrics at most. Default 50."},
    {.name = "format",
     .letter = 'f',
     .arg = "text|csv|json",
     .help = "Form of the answer. Default text. CSV and JSON have milliseconds and bytes."},
    TSD_CLIENT_OPTS,
    {.name = NULL},
};

/* A line of CSV: numbers as they are. */
static void metrics_csv(const json_t *list, struct ts_buf *out)
{
    static const char *const names[] = {"metric", "kind",  "unit", "series",   "points",
                                        "bytes",  "first", "last", "estimated"};
    const size_t n = sizeof(names) / sizeof(names[0]);
    json_t *metric;
    size_t row;
    (void)ts_buf_str(out, TSD_METRICS_COLUMNS ",estimated\n");
    json_array_foreach(list, row, metric)
    {
        for (size_t i = 0; i < n; i++) {
            const json_t *v = json_object_get(metric, names[i]);
            char number[64];
            size_t len = 0;
            (void)ts_buf_str(out, i ? "," : "");
            if (json_is_number(v))
                len = json_is_integer(v) ? ts_num_print_int(json_integer_value(v), number)
                                         : ts_num_print_double(json_number_value(v), number);
            (void)ts_buf_append(out, number, len);
            if (json_is_boolean(v))
                (void)ts_buf_str(out, json_is_true(v) ? "true" : "false");
            if (json_is_string(v) && strpbrk(json_string_value(v), "\",\n"))
                (void)ts_buf_printf(out, "\"%s\"", json_string_value(v)); /* names and units have no quotes */
            else if (json_is_string(v))
                (void)ts_buf_str(out, json_string_value(v));
        }
        (void)ts_buf_char(out, '\n');
    }
}

static int metrics_print(const struct tsd_args *args, json_t *root, const char *format)
{
    json_t *list = json_object_get(root, "metrics");
    struct ts_buf out;
    ts_buf_init(&out, 0);
    if (strcmp(format, "json") == 0) {
        tsd_status_json(root, &out);
    } else if (strcmp(format, "csv") == 0) {
        metrics_csv(list, &out);
    } else {
        tsd_status_list(list, "", TSD_METRICS_COLUMNS, 3, SIZE_MAX - 1, &out);
    }
    int code = tsd_print_page(&out);
    if (json_array_size(list) == 0)
        tsd_say(args->n_words ? "no metric has \"%s\" in its name, or fits to it as a pattern"
                              : "there are no metrics",
                args->n_words ? args->words[0] : "");
    else if (json_is_true(json_object_get(root, "more")))
        tsd_say("there are more metrics: --limit is %zu", json_array_size(list));
    if (json_is_true(json_object_get(root, "partial")))
        tsd_say("only the first %.0f by name are in this order (metrics_max_sorted)",
                tsd_status_num(root, "sorted", 0));
    if (tsd_status_num(root, "left_out", 0) > 0 && strcmp(format, "text") == 0)
        tsd_say("what the daemon measures about itself is left out; tsd metrics 'tsd.*' lists it");
    return code;
}

int tsd_metrics_run(const struct tsd_args *args)
{
    struct tsd_metrics_request request = {.limit = METRICS_LIMIT, .sort = tsd_args_get(args, "sort")};
    const char *limit = tsd_args_get(args, "limit");
    const char *format = tsd_answer_format(args, "text|csv|json", "text");
    struct ts_error err = {0};
    json_t *root;
    int64_t n = METRICS_LIMIT;
    int code;
    if (!format)
        return TSD_EXIT_USAGE;
    if (tsd_args_choice(args, "sort", "name|series|points|bytes|written", &code))
        return code;
    if (args->n_words > 1)
        return tsd_usage(args, "give one PATTERN; quote it, or the shell replaces its *");
    if (limit && (ts_num_parse_int(ts_slice_str(limit), &n, NULL) < 0 || n < 1 || n > METRICS_MAX_LIMIT))
        return tsd_usage(args, "--limit is a number from 1 to %d, not \"%.60s\"", METRICS_MAX_LIMIT, limit);
    request.limit = (size_t)n;
    request.pattern = args->n_words ? args->words[0] : NULL;
    request.own = request.pattern != NULL;
    if (tsd_metrics_get(args, &request, &root, &err) < 0)
        return tsd_fail(&err);
    code = metrics_print(args, root, format);
    json_decref(root);
    return code;
}
