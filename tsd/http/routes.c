/*
 * routes.c - the table of endpoints.
 *
 * Threads    constant
 * Source     protocols-and-queries 2
 */
#include "tsd/http/ep.h"

const struct tsd_endpoint tsd_endpoints[] = {
    {"aggregators", TSD_GET, tsd_ep_aggregators, "Names of all aggregators (old path)."},
    {"api/admin/flush", TSD_GET | TSD_POST, tsd_ep_flush,
     "Everything accepted to disk, to files, or compacted (level=disk|files|compact)."},
    {"api/aggregators", TSD_GET | TSD_POST, tsd_ep_aggregators, "Names of all aggregators."},
    {"api/config", TSD_GET | TSD_POST, tsd_ep_config, "All keys of the configuration and their values."},
    {"api/config/filters", TSD_GET | TSD_POST, tsd_ep_config_filters, "Types of tag filters."},
    {"api/dropcaches", TSD_GET | TSD_POST | TSD_DELETE, tsd_ep_dropcaches,
     "Forget what can be learnt again."},
    {"api/export", TSD_GET, tsd_ep_export, "Points as lines of tsd import (metric, tag, from, to)."},
    {"api/put", TSD_POST, tsd_ep_put, "Store points."},
    {"api/query", TSD_GET | TSD_POST, tsd_ep_query, "Points or totals of series."},
    {"api/query/last", TSD_GET | TSD_POST, tsd_ep_query_last, "Last point of each series."},
    {"api/stats", TSD_GET | TSD_POST, tsd_ep_stats, "Counters of this daemon."},
    {"api/suggest", TSD_GET | TSD_POST, tsd_ep_suggest, "Names that begin with a prefix."},
    {"api/version", TSD_GET | TSD_POST, tsd_ep_version, "About this program."},
    {"suggest", TSD_GET, tsd_ep_suggest, "Names that begin with a prefix (old path)."},
    {"version", TSD_GET, tsd_ep_version, "About this program (old path)."},
    {NULL, 0, NULL, NULL},
};

const struct tsd_endpoint *tsd_endpoint_find(struct ts_slice path)
{
    for (const struct tsd_endpoint *e = tsd_endpoints; e->path; e++)
        if (ts_slice_is(path, e->path))
            return e;
    return NULL;
}
