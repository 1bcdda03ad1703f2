/*
 * metaprint.h - what searches find, as lines.
 *
 * Threads    one at a time
 */
#ifndef TSD_COMMANDS_METAPRINT_H
#define TSD_COMMANDS_METAPRINT_H

#include "base/json.h"

/** Append a line for a result: a series "TSUID METRIC k=v k=v ", a TSUID, a name "KIND NAME: [0, 0, 1]", a note
 * "START TSUID DESCRIPTION" (TSUID - for a global one). */
void tsd_meta_line(const json_t *result, struct ts_buf *out);

#endif
