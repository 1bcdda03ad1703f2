/*
 * catalog.h - names and series: names <-> ids, tag sets <-> series numbers, sets of series by metric and tag.
 *
 * Names of three kinds (metric, tag key, tag value), each with its own ids from 1. A series is a metric and 1..max tags; numbers are dense from 0. Nothing is given out again.
 * Kept in catalog.log (record log with a compact checkpoint); a new name or series is in memory at once, in the log's buffer, and on disk after sto_catalog_sync, which the engine calls
 * before a flush counts; the write-ahead log carries series texts until then (sto_catalog_restore).
 *
 * Threads    id -> name and number -> series: any thread, no lock (chunked tables published with release). Everything else: any thread, one mutex inside, held for
 *            microseconds: long work (matching a pattern against a million values) is done outside of it.
 * Cost       a few hundred bytes of memory a series; find ~100 ns; create ~0.5 us
 */
#ifndef STORAGE_CATALOG_CATALOG_H
#define STORAGE_CATALOG_CATALOG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "storage/point.h"

#include <roaring/roaring.h>

enum sto_uid_kind { STO_UID_METRIC, STO_UID_TAGK, STO_UID_TAGV };
#define STO_UID_KINDS 3

struct sto_catalog;

struct sto_catalog_opts {
    const char *dir;       /* data folder; catalog.log is in it */
    uint32_t n_shards;     /* power of two */
    bool read_only;
    uint64_t max_series;   /* refuse more: TS_ELIMIT naming the key max_series; 0 = 2^32 - 1 */
};

int sto_catalog_open(const struct ts_fs *fs, const struct sto_catalog_opts *opts, struct sto_catalog **out_cat, struct ts_error *err);
/** Write what is buffered, close. NULL is harmless. */
int sto_catalog_close(struct sto_catalog *cat, struct ts_error *err);
/** Everything given out so far is written to the log; sync: and on disk. Rewrites the log as a checkpoint when it has grown much. */
int sto_catalog_sync(struct sto_catalog *cat, bool sync, struct ts_error *err);

/* --- names --- */
/** Id of a name; TS_ENOTFOUND. */
int sto_uid_find(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id);
/** Id of a name, made if missing (the caller has checked its characters). TS_ELIMIT when ids are used up. */
int sto_uid_make(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id, struct ts_error *err);
/** Name of an id, no lock; {NULL,0} if there is none. Stays valid for ever (a rename gives new bytes). */
struct ts_slice sto_uid_name(const struct sto_catalog *cat, enum sto_uid_kind kind, uint32_t id);
/** Give an id another name. TS_ENOTFOUND, TS_EEXIST. On disk when 0 is returned. */
int sto_uid_rename(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice from, struct ts_slice to, struct ts_error *err);
/** Highest id given out. */
uint32_t sto_uid_max(const struct sto_catalog *cat, enum sto_uid_kind kind);
/** Names that begin with prefix, byte order, at most max; each(arg, id, name). */
void sto_uid_suggest(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice prefix, size_t max,
                     void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg);

/* --- series --- */
/* A tag by its text. */
struct sto_tag_text { struct ts_slice k, v; };
/** Series of a metric and tags in any order (no duplicate keys, checked by the caller), made with its names if missing. text = "metric k=v k=v" as the sender wrote it (copied when the
 *  series is made); metric_len = bytes of it that are the metric. create false: TS_ENOTFOUND if missing. make_metric false: an unknown metric is TS_ENOTFOUND. */
int sto_series_resolve(struct sto_catalog *cat, struct ts_slice text, uint32_t metric_len, const struct sto_tag_text *tags, size_t n_tags, bool create,
                       const struct sto_series **out_series, struct ts_error *err);
/** Series by ids (tags sorted by key id); TS_ENOTFOUND. */
int sto_series_find_ids(struct sto_catalog *cat, uint32_t metric, const struct sto_tag *tags, size_t n_tags, const struct sto_series **out_series);
/** Series by number, no lock; NULL if there is none. */
const struct sto_series *sto_series_get(const struct sto_catalog *cat, uint32_t id);
/** Number of series. No lock. */
uint32_t sto_series_count(const struct sto_catalog *cat);
/** From the write-ahead log: make the series with this number and these ids if the catalog does not know it; its names too (text holds them in the order of tags given). The catalog's own names win. TS_ECORRUPT if
 *  the number belongs to another series. */
int sto_series_restore(struct sto_catalog *cat, uint32_t id, uint32_t metric, const struct sto_tag *tags, size_t n_tags, struct ts_slice text, uint32_t metric_len,
                       const struct sto_series **out_series, struct ts_error *err);
/** Goes up when a name was renamed or deleted: caches of text -> series made before are void. No lock. */
uint64_t sto_catalog_generation(const struct sto_catalog *cat);

/* --- selecting --- */
/* A condition on one tag key. A series without the key does not match, negated or not. */
struct sto_tag_cond {
    uint32_t tagk;                                        /* id of the key */
    const uint32_t *values;                               /* ids of values that match; or NULL: ask match */
    size_t n_values;
    bool negate;                                          /* values: match when the value is NOT listed */
    bool (*match)(void *arg, struct ts_slice value);      /* values == NULL: called once per distinct value of the candidates, outside of the lock; NULL = any value */
    void *arg;
};
/** Series of a metric that meet all conditions; explicit_keys: exactly the keys of the conditions and no others. *out_set is the caller's (roaring_bitmap_free). */
int sto_select(struct sto_catalog *cat, uint32_t metric, const struct sto_tag_cond *conds, size_t n_conds, bool explicit_keys, roaring_bitmap_t **out_set,
               struct ts_error *err);

/** Counters: each(arg, name with unit, value): names, series, bytes, cache sizes. */
void sto_catalog_stats(const struct sto_catalog *cat, void (*each)(void *arg, const char *name, uint64_t value), void *arg);

#endif
