/*
 * catalog_log.h - records of the catalog's log: encoding and decoding of names, series and renames.
 *
 * Names and series are written in blocks of columns, so that a million series that differ in one name cost a
 * few bytes each: a name shares a prefix with the one before it, series share a shape (metric and keys) and
 * differ in value ids.
 *
 * Format     docs/FORMAT.md "Catalog"
 * Threads    writing: log_lock held; names and series are read without a lock. Reading: before threads start.
 */
#ifndef STORAGE_CATALOG_CATALOG_LOG_H
#define STORAGE_CATALOG_CATALOG_LOG_H

#include "storage/catalog/catalog.h"
#include "storage/catalog/idruns.h"
#include "storage/reclog.h"

enum sto_catalog_log_type {
    STO_CATALOG_LOG_SIZES = 1,    /* how many names and series the checkpoint contains */
    STO_CATALOG_LOG_NAMES = 2,    /* a block of names of one kind */
    STO_CATALOG_LOG_SERIES = 3,   /* a block of series */
    STO_CATALOG_LOG_RENAME = 4,   /* another name for an id */
    STO_CATALOG_LOG_GONE = 5,     /* numbers of series, or ids of names, that were forgotten */
    STO_CATALOG_LOG_ASSIGNED = 6, /* ids of names that people have assigned */
    STO_CATALOG_LOG_RENAMES = 7,  /* other names for several ids, as one change */
};
#define STO_CATALOG_LOG_GONE_SERIES                                                                          \
    3u /* kind of series in a record of forgetting; smaller kinds are those of names */
#define STO_CATALOG_LOG_FLAG_ZSTD 1u /* the payload is one zstd frame */

#define STO_CATALOG_LOG_BLOCK_ITEMS 65536u     /* largest number of names or series in a block */
#define STO_CATALOG_LOG_BLOCK_CELLS (1u << 20) /* approximate limit for the tags of all series in a block */
#define STO_CATALOG_LOG_BLOCK_BYTES (8u << 20) /* approximate limit for the bytes of the names in a block */
#define STO_CATALOG_LOG_MAX_RAW_BYTES                                                                        \
    (48u << 20) /* limit of a payload before compression, several times the largest block */
#define STO_CATALOG_LOG_LEVEL_APPEND     3  /* zstd level while running */
#define STO_CATALOG_LOG_LEVEL_CHECKPOINT 12 /* and in a checkpoint */

/* Sorted ids of names and numbers of series to be written. */
struct sto_catalog_log_items {
    struct sto_idruns names[3];    /* by enum sto_uid_kind */
    struct sto_idruns series;      /* numbers */
    struct sto_idruns assigned[3]; /* ids of names that people have assigned */
    /* write a record of assigned names without ids after the others: it says that the log knows them all */
    bool mark_assigned;
};

/** Add blocks with these names, series and assigned names to the log's buffer; ids without a name or series are
 * skipped. */
int sto_catalog_log__items(const struct sto_catalog *cat, const struct sto_catalog_log_items *items,
                           int level, struct sto_reclog *log, struct ts_error *err);
/** Add the record with the number of names and series in a checkpoint. */
int sto_catalog_log__sizes(const struct sto_catalog_log_items *items, struct sto_reclog *log,
                           struct ts_error *err);
/** Add a record of n renames, n >= 1, which are there after a crash or are not; back: to the names `from`. TS_ELIMIT: the names are longer than a record. */
int sto_catalog_log__rename(struct sto_reclog *log, enum sto_uid_kind kind, const struct sto_uid_change *v,
                            size_t n, bool back, struct ts_error *err);
/** Add records of these series (kind STO_CATALOG_LOG_GONE_SERIES) or names having been forgotten. */
int sto_catalog_log__gone(struct sto_reclog *log, unsigned kind, const roaring_bitmap_t *ids,
                          struct ts_error *err);
/** Apply one record to the catalog (a sto_reclog_fn; arg is the catalog). TS_ECORRUPT, TS_EVERSION,
 * TS_ENOMEM. */
int sto_catalog_log__replay(void *arg, struct ts_slice body, struct ts_error *err);
/** Release the lists; idempotent. */
void sto_catalog_log__release_items(struct sto_catalog_log_items *items);

#endif
