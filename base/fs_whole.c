/*
 * fs_whole.c - what is put together from the calls of a file system: whole files, folders, paths.
 *
 * Threads    plain functions
 */
#include "base/fs.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define TMP_SUFFIX ".tmp"

static int write_new_file(const struct ts_fs *fs, const char *path, const void *p, size_t n,
                          struct ts_error *err)
{
    struct ts_file *file;
    TS_TRY(fs->open(fs, path, TS_OPEN_CREATE, &file, err));
    int rc = fs->append(file, p, n, err);
    if (rc == 0)
        rc = fs->sync(file, err);
    int close_rc = fs->close(file, rc < 0 ? NULL : err); /* the first error is reported */
    return rc < 0 ? rc : close_rc;
}

int ts_fs_mkdirs(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    char *part = ts_xstrdup(path);
    int rc = 0;
    for (char *p = part + 1; rc == 0 && *part && *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        rc = fs->mkdir(fs, part, err);
        *p = '/';
    }
    ts_free(part);
    return rc < 0 ? rc : fs->mkdir(fs, path, err);
}

int ts_fs_exists(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    struct ts_file *probe;
    struct ts_error why = {0};
    int rc = fs->open(fs, path, TS_OPEN_READ, &probe, &why);
    if (rc == TS_ENOTFOUND)
        return 0;
    if (rc < 0) {
        if (err)
            *err = why;
        return rc;
    }
    (void)fs->close(probe, NULL); /* nothing was written */
    return 1;
}

int ts_fs_sync_folder_of(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    const char *slash = strrchr(path, '/');
    size_t n = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *dir = ts_xmalloc(n + 2);
    memcpy(dir, n ? path : ".", n ? n : 1);
    dir[n ? n : 1] = 0;
    int rc = fs->sync_dir(fs, dir, err);
    ts_free(dir);
    return rc;
}

char *ts_fs_join(const char *dir, const char *name)
{
    size_t n = strlen(dir) + strlen(name) + 2;
    char *p = ts_xmalloc(n);
    (void)snprintf(p, n, "%s/%s", dir, name);
    return p;
}

char *ts_fs_suffixed(const char *path, const char *suffix)
{
    size_t n = strlen(path) + strlen(suffix) + 1;
    char *p = ts_xmalloc(n);
    (void)snprintf(p, n, "%s%s", path, suffix);
    return p;
}

int ts_fs_write_atomic(const struct ts_fs *fs, const char *path, const void *p, size_t n,
                       struct ts_error *err)
{
    char *tmp = ts_fs_suffixed(path, TMP_SUFFIX);
    int rc = fs->unlink(fs, tmp, err); /* left by a crash */
    if (rc == TS_ENOTFOUND) {
        if (err)
            *err = (struct ts_error){0};
        rc = 0;
    }
    if (rc == 0)
        rc = write_new_file(fs, tmp, p, n, err);
    if (rc == 0)
        rc = fs->rename(fs, tmp, path, err);
    if (rc == 0)
        rc = ts_fs_sync_folder_of(fs, path, err);
    else
        fs->unlink(fs, tmp, NULL);
    ts_free(tmp);
    return rc;
}

int ts_fs_read_small(const struct ts_fs *fs, const char *path, size_t max_bytes, char **out_p, size_t *out_n,
                     struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = ts_fs_read_file(fs, path, max_bytes, out_p, out_n, &why);
    if (rc == 0)
        return 1;
    if (rc == TS_ENOTFOUND)
        return 0;
    if (rc == TS_ELIMIT)
        return ts_error_set(err, TS_ECORRUPT, "%s is damaged: it is longer than %zu bytes", path, max_bytes);
    if (err)
        *err = why;
    return rc;
}
