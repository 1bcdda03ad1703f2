/*
 * nfs.c - calls of this host's NFS client, by operation, from /proc/net/rpc/nfs.
 *
 * Threads    the collector's own
 * Source     the kernel's net/sunrpc/stats.c (layout), include/linux/nfs3.h and nfs4.h (order of operations); docs/OPENTSDB.md, section 12.5, nfsstat
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#define PATH "/proc/net/rpc/nfs"

static const struct col_metric metrics[] = {
    {"nfs.client.rpc", "op version", "calls", "Calls of an operation, of protocol version 3 or 4.",
     COL_COUNTER},
    {"nfs.client.rpc.stats", "type", "calls",
     "All calls (calls), those sent again (retrans), renewals of credentials (authrefrsh).", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const char *const ops3[] = {"null",   "getattr", "setattr",  "lookup", "access",  "readlink",
                                   "read",   "write",   "create",   "mkdir",  "symlink", "mknod",
                                   "remove", "rmdir",   "rename",   "link",   "readdir", "readdirplus",
                                   "fsstat", "fsinfo",  "pathconf", "commit"};

/* as the kernel numbers the client's procedures; newer kernels append */
static const char *const ops4[] = {"null",
                                   "read",
                                   "write",
                                   "commit",
                                   "open",
                                   "open_confirm",
                                   "open_noattr",
                                   "open_downgrade",
                                   "close",
                                   "setattr",
                                   "fsinfo",
                                   "renew",
                                   "setclientid",
                                   "setclientid_confirm",
                                   "lock",
                                   "lockt",
                                   "locku",
                                   "access",
                                   "getattr",
                                   "lookup",
                                   "lookup_root",
                                   "remove",
                                   "rename",
                                   "link",
                                   "symlink",
                                   "create",
                                   "pathconf",
                                   "statfs",
                                   "readlink",
                                   "readdir",
                                   "server_caps",
                                   "delegreturn",
                                   "getacl",
                                   "setacl",
                                   "fs_locations",
                                   "release_lockowner",
                                   "secinfo",
                                   "fsid_present",
                                   "exchange_id",
                                   "create_session",
                                   "destroy_session",
                                   "sequence",
                                   "get_lease_time",
                                   "reclaim_complete",
                                   "layoutget",
                                   "getdeviceinfo",
                                   "layoutcommit",
                                   "layoutreturn",
                                   "secinfo_no_name",
                                   "test_stateid",
                                   "free_stateid",
                                   "getdevicelist",
                                   "bind_conn_to_session",
                                   "destroy_clientid",
                                   "seek",
                                   "allocate",
                                   "deallocate",
                                   "layoutstats",
                                   "clone",
                                   "copy",
                                   "offload_cancel",
                                   "lookupp",
                                   "layouterror",
                                   "copy_notify",
                                   "getxattr",
                                   "setxattr",
                                   "listxattrs",
                                   "removexattr",
                                   "read_plus"};

/* "22 0 14 ...": number of operations, then a count each; those without a name here are left out */
static void nfs_ops(struct ts_slice line, const char *const *names, size_t n_names, const char *version,
                    struct col_emit *emit)
{
    uint64_t n, v;
    if (!col_u64_next(&line, &n))
        return;
    for (size_t i = 0; i < n && i < n_names && col_u64_next(&line, &v); i++)
        col_emit_u64(emit, metrics[0].name, v,
                     COL_TAGS({"op", ts_slice_str(names[i])}, {"version", ts_slice_str(version)}));
}

void col_nfs_parse(struct ts_slice text, struct col_emit *emit)
{
    static const char *const types[] = {"calls", "retrans", "authrefrsh"};
    struct ts_slice line, word;
    uint64_t v;
    while (col_line_next(&text, &line)) {
        if (!col_word_next(&line, &word))
            continue;
        if (ts_slice_is(word, "proc3"))
            nfs_ops(line, ops3, sizeof(ops3) / sizeof(*ops3), "3", emit);
        else if (ts_slice_is(word, "proc4"))
            nfs_ops(line, ops4, sizeof(ops4) / sizeof(*ops4), "4", emit);
        else if (ts_slice_is(word, "rpc"))
            for (unsigned i = 0; i < 3 && col_u64_next(&line, &v); i++)
                col_emit_u64(emit, metrics[1].name, v, COL_TAGS({"type", ts_slice_str(types[i])}));
    }
}

static int nfs_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    char word[64];
    if (!col_source_word(ctx->root, PATH, word, sizeof(word)))
        return ts_error_set(err, TS_ENOTFOUND, "no NFS client: there is no %s" PATH, ctx->root);
    return col_text_init(ctx, out_state, err);
}

static int nfs_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    return col_text_read(state, emit, PATH, col_nfs_parse, err);
}

const struct col_collector col_nfs = {
    .name = "nfs",
    .help = "Calls of the NFS client.",
    .metrics = metrics,
    .interval_s = 15,
    .init = nfs_init,
    .read = nfs_read,
    .release = col_text_release,
};
