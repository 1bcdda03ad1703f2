/*
 * version.c - tsd version: the two lines that the line protocol's version answers too.
 *
 * Threads    the main thread
 */
#include "tsd/cmds/cmd.h"

#include "tsd/line/line.h"

int tsd_version_run(const struct tsd_args *args)
{
    if (args->n_words)
        return tsd_usage(args, "version takes no words");
    struct ts_buf text;
    struct ts_error err = {0};
    ts_buf_init(&text, 0);
    tsd_version_text(false, &text);
    int rc = tsd_print(ts_buf_get(&text), &err);
    if (rc == 0)
        rc = tsd_print_end(&err);
    ts_buf_release(&text);
    return rc < 0 ? tsd_fail(&err) : TSD_EXIT_OK;
}
