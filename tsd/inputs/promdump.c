/*
 * promdump.c - samples as promtool tsdb dump prints them.
 *
 *   {__name__="up", instance="localhost:9090", job="prometheus"} 1 1793620800000
 *
 * Threads    see input.h
 * Not here   names and labels (base/sample.h), values and times (openmetrics.c)
 */
#include "tsd/inputs/formats.h"

#include "base/cut.h"
#include "base/text.h"

int tsd_promdump_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    line = ts_slice_trim(line);
    return line.n && *line.p != '#' ? tsd_sample_point(run, line, 1000, err) : 0;
}

bool tsd_promdump_guess(struct ts_slice lines)
{
    struct ts_slice line;
    return tsd_input_first(&lines, &line) && ts_slice_begins_nocase(line, "{__name__=\"");
}
