/*
 * fs.h - parses the list of mounts, chooses the ones to report, and emits the points of each. System calls
 * are separate functions, so that tests can replace them.
 *
 * Threads    pure functions, except for those that probe a path or emit points
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
/** A new prober. call is statvfs, or a replacement in tests; it may block without end. */
struct col_fs_probe *col_fs_probe_new(int (*call)(const char *path, struct statvfs *out), int64_t timeout_ms);
/** Free; threads that are still blocked keep the memory that they need. NULL is ignored. */
void col_fs_probe_free(struct col_fs_probe *p);
/** Figures of the file system at path. TS_ETIMEOUT: this call or an earlier one for the path does not return;
 * TS_EIO. Blocks: up to the time limit. */
int col_fs_probe_stat(struct col_fs_probe *p, const char *path, struct statvfs *out, struct ts_error *err);

/* --- mounts --- */

/* A mounted file system. */
struct col_mount {
    char *device; /* first word of the line, owned */
    char *path;   /* mount point, with octal escapes decoded; owned */
    char *type;   /* ext4, owned */
};

/* A list of mounts. */
struct col_mounts {
    struct col_mount *p; /* owned */
    unsigned n, cap;     /* entries */
};

/** Parse the text of /proc/mounts. Types and paths that match a pattern are left out. Of several mounts of
 * one device the one with the shortest path is kept, of several on one path the last. out must be {0}; the
 * caller releases it. */
void col_mounts_parse(struct ts_slice text, const char *exclude_types, const char *exclude_paths,
                      struct col_mounts *out);
void col_mounts_release(struct col_mounts *m);
/** Emit the points of a mount: none for a file system without blocks (proc, sysfs ...), none about inodes for
 * one without inodes (btrfs). */
void col_mount_points(const struct col_mount *m, const struct statvfs *st, struct col_emit *emit);

/** Emit the points of all mounts below root, and df.error for each. Errors are logged, at a limited rate.
 * Blocks: up to the probe's time limit for each mount that does not answer. */
void col_mounts_read(const struct col_mounts *l, const char *root, struct col_fs_probe *probe,
                     struct col_emit *emit, struct ts_log_limit *limit);

#endif
