/*
 * formats.h - the functions of the rows of table.c; struct tsd_input says what each kind does.
 *
 * Threads    one
 */
#ifndef TSD_INPUTS_FORMATS_H
#define TSD_INPUTS_FORMATS_H

#include "tsd/inputs/input.h"

/* Does a file look like that format? */
bool tsd_promdump_guess(struct ts_slice lines);
bool tsd_jsonl_guess(struct ts_slice lines);
bool tsd_put_guess(struct ts_slice lines);
bool tsd_influx_guess(struct ts_slice lines);
bool tsd_openmetrics_guess(struct ts_slice lines);
bool tsd_tsv_guess(struct ts_slice lines);
bool tsd_csv_guess(struct ts_slice lines);

/* A line to points. */
int tsd_tagged_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err);
int tsd_promdump_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err);
int tsd_jsonl_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err);
int tsd_influx_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err);
int tsd_openmetrics_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err);
int tsd_tsv_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err);
int tsd_csv_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err);
int tsd_fixed_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err);

/** A record of CSV whose quotes are open is refused. */
int tsd_csv_end(struct tsd_input_run *run, struct ts_error *err);
/** A sample of Prometheus; units_per_s of its time, 0 = by its size. Any other line is refused. */
int tsd_sample_point(struct tsd_input_run *run, struct ts_slice line, int64_t units_per_s,
                     struct ts_error *err);

#endif
