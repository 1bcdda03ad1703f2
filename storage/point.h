/*
 * point.h - what a point, a row of points and a series are to everything in storage.
 *
 * A series has rows, one for each hour (floor division, so hours before 1970 are negative). A cell is one
 * point of a row:
 *
 *   meta (32 bits)   31..30 op | 29..25 exp | 24..23 kind | 22 ms | 21..0 offset from the hour in ms
 *   m    (64 bits)   integer, mantissa or bits of a double (base/num.h)
 *
 * Invariant  rows handed out by files and scans are sorted by offset, each offset once
 * Not here   batches (batch.h), how rows become bytes (codecs/, engine/sst_format.h)
 */
#ifndef STORAGE_POINT_H
#define STORAGE_POINT_H

#include "base/num.h"
#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sto_op {
    STO_OP_PUT, /* value replaces what an older write left at that time */
    STO_OP_ADD, /* value is added to what is there (counters) */
    STO_OP_DEL, /* in batches and memstores only: deletes a range; m is its last ms, inclusive */
};

#define STO_META_OFF_MASK   0x3fffffu
#define STO_META_MS         (1u << 22) /* came with millisecond resolution; else whole seconds */
#define STO_META_KIND_SHIFT 23
#define STO_META_KIND_MASK  (3u << STO_META_KIND_SHIFT)
#define STO_META_EXP_SHIFT  25
#define STO_META_EXP_MASK   (31u << STO_META_EXP_SHIFT)
#define STO_META_OP_SHIFT   30
#define STO_META_OP_MASK    (3u << STO_META_OP_SHIFT)
#define STO_META_FLAGS_MASK (~STO_META_OFF_MASK)

/** Flags of a cell (all but the offset). */
static inline uint32_t sto_meta_flags(enum sto_op op, uint8_t kind, uint8_t exp, bool ms)
{
    return (uint32_t)op << STO_META_OP_SHIFT | (uint32_t)exp << STO_META_EXP_SHIFT |
           (uint32_t)kind << STO_META_KIND_SHIFT | (ms ? STO_META_MS : 0);
}
/** Milliseconds since the hour, 0 to 3,599,999. */
static inline uint32_t sto_meta_off(uint32_t meta)
{
    return meta & STO_META_OFF_MASK;
}
/** enum ts_num_kind. */
static inline uint8_t sto_meta_kind(uint32_t meta)
{
    return (meta >> STO_META_KIND_SHIFT) & 3;
}
/** Exponent of a decimal. */
static inline uint8_t sto_meta_exp(uint32_t meta)
{
    return (meta >> STO_META_EXP_SHIFT) & 31;
}
/** enum sto_op. */
static inline uint8_t sto_meta_op(uint32_t meta)
{
    return (uint8_t)(meta >> STO_META_OP_SHIFT);
}
/** Value of a cell. */
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
 * The part of a span of time that lies in an hour.
 *
 * @param from_ms, to_ms    inclusive, any
 * @param out_from,out_to   offsets in the hour, inclusive; unchanged if there is no such part
 * @return false = there is none
 */
static inline bool sto_hour_part(int32_t hour, int64_t from_ms, int64_t to_ms, uint32_t *out_from,
                                 uint32_t *out_to)
{
    int64_t lo = hour * TS_HOUR_MS, hi = lo + TS_HOUR_MS - 1;
    if (to_ms < lo || from_ms > hi)
        return false;
    /* First clamp, then subtract: clang 14 makes "a > b ? (uint32_t)(a - b) : 0" a look at the sign of a - b, also
     * where that overflows (a = INT64_MIN). */
    from_ms = from_ms < lo ? lo : from_ms;
    to_ms = to_ms > hi ? hi : to_ms;
    *out_from = (uint32_t)(from_ms - lo);
    *out_to = (uint32_t)(to_ms - lo);
    return true;
}
#define STO_MAX_TS_MS ((int64_t)INT32_MAX * TS_HOUR_MS)
#define STO_MIN_TS_MS (-STO_MAX_TS_MS)

/* One tag of a series. */
struct sto_tag {
    uint32_t k, v; /* ids of key and value */
};

/* One series. Made by the catalog, never changed or freed while the process runs: anyone may keep the
 * pointer. */
struct sto_series {
    uint32_t id;         /* dense number from 0 */
    uint32_t metric;     /* id of the metric */
    uint32_t local;      /* dense number within its shard, from 0 (differs between runs) */
    uint16_t shard;      /* from the ids, so that a rename moves nothing */
    uint8_t n_tags;      /* tags[0..n_tags) */
    uint8_t reserved;    /* bit 0: bytes that tell the sender's order of tags stand behind text (catalog alone
                            reads them) */
    uint32_t metric_len; /* bytes of text that are the metric */
    uint32_t text_len;   /* bytes of text */
    const char
        *text; /* "metric k=v k=v" as first written (order of tags as the sender had it), not terminated */
    struct sto_tag tags[]; /* sorted by key id */
};

/* One operation on its way down. */
struct sto_point {
    const struct sto_series *series;
    int64_t ts_ms;  /* time; STO_OP_DEL: first ms of the range */
    int64_t m;      /* value by kind; STO_OP_DEL: last ms of the range, inclusive */
    uint32_t flags; /* sto_meta_flags(); the offset bits are 0 */
};

/* Cells of one row, structure of arrays. */
struct sto_cells {
    uint32_t n;      /* cells */
    uint32_t cap;    /* room in the arrays; 0 = arrays are borrowed */
    uint32_t common; /* flags that all cells share; meaningful if uniform */
    bool uniform;    /* all cells have the same flags */
    uint32_t *meta;  /* offset and flags */
    int64_t *m;      /* value */
};
/** Room for n cells (contents kept); arrays are owned by the struct. */
void sto_cells_reserve(struct sto_cells *c, uint32_t n);
/** Bytes that sto_cells_reserve would add for n cells. */
uint64_t sto_cells_growth(const struct sto_cells *c, uint32_t n);
/** Bytes of the arrays that the struct owns. */
uint64_t sto_cells_bytes(const struct sto_cells *c);
/** Memory away; twice is harmless. */
void sto_cells_release(struct sto_cells *c);

/* Key of a row; rows of a file are in this order. One series' hours lie side by side, series of one metric
 * too. */
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

/* What a whole row adds up to. Only rows whose cells are all integers or all doubles have one. */
struct sto_summary {
    uint32_t n;         /* points */
    bool is_int;        /* INT cells only; else DEC and RAW only */
    bool has_sum;       /* false: a double did not fit the fixed-point word; sum is not known */
    uint32_t first_off; /* offset of the first and last point, ms */
    uint32_t last_off;
    struct ts_num first, last; /* their values */
    struct ts_num min, max;    /* smallest and largest value */
    __int128 sum;              /* is_int: the integer sum; else units of 2^-64, exact (base/xsum.h) */
};
/** Summary of sorted cells (n >= 1); false if integers and doubles are mixed or a value is NaN. ADD counts as
 * its value. O(n). */
bool sto_summary_make(const struct sto_cells *c, struct sto_summary *out);

/* Deletes points of a series in files and memstores whose generations are all lower than its own. */
struct sto_tomb {
    uint32_t metric, series;
    int64_t from_ms, to_ms; /* inclusive */
    uint64_t gen;           /* generation of the delete; 0 when written: the lowest one of the file */
};

#endif
