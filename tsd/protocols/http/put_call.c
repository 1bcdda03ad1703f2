/*
 * put_call.c - answers to requests that bring points, checks that all of them share.
 *
 * Threads    the connection's worker
 * Not here   what one point becomes (ep_put.c), JSON (put_json.c)
 */
#include "tsd/protocols/http/put_call.h"

#include "tsd/protocols/http/put_once.h"

#include "base/json.h"
#include "base/time.h"
#include "tsd/ingest/args.h"
#include "tsd/net/worker.h"

#include <event2/event.h>

#define PUT_MAX_SYNC_MS  86400000
#define PUT_FIRST_ERRORS 3   /* listed in the answer if details were not requested */
#define PUT_ERROR_BYTES  300 /* of each of them */

/* One request on its way. Two may come back to it: the store, and a timer of sync_timeout. */
struct tsd_put_call {
    struct tsd_req *req;        /* NULL once answered */
    struct tsd_conn *c;         /* held by the barrier */
    struct ts_buf first;        /* texts of the first PUT_FIRST_ERRORS refusals, "; " between them */
    struct ts_buf errors;       /* elements of "errors" */
    struct ts_json errors_json; /* writes them */
    struct event *timer;        /* of sync_timeout, or NULL */
    size_t n_ok, n_failed;      /* points */
    size_t details_max_bytes;   /* of errors */
    bool summary, details;      /* requested */
    bool timeouts;              /* and "timeouts" */
    struct tsd_put_once once;   /* id and sequence of the body */
    struct sto_point *adds;     /* additions of a body with an id; in the arena */
    size_t n_adds, cap_adds;    /* used, allocated */
    uint64_t stream;            /* number of the request's stream */
};

/* --- answers --- */

static void put_free(struct tsd_put_call *put)
{
    if (put->timer)
        event_free(put->timer);
    ts_buf_release(&put->first);
    ts_buf_release(&put->errors);
    ts_free(put);
}

static void put_summary(const struct tsd_put_call *put, int status, size_t n_timeouts)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    ts_buf_printf(&b, "{\"success\":%zu,\"failed\":%zu", put->n_ok - n_timeouts, put->n_failed);
    if (put->timeouts)
        ts_buf_printf(&b, ",\"timeouts\":%zu", n_timeouts);
    if (put->details) {
        ts_buf_str(&b, ",\"errors\":[");
        ts_buf_slice(&b, ts_buf_get(&put->errors));
        ts_buf_char(&b, ']');
    }
    ts_buf_char(&b, '}');
    tsd_reply_json_take(put->req, status, &b);
}

/* 400 without a summary: OpenTSDB points to its log; we say what was wrong. */
static void put_answer_errors(struct tsd_put_call *put)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_buf_printf(&text, "%zu of %zu points were refused: ", put->n_failed, put->n_failed + put->n_ok);
    ts_buf_slice(&text, ts_buf_get(&put->first));
    ts_buf_str(&text, put->n_failed > PUT_FIRST_ERRORS ? "; ... (the parameter details lists all)" : "");
    ts_buf_char(&text, 0);
    tsd_reply_error(put->req, 400, "One or more data points had errors",
                    put->req->w->ingest.rules->compat
                        ? "Please see the TSD logs or append \"details\" to the put request"
                        : text.p);
    ts_buf_release(&text);
}

static void put_answer(struct tsd_put_call *put)
{
    struct tsd_req *req = put->req;
    if (put->summary)
        put_summary(put, put->n_failed ? 400 : 200, 0);
    else if (put->n_failed)
        put_answer_errors(put);
    else
        tsd_reply_empty(req, 204);
    put->req = NULL;
}

/* An owner has refused a part of the sequence. */
static void put_answer_refused(struct tsd_put_call *put)
{
    char text[256];
    struct tsd_req *req = put->req;
    put->req = NULL;
    (void)snprintf(text, sizeof text, "sequence %llu was refused: %s", (unsigned long long)put->once.seq,
                   put->c->once.why);
    tsd_reply_error(req, 409, text, NULL);
}

static void put_stored(void *arg, int rc, const struct ts_error *err)
{
    struct tsd_put_call *put = arg;
    struct tsd_conn *c = put->c;
    bool refused = put->once.any && c->once.stream.number == put->stream && c->once.refused;
    if (put->req && rc == 0 && refused) {
        put_answer_refused(put);
    } else if (put->req && rc < 0) {
        struct tsd_req *req = put->req;
        put->req = NULL;
        tsd_reply_err(req, rc, err && err->text[0] ? err->text : ts_err_text(rc));
    } else if (put->req) {
        put_answer(put);
    }
    put_free(put);
    tsd_conn_unhold(c);
}

/* sync_timeout is over before the store answered. */
static void put_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct tsd_put_call *put = arg;
    (void)fd;
    (void)what;
    if (!put->req)
        return;
    if (put->summary) {
        put_summary(put, 400, put->n_ok);
    } else {
        char text[160];
        (void)snprintf(
            text, sizeof(text),
            "The put call has timedout with 0 successful writes, %zu failed writes and %zu timed out writes.",
            put->n_failed, put->n_ok);
        tsd_reply_error(put->req, 400, text, NULL);
    }
    put->req = NULL;
}

/* --- points --- */

/* What was not sent, or sent as null, is left out. */
static void put_echo(struct ts_json *j, const struct tsd_put_point *p)
{
    ts_json_obj(j);
    if (p->metric.p)
        ts_json_member_slice(j, "metric", p->metric);
    int64_t t = 0;
    if (p->time.p)
        (void)ts_num_parse_int(p->time, &t, NULL);
    if (tsd_time_is_iso(p->time))
        ts_json_member_slice(j, "timestamp", p->time);
    else
        ts_json_member_int(j, "timestamp", t);
    if (p->value.p)
        ts_json_member_slice(j, "value", p->value);
    if (!p->tags) {
        ts_json_obj_end(j);
        return;
    }
    ts_json_member_obj(j, "tags");
    for (uint32_t i = 0; i < p->n_tags; i++)
        ts_json_member_slices(j, p->tags[i].k, p->tags[i].v);
    ts_json_obj_end(j);
    ts_json_obj_end(j);
}

void tsd_put_refuse(struct tsd_put_call *put, const struct tsd_put_point *p, int code, struct ts_slice text)
{
    if (put->n_failed++ < PUT_FIRST_ERRORS) {
        ts_buf_str(&put->first, put->first.n ? "; " : "");
        ts_buf_slice(&put->first, ts_utf8_cut(text, PUT_ERROR_BYTES));
    }
    tsd_ingest_count_refused(&put->req->w->ingest, code);
    if (!put->details || put->errors.n >= put->details_max_bytes)
        return;
    struct ts_json *j = &put->errors_json;
    ts_json_obj(j);
    ts_json_member_slice(j, "error", text);
    ts_json_key(j, "datapoint");
    if (p->null_point)
        ts_json_null(j);
    else
        put_echo(j, p);
    ts_json_obj_end(j);
}

bool tsd_put_check(struct tsd_put_call *put, const struct tsd_put_point *p, bool with_value,
                   struct tsd_time *time)
{
    const char *why = NULL;
    struct tsd_ingest *in = &put->req->w->ingest;
    ts_buf_clear(&in->msg);
    if (p->null_point)
        why = "Unexpected null datapoint encountered in set.";
    else if (p->metric.n == 0)
        why = "Metric name was empty";
    else if (!tsd_put_time(in->rules, p, time, &in->msg))
        why = "Invalid timestamp";
    else if (with_value && p->value.n == 0)
        why = "Empty value";
    else if (p->n_tags == 0)
        why = "Missing tags";
    if (!why)
        return true;
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_buf_str(&text, why);
    ts_buf_slice(&text, ts_buf_get(&in->msg));
    tsd_put_refuse(put, p, TS_EINVAL, ts_buf_get(&text));
    ts_buf_release(&text);
    return false;
}

bool tsd_put_number(struct tsd_put_call *put, const struct tsd_put_point *p, const struct tsd_time *time,
                    struct ts_num *out)
{
    struct tsd_ingest *in = &put->req->w->ingest;
    struct ts_error err = {0};
    int rc = ts_num_parse(p->value, out, &err);
    if (rc < 0) {
        tsd_put_refuse(put, p, rc,
                       ts_slice_str(rc == TS_EINVAL ? err.text : "Unable to parse value to a number"));
        return false;
    }
    if (!time->bad)
        return true;
    rc = tsd_args_bad_time(in, time->raw, p->value, p->metric, p->tags, p->n_tags);
    tsd_put_refuse(put, p, rc, ts_buf_get(&in->msg));
    return false;
}

struct tsd_ingest *tsd_put_ingest(struct tsd_put_call *put)
{
    return &put->req->w->ingest;
}

struct tsd_daemon *tsd_put_daemon(struct tsd_put_call *put)
{
    return put->req->d;
}

uint32_t tsd_put_asker(const struct tsd_put_call *put)
{
    return put->c->asker;
}

bool tsd_put_has_once(const struct tsd_put_call *put)
{
    return put->once.any;
}

int tsd_put_collect(struct tsd_put_call *put, const struct sto_point *addition)
{
    struct tsd_ingest *in = &put->req->w->ingest;
    if (put->n_adds == put->cap_adds) {
        size_t cap = put->cap_adds ? put->cap_adds * 4 : 64;
        struct sto_point *more =
            cap <= STO_BATCH_POINTS ? ts_arena_try(&put->req->arena, cap * sizeof(*more)) : NULL;
        struct ts_error err = {0};
        ts_buf_clear(&in->msg);
        if (!more && cap > STO_BATCH_POINTS) {
            ts_buf_printf(&in->msg, "a sequence has %d additions at most", STO_BATCH_POINTS);
            return TS_ELIMIT;
        }
        if (!more) {
            int rc = tsd_memory_no_body(&put->req->d->memory, put->req->arena.budget,
                                        put->req->body.n + cap * sizeof(*more), &err);
            ts_buf_str(&in->msg, err.text);
            return rc;
        }
        if (put->n_adds)
            memcpy(more, put->adds, put->n_adds * sizeof(*more));
        put->adds = more;
        put->cap_adds = cap;
    }
    put->adds[put->n_adds++] = *addition;
    return 0;
}

bool tsd_put_is_begun(const struct tsd_put_call *put)
{
    return put->n_ok > 0;
}

struct ts_arena *tsd_put_arena(struct tsd_put_call *put)
{
    return &put->req->arena;
}

int tsd_put_end(struct tsd_put_call *put, const struct tsd_put_point *p, int rc)
{
    struct tsd_ingest *in = &put->req->w->ingest;
    if (rc == TS_EBUSY || rc == TS_ENOSPC || rc == TS_ENOMEM || rc == TS_EMFILE || rc == TS_EIO ||
        rc == TS_ETIMEOUT) {
        in->n_refused[tsd_refusal_of(rc)] += rc != TS_EBUSY;
        return rc;
    }
    if (rc == TS_ENOTFOUND)
        tsd_put_refuse(put, p, rc, TS_SLICE_LIT("Unknown metric"));
    else if (rc < 0)
        tsd_put_refuse(put, p, rc, ts_buf_get(&in->msg));
    else
        put->n_ok++;
    return 0;
}

/* --- the endpoint --- */

/* sync_timeout in milliseconds, 0 = none; -1 if it is not a number. */
static int64_t put_sync_timeout(const struct tsd_req *req)
{
    struct ts_slice s;
    int64_t ms = 0;
    if (!tsd_req_flag(req, "sync") || !tsd_req_param(req, "sync_timeout", &s))
        return 0;
    return ts_num_parse_int(s, &ms, NULL) < 0 || ms > PUT_MAX_SYNC_MS ? -1 : ms;
}

static void put_start_timer(struct tsd_put_call *put, int64_t ms)
{
    if (ms == 0)
        return;
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};
    put->timeouts = true;
    put->timer = event_new(put->req->w->base, -1, 0, put_on_timer, put);
    if (!put->timer || event_add(put->timer, &tv) < 0)
        TS_BUG("no memory for a timer");
}

static void put_busy(struct tsd_req *req, int rc, const char *text)
{
    if (rc == TS_EBUSY)
        tsd_reply_error(req, 503, "Please throttle writes: the store is behind, send again later", NULL);
    else if (rc == TS_ETIMEOUT)
        tsd_reply_error(req, 503, "Too many new series", text);
    else
        tsd_reply_error(req, 503, text, ts_err_name(rc));
}

/* All points into the port; false when the request is answered. */
static bool put_all(struct tsd_req *req, struct tsd_put_call *put, const struct tsd_put_body *body,
                    tsd_put_one_fn one)
{
    struct tsd_ingest *in = &req->w->ingest;
    if (body->n_points == 0) {
        if (in->rules->compat)
            tsd_reply_error(req, 400, "No datapoints found in content", NULL);
        else
            put_answer(put);
        return false;
    }
    for (size_t i = 0; i < body->n_points; i++) {
        in->new_series = &req->c->new_series;
        in->may_wait = false;
        int rc = one(put, body, i);
        in->new_series = NULL;
        if (rc < 0) {
            struct ts_slice text = ts_buf_get(&in->msg);
            put_busy(req, rc, ts_arena_strndup(&req->arena, text.p ? text.p : "", text.n));
            return false;
        }
    }
    return true;
}

/* Send the additions of a body with an id, all of which are good; false when the request is answered. */
static bool put_sequence(struct tsd_req *req, struct tsd_put_call *put)
{
    struct tsd_ingest *in = &req->w->ingest;
    if (put->n_failed) {
        put->n_ok = 0; /* none is taken */
        put_answer(put);
        return false;
    }
    tsd_once_begin(&put->c->once, in->writer, put->c->asker, &put->once.id, put->once.text);
    put->stream = put->c->once.stream.number;
    int rc = tsd_ingest_sequence(in, &put->c->once.stream, put->once.seq, put->adds, put->n_adds);
    if (rc == 0)
        return true;
    put_busy(req, rc, ts_arena_strndup(&req->arena, in->msg.n ? in->msg.p : "", in->msg.n));
    return false;
}

/* A body that can't be read. */
static void put_unread(struct tsd_req *req, int rc, struct ts_error *err, const struct ts_error *details)
{
    if (rc == TS_ENOMEM)
        rc = tsd_memory_no_body(&req->d->memory, req->arena.budget, req->body.n, err);
    if (rc == TS_ENOMEM || rc == TS_ELIMIT)
        tsd_reply_err(req, rc, err->text);
    else
        tsd_reply_error(req, 400, err->text, details->text);
}

static void put_serve(struct tsd_req *req, bool tree, bool may_once, tsd_put_one_fn one)
{
    struct ts_error err = {0}, details = {0};
    struct tsd_put_once once = {.any = false};
    struct ts_slice points = req->body;
    struct tsd_put_body body;
    struct sto_store *store = req->d->store;
    tsd_count(&req->w->counts.n_http_put, 1);
    if (req->body.n == 0) {
        tsd_reply_error(req, 400, "Missing request content", NULL);
        return;
    }
    if (!sto_writer_ready(req->w->ingest.writer)) {
        put_busy(req, TS_EBUSY, NULL);
        return;
    }
    int64_t sync_timeout_ms = put_sync_timeout(req);
    if (sync_timeout_ms < 0) {
        tsd_reply_error(req, 400, "Unable to parse 'sync_timeout' as a number of milliseconds",
                        "Nothing was stored. A whole number from 0 to 86400000 is needed.");
        return;
    }
    if (may_once && tsd_put_once_read(&points, &once, &err) < 0) {
        tsd_reply_error(req, 400, err.text, "Nothing was added.");
        return;
    }
    int rc = tsd_put_body_read(points, tree, &req->arena, &body, &err, &details);
    if (rc < 0) {
        put_unread(req, rc, &err, &details);
        return;
    }
    struct tsd_put_call *put = ts_xcalloc(1, sizeof(*put));
    put->req = req;
    put->c = req->c;
    put->once = once;
    put->details_max_bytes = req->d->set.put_details_max_bytes;
    ts_buf_init(&put->first, 0);
    ts_buf_init(&put->errors, 0);
    ts_json_init(&put->errors_json, &put->errors);
    put->details = tsd_req_flag(req, "details");
    put->summary = put->details || tsd_req_flag(req, "summary");
    bool go_on = put_all(req, put, &body, one);
    if (go_on && put->once.any)
        go_on = put_sequence(req, put);
    tsd_put_body_release(&body);
    if (go_on && put->n_ok == 0) {
        put_answer(put);
        go_on = false;
    }
    if (!go_on) {
        put_free(put);
        return;
    }
    put_start_timer(put, sync_timeout_ms);
    tsd_req_later(req);
    tsd_conn_hold(put->c); /* the store comes back, the request may be answered before */
    tsd_ingest_barrier(&req->w->ingest, sto_ack_level(store), put->c->asker, put_stored, put);
}

void tsd_put_serve(struct tsd_req *req, bool tree, tsd_put_one_fn one)
{
    put_serve(req, tree, false, one);
}

void tsd_put_serve_incr(struct tsd_req *req, tsd_put_one_fn one)
{
    put_serve(req, false, true, one);
}
