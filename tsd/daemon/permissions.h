/*
 * permissions.h - who a client is, what it may do, what configuration keys permit, and the kinds of refusals that are
 * counted.
 *
 * Threads    constant
 * Not here   the checks (protocols/http/access.h)
 */
#ifndef TSD_DAEMON_PERMISSIONS_H
#define TSD_DAEMON_PERMISSIONS_H

#include <stdbool.h>

/* What a client may do. Endpoints say in their rows which of their methods need what (http/routes.c), commands of the line
 * protocol in theirs (line/commands.c). */
enum tsd_permission {
    TSD_MAY_READ = 1,  /* queries, names, statistics */
    TSD_MAY_WRITE = 2, /* points, annotations, metadata, names, deletes */
    TSD_MAY_ADMIN = 4, /* the daemon itself */
};
/* The identity of a client, as far as the daemon knows it. All zero: a client that may do everything. */
struct tsd_identity {
    char address[64]; /* "host:port", for people */
    bool local;       /* connected from this machine */
    unsigned lacks;   /* enum tsd_permission: what it must not do */
};
struct tsd_daemon;
struct sockaddr;
/** The identity of a client at an address; what it lacks comes from tsd_daemon.restrict_client. Called once for each connection and
 *  each datagram, by its worker. */
void tsd_identity_init(struct tsd_identity *who, const struct tsd_daemon *d, const struct sockaddr *address);
/** May it do all of that (enum tsd_permission)? */
static inline bool tsd_identity_may(const struct tsd_identity *who, unsigned permissions)
{
    return !(who->lacks & permissions);
}

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
    TSD_DENIED_CLIENT, /* the client lacks the permission */
    TSD_DENIED_KINDS,
};
/** Names of the kinds for statistics: "type=host" ... */
extern const char *const tsd_denial_tags[TSD_DENIED_KINDS];

#endif
