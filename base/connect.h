/*
 * connect.h - TCP connections with a deadline, for clients of other servers.
 *
 * Threads    any; nothing is shared
 */
#ifndef BASE_CONNECT_H
#define BASE_CONNECT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * Wait until a socket is ready.
 *
 * @param events    POLLIN, POLLOUT
 * @param until_ns  deadline by the monotonic clock
 * @param cancel    the wait ends within 100 ms after this becomes true; NULL = it can't be cancelled
 * @return what is ready; 0 = time is up, or the wait was cancelled
 */
int ts_socket_wait(int fd, int events, int64_t until_ns, const _Atomic bool *cancel);
/**
 * Connect to the first address of a host that accepts before a deadline. The look-up of the name is not bounded by the
 * deadline; a numeric address needs none.
 *
 * @param text      the address as the user wrote it, for messages
 * @param until_ns  deadline by the monotonic clock
 * @param cancel    as for ts_socket_wait
 * @param out_fd    [out] a socket that does not block; -1 after an error
 * @return 0
 *         TS_EIO         no such host, or no address of it accepts in time
 *         TS_ECANCELLED  cancel became true
 */
int ts_connect(const char *host, const char *port, const char *text, int64_t until_ns,
               const _Atomic bool *cancel, int *out_fd, struct ts_error *err);

#endif
