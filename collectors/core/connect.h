/*
 * connect.h - TCP connections with a deadline: for the sink and for what is fetched over HTTP.
 *
 * Threads    any; nothing is shared
 */
#ifndef COLLECTORS_CORE_CONNECT_H
#define COLLECTORS_CORE_CONNECT_H

#include "base/err.h"

#include <stdint.h>

/** Is a socket ready for events (POLLIN, POLLOUT) before a monotonic time? Returns what is ready; 0 = time is up. */
int col_socket_poll(int fd, int events, int64_t until_ns);
/** Connect to the first address of a host that answers before a monotonic time. The socket does not block. text is the address as the user
 *  wrote it, for messages. The look-up of the name is not bounded by the deadline. TS_EIO. */
int col_connect(const char *host, const char *port, const char *text, int64_t until_ns, int *out_fd,
                struct ts_error *err);

#endif
