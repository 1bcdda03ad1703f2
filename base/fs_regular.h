/*
 * fs_regular.h - opens and reads files of folders in which others write, too.
 *
 * A pipe would make the reader wait for its writer, and a symbolic link leads to files of other folders. So anything but a regular file is an
 * error, and a link as the last part of the path is not followed. File systems other than the real one have neither: there it is TS_OPEN_READ.
 *
 * Threads    any
 * Not here   appending in such a folder (ts_fs_open_guarded in fs.h)
 */
#ifndef BASE_FS_REGULAR_H
#define BASE_FS_REGULAR_H

#include "base/fs.h"

/** TS_OPEN_READ of a regular file. 0; errors of open; TS_EINVAL: it is something else. */
int ts_fs_open_regular(const struct ts_fs *fs, const char *path, struct ts_file **out_file,
                       struct ts_error *err);
/** ts_fs_read_file of a regular file. The same errors; TS_ELIMIT, TS_ENOMEM. */
int ts_fs_read_regular(const struct ts_fs *fs, const char *path, size_t max_bytes, char **out_p,
                       size_t *out_n, struct ts_error *err);

#endif
