/*
 * test_thrift_binary.c - values of the binary protocol, and where messages end.
 *
 * The bytes are those that Apache Thrift's doc/specs/thrift-binary-protocol.md describes, put together by hand.
 */
#include "tests/unit/hbase/thrift_kit.h"

#include <string.h>

#include "storage/hbase/thrift/binary.h"

/* A reply with everything in it: message head; bool 1, byte 2, double 3, i16 4, i32 5, i64 6, string 7, struct 8 with i32 1; map 9 of
 * string to i32 with two entries; set 10 of i64; list 11 of two structs, the first empty; empty list 12; stop. */
#define HEAD "80010002 00000003 'get' 00000007 "
#define BODY                                                                                                 \
    "020001 01 030002 7f 040003 3ff0000000000000 060004 0102 080005 fffffffe 0a0006 0000000000000102 "       \
    "0b0007 00000002 'ab' 0c0008 080001 00000001 00 "                                                        \
    "0d0009 0b 08 00000002 00000001 'x' 00000001 00000000 00000002 "                                         \
    "0e000a 0a 00000001 0000000000000003 0f000b 0c 00000002 00 0b0001 00000001 'y' 00 "                      \
    "0f000c 00 00000000 00"

static void test_thrift_binary__values_have_the_bytes_of_the_specification(void **state)
{
    (void)state;
    struct ts_buf out;
    ts_buf_init(&out, 0);
    sto_thrift_put_message(&out, STO_THRIFT_CALL, t_slice("get"), 7);
    sto_thrift_put_bool(&out, 1, true);
    sto_thrift_put_i32(&out, 2, -2);
    sto_thrift_put_i64(&out, 3, 258);
    sto_thrift_put_bytes(&out, 4, t_slice("ab"));
    sto_thrift_put_bytes(&out, -1, (struct ts_slice){0});
    size_t n_off = sto_thrift_put_list(&out, 5, STO_THRIFT_STRING, 0);
    sto_thrift_put_item(&out, t_slice("c"));
    sto_thrift_set_i32(&out, n_off, 1);
    sto_thrift_put_field(&out, STO_THRIFT_STRUCT, 6);
    sto_thrift_put_stop(&out);
    sto_thrift_put_stop(&out);
    assert_false(out.failed);
    t_same(ts_buf_get(&out),
           "80010001 00000003 'get' 00000007 020001 01 080002 fffffffe 0a0003 0000000000000102 "
           "0b0004 00000002 'ab' 0bffff 00000000 0f0005 0b 00000001 00000001 'c' 0c0006 00 00");
    ts_buf_release(&out);
}

static void test_thrift_binary__values_are_read_back(void **state)
{
    (void)state;
    struct ts_buf b = t_bytes(HEAD BODY);
    struct sto_thrift_in in = sto_thrift_in(ts_buf_get(&b));
    enum sto_thrift_message type;
    enum sto_thrift_type t;
    struct ts_slice name;
    int32_t seq;
    int16_t id;
    assert_true(sto_thrift_get_message(&in, &type, &name, &seq));
    assert_int_equal(type, STO_THRIFT_REPLY);
    assert_true(ts_slice_is(name, "get"));
    assert_int_equal(seq, 7);
    int n = 0;
    while (sto_thrift_get_field(&in, &t, &id)) {
        assert_int_equal(id, ++n);
        if (t == STO_THRIFT_BOOL)
            assert_true(sto_thrift_get_bool(&in));
        else if (t == STO_THRIFT_I32)
            assert_int_equal(sto_thrift_get_i32(&in), -2);
        else if (t == STO_THRIFT_I64)
            assert_int_equal(sto_thrift_get_i64(&in), 258);
        else if (t == STO_THRIFT_STRING)
            assert_true(ts_slice_is(sto_thrift_get_bytes(&in), "ab"));
        else if (id == 11)
            assert_int_equal(sto_thrift_get_list(&in, STO_THRIFT_STRUCT), 2);
        else
            sto_thrift_skip(&in, t);
        if (id == 11) {
            sto_thrift_skip(&in, STO_THRIFT_STRUCT);
            sto_thrift_skip(&in, STO_THRIFT_STRUCT);
        }
    }
    assert_int_equal(n, 12);
    assert_null(in.why);
    assert_ptr_equal(in.p, in.end);
    assert_int_equal(sto_thrift_in_error(&in, "it", NULL), 0);
    ts_buf_release(&b);
}

/* Every field of a message is skipped; is it fine to its end? */
static bool reads(struct ts_slice message)
{
    struct sto_thrift_in in = sto_thrift_in(message);
    enum sto_thrift_message type;
    enum sto_thrift_type t;
    struct ts_slice name;
    int32_t seq;
    int16_t id;
    sto_thrift_get_message(&in, &type, &name, &seq);
    while (sto_thrift_get_field(&in, &t, &id))
        sto_thrift_skip(&in, t);
    struct ts_error err = {0};
    assert_int_equal(sto_thrift_in_error(&in, "it", &err), in.why ? TS_ECORRUPT : 0);
    assert_int_equal(err.text[0] != 0, in.why != NULL);
    return !in.why;
}

static void test_thrift_binary__no_part_of_a_message_is_taken_for_the_whole(void **state)
{
    (void)state;
    struct ts_buf b = t_bytes(HEAD BODY);
    for (size_t n = 0; n < b.n; n++) {
        struct ts_buf cut; /* a block of its own, so that the sanitizer sees what is read behind it */
        ts_buf_init(&cut, 0);
        ts_buf_append(&cut, b.p, n);
        assert_false(reads(ts_buf_get(&cut)));
        ts_buf_release(&cut);
    }
    assert_true(reads(ts_buf_get(&b)));
    ts_buf_release(&b);
}

static void test_thrift_binary__wrong_lengths_and_types_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        HEAD "0b0001 ffffffff 00",             /* a string of a negative length */
        HEAD "0b0001 7fffffff 'abc' 00",       /* one that is longer than the rest */
        HEAD "0f0001 0c ffffffff 00",          /* a list of a negative length */
        HEAD "0f0001 0c 00000009 00000000 00", /* of more items than bytes */
        HEAD "0f0001 01 00000001 00 00",       /* items of no type */
        HEAD "0d0001 0b0c 7fffffff 00 00",     /* a map like that */
        HEAD "110001 00 00",                   /* a value of no type */
        "80010005 00000003 'get' 00000007 00", /* no type of message */
        "00000003 'get' 02 00000007 00",       /* an old message, not a strict one */
        "80020002 00000003 'get' 00000007 00", /* another version */
        "80010002 ffffffff 00000007 00",       /* a name of a negative length */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ts_buf b = t_bytes(bad[i]);
        if (reads(ts_buf_get(&b)))
            fail_msg("%s is taken for a message", bad[i]);
        ts_buf_release(&b);
    }
    struct ts_buf b = t_bytes("0c 00000001 00");
    struct sto_thrift_in in = sto_thrift_in(ts_buf_get(&b));
    assert_int_equal(sto_thrift_get_list(&in, STO_THRIFT_STRING), 0);
    assert_string_equal(in.why, "a list has items of another type");
    assert_int_equal(sto_thrift_get_i64(&in), 0); /* nothing more is read */
    assert_null(sto_thrift_get_bytes(&in).p);
    ts_buf_release(&b);
}

static void test_thrift_binary__depth_is_limited(void **state)
{
    (void)state;
    for (unsigned depth = STO_THRIFT_MAX_DEPTH - 2; depth < STO_THRIFT_MAX_DEPTH + 2; depth++) {
        struct ts_buf b;
        ts_buf_init(&b, 0);
        for (unsigned i = 0; i < depth; i++)
            sto_thrift_put_field(&b, STO_THRIFT_STRUCT, 1);
        for (unsigned i = 0; i < depth; i++)
            sto_thrift_put_stop(&b);
        struct sto_thrift_in in = sto_thrift_in(ts_buf_get(&b));
        in.p += 3; /* the first field's head */
        sto_thrift_skip(&in, STO_THRIFT_STRUCT);
        assert_int_equal(in.why == NULL, depth <= STO_THRIFT_MAX_DEPTH);
        ts_buf_release(&b);
    }
}

static void test_thrift_binary__what_does_not_fit_is_remembered(void **state)
{
    (void)state;
    struct ts_buf out;
    ts_buf_init(&out, 16);
    sto_thrift_put_bytes(&out, 1, t_slice("123456789"));
    assert_false(out.failed);
    sto_thrift_put_i64(&out, 2, 1);
    assert_true(out.failed);
    sto_thrift_set_i32(&out, sto_thrift_put_list(&out, 3, STO_THRIFT_I32, 1), 5); /* writes nowhere */
    assert_int_equal(out.n, 16);
    ts_buf_release(&out);
    ts_buf_init(&out, 0);
    sto_thrift_put_bytes(&out, 1, (struct ts_slice){"", (size_t)INT32_MAX + 1}); /* never read */
    assert_true(out.failed);
    ts_buf_release(&out);
}

/* --- where a message ends --- */

static void test_thrift_binary__framer_finds_the_end_byte_by_byte(void **state)
{
    (void)state;
    struct ts_buf b = t_bytes(HEAD BODY);
    size_t n = b.n, used;
    t_hex(&b, HEAD); /* the beginning of the next one */
    struct sto_thrift_framer f;
    struct ts_slice message;
    sto_thrift_framer_init(&f, STO_THRIFT_BUFFERED, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sto_thrift_framer_walk(&f, (struct ts_slice){b.p, i}, &used, &message, NULL), 0);
        assert_true(f.need_bytes > i && f.need_bytes <= n);
        assert_int_equal(used, 0);
    }
    assert_int_equal(sto_thrift_framer_walk(&f, ts_buf_get(&b), &used, &message, NULL), 1);
    assert_int_equal(used, n);
    assert_ptr_equal(message.p, b.p);
    assert_int_equal(message.n, n);

    sto_thrift_framer_init(&f, STO_THRIFT_BUFFERED, n); /* all at once */
    assert_int_equal(sto_thrift_framer_walk(&f, ts_buf_get(&b), &used, &message, NULL), 1);
    assert_int_equal(used, n);
    ts_buf_release(&b);
}

static void test_thrift_binary__framer_never_walks_twice(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct ts_buf b;
    ts_buf_init(&b, 0);
    t_hex(&b, HEAD);
    sto_thrift_put_list(&b, 0, STO_THRIFT_STRUCT, N);
    for (int i = 0; i < N; i++) {
        sto_thrift_put_i64(&b, 4, i);
        sto_thrift_put_stop(&b);
    }
    sto_thrift_put_list(&b, 1, STO_THRIFT_I32, N);
    for (int i = 0; i < N; i++)
        ts_buf_append(&b, "\0\0\0\1", 4);
    sto_thrift_put_stop(&b);
    struct sto_thrift_framer f;
    struct ts_slice message;
    size_t used;
    sto_thrift_framer_init(&f, STO_THRIFT_BUFFERED, b.n);
    for (size_t n = 0; n < b.n; n += 100) {
        assert_int_equal(sto_thrift_framer_walk(&f, (struct ts_slice){b.p, n}, &used, &message, NULL), 0);
        assert_true(f.at + 32 > n); /* all but the last unit need not be looked at again */
    }
    assert_int_equal(sto_thrift_framer_walk(&f, ts_buf_get(&b), &used, &message, NULL), 1);
    assert_int_equal(used, b.n);
    ts_buf_release(&b);
}

static void test_thrift_binary__framer_reads_frames(void **state)
{
    (void)state;
    struct ts_buf b = t_bytes("0000000f " HEAD "00 0000");
    struct sto_thrift_framer f;
    struct ts_slice message;
    size_t used;
    b.p[3] = 16;
    sto_thrift_framer_init(&f, STO_THRIFT_FRAMED, 16);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(sto_thrift_framer_walk(&f, (struct ts_slice){b.p, i}, &used, &message, NULL), 0);
        assert_int_equal(f.need_bytes, i < 4 ? 4 : 20);
    }
    assert_int_equal(sto_thrift_framer_walk(&f, ts_buf_get(&b), &used, &message, NULL), 1);
    assert_int_equal(used, 20);
    assert_ptr_equal(message.p, b.p + 4);
    assert_int_equal(message.n, 16);
    assert_true(reads(message));
    ts_buf_release(&b);
}

static void test_thrift_binary__framer_refuses_early(void **state)
{
    (void)state;
    static const struct {
        enum sto_thrift_transport transport;
        const char *bytes, *text;
        int rc;
    } bad[] = {
        {STO_THRIFT_BUFFERED, HEAD "0b0001 00001000", "more than 100 bytes", TS_ELIMIT},
        {STO_THRIFT_BUFFERED, HEAD "0f0001 0c 00001000", "more than 100 bytes", TS_ELIMIT},
        {STO_THRIFT_BUFFERED, HEAD "0d0001 0b0c 00001000", "more than 100 bytes", TS_ELIMIT},
        {STO_THRIFT_BUFFERED, HEAD "0b0001 80000000", "a length is negative", TS_ECORRUPT},
        {STO_THRIFT_BUFFERED, HEAD "100001 00", "unknown type", TS_ECORRUPT},
        {STO_THRIFT_BUFFERED, "80010002 00010000", "the name of its call is too long", TS_ECORRUPT},
        {STO_THRIFT_BUFFERED, "82 41 07 03", "compact protocol", TS_ECORRUPT},
        {STO_THRIFT_BUFFERED, "'HTTP/1.1 400 Bad'", "no strict message", TS_ECORRUPT},
        {STO_THRIFT_BUFFERED, "0000000c 80010002 00000000", "said to be buffered", TS_ECORRUPT},
        {STO_THRIFT_FRAMED, "80010002 00000003", "said to be framed", TS_ECORRUPT},
        {STO_THRIFT_FRAMED, "f0000000", "frame is negative", TS_ECORRUPT},
        {STO_THRIFT_FRAMED, "00000065", "more than 100 bytes", TS_ELIMIT},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ts_buf b = t_bytes(bad[i].bytes);
        struct sto_thrift_framer f;
        struct ts_slice message;
        struct ts_error err = {0};
        size_t used;
        sto_thrift_framer_init(&f, bad[i].transport, 100);
        int rc = sto_thrift_framer_walk(&f, ts_buf_get(&b), &used, &message, &err);
        if (rc != bad[i].rc || !strstr(err.text, bad[i].text))
            fail_msg("%s: %d %s", bad[i].bytes, rc, err.text);
        assert_int_equal(err.code, rc);
        ts_buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thrift_binary__values_have_the_bytes_of_the_specification),
        cmocka_unit_test(test_thrift_binary__values_are_read_back),
        cmocka_unit_test(test_thrift_binary__no_part_of_a_message_is_taken_for_the_whole),
        cmocka_unit_test(test_thrift_binary__wrong_lengths_and_types_are_refused),
        cmocka_unit_test(test_thrift_binary__depth_is_limited),
        cmocka_unit_test(test_thrift_binary__what_does_not_fit_is_remembered),
        cmocka_unit_test(test_thrift_binary__framer_finds_the_end_byte_by_byte),
        cmocka_unit_test(test_thrift_binary__framer_never_walks_twice),
        cmocka_unit_test(test_thrift_binary__framer_reads_frames),
        cmocka_unit_test(test_thrift_binary__framer_refuses_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
