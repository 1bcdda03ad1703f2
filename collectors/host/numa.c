/*
 * numa.c - where pages of memory came from on machines with several memory nodes, from /sys/devices/system/node.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/admin-guide/numastat.rst; docs/OPENTSDB.md, section 12.5, procstats
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#include <stdio.h>

#define FOLDER "/sys/devices/system/node"

static const struct col_metric metrics[] = {
    {"sys.numa.zoneallocs", "node type", "pages",
     "Pages given where they were wanted (hit), and given here though wanted elsewhere (miss).", COL_COUNTER},
    {"sys.numa.foreign_allocs", "node", "pages", "Pages wanted here and given elsewhere.", COL_COUNTER},
    {"sys.numa.allocation", "node type", "pages",
     "Pages given to processes of this node (local) or of others (remote).", COL_COUNTER},
    {"sys.numa.interleave", "node type", "pages", "Pages of interleaved memory that came from here (hit).",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* Names of the kernel. */
static const struct {
    const char *word;                /* in numastat */
    const struct col_metric *metric; /* where it goes */
    const char *type;                /* "" = no such tag */
} rows[] = {
    {"numa_hit", &metrics[0], "hit"},      {"numa_miss", &metrics[0], "miss"},
    {"numa_foreign", &metrics[1], ""},     {"local_node", &metrics[2], "local"},
    {"other_node", &metrics[2], "remote"}, {"interleave_hit", &metrics[3], "hit"},
};

/* A walk through the nodes. */
struct walk {
    const char *root;      /* see source.h */
    struct ts_buf *text;   /* of a file */
    struct col_emit *emit; /* points */
};

static void numa_line(struct ts_slice line, struct ts_slice node, struct col_emit *emit)
{
    struct ts_slice word;
    uint64_t v;
    if (!col_word_next(&line, &word) || !col_u64_next(&line, &v))
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (ts_slice_is(word, rows[i].word)) {
            const struct col_tag tags[] = {{"node", node}, {"type", ts_slice_str(rows[i].type)}};
            col_emit_u64(emit, rows[i].metric->name, v, tags, *rows[i].type ? 2 : 1);
        }
}

static int numa_node(void *arg, const char *name)
{
    const struct walk *w = arg;
    struct ts_slice node = ts_slice_str(name), line, text;
    char path[128];
    uint64_t number;
    if (!col_prefix_take(&node, "node") || !col_u64_of(node, &number))
        return 0;
    (void)snprintf(path, sizeof(path), FOLDER "/node%llu/numastat", (unsigned long long)number);
    if (col_source_read(w->root, path, w->text, NULL) < 0)
        return 0; /* a node that was just taken out */
    text = ts_buf_get(w->text);
    while (col_line_next(&text, &line))
        numa_line(line, node, w->emit);
    return 0;
}

static int numa_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    char word[64];
    if (!col_source_word(ctx->root, FOLDER "/node0/numastat", word, sizeof(word)))
        return ts_error_set(err, TS_ENOTFOUND,
                            "memory nodes are not counted: there is no %s" FOLDER "/node0/numastat",
                            ctx->root);
    return col_text_init(ctx, out_state, err);
}

static int numa_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct walk w = {.root = col_text_ctx(state)->root, .text = col_text_buf(state), .emit = emit};
    return col_source_list(w.root, FOLDER, numa_node, &w, err);
}

const struct col_collector col_numa = {
    .name = "numa",
    .help = "Memory by node, on machines with several.",
    .metrics = metrics,
    .interval_s = 15,
    .init = numa_init,
    .read = numa_read,
    .release = col_text_release,
};
