/*
 * permissions.c - permissions of clients, names of refusals.
 *
 * Threads    any
 */
#include "tsd/daemon/permissions.h"

#include "tsd/daemon/daemon.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

const char *const tsd_denial_tags[TSD_DENIED_KINDS] = {
    [TSD_DENIED_HOST] = "type=host",   [TSD_DENIED_SITE] = "type=site", [TSD_DENIED_METHOD] = "type=method",
    [TSD_DENIED_ADMIN] = "type=admin", [TSD_DENIED_KEY] = "type=key",   [TSD_DENIED_CLIENT] = "type=client",
};

void tsd_identity_init(struct tsd_identity *who, const struct tsd_daemon *d, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    *who = (struct tsd_identity){.local = tsd_peer_is_loopback(tsd_peer_key(address))};
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)address;
        (void)inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
        port = ntohs(in->sin_port);
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)address;
        (void)inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof(text));
        port = ntohs(in->sin6_port);
    }
    (void)snprintf(who->address, sizeof(who->address), "%s:%u", text, port);
    who->lacks = d->restrict_client ? d->restrict_client(who) : 0;
}
