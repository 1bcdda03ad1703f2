/*
 * sockets.c - sockets in use, from /proc/net/sockstat and sockstat6; states of TCP sockets, from /proc/net/tcp and tcp6.
 *
 * Files of kernels without IPv6 are missing. /proc/net/tcp may have a million lines: it is read in pieces.
 *
 * Threads    the collector's own
 * Not here   counters of protocols (tcpudp.c)
 * Source     proc_pid_net(5); docs/OPENTSDB.md, section 12.5, netstat
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#include <stdio.h>
#include <unistd.h>

static const struct col_metric metrics[] = {
    {"net.sockstat.sockets_used", "", "sockets", "Sockets of all kinds.", COL_GAUGE},
    {"net.sockstat.num_sockets", "type", "sockets", "TCP sockets that have memory.", COL_GAUGE},
    {"net.sockstat.num_timewait", "", "sockets", "TCP sockets in TIME_WAIT.", COL_GAUGE},
    {"net.sockstat.num_orphans", "", "sockets", "TCP sockets without a process.", COL_GAUGE},
    {"net.sockstat.sockets_inuse", "type", "sockets",
     "In use: tcp, udp, udplite, raw, and with 6 behind it those of IPv6.", COL_GAUGE},
    {"net.sockstat.memory", "type", "bytes", "Memory of buffers: tcp, udp, ipfrag, ipfrag6.", COL_GAUGE},
    {"net.sockstat.ipfragqueues", "", "queues", "Packets being put together from fragments.", COL_GAUGE},
    {"net.tcp_state.*", "type", "sockets",
     "TCP sockets (type tcp, tcp6) in a state: established, syn_sent, syn_recv, fin_wait1, fin_wait2, "
     "time_wait, close, close_wait, last_ack, listen, closing, new_syn_recv.",
     COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* A word of a line of sockstat. */
static const struct {
    const char *line, *word, *metric, *type; /* type NULL = no tag */
    bool pages;                              /* counted in pages */
} rows[] = {
    {"sockets", "used", "net.sockstat.sockets_used", NULL, false},
    {"TCP", "alloc", "net.sockstat.num_sockets", "tcp", false},
    {"TCP", "tw", "net.sockstat.num_timewait", NULL, false},
    {"TCP", "orphan", "net.sockstat.num_orphans", NULL, false},
    {"TCP", "inuse", "net.sockstat.sockets_inuse", "tcp", false},
    {"TCP", "mem", "net.sockstat.memory", "tcp", true},
    {"UDP", "inuse", "net.sockstat.sockets_inuse", "udp", false},
    {"UDP", "mem", "net.sockstat.memory", "udp", true},
    {"UDPLITE", "inuse", "net.sockstat.sockets_inuse", "udplite", false},
    {"RAW", "inuse", "net.sockstat.sockets_inuse", "raw", false},
    {"FRAG", "inuse", "net.sockstat.ipfragqueues", NULL, false},
    {"FRAG", "memory", "net.sockstat.memory", "ipfrag", false},
    {"TCP6", "inuse", "net.sockstat.sockets_inuse", "tcp6", false},
    {"UDP6", "inuse", "net.sockstat.sockets_inuse", "udp6", false},
    {"UDPLITE6", "inuse", "net.sockstat.sockets_inuse", "udplite6", false},
    {"RAW6", "inuse", "net.sockstat.sockets_inuse", "raw6", false},
    {"FRAG6", "memory", "net.sockstat.memory", "ipfrag6", false},
};

static void sockstat_point(struct ts_slice name, struct ts_slice word, uint64_t v, uint64_t page_bytes,
                           struct col_emit *emit)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!ts_slice_is(name, rows[i].line) || !ts_slice_is(word, rows[i].word))
            continue;
        v *= rows[i].pages ? page_bytes : 1;
        if (rows[i].type)
            col_emit_u64(emit, rows[i].metric, v, COL_TAGS({"type", ts_slice_str(rows[i].type)}));
        else
            col_emit_u64(emit, rows[i].metric, v, COL_NO_TAGS);
    }
}

/* "TCP: inuse 5 orphan 0 tw 0 alloc 6 mem 1" */
void col_sockstat_parse(struct ts_slice text, uint64_t page_bytes, struct col_emit *emit)
{
    struct ts_slice line, name, word;
    uint64_t v;
    while (col_line_next(&text, &line)) {
        if (!col_word_next(&line, &name) || name.p[name.n - 1] != ':')
            continue;
        name.n--;
        while (col_word_next(&line, &word) && col_u64_next(&line, &v))
            sockstat_point(name, word, v, page_bytes, emit);
    }
}

/* --- states --- */

static const char *const states[COL_TCP_STATES] = {
    "established", "syn_sent",   "syn_recv", "fin_wait1", "fin_wait2", "time_wait",
    "close",       "close_wait", "last_ack", "listen",    "closing",   "new_syn_recv",
};

static int hex_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "   0: 0100007F:1F90 00000000:0000 0A ..." */
void col_tcp_line(struct ts_slice line, uint64_t counts[COL_TCP_STATES])
{
    struct ts_slice word;
    for (unsigned i = 0; i < 4; i++)
        if (!col_word_next(&line, &word))
            return;
    if (word.n != 2 || hex_of(word.p[0]) < 0 || hex_of(word.p[1]) < 0)
        return; /* the heading */
    int st = hex_of(word.p[0]) * 16 + hex_of(word.p[1]);
    if (st >= 1 && st <= (int)COL_TCP_STATES)
        counts[st - 1]++;
}

static void sockets_line(void *arg, struct ts_slice line)
{
    col_tcp_line(line, arg);
}

static int sockets_states(const struct col_ctx *ctx, const char *path, const char *type,
                          struct col_emit *emit, struct ts_error *err)
{
    uint64_t counts[COL_TCP_STATES] = {0};
    char metric[64];
    int rc = col_source_lines(ctx->root, path, sockets_line, counts, err);
    if (rc == TS_ENOTFOUND)
        return 0;
    TS_TRY(rc);
    for (unsigned i = 0; i < COL_TCP_STATES; i++) {
        (void)snprintf(metric, sizeof(metric), "net.tcp_state.%s", states[i]);
        col_emit_u64(emit, metric, counts[i], COL_TAGS({"type", ts_slice_str(type)}));
    }
    return 0;
}

static int sockets_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    const struct col_ctx *ctx = col_text_ctx(state);
    struct ts_buf *text = col_text_buf(state);
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    TS_TRY(col_source_read(ctx->root, "/proc/net/sockstat", text, err));
    col_sockstat_parse(ts_buf_get(text), page_bytes, emit);
    if (col_source_read(ctx->root, "/proc/net/sockstat6", text, NULL) == 0)
        col_sockstat_parse(ts_buf_get(text), page_bytes, emit);
    TS_TRY(sockets_states(ctx, "/proc/net/tcp", "tcp", emit, err));
    return sockets_states(ctx, "/proc/net/tcp6", "tcp6", emit, err);
}

const struct col_collector col_sockets = {
    .name = "sockets",
    .help = "Sockets in use, and TCP sockets by state.",
    .metrics = metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = sockets_read,
    .release = col_text_release,
};
