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
 * Has it lost its later edits? Then there is a sorted file that it does not list, complete to its footer, for
 * which one of these is true:
 *
 *   - It ends with a generation that the manifest does not call flushed and that no log segment holds: its
 *     flush was completed, since log segments are deleted only after the edit.
 *   - It has the generations and some of the time of listed files, and none of these exists: its merge was
 *     completed, since input files are deleted only after the edit.
 *
 * A crash leaves neither. Files of a hand-over that was not completed (handover_record.h) do not count.
 *
 * @return 1, 0, < 0 (the folder can't be read)
 * Cost:  reads two folders, and the footers of files that are not listed
 */
int sto_lost__edits(const struct ts_fs *fs, const char *dir, const struct sto_manifest_state *state,
                    struct ts_error *err);

#endif
