/*
 * ids_int.h - the cache of ids and batches of names that are being looked up; for the files ids*.c only.
 */
#ifndef STORAGE_HBASE_REMOTE_IDS_INT_H
#define STORAGE_HBASE_REMOTE_IDS_INT_H

#include "storage/hbase/remote/ids.h"
#include "storage/hbase/remote/ids_cache.h"
#include "storage/hbase/uidtable.h"

#include <pthread.h>
#include <stdatomic.h>

#define STO_HBASE__N_KINDS (STO_REMOTE_TAGV + 1)

struct sto_hbase_id_cache {
    struct sto_hbase_schema schema;
    char *table;              /* owned; tsdb-uid */
    struct ts_budget *memory; /* account of tally and batches */
    int64_t (*now_ms)(void);
    pthread_mutex_t mu;      /* of what follows; not held while anything is sent */
    pthread_cond_t released; /* signalled when is_assigning becomes false */
    bool is_assigning
        [STO_HBASE__N_KINDS]; /* one thread at a time: others would waste numbers on the same names */
    int64_t full_ms
        [STO_HBASE__N_KINDS]; /* when the last id of the kind was found assigned; INT64_MIN = not known */
    int64_t distrusted_ms;    /* what HBase said until then is read again; INT64_MIN = nothing */
    struct ts_tally tally;    /* memory of both tables */
    struct sto_hbase__records names;
    struct sto_hbase__records series; /* number at the caller to TSUID */
    _Atomic uint64_t n_lookups;       /* names and ids that were read in HBase */
    _Atomic uint64_t n_assigned;      /* names that were given an id here */
    _Atomic uint64_t n_unused;        /* numbers that were reserved, and not used */
};

/* Is what HBase said at seen_ms to be used without reading it again? The mutex must be held. */
static inline bool sto_hbase__is_fresh(const struct sto_hbase_id_cache *c, int64_t seen_ms, int64_t now_ms)
{
    return now_ms >= seen_ms && now_ms - seen_ms < STO_HBASE_IDS_VERIFY_MS && seen_ms > c->distrusted_ms;
}

/* --- requests (ids_batch.c) --- */

#define STO_HBASE__PIPELINE    16   /* requests in flight */
#define STO_HBASE__BATCH_ITEMS 1000 /* rows of a request */
#define STO_HBASE__BATCH_BYTES (1u << 20)

/* Buffers for requests about tsdb-uid. */
struct sto_hbase__ids_io {
    struct sto_hbase_id_cache *c;
    struct sto_hbase_session *s;
    struct ts_slice table;
    struct ts_buf key, value;                            /* of one cell */
    struct sto_thrift_request r;                         /* of a batch */
    struct sto_thrift_request ring[STO_HBASE__PIPELINE]; /* requests in flight */
};
void sto_hbase__ids_io_init(struct sto_hbase__ids_io *io, struct sto_hbase_id_cache *c,
                            struct sto_hbase_session *s);
void sto_hbase__ids_io_release(struct sto_hbase__ids_io *io);

/* Append the row key of item i to key. 0, or an error that ends the call. */
typedef int (*sto_hbase__row_fn)(void *arg, size_t i, struct ts_buf *key);
/* Receives the value of item i, borrowed until return; p NULL: there is no such cell. */
typedef int (*sto_hbase__value_fn)(void *arg, size_t i, struct ts_slice value, struct ts_error *err);
/** Read one cell in each of n rows by getMultiple, in requests of at most STO_HBASE__BATCH_ITEMS rows. */
int sto_hbase__ids_read(struct sto_hbase__ids_io *io, struct ts_slice family, enum sto_remote_kind kind,
                        size_t n, sto_hbase__row_fn row, sto_hbase__value_fn got, void *arg,
                        struct ts_error *err);

/* --- batches (ids_batch.c) --- */

enum sto_hbase__want_state {
    STO_HBASE__UNREAD,  /* to be looked up in HBase */
    STO_HBASE__KNOWN,   /* name and id belong together */
    STO_HBASE__ABSENT,  /* HBase does not have it */
    STO_HBASE__INVALID, /* no such name can be stored */
    STO_HBASE__FULL,    /* all ids of the kind are assigned */
    STO_HBASE__STUCK,   /* it needs an id, and the counter of the kind gives none */
    STO_HBASE__DAMAGED, /* what HBase has of it is no id; of a batch that spares them alone */
};

/* A name or an id of a batch. */
struct sto_hbase__want {
    struct ts_slice name; /* UTF-8. By name: borrowed; by id: n bytes at off of the names of the batch */
    size_t off;
    uint64_t id;
    int64_t seen_ms;     /* of a KNOWN one: when HBase said so */
    uint32_t hash, next; /* of the table of the batch */
    uint8_t kind;        /* enum sto_remote_kind */
    uint8_t state;       /* enum sto_hbase__want_state */
};
#define STO_HBASE__NO_WANT UINT32_MAX

/* Distinct names, or distinct ids, that one call needs. */
struct sto_hbase__batch {
    struct sto_hbase__ids_io io;
    struct sto_hbase_id_cache *c;
    struct sto_hbase__want *list; /* owned; in the order in which they were added */
    size_t n, cap;
    uint32_t *heads; /* owned; hash table of list */
    size_t n_heads;  /* a power of two */
    uint32_t *refs;  /* owned; n_refs positions in list, for the caller */
    size_t n_refs;
    struct ts_buf *names;                       /* by id: receives the names; NULL = by name */
    int64_t now_ms;                             /* when the call began */
    struct ts_error stuck[STO_REMOTE_TAGV + 1]; /* why names of a kind are STUCK */
    bool spares;                                /* a damaged name does not fail the batch */
};
/**
 * @param n_most  names or ids that may be added, and positions that refs has
 * @param names   receives the names of ids; NULL: names are added
 */
int sto_hbase__batch_init(struct sto_hbase__batch *b, struct sto_hbase_id_cache *c,
                          struct sto_hbase_session *s, size_t n_most, struct ts_buf *names,
                          struct ts_error *err);
void sto_hbase__batch_release(struct sto_hbase__batch *b);
/** Add a name, borrowed, unless it was added before. The mutex of the cache must be held. Returns its position. */
uint32_t sto_hbase__batch_name(struct sto_hbase__batch *b, enum sto_remote_kind kind, struct ts_slice name);
/** The same for an id. */
uint32_t sto_hbase__batch_id(struct sto_hbase__batch *b, enum sto_remote_kind kind, uint64_t id);
/** Look up all that are UNREAD; afterwards none is. The cache follows what HBase says. */
int sto_hbase__batch_read(struct sto_hbase__batch *b, struct ts_error *err);
/** Tell the cache that HBase said so. The mutex must be held. */
void sto_hbase__batch_remember(struct sto_hbase__batch *b, const struct sto_hbase__want *w,
                               enum sto_hbase__direction d);

/* --- assignment (ids_assign.c) --- */

/** Give ids to all names that are ABSENT; afterwards they are KNOWN or FULL. */
int sto_hbase__batch_assign(struct sto_hbase__batch *b, struct ts_error *err);
/** The sentence of a FULL kind; returns TS_ELIMIT. */
int sto_hbase__ids_full(const struct sto_hbase_id_cache *c, enum sto_remote_kind kind, struct ts_error *err);

/* --- compare-and-set (ids_cas.c) --- */

enum sto_hbase__cas_state {
    STO_HBASE__CAS_OPEN,  /* not known yet */
    STO_HBASE__CAS_SET,   /* the cell has our value */
    STO_HBASE__CAS_OTHER, /* it has another one */
};
/* A cell to be set if it is empty. */
struct sto_hbase__cas {
    uint32_t want;   /* name, position in the batch */
    uint8_t state;   /* [out] enum sto_hbase__cas_state */
    uint64_t number; /* id for the name; [out] OTHER of a forward mapping: the id that the name has */
};
/**
 * Set the forward (BY_NAME) or reverse mappings of n names of one kind where the cell is empty. What a broken connection leaves unknown is read
 * again, so that every item is SET or OTHER after 0.
 */
int sto_hbase__ids_cas(struct sto_hbase__batch *b, enum sto_hbase__direction d, enum sto_remote_kind kind,
                       struct sto_hbase__cas *list, size_t n, struct ts_error *err);

#endif
