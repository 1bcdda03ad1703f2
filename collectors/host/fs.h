/*
 * fs.h - which mounts are reported, and the points of one; separate from the system calls, for the test.
 *
 * Threads    pure, but for list and emit
 */
#ifndef COLLECTORS_HOST_FS_H
#define COLLECTORS_HOST_FS_H

#include "base/log.h"
#include "collectors/core/collector.h"
#include "collectors/host/fs_probe.h"

#include <sys/statvfs.h>

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
