/*
 * protocols.c - the protocols of the one port, asked in this order with the first bytes of a connection.
 *
 * Threads    constant
 */
#include "tsd/conn.h"
#include "tsd/http/http.h"
#include "tsd/line/line_conn.h"

const struct tsd_protocol *const tsd_protocols[] = {&tsd_http_protocol, &tsd_line_protocol, NULL};
