/*
 * put_once.h - the body of /api/incr with an id and a sequence: {"id": ..., "seq": ..., "points": [...]}, or one point with these
 * members.
 *
 * Threads    one worker
 * Not here   points (put_json.h), what a sequence is (tsd/ingest/once.h)
 */
#ifndef TSD_PROTOCOLS_HTTP_PUT_ONCE_H
#define TSD_PROTOCOLS_HTTP_PUT_ONCE_H

#include "tsd/ingest/once.h"

/* What a body says beside its points. */
struct tsd_put_once {
    bool any;              /* it has an id or a sequence */
    struct sto_once_id id; /* if any */
    uint64_t seq;          /* if any */
    struct ts_slice text;  /* the id as sent; in the body */
};

/** Read id and sequence of a body.
 *  @param points  [in] the body, [out] the part of it that has the points
 *  @return 0, also for a body that is no JSON, which the reader of points reports; TS_EINVAL: one of both is missing or wrong, given twice or without points */
int tsd_put_once_read(struct ts_slice *points, struct tsd_put_once *out, struct ts_error *err);

#endif
