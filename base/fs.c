/*
 * fs.c - the real file system behind struct ts_fs, and functions on paths and whole files of any struct ts_fs.
 *
 * Threads    see fs.h; nothing is shared between files
 * Invariant  no system call on data files is made anywhere else
 * Not here   which files there are and what is in them (storage)
 */
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fs_regular.h"
#include "base/hash.h"
#include "base/mem.h"

#define FILE_MODE   0640 /* before umask: a group may read, the world has no business here */
#define FOLDER_MODE 0750

/* An open file of the real file system. */
struct ts_file {
    int fd;           /* open, close-on-exec */
    int folder_fd;    /* its folder, locked with it; -1 = not locked */
    bool sync_failed; /* a sync failed once: later ones must not pretend; set by its one thread */
    char path[];      /* as opened, for messages */
};

/* errno as a code; the rest is TS_EIO, which ts_error_sys turns into TS_ENOSPC where it must. */
static int code_of(int sys_errno)
{
    if (sys_errno == ENOENT)
        return TS_ENOTFOUND;
    if (sys_errno == EEXIST || sys_errno == ENOTEMPTY)
        return TS_EEXIST;
    if (sys_errno == EMFILE || sys_errno == ENFILE)
        return TS_EMFILE;
    return TS_EIO;
}

/* One message for all: "cannot open x: No such file or directory". */
static int fail(struct ts_error *err, int sys_errno, const char *verb, const char *path)
{
    return ts_error_sys(err, code_of(sys_errno), sys_errno, "cannot %s %s", verb, path);
}

static pthread_mutex_t spare_mu = PTHREAD_MUTEX_INITIALIZER;
static int spares[TS_FS_SPARE]; /* under spare_mu */
static unsigned n_spares;       /* under spare_mu: used of spares */

unsigned ts_fs_keep_spare(void)
{
    pthread_mutex_lock(&spare_mu);
    for (int fd = 0; n_spares < TS_FS_SPARE && fd >= 0;) {
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            spares[n_spares++] = fd;
    }
    unsigned n = n_spares;
    pthread_mutex_unlock(&spare_mu);
    return n;
}

bool ts_fs_has_descriptors(size_t n)
{
    bool all = ts_fs_keep_spare() == TS_FS_SPARE;
    int *fds = ts_xcalloc(n + 1, sizeof *fds);
    int one = all ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    size_t got = 0;
    while (one >= 0 && got + 1 < n && (fds[got] = fcntl(one, F_DUPFD_CLOEXEC, 0)) >= 0)
        got++;
    all = all && (n == 0 || (one >= 0 && got + 1 >= n));
    while (got > 0)
        (void)close(fds[--got]);
    if (one >= 0)
        (void)close(one);
    ts_free(fds);
    return all;
}

/* Close one spare descriptor, so that its number is free; false: none is left. */
static bool use_spare(void)
{
    pthread_mutex_lock(&spare_mu);
    bool used = n_spares > 0;
    if (used)
        (void)close(spares[--n_spares]);
    pthread_mutex_unlock(&spare_mu);
    return used;
}

/* After a failed open(2): is it worth another try? */
static bool open_again(bool may_use_spare)
{
    int why = errno;
    bool again = why == EINTR || (why == EMFILE && may_use_spare && use_spare());
    errno = why;
    return again;
}

/* open(2), again after EINTR, and with a spare descriptor, if allowed, when no other is left; -1 with errno. */
static int open_fd_with(const char *path, int flags, bool may_use_spare)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC, FILE_MODE);
    while (fd < 0 && open_again(may_use_spare));
    return fd;
}

static int open_fd(const char *path, int flags)
{
    return open_fd_with(path, flags, true);
}

static struct ts_file *file_new(int fd, const char *path)
{
    size_t n_path = strlen(path) + 1;
    struct ts_file *file = ts_xcalloc(1, sizeof(*file) + n_path);
    file->fd = fd;
    file->folder_fd = -1;
    memcpy(file->path, path, n_path);
    return file;
}

static int real_open(const struct ts_fs *fs, const char *path, enum ts_open how, struct ts_file **out_file,
                     struct ts_error *err)
{
    (void)fs;
    *out_file = NULL;
    int flags = O_RDONLY; /* O_APPEND: the kernel finds the end, also after truncate */
    if (how == TS_OPEN_CREATE)
        flags = O_RDWR | O_APPEND | O_CREAT | O_EXCL;
    else if (how == TS_OPEN_APPEND)
        flags = O_RDWR | O_APPEND | O_CREAT;
    int fd = how == TS_OPEN_REOPEN ? open_fd_with(path, flags, false) : open_fd(path, flags);
    if (fd < 0)
        return fail(err, errno, how == TS_OPEN_CREATE ? "create" : "open", path);
    *out_file = file_new(fd, path);
    return 0;
}

int ts_fs_open_regular(const struct ts_fs *fs, const char *path, struct ts_file **out_file,
                       struct ts_error *err)
{
    struct stat st;
    if (fs->open != real_open)
        return fs->open(fs, path, TS_OPEN_READ, out_file, err);
    *out_file = NULL;
    int fd = open_fd(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK); /* reads of regular files are as without it */
    if (fd < 0 && errno != ELOOP && errno != ENXIO)
        return fail(err, errno, "open", path);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *out_file = file_new(fd, path);
        return 0;
    }
    if (fd >= 0)
        (void)close(fd);
    return ts_error_set(err, TS_EINVAL, "cannot open %s: it is not a regular file, or is a link to one",
                        path);
}

/* The owner of the folder becomes that of the file. */
static int own_as_folder(int fd, const char *path)
{
    struct stat dir;
    char *folder = ts_xstrdup(path), *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    int rc = stat(slash ? folder : ".", &dir);
    ts_free(folder);
    return rc == 0 && dir.st_uid != 0 ? fchown(fd, dir.st_uid, dir.st_gid) : rc;
}

int ts_fs_open_guarded(const char *path, struct ts_file **out_file, bool *out_is_new, struct ts_error *err)
{
    const int flags = O_RDWR | O_APPEND | O_NOFOLLOW;
    struct stat st;
    *out_file = NULL;
    int fd = open_fd(path, flags | O_CREAT | O_EXCL);
    *out_is_new = fd >= 0;
    if (fd < 0 && errno == EEXIST)
        fd = open_fd(path, flags);
    if (fd < 0)
        return fail(err, errno, "open", path);
    int rc = fstat(fd, &st);
    if (rc == 0 && !S_ISREG(st.st_mode)) {
        errno = EINVAL;
        rc = -1;
    }
    if (rc == 0 && *out_is_new && geteuid() == 0)
        rc = own_as_folder(fd, path);
    if (rc < 0) {
        rc = fail(err, errno, "open as a file of one's own", path);
        (void)close(fd);
        return rc;
    }
    *out_file = file_new(fd, path);
    return 0;
}

static int real_close(struct ts_file *file, struct ts_error *err)
{
    if (!file)
        return 0;
    int rc = 0;
    if (file->folder_fd >= 0)
        (void)close(file->folder_fd);
    /* Never twice: after EINTR Linux has closed it, and the number may be someone else's already. */
    if (close(file->fd) < 0 && errno != EINTR)
        rc = fail(err, errno, "close", file->path);
    ts_free(file);
    return rc;
}

static int real_append(struct ts_file *file, const void *data, size_t n, struct ts_error *err)
{
    const char *p = data;
    while (n > 0) {
        ssize_t k = write(file->fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) /* 0 for n > 0 happens on no file system we know: better an error than a loop */
            return fail(err, k < 0 ? errno : EIO, "write to", file->path);
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static _Thread_local bool fs_nowait; /* see ts_fs_set_nowait */

void ts_fs_set_nowait(bool nowait)
{
    fs_nowait = nowait;
}

bool ts_fs_is_nowait(void)
{
    return fs_nowait;
}

/* pread, or what of it needs no disk: then -1 with EAGAIN for "it would wait". */
static ssize_t some_pread(int fd, void *p, size_t n, off_t off)
{
    if (!fs_nowait)
        return pread(fd, p, n, off);
    struct iovec part = {.iov_base = p, .iov_len = n};
    ssize_t k = preadv2(fd, &part, 1, off, RWF_NOWAIT);
    if (k < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) /* the file system does not know */
        errno = EAGAIN;
    return k;
}

static int real_pread(struct ts_file *file, void *out, size_t n, uint64_t off, size_t *out_n,
                      struct ts_error *err)
{
    char *p = out;
    *out_n = 0;
    if (off > INT64_MAX || n > INT64_MAX - off)
        return ts_error_set(err, TS_EINVAL, "cannot read %s: no such offset %llu", file->path,
                            (unsigned long long)off);
    while (*out_n < n) {
        ssize_t k = some_pread(file->fd, p + *out_n, n - *out_n, (off_t)(off + *out_n));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return errno == EAGAIN ? ts_error_set(err, TS_EBUSY, "%s is not in the page cache", file->path)
                                   : fail(err, errno, "read", file->path);
        if (k == 0)
            break;
        *out_n += (size_t)k;
    }
    return 0;
}

static int real_sync(struct ts_file *file, struct ts_error *err)
{
    if (file->sync_failed)
        return ts_error_set(err, TS_EIO, "cannot sync %s: an earlier sync failed", file->path);
    int rc;
    do
        rc = fdatasync(file->fd);
    while (rc < 0 && errno == EINTR);
    if (rc == 0)
        return 0;
    file->sync_failed = true;
    return fail(err, errno, "sync", file->path);
}

static int real_truncate(struct ts_file *file, uint64_t size_bytes, struct ts_error *err)
{
    if (size_bytes > INT64_MAX)
        return ts_error_set(err, TS_EINVAL, "cannot truncate %s to %llu bytes", file->path,
                            (unsigned long long)size_bytes);
    int rc;
    do
        rc = ftruncate(file->fd, (off_t)size_bytes);
    while (rc < 0 && errno == EINTR);
    return rc < 0 ? fail(err, errno, "truncate", file->path) : 0;
}

static int real_size(struct ts_file *file, uint64_t *out_bytes, struct ts_error *err)
{
    struct stat st;
    *out_bytes = 0;
    if (fstat(file->fd, &st) < 0)
        return fail(err, errno, "stat", file->path);
    *out_bytes = (uint64_t)st.st_size;
    return 0;
}

/* flock, not fcntl: works on files opened for reading, and holds between two opens of one process. -1 with errno. */
static int lock_fd(int fd)
{
    int rc;
    do
        rc = flock(fd, LOCK_EX | LOCK_NB);
    while (rc < 0 && errno == EINTR);
    return rc;
}

/* The folder is locked too, so that removing the file lets nobody in. Some network file systems cannot lock folders: then the file alone
 * counts. */
static int lock_folder(struct ts_file *file, struct ts_error *err)
{
    char *folder = ts_xstrdup(file->path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *(slash == folder ? slash + 1 : slash) = 0;
    int fd = open_fd(slash ? folder : ".", O_RDONLY | O_DIRECTORY), rc = 0;
    if (fd >= 0 && lock_fd(fd) < 0) {
        if (errno == EWOULDBLOCK)
            rc = ts_error_set(err, TS_EBUSY, "%s is locked by another process", folder);
        (void)close(fd);
        fd = -1;
    }
    ts_free(folder);
    file->folder_fd = fd;
    return rc;
}

static int real_lock(struct ts_file *file, struct ts_error *err)
{
    if (file->folder_fd >= 0)
        return 0; /* our own lock */
    if (lock_fd(file->fd) == 0)
        return lock_folder(file, err);
    if (errno == EWOULDBLOCK)
        return ts_error_set(err, TS_EBUSY, "%s is locked by another process", file->path);
    return fail(err, errno, "lock", file->path);
}

bool ts_fs_lock_byte(const struct ts_file *file, uint64_t off)
{
    struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(off & (INT64_MAX >> 1)), .l_len = 1};
    int rc;
    do
        rc = fcntl(file->fd, F_OFD_SETLK, &byte);
    while (rc < 0 && errno == EINTR);
    return rc == 0 || (errno != EAGAIN && errno != EACCES);
}

static int real_rename(const struct ts_fs *fs, const char *from, const char *to, struct ts_error *err)
{
    (void)fs;
    if (rename(from, to) < 0)
        return ts_error_sys(err, code_of(errno), errno, "cannot rename %s to %s", from, to);
    return 0;
}

static int real_unlink(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    (void)fs;
    if (unlink(path) == 0 || (errno == EISDIR && rmdir(path) == 0))
        return 0;
    return fail(err, errno, "remove", path);
}

static int real_mkdir(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    (void)fs;
    if (mkdir(path, FOLDER_MODE) == 0)
        return 0;
    int e = errno;
    struct stat st;
    if (e == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return fail(err, e, "make folder", path);
}

static int real_sync_dir(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    (void)fs;
    int fd = open_fd(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fail(err, errno, "open folder", path);
    int rc;
    do
        rc = fsync(fd);
    while (rc < 0 && errno == EINTR);
    int e = errno;
    close(fd);
    /* EINVAL: a file system that has no sync for folders; it can't be helped and is no failure of this disk.
     */
    return rc < 0 && e != EINVAL ? fail(err, e, "sync folder", path) : 0;
}

static int real_list(const struct ts_fs *fs, const char *path, int (*each)(void *arg, const char *name),
                     void *arg, struct ts_error *err)
{
    (void)fs;
    DIR *dir;
    do
        dir = opendir(path);
    while (!dir && open_again(true));
    if (!dir)
        return fail(err, errno, "open folder", path);
    int rc = 0;
    while (rc >= 0) {
        errno = 0; /* readdir distinguishes an error from the end only by errno */
        const struct dirent *e = readdir(dir);
        if (!e) {
            rc = errno ? fail(err, errno, "list", path) : 0;
            break;
        }
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = each(arg, e->d_name);
    }
    closedir(dir);
    return rc < 0 ? rc : 0;
}

static int real_free_bytes(const struct ts_fs *fs, const char *path, uint64_t *out_bytes,
                           struct ts_error *err)
{
    (void)fs;
    struct statvfs st;
    int rc;
    *out_bytes = 0;
    do
        rc = statvfs(path, &st);
    while (rc < 0 && errno == EINTR);
    if (rc < 0)
        return fail(err, errno, "ask for free space of", path);
    if (__builtin_mul_overflow((uint64_t)st.f_bavail, (uint64_t)st.f_frsize, out_bytes))
        *out_bytes = UINT64_MAX;
    return 0;
}

/* The number of the inode tells copies apart, and the time of its last change, which no program can set, tells what was written over it. */
static int real_identity(const struct ts_fs *fs, const char *path, uint64_t *out_id, struct ts_error *err)
{
    (void)fs;
    struct stat st;
    *out_id = 0;
    if (stat(path, &st) < 0)
        return fail(err, errno, "look up", path);
    const uint64_t parts[] = {(uint64_t)st.st_ino, (uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec};
    uint64_t id = ts_hash(parts, sizeof parts);
    *out_id = id ? id : 1;
    return 0;
}

static const struct ts_fs real_fs = {
    .open = real_open,
    .close = real_close,
    .append = real_append,
    .pread = real_pread,
    .sync = real_sync,
    .truncate = real_truncate,
    .size = real_size,
    .lock = real_lock,
    .rename = real_rename,
    .unlink = real_unlink,
    .mkdir = real_mkdir,
    .sync_dir = real_sync_dir,
    .list = real_list,
    .free_bytes = real_free_bytes,
    .identity = real_identity,
};

const struct ts_fs *ts_fs_real(void)
{
    return &real_fs;
}

void ts_fs_write_out(struct ts_file *file, uint64_t off, uint64_t n)
{
    (void)sync_file_range(file->fd, (off64_t)off, (off64_t)n, SYNC_FILE_RANGE_WRITE);
}

void ts_fs_await_written(struct ts_file *file, uint64_t off, uint64_t n)
{
    (void)sync_file_range(file->fd, (off64_t)off, (off64_t)n, SYNC_FILE_RANGE_WAIT_BEFORE);
}

void ts_fs_forget(struct ts_file *file, uint64_t off, uint64_t n)
{
    (void)posix_fadvise(file->fd, (off_t)off, (off_t)n, POSIX_FADV_DONTNEED);
}

/* --- whole files, on any file system --- */

/* Read all of a file. */
static int read_all(const struct ts_fs *fs, struct ts_file *file, const char *path, size_t max_bytes,
                    char **out_p, size_t *out_n, struct ts_error *err)
{
    uint64_t size_bytes;
    TS_TRY(fs->size(file, &size_bytes, err));
    if (size_bytes > max_bytes)
        return ts_error_set(err, TS_ELIMIT, "%s has %llu bytes, allowed are %zu", path,
                            (unsigned long long)size_bytes, max_bytes);
    size_t n = (size_t)size_bytes;
    char *p = n < SIZE_MAX ? ts_try_malloc(n + 1) : NULL;
    if (!p)
        return ts_error_set(err, TS_ENOMEM, "no memory for %zu bytes of %s", n, path);
    int rc = fs->pread(file, p, n, 0, out_n, err);
    if (rc < 0) {
        ts_free(p);
        *out_n = 0;
        return rc;
    }
    p[*out_n] = '\0';
    *out_p = p;
    return 0;
}

/* The same, and close it. opened: the result of opening it. */
static int read_open_file(const struct ts_fs *fs, int opened, struct ts_file *file, const char *path,
                          size_t max_bytes, char **out_p, size_t *out_n, struct ts_error *err)
{
    *out_p = NULL;
    *out_n = 0;
    TS_TRY(opened);
    int rc = read_all(fs, file, path, max_bytes, out_p, out_n, err);
    fs->close(file, NULL); /* only read: nothing was held back */
    return rc;
}

int ts_fs_read_file(const struct ts_fs *fs, const char *path, size_t max_bytes, char **out_p, size_t *out_n,
                    struct ts_error *err)
{
    struct ts_file *file;
    int opened = fs->open(fs, path, TS_OPEN_READ, &file, err);
    return read_open_file(fs, opened, file, path, max_bytes, out_p, out_n, err);
}

int ts_fs_read_regular(const struct ts_fs *fs, const char *path, size_t max_bytes, char **out_p,
                       size_t *out_n, struct ts_error *err)
{
    struct ts_file *file;
    int opened = ts_fs_open_regular(fs, path, &file, err);
    return read_open_file(fs, opened, file, path, max_bytes, out_p, out_n, err);
}

int ts_fs_read_any(const char *path, size_t max_bytes, char **out_p, size_t *out_n, struct ts_error *err)
{
    *out_p = NULL;
    *out_n = 0;
    int fd = open_fd(path, O_RDONLY);
    if (fd < 0)
        return fail(err, errno, "open", path);
    char *p = ts_try_malloc(max_bytes + 2); /* a byte too many, and the zero */
    size_t n = 0;
    ssize_t got = 1;
    while (p && n <= max_bytes && got != 0) {
        got = read(fd, p + n, max_bytes + 1 - n);
        if (got < 0 && errno != EINTR)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    int rc = p ? 0 : ts_error_set(err, TS_ENOMEM, "no memory for %zu bytes of %s", max_bytes, path);
    if (p && got < 0)
        rc = fail(err, errno, "read", path);
    else if (p && n > max_bytes)
        rc = ts_error_set(err, TS_ELIMIT, "%s has more than %zu bytes", path, max_bytes);
    close(fd);
    if (rc < 0) {
        ts_free(p);
        return rc;
    }
    p[n] = '\0';
    *out_p = p;
    *out_n = n;
    return 0;
}
