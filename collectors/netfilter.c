/*
 * netfilter.c - connection tracking: how many connections, and what the kernel is set to, from /proc/sys/net/netfilter.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/networking/nf_conntrack-sysctl.rst; storage-and-tools 5.6 netfilter
 */
#include "collectors/fields.h"
#include "collectors/parse.h"
#include "collectors/source.h"

#include <stdio.h>

#define FOLDER "/proc/sys/net/netfilter"
/* what tcollector reports; others are bit masks and switches of modules */
#define WANTED                                                                                               \
    "nf_conntrack_count,nf_conntrack_max,nf_conntrack_buckets,nf_conntrack_checksum,"                        \
    "nf_conntrack_log_invalid,nf_conntrack_*_timeout*,nf_conntrack_tcp_be_liberal,nf_conntrack_tcp_loose,"   \
    "nf_conntrack_tcp_max_retrans"

static const struct col_metric metrics[] = {
    {"proc.sys.net.netfilter.nf_conntrack_count", "", "connections", "Connections tracked now.", COL_GAUGE},
    {"proc.sys.net.netfilter.nf_conntrack_max", "", "connections",
     "Most there may be; then packets are dropped.", COL_GAUGE},
    {"proc.sys.net.netfilter.nf_conntrack_buckets", "", "buckets", "Size of the hash table.", COL_GAUGE},
    {"proc.sys.net.netfilter.nf_conntrack_*", "", "1",
     "A setting: *_timeout* in seconds, checksum, log_invalid, tcp_be_liberal, tcp_loose, tcp_max_retrans.",
     COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* A walk through the folder. */
struct walk {
    const char *root;      /* see source.h */
    struct col_emit *emit; /* points */
};

static int netfilter_file(void *arg, const char *name)
{
    const struct walk *w = arg;
    char path[256], metric[256];
    int64_t v;
    if (!col_match_any(WANTED, ts_slice_str(name)))
        return 0;
    (void)snprintf(path, sizeof(path), FOLDER "/%s", name);
    (void)snprintf(metric, sizeof(metric), "proc.sys.net.netfilter.%s", name);
    if (col_source_int(w->root, path, &v))
        col_emit_int(w->emit, metric, v, COL_NO_TAGS);
    return 0;
}

static int netfilter_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    int64_t v;
    if (!col_source_int(ctx->root, FOLDER "/nf_conntrack_count", &v))
        return ts_error_set(err, TS_ENOTFOUND,
                            "connections are not tracked: there is no %s" FOLDER "/nf_conntrack_count",
                            ctx->root);
    return col_text_init(ctx, out_state, err);
}

static int netfilter_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct walk w = {.root = col_text_ctx(state)->root, .emit = emit};
    return col_source_list(w.root, FOLDER, netfilter_file, &w, err);
}

const struct col_collector col_netfilter = {
    .name = "netfilter",
    .help = "Connections the firewall tracks.",
    .metrics = metrics,
    .interval_s = 15,
    .init = netfilter_init,
    .read = netfilter_read,
    .release = col_text_release,
};
