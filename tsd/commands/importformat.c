/*
 * importformat.c - files of other formats on their way to a sink of tsd import: their lines become put lines.
 *
 *   files -> import.c -> format_take -> tsd/inputs/ -> put lines -> importtcp.c, importstore.c or the dry run
 *
 * Put lines pass as they are, unless --tag adds tags to them. Memory holds one piece of a file and the put lines made of it, a mebibyte and what one line gives.
 *
 * Threads    the main thread
 * Not here   the formats (tsd/inputs/input.h)
 */
#include "tsd/commands/importformat.h"

#include "base/cut.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#define FORMAT_PIECE_BYTES ((size_t)1 << 20) /* put lines given on together */
#define FORMAT_TAGS_BYTES  ((size_t)16 << 10)
#define FORMAT_HINT        160 /* bytes of a header that are shown */

/* A sink that has another one for the put lines. */
struct format_sink {
    struct tsd_import *im;          /* the run */
    const struct tsd_import_to *to; /* where put lines go */
    void *points;                   /* its sink */
    struct tsd_import_format *how;  /* of the command */
    const struct tsd_input *row;    /* of the current file; NULL: it is left out, or there is none yet */
    const char *file;               /* at hand; NULL before the first */
    struct tsd_input_run run;       /* reading the current file; row NULL = not begun */
};

/* --- what a file is --- */

/* What a file is by its first line, if it has no points; NULL: it may have points. */
static const char *format_other(struct ts_slice line)
{
    static const char *const heads[] = {"metric,timestamp,value", "date,", "week,", "month,", "year,"};
    if (memmem(line.p, line.n, "\" HTTP/", 7) || memmem(line.p, line.n, " HTTP/2", 7) ||
        (memmem(line.p, line.n, " HTTP/1.", 8) && memchr(line.p, '"', line.n)) ||
        (*line.p == '{' && memmem(line.p, line.n, "\"status\"", 8)))
        return "this looks like a web server's log: tsd collect weblog-import counts its requests";
    if ((*line.p == '{' || *line.p == '[') && !ts_slice_begins_nocase(line, "{__name__="))
        return "this looks like JSON, but not like points: a line is {\"metric\":..., \"timestamp\":..., "
               "\"value\":..., "
               "\"tags\":{...}}";
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        if (ts_slice_begins_nocase(line, heads[i]))
            return "this looks like CSV of tsd query: tsd export prints the points themselves; to import a "
                   "table, say what its columns are by --csv";
    return NULL;
}

static void format_leave_out(struct format_sink *s, const char *why)
{
    tsd_progress_clear(&s->im->bar);
    tsd_say("%s: %s", s->file, why);
    s->im->n_bad_files++;
    s->row = NULL;
}

/* The first lines of a piece, as many as a guess looks at. */
static struct ts_slice format_head(struct ts_slice lines)
{
    struct ts_slice rest = lines;
    for (unsigned i = 0; i < TSD_INPUT_GUESS_LINES && rest.n; i++)
        (void)ts_slice_cut(&rest, '\n');
    return (struct ts_slice){lines.p, rest.n ? (size_t)(rest.p - lines.p) : lines.n};
}

/* The format by --format, by the options that only one has, or by the first lines. */
static const struct tsd_input *format_choose(struct format_sink *s, struct ts_slice head)
{
    if (s->how->row)
        return s->how->row;
    if (s->how->fixed)
        return tsd_input_find("fixed");
    const struct tsd_input *guess = tsd_input_guess(head);
    if (s->how->opts.mapping.p && (!guess || strcmp(guess->name, "tsv") != 0))
        return tsd_input_find("csv");
    return guess;
}

/* A table without a mapping: show what is needed. */
static void format_needs_mapping(struct format_sink *s, struct ts_slice head)
{
    char text[600];
    struct ts_slice line = {"", 0};
    (void)tsd_input_first(&head, &line);
    snprintf(text, sizeof text,
             "this looks like %s: say what its columns are, for example --csv "
             "'time={0},metric=NAME,value={1},station={2}'%s; its first line is %.*s",
             s->row->name,
             memchr(line.p, ',', line.n) || strcmp(s->row->name, "tsv") == 0 ? "" : " --delimiter ';'",
             TS_SHOWN(line, FORMAT_HINT));
    format_leave_out(s, text);
}

/* Do lines pass as they are? */
static bool format_passes(const struct format_sink *s)
{
    return s->row->plain && !s->how->opts.tags.n && !s->how->opts.zoned;
}

static void format_file_begin(struct format_sink *s, const char *file, struct ts_slice lines)
{
    struct ts_slice head = format_head(lines), rest = head, first;
    struct ts_error err = {0};
    s->file = file;
    s->row = format_choose(s, head);
    bool free_choice = !s->how->row && !s->how->opts.mapping.p;
    if (free_choice && tsd_input_first(&rest, &first) && (!s->row || strcmp(s->row->name, "jsonl") != 0)) {
        const char *other = format_other(first);
        if (other) {
            format_leave_out(s, other);
            return;
        }
    }
    if (!s->row)
        s->row = tsd_input_find("put"); /* each bad line is listed */
    if (s->row->mapped && !s->how->opts.mapping.p)
        format_needs_mapping(s, head);
    if (!s->row || format_passes(s))
        return;
    if (!s->row->plain && !s->how->row && !s->how->opts.mapping.p) {
        tsd_progress_clear(&s->im->bar);
        tsd_say("%s: read as %s: %s", file, s->row->name, s->row->help);
    }
    if (s->run.row != s->row) {
        tsd_input_release(&s->run);
        if (tsd_input_begin(&s->run, s->row, &s->how->opts, &err) < 0) {
            format_leave_out(s, err.text);
            return;
        }
    }
    tsd_input_file(&s->run);
}

/* --- lines --- */

/* Give the put lines on. */
static int format_give(struct format_sink *s, struct ts_error *err)
{
    uint64_t at = 0;
    int rc = 0;
    if (s->run.n_points && ts_buf_reserve(&s->run.text, TS_LINES_PAD)) {
        s->im->line_of = s->run.line_of;
        rc = s->to->take(s->points, s->file, ts_buf_get(&s->run.text), &at, err);
        s->im->line_of = NULL;
    }
    ts_buf_clear(&s->run.text);
    s->run.n_points = 0;
    return rc;
}

static void format_bad(struct format_sink *s, const struct ts_error *why)
{
    tsd_import_bad(s->im, s->file, s->run.first_line, ts_slice_str(why->text));
}

static int format_lines(struct format_sink *s, struct ts_slice lines, uint64_t *line, struct ts_error *err)
{
    const char *p = lines.p, *end = p + lines.n;
    while (p < end && s->row) {
        struct ts_error why = {0};
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        s->run.line = (*line)++;
        int rc = tsd_input_line(&s->run, (struct ts_slice){p, (size_t)(nl - p)}, &why);
        if (rc == TS_EINVAL)
            format_leave_out(s, why.text);
        else if (rc < 0)
            format_bad(s, &why);
        if (s->run.text.n >= FORMAT_PIECE_BYTES)
            TS_TRY(format_give(s, err));
        p = nl + 1;
    }
    return format_give(s, err);
}

static void format_file_end(struct format_sink *s)
{
    struct ts_error why = {0};
    if (s->row && !format_passes(s) && tsd_input_end(&s->run, &why) < 0)
        format_bad(s, &why);
    s->im->n_missing += s->run.n_missing;
    s->im->n_timeless += s->run.n_timeless;
    s->run.n_missing = s->run.n_timeless = 0;
    s->row = NULL;
}

static bool format_begin_file(void *sink, size_t index)
{
    struct format_sink *s = sink;
    format_file_end(s); /* of the file before, whose last lines belong to it */
    s->row = NULL;
    return !s->to->begin_file || s->to->begin_file(s->points, index);
}

static int format_take(void *sink, const char *file, struct ts_slice lines, uint64_t *line,
                       struct ts_error *err)
{
    struct format_sink *s = sink;
    if (*line == 1) {
        format_file_end(s);
        format_file_begin(s, file, lines);
    }
    if (s->row && format_passes(s))
        return s->to->take(s->points, file, lines, line, err);
    if (s->row)
        return format_lines(s, lines, line, err);
    *line += ts_slice_count(lines, '\n');
    return 0;
}

static int format_open(struct tsd_import *im, void **out_sink, struct ts_error *err)
{
    struct format_sink *s = ts_xcalloc(1, sizeof(*s));
    s->im = im;
    s->to = im->points_to;
    s->how = im->format;
    int rc = s->to->open(im, &s->points, err);
    if (rc < 0)
        ts_free(s);
    else
        *out_sink = s;
    return rc;
}

static int format_finish(void *sink, struct ts_error *err)
{
    struct format_sink *s = sink;
    format_file_end(s);
    return s->to->finish(s->points, err);
}

static void format_failed(void *sink, struct ts_error *err)
{
    struct format_sink *s = sink;
    if (s->to->failed)
        s->to->failed(s->points, err);
}

static int format_close(void *sink, struct ts_error *err)
{
    struct format_sink *s = sink;
    int rc = s->to->close(s->points, err);
    tsd_input_release(&s->run);
    ts_free(s);
    return rc;
}

const struct tsd_import_to tsd_import_format = {.open = format_open,
                                                .begin_file = format_begin_file,
                                                .take = format_take,
                                                .finish = format_finish,
                                                .failed = format_failed,
                                                .close = format_close};

/* --- options --- */

static int format_tags(const struct tsd_args *args, struct ts_buf *out)
{
    ts_buf_init(out, FORMAT_TAGS_BYTES);
    for (unsigned i = 0; i < args->n_uses; i++) {
        const struct ts_opt_use *use = &args->uses[i];
        if (!use->name || strcmp(use->name, "tag") != 0)
            continue;
        const char *eq = strchr(use->value, '=');
        if (!eq || eq == use->value || !eq[1])
            return tsd_usage(args, "--tag is KEY=VALUE, not \"%.60s\"", use->value);
        tsd_input_tag(out, (struct ts_slice){use->value, (size_t)(eq - use->value)}, ts_slice_str(eq + 1));
    }
    return out->failed ? tsd_usage(args, "the tags of --tag are longer than %zu bytes", FORMAT_TAGS_BYTES)
                       : TSD_EXIT_OK;
}

static int format_number(const struct tsd_args *args, const char *name, int64_t max, int64_t *out)
{
    const char *text = tsd_args_get(args, name);
    uint64_t n = 0;
    if (text && (ts_num_parse_bytes(ts_slice_str(text), &n) < 0 || n > (uint64_t)max))
        return tsd_usage(args, "--%s is a number from 0 to %lld, not \"%.60s\"", name, (long long)max, text);
    *out = (int64_t)n;
    return TSD_EXIT_OK;
}

static int format_delimiter(const struct tsd_args *args, char *out)
{
    const char *text = tsd_args_get(args, "delimiter");
    *out = !text ? 0 : strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0 ? '\t' : text[0];
    if (text && *out != '\t' &&
        (!text[0] || text[1] || text[0] == '"' || text[0] == '\n' || (text[0] & 0x80)))
        return tsd_usage(args, "--delimiter is one character, or tab, not \"%.60s\"", text);
    return TSD_EXIT_OK;
}

static int format_zone(const struct tsd_args *args, struct tsd_input_opts *opts)
{
    const char *tz = tsd_args_get(args, "tz"), *unit = tsd_args_get(args, "time-unit");
    struct ts_error err = {0};
    opts->tz = ts_tz_default();
    opts->zoned = tz != NULL;
    if (tz && ts_tz_open(ts_slice_str(tz), &opts->tz, &err) < 0)
        return tsd_usage(args, "--tz: %s", err.text);
    if (unit)
        opts->units_per_s = strcmp(unit, "s") == 0    ? 1
                            : strcmp(unit, "ms") == 0 ? 1000
                            : strcmp(unit, "us") == 0 ? 1000000
                                                      : 1000000000;
    opts->now_ms = ts_clock_ms();
    return TSD_EXIT_OK;
}

/* Is a mapping right, before any file is opened? */
static int format_check(const struct tsd_args *args, struct tsd_import_format *how)
{
    const char *row = how->fixed ? "fixed" : "csv";
    struct tsd_input_run run;
    struct ts_error err = {0};
    int rc = how->opts.mapping.p ? tsd_input_begin(&run, tsd_input_find(row), &how->opts, &err) : 0;
    if (how->opts.mapping.p)
        tsd_input_release(&run);
    return rc < 0 ? tsd_usage(args, "--%s: %s", row, err.text) : TSD_EXIT_OK;
}

int tsd_import_format_read(const struct tsd_args *args, struct tsd_import_format *how)
{
    const char *csv = tsd_args_get(args, "csv"), *fixed = tsd_args_get(args, "fixed");
    const char *format = tsd_args_get(args, "format"), *missing = tsd_args_get(args, "missing");
    int64_t n_skip = 0, max_line = 0;
    int code = TSD_EXIT_OK;
    *how = (struct tsd_import_format){.fixed = fixed != NULL};
    if (tsd_args_choice(args, "format", "auto|put|csv|tsv|fixed|influx|openmetrics|promdump|jsonl", &code) ||
        tsd_args_choice(args, "time-unit", "s|ms|us|ns", &code))
        return code;
    if (csv && fixed)
        return tsd_usage(args, "a file has either --csv or --fixed");
    how->row = format && strcmp(format, "auto") != 0 ? tsd_input_find(format) : NULL;
    if (how->row && (csv || fixed) && (!how->row->mapped || (strcmp(format, "fixed") == 0) != how->fixed))
        return tsd_usage(args, "--format %s does not go with --%s", format, csv ? "csv" : "fixed");
    if (how->row && how->row->mapped && !csv && !fixed)
        return tsd_usage(args, "--format %s needs --%s, which says what each column is", format,
                         strcmp(format, "fixed") == 0 ? "fixed" : "csv");
    if (csv || fixed)
        how->opts.mapping = ts_slice_str(csv ? csv : fixed);
    if (missing)
        how->opts.missing = ts_slice_str(missing);
    if (format_number(args, "skip", 1000000, &n_skip) != TSD_EXIT_OK ||
        format_number(args, "max-line", (int64_t)TS_LINES_MAX_BYTES, &max_line) != TSD_EXIT_OK ||
        format_delimiter(args, &how->opts.delimiter) != TSD_EXIT_OK ||
        format_zone(args, &how->opts) != TSD_EXIT_OK || format_tags(args, &how->tags) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    how->opts.n_skip = (unsigned)n_skip;
    how->opts.max_line_bytes = (size_t)max_line;
    how->opts.tags = ts_buf_get(&how->tags);
    return format_check(args, how);
}
