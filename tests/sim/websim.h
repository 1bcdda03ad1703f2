/*
 * websim.h - random lives of followed web logs: what the parts of the simulation share (docs/TESTING.md, "Web logs").
 *
 *   websim.c        seeds, one life, the comparison
 *   websim_logs.c   servers that write, and everything that rotates, copies, packs and renames their logs
 *   websim_store.c  spool and daemon: what was delivered
 *   websim_import.c imports of all files, before they are followed and later
 *   websim_beside.c another process at any moment of a look or an import, killed or not
 *
 * The model is a plain count of the lines as they are written, by log, hour and status. Nothing of it looks at files.
 */
#ifndef WEBSIM_H
#define WEBSIM_H

#include "base/buf.h"
#include "base/err.h"
#include "collectors/core/emit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define WS_LOGS       4u
#define WS_FILES      200u /* rotated files of one log in a life */
#define WS_PATH_BYTES 200
#define WS_HOURS      400u /* a life takes no longer */
#define WS_STATUSES   3u

/* A rotated file. */
struct ws_file {
    char path[WS_PATH_BYTES]; /* where it is now; "" = removed */
    bool held;                /* its server has it open */
    bool packed;              /* nothing writes to it any more */
    bool past;                /* it was there before its log was followed: only the import reads it */
    unsigned settled;         /* looks since it last changed */
};

/* A log: its server, its files, and what was written. */
struct ws_log {
    const char *name;               /* below the folder */
    unsigned scheme;                /* how logrotate names its files */
    unsigned n_rotations;           /* so far */
    FILE *server;                   /* what the server writes to; NULL = nothing */
    char torn[200];                 /* the rest of a line that was begun; "" = none */
    struct ws_file files[WS_FILES]; /* rotated ones */
    unsigned n_files;               /* of them */
    unsigned server_file;           /* index + 1 of the rotated file that the server still has; 0 = its log */
    bool configured;                /* the collector is told of it now */
    unsigned unread;                /* writes to it that no look has followed */
    uint64_t written[WS_HOURS][WS_STATUSES]; /* the model */
};

/* One life. */
struct ws_life {
    uint64_t seed, rnd;             /* as given; the state of the generator */
    bool verbose;                   /* say what is done */
    char dir[64];                   /* of logs; state in state/ */
    int64_t t0_ms, t_ms, steady_ms; /* times of lines: begin, now; the steady clock */
    int64_t skew_ms;                /* wall clock of the collector beside them */
    struct ws_log logs[WS_LOGS];    /* see there */
    uint64_t n_bad;                 /* lines that are none, as written */
    bool imports;                   /* logs are imported too */
    unsigned n_ops[64];             /* how often what was done */
};

/* --- chance --- */

/** A number below n. */
uint32_t ws_below(struct ws_life *l, uint32_t n);
/** Say what is done, if wanted. */
void ws_say(const struct ws_life *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** End the program: the simulation itself is wrong. */
void ws_check(bool ok, const char *what);

/* --- logs --- */

/** Make the folder, begin all logs. */
void ws_logs_begin(struct ws_life *l);
/** Something happens to a log, by chance. alive: a collector looks between such things now and then. */
void ws_logs_step(struct ws_life *l, bool alive);
/** A server writes, whatever else is under way. */
void ws_logs_write(struct ws_life *l);
/** Every log stands at its path. */
void ws_logs_present(struct ws_life *l);
/** Servers end what they began, and every file is there. */
void ws_logs_end(struct ws_life *l);
/** All configured logs were read to their end. */
void ws_logs_looked(struct ws_life *l);

/* --- imports --- */

struct ws_store;
/** Import all files of the logs whose lines are their own. followed: the key collect_weblog. killed: before it has sent anything. */
void ws_import(struct ws_life *l, struct ws_store *s, const char *followed, bool killed);

/* --- beside each other --- */

/** Behind so many calls of the system from now `what` happens, once; 0 = nothing does. */
void ws_between(unsigned n_calls, void (*what)(void *arg), void *arg);
/** The same in front of a try to lock a folder, where most is at stake. */
void ws_before_lock(unsigned n_locks, void (*what)(void *arg), void *arg);
/** Another process does some work from now; it is killed in front of its call number n_calls (0 = it is not). The store gets the points that it delivered.
 *  Whatever else it changes in memory is gone with it. Blocks: until its end. */
void ws_process(struct ws_life *l, struct ws_store *s, unsigned n_calls, void (*work)(void *arg), void *arg);
/** Is this such a process? */
bool ws_in_child(void);

/* --- spool and daemon --- */

/** Empty; ready. */
struct ws_store *ws_store_new(struct ws_life *l);
void ws_store_free(struct ws_store *s);
/** What the collector puts to: col_out.put. */
int ws_store_put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err);
/** What the import puts to: the daemon has it at once. */
int ws_store_put_now(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err);
/** From now on write all lines that reach the daemon to a file as well. */
void ws_store_tee(struct ws_store *s, int fd);
/** How far it is: col_out.progress. */
void ws_store_progress(void *arg, struct col_out_progress *out);
/** Change how the daemon answers, by chance: well, away, read-only, full; and whether the spool takes anything. well: as it should. */
void ws_store_mood(struct ws_store *s, bool well);
/** Deliver what waits, if the daemon takes it. */
void ws_store_deliver(struct ws_store *s);
/** Sum of web.hits of one log (its domain), hour and status. */
uint64_t ws_store_sum(const struct ws_store *s, unsigned log, unsigned hour, unsigned status);
/** Newest value of web.log.lines state=bad. */
uint64_t ws_store_bad(const struct ws_store *s);

#endif
