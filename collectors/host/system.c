/*
 * system.c - figures of the whole machine, a small file of /proc each: randomness, open files, load, scheduling, time since boot.
 *
 * Threads    the collectors' own
 * Source     random(4), proc_sys_fs(5), proc_loadavg(5), proc_uptime(5); the kernel's Documentation/scheduler/sched-stats.rst;
 *            docs/OPENTSDB.md, section 12.5, procstats
 */
#include "base/num.h"
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

/* --- entropy --- */

static const struct col_metric entropy_metrics[] = {
    {"proc.kernel.entropy_avail", "", "bits", "Randomness at hand (always 256 since Linux 5.18).", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static int entropy_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    static const char path[] = "/proc/sys/kernel/random/entropy_avail";
    int64_t v;
    if (!col_source_int(col_text_ctx(state)->root, path, &v))
        return ts_error_set(err, TS_EIO, "no number in %s", path);
    col_emit_int(emit, entropy_metrics[0].name, v, COL_NO_TAGS);
    return 0;
}

const struct col_collector col_entropy = {
    .name = "entropy",
    .help = "Randomness the kernel has.",
    .metrics = entropy_metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = entropy_read,
    .release = col_text_release,
};

/* --- files --- */

static const struct col_metric files_metrics[] = {
    {"proc.sys.fs.file_open", "", "files", "Open files of all processes.", COL_GAUGE},
    {"proc.sys.fs.file_max", "", "files", "Most there may be.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* "allocated  allocated but unused  maximum"; the second is 0 since Linux 2.6 */
void col_files_parse(struct ts_slice text, struct col_emit *emit)
{
    uint64_t v[3];
    if (col_u64_row(text, v, 3) < 3)
        return;
    col_emit_u64(emit, files_metrics[0].name, v[0] >= v[1] ? v[0] - v[1] : 0, COL_NO_TAGS);
    col_emit_u64(emit, files_metrics[1].name, v[2], COL_NO_TAGS);
}

COL_TEXT_COLLECTOR(files, "/proc/sys/fs/file-nr", col_files_parse, 15, "Open files of the whole system.");

/* --- load --- */

static const struct col_metric load_metrics[] = {
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
            col_emit_num(emit, load_metrics[i].name, ts_num_double(v), COL_NO_TAGS);
    if (!col_word_next(&text, &word))
        return;
    const char *slash = memchr(word.p, '/', word.n);
    uint64_t run, all;
    if (slash && col_u64_of((struct ts_slice){word.p, (size_t)(slash - word.p)}, &run) &&
        col_u64_of((struct ts_slice){slash + 1, (size_t)(word.p + word.n - slash - 1)}, &all)) {
        col_emit_u64(emit, load_metrics[3].name, run, COL_NO_TAGS);
        col_emit_u64(emit, load_metrics[4].name, all, COL_NO_TAGS);
    }
}

COL_TEXT_COLLECTOR(load, "/proc/loadavg", col_load_parse, 15, "Load averages and number of threads.");

/* --- schedstat --- */

static const struct col_metric schedstat_metrics[] = {
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
        col_emit_u64(emit, schedstat_metrics[i].name, sums[i], COL_NO_TAGS);
}

COL_TEXT_COLLECTOR(schedstat, "/proc/schedstat", col_schedstat_parse, 15,
                   "Time tasks ran and waited for a core.");

/* --- uptime --- */

static const struct col_metric uptime_metrics[] = {
    {"proc.uptime.total", "", "s", "Time since boot.", COL_COUNTER},
    {"proc.uptime.now", "", "s", "Idle time since boot, all cores added up (the name is tcollector's).",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

void col_uptime_parse(struct ts_slice text, struct col_emit *emit)
{
    struct ts_slice word;
    struct ts_num v;
    for (const struct col_metric *m = uptime_metrics; m->name; m++)
        if (col_word_next(&text, &word) && ts_num_parse(word, &v, NULL) == 0)
            col_emit_num(emit, m->name, ts_num_double(v), COL_NO_TAGS);
}

COL_TEXT_COLLECTOR(uptime, "/proc/uptime", col_uptime_parse, 15, "Time since boot.");
