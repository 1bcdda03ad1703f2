/*
 * openfiles.h - how many descriptors this process may have, and a few that are kept aside for data files.
 *
 * A process that may open no more files (EMFILE) can neither begin the next segment of its log nor write a file
 * that would free memory. Spare descriptors are open on /dev/null all the time; the real file system (fs.h) closes
 * one of them when open(2) fails with EMFILE, and tries again.
 *
 * Threads    ts_open_files_raise: at the start, before others open files; the others: any
 */
#ifndef BASE_OPENFILES_H
#define BASE_OPENFILES_H

#include <stdbool.h>
#include <stdint.h>

#define TS_OPEN_FILES_SPARE 16u /* descriptors kept aside */

/** Raise the soft limit of open files to the hard one, which needs no privilege.
 *
 * @return the limit in force afterwards; UINT64_MAX = none, 0 = the kernel does not say
 */
uint64_t ts_open_files_raise(void);
/** Open spare descriptors until there are TS_OPEN_FILES_SPARE, or until no more can be had; returns how many there
 * are. Call it again from time to time: those that were used come back. Cost: nothing while all are there. */
unsigned ts_open_files_keep_spare(void);
/** Close one spare descriptor, so that its number is free. False: none is left; errno is as it was. */
bool ts_open_files_use_spare(void);

#endif
