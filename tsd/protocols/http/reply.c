/*
 * reply.c - status line, headers, bodies, errors.
 *
 * Threads    see http.h
 * Not here   replies in pieces (job.c)
 */
#include "tsd/protocols/http/http.h"

#include "base/json.h"
#include "tsd/protocols/http/gzip.h"
#include "tsd/protocols/http/parser.h"
#include "tsd/net/worker.h"

#define REPLY_GZIP_MIN_BYTES 1400 /* smaller replies fit one packet as they are */

/* On every answer: types are what we say, and pages of other sites show none of ours in a frame. Our page loads scripts, styles,
 * pictures and data from here alone, sends no form, and tells no other site what it shows. */
static const char reply_policy[] = "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
                                   "Content-Security-Policy: default-src 'none'; script-src 'self'; "
                                   "style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                                   "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
                                   "Referrer-Policy: no-referrer\r\n";
static const char reply_type_script[] =
    "application/javascript; charset=UTF-8"; /* jsonp; browsers run no other type */

const char tsd_type_json[] = "application/json; charset=UTF-8";
const char tsd_type_html[] = "text/html; charset=UTF-8";
const char tsd_type_text[] = "text/plain; charset=UTF-8";

int tsd_http_status(int code, bool compat)
{
    static const int status[TS_ERR_COUNT] = {
        [0] = 200,
        [-TS_ENOMEM] = 503,
        [-TS_EIO] = 500,
        [-TS_ENOSPC] = 503,
        [-TS_ECORRUPT] = 500,
        [-TS_EVERSION] = 501,
        [-TS_ENOTFOUND] =
            400, /* an unknown name in a query is the client's fault; unknown paths say 404 themselves */
        [-TS_EEXIST] = 409,
        [-TS_EINVAL] = 400,
        [-TS_EPARSE] = 400,
        [-TS_ELIMIT] = 413,
        [-TS_EBUSY] = 503,
        [-TS_ETIMEOUT] = 408,
        [-TS_ECANCELLED] = 503,
        [-TS_EBACKEND] = 503,
        [-TS_EMFILE] = 503,
    };
    if (code == TS_EBACKEND && compat)
        return 424; /* as OpenTSDB when HBase fails */
    return code <= 0 && code > -TS_ERR_COUNT ? status[-code] : 500;
}

const char *tsd_http_phrase(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {413, "Payload Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {424, "Failed Dependency"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "Unknown";
}

/* Statuses whose replies have neither body nor length: RFC 9110, 8.6 and 15.4.5. */
static bool reply_is_bare(int status)
{
    return status == 204 || status == 304;
}

/* Header Allow of a 405: the methods of the endpoint without the one that was sent. */
static void reply_allow(const struct tsd_req *req, struct ts_buf *out)
{
    static const struct {
        unsigned method;  /* of enum tsd_method */
        const char *name; /* as in the header */
    } methods[] = {{TSD_GET, "GET, HEAD"},
                   {TSD_POST, "POST"},
                   {TSD_PUT, "PUT"},
                   {TSD_DELETE, "DELETE"},
                   {TSD_OPTIONS, "OPTIONS"}};
    const struct tsd_endpoint *e = req->path.p ? tsd_endpoint_find(req->path) : NULL;
    const char *sep = "";
    if (!e)
        return;
    unsigned allowed = tsd_endpoint_methods(e) & ~(req->by_get ? (unsigned)TSD_GET : (unsigned)req->method);
    if (!req->d->set.rules.compat && !(e->flags & TSD_EP_HARMLESS))
        allowed &= ~((e->changes | e->admin) & (unsigned)TSD_GET);
    ts_buf_str(out, "Allow: ");
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (allowed & methods[i].method) {
            ts_buf_printf(out, "%s%s", sep, methods[i].name);
            sep = ", ";
        }
    }
    ts_buf_str(out, "\r\n");
}

void tsd_reply_head(struct tsd_req *req, int status, const char *type, int64_t length, bool gzip)
{
    struct ts_buf *out = &req->c->out;
    bool chunks = length < 0 && !reply_is_bare(status) && !req->head;
    if (req->c->dead)
        return;
    if (chunks && req->http10)
        req->keep_alive = false;
    ts_buf_printf(out, "HTTP/1.1 %d %s\r\n", status, tsd_http_phrase(status));
    if (type)
        ts_buf_printf(out, "Content-Type: %s\r\n",
                      type == tsd_type_json && tsd_req_jsonp(req).n ? reply_type_script : type);
    ts_buf_str(out, reply_policy);
    if (length >= 0)
        ts_buf_printf(out, "Content-Length: %lld\r\n", (long long)length);
    else if (chunks && !req->http10)
        ts_buf_printf(out, "Transfer-Encoding: chunked\r\n%s",
                      req->pages ? "Trailer: " TSD_HEADER_AFTER "\r\n" : "");
    if (gzip)
        ts_buf_printf(out, "Content-Encoding: %s\r\n", req->deflate ? "deflate" : "gzip");
    if (gzip || req->etag)
        ts_buf_str(out, "Vary: Accept-Encoding\r\n");
    if (req->has_max_age && status == 200)
        ts_buf_printf(out, "Cache-Control: max-age=%lld\r\n", (long long)req->max_age_s);
    if (req->etag)
        ts_buf_printf(out, "ETag: %s\r\nCache-Control: no-cache\r\n", req->etag);
    if (req->location)
        ts_buf_printf(out, "Location: %s\r\n", req->location);
    if (req->ignored)
        ts_buf_printf(out, "X-Tsd-Ignored: %s\r\n", req->ignored);
    ts_buf_slice(out, req->after);
    if (req->partial)
        ts_buf_printf(out, "X-Tsd-Partial: %s\r\n", req->partial);
    if (req->left_out)
        ts_buf_printf(out, TSD_HEADER_LEFT_OUT ": %s\r\n", req->left_out);
    if (status == 503 || status == 429)
        ts_buf_str(out, "Retry-After: 1\r\n");
    if (status == 405)
        reply_allow(req, out);
    if (req->cors_ok) {
        ts_buf_str(out, "Access-Control-Allow-Origin: ");
        ts_buf_slice(out, req->origin);
        ts_buf_printf(out,
                      "\r\nVary: Origin\r\nAccess-Control-Allow-Methods: GET, POST, PUT, DELETE\r\n"
                      "Access-Control-Allow-Headers: %s\r\n",
                      req->d->set.cors_headers);
    }
    if (!req->keep_alive)
        ts_buf_str(out, "Connection: close\r\n");
    else if (req->http10)
        ts_buf_str(out, "Connection: keep-alive\r\n");
    ts_buf_str(out, "\r\n");
}

/* Compressed copy in the request's arena; as it is if that is not smaller or there is no memory. */
static bool reply_gzip(struct tsd_req *req, struct ts_slice *body)
{
    char *p = ts_arena_try(&req->arena, body->n);
    struct ts_slice in = *body;
    bool ended;
    if (!p)
        return false;
    struct tsd_gzip *z = tsd_gzip_new(req->deflate);
    size_t n = tsd_gzip_run(z, &in, p, body->n, true, &ended);
    tsd_gzip_free(z);
    if (!ended)
        return false;
    *body = (struct ts_slice){p, n};
    return true;
}

static struct ts_slice reply_jsonp(struct tsd_req *req, struct ts_slice cb, struct ts_slice body)
{
    char *p = ts_arena_alloc(&req->arena, cb.n + body.n + 2);
    memcpy(p, cb.p, cb.n);
    p[cb.n] = '(';
    if (body.n)
        memcpy(p + cb.n + 1, body.p, body.n);
    p[cb.n + 1 + body.n] = ')';
    return (struct ts_slice){p, cb.n + body.n + 2};
}

void tsd_reply(struct tsd_req *req, int status, const char *type, struct ts_slice body)
{
    struct ts_slice cb = tsd_req_jsonp(req);
    if (cb.n && type == tsd_type_json)
        body = reply_jsonp(req, cb, body);
    bool gzip = req->gzip_ok && req->d->set.http_gzip && body.n >= REPLY_GZIP_MIN_BYTES &&
                body.n < UINT32_MAX && reply_gzip(req, &body);
    tsd_conn_reserve(req->c, TSD_REPLY_HEAD_BYTES + (req->head ? 0 : body.n));
    tsd_reply_head(req, status, type, (int64_t)body.n, gzip);
    if (!req->head && !req->c->dead && body.n)
        ts_buf_slice(&req->c->out, body);
    if (req->c->out.failed && !req->c->dead)
        tsd_conn_kill(req->c); /* half a reply is worse than none */
    tsd_reply_done(req);
}

/* Does If-None-Match name one of the tags of a body? Tags hold hexadecimal digits only, so that finding the text is enough. */
static bool reply_matches(struct ts_slice header, const struct tsd_constant *body)
{
    return ts_slice_is(header, "*") ||
           (header.n && (memmem(header.p, header.n, body->etag, strlen(body->etag)) ||
                         memmem(header.p, header.n, body->etag_gzip, strlen(body->etag_gzip))));
}

void tsd_reply_constant(struct tsd_req *req, const struct tsd_constant *body)
{
    bool gzip = req->gzip_ok && !req->deflate && req->d->set.http_gzip;
    struct ts_slice bytes = gzip ? body->gzip : body->plain;
    req->etag = gzip ? body->etag_gzip : body->etag;
    if (reply_matches(req->if_none_match, body)) {
        tsd_reply_empty(req, 304);
        return;
    }
    tsd_conn_reserve(req->c, TSD_REPLY_HEAD_BYTES + (req->head ? 0 : bytes.n));
    tsd_reply_head(req, 200, body->type, (int64_t)bytes.n, gzip);
    if (!req->head && !req->c->dead)
        ts_buf_slice(&req->c->out, bytes);
    if (req->c->out.failed && !req->c->dead)
        tsd_conn_kill(req->c);
    tsd_reply_done(req);
}

void tsd_reply_json(struct tsd_req *req, int status, struct ts_slice body)
{
    tsd_reply(req, status, tsd_type_json, body);
}

void tsd_reply_json_take(struct tsd_req *req, int status, struct ts_buf *body)
{
    tsd_reply_json(req, status, ts_buf_get(body));
    ts_buf_release(body);
}

void tsd_reply_empty(struct tsd_req *req, int status)
{
    if (reply_is_bare(status)) {
        tsd_conn_reserve(req->c, TSD_REPLY_HEAD_BYTES);
        tsd_reply_head(req, status, NULL, -1, false);
        tsd_reply_done(req);
        return;
    }
    tsd_reply(req, status, NULL, (struct ts_slice){"", 0});
}

void tsd_reply_html_text(struct ts_buf *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            ts_buf_str(b, "&lt;");
        else if (*text == '&')
            ts_buf_str(b, "&amp;");
        else
            ts_buf_char(b, *text);
    }
}

/* Errors of paths outside of /api: {"err":..} if json is requested, else a page. */
static void reply_error_old(struct tsd_req *req, int status, const char *message)
{
    struct ts_buf b;
    struct ts_json j;
    bool json = tsd_req_flag(req, "json");
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    if (json) {
        ts_json_obj(&j);
        ts_json_member_str(&j, "err", message);
        ts_json_obj_end(&j);
    } else {
        const char *title = status == 404  ? "Page Not Found"
                            : status < 500 ? "Bad Request"
                                           : "Internal Server Error";
        ts_buf_printf(&b, "<!DOCTYPE html><html><head><title>%s</title></head><body><h1>%s</h1><p>", title,
                      title);
        tsd_reply_html_text(&b, message);
        ts_buf_str(&b, "</p></body></html>");
    }
    tsd_reply(req, status, json ? tsd_type_json : tsd_type_html, ts_buf_get(&b));
    ts_buf_release(&b);
}

static bool reply_is_old(const struct tsd_req *req)
{
    return req->path.p && !(req->path.n >= 3 && !memcmp(req->path.p, "api", 3) &&
                            (req->path.n == 3 || req->path.p[3] == '/'));
}

void tsd_reply_error(struct tsd_req *req, int status, const char *message, const char *details)
{
    struct ts_buf b;
    struct ts_json j;
    if (status >= 500 && status != 503 && status != 501)
        tsd_count(&req->w->counts.n_exceptions, 1);
    if (reply_is_old(req)) {
        reply_error_old(req, status, message);
        return;
    }
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    ts_json_member_obj(&j, "error");
    ts_json_member_int(&j, "code", status);
    ts_json_member_str(&j, "message", message);
    if (details && *details)
        ts_json_member_str(&j, "details", details);
    ts_json_obj_end(&j);
    ts_json_obj_end(&j);
    tsd_reply_json_take(req, status, &b);
}

void tsd_reply_method(struct tsd_req *req)
{
    char details[96];
    (void)snprintf(details, sizeof(details), "The HTTP method [%.20s] is not permitted for this endpoint",
                   req->method_name);
    tsd_reply_error(req, 405, "Method not allowed", details);
}

void tsd_reply_err(struct tsd_req *req, int code, const char *message)
{
    tsd_reply_error(req, tsd_http_status(code, req->d->set.rules.compat),
                    message && *message ? message : ts_err_text(code), NULL);
}
