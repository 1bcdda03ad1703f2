/*
 * http.c - requests out of bytes, one at a time for each connection.
 *
 * Threads    see http.h
 * Not here   paths (request.c, routes.c), replies (reply.c, job.c), endpoints (ep_*.c)
 */
#include "tsd/http/http.h"

#include "base/time.h"
#include "tsd/http/gzip.h"
#include "tsd/http/job.h"
#include "tsd/worker.h"

#include <http_parser.h>
#include <strings.h>

#define HTTP_MAX_HEADERS 128
#define HTTP_CHOKE_BYTES ((size_t)1 << 20) /* replies to pipelined requests a client may leave unread */
#define HTTP_GONE_MS     5000 /* a client that shut its side gets its reply if it comes within this time */
#define HTTP_BODY_KEEP   ((size_t)4 << 10) /* larger buffers are given back after the request */
#define HTTP_TELL_BYTES  12                /* "PUT https://": enough to tell a request from a line */

/* One header: places in http_conn.head. */
struct http_header {
    uint32_t name_off, name_n;
    uint32_t value_off, value_n;
};

struct http_conn {
    http_parser parser; /* the library's */
    struct tsd_req req; /* the request being read or worked on */
    struct ts_buf head; /* its target, then names and values of headers */
    uint32_t target_n;  /* bytes of the target */
    struct http_header headers[HTTP_MAX_HEADERS];
    unsigned n_headers;     /* in use */
    bool in_value;          /* the parser is in a value */
    struct ts_buf body;     /* as sent, if it came in pieces */
    struct ts_buf inflated; /* after Content-Encoding */
    struct ts_slice whole;  /* body, if it came in one piece */
    int64_t began_ms;       /* worker's clock at the first byte of the request */
    bool reading;           /* between first byte and end of a request */
    bool complete;          /* a request is there */
    bool choked;            /* too many replies unread */
    int fail_status;        /* refuse the request with this */
    const char *fail_text;  /* and this */
};

static http_parser_settings http_callbacks;
static const char http_no_memory[] =
    "Too many bytes of request bodies are under way (http_body_total_bytes): try again later";

/* --- parser callbacks: 0 = go on --- */

static int http_fail(struct http_conn *hc, int status, const char *text)
{
    if (!hc->fail_status) {
        hc->fail_status = status;
        hc->fail_text = text;
    }
    return -1;
}

static int http_keep(struct http_conn *hc, const char *p, size_t n)
{
    if (ts_buf_append(&hc->head, p, n) < 0)
        return http_fail(hc, hc->n_headers ? 431 : 414,
                         "Request line and headers are too large (http_max_header_bytes)");
    return 0;
}

static int http_on_begin(http_parser *parser)
{
    struct tsd_conn *c = parser->data;
    struct http_conn *hc = c->state;
    ts_buf_clear(&hc->head);
    ts_buf_clear(&hc->body);
    hc->target_n = 0;
    hc->n_headers = 0;
    hc->in_value = true; /* so that the first name begins a header */
    hc->whole = (struct ts_slice){"", 0};
    hc->reading = true;
    hc->began_ms = c->w->now_ms;
    hc->req.began_ns = ts_clock_mono_ns();
    return 0;
}

static int http_on_url(http_parser *parser, const char *p, size_t n)
{
    struct http_conn *hc = ((struct tsd_conn *)parser->data)->state;
    hc->target_n += (uint32_t)n;
    return http_keep(hc, p, n);
}

static int http_on_field(http_parser *parser, const char *p, size_t n)
{
    struct http_conn *hc = ((struct tsd_conn *)parser->data)->state;
    if (hc->in_value) {
        if (hc->n_headers == HTTP_MAX_HEADERS)
            return http_fail(hc, 431, "Too many headers");
        hc->headers[hc->n_headers++] = (struct http_header){.name_off = (uint32_t)hc->head.n};
        hc->in_value = false;
    }
    hc->headers[hc->n_headers - 1].name_n += (uint32_t)n;
    return http_keep(hc, p, n);
}

static int http_on_value(http_parser *parser, const char *p, size_t n)
{
    struct http_conn *hc = ((struct tsd_conn *)parser->data)->state;
    struct http_header *h = &hc->headers[hc->n_headers - 1];
    if (!hc->in_value) {
        hc->in_value = true;
        h->value_off = (uint32_t)hc->head.n;
    }
    h->value_n += (uint32_t)n;
    return http_keep(hc, p, n);
}

static struct ts_slice http_header(const struct http_conn *hc, const char *name)
{
    size_t n = strlen(name);
    for (unsigned i = 0; i < hc->n_headers; i++) {
        const struct http_header *h = &hc->headers[i];
        if (h->name_n == n && !strncasecmp(hc->head.p + h->name_off, name, n))
            return (struct ts_slice){hc->head.p + h->value_off, h->value_n};
    }
    return (struct ts_slice){"", 0};
}

static bool http_is(struct ts_slice s, const char *word)
{
    return s.n == strlen(word) && !strncasecmp(s.p, word, s.n);
}

static int http_on_headers(http_parser *parser)
{
    struct tsd_conn *c = parser->data;
    struct http_conn *hc = c->state;
    size_t max = c->w->daemon->set.http_max_body_bytes;
    parser->upgrade = 0; /* "Upgrade: h2c" is an offer we don't take */
    bool sized = (parser->flags & F_CONTENTLENGTH) != 0, chunked = (parser->flags & F_CHUNKED) != 0;
    if (sized && parser->content_length > max)
        return http_fail(hc, 413, "Request body is too large (http_max_body_bytes)");
    if (http_is(http_header(hc, "expect"), "100-continue") && (chunked || (sized && parser->content_length)))
        ts_buf_str(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
    return 0;
}

static int http_on_body(http_parser *parser, const char *p, size_t n)
{
    struct tsd_conn *c = parser->data;
    struct http_conn *hc = c->state;
    if (hc->body.n == 0 && parser->content_length == 0 && !(parser->flags & F_CHUNKED)) {
        hc->whole = (struct ts_slice){p, n};
        return 0;
    }
    if (ts_buf_append(&hc->body, p, n) == 0)
        return 0;
    if (hc->body.n + n > c->w->daemon->set.http_max_body_bytes)
        return http_fail(hc, 413, "Request body is too large (http_max_body_bytes)");
    return http_fail(hc, 503, http_no_memory);
}

static int http_on_complete(http_parser *parser)
{
    struct http_conn *hc = ((struct tsd_conn *)parser->data)->state;
    hc->complete = true;
    http_parser_pause(parser, 1);
    return 0;
}

void tsd_http_setup(const struct tsd_settings *set)
{
    http_parser_settings_init(&http_callbacks);
    http_callbacks.on_message_begin = http_on_begin;
    http_callbacks.on_url = http_on_url;
    http_callbacks.on_header_field = http_on_field;
    http_callbacks.on_header_value = http_on_value;
    http_callbacks.on_headers_complete = http_on_headers;
    http_callbacks.on_body = http_on_body;
    http_callbacks.on_message_complete = http_on_complete;
    http_parser_set_max_header_size((uint32_t)set->http_max_header_bytes + 4096);
}

/* --- a whole request --- */

static enum tsd_method http_method_of(const http_parser *parser)
{
    switch ((enum http_method)parser->method) {
    case HTTP_GET:
    case HTTP_HEAD:
        return TSD_GET;
    case HTTP_POST:
        return TSD_POST;
    case HTTP_PUT:
        return TSD_PUT;
    case HTTP_DELETE:
        return TSD_DELETE;
    case HTTP_OPTIONS:
        return TSD_OPTIONS;
    default:
        return TSD_OTHER;
    }
}

/* Does a list like "gzip, deflate;q=0" allow a coding? */
static bool http_takes(struct ts_slice list, const char *coding)
{
    for (size_t i = 0; i < list.n;) {
        size_t end = i;
        while (end < list.n && list.p[end] != ',')
            end++;
        while (i < end && list.p[i] == ' ')
            i++;
        size_t word = i;
        while (word < end && list.p[word] != ';' && list.p[word] != ' ')
            word++;
        struct ts_slice name = {list.p + i, word - i}, rest = {list.p + word, end - word};
        if (http_is(name, coding) || http_is(name, "*"))
            return !memmem(rest.p, rest.n, "q=0", 3) || memmem(rest.p, rest.n, "q=0.", 4);
        i = end + 1;
    }
    return false;
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
                       (int)(req->origin.n < 400 ? req->origin.n : 400), req->origin.p);
        tsd_reply_error(req, 200, "CORS domain not allowed", details);
        return true;
    }
    req->cors_ok = true;
    if (req->method != TSD_OPTIONS)
        return false;
    tsd_reply_empty(req, 200);
    return true;
}

/* Undo Content-Encoding; false when the request is answered here. */
static bool http_inflate(struct tsd_req *req, struct http_conn *hc)
{
    struct ts_slice coding = http_header(hc, "content-encoding");
    struct ts_error err = {0};
    if (req->body.n == 0 || coding.n == 0 || http_is(coding, "identity"))
        return true;
    if (!http_is(coding, "gzip") && !http_is(coding, "x-gzip") && !http_is(coding, "deflate")) {
        tsd_reply_error(req, 415, "Unsupported Content-Encoding", NULL);
        return false;
    }
    int rc = tsd_gunzip(req->body, req->d->set.http_max_inflate_ratio, &hc->inflated, &err);
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
    static const struct {
        const char *name;
        enum tsd_method method;
    } methods[] = {{"GET", TSD_GET}, {"POST", TSD_POST}, {"PUT", TSD_PUT}, {"DELETE", TSD_DELETE}};
    struct ts_slice word;
    if (req->method != TSD_GET || !tsd_req_param(req, "method_override", &word))
        return true;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (http_is(word, methods[i].name)) {
            req->method = methods[i].method;
            req->method_name = methods[i].name;
            return true;
        }
    }
    tsd_reply_error(req, 405,
                    word.n ? "Unknown or unsupported method override value" : "Missing method override value",
                    NULL);
    return false;
}

/* Replies are JSON: another serializer is a plug-in that is not there. True when the request is answered here. */
static bool http_serializer(struct tsd_req *req)
{
    struct ts_slice name;
    if (!tsd_req_param(req, "serializer", &name) || http_is(name, "json"))
        return false;
    char details[160];
    (void)snprintf(details, sizeof(details), "Could not find a serializer with the name: %.*s",
                   (int)(name.n < 64 ? name.n : 64), name.p);
    tsd_reply_error(req, 400, "Requested serializer was not found", details);
    return true;
}

static void http_route(struct tsd_req *req, struct http_conn *hc)
{
    struct tsd_denial denial;
    const struct tsd_endpoint *e = tsd_endpoint_find(req->path);
    if (!e || (e->flags & req->d->set.ep_hidden)) {
        tsd_reply_error(req, 404, "Endpoint not found", NULL);
        return;
    }
    if ((e->flags & TSD_EP_OVERRIDE) && !http_override(req))
        return;
    if (!(tsd_endpoint_methods(e) & (unsigned)req->method))
        tsd_reply_method(req);
    else if (!tsd_access_endpoint(req, e, &denial))
        tsd_reply_error(req, denial.status, denial.message, NULL);
    else if (http_inflate(req, hc))
        e->run(req);
}

static void http_request(struct tsd_conn *c, struct http_conn *hc)
{
    struct tsd_req *req = &hc->req;
    int64_t began_ns = req->began_ns;
    *req = (struct tsd_req){.c = c, .w = c->w, .d = c->w->daemon, .began_ns = began_ns};
    ts_arena_init(&req->arena, 0);
    hc->reading = false;
    req->method = http_method_of(&hc->parser);
    req->method_name = http_method_str((enum http_method)hc->parser.method);
    req->head = hc->parser.method == HTTP_HEAD;
    req->by_get = req->method == TSD_GET;
    req->http10 = hc->parser.http_major < 1 || (hc->parser.http_major == 1 && hc->parser.http_minor == 0);
    req->keep_alive = http_should_keep_alive(&hc->parser) && !c->w->draining;
    req->host = http_header(hc, "host");
    req->origin = http_header(hc, "origin");
    req->fetch_site = http_header(hc, "sec-fetch-site");
    req->content_type = http_header(hc, "content-type");
    req->accept = http_header(hc, "accept");
    struct ts_slice codings = http_header(hc, "accept-encoding");
    bool gzip = http_takes(codings, "gzip");
    req->deflate = !gzip && http_takes(codings, "deflate");
    req->gzip_ok = gzip || req->deflate;
    req->body_borrowed = hc->body.n == 0;
    req->body = hc->body.n ? ts_buf_get(&hc->body) : hc->whole;
    tsd_count(&c->w->counts.n_http, 1);
    struct ts_error err = {0};
    int rc = tsd_req_target(req, (struct ts_slice){hc->head.p, hc->target_n}, &err);
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
    for (unsigned i = 0; i < hc->n_headers; i++) {
        const struct http_header *h = &hc->headers[i];
        struct ts_slice name = {hc->head.p + h->name_off, h->name_n};
        bool secret = http_is(name, "cookie") || http_is(name, "authorization");
        ts_json_member_slices(j, name,
                              secret ? TS_SLICE_LIT("*******")
                                     : (struct ts_slice){hc->head.p + h->value_off, h->value_n});
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
    ts_arena_release(&req->arena);
    req->later = false;
    if (hc->body.cap > HTTP_BODY_KEEP)
        ts_buf_release(&hc->body);
    if (hc->inflated.cap > HTTP_BODY_KEEP)
        ts_buf_release(&hc->inflated);
    if (!c->dead && !keep)
        tsd_conn_close_soon(c);
    if (!later)
        return; /* the loop in http_input goes on */
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
    if (n < HTTP_TELL_BYTES)
        return memchr(p, '\n', n) ? 0 : -1;
    return !memcmp(p + 4, "http://", 7) || !memcmp(p + 4, "https://", 8);
}

static void http_open(struct tsd_conn *c)
{
    struct http_conn *hc = ts_xcalloc(1, sizeof(*hc));
    const struct tsd_settings *set = &c->w->daemon->set;
    struct tsd_memory *memory = &c->w->daemon->memory;
    http_parser_init(&hc->parser, HTTP_REQUEST);
    hc->parser.data = c;
    ts_buf_init(&hc->head, set->http_max_header_bytes);
    ts_buf_init(&hc->body, set->http_max_body_bytes);
    ts_buf_init(&hc->inflated, set->http_max_body_bytes);
    hc->body.budget = hc->inflated.budget = tsd_memory_account(memory, TSD_MEM_BODIES);
    hc->head.budget = tsd_memory_account(memory, TSD_MEM_CONNECTIONS);
    c->out.budget = tsd_memory_account(memory, TSD_MEM_REPLIES);
    c->state = hc;
}

/* The bytes are no request we can go on from. */
static void http_refuse(struct tsd_conn *c, struct http_conn *hc, int status, const char *text)
{
    struct tsd_req *req = &hc->req;
    *req = (struct tsd_req){
        .c = c, .w = c->w, .d = c->w->daemon, .began_ns = ts_clock_mono_ns(), .method_name = ""};
    ts_arena_init(&req->arena, 0);
    hc->reading = false;
    tsd_reply_error(req, status, text, NULL);
}

/* What the parser says after a piece: true = go on with the next. */
static bool http_after(struct tsd_conn *c, struct http_conn *hc)
{
    enum http_errno e = HTTP_PARSER_ERRNO(&hc->parser);
    if (e == HPE_PAUSED) {
        http_parser_pause(&hc->parser, 0);
        hc->complete = false;
        http_request(c, hc);
        return true;
    }
    if (e == HPE_OK)
        return true;
    char text[160];
    (void)snprintf(text, sizeof(text), "Bad request: %s", http_errno_description(e));
    if (hc->fail_status)
        http_refuse(c, hc, hc->fail_status, hc->fail_text);
    else
        http_refuse(c, hc, e == HPE_HEADER_OVERFLOW ? 431 : 400, text);
    return false;
}

static size_t http_input(struct tsd_conn *c, const char *p, size_t n, bool eof)
{
    struct http_conn *hc = c->state;
    size_t used = 0;
    tsd_ingest_begin(&c->w->ingest);
    while (used < n && !c->closing && !c->blocked && !c->dead) {
        used += http_parser_execute(&hc->parser, &http_callbacks, p + used, n - used);
        if (!http_after(c, hc))
            return n;
        if (tsd_conn_unsent(c) > HTTP_CHOKE_BYTES && !c->blocked && !c->dead) {
            tsd_conn_flush(c);
            if (!c->dead && tsd_conn_unsent(c) > HTTP_CHOKE_BYTES) {
                hc->choked = true;
                tsd_conn_block(c, true);
            }
        }
    }
    if (eof && hc->reading && used == n && !c->dead)
        tsd_conn_close_soon(c);
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
        http_refuse(c, hc, 408, "The request did not arrive in time (http_read_timeout_s)");
        tsd_conn_flush(c);
        return;
    }
    if (c->eof && hc->req.job && !tsd_job_committed(hc->req.job) && c->w->now_ms - c->eof_ms > HTTP_GONE_MS)
        tsd_job_gone(hc->req.job);
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
    ts_buf_release(&hc->head);
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
