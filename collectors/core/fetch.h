/*
 * fetch.h - fetches one page over plain HTTP, with limits of time and size.
 *
 * Requests are HTTP/1.0, so that no response is chunked. There is no TLS; for https, configure a local proxy.
 *
 * Threads    any; nothing is shared
 * Source     RFC 1945
 */
#ifndef COLLECTORS_CORE_FETCH_H
#define COLLECTORS_CORE_FETCH_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

/* The parts of a URL; texts are truncated to fit. */
struct col_url {
    char host[256];  /* without brackets */
    char port[8];    /* "80" if none is given */
    char where[280]; /* HOST:PORT as in the address */
    char path[1024]; /* with its query; begins with '/' */
};

/** Parse "http://HOST[:PORT][/PATH]"; without a path, default_path is used. TS_EINVAL says what is wrong. */
int col_url_parse(struct ts_slice text, const char *default_path, struct col_url *out, struct ts_error *err);
/** Fetch the page into body (cleared first), all within timeout_ms. TS_EIO: no connection, or a status other than
 * 200; TS_ETIMEOUT; TS_ELIMIT: more than the maximum of body; TS_EPARSE: no HTTP. */
int col_fetch(const struct col_url *url, int64_t timeout_ms, struct ts_buf *body, struct ts_error *err);

#endif
