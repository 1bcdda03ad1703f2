/*
 * spool_open.c - the folder of a spool: made, locked, and what an earlier process left in it taken up, without damaged batches.
 *
 * Version 0.1 wrote files HOUR-NUMBER.put of plain lines: they are taken up too, and written anew.
 *
 * Threads    alone, before the spool is shared; col_spool__folder with its mutex held
 * Not here   appending, reading (spool.c)
 */
#include "collectors/core/spool_int.h"

#include "base/log.h"
#include "base/array.h"
#include "base/mem.h"
#include "collectors/core/fields.h"
#include "collectors/core/spool_record.h"

#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX_BYTES ((size_t)1 << 30) /* of a segment: far more than any is let grow to */

int col_spool__folder(struct col_spool *s, struct ts_error *err)
{
    char path[PATH_MAX];
    TS_TRY(ts_fs_mkdirs(s->fs, s->dir, err));
    TS_TRY(ts_fs_sync_folder_of(s->fs, s->dir, err));
    (void)s->fs->close(s->lock, NULL);
    s->lock = NULL;
    (void)snprintf(path, sizeof(path), "%s/lock", s->dir);
    TS_TRY(s->fs->open(s->fs, path, TS_OPEN_APPEND, &s->lock, err));
    int rc = s->fs->lock(s->lock, err);
    if (rc < 0)
        (void)ts_error_wrap(err, "another process collects with this folder (give each its own collect_dir)");
    return rc;
}

/* A file found. */
struct found {
    char *name;      /* owned */
    uint64_t number; /* of the segment */
    bool plain;      /* of version 0.1 */
};

/* Files found. */
struct found_list {
    struct found *p; /* owned */
    size_t n, cap;   /* entries */
};

/* The number in NUMBER.seg or HOUR-NUMBER.put; 0 = another file. */
static uint64_t found_number(const char *name, bool *out_plain)
{
    struct ts_slice s = ts_slice_str(name);
    uint64_t number, hour;
    if (s.n < 5)
        return 0;
    *out_plain = strcmp(name + s.n - 4, ".put") == 0;
    if (!*out_plain && strcmp(name + s.n - 4, ".seg") != 0)
        return 0;
    s.n -= 4;
    const char *dash = *out_plain ? memchr(s.p, '-', s.n) : NULL;
    if (*out_plain && (!dash || !col_u64_of((struct ts_slice){s.p, (size_t)(dash - s.p)}, &hour)))
        return 0;
    if (dash)
        s = (struct ts_slice){dash + 1, (size_t)(s.p + s.n - dash - 1)};
    return col_u64_of(s, &number) ? number : 0;
}

static int found_add(void *arg, const char *name)
{
    struct found_list *l = arg;
    struct found f;
    f.number = found_number(name, &f.plain);
    if (!f.number)
        return 0;
    f.name = ts_xstrdup(name);
    TS_ARRAY_GROW(l->p, l->n, l->cap, 16);
    l->p[l->n++] = f;
    return 0;
}

/* Files of version 0.1 come last: the segments they become are the newest. */
static int found_cmp(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return x->plain != y->plain ? x->plain - y->plain : (x->number > y->number) - (x->number < y->number);
}

static uint64_t count_lines(struct ts_slice text)
{
    struct ts_slice line;
    uint64_t n = 0;
    while (col_line_next(&text, &line))
        n += line.n > 0;
    return n;
}

/* Keep whole put lines without zero bytes (blocks a power cut left unwritten); returns how many lines were no such. */
static uint64_t plain_clean(struct ts_slice text, struct ts_buf *out, uint32_t *out_n)
{
    uint64_t n_bad = 0;
    *out_n = 0;
    while (text.n) {
        const char *nl = memchr(text.p, '\n', text.n);
        size_t n = nl ? (size_t)(nl + 1 - text.p) : text.n;
        if (nl && n > 5 && memcmp(text.p, "put ", 4) == 0 && !memchr(text.p, '\0', n)) {
            ts_buf_append(out, text.p, n);
            ++*out_n;
        } else {
            n_bad++;
        }
        text = (struct ts_slice){text.p + n, text.n - n};
    }
    return n_bad;
}

/* The next lines of at most so many bytes, at least one. */
static struct ts_slice plain_piece(struct ts_slice *text, size_t most)
{
    size_t n = text->n;
    if (n > most) {
        const char *nl = memrchr(text->p, '\n', most);
        if (!nl)
            nl = memchr(text->p, '\n', n);
        n = (size_t)(nl + 1 - text->p); /* plain_clean lets every line end */
    }
    struct ts_slice piece = {text->p, n};
    *text = (struct ts_slice){text->p + n, text->n - n};
    return piece;
}

/* Lines become batches; when the spool is full, the oldest go, as with lines that come from collectors. */
static int plain_take(struct col_spool *s, struct ts_slice text, struct ts_error *err)
{
    size_t most = s->segment_bytes < s->max_bytes / 2 ? s->segment_bytes : s->max_bytes / 2;
    while (text.n) {
        struct ts_slice piece = plain_piece(&text, most);
        uint32_t n = (uint32_t)count_lines(piece);
        int rc = col_spool__take(s, piece, n, err);
        if (rc < 0 && rc != TS_ELIMIT)
            return rc;
        if (rc == TS_ELIMIT) /* a line longer than the whole spool */
            s->stats.n_dropped_points += n;
    }
    return 0;
}

/* A file of version 0.1 becomes batches, and goes once they are on the disk. */
static int scan_plain(struct col_spool *s, const char *path, struct ts_slice text, struct ts_error *err)
{
    struct ts_buf clean;
    uint32_t n;
    ts_buf_init(&clean, 0);
    s->stats.n_damaged += plain_clean(text, &clean, &n);
    int rc = plain_take(s, ts_buf_get(&clean), err);
    ts_buf_release(&clean);
    if (rc == 0)
        rc = col_spool__sync(s, err);
    if (rc < 0)
        return rc;
    if (!s->n_mem_bytes)
        return s->fs->unlink(s->fs, path, err);
    ts_log(TS_LOG_WARN,
           "spool: %s stays until its points, which the disk does not take, are sent: they may be sent again",
           path);
    return 0;
}

/* Keep complete batches; returns the number of lines in others, as far as it is known. */
static uint64_t seg_clean(struct ts_slice text, struct ts_buf *out, uint64_t *out_n)
{
    uint64_t n_bad = 0;
    *out_n = 0;
    while (text.n) {
        struct col_record r;
        size_t need;
        if (col_record_get(text, &r, &need) == 1) {
            ts_buf_append(out, text.p, r.n_bytes);
            *out_n += r.n_points;
        } else {
            r.n_bytes = 1 + col_record_find((struct ts_slice){text.p + 1, text.n - 1});
            n_bad += count_lines((struct ts_slice){text.p, r.n_bytes});
        }
        text = (struct ts_slice){text.p + r.n_bytes, text.n - r.n_bytes};
    }
    return n_bad;
}

static int scan_seg(struct col_spool *s, const char *path, uint64_t number, struct ts_slice text,
                    struct ts_error *err)
{
    struct ts_buf clean;
    uint64_t n_points;
    ts_buf_init(&clean, 0);
    s->stats.n_damaged += seg_clean(text, &clean, &n_points);
    int rc = 0;
    if (!clean.n) {
        rc = s->fs->unlink(s->fs, path, err);
    } else {
        if (clean.n < text.n)
            rc = ts_fs_write_atomic(s->fs, path, clean.p, clean.n, err);
        struct col_spool__seg *seg = col_spool__add(s, ts_xstrdup(path), number);
        seg->n_bytes = clean.n;
        seg->n_points = n_points;
        s->n_bytes += clean.n;
        s->stats.n_taken += n_points;
    }
    ts_buf_release(&clean);
    return rc;
}

static int scan_one(struct col_spool *s, const struct found *f, struct ts_error *err)
{
    char path[PATH_MAX], *text;
    size_t n_text;
    (void)snprintf(path, sizeof(path), "%s/%s", s->dir, f->name);
    TS_TRY(ts_fs_read_file(s->fs, path, FILE_MAX_BYTES, &text, &n_text, err));
    struct ts_slice all = {text, n_text};
    int rc = f->plain ? scan_plain(s, path, all, err) : scan_seg(s, path, f->number, all, err);
    ts_free(text);
    return rc;
}

int col_spool__scan(struct col_spool *s, struct ts_error *err)
{
    struct found_list l = {0};
    int rc = s->fs->list(s->fs, s->dir, found_add, &l, err);
    if (l.n > 1)
        qsort(l.p, l.n, sizeof(*l.p), found_cmp);
    for (size_t i = 0; i < l.n; i++) {
        if (rc == 0)
            rc = scan_one(s, &l.p[i], err);
        if (!l.p[i].plain)
            s->next_number = l.p[i].number + 1;
        ts_free(l.p[i].name);
    }
    if (rc == 0 && s->stats.n_taken + s->stats.n_damaged)
        ts_log(TS_LOG_INFO, "spool: taken up n_points=%llu n_damaged=%llu dir=%s",
               (unsigned long long)s->stats.n_taken, (unsigned long long)s->stats.n_damaged, s->dir);
    ts_free(l.p);
    return rc;
}
