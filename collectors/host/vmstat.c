/*
 * vmstat.c - paging and faults, from /proc/vmstat.
 *
 * Threads    the collector's own
 * Source     proc_vmstat(5); docs/OPENTSDB.md, section 12.5, procstats
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#include <stdio.h>

static const struct col_metric metrics[] = {
    {"proc.vmstat.pgpgin", "", "KiB", "Read from block devices.", COL_COUNTER},
    {"proc.vmstat.pgpgout", "", "KiB", "Written to block devices.", COL_COUNTER},
    {"proc.vmstat.pswpin", "", "pages", "Read back from swap.", COL_COUNTER},
    {"proc.vmstat.pswpout", "", "pages", "Written to swap.", COL_COUNTER},
    {"proc.vmstat.pgfault", "", "faults", "Pages a process touched that had to be given to it.", COL_COUNTER},
    {"proc.vmstat.pgmajfault", "", "faults", "Those of them that had to be read from a disk.", COL_COUNTER},
    {"proc.vmstat.oom_kill", "", "processes", "Processes killed because memory was gone.", COL_COUNTER},
    {"proc.vmstat.*", "", "1",
     "Another line of /proc/vmstat (collect_vmstat): counts of pages and events; nr_* go up and down, others "
     "only grow.",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* Lower case, digits, _ as the kernel has them: it becomes a part of a metric's name. */
static bool vmstat_name(struct ts_slice word)
{
    for (size_t i = 0; i < word.n; i++)
        if (!((word.p[i] >= 'a' && word.p[i] <= 'z') || (word.p[i] >= '0' && word.p[i] <= '9') ||
              word.p[i] == '_'))
            return false;
    return word.n > 0 && word.n < 100;
}

void col_vmstat_parse(struct ts_slice text, const char *wanted, struct col_emit *emit)
{
    struct ts_slice line, word;
    uint64_t v;
    while (col_line_next(&text, &line)) {
        char metric[128];
        if (!col_word_next(&line, &word) || !vmstat_name(word) || !col_match_any(wanted, word) ||
            !col_u64_next(&line, &v))
            continue;
        (void)snprintf(metric, sizeof(metric), "proc.vmstat.%.*s", (int)word.n, word.p);
        col_emit_u64(emit, metric, v, COL_NO_TAGS);
    }
}

static int vmstat_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    const struct col_ctx *ctx = col_text_ctx(state);
    struct ts_buf *text = col_text_buf(state);
    TS_TRY(col_source_read(ctx->root, "/proc/vmstat", text, err));
    col_vmstat_parse(ts_buf_get(text), ts_conf_str(ctx->conf, "collect_vmstat"), emit);
    return 0;
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
