/*
 * rules.h - what a point may look like: characters of names, number of tags, forms of time.
 *
 * Line protocol, /api/put and import apply the same rules. Messages are OpenTSDB's.
 * Threads    immutable after tsd_rules_init
 * Source     docs/OPENTSDB.md, section 1.4; other rules where compat is not set
 */
#ifndef TSD_INGEST_RULES_H
#define TSD_INGEST_RULES_H

#include "base/buf.h"
#include "storage/store.h"
#include "tsd/ingest/counters.h"

#include <stdbool.h>
#include <stdint.h>

#define TSD_TAGS_DEFAULT 32  /* most tags of a series */
#define TSD_TAGS_COMPAT  8   /* the same with compat = opentsdb */
#define TSD_TAGS_HBASE   8   /* the same with remote = hbase, at most */
#define TSD_TAGS_MAX     255 /* struct sto_series counts them in a byte */

/* Longest names by default, bytes. */
#define TSD_METRIC_BYTES_DEFAULT 256
#define TSD_TAGK_BYTES_DEFAULT   256
#define TSD_TAGV_BYTES_DEFAULT   1024
#define TSD_NAME_BYTES_MAX       32768 /* what the keys can be set to: with room for names of rollups in 65,535 */

struct tsd_rules {
    bool compat;       /* as OpenTSDB: bytes of lines are ISO-8859-1, decimal points in times are removed */
    bool make_metrics; /* a metric not seen before is created */
    bool old_times;    /* times <= 0 are accepted */
    bool no_points;    /* mode = ro: commands that store points do not exist */
    bool hbase; /* what OpenTSDB's tables in HBase cannot hold is refused: names outside of ISO-8859-1 ... */
    struct tsd_counters counters;         /* resolutions of increments */
    int64_t min_ms, max_ms;               /* range of times, as sent: all seconds that are read lie in it */
    unsigned max_tags;                    /* most tags of a series */
    size_t max_name_bytes[STO_UID_KINDS]; /* longest names, by enum sto_uid_kind */
    bool ascii_ok[128];                   /* characters a name may hold, besides letters of other scripts */
    char special[64];                     /* other characters allowed, UTF-8, terminated */
};

/** Fill rules. max_tags 0 = the default of the mode; special = further characters, UTF-8, at most 63 bytes.
 */
void tsd_rules_init(struct tsd_rules *rules, bool compat, bool make_metrics, unsigned max_tags,
                    const char *special);

/** May name stand as metric, tag key or tag value? Not empty, not too long, and only allowed characters.
 *  @param out_bad  [out] the first character that may not; empty slice when name is empty or too long. May be NULL */
bool tsd_name_ok(const struct tsd_rules *rules, enum sto_uid_kind kind, struct ts_slice name,
                 struct ts_slice *out_bad);
/** Append why a name may not stand: `Invalid metric name ("a b"): illegal character:  `.
 *  @param noun  "metric name", "tag name with value [V]" ... */
void tsd_name_why(const struct tsd_rules *rules, enum sto_uid_kind kind, struct ts_slice noun,
                  struct ts_slice name, struct ts_slice bad, struct ts_buf *msg);

/** Refuse from now on what OpenTSDB's tables in HBase cannot hold. Times are those that rows can hold. */
void tsd_rules_for_hbase(struct tsd_rules *rules, int64_t min_ms, int64_t max_ms);

/* A time as sent. */
struct tsd_time {
    int64_t raw;   /* the number, as messages show it */
    int64_t ts_ms; /* what it means */
    bool ms;       /* came with milliseconds */
    bool bad;      /* number out of range: refused after the value was checked */
};
/** Is a time outside of what the rules allow? */
static inline bool tsd_time_is_bad(const struct tsd_rules *rules, int64_t raw)
{
    return raw > rules->max_ms || raw < rules->min_ms;
}
/** Is a time refused only since HBase's tables cannot hold it? */
bool tsd_time_not_for_hbase(const struct tsd_rules *rules, int64_t raw);
/** Is this the beginning of an ISO 8601 date and time, "2026-11-22T"? */
bool tsd_time_is_iso(struct ts_slice s);
/** Read a time: whole seconds up to 4294967295, milliseconds above; a point as the mode says. Without compat
 * also ISO 8601, "2026-11-22T06:15:00.250+01:00" (no zone: ts_tz_default), and numbers from 4294967296 to
 * 9999999999, which may be seconds after 2106 or milliseconds of 1970, are refused, unless old_times says
 * that milliseconds of 1970 are meant. So are numbers that read as a date,
 * 20261122; with a point behind them, 20261122., they are seconds.
 *  @return 0; TS_EPARSE "Invalid character ..."; TS_EINVAL "invalid timestamp: T". The text is appended to
 * msg. */
int tsd_time_read(const struct tsd_rules *rules, struct ts_slice s, struct tsd_time *out, struct ts_buf *msg);
/** The same for a number (JSON). TS_EINVAL without text if it is refused. */
int tsd_time_from_int(const struct tsd_rules *rules, int64_t raw, struct tsd_time *out);

/** Append why a positive number is not a valid time without compat: " (milliseconds, 13 digits, are the
 * finest: ...)". */
void tsd_time_why(int64_t raw, struct ts_buf *msg);

/** Append "{k=v, k=v}". */
void tsd_tags_text(const struct sto_tag_text *tags, size_t n, struct ts_buf *out);
/** Check number and characters of the tags, after all other checks (steps 11 and 12): 0, or with text TS_EINVAL, or TS_EBACKEND
 * if only HBase's tables cannot hold them. */
int tsd_names_check(const struct tsd_rules *rules, struct ts_slice metric, const struct sto_tag_text *tags,
                    size_t n_tags, struct ts_buf *msg);

#endif
