/*
 * weblog_names.h - the values of the tags domain and path: a table of limited size whose old entries are replaced.
 *
 * A name gets a value of its own if the limit is not reached, or if it may replace another one; the rest
 * counts as "other", and these requests are counted. Names come from clients: scanners invent hosts and paths
 * by the thousand. So
 *
 *   - a path that is answered with 4xx makes no new name; 5xx does, since a new path that only fails should
 *   be seen
 *   - names that were answered with 2xx rank above those answered with 3xx, 5xx or nothing (some servers
 *     redirect every request), and these above 4xx; a new name replaces one that ranks below it
 *   - otherwise a new name replaces the one whose last request is oldest, if that was longer ago than
 *     forget_ms
 *
 * so that the number of values in a store grows by at most the limit in forget_ms, and real names get values.
 * A name that was replaced stays in the table while its counts may still change. If it returns, it is the
 * same entry again, so that no second entry overwrites its points.
 *
 * Threads    one
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_NAMES_H
#define COLLECTORS_WEBLOG_WEBLOG_NAMES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define COL_WEB_NAME_BYTES 100        /* of a domain or path; longer ones are cut */
#define COL_WEB_TOP        UINT32_MAX /* parent of a domain */
#define COL_WEB_STANDINGS  3u

/* A domain or a path of a domain. */
struct col_web_name {
    char *text;                       /* as sent, owned */
    uint32_t parent;                  /* of a path: its domain; COL_WEB_TOP for a domain */
    uint32_t n_subs;                  /* of a domain: paths that have a value of their own */
    uint32_t n_at[COL_WEB_STANDINGS]; /* of these: by standing */
    int64_t last_ms;                  /* clock of its last hit */
    int64_t full_ms;  /* of a domain: clock before which no path of it is old enough to give way */
    bool own;         /* it has a value of its own; else "other" or "", or it gave way */
    uint8_t standing; /* by its best answer: 0 = 4xx, 1 = others, 2 = 2xx */
};

/* Limits. */
struct col_web_name_limits {
    uint32_t max_domains; /* values of domain */
    uint32_t max_paths;   /* values of path of one domain */
    int64_t forget_ms;    /* a name that was not hit for so long gives way */
};

struct col_web_names {
    struct col_web_name_limits limits; /* as given */
    struct col_web_name *list;         /* in order of arrival, a domain before its paths; owned */
    uint32_t n, cap;                   /* used, allocated */
    uint32_t *slots;                   /* table of list, index + 1; owned */
    uint32_t n_slots;                  /* a power of two */
    uint32_t n_domains;                /* domains of their own */
    uint32_t n_at[COL_WEB_STANDINGS];  /* of these: by standing */
    uint32_t n_gone;                   /* names that gave way and are still in list */
    int64_t full_ms;                   /* clock before which no domain is old enough to give way */
    uint64_t n_other_domains;          /* requests whose domain counted as other */
    uint64_t n_other_paths;            /* requests whose path did, their domain apart */
};

/** Empty. */
void col_web_names_init(struct col_web_names *t, const struct col_web_name_limits *limits);
/** Free; idempotent. */
void col_web_names_release(struct col_web_names *t);
/** Index of a name for a request with this status (0 = none): itself, or "other". text is as it will be sent. Cost: a
 * look-up; sometimes one pass over the table. */
uint32_t col_web_names_of(struct col_web_names *t, struct ts_slice text, uint32_t parent, uint32_t status,
                          int64_t now_ms);
/** Index of a name that counts against no limit ("", "other"), made if it is new. */
uint32_t col_web_names_fixed(struct col_web_names *t, struct ts_slice text, uint32_t parent);
/** Add a name as it was saved; names come in their order. NULL: it makes no sense. */
struct col_web_name *col_web_names_restore(struct col_web_names *t, struct ts_slice text, uint32_t parent,
                                           bool own, uint8_t standing);
/** Forget names that gave way, but those that keep[index] says are used. out_map[index] gets the new index. */
void col_web_names_pack(struct col_web_names *t, bool *keep, uint32_t *out_map);

#endif
