/*
 * unpack.h - decompresses gzip, zstd, xz and bzip2 streams, which it detects by their first bytes; names
 * other formats that it cannot read.
 *
 * Threads    one a struct ts_unpack
 * Not here   files and lines (lineread.h)
 * Source     RFC 1952; zstd, xz and bzip2 through their libraries
 */
#ifndef BASE_UNPACK_H
#define BASE_UNPACK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define TS_PACK_MAGIC_BYTES 6u /* first bytes that are enough for ts_pack_find */

/* A compression format. */
struct ts_pack {
    const char *name; /* "gzip" */
    bool readable;    /* ts_unpack_new takes it; else it is known by name only */
};

/** The compression format whose streams begin like first; NULL: first is not compressed, or in an unknown format. Static. */
const struct ts_pack *ts_pack_find(struct ts_slice first);
/** Has a file's name the ending of a packed one (.gz, .zst, .xz, .bz2, .lz4, .Z ...)? Returns its bytes with the dot, else 0. */
size_t ts_pack_suffix(const char *name);

struct ts_unpack;
/** Begin a stream of a readable format. TS_ENOMEM. */
int ts_unpack_new(const struct ts_pack *pack, struct ts_unpack **out, struct ts_error *err);
/** Free; NULL is harmless. */
void ts_unpack_free(struct ts_unpack *u);
/** Unpack what fits into [p, p + n); *in loses what was used. *out_n = 0: it wants more input. Streams may follow each other.
 *  TS_ECORRUPT: damaged; TS_ELIMIT: it wants more than 128 MiB of memory to be unpacked. */
int ts_unpack_step(struct ts_unpack *u, struct ts_slice *in, char *p, size_t n, size_t *out_n,
                   struct ts_error *err);
/** Has a stream begun that has not ended yet? At the end of the input it was cut then. */
bool ts_unpack_open(const struct ts_unpack *u);
/** The first bytes of a file's text, decompressed, at most n. *out_n is 0 also if they cannot be decompressed
 * (a truncated or damaged file). *out_pack: the compression, NULL = none. TS_EIO: the file cannot be read.
 * Cost: a few KiB are read. */
int ts_unpack_first(const char *path, char *p, size_t n, size_t *out_n, const struct ts_pack **out_pack);

#endif
