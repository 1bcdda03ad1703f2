/*
 * cpu.c - processor time of all cores together and of each, from /proc/stat.
 *
 * The names of the columns are the kernel's: tcollector names the eighth one `guest` though it is `steal`. user holds guest, nice holds
 * guest_nice too, as in /proc/stat. Cores that are switched off have no line; numbers may have holes.
 *
 * Threads    the collector's own
 * Not here   frequencies
 * Source     proc_stat(5); docs/OPENTSDB.md, section 12.5, procstats
 */
#include "base/mem.h"
#include "collectors/core/collector.h"
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

static const struct col_metric cpu_metrics[] = {
    {"proc.stat.cpu", "type", "jiffies",
     "Processor time of all cores: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice. "
     "100 jiffies are 1 s.",
     COL_COUNTER},
    {"proc.stat.cpu.percpu", "cpu type", "jiffies", "The same of each core.", COL_COUNTER},
    {"proc.stat.intr", "", "interrupts", "Interrupts since boot.", COL_COUNTER},
    {"proc.stat.ctxt", "", "switches", "Changes from one process to another.", COL_COUNTER},
    {"proc.stat.processes", "", "processes", "Processes and threads begun since boot.", COL_COUNTER},
    {"proc.stat.procs_blocked", "", "processes", "Processes that wait for a disk now.", COL_GAUGE},
    {"proc.stat.btime", "", "s", "When the machine was booted, in seconds since 1970.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const char *const types[] = {"user", "nice",    "system", "idle",  "iowait",
                                    "irq",  "softirq", "steal",  "guest", "guest_nice"};
#define N_TYPES (sizeof(types) / sizeof(*types))

/* "cpu  1 2 3 ..." or "cpu7 1 2 3 ...": name is "" or "7". */
static void cpu_line(struct ts_slice name, struct ts_slice rest, struct col_emit *emit)
{
    uint64_t v[N_TYPES];
    unsigned n = col_u64_row(rest, v, N_TYPES);
    for (unsigned i = 0; i < n; i++) {
        if (name.n)
            col_emit_u64(emit, "proc.stat.cpu.percpu", v[i],
                         COL_TAGS({"cpu", name}, {"type", ts_slice_str(types[i])}));
        else
            col_emit_u64(emit, "proc.stat.cpu", v[i], COL_TAGS({"type", ts_slice_str(types[i])}));
    }
}

void col_cpu_parse(struct ts_slice text, struct col_emit *emit)
{
    static const struct {
        const char *word, *metric;
    } rows[] = {{"intr", "proc.stat.intr"},
                {"ctxt", "proc.stat.ctxt"},
                {"processes", "proc.stat.processes"},
                {"procs_blocked", "proc.stat.procs_blocked"},
                {"btime", "proc.stat.btime"}};
    struct ts_slice line, word;
    uint64_t v;
    while (col_line_next(&text, &line)) {
        if (!col_word_next(&line, &word))
            continue;
        if (col_prefix_take(&word, "cpu")) {
            cpu_line(word, line, emit);
            continue;
        }
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
            if (ts_slice_is(word, rows[i].word) && col_u64_next(&line, &v))
                col_emit_u64(emit, rows[i].metric, v, COL_NO_TAGS);
    }
}

COL_TEXT_COLLECTOR(cpu, "/proc/stat", col_cpu_parse, 15,
                   "Processor time, all cores together and each; interrupts, switches, new processes.");
