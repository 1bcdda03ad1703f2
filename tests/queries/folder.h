/*
 * folder.h - temporary folders of stores.
 *
 * Threads    one
 */
#ifndef TESTS_QUERIES_FOLDER_H
#define TESTS_QUERIES_FOLDER_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/** Create a folder with a unique name, which is stored in dir. */
static inline bool folder_new(char *dir, size_t n)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(dir, n, "%s/run_queries.XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) != NULL;
}

static inline int folder_remove_one(const char *path, const struct stat *sb, int flag, struct FTW *ftw)
{
    (void)sb, (void)flag, (void)ftw;
    return remove(path);
}
/** Remove a folder and everything in it. */
static inline void folder_remove(const char *dir)
{
    (void)nftw(dir, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
