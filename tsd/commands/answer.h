/*
 * answer.h - commands that print a long answer, which comes from a running daemon or, with --data, from a
 * folder, and is printed piece by piece.
 *
 *   tsd_answer_format   tsd_answer_open   tsd_answer_remote | tsd_answer_local   tsd_answer_close
 *
 * Threads    the main thread; with --data a pool for queries
 * Not here   the requests (query.c, last.c, scan.c, ...), small answers (meta_client.h)
 */
#ifndef TSD_COMMANDS_ANSWER_H
#define TSD_COMMANDS_ANSWER_H

#include "base/pool.h"
#include "base/sink.h"
#include "query/query.h"
#include "tsd/commands/client.h"
#include "tsd/commands/cmd.h"
#include "tsd/commands/progress.h"
#include "tsd/ingest/rules.h"

/* --- the folder of a stopped daemon --- */

enum tsd_local {
    TSD_LOCAL_READ,   /* nothing is written */
    TSD_LOCAL_WRITE,  /* an existing store */
    TSD_LOCAL_CREATE, /* created if the folder is missing or empty */
};

/** Open the store named by --data; --config and the environment give its keys. If it is not a store, locked,
 * read-only or full, the error says so in one sentence.
 *  @param rules  [out] rules of names and times as the daemon has them, times before 1970 allowed; may be
 * NULL */
int tsd_local_open(const struct tsd_args *args, enum tsd_local how, struct sto_store **out_store,
                   struct tsd_rules *rules, struct ts_error *err);
/** The same for a folder that another option names. */
int tsd_local_open_dir(const struct tsd_args *args, const char *dir, enum tsd_local how,
                       struct sto_store **out_store, struct tsd_rules *rules, struct ts_error *err);
/** Let dates and days be of the zone in which the daemon takes them (ts_tz_set_default): that of its key timezone, for which it is asked, or with --data or --hbase
 * that of the configuration. With --tz nothing happens. Errors of reading the configuration, of asking, and of ts_tz_open. */
int tsd_zone_begin(const struct tsd_args *args, struct ts_error *err);
struct qry_spec;
/** qry_parse_words of all words of a command with --tz, and --fill if it has that. Whether the end is later than the start may depend on the zone of dates, so
 * a refusal stands only once that of the daemon is known (tsd_zone_begin), which is asked for then. Errors of qry_parse_words. */
int tsd_zone_words(const struct tsd_args *args, const char *by, struct ts_arena *arena,
                   struct qry_spec *out_spec, struct ts_buf *out_uri, struct ts_error *err);
/** With --data, also beside --tz: let days be of the zone of the store, as summaries of them are. Otherwise as tsd_zone_begin. */
int tsd_zone_of_store(const struct tsd_args *args, struct ts_error *err);
/** Remove a folder with all that is in it, as far as that is possible. Nothing follows symbolic links. */
void tsd_remove_folder(const char *dir);

/* --- answers --- */

/* Options that name the daemon or the folder. */
#define TSD_ANSWER_OPTS                                                                                      \
    TSD_CLIENT_OPTS, {.name = "data", .arg = "DIR", .help = "Read this folder; no daemon may use it."},      \
    {                                                                                                        \
        .name = "config", .arg = "FILE",                                                                     \
        .help = "With --data: the daemon's configuration, for its storage keys."                             \
    }

/* Of queries: an answer without what only the remote store has. */
#define TSD_PARTIAL_OPT                                                                                      \
    {                                                                                                        \
        .name = "allow-partial",                                                                             \
        .help = "If HBase does not answer: print what the daemon has itself, and say so on standard error."  \
    }

/* One answer. */
struct tsd_answer {
    const struct tsd_args *args; /* of the command */
    struct sto_store *store;     /* --data; NULL = a daemon */
    struct ts_pool *pool;        /* --data */
    char last;                   /* byte printed last; 0 = none */
    uint64_t n_bytes;            /* printed */
    bool partial;                /* the daemon has marked its answer as partial */
    unsigned n_lines;            /* ends of lines among them, counted up to 3 */
    struct tsd_progress *bar;    /* counts all lines as points; NULL = none */
    struct ts_buf *left_out; /* gets what a daemon's answer says that it left out; NULL: that is not read */
    struct ts_buf *after; /* gets the token of the next page of a daemon's answer; NULL: there are no pages */
};

/** The value of --format, or def if it is not given. It must be among names ("text|csv"); otherwise prints an
 * error and returns NULL. */
const char *tsd_answer_format(const struct tsd_args *args, const char *names, const char *def);
/** Value of an option, n 0 if it is not given. */
struct ts_slice tsd_answer_opt(const struct tsd_args *args, const char *name);

/** Open the folder if --data is given. */
int tsd_answer_open(struct tsd_answer *a, const struct tsd_args *args, enum tsd_local how,
                    struct ts_error *err);
/** Close it. rc: result of the work before; the first error stays in err. Prints the error and returns an
 * exit code. */
int tsd_answer_close(struct tsd_answer *a, int rc, struct ts_error *err);
/** Send a request to the daemon; path includes its parameters. keep: gets the answer; NULL: it is printed. */
int tsd_answer_remote(struct tsd_answer *a, const char *method, struct ts_slice path, struct ts_buf *keep,
                      struct ts_error *err);
/** Let run write the answer from the folder into a sink that is printed, or kept. */
int tsd_answer_local(struct tsd_answer *a, int (*run)(void *arg, struct ts_sink *sink, struct ts_error *err),
                     void *arg, struct ts_buf *keep, struct ts_error *err);
/** Text of the command's own, after the answer; and the line end that JSON lacks, and the flush of stdout. */
int tsd_answer_end(struct tsd_answer *a, struct ts_error *err);

/* --- a hint about existing data when a query finds nothing --- */

/** Print one line on standard error about why a query has no answer: the newest point of its metric, or the
 * values that its tags have. Sends its requests to the same daemon or folder as the query; prints nothing if
 * that fails. */
void tsd_hint_empty(struct tsd_answer *a, const struct qry_spec *spec);
/** A key of --by that no tag has, after a query of totals was refused: a word of the command line that is wrong, if its metrics exist. Sends its requests to the same
 * daemon or folder as the query; n 0 if there is no such key, or if that fails. */
struct ts_slice tsd_hint_by(struct tsd_answer *a, const struct qry_spec *spec);

#endif
