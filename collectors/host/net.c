/*
 * net.c - counters of network interfaces, from /proc/net/dev.
 *
 * Interfaces of every kind and name (eth0.100, br-lan, bond0, veth...); keys choose. A bond and its members both count: sum the ones
 * you mean.
 *
 * Threads    the collector's own
 * Source     proc_pid_net(5) "dev"; docs/OPENTSDB.md, section 12.5, ifstat
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

static const struct col_metric metrics[] = {
    {"proc.net.bytes", "iface direction", "bytes", "Received (in) and sent (out).", COL_COUNTER},
    {"proc.net.packets", "iface direction", "packets", "Received and sent.", COL_COUNTER},
    {"proc.net.errs", "iface direction", "packets", "Broken ones.", COL_COUNTER},
    {"proc.net.drop", "iface direction", "packets", "Discarded for lack of buffers or of a receiver.",
     COL_COUNTER},
    {"proc.net.fifo", "iface direction", "packets", "Overruns of the device's queue.", COL_COUNTER},
    {"proc.net.frame", "iface direction", "packets", "Framing errors (in).", COL_COUNTER},
    {"proc.net.compressed", "iface direction", "packets", "Packed by the device driver.", COL_COUNTER},
    {"proc.net.multicast", "iface direction", "packets", "Multicast packets (in).", COL_COUNTER},
    {"proc.net.colls", "iface direction", "packets", "Collisions (out).", COL_COUNTER},
    {"proc.net.carrier", "iface direction", "packets", "Losses of the carrier (out).", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

#define N_IN  8u
#define N_OUT 8u
static const char *const fields[N_IN + N_OUT] = {
    "proc.net.bytes", "proc.net.packets", "proc.net.errs",       "proc.net.drop",
    "proc.net.fifo",  "proc.net.frame",   "proc.net.compressed", "proc.net.multicast",
    "proc.net.bytes", "proc.net.packets", "proc.net.errs",       "proc.net.drop",
    "proc.net.fifo",  "proc.net.colls",   "proc.net.carrier",    "proc.net.compressed",
};

/* "  eth0: 1 2 ...", or "eth0:1 2 ..." on old kernels; the name may hold ':' itself (aliases) */
void col_net_parse(struct ts_slice text, const char *include, const char *exclude, struct col_emit *emit)
{
    struct ts_slice line;
    uint64_t v[N_IN + N_OUT];
    while (col_line_next(&text, &line)) {
        const char *colon = line.n ? memrchr(line.p, ':', line.n) : NULL;
        if (!colon)
            continue;
        struct ts_slice name = col_trim((struct ts_slice){line.p, (size_t)(colon - line.p)});
        struct ts_slice rest = {colon + 1, (size_t)(line.p + line.n - colon - 1)};
        if (!name.n || !col_match_any(include, name) || col_match_any(exclude, name))
            continue;
        unsigned n = col_u64_row(rest, v, N_IN + N_OUT);
        for (unsigned i = 0; i < n; i++)
            col_emit_u64(emit, fields[i], v[i],
                         COL_TAGS({"direction", ts_slice_str(i < N_IN ? "in" : "out")}, {"iface", name}));
    }
}

static int net_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    const struct col_ctx *ctx = col_text_ctx(state);
    struct ts_buf *text = col_text_buf(state);
    TS_TRY(col_source_read(ctx->root, "/proc/net/dev", text, err));
    col_net_parse(ts_buf_get(text), ts_conf_str(ctx->conf, "collect_net_include"),
                  ts_conf_str(ctx->conf, "collect_net_exclude"), emit);
    return 0;
}

const struct col_collector col_net = {
    .name = "net",
    .help = "Bytes, packets, errors of network interfaces.",
    .metrics = metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = net_read,
    .release = col_text_release,
};
