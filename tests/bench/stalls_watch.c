/*
 * stalls_watch.c - the file system, the mutexes and the spans of stalls_watch.h.
 *
 * Threads    stalls_watch.h
 */
#include "tests/bench/stalls_watch.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/catalog/catalog.h"
#include "storage/engine/output.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_EVENTS   (1u << 17) /* ring of what took longer than EVENT_NS */
#define EVENT_NS   200000
#define N_FILES    4096u /* open files whose names are known */
#define N_HELD     16u   /* mutexes that one thread holds at once */
#define N_IO_LOCKS 64u   /* mutexes known to be held during calls of the file system */
#define NAME_BYTES 32u

struct event {
    int64_t from_ns, to_ns;
    const char *thread, *what;
    char file[NAME_BYTES];
};

static struct event events[N_EVENTS];
static _Atomic uint64_t n_events;

static _Thread_local struct {
    const char *name; /* NULL: nobody named it */
    bool drives_ports;
    int64_t io_ns, lock_ns;
    int schedstat; /* descriptor + 1; -1: there is none */
    unsigned n_held;
    const void *held[N_HELD];
} self;

static struct {
    _Atomic uint64_t n_syncs, n_removals, n_opens, n_lock_waits, n_io_locks;
} counts;

/* --- mutexes --- */

int __real_pthread_mutex_lock(pthread_mutex_t *mu);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mu);
int __real_pthread_mutex_unlock(pthread_mutex_t *mu);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mu);

static _Atomic(const void *) io_locks[N_IO_LOCKS];
static const char *_Atomic io_lock_calls[N_IO_LOCKS];
static char io_lock_text[100];
static _Atomic bool io_lock_taken;

static int io_lock_find(const void *mu)
{
    for (unsigned i = 0; i < N_IO_LOCKS; i++) {
        const void *p = atomic_load(&io_locks[i]);
        if (p == mu)
            return (int)i;
        if (!p)
            break;
    }
    return -1;
}

/* The calling thread is about to do I/O: every mutex it holds is held across that. */
static void note_held(const char *call)
{
    for (unsigned k = 0; k < self.n_held; k++) {
        if (io_lock_find(self.held[k]) >= 0)
            continue;
        for (unsigned i = 0; i < N_IO_LOCKS; i++) {
            const void *none = NULL;
            if (atomic_compare_exchange_strong(&io_locks[i], &none, self.held[k])) {
                atomic_store(&io_lock_calls[i], call);
                break;
            }
        }
    }
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mu)
{
    if (self.drives_ports) {
        int i = io_lock_find(mu);
        if (i >= 0) {
            atomic_fetch_add(&counts.n_io_locks, 1);
            if (!atomic_exchange(&io_lock_taken, true))
                snprintf(io_lock_text, sizeof io_lock_text, "mutex %p, held during %s", (void *)mu,
                         atomic_load(&io_lock_calls[i]));
        }
    }
    int rc = pthread_mutex_trylock(mu);
    if (rc != 0) {
        int64_t began = ts_clock_mono_ns();
        rc = __real_pthread_mutex_lock(mu);
        self.lock_ns += ts_clock_mono_ns() - began;
        if (self.drives_ports)
            atomic_fetch_add(&counts.n_lock_waits, 1);
    }
    if (self.n_held < N_HELD)
        self.held[self.n_held++] = mu;
    return rc;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mu)
{
    for (unsigned k = self.n_held; k-- > 0;)
        if (self.held[k] == mu) {
            memmove(&self.held[k], &self.held[k + 1], (--self.n_held - k) * sizeof self.held[0]);
            break;
        }
    return __real_pthread_mutex_unlock(mu);
}

/* --- events --- */

static void event(const char *what, const char *file, int64_t from_ns)
{
    int64_t now = ts_clock_mono_ns();
    if (now - from_ns < EVENT_NS)
        return;
    struct event *e = &events[atomic_fetch_add(&n_events, 1) % N_EVENTS];
    *e = (struct event){
        .from_ns = from_ns, .to_ns = now, .thread = self.name ? self.name : "other", .what = what};
    snprintf(e->file, sizeof e->file, "%s", file);
}

static int by_length(const void *pa, const void *pb)
{
    const struct event *a = *(struct event *const *)pa, *b = *(struct event *const *)pb;
    int64_t x = a->to_ns - a->from_ns, y = b->to_ns - b->from_ns;
    return x > y ? -1 : x < y;
}

/* What other threads did between two times: up to n lines, longest first. */
static void print_events(int64_t from_ns, int64_t to_ns, unsigned n)
{
    uint64_t end = atomic_load(&n_events), begin = end > N_EVENTS ? end - N_EVENTS : 0;
    struct event **hit = ts_xcalloc(end - begin + 1, sizeof *hit);
    size_t n_hit = 0;
    for (uint64_t i = begin; i < end; i++)
        if (events[i % N_EVENTS].from_ns < to_ns && events[i % N_EVENTS].to_ns > from_ns)
            hit[n_hit++] = &events[i % N_EVENTS];
    qsort(hit, n_hit, sizeof(struct event *), by_length);
    for (size_t i = 0; i < n_hit && i < n; i++)
        printf("      %-8s %-22s %-26s %8.2f ms, from %+.2f ms\n", hit[i]->thread, hit[i]->what, hit[i]->file,
               (double)(hit[i]->to_ns - hit[i]->from_ns) / 1e6, (double)(hit[i]->from_ns - from_ns) / 1e6);
    ts_free(hit);
}

/* --- the file system --- */

static struct {
    _Atomic(struct ts_file *) file;
    char name[NAME_BYTES];
} files[N_FILES];

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static size_t place_of(const struct ts_file *f)
{
    return (size_t)((uintptr_t)f >> 4) * 2654435761u % N_FILES;
}

static void remember(struct ts_file *f, const char *path)
{
    for (size_t i = place_of(f), k = 0; k < N_FILES; i = (i + 1) % N_FILES, k++) {
        struct ts_file *none = NULL;
        if (atomic_compare_exchange_strong(&files[i].file, &none, f)) {
            snprintf(files[i].name, sizeof files[i].name, "%s", base_name(path));
            return;
        }
    }
}

/* Up to 16 places are looked at: a name that is not found costs a word in a report. */
static const char *name_of(const struct ts_file *f, bool forget)
{
    for (size_t i = place_of(f), k = 0; f && k < 16; i = (i + 1) % N_FILES, k++)
        if (atomic_load(&files[i].file) == f) {
            if (forget)
                atomic_store(&files[i].file, NULL);
            return files[i].name;
        }
    return "?";
}

static int64_t io_begin(const char *call)
{
    if (self.n_held)
        note_held(call);
    return ts_clock_mono_ns();
}

static void io_end(const char *call, const char *file, int64_t began)
{
    self.io_ns += ts_clock_mono_ns() - began;
    event(call, file, began);
}

static void count(_Atomic uint64_t *n)
{
    if (self.drives_ports)
        atomic_fetch_add(n, 1);
}

static int w_open(const struct ts_fs *fs, const char *path, enum ts_open how, struct ts_file **out,
                  struct ts_error *err)
{
    (void)fs;
    count(&counts.n_opens);
    int64_t began = io_begin("open");
    int rc = ts_fs_real()->open(ts_fs_real(), path, how, out, err);
    if (rc == 0)
        remember(*out, path);
    io_end("open", base_name(path), began);
    return rc;
}

static int w_close(struct ts_file *f, struct ts_error *err)
{
    int64_t began = io_begin("close");
    const char *name = name_of(f, true);
    int rc = ts_fs_real()->close(f, err);
    io_end("close", name, began);
    return rc;
}

static int w_append(struct ts_file *f, const void *p, size_t n, struct ts_error *err)
{
    int64_t began = io_begin("append");
    int rc = ts_fs_real()->append(f, p, n, err);
    io_end("append", name_of(f, false), began);
    return rc;
}

static int w_pread(struct ts_file *f, void *p, size_t n, uint64_t off, size_t *out_n, struct ts_error *err)
{
    int64_t began = io_begin("pread");
    int rc = ts_fs_real()->pread(f, p, n, off, out_n, err);
    io_end("pread", name_of(f, false), began);
    return rc;
}

static int w_sync(struct ts_file *f, struct ts_error *err)
{
    count(&counts.n_syncs);
    int64_t began = io_begin("fdatasync");
    int rc = ts_fs_real()->sync(f, err);
    io_end("fdatasync", name_of(f, false), began);
    return rc;
}

static int w_truncate(struct ts_file *f, uint64_t size, struct ts_error *err)
{
    count(&counts.n_removals);
    int64_t began = io_begin("truncate");
    int rc = ts_fs_real()->truncate(f, size, err);
    io_end("truncate", name_of(f, false), began);
    return rc;
}

static int w_rename(const struct ts_fs *fs, const char *from, const char *to, struct ts_error *err)
{
    (void)fs;
    count(&counts.n_removals);
    int64_t began = io_begin("rename");
    int rc = ts_fs_real()->rename(ts_fs_real(), from, to, err);
    io_end("rename", base_name(to), began);
    return rc;
}

static int w_unlink(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    (void)fs;
    count(&counts.n_removals);
    int64_t began = io_begin("unlink");
    int rc = ts_fs_real()->unlink(ts_fs_real(), path, err);
    io_end("unlink", base_name(path), began);
    return rc;
}

static int w_sync_dir(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    (void)fs;
    count(&counts.n_syncs);
    int64_t began = io_begin("fsync of folder");
    int rc = ts_fs_real()->sync_dir(ts_fs_real(), path, err);
    io_end("fsync of folder", base_name(path), began);
    return rc;
}

const struct ts_fs *watch_fs(void)
{
    static struct ts_fs fs;
    fs = *ts_fs_real();
    fs.open = w_open;
    fs.close = w_close;
    fs.append = w_append;
    fs.pread = w_pread;
    fs.sync = w_sync;
    fs.truncate = w_truncate;
    fs.rename = w_rename;
    fs.unlink = w_unlink;
    fs.sync_dir = w_sync_dir;
    return &fs;
}

/* --- spans of background work --- */

#define THREAD(fn, thread_name)                                                                              \
    void *__real_##fn(void *arg);                                                                            \
    void *__wrap_##fn(void *arg);                                                                            \
    void *__wrap_##fn(void *arg)                                                                             \
    {                                                                                                        \
        watch_thread(thread_name, false);                                                                    \
        return __real_##fn(arg);                                                                             \
    }
THREAD(sto_sync__thread, "sync")
THREAD(sto_flush__thread, "flush")
THREAD(sto_compact__thread, "compact")

#define SPAN(fn, params, args)                                                                               \
    int __real_##fn params;                                                                                  \
    int __wrap_##fn params;                                                                                  \
    int __wrap_##fn params                                                                                   \
    {                                                                                                        \
        int64_t began = ts_clock_mono_ns();                                                                  \
        int rc = __real_##fn args;                                                                           \
        event(#fn, "", began);                                                                               \
        return rc;                                                                                           \
    }
SPAN(sto_output__rows,
     (struct sto_output * o, struct sto_merge *m, const struct sto_cut *cuts, size_t n, struct ts_error *err),
     (o, m, cuts, n, err))
SPAN(sto_output__commit,
     (struct sto_output * o, const uint64_t *gone, size_t n, uint64_t gen, struct ts_error *err),
     (o, gone, n, gen, err))
SPAN(sto_version__edit,
     (struct sto_engine * e, struct sto_sst *const *add, size_t n_add, const uint64_t *remove,
      size_t n_remove, uint64_t gen, struct sto_mem *const *mems, size_t n_mems),
     (e, add, n_add, remove, n_remove, gen, mems, n_mems))
SPAN(sto_wal_drop, (const struct ts_fs *fs, const char *dir, uint64_t gen, struct ts_error *err),
     (fs, dir, gen, err))
SPAN(sto_catalog_tidy, (struct sto_catalog * cat, struct ts_error *err), (cat, err))
SPAN(sto_catalog_sync, (struct sto_catalog * cat, bool sync, struct ts_error *err), (cat, sync, err))

/* --- threads --- */

void watch_thread(const char *name, bool drives_ports)
{
    self.name = name;
    self.drives_ports = drives_ports;
}

/* How long the thread waited for a processor: second number of its schedstat. */
static int64_t delay_ns(void)
{
    char text[96];
    if (self.schedstat == 0) {
        int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        self.schedstat = fd < 0 ? -1 : fd + 1;
    }
    if (self.schedstat < 0)
        return 0;
    ssize_t n = pread(self.schedstat - 1, text, sizeof text - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = 0;
    const char *second = strchr(text, ' ');
    return second ? strtoll(second, NULL, 10) : 0;
}

struct watch_use watch_now(void)
{
    return (struct watch_use){.wall_ns = ts_clock_mono_ns(),
                              .cpu_ns = ts_clock_thread_ns(),
                              .delay_ns = delay_ns(),
                              .io_ns = self.io_ns,
                              .lock_ns = self.lock_ns};
}

struct watch_counts watch_counts(void)
{
    return (struct watch_counts){.n_syncs = atomic_load(&counts.n_syncs),
                                 .n_removals = atomic_load(&counts.n_removals),
                                 .n_opens = atomic_load(&counts.n_opens),
                                 .n_lock_waits = atomic_load(&counts.n_lock_waits),
                                 .n_io_locks = atomic_load(&counts.n_io_locks)};
}

const char *watch_io_lock(void)
{
    return io_lock_text;
}

/* --- the longest ones --- */

void watch_worst(struct watch_worst *w, const struct watch_stall *s)
{
    unsigned i = WATCH_WORST;
    while (i > 0 && w->v[i - 1].to_ns - w->v[i - 1].from_ns < s->to_ns - s->from_ns)
        i--;
    if (i == WATCH_WORST)
        return;
    memmove(&w->v[i + 1], &w->v[i], (WATCH_WORST - 1 - i) * sizeof w->v[0]);
    w->v[i] = *s;
}

struct watch_use watch_since(const struct watch_use *from)
{
    struct watch_use now = watch_now();
    return (struct watch_use){now.wall_ns - from->wall_ns, now.cpu_ns - from->cpu_ns,
                              now.delay_ns - from->delay_ns, now.io_ns - from->io_ns,
                              now.lock_ns - from->lock_ns};
}

static void stall_print(const struct watch_stall *s, int64_t began_ns, bool with_use)
{
    if (!s->to_ns)
        return;
    printf("    %.2f ms, %.1f s after the start", (double)(s->to_ns - s->from_ns) / 1e6,
           (double)(s->from_ns - began_ns) / 1e9);
    if (with_use)
        printf(": own cpu %.2f, waited for a processor %.2f, file system %.2f, mutexes %.2f",
               (double)s->use.cpu_ns / 1e6, (double)s->use.delay_ns / 1e6, (double)s->use.io_ns / 1e6,
               (double)s->use.lock_ns / 1e6);
    printf("\n");
    print_events(s->from_ns, s->to_ns, 6);
}

void watch_print_worst(const struct watch_worst *w, int64_t began_ns, bool with_use)
{
    for (unsigned i = 0; i < WATCH_WORST; i++)
        stall_print(&w->v[i], began_ns, with_use);
}
