/*
 * scan_int.h - what the files of a scan share: scan.c (which rows), scan_keys.c (ranges of keys), scan_forms.c (how rows of points are printed),
 * scan_hours.c (summaries), scan_items.c (annotations and histograms).
 *
 * Threads    one
 */
#ifndef TSD_FORMAT_SCAN_INT_H
#define TSD_FORMAT_SCAN_INT_H

#include "tsd/format/answers.h"
#include "tsd/format/lines_int.h"

#include "base/json.h"
#include "base/xsum.h"

#define TSD_SCAN_KEY_MAX    2064 /* bytes of a row's key: 1 + 2 * 255 ids of four bytes, and a time */
#define TSD_SCAN_TIME_BYTES 4u   /* of a time from 1970 to 2106 in a key */

/* An annotation or histogram. */
struct tsd_scan_item {
    int64_t ts_ms;     /* when it is, or begins */
    bool ms;           /* came with milliseconds */
    size_t at, text_n; /* its text */
};
/* Those of a row. */
struct tsd_scan_items {
    struct tsd_scan_item *v; /* owned, counted in the account of the run */
    size_t n, cap;           /* used, allocated */
    struct ts_buf text;      /* of all of them */
    const struct sto_series *series;
    int32_t hour; /* of the row, if n > 0 */
};

/* Sum, least and greatest of points that come in the order of time. {0}: of none; released by ts_xsum_release. */
struct tsd_scan_sum {
    uint64_t n;
    bool is_int; /* all are integers, and int_sum is their sum */
    __int128 int_sum;
    struct ts_xsum sum;
    struct ts_num min, max, first, last;
};

/* One scan under way. */
struct tsd_scan_run {
    const struct tsd_scan_opts *opts; /* borrowed */
    struct tsd_lines_run lines;       /* catalog, snapshot, text on its way out */
    struct qry_budget budget;         /* of the request */
    struct sto_store *store;          /* borrowed: its annotations */
    struct ts_sink *sink;             /* where text goes */
    const struct ts_tz *tz;           /* of times of day */
    struct ts_buf tags; /* of the current series: "{k=v, k=v}", "k=v k=v" or a JSON object, by the form */
    uint8_t key[TSD_SCAN_KEY_MAX]; /* of the current series, without time */
    size_t n_key, metric_n;        /* its bytes, those of the metric */
    struct sto_cells chosen;       /* points of the current row that are printed */
    struct tsd_scan_sum sum;       /* families of hours and days: of the hour, or of the day up to now */
    const struct sto_series *day_series; /* whose day is not printed yet; NULL: there is none */
    int32_t day;                         /* its first hour */
    struct tsd_scan_items items;         /* instead of points: annotations or histograms of the current row */
    /* pages */
    size_t sub;             /* index of the query being read */
    size_t after_sub;       /* where to go on: the query, */
    struct ts_slice after;  /* TSUID of the series in it; p NULL: at its beginning */
    int32_t after_hour;     /* hour of its last row that was printed */
    int64_t from_ms, to_ms; /* the range of all pages: of the query of the first one */
    bool ranged;            /* the token has it */
    bool resumed;           /* the series of the token was found */
    bool skips;             /* rows of the current series up to that hour are left out */
    uint64_t n_rows;        /* printed */
    bool full;              /* another row would be one too many */
    /* the row that was printed last: its series, hour and query */
    const struct sto_series *last_series;
    int32_t last_hour;
    size_t last_sub;
};

/* --- scan_keys.c --- */

/** Read a key or its beginning, as bytes ("[0, 0, 1]") or hexadecimal digits; TS_EINVAL names the option. */
int tsd_scan__key_read(struct ts_slice text, const char *option, struct tsd_scan_key *out,
                       struct ts_error *err);
/** The range of all keys that begin with a prefix. */
void tsd_scan__key_prefix(const struct tsd_scan_key *prefix, struct tsd_scan_range *out);
/** Is a key within a range? */
bool tsd_scan__key_has(const struct tsd_scan_range *range, const uint8_t *key, size_t n);
/**
 * Hours from 1970 to 2106 of which a series has keys in a range, seconds since 1970, both included. O(bytes).
 *
 * @param ids  the bytes of a key without the time; the first metric_n are those of the metric
 * @return false: there are none
 */
bool tsd_scan__key_hours(const struct tsd_scan_range *range, const uint8_t *ids, size_t n_ids,
                         size_t metric_n, int64_t *out_first_s, int64_t *out_last_s);

/* --- scan.c --- */

/** Read a token, INDEX-TSUID-HOUR.FROM.TO: where to go on, and the range of the first page in ms, which tokens of former versions do not have. TS_EINVAL. */
int tsd_scan__token_read(struct tsd_scan_run *r, struct ts_slice token, struct ts_error *err);

/* --- scan_forms.c --- */

/** What stands before everything. */
void tsd_scan__begin(struct tsd_scan_run *r);
/** Remember names and ids of the series whose rows follow. */
void tsd_scan__series(struct tsd_scan_run *r, const struct sto_series *s);
/** Print a row of it, with the points `chosen`; TS_ENOMEM. */
int tsd_scan__row(struct tsd_scan_run *r, const struct sto_series *s, const struct sto_row *row,
                  struct ts_error *err);
/** Say how to go on behind the last row. */
void tsd_scan__more(struct tsd_scan_run *r);
/** Set the bytes of the key of a series, without the time. */
void tsd_scan__ids(struct tsd_scan_run *r, const struct sto_series *s);
/** The key of a row of that series; returns its bytes. out takes TSD_SCAN_KEY_MAX + 8. */
size_t tsd_scan__key(const struct tsd_scan_run *r, int64_t base_ms, uint8_t *out);
/** The line before the points of a row. */
void tsd_scan__head(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms);
/** With the option keys: a row without what it has, but with its number. */
void tsd_scan__keys_row(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms, uint64_t n);
/** Begin an object of JSON for a row: metric, tags and hour. */
void tsd_scan__json_head(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms,
                         struct ts_json *j);
/** Begin a line of CSV for a row: the metric. */
void tsd_scan__csv_head(struct tsd_scan_run *r, const struct sto_series *s);
/** End it: the tags. */
void tsd_scan__csv_tail(struct tsd_scan_run *r);
/** Name of the metric that rows of a series are shown under. */
struct ts_slice tsd_scan__metric(const struct tsd_scan_run *r, const struct sto_series *s);
/** The text was printed: TS_ENOMEM if it was not, or what the sink returns. */
int tsd_scan__printed(struct tsd_scan_run *r, struct ts_error *err);

/* --- scan.c --- */

/** Is the row of an hour of the current series part of the page, the sample and the range of keys? */
bool tsd_scan__wants(const struct tsd_scan_run *r, const struct sto_series *s, int32_t hour);
/** Is a time within the range of times of day? */
bool tsd_scan__is_between(const struct tsd_scan_run *r, int64_t t_ms);
/** A row is about to be printed. TS_ECANCELLED: the page is full. */
int tsd_scan__take(struct tsd_scan_run *r, const struct sto_series *s, int32_t hour, struct ts_error *err);

/* --- scan_hours.c --- */

/** Print the summary of an hour: of row->sum, or else of the points `chosen`. */
int tsd_scan__hour(struct tsd_scan_run *r, const struct sto_series *s, const struct sto_row *row,
                   struct ts_error *err);
/** The first hour of the day of the store's zone that has an hour; TS_EINVAL: days of that zone do not begin at whole hours. */
int tsd_scan__day_of(int32_t hour, int32_t *out_first, struct ts_error *err);
/** Add a row to the day that begins with an hour. The one before is printed if that is another one. Errors as tsd_scan__take, tsd_scan__row. */
int tsd_scan__day(struct tsd_scan_run *r, const struct sto_series *s, int32_t day, const struct sto_row *row,
                  struct ts_error *err);
/** Print the last day of the current series, if it has one. */
int tsd_scan__day_end(struct tsd_scan_run *r, struct ts_error *err);

/* --- scan_items.c --- */

/** An annotation or histogram of the current series, in order of time. It is printed with its row, by the first item of the next one or
 * tsd_scan__items_end. Errors as tsd_scan__take, tsd_scan__row. */
int tsd_scan__item(struct tsd_scan_run *r, const struct sto_series *s, int64_t ts_ms, bool ms,
                   struct ts_slice text, struct ts_error *err);
/** The series has no more. */
int tsd_scan__items_end(struct tsd_scan_run *r, struct ts_error *err);
/** Annotations of n series from from_ms to to_ms, both included. */
int tsd_scan__notes(struct tsd_scan_run *r, const struct sto_series *const *series, size_t n, bool resumes,
                    int64_t from_ms, int64_t to_ms, struct ts_error *err);
/** Histograms of n series of their first bucket, likewise. */
int tsd_scan__histograms(struct tsd_scan_run *r, struct ts_slice metric, struct ts_arena *arena,
                         const struct sto_series *const *series, size_t n, bool resumes, int64_t from_ms,
                         int64_t to_ms, struct ts_error *err);

#endif
