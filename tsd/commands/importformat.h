/*
 * importformat.h - tsd import: which format files have, and their lines as put lines.
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_IMPORTFORMAT_H
#define TSD_COMMANDS_IMPORTFORMAT_H

#include "tsd/commands/import.h"
#include "tsd/inputs/input.h"

/* The options about formats. */
struct tsd_import_format {
    const struct tsd_input *row; /* --format; NULL: by the first lines of each file */
    bool fixed;                  /* --fixed was given */
    struct tsd_input_opts opts;  /* for the formats; its texts are borrowed from the options, and from tags */
    struct ts_buf tags;          /* owned: " k=v" of each --tag */
};

/** Read the options of a command. Returns TSD_EXIT_OK, or TSD_EXIT_USAGE after printing an error; release how->tags in any case. */
int tsd_import_format_read(const struct tsd_args *args, struct tsd_import_format *how);
/** The sink that reads any format, and gives put lines to im->points_to; im->format says how. */
extern const struct tsd_import_to tsd_import_format;

/** The sink of a dry run: checks put lines by the rules of names, times and tags, prints the first ones, stores nothing. */
extern const struct tsd_import_to tsd_import_dry;

#endif
