/*
 * hint.h - what to say when a query finds nothing: what there is that is near.
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_HINT_H
#define TSD_COMMANDS_HINT_H

#include "query/query.h"
#include "tsd/commands/answer.h"

/** Print one line on standard error about why a query has no answer: the newest point of its metric, or the values that its tags
 * have. Asks where the query was asked; says nothing if that fails. */
void tsd_hint_empty(struct tsd_answer *a, const struct qry_spec *spec);

#endif
