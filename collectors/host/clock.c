/*
 * clock.c - how far this machine's clock is off, as the kernel knows it from its time daemon (adjtimex).
 *
 * tcollector runs ntpq; the kernel knows the offset whatever daemon disciplines the clock, and no program is
 * started.
 *
 * Threads    the collector's own
 * Source     adjtimex(2); docs/OPENTSDB.md, section 12.5, ntpstat
 */
#include "collectors/host/parse.h"

#include <errno.h>

static const struct col_metric metrics[] = {
    {"ntp.offset", "", "ms", "What the clock still has to be moved by.", COL_GAUGE},
    {"ntp.error", "type", "ms", "Error of the clock: estimated, and max (grows while nobody corrects it).",
     COL_GAUGE},
    {"ntp.frequency", "", "ppm", "Correction of the clock's speed.", COL_GAUGE},
    {"ntp.synchronized", "", "1", "1 if a time daemon says the clock is right, else 0.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

void col_clock_points(const struct timex *t, int state, struct col_emit *emit)
{
    double offset_ms = (double)t->offset / (t->status & STA_NANO ? 1e6 : 1e3);
    col_emit_num(emit, "ntp.offset", offset_ms, COL_NO_TAGS);
    col_emit_num(emit, "ntp.error", (double)t->esterror / 1e3, COL_TAGS({"type", TS_SLICE_LIT("estimated")}));
    col_emit_num(emit, "ntp.error", (double)t->maxerror / 1e3, COL_TAGS({"type", TS_SLICE_LIT("max")}));
    col_emit_num(emit, "ntp.frequency", (double)t->freq / 65536.0, COL_NO_TAGS);
    col_emit_int(emit, "ntp.synchronized", state != TIME_ERROR && !(t->status & STA_UNSYNC), COL_NO_TAGS);
}

static int clock_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct timex t = {.modes = 0};
    (void)state;
    int rc = adjtimex(&t);
    if (rc < 0)
        return ts_error_sys(err, TS_EIO, errno, "the kernel does not report its clock's state (adjtimex)");
    col_clock_points(&t, rc, emit);
    return 0;
}

const struct col_collector col_clock = {
    .name = "clock",
    .help = "How far the clock is off.",
    .metrics = metrics,
    .interval_s = 60,
    .read = clock_read,
};
