/*
 * t_hbase.h - bytes in hexadecimal digits, for the tests of storage/hbase.
 *
 * Threads    one
 */
#ifndef T_HBASE_H
#define T_HBASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "storage/hbase/rowkey.h"

#define T_HEX_BYTES 512

/* Bytes that own their memory. */
struct t_bytes {
    uint8_t p[T_HEX_BYTES];
    size_t n;
};

/** The bytes of hexadecimal digits; blanks between them are ignored. */
static inline struct t_bytes t_hex(const char *text)
{
    char packed[2 * T_HEX_BYTES];
    size_t n = 0;
    for (; *text; text++)
        if (*text != ' ') {
            assert_true(n < sizeof(packed));
            packed[n++] = *text;
        }
    struct t_bytes out;
    int got = sto_hbase_hex_parse((struct ts_slice){packed, n}, out.p, sizeof(out.p));
    assert_true(got >= 0);
    out.n = (size_t)got;
    return out;
}
/** A slice of bytes. */
static inline struct ts_slice t_slice(const struct t_bytes *b)
{
    return (struct ts_slice){(const char *)b->p, b->n};
}
/** The bytes are those of the digits. */
static inline void t_assert_hex(const void *p, size_t n, const char *expected)
{
    struct t_bytes want = t_hex(expected);
    char text[2 * T_HEX_BYTES + 1];
    assert_true(n <= T_HEX_BYTES);
    sto_hbase_hex_print((struct ts_slice){(const char *)p, n}, text);
    text[2 * n] = 0;
    char wanted[2 * T_HEX_BYTES + 1];
    sto_hbase_hex_print(t_slice(&want), wanted);
    wanted[2 * want.n] = 0;
    assert_string_equal(text, wanted);
}

#endif
