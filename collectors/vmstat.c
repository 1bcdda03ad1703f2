/*
 * vmstat.c - paging and faults, from /proc/vmstat.
 *
 * Threads    the collector's own
 * Source     proc_vmstat(5); storage-and-tools 5.6 procstats
 */
#include "collectors/fields.h"
#include "collectors/parse.h"

static const struct col_metric metrics[] = {
    {"proc.vmstat.pgpgin", "", "KiB", "Read from block devices.", COL_COUNTER},
    {"proc.vmstat.pgpgout", "", "KiB", "Written to block devices.", COL_COUNTER},
    {"proc.vmstat.pswpin", "", "pages", "Read back from swap.", COL_COUNTER},
    {"proc.vmstat.pswpout", "", "pages", "Written to swap.", COL_COUNTER},
    {"proc.vmstat.pgfault", "", "faults", "Pages a process touched that had to be given to it.", COL_COUNTER},
    {"proc.vmstat.pgmajfault", "", "faults", "Those of them that had to be read from a disk.", COL_COUNTER},
    {"proc.vmstat.oom_kill", "", "processes", "Processes killed because memory was gone.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

void col_vmstat_parse(struct ts_slice text, struct col_emit *emit)
{
    static const size_t n_front = sizeof("proc.vmstat.") - 1;
    struct ts_slice line, word;
    uint64_t v;
    while (col_line_next(&text, &line)) {
        if (!col_word_next(&line, &word))
            continue;
        for (const struct col_metric *m = metrics; m->name; m++)
            if (ts_slice_is(word, m->name + n_front) && col_u64_next(&line, &v))
                col_emit_u64(emit, m->name, v, COL_NO_TAGS);
    }
}

static int vmstat_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    return col_text_read(state, emit, "/proc/vmstat", col_vmstat_parse, err);
}

const struct col_collector col_vmstat = {
    .name = "vmstat",
    .help = "Paging, swapping, page faults.",
    .metrics = metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = vmstat_read,
    .release = col_text_release,
};
