/*
 * openfiles.c - RLIMIT_NOFILE, and spare descriptors.
 *
 * Threads    see openfiles.h
 * Source     getrlimit(2), open(2)
 */
#include "base/openfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

static pthread_mutex_t spare_mu = PTHREAD_MUTEX_INITIALIZER;
static int spares[TS_OPEN_FILES_SPARE]; /* under spare_mu */
static unsigned n_spares;               /* under spare_mu: used of spares */

uint64_t ts_open_files_raise(void)
{
    struct rlimit lim;
    if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
        return 0;
    rlim_t before = lim.rlim_cur;
    lim.rlim_cur = lim.rlim_max;
    if (before != lim.rlim_max && setrlimit(RLIMIT_NOFILE, &lim) < 0)
        lim.rlim_cur = before;
    return lim.rlim_cur == RLIM_INFINITY ? UINT64_MAX : lim.rlim_cur;
}

unsigned ts_open_files_keep_spare(void)
{
    pthread_mutex_lock(&spare_mu);
    for (int fd = 0; n_spares < TS_OPEN_FILES_SPARE && fd >= 0;) {
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            spares[n_spares++] = fd;
    }
    unsigned n = n_spares;
    pthread_mutex_unlock(&spare_mu);
    return n;
}

bool ts_open_files_use_spare(void)
{
    int saved = errno;
    pthread_mutex_lock(&spare_mu);
    bool used = n_spares > 0;
    if (used)
        (void)close(spares[--n_spares]);
    pthread_mutex_unlock(&spare_mu);
    errno = saved;
    return used;
}
