/*
 * entropy.c - bits in the kernel's pool of randomness.
 *
 * Threads    the collector's own
 * Source     random(4); storage-and-tools 5.6 procstats
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

static const struct col_metric metrics[] = {
    {"proc.kernel.entropy_avail", "", "bits", "Randomness at hand (always 256 since Linux 5.18).", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static int entropy_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    static const char path[] = "/proc/sys/kernel/random/entropy_avail";
    int64_t v;
    if (!col_source_int(col_text_ctx(state)->root, path, &v))
        return ts_error_set(err, TS_EIO, "no number in %s", path);
    col_emit_int(emit, metrics[0].name, v, COL_NO_TAGS);
    return 0;
}

const struct col_collector col_entropy = {
    .name = "entropy",
    .help = "Randomness the kernel has.",
    .metrics = metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = entropy_read,
    .release = col_text_release,
};
