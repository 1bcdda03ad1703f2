/*
 * import.c - tsd import: files in, counts and bad lines out.
 *
 * Threads    the main thread
 * Not here   reading and unpacking (lineread.c), the two ways in (importtcp.c, importstore.c)
 */
#include "tsd/commands/import.h"

#include "base/num.h"
#include "base/text.h"
#include "tsd/commands/client.h"
#include "tsd/commands/importbulk.h"
#include "tsd/commands/importformat.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define IMPORT_LISTED 20
#define IMPORT_REASON 400 /* longest reason printed */

const struct ts_opt tsd_import_opts[] = {
    {.name = "data",
     .arg = "DIR",
     .help = "Write directly into this folder; no daemon may use it. A store is created if it is missing or "
             "empty."},
    TSD_CLIENT_OPTS,
    {.name = "config",
     .arg = "FILE",
     .help = "With --data: the daemon's configuration, for its rules of names and its storage keys."},
    TSD_IMPORT_FORMAT_OPTS,
    {.name = "bulk",
     .help = "Sort beside the daemon, on its machine, and hand sorted files over at the end, all at once; an "
             "import that was "
             "interrupted continues when the command is repeated. For large amounts."},
    TSD_IMPORT_MEMORY_OPT,
    {.name = "idle",
     .help = "With --bulk: run only while no other program wants the processor. The daemon's queries are "
             "hardly slower then, but on a busy machine the import hardly goes on."},
    {.name = "list", .help = "With --bulk, without files: the bulk loads that there are."},
    {.name = "cancel",
     .arg = "ID",
     .help =
         "With --bulk, without files: give up the bulk load that --list shows as ID, and remove its folder."},
    TSD_IMPORT_REPORT_OPTS,
    {.name = NULL},
};

int tsd_import_listed(struct tsd_import *im)
{
    const char *max = tsd_args_get(im->args, "max-errors");
    int64_t n = IMPORT_LISTED;
    if (max && (ts_num_parse_int(ts_slice_str(max), &n, NULL) < 0 || n < 0))
        return tsd_usage(im->args, "--max-errors takes a number from 0, not \"%s\"", max);
    im->max_listed = (uint64_t)n;
    return TSD_EXIT_OK;
}

/* A reason without what differs from line to line: quoted words, numbers, what stands in parentheses or behind a second colon. */
static void import_reason(struct ts_slice reason, char *out, size_t cap)
{
    unsigned n_colons = 0;
    size_t n = 0;
    for (size_t i = 0; i < reason.n && n + 4 < cap; i++) {
        char c = reason.p[i], next = i + 1 < reason.n ? reason.p[i + 1] : 0;
        if ((c == ' ' && (next == '(' || next == '\'')) || (c == ':' && ++n_colons == 2))
            break;
        if (c == '"') {
            const char *close = memchr(reason.p + i + 1, '"', reason.n - i - 1);
            n += (size_t)snprintf(out + n, cap - n, "...");
            i = close ? (size_t)(close - reason.p) : reason.n;
        } else if (c >= '0' && c <= '9' && n && out[n - 1] == ' ') {
            out[n++] = 'N';
            while (i + 1 < reason.n && reason.p[i + 1] >= '0' && reason.p[i + 1] <= '9')
                i++;
        } else {
            out[n++] = c;
        }
    }
    out[n] = '\0';
}

static void import_count_reason(struct tsd_import *im, uint64_t n, struct ts_slice reason)
{
    struct tsd_import_reason r = {.n = n};
    import_reason(reason, r.text, sizeof r.text);
    for (unsigned i = 0; i < im->n_reasons; i++)
        if (strcmp(im->reasons[i].text, r.text) == 0) {
            im->reasons[i].n += n;
            return;
        }
    if (im->n_reasons < TSD_IMPORT_REASONS)
        im->reasons[im->n_reasons++] = r;
}

/* What the put socket says of too few words, as whoever writes a file needs it; any other reason as it is, with bytes that no terminal shows as \xNN. */
static void import_explain(struct ts_slice reason, struct ts_buf *out)
{
    static const char few[] = "illegal argument: not enough arguments (need least 4, got ",
                      none[] = "illegal argument: Need at least one tag ";
    bool is_few = ts_slice_begins_nocase(reason, few);
    char got = is_few && reason.n > sizeof few ? reason.p[sizeof few - 1] : 0;
    if (got == '3' || ts_slice_begins_nocase(reason, none)) {
        ts_buf_str(out, "illegal argument: a tag is missing: --tag TAG=VALUE gives one to all points (a line "
                        "is METRIC TIME VALUE TAG=VALUE ...)");
        return;
    }
    if (got == '1' || got == '2') {
        ts_buf_printf(out, "illegal argument: only %c word%s (a line is METRIC TIME VALUE TAG=VALUE ...)",
                      got, got == '1' ? "" : "s");
        return;
    }
    for (size_t i = 0; i < reason.n; i++) {
        unsigned char c = (unsigned char)reason.p[i];
        if (c < ' ' || c == 127)
            ts_buf_printf(out, "\\x%02x", c);
        else
            ts_buf_char(out, (char)c);
    }
}

void tsd_import_bad(struct tsd_import *im, const char *file, uint64_t line, struct ts_slice reason)
{
    char text[4 * IMPORT_REASON];
    struct ts_buf shown;
    ts_buf_init(&shown, 0);
    import_explain(ts_utf8_cut(reason, IMPORT_REASON), &shown);
    reason.n = shown.n < sizeof text ? shown.n : sizeof text;
    if (reason.n)
        memcpy(text, shown.p, reason.n);
    reason.p = text;
    ts_buf_release(&shown);
    import_count_reason(im, 1, reason);
    if (im->n_bad++ >= im->max_listed)
        return;
    tsd_progress_clear(&im->bar);
    tsd_say("%s:%llu: %.*s", file, (unsigned long long)line, (int)reason.n, reason.p);
}

void tsd_import_refused(struct tsd_import *im, uint64_t n, struct ts_slice reason)
{
    im->n_bad += n;
    im->is_unlisted = im->is_unlisted || n;
    if (n)
        import_count_reason(im, n, reason);
}

void tsd_import_say_full(void)
{
    tsd_say("free space on the disk of the data folder and import the same files again: points that are "
            "stored already stay as they are");
}

void tsd_import_show(struct tsd_import *im)
{
    tsd_progress_set(&im->bar, im->before_bytes + (im->lines ? ts_lines_done_bytes(im->lines) : 0),
                     im->n_points);
}

/* Bytes of all files; 0 if one has no size known beforehand. */
static uint64_t import_all_bytes(const struct tsd_args *args)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < args->n_words; i++) {
        struct stat st;
        if (stat(args->words[i], &st) < 0 || !S_ISREG(st.st_mode))
            return 0;
        sum += (uint64_t)st.st_size;
    }
    return sum;
}

static volatile sig_atomic_t import_signal; /* SIGINT came; written by the handler alone */

static void import_on_signal(int number)
{
    import_signal = number;
}

bool tsd_import_interrupted(void)
{
    return import_signal != 0;
}

/* A file that can't be read costs the others nothing. */
static int import_file(struct tsd_import *im, const struct tsd_import_to *to, void *sink, size_t index,
                       struct ts_error *err)
{
    const char *path = im->args->words[index];
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    struct ts_error file_err = {0};
    struct ts_slice piece;
    uint64_t line = 1;
    if (to->begin_file && !to->begin_file(sink, index)) {
        struct stat st;
        im->before_bytes += stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
        return 0;
    }
    int rc = ts_lines_open(path, &im->lines, &file_err);
    while (rc == 0 && (rc = ts_lines_next(im->lines, &piece, &file_err)) > 0) {
        rc = to->take(sink, name, piece, &line, err);
        if (rc == 0 && tsd_import_interrupted())
            rc = ts_error_set(err, TS_ECANCELLED, "interrupted in line %llu of %.100s%s",
                              (unsigned long long)line, name,
                              im->points_to == &tsd_import_bulk ? "" : ": lines before it may be stored");
        if (rc < 0)
            break;
        tsd_import_show(im);
    }
    if (im->lines)
        im->before_bytes += ts_lines_done_bytes(im->lines);
    ts_lines_close(im->lines);
    im->lines = NULL;
    if (file_err.code) {
        tsd_progress_clear(&im->bar);
        tsd_say("%s", file_err.text);
        im->n_bad_files++;
        return 0;
    }
    return rc;
}

/* How often each reason came: what the list of bad lines does not show. */
static void import_report_reasons(const struct tsd_import *im)
{
    char n[32];
    uint64_t rest = im->n_bad;
    for (unsigned i = 0; i < im->n_reasons; i++) {
        tsd_say("  %s: %s", tsd_count_text(im->reasons[i].n, n), im->reasons[i].text);
        rest -= im->reasons[i].n;
    }
    if (rest)
        tsd_say("  %s: other reasons", tsd_count_text(rest, n));
}

static void import_report(struct tsd_import *im, int rc)
{
    char points[32], rate[32], bad[32], listed[32];
    double s = tsd_progress_s(&im->bar);
    tsd_progress_clear(&im->bar);
    tsd_count_text(im->n_points, points);
    tsd_count_text(s > 0 ? (uint64_t)((double)im->n_points / s) : 0, rate);
    tsd_count_text(im->n_bad, bad);
    const char *were = im->n_bad == 1 ? "line was" : "lines were";
    if (im->n_bad > im->max_listed)
        tsd_say("%s %s refused; %s %s listed (--max-errors)", bad, were,
                tsd_count_text(im->max_listed, listed), im->max_listed == 1 ? "is" : "are");
    else if (im->n_bad)
        tsd_say("%s %s refused", bad, were);
    if (im->n_bad > im->max_listed || im->is_unlisted)
        import_report_reasons(im);
    if (im->n_missing)
        tsd_say("%s value%s missing, or a text", tsd_count_text(im->n_missing, listed),
                im->n_missing == 1 ? " was" : "s were");
    if (im->n_timeless)
        tsd_say("%s point%s no time and got that at which the import began",
                tsd_count_text(im->n_timeless, listed), im->n_timeless == 1 ? " had" : "s had");
    if (im->replaced)
        tsd_say("%s point%s %s", tsd_count_text(im->n_replaced, listed),
                im->n_replaced == 1 ? " was" : "s were", im->n_points ? "replaced" : "deleted");
    if (rc < 0 && im->points_to == &tsd_import_bulk)
        return; /* nothing is stored, and the sink has said what is kept */
    if (im->points_to == &tsd_import_dry)
        tsd_say("%s point%s would be stored%s; this was a dry run", points, ts_plural(im->n_points),
                tsd_args_has(im->args, "series")
                    ? ", if all are of the series and times that are replaced, which the daemon checks"
                    : "");
    else if (im->replaced ||
             !tsd_args_has(im->args, "series")) /* of a replacement all is stored or nothing */
        tsd_say("%s point%s in %.2f s (%s points/s)", points, ts_plural(im->n_points), s, rate);
}

int tsd_import_files(struct tsd_import *im, const struct tsd_import_to *to)
{
    struct ts_error err = {0}, close_err = {0};
    void *sink = NULL;
    int rc = to->open(im, &sink, &err);
    if (rc < 0)
        return tsd_fail(&err);
    struct sigaction action = {.sa_handler = import_on_signal}, old; /* no SA_RESTART: poll ends */
    import_signal = 0;
    (void)sigaction(SIGINT, &action, &old);
    tsd_progress_begin(&im->bar, import_all_bytes(im->args));
    for (size_t i = 0; rc == 0 && i < im->args->n_words; i++)
        rc = import_file(im, to, sink, i, &err);
    if (rc == 0)
        rc = to->finish(sink, &err);
    if (rc < 0 && to->failed)
        to->failed(sink, &err);
    int close_rc = to->close(sink, &close_err);
    (void)sigaction(SIGINT, &old, NULL);
    import_report(im, rc);
    if (rc < 0)
        return tsd_fail(&err);
    if (close_rc < 0)
        return tsd_fail(&close_err);
    return im->n_bad || im->n_bad_files ? TSD_EXIT_FAILED : TSD_EXIT_OK;
}

static int import_manage(const struct tsd_args *args)
{
    if (!tsd_args_has(args, "bulk") || args->n_words ||
        (tsd_args_has(args, "list") && tsd_args_has(args, "cancel")))
        return tsd_usage(args,
                         "write tsd import --bulk --list, or tsd import --bulk --cancel ID, without files");
    return tsd_client_or_data(args) == TSD_EXIT_OK ? tsd_import_bulk_manage(args) : TSD_EXIT_USAGE;
}

int tsd_import_run(const struct tsd_args *args)
{
    struct tsd_import im = {.args = args};
    const char *data = tsd_args_get(args, "data");
    if (tsd_args_has(args, "list") || tsd_args_has(args, "cancel"))
        return import_manage(args);
    if (args->n_words == 0)
        return tsd_usage(args, "name the files to import; - is standard input");
    if (tsd_client_or_data(args) != TSD_EXIT_OK || tsd_import_listed(&im) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    struct tsd_import_format format;
    if (tsd_args_has(args, "bulk-memory") && !tsd_args_has(args, "bulk"))
        return tsd_usage(args, "--bulk-memory goes with --bulk");
    if (tsd_args_has(args, "idle") && !tsd_args_has(args, "bulk"))
        return tsd_usage(args, "--idle goes with --bulk");
    if (tsd_bulk_memory(args, &im.bulk_memory_bytes) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    im.points_to = tsd_args_has(args, "dry-run") ? &tsd_import_dry
                   : tsd_args_has(args, "bulk")  ? &tsd_import_bulk
                   : data                        ? &tsd_import_store
                                                 : &tsd_import_tcp;
    im.format = &format;
    int code = tsd_import_format_read(args, &format);
    if (code == TSD_EXIT_OK)
        code = tsd_import_files(&im, &tsd_import_format);
    ts_buf_release(&format.tags);
    return code;
}
