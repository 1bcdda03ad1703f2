/*
 * import.h - what the sinks of import share: counts, the list of bad lines, the progress bar.
 *
 *   files -> lineread.c -> import.c -> importformat.c -> importtcp.c (a running daemon), importstore.c (a stopped store), importdry.c
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_IMPORT_H
#define TSD_COMMANDS_IMPORT_H

#include "tsd/commands/cmd.h"
#include "base/lineread.h"
#include "tsd/commands/progress.h"
#include "tsd/inputs/import_line.h"

#define TSD_IMPORT_REASONS 16u /* reasons of refusals that are counted apart */

/* Lines that were refused for the same reason. */
struct tsd_import_reason {
    char text[96]; /* without what differs from line to line */
    uint64_t n;    /* of them */
};

struct tsd_import_format;

/* One run of tsd import. */
struct tsd_import {
    const struct tsd_args *args; /* of the command */
    struct tsd_progress bar;     /* and the time */
    uint64_t before_bytes;       /* size of the files that are done */
    struct ts_lines *lines;      /* the current file */
    uint64_t n_points;           /* taken */
    bool replaced;               /* they replaced n_replaced points */
    uint64_t n_replaced;
    uint64_t n_bad;             /* lines refused */
    uint64_t n_bad_files;       /* files that could not be read to their end */
    uint64_t max_listed;        /* bad lines that are printed */
    uint64_t bulk_memory_bytes; /* for sorting, by tsd_bulk_memory */
    const char *host, *port;    /* of the daemon; NULL = from tsd_client_where */
    const struct tsd_import_to
        *points_to; /* for sinks that turn lines into points: their destination; else NULL */
    struct tsd_import_format *format; /* for tsd_import_format */
    const uint64_t *
        line_of; /* during a call of take: by number of the put line, from 0, that of its line in the file; NULL: the same */
    uint64_t n_missing, n_timeless; /* values that were missing; points that had no time */
    struct tsd_import_reason reasons[TSD_IMPORT_REASONS]; /* of refusals */
    unsigned n_reasons; /* in use; refusals for further ones are not counted apart */
    bool is_unlisted;   /* some were counted by tsd_import_refused: the report has all reasons */
};

/* The destination of lines. */
struct tsd_import_to {
    /* Connect or open; *out_sink is given to the others. */
    int (*open)(struct tsd_import *im, void **out_sink, struct ts_error *err);
    /* The index-th file begins; false: nothing of it is wanted. NULL: every file is. */
    bool (*begin_file)(void *sink, size_t index);
    /* Take whole lines; *line is the number of the first one and grows by their number. Refused lines go to
     * tsd_import_bad; < 0: nothing more can be taken. file stays valid to the end. */
    int (*take)(void *sink, const char *file, struct ts_slice lines, uint64_t *line, struct ts_error *err);
    /* When 0 is returned, everything taken is on disk. */
    int (*finish)(void *sink, struct ts_error *err);
    /* take or finish has failed, or Ctrl-C came: say in err what is stored or kept, and what to do. Before close. NULL: err says it. */
    void (*failed)(void *sink, struct ts_error *err);
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
/** Number in its file of the line that a put line comes from. */
static inline uint64_t tsd_import_number(const struct tsd_import *im, uint64_t line)
{
    return im->line_of ? im->line_of[line] : line;
}
/** Count n refused lines that are not listed, for a reason. n 0: nothing. */
void tsd_import_refused(struct tsd_import *im, uint64_t n, struct ts_slice reason);
/** Say how to go on after an import of single points that has failed because the disk is full. */
void tsd_import_say_full(void);
/** Show the progress. */
void tsd_import_show(struct tsd_import *im);
/* Options of commands that read files of points. */
#define TSD_IMPORT_FORMAT_OPTS                                                                               \
    {.name = "format",                                                                                       \
     .arg = "auto|put|csv|tsv|fixed|influx|openmetrics|promdump|jsonl",                                      \
     .help = "What the files hold, see below. Default auto: by the first lines of each file."},              \
        {.name = "csv",                                                                                      \
         .arg = "MAPPING",                                                                                   \
         .help = "What the columns of csv and tsv are: time={0},metric=NAME,value={1},TAG={2}; see below."}, \
        {.name = "fixed",                                                                                    \
         .arg = "MAPPING",                                                                                   \
         .help = "The same for fixed widths: TAG={1-11}, characters 1 to 11."},                              \
        {.name = "delimiter",                                                                                \
         .arg = "CHAR",                                                                                      \
         .help = "Of csv, between columns; tab is one too. Default: comma."},                                \
        {.name = "skip", .arg = "N", .help = "Lines to leave out at the start of each file. Default 0."},    \
        {.name = "missing",                                                                                  \
         .arg = "WORDS",                                                                                     \
         .help =                                                                                             \
             "Values that mean there is none, with commas between, besides NA, N/A, NaN, null, none and "    \
             "nothing."},                                                                                    \
        {.name = "tag", .arg = "KEY=VALUE", .help = "A tag of every point; may stand several times."},       \
        {.name = "time-unit",                                                                                \
         .arg = "s|ms|us|ns",                                                                                \
         .help = "Unit of times that are numbers. Default: of influx ns, of promdump ms, of others by "      \
                 "their size."},                                                                             \
        {.name = "tz",                                                                                       \
         .arg = "ZONE",                                                                                      \
         .help =                                                                                             \
             "Zone of times that name none. Default UTC; in put lines that of the daemon (key timezone)."},  \
    {                                                                                                        \
        .name = "max-line", .arg = "BYTES",                                                                  \
        .help =                                                                                              \
            "Longest line of formats other than put, and longest record of csv. Default 1M, at most 16M."    \
    }
#define TSD_IMPORT_MEMORY_OPT                                                                                \
    {                                                                                                        \
        .name = "bulk-memory", .arg = "BYTES",                                                               \
        .help = "Memory for sorting. Default 512M, or a quarter of the machine's memory if that is less."    \
    }
#define TSD_IMPORT_REPORT_OPTS                                                                               \
    {.name = "dry-run",                                                                                      \
     .help =                                                                                                 \
         "Print the first points as put lines and what is wrong, and store nothing; no daemon is asked."},   \
    {                                                                                                        \
        .name = "max-errors", .arg = "N", .help = "Most bad lines to list; all are counted. Default 20."     \
    }

#endif
