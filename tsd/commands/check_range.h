/*
 * check_range.h - ranges of thresholds in the syntax of the guidelines for monitoring plug-ins.
 *
 * Threads    any; plain values
 * Source     Monitoring Plugins Development Guidelines, "Threshold and Ranges"
 * Not here   the command that uses them (check.c)
 */
#ifndef TSD_COMMANDS_CHECK_RANGE_H
#define TSD_COMMANDS_CHECK_RANGE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* A threshold: values that raise an alert. Zero-initialised it never does. */
struct tsd_check_range {
    bool given;  /* there is a threshold */
    bool inside; /* an alert is raised inside of the range (@), not outside */
    double low;  /* lower end, included in the range; may be -INFINITY */
    double high; /* upper end, included in the range; may be INFINITY */
};

/**
 * Read a range: "10" (an alert below 0 or above 10), "10:" (below 10), "~:10" (above 10), "10:20" (outside of these),
 * "@10:20" (inside of these, ends included).
 *
 * @param text       the range as the user wrote it
 * @param durations  ends are times: a plain number is in seconds, units as in 90s, 10m, 1h30m are read too
 * @param out        [out] unchanged after an error
 * @return 0; TS_EINVAL: what is wrong and which forms there are
 */
int tsd_check_range_parse(const char *text, bool durations, struct tsd_check_range *out,
                          struct ts_error *err);
/** Does this value raise an alert? False for a range that was not given. */
bool tsd_check_range_alerts(const struct tsd_check_range *range, double value);
/** Append the range in the same syntax, as performance data contain it: numbers alone, durations in seconds. Appends nothing if it was not
 * given. */
void tsd_check_range_print(const struct tsd_check_range *range, struct ts_buf *out);
/** Append a number in its shortest form: 10, 2.5. */
void tsd_check_number(double value, struct ts_buf *out);

#endif
