/*
 * permissions.c - names of refusals.
 *
 * Threads    constant
 */
#include "tsd/daemon/permissions.h"

const char *const tsd_denial_tags[TSD_DENIED_KINDS] = {
    [TSD_DENIED_HOST] = "type=host",   [TSD_DENIED_SITE] = "type=site", [TSD_DENIED_METHOD] = "type=method",
    [TSD_DENIED_ADMIN] = "type=admin", [TSD_DENIED_KEY] = "type=key",
};
