/*
 * uid_hbase.c - tsd uid --hbase: names and ids in OpenTSDB's table in HBase, without a daemon.
 *
 * Output and words are those of uid.c.
 * Threads    the main thread
 */
#include "base/mem.h"
#include "base/num.h"
#include "base/regex.h"
#include "base/text.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/remote/check.h"
#include "storage/hbase/remote/metadata.h"
#include "tsd/commands/hbase.h"
#include "tsd/commands/progress.h"
#include "tsd/ingest/rules.h"

#include <string.h>

#define N_KINDS (STO_REMOTE_TAGV + 1)
#define BATCH   1000 /* names that are looked up together */

static const char *const kind_names[N_KINDS] = {"metrics", "tagk", "tagv"};

/* One run. */
struct run {
    const struct tsd_args *args;
    struct tsd_hbase_tables t;
    struct ts_buf out;
    const char *const *words; /* after the form's name; n_words of them */
    size_t n_words;
    size_t n_damaged; /* names that were looked up, and of which the table has no id */
};

static int take_kind(const char *word, enum sto_remote_kind *out, struct ts_error *err)
{
    for (unsigned k = 0; k < N_KINDS; k++)
        if (strcmp(word, kind_names[k]) == 0) {
            *out = (enum sto_remote_kind)k;
            return 0;
        }
    return ts_error_set(err, TS_EINVAL, "\"%s\" is not a kind; there are metrics, tagk and tagv", word);
}

/* "[KIND] WORD": the kinds from *out_first to *out_last. */
static int take_kinds(const struct run *r, unsigned *out_first, unsigned *out_last, struct ts_error *err)
{
    enum sto_remote_kind kind = STO_REMOTE_METRIC;
    *out_first = 0;
    *out_last = N_KINDS - 1;
    if (r->n_words < 2)
        return 0;
    TS_TRY(take_kind(r->words[0], &kind, err));
    *out_first = *out_last = kind;
    return 0;
}

/* "metrics web.hits: [0, 0, 1]": bytes as OpenTSDB prints them. */
static void put_line(struct run *r, const struct sto_remote_name *n)
{
    const struct sto_hbase_schema *s = &r->t.set.opts.schema;
    unsigned width = n->kind == STO_REMOTE_METRIC ? s->metric_width
                     : n->kind == STO_REMOTE_TAGK ? s->tagk_width
                                                  : s->tagv_width;
    ts_buf_printf(&r->out, "%s %.*s: ", kind_names[n->kind], (int)n->name.n, n->name.p);
    for (unsigned i = 0; i < width; i++)
        ts_buf_printf(&r->out, "%s%d", i ? ", " : "[", (int8_t)(n->id >> (8 * (width - 1 - i)) & 255));
    ts_buf_str(&r->out, "]\n");
}

/* --- names and ids --- */

/* Look up by `what`, and print what is found; names by id are valid only now. */
struct looked_up {
    struct run *r;
    struct sto_remote_name *list;
    size_t n, n_found;
    int rc;
    struct ts_error *err;
};

static void on_looked_up(void *arg, int rc, const struct ts_error *err)
{
    struct looked_up *l = arg;
    l->rc = rc;
    if (err && l->err)
        *l->err = *err;
    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        l->r->n_damaged += l->list[i].rc == TS_ECORRUPT;
        if (l->list[i].rc == 0) {
            put_line(l->r, &l->list[i]);
            l->n_found++;
        }
    }
}

static int look_up(struct run *r, enum sto_remote_lookup what, struct sto_remote_name *list, size_t n,
                   size_t *out_found, struct ts_error *err)
{
    struct looked_up l = {.r = r, .list = list, .n = n, .err = err};
    r->t.remote->ops->names(r->t.remote, what, list, n, &r->t.call, on_looked_up, &l);
    *out_found += l.n_found;
    return l.rc;
}

static int uid_lookup(struct run *r, struct ts_error *err)
{
    unsigned first, last;
    struct sto_remote_name list[N_KINDS];
    const char *word = r->words[r->n_words - 1];
    size_t n_found = 0;
    int64_t number;
    TS_TRY(take_kinds(r, &first, &last, err));
    for (unsigned k = first; k <= last; k++)
        list[k] = (struct sto_remote_name){.kind = (enum sto_remote_kind)k, .name = ts_slice_str(word)};
    TS_TRY(look_up(r, STO_REMOTE_FIND, list + first, last - first + 1, &n_found, err));
    if (ts_num_parse_int(ts_slice_str(word), &number, NULL) == 0 && number > 0) {
        for (unsigned k = first; k <= last; k++)
            list[k] = (struct sto_remote_name){.kind = (enum sto_remote_kind)k, .id = (uint64_t)number};
        TS_TRY(look_up(r, STO_REMOTE_BY_ID, list + first, last - first + 1, &n_found, err));
    }
    return n_found
               ? 0
               : ts_error_set(err, TS_ENOTFOUND, "no such name or number%s%s: %s",
                              first == last ? " among " : "", first == last ? kind_names[first] : "", word);
}

/* --- grep --- */

/* Names of a kind that match; ids are looked up when all have been read. */
struct grep {
    struct run *r;
    struct ts_regex *re;
    struct sto_remote_name *list; /* n of them; name.n is set, the bytes stand one after the other in names */
    size_t n, cap;
    struct ts_buf names;
    int rc; /* of on_name */
    struct ts_error *err;
};

static bool on_name(void *arg, struct ts_slice name)
{
    struct grep *g = arg;
    g->rc = ts_regex_find(g->re, name, 0, g->err);
    if (g->rc <= 0)
        return g->rc == 0;
    g->rc = ts_budget_grow(&g->r->t.memory, &g->list, &g->cap, g->n + 1, sizeof *g->list, g->err);
    if (g->rc == 0 && ts_buf_slice(&g->names, name) < 0)
        g->rc = ts_error_set(g->err, TS_ELIMIT, "there is no memory for so many names (hbase_memory_bytes)");
    if (g->rc == 0)
        g->list[g->n++] = (struct sto_remote_name){.name = {NULL, name.n}};
    return g->rc == 0;
}

static int grep_kind(struct grep *g, enum sto_remote_kind kind, size_t *io_found)
{
    struct sto_remote *remote = g->r->t.remote;
    g->n = 0;
    ts_buf_clear(&g->names);
    TS_TRY(remote->ops->suggest(remote, kind, (struct ts_slice){"", 0}, SIZE_MAX, &g->r->t.call, on_name, g,
                                g->err));
    if (g->rc < 0)
        return g->rc;
    const char *at = g->names.p;
    for (size_t i = 0; i < g->n; at += g->list[i++].name.n) {
        g->list[i].kind = kind;
        g->list[i].name.p = at;
    }
    for (size_t i = 0; i < g->n; i += BATCH)
        TS_TRY(look_up(g->r, STO_REMOTE_FIND_EACH, g->list + i, g->n - i < BATCH ? g->n - i : BATCH, io_found,
                       g->err));
    return 0;
}

static int uid_grep(struct run *r, struct ts_error *err)
{
    struct grep g = {.r = r, .err = err};
    const char *word = r->words[r->n_words - 1];
    unsigned first, last;
    size_t n_found = 0;
    TS_TRY(take_kinds(r, &first, &last, err));
    TS_TRY(
        ts_regex_new(ts_slice_str(word), tsd_args_has(r->args, "ignore-case"), TS_REGEX_STEPS, &g.re, err));
    ts_buf_init(&g.names, 0);
    g.names.budget = &r->t.memory;
    int rc = 0;
    for (unsigned k = first; k <= last && rc == 0; k++)
        rc = grep_kind(&g, (enum sto_remote_kind)k, &n_found);
    ts_budget_free(&r->t.memory, g.list, g.cap * sizeof *g.list);
    ts_buf_release(&g.names);
    ts_regex_free(g.re);
    if (rc == 0 && r->n_damaged)
        return ts_error_set(
            err, TS_ECORRUPT,
            "what HBase's table has of %zu more name%s that match%s is no id; tsd uid fsck --hbase "
            "lists damage",
            r->n_damaged, ts_plural(r->n_damaged), r->n_damaged == 1 ? "es" : "");
    return rc < 0 || n_found ? rc : ts_error_set(err, TS_ENOTFOUND, "no name matches %s", word);
}

/* --- assign, rename, delete --- */

/* May a name be written? As a daemon with remote = hbase would accept it. */
static int may_be(enum sto_remote_kind kind, const char *text, struct ts_error *err)
{
    struct ts_slice name = ts_slice_str(text), bad;
    struct tsd_rules rules;
    struct ts_buf why;
    tsd_rules_init(&rules, false, true, TSD_TAGS_HBASE, "");
    if (tsd_name_ok(&rules, (enum sto_uid_kind)kind, name, &bad))
        return sto_hbase_check_name(kind, name, err);
    ts_buf_init(&why, 0);
    tsd_name_why(&rules, (enum sto_uid_kind)kind, TS_SLICE_LIT("name"), name, bad, &why);
    int rc = ts_error_set(err, TS_EINVAL, "%.*s", (int)why.n, why.p);
    ts_buf_release(&why);
    return rc;
}

static int uid_assign(struct run *r, struct ts_error *err)
{
    enum sto_remote_kind kind = STO_REMOTE_METRIC;
    size_t n = r->n_words - 1, n_found = 0;
    TS_TRY(take_kind(r->words[0], &kind, err));
    for (size_t i = 0; i < n; i++) /* nothing is assigned if a name is refused */
        TS_TRY(may_be(kind, r->words[i + 1], err));
    struct sto_remote_name *list = ts_xcalloc(n, sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = (struct sto_remote_name){.kind = kind, .name = ts_slice_str(r->words[i + 1])};
    int rc = look_up(r, STO_REMOTE_MAKE, list, n, &n_found, err);
    ts_free(list);
    return rc;
}

static int uid_rename(struct run *r, struct ts_error *err)
{
    enum sto_remote_kind kind = STO_REMOTE_METRIC;
    TS_TRY(take_kind(r->words[0], &kind, err));
    TS_TRY(may_be(kind, r->words[2], err));
    TS_TRY(r->t.remote->ops->rename(r->t.remote, kind, ts_slice_str(r->words[1]), ts_slice_str(r->words[2]),
                                    &r->t.call, err));
    ts_buf_printf(&r->out, "%s %s -> %s\n", r->words[0], r->words[1], r->words[2]);
    return 0;
}

static int uid_delete(struct run *r, struct ts_error *err)
{
    enum sto_remote_kind kind = STO_REMOTE_METRIC;
    TS_TRY(take_kind(r->words[0], &kind, err));
    for (size_t i = 1; i < r->n_words; i++)
        TS_TRY(sto_hbase_delete_name(r->t.remote, kind, ts_slice_str(r->words[i]), &r->t.call, err));
    return 0;
}

/* --- check --- */

/* The kind of an entry; texts name the entry, except for a row that cannot be read. */
static void on_found(void *arg, const struct sto_hbase_found *f)
{
    struct run *r = arg;
    ts_buf_printf(&r->out, "%s: %s: ", f->is_note ? "note" : "damage", f->name);
    for (unsigned k = 0; k < N_KINDS; k++)
        if (ts_slice_is(f->column, kind_names[k]))
            ts_buf_printf(&r->out, "%s: ", kind_names[k]);
    if (!f->column.p) {
        ts_buf_str(&r->out, "row ");
        for (size_t i = 0; i < f->row.n; i++)
            ts_buf_printf(&r->out, "%02X", (unsigned)(uint8_t)f->row.p[i]);
        ts_buf_str(&r->out, ": ");
    }
    ts_buf_printf(&r->out, "%s\n", f->text);
}

/* What corrects the errors that are left. */
static int say_left(const struct sto_hbase_check_opts *opts, const struct sto_hbase_check_result *res,
                    uint64_t left, struct ts_error *err)
{
    uint64_t n_lengths = res->n_found[STO_HBASE_UID_LENGTH] - res->n_fixed[STO_HBASE_UID_LENGTH],
             n_fixable = 0;
    char lengths[200] = "";
    for (unsigned i = 0; i < STO_HBASE_N_FAULTS; i++)
        if (!sto_hbase_fault_is_note(i) && (sto_hbase_fault_fixes(i) & STO_HBASE_FIX))
            n_fixable += res->n_found[i] - res->n_fixed[i];
    if (n_lengths)
        (void)snprintf(lengths, sizeof lengths,
                       "%llu ids have another length than hbase_metric_width, hbase_tagk_width or "
                       "hbase_tagv_width, which fix does not correct",
                       (unsigned long long)n_lengths);
    if (opts->fixes & STO_HBASE_FIX)
        return ts_error_set(err, TS_ECORRUPT, "%llu error%s left%s%s", (unsigned long long)left,
                            left == 1 ? " is" : "s are", *lengths ? "; " : "", lengths);
    if (!n_fixable)
        return ts_error_set(err, TS_ECORRUPT, "%s", lengths);
    return ts_error_set(err, TS_ECORRUPT, "tsd uid fsck fix --hbase corrects %s%s%s",
                        n_fixable < left ? "the others" : "them", *lengths ? "; " : "", lengths);
}

static int take_fixes(const struct run *r, unsigned *out, struct ts_error *err)
{
    *out = 0;
    for (size_t i = 0; i < r->n_words; i++) {
        if (strcmp(r->words[i], "fix") != 0 && strcmp(r->words[i], "delete_unknown") != 0)
            return ts_error_set(err, TS_EINVAL, "fsck --hbase accepts no words but fix and delete_unknown");
        *out |= *r->words[i] == 'f' ? STO_HBASE_FIX : STO_HBASE_DELETE_UNKNOWN;
    }
    return 0;
}

static int uid_fsck(struct run *r, struct ts_error *err)
{
    struct sto_hbase_check_opts opts = STO_HBASE_CHECK_ALL;
    struct sto_hbase_check_result res = {0};
    uint64_t n = 0, left = 0;
    TS_TRY(take_fixes(r, &opts.fixes, err));
    opts.found = on_found;
    opts.arg = r;
    TS_TRY(sto_hbase_check_ids(r->t.remote, &opts, &r->t.call, &res, err));
    for (unsigned i = 0; i < STO_HBASE_N_FAULTS; i++)
        if (!sto_hbase_fault_is_note(i)) {
            n += res.n_found[i];
            left += res.n_found[i] - res.n_fixed[i];
        }
    ts_buf_printf(&r->out, "%llu name%s analyzed\n", (unsigned long long)res.n_names, ts_plural(res.n_names));
    if (n)
        ts_buf_printf(&r->out, "%llu error%s found.\n", (unsigned long long)n, ts_plural(n));
    else
        ts_buf_str(&r->out, "No errors found.\n");
    if (res.n_too_new)
        ts_buf_printf(&r->out, "%llu mapping%s written just now and left out: run it again in ten minutes\n",
                      (unsigned long long)res.n_too_new, res.n_too_new == 1 ? " was" : "s were");
    if (!left)
        return 0;
    return say_left(&opts, &res, left, err);
}

/* --- metadata and trees --- */

static void put_count(struct run *r, uint64_t n, const char *what)
{
    if (n)
        ts_buf_printf(&r->out, "%llu %s\n", (unsigned long long)n, what);
}

static int uid_metasync(struct run *r, struct ts_error *err)
{
    struct sto_hbase_metadata_counts n = {0};
    int rc = sto_hbase_metasync(r->t.remote, &r->t.call, &n, err);
    ts_buf_printf(&r->out, "%llu row%s read\n", (unsigned long long)n.n_rows, ts_plural(n.n_rows));
    put_count(r, n.n_names, "names got metadata");
    put_count(r, n.n_series, "series got metadata");
    put_count(r, n.n_counters, "series got a counter");
    put_count(r, n.n_corrected, "times of creation corrected");
    put_count(r, n.n_unnamed, "ids and series have no name, and got no metadata");
    put_count(r, n.n_bad_keys, "rows belong to no series");
    put_count(r, n.n_damaged, "documents cannot be read, and stay as they are");
    return rc;
}

static int uid_metapurge(struct run *r, struct ts_error *err)
{
    struct sto_hbase_metadata_counts n = {0};
    int rc = sto_hbase_metapurge(r->t.remote, &r->t.call, &n, err);
    ts_buf_printf(&r->out, "%llu cell%s deleted\n", (unsigned long long)n.n_deleted, ts_plural(n.n_deleted));
    return rc;
}

static int take_tree(const char *word, uint16_t *out, struct ts_error *err)
{
    int64_t tree;
    if (ts_num_parse_int(ts_slice_str(word), &tree, NULL) < 0 || tree < 1 || tree > UINT16_MAX)
        return ts_error_set(err, TS_EINVAL, "\"%s\" is not the id of a tree (1 to 65535)", word);
    *out = (uint16_t)tree;
    return 0;
}

static int uid_treesync(struct run *r, struct ts_error *err)
{
    uint16_t tree = 0;
    if (r->n_words)
        TS_TRY(take_tree(r->words[0], &tree, err));
    return tsd_treesync_hbase(&r->t, tree, &r->out, err);
}

static int uid_treepurge(struct run *r, struct ts_error *err)
{
    struct sto_hbase_metadata_counts n = {0};
    uint16_t tree = 0;
    TS_TRY(take_tree(r->words[0], &tree, err));
    int rc = sto_hbase_treepurge(r->t.remote, tree, r->n_words > 1, &r->t.call, &n, err);
    ts_buf_printf(&r->out, "%llu cell%s deleted\n", (unsigned long long)n.n_deleted, ts_plural(n.n_deleted));
    return rc;
}

/* --- words, checked before the tables are opened: what is wrong with them is wrong usage --- */

static int check_nothing(const struct run *r, struct ts_error *err)
{
    (void)r, (void)err;
    return 0;
}

static int check_kind(const struct run *r, struct ts_error *err)
{
    enum sto_remote_kind kind;
    return take_kind(r->words[0], &kind, err);
}

static int check_kinds(const struct run *r, struct ts_error *err)
{
    unsigned first, last;
    return take_kinds(r, &first, &last, err);
}

static int check_expression(const struct run *r, struct ts_error *err)
{
    struct ts_regex *re;
    TS_TRY(check_kinds(r, err));
    TS_TRY(ts_regex_new(ts_slice_str(r->words[r->n_words - 1]), false, TS_REGEX_STEPS, &re, err));
    ts_regex_free(re);
    return 0;
}

static int check_fixes(const struct run *r, struct ts_error *err)
{
    unsigned fixes;
    return take_fixes(r, &fixes, err);
}

static int check_tree(const struct run *r, struct ts_error *err)
{
    uint16_t tree;
    TS_TRY(r->n_words ? take_tree(r->words[0], &tree, err) : 0);
    if (r->n_words > 1 && strcmp(r->words[1], "definition") != 0 && strcmp(r->words[1], "true") != 0)
        return ts_error_set(err, TS_EINVAL, "treepurge accepts no second word but definition");
    return 0;
}

/* --- the command --- */

static const struct {
    const char *word, *usage;
    size_t min, max;                                         /* number of words after the first */
    int (*check)(const struct run *r, struct ts_error *err); /* of these words */
    int (*run)(struct run *r, struct ts_error *err);
} forms[] = {
    {"grep", "grep [KIND] EXPRESSION", 1, 2, check_expression, uid_grep},
    {"assign", "assign KIND NAME...", 2, SIZE_MAX, check_kind, uid_assign},
    {"rename", "rename KIND OLD NEW", 3, 3, check_kind, uid_rename},
    {"delete", "delete KIND NAME...", 2, SIZE_MAX, check_kind, uid_delete},
    {"fsck", "fsck [fix] [delete_unknown]", 0, 2, check_fixes, uid_fsck},
    {"metasync", "metasync", 0, 0, check_nothing, uid_metasync},
    {"metapurge", "metapurge", 0, 0, check_nothing, uid_metapurge},
    {"treesync", "treesync [ID]", 0, 1, check_tree, uid_treesync},
    {"treepurge", "treepurge ID [definition]", 1, 2, check_tree, uid_treepurge},
    {NULL, "[KIND] NAME", 1, 2, check_kinds, uid_lookup},
};
/* Forms that work through a daemon, and why. */
static const char *const others[][2] = {
    {"set", "free text fields are set through a daemon, which writes them to HBase"},
    {"get", "free text fields are read through a daemon, which reads them from HBase"},
    {"find", "names are searched by their fields through a daemon; grep --hbase searches names"},
};

static int run_form(struct run *r, int (*form)(struct run *r, struct ts_error *err))
{
    struct ts_error err = {0};
    int rc = tsd_hbase_tables_open(&r->t, r->args, &err);
    if (rc < 0)
        return rc == TS_EBACKEND || rc == TS_ETIMEOUT ? tsd_fail(&err) : tsd_usage(r->args, "%s", err.text);
    ts_buf_init(&r->out, 0);
    rc = form(r, &err);
    int print_rc = tsd_print_all(ts_buf_get(&r->out), rc < 0 ? NULL : &err);
    ts_buf_release(&r->out);
    tsd_hbase_tables_close(&r->t);
    return rc < 0 || print_rc < 0 ? tsd_fail(&err) : TSD_EXIT_OK;
}

int tsd_uid_hbase_run(const struct tsd_args *args)
{
    struct run r = {.args = args};
    struct ts_error err = {0};
    size_t i = 0;
    if (tsd_args_has(args, "data") || tsd_args_has(args, "host") || tsd_args_has(args, "port") ||
        tsd_args_has(args, "deleted"))
        return tsd_usage(args,
                         "--hbase works without a daemon and without a folder: leave out --data, --host, "
                         "--port and --deleted");
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (strcmp(args->words[0], others[k][0]) == 0)
            return tsd_usage(args, "%s: %s", others[k][0], others[k][1]);
    while (forms[i].word && strcmp(forms[i].word, args->words[0]) != 0)
        i++;
    size_t skip = forms[i].word ? 1 : 0;
    r.words = args->words + skip;
    r.n_words = args->n_words - skip;
    if (r.n_words < forms[i].min || r.n_words > forms[i].max)
        return tsd_usage(args, "the words are %s", forms[i].usage);
    if (forms[i].check(&r, &err) < 0)
        return tsd_usage(args, "%s", err.text);
    return run_form(&r, forms[i].run);
}
