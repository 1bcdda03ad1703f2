/*
 * nfsd.c - the NFS server of the kernel, from /proc/net/rpc/nfsd.
 *
 * Threads    the collector's own
 * Source     the kernel's fs/nfsd/stats.c
 */
#include "collectors/host/rows.h"

static const struct col_metric metrics[] = {
    {"nfs.server.bytes", "type", "bytes", "Bytes clients read and wrote: read, write.", COL_COUNTER},
    {"nfs.server.rpc", "type", "calls", "Calls: all, bad ones.", COL_COUNTER},
    {"nfs.server.cache", "type", "calls", "Answers from the reply cache: hit, miss, nocache (needed none).",
     COL_COUNTER},
    {"nfs.server.packets", "type", "packets", "Packets and connections: all, udp, tcp, tcp_connections.",
     COL_COUNTER},
    {"nfs.server.threads", "", "threads", "Threads of the server.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct col_row rows[] = {
    {.path = "/proc/net/rpc/nfsd", .key = "io", .type = "read"},
    {.path = "/proc/net/rpc/nfsd", .key = "io", .column = 1, .type = "write"},
    {.path = "/proc/net/rpc/nfsd", .key = "rpc", .metric = 1, .type = "all"},
    {.path = "/proc/net/rpc/nfsd", .key = "rpc", .column = 1, .metric = 1, .type = "bad"},
    {.path = "/proc/net/rpc/nfsd", .key = "rc", .metric = 2, .type = "hit"},
    {.path = "/proc/net/rpc/nfsd", .key = "rc", .column = 1, .metric = 2, .type = "miss"},
    {.path = "/proc/net/rpc/nfsd", .key = "rc", .column = 2, .metric = 2, .type = "nocache"},
    {.path = "/proc/net/rpc/nfsd", .key = "net", .metric = 3, .type = "all"},
    {.path = "/proc/net/rpc/nfsd", .key = "net", .column = 1, .metric = 3, .type = "udp"},
    {.path = "/proc/net/rpc/nfsd", .key = "net", .column = 2, .metric = 3, .type = "tcp"},
    {.path = "/proc/net/rpc/nfsd", .key = "net", .column = 3, .metric = 3, .type = "tcp_connections"},
    {.path = "/proc/net/rpc/nfsd", .key = "th", .metric = 4},
    {.path = NULL},
};

COL_ROWS_COLLECTOR(nfsd, 15, "The NFS server of the kernel.");
