/*
 * weblog_read.c - splits chunks of open files into lines, and detects the formats of files.
 *
 * Threads    one
 */
#include "base/log.h"
#include "base/unpack.h"
#include "collectors/weblog/weblog_follow_int.h"

#include <string.h>
#include <unistd.h>

/* chunks of one file in a turn, so that other files are read and positions are saved */
#define CHUNKS_A_TURN 8
#define ODD_MS        10000 /* time after which first lines of unknown format are reported, if they are few */

uint64_t col_web__remounts;

static bool id_of(const struct stat *st, struct col_web_id *out)
{
    *out =
        (struct col_web_id){.dev = (uint64_t)st->st_dev + col_web__remounts,
                            .ino = (uint64_t)st->st_ino + col_web__remounts,
                            .size_bytes = (uint64_t)st->st_size,
                            .n_links = (uint64_t)st->st_nlink,
                            .mtime_ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000};
    return S_ISREG(st->st_mode);
}

bool col_web__id_of_path(const char *path, struct col_web_id *out)
{
    struct stat st;
    return stat(path, &st) == 0 && id_of(&st, out);
}

bool col_web__id_of_file(FILE *file, struct col_web_id *out)
{
    struct stat st;
    return fstat(fileno(file), &st) == 0 && id_of(&st, out);
}

size_t col_web__first_read(FILE *file, char out[COL_WEB_HEAD_BYTES])
{
    ssize_t n = pread(fileno(file), out, COL_WEB_HEAD_BYTES, 0);
    return n < 0 ? 0 : (size_t)n;
}

/* --- formats detected from files --- */

bool col_web__kind_wanted(const struct col_web_place *p)
{
    return p->tail->log->detect && p->kind == COL_WEB_KIND_UNKNOWN;
}

static void kind_report(struct col_web_place *p, const struct col_web_look *look)
{
    char odd[COL_WEB_ODD_BYTES];
    bool given_up = p->kind == COL_WEB_KIND_NONE;
    col_web_look_odd(look, given_up ? "it was rotated: they count as bad" : "nothing is read of it yet", odd);
    ts_log(TS_LOG_ERROR, "weblog: %s: %s", p->tail->path, odd);
    p->reported = true;
}

/* Detect the format from a file's first lines. last: no more lines will come, so the decision is final. */
static void kind_look(struct col_web_follow *f, struct col_web_place *p, struct ts_slice text, bool last,
                      int64_t now_ms)
{
    struct col_web_look look;
    col_web_auto_look(p->tail->log->detect, text, &f->scratch, &look);
    p->kind = look.kind;
    if (p->kind != COL_WEB_KIND_UNKNOWN)
        ts_log(TS_LOG_INFO, "weblog: lines of %s are %s", p->tail->path, col_web_kind_name(p->kind));
    else if (last)
        p->kind = COL_WEB_KIND_NONE;
    bool waited = look.n_lines == COL_WEB_LOOK_LINES || now_ms - p->quiet_ms >= ODD_MS;
    if (look.n_lines &&
        (p->kind == COL_WEB_KIND_NONE || (p->kind == COL_WEB_KIND_UNKNOWN && !p->reported && waited)))
        kind_report(p, &look);
    f->n_changes += p->kind != COL_WEB_KIND_UNKNOWN;
}

/* Complete lines at the beginning of a text, without the rest of a line that is too long; the last time also
 * an incomplete line at the end. */
static struct ts_slice whole_lines(const struct col_web_place *p, struct ts_slice text, bool last)
{
    const char *nl = p->skip && text.n ? memchr(text.p, '\n', text.n) : NULL;
    size_t from = nl ? (size_t)(nl + 1 - text.p) : 0;
    nl = text.n && !last ? memrchr(text.p, '\n', text.n) : NULL;
    size_t to = last ? text.n : nl ? (size_t)(nl + 1 - text.p) : 0;
    return (struct ts_slice){text.p + from, to > from ? to - from : 0};
}

/* Is the format known, so that the lines of text, which are at the file's position, may be passed on? */
static bool kind_known(struct col_web_follow *f, struct col_web_place *p, struct ts_slice text,
                       uint64_t size_bytes, bool last, int64_t now_ms)
{
    if (!col_web__kind_wanted(p))
        return true;
    if (size_bytes == p->looked_bytes && !last && (p->reported || now_ms - p->quiet_ms < ODD_MS))
        return false;
    struct ts_slice lines = whole_lines(p, text, last);
    if (!lines.n)
        return text.n == COL_WEB_CHUNK_BYTES; /* a line that is too long determines no format */
    kind_look(f, p, lines, last, now_ms);
    p->looked_bytes = size_bytes;
    return p->kind != COL_WEB_KIND_UNKNOWN;
}

/* --- plain files --- */

/* Pass on the complete lines of s, which is at the position of the place. Returns the number of bytes used. */
static size_t lines_take(struct col_web_follow *f, struct col_web_place *p, struct ts_slice s)
{
    size_t at = 0;
    while (at < s.n) {
        const char *nl = memchr(s.p + at, '\n', s.n - at);
        if (!nl)
            break;
        struct ts_slice line = {s.p + at, (size_t)(nl - (s.p + at))};
        if (!p->skip && line.n > COL_WEB_CHUNK_BYTES)
            f->opts.too_long(f->opts.arg, p, p->off + at);
        else if (!p->skip && !(p->tail->log->detect && col_web_kind_directive(line, &p->kind)))
            f->opts.line(f->opts.arg, p, p->off + at, line);
        p->skip = false;
        at = (size_t)(nl + 1 - s.p);
    }
    p->off += at;
    f->n_changes += at != 0;
    return at;
}

bool col_web__packed_text(const struct col_web_place *p, struct ts_slice first)
{
    return p->role == COL_WEB_ROTATED && !p->head.n_bytes && !p->off && ts_pack_find(first);
}

/* Is it still the same file? If it has more first bytes now, they are added to the hash. 1 = it is; 0 = it is
 * another one; -1 = it must not be read now, since it is not known whether it was imported. */
static int place_same(struct col_web_follow *f, struct col_web_place *p)
{
    char first[COL_WEB_HEAD_BYTES];
    size_t n = col_web__first_read(p->file, first);
    if (p->head.n_bytes && !col_web_head_matches(&p->head, (struct ts_slice){first, n}))
        return 0;
    if (col_web__packed_text(p, (struct ts_slice){first, n}))
        return 0;
    /* its first bytes are read for the first time: check that it was not truncated meanwhile */
    if (!p->head.n_bytes && n)
        p->tail->scan = true;
    if (n > p->head.n_bytes && !col_web__head_learn(f, p, (struct ts_slice){first, n}))
        return -1;
    return 1;
}

/* Pass on a text that will not be continued: a chunk without a line end, or the last line of a file that is
 * given up. */
static size_t rest_take(struct col_web_follow *f, struct col_web_place *p, struct ts_slice rest,
                        bool last_too)
{
    if (rest.n == COL_WEB_CHUNK_BYTES) {
        if (!p->skip)
            f->opts.too_long(f->opts.arg, p, p->off);
        p->skip = true;
    } else if (last_too && rest.n) {
        if (!p->skip)
            f->opts.line(f->opts.arg, p, p->off, rest);
    } else {
        return 0;
    }
    p->off += rest.n;
    return rest.n;
}

/* Read one chunk. *out_more: there may be more. False: it is not the same file any more. */
static bool chunk_take(struct col_web_follow *f, struct col_web_place *p, bool last_too,
                       const struct col_web_now *now, bool *out_more)
{
    struct col_web_id id;
    *out_more = false;
    if (!col_web__id_of_file(p->file, &id))
        return true;
    if (id.size_bytes < p->off)
        return false;
    if (id.mtime_ms == p->mtime_ms && id.size_bytes == p->off)
        return true;
    ssize_t n = pread(fileno(p->file), f->chunk, COL_WEB_CHUNK_BYTES, (off_t)p->off);
    int same = place_same(f, p); /* checked after the read, so that the bytes belong to the same file */
    if (same == 0)
        return false;
    if (same < 0) /* a file that must not be read yet is not given up */
        p->quiet_ms = now->steady_ms;
    if (n < 0 || same < 0)
        return true;
    if (!p->off && !n && id.mtime_ms != p->mtime_ms) /* it is empty again: its former text may be in a copy */
        p->tail->scan = true;
    p->mtime_ms = id.mtime_ms;
    struct ts_slice text = {f->chunk, (size_t)n};
    bool end = last_too && text.n < COL_WEB_CHUNK_BYTES; /* a line continues in the next chunk */
    if (!kind_known(f, p, text, id.size_bytes, end, now->steady_ms))
        return true;
    size_t taken = lines_take(f, p, text);
    if (!taken || end)
        taken += rest_take(f, p, (struct ts_slice){text.p + taken, text.n - taken}, end);
    if (taken) {
        p->quiet_ms = now->steady_ms;
        p->seen_ms = now->wall_ms;
        f->n_changes++;
    }
    *out_more = taken && (size_t)n == COL_WEB_CHUNK_BYTES;
    return true;
}

int col_web__place_read(struct col_web_follow *f, struct col_web_place *p, bool last_too,
                        const struct col_web_now *now)
{
    bool more = true;
    for (unsigned i = 0; more && i < CHUNKS_A_TURN; i++)
        if (!chunk_take(f, p, last_too, now, &more))
            return -1;
    return more;
}

/* --- packed files --- */

int col_web__packed_read(struct col_web_follow *f, struct col_web_place *p, const struct col_web_now *now)
{
    static struct ts_log_limit limit;
    struct ts_error err = {0};
    struct ts_slice piece;
    int rc = 0;
    for (unsigned i = 0; i < CHUNKS_A_TURN; i++) {
        rc = ts_lines_next(p->lines, &piece, &err);
        if (rc <= 0)
            break;
        if (col_web__kind_wanted(p)) /* nothing is appended to it, so its present lines decide */
            kind_look(f, p, piece, true, now->steady_ms);
        uint64_t end = p->lines_off + piece.n;
        if (end > p->off) { /* otherwise all of it was read before */
            size_t before = p->off > p->lines_off ? (size_t)(p->off - p->lines_off) : 0;
            (void)lines_take(f, p, (struct ts_slice){piece.p + before, piece.n - before});
            p->quiet_ms = now->steady_ms;
        }
        p->lines_off = end;
    }
    if (rc < 0)
        ts_log_limited(&limit, TS_LOG_WARN, "weblog: %s", err.text);
    return rc < 0 ? -1 : rc;
}
