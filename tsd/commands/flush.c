/*
 * flush.c - tsd flush: what is in memory goes to files; with --compact small files are merged.
 *
 * Threads    the main thread
 */
#include "tsd/commands/client.h"
#include "tsd/commands/answer.h"

const struct ts_opt tsd_flush_opts[] = {
    {.name = "compact", .help = "Then merge files, and wait until that is done."},
    {.name = "data", .arg = "DIR", .help = "Work on this folder; no daemon may use it."},
    TSD_CLIENT_OPTS,
    {.name = "config",
     .arg = "FILE",
     .help = "With --data: the daemon's configuration, for its storage keys."},
    {.name = NULL},
};

static int flush_local(const struct tsd_args *args, bool compact, struct ts_error *err)
{
    struct sto_store *st;
    struct ts_error close_err = {0};
    TS_TRY(tsd_local_open(args, TSD_LOCAL_WRITE, &st, NULL, err));
    int rc = sto_flush(st, compact ? STO_LEVEL_COMPACT : STO_LEVEL_FILES, err);
    int close_rc = sto_close(st, &close_err);
    if (rc == 0 && close_rc < 0) {
        *err = close_err;
        rc = close_rc;
    }
    return rc;
}

static int flush_remote(const struct tsd_args *args, bool compact, struct ts_error *err)
{
    struct tsd_client_reply reply;
    struct tsd_client_req req = {.method = "POST",
                                 .path = compact ? "/api/admin/flush?level=compact"
                                                 : "/api/admin/flush?level=files"};
    int rc = tsd_client_request(args, &req, &reply, err);
    ts_buf_release(&reply.body);
    return rc;
}

int tsd_flush_run(const struct tsd_args *args)
{
    struct ts_error err = {0};
    bool compact = tsd_args_has(args, "compact"), local = tsd_args_has(args, "data");
    if (args->n_words)
        return tsd_usage(args, "flush takes no words");
    if (tsd_client_or_data(args) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    int rc = local ? flush_local(args, compact, &err) : flush_remote(args, compact, &err);
    return rc < 0 ? tsd_fail(&err) : TSD_EXIT_OK;
}
