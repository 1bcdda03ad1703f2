/*
 * retain.h - the rules of retention of a store, and changing them while it runs.
 *
 * Rules come from three places and apply in this order: those that were set by a command or a request, which DIR/RULES has; those of the
 * key retention_rules; and retention_days for all that no rule matches. A change is on disk before it is in force, and then in force at once
 * for all snapshots that are taken, and all points that are put, afterwards.
 *
 * Format     docs/FORMAT.md, "Rules of retention"
 * Threads    any
 * Not here   texts of rules (retain_rules.h), removing what has expired (engine/expire.h)
 */
#ifndef STORAGE_RETAIN_H
#define STORAGE_RETAIN_H

#include <pthread.h>

#include "base/fs.h"
#include "storage/retain_rules.h"

#define STO_RULES_NAME "RULES" /* in the data folder */

struct sto_store;

/** The present rules; the caller gives the reference back (sto_keep_unref). */
struct sto_keep *sto_retain_keep(struct sto_store *st);
/** A number that changes when sto_retain_keep would return other rules. O(1), no lock. */
uint64_t sto_retain_epoch(const struct sto_store *st);

/** Up to which time series have summaries in place of points (keep.h); the reference is the caller's. NULL = none has. */
struct sto_floors *sto_retain_aged(struct sto_store *st);
/** Change that, once it is on disk. */
void sto_retain_set_aged(struct sto_store *st, struct sto_floors *aged);

/** The present time by which points that are put have expired. Behind the wall clock while retention does not trust that, because it has
 * jumped forward; INT64_MIN, so that none has, until the clock was looked at after a start. Any thread; O(1). */
int64_t sto_retain_now_ms(const struct sto_store *st);

enum sto_retain_source {
    STO_RETAIN_SET,  /* set by a command */
    STO_RETAIN_CONF, /* retention_rules */
    STO_RETAIN_REST  /* retention_days: whatever no rule matches */
};

/* One rule as it is listed. */
struct sto_retain_row {
    enum sto_retain_source source;
    struct ts_slice text;               /* "" for the rest */
    int64_t points_ms;                  /* STO_KEEP_FOREVER: for ever */
    int64_t hours_ms;                   /* for how long summaries of hours answer; points_ms if no longer */
    int64_t days_ms;                    /* the same of summaries of days; hours_ms if no longer */
    const struct sto_expired *does;     /* what it does to what is in files; NULL unless that was asked for */
    const struct sto_expired *hours_do; /* the same of the summaries; NULL if hours_ms is points_ms, too */
    const struct sto_expired *days_do;  /* the same of those of days; NULL if days_ms is hours_ms, too */
};
typedef void (*sto_retain_row_fn)(void *arg, const struct sto_retain_row *row);

enum sto_retain_what {
    STO_RETAIN_LIST,    /* change nothing */
    STO_RETAIN_ADD,     /* add rules, the first of them at place `at` */
    STO_RETAIN_REMOVE,  /* remove rules that were set: those whose text is given */
    STO_RETAIN_REPLACE, /* set these rules instead of all that were set; none may be given */
};

struct sto_retain_call {
    enum sto_retain_what what;
    struct ts_slice text; /* rules, as sto_retain_rules_add takes them */
    size_t at;    /* place of a new rule among those that were set, from 0; beyond the last: behind it */
    bool dry_run; /* list what would be in force, change nothing */
    bool explain; /* say what each rule does; reads the sets of series of all files */
    sto_retain_row_fn
        each; /* called for each rule that is in force afterwards, in order, the rest last; may be NULL */
    void *arg;
};
/**
 * List or change the rules.
 *
 * @return 0
 *         TS_EINVAL    a rule is malformed, or keeps hours longer than points and there is a remote store, or the store was opened for reading only
 *         TS_ENOTFOUND a rule to be removed is not among those that were set
 *         TS_EEXIST    a rule to be added is there already
 *         TS_ELIMIT    more than STO_KEEP_RULES rules, or too long
 *         and errors of writing DIR/RULES, after which the former rules are in force; of reading files with explain
 *
 * Blocks: a sync with a change.
 */
int sto_retain(struct sto_store *st, const struct sto_retain_call *call, struct ts_error *err);
/** Are these rules well formed? For configurations. Errors as sto_retain_rules_add. */
int sto_retain_check(const char *text, struct ts_error *err);

/* --- for the store and its check --- */

struct sto_retain__match;
/* The rules of an open store. */
struct sto_retain {
    pthread_mutex_t change_mu;       /* held during a change, with its I/O; protects set */
    struct sto_retain_rules set;     /* of DIR/RULES */
    struct sto_retain_rules conf;    /* of the configuration; not changed */
    pthread_mutex_t mu;              /* a leaf; protects what follows */
    struct sto_retain__match *match; /* all rules; a reference */
    struct sto_keep *keep;           /* made of it; a reference */
    struct sto_floors *aged;         /* as in struct sto_keep_opts; a reference */
    uint64_t generation;             /* of the catalog when keep was made: names may have changed since */
    _Atomic uint64_t n_changes;      /* of the rules */
    bool is_open;                    /* the mutexes exist */
};
/** Read the rules when the store opens; the catalog is there. TS_ECORRUPT: DIR/RULES is damaged; TS_EINVAL: retention_rules is malformed. */
int sto_retain__open(struct sto_store *st, struct ts_error *err);
/** Release; harmless if it was not opened. */
void sto_retain__close(struct sto_store *st);
/** Read DIR/RULES: 1, 0 = there is none, TS_ECORRUPT, TS_EVERSION, TS_EIO, TS_ENOMEM. out: {0}; release it. */
int sto_retain_file_read(const struct ts_fs *fs, const char *dir, struct sto_retain_rules *out,
                         struct ts_error *err);

#endif
