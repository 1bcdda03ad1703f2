/*
 * meta_client.h - requests about annotations, ids and metadata, for commands: to a running daemon or, with --data, to
 * a stopped store.
 *
 * Threads    the main thread
 * Not here   the answers (tsd/meta/request.h)
 */
#ifndef TSD_COMMANDS_META_CLIENT_H
#define TSD_COMMANDS_META_CLIENT_H

#include "base/json.h"
#include "query/query.h"
#include "tsd/commands/client.h"
#include "tsd/commands/answer.h"

/* Options of every command that uses the meta client. */
#define TSD_META_CLIENT_OPTS                                                                                 \
    TSD_CLIENT_OPTS,                                                                                         \
        {.name = "data", .arg = "DIR", .help = "Use this data folder directly; no daemon may use it."},      \
    {                                                                                                        \
        .name = "config", .arg = "FILE",                                                                     \
        .help = "With --data: the daemon's configuration, for its rules of names and its storage keys."      \
    }

#define TSD_META_CLIENT_PARAMS 8 /* parameters of a request, at most */

struct tsd_meta_client {
    const struct tsd_args *args; /* of the command */
    struct sto_store *store;     /* --data; NULL = a daemon */
    struct tsd_rules rules;      /* --data */
    unsigned status;             /* of the last answer */
};
/* A request. */
struct tsd_meta_client_req {
    const char *method;                              /* "GET" */
    const char *path;                                /* "api/uid/assign" */
    struct qry_param params[TSD_META_CLIENT_PARAMS]; /* not encoded; name.p == NULL ends them */
    struct ts_slice body;                            /* JSON or empty */
};

/** Send a request and read the answer, which the caller owns (json_decref); NULL if it has no body. An answer
 * with an error object is an error with its details in the text; the client's member status has the status of
 * others. */
int tsd_meta_client_request(struct tsd_meta_client *client, const struct tsd_meta_client_req *req,
                            json_t **out, struct ts_error *err);
/** Send a request with a JSON body; its answer is ignored unless it is an error. */
int tsd_meta_client_send(struct tsd_meta_client *client, const char *method, const char *path,
                         const struct ts_buf *body, struct ts_error *err);
/** Run a command that sends requests: open, run, print what it wrote, close. Returns the exit code. */
int tsd_meta_client_run(const struct tsd_args *args, enum tsd_local how,
                        int (*run)(struct tsd_meta_client *client, struct ts_buf *out, struct ts_error *err));

/* --- what searches find, as lines --- */

/** Append a line for a result: a series "TSUID METRIC k=v k=v ", a TSUID, a name "KIND NAME: [0, 0, 1]", an annotation
 * "START TSUID DESCRIPTION" (TSUID - for a global one). */
void tsd_meta_line(const json_t *result, struct ts_buf *out);

#endif
