/*
 * log.c - writes lines to stderr, and keeps the last ones in memory for ts_log_recent.
 *
 * Threads    the mutex protects only the ring of kept lines and is never held while a line is written. Lines
 *            that different threads write within a few microseconds may have another order in the ring than
 *            on stderr
 * Invariant  a kept line is immutable, and is freed when neither the ring nor a call of ts_log_recent
 *            references it
 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"

#define TEXT_MAX_BYTES  2000 /* text of the caller */
#define LINE_MAX_BYTES  2128 /* the same with time, level, n_left_out, line feed and terminator */
#define N_KEPT          1024
#define LIMIT_PERIOD_NS 1000000000ll

/* One line for ts_log_recent. */
struct kept {
    unsigned n_refs; /* ring and readers; under ring_mutex */
    char text[];     /* terminated, without line feed */
};

static const char *const level_names[] = {"debug", "info", "warn", "error"};
#define N_LEVELS ((int)(sizeof(level_names) / sizeof(level_names[0])))

/* atomic, relaxed: a change of the level may take effect a moment later */
static int min_level = TS_LOG_INFO;

static pthread_mutex_t ring_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kept *ring[N_KEPT]; /* line number i in slot i % N_KEPT; under ring_mutex */
static uint64_t n_logged;         /* lines ever kept; under ring_mutex */

void ts_log_set_level(enum ts_log_level level)
{
    __atomic_store_n(&min_level, (int)level, __ATOMIC_RELAXED);
}

static bool is_wanted(enum ts_log_level level)
{
    return (int)level >= __atomic_load_n(&min_level, __ATOMIC_RELAXED);
}

int ts_log_level_parse(const char *name, enum ts_log_level *out_level)
{
    for (int i = 0; i < N_LEVELS; i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *out_level = (enum ts_log_level)i;
            return 0;
        }
    }
    return TS_EPARSE;
}

/* Under ring_mutex. */
static void unref(struct kept *k)
{
    if (k && --k->n_refs == 0)
        ts_free(k);
}

static void keep(const char *line, size_t n)
{
    struct kept *k = ts_xmalloc(sizeof(*k) + n + 1);
    k->n_refs = 1;
    memcpy(k->text, line, n);
    k->text[n] = '\0';
    pthread_mutex_lock(&ring_mutex);
    struct kept **slot = &ring[n_logged++ % N_KEPT];
    unref(*slot);
    *slot = k;
    pthread_mutex_unlock(&ring_mutex);
}

/* Write the whole line, even if signals interrupt; an error of stderr cannot be reported anywhere. */
static void write_line(const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write(STDERR_FILENO, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return;
        p += k;
        n -= (size_t)k;
    }
}

/* Time and level; returns the length. */
static size_t put_head(char *line, enum ts_log_level level)
{
    struct ts_civil c = ts_civil_from_ms(NULL, ts_clock_ms());
    const char *name = (int)level >= 0 && (int)level < N_LEVELS ? level_names[level] : "error";
    int n = snprintf(line, 64, "%04d-%02u-%02uT%02u:%02u:%02u.%03uZ %s ", (int)c.year, (unsigned)c.month,
                     (unsigned)c.day, (unsigned)c.hour, (unsigned)c.minute, (unsigned)c.second,
                     (unsigned)c.ms, name);
    return (size_t)n;
}

static void log_line(enum ts_log_level level, long long n_left_out, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
static void log_line(enum ts_log_level level, long long n_left_out, const char *fmt, va_list ap)
{
    int saved_errno = errno; /* a caller may log between a failed call and the use of its errno */
    char line[LINE_MAX_BYTES];
    size_t n = put_head(line, level);
    char *text = line + n;
    int n_text = vsnprintf(text, TEXT_MAX_BYTES + 2, fmt, ap);
    size_t len = n_text < 0 ? 0 : (size_t)n_text;
    if (len > TEXT_MAX_BYTES)
        len = ts_utf8_cut((struct ts_slice){text, TEXT_MAX_BYTES + 1}, TEXT_MAX_BYTES).n;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = ' ';
    }
    n += len;
    if (n_left_out > 0)
        n += (size_t)snprintf(line + n, sizeof(line) - n - 1, " n_left_out=%lld", n_left_out);
    keep(line, n);
    line[n++] = '\n';
    write_line(line, n);
    errno = saved_errno;
}

void ts_log(enum ts_log_level level, const char *fmt, ...)
{
    if (!is_wanted(level))
        return;
    va_list ap;
    va_start(ap, fmt);
    log_line(level, 0, fmt, ap);
    va_end(ap);
}

void ts_log_limited(struct ts_log_limit *limit, enum ts_log_level level, const char *fmt, ...)
{
    if (!is_wanted(level))
        return;
    /* Relaxed throughout: both words are counters of their own, nothing else is published with them. The one
     * thread that moves next_ns on prints; a line dropped at the same moment is reported by this line or the
     * next one. */
    long long now = ts_clock_mono_ns();
    long long next = __atomic_load_n(&limit->next_ns, __ATOMIC_RELAXED);
    if (now < next || !__atomic_compare_exchange_n(&limit->next_ns, &next, now + LIMIT_PERIOD_NS, false,
                                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_fetch_add(&limit->n_dropped, 1, __ATOMIC_RELAXED);
        return;
    }
    long long n_left_out = __atomic_exchange_n(&limit->n_dropped, 0, __ATOMIC_RELAXED);
    va_list ap;
    va_start(ap, fmt);
    log_line(level, n_left_out, fmt, ap);
    va_end(ap);
}

void ts_log_recent(void (*emit)(void *arg, const char *line), void *arg)
{
    struct kept *lines[N_KEPT];
    size_t n = 0;
    pthread_mutex_lock(&ring_mutex);
    for (uint64_t i = n_logged; i > 0 && n < N_KEPT; i--) {
        struct kept *k = ring[(i - 1) % N_KEPT];
        k->n_refs++;
        lines[n++] = k;
    }
    pthread_mutex_unlock(&ring_mutex);
    for (size_t i = 0; i < n; i++)
        emit(arg, lines[i]->text);
    pthread_mutex_lock(&ring_mutex);
    for (size_t i = 0; i < n; i++)
        unref(lines[i]);
    pthread_mutex_unlock(&ring_mutex);
}
