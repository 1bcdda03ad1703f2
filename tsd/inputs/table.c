/*
 * table.c - the formats of files, and which one a file looks like.
 *
 * Threads    see input.h
 */
#include "tsd/inputs/input.h"

#include "tsd/inputs/formats.h"

#include <string.h>

/* In the order of guesses: the formats that are hardest to mistake for another one come first. */
const struct tsd_input tsd_inputs[] = {
    {"promdump", "{__name__=\"METRIC\", LABEL=\"VALUE\"} VALUE MILLISECONDS, as promtool tsdb dump prints",
     .guess = tsd_promdump_guess, .line = tsd_promdump_line},
    {"jsonl", "a JSON object or array of a body of /api/put in each line", .guess = tsd_jsonl_guess,
     .line = tsd_jsonl_line},
    {"put", "METRIC TIME VALUE tag=value ..., as tsd export and OpenTSDB's scan --import print",
     .plain = true, .guess = tsd_put_guess, .line = tsd_tagged_line},
    {"influx", "InfluxDB's line protocol: MEASUREMENT,tag=value FIELD=VALUE,... TIME",
     .guess = tsd_influx_guess, .line = tsd_influx_line},
    {"openmetrics", "OpenMetrics and Prometheus' text: METRIC{LABEL=\"VALUE\"} VALUE [TIME]",
     .guess = tsd_openmetrics_guess, .line = tsd_openmetrics_line},
    {"tsv", "columns with tabs between, mapped by --csv", .mapped = true, .guess = tsd_tsv_guess,
     .line = tsd_tsv_line, .end = tsd_csv_end},
    {"csv", "columns with commas between (RFC 4180), mapped by --csv", .mapped = true, .guess = tsd_csv_guess,
     .line = tsd_csv_line, .end = tsd_csv_end},
    {"fixed", "columns of fixed widths, mapped by --fixed", .mapped = true, .line = tsd_fixed_line},
    {.name = NULL},
};

const struct tsd_input *tsd_input_find(const char *name)
{
    for (const struct tsd_input *row = tsd_inputs; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

const struct tsd_input *tsd_input_guess(struct ts_slice lines)
{
    for (const struct tsd_input *row = tsd_inputs; row->name; row++)
        if (row->guess && row->guess(lines))
            return row;
    return NULL;
}
