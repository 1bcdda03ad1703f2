/*
 * access.h - access checks of HTTP requests: pages of other sites, methods that change something, configured
 * permissions.
 *
 * A browser sends requests of any page to any address that it reaches, also to a daemon that listens on
 * loopback only. Four checks keep such pages out; programs send none of these headers and are not affected:
 *
 *   Host      while only loopback is bound, an unknown name is refused: its owner may have pointed it at this
 *   machine
 *             (DNS rebinding)
 *   site      a request that changes something must come from a program, from a page of the daemon, or from
 *   an origin in
 *             http_cors_domains
 *   method    GET changes nothing, except with compat = opentsdb
 *   jsonp     is off unless http_jsonp allows it: a script of any site could read what it wraps
 *
 * What a method of an endpoint does (reads, changes, admin) and which key must permit it stands in its row of
 * routes.c.
 *
 * Threads    the connection's worker, if not said otherwise
 * Source     https://fetch.spec.whatwg.org (Origin), https://www.w3.org/TR/fetch-metadata/ (Sec-Fetch-Site)
 * Not here   which Origins get CORS headers (http.c)
 */
#ifndef TSD_PROTOCOLS_HTTP_ACCESS_H
#define TSD_PROTOCOLS_HTTP_ACCESS_H

#include "base/buf.h"
#include "base/err.h"
#include "tsd/daemon/permissions.h"

#include <stdbool.h>

struct tsd_endpoint;
struct tsd_req;

/* The answer to a refused request. */
struct tsd_denial {
    int status;        /* of HTTP */
    char message[400]; /* names what was wrong and the key that changes it */
};

/** Checks that do not depend on the endpoint: Host, the parameters method_override and jsonp. False: *out
 * says why; the refusal is counted. */
bool tsd_access_request(const struct tsd_req *req, struct tsd_denial *out);
/** Is the method of a request permitted at this endpoint, which supports that method? False: *out says why;
 * the refusal is counted. */
bool tsd_access_endpoint(const struct tsd_req *req, const struct tsd_endpoint *e, struct tsd_denial *out);
/** The same for a request that changes something by its parameters or body although its method only reads.
 * Any thread while the request lives. */
bool tsd_access_change(const struct tsd_req *req, struct tsd_denial *out);
/** Is an origin ("https://a.org:8080") among those of http_cors_domains? */
bool tsd_access_origin_listed(const char *cors_domains, struct ts_slice origin);
/** Was the request sent by a page of this daemon, with an Origin that equals its Host? */
bool tsd_access_same_origin(const struct tsd_req *req);

#endif
