/*
 * t_folder.h - a folder under /tmp for the files of a test, made and removed around each case.
 */
#ifndef T_FOLDER_H
#define T_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define T_FOLDER_BYTES 64 /* of its path */

/* Make it; its path to folder. */
static inline void t_folder_make(char folder[T_FOLDER_BYTES])
{
    (void)snprintf(folder, T_FOLDER_BYTES, "/tmp/tsd-test.XXXXXX");
    assert_non_null(mkdtemp(folder));
}

/* Remove it with all that is in it; what a teardown returns. */
static inline int t_folder_remove(const char *folder)
{
    char command[T_FOLDER_BYTES + 16];
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

/* A file in it, with the folders on the way; path may begin with '/'. */
static inline void t_folder_file(const char *folder, const char *path, const char *text, mode_t mode)
{
    char full[512];
    (void)snprintf(full, sizeof(full), "%s/%s", folder, path);
    for (char *p = full + strlen(folder) + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            (void)mkdir(full, 0755);
            *p = '/';
        }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
    assert_int_equal(chmod(full, mode), 0);
}

#endif
