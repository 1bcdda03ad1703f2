/*
 * engine_int.h - internals of the engine, shared by its files: engine.c writer.c writers.c sync.c flush.c compact.c
 * version.c recover.c.
 *
 * Lock order  mutex of the shipper -> compact_mu -> flush_mu -> remove_mu -> files_mu -> edit_mu ->
 *             version_mu -> refuse_mu; latch and barrier mutexes are leaves. None but
 * the first five (background work alone takes them) is held across I/O. compact_mu is held while merges run;
 * what must not wait for them is done between their rows (compact.c).
 */
#ifndef STORAGE_ENGINE_ENGINE_INT_H
#define STORAGE_ENGINE_ENGINE_INT_H

#include "base/budget.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/queue.h"
#include "base/latch.h"
#include "storage/engine/engine.h"
#include "storage/engine/manifest.h"
#include "storage/engine/once_all.h"
#include "storage/engine/stop.h"
#include "storage/engine/merge/partition.h"
#include "storage/engine/unfinished.h"
#include "storage/slots.h"

#include <pthread.h>
#include <stdatomic.h>

enum sto_msg_kind {
    STO_MSG_BATCH,
    STO_MSG_RETURN,
    STO_MSG_BARRIER,
    STO_MSG_BARRIER_DONE,
    STO_MSG_SET_GEN,
    STO_MSG_ABSOLUTE,
    STO_MSG_STOP,
    STO_MSG_NUDGE,
    STO_MSG_WAKE
};

#define STO_REFUSALS                                                                                         \
    4 /* kinds of errors that make the store refuse puts: disk, memory, descriptors, others */

/* Files and memstores at one moment. Immutable but for refs (under version_mu of the engine). */
struct sto_version {
    unsigned refs;
    size_t n_ssts, n_mems;
    struct sto_sst **ssts; /* one reference each */
    struct sto_mem **mems; /* one reference each */
    int64_t cutoff_ms;     /* points before it, */
    /* in files of generations below this one, were removed by retention; 0 = none were */
    uint64_t cutoff_gen;
    /* what the remote store has received; one reference; NULL = it has received nothing */
    struct sto_marks *marks;
    int64_t complete_from_ms; /* sto_version_complete_from */
    struct sto_version *next; /* link of e->unused; under version_mu */
    /* of the list e->pinned, newest first; under version_mu */
    struct sto_version *older, *newer;
    uint64_t newest_gen; /* highest generation of mems */
};

/* The owner of some shards, who alone writes their log and memstore. It runs in the thread of a worker or of
 * the store (own_threads). */
struct sto_owner {
    struct sto_engine *e;
    unsigned index;
    struct ts_queue *in;  /* batches, barriers, generations */
    struct sto_wal *wal;  /* NULL when read-only */
    struct sto_mem *mem;  /* active generation; the version holds the reference */
    size_t counted_bytes; /* share of this owner in e->active_bytes; written by the owner */
    /* batches that wait for disk space or memory, oldest first, and are written before any other; owner */
    struct ts_msg *held;
    /* result of the last attempt to write them: a code that sto_engine__may_wait accepts; owner */
    int held_code;
    struct ts_msg **held_end;         /* end of the list; owner */
    int64_t retry_ns;                 /* monotonic time of the next attempt; owner */
    _Atomic uint64_t n_failed;        /* operations lost because the log is broken; owner writes */
    _Atomic uint64_t n_points;        /* operations applied; owner writes */
    struct sto_once_clock once_clock; /* time for ids of clients; owner */
    pthread_t thread;                 /* own_threads only */
    bool runs;                        /* thread was started */
    bool stop;                        /* owner: STOP was received */
};

/* One asking thread's side: open batches, one for each owner. */
struct sto_writer {
    struct sto_engine *e;
    unsigned index;
    struct ts_queue *replies;    /* the owner's queue where worker and owner are one thread, else its own */
    struct sto_batch **open;     /* by owner; NULL = none */
    struct sto_batch *free_list; /* linked by msg.next */
    unsigned n_free;             /* length of free_list; at most one batch for each owner is kept */
    bool paused;                 /* sto_writer_ready has returned false; it returns true again below 50 % */
    sto_refused_fn on_refused;   /* NULL = nobody wants to know */
    void *refused_arg;           /* its argument */
    bool turning;                /* inside sto_writer_turn: barriers called back must not recurse */
    sto_shards_fn on_shards;     /* NULL = nobody wants to know; */
    void *shards_arg;            /* its argument */
    struct sto_stop_writer stop; /* stop.h */
};

/* A barrier: passes all owners, then the sync thread if a sync is requested, and then answers the writer (or
 * opens the latch). */
struct sto_barrier {
    struct ts_msg done_msg;    /* BARRIER_DONE to the writer, or into the sync queue */
    struct sto_writer *writer; /* NULL: latch instead */
    uint32_t asker;            /* whose additions are dropped if they wait */
    struct ts_latch *latch;
    bool disk;
    atomic_uint left; /* owners that have not answered */
    int rc;           /* written by the last owner or the sync thread before the answer */
    struct ts_error err;
    sto_done_fn done;
    void *arg;
    struct sto_barrier_part { /* one message per owner */
        struct ts_msg msg;
        struct sto_barrier *barrier;
        /* 0, or the reason why an earlier batch is not in the log; written by the owner, read by the last one */
        int rc;
    } parts[];
};

/* A window whose merge failed. */
struct sto_rest {
    struct sto_window window;
    int64_t until_ms; /* monotonic time of the next try */
    int64_t pause_ms; /* length of the last pause; doubles with each failure */
};

/* Whether retention trusts the wall clock. */
struct sto_clock {
    int64_t wall_ms, mono_ms; /* both clocks at the start, or at the last jump */
    /* monotonic time before which nothing is removed, because the clock has jumped */
    int64_t hold_until_ms;
    int64_t ahead_ms; /* sum of the jumps forward minus those backward, while nothing is removed */
    int64_t saved_ms; /* monotonic time when this was last saved */
    bool is_new;      /* the store was made in this run */
    bool is_judged;   /* the clock at the start was compared with what is known of the time before it */
};

/* A message that makes an owner continue with another memstore. */
struct sto_set_gen {
    struct ts_msg msg;
    struct sto_mem *mem;    /* of the new generation */
    struct ts_buf once;     /* tables of the owner's shards at the end of the old one; written by the owner */
    struct ts_latch *latch; /* counted down when the owner uses it */
};

/* The limit of bytes as the statistics report it; written under compact_mu. */
struct sto_evict_stats {
    _Atomic uint64_t bytes;       /* of the store when it was measured last */
    _Atomic bool is_over;         /* that was more than the limit */
    _Atomic bool is_short;        /* and removing all points that may go would not suffice */
    _Atomic uint64_t n_cutoffs;   /* times that the cutoff was raised */
    _Atomic uint64_t freed_bytes; /* what that has freed or will free, an estimate */
    _Atomic uint64_t
        going_bytes; /* of the files then: what floors hide of them (expire.h); 0 if it was within the limit */
    _Atomic int64_t aged_ms;     /* points before it have their summaries, as far as they should */
    _Atomic unsigned n_failures; /* of making summaries since all were made last */
};

struct sto_engine {
    struct sto_opts opts;          /* with defaults */
    struct sto_engine_owner owner; /* callbacks */
    const struct ts_fs *fs;
    char *dir, *wal_dir, *files_dir;
    struct ts_file *lock_file;
    uint32_t run;
    uint32_t n_groups; /* shards when the store was opened (storage/slots.h); fixed */
    /* shards; changed by the thread that has stopped all writers (shards.h), which see it when they go on */
    _Atomic uint32_t n_shards;
    _Atomic uint32_t n_shards_wanted; /* shards.h; changed under files_mu */
    unsigned n_owners;
    struct sto_owner *owners;
    struct sto_writer *writers;
    /* threads of owners (the store's own or workers) are running; false: the caller runs the owners */
    bool threads_run;
    /* barriers that are still open are never answered, since the threads that wait for them may have ended */
    bool closing;

    struct sto_stop stop; /* of all writers */
    _Atomic(const char *)
        shards_wait; /* why the number of shards has not changed yet; static; NULL = it is not waiting */
    _Atomic bool shards_look;    /* it is to be changed at once */
    _Atomic bool shards_at_work; /* a change is at work, so nobody may ask for another one */
    int64_t shards_again_ms;     /* monotonic time of the next try; the thread that flushes */
    int64_t shards_pause_ms;     /* between the last try and that time; the same */
    int64_t
        shards_next_ms; /* monotonic time before which there is no try, even if it is to be at once; the same */
    /* The manifest may have another number of shards than owners use. No part of a sequence may be put meanwhile, since logs would depend on the number. Set
     * while all writers are stopped; under flush_mu */
    _Atomic bool shards_doubt;
    _Atomic uint64_t n_shards_changes; /* times that it was changed while the store was open */
    _Atomic uint64_t shards_stop_ms;   /* for how long writers were stopped the last time */

    /* by shard: which additions with ids it has; each belongs to its owner. NULL when read-only. Replaced while all writers are stopped */
    struct sto_once **once;
    struct ts_budget once_budget;     /* memory of these tables */
    struct sto_once_clock once_clock; /* as of the opening; owners go on from there */
    char *once_frozen; /* the tables at the end of the newest frozen generation; owned; under flush_mu */
    size_t once_frozen_bytes;        /* their length; 0 = all are new */
    _Atomic uint64_t n_streams;      /* numbers of streams given out */
    _Atomic uint64_t n_once_repeats; /* parts that were there already */
    _Atomic uint64_t n_once_refused; /* parts that were refused */
    _Atomic uint64_t n_once_share;   /* of these, because their address has too many ids */

    struct sto_sst_caches caches; /* of all files; owned */

    pthread_mutex_t edit_mu; /* held during an edit of the version */
    pthread_mutex_t version_mu;
    struct sto_version *version; /* changed under edit_mu and version_mu */
    struct sto_version *pinned;  /* all versions with references; under version_mu */
    struct sto_sst_held held;    /* files that were removed and that readers hold; outlives them */
    struct sto_version *unused;  /* released by readers, to be freed by the flush thread; under version_mu */
    _Atomic bool flush_releases; /* the flush thread runs, and frees unused versions */
    int64_t cutoff_ms;           /* cutoff of the next version; under version_mu */
    uint64_t cutoff_gen;         /* the same */
    struct sto_marks *marks;     /* the same */
    struct sto_floors
        *floors; /* what rules of retention have removed; NULL = nothing; the same, set under compact_mu */
    int64_t complete_from_ms;                /* under version_mu */
    struct sto_complete__life complete_life; /* under files_mu */

    pthread_mutex_t files_mu; /* protects the manifest and file numbers */
    struct sto_manifest *manifest;
    uint64_t next_file_no;        /* under files_mu */
    struct sto_shipper *shipper;  /* NULL: there is no remote store */
    struct sto_refusals refusals; /* rows that the remote store refuses */

    pthread_mutex_t flush_mu;  /* held during a flush */
    _Atomic bool handing_over; /* a hand-over of bulk files is at work (handover.h) */
    uint64_t
        reserved_gen; /* generation of its files, above those of all memstores; 0 = none; under flush_mu */
    _Atomic uint64_t n_bulk_files, n_bulk_points; /* that hand-overs have added */
    /* the last flush failed; its generations are flushed before others are frozen; under flush_mu */
    bool flush_failed;
    _Atomic uint64_t gen;         /* active generation */
    _Atomic size_t active_bytes;  /* memory of the active generation, all owners */
    _Atomic size_t frozen_bytes;  /* memory of the generations that are being flushed */
    _Atomic bool flush_requested; /* the flush thread was woken for this generation */
    /* monotonic ms when the active generation got its first batch; 0 = none yet */
    _Atomic int64_t gen_born_ms;
    /* monotonic ms when older generations were replayed; 0 = none waits for its age */
    _Atomic int64_t frozen_born_ms;

    pthread_mutex_t refuse_mu;
    /* 0, TS_EIO, or a code that sto_engine__may_wait accepts; changed under refuse_mu */
    _Atomic int refuse_code;
    /* by kind of code (refuse.c); written once, under refuse_mu, before the code */
    struct ts_error refuse_why[STO_REFUSALS];
    _Atomic bool reserve_there; /* DIR/RESERVE is whole; changed under files_mu */
    /* it was removed because the disk was full, and does not exist again yet; the same */
    _Atomic bool reserve_spent;
    /* the number of this run is not in the manifest: no log may be begun; the same */
    _Atomic bool run_unsaved;
    _Atomic unsigned n_holding; /* owners that have waiting batches */
    _Atomic size_t n_batches;   /* batches that exist */

    pthread_t sync_thread, flush_thread, compact_thread;
    bool sync_runs, flush_runs, compact_runs;
    _Atomic unsigned n_bg;   /* number of running background threads (flush, compact) */
    struct ts_queue *sync_q; /* barriers, NUDGE, STOP */
    /* threads that call fdatasync for the sync thread; NULL: it calls fdatasync itself */
    struct ts_pool *sync_pool;
    struct ts_msg nudge; /* the only NUDGE message; it is in sync_q while nudged is set */
    _Atomic bool nudged;
    pthread_mutex_t bg_mu; /* wakes flush and compact threads */
    pthread_cond_t flush_cond, compact_cond;
    bool flush_wanted, compact_wanted, full_wanted, bg_stop; /* under bg_mu */
    pthread_mutex_t compact_mu;                              /* held during a compaction */
    _Atomic bool compacts_range;                             /* sto_engine_compact_range is at work: */
    _Atomic uint64_t range_done_bytes, range_all_bytes;      /* of its files; 0 without it */
    _Atomic bool stop_compact;                               /* close: give up the running compaction */
    pthread_mutex_t remove_mu;    /* held while files are chosen that nothing replaces, and removed */
    struct sto_sst *const *taken; /* inputs of the merge at work, which are not removed; under remove_mu */
    size_t n_taken;               /* length */
    struct sto_rest *rests;       /* windows that are left alone; owned; under compact_mu */
    size_t n_rests;               /* length */
    _Atomic size_t n_resting;     /* of these, as the statistics report */
    struct sto_evict_stats evict; /* the limit of bytes */
    struct sto_clock clock;       /* what retention thinks of the clock; the same */
    /* wall clock minus monotonic one, ms, when retention trusted it last; INT64_MIN = not yet. Written under compact_mu */
    _Atomic int64_t trusted_ahead_ms;
    int64_t retention_ms;     /* monotonic time when retention last looked at the files; the same */
    _Atomic bool look_wanted; /* it is to look at once: rules or the limit of bytes have changed (relaxed) */
    struct sto_keep
        *raised_keep;      /* rules by which the floors were raised last; NULL = not in this run; the same */
    int32_t raised_hour;   /* and the hour up to which; the same */
    uint64_t floors_epoch; /* number of the present floors; the same */
    struct sto_unfinished
        *unfinished; /* interrupted merge, which continues before any other; NULL = none; owned; the same */
    unsigned unfinished_tries; /* times that its finished files could not be read; the same */
    /* numbers of files that the manifest does not list, which stay because the record can't be read; owned; the same */
    uint64_t *kept_files;
    size_t n_kept_files;
    _Atomic uint64_t unfinished_bytes; /* bytes of its finished files */

    struct ts_budget merge_budget; /* memory that the running merge uses for its inputs */
    /* memory of the rows of all memstores, including those that only readers still hold */
    struct ts_budget mems_budget;
    _Atomic uint64_t n_flushes, n_compactions, n_compacted_bytes, n_syncs, n_replayed, n_flush_errors;
    _Atomic uint64_t n_flushed_points, n_compacted_points; /* points written to files */
    _Atomic uint64_t n_resumed;                            /* merges that continued after an interruption */
    /* time for which merge_bytes_per_s has paused merges that have ended */
    _Atomic uint64_t n_merge_paused_ms;
};

/** Shards of the store. Owners and writers: constant until they are stopped. Others: of this moment. */
static inline uint32_t sto_engine__n_shards(const struct sto_engine *e)
{
    return atomic_load_explicit(&e->n_shards, memory_order_relaxed);
}
/** How series are spread among owners; as sto_engine__n_shards. */
static inline struct sto_shard_spread sto_engine__spread(const struct sto_engine *e)
{
    return (struct sto_shard_spread){e->n_groups, sto_engine__n_shards(e), e->n_owners};
}
/** Index of the owner of a series; as sto_engine__n_shards. */
static inline unsigned sto_engine__owner_of(const struct sto_engine *e, const struct sto_series *series)
{
    return sto_shard_of(series, sto_engine__n_shards(e)) % e->n_owners;
}

/* version.c */
struct sto_version *sto_version__new(size_t n_ssts, size_t n_mems);
/** From the next edit on, versions leave out points before ms in files of generations below gen. */
void sto_version__cut_off(struct sto_engine *e, int64_t ms, uint64_t gen);
/** From the next edit on, versions have these marks, whose reference is taken. */
void sto_version__mark(struct sto_engine *e, struct sto_marks *marks);
/** From the next edit on, versions are complete from this time on. */
void sto_version__complete(struct sto_engine *e, int64_t from_ms);
/** Make the first version visible. Opening. */
void sto_version__first(struct sto_engine *e, struct sto_version *v);
/** Does anybody use a version that was made before the memstores of a generation? Any thread. O(versions in use). */
bool sto_version__lacks(struct sto_engine *e, uint64_t gen);
void sto_version__drop(struct sto_engine *e, struct sto_version *v);
/** Free versions that readers have released; files that no version has are unlinked here. */
void sto_version__release_unused(struct sto_engine *e);
/* Replace the present version by a copy with files added and removed. Memstores of generations up to
 * flushed_gen are left out. */
int sto_version__edit(struct sto_engine *e, struct sto_sst *const *add, size_t n_add, const uint64_t *remove,
                      size_t n_remove, uint64_t flushed_gen, struct sto_mem *const *add_mems,
                      size_t n_add_mems);

/* writer.c */
/** Handle some of the messages of an owner. True: there may be more, for others may send faster than it handles. Its thread. */
bool sto_owner__drain(struct sto_owner *o);
/** Send the open batches of a writer to their owners. Its thread. */
void sto_writer__send(struct sto_writer *writer);
/** Write a batch to the log and the memstore now. 0; an error that sto_engine__may_wait accepts: nothing was written, and the batch does not
 * wait; TS_EIO: the log is broken. Owner. */
int sto_owner__try(struct sto_owner *o, struct sto_batch *b);
/** Loop of an owner that has a thread of its own (own_threads). */
void *sto_owner__thread(void *arg);
/** May a write that failed with this code be repeated? True for TS_ENOSPC (disk space), TS_ENOMEM (memory),
 * TS_EMFILE (descriptors). */
bool sto_engine__may_wait(int code);
/* Refuse puts from now on: until the lack is over if sto_engine__may_wait accepts the code, otherwise for
 * good. The first text for each kind of code is kept. */
void sto_engine__refuse(struct sto_engine *e, int code, const struct ts_error *err);
/* Get the first error of the kind of code, because of which puts are refused. Any thread. */
void sto_engine__refusal(struct sto_engine *e, int code, struct ts_error *out);
/* If rc is TS_EIO, the manifest or the catalog accepts nothing more, so that nothing can be flushed: call
 * on_fatal. */
void sto_engine__fatal(struct sto_engine *e, int rc, const struct ts_error *err);
/* Accept puts again if they were refused for lack of space, memory or descriptors and no batch waits any
 * more. */
void sto_engine__recovered(struct sto_engine *e);
/* Do the active and the frozen generations together exceed twice memstore_bytes, once for the one being
 * flushed and once for the one being filled? */
bool sto_engine__memory_full(struct sto_engine *e);
/** Without threads: let every owner handle its messages. */
void sto_engine__pump(struct sto_engine *e);

/* writers.c */
/** Make the writers and their queues. */
int sto_writers__init(struct sto_engine *e, struct ts_error *err);
/** Free them; no message may be in a queue. */
void sto_writers__release(struct sto_engine *e);

/* sync.c */
void *sto_sync__thread(void *arg);
/* One pass: sync all logs and answer the barriers that arrived before. True: STOP was among the messages. */
bool sto_sync__pass(struct sto_engine *e);
/** Wake the sync thread: there is something to sync (wal_sync = always), or a log is broken. */
void sto_sync__nudge(struct sto_engine *e);

/* flush.c */
void *sto_flush__thread(void *arg);
/** Freeze what is in memory and write it to files; blocks. Errors as sto_engine_flush. */
int sto_flush__all(struct sto_engine *e, struct ts_error *err);
/** Write everything put so far to files, and leave out generation gen, which e->reserved_gen is: what was put is below it, and what is put from
 * now on is above it. It is not flushed in the sense of the manifest yet. flush_mu held. Errors as sto_engine_flush; a later flush writes
 * what is left, and calls gen flushed with it. */
int sto_flush__below(struct sto_engine *e, uint64_t gen, struct ts_error *err);
/** Make owners continue with the next generation, without a call of the file system. flush_mu held. */
void sto_flush__next_generation(struct sto_engine *e);
/** Create files for the logs of the next generation, beside those for the present one. flush_mu held. */
void sto_flush__ahead(struct sto_engine *e);
/** Remove those of them that are not used. flush_mu held. */
void sto_flush__end_ahead(struct sto_engine *e);
/** Write everything put so far to files, while all writers are stopped; flush_mu held. TS_EBUSY: it cannot be done now. Other errors as sto_engine_flush; a later
 * flush writes what is left. *out_gen: for sto_flush__drop_logs. */
int sto_flush__stopped(struct sto_engine *e, uint64_t *out_gen, struct ts_error *err);
/** Remove the logs of generations up to gen, which are in files; 0 = there are none. */
void sto_flush__drop_logs(struct sto_engine *e, uint64_t gen);
/** Wake the flush thread. */
void sto_flush__wake(struct sto_engine *e);

/* compact.c */
/** Apply retention, rewrite damaged files, and run all merges that are due; full: until no files overlap. Takes compact_mu. Blocks. Errors as
 * sto_engine_compact. */
int sto_compact__all(struct sto_engine *e, bool full, struct ts_error *err);

/* compact_thread.c */
void *sto_compact__thread(void *arg);
/** Wake the compact thread; full: request a full compaction. */
void sto_compact__wake(struct sto_engine *e, bool full);

/* output.c */
/** A file number that was never used. */
uint64_t sto_engine__file_no(struct sto_engine *e);

/* recover.c */
/** Replay the logs; *out_torn: the end of one was lost. */
int sto_recover__wal(struct sto_engine *e, bool *out_torn, struct ts_error *err);

/** A new memstore whose rows are counted in mems_budget. n_owners 1: it takes series of every owner (replay). */
struct sto_mem *sto_engine__mem_new(struct sto_engine *e, uint64_t gen, uint16_t owner, unsigned n_owners);

#endif
