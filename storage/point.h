/*
 * point.h - points, rows of points and series, as all of storage sees them.
 *
 * A series has one row for each hour; hours are rounded towards minus infinity, so that those before 1970 are
 * negative. A point of a row consists of two words:
 *
 *   meta (32 bits)   31..30 op | 29..25 exp | 24..23 kind | 22 ms | 21..0 offset from the hour in ms
 *   m    (64 bits)   integer, mantissa or bits of a double (base/num.h)
 *
 * Invariant  a row that a file or a scan returns is sorted by offset, and no offset occurs twice but for STO_OP_KEEP
 * Not here   batches (batch.h), encoding of rows (codecs/, engine/sst_format.h)
 */
#ifndef STORAGE_POINT_H
#define STORAGE_POINT_H

#include "base/buf.h"
#include "base/num.h"
#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sto_op {
    STO_OP_PUT,  /* the value replaces an older one at that time */
    STO_OP_ADD,  /* the value is added to the one at that time (counters) */
    STO_OP_DEL,  /* only in batches and memstores: deletes a range, whose last ms (inclusive) is in m */
    STO_OP_KEEP, /* stays beside others of its time, in the order of arrival (versions.h) */
};

#define STO_META_OFF_MASK   0x3fffffu
#define STO_META_MS         (1u << 22) /* the resolution is milliseconds, otherwise seconds */
#define STO_META_KIND_SHIFT 23
#define STO_META_KIND_MASK  (3u << STO_META_KIND_SHIFT)
#define STO_META_EXP_SHIFT  25
#define STO_META_EXP_MASK   (31u << STO_META_EXP_SHIFT)
#define STO_META_OP_SHIFT   30
#define STO_META_OP_MASK    (3u << STO_META_OP_SHIFT)
#define STO_META_FLAGS_MASK (~STO_META_OFF_MASK)

/** Flags of a point: everything in meta but the offset. */
static inline uint32_t sto_meta_flags(enum sto_op op, uint8_t kind, uint8_t exp, bool ms)
{
    return (uint32_t)op << STO_META_OP_SHIFT | (uint32_t)exp << STO_META_EXP_SHIFT |
           (uint32_t)kind << STO_META_KIND_SHIFT | (ms ? STO_META_MS : 0);
}
/** Offset from the hour in milliseconds, 0 to 3,599,999. */
static inline uint32_t sto_meta_off(uint32_t meta)
{
    return meta & STO_META_OFF_MASK;
}
/** Kind of the value, an enum ts_num_kind. */
static inline uint8_t sto_meta_kind(uint32_t meta)
{
    return (meta >> STO_META_KIND_SHIFT) & 3;
}
/** Exponent of a decimal value. */
static inline uint8_t sto_meta_exp(uint32_t meta)
{
    return (meta >> STO_META_EXP_SHIFT) & 31;
}
/** Operation, an enum sto_op. */
static inline uint8_t sto_meta_op(uint32_t meta)
{
    return (uint8_t)(meta >> STO_META_OP_SHIFT);
}
/** May a cell stand behind another one in a sorted row? Only versions (versions.h) share a time. */
static inline bool sto_meta_follows(uint32_t before, uint32_t meta)
{
    uint32_t a = sto_meta_off(before), b = sto_meta_off(meta);
    return a < b || (a == b && sto_meta_op(before) == STO_OP_KEEP && sto_meta_op(meta) == STO_OP_KEEP);
}
/** Value of a point. */
static inline struct ts_num sto_cell_num(uint32_t meta, int64_t m)
{
    return (struct ts_num){.m = m, .kind = sto_meta_kind(meta), .exp = sto_meta_exp(meta)};
}
/** Hour of a time stamp; time stamps are kept within +-2^31 hours (years -242,000 to 247,000). */
static inline int32_t sto_hour(int64_t ts_ms)
{
    return (int32_t)ts_floor_div(ts_ms, TS_HOUR_MS);
}
/**
 * The part of a time range that lies in an hour.
 *
 * @param from_ms, to_ms     the range, both ends inclusive; any values
 * @param out_from, out_to   [out, ms] offsets from the hour, inclusive; unchanged if the range does not meet
 *                           the hour
 * @return false if the range does not meet the hour
 */
static inline bool sto_hour_part(int32_t hour, int64_t from_ms, int64_t to_ms, uint32_t *out_from,
                                 uint32_t *out_to)
{
    int64_t lo = hour * TS_HOUR_MS, hi = lo + TS_HOUR_MS - 1;
    if (to_ms < lo || from_ms > hi)
        return false;
    /* Clamp first and subtract afterwards: clang 14 compiles "a > b ? (uint32_t)(a - b) : 0" into a test of
     * the sign of a - b, even where that overflows (a = INT64_MIN). */
    from_ms = from_ms < lo ? lo : from_ms;
    to_ms = to_ms > hi ? hi : to_ms;
    *out_from = (uint32_t)(from_ms - lo);
    *out_to = (uint32_t)(to_ms - lo);
    return true;
}
#define STO_MAX_TS_MS ((int64_t)INT32_MAX * TS_HOUR_MS)
#define STO_MIN_TS_MS (-STO_MAX_TS_MS)

/* Ids of names and numbers of series from here on are foreign: the catalog never gives them away. A query gives
 * them to what only the remote store has; they are valid in that query alone (query/view.h). */
#define STO_FOREIGN 0x80000000u

/* One tag of a series. */
struct sto_tag {
    uint32_t k, v; /* ids of key and value */
};

/* One series. The catalog makes it and never changes it. It may be freed after it was forgotten:
 * catalog/forget.h says how long a pointer is valid. */
struct sto_series {
    uint32_t id;     /* dense number from 0 */
    uint32_t metric; /* id of the metric */
    uint32_t local;  /* dense number within its group (storage/slots.h), from 0; differs between runs */
    /* bits of a hash of the ids, so that a rename does not move the series; the lower ones are its shard (sto_shard_of) */
    uint16_t shard;
    uint8_t n_tags;        /* tags[0..n_tags) */
    uint8_t reserved;      /* flags that only the catalog uses: STO_SERIES_ORDERED (catalog/series.h) */
    uint32_t metric_len;   /* length of the metric, with which the text begins, bytes */
    uint32_t text_len;     /* length of the text, bytes */
    struct sto_tag tags[]; /* sorted by key id; the text follows the last one */
};
/** Text of a series: "metric k=v k=v" with tags in the order of its first sender. Valid as long as the series. */
static inline struct ts_slice sto_series_text(const struct sto_series *s)
{
    return (struct ts_slice){(const char *)(s->tags + s->n_tags), s->text_len};
}

/* One operation in a batch. */
struct sto_point {
    const struct sto_series *series;
    int64_t ts_ms;  /* time of the point; STO_OP_DEL: first ms of the range */
    int64_t m;      /* value by kind; STO_OP_DEL: last ms of the range, inclusive */
    uint32_t flags; /* sto_meta_flags(); the offset bits are 0 */
    /* who waits for the result of an addition (sto_writer_barrier); 0 with other operations, and if nobody does */
    uint32_t asker;
};

/* The points of one row as a structure of arrays. */
struct sto_cells {
    uint32_t n;      /* number of points */
    uint32_t cap;    /* capacity of the arrays; 0 = the arrays are borrowed */
    uint32_t common; /* flags that all points share; valid only if uniform */
    bool uniform;    /* all points have the same flags */
    uint32_t *meta;  /* offset and flags */
    int64_t *m;      /* value */
};
/** Grow the arrays to at least n points; contents are kept. The struct owns the arrays. */
void sto_cells_reserve(struct sto_cells *c, uint32_t n);
/** Bytes by which sto_cells_reserve(c, n) would grow the arrays. */
uint64_t sto_cells_growth(const struct sto_cells *c, uint32_t n);
/** Bytes of the arrays that the struct owns. */
uint64_t sto_cells_bytes(const struct sto_cells *c);
/** Release; idempotent. */
void sto_cells_release(struct sto_cells *c);
/** Index of the first point of sorted ones whose offset is not below off, which may lie outside the hour; n if there is none. O(log n). */
uint32_t sto_cells_find(const struct sto_cells *c, int64_t off);

/* Key of a row. Files are sorted by it, so that the hours of a series are adjacent, and so are the series of
 * a metric. */
struct sto_key {
    uint32_t metric; /* id */
    uint32_t series; /* number */
    int32_t hour;    /* hours since the epoch */
};
/** Order of rows: metric, series, hour. */
static inline int sto_key_cmp(const struct sto_key *a, const struct sto_key *b)
{
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    if (a->series != b->series)
        return a->series < b->series ? -1 : 1;
    return a->hour < b->hour ? -1 : a->hour > b->hour;
}

/* Does a row consist of versions (versions.h)? If one of its cells is a version, all of them are. */
static inline bool sto_cells_are_kept(const struct sto_cells *c)
{
    return c->n > 0 && sto_meta_op(c->meta[0]) == STO_OP_KEEP;
}

/* Summary of a row. Only rows whose values are all integers, or all decimals and doubles, have one. */
struct sto_summary {
    uint32_t n;         /* points */
    bool is_int;        /* true: all values are INT; false: all are DEC or RAW */
    bool has_sum;       /* false: a double does not fit the fixed-point sum, which is therefore unknown */
    uint32_t first_off; /* offset of the first and last point, ms */
    uint32_t last_off;
    struct ts_num first, last; /* their values */
    struct ts_num min, max;    /* smallest and largest value */
    /* is_int: the sum of the integers; otherwise the exact sum in units of 2^-64 (base/xsum.h) */
    __int128 sum;
};
/** Summarise sorted points (n >= 1). Returns false if integers are mixed with other kinds, a value is NaN, or the
 * row is one of versions. An ADD counts with its value. O(n). */
bool sto_summary_make(const struct sto_cells *c, struct sto_summary *out);
/** Do two summaries say the same? Integers as integers, other numbers as the same double, bit for bit. */
bool sto_summary_same(const struct sto_summary *a, const struct sto_summary *b);

/* A tombstone: deletes points of a series in files and memstores with generations lower than its own. */
struct sto_tomb {
    uint32_t metric, series;
    int64_t from_ms, to_ms; /* inclusive */
    /* generation of the delete; the writer of a file takes 0 as the lowest one of the file */
    uint64_t gen;
};

#endif
