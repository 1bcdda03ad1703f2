/*
 * uptime.c - time since boot, from /proc/uptime.
 *
 * proc.uptime.now is the idle time of all cores; the name is tcollector's and misleads.
 * Threads    the collector's own
 * Source     proc_uptime(5); storage-and-tools 5.6 procstats
 */
#include "base/num.h"
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"

static const struct col_metric metrics[] = {
    {"proc.uptime.total", "", "s", "Time since boot.", COL_COUNTER},
    {"proc.uptime.now", "", "s", "Idle time since boot, all cores added up (the name is tcollector's).",
     COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

void col_uptime_parse(struct ts_slice text, struct col_emit *emit)
{
    struct ts_slice word;
    struct ts_num v;
    for (const struct col_metric *m = metrics; m->name; m++)
        if (col_word_next(&text, &word) && ts_num_parse(word, &v, NULL) == 0)
            col_emit_num(emit, m->name, ts_num_double(v), COL_NO_TAGS);
}

static int uptime_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    return col_text_read(state, emit, "/proc/uptime", col_uptime_parse, err);
}

const struct col_collector col_uptime = {
    .name = "uptime",
    .help = "Time since boot.",
    .metrics = metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = uptime_read,
    .release = col_text_release,
};
