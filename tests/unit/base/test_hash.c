/*
 * test_hash.c - CRC-32C against the RFC, against bit by bit, and one way against the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_int.h"

/* The definition: one bit at a time. */
static uint32_t crc_by_bits(uint32_t crc, const uint8_t *p, size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static void check_all_ways(const uint8_t *p, size_t n, uint32_t expect)
{
    assert_int_equal(ts_crc32c(0, p, n), expect);
    assert_int_equal(ts_hash__crc32c_table(0, p, n), expect);
    if (ts_hash__crc32c_has_hw())
        assert_int_equal(ts_hash__crc32c_hw(0, p, n), expect);
}

static void test_hash__crc_matches_rfc_3720(void **state)
{
    (void)state;
    uint8_t b[32];
    memset(b, 0, sizeof(b));
    check_all_ways(b, 32, 0x8a9136aau);
    memset(b, 0xff, sizeof(b));
    check_all_ways(b, 32, 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        b[i] = (uint8_t)i;
    check_all_ways(b, 32, 0x46dd794eu);
    for (int i = 0; i < 32; i++)
        b[i] = (uint8_t)(31 - i);
    check_all_ways(b, 32, 0x113fdb5cu);
    const uint8_t read_pdu[48] = {
        0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18,
        0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    };
    check_all_ways(read_pdu, sizeof(read_pdu), 0xd9963a56u);
    check_all_ways((const uint8_t *)"123456789", 9, 0xe3069283u);
    check_all_ways(NULL, 0, 0);
}

/* Bytes that follow from their place. */
static void fill(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(ts_hash_u64(i + 1) >> 24);
}

static void test_hash__every_length_and_alignment_agrees_with_the_definition(void **state)
{
    (void)state;
    static uint8_t b[16 + 14000];
    fill(b, sizeof(b));
    size_t n_wrong = 0;
    for (size_t n = 0; n <= 14000; n += n < 2000 ? 1 : 191) { /* past two rounds of the long streams */
        const uint8_t *p = b + n % 16;
        uint32_t expect = crc_by_bits(0, p, n);
        n_wrong += ts_crc32c(0, p, n) != expect;
        n_wrong += ts_hash__crc32c_table(0, p, n) != expect;
        if (ts_hash__crc32c_has_hw())
            n_wrong += ts_hash__crc32c_hw(0, p, n) != expect;
    }
    assert_int_equal(n_wrong, 0);
}

static void test_hash__crc_can_be_continued_at_any_place(void **state)
{
    (void)state;
    static uint8_t b[9000];
    fill(b, sizeof(b));
    uint32_t whole = ts_crc32c(0, b, sizeof(b));
    for (size_t cut = 0; cut <= sizeof(b); cut += 37) {
        uint32_t crc = ts_crc32c(0, b, cut);
        assert_int_equal(ts_crc32c(crc, b + cut, sizeof(b) - cut), whole);
        assert_int_equal(ts_hash__crc32c_table(crc, b + cut, sizeof(b) - cut), whole);
    }
}

static void test_hash__crc_sees_every_flipped_bit(void **state)
{
    (void)state;
    static uint8_t b[7000];
    fill(b, sizeof(b));
    uint32_t whole = ts_crc32c(0, b, sizeof(b));
    for (size_t bit = 0; bit < sizeof(b) * 8; bit += 11) {
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(ts_crc32c(0, b, sizeof(b)), whole);
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void test_hash__xxh3_is_xxh3(void **state)
{
    (void)state;
    assert_true(ts_hash(NULL, 0) == 0x2d06800538d394c2ull); /* the library's documented value for nothing */
    assert_true(ts_hash("abc", 3) == ts_hash("abcd", 3));
    assert_true(ts_hash("abc", 3) != ts_hash("abd", 3));
}

static void test_hash__u64_mix_is_what_stores_were_made_with(void **state)
{
    (void)state;
    assert_true(ts_hash_u64(0) == 0);
    assert_true(ts_hash_u64(1) == 0xb456bcfc34c2cb2cull);
    assert_true(ts_hash_u64(2) == 0x3abf2a20650683e7ull);
    assert_true(ts_hash_u64(UINT64_MAX) == 0x64b5720b4b825f21ull);
    unsigned n_in[16] = {0};
    for (uint64_t i = 0; i < 16000; i++)
        n_in[ts_hash_u64(i) & 15]++;
    for (int i = 0; i < 16; i++)
        assert_in_range(n_in[i], 850, 1150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash__crc_matches_rfc_3720),
        cmocka_unit_test(test_hash__every_length_and_alignment_agrees_with_the_definition),
        cmocka_unit_test(test_hash__crc_can_be_continued_at_any_place),
        cmocka_unit_test(test_hash__crc_sees_every_flipped_bit),
        cmocka_unit_test(test_hash__xxh3_is_xxh3),
        cmocka_unit_test(test_hash__u64_mix_is_what_stores_were_made_with),
    };
    if (!ts_hash__crc32c_has_hw())
        fputs("no crc32 instruction on this machine: tables only\n", stderr);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
