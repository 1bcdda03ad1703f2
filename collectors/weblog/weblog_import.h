/*
 * weblog_import.h - imports finished web logs as points, with the same metrics as weblog.c, which follows logs.
 *
 * Each file is counted separately. The time of its points within a bucket (500 to 999 ms after a full second)
 * is derived from its text down to its first request: so a file that is imported again, even after it has
 * grown, overwrites its own points and no others. A log that is or was followed, according to the keys and
 * the checkpoint (weblog_known.h), is left out with a message.
 *
 * With other keys (length of buckets, depth of paths, domains ...) the same file makes other points, beside the old
 * ones: it is refused, or with --replace the old points are computed again with the former keys and set to 0.
 *
 * Threads    one
 * Not here   reading and unpacking files (base/lineread.h), the output of points
 *            (tsd/commands/weblogimport.c)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_IMPORT_H
#define COLLECTORS_WEBLOG_WEBLOG_IMPORT_H

#include "base/conf.h"
#include "collectors/core/emit.h"

#include <stdbool.h>
#include <stdint.h>

/* How to import. */
struct col_web_import_opts {
    const struct ts_conf *conf; /* holds col_conf_keys (keys.h); borrowed for the life of the import */
    struct col_out out;         /* where lines of points go */
    /** Line number `line` of the current file (from 1) can't be read. */
    void (*bad)(void *arg, uint64_t line, const char *why);
    /** The current file is left out, for a reason to be reported. */
    void (*refused)(void *arg, const char *why);
    void *arg;     /* for both */
    bool remember; /* keep a journal (weblog_journal.h): a log that was imported with other keys is refused */
    bool replace;  /* take back what was imported with other keys: its points get 0 before it is counted
                  * again */
};

struct col_web_import;
/** Check the keys (format and domain are collect_weblog_format and collect_weblog_domain). TS_EINVAL. */
int col_web_import_new(const struct col_web_import_opts *opts, struct col_web_import **out,
                       struct ts_error *err);
/** Free; NULL is harmless. */
void col_web_import_free(struct col_web_import *im);
/** Begin a file, or leave it out; path names its domain if nothing else does (borrowed until its end). */
void col_web_import_begin(struct col_web_import *im, const char *path);
/** Count whole lines, each ended by a line feed. An error is that of the output. */
int col_web_import_lines(struct col_web_import *im, struct ts_slice lines, struct ts_error *err);
/** End the file, and send its points. */
int col_web_import_end(struct col_web_import *im, struct ts_error *err);
/** Note that all points of the files that ended are stored, so that a collector that follows one of them
 * later does not warn. */
void col_web_import_done(struct col_web_import *im);
/** Number of the next line of the current file. */
uint64_t col_web_import_line(const struct col_web_import *im);
/* What was counted, over all files. */
struct col_web_import_figures {
    uint64_t n_counted;       /* requests */
    uint64_t n_bots;          /* requests of programs, which are not counted: collect_weblog_bots = drop */
    uint64_t n_none;          /* of these: without a domain */
    uint64_t n_other_domains; /* whose domain counts as other: above collect_weblog_domains of their file */
    uint64_t n_other_paths;   /* whose path does, their domain apart */
};
/** The counts so far. */
void col_web_import_figures(const struct col_web_import *im, struct col_web_import_figures *out);
/** What to do when most requests have no domain. */
#define COL_WEB_NONE_HINT                                                                                    \
    "most requests have no domain (domain=none): set collect_weblog_domain to vhost, file, referrer, "       \
    "client "                                                                                                \
    "or a name with a dot"

/** A preview of a log, packed or not, as text into out: its format, what each of its first n_shown lines says or what
 * is wrong with it, domains of its first 10,000 lines, points of the lines shown. Nothing is sent or remembered.
 *  @return 0 = every line of these was understood; 1 = some were not; TS_EINVAL, TS_EIO, TS_ECORRUPT */
int col_web_try(const struct ts_conf *conf, const char *path, unsigned n_shown, struct ts_buf *out,
                struct ts_error *err);

#endif
