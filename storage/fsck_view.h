/*
 * fsck_view.h - a read-only file system in which some files have other bytes than on disk: those that a
 * repair would write.
 *
 * Threads    files are added by one thread before others read
 */
#ifndef STORAGE_FSCK_VIEW_H
#define STORAGE_FSCK_VIEW_H

#include "base/fs.h"

struct sto_fsck_view;

/** A view of fs (borrowed) in which nothing differs. Opening for writing and every change fail with
 * TS_EINVAL. */
struct sto_fsck_view *sto_fsck_view_new(const struct ts_fs *fs);
/** NULL is ignored. All files must have been closed. */
void sto_fsck_view_free(struct sto_fsck_view *v);
/** The view as a file system; borrowed. */
const struct ts_fs *sto_fsck_view_fs(struct sto_fsck_view *v);
/** From now on the file at path has these bytes, which are copied. */
void sto_fsck_view_set(struct sto_fsck_view *v, const char *path, const void *p, size_t n);

#endif
