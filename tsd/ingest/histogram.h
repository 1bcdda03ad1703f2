/*
 * histogram.h - histograms that clients send: the text and the binary form, and where they go.
 *
 * Text: items "KEY=COUNT" between colons; KEY is u (underflow), o (overflow) or "LOWER,UPPER", in any case and order.
 * Binary (codec of SimpleHistogramDecoder): 2 bytes number of buckets; each 4 bytes lower and 4 bytes upper bound
 * (float32, big-endian) and its count; underflow; overflow. Counts are little-endian groups of 7 bits, the high bit
 * says that more follow.
 *
 * Threads    one worker
 * Source     docs/OPENTSDB.md, sections 1.6, 2.4, 10.5
 */
#ifndef TSD_INGEST_HISTOGRAM_H
#define TSD_INGEST_HISTOGRAM_H

#include "base/conf.h"
#include "query/execution/histogram.h"
#include "tsd/ingest/ingest.h"

/* Which histograms are accepted. */
struct tsd_histograms {
    bool on;              /* a codec is configured */
    int codec;            /* id of the binary form, 0..255 */
    unsigned max_buckets; /* of one metric */
};
/** From the keys histograms_config and histogram_max_buckets. TS_EINVAL, TS_EPARSE, TS_EIO. */
int tsd_histograms_load(const struct ts_conf *conf, struct tsd_histograms *out, struct ts_error *err);
/** The error text for clients when no codec is configured. */
extern const char tsd_histograms_off[];

/* A bucket and what it counts. */
struct tsd_bucket_count {
    struct sto_bucket b;
    int64_t count; /* >= 0 */
};
/* One histogram: each bucket occurs once, u and o always. Reuse it for further ones. */
struct tsd_histogram {
    struct tsd_bucket_count *buckets; /* owned */
    size_t n, cap;                    /* in use, allocated */
    size_t max;    /* most buckets, u and o among them (histogram_max_buckets); 0 = no limit */
    bool too_many; /* a bucket beyond max was refused since it was cleared */
};
/** Free the buckets. Idempotent. */
void tsd_histogram_release(struct tsd_histogram *h);
/** Leaves only the buckets u and o, with counts of 0. */
void tsd_histogram_clear(struct tsd_histogram *h);
/** Set a bucket by its key; later ones of a key win.
 *  @return 0; TS_EINVAL "Improperly formatted bucket: ...", "... bounds: ..." or "More than N different
 *  buckets", in msg.
 *  Cost: O(log n), O(n) if the bucket belongs before others. */
int tsd_histogram_set(struct tsd_histogram *h, struct ts_slice key, struct ts_slice count,
                      struct ts_buf *msg);
/** Read the text form. Errors as tsd_histogram_set. */
int tsd_histogram_text(struct tsd_histogram *h, struct ts_slice s, struct ts_buf *msg);
/** Read the binary form, base64, with or without the codec's id in front. TS_EINVAL with text. */
int tsd_histogram_binary(struct tsd_histogram *h, const struct tsd_histograms *conf, int64_t id,
                         struct ts_slice base64, struct ts_buf *msg);

struct tsd_hist_families;
/** Forget which buckets metrics have. NULL is harmless. */
void tsd_hist_families_free(struct tsd_hist_families *f);

/** Store a histogram of a series at a time. Earlier buckets of the series that this one does not name get a
 * count of 0, so a histogram sent again replaces the one before.
 *  @return 0; as tsd_ingest_internal with text in in->msg; TS_EBUSY (it may be stored in part; sending the
 *  same again is harmless) */
int tsd_histogram_take(struct tsd_ingest *in, const struct tsd_histograms *conf,
                       const struct tsd_histogram *h, struct ts_slice metric, const struct sto_tag_text *tags,
                       size_t n_tags, const struct tsd_time *time);

#endif
