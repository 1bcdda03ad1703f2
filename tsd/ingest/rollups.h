/*
 * rollups.h - rollups that clients send: the configuration, and where a point of them goes.
 *
 * Threads    the configuration is constant once loaded; the rest belongs to one worker
 * Source     docs/OPENTSDB.md, sections 1.5, 2.3, 10.7
 */
#ifndef TSD_INGEST_ROLLUPS_H
#define TSD_INGEST_ROLLUPS_H

#include "base/conf.h"
#include "query/execution/rollup.h"
#include "tsd/ingest/ingest.h"

/** From the keys rollups, rollups_config and so on; names are borrowed from conf. TS_EINVAL, TS_EPARSE, TS_EIO. */
int tsd_rollups_load(const struct ts_conf *conf, struct qry_rollups *out, struct ts_error *err);
/** The text of rollups_config, or of the file that it names. *out_file is the caller's (ts_free) and may hold the text. is_json: it is OpenTSDB's JSON,
 * otherwise a list of intervals. TS_EIO, TS_ELIMIT, TS_ENOTFOUND. */
int tsd_rollups_text(const struct ts_conf *conf, char **out_file, struct ts_slice *out, bool *out_is_json,
                     struct ts_error *err);
/** Release; idempotent. */
void tsd_rollups_release(struct qry_rollups *r);

/** Configuration for import into a folder: accepts every interval and aggregator. */
extern const struct qry_rollups tsd_rollups_any;

/* The description of a rollup point, as sent; n 0 = not given. */
struct tsd_rollup_words {
    struct ts_slice interval;   /* "1h" */
    struct ts_slice aggregator; /* over time */
    struct ts_slice group_by;   /* over series: a pre-aggregate */
    bool tagged; /* a pre-aggregate, and its tag is among the tags already: what export writes */
};
/** Store a point of a rollup. The time must be whole seconds and is rounded down to the start of its
 * interval.
 *  @param conf  borrowed; NULL or off is TS_EINVAL
 *  @param tags  with space for one more tag behind n_tags: the one of pre-aggregates
 *  @return 0; TS_EINVAL, TS_ENOTFOUND and others of tsd_ingest_internal with text in in->msg; TS_EBUSY */
int tsd_rollup_take(struct tsd_ingest *in, const struct qry_rollups *conf,
                    const struct tsd_rollup_words *words, struct ts_slice metric, struct sto_tag_text *tags,
                    size_t n_tags, const struct tsd_time *time, struct ts_slice value_word,
                    struct ts_num value);

#endif
