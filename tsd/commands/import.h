/*
 * import.h - what the two sinks of import share: counts, the list of bad lines, the progress bar.
 *
 *   files -> lineread.c -> import.c -> importtcp.c (a running daemon) or importstore.c (a stopped store)
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_IMPORT_H
#define TSD_COMMANDS_IMPORT_H

#include "tsd/commands/cmd.h"
#include "base/lineread.h"
#include "tsd/commands/progress.h"

/* One run of tsd import. */
struct tsd_import {
    const struct tsd_args *args; /* of the command */
    struct tsd_progress bar;     /* and the time */
    uint64_t before_bytes;       /* size of the files that are done */
    struct ts_lines *lines;      /* the current file */
    uint64_t n_points;           /* taken */
    uint64_t n_bad;              /* lines refused */
    uint64_t n_bad_files;        /* files that could not be read to their end */
    uint64_t max_listed;         /* bad lines that are printed */
    const char *host, *port;     /* of the daemon; NULL = from tsd_client_where */
    const struct tsd_import_to
        *points_to; /* for sinks that turn lines into points: their destination; else NULL */
};

/* The destination of lines. */
struct tsd_import_to {
    /* Connect or open; *out_sink is given to the others. */
    int (*open)(struct tsd_import *im, void **out_sink, struct ts_error *err);
    /* Take whole lines; *line is the number of the first one and grows by their number. Refused lines go to
     * tsd_import_bad; < 0: nothing more can be taken. file stays valid to the end. */
    int (*take)(void *sink, const char *file, struct ts_slice lines, uint64_t *line, struct ts_error *err);
    /* When 0 is returned, everything taken is on disk. */
    int (*finish)(void *sink, struct ts_error *err);
    /* Release; also after an error. */
    int (*close)(void *sink, struct ts_error *err);
};
extern const struct tsd_import_to tsd_import_tcp, tsd_import_store;

/** Read all files (the words of im->args) into a sink, show the progress, print a report. Returns an exit
 * code. */
int tsd_import_files(struct tsd_import *im, const struct tsd_import_to *to);
/** How many bad lines are printed: --max-errors, without it 20, into im->max_listed. Returns TSD_EXIT_OK, or
 * TSD_EXIT_USAGE after printing an error. */
int tsd_import_listed(struct tsd_import *im);
/** Did Ctrl-C (SIGINT) come since tsd_import_files began? */
bool tsd_import_interrupted(void);
/** Count a bad line, and print it unless max_listed were printed. */
void tsd_import_bad(struct tsd_import *im, const char *file, uint64_t line, struct ts_slice reason);
/** Show the progress. */
void tsd_import_show(struct tsd_import *im);
/* Kinds of lines. */
enum tsd_import_kind { TSD_IMPORT_NOTHING, TSD_IMPORT_POINT, TSD_IMPORT_ROLLUP, TSD_IMPORT_HISTOGRAM };
/** First word of such lines in the line protocol, with a blank behind. */
const char *tsd_import_word(enum tsd_import_kind kind);
/** What a line is; *out_rest: without its end and its first word put, rollup or histogram. Blanks and # are
 * nothing. A metric may be called rollup or histogram: what follows the name of a point is a time. */
enum tsd_import_kind tsd_import_line(struct ts_slice line, struct ts_slice *out_rest);

#endif
