/*
 * parser.c - a line of the head at a time; bodies by length or in chunks.
 *
 * Why not a library: http_parser, which Debian 12 has, is no longer maintained (the last version is of 2020) and takes bare line
 * feeds, folded lines and chunks without end silently; its successor llhttp is no Debian 12 library.
 *
 * Threads    see parser.h
 */
#include "tsd/protocols/http/parser.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

#define PARSER_LENGTH_DIGITS  18   /* of Content-Length */
#define PARSER_CHUNK_DIGITS   15   /* hexadecimal, of the size of a chunk */
#define PARSER_CHUNK_LINE_MAX 256  /* bytes of a chunk's line with its extensions, which nobody uses */
#define PARSER_TRAILERS_MAX   8192 /* bytes */

enum parser_state {
    PS_START,      /* before a message; empty lines are skipped */
    PS_START_LF,   /* in such a line */
    PS_HEAD,       /* in a line of the head */
    PS_BODY,       /* length known: left */
    PS_TO_CLOSE,   /* body of a response until the connection ends */
    PS_SIZE,       /* in the digits of a chunk's size */
    PS_EXTENSION,  /* after them */
    PS_SIZE_LF,    /* line feed of that line */
    PS_CHUNK,      /* bytes of the chunk: left */
    PS_CHUNK_CR,   /* its end */
    PS_CHUNK_LF,   /* its end */
    PS_TRAILER,    /* begin of a line after the last chunk */
    PS_TRAILER_IN, /* name of a trailer */
    PS_TRAILER_VALUE,
    PS_TRAILER_LF, /* its end */
    PS_END_LF,     /* end of the empty line after the trailers */
    PS_END,        /* complete */
    PS_BAD,        /* not to be read */
};

static enum tsd_parse parser_bad(struct tsd_parser *pr, int status, const char *error)
{
    pr->state = PS_BAD;
    pr->status = status;
    pr->error = error;
    return TSD_PARSE_BAD;
}

void tsd_parser_init(struct tsd_parser *pr, bool response, size_t max_head_bytes)
{
    memset(pr, 0, sizeof(*pr));
    ts_buf_init(&pr->head, max_head_bytes);
    pr->response = response;
    pr->state = PS_START;
}

void tsd_parser_release(struct tsd_parser *pr)
{
    ts_buf_release(&pr->head);
}

/* --- what may stand where --- */

/* A character of a token (RFC 9110, 5.6.2). */
static bool parser_is_token(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* A character of a value: visible, blank, tab, or above ASCII. */
static bool parser_is_value(char c)
{
    return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

static bool parser_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int parser_hex(char c)
{
    if (parser_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Does a list with commas contain a word, in any case? */
static bool parser_list_has(struct ts_slice list, const char *word)
{
    for (size_t i = 0; i < list.n;) {
        while (i < list.n && (list.p[i] == ' ' || list.p[i] == '\t' || list.p[i] == ','))
            i++;
        size_t from = i;
        while (i < list.n && list.p[i] != ',')
            i++;
        size_t end = i;
        while (end > from && (list.p[end - 1] == ' ' || list.p[end - 1] == '\t'))
            end--;
        if (ts_slice_is_nocase((struct ts_slice){list.p + from, end - from}, word))
            return true;
    }
    return false;
}

/* --- places in the head --- */

struct ts_slice tsd_parser_header_name(const struct tsd_parser *pr, unsigned i)
{
    return (struct ts_slice){pr->head.p + pr->headers[i].name_off, pr->headers[i].name_n};
}

struct ts_slice tsd_parser_header_value(const struct tsd_parser *pr, unsigned i)
{
    return (struct ts_slice){pr->head.p + pr->headers[i].value_off, pr->headers[i].value_n};
}

struct ts_slice tsd_parser_header(const struct tsd_parser *pr, const char *name)
{
    for (unsigned i = 0; i < pr->n_headers; i++)
        if (ts_slice_is_nocase(tsd_parser_header_name(pr, i), name))
            return tsd_parser_header_value(pr, i);
    return (struct ts_slice){"", 0};
}

struct ts_slice tsd_parser_method(const struct tsd_parser *pr)
{
    return (struct ts_slice){pr->head.p, pr->method_n};
}

struct ts_slice tsd_parser_target(const struct tsd_parser *pr)
{
    return (struct ts_slice){pr->head.p + pr->target_off, pr->target_n};
}

static unsigned parser_count(const struct tsd_parser *pr, const char *name)
{
    unsigned n = 0;
    for (unsigned i = 0; i < pr->n_headers; i++)
        n += ts_slice_is_nocase(tsd_parser_header_name(pr, i), name);
    return n;
}

/* --- lines of the head: 0 or the status of a refusal --- */

static int parser_fail(struct tsd_parser *pr, int status, const char *error)
{
    (void)parser_bad(pr, status, error);
    return status;
}

static int parser_version(struct tsd_parser *pr, struct ts_slice text)
{
    if (text.n != 8 || memcmp(text.p, "HTTP/", 5) || !parser_is_digit(text.p[5]) || text.p[6] != '.' ||
        !parser_is_digit(text.p[7]))
        return parser_fail(pr, 400, "Bad request: the request line must end with HTTP/1.1");
    if (text.p[5] != '1')
        return parser_fail(pr, 505, "Bad request: only HTTP/1.0 and HTTP/1.1 are spoken here");
    pr->http10 = text.p[7] == '0';
    return 0;
}

/* METHOD target HTTP/1.1, one blank between each. */
static int parser_request_line(struct tsd_parser *pr, struct ts_slice line)
{
    size_t method_n = 0, at;
    while (method_n < line.n && parser_is_token(line.p[method_n]))
        method_n++;
    for (at = method_n + 1; at < line.n && (unsigned char)line.p[at] > ' ' && line.p[at] != 0x7f;)
        at++;
    if (!method_n || at >= line.n || line.p[method_n] != ' ' || line.p[at] != ' ' || at == method_n + 1)
        return parser_fail(pr, 400, "Bad request: the request line is not METHOD TARGET HTTP/1.1");
    pr->method_n = (uint32_t)method_n;
    pr->target_off = (uint32_t)method_n + 1;
    pr->target_n = (uint32_t)at - pr->target_off;
    const char *target = line.p + pr->target_off;
    bool absolute = (pr->target_n > 7 && !strncasecmp(target, "http://", 7)) ||
                    (pr->target_n > 8 && !strncasecmp(target, "https://", 8));
    if (*target != '/' && !absolute && !(*target == '*' && pr->target_n == 1))
        return parser_fail(pr, 400, "Bad request: the target must begin with / or http://");
    return parser_version(pr, (struct ts_slice){line.p + at + 1, line.n - at - 1});
}

/* HTTP/1.1 200 Reason */
static int parser_status_line(struct tsd_parser *pr, struct ts_slice line)
{
    if (line.n < 12 || line.p[8] != ' ' || !parser_is_digit(line.p[9]) || !parser_is_digit(line.p[10]) ||
        !parser_is_digit(line.p[11]) || (line.n > 12 && line.p[12] != ' '))
        return parser_fail(pr, 400, "the status line is not HTTP/1.1 CODE REASON");
    pr->status_code = (line.p[9] - '0') * 100 + (line.p[10] - '0') * 10 + (line.p[11] - '0');
    return parser_version(pr, (struct ts_slice){line.p, 8});
}

static int parser_header_line(struct tsd_parser *pr, struct ts_slice line)
{
    size_t n = 0, from, end = line.n;
    if (line.p[0] == ' ' || line.p[0] == '\t')
        return parser_fail(pr, 400, "Bad request: a header may not be continued on another line");
    while (n < line.n && parser_is_token(line.p[n]))
        n++;
    if (!n || n == line.n || line.p[n] != ':')
        return parser_fail(
            pr, 400,
            "Bad request: a header is not NAME: VALUE, or its name has a character that none may have");
    for (from = n + 1; from < end && (line.p[from] == ' ' || line.p[from] == '\t');)
        from++;
    while (end > from && (line.p[end - 1] == ' ' || line.p[end - 1] == '\t'))
        end--;
    for (size_t i = from; i < end; i++)
        if (!parser_is_value(line.p[i]))
            return parser_fail(pr, 400, "Bad request: the value of a header has a control character");
    if (pr->n_headers == TSD_HEADERS_MAX)
        return parser_fail(pr, 431, "Too many headers");
    pr->headers[pr->n_headers++] = (struct tsd_header){.name_off = pr->line_off,
                                                       .name_n = (uint32_t)n,
                                                       .value_off = pr->line_off + (uint32_t)from,
                                                       .value_n = (uint32_t)(end - from)};
    return 0;
}

/* --- the whole head --- */

static int parser_length(struct tsd_parser *pr, struct ts_slice text)
{
    pr->sized = true;
    pr->length = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (!parser_is_digit(text.p[i]) || i == PARSER_LENGTH_DIGITS)
            return parser_fail(pr, 400, "Bad request: Content-Length is not a number of bytes");
        pr->length = pr->length * 10 + (uint64_t)(text.p[i] - '0');
    }
    return text.n ? 0 : parser_fail(pr, 400, "Bad request: Content-Length is empty");
}

/* Determine how the body is framed: by at most one header, which occurs once. */
static int parser_framing(struct tsd_parser *pr)
{
    unsigned n_lengths = parser_count(pr, "content-length"),
             n_codings = parser_count(pr, "transfer-encoding");
    pr->sized = pr->chunked = false;
    if (n_lengths > 1)
        return parser_fail(pr, 400, "Bad request: Content-Length stands there more than once");
    if (n_codings && n_lengths)
        return parser_fail(pr, 400, "Bad request: Content-Length and Transfer-Encoding exclude each other");
    if (n_codings && pr->http10)
        return parser_fail(pr, 400, "Bad request: HTTP/1.0 has no Transfer-Encoding");
    if (n_codings > 1 ||
        (n_codings && !ts_slice_is_nocase(tsd_parser_header(pr, "transfer-encoding"), "chunked")))
        return parser_fail(pr, 501, "Bad request: the only Transfer-Encoding that is understood is chunked");
    pr->chunked = n_codings != 0;
    return n_lengths ? parser_length(pr, tsd_parser_header(pr, "content-length")) : 0;
}

/* A name or address with its port, and nothing that another program could read as a path or a list. */
static bool parser_host_ok(struct ts_slice host)
{
    for (size_t i = 0; i < host.n; i++)
        if ((unsigned char)host.p[i] <= ' ' || strchr(",/?#@\\\"<>", host.p[i]))
            return false;
    return true;
}

/* What a request may not lack or have twice. */
static int parser_request_head(struct tsd_parser *pr)
{
    static const char *const single[] = {"host", "content-encoding", "content-type", "origin",
                                         "sec-fetch-site"};
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
        if (parser_count(pr, single[i]) > 1)
            return parser_fail(
                pr, 400, "Bad request: a header that may stand there once, as Host, is there more than once");
    if (!pr->http10 && !parser_count(pr, "host"))
        return parser_fail(pr, 400, "Bad request: HTTP/1.1 needs the header Host");
    if (!parser_host_ok(tsd_parser_header(pr, "host")))
        return parser_fail(pr, 400, "Bad request: Host is not a name or an address with a port");
    return 0;
}

static bool parser_keep_alive(const struct tsd_parser *pr)
{
    bool closes = false, keeps = false;
    for (unsigned i = 0; i < pr->n_headers; i++) {
        if (!ts_slice_is_nocase(tsd_parser_header_name(pr, i), "connection"))
            continue;
        closes = closes || parser_list_has(tsd_parser_header_value(pr, i), "close");
        keeps = keeps || parser_list_has(tsd_parser_header_value(pr, i), "keep-alive");
    }
    return !closes && (keeps || !pr->http10);
}

static enum tsd_parse parser_head_done(struct tsd_parser *pr)
{
    bool bare =
        pr->response && (pr->status_code / 100 == 1 || pr->status_code == 204 || pr->status_code == 304);
    if (parser_framing(pr) || (!pr->response && parser_request_head(pr)))
        return TSD_PARSE_BAD;
    pr->keep_alive = parser_keep_alive(pr);
    if (pr->response && pr->status_code / 100 == 1) { /* interim: the response is still to come */
        pr->state = PS_START;
        return TSD_PARSE_MORE;
    }
    pr->left = pr->length;
    pr->n_overhead = 0;
    pr->state = PS_END;
    if (bare)
        return TSD_PARSE_HEAD;
    if (pr->chunked)
        pr->state = PS_SIZE;
    else if (pr->sized && pr->length)
        pr->state = PS_BODY;
    else if (pr->response && !pr->sized)
        pr->state = PS_TO_CLOSE;
    return TSD_PARSE_HEAD;
}

/* A line of the head is whole, without its CR LF. */
static int parser_line(struct tsd_parser *pr, struct ts_slice line)
{
    if (pr->line_off)
        return parser_header_line(pr, line);
    return pr->response ? parser_status_line(pr, line) : parser_request_line(pr, line);
}

static enum tsd_parse parser_head(struct tsd_parser *pr, const char *p, size_t n, size_t *used)
{
    while (*used < n) {
        const char *from = p + *used, *nl = memchr(from, '\n', n - *used);
        size_t k = nl ? (size_t)(nl - from) + 1 : n - *used;
        *used += k;
        if (ts_buf_append(&pr->head, from, k) < 0) {
            if (pr->head.n + k <= pr->head.max)
                return parser_bad(pr, 503, "No memory is left for the head of a request: try again later");
            return parser_bad(pr, pr->line_off ? 431 : 414,
                              "Request line and headers are too large (http_max_header_bytes)");
        }
        if (!nl)
            break;
        struct ts_slice line = {pr->head.p + pr->line_off, pr->head.n - pr->line_off - 1};
        if (!line.n || line.p[line.n - 1] != '\r')
            return parser_bad(pr, 400, "Bad request: a line ends without a carriage return");
        line.n--;
        if (!line.n)
            return parser_head_done(pr);
        if (parser_line(pr, line))
            return TSD_PARSE_BAD;
        pr->line_off = (uint32_t)pr->head.n;
    }
    return TSD_PARSE_MORE;
}

static void parser_begin(struct tsd_parser *pr)
{
    ts_buf_clear(&pr->head);
    pr->n_headers = 0;
    pr->method_n = pr->target_off = pr->target_n = 0;
    pr->line_off = 0;
    pr->length = 0;
    pr->state = PS_HEAD;
}

/* --- bodies --- */

static enum tsd_parse parser_piece(struct tsd_parser *pr, const char *p, size_t n, size_t *used,
                                   unsigned char then)
{
    size_t k = n - *used < pr->left ? n - *used : (size_t)pr->left;
    pr->piece = (struct ts_slice){p + *used, k};
    *used += k;
    pr->left -= k;
    if (!pr->left)
        pr->state = then;
    return TSD_PARSE_BODY;
}

static const char parser_bad_chunk[] = "Bad request: a chunk is not SIZE CR LF BYTES CR LF";

static enum tsd_parse parser_chunk_line(struct tsd_parser *pr, char c)
{
    int digit = parser_hex(c);
    if (++pr->n_overhead > PARSER_CHUNK_LINE_MAX)
        return parser_bad(pr, 400, "Bad request: the extensions of a chunk are too long");
    if (pr->state == PS_SIZE && digit >= 0) {
        if (pr->n_overhead > PARSER_CHUNK_DIGITS)
            return parser_bad(pr, 400, "Bad request: a chunk's size is not a number of bytes");
        pr->left = pr->left << 4 | (unsigned)digit;
    } else if (pr->n_overhead > 1 && c == '\r') {
        pr->state = PS_SIZE_LF;
    } else if (pr->state == PS_SIZE && pr->n_overhead > 1 && c == ';') {
        pr->state = PS_EXTENSION;
    } else if (pr->state == PS_SIZE || !parser_is_value(c)) {
        return parser_bad(pr, 400, "Bad request: a chunk's size is not a hexadecimal number");
    }
    return TSD_PARSE_MORE;
}

/* A byte of the trailers of a response; its line begins or ends here. They become headers. */
static bool parser_keep(struct tsd_parser *pr, char c, bool begins, bool ends)
{
    if (begins)
        pr->line_off = (uint32_t)pr->head.n;
    if (!ends)
        return ts_buf_char(&pr->head, c) == 0;
    return parser_header_line(pr, (struct ts_slice){pr->head.p + pr->line_off, pr->head.n - pr->line_off}) ==
           0;
}

/* Lines after the last chunk: checked as headers are; those of a request are forgotten. */
static enum tsd_parse parser_trailer(struct tsd_parser *pr, char c)
{
    if (++pr->n_overhead > PARSER_TRAILERS_MAX)
        return parser_bad(pr, 431, "Bad request: the trailers are too large");
    if (pr->response && !(pr->state == PS_TRAILER && c == '\r') &&
        !parser_keep(pr, c, pr->state == PS_TRAILER, pr->state == PS_TRAILER_VALUE && c == '\r'))
        return parser_bad(pr, 431, "Bad request: the trailers are too large");
    if (pr->state == PS_TRAILER && c == '\r')
        pr->state = PS_END_LF;
    else if (pr->state == PS_TRAILER && parser_is_token(c))
        pr->state = PS_TRAILER_IN;
    else if (pr->state == PS_TRAILER_IN && c == ':')
        pr->state = PS_TRAILER_VALUE;
    else if (pr->state == PS_TRAILER_VALUE && c == '\r')
        pr->state = PS_TRAILER_LF;
    else if (!(pr->state == PS_TRAILER_IN && parser_is_token(c)) &&
             !(pr->state == PS_TRAILER_VALUE && parser_is_value(c)))
        return parser_bad(pr, 400, "Bad request: a trailer is not NAME: VALUE");
    return TSD_PARSE_MORE;
}

/* One byte that belongs to no head and no bytes of a body. */
static enum tsd_parse parser_byte(struct tsd_parser *pr, char c)
{
    static const struct {
        unsigned char state, next;
        char c;
    } ends[] = {{PS_START_LF, PS_START, '\n'},    {PS_SIZE_LF, PS_CHUNK, '\n'},
                {PS_CHUNK_CR, PS_CHUNK_LF, '\r'}, {PS_CHUNK_LF, PS_SIZE, '\n'},
                {PS_END_LF, PS_END, '\n'},        {PS_TRAILER_LF, PS_TRAILER, '\n'}};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (pr->state != ends[i].state)
            continue;
        if (c != ends[i].c)
            return parser_bad(pr, 400, parser_bad_chunk);
        pr->state = ends[i].next;
        if (pr->state == PS_CHUNK && !pr->left)
            pr->state = PS_TRAILER;
        if (pr->state == PS_CHUNK || pr->state == PS_SIZE)
            pr->n_overhead = 0;
        return TSD_PARSE_MORE;
    }
    return pr->state == PS_SIZE || pr->state == PS_EXTENSION ? parser_chunk_line(pr, c)
                                                             : parser_trailer(pr, c);
}

/* Before a message: empty lines are skipped, as some clients send one after a body. True when a message begins. */
static bool parser_starts(struct tsd_parser *pr, char c)
{
    if (c == '\r') {
        pr->state = PS_START_LF;
        return false;
    }
    parser_begin(pr);
    return true;
}

enum tsd_parse tsd_parser_next(struct tsd_parser *pr, const char *p, size_t n, size_t *out_used)
{
    enum tsd_parse got = TSD_PARSE_MORE;
    *out_used = 0;
    if (pr->state == PS_BAD)
        return TSD_PARSE_BAD;
    if (pr->state == PS_END) {
        pr->state = PS_START;
        return TSD_PARSE_END;
    }
    while (got == TSD_PARSE_MORE && *out_used < n) {
        if (pr->state == PS_END)
            return tsd_parser_next(pr, NULL, 0, &(size_t){0});
        if (pr->state == PS_START)
            *out_used += !parser_starts(pr, p[*out_used]);
        else if (pr->state == PS_HEAD)
            got = parser_head(pr, p, n, out_used);
        else if (pr->state == PS_BODY)
            got = parser_piece(pr, p, n, out_used, PS_END);
        else if (pr->state == PS_CHUNK)
            got = parser_piece(pr, p, n, out_used, PS_CHUNK_CR);
        else if (pr->state == PS_TO_CLOSE) {
            pr->left = n - *out_used;
            got = parser_piece(pr, p, n, out_used, PS_TO_CLOSE);
        } else
            got = parser_byte(pr, p[(*out_used)++]);
    }
    if (got == TSD_PARSE_MORE && pr->state == PS_END)
        return tsd_parser_next(pr, NULL, 0, &(size_t){0});
    return got;
}

bool tsd_parser_idle(const struct tsd_parser *pr)
{
    return pr->state == PS_START || pr->state == PS_START_LF;
}

bool tsd_parser_eof(const struct tsd_parser *pr)
{
    return pr->state == PS_TO_CLOSE;
}
