/*
 * rows.h - collectors of files that hold a number, or lines "KEY NUMBER ...", as rows of a table.
 *
 * Threads    the collector's own
 */
#ifndef COLLECTORS_HOST_ROWS_H
#define COLLECTORS_HOST_ROWS_H

#include "collectors/core/collector.h"
#include "collectors/host/parse.h"

/* Where a value of a metric is. The tags of the metric are filled in order: a '*' of the path each, then type. */
struct col_row {
    const char *
        path; /* below the root; a part may hold one '*', which stands for any name: "/sys/class/net/" "*" "/mtu". The tag is the name
                         up to what stands behind the '*' */
    const char *key; /* first word of the line that holds the value, without a colon; NULL = the first line */
    unsigned column; /* word of that line behind the key, from 0 */
    unsigned metric; /* row of the collector's metrics */
    const char *type; /* value of the last tag; NULL = none */
    double scale;     /* the value is multiplied by it; 0 = a whole number, as it is */
};

/** Emit what the rows (ended by path == NULL) find; missing files and words that are no numbers are ignored. Returns points. */
unsigned col_rows_read(const char *root, const struct col_row *rows, const struct col_metric *metrics,
                       struct col_emit *emit);
/** For an init: TS_ENOTFOUND if the rows find nothing, saying `what` is not there; else col_text_init. */
int col_rows_init(const struct col_ctx *ctx, const struct col_row *rows, const struct col_metric *metrics,
                  const char *what, void **out_state, struct ts_error *err);

/* The init, read and row of a collector made of nothing but NAME_rows and NAME_metrics. */
#define COL_ROWS_COLLECTOR(NAME, INTERVAL_S, HELP)                                                           \
    static int NAME##_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)                \
    {                                                                                                        \
        return col_rows_init(ctx, NAME##_rows, NAME##_metrics, #NAME, out_state, err);                       \
    }                                                                                                        \
    static int NAME##_read(void *state, struct col_emit *emit, struct ts_error *err)                         \
    {                                                                                                        \
        (void)err;                                                                                           \
        (void)col_rows_read(col_text_ctx(state)->root, NAME##_rows, NAME##_metrics, emit);                   \
        return 0;                                                                                            \
    }                                                                                                        \
    const struct col_collector col_##NAME = {                                                                \
        .name = #NAME,                                                                                       \
        .help = HELP,                                                                                        \
        .metrics = NAME##_metrics,                                                                           \
        .interval_s = INTERVAL_S,                                                                            \
        .init = NAME##_init,                                                                                 \
        .read = NAME##_read,                                                                                 \
        .release = col_text_release,                                                                         \
    }

#endif
