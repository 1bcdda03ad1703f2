/*
 * source.h - reads files of /proc and /sys under a root, which is "" on a real host and a folder of saved texts in tests.
 *
 * Threads    any; nothing is shared
 * Not here   what the texts say (the collectors), cutting them (fields.h)
 */
#ifndef COLLECTORS_CORE_SOURCE_H
#define COLLECTORS_CORE_SOURCE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/** Read a whole file into out (cleared first), whatever size it claims to have. TS_ENOTFOUND, TS_EIO; TS_ELIMIT above the maximum of out. */
int col_source_read(const char *root, const char *path, struct ts_buf *out, struct ts_error *err);
/** Call each(arg, line) for the lines of a file of any size, read in pieces; a line above 64 KiB is ignored. TS_ENOTFOUND, TS_EIO. */
int col_source_lines(const char *root, const char *path, void (*each)(void *arg, struct ts_slice line),
                     void *arg, struct ts_error *err);
/** The first line of a small file (4 KiB) without blanks at its end, as a terminated text; "" and false if it is not there. */
bool col_source_word(const char *root, const char *path, char *out, size_t out_bytes);
/** A small file that holds one number; false if it is not there or no number. */
bool col_source_int(const char *root, const char *path, int64_t *out);
/** Call each(arg, name) for the entries of a folder in byte order; each < 0 stops and is returned. TS_ENOTFOUND if there is no folder. */
int col_source_list(const char *root, const char *path, int (*each)(void *arg, const char *name), void *arg,
                    struct ts_error *err);

#endif
