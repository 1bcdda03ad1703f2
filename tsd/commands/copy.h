/*
 * copy.h - the parts of tsd copy: points, histograms, rollups and annotations from OpenTSDB's tables in HBase into a data folder, and back.
 *
 *   copy.c         options, both stores, the order of things
 *   copy_list.c    which metrics there are, and which of them cannot be copied
 *   copy_read.c    points of either side, metric by metric
 *   copy_in.c      HBase -> folder
 *   copy_out.c     folder -> HBase
 *   copy_state.c   the progress file: up to which time each metric was copied
 *   copy_days.c    points or histograms, and checksum, of each day
 *   copy_verify.c  both sides compared, the report; --dry-run
 *   copy_notes.c   annotations
 *
 * A metric is copied in slices of time, in the order of time. About once a second what was copied is made safe in the destination, and then a
 * line for each slice in the progress file says so; a copy that is started again begins behind it. What is copied twice changes nothing: a point replaces the
 * one at its time.
 *
 * Threads    the main thread, but rows that HBase reports come from threads of it, one at a time
 */
#ifndef TSD_COMMANDS_COPY_H
#define TSD_COMMANDS_COPY_H

#include "base/mem.h"
#include "storage/remote.h"
#include "storage/store.h"
#include "tsd/commands/cmd.h"
#include "tsd/commands/progress.h"
#include "tsd/daemon/hbase.h"

#include <pthread.h>

/* --- points and checksum of days --- */

/* The points of a day of a metric: how many, and a checksum that depends neither on their order nor on ids. */
struct tsd_copy_day {
    int64_t day; /* since 1970 */
    uint64_t n_points;
    uint64_t check; /* sum of a hash of (names of the series, time, value) of each point */
};
/* Days, ascending. */
struct tsd_copy_days {
    struct tsd_copy_day *list; /* owned: n of cap */
    size_t n, cap;
    size_t last;              /* private: the day that was added to last */
    struct ts_budget *memory; /* account */
};
/** Free the list. */
void tsd_copy_days_release(struct tsd_copy_days *d);
/** Add the points of a row. 0; TS_ELIMIT, TS_ENOMEM. Cost: some 10 ns a point. */
int tsd_copy_days_add(struct tsd_copy_days *d, const struct sto_remote_row *row, struct ts_error *err);
/** The same with a bucket of histograms: n_points counts the histograms, by the bucket that each of them has ("u"). A count of 0 is the same as
 * no bucket. */
int tsd_copy_days_add_bucket(struct tsd_copy_days *d, const struct sto_remote_row *row, struct ts_error *err);

/* --- the progress file --- */

struct tsd_copy_state;
/**
 * Read the progress file, or begin without one. It is a text file beside the data folder, DIR.copy.
 *
 * @param what   both stores and the direction in one line; a file about others is TS_EINVAL
 * @param fresh  ignore and remove a file that is there
 */
int tsd_copy_state_open(const char *dir, const char *what, bool fresh, struct tsd_copy_state **out,
                        struct ts_error *err);
/** Up to which time (exclusive) a metric was copied by copies that began at from_ms; from_ms if nothing was. */
int64_t tsd_copy_state_next(struct tsd_copy_state *s, struct ts_slice metric, int64_t from_ms);
/** Record that a metric was copied from from_ms until next_ms (exclusive); in the file after tsd_copy_state_sync. */
int tsd_copy_state_set(struct tsd_copy_state *s, struct ts_slice metric, int64_t from_ms, int64_t next_ms,
                       struct ts_error *err);
/** Has something that was recorded not been in the file for a second? */
bool tsd_copy_state_is_due(const struct tsd_copy_state *s);
/** Put all that was recorded into the file; everything of it must be safe in the destination. On disk when 0 is returned. */
int tsd_copy_state_sync(struct tsd_copy_state *s, struct ts_error *err);
/** Did this run make the file, and is nothing in it yet? */
bool tsd_copy_state_is_new(const struct tsd_copy_state *s);
/** Close it without what was not synced; done: nothing is left to continue, so remove what the file has of this command, and the file if
 * it has nothing else. NULL is ignored. */
void tsd_copy_state_close(struct tsd_copy_state *s, bool done);

/* --- a run --- */

/* What was not copied, and why. */
struct tsd_copy_refused {
    pthread_mutex_t mu; /* for all members */
    uint64_t n_rows, n_points;
    uint64_t
        n_read; /* of the points, those that count as read: all but those of buckets, on the way to HBase */
    uint64_t n_listed; /* printed */
};

#define TSD_COPY_AWAY_MS 20000 /* an HBase that does not answer for longer ends the copy */
#define TSD_COPY_STEPS   1000  /* of the bar, for each metric */

/* A run of the command. */
struct tsd_copy {
    const struct tsd_args *args;
    bool to_hbase;          /* direction */
    const char *dir;        /* the folder */
    int64_t from_ms, to_ms; /* --start, --end; inclusive */

    struct tsd_hbase_settings set;
    struct ts_budget memory;         /* hbase_memory_bytes */
    struct sto_remote *remote;       /* HBase */
    const _Atomic bool *interrupted; /* by Ctrl-C; NULL: not yet noticed */
    struct sto_store *store;         /* NULL: not open, or --dry-run into a folder that does not exist */
    bool made_folder;                /* this run has made the folder, and has opened it */
    struct tsd_copy_state *state;

    /* owned, names in names: the selected ones of the source, and internal ones of their rollups, in byte order */
    struct ts_slice *metrics;
    size_t n_metrics, cap_metrics;
    size_t n_names;      /* of metrics, without those of rollups */
    uint64_t n_left_out; /* metrics that cannot be read, or written; said on standard error */
    size_t at;           /* metric being copied or compared */
    int64_t first_ms;    /* time of its first slice */
    int64_t first_hour;  /* that was found last, of whatever metric: a guess for the next one */
    struct ts_arena names;

    struct tsd_progress bar;
    uint64_t n_points;        /* reported or written so far */
    uint64_t n_histograms;    /* the same */
    uint64_t n_notes;         /* annotations that were copied */
    uint64_t n_refused_notes; /* those that the destination cannot hold, or of names that nobody knows */
    struct tsd_copy_refused refused;
};

/** Is a metric one of c->metrics? */
bool tsd_copy_has(const struct tsd_copy *c, struct ts_slice metric);
/** Limits of a call of the remote store: ten minutes from now, TSD_COPY_AWAY_MS without an answer, and Ctrl-C. */
struct sto_remote_call tsd_copy_call(struct tsd_copy *c);
/** Show the progress: until next_ms of the present metric. */
void tsd_copy_show(struct tsd_copy *c, int64_t next_ms);
/** The same within a slice, whose points are counted; TS_ECANCELLED after Ctrl-C. */
int tsd_copy_turn(struct tsd_copy *c, struct ts_error *err);
/** Is a row the bucket that every histogram has, so that its points are as many as the histograms of the series? */
bool tsd_copy_is_every(const struct sto_remote_row *row);
/** Append the name of a metric, of an internal one as "m (rollups 1h-sum)". */
void tsd_copy_print_metric(struct ts_slice metric, struct ts_buf *out);
/** Say on standard error that points of a row were not copied, unless many were said before. Any thread. */
void tsd_copy_refuse(struct tsd_copy *c, const struct sto_remote_row *row, const char *why);

/* --- reading --- */

/* Receives points of a metric. */
struct tsd_copy_reader {
    int (*row)(void *arg, const struct sto_remote_row *row, struct ts_error *err);
    /* a row of a bucket of histograms, whose metric is internal (storage/internal.h); NULL: histograms are not read */
    int (*bucket)(void *arg, const struct sto_remote_row *row, struct ts_error *err);
    /* from HBase only: an annotation of a series; may be NULL */
    int (*note)(void *arg, const struct sto_remote_note *note, struct ts_error *err);
    /* a slice begins, both times inclusive; may be NULL */
    int (*begin)(void *arg, int64_t from_ms, int64_t to_ms, struct ts_error *err);
    /* everything before next_ms was reported; may be NULL */
    int (*slice)(void *arg, int64_t next_ms, struct ts_error *err);
    void *arg;
};
/** Fill c->metrics from the source. Names whose ids cannot be read are left out and counted. TS_ENOTFOUND: a --metric matches none. */
int tsd_copy_list(struct tsd_copy *c, struct ts_error *err);
/** Read a metric from HBase, slice by slice, each with about four million points or an hour. */
int tsd_copy_read_hbase(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms,
                        const struct tsd_copy_reader *r, struct ts_error *err);
/** The time of a row that is not later than all others of from..to by more than an hour: 1; 0: there are none. */
int tsd_copy_first_hbase(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms, int64_t to_ms,
                         int64_t *out_ms, struct ts_error *err);
/** Does HBase have rows of a metric from from_ms to to_ms, whatever they hold? 1, 0. */
int tsd_copy_any_hbase(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms, int64_t to_ms,
                       struct ts_error *err);
/** Read a metric from the folder: the rows of each series in the order of time. TS_ENOTFOUND is no error: there is no such
 * metric. */
int tsd_copy_read_folder(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms, int64_t to_ms,
                         const struct tsd_copy_reader *r, struct ts_error *err);
/** The same with slices as tsd_copy_read_hbase has them. */
int tsd_copy_read_slices(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms,
                         const struct tsd_copy_reader *r, struct ts_error *err);

/* --- annotations --- */

/* Annotations of one side: how many, and a checksum over names, times and records that does not depend on their order. */
struct tsd_copy_notes {
    uint64_t n, check;
    uint64_t n_unnamed; /* folder: of ids without names, not counted in n */
};
/** Count an annotation of HBase. */
int tsd_copy_notes_add(struct tsd_copy_notes *sum, const struct sto_remote_note *note, struct ts_error *err);
/** Count those of the folder that belong to the metrics and times of the copy, and global ones. */
int tsd_copy_notes_of_folder(struct tsd_copy *c, struct tsd_copy_notes *sum, struct ts_error *err);
/** Read the global ones of HBase, unless metrics were chosen. */
int tsd_copy_notes_global(struct tsd_copy *c, sto_fetch_note_fn each, void *arg, struct ts_error *err);
/** Write an annotation into the folder; on disk after sto_cell_sync. series NULL: a global one. */
int tsd_copy_note_in(struct tsd_copy *c, const struct sto_series *series, const struct sto_remote_note *note,
                     struct ts_error *err);
/** Write all annotations of the folder that belong to the copy into HBase. */
int tsd_copy_notes_out(struct tsd_copy *c, struct ts_error *err);

/* --- the parts --- */

/* How one direction copies. */
struct tsd_copy_way {
    int (*read)(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms, const struct tsd_copy_reader *r,
                struct ts_error *err); /* reads a metric of the source */
    struct tsd_copy_reader reader;     /* writes it into the destination */
    int (*save)(void *arg,
                struct ts_error
                    *err); /* makes safe what was written, and records it; arg of reader; err may be NULL */
};
/** Copy points of all metrics but what the progress file has, and record what was copied, also after an error or Ctrl-C. */
int tsd_copy_metrics(struct tsd_copy *c, const struct tsd_copy_way *way, struct ts_error *err);
/** Copy all metrics and annotations from HBase. */
int tsd_copy_in(struct tsd_copy *c, struct ts_error *err);
/** The other way. */
int tsd_copy_out(struct tsd_copy *c, struct ts_error *err);
/** Compare both sides and print a line for each metric and day. *out_same: there is no difference, and nothing of the
 * source was left out. */
int tsd_copy_verify(struct tsd_copy *c, bool *out_same, struct ts_error *err);
/** Print what would be copied. */
int tsd_copy_plan(struct tsd_copy *c, struct ts_error *err);

#endif
