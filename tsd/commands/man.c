/*
 * man.c - manual pages from the same tables as the help pages: tsd(1), tsd-COMMAND(1), tsd.conf(5).
 *
 * Threads    the main thread
 * Source     man(7): the macros of manual pages
 * Not here   help pages (cmd.c), when pages are written (help.c)
 */
#include "tsd/commands/man.h"

#include "base/cut.h"
#include "tsd/daemon/version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Append a text with what roff would interpret escaped. */
static void man_text(struct ts_slice text, struct ts_buf *out)
{
    bool begins = true; /* of a line */
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (begins && (c == '.' || c == '\''))
            (void)ts_buf_str(out, "\\&");
        if (c == '\\')
            (void)ts_buf_str(out, "\\e");
        else if (c == '-')
            (void)ts_buf_str(out, "\\-");
        else if (c == '\'')
            (void)ts_buf_str(out, "\\(aq");
        else
            (void)ts_buf_char(out, c);
        begins = c == '\n';
    }
}

static void man_str(const char *text, struct ts_buf *out)
{
    man_text(ts_slice_str(text), out);
}

/* Lines that stay as they are, each with a text in front. */
static void man_lines(const char *before, const char *lines, struct ts_buf *out)
{
    struct ts_slice rest = ts_slice_str(lines);
    (void)ts_buf_str(out, ".nf\n");
    do {
        struct ts_slice line = ts_slice_cut(&rest, '\n');
        bool empty = !line.n && !*before;
        if (!empty && !*before && (line.p[0] == '.' || line.p[0] == '\''))
            (void)ts_buf_str(out, "\\&");
        man_str(before, out);
        man_text(line, out);
        (void)ts_buf_str(out, empty ? "\\&\n" : "\n");
    } while (rest.n);
    (void)ts_buf_str(out, ".fi\n");
}

static void man_head(const char *name, const char *section, const char *summary, struct ts_buf *out)
{
    (void)ts_buf_str(out, ".\\\" Printed by the program itself: tsd help --man\n.TH ");
    for (const char *p = name; *p; p++)
        (void)ts_buf_char(out, (char)toupper((unsigned char)*p));
    (void)ts_buf_printf(out, " %s \"\" \"tsd %s\" \"tsd\"\n.SH NAME\n", section, TSD_VERSION);
    man_str(name, out);
    (void)ts_buf_str(out, " \\- ");
    size_t n = strlen(summary);
    man_text((struct ts_slice){summary, n && summary[n - 1] == '.' ? n - 1 : n}, out);
    (void)ts_buf_char(out, '\n');
}

static void man_option(void *arg, const struct ts_opt *opt, const struct ts_conf_key *key)
{
    struct ts_buf *out = arg;
    if (key)
        return;
    (void)ts_buf_str(out, ".TP\n");
    if (opt->letter)
        (void)ts_buf_printf(out, "\\fB\\-%c\\fR, ", opt->letter);
    (void)ts_buf_str(out, "\\fB\\-\\-");
    man_str(opt->name, out);
    (void)ts_buf_str(out, "\\fR");
    if (opt->arg) {
        (void)ts_buf_str(out, " \\fI");
        man_str(opt->arg, out);
        (void)ts_buf_str(out, "\\fR");
    }
    (void)ts_buf_char(out, '\n');
    man_str(opt->help, out);
    (void)ts_buf_char(out, '\n');
}

static void man_key_option(void *arg, const struct ts_opt *opt, const struct ts_conf_key *key)
{
    if (key)
        man_option(arg, opt, NULL);
}

static void man_key(const struct ts_conf_key *key, struct ts_buf *out)
{
    static const char *const types[] = {[TS_CONF_STR] = "a text",
                                        [TS_CONF_BOOL] = "true or false",
                                        [TS_CONF_INT] = "a number",
                                        [TS_CONF_BYTES] = "a number of bytes (64M, 2G)",
                                        [TS_CONF_CHOICE] = NULL};
    (void)ts_buf_str(out, ".TP\n\\fB");
    man_str(key->name, out);
    (void)ts_buf_str(out, "\\fR = \\fI");
    man_str(key->def && *key->def ? key->def : "(empty)", out);
    (void)ts_buf_str(out, "\\fR\n");
    man_str(key->help, out);
    (void)ts_buf_str(out, "\nThe value is ");
    if (key->type == TS_CONF_CHOICE) {
        (void)ts_buf_str(out, "one of ");
        man_str(key->choices, out);
    } else {
        (void)ts_buf_str(out, types[key->type]);
    }
    if (key->min || key->max) {
        char range[80];
        (void)snprintf(range, sizeof(range), " from %lld to %lld", (long long)key->min, (long long)key->max);
        man_str(range, out);
    }
    (void)ts_buf_str(out, ".\n");
    if (key->opentsdb) {
        (void)ts_buf_str(out, "In OpenTSDB: ");
        man_str(key->opentsdb, out);
        (void)ts_buf_str(out, ".\n");
    }
}

void tsd_man_command(const struct tsd_cmd *cmd, struct ts_buf *out)
{
    char name[64], before[64];
    (void)snprintf(name, sizeof(name), "tsd-%s", cmd->name);
    (void)snprintf(before, sizeof(before), "tsd %s ", cmd->name);
    man_head(name, "1", cmd->summary, out);
    (void)ts_buf_str(out, ".SH SYNOPSIS\n");
    man_lines(before, cmd->usage, out);
    if (cmd->details) {
        (void)ts_buf_str(out, ".SH DESCRIPTION\n");
        man_lines("", cmd->details, out);
    }
    (void)ts_buf_str(out, ".SH OPTIONS\n");
    tsd_cmd_each_opt(cmd, man_option, out);
    if (cmd->tables) {
        (void)ts_buf_str(out,
                         ".SH KEYS AS OPTIONS\nAn option wins over the environment (TSD_KEY), that over the "
                         "file; see\n.BR tsd.conf (5).\n");
        tsd_cmd_each_opt(cmd, man_key_option, out);
    }
    (void)ts_buf_str(out, ".SH EXIT STATUS\n");
    man_str(cmd->exits ? cmd->exits : "0 fine, 1 failed, 2 wrong usage, 3 damaged data", out);
    (void)ts_buf_str(out, ".\n.SH EXAMPLES\n");
    man_lines("", cmd->examples, out);
    (void)ts_buf_str(out, ".SH SEE ALSO\n.BR tsd (1),\n.BR tsd.conf (5)\n");
}

void tsd_man_program(const struct tsd_cmd *table, struct ts_buf *out)
{
    man_head("tsd", "1", "a time series database: stores points and answers queries", out);
    (void)ts_buf_str(out, ".SH SYNOPSIS\n.nf\n\\fBtsd\\fR \\fICOMMAND\\fR [\\fIoptions\\fR] "
                          "[\\fIwords\\fR]\n.fi\n.SH COMMANDS\n");
    for (const struct tsd_cmd *c = table; c->name; c++) {
        (void)ts_buf_str(out, ".TP\n.BR tsd\\-");
        man_str(c->name, out);
        (void)ts_buf_str(out, " (1)\n");
        man_str(c->summary, out);
        (void)ts_buf_char(out, '\n');
    }
    (void)ts_buf_str(
        out, ".SH ENVIRONMENT\n.TP\n.B TSD_PORT\nThe daemon\\(aqs port for all commands.\n.TP\n.B "
             "TSD_KEY\nThe value of the key of that name, in capitals; see\n.BR tsd.conf (5).\n"
             ".TP\n.B NO_COLOR\nIf it is set and not empty, nothing is printed in colours.\n.TP\n.B "
             "PAGER\nThe program that shows long help pages on a terminal; less if it is not set, none if "
             "it is empty.\n.SH EXIT STATUS\n0 fine, 1 failed, 2 wrong usage, 3 damaged data.\n"
             ".SH SEE ALSO\n.BR tsd.conf (5)\n");
}

void tsd_man_conf(const struct tsd_cmd *serve, struct ts_buf *out)
{
    man_head("tsd.conf", "5", "configuration of tsd", out);
    (void)ts_buf_str(
        out, ".SH DESCRIPTION\nLines \\(dqkey = value\\(dq; a line that begins with # is a comment. Each key "
             "is also an option (with \\- for _) and a variable of the environment (TSD_KEY).\n"
             "The option wins over the environment, that over the file. Commands read the file that "
             "\\-\\-config names.\n.SH KEYS\nEach with its default.\n");
    for (const struct ts_conf_key *const *t = serve->tables; *t; t++)
        for (const struct ts_conf_key *key = *t; key->name; key++)
            man_key(key, out);
    (void)ts_buf_str(out, ".SH SEE ALSO\n.BR tsd (1),\n.BR tsd\\-serve (1),\n.BR tsd\\-collect (1)\n");
}
