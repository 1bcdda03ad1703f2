/*
 * schedstat.c - how long tasks ran and waited for a core, from /proc/schedstat.
 *
 * Threads    the collector's own
 * Source     the kernel's Documentation/scheduler/sched-stats.rst
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"

static const struct col_metric metrics[] = {
    {"proc.sched.running", "", "ns", "Time tasks ran, all cores.", COL_COUNTER},
    {"proc.sched.waiting", "", "ns", "Time tasks that could run waited for a core, all cores.", COL_COUNTER},
    {"proc.sched.timeslices", "", "1", "Times a task got a core.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* "cpu0 0 0 0 0 0 0 RUNNING WAITING TIMESLICES" */
void col_schedstat_parse(struct ts_slice text, struct col_emit *emit)
{
    struct ts_slice line, word;
    uint64_t sums[3] = {0}, v[9];
    bool any = false;
    while (col_line_next(&text, &line)) {
        if (!col_word_next(&line, &word) || !col_prefix_take(&word, "cpu") || col_u64_row(line, v, 9) < 9)
            continue;
        for (unsigned i = 0; i < 3; i++)
            sums[i] += v[6 + i];
        any = true;
    }
    for (unsigned i = 0; any && i < 3; i++)
        col_emit_u64(emit, metrics[i].name, sums[i], COL_NO_TAGS);
}

static int schedstat_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    return col_text_read(state, emit, "/proc/schedstat", col_schedstat_parse, err);
}

const struct col_collector col_schedstat = {
    .name = "schedstat",
    .help = "Time tasks ran and waited for a core.",
    .metrics = metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = schedstat_read,
    .release = col_text_release,
};
