/*
 * exposition.h - reads the text formats of Prometheus: 0.0.4 and OpenMetrics.
 *
 *   name{label="value",label="value"} 12.5 [time] [# exemplar]
 *
 * A sample is a point: labels become tags, characters that names may not hold become '_'. Histograms and summaries
 * are samples too: name_bucket with the tag le, name with the tag quantile, name_sum, name_count. Times in the text
 * are not used: points have the time of the turn. NaN and infinities are left out.
 *
 * Threads    pure, but for the emit
 * Source     prometheus.io/docs/instrumenting/exposition_formats; openmetrics.io
 */
#ifndef COLLECTORS_CORE_EXPOSITION_H
#define COLLECTORS_CORE_EXPOSITION_H

#include "base/buf.h"
#include "base/sample.h"
#include "collectors/core/emit.h"

#include <stdbool.h>
#include <stdint.h>

#define COL_EXPOSITION_LABELS TS_SAMPLE_LABELS /* of one sample; one with more is left out */

/* How to read a text, and the counts of the result. */
struct col_exposition {
    struct col_emit *emit;      /* gets points */
    const struct col_tag *tags; /* of every point; a label of the same name wins, see exported. Borrowed */
    unsigned n_tags;            /* at most 4 */
    bool
        exported; /* labels host and job are not the text's to say: they become exported_host, exported_job */
    uint64_t max_samples; /* more are left out */
    uint64_t n_samples;   /* [out] emitted */
    uint64_t n_bad;       /* [out] lines that are no samples */
    uint64_t n_left_out;  /* [out] samples beyond max_samples, and values that are no numbers */
};

/** Read a text and emit its samples. Malformed lines are counted and do not affect the others. */
void col_exposition_read(struct col_exposition *x, struct ts_slice text);

#endif
