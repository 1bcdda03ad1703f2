/*
 * stalls.c - how long a put waits for the log, and a small query for its answer, while everything else is at work: flushes,
 * merges, checkpoints of the catalog, deletes, retention, snapshots, files that are removed.
 *
 *   stalls [--series N] [--secs N] [--rate N] [--new N] [--threads N] [--memstore BYTES] [--dir DIR] [--drop MB]
 *   stalls --check          a small store, and no clock: fails if a thread that takes puts opened, synced or removed files, or took a mutex
 *                           that some thread holds during calls of the file system
 *
 * 16 owners are driven by a few threads in turns, each writer with a schedule of its own: so many bursts a second whether the
 * store keeps up or not, so what waits behind a stall counts too. A put's way ends when a barrier behind it has
 * been answered: *log* = handed to the kernel by every owner, *disk* = synced. A query's way begins when it is due.
 * A *call* is what one writer does without a pause: the put of a burst, or a turn.
 *
 * Invariant  with --check nothing is judged by time
 * Not here   what a thread waited for (stalls_watch.c), histograms (stalls_hist.h)
 */
#include "query/query.h"

#include "base/mem.h"
#include "base/time.h"
#include "tests/bench/stalls_hist.h"
#include "tests/bench/stalls_watch.h"
#include "tests/unit/t_random.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OWNERS       16u
#define METRICS      40u
#define RETENTION_MS (3 * TS_DAY_MS)
#define DISK_EVERY   8u /* one burst of so many waits for the disk too */
#define MAX_THREADS  16u
#define WARM_S                                                                                               \
    3 /* seconds at the start that do not count: the first segment of each log is made by its owner */
#define QUERIES_PER_S  200
#define DELETES_PER_S  20
#define MAX_NEW_SERIES (1u << 22)

static struct {
    int64_t n_series, n_threads, burst, secs, rate, new_per_s, drop_mb, memstore_bytes;
    const char *dir;
    bool check;
} opts = {.n_series = 4000000,
          .n_threads = 2,
          .burst = 500,
          .secs = 60,
          .rate = 200000,
          .new_per_s = 1000,
          .memstore_bytes = 32u << 20};

static struct sto_store *st;
static const struct sto_series **series; /* n_series */
static _Atomic uint32_t n_new;           /* series made while it runs */
static _Atomic uint64_t n_points, n_busy, n_late, n_queried, n_arrived;
static _Atomic uint64_t n_open;  /* barriers that are not answered yet */
static _Atomic unsigned n_quiet; /* drivers that put nothing more */
static _Atomic bool stopping;
static int64_t began_ns; /* monotonic time when the load began */

static void check(int rc, const struct ts_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "stalls: %s\n", err->text);
    _exit(1);
}

static bool is_warm(void)
{
    return opts.check || ts_clock_mono_ns() - began_ns > WARM_S * 1000000000ll;
}

/* --- driving writers --- */

struct drive {
    struct sto_writer *writer;
    struct driver *by;
    int64_t next_ns; /* when its next burst is due */
    uint64_t n_bursts;
};

struct driver {
    unsigned index, n_writers;
    struct drive writers[OWNERS];
    struct pollfd fds[OWNERS];
    pthread_t thread;
    uint64_t rnd;
    struct hist log, disk, call, fresh;
    struct watch_worst worst_log, worst_call;
};
static struct driver drivers[MAX_THREADS];

/* A burst on its way to the log, or to the disk. */
struct way {
    struct driver *by;
    bool disk;
    int64_t due_ns;
};

static void arrived(void *arg, int rc, const struct ts_error *err)
{
    struct way *w = arg;
    int64_t now = ts_clock_mono_ns();
    check(rc, err);
    atomic_fetch_sub(&n_open, 1);
    atomic_fetch_add(&n_arrived, 1);
    if (is_warm())
        hist_add(w->disk ? &w->by->disk : &w->by->log, now - w->due_ns);
    if (is_warm() && !w->disk)
        watch_worst(&w->by->worst_log, &(struct watch_stall){.from_ns = w->due_ns, .to_ns = now});
    ts_free(w);
}

static void expect(struct drive *d, bool disk)
{
    struct way *w = ts_xmalloc(sizeof *w);
    *w = (struct way){.by = d->by, .disk = disk, .due_ns = d->next_ns};
    atomic_fetch_add(&n_open, 1);
    sto_writer_barrier(d->writer, disk ? STO_LEVEL_DISK : STO_LEVEL_LOG, 1, arrived, w);
}

static const struct sto_series *make(unsigned metric, const char *host)
{
    char text[120], name[24];
    struct ts_error err = {0};
    const struct sto_series *s;
    struct sto_tag_text tags[2] = {{TS_SLICE_LIT("host"), ts_slice_str(host)},
                                   {TS_SLICE_LIT("dc"), TS_SLICE_LIT("fra")}};
    snprintf(name, sizeof name, "load.m%02u", metric);
    int n = snprintf(text, sizeof text, "%s host=%s dc=fra", name, host);
    check(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n},
                             (uint32_t)strlen(name), tags, 2, true, &s, &err),
          &err);
    return s;
}

static const struct sto_series *old_series(uint32_t i)
{
    char host[24];
    snprintf(host, sizeof host, "h%06u", i / METRICS);
    return make(i % METRICS, host);
}

static uint32_t random_series(struct driver *dr)
{
    return (uint32_t)(t_random(&dr->rnd) % (uint64_t)opts.n_series);
}

static const struct sto_series *new_series(struct driver *dr)
{
    char host[24];
    uint32_t i = atomic_fetch_add(&n_new, 1);
    int64_t began = ts_clock_mono_ns();
    snprintf(host, sizeof host, "new%08u", i);
    const struct sto_series *s = make(i % METRICS, host);
    hist_add(&dr->fresh, ts_clock_mono_ns() - began);
    return s;
}

static void put(struct drive *d, const struct sto_series *s, int64_t ts_ms)
{
    int rc =
        sto_put(d->writer, s, ts_ms, (struct ts_num){.m = (int64_t)(t_random(&d->by->rnd) % 10000)}, true);
    if (rc == TS_EBUSY)
        atomic_fetch_add(&n_busy, 1);
    else if (rc < 0)
        check(rc, &(struct ts_error){.text = "a put was refused"});
    else
        atomic_fetch_add_explicit(&n_points, 1, memory_order_relaxed);
}

/* Most points are of now; some are late, some so late that retention takes them. */
static int64_t time_of(struct driver *dr, int64_t now_ms)
{
    uint64_t r = t_random(&dr->rnd) % 1000;
    if (r < 990)
        return now_ms;
    int64_t back_ms = (int64_t)(t_random(&dr->rnd) % (uint64_t)(30 * TS_HOUR_MS));
    return r < 997 ? now_ms - back_ms : now_ms - RETENTION_MS - 2 * TS_HOUR_MS - back_ms;
}

static unsigned share(struct driver *dr, int64_t per_s, int64_t bursts_per_s)
{
    int64_t whole = per_s / bursts_per_s, rest = per_s % bursts_per_s;
    return (unsigned)whole + (t_random(&dr->rnd) % (uint64_t)bursts_per_s < (uint64_t)rest);
}

static void put_burst(struct drive *d)
{
    struct driver *dr = d->by;
    int64_t now_ms = ts_clock_ms(), bursts_per_s = opts.rate / opts.burst;
    unsigned fresh = share(dr, opts.new_per_s, bursts_per_s);
    for (unsigned i = 0; i < opts.burst; i++) {
        uint32_t k = random_series(dr);
        put(d, i < fresh ? new_series(dr) : series[k], time_of(dr, now_ms));
    }
    for (unsigned i = share(dr, DELETES_PER_S, bursts_per_s); i > 0; i--) {
        int64_t to_ms = now_ms - (int64_t)(t_random(&dr->rnd) % (uint64_t)TS_HOUR_MS);
        int rc = sto_delete(d->writer, series[random_series(dr)], to_ms - TS_HOUR_MS, to_ms);
        if (rc < 0 && rc != TS_EBUSY)
            check(rc, &(struct ts_error){.text = "a delete was refused"});
    }
    expect(d, false);
    if (d->n_bursts++ % DISK_EVERY == 0)
        expect(d, true);
    sto_writer_turn(d->writer);
}

static void call(struct drive *d, bool is_burst)
{
    struct watch_use from = watch_now();
    if (is_burst)
        put_burst(d);
    else
        sto_writer_turn(d->writer);
    struct watch_stall s = {.from_ns = from.wall_ns, .use = watch_since(&from)};
    s.to_ns = s.from_ns + s.use.wall_ns;
    if (is_warm()) {
        hist_add(&d->by->call, s.use.wall_ns);
        watch_worst(&d->by->worst_call, &s);
    }
}

/* Bursts that are due; the time of the next one. */
static int64_t put_due(struct driver *dr, int64_t interval_ns)
{
    int64_t next_ns = INT64_MAX;
    for (unsigned i = 0; i < dr->n_writers; i++) {
        struct drive *d = &dr->writers[i];
        if (opts.check || ts_clock_mono_ns() >= d->next_ns) {
            if (sto_writer_ready(d->writer)) {
                call(d, true);
                d->next_ns += interval_ns;
            } else {
                atomic_fetch_add(&n_late, 1);
            }
        }
        next_ns = d->next_ns < next_ns ? d->next_ns : next_ns;
    }
    return next_ns;
}

static void *drive(void *arg)
{
    struct driver *dr = arg;
    int64_t interval_ns = 1000000000ll * opts.burst * OWNERS / opts.rate, now = ts_clock_mono_ns();
    watch_thread("owners", true);
    for (unsigned i = 0; i < dr->n_writers; i++)
        dr->writers[i].next_ns = now + interval_ns * (int64_t)(dr->index + i * opts.n_threads) / OWNERS;
    bool quiet = false;
    /* The last barriers take a turn of every owner. */
    while (!quiet || atomic_load(&n_quiet) < opts.n_threads || atomic_load(&n_open)) {
        if (!quiet && atomic_load(&stopping)) {
            quiet = true;
            atomic_fetch_add(&n_quiet, 1);
        }
        int64_t wait_ns = quiet ? 1000000 : put_due(dr, interval_ns) - ts_clock_mono_ns();
        wait_ns = wait_ns < 0 ? 1000 : wait_ns > 5000000 || opts.check ? 1000000 : wait_ns;
        struct timespec ts = {.tv_nsec = wait_ns};
        if (ppoll(dr->fds, dr->n_writers, &ts, NULL) <= 0)
            continue;
        for (unsigned i = 0; i < dr->n_writers; i++)
            if (dr->fds[i].revents)
                call(&dr->writers[i], false);
    }
    return NULL;
}

/* After the drivers: somebody must turn the writers while the store is flushed and closed. */
static void *turn_all(void *arg)
{
    _Atomic bool *end = arg;
    while (!atomic_load(end)) {
        for (unsigned i = 0; i < OWNERS; i++)
            sto_writer_turn(sto_writer(st, i));
        usleep(200);
    }
    return NULL;
}

/* --- queries --- */

struct asker {
    struct hist one, ten;
    struct watch_worst worst;
    uint64_t rnd;
};
static struct asker asker;

static int on_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    (void)arg, (void)s, (void)err;
    return 0;
}

/* One series of an hour, or one group of ten. */
static void ask(struct asker *a, unsigned n_hosts)
{
    char m[300];
    uint32_t metric = (uint32_t)(t_random(&a->rnd) % METRICS);
    int n = snprintf(m, sizeof m, "sum:load.m%02u{host=", metric);
    for (unsigned i = 0; i < n_hosts; i++)
        n += snprintf(m + n, sizeof m - (size_t)n, "%sh%06u", i ? "|" : "",
                      (unsigned)(t_random(&a->rnd) % (uint64_t)(opts.n_series / METRICS)));
    snprintf(m + n, sizeof m - (size_t)n, "}");
    struct ts_error err = {0};
    struct ts_arena arena;
    struct qry_spec spec;
    struct qry_limit limit = {.max_points = UINT64_MAX};
    struct qry_param p[] = {{TS_SLICE_LIT("start"), TS_SLICE_LIT("1h-ago")},
                            {TS_SLICE_LIT("m"), ts_slice_str(m)}};
    ts_arena_init(&arena, 0);
    check(qry_parse_params(p, 2, ts_clock_ms(), false, &arena, &spec, &err), &err);
    check(qry_run(st, NULL, &spec, &limit, on_series, NULL, &err), &err);
    ts_arena_release(&arena);
    atomic_fetch_add(&n_queried, 1);
}

static void *run_all(void *arg)
{
    struct asker *a = arg;
    int64_t due_ns = ts_clock_mono_ns(), interval_ns = 1000000000ll / QUERIES_PER_S;
    watch_thread("queries", false);
    for (uint64_t i = 0; !atomic_load(&stopping); i++, due_ns += interval_ns) {
        int64_t wait_ns = due_ns - ts_clock_mono_ns();
        if (wait_ns > 0)
            nanosleep(&(struct timespec){.tv_nsec = wait_ns}, NULL);
        struct watch_use from = watch_now();
        ask(a, i % 2 ? 10 : 1);
        struct watch_stall s = {.from_ns = due_ns, .to_ns = ts_clock_mono_ns(), .use = watch_since(&from)};
        if (is_warm()) {
            hist_add(i % 2 ? &a->ten : &a->one, s.to_ns - s.from_ns);
            watch_worst(&a->worst, &s);
        }
    }
    return NULL;
}

/* --- what goes on beside --- */

/* Snapshots that are held for a second while 20,000 series are read, at low priority as long queries are. */
static void *hold_snapshots(void *arg)
{
    (void)arg;
    watch_thread("long", false);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
    while (!atomic_load(&stopping)) {
        struct ts_error err = {0};
        struct sto_merge *scan;
        struct sto_row row;
        uint32_t n = opts.n_series < 20000 ? (uint32_t)opts.n_series : 20000;
        struct sto_snap *snap = sto_snap_take(st);
        struct sto_scan_spec spec = {
            .from_ms = ts_clock_ms() - TS_HOUR_MS, .to_ms = ts_clock_ms(), .series = series, .n_series = n};
        check(sto_scan(snap, &spec, &scan, &err), &err);
        int rc;
        while ((rc = sto_merge_next(scan, &row, &err)) == 1 && !atomic_load(&stopping))
            ;
        check(rc, &err);
        sto_merge_free(scan);
        for (int i = 0; i < 10 && !atomic_load(&stopping); i++)
            usleep(100000);
        sto_snap_release(snap);
    }
    return NULL;
}

/* A large file that is written and removed now and then, through the store's file system. */
static void *drop_files(void *arg)
{
    (void)arg;
    char *path = ts_fs_join(opts.dir, "dropped.tmp"), *block = ts_xcalloc(1, 1 << 20);
    const struct ts_fs *fs = watch_fs();
    watch_thread("drop", false);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
    while (opts.drop_mb && !atomic_load(&stopping)) {
        struct ts_error err = {0};
        struct ts_file *f;
        check(fs->open(fs, path, TS_OPEN_CREATE, &f, &err), &err);
        for (int64_t i = 0; i < opts.drop_mb && !atomic_load(&stopping); i++) {
            check(fs->append(f, block, 1 << 20, &err), &err);
            ts_fs_write_out(f, (uint64_t)i << 20, 1 << 20);
            usleep(5000);
        }
        check(fs->sync(f, &err), &err);
        check(fs->close(f, &err), &err);
        check(fs->unlink(fs, path, &err), &err);
    }
    ts_free(path);
    ts_free(block);
    return NULL;
}

/* --- the run --- */

static void start(pthread_t *t, void *(*fn)(void *), void *arg)
{
    check(-pthread_create(t, NULL, fn, arg), &(struct ts_error){.text = "no thread"});
}

static void set_up(void)
{
    struct ts_error err = {0};
    struct sto_opts o = {.fs = watch_fs(),
                         .dir = opts.dir,
                         .create = true,
                         .n_writers = OWNERS,
                         .n_shards = OWNERS,
                         .memstore_bytes = (size_t)opts.memstore_bytes,
                         .retention_ms = RETENTION_MS,
                         .log_grow_bytes = opts.check ? 1 : 0};
    check(sto_open(&o, &st, &err), &err);
    series = ts_xcalloc((size_t)opts.n_series, sizeof *series);
    int64_t began = ts_clock_mono_ns();
    for (uint32_t i = 0; i < opts.n_series; i++)
        series[i] = old_series(i);
    printf("made %lld series in %.1f s\n", (long long)opts.n_series,
           (double)(ts_clock_mono_ns() - began) / 1e9);
    for (unsigned t = 0; t < opts.n_threads; t++)
        drivers[t] = (struct driver){.index = t, .rnd = 88172645463325252ull + t};
    for (unsigned i = 0; i < OWNERS; i++) {
        struct driver *dr = &drivers[i % opts.n_threads];
        dr->fds[dr->n_writers] = (struct pollfd){.fd = sto_writer_fd(sto_writer(st, i)), .events = POLLIN};
        dr->writers[dr->n_writers++] = (struct drive){.writer = sto_writer(st, i), .by = dr};
    }
    asker.rnd = 1;
}

struct wanted {
    const char *name;
    uint64_t value;
};

static void on_stat(void *arg, const char *name, uint64_t value)
{
    struct wanted *w = arg;
    if (strcmp(name, w->name) == 0)
        w->value = value;
}

static uint64_t counter(const char *name)
{
    struct wanted w = {.name = name};
    sto_stats(st, on_stat, &w);
    return w.value;
}

/* The first segment of each log is made by its owner: what is counted with --check begins when each has one. */
static struct watch_counts at_first;
static uint64_t enough_flushes;

static bool enough(void)
{
    if (!opts.check)
        return ts_clock_mono_ns() - began_ns > (opts.secs + WARM_S) * 1000000000ll;
    return counter("flush.count") >= enough_flushes && counter("compaction.count") >= 1 &&
           atomic_load(&n_queried) >= 4 && atomic_load(&n_new) >= 1000;
}

static void run(void)
{
    pthread_t queries, snapshots, drops;
    began_ns = ts_clock_mono_ns();
    for (unsigned t = 0; t < opts.n_threads; t++)
        start(&drivers[t].thread, drive, &drivers[t]);
    start(&queries, run_all, &asker);
    start(&snapshots, hold_snapshots, NULL);
    start(&drops, drop_files, NULL);
    /* One burst reaches every owner; a flush that had begun before knew nothing of their logs. */
    while (opts.check && atomic_load(&n_arrived) == 0)
        usleep(1000);
    uint64_t n_flushes = counter("flush.count") + 2;
    while (opts.check && counter("flush.count") < n_flushes)
        usleep(1000);
    at_first = watch_counts();
    enough_flushes = n_flushes + 3;
    while (!enough())
        usleep(20000);
    atomic_store(&stopping, true);
    pthread_join(queries, NULL);
    pthread_join(snapshots, NULL);
    pthread_join(drops, NULL);
    for (unsigned t = 0; t < opts.n_threads; t++)
        pthread_join(drivers[t].thread, NULL);
}

static void report(void)
{
    struct driver all = {0};
    for (unsigned t = 0; t < opts.n_threads; t++) {
        const struct driver *dr = &drivers[t];
        hist_join(&all.log, &dr->log);
        hist_join(&all.disk, &dr->disk);
        hist_join(&all.call, &dr->call);
        hist_join(&all.fresh, &dr->fresh);
        for (unsigned i = 0; i < WATCH_WORST; i++) {
            watch_worst(&all.worst_log, &dr->worst_log.v[i]);
            watch_worst(&all.worst_call, &dr->worst_call.v[i]);
        }
    }
    printf("points=%llu new=%u flushes=%llu merges=%llu busy=%llu not_ready=%llu\n",
           (unsigned long long)n_points, n_new, (unsigned long long)counter("flush.count"),
           (unsigned long long)counter("compaction.count"), (unsigned long long)n_busy,
           (unsigned long long)n_late);
    hist_print(&all.log, "put to log");
    watch_print_worst(&all.worst_log, began_ns, false);
    hist_print(&all.disk, "put to disk");
    hist_print(&all.fresh, "name of a new series");
    hist_print(&all.call, "one call of a writer");
    watch_print_worst(&all.worst_call, began_ns, true);
    hist_print(&asker.one, "query of one series");
    hist_print(&asker.ten, "query of a group of ten");
    watch_print_worst(&asker.worst, began_ns, true);
    struct watch_counts c = watch_counts();
    printf("by threads that take puts: syncs=%llu removals=%llu opens=%llu lock_waits=%llu "
           "locks_held_over_io=%llu %s\n",
           (unsigned long long)c.n_syncs, (unsigned long long)c.n_removals, (unsigned long long)c.n_opens,
           (unsigned long long)c.n_lock_waits, (unsigned long long)c.n_io_locks, watch_io_lock());
}

static int verdict(void)
{
    struct watch_counts c = watch_counts();
    if (!opts.check || (c.n_syncs == at_first.n_syncs && c.n_removals == at_first.n_removals &&
                        c.n_opens == at_first.n_opens && c.n_io_locks == at_first.n_io_locks))
        return 0;
    fprintf(stderr, "stalls: threads that take puts opened, synced or removed files, or took a mutex that is "
                    "held across I/O\n");
    return 1;
}

static const struct {
    const char *name;
    int64_t *value;
} keys[] = {{"--series", &opts.n_series},   {"--secs", &opts.secs},
            {"--rate", &opts.rate},         {"--new", &opts.new_per_s},
            {"--threads", &opts.n_threads}, {"--memstore", &opts.memstore_bytes},
            {"--burst", &opts.burst},       {"--drop", &opts.drop_mb}};

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        if (strcmp(argv[i], "--check") == 0) {
            opts.check = true;
            opts.n_series = 20000;
            opts.memstore_bytes = 1 << 20;
            opts.new_per_s = 5000;
            continue;
        }
        if (i + 1 == argc)
            return false;
        if (strcmp(argv[i], "--dir") == 0) {
            opts.dir = argv[++i];
            continue;
        }
        while (k < sizeof keys / sizeof keys[0] && strcmp(argv[i], keys[k].name) != 0)
            k++;
        if (k == sizeof keys / sizeof keys[0])
            return false;
        *keys[k].value = strtoll(argv[++i], NULL, 10);
    }
    return opts.n_threads > 0 && opts.n_threads <= MAX_THREADS && opts.burst > 0 && opts.rate >= opts.burst &&
           opts.n_series >= METRICS;
}

int main(int argc, char **argv)
{
    static char made[] = "/tmp/stalls.XXXXXX";
    char rm[300];
    struct ts_error err = {0};
    if (!read_options(argc, argv)) {
        fprintf(stderr, "stalls: unknown option; see the head of tests/bench/stalls.c\n");
        return 2;
    }
    if (!opts.dir && !(opts.dir = mkdtemp(made)))
        return 1;
    watch_thread("main", false);
    set_up();
    run();
    report();
    int rc = verdict();
    _Atomic bool end = false;
    pthread_t turns;
    start(&turns, turn_all, &end);
    check(sto_flush(st, STO_LEVEL_DISK, &err), &err);
    atomic_store(&end, true);
    pthread_join(turns, NULL);
    check(sto_close(st, &err), &err);
    ts_free(series);
    snprintf(rm, sizeof rm, "rm -rf %s", opts.dir);
    return system(rm) ? 1 : rc;
}
