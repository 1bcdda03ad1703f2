/*
 * columns.h - decodes the cells of one row of the data table (family "t") into points.
 *
 *   single      qualifier of 2 bytes (seconds) or 4 bytes (ms): one point
 *   compacted   several such qualifiers in a row: all points of an hour
 *   appends     qualifier 05 00 00: pairs of qualifier and value in the order of arrival
 *   others      01.. annotations, 06.. histograms: reported with their offsets, their values are not parsed
 *
 * A row may have all of them at the same time. Of several points of one offset the cell with the newest time stamp wins;
 * of equal time stamps the later cell, and within a cell the later point. What OpenTSDB wrote wrongly in the past is
 * repaired. A damaged cell is reported, and the others are read.
 *
 * Format     docs/OPENTSDB.md, sections 10.4 to 10.6
 * Threads    a decoder belongs to one thread at a time
 * Cost       O(n) for n points that are stored in their order, which is the rule, otherwise O(n log n); no allocation per
 *            point, none at all after the first rows. Memory: see sto_hbase_columns_decode
 * Not here   encoding (encode.h), values of annotations and histograms (annotation.h, histogram.h), rollups (rollup.h)
 */
#ifndef STORAGE_HBASE_COLUMNS_H
#define STORAGE_HBASE_COLUMNS_H

#include "base/budget.h"
#include "base/buf.h"
#include "storage/point.h"

#include <stdbool.h>
#include <stdint.h>

/* A cell of a row. The bytes are borrowed until the row was decoded. */
struct sto_hbase_cell {
    struct ts_slice qualifier, value;
    int64_t ts_ms; /* time stamp that HBase keeps with the cell */
};

enum sto_hbase_finding {
    STO_HBASE_DAMAGED, /* points of the cell could not be read */
    STO_HBASE_IRREGULAR, /* all points of the cell were read, although OpenTSDB 2.4 does not write such a cell */
    STO_HBASE_UNKNOWN, /* the cell has no known type; it was ignored */
};
/* Two points of one time, of which one is ignored. */
struct sto_hbase_duplicate {
    uint32_t off_ms;   /* offset of both in the row */
    size_t kept, lost; /* indices of their cells, which may be the same one */
    bool equal;        /* their values have the same bytes, which OpenTSDB accepts without an error */
    bool appended;     /* both stand in one append column, where OpenTSDB lets the later point count */
};
/* What to call for each part of a row that is not simply a point. A function may be NULL. */
struct sto_hbase_visitor {
    /** The cell with this index is an annotation; off_ms is what the qualifier says, which may differ from the start time
     * of the annotation. */
    void (*annotation)(void *arg, size_t cell, uint32_t off_ms);
    /** The cell with this index is a histogram. */
    void (*histogram)(void *arg, size_t cell, uint32_t off_ms);
    /** Something is wrong with a cell; text is one sentence, borrowed until return. At most one call for each cell. */
    void (*finding)(void *arg, size_t cell, enum sto_hbase_finding finding, const char *text);
    /** A point is ignored because of another one. */
    void (*duplicate)(void *arg, const struct sto_hbase_duplicate *d);
    void *arg; /* argument of all functions */
};

/* A point as it stands in a cell. */
struct sto_hbase_entry {
    uint32_t off_ms : 22; /* below 3,600,000 */
    uint32_t ms : 1;      /* the qualifier is in ms */
    uint32_t is_float : 1;
    uint32_t length : 4; /* bytes of the value: 1, 2, 4, 8 */
    uint32_t cell;       /* index of its cell */
    uint64_t raw;        /* integers with their sign, floats as the bits of their length */
};

/* A decoder with the row that it decoded last. */
struct sto_hbase_columns {
    /* points of the row: PUTs sorted by offset, each offset once; borrowed until the next call */
    struct sto_cells cells;
    size_t n_equal; /* duplicates whose values have the same bytes */
    /* other duplicates: OpenTSDB refuses to read the row unless it is configured to choose; not those within an append column, where the
     * later point counts */
    size_t n_contradicting;
    size_t n_damaged; /* findings STO_HBASE_DAMAGED */
    /* Set by the caller between init and decode: floats become decimals where they have a short form, which the engine's
     * files store in fewer bytes; otherwise they stay doubles, which is faster. */
    bool decimals;

    /* n_entries points as they stand in the cells, for whoever changes the row (remote/change.h): sorted by offset, and those of one offset by
     * age, so that the last one is that of `cells` */
    struct sto_hbase_entry *entries;
    struct sto_hbase_entry *spare; /* private: points being sorted */
    uint32_t *meta;                /* private: memory of cells */
    int64_t *m;
    size_t n_entries, cap_entries, cap_spare, cap_meta, cap_m;
    struct ts_budget *memory;
};
/** An empty decoder, whose memory is counted in an account (NULL: not counted). */
void sto_hbase_columns_init(struct sto_hbase_columns *c, struct ts_budget *memory);
/** Free all memory; idempotent. */
void sto_hbase_columns_release(struct sto_hbase_columns *c);
/**
 * Decode a row.
 *
 * @param cells    cells of family "t" in any order, also several versions of one
 * @param visitor  NULL = only points are wanted
 * @return 0, also if cells are damaged
 *         TS_ELIMIT   the account refuses memory: up to 30 bytes for each byte of the row, if it consists of the smallest points
 *         TS_ENOMEM   there is no memory
 */
int sto_hbase_columns_decode(struct sto_hbase_columns *c, const struct sto_hbase_cell *cells, size_t n,
                             const struct sto_hbase_visitor *visitor, struct ts_error *err);

#endif
