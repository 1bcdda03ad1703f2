/*
 * standard.c - see standard.h.
 *
 * Threads    before any thread starts
 */
#include "base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

void ts_standard_fill(void)
{
    FILE *const streams[] = {stdin, stdout, stderr};
    for (int fd = 0; fd < 3; fd++) /* each gets the lowest number that is free, which is its own */
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!freopen("/dev/null", fd == 0 ? "w" : "r", streams[fd]);
}
