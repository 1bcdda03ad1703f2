/*
 * openfiles.h - the limit of open descriptors of the process.
 *
 * Threads    ts_open_files_raise: at the start, before others open files
 */
#ifndef BASE_OPENFILES_H
#define BASE_OPENFILES_H

#include <stdint.h>

/** Raise the soft limit of open files to the hard one, which needs no privilege.
 *
 * @return the limit in force afterwards; UINT64_MAX = none, 0 = the kernel does not say
 */
uint64_t ts_open_files_raise(void);
/** The limit in force, as ts_open_files_raise. Threads: any. */
uint64_t ts_open_files_limit(void);

#endif
