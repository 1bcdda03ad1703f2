/*
 * delete.c - tsd delete: deletes the points that a query matches between two times.
 *
 * Threads    see selection_args.h
 */
#include "tsd/commands/selection_args.h"

const struct ts_opt tsd_delete_opts[] = {
    {.name = "dry-run", .letter = 'n', .help = "Show what would be deleted, and delete nothing."},
    {.name = "kinds",
     .arg = "KINDS",
     .help = "points, rollups, histograms, separated by commas, or all. Default points."},
    {.name = "tz", .arg = "ZONE", .help = "Zone of dates, for example Europe/Berlin. Default UTC."},
    TSD_ANSWER_OPTS,
    {.name = NULL},
};

int tsd_delete_cmd_run(const struct tsd_args *args)
{
    struct tsd_choice c;
    struct tsd_answer a;
    struct ts_error err = {0};
    bool dry = tsd_args_has(args, "dry-run");
    int code = tsd_choice_parse(&c, args);
    if (code == TSD_EXIT_OK)
        code = tsd_choice_need_end(&c, args);
    if (code == TSD_EXIT_OK) {
        int rc = tsd_answer_open(&a, args, dry ? TSD_LOCAL_READ : TSD_LOCAL_WRITE, &err);
        if (rc == 0)
            rc = tsd_choice_delete(&c, &a, dry, NULL, &err);
        if (rc == 0)
            rc = tsd_answer_end(&a, &err);
        code = tsd_answer_close(&a, rc, &err);
    }
    tsd_choice_release(&c);
    return code;
}
