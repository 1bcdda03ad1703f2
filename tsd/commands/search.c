/*
 * search.c - tsd search: finds series by their tags, and series, names and annotations by their texts and metadata.
 *
 * Threads    the main thread
 * Source     docs/OPENTSDB.md, section 11.7 (form and lines of lookup)
 */
#include "base/cut.h"
#include "tsd/commands/meta_client.h"

#define SEARCH_TYPES "lookup tsmeta tsuids uidmeta annotation"

const struct ts_opt tsd_search_opts[] = {
    TSD_META_CLIENT_OPTS,
    {.name = "limit", .arg = "N", .help = "Most lines to print. Default 0: all."},
    {.name = "use-data-table", .help = "Accepted for scripts written for OpenTSDB; has no effect."},
    {.name = NULL},
};

/* The words of lookup as "metric{k=v,..}". */
static void search_m(const struct tsd_args *args, struct ts_buf *m)
{
    bool tags = false;
    for (size_t i = 1; i < args->n_words; i++) {
        if (!strchr(args->words[i], '=')) {
            ts_buf_str(m, args->words[i]);
            continue;
        }
        ts_buf_char(m, tags ? ',' : '{');
        ts_buf_str(m, args->words[i]);
        tags = true;
    }
    if (tags)
        ts_buf_char(m, '}');
}

static void search_query(const struct tsd_args *args, struct ts_buf *query)
{
    for (size_t i = 1; i < args->n_words; i++)
        ts_buf_printf(query, "%s%s", i > 1 ? " " : "", args->words[i]);
}

static int search_run(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err)
{
    const struct tsd_args *args = client->args;
    const char *limit = tsd_args_get(args, "limit");
    bool lookup = strcmp(args->words[0], "lookup") == 0;
    struct ts_buf path, text;
    json_t *root = NULL;
    ts_buf_init(&path, 0);
    ts_buf_init(&text, 0);
    if (lookup)
        search_m(args, &text);
    else
        search_query(args, &text);
    /* a series is shown by its summary */
    ts_buf_printf(&path, "api/find/%s%c",
                  strcmp(args->words[0], "tsmeta") ? args->words[0] : "tsmeta_summary", 0);
    struct tsd_meta_client_req req = {
        .method = "GET",
        .path = path.p,
        .params = {{lookup ? TS_SLICE_LIT("m") : TS_SLICE_LIT("query"), ts_buf_get(&text)},
                   {TS_SLICE_LIT("limit"), ts_slice_str(limit ? limit : "0")}}};
    int rc = tsd_meta_client_request(client, &req, &root, err);
    const json_t *results = json_object_get(root, "results");
    for (size_t i = 0; i < json_array_size(results) && rc == 0; i++)
        tsd_meta_line(json_array_get(results, i), out);
    json_decref(root);
    ts_buf_release(&path);
    ts_buf_release(&text);
    return rc;
}

static bool search_is_type(const char *word)
{
    struct ts_slice rest = TS_SLICE_LIT(SEARCH_TYPES);
    while (rest.n)
        if (ts_slice_is(ts_slice_cut(&rest, ' '), word))
            return true;
    return false;
}

int tsd_search_run(const struct tsd_args *args)
{
    if (args->n_words == 1 && !search_is_type(args->words[0]))
        return tsd_usage_word(args, args->words[0], SEARCH_TYPES);
    if (args->n_words < 2)
        return tsd_usage(args,
                         "say what to search for: lookup [METRIC] [tag=value ...], or a type and a query");
    if (search_is_type(args->words[0]))
        return tsd_meta_client_run(args, TSD_LOCAL_READ, search_run);
    return tsd_usage_word(args, args->words[0], SEARCH_TYPES);
}
