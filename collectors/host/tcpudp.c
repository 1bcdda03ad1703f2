/*
 * tcpudp.c - counters of TCP and UDP, from /proc/net/netstat and /proc/net/snmp.
 *
 * Both files have pairs of lines, names and numbers; kernels add names and drop some, so each is looked up.
 *
 * Threads    the collector's own
 * Not here   sockets (sockets.c)
 * Source     proc_pid_net(5), the kernel's Documentation/networking/snmp_counter.rst; docs/OPENTSDB.md, section 12.5, netstat
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

static const struct col_metric metrics[] = {
    {"net.stat.tcp.segments", "direction", "segments", "TCP segments in and out.", COL_COUNTER},
    {"net.stat.tcp.opens", "type", "connections",
     "TCP connections begun here (active) and accepted (passive).", COL_COUNTER},
    {"net.stat.tcp.retransmitted", "", "segments", "TCP segments sent again.", COL_COUNTER},
    {"net.stat.tcp.syncookies", "type", "1", "SYN cookies sent, received, failed.", COL_COUNTER},
    {"net.stat.tcp.memory.prune", "type", "1",
     "Received data discarded for lack of memory: drop_ofo_queue, drop_received.", COL_COUNTER},
    {"net.stat.tcp.memory.pressure", "", "1", "Times TCP came under memory pressure.", COL_COUNTER},
    {"net.stat.tcp.delayedack", "type", "1", "Delayed ACKs sent, locked, lost.", COL_COUNTER},
    {"net.stat.tcp.failed_accept", "reason", "connections", "Connections not accepted: full_acceptq, other.",
     COL_COUNTER},
    {"net.stat.tcp.retransmit", "type", "segments", "Segments sent again by kind: forward, fast, slowstart.",
     COL_COUNTER},
    {"net.stat.tcp.packetloss.recovery", "type", "1", "Recoveries from loss: fast_retransmit, sack.",
     COL_COUNTER},
    {"net.stat.tcp.reording", "detectedby", "1",
     "Segments found out of order, by fack, sack, fast_retransmit, timestamp (the spelling is tcollector's).",
     COL_COUNTER},
    {"net.stat.tcp.congestion.recovery", "type", "1",
     "Windows restored: full_undo, hoe_heuristic, sack, ack.", COL_COUNTER},
    {"net.stat.tcp.abort", "type", "connections",
     "Connections aborted: unexpected_syn, data_after_fin_wait1, data_after_close, out_of_memory, timeout, "
     "linger.",
     COL_COUNTER},
    {"net.stat.tcp.abort.failed", "", "1", "Resets that could not be sent.", COL_COUNTER},
    {"net.stat.tcp.invalid_sack", "type", "1", "SACK blocks ignored: invalid, retransmit, olddup.",
     COL_COUNTER},
    {"net.stat.tcp.receive.queue.full", "", "segments",
     "Segments dropped because a socket's backlog was full.", COL_COUNTER},
    {"net.stat.tcp.resets", "direction", "segments", "Resets sent (out).", COL_COUNTER},
    {"net.stat.tcp.errors", "direction", "segments", "Damaged segments received (in).", COL_COUNTER},
    {"net.stat.udp.datagrams", "direction", "datagrams", "UDP datagrams in and out.", COL_COUNTER},
    {"net.stat.udp.errors", "direction reason", "datagrams",
     "UDP datagrams lost: in noport, nomem, other; out nomem.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* A number of a protocol. minus: the name of a number that it includes and that has a row of its own; it is subtracted. */
static const struct {
    const char *proto, *name, *minus, *metric, *key1, *value1, *key2, *value2;
} rows[] = {
    {"TcpExt", "SyncookiesSent", NULL, "net.stat.tcp.syncookies", "type", "sent", NULL, NULL},
    {"TcpExt", "SyncookiesRecv", NULL, "net.stat.tcp.syncookies", "type", "received", NULL, NULL},
    {"TcpExt", "SyncookiesFailed", NULL, "net.stat.tcp.syncookies", "type", "failed", NULL, NULL},
    {"TcpExt", "OfoPruned", NULL, "net.stat.tcp.memory.prune", "type", "drop_ofo_queue", NULL, NULL},
    {"TcpExt", "RcvPruned", NULL, "net.stat.tcp.memory.prune", "type", "drop_received", NULL, NULL},
    {"TcpExt", "TCPMemoryPressures", NULL, "net.stat.tcp.memory.pressure", NULL, NULL, NULL, NULL},
    {"TcpExt", "DelayedACKs", NULL, "net.stat.tcp.delayedack", "type", "sent", NULL, NULL},
    {"TcpExt", "DelayedACKLocked", NULL, "net.stat.tcp.delayedack", "type", "locked", NULL, NULL},
    {"TcpExt", "DelayedACKLost", NULL, "net.stat.tcp.delayedack", "type", "lost", NULL, NULL},
    {"TcpExt", "ListenOverflows", NULL, "net.stat.tcp.failed_accept", "reason", "full_acceptq", NULL, NULL},
    {"TcpExt", "ListenDrops", "ListenOverflows", "net.stat.tcp.failed_accept", "reason", "other", NULL, NULL},
    {"TcpExt", "TCPForwardRetrans", NULL, "net.stat.tcp.retransmit", "type", "forward", NULL, NULL},
    {"TcpExt", "TCPFastRetrans", NULL, "net.stat.tcp.retransmit", "type", "fast", NULL, NULL},
    {"TcpExt", "TCPSlowStartRetrans", NULL, "net.stat.tcp.retransmit", "type", "slowstart", NULL, NULL},
    {"TcpExt", "TCPRenoRecovery", NULL, "net.stat.tcp.packetloss.recovery", "type", "fast_retransmit", NULL,
     NULL},
    {"TcpExt", "TCPSackRecovery", NULL, "net.stat.tcp.packetloss.recovery", "type", "sack", NULL, NULL},
    {"TcpExt", "TCPFACKReorder", NULL, "net.stat.tcp.reording", "detectedby", "fack", NULL, NULL},
    {"TcpExt", "TCPSACKReorder", NULL, "net.stat.tcp.reording", "detectedby", "sack", NULL, NULL},
    {"TcpExt", "TCPRenoReorder", NULL, "net.stat.tcp.reording", "detectedby", "fast_retransmit", NULL, NULL},
    {"TcpExt", "TCPTSReorder", NULL, "net.stat.tcp.reording", "detectedby", "timestamp", NULL, NULL},
    {"TcpExt", "TCPFullUndo", NULL, "net.stat.tcp.congestion.recovery", "type", "full_undo", NULL, NULL},
    {"TcpExt", "TCPPartialUndo", NULL, "net.stat.tcp.congestion.recovery", "type", "hoe_heuristic", NULL,
     NULL},
    {"TcpExt", "TCPDSACKUndo", NULL, "net.stat.tcp.congestion.recovery", "type", "sack", NULL, NULL},
    {"TcpExt", "TCPLossUndo", NULL, "net.stat.tcp.congestion.recovery", "type", "ack", NULL, NULL},
    {"TcpExt", "TCPAbortOnSyn", NULL, "net.stat.tcp.abort", "type", "unexpected_syn", NULL, NULL},
    {"TcpExt", "TCPAbortOnData", NULL, "net.stat.tcp.abort", "type", "data_after_fin_wait1", NULL, NULL},
    {"TcpExt", "TCPAbortOnClose", NULL, "net.stat.tcp.abort", "type", "data_after_close", NULL, NULL},
    {"TcpExt", "TCPAbortOnMemory", NULL, "net.stat.tcp.abort", "type", "out_of_memory", NULL, NULL},
    {"TcpExt", "TCPAbortOnTimeout", NULL, "net.stat.tcp.abort", "type", "timeout", NULL, NULL},
    {"TcpExt", "TCPAbortOnLinger", NULL, "net.stat.tcp.abort", "type", "linger", NULL, NULL},
    {"TcpExt", "TCPAbortFailed", NULL, "net.stat.tcp.abort.failed", NULL, NULL, NULL, NULL},
    {"TcpExt", "TCPSACKDiscard", NULL, "net.stat.tcp.invalid_sack", "type", "invalid", NULL, NULL},
    {"TcpExt", "TCPDSACKIgnoredOld", NULL, "net.stat.tcp.invalid_sack", "type", "retransmit", NULL, NULL},
    {"TcpExt", "TCPDSACKIgnoredNoUndo", NULL, "net.stat.tcp.invalid_sack", "type", "olddup", NULL, NULL},
    {"TcpExt", "TCPBacklogDrop", NULL, "net.stat.tcp.receive.queue.full", NULL, NULL, NULL, NULL},
    {"Tcp", "InSegs", NULL, "net.stat.tcp.segments", "direction", "in", NULL, NULL},
    {"Tcp", "OutSegs", NULL, "net.stat.tcp.segments", "direction", "out", NULL, NULL},
    {"Tcp", "ActiveOpens", NULL, "net.stat.tcp.opens", "type", "active", NULL, NULL},
    {"Tcp", "PassiveOpens", NULL, "net.stat.tcp.opens", "type", "passive", NULL, NULL},
    {"Tcp", "RetransSegs", NULL, "net.stat.tcp.retransmitted", NULL, NULL, NULL, NULL},
    {"Tcp", "OutRsts", NULL, "net.stat.tcp.resets", "direction", "out", NULL, NULL},
    {"Tcp", "InErrs", NULL, "net.stat.tcp.errors", "direction", "in", NULL, NULL},
    {"Udp", "InDatagrams", NULL, "net.stat.udp.datagrams", "direction", "in", NULL, NULL},
    {"Udp", "OutDatagrams", NULL, "net.stat.udp.datagrams", "direction", "out", NULL, NULL},
    {"Udp", "NoPorts", NULL, "net.stat.udp.errors", "direction", "in", "reason", "noport"},
    {"Udp", "RcvbufErrors", NULL, "net.stat.udp.errors", "direction", "in", "reason", "nomem"},
    {"Udp", "InErrors", "RcvbufErrors", "net.stat.udp.errors", "direction", "in", "reason", "other"},
    {"Udp", "SndbufErrors", NULL, "net.stat.udp.errors", "direction", "out", "reason", "nomem"},
};

/* The number under a name; false if there is no such name or the number is negative (Tcp MaxConn is -1). */
static bool pair_find(struct ts_slice names, struct ts_slice numbers, const char *name, uint64_t *out)
{
    struct ts_slice a, b;
    while (col_word_next(&names, &a) && col_word_next(&numbers, &b))
        if (ts_slice_is(a, name))
            return col_u64_of(b, out);
    return false;
}

static void pair_emit(struct ts_slice proto, struct ts_slice names, struct ts_slice numbers,
                      struct col_emit *emit)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t v, less = 0;
        if (!ts_slice_is(proto, rows[i].proto) || !pair_find(names, numbers, rows[i].name, &v))
            continue;
        if (rows[i].minus)
            (void)pair_find(names, numbers, rows[i].minus, &less);
        const struct col_tag tags[2] = {{rows[i].key1, ts_slice_str(rows[i].value1 ? rows[i].value1 : "")},
                                        {rows[i].key2, ts_slice_str(rows[i].value2 ? rows[i].value2 : "")}};
        col_emit_u64(emit, rows[i].metric, v >= less ? v - less : 0, tags,
                     rows[i].key2   ? 2
                     : rows[i].key1 ? 1
                                    : 0);
    }
}

void col_tcpudp_parse(struct ts_slice text, struct col_emit *emit)
{
    struct ts_slice line, names = {NULL, 0}, proto = {NULL, 0};
    while (col_line_next(&text, &line)) {
        const char *colon = memchr(line.p, ':', line.n);
        if (!colon)
            continue;
        struct ts_slice head = {line.p, (size_t)(colon - line.p)}, rest = {colon + 1, line.n - head.n - 1};
        if (proto.n && ts_slice_eq(head, proto)) {
            pair_emit(proto, names, rest, emit);
            proto.n = 0;
        } else {
            proto = head;
            names = rest;
        }
    }
}

static int tcpudp_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    TS_TRY(col_text_read(state, emit, "/proc/net/snmp", col_tcpudp_parse, err));
    return col_text_read(state, emit, "/proc/net/netstat", col_tcpudp_parse, err);
}

const struct col_collector col_tcpudp = {
    .name = "tcpudp",
    .help = "Counters of TCP and UDP: segments, retransmissions, losses, errors.",
    .metrics = metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = tcpudp_read,
    .release = col_text_release,
};
