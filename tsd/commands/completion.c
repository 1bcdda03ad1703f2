/*
 * completion.c - tsd completion: scripts for shells, and the candidates that they show.
 *
 * A script passes the words of the line to "tsd completion words", so that it never needs to change: commands, options and values come
 * from the table of commands, names of metrics and tags from the daemon. Any failure means no candidates.
 *
 * Threads    the main thread
 */
#include "base/cut.h"
#include "base/mem.h"
#include "tsd/commands/client.h"
#include "tsd/commands/cmd.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define COMPLETION_TIMEOUT_MS 300 /* of one request */
#define COMPLETION_MAX_NAMES  50
#define COMPLETION_FILES      ":files\n" /* the shell shall complete names of files */

static const char bash_script[] =
    "# completion of tsd for bash; printed by: tsd completion bash\n"
    "_tsd() {\n"
    "    local line=\"${COMP_LINE:0:COMP_POINT}\" current before found\n"
    "    local -a words\n"
    "    read -r -a words <<<\"$line\"\n"
    "    [[ $line == *[[:blank:]] ]] && words+=(\"\")\n"
    "    current=${words[-1]}\n"
    "    before=${current%\"${current##*[=:]}\"} # bash completes what stands behind the last = or :\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r found; do\n"
    "        if [[ $found == :files ]]; then\n"
    "            compopt -o default\n"
    "            return\n"
    "        fi\n"
    "        found=${found%%$'\\t'*}\n"
    "        [[ $found == *= ]] && compopt -o nospace\n"
    "        COMPREPLY+=(\"${found#\"$before\"}\")\n"
    "    done < <(\"${words[0]}\" completion words -- \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _tsd tsd\n";
static const char zsh_script[] =
    "#compdef tsd\n"
    "# completion of tsd for zsh; printed by: tsd completion zsh\n"
    "_tsd() {\n"
    "    local -a found\n"
    "    found=(\"${(@f)$(\"${words[1]}\" completion words -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    if [[ \"$found[1]\" == :files ]]; then\n"
    "        _files\n"
    "        return\n"
    "    fi\n"
    "    found=(\"${(@)found%%$'\\t'*}\")\n"
    "    compadd -- \"${(@)found:#*=}\"\n"
    "    compadd -S '' -- \"${(@M)found:#*=}\"\n"
    "}\n"
    "if [[ \"$funcstack[1]\" == _tsd ]]; then _tsd \"$@\"; else compdef _tsd tsd; fi\n";
static const char fish_script[] =
    "# completion of tsd for fish; printed by: tsd completion fish\n"
    "function __tsd_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l found ($words[1] completion words -- $words[2..-1] 2>/dev/null)\n"
    "    if test \"$found[1]\" = :files\n"
    "        __fish_complete_path (commandline -ct)\n"
    "        return\n"
    "    end\n"
    "    printf '%s\\n' $found\n"
    "end\n"
    "complete -c tsd -f -a '(__tsd_complete)'\n";

/* One request for candidates. */
struct completion {
    const struct tsd_args *args; /* of this command */
    const struct tsd_cmd *cmd;   /* that the words name */
    const char **words;          /* behind the command */
    size_t n;                    /* of them; the last one is incomplete */
    struct tsd_args where;       /* --host and --port among the words */
    const char *wanted;          /* option or name that is looked for */
    const char *metric;          /* whose tags are completed; NULL: not known */
    struct ts_opt found;         /* that option; name NULL: there is none */
    struct ts_buf *out;          /* candidates */
};

static const char *completion_current(const struct completion *c)
{
    return c->words[c->n - 1];
}

/* Is the candidate there already? */
static bool completion_offered(const struct completion *c, struct ts_slice name)
{
    struct ts_slice lines = ts_buf_get(c->out);
    while (lines.n) {
        struct ts_slice line = ts_slice_cut(&lines, '\n');
        if (ts_slice_eq(ts_slice_cut(&line, '\t'), name))
            return true;
    }
    return false;
}

/* Append a candidate if it begins with the current word. */
static void completion_offer(struct completion *c, struct ts_slice name, const char *help)
{
    const char *current = completion_current(c);
    size_t n = strlen(current);
    if (name.n < n || memcmp(name.p, current, n) != 0 || completion_offered(c, name))
        return;
    (void)ts_buf_slice(c->out, name);
    if (help)
        (void)ts_buf_printf(c->out, "\t%s", help);
    (void)ts_buf_char(c->out, '\n');
}

static void completion_commands(struct completion *c)
{
    for (const struct tsd_cmd *cmd = c->args->table; cmd->name; cmd++)
        completion_offer(c, ts_slice_str(cmd->name), cmd->summary);
}

/* --- options --- */

static void completion_option(void *arg, const struct ts_opt *opt, const struct ts_conf_key *key)
{
    char name[80];
    (void)key;
    (void)snprintf(name, sizeof(name), "--%s", opt->name);
    completion_offer(arg, ts_slice_str(name), opt->help);
}

/* Is it the option that is looked for? Its arg is borrowed from the tables. */
static void completion_match(void *arg, const struct ts_opt *opt, const struct ts_conf_key *key)
{
    struct completion *c = arg;
    const char *w = c->wanted;
    bool is = w[0] == '-' &&
              (w[1] == '-' ? strcmp(w + 2, opt->name) == 0 : opt->letter && w[1] == opt->letter && !w[2]);
    (void)key;
    if (is)
        c->found = (struct ts_opt){.name = "", .arg = opt->arg};
}

/* The option that a word names; false: it names none, or one without a value. */
static bool completion_takes_value(struct completion *c, const char *word)
{
    c->wanted = word;
    c->found = (struct ts_opt){.name = NULL};
    tsd_cmd_each_opt(c->cmd, completion_match, c);
    return c->found.name && c->found.arg;
}

/* Is the text only lower-case words with | between? */
static bool completion_is_choices(const char *text)
{
    for (const char *p = text; *p; p++)
        if (!(islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '|' || *p == '-'))
            return false;
    return strchr(text, '|') != NULL;
}

static void completion_choices(struct completion *c, struct ts_slice choices)
{
    while (choices.n)
        completion_offer(c, ts_slice_cut(&choices, '|'), NULL);
}

/* Values of an option: choices, or files. */
static void completion_values(struct completion *c)
{
    if (completion_is_choices(c->found.arg))
        completion_choices(c, ts_slice_str(c->found.arg));
    else if (strstr(c->found.arg, "FILE") || strstr(c->found.arg, "DIR") || strcmp(c->found.arg, "TEXT") == 0)
        (void)ts_buf_str(c->out, COMPLETION_FILES);
}

/* --- names of the daemon --- */

/* Call each for names that begin with q. */
static void completion_names(struct completion *c, const char *kind, const char *q, const char *tagk,
                             void (*each)(struct completion *c, const char *name, const char *tagk))
{
    struct ts_buf path;
    struct ts_error err = {0};
    json_t *root = NULL, *name;
    size_t i;
    ts_buf_init(&path, 0);
    (void)ts_buf_printf(&path, "/api/tsd/names?kind=%s&max=%d&q=", kind, COMPLETION_MAX_NAMES);
    (void)ts_buf_uri(&path, ts_slice_str(q));
    if (c->metric) {
        (void)ts_buf_str(&path, "&metric=");
        (void)ts_buf_uri(&path, ts_slice_str(c->metric));
    }
    if (c->metric && tagk) {
        (void)ts_buf_str(&path, "&tagk=");
        (void)ts_buf_uri(&path, ts_slice_str(tagk));
    }
    (void)ts_buf_char(&path, 0);
    if (tsd_client_json(&c->where, path.p, COMPLETION_TIMEOUT_MS, &root, &err) == TS_ENOTFOUND) {
        ts_buf_clear(&path);
        (void)ts_buf_printf(&path,
                            "/api/suggest?type=%s&max=%d&q=", strcmp(kind, "metric") == 0 ? "metrics" : kind,
                            COMPLETION_MAX_NAMES);
        (void)ts_buf_uri(&path, ts_slice_str(q));
        (void)ts_buf_char(&path, 0);
        (void)tsd_client_json(&c->where, path.p, COMPLETION_TIMEOUT_MS, &root, &err);
    }
    json_t *names = json_is_array(root) ? root : json_object_get(root, "names");
    json_array_foreach(names, i, name) if (json_is_string(name)) each(c, json_string_value(name), tagk);
    json_decref(root);
    ts_buf_release(&path);
}

static void completion_metric(struct completion *c, const char *name, const char *tagk)
{
    (void)tagk;
    completion_offer(c, ts_slice_str(name), NULL);
}

static void completion_tagk(struct completion *c, const char *name, const char *tagk)
{
    char text[300];
    (void)tagk;
    (void)snprintf(text, sizeof(text), "%s=", name);
    completion_offer(c, ts_slice_str(text), NULL);
}

static void completion_tagv(struct completion *c, const char *name, const char *tagk)
{
    char text[600];
    (void)snprintf(text, sizeof(text), "%s=%s", tagk, name);
    completion_offer(c, ts_slice_str(text), NULL);
}

static void completion_same(struct completion *c, const char *name, const char *tagk)
{
    (void)tagk;
    if (strcmp(name, c->wanted) == 0)
        c->found.name = "";
}

/* Does one of the last words name a metric? */
static bool completion_has_metric(struct completion *c)
{
    unsigned tried = 0;
    c->found.name = NULL;
    for (size_t i = c->n - 1; i-- > 0 && tried < 3 && !c->found.name;) {
        c->wanted = c->words[i];
        if (c->wanted[0] == '-' || strchr(c->wanted, '=') || !*c->wanted)
            continue;
        completion_names(c, "metric", c->wanted, NULL, completion_same);
        tried++;
    }
    c->metric = c->found.name ? c->wanted : NULL;
    return c->metric != NULL;
}

/* A metric, or behind one a tag. */
static void completion_series(struct completion *c)
{
    const char *current = completion_current(c), *eq = strchr(current, '=');
    char tagk[300];
    if (eq && eq - current < (long)sizeof(tagk)) {
        memcpy(tagk, current, (size_t)(eq - current));
        tagk[eq - current] = 0;
        (void)completion_has_metric(c);
        completion_names(c, "tagv", eq + 1, tagk, completion_tagv);
    } else if (completion_has_metric(c)) {
        completion_names(c, "tagk", current, NULL, completion_tagk);
    } else {
        completion_names(c, "metric", current, NULL, completion_metric);
    }
}

/* --- words --- */

/* The words that the forms of a command begin with: literal ones, in lower case. */
static void completion_first_words(struct completion *c)
{
    struct ts_slice forms = ts_slice_str(c->cmd->usage);
    while (forms.n) {
        struct ts_slice form = ts_slice_cut(&forms, '\n'), word = ts_slice_cut(&form, ' ');
        bool literal = word.n > 0;
        for (size_t i = 0; i < word.n; i++)
            literal &= islower((unsigned char)word.p[i]) || word.p[i] == '|' || (word.p[i] == '-' && i);
        if (literal)
            completion_choices(c, word);
    }
}

static void completion_line(struct completion *c)
{
    const char *before = c->n > 1 ? c->words[c->n - 2] : NULL;
    if (before && completion_takes_value(c, before)) {
        completion_values(c);
    } else if (completion_current(c)[0] == '-') {
        tsd_cmd_each_opt(c->cmd, completion_option, c);
    } else if (strcmp(c->cmd->name, "help") == 0) {
        completion_commands(c);
    } else {
        if (c->n == 1)
            completion_first_words(c);
        if (strstr(c->cmd->usage, "METRIC") || strstr(c->cmd->usage, "PATTERN"))
            completion_series(c);
        else if (strstr(c->cmd->usage, "FILE..."))
            (void)ts_buf_str(c->out, COMPLETION_FILES);
    }
}

/* words: behind "tsd". */
static void completion_candidates(const struct tsd_args *args, const char **words, size_t n,
                                  struct ts_buf *out)
{
    struct completion c = {.args = args, .words = words, .n = n, .out = out};
    if (n == 0)
        return;
    if (n == 1) {
        completion_commands(&c);
        return;
    }
    c.cmd = tsd_cmd_find(args->table, words[0]);
    if (!c.cmd)
        return;
    c.words = words + 1;
    c.n = n - 1;
    c.where.uses = ts_xcalloc(n, sizeof(*c.where.uses));
    for (size_t i = 0; i + 2 < c.n; i++) {
        const char *option = c.words[i];
        if (strcmp(option, "--host") == 0)
            c.where.uses[c.where.n_uses++] = (struct ts_opt_use){"host", c.words[i + 1]};
        else if (strcmp(option, "--port") == 0 || strcmp(option, "-p") == 0)
            c.where.uses[c.where.n_uses++] = (struct ts_opt_use){"port", c.words[i + 1]};
    }
    completion_line(&c);
    ts_free(c.where.uses);
}

int tsd_completion_run(const struct tsd_args *args)
{
    const char *what = args->n_words ? args->words[0] : "";
    struct ts_buf out;
    ts_buf_init(&out, 0);
    if (strcmp(what, "words") == 0) {
        completion_candidates(args, args->words + 1, args->n_words - 1, &out);
        return tsd_print_page(&out);
    }
    if (args->n_words != 1)
        return tsd_usage(args, "name one shell: bash, zsh or fish");
    const char *script = strcmp(what, "bash") == 0   ? bash_script
                         : strcmp(what, "zsh") == 0  ? zsh_script
                         : strcmp(what, "fish") == 0 ? fish_script
                                                     : NULL;
    if (!script)
        return tsd_usage_word(args, what, "bash zsh fish");
    (void)ts_buf_str(&out, script);
    return tsd_print_page(&out);
}
