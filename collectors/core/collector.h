/*
 * collector.h - what a collector is: a row with its metrics and three functions.
 *
 * Adding one: a file collectors/<name>.c that defines `const struct col_collector col_<name>`, a row in table.c, a row a metric in
 * docs/COLLECTORS.md (a test compares), a unit test on saved texts. What reads /proc keeps the parser apart from the reading: the
 * parser takes text.
 *
 * Threads    each running collector has a thread of its own, which calls its functions one after the other; a slow one delays nobody
 * Not here   when it runs (sched.h), what becomes of its points (emit.h), which there are (table.c)
 */
#ifndef COLLECTORS_CORE_COLLECTOR_H
#define COLLECTORS_CORE_COLLECTOR_H

#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "collectors/core/emit.h"

#include <stdbool.h>

/* How values of a metric move. */
enum col_kind {
    COL_COUNTER, /* only grows, and is reset by a restart: query its rate */
    COL_GAUGE,   /* goes up and down */
};

/* One metric of a collector; what --list and docs/COLLECTORS.md say of it. */
struct col_metric {
    const char *name; /* "proc.loadavg.1min"; one '*' at the end stands for names the source decides about */
    const char *tags; /* keys besides host, space separated: "type cpu"; "" = none */
    const char *unit; /* of the value: "bytes", "jiffies", "1" for plain counts */
    const char *help; /* one sentence */
    enum col_kind kind; /* counter or gauge */
};

struct col_run;

/* What a collector may use. */
struct col_ctx {
    const struct ts_conf *conf; /* holds col_conf_keys (keys.h) */
    const char *root; /* in front of every /proc and /sys path: "" or a folder of a test; see source.h */
    const char *
        state_dir; /* folder for a checkpoint of its own, exists; NULL = keep nothing (--once, memory only) */
    const struct col_run *run; /* own figures (collect.h); NULL where nothing runs */
};

/* One collector. Either read or run is set. */
struct col_collector {
    const char *name;                 /* as in --only: lower case, one word */
    const char *help;                 /* one sentence */
    const struct col_metric *metrics; /* ended by name == NULL */
    unsigned interval_s;              /* between two reads unless the key collect_interval_s says otherwise */
    bool own_interval; /* interval_s is its own matter: collect_interval_s does not change it */
    bool rates;        /* some values are differences of two reads: --once reads twice */
    bool every_value;  /* repeated values are never left out: totals are made of them */
    bool by_request;   /* runs only if named in collect_only or switched on by keys of its own (wanted) */

    /** With by_request: do its own configuration keys enable it? NULL = no. */
    bool (*wanted)(const struct ts_conf *conf);
    /** Make what it needs (*out_state may stay NULL). TS_EINVAL: a wrong key, which ends the start.
     * TS_ENOTFOUND: nothing to measure on this
     *  host at present; the log says so once, and it is called again every minute. Other errors likewise, as
     *  a warning. NULL = nothing to
     *  make. ctx is borrowed until release. */
    int (*init)(const struct col_ctx *ctx, void **out_state, struct ts_error *err);
    /** Emit what holds now. An error is logged (limited) and counted; what was emitted before it counts; the
     * next turn comes as
     *  usual. The time of points is set already (emit.h). */
    int (*read)(void *state, struct col_emit *emit, struct ts_error *err);
    /** For collectors that wait by themselves (followed files, programs): returns when stop_fd becomes
     * readable (poll it), or with an
     *  error; after an error it is called again with back-off. Points go out with each col_emit_end. */
    int (*run)(void *state, struct col_emit *emit, int stop_fd, struct ts_error *err);
    /** What --once does instead of read: emit what there is now, and come back. NULL = read; a collector that
     * has only run is ignored. */
    int (*once)(void *state, struct col_emit *emit, struct ts_error *err);
    /** Undo init; NULL = nothing to undo. */
    void (*release)(void *state);
};

/** All collectors, sorted by name; ended by NULL. */
extern const struct col_collector *const col_collectors[];
/** Row by name; NULL. */
const struct col_collector *col_collector_find(struct ts_slice name);
/** Row of the metric in a collector's table (names with '*' match their beginnings); NULL if it has no such
 * metric. */
const struct col_metric *col_metric_find(const struct col_collector *c, struct ts_slice metric);

#endif
