/*
 * fsck.c - tsd fsck: read all of a stopped store, report what is damaged and lost, and repair it with
 * --repair.
 *
 * Threads    the main thread
 * Not here   checking and repairing (storage/fsck.h)
 */
#include "tsd/commands/fsck.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "storage/store.h"
#include "tsd/commands/hbase.h"
#include "tsd/commands/markdown.h"
#include "tsd/commands/progress.h"

const char tsd_fsck_details[] =
    "Every byte is read and compared with its checksum, summaries with points, files with the manifest "
    "and the catalog.\n"
    "A line begins with: damage (bytes are not what was written), lost (points that cannot be read: "
    "series and times),\n"
    "note (remains of a crash, which the next start cleans up), done (what was "
    "repaired).\n\n"
    "--repair keeps every row, name and small cell that can be read. Damaged files are "
    "moved to DIR/damaged, never deleted.\n"
    "A lost point may have overwritten an older one, which is "
    "visible again then.\n\n"
    "--hbase reads tsdb-uid, tsdb and the tables of rollups, while OpenTSDB and tsd use them. Each kind "
    "of "
    "fault is counted,\n"
    "and with --verbose each one is listed:\n"
    "  --fix          wrong_salt, old_encoding, irregular_column, repeated_point, unsorted_appends, "
    "long_integer,\n"
    "                 uid_counter, counter_low, no_reverse, no_forward, shared_id, other_name, "
    "second_id\n"
    "  --duplicates   duplicate_point\n"
    "  --delete       values: bad_value; columns: bad_column, bad_annotation; rows: bad_key; orphans: "
    "orphan; unknown:\n"
    "                 unknown_column, uid_column\n"
    "  nothing        unreadable_row, uid_length, future_column, random_ids\n"
    "What was written less than ten minutes ago is not changed. docs/OPERATIONS.md explains each fault.";

const struct ts_opt tsd_fsck_opts[] = {
    {.name = "data", .arg = "DIR", .help = "The folder of the store; no daemon may use it."},
    {.name = "repair",
     .help = "Repair the store of --data. Damaged files are moved to DIR/damaged. With --hbase, use --fix."},
    {.name = "hbase",
     .help = "Instead of a folder, check OpenTSDB's tables in HBase, while they are in use. The following "
             "options belong to it."},
    {.name = "config", .arg = "FILE", .help = "Read keys from this file, that of the daemon."},
    TSD_HBASE_TABLES_OPTS,
    {.name = "metric", .arg = "NAME", .help = "Only rows of this metric, and no names and ids."},
    {.name = "from",
     .arg = "TIME",
     .help = "Only rows whose hour has this time or later ones, and no names and ids."},
    {.name = "to", .arg = "TIME", .help = "Only rows whose hour has this time or earlier ones."},
    {.name = "fix",
     .help = "Repair what can be repaired without losing a point. The following options include it."},
    {.name = "duplicates",
     .arg = "WHICH",
     .help = "Of different values of one time, newest or oldest stays."},
    {.name = "delete",
     .arg = "LIST",
     .help = "Delete what cannot be read: values, columns, rows, orphans, unknown, with commas between them, "
             "or all."},
    {.name = "compact", .help = "Make one column of the points of each row whose hour is over."},
    {.name = "fix-all", .help = "As --duplicates newest --delete all --compact."},
    {.name = "verbose", .letter = 'v', .help = "List each fault, not only their numbers."},
    {.name = "format",
     .arg = "text|json|markdown",
     .help = "Form of the report; JSON has one object a line. Default text."},
    {.name = "quiet", .letter = 'q', .help = "Print only damage and losses: no notes, no summary."},
    {.name = NULL},
};

/* One run. */
struct fsck_run {
    bool json, markdown, quiet;
    struct tsd_markdown report; /* --format markdown */
    struct ts_buf out;
    struct tsd_progress progress;
    struct ts_error err; /* of printing */
    int rc;              /* the same */
};

static const char *const kinds[] = {"note", "damage", "lost", "done"};

static void put_time(struct ts_buf *b, int64_t ms)
{
    struct ts_civil c = ts_civil_from_ms(NULL, ms);
    ts_buf_printf(b, "%04d-%02d-%02d %02d:%02d", c.year, c.month, c.day, c.hour, c.minute);
}

static void put_text(struct ts_buf *b, const struct sto_finding *f)
{
    ts_buf_printf(b, "%s: ", kinds[f->kind]);
    if (f->kind == STO_FIND_LOST) {
        if (f->series.p)
            ts_buf_slice(b, f->series);
        else
            ts_buf_str(b, "points of unknown series");
        if (f->from_ms <= f->to_ms) {
            ts_buf_str(b, ", ");
            put_time(b, f->from_ms);
            ts_buf_str(b, " to ");
            put_time(b, f->to_ms);
            ts_buf_str(b, " UTC");
        }
        if (f->n_points)
            ts_buf_printf(b, ", %" PRIu64 " points", f->n_points);
        ts_buf_printf(b, " (%s%s%s)\n", f->path, *f->text ? ": " : "", f->text);
        return;
    }
    ts_buf_str(b, f->path);
    if (f->off != UINT64_MAX)
        ts_buf_printf(b, ", offset %" PRIu64, f->off);
    ts_buf_printf(b, ": %s\n", f->text);
}

static void put_json(struct ts_buf *b, const struct sto_finding *f)
{
    struct ts_json j;
    ts_json_init(&j, b);
    ts_json_obj(&j);
    ts_json_member_str(&j, "kind", kinds[f->kind]);
    ts_json_member_str(&j, "path", f->path);
    if (f->off != UINT64_MAX)
        ts_json_member_count(&j, "offset", f->off);
    if (f->series.p)
        ts_json_member_slice(&j, "series", f->series);
    if (f->kind == STO_FIND_LOST && f->from_ms <= f->to_ms) {
        ts_json_member_int(&j, "from_ms", f->from_ms);
        ts_json_member_int(&j, "to_ms", f->to_ms);
    }
    if (f->n_points)
        ts_json_member_count(&j, "points", f->n_points);
    if (*f->text)
        ts_json_member_str(&j, "text", f->text);
    ts_json_obj_end(&j);
    ts_buf_char(b, '\n');
}

/* Print what is in out. */
static void print(struct fsck_run *r)
{
    struct ts_buf table;
    ts_buf_init(&table, 0);
    if (r->markdown)
        tsd_markdown_report(&r->report, ts_buf_get(&r->out), &table);
    if (r->rc == 0)
        r->rc = tsd_print(ts_buf_get(r->markdown ? &table : &r->out), &r->err);
    ts_buf_release(&table);
}

static void on_found(void *arg, const struct sto_finding *f)
{
    struct fsck_run *r = arg;
    if (r->quiet && (f->kind == STO_FIND_NOTE || f->kind == STO_FIND_DONE))
        return;
    tsd_progress_clear(&r->progress);
    ts_buf_clear(&r->out);
    (r->json ? put_json : put_text)(&r->out, f);
    print(r);
}

static void on_progress(void *arg, uint64_t done_bytes, uint64_t all_bytes)
{
    struct fsck_run *r = arg;
    r->progress.all_bytes = all_bytes > done_bytes ? all_bytes : done_bytes;
    tsd_progress_set(&r->progress, done_bytes, 0);
}

static void put_json_summary(struct ts_buf *b, const struct sto_fsck_result *res)
{
    const struct {
        const char *name;
        uint64_t v;
    } counts[] = {{"files", res->n_files},   {"blocks", res->n_blocks},           {"rows", res->n_rows},
                  {"points", res->n_points}, {"log_points", res->n_log_points},   {"series", res->n_series},
                  {"cells", res->n_cells},   {"read_bytes", res->n_bytes},        {"damage", res->n_damage},
                  {"lost", res->n_lost},     {"lost_points", res->n_lost_points}, {"left", res->n_left}};
    struct ts_json j;
    ts_json_init(&j, b);
    ts_json_obj(&j);
    ts_json_member_str(&j, "kind", "summary");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        ts_json_member_count(&j, counts[i].name, counts[i].v);
    ts_json_member_bool(&j, "repaired", res->repaired);
    ts_json_obj_end(&j);
    ts_buf_char(b, '\n');
}

static void put_text_summary(struct ts_buf *b, const struct sto_fsck_result *res)
{
    char n[4][32];
    ts_buf_printf(b, "%s series, %s points in %" PRIu64 " files, %s in the log, %s cells\n",
                  tsd_count_text(res->n_series, n[0]), tsd_count_text(res->n_points, n[1]), res->n_files,
                  tsd_count_text(res->n_log_points, n[2]), tsd_count_text(res->n_cells, n[3]));
    if (!res->n_damage)
        ts_buf_str(b,
                   res->repaired ? "clean, and what lay behind a torn place is in files now\n" : "clean\n");
    else if (!res->repaired)
        ts_buf_printf(b, "%" PRIu64 " damaged place%s; run it again with --repair\n", res->n_damage,
                      ts_plural(res->n_damage));
    else if (res->n_left)
        ts_buf_printf(b, "repaired, but %" PRIu64 " damaged place%s left\n", res->n_left,
                      res->n_left == 1 ? " is" : "s are");
    else
        ts_buf_str(b, "repaired\n");
}

static void put_summary(struct fsck_run *r, const struct sto_fsck_result *res)
{
    ts_buf_clear(&r->out);
    (r->json ? put_json_summary : put_text_summary)(&r->out, res);
    print(r);
}

static int fsck_fail(const struct ts_error *err)
{
    (void)tsd_fail(err);
    return TSD_FSCK_ERROR;
}

static const char *const of_hbase[] = {
    "config", "opentsdb-config", "gateways", "salt-width", "salt-buckets", "metric", "from", "to",
    "fix",    "duplicates",      "delete",   "compact",    "fix-all",      "verbose"};

int tsd_fsck_run(const struct tsd_args *args)
{
    const char *dir = tsd_args_get(args, "data"), *format = tsd_args_get(args, "format");
    struct fsck_run r = {.json = format && strcmp(format, "json") == 0,
                         .markdown = format && strcmp(format, "markdown") == 0,
                         .quiet = tsd_args_has(args, "quiet")};
    struct sto_fsck_result res;
    struct ts_error err = {0};
    if (tsd_args_has(args, "hbase"))
        return tsd_fsck_hbase_run(args);
    for (size_t i = 0; i < sizeof of_hbase / sizeof *of_hbase; i++)
        if (tsd_args_has(args, of_hbase[i]))
            return tsd_usage(args, "--%s belongs to --hbase", of_hbase[i]);
    if (args->n_words)
        return tsd_usage(args, "fsck takes options only, not \"%s\"", args->words[0]);
    if (!dir)
        return tsd_usage(args, "fsck needs --data DIR or --hbase");
    int bad;
    if (tsd_args_choice(args, "format", "text|json|markdown", &bad))
        return bad;
    struct sto_fsck_opts opts = {.dir = dir,
                                 .repair = tsd_args_has(args, "repair"),
                                 .found = on_found,
                                 .progress = on_progress,
                                 .arg = &r};
    ts_log_set_level(TS_LOG_ERROR);
    ts_buf_init(&r.out, 0);
    tsd_progress_begin(&r.progress, 0);
    r.progress.in_bytes = true;
    int rc = sto_fsck(&opts, &res, &err);
    tsd_progress_clear(&r.progress);
    if (rc == 0 && !r.quiet)
        put_summary(&r, &res);
    if (rc == 0 && r.rc == 0)
        r.rc = tsd_print_end(&r.err);
    ts_buf_release(&r.out);
    if (rc < 0 || r.rc < 0)
        return fsck_fail(rc < 0 ? &err : &r.err);
    return res.n_left ? TSD_FSCK_LEFT : res.repaired ? TSD_FSCK_REPAIRED : TSD_FSCK_CLEAN;
}
