/*
 * frequency.c - clock speed of the cores and its limits, from cpufreq. Virtual machines have none: then the collector is left out.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/admin-guide/pm/cpufreq.rst; docs/OPENTSDB.md, section 12.5, procstats (proc.scaling)
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#include <stdio.h>

#define FOLDER "/sys/devices/system/cpu"

static const struct col_metric metrics[] = {
    {"proc.scaling.min", "cpu", "kHz", "Slowest the core can run.", COL_GAUGE},
    {"proc.scaling.max", "cpu", "kHz", "Fastest it can run.", COL_GAUGE},
    {"proc.scaling.cur", "cpu", "kHz", "Clock speed now.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};
static const char *const files[] = {"cpuinfo_min_freq", "cpuinfo_max_freq", "scaling_cur_freq"};

/* A walk through the cores. */
struct walk {
    const char *root;      /* see source.h */
    struct col_emit *emit; /* points; NULL = count only */
    unsigned n;            /* values found */
};

static int frequency_core(void *arg, const char *name)
{
    struct walk *w = arg;
    struct ts_slice cpu = ts_slice_str(name);
    uint64_t number;
    if (!col_prefix_take(&cpu, "cpu") || !col_u64_of(cpu, &number))
        return 0;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        char path[128];
        int64_t khz;
        (void)snprintf(path, sizeof(path), FOLDER "/cpu%llu/cpufreq/%s", (unsigned long long)number,
                       files[i]);
        if (!col_source_int(w->root, path, &khz))
            continue; /* no cpufreq, or a core that is switched off */
        w->n++;
        if (w->emit)
            col_emit_int(w->emit, metrics[i].name, khz, COL_TAGS({"cpu", cpu}));
    }
    return 0;
}

static int frequency_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    struct walk w = {.root = ctx->root};
    (void)col_source_list(w.root, FOLDER, frequency_core, &w, NULL);
    if (!w.n)
        return ts_error_set(err, TS_ENOTFOUND, "no core reports its clock speed below %s" FOLDER, ctx->root);
    return col_text_init(ctx, out_state, err);
}

static int frequency_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct walk w = {.root = col_text_ctx(state)->root, .emit = emit};
    return col_source_list(w.root, FOLDER, frequency_core, &w, err);
}

const struct col_collector col_frequency = {
    .name = "frequency",
    .help = "Clock speed of the cores.",
    .metrics = metrics,
    .interval_s = 15,
    .init = frequency_init,
    .read = frequency_read,
    .release = col_text_release,
};
