/*
 * sim.h - a whole store in one thread on a file system that forgets: what the files of the simulation share.
 *
 * One seed decides everything: the configuration, what is done in which order, which call fails, what a power
 * cut leaves. Threads are played: a writer is turned when the dice say so, and while a flush, a compaction or a
 * sync is inside a call of the file system, the others get a turn (t_hook_fn). So each seed is the same each
 * time.
 *
 *   writer: open batches --turn--> queue of each owner --turn of the owner--> arrived: log, memstore
 *
 * The simulation keeps the same batches and queues as the store, so it knows the order in which operations
 * arrive at an owner. After a crash each owner's operations must be there up to some point, which lies not
 * before what was confirmed; everything before this run must be there.
 *
 * Threads    one
 * Not here   the plain model of points (tests/model/reference.h), the file system (tests/faults/faultfs.h)
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "storage/store.h"
#include "tests/faults/faultfs.h"
#include "tests/model/reference.h"

#define SIM_T0       1793620800000ll /* an hour: 2026-11-02 12:00 UTC */
#define SIM_WRITERS  7               /* at most */
#define SIM_SERIES   40              /* at most */
#define SIM_TEXTS    20              /* names of each kind to choose from */
#define SIM_NAMES    64              /* names of each kind that were ever made, at most */
#define SIM_CELLS    10              /* keys of small cells */
#define SIM_VALUE    3000            /* longest value of a cell, bytes */
#define SIM_BARRIERS 256             /* barriers of a run, at most */

/* One operation, as far as the simulation knows. */
struct sim_op {
    struct sto_point p; /* series: one of sim.handles */
    size_t seq;         /* place in the reference, once arrived */
};

/* Operations in order. */
struct sim_ops {
    struct sim_op *v; /* owned */
    size_t n, cap;    /* used, room */
};

/* What an owner was given in this run. */
struct sim_owner {
    struct sim_ops arrived; /* in order; all in the reference */
    struct sim_ops queue;   /* sent, perhaps not taken from the queue yet */
    size_t n_seen;          /* of arrived: surely in the log, a kill must not lose them */
    size_t n_disk;          /* of arrived: confirmed, a power cut must not lose them */
};

/* A question of a writer that is under way. */
struct sim_barrier {
    struct sim *s;
    enum sto_level level;
    size_t n[SIM_WRITERS]; /* by owner: operations before it */
};

/* A name, or a name that may be there. */
struct sim_name {
    uint32_t id;     /* as the store said; 0 = not known to it */
    int text;        /* of sim_text(): as it is called; -1 = lost */
    int maybe;       /* a rename that ended in an error: it may be called so; -1 = none */
    bool safe;       /* confirmed to be on disk */
    bool maybe_gone; /* forgetting it ended in an error, or was cut short: it may be gone */
    bool assigned;   /* by a person, confirmed to be on disk: it must stay */
};

/* A series: names by index, not by text, so that renames do not matter. */
struct sim_series {
    int metric, tagv;           /* into sim.names[STO_UID_METRIC], [STO_UID_TAGV] */
    uint32_t id;                /* as the store said, UINT32_MAX = not known */
    bool safe;                  /* points of it were confirmed to be in files: its id must stay */
    bool maybe_gone;            /* forgetting it ended in an error, or was cut short: it may be gone */
    const struct sto_series *h; /* in the open store; NULL = not asked yet */
};

/* Value of a small cell. */
struct sim_value {
    uint32_t n;    /* bytes; 0 = no such cell */
    uint64_t seed; /* of the bytes; n == 8: the number itself */
};

/* A change of a small cell. */
struct sim_cell_op {
    unsigned key;
    struct sim_value value;
};

/* Small cells: state before this run, changes since. */
struct sim_cells {
    struct sim_value base[SIM_CELLS];
    struct sim_cell_op *ops; /* owned */
    size_t n, cap, n_seen, n_disk;
};

/* The clock as retention has to judge it: for as long as it jumped ahead, at most 7 days, nothing may be dropped. */
struct sim_clock {
    bool known;               /* each step since the opening was seen by the store too */
    int64_t wall_ms, mono_ms; /* when it was looked at last */
    int64_t ahead_ms;         /* by so much it was set forward, less what it was set back */
    int64_t until_mono_ms;    /* nothing is dropped before */
};

/* What is on the stack: who may be played meanwhile. */
enum sim_actor { SIM_SYNC = 1, SIM_FLUSH = 2, SIM_COMPACT = 4 };

struct sim {
    uint64_t seed, rnd;
    bool verbose;
    unsigned step, n_steps;
    struct t_faultfs *f;
    struct sto_opts opts; /* of the present or next opening */
    struct sto_store *st; /* NULL = closed */
    unsigned full_pct;    /* of merges: everything, not only what is worth it */
    unsigned flush_pm;    /* of 1,000 steps: flushes */
    bool merges_follow;   /* a flush is followed by the merges worth doing, as in the daemon */
    bool dense;           /* few series, many points in an hour: files have summaries */
    bool has_adds;        /* adds are written */
    bool short_lives;     /* series and names come and go: they are often forgotten */
    int64_t retention_ms; /* that of opts while it is switched on */
    int64_t now_ms;       /* the wall clock */
    bool clock_steps;     /* the wall clock is often set, by days */
    struct sim_clock clock;
    bool clean; /* the next opening comes after a clean end, which has written down what the clock did */
    int64_t horizon_ms; /* points before it may be dropped by retention */

    /* faults */
    bool faulty; /* a fault is planned or has happened: errors are allowed */
    bool full;   /* the fault is a full disk, which breaks nothing */
    bool broken; /* something said TS_EIO: the process would end */
    bool
        sync_lost; /* perhaps a sync failed: pages in memory and on disk may differ without anybody knowing */
    bool cut_planned, kill_planned; /* the power (the process) ends at a call to come */
    bool power_went; /* since the last successful opening: what was not confirmed may be gone */

    /* the played threads */
    unsigned actors;   /* mask of enum sim_actor on the stack */
    unsigned top;      /* the innermost of them, 0 = somebody else: nobody is played */
    unsigned hook_pct; /* how often somebody is played at a call */
    unsigned depth;    /* of played steps */
    unsigned n_turns;  /* of others in this step */
    bool flushed;      /* somebody flushed in this step: queues may be empty without our knowing */
    bool no_flush;     /* the manifest is being written: nobody may flush meanwhile */

    /* points */
    struct t_ref *ref;
    struct sto_series handles[SIM_SERIES]; /* series of the reference: id = index */
    struct sim_series series[SIM_SERIES];
    unsigned n_series;
    struct sim_name names[STO_UID_KINDS][SIM_NAMES];
    unsigned n_names[STO_UID_KINDS];
    roaring_bitmap_t *gone;                      /* numbers of series that were forgotten, on disk */
    roaring_bitmap_t *gone_names[STO_UID_KINDS]; /* ids of names that were forgotten, on disk */
    uint64_t kept;   /* series that the last pass of forgetting was told to keep, as bits */
    bool unfinished; /* a pass ended in an error since the opening: series may be refused */
    struct sim_ops open[SIM_WRITERS][SIM_WRITERS]; /* by writer and owner: the open batch */
    struct sim_owner owners[SIM_WRITERS];
    struct sim_barrier barriers[SIM_BARRIERS];
    unsigned n_barriers;
    struct sim_cells cells;

    /* what was done, for the report */
    uint64_t n_ops, n_crashes, n_checks, n_played, n_faults, n_lost, n_summaries, n_points, n_forgotten,
        n_names_forgotten;
};

/* sim.c */
/** A number below n (n >= 1). */
uint64_t sim_rnd(struct sim *s, uint64_t n);
/** True in pct of 100 cases. */
bool sim_chance(struct sim *s, unsigned pct);
/** The promise is broken: print seed, step and why, end the process. */
void sim_fail(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));
/** With --verbose: a line. */
void sim_say(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** An answer of the store: errors need a cause and a sentence. Notes what is broken. Returns rc == 0. */
bool sim_ok(struct sim *s, int rc, const struct ts_error *err, const char *what);

/* sim_life.c: opening, closing, crashing, faults */
void sim_configure(struct sim *s);
void sim_open(struct sim *s);
void sim_close(struct sim *s);
/** Process or power ends now; then open again and compare. */
void sim_crash(struct sim *s, bool power);
void sim_fault(struct sim *s);
void sim_fault_over(struct sim *s);

/* sim_ops.c: what is done */
void sim_step(struct sim *s);
void sim_hook(void *arg, enum t_op op, const char *path, bool after);
/** Everything that was sent has arrived. */
void sim_arrive_all(struct sim *s);
/** Send all that is open and take in all that was sent. */
void sim_turn_all(struct sim *s);
/** Each writer ends one turn: what it has sent to others may still be in their queues. */
void sim_turn_once(struct sim *s);
/** Some writers put some points. */
void sim_put_some(struct sim *s);
/** A writer deletes all that a series has. */
void sim_delete_all(struct sim *s, unsigned i);
/** Everything to files, and all merges. */
void sim_compact(struct sim *s);
/** Has nothing gone wrong since the opening? */
bool sim_all_well(const struct sim *s);
void sim_ops_clear(struct sim_ops *ops);

/* sim_check.c: comparing with the model */
/** The store has all that arrived (nothing has failed since the opening). full: every series, else some. */
void sim_check(struct sim *s, bool full);
/** Bits of a sorted file are damaged one after the other: each answer is an error or right. */
void sim_check_damage(struct sim *s);
/** While something fails: of what arrived, the store has a front part with all that was seen before. */
void sim_check_front(struct sim *s);
/** After an opening: find out which operations of the last run are there; the others never were. power: those that
 * were confirmed must be; else all that were in the log. */
void sim_check_survivors(struct sim *s, bool power, const char *when);
/** A number for all that the store answers. */
uint64_t sim_fingerprint(struct sim *s);

/* sim_names.c */
void sim_text(int kind, int text, char out[24]);
/** The series in the open store, made if it is not there; NULL if the store refuses (a fault). */
const struct sto_series *sim_resolve(struct sim *s, unsigned i, bool create);
void sim_new_series(struct sim *s);
void sim_rename(struct sim *s);
/** A person assigns a name. */
void sim_assign(struct sim *s);
/* Series and their names with points in the log, as bits. */
struct sim_known {
    uint64_t series, names[STO_UID_KINDS];
};
/** Which series have points now, that are not known to be safe yet. */
struct sim_known sim_known_now(const struct sim *s);
/** These are on disk for certain: a flush to files has ended well. */
void sim_names_safe(struct sim *s, const struct sim_known *known);
void sim_check_names(struct sim *s, const char *when);

/* sim_clock.c */
/** Time passes, or the wall clock is set. */
void sim_clock_pass(struct sim *s);
/** Retention is about to look at the clock: what it may drop now is before the horizon. */
void sim_clock_look(struct sim *s);
/** The store is about to be closed. True: it will remember what the clock did. */
bool sim_clock_close(struct sim *s);
/** The store was opened; clean: the run before ended well and knew the clock. */
void sim_clock_open(struct sim *s, bool clean);

/* sim_forget.c */
/** Series without points are forgotten; those with points must stay, while others put. */
void sim_forget(struct sim *s);
/** Options of the store that forgetting needs. */
void sim_forget_configure(struct sim *s);

/* sim_cells.c */
void sim_cell_step(struct sim *s);
void sim_check_cells(struct sim *s);
void sim_check_cell_survivors(struct sim *s, bool power, const char *when);

#endif
