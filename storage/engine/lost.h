/*
 * lost.h - has the manifest lost edits that it once had?
 *
 * Only the manifest lists the sorted files that make up the store, and a start removes all others, since they
 * were being written when the program crashed. A record log that was cut at the border of two records,
 * together with its copy, looks complete. So before anything is removed, these functions check whether the
 * folder shows more than the manifest lists.
 *
 * Threads    one, before the store runs
 * Not here   a manifest that can't be read or differs from its copy (reclog.c), making a new one
 *            (../fsck_files.c)
 */
#ifndef STORAGE_ENGINE_LOST_H
#define STORAGE_ENGINE_LOST_H

#include "storage/engine/manifest.h"

/** Has it lost everything? There is no manifest, or one of a store that was never started for writing
 * (state NULL, or its run is 0), and yet there are sorted files or log segments below dir. Run 1 is on
 * disk before the first of them is created. */
bool sto_lost__all(const struct ts_fs *fs, const char *dir, const struct sto_manifest_state *state);
/**
 * Has it lost its later edits? One of the sorted files it does not name, whole to its footer,
 *   - ends with a generation that is not flushed by the manifest and that no log segment holds: a flush that was
 *     done, for segments go after the edit; or
 *   - has the generations and some of the time of files that are named, and all of these are gone: a merge that was
 *     done, for files go after the edit.
 * What a crash leaves is neither.
 *
 * @return 1, 0, < 0 (the folder can't be read)
 * Cost:  reads two folders, and the footers of files that are not named
 */
int sto_lost__edits(const struct ts_fs *fs, const char *dir, const struct sto_manifest_state *state,
                    struct ts_error *err);

#endif
