/*
 * weblog_bots.h - detects programs among the clients of a web server by their user agents.
 *
 * Threads    pure
 * Not here   how their requests are counted (collect_weblog_bots: weblog.c, weblog_import.c)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_BOTS_H
#define COLLECTORS_WEBLOG_WEBLOG_BOTS_H

#include "base/buf.h"

#include <stdbool.h>

/** Does a user agent name a program (crawler, monitor, HTTP library) rather than a browser? False for a missing agent
 * (empty or '-'). Cost: one pass over the text for each word of the table. */
bool col_web_is_bot(struct ts_slice agent);

#endif
