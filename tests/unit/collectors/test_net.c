/*
 * test_net.c - interfaces, sockets, protocols: texts of several kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/host/parse.h"
#include "t_points.h"

extern const struct col_collector col_net, col_sockets, col_tcpudp;

static const char dev[] = "Inter-|   Receive                                                |  Transmit\n"
                          " face |bytes    packets errs drop fifo frame compressed multicast|bytes    "
                          "packets errs drop fifo colls carrier compressed\n"
                          "    lo: 2776770   11307    0    0    0     0          0         0  2776770   "
                          "11307    0    0    0     0       0          0\n"
                          "  eth0: 18446744073709551615  2  3  4  5  6  7  8 9 10 11 12 13 14 15 16\n"
                          "eth0.100:1215645    2751    0    0    0     0          0         0  1782404    "
                          "4324    0    0    0   427       0          0\n"
                          "br-lan: 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                          "veth1a2b@if7: 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                          "eth0:1: 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 99 99\n"
                          "cut: 5 6\n";

static void test_net__every_name_and_kind(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    col_net_parse(ts_slice_str(dev), "*", "", p.emit);
    t_points_end(&p);
    assert_int_equal(p.n, 6 * 16 + 2);
    assert_string_equal(t_value(&p, "proc.net.bytes direction=in iface=eth0"), "9223372036854775807");
    assert_string_equal(t_value(&p, "proc.net.multicast direction=in iface=eth0"), "8");
    assert_string_equal(t_value(&p, "proc.net.bytes direction=out iface=eth0"), "9");
    assert_string_equal(t_value(&p, "proc.net.colls direction=out iface=eth0"), "14");
    assert_string_equal(t_value(&p, "proc.net.carrier direction=out iface=eth0"), "15");
    assert_string_equal(t_value(&p, "proc.net.compressed direction=out iface=eth0"), "16");
    assert_string_equal(t_value(&p, "proc.net.compressed direction=in iface=eth0"), "7");
    assert_string_equal(t_value(&p, "proc.net.bytes direction=in iface=eth0.100"), "1215645");
    assert_string_equal(t_value(&p, "proc.net.bytes direction=in iface=br-lan"), "1");
    assert_string_equal(t_value(&p, "proc.net.bytes direction=in iface=veth1a2b_if7"), "2");
    assert_string_equal(t_value(&p, "proc.net.bytes direction=in iface=eth0_1"), "3");
    assert_string_equal(t_value(&p, "proc.net.packets direction=in iface=cut"), "6");
    assert_true(t_all_listed(&p, &col_net));
    t_points_release(&p);
}

static void test_net__patterns_choose(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    col_net_parse(ts_slice_str(dev), "eth*, br-?an", "eth0.*,eth0:*", p.emit);
    t_points_end(&p);
    assert_int_equal(p.n, 2 * 16);
    t_points_release(&p);
}

static void test_net__sockstat(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    col_sockstat_parse(
        TS_SLICE_LIT("sockets: used 290\nTCP: inuse 5 orphan 1 tw 2 alloc 7 mem 3\nUDP: inuse 4 mem 2\n"
                     "UDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 6 memory 99\n"),
        4096, p.emit);
    col_sockstat_parse(
        TS_SLICE_LIT(
            "TCP6: inuse 8\nUDP6: inuse 9\nUDPLITE6: inuse 0\nRAW6: inuse 1\nFRAG6: inuse 0 memory 11\n"),
        4096, p.emit);
    t_points_end(&p);
    assert_string_equal(t_value(&p, "net.sockstat.sockets_used"), "290");
    assert_string_equal(t_value(&p, "net.sockstat.num_sockets type=tcp"), "7");
    assert_string_equal(t_value(&p, "net.sockstat.num_timewait"), "2");
    assert_string_equal(t_value(&p, "net.sockstat.num_orphans"), "1");
    assert_string_equal(t_value(&p, "net.sockstat.memory type=tcp"), "12288");
    assert_string_equal(t_value(&p, "net.sockstat.memory type=udp"), "8192");
    assert_string_equal(t_value(&p, "net.sockstat.memory type=ipfrag"), "99");
    assert_string_equal(t_value(&p, "net.sockstat.ipfragqueues"), "6");
    assert_string_equal(t_value(&p, "net.sockstat.sockets_inuse type=tcp6"), "8");
    assert_string_equal(t_value(&p, "net.sockstat.memory type=ipfrag6"), "11");
    assert_int_equal(p.n, 17);
    assert_true(t_all_listed(&p, &col_sockets));
    /* Linux 2.6.18: no UDPLITE, no mem; a new word; a line that is cut */
    t_points_clear(&p);
    col_sockstat_parse(TS_SLICE_LIT("sockets: used 1\nTCP: inuse 5 orphan 0 tw 0 alloc 7\nMPTCP: inuse "
                                    "3\nUDP: inuse\nFRAG: inuse 0 memory 0 new 5\nTCP"),
                       4096, p.emit);
    t_points_end(&p);
    assert_int_equal(p.n, 7);
    t_points_release(&p);
}

static void test_net__tcp_states(void **state)
{
    static const char *const lines[] = {
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
        "   0: 0100007F:8C05 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 499638",
        "   1: 0100007F:8C05 0100007F:0001 01 00000000:00000000",
        "   2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0:0",
        "   3: a b 0C",
        "   4: a b 0D", /* no such state */
        "   5: a b FF",
        "   6: a b 1",
        "   7: a",
        "",
    };
    uint64_t counts[COL_TCP_STATES] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        col_tcp_line(ts_slice_str(lines[i]), counts);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[9], 2);
    assert_int_equal(counts[11], 1);
    assert_int_equal(counts[1] + counts[2] + counts[10], 0);
}

static void test_net__tcp_and_udp_by_name(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    /* names in another order, unknown ones, a negative number, a protocol we leave out */
    col_tcpudp_parse(
        TS_SLICE_LIT(
            "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
            "Tcp: RtoAlgorithm MaxConn ActiveOpens PassiveOpens InSegs OutSegs RetransSegs InErrs OutRsts\n"
            "Tcp: 1 -1 10 20 30 40 50 60 70\n"
            "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors\n"
            "Udp: 1 2 9 4 5 6 7\n"
            "TcpExt: New ListenDrops SyncookiesSent ListenOverflows TCPBacklogDrop\n"
            "TcpExt: 99 12 3 5 18446744073709551615\n"
            "UdpLite: InDatagrams\nUdpLite: 5\nTcpExt: cut\n"),
        p.emit);
    t_points_end(&p);
    assert_string_equal(t_value(&p, "net.stat.tcp.opens type=active"), "10");
    assert_string_equal(t_value(&p, "net.stat.tcp.segments direction=out"), "40");
    assert_string_equal(t_value(&p, "net.stat.tcp.retransmitted"), "50");
    assert_string_equal(t_value(&p, "net.stat.tcp.errors direction=in"), "60");
    assert_string_equal(t_value(&p, "net.stat.tcp.resets direction=out"), "70");
    assert_string_equal(t_value(&p, "net.stat.udp.datagrams direction=in"), "1");
    assert_string_equal(t_value(&p, "net.stat.udp.errors direction=in reason=noport"), "2");
    assert_string_equal(t_value(&p, "net.stat.udp.errors direction=in reason=nomem"), "5");
    assert_string_equal(t_value(&p, "net.stat.udp.errors direction=in reason=other"), "4");
    assert_string_equal(t_value(&p, "net.stat.udp.errors direction=out reason=nomem"), "6");
    assert_string_equal(t_value(&p, "net.stat.tcp.syncookies type=sent"), "3");
    assert_string_equal(t_value(&p, "net.stat.tcp.failed_accept reason=full_acceptq"), "5");
    assert_string_equal(t_value(&p, "net.stat.tcp.failed_accept reason=other"), "7");
    assert_string_equal(t_value(&p, "net.stat.tcp.receive.queue.full"), "9223372036854775807");
    assert_int_equal(p.n, 7 + 6 + 4);
    assert_true(t_all_listed(&p, &col_tcpudp));
    t_points_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_net__every_name_and_kind),
        cmocka_unit_test(test_net__patterns_choose),
        cmocka_unit_test(test_net__sockstat),
        cmocka_unit_test(test_net__tcp_states),
        cmocka_unit_test(test_net__tcp_and_udp_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
