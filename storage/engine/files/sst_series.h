/*
 * sst_series.h - the set of series that have rows in a sorted file.
 *
 * The file has it as a Roaring bitmap in portable form: for each 65,536 numbers that occur a *container* of at
 * most 8 KiB. A short one is kept in memory as it is. Of a long one only a directory is kept: keys and sizes
 * of the containers, and the offsets and checksums of *pages*, which are up to 8 KiB of neighbouring
 * containers. Pages are read through the cache of index pages (pages.h). The directory is made, and the whole
 * set checked, by reading it once when its file is opened; pages are not part of the format.
 *
 * Cost       memory: 4 bytes a container and 16 a page; has: 2 ns, for each window of 1,024 numbers 0.3 us while its page is cached, else
 *            3 us; meets and common: about 2 us for each page that overlaps the selection
 * Source     https://github.com/RoaringBitmap/RoaringFormatSpec
 * Threads    any number of threads after open; a reader belongs to one thread
 * Not here   its users (merge_src.c, cost.c, wear.c, mentions.c), the writer (sst_write.c)
 */
#ifndef STORAGE_ENGINE_FILES_SST_SERIES_H
#define STORAGE_ENGINE_FILES_SST_SERIES_H

#include <roaring/roaring.h>
#include <stdatomic.h>

#include "storage/engine/files/handles.h"
#include "storage/engine/files/pages.h"

/* What is needed to read a page on its own. */
struct sto_sst_series_page {
    uint64_t pos;   /* its offset in the file */
    uint32_t crc;   /* CRC-32C of its bytes */
    uint32_t first; /* its first container */
};

/* The set of one open file; {0}: empty. */
struct sto_sst_series {
    struct sto_handle *file;        /* borrowed */
    struct sto_pages *pages;        /* borrowed; NULL: without a cache */
    uint64_t owner;                 /* number of the set in the cache */
    uint64_t off, end;              /* its offsets in the file */
    uint64_t count;                 /* series */
    uint32_t max;                   /* highest number, if count > 0 */
    uint32_t n, n_pages;            /* containers; pages */
    uint32_t *heads;                /* of n containers: key | (series - 1) << 16; owned */
    uint8_t *runs;                  /* a bit for each container that holds runs; NULL: none does; owned */
    struct sto_sst_series_page *at; /* n_pages + 1; owned */
    uint8_t *bytes;                 /* all of it, if it is short; owned */
    atomic_bool damaged;            /* a page was damaged when it was read; never cleared */
};

/**
 * Read and check the set. On an error s must be released too.
 *
 * @param file  outlives s
 * @return 0; TS_ECORRUPT naming file and offset; TS_EIO; TS_ENOMEM; TS_EMFILE
 */
int sto_sst_series_open(struct sto_sst_series *s, struct sto_handle *file, const struct sto_sst_footer *foot,
                        struct sto_pages *pages, struct ts_error *err);
/** Release memory and cached pages; idempotent, also for {0}. No thread may be using it. */
void sto_sst_series_release(struct sto_sst_series *s);
/** Memory that it holds, without pages in the cache, bytes. */
size_t sto_sst_series_memory(const struct sto_sst_series *s);

#define STO_SST_SERIES_WINDOW 1024u /* numbers that a reader knows at a time */
/* Looks up numbers one by one; {0} to begin with. Numbers that ascend are cheap. */
struct sto_sst_series_reader {
    bool filled;                                /* the rest is valid */
    uint32_t base;                              /* first number of the window */
    uint64_t bits[STO_SST_SERIES_WINDOW / 64u]; /* which of them are in the set */
};

/* These return < 0 if a page cannot be read: TS_ECORRUPT (it is damaged: `damaged` is set, the file must be
 * written anew, remake.h; err says so), TS_EIO, TS_ENOMEM, TS_EMFILE, TS_EBUSY (the thread must not wait, ts_fs_set_nowait). */

/** Is a number in the set? 1, 0. */
int sto_sst_series_has(struct sto_sst_series *s, struct sto_sst_series_reader *r, uint32_t id,
                       struct ts_error *err);
/** Has it a number in common with a selection? 1, 0. */
int sto_sst_series_meets(struct sto_sst_series *s, const roaring_bitmap_t *selection, struct ts_error *err);
/** Add the numbers that it has in common with a selection to out. 0. */
int sto_sst_series_common(struct sto_sst_series *s, const roaring_bitmap_t *selection, roaring_bitmap_t *out,
                          struct ts_error *err);
/** Add all numbers to out. Its pages do not go to the cache. 0. */
int sto_sst_series_add_to(struct sto_sst_series *s, roaring_bitmap_t *out, struct ts_error *err);

#endif
