/*
 * handles.c - opens files when they are read, closes those that were not read for the longest time.
 *
 * Threads    handles.h
 * Invariant  a handle is on the clock exactly while its state has OPEN; both change under the cache's mutex.
 *            A reader first counts itself in the state and then looks at OPEN; a file is closed only by
 *            changing the state from OPEN alone to 0, so nobody reads it then
 */
#include "storage/engine/files/handles.h"

#include <pthread.h>

#include "base/mem.h"
#include "base/openfiles.h"

#define OPEN    0x80000000u /* the file is open, `file` is valid */
#define USED    0x40000000u /* it was read since the hand last reached it */
#define READERS 0x3fffffffu /* threads that are reading, or about to open it */

#define CLOSE_MOST  8u  /* files closed between two checks of the cache */
#define TRIES_MAX   64u /* attempts to open a file while descriptors are exhausted; each closes others first */
#define LIMIT_SHARE 8u  /* by default the cache gets one of so many descriptors of the process */

struct sto_handles {
    pthread_mutex_t mu;      /* protects all members below */
    size_t limit;            /* most descriptors */
    size_t n_open;           /* descriptors held, with those being opened */
    size_t n_clock;          /* handles on the clock */
    struct sto_handle *hand; /* next to be looked at; NULL: none is open */
    uint64_t n_reopened, n_refused;
};

/* A file that is to be closed. */
struct open_file {
    const struct ts_fs *fs;
    struct ts_file *file;
};

/* For handles without a cache of their own. */
static struct sto_handles common = {.mu = PTHREAD_MUTEX_INITIALIZER, .limit = STO_HANDLES_MIN};

struct sto_handles *sto_handles_new(size_t limit)
{
    struct sto_handles *c = ts_xcalloc(1, sizeof *c);
    uint64_t most = ts_open_files_limit() / LIMIT_SHARE;
    if (most < STO_HANDLES_MIN)
        most = STO_HANDLES_MIN;
    if (most > STO_HANDLES_MAX)
        most = STO_HANDLES_MAX;
    c->limit = limit ? limit : (size_t)most;
    pthread_mutex_init(&c->mu, NULL);
    return c;
}

void sto_handles_free(struct sto_handles *c)
{
    if (!c)
        return;
    if (c->n_open)
        TS_BUG("%zu handles of files are open", c->n_open);
    pthread_mutex_destroy(&c->mu);
    ts_free(c);
}

struct sto_handles_stats sto_handles_stats(struct sto_handles *c)
{
    pthread_mutex_lock(&c->mu);
    struct sto_handles_stats stats = {
        .n_open = c->n_open, .limit = c->limit, .n_reopened = c->n_reopened, .n_refused = c->n_refused};
    pthread_mutex_unlock(&c->mu);
    return stats;
}

/* --- the clock; under the cache's mutex --- */

static void clock_add(struct sto_handles *c, struct sto_handle *h)
{
    h->right = c->hand ? c->hand : h; /* just behind the hand, which reaches it last */
    h->left = c->hand ? c->hand->left : h;
    h->left->right = h;
    h->right->left = h;
    c->hand = c->hand ? c->hand : h;
    c->n_clock++;
}

static void clock_remove(struct sto_handles *c, struct sto_handle *h)
{
    if (c->hand == h)
        c->hand = h->right == h ? NULL : h->right;
    h->left->right = h->right;
    h->right->left = h->left;
    c->n_clock--;
}

/* Take the file of a handle that nobody reads and that was not read for the longest time; false: there is none. */
static bool take_one(struct sto_handles *c, struct open_file *out)
{
    for (size_t left = 2 * c->n_clock; left > 0; left--) {
        struct sto_handle *h = c->hand;
        uint32_t only_open = OPEN;
        *out = (struct open_file){h->fs, h->file};
        /* Acquire: the reads of the threads that have left (sto_handle_pread) end before the file is closed.
         * Release: the thread that opens it next may change h->file. */
        if (atomic_compare_exchange_strong_explicit(&h->state, &only_open, 0, memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            clock_remove(c, h);
            return true;
        }
        atomic_fetch_and_explicit(&h->state, ~USED, memory_order_relaxed); /* a hint; needs no order */
        c->hand = h->right;
    }
    return false;
}

/* Take files until at most `keep` descriptors are held, CLOSE_MOST at a time; they are to be closed. */
static size_t take_files(struct sto_handles *c, size_t keep, struct open_file *out)
{
    size_t n = 0;
    while (n < CLOSE_MOST && c->n_open > keep && take_one(c, &out[n])) {
        c->n_open--;
        n++;
    }
    return n;
}

/* --- opening --- */

static void close_files(const struct open_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)files[i].fs->close(files[i].file, NULL); /* they were only read */
}

/* Count one more descriptor; if that exceeds the limit, close others. */
static void enter_cache(struct sto_handles *c)
{
    struct open_file files[CLOSE_MOST];
    pthread_mutex_lock(&c->mu);
    size_t n = take_files(c, c->limit - 1, files);
    c->n_open++;
    pthread_mutex_unlock(&c->mu);
    close_files(files, n);
}

static void leave_cache(struct sto_handles *c, bool refused)
{
    pthread_mutex_lock(&c->mu);
    c->n_open--;
    c->n_refused += refused;
    pthread_mutex_unlock(&c->mu);
}

/* Close a few files, so that others can be opened; false: all are being read. */
static bool close_some(struct sto_handles *c)
{
    struct open_file files[CLOSE_MOST];
    pthread_mutex_lock(&c->mu);
    size_t n = take_files(c, 0, files);
    pthread_mutex_unlock(&c->mu);
    close_files(files, n);
    return n > 0;
}

bool sto_handles_leave_free(struct sto_handles *c, size_t n)
{
    bool free = ts_fs_has_descriptors(n);
    for (unsigned i = 0; !free && i < TRIES_MAX && close_some(c); i++)
        free = ts_fs_has_descriptors(n);
    return free;
}

/* Open the file of a handle. `first`: the spare descriptors may be used. */
static int open_file(struct sto_handle *h, bool first, struct ts_file **out, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = h->fs->open(h->fs, h->path, TS_OPEN_REOPEN, out, &why);
    for (unsigned i = 0; rc == TS_EMFILE && i < TRIES_MAX && close_some(h->cache); i++)
        rc = h->fs->open(h->fs, h->path, TS_OPEN_REOPEN, out, &why);
    if (rc == TS_EMFILE && first)
        rc = h->fs->open(h->fs, h->path, TS_OPEN_READ, out, &why);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

/* Others may read the file from now on, and close it when they need its descriptor. False: another thread has
 * opened it meanwhile, this descriptor is not needed. */
static bool publish(struct sto_handle *h, struct ts_file *file)
{
    struct sto_handles *c = h->cache;
    pthread_mutex_lock(&c->mu);
    /* acquire: if it is open, the caller reads the h->file of the other thread */
    bool is_open = atomic_load_explicit(&h->state, memory_order_acquire) & OPEN;
    if (!is_open) {
        h->file = file;
        clock_add(c, h);
        c->n_reopened += h->was_open;
        h->was_open = true;
        /* release: pairs with the addition in pin, whose thread reads h->file */
        atomic_fetch_or_explicit(&h->state, OPEN, memory_order_release);
    }
    pthread_mutex_unlock(&c->mu);
    return !is_open;
}

/* Have the file open. The caller is counted among its readers, so that it stays open then. */
static int need_open(struct sto_handle *h, bool first, struct ts_error *err)
{
    struct ts_file *file = NULL;
    if (!first && ts_fs_is_nowait())
        return ts_error_set(err, TS_EBUSY, "%s: it is not open", h->path);
    enter_cache(h->cache);
    int rc = open_file(h, first, &file, err);
    if (rc == 0 && publish(h, file))
        return 0;
    leave_cache(h->cache, rc == TS_EMFILE);
    if (file)
        (void)h->fs->close(file, NULL);
    return rc;
}

/* Begin to read: the file is open until unpin. */
static int pin(struct sto_handle *h, bool first, struct ts_error *err)
{
    /* acquire: pairs with publish */
    uint32_t state = atomic_fetch_add_explicit(&h->state, 1, memory_order_acquire);
    if (state & OPEN) {
        if (!(state & USED)) /* else the line is not written once more */
            atomic_fetch_or_explicit(&h->state, USED, memory_order_relaxed);
        return 0;
    }
    int rc = need_open(h, first, err);
    if (rc < 0)
        atomic_fetch_sub_explicit(&h->state, 1, memory_order_relaxed);
    return rc;
}

static void unpin(struct sto_handle *h)
{
    /* release: pairs with take_one */
    atomic_fetch_sub_explicit(&h->state, 1, memory_order_release);
}

/* --- handles --- */

void sto_handle_init(struct sto_handle *h, const struct ts_fs *fs, const char *path,
                     struct sto_handles *cache)
{
    *h =
        (struct sto_handle){.fs = fs, .path = path, .cache = cache ? cache : &common, .removed_code = TS_EIO};
    atomic_init(&h->state, 0);
}

void sto_handle_close(struct sto_handle *h)
{
    struct sto_handles *c = h->cache;
    struct ts_file *file = NULL;
    pthread_mutex_lock(&c->mu);
    uint32_t state = atomic_exchange_explicit(&h->state, 0, memory_order_acq_rel); /* pairs as in take_one */
    if (state & READERS)
        TS_BUG("%s is closed while it is read", h->path);
    if (state & OPEN) {
        file = h->file;
        clock_remove(c, h);
        c->n_open--;
    }
    pthread_mutex_unlock(&c->mu);
    if (file)
        (void)h->fs->close(file, NULL);
}

int sto_handle_first(struct sto_handle *h, uint64_t *out_bytes, struct ts_error *err)
{
    TS_TRY(pin(h, true, err));
    int rc = h->fs->size(h->file, out_bytes, err);
    unpin(h);
    return rc;
}

int sto_handle_pread(struct sto_handle *h, void *p, size_t n, uint64_t off, size_t *out_n,
                     struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = pin(h, false, &why);
    if (rc == TS_ENOTFOUND) /* it was there: the disk or a person lost it, its bytes are not damaged */
        rc = ts_error_set(&why, h->removed_code, "%s was removed while it was in use", h->path);
    if (rc < 0) {
        if (err)
            *err = why;
        return rc;
    }
    rc = h->fs->pread(h->file, p, n, off, out_n, err);
    unpin(h);
    return rc;
}
