/*
 * fs_rest.c - reads what can be read of files on a disk that fails.
 *
 * Threads    plain functions
 */
#include "base/fs.h"

#include <string.h>

#include "base/mem.h"

#define TRIES        3u /* of a part; some errors pass: a loose cable, a path of a storage network that changes */
#define SECTOR_TRIES 2u         /* of a sector, after its part could not be read */
#define SECTOR_BYTES 512u       /* least part that a disk can't read */
#define PART_BYTES   (1u << 20) /* read at once */

static int try(const struct ts_fs *fs, struct ts_file *file, void *p, size_t n, uint64_t off, unsigned tries,
               size_t *out_n, struct ts_error *err)
{
    int rc = TS_EIO;
    for (unsigned i = 0; rc == TS_EIO && i < tries; i++)
        rc = fs->pread(file, p, n, off, out_n, err);
    return rc;
}

static void note(struct ts_unread *u, uint64_t off, size_t n)
{
    u->first_off = u->n_bytes ? u->first_off : off;
    u->end_off = off + n;
    u->n_bytes += n;
    u->sectors[u->n_sectors++] = off / SECTOR_BYTES;
}

/* Was this sector counted by a read that overlaps this one? It is not tried again: each attempt may take seconds. */
static bool is_noted(const struct ts_unread *u, uint64_t off)
{
    for (unsigned i = 0; i < u->n_sectors; i++)
        if (u->sectors[i] == off / SECTOR_BYTES)
            return true;
    return false;
}

/* A part that can't be read as a whole, sector by sector. */
static int read_sectors(const struct ts_fs *fs, struct ts_file *file, char *p, size_t n, uint64_t off,
                        size_t *out_n, struct ts_unread *u, struct ts_error *err)
{
    uint64_t size_bytes;
    TS_TRY(fs->size(file, &size_bytes, err));
    n = off >= size_bytes ? 0 : n < size_bytes - off ? n : (size_t)(size_bytes - off);
    for (size_t at = 0; at < n;) {
        size_t left = n - at, len = SECTOR_BYTES - (size_t)((off + at) % SECTOR_BYTES), got = 0;
        len = len < left ? len : left;
        if (is_noted(u, off + at)) {
            memset(p + at, 0, len);
            at += len;
            continue;
        }
        int rc = try(fs, file, p + at, len, off + at, SECTOR_TRIES, &got, err);
        if (rc < 0 && rc != TS_EIO)
            return rc;
        if (rc < 0 || got < len) {
            if (u->n_sectors == TS_UNREAD_SECTORS)
                return ts_error_set(err, TS_EIO, "more than %u sectors can't be read", TS_UNREAD_SECTORS);
            memset(p + at + got, 0, len - got);
            note(u, off + at + got, len - got);
        }
        at += len;
    }
    *out_n = n;
    return 0;
}

int ts_fs_pread_rest(const struct ts_fs *fs, struct ts_file *file, void *p, size_t n, uint64_t off,
                     size_t *out_n, struct ts_unread *u, struct ts_error *err)
{
    struct ts_error why = {0};
    size_t got = 0;
    *out_n = 0;
    for (size_t at = 0; at < n; at += got) {
        size_t len = n - at < PART_BYTES ? n - at : PART_BYTES;
        int rc = try(fs, file, (char *)p + at, len, off + at, TRIES, &got, &why);
        if (rc == TS_EIO)
            rc = read_sectors(fs, file, (char *)p + at, len, off + at, &got, u, &why);
        if (rc < 0)
            return ts_error_set(err, rc, "%s", why.text);
        *out_n += got;
        if (got < len)
            break;
    }
    return 0;
}

static int open_and_read(const struct ts_fs *fs, const char *path, size_t max_bytes, char **out_p,
                         size_t *out_n, struct ts_unread *u, struct ts_error *err)
{
    struct ts_file *file;
    uint64_t size_bytes;
    TS_TRY(fs->open(fs, path, TS_OPEN_READ, &file, err));
    int rc = fs->size(file, &size_bytes, err);
    if (rc == 0 && size_bytes > max_bytes)
        rc = ts_error_set(err, TS_ELIMIT, "%s has %llu bytes, allowed are %zu", path,
                          (unsigned long long)size_bytes, max_bytes);
    if (rc == 0 && !(*out_p = ts_try_malloc((size_t)size_bytes + 1)))
        rc = ts_error_set(err, TS_ENOMEM, "no memory for %llu bytes of %s", (unsigned long long)size_bytes,
                          path);
    if (rc == 0)
        rc = ts_fs_pread_rest(fs, file, *out_p, (size_t)size_bytes, 0, out_n, u, err);
    fs->close(file, NULL); /* only read: nothing was held back */
    if (rc == 0)
        (*out_p)[*out_n] = '\0';
    return rc;
}

int ts_fs_read_rest(const struct ts_fs *fs, const char *path, size_t max_bytes, char **out_p, size_t *out_n,
                    struct ts_unread *u, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = TS_EIO;
    *out_p = NULL;
    for (unsigned i = 0; rc == TS_EIO && i < TRIES; i++) {
        ts_free(*out_p);
        *out_p = NULL;
        *out_n = 0;
        *u = (struct ts_unread){0};
        rc = open_and_read(fs, path, max_bytes, out_p, out_n, u, &why);
    }
    if (rc < 0) {
        ts_free(*out_p);
        *out_p = NULL;
        *out_n = 0;
        return ts_error_set(err, rc, "%s", why.text);
    }
    return 0;
}
