/*
 * mountstats.c - traffic and waiting of each mounted NFS volume, from /proc/self/mountstats.
 *
 *   device HOST:/VOLUME mounted on /x with fstype nfs4 statvers=1.1
 *           bytes:  eight numbers
 *           per-op statistics
 *                   READ: ops, transmissions, timeouts, bytes out, bytes in, ms queued, ms of round trips, ms in all
 *
 * A volume that is mounted twice counts once: its mounts share their figures.
 *
 * Threads    the collector's own
 * Source     the kernel's fs/nfs/super.c and net/sunrpc/stats.c (layout); docs/OPENTSDB.md, section 12.5, mountstats
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#include "base/mem.h"

#include <stdio.h>

#define PATH   "/proc/self/mountstats"
#define N_OPS  5u /* the last takes all operations that have no name here */
#define N_COLS 8u

static const struct col_metric metrics[] = {
    {"proc.mountstats.bytes.*", "nfshost nfsvol", "bytes",
     "Bytes of programs (normalread, normalwrite; directread, directwrite: past the cache) and of the server "
     "(serverread, serverwrite); readpages and writepages are pages.",
     COL_COUNTER},
    {"proc.mountstats.*", "nfshost nfsvol", "1",
     "Of getattr, access, read, write and other operations: ops, txs (sent, repetitions too), timeouts, "
     "txbytes, "
     "rxbytes, and in ms qtime (before sending), rttime (until the answer), totaltime.",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const char *const bytes_names[N_COLS] = {"normalread", "normalwrite", "directread", "directwrite",
                                                "serverread", "serverwrite", "readpages",  "writepages"};
static const char *const op_names[N_OPS] = {"getattr", "access", "read", "write", "other"};
static const char *const op_words[N_OPS - 1] = {"GETATTR:", "ACCESS:", "READ:", "WRITE:"};
static const char *const col_names[N_COLS] = {"ops",     "txs",   "timeouts", "txbytes",
                                              "rxbytes", "qtime", "rttime",   "totaltime"};

/* A walk through the file. */
struct walk {
    struct col_emit *emit;       /* points */
    struct ts_buf seen;          /* "HOST:/VOLUME\n" of those before */
    char volume[512];            /* HOST:/VOLUME of this one; "" = none */
    bool in_ops;                 /* behind "per-op statistics" */
    uint64_t ops[N_OPS][N_COLS]; /* figures of this one */
    uint64_t bytes[N_COLS];      /* as above */
    bool has_bytes;              /* bytes are */
};

static void mount_point(const struct walk *w, const char *group, const char *name, uint64_t v)
{
    char metric[64];
    const char *colon = strstr(w->volume, ":/");
    size_t n_host = colon ? (size_t)(colon - w->volume) : strlen(w->volume);
    const char *volume = colon ? colon + 1 : "";
    (void)snprintf(metric, sizeof(metric), "proc.mountstats.%s.%s", group, name);
    col_emit_u64(w->emit, metric, v,
                 COL_TAGS({"nfshost", {w->volume, n_host}}, {"nfsvol", ts_slice_str(volume)}));
}

/* All of a volume was read. */
static void mount_end(struct walk *w)
{
    if (!*w->volume)
        return;
    for (unsigned i = 0; i < N_OPS && w->in_ops; i++)
        for (unsigned k = 0; k < N_COLS; k++)
            mount_point(w, op_names[i], col_names[k], w->ops[i][k]);
    for (unsigned k = 0; k < N_COLS && w->has_bytes; k++)
        mount_point(w, "bytes", bytes_names[k], w->bytes[k]);
    w->volume[0] = '\0';
}

static bool mount_seen(const struct walk *w, struct ts_slice volume)
{
    struct ts_slice seen = ts_buf_get(&w->seen), line;
    while (col_line_next(&seen, &line))
        if (ts_slice_eq(line, volume))
            return true;
    return false;
}

/* "device HOST:/VOLUME mounted on /x with fstype nfs4 statvers=1.1" */
static void mount_begin(struct walk *w, struct ts_slice line)
{
    struct ts_slice volume, word, before = {NULL, 0};
    mount_end(w);
    w->in_ops = w->has_bytes = false;
    memset(w->ops, 0, sizeof(w->ops));
    if (!col_word_next(&line, &volume) || volume.n >= sizeof(w->volume))
        return;
    while (col_word_next(&line, &word)) {
        if (ts_slice_is(before, "fstype") && (ts_slice_is(word, "nfs") || ts_slice_is(word, "nfs4")) &&
            !mount_seen(w, volume)) {
            memcpy(w->volume, volume.p, volume.n);
            w->volume[volume.n] = '\0';
            ts_buf_slice(&w->seen, volume);
            ts_buf_char(&w->seen, '\n');
            return;
        }
        before = word;
    }
}

static void mount_line(void *arg, struct ts_slice line)
{
    struct walk *w = arg;
    struct ts_slice word;
    uint64_t row[N_COLS];
    if (!col_word_next(&line, &word))
        return;
    if (ts_slice_is(word, "device")) {
        mount_begin(w, line);
    } else if (!*w->volume) {
        return;
    } else if (ts_slice_is(word, "bytes:")) {
        w->has_bytes = col_u64_row(line, w->bytes, N_COLS) == N_COLS;
    } else if (ts_slice_is(word, "per-op")) {
        w->in_ops = true;
    } else if (w->in_ops && word.p[word.n - 1] == ':' && col_u64_row(line, row, N_COLS) == N_COLS) {
        unsigned i = 0;
        while (i < N_OPS - 1 && !ts_slice_is(word, op_words[i]))
            i++;
        for (unsigned k = 0; k < N_COLS; k++)
            w->ops[i][k] += row[k];
    }
}

static int mountstats_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    char word[64];
    if (!col_source_word(ctx->root, PATH, word, sizeof(word)))
        return ts_error_set(err, TS_ENOTFOUND, "there is no %s" PATH, ctx->root);
    return col_text_init(ctx, out_state, err);
}

static int mountstats_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct walk *w = ts_xcalloc(1, sizeof(*w));
    w->emit = emit;
    ts_buf_init(&w->seen, (size_t)1 << 20);
    int rc = col_source_lines(col_text_ctx(state)->root, PATH, mount_line, w, err);
    mount_end(w);
    ts_buf_release(&w->seen);
    ts_free(w);
    return rc;
}

const struct col_collector col_mountstats = {
    .name = "mountstats",
    .help = "Traffic and waiting of mounted NFS volumes.",
    .metrics = metrics,
    .interval_s = 10,
    .init = mountstats_init,
    .read = mountstats_read,
    .release = col_text_release,
};
