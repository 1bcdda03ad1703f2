/*
 * gzip.c - zlib for bodies.
 *
 * Threads    see gzip.h
 */
#include "tsd/protocols/http/gzip.h"

#include "base/mem.h"

#include <zlib.h>

#define GZIP_STEP_BYTES ((size_t)64 << 10)
/* What a beginning of a body may inflate to, in bytes and times max_ratio, so that bombs end early. */
#define GZIP_PART_BYTES  ((size_t)1 << 20)
#define GZIP_PART_FACTOR 2
#define GZIP_LEVEL       1 /* replies are numbers: level 6 takes 4 times as long for a tenth less */
#define GZIP_WINDOW_GZIP (15 + 16)
#define GZIP_WINDOW_ZLIB 15
#define GZIP_WINDOW_ANY  (15 + 32) /* gzip or zlib, detected by the header */

struct tsd_gzip {
    z_stream z; /* zlib's */
};

static int gzip_too_large(size_t packed, unsigned max_ratio, size_t most, size_t max, struct ts_error *err)
{
    if (most == max)
        return ts_error_set(err, TS_ELIMIT, "inflated body has more than %zu bytes (http_max_body_bytes)",
                            max);
    return ts_error_set(err, TS_ELIMIT,
                        "body of %zu bytes inflates to more than %u times that (http_max_inflate_ratio)",
                        packed, max_ratio);
}

/* One attempt with a window code; TS_EPARSE when the bytes are not of that kind. */
static int gzip_inflate(int window, struct ts_slice in, unsigned max_ratio, struct ts_buf *out,
                        struct ts_error *err)
{
    size_t most = in.n * max_ratio;
    if (most < TSD_INFLATE_FREE_BYTES)
        most = TSD_INFLATE_FREE_BYTES;
    if (most > out->max)
        most = out->max;
    z_stream z = {.next_in = NULL};
    int rc, result = 0;
    if (inflateInit2(&z, window) != Z_OK)
        return ts_error_set(err, TS_ENOMEM, "no memory to inflate");
    z.next_in = (Bytef *)(uintptr_t)in.p;
    z.avail_in = (uInt)in.n;
    do {
        size_t left = most - out->n, step = left < GZIP_STEP_BYTES ? left : GZIP_STEP_BYTES;
        char *p = step ? ts_buf_reserve(out, step) : NULL;
        if (!p && step) {
            result = ts_error_set(err, TS_ENOMEM, "no memory for the inflated body");
            break;
        }
        if (!p) {
            result = gzip_too_large(in.n, max_ratio, most, out->max, err);
            break;
        }
        z.next_out = (Bytef *)p;
        z.avail_out = (uInt)step;
        rc = inflate(&z, Z_NO_FLUSH);
        out->n += step - z.avail_out;
        if (rc == Z_STREAM_END && z.avail_in && window == GZIP_WINDOW_ANY)
            rc = inflateReset(&z); /* gzip files may be joined */
        else if (rc == Z_STREAM_END)
            break;
        if (rc != Z_OK || (z.avail_in == 0 && z.avail_out)) {
            result = ts_error_set(err, TS_EPARSE, "body is not what its Content-Encoding says, or is cut");
            break;
        }
        if (out->n > GZIP_PART_BYTES && out->n / max_ratio / GZIP_PART_FACTOR > in.n - z.avail_in) {
            result = ts_error_set(err, TS_ELIMIT,
                                  "the first %zu bytes of the body inflate to more than %u times that "
                                  "(http_max_inflate_ratio)",
                                  in.n - z.avail_in, max_ratio * GZIP_PART_FACTOR);
            break;
        }
    } while (true);
    (void)inflateEnd(&z);
    return result;
}

int tsd_gunzip(struct ts_slice in, unsigned max_ratio, struct ts_buf *out, struct ts_error *err)
{
    ts_buf_clear(out);
    if (in.n > UINT32_MAX)
        return ts_error_set(err, TS_ELIMIT, "body too large");
    int rc = gzip_inflate(GZIP_WINDOW_ANY, in, max_ratio, out, err);
    bool gzip = in.n > 1 && (unsigned char)in.p[0] == 0x1f && (unsigned char)in.p[1] == 0x8b;
    if (rc != TS_EPARSE || gzip)
        return rc;
    ts_buf_clear(out);
    return gzip_inflate(-15, in, max_ratio, out, err);
}

struct tsd_gzip *tsd_gzip_new(bool deflate)
{
    struct tsd_gzip *z = ts_xcalloc(1, sizeof(*z));
    int window = deflate ? GZIP_WINDOW_ZLIB : GZIP_WINDOW_GZIP;
    if (deflateInit2(&z->z, GZIP_LEVEL, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        TS_BUG("no memory to compress");
    return z;
}

void tsd_gzip_free(struct tsd_gzip *z)
{
    if (!z)
        return;
    (void)deflateEnd(&z->z);
    ts_free(z);
}

size_t tsd_gzip_run(struct tsd_gzip *z, struct ts_slice *in, char *out, size_t room, bool finish,
                    bool *out_ended)
{
    z->z.next_in = (Bytef *)(uintptr_t)in->p;
    z->z.avail_in = (uInt)in->n;
    z->z.next_out = (Bytef *)out;
    z->z.avail_out = (uInt)room;
    int rc = deflate(&z->z, finish ? Z_FINISH : Z_NO_FLUSH);
    if (rc == Z_STREAM_ERROR)
        TS_BUG("deflate: wrong use");
    in->p += in->n - z->z.avail_in;
    in->n = z->z.avail_in;
    *out_ended = rc == Z_STREAM_END;
    return room - z->z.avail_out;
}
