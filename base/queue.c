/*
 * queue.c - many producers push on a stack, the owner takes the whole stack and turns it round.
 *
 *   producers --CAS--> head -> m3 -> m2 -> m1        owner: exchange(head, NULL), reverse
 *                                                    ready -> m1 -> m2 -> m3
 *
 * Order: the successful CASes on `head` have one total order; the owner takes the stack in one exchange and
 * reverses it, so messages come out in that order, hence first-in first-out for each producer. No ABA: nobody
 * but the owner removes, and it removes everything.
 *
 * No wake-up is lost. A push that finds `head` NULL writes the eventfd after its CAS. The owner reads the
 * eventfd (ts_queue_drained) before it looks at `head`. Take a message M that lies in the stack, and W, the
 * push that made the stack non-empty last. Either W's eventfd write is still to come or not yet read: the
 * eventfd is or becomes readable, the owner looks again. Or the owner has read it: then W's CAS came before
 * W's write(2), which came before the owner's read(2) (the kernel's lock inside the eventfd orders the two),
 * which came before the owner's next look at `head`: this look sees W's stack and everything on it. So an
 * owner that saw NULL after ts_queue_drained may sleep: any push after that look finds NULL and writes. What
 * may happen is one wake-up too many.
 *
 * Threads    push, above: any; the rest: owner
 * Invariant  n_bytes is raised before a message becomes visible and lowered after it was taken, never below
 *            zero
 * Not here   what a message means and who frees it (its sender and receiver agree)
 */
#include "base/queue.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"

#define CACHE_LINE_BYTES 64

struct ts_queue {
    _Atomic(struct ts_msg *) head; /* newest message not yet taken; producers CAS, the owner exchanges */
    _Atomic size_t n_bytes; /* of all messages inside; a hint for back-pressure, so relaxed is enough */
    size_t cap_bytes;       /* constant */
    int fd;                 /* eventfd, constant */
    /* Owner's part on a line of its own: producers do not slow down its reading. */
    _Alignas(CACHE_LINE_BYTES) struct ts_msg *ready; /* taken, oldest first */
};

struct ts_queue *ts_queue_new(size_t cap_bytes)
{
    struct ts_queue *q = ts_xaligned(sizeof(*q));
    atomic_init(&q->head, NULL);
    atomic_init(&q->n_bytes, 0);
    q->cap_bytes = cap_bytes;
    q->ready = NULL;
    q->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (q->fd < 0)
        TS_BUG("no eventfd for a queue: %s", strerror(errno));
    return q;
}

void ts_queue_free(struct ts_queue *q)
{
    if (!q)
        return;
    close(q->fd);
    ts_free(q);
}

void ts_queue_wake(struct ts_queue *q)
{
    const uint64_t one = 1;
    /* EAGAIN would mean a counter full of unread wake-ups: readable already. */
    while (write(q->fd, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

void ts_queue_push(struct ts_queue *q, struct ts_msg *msg)
{
    atomic_fetch_add_explicit(&q->n_bytes, msg->size_bytes, memory_order_relaxed);
    struct ts_msg *old = atomic_load_explicit(&q->head, memory_order_relaxed);
    do {
        msg->next = old;
        ts_thread_yield_sometimes();
        /* Release: partner of the acquire exchange in take_stack; the message and its next are written
         * before. */
    } while (!atomic_compare_exchange_weak_explicit(&q->head, &old, msg, memory_order_release,
                                                    memory_order_relaxed));
    /* From here on msg belongs to the owner; only the local `old` may be looked at. */
    ts_thread_yield_sometimes();
    if (!old)
        ts_queue_wake(q);
}

/* Move the stack, if any, to `ready`, oldest first. */
static void take_stack(struct ts_queue *q)
{
    /* A plain look first: an owner that pops until NULL ends with an empty stack each time, and reading costs
     * less than exchanging. Relaxed: if it misses a push, that push found NULL and writes the eventfd. */
    if (!atomic_load_explicit(&q->head, memory_order_relaxed))
        return;
    /* Acquire: partner of the release CAS in ts_queue_push. The later CASes of other producers continue the
     * release sequence of the earlier ones, so the whole chain is visible. */
    struct ts_msg *m = atomic_exchange_explicit(&q->head, NULL, memory_order_acquire);
    while (m) {
        struct ts_msg *older = m->next;
        m->next = q->ready;
        q->ready = m;
        m = older;
    }
}

struct ts_msg *ts_queue_pop(struct ts_queue *q)
{
    if (!q->ready)
        take_stack(q);
    struct ts_msg *m = q->ready;
    if (!m)
        return NULL;
    q->ready = m->next;
    m->next = NULL;
    atomic_fetch_sub_explicit(&q->n_bytes, m->size_bytes, memory_order_relaxed);
    return m;
}

bool ts_queue_above(const struct ts_queue *q, unsigned pct)
{
    size_t n_bytes = atomic_load_explicit(&q->n_bytes, memory_order_relaxed);
    return (unsigned __int128)n_bytes * 100 > (unsigned __int128)q->cap_bytes * pct;
}

int ts_queue_fd(const struct ts_queue *q)
{
    return q->fd;
}

void ts_queue_drained(struct ts_queue *q)
{
    uint64_t count;
    while (read(q->fd, &count, sizeof(count)) < 0 && errno == EINTR) /* EAGAIN: nothing to reset */
        ;
    ts_thread_yield_sometimes();
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool has_message(struct ts_queue *q)
{
    if (!q->ready)
        take_stack(q);
    return q->ready != NULL;
}

bool ts_queue_wait(struct ts_queue *q, int timeout_ms)
{
    const int64_t end_ns = timeout_ms < 0 ? INT64_MAX : now_ns() + (int64_t)timeout_ms * 1000000;
    int left_ms = timeout_ms;
    for (;;) {
        if (has_message(q))
            return true;
        struct pollfd p = {.fd = q->fd, .events = POLLIN};
        int n = poll(&p, 1, left_ms);
        if (n > 0)
            ts_queue_drained(q); /* then look again: the wake-up may be for a message popped long ago */
        else if (n == 0)
            return has_message(q);
        if (timeout_ms >= 0) {
            int64_t left_ns = end_ns - now_ns();
            left_ms = left_ns > 0 ? (int)((left_ns + 999999) / 1000000) : 0;
        }
    }
}
