/*
 * prometheus.h - figures of the daemon in the text format of Prometheus, version 0.0.4.
 *
 * A figure "storage.wal.bytes" becomes the metric tsd_storage_wal_bytes_total: characters that names of metrics must
 * not have become '_', and counters end in _total. Type and help text come from stat_table.h; all samples of a metric
 * stand together below them.
 *
 * Threads    one thread at a time
 * Source     https://prometheus.io/docs/instrumenting/exposition_formats (text-based format)
 */
#ifndef TSD_NET_PROMETHEUS_H
#define TSD_NET_PROMETHEUS_H

#include "base/buf.h"
#include "base/mem.h"

struct tsd_prometheus_sample;

/* Samples that are to be printed. */
struct tsd_prometheus {
    struct ts_arena arena; /* of names and tags */
    struct tsd_prometheus_sample *samples;
    size_t n, cap;
};

#define TSD_PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8" /* Content-Type of the text */

/** No samples. */
void tsd_prometheus_init(struct tsd_prometheus *p);
/** Add a figure (a tsd_stat_fn; p is a struct tsd_prometheus): name without "tsd.", tag "k=v" or "". Both are copied. */
void tsd_prometheus_add(void *p, const char *name, const char *tag, uint64_t value);
/** Append the text. Metrics are sorted by name, samples of one metric stand in the order in which they were added. */
void tsd_prometheus_print(struct tsd_prometheus *p, struct ts_buf *out);
/** Free the samples. */
void tsd_prometheus_release(struct tsd_prometheus *p);

#endif
