/*
 * wal_format.h - bytes of the write-ahead log: names, header, records, operations; for writer and reader.
 *
 *   segment   header (56) | record | record | ...
 *   record    length u32 | CRC-32C u32 | body: type u8, ...
 *
 * The checksum of a record starts from a value derived from the segment's name (its salt), so that a record
 * of another segment, left on recycled disk blocks, never looks valid. Within a segment, series have numbers
 * of their own, in the order of their definitions (= of first use). Senders repeat their order, so the number
 * of the next point is mostly the last one + 1, whatever ids and shards the series have.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    pure functions
 * Invariant  decoding reads only inside [p, end) whatever the bytes
 * Not here   files (wal.c, wal_read.c)
 */
#ifndef STORAGE_ENGINE_LOG_WAL_FORMAT_H
#define STORAGE_ENGINE_LOG_WAL_FORMAT_H

#include "base/buf.h"
#include "base/err.h"
#include "storage/batch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STO_WAL_MAGIC             "TSDWAL\r\n" /* 8 bytes; CR LF reveals transfers that change line ends */
#define STO_WAL_VERSION           5u           /* 1 to 4 are read too */
#define STO_WAL_VERSION_MARKED    4u           /* since then marks say that previous segments are on disk */
#define STO_WAL_HEADER_BYTES      56u
#define STO_WAL_RECORD_HEAD_BYTES 8u
#define STO_WAL_RECORD_BYTES      65536u      /* the writer closes a record at about this many bytes */
#define STO_WAL_MAX_RECORD_BYTES  (16u << 20) /* longer bodies are neither written nor accepted */
#define STO_WAL_POINT_MAX_BYTES   26u         /* control 1, series 5, time 10, flags 2, value 8 */
#define STO_WAL_MARK_BODY_BYTES   9u
#define STO_WAL_NO_SEGMENT        UINT32_MAX
#define STO_WAL_NAME_BYTES        64u

/* Type of a record, first byte of its body. */
enum sto_wal_record {
    STO_WAL_POINTS = 1,      /* operations, to the end of the body */
    STO_WAL_SERIES = 2,      /* definitions, to the end of the body; version 1 wrote it */
    STO_WAL_MARK = 3,        /* u64: the segment's bytes below this offset are on disk */
    STO_WAL_SERIES_FROM = 4, /* varint: number of the first one; then as STO_WAL_SERIES; version 2 wrote it */
    STO_WAL_SERIES_HEADED = 5, /* varint: number of the first one; then definitions with heads, to the end */
    STO_WAL_ONCE = 6, /* id of a client, number of operations, their sequences, operations to the end */
};
#define STO_WAL_LAST_TYPE STO_WAL_ONCE
/* Bytes of a record of type 6 before its operations, for n of them. */
#define STO_WAL_ONCE_MAX_BYTES(n) (1u + 10u + 8u + 10u + (n)*10u)
#define STO_WAL_DEF_KNOWN         1u /* in the head of a definition: the catalog has the series, nothing follows */

/* Control byte of an operation: four fields and two flags. */
#define STO_WAL_CTL_SERIES_SHIFT 0 /* 2 bits, enum sto_wal_ctl_series */
#define STO_WAL_CTL_TIME_SHIFT   2 /* 2 bits, enum sto_wal_ctl_time */
#define STO_WAL_CTL_FLAGS_SHIFT  4 /* 2 bits: 0..2 = place in the list of recent flags, 3 = u16 follows */
#define STO_WAL_CTL_NEGATIVE     (1u << 6) /* the value is ~v */
#define STO_WAL_CTL_RAW          (1u << 7) /* v is 8 bytes as they are, not a varint */
#define STO_WAL_FLAGS_EXPLICIT   3u

enum sto_wal_ctl_series {
    STO_WAL_SERIES_NEXT = 0,  /* number of the operation before + 1 */
    STO_WAL_SERIES_SAME = 1,  /* the same number */
    STO_WAL_SERIES_DELTA = 2, /* zigzag varint of the difference follows; 3 is not used */
};
enum sto_wal_ctl_time {
    STO_WAL_TIME_SAME = 0,     /* as the operation before */
    STO_WAL_TIME_STEP = 1,     /* the last difference again */
    STO_WAL_TIME_DELTA_MS = 2, /* zigzag varint of the difference in ms follows */
    STO_WAL_TIME_DELTA_S = 3,  /* zigzag varint of the difference in seconds follows */
};

/* What a record's first operation is compared with: number -1, time 0, step 0, flags of integers and of
 * decimals with two and one digits, in seconds. */
#define STO_WAL_FLAGS_0 (((uint32_t)TS_NUM_INT << STO_META_KIND_SHIFT))
#define STO_WAL_FLAGS_1 (((uint32_t)TS_NUM_DEC << STO_META_KIND_SHIFT) | 2u << STO_META_EXP_SHIFT)
#define STO_WAL_FLAGS_2 (((uint32_t)TS_NUM_DEC << STO_META_KIND_SHIFT) | 1u << STO_META_EXP_SHIFT)

/* The identity of a segment. */
struct sto_wal_name {
    uint32_t run;     /* run of the program */
    uint64_t gen;     /* generation of the memstores */
    uint32_t owner;   /* owner that writes it */
    uint32_t segment; /* counts up within run and owner */
};

/* Header of a segment. */
struct sto_wal_head {
    struct sto_wal_name name;
    uint32_t prev_segment; /* the previous one of this run and owner; STO_WAL_NO_SEGMENT = none */
    uint64_t prev_gen;     /* its generation */
    /* Its length. All of it was on disk if this segment has a mark, or if before_on_disk is set. */
    uint64_t prev_bytes;
    /* Reading only: the version guarantees that all of it was on disk before this segment was created. */
    bool before_on_disk;
};

/* State of the encoder or decoder within one record. */
struct sto_wal_ctx {
    int64_t ts_ms;     /* time of the previous operation */
    int64_t step_ms;   /* last difference of times other than 0 */
    uint32_t number;   /* series of the previous operation */
    uint32_t flags[3]; /* recent flags, latest first */
};
#define STO_WAL_CTX_INIT                                                                                     \
    {                                                                                                        \
        .number = UINT32_MAX, .flags = { STO_WAL_FLAGS_0, STO_WAL_FLAGS_1, STO_WAL_FLAGS_2 }                 \
    }

/* A decoded definition. Bytes are borrowed from the record. */
struct sto_wal_def {
    bool known;               /* the catalog has the series, so the definition has only its id */
    uint32_t id, metric;      /* series number in the catalog, id of the metric */
    uint32_t n_tags;          /* tags[0..n_tags) */
    uint32_t metric_len;      /* bytes of text that are the metric */
    struct ts_slice text;     /* "metric k=v k=v" */
    struct sto_tag tags[255]; /* in the order of the definition */
};

/** Print the file name of a segment (without folder) to out[STO_WAL_NAME_BYTES]. */
void sto_wal__name_print(const struct sto_wal_name *name, char *out);
/** Parse such a name; false if text is not exactly what sto_wal__name_print makes. */
bool sto_wal__name_parse(const char *text, struct sto_wal_name *out);
/** Compare in the order of replay: run, generation, owner, segment. As strcmp. */
int sto_wal__name_cmp(const struct sto_wal_name *x, const struct sto_wal_name *y);
/** Start value for the checksums of a segment's records. */
uint32_t sto_wal__salt(const struct sto_wal_name *name);
/** Encode a header into out[STO_WAL_HEADER_BYTES]. */
void sto_wal__head_put(uint8_t *out, const struct sto_wal_head *head);
/** Decode a header from p[STO_WAL_HEADER_BYTES]: 0, TS_ECORRUPT (checksum, magic), TS_EVERSION. There is
 * no error text, since only the caller knows the file. */
int sto_wal__head_get(const uint8_t *p, struct sto_wal_head *out);

/** Checksum of a record: over its length field and body. */
uint32_t sto_wal__record_crc(uint32_t salt, const uint8_t *length_field, const uint8_t *body, size_t n_body);
/** Set length and checksum of the record that begins at rec and ends at end. */
void sto_wal__record_close(uint8_t *rec, const uint8_t *end, uint32_t salt);
/** Write a whole mark record to out (17 bytes); returns the byte after it. */
uint8_t *sto_wal__mark_put(uint8_t *out, uint64_t synced_off, uint32_t salt);
/** Is there a valid mark record at p (at least 17 bytes)? */
bool sto_wal__mark_get(const uint8_t *p, uint32_t salt, uint64_t *out_synced_off);

/* What a record of type 6 says before its operations. */
struct sto_wal_once {
    struct sto_once_id id;
    uint64_t n;          /* operations */
    const uint8_t *seqs; /* their sequences, to be read with sto_wal__seq_get */
    const uint8_t *ops;  /* the first operation */
};
/** Encode the beginning of a record of type 6, its type included, for the parts [parts, parts + n_parts) of one stream; returns the byte after it. */
uint8_t *sto_wal__once_put(uint8_t *p, const struct sto_once_id *id, const struct sto_part *parts,
                           size_t n_parts);
/** Decode it from the body without its type; false if it is invalid. */
bool sto_wal__once_get(const uint8_t *p, const uint8_t *end, struct sto_wal_once *out);
/** Decode the next sequence (*seq: the one before, 0 at first); returns the byte after it. NULL: it is 0, or more than 64 bits. */
const uint8_t *sto_wal__seq_get(const uint8_t *p, const uint8_t *end, uint64_t *seq);

/** Upper bound of what sto_wal__def_put writes for a series. */
size_t sto_wal__def_bound(const struct sto_series *s, bool known);
/** Encode the definition of a series, its number alone if it is known; returns the byte after it. *before
 * is the id of the previous definition in this record, 0 at its beginning; it becomes this one's. */
uint8_t *sto_wal__def_put(uint8_t *p, const struct sto_series *s, bool known, uint32_t *before);
/** Decode one definition of a record of this type (of series); returns the byte after it, NULL if it is
 * invalid. *before as for sto_wal__def_put. */
const uint8_t *sto_wal__def_get(const uint8_t *p, const uint8_t *end, enum sto_wal_record type,
                                uint32_t *before, struct sto_wal_def *out);

/** Encode operations until n are done or p >= stop; the value of a stamp (storage/versions.h) is encoded with it. numbers[i] is the
 * number of points[i] in this segment. p must have space for 2 * STO_WAL_POINT_MAX_BYTES beyond stop. *out_n = operations encoded; returns the byte
 * after them. Cost: 2-4 ns a point. */
uint8_t *sto_wal__points_put(uint8_t *p, const uint8_t *stop, struct sto_wal_ctx *ctx,
                             const struct sto_point *points, const uint32_t *numbers, size_t n,
                             size_t *out_n);
/** Decode up to cap operations; series[number] for number < n_series are the handles (NULL: the operation
 * is skipped and counted in *out_n_skipped). Returns the byte after them (end when all are read), NULL if
 * they are invalid. */
const uint8_t *sto_wal__points_get(const uint8_t *p, const uint8_t *end, struct sto_wal_ctx *ctx,
                                   const struct sto_series *const *series, uint32_t n_series,
                                   struct sto_point *out, size_t cap, size_t *out_n, size_t *out_n_skipped);

#endif
