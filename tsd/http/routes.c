/*
 * routes.c - the table of endpoints.
 *
 * Threads    constant
 * Source     protocols-and-queries 2
 */
#include "tsd/http/ep.h"

const struct tsd_endpoint tsd_endpoints[] = {
    {"", TSD_GET, tsd_ep_home, "A form for graphs.", TSD_EP_READS},
    {"aggregators", TSD_GET, tsd_ep_aggregators, "Names of all aggregators (old path).", 0},
    {"api/admin/flush", TSD_GET | TSD_POST, tsd_ep_flush,
     "Everything accepted to disk, to files, or compacted (level=disk|files|compact).", 0},
    {"api/aggregators", TSD_GET | TSD_POST, tsd_ep_aggregators, "Names of all aggregators.", 0},
    {"api/annotation", TSD_GET | TSD_POST | TSD_PUT | TSD_DELETE, tsd_ep_meta,
     "A note at a time, on one series or global.", TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/annotation/bulk", TSD_POST | TSD_PUT | TSD_DELETE, tsd_ep_meta,
     "Many notes stored, or those of a range deleted.", TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/annotations", TSD_GET, tsd_ep_meta, "The global notes of a range.",
     TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/config", TSD_GET | TSD_POST, tsd_ep_config, "All keys of the configuration and their values.", 0},
    {"api/config/filters", TSD_GET | TSD_POST, tsd_ep_config_filters, "Types of tag filters.", 0},
    {"api/delete", TSD_GET | TSD_DELETE, tsd_ep_delete,
     "What a query matches: GET tells what would go, DELETE deletes it.", TSD_EP_OVERRIDE | TSD_EP_READS},
    {"api/dropcaches", TSD_GET | TSD_POST | TSD_DELETE, tsd_ep_dropcaches, "Forget what can be learnt again.",
     0},
    {"api/export", TSD_GET, tsd_ep_export, "Points as lines of tsd import (metric, tag, from, to).",
     TSD_EP_READS},
    {"api/find/*", TSD_GET | TSD_POST, tsd_ep_meta,
     "As api/search, whatever the configuration says: for the commands of this program.", TSD_EP_READS},
    {"api/histogram", TSD_POST, tsd_ep_histogram, "Store histograms.", TSD_EP_STORES},
    {"api/put", TSD_POST, tsd_ep_put, "Store points.", TSD_EP_STORES},
    {"api/query", TSD_GET | TSD_POST | TSD_DELETE, tsd_ep_query, "Points or totals of series.", TSD_EP_READS},
    {"api/query/exp", TSD_POST, tsd_ep_query_exp, "Formulas over metrics.", TSD_EP_READS},
    {"api/query/explain", TSD_GET | TSD_POST, tsd_ep_query_explain, "What a query would read.", TSD_EP_READS},
    {"api/query/gexp", TSD_GET, tsd_ep_query_gexp, "Functions over series.", TSD_EP_READS},
    {"api/query/last", TSD_GET | TSD_POST, tsd_ep_query_last, "Last point of each series.", TSD_EP_READS},
    {"api/rollup", TSD_POST, tsd_ep_rollup, "Store points of rollups and pre-aggregates.", TSD_EP_STORES},
    {"api/scan", TSD_GET, tsd_ep_scan, "Rows of what a query chooses, or lines of import (import).",
     TSD_EP_READS},
    {"api/search/*", TSD_ANY, tsd_ep_meta, "Series, names and annotations by what is said about them.",
     TSD_EP_OVERRIDE | TSD_EP_READS},
    {"api/serializers", TSD_GET | TSD_POST, tsd_ep_serializers, "Forms of bodies: JSON.", TSD_EP_OURS},
    {"api/stats", TSD_GET | TSD_POST, tsd_ep_stats, "Counters of this daemon.", 0},
    {"api/stats/jvm", TSD_GET | TSD_POST, tsd_ep_jvm, "Memory and age of the daemon in OpenTSDB's shape.", 0},
    {"api/stats/query", TSD_GET | TSD_POST | TSD_DELETE, tsd_ep_stats_query,
     "Queries that run and that ran; DELETE ends one (id).", 0},
    {"api/stats/region_clients", TSD_GET | TSD_POST, tsd_ep_region_clients, "Storage servers: none.", 0},
    {"api/stats/threads", TSD_GET | TSD_POST, tsd_ep_threads, "Threads of the daemon.", 0},
    {"api/suggest", TSD_GET | TSD_POST, tsd_ep_suggest, "Names that begin with a prefix.", TSD_EP_READS},
    {"api/tree", TSD_ANY, tsd_ep_meta, "Trees: series filed by rules over their names.",
     TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/tree/branch", TSD_ANY, tsd_ep_meta, "A branch of a tree and what is below it.",
     TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/tree/collisions", TSD_ANY, tsd_ep_meta, "Series whose place in a tree another one has.",
     TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/tree/notmatched", TSD_ANY, tsd_ep_meta, "Series that no rule of a tree matches.",
     TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/tree/rule", TSD_ANY, tsd_ep_meta, "A rule of a tree.", TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/tree/rules", TSD_ANY, tsd_ep_meta, "Many rules of a tree at once.",
     TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/tree/test", TSD_ANY, tsd_ep_meta, "What the rules of a tree make of some series.",
     TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/uid/*", TSD_ANY, tsd_ep_meta, "501.", TSD_EP_STORES},
    {"api/uid/assign", TSD_GET | TSD_POST, tsd_ep_meta, "Ids for new names.", TSD_EP_STORES},
    {"api/uid/delete", TSD_POST, tsd_ep_meta, "Delete names; their ids are never used again.", TSD_EP_STORES},
    {"api/uid/fsck", TSD_GET | TSD_POST, tsd_ep_meta,
     "Do names, series and metadata agree? POST takes away metadata of nothing.", TSD_EP_STORES},
    {"api/uid/rename", TSD_GET | TSD_POST, tsd_ep_meta, "Another name for an id.", TSD_EP_STORES},
    {"api/uid/tsmeta", TSD_GET | TSD_POST | TSD_PUT | TSD_DELETE, tsd_ep_meta, "Metadata of a series.",
     TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/uid/uidmeta", TSD_GET | TSD_POST | TSD_PUT | TSD_DELETE, tsd_ep_meta, "Metadata of a name.",
     TSD_EP_OVERRIDE | TSD_EP_STORES},
    {"api/version", TSD_GET | TSD_POST, tsd_ep_version, "About this program.", 0},
    {"diediedie", TSD_GET, tsd_ep_diediedie, "End of the daemon, if allow_diediedie.", 0},
    {"dropcaches", TSD_GET, tsd_ep_dropcaches, "Forget what can be learnt again (old path).", TSD_EP_OURS},
    {"favicon.ico", TSD_GET, tsd_ep_favicon, "None.", TSD_EP_READS},
    {"logs", TSD_GET, tsd_ep_logs, "Last lines of the log.", 0},
    {"q", TSD_GET, tsd_ep_graph, "Points as ascii, json or a picture (old path).", TSD_EP_READS},
    {"s/*", TSD_GET, tsd_ep_static, "404: our page needs no files.", TSD_EP_READS},
    {"stats", TSD_GET, tsd_ep_stats_text, "Counters as lines (old path).", 0},
    {"suggest", TSD_GET, tsd_ep_suggest, "Names that begin with a prefix (old path).", TSD_EP_READS},
    {"version", TSD_GET, tsd_ep_version, "About this program (old path).", 0},
    {NULL, 0, NULL, NULL, 0},
};

const struct tsd_endpoint *tsd_endpoint_find(struct ts_slice path)
{
    const struct tsd_endpoint *below = NULL;
    for (const struct tsd_endpoint *e = tsd_endpoints; e->path; e++) {
        size_t n = strlen(e->path);
        if (ts_slice_is(path, e->path))
            return e;
        if (n && e->path[n - 1] == '*' && path.n > n - 1 && !memcmp(path.p, e->path, n - 1))
            below = e;
    }
    return below;
}
