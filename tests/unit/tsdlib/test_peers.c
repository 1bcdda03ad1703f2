/*
 * test_peers.c - connections by address: limits at their edge, networks of IPv6, loopback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "tsd/peers.h"

static uint64_t key_of(const char *text)
{
    union {
        struct sockaddr sa;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } a;
    memset(&a, 0, sizeof(a));
    if (inet_pton(AF_INET, text, &a.in.sin_addr) == 1)
        a.sa.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &a.in6.sin6_addr) == 1)
        a.sa.sa_family = AF_INET6;
    return tsd_peer_key(&a.sa);
}

static void test_peers__keys_are_addresses_and_networks(void **state)
{
    (void)state;
    assert_true(tsd_peer_is_loopback(key_of("127.0.0.1")) && tsd_peer_is_loopback(key_of("127.255.9.9")));
    assert_true(key_of("127.0.0.1") != key_of("127.0.0.2"));
    assert_int_equal(key_of("::1"), key_of("127.0.0.1"));
    assert_int_equal(key_of("::ffff:127.0.0.1"), key_of("127.0.0.1"));
    assert_false(tsd_peer_is_loopback(key_of("126.255.255.255")) ||
                 tsd_peer_is_loopback(key_of("128.0.0.1")));
    assert_false(tsd_peer_is_loopback(key_of("2001:db8:1:2::1")) || tsd_peer_is_loopback(0));
    assert_int_equal(key_of("a socket pair"), 0);
    assert_true(key_of("192.0.2.1") != 0);
    assert_true(key_of("192.0.2.1") != key_of("192.0.2.2"));
    assert_true(key_of("128.0.0.1") != 0);
    assert_int_equal(key_of("::ffff:192.0.2.1"), key_of("192.0.2.1"));
    assert_int_equal(key_of("2001:db8:1:2::1"), key_of("2001:db8:1:2:ffff::9"));
    assert_true(key_of("2001:db8:1:2::1") != key_of("2001:db8:1:3::1"));
}

static void test_peers__a_limit_holds_at_its_edge(void **state)
{
    static struct tsd_peers p;
    uint64_t a = key_of("192.0.2.1"), b = key_of("192.0.2.2");
    (void)state;
    tsd_peers_init(&p);
    for (int i = 0; i < 3; i++)
        assert_true(tsd_peers_add(&p, a, 3));
    assert_false(tsd_peers_add(&p, a, 3));
    assert_false(tsd_peers_add(&p, a, 3)); /* what was refused was not counted */
    assert_true(tsd_peers_add(&p, b, 3));
    assert_true(tsd_peers_add(&p, a, 0)); /* no limit */
    tsd_peers_remove(&p, a);
    tsd_peers_remove(&p, a);
    assert_true(tsd_peers_add(&p, a, 3));
    assert_false(tsd_peers_add(&p, a, 3));
    for (int i = 0; i < 100; i++)
        assert_true(tsd_peers_add(&p, 0, 1)); /* no internet address */
    tsd_peers_remove(&p, 0);
    tsd_peers_release(&p);
}

static void test_peers__many_addresses_come_and_go(void **state)
{
    static struct tsd_peers p;
    (void)state;
    tsd_peers_init(&p);
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t key = 1; key <= 5000; key++)
            assert_true(tsd_peers_add(&p, key, 1));
        for (uint64_t key = 1; key <= 5000; key++)
            assert_false(tsd_peers_add(&p, key, 1));
        for (uint64_t key = 5000; key > 0; key--)
            tsd_peers_remove(&p, key);
    }
    for (unsigned i = 0; i < TSD_PEERS_BUCKETS; i++)
        assert_null(p.buckets[i]); /* nobody is remembered */
    tsd_peers_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers__keys_are_addresses_and_networks),
        cmocka_unit_test(test_peers__a_limit_holds_at_its_edge),
        cmocka_unit_test(test_peers__many_addresses_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
