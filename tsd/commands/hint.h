/*
 * hint.h - a hint about existing data when a query finds nothing.
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_HINT_H
#define TSD_COMMANDS_HINT_H

#include "query/query.h"
#include "tsd/commands/answer.h"

/** Print one line on standard error about why a query has no answer: the newest point of its metric, or the
 * values that its tags have. Sends its requests to the same daemon or folder as the query; prints nothing if
 * that fails. */
void tsd_hint_empty(struct tsd_answer *a, const struct qry_spec *spec);

#endif
