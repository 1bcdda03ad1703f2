/*
 * keep.h - how long the points of each series are kept: the rules of retention as durations, and the rule of each series.
 *
 * Rules are in order; the first one that matches a series decides, and what no rule matches is kept for the time of `rest`. A struct
 * sto_keep never changes, except that it remembers the rule of each series that was looked up. When rules or names change, another one
 * takes its place (storage/retain.h); snapshots and merges hold a reference to theirs.
 *
 *   scan       no point before sto_keep_from_ms(series, now) is in an answer, to the millisecond
 *   put        no point before it is taken (tsd/ingest/ingest.h)
 *   removal    engine/expire.h, which turns rules into floors (floors.h)
 *
 * The limit of bytes cuts off points before a time, and summaries before an earlier one (quota.h).
 *
 * A rule may keep the summaries of hours longer than the points (aged.h). Up to which time there are such summaries of a series is its mark; points
 * before it are gone, whatever the rules say now, so nothing before it is taken or shown as a point.
 *
 * Threads    any
 * Cost       the rule of a series: O(1), two bytes for each series; the first time a comparison of its names with each rule
 * Not here   patterns and texts of rules (retain.h)
 */
#ifndef STORAGE_KEEP_H
#define STORAGE_KEEP_H

#include "storage/point.h"

#define STO_KEEP_RULES   200       /* most rules */
#define STO_KEEP_FOREVER INT64_MAX /* a duration: nothing expires */
#define STO_KEEP_SUMMARY 0x4000    /* added to the rule of a series: it has summaries, not points (aged.h) */

struct sto_keep;
struct sto_floors;        /* storage/floors.h */
struct sto_remote_series; /* storage/remote.h */

/* Rule of a series: the index of the first one that matches it, n_rules if none does, plus STO_KEEP_SUMMARY if it has summaries; < 0: the series is
 * not known (any more). Called by any thread. */
typedef int (*sto_keep_match_fn)(void *arg, uint32_t series);
/* The same of a series that only a remote store has, by its names. */
typedef int (*sto_keep_names_fn)(void *arg, const struct sto_remote_series *names);

/* What a rule of retention does. Points of files are estimated from the sets of series and the bounds of files. */
struct sto_expired {
    int64_t cutoff_ms;      /* points before it have expired; INT64_MIN: none do */
    uint64_t n_series;      /* series of the rule that are in files */
    uint64_t n_points;      /* their points in files */
    uint64_t n_expired;     /* those that have expired and are on disk still */
    uint64_t expired_bytes; /* what they take there */
    int64_t oldest_ms;      /* time of the oldest point that is left; INT64_MAX: there is none */
};

struct sto_keep_opts {
    const int64_t *
        points_ms; /* by rule: for how long points are kept, ms, > 0, or STO_KEEP_FOREVER; borrowed until return */
    const int64_t *
        hours_ms; /* by rule: for how long whole hours are answered, ms, at least points_ms; borrowed until return; NULL = as
                                points_ms */
    const int64_t *days_ms; /* the same of whole days, at least hours_ms; NULL = as hours_ms */
    struct sto_floors *
        aged; /* marks: sets of series, and the time before which each has summaries in place of points, or STO_MIN_TS_MS if that was lost;
                                a series is in one set; a reference is taken; NULL = none */
    size_t n_rules;  /* at most STO_KEEP_RULES */
    int64_t rest_ms; /* the same of series that no rule matches */
    int64_t
        least_ms; /* nothing before this time is kept, whatever rules say (quota.h); STO_MIN_TS_MS = no such time */
    int64_t
        least_points_ms; /* the same of all but summaries; counts as least_ms if it is earlier, as 0 is not: set it */
    sto_keep_match_fn match;       /* NULL if n_rules is 0 and least_points_ms is least_ms */
    sto_keep_names_fn match_names; /* NULL if n_rules is 0 */
    void (*release)(void *arg);    /* called with arg when the last reference is given back; may be NULL */
    void *arg;                     /* first argument of both */
};
/** New, with one reference. */
struct sto_keep *sto_keep_new(const struct sto_keep_opts *opts);
/** One more reference to k; NULL is ignored. */
struct sto_keep *sto_keep_ref(struct sto_keep *k);
/** Give a reference back; NULL is ignored. */
void sto_keep_unref(struct sto_keep *k);

/** Rule of a series, as sto_keep_match_fn, without STO_KEEP_SUMMARY; of a foreign one (STO_FOREIGN): < 0. */
int sto_keep_rule(struct sto_keep *k, uint32_t series);
/** Does a series have summaries? Only asked where least_points_ms is later than least_ms: false if it is not. */
bool sto_keep_is_summary(struct sto_keep *k, uint32_t series);
/** Are some series kept longer than others? If not, sto_keep_first_ms is true of all. */
bool sto_keep_by_series(const struct sto_keep *k);
/** For how long the points of a rule are kept, ms; n_rules: of the rest. */
int64_t sto_keep_rule_ms(const struct sto_keep *k, size_t rule);
/** Number of rules. */
size_t sto_keep_n_rules(const struct sto_keep *k);
/** For how long whole hours of a rule are answered, ms; n_rules: of the rest. */
int64_t sto_keep_rule_hours_ms(const struct sto_keep *k, size_t rule);
/** Does a rule keep summaries of hours longer than points? n_rules: the rest, which does not. */
bool sto_keep_rule_ages(const struct sto_keep *k, size_t rule);
/** Does any rule, or are there marks, be they lost? */
bool sto_keep_ages(const struct sto_keep *k);
/** The marks; NULL = none. Borrowed. */
struct sto_floors *sto_keep_aged(const struct sto_keep *k);
/** The mark of a series, ms, a full hour; STO_MIN_TS_MS: it has none, or it was lost. O(marks). */
int64_t sto_keep_aged_to_ms(const struct sto_keep *k, uint32_t series);
/** Was the mark of a series lost (age_marks.h), so that it has summaries of which no one knows how far they go? O(marks). */
bool sto_keep_aged_lost(const struct sto_keep *k, uint32_t series);
/** Hours of a series that begin at this time or later are answered as a whole, ms; the same as sto_keep_from_ms if its rule does not keep them longer. */
int64_t sto_keep_hours_from_ms(struct sto_keep *k, uint32_t series, int64_t now_ms);
/** Days of a series that begin at this time or later are answered as a whole, ms; the same as sto_keep_hours_from_ms if its rule does not keep them longer. */
int64_t sto_keep_days_from_ms(struct sto_keep *k, uint32_t series, int64_t now_ms);
/** First time that is kept of a series, ms; STO_MIN_TS_MS if all is kept, or if the series is not known. */
int64_t sto_keep_from_ms(struct sto_keep *k, uint32_t series, int64_t now_ms);
/** The same of a foreign series, by its names. O(rules). */
int64_t sto_keep_names_from_ms(struct sto_keep *k, const struct sto_remote_series *names, int64_t now_ms);
/** First time from least_ms on that is kept of one of n series; least_ms if there are none. O(n), less if least_ms is kept of one. */
int64_t sto_keep_any_ms(struct sto_keep *k, const struct sto_series *const *series, size_t n,
                        int64_t least_ms, int64_t now_ms);
/** First time that is kept of any series, ms; STO_MIN_TS_MS: some are kept for ever. */
int64_t sto_keep_first_ms(const struct sto_keep *k, int64_t now_ms);
/** First time from which on all is kept, whatever the series, ms. */
int64_t sto_keep_all_ms(const struct sto_keep *k, int64_t now_ms);
/** Does the clock let anything expire? */
bool sto_keep_expires(const struct sto_keep *k);
/** Nothing before this time, ms, is kept because of the limit of bytes; STO_MIN_TS_MS: there is no such time. All functions above that
 * return times look at it. */
int64_t sto_keep_least_ms(const struct sto_keep *k);
/** The same of points, that is, of all but summaries; at least sto_keep_least_ms. */
int64_t sto_keep_least_points_ms(const struct sto_keep *k);

#endif
