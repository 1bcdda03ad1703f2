/*
 * ids.h - the ids of names in tsdb-uid: looked up, assigned, cached.
 *
 * A name that has no id gets one by OpenTSDB's protocol, in batches (ids_assign.c has the argument why it is safe beside other writers): one
 * increment of the counter reserves a block of numbers, the reverse mappings are checked and put together, and the forward mapping of each name is
 * put by compare-and-set, many of them in flight. Whoever loses that step uses the id of the winner, and his own number stays unused.
 *
 * Each direction is cached as HBase said it. What was read more than STO_HBASE_IDS_VERIFY_MS ago is read again, in a batch, when it is used
 * the next time; a name that was renamed or deleted in HBase is then followed, and only MAKE gives it a new id.
 *
 * The same is done at once when points are shipped again (sto_hbase_ids_distrust), and when HBase gives away a number that is cached with a name: it has lost mappings.
 *
 * Source     docs/OPENTSDB.md, section 10.8
 * Errors     those of storage/remote.h. TS_EBACKEND also for tables that contradict the configuration (an id of another width)
 * Threads    all functions from any thread; two threads that miss the same name look it up twice, and one of them assigns its id
 * Cost       a cached name or series: one hash lookup under a mutex; no call. Memory: about 100 bytes a name or series, counted, and bounded by
 *            their number (what was not used for long goes first)
 * Not here   documents of names (uidtable.h), rows of points
 */
#ifndef STORAGE_HBASE_REMOTE_IDS_H
#define STORAGE_HBASE_REMOTE_IDS_H

#include "storage/hbase/remote/access.h"
#include "storage/hbase/rowkey.h"
#include "storage/hbase/schema.h"
#include "storage/remote.h"

struct sto_hbase_id_cache;

#define STO_HBASE_IDS_VERIFY_MS 600000 /* how long a mapping is used without reading it again */
#define STO_HBASE_IDS_MAX_BATCH 4096   /* series or TSUIDs of one call */

/**
 * Make an empty cache; nothing is read.
 *
 * @param schema      copied
 * @param table       name of tsdb-uid, copied
 * @param max_cached  most names, and most series; 0 = 1,000,000
 * @param memory      account of the cache and of batches, outlives it; NULL: not counted
 */
struct sto_hbase_id_cache *sto_hbase_ids_new(const struct sto_hbase_schema *schema, const char *table,
                                             size_t max_cached, struct ts_budget *memory);
/** The clock that STO_HBASE_IDS_VERIFY_MS is measured by; NULL = the monotonic one. Before threads share the cache. */
void sto_hbase_ids_clock(struct sto_hbase_id_cache *c, int64_t (*now_ms)(void));
/** Read again, when it is used the next time, all that is cached: HBase may have lost it. Any thread. */
void sto_hbase_ids_distrust(struct sto_hbase_id_cache *c);
/** NULL is ignored. */
void sto_hbase_ids_free(struct sto_hbase_id_cache *c);

/**
 * Look up a batch of names or ids (storage/remote.h, names). Results of each are in list[i].rc; names found by id are in `names`, which is appended to,
 * and list[i].name points into it after return.
 *
 * @return 0, or an error of the whole batch, after which no result may be used (some names may have been given ids); TS_ELIMIT also: all ids of a
 *         kind are assigned, and the text names the kind and the key of its width
 */
int sto_hbase_ids_names(struct sto_hbase_id_cache *c, struct sto_hbase_session *s,
                        enum sto_remote_lookup what, struct sto_remote_name *list, size_t n,
                        struct ts_buf *names, struct ts_error *err);
/**
 * The TSUIDs of series, with the ids of all their names.
 *
 * @param what  FIND: series with a name that has no id get length 0; MAKE: names are given ids
 * @param n     at most STO_HBASE_IDS_MAX_BATCH
 * @param out   [out] n items; rc: 0; TS_ENOTFOUND (FIND); TS_EINVAL: the tables cannot hold the series; TS_ELIMIT (MAKE): it needs an id, and all
 *              ids of that kind are assigned. The last two hold for good, and have a text in why
 * @return 0, or an error of the whole batch, after which no item of out may be used
 */
struct sto_hbase_series_id {
    uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES];
    uint8_t n;           /* bytes of it */
    int rc;              /* of this series */
    struct ts_error why; /* of TS_EINVAL and TS_ELIMIT */
};
int sto_hbase_ids_series(struct sto_hbase_id_cache *c, struct sto_hbase_session *s,
                         enum sto_remote_lookup what, const struct sto_remote_series *const *series, size_t n,
                         struct sto_hbase_series_id *out, struct ts_error *err);
/**
 * The series of a TSUID: its names in UTF-8, tags ascending by key.
 *
 * @param names  [in, out] the names are appended; out points into it, so that it must not grow while out is used
 * @param tags   [out] STO_HBASE_MAX_TAGS items
 * @return 0; TS_ENOTFOUND: an id has no name; TS_ECORRUPT: no TSUID
 */
int sto_hbase_ids_of_tsuid(struct sto_hbase_id_cache *c, struct sto_hbase_session *s, struct ts_slice tsuid,
                           struct ts_buf *names, struct sto_remote_tag *tags, struct sto_remote_series *out,
                           struct ts_error *err);
/**
 * The same for many TSUIDs; the ids that are not cached are looked up together. Names that occur more than once are appended once.
 *
 * @param tsuids  n of them, at most STO_HBASE_IDS_MAX_BATCH
 * @param tags    [out] n * STO_HBASE_MAX_TAGS items; those of series i begin at i * STO_HBASE_MAX_TAGS
 * @param out     [out] n items; their key is STO_REMOTE_NO_KEY
 * @param rcs     [out] n items: 0; TS_ENOTFOUND: an id has no name; TS_ECORRUPT: no TSUID
 * @return 0, or an error of the whole batch, after which nothing of out may be used
 */
int sto_hbase_ids_of_tsuids(struct sto_hbase_id_cache *c, struct sto_hbase_session *s,
                            const struct ts_slice *tsuids, size_t n, struct ts_buf *names,
                            struct sto_remote_tag *tags, struct sto_remote_series *out, int *rcs,
                            struct ts_error *err);
/** As `suggest` of storage/remote.h. */
int sto_hbase_ids_suggest(struct sto_hbase_id_cache *c, struct sto_hbase_session *s,
                          enum sto_remote_kind kind, struct ts_slice prefix, size_t max,
                          bool (*each)(void *arg, struct ts_slice name), void *arg, struct ts_error *err);
/** As `rename` of storage/remote.h: the three changes of OpenTSDB, each by compare-and-set, so that of several writers one succeeds (ids_rename.c).
 * A repeat after an error continues; TS_ENOTFOUND after an error may mean that the name was renamed. */
int sto_hbase_ids_rename(struct sto_hbase_id_cache *c, struct sto_hbase_session *s, enum sto_remote_kind kind,
                         struct ts_slice from, struct ts_slice to, struct ts_error *err);
/** Counters: cached names and series, their memory, names and ids that were looked up in HBase, assigned ids, numbers that stay unused. */
void sto_hbase_ids_status(struct sto_hbase_id_cache *c,
                          void (*each)(void *arg, const char *name, uint64_t value), void *arg);

#endif
