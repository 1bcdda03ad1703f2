/*
 * replace.c - tsd replace: the points of a range of series are replaced by those of files, all at once.
 *
 * It is an import with --bulk whose files are handed over together with what they replace.
 *
 * Threads    the main thread
 * Not here   reading, sorting, handing over (import.c, importbulk.c)
 */
#include "tsd/commands/client.h"
#include "tsd/commands/import.h"
#include "tsd/commands/importbulk.h"
#include "tsd/commands/importformat.h"

const struct ts_opt tsd_replace_opts[] = {
    {.name = "series",
     .arg = "METRIC{FILTERS}",
     .help =
         "What is replaced: the points of these series, and of no others. METRIC alone: of all its series. "
         "FILTERS as in the parameter m of queries: host=web1,dc=literal_or(a|b)."},
    {.name = "from", .arg = "TIME", .help = "First time that is replaced, as in tsd query."},
    {.name = "to", .arg = "TIME", .help = "Last time that is replaced; now is one too."},
    {.name = "empty", .help = "The files may have no points: then the range is deleted."},
    TSD_CLIENT_OPTS,
    TSD_IMPORT_FORMAT_OPTS,
    TSD_IMPORT_MEMORY_OPT,
    TSD_IMPORT_REPORT_OPTS,
    {.name = NULL},
};

int tsd_replace_run(const struct tsd_args *args)
{
    static const char *const needed[] = {"series", "from", "to"};
    struct tsd_import im = {.args = args};
    struct tsd_import_format format;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!tsd_args_has(args, needed[i]))
            return tsd_usage(args, "say what is replaced: --series METRIC{FILTERS} --from TIME --to TIME");
    if (args->n_words == 0)
        return tsd_usage(args, "name the files with the new points; - is standard input");
    if (tsd_import_listed(&im) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    im.points_to = tsd_args_has(args, "dry-run") ? &tsd_import_dry : &tsd_import_bulk;
    im.format = &format;
    int code = tsd_import_format_read(args, &format);
    if (code == TSD_EXIT_OK)
        code = tsd_import_files(&im, &tsd_import_format);
    ts_buf_release(&format.tags);
    return code;
}
