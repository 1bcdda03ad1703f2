/*
 * line_conn.h - the line protocol on a connection: replies, sync, stats.
 */
#ifndef TSD_PROTOCOLS_LINE_LINE_CONN_H
#define TSD_PROTOCOLS_LINE_LINE_CONN_H

#include "tsd/net/conn.h"

/** Row of protocols.c. */
extern const struct tsd_protocol tsd_line_protocol;

#endif
