/*
 * parser.h - a strict incremental parser of HTTP/1.1 messages, which refuses everything that two programs
 * could interpret differently.
 *
 * A proxy and a server that disagree about where a request ends let a client smuggle one request inside
 * another. So these are errors, not variants: line ends without CR, folded lines, blanks before a colon,
 * several Content-Length or Host, Content-Length beside Transfer-Encoding, any transfer coding but chunked, a
 * chunk that does not end in CR LF, and HTTP/1.1 requests without Host. Trailers are checked; those of a request are discarded, those of a response are headers when it has ended.
 *
 *   for (;;) switch (tsd_parser_next(&parser, p, n, &used)) ...
 *       HEAD   start line and headers are there
 *       BODY   a piece of the body, none or many of them
 *       END    the message is complete; the next call begins another one
 *
 * Threads    one at a time
 * Source     RFC 9112 (HTTP/1.1), sections 2 to 7 and 11.2; RFC 9110, 5.5, 5.6.2
 * Not here   what a request means (http.c), percent signs and parameters (request.c)
 */
#ifndef TSD_PROTOCOLS_HTTP_PARSER_H
#define TSD_PROTOCOLS_HTTP_PARSER_H

#include "base/buf.h"

#include <stdbool.h>

#define TSD_HEADERS_MAX 128 /* of a message */

enum tsd_parse {
    TSD_PARSE_MORE, /* all bytes are used, more are needed */
    TSD_PARSE_HEAD, /* method, target, headers and framing are known */
    TSD_PARSE_BODY, /* bytes of the body are in piece */
    TSD_PARSE_END,  /* the message is complete */
    TSD_PARSE_BAD,  /* status and error say why; nothing more can be read */
};

#define TSD_HEADER_LEFT_OUT                                                                                  \
    "X-Tsd-Left-Out"                   /* of a reply: what has expired and did not fit (query/left_out.h) */
#define TSD_HEADER_AFTER "X-Tsd-After" /* of a reply that is a page: the token of the next one */

/* A header: places in tsd_parser.head. */
struct tsd_header {
    uint32_t name_off, name_n;
    uint32_t value_off, value_n;
};

struct tsd_parser {
    struct ts_buf head;                         /* start line and headers as sent */
    struct tsd_header headers[TSD_HEADERS_MAX]; /* in their order */
    unsigned n_headers;                         /* how many */
    uint32_t method_n;                          /* of a request: bytes of the method, at the begin of head */
    uint32_t target_off, target_n;              /* of a request: its target */
    int status_code;                            /* of a response */
    bool http10;                                /* HTTP/1.0 */
    bool keep_alive;                            /* another message may follow */
    bool sized, chunked;                        /* how the body comes, if there is one */
    uint64_t length;                            /* of a body that is sized, in bytes */
    struct ts_slice piece;                      /* at BODY; lies in the bytes that were given */
    int status;                                 /* at BAD: HTTP status for the answer */
    const char *error;                          /* at BAD: one sentence */

    /* private */
    bool response;       /* a response is read */
    unsigned char state; /* of the reader */
    uint32_t line_off;   /* where the line being read begins in head */
    uint32_t n_overhead; /* bytes of the chunk's line, or of the trailers */
    uint64_t left;       /* bytes of the body, or of the chunk, still to come */
};

/** Begin to read requests, or responses. A head larger than max_head_bytes is BAD with 414 or 431; one for
 * which head.budget has no memory left with 503. */
void tsd_parser_init(struct tsd_parser *pr, bool response, size_t max_head_bytes);
/** Free what it holds; idempotent. */
void tsd_parser_release(struct tsd_parser *pr);
/** Use bytes of [p, p + n) up to the next event; *out_used: how many. Call it until MORE, also with n = 0.
 * Each byte of a head is examined once, bytes of a body are not. */
enum tsd_parse tsd_parser_next(struct tsd_parser *pr, const char *p, size_t n, size_t *out_used);
/** Has no message begun: nothing or only empty lines came since the last one? */
bool tsd_parser_idle(const struct tsd_parser *pr);
/** Is the message complete now that no byte will follow (a response without length)? */
bool tsd_parser_eof(const struct tsd_parser *pr);

/** Value of a header, "" if it is not there; name in any case. Of headers that may stand only once, the one;
 * else the first. */
struct ts_slice tsd_parser_header(const struct tsd_parser *pr, const char *name);
/** Name and value of the i-th header. */
struct ts_slice tsd_parser_header_name(const struct tsd_parser *pr, unsigned i);
struct ts_slice tsd_parser_header_value(const struct tsd_parser *pr, unsigned i);
/** Method and target of a request. */
struct ts_slice tsd_parser_method(const struct tsd_parser *pr);
struct ts_slice tsd_parser_target(const struct tsd_parser *pr);

#endif
