/*
 * fs_probe.h - statvfs with a deadline: a file system whose server is unreachable must not delay the others.
 *
 * Each call runs in a thread of its own. If one does not return in time, it is abandoned, and its path is not
 * probed again until it returns: at most one thread hangs for each path.
 *
 * Threads    one at a time
 */
#ifndef COLLECTORS_HOST_FS_PROBE_H
#define COLLECTORS_HOST_FS_PROBE_H

#include "base/err.h"

#include <stdint.h>
#include <sys/statvfs.h>

struct col_fs_probe;
/** New; call is statvfs, or what a test has for it: it may hang. */
struct col_fs_probe *col_fs_probe_new(int (*call)(const char *path, struct statvfs *out), int64_t timeout_ms);
/** Free; threads that hang keep what they need. NULL is harmless. */
void col_fs_probe_free(struct col_fs_probe *p);
/** Figures of the file system at path. TS_ETIMEOUT: it hangs, now or since an earlier call; TS_EIO. Blocks: up to the time-out. */
int col_fs_probe_stat(struct col_fs_probe *p, const char *path, struct statvfs *out, struct ts_error *err);

#endif
