/*
 * zip_int.h - compression of a stream with zstd: with its Huffman coder alone, or with matches as well.
 *
 * Symbols of residuals are noise with a skewed distribution: searching for matches takes time and makes them
 * larger (a match of seven symbols of two bits is shorter than its own description). Streams with runs gain
 * from matches.
 *
 * Format     docs/FORMAT.md "Packs": a zstd frame without its first four bytes (the magic number)
 * Threads    a context belongs to one thread
 */
#ifndef STORAGE_CODECS_ZIP_INT_H
#define STORAGE_CODECS_ZIP_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/codecs/memory_int.h"

/* Contexts of zstd, created when they are first needed. {0} is ready for use. */
struct sto_zip {
    void *literals; /* ZSTD_CCtx: entropy coder only */
    void *matches;  /* ZSTD_CCtx: with matches */
    void *reader;   /* ZSTD_DCtx, about 95 KiB; NULL while nothing is read */
    uint8_t *tmp;   /* second try of a writer, input of a reader */
    size_t tmp_cap; /* bytes of tmp */
    uint8_t
        level; /* level of zstd for matches, which are then always tried; 0 = the usual one, if matches pay.
                     * Set before the first write */
    bool
        quick; /* for reading: streams that zstd does not shorten to a quarter stay as they are. Only without a level */
};
/** Release; idempotent. */
void sto_zip__release(struct sto_zip *z);
/** Return the context for reading to the pool, so that there are as many as threads that read at once rather
 * than as many as open files. The next read takes one again. */
void sto_zip__idle(struct sto_zip *z);
/** Bytes of dst that sto_zip__write needs for n bytes. */
size_t sto_zip__bound(size_t n);
/** Compress n bytes to dst (sto_zip__bound bytes). Returns the number of bytes written, or 0 if it
 * saves too little. A sample of the bytes decides whether matches are tried. */
size_t sto_zip__write(struct sto_zip *z, const uint8_t *src, size_t n, uint8_t *dst);
/** Most bytes that the contexts of a writer of this level use. */
size_t sto_zip__level_bytes(uint8_t level);
/** Inflate to exactly n bytes. 0; TS_ECORRUPT: the input does not give n bytes; TS_ELIMIT, TS_ENOMEM for a
 * copy of the input, which counts in memory. */
int sto_zip__read(struct sto_zip *z, struct sto_dec_memory *memory, const uint8_t *src, size_t n_src,
                  uint8_t *dst, size_t n);

struct sto_enc;
/** The contexts of an encoder of points (codec.h), borrowed while it lives. */
struct sto_zip *sto_enc__zip(struct sto_enc *e);

#endif
