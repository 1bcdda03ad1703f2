/*
 * retention.c - tsd retention: list and change how long points are kept, and how many bytes of them.
 *
 * Threads    the main thread
 * Not here   what a request answers (tsd/meta/retention.c)
 */
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "storage/max_bytes.h"
#include "storage/store.h"
#include "tsd/commands/cmd.h"
#include "tsd/commands/meta_client.h"
#include "tsd/commands/terminal.h"

#include <stdlib.h>
#include <string.h>

const struct ts_opt tsd_retention_opts[] = {
    {.name = "explain",
     .help = "Say for each rule how many series it has, from when on their points are kept, how many points "
             "have expired and are in files still, the space that removing them frees, and when the next "
             "point expires; and what max_bytes has removed and removes next. Points and space are "
             "estimates (about)."},
    {.name = "dry-run",
     .help = "Change nothing; print what would hold after the change and what it would do, as --explain."},
    {.name = "at",
     .arg = "N",
     .help = "With add: the place of the rule among those that were set, from 1; the last one by default."},
    TSD_META_CLIENT_OPTS,
    {.name = NULL}};

/* --- output --- */

static const char *bytes_of(const json_t *row, const char *name, char *out)
{
    return tsd_bytes_text((double)json_integer_value(json_object_get(row, name)), out);
}

static void print_time(const json_t *ms, struct ts_buf *out)
{
    ts_time_print(ts_tz_default(), json_integer_value(ms), false, out);
}

/* "about 12 points": an estimate, unless there are none. */
static void print_points(const json_t *row, const char *name, struct ts_buf *out)
{
    int64_t n = json_integer_value(json_object_get(row, name));
    ts_buf_printf(out, "%s%lld point%s", n ? "about " : "", (long long)n, ts_plural((uint64_t)n));
}

/* ", about 1.2 KiB to be freed", if there is something. */
static void print_freed(const json_t *row, const char *name, const char *still, struct ts_buf *out)
{
    char bytes[TSD_FIGURE_BYTES];
    if (json_integer_value(json_object_get(row, name)))
        ts_buf_printf(out, ", about %s to be freed%s", bytes_of(row, name, bytes), still);
}

static void print_does(const json_t *row, struct ts_buf *out)
{
    const json_t *cutoff = json_object_get(row, "cutoff"), *oldest = json_object_get(row, "oldest");
    const json_t *keep_ms = json_object_get(row, "pointsMs");
    ts_buf_printf(out, "    %lld series, ", (long long)json_integer_value(json_object_get(row, "series")));
    print_points(row, "points", out);
    ts_buf_str(out, " in files\n");
    if (!json_is_integer(cutoff))
        return;
    ts_buf_str(out, "    expired: points before ");
    print_time(cutoff, out);
    ts_buf_str(out, "; in files still: ");
    print_points(row, "expiredPoints", out);
    print_freed(row, "expiredBytes", "", out);
    if (json_integer_value(json_object_get(row, "expiredBytes")) && json_object_get(row, "hours"))
        ts_buf_str(out, "; a summary of each hour of a series takes 42 to 77 bytes instead");
    ts_buf_char(out, '\n');
    if (!json_is_integer(oldest))
        return;
    ts_buf_str(out, "    the next point expires about ");
    ts_time_print(ts_tz_default(), json_integer_value(oldest) + json_integer_value(keep_ms), false, out);
    ts_buf_char(out, '\n');
}

/* What a rule does to the summaries of hours, or days, if it has any. */
static void print_summaries(const json_t *row, const char *name, struct ts_buf *out)
{
    const json_t *hours = json_object_get(row, name), *cutoff = json_object_get(hours, "cutoff");
    if (!hours)
        return;
    ts_buf_printf(out, "    summaries of %s: %lld series", name,
                  (long long)json_integer_value(json_object_get(hours, "series")));
    if (json_is_integer(cutoff)) {
        ts_buf_str(out, ", expired before ");
        print_time(cutoff, out);
        print_freed(hours, "expiredBytes", "", out);
    }
    ts_buf_char(out, '\n');
}

static void print_rule(const json_t *row, size_t n, struct ts_buf *out)
{
    const char *rule = json_string_value(json_object_get(row, "rule"));
    const char *source = json_string_value(json_object_get(row, "source"));
    const json_t *keep_ms = json_object_get(row, "pointsMs");
    if (rule && *rule)
        ts_buf_printf(out, "%zu %s", n, rule);
    else if (json_is_integer(keep_ms))
        ts_buf_printf(out, "all others points=%lldd", (long long)(json_integer_value(keep_ms) / TS_DAY_MS));
    else
        ts_buf_str(out, "all others points=forever");
    if (source && strcmp(source, "set") != 0)
        ts_buf_printf(out, " (%s)", source);
    ts_buf_char(out, '\n');
    if (json_object_get(row, "series"))
        print_does(row, out);
    print_summaries(row, "hours", out);
    print_summaries(row, "days", out);
}

/* What goes next, and when. Before the cutoff of points there are only summaries. */
static void print_next(const json_t *limit, const json_t *cutoff, const json_t *next, struct ts_buf *out)
{
    int64_t held_ms = json_integer_value(json_object_get(limit, "heldMs"));
    bool are_points = !json_is_integer(cutoff) || json_integer_value(next) > json_integer_value(cutoff);
    ts_buf_printf(out, "    to be removed next: %s before ", are_points ? "points" : "summaries");
    print_time(next, out);
    print_freed(limit, "freedBytes", "", out);
    if (held_ms > 0)
        ts_buf_printf(out, ", in %lld s at the earliest (max_bytes_grace_s)\n",
                      (long long)(held_ms + 999) / 1000);
    else
        ts_buf_str(out, ", within a minute or two\n");
}

/* "max_bytes 107374182400, 100 GiB", and with explain what it does. */
static void print_limit(const json_t *limit, struct ts_buf *out)
{
    const json_t *max_bytes = json_object_get(limit, "maxBytes"), *cutoff = json_object_get(limit, "cutoff");
    const json_t *next = json_object_get(limit, "next"),
                 *summaries = json_object_get(limit, "summariesCutoff");
    const char *source = json_string_value(json_object_get(limit, "source"));
    char bytes[TSD_FIGURE_BYTES], fixed[TSD_FIGURE_BYTES];
    if (json_is_integer(max_bytes))
        ts_buf_printf(out, "max_bytes %lld, %s", (long long)json_integer_value(max_bytes),
                      bytes_of(limit, "maxBytes", bytes));
    else
        ts_buf_str(out, "max_bytes none");
    ts_buf_str(out, source && strcmp(source, "set") == 0 ? "\n" : " (configuration)\n");
    if (json_object_get(limit, "bytes"))
        ts_buf_printf(out, "    the store has %s on the disk, %s of it in logs and names\n",
                      bytes_of(limit, "bytes", bytes), bytes_of(limit, "fixedBytes", fixed));
    if (json_is_integer(cutoff)) {
        ts_buf_str(out, "    removed: points before ");
        print_time(cutoff, out);
        if (json_is_integer(summaries)) {
            ts_buf_str(out, ", summaries before ");
            print_time(summaries, out);
        } else if (summaries) {
            ts_buf_str(out, ", no summaries");
        }
        print_freed(limit, "pendingBytes", " still", out);
        ts_buf_char(out, '\n');
    }
    if (json_is_integer(next))
        print_next(limit, cutoff, next, out);
    if (json_is_true(json_object_get(limit, "short")))
        ts_buf_str(
            out, "    the limit cannot be kept: what is left are logs, names, and points of the last hour\n");
}

/* --- the request --- */

/* The rule that is given in words, with blanks between them. */
static void join_words(const struct tsd_args *args, struct ts_buf *out)
{
    for (size_t i = 1; i < args->n_words; i++)
        ts_buf_printf(out, "%s%s", i > 1 ? " " : "", args->words[i]);
}

/* {"add":["cpu.* points=30d"],"at":0} */
static void print_body(const struct tsd_args *args, struct ts_buf *body)
{
    struct ts_json j;
    const char *at = tsd_args_get(args, "at"), *verb = args->words[0];
    ts_json_init(&j, body);
    ts_json_obj(&j);
    if (strcmp(verb, "max-bytes") == 0) {
        ts_json_member_str(&j, "maxBytes", args->words[1]);
        ts_json_obj_end(&j);
        return;
    }
    ts_json_member_arr(&j, verb);
    if (strcmp(verb, "set") == 0) {
        for (size_t i = 1; i < args->n_words; i++)
            ts_json_str(&j, args->words[i]);
    } else {
        struct ts_buf rule;
        ts_buf_init(&rule, 0);
        join_words(args, &rule);
        ts_json_slice(&j, ts_buf_get(&rule));
        ts_buf_release(&rule);
    }
    ts_json_arr_end(&j);
    if (at)
        ts_json_member_int(&j, "at", strtoll(at, NULL, 10) - 1);
    ts_json_obj_end(&j);
}

static bool is_limit(const struct tsd_args *args)
{
    return args->n_words && strcmp(args->words[0], "max-bytes") == 0;
}

static int check_rule(const char *rule, struct ts_error *err)
{
    if (!rule[strspn(rule, " \t")])
        return ts_error_set(err, TS_EINVAL, "a rule is empty");
    if (strpbrk(rule, ";\r\n"))
        return ts_error_set(err, TS_EINVAL, "a rule has no ; and no end of a line in it: '%.80s'", rule);
    struct ts_error why = {0};
    static const char key[] = "retention_rules: "; /* where the text is that of the key */
    int rc = sto_retain_check(rule, &why);
    size_t skip = rc < 0 && strncmp(why.text, key, sizeof key - 1) == 0 ? sizeof key - 1 : 0;
    return rc < 0 ? ts_error_set(err, rc, "%s", why.text + skip) : 0;
}

/* Rules that no daemon would take. */
static int check_rules(const struct tsd_args *args, struct ts_error *err)
{
    if (strcmp(args->words[0], "set") == 0) {
        for (size_t i = 1; i < args->n_words; i++)
            TS_TRY(check_rule(args->words[i], err));
        return 0;
    }
    struct ts_buf rule;
    ts_buf_init(&rule, 0);
    join_words(args, &rule);
    ts_buf_char(&rule, 0);
    int rc = check_rule(rule.p, err);
    ts_buf_release(&rule);
    return rc;
}

/* The size of max-bytes, as the key max_bytes takes it. */
static int check_size(const char *text, struct ts_error *err)
{
    uint64_t n = 0;
    if (strcmp(text, "none") == 0 || strcmp(text, "default") == 0)
        return 0;
    if (ts_num_parse_bytes(ts_slice_str(text), &n) < 0 || n > STO_MAX_BYTES_MOST)
        return ts_error_set(
            err, TS_EINVAL,
            "max-bytes takes a whole number of bytes up to 1024P, with K, M, G, T or P for powers of "
            "1024, as in 1536G, or none, or default, not \"%.60s\"",
            text);
    if (n == 0)
        return ts_error_set(err, TS_EINVAL,
                            "a limit of 0 bytes keeps nothing; max-bytes none removes the limit");
    return 0;
}

static int check_change(const struct tsd_args *args, struct ts_error *err)
{
    return is_limit(args) ? check_size(args->words[1], err) : check_rules(args, err);
}

/* The text of a rule without how long. */
static struct ts_slice series_of(const json_t *row)
{
    const char *rule = json_string_value(json_object_get(row, "rule")),
               *points = strstr(rule ? rule : "", " points=");
    return (struct ts_slice){rule ? rule : "", points ? (size_t)(points - rule) : 0};
}

/* Say which rules never apply, since an earlier one has the same series, or all. */
static void say_hidden(const json_t *rules)
{
    for (size_t i = 1; i < json_array_size(rules); i++) {
        struct ts_slice mine = series_of(json_array_get(rules, i));
        for (size_t k = 0; k < i && mine.n; k++) {
            struct ts_slice before = series_of(json_array_get(rules, k));
            if (!ts_slice_eq(before, mine) && !ts_slice_is(before, "*"))
                continue;
            tsd_say("rule %zu never applies: rule %zu before it has the same series%s", i + 1, k + 1,
                    ts_slice_eq(before, mine) ? "" : ", and all others");
            break;
        }
    }
}

static bool is_change(const struct tsd_args *args)
{
    return args->n_words && strcmp(args->words[0], "list") != 0 && !(args->n_words == 1 && is_limit(args));
}

static int retention_ask(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    const struct tsd_args *args = client->args;
    bool change = is_change(args), dry_run = change && tsd_args_has(args, "dry-run");
    struct ts_buf body;
    json_t *root = NULL;
    ts_buf_init(&body, 0);
    if (change)
        print_body(args, &body);
    struct tsd_meta_client_req req = {
        .method = change ? "POST" : "GET", .path = "api/retention", .body = ts_buf_get(&body)};
    size_t n = 0;
    if (tsd_args_has(args, "explain") || (is_limit(args) && !change))
        req.params[n++] = (struct qry_param){TS_SLICE_LIT("explain"), TS_SLICE_LIT("true")};
    if (dry_run)
        req.params[n++] = (struct qry_param){TS_SLICE_LIT("dry_run"), TS_SLICE_LIT("true")};
    int rc = tsd_meta_client_request(client, &req, &root, err);
    ts_buf_release(&body);
    const json_t *rules = json_object_get(root, "rules");
    for (size_t i = 0; i < json_array_size(rules) && !is_limit(args); i++)
        print_rule(json_array_get(rules, i), i + 1, out);
    if (!is_limit(args))
        say_hidden(rules);
    const json_t *limit = json_object_get(root, "limit");
    if (limit && (is_limit(args) || json_is_integer(json_object_get(limit, "maxBytes")) ||
                  json_is_integer(json_object_get(limit, "cutoff"))))
        print_limit(limit, out);
    if (rc == 0 && dry_run)
        ts_buf_str(out, "nothing was changed (--dry-run)\n");
    json_decref(root);
    return rc;
}

int tsd_retention_run(const struct tsd_args *args)
{
    const char *verb = args->n_words ? args->words[0] : "list", *at = tsd_args_get(args, "at");
    char *end = NULL;
    struct ts_error err = {0};
    if (strcmp(verb, "list") != 0 && strcmp(verb, "add") != 0 && strcmp(verb, "remove") != 0 &&
        strcmp(verb, "set") != 0 && !is_limit(args))
        return tsd_usage_word(args, verb, "list add remove set max-bytes");
    if (args->n_words > 2 && is_limit(args))
        return tsd_usage(args, "max-bytes takes one size, as in 100G, or none, or default");
    if (args->n_words == 1 && (strcmp(verb, "add") == 0 || strcmp(verb, "remove") == 0))
        return tsd_usage(args, "%s takes a rule, as in 'cpu.*' host='web*' points=30d", verb);
    if (args->n_words == 1 &&
        strcmp(verb, "set") ==
            0) /* a variable of a script that is empty is no order to keep everything, or nothing */
        return tsd_usage(args, "set takes the rules that replace all; to have none, remove them one by one");
    if (args->n_words > 1 && strcmp(verb, "list") == 0)
        return tsd_usage(args, "list takes no words");
    if (at && (strcmp(verb, "add") != 0 || strtoll(at, &end, 10) < 1 || *end))
        return tsd_usage(args, "--at belongs to add and is a whole number from 1");
    if (is_change(args) && check_change(args, &err) < 0)
        return tsd_usage(args, "%s", err.text);
    bool reads = !is_change(args) || tsd_args_has(args, "dry-run");
    return tsd_meta_client_run(args, reads ? TSD_LOCAL_READ : TSD_LOCAL_WRITE, retention_ask);
}
