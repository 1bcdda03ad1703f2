/*
 * load.c - load averages, from /proc/loadavg.
 *
 * Threads    the collector's own
 * Source     proc_loadavg(5); storage-and-tools 5.6 procstats
 */
#include "base/num.h"
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"

static const struct col_metric metrics[] = {
    {"proc.loadavg.1min", "", "processes", "Processes that run or wait for a disk, averaged over 1 minute.",
     COL_GAUGE},
    {"proc.loadavg.5min", "", "processes", "The same over 5 minutes.", COL_GAUGE},
    {"proc.loadavg.15min", "", "processes", "The same over 15 minutes.", COL_GAUGE},
    {"proc.loadavg.runnable", "", "threads", "Threads that run or could run now.", COL_GAUGE},
    {"proc.loadavg.total_threads", "", "threads", "Threads there are.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* "0.10 0.20 0.30 1/234 5678" */
void col_load_parse(struct ts_slice text, struct col_emit *emit)
{
    struct ts_slice word;
    struct ts_num v;
    for (unsigned i = 0; i < 3; i++)
        if (col_word_next(&text, &word) && ts_num_parse(word, &v, NULL) == 0)
            col_emit_num(emit, metrics[i].name, ts_num_double(v), COL_NO_TAGS);
    if (!col_word_next(&text, &word))
        return;
    const char *slash = memchr(word.p, '/', word.n);
    uint64_t run, all;
    if (slash && col_u64_of((struct ts_slice){word.p, (size_t)(slash - word.p)}, &run) &&
        col_u64_of((struct ts_slice){slash + 1, (size_t)(word.p + word.n - slash - 1)}, &all)) {
        col_emit_u64(emit, metrics[3].name, run, COL_NO_TAGS);
        col_emit_u64(emit, metrics[4].name, all, COL_NO_TAGS);
    }
}

static int load_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    return col_text_read(state, emit, "/proc/loadavg", col_load_parse, err);
}

const struct col_collector col_load = {
    .name = "load",
    .help = "Load averages and number of threads.",
    .metrics = metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = load_read,
    .release = col_text_release,
};
