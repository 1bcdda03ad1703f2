/*
 * negotiate.h - the form of an answer that a client asks for by its header Accept.
 *
 * Threads    any
 * Source     RFC 9110 12.5.1
 */
#ifndef TSD_PROTOCOLS_HTTP_NEGOTIATE_H
#define TSD_PROTOCOLS_HTTP_NEGOTIATE_H

#include "tsd/format/out.h"

/** Format that an Accept header likes best: text/csv, application/x-ndjson or JSON; of equally liked ones the
 * first. JSON for everything else, text/plain too: clients of OpenTSDB send it and expect JSON. Never NULL. */
const struct tsd_out_format *tsd_accept_format(struct ts_slice accept);

#endif
