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

#include "tsd/daemon/peers.h"
#include "tsd/daemon/settings.h"

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

static struct tsd_memory memory;
static struct ts_budget spool;

static void set_up(struct tsd_peers *p)
{
    struct tsd_settings set = {.memory_limit_bytes = 512 << 20};
    tsd_memory_defaults(&set);
    tsd_memory_init(&memory, &set);
    ts_budget_init(&spool, "spool", "query_spool_bytes", NULL, 1 << 30);
    tsd_peers_init(p, &memory, &spool);
}

static void test_peers__texts_are_addresses_and_networks(void **state)
{
    (void)state;
    char text[TSD_PEER_TEXT_BYTES];
    assert_string_equal(tsd_peer_text(key_of("192.0.2.1"), text), "192.0.2.1");
    assert_string_equal(tsd_peer_text(key_of("255.255.255.255"), text), "255.255.255.255");
    assert_string_equal(tsd_peer_text(key_of("::1"), text), "127.0.0.1");
    assert_string_equal(tsd_peer_text(key_of("2001:db8:1:2::1"), text), "2001:db8:1:2::/64");
    assert_string_equal(tsd_peer_text(UINT64_MAX, text), "ffff:ffff:ffff:ffff::/64");
}

static bool add(struct tsd_peers *p, uint64_t key, uint32_t max, struct tsd_peer **out)
{
    struct tsd_peer_limits limits = {.of_address = max};
    return tsd_peers_add(p, key, &limits, out);
}

static void test_peers__a_limit_holds_at_its_edge(void **state)
{
    static struct tsd_peers p;
    uint64_t a = key_of("192.0.2.1"), b = key_of("192.0.2.2");
    struct tsd_peer *one, *other;
    (void)state;
    set_up(&p);
    for (int i = 0; i < 3; i++)
        assert_true(add(&p, a, 3, &one));
    assert_false(add(&p, a, 3, &other));
    assert_null(other);
    assert_false(add(&p, a, 3, &other)); /* what was refused was not counted */
    assert_true(add(&p, b, 3, &other));
    assert_ptr_not_equal(one, other);
    assert_true(add(&p, a, 0, &other)); /* no limit */
    assert_ptr_equal(one, other);
    tsd_peers_remove(&p, one);
    tsd_peers_remove(&p, one);
    assert_true(add(&p, a, 3, &one));
    assert_false(add(&p, a, 3, &other));
    for (int i = 0; i < 100; i++)
        assert_true(add(&p, 0, 1, &other)); /* no internet address */
    assert_null(other);
    tsd_peers_remove(&p, other);
    tsd_peers_release(&p);
}

static void test_peers__many_addresses_come_and_go(void **state)
{
    static struct tsd_peers p;
    static struct tsd_peer *all[5001], *none;
    (void)state;
    set_up(&p);
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t key = 1; key <= 5000; key++)
            assert_true(add(&p, key, 1, &all[key]));
        for (uint64_t key = 1; key <= 5000; key++)
            assert_false(add(&p, key, 1, &none));
        for (uint64_t key = 5000; key > 0; key--)
            tsd_peers_remove(&p, all[key]);
    }
    for (unsigned i = 0; i < TSD_PEERS_BUCKETS; i++)
        assert_null(p.buckets[i]); /* nobody is remembered */
    tsd_peers_release(&p);
}

/* Of ten connections one loopback address has eight, all of them nine, and other machines are not concerned. */
static void test_peers__loopback_addresses_have_one_limit_together(void **state)
{
    static struct tsd_peers p;
    const struct tsd_peer_limits limits = {.of_address = 8, .of_loopback = 9};
    struct tsd_peer *one, *other, *far, *none;
    (void)state;
    set_up(&p);
    for (int i = 0; i < 8; i++)
        assert_true(tsd_peers_add(&p, key_of("127.0.0.1"), &limits, &one));
    assert_false(tsd_peers_add(&p, key_of("::1"), &limits, &none));
    assert_true(tsd_peers_add(&p, key_of("127.0.0.2"), &limits, &other));
    assert_false(tsd_peers_add(&p, key_of("127.0.0.2"), &limits, &none));
    assert_false(tsd_peers_add(&p, key_of("127.0.0.3"), &limits, &none));
    assert_true(tsd_peers_add(&p, key_of("192.0.2.1"), &limits, &far));
    tsd_peers_remove(&p, one);
    tsd_peers_remove(&p, far);
    assert_true(tsd_peers_add(&p, key_of("127.0.0.3"), &limits, &none));
    assert_int_equal(p.n_loopback, 9);
    tsd_peers_release(&p);
}

static void test_peers__one_address_leaves_memory_for_others(void **state)
{
    static struct tsd_peers p;
    struct tsd_peer *one, *other;
    (void)state;
    set_up(&p);
    assert_true(add(&p, key_of("192.0.2.1"), 0, &one));
    assert_true(add(&p, key_of("192.0.2.2"), 0, &other));
    for (enum tsd_shared i = 0; i < TSD_SHARED; i++) {
        struct ts_budget *hers = tsd_memory_share(&memory, &one->memory, i),
                         *his = tsd_memory_share(&memory, &other->memory, i),
                         *all = tsd_memory_share(&memory, NULL, i);
        while (ts_budget_take(hers, 16 << 10, NULL) == 0)
            ;
        assert_true(hers->used_bytes > all->limit_bytes / 3);
        assert_true(hers->used_bytes < all->limit_bytes * 3 / 4);
        assert_int_equal(ts_budget_take(his, all->limit_bytes / 16, NULL), 0);
        assert_int_equal(all->n_share_refused, 1);
        ts_budget_give_all(hers);
        ts_budget_give_all(his);
        assert_int_equal(all->used_bytes, 0);
    }
    tsd_peers_remove(&p, one);
    tsd_peers_remove(&p, other);
    tsd_peers_release(&p);
}

static void test_peers__the_most_points_come_first(void **state)
{
    (void)state;
    struct tsd_peers p;
    struct tsd_peer *at[40];
    struct tsd_peer_row rows[8];
    set_up(&p);
    assert_int_equal(tsd_peers_top(&p, rows, 8), 0);
    for (uint64_t i = 0; i < 40; i++) {
        assert_true(add(&p, key_of("192.0.2.0") + i, 9, &at[i]));
        at[i]->n_points = (i * 7) % 40 * 10; /* each multiple of ten up to 390 once */
    }
    assert_true(add(&p, key_of("192.0.2.7"), 9, &at[7]));
    assert_int_equal(tsd_peers_top(&p, rows, 8), 8);
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(rows[i].n_points, 390 - i * 10);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(rows[i].n_connections, rows[i].key == key_of("192.0.2.7") ? 2 : 1);
    assert_int_equal(tsd_peers_top(&p, rows, 1), 1);
    assert_int_equal(rows[0].n_points, 390);
    assert_int_equal(tsd_peers_top(&p, rows, 0), 0);
    tsd_peers_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers__keys_are_addresses_and_networks),
        cmocka_unit_test(test_peers__texts_are_addresses_and_networks),
        cmocka_unit_test(test_peers__the_most_points_come_first),
        cmocka_unit_test(test_peers__a_limit_holds_at_its_edge),
        cmocka_unit_test(test_peers__many_addresses_come_and_go),
        cmocka_unit_test(test_peers__loopback_addresses_have_one_limit_together),
        cmocka_unit_test(test_peers__one_address_leaves_memory_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
