/*
 * help.c - tsd help [COMMAND]: pages printed from the table of commands, also as manual pages.
 *
 * Threads    the main thread
 * Not here   the form of a page (cmd.c, man.c), its texts (main.c)
 */
#include "tsd/commands/cmd.h"

#include "tsd/commands/man.h"
#include "tsd/commands/terminal.h"

#include <string.h>

const struct ts_opt tsd_help_opts[] = {
    {.name = "man",
     .help =
         "Print the page as source of a manual page. COMMAND may be tsd.conf too; without one it is tsd(1)."},
    {.name = NULL},
};

/* The manual page of a command, of the program or of its configuration. */
static void help_man(const struct tsd_args *args, const struct tsd_cmd *cmd, bool conf, struct ts_buf *out)
{
    if (conf)
        tsd_man_conf(tsd_cmd_find(args->table, "serve"), out);
    else if (cmd)
        tsd_man_command(cmd, out);
    else
        tsd_man_program(args->table, out);
}

int tsd_help_run(const struct tsd_args *args)
{
    bool man = tsd_args_has(args, "man");
    if (args->n_words > 1)
        return tsd_usage(args, "one command at a time");
    bool conf = man && args->n_words && strcmp(args->words[0], "tsd.conf") == 0;
    const struct tsd_cmd *cmd = args->n_words ? tsd_cmd_find(args->table, args->words[0]) : NULL;
    if (args->n_words && !cmd && !conf) {
        const struct tsd_cmd *near = tsd_cmd_near(args->table, args->words[0], NULL);
        if (near)
            tsd_say("there is no command \"%s\"; did you mean tsd help %s?", args->words[0], near->name);
        else
            tsd_say("there is no command \"%s\"; tsd help lists them", args->words[0]);
        return TSD_EXIT_USAGE;
    }
    struct ts_buf text;
    ts_buf_init(&text, 0);
    if (man)
        help_man(args, cmd, conf, &text);
    else if (cmd)
        tsd_cmd_page(cmd, &text);
    else
        tsd_cmd_list(args->table, &text);
    return man ? tsd_print_page(&text) : tsd_term_page(&text);
}
