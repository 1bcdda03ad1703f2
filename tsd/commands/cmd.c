/*
 * cmd.c - from argv to a command: finding it, its options, its help page, and the one place that prints
 * errors.
 *
 * Threads    see cmd.h
 * Not here   the table (main.c)
 */
#include "tsd/commands/cmd.h"

#include "base/cut.h"
#include "base/mem.h"
#include "base/near.h"
#include "tsd/commands/client.h"
#include "tsd/commands/terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CMD_MAX_TABLES 8
#define CMD_NAME_MAX   32

/* One row for each code, in the order of enum ts_err; a unit test compares the numbers. */
static const signed char exit_codes[TS_ERR_COUNT] = {
    [-TS_OK] = TSD_EXIT_OK,
    [-TS_ENOMEM] = TSD_EXIT_FAILED,
    [-TS_EIO] = TSD_EXIT_FAILED,
    [-TS_ENOSPC] = TSD_EXIT_FAILED,
    [-TS_ECORRUPT] = TSD_EXIT_DAMAGE,
    [-TS_EVERSION] = TSD_EXIT_FAILED,
    [-TS_ENOTFOUND] = TSD_EXIT_FAILED,
    [-TS_EEXIST] = TSD_EXIT_FAILED,
    [-TS_EINVAL] = TSD_EXIT_FAILED,
    [-TS_EPARSE] = TSD_EXIT_FAILED,
    [-TS_ELIMIT] = TSD_EXIT_FAILED,
    [-TS_EBUSY] = TSD_EXIT_FAILED,
    [-TS_ETIMEOUT] = TSD_EXIT_FAILED,
    [-TS_ECANCELLED] = TSD_EXIT_FAILED,
    [-TS_EBACKEND] = TSD_EXIT_FAILED,
    [-TS_EMFILE] = TSD_EXIT_FAILED,
};
_Static_assert(-TS_EMFILE + 1 == TS_ERR_COUNT, "a new code needs a row");

static const struct ts_opt no_opts[] = {{.name = NULL}};
static const struct ts_opt help_opts[] = {{.name = "help", .letter = 'h', .help = "Print this page."},
                                          {.name = NULL}};

int tsd_exit_of(int code)
{
    if (code > 0 || code <= -TS_ERR_COUNT)
        return -1;
    return exit_codes[-code];
}

/* --- texts --- */

void tsd_say(const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fprintf(stderr, "tsd: %s\n", text);
}

static bool print_closed; /* the reader of standard output has closed it */

static int print_failed(struct ts_error *err)
{
    int e = errno;
    print_closed |= e == EPIPE;
    return ts_error_sys(err, TS_EIO, print_closed ? EPIPE : e, "can't write the result to standard output");
}

int tsd_fail(const struct ts_error *err)
{
    if (err->sys_errno == EPIPE && err->code == TS_EIO && print_closed)
        return TSD_EXIT_OK; /* head has seen enough */
    tsd_say("%s", err->text[0] ? err->text : ts_err_text(err->code));
    int code = tsd_exit_of(err->code);
    return code > 0 ? code : TSD_EXIT_FAILED;
}

int tsd_usage(const struct tsd_args *args, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (args->cmd->refuse)
        return args->cmd->refuse(text);
    tsd_say("%s; see tsd help %s", text, args->cmd->name);
    return TSD_EXIT_USAGE;
}

int tsd_usage_word(const struct tsd_args *args, const char *word, const char *names)
{
    struct ts_near near;
    ts_near_init(&near, ts_slice_str(word));
    (void)ts_near_list(&near, names);
    if (near.n)
        return tsd_usage(args, "\"%.60s\" is not one of %s; did you mean %s?", word, names, near.best);
    return tsd_usage(args, "\"%.60s\" is not one of %s", word, names);
}

int tsd_print(struct ts_slice text, struct ts_error *err)
{
    if (text.n && fwrite(text.p, 1, text.n, stdout) != text.n)
        return print_failed(err);
    return 0;
}

int tsd_print_end(struct ts_error *err)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return print_failed(err);
    return 0;
}

int tsd_print_all(struct ts_slice text, struct ts_error *err)
{
    TS_TRY(tsd_print(text, err));
    return tsd_print_end(err);
}

int tsd_print_page(struct ts_buf *text)
{
    struct ts_error err = {0};
    int rc = tsd_print_all(ts_buf_get(text), &err);
    ts_buf_release(text);
    return rc < 0 ? tsd_fail(&err) : TSD_EXIT_OK;
}

/* Lines of text, each with blanks in front. */
static void cmd_indent(const char *text, const char *before, struct ts_buf *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        ts_buf_str(out, before);
        ts_buf_append(out, text, n);
        ts_buf_char(out, '\n');
        text += n + (text[n] == '\n');
    }
}

/* A key as an option; its texts live in the arena. */
static struct ts_opt cmd_key_opt(const struct ts_conf_key *key, struct ts_arena *arena)
{
    char *name = ts_arena_strndup(arena, key->name, strlen(key->name));
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    const char *arg = key->type == TS_CONF_CHOICE  ? key->choices
                      : key->type == TS_CONF_BOOL  ? "true|false"
                      : key->type == TS_CONF_INT   ? "N"
                      : key->type == TS_CONF_BYTES ? "BYTES"
                                                   : "TEXT";
    size_t n = strlen(key->help) + strlen(key->def ? key->def : "") + 32;
    char *help = ts_arena_alloc(arena, n);
    snprintf(help, n, "%s Default: %s.", key->help, key->def && *key->def ? key->def : "empty");
    return (struct ts_opt){.name = name, .arg = arg, .help = help};
}

/* Keys of tables as option lines. */
static void cmd_key_lines(const struct ts_conf_key *const *tables, struct ts_buf *out)
{
    struct ts_arena arena;
    size_t n = 0, at = 0;
    ts_arena_init(&arena, 0);
    for (const struct ts_conf_key *const *t = tables; *t; t++)
        for (const struct ts_conf_key *key = *t; key->name; key++)
            n++;
    struct ts_opt *opts = ts_arena_zalloc(&arena, (n + 1) * sizeof(*opts));
    for (const struct ts_conf_key *const *t = tables; *t; t++)
        for (const struct ts_conf_key *key = *t; key->name; key++)
            opts[at++] = cmd_key_opt(key, &arena);
    ts_opt_print_help(opts, out);
    ts_arena_release(&arena);
}

/* The options of a row and --help, as one table; the caller frees it. */
static struct ts_opt *cmd_all_opts(const struct tsd_cmd *cmd)
{
    const struct ts_opt *own = cmd->opts ? cmd->opts : no_opts;
    size_t n = 0;
    while (own[n].name)
        n++;
    struct ts_opt *all = ts_xcalloc(n + 2, sizeof(*all));
    if (n)
        memcpy(all, own, n * sizeof(*all));
    all[n] = help_opts[0];
    return all;
}

void tsd_cmd_each_opt(const struct tsd_cmd *cmd,
                      void (*each)(void *arg, const struct ts_opt *opt, const struct ts_conf_key *key),
                      void *arg)
{
    struct ts_arena arena;
    ts_arena_init(&arena, 0);
    for (const struct ts_opt *o = cmd->opts ? cmd->opts : no_opts; o->name; o++)
        each(arg, o, NULL);
    each(arg, help_opts, NULL);
    for (const struct ts_conf_key *const *t = cmd->tables; t && *t; t++)
        for (const struct ts_conf_key *key = *t; key->name; key++) {
            struct ts_opt opt = cmd_key_opt(key, &arena);
            each(arg, &opt, key);
        }
    ts_arena_release(&arena);
}

void tsd_cmd_page(const struct tsd_cmd *cmd, struct ts_buf *out)
{
    ts_buf_printf(out, "tsd %s - %s\n\nUsage:\n", cmd->name, cmd->summary);
    char before[CMD_NAME_MAX + 8];
    snprintf(before, sizeof(before), "  tsd %s ", cmd->name);
    cmd_indent(*cmd->usage ? cmd->usage : " ", before, out);
    ts_buf_str(out, "\nOptions:\n");
    struct ts_opt *opts = cmd_all_opts(cmd);
    ts_opt_print_help(opts, out);
    ts_free(opts);
    if (cmd->tables) {
        ts_buf_str(out, "\nKeys, as options, as lines of the configuration file (key = value, _ for -) or in "
                        "the environment\n"
                        "(TSD_KEY=value); the option wins over the environment, that over the file:\n");
        cmd_key_lines(cmd->tables, out);
    }
    if (cmd->details)
        ts_buf_printf(out, "\n%s\n", cmd->details);
    ts_buf_str(out, "\nExamples:\n");
    cmd_indent(cmd->examples, "  ", out);
    ts_buf_printf(out, "\nExit codes: %s.\n",
                  cmd->exits ? cmd->exits : "0 fine, 1 failed, 2 wrong usage, 3 damaged data");
}

void tsd_cmd_list(const struct tsd_cmd *table, struct ts_buf *out)
{
    ts_buf_str(out, "tsd - a time series database: stores points and answers queries\n\nUsage:\n  tsd "
                    "COMMAND [options] [words]\n\nCommands:\n");
    for (const struct tsd_cmd *c = table; c->name; c++)
        ts_buf_printf(out, "  %-11s %s\n", c->name, c->summary);
    ts_buf_str(out,
               "\nEach command has a help page: tsd help COMMAND.\n\nExamples:\n  tsd serve --data ./data\n"
               "  tsd query 2026/11/01 2026/11/04 sum web.hits --by day\n\n"
               "Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 damaged data.\n");
}

/* --- finding --- */

const struct tsd_cmd *tsd_cmd_find(const struct tsd_cmd *table, const char *name)
{
    for (const struct tsd_cmd *c = table; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

/* Does a form of the command begin with this word? */
static bool cmd_has_word(const struct tsd_cmd *cmd, struct ts_slice word)
{
    struct ts_slice forms = ts_slice_str(cmd->usage);
    while (forms.n) {
        struct ts_slice form = ts_slice_cut(&forms, '\n');
        if (ts_slice_eq(ts_slice_cut(&form, ' '), word))
            return true;
    }
    return false;
}

const struct tsd_cmd *tsd_cmd_near(const struct tsd_cmd *table, const char *name, bool *out_is_word)
{
    struct ts_near near;
    bool is_word = false;
    if (out_is_word)
        *out_is_word = false;
    for (const struct tsd_cmd *c = table; c->name; c++) {
        ts_near_init(&near, ts_slice_str(name));
        if (c->also && ts_near_list(&near, c->also))
            return c;
    }
    for (const struct tsd_cmd *c = table; c->name; c++) {
        is_word = cmd_has_word(c, ts_slice_str(name));
        if (is_word && out_is_word)
            *out_is_word = true;
        if (is_word)
            return c;
    }
    ts_near_init(&near, ts_slice_str(name));
    for (const struct tsd_cmd *c = table; c->name; c++)
        ts_near_see(&near, ts_slice_str(c->name));
    return near.n ? tsd_cmd_find(table, near.best) : NULL;
}

const char *tsd_args_get(const struct tsd_args *args, const char *name)
{
    for (unsigned i = args->n_uses; i-- > 0;)
        if (args->uses[i].name && strcmp(args->uses[i].name, name) == 0)
            return args->uses[i].value ? args->uses[i].value : "";
    return NULL;
}

bool tsd_args_has(const struct tsd_args *args, const char *name)
{
    return tsd_args_get(args, name) != NULL;
}

bool tsd_args_choice(const struct tsd_args *args, const char *name, const char *names, int *out_code)
{
    const char *value = tsd_args_get(args, name);
    struct ts_slice rest = ts_slice_str(names);
    struct ts_near near;
    if (!value)
        return false;
    ts_near_init(&near, ts_slice_str(value));
    while (rest.n) {
        struct ts_slice choice = ts_slice_cut(&rest, '|');
        if (ts_slice_is(choice, value))
            return false;
        ts_near_see(&near, choice);
    }
    if (near.n)
        *out_code =
            tsd_usage(args, "--%s is %s, not \"%.60s\"; did you mean %s?", name, names, value, near.best);
    else
        *out_code = tsd_usage(args, "--%s is %s, not \"%.60s\"", name, names, value);
    return true;
}

/* --- running --- */

static struct ts_conf *cmd_conf(const struct tsd_cmd *cmd)
{
    unsigned n = 0;
    if (!cmd->tables)
        return NULL;
    while (n < CMD_MAX_TABLES && cmd->tables[n])
        n++;
    struct ts_conf *conf = ts_conf_new(cmd->tables, n);
    ts_conf_pass_over(conf, cmd->other_tables);
    return conf;
}

/* The value of an option that is needed before the others are read; NULL: it is not given, or not one of the command. */
static const char *cmd_early(const struct tsd_cmd *cmd, int argc, char *const *argv, const char *name)
{
    const char *value = NULL;
    size_t n = strlen(name);
    const struct ts_opt *opt = cmd->opts;
    while (opt && opt->name && strcmp(opt->name, name) != 0)
        opt++;
    for (int i = 0; opt && opt->name && i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, n) != 0)
            continue;
        if (argv[i][n + 2] == '=')
            value = argv[i] + n + 3;
        else if (!argv[i][n + 2] && i + 1 < argc)
            value = argv[i + 1];
    }
    return value;
}

/* OpenTSDB's file first, then the one named by --config, then the environment; options come last and win. */
static int cmd_load_conf(const struct tsd_args *args, int argc, char *const *argv, struct ts_error *err)
{
    const char *opentsdb = cmd_early(args->cmd, argc, argv, "opentsdb-config");
    const char *path = cmd_early(args->cmd, argc, argv, "config");
    if ((opentsdb && !*opentsdb) || (path && !*path))
        return ts_error_set(err, TS_EINVAL, "--%s is empty", path && !*path ? "config" : "opentsdb-config");
    if (opentsdb)
        TS_TRY(tsd_opentsdb_conf(args->conf, opentsdb, err));
    if (path)
        TS_TRY(ts_conf_load_file(args->conf, path, err));
    return ts_conf_load_env(args->conf, err);
}

static int cmd_help_page(const struct tsd_cmd *cmd)
{
    struct ts_buf page;
    ts_buf_init(&page, 0);
    tsd_cmd_page(cmd, &page);
    return tsd_term_page(&page);
}

/* An option that names something and has no value, as from an empty variable of a script: it would mean everything, or the default; NULL: there is none. */
static const char *cmd_empty(const struct tsd_args *args)
{
    static const char *const names[] = {"config", "opentsdb-config", "data", "host", "port", "metric", "from",
                                        "to",     "start",           "end"};
    for (unsigned i = 0; i < args->n_uses; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names && args->uses[i].name; k++)
            if (!strcmp(args->uses[i].name, names[k]) && args->uses[i].value && !*args->uses[i].value)
                return names[k];
    return NULL;
}

/* The --port of a daemon must be one. Keys are checked by their table. */
static int cmd_check_port(const struct tsd_args *args, struct ts_error *err)
{
    const char *port = args->cmd->tables ? NULL : tsd_args_get(args, "port");
    return port ? tsd_client_port_check(port, err) : 0;
}

static int cmd_run(struct tsd_args *args, int argc, char *const *argv)
{
    struct ts_error err = {0};
    if (args->conf && cmd_load_conf(args, argc, argv, &err) < 0) {
        tsd_fail(&err);
        return err.code == TS_EINVAL || err.code == TS_EPARSE ? TSD_EXIT_USAGE : TSD_EXIT_FAILED;
    }
    struct ts_opt *opts = cmd_all_opts(args->cmd);
    int rc = ts_opt_parse(argc, argv, opts, args->conf, args->uses, &args->n_uses, &err);
    int code;
    if (rc < 0) {
        code = tsd_usage(args, "%s", err.text);
    } else if (tsd_args_has(args, "help")) {
        code = cmd_help_page(args->cmd);
    } else if (cmd_empty(args)) {
        code = tsd_usage(args, "--%s is empty", cmd_empty(args));
    } else if (cmd_check_port(args, &err) < 0) {
        code = tsd_usage(args, "%s", err.text);
    } else {
        for (unsigned i = 0; i < args->n_uses; i++)
            if (!args->uses[i].name)
                args->words[args->n_words++] = args->uses[i].value;
        code = args->cmd->run(args);
    }
    ts_free(opts);
    return code;
}

int tsd_cmd_main(const struct tsd_cmd *table, int argc, char *const *argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        struct ts_buf text;
        ts_buf_init(&text, 0);
        tsd_cmd_list(table, &text);
        fwrite(text.p, 1, text.n, stderr);
        ts_buf_release(&text);
        return TSD_EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    else if (strcmp(name, "--version") == 0)
        name = "version";
    const struct tsd_cmd *cmd = tsd_cmd_find(table, name);
    if (!cmd) {
        bool is_word;
        const struct tsd_cmd *near = tsd_cmd_near(table, name, &is_word);
        if (near)
            tsd_say("there is no command \"%s\"; did you mean tsd %s%s%s?", name, near->name,
                    is_word ? " " : "", is_word ? name : "");
        else
            tsd_say("there is no command \"%s\"; tsd help lists them", name);
        return TSD_EXIT_USAGE;
    }
    struct tsd_args args = {.cmd = cmd, .table = table};
    args.uses = ts_xcalloc((size_t)argc, sizeof(*args.uses));
    args.words = ts_xcalloc((size_t)argc, sizeof(*args.words));
    args.conf = cmd_conf(cmd);
    int code = cmd_run(&args, argc - 2, argv + 2);
    ts_conf_free(args.conf);
    ts_free(args.uses);
    ts_free(args.words);
    return code;
}
