/*
 * sample.h - name and labels of a sample in the text formats of Prometheus: 0.0.4, OpenMetrics, and those of promtool.
 *
 *   name{label="value",label="value"} 12.5 [time] [# exemplar]
 *   {__name__="name", label="value"} 12.5 time
 *
 * Threads    pure
 * Source     prometheus.io/docs/instrumenting/exposition_formats; openmetrics.io
 */
#ifndef BASE_SAMPLE_H
#define BASE_SAMPLE_H

#include "base/buf.h"

#define TS_SAMPLE_LABELS 24u  /* of one sample; one with more cannot be read */
#define TS_SAMPLE_BYTES  256u /* of a name or a label's value, with its terminating zero */

struct ts_sample {
    char metric[TS_SAMPLE_BYTES];                 /* ':' of recording rules is '_' */
    char keys[TS_SAMPLE_LABELS][TS_SAMPLE_BYTES]; /* of labels */
    char values[TS_SAMPLE_LABELS]
               [TS_SAMPLE_BYTES]; /* escapes resolved, without a '+' in front; longer ones are cut */
    unsigned n_labels;            /* entries; labels with an empty value are none */
};

/** Take name and labels off the front of a line. *rest then begins behind them, with the blank before the value. False: the line
 * is no sample. */
bool ts_sample_read(struct ts_slice *rest, struct ts_sample *out);

#endif
