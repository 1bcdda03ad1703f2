/*
 * uid.c - tsd uid: names and their ids in a stopped store: look up, search, assign, rename.
 *
 * Threads    the main thread
 * Source     storage-and-tools 3.5 (forms and output)
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "base/num.h"
#include "tsd/cmds/local.h"

#include <pcre2.h>
#include <string.h>

const struct ts_opt tsd_uid_opts[] = {
    {.name = "data", .arg = "DIR", .help = "The folder of the store; no daemon may use it. Needed."},
    {.name = "config",
     .arg = "FILE",
     .help = "The daemon's configuration, for its rules of names and its storage keys."},
    {.name = "ignore-case", .letter = 'i', .help = "grep: upper and lower case are the same."},
    {.name = NULL},
};

static const char *const kind_names[STO_UID_KINDS] = {"metrics", "tagk", "tagv"};

/* One run. */
struct uid_run {
    const struct tsd_args *args; /* of the command */
    struct sto_store *store;     /* open */
    struct sto_catalog *cat;     /* its names */
    struct tsd_rules rules;      /* for new names */
    struct ts_buf out;           /* result */
    pcre2_code *re;              /* grep */
    pcre2_match_data *match;     /* grep */
    enum sto_uid_kind kind;      /* grep: of the names at hand */
    uint64_t n_found;            /* lines printed */
};

static bool uid_kind(const char *word, enum sto_uid_kind *out)
{
    for (unsigned k = 0; k < STO_UID_KINDS; k++) {
        if (strcmp(word, kind_names[k]) == 0) {
            *out = (enum sto_uid_kind)k;
            return true;
        }
    }
    return false;
}

/* "metrics web.hits: [0, 0, 1]": bytes as OpenTSDB prints them, three where they are enough. */
static void uid_print(struct uid_run *r, enum sto_uid_kind kind, uint32_t id, struct ts_slice name)
{
    ts_buf_printf(&r->out, "%s ", kind_names[kind]);
    ts_buf_slice(&r->out, name);
    ts_buf_str(&r->out, ": [");
    for (int shift = id >> 24 ? 24 : 16; shift >= 0; shift -= 8)
        ts_buf_printf(&r->out, "%d%s", (int8_t)(id >> shift & 255), shift ? ", " : "]\n");
    r->n_found++;
}

/* --- look up --- */

static void uid_find(struct uid_run *r, enum sto_uid_kind kind, const char *word)
{
    uint32_t id;
    int64_t number;
    struct ts_slice name = ts_slice_str(word);
    if (sto_uid_find(r->cat, kind, name, &id) == 0) {
        uid_print(r, kind, id, name);
    } else if (ts_num_parse_int(name, &number, NULL) == 0 && number > 0 && number <= UINT32_MAX) {
        name = sto_uid_name(r->cat, kind, (uint32_t)number);
        if (name.n)
            uid_print(r, kind, (uint32_t)number, name);
    }
}

static int uid_lookup(struct uid_run *r, const char *const *words, size_t n, struct ts_error *err)
{
    enum sto_uid_kind only = STO_UID_METRIC;
    const char *word = words[n - 1];
    bool has_kind = n == 2;
    if (has_kind && !uid_kind(words[0], &only))
        return ts_error_set(err, TS_EINVAL, "\"%s\" is no kind; there are metrics, tagk and tagv", words[0]);
    for (unsigned k = 0; k < STO_UID_KINDS; k++)
        if (!has_kind || k == (unsigned)only)
            uid_find(r, (enum sto_uid_kind)k, word);
    if (r->n_found == 0)
        return ts_error_set(err, TS_ENOTFOUND, "no such name or number%s%s: %s", has_kind ? " among " : "",
                            has_kind ? words[0] : "", word);
    return 0;
}

/* --- grep --- */

static void uid_grep_one(void *arg, uint32_t id, struct ts_slice name)
{
    struct uid_run *r = arg;
    if (pcre2_match(r->re, (PCRE2_SPTR)name.p, name.n, 0, 0, r->match, NULL) >= 0)
        uid_print(r, r->kind, id, name);
}

static int uid_grep(struct uid_run *r, const char *const *words, size_t n, struct ts_error *err)
{
    enum sto_uid_kind only = STO_UID_METRIC;
    bool has_kind = n == 2;
    if (has_kind && !uid_kind(words[0], &only))
        return ts_error_set(err, TS_EINVAL, "\"%s\" is no kind; there are metrics, tagk and tagv", words[0]);
    int code;
    PCRE2_SIZE at;
    uint32_t flags = PCRE2_UTF | (tsd_args_has(r->args, "ignore-case") ? PCRE2_CASELESS : 0);
    r->re = pcre2_compile((PCRE2_SPTR)words[n - 1], PCRE2_ZERO_TERMINATED, flags, &code, &at, NULL);
    if (!r->re) {
        char why[128];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
        return ts_error_set(err, TS_EINVAL, "the expression is wrong at character %zu: %s", (size_t)at + 1,
                            why);
    }
    r->match = pcre2_match_data_create_from_pattern(r->re, NULL);
    for (unsigned k = 0; k < STO_UID_KINDS; k++) {
        r->kind = (enum sto_uid_kind)k;
        if (!has_kind || r->kind == only)
            sto_uid_suggest(r->cat, r->kind, (struct ts_slice){"", 0}, SIZE_MAX, uid_grep_one, r);
    }
    return r->n_found ? 0 : ts_error_set(err, TS_ENOTFOUND, "no name matches %s", words[n - 1]);
}

/* --- assign, rename --- */

static int uid_name_ok(struct uid_run *r, const char *name, struct ts_error *err)
{
    struct ts_slice bad, text = ts_slice_str(name);
    if (tsd_name_ok(&r->rules, text, &bad))
        return 0;
    struct ts_buf why;
    ts_buf_init(&why, 1024);
    tsd_name_why(TS_SLICE_LIT("name"), text, bad, &why);
    ts_error_set(err, TS_EINVAL, "%.*s", (int)why.n, why.p);
    ts_buf_release(&why);
    return TS_EINVAL;
}

static int uid_assign(struct uid_run *r, const char *const *words, size_t n, struct ts_error *err)
{
    enum sto_uid_kind kind;
    if (!uid_kind(words[0], &kind))
        return ts_error_set(err, TS_EINVAL, "\"%s\" is no kind; there are metrics, tagk and tagv", words[0]);
    for (size_t i = 1; i < n; i++)
        TS_TRY(uid_name_ok(r, words[i], err));
    for (size_t i = 1; i < n; i++) {
        uint32_t id;
        TS_TRY(sto_uid_make(r->cat, kind, ts_slice_str(words[i]), &id, err));
        uid_print(r, kind, id, ts_slice_str(words[i]));
    }
    return sto_catalog_sync(r->cat, true, err);
}

static int uid_rename(struct uid_run *r, const char *const *words, size_t n, struct ts_error *err)
{
    enum sto_uid_kind kind;
    (void)n;
    if (!uid_kind(words[0], &kind))
        return ts_error_set(err, TS_EINVAL, "\"%s\" is no kind; there are metrics, tagk and tagv", words[0]);
    TS_TRY(uid_name_ok(r, words[2], err));
    int rc = sto_uid_rename(r->cat, kind, ts_slice_str(words[1]), ts_slice_str(words[2]), err);
    if (rc == TS_ENOTFOUND)
        return ts_error_set(err, rc, "no such name among %s: %s", words[0], words[1]);
    if (rc == TS_EEXIST)
        return ts_error_set(err, rc, "the name %s exists already among %s", words[2], words[0]);
    if (rc == 0)
        ts_buf_printf(&r->out, "%s %s -> %s\n", words[0], words[1], words[2]);
    return rc;
}

/* --- the command --- */

/* One form, told by its first word. */
struct uid_form {
    const char *word;   /* NULL: look up */
    const char *usage;  /* all of its words */
    size_t min, max;    /* number of words after the first */
    enum tsd_local how; /* how the store is opened */
    /* Gets the words after the first. */
    int (*run)(struct uid_run *r, const char *const *words, size_t n, struct ts_error *err);
};
static const struct uid_form forms[] = {
    {.word = "grep",
     .usage = "grep [KIND] EXPRESSION",
     .min = 1,
     .max = 2,
     .how = TSD_LOCAL_READ,
     .run = uid_grep},
    {.word = "assign",
     .usage = "assign KIND NAME...",
     .min = 2,
     .max = SIZE_MAX,
     .how = TSD_LOCAL_WRITE,
     .run = uid_assign},
    {.word = "rename",
     .usage = "rename KIND OLD NEW",
     .min = 3,
     .max = 3,
     .how = TSD_LOCAL_WRITE,
     .run = uid_rename},
    {.word = NULL, .usage = "[KIND] NAME", .min = 1, .max = 2, .how = TSD_LOCAL_READ, .run = uid_lookup},
};

static int uid_run(struct uid_run *r, const struct uid_form *form, const char *const *words, size_t n)
{
    struct ts_error err = {0}, close_err = {0};
    int rc = tsd_local_open(r->args, form->how, &r->store, &r->rules, &err);
    if (rc < 0)
        return tsd_fail(&err);
    r->cat = sto_store_catalog(r->store);
    ts_buf_init(&r->out, 0);
    rc = form->run(r, words, n, &err);
    pcre2_match_data_free(r->match);
    pcre2_code_free(r->re);
    int print_rc = tsd_print(ts_buf_get(&r->out), rc < 0 ? NULL : &err);
    if (print_rc == 0)
        print_rc = tsd_print_end(rc < 0 ? NULL : &err);
    ts_buf_release(&r->out);
    int close_rc = sto_close(r->store, &close_err);
    if (rc < 0 || print_rc < 0)
        return tsd_fail(&err);
    return close_rc < 0 ? tsd_fail(&close_err) : TSD_EXIT_OK;
}

int tsd_uid_run(const struct tsd_args *args)
{
    struct uid_run r = {.args = args};
    const struct uid_form *form = forms;
    if (args->n_words == 0)
        return tsd_usage(args, "say what: a name, a number, grep, assign or rename");
    if (!tsd_args_has(args, "data"))
        return tsd_usage(args, "--data DIR is missing: ids are looked up in the folder of a stopped daemon");
    while (form->word && strcmp(form->word, args->words[0]) != 0)
        form++;
    size_t skip = form->word ? 1 : 0, n = args->n_words - skip;
    if (n < form->min || n > form->max)
        return tsd_usage(args, "the words are %s", form->usage);
    return uid_run(&r, form, args->words + skip, n);
}
