/*
 * importbulk_ahead.c - has the kernel read the next part of the input while a run is sorted, so that the disk has work then and parsing
 * need not wait for it; and gives back the memory of what was parsed.
 *
 * All files are one sequence of bytes. The thread keeps a window ahead of the position of the importer; the bytes of the window are in the page
 * cache, whose memory the kernel takes back if others need it.
 *
 * Threads    the main thread, and one that advises the kernel, which waits when the disk has much to do
 */
#include "tsd/commands/importbulk.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mem.h"
#include "base/thread.h"

#define AHEAD_LEAST_KB 128u  /* of one request: what kernels read ahead if nobody has set it */
#define AHEAD_MOST_KB  4096u /* the same */
#define AHEAD_DROP_BYTES                                                                                     \
    ((uint64_t)1                                                                                             \
     << 30) /* a larger input leaves the page cache when it is parsed: it would displace what others need */
#define AHEAD_PART_BYTES ((uint64_t)16 << 20) /* so much at a time */

/* The file that has the byte at of the sequence; *out_off: its place in it. NULL: there is none. */
static const char *file_at(const struct tsd_bulk_ahead *a, uint64_t at, uint64_t *out_off, uint64_t *out_end)
{
    for (size_t i = 0; i < a->n; i++) {
        if (at < a->begin[i] || at >= a->begin[i + 1])
            continue;
        *out_off = at - a->begin[i];
        *out_end = a->begin[i + 1];
        return a->paths[i];
    }
    return NULL;
}

/* Bytes of a request, which the kernel cuts at what it reads ahead of the files of a disk: large ones, since disks may be limited in requests a second. */
static uint64_t step_of(int fd)
{
    char path[80];
    struct stat st;
    unsigned kb = 0;
    FILE *f = NULL;
    if (fstat(fd, &st) == 0) {
        (void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/bdi/read_ahead_kb", major(st.st_dev),
                       minor(st.st_dev));
        f = fopen(path, "re");
    }
    if (f && fscanf(f, "%u", &kb) != 1)
        kb = 0;
    if (f)
        (void)fclose(f);
    kb = kb < AHEAD_LEAST_KB ? AHEAD_LEAST_KB : kb > AHEAD_MOST_KB ? AHEAD_MOST_KB : kb;
    return (uint64_t)kb << 10;
}

/* Advise the kernel of the bytes from..to, or up to the end of a file. Returns how far that is. */
static uint64_t advise(struct tsd_bulk_ahead *a, uint64_t from, uint64_t to, int advice)
{
    uint64_t off, end;
    const char *path = file_at(a, from, &off, &end);
    if (!path)
        return to;
    to = to < end ? to : end;
    FILE *f = fopen(path, "rbe"); /* it was a file of the disk */
    if (!f)
        return to;
    int fd = fileno(f);
    uint64_t step = advice == POSIX_FADV_WILLNEED ? step_of(fd) : to - from;
    for (; from < to && !atomic_load_explicit(&a->ends, memory_order_relaxed); from += step, off += step)
        (void)posix_fadvise(fd, (off_t)off, (off_t)step, advice);
    (void)fclose(f);
    return to;
}

static void *ahead_main(void *arg)
{
    struct tsd_bulk_ahead *a = arg;
    uint64_t wanted = 0, dropped = 0, all = a->begin[a->n];
    pthread_mutex_lock(&a->mu);
    while (!atomic_load(&a->ends)) {
        uint64_t at = a->at, from = wanted > at ? wanted : at, to = at + a->window;
        to = to < all ? to : all;
        bool more =
            from < to && (to == all || to - from >= a->window / 4); /* in parts that are not too small */
        bool drop = all >= AHEAD_DROP_BYTES && at - dropped >= AHEAD_PART_BYTES;
        if (!more && !drop) {
            pthread_cond_wait(&a->cond, &a->mu);
            continue;
        }
        pthread_mutex_unlock(&a->mu);
        if (drop)
            dropped = advise(a, dropped, at, POSIX_FADV_DONTNEED);
        if (more)
            wanted = advise(a, from, to, POSIX_FADV_WILLNEED);
        pthread_mutex_lock(&a->mu);
    }
    pthread_mutex_unlock(&a->mu);
    return NULL;
}

void tsd_bulk_ahead_start(struct tsd_bulk_ahead *a, const char *const *paths, size_t n, uint64_t window)
{
    struct stat st;
    *a = (struct tsd_bulk_ahead){.paths = paths, .n = n, .window = window};
    a->begin = ts_xcalloc(n + 1, sizeof *a->begin);
    for (size_t i = 0; i < n; i++)
        a->begin[i + 1] =
            a->begin[i] + (stat(paths[i], &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0);
    pthread_mutex_init(&a->mu, NULL);
    pthread_cond_init(&a->cond, NULL);
    a->runs = ts_thread_start(&a->thread,
                              &(struct ts_thread_opts){.name = "tsd-ahead", .fn = ahead_main, .arg = a}) == 0;
}

void tsd_bulk_ahead_at(struct tsd_bulk_ahead *a, size_t file, uint64_t at)
{
    if (!a->runs || file >= a->n)
        return;
    pthread_mutex_lock(&a->mu);
    a->at = a->begin[file] + at;
    pthread_cond_signal(&a->cond);
    pthread_mutex_unlock(&a->mu);
}

void tsd_bulk_ahead_stop(struct tsd_bulk_ahead *a)
{
    if (!a->begin)
        return;
    pthread_mutex_lock(&a->mu);
    atomic_store(&a->ends, true);
    pthread_cond_signal(&a->cond);
    pthread_mutex_unlock(&a->mu);
    if (a->runs)
        pthread_join(a->thread, NULL);
    pthread_mutex_destroy(&a->mu);
    pthread_cond_destroy(&a->cond);
    ts_free(a->begin);
    *a = (struct tsd_bulk_ahead){0};
}
