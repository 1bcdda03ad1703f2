/*
 * replace.h - what a request replaces: the points of a range of all series that a query chooses.
 *
 * Parameters of a request: series = METRIC or METRIC{FILTERS} as in the parameter m of a query, without an aggregator; start and end, as in a
 * query, both inclusive; tz.
 *
 * Threads    a job's
 * Not here   the files with the new points (storage/bulk.h), requests (ep_bulk.c, ep_series.c)
 */
#ifndef TSD_PROTOCOLS_HTTP_REPLACE_H
#define TSD_PROTOCOLS_HTTP_REPLACE_H

#include "storage/store.h"
#include "tsd/format/answers.h"
#include "tsd/protocols/http/job.h"

struct tsd_replace {
    struct qry_spec spec;         /* chooses the series; memory of the job */
    struct tsd_deleted old;       /* what is there now */
    struct sto_tomb *ranges;      /* of old; owned */
    roaring_bitmap_t *series;     /* all that the filters choose; owned */
    struct sto_bulk_replace what; /* points into the others */
};

/** Does a request name something to be replaced? */
bool tsd_replace_asked(const struct tsd_req *req);
/** Read the parameters. TS_EINVAL: one is missing or makes no sense. Release it in any case. */
int tsd_replace_parse(struct tsd_job *job, struct tsd_replace *r, struct ts_error *err);
/** Find the series, and their points of the range. Series that are created later are not among them. Errors as qry_delete_find. */
int tsd_replace_find(struct tsd_job *job, struct tsd_replace *r, struct ts_error *err);
/** Points of the range when they were found. */
uint64_t tsd_replace_old(const struct tsd_replace *r);
/** Release; idempotent after tsd_replace_parse. */
void tsd_replace_release(struct tsd_replace *r);

#endif
