/*
 * sink.h - sends what the spool holds to a daemon: blocks of put lines, each followed by `sync`, cut from the spool
 * when it is answered.
 *
 * A point is accepted, refused for good (its line is bad; it is counted and dropped), or refused at present. When the
 * daemon accepts nothing at present, or its text is unknown, the block is sent again after a pause. When it refuses
 * only some points at present (new series above its max_series), these go into a spool of their own, so that they do
 * not delay others, and are sent again from there.
 *
 * Values of one series and time are delivered in the order in which they came, also after
 * a crash: newer values queue behind an older one that waits in that spool. So growing counts, as of web logs, never decrease.
 *
 * Addresses are tried in the order given; after a failure the next one is tried. When all have failed, the sink
 * waits: 1 s, then twice as long up to collect_retry_max_s, each time multiplied by a random factor between 0.5 and
 * 1.5, so that a thousand hosts do not come back at once. A daemon that does not know `sync` (OpenTSDB) answers
 * "unknown command"; since it answers in order, that is an acknowledgement too; it is logged.
 *
 * Threads    one of its own
 * Not here   what is sent (spool.h)
 * Source     docs/PROTOCOL.md "Line protocol"; docs/OPENTSDB.md, section 12.4
 */
#ifndef COLLECTORS_CORE_SINK_H
#define COLLECTORS_CORE_SINK_H

#include "base/err.h"
#include "collectors/core/spool.h"

#include <stdbool.h>
#include <stdint.h>

/* How to send. */
struct col_sink_opts {
    struct col_spool *spool; /* borrowed until col_sink_stop */
    struct col_spool *later; /* for points of series that are not taken at present; borrowed likewise */
    const char *servers;     /* "host:port,[::1]:4242,host"; checked by col_servers_check. Borrowed */
    int64_t timeout_ms;      /* to connect, to send a block, for an answer; 0 = 60 s */
    int64_t
        delay_ms; /* after the first point that waits, gather so long at most (random part of it); 0 = none */
    int64_t retry_min_ms; /* shortest pause between rounds of attempts; 0 = 1 s */
    int64_t retry_max_ms; /* longest pause; 0 = 60 s */
    int64_t reconnect_ms; /* begin again with the first address after so long; 0 = never */
    size_t block_bytes;   /* lines between two syncs; 0 = 256 KiB */
};

/* Statistics. */
struct col_sink_stats {
    uint64_t n_sent;    /* points acknowledged */
    uint64_t n_refused; /* points the daemon never takes (bad names ...): they are not sent again */
    uint64_t n_later;   /* points put aside because their series was not taken, each time counted */
    uint64_t
        n_superseded; /* points put aside that are not sent: a newer value of their series and time came behind them */
    uint64_t n_connects; /* connections made */
    uint64_t n_failures; /* attempts and connections that failed */
    uint64_t pause_ms;   /* middle of the next pause after a failure */
    bool connected;      /* now */
    bool opentsdb;       /* the daemon connected to last does not know sync */
};

struct col_sink;
/** Are these addresses well-formed? TS_EINVAL names the bad one. */
int col_servers_check(const char *servers, struct ts_error *err);
/** Start the thread. */
struct col_sink *col_sink_start(const struct col_sink_opts *opts);
/** Deliver what waits for at most wait_ms more, then end the thread; figures can still be requested. True = both
 * spools were empty. */
bool col_sink_end(struct col_sink *s, int64_t wait_ms);
/** End as above and free. NULL is harmless (true). */
bool col_sink_stop(struct col_sink *s, int64_t wait_ms);
/** Figures. Any thread. */
void col_sink_stats(struct col_sink *s, struct col_sink_stats *out);

#endif
