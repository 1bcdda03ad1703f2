/*
 * histogram.c - the line command histogram: METRIC TIME [ID] DATA k=v ...
 *
 * Threads    see line.h
 * Source     docs/OPENTSDB.md, section 1.6
 */
#include "tsd/protocols/line/line.h"

#include "tsd/ingest/histogram.h"
#include "tsd/ingest/args.h"

#define HISTOGRAM_MIN_ARGS  4 /* metric, time, data, one tag */
#define HISTOGRAM_TOLD_ARGS 5 /* what OpenTSDB says it needs */

/* The data words into h. A malformed one comes back as a storage error in OpenTSDB. */
static int histogram_data(struct tsd_ingest *in, const struct tsd_histograms *conf, struct tsd_line_args *a,
                          struct tsd_histogram *h)
{
    struct ts_slice word = {NULL, 0};
    int64_t id;
    (void)tsd_args_word(a, &word);
    ts_buf_clear(&in->msg);
    if (word.n == 0)
        return tsd_args_say(in, TS_EINVAL, "empty value", word);
    if (ts_num_parse_int(word, &id, NULL) < 0) {
        int rc = tsd_histogram_text(h, word, &in->msg);
        return rc < 0 && in->rules->compat ? TS_EIO : rc;
    }
    if (!tsd_args_word(a, &word) || word.n == 0)
        return tsd_args_say(in, TS_EINVAL, "empty value", word);
    return tsd_histogram_binary(h, conf, id, word, &in->msg);
}

static int histogram_line(struct tsd_ingest *in, const struct tsd_histograms *conf, struct ts_slice raw,
                          struct tsd_histogram *h)
{
    struct tsd_line_args a;
    if (!conf || !conf->on)
        return tsd_args_say(in, TS_EINVAL, tsd_histograms_off, (struct ts_slice){NULL, 0});
    TS_TRY(tsd_args_begin(in, raw, HISTOGRAM_MIN_ARGS,
                          in->rules->compat ? HISTOGRAM_TOLD_ARGS : HISTOGRAM_MIN_ARGS, &a));
    TS_TRY(tsd_args_head(in, &a));
    TS_TRY(histogram_data(in, conf, &a, h));
    TS_TRY(tsd_args_tags(in, &a));
    return tsd_histogram_take(in, conf, h, a.metric, in->tags, in->n_tags, &a.time);
}

int tsd_histogram_line(struct tsd_ingest *in, const struct tsd_histograms *conf, struct ts_slice raw)
{
    struct tsd_histogram h = {.max = conf ? conf->max_buckets : 0};
    int rc = histogram_line(in, conf, raw, &h);
    tsd_histogram_release(&h);
    return rc;
}

enum tsd_line_end tsd_cmd_histogram(struct tsd_line *l, struct ts_slice rest)
{
    return tsd_line_taken(l, "histogram: ", tsd_histogram_line(l->in, l->histograms, rest));
}
