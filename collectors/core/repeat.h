/*
 * repeat.h - leaves out repeated values for a while, as tcollector does, so that graphs keep their slope.
 *
 * A value equal to the last one sent is withheld until repeat_interval_s have passed since then. When the value changes, the last
 * withheld point is sent first and the new one after it. Points that are not newer than the last one sent are passed on unchanged.
 *
 * Threads    one at a time
 * Source     docs/OPENTSDB.md, section 12.3
 */
#ifndef COLLECTORS_CORE_REPEAT_H
#define COLLECTORS_CORE_REPEAT_H

#include "base/buf.h"

#include <stdint.h>

struct col_repeat;
/** interval_s > 0. */
struct col_repeat *col_repeat_new(int64_t interval_s);
void col_repeat_free(struct col_repeat *r);
/** One point.
 *  @param key    what makes the series: metric and tags
 *  @param value  as text
 *  @param line   the whole put line
 *  @param out    gets none, one or two lines
 *  @return number of lines appended. Cost: one hash probe, a copy of line when it is kept back */
unsigned col_repeat_take(struct col_repeat *r, struct ts_slice key, struct ts_slice value, int64_t ts_ms,
                         struct ts_slice line, struct ts_buf *out);

#endif
