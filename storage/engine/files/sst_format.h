/*
 * sst_format.h - bytes of sorted files, shared by writer and reader.
 *
 *   header (16) | blocks | tombstones | series bitmap | block index | footer (160)
 *
 * Files of summaries have the same layout with empty tombstones and an empty bitmap. A checksum covers every
 * byte: header, footer and blocks contain their own; the footer contains those of the other sections.
 *
 * Format     docs/FORMAT.md "Sorted file"
 */
#ifndef STORAGE_ENGINE_FILES_SST_FORMAT_H
#define STORAGE_ENGINE_FILES_SST_FORMAT_H

#include "base/buf.h"
#include "base/bytes.h"
#include "storage/engine/files/sst.h"

#define STO_SST_MAGIC "TSDSST\r\n"
#define STO_SST_VERSION                                                                                      \
    3u /* written if the file has a level; 1 is read too: its tombstones have the lowest generation of the file */
#define STO_SST_VERSION_PLAIN 2u  /* written if it has none */
#define STO_SST_LEVEL_MOST    22u /* highest level of zstd */
#define STO_SST_HEADER_BYTES  16u
#define STO_SST_FOOTER_BYTES  160u
#define STO_SST_NAME_BYTES    32u

enum sto_sst_kind {
    STO_SST_KIND_POINTS = 1,
    STO_SST_KIND_SUMS = 2,
    STO_SST_KIND_DAYS = 3,
    STO_SST_KIND_TOTAL = 4 /* a file may have several */
};

/* Location of a block. */
struct sto_sst_block {
    struct sto_key first, last; /* keys of its first and last row */
    uint32_t len;               /* bytes */
    uint32_t crc;               /* checksum with which the block begins */
    uint64_t off;               /* offset in the file */
};

/* Position of a reader in an index: an entry is the difference from the one before it. */
struct sto_sst_index_at {
    struct sto_key before; /* last key of the previous block */
    uint64_t off;          /* offset of the next block */
};
#define STO_SST_INDEX_BEGIN ((struct sto_sst_index_at){{.hour = INT32_MIN}, STO_SST_HEADER_BYTES})
#define STO_SST_ENTRY_BYTES (7 * TS_VARINT_MAX_BYTES + 4) /* upper bound of an entry of the index */

/* The last bytes of a file. */
struct sto_sst_footer {
    uint32_t kind;     /* enum sto_sst_kind */
    unsigned level;    /* of zstd with which its blocks were compressed; 0 = the usual one */
    uint32_t n_blocks; /* entries of the index */
    uint64_t tombs_off, bitmap_off,
        /* A section ends where the next one begins; the index ends at the footer. */
        index_off;
    uint32_t tombs_crc, bitmap_crc, index_crc; /* CRC-32C of the sections */
    uint32_t version;                          /* of the file; read only */
    int64_t made_ms;      /* wall clock when the file, or its oldest tombstones, were written; 0 = not
                           * known */
    uint64_t carried_gen; /* all tombstones up to this generation are applied to its rows; 0 = not known */
    struct sto_sst_info info; /* without the sizes of the files */
};

/** Path of a file, "NNNNNNNN.t", ".s" or ".d" in folder dir; free it with ts_free. Not of totals. */
char *sto_sst__path(const char *dir, uint64_t file_no, enum sto_sst_kind kind);
/** Path of the file of a kept total, "NNNNNNNN.gN"; free it with ts_free. */
char *sto_sst__total_path(const char *dir, uint64_t file_no, uint32_t total);
/** The number of the total in the name of a file for which sto_sst__name_parse says STO_SST_KIND_TOTAL. */
uint32_t sto_sst__total_of(const char *name);

/** Is this the name of a sorted file, as sto_sst__path and sto_sst__total_path make it? A store never uses numbers from 2^48 on. */
bool sto_sst__name_parse(const char *name, uint64_t *out_no, enum sto_sst_kind *out_kind);

/** Version of files with this level. */
uint32_t sto_sst__version(unsigned level);
/** Was the file written by a writer that sto_sst_writer_set_rough was called for? */
bool sto_sst__is_rough(const struct sto_sst_footer *f);
/** Write the first STO_SST_HEADER_BYTES of a file with this level. */
void sto_sst__put_header(uint8_t out[STO_SST_HEADER_BYTES], unsigned level);
/** Check a header. 0, TS_ECORRUPT, TS_EVERSION; `what` names the file in the text of the error. */
int sto_sst__check_header(const uint8_t *p, const char *what, struct ts_error *err);

/** Write the last STO_SST_FOOTER_BYTES of a file. */
void sto_sst__put_footer(const struct sto_sst_footer *f, uint8_t out[STO_SST_FOOTER_BYTES]);
/** Read and check the footer of a file of file_bytes: checksum, order of sections. 0, TS_ECORRUPT,
 * TS_EVERSION. */
int sto_sst__get_footer(const uint8_t *p, uint64_t file_bytes, const char *what, struct sto_sst_footer *out,
                        struct ts_error *err);

/** Append the index of n blocks, which are adjacent and begin at STO_SST_HEADER_BYTES. */
void sto_sst__put_index(struct ts_buf *out, const struct sto_sst_block *blocks, size_t n);
/** Read the entry at p, which must end at `end` or before, and advance *at. Returns the byte after it,
 * NULL if it is invalid. */
const uint8_t *sto_sst__get_entry(const uint8_t *p, const uint8_t *end, struct sto_sst_index_at *at,
                                  struct sto_sst_block *out);
/** Read an index of n blocks that end at blocks_end; 0 or TS_ECORRUPT. */
int sto_sst__get_index(struct ts_slice bytes, struct sto_sst_block *out, size_t n, uint64_t blocks_end);

/** Append n tombstones of generations gen_lo or higher, sorted by sto_sst__tomb_cmp. */
void sto_sst__put_tombs(struct ts_buf *out, const struct sto_tomb *tombs, size_t n, uint64_t gen_lo);
/** Read the tombstones of a file, as many as its footer states; 0 or TS_ECORRUPT (also if they are not
 * sorted). */
int sto_sst__get_tombs(struct ts_slice bytes, const struct sto_sst_footer *foot, struct sto_tomb *out);
/** Compare tombstones by metric, series, from, to. As for qsort. */
int sto_sst__tomb_cmp(const void *a, const void *b);

#endif
