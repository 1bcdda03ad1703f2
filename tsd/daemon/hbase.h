/*
 * hbase.h - HBase behind the daemon: its configuration keys, the remote store, and a thread that watches it.
 *
 *   tsd_hbase_load    keys -> settings, checked
 *   tsd_hbase_open    the remote store for sto_opts.remote; nothing is connected yet
 *   tsd_hbase_watch   starts the thread when the store is open; tsd_hbase_unwatch ends it before the store is closed
 *   tsd_hbase_close   after the store
 *
 * The thread asks HBase for one name every ten seconds, or every two while it does not answer, so that the log says once when HBase does not answer and once when it answers
 * again, and removes files whose points were shipped and are older than hbase_keep_local_h.
 *
 * Threads    load, open, watch, unwatch and close by the main thread; tsd_hbase_stats and tsd_hbase_state by any
 * Not here   rows and ids (storage/hbase/remote), when points are shipped (storage/engine/ship.c)
 */
#ifndef TSD_DAEMON_HBASE_H
#define TSD_DAEMON_HBASE_H

#include "base/budget.h"
#include "base/conf.h"
#include "storage/hbase/remote/remote.h"
#include "storage/store.h"
#include "tsd/ingest/rules.h"

#define TSD_HBASE_GATEWAYS_MAX 64 /* of hbase_gateways */

/* Values of the keys. */
struct tsd_hbase_settings {
    bool on;                    /* remote = hbase */
    struct sto_hbase_opts opts; /* borrows from the configuration and from the following members */
    struct sto_thrift_gateway gateways[TSD_HBASE_GATEWAYS_MAX];
    char *gateways_text;               /* hosts and ports, each ended by 0; owned */
    struct ts_tls *tls;                /* owned; NULL: hbase_tls is off */
    struct sto_hbase_rollups *rollups; /* owned; NULL: rollups are off, or not loaded */
    int64_t ship_every_ms;             /* see sto_opts */
    bool ship_whole_hours;             /* hbase_ship = hour */
    int64_t keep_local_ms;             /* shipped points stay here for this long */
    uint64_t memory_bytes;             /* replies and cached ids */
    const char *gateways_key;          /* value of hbase_gateways, for messages */
};

/** The keys, a table for ts_conf_new. */
extern const struct ts_conf_key tsd_hbase_conf_keys[];
/**
 * Values from conf, which is borrowed for the life of out. Keys that have no effect because of remote = none are named in a
 * warning.
 *
 * @return 0; TS_EINVAL with one sentence; TS_ENOMEM
 */
int tsd_hbase_load(const struct ts_conf *conf, struct tsd_hbase_settings *out, struct ts_error *err);
/**
 * The tables of rollups from the keys rollups, rollups_config and so on (tsd_conf_keys): opts.rollups of settings that were loaded, with remote = hbase and
 * rollups = true. The store borrows them.
 *
 * @return 0; TS_EINVAL with one sentence: rollups_config is not OpenTSDB's JSON, or has no tables; TS_EPARSE; TS_EIO
 */
int tsd_hbase_load_rollups(const struct ts_conf *conf, struct tsd_hbase_settings *set, struct ts_error *err);
/** Free what tsd_hbase_load and tsd_hbase_load_rollups have allocated. */
void tsd_hbase_settings_release(struct tsd_hbase_settings *set);
/** With remote = hbase: points that its tables cannot hold are refused by these rules. TS_EINVAL: max_tags or the length of names
 * contradict it. */
int tsd_hbase_rules(const struct ts_conf *conf, struct tsd_rules *rules, struct ts_error *err);

/* What the watching thread knows. */
enum tsd_hbase_health {
    TSD_HBASE_UNKNOWN,
    TSD_HBASE_UP,
    TSD_HBASE_AWAY, /* no gateway answers */
    TSD_HBASE_REFUSES, /* a gateway answers, but names cannot be read: a table is missing, or region servers are down */
};

struct tsd_hbase;
/** @param memory  parent of the account of replies and ids; NULL = none
 *  @return 0; errors of sto_hbase_open */
int tsd_hbase_open(const struct tsd_hbase_settings *set, struct ts_budget *memory, struct tsd_hbase **out,
                   struct ts_error *err);
/** The remote store. Borrowed. */
struct sto_remote *tsd_hbase_remote(struct tsd_hbase *h);
/** Start the thread. The store is borrowed until tsd_hbase_unwatch. */
int tsd_hbase_watch(struct tsd_hbase *h, struct sto_store *store, struct ts_error *err);
/** End the thread; cancels what it waits for. NULL, and a thread that does not run, are harmless. */
void tsd_hbase_unwatch(struct tsd_hbase *h);
/** Close the remote store. NULL is harmless. */
void tsd_hbase_close(struct tsd_hbase *h);
/** Does HBase answer? why (may be NULL) gets the last error. */
enum tsd_hbase_health tsd_hbase_state(struct tsd_hbase *h, struct ts_error *why);
/** Do the keys of the table of points not fit the numbers of the configuration? *why says so then. */
bool tsd_hbase_has_odd_keys(struct tsd_hbase *h, struct ts_error *why);
/** Counters of the remote store, with the unit in their names. Does not wait for the network. */
void tsd_hbase_stats(struct tsd_hbase *h, void (*each)(void *arg, const char *name, uint64_t value),
                     void *arg);
/** The account of replies and ids. */
const struct ts_budget *tsd_hbase_account(const struct tsd_hbase *h);

#endif
