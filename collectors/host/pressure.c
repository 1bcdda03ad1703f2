/*
 * pressure.c - how long tasks waited for processors, memory and disks: pressure stall information, from /proc/pressure.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/accounting/psi.rst
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#include <stdio.h>

static const struct col_metric metrics[] = {
    {"proc.pressure", "kind resource", "us",
     "Time during which some tasks, or all at once (full), waited for cpu, memory, io or irq.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" */
void col_pressure_parse(struct ts_slice text, const char *resource, struct col_emit *emit)
{
    struct ts_slice line, kind, word;
    uint64_t v;
    while (col_line_next(&text, &line)) {
        if (!col_word_next(&line, &kind))
            continue;
        while (col_word_next(&line, &word))
            if (col_prefix_take(&word, "total=") && col_u64_of(word, &v))
                col_emit_u64(emit, metrics[0].name, v,
                             COL_TAGS({"kind", kind}, {"resource", ts_slice_str(resource)}));
    }
}

static int pressure_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    char line[128];
    if (!col_source_word(ctx->root, "/proc/pressure/cpu", line, sizeof(line)))
        return ts_error_set(err, TS_ENOTFOUND,
                            "the kernel has no %s/proc/pressure/cpu (psi=1 on its command line?)", ctx->root);
    return col_text_init(ctx, out_state, err);
}

static int pressure_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    static const char *const resources[] = {"cpu", "memory", "io", "irq"};
    struct ts_buf *text = col_text_buf(state);
    bool any = false;
    for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/proc/pressure/%s", resources[i]);
        if (col_source_read(col_text_ctx(state)->root, path, text, err) < 0)
            continue; /* irq came with Linux 6.1 */
        any = true;
        col_pressure_parse(ts_buf_get(text), resources[i], emit);
    }
    return any ? 0 : TS_EIO;
}

const struct col_collector col_pressure = {
    .name = "pressure",
    .help = "Time tasks waited for processors, memory and disks (PSI).",
    .metrics = metrics,
    .interval_s = 15,
    .init = pressure_init,
    .read = pressure_read,
    .release = col_text_release,
};
