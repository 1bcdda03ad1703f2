/*
 * fs.h - which mounts are reported, and the points of one; separate from the system calls, for the test.
 *
 * Threads    pure, but for list and emit
 */
#ifndef COLLECTORS_HOST_FS_H
#define COLLECTORS_HOST_FS_H

#include "base/err.h"
#include "base/log.h"
#include "collectors/core/collector.h"

#include <stdint.h>
#include <sys/statvfs.h>

/* --- statvfs with a deadline: a file system whose server is unreachable must not delay the others (fs_probe.c) --- */

/* Each call runs in a thread of its own. If one does not return in time, it is abandoned, and its path is not
 * probed again until it returns: at most one thread hangs for each path. */

struct col_fs_probe;
/** New; call is statvfs, or what a test has for it: it may hang. */
struct col_fs_probe *col_fs_probe_new(int (*call)(const char *path, struct statvfs *out), int64_t timeout_ms);
/** Free; threads that hang keep what they need. NULL is harmless. */
void col_fs_probe_free(struct col_fs_probe *p);
/** Figures of the file system at path. TS_ETIMEOUT: it hangs, now or since an earlier call; TS_EIO. Blocks: up to the time-out. */
int col_fs_probe_stat(struct col_fs_probe *p, const char *path, struct statvfs *out, struct ts_error *err);

/* --- mounts --- */

/* A mounted file system. */
struct col_mount {
    char *device; /* first word of the line, owned */
    char *path;   /* where, octal escapes undone, owned */
    char *type;   /* ext4, owned */
};

/* Some. */
struct col_mounts {
    struct col_mount *p; /* owned */
    unsigned n, cap;     /* entries */
};

/** Read a text of /proc/mounts: types and paths that match a pattern are left out; of several mounts of a device the shortest path
 *  stays, of several on a path the last one. out is filled (zero before); release it. */
void col_mounts_parse(struct ts_slice text, const char *exclude_types, const char *exclude_paths,
                      struct col_mounts *out);
void col_mounts_release(struct col_mounts *m);
/** Points of a mount. A file system without blocks (proc, sysfs ...) gives none, one without inodes (btrfs) none about inodes. */
void col_mount_points(const struct col_mount *m, const struct statvfs *st, struct col_emit *emit);

/** Points of all mounts below root, and df.error for each. What could not be read is logged, limited. Blocks: up to the probe's time-out for
 *  each that does not answer. */
void col_mounts_read(const struct col_mounts *l, const char *root, struct col_fs_probe *probe,
                     struct col_emit *emit, struct ts_log_limit *limit);

#endif
