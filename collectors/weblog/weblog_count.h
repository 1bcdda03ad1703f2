/*
 * weblog_count.h - counts requests by time bucket, domain and path prefix.
 *
 * A cell holds the counts of one bucket of one series (domain and path). It is sent as absolute counts at the bucket's
 * time whenever it changes, so a repetition overwrites the same points. Cells are kept for a while after their last change,
 * since lines arrive late (a request is logged when it ends). A line that arrives after its cell was evicted gets a new cell,
 * whose points have a different time inside the bucket, some ms later: nothing is overwritten, and sums stay exact.
 *
 *   bucket 12:00:00   cell A  time 12:00:00.000   sent 3 times, evicted
 *                     cell B  time 12:00:00.001   a late line (generation 1)
 *
 * Threads    one
 * Not here   reading lines (weblog_format.h), storing the cells on disk (weblog_state.h)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_COUNT_H
#define COLLECTORS_WEBLOG_WEBLOG_COUNT_H

#include "collectors/core/emit.h"
#include "collectors/weblog/weblog_field.h"
#include "collectors/weblog/weblog_names.h"

#include <stdbool.h>
#include <stdint.h>

#define COL_WEB_CLASSES    6u /* 1xx to 5xx, none of these */
#define COL_WEB_TOOK_STEPS 8u /* up to 10, 30, 100, 300, 1000, 3000, 10000 ms, more */
#define COL_WEB_NO_HORIZON INT64_MIN

/* How to count. */
struct col_web_limits {
    int64_t bucket_ms; /* length of a bucket */
    int64_t late_ms;   /* a cell is kept for this long after its last change */
    int64_t
        slot_ms; /* offset of points from the time of their bucket; 0 except in imports, where it differs by file */
    uint32_t max_domains; /* most values of domain; further ones are "other" (weblog_names.h) */
    uint32_t max_paths;   /* most values of path of one domain; further ones are "other" */
    int64_t forget_ms;    /* a value without requests for this long may be replaced by a new one */
    uint32_t path_depth;  /* folders of a path that make its prefix; 0 = no tag path */
    uint32_t max_cells;   /* most cells; above it those of old buckets are evicted early */
    bool tag_bots;        /* requests have the tag bot */
};

/* Value of the tag bot. */
enum col_web_bot { COL_WEB_BOT_UNTOLD, COL_WEB_BOT_NO, COL_WEB_BOT_YES };
#define COL_WEB_BOTS 3u

/* The counts of one bucket of one series. */
struct col_web_cell {
    int64_t time_ms;                   /* time of its points */
    int64_t start_ms;                  /* beginning of the bucket */
    int64_t touched_ms;                /* clock at the last change */
    uint32_t series;                   /* index of the path's name, which has its domain */
    enum col_web_bot bot;              /* tag; COL_WEB_BOT_UNTOLD = none */
    bool dirty;                        /* changed since it was sent */
    bool flying;                       /* its last points were sent, but are not known to be delivered */
    uint64_t hits[COL_WEB_CLASSES];    /* requests */
    uint64_t bytes[COL_WEB_CLASSES];   /* sent */
    uint64_t n_timed;                  /* requests whose time is known */
    uint64_t sum_us;                   /* sum of these times */
    uint64_t max_us;                   /* longest */
    uint64_t took[COL_WEB_TOOK_STEPS]; /* requests by duration */
};

struct col_web_count {
    struct col_web_limits limits; /* as given */
    struct col_web_names names;   /* domains and paths */
    struct col_web_cell *cells;   /* owned */
    uint32_t n_cells, cap_cells;  /* used, allocated */
    uint32_t *cell_slots;         /* table of cells, index + 1; owned */
    uint32_t n_cell_slots;        /* a power of two */
    uint32_t n_dirty;             /* cells to be sent */
    int64_t horizon_ms;           /* newest bucket of which a cell was evicted; COL_WEB_NO_HORIZON */
    uint32_t generation;          /* generation of late cells, from 1 */
    uint64_t n_counted;           /* lines */
    uint64_t n_late;              /* those of them that were counted in late cells */
    struct ts_buf text;           /* a name being made */
};

/** Empty. limits are copied. */
void col_web_count_init(struct col_web_count *c, const struct col_web_limits *limits);
/** Release; idempotent. */
void col_web_count_release(struct col_web_count *c);
/** Count a request for a domain (any bytes, empty = none). Cost: two lookups, and with tag_bots a search of
 * the user agent. */
void col_web_count_hit(struct col_web_count *c, const struct col_web_hit *h, struct ts_slice domain,
                       int64_t now_ms);
/** Emit all changed cells, in batches that fit every spool; the caller ends the last one. Call
 * col_web_count_sent when the points are stored safely. Metrics: web.hits ... of the collector weblog. An
 * error is that of a batch. */
int col_web_count_emit(const struct col_web_count *c, struct col_emit *emit, struct ts_error *err);
/** Mark all changed cells as sent. flying: their points are not delivered yet and may still be lost; this replaces the marks of the
 * previous call. */
void col_web_count_sent(struct col_web_count *c, bool flying);
/** The points in flight were delivered or, with lost, must be sent again. */
void col_web_count_landed(struct col_web_count *c, bool lost);
/** Evict cells that were delivered and have not changed for late_ms; with full also those of old buckets, or all that were sent,
 * until there is space again. Returns the number of evicted cells. */
uint32_t col_web_count_evict(struct col_web_count *c, int64_t now_ms, bool full);
/** Evict all cells, sent or not: later lines for their buckets get points of their own. */
void col_web_count_forget(struct col_web_count *c);
/** More cells than max_cells? */
bool col_web_count_full(const struct col_web_count *c);

/* For the checkpoint: restoring saved state. */
/** Add a cell as it was saved. False: there is no such series, or the cell is there already. */
bool col_web_cell_restore(struct col_web_count *c, const struct col_web_cell *cell);

#endif
