/*
 * fsck_view.c - reads from another file system, except for files that have replacement contents.
 *
 * Threads    files are added by one thread before others read
 */
#include "storage/fsck_view.h"

#include <string.h>

#include "base/mem.h"

/* A file with replacement contents. */
struct changed {
    char *path; /* owned */
    char *p;    /* owned */
    size_t n;   /* bytes */
    struct changed *next;
};

struct sto_fsck_view {
    struct ts_fs fs; /* must be the first member: calls get a pointer to it */
    const struct ts_fs *below;
    struct changed *files;
};

struct ts_file {
    const struct ts_fs *below;
    struct ts_file *file; /* file of the file system below; NULL: the bytes of `changed` */
    const struct changed *changed;
};

static const struct changed *find(const struct sto_fsck_view *v, const char *path)
{
    for (const struct changed *c = v->files; c; c = c->next)
        if (strcmp(c->path, path) == 0)
            return c;
    return NULL;
}

static int view_open(const struct ts_fs *fs, const char *path, enum ts_open how, struct ts_file **out_file,
                     struct ts_error *err)
{
    const struct sto_fsck_view *v = (const struct sto_fsck_view *)fs;
    const struct changed *c = find(v, path);
    struct ts_file *below = NULL;
    *out_file = NULL;
    if (how != TS_OPEN_READ && how != TS_OPEN_REOPEN)
        return ts_error_set(err, TS_EINVAL, "%s is opened for reading only", path);
    if (!c)
        TS_TRY(v->below->open(v->below, path, how, &below, err));
    struct ts_file *f = ts_xmalloc(sizeof *f);
    *f = (struct ts_file){.below = v->below, .file = below, .changed = c};
    *out_file = f;
    return 0;
}

static int view_close(struct ts_file *f, struct ts_error *err)
{
    int rc = f && f->file ? f->below->close(f->file, err) : 0;
    ts_free(f);
    return rc;
}

static int view_pread(struct ts_file *f, void *p, size_t n, uint64_t off, size_t *out_n, struct ts_error *err)
{
    if (f->file)
        return f->below->pread(f->file, p, n, off, out_n, err);
    size_t left = off < f->changed->n ? f->changed->n - (size_t)off : 0;
    *out_n = n < left ? n : left;
    if (*out_n)
        memcpy(p, f->changed->p + off, *out_n);
    return 0;
}

static int view_size(struct ts_file *f, uint64_t *out_bytes, struct ts_error *err)
{
    if (f->file)
        return f->below->size(f->file, out_bytes, err);
    *out_bytes = f->changed->n;
    return 0;
}

static int view_list(const struct ts_fs *fs, const char *path, int (*each)(void *arg, const char *name),
                     void *arg, struct ts_error *err)
{
    const struct sto_fsck_view *v = (const struct sto_fsck_view *)fs;
    return v->below->list(v->below, path, each, arg, err);
}

static int refuse(struct ts_error *err)
{
    return ts_error_set(err, TS_EINVAL, "nothing is written while a store is checked");
}
static int view_append(struct ts_file *f, const void *p, size_t n, struct ts_error *err)
{
    (void)f;
    (void)p;
    (void)n;
    return refuse(err);
}
static int view_sync(struct ts_file *f, struct ts_error *err)
{
    (void)f;
    return refuse(err);
}
static int view_truncate(struct ts_file *f, uint64_t n, struct ts_error *err)
{
    (void)f;
    (void)n;
    return refuse(err);
}
static int view_rename(const struct ts_fs *fs, const char *from, const char *to, struct ts_error *err)
{
    (void)fs;
    (void)from;
    (void)to;
    return refuse(err);
}
static int view_path(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    (void)fs;
    (void)path;
    return refuse(err);
}
static int view_free_bytes(const struct ts_fs *fs, const char *path, uint64_t *out_bytes,
                           struct ts_error *err)
{
    (void)fs;
    (void)path;
    *out_bytes = 0;
    return refuse(err);
}

static int view_identity(const struct ts_fs *fs, const char *path, uint64_t *out_id, struct ts_error *err)
{
    (void)fs;
    (void)path;
    *out_id = 0;
    return refuse(err);
}

struct sto_fsck_view *sto_fsck_view_new(const struct ts_fs *fs)
{
    struct sto_fsck_view *v = ts_xcalloc(1, sizeof *v);
    v->below = fs;
    v->fs = (struct ts_fs){.open = view_open,
                           .close = view_close,
                           .append = view_append,
                           .pread = view_pread,
                           .sync = view_sync,
                           .truncate = view_truncate,
                           .size = view_size,
                           .lock = view_sync,
                           .rename = view_rename,
                           .unlink = view_path,
                           .mkdir = view_path,
                           .sync_dir = view_path,
                           .list = view_list,
                           .free_bytes = view_free_bytes,
                           .identity = view_identity};
    return v;
}

void sto_fsck_view_free(struct sto_fsck_view *v)
{
    if (!v)
        return;
    for (struct changed *c = v->files, *next; c; c = next) {
        next = c->next;
        ts_free(c->path);
        ts_free(c->p);
        ts_free(c);
    }
    ts_free(v);
}

const struct ts_fs *sto_fsck_view_fs(struct sto_fsck_view *v)
{
    return &v->fs;
}

void sto_fsck_view_set(struct sto_fsck_view *v, const char *path, const void *p, size_t n)
{
    struct changed *c = ts_xmalloc(sizeof *c);
    *c = (struct changed){.path = ts_xstrdup(path), .p = ts_xmalloc(n + 1), .n = n, .next = v->files};
    if (n)
        memcpy(c->p, p, n);
    v->files = c; /* the newest is found first */
}
