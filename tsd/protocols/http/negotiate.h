/*
 * negotiate.h - the form of an answer that a client requests by its header Accept.
 *
 * Threads    any
 * Source     RFC 9110 12.5.1
 */
#ifndef TSD_PROTOCOLS_HTTP_NEGOTIATE_H
#define TSD_PROTOCOLS_HTTP_NEGOTIATE_H

#include "tsd/format/out.h"

/** Format with the highest quality in an Accept header: text/csv, application/x-ndjson or JSON; of equal ones
 * the first. JSON for everything else, including text/plain: clients of OpenTSDB send it and expect JSON.
 * Never NULL. */
const struct tsd_out_format *tsd_accept_format(struct ts_slice accept);

#endif
