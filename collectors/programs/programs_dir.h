/*
 * programs_dir.h - lists the programs: those in tcollector's interval folders, and the commands of the configuration.
 *
 * FOLDER/0/x runs continuously, FOLDER/60/y is started every 60 s. Folders whose name is not a number (lib, etc), dot files,
 * subfolders and files that are not executable are ignored.
 *
 * Threads    any; nothing is shared
 * Not here   running them (programs_child.h), when (programs.c)
 * Source     docs/OPENTSDB.md, section 12.1
 */
#ifndef COLLECTORS_PROGRAMS_PROGRAMS_DIR_H
#define COLLECTORS_PROGRAMS_PROGRAMS_DIR_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define COL_PROGRAMS_INTERVAL_MAX_S 604800u /* a week */

/* A program that should run. */
struct col_program_file {
    char *name;          /* owned; unique: name of the file, or of a command's first word */
    char *path;          /* owned; file, or text for the shell */
    unsigned shell;      /* 1 = path is a command of the configuration */
    unsigned interval_s; /* 0 = runs for ever */
    int64_t changed_ns;  /* time of the last change of the file's contents; 0 for commands */
};
/* All of them, by interval and name. */
struct col_program_list {
    struct col_program_file *p; /* owned */
    size_t n, cap;              /* entries */
    size_t n_twice;             /* files left out because another interval has the name already */
    char twice[64];             /* one of them */
    size_t n_not_executable;    /* files left out because they are not executable */
    char not_executable[64];    /* one of them */
    size_t n_unsafe;            /* files left out because somebody else than root and we may change them */
    char unsafe[64];            /* one of them */
};

/** Append the programs of a folder: files that only root and we may change, in folders for which the same holds.
 * TS_ENOTFOUND, TS_EIO if it can't be listed (what was found stays). */
int col_programs_scan(const char *folder, struct col_program_list *list, struct ts_error *err);
/** Append commands "60 /usr/bin/queue --length; 0 /opt/follow": interval in seconds and a command for the shell,
 * separated by semicolons. TS_EINVAL names the part that is not of this form. list NULL = only check the text. */
int col_programs_commands(const char *text, struct col_program_list *list, struct ts_error *err);
/** Free what is inside. Idempotent. */
void col_programs_release(struct col_program_list *list);

#endif
