/*
 * emit.h - formats the points of one collector as put lines: "put METRIC SECONDS VALUE tag=value ... host=HOST\n".
 *
 * The scheduler sets the time and calls col_emit_end after each read; a collector with a run function does both
 * itself. A batch (what lies between two ends) reaches the spool in order; one above 1 MiB goes in parts.
 *
 * Threads    one emit a collector, used by its thread only; the output below may be shared and locks by itself
 * Not here   the spool (spool.h), which values are left out (repeat.h)
 * Source     docs/OPENTSDB.md, sections 12.2 to 12.4
 */
#ifndef COLLECTORS_CORE_EMIT_H
#define COLLECTORS_CORE_EMIT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* A tag of a point. Bytes that names may not hold become '_'; an empty value becomes "none". */
struct col_tag {
    const char *key;       /* plain word */
    struct ts_slice value; /* any bytes, borrowed */
};
/* COL_TAGS({"type", TS_SLICE_LIT("user")}, {"cpu", cpu}): the two last arguments of col_emit_*. */
#define COL_TAGS(...)                                                                                        \
    (const struct col_tag[]){__VA_ARGS__},                                                                   \
        sizeof((const struct col_tag[]){__VA_ARGS__}) / sizeof(struct col_tag)
#define COL_NO_TAGS NULL, 0

/** Append a tag value as lines have it: bytes that names may not hold become '_', empty is "none", cut at 255 bytes. */
void col_name_append(struct ts_buf *out, struct ts_slice value);

/* Progress of an output. All numbers only grow. */
struct col_out_progress {
    uint64_t n_taken; /* points accepted so far */
    uint64_t n_left;  /* of these, points delivered, refused for good, or lost */
    uint64_t n_lost;  /* points it lost for lack of space */
};

/* The destination of batches. */
struct col_out {
    /** Take n_points lines, all of them or none. With durable they are on disk on return, else with the kernel (a killed process
     *  loses nothing). An error was counted below; there is nothing to try again. */
    int (*put)(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err);
    void *arg; /* for put and progress */
    /** Report the progress; NULL = accepted points are delivered at once. Any thread. */
    void (*progress)(void *arg, struct col_out_progress *out);
};

/* What an emit adds to points. */
struct col_emit_opts {
    struct col_out out; /* where batches go */
    const char *host;   /* value of host; "" = no such tag. Borrowed */
    const char
        *tags; /* further tags, "dc=fra,rack=r1"; a line that has the key keeps its own value. Borrowed */
    const char *prefix;        /* in front of every metric, with its dot; "" = none. Borrowed */
    int64_t repeat_interval_s; /* leave out repeated values for so long, as tcollector does; 0 = never */
};

struct col_emit;
/** New emit. Never fails: tags were checked by col_tags_check. */
struct col_emit *col_emit_new(const struct col_emit_opts *opts);
/** Discard a batch that was not ended, and free; NULL is harmless. */
void col_emit_free(struct col_emit *e);
/** Are these tags "k=v,k=v" with allowed characters? TS_EINVAL names the bad one. */
int col_tags_check(const char *tags, struct ts_error *err);

/** May this stand in front of every metric: empty, or letters, digits and -_./? TS_EINVAL. */
int col_prefix_check(const char *prefix, struct ts_error *err);

/** Time of the points that follow, ms. Printed as seconds if it is whole seconds. */
void col_emit_time(struct col_emit *e, int64_t ts_ms);
/** The time set by col_emit_time. */
int64_t col_emit_time_get(const struct col_emit *e);
/** One point. metric is a name of the collector's table. Cost: no allocation once buffers have grown. */
void col_emit_int(struct col_emit *e, const char *metric, int64_t value, const struct col_tag *tags,
                  unsigned long n_tags);
/** A counter of 64 bits without sign: kept modulo 2^63, since the store's integers have a sign. */
void col_emit_u64(struct col_emit *e, const char *metric, uint64_t value, const struct col_tag *tags,
                  unsigned long n_tags);
/** A fraction; NaN and infinities are left out. */
void col_emit_num(struct col_emit *e, const char *metric, double value, const struct col_tag *tags,
                  unsigned long n_tags);
/** A point as a program printed it: "METRIC TIME VALUE [tag=value ...]", blanks in any number, with or without "put"
 * in front. Host and further tags are added. TS_EPARSE with what is wrong (nothing is emitted). */
int col_emit_line(struct col_emit *e, struct ts_slice line, struct ts_error *err);

/** Hand the batch to the output. Afterwards the points survive kill -9 of this process; with durable a power cut too
 * (call it before writing a checkpoint that says these points need not be made again). An empty batch only applies
 * durable.
 *  @return 0, or the error of the output: the points are lost and counted, or, with durable, may not be on disk */
int col_emit_end(struct col_emit *e, bool durable, struct ts_error *err);
/** Progress of the output; false: accepted points are delivered at once. For collectors that can delay their
 * points until earlier ones are delivered. */
bool col_emit_progress(const struct col_emit *e, struct col_out_progress *out);
/** The output of its batches, for another emit with different options. */
struct col_out col_emit_out(const struct col_emit *e);
/** Points handed over so far, and left out as repetitions. */
void col_emit_counts(const struct col_emit *e, uint64_t *out_points, uint64_t *out_left_out);

#endif
