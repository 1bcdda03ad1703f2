/*
 * source.c - whole files of /proc and /sys, which claim to have no bytes.
 *
 * Threads    see source.h
 */
#include "collectors/core/source.h"

#include "base/fs.h"
#include "base/array.h"
#include "base/mem.h"
#include "collectors/core/fields.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define SOURCE_STEP ((size_t)16 << 10) /* read at once; most files are smaller */
#define SMALL_BYTES 4096
#define PIECE_BYTES ((size_t)64 << 10)

static int source_path(const char *root, const char *path, char *out, size_t out_bytes, struct ts_error *err)
{
    int n = snprintf(out, out_bytes, "%s%s", root, path);
    if (n < 0 || (size_t)n >= out_bytes)
        return ts_error_set(err, TS_EINVAL, "path too long: %s%s", root, path);
    return 0;
}

int col_source_read(const char *root, const char *path, struct ts_buf *out, struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    char full[PATH_MAX];
    struct ts_file *file;
    size_t got = 0, step = SOURCE_STEP;
    ts_buf_clear(out);
    TS_TRY(source_path(root, path, full, sizeof(full), err));
    TS_TRY(fs->open(fs, full, TS_OPEN_READ, &file, err));
    int rc = 0;
    do {
        /* the last part of a maximum that is no multiple of the step, and one byte to see that there is more */
        if (out->max && out->n + step > out->max)
            step = out->max - out->n;
        char *p = step ? ts_buf_reserve(out, step) : NULL;
        if (!p) {
            rc = ts_error_set(err, TS_ELIMIT, "%s is larger than %zu bytes", full, out->max);
            break;
        }
        rc = fs->pread(file, p, step, out->n, &got, err);
        out->n += rc == 0 ? got : 0;
    } while (rc == 0 && got == step);
    (void)fs->close(file, NULL);
    return rc;
}

int col_source_lines(const char *root, const char *path, void (*each)(void *arg, struct ts_slice line),
                     void *arg, struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    char full[PATH_MAX];
    struct ts_file *file;
    size_t n = 0, got;
    uint64_t off = 0;
    TS_TRY(source_path(root, path, full, sizeof(full), err));
    TS_TRY(fs->open(fs, full, TS_OPEN_READ, &file, err));
    char *p = ts_xcalloc(1, PIECE_BYTES);
    int rc;
    do {
        rc = fs->pread(file, p + n, PIECE_BYTES - n, off, &got, err);
        off += got;
        struct ts_slice text = {p, n + got}, line;
        while (text.n && (memchr(text.p, '\n', text.n) || !got || text.n == PIECE_BYTES) &&
               col_line_next(&text, &line))
            if (line.n < PIECE_BYTES)
                each(arg, line);
        n = text.n;
        if (n)
            memmove(p, text.p, n);
    } while (rc == 0 && got);
    ts_free(p);
    (void)fs->close(file, NULL);
    return rc;
}

bool col_source_word(const char *root, const char *path, char *out, size_t out_bytes)
{
    const struct ts_fs *fs = ts_fs_real();
    char full[PATH_MAX], text[SMALL_BYTES];
    struct ts_file *file;
    size_t n = 0;
    struct ts_slice all, line = {NULL, 0};
    out[0] = '\0';
    if (source_path(root, path, full, sizeof(full), NULL) < 0 ||
        fs->open(fs, full, TS_OPEN_READ, &file, NULL) < 0)
        return false;
    bool ok = fs->pread(file, text, sizeof(text), 0, &n, NULL) == 0;
    (void)fs->close(file, NULL);
    all = (struct ts_slice){text, n};
    if (ok && col_line_next(&all, &line))
        line = col_trim(line);
    (void)snprintf(out, out_bytes, "%.*s", (int)line.n, line.n ? line.p : "");
    return ok;
}

bool col_source_int(const char *root, const char *path, int64_t *out)
{
    char word[32];
    return col_source_word(root, path, word, sizeof(word)) && col_i64_of(ts_slice_str(word), out);
}

/* Names of a folder, sorted. */
struct names {
    char **p;      /* owned texts */
    size_t n, cap; /* entries */
};

static int names_add(void *arg, const char *name)
{
    struct names *l = arg;
    TS_ARRAY_GROW(l->p, l->n, l->cap, 32);
    l->p[l->n++] = ts_xstrdup(name);
    return 0;
}

static int names_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int col_source_list(const char *root, const char *path, int (*each)(void *arg, const char *name), void *arg,
                    struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    char full[PATH_MAX];
    struct names l = {0};
    TS_TRY(source_path(root, path, full, sizeof(full), err));
    int rc = fs->list(fs, full, names_add, &l, err);
    if (l.n > 1)
        qsort(l.p, l.n, sizeof(*l.p), names_cmp);
    for (size_t i = 0; rc >= 0 && i < l.n; i++)
        rc = each(arg, l.p[i]);
    for (size_t i = 0; i < l.n; i++)
        ts_free(l.p[i]);
    ts_free(l.p);
    return rc;
}
