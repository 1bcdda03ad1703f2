/*
 * protocols.c - the protocols of the TCP port, matched in this order with the first bytes of a connection.
 *
 * Threads    constant
 */
#include "tsd/protocols.h"

#include "tsd/protocols/http/http.h"
#include "tsd/protocols/line/line_conn.h"

const struct tsd_protocol *const tsd_protocols[] = {&tsd_http_protocol, &tsd_line_protocol, NULL};
