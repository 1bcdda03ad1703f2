/*
 * spool_open.c - what an earlier process left in the folder: segments in order, torn and damaged lines taken out.
 *
 * Threads    alone, before the spool is shared
 * Not here   appending, reading (spool.c)
 */
#include "collectors/spool_int.h"

#include "base/log.h"
#include "base/mem.h"
#include "collectors/fields.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX_BYTES ((size_t)1 << 30) /* of a segment: far more than any is let grow to */

/* A file found. */
struct found {
    uint64_t number; /* of the segment */
    int64_t hour_s;  /* of the segment */
};

/* Files found. */
struct found_list {
    struct found *p; /* owned */
    size_t n, cap;   /* entries */
};

/* HOUR-NUMBER.put, and nothing else. */
static int found_add(void *arg, const char *name)
{
    struct found_list *l = arg;
    const char *dash = strchr(name, '-');
    size_t n = strlen(name);
    uint64_t hour, number;
    if (!dash || n < 5 || strcmp(name + n - 4, ".put") != 0)
        return 0;
    struct ts_slice a = {name, (size_t)(dash - name)}, b = {dash + 1, n - a.n - 5};
    if (!col_u64_of(a, &hour) || !col_u64_of(b, &number) || !number || hour > INT64_MAX / 1000)
        return 0;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 16;
        l->p = ts_xrealloc(l->p, l->cap * sizeof(*l->p));
    }
    l->p[l->n++] = (struct found){.number = number, .hour_s = (int64_t)hour};
    return 0;
}

static int found_cmp(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Keep whole put lines without zero bytes (blocks a power cut left unwritten); returns how many lines were no such. */
static uint64_t scan_clean(struct ts_slice text, struct ts_buf *out, uint64_t *out_n)
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

static int scan_one(struct col_spool *s, const struct found *f, struct ts_error *err)
{
    char path[PATH_MAX], *text;
    size_t n_text;
    struct ts_buf clean;
    uint64_t n_lines;
    (void)snprintf(path, sizeof(path), "%s/%lld-%llu.put", s->dir, (long long)f->hour_s,
                   (unsigned long long)f->number);
    TS_TRY(ts_fs_read_file(s->fs, path, FILE_MAX_BYTES, &text, &n_text, err));
    ts_buf_init(&clean, 0);
    uint64_t n_bad = scan_clean((struct ts_slice){text, n_text}, &clean, &n_lines);
    int rc = 0;
    if (!clean.n) {
        rc = s->fs->unlink(s->fs, path, err);
    } else {
        if (n_bad)
            rc = ts_fs_write_atomic(s->fs, path, clean.p, clean.n, err);
        struct col_spool__seg *seg = col_spool__add(s, ts_xstrdup(path), f->number, f->hour_s);
        seg->n_bytes = clean.n;
        seg->n_points = n_lines;
        s->n_bytes += clean.n;
        s->stats.n_taken += n_lines;
    }
    s->stats.n_damaged += n_bad;
    ts_buf_release(&clean);
    ts_free(text);
    return rc;
}

int col_spool__scan(struct col_spool *s, struct ts_error *err)
{
    struct found_list l = {0};
    int rc = s->fs->list(s->fs, s->dir, found_add, &l, err);
    if (l.n > 1)
        qsort(l.p, l.n, sizeof(*l.p), found_cmp);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        rc = scan_one(s, &l.p[i], err);
        s->next_number = l.p[i].number + 1;
    }
    if (rc == 0 && s->stats.n_taken + s->stats.n_damaged)
        ts_log(TS_LOG_INFO, "spool: taken up n_points=%llu n_damaged=%llu dir=%s",
               (unsigned long long)s->stats.n_taken, (unsigned long long)s->stats.n_damaged, s->dir);
    ts_free(l.p);
    return rc;
}
