/*
 * hash.c - XXH3 from the library, CRC-32C by instruction or by tables.
 *
 * Source     tables: slicing by 8 (M. Kounavis, F. Berry, "Novel Table Lookup-Based Algorithms for
 * High-Performance CRC Generation", 2008); instruction: three streams at once, because it takes 3 cycles but
 * may start each cycle (V. Gopal and others, "Fast CRC Computation for iSCSI Polynomial Using CRC32
 * Instruction", Intel, 2011); ours joins streams with tables instead of a carry-less product Threads tables
 * are made once (pthread_once) and never change
 */
#include "base/hash.h"
#include "base/hash_int.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/err.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#define HAVE_CRC_INSTRUCTION 1
#else
#define HAVE_CRC_INSTRUCTION 0
#endif

#define CRC_POLY_REFLECTED 0x82f63b78u /* 0x1EDC6F41, bits reversed */
#define STREAM_LONG_BYTES  2048        /* 3 streams of this while that much is left, then of the short one */
#define STREAM_SHORT_BYTES 256

typedef uint32_t (*crc_fn)(uint32_t crc, const void *p, size_t n);

/* What appending a fixed number of zero bytes does to a crc, byte of the crc by byte. */
struct crc_shift {
    uint32_t t[4][256];
};

static pthread_once_t tables_once = PTHREAD_ONCE_INIT;
static uint32_t crc_table[8][256]; /* [k][b]: byte b followed by k zero bytes */
static struct crc_shift shift_long, shift_short;

uint64_t ts_hash(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

static void make_shift(struct crc_shift *s, size_t n_zeros)
{
    for (unsigned k = 0; k < 4; k++) {
        s->t[k][0] = 0;
        for (unsigned bit = 0; bit < 8; bit++) {
            uint32_t crc = 1u << (8 * k + bit);
            for (size_t i = 0; i < n_zeros; i++)
                crc = (crc >> 8) ^ crc_table[0][crc & 0xff];
            for (unsigned low = 0; low < 1u << bit; low++) /* linear: a byte is the sum of its bits */
                s->t[k][(1u << bit) + low] = crc ^ s->t[k][low];
        }
    }
}

static void make_tables(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? CRC_POLY_REFLECTED : 0);
        crc_table[0][b] = crc;
    }
    for (uint32_t b = 0; b < 256; b++) {
        for (int k = 1; k < 8; k++)
            crc_table[k][b] = (crc_table[k - 1][b] >> 8) ^ crc_table[0][crc_table[k - 1][b] & 0xff];
    }
    make_shift(&shift_long, STREAM_LONG_BYTES);
    make_shift(&shift_short, STREAM_SHORT_BYTES);
}

/* --- tables --- */

static uint32_t crc_by_table(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t v = ts_ld64(p) ^ crc;
        crc = crc_table[7][v & 0xff] ^ crc_table[6][v >> 8 & 0xff] ^ crc_table[5][v >> 16 & 0xff] ^
              crc_table[4][v >> 24 & 0xff] ^ crc_table[3][v >> 32 & 0xff] ^ crc_table[2][v >> 40 & 0xff] ^
              crc_table[1][v >> 48 & 0xff] ^ crc_table[0][v >> 56];
    }
    for (; n; n--)
        crc = (crc >> 8) ^ crc_table[0][(crc ^ *p++) & 0xff];
    return ~crc;
}

uint32_t ts_hash__crc32c_table(uint32_t crc, const void *p, size_t n)
{
    pthread_once(&tables_once, make_tables);
    return crc_by_table(crc, p, n);
}

/* --- instruction --- */

#if HAVE_CRC_INSTRUCTION

static inline uint32_t shift_crc(const struct crc_shift *s, uint32_t crc)
{
    return s->t[0][crc & 0xff] ^ s->t[1][crc >> 8 & 0xff] ^ s->t[2][crc >> 16 & 0xff] ^ s->t[3][crc >> 24];
}

/* Three neighbouring streams of n_stream bytes each, joined. */
__attribute__((target("sse4.2"))) static inline uint32_t
crc_three(uint32_t crc, const uint8_t *p, size_t n_stream, const struct crc_shift *shift)
{
    uint64_t a = crc, b = 0, c = 0;
    for (const uint8_t *end = p + n_stream; p < end; p += 8) {
        a = _mm_crc32_u64(a, ts_ld64(p));
        b = _mm_crc32_u64(b, ts_ld64(p + n_stream));
        c = _mm_crc32_u64(c, ts_ld64(p + 2 * n_stream));
    }
    return shift_crc(shift, shift_crc(shift, (uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
}

__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (; n >= 3 * STREAM_LONG_BYTES; n -= 3 * STREAM_LONG_BYTES, p += 3 * STREAM_LONG_BYTES)
        crc = crc_three(crc, p, STREAM_LONG_BYTES, &shift_long);
    for (; n >= 3 * STREAM_SHORT_BYTES; n -= 3 * STREAM_SHORT_BYTES, p += 3 * STREAM_SHORT_BYTES)
        crc = crc_three(crc, p, STREAM_SHORT_BYTES, &shift_short);
    uint64_t crc64 = crc;
    for (; n >= 8; n -= 8, p += 8)
        crc64 = _mm_crc32_u64(crc64, ts_ld64(p));
    crc = (uint32_t)crc64;
    for (; n; n--)
        crc = _mm_crc32_u8(crc, *p++);
    return ~crc;
}

#endif

bool ts_hash__crc32c_has_hw(void)
{
#if HAVE_CRC_INSTRUCTION
    return __builtin_cpu_supports("sse4.2");
#else
    return false;
#endif
}

static crc_fn best_crc(void)
{
    pthread_once(&tables_once, make_tables);
#if HAVE_CRC_INSTRUCTION
    if (ts_hash__crc32c_has_hw())
        return crc_by_instruction;
#endif
    return crc_by_table;
}

uint32_t ts_hash__crc32c_hw(uint32_t crc, const void *p, size_t n)
{
    crc_fn fn = best_crc();
    if (fn == crc_by_table)
        TS_BUG("no crc32 instruction here");
    return fn(crc, p, n);
}

/* --- the one to call --- */

static uint32_t crc_first(uint32_t crc, const void *p, size_t n);

/* crc_first until the tables are there. Release by crc_first, acquire in ts_crc32c: who sees the other
 * function sees the tables too. */
static _Atomic(crc_fn) crc_chosen = crc_first;

static uint32_t crc_first(uint32_t crc, const void *p, size_t n)
{
    crc_fn fn = best_crc();
    atomic_store_explicit(&crc_chosen, fn, memory_order_release);
    return fn(crc, p, n);
}

uint32_t ts_crc32c(uint32_t crc, const void *p, size_t n)
{
    return atomic_load_explicit(&crc_chosen, memory_order_acquire)(crc, p, n);
}
