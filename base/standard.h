/*
 * standard.h - the descriptors of standard input, output and error.
 *
 * Threads    before any thread starts
 */
#ifndef BASE_STANDARD_H
#define BASE_STANDARD_H

/** Open /dev/null for each of the descriptors 0, 1 and 2 that is closed, so that no other file gets its number and is taken for standard input or
 * output. Reading that standard input, and writing to that output, fail with EBADF as if they were closed. Once, at the start of
 * the program. */
void ts_standard_fill(void);

#endif
