/*
 * unpack.c - one table of compression formats, one state for all of their libraries.
 *
 * Threads    see unpack.h
 */
#include "base/unpack.h"

#include "base/mem.h"

#include <bzlib.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define XZ_MEMORY_BYTES ((uint64_t)128 << 20) /* xz -9 takes 65 MiB */
#define FIRST_RAW_BYTES 4096u

enum { KIND_GZIP, KIND_ZSTD, KIND_XZ, KIND_BZIP2, KIND_UNREADABLE };

struct ts_unpack {
    int kind;    /* KIND_ */
    bool open;   /* a stream has begun and not ended */
    z_stream gz; /* of its kind, as the others */
    ZSTD_DStream *zst;
    lzma_stream xz;
    bz_stream bz;
};

static const struct row {
    struct ts_pack pack;
    const char *magic;
    unsigned n_magic;
    int kind;
} rows[] = {
    {{"gzip", true}, "\x1f\x8b", 2, KIND_GZIP},
    {{"zstd", true}, "\x28\xb5\x2f\xfd", 4, KIND_ZSTD},
    {{"xz", true},
     "\xfd"
     "7zXZ\0",
     6,
     KIND_XZ},
    {{"bzip2", true}, "BZh", 3, KIND_BZIP2},
    {{"lz4", false}, "\x04\x22\x4d\x18", 4, KIND_UNREADABLE},
    {{"lzip", false}, "LZIP", 4, KIND_UNREADABLE},
    {{"lzop", false}, "\x89LZO", 4, KIND_UNREADABLE},
    {{"zip", false}, "PK\x03\x04", 4, KIND_UNREADABLE},
    {{"7z", false}, "7z\xbc\xaf\x27\x1c", 6, KIND_UNREADABLE},
    {{"compress", false}, "\x1f\x9d", 2, KIND_UNREADABLE},
};
#define N_ROWS (sizeof(rows) / sizeof(*rows))

const struct ts_pack *ts_pack_find(struct ts_slice first)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (first.n >= rows[i].n_magic && !memcmp(first.p, rows[i].magic, rows[i].n_magic))
            return &rows[i].pack;
    return NULL;
}

size_t ts_pack_suffix(const char *name)
{
    static const char *const endings[] = {".gz",  ".zst", ".xz", ".bz2", ".lz4",  ".lz",
                                          ".lzo", ".zip", ".7z", ".Z",   ".zstd", ".lzma"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t k = strlen(endings[i]);
        if (n > k && !strcmp(name + n - k, endings[i]))
            return k;
    }
    return 0;
}

static bool kind_begin(struct ts_unpack *u)
{
    switch (u->kind) {
    case KIND_GZIP:
        return inflateInit2(&u->gz, 15 + 16) == Z_OK;
    case KIND_ZSTD:
        u->zst = ZSTD_createDStream();
        return u->zst && !ZSTD_isError(ZSTD_initDStream(u->zst));
    case KIND_XZ:
        return lzma_stream_decoder(&u->xz, XZ_MEMORY_BYTES, 0) == LZMA_OK;
    default:
        return BZ2_bzDecompressInit(&u->bz, 0, 0) == BZ_OK;
    }
}

static void kind_end(struct ts_unpack *u)
{
    if (u->kind == KIND_GZIP)
        inflateEnd(&u->gz);
    if (u->kind == KIND_XZ)
        lzma_end(&u->xz);
    if (u->kind == KIND_BZIP2)
        BZ2_bzDecompressEnd(&u->bz);
    ZSTD_freeDStream(u->zst);
    u->zst = NULL;
}

int ts_unpack_new(const struct ts_pack *pack, struct ts_unpack **out, struct ts_error *err)
{
    struct ts_unpack *u = ts_xcalloc(1, sizeof(*u));
    *out = NULL;
    u->kind = KIND_UNREADABLE;
    for (size_t i = 0; i < N_ROWS; i++)
        if (pack == &rows[i].pack)
            u->kind = rows[i].kind;
    if (u->kind == KIND_UNREADABLE)
        TS_BUG("unpack: a packing that can't be read");
    u->xz = (lzma_stream)LZMA_STREAM_INIT;
    if (!kind_begin(u)) {
        ts_unpack_free(u);
        return ts_error_set(err, TS_ENOMEM, "no memory to unpack %s", pack->name);
    }
    *out = u;
    return 0;
}

void ts_unpack_free(struct ts_unpack *u)
{
    if (u)
        kind_end(u);
    ts_free(u);
}

/* --- a step of each; *n: in bytes there are, out bytes not used --- */

static int step_gzip(struct ts_unpack *u, struct ts_slice *in, char *p, size_t *n, struct ts_error *err)
{
    u->gz.next_in = (Bytef *)in->p;
    u->gz.avail_in = (uInt)in->n;
    u->gz.next_out = (Bytef *)p;
    u->gz.avail_out = (uInt)*n;
    int rc = inflate(&u->gz, Z_NO_FLUSH);
    *in = (struct ts_slice){in->p + in->n - u->gz.avail_in, u->gz.avail_in};
    *n = u->gz.avail_out;
    if (rc == Z_STREAM_END) {
        u->open = false;
        inflateReset(&u->gz);
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
        return ts_error_set(err, TS_ECORRUPT, "damaged gzip data (%s)",
                            u->gz.msg ? u->gz.msg : "no reason given");
    }
    return 0;
}

static int step_zstd(struct ts_unpack *u, struct ts_slice *in, char *p, size_t *n, struct ts_error *err)
{
    ZSTD_inBuffer from = {in->p, in->n, 0};
    ZSTD_outBuffer to = {p, *n, 0};
    size_t rc = ZSTD_decompressStream(u->zst, &to, &from);
    if (ZSTD_isError(rc))
        return ts_error_set(err, TS_ECORRUPT, "damaged zstd data (%s)", ZSTD_getErrorName(rc));
    if (from.pos || to.pos) /* between frames it wants the head of another one */
        u->open = rc != 0;
    *in = (struct ts_slice){in->p + from.pos, in->n - from.pos};
    *n -= to.pos;
    return 0;
}

static int step_xz(struct ts_unpack *u, struct ts_slice *in, char *p, size_t *n, struct ts_error *err)
{
    u->xz.next_in = (const uint8_t *)in->p;
    u->xz.avail_in = in->n;
    u->xz.next_out = (uint8_t *)p;
    u->xz.avail_out = *n;
    lzma_ret rc = lzma_code(&u->xz, LZMA_RUN);
    *in = (struct ts_slice){in->p + in->n - u->xz.avail_in, u->xz.avail_in};
    *n = u->xz.avail_out;
    if (rc == LZMA_STREAM_END) {
        u->open = false;
        if (!kind_begin(u))
            return ts_error_set(err, TS_ENOMEM, "no memory to unpack xz");
    } else if (rc == LZMA_MEMLIMIT_ERROR) {
        return ts_error_set(err, TS_ELIMIT, "xz data that takes more than 128 MiB to unpack");
    } else if (rc != LZMA_OK && rc != LZMA_BUF_ERROR) {
        return ts_error_set(err, TS_ECORRUPT, "damaged xz data (code %d)", (int)rc);
    }
    return 0;
}

static int step_bzip2(struct ts_unpack *u, struct ts_slice *in, char *p, size_t *n, struct ts_error *err)
{
    u->bz.next_in = (char *)in->p;
    u->bz.avail_in = (unsigned)in->n;
    u->bz.next_out = p;
    u->bz.avail_out = (unsigned)*n;
    int rc = BZ2_bzDecompress(&u->bz);
    *in = (struct ts_slice){in->p + in->n - u->bz.avail_in, u->bz.avail_in};
    *n = u->bz.avail_out;
    if (rc == BZ_STREAM_END) {
        u->open = false;
        BZ2_bzDecompressEnd(&u->bz);
        if (!kind_begin(u))
            return ts_error_set(err, TS_ENOMEM, "no memory to unpack bzip2");
    } else if (rc != BZ_OK) {
        return ts_error_set(err, TS_ECORRUPT, "damaged bzip2 data (code %d)", rc);
    }
    return 0;
}

int ts_unpack_step(struct ts_unpack *u, struct ts_slice *in, char *p, size_t n, size_t *out_n,
                   struct ts_error *err)
{
    size_t left = n;
    u->open |= in->n != 0;
    int rc = u->kind == KIND_GZIP   ? step_gzip(u, in, p, &left, err)
             : u->kind == KIND_ZSTD ? step_zstd(u, in, p, &left, err)
             : u->kind == KIND_XZ   ? step_xz(u, in, p, &left, err)
                                    : step_bzip2(u, in, p, &left, err);
    *out_n = n - left;
    return rc;
}

bool ts_unpack_open(const struct ts_unpack *u)
{
    return u->open;
}

/* --- first bytes of a file --- */

static size_t first_unpacked(FILE *file, const struct ts_pack *pack, char *raw, size_t n_raw, char *p,
                             size_t n)
{
    struct ts_unpack *u;
    struct ts_slice in = {raw, n_raw};
    size_t have = 0, got = 0;
    if (ts_unpack_new(pack, &u, NULL) < 0)
        return 0;
    int rc = 0;
    bool eof = false;
    while (rc == 0 && have < n && !(eof && !in.n && !got && !ts_unpack_open(u))) {
        if (!in.n && !eof) {
            in = (struct ts_slice){raw, fread(raw, 1, FIRST_RAW_BYTES, file)};
            eof = in.n == 0;
        }
        size_t before = in.n;
        rc = ts_unpack_step(u, &in, p + have, n - have, &got, NULL);
        have += got;
        if (eof && !got && before == in.n && ts_unpack_open(u))
            rc = TS_ECORRUPT; /* cut before there was enough */
    }
    ts_unpack_free(u);
    return rc < 0 ? 0 : have;
}

int ts_unpack_first(const char *path, char *p, size_t n, size_t *out_n, const struct ts_pack **out_pack)
{
    char raw[FIRST_RAW_BYTES];
    *out_n = 0;
    *out_pack = NULL;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return TS_EIO;
    size_t n_raw = fread(raw, 1, sizeof(raw), file);
    *out_pack = ts_pack_find((struct ts_slice){raw, n_raw});
    int rc = ferror(file) ? TS_EIO : 0;
    if (rc == 0 && !*out_pack) {
        *out_n = n_raw < n ? n_raw : n;
        memcpy(p, raw, *out_n);
    } else if (rc == 0 && (*out_pack)->readable) {
        *out_n = first_unpacked(file, *out_pack, raw, n_raw, p, n);
    }
    fclose(file);
    return rc;
}
