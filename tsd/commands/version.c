/*
 * version.c - tsd version: the two lines that the line protocol's version answers too.
 *
 * Threads    the main thread
 */
#include "tsd/commands/cmd.h"

#include "tsd/daemon/version.h"

int tsd_version_run(const struct tsd_args *args)
{
    if (args->n_words)
        return tsd_usage(args, "version takes no words");
    struct ts_buf text;
    ts_buf_init(&text, 0);
    tsd_version_text(false, &text);
    return tsd_print_page(&text);
}
