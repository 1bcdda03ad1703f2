/*
 * netfilter.c - connection tracking: how many connections and how many there may be, from /proc/sys/net/netfilter.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/networking/nf_conntrack-sysctl.rst; docs/OPENTSDB.md, section 12.5, netfilter
 */
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#include <stdio.h>

#define FOLDER "/proc/sys/net/netfilter"
/* what moves, and its limits; the other files are settings, which nobody changes from minute to minute */
static const char *const files[] = {"nf_conntrack_count", "nf_conntrack_max", "nf_conntrack_buckets"};

static const struct col_metric metrics[] = {
    {"proc.sys.net.netfilter.nf_conntrack_count", "", "connections", "Connections tracked now.", COL_GAUGE},
    {"proc.sys.net.netfilter.nf_conntrack_max", "", "connections",
     "Most there may be; then packets are dropped.", COL_GAUGE},
    {"proc.sys.net.netfilter.nf_conntrack_buckets", "", "buckets", "Size of the hash table.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

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
    const char *root = col_text_ctx(state)->root;
    char path[256];
    int64_t v;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        (void)snprintf(path, sizeof(path), FOLDER "/%s", files[i]);
        if (col_source_int(root, path, &v))
            col_emit_int(emit, metrics[i].name, v, COL_NO_TAGS);
        else if (i == 0)
            return ts_error_set(err, TS_ENOTFOUND, "there is no %s%s any more", root, path);
    }
    return 0;
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
