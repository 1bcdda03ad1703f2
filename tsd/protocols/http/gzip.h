/*
 * gzip.h - inflates request bodies and compresses replies.
 *
 * Threads    one at a time each
 */
#ifndef TSD_PROTOCOLS_HTTP_GZIP_H
#define TSD_PROTOCOLS_HTTP_GZIP_H

#include "base/buf.h"
#include "base/err.h"

#define TSD_INFLATE_FREE_BYTES ((size_t)256 << 10) /* a body may inflate to this size, whatever the ratio */

/** Inflate a gzip or zlib body (also raw deflate, as some clients send) into out, whose maximum bounds it
 * (http_max_body_bytes).
 *  A beginning of a body that inflates to more than 1 MiB and twice max_ratio is refused before the rest is
 *  read.
 *  @param max_ratio  inflated bytes for each byte of in (http_max_inflate_ratio), from TSD_INFLATE_FREE_BYTES
 *  on
 *  @return 0; TS_EPARSE: not compressed data, or truncated; TS_ELIMIT: above a maximum, the text names the
 *  key */
int tsd_gunzip(struct ts_slice in, unsigned max_ratio, struct ts_buf *out, struct ts_error *err);

struct tsd_gzip;
/** Compressor for one reply: gzip, or what HTTP calls deflate (zlib). Aborts when memory is short. */
struct tsd_gzip *tsd_gzip_new(bool deflate);
/** Free the compressor. NULL is harmless. */
void tsd_gzip_free(struct tsd_gzip *z);
/** Compress from *in, which advances, at most room bytes into out. finish: nothing follows. Returns bytes
 * written; call it again while it fills all of room. *out_ended: the last byte was written.
 */
size_t tsd_gzip_run(struct tsd_gzip *z, struct ts_slice *in, char *out, size_t room, bool finish,
                    bool *out_ended);

#endif
