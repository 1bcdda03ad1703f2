/*
 * put_call.h - a request with points (put, rollup, histogram): every point is checked by itself; the answer
 * waits until the accepted ones are as durable as the configuration promises.
 *
 * Threads    the connection's worker
 * Source     docs/OPENTSDB.md, section 2.2
 */
#ifndef TSD_PROTOCOLS_HTTP_PUT_CALL_H
#define TSD_PROTOCOLS_HTTP_PUT_CALL_H

#include "tsd/protocols/http/http.h"
#include "tsd/protocols/http/put_json.h"
#include "tsd/ingest/ingest.h"

struct tsd_put_call;
/* Store point i of a body. Returns 0 also if it was refused (tsd_put_refuse), < 0 if the store accepts no
 * more points. */
typedef int (*tsd_put_one_fn)(struct tsd_put_call *put, const struct tsd_put_body *body, size_t i);

/** The same for increments, whose body may have an id and a sequence (put_once.h): then all points are taken or none, by
 * tsd_put_collect. */
void tsd_put_serve_incr(struct tsd_req *req, tsd_put_one_fn one);
/** Serve the request: parse the body, give each point to one, wait, answer. tree: body->tree is always made,
 * for members that struct tsd_put_point does not have (tsd_put_body_item). */
void tsd_put_serve(struct tsd_req *req, bool tree, tsd_put_one_fn one);

/* --- for tsd_put_one_fn --- */
/** The worker's ingest. */
struct tsd_ingest *tsd_put_ingest(struct tsd_put_call *put);
/** The daemon. */
struct tsd_daemon *tsd_put_daemon(struct tsd_put_call *put);
/** The number for additions of this request (sto_point.asker). */
uint32_t tsd_put_asker(const struct tsd_put_call *put);
/** Does the body have an id and a sequence? */
bool tsd_put_has_once(const struct tsd_put_call *put);
/** Keep an addition of such a body until all of its points were checked. 0, TS_ENOMEM (text in in->msg), TS_ELIMIT (too many). */
int tsd_put_collect(struct tsd_put_call *put, const struct sto_point *addition);
/** Was a point of the request taken already? */
bool tsd_put_is_begun(const struct tsd_put_call *put);
/** Memory for the life of the request. */
struct ts_arena *tsd_put_arena(struct tsd_put_call *put);
/** Refuse a point. */
void tsd_put_refuse(struct tsd_put_call *put, const struct tsd_put_point *p, int code, struct ts_slice text);
/** Metric, time, value and tags are present and the time is valid; otherwise refuses the point and returns
 * false. */
bool tsd_put_check(struct tsd_put_call *put, const struct tsd_put_point *p, bool with_value,
                   struct tsd_time *time);
/** Checks the range of the time, then the value of a point; if one is invalid, refuses the point and returns
 * false. */
bool tsd_put_number(struct tsd_put_call *put, const struct tsd_put_point *p, const struct tsd_time *time,
                    struct ts_num *out);
/** End of a point: rc of an ingest function (0 = taken; text in in->msg). < 0: pass it on, the store can't
 * take more. */
int tsd_put_end(struct tsd_put_call *put, const struct tsd_put_point *p, int rc);

#endif
