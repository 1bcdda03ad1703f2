/*
 * help.c - tsd help [COMMAND]: pages printed from the table of commands.
 *
 * Threads    the main thread
 * Not here   the form of a page (cmd.c), its texts (main.c)
 */
#include "tsd/commands/cmd.h"

int tsd_help_run(const struct tsd_args *args)
{
    if (args->n_words > 1)
        return tsd_usage(args, "one command at a time");
    const struct tsd_cmd *cmd = args->n_words ? tsd_cmd_find(args->table, args->words[0]) : NULL;
    if (args->n_words && !cmd) {
        const struct tsd_cmd *near = tsd_cmd_near(args->table, args->words[0], NULL);
        if (near)
            tsd_say("there is no command \"%s\"; did you mean tsd help %s?", args->words[0], near->name);
        else
            tsd_say("there is no command \"%s\"; tsd help lists them", args->words[0]);
        return TSD_EXIT_USAGE;
    }
    struct ts_buf text;
    ts_buf_init(&text, 0);
    if (cmd)
        tsd_cmd_page(cmd, &text);
    else
        tsd_cmd_list(args->table, &text);
    return tsd_print_page(&text);
}
