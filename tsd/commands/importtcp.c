/*
 * importtcp.c - import into a running daemon: blocks of put lines, each followed by sync.
 *
 * Successful puts are silent and errors do not say which line they are about, so the answer to sync is what
 * counts: "ok N" with fewer points than lines sent means that the block holds bad lines. They are found by
 * sending the block again on a second connection, some lines at a time, with a command between them whose
 * answer is known. What was sent behind that block in the meantime is sent again too: of two values of one series and time the
 * last in the file must be the last to arrive.
 *
 *   connection 1:  block sync block sync block sync ...      ok N ok N ...
 *   connection 2:  64 lines version                          errors? then: line version line version ...
 *                  lines that followed version ... sync
 *
 * Threads    the main thread
 */
#include "tsd/commands/client.h"
#include "tsd/commands/import.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "storage/store.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define TCP_BLOCK_BYTES ((size_t)4 << 20)
#define TCP_BLOCKS      4u   /* sent and not yet answered, at most */
#define TCP_GROUP       64u  /* lines between two markers when looking for bad ones */
#define TCP_AGAIN       256u /* the same when lines are only repeated */
#define TCP_SILENCE_MS                                                                                       \
    120000 /* a daemon that says nothing for so long while points wait for its sync is given up */

/* Lines of one file, as sent. */
struct tcp_block {
    struct ts_buf text; /* put lines, then sync */
    uint32_t *line_of;  /* number of each line in its file, less first */
    uint32_t n, cap;    /* lines */
    uint64_t first;     /* number of the first line */
    const char *file;   /* all lines are from this file */
    size_t sent;        /* bytes of text sent */
};

struct tcp_sink {
    struct tsd_import *im;               /* counts */
    struct tsd_client main, probe;       /* the two connections; probe is opened when needed */
    bool probing;                        /* probe is open */
    struct ts_buf marker;                /* first line of the answer to version */
    struct tcp_block blocks[TCP_BLOCKS]; /* ring */
    unsigned head, n_used;  /* oldest block not answered; blocks in use, the one being filled included */
    struct tcp_block *fill; /* being filled; NULL = none */
    uint64_t n_ok;          /* N of the last ok */
    struct ts_buf in;       /* answers, not yet whole lines */
};

/* --- the second connection: which lines are bad --- */

static int tcp_probe_open(struct tcp_sink *s, struct ts_error *err)
{
    if (s->probing)
        return 0;
    struct ts_slice line;
    TS_TRY(tsd_client_open(&s->probe, s->main.host, s->main.port, err));
    s->probing = true;
    TS_TRY(tsd_client_send(&s->probe, TS_SLICE_LIT("version\n"), err));
    TS_TRY(tsd_client_line(&s->probe, &line, err));
    ts_buf_clear(&s->marker);
    ts_buf_slice(&s->marker, line);
    return tsd_client_line(&s->probe, &line, err);
}

/* Read up to the next marker. *out_bad: an error line came; its text goes to reason. */
static int tcp_probe_answer(struct tcp_sink *s, bool *out_bad, struct ts_buf *reason, struct ts_error *err)
{
    struct ts_slice line;
    *out_bad = false;
    for (;;) {
        TS_TRY(tsd_client_line(&s->probe, &line, err));
        if (ts_slice_eq(line, ts_buf_get(&s->marker)))
            return tsd_client_line(&s->probe, &line, err);
        if (*out_bad)
            continue;
        *out_bad = true;
        if (line.n > 5 && memcmp(line.p, "put: ", 5) == 0)
            line = (struct ts_slice){line.p + 5, line.n - 5};
        ts_buf_clear(reason);
        ts_buf_slice(reason, line);
    }
}

/* Is a refusal that of a daemon whose disk is full? It is no fault of the line. */
static bool tcp_is_full(struct ts_slice why)
{
    return memmem(why.p, why.n, STO_DISK_FULL, sizeof STO_DISK_FULL - 1) != NULL;
}

/* The n lines of text, number `at` of the block first: list those the daemon refuses. */
static int tcp_probe_lines(struct tcp_sink *s, const struct tcp_block *b, uint32_t at, uint32_t n,
                           struct ts_slice text, struct ts_error *err)
{
    struct ts_buf ask, reason;
    bool bad;
    ts_buf_init(&ask, 0);
    ts_buf_init(&reason, 4096);
    ts_buf_slice(&ask, text);
    ts_buf_str(&ask, "version\n");
    int rc = tsd_client_send(&s->probe, ts_buf_get(&ask), err);
    if (rc == 0)
        rc = tcp_probe_answer(s, &bad, &reason, err);
    ts_buf_clear(&ask);
    for (uint32_t i = 0; rc == 0 && bad && i < n; i++) { /* all at once: a turn for each would be slow */
        const char *nl = memchr(text.p, '\n', text.n);
        size_t len = (size_t)(nl + 1 - text.p);
        ts_buf_append(&ask, text.p, len);
        ts_buf_str(&ask, "version\n");
        text = (struct ts_slice){text.p + len, text.n - len};
    }
    if (rc == 0 && bad)
        rc = tsd_client_send(&s->probe, ts_buf_get(&ask), err);
    for (uint32_t i = 0; rc == 0 && bad && i < n; i++) {
        bool this_bad;
        rc = tcp_probe_answer(s, &this_bad, &reason, err);
        if (rc == 0 && this_bad && tcp_is_full(ts_buf_get(&reason)))
            rc = ts_error_set(err, TS_ENOSPC, "the daemon could not store the points: %.*s",
                              TS_SHOWN(ts_buf_get(&reason), TS_ERROR_TEXT_BYTES));
        else if (rc == 0 && this_bad)
            tsd_import_bad(s->im, b->file, b->first + b->line_of[at + i], ts_buf_get(&reason));
    }
    ts_buf_release(&ask);
    ts_buf_release(&reason);
    return rc;
}

/* Take up to n whole lines off the front of a text; returns how many. */
static uint32_t tcp_lines_take(struct ts_slice *text, uint32_t n, struct ts_slice *out)
{
    const char *p = text->p, *end = text->p + text->n, *nl;
    uint32_t taken = 0;
    while (taken < n && p < end && (nl = memchr(p, '\n', (size_t)(end - p)))) {
        p = nl + 1;
        taken++;
    }
    *out = (struct ts_slice){text->p, (size_t)(p - text->p)};
    *text = (struct ts_slice){p, (size_t)(end - p)};
    return taken;
}

/* Send the lines of a block again that were sent already; those refused are listed when the block is answered. */
static int tcp_again(struct tcp_sink *s, const struct tcp_block *b, struct ts_error *err)
{
    struct ts_slice text = {b->text.p, b->sent}, lines;
    struct ts_buf reason;
    uint32_t n, left = b->n; /* without the sync at the end */
    bool bad;
    int rc = 0;
    ts_buf_init(&reason, 4096);
    while (rc == 0 && (n = tcp_lines_take(&text, left < TCP_AGAIN ? left : TCP_AGAIN, &lines)) > 0) {
        left -= n;
        rc = tsd_client_send(&s->probe, lines, err);
        if (rc == 0)
            rc = tsd_client_send(&s->probe, TS_SLICE_LIT("version\n"), err);
        if (rc == 0)
            rc = tcp_probe_answer(s, &bad, &reason, err);
    }
    ts_buf_release(&reason);
    return rc;
}

static int tcp_sync_error(struct ts_slice line, struct ts_error *err)
{
    struct ts_slice why = {line.p + 12, line.n - 12};
    return ts_error_set(err, tcp_is_full(why) ? TS_ENOSPC : TS_EBACKEND,
                        "the daemon could not store the points: %.*s", TS_SHOWN(why, TS_ERROR_TEXT_BYTES));
}

/* What was sent again is on disk. */
static int tcp_probe_sync(struct tcp_sink *s, struct ts_error *err)
{
    struct ts_slice line;
    TS_TRY(tsd_client_send(&s->probe, TS_SLICE_LIT("sync\n"), err));
    do {
        TS_TRY(tsd_client_line(&s->probe, &line, err));
        if (line.n >= 12 && memcmp(line.p, "sync: error ", 12) == 0)
            return tcp_sync_error(line, err);
    } while (line.n < 3 || memcmp(line.p, "ok ", 3) != 0);
    return 0;
}

/* List the bad lines of the oldest block, and repeat what was sent behind it. */
static int tcp_probe_block(struct tcp_sink *s, struct ts_error *err)
{
    const struct tcp_block *b = &s->blocks[s->head];
    struct ts_slice text = ts_buf_get(&b->text), lines;
    TS_TRY(tcp_probe_open(s, err));
    for (uint32_t i = 0, n; i < b->n; i += n) {
        n = tcp_lines_take(&text, b->n - i < TCP_GROUP ? b->n - i : TCP_GROUP, &lines);
        TS_TRY(tcp_probe_lines(s, b, i, n, lines, err));
    }
    for (unsigned i = 1; i < s->n_used; i++)
        TS_TRY(tcp_again(s, &s->blocks[(s->head + i) % TCP_BLOCKS], err));
    return tcp_probe_sync(s, err);
}

/* --- the first connection --- */

static void tcp_block_done(struct tcp_sink *s)
{
    struct tcp_block *b = &s->blocks[s->head];
    ts_buf_clear(&b->text);
    b->n = 0;
    b->sent = 0;
    s->head = (s->head + 1) % TCP_BLOCKS;
    s->n_used--;
}

/* One line of the daemon's: what is no answer to sync is an error text of a line that will be found again. */
static int tcp_answer(struct tcp_sink *s, struct ts_slice line, struct ts_error *err)
{
    int64_t n_ok;
    if (line.n >= 12 && memcmp(line.p, "sync: error ", 12) == 0)
        return tcp_sync_error(line, err);
    static const char unknown[] = "unknown command: sync";
    if (line.n >= sizeof unknown - 1 && memcmp(line.p, unknown, sizeof unknown - 1) == 0)
        return ts_error_set(err, TS_EBACKEND,
                            "the server at %s:%s does not know sync, by which tsd confirms points: it is an "
                            "OpenTSDB, or a tsd with mode = ro. Name tsd's own port",
                            s->main.host, s->main.port);
    if (line.n < 4 || memcmp(line.p, "ok ", 3) != 0 ||
        ts_num_parse_int((struct ts_slice){line.p + 3, line.n - 3}, &n_ok, NULL) < 0)
        return 0;
    struct tcp_block *b = &s->blocks[s->head];
    if (s->n_used == 0 || b == s->fill || (uint64_t)n_ok < s->n_ok || (uint64_t)n_ok - s->n_ok > b->n)
        return ts_error_set(err, TS_EPARSE, "the server at %s:%s is not a tsd: it answers \"%.*s\" to sync",
                            s->main.host, s->main.port, TS_SHOWN(line, 80));
    uint64_t taken = (uint64_t)n_ok - s->n_ok, n_bad = s->im->n_bad;
    s->n_ok = (uint64_t)n_ok;
    s->im->n_points += taken;
    if (taken < b->n) {
        TS_TRY(tcp_probe_block(s, err));
        n_bad = s->im->n_bad - n_bad;
        if (n_bad <
            b->n - taken) /* refused then, accepted now: a disk that was full, or a metric made in between */
            s->im->n_points += b->n - taken - n_bad;
    }
    tcp_block_done(s);
    tsd_import_show(s->im);
    return 0;
}

static int tcp_recv(struct tcp_sink *s, struct ts_error *err)
{
    char *room = ts_buf_reserve(&s->in, 16384);
    if (!room)
        return ts_error_set(err, TS_ELIMIT, "the daemon sends an endless line");
    ssize_t got = recv(s->main.fd, room, 16384, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0)
        return ts_error_sys(err, TS_EIO, got < 0 ? errno : ECONNRESET,
                            "the daemon at %s:%s closed the connection; %llu points are safe", s->main.host,
                            s->main.port, (unsigned long long)s->im->n_points);
    s->in.n += (size_t)got;
    char *p = s->in.p, *end = p + s->in.n, *nl;
    while ((nl = memchr(p, '\n', (size_t)(end - p)))) {
        struct ts_slice line = {p, (size_t)(nl - p)};
        p = nl + 1;
        TS_TRY(tcp_answer(s, line, err));
    }
    memmove(s->in.p, p, (size_t)(end - p));
    s->in.n = (size_t)(end - p);
    return 0;
}

/* The oldest block with bytes to send; NULL. */
static struct tcp_block *tcp_to_send(struct tcp_sink *s)
{
    for (unsigned i = 0; i < s->n_used; i++) {
        struct tcp_block *b = &s->blocks[(s->head + i) % TCP_BLOCKS];
        if (b == s->fill)
            return NULL;
        if (b->sent < b->text.n)
            return b;
    }
    return NULL;
}

static int tcp_send_some(struct tcp_sink *s, struct tcp_block *b, struct ts_error *err)
{
    ssize_t n = send(s->main.fd, b->text.p + b->sent, b->text.n - b->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        return ts_error_sys(err, TS_EIO, errno,
                            "the daemon at %s:%s closed the connection; %llu points are safe", s->main.host,
                            s->main.port, (unsigned long long)s->im->n_points);
    b->sent += (size_t)n;
    return 0;
}

/* Send and receive without waiting while at most max blocks are in use; wait until then. all: until all bytes
 * are sent, too. */
static int tcp_work(struct tcp_sink *s, unsigned max, bool all, struct ts_error *err)
{
    for (;;) {
        struct tcp_block *b = tcp_to_send(s);
        bool enough = s->n_used <= max && !(all && b);
        struct pollfd pfd = {.fd = s->main.fd, .events = (short)(POLLIN | (b ? POLLOUT : 0))};
        int n = poll(&pfd, 1, enough ? 0 : TCP_SILENCE_MS);
        if (n < 0 && errno != EINTR)
            return ts_error_sys(err, TS_EIO, errno, "can't wait for the daemon");
        if (tsd_import_interrupted())
            return ts_error_set(err, TS_ECANCELLED,
                                "interrupted: the points counted above are on disk, later lines may be");
        if (n == 0 && !enough)
            return ts_error_set(
                err, TS_ETIMEOUT, "the daemon at %s:%s has not answered for %d s; %llu points are confirmed",
                s->main.host, s->main.port, TCP_SILENCE_MS / 1000, (unsigned long long)s->im->n_points);
        if (n <= 0 && enough)
            return 0;
        if (n > 0 && (pfd.revents & (POLLIN | POLLHUP | POLLERR)))
            TS_TRY(tcp_recv(s, err));
        if (n > 0 && b && (pfd.revents & POLLOUT))
            TS_TRY(tcp_send_some(s, b, err));
    }
}

/* The block being filled is full or its file ends: send it. */
static int tcp_seal(struct tcp_sink *s, struct ts_error *err)
{
    struct tcp_block *b = s->fill;
    s->fill = NULL;
    if (!b)
        return 0;
    if (b->n == 0) {
        s->n_used--;
        return 0;
    }
    ts_buf_str(&b->text, "sync\n");
    return tcp_work(s, TCP_BLOCKS - 1, false, err);
}

static void tcp_begin_block(struct tcp_sink *s, const char *file, uint64_t line)
{
    struct tcp_block *b = &s->blocks[(s->head + s->n_used++) % TCP_BLOCKS];
    ts_buf_clear(&b->text);
    b->n = 0;
    b->sent = 0;
    b->file = file;
    b->first = line;
    s->fill = b;
}

static void tcp_add_line(struct tcp_block *b, const char *word, struct ts_slice rest, uint64_t line)
{
    size_t word_n = strlen(word);
    TS_ARRAY_GROW(b->line_of, b->n, b->cap, 32768);
    b->line_of[b->n++] = (uint32_t)(line - b->first);
    char *room = ts_buf_reserve(&b->text, word_n + rest.n + 1);
    if (!room)
        TS_BUG("a block of import has no limit");
    memcpy(room, word, word_n);
    memcpy(room + word_n, rest.p, rest.n);
    room[word_n + rest.n] = '\n';
    b->text.n += word_n + rest.n + 1;
}

static int tcp_take(void *sink, const char *file, struct ts_slice lines, uint64_t *line, struct ts_error *err)
{
    struct tcp_sink *s = sink;
    const char *p = lines.p, *end = p + lines.n;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        struct ts_slice rest;
        enum tsd_import_kind kind = tsd_import_line((struct ts_slice){p, (size_t)(nl - p)}, &rest);
        p = nl + 1;
        uint64_t number = tsd_import_number(s->im, (*line)++);
        if (kind == TSD_IMPORT_NOTHING)
            continue;
        if (s->fill && (s->fill->text.n >= TCP_BLOCK_BYTES || s->fill->file != file ||
                        number - s->fill->first > UINT32_MAX))
            TS_TRY(tcp_seal(s, err));
        if (!s->fill)
            tcp_begin_block(s, file, number);
        tcp_add_line(s->fill, tsd_import_word(kind), rest, number);
    }
    return tcp_work(s, TCP_BLOCKS, false, err);
}

static int tcp_finish(void *sink, struct ts_error *err)
{
    struct tcp_sink *s = sink;
    TS_TRY(tcp_seal(s, err));
    return tcp_work(s, 0, true, err);
}

static void tcp_failed(void *sink, struct ts_error *err)
{
    (void)sink;
    if (err->code == TS_ENOSPC)
        tsd_import_say_full();
}

static int tcp_close(void *sink, struct ts_error *err)
{
    struct tcp_sink *s = sink;
    (void)err;
    tsd_client_close(&s->main);
    if (s->probing)
        tsd_client_close(&s->probe);
    for (unsigned i = 0; i < TCP_BLOCKS; i++) {
        ts_buf_release(&s->blocks[i].text);
        ts_free(s->blocks[i].line_of);
    }
    ts_buf_release(&s->marker);
    ts_buf_release(&s->in);
    ts_free(s);
    return 0;
}

static int tcp_open(struct tsd_import *im, void **out_sink, struct ts_error *err)
{
    struct tcp_sink *s = ts_xcalloc(1, sizeof(*s));
    const char *host, *port;
    if (im->host) {
        host = im->host;
        port = im->port;
    } else {
        tsd_client_where(im->args, &host, &port);
    }
    s->im = im;
    s->main.fd = -1;
    ts_buf_init(&s->marker, 4096);
    ts_buf_init(&s->in, (size_t)64 << 20);
    int rc = tsd_client_open(&s->main, host, port, err);
    if (rc < 0) {
        tcp_close(s, NULL);
        return rc;
    }
    *out_sink = s;
    return 0;
}

const struct tsd_import_to tsd_import_tcp = {
    .open = tcp_open, .take = tcp_take, .finish = tcp_finish, .failed = tcp_failed, .close = tcp_close};
