/*
 * zip.c - see zip_int.h.
 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_c_literalCompressionMode; without it streams would only be larger  \
                                   */
#include "storage/codecs/zip_int.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/spare.h"
#include "storage/codecs/codec.h"

#include <zstd.h>

#define MAGIC_BYTES 4u
#define MIN_BYTES   24u  /* shorter input is never compressed */
#define ALWAYS_BOTH 512u /* for shorter input both ways are tried */
/* Of a stream of n bytes, compression may leave so many; otherwise the stream stays as it is, which is read sooner. With quick it may leave less. */
#define MOST_LEFT(n)       ((n) - (n) / 8)
#define MOST_LEFT_QUICK(n) ((n) / 4)
#define MATCH_LEVEL        3
#define WINDOW_LOG                                                                                           \
    18 /* of levels that are set: no stream of a block is much longer, and tables of zstd stay small */
#define SMALL_LOG   14        /* of streams with the parameters of the shortest ones */
#define NO_MATCHES  (1 << 17) /* step of the match finder: larger than any stream */
#define PROBE_STEP  8u
#define PROBE_SLOTS 512u /* the top nine bits of a hash */

/* Pool of unused readers: creating one takes as long as reading a block, and a short query needs one for a
 * single row. */
static struct ts_spare spare_readers;

void sto_zip__idle(struct sto_zip *z)
{
    if (z->reader && !ts_spare_give(&spare_readers, z->reader))
        ZSTD_freeDCtx(z->reader);
    z->reader = NULL;
}

void sto_zip__release(struct sto_zip *z)
{
    ZSTD_freeCCtx(z->literals);
    ZSTD_freeCCtx(z->matches);
    sto_zip__idle(z);
    ts_free(z->tmp);
    *z = (struct sto_zip){0};
}

size_t sto_zip__bound(size_t n)
{
    return ZSTD_compressBound(n);
}

static void set(ZSTD_CCtx *c, ZSTD_cParameter what, int value)
{
    (void)ZSTD_CCtx_setParameter(c, what,
                                 value); /* a parameter that this zstd does not know only costs bytes */
}

static ZSTD_CCtx *writer_new(bool matches, uint8_t level)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    if (!c)
        TS_BUG("no memory for a zstd context");
    set(c, ZSTD_c_compressionLevel, !matches ? 1 : level ? level : MATCH_LEVEL);
    if (matches && level)
        set(c, ZSTD_c_windowLog, WINDOW_LOG);
    set(c, ZSTD_c_contentSizeFlag, 0);
    set(c, ZSTD_c_checksumFlag, 0);
    if (!matches) {
        set(c, ZSTD_c_strategy, ZSTD_fast);
        set(c, ZSTD_c_targetLength, NO_MATCHES);
        set(c, ZSTD_c_hashLog, ZSTD_HASHLOG_MIN);
        set(c, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
    }
    return c;
}

static size_t write_with(ZSTD_CCtx *c, const uint8_t *src, size_t n, uint8_t *dst)
{
    size_t got = ZSTD_compress2(c, dst, ZSTD_compressBound(n), src, n);
    if (ZSTD_isError(got) || got <= MAGIC_BYTES || got - MAGIC_BYTES >= n)
        return 0;
    return got;
}

/* Do strings of eight bytes recur often enough for matches to pay? Examines two of eight positions. */
static bool has_repeats(const uint8_t *src, size_t n)
{
    uint64_t seen[PROBE_SLOTS] = {0};
    size_t hits = 0, probes = 0;
    for (size_t i = 0; i + 16 <= n; i += PROBE_STEP, probes++) {
        uint64_t x = ts_ld64(src + i),
                 y = ts_ld64(src + i + 7); /* repeats occur at any distance, not only at multiples of eight */
        hits +=
            seen[x * 0x9e3779b97f4a7c15ull >> 55] == x + 1 || seen[y * 0x9e3779b97f4a7c15ull >> 55] == y + 1;
        seen[x * 0x9e3779b97f4a7c15ull >> 55] = x + 1;
    }
    return hits * 16 > probes;
}

size_t sto_zip__level_bytes(uint8_t level)
{
    size_t most = 0;
    for (unsigned log = SMALL_LOG; log <= WINDOW_LOG + 1;
         log++) { /* parameters depend on the length of a stream */
        ZSTD_compressionParameters p = ZSTD_getCParams(level ? level : MATCH_LEVEL, 1ull << log, 0);
        p.windowLog = p.windowLog < WINDOW_LOG ? p.windowLog : WINDOW_LOG;
        size_t n = ZSTD_estimateCCtxSize_usingCParams(ZSTD_adjustCParams(p, 1ull << log, 0));
        most = n > most ? n : most;
    }
    ZSTD_compressionParameters literals = ZSTD_getCParams(1, 0, 0);
    literals.hashLog = ZSTD_HASHLOG_MIN;
    return most + ZSTD_estimateCCtxSize_usingCParams(literals);
}

/* The magic number is the same in all frames. Returns the bytes that are left. */
static size_t drop_magic(uint8_t *frame, size_t n)
{
    memmove(frame, frame + MAGIC_BYTES, n - MAGIC_BYTES);
    return n - MAGIC_BYTES;
}

static void reserve_tmp(struct sto_zip *z, size_t n)
{
    if (n <= z->tmp_cap)
        return;
    z->tmp = ts_xrealloc(z->tmp, n);
    z->tmp_cap = n;
}

size_t sto_zip__write(struct sto_zip *z, const uint8_t *src, size_t n, uint8_t *dst)
{
    if (n < MIN_BYTES)
        return 0;
    if (!z->literals)
        z->literals = writer_new(false, 0);
    size_t got = write_with(z->literals, src, n, dst);
    if (z->level == STO_LEVEL_ROUGH)
        return got ? drop_magic(dst, got) : 0;
    if (z->level || n < ALWAYS_BOTH || has_repeats(src, n)) {
        if (!z->matches)
            z->matches = writer_new(true, z->level);
        reserve_tmp(z, ZSTD_compressBound(n));
        size_t other = write_with(z->matches, src, n, z->tmp);
        if (other && (!got || other < got)) {
            got = other;
            memcpy(dst, z->tmp, got);
        }
    }
    if (!got || (!z->level && got - MAGIC_BYTES > (z->quick ? MOST_LEFT_QUICK(n) : MOST_LEFT(n))))
        return 0;
    return drop_magic(dst, got);
}

int sto_zip__read(struct sto_zip *z, struct sto_dec_memory *memory, const uint8_t *src, size_t n_src,
                  uint8_t *dst, size_t n)
{
    TS_TRY(sto_dec_memory__grow(memory, &z->tmp, &z->tmp_cap, n_src + MAGIC_BYTES));
    if (!z->reader)
        z->reader = ts_spare_take(&spare_readers);
    if (!z->reader)
        z->reader = ZSTD_createDCtx();
    if (!z->reader)
        TS_BUG("no memory for a zstd context");
    ts_st32(z->tmp, ZSTD_MAGICNUMBER);
    memcpy(z->tmp + MAGIC_BYTES, src, n_src);
    size_t got = ZSTD_decompressDCtx(z->reader, dst, n, z->tmp, n_src + MAGIC_BYTES);
    return !ZSTD_isError(got) && got == n ? 0 : TS_ECORRUPT;
}
