/*
 * fsck_view.h - a file system for reading in which some files have other bytes than on disk: what a repair would
 * make of them.
 *
 * Threads    files are added by one thread before others read
 */
#ifndef STORAGE_FSCK_VIEW_H
#define STORAGE_FSCK_VIEW_H

#include "base/fs.h"

struct sto_fsck_view;

/** A view of fs (borrowed) in which nothing differs. Opening for writing and all that changes something is
 * TS_EINVAL. */
struct sto_fsck_view *sto_fsck_view_new(const struct ts_fs *fs);
/** NULL is harmless. All files are closed. */
void sto_fsck_view_free(struct sto_fsck_view *v);
/** The view as a file system; borrowed. */
const struct ts_fs *sto_fsck_view_fs(struct sto_fsck_view *v);
/** path has these bytes from now on (copied). */
void sto_fsck_view_set(struct sto_fsck_view *v, const char *path, const void *p, size_t n);

#endif
