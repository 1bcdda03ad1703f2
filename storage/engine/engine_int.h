/*
 * engine_int.h - structures shared by the files of the engine: engine.c port.c sync.c flush.c compact.c
 * version.c recover.c.
 *
 * Lock order  mutex of a pass of shipping -> compact_mu -> flush_mu -> remove_mu -> files_mu -> edit_mu -> version_mu -> refuse_mu; latch and barrier mutexes are leaves. None but
 * the first five (background work alone takes them) is held across I/O. compact_mu is held for as long as merges
 * run: what must not wait for them is done between their rows (compact.c).
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
#include "storage/engine/merge/partition.h"
#include "storage/engine/unfinished.h"

#include <pthread.h>
#include <stdatomic.h>

enum sto_msg_kind {
    STO_MSG_BATCH,
    STO_MSG_RETURN,
    STO_MSG_BARRIER,
    STO_MSG_BARRIER_DONE,
    STO_MSG_SET_GEN,
    STO_MSG_STOP,
    STO_MSG_NUDGE
};

#define STO_REFUSALS                                                                                         \
    4 /* kinds of errors that make the store refuse puts: disk, memory, descriptors, others */

/* Files and memstores at one moment. Immutable but for refs (under version_mu of the engine). */
struct sto_version {
    unsigned refs;
    size_t n_ssts, n_mems;
    struct sto_sst **ssts;    /* one reference each */
    struct sto_mem **mems;    /* one reference each */
    int64_t cutoff_ms;        /* what is older, */
    uint64_t cutoff_gen;      /* and wholly of generations below, was dropped by retention; 0 = nothing was */
    struct sto_marks *marks;  /* what the remote store has received; one reference; NULL = nothing */
    struct sto_version *next; /* of e->unused; under version_mu */
};

/* Writer of the shards that fall to it: log and memstore. Its thread: the worker (or the store's own). */
struct sto_owner {
    struct sto_engine *e;
    unsigned index;
    struct ts_queue *in;  /* batches, barriers, generations */
    struct sto_wal *wal;  /* NULL when read-only */
    struct sto_mem *mem;  /* active generation; the version holds the reference */
    size_t counted_bytes; /* part of e->active_bytes that is ours; owner */
    struct ts_msg
        *held;     /* batches that wait for room or memory, oldest first: written before any other; owner */
    int held_code; /* why, of the last try: a code that sto_engine__may_wait knows; owner */
    struct ts_msg **held_end;  /* where the next one goes; owner */
    int64_t retry_ns;          /* monotonic time at which they are tried again; owner */
    _Atomic uint64_t n_failed; /* operations lost because the log is broken; owner writes */
    _Atomic uint64_t n_points; /* operations applied; owner writes */
    pthread_t thread;          /* own_threads only */
    bool runs;                 /* thread was started */
    bool stop;                 /* owner: STOP was received */
};

/* One asking thread's side: open batches, one for each owner. */
struct sto_port {
    struct sto_engine *e;
    unsigned index;
    struct ts_queue *replies;    /* the owner's queue where worker and owner are one thread, else its own */
    struct sto_batch **open;     /* by owner; NULL = none */
    struct sto_batch *free_list; /* linked by msg.next */
    unsigned n_free;             /* of them; at most one for each owner is kept */
    bool paused;                 /* sto_port_ready said no: it says yes again below 50 % */
    bool turning;                /* inside sto_port_turn: barriers called back must not recurse */
};

/* Asks all owners, then perhaps the sync thread, then answers the port (or opens the latch). */
struct sto_barrier {
    struct ts_msg done_msg; /* BARRIER_DONE to the port, or into the sync queue */
    struct sto_port *port;  /* NULL: latch instead */
    struct ts_latch *latch;
    bool disk;
    atomic_uint left; /* owners that have not answered */
    int rc;           /* written by the last owner or the sync thread, before done */
    struct ts_error err;
    sto_done_fn done;
    void *arg;
    struct sto_barrier_part { /* one message per owner */
        struct ts_msg msg;
        struct sto_barrier *barrier;
        int rc; /* 0, or why something before it is not in the log; the owner's, read by the last one */
    } parts[];
};

/* A window whose merge failed. */
struct sto_rest {
    struct sto_window window;
    int64_t until_ms; /* monotonic time of the next try */
    int64_t pause_ms; /* how long it was left alone; doubles with each failure */
};

/* What retention thinks of the wall clock. */
struct sto_clock {
    int64_t wall_ms, mono_ms; /* both clocks at the start, or at the last jump */
    int64_t hold_until_ms;    /* monotonic time before which nothing is removed, for the clock jumped */
    int64_t ahead_ms;         /* sum of the jumps forward less those backward, while that is so */
    int64_t saved_ms;         /* monotonic time when this was written down */
};

/* Tells an owner to go on with another memstore. */
struct sto_set_gen {
    struct ts_msg msg;
    struct sto_mem *mem;    /* of the new generation */
    struct ts_latch *latch; /* counted down when the owner has changed over */
};

struct sto_engine {
    struct sto_opts opts;          /* with defaults */
    struct sto_engine_owner owner; /* callbacks */
    const struct ts_fs *fs;
    char *dir, *wal_dir, *files_dir;
    struct ts_file *lock_file;
    uint32_t n_shards, run;
    unsigned n_owners;
    struct sto_owner *owners;
    struct sto_port *ports;
    bool threads_run; /* owners' threads (own or workers') are at work; false: the caller pumps */
    bool closing;     /* barriers not answered yet never will be: who asked may be gone */

    struct sto_sst_caches caches; /* of all files; owned */

    pthread_mutex_t edit_mu; /* one edit of the version at a time */
    pthread_mutex_t version_mu;
    struct sto_version *version; /* changed under both */
    struct sto_sst_held held;    /* files that were removed and that readers hold; outlives them */
    struct sto_version *unused;  /* readers let them go, the flush thread releases them; under version_mu */
    _Atomic bool flush_releases; /* it does: the flush thread runs */
    int64_t cutoff_ms;           /* of versions to come; under version_mu */
    uint64_t cutoff_gen;         /* the same */
    struct sto_marks *marks;     /* the same */

    pthread_mutex_t files_mu; /* manifest and file numbers */
    struct sto_manifest *manifest;
    uint64_t next_file_no;       /* under files_mu */
    struct sto_shipper *shipper; /* NULL: there is no remote store */

    pthread_mutex_t flush_mu; /* one flush at a time */
    bool flush_failed;        /* the last flush failed: its generations first, before others are frozen; under
                                 flush_mu */
    _Atomic uint64_t gen;     /* active generation */
    _Atomic size_t active_bytes; /* memory of the active generation, all owners */
    _Atomic size_t frozen_bytes; /* memory of generations being flushed */
    _Atomic bool flush_asked;    /* somebody has woken the flush thread for this generation */
    _Atomic int64_t
        gen_born_ms; /* monotonic ms when the active generation got its first batch; 0 = none yet */
    _Atomic int64_t
        frozen_born_ms; /* monotonic ms when older generations were replayed; 0 = none waits for its age */

    pthread_mutex_t refuse_mu;
    _Atomic int refuse_code; /* 0, TS_EIO, or one that sto_engine__may_wait knows; changed under refuse_mu */
    struct ts_error refuse_why
        [STO_REFUSALS]; /* by kind of code (refuse.c); written once, under refuse_mu, before the code */
    _Atomic bool reserve_there; /* DIR/RESERVE is whole; changed under files_mu */
    _Atomic bool reserve_spent; /* it was given up and is not there again; the same */
    _Atomic bool
        run_unsaved; /* the number of this run is not in the manifest: no log may be begun; the same */
    _Atomic unsigned n_holding; /* owners that hold batches back */
    _Atomic size_t n_batches;   /* batches that exist */

    pthread_t sync_thread, flush_thread, compact_thread;
    bool sync_runs, flush_runs, compact_runs;
    _Atomic unsigned n_bg;     /* flush and compact thread, while they are at work */
    struct ts_queue *sync_q;   /* barriers, NUDGE, STOP */
    struct ts_pool *sync_pool; /* calls fdatasync beside the sync thread; NULL: that one does it alone */
    struct ts_msg nudge;       /* the one nudge; inside sync_q while nudged */
    _Atomic bool nudged;
    pthread_mutex_t bg_mu; /* wakes flush and compact threads */
    pthread_cond_t flush_cond, compact_cond;
    bool flush_wanted, compact_wanted, full_wanted, bg_stop; /* under bg_mu */
    pthread_mutex_t compact_mu;                              /* one compaction at a time */
    _Atomic bool stop_compact;                               /* close: give up the running compaction */
    pthread_mutex_t remove_mu;    /* held while files are chosen that nothing replaces, and removed */
    struct sto_sst *const *taken; /* inputs of the merge at work, which are not removed; under remove_mu */
    size_t n_taken;               /* length */
    struct sto_rest *rests;       /* windows that are left alone; owned; under compact_mu */
    size_t n_rests;               /* length */
    _Atomic size_t n_resting;     /* of these, as the statistics tell */
    struct sto_clock clock;       /* what retention thinks of the clock; the same */
    int64_t retention_ms;         /* monotonic time when retention last looked at the files; the same */
    struct sto_unfinished
        *unfinished; /* interrupted merge, which continues before any other; NULL = none; owned; the same */
    unsigned unfinished_tries;         /* times that its finished files could not be read; the same */
    _Atomic uint64_t unfinished_bytes; /* bytes of its finished files */

    struct ts_budget merge_budget; /* what the merge at work holds of its inputs */
    struct ts_budget mems_budget;  /* rows of all memstores, also of those that only readers still hold */
    _Atomic uint64_t n_flushes, n_compactions, n_compacted_bytes, n_syncs, n_replayed, n_flush_errors;
    _Atomic uint64_t n_flushed_points, n_compacted_points; /* points written to files */
    _Atomic uint64_t n_resumed;                            /* merges that continued after an interruption */
    _Atomic uint64_t n_merge_paused_ms; /* what merge_bytes_per_s took, of merges that have ended */
};

/* version.c */
struct sto_version *sto_version__new(size_t n_ssts, size_t n_mems);
/** Versions from the next edit on leave out points before ms of generations below gen. */
void sto_version__cut_off(struct sto_engine *e, int64_t ms, uint64_t gen);
/** Versions from the next edit on have these marks, whose reference is taken. */
void sto_version__mark(struct sto_engine *e, struct sto_marks *marks);
void sto_version__drop(struct sto_engine *e, struct sto_version *v);
/** Release versions that readers let go: files that no version names are unlinked here. */
void sto_version__release_unused(struct sto_engine *e);
/* Copy of the present version with room: add/remove lists applied. flushed_gen: memstores of generations <=
 * it are left out. */
int sto_version__edit(struct sto_engine *e, struct sto_sst *const *add, size_t n_add, const uint64_t *remove,
                      size_t n_remove, uint64_t flushed_gen, struct sto_mem *const *add_mems,
                      size_t n_add_mems);

/* port.c */
void sto_owner__drain(struct sto_owner *o);
/** Loop of an owner that has a thread of its own (own_threads). */
void *sto_owner__thread(void *arg);
/** Make the ports and their queues. */
int sto_ports__init(struct sto_engine *e, struct ts_error *err);
/** Free them; no message may be on its way. */
void sto_ports__release(struct sto_engine *e);
/** May what failed with this code be tried again? TS_ENOSPC (room), TS_ENOMEM (memory), TS_EMFILE (descriptors). */
bool sto_engine__may_wait(int code);
/* Puts are refused from now on: with a code that may wait until what is missing is there again, with any other
 * code for good. The first text of each stays. */
void sto_engine__refuse(struct sto_engine *e, int code, const struct ts_error *err);
/* The first error of the kind of code that made puts be refused. Any thread. */
void sto_engine__refusal(struct sto_engine *e, int code, struct ts_error *out);
/* If rc is TS_EIO: manifest or catalog take nothing more, nothing can be flushed any more; tell on_fatal. */
void sto_engine__fatal(struct sto_engine *e, int rc, const struct ts_error *err);
/* Puts are accepted again if they were refused for want of room or memory and nothing waits for it any more. */
void sto_engine__recovered(struct sto_engine *e);
/* Active and frozen generations together take more than twice the budget: one on its way to disk, one filling
 * up. */
bool sto_engine__memory_full(struct sto_engine *e);
/** Without threads: let every owner do what waits for it. */
void sto_engine__pump(struct sto_engine *e);

/* sync.c */
void *sto_sync__thread(void *arg);
/* One pass: sync all logs, answer the barriers that came before. True: STOP was among the messages. */
bool sto_sync__pass(struct sto_engine *e);
/** wal_sync = always: there is something to sync; or a log is broken. */
void sto_sync__nudge(struct sto_engine *e);

/* flush.c */
void *sto_flush__thread(void *arg);
/** Freeze what is in memory and write it to files; blocks. Errors as sto_engine_flush. */
int sto_flush__all(struct sto_engine *e, struct ts_error *err);
/** Ask the flush thread to look. */
void sto_flush__wake(struct sto_engine *e);

/* compact.c */
void *sto_compact__thread(void *arg);
/** Ask the compact thread to look; full: until nothing overlaps. */
void sto_compact__wake(struct sto_engine *e, bool full);
/** A number no file has had. */
uint64_t sto_engine__file_no(struct sto_engine *e);

/* recover.c */
int sto_recover__wal(struct sto_engine *e, struct ts_error *err);

/** Empty memstore whose rows count in mems_budget. n_owners 1: it takes series of every owner (replay). */
struct sto_mem *sto_engine__mem_new(struct sto_engine *e, uint64_t gen, uint16_t owner, unsigned n_owners);

#endif
