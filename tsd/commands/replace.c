/*
 * replace.c - tsd replace: the points of a range of series are replaced by those of files, all at once.
 *
 * It is an import with --bulk whose files are handed over together with what they replace.
 *
 * Threads    the main thread
 * Not here   reading, sorting, handing over (import.c, importbulk.c)
 */
#include "base/time.h"
#include "query/query.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/client.h"
#include "tsd/commands/import.h"
#include "tsd/commands/importbulk.h"
#include "tsd/commands/importformat.h"

#include <string.h>

const struct ts_opt tsd_replace_opts[] = {
    {.name = "series",
     .arg = "METRIC{FILTERS}",
     .help =
         "What is replaced: the points of these series, and of no others. METRIC alone: of all its series. "
         "FILTERS as in the parameter m of queries: host=web1,dc=literal_or(a|b)."},
    {.name = "from", .arg = "TIME", .help = "First time that is replaced, as in tsd query."},
    {.name = "to", .arg = "TIME", .help = "Last time that is replaced; it may be that of --from, or now."},
    {.name = "empty",
     .help = "Delete the range if the files have no points; without it they are refused then."},
    TSD_CLIENT_OPTS,
    TSD_IMPORT_FORMAT_OPTS,
    TSD_IMPORT_MEMORY_OPT,
    TSD_IMPORT_REPORT_OPTS,
    {.name = NULL},
};

/* Can the words be read, before the files are? The daemon reads them again when it replaces the points, so a refusal stands only once its zone is
 * known. */
static int replace_check(const struct tsd_args *args)
{
    struct ts_error err = {0};
    struct ts_arena arena;
    struct qry_spec spec;
    struct ts_buf m;
    const char *tz = tsd_args_get(args, "tz");
    ts_arena_init(&arena, 0);
    ts_buf_init(&m, 0);
    ts_buf_printf(&m, "none:%s", tsd_args_get(args, "series"));
    struct qry_param params[] = {{TS_SLICE_LIT("m"), ts_buf_get(&m)},
                                 {TS_SLICE_LIT("start"), ts_slice_str(tsd_args_get(args, "from"))},
                                 {TS_SLICE_LIT("end"), ts_slice_str(tsd_args_get(args, "to"))},
                                 {TS_SLICE_LIT("timezone"), ts_slice_str(tz ? tz : "")}};
    int rc = qry_parse_params(params, tz ? 4 : 3, ts_clock_ms(), false, &arena, &spec, &err);
    if (rc < 0 && !tz && !tsd_args_has(args, "dry-run") && tsd_zone_begin(args, NULL) == 0)
        rc = qry_parse_params(params, 3, ts_clock_ms(), false, &arena, &spec, &err);
    ts_buf_release(&m);
    ts_arena_release(&arena);
    return rc < 0 ? tsd_usage(args, "%s", err.text) : TSD_EXIT_OK;
}

int tsd_replace_run(const struct tsd_args *args)
{
    static const char *const needed[] = {"series", "from", "to"};
    struct tsd_import im = {.args = args};
    struct tsd_import_format format;
    const char *series = tsd_args_get(args, "series");
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!tsd_args_has(args, needed[i]))
            return tsd_usage(args, "say what is replaced: --series METRIC{FILTERS} --from TIME --to TIME");
    if (strcspn(series, ":") < strcspn(series, "{"))
        return tsd_usage(args, "--series is METRIC{FILTERS}, without an aggregator and its options, not %s",
                         series);
    if (args->n_words == 0)
        return tsd_usage(args, "name the files with the new points; - is standard input");
    if (replace_check(args) != TSD_EXIT_OK || tsd_import_listed(&im) != TSD_EXIT_OK ||
        tsd_bulk_memory(args, &im.bulk_memory_bytes) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    im.points_to = tsd_args_has(args, "dry-run") ? &tsd_import_dry : &tsd_import_bulk;
    im.format = &format;
    int code = tsd_import_format_read(args, &format);
    if (code == TSD_EXIT_OK)
        code = tsd_import_files(&im, &tsd_import_format);
    ts_buf_release(&format.tags);
    return code;
}
