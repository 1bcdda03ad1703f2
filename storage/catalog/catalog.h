/*
 * catalog.h - names and series: names <-> ids, tag sets <-> series numbers, sets of series by metric and tag.
 *
 * Names are of three kinds (metric, tag key, tag value), each with its own ids from 1. A series is a metric
 * with 1 to 255 tags; its number counts from 0. Series to which nothing refers are forgotten (forget.h), and so
 * are names that no series has. Ids and numbers are never reused; after a crash some may be unused.
 * Everything is stored in catalog.log, a record log with a compact checkpoint. A new name or series is in
 * memory at once and in the log after sto_catalog_sync, which the engine calls before it commits a flush.
 * Until then the write-ahead log contains the texts of series (sto_series_restore), afterwards only their
 * numbers.
 *
 * Format     docs/FORMAT.md "Catalog"
 * Threads    id -> name and number -> series: any thread, no lock (chunked tables published with release).
 *            Everything else: any thread, one mutex inside, held for microseconds: long work (matching a
 *            pattern against a million values, sorting names) is done outside of it. The log has a mutex of
 *            its own, held across I/O; renames and the rewriting of the log exclude each other by a third.
 * Cost       ten million series with three tags, a text of 48 bytes and a name of 8 bytes each of their own:
 *            156 bytes of memory a series, 161 when both hash tables are filled least (w3). Of a million
 *            series: find 30 ns in the order of numbers, 0.4-1.8 us at random; create 0.8-0.9 us; load
 *            0.3 s (bench_catalog)
 */
#ifndef STORAGE_CATALOG_CATALOG_H
#define STORAGE_CATALOG_CATALOG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "storage/internal.h"
#include "storage/point.h"

#include <roaring/roaring.h>

enum sto_uid_kind { STO_UID_METRIC, STO_UID_TAGK, STO_UID_TAGV };
#define STO_UID_KINDS 3

struct sto_catalog;

struct sto_catalog_opts {
    const char *dir;   /* data folder; catalog.log is in it */
    uint32_t n_shards; /* power of two */
    bool read_only;
    const struct ts_error
        *read_only_why; /* the error of refused changes (readonly.h); NULL, or borrowed until closing */
    /* fsck: records that cannot be applied are ignored and counted; closing then writes a checkpoint */
    bool lenient;
    /* more, own ones left out (sto_series_resolve_own), are refused with TS_ELIMIT, whose text names the key max_series; 0 = 2^31 */
    uint64_t max_series;
    /* memory for names and series; above it new ones are refused with TS_ELIMIT, whose text names
     * memory_limit and max_series; 0 = no limit */
    uint64_t max_bytes;
    uint64_t grow_bytes; /* the log is rewritten when it has doubled and grown by this; 0 = 1 MiB */
    /* the caller runs sto_catalog_tidy regularly; sto_catalog_sync then never rewrites the log */
    bool tidied;
};

/**
 * Open dir/catalog.log, or create it.
 *
 * @return 0
 *         TS_EINVAL    n_shards is not a power of two up to 65,536
 *         TS_ECORRUPT  damage, with file and offset; TS_EVERSION made by a newer program
 *         TS_ENOTFOUND read_only and there is no log;   TS_EIO TS_ENOSPC TS_ENOMEM
 *
 * Owns: fs must outlive the catalog.   read_only: creating and renaming fail with read_only_why or
 * TS_EINVAL; restored series are in memory only.
 */
int sto_catalog_open(const struct ts_fs *fs, const struct sto_catalog_opts *opts,
                     struct sto_catalog **out_cat, struct ts_error *err);
/** Write and sync what is new, and close; a log that has grown is rewritten. All series and names are freed,
 * also on error, so no other call may be running. NULL is ignored. */
int sto_catalog_close(struct sto_catalog *cat, struct ts_error *err);
/** The same for one whose files are not needed any more: nothing is written. */
void sto_catalog_discard(struct sto_catalog *cat);
/** Number of records that a lenient opening ignored. */
uint64_t sto_catalog_left_out(const struct sto_catalog *cat);
/** Write everything created so far to the log, and sync it if sync is set. Rewrites the log as a checkpoint
 * when it has grown much, unless opts.tidied. TS_ENOSPC: nothing is lost, call it again later. TS_EIO: the
 * log accepts nothing more until it is reopened. */
int sto_catalog_sync(struct sto_catalog *cat, bool sync, struct ts_error *err);
/** Rewrite the log as a checkpoint if it has grown much. This takes seconds for millions of names; meanwhile
 * names and series are created, found and synced as usual, and only renames wait. 0; TS_EIO: the log accepts
 * nothing more until it is reopened. Blocks; concurrent callers wait for each other. */
int sto_catalog_tidy(struct sto_catalog *cat, struct ts_error *err);

/* --- names --- */
/** Find the id of a name. 0, TS_ENOTFOUND. */
int sto_uid_find(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id);
/** Find the id of a name, or create it. The caller has checked the characters of the name; this function
 * refuses only names that would make the text of a series ambiguous: TS_EINVAL (empty, contains a space, a
 * key contains '='), TS_ELIMIT (longer than 65,535 bytes; no ids left; max_bytes reached). TS_EBUSY: the name
 * is just being forgotten; try again, it will get a new id. */
int sto_uid_make(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id,
                 struct ts_error *err);
/** Assign an id to a name for a person: as sto_uid_make, and the name is never forgotten (forget.h), whether
 * it existed before or not, until it is deleted. *out_created: it did not exist. On disk after
 * sto_catalog_sync. */
int sto_uid_assign(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id,
                   bool *out_created, struct ts_error *err);
/** Keep a name that might be forgotten, after something that mentions its id was written outside of the
 * catalog. 0; TS_ENOTFOUND: the id has no name; TS_EBUSY: it is being forgotten. */
int sto_uid_keep(struct sto_catalog *cat, enum sto_uid_kind kind, uint32_t id, struct ts_error *err);
/** Name of an id; {NULL, 0} if there is none or it was forgotten, which never happens to a name of a series that
 * the caller may hold. Takes no lock. The bytes stay valid for as long as those of a series (forget.h); a
 * rename writes new ones. */
struct ts_slice sto_uid_name(const struct sto_catalog *cat, enum sto_uid_kind kind, uint32_t id);
/** Rename. The new name is on disk when 0 is returned; otherwise nothing has changed: TS_ENOTFOUND,
 * TS_EEXIST, TS_EINVAL, TS_ELIMIT and TS_EBUSY as for sto_uid_make, TS_ENOSPC, TS_EIO. Blocks: one
 * fdatasync. */
int sto_uid_rename(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice from, struct ts_slice to,
                   struct ts_error *err);
/* One of several changes of names. */
struct sto_uid_change {
    struct ts_slice from, to;
    uint32_t id; /* set by the call */
};
/** Rename all of n names of one kind, or none: no reader, and nobody who creates names, sees one of them without the others. They are one
 * record of the log, so after a power cut in a call that did not return all are renamed, or none. n >= 1. TS_ELIMIT: the names are longer than a record; other errors and cost as sto_uid_rename. */
int sto_uid_rename_all(struct sto_catalog *cat, enum sto_uid_kind kind, struct sto_uid_change *v, size_t n,
                       struct ts_error *err);
/**
 * Delete a name. Its id is never reused, and points written with it stay: the id gets the name "~ID~name",
 * which no client can send, until it is renamed back. A client that sends the old name gets a new id.
 *
 * On disk when 0 is returned; errors as sto_uid_rename.
 */
int sto_uid_delete(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name,
                   struct ts_error *err);
/** Is this the name of an id whose name was deleted? */
bool sto_uid_deleted(struct ts_slice name);
/** Highest id that was ever used; 0 if there is none. */
uint32_t sto_uid_max(const struct sto_catalog *cat, enum sto_uid_kind kind);
/** Is this an internal name, which only tsd itself creates (rollups, buckets of histograms) and no list
 * shows? This function alone decides it. */
static inline bool sto_name_internal(struct ts_slice name)
{
    return name.n > 0 && name.p[0] == STO_INTERNAL_MARK;
}
/** Call each(arg, id, name) for at most max names that begin with prefix, in byte order, without holding a
 * lock. Internal names are included only if the prefix is internal too. The first call sorts all names (0.1 s
 * for a million), later calls only new ones. */
void sto_uid_suggest(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice prefix, size_t max,
                     void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg);

/** The same for names that contain part but do not begin with it; none if part is empty. Looks at every name: about 30 ms for a million.
 * Names found while sto_catalog_read_begin holds. */
void sto_uid_containing(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice part, size_t max,
                        void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg);

/* --- series --- */
/* A tag by its text. */
struct sto_tag_text {
    struct ts_slice k, v;
};
/**
 * Find the series of a metric and tags, or create it and its names.
 *
 * @param text        "metric k=v k=v" as the sender wrote it; names the same tags as tags
 * @param metric_len  bytes of text that are the metric
 * @param tags        in the order of the text; a key that occurs twice is TS_EINVAL when the series would be
 *                    created
 * @param create      false: return TS_ENOTFOUND for an unknown series and create nothing
 * @return 0
 *         TS_ENOTFOUND
 *         TS_EBUSY      the series or one of its names is just being forgotten: try again, it will get a new
 *                       number
 *         TS_ELIMIT     max_series or max_bytes reached, more than 255 tags, or a name too long: nothing is
 *                       created
 *         TS_EINVAL     no tags, a name as refused by sto_uid_make, or read-only (or read_only_why): nothing is created
 *
 * Owns: nothing is kept; the series has a copy of the text, with single spaces, in the sender's order of tags
 * (while two or more of the keys are not on disk yet: in the order of key ids; see series.c).   Threads: any.
 */
int sto_series_resolve(struct sto_catalog *cat, struct ts_slice text, uint32_t metric_len,
                       const struct sto_tag_text *tags, size_t n_tags, bool create,
                       const struct sto_series **out_series, struct ts_error *err);
/** Find or create the series of another metric that has the tags of a series. The scratch is overwritten, and is not the memory of the metric's name.
 * Errors and threads as sto_series_resolve. */
int sto_series_resolve_like(struct sto_catalog *cat, struct ts_slice metric, const struct sto_series *like,
                            struct ts_buf *scratch, const struct sto_series **out_series,
                            struct ts_error *err);
/** Series that sto_series_resolve_own keeps out of max_series. */
#define STO_OWN_SERIES_MAX 1024u
/** Find or create a series of the figures that the daemon stores about itself. Such series do not count against max_series as long as
 * the catalog is open; those above STO_OWN_SERIES_MAX count like all others. Otherwise as sto_series_resolve. */
int sto_series_resolve_own(struct sto_catalog *cat, struct ts_slice text, uint32_t metric_len,
                           const struct sto_tag_text *tags, size_t n_tags,
                           const struct sto_series **out_series, struct ts_error *err);
/** Find a series by its ids; tags are sorted by key id. 0, TS_ENOTFOUND. */
int sto_series_find_ids(struct sto_catalog *cat, uint32_t metric, const struct sto_tag *tags, size_t n_tags,
                        const struct sto_series **out_series);
/** Series with a number; NULL if there is none or it was forgotten. Takes no lock. */
const struct sto_series *sto_series_get(const struct sto_catalog *cat, uint32_t id);
/** Highest series number in use + 1; a few numbers below it may be unused. Takes no lock. */
uint32_t sto_series_count(const struct sto_catalog *cat);
/** All series with numbers below this one are in the log on disk: those read from it at opening, and those
 * that sto_catalog_sync has synced since. Takes no lock. */
uint32_t sto_series_n_on_disk(const struct sto_catalog *cat);
/** Series that the write-ahead log names only by number, because it was on disk. NULL with TS_ECORRUPT in
 * *err: the catalog has lost it; NULL without an error: it was forgotten, since it has no points. To be
 * called before the store is in use. */
const struct sto_series *sto_series_known(const struct sto_catalog *cat, uint32_t id, struct ts_error *err);
/**
 * Restore from the write-ahead log the series with this number and these ids, and its names, if the catalog
 * does not know them.
 *
 * Names in the catalog take precedence over those in the text.
 * @param tags  sorted by key id or in the order of the text
 * @return 0, *out_series NULL if it was forgotten; TS_ECORRUPT if number, ids and text contradict the catalog
 *
 * Threads: before the store is in use.
 */
int sto_series_restore(struct sto_catalog *cat, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                       size_t n_tags, struct ts_slice text, uint32_t metric_len,
                       const struct sto_series **out_series, struct ts_error *err);
/** Counter that grows when a name is renamed and when series may be forgotten; caches that map text to series
 * and were filled before are void. A thread that finds it changed must look up all its series again before it
 * puts anything. Takes no lock. */
uint64_t sto_catalog_generation(const struct sto_catalog *cat);

/* --- selecting --- */
/* A condition on one tag key. A series without the key does not match, negated or not. */
struct sto_tag_cond {
    uint32_t tagk;          /* id of the key */
    const uint32_t *values; /* ids of values that match (0 = none); or NULL: call match */
    size_t n_values;
    bool negate; /* match if the value is NOT listed, or match returns false */
    /* if values is NULL: called once for each distinct value of the candidates, without holding the lock;
     * NULL = any value matches, negated or not */
    bool (*match)(void *arg, struct ts_slice value);
    void *arg;
};
struct ts_budget; /* base/budget.h */

/* Limits of a selection. */
struct sto_select_ctl {
    struct ts_budget *memory; /* account for the memory that remembers results of match; NULL: not counted */
    /* called every 256 series or values; a result < 0 ends the selection with that error. May be NULL */
    int (*look)(void *arg, struct ts_error *err);
    void *arg;
};
/**
 * Select the series of a metric that meet all conditions.
 *
 * @param explicit_keys  true: only series whose keys are exactly those of the conditions
 * @param ctl            NULL: no limits
 * @param out_set        [out] the caller frees it with roaring_bitmap_free; NULL on error. An unknown metric
 *                       or key (id 0) gives an empty set
 * @return 0, an error of ctl->look, or TS_ELIMIT or TS_ENOMEM of ctl->memory
 *
 * Cost:   set operations; with match or explicit_keys also ~12 ns for each series that they leave.
 */
int sto_select(struct sto_catalog *cat, uint32_t metric, const struct sto_tag_cond *conds, size_t n_conds,
               bool explicit_keys, const struct sto_select_ctl *ctl, roaring_bitmap_t **out_set,
               struct ts_error *err);

/* --- reading while series are forgotten (forget.h) --- */
/** Until sto_catalog_read_end, series that the caller finds are not freed. Workers within a turn and
 * holders of a snapshot do not need this. Returns the token for sto_catalog_read_end. Takes a mutex for
 * nanoseconds. */
unsigned sto_catalog_read_begin(struct sto_catalog *cat);
/** End what sto_catalog_read_begin began; token is its result. Any thread. */
void sto_catalog_read_end(struct sto_catalog *cat, unsigned token);

/** Report counters, whose names carry the unit: names, ids left, series, bytes of memory and log. */
void sto_catalog_stats(const struct sto_catalog *cat,
                       void (*each)(void *arg, const char *name, uint64_t value), void *arg);

#endif
