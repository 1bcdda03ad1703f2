/*
 * ingest.h - points of one worker on their way into its port: series, checks that need the store, open
 * batches.
 *
 * The line protocol, /api/put and import pass their points to these functions; ingest_cache.h maps texts to
 * series.
 *
 *   tsd_put_line (line/put.h) --\
 *   tsd_ingest_text (/api/put) --+--> series --> tsd_ingest_point --> sto_writer_batch(...)->points
 *
 * Threads    one worker; it owns the port
 * Invariant  a point that was refused is not in any batch; after TS_EBUSY nothing was stored, and the point
 * itself is correct
 */
#ifndef TSD_INGEST_INGEST_H
#define TSD_INGEST_INGEST_H

#include "storage/store.h"
#include "tsd/ingest/ingest_cache.h"
#include "tsd/ingest/once.h"
#include "tsd/ingest/rules.h"
#include "tsd/ingest/series_rate.h"
#include "tsd/ingest/versions.h"

#define TSD_COUNTERS_KNOWN 256 /* metrics whose resolution of increments is kept, direct mapped */

#define TSD_INPUT_PAD 64 /* bytes that may be read, not used, beyond the end of lines that are parsed */

/* Kinds of refusals: the first four as OpenTSDB counts and names them. docs/PROTOCOL.md "What a refused put
 * says". */
enum tsd_refusal {
    TSD_REF_ILLEGAL,    /* illegal argument */
    TSD_REF_VALUE,      /* invalid value */
    TSD_REF_UNKNOWN,    /* unknown metric */
    TSD_REF_STORAGE,    /* an error of the store, other than */
    TSD_REF_DISK,       /* that the disk is full */
    TSD_REF_SERIES,     /* max_series is reached and the series is new */
    TSD_REF_NEW_SERIES, /* too many new series in a minute */
    TSD_REF_READ_ONLY,  /* mode = ro */
    TSD_REF_HBASE,      /* OpenTSDB's tables in HBase cannot hold it (remote = hbase) */
    TSD_REF_EXPIRED,    /* retention does not keep points that are so old */
    TSD_REF_KINDS
};

struct tsd_hist_families;

/* The resolution of a metric's increments (counters.h). */
struct tsd_counter_known {
    uint32_t metric_end; /* id of the metric + 1; 0 = none */
    uint32_t ms;
};

/* Where batches come from if no store takes them. */
struct tsd_ingest_sink {
    /* An empty batch; the one before is full and taken. Never NULL. */
    struct sto_batch *(*next)(void *arg);
    void *arg; /* of next */
};

struct tsd_ingest {
    const struct tsd_rules *rules;      /* borrowed */
    struct sto_store *store;            /* borrowed */
    struct sto_catalog *cat;            /* of the store */
    struct sto_writer *writer;          /* owned */
    const struct tsd_ingest_sink *sink; /* borrowed; NULL: the writer takes batches */
    struct tsd_icache cache;            /* text -> series */
    struct sto_batch **open;            /* by slot: open batch or NULL; void after each turn */
    uint16_t *slot_of;                  /* by shard: slot + 1, 0 = not looked up yet */
    uint32_t shard_mask;                /* of sto_series.shard: number of shards - 1 */
    uint16_t n_slots;                   /* entries of open */
    struct ts_buf msg;                  /* text of the last refusal */
    struct ts_buf text;                 /* scratch: a series' text in normal form */
    struct ts_buf recoded;              /* scratch: a line in UTF-8 (compat) */
    struct ts_buf internal;             /* scratch: name of an internal metric, for callers */
    struct ts_buf tags_text;            /* scratch: tags of an internal series */
    struct tsd_hist_families *families; /* owned: buckets of histograms (histogram.h); NULL until the first */
    struct sto_tag_text *tags;          /* scratch: tags of a point */
    size_t n_tags, max_tags;            /* tags: in use, allocated */
    bool own_series;                    /* new series are the daemon's own (sto_series_resolve_own) */
    struct tsd_series_conn *new_series; /* of the current connection; NULL = no limit of new series */
    struct tsd_series_total *new_series_total; /* of the daemon; NULL only if new_series is */
    uint64_t new_series_per_min;               /* of a connection */
    bool may_wait;                             /* the current connection can send its point again */
    bool waits_for_series; /* TS_EBUSY was about new series, not the store; the caller clears it */
    struct tsd_counter_known counters[TSD_COUNTERS_KNOWN]; /* by id of the metric */
    struct sto_keep *keep;      /* how long points are kept; a reference; NULL = no point expires */
    uint64_t keep_epoch;        /* of the store when keep was taken */
    int64_t now_ms;             /* sto_retain_now_ms at the last tsd_ingest_begin */
    int64_t kept_ms;            /* of this time and later all points are kept, by keep at now_ms */
    struct sto_store *declared; /* where metrics that keep versions are declared; borrowed; NULL = none are */
    struct tsd_versions *versions; /* of what is put (versions.h); owned; NULL = no metric keeps any */
    bool is_expired;               /* the last refusal of tsd_ingest_point was because of keep */
    char time_text[24];            /* time of the last line, with the blank after it */
    uint32_t time_len;             /* digits of it; 0 = none */
    uint32_t time_ms_flag;         /* STO_META_MS if it came with milliseconds */
    int64_t time_ts_ms;            /* its meaning */
    uint64_t n_points;             /* accepted since the start */
    uint64_t n_guessed, n_found, n_missed; /* series by guess, by table, by catalog */
    uint64_t n_refused[TSD_REF_KINDS];     /* refused points by kind */
};

/** Initialise. rules, store and port are borrowed; cache_bytes = budget of the cache of texts. */
void tsd_ingest_init(struct tsd_ingest *in, const struct tsd_rules *rules, struct sto_store *store,
                     struct sto_writer *writer, size_t cache_bytes);
/** The same without a store: series are those of a catalog, and batches are taken by a sink (import.c with --bulk). Neither
 * tsd_ingest_turn nor tsd_ingest_barrier may be called; in->open[0] is the open batch, which may be NULL. */
void tsd_ingest_init_apart(struct tsd_ingest *in, const struct tsd_rules *rules, struct sto_catalog *cat,
                           const struct tsd_ingest_sink *sink, size_t cache_bytes);
/** Release; open batches must have been sent. */
void tsd_ingest_release(struct tsd_ingest *in);
/** Call before a run of points: forgets texts if names were renamed, and looks at the rules of retention and the time. */
void tsd_ingest_begin(struct tsd_ingest *in);
/** End of a loop turn: pass the open batches to the store and run the port. */
void tsd_ingest_turn(struct tsd_ingest *in);
/** sto_writer_barrier for everything accepted so far; asker: the one of additions, 0 if there were none. It sends the open batches, which must not be filled
 * afterwards: calling sto_writer_barrier directly would lose points. */
void tsd_ingest_barrier(struct tsd_ingest *in, enum sto_level level, uint32_t asker, sto_done_fn done,
                        void *arg);

/** Series of a metric and tags; creates it if the rules allow. Names are checked; tags are as sent, without
 * duplicate keys.
 *  @param raw_metric, raw_tags  spelling to remember, as it stands in the sender's text; raw_tags.n 0 =
 * remember nothing
 *  @param out_ref   [out] ref of the spelling in the cache, 0 if not kept; may be NULL
 *  @return 0; TS_EINVAL, TS_ENOTFOUND (unknown metric), TS_ELIMIT (max_series), TS_ETIMEOUT
 *  (new_series_per_min) and others of the catalog with text in in->msg; TS_EBUSY with in->waits_for_series
 *  set */
int tsd_ingest_series(struct tsd_ingest *in, struct ts_slice metric, const struct sto_tag_text *tags,
                      size_t n_tags, struct ts_slice raw_metric, struct ts_slice raw_tags,
                      const struct sto_series **out_series, uintptr_t *out_ref);
/** As above, but looks into the cache first, by the text "metric k=v k=v" made from the parts. For senders
 * that do not send such text. */
int tsd_ingest_text(struct tsd_ingest *in, struct ts_slice metric, const struct sto_tag_text *tags,
                    size_t n_tags, const struct sto_series **out_series);

/** Series of an internal metric (query/execution/internal_metric.h) with a point's tags, after the visible
 * one of metric and tags was found or created. Errors as tsd_ingest_series, about the visible one. */
int tsd_ingest_internal(struct tsd_ingest *in, struct ts_slice internal, struct ts_slice metric,
                        const struct sto_tag_text *tags, size_t n_tags, const struct sto_series **out_series);
/** Add a tag to the scratch list in->tags. */
void tsd_ingest_add_tag(struct tsd_ingest *in, struct sto_tag_text tag);

/** An open batch that has space for a point of a series, if the current one is missing or full. NULL: see
 * tsd_ingest_refusal. */
struct sto_batch *tsd_ingest_open(struct tsd_ingest *in, const struct sto_series *series);
/** The same with room for n operations. */
struct sto_batch *tsd_ingest_open_room(struct tsd_ingest *in, const struct sto_series *series, uint32_t n);
/** Delete points of a series that another thread has found; that thread keeps it in memory (sto_catalog_read_begin). If it was
 * forgotten meanwhile there is nothing to delete, and 0 is returned. Errors as tsd_ingest_point. Times in milliseconds, both
 * inclusive. */
int tsd_ingest_delete(struct tsd_ingest *in, const struct sto_series *series, int64_t from_ms, int64_t to_ms);
/** Why tsd_ingest_open gave NULL: TS_EBUSY, or TS_ENOSPC / TS_ENOMEM / TS_EMFILE / TS_EIO with text in in->msg. */
int tsd_ingest_refusal(struct tsd_ingest *in);
/** Class of a refusal for reply lines: "illegal argument: ". compat: OpenTSDB's word for errors of the
 * store. */
const char *tsd_refusal_text(enum tsd_refusal kind, bool compat);
/** Kind of an error code. */
enum tsd_refusal tsd_refusal_of(int code);
/** Does the store refuse whatever is put? Then it is no fault of the point. */
static inline bool tsd_refusal_is_stores(enum tsd_refusal kind)
{
    return kind == TSD_REF_STORAGE || kind == TSD_REF_DISK;
}

/** Refuse a point that has expired: TS_EINVAL, with the text in in->msg. */
int tsd_ingest_expired(struct tsd_ingest *in, const struct sto_series *series);
/** Count a refused point by the kind of its code; the caller has answered. */
void tsd_ingest_count_refused(struct tsd_ingest *in, int code);

/** Slot + 1 of a series; 0 = not looked up yet. */
static inline unsigned tsd_ingest_slot(const struct tsd_ingest *in, const struct sto_series *series)
{
    return in->slot_of[series->shard & in->shard_mask];
}

/** Append one operation to its batch. Returns 0 or the code of tsd_ingest_refusal. */
static inline int tsd_ingest_append(struct tsd_ingest *in, const struct sto_series *series, int64_t ts_ms,
                                    int64_t m, uint32_t flags)
{
    unsigned slot = tsd_ingest_slot(in, series);
    struct sto_batch *batch = slot ? in->open[slot - 1] : NULL;
    if (__builtin_expect(!batch || batch->n == STO_BATCH_POINTS, 0)) {
        batch = tsd_ingest_open(in, series);
        if (!batch)
            return tsd_ingest_refusal(in);
    }
    batch->points[batch->n++] = (struct sto_point){.series = series, .ts_ms = ts_ms, .m = m, .flags = flags};
    return 0;
}

/** Do the rules of retention still keep a point of this time? */
static inline bool tsd_ingest_keeps(const struct tsd_ingest *in, const struct sto_series *series,
                                    int64_t ts_ms)
{
    return __builtin_expect(!in->keep || ts_ms >= in->kept_ms, 1) ||
           ts_ms >= sto_keep_from_ms(in->keep, series->id, in->now_ms);
}

/** Do increments of a series have to be refused, since its metric keeps versions? The text is in in->msg then. */
static inline bool tsd_ingest_no_add(struct tsd_ingest *in, const struct sto_series *series)
{
    return __builtin_expect(in->versions != NULL, 0) &&
           tsd_versions_refuse(in, series, "which increments do not have: put the value instead");
}

/** Append one point to its batch. Returns 0, the code of tsd_ingest_refusal, or TS_EINVAL: it has expired (tsd_ingest_expired). Inlined in
 * the parsers' loops. */
static inline int tsd_ingest_point(struct tsd_ingest *in, const struct sto_series *series, int64_t ts_ms,
                                   int64_t m, uint32_t flags)
{
    if (__builtin_expect(!tsd_ingest_keeps(in, series, ts_ms), 0))
        return tsd_ingest_expired(in, series);
    if (__builtin_expect(in->versions != NULL, 0)) {
        int rc = tsd_versions_put(in, series, ts_ms, m, flags);
        if (rc)
            return rc < 0 ? rc : 0;
    }
    return tsd_ingest_append(in, series, ts_ms, m, flags);
}

/** Look up the resolution of increments of a metric, in ms, and keep it. */
int64_t tsd_ingest_resolution(struct tsd_ingest *in, uint32_t metric);

/** The time and flags of an increment: rounded down to the resolution of the metric; the flag of milliseconds goes when that is seconds. */
static inline void tsd_ingest_round(struct tsd_ingest *in, const struct sto_series *series, int64_t *ts_ms,
                                    uint32_t *flags)
{
    const struct tsd_counter_known *k = &in->counters[series->metric % TSD_COUNTERS_KNOWN];
    int64_t ms = k->metric_end == series->metric + 1 ? k->ms : tsd_ingest_resolution(in, series->metric);
    *ts_ms = ts_floor_div(*ts_ms, ms) * ms;
    if (ms % 1000 == 0)
        *flags &= ~STO_META_MS;
    *flags = (*flags & ~(3u << STO_META_OP_SHIFT)) | (uint32_t)STO_OP_ADD << STO_META_OP_SHIFT;
}

/** Append an addition of a value to its batch, at the time rounded down to the resolution of the metric; otherwise as
 * tsd_ingest_point.
 *  @param flags  of a put
 *  @param asker  whose barrier tells whether it was made (tsd_ingest_barrier) */
static inline int tsd_ingest_add(struct tsd_ingest *in, const struct sto_series *series, int64_t ts_ms,
                                 int64_t m, uint32_t flags, uint32_t asker)
{
    tsd_ingest_round(in, series, &ts_ms, &flags);
    if (tsd_ingest_no_add(in, series))
        return TS_EINVAL;
    TS_TRY(tsd_ingest_point(in, series, ts_ms, m, flags));
    struct sto_batch *b = in->open[tsd_ingest_slot(in, series) - 1];
    b->points[b->n - 1].asker = asker;
    return 0;
}

/** An open batch with room for a part of n additions; otherwise as tsd_ingest_open. */
struct sto_batch *tsd_ingest_open_part(struct tsd_ingest *in, const struct sto_series *series,
                                       const struct sto_stream *stream, uint32_t n);

/** The same as a sequence of its own; TS_EBUSY and other refusals: it was not sent to its owner. */
static inline int tsd_ingest_add_once(struct tsd_ingest *in, const struct sto_series *series, int64_t ts_ms,
                                      int64_t m, uint32_t flags, const struct sto_stream *stream,
                                      uint64_t seq)
{
    unsigned slot = tsd_ingest_slot(in, series);
    struct sto_batch *b = slot ? in->open[slot - 1] : NULL;
    tsd_ingest_round(in, series, &ts_ms, &flags);
    if (tsd_ingest_no_add(in, series))
        return TS_EINVAL;
    if (__builtin_expect(!tsd_ingest_keeps(in, series, ts_ms), 0))
        return tsd_ingest_expired(in, series);
    if (__builtin_expect(!b || !sto_batch_part(b, stream, seq, 1), 0)) {
        b = tsd_ingest_open_part(in, series, stream, 1);
        if (!b)
            return tsd_ingest_refusal(in);
        (void)sto_batch_part(b, stream, seq, 1);
    }
    b->points[b->n++] = (struct sto_point){.series = series, .ts_ms = ts_ms, .m = m, .flags = flags};
    return 0;
}

/** Send a sequence of additions to their owners, each shard's as one part; their times are rounded already.
 *  @param points  at most STO_BATCH_POINTS; sorted by shard here
 *  @return 0; TS_EBUSY and others as tsd_ingest_point: some parts may have been sent, and a repeat brings the others */
int tsd_ingest_sequence(struct tsd_ingest *in, const struct sto_stream *stream, uint64_t seq,
                        struct sto_point *points, size_t n);

#endif
