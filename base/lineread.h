/*
 * lineread.h - lines of a file, or of standard input, in large pieces: plain or compressed (unpack.h detects
 * it by the first bytes).
 *
 * Threads    one
 * Invariant  a piece holds whole lines only, each ended by a line feed; the last line of a file gets one if
 *            it has none
 * Not here   the meaning of a line (the caller)
 */
#ifndef BASE_LINEREAD_H
#define BASE_LINEREAD_H

#include "base/buf.h"
#include "base/err.h"

#define TS_LINES_PAD       64                 /* bytes behind a piece that may be read, not used */
#define TS_LINES_MAX_BYTES ((size_t)16 << 20) /* a longer line is no line */

struct ts_lines;

/** Open a file; "-" is standard input. The text of an error names the file. TS_EINVAL: a folder, or an unsupported compression. */
int ts_lines_open(const char *path, struct ts_lines **out_lines, struct ts_error *err);
/** Close. NULL is harmless. */
void ts_lines_close(struct ts_lines *l);
/** Next lines, about a mebibyte; borrowed until the next call.
 *  @return 1; 0 at the end; TS_EIO, also if the file has become shorter than it was when it was opened; TS_ECORRUPT (compressed data are damaged or incomplete; the lines before were
 *  returned); TS_ELIMIT (a line above TS_LINES_MAX_BYTES) */
int ts_lines_next(struct ts_lines *l, struct ts_slice *out, struct ts_error *err);
/** Bytes of the file read so far; of a compressed file, compressed bytes. */
uint64_t ts_lines_done_bytes(const struct ts_lines *l);

#endif
