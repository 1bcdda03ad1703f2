/*
 * memory.h - the limits of the process's memory: one limit for all, one table of accounts.
 *
 *   memory_limit, of which 15 % stay free for fragmentation
 *     process      what storing and computing take
 *       measured   memstores, snapshots, names, series cache, file indexes: bounded by keys of their own,
 *       reported once a second
 *       counted    queries (one account below it for each query), bodies (JSON trees below it):
 *                  taken before they are allocated (base/budget.h)
 *     clients      reserved for talking to clients, counted: connections, replies, streams
 *
 * Measured memory counts against the process, so queries and bodies get less while the catalog is large. The
 * reserved part is not part of the process's account, so that nothing that grows there keeps the daemon from
 * answering.
 *
 * Threads    tsd_memory_init before threads start; tsd_memory_look by one thread; the rest by any thread
 * Source     docs/ARCHITECTURE.md "Memory of the process"
 */
#ifndef TSD_DAEMON_MEMORY_H
#define TSD_DAEMON_MEMORY_H

#include "base/budget.h"
#include "query/query.h"

#define TSD_MEMORY_MIN_BYTES ((uint64_t)64 << 20) /* least memory_limit */

struct sto_store;
struct ts_conf;
struct tsd_settings;

/* Accounts, rows of the table in memory.c. */
enum tsd_account {
    TSD_MEM_PROCESS,      /* those down to json together */
    TSD_MEM_MEMSTORES,    /* measured: points in memory that the next answer reads */
    TSD_MEM_SNAPSHOTS,    /* measured: memstores that are in files already and that a query still reads */
    TSD_MEM_NAMES,        /* measured: the catalog, annotations and metadata */
    TSD_MEM_SERIES_CACHE, /* measured: texts of series seen by workers */
    TSD_MEM_FILES,        /* measured: what every file keeps in memory */
    TSD_MEM_INDEX_CACHE,  /* measured: pages of the files' indexes */
    TSD_MEM_MERGES,       /* measured: what merges of files hold of their inputs */
    TSD_MEM_DECODERS,     /* measured: decoders of blocks that are kept for the next query */
    TSD_MEM_COUNTER_IDS,  /* measured: ids of clients that number their increments */
    TSD_MEM_QUERIES,      /* running queries */
    TSD_MEM_BODIES,       /* bodies of requests, as they arrive and inflated */
    TSD_MEM_JSON,         /* trees made of JSON bodies; below bodies */
    TSD_MEM_CLIENTS,      /* the following together, apart from the process */
    TSD_MEM_REPLIES,      /* replies made at once that wait for their clients */
    TSD_MEM_STREAMS,      /* parts of replies of jobs that wait for their clients */
    TSD_MEM_CONNECTIONS,  /* input kept, and answers of the line protocol that wait for their clients */
    TSD_MEM_ACCOUNTS,
};

/* Accounts of which each client address has a share, in the order of struct tsd_memory_shares. */
enum tsd_shared {
    TSD_SHARED_QUERIES,
    TSD_SHARED_BODIES,
    TSD_SHARED_REPLIES,
    TSD_SHARED_STREAMS,
    TSD_SHARED_CONNECTIONS,
    TSD_SHARED,
};
/* What one client address has of them. */
struct tsd_memory_shares {
    struct ts_budget accounts[TSD_SHARED]; /* by enum tsd_shared */
};

struct tsd_memory {
    struct ts_budget accounts[TSD_MEM_ACCOUNTS]; /* by enum tsd_account */
    _Atomic uint64_t n_query_refused; /* allocations refused by the account of one query (query_max_bytes) */
    _Atomic uint64_t n_query_ended[QRY_REFUSALS]; /* queries that a limit ended, by enum qry_refusal */
    _Atomic bool trim_wanted;                     /* a large use has ended since the last trim */
    int64_t trimmed_ns; /* monotonic time of the last trim; used only by the thread that calls
                         * tsd_memory_trim_due */
};

/**
 * Bytes of memory that this process may use at most: those of the machine, of its cgroup (version 2 and 1)
 * and all cgroups above it, whichever is least.
 *
 * @param root  prefix of /proc and /sys, "" for the real ones
 */
uint64_t tsd_memory_machine_bytes(const char *root);
/** Fill in limits that the configuration leaves at 0 (automatic) from out->memory_limit_bytes, which is set
 * first if it is 0 too. */
void tsd_memory_defaults(struct tsd_settings *out);
/** The keys of memory, with tsd_memory_defaults for those at 0. TS_EINVAL: memory_limit is too small. */
int tsd_memory_load(const struct ts_conf *conf, struct tsd_settings *out, struct ts_error *err);
/** Most memory for names and series: new ones are refused above it. */
uint64_t tsd_memory_name_bytes(const struct tsd_settings *set);
/** Most memory for annotations, metadata and trees: they may not grow above it. */
uint64_t tsd_memory_cell_bytes(const struct tsd_settings *set);
/** memstore_bytes for a configured value of 0. */
size_t tsd_memory_memstore_bytes(const struct tsd_settings *set);
/** counter_ids_bytes for a configured value of 0. */
uint64_t tsd_memory_counter_ids_bytes(const struct tsd_settings *set);
/** index_cache_bytes for a configured value of 0. */
size_t tsd_memory_index_cache_bytes(const struct tsd_settings *set);
/** compaction_memory_bytes for a configured value of 0. */
uint64_t tsd_memory_merge_bytes(const struct tsd_settings *set);
/** Make the accounts. */
void tsd_memory_init(struct tsd_memory *m, const struct tsd_settings *set);
/** Fix the allocator's thresholds for the whole process, and count the memory of JSON trees in m, which
 * outlives every tree.
 *  Once, before threads start. */
void tsd_memory_setup_allocator(struct tsd_memory *m, const struct tsd_settings *set);
/** Stop counting JSON trees, before m is released. */
void tsd_memory_reset_allocator(void);
/** An account. */
static inline struct ts_budget *tsd_memory_account(struct tsd_memory *m, enum tsd_account account)
{
    return &m->accounts[account];
}
/** Make the shares of a client address, all empty. They must be empty again before their memory is freed. */
void tsd_memory_shares_init(struct tsd_memory *m, struct tsd_memory_shares *shares);
/** The account in which memory used for a client is counted: its address's share, or the whole account if
 * shares is NULL (a client without an internet address). */
struct ts_budget *tsd_memory_share(struct tsd_memory *m, struct tsd_memory_shares *shares,
                                   enum tsd_shared account);
/**
 * Say why there is no memory for the body of a request: it needs more than one client can ever have, or the client's share, the account of
 * all bodies, or the memory of the process is used up, and in the last case by what.
 *
 * @param account  the one that refused: an account of TSD_SHARED_BODIES
 * @param n_bytes  memory that the body needs at least
 * @return TS_ELIMIT: it never fits; TS_ENOMEM: it may fit later
 */
int tsd_memory_no_body(struct tsd_memory *m, const struct ts_budget *account, uint64_t n_bytes,
                       struct ts_error *err);
/** Update the measured accounts. Called about once a second by one thread. cache_bytes: texts of series of
 * all workers. */
void tsd_memory_look(struct tsd_memory *m, struct sto_store *store, uint64_t cache_bytes);
/** Reports that so many bytes were freed; after large ones tsd_memory_trim_due returns true. */
void tsd_memory_ended(struct tsd_memory *m, uint64_t peak_bytes);
/** Is it time to return freed memory to the system (tsd_memory_trim)? True at most once in five seconds.
 * Called by one thread. */
bool tsd_memory_trim_due(struct tsd_memory *m);
/** Return freed memory to the system. This may take some ms, while allocations of other threads wait: never
 * call it in a worker. */
void tsd_memory_trim(void *unused);
/** Each account: name as /api/stats shows it, and the account. */
void tsd_memory_each(const struct tsd_memory *m, void (*each)(void *arg, const struct ts_budget *account),
                     void *arg);

#endif
