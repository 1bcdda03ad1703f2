/*
 * http.c - makes requests of the bytes of a connection, one at a time, and calls their endpoints.
 *
 * Threads    see http.h
 * Not here   paths (request.c, routes.c), replies (reply.c, job.c), endpoints (ep_*.c)
 */
#include "tsd/protocols/http/http.h"

#include "base/cut.h"
#include "base/json.h"
#include "base/near.h"
#include "base/text.h"
#include "base/time.h"
#include "tsd/protocols/http/gzip.h"
#include "tsd/protocols/http/job.h"
#include "tsd/protocols/http/parser.h"
#include "tsd/net/worker.h"

#define HTTP_CHOKE_BYTES    ((size_t)1 << 20)  /* replies to pipelined requests a client may leave unread, */
#define HTTP_CHOKE_LEAST    ((size_t)64 << 10) /* while memory for replies is short */
#define HTTP_TURN_NS        ((int64_t)500000) /* of pipelined requests; then other connections have their turn */
#define HTTP_GONE_MS        5000 /* a client that shut its side gets its reply if it comes within this time */
#define HTTP_BODY_KEEP      ((size_t)4 << 10) /* larger buffers are given back after the request */
#define HTTP_HEAD_KEEP      ((size_t)1 << 10) /* the same for heads */
#define HTTP_DISTINCT_BYTES 12 /* "PUT https://": enough to distinguish a request from a line */

struct http_conn {
    struct tsd_parser parser; /* of its bytes; holds the head of the request */
    struct tsd_req req;       /* the request being read or worked on */
    struct ts_buf body;       /* as sent, if it came in pieces */
    struct ts_buf inflated;   /* after Content-Encoding */
    struct ts_slice whole;    /* body, if it came in one piece */
    int64_t began_ms;         /* worker's clock at the first byte of the request */
    bool reading;             /* between first byte and end of a request */
    bool choked;              /* too many replies unread */
};

/* --- a whole request --- */

static const struct {
    const char *name;
    enum tsd_method method;
} http_methods[] = {{"GET", TSD_GET}, {"HEAD", TSD_GET},      {"POST", TSD_POST},
                    {"PUT", TSD_PUT}, {"DELETE", TSD_DELETE}, {"OPTIONS", TSD_OPTIONS}};

/* Methods are what they are in capitals only. */
static void http_method(struct tsd_req *req, struct ts_slice name)
{
    req->method = TSD_OTHER;
    req->method_name = ts_arena_strndup(&req->arena, name.p, name.n);
    for (size_t i = 0; i < sizeof(http_methods) / sizeof(http_methods[0]); i++)
        if (ts_slice_is(name, http_methods[i].name))
            req->method = http_methods[i].method;
    req->head = ts_slice_is(name, "HEAD");
    req->by_get = req->method == TSD_GET;
}

/* Is the weight of "gzip ; q=0.00" zero? Without one it is 1. */
static bool http_weighs_nothing(struct ts_slice params)
{
    while (params.n) {
        struct ts_slice one = ts_slice_cut(&params, ';');
        while (one.n && (*one.p == ' ' || *one.p == '\t'))
            one.p++, one.n--;
        if (one.n < 3 || (*one.p | 0x20) != 'q' || one.p[1] != '=')
            continue;
        for (size_t i = 2; i < one.n; i++)
            if (one.p[i] >= '1' && one.p[i] <= '9')
                return false;
        return true;
    }
    return false;
}

/* Does a list like "gzip, deflate;q=0" allow a coding? A star stands for those that are not named. */
static bool http_takes(struct ts_slice list, const char *coding)
{
    bool any = false;
    while (list.n) {
        struct ts_slice params = ts_slice_cut(&list, ',');
        struct ts_slice name = ts_slice_cut(&params, ';');
        while (name.n && (*name.p == ' ' || *name.p == '\t'))
            name.p++, name.n--;
        while (name.n && (name.p[name.n - 1] == ' ' || name.p[name.n - 1] == '\t'))
            name.n--;
        if (ts_slice_is_nocase(name, coding))
            return !http_weighs_nothing(params);
        any = any || (ts_slice_is_nocase(name, "*") && !http_weighs_nothing(params));
    }
    return any;
}

/* True when the request is answered here. */
static bool http_cors(struct tsd_req *req)
{
    const struct tsd_settings *set = &req->d->set;
    if (!*set->cors_domains || !req->origin.n || tsd_access_same_origin(req))
        return false;
    if (!tsd_access_origin_listed(set->cors_domains, req->origin)) {
        char details[512];
        (void)snprintf(details, sizeof(details), "The domain [%.*s] is not permitted access",
                       TS_SHOWN(req->origin, 400));
        tsd_reply_error(req, 200, "CORS domain not allowed", details);
        return true;
    }
    req->cors_ok = true;
    if (req->method != TSD_OPTIONS)
        return false;
    tsd_reply_empty(req, 200);
    return true;
}

/* Memory that a buffer of a body needs when it grows once more. */
static uint64_t http_next_bytes(const struct ts_buf *b)
{
    return b->cap < b->max / 2 ? 2 * b->cap : b->max;
}

/* Undo Content-Encoding; false when the request is answered here. */
static bool http_inflate(struct tsd_req *req, struct http_conn *hc)
{
    struct ts_slice coding = tsd_parser_header(&hc->parser, "content-encoding");
    struct ts_error err = {0};
    if (req->body.n == 0 || coding.n == 0 || ts_slice_is_nocase(coding, "identity"))
        return true;
    if (!ts_slice_is_nocase(coding, "gzip") && !ts_slice_is_nocase(coding, "x-gzip") &&
        !ts_slice_is_nocase(coding, "deflate")) {
        tsd_reply_error(req, 415, "Unsupported Content-Encoding", NULL);
        return false;
    }
    int rc = tsd_gunzip(req->body, req->d->set.http_max_inflate_ratio, &hc->inflated, &err);
    if (rc == TS_ENOMEM)
        rc = tsd_memory_no_body(&req->d->memory, hc->inflated.budget,
                                req->body.n + http_next_bytes(&hc->inflated), &err);
    if (rc < 0) {
        tsd_reply_err(req, rc, err.text);
        return false;
    }
    req->body = ts_buf_get(&hc->inflated);
    req->body_borrowed = false;
    return true;
}

/* GET with method_override counts as another method; false when the request is answered here. */
static bool http_override(struct tsd_req *req)
{
    struct ts_slice word;
    if (req->method != TSD_GET || !tsd_req_param(req, "method_override", &word))
        return true;
    for (size_t i = 0; i < sizeof(http_methods) / sizeof(http_methods[0]); i++) {
        enum tsd_method method = http_methods[i].method;
        if (ts_slice_is_nocase(word, http_methods[i].name) && !ts_slice_is_nocase(word, "HEAD") &&
            method != TSD_OPTIONS) {
            req->method = method;
            req->method_name = http_methods[i].name;
            return true;
        }
    }
    tsd_reply_error(req, 405,
                    word.n ? "Unknown or unsupported method override value" : "Missing method override value",
                    NULL);
    return false;
}

/* Replies are JSON; OpenTSDB has other serializers as plug-ins, which are refused. True when the request is answered here. */
static bool http_serializer(struct tsd_req *req)
{
    struct ts_slice name;
    if (!tsd_req_param(req, "serializer", &name) || ts_slice_is_nocase(name, "json"))
        return false;
    char details[160];
    (void)snprintf(details, sizeof(details), "Could not find a serializer with the name: %.*s",
                   TS_SHOWN(name, 64));
    tsd_reply_error(req, 400, "Requested serializer was not found", details);
    return true;
}

/* The reason why the configuration key mode disables an endpoint; NULL: it does not. */
static const char *http_mode_denial(const struct tsd_req *req, const struct tsd_endpoint *e)
{
    const struct tsd_settings *set = &req->d->set;
    if (set->no_writes && (e->flags & TSD_EP_STORES))
        return "read-only: this daemon stores nothing (mode = ro)";
    return set->no_reads && (e->flags & TSD_EP_READS)
               ? "write-only: this daemon answers no queries (mode = wo)"
               : NULL;
}

/* Is an endpoint disabled by the configuration key mode or compat? */
static bool http_absent(const struct tsd_req *req, const struct tsd_endpoint *e)
{
    return (req->d->set.rules.compat && (e->flags & TSD_EP_OURS)) || http_mode_denial(req, e);
}

/* 404 for an unknown path. Without compat the text names the path that was probably meant: one that ends in the same name, or that is
 * near. */
static void http_unknown(struct tsd_req *req)
{
    struct ts_error err = {0};
    struct ts_near near, last;
    struct ts_slice path = req->path, name = path;
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    if (slash)
        name = (struct ts_slice){slash + 1, path.n - (size_t)(slash + 1 - path.p)};
    ts_error_set(&err, TS_ENOTFOUND, "Endpoint not found");
    ts_near_init(&near, path);
    ts_near_init(&last, name);
    for (const struct tsd_endpoint *e = tsd_endpoints; !req->d->set.rules.compat && e->path; e++) {
        if (http_absent(req, e) || strchr(e->path, '*'))
            continue;
        struct ts_slice known = ts_slice_str(e->path);
        ts_near_see(&near, known);
        if (slash && known.n > name.n && memcmp(known.p + known.n - name.n, name.p, name.n) == 0)
            ts_near_see(&last, known);
    }
    ts_near_hint(last.n ? &last : &near, &err);
    tsd_reply_error(req, 404, err.text, NULL);
}

static void http_answer(struct tsd_req *req, const struct tsd_endpoint *e)
{
    struct ts_buf text;
    struct ts_json j;
    if (e->run) {
        e->run(req);
    } else if (e->job) {
        tsd_job_start(req, (enum tsd_job_kind)e->kind, e->type, e->job);
    } else {
        ts_buf_init(&text, 0);
        ts_json_init(&j, &text);
        e->print(req, &j);
        tsd_reply_json_take(req, 200, &text);
    }
}

static void http_route(struct tsd_req *req, struct http_conn *hc)
{
    struct tsd_denial denial;
    struct ts_error err = {0};
    const struct tsd_endpoint *e = tsd_endpoint_find(req->path);
    if (e && !req->d->set.rules.compat && http_mode_denial(req, e)) {
        tsd_reply_error(req, 404, http_mode_denial(req, e), NULL);
        return;
    }
    if (!e || http_absent(req, e)) {
        http_unknown(req);
        return;
    }
    if ((e->flags & TSD_EP_OVERRIDE) && !http_override(req))
        return;
    if (!(tsd_endpoint_methods(e) & (unsigned)req->method))
        tsd_reply_method(req);
    else if (!tsd_access_endpoint(req, e, &denial))
        tsd_reply_error(req, denial.status, denial.message, NULL);
    else if (tsd_req_params_known(req, e, &err) < 0)
        tsd_reply_error(req, 400, err.text, NULL);
    else if (http_inflate(req, hc)) {
        ts_json_small(req->body.n <= TSD_REQ_SMALL_BYTES);
        http_answer(req, e);
    }
}

static void http_request(struct tsd_conn *c, struct http_conn *hc)
{
    struct tsd_req *req = &hc->req;
    const struct tsd_parser *pr = &hc->parser;
    int64_t began_ns = req->began_ns;
    *req = (struct tsd_req){.c = c, .w = c->w, .d = c->w->daemon, .began_ns = began_ns};
    ts_arena_init(&req->arena, 0);
    req->arena.budget = hc->body.budget;
    hc->reading = false;
    http_method(req, tsd_parser_method(pr));
    req->http10 = pr->http10;
    req->trailers = !pr->http10 && http_takes(tsd_parser_header(pr, "te"), "trailers");
    req->keep_alive = pr->keep_alive && !c->w->draining;
    req->host = tsd_parser_header(pr, "host");
    req->origin = tsd_parser_header(pr, "origin");
    req->fetch_site = tsd_parser_header(pr, "sec-fetch-site");
    req->content_type = tsd_parser_header(pr, "content-type");
    req->accept = tsd_parser_header(pr, "accept");
    req->if_none_match = tsd_parser_header(pr, "if-none-match");
    struct ts_slice codings = tsd_parser_header(pr, "accept-encoding");
    bool gzip = http_takes(codings, "gzip");
    req->deflate = !gzip && http_takes(codings, "deflate");
    req->gzip_ok = gzip || req->deflate;
    req->body_borrowed = hc->body.n == 0;
    req->body = hc->body.n ? ts_buf_get(&hc->body) : hc->whole;
    tsd_count(&c->w->counts.n_http, 1);
    struct ts_error err = {0};
    int rc = tsd_req_target(req, tsd_parser_target(pr), &err);
    if (rc < 0) {
        tsd_reply_error(req, rc == TS_EVERSION ? 501 : 400, err.text, NULL);
        return;
    }
    struct tsd_denial denial;
    if (!tsd_access_request(req, &denial))
        tsd_reply_error(req, denial.status, denial.message, NULL);
    else if (!http_cors(req) && !http_serializer(req))
        http_route(req, hc);
}

void tsd_req_headers(const struct tsd_req *req, struct ts_json *j)
{
    const struct http_conn *hc = req->c->state;
    ts_json_obj(j);
    for (unsigned i = 0; i < hc->parser.n_headers; i++) {
        struct ts_slice name = tsd_parser_header_name(&hc->parser, i);
        bool secret = ts_slice_is_nocase(name, "cookie") || ts_slice_is_nocase(name, "authorization") ||
                      ts_slice_is_nocase(name, "proxy-authorization");
        ts_json_member_slices(j, name,
                              secret ? TS_SLICE_LIT("*******") : tsd_parser_header_value(&hc->parser, i));
    }
    ts_json_obj_end(j);
}

void tsd_req_later(struct tsd_req *req)
{
    if (req->later)
        TS_BUG("a request put off twice");
    req->later = true;
    tsd_conn_hold(req->c);
    tsd_conn_block(req->c, true);
}

void tsd_reply_done(struct tsd_req *req)
{
    struct tsd_conn *c = req->c;
    struct http_conn *hc = c->state;
    bool later = req->later, keep = req->keep_alive;
    tsd_worker_latency(c->w, (ts_clock_mono_ns() - req->began_ns) / 1000000);
    if (c->out.failed &&
        !c->dead) /* a part of the reply found no memory: what follows must not be taken for it */
        tsd_conn_kill(c);
    ts_arena_release(&req->arena);
    req->later = false;
    if (hc->parser.head.cap > HTTP_HEAD_KEEP) /* the request is over: nothing points into its head any more */
        ts_buf_release(&hc->parser.head);
    if (hc->body.cap > HTTP_BODY_KEEP)
        ts_buf_release(&hc->body);
    if (hc->inflated.cap > HTTP_BODY_KEEP)
        ts_buf_release(&hc->inflated);
    if (!c->dead && !keep)
        tsd_conn_close_soon(c);
    if (!later)
        return; /* the loop in http_input continues */
    if (!c->dead && keep)
        tsd_conn_block(c, false);
    tsd_conn_flush(c);
    tsd_conn_unhold(c);
}

/* --- the protocol --- */

static int http_match(const struct tsd_worker *w, const char *p, size_t n)
{
    if (n == 0 || *p < 'A' || *p > 'Z')
        return 0;
    if (w->daemon->set.rules.compat || memcmp(p, "PUT ", n < 4 ? n : 4) != 0)
        return 1;
    /* our own way: "PUT metric ..." is a line; the target of a request begins with / or * or http:// */
    if (n < 5)
        return -1;
    if (p[4] == '/' || p[4] == '*')
        return 1;
    if (p[4] != 'h')
        return 0;
    if (n < HTTP_DISTINCT_BYTES)
        return memchr(p, '\n', n) ? 0 : -1;
    return !memcmp(p + 4, "http://", 7) || !memcmp(p + 4, "https://", 8);
}

static void http_open(struct tsd_conn *c)
{
    struct http_conn *hc = ts_xcalloc(1, sizeof(*hc));
    const struct tsd_settings *set = &c->w->daemon->set;
    tsd_parser_init(&hc->parser, false, set->http_max_header_bytes);
    ts_buf_init(&hc->body, set->http_max_body_bytes);
    ts_buf_init(&hc->inflated, set->http_max_body_bytes);
    hc->body.budget = hc->inflated.budget = tsd_conn_account(c, TSD_SHARED_BODIES);
    hc->parser.head.budget = tsd_conn_account(c, TSD_SHARED_CONNECTIONS);
    c->out.budget = tsd_conn_account(c, TSD_SHARED_REPLIES);
    c->state = hc;
}

static const char http_too_large[] = "Request body is too large (http_max_body_bytes)";

/* The bytes are no request we can continue from. */
static void http_refuse(struct tsd_conn *c, struct http_conn *hc, int status, const char *text)
{
    struct tsd_req *req = &hc->req;
    *req = (struct tsd_req){
        .c = c, .w = c->w, .d = c->w->daemon, .began_ns = ts_clock_mono_ns(), .method_name = ""};
    ts_arena_init(&req->arena, 0);
    hc->reading = false;
    tsd_reply_error(req, status, text, NULL);
}

static void http_continue(struct tsd_conn *c)
{
    tsd_conn_reserve(c, TSD_REPLY_HEAD_BYTES);
    ts_buf_str(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
    if (c->out.failed && !c->dead)
        tsd_conn_kill(c);
}

/* The head is complete: is there memory for the body, and does the client wait for a 100 before it sends it?
 * False: refused. */
static bool http_head(struct tsd_conn *c, struct http_conn *hc)
{
    const struct tsd_parser *pr = &hc->parser;
    ts_buf_clear(&hc->body);
    hc->whole = (struct ts_slice){"", 0};
    if (pr->sized && pr->length > c->w->daemon->set.http_max_body_bytes) {
        http_refuse(c, hc, 413, http_too_large);
        return false;
    }
    /* a buffer that grows takes twice as much each time, and no more than the whole body */
    hc->body.max = pr->sized && pr->length ? pr->length : c->w->daemon->set.http_max_body_bytes;
    if ((pr->chunked || pr->length) && !pr->http10 &&
        ts_slice_is_nocase(tsd_parser_header(pr, "expect"), "100-continue"))
        http_continue(c);
    return !c->dead;
}

/* A piece of the body; the whole of it is used where it lies. False: refused. */
static bool http_body(struct tsd_conn *c, struct http_conn *hc)
{
    struct ts_slice piece = hc->parser.piece;
    if (hc->parser.sized && piece.n == hc->parser.length) {
        hc->whole = piece;
        return true;
    }
    if (ts_buf_slice(&hc->body, piece) == 0)
        return true;
    struct ts_error err = {0};
    bool large = hc->body.n + piece.n > c->w->daemon->set.http_max_body_bytes;
    uint64_t need =
        http_next_bytes(&hc->body) > hc->body.n + piece.n ? http_next_bytes(&hc->body) : hc->body.n + piece.n;
    if (hc->parser.sized)
        need = hc->parser.length;
    int rc = tsd_memory_no_body(&c->w->daemon->memory, hc->body.budget, need, &err);
    http_refuse(c, hc, large || rc == TS_ELIMIT ? 413 : 503, large ? http_too_large : err.text);
    return false;
}

/* One event of the parser. False: the connection takes no more requests. */
static bool http_event(struct tsd_conn *c, struct http_conn *hc, enum tsd_parse event)
{
    switch (event) {
    case TSD_PARSE_HEAD:
        return http_head(c, hc);
    case TSD_PARSE_BODY:
        return http_body(c, hc);
    case TSD_PARSE_END:
        http_request(c, hc);
        return true;
    case TSD_PARSE_BAD:
        http_refuse(c, hc, hc->parser.status, hc->parser.error);
        return false;
    default:
        return true;
    }
}

/* A request has arrived in part: of too many such requests the oldest is given up, so that new ones are served. */
static void http_incomplete(struct tsd_conn *c, struct http_conn *hc)
{
    struct tsd_worker *w = c->w;
    const struct tsd_settings *set = &w->daemon->set;
    tsd_conn_incomplete(c, hc->reading && !c->dead && !c->closing);
    if (!set->max_incomplete_requests || (uint64_t)w->n_half * set->n_workers <= set->max_incomplete_requests)
        return;
    struct tsd_conn *oldest = w->half_first;
    tsd_conn_incomplete(oldest, false);
    tsd_count(&w->counts.n_incomplete, 1);
    http_refuse(
        oldest, oldest->state, 503,
        "Too many requests have arrived in part only (max_incomplete_requests), and this one is the oldest");
    if (oldest != c)
        tsd_conn_flush(oldest);
}

/* Has the client left so much unread that its next requests must wait? */
static bool http_is_behind(const struct tsd_conn *c)
{
    size_t unsent = tsd_conn_unsent(c);
    return unsent > HTTP_CHOKE_BYTES ||
           (unsent > HTTP_CHOKE_LEAST && ts_budget_room(c->out.budget) < HTTP_CHOKE_BYTES);
}

/* May n bytes of further requests wait until other connections had their turn? Not where there is no memory to keep them. */
static bool http_may_wait(const struct tsd_conn *c, size_t n)
{
    return !c->dead && !c->blocked && !c->closing &&
           (n <= c->tail.cap || ts_budget_room(c->tail.budget) / 4 > n);
}

static size_t http_input(struct tsd_conn *c, const char *p, size_t n, bool eof)
{
    struct http_conn *hc = c->state;
    size_t used = 0;
    enum tsd_parse event = TSD_PARSE_END;
    int64_t began_ns = ts_clock_mono_ns();
    tsd_ingest_begin(&c->w->ingest);
    while ((used < n || event != TSD_PARSE_MORE) && !c->closing && !c->blocked && !c->dead) {
        size_t k;
        if (!hc->reading && used < n) {
            hc->reading = true;
            hc->began_ms = c->w->now_ms;
            hc->req.began_ns = ts_clock_mono_ns();
        }
        event = tsd_parser_next(&hc->parser, p + used, n - used, &k);
        used += k;
        if (tsd_parser_idle(&hc->parser)) /* empty lines begin no request */
            hc->reading = false;
        if (!http_event(c, hc, event)) {
            tsd_conn_incomplete(c, false);
            return n;
        }
        if (event == TSD_PARSE_END && !c->blocked && !c->dead && http_is_behind(c)) {
            tsd_conn_flush(c);
            if (!c->dead && http_is_behind(c)) {
                hc->choked = true;
                tsd_conn_block(c, true);
            }
        }
        if (event == TSD_PARSE_END && used < n && http_may_wait(c, n - used) &&
            ts_clock_mono_ns() - began_ns > HTTP_TURN_NS) {
            c->again = true;
            break;
        }
    }
    if (eof && hc->reading && used == n && !c->dead)
        tsd_conn_close_soon(c);
    http_incomplete(c, hc);
    return c->dead ? n : used;
}

static void http_sent(struct tsd_conn *c)
{
    struct http_conn *hc = c->state;
    if (!hc->choked)
        return;
    hc->choked = false;
    tsd_conn_block(c, false);
}

static void http_tick(struct tsd_conn *c)
{
    struct http_conn *hc = c->state;
    if (hc->reading && !c->closing && c->w->now_ms - hc->began_ms > c->w->daemon->set.http_read_timeout_ms) {
        tsd_conn_incomplete(c, false);
        http_refuse(c, hc, 408, "The request did not arrive in time (http_read_timeout_s)");
        tsd_conn_flush(c);
        return;
    }
    if (c->eof && hc->req.job && !tsd_job_committed(hc->req.job) && c->w->now_ms - c->eof_ms > HTTP_GONE_MS)
        tsd_job_gone(hc->req.job);
    if (hc->req.job)
        tsd_job_tick(hc->req.job);
}

static void http_close(struct tsd_conn *c)
{
    struct http_conn *hc = c->state;
    if (hc->req.job)
        tsd_job_gone(hc->req.job);
}

static void http_free(struct tsd_conn *c)
{
    struct http_conn *hc = c->state;
    tsd_parser_release(&hc->parser);
    ts_buf_release(&hc->body);
    ts_buf_release(&hc->inflated);
    ts_arena_release(&hc->req.arena);
    ts_free(hc);
    c->state = NULL;
}

const struct tsd_protocol tsd_http_protocol = {.name = "http",
                                               .match = http_match,
                                               .open = http_open,
                                               .input = http_input,
                                               .sent = http_sent,
                                               .tick = http_tick,
                                               .close = http_close,
                                               .free = http_free};
