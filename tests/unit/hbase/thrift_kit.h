/*
 * thrift_kit.h - what tests of Thrift2 share: bytes written as hexadecimal text.
 */
#ifndef TESTS_UNIT_HBASE_THRIFT_KIT_H
#define TESTS_UNIT_HBASE_THRIFT_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"

static inline int t_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Append bytes: pairs of digits, blanks between them, and 'text' in quotes as it is. */
static inline void t_hex(struct ts_buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == ' ')
            continue;
        if (*p == '\'') {
            for (p++; *p != '\''; p++)
                ts_buf_char(out, *p);
            continue;
        }
        assert_true(t_digit(p[0]) >= 0 && t_digit(p[1]) >= 0);
        ts_buf_char(out, (char)(t_digit(p[0]) << 4 | t_digit(p[1])));
        p++;
    }
}

/* The same in a buffer of its own, which ts_buf_release frees. */
static inline struct ts_buf t_bytes(const char *text)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    t_hex(&b, text);
    return b;
}

/* Are these bytes those of the text? */
static inline void t_same(struct ts_slice got, const char *want_text)
{
    struct ts_buf want = t_bytes(want_text);
    size_t n = got.n < want.n ? got.n : want.n;
    for (size_t i = 0; i < n; i++)
        if (got.p[i] != want.p[i])
            fail_msg("byte %zu is %02x and should be %02x", i, (unsigned char)got.p[i],
                     (unsigned char)want.p[i]);
    assert_int_equal(got.n, want.n);
    ts_buf_release(&want);
}

static inline struct ts_slice t_slice(const char *s)
{
    return ts_slice_str(s);
}

#endif
