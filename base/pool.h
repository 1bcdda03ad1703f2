/*
 * pool.h - worker threads for tasks, with two priorities, and "run these n pieces and wait".
 *
 * Threads    every function from any thread
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

enum ts_prio { TS_PRIO_HIGH, TS_PRIO_LOW };

typedef void (*ts_task_fn)(void *arg);
typedef void (*ts_piece_fn)(void *arg, size_t piece);

struct ts_pool;
/** Processors of this machine: 1 to most (>= 1). */
unsigned ts_pool_cores(unsigned most);
/** n_threads >= 1; name (<= 15 bytes) shows in top. Threads take no signals. Ends the process if a thread cannot be created. */
struct ts_pool *ts_pool_new(unsigned n_threads, const char *name);
/** The same with threads of lower scheduling priority: nice as in struct ts_thread_opts. */
struct ts_pool *ts_pool_new_nice(unsigned n_threads, const char *name, int nice);
/** Runs what is queued, then ends the threads. NULL is harmless. Not from a task of the pool itself. */
void ts_pool_free(struct ts_pool *pool);
/** Queue a task. Tasks of one priority start in order; LOW starts when no HIGH waits. */
void ts_pool_run(struct ts_pool *pool, enum ts_prio prio, ts_task_fn fn, void *arg);
/** Call fn(arg, 0..n_pieces-1), distributed over the pool and the calling thread; return when all are done. Pieces
 * are assigned one by one, so that large and small callers share fairly; safe to call from a task or piece of the
 * same pool. HIGH tasks start before further pieces, LOW tasks after. pool NULL: all in the calling thread, in
 * order. */
void ts_pool_each(struct ts_pool *pool, size_t n_pieces, ts_piece_fn fn, void *arg);
/** Number of threads. */
unsigned ts_pool_threads(const struct ts_pool *pool);

#endif
