/*
 * http.h - HTTP/1.1 on a connection: reads requests, routes them by a table, sends replies.
 *
 * parser.c parses messages (docs/ARCHITECTURE.md, "HTTP layer"). A connection handles one request at a time; further
 * input waits in the connection's tail. A handler replies at once with tsd_reply_*, or later: then it has started a
 * job (job.h) or holds the connection itself.
 *
 * Threads    the connection's worker, if not said otherwise
 * Source     docs/OPENTSDB.md, section 2.1
 */
#ifndef TSD_PROTOCOLS_HTTP_HTTP_H
#define TSD_PROTOCOLS_HTTP_HTTP_H

#include "base/json.h"
#include "base/mem.h"
#include "tsd/net/conn.h"
#include "tsd/daemon/daemon.h"
#include "tsd/protocols/http/access.h"
#include "tsd/meta/method.h"

struct tsd_job;

#define TSD_REQ_SMALL_BYTES                                                                                  \
    ((size_t)16 << 10) /* a body up to this is small: its JSON tree needs little memory */

/* A whole request. Slices live until the reply is finished, except body: see tsd_req_keep_body. */
struct tsd_req {
    struct tsd_conn *c;            /* where it came from */
    struct tsd_worker *w;          /* whose thread works on it */
    struct tsd_daemon *d;          /* shared things */
    struct ts_arena arena;         /* for the life of the request */
    enum tsd_method method;        /* HEAD counts as GET; after method_override */
    const char *method_name;       /* as sent, or as overridden */
    struct ts_slice path;          /* lower case, decoded, no slash at either end, "api/v1/" is "api/" */
    struct qry_param *params;      /* of the query string, decoded */
    size_t n_params;               /* how many */
    struct ts_slice body;          /* inflated */
    struct ts_slice host;          /* header Host */
    struct ts_slice target_host;   /* "name:port" of a target in absolute form, else empty */
    struct ts_slice origin;        /* header Origin */
    struct ts_slice fetch_site;    /* header Sec-Fetch-Site */
    struct ts_slice content_type;  /* header Content-Type */
    struct ts_slice accept;        /* header Accept */
    struct ts_slice if_none_match; /* header If-None-Match */
    int64_t began_ns;              /* monotonic time when its first byte was seen */
    bool by_get;                   /* sent as GET or HEAD, whatever method_override says */
    bool head;                     /* HEAD: the reply has no body */
    bool http10;                   /* no chunks */
    bool trailers;                 /* the client takes trailers behind chunks (TE: trailers) */
    bool keep_alive;               /* the connection continues */
    bool gzip_ok;                  /* the client takes a compressed reply */
    bool deflate;                  /* of which it knows deflate and not gzip */
    bool cors_ok;                  /* reply with CORS headers */
    bool body_borrowed;            /* body lies in the worker's buffer */
    bool later;                    /* the reply comes later: set by tsd_req_later */
    bool has_max_age;              /* the reply says for how long it may be kept: */
    int64_t max_age_s;             /* Cache-Control */
    const char *etag;     /* header ETag of the reply, which clients must revalidate each time; or NULL */
    const char *location; /* header Location of the reply, no line break in it; in the arena, or NULL */
    const char
        *ignored; /* members of the body that were ignored: header X-Tsd-Ignored of the reply, or NULL */
    struct ts_slice after; /* the line of the header X-Tsd-After of the reply; n 0: there is none */
    bool pages;            /* of a reply in chunks: this header follows them as a trailer, perhaps */
    const char *partial;   /* what could not be read: header X-Tsd-Partial of the reply, or NULL */
    const char *left_out;  /* header X-Tsd-Left-Out of the reply, or NULL */
    struct tsd_job *job;   /* running for it, or NULL */
};

enum tsd_endpoint_flag {
    TSD_EP_OVERRIDE = 1, /* GET with method_override=post, put or delete counts as that method */
    TSD_EP_OURS = 2,     /* OpenTSDB 2.4 has no such path: 404 with compat = opentsdb */
    TSD_EP_READS = 4,    /* 404 with mode = wo */
    TSD_EP_STORES = 8,   /* 404 with mode = ro */
    TSD_EP_HARMLESS =
        16, /* its GET may change something without compat: clients in use send it, and no data changes */
    TSD_EP_QUERY = 32, /* parameters of queries are known beside params */
    TSD_EP_WRITER =
        64, /* unknown parameters are refused only if they resemble a known one; otherwise points would be
             * lost */
};
/* An endpoint, a row of routes.c. One of run, job and print is set. Each method is in one of reads, changes and admin;
 * access.c checks them. */
struct tsd_endpoint {
    const char *path; /* as tsd_req.path: "api/put"; "api/tree/" followed by a star: all below */
    const char *help; /* one sentence */
    void (*run)(struct tsd_req *req);                      /* answers, or says tsd_req_later */
    int (*job)(struct tsd_job *job, struct ts_error *err); /* answers in a job (tsd_job_start), */
    unsigned kind;                                         /* of enum tsd_job_kind, */
    const char *type;                                      /* with a body of this type */
    void (*print)(struct tsd_req *req, struct ts_json *j); /* prints the JSON of a 200 */
    unsigned reads;       /* methods that change nothing, whatever parameters and body say */
    unsigned changes;     /* methods that may change something; GET among them only with compat = opentsdb */
    unsigned admin;       /* the same for the daemon itself: from this machine only, unless admin_remote */
    unsigned guarded;     /* of changes and admin: only if a configuration key permits it, */
    enum tsd_allow allow; /* this one */
    unsigned flags;       /* of enum tsd_endpoint_flag */
    const char *params; /* names of its parameters, separated by blanks; NULL: any are accepted, since it uses
        * none */
};
/** All methods of an endpoint. */
static inline unsigned tsd_endpoint_methods(const struct tsd_endpoint *e)
{
    return e->reads | e->changes | e->admin;
}
/** All endpoints, sorted by path; the last row has path == NULL. */
extern const struct tsd_endpoint tsd_endpoints[];
/** Row of a path, the exact one before one with a star; NULL if there is none. */
const struct tsd_endpoint *tsd_endpoint_find(struct ts_slice path);

/** Row of protocols.c. */
extern const struct tsd_protocol tsd_http_protocol;

/* --- request --- */
/** Split a request target into path and params. TS_EPARSE, TS_ELIMIT (more than 1024 params) with text.
 */
int tsd_req_target(struct tsd_req *req, struct ts_slice target, struct ts_error *err);
/** Last value of a parameter; false if it is not there (a bare name has an empty value). */
bool tsd_req_param(const struct tsd_req *req, const char *name, struct ts_slice *out_value);
/** Is a presence flag given? */
bool tsd_req_flag(const struct tsd_req *req, const char *name);
/** Refuse parameters that the endpoint does not know, unless compat = opentsdb: TS_EINVAL with the name, and
 * the one that was probably meant. Known everywhere are jsonp, serializer, method_override, and _ against
 * caches. */
int tsd_req_params_known(const struct tsd_req *req, const struct tsd_endpoint *e, struct ts_error *err);
/** Copy the body if it lies in the worker's buffer: required before a body is used after the handler has
 * returned. False: there is no memory for it (http_body_total_bytes). */
bool tsd_req_keep_body(struct tsd_req *req);
/** The headers as one JSON object; values of Cookie and Authorization are masked. Any thread, before the
 * reply is finished. */
void tsd_req_headers(const struct tsd_req *req, struct ts_json *j);
/** The reply comes later; holds the connection until it is there. */
void tsd_req_later(struct tsd_req *req);

/* --- reply: exactly one of these per request --- */
/** Body of a type, e.g. "application/json; charset=UTF-8"; wrapped if jsonp was requested and http_jsonp
 * allows it. */
void tsd_reply(struct tsd_req *req, int status, const char *type, struct ts_slice body);
/* A body that never changes while the program runs, in both forms in which it is sent. */
struct tsd_constant {
    const char *type;             /* media type */
    struct ts_slice plain, gzip;  /* as it is, and compressed by gzip */
    const char *etag, *etag_gzip; /* strong entity tags of the two, with their quotes */
};
/** Send a constant, compressed if the client takes gzip and http_gzip allows it; 304 if the client has it already
 * (If-None-Match). The client asks again each time: Cache-Control: no-cache. RFC 9110 8.8.3, 13.1.2. */
void tsd_reply_constant(struct tsd_req *req, const struct tsd_constant *body);
/** JSON. */
void tsd_reply_json(struct tsd_req *req, int status, struct ts_slice body);
/** Append text to a page, so that nothing of it is markup. */
void tsd_reply_html_text(struct ts_buf *b, const char *text);
/** JSON; body is taken. */
void tsd_reply_json_take(struct tsd_req *req, int status, struct ts_buf *body);
/** Status alone (204, 304). */
void tsd_reply_empty(struct tsd_req *req, int status);
/** {"error":{"code":..,"message":..,"details":..}}; details may be NULL; outside of /api {"err":..} or a
 * page. 503 carries Retry-After. */
void tsd_reply_error(struct tsd_req *req, int status, const char *message, const char *details);
/** 405 for the request's method; every 405 has a header Allow with the other methods of the endpoint. */
void tsd_reply_method(struct tsd_req *req);
/** The same from a struct ts_error. */
void tsd_reply_err(struct tsd_req *req, int code, const char *message);
/** Reason phrase of a status: "Not Found". */
const char *tsd_http_phrase(int status);
/** HTTP status of an error code; compat: with compat = opentsdb. */
int tsd_http_status(int code, bool compat);
extern const char tsd_type_html[];
extern const char tsd_type_json[];
extern const char tsd_type_text[];

/* --- for job.c: replies in pieces --- */
#define TSD_REPLY_HEAD_BYTES 1024 /* bytes reserved for tsd_reply_head: more than most heads have */
/** Status line and headers into the connection's out; length < 0: chunked, or until close for HTTP/1.0. gzip:
 * the body is. */
void tsd_reply_head(struct tsd_req *req, int status, const char *type, int64_t length, bool gzip);
/** The reply is complete (all of it was passed to the connection): continue with the next request. */
void tsd_reply_done(struct tsd_req *req);
/** Name of a jsonp callback, empty if none or not a name. */
struct ts_slice tsd_req_jsonp(const struct tsd_req *req);

#endif
