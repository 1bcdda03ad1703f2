/*
 * catalog.h - names and series: names <-> ids, tag sets <-> series numbers, sets of series by metric and tag.
 *
 * Names of three kinds (metric, tag key, tag value), each with its own ids from 1. A series is a metric and 1
 * to 255 tags; numbers count from 0. Series that nothing mentions are forgotten (forget.h). Nothing is given out twice; after a crash there may be holes, ids and
 * numbers that nothing uses. Kept in catalog.log (record log with a compact checkpoint). A new name or series
 * is in memory at once and in the log after sto_catalog_sync, which the engine calls before a flush counts;
 * the write-ahead log carries series texts until then (sto_series_restore), and their numbers alone afterwards.
 *
 * Format     docs/FORMAT.md "Catalog"
 * Threads    id -> name and number -> series: any thread, no lock (chunked tables published with release).
 *            Everything else: any thread, one mutex inside, held for microseconds: long work (matching a
 *            pattern against a million values, sorting names) is done outside of it. The log has a mutex of
 *            its own, held across I/O; renames and the rewriting of the log exclude each other by a third.
 * Cost       one million series with three tags and a name each of their own: 190 bytes of memory a series;
 *            find 30 ns when asked for in the order of numbers, 0.4-1.8 us at random; create 0.8-0.9 us; load
 *            0.3 s (bench_catalog)
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
    const char *dir;   /* data folder; catalog.log is in it */
    uint32_t n_shards; /* power of two */
    bool read_only;
    bool
        lenient; /* fsck: records that cannot be applied are left out and counted, closing writes a checkpoint then */
    uint64_t max_series; /* refuse more: TS_ELIMIT naming the key max_series; 0 = 2^32 - 1 */
    uint64_t
        max_bytes; /* of memory for names and series: new ones are refused above it, TS_ELIMIT naming memory_limit and
                            max_series; 0 = no limit */
    uint64_t grow_bytes; /* the log is rewritten when it has doubled and grown by this; 0 = 1 MiB */
    bool tidied; /* sto_catalog_tidy is called now and then: sto_catalog_sync never rewrites the log */
};

/**
 * Open dir/catalog.log, or create it.
 *
 * @return 0
 *         TS_EINVAL    n_shards is no power of two up to 65,536
 *         TS_ECORRUPT  damage, with file and offset; TS_EVERSION made by a newer program
 *         TS_ENOTFOUND read_only and there is no log;   TS_EIO TS_ENOSPC TS_ENOMEM
 *
 * Owns: fs must outlive the catalog.   read_only: nothing is made or renamed (TS_EINVAL), restoring stays in
 * memory.
 */
int sto_catalog_open(const struct ts_fs *fs, const struct sto_catalog_opts *opts,
                     struct sto_catalog **out_cat, struct ts_error *err);
/** Write and sync what is new, close; a log that has grown is made compact. Every series and name is freed:
 * no other call may be under way. NULL is harmless. The catalog is gone in any case. */
int sto_catalog_close(struct sto_catalog *cat, struct ts_error *err);
/** Records left out by a lenient opening. */
uint64_t sto_catalog_left_out(const struct sto_catalog *cat);
/** Everything given out so far is written to the log; sync: and on disk. Rewrites the log as a checkpoint
 * when it has grown much, unless opts.tidied. TS_ENOSPC: nothing is lost, call again later. TS_EIO: the log takes
 * nothing more until reopened. */
int sto_catalog_sync(struct sto_catalog *cat, bool sync, struct ts_error *err);
/** Rewrite the log as a checkpoint if it has grown much: seconds for millions of names, during which names and series
 * are made, found and synced as ever, and only renames wait. 0; TS_EIO: the log takes nothing more until reopened.
 * Blocks; one caller at a time is at work. */
int sto_catalog_tidy(struct sto_catalog *cat, struct ts_error *err);

/* --- names --- */
/** Id of a name; TS_ENOTFOUND. */
int sto_uid_find(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id);
/** Id of a name, made if missing. The caller has checked its characters; refused here are only names that
 * would break the text of a series: TS_EINVAL (empty, a space, '=' in a key), TS_ELIMIT (over 65,535 bytes;
 * ids used up; max_bytes reached). */
int sto_uid_make(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id,
                 struct ts_error *err);
/** Name of an id, no lock; {NULL,0} if there is none. Stays valid for ever (a rename gives new bytes). */
struct ts_slice sto_uid_name(const struct sto_catalog *cat, enum sto_uid_kind kind, uint32_t id);
/** Give an id another name. On disk when 0 is returned, unchanged when not: TS_ENOTFOUND, TS_EEXIST,
 * TS_EINVAL and TS_ELIMIT as sto_uid_make, TS_ENOSPC, TS_EIO. Blocks: one fdatasync. */
int sto_uid_rename(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice from, struct ts_slice to,
                   struct ts_error *err);
/**
 * Delete a name. Its id is never given out again, and what was written with it stays: the id gets the name
 * "~ID~name", which nobody can send, until it is renamed back. Whoever sends the old name gets a new id.
 *
 * On disk when 0 is returned; errors as sto_uid_rename.
 */
int sto_uid_delete(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name,
                   struct ts_error *err);
/** Is this the name of a deleted one? */
bool sto_uid_deleted(struct ts_slice name);
/** Highest id given out. */
uint32_t sto_uid_max(const struct sto_catalog *cat, enum sto_uid_kind kind);
#define STO_HIDDEN_MARK '\1' /* first byte of a hidden name */
/** Is this a hidden name: one that tsd gives itself (rollups, buckets of histograms) and no list shows? Nothing else
 * decides that. */
static inline bool sto_name_internal(struct ts_slice name)
{
    return name.n > 0 && name.p[0] == STO_HIDDEN_MARK;
}
/** Names that begin with prefix, byte order, at most max; each(arg, id, name) is called outside of any lock.
 * Hidden names only if the prefix is hidden too. The first call sorts all names (0.1 s for a million), later ones only
 * what is new. */
void sto_uid_suggest(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice prefix, size_t max,
                     void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg);

/* --- series --- */
/* A tag by its text. */
struct sto_tag_text {
    struct ts_slice k, v;
};
/**
 * Series of a metric and tags, made with its names if missing.
 *
 * @param text        "metric k=v k=v" as the sender wrote it, saying the same as tags
 * @param metric_len  bytes of text that are the metric
 * @param tags        in the order of the text; a key given twice is TS_EINVAL when a series would be made
 * @param create      false: TS_ENOTFOUND if missing, and nothing is made
 * @return 0
 *         TS_ENOTFOUND
 *         TS_EBUSY      the series is being forgotten this moment: try again, it will get a new number
 *         TS_ELIMIT     max_series or max_bytes reached, more than 255 tags, or a name too long: nothing is made
 *         TS_EINVAL     no tags, a name as refused by sto_uid_make, or read-only: nothing is made
 *
 * Owns: nothing is kept: the series has its own text, with single spaces, in the sender's order of tags
 * (while two or more of the keys are not on disk yet: in the order of key ids; see series.c).   Threads: any.
 */
int sto_series_resolve(struct sto_catalog *cat, struct ts_slice text, uint32_t metric_len,
                       const struct sto_tag_text *tags, size_t n_tags, bool create,
                       const struct sto_series **out_series, struct ts_error *err);
/** Series by ids (tags sorted by key id); TS_ENOTFOUND. */
int sto_series_find_ids(struct sto_catalog *cat, uint32_t metric, const struct sto_tag *tags, size_t n_tags,
                        const struct sto_series **out_series);
/** Series by number, no lock; NULL if there is none, or not any more. */
const struct sto_series *sto_series_get(const struct sto_catalog *cat, uint32_t id);
/** Highest series number given out + 1: every series has a number below it, a few numbers may be holes. No
 * lock. */
uint32_t sto_series_count(const struct sto_catalog *cat);
/** All series with numbers below this one are in the log, on disk: at first those that were read from it, then what
 * sto_catalog_sync made so. No lock. */
uint32_t sto_series_n_on_disk(const struct sto_catalog *cat);
/** A series that the write-ahead log names by number alone, because it was on disk. NULL: it is lost, *err says so
 * (TS_ECORRUPT), or it was forgotten, for it has no points (no error). Before the store is in use. */
const struct sto_series *sto_series_known(const struct sto_catalog *cat, uint32_t id, struct ts_error *err);
/**
 * From the write-ahead log: the series with this number and these ids, made if the catalog does not know it,
 * its names too.
 *
 * The catalog's own names win over the text.
 * @param tags  sorted by key id or in the order of the text
 * @return 0, *out_series NULL if it was forgotten; TS_ECORRUPT if number, ids and text contradict what the catalog has
 *
 * Threads: before the store is in use.
 */
int sto_series_restore(struct sto_catalog *cat, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                       size_t n_tags, struct ts_slice text, uint32_t metric_len,
                       const struct sto_series **out_series, struct ts_error *err);
/** Goes up when a name was renamed, and when series may be forgotten: caches of text -> series made before are void. A
 * port's thread that finds it changed asks for all its series anew before it puts anything. No lock. */
uint64_t sto_catalog_generation(const struct sto_catalog *cat);

/* --- selecting --- */
/* A condition on one tag key. A series without the key does not match, negated or not. */
struct sto_tag_cond {
    uint32_t tagk;          /* id of the key */
    const uint32_t *values; /* ids of values that match (0 = none); or NULL: ask match */
    size_t n_values;
    bool negate; /* match when the value is NOT listed, or match says no */
    bool (*match)(void *arg,
                  struct ts_slice value); /* values == NULL: called once per distinct value of the candidates,
                                             outside of the lock; NULL = any value, negated or not */
    void *arg;
};
struct ts_budget; /* base/budget.h */

/* What a selection may use, and when it ends. */
struct sto_select_ctl {
    struct ts_budget *memory; /* account of the answers kept of match; NULL: not counted */
    int (*look)(void *arg,
                struct ts_error *err); /* asked for every 256 series or values whether to go on; < 0 ends the
                                                     selection with this error. May be NULL */
    void *arg;
};
/** Series of a metric that meet all conditions; explicit_keys: exactly the keys of the conditions and no
 * others. An unknown metric or key (id 0) gives an empty set. *out_set is the caller's (roaring_bitmap_free).
 * ctl NULL: no limits. 0; errors of ctl->look, and TS_ELIMIT, TS_ENOMEM for ctl->memory, *out_set is NULL then. Cost: set operations; with match or explicit_keys also ~12 ns for each series the sets leave. */
int sto_select(struct sto_catalog *cat, uint32_t metric, const struct sto_tag_cond *conds, size_t n_conds,
               bool explicit_keys, const struct sto_select_ctl *ctl, roaring_bitmap_t **out_set,
               struct ts_error *err);

/* --- looking while series are forgotten (forget.h) --- */
/** From now on series and names that this thread finds stay where they are, until sto_catalog_read_end. Workers need not say
 * so within a turn, nor who holds a snapshot. Takes a mutex for nanoseconds. Returns what read_end wants. */
unsigned sto_catalog_read_begin(struct sto_catalog *cat);
/** As read_begin says. Any thread. */
void sto_catalog_read_end(struct sto_catalog *cat, unsigned token);

/** Counters: each(arg, name with unit, value): names, ids left, series, bytes of memory and log. */
void sto_catalog_stats(const struct sto_catalog *cat,
                       void (*each)(void *arg, const char *name, uint64_t value), void *arg);

#endif
