/*
 * time_int.h - what the two readers of time texts share.
 *
 * Threads    any
 */
#ifndef BASE_TIME_INT_H
#define BASE_TIME_INT_H

#include "base/time.h"

/** Times that are numbers: seconds (up to ten digits), milliseconds, "...ms", seconds with a fraction. strict: OpenTSDB's
 *  fraction, whose dot is deleted. TS_EPARSE with OpenTSDB's texts. */
int ts_time__number(struct ts_slice s, bool strict, int64_t *out_ms, struct ts_error *err);
/** ts_time_parse without strict; tz is never NULL. TS_EPARSE with a text that names the forms. */
int ts_time__people(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, int64_t *out_ms,
                    bool *out_is_date, struct ts_error *err);

#endif
