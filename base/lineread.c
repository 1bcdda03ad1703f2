/*
 * lineread.c - reads, unpacks, cuts behind the last line feed, keeps the rest for the next piece.
 *
 * Threads    see lineread.h
 */
#include "base/lineread.h"

#include "base/mem.h"
#include "base/unpack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINES_PIECE_BYTES ((size_t)1 << 20)
#define LINES_RAW_BYTES   ((size_t)256 << 10)

struct ts_lines {
    FILE *file;
    char *name;               /* for messages; owned */
    struct ts_unpack *unpack; /* NULL = it is not packed */
    uint64_t done_bytes;      /* read from the file */
    uint64_t size_bytes;      /* of the file when it was opened; 0 = unknown */
    char *buf;                /* text: [start, n) is not given out yet */
    size_t start, n, cap;     /* in bytes; cap without the pad */
    char *raw;                /* packed bytes; [raw_at, raw_n) is not used yet */
    size_t raw_at, raw_n;     /* in bytes */
    bool eof;                 /* the file has no more */
    int failed;               /* error kept until the lines before it were given out */
    struct ts_error err;      /* its text */
};

/* Up to n bytes of the file itself. */
static int lines_raw_read(struct ts_lines *l, char *p, size_t n, size_t *out_n)
{
    *out_n = fread(p, 1, n, l->file);
    l->done_bytes += *out_n;
    if (*out_n == 0 && ferror(l->file))
        return ts_error_sys(&l->err, TS_EIO, errno, "%s: can't be read", l->name);
    if (*out_n == 0 && l->done_bytes < l->size_bytes)
        return ts_error_set(&l->err, TS_EIO,
                            "%s: was cut to %llu bytes while it was read; it had %llu in the beginning",
                            l->name, (unsigned long long)l->done_bytes, (unsigned long long)l->size_bytes);
    l->eof = *out_n == 0;
    return 0;
}

static int lines_refill(struct ts_lines *l)
{
    if (l->raw_at < l->raw_n || l->eof)
        return 0;
    l->raw_at = 0;
    return lines_raw_read(l, l->raw, LINES_RAW_BYTES, &l->raw_n);
}

static int lines_cut(struct ts_lines *l)
{
    return ts_error_set(&l->err, TS_ECORRUPT, "%s: ends in the middle of its packed data", l->name);
}

/* Unpack into [p, p + n); *out_n = 0 at the end. */
static int lines_unpack(struct ts_lines *l, char *p, size_t n, size_t *out_n)
{
    *out_n = 0;
    while (*out_n == 0) {
        TS_TRY(lines_refill(l));
        struct ts_slice in = {l->raw + l->raw_at, l->raw_n - l->raw_at};
        size_t before = in.n;
        int rc = ts_unpack_step(l->unpack, &in, p, n, out_n, &l->err);
        if (rc < 0) {
            char what[sizeof(l->err.text)];
            (void)snprintf(what, sizeof(what), "%s", l->err.text);
            return ts_error_set(&l->err, rc, "%s: %s", l->name, what);
        }
        l->raw_at = l->raw_n - in.n;
        if (*out_n == 0 && before == in.n && l->eof)
            return ts_unpack_open(l->unpack) ? lines_cut(l) : 0;
    }
    return 0;
}

/* More text behind what is there. False at the end or on an error (kept in failed). */
static bool lines_fill(struct ts_lines *l)
{
    size_t got = 0, room = l->cap - l->n;
    if (l->failed)
        return false;
    if (l->unpack) {
        l->failed = lines_unpack(l, l->buf + l->n, room, &got);
    } else {
        while (l->raw_at < l->raw_n && got < room) { /* the first bytes were read to detect the compression */
            l->buf[l->n + got++] = l->raw[l->raw_at++];
        }
        if (got == 0)
            l->failed = lines_raw_read(l, l->buf + l->n, room, &got);
    }
    l->n += got;
    return l->failed == 0 && got > 0;
}

/* The first bytes show the compression. */
static int lines_pack(struct ts_lines *l)
{
    size_t got = 0;
    do { /* a pipe gives what it has */
        TS_TRY(lines_raw_read(l, l->raw + l->raw_n, TS_PACK_MAGIC_BYTES - l->raw_n, &got));
        l->raw_n += got;
    } while (got && l->raw_n < TS_PACK_MAGIC_BYTES);
    const struct ts_pack *pack = ts_pack_find((struct ts_slice){l->raw, l->raw_n});
    if (!pack)
        return 0;
    if (!pack->readable)
        return ts_error_set(
            &l->err, TS_EINVAL,
            "%s: is packed by %s, which is not read here; unpack it, or pack it by gzip, zstd, xz "
            "or bzip2",
            l->name, pack->name);
    return ts_unpack_new(pack, &l->unpack, &l->err);
}

int ts_lines_open(const char *path, struct ts_lines **out_lines, struct ts_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct stat st;
    *out_lines = NULL;
    FILE *file = is_stdin ? stdin : fopen(path, "rbe");
    if (!file || fstat(fileno(file), &st) < 0) {
        int e = errno;
        if (file && !is_stdin)
            fclose(file);
        return ts_error_sys(err, TS_EIO, e, "%s: can't be opened", path);
    }
    if (S_ISDIR(st.st_mode)) {
        if (!is_stdin)
            fclose(file);
        return ts_error_set(err, TS_EINVAL, "%s: is a folder, not a file of lines", path);
    }
    setvbuf(file, NULL, _IONBF, 0);
    struct ts_lines *l = ts_xcalloc(1, sizeof(*l));
    l->file = file;
    l->name = ts_xstrdup(is_stdin ? "standard input" : path);
    l->size_bytes = !is_stdin && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    l->cap = LINES_PIECE_BYTES;
    l->buf = ts_xcalloc(1, l->cap + TS_LINES_PAD);
    l->raw = ts_xmalloc(LINES_RAW_BYTES);
    int rc = lines_pack(l);
    if (rc < 0) {
        if (err)
            *err = l->err;
        ts_lines_close(l);
        return rc;
    }
    *out_lines = l;
    return 0;
}

void ts_lines_close(struct ts_lines *l)
{
    if (!l)
        return;
    ts_unpack_free(l->unpack);
    if (l->file != stdin)
        fclose(l->file);
    ts_free(l->name);
    ts_free(l->raw);
    ts_free(l->buf);
    ts_free(l);
}

/* Move the rest of the last piece to the front, and enlarge the buffer if it is full. */
static int lines_make_room(struct ts_lines *l)
{
    if (l->start) {
        memmove(l->buf, l->buf + l->start, l->n - l->start);
        l->n -= l->start;
        l->start = 0;
    }
    if (l->n < l->cap)
        return 0;
    if (l->cap >= TS_LINES_MAX_BYTES)
        return ts_error_set(&l->err, TS_ELIMIT, "%s: a line is longer than 16 MiB; is this a file of lines?",
                            l->name);
    l->cap *= 2;
    l->buf = ts_xrealloc(l->buf, l->cap + TS_LINES_PAD);
    return 0;
}

int ts_lines_next(struct ts_lines *l, struct ts_slice *out, struct ts_error *err)
{
    size_t seen = 0; /* of the text not given out, without a line feed */
    for (;;) {
        if (!l->failed)
            l->failed = lines_make_room(l);
        if (lines_fill(l) && l->n < l->cap && l->unpack)
            continue; /* packed data comes in small pieces: fill the buffer */
        char *nl = memrchr(l->buf + l->start + seen, '\n', l->n - l->start - seen);
        if (nl) {
            *out = (struct ts_slice){l->buf + l->start, (size_t)(nl + 1 - (l->buf + l->start))};
            l->start += out->n;
            return 1;
        }
        seen = l->n - l->start;
        if (l->failed) {
            if (err)
                *err = l->err;
            return l->failed;
        }
        if (l->eof && l->raw_at == l->raw_n && !(l->unpack && ts_unpack_open(l->unpack))) {
            if (seen == 0)
                return 0;
            if (l->n == l->cap)
                l->buf = ts_xrealloc(l->buf, ++l->cap + TS_LINES_PAD);
            l->buf[l->n++] = '\n';
            seen = 0;
        }
    }
}

uint64_t ts_lines_done_bytes(const struct ts_lines *l)
{
    return l->done_bytes;
}
