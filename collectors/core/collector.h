/*
 * collector.h - the interface of a collector: a row with its metrics and functions.
 *
 * CONTRIBUTING.md says how to add one. A collector that reads /proc has a separate parser, which takes the text.
 *
 * Threads    each running collector has a thread of its own, which calls its functions one after the other; a slow
 *            collector does not delay the others
 * Not here   when it runs (sched.h), its points (emit.h), the list of collectors (table.c)
 */
#ifndef COLLECTORS_CORE_COLLECTOR_H
#define COLLECTORS_CORE_COLLECTOR_H

#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "collectors/core/emit.h"

#include <stdbool.h>

/* Kind of a metric. */
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

/* The environment of a collector. */
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
    bool own_interval;                /* collect_interval_s does not change interval_s */
    bool rates;                       /* some values are differences of two reads: --once reads twice */
    bool every_value;                 /* repeated values are never left out, since totals add them up */
    bool by_request; /* runs only if named in collect_only or switched on by keys of its own (wanted) */

    /** With by_request: do its own configuration keys enable it? NULL = no. */
    bool (*wanted)(const struct ts_conf *conf);
    /** Create its state (*out_state may stay NULL). TS_EINVAL: a wrong key, which ends the start.
     * TS_ENOTFOUND: nothing to measure on this
     *  host at present; the log says so once, and it is called again every minute. Other errors likewise, as
     *  a warning. NULL = nothing to
     *  make. ctx is borrowed until release. */
    int (*init)(const struct col_ctx *ctx, void **out_state, struct ts_error *err);
    /** Emit the present values. An error is logged (rate-limited) and counted; points emitted before it are kept, and
     * the next turn comes as usual. The time of the points is set already (emit.h). */
    int (*read)(void *state, struct col_emit *emit, struct ts_error *err);
    /** For collectors that wait by themselves (followed files, programs): returns when stop_fd becomes
     * readable (poll it), or with an
     *  error; after an error it is called again with back-off. Points go out with each col_emit_end. */
    int (*run)(void *state, struct col_emit *emit, int stop_fd, struct ts_error *err);
    /** Called by --once instead of read: emit the present values and return. NULL = read; --once ignores a collector
     * that has only run. */
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
