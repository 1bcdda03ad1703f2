/*
 * openfiles.c - RLIMIT_NOFILE.
 *
 * Threads    see openfiles.h
 * Source     getrlimit(2)
 */
#include "base/openfiles.h"

#include <sys/resource.h>

static uint64_t limit_of(const struct rlimit *lim)
{
    return lim->rlim_cur == RLIM_INFINITY ? UINT64_MAX : lim->rlim_cur;
}

uint64_t ts_open_files_limit(void)
{
    struct rlimit lim;
    return getrlimit(RLIMIT_NOFILE, &lim) < 0 ? 0 : limit_of(&lim);
}

uint64_t ts_open_files_raise(void)
{
    struct rlimit lim;
    if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
        return 0;
    rlim_t before = lim.rlim_cur;
    lim.rlim_cur = lim.rlim_max;
    if (before != lim.rlim_max && setrlimit(RLIMIT_NOFILE, &lim) < 0)
        lim.rlim_cur = before;
    return limit_of(&lim);
}
