/*
 * protocols.h - the protocols that the daemon speaks.
 *
 * Threads    constant
 */
#ifndef TSD_PROTOCOLS_H
#define TSD_PROTOCOLS_H

#include "tsd/net/conn.h"

/** All protocols in the order in which they look at the first bytes of a connection, ended by NULL. */
extern const struct tsd_protocol *const tsd_protocols[];

#endif
