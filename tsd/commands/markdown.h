/*
 * markdown.h - what commands print as text, as tables of Markdown.
 *
 * Threads    one thread at a time
 * Not here   answers of queries (format/markdown.c)
 */
#ifndef TSD_COMMANDS_MARKDOWN_H
#define TSD_COMMANDS_MARKDOWN_H

#include "base/buf.h"

/* A report in the making. Zero-initialise. */
struct tsd_markdown {
    bool in_table;  /* the last line was a row */
    bool has_lines; /* something was printed */
};

/** Append lines of a report: "KIND: TEXT" with a kind of fsck (note, damage, lost, done) is a row of a table, any other line is a
 * paragraph. */
void tsd_markdown_report(struct tsd_markdown *m, struct ts_slice text, struct ts_buf *out);
/** Append lines whose columns are separated by tabs as a table; the first line has the names of the columns. */
void tsd_markdown_tabs(struct ts_slice text, struct ts_buf *out);
/** Append CSV as a table; the first record has the names of the columns. */
void tsd_markdown_csv(struct ts_slice csv, struct ts_buf *out);

#endif
