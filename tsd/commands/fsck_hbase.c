/*
 * fsck_hbase.c - tsd fsck --hbase: checks OpenTSDB's tables in HBase, and repairs what its options permit.
 *
 * Threads    the main thread prints; faults are reported by one thread at a time
 * Not here   checking and repairing (storage/hbase/remote/check.h)
 */
#include "base/cut.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "storage/hbase/remote/check.h"
#include "storage/hbase/rowkey.h"
#include "tsd/commands/fsck.h"
#include "tsd/commands/hbase.h"
#include "tsd/commands/markdown.h"
#include "tsd/commands/progress.h"

#include <inttypes.h>
#include <string.h>

#define SHOWN_BYTES 256 /* of a key or qualifier */

/* One run. */
struct run {
    const struct tsd_args *args;
    bool json, markdown, quiet, verbose;
    bool has_rollups;           /* tables of rollups are configured */
    struct tsd_markdown report; /* --format markdown */
    struct sto_hbase_check_opts opts;
    struct sto_hbase_check_result res;
    struct tsd_progress progress;
    struct ts_buf out;
    struct ts_error err; /* of printing */
    int rc;              /* the same */
};

/* --- options --- */

static int take_deletes(const char *text, unsigned *io_fixes, struct ts_error *err)
{
    static const struct {
        const char *word;
        unsigned fixes;
    } words[] = {
        {"values", STO_HBASE_DELETE_VALUES},   {"columns", STO_HBASE_DELETE_COLUMNS},
        {"rows", STO_HBASE_DELETE_ROWS},       {"orphans", STO_HBASE_DELETE_ORPHANS},
        {"unknown", STO_HBASE_DELETE_UNKNOWN}, {"all", STO_HBASE_DELETE_ALL},
    };
    struct ts_slice rest = ts_slice_str(text);
    do {
        struct ts_slice word = ts_slice_trim(ts_slice_cut(&rest, ','));
        size_t i = 0, n = sizeof words / sizeof *words;
        while (i < n && !ts_slice_eq(word, ts_slice_str(words[i].word)))
            i++;
        if (i == n)
            return ts_error_set(
                err, TS_EINVAL,
                "--delete: \"%.*s\" is none of values, columns, rows, orphans, unknown and all",
                TS_SHOWN(word, 40));
        *io_fixes |= words[i].fixes | STO_HBASE_FIX;
    } while (rest.n);
    return 0;
}

static int take_fixes(const struct tsd_args *args, unsigned *out, struct ts_error *err)
{
    const char *which = tsd_args_get(args, "duplicates"), *deletes = tsd_args_get(args, "delete");
    unsigned newest = STO_HBASE_FIX | STO_HBASE_FIX_NEWEST;
    *out = tsd_args_has(args, "fix") ? STO_HBASE_FIX : 0;
    if (tsd_args_has(args, "fix-all"))
        *out = newest | STO_HBASE_DELETE_ALL | STO_HBASE_COMPACT;
    if (tsd_args_has(args, "compact"))
        *out |= STO_HBASE_FIX | STO_HBASE_COMPACT;
    if (which && strcmp(which, "newest") != 0 && strcmp(which, "oldest") != 0)
        return ts_error_set(err, TS_EINVAL, "--duplicates is newest or oldest, not \"%.40s\"", which);
    if (which && *which == 'o')
        *out = (*out & ~(unsigned)STO_HBASE_FIX_NEWEST) | STO_HBASE_FIX | STO_HBASE_FIX_OLDEST;
    else if (which)
        *out |= newest;
    return deletes ? take_deletes(deletes, out, err) : 0;
}

static int take_options(struct run *r, struct ts_error *err)
{
    const char *from = tsd_args_get(r->args, "from"), *to = tsd_args_get(r->args, "to");
    const char *metric = tsd_args_get(r->args, "metric");
    r->opts = STO_HBASE_CHECK_ALL;
    TS_TRY(take_fixes(r->args, &r->opts.fixes, err));
    if (metric)
        r->opts.metric = ts_slice_str(metric);
    if (from)
        TS_TRY(ts_time_parse(ts_slice_str(from), NULL, ts_clock_ms(), false, &r->opts.from_ms, NULL, err));
    if (to)
        TS_TRY(ts_time_parse_end(ts_slice_str(to), NULL, ts_clock_ms(), false, &r->opts.to_ms, err));
    if (r->opts.from_ms > r->opts.to_ms)
        return ts_error_set(err, TS_EINVAL, "--to %s is before --from %s", to, from);
    return 0;
}

/* --- faults --- */

static void put_hex(struct ts_buf *out, struct ts_slice bytes)
{
    char text[2 * SHOWN_BYTES + 1];
    size_t n = bytes.n < SHOWN_BYTES ? bytes.n : SHOWN_BYTES;
    sto_hbase_hex_print((struct ts_slice){bytes.p, n}, text);
    text[2 * n] = 0;
    ts_buf_str(out, text);
    if (n < bytes.n)
        ts_buf_str(out, "...");
}

static void put_text(struct ts_buf *b, const struct sto_hbase_found *f)
{
    ts_buf_printf(b, "%s: %s: %s, row ", f->is_note ? "note" : "damage", f->name, f->table);
    put_hex(b, f->row);
    if (f->column.p) {
        ts_buf_str(b, ", column ");
        put_hex(b, f->column);
    }
    ts_buf_printf(b, ": %s\n", f->text);
}

static void put_json(struct ts_buf *b, const struct sto_hbase_found *f)
{
    struct ts_json j;
    struct ts_buf hex;
    ts_buf_init(&hex, 0);
    put_hex(&hex, f->row);
    ts_json_init(&j, b);
    ts_json_obj(&j);
    ts_json_member_str(&j, "kind", f->is_note ? "note" : "damage");
    ts_json_member_str(&j, "fault", f->name);
    ts_json_member_str(&j, "table", f->table);
    ts_json_member_slice(&j, "row", ts_buf_get(&hex));
    if (f->column.p) {
        ts_buf_clear(&hex);
        put_hex(&hex, f->column);
        ts_json_member_slice(&j, "column", ts_buf_get(&hex));
    }
    ts_json_member_str(&j, "text", f->text);
    ts_json_obj_end(&j);
    ts_buf_char(b, '\n');
    ts_buf_release(&hex);
}

static void print(struct run *r)
{
    struct ts_buf table;
    ts_buf_init(&table, 0);
    if (r->markdown)
        tsd_markdown_report(&r->report, ts_buf_get(&r->out), &table);
    if (r->rc == 0)
        r->rc = tsd_print(ts_buf_get(r->markdown ? &table : &r->out), &r->err);
    ts_buf_release(&table);
    ts_buf_clear(&r->out);
}

static void on_found(void *arg, const struct sto_hbase_found *f)
{
    struct run *r = arg;
    if (!r->verbose || (r->quiet && f->is_note))
        return;
    tsd_progress_clear(&r->progress);
    (r->json ? put_json : put_text)(&r->out, f);
    print(r);
}

static void on_progress(void *arg, uint64_t n_rows, uint64_t n_points)
{
    struct run *r = arg;
    (void)n_rows;
    tsd_progress_set(&r->progress, 0, n_points);
}

/* --- the summary --- */

/* Damage that was found, and that is left. */
static uint64_t count_damage(const struct run *r, uint64_t *out_left)
{
    uint64_t n = 0;
    *out_left = 0;
    for (unsigned i = 0; i < STO_HBASE_N_FAULTS; i++) {
        if (sto_hbase_fault_is_note(i))
            continue;
        n += r->res.n_found[i];
        *out_left += r->res.n_found[i] - r->res.n_fixed[i];
    }
    return n;
}

static void put_faults(struct run *r)
{
    char n[2][32];
    for (unsigned i = 0; i < STO_HBASE_N_FAULTS; i++) {
        bool note = sto_hbase_fault_is_note(i);
        if (!r->res.n_found[i] || (r->quiet && note))
            continue;
        ts_buf_printf(&r->out, "%s: %s: %s found", note ? "note" : "damage", sto_hbase_fault_name(i),
                      tsd_count_text(r->res.n_found[i], n[0]));
        if (r->opts.fixes)
            ts_buf_printf(&r->out, ", %s repaired", tsd_count_text(r->res.n_fixed[i], n[1]));
        ts_buf_char(&r->out, '\n');
    }
}

/* Is it rather the configuration that is wrong? */
static bool is_misread(const struct run *r)
{
    uint64_t n_odd = r->res.n_found[STO_HBASE_BAD_KEY] + r->res.n_found[STO_HBASE_WRONG_SALT];
    return n_odd >= STO_HBASE_SAMPLE_MIN && n_odd > r->res.n_rows / 2;
}

/* Faults that are left, and the options that repair them, but for those that were given: they have done what they can. */
static void put_advice(struct run *r, uint64_t damage, uint64_t left)
{
    static const struct {
        unsigned fixes;
        const char *option;
    } options[] = {
        {STO_HBASE_FIX, "--fix"},
        {STO_HBASE_FIX_NEWEST | STO_HBASE_FIX_OLDEST, "--duplicates newest or oldest"},
        {STO_HBASE_DELETE_VALUES, "--delete values"},
        {STO_HBASE_DELETE_COLUMNS, "--delete columns"},
        {STO_HBASE_DELETE_ROWS, "--delete rows"},
        {STO_HBASE_DELETE_ORPHANS, "--delete orphans"},
        {STO_HBASE_DELETE_UNKNOWN, "--delete unknown"},
        {0, "no option"},
    };
    ts_buf_printf(&r->out, "%s%" PRIu64 " fault%s", damage > left ? "repaired, but " : "", left,
                  ts_plural(left));
    if (r->opts.fixes)
        ts_buf_str(&r->out, left == 1 ? " is left" : " are left");
    const char *between = "; ";
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        uint64_t n = 0;
        for (unsigned i = 0; i < STO_HBASE_N_FAULTS; i++) {
            unsigned fixes = sto_hbase_fault_fixes(i);
            if (!sto_hbase_fault_is_note(i) && !(fixes & r->opts.fixes) &&
                (fixes ? fixes & options[k].fixes : !options[k].fixes))
                n += r->res.n_found[i] - r->res.n_fixed[i];
        }
        if (n) {
            ts_buf_printf(&r->out, "%s%s repairs %" PRIu64, between, options[k].option, n);
            between = ", ";
        }
    }
    ts_buf_char(&r->out, '\n');
}

static void put_text_summary(struct run *r)
{
    char n[5][32];
    uint64_t left, damage = count_damage(r, &left);
    put_faults(r);
    if (r->quiet)
        return;
    ts_buf_printf(&r->out, "%s name%s, %s row%s, %s cell%s, %s point%s, %s annotation%s",
                  tsd_count_text(r->res.n_names, n[0]), ts_plural(r->res.n_names),
                  tsd_count_text(r->res.n_rows, n[1]), ts_plural(r->res.n_rows),
                  tsd_count_text(r->res.n_cells, n[2]), ts_plural(r->res.n_cells),
                  tsd_count_text(r->res.n_points, n[3]), ts_plural(r->res.n_points),
                  tsd_count_text(r->res.n_annotations, n[4]), ts_plural(r->res.n_annotations));
    if (r->has_rollups)
        ts_buf_printf(&r->out, ", %s rollup%s", tsd_count_text(r->res.n_rollups, n[0]),
                      ts_plural(r->res.n_rollups));
    ts_buf_char(&r->out, '\n');
    if (r->opts.fixes & STO_HBASE_COMPACT)
        ts_buf_printf(&r->out, "%s row%s became one column\n", tsd_count_text(r->res.n_compacted, n[0]),
                      ts_plural(r->res.n_compacted));
    if (r->res.n_too_new)
        ts_buf_printf(&r->out, "%s row%s or name%s written just now: run it again in ten minutes\n",
                      tsd_count_text(r->res.n_too_new, n[0]), ts_plural(r->res.n_too_new),
                      r->res.n_too_new == 1 ? " was" : "s were");
    if (!damage && r->res.n_too_new)
        ts_buf_str(&r->out, "clean as far as was looked\n");
    else if (!damage)
        ts_buf_str(&r->out, "clean\n");
    else if (is_misread(r))
        ts_buf_str(&r->out,
                   "most rows have keys that do not fit hbase_salt_width, hbase_salt_buckets and the widths "
                   "of ids: it is likelier that these "
                   "are not the numbers with which the tables were made; repair nothing before you know\n");
    else if (left)
        put_advice(r, damage, left);
    else
        ts_buf_str(&r->out, "repaired\n");
}

static void put_json_summary(struct run *r)
{
    const struct {
        const char *name;
        uint64_t v;
    } counts[] = {{"names", r->res.n_names},
                  {"rows", r->res.n_rows},
                  {"cells", r->res.n_cells},
                  {"points", r->res.n_points},
                  {"annotations", r->res.n_annotations},
                  {"histograms", r->res.n_histograms},
                  {"rollups", r->res.n_rollups},
                  {"compacted", r->res.n_compacted},
                  {"too_new", r->res.n_too_new}};
    uint64_t left, damage = count_damage(r, &left);
    struct ts_json j;
    ts_json_init(&j, &r->out);
    ts_json_obj(&j);
    ts_json_member_str(&j, "kind", "summary");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        ts_json_member_count(&j, counts[i].name, counts[i].v);
    ts_json_member_count(&j, "damage", damage);
    ts_json_member_count(&j, "left", left);
    for (int fixed = 0; fixed < 2; fixed++) {
        ts_json_key(&j, fixed ? "repaired" : "found");
        ts_json_obj(&j);
        for (unsigned i = 0; i < STO_HBASE_N_FAULTS; i++)
            if (r->res.n_found[i])
                ts_json_member_count(&j, sto_hbase_fault_name(i),
                                     (fixed ? r->res.n_fixed : r->res.n_found)[i]);
        ts_json_obj_end(&j);
    }
    ts_json_obj_end(&j);
    ts_buf_char(&r->out, '\n');
}

/* --- the command --- */

/* With other salts or widths than those of the table every row is one of no series, and would be deleted, or be moved to where nobody finds it: and what was
 * moved from a row cannot be moved back to it until HBase has compacted its deletes away. */
static int may_repair(const struct run *r, const struct tsd_hbase_tables *t, struct ts_error *err)
{
    if (!r->opts.fixes)
        return 0;
    int rc = tsd_hbase_look_at_keys(t->remote, &t->call, err);
    return rc == TS_EINVAL ? ts_error_wrap(err, "nothing was repaired") : rc;
}

static int check(struct run *r, struct tsd_hbase_tables *t, struct ts_error *err)
{
    bool part = r->opts.metric.n || r->opts.from_ms != INT64_MIN || r->opts.to_ms != INT64_MAX;
    TS_TRY(may_repair(r, t, err));
    tsd_progress_begin(&r->progress, 0);
    int rc = part ? 0 : sto_hbase_check_ids(t->remote, &r->opts, &t->call, &r->res, err);
    if (rc == 0)
        rc = sto_hbase_check_data(t->remote, &r->opts, &t->call, &r->res, err);
    if (rc == 0)
        rc = sto_hbase_check_rollups(t->remote, &r->opts, &t->call, &r->res, err);
    tsd_progress_clear(&r->progress);
    return rc;
}

static int fail(const struct ts_error *err)
{
    (void)tsd_fail(err);
    return TSD_FSCK_ERROR;
}

int tsd_fsck_hbase_run(const struct tsd_args *args)
{
    const char *format = tsd_args_get(args, "format");
    struct run r = {.args = args,
                    .json = format && !strcmp(format, "json"),
                    .markdown = format && !strcmp(format, "markdown"),
                    .quiet = tsd_args_has(args, "quiet"),
                    .verbose = tsd_args_has(args, "verbose")};
    struct ts_error err = {0};
    uint64_t left;
    if (tsd_args_has(args, "data"))
        return tsd_usage(args,
                         "--hbase checks tables of HBase and --data a folder: give only one of the two");
    if (tsd_args_has(args, "repair"))
        return tsd_usage(args, "--repair belongs to --data; with --hbase, --fix repairs what loses no point");
    if (args->n_words)
        return tsd_usage(args, "fsck takes options only, not \"%s\"", args->words[0]);
    int bad;
    if (tsd_args_choice(args, "format", "text|json|markdown", &bad))
        return bad;
    struct tsd_hbase_tables t;
    if (take_options(&r, &err) < 0 || tsd_hbase_tables_open(&t, args, &err) < 0)
        return err.code == TS_EBACKEND || err.code == TS_ETIMEOUT ? fail(&err)
                                                                  : tsd_usage(args, "%s", err.text);
    r.opts.found = on_found;
    r.opts.progress = on_progress;
    r.opts.arg = &r;
    ts_log_set_level(TS_LOG_ERROR);
    ts_buf_init(&r.out, 0);
    int rc = check(&r, &t, &err);
    r.has_rollups = t.set.rollups != NULL;
    tsd_hbase_tables_close(&t);
    if (rc == 0) {
        (r.json ? put_json_summary : put_text_summary)(&r);
        print(&r);
    }
    if (rc == 0 && r.rc == 0)
        r.rc = tsd_print_end(&r.err);
    ts_buf_release(&r.out);
    if (rc < 0 || r.rc < 0)
        return fail(rc < 0 ? &err : &r.err);
    uint64_t damage = count_damage(&r, &left);
    return left ? TSD_FSCK_LEFT : damage ? TSD_FSCK_REPAIRED : TSD_FSCK_CLEAN;
}
