/*
 * stalls_watch.h - what every thread of the program waits for: a file system and mutexes that keep time, and spans of
 * background work.
 *
 * The file system passes everything to the real one. Mutexes and the long functions of the engine are wrapped by the linker
 * (--wrap, see stalls.cmake), so the program under test is the one that ships. A thread that called watch_thread(true)
 * drives writers: what it does is what puts wait for.
 *
 * Threads    any; each thread has counters of its own, events go to a ring
 */
#ifndef TESTS_BENCH_STALLS_WATCH_H
#define TESTS_BENCH_STALLS_WATCH_H

#include "base/fs.h"

/* What a thread spent its time on so far; differences of two of these tell about the time between. */
struct watch_use {
    int64_t wall_ns; /* monotonic clock */
    int64_t cpu_ns;  /* processor time of the thread */
    int64_t
        delay_ns; /* it could run and another thread had the processor (0 where the kernel does not count that) */
    int64_t io_ns;   /* inside the file system */
    int64_t lock_ns; /* waiting for mutexes */
};

/* Calls that threads which drive writers made, of kinds that may take long. */
struct watch_counts {
    uint64_t n_syncs;      /* fdatasync of a file or fsync of a folder */
    uint64_t n_removals;   /* unlink, rename, truncate */
    uint64_t n_opens;      /* open of a file, that is a new one of the log */
    uint64_t n_lock_waits; /* a mutex was taken by another thread */
    uint64_t n_io_locks;   /* a mutex was taken that some thread has held during a call of the file system */
};

/** The file system to open the store with. Static. */
const struct ts_fs *watch_fs(void);
/** Name the calling thread; does it drive writers? Name: static. */
void watch_thread(const char *name, bool drives_ports);
/** Where the calling thread stands. Cost: two system calls. */
struct watch_use watch_now(void);
/** What all threads that drive writers did so far. */
struct watch_counts watch_counts(void);
/** Name of a mutex that was taken though it is held during calls of the file system, and of that call; "" = none. */
const char *watch_io_lock(void);

/* Something that took long. */
struct watch_stall {
    int64_t from_ns, to_ns;
    struct watch_use use; /* of the thread that was held up, between the two */
};

#define WATCH_WORST 6u /* stalls that are explained */
struct watch_worst {
    struct watch_stall v[WATCH_WORST]; /* the longest first */
};

/** Take a stall in if it is one of the longest. One thread at a time. */
void watch_worst(struct watch_worst *w, const struct watch_stall *s);
/** What the calling thread spent since then. */
struct watch_use watch_since(const struct watch_use *from);
/** Print the longest stalls and what other threads did meanwhile. began_ns: when the load began; with_use: use is known. */
void watch_print_worst(const struct watch_worst *w, int64_t began_ns, bool with_use);

#endif
