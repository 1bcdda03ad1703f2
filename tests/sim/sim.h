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
 * Seeds above SIM_REMOTE_SEED have a remote store, which fails and to which another writer writes as well. Those above SIM_BULK_SEED
 * have bulk loads instead, those above SIM_TOTAL_SEED kept totals too, those above SIM_QUOTA_SEED a limit of bytes, and those above
 * SIM_LEVEL_SEED compress files harder and change the number of shards. Those above SIM_AGED_SEED have none of these, but a rule that keeps hours
 * longer than points; those above SIM_DAYS_SEED rules that keep days, too, and change at any time, deletes of what has expired, and every third one a limit of bytes.
 *
 * Threads    one
 * Not here   the plain model of points (tests/model/reference.h), the file system (tests/faults/faultfs.h)
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "storage/bulk.h"
#include "storage/remote.h"
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
#define SIM_OTHERS   64              /* points of another writer in the remote store, at most */
#define SIM_CLIENTS  3               /* that number their increments */
#define SIM_PARTS    512             /* increments of such a client that are not confirmed, at most */
#define SIM_SHARDS   16              /* at most */

#define SIM_REMOTE_SEED 1000000ull /* seeds above it have a remote store; the others keep their meaning */
#define SIM_BULK_SEED   2000000ull /* seeds above it have bulk loads and no remote store */
#define SIM_TOTAL_SEED  3000000ull /* seeds above it have kept totals, and bulk loads */
#define SIM_QUOTA_SEED  4000000ull /* seeds above it have a limit of bytes, kept totals, and bulk loads */
#define SIM_LEVEL_SEED                                                                                       \
    5000000ull /* seeds above it also compress files harder and change the number of shards */
#define SIM_AGED_SEED                                                                                        \
    6000000ull /* seeds above it have a rule that keeps hours longer than points, and nothing of what those above SIM_REMOTE_SEED have */
#define SIM_DAYS_SEED 7000000ull /* seeds above it keep days longer than hours, too, and change their rules */
#define SIM_OTHER_MS  777        /* thousandths of the times of which only the other writer puts points */

/* A numbered increment, on its way. */
struct sim_part {
    unsigned client,
        shard;   /* client 0: none; its index + 1; the hash of the series, whose low bits are the shard */
    uint64_t id; /* random part of the client's id when it was sent */
    uint64_t seq, stream;
};

/* One operation, as far as the simulation knows. */
struct sim_op {
    struct sto_point p;   /* series: one of sim.handles */
    size_t seq;           /* place in the reference, once arrived */
    struct sim_part part; /* client 0: it is not numbered */
    bool is_nothing;      /* it has arrived and changes nothing: a repeat */
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

/* A point that another writer has put into the remote store. */
struct sim_other {
    unsigned series;
    int64_t ts_ms, value;
    bool maybe_gone; /* a delete that was not known to be marked when it was put may concern it */
    bool must_go;    /* a delete that came after it, in this run, does */
};

/* A delete that may be sent yet, or again. */
struct sim_delete {
    unsigned series;
    int64_t from_ms, to_ms;
};

/* The remote store, and what is known of it. */
struct sim_remote {
    struct sto_remote *store; /* owned; NULL: this life has none */
    unsigned fail_pct;        /* of its calls that fail, while it is not well */
    unsigned late_pct;        /* of shipments answered late */
    bool careful;             /* everything is on disk before it is shipped */
    bool well;                /* no call fails at present */
    bool away;                /* every call fails */
    bool off;                 /* the power is off: it is not reached any more */
    unsigned n_failed;        /* calls that failed in this pass */
    char refused[24];         /* metric whose rows it refuses for good; empty: none */
    int64_t keep_ms;          /* what was shipped stays here for so long */
    struct sim_other others[SIM_OTHERS];
    unsigned n_others;
    struct sim_delete *deletes; /* those that may be sent yet, or again; owned */
    size_t n_deletes, cap_deletes;
    struct sim_owner *lost; /* what it lost in a crash may have been shipped; NULL: nothing is looked for */
    size_t lost_from;       /* of its operations */
    uint64_t n_passes, n_bad_passes, n_calls, n_drops, n_settled, n_read; /* for the report */
};

/* The bulk load, of which there is one at a time. */
struct sim_bulk {
    bool on;                      /* this life has bulk loads */
    bool staged;                  /* its files are complete, and the store has not said that it has them */
    bool entered;                 /* its points are in the reference, whether or not the store has them */
    bool listing;                 /* they are, but no answer has them yet, and nobody may flush */
    struct sim_ops ops;           /* its deletes and then its points, in their order */
    size_t n_deletes;             /* of ops; 0 = it replaces nothing */
    int64_t from_ms, to_ms;       /* what each of them deletes, inclusive */
    struct sto_bulk_sum sum;      /* what was staged */
    size_t n_before[SIM_WRITERS]; /* operations of each owner that had arrived when it got its place */
    /* hand-overs that ended well; those of them that replaced; those that ended in a crash and were done; for the report */
    uint64_t n_taken, n_replaced, n_kept;
};

/* A sequence as it was sent first. */
struct sim_sent {
    uint64_t seq; /* 0 = none */
    unsigned series, shard;
    int64_t ts_ms, value;
};

/* A client that numbers its increments. */
struct sim_client {
    struct sto_once_id id;    /* made_s 0: it has none yet */
    struct sto_stream stream; /* number 0: it has no connection */
    unsigned writer;          /* of the connection */
    uint64_t ok, next;        /* it knows that all up to ok are on disk; the next one to send */
    struct sim_sent parts[SIM_PARTS];
    uint64_t kept[SIM_SHARDS];      /* by shard: last sequence that was there when the store opened */
    uint64_t last[SIM_SHARDS];      /* that has arrived */
    uint64_t stream_in[SIM_SHARDS]; /* newest stream that has */
};

/* The open batch of a writer for an owner: streams whose parts it has. */
struct sim_once_open {
    unsigned n;      /* changes from one to another */
    uint64_t stream; /* the last one */
};

struct sim_once {
    bool on;           /* this life has such clients */
    uint32_t n_shards; /* to which the arrays by shard belong */
    struct sim_client clients[SIM_CLIENTS];
    struct sim_once_open open[SIM_WRITERS][SIM_WRITERS];
};

/* An hour that has expired, as it was. */
struct sim_aged_hour {
    unsigned series;
    int32_t hour;
    struct t_ref_point *points; /* [n], n >= 1; owned */
    size_t n;
    bool seen;       /* in the answer that is looked at */
    bool is_deleted; /* it is to be in no answer, */
    bool is_unsure;  /* or may be in none: the delete was not known to be on disk when the store ended */
};

/* Hours for longer than points. */
struct sim_aged {
    bool on;                   /* this life has such a rule */
    bool lost;                 /* the marks were lost once: what they hid may show again */
    struct sim_aged_hour *v;   /* owned */
    size_t n, cap;             /* used, room */
    unsigned n_lost;           /* times that they were damaged */
    int64_t to_ms[SIM_SERIES]; /* hours before it are in v, if they have points */
    /* seeds above SIM_DAYS_SEED: */
    bool days;        /* this life has rules with days, which opts.retention_ms has the points of */
    bool passing;     /* a pass may be under way: others come in between */
    bool fresh;       /* points that are put now are young */
    int64_t hours_ms; /* of the rule in force; that of points: it keeps no hours longer */
    int64_t days_ms;  /* the same of days */
    int64_t
        maybe_ms; /* for how long points may be kept after the next opening, because setting a rule failed; 0 = as now */
    int64_t gone_ms; /* hours of days that begin before it may be gone */
    int64_t
        bare_ms; /* hours before it may be gone without ever having had summaries: the limit of bytes cut them off while no rule kept any */
    uint64_t n_rules, n_deletes, n_beside, n_days; /* for the report */
};

/* What is on the stack: who may be played meanwhile. */
enum sim_actor { SIM_SYNC = 1, SIM_FLUSH = 2, SIM_COMPACT = 4, SIM_SHIP = 8, SIM_BULK = 16 };

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
    bool stopping;        /* the number of shards is being changed: writers may go on by themselves */
    bool short_lives;     /* series and names come and go: they are often forgotten */
    int64_t retention_ms; /* that of opts while it is switched on */
    char rules[160];      /* of retention, instead of opts.retention_ms; text of the present opening */
    int64_t now_ms;       /* the wall clock */
    bool clock_steps;     /* the wall clock is often set, by days */
    struct sim_clock clock;
    bool clean; /* the next opening comes after a clean end, which has written down what the clock did */
    int64_t cutoff_ms;  /* of max_bytes, as the store said it last; points before it are in no answer */
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
    struct sim_remote remote;
    struct sim_bulk bulk;
    struct sim_once once;
    struct sim_aged aged;

    /* what was done, for the report */
    uint64_t n_ops, n_crashes, n_checks, n_played, n_faults, n_lost, n_summaries, n_days, n_points,
        n_forgotten, n_names_forgotten, n_total_hours, n_cutoffs, n_aged;
};

/** Do these seeds, SIM_BULK_SEED or one below it, have this one? */
static inline bool sim_has(const struct sim *s, uint64_t seeds)
{
    return s->seed > seeds && s->seed <= SIM_AGED_SEED;
}
/** Is there a limit of bytes? */
static inline bool sim_has_quota(const struct sim *s)
{
    return sim_has(s, SIM_QUOTA_SEED) || (s->aged.days && s->seed % 3 == 0);
}

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

/* sim_totals.c */
/** With kept totals: declare one or remove one. */
void sim_totals_change(struct sim *s);
/** Compare what they answer with the model. */
void sim_check_totals(struct sim *s);

/* sim_quota.c */
/** Options of the next opening. */
void sim_quota_vary(struct sim *s);
/** Change the limit of bytes. */
void sim_quota_change(struct sim *s);
/** Before a snapshot is taken, or names are looked at: hear which points the limit has cut off. */
void sim_quota_see(struct sim *s);
/** What is older has expired or is cut off, and in no answer. */
int64_t sim_expired_ms(const struct sim *s);

/* sim_aged.c */
void sim_aged_configure(struct sim *s);
void sim_aged_release(struct sim *s);
/** May this time of series i be put or deleted? */
bool sim_aged_takes(struct sim *s, unsigned i, const struct sto_series *h, int64_t ts_ms);
/** Time passes. */
void sim_aged_time(struct sim *s);
/** The store was closed; on_disk: it has written all. The rule of the next opening, and perhaps a loss of the marks. */
void sim_aged_rule(struct sim *s, bool on_disk);
/** The text of the rule. */
void sim_aged_rules(const struct sim *s, char *out, size_t n);
/** Compare whole hours that have expired with what they were. */
void sim_check_aged(struct sim *s);
/** Everything that was sent is in files, while nobody does anything. False: a fault was in the way. */
bool sim_aged_settle(struct sim *s);
/** Note the points of hours that have expired when points are kept for so long; all of them are on disk. */
void sim_aged_note_expired(struct sim *s, int64_t now_ms, int64_t retention_ms);
/** The same of hours that the limit of bytes has cut off, and summaries before summaries_ms may be gone. */
void sim_aged_cut_off(struct sim *s, int64_t points_ms, int64_t summaries_ms);

/* sim_days.c */
void sim_days_configure(struct sim *s);
/** The store was opened: which rule has it? */
void sim_days_opened(struct sim *s);
/** The rule changes, time passes, something that has expired is deleted. */
void sim_days_step(struct sim *s);
/** In the middle of a pass: something that has expired is deleted, or young points are put. */
void sim_days_beside(struct sim *s);
/** What may be gone by now, because of the rule in force. */
void sim_days_note_gone(struct sim *s);
/** For how long rows of summaries are shown, ms, or STO_KEEP_FOREVER. */
int64_t sim_days_shown_ms(const struct sim *s, bool days);
/** What was deleted is on disk. */
void sim_days_confirm(struct sim *s);
/** The store has ended. */
void sim_days_ended(struct sim *s);

/* sim_level.c */
/** While the number of shards changes: writers may go on at this call of the file system. */
void sim_level_hook(struct sim *s, const char *path);
/** Compress files of a range of time harder, or ask for another number of shards. */
void sim_level_step(struct sim *s);

/* sim_ops.c: what is done */
void sim_step(struct sim *s);
void sim_hook(void *arg, enum t_op op, const char *path, bool after);
/** Others may take turns now, in the middle of a pass of shipping. */
void sim_play(struct sim *s);
/** Everything that was sent has arrived. */
void sim_arrive_all(struct sim *s);
/** Send all that is open and take in all that was sent. */
void sim_turn_all(struct sim *s);
/** Each writer ends one turn: what it has sent to others may still be in their queues. */
void sim_turn_once(struct sim *s);
/** Time and value of a point of a series. *out_ms: it has milliseconds. */
int64_t sim_some_time(struct sim *s, bool *out_ms);
struct ts_num sim_some_value(struct sim *s, unsigned series);
/** Some writers put some points. */
void sim_put_some(struct sim *s);
/** A writer's open batch for an owner has this increment, too. */
void sim_send_part(struct sim *s, unsigned writer, unsigned owner, const struct sto_point *p,
                   const struct sim_part *part);
/** A writer deletes all that a series has. */
void sim_delete_all(struct sim *s, unsigned i);
/** A writer deletes what a series has in a range, inclusive, if it may. */
bool sim_delete_range(struct sim *s, unsigned writer, unsigned i, int64_t from_ms, int64_t to_ms);
/** What the compact thread does by itself; play: others take turns meanwhile. */
void sim_merge_some(struct sim *s, bool play);
/** Everything to files, and all merges. */
void sim_compact(struct sim *s);
/** Everything that has arrived to a level. True: it is there. */
bool sim_flush(struct sim *s, enum sto_level level);
/** One of the long ones begins or ends; play: others take turns meanwhile. *out_top: for the end. */
void sim_begin(struct sim *s, enum sim_actor who, bool play, unsigned *out_top);
void sim_end(struct sim *s, enum sim_actor who, unsigned top);
/** What was sent while a flush was at work has arrived. */
void sim_make_sure(struct sim *s);
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
/** The remote store, read directly, has exactly what the model has, but for hours from open_hour on. */
void sim_check_remote(struct sim *s, int32_t open_hour);
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

/* sim_remote.c: the remote store that fails */
/** Make the remote store, if the seed has one. */
void sim_remote_configure(struct sim *s);
void sim_remote_release(struct sim *s);
/** The other writer puts or deletes a point. */
void sim_remote_other(struct sim *s);
/** A delete has arrived. */
void sim_remote_deleted(struct sim *s, const struct sto_point *p);
/** Take the other writer's points out of those of a series, n of them, and look whether they are right. Returns how many are left. */
size_t sim_remote_others(struct sim *s, unsigned i, struct t_ref_point *v, size_t n, int64_t from,
                         int64_t to);
/** Everything was shipped: deletes have deleted the other writer's points, in hours before open_hour, or never will. */
void sim_remote_others_settled(struct sim *s, bool held, int32_t open_hour);
/** The names of a series, for the remote store. */
struct sim_remote_names {
    char metric[24], value[24];
    struct sto_remote_tag tag;
    struct sto_remote_series series;
};
/** The names of series i; out is borrowed by what it is passed to. */
void sim_remote_names(const struct sim *s, unsigned i, struct sim_remote_names *out);
/** Read what the remote store has of a series, past all faults. */
void sim_remote_read(struct sim *s, unsigned i, sto_fetch_row_fn each, void *arg);

/* sim_ship.c: what is done with it */
/** A pass, a pass without faults with a look at the remote store, removing shipped files, shipping again, or the other writer. */
void sim_ship_step(struct sim *s);
/** A pass, or removing files, in the middle of something else; may_drop: nobody holds the lock for that. */
void sim_ship_played(struct sim *s, bool may_drop);
/** Everything is shipped without faults; then the remote store is compared with the model. */
void sim_ship_settle(struct sim *s);

/* sim_bulk.c */
/** Does the seed have bulk loads? */
void sim_bulk_configure(struct sim *s);
void sim_bulk_release(struct sim *s);
/** A load is staged, handed over or given up. */
void sim_bulk_step(struct sim *s);
/** The hand-over, and nobody that is played, calls the file system. */
void sim_bulk_look(struct sim *s, enum t_op op, const char *path);
/** After an opening: does the store have the load whose hand-over was interrupted? */
void sim_bulk_survivors(struct sim *s);

/* sim_cells.c */
void sim_cell_step(struct sim *s);
void sim_check_cells(struct sim *s);
void sim_check_cell_survivors(struct sim *s, bool power, const char *when);

/* sim_once.c: clients that number their increments */
void sim_once_configure(struct sim *s);
/** Is a series written by such clients alone? */
bool sim_once_is_for(const struct sim *s, unsigned series);
/** A part arrives at its owner: is it new? */
bool sim_once_arrives(struct sim *s, const struct sim_part *part);
/** A part was there after an end. */
void sim_once_survived(struct sim *s, const struct sim_part *part);
/** All that survived is known. */
void sim_once_opened(struct sim *s);
/** The store may have another number of shards. */
void sim_once_shards(struct sim *s);
/** The store is open: hear of refusals. */
void sim_once_listen(struct sim *s);
/** A client sends something, or loses its connection. */
void sim_once_step(struct sim *s);

#endif
