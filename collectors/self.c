/*
 * self.c - figures about collecting and sending themselves.
 *
 * Threads    the collector's own
 */
#include "collectors/collect.h"
#include "collectors/core/collector.h"

static const struct col_metric metrics[] = {
    {"tsd.collect.points", "state", "points",
     "Points of this process: sent, refused by the daemon, superseded by a newer value while they were put "
     "aside, dropped because the spool was full, damaged on "
     "disk.",
     COL_COUNTER},
    {"tsd.collect.spool.points", "", "points", "Points that wait to be sent.", COL_GAUGE},
    {"tsd.collect.spool.bytes", "", "bytes", "Bytes of these points.", COL_GAUGE},
    {"tsd.collect.later.points", "", "points",
     "Points put aside because the daemon does not take their series at present; they are sent again.",
     COL_GAUGE},
    {"tsd.collect.spool.dropped_segments", "", "1",
     "Segments (a sixteenth of the spool) dropped whole because the spool was full.", COL_COUNTER},
    {"tsd.collect.connects", "result", "1", "Connections made (ok) and attempts or connections that failed.",
     COL_COUNTER},
    {"tsd.collect.connected", "", "1", "1 while a daemon is connected, else 0.", COL_GAUGE},
    {"tsd.collect.instance", "", "1",
     "A number of the machine and its collect_dir. Two alternating values: two collectors send under one "
     "host "
     "name and "
     "overwrite each other.",
     COL_GAUGE},
    {"tsd.collect.reads", "collector result", "1",
     "Reads of a collector: ok, failed, skipped because the one before took too long.", COL_COUNTER},
    {"tsd.collect.read_ms", "collector", "ms", "Time spent in reads of a collector.", COL_COUNTER},
    {"tsd.collect.collector.points", "collector state", "points",
     "Points a collector made: taken, or repeated and left out.", COL_COUNTER},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static int self_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    if (!ctx->run)
        return ts_error_set(err, TS_ENOTFOUND, "nothing is sent in this run");
    *out_state = (void *)(uintptr_t)ctx->run;
    return 0;
}

static int self_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    (void)err;
    col_run_emit(state, emit);
    return 0;
}

const struct col_collector col_self = {
    .name = "self",
    .help = "What collecting itself does: points sent, waiting and dropped.",
    .metrics = metrics,
    .interval_s = 15,
    .init = self_init,
    .read = self_read,
};
