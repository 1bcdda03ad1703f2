/*
 * ship_int.h - parts of shipping; for storage/engine/ship*.c only.
 *
 * Threads    under the mutex of the shipper, unless a member says otherwise
 */
#ifndef STORAGE_ENGINE_SHIP_INT_H
#define STORAGE_ENGINE_SHIP_INT_H

#include "base/map64.h"
#include "storage/engine/ship.h"
#include "storage/engine/shipment.h"

/* What is known of an hour, from pass to pass. */
struct sto_ship__hour {
    int32_t hour;
    bool held;           /* some additions of it, or rows that the remote store refuses, stay here */
    uint64_t through;    /* generations up to this one were shipped by this process */
    int64_t refused_ms;  /* wall clock: when rows were refused last that are held; 0 = none are */
    unsigned n_refusals; /* in a row */
    bool retry;          /* it is time to send them again */
    uint32_t
        *refused; /* series of these rows, ascending; owned; NULL: they are not known, all rows are sent */
    size_t n_refused;
    bool additions; /* held because of additions */
    bool missed;    /* some of these were not noted: it is read again when there are newer files */
    /* highest generation of which memory had operations that are not settled by sending points: additions, deletes, refused rows */
    uint64_t mixed;
    /* Offsets of what was sent, if this process has sent everything of the hour (knows). */
    bool knows;
    uint32_t end;    /* from here on nothing was sent of any series, ms */
    uint64_t gen;    /* highest generation of memory of which something was sent; and the same bound, */
    uint32_t before; /* for everything but what is noted in rows of that generation as sent */
    /* of one pass */
    uint64_t pass;      /* number of the last pass that has found the hour */
    uint64_t file_gen;  /* highest generation up to the target that has to be read from files; 0 = none */
    uint64_t mem_gen;   /* highest generation up to the target that memory has rows of; 0 = none */
    bool again;         /* what its mark covers is to be sent again */
    bool again_held;    /* that was done, but for additions, whose points are not known any more */
    bool again_left;    /* that is left for the next pass */
    bool again_done;    /* from pass to pass: that was done since it was requested last */
    bool follow;        /* from pass to pass: it was done, and what is newer has not followed yet */
    size_t row, n_rows; /* its rows of memory in the pass */
};

/* Hours, each once. */
struct sto_ship__hours {
    struct sto_ship__hour *list; /* owned */
    size_t n, cap;
    struct ts_map64 places; /* hour as uint32_t -> index in list */
};

/* What was sent of a generation in memory. */
struct sto_ship__sent {
    uint64_t gen, n; /* operations */
};

struct sto_shipper {
    struct sto_engine *e;
    pthread_mutex_t mu; /* one pass at a time; before all locks of the engine */
    struct sto_ship__hours hours;
    /* Memstores that the last pass has seen, one reference each, so that what it has sent of them need not be sent again from files */
    struct sto_mem **kept; /* owned */
    size_t n_kept;
    uint64_t n_begun; /* passes */
    /* generation to which the running pass sets marks; 0 = no pass runs; under files_mu */
    uint64_t target;
    struct sto_mark_list
        asked; /* hours that are to be sent again, requested since the last pass began; owned; under files_mu */
    _Atomic bool stop;
    pthread_t thread;
    bool runs;
    pthread_mutex_t wake_mu;
    pthread_cond_t wake;
    _Atomic uint64_t n_passes, n_errors, n_rows, n_points, n_deletes, n_deletes_refused, n_refused, n_held,
        n_expired, n_unreadable, n_absolute;
    bool
        unsynced; /* puts of sums are in the log that is perhaps not synced: nothing is sent from memory before */
    struct sto_too_large *large; /* rows whose values cannot be read; n_large of them; owned */
    size_t n_large, cap_large;
    struct sto_refused_delete *refused; /* deletes; n_refused_deletes of them; owned */
    size_t n_refused_deletes, cap_refused_deletes;
    struct sto_mark_list unmarked; /* hours of these: up to which generation all else was shipped; owned */
    struct sto_additions waiting;  /* that the last pass could not make absolute; owned */
    _Atomic uint64_t n_waiting;    /* how many there are */
    pthread_mutex_t sent_mu;       /* for the following */
    struct sto_ship__sent *sent;   /* of memstores, after the last pass; owned */
    size_t n_sent;
    struct sto_mark_list
        with_sums;      /* marks after the last pass, and those of hours that wait only for sums; owned */
    int64_t since_ms;   /* wall clock: what was accepted before it is shipped, but for hours that are held */
    int64_t failing_ms; /* time of the first error since a pass has succeeded; 0: none; under sent_mu */
    struct ts_error last; /* the last error; under sent_mu */
};

/* A row whose additions cannot be made absolute, since what the remote store has of it is more than may be read at once. */
struct sto_too_large {
    struct sto_key key;
    int64_t again_ms; /* monotonic time from which it is tried again */
    unsigned n;       /* how often it was */
};

/* A delete that the remote store has refused. */
struct sto_refused_delete {
    struct sto_tomb tomb;
    int64_t at_ms; /* wall clock: when it was refused last; 1 = long ago */
    unsigned n;    /* refusals in a row */
    bool due;      /* this pass sends it again */
    bool failed;   /* this pass has sent it, in vain */
    bool again;    /* it may have deleted what is newer, and no pass has sent that again to the end */
};

/* A row of a memstore. */
struct sto_ship__row {
    const struct sto_mem_row *row;
    uint64_t gen;
    int32_t hour;
    uint32_t n; /* operations that were sent when the step is over */
};

/* A running pass. */
struct sto_ship__pass {
    struct sto_shipper *s;
    struct sto_engine *e;
    struct sto_version *v;
    uint64_t target;
    struct sto_mark_list marks; /* present ones; owned */
    struct sto_mark_list again; /* hours to be sent again; owned */
    /* marks, and for hours without one what this process has shipped; UINT64_MAX: the hour is left alone; owned */
    struct sto_mark_list done;
    struct sto_mem **mems; /* those of v and those kept; owned array */
    size_t n_mems;
    uint64_t *sent;   /* of each of mems: operations of rows that are not in `rows` and were sent; owned */
    int64_t begun_ms; /* wall clock */
    int64_t
        open_hour; /* with ship_whole_hours: from this hour on hours are not over and left alone; otherwise INT64_MAX */
    int too_many;                   /* TS_EBACKEND: a delete was refused for which there is no room */
    struct sto_mark_list undeleted; /* hours of deletes that were refused, which get no mark; owned */
    int64_t del_lo, del_hi; /* hours of all deletes that this pass ships; del_lo > del_hi: there are none */
    uint32_t *order;        /* hours of the pass as indexes in s->hours.list, newest first; owned */
    size_t n_order;
    struct sto_ship__row
        *rows; /* rows of memory, by hour (newest first), generation, metric and series; owned */
    size_t n_rows, cap_rows;
    struct sto_additions additions; /* that were not sent, those first that have waited */
    bool put;                       /* sums were put, which another pass should send */
    struct sto_flight flight;       /* what was sent and is not acknowledged yet */
    uint64_t n_points;              /* sent and answered */
    uint64_t n_again;               /* of these, what was sent again (sto_ship__again) */
    uint64_t n_unreadable;          /* hours that were left alone because a file cannot be read */
    bool more;                      /* something was left for another pass, which should follow at once */
    struct ts_error failed; /* error of an hour that cannot be read here; the other hours are shipped */
};

/* ship_find.c */
/** Find the hours that have something to ship, and their rows in memory. */
int sto_ship__find(struct sto_ship__pass *p, struct ts_error *err);
/** The generation up to which everything of an hour needs no shipping any more. */
uint64_t sto_ship__done(const struct sto_ship__pass *p, const struct sto_ship__hour *h);
/** Must an hour be read from files and memory as a merge, up to the target? Otherwise rows of memory suffice. */
bool sto_ship__needs_merge(const struct sto_ship__pass *p, const struct sto_ship__hour *h);
/** Must it be read for another reason than refused rows that are due again? */
bool sto_ship__has_changed(const struct sto_ship__pass *p, const struct sto_ship__hour *h);
/** Is what was refused so often, the last time at that time, to be sent again? What refused it may have been an exception that only looked like
 * one for good. */
bool sto_ship__is_due(const struct sto_ship__pass *p, unsigned n, int64_t refused_ms);
/** The hour at an index of the order of the pass. */
static inline struct sto_ship__hour *sto_ship__hour_at(const struct sto_ship__pass *p, size_t i)
{
    return &p->s->hours.list[p->order[i]];
}
/** Forget all hours. */
void sto_ship__hours_release(struct sto_ship__hours *hours);

/* ship_delete.c */
/** Determine which hours the deletes of the pass concern. */
void sto_ship__plan_deletes(struct sto_ship__pass *p);
/** Ship the deletes up to the target. */
int sto_ship__deletes(struct sto_ship__pass *p, struct ts_error *err);

/* ship_refused.c */
/** At the beginning of a pass, before its hours are found: which refused deletes does it send again? Their hours count as not done. */
void sto_ship__refused_begin(struct sto_ship__pass *p);
/** Hours lo..hi got no mark because of refused deletes, but everything else up to the target was shipped. */
void sto_ship__note_unmarked(struct sto_ship__pass *p, int32_t lo, int32_t hi);
/** Was a delete refused, so that this pass does not send it? */
bool sto_ship__is_set_aside(const struct sto_ship__pass *p, const struct sto_tomb *t);
/** A delete was refused now. If too many are, p->too_many says that the pass has to end after the deletes. */
int sto_ship__refuse_delete(struct sto_ship__pass *p, const struct sto_tomb *t, const struct ts_error *why,
                            struct ts_error *err);
/** All deletes of the pass were sent or refused: forget those that succeeded, and determine p->undeleted. */
void sto_ship__refused_end(struct sto_ship__pass *p);
/** Was it sent in vain, and what is newer not sent after it? */
bool sto_ship__has_followers(const struct sto_ship__pass *p, const struct sto_tomb *t);
/** The pass has sent everything: nothing needs to follow refused deletes any more. */
void sto_ship__refused_followed(struct sto_shipper *s);
/** These hours are to be sent again: their refused deletes too, at once. Under files_mu. */
void sto_ship__refused_ask(struct sto_shipper *s, const struct sto_mark_list *hours);

/* ship_backlog.c */
/** Was everything in a file shipped? */
bool sto_ship__is_shipped(const struct sto_mark_list *marks, const struct sto_sst_info *f);
/** Report the backlog of a version. Any thread. O(files + memstores). */
void sto_ship__backlog_stats(struct sto_shipper *s, const struct sto_version *v,
                             void (*each)(void *arg, const char *name, uint64_t value), void *arg);
/** Note at the end of a pass what was sent of memstores; good: the pass had no error. */
void sto_ship__note_backlog(struct sto_ship__pass *p, bool good);

/* An hour being shipped, or several of which only files have something, which are read together. */
struct sto_ship__open {
    size_t first, n_hours;      /* in the order of the pass */
    struct sto_ship__hour *h;   /* the first one */
    struct sto_sending sending; /* of the step under way */
    bool runs;                  /* a step is under way */
    bool merges, whole;         /* the first step is a merge, and of the whole hour */
    bool again_refused;         /* the merge is of refused rows alone */
    size_t at, n;               /* rows of memory of the step; n 0 = it is the merge */
    bool mixed;                 /* rows of the step have more than points */
    /* [out] Once it is over: */
    int rc;              /* 0, or the error why it is not shipped */
    struct ts_error why; /* text of the error */
    bool local;          /* the error is one of files here */
    /* its mark must not change, and another pass is needed, since rows of memory were mixed: what the mark would cover has to be merged */
    bool late;
};

/* ship.c */
/** Make these marks durable, and visible. */
int sto_ship__set_marks(struct sto_ship__pass *p, const struct sto_manifest_edit *edit, struct ts_error *err);

/* ship_absolute.c */
/** Put the sums of the additions that the pass has noted; those remain whose sums cannot be put now. Errors of the remote store, of files
 * here, and TS_ECANCELLED. */
int sto_ship__absolute(struct sto_ship__pass *p, struct ts_error *err);
/** Before something is sent from memory: wait until such puts are synced. TS_ECANCELLED, TS_EIO. */
int sto_ship__sync_absolute(struct sto_ship__pass *p, struct ts_error *err);
/** In cells that were read from the middle of a row of memory, replace additions by what the whole row has; all: for reading it. Additions without a
 * put in the row stay. */
void sto_ship__resolve(const struct sto_mem_row *row, struct sto_cells *cells, struct sto_cells *all);

/* ship_hours.c */
/** Ship the hours of the pass and set their marks. *out_all: none was left for another pass. */
int sto_ship__hours(struct sto_ship__pass *p, bool *out_all, struct ts_error *err);

/** A pass that has sent so many points again, or so many others, ends. */
uint64_t sto_ship__pass_points(const struct sto_ship__pass *p);
/** How many hours should be read together, when n were, with so many points? */
size_t sto_ship__next_group(size_t n, uint64_t n_points);

/* ship_rows.c */
/** Send what the marks cover of hours that are to be sent again: before deletes and everything else, which is newer. */
int sto_ship__again(struct sto_ship__pass *p, struct ts_error *err);
/** Begin to ship the hour at an index of the order of the pass, with those behind it if they can be read together, at most max.
 * Then sto_ship__is_over must be called until it returns true. o->n_hours says how many there are. */
void sto_ship__begin_hours(struct sto_ship__pass *p, size_t at, size_t max, struct sto_ship__open *o);
/** Continue an hour as far as possible; wait: to its end. Returns whether it is over: nothing of it is in flight. */
bool sto_ship__is_over(struct sto_ship__pass *p, struct sto_ship__open *o, bool wait);

#endif
