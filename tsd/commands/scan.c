/*
 * scan.c - tsd scan: prints rows of series as OpenTSDB's scan does, or as lines of import, and deletes them
 * on request.
 *
 * Threads    see selection_args.h
 * Not here   the form of rows (tsd/format/scan.c)
 */
#include "tsd/commands/selection_args.h"
#include "tsd/format/scan.h"

#include <string.h>

const struct ts_opt tsd_scan_opts[] = {
    {.name = "import", .help = "Print lines for tsd import instead of rows."},
    {.name = "delete", .help = "Print lines as --import does, then delete these points."},
    {.name = "tz", .arg = "ZONE", .help = "Zone of dates, for example Europe/Berlin. Default UTC."},
    TSD_ANSWER_OPTS,
    {.name = NULL},
};

/* One scan. */
struct scan_cmd {
    struct tsd_choice choice; /* what */
    struct tsd_answer answer; /* where */
    bool import;              /* lines */
};

static int scan_local(void *arg, struct ts_sink *sink, struct ts_error *err)
{
    struct scan_cmd *s = arg;
    return tsd_scan_run(s->answer.store, &s->choice.spec, s->import, NULL, sink, err);
}

static int scan_remote(struct scan_cmd *s, struct ts_error *err)
{
    struct ts_buf path;
    ts_buf_init(&path, 0);
    ts_buf_str(&path, "/api/scan?");
    ts_buf_slice(&path, ts_buf_get(&s->choice.uri));
    ts_buf_str(&path, s->import ? "&import" : "");
    int rc = tsd_answer_remote(&s->answer, "GET", ts_buf_get(&path), NULL, err);
    ts_buf_release(&path);
    return rc;
}

/* The summary goes beside the lines, which may be on their way to a file. */
static int scan_delete(struct scan_cmd *s, struct ts_error *err)
{
    struct ts_buf summary;
    ts_buf_init(&summary, 0);
    TS_TRY(tsd_answer_end(&s->answer, err)); /* what was not written to its end is not deleted */
    int rc = tsd_choice_delete(&s->choice, &s->answer, false, &summary, err);
    for (size_t at = 0; rc == 0 && at < summary.n;) {
        const char *nl = memchr(summary.p + at, '\n', summary.n - at);
        size_t n = nl ? (size_t)(nl - summary.p) - at : summary.n - at;
        tsd_say("%.*s", (int)n, summary.p + at);
        at += n + 1;
    }
    ts_buf_release(&summary);
    return rc;
}

int tsd_scan_cmd_run(const struct tsd_args *args)
{
    bool del = tsd_args_has(args, "delete");
    struct scan_cmd s = {.import = del || tsd_args_has(args, "import")};
    struct ts_error err = {0};
    int code = tsd_choice_parse(&s.choice, args);
    if (code == TSD_EXIT_OK && del)
        code = tsd_choice_need_end(&s.choice, args);
    if (code == TSD_EXIT_OK) {
        int rc = tsd_answer_open(&s.answer, args, del ? TSD_LOCAL_WRITE : TSD_LOCAL_READ, &err);
        if (rc == 0)
            rc = s.answer.store ? tsd_answer_local(&s.answer, scan_local, &s, NULL, &err)
                                : scan_remote(&s, &err);
        if (rc == 0 && del)
            rc = scan_delete(&s, &err);
        if (rc == 0)
            rc = tsd_answer_end(&s.answer, &err);
        code = tsd_answer_close(&s.answer, rc, &err);
    }
    tsd_choice_release(&s.choice);
    return code;
}
