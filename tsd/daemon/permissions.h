/*
 * permissions.h - what configuration keys permit clients to do, and the kinds of refusals that are counted.
 *
 * Threads    constant
 * Not here   the checks (protocols/http/access.h)
 */
#ifndef TSD_DAEMON_PERMISSIONS_H
#define TSD_DAEMON_PERMISSIONS_H

/* Permissions that a configuration key gives; an endpoint needs at most one. */
enum tsd_allow {
    TSD_ALLOW_QUERY_DELETE = 1, /* query_allow_delete */
    TSD_ALLOW_UID_DELETE = 2,   /* uid_allow_delete */
    TSD_ALLOW_UID_RENAME = 4,   /* uid_allow_rename */
    TSD_ALLOW_META_DELETE = 8,  /* meta_allow_delete */
};

/* Why requests are refused, for tsd_daemon.n_denied and /api/stats. */
enum tsd_denial_kind {
    TSD_DENIED_HOST,   /* a foreign Host */
    TSD_DENIED_SITE,   /* a page of another site */
    TSD_DENIED_METHOD, /* a GET that would change something, method_override, jsonp */
    TSD_DENIED_ADMIN,  /* administration from another machine */
    TSD_DENIED_KEY,    /* no configuration key permits it */
    TSD_DENIED_KINDS,
};
/** Names of the kinds for statistics: "type=host" ... */
extern const char *const tsd_denial_tags[TSD_DENIED_KINDS];

#endif
